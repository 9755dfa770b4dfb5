/* SPDX-License-Identifier: MIT
 * transform_missing.c: --na, what becomes of missing values, which are NaN in what readers hand
 * out. Two operations share the option:
 *
 *     complete   rows that lack a value are left out: with --na drop any value; with --na mean only
 *                the target, a weight or an exposure, for which no number can be made up
 *     fill       --na mean: NaN becomes the mean of the column, and where more than 1 % of the rows
 *                lack it, a column NAME=NA of zeros and ones says which
 *
 * Both come before every operation on columns but --categorical, for which a missing word is the
 * word NA where values are filled in. Columns that --drop will leave out may lack what they like.
 * Means are those of the training part, each row counting by its weight; every column has one, so
 * that new rows may lack what no row lacked before.
 *
 * Two columns that are missing in the same rows share one column of zeros and ones: the second
 * would be the first over again. The rows are compared by a sum of hashes of their numbers.
 *
 * Sparse rows get no such columns: they would have to have room for them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "files/columns.h"
#include "files/transform/transform_kind.h"

enum { NAMED = 4 };                        /* columns in a sentence */
static const double worth_a_column = 0.01; /* of the rows lack a value */

sgfsi_na sgfsi_recipe_na(const sgfsi_json *saved) {
    sgfsi_na na = SGFSI_NA_ERROR;
    for (int64_t i = 0; saved != NULL && i < sgfsi_json_length(saved); i++) {
        const sgfsi_json *o = sgfsi_json_at(saved, i);
        const char *op = sgfsi_json_get_text(o, "op", "");
        if (strcmp(op, sgfsi_transform_fill.op) == 0) na = SGFSI_NA_MEAN;
        bool drops =
            strcmp(op, sgfsi_transform_complete.op) == 0 && sgfsi_json_get_flag(o, "features");
        if (drops && na == SGFSI_NA_ERROR) na = SGFSI_NA_DROP;
    }
    return na;
}

/* Columns of the head that --drop will leave out, unless --project makes others before. */
static sgfs_status find_dropped(const sgfsi_transform *s, const sgfs_config *cfg,
                                unsigned char **out, sgfs_err *err) {
    const sgfsi_columns columns = {
        .cols = s->head->cols, .names = s->head->names, .named = s->head->named};
    const char *drop = sgfsi_read_options_of(cfg).drop;
    *out = sgfsi_arena_alloc(s->arena, s->head->cols + 1, 1);
    if (*out == NULL) return sgfsi_fail_memory(err, "the columns");
    return drop[0] != '\0' ? sgfsi_columns_mark(&columns, NULL, drop, *out, err) : SGFS_OK;
}

/* ---- complete -------------------------------------------------------------------------------- */

typedef struct complete {
    bool features;       /* of features, too */
    unsigned char *need; /* head->cols: a row without it is left out */
    int64_t *lacks;      /* head->cols: such rows, of those gone by since the last rewind */
    char **name;         /* head->cols: the head may hold other columns by the time they are told */
    int64_t cols;
    int64_t seen, rows; /* rows gone by; those left out */
    bool rewound;
} complete;

static sgfs_status open_complete(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    const sgfsi_table *h = s->head;
    unsigned char *dropped;
    complete *c = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *c);
    if (c != NULL) c->need = sgfsi_arena_alloc(s->arena, h->cols + 1, 1);
    if (c != NULL) c->lacks = sgfsi_arena_alloc(s->arena, h->cols + 1, sizeof *c->lacks);
    if (c == NULL || c->need == NULL || c->lacks == NULL)
        return sgfsi_fail_memory(err, "the columns");
    c->cols = h->cols;
    c->name = sgfsi_arena_alloc(s->arena, h->cols + 1, sizeof *c->name);
    for (int64_t j = 0; c->name != NULL && j < h->cols; j++) {
        c->name[j] = sgfsi_arena_text(s->arena, h->names[j]);
        if (c->name[j] == NULL) return sgfsi_fail_memory(err, "the columns");
    }
    if (c->name == NULL) return sgfsi_fail_memory(err, "the columns");
    c->features = sgfsi_na_of(cfg) == SGFSI_NA_DROP;
    sgfs_status status = find_dropped(s, cfg, &dropped, err);
    for (int64_t j = 0; status == SGFS_OK && j < h->cols; j++) {
        int role = h->role != NULL ? h->role[j] : SGFSI_ROLE_FEATURE;
        c->need[j] =
            role > SGFSI_ROLE_FEATURE || (role == SGFSI_ROLE_FEATURE && c->features && !dropped[j]);
    }
    return status;
}

