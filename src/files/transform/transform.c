/* SPDX-License-Identifier: MIT
 * transform.c: the operations of a recipe, in order, on blocks of rows (transform.h).
 *
 *     row i of the file -> row steps: does it stay? -> its features -> column steps -> out
 *
 * Row steps look at the row as it is in the file, so they are asked first, all of them; column
 * steps then work on rows that stay. A step that has to look (to learn means, or words) does so in
 * a pass of its own, with the rows that the row steps before it leave over, restricted to the
 * training part; only then are the columns behind it known.
 *
 * A --standardize with no column operation behind it counts as the last operation, whatever row
 * operations were given after it: it is left to the design, which can undo it in the draws. Where
 * another part than the training part is read the recipe still measures for it.
 */
#include "files/transform/transform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "files/columns.h"
#include "files/transform/transform_kind.h"

const sgfsi_transform_kind *const sgfsi_transform_kinds[] = {
    &sgfsi_transform_columns,     &sgfsi_transform_amount,      &sgfsi_transform_date,
    &sgfsi_transform_categorical, &sgfsi_transform_complete,    &sgfsi_transform_fill,
    &sgfsi_transform_formula,     &sgfsi_transform_drop,        &sgfsi_transform_log1p,
    &sgfsi_transform_project,     &sgfsi_transform_standardize, &sgfsi_transform_keep_classes,
    &sgfsi_transform_limit,       &sgfsi_transform_split,       NULL};
enum { MOST_KINDS = sizeof sgfsi_transform_kinds / sizeof *sgfsi_transform_kinds };

/* ---- which steps, in which order ------------------------------------------------------------- */

static bool is_wanted(const sgfsi_transform_kind *kind, const sgfs_config *cfg,
                      const sgfsi_table *head) {
    if (kind->key == NULL) return false;
    return kind->wanted != NULL ? kind->wanted(cfg, head) : !sgfsi_config_auto(cfg, kind->key);
}

/* What only readers look at comes first: amounts, dates, then words. No other operation on columns
 * knows what to do with them; nor with missing values, which come next, nor with the columns of a
 * formula before it made them. */
static int64_t order_of(const sgfsi_transform *s, const sgfs_config *cfg) {
    int64_t order = sgfsi_config_order(cfg, s->kind->key);
    if (s->kind->reads > 0) return s->kind->reads - MOST_KINDS;
    for (const sgfsi_transform_kind *const *k = sgfsi_transform_kinds; s->kind->early && *k != NULL;
         k++) {
        bool column = (*k)->keep == NULL && (*k)->reads == 0;
        if (!column || !is_wanted(*k, cfg, s->head)) continue;
        int64_t other = sgfsi_config_order(cfg, (*k)->key);
        order = other < order ? other : order;
    }
    return order;
}

/* A --standardize is moved to the end, wherever it was given, so that the units of a coefficient do
 * not depend on the order of flags; only a --project behind it works on standardised columns.
 * Unless it is kept there, it is left to the design; where that does not see the training part it
 * stays, to measure. */
static void leave_standardize(sgfsi_recipe *r, bool keep_last) {
    int64_t at = r->steps - 1;
    bool training = true;
    while (at >= 0 && r->step[at].kind != &sgfsi_transform_standardize &&
           r->step[at].kind != &sgfsi_transform_project)
        at--;
    if (at < 0 || r->step[at].kind != &sgfsi_transform_standardize) return;
    sgfsi_transform s = r->step[at];
    for (; at < r->steps - 1; at++) r->step[at] = r->step[at + 1];
    r->step[at] = s;
    if (keep_last)
        sgfsi_say(r->log, SGFS_NOTE,
                  "The columns are written in units of their standard deviations (--standardize), "
                  "and coefficients of runs with this file will be in these units.");
    if (keep_last) return;
    r->leaves = true;
    for (int64_t i = 0; i < r->steps; i++) {
        if (r->step[i].kind == &sgfsi_transform_split && !sgfsi_split_trains(&r->step[i]))
            training = false;
    }
    if (training) {
        r->steps--;
        return;
    }
    sgfsi_standard_only(&r->step[at]);
    r->learnt = &r->step[at];
}

