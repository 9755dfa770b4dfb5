/* SPDX-License-Identifier: MIT
 * columns.c: --target, --features, --weights and --exposure against the columns a file has.
 *
 * A column is asked for by its name, else by its 1-based number; a feature list also takes ranges
 * of numbers, 3-7. Names win, so a column called "7" is found by its name. A list is split at
 * commas: a name with a comma in it has to be given by number. Whoever asks for a column that is
 * not there is shown the names nearest to what they typed.
 */
#include "files/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "files/find_columns.h"
#include "files/formula/formula.h"

enum { NAME_CHARS = 64, NEAREST = 3 };

/* Write `; did you mean "a" or "b"` into out, or nothing when no name is near. A name that shares
 * no letter with what was asked is not near, however short both are. */
static void suggest(const sgfsi_columns *c, const char *asked, char *out, size_t room) {
    int64_t best[NEAREST];
    int length = (int)strnlen(asked, NAME_CHARS);
    int distance[NEAREST], found = 0, limit = 2 + length / 4;
    for (int64_t i = 0; i < c->cols; i++) {
        int d = (int)sgfsi_distance(asked, c->names[i]), at = found < NEAREST ? found : NEAREST - 1;
        if (d > limit || d >= length || (found == NEAREST && d >= distance[at])) continue;
        if (found < NEAREST) found++;
        for (; at > 0 && distance[at - 1] > d; at--) {
            best[at] = best[at - 1];
            distance[at] = distance[at - 1];
        }
        best[at] = i;
        distance[at] = d;
    }
    out[0] = '\0';
    size_t used = 0;
    for (int k = 0; k < found && used < room; k++) {
        used += (size_t)snprintf(out + used, room - used, "%s\"%.60s\"",
                                 k == 0 ? "; did you mean " : " or ", c->names[best[k]]);
    }
}

/* ---- one column ------------------------------------------------------------------------------ */

int64_t sgfsi_names_find(int64_t cols, const char *const *names, const char *name) {
    int64_t found = SGFSI_NAME_ABSENT;
    for (int64_t j = 0; j < cols; j++) {
        if (strcmp(names[j], name) != 0) continue;
        if (found >= 0) return SGFSI_NAME_TWICE;
        found = j;
    }
    return found;
}

/* A number is a place in the file; a file without names calls its columns by it. */
static bool column_number(const sgfsi_columns *c, const char *text, int64_t *index) {
    int64_t number;
    char name[32];
    if (!sgfsi_text_int(text, &number) || number < 1) return false;
    snprintf(name, sizeof name, "x%lld", (long long)number);
    *index = c->named ? -1 : sgfsi_names_find(c->cols, (const char *const *)c->names, name);
    if (*index < 0 && number <= c->cols) *index = number - 1;
    return *index >= 0;
}

sgfs_status sgfsi_columns_find(const sgfsi_columns *c, const char *flag, char *text, int64_t *from,
                               int64_t *to, sgfs_err *err) {
    const char *path = c->path != NULL ? c->path : "", *colon = c->path != NULL ? ": " : "";
    *from = sgfsi_names_find(c->cols, (const char *const *)c->names, text);
    if (*from == SGFSI_NAME_TWICE) {
        int64_t i = 0, k;
        while (strcmp(c->names[i], text) != 0) i++;
        for (k = i + 1; strcmp(c->names[k], text) != 0;) k++;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s%s--%s asks for \"%.60s\", but columns %lld and %lld are both called "
                          "that; ask by number.",
                          path, colon, flag, text, (long long)i + 1, (long long)k + 1);
    }
    bool found = *from >= 0 || column_number(c, text, from);
    if (to != NULL) *to = *from;
    char *dash = to != NULL && !found ? strchr(text, '-') : NULL;
    if (dash != NULL && dash != text) { /* "3-7" with both ends inside the file */
        *dash = '\0';
        found = column_number(c, text, from) && column_number(c, dash + 1, to) && *from <= *to;
        *dash = '-';
    }
    if (found) return SGFS_OK;
    if (c->first != NULL && sgfsi_names_find(c->cols, (const char *const *)c->first, text) >= 0)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "%s%s--%s asks for \"%.60s\", which stands in the first line, and that is "
            "taken for a row of data: if it holds names, say --header yes.",
            path, colon, flag, text);
    char hint[256];
    suggest(c, text, hint, sizeof hint);
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "%s%s--%s asks for \"%.60s\", which is none of its %lld columns (the first is "
        "\"%.40s\")%s%s",
        path, colon, flag, text, (long long)c->cols, c->cols > 0 ? c->names[0] : "", hint,
        hint[0] ? "?" : ".");
}

