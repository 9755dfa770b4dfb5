/* SPDX-License-Identifier: MIT
 * export.c: choose the format by the file's name, and the pieces all formats need.
 *
 * A format is one file that fills a sgfs_export_kind, and one row in table.c. The longest suffix
 * that fits wins, so that fit.stan.csv is Stan's and fit.csv is plain. Every format writes a
 * rectangle: chains cut short are exported up to the draw they all have, chains without any are
 * left out. What is left out is for the caller to say; the library never prints.
 */
#include "sink/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* ---- by name --------------------------------------------------------------------------------- */

static const sgfs_export_kind *find_kind(const char *path) {
    const sgfs_export_kind *best = NULL;
    size_t length = strlen(path), longest = 0;
    for (int64_t i = 0; sgfsi_exports[i] != NULL; i++) {
        size_t n = strlen(sgfsi_exports[i]->suffix);
        if (n > longest && n < length && strcmp(path + length - n, sgfsi_exports[i]->suffix) == 0) {
            best = sgfsi_exports[i];
            longest = n;
        }
    }
    return best;
}

static sgfs_status unknown_suffix(const char *path, sgfs_err *err) {
    char list[128] = "";
    for (int64_t i = 0; sgfsi_exports[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                 sgfsi_exports[i]->suffix);
    }
    return sgfsi_fail(err, SGFS_EUSAGE, "%s: no export has this ending; there are %s.", path, list);
}

sgfs_status sgfs_draws_export(const sgfs_draws *draws, const char *path, bool overwrite,
                              sgfs_err *err) {
    if (draws == NULL || path == NULL) {
        bool said = draws == NULL && err != NULL && err->code != SGFS_OK;
        return said ? err->code
                    : sgfsi_fail(err, SGFS_EUSAGE, "sgfs_draws_export: needs draws and a path.");
    }
    const sgfs_export_kind *kind = find_kind(path);
    if (kind == NULL) return unknown_suffix(path, err);
    return kind->write(draws, path, overwrite, err);
}

/* ---- what is exported ------------------------------------------------------------------------ */

sgfs_status sgfsi_export_view_open(sgfsi_export_view *view, const sgfs_draws *d, sgfs_err *err) {
    view->used = malloc((size_t)d->chains * sizeof *view->used);
    if (view->used == NULL) return sgfsi_fail_memory(err, "an export");
    view->draws = sgfsi_draws_common(d, view->used, &view->chains);
    if (view->draws > 0) return SGFS_OK;
    sgfsi_export_view_close(view);
    return sgfsi_fail(err, SGFS_EDATA, "The run has no draws yet: there is nothing to export.");
}

void sgfsi_export_view_close(sgfsi_export_view *view) {
    free(view->used);
    view->used = NULL;
}

void sgfsi_export_number(FILE *f, double x) {
    char text[SGFSI_NUM_CHARS] = "";
    if (isnan(x)) {
        fputs("NaN", f);
    } else if (isinf(x)) {
        fputs(x > 0 ? "Inf" : "-Inf", f);
    } else {
        size_t n = sgfsi_format_num(text, x);
        fwrite(text, 1, n, f);
    }
}

int64_t sgfsi_export_stat(const sgfs_draws *d, const char *name) {
    for (int64_t s = 0; s < d->S; s++) {
        if (strcmp(d->stat[s], name) == 0) return s;
    }
    return -1;
}

/* ---- blocks with safe names ------------------------------------------------------------------ */

static bool taken(const sgfsi_export_block *blocks, int64_t count, const char *name) {
    for (int64_t b = 0; b < count; b++) {
        if (strcmp(blocks[b].name, name) == 0) return true;
    }
    return false;
}

/* A safe copy of name that none of the blocks before has; NULL when memory is out. */
static char *safe_name(const sgfsi_export_block *before, int64_t count, const char *name,
                       void (*safe)(char *)) {
    size_t room = strlen(name) + 16;
    char *plain = malloc(room), *text = malloc(room + 16);
    if (plain == NULL || text == NULL) {
        free(plain);
        free(text);
        return NULL;
    }
    memcpy(plain, name, strlen(name) + 1);
    safe(plain);
    snprintf(text, room + 16, "%s", plain);
    for (int64_t k = 2; taken(before, count, text); k++) {
        snprintf(text, room + 16, "%s_%lld", plain, (long long)k);
    }
    free(plain);
    return text;
}

sgfsi_export_block *sgfsi_export_blocks(const sgfs_draws *d, void (*safe)(char *text),
                                        int64_t *count, sgfs_err *err) {
    const char *name;
    int64_t rows, cols, offset, n = 0;
    while (sgfsi_draws_block(d, n, &name, &rows, &cols, &offset)) n++;
    sgfsi_export_block *blocks = calloc((size_t)n + 1, sizeof *blocks);
    for (int64_t b = 0; blocks != NULL && b < n; b++) {
        (void)sgfsi_draws_block(d, b, &name, &rows, &cols, &offset);
        char *text = safe_name(blocks, b, name, safe);
        blocks[b] = (sgfsi_export_block){text, rows, cols, offset};
        if (text == NULL) {
            sgfsi_export_blocks_free(blocks, b);
            blocks = NULL;
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
