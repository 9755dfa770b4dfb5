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

enum { NAME_CHARS = 64, NEAREST = 3 };

/* ---- nearest names --------------------------------------------------------------------------- */

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

static bool column_number(const sgfsi_columns *c, const char *text, int64_t *index) {
    int64_t number;
    if (!sgfsi_text_int(text, &number) || number < 1 || number > c->cols) return false;
    *index = number - 1;
    return true;
}

static sgfs_status find_column(const sgfsi_columns *c, const char *flag, const char *asked,
                               int64_t *index, sgfs_err *err) {
    int64_t found = -1;
    for (int64_t i = 0; i < c->cols; i++) {
        if (strcmp(c->names[i], asked) != 0) continue;
        if (found >= 0) {
            return sgfsi_fail(
                err, SGFS_EUSAGE,
                "%s: --%s asks for \"%.60s\", but columns %lld and %lld are both called "
                "that; ask by number.",
                c->path, flag, asked, (long long)found + 1, (long long)i + 1);
        }
        found = i;
    }
    if (found < 0 && !column_number(c, asked, &found)) {
        char hint[256];
        suggest(c, asked, hint, sizeof hint);
        const char *name = c->names[0];
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "%s: --%s asks for \"%.60s\", which is none of its %lld columns (the first is "
            "\"%.40s\")%s%s",
            c->path, flag, asked, (long long)c->cols, name, hint, hint[0] ? "?" : ".");
    }
    *index = found;
    return SGFS_OK;
}

/* ---- a list of columns ------------------------------------------------------------------------- */

static sgfs_status add_feature(const sgfsi_columns *c, int64_t i, unsigned char *role,
                               sgfs_err *err) {
    static const char *const taken[][2] = {[SGFSI_ROLE_TARGET] = {"is the target", "target"},
                                           [SGFSI_ROLE_WEIGHTS] = {"holds the weights", "weights"},
                                           [SGFSI_ROLE_EXPOSURE] = {"is the exposure", "exposure"}};
    if (role[i] > SGFSI_ROLE_FEATURE) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: column %lld (\"%.40s\") %s and cannot be a feature too; "
                          "choose another with --%s or leave it out of --features.",
                          c->path, (long long)i + 1, c->names[i], taken[role[i]][0],
                          taken[role[i]][1]);
    }
    role[i] = SGFSI_ROLE_FEATURE;
    return SGFS_OK;
}

/* "3-7" with both ends inside the file; a name that looks like a range was tried before. */
static bool column_range(const sgfsi_columns *c, char *token, int64_t *from, int64_t *to) {
    char *dash = strchr(token, '-');
    if (dash == NULL || dash == token) return false;
    *dash = '\0';
    bool good = column_number(c, token, from) && column_number(c, dash + 1, to) && *from <= *to;
    *dash = '-';
    return good;
}

static bool is_name(const sgfsi_columns *c, const char *token) {
    for (int64_t i = 0; i < c->cols; i++) {
        if (strcmp(c->names[i], token) == 0) return true;
    }
    return false;
}

/* What a list is for: its flag, and what is done with each column in it. */
typedef struct listing {
    const char *flag;
    sgfs_status (*add)(const sgfsi_columns *c, int64_t i, unsigned char *mark, sgfs_err *err);
    bool lenient; /* what is no column is passed over */
} listing;

