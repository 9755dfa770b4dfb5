/* SPDX-License-Identifier: MIT
 * find_columns.c: the columns of a run in other files.
 *
 * Columns are found by their names, wherever they stand. A file without a header names its columns
 * by their place, x1, x2, ..., as the readers do; so does a run that was made from such a file. The
 * two then fit by place, and nothing else fits: a file without names is of no use to a run whose
 * columns have some. The last column of an array is called y where it was the target, that of an
 * IDX file label.
 *
 * Names are looked up in a hash table: wide files have tens of thousands.
 */
#include "files/find_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/words.h"

enum { SHOWN = 5, ABSENT = -1, TWICE = -2 };

typedef struct finder {
    const sgfsi_columns *file;
    sgfsi_word_list names; /* where the file has names: they, and */
    int64_t *col;          /* which column each is of, or TWICE */
    char *taken;           /* cols: found for something */
    bool run_named;        /* the columns of the run have names of their own */
} finder;

/* Columns that had names are not found by place: nobody says that they stand in the same order. */
static int64_t find(const finder *f, const char *name) {
    if (f->file->named) {
        int64_t k = sgfsi_words_find(&f->names, name, strlen(name));
        return k < 0 ? ABSENT : f->col[k];
    }
    int64_t number; /* x17 is the 17th column */
    bool place = !f->run_named && name[0] == 'x' && name[1] >= '1' && name[1] <= '9' &&
                 sgfsi_text_int(name + 1, &number) && number <= f->file->cols;
    return place ? number - 1 : ABSENT;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static sgfs_status fail_twice(const finder *f, const char *name, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: two columns are called \"%.60s\", which the run was made with: rename "
                      "one of them.",
                      f->file->path, name);
}

/* The nearest name that is not taken, or NULL. */
static const char *nearest(const finder *f, const char *name) {
    int64_t named = f->file->named ? f->file->cols : 0;
    return sgfsi_nearest_name(name, named, (const char *const *)f->file->names, f->taken);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Features, exposure and what groups rows, all of which have to be there. */
static sgfs_status match_features(finder *f, sgfsi_run_columns *found, sgfs_err *err) {
    const sgfsi_wanted *wanted = &found->wanted;
    const int64_t counted = wanted->features + (wanted->exposure != NULL),
                  all = counted + wanted->groups;
    sgfsi_name_list missing = {.shown = SHOWN};
    found->exposure = ABSENT;
    for (int pass = 0; pass < 2;
         pass++) { /* then names that lack, now that all that fit are taken */
        for (int64_t j = 0; j < all; j++) {
            bool feature = j < wanted->features;
            const char *name = feature       ? wanted->feature[j]
                               : j < counted ? wanted->exposure
                                             : wanted->group[j - counted];
            int64_t *at = feature       ? &found->feature[j]
                          : j < counted ? &found->exposure
                                        : &found->group[j - counted];
            if (pass == 0) *at = find(f, name);
            if (*at == TWICE) return fail_twice(f, name, err);
            if (*at >= 0) f->taken[*at] = 1;
            else if (pass == 1) sgfsi_name_list_add(&missing, name, nearest(f, name));
        }
    }
    const char *more = missing.count > SHOWN ? ", ..." : "", *s = missing.count == 1 ? "" : "s";
    found->lacks = missing.count > 0 && f->file->named;
    if (missing.count == 0 || (found->lacks && found->holes)) return SGFS_OK;
    if (f->file->named) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: lacks %lld column%s that the run was made with: %s%s.",
                          f->file->path, (long long)missing.count, s, missing.text, more);
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has %lld columns without names, and the run needs %s%s. If the first "
                      "line holds names, say --header yes; else give the columns the run's names "
                      "(those of a run from a file without a header are x1, x2, ... by place).",
                      f->file->path, (long long)f->file->cols, missing.text, more);
}

