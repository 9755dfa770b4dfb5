/* SPDX-License-Identifier: MIT
 * join_words.c: one recipe of several that differ in the words they have met, and the columns that
 * it makes, from those of each file.
 *
 * A word that a file has a column for is taken from there. The word that a file compares others
 * with has none, and is where all others are not: 1 - sum of the file's columns. Any other word is
 * in none of its rows. With --coding integer numbers of words become those of the joint list.
 *
 * Only what words and dates make may differ, and what rows were left out: numbers mean the same
 * then. Columns that were filled in, projected or standardised by a file's own rows do not, nor
 * those of formulas, nor where single words were dropped: those files are refused as before
 * (same_columns.c).
 */
#include "files/join_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/words.h"
#include "files/columns.h"
#include "files/packed/packed.h"
#include "files/transform/transform_kind.h"

struct sgfsi_joint {
    sgfsi_json *recipe;
    sgfsi_recipe *recalled; /* for the names that come out */
};

/* ---- is there more to it than words? --------------------------------------------------------- */

static bool is_op(const sgfsi_json *step, const char *op) {
    return strcmp(sgfsi_json_get_text(step, "op", ""), op) == 0;
}

/* Words on their way to a formula make columns there, which cannot be joined. */
static bool has_words(const sgfsi_json *step) {
    bool codes = strcmp(sgfsi_json_get_text(step, "coding", ""), "codes") == 0;
    return (is_op(step, "categorical") && !codes) || is_op(step, "date");
}

static bool same_columns(const sgfsi_json *a, const sgfsi_json *b) {
    bool same = sgfsi_json_length(a) == sgfsi_json_length(b);
    for (int64_t k = 0; same && k < sgfsi_json_length(a); k++) {
        const sgfsi_json *x = sgfsi_json_at(a, k), *y = sgfsi_json_at(b, k);
        same = sgfsi_json_equal(sgfsi_json_get(x, "name"), sgfsi_json_get(y, "name")) &&
               sgfsi_json_equal(sgfsi_json_get(x, "of"), sgfsi_json_get(y, "of")) &&
               (sgfsi_json_get(x, "words") != NULL) == (sgfsi_json_get(y, "words") != NULL);
    }
    return same;
}

static bool same_but_words(const sgfsi_json *a, const sgfsi_json *b) {
    bool same = a != NULL && b != NULL && sgfsi_json_length(a) == sgfsi_json_length(b);
    for (int64_t i = 0; same && i < sgfsi_json_length(a); i++) {
        const sgfsi_json *x = sgfsi_json_at(a, i), *y = sgfsi_json_at(b, i);
        if (!has_words(x) || !sgfsi_json_equal(sgfsi_json_get(x, "op"), sgfsi_json_get(y, "op"))) {
            same = sgfsi_json_equal(x, y) || (is_op(x, "complete") && is_op(y, "complete"));
            continue;
        }
        same = sgfsi_json_equal(sgfsi_json_get(x, "coding"), sgfsi_json_get(y, "coding")) &&
               sgfsi_json_equal(sgfsi_json_get(x, "reference"), sgfsi_json_get(y, "reference")) &&
               sgfsi_json_equal(sgfsi_json_get(x, "dates"), sgfsi_json_get(y, "dates")) &&
               same_columns(sgfsi_json_get(x, "columns"), sgfsi_json_get(y, "columns"));
    }
    return same;
}

/* ---- one list of words ----------------------------------------------------------------------- */

static const char *word_at(const sgfsi_json *words, int64_t k) {
    const char *word = k >= 0 ? sgfsi_json_as_text(sgfsi_json_at(words, k)) : NULL;
    return word != NULL ? word : "";
}

static int64_t find_column(const sgfsi_table *t, const char *name) {
    return sgfsi_names_find(t->cols, (const char *const *)t->names, name);
}

