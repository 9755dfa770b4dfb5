/* SPDX-License-Identifier: MIT
 * groups_linear.c: a term of a linear model whose prior is Gaussian. There the quadratic
 * approximation is the log likelihood itself, so that nothing but scales has to be accepted: given
 * the other terms, coefficients and the term's effects are integrated out,
 *
 *     log p(scales, sigma | y) = -W log sigma - a Q/2 + sum_g (|h_g|^2/2 - log det K_g)
 *                                + |L^-1 grad|^2/2 - log det L + log priors
 *     h_g = K_g^-1 C'a c_g,    L L' = S,    Q = sum (k - w rest)^2/w
 *
 * with the letters of mixed.h. Each scale, log sigma, and sd with sigma make a random walk there,
 * and do not look at rows; then coefficients and effects are drawn from their Gaussian.
 */
#include "sampler/groups.h"

enum { Q = SGFSI_MOST_EFFECTS, CHUNK = SGFSI_MIXED_CHUNK, TRIES = 2, WALKS = TRIES + 2 };

/* What the rows say, the effects and coefficients being free: Q; p: the gradient by beta at theta
 * and without the term's effects, the likelihood's for a = 1 and the prior's. */
typedef struct stand {
    sgfsi_groups_chain *e;
    double square, *pull, *prior;
} stand;

/* Scales, and all that follows from them. */
typedef struct scales_at {
    sgfsi_groups_chain *e;
    double a, log_sigma, shape[SGFSI_MOST_SHAPE], C[Q * Q];
} scales_at;

/* k - w rest into f, rest being the predictor without the term. */
static void take_rest(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const stand *s = user;
    const sgfsi_mixed *m = s->e->mixed;
    const sgfsi_mixed_term *t = &m->term[s->e->k];
    const double *u = s->e->at.term[s->e->k].one;
    (void)room;
    for (int64_t i = first; i < first + n; i++) {
        double rest = s->e->at.eta[i] - sgfsi_group_effect(t, i, u + t->group[i] * t->q),
               off = m->k[i] - m->w[i] * rest;
        s->e->at.f[i] = off;
        if (m->w[i] > 0) sums[0] += off * off / m->w[i];
    }
}

static sgfs_status stand_here(stand *s, sgfs_err *err) {
    sgfsi_groups_chain *e = s->e;
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = m->term[e->k].q, p = m->p;
    for (int64_t g = 0; g < m->term[e->k].G; g++)
        sgfsi_group_multiply(q, f->C, f->v + g * q, f->one + g * q);
    sgfsi_mixed_sum(&e->at, take_rest, s, 1, &s->square);
    for (int64_t j = 0; j < p; j++) { /* the prior is a parabola */
        s->prior[j] = m->pull[j];
        for (int64_t l = 0; l < p; l++)
            s->prior[j] -= m->prior[j * p + l] * (e->at.theta[l] - m->theta[l]);
    }
    return sgfsi_mixed_transposed(&e->at, e->at.f, s->pull, err);
}

/* K_g, h_g and, in turn, the rows of a K_g^-1 C'B_g: sums of their squares and of products with h,
 * and |h|^2/2 - log det K behind these. */
static void weigh(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const scales_at *s = user;
    const sgfsi_mixed_term *t = &s->e->mixed->term[s->e->k];
    const sgfsi_mixed_effects *f = &s->e->at.term[s->e->k];
    int64_t q = t->q, p = s->e->mixed->p;
    double *R = room->A, *pulled = sums + p * p, *log_density = pulled + p;
    for (int64_t g = from; g < to; g++) {
        double K[Q * Q], m[Q], h[Q];
        const double *B = t->B + g * q * p;
        sgfsi_mixed_frame(t, g, s->a, s->C, f->c + g * q, true, K, m);
        sgfsi_group_multiply_up(q, K, m, h);
        for (int64_t i = 0; i < q; i++) {
            double x[Q] = {0}, scaled[Q]; /* row i of K^-1 C', which is C K^-T e_i */
            x[i] = 1;
            sgfsi_group_solve_up(q, K, x);
            sgfsi_group_multiply(q, s->C, x, scaled);
            for (int64_t j = 0; j < p; j++) R[j] = s->a * scaled[0] * B[j];
            for (int64_t r = 1; r < q; r++)
                for (int64_t j = 0; j < p; j++) R[j] += s->a * scaled[r] * B[r * p + j];
            for (int64_t j = 0; j < p; j++) {
                pulled[j] += R[j] * h[i];
                for (int64_t l = 0; l <= j; l++) sums[j * p + l] += R[j] * R[l];
            }
            *log_density += 0.5 * h[i] * h[i] - log(K[i * q + i]);
        }
    }
}

