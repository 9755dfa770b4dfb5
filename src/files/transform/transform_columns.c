/* SPDX-License-Identifier: MIT
 * transform_columns.c: operations that take columns one by one: words to numbers (--categorical),
 * columns left out (--drop), log(1 + x) (--log1p), and a choice of columns by name, which is how
 * every list of operations in a run file begins.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "files/columns.h"
#include "files/text/amount.h"
#include "files/text/date.h"
#include "files/text/looks.h"
#include "files/transform/transform_kind.h"

static sgfs_status make_shape(sgfsi_transform *s, int64_t cols, sgfs_err *err) {
    s->out = (sgfsi_feature_list){.cols = cols, .base = s->in.base};
    s->out.name = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.origin);
    bool made = s->out.name != NULL && s->out.origin != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

/* ---- some of the columns, in an order: columns, --drop --------------------------------------- */

typedef struct choice {
    int64_t *to;        /* in.cols: which of those that come out; -1: none */
    unsigned char *hit; /* in.cols: --drop leaves it out */
} choice;

/* The columns that the option names, or (saved: not NULL) a run's file. */
static sgfs_status find_hits(const sgfsi_transform *s, const sgfsi_json *saved, unsigned char *hit,
                             sgfs_err *err) {
    if (saved == NULL) return sgfsi_transform_find(s, s->text, hit, err);
    return sgfsi_transform_find_saved(s, sgfsi_json_get(saved, "columns"), hit, err);
}

static sgfs_status make_choice(sgfsi_transform *s, sgfs_err *err) {
    choice *c = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *c);
    if (c != NULL) c->to = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *c->to);
    if (c != NULL) c->hit = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    bool made = c != NULL && c->to != NULL && c->hit != NULL;
    for (int64_t j = 0; made && j < s->in.cols; j++) c->to[j] = -1;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

static sgfs_status shape_choice(sgfsi_transform *s, int64_t cols, sgfs_err *err) {
    const choice *c = s->self;
    sgfs_status status = make_shape(s, cols, err);
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        if (c->to[j] < 0) continue;
        s->out.name[c->to[j]] = s->in.name[j];
        s->out.origin[c->to[j]] = s->in.origin[j];
    }
    return status;
}

static sgfs_status choose_cell(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err) {
    (void)x, (void)err;
    *col = ((const choice *)s->self)->to[*col];
    return SGFS_OK;
}

static void need_choice(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const choice *c = s->self;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (c->to[j] >= 0) in[j] |= out[c->to[j]];
    }
}

static sgfs_status shape_columns(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *names = sgfsi_json_get(saved, "names");
    int64_t count = sgfsi_json_length(names);
    if (count < 0) return sgfsi_transform_damaged(s, err);
    sgfs_status status = make_choice(s, err);
    choice *c = s->self;
    for (int64_t k = 0; status == SGFS_OK && k < count; k++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(names, k));
        int64_t j = 0;
        while (name != NULL && j < s->in.cols && strcmp(s->in.name[j], name) != 0) j++;
        if (name == NULL || j == s->in.cols || c->to[j] >= 0) {
            return sgfsi_fail(err, SGFS_ERUNFILE,
                              "The run's transforms ask for column \"%.60s\", which is not there.",
                              name != NULL ? name : "");
        }
        c->to[j] = k;
    }
    return status == SGFS_OK ? shape_choice(s, count, err) : status;
}

const sgfsi_transform_kind sgfsi_transform_columns = {
    .op = "columns", .shape = shape_columns, .cell = choose_cell, .need = need_choice};

/* What is not hit stays. */
static sgfs_status shape_drop(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    sgfs_status status = make_choice(s, err);
    choice *c = s->self;
    int64_t cols = 0;
    if (status == SGFS_OK) status = find_hits(s, saved, c->hit, err);
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        if (!c->hit[j]) c->to[j] = cols++;
    }
    return status == SGFS_OK ? shape_choice(s, cols, err) : status;
}

static void tell_drop(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_transform_tell_names(s, ((const choice *)s->self)->hit, out);
}

static bool always(const sgfsi_transform *s) {
    (void)s;
    return true;
}

/* A formula leaves them out itself. */
static bool wants_drop(const sgfs_config *cfg, const sgfsi_table *head) {
    (void)head;
    return !sgfsi_config_auto(cfg, "data.drop") &&
           sgfsi_config_auto(cfg, sgfsi_transform_formula.key);
}

const sgfsi_transform_kind sgfsi_transform_drop = {
    .op = "drop",
    .key = "data.drop",
    .wanted = wants_drop,
    .tell = tell_drop,
    .shape = shape_drop,
    .cell = choose_cell,
    .selects = always,
    .need = need_choice,
};

