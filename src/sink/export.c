/* SPDX-License-Identifier: MIT
 * export.c: choose the format by the file's name, and the pieces all formats need.
 *
 * The longest suffix that fits wins, so that fit.stan.csv is Stan's and fit.csv is plain. Every
 * format writes a rectangle: chains cut short are exported up to the draw they all have, chains
 * without any are left out. What is left out is for the caller to say; the library never prints.
 */
#include "sink/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"

/* ---- by name --------------------------------------------------------------------------------- */

/* fit.stan.csv -> fit_2.stan.csv for the second of several chains; malloc'ed. */
static char *file_name(const sgfs_export_kind *kind, const char *path, int64_t chain,
                       int64_t chains) {
    size_t room = strlen(path) + 32;
    int stem = (int)(strlen(path) - strlen(kind->suffix));
    if (!kind->per_chain || chains == 1) return strdup(path);
    char *name = malloc(room);
    if (name != NULL)
        snprintf(name, room, "%.*s_%lld%s", stem, path, (long long)chain + 1, kind->suffix);
    return name;
}

/* All files or none. Their names are taken first: a path that cannot be used is refused before the
 * work. Everything has left our buffers before the first file gets its name. What can still fail
 * after that is a sync or a rename; then the names given so far are taken back, unless they
 * replaced older files. */
static sgfs_status write_files(const sgfs_export_kind *kind, const sgfs_draws *d,
                               const sgfsi_used *used, const char *path, bool overwrite,
                               sgfs_err *err) {
    int64_t files = kind->per_chain ? used->chains : 1, done = 0;
    sgfsi_outfile *out = calloc((size_t)files, sizeof *out);
    sgfs_status status = out != NULL ? SGFS_OK : sgfsi_fail_memory(err, path);
    for (int64_t k = 0; k < files && status == SGFS_OK; k++) {
        char *name = file_name(kind, path, used->chain[k], d->chains);
        status = name != NULL ? sgfsi_outfile_open(&out[k], name, overwrite, true, err)
                              : sgfsi_fail_memory(err, path);
        free(name);
    }
    for (int64_t k = 0; k < files && status == SGFS_OK; k++) {
        const sgfsi_used one = {1, used->draws, used->chain + k};
        status = kind->print(d, kind->per_chain ? &one : used, out[k].f, err);
    }
    for (int64_t k = 0; files > 1 && k < files && status == SGFS_OK; k++) {
        if (fflush(out[k].f) == 0 && !ferror(out[k].f)) continue;
        status = sgfsi_fail(err, SGFS_EIO, "%s: cannot write; is the disk full?", out[k].path);
    }
    while (done < files && status == SGFS_OK) {
        status = sgfsi_outfile_commit(&out[done], err);
        if (status == SGFS_OK) done++;
    }
    for (int64_t k = 0; status != SGFS_OK && !overwrite && k < done; k++) {
        char *name = file_name(kind, path, used->chain[k], d->chains);
        if (name != NULL) remove(name);
        free(name);
    }
    for (int64_t k = 0; out != NULL && k < files; k++) sgfsi_outfile_abandon(&out[k]);
    free(out);
    return status;
}

sgfs_status sgfs_draws_export(const sgfs_draws *draws, const char *path, bool overwrite,
                              sgfs_err *err) {
    if (draws == NULL) return sgfsi_fail_handle(err, "sgfs_draws_export");
    if (path == NULL) return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_draws_export: a path is needed.");
    const sgfs_export_kind *kind = NULL;
    size_t length = strlen(path), longest = 0;
    char list[128] = "";
    for (int64_t i = 0; sgfsi_exports[i] != NULL; i++) {
        const char *suffix = sgfsi_exports[i]->suffix;
        size_t n = strlen(suffix);
        sgfsi_append(list, sizeof list, "%s%s", i > 0 ? ", " : "", suffix);
        if (n <= longest || n >= length || strcmp(path + length - n, suffix) != 0) continue;
        kind = sgfsi_exports[i];
        longest = n;
    }
    if (kind == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: no export has this ending; there are %s.", path,
                          list);
    int64_t *chain = calloc((size_t)draws->chains, sizeof *chain);
    if (chain == NULL) return sgfsi_fail_memory(err, "an export");
    sgfsi_used used = sgfsi_draws_used(draws, chain);
    sgfs_status status =
        used.draws > 0 || !kind->of_draws
            ? write_files(kind, draws, &used, path, overwrite, err)
            : sgfsi_fail(err, SGFS_EDATA, "The run has no draws yet: there is nothing to export.");
    free(chain);
    return status;
}

/* ---- cells ----------------------------------------------------------------------------------- */

void sgfsi_export_number(FILE *f, double x) {
    char text[SGFSI_NUM_CHARS];
    if (isfinite(x)) fwrite(text, 1, sgfsi_format_num(text, x), f);
    else fputs(isnan(x) ? "NaN" : x > 0 ? "Inf" : "-Inf", f);
}

void sgfsi_export_cell(FILE *f, const char *before, const char *text, const char *after) {
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    fprintf(f, "%s%s", quote, before);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') fputc('"', f);
        fputc(*c, f);
    }
    fprintf(f, "%s%s", after, quote);
}

/* ---- blocks with safe names ------------------------------------------------------------------ */

sgfsi_export_block *sgfsi_export_blocks(const sgfs_draws *d, void (*safe)(char *text),
                                        int64_t *count, sgfs_err *err) {
    const char *name;
    int64_t rows, cols, offset, n = 0;
    while (sgfsi_draws_block(d, n, &name, &rows, &cols, &offset)) n++;
    sgfsi_export_block *blocks = calloc((size_t)n + 1, sizeof *blocks);
    for (int64_t b = 0; blocks != NULL && b < n; b++) {
        (void)sgfsi_draws_block(d, b, &name, &rows, &cols, &offset);
        size_t length = strlen(name), room = length + 32;
        char *text = malloc(room);
        blocks[b] = (sgfsi_export_block){text, name, rows, cols, offset};
        if (text == NULL) {
            sgfsi_export_blocks_free(blocks, b);
            blocks = NULL;
            break;
        }
        /* A safe copy of the name that none of the blocks before has. */
        memcpy(text, name, length + 1);
        safe(text);
        length = strlen(text);
        for (int64_t i = 0, k = 2; i < b; i++) {
            if (strcmp(blocks[i].name, text) != 0) continue;
            snprintf(text + length, room - length, "_%lld", (long long)k++);
            i = -1; /* the new name is compared with all of them */
        }
    }
    if (blocks == NULL) sgfsi_fail_memory(err, "the names of an export");
    *count = n;
    return blocks;
}

void sgfsi_export_blocks_free(sgfsi_export_block *blocks, int64_t count) {
    for (int64_t b = 0; blocks != NULL && b < count; b++) free(blocks[b].name);
    free(blocks);
}
