/* SPDX-License-Identifier: MIT
 * transform_columns.c: operations that take columns one by one: words to numbers (--categorical),
 * columns left out (--drop), log(1 + x) (--log1p), and a choice of columns by name, which is how
 * every list of operations in a run file begins.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "files/transform/transform_kind.h"

sgfs_status sgfsi_features_like(sgfsi_transform *s, sgfs_err *err) {
    (void)err;
    s->out = s->in;
    return SGFS_OK;
}

static sgfs_status make_shape(sgfsi_transform *s, int64_t cols, sgfs_err *err) {
    s->out = (sgfsi_feature_list){.cols = cols, .base = s->in.base};
    s->out.name = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.origin);
    bool made = s->out.name != NULL && s->out.origin != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

/* ---- some of the columns, in an order: columns, --drop --------------------------------------- */

typedef struct choice {
    int64_t *from;      /* out.cols: columns that go in */
    unsigned char *hit; /* in.cols: --drop leaves it out */
} choice;

/* The columns that the option names, or (saved: not NULL) a run's file. */
static sgfs_status find_hits(const sgfsi_transform *s, const sgfsi_json *saved, unsigned char *hit,
                             sgfs_err *err) {
    if (saved == NULL) return sgfsi_transform_find(s, s->text, hit, err);
    return sgfsi_transform_find_saved(s, sgfsi_json_get(saved, "columns"), hit, err);
}

static sgfs_status make_choice(sgfsi_transform *s, int64_t cols, sgfs_err *err) {
    choice *c = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *c);
    if (c != NULL) c->from = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *c->from);
    if (c != NULL) c->hit = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    bool made = c != NULL && c->from != NULL && c->hit != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

static sgfs_status shape_choice(sgfsi_transform *s, int64_t cols, sgfs_err *err) {
    const choice *c = s->self;
    sgfs_status status = make_shape(s, cols, err);
    for (int64_t j = 0; status == SGFS_OK && j < cols; j++) {
        s->out.name[j] = s->in.name[c->from[j]];
        s->out.origin[j] = s->in.origin[c->from[j]];
    }
    return status;
}

static sgfs_status apply_choice(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                                int64_t *bad, sgfs_err *err) {
    const choice *c = s->self;
    (void)bad, (void)err;
    for (int64_t i = 0; i < n; i++) {
        const double *from = in + i * s->in.cols;
        double *to = out + i * s->out.cols;
        for (int64_t j = 0; j < s->out.cols; j++) to[j] = from[c->from[j]];
    }
    return SGFS_OK;
}

static void need_choice(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const choice *c = s->self;
    for (int64_t j = 0; j < s->out.cols; j++) {
        if (out[j]) in[c->from[j]] = 1;
    }
}

static bool always(const sgfsi_transform *s) {
    (void)s;
    return true;
}

/* Entries of columns that stay, moved together; there are never more than before. */
static sgfs_status drop_entries(const sgfsi_transform *s, sgfsi_entries *e, int64_t *bad,
                                sgfs_err *err) {
    const choice *c = s->self;
    int64_t to = 0, k = 0;
    sgfsi_arena room = {NULL};
    int32_t *now = sgfsi_arena_alloc(&room, s->in.cols + 1, sizeof *now);
    (void)bad;
    if (now == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < s->out.cols; j++) now[c->from[j]] = (int32_t)j + 1;
    for (int64_t i = 0; i < e->rows; i++) { /* start[i + 1] is read before it is changed */
        for (; k < e->start[i + 1]; k++) {
            if (now[e->col[k]] == 0) continue;
            e->col[to] = now[e->col[k]] - 1;
            e->value[to++] = e->value[k];
        }
        e->start[i + 1] = to;
    }
    sgfsi_arena_free(&room);
    return SGFS_OK;
}

static sgfs_status recall_columns(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *names = sgfsi_json_get(saved, "names");
    int64_t count = sgfsi_json_length(names);
    sgfs_status status = count < 0 ? sgfsi_fail(err, SGFS_ERUNFILE,
                                                "The run does not say which columns it began with.")
                                   : make_choice(s, count, err);
    choice *c = s->self;
    for (int64_t k = 0; status == SGFS_OK && k < count; k++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(names, k));
        int64_t j = 0;
        while (name != NULL && j < s->in.cols && strcmp(s->in.name[j], name) != 0) j++;
        if (name == NULL || j == s->in.cols) {
            return sgfsi_fail(err, SGFS_ERUNFILE,
                              "The run's transforms ask for column \"%.60s\", which is not there.",
                              name != NULL ? name : "");
        }
        c->from[k] = j;
    }
    return status == SGFS_OK ? shape_choice(s, count, err) : status;
}

