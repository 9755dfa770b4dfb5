/* SPDX-License-Identifier: MIT
 * checkgrad.c: is a model's gradient the derivative of its log density?
 *
 * At the model's start and at random points around it (as chains start), on all rows or on so many
 * drawn evenly, the log posterior's gradient G is compared with finite differences (difference.c)
 *   - along each parameter; of thousands, along some hundred drawn afresh at every point, of every
 *     block at least one;
 *   - along random directions +-s_j/sqrt(D), s_j the spread of parameter j, which move all of them:
 *     a direction that disagrees is halved until the parameter is found;
 *   - for the prior alone, along the same;
 *   - for single rows, along a random direction: scores that only add up to the right sum would
 *     still give the sampler the wrong noise.
 * Rows' log densities must be the same with scores, without, and one by one.
 *
 * What is relative to what: the gradient is a sum over rows, which may happen to be near 0, so the
 * difference is measured by the largest of |analytic|, |numeric| and sqrt(sum_i g_ij^2), the size
 * that a sum of such terms has by chance (from the rows of one batch). Where even that is below
 * what the density's rounding lets a difference show, the rounding is the measure.
 *
 * The model is used through the posterior and its own table only; a smaller set of rows is a copy
 * of the data's head with a list of rows, so that the model stays opened on what it was opened on.
 */
#include "jobs/checkgrad/checkgrad.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/prior.h"

static const sgfs_option options[] = {
    {"check.tolerance", "check-tolerance", SGFS_NUMBER, "1e-6", 1e-12, 1, NULL,
     "largest relative difference that counts as agreement; also --tolerance"},
    {"check.points", "points", SGFS_INTEGER, "3", 1, 10000, NULL,
     "places to compare at: the model's start, and random ones around it"},
    {"check.rows", "rows-checked", SGFS_INTEGER, "auto", 1, 1e12, NULL,
     "rows to compare on, drawn evenly (auto: 10,000, fewer where D is over 200)"},
    {"check.parameters", "parameters", SGFS_INTEGER, "200", 1, 1e9, NULL,
     "parameters to compare one by one at each point; directions cover all"},
    SGFSI_OPTIONS_END};

enum {
    MOST_ROWS = 10000,
    FEWEST_ROWS = 200,
    ROW_WORK = 2000000, /* rows x parameters of one pass, by default */
    SAMPLE = 256,       /* rows of the batch whose scores are looked at */
    DIRECTIONS = 3      /* at each point */
};

static const double little = 1e-4; /* spreads: how far beside a point lies another */

/* ---- judging --------------------------------------------------------------------------------- */

sgfsi_verdict sgfsi_judge(const sgfsi_slope *s, double size, double tolerance) {
    double gap = fabs(s->analytic - s->numeric);
    double scale = fmax(fmax(fabs(s->analytic), fabs(s->numeric)), size);
    scale = fmax(scale, s->rounding / tolerance);
    sgfsi_verdict out = {.slope = *s, .error = gap, .doubt = s->doubt};
    if (scale > 0) {
        out.error /= scale;
        out.doubt /= scale;
    }
    if (!isfinite(out.error) || !isfinite(out.doubt)) out.is = SGFSI_NOT_FINITE;
    else if (out.error <= tolerance) out.is = SGFSI_AGREES;
    else out.is = gap > 3 * s->doubt ? SGFSI_WRONG : SGFSI_UNSURE;
    return out;
}

sgfsi_checked sgfsi_not_finite(int64_t point, double analytic) {
    return (sgfsi_checked){.is = SGFSI_NOT_FINITE,
                           .point = point,
                           .analytic = analytic,
                           .numeric = NAN,
                           .error = NAN,
                           .doubt = NAN};
}

void sgfsi_note(sgfsi_compared *c, sgfsi_agreement is, double error, int64_t point, int64_t row) {
    bool worse = is > c->is || (is == c->is && !(error <= c->error));
    if (worse) *c = (sgfsi_compared){is, error, point, row};
}

/* ---- densities ------------------------------------------------------------------------------- */

/* The log posterior and the prior on the rows that take part. */
static sgfs_status posterior_at(void *work, const double *theta, double *density, sgfs_err *err) {
    sgfsi_check *c = work;
    density[0] = density[1] = 0;
    sgfs_status status = sgfsi_full_eval(&c->full, theta, &density[0], c->room, NULL, err);
    if (status == SGFS_ENUMERIC)
        density[0] = NAN; /* a gradient that is not finite, or a model
                                                    * that says so itself */
    else if (status != SGFS_OK) return status;
    return sgfsi_prior_add(&c->part, theta, &density[1], NULL, err);
}

