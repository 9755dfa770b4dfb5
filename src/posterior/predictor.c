/* SPDX-License-Identifier: MIT
 * predictor.c: the posterior predictive of a few rows, draw by draw.
 *
 *     p(y_i | x_i) = 1/S sum_s p(y_i | x_i, theta_s)         by a running log-sum-exp: the largest
 *                                                            log density so far (top) and the sum
 *                                                            of exp(log density - top)
 *     E[y_i | x_i] = 1/S sum_s E[y_i | x_i, theta_s]         likewise every label's probability
 *
 * and, where draws are kept, the numbers behind the quantiles: each label's probability at every
 * draw, or one target drawn from the model at every draw, which together are a sample of the
 * predictive distribution of y.
 *
 * The random numbers of a predictive draw are a function of the seed, the draw's place in the run
 * and the row's number (position in the stream: one pair for two rows, which is why blocks begin at
 * even rows). So neither the size of blocks nor the number of threads changes a bit of them.
 *
 * Where a row counts by its predictor alone (by_predictor), the predictors of a block at several
 * draws are one product of matrices. The probabilities of two labels then follow from it, so that
 * it is kept in their place, and quantiles are looked for once.
 *
 * kept is row by row with the draws side by side, ready for selection. A draw then writes one
 * number to each of n x width places `stride` apart; consecutive draws share their cache lines, and
 * an odd number of lines between them keeps them in different sets of the cache.
 */
#include "posterior/predictor.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "model/many.h"
#include "model/scales.h"
#include "posterior/far_predictor.h"

enum {
    PART = 512, /* rows handed to the model at a time: bounds its workspace */
    WIDE = 32,  /* columns from which on it is worth to look for zeros */
    ONE_IN = 4  /* numbers that are not 0, at most, for rows to be sparse */
};

/* ---- opening --------------------------------------------------------------------------------- */

sgfs_status sgfsi_predictor_check(const sgfs_model *m, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    bool same = true;
    if (m->kind->to_user == NULL) return SGFS_OK;
    double *theta = SGFSI_DOUBLES(&arena, m->D), *user = SGFSI_DOUBLES(&arena, m->D);
    bool made = theta != NULL && user != NULL;
    for (int64_t j = 0; made && j < m->D; j++) theta[j] = 0.385 + 0.01 * (double)(j % 100);
    const sgfs_model fixed = sgfsi_model_fixed(m);
    if (made) m->kind->to_user(&fixed, theta, user);
    for (int64_t j = 0; made && j < fixed.D; j++) same = same && fabs(user[j] - theta[j]) < 1e-12;
    sgfsi_arena_free(&arena);
    if (!made) return sgfsi_fail_memory(err, "the parameters");
    return same ? SGFS_OK
                : sgfsi_fail(err, SGFS_EUSAGE,
                             "Model %s reports parameters on another scale than it computes with: "
                             "its draws cannot be scored.",
                             m->kind->name);
}

static int64_t stride_of(int64_t keep) {
    int64_t lines = (keep + 7) / 8;
    return 8 * (lines | 1);
}