const char *sgfsi_words_named(const char *list, bool *automatic) {
    *automatic =
        list != NULL && strncmp(list, "auto", 4) == 0 && (list[4] == ',' || list[4] == '\0');
    return list == NULL ? "" : *automatic ? list + 4 + (list[4] == ',') : list;
}

/* ---- a list of columns ----------------------------------------------------------------------- */

char *sgfsi_list_next(char **rest) {
    char *s = *rest;
    if (s == NULL) return NULL;
    *rest = strchr(s, ',');
    if (*rest != NULL) *(*rest)++ = '\0';
    while (*s == ' ') s++;
    for (size_t n = strlen(s); n > 0 && s[n - 1] == ' '; n--) s[n - 1] = '\0';
    return s;
}

sgfs_status sgfsi_columns_mark(const sgfsi_columns *columns, const char *flag, const char *list,
                               unsigned char *mark, sgfs_err *err) {
    char *copy = strdup(list);
    if (copy == NULL) return sgfsi_fail_memory(err, "a list of columns");
    sgfs_status status = SGFS_OK;
    for (char *rest = copy, *s; status == SGFS_OK && (s = sgfsi_list_next(&rest)) != NULL;) {
        int64_t from, to;
        status = sgfsi_columns_find(columns, flag != NULL ? flag : "", s, &from, &to,
                                    flag != NULL ? err : NULL);
        for (; status == SGFS_OK && from <= to; from++) mark[from] = 1;
        if (flag == NULL && status == SGFS_EUSAGE) status = SGFS_OK;
    }
    free(copy);
    return status;
}

/* The columns of factors, which are no features then. */
static sgfs_status add_groups(const sgfsi_columns *c, const char *terms, unsigned char *role,
                              sgfs_err *err) {
    if (terms == NULL || terms[0] == '\0') return SGFS_OK;
    unsigned char *mark = calloc((size_t)c->cols, 1);
    if (mark == NULL) return sgfsi_fail_memory(err, "a list of columns");
    sgfs_status status = sgfsi_formula_mark(terms, c->cols, c->names, c->path, mark, err);
    for (int64_t i = 0; i < c->cols && status == SGFS_OK; i++) {
        if (!mark[i]) continue;
        if (role[i] > SGFSI_ROLE_FEATURE)
            status = sgfsi_fail(err, SGFS_EUSAGE,
                                "%s: column %lld (\"%.40s\") cannot group rows and be the target, "
                                "weights or exposure too.",
                                c->path, (long long)i + 1, c->names[i]);
        role[i] = SGFSI_ROLE_GROUP;
    }
    free(mark);
    return status;
}

/* What is marked becomes a feature, unless it is something else. */
static sgfs_status add_features(const sgfsi_columns *c, const unsigned char *mark,
                                unsigned char *role, sgfs_err *err) {
    static const char *const taken[][2] = {[SGFSI_ROLE_TARGET] = {"is the target", "target"},
                                           [SGFSI_ROLE_WEIGHTS] = {"holds the weights", "weights"},
                                           [SGFSI_ROLE_EXPOSURE] = {"is the exposure", "exposure"},
                                           [SGFSI_ROLE_GROUP] = {"groups rows", "groups"}};
    for (int64_t i = 0; i < c->cols; i++) {
        if (mark[i] && role[i] > SGFSI_ROLE_FEATURE) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "%s: column %lld (\"%.40s\") %s and cannot be a feature too; "
                              "choose another with --%s or leave it out of --features.",
                              c->path, (long long)i + 1, c->names[i], taken[role[i]][0],
                              taken[role[i]][1]);
        }
        if (mark[i]) role[i] = SGFSI_ROLE_FEATURE;
    }
    return SGFS_OK;
}

