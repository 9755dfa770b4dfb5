/* SPDX-License-Identifier: MIT
 * mixed_anchor.c: a place near the mode of the coefficients and effects given the scales, and
 * scales near their own: what proposals of sampler groups are made from. Where it lies decides how
 * many of them are accepted, not what is drawn.
 *
 *     round    quadratic approximation of every row's log likelihood at eta
 *              for each term: beta and its effects to the maximum (the arrow-shaped system:
 *                  S d = gradient, effects follow), half as far until the posterior rises
 *              for each term: E step and M step, Sigma = mean over g of u u' + C M^-1 C'
 *              a linear model: sigma^2 = sum of squares / (rows - effective parameters)
 */
#include <math.h>
#include <string.h>

#include "model/prior.h"
#include "posterior/mixed.h"

enum { CHUNK = SGFSI_MIXED_CHUNK, MOST_ROUNDS = 30, HALVINGS = 12 };

typedef struct search {
    sgfsi_mixed *m;
    sgfsi_mixed_place *at;
    int64_t k;
    double step;
} search;

/* w of n rows at their predictors, times their weights. */
static void information(const search *s, sgfsi_mixed_room *room, int64_t first, int64_t n,
                        const double *eta, double *w) {
    const sgfs_model *fixed = &s->m->fixed;
    const sgfs_batch b = {.n = n,
                          .p = s->m->p,
                          .y = s->m->y + first,
                          .eta = eta,
                          .square = w,
                          .weight = s->m->weight != NULL ? s->m->weight + first : NULL,
                          .gamma = 1};
    fixed->kind->curvature(fixed, s->at->theta, &b, room->A, room->scratch);
}

static void expand(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const search *s = user;
    sgfsi_mixed *m = s->m;
    const double *eta = s->at->eta + first;
    double *k = m->k + first;
    (void)sums;
    sgfsi_mixed_residuals(s->at, room, first, n, k);
    information(s, room, first, n, eta, m->w + first);
    for (int64_t i = 0; i < n; i++) k[i] += m->w[first + i] * eta[i];
}

/* l''' of every row, into e: minus the slope of the information. */
static void slope(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const search *s = user;
    const double h = 1e-3;
    double *eta = room->eta, *up = eta + CHUNK, *down = up + CHUNK;
    (void)sums;
    for (int64_t i = 0; i < n; i++) eta[i] = s->at->eta[first + i] + h;
    information(s, room, first, n, eta, up);
    for (int64_t i = 0; i < n; i++) eta[i] -= 2 * h;
    information(s, room, first, n, eta, down);
    for (int64_t i = 0; i < n; i++) s->at->e[first + i] = (down[i] - up[i]) / (2 * h);
}

static void add_groups(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const search *s = user;
    const sgfsi_mixed_term *t = &s->m->term[s->k];
    int64_t q = t->q;
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++) {
        double *H = t->H + g * q * q, *T = t->T + g * q * q * q;
        memset(H, 0, (size_t)(q * q) * sizeof *H);
        memset(T, 0, (size_t)(q * q * q) * sizeof *T);
        for (int64_t r = t->first[g]; r < t->first[g + 1]; r++) {
            int64_t slot = t->row != NULL ? t->row[r] : r;
            const double one = 1, *z = t->z != NULL ? t->z + slot * q : &one;
            double w = s->m->w[slot], third = s->at->e[slot];
            for (int64_t i = 0; i < q; i++)
                for (int64_t j = 0; j < q; j++) {
                    H[i * q + j] += w * z[i] * z[j];
                    for (int64_t k = 0; k < q; k++)
                        T[(i * q + j) * q + k] += third * z[i] * z[j] * z[k];
                }
        }
    }
}

