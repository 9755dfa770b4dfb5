/* SPDX-License-Identifier: MIT
 * boltzmann.c: the loops over host memory for a discriminative restricted Boltzmann machine
 * (model/drbm.c), row by row, so that what one row needs stays in the nearest cache.
 *
 * t = exp(-|a|) lies in (0, 1], so nothing overflows, and serves both
 *     sigmoid(a) = (a >= 0 ? 1 : t)/(1 + t)   and   softplus(a) = max(a, 0) + log(1 + t).
 * With a_jk = s_j + U_jk it is a product, t = exp(-s) exp(-U) or exp(s) exp(U), whichever is at
 * most 1, of powers made once for each row and unit and once for each unit and class: n H + H K
 * calls of exp for a batch. Where U is too large for that (|U| > 600, or more than MOST_POWERS
 * numbers), one exp is taken for each row, unit and class: n H K.
 * The logarithms of one class are taken together, sum_j log(1 + t_j) = log(1 + q) with
 * 1 + q = prod_j (1 + t_j); q is carried, not 1 + q, so that units far below zero still count.
 * A row is worked through in tiles of at most 512 units (K >= 2), so q stays below 2^512.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "context/device/device.h"

enum { TILE = SGFSI_MOST_CLASSES, LANES = 8, MOST_POWERS = 4096 };
static const double SAFE = 700; /* exp(-+SAFE) is an ordinary number */

/* The machine, with exp(U) and exp(-U). */
typedef struct place {
    const sgfsi_boltzmann *of;
    bool known;                                /* the powers are in use */
    double up[MOST_POWERS], down[MOST_POWERS]; /* H x K */
} place;

/* Some units of one row. */
typedef struct tile {
    int64_t units, K;
    const double *s;             /* units: W_j x + c_j */
    const double *s_up, *s_down; /* units: exp(s), exp(-s) */
    const double *U;             /* units x K */
    const double *U_up, *U_down; /* units x K: exp(U), exp(-U) */
    const double *t;             /* units x K: exp(-|a|), where the four above are not known */
    double *sigmoid;             /* units x K to fill, or NULL */
} tile;

enum { PRODUCT = 1, SIGMOID = 2 }; /* what is asked of sum_lanes, known while compiling */