/* ---- --log1p --------------------------------------------------------------------------------- */

static sgfs_status shape_log1p(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    unsigned char *hit = s->self = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    if (hit == NULL) return sgfsi_fail_memory(err, "the columns");
    sgfs_status status = find_hits(s, saved, hit, err);
    if (status == SGFS_OK) status = make_shape(s, s->in.cols, err);
    for (int64_t j = 0; j < s->in.cols && status == SGFS_OK; j++) {
        s->out.origin[j] = s->in.origin[j];
        s->out.name[j] = s->in.name[j];
        if (!hit[j]) continue;
        size_t room = strlen(s->in.name[j]) + sizeof "log1p()";
        char *name = sgfsi_arena_alloc(s->arena, (int64_t)room, 1);
        if (name == NULL) return sgfsi_fail_memory(err, "the names of columns");
        snprintf(name, room, "log1p(%s)", s->in.name[j]);
        s->out.name[j] = name;
    }
    return status;
}

static void tell_log1p(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_transform_tell_names(s, s->self, out);
}

/* log(1 + 0) = 0: zeros stay away. */
static sgfs_status log1p_cell(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err) {
    char number[SGFSI_NUM_CHARS];
    if (!((const unsigned char *)s->self)[*col]) return SGFS_OK;
    if (*x > -1) return *x = log1p(*x), SGFS_OK;
    sgfsi_format_num(number, *x);
    return sgfsi_fail(err, SGFS_EDATA,
                      "column \"%.60s\" holds %s, and --log1p takes log(1 + x): it needs numbers "
                      "above -1.",
                      s->in.name[*col], number);
}

const sgfsi_transform_kind sgfsi_transform_log1p = {
    .op = "log1p",
    .key = "data.log1p",
    .tell = tell_log1p,
    .shape = shape_log1p,
    .cell = log1p_cell,
};

/* ---- --categorical --------------------------------------------------------------------------- */

/* The columns of one column's words. Words are numbered as they were met. */
typedef struct levels {
    int64_t left_out; /* the word without a column, which the intercept stands for; -1: none */
    int64_t *order;   /* words: their numbers, as their columns follow one another */
    int64_t *place;   /* words: which of the columns; -1: none */
    double *count;    /* room: how often each word was met, by weight */
    int64_t room;
} levels;

typedef struct words {
    bool onehot, reference;       /* reference: one word of each column has no column */
    bool codes;                   /* words become their places, for a formula */
    bool unseen_zero;             /* a word that is none of them has 0 in all its columns */
    bool counted;                 /* every row has been looked at */
    const char *wanted;           /* --reference-level: "city=Kiel,plan=pro" */
    sgfsi_dictionary *dictionary; /* in.cols; count 0: numbers */
    levels *levels;               /* in.cols */
} words;

/* What is missing is never the reference, unless there is nothing else. */
static bool is_missing_word(const char *word) {
    return strcmp(word, "NA") == 0;
}

int sgfsi_words_compare(const char *a, const char *b) {
    double x, y;
    if (is_missing_word(a) || is_missing_word(b)) return is_missing_word(a) - is_missing_word(b);
    bool numbers = sgfsi_text_num(a, &x) && sgfsi_text_num(b, &y);
    if (numbers && x != y) return x < y ? -1 : 1;
    return strcmp(a, b);
}

typedef struct numbered {
    const char *word;
    int64_t number;
} numbered;

static int by_word(const void *a, const void *b) {
    return sgfsi_words_compare(((const numbered *)a)->word, ((const numbered *)b)->word);
}

/* The columns of the words follow one another in this order, less the one that is left out. */
static void place_words(const words *w, int64_t j) {
    const levels *l = &w->levels[j];
    int64_t column = 0;
    for (int64_t k = 0; k < w->dictionary[j].count; k++)
        l->place[l->order[k]] = l->order[k] == l->left_out && !w->codes ? -1 : column++;
}

/* Made at the first look, when the columns are known. */
static sgfs_status need_levels(sgfsi_transform *s, sgfs_err *err) {
    words *w = s->self;
    if (w->levels == NULL)
        w->levels = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->levels);
    return w->levels != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the words");
}

static sgfs_status make_levels(sgfsi_transform *s, int64_t j, sgfs_err *err) {
    const words *w = s->self;
    levels *l = &w->levels[j];
    int64_t count = w->dictionary[j].count;
    l->order = sgfsi_arena_alloc(s->arena, 2 * count + 1, sizeof *l->order);
    if (l->order == NULL) return sgfsi_fail_memory(err, "the words");
    l->place = l->order + count;
    for (int64_t k = 0; k < count; k++) l->order[k] = k;
    return SGFS_OK;
}