/* log density; e->L, and L^-1 grad into e->centre. */
static sgfs_status weigh_at(const stand *s, scales_at *at, double *lp, sgfs_err *err) {
    sgfsi_groups_chain *e = s->e;
    const sgfsi_mixed *m = e->mixed;
    int64_t p = m->p, last = m->base - 1;
    double *L = e->L, *y = e->centre, before = m->sigma ? e->at.theta[last] : 0;
    at->a = m->sigma ? exp(2 * (m->theta[last] - at->log_sigma)) : 1;
    sgfsi_mixed_factor(m, e->k, at->shape, at->C);
    sgfsi_mixed_groups(&e->at, e->k, weigh, at, p * p + p + 1, e->sums);
    *lp = e->sums[p * p + p] - 0.5 * at->a * s->square - m->fixed.data->total * at->log_sigma +
          sgfsi_mixed_scales_prior(m, e->k, at->shape);
    if (m->sigma) e->at.theta[last] = at->log_sigma;
    sgfs_status status = sgfsi_mixed_prior(m, e->at.theta, lp, err);
    if (m->sigma) e->at.theta[last] = before;
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < p * p; j++) L[j] = at->a * m->XWX[j] + m->prior[j] - e->sums[j];
    for (int64_t j = 0; j < p; j++) y[j] = at->a * s->pull[j] + s->prior[j] - e->sums[p * p + j];
    if (sgfsi_potrf(m->fixed.ctx.near, p, L) != 0) {
        *lp = -INFINITY; /* no such place can be drawn from */
        return SGFS_OK;
    }
    sgfsi_trsv(m->fixed.ctx.near, p, L, false, y);
    for (int64_t j = 0; j < p; j++) *lp += 0.5 * y[j] * y[j] - log(L[j * p + j]);
    *lp = sgfsi_group_density(*lp);
    return SGFS_OK;
}

/* One of the term's own, then log sigma, then sd and sigma with sd^2 + sigma^2 as it is. */
static int64_t propose(const sgfsi_groups_chain *e, int walk, double xi, scales_at *at) {
    int64_t count = e->mixed->term[e->k].scales->count, j = (TRIES * e->t + walk) % count;
    const double *step = e->step + e->k * SGFSI_GROUP_STEPS;
    if (walk < TRIES) {
        at->shape[j] += exp(step[j]) * xi;
        return j;
    }
    if (walk == TRIES) {
        at->log_sigma += exp(step[SGFSI_SIGMA_STEP]) * xi;
        return SGFSI_SIGMA_STEP;
    }
    sgfsi_groups_along_ridge(exp(step[SGFSI_RIDGE_STEP]) * xi, &at->shape[0], &at->log_sigma);
    return SGFSI_RIDGE_STEP;
}

static sgfs_status walk_scales(const stand *s, scales_at *at, bool warming, double *accepted,
                               sgfs_err *err) {
    sgfsi_groups_chain *e = s->e;
    int walks = e->mixed->sigma ? WALKS : TRIES;
    double now, next, xi[WALKS], uniform[WALKS];
    sgfsi_stream noise = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_NOISE),
                 accept = sgfsi_group_stream_of(e, SGFSI_MOST_TERMS + e->k, SGFSI_ACCEPT);
    sgfsi_normals(&noise, WALKS, xi);
    sgfsi_uniforms(&accept, WALKS, uniform);
    sgfs_status status = weigh_at(s, at, &now, err);
    bool there = true; /* L is that of *at */
    *accepted = 0;
    if (status == SGFS_OK && now == -INFINITY)
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the coefficients' precision, with the groups' effects left free, is "
                          "singular");
    for (int i = 0; i < walks && status == SGFS_OK; i++) {
        scales_at to = *at;
        int64_t j = propose(e, i, xi[i], &to);
        status = weigh_at(s, &to, &next, err);
        if (status != SGFS_OK) return status;
        if (warming) {
            double *step = &e->step[e->k * SGFSI_GROUP_STEPS + j];
            *step += (fmin(1, exp(next - now)) - 0.44) / sqrt(1 + e->learned);
        }
        there = log(uniform[i]) < next - now;
        if (!there) continue;
        *at = to;
        now = next;
        *accepted += 1 / (double)walks;
    }
    return status == SGFS_OK && !there ? weigh_at(s, at, &now, err) : status;
}