static sgfs_status open_steps(sgfsi_recipe *r, const sgfs_config *cfg, bool keep_last,
                              sgfs_err *err) {
    r->step = sgfsi_arena_alloc(&r->arena, MOST_KINDS, sizeof *r->step);
    if (r->step == NULL) return sgfsi_fail_memory(err, "the transforms");
    for (const sgfsi_transform_kind *const *k = sgfsi_transform_kinds; *k != NULL; k++) {
        if (!is_wanted(*k, cfg, r->head)) continue;
        sgfsi_transform s = {.kind = *k, .head = r->head, .arena = &r->arena, .log = r->log};
        s.text = sgfsi_arena_text(&r->arena, sgfsi_config_text(cfg, (*k)->key));
        if (s.text == NULL) return sgfsi_fail_memory(err, "the transforms");
        int64_t at = r->steps++;
        for (; at > 0 && order_of(&r->step[at - 1], cfg) > order_of(&s, cfg); at--)
            r->step[at] = r->step[at - 1];
        r->step[at] = s;
    }
    const char *part = sgfsi_config_text(cfg, "data.part");
    bool some = strcmp(part, "validation") == 0 || strcmp(part, "test") == 0;
    for (int64_t i = 0; i < r->steps; i++) {
        bool classes = r->step[i].kind == &sgfsi_transform_keep_classes;
        if (r->step[i].kind == &sgfsi_transform_split) some = false;
        if (classes && r->head->role != NULL && r->target < 0 && r->head->y == NULL) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--keep-classes chooses rows by their target, and there is none.");
        }
    }
    if (some)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--part %s needs --split, which says what the parts are.", part);
    for (int64_t i = 0; i < r->steps; i++) {
        sgfsi_transform *s = &r->step[i];
        sgfs_status status = s->kind->open != NULL ? s->kind->open(s, cfg, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
    }
    leave_standardize(r, keep_last);
    for (int64_t i = 0; i < r->steps; i++) {
        sgfsi_transform *s = &r->step[i];
        s->place = i;
        s->ready = !s->kind->looks;
        if (sgfsi_transform_rows(s)) r->steps_rows = true;
        else r->steps_columns = true;
    }
    return SGFS_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Features of the head go in; target, weights and exposure pass by. */
static sgfs_status read_head(sgfsi_recipe *r, const sgfs_config *cfg, sgfs_err *err) {
    const sgfsi_table *h = r->head;
    sgfsi_feature_list *in = &r->inputs;
    in->name = sgfsi_arena_alloc(&r->arena, h->cols + 1, sizeof *in->name);
    in->origin = r->input_col = sgfsi_arena_alloc(&r->arena, h->cols + 1, sizeof *in->origin);
    r->pass = sgfsi_arena_alloc(&r->arena, h->cols + 1, sizeof *r->pass);
    const char **name = sgfsi_arena_alloc(&r->arena, h->cols + 1, sizeof *name);
    if (in->name == NULL || in->origin == NULL || r->pass == NULL || name == NULL)
        return sgfsi_fail_memory(err, "the columns");
    /* Names of the head, copied: a table that is replaced takes its own away. */
    for (int64_t j = 0; j < h->cols; j++) {
        name[j] = sgfsi_arena_text(&r->arena, h->names[j]);
        if (name[j] == NULL) return sgfsi_fail_memory(err, "the columns");
    }
    r->base =
        (sgfsi_base){.cols = h->cols,
                     .name = name,
                     .role = h->role,
                     .named = h->named,
                     .partial = h->fewer || sgfsi_config_text(cfg, "data.features")[0] != '\0'};
    in->base = &r->base;
    r->target = r->weights = -1;
    for (int64_t j = 0; j < h->cols; j++) {
        if (h->role == NULL || h->role[j] == SGFSI_ROLE_FEATURE) {
            in->name[in->cols] = r->base.name[j];
            in->origin[in->cols++] = j;
        } else if (h->role[j] != SGFSI_ROLE_NONE) {
            r->pass[r->passed++] = j;
        }
        if (h->role != NULL && h->role[j] == SGFSI_ROLE_TARGET) r->target = j;
        if (h->role != NULL && h->role[j] == SGFSI_ROLE_WEIGHTS) r->weights = j;
    }
    r->named = h->named;
    return SGFS_OK;
}

bool sgfsi_features_by_place(const sgfsi_feature_list *s) {
    for (int64_t j = 0; j < s->cols; j++) {
        char name[24];
        snprintf(name, sizeof name, "x%lld", (long long)j + 1);
        if (strcmp(s->name[j], name) != 0) return false;
    }
    return true;
}

sgfs_status sgfsi_transform_shape(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    s->out = s->in;
    return s->kind->shape != NULL ? s->kind->shape(s, saved, err) : SGFS_OK;
}

sgfs_status sgfsi_transform_damaged(const sgfsi_transform *s, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE, "The run's transform \"%s\" is damaged.", s->kind->op);
}