static sgfs_status sort_words(sgfsi_transform *s, int64_t j, sgfs_err *err) {
    const words *w = s->self;
    const sgfsi_dictionary *d = &w->dictionary[j];
    levels *l = &w->levels[j];
    numbered *list = sgfsi_arena_alloc(s->arena, d->count + 1, sizeof *list);
    if (list == NULL) return sgfsi_fail_memory(err, "the words");
    for (int64_t k = 0; k < d->count; k++) list[k] = (numbered){d->word[k], k};
    qsort(list, (size_t)d->count, sizeof *list, by_word);
    for (int64_t k = 0; k < d->count; k++) l->order[k] = list[k].number;
    /* the reference: the most frequent word, the first of several such */
    const bool reference = (w->reference && w->onehot) || w->codes;
    l->left_out = reference && d->count > 0 ? l->order[0] : -1;
    double most = -1;
    for (int64_t k = 0; reference && k < d->count; k++) {
        int64_t number = l->order[k];
        double count = number < l->room ? l->count[number] : 0;
        if (is_missing_word(d->word[number]) || count <= most) continue;
        most = count;
        l->left_out = number;
    }
    return SGFS_OK;
}

/* The longest of n texts with which `at` begins, with `end` behind it (a comma may be missing at
 * the end of it all); a text may hold this letter itself. -1: none. */
static int64_t begins_with(const char *at, int64_t n, const char *const *text, char end) {
    int64_t best = -1;
    size_t longest = 0;
    for (int64_t k = 0; k < n; k++) {
        size_t length = strlen(text[k]);
        if (length < longest || strncmp(at, text[k], length) != 0) continue;
        if (at[length] != end && (end == '=' || at[length] != '\0')) continue;
        best = k;
        longest = length;
    }
    return best;
}

/* "city=Kiel,plan=pro" into left_out. */
static sgfs_status take_wanted(const sgfsi_transform *s, sgfs_err *err) {
    const words *w = s->self;
    for (const char *at = w->wanted; at != NULL && *at != '\0';) {
        int64_t j = begins_with(at, s->in.cols, s->in.name, '=');
        if (j < 0 || w->dictionary[j].count == 0)
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--reference-level %.100s: give a column of words and one of them, "
                              "as in city=Kiel.",
                              at);
        const sgfsi_dictionary *d = &w->dictionary[j];
        at += strlen(s->in.name[j]) + 1;
        int64_t k = begins_with(at, d->count, (const char *const *)d->word, ',');
        if (k < 0)
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--reference-level: column \"%.60s\" has no word \"%.*s\"; it has "
                              "\"%.60s\", for example.",
                              s->in.name[j], (int)fmin((double)strcspn(at, ","), 100), at,
                              d->word[0]);
        w->levels[j].left_out = k;
        at += strlen(d->word[k]);
        at += *at == ',';
    }
    return SGFS_OK;
}

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
    w->codes = !sgfsi_config_auto(cfg, sgfsi_transform_formula.key);
    w->onehot = !w->codes && strcmp(sgfsi_config_text(cfg, "data.coding"), "onehot") == 0;
    w->reference = sgfsi_config_flag(cfg, "data.intercept");
    w->wanted = sgfsi_arena_text(s->arena, sgfsi_config_text(cfg, "data.reference_level"));
    if (w->wanted == NULL) return sgfsi_fail_memory(err, "the words");
    if (w->wanted[0] != '\0' && !(w->onehot && w->reference) && !w->codes)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--reference-level is for --coding onehot and a model with an "
                          "intercept: without one every word has its column.");
    return SGFS_OK;
}

/* Rows come from the first on: those counted so far were void. */
static void rewind_words(sgfsi_transform *s) {
    const words *w = s->self;
    for (int64_t j = 0; w->levels != NULL && !w->counted && j < s->in.cols; j++) {
        for (int64_t k = 0; k < w->levels[j].room; k++) w->levels[j].count[k] = 0;
    }
}

/* Room is doubled where a word is new. */
static sgfs_status count_word(sgfsi_transform *s, levels *l, int64_t number, double weight,
                              sgfs_err *err) {
    if (number >= l->room) {
        int64_t room = 2 * number + 16;
        double *more = SGFSI_DOUBLES(s->arena, room);
        if (more == NULL) return sgfsi_fail_memory(err, "the words");
        if (l->room > 0) memcpy(more, l->count, (size_t)l->room * sizeof *more);
        l->count = more;
        l->room = room;
    }
    l->count[number] += weight;
    return SGFS_OK;
}