sgfs_status sgfsi_predictor_open(sgfsi_predictor *p, const sgfs_model *m, int64_t most,
                                 int64_t keep, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model_kind *kind = m->kind;
    bool classes = m->labels.count > 0;
    sgfsi_far_predictor *far;
    sgfs_status status = sgfsi_far_predictor_open(&far, m, most, keep, arena, err);
    if (status != SGFS_OK) return status;
    m = sgfsi_model_near(m, arena);
    sgfs_model *fixed = sgfsi_arena_alloc(arena, 1, sizeof *fixed);
    if (m == NULL || fixed == NULL) return sgfsi_fail_memory(err, "predictions");
    *p = (sgfsi_predictor){.m = fixed, .scales = m->scales, .far = far};
    *fixed = sgfsi_model_fixed(m);
    m = fixed;
    p->most = most;
    p->keep = keep;
    p->stride = stride_of(keep);
    for (int k = 0; k < SGFSI_QUANTILES; k++) p->at[k] = (double[]){0.05, 0.5, 0.95}[k];
    p->width = kind->predict != NULL ? m->outputs : kind->resample != NULL && !classes ? 1 : 0;
    p->drawn = !classes && kind->resample != NULL;
    p->rises = kind->by_predictor && m->labels.count == 2 && keep > 0;
    int64_t part = most < PART ? most : PART, numbers = p->rises ? 1 : p->width;
    if (part < 2 * SGFSI_QUANTILES) part = 2 * SGFSI_QUANTILES;
    bool made = SGFSI_ROOM(arena, most, &p->loglik, &p->gap, &p->top, &p->sum, &p->normal,
                           &p->uniform, &p->drawing) &&
                SGFSI_ROOM(arena, most * p->width, &p->out, &p->total) &&
                SGFSI_ROOM(arena, far == NULL ? most * numbers * p->stride : 0, &p->kept) &&
                SGFSI_ROOM(arena, part * m->scratch_per_row, &p->scratch);
    if (kind->by_predictor && far == NULL && (keep > 0 || p->scales != NULL))
        made = made && SGFSI_ROOM(arena, most * SGFSI_MANY, &p->eta) &&
               SGFSI_ROOM(arena, m->data->p * SGFSI_MANY, &p->coefficients);
    if (!made) return sgfsi_fail_memory(err, "predictions");
    if (kind->sparse && far == NULL && m->data->p >= WIDE) {
        int64_t entries = most * m->data->p / ONE_IN;
        p->start = sgfsi_arena_alloc(arena, most + 1, sizeof *p->start);
        p->col = sgfsi_arena_alloc(arena, entries, sizeof *p->col);
        p->value = SGFSI_DOUBLES(arena, entries);
        if (p->start == NULL || p->col == NULL || p->value == NULL)
            return sgfsi_fail_memory(err, "predictions");
    }
    return SGFS_OK;
}

/* The rows without their zeros, where that leaves few enough numbers: every draw looks at them. */
static void leave_zeros_out(sgfsi_predictor *p) {
    const sgfs_batch *b = &p->batch;
    int64_t to = 0, most = b->n * b->p / ONE_IN;
    if (p->start == NULL || b->x == NULL) return;
    for (int64_t i = 0; i < b->n; i++) {
        p->start[i] = to;
        for (int64_t j = 0; j < b->p; j++) {
            double x = b->x[i * b->p + j];
            if (x == 0) continue;
            if (to == most) return;
            p->col[to] = (int32_t)j;
            p->value[to++] = x;
        }
    }
    p->start[b->n] = to;
    p->csr = (sgfs_csr){p->start, p->col, p->value};
    p->batch.sparse = &p->csr;
    p->batch.x = NULL;
}

void sgfsi_predictor_begin(sgfsi_predictor *p, const sgfs_batch *rows, int64_t first) {
    p->batch = *rows;
    p->x = rows->x;
    leave_zeros_out(p);
    p->first = first;
    p->known = rows->y != NULL;
    p->draws = 0;
    memset(p->total, 0, (size_t)(rows->n * p->width) * sizeof *p->total);
    for (int64_t i = 0; i < rows->n; i++) {
        p->top[i] = -INFINITY;
        p->sum[i] = 0;
    }
    if (p->far != NULL) sgfsi_far_predictor_begin(p->far, rows);
}

/* ---- groups ---------------------------------------------------------------------------------- */

void sgfsi_predictor_groups(sgfsi_predictor *p, const int64_t *code, bool zero) {
    p->code = code;
    p->zero = zero;
}

/* u ~ N(0, Sigma) of a group that the run has not seen: Sigma = diag(sd) R diag(sd) is in theta. */
static void draw_group(const sgfsi_predictor *p, const sgfsi_term_scales *t, int64_t k,
                       const sgfsi_draw *draw, int64_t code, double *u) {
    double L[SGFSI_MOST_EFFECTS][SGFSI_MOST_EFFECTS], z[SGFSI_MOST_EFFECTS + 1];
    const double *sd = draw->theta + t->at, *cor = sd + t->q;
    uint64_t seed = p->seed ^ sgfsi_splitmix((uint64_t)code + (uint64_t)k);
    int64_t at = draw->at > 0 ? draw->at : 0; /* none of the draws, in warm-up */
    sgfsi_stream stream = sgfsi_stream_at(seed, draw->chain, at, SGFSI_PREDICT_GROUP);
    sgfsi_normals(&stream, 2 * ((t->q + 1) / 2), z);
    for (int64_t i = 0; i < t->q; i++) { /* R = L L', row by row */
        double left = 1;
        u[i] = 0;
        for (int64_t j = 0; j < i; j++) {
            double r = t->term->correlated ? *cor++ : 0;
            for (int64_t l = 0; l < j; l++) r -= L[i][l] * L[j][l];
            L[i][j] = L[j][j] > 0 ? r / L[j][j] : 0;
            left -= L[i][j] * L[i][j];
            u[i] += L[i][j] * z[j];
        }
        L[i][i] = sqrt(fmax(left, 0));
        u[i] = sd[i] * (u[i] + L[i][i] * z[i]);
    }
}