/* How often a file has the word, by the means of its columns of 0 and 1; NaN: it does not say. */
static double count_of(const sgfsi_table *t, const sgfsi_json *column, const char *word) {
    const sgfsi_json *words = sgfsi_json_get(column, "words");
    const char *of = sgfsi_json_get_text(column, "name", "");
    const int64_t left_out = sgfsi_json_get_int(column, "left_out", -1);
    double rest = 1, own = 0;
    for (int64_t k = 0; k < sgfsi_json_length(words); k++) {
        char name[1400];
        snprintf(name, sizeof name, "%s=%s", of, word_at(words, k));
        const int64_t at = k == left_out ? -1 : find_column(t, name);
        const double mean = at >= 0 && t->stats != NULL ? t->stats[at].mean : 0;
        rest -= mean;
        if (strcmp(word_at(words, k), word) == 0) own = k == left_out ? -1 : mean;
    }
    return (own < 0 ? rest : own) * (double)t->rows;
}

typedef struct level {
    const char *word;
    double count;
} level;

static int by_word(const void *a, const void *b) {
    return sgfsi_words_compare(((const level *)a)->word, ((const level *)b)->word);
}

/* Column c of step i in all files, with all their words. */
static sgfs_status join_column(int64_t files, const sgfsi_table *table, int64_t i, int64_t c,
                               bool reference, sgfsi_json *out, sgfs_err *err) {
    sgfsi_word_list all = {0};
    level *list = NULL;
    const sgfsi_json *column = NULL, *first = NULL;
    bool made = true;
    for (int64_t f = 0; made && f < files; f++) {
        const sgfsi_json *step = sgfsi_json_at(table[f].recipe, i);
        column = sgfsi_json_at(sgfsi_json_get(step, "columns"), c);
        if (f == 0) first = column;
        const sgfsi_json *words = sgfsi_json_get(column, "words");
        for (int64_t k = 0; made && k < sgfsi_json_length(words); k++)
            made = sgfsi_words_add(&all, word_at(words, k), strlen(word_at(words, k))) >= 0;
    }
    if (made) list = calloc((size_t)all.count + 1, sizeof *list);
    made = made && list != NULL;
    for (int64_t k = 0; made && k < all.count; k++) {
        list[k].word = all.text[k];
        for (int64_t f = 0; f < files && reference; f++) {
            const sgfsi_json *step = sgfsi_json_at(table[f].recipe, i);
            column = sgfsi_json_at(sgfsi_json_get(step, "columns"), c);
            list[k].count += count_of(&table[f], column, list[k].word);
        }
    }
    if (made) {
        int64_t most = 0;
        qsort(list, (size_t)all.count, sizeof *list, by_word);
        sgfsi_json_text(out, "name", sgfsi_json_get_text(first, "name", ""));
        static const char *const more[] = {"of", "part"};
        for (int k = 0; k < 2; k++)
            if (sgfsi_json_get(first, more[k]) != NULL)
                sgfsi_json_text(out, more[k], sgfsi_json_get_text(first, more[k], ""));
        sgfsi_json *words = all.count > 0 ? sgfsi_json_array_in(out, "words") : NULL;
        for (int64_t k = 0; k < all.count; k++) {
            sgfsi_json_text(words, NULL, list[k].word);
            const bool missing = strcmp(list[k].word, "NA") == 0;
            if (list[k].count > list[most].count && !missing) most = k;
        }
        if (reference && all.count > 0) sgfsi_json_int(out, "left_out", most);
    }
    free(list);
    sgfsi_words_free(&all);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the words");
}