static sgfs_status look_words(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err) {
    const words *w = s->self;
    sgfs_status status = need_levels(s, err);
    if ((!(w->reference && w->onehot) && !w->codes) || seen->start != NULL) return status;
    for (int64_t i = 0; status == SGFS_OK && i < seen->n; i++) {
        int64_t at = seen->row != NULL ? seen->row[i] : i;
        double weight = seen->weight != NULL ? seen->weight[at] : 1;
        for (int64_t j = 0; j < s->in.cols && status == SGFS_OK; j++) {
            double x = seen->x[at * s->in.cols + j];
            bool word = s->head->dictionary[s->in.origin[j]].count > 0 && x >= 0;
            if (word) status = count_word(s, &w->levels[j], (int64_t)x, weight, err);
        }
    }
    return status;
}

static sgfs_status looked_words(sgfsi_transform *s, sgfs_err *err) {
    (void)err;
    ((words *)s->self)->counted = true;
    return SGFS_OK;
}

typedef struct plain_word {
    char *plain;
    const char *word;
} plain_word;

static int by_plain(const void *a, const void *b) {
    const plain_word *x = a, *y = b;
    int order = strcmp(x->plain, y->plain);
    return order != 0 ? order : strcmp(x->word, y->word);
}

/* Words of a column that are the same but for blanks at their ends and the case of letters (those
 * of ASCII): probably one word, and two columns all the same. Where memory is out nothing is
 * said. */
