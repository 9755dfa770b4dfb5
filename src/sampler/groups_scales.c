/* SPDX-License-Identifier: MIT
 * groups_scales.c: the moves of sampler groups (groups.c) of how much effects vary, and of the
 * noise of a linear model. With z fixed the effects follow their scales, which mixes where groups
 * have few rows; with the effects fixed the scales see sum u u' alone, which mixes where they have
 * many. And the sum of a term's effects, which its coefficient makes up for, with the predictor
 * fixed.
 */
#include "sampler/groups.h"

/* TRIES of one scale after the other: a tenth of an iteration, and scales are what mixes
 * slowest. */
enum { CHUNK = SGFSI_MIXED_CHUNK, MOST_SHAPE = SGFSI_MOST_SHAPE, TRIES = 2 };

/* ---- slices ---------------------------------------------------------------------------------- */

/* One coordinate of a density without bounds, by slice sampling with doubling left out: the
 * interval is stepped out from x and shrunk. */
typedef double (*log_density)(const void *user, double x);
static double slice(log_density f, const void *user, double x, double width, sgfsi_stream *s) {
    double u[2], level, low, high;
    sgfsi_uniforms(s, 2, u);
    level = f(user, x) + log(u[0]);
    low = x - width * u[1];
    high = low + width;
    for (int i = 0; i < 50 && f(user, low) > level; i++) low -= width;
    for (int i = 0; i < 50 && f(user, high) > level; i++) high += width;
    for (int i = 0; i < 100; i++) {
        sgfsi_uniforms(s, 1, u);
        double to = low + u[0] * (high - low);
        if (f(user, to) > level) return to;
        *(to < x ? &low : &high) = to;
    }
    return x;
}

/* ---- scales ---------------------------------------------------------------------------------- */

/* Where the scales of a term, and with it log sigma, might go; a: the ratio that belongs to it. */
typedef struct rescaling {
    sgfsi_groups_chain *e;
    double a, log_sigma, shape[MOST_SHAPE], C[SGFSI_MOST_EFFECTS * SGFSI_MOST_EFFECTS];
} rescaling;

/* v and u = C v at the new scales, z being the same: v into one, the change of u into two. Sums:
 * what |v|^2/2 and the Jacobian say, new less old. */
static void rescale(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const rescaling *r = user;
    sgfsi_groups_chain *e = r->e;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q;
    (void)room;
    for (int64_t g = from; g < to; g++) {
        double K[Q * Q], m[Q], away[Q], z[Q], before[Q], *v = f->v + g * q, *next = f->one + g * q,
                                                         *change = f->two + g * q;
        const double *old = f->K + g * q * q;
        for (int64_t j = 0; j < q; j++) away[j] = v[j] - f->m[g * q + j];
        sgfsi_group_multiply_up(q, old, away, z);
        sgfsi_mixed_frame(t, g, r->a, r->C, f->c + g * q, false, K, m);
        sgfsi_group_solve_up(q, K, z);
        for (int64_t j = 0; j < q; j++) {
            next[j] = m[j] + z[j];
            sums[0] += 0.5 * (v[j] * v[j] - next[j] * next[j]) + log(old[j * q + j] / K[j * q + j]);
        }
        sgfsi_group_multiply(q, f->C, v, before);
        sgfsi_group_multiply(q, r->C, next, change);
        for (int64_t j = 0; j < q; j++) change[j] -= before[j];
    }
}

static void weigh_scales(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n,
                         double *sums) {
    sgfsi_groups_chain *e = ((rescaling *)user)->e;
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_term *t = &m->term[e->k];
    const double *change = e->at.term[e->k].two;
    double *eta = e->at.e + first;
    for (int64_t i = 0; i < n; i++)
        eta[i] = e->at.eta[first + i] +
                 sgfsi_group_effect(t, first + i, change + t->group[first + i] * t->q);
    sums[0] += sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, m->y + first,
                                 m->weight != NULL ? m->weight + first : NULL, eta, NULL);
}