static void rewind_complete(sgfsi_transform *s) {
    ((complete *)s->self)->rewound = true;
}

/* Rows that others learn from are not counted: what counts are those that would have stayed. */
static bool keep_complete(sgfsi_transform *s, const sgfsi_row *row) {
    complete *c = s->self;
    bool whole = !row->lacks;
    if (!row->learning && c->rewound) {
        c->seen = c->rows = 0;
        memset(c->lacks, 0, (size_t)s->head->cols * sizeof *c->lacks);
        c->rewound = false;
    }
    int64_t n = row->col != NULL ? row->entries : s->head->cols;
    for (int64_t k = 0; row->x != NULL && k < n; k++) {
        int64_t j = row->col != NULL ? row->col[k] : k;
        if (!isnan(row->x[k]) || !c->need[j]) continue;
        whole = false;
        c->lacks[j] += !row->learning;
    }
    c->seen += !row->learning;
    c->rows += !row->learning && !whole;
    return whole;
}

/* "a" 17, "b" 3: the columns that lack most. */
static const char *name_worst(const sgfsi_transform *s, char *out, size_t room) {
    const complete *c = s->self;
    int64_t before = INT64_MAX, last = -1;
    out[0] = '\0';
    for (int told = 0; told < NAMED; told++) {
        int64_t best = -1;
        for (int64_t j = 0; j < s->head->cols; j++) {
            bool left =
                c->lacks[j] > 0 && (c->lacks[j] < before || (c->lacks[j] == before && j > last));
            if (left && (best < 0 || c->lacks[j] > c->lacks[best])) best = j;
        }
        if (best < 0) break;
        sgfsi_append(out, room, "%s\"%.40s\" lacks %lld", told > 0 ? ", " : "",
                     s->head->names[best], (long long)c->lacks[best]);
        before = c->lacks[best];
        last = best;
    }
    return out;
}

static sgfs_status finish_complete(const sgfsi_transform *s, bool stopped, sgfs_err *err) {
    const complete *c = s->self;
    char worst[320];
    if (c->rows == 0) return SGFS_OK;
    name_worst(s, worst, sizeof worst);
    const unsigned char *role = s->head->role; /* NULL: all are features */
    for (int64_t j = 0; c->features && !stopped && j < s->head->cols; j++)
        if (c->lacks[j] == c->seen && (role == NULL || role[j] == SGFSI_ROLE_FEATURE))
            return sgfsi_fail(err, SGFS_EDATA,
                              "column \"%.60s\" is empty in each of the %lld rows: leave it out "
                              "with --drop %.60s.",
                              s->head->names[j], (long long)c->seen, s->head->names[j]);
    if (c->rows == c->seen && !stopped && !c->features)
        return sgfsi_fail(err, SGFS_EDATA,
                          "none of the %lld rows has a target and all that goes with it (%s), and "
                          "--na mean makes up values of features only: is another --target meant?",
                          (long long)c->seen, worst);
    if (c->rows == c->seen && !stopped)
        return sgfsi_fail(err, SGFS_EDATA,
                          "each of the %lld rows lacks a value (%s): leave out the columns that "
                          "lack most with --drop, or fill them in with --na mean.",
                          (long long)c->seen, worst);
    bool most = 2 * c->rows > c->seen;
    sgfsi_say(s->log, most ? SGFS_WARNING : SGFS_NOTE,
              "%lld of %lld rows%s lack a value and are left out%s%s%s.", (long long)c->rows,
              (long long)c->seen, most ? ", more than half," : "", worst[0] != '\0' ? ": " : "",
              worst,
              !c->features ? " (--na mean makes up values of features, and of nothing else)"
              : most       ? "; --drop leaves out columns that lack much, --na mean fills them in"
                           : "");
    return SGFS_OK;
}

static void tell_complete(const sgfsi_transform *s, sgfsi_json *out) {
    const complete *c = s->self;
    sgfsi_json_flag(out, "features", c->features);
    sgfsi_json_int(out, "rows", c->rows);
    sgfsi_json *lacks = sgfsi_json_object_in(out, "lacks");
    for (int64_t j = 0; j < c->cols; j++)
        if (c->lacks[j] > 0) sgfsi_json_int(lacks, c->name[j], c->lacks[j]);
}