static int64_t whole_lanes(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

/* x = exp(x) in whole lanes, for which x has room: a few last numbers would cost as much as many.
 */
static void exp_lanes(const sgfs_device *dev, int64_t n, double *x) {
    for (int64_t i = n; i < whole_lanes(n); i++) x[i] = 0;
    sgfsi_exp(dev, whole_lanes(n), x, x);
}

/* up = exp(x), down = exp(-x) of n numbers, those beyond SAFE taken as SAFE: no infinities, none of
 * the slow roads of exp. */
static void both_powers(const sgfs_device *dev, int64_t n, const double *x, double *up,
                        double *down) {
    for (int64_t i = 0; i < n; i++) up[i] = fabs(x[i]) <= SAFE ? x[i] : copysign(SAFE, x[i]);
    exp_lanes(dev, n, up);
    for (int64_t i = 0; i < n; i++) down[i] = 1 / up[i];
}

/* Inputs s beyond SAFE then meet |U| <= SAFE - 100: |a| is more than 100, and a t of exp(-100) or
 * less is nothing beside 1, whatever its exact size. */
static void look_at(const sgfs_device *dev, const sgfsi_boltzmann *of, place *out) {
    int64_t HK = of->H * of->K;
    out->of = of;
    out->known = HK <= MOST_POWERS;
    for (int64_t i = 0; out->known && i < HK; i++) out->known = fabs(of->U[i]) <= SAFE - 100;
    if (out->known) both_powers(dev, HK, of->U, out->up, out->down);
}

/* Classes k .. k+lanes-1: l = sum_j max(a_j, 0), 1 + q = prod_j (1 + t_j), and the sigmoids. Units
 * come in pairs (a, t and b, u): one division serves both, 1/(1+t) = (1+u)/((1+t)(1+u)), and the
 * sums wait half as often for what was just added. The last of an odd number is paired with itself,
 * counted 0 times. max(a, 0) is (a + |a|)/2, exactly. */
static inline void sum_lanes(const tile *is, int64_t k, int lanes, int how, double *restrict l,
                             double *restrict q) {
    const double *U = is->U, *up = is->U_up, *down = is->U_down, *half = is->t;
    double sum[LANES] = {0}, more[LANES] = {0}, *sigmoid = is->sigmoid;
    bool product = how & PRODUCT;
    for (int64_t j = 0; j < is->units; j += 2) {
        int64_t i = j + 1 < is->units ? j + 1 : j, at = j * is->K + k, by = i * is->K + k;
        double s = is->s[j], s_up = product ? is->s_up[j] : 0, s_down = product ? is->s_down[j] : 0;
        double r = is->s[i], r_up = product ? is->s_up[i] : 0, r_down = product ? is->s_down[i] : 0;
        double count = i > j ? 1 : 0;
#pragma omp simd
        for (int c = 0; c < lanes; c++) {
            double a = s + U[at + c], b = r + U[by + c], t, u;
            if (product) {
                t = a >= 0 ? s_down * down[at + c] : s_up * up[at + c];
                u = b >= 0 ? r_down * down[by + c] : r_up * up[by + c];
            } else {
                t = half[at + c];
                u = half[by + c];
            }
            u *= count;
            double one = 1 + t, two = 1 + u, both = one * two;
            sum[c] += (a + fabs(a)) + count * (b + fabs(b));
            more[c] = more[c] * both + (t * two + u);
            if (how & SIGMOID) {
                double inverse = 1 / both;
                sigmoid[by + c] = (b >= 0 ? 1 : u) * (inverse * one);
                sigmoid[at + c] = (a >= 0 ? 1 : t) * (inverse * two);
            }
        }
    }
    for (int c = 0; c < lanes; c++) {
        l[k + c] = 0.5 * sum[c];
        q[k + c] = more[c];
    }
}

/* Classes go in steps of LANES, the last step drawn back so that it ends with the last class: what
 * two steps share is written twice, the same both times. */
static inline void sum_classes(const tile *is, int how, double *l, double *q) {
    int64_t K = is->K;
    if (K < LANES) sum_lanes(is, 0, (int)K, how, l, q);
    for (int64_t k = 0; K >= LANES && k < K; k += LANES) {
        sum_lanes(is, k + LANES <= K ? k : K - LANES, LANES, how, l, q);
    }
}

/* The classes' logits l (K) gain what the units of the tile add. */
static void add_tile(const sgfs_device *dev, tile *is, double *l) {
    double t[TILE], up[TILE], positive[TILE], q[TILE];
    int64_t K = is->K;
    bool product = is->U_up != NULL;
    if (product) both_powers(dev, is->units, is->s, up, t);
    for (int64_t j = 0; !product && j < is->units; j++) {
        for (int64_t k = 0; k < K; k++) t[j * K + k] = -fabs(is->s[j] + is->U[j * K + k]);
    }
    if (!product) exp_lanes(dev, is->units * K, t); /* t = exp(-|a|), units x K */
    is->s_up = up;
    is->s_down = is->t = t;
    if (product && is->sigmoid != NULL) sum_classes(is, PRODUCT | SIGMOID, positive, q);
    else if (product) sum_classes(is, PRODUCT, positive, q);
    else if (is->sigmoid != NULL) sum_classes(is, SIGMOID, positive, q);
    else sum_classes(is, 0, positive, q);
    for (int64_t k = K; k < whole_lanes(K); k++) q[k] = 0;
    sgfsi_log1p(dev, whole_lanes(K), q, q);
    for (int64_t k = 0; k < K; k++) l[k] += positive[k] + q[k];
}

/* The level logits l (K) of row i. sigmoid: H x K, or NULL. */
static void fill_logits(const sgfs_device *dev, const place *at, int64_t i, double *l,
                        double *sigmoid) {
    const sgfsi_boltzmann *is = at->of;
    const double *s = is->S != NULL ? is->S + i * is->H : NULL;
    int64_t K = is->K, most = TILE / K;
    double own[TILE];
    for (int64_t k = 0; k < K; k++) l[k] = is->B != NULL ? is->B[k] : 0;
    for (int64_t j = 0; j < is->H; j += most) {
        tile now = {.units = is->H - j < most ? is->H - j : most, .K = K};
        if (s == NULL)
            sgfsi_gemv(dev, now.units, is->p, 1.0, is->W + j * is->p, is->X + i * is->p, 0.0, own);
        now.s = s != NULL ? s + j : own;
        now.U = is->U + j * K;
        now.U_up = at->known ? at->up + j * K : NULL;
        now.U_down = at->known ? at->down + j * K : NULL;
        now.sigmoid = sigmoid != NULL ? sigmoid + j * K : NULL;
        add_tile(dev, &now, l);
    }
    /* Logits are known up to a constant; here it makes the largest 0, so that differences of large
     * ones are exact. */
    double largest = l[0];
    for (int64_t k = 1; k < K; k++) largest = l[k] > largest ? l[k] : largest;
    for (int64_t k = 0; k < K; k++) l[k] -= largest;
}

/* Level l -> P, in place, l having room for whole lanes; returns logsumexp(l). */
static double normalise(const sgfs_device *dev, int64_t K, double *l) {
    double sum = 0;
    exp_lanes(dev, K, l);
    for (int64_t k = 0; k < K; k++) sum += l[k];
    for (int64_t k = 0; k < K; k++) l[k] /= sum;
    return log(sum);
}

/* dU = e_k sigmoid_jk, in place, and dc_j = sum_k dU_jk. */
static void spread_error(int64_t H, int64_t K, const double *restrict e, double *restrict dU,
                         double *restrict dc) {
    int64_t whole = K / LANES * LANES;
    for (int64_t j = 0; j < H; j++) {
        double *restrict u = dU + j * K, sum[LANES] = {0}, total = 0;
        for (int64_t k = 0; k < whole; k += LANES) {
#pragma omp simd
            for (int c = 0; c < LANES; c++) {
                u[k + c] *= e[k + c];
                sum[c] += u[k + c];
            }
        }
        for (int64_t k = whole; k < K; k++) {
            u[k] *= e[k];
            total += u[k];
        }
#pragma omp simd reduction(+ : total)
        for (int c = 0; c < LANES; c++) total += sum[c];
        dc[j] = total;
    }
}

void sgfsi_boltzmann_of(SGFSI_HERE, const sgfsi_boltzmann *b) {
    int64_t H = b->H, K = b->K;
    double e[TILE];
    place at;
    if (dev->ops->boltzmann != NULL) {
        dev->ops->boltzmann(dev, b);
        return;
    }
    assert(K <= TILE);
    look_at(dev, b, &at);
    for (int64_t i = 0; i < b->n; i++) {
        double *dU = b->EU != NULL ? b->EU + i * H * K : NULL;
        int64_t y = b->own != NULL ? (int64_t)b->own[i] : -1;
        fill_logits(dev, &at, i, e, dU);
        double own = y >= 0 ? e[y] : -INFINITY;
        double norm = normalise(dev, K, e);
        if (b->loglik != NULL) b->loglik[i] = own - norm;
        if (b->P != NULL) memcpy(b->P + i * K, e, (size_t)K * sizeof *e);
        if (dU == NULL) continue;
        for (int64_t k = 0; k < K; k++) e[k] = (k == y ? 1.0 : 0.0) - e[k];
        spread_error(H, K, e, dU, b->ES + i * H);
        if (b->E != NULL) memcpy(b->E + i * K, e, (size_t)K * sizeof *e);
    }
}