static sgfs_status match_target(finder *f, sgfsi_run_columns *found, sgfs_err *err) {
    const char *name = found->wanted.target;
    found->target = ABSENT;
    if (name == NULL) return SGFS_OK;
    int64_t at = find(f, name), last = f->file->cols - 1, number;
    bool made_up = strcmp(name, "y") == 0 || strcmp(name, "label") == 0;
    if (at == ABSENT && found->wanted.target_needed && sgfsi_text_int(name, &number) &&
        number >= 1 && number <= f->file->cols)
        at = number - 1;
    if (at == ABSENT && made_up && !f->file->named && !f->taken[last]) at = last;
    found->target = at;
    if (at == ABSENT && strcmp(name, "none") == 0) return SGFS_OK; /* not looked at */
    if (at == TWICE) return fail_twice(f, name, err);
    if (at == ABSENT && found->wanted.target_needed) {
        const char *near = nearest(f, name);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --target asks for \"%.60s\", which it has not%s%.60s%s",
                          f->file->path, name, near != NULL ? "; did you mean \"" : ".",
                          near != NULL ? near : "", near != NULL ? "\"?" : "");
    }
    if (at >= 0 && f->taken[at]) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --target asks for \"%.60s\", which the run uses to predict with.",
                          f->file->path, name);
    }
    if (at >= 0) f->taken[at] = 1;
    return SGFS_OK;
}

/* Did the run leave this column out itself (--drop)? */
static bool was_dropped(const sgfsi_json *recipe, const char *name) {
    for (int64_t k = 0; recipe != NULL && k < sgfsi_json_length(recipe); k++) {
        const sgfsi_json *step = sgfsi_json_at(recipe, k), *names = sgfsi_json_get(step, "columns");
        bool drops = strcmp(sgfsi_json_get_text(step, "op", ""), "drop") == 0;
        for (int64_t i = 0; drops && i < sgfsi_json_length(names); i++) {
            const char *dropped = sgfsi_json_as_text(sgfsi_json_at(names, i));
            if (dropped != NULL && strcmp(dropped, name) == 0) return true;
        }
    }
    return false;
}

/* key: a column that goes with the rows all the same, or NULL. */
static void tell_extra(const finder *f, const sgfsi_json *recipe, const char *key,
                       const sgfsi_log *log) {
    sgfsi_name_list extra = {.shown = SHOWN};
    for (int64_t i = 0; i < f->file->cols; i++) {
        char place[24];
        snprintf(place, sizeof place, "x%lld", (long long)i + 1);
        const char *name = f->file->named ? f->file->names[i] : place;
        if (key != NULL && strcmp(key, name) == 0) continue;
        if (!f->taken[i] && !was_dropped(recipe, name)) sgfsi_name_list_add(&extra, name, NULL);
    }
    if (extra.count == 0) return;
    sgfsi_say(log, SGFS_NOTE, "%s: %lld column%s that the run does not know %s ignored: %s%s.",
              f->file->path, (long long)extra.count, extra.count == 1 ? "" : "s",
              extra.count == 1 ? "is" : "are", extra.text, extra.count > SHOWN ? ", ..." : "");
}

/* ---- the run's transforms -------------------------------------------------------------------- */

/* What is still to be done to the files' columns, of which `done` was done already: the first file
 * says it for all. From here on the recipe's inputs are wanted. */