static sgfs_status recall_complete(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    (void)saved;
    complete *c = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *c);
    return c != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

static void brief_complete(const sgfsi_transform *s, char *out, size_t room) {
    const complete *c = s->self;
    if (c->features)
        snprintf(out, room, "na drop: %lld row%s left out", (long long)c->rows,
                 c->rows == 1 ? "" : "s");
    else if (c->rows > 0)
        snprintf(out, room, "%lld row%s without a target or weight left out", (long long)c->rows,
                 c->rows == 1 ? "" : "s");
}

static bool wants_complete(const sgfs_config *cfg, const sgfsi_table *head) {
    (void)head;
    return sgfsi_na_of(cfg) != SGFSI_NA_ERROR;
}

const sgfsi_transform_kind sgfsi_transform_complete = {
    .op = "complete",
    .key = "data.na",
    .wanted = wants_complete,
    .early = true,
    .open = open_complete,
    .tell = tell_complete,
    .recall = recall_complete,
    .brief = brief_complete,
    .keep = keep_complete,
    .rewind = rewind_complete,
    .finish = finish_complete,
};

/* ---- fill ------------------------------------------------------------------------------------ */

typedef struct filling {
    unsigned char *dropped; /* head->cols: will be left out, and may lack everything */
    bool done;
    double rows, weight;    /* of all rows seen: their number, their weights */
    double *mean;           /* in.cols */
    double *missing, *gaps; /* in.cols: rows that lack a value, their weights */
    double *known;          /* in.cols: weights of the numbers there are, zeros of sparse rows
                                aside */
    double *flagged;        /* in.cols: 1 where a column of zeros and ones follows */
    double *absent;  /* in.cols: cells of a missing word, which the reader made the word NA */
    double *word_na; /* in.cols: what such a cell holds; NaN: no column of words */
    uint64_t *which; /* in.cols: a sum over the rows that lack a value */
} filling;

static sgfs_status make_filling(sgfsi_transform *s, sgfs_err *err) {
    filling *f = s->self;
    f->which = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *f->which);
    if (!SGFSI_ROOM(s->arena, s->in.cols + 1, &f->mean, &f->missing, &f->gaps, &f->known,
                    &f->flagged, &f->absent, &f->word_na) ||
        f->which == NULL)
        return sgfsi_fail_memory(err, "the means of columns");
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_dictionary *all = s->head != NULL ? s->head->dictionary : NULL,
                               *words = all != NULL ? &all[s->in.origin[j]] : NULL;
        int64_t k = 0;
        while (words != NULL && k < words->count && strcmp(words->word[k], "NA") != 0) k++;
        bool none = words == NULL || k == words->count;
        const char *column = none ? "" : s->head->names[s->in.origin[j]], *name = s->in.name[j];
        bool coded = strcmp(name, column) == 0; /* else one column for each word */
        f->word_na[j] = none ? NAN : coded ? (double)k : 1;
        for (k = 0; s->in.coded != NULL && k < s->in.coded[j].count; k++)
            if (strcmp(s->in.coded[j].word[k], "NA") == 0) f->word_na[j] = (double)k;
        if (!none && !coded && strcmp(name + strlen(column), "=NA") != 0) f->word_na[j] = NAN;
    }
    return SGFS_OK;
}

static sgfs_status open_fill(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    filling *f = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *f);
    if (f == NULL) return sgfsi_fail_memory(err, "the means of columns");
    return find_dropped(s, cfg, &f->dropped, err);
}

static void rewind_fill(sgfsi_transform *s) {
    filling *f = s->self;
    if (f->mean == NULL || f->done) return;
    f->rows = f->weight = 0;
    memset(f->mean, 0, (size_t)(6 * (s->in.cols + 1)) * sizeof *f->mean);
    memset(f->which, 0, (size_t)s->in.cols * sizeof *f->which);
}

static inline void look_at(filling *f, int64_t j, double w, double x) {
    f->absent[j] += x == f->word_na[j];
    if (isnan(x)) {
        f->missing[j]++;
        f->gaps[j] += w;
        f->which[j] += sgfsi_splitmix((uint64_t)f->rows);
    } else if (w > 0) {
        f->known[j] += w;
        f->mean[j] += (x - f->mean[j]) * (w / f->known[j]);
    }
}