/* ---- parameters and directions --------------------------------------------------------------- */

/* +-s_j/sqrt(D) for the parameters order[from .. end), 0 elsewhere. */
void sgfsi_check_choose(sgfsi_check *c, int64_t which, int64_t from, int64_t end) {
    int64_t D = c->part.D;
    sgfsi_stream s = sgfsi_stream_at(c->seed, (uint32_t)c->point, which, SGFSI_MOMENTUM);
    sgfsi_uniforms(&s, D, c->room);
    memset(c->v, 0, (size_t)D * sizeof *c->v);
    for (int64_t k = from; k < end; k++) {
        int64_t j = c->order[k];
        c->v[j] = (c->room[j] < 0.5 ? -1 : 1) * c->spread[j] / sqrt((double)D);
    }
}

/* The gradient a little beside theta, made once for each point and neighbour. */
static sgfs_status evaluate_beside(sgfsi_check *c, sgfsi_neighbour *n, int64_t which,
                                   sgfs_err *err) {
    double lp = 0;
    if (n->at == c->point) return SGFS_OK;
    sgfsi_stream s = sgfsi_stream_at(c->seed, (uint32_t)c->point, 1 + which, SGFSI_START);
    sgfsi_uniforms(&s, c->part.D, n->theta);
    for (int64_t j = 0; j < c->part.D; j++)
        n->theta[j] = c->theta[j] + little * (2 * n->theta[j] - 1) * c->spread[j];
    memset(n->prior, 0, (size_t)c->part.D * sizeof *n->prior);
    sgfs_status status = sgfsi_full_eval(&c->full, n->theta, &lp, n->G, NULL, err);
    if (status == SGFS_OK) status = sgfsi_prior_add(&c->part, n->theta, NULL, n->prior, err);
    if (status == SGFS_OK) n->at = c->point;
    return status;
}

static bool is_open(const sgfsi_verdict *v) {
    return v->is == SGFSI_UNSURE || v->is == SGFSI_WRONG;
}

/* One comparison along c->v at theta; a verdict that is not open any more stays. */
static sgfs_status compare_at(sgfsi_check *c, const sgfsi_slopes *at, const double *size,
                              bool first, sgfsi_verdict *out, sgfs_err *err) {
    sgfsi_slope along[SGFSI_DENSITIES];
    sgfs_status status = sgfsi_slopes_along(at, c->v, along, err);
    for (int k = 0; k < SGFSI_DENSITIES && status == SGFS_OK; k++) {
        sgfsi_verdict seen = sgfsi_judge(&along[k], size[k], c->tolerance);
        if (first || (is_open(&out[k]) && seen.is == SGFSI_AGREES)) out[k] = seen;
    }
    return status;
}

/* Compare along c->v. A disagreement that is not there a little beside theta is a kink on which
 * theta happens to lie (a relu unit that is 0 for some row, to 1e-7 or exactly: any slope between
 * those of both sides is right there), and what was seen beside it counts. A mistake is wrong at
 * every neighbour. size: of the terms, for both densities. */
static sgfs_status compare(sgfsi_check *c, const double *size, sgfsi_verdict *out, sgfs_err *err) {
    for (int k = 0; k < SGFSI_DENSITIES; k++) c->slopes.enough[k] = 0.1 * c->tolerance * size[k];
    if (sgfsi_job_stopping(&c->job))
        return sgfsi_fail(err, SGFS_ESTOPPED,
                          "Stopped early: no result. The same command starts over.");
    sgfsi_job_report(&c->job, c->done++ / c->planned, c->point - 1, c->points, "point %lld of %lld",
                     (long long)c->point, (long long)c->points);
    sgfs_status status = compare_at(c, &c->slopes, size, true, out, err);
    for (int64_t i = 0; i < SGFSI_NEIGHBOURS && status == SGFS_OK; i++) {
        sgfsi_neighbour *n = &c->beside[i];
        sgfsi_slopes at = c->slopes;
        if (!is_open(&out[0]) && !is_open(&out[1])) break;
        if (evaluate_beside(c, n, i, NULL) != SGFS_OK) continue; /* no numbers there */
        at.theta = n->theta;
        at.gradient[0] = n->G;
        at.gradient[1] = n->prior;
        status = compare_at(c, &at, size, false, out, err);
    }
    return status;
}