static void warn_of_twins(const sgfsi_transform *s, int64_t j) {
    const sgfsi_dictionary *d = &((const words *)s->self)->dictionary[j];
    plain_word *list = calloc((size_t)d->count + 1, sizeof *list);
    char text[300] = "";
    int64_t twins = 0;
    bool made = list != NULL;
    for (int64_t k = 0; made && k < d->count; k++) {
        const char *word = d->word[k] + strspn(d->word[k], " \t");
        size_t length = strlen(word);
        while (length > 0 && (word[length - 1] == ' ' || word[length - 1] == '\t')) length--;
        list[k] = (plain_word){strndup(word, length), d->word[k]};
        made = list[k].plain != NULL;
        for (char *c = list[k].plain; made && *c != '\0'; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    }
    if (made) qsort(list, (size_t)d->count, sizeof *list, by_plain);
    for (int64_t k = 1; made && k < d->count; k++) {
        if (strcmp(list[k].plain, list[k - 1].plain) != 0) continue;
        bool first = k == 1 || strcmp(list[k - 1].plain, list[k - 2].plain) != 0;
        twins++;
        if (strlen(text) > 180) continue;
        if (first)
            sgfsi_append(text, sizeof text, "%s\"%.40s\"", twins > 1 ? "; " : "", list[k - 1].word);
        sgfsi_append(text, sizeof text, " and \"%.40s\"", list[k].word);
    }
    if (twins > 0)
        sgfsi_say(s->log, SGFS_WARNING,
                  "Column \"%.60s\" holds words that differ only by blanks at their ends or the "
                  "case of letters, and each is a word of its own: %s%s. Write them alike if they "
                  "mean the same.",
                  s->in.name[j], text, strlen(text) > 180 ? ", ..." : "");
    for (int64_t k = 0; list != NULL && k < d->count; k++) free(list[k].plain);
    free(list);
}

static void say_words(const sgfsi_transform *s) {
    const words *w = s->self;
    for (int64_t j = 0; j < s->in.cols; j++)
        if (w->dictionary[j].count > 1) warn_of_twins(s, j);
    for (int64_t j = 0; w->onehot && j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        if (d->count == 0) continue;
        char but[128] = "";
        if (w->reference)
            snprintf(but, sizeof but, " (\"%.60s\" is the reference: 0%s)",
                     d->word[w->levels[j].left_out], width(w, j) == 1 ? "" : " in all of them");
        const bool one = d->count == 1, single = width(w, j) == 1;
        sgfsi_say(s->log, SGFS_NOTE, "Column \"%.60s\": %lld word%s %lld column%s of 0 and 1%s.",
                  s->in.name[j], (long long)d->count, one ? " becomes" : "s become",
                  (long long)width(w, j), single ? "" : "s", but);
    }
}

/* How many of a column's words are numbers? *other: the first that is none. */
static int64_t count_numbers(const sgfsi_dictionary *d, const char **other) {
    int64_t numbers = 0;
    double x;
    for (int64_t k = d->count - 1; k >= 0; k--) {
        if (sgfsi_text_num(d->word[k], &x)) numbers++;
        else if (!is_missing_word(d->word[k])) *other = d->word[k];
    }
    return numbers;
}

/* What to do about a column of words: leave it out, take dates apart, take signs away, mend a few
 * cells. */
typedef enum remedy { DROP, DATE, AMOUNT, MEND, REMEDIES } remedy;

/* --categorical auto takes what holds words. That a column of its words would be of use is doubtful
 * where nearly every row has another one, where they are thousands, where they are dates or
 * amounts, and where they are numbers but for a few; whoever means them names the column. Few dates
 * may well be the levels of something. What is wrong with column j goes to `out`; false:
 * nothing. */
static bool is_odd(const sgfsi_transform *s, int64_t j, remedy *by, char *out, size_t room) {
    enum { FEW = 10 };
    const words *w = s->self;
    const sgfsi_dictionary *d = &w->dictionary[j];
    const long long count = d->count, rows = s->head->rows; /* 0: not known yet */
    if (d->count <= FEW || !(w->onehot || w->codes)) return false;
    const char *like = sgfsi_words_look_like(d->count, d->word);
    const char *other = "";
    const int64_t numbers = count_numbers(d, &other), others = d->count - numbers;
    bool many = rows > 0 && 5 * count >= 4 * rows;
    *by = sgfsi_words_are_dates(d->count, d->word)     ? DATE
          : sgfsi_words_are_amounts(d->count, d->word) ? AMOUNT
          : 10 * others <= numbers                     ? MEND
                                                       : DROP;
    if (*by == MEND)
        snprintf(out, room, "\"%.60s\" holds %lld different numbers and among them %s (\"%.40s\")",
                 s->in.name[j], (long long)numbers, others == 1 ? "one word" : "a few words",
                 other);
    else if (*by == DATE)
        snprintf(out, room, "\"%.60s\" holds %lld different dates such as \"%.40s\"", s->in.name[j],
                 count, d->word[0]);
    else if (*by == AMOUNT)
        snprintf(out, room, "\"%.60s\" holds %lld different amounts such as \"%.40s\"",
                 s->in.name[j], count, d->word[0]);
    else if (like != NULL)
        snprintf(out, room, "\"%.60s\" holds %lld different texts such as \"%.40s\"; %s",
                 s->in.name[j], count, d->word[0], like);
    else if (many)
        snprintf(out, room,
                 "\"%.60s\" has %lld different words in %lld rows (\"%.40s\", \"%.40s\", ...) and "
                 "looks like an identifier",
                 s->in.name[j], count, rows, d->word[0], d->word[1]);
    else if (count > SGFSI_MAX_LEVELS)
        snprintf(out, room, "\"%.60s\" has %lld different words (\"%.40s\", \"%.40s\", ...)",
                 s->in.name[j], count, d->word[0], d->word[1]);
    return *by != DROP || like != NULL || many || count > SGFSI_MAX_LEVELS;
}

/* All such columns in one sentence, as far as it goes, with what helps. */
static sgfs_status refuse_odd_words(const sgfsi_transform *s, sgfs_err *err) {
    char what[400], first[400] = "", all[300] = "", lists[REMEDIES][200] = {""}, help[480] = "";
    int64_t odd = 0, at = -1;
    const bool formula = ((const words *)s->self)->codes;
    unsigned char *named = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    if (named == NULL) return sgfsi_fail_memory(err, "the words");
    const char *list = sgfsi_words_named(s->text, &(bool){false});
    if (list[0] != '\0' && sgfsi_transform_find(s, list, named, err) != SGFS_OK) return err->code;
    for (int64_t j = 0; j < s->in.cols; j++) {
        remedy by = DROP;
        if (named[j] || !is_odd(s, j, &by, what, sizeof what)) continue;
        if (odd++ == 0) snprintf(first, sizeof first, "%s", what), at = j;
        size_t end = strcspn(what, by == MEND ? "" : "(;"); /* the beginning will do */
        what[what[end] == '(' && end > 0 ? end - 1 : end] = '\0';
        sgfsi_append(all, sizeof all, "%s%s", odd > 1 ? "; " : "", what);
        sgfsi_append(lists[by], sizeof lists[by], "%s%s", lists[by][0] != '\0' ? "," : "",
                     s->in.name[j]);
    }
    if (odd == 0) return SGFS_OK;
    const char *drop = lists[DROP], *date = lists[DATE], *amount = lists[AMOUNT],
               *mend = lists[MEND];
    if (mend[0] != '\0')
        sgfsi_append(help, sizeof help,
                     "Correct the words among the numbers of %.80s, or write NA there and see --na",
                     mend);
    if (date[0] != '\0')
        sgfsi_append(help, sizeof help, "%s--date %.80s makes year, month, weekday and hour of %s",
                     help[0] != '\0' ? "; " : "", date, strchr(date, ',') != NULL ? "them" : "it");
    if (amount[0] != '\0')
        sgfsi_append(help, sizeof help, "%s--amount %.80s takes the signs away",
                     help[0] != '\0' ? "; " : "", amount);
    if (drop[0] != '\0' && help[0] != '\0')
        sgfsi_append(help, sizeof help, ", and --drop leaves the others out: --drop %.80s", drop);
    else if (drop[0] != '\0' && formula)
        sgfsi_append(help, sizeof help, "Leave %s out of the formula", odd > 1 ? "them" : "it");
    else if (drop[0] != '\0')
        sgfsi_append(help, sizeof help, "Leave %s out with --drop %.120s", odd > 1 ? "them" : "it",
                     drop);
    if (odd > 1)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%lld columns would hardly be of use as words: %s. %s; or name those "
                          "that are meant in --categorical.",
                          (long long)odd, all, help);
    if (formula) /* its terms say how many columns that makes */
        return sgfsi_fail(err, SGFS_EDATA, "column %s%s %s, or name it in --categorical.", first,
                          first[strlen(first) - 1] == '.' ? "" : ".", help);
    return sgfsi_fail(
        err, SGFS_EDATA, "column %s%s %s, or name it in --categorical to get %lld columns of it.",
        first, first[strlen(first) - 1] == '.' ? "" : ".", help, (long long)width(s->self, at));
}