const sgfsi_transform_kind sgfsi_transform_columns = {
    .op = "columns", .recall = recall_columns, .apply = apply_choice, .need = need_choice};

/* What is not hit stays. */
static sgfs_status recall_drop(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    sgfs_status status = make_choice(s, s->in.cols, err);
    choice *c = s->self;
    int64_t cols = 0;
    if (status == SGFS_OK) status = find_hits(s, saved, c->hit, err);
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        if (!c->hit[j]) c->from[cols++] = j;
    }
    return status == SGFS_OK ? shape_choice(s, cols, err) : status;
}

static sgfs_status shape_drop(sgfsi_transform *s, sgfs_err *err) {
    return recall_drop(s, NULL, err);
}

static void tell_drop(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_transform_tell_names(s, ((const choice *)s->self)->hit, out);
}

const sgfsi_transform_kind sgfsi_transform_drop = {
    .op = "drop",
    .key = "data.drop",
    .tell = tell_drop,
    .recall = recall_drop,
    .shape = shape_drop,
    .apply = apply_choice,
    .selects = always,
    .sparse = always,
    .apply_sparse = drop_entries,
    .need = need_choice,
};

/* ---- --log1p --------------------------------------------------------------------------------- */

static sgfs_status recall_log1p(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    unsigned char *hit = s->self = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    if (hit == NULL) return sgfsi_fail_memory(err, "the columns");
    sgfs_status status = find_hits(s, saved, hit, err);
    return status == SGFS_OK ? sgfsi_features_like(s, err) : status;
}

static sgfs_status shape_log1p(sgfsi_transform *s, sgfs_err *err) {
    return recall_log1p(s, NULL, err);
}

static void tell_log1p(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_transform_tell_names(s, s->self, out);
}

static sgfs_status refuse_log1p(const sgfsi_transform *s, int64_t j, double x, sgfs_err *err) {
    char number[SGFSI_NUM_CHARS];
    sgfsi_format_num(number, x);
    return sgfsi_fail(err, SGFS_EDATA,
                      "column \"%.60s\" holds %s, and --log1p takes log(1 + x): it needs numbers "
                      "above -1.",
                      s->in.name[j], number);
}

static sgfs_status apply_log1p(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                               int64_t *bad, sgfs_err *err) {
    const unsigned char *hit = s->self;
    for (int64_t i = 0; i < n; i++) {
        const double *from = in + i * s->in.cols;
        double *to = out + i * s->in.cols;
        for (int64_t j = 0; j < s->in.cols; j++) {
            if (hit[j] && !(from[j] > -1)) return *bad = i, refuse_log1p(s, j, from[j], err);
            to[j] = hit[j] ? log1p(from[j]) : from[j];
        }
    }
    return SGFS_OK;
}

/* log(1 + 0) = 0: zeros stay away. */
static sgfs_status log1p_entries(const sgfsi_transform *s, sgfsi_entries *e, int64_t *bad,
                                 sgfs_err *err) {
    const unsigned char *hit = s->self;
    for (int64_t i = 0; i < e->rows; i++) {
        for (int64_t k = e->start[i]; k < e->start[i + 1]; k++) {
            if (!hit[e->col[k]]) continue;
            if (!(e->value[k] > -1)) return *bad = i, refuse_log1p(s, e->col[k], e->value[k], err);
            e->value[k] = log1p(e->value[k]);
        }
    }
    return SGFS_OK;
}

void sgfsi_need_same(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    for (int64_t j = 0; j < s->in.cols; j++) in[j] |= out[j];
}

const sgfsi_transform_kind sgfsi_transform_log1p = {
    .op = "log1p",
    .key = "data.log1p",
    .tell = tell_log1p,
    .recall = recall_log1p,
    .shape = shape_log1p,
    .apply = apply_log1p,
    .sparse = always,
    .apply_sparse = log1p_entries,
    .need = sgfsi_need_same,
};

/* ---- --categorical --------------------------------------------------------------------------- */

typedef struct words {
    bool onehot,
        reference;    /* reference: the first word has no column, the intercept stands for it */
    bool unseen_zero; /* a word that is none of them has 0 in all its columns */
    sgfsi_dictionary *dictionary; /* in.cols; count 0: numbers */
} words;