static sgfs_status check_parameter(sgfsi_check *c, int64_t j, sgfs_err *err) {
    sgfsi_verdict seen[SGFSI_DENSITIES];
    sgfsi_checked *p = &c->param[j];
    double unit = c->spread[j];
    double size[] = {fmax(c->size[j], fabs(c->G[j])) * unit, fabs(c->prior[j] * unit)};
    memset(c->v, 0, (size_t)c->part.D * sizeof *c->v);
    c->v[j] = unit;
    sgfs_status status = compare(c, size, seen, err);
    if (status != SGFS_OK) return status;
    const sgfsi_verdict *total = &seen[0], *prior = &seen[1];
    sgfsi_note(&c->found.prior, prior->is, prior->error, c->point, 0);
    if (prior->is > p->prior) p->prior = prior->is;
    if (total->is >= SGFSI_WRONG || p->prior >= SGFSI_WRONG) {
        bool blame_prior = p->prior >= SGFSI_WRONG;
        double a = prior->slope.analytic, n = prior->slope.numeric;
        if (!blame_prior) a = total->slope.analytic - a, n = total->slope.numeric - n;
        p->least_off = fmin(p->least_off, (a - n) / unit);
        p->most_off = fmax(p->most_off, (a - n) / unit);
        if (isfinite(a / n)) {
            p->least_ratio = fmin(p->least_ratio, a / n);
            p->most_ratio = fmax(p->most_ratio, a / n);
        }
    }
    if (total->is < p->is || (total->is == p->is && total->error <= p->error)) return SGFS_OK;
    p->is = total->is;
    p->point = c->point;
    p->analytic = total->slope.analytic / unit;
    p->numeric = total->slope.numeric / unit;
    p->error = total->error;
    p->doubt = total->doubt;
    return SGFS_OK;
}

/* How far G'v is off along the direction c->v. */
static sgfs_status check_direction(sgfsi_check *c, sgfsi_verdict *out, sgfs_err *err) {
    sgfsi_verdict seen[SGFSI_DENSITIES];
    double size[SGFSI_DENSITIES] = {0};
    for (int64_t j = 0; j < c->part.D; j++) {
        size[0] += pow(c->size[j] * c->v[j], 2);
        size[1] += pow(c->prior[j] * c->v[j], 2);
    }
    for (int k = 0; k < SGFSI_DENSITIES; k++) size[k] = sqrt(size[k]);
    sgfs_status status = compare(c, size, seen, err);
    if (status != SGFS_OK) return status;
    *out = seen[0];
    sgfsi_note(&c->found.prior, seen[1].is, seen[1].error, c->point, 0);
    return SGFS_OK;
}

/* A direction over all parameters disagrees: halve it, keep the half that is further off, until one
 * parameter is left, and compare that one. */
static sgfs_status find_by_halves(sgfsi_check *c, int64_t which, sgfs_err *err) {
    int64_t from = 0, end = c->part.D;
    while (end - from > 1) {
        int64_t middle = from + (end - from) / 2;
        sgfsi_verdict left, right;
        sgfsi_check_choose(c, which, from, middle);
        sgfs_status status = check_direction(c, &left, err);
        if (status != SGFS_OK) return status;
        sgfsi_check_choose(c, which, middle, end);
        status = check_direction(c, &right, err);
        if (status != SGFS_OK) return status;
        double off = fabs(left.slope.analytic - left.slope.numeric);
        bool here = off >= fabs(right.slope.analytic - right.slope.numeric) || isnan(off);
        if (here) end = middle;
        else from = middle;
    }
    return check_parameter(c, c->order[from], err);
}

