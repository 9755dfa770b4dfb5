/* SPDX-License-Identifier: MIT
 * newrows_memory.c: new rows from the caller's memory: what a reader does with the cells of a file,
 * done with numbers and texts that are there already.
 *
 *     columns of the run's file -> words by their numbers -> the run's transforms -> x, exposure
 *
 * Nothing here changes what was opened, so that any number of threads may take rows at once, each
 * with a block of its own.
 */
#include <math.h>
#include <string.h>

#include "files/text/date.h"
#include "jobs/newrows.h"

/* The groups of a factor that a column of words makes alone: their names are the words. */
static const sgfsi_word_list *group_words(const sgfsi_newgroups *g, int64_t c) {
    for (int64_t k = 0; k < g->terms; k++)
        if (g->groups->term[k].factor->columns == 1 && g->at[k][0] == c) return &g->level[k];
    return NULL;
}

/* The columns that group rows, behind the others. */
static sgfs_status add_groups(sgfsi_newrows *r, sgfs_err *err) {
    const sgfsi_newgroups *g = &r->groups;
    static const sgfsi_word_list none = {0};
    for (int64_t c = 0; c < g->columns; c++) {
        const sgfsi_word_list *words = g->words[c] ? group_words(g, c) : &none;
        if (words == NULL)
            return sgfsi_fail(
                err, SGFS_EUSAGE,
                "sgfs_predict_open: what the words of \"%.60s\" are, which group rows "
                "together with another column alone, is not known without a file: "
                "predict rows of a file.",
                g->column[c]);
        r->input[r->inputs] = g->column[c];
        r->words[r->inputs++] = words;
    }
    return SGFS_OK;
}

/* The recipe of the run, and the words of its columns as they are looked up. */
sgfs_status sgfsi_newrows_columns(sgfsi_newrows *r, sgfs_err *err) {
    const char *const *name = r->wanted.feature;
    int64_t own = r->wanted.features;
    sgfs_status status = SGFS_OK;
    if (r->wanted.recipe != NULL)
        status = sgfsi_recipe_recall(&r->recipe, r->wanted.recipe, 0, err);
    if (status == SGFS_OK && r->recipe != NULL && r->wanted.zero_words)
        status = sgfsi_recipe_zero_words(r->recipe, err);
    if (status != SGFS_OK) return status;
    if (r->recipe != NULL) own = sgfsi_recipe_inputs(r->recipe, &name);
    int64_t all = own + r->groups.columns;
    r->own_words = sgfsi_arena_alloc(&r->arena, own + 1, sizeof *r->own_words);
    r->words = sgfsi_arena_alloc(&r->arena, all + 1, sizeof *r->words);
    r->input = sgfsi_arena_alloc(&r->arena, all + 1, sizeof *r->input);
    if (r->own_words == NULL || r->words == NULL || r->input == NULL)
        return sgfsi_fail_memory(err, "the columns");
    for (r->own = 0; r->own < own; r->own++) {
        int64_t j = r->own;
        const sgfsi_dictionary *known = r->recipe != NULL ? sgfsi_recipe_words(r->recipe, j) : NULL;
        r->input[j] = name[j];
        r->words[j] = &r->own_words[j];
        for (int64_t k = 0; known != NULL && k < known->count; k++) {
            if (sgfsi_words_add(&r->own_words[j], known->word[k], strlen(known->word[k])) < 0)
                return sgfsi_fail_memory(err, "the words");
        }
    }
    r->inputs = own;
    return add_groups(r, err);
}

sgfs_status sgfsi_newrows_memory_room(const sgfsi_newrows *r, int64_t most,
                                      sgfsi_newrows_block *block, sgfsi_arena *arena,
                                      sgfs_err *err) {
    sgfs_status status = sgfsi_newrows_room(r, most, block, arena, err);
    if (status == SGFS_OK && !SGFSI_ROOM(arena, most * r->own + 1, &block->raw))
        status = sgfsi_fail_memory(err, "a block of rows");
    return status;
}

/* The number that a cell has among the columns that the recipe starts from; NaN: it is missing. */
static sgfs_status take_cell(const sgfsi_newrows *r, const sgfs_new_rows *rows, int64_t i,
                             int64_t j, double *out, bool *unseen, sgfs_err *err) {
    const sgfsi_word_list *words = r->words[j];
    double number = rows->x != NULL ? rows->x[i * r->inputs + j] : NAN;
    const char *text = rows->words != NULL ? rows->words[i * r->inputs + j] : NULL;
    bool missing = words->count > 0 && rows->words != NULL ? text == NULL : isnan(number);
    if (text != NULL && j < r->own && r->recipe != NULL && sgfsi_recipe_dates(r->recipe, j)) {
        if (sgfsi_date_hours(text, strlen(text), out)) return SGFS_OK;
        return sgfsi_fail(err, SGFS_EDATA,
                          "sgfs_predict_rows: row %lld: column \"%.60s\" holds \"%.60s\", which is "
                          "no date as 2024-03-17T08:30.",
                          (long long)i, r->input[j], text);
    }
    *out = number;
    if (missing && r->wanted.na != SGFSI_NA_ERROR) return *out = NAN, SGFS_OK;
    if (words->count == 0) {
        if (isfinite(number)) return SGFS_OK;
        return sgfsi_fail(err, SGFS_EDATA,
                          "sgfs_predict_rows: row %lld: column \"%.60s\" is not a finite number; "
                          "leave such rows out, or set \"data.na\" to \"drop\", which leaves their "
                          "predictions NaN.",
                          (long long)i, r->input[j]);
    }
    /* As in files, a word that is missing is a word of its own. */
    if (missing) text = "NA";
    if (text != NULL) *out = (double)sgfsi_words_find(words, text, strlen(text));
    if (*out >= 0 && *out < (double)words->count && *out == floor(*out)) return SGFS_OK;
    *out = (double)words->count;
    *unseen = true;
    if (r->wanted.zero_words) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "sgfs_predict_rows: row %lld: column \"%.60s\" holds \"%.60s\", which the "
                      "run has not seen; leave such rows out, or set \"data.new_words\" to "
                      "\"zero\".",
                      (long long)i, r->input[j], text != NULL ? text : "a number of no word");
}