static int64_t width(const words *w, int64_t j) {
    int64_t count = w->dictionary[j].count;
    return count > 0 && w->onehot ? count - w->reference : 1;
}

static sgfs_status open_words(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    if (s->head->dictionary == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--categorical is for the columns of a CSV file; this kind of file holds "
                          "numbers only.");
    }
    words *w = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *w);
    if (w == NULL) return sgfsi_fail_memory(err, "the words");
    w->onehot = strcmp(sgfsi_config_text(cfg, "data.coding"), "onehot") == 0;
    w->reference = sgfsi_config_flag(cfg, "data.intercept");
    return SGFS_OK;
}

static sgfs_status name_word(sgfsi_transform *s, int64_t j, const char *word, const char **name,
                             sgfs_err *err) {
    size_t room = strlen(s->in.name[j]) + strlen(word) + 2;
    char *text = sgfsi_arena_alloc(s->arena, (int64_t)room, 1);
    if (text == NULL) return sgfsi_fail_memory(err, "the names of words");
    snprintf(text, room, "%s=%s", s->in.name[j], word);
    *name = text;
    return SGFS_OK;
}

static sgfs_status shape_words_as(sgfsi_transform *s, sgfs_err *err) {
    const words *w = s->self;
    int64_t cols = 0, to = 0;
    for (int64_t j = 0; j < s->in.cols; j++) cols += width(w, j);
    if (cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "--categorical would make %lld columns, and %d are the most: use "
                          "--coding integer, or leave out the column with the many words.",
                          (long long)cols, SGFSI_MAX_COLS);
    }
    sgfs_status status = make_shape(s, cols, err);
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        int64_t first = d->count > 0 && w->onehot ? d->count - width(w, j) : 0;
        for (int64_t k = 0; status == SGFS_OK && k < width(w, j); k++, to++) {
            s->out.origin[to] = s->in.origin[j];
            s->out.name[to] = s->in.name[j];
            if (d->count > 0 && w->onehot)
                status = name_word(s, j, d->word[first + k], &s->out.name[to], err);
        }
    }
    return status;
}

static void say_words(const sgfsi_transform *s) {
    const words *w = s->self;
    for (int64_t j = 0; w->onehot && j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        if (d->count == 0) continue;
        char but[128] = "";
        if (w->reference)
            snprintf(but, sizeof but, " (\"%.60s\" is the reference: 0%s)", d->word[0],
                     width(w, j) == 1 ? "" : " in all of them");
        const bool one = d->count == 1, single = width(w, j) == 1;
        sgfsi_say(s->log, SGFS_NOTE, "Column \"%.60s\": %lld word%s %lld column%s of 0 and 1%s.",
                  s->in.name[j], (long long)d->count, one ? " becomes" : "s become",
                  (long long)width(w, j), single ? "" : "s", but);
    }
}

/* The words are all there now: take them over by feature. */
static sgfs_status shape_words(sgfsi_transform *s, sgfs_err *err) {
    words *w = s->self;
    w->dictionary = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->dictionary);
    if (w->dictionary == NULL) return sgfsi_fail_memory(err, "the words");
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_dictionary *from = &s->head->dictionary[s->in.origin[j]];
        sgfsi_dictionary *to = &w->dictionary[j];
        to->word = sgfsi_arena_alloc(s->arena, from->count + 1, sizeof *to->word);
        for (int64_t k = 0; to->word != NULL && k < from->count; k++) {
            to->word[k] = sgfsi_arena_text(s->arena, from->word[k]);
            if (to->word[k] == NULL) return sgfsi_fail_memory(err, "the words");
        }
        if (to->word == NULL) return sgfsi_fail_memory(err, "the words");
        to->count = from->count;
    }
    say_words(s);
    return shape_words_as(s, err);
}

static sgfs_status apply_words(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                               int64_t *bad, sgfs_err *err) {
    const words *w = s->self;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < s->in.cols; j++) {
            double x = *in++;
            int64_t count = w->dictionary[j].count, cols = width(w, j);
            if (count > 0 && !(x >= 0 && x < (double)count) && !(w->onehot && w->unseen_zero)) {
                *bad = i;
                return sgfsi_fail(err, SGFS_EDATA, "column \"%.60s\" holds an unknown word.",
                                  s->in.name[j]);
            }
            if (count == 0 || !w->onehot) {
                *out++ = x;
                continue;
            }
            int64_t word = (int64_t)x - (count - cols);
            for (int64_t k = 0; k < cols; k++) *out++ = k == word;
        }
    }
    return SGFS_OK;
}