/* Shapes from `shaped` on, as far as no step is in the way that has yet to look; then what comes
 * out: features, and behind them what passed by. */
static sgfs_status shape_steps(sgfsi_recipe *r, sgfs_err *err) {
    for (; r->shaped < r->steps; r->shaped++) {
        sgfsi_transform *s = &r->step[r->shaped];
        s->in = r->shaped > 0 ? r->step[r->shaped - 1].out : r->inputs;
        if (!s->ready) return SGFS_OK;
        sgfs_status status = sgfsi_transform_shape(s, NULL, err);
        if (status != SGFS_OK) return status;
    }
    const sgfsi_feature_list *last = sgfsi_recipe_last(r);
    sgfsi_table *out = r->out = sgfsi_arena_alloc(&r->arena, 1, sizeof *out);
    if (out == NULL) return sgfsi_fail_memory(err, "the columns");
    out->cols = last->cols + r->passed;
    out->names = sgfsi_arena_alloc(&r->arena, out->cols + 1, sizeof *out->names);
    out->role = sgfsi_arena_alloc(&r->arena, out->cols + 1, 1);
    if (out->names == NULL || out->role == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < out->cols; j++) {
        int64_t k = j - last->cols;
        out->names[j] = (char *)(uintptr_t)(k < 0 ? last->name[j] : r->base.name[r->pass[k]]);
        out->role[j] = k < 0 ? SGFSI_ROLE_FEATURE : r->head->role[r->pass[k]];
    }
    out->named = r->head->named || !sgfsi_features_by_place(last);
    return SGFS_OK;
}

/* New rows are found by name: two columns of one name could not be saved apart then. */
static sgfs_status refuse_twins(const sgfsi_recipe *r, sgfs_err *err) {
    sgfsi_word_list names = {0};
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < r->inputs.cols && r->steps > 0 && r->head->named; i++) {
        const char *name = r->inputs.name[i];
        int64_t k = sgfsi_words_add(&names, name, strlen(name));
        if (k == i) continue;
        status = k < 0 ? sgfsi_fail_memory(err, "the transforms")
                       : sgfsi_fail(err, SGFS_EDATA,
                                    "two columns are called \"%.60s\": rename one of them, since "
                                    "transforms go by names.",
                                    name);
        break;
    }
    sgfsi_words_free(&names);
    return status;
}

sgfs_status sgfsi_recipe_new(sgfsi_recipe **out, const sgfs_config *cfg, const sgfsi_table *head,
                             bool keep_last, sgfs_err *err) {
    sgfsi_recipe *r = *out = calloc(1, sizeof *r);
    if (r == NULL) return sgfsi_fail_memory(err, "the transforms");
    r->head = head;
    r->log = sgfsi_config_log(cfg);
    r->gaps = sgfsi_na_of(cfg) != SGFSI_NA_ERROR;
    sgfs_status status = read_head(r, cfg, err);
    if (status == SGFS_OK) status = open_steps(r, cfg, keep_last, err);
    if (status == SGFS_OK) status = refuse_twins(r, err);
    if (status == SGFS_OK) status = shape_steps(r, err);
    if (status == SGFS_OK) return status;
    sgfsi_recipe_free(r);
    *out = NULL;
    return status;
}

void sgfsi_recipe_free(sgfsi_recipe *r) {
    if (r == NULL) return;
    sgfsi_arena_free(&r->arena);
    free(r);
}

bool sgfsi_recipe_is_empty(const sgfsi_recipe *r) {
    return r->steps == 0;
}

bool sgfsi_recipe_leaves(const sgfsi_recipe *r, const double **shift, const double **scale) {
    *shift = *scale = NULL;
    if (r->learnt != NULL) sgfsi_transform_standard(r->learnt, shift, scale);
    return r->leaves;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool sgfsi_beside_lacks(const sgfsi_beside *b, int64_t i) {
    return (b->y != NULL && isnan(b->y[i])) || (b->weights != NULL && isnan(b->weights[i])) ||
           (b->exposure != NULL && isnan(b->exposure[i]));
}

void sgfsi_recipe_rewind(sgfsi_recipe *r) {
    r->at = r->chosen = 0;
    for (int64_t i = 0; i < r->steps; i++) {
        if (r->step[i].kind->rewind != NULL) r->step[i].kind->rewind(&r->step[i]);
    }
}

bool sgfsi_recipe_keep(sgfsi_recipe *r, const sgfsi_row *row, int64_t place) {
    for (int64_t i = 0; i < r->steps; i++) {
        sgfsi_transform *s = &r->step[i];
        if (!sgfsi_transform_rows(s)) continue;
        bool asked = s->place < place || (row->learning && s->kind == &sgfsi_transform_split);
        if (asked && !s->kind->keep(s, row)) return false;
    }
    return true;
}

bool sgfsi_recipe_full(const sgfsi_recipe *r, int64_t place) {
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (s->place < place && s->kind->full != NULL && s->kind->full(s)) return true;
    }
    return false;
}

