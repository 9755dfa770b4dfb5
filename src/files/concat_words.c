/* SPDX-License-Identifier: MIT
 * concat_words.c: one numbering for the words of several tables.
 *
 * Words (levels of a text target, --categorical) are numbers within a file, in order of first
 * appearance there. Those of later files are renumbered to go on where the earlier ones stopped, so
 * that the result is that of one long file. Labels "1" in one file and "a" in another are texts in
 * both: the first file is then read again as text (concat.c).
 */
#include "files/concat.h"

#include <stdlib.h>
#include <string.h>

#include "files/columns.h"
#include "files/glossary.h"
#include "files/levels.h"

/* map[code]: number of the word among all; *changed: some number is another one. */
static sgfs_status number_words(sgfsi_glossary *all, int64_t count, char *const *word, int64_t *map,
                                bool *changed, sgfs_err *err) {
    *changed = false;
    for (int64_t c = 0; c < count; c++) {
        map[c] = sgfsi_glossary_add(all, word[c]);
        if (map[c] < 0) return sgfsi_fail_memory(err, "the words");
        *changed = *changed || map[c] != c;
    }
    return SGFS_OK;
}

/* In place: what a reader has made of text is doubles or floats in memory. The row with a number
 * that stands for no word (a packed file may have been forged), or -1. */
static int64_t renumber(const sgfsi_table *t, int64_t col, int64_t count, const int64_t *map) {
    double *wide = t->type == SGFSI_F64 ? t->owned : NULL;
    float *narrow = t->type == SGFSI_F32 ? t->owned : NULL;
    for (int64_t r = 0; r < t->rows; r++) {
        int64_t at = r * t->row_stride + col;
        double code = wide != NULL ? wide[at] : (double)narrow[at];
        if (!(code >= 0 && code < (double)count)) return r;
        if (wide != NULL) wide[at] = (double)map[(int64_t)code];
        else narrow[at] = (float)map[(int64_t)code];
    }
    return -1;
}

static bool can_be_changed(const sgfsi_table *t) {
    return t->owned != NULL && (t->type == SGFSI_F64 || t->type == SGFSI_F32);
}

typedef struct column_words {
    int64_t count;
    char **word;
    int64_t col;
} column_words;

/* The words of table i, of the k-th wanted column; k < 0: its target's levels. */
static column_words words_of(const sgfsi_joining *j, int64_t i, int64_t k) {
    const sgfsi_table *t = &j->table[i];
    if (k < 0) return (column_words){t->levels, t->level, t->text_col};
    int64_t col = sgfsi_joining_place(j, i, k);
    return (column_words){t->dictionary[col].count, t->dictionary[col].word, col};
}

/* The numbers of table i by map, where that changes them. */
static sgfs_status change_words(sgfsi_joining *j, int64_t i, const column_words *w,
                                const int64_t *map, sgfs_err *err) {
    if (!can_be_changed(&j->table[i])) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.150s: its words (\"%.40s\", ...) are numbered otherwise than in "
                          "%.150s; put the files into one: sgfs pack %.60s ... --out all.sgd",
                          j->files->name[i], w->word[0], j->files->name[0], j->files->name[0]);
    }
    int64_t bad = renumber(&j->table[i], w->col, w->count, map);
    if (bad < 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: row %lld holds a number that stands for none of its words: the file "
                      "is damaged.",
                      j->files->name[i], (long long)bad + 1);
}

/* The first file was read as text because of what stands here. */
static void blame(sgfsi_joining *j, int64_t i, const int64_t *map) {
    sgfsi_table *first = &j->table[0], *t = &j->table[i];
    if (first->text_path != NULL || first->text_line > 0 || t->text_line == 0) return;
    first->text_line = t->text_line;
    first->text_level = map[t->text_level];
    first->text_path = strdup(j->files->name[i]);
}

static sgfs_status renumber_one(sgfsi_joining *j, int64_t i, int64_t k, sgfsi_glossary *all,
                                sgfs_err *err) {
    column_words w = words_of(j, i, k);
    bool changed = false, levels = k < 0;
    int64_t *map = malloc((size_t)(w.count + 1) * sizeof *map);
    if (map == NULL) return sgfsi_fail_memory(err, "the words");
    sgfs_status status = number_words(all, w.count, w.word, map, &changed, err);
    if (status == SGFS_OK && changed) status = change_words(j, i, &w, map, err);
    if (status == SGFS_OK && levels) {
        j->renumbered = j->renumbered || changed;
        blame(j, i, map);
    }
    free(map);
    return status;
}

/* k < 0: the target; else a column of words. */
static sgfs_status check_count(const sgfsi_joining *j, int64_t k, const sgfsi_glossary *all,
                               sgfs_err *err) {
    if (all->count <= SGFSI_MAX_LEVELS) return SGFS_OK;
    const sgfsi_table *t = &j->table[0];
    bool target = k < 0;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: %s \"%.40s\" holds text (\"%.40s\", ...) with more than %d "
                      "different values in all files%s.",
                      j->files->shown, target ? "the target" : "column",
                      t->names[target ? t->text_col : sgfsi_joining_place(j, 0, k)], all->text[0],
                      SGFSI_MAX_LEVELS,
                      target ? "; is --target the right column?" : "; leave it out with --drop");
}

/* The list of all words takes the place of the first table's. */
static void hand_over(sgfsi_glossary *all, char ***word, int64_t *count) {
    sgfsi_names_free(*word, *count);
    *word = all->text;
    *count = all->count;
    all->text = NULL;
    all->count = 0;
}

sgfs_status sgfsi_joining_words(sgfsi_joining *j, sgfs_err *err) {
    sgfsi_table *t = &j->table[0];
    sgfs_status status = SGFS_OK;
    for (int64_t k = -1; k < j->wanted && status == SGFS_OK; k++) {
        bool any = k < 0 ? sgfsi_joining_has_text(t)
                         : t->dictionary != NULL && sgfsi_joining_place(j, 0, k) != SGFSI_Y &&
                               t->dictionary[sgfsi_joining_place(j, 0, k)].count > 0;
        sgfsi_glossary all = {0};
        if (!any) continue;
        for (int64_t i = 0; i < j->count && status == SGFS_OK; i++)
            status = renumber_one(j, i, k, &all, err);
        if (status == SGFS_OK) status = check_count(j, k, &all, err);
        if (status == SGFS_OK && k < 0) {
            if (t->text_path == NULL) t->text_path = strdup(j->files->name[0]);
            hand_over(&all, &t->level, &t->levels);
        } else if (status == SGFS_OK) {
            sgfsi_dictionary *d = &t->dictionary[sgfsi_joining_place(j, 0, k)];
            hand_over(&all, &d->word, &d->count);
        }
        sgfsi_glossary_free(&all);
    }
    return status;
}