/* eta += z'u of each row's groups, at one draw. */
static void add_groups(const sgfsi_predictor *p, const sgfsi_draw *draw, double *eta) {
    const int64_t terms = p->scales->groups->terms, first = p->batch.p - p->m->data->features;
    const float *known = draw->effects;
    for (int64_t k = 0; k < terms; k++) {
        const sgfsi_term_scales *t = &p->scales->term[k];
        const sgfsi_term *term = t->term;
        for (int64_t i = 0; i < p->batch.n; i++) {
            int64_t code = p->code[i * terms + k], j = 0;
            const float *at = code >= 0 ? known + code * t->q : NULL;
            const double *x = p->x + i * p->batch.p + first;
            double u[SGFSI_MOST_EFFECTS], sum = 0;
            if (code < 0 && p->zero) continue;
            if (code < 0) draw_group(p, t, k, draw, code, u);
            for (int64_t l = 0; at != NULL && l < t->q; l++) u[l] = (double)at[l];
            if (term->intercept) sum = u[j++];
            for (int64_t l = 0; l < term->slopes; l++) sum += u[j++] * x[term->slope[l]];
            eta[i] += sum;
        }
        known += term->factor->levels * t->q;
    }
}

/* ---- one draw -------------------------------------------------------------------------------- */

/* Rows from .. from+n-1 of a batch. */
static sgfs_batch part_of(const sgfs_batch *b, int64_t from, int64_t n, sgfs_csr *csr) {
    sgfs_batch part = *b;
    part.n = n;
    if (b->x != NULL) part.x += from * b->p;
    if (b->eta != NULL) part.eta += from;
    if (b->y != NULL) part.y += from;
    if (b->weight != NULL) part.weight += from;
    if (b->offset != NULL) part.offset += from;
    if (b->sparse == NULL) return part;
    *csr = *b->sparse;
    csr->start += from;
    part.sparse = csr;
    return part;
}

/* The target's density at a draw joins the running log-sum-exp. */
static sgfs_status add_densities(sgfsi_predictor *p, const sgfsi_draw *draw, sgfs_err *err) {
    const int64_t all = p->batch.n;
    for (int64_t from = 0; from < all; from += PART) {
        sgfs_csr csr;
        sgfs_batch part = part_of(&p->batch, from, all - from < PART ? all - from : PART, &csr);
        sgfs_scores s = {.n = part.n, .D = p->m->D, .loglik = p->loglik + from}; /* no scores */
        sgfs_status status = p->m->kind->scores(p->m, draw->theta, &part, &s, p->scratch, err);
        if (status != SGFS_OK) return status;
    }
    for (int64_t i = 0; i < all; i++) p->gap[i] = -fabs(p->loglik[i] - p->top[i]);
    sgfsi_exp(p->m->ctx.device, all, p->gap, p->gap);
    for (int64_t i = 0; i < all; i++) {
        if (p->loglik[i] == -INFINITY) continue; /* adds 0, and gap is not a number */
        if (p->loglik[i] <= p->top[i]) {
            p->sum[i] += p->gap[i];
        } else {
            p->sum[i] = p->sum[i] * p->gap[i] + 1;
            p->top[i] = p->loglik[i];
        }
    }
    return SGFS_OK;
}

/* Where targets are one of two labels, their densities are among the outputs, and the sum of these
 * will do unless it is next to nothing: then every draw of it was faint, and has joined the
 * other. */
static const double faint = 1e-280, nothing = 1e-290;

static double probability(const sgfsi_predictor *p, const double *out, int64_t i) {
    return out[2 * i + (p->batch.y[i] == p->m->labels.value[1])];
}

static bool are_faint(const sgfsi_predictor *p) {
    double least = 1;
    for (int64_t i = 0; i < p->batch.n; i++) {
        double of = probability(p, p->out, i);
        least = of < least ? of : least;
    }
    return least < faint;
}