static sgfs_status take_recipe(sgfsi_run_columns *c, const char *path, const sgfsi_json *done,
                               sgfs_err *err) {
    sgfsi_wanted *wanted = &c->wanted;
    int64_t skip = sgfsi_recipe_done(wanted->recipe, done);
    if (skip < 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: its columns were transformed, and not as those of the run: give the "
                          "rows as they were before, or pack them with the transforms the run had.",
                          path);
    }
    if (c->feature != NULL) return SGFS_OK;
    if (wanted->recipe == NULL && wanted->part != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--part %s: the run was made without --split.",
                          wanted->part);
    }
    if (wanted->recipe != NULL) {
        sgfs_status status = sgfsi_recipe_recall(&c->recipe, wanted->recipe, skip, err);
        const char *const *name;
        bool same = status == SGFS_OK && sgfsi_recipe_outputs(c->recipe, &name) == wanted->features;
        for (int64_t j = 0; same && j < wanted->features; j++)
            same = strcmp(name[j], wanted->feature[j]) == 0;
        if (status == SGFS_OK && !same)
            status = sgfsi_fail(err, SGFS_ERUNFILE,
                                "The run's transforms do not make the columns that it has.");
        if (status == SGFS_OK && wanted->zero_words)
            status = sgfsi_recipe_zero_words(c->recipe, err);
        if (status == SGFS_OK && wanted->part != NULL)
            status = sgfsi_recipe_use_part(c->recipe, wanted->part, err);
        if (status != SGFS_OK) return status;
        wanted->features = sgfsi_recipe_inputs(c->recipe, &wanted->feature);
        wanted->named = sgfsi_recipe_named(c->recipe);
    }
    if (c->first_path == NULL) c->first_path = strdup(path);
    c->feature = calloc((size_t)wanted->features + 1, sizeof *c->feature);
    c->group = calloc((size_t)wanted->groups + 1, sizeof *c->group);
    c->place = calloc((size_t)(wanted->features + wanted->groups) + 2, sizeof *c->place);
    bool made = c->first_path != NULL && c->feature != NULL && c->group != NULL && c->place != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

/* ---- for readers ----------------------------------------------------------------------------- */

sgfs_status sgfsi_run_columns_choose(sgfsi_run_columns *c, const sgfsi_columns *file,
                                     const sgfsi_log *log, unsigned char *role, sgfs_err *err) {
    bool first = !c->chosen, had_target = c->target_name != NULL;
    sgfs_status status = take_recipe(c, file->path, file->recipe, err);
    if (status != SGFS_OK) return status;
    finder f = {.file = file,
                .run_named = c->wanted.named,
                .col = malloc((size_t)(file->cols + 1) * sizeof *f.col),
                .taken = calloc((size_t)file->cols + 1, 1)};
    bool made = f.taken != NULL && f.col != NULL;
    for (int64_t i = 0; made && file->named && i < file->cols; i++) {
        int64_t before = f.names.count,
                k = sgfsi_words_add(&f.names, file->names[i], strlen(file->names[i]));
        made = k >= 0;
        if (made) f.col[k] = k == before ? i : TWICE;
    }
    status = made ? match_features(&f, c, err) : sgfsi_fail_memory(err, "the columns");
    if (status == SGFS_OK) status = match_target(&f, c, err);
    if (status == SGFS_OK) {
        /* New rows are predicted one by one: how often they count is no news, nor is it needed. */
        int64_t at = c->wanted.weights != NULL ? find(&f, c->wanted.weights) : ABSENT;
        if (at >= 0) f.taken[at] = 1;
    }
    if (status == SGFS_OK) tell_extra(&f, c->wanted.recipe, c->wanted.key, log);
    sgfsi_words_free(&f.names);
    free(f.col);
    free(f.taken);
    if (status != SGFS_OK) return status;
    c->chosen = true;
    if (!first && had_target != (c->target >= 0)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.200s: has %s target, and %.200s %s; predict them one by one, or say "
                          "--target none for predictions alone.",
                          file->path, c->target >= 0 ? "the" : "no", c->first_path,
                          c->target >= 0 ? "has none" : "has it");
    }
    if (first && c->target >= 0) {
        c->target_name = strdup(file->names[c->target]);
        if (c->target_name == NULL) return sgfsi_fail_memory(err, "the columns");
    }
    memset(role, SGFSI_ROLE_NONE, (size_t)file->cols); /* an exposure is a number as a feature is */
    for (int64_t j = 0; j < c->wanted.features; j++)
        if (c->feature[j] >= 0) role[c->feature[j]] = SGFSI_ROLE_FEATURE;
    if (c->exposure >= 0) role[c->exposure] = SGFSI_ROLE_FEATURE;
    for (int64_t k = 0; k < c->wanted.groups; k++)
        if (c->group[k] >= 0) role[c->group[k]] = SGFSI_ROLE_GROUP;
    if (c->target >= 0) role[c->target] = SGFSI_ROLE_TARGET;
    int64_t *rank = malloc((size_t)(file->cols + 1) * sizeof *rank), features = c->wanted.features;
    if (rank == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0, n = 0; i < file->cols; i++) rank[i] = role[i] != SGFSI_ROLE_NONE ? n++ : -1;
    for (int64_t j = 0; j < features; j++)
        c->place[j] = c->feature[j] >= 0 ? rank[c->feature[j]] : -1;
    c->place[features] = c->target >= 0 ? rank[c->target] : -1;
    c->place[features + 1] = c->exposure >= 0 ? rank[c->exposure] : -1;
    for (int64_t k = 0; k < c->wanted.groups; k++)
        c->place[features + 2 + k] = c->group[k] >= 0 ? rank[c->group[k]] : -1;
    free(rank);
    return SGFS_OK;
}