sgfs_status sgfsi_recipe_finish(const sgfsi_recipe *r, sgfs_err *err) {
    bool stopped = sgfsi_recipe_full(r, INT64_MAX);
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < r->steps && status == SGFS_OK; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (s->kind->finish != NULL) status = s->kind->finish(s, stopped, err);
    }
    return status;
}

/* ---- columns of a block ---------------------------------------------------------------------- */

/* One step, whichever way it works. */
static sgfs_status apply_step(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                              int64_t *bad, sgfs_err *err) {
    if (s->kind->apply != NULL) return s->kind->apply(s, n, in, out, bad, err);
    for (int64_t i = 0; i < n; i++, out += s->out.cols) {
        for (int64_t j = 0; j < s->in.cols; j++) {
            int64_t col = j;
            double x = *in++;
            sgfs_status status = s->kind->cell(s, &col, &x, err);
            if (status != SGFS_OK) return *bad = i, status;
            if (col >= 0) out[col] = x;
        }
    }
    return SGFS_OK;
}

sgfs_status sgfsi_recipe_apply(const sgfsi_recipe *r, int64_t last, int64_t n, const double *in,
                               double *out, int64_t *bad, sgfs_err *err) {
    int64_t widest = r->inputs.cols, left = 0; /* column steps, and the widest rows between them */
    for (int64_t i = 0; i < last; i++) {
        if (sgfsi_transform_rows(&r->step[i])) continue;
        left++;
        if (r->step[i].out.cols > widest) widest = r->step[i].out.cols;
    }
    *bad = -1;
    if (left == 0) {
        memcpy(out, in, (size_t)(n * r->inputs.cols) * sizeof *out);
        return SGFS_OK;
    }
    size_t room = (size_t)(n * widest + 1) * sizeof *out;
    double *a = left > 1 ? malloc(room) : NULL, *b = left > 2 ? malloc(room) : NULL;
    sgfs_status status = SGFS_OK;
    if ((left > 1 && a == NULL) || (left > 2 && b == NULL))
        status = sgfsi_fail_memory(err, "a block of rows");
    double *spare = b, *to = a; /* in turn */
    for (int64_t i = 0; i < last && status == SGFS_OK; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        if (--left == 0) to = out;
        status = apply_step(s, n, in, to, bad, err);
        in = to;
        double *used = to;
        to = spare;
        spare = used;
    }
    free(a);
    free(b);
    return status;
}

sgfs_status sgfsi_fail_row(sgfs_err *err, int64_t row) {
    sgfs_err was;
    if (err == NULL) return SGFS_EDATA;
    was = *err;
    return sgfsi_fail(err, was.code, "row %lld: %s", (long long)row + 1, was.text);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The rows of a block that stay. */
typedef struct block {
    int64_t n;
    int64_t *at;    /* n: which of the caller's they are */
    double *weight; /* n */
    double *x;      /* n x columns that come out of the steps before `place` */
} block;

static void free_block(block *b) {
    free(b->at);
    free(b->x);
    free(b->weight);
}

/* The features of rows that stay by the steps before `place`, changed by those steps. Whatever
 * happens, the block is to be freed. */
static sgfs_status take_block(sgfsi_recipe *r, int64_t n, const double *cells, int64_t place,
                              bool learning, block *b, sgfs_err *err) {
    const sgfsi_beside *beside = &r->beside;
    const sgfsi_feature_list *out = place < r->steps ? &r->step[place].in : sgfsi_recipe_last(r);
    int64_t inputs = r->inputs.cols, bad = -1;
    double *in = malloc((size_t)(n * inputs + 1) * sizeof *in);
    b->at = malloc((size_t)(n + 1) * sizeof *b->at);
    b->weight = malloc((size_t)(n + 1) * sizeof *b->weight);
    b->x = malloc((size_t)(n * out->cols + 1) * sizeof *b->x);
    bool made = in != NULL && b->at != NULL && b->weight != NULL && b->x != NULL;
    sgfs_status status = made ? SGFS_OK : sgfsi_fail_memory(err, "a block of rows");
    for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
        const double *cell = cells + i * r->head->cols;
        double y = beside->y != NULL ? beside->y[r->at + i] : NAN, *x = in + b->n * inputs;
        sgfsi_row row = {.number = r->at + i,
                         .y = r->target >= 0 ? cell[r->target] : y,
                         .learning = learning,
                         .lacks = r->gaps && sgfsi_beside_lacks(beside, r->at + i),
                         .x = cell};
        if (!sgfsi_recipe_keep(r, &row, place)) continue;
        for (int64_t j = 0; j < inputs; j++) {
            x[j] = cell[r->input_col[j]];
            if (!r->unchecked || isfinite(x[j]) || (r->gaps && isnan(x[j]))) continue;
            status = sgfsi_fail_finite(err, "row %lld, column \"%s\"", (long long)(r->at + i) + 1,
                                       r->inputs.name[j]);
            break;
        }
        double weight = beside->weights != NULL ? beside->weights[r->at + i] : 1;
        b->weight[b->n] = r->weights >= 0 ? cell[r->weights] : weight;
        b->at[b->n++] = i;
    }
    r->chosen += b->n;
    if (status == SGFS_OK) status = sgfsi_recipe_apply(r, place, b->n, in, b->x, &bad, err);
    if (status != SGFS_OK && bad >= 0) status = sgfsi_fail_row(err, r->at + b->at[bad]);
    r->at += n;
    free(in);
    return status;
}