/* The frames of all groups, where the scales are now. */
static void reframe(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    sgfsi_groups_chain *e = user;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q;
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++)
        sgfsi_mixed_frame(t, g, e->a, f->C, f->c + g * q, false, f->K + g * q * q, f->m + g * q);
}

static rescaling as_they_are(sgfsi_groups_chain *e) {
    rescaling r = {.e = e, .a = e->a};
    memcpy(r.shape, e->at.term[e->k].shape,
           (size_t)e->mixed->term[e->k].scales->count * sizeof *r.shape);
    if (e->mixed->sigma) r.log_sigma = e->at.theta[e->mixed->base - 1];
    return r;
}

/* log density at r less that here, z being the same: the effects into one, the predictor into e,
 * the log likelihood there into *loglik. log sigma is left as it is there. */
static double weigh(sgfsi_groups_chain *e, rescaling *r, double *loglik) {
    const sgfsi_mixed *m = e->mixed;
    double groups_part, before = 0, after = 0;
    (void)sgfsi_mixed_prior(m, e->at.theta, &before, NULL);
    if (m->sigma) e->at.theta[m->base - 1] = r->log_sigma;
    (void)sgfsi_mixed_prior(m, e->at.theta, &after, NULL);
    sgfsi_mixed_factor(m, e->k, r->shape, r->C);
    sgfsi_mixed_groups(&e->at, e->k, rescale, r, 1, &groups_part);
    sgfsi_mixed_sum(&e->at, weigh_scales, r, 1, loglik);
    return sgfsi_group_density(*loglik - e->at.loglik + groups_part + after - before +
                               sgfsi_mixed_scales_prior(m, e->k, r->shape) -
                               sgfsi_mixed_scales_prior(m, e->k, e->at.term[e->k].shape));
}

/* Metropolis' decision, with a step that is fitted to an acceptance of 0.44 in warm-up. */
static bool decide(sgfsi_groups_chain *e, rescaling *r, double *step, bool warming,
                   double uniform) {
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_term *t = &m->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    double loglik, none, log_sigma = m->sigma ? e->at.theta[m->base - 1] : 0,
                         ratio = weigh(e, r, &loglik);
    if (warming) *step += (fmin(1, exp(ratio)) - 0.44) / sqrt(1 + e->learned);
    if (log(uniform) >= ratio) {
        if (m->sigma) e->at.theta[m->base - 1] = log_sigma;
        return false;
    }
    memcpy(f->shape, r->shape, (size_t)t->scales->count * sizeof *r->shape);
    memcpy(f->C, r->C, (size_t)(t->q * t->q) * sizeof *r->C);
    memcpy(f->v, f->one, (size_t)(t->G * t->q) * sizeof *f->v);
    memcpy(e->at.eta, e->at.e, (size_t)m->N * sizeof *e->at.eta);
    e->at.loglik = loglik;
    e->a = r->a;
    sgfsi_mixed_groups(&e->at, e->k, reframe, e, 0, &none);
    return true;
}

/* sd and sigma with sd^2 + sigma^2 as it is, which is all that groups of one row know of them: a
 * random walk of log sd - log sigma. log(sd^2 + sigma^2) being the other coordinate, the Jacobian
 * is constant. */
void sgfsi_groups_along_ridge(double by, double *log_sd, double *log_sigma) {
    double difference = *log_sd - *log_sigma, to = difference + by,
           both = *log_sd + 0.5 * log1p(exp(-2 * difference));
    *log_sd = both - 0.5 * log1p(exp(-2 * to));
    *log_sigma = both - 0.5 * log1p(exp(2 * to));
}