bool sgfsi_run_columns_words(const sgfsi_run_columns *c, int64_t col) {
    bool words = col == c->target && c->wanted.levels > 0;
    for (int64_t j = 0; c->recipe != NULL && j < c->wanted.features && !words; j++)
        words = c->feature[j] == col && sgfsi_recipe_words(c->recipe, j) != NULL;
    for (int64_t k = 0; k < c->wanted.groups && !words; k++)
        words = c->group[k] == col && c->wanted.group_words[k];
    return words;
}

bool sgfsi_run_columns_amounts(const sgfsi_run_columns *c, int64_t col) {
    bool amounts = false;
    for (int64_t j = 0; c->recipe != NULL && j < c->wanted.features && !amounts; j++)
        amounts = c->feature[j] == col && sgfsi_recipe_amounts(c->recipe, j);
    return amounts;
}

bool sgfsi_run_columns_dates(const sgfsi_run_columns *c, int64_t col) {
    bool dates = false;
    for (int64_t j = 0; c->recipe != NULL && j < c->wanted.features && !dates; j++)
        dates = c->feature[j] == col && sgfsi_recipe_dates(c->recipe, j);
    return dates;
}

sgfs_status sgfsi_run_columns_last_place(sgfsi_run_columns *c, const char *path, int64_t *last,
                                         sgfs_err *err) {
    int64_t number;
    sgfs_status status = take_recipe(c, path, NULL, err);
    *last = 0;
    for (int64_t j = 0; status == SGFS_OK && !c->wanted.named && j < c->wanted.features; j++) {
        const char *name = c->wanted.feature[j];
        if (name[0] == 'x' && sgfsi_text_int(name + 1, &number) && number > *last) *last = number;
    }
    if (*last > SGFSI_MAX_COLS) *last = 0;
    return status;
}

/* ---- for the flow ---------------------------------------------------------------------------- */