static sgfs_status add_draw(sgfsi_predictor *p, const sgfsi_draw *draw, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t from = 0; from < p->batch.n; from += PART) {
        int64_t left = p->batch.n - from;
        int64_t n = left < PART ? left : PART;
        const sgfs_model_kind *kind = p->m->kind;
        sgfs_csr csr;
        sgfs_batch part = part_of(&p->batch, from, n, &csr);
        double *out = p->out + from * p->width;
        part.y = NULL; /* a prediction does not look at it */
        if (kind->predict != NULL) kind->predict(p->m, draw->theta, &part, out, p->scratch);
        bool wanted = p->drawn && (p->keep > 0 || kind->predict == NULL);
        /* Random numbers of rows from .. from+n-1 for this draw; p->first + from is even. */
        if (wanted) {
            sgfsi_stream normal =
                sgfsi_stream_at(p->seed, draw->chain, draw->at, SGFSI_PREDICT_NORMAL);
            sgfsi_stream uniform =
                sgfsi_stream_at(p->seed, draw->chain, draw->at, SGFSI_PREDICT_UNIFORM);
            sgfsi_stream_skip(&normal, (p->first + from) / 2);
            sgfsi_stream_skip(&uniform, (p->first + from) / 2);
            sgfsi_normals(&normal, part.n, p->normal);
            sgfsi_uniforms(&uniform, part.n, p->uniform);
            p->m->kind->resample(p->m, draw->theta, &part, p->normal, p->uniform,
                                 p->drawing + from);
        }
        if (kind->predict == NULL && p->width > 0)
            memcpy(out, p->drawing + from, (size_t)n * sizeof *out);
    }
    if (p->known && (!p->rises || are_faint(p))) status = add_densities(p, draw, err);
    if (status != SGFS_OK) return status;
    for (int64_t i = 0; i < p->batch.n * p->width; i++) p->total[i] += p->out[i];
    if (p->draws < p->keep) {
        const double *from = p->rises ? p->batch.eta : p->drawn ? p->drawing : p->out;
        int64_t count = p->batch.n * (p->rises ? 1 : p->width);
        double *to = p->kept + p->draws;
        for (int64_t i = 0; i < count; i++) to[i * p->stride] = from[i];
    }
    p->draws++;
    return SGFS_OK;
}

/* Where predictors are all that a model sees of its rows, those of several draws are made at
 * once. */
sgfs_status sgfsi_predictor_add(sgfsi_predictor *p, int64_t count, const sgfsi_draw *draw,
                                sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (p->far != NULL) {
        p->draws += count;
        return sgfsi_far_predictor_add(p->far, count, draw, err);
    }
    for (int64_t first = 0; first < count; first += SGFSI_MANY) {
        const double *theta[SGFSI_MANY];
        int64_t some = count - first < SGFSI_MANY ? count - first : SGFSI_MANY;
        for (int64_t k = 0; k < some; k++) theta[k] = draw[first + k].theta;
        if (p->eta != NULL)
            sgfsi_many_predictors(p->m, &p->batch, some, theta, p->eta, p->coefficients);
        for (int64_t k = 0; k < some && p->scales != NULL; k++)
            add_groups(p, &draw[first + k], p->eta + k * p->batch.n);
        for (int64_t k = 0; k < some && status == SGFS_OK; k++) {
            if (p->eta != NULL) p->batch.eta = p->eta + k * p->batch.n;
            status = add_draw(p, &draw[first + k], err);
        }
    }
    p->batch.eta = NULL;
    return status;
}

sgfs_status sgfsi_predictor_finish(sgfsi_predictor *p, sgfs_err *err) {
    if (p->far == NULL) return SGFS_OK;
    return sgfsi_far_predictor_finish(p->far, p->at, p->total, p->top, p->sum, err);
}

void sgfsi_predictor_fields(sgfsi_predictor *p, sgfsi_fields *list) {
    SGFSI_FIELD_ONE(list, p, draws);
    SGFSI_FIELD_ARRAY(list, p, loglik, p->most);
    SGFSI_FIELD_ARRAY(list, p, top, p->most);
    SGFSI_FIELD_ARRAY(list, p, sum, p->most);
    SGFSI_FIELD_ARRAY(list, p, out, p->most * p->width);
    SGFSI_FIELD_ARRAY(list, p, total, p->most * p->width);
}

/* ---- what they say --------------------------------------------------------------------------- */

double sgfsi_predictor_log_density(const sgfsi_predictor *p, int64_t i) {
    double mean = p->rises ? probability(p, p->total, i) / (double)p->draws : 0;
    if (mean > nothing) return log(mean);
    return p->top[i] + log(p->sum[i] / (double)p->draws);
}

