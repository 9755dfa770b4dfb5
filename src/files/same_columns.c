/* SPDX-License-Identifier: MIT
 * same_columns.c: the columns of one file against those of another.
 *
 *     both have names    the same names; another order is found by name
 *     neither has        as many columns, each in its place
 *     one of them has    the names that are made up by place (x1, x2, y) have to be those of the
 *                        other: nobody says that the columns stand in the same order
 *
 * and in each case the same column has to be the target, the weights, the exposure. Columns nobody
 * asked for are not compared.
 */
#include "files/same_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/words.h"
#include "files/columns.h"

enum { SHOWN = 4 };

static const char *const role_name[] = {"left out", "a feature", "the target", "the weights",
                                        "the exposure"};

/* ---- shapes ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_file_columns_of(sgfsi_file_columns *shape, const char *path,
                                  const sgfsi_table *table, sgfs_err *err) {
    *shape = (sgfsi_file_columns){.path = path, .table = table};
    shape->col = malloc(((size_t)table->cols + 1) * sizeof *shape->col);
    if (shape->col == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < table->cols; j++) {
        if (table->role == NULL || table->role[j] != SGFSI_ROLE_NONE)
            shape->col[shape->wanted++] = j;
    }
    return SGFS_OK;
}

void sgfsi_file_columns_free(sgfsi_file_columns *shape) {
    free(shape->col);
    memset(shape, 0, sizeof *shape);
}

const char *sgfsi_file_columns_name(const sgfsi_file_columns *shape, int64_t k) {
    return shape->table->names[shape->col[k]];
}

sgfsi_role sgfsi_file_columns_role(const sgfsi_file_columns *shape, int64_t k) {
    const unsigned char *role = shape->table->role;
    return role != NULL ? (sgfsi_role)role[shape->col[k]] : SGFSI_ROLE_FEATURE;
}

const sgfsi_dictionary *sgfsi_file_columns_words(const sgfsi_file_columns *shape, int64_t k) {
    const sgfsi_dictionary *all = shape->table->dictionary;
    int64_t j = shape->col[k];
    return all != NULL && all[j].count > 0 ? &all[j] : NULL;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static sgfs_status fail_role(const sgfsi_file_columns *first, int64_t k,
                             const sgfsi_file_columns *next, int64_t at, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%.150s: its column \"%.40s\" is %s, and in %.150s it is %s; name the columns "
        "with --target, --features, --weights and --exposure.",
        next->path, sgfsi_file_columns_name(next, at), role_name[sgfsi_file_columns_role(next, at)],
        first->path, role_name[sgfsi_file_columns_role(first, k)]);
}

sgfs_status sgfsi_fail_targets(const char *numbers, const char *texts, const char *text,
                               sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: its targets are numbers, and those of %.150s are texts (\"%.40s\", "
                      "...).",
                      numbers, texts, text);
}

/* ---- matching -------------------------------------------------------------------------------- */

/* The same names and roles in the same order. */
static bool is_alike(const sgfsi_file_columns *first, const sgfsi_file_columns *next,
                     int64_t *from) {
    for (int64_t k = 0; k < first->wanted && k < next->wanted; k++) {
        if (strcmp(sgfsi_file_columns_name(first, k), sgfsi_file_columns_name(next, k)) != 0 ||
            sgfsi_file_columns_role(first, k) != sgfsi_file_columns_role(next, k)) {
            return false;
        }
        from[k] = k;
    }
    return first->wanted == next->wanted;
}

static sgfs_status index_names(const sgfsi_file_columns *shape, sgfsi_word_list *names,
                               sgfs_err *err) {
    for (int64_t k = 0; k < shape->wanted; k++) {
        const char *name = sgfsi_file_columns_name(shape, k);
        int64_t at = sgfsi_words_add(names, name, strlen(name));
        if (at < 0) return sgfsi_fail_memory(err, "the column names");
        if (at == k) continue;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.150s: two columns are called \"%.60s\", so that they cannot be found "
                          "by name in the order of the other files.",
                          shape->path, name);
    }
    return SGFS_OK;
}