void sgfsi_groups_move_scales(sgfsi_groups_chain *e, bool warming, double *accepted) {
    int64_t count = e->mixed->term[e->k].scales->count;
    int tries = e->mixed->sigma ? TRIES + 1 : TRIES;
    double xi[TRIES + 2], uniform[TRIES + 1], *step = e->step + e->k * SGFSI_GROUP_STEPS;
    sgfsi_stream noise = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_NOISE),
                 accept = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_ACCEPT);
    sgfsi_normals(&noise, TRIES + 2, xi);
    sgfsi_uniforms(&accept, tries, uniform);
    *accepted = 0;
    for (int i = 0; i < tries; i++) {
        int64_t j = i < TRIES ? (TRIES * e->t + i) % count : SGFSI_RIDGE_STEP;
        rescaling r = as_they_are(e);
        if (i < TRIES) r.shape[j] += exp(step[j]) * xi[i];
        else {
            sgfsi_groups_along_ridge(exp(step[j]) * xi[i], &r.shape[0], &r.log_sigma);
            r.a = exp(2 * (e->mixed->theta[e->mixed->base - 1] - r.log_sigma));
        }
        *accepted += (double)decide(e, &r, &step[j], warming, uniform[i]) / tries;
    }
}

/* Of a term's scales with its effects fixed. */
typedef struct given_effects {
    const sgfsi_groups_chain *e;
    const sgfsi_term_scales *t;
    double G, *shape, U[SGFSI_MOST_EFFECTS * SGFSI_MOST_EFFECTS]; /* U: sum u u' */
    int64_t j;
} given_effects;

static double scale_density(const void *user, double x) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const given_effects *s = user;
    double C[Q * Q], shape[MOST_SHAPE], lp;
    int64_t q = s->t->q;
    memcpy(shape, s->shape, (size_t)s->t->count * sizeof *shape);
    shape[s->j] = x;
    sgfsi_mixed_factor(s->e->mixed, s->e->k, shape, C);
    lp = sgfsi_mixed_scales_prior(s->e->mixed, s->e->k, shape);
    for (int64_t i = 0; i < q; i++) lp -= s->G * log(C[i * q + i]);
    for (int64_t r = 0; r < q; r++) { /* row r of C^-1 */
        double w[Q] = {0};
        w[r] = 1;
        for (int64_t i = r; i >= 0; i--) { /* w = C^-T e_r */
            for (int64_t k = i + 1; k <= r; k++) w[i] -= C[k * q + i] * w[k];
            w[i] /= C[i * q + i];
        }
        for (int64_t i = 0; i <= r; i++)
            for (int64_t k = 0; k <= r; k++) lp -= 0.5 * w[i] * s->U[i * q + k] * w[k];
    }
    return sgfsi_group_density(lp);
}

void sgfsi_groups_slice_scales(sgfsi_groups_chain *e) {
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q;
    given_effects s = {.e = e, .t = t->scales, .G = (double)t->G, .shape = f->shape};
    for (int64_t g = 0; g < t->G; g++) {
        double *u = f->one + g * q;
        sgfsi_group_multiply(q, f->C, f->v + g * q, u);
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j < q; j++) s.U[i * q + j] += u[i] * u[j];
    }
    sgfsi_stream stream = sgfsi_group_stream_of(e, e->k, SGFSI_TREE);
    for (s.j = 0; s.j < t->scales->count; s.j++)
        f->shape[s.j] =
            slice(scale_density, &s, f->shape[s.j], 2 / sqrt(1 + (double)t->G), &stream);
    sgfsi_mixed_factor(e->mixed, e->k, f->shape, f->C);
    for (int64_t g = 0; g < t->G; g++) { /* v = C^-1 u */
        const double *u = f->one + g * q;
        double *v = f->v + g * q;
        for (int64_t i = 0; i < q; i++) {
            v[i] = u[i];
            for (int64_t j = 0; j < i; j++) v[i] -= f->C[i * q + j] * v[j];
            v[i] /= f->C[i * q + i];
        }
    }
}

/* ---- means ----------------------------------------------------------------------------------- */

/* A term's effect number i and the coefficient of the same column: what one gains the other
 * loses. */
typedef struct given_sum {
    const sgfsi_groups_chain *e;
    double square, pull;     /* of the effects: log density pull x - square x^2/2 */
    int64_t column;          /* of the design */
    double by, of_intercept; /* how the coefficient, and the intercept, follow */
} given_sum;

