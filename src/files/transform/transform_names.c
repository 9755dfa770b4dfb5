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
#include "files/columns.h"
#include "files/transform/transform_kind.h"

enum { ABSENT = SGFSI_NAME_ABSENT, TWICE = SGFSI_NAME_TWICE };

/* ---- sentences ------------------------------------------------------------------------------- */

static sgfs_status fail_twice(const sgfsi_transform *s, const char *asked, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--%s asks for \"%.60s\", and two columns are called that; ask by number.",
                      s->kind->op, asked);
}

/* ---- one column, or those that came from it -------------------------------------------------- */

/* A number is a place in the file; a file without names calls its columns by it. */
static int64_t find_number(const sgfsi_base *b, const char *asked) {
    char name[32];
    int64_t number;
    if (!sgfsi_text_int(asked, &number) || number < 1) return ABSENT;
    snprintf(name, sizeof name, "x%lld", (long long)number);
    int64_t at = b->named ? ABSENT : sgfsi_names_find(b->cols, b->name, name);
    if (at >= 0) return at;
    return number <= b->cols ? number - 1 : ABSENT;
}

/* The features that come from column b of the file. */
static sgfs_status hit_base(const sgfsi_transform *s, int64_t b, unsigned char *hit,
                            sgfs_err *err) {
    static const char *const why[] = {[SGFSI_ROLE_NONE] = "is none of --features",
                                      [SGFSI_ROLE_FEATURE] = "an operation before it has left out",
                                      [SGFSI_ROLE_TARGET] = "is the target",
                                      [SGFSI_ROLE_WEIGHTS] = "holds the weights",
                                      [SGFSI_ROLE_EXPOSURE] = "is the exposure"};
    const sgfsi_base *base = s->in.base;
    bool any = false;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (s->in.origin[j] != b) continue;
        hit[j] = 1;
        any = true;
    }
    if (any) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "--%s asks for column \"%.60s\", which %s.", s->kind->op,
                      base->name[b], why[base->role != NULL ? base->role[b] : SGFSI_ROLE_FEATURE]);
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
    int64_t from = sgfsi_names_find(s->in.cols, s->in.name, token), to;
    if (from == TWICE) return fail_twice(s, token, err);
    if (from >= 0) return hit[from] = 1, SGFS_OK;
    from = to = sgfsi_names_find(base->cols, base->name, token);
    if (from == TWICE) return fail_twice(s, token, err);
    if (from < 0) {
        from = to = find_number(base, token);
        if (from < 0 && !split_range(base, token, &from, &to)) {
            const char *near = sgfsi_nearest_name(token, base->cols, base->name, NULL);
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--%s asks for \"%.60s\", which is none of the %lld columns%s%.60s%s",
                              s->kind->op, token, (long long)base->cols,
                              near != NULL ? "; did you mean \"" : ".", near != NULL ? near : "",
                              near != NULL ? "\"?" : "");
        }
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
    for (char *rest = copy, *t; status == SGFS_OK && (t = sgfsi_list_next(&rest)) != NULL;)
        status = hit_token(s, t, hit, err);
    free(copy);
    return status;
}

sgfs_status sgfsi_transform_find_saved(const sgfsi_transform *s, const sgfsi_json *names,
                                       unsigned char *hit, sgfs_err *err) {
    int64_t count = sgfsi_json_length(names);
    for (int64_t k = 0; k < count; k++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(names, k));
        int64_t at = name != NULL ? sgfsi_names_find(s->in.cols, s->in.name, name) : ABSENT;
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
    sgfsi_json *names = sgfsi_json_array();
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (hit[j]) sgfsi_json_text(names, NULL, s->in.name[j]);
    }
    sgfsi_json_put(out, "columns", names);
}