static bool selects_words(const sgfsi_transform *s) {
    const words *w = s->self;
    return !w->onehot;
}

static void need_words(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const words *w = s->self;
    for (int64_t j = 0; j < s->in.cols; j++) {
        for (int64_t k = 0; k < width(w, j); k++) in[j] |= *out++;
    }
}

static void tell_words(const sgfsi_transform *s, sgfsi_json *out) {
    const words *w = s->self;
    sgfsi_json *columns = sgfsi_json_array();
    sgfsi_json_text(out, "coding", w->onehot ? "onehot" : "integer");
    if (w->onehot) sgfsi_json_flag(out, "reference", w->reference);
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        if (d->count == 0) continue;
        sgfsi_json *o = sgfsi_json_object(), *list = sgfsi_json_array();
        sgfsi_json_text(o, "name", s->in.name[j]);
        for (int64_t k = 0; k < d->count; k++) sgfsi_json_text(list, NULL, d->word[k]);
        sgfsi_json_put(o, "words", list);
        sgfsi_json_put(columns, NULL, o);
    }
    sgfsi_json_put(out, "columns", columns);
}

static sgfs_status recall_column(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const words *w = s->self;
    const sgfsi_json *list = sgfsi_json_get(saved, "words");
    const char *name = sgfsi_json_get_text(saved, "name", "");
    int64_t count = sgfsi_json_length(list), j = 0;
    while (j < s->in.cols && strcmp(s->in.name[j], name) != 0) j++;
    if (j == s->in.cols || count < 1)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The run's words of column \"%.60s\" are damaged.",
                          name);
    sgfsi_dictionary *d = &w->dictionary[j];
    d->word = sgfsi_arena_alloc(s->arena, count, sizeof *d->word);
    for (int64_t k = 0; d->word != NULL && k < count; k++) {
        const char *word = sgfsi_json_as_text(sgfsi_json_at(list, k));
        d->word[k] = sgfsi_arena_text(s->arena, word != NULL ? word : "");
        if (d->word[k] == NULL) return sgfsi_fail_memory(err, "the words");
    }
    if (d->word == NULL) return sgfsi_fail_memory(err, "the words");
    d->count = count;
    return SGFS_OK;
}

static sgfs_status recall_words(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *columns = sgfsi_json_get(saved, "columns");
    sgfs_status status = SGFS_OK;
    words *w = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *w);
    if (w == NULL) return sgfsi_fail_memory(err, "the words");
    w->onehot = strcmp(sgfsi_json_get_text(saved, "coding", ""), "onehot") == 0;
    (void)sgfsi_json_as_flag(sgfsi_json_get(saved, "reference"), &w->reference);
    w->dictionary = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->dictionary);
    if (w->dictionary == NULL) return sgfsi_fail_memory(err, "the words");
    for (int64_t k = 0; status == SGFS_OK && k < sgfsi_json_length(columns); k++)
        status = recall_column(s, sgfsi_json_at(columns, k), err);
    return status == SGFS_OK ? shape_words_as(s, err) : status;
}

const sgfsi_dictionary *sgfsi_words_of(const sgfsi_transform *s, int64_t j) {
    const sgfsi_dictionary *d = &((const words *)s->self)->dictionary[j];
    return d->count > 0 ? d : NULL;
}

bool sgfsi_words_zero(sgfsi_transform *s) {
    words *w = s->self;
    return w->unseen_zero = w->onehot;
}

static void brief_words(const sgfsi_transform *s, char *out, size_t room) {
    const words *w = s->self;
    int64_t count = 0;
    for (int64_t j = 0; j < s->in.cols; j++) count += w->dictionary[j].count > 0;
    snprintf(out, room, "%lld categorical column%s", (long long)count, count == 1 ? "" : "s");
}

const sgfsi_transform_kind sgfsi_transform_categorical = {
    .op = "categorical",
    .key = "data.categorical",
    .open = open_words,
    .tell = tell_words,
    .recall = recall_words,
    .brief = brief_words,
    .shape = shape_words,
    .looks = true,
    .apply = apply_words,
    .selects = selects_words,
    .need = need_words,
};
