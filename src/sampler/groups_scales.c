/* SPDX-License-Identifier: MIT
 * groups_scales.c: the moves of sampler groups (groups.c) of how much effects vary, and of the noise
 * of a linear model. With z fixed the effects follow their scales, which mixes where groups have few
 * rows; with the effects fixed the scales see sum u u' alone, which mixes where they have many.
 */
#include "sampler/groups.h"

enum { CHUNK = SGFSI_MIXED_CHUNK, MOST_SHAPE = SGFSI_MOST_SHAPE };

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

typedef struct rescaling {
    sgfsi_groups_chain *e;
    double shape[MOST_SHAPE], C[SGFSI_MOST_EFFECTS * SGFSI_MOST_EFFECTS];
} rescaling;

/* v and u = C v at the new scales, z being the same: v into one, the change of u into two. Sums: what
 * |v|^2/2 and the Jacobian say, new less old. */
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
        sgfsi_mixed_frame(t, g, e->a, r->C, f->c + g * q, false, K, m);
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

/* One scale or correlation, in turn, while z stays. */
void sgfsi_groups_move_scales(sgfsi_groups_chain *e, bool warming, double *accepted) {
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t j = e->t % t->scales->count;
    double *step = &e->step[e->k * MOST_SHAPE + j], xi[2], uniform[2], groups_part, rows_part;
    sgfsi_stream noise = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_NOISE),
                 accept = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_ACCEPT);
    rescaling r = {.e = e};
    sgfsi_normals(&noise, 2, xi);
    sgfsi_uniforms(&accept, 2, uniform);
    memcpy(r.shape, f->shape, (size_t)t->scales->count * sizeof *r.shape);
    r.shape[j] += exp(*step) * xi[0];
    sgfsi_mixed_factor(e->mixed, e->k, r.shape, r.C);
    sgfsi_mixed_groups(&e->at, e->k, rescale, &r, 1, &groups_part);
    sgfsi_mixed_sum(&e->at, weigh_scales, &r, 1, &rows_part);
    double ratio = sgfsi_group_density(rows_part - e->at.loglik + groups_part +
                                       sgfsi_mixed_scales_prior(e->mixed, e->k, r.shape) -
                                       sgfsi_mixed_scales_prior(e->mixed, e->k, f->shape));
    bool taken = log(uniform[0]) < ratio;
    *accepted = taken;
    if (warming) *step += (fmin(1, exp(ratio)) - 0.44) / sqrt(1 + e->learned);
    if (!taken) return;
    memcpy(f->shape, r.shape, (size_t)t->scales->count * sizeof *r.shape);
    memcpy(f->C, r.C, (size_t)(t->q * t->q) * sizeof *r.C);
    memcpy(f->v, f->one, (size_t)(t->G * t->q) * sizeof *f->v);
    memcpy(e->at.eta, e->at.e, (size_t)e->mixed->N * sizeof *e->at.eta);
    e->at.loglik = rows_part;
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