/* v of all groups given beta, which has moved by d[0]; what u changes by into two. */
static void draw_groups(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to,
                        double *sums) {
    const scales_at *s = user;
    sgfsi_groups_chain *e = s->e;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q, p = e->mixed->p;
    sgfsi_stream normal = sgfsi_group_stream_of(e, e->k, SGFSI_GROUPS);
    sgfsi_stream_skip(&normal, from * q);
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++) {
        double K[Q * Q], m[Q], xi[Q + 1], c[Q], *v = f->v + g * q, *two = f->two + g * q;
        for (int64_t i = 0; i < q; i++) {
            const double *B = t->B + (g * q + i) * p;
            c[i] = f->c[g * q + i];
            for (int64_t j = 0; j < p; j++) c[i] -= B[j] * e->d[0][j];
        }
        sgfsi_mixed_frame(t, g, s->a, s->C, c, true, K, m);
        sgfsi_normals(&normal, 2 * ((q + 1) / 2), xi);
        sgfsi_group_solve_up(q, K, xi);
        for (int64_t i = 0; i < q; i++) v[i] = m[i] + xi[i];
        sgfsi_group_multiply(q, s->C, v, two);
        for (int64_t i = 0; i < q; i++) two[i] -= f->one[g * q + i];
    }
}

/* The rows follow; sums: their log likelihood. */
static void go(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    sgfsi_groups_chain *e = user;
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_term *t = &m->term[e->k];
    const double *change = e->at.term[e->k].two;
    for (int64_t i = first; i < first + n; i++)
        e->at.eta[i] += e->at.e[i] + sgfsi_group_effect(t, i, change + t->group[i] * t->q);
    sums[0] +=
        sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, m->y + first,
                          m->weight != NULL ? m->weight + first : NULL, e->at.eta + first, NULL);
}

static sgfs_status draw(const scales_at *at, sgfs_err *err) {
    sgfsi_groups_chain *e = at->e;
    const sgfsi_mixed *m = e->mixed;
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t p = m->p;
    double none, *d = e->d[0];
    sgfsi_stream noise = sgfsi_group_stream_of(e, e->k, SGFSI_NOISE);
    for (int64_t j = 0; j < p; j++) {
        double xi[2];
        sgfsi_normals(&noise, 2, xi);
        d[j] = e->centre[j] + xi[0];
    }
    sgfsi_trsv(m->fixed.ctx.near, p, e->L, true, d);
    sgfs_status status = sgfsi_mixed_times(&e->at, d, e->at.e, err);
    if (status != SGFS_OK) return status;
    sgfsi_mixed_groups(&e->at, e->k, draw_groups, (void *)at, 0, &none);
    for (int64_t j = 0; j < p; j++) e->at.theta[j] += d[j];
    if (m->sigma) e->at.theta[m->base - 1] = at->log_sigma;
    memcpy(f->shape, at->shape, (size_t)m->term[e->k].scales->count * sizeof *f->shape);
    sgfsi_mixed_factor(m, e->k, f->shape, f->C);
    sgfsi_mixed_sum(&e->at, go, e, 1, &e->at.loglik);
    return SGFS_OK;
}

sgfs_status sgfsi_groups_move_gaussian(sgfsi_groups_chain *e, bool warming, double *accepted,
                                       sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    stand s = {.e = e, .pull = e->d[1], .prior = e->d[0]};
    scales_at at = {.e = e};
    memcpy(at.shape, e->at.term[e->k].shape,
           (size_t)m->term[e->k].scales->count * sizeof *at.shape);
    if (m->sigma) at.log_sigma = e->at.theta[m->base - 1];
    sgfsi_mixed_centres(&e->at, e->k);
    sgfs_status status = stand_here(&s, err);
    if (status == SGFS_OK) status = walk_scales(&s, &at, warming, accepted, err);
    return status == SGFS_OK ? draw(&at, err) : status;
}