/* Put the parameters to check at this point in front: one of every block, then any. */
static void shuffle(sgfsi_check *c) {
    int64_t D = c->part.D, front = 0;
    sgfsi_stream s = sgfsi_stream_at(c->seed, (uint32_t)c->point, 0, SGFSI_TREE);
    sgfsi_uniforms(&s, D, c->room);
    for (int64_t j = 0; j < D; j++) c->order[j] = j;
    if (c->most >= D) return;
    for (int64_t k = 0; k < c->part.blocks && k < c->most; k++) {
        const sgfs_block *b = &c->part.block[k]; /* still in its place: blocks come in order */
        int64_t at = b->offset + (int64_t)(c->room[b->offset] * (double)(b->rows * b->cols));
        int64_t other = c->order[front];
        c->order[front++] = c->order[at];
        c->order[at] = other;
    }
    for (int64_t k = front; k < c->most; k++) {
        int64_t at = k + (int64_t)(c->room[k] * (double)(D - k)), other = c->order[k];
        c->order[k] = c->order[at];
        c->order[at] = other;
    }
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Can density and gradient at theta not be had of these n rows of the part? */
static bool are_bad(sgfsi_check *c, const int64_t *row, int64_t n) {
    double lp = 0;
    sgfs_data *piece = sgfsi_data_view(c->part.data, row, n, SGFSI_SAME_SCALE, NULL);
    if (piece == NULL) return false;
    const sgfs_model m = sgfsi_model_on(&c->part, piece);
    bool bad = sgfsi_posterior_full(&m, c->theta, &lp, c->room, NULL, NULL) != SGFS_OK;
    sgfs_data_free(piece);
    return bad || !isfinite(lp);
}

/* Which row makes the density or the gradient at theta something else than a number? 0: none does
 * alone. Rows are halved. */
static int64_t bad_row(sgfsi_check *c) {
    int64_t from = 0, end = c->part.data->N, *row = malloc((size_t)end * sizeof *row);
    for (int64_t i = 0; row != NULL && i < end; i++) row[i] = i;
    while (row != NULL && end - from > 1) {
        int64_t middle = from + (end - from) / 2;
        if (are_bad(c, row + from, middle - from)) end = middle;
        else from = middle;
    }
    bool bad = row != NULL && are_bad(c, row + from, 1);
    free(row);
    return bad ? sgfsi_data_table_row(c->part.data, from) + 1 : 0;
}

/* Log density and gradient at theta; false: not numbers, which is noted. */
static sgfs_status evaluate(sgfsi_check *c, bool *usable, sgfs_err *err) {
    sgfs_err why = {SGFS_OK, ""};
    int64_t bad = 0;
    c->lp = 0;
    memset(c->prior, 0, (size_t)c->part.D * sizeof *c->prior);
    sgfs_status status = sgfsi_full_eval(&c->full, c->theta, &c->lp, c->G, NULL, &why);
    for (int64_t j = 0; j < c->part.D; j++) {
        if (isfinite(c->G[j])) continue;
        bad++;
        if (c->param[j].is == SGFSI_NOT_FINITE) continue;
        c->param[j] = sgfsi_not_finite(c->point, c->G[j]);
    }
    *usable = status == SGFS_OK && isfinite(c->lp);
    if (*usable) return sgfsi_prior_add(&c->part, c->theta, NULL, c->prior, err);
    if (status != SGFS_OK && bad == 0) { /* the model's own sentence */
        if (err != NULL) *err = why;
        return status;
    }
    sgfsi_note(&c->found.density, SGFSI_NOT_FINITE, NAN, c->point, bad_row(c));
    return SGFS_OK;
}

static sgfs_status check_point(sgfsi_check *c, sgfs_err *err) {
    bool usable = false;
    int64_t D = c->part.D;
    /* The first point is the model's start, the others lie around it. */
    sgfsi_stream s = sgfsi_stream_at(c->seed, (uint32_t)c->point, 0, SGFSI_START);
    sgfsi_uniforms(&s, D, c->room);
    for (int64_t j = 0; j < D; j++) {
        double away = c->point > 1 ? c->radius * (2 * c->room[j] - 1) : 0;
        c->theta[j] = c->start[j] + away * c->spread[j];
    }
    sgfs_status status = evaluate(c, &usable, err);
    if (status != SGFS_OK || !usable) return status;
    c->spot = evaluate_beside(c, &c->beside[0], 0, NULL) == SGFS_OK ? c->beside[0].theta : c->theta;
    status = sgfsi_check_sample(c, &usable, err);
    if (status != SGFS_OK || !usable) return status;
    /* One by one, then along directions over all: a mistake found is not looked for twice. */
    bool found = false;
    shuffle(c);
    for (int64_t k = 0; k < c->most && k < D; k++) {
        status = check_parameter(c, c->order[k], err);
        if (status != SGFS_OK) return status;
        found = found || c->param[c->order[k]].is >= SGFSI_WRONG;
    }
    for (int64_t d = 1; d <= DIRECTIONS && status == SGFS_OK; d++) {
        sgfsi_verdict seen;
        sgfsi_check_choose(c, d, 0, D);
        status = check_direction(c, &seen, err);
        if (status != SGFS_OK) return status;
        sgfsi_note(&c->found.direction, seen.is, seen.error, c->point, 0);
        if (seen.is < SGFSI_WRONG || found) continue;
        status = find_by_halves(c, d, err);
        found = true;
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status open_check(sgfsi_check *c, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_arena *arena = &c->job.arena;
    c->model = sgfsi_model_near(c->model, arena); /* single scores are looked at */
    if (c->model == NULL) return sgfsi_fail_memory(err, "the check");
    const sgfs_data *d = c->model->data;
    int64_t D = c->model->D;
    c->tolerance = sgfsi_config_num(cfg, "check.tolerance");
    c->radius = sgfsi_config_num(cfg, "run.init");
    c->seed = (uint64_t)sgfsi_config_int(cfg, "run.seed");
    c->most = sgfsi_config_int(cfg, "check.parameters");
    c->points = sgfsi_config_int(cfg, "check.points");
    sgfs_status status = sgfsi_check_model_options(cfg, c->model->kind, err);
    if (status != SGFS_OK) return status;
    /* n of N rows, evenly. */
    int64_t n = (int64_t)fmin(MOST_ROWS, fmax(FEWEST_ROWS, (double)ROW_WORK / (double)D));
    if (!sgfsi_config_auto(cfg, "check.rows")) n = sgfsi_config_int(cfg, "check.rows");
    if (n < d->N) {
        int64_t *row = sgfsi_arena_alloc(arena, n, sizeof *row);
        if (row == NULL) return sgfsi_fail_memory(err, "the check");
        for (int64_t i = 0; i < n; i++) row[i] = (int64_t)((double)i * (double)d->N / (double)n);
        c->some = sgfsi_data_view(d, row, n, SGFSI_SAME_SCALE, err);
        if (c->some == NULL) return sgfsi_why(err);
    }
    c->part = sgfsi_model_on(c->model, c->some != NULL ? c->some : d);
    /* Room. */
    c->sample = c->part.data->N < SAMPLE ? c->part.data->N : SAMPLE;
    c->order = sgfsi_arena_alloc(arena, D, sizeof *c->order);
    c->param = sgfsi_arena_alloc(arena, D, sizeof *c->param);
    bool made = SGFSI_ROOM(arena, D, &c->theta, &c->start, &c->spread, &c->G, &c->prior, &c->v,
                           &c->size, &c->room, &c->slopes.up, &c->slopes.down) &&
                SGFSI_ROOM(arena, c->sample, &c->loglik);
    for (sgfsi_neighbour *b = c->beside; b < c->beside + SGFSI_NEIGHBOURS; b++)
        made = made && SGFSI_ROOM(arena, D, &b->theta, &b->G, &b->prior);
    if (!made || c->order == NULL || c->param == NULL) return sgfsi_fail_memory(err, "the check");
    for (int64_t j = 0; j < D; j++) {
        c->param[j].least_ratio = c->param[j].least_off = INFINITY;
        c->param[j].most_ratio = c->param[j].most_off = -INFINITY;
    }
    c->slopes.densities = posterior_at;
    c->slopes.work = c;
    c->slopes.D = D;
    c->slopes.theta = c->theta;
    c->slopes.gradient[0] = c->G;
    c->slopes.gradient[1] = c->prior;
    c->model->kind->start(c->model, c->start, c->spread);
    c->planned = (double)((DIRECTIONS + (c->most < D ? c->most : D)) * c->points);
    status = sgfsi_full_open(&c->full, &c->part, c->job.threads, false, arena, err);
    if (status == SGFS_OK)
        status = sgfsi_eval_open(&c->eval, c->model, &sgfs_scheme_with, c->sample, arena, err);
    if (status == SGFS_OK) sgfsi_eval_stream(&c->eval, c->seed, 0);
    return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int worst_first(const void *a, const void *b) {
    const sgfs_check_grad_row *x = a, *y = b;
    double ex = isnan(x->error) ? INFINITY : x->error, ey = isnan(y->error) ? INFINITY : y->error;
    if (x->agrees != y->agrees) return x->agrees ? 1 : -1;
    if (ex != ey) return ex > ey ? -1 : 1;
    return strcmp(x->name, y->name);
}

static sgfs_status fill_shown(sgfsi_check *c, sgfs_err *err) {
    const sgfsi_check_findings *f = &c->found;
    sgfs_check_grad *out = &c->shown;
    char title[192], verdict[SGFSI_VERDICT_CHARS];
    snprintf(title, sizeof title, "%s, %lld of %lld rows, %lld parameters", c->part.kind->name,
             (long long)c->part.data->N, (long long)c->model->data->N, (long long)c->part.D);
    out->row = sgfsi_arena_alloc(&c->job.arena, c->part.D, sizeof *out->row);
    if (out->row == NULL) return sgfsi_fail_memory(err, "the check");
    for (int64_t j = 0; j < c->part.D; j++) {
        const sgfsi_checked *p = &c->param[j];
        if (p->is == SGFSI_UNCHECKED) continue;
        char *name = sgfsi_arena_text(&c->job.arena, c->part.param[j]);
        int64_t k = 0;
        while (k + 1 < c->part.blocks && c->part.block[k + 1].offset <= j) k++;
        char *block = sgfsi_arena_text(&c->job.arena, c->part.block[k].name);
        if (name == NULL || block == NULL) return sgfsi_fail_memory(err, "the check");
        out->row[out->checked++] = (sgfs_check_grad_row){.name = name,
                                                         .block = block,
                                                         .point = p->point,
                                                         .analytic = p->analytic,
                                                         .numeric = p->numeric,
                                                         .error = p->error,
                                                         .doubt = p->doubt,
                                                         .agrees = p->is == SGFSI_AGREES};
    }
    qsort(out->row, (size_t)out->checked, sizeof *out->row, worst_first);
    out->error = out->checked > 0 ? out->row[0].error : NAN;
    out->dim = c->part.D;
    out->rows = c->part.data->N;
    out->rows_in_data = c->model->data->N;
    out->points = c->point;
    out->directions = DIRECTIONS * c->point;
    out->tolerance = c->tolerance;
    out->direction_error = f->direction.error;
    out->prior_error = f->prior.error;
    out->score_error = f->score.error;
    out->loglik_error = f->loglik.error;
    out->passed = out->checked > 0 && out->row[0].agrees && f->density.is == SGFSI_UNCHECKED;
    const sgfsi_compared *all[] = {&f->direction, &f->prior, &f->score, &f->loglik};
    for (int k = 0; k < 4; k++) out->passed = out->passed && all[k]->is == SGFSI_AGREES;
    sgfsi_diagnose(c, verdict);
    out->title = sgfsi_arena_text(&c->job.arena, title);
    out->verdict = sgfsi_arena_text(&c->job.arena, verdict);
    return out->title != NULL && out->verdict != NULL ? SGFS_OK
                                                      : sgfsi_fail_memory(err, "the check");
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    sgfsi_check *c = (sgfsi_check *)job;
    sgfsi_scope scope = sgfsi_context_enter(&c->model->ctx);
    sgfs_status status = open_check(c, job->cfg, err);
    while (status == SGFS_OK && c->point < c->points) {
        c->point++;
        status = check_point(c, err);
    }
    sgfsi_context_leave(scope);
    if (status == SGFS_OK) status = fill_shown(c, err);
    if (status != SGFS_OK) return status;
    c->shown.seconds = sgfsi_job_seconds(job);
    job->result = &c->shown;
    return SGFS_OK;
}

sgfs_job *sgfs_check_grad_open(const sgfs_model *model, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_check *c = sgfsi_job_new(&sgfsi_job_check_grad, sizeof *c, model != NULL ? cfg : NULL,
                                   "sgfs_check_grad_open: a model and a config are needed.", err);
    if (c == NULL) return NULL;
    c->model = sgfsi_model_near(model, &c->job.arena); /* scores are looked at one by one */
    if (c->model != NULL) return &c->job;
    sgfs_job_free(&c->job);
    return sgfsi_fail_memory(err, "the check"), NULL;
}

static void close_check(sgfs_job *job) {
    sgfs_data_free(((sgfsi_check *)job)->some);
}

const sgfsi_job_kind sgfsi_job_check_grad = {.stage = "check",
                                             .options = options,
                                             .doing = "comparing",
                                             .run = run,
                                             .json = sgfsi_check_json,
                                             .close = close_check};