/* The groups of row i, of its cells behind the model's own. */
static sgfs_status take_groups(const sgfsi_newrows *r, const sgfs_new_rows *rows, int64_t i,
                               int64_t *code, bool *lacks, bool *unseen, sgfs_err *err) {
    const sgfsi_newgroups *g = &r->groups;
    double number[SGFSI_MOST_TERMS * SGFSI_MOST_NESTED];
    const char *text[SGFSI_MOST_TERMS * SGFSI_MOST_NESTED];
    char what[SGFSI_LEVEL_ROOM];
    memset(code, 0, (size_t)g->terms * sizeof *code);
    for (int64_t c = 0; c < g->columns; c++) {
        int64_t j = r->own + c, words = r->words[j]->count;
        bool given = words > 0 && rows->words != NULL;
        number[c] = rows->x != NULL ? rows->x[i * r->inputs + j] : NAN;
        text[c] = given ? rows->words[i * r->inputs + j] : NULL;
        bool known = number[c] >= 0 && number[c] < (double)words && number[c] == floor(number[c]);
        if (words > 0 && text[c] == NULL && known) text[c] = r->words[j]->text[(int64_t)number[c]];
        if (words > 0 && text[c] == NULL) text[c] = "NA"; /* as in files */
        if (words > 0 || isfinite(number[c])) continue;
        *lacks = true;
        if (r->wanted.na != SGFSI_NA_ERROR) return SGFS_OK;
        return sgfsi_fail(err, SGFS_EDATA,
                          "sgfs_predict_rows: row %lld: column \"%.60s\" is not a finite number; "
                          "leave such rows out, or set \"data.na\" to \"drop\", which leaves their "
                          "predictions NaN.",
                          (long long)i, r->input[j]);
    }
    *unseen = sgfsi_newgroups_of(g, number, text, code, what) > 0;
    if (!*unseen || !g->refuse) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "sgfs_predict_rows: row %lld: %.300s, which the run has not seen; set "
                      "\"predict.new_groups\" to \"draw\" or \"zero\".",
                      (long long)i, what);
}

sgfs_status sgfsi_newrows_take(const sgfsi_newrows *r, const sgfs_new_rows *rows, int64_t first,
                               int64_t n, sgfsi_newrows_block *block, sgfs_predicted *counts,
                               sgfs_err *err) {
    const sgfs_data *d = r->data;
    const int64_t inputs = r->own;
    double *x = block->x + (d->p - d->features);
    for (int64_t i = 0; i < n; i++) {
        bool unseen = false, new_group = false, lacks = false;
        double *to = r->recipe != NULL ? block->raw + i * inputs : x + i * d->p;
        block->lacks[i] = SGFSI_LACKS_NOTHING;
        for (int64_t j = 0; j < inputs; j++) {
            sgfs_status status = take_cell(r, rows, first + i, j, &to[j], &unseen, err);
            if (status != SGFS_OK) return status;
            if (r->wanted.na != SGFSI_NA_DROP || !isnan(to[j])) continue;
            to[j] = 0;
            block->lacks[i] = SGFSI_LACKS_VALUES;
        }
        if (rows->exposure != NULL) block->offset[i] = rows->exposure[first + i];
        counts->new_words += unseen;
        if (r->groups.terms == 0) continue;
        sgfs_status status = take_groups(r, rows, first + i, block->code + i * r->groups.terms,
                                         &lacks, &new_group, err);
        if (status != SGFS_OK) return status;
        if (lacks) block->lacks[i] = SGFSI_LACKS_VALUES;
        counts->new_groups += new_group;
    }
    int64_t bad = -1;
    if (r->recipe != NULL) {
        sgfs_status status = sgfsi_recipe_columns(r->recipe, n, block->raw, x, d->p, &bad, err);
        const sgfs_err was = *err;
        if (bad >= 0)
            return sgfsi_fail(err, was.code, "sgfs_predict_rows: row %lld: %s",
                              (long long)(first + bad), was.text);
        if (status != SGFS_OK) return status;
    }
    bad = sgfsi_newrows_finish(r, n, block);
    if (bad < 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "sgfs_predict_rows: row %lld: the exposure is %g; it must be positive.",
                      (long long)(first + bad), block->offset[bad]);
}