static sgfs_status join_recipes(sgfsi_joint *joint, int64_t files, const sgfsi_table *table,
                                sgfs_err *err) {
    const sgfsi_json *first = table[0].recipe;
    sgfs_status status = SGFS_OK;
    joint->recipe = sgfsi_json_array();
    for (int64_t i = 0; i < sgfsi_json_length(first) && status == SGFS_OK; i++) {
        const sgfsi_json *step = sgfsi_json_at(first, i), *dates = sgfsi_json_get(step, "dates"),
                         *columns = sgfsi_json_get(step, "columns");
        if (!has_words(step)) {
            sgfsi_json_put(joint->recipe, NULL, sgfsi_json_copy(step));
            continue;
        }
        bool reference = sgfsi_json_get_flag(step, "reference");
        sgfsi_json *o = sgfsi_json_object_in(joint->recipe, NULL);
        sgfsi_json_text(o, "op", sgfsi_json_get_text(step, "op", ""));
        sgfsi_json_text(o, "coding", sgfsi_json_get_text(step, "coding", ""));
        if (sgfsi_json_get(step, "reference") != NULL) sgfsi_json_flag(o, "reference", reference);
        if (dates != NULL) sgfsi_json_put(o, "dates", sgfsi_json_copy(dates));
        sgfsi_json *list = sgfsi_json_array_in(o, "columns");
        for (int64_t c = 0; c < sgfsi_json_length(columns) && status == SGFS_OK; c++)
            status =
                join_column(files, table, i, c, reference, sgfsi_json_object_in(list, NULL), err);
    }
    if (status == SGFS_OK && !sgfsi_json_whole(joint->recipe))
        status = sgfsi_fail_memory(err, "the words");
    return status == SGFS_OK ? sgfsi_recipe_recall(&joint->recalled, joint->recipe, 0, err)
                             : status;
}

/* ---- the columns of one file ----------------------------------------------------------------- */

/* Where a column comes from. */
typedef struct source {
    int64_t col;       /* of the file; -1: none */
    int64_t *other, n; /* n columns: 1 less their sum */
    double *code;      /* codes: what its numbers become; NULL: they stay */
    int64_t codes;
} source;

struct sgfsi_joint_file {
    sgfsi_arena arena;
    sgfsi_dtype type;
    int64_t cols;
    source *source; /* cols */
};

/* The column of words (of the joint recipe's and of the file's own) that `name` belongs to, and its
 * word; false: to none. Words may hold "=", as may names: the longest name wins. */
static bool find_words(const sgfsi_json *joint, const sgfsi_json *own, const char *name,
                       const sgfsi_json **all, const sgfsi_json **mine, const char **word) {
    size_t longest = 0;
    for (int64_t i = 0; i < sgfsi_json_length(joint); i++) {
        const sgfsi_json *a = sgfsi_json_get(sgfsi_json_at(joint, i), "columns"),
                         *b = sgfsi_json_get(sgfsi_json_at(own, i), "columns");
        for (int64_t c = 0; has_words(sgfsi_json_at(joint, i)) && c < sgfsi_json_length(a); c++) {
            const char *of = sgfsi_json_get_text(sgfsi_json_at(a, c), "name", "");
            const size_t length = strlen(of);
            bool whole = strcmp(name, of) == 0;
            bool begins = whole || (strncmp(name, of, length) == 0 && name[length] == '=');
            if (!begins || length < longest || sgfsi_json_get(sgfsi_json_at(a, c), "words") == NULL)
                continue;
            longest = length;
            *all = sgfsi_json_at(a, c);
            *mine = sgfsi_json_at(b, c);
            *word = whole ? NULL : name + length + 1;
        }
    }
    return longest > 0;
}

static bool source_codes(sgfsi_joint_file *f, const sgfsi_json *all, const sgfsi_json *mine,
                         source *s) {
    const sgfsi_json *a = sgfsi_json_get(all, "words"), *b = sgfsi_json_get(mine, "words");
    s->codes = sgfsi_json_length(b);
    s->code = SGFSI_DOUBLES(&f->arena, s->codes + 1);
    for (int64_t k = 0; s->code != NULL && k < s->codes; k++) {
        int64_t at = 0;
        while (at < sgfsi_json_length(a) && strcmp(word_at(a, at), word_at(b, k)) != 0) at++;
        s->code[k] = (double)at;
    }
    return s->code != NULL;
}