/* X'WX and B of all terms, in one pass. */
static sgfs_status add_rows(sgfsi_mixed *m, sgfsi_mixed_place *at, sgfs_err *err) {
    const sgfs_data *d = m->fixed.data;
    int64_t p = m->p;
    double *x = at->sums; /* room for CHUNK x p, or fewer rows */
    int64_t rows = CHUNK;
    sgfsi_pages visit = {0};
    memset(m->XWX, 0, (size_t)(p * p) * sizeof *m->XWX);
    for (int64_t k = 0; k < m->terms; k++)
        memset(m->term[k].B, 0, (size_t)(m->term[k].G * m->term[k].q * p) * sizeof *x);
    for (int64_t from = 0; from < m->N; from += rows) {
        int64_t n = m->N - from < rows ? m->N - from : rows;
        sgfs_status status = sgfsi_pages_range(&visit, d, from, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(d, from, n, x, NULL);
        for (int64_t i = 0; i < n; i++) {
            int64_t slot = m->slot[from + i];
            double w = m->w[slot], *row = x + i * p;
            for (int64_t k = 0; k < m->terms; k++) {
                const sgfsi_mixed_term *t = &m->term[k];
                double *B = t->B + t->group[slot] * t->q * p;
                for (int64_t j = 0; j < t->q; j++) {
                    double wz = w * (t->z != NULL ? t->z[slot * t->q + j] : 1);
                    for (int64_t l = 0; l < p; l++) B[j * p + l] += wz * row[l];
                }
            }
            double root = sqrt(w);
            for (int64_t l = 0; l < p; l++) row[l] *= root;
        }
        sgfsi_syrk_t(m->fixed.ctx.near, n, p, 1.0, x, 1.0, m->XWX);
    }
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = i + 1; j < p; j++) m->XWX[i * p + j] = m->XWX[j * p + i];
    m->passes++;
    return SGFS_OK;
}

static sgfs_status take_prior(sgfsi_mixed *m, sgfsi_mixed_place *at, double *A, double *G,
                              sgfs_err *err) {
    int64_t p = m->p, D = m->base;
    memcpy(m->theta, at->theta, (size_t)D * sizeof *m->theta);
    memset(A, 0, (size_t)(D * D) * sizeof *A);
    memset(G, 0, (size_t)D * sizeof *G);
    sgfsi_prior_add_curvature(&m->fixed, at->theta, A);
    sgfs_status status = sgfsi_prior_add(&m->fixed, at->theta, NULL, G, err);
    for (int64_t i = 0; i < p; i++) {
        m->pull[i] = G[i];
        for (int64_t j = 0; j <= i; j++) m->prior[i * p + j] = m->prior[j * p + i] = A[i * D + j];
    }
    return status;
}

static sgfs_status expand_all(search *s, double *A, double *G, sgfs_err *err) {
    double none;
    sgfsi_mixed_sum(s->at, expand, s, 0, &none);
    sgfsi_mixed_sum(s->at, slope, s, 0, &none);
    for (s->k = 0; s->k < s->m->terms; s->k++)
        sgfsi_mixed_groups(s->at, s->k, add_groups, s, 0, &none);
    sgfs_status status = add_rows(s->m, s->at, err);
    return status == SGFS_OK ? take_prior(s->m, s->at, A, G, err) : status;
}

/* ---- Newton ---------------------------------------------------------------------------------- */

/* eta + step e, into f; and its log likelihood. */
static void try_step(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const search *s = user;
    const sgfsi_mixed *m = s->m;
    double *f = s->at->f + first;
    for (int64_t i = 0; i < n; i++) f[i] = s->at->eta[first + i] + s->step * s->at->e[first + i];
    sums[0] += sgfsi_mixed_chunk(s->at, room, s->at->theta, n, m->y + first,
                                 m->weight != NULL ? m->weight + first : NULL, f, NULL);
}

/* e += z'one */
static void add_change(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const search *s = user;
    const sgfsi_mixed_term *t = &s->m->term[s->k];
    const double *u = s->at->term[s->k].one;
    (void)room;
    (void)sums;
    for (int64_t i = first; i < first + n; i++)
        for (int64_t j = 0; j < t->q; j++)
            s->at->e[i] += (t->z != NULL ? t->z[i * t->q + j] : 1) * u[t->group[i] * t->q + j];
}

/* beta and the effects of term k to the maximum of the approximation, or as far as the posterior
 * rises. room: 2 p^2 + 3 p. *moved: the change of eta, root mean square. */