/* The words of column j, copied. */
static sgfs_status copy_words(sgfsi_transform *s, int64_t j, int64_t count, const char *const *word,
                              sgfs_err *err) {
    sgfsi_dictionary *d = &((words *)s->self)->dictionary[j];
    d->word = sgfsi_arena_alloc(s->arena, count + 1, sizeof *d->word);
    for (; d->word != NULL && d->count < count; d->count++) {
        d->word[d->count] = sgfsi_arena_text(s->arena, word[d->count]);
        if (d->word[d->count] == NULL) break;
    }
    bool made = d->word != NULL && d->count == count;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the words");
}

/* For a formula behind it: what the numbers that come out stand for. */
static sgfs_status show_codes(sgfsi_transform *s, sgfs_err *err) {
    const words *w = s->self;
    sgfsi_coded *coded = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *coded);
    s->out.coded = coded;
    for (int64_t j = 0; coded != NULL && j < s->in.cols; j++) {
        const int64_t count = w->dictionary[j].count;
        const char **word = sgfsi_arena_alloc(s->arena, count + 1, sizeof *word);
        if (word == NULL) return sgfsi_fail_memory(err, "the words");
        for (int64_t k = 0; k < count; k++) word[w->levels[j].place[k]] = w->dictionary[j].word[k];
        const int64_t left_out = w->levels[j].left_out;
        coded[j] = (sgfsi_coded){count, word, count > 0 ? w->levels[j].place[left_out] : 0};
    }
    return coded != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the words");
}

static sgfs_status shape_words(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    words *w = s->self;
    int64_t cols = 0, to = 0;
    sgfs_status status = SGFS_OK;
    if (saved == NULL) { /* the words are all there now: take them over by feature */
        w->dictionary = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->dictionary);
        if (w->dictionary == NULL) return sgfsi_fail_memory(err, "the words");
        status = need_levels(s, err);
        for (int64_t j = 0; j < s->in.cols && status == SGFS_OK; j++) {
            const sgfsi_dictionary *d = &s->head->dictionary[s->in.origin[j]];
            status = copy_words(s, j, d->count, (const char *const *)d->word, err);
        }
        bool automatic;
        (void)sgfsi_words_named(s->text, &automatic);
        if (status == SGFS_OK && automatic) status = refuse_odd_words(s, err);
        for (int64_t j = 0; j < s->in.cols && status == SGFS_OK; j++) {
            w->levels[j].left_out = -1;
            status = make_levels(s, j, err);
            if (status == SGFS_OK) status = sort_words(s, j, err);
        }
        if (status == SGFS_OK) status = take_wanted(s, err);
        if (status != SGFS_OK) return status;
        say_words(s);
    }
    for (int64_t j = 0; j < s->in.cols; j++) {
        place_words(w, j);
        cols += width(w, j);
    }
    if (cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "--categorical would make %lld columns, and %d are the most: use "
                          "--coding integer, or leave out the column with the many words.",
                          (long long)cols, SGFSI_MAX_COLS);
    }
    status = make_shape(s, cols, err);
    if (status == SGFS_OK && w->codes) status = show_codes(s, err);
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        bool columns = d->count > 0 && w->onehot; /* one for each word: service=http */
        for (int64_t i = 0; i < (columns ? d->count : 1); i++) {
            const int64_t k = columns ? w->levels[j].order[i] : 0;
            if (columns && k == w->levels[j].left_out) continue;
            s->out.origin[to] = s->in.origin[j];
            s->out.name[to++] = s->in.name[j];
            if (!columns) continue;
            size_t room = strlen(s->in.name[j]) + strlen(d->word[k]) + 2;
            char *name = sgfsi_arena_alloc(s->arena, (int64_t)room, 1);
            if (name == NULL) return sgfsi_fail_memory(err, "the names of words");
            snprintf(name, room, "%s=%s", s->in.name[j], d->word[k]);
            s->out.name[to - 1] = name;
        }
    }
    return status;
}