static sgfs_status add_token(const sgfsi_columns *c, const listing *list, char *token,
                             unsigned char *mark, sgfs_err *err) {
    int64_t from, to;
    if (is_name(c, token) || !column_range(c, token, &from, &to)) {
        sgfs_status status = find_column(c, list->flag, token, &from, err);
        if (status != SGFS_OK) return status;
        to = from;
    }
    for (int64_t i = from; i <= to; i++) {
        sgfs_status status = list->add(c, i, mark, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

static sgfs_status add_list(const sgfsi_columns *c, const listing *list, const char *text,
                            unsigned char *mark, sgfs_err *err) {
    char *copy = strdup(text);
    if (copy == NULL) return sgfsi_fail_memory(err, "a list of columns");
    sgfs_status status = SGFS_OK;
    for (char *s = copy, *next; s != NULL && status == SGFS_OK; s = next) {
        next = strchr(s, ',');
        if (next != NULL) *next++ = '\0';
        while (*s == ' ') s++;
        for (size_t n = strlen(s); n > 0 && s[n - 1] == ' '; n--) s[n - 1] = '\0';
        status = add_token(c, list, s, mark, list->lenient ? NULL : err);
        if (list->lenient && status == SGFS_EUSAGE) status = SGFS_OK;
    }
    free(copy);
    return status;
}

/* ---- columns that are no features ------------------------------------------------------------ */

typedef struct part {
    unsigned char role;
    const char *flag, *asked; /* asked: "" or NULL: none */
} part;

static sgfs_status give(const sgfsi_columns *c, const part *p, unsigned char *role, sgfs_err *err) {
    int64_t i;
    if (p->asked == NULL || p->asked[0] == '\0') return SGFS_OK;
    sgfs_status status = find_column(c, p->flag, p->asked, &i, err);
    if (status != SGFS_OK) return status;
    if (role[i] > SGFSI_ROLE_FEATURE) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: column %lld (\"%.40s\") cannot be named by --%s and by --%s: "
                          "they need columns of their own.",
                          c->path, (long long)i + 1, c->names[i],
                          role[i] == SGFSI_ROLE_WEIGHTS ? "weights" : "exposure", p->flag);
    }
    role[i] = p->role;
    return SGFS_OK;
}

/* ---- shared ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_columns_select(const sgfsi_columns *columns, const unsigned char *stored,
                                 const sgfsi_read_options *options, unsigned char *role,
                                 sgfs_err *err) {
    if (options->run != NULL)
        return sgfsi_run_columns_choose(options->run, columns, options->log, role, err);
    const bool all = options->features[0] == '\0';
    for (int64_t i = 0; i < columns->cols; i++) {
        bool feature = all && (stored == NULL || stored[i] == SGFSI_ROLE_FEATURE);
        role[i] = feature ? SGFSI_ROLE_FEATURE : SGFSI_ROLE_NONE;
    }
    const part parts[] = {{SGFSI_ROLE_WEIGHTS, "weights", options->weights},
                          {SGFSI_ROLE_EXPOSURE, "exposure", options->exposure},
                          {SGFSI_ROLE_TARGET, "target", options->target}};
    sgfs_status status = SGFS_OK;
    for (int k = 0; k < 3 && status == SGFS_OK; k++) status = give(columns, &parts[k], role, err);
    if (status != SGFS_OK) return status;
    /* The column that was stored for this, unless another was asked for or it has become another
     * thing. */
    for (int k = 0; stored != NULL && k < 3; k++) {
        bool asked = parts[k].asked != NULL && parts[k].asked[0] != '\0';
        for (int64_t i = 0; !asked && i < columns->cols; i++)
            if (stored[i] == parts[k].role && role[i] <= SGFSI_ROLE_FEATURE)
                role[i] = parts[k].role;
    }
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
    const listing features = {"features", add_feature, false};
    return all ? SGFS_OK : add_list(columns, &features, options->features, role, err);
}

static sgfs_status set_mark(const sgfsi_columns *c, int64_t i, unsigned char *mark, sgfs_err *err) {
    (void)c, (void)err;
    mark[i] = 1;
    return SGFS_OK;
}

sgfs_status sgfsi_columns_mark(const sgfsi_columns *columns, const char *flag, const char *list,
                               unsigned char *mark, sgfs_err *err) {
    const listing marks = {flag != NULL ? flag : "", set_mark, flag == NULL};
    return add_list(columns, &marks, list, mark, err);
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