static sgfs_status look_fill(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err) {
    filling *f = s->self;
    sgfs_status status = f->mean == NULL ? make_filling(s, err) : SGFS_OK;
    for (int64_t i = 0; status == SGFS_OK && i < seen->n; i++) {
        int64_t at = seen->row != NULL ? seen->row[i] : i;
        double w = seen->weight != NULL ? seen->weight[at] : 1;
        for (int64_t j = 0; seen->start == NULL && j < s->in.cols; j++)
            look_at(f, j, w, seen->x[at * s->in.cols + j]);
        for (int64_t k = seen->start != NULL ? seen->start[at] : 0;
             seen->start != NULL && k < seen->start[at + 1]; k++)
            look_at(f, seen->col[k], w, seen->x[k]);
        f->rows++;
        f->weight += w;
    }
    /* What sparse rows do not have is 0. */
    for (int64_t j = 0; status == SGFS_OK && seen->start != NULL && j < s->in.cols; j++) {
        double all = f->weight - f->gaps[j];
        f->mean[j] = all > 0 ? f->mean[j] * f->known[j] / all : 0;
        f->known[j] = all;
    }
    return status;
}

static void say_filled(const sgfsi_transform *s) {
    const filling *f = s->self;
    int64_t columns = 0, more = 0;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (f->missing[j] + f->absent[j] == 0 || f->dropped[s->in.origin[j]]) continue;
        if (++columns > NAMED) {
            more++;
            continue;
        }
        if (f->absent[j] > 0) {
            sgfsi_say(s->log, SGFS_NOTE,
                      "Column \"%.60s\": %.0f of %.0f words are missing, and the word NA is put "
                      "there.",
                      s->head->names[s->in.origin[j]], f->absent[j], f->rows);
            continue;
        }
        sgfsi_say(s->log, SGFS_NOTE,
                  "Column \"%.60s\": %.0f of %.0f values are missing, and the mean of the others, "
                  "%s, is put there%s%.60s%s.",
                  s->in.name[j], f->missing[j], f->rows, SGFSI_DIGITS(f->mean[j], 4),
                  f->flagged[j] > 0 ? "; the column \"" : "",
                  f->flagged[j] > 0 ? s->in.name[j] : "",
                  f->flagged[j] > 0 ? "=NA\" says in which rows" : "");
    }
    if (more > 0)
        sgfsi_say(s->log, SGFS_NOTE, "So it is with %lld other column%s.", (long long)more,
                  more == 1 ? "" : "s");
}

static sgfs_status looked_fill(sgfsi_transform *s, sgfs_err *err) {
    filling *f = s->self;
    bool sparse = s->head->type == SGFSI_CSR;
    sgfs_status status = f->mean == NULL ? make_filling(s, err) : SGFS_OK;
    f->done = true;
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        bool dropped = f->dropped[s->in.origin[j]];
        if (f->missing[j] == f->rows && f->rows > 0 && !dropped)
            status = sgfsi_fail(err, SGFS_EDATA,
                                "column \"%.60s\" is empty in each of the %.0f rows: leave it out "
                                "with --drop %.60s.",
                                s->in.name[j], f->rows, s->in.name[j]);
        f->flagged[j] = !sparse && !dropped && f->missing[j] > worth_a_column * f->rows;
        for (int64_t k = 0; k < j && f->flagged[j] > 0; k++) {
            bool same =
                f->flagged[k] > 0 && f->missing[k] == f->missing[j] && f->which[k] == f->which[j];
            if (same) f->flagged[j] = 0;
        }
    }
    if (status == SGFS_OK) say_filled(s);
    return status;
}

static sgfs_status shape_fill(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    (void)saved;
    const filling *f = s->self;
    int64_t cols = s->in.cols, to = 0;
    for (int64_t j = 0; j < s->in.cols; j++) cols += f->flagged[j] > 0;
    s->out = (sgfsi_feature_list){.cols = cols, .base = s->in.base};
    s->out.name = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.origin);
    bool made = s->out.name != NULL && s->out.origin != NULL;
    sgfsi_coded *coded = NULL;
    if (s->in.coded != NULL) {
        s->out.coded = coded = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *coded);
        made = made && coded != NULL;
    }
    for (int64_t j = 0; made && j < s->in.cols; j++) {
        s->out.name[to] = s->in.name[j];
        if (coded != NULL) coded[to] = s->in.coded[j];
        s->out.origin[to++] = s->in.origin[j];
        if (f->flagged[j] == 0) continue;
        size_t room = strlen(s->in.name[j]) + sizeof "=NA";
        char *name = sgfsi_arena_alloc(s->arena, (int64_t)room, 1);
        made = name != NULL;
        if (made) snprintf(name, room, "%s=NA", s->in.name[j]);
        s->out.name[to] = name;
        s->out.origin[to++] = s->in.origin[j];
    }
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