/* By name: both have them. */
static sgfs_status look_up(const sgfsi_file_columns *first, const sgfsi_file_columns *next,
                           int64_t *from, sgfs_err *err) {
    sgfsi_name_list lacks = {.shown = SHOWN}, extra = {.shown = SHOWN};
    sgfsi_word_list firsts = {0}, nexts = {0};
    sgfs_status status = index_names(first, &firsts, err);
    if (status == SGFS_OK) status = index_names(next, &nexts, err);
    for (int64_t k = 0; status == SGFS_OK && k < first->wanted; k++) {
        from[k] = sgfsi_words_find(&nexts, firsts.text[k], strlen(firsts.text[k]));
        if (from[k] < 0) sgfsi_name_list_add(&lacks, firsts.text[k], NULL);
    }
    for (int64_t k = 0; status == SGFS_OK && k < next->wanted; k++) {
        if (sgfsi_words_find(&firsts, nexts.text[k], strlen(nexts.text[k])) < 0)
            sgfsi_name_list_add(&extra, nexts.text[k], NULL);
    }
    sgfsi_words_free(&firsts);
    sgfsi_words_free(&nexts);
    if (lacks.count + extra.count > 0) {
        bool both = lacks.count > 0 && extra.count > 0;
        return sgfsi_fail(
            err, SGFS_EDATA, "%.150s: its columns are not those of %.150s: it %s%s%s%s%s%s%s.%s",
            next->path, first->path, lacks.count > 0 ? "lacks " : "", lacks.text,
            lacks.count > SHOWN ? ", ..." : "", both ? ", and " : "",
            extra.count > 0 ? "has besides " : "", extra.text, extra.count > SHOWN ? ", ..." : "",
            strchr(lacks.text, '=') != NULL || strchr(extra.text, '=') != NULL
                ? " Where words differ from file to file, pack the tables they come from together."
                : "");
    }
    for (int64_t k = 0; status == SGFS_OK && k < first->wanted; k++) {
        if (sgfsi_file_columns_role(first, k) != sgfsi_file_columns_role(next, from[k]))
            status = fail_role(first, k, next, from[k], err);
    }
    return status;
}

sgfs_status sgfsi_file_columns_match(const sgfsi_file_columns *first,
                                     const sgfsi_file_columns *next, int64_t *from, sgfs_err *err) {
    if (is_alike(first, next, from)) return SGFS_OK;
    if (first->table->named && next->table->named) return look_up(first, next, from, err);
    if (first->table->named || next->table->named) {
        const sgfsi_file_columns *named = first->table->named ? first : next,
                                 *bare = first->table->named ? next : first;
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%.150s: does not say what its columns are called, and %.150s calls them \"%.40s\", "
            "...; "
            "give every file a header. Pieces of one file are put together again by: cat piece-* | "
            "sgfs ... --data -",
            bare->path, named->path, sgfsi_file_columns_name(named, 0));
    }
    /* Features one after another; target, weights and exposure by what they are. */
    int64_t at[sizeof role_name / sizeof *role_name] = {0};
    if (first->wanted != next->wanted)
        return sgfsi_fail(err, SGFS_EDATA, "%.150s: has %lld column%s where %.150s has %lld.",
                          next->path, (long long)next->wanted, next->wanted == 1 ? "" : "s",
                          first->path, (long long)first->wanted);
    for (int64_t k = 0; k < first->wanted; k++) {
        sgfsi_role role = sgfsi_file_columns_role(first, k);
        int64_t j = at[role];
        while (j < next->wanted && sgfsi_file_columns_role(next, j) != role) j++;
        if (j == next->wanted) return fail_role(first, k, next, k, err);
        from[k] = j;
        at[role] = j + 1;
    }
    return SGFS_OK;
}

/* ---- beside names ---------------------------------------------------------------------------- */

sgfs_status sgfsi_file_columns_match_recipe(const sgfsi_file_columns *first,
                                            const sgfsi_file_columns *next, sgfs_err *err) {
    if (sgfsi_json_equal(first->table->recipe, next->table->recipe)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: other transforms have made it than %.150s, so that their numbers "
                      "mean different things; pack the files they come from together.",
                      next->path, first->path);
}