static sgfs_status climb(search *s, double *room, double *moved, sgfs_err *err) {
    sgfsi_mixed *m = s->m;
    sgfsi_mixed_place *at = s->at;
    const sgfsi_mixed_term *t = &m->term[s->k];
    sgfsi_mixed_effects *e = &at->term[s->k];
    int64_t p = m->p, q = t->q;
    double *d = room, *L = room + p, *old = L + p * p + p, before = at->loglik, none;
    sgfsi_mixed_centres(at, s->k);
    sgfs_status status = sgfsi_mixed_fixed(at, s->k, L, d, err);
    if (status != SGFS_OK) return status;
    memcpy(old, at->theta, (size_t)p * sizeof *old);
    for (int64_t j = 0; j < p; j++) d[j] -= at->theta[j];
    double square = 0;
    for (int64_t g = 0; g < t->G; g++) { /* two: the change of v */
        double *v = e->two + g * q, *u = e->one + g * q;
        sgfsi_mixed_frame(t, g, 1, e->C, e->c + g * q, true, e->K + g * q * q, e->m + g * q);
        sgfsi_mixed_follow(t, g, p, 1, e->C, e->K + g * q * q, d, v);
        for (int64_t j = 0; j < q; j++) v[j] += e->m[g * q + j] - e->v[g * q + j];
        for (int64_t i = 0; i < q; i++) {
            u[i] = 0;
            for (int64_t j = 0; j <= i; j++) u[i] += e->C[i * q + j] * v[j];
        }
        for (int64_t j = 0; j < q; j++) square += e->v[g * q + j] * e->v[g * q + j];
    }
    status = sgfsi_mixed_times(at, d, at->e, err);
    if (status != SGFS_OK) return status;
    sgfsi_mixed_sum(at, add_change, s, 0, &none);
    double prior = 0, most;
    status = sgfsi_prior_add(&m->fixed, at->theta, &prior, NULL, err);
    most = before - 0.5 * square + prior;
    s->step = 1;
    for (int half = 0; half <= HALVINGS && status == SGFS_OK; half++, s->step *= 0.5) {
        double here = 0, value;
        square = 0;
        for (int64_t j = 0; j < t->G * q; j++) {
            double v = e->v[j] + s->step * e->two[j];
            square += v * v;
        }
        for (int64_t j = 0; j < p; j++) at->theta[j] = old[j] + s->step * d[j];
        status = sgfsi_prior_add(&m->fixed, at->theta, &here, NULL, err);
        sgfsi_mixed_sum(at, try_step, s, 1, &value);
        if (!(value - 0.5 * square + here >= most - 1e-9 * (1 + fabs(most)))) continue;
        at->loglik = value;
        for (int64_t j = 0; j < t->G * q; j++) e->v[j] += s->step * e->two[j];
        double sum = 0;
        for (int64_t i = 0; i < m->N; i++) {
            double change = at->f[i] - at->eta[i];
            sum += change * change;
            at->eta[i] = at->f[i];
        }
        *moved = fmax(*moved, sqrt(sum / (double)m->N));
        return status;
    }
    memcpy(at->theta, old, (size_t)p * sizeof *old); /* it is as near as it gets */
    return status;
}

/* ---- EM -------------------------------------------------------------------------------------- */

/* The scales whose Sigma is nearest to S (q x q, lower), within what the prior has a use for. */
static void take_scales(const sgfsi_term_scales *t, const double *S, double *shape) {
    enum { Q = SGFSI_MOST_EFFECTS };
    int64_t q = t->q;
    double R[Q * Q], *r = shape + q;
    for (int64_t i = 0; i < q; i++)
        shape[i] = log(fmin(fmax(sqrt(S[i * q + i]), 1e-3 * t->scale[i]), 4 * t->scale[i]));
    for (int64_t i = 0; t->term->correlated && i < q; i++) {
        double left = 1;
        for (int64_t j = 0; j < i; j++) {
            double sum = S[i * q + j] / sqrt(S[i * q + i] * S[j * q + j]);
            for (int64_t k = 0; k < j; k++) sum -= R[i * q + k] * R[j * q + k];
            R[i * q + j] = sum / R[j * q + j];
            double cpc = fmin(fmax(R[i * q + j] / sqrt(left), -0.95), 0.95);
            R[i * q + j] = cpc * sqrt(left);
            left *= 1 - cpc * cpc;
            *r++ = atanh(cpc);
        }
        R[i * q + i] = sqrt(left);
    }
}