/* ---- shared ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_columns_select(const sgfsi_columns *columns, const unsigned char *stored,
                                 const sgfsi_read_options *options, unsigned char *role,
                                 sgfs_err *err) {
    if (options->run != NULL)
        return sgfsi_run_columns_choose(options->run, columns, options->log, role, err);
    const bool all = options->features[0] == '\0',
               none = strcmp(options->features, "none") == 0 &&
                      sgfsi_names_find(columns->cols, (const char *const *)columns->names,
                                       "none") == SGFSI_NAME_ABSENT;
    for (int64_t i = 0; i < columns->cols; i++) {
        bool feature = all && (stored == NULL || stored[i] == SGFSI_ROLE_FEATURE);
        role[i] = feature ? SGFSI_ROLE_FEATURE : SGFSI_ROLE_NONE;
    }
    const struct {
        unsigned char role;
        const char *flag, *name; /* name: "" or NULL: none is given */
    } others[] = {{SGFSI_ROLE_WEIGHTS, "weights", options->weights},
                  {SGFSI_ROLE_EXPOSURE, "exposure", options->exposure},
                  {SGFSI_ROLE_TARGET, "target", options->target}};
    for (int k = 0; k < 3; k++) {
        int64_t i;
        if (others[k].name == NULL || others[k].name[0] == '\0') continue;
        char *name = (char *)(uintptr_t)others[k].name; /* written to in ranges alone */
        sgfs_status status = sgfsi_columns_find(columns, others[k].flag, name, &i, NULL, err);
        if (status != SGFS_OK) return status;
        if (role[i] > SGFSI_ROLE_FEATURE) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "%s: column %lld (\"%.40s\") cannot be named by --%s and by --%s: "
                              "they need columns of their own.",
                              columns->path, (long long)i + 1, columns->names[i],
                              role[i] == SGFSI_ROLE_WEIGHTS ? "weights" : "exposure",
                              others[k].flag);
        }
        role[i] = others[k].role;
    }
    /* The column that was stored for this, unless another was given or it has become another
     * thing. */
    for (int k = 0; stored != NULL && k < 3; k++) {
        bool given = others[k].name != NULL && others[k].name[0] != '\0';
        for (int64_t i = 0; !given && i < columns->cols; i++)
            if (stored[i] == others[k].role && role[i] <= SGFSI_ROLE_FEATURE)
                role[i] = others[k].role;
    }
    sgfs_status grouped = add_groups(columns, options->groups, role, err);
    if (grouped != SGFS_OK) return grouped;
    if (stored != NULL && memchr(role, SGFSI_ROLE_TARGET, (size_t)columns->cols) == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: its target was asked for as weights or exposure; name another "
                          "--target.",
                          columns->path);
    }
    if (stored == NULL && options->target[0] == '\0') { /* the last column that is nothing else */
        int64_t i = columns->cols - 1;
        while (i >= 0 && role[i] > SGFSI_ROLE_FEATURE) i--;
        if (i < 0) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: no column is left for the target beside --weights and "
                              "--exposure.",
                              columns->path);
        }
        role[i] = SGFSI_ROLE_TARGET;
    }
    if (all || none) return SGFS_OK;
    unsigned char *mark = calloc((size_t)columns->cols, 1);
    if (mark == NULL) return sgfsi_fail_memory(err, "a list of columns");
    sgfs_status status = sgfsi_columns_mark(columns, "features", options->features, mark, err);
    if (status == SGFS_OK) status = add_features(columns, mark, role, err);
    free(mark);
    return status;
}

char **sgfsi_names_made_up(int64_t cols) {
    char **names = calloc((size_t)cols + 1, sizeof *names); /* never of size 0 */
    for (int64_t i = 0; names != NULL && i < cols; i++) {
        names[i] = malloc(24);
        if (names[i] == NULL) {
            sgfsi_names_free(names, i);
            return NULL;
        }
        snprintf(names[i], 24, "x%lld", (long long)i + 1);
    }
    return names;
}

char **sgfsi_names_copy(char *const *names, int64_t count) {
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    for (int64_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = strdup(names[i]);
        if (copy[i] == NULL) {
            sgfsi_names_free(copy, i);
            return NULL;
        }
    }
    return copy;
}

void sgfsi_name_list_add(sgfsi_name_list *l, const char *name, const char *near) {
    size_t room = sizeof l->text - l->used;
    if (l->count++ >= l->shown || room < 64) return;
    int n = snprintf(l->text + l->used, room, "%s\"%.40s\"", l->count == 1 ? "" : ", ", name);
    l->used += (size_t)n < room ? (size_t)n : room - 1;
    room = sizeof l->text - l->used;
    if (near == NULL || room < 64) return;
    n = snprintf(l->text + l->used, room, " (did you mean \"%.40s\"?)", near);
    l->used += (size_t)n < room ? (size_t)n : room - 1;
}