static sgfs_status apply_fill(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                              int64_t *bad, sgfs_err *err) {
    const filling *f = s->self;
    (void)bad, (void)err;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < s->in.cols; j++) {
            bool gap = isnan(*in);
            *out++ = gap ? f->mean[j] : *in;
            if (f->flagged[j] > 0) *out++ = gap;
            in++;
        }
    }
    return SGFS_OK;
}

static sgfs_status fill_cell(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err) {
    (void)err;
    if (isnan(*x)) *x = ((const filling *)s->self)->mean[*col];
    return SGFS_OK;
}

static double count_filled(const sgfsi_transform *s) {
    const filling *f = s->self;
    double count = 0;
    for (int64_t j = 0; j < s->in.cols; j++)
        if (s->head == NULL || !f->dropped[s->in.origin[j]]) count += f->missing[j];
    return count;
}

static double count_words(const sgfsi_transform *s) {
    const filling *f = s->self;
    double count = 0;
    for (int64_t j = 0; s->head != NULL && j < s->in.cols; j++)
        if (!f->dropped[s->in.origin[j]]) count += f->absent[j];
    return count;
}

static bool nothing_missing(const sgfsi_transform *s) {
    return count_filled(s) == 0;
}

static void need_fill(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const filling *f = s->self;
    for (int64_t j = 0; j < s->in.cols; j++) {
        in[j] |= *out++;
        if (f->flagged[j] > 0) in[j] |= *out++;
    }
}

static void tell_fill(const sgfsi_transform *s, sgfsi_json *out) {
    const filling *f = s->self;
    sgfsi_json_num(out, "cells", count_filled(s));
    sgfsi_json_num(out, "words", count_words(s));
    sgfsi_json_num(out, "rows", f->rows);
    sgfsi_json_nums(out, "mean", s->in.cols, f->mean);
    sgfsi_json_nums(out, "missing", s->in.cols, f->missing);
    sgfsi_json_nums(out, "indicator", s->in.cols, f->flagged);
}

static sgfs_status recall_fill(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    filling *f = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *f);
    if (f == NULL) return sgfsi_fail_memory(err, "the means of columns");
    sgfs_status status = make_filling(s, err);
    const char *const key[] = {"mean", "missing", "indicator"};
    double *const to[] = {f->mean, f->missing, f->flagged};
    f->done = true;
    for (int k = 0; status == SGFS_OK && k < 3; k++) {
        const sgfsi_json *list = sgfsi_json_get(saved, key[k]);
        bool good = sgfsi_json_length(list) == s->in.cols;
        for (int64_t j = 0; good && j < s->in.cols; j++)
            good = sgfsi_json_as_num(sgfsi_json_at(list, j), &to[k][j]) && isfinite(to[k][j]);
        if (!good) status = sgfsi_transform_damaged(s, err);
    }
    return status;
}

static void brief_fill(const sgfsi_transform *s, char *out, size_t room) {
    double count = count_filled(s), words = count_words(s);
    snprintf(out, room, "na mean: ");
    if (count > 0 || words == 0)
        sgfsi_append(out, room, "%.0f value%s filled in%s", count, count == 1 ? "" : "s",
                     words > 0 ? ", " : "");
    if (words > 0)
        sgfsi_append(out, room, "%.0f missing word%s NA", words, words == 1 ? " is" : "s are");
}

static bool wants_fill(const sgfs_config *cfg, const sgfsi_table *head) {
    (void)head;
    return sgfsi_na_of(cfg) == SGFSI_NA_MEAN;
}

const sgfsi_transform_kind sgfsi_transform_fill = {
    .op = "fill",
    .key = "data.na",
    .wanted = wants_fill,
    .early = true,
    .open = open_fill,
    .tell = tell_fill,
    .recall = recall_fill,
    .brief = brief_fill,
    .rewind = rewind_fill,
    .shape = shape_fill,
    .looks = true,
    .look = look_fill,
    .looked = looked_fill,
    .cell = fill_cell,
    .apply = apply_fill,
    .selects = nothing_missing,
    .need = need_fill,
};