/* Effects stay, u = C v, while the scales move. *free: effective parameters of the term. */
static double expect(search *s, double *free) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const sgfsi_mixed_term *t = &s->m->term[s->k];
    sgfsi_mixed_effects *e = &s->at->term[s->k];
    int64_t q = t->q;
    double S[Q * Q] = {0}, before[Q * (Q + 1) / 2], most = 0;
    for (int64_t g = 0; g < t->G; g++) {
        double K[Q * Q], m[Q], *u = e->one + g * q;
        sgfsi_mixed_frame(t, g, 1, e->C, e->c + g * q, true, K, m);
        for (int64_t i = 0; i < q; i++) {
            u[i] = 0;
            for (int64_t j = 0; j <= i; j++) u[i] += e->C[i * q + j] * e->v[g * q + j];
        }
        for (int64_t c = 0; c < q; c++) { /* columns of C K^-T */
            double x[Q] = {0}, y[Q];
            x[c] = 1;
            for (int64_t i = q - 1; i >= 0; i--) {
                for (int64_t j = i + 1; j < q; j++) x[i] -= K[j * q + i] * x[j];
                x[i] /= K[i * q + i];
            }
            for (int64_t i = 0; i < q; i++) {
                *free -= x[i] * x[i];
                y[i] = 0;
                for (int64_t j = 0; j <= i; j++) y[i] += e->C[i * q + j] * x[j];
            }
            for (int64_t i = 0; i < q; i++)
                for (int64_t j = 0; j <= i; j++) S[i * q + j] += y[i] * y[j];
        }
        *free += (double)q;
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j <= i; j++) S[i * q + j] += u[i] * u[j];
    }
    for (int64_t i = 0; i < q * q; i++) S[i] /= (double)t->G;
    memcpy(before, e->shape, (size_t)t->scales->count * sizeof *before);
    take_scales(t->scales, S, e->shape);
    sgfsi_scales_factor(t->scales, e->shape, e->C);
    for (int64_t g = 0; g < t->G; g++) /* v = C^-1 u */
        for (int64_t i = 0; i < q; i++) {
            double x = e->one[g * q + i];
            for (int64_t j = 0; j < i; j++) x -= e->C[i * q + j] * e->v[g * q + j];
            e->v[g * q + i] = x / e->C[i * q + i];
        }
    for (int64_t i = 0; i < t->scales->count; i++) most = fmax(most, fabs(e->shape[i] - before[i]));
    return most;
}

/* log sigma, from the residual sum of squares that the log likelihood tells. */
static void fit_sigma(const sgfsi_mixed *m, sgfsi_mixed_place *at, double free) {
    double W = m->fixed.data->total, ls = at->theta[m->base - 1];
    double rss = -2 * exp(2 * ls) * (at->loglik + W * (ls + SGFSI_HALF_LOG_TWO_PI));
    double rows = fmax(W - free - (double)m->p, 0.05 * W);
    if (rss > 0) at->theta[m->base - 1] = 0.5 * log(rss / rows);
}

sgfs_status sgfsi_mixed_anchor(sgfsi_mixed *m, sgfsi_mixed_place *at, sgfs_err *err) {
    search s = {.m = m, .at = at};
    int64_t D = m->base, p = m->p;
    sgfsi_arena arena = {NULL};
    double *A, *G, *spread, *room;
    if (!SGFSI_ROOM(&arena, D * D, &A) || !SGFSI_ROOM(&arena, D, &G, &spread) ||
        !SGFSI_ROOM(&arena, p * p + 4 * p, &room)) {
        sgfsi_arena_free(&arena);
        return sgfsi_fail_memory(err, "the anchor");
    }
    m->fixed.kind->start(&m->fixed, at->theta, spread);
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_term_scales *t = m->term[k].scales;
        for (int64_t i = 0; i < t->q; i++) at->term[k].shape[i] = log(0.3 * t->scale[i]);
        sgfsi_scales_factor(t, at->term[k].shape, at->term[k].C);
    }
    sgfs_status status = SGFS_OK;
    double moved = INFINITY;
    for (; m->rounds < MOST_ROUNDS && moved > 0.02 && status == SGFS_OK; m->rounds++) {
        double free = 0;
        moved = 0;
        status = sgfsi_mixed_refresh(at, err);
        if (status == SGFS_OK) status = expand_all(&s, A, G, err);
        for (s.k = 0; s.k < m->terms && status == SGFS_OK; s.k++)
            status = climb(&s, room, &moved, err);
        for (s.k = 0; s.k < m->terms && status == SGFS_OK; s.k++)
            moved = fmax(moved, expect(&s, &free));
        if (status == SGFS_OK) status = sgfsi_mixed_refresh(at, err);
        if (m->sigma && status == SGFS_OK) fit_sigma(m, at, free);
    }
    if (status == SGFS_OK) status = sgfsi_mixed_refresh(at, err);
    if (status == SGFS_OK) status = expand_all(&s, A, G, err);
    for (int64_t k = 0; k < m->terms; k++)
        memcpy(m->shape[k], at->term[k].shape,
               (size_t)m->term[k].scales->count * sizeof *m->shape[k]);
    if (status == SGFS_OK && !isfinite(at->loglik))
        status = sgfsi_fail(err, SGFS_ENUMERIC, "the search for an anchor of the groups diverged");
    sgfsi_arena_free(&arena);
    return status;
}
