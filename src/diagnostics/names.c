/* SPDX-License-Identifier: MIT
 * names.c: numbers of a file for the parameters of a model, told apart by name.
 *
 * Parameters are matched in any order; each side must have each name once. A file for another model
 * is an error to report, not to work around.
 */
#include "diagnostics/names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { NAMED = 4, NAMES_TEXT = 200 };

/* ---- matching names -------------------------------------------------------------------------- */

typedef struct name_at {
    const char *name;
    int64_t at;
} name_at;

static int by_name(const void *a, const void *b) {
    return strcmp(((const name_at *)a)->name, ((const name_at *)b)->name);
}

static name_at *sorted_names(sgfsi_arena *arena, int64_t D, const char *const *names) {
    name_at *out = sgfsi_arena_alloc(arena, D, sizeof *out);
    for (int64_t i = 0; out != NULL && i < D; i++) out[i] = (name_at){names[i], i};
    if (out != NULL && D > 0) qsort(out, (size_t)D, sizeof *out, by_name);
    return out;
}

/* Note a name in a list that stops after a few. */
static void note(char text[NAMES_TEXT], int64_t seen, const char *name) {
    if (seen < NAMED)
        sgfsi_append(text, NAMES_TEXT, "%s\"%.40s\"", text[0] != '\0' ? ", " : "", name);
    else if (seen == NAMED) sgfsi_append(text, NAMES_TEXT, ", ...");
}

sgfs_status sgfsi_naming_match(const sgfsi_naming *j, int64_t R, const char *const *names,
                               int64_t *order) {
    name_at *mine = sorted_names(j->arena, j->D, (const char *const *)j->names);
    name_at *theirs = sorted_names(j->arena, R, names);
    if (mine == NULL || theirs == NULL) return sgfsi_fail_memory(j->err, "the names");
    for (int64_t k = 1; k < R; k++) {
        if (strcmp(theirs[k - 1].name, theirs[k].name) != 0) continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: the parameter \"%.60s\" is there twice.",
                          j->path, theirs[k].name);
    }
    /* Both sorted lists side by side. */
    char missing[NAMES_TEXT] = "", extra[NAMES_TEXT] = "";
    int64_t lacks = 0, more = 0;
    for (int64_t i = 0, k = 0; i < j->D || k < R;) {
        int side = i == j->D ? 1 : k == R ? -1 : strcmp(mine[i].name, theirs[k].name);
        if (side < 0) note(missing, lacks++, mine[i++].name);
        else if (side > 0) note(extra, more++, theirs[k++].name);
        else order[mine[i++].at] = theirs[k++].at;
    }
    if (lacks + more == 0) return SGFS_OK;
    char first[NAMES_TEXT + 40] = "", second[NAMES_TEXT + 40] = "";
    if (lacks > 0) snprintf(first, sizeof first, "the %s lacks %s", j->what, missing);
    if (more > 0) snprintf(second, sizeof second, "the %s lacks %s", j->whose, extra);
    return sgfsi_fail(j->err, SGFS_EDATA,
                      "%s: not the same parameters: %s%s%s. Give the %s of this model.", j->path,
                      first, lacks > 0 && more > 0 ? "; " : "", second, j->what);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

sgfs_status sgfsi_naming_file(const sgfsi_naming *j, sgfsi_json **json) {
    size_t length;
    char *text = sgfsi_file_read(j->path, (size_t)1 << 30, &length, j->err);
    if (text == NULL) return sgfsi_why(j->err);
    *json = sgfsi_json_parse(text, length, j->path, j->err);
    free(text);
    return *json != NULL ? SGFS_OK : sgfsi_why(j->err);
}

sgfs_status sgfsi_naming_numbers(const sgfsi_naming *j, const char *what, const sgfsi_json *array,
                                 const int64_t *order, double *out) {
    if (sgfsi_json_length(array) != j->D)
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"%s\" must be an array of %lld numbers.",
                          j->path, what, (long long)j->D);
    for (int64_t i = 0; i < j->D; i++) {
        if (sgfsi_json_as_num(sgfsi_json_at(array, order[i]), &out[i]) && isfinite(out[i]))
            continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"%s\"[%lld] is not a finite number.", j->path,
                          what, (long long)order[i]);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_naming_json(const sgfsi_naming *j, const sgfsi_json *json, int64_t *order) {
    const sgfsi_json *array = sgfsi_json_get(json, "names");
    int64_t R = sgfsi_json_length(array);
    if (R < 1)
        return sgfsi_fail(j->err, SGFS_EDATA,
                          "%s: a %s needs \"names\", an array of parameter names, and \"mean\".",
                          j->path, j->what);
    const char **names = sgfsi_arena_alloc(j->arena, R, sizeof *names);
    if (names == NULL) return sgfsi_fail_memory(j->err, "the names");
    for (int64_t i = 0; i < R; i++) {
        names[i] = sgfsi_json_as_text(sgfsi_json_at(array, i));
        if (names[i] != NULL) continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"names\"[%lld] is not text.", j->path,
                          (long long)i);
    }
    return sgfsi_naming_match(j, R, names, order);
}

int sgfsi_first_byte(const char *path) {
    struct stat st;
    bool plain = stat(path, &st) != 0 || S_ISREG(st.st_mode); /* or not there at all */
    FILE *f = plain ? fopen(path, "rbe") : NULL;
    if (!plain) errno = ESPIPE;
    if (f == NULL) return -1;
    int c;
    do {
        c = fgetc(f);
    } while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    int error = ferror(f) ? errno : 0;
    fclose(f);
    errno = error;
    return error != 0 ? -1 : c == EOF ? 0 : c;
}