sgfsi_transform *sgfsi_recipe_looker(const sgfsi_recipe *r, int64_t k) {
    for (int64_t i = 0; i < r->steps; i++) {
        if (r->step[i].kind->looks && k-- == 0) return &r->step[i];
    }
    return NULL;
}

int64_t sgfsi_recipe_looks(const sgfsi_recipe *r) {
    int64_t looks = 0;
    while (sgfsi_recipe_looker(r, looks) != NULL) looks++;
    return looks;
}

sgfs_status sgfsi_recipe_look(sgfsi_recipe *r, int64_t k, int64_t n, const double *cells,
                              sgfs_err *err) {
    sgfsi_transform *s = sgfsi_recipe_looker(r, k);
    block b = {0};
    if (s->kind->look == NULL) return r->at += n, SGFS_OK;
    sgfs_status status = take_block(r, n, cells, s->place, true, &b, err);
    bool weighed = r->weights >= 0 || r->beside.weights != NULL;
    const sgfsi_seen seen = {.n = b.n, .x = b.x, .weight = weighed ? b.weight : NULL};
    if (status == SGFS_OK) status = s->kind->look(s, &seen, err);
    free_block(&b);
    return status;
}

sgfs_status sgfsi_recipe_looked(sgfsi_recipe *r, int64_t k, sgfs_err *err) {
    sgfsi_transform *s = sgfsi_recipe_looker(r, k);
    sgfs_status status = s->kind->looked != NULL ? s->kind->looked(s, err) : SGFS_OK;
    s->ready = true;
    return status == SGFS_OK ? shape_steps(r, err) : status;
}

/* The target's texts may have grown since. */
const sgfsi_table *sgfsi_recipe_head(const sgfsi_recipe *r) {
    const sgfsi_table *h = r->head;
    sgfsi_table *out = r->out;
    out->text_col = -1;
    for (int64_t k = 0; k < r->passed; k++) {
        if (r->pass[k] == h->text_col) out->text_col = out->cols - r->passed + k;
    }
    out->text_line = h->text_line;
    out->text_level = h->text_level;
    out->levels = h->levels;
    out->level = h->level;
    return out;
}

sgfs_status sgfsi_recipe_run(sgfsi_recipe *r, int64_t n, const double *cells, double *out,
                             int64_t *kept, bool *done, sgfs_err *err) {
    int64_t features = sgfsi_recipe_last(r)->cols;
    block b = {0};
    sgfs_status status = take_block(r, n, cells, r->steps, false, &b, err);
    for (int64_t i = 0; status == SGFS_OK && i < b.n; i++) {
        const double *cell = cells + b.at[i] * r->head->cols;
        memcpy(out, b.x + i * features, (size_t)features * sizeof *out);
        out += features;
        for (int64_t k = 0; k < r->passed; k++) *out++ = cell[r->pass[k]];
    }
    *kept = b.n;
    *done = sgfsi_recipe_full(r, INT64_MAX);
    free_block(&b);
    return status;
}