/* The file has no column of that name: it compares other words with this one, or never had it. */
static bool source_rest(sgfsi_joint_file *f, const sgfsi_table *t, const sgfsi_json *mine,
                        const char *word, source *s) {
    const sgfsi_json *words = sgfsi_json_get(mine, "words");
    const int64_t left_out = sgfsi_json_get_int(mine, "left_out", -1);
    s->n = -1;
    if (strcmp(word_at(words, left_out), word) != 0) return true;
    s->n = 0;
    s->other = sgfsi_arena_alloc(&f->arena, sgfsi_json_length(words) + 1, sizeof *s->other);
    for (int64_t k = 0; s->other != NULL && k < sgfsi_json_length(words); k++) {
        char name[1400];
        snprintf(name, sizeof name, "%s=%s", sgfsi_json_get_text(mine, "name", ""),
                 word_at(words, k));
        if (k != left_out) s->other[s->n++] = find_column(t, name);
    }
    return s->other != NULL;
}

static sgfs_status find_source(sgfsi_joint_file *f, const sgfsi_joint *joint, const sgfsi_table *t,
                               const char *name, source *s, sgfs_err *err) {
    const sgfsi_json *all, *mine;
    const char *word;
    bool words = find_words(joint->recipe, t->recipe, name, &all, &mine, &word), made = true;
    s->col = find_column(t, name);
    if (words && word == NULL && s->col >= 0) made = source_codes(f, all, mine, s);
    if (words && word != NULL && s->col < 0) made = source_rest(f, t, mine, word, s);
    if (!made) return sgfsi_fail_memory(err, "the words");
    if (s->col >= 0 || (words && word != NULL)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA, "lacks column \"%.60s\", which other files have.", name);
}

sgfs_status sgfsi_joint_file_open(sgfsi_joint_file **out, const sgfsi_joint *joint,
                                  const sgfsi_table *t, sgfsi_table *head, sgfs_err *err) {
    const char *const *name;
    const int64_t features = sgfsi_recipe_outputs(joint->recalled, &name);
    sgfsi_joint_file *f = *out = calloc(1, sizeof *f);
    *head = (sgfsi_table){
        .rows = t->rows, .type = SGFSI_F64, .named = true, .fewer = t->fewer, .text_col = -1};
    if (f == NULL) return sgfsi_fail_memory(err, "the columns");
    f->type = t->type;
    f->source = sgfsi_arena_alloc(&f->arena, features + t->cols + 1, sizeof *f->source);
    head->names = calloc((size_t)(features + t->cols) + 1, sizeof *head->names);
    head->role = malloc((size_t)(features + t->cols) + 1);
    head->recipe = sgfsi_json_copy(joint->recipe);
    bool made =
        f->source != NULL && head->names != NULL && head->role != NULL && head->recipe != NULL;
    sgfs_status status = SGFS_OK;
    for (int64_t j = 0; made && status == SGFS_OK && j < features + t->cols; j++) {
        const bool passes = j >= features && t->role[j - features] != SGFSI_ROLE_FEATURE &&
                            t->role[j - features] != SGFSI_ROLE_NONE;
        if (j >= features && !passes) continue;
        const char *called = passes ? t->names[j - features] : name[j];
        if (passes) f->source[f->cols].col = j - features;
        else status = find_source(f, joint, t, called, &f->source[f->cols], err);
        if (passes && j - features == t->text_col) head->text_col = f->cols;
        head->role[f->cols] = passes ? t->role[j - features] : SGFSI_ROLE_FEATURE;
        head->names[f->cols] = strdup(called);
        made = head->names[f->cols++] != NULL;
    }
    head->cols = head->row_stride = f->cols;
    if (made && head->text_col >= 0) {
        head->levels = t->levels;
        head->level = sgfsi_names_copy(t->level, t->levels);
        made = head->level != NULL;
    }
    return made || status != SGFS_OK ? status : sgfsi_fail_memory(err, "the columns");
}