static void shift_theta(const given_sum *s, double x, double *theta) {
    theta[s->column] += s->by * x;
    theta[0] += s->of_intercept * x;
}

static double sum_density(const void *user, double x) {
    const given_sum *s = user;
    double *theta = s->e->at.theta, lp = s->pull * x - 0.5 * s->square * x * x;
    double coefficient = theta[s->column], intercept = theta[0];
    shift_theta(s, x, theta);
    (void)sgfsi_mixed_prior(s->e->mixed, theta, &lp, NULL);
    theta[0] = intercept;
    theta[s->column] = coefficient;
    return sgfsi_group_density(lp);
}

/* The design's column of the term's effect i, in its units: x = value/scale + shift. false:
 * none. */
static bool find_column(const sgfsi_mixed *m, const sgfsi_term *t, int64_t i, given_sum *s) {
    const sgfs_data *d = m->fixed.data;
    int64_t front = d->p - d->features, slope = i - (t->intercept ? 1 : 0);
    s->by = 1;
    if (slope < 0) return front > 0;
    s->column = front + t->slope[slope];
    if (d->scale == NULL) return true;
    s->by = 1 / d->scale[t->slope[slope]];
    s->of_intercept = d->shift[t->slope[slope]];
    return front > 0 || s->of_intercept == 0;
}

void sgfsi_groups_slice_means(sgfsi_groups_chain *e) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q;
    sgfsi_stream stream = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_TREE);
    for (int64_t i = 0; i < q; i++) {
        given_sum s = {.e = e};
        double d[Q] = {0}, sum[Q] = {0}, size = 0; /* d: column i of C^-1 */
        if (!find_column(e->mixed, t->scales->term, i, &s)) continue;
        d[i] = 1;
        for (int64_t r = i; r < q; r++) {
            for (int64_t k = i; k < r; k++) d[r] -= f->C[r * q + k] * d[k];
            d[r] /= f->C[r * q + r];
        }
        for (int64_t g = 0; g < t->G; g++)
            for (int64_t j = i; j < q; j++) sum[j] += f->v[g * q + j];
        for (int64_t j = i; j < q; j++) {
            size += d[j] * d[j];
            s.pull += d[j] * sum[j];
        }
        s.square = (double)t->G * size;
        double x = slice(sum_density, &s, 0, 2 / sqrt(s.square), &stream);
        shift_theta(&s, x, e->at.theta);
        for (int64_t g = 0; g < t->G; g++)
            for (int64_t j = i; j < q; j++) f->v[g * q + j] -= x * d[j];
    }
}

/* ---- noise ----------------------------------------------------------------------------------- */

typedef struct given_predictor {
    const sgfsi_groups_chain *e;
    double rows, half_rss, *theta; /* theta: its last number is tried */
} given_predictor;

static double sigma_density(const void *user, double x) {
    const given_predictor *s = user;
    const sgfsi_mixed *m = s->e->mixed;
    double lp = -s->rows * x - s->half_rss * exp(-2 * x), before = s->theta[m->base - 1];
    s->theta[m->base - 1] = x;
    (void)sgfsi_mixed_prior(m, s->theta, &lp, NULL);
    s->theta[m->base - 1] = before;
    return sgfsi_group_density(lp);
}

void sgfsi_groups_slice_sigma(sgfsi_groups_chain *e) {
    const sgfsi_mixed *m = e->mixed;
    double rows = m->fixed.data->total, *x = &e->at.theta[m->base - 1];
    double half = -exp(2 * *x) * (e->at.loglik + rows * (*x + SGFSI_HALF_LOG_TWO_PI));
    const given_predictor s = {e, rows, fmax(half, 0), e->at.theta};
    sgfsi_stream stream = sgfsi_group_stream_of(e, 0, SGFSI_PROBE);
    *x = slice(sigma_density, &s, *x, 2 / sqrt(1 + rows), &stream);
    e->at.loglik = -rows * (*x + SGFSI_HALF_LOG_TWO_PI) - half * exp(-2 * *x);
}
