/* SPDX-License-Identifier: MIT
 * transform_names.c: the columns that --drop and --log1p ask for.
 *
 * A column is known by its name now (service=http), by the name or number of the column of the file
 * it came from (service, 3: then all that came from it are meant), or by a range of numbers, 3-7.
 * Behind --project only p1, p2, ... are left, and numbers count those.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "files/transform/transform_kind.h"

enum { ABSENT = -1, TWICE = -2 };

/* ---- sentences ------------------------------------------------------------------------------- */

static sgfs_status fail_unknown(const sgfsi_transform *s, const char *asked, sgfs_err *err) {
    const sgfsi_base *b = s->in.base;
    const char *best = NULL;
    int64_t least = INT64_MAX, length = (int64_t)strlen(asked);
    for (int64_t j = 0; j < b->cols; j++) {
        int64_t d = sgfsi_distance(asked, b->name[j]);
        if (d >= least) continue;
        least = d;
        best = b->name[j];
    }
    bool near = best != NULL && sgfsi_is_near(asked, least) && least < length;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--%s asks for \"%.60s\", which is none of the %lld columns%s%.60s%s",
                      s->kind->op, asked, (long long)b->cols, near ? "; did you mean \"" : ".",
                      near ? best : "", near ? "\"?" : "");
}

static sgfs_status fail_twice(const sgfsi_transform *s, const char *asked, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--%s asks for \"%.60s\", and two columns are called that; ask by number.",
                      s->kind->op, asked);
}

/* No feature comes from column b any more, or none ever did. */
static sgfs_status fail_gone(const sgfsi_transform *s, int64_t b, sgfs_err *err) {
    static const char *const why[] = {[SGFSI_ROLE_NONE] = "is none of --features",
                                      [SGFSI_ROLE_FEATURE] = "an operation before it has left out",
                                      [SGFSI_ROLE_TARGET] = "is the target",
                                      [SGFSI_ROLE_WEIGHTS] = "holds the weights",
                                      [SGFSI_ROLE_EXPOSURE] = "is the exposure"};
    const sgfsi_base *base = s->in.base;
    int role = base->role != NULL ? base->role[b] : SGFSI_ROLE_FEATURE;
    return sgfsi_fail(err, SGFS_EUSAGE, "--%s asks for column \"%.60s\", which %s.", s->kind->op,
                      base->name[b], why[role]);
}

/* ---- one column, or those that came from it -------------------------------------------------- */

static int64_t find_name(int64_t cols, const char *const *name, const char *asked) {
    int64_t found = ABSENT;
    for (int64_t j = 0; j < cols; j++) {
        if (strcmp(name[j], asked) != 0) continue;
        if (found >= 0) return TWICE;
        found = j;
    }
    return found;
}

/* A number is a place in the file; a file without names calls its columns by it. */
static int64_t find_number(const sgfsi_base *b, const char *asked) {
    char name[32];
    int64_t number;
    if (!sgfsi_text_int(asked, &number) || number < 1) return ABSENT;
    snprintf(name, sizeof name, "x%lld", (long long)number);
    int64_t at = b->named ? ABSENT : find_name(b->cols, b->name, name);
    if (at >= 0) return at;
    return number <= b->cols ? number - 1 : ABSENT;
}

static sgfs_status hit_base(const sgfsi_transform *s, int64_t b, unsigned char *hit,
                            sgfs_err *err) {
    bool any = false;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (s->in.origin[j] != b) continue;
        hit[j] = 1;
        any = true;
    }
    return any ? SGFS_OK : fail_gone(s, b, err);
}

static bool split_range(const sgfsi_base *b, char *token, int64_t *from, int64_t *to) {
    char *dash = strchr(token, '-');
    if (dash == NULL || dash == token) return false;
    *dash = '\0';
    *from = find_number(b, token);
    *to = find_number(b, dash + 1);
    *dash = '-';
    return *from >= 0 && *to >= *from;
}

static sgfs_status hit_token(const sgfsi_transform *s, char *token, unsigned char *hit,
                             sgfs_err *err) {
    const sgfsi_base *base = s->in.base;
    int64_t from = find_name(s->in.cols, s->in.name, token), to;
    if (from == TWICE) return fail_twice(s, token, err);
    if (from >= 0) return hit[from] = 1, SGFS_OK;
    from = to = find_name(base->cols, base->name, token);
    if (from == TWICE) return fail_twice(s, token, err);
    if (from < 0) {
        from = to = find_number(base, token);
        if (from < 0 && !split_range(base, token, &from, &to)) return fail_unknown(s, token, err);
        if (base->partial && base->named)
            return sgfsi_fail(
                err, SGFS_EUSAGE,
                "--%s asks for column %.60s by number, and --features leaves some columns "
                "out: ask by name.",
                s->kind->op, token);
    }
    sgfs_status status = SGFS_OK;
    for (; from <= to && status == SGFS_OK; from++) status = hit_base(s, from, hit, err);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

sgfs_status sgfsi_transform_find(const sgfsi_transform *s, const char *list, unsigned char *hit,
                                 sgfs_err *err) {
    char *copy = strdup(list);
    if (copy == NULL) return sgfsi_fail_memory(err, "a list of columns");
    sgfs_status status = SGFS_OK;
    for (char *t = copy, *next; t != NULL && status == SGFS_OK; t = next) {
        next = strchr(t, ',');
        if (next != NULL) *next++ = '\0';
        while (*t == ' ') t++;
        for (size_t n = strlen(t); n > 0 && t[n - 1] == ' '; n--) t[n - 1] = '\0';
        status = hit_token(s, t, hit, err);
    }
    free(copy);
    return status;
}

sgfs_status sgfsi_transform_find_saved(const sgfsi_transform *s, const sgfsi_json *names,
                                       unsigned char *hit, sgfs_err *err) {
    int64_t count = sgfsi_json_length(names);
    for (int64_t k = 0; k < count; k++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(names, k));
        int64_t at = name != NULL ? find_name(s->in.cols, s->in.name, name) : ABSENT;
        if (at < 0)
            return sgfsi_fail(err, SGFS_ERUNFILE,
                              "The run's transform \"%s\" names a column that is not there.",
                              s->kind->op);
        hit[at] = 1;
    }
    if (count >= 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ERUNFILE, "The run's transform \"%s\" names no columns.",
                      s->kind->op);
}

void sgfsi_transform_tell_names(const sgfsi_transform *s, const unsigned char *hit,
                                sgfsi_json *out) {
    sgfsi_json *names = sgfsi_json_array_in(out, "columns");
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (hit[j]) sgfsi_json_text(names, NULL, s->in.name[j]);
    }
}