sgfs_status sgfsi_run_columns_head(const sgfsi_run_columns *c, sgfsi_table *head, sgfs_err *err) {
    int64_t features = c->wanted.features, all = features + 2 + c->wanted.groups;
    char *const none[] = {""};
    *head = (sgfsi_table){.text_col = -1, .named = c->wanted.named};
    head->names = calloc((size_t)all, sizeof *head->names);
    head->role = calloc((size_t)all, 1);
    head->dictionary = calloc((size_t)all, sizeof *head->dictionary);
    bool made = head->names != NULL && head->role != NULL && head->dictionary != NULL;
    for (int64_t j = 0; made && j < features; j++) {
        const sgfsi_dictionary *d = c->recipe != NULL ? sgfsi_recipe_words(c->recipe, j) : NULL;
        int64_t k = head->cols;
        if (c->feature[j] < 0) continue; /* a hole */
        head->role[k] = SGFSI_ROLE_FEATURE;
        head->names[head->cols++] = strdup(c->wanted.feature[j]);
        made = head->names[k] != NULL;
        if (d == NULL || !made) continue;
        head->dictionary[k] = (sgfsi_dictionary){d->count, sgfsi_names_copy(d->word, d->count)};
        made = head->dictionary[k].word != NULL;
    }
    if (made && c->target >= 0) {
        if (c->wanted.levels > 0) head->text_col = head->cols;
        head->levels = c->wanted.levels;
        head->level = sgfsi_names_copy((char *const *)c->wanted.level, c->wanted.levels);
        made = head->level != NULL;
        head->role[head->cols] = SGFSI_ROLE_TARGET;
        head->names[head->cols++] = strdup(c->target_name);
        made = made && head->names[head->cols - 1] != NULL;
    }
    if (made && c->exposure >= 0) {
        head->role[head->cols] = SGFSI_ROLE_EXPOSURE;
        head->names[head->cols++] = strdup(c->wanted.exposure);
        made = head->names[head->cols - 1] != NULL;
    }
    for (int64_t j = 0; made && j < c->wanted.groups; j++) {
        if (c->group[j] < 0) continue;
        int64_t k = head->cols;
        head->role[k] = SGFSI_ROLE_GROUP;
        head->names[head->cols++] = strdup(c->wanted.group[j]);
        made = head->names[k] != NULL;
        if (!made || !c->wanted.group_words[j]) continue;
        head->dictionary[k] = (sgfsi_dictionary){1, sgfsi_names_copy(none, 1)};
        made = head->dictionary[k].word != NULL;
    }
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

sgfs_status sgfsi_run_columns_match(const sgfsi_run_columns *c, const sgfsi_file_columns *file,
                                    int64_t *from, sgfs_err *err) {
    int64_t n = 0;
    for (int64_t k = 0; k < c->wanted.features + 2 + c->wanted.groups; k++)
        if (c->place[k] >= 0) from[n++] = c->place[k];
    /* Words and numbers are where the run had them. */
    for (int64_t j = 0; c->recipe != NULL && j < c->wanted.features; j++) {
        if (sgfsi_recipe_words(c->recipe, j) == NULL || file->table->dictionary != NULL) continue;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: holds numbers only, and column \"%.60s\" of the run words; give the "
                          "rows as CSV, or packed as the run's were.",
                          file->path, c->wanted.feature[j]);
    }
    for (int64_t k = 0; k < c->wanted.groups; k++) {
        if (!c->wanted.group_words[k] || file->table->dictionary != NULL) continue;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: holds numbers only, and the run's groups \"%.60s\" are words; give "
                          "the rows as CSV.",
                          file->path, c->wanted.group[k]);
    }
    bool text =
        file->table->text_col >= 0 && file->table->role[file->table->text_col] == SGFSI_ROLE_TARGET;
    if (c->target < 0 || text == (c->wanted.levels > 0)) return SGFS_OK;
    if (text) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the target holds words (\"%.40s\", ...), and that of the run numbers; "
            "say --target none for predictions alone.",
            file->path, file->table->levels > 0 ? file->table->level[0] : "");
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: holds numbers only, and the run's target is text (\"%.40s\", ...); "
                      "leave the target out for predictions alone.",
                      file->path, c->wanted.level[0]);
}

sgfs_status sgfsi_run_columns_follow(sgfsi_run_columns *c, const sgfsi_run_columns *first,
                                     sgfs_err *err) {
    bool target = first->target_name != NULL;
    c->chosen = true;
    c->first_path = strdup(first->first_path);
    if (target) c->target_name = strdup(first->target_name);
    bool made = c->first_path != NULL && (!target || c->target_name != NULL);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

void sgfsi_run_columns_free(sgfsi_run_columns *c) {
    sgfsi_recipe_free(c->recipe);
    free(c->first_path);
    free(c->target_name);
    free(c->feature);
    free(c->group);
    free(c->place);
    memset(c, 0, sizeof *c);
}