void sgfsi_predictor_mean(const sgfsi_predictor *p, int64_t i, double *mean) {
    for (int64_t k = 0; k < p->width; k++) mean[k] = p->total[i * p->width + k] / (double)p->draws;
}

static int64_t kept_draws(const sgfsi_predictor *p) {
    return p->draws < p->keep ? p->draws : p->keep;
}

/* Both labels' probabilities at n predictors: out n x 2. */
static void predict_at(sgfsi_predictor *p, int64_t n, const double *eta, double *out) {
    const sgfs_batch b = {.n = n, .p = p->batch.p, .eta = eta, .gamma = 1};
    p->m->kind->predict(p->m, NULL, &b, out, p->scratch);
}

/* Of the numbers that are kept the one that is `number`. */
static void find_neighbours(sgfsi_predictor *p, int64_t number, sgfsi_neighbours *at) {
    if (p->far != NULL) sgfsi_far_predictor_neighbours(p->far, number, at);
    else sgfsi_quantile_neighbours(kept_draws(p), p->kept + number * p->stride, p->at, at);
}

void sgfsi_predictor_quantiles(sgfsi_predictor *p, int64_t i, double *q) {
    enum { Q = SGFSI_QUANTILES };
    double eta[2 * Q], out[2 * Q][2];
    sgfsi_neighbours at;
    for (int64_t k = 0; !p->rises && k < p->width; k++) {
        find_neighbours(p, i * p->width + k, &at);
        for (int j = 0; j < Q; j++)
            q[k * Q + j] = sgfsi_quantile_between(at.low[j], at.high[j], at.part[j]);
    }
    if (!p->rises) return;
    find_neighbours(p, i, &at);
    for (int k = 0; k < Q; k++) eta[2 * k] = at.low[k], eta[2 * k + 1] = at.high[k];
    predict_at(p, 2 * Q, eta, out[0]);
    for (int k = 0; k < Q; k++) { /* the first label's are the same draws, in the other order */
        q[Q - 1 - k] = sgfsi_quantile_between(out[2 * k][0], out[2 * k + 1][0], at.part[k]);
        q[Q + k] = sgfsi_quantile_between(out[2 * k][1], out[2 * k + 1][1], at.part[k]);
    }
}

const double *sgfsi_predictor_kept(sgfsi_predictor *p, int64_t i, int64_t k, int64_t first,
                                   int64_t *n) {
    const int64_t number = p->rises ? i : i * p->width + k, left = kept_draws(p) - first;
    const double *kept = p->kept + number * p->stride + first;
    *n = left;
    if (!p->rises) return kept;
    *n = left < p->most ? left : p->most;
    if (*n > PART) *n = PART;
    predict_at(p, *n, kept, p->out);
    for (int64_t s = 0; s < *n; s++) p->drawing[s] = p->out[2 * s + k];
    return p->drawing;
}

double sgfsi_predictor_pit(const sgfsi_predictor *p, int64_t i) {
    const double *kept = p->kept + i * p->stride, y = p->batch.y[i];
    int64_t S = kept_draws(p), less = 0, ties = 0, row = p->first + i;
    double tie[2];
    for (int64_t s = 0; s < S; s++) {
        less += kept[s] < y;
        ties += kept[s] == y;
    }
    sgfsi_stream stream = sgfsi_stream_at(p->seed, 0, 0, SGFSI_PREDICT_TIE);
    sgfsi_stream_skip(&stream, row / 2);
    sgfsi_uniforms(&stream, 2, tie);
    return ((double)less + tie[row % 2] * (double)(ties + 1)) / (double)(S + 1);
}

/* The means take the place of the last draw's outputs, which nobody needs any more. */
void sgfsi_predictor_tally(sgfsi_predictor *p, sgfsi_tally *tally) {
    for (int64_t i = 0; i < p->batch.n; i++) {
        double *mean = p->width > 0 ? p->out + i * p->width : NULL;
        double weight = p->batch.weight != NULL ? p->batch.weight[i] : 1;
        sgfsi_predictor_mean(p, i, mean);
        sgfsi_tally_add(tally,
                        &(sgfsi_scored_row){.weight = weight,
                                            .y = p->batch.y[i],
                                            .mean = mean,
                                            .log_density = sgfsi_predictor_log_density(p, i)});
    }
}