void sgfsi_joint_file_free(sgfsi_joint_file *f) {
    if (f == NULL) return;
    sgfsi_arena_free(&f->arena);
    free(f);
}

void sgfsi_joint_row(const sgfsi_joint_file *f, const char *row, double *to) {
    for (int64_t k = 0; k < f->cols; k++) {
        const source *s = &f->source[k];
        double x = s->n >= 0 && s->col < 0 ? 1 : 0;
        for (int64_t i = 0; s->col < 0 && i < s->n; i++)
            x -= sgfsi_table_cell(f->type, row, s->other[i]);
        if (s->col >= 0) x = sgfsi_table_cell(f->type, row, s->col);
        if (s->code != NULL && x >= 0 && x < (double)s->codes) x = s->code[(int64_t)x];
        to[k] = x;
    }
}

/* ---- all files ------------------------------------------------------------------------------- */

/* Can every file's columns be found, whatever words it has? Each word but the one that others are
 * compared with needs its column: a word that was dropped would be taken for that one. */
static bool has_all_words(const sgfsi_table *t) {
    bool all = t->named;
    for (int64_t i = 0; all && i < sgfsi_json_length(t->recipe); i++) {
        const sgfsi_json *step = sgfsi_json_at(t->recipe, i),
                         *columns = sgfsi_json_get(step, "columns");
        bool onehot = strcmp(sgfsi_json_get_text(step, "coding", ""), "onehot") == 0;
        for (int64_t c = 0; has_words(step) && onehot && c < sgfsi_json_length(columns); c++) {
            const sgfsi_json *of = sgfsi_json_at(columns, c), *words = sgfsi_json_get(of, "words");
            for (int64_t k = 0; all && k < sgfsi_json_length(words); k++) {
                char name[1400];
                snprintf(name, sizeof name, "%s=%s", sgfsi_json_get_text(of, "name", ""),
                         word_at(words, k));
                all = k == sgfsi_json_get_int(of, "left_out", -1) || find_column(t, name) >= 0;
            }
        }
    }
    for (int64_t j = 0; all && j < t->cols; j++)
        all = t->role == NULL || t->role[j] != SGFSI_ROLE_NONE;
    return all && t->role != NULL;
}

sgfs_status sgfsi_joint_open(sgfsi_joint **out, int64_t files, const char *const *path,
                             const sgfsi_read_options *options, sgfs_err *err) {
    sgfsi_table *table = calloc((size_t)files, sizeof *table);
    bool joins = table != NULL, differ = false;
    *out = NULL;
    sgfs_status status = SGFS_OK;
    for (int64_t f = 0; joins && f < files; f++) {
        /* What is wrong with a file is said when it is read. */
        joins = sgfs_reader_packed.map(path[f], options, &table[f], NULL) == SGFS_OK;
        if (!joins) break;
        joins = has_all_words(&table[f]) && same_but_words(table[0].recipe, table[f].recipe);
        differ = differ || !sgfsi_json_equal(table[0].recipe, table[f].recipe);
    }
    if (joins && differ) {
        *out = calloc(1, sizeof **out);
        status = *out != NULL ? join_recipes(*out, files, table, err)
                              : sgfsi_fail_memory(err, "the words");
    }
    for (int64_t f = 0; table != NULL && f < files; f++) sgfsi_table_free(&table[f]);
    free(table);
    if (status == SGFS_OK) return status;
    sgfsi_joint_free(*out);
    *out = NULL;
    return status;
}

void sgfsi_joint_free(sgfsi_joint *joint) {
    if (joint == NULL) return;
    sgfsi_recipe_free(joint->recalled);
    sgfsi_json_free(joint->recipe);
    free(joint);
}