static sgfs_status apply_words(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                               int64_t *bad, sgfs_err *err) {
    const words *w = s->self;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < s->in.cols; j++) {
            double x = *in++;
            int64_t count = w->dictionary[j].count;
            const bool unseen = count > 0 && !(x >= 0 && x < (double)count);
            if (unseen && !w->unseen_zero) {
                *bad = i;
                return sgfsi_fail(err, SGFS_EDATA, "column \"%.60s\" holds an unknown word.",
                                  s->in.name[j]);
            }
            if (count == 0 || !w->onehot) {
                *out++ = unseen ? -1 : count > 0 ? (double)w->levels[j].place[(int64_t)x] : x;
                continue;
            }
            const int64_t columns = width(w, j);
            memset(out, 0, (size_t)columns * sizeof *out);
            bool known = x >= 0 && x < (double)count;
            int64_t place = known ? w->levels[j].place[(int64_t)x] : -1;
            if (place >= 0) out[place] = 1;
            out += columns;
        }
    }
    return SGFS_OK;
}

static sgfs_status words_entries(const sgfsi_transform *s, const double *in, int32_t *col,
                                 double *x, int64_t *count, sgfs_err *err) {
    const words *w = s->self;
    int64_t n = 0, first = 0;
    for (int64_t j = 0; j < s->in.cols; first += width(w, j), j++) {
        const int64_t known = w->dictionary[j].count;
        double v = in[j];
        if (known > 0 && !(v >= 0 && v < (double)known))
            return sgfsi_fail(err, SGFS_EDATA, "column \"%.60s\" holds an unknown word.",
                              s->in.name[j]);
        const int64_t place = known > 0 ? w->levels[j].place[(int64_t)v] : 0;
        if (place < 0) continue;
        col[n] = (int32_t)(first + (w->onehot ? place : 0));
        x[n++] = known == 0 ? v : w->onehot ? 1 : (double)place;
    }
    *count = n;
    return SGFS_OK;
}

static bool selects_words(const sgfsi_transform *s) {
    const words *w = s->self;
    bool same = !w->onehot; /* words were met in their order */
    for (int64_t j = 0; same && j < s->in.cols; j++)
        for (int64_t k = 0; same && k < w->dictionary[j].count; k++)
            same = w->levels[j].order[k] == k;
    return same;
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
    sgfsi_json_text(out, "coding", w->codes ? "codes" : w->onehot ? "onehot" : "integer");
    if (w->onehot) sgfsi_json_flag(out, "reference", w->reference);
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_dictionary *d = &w->dictionary[j];
        if (d->count == 0) continue;
        sgfsi_json *o = sgfsi_json_object(), *list = sgfsi_json_array();
        sgfsi_json_text(o, "name", s->in.name[j]);
        const levels *l = &w->levels[j];
        int64_t left_out = -1;
        for (int64_t k = 0; k < d->count; k++) {
            sgfsi_json_text(list, NULL, d->word[l->order[k]]);
            if (l->order[k] == l->left_out) left_out = k;
        }
        sgfsi_json_put(o, "words", list);
        if (left_out >= 0) sgfsi_json_int(o, "left_out", left_out);
        sgfsi_json_put(columns, NULL, o);
    }
    sgfsi_json_put(out, "columns", columns);
}

