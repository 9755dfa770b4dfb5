/* SPDX-License-Identifier: MIT
 * transform_names.c: the columns that --drop and --log1p ask for.
 *
 * A column is known by its name now (service=http), by the name or number of the column of the file
 * it came from (service, 3: then all that came from it are meant), by what stands before the = of
 * several, month(when), or by a range of numbers, 3-7.
 * Behind --project only p1, p2, ... are left, and numbers count those.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/columns.h"
#include "files/transform/transform_kind.h"

/* The features that come from column b of the file. */
static sgfs_status hit_base(const sgfsi_transform *s, int64_t b, unsigned char *hit,
                            sgfs_err *err) {
    static const char *const why[] = {[SGFSI_ROLE_NONE] = "is none of --features",
                                      [SGFSI_ROLE_FEATURE] = "an operation before it has left out",
                                      [SGFSI_ROLE_TARGET] = "is the target",
                                      [SGFSI_ROLE_WEIGHTS] = "holds the weights",
                                      [SGFSI_ROLE_EXPOSURE] = "is the exposure",
                                      [SGFSI_ROLE_GROUP] = "groups rows"};
    const sgfsi_base *base = s->in.base;
    bool any = false;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (s->in.origin[j] != b) continue;
        /* Behind --na mean, "age" is age and the column of zeros and ones age=NA: whoever drops it
         * means both, but the logarithm is that of the numbers. */
        const size_t length = strlen(base->name[b]);
        bool marks = strncmp(s->in.name[j], base->name[b], length) == 0 &&
                     strcmp(s->in.name[j] + length, "=NA") == 0;
        hit[j] = !marks || s->kind != &sgfsi_transform_log1p;
        any = true;
    }
    if (any) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "--%s asks for column \"%.60s\", which %s.", s->kind->op,
                      base->name[b], why[base->role != NULL ? base->role[b] : SGFSI_ROLE_FEATURE]);
}

static sgfs_status hit_token(const sgfsi_transform *s, char *token, unsigned char *hit,
                             sgfs_err *err) {
    const sgfsi_base *base = s->in.base;
    const sgfsi_columns columns = {
        .cols = base->cols, .names = (char *const *)base->name, .named = base->named};
    int64_t from = sgfsi_names_find(s->in.cols, s->in.name, token), to;
    if (from >= 0) return hit[from] = 1, SGFS_OK;
    bool any = false;
    for (int64_t j = 0; sgfsi_names_find(base->cols, base->name, token) < 0 && j < s->in.cols;
         j++) {
        const size_t length = strlen(token);
        if (strncmp(s->in.name[j], token, length) != 0 || s->in.name[j][length] != '=') continue;
        hit[j] = any = true;
    }
    if (any) return SGFS_OK;
    sgfs_status status = sgfsi_columns_find(&columns, s->kind->op, token, &from, &to, err);
    if (status == SGFS_OK && base->partial && base->named &&
        sgfsi_names_find(base->cols, base->name, token) < 0)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--%s asks for column %.60s by number, and some columns of the file are left out "
            "(--features, or row numbers): ask by name.",
            s->kind->op, token);
    for (; status == SGFS_OK && from <= to; from++) status = hit_base(s, from, hit, err);
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
        int64_t at =
            name != NULL ? sgfsi_names_find(s->in.cols, s->in.name, name) : SGFSI_NAME_ABSENT;
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