static sgfs_status recall_words(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *columns = sgfsi_json_get(saved, "columns");
    sgfs_status status = SGFS_OK;
    words *w = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *w);
    if (w == NULL) return sgfsi_fail_memory(err, "the words");
    w->onehot = strcmp(sgfsi_json_get_text(saved, "coding", ""), "onehot") == 0;
    w->codes = strcmp(sgfsi_json_get_text(saved, "coding", ""), "codes") == 0;
    w->reference = sgfsi_json_get_flag(saved, "reference");
    w->dictionary = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->dictionary);
    w->levels = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *w->levels);
    if (w->dictionary == NULL || w->levels == NULL) return sgfsi_fail_memory(err, "the words");
    for (int64_t k = 0; status == SGFS_OK && k < sgfsi_json_length(columns); k++) {
        const sgfsi_json *column = sgfsi_json_at(columns, k),
                         *list = sgfsi_json_get(column, "words");
        const char *name = sgfsi_json_get_text(column, "name", "");
        int64_t count = sgfsi_json_length(list), j = 0;
        while (j < s->in.cols && strcmp(s->in.name[j], name) != 0) j++;
        bool good = j < s->in.cols && count >= 1 && w->dictionary[j].count == 0;
        const char **word = good ? sgfsi_arena_alloc(s->arena, count, sizeof *word) : NULL;
        for (int64_t i = 0; word != NULL && i < count && good; i++) {
            word[i] = sgfsi_json_as_text(sgfsi_json_at(list, i));
            good = word[i] != NULL;
        }
        if (!good)
            return sgfsi_fail(err, SGFS_ERUNFILE,
                              "The run's words of column \"%.60s\" are damaged.", name);
        status =
            word != NULL ? copy_words(s, j, count, word, err) : sgfsi_fail_memory(err, "the words");
        if (status == SGFS_OK) status = make_levels(s, j, err);
        if (status != SGFS_OK) return status;
        /* files of before have the first word that is not missing */
        int64_t first = count > 1 && is_missing_word(w->dictionary[j].word[0]);
        int64_t left_out = sgfsi_json_get_int(column, "left_out", first);
        if (left_out < 0 || left_out >= count) return sgfsi_transform_damaged(s, err);
        w->levels[j].left_out = w->reference || w->codes ? left_out : -1;
    }
    return status;
}

const sgfsi_dictionary *sgfsi_words_of(const sgfsi_transform *s, int64_t j) {
    const sgfsi_dictionary *d = &((const words *)s->self)->dictionary[j];
    return d->count > 0 ? d : NULL;
}

const char *sgfsi_words_reference(const sgfsi_transform *s, int64_t j) {
    const words *w = s->self;
    int64_t left_out = w->onehot || w->codes ? w->levels[j].left_out : -1;
    return left_out >= 0 ? w->dictionary[j].word[left_out] : NULL;
}

static bool zero_words(sgfsi_transform *s) {
    words *w = s->self;
    return w->unseen_zero = w->onehot || w->codes;
}

static void brief_words(const sgfsi_transform *s, char *out, size_t room) {
    const words *w = s->self;
    int64_t count = 0;
    for (int64_t j = 0; j < s->in.cols; j++) count += w->dictionary[j].count > 0;
    snprintf(out, room, "%lld categorical column%s", (long long)count, count == 1 ? "" : "s");
}

static bool wants_words(const sgfs_config *cfg, const sgfsi_table *head) {
    bool automatic, formula = !sgfsi_config_auto(cfg, sgfsi_transform_formula.key);
    const char *named = sgfsi_words_named(sgfsi_config_text(cfg, "data.categorical"), &automatic);
    if (named[0] != '\0' && !(formula && head->dictionary == NULL)) return true;
    if (!automatic) return false;
    /* Are there words? Those of a flow (which has no rows yet) are still to come. */
    bool any = head->dictionary != NULL && head->rows == 0;
    for (int64_t j = 0; head->dictionary != NULL && j < head->cols; j++)
        any = any || (head->dictionary[j].count > 0 &&
                      (head->role == NULL || head->role[j] == SGFSI_ROLE_FEATURE));
    return any;
}

const sgfsi_transform_kind sgfsi_transform_categorical = {
    .op = "categorical",
    .key = "data.categorical",
    .wanted = wants_words,
    .reads = 3,
    .open = open_words,
    .tell = tell_words,
    .recall = recall_words,
    .brief = brief_words,
    .shape = shape_words,
    .rewind = rewind_words,
    .zero_words = zero_words,
    .looks = true,
    .look = look_words,
    .looked = looked_words,
    .apply = apply_words,
    .entries = words_entries,
    .selects = selects_words,
    .need = need_words,
};
