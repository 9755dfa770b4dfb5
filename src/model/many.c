/* SPDX-License-Identifier: MIT
 * many.c: see many.h.
 *
 *   K      places of a call             R      predictors of a row: rows of beta, 1 but for softmax
 *   n      rows of a block, a few hundred at most, so that its predictors stay in cache
 *   E      n x (R K): predictors, those of one row of beta at all places side by side
 */
#include "model/many.h"

#include <math.h>
#include <string.h>

#include "model/glm.h"
#include "model/taylor_remainder.h"

enum {
    ELEMENTS = 1 << 15, /* predictors of a block: 256 KiB of them */
    MOST_ROWS = 256,
    GROUP = 32, /* factors of a product before its logarithm is taken */
    LANES = 8,
    WIDE = 4 * LANES /* predictors of a sparse row that are made together */
};
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double loose __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
static const double largest = 1e300, smallest = 1e-300; /* that a product may be */

/* Where everything lies in at->scratch. */
typedef struct room {
    int64_t R, K, rows; /* rows: of a block */
    double *E;          /* rows x R K */
    double *B, *G;      /* R K x p: the places in the order of E's columns, and gradients */
    double *a;          /* rows x R: predictors at the centre */
    double *h;          /* R K */
    double *plus, *minus, *up, *down, *work; /* K each */
    double *own, *base, *rest;               /* rows x K: of a softmax */
    double *linear, *even;                   /* D each: add_linear */
} room;

static room lay_out(int64_t R, int64_t p, int64_t K, double *scratch, int64_t *size) {
    int64_t width = R * K, rows = ELEMENTS / width;
    rows = rows < 16 ? 16 : rows > MOST_ROWS ? MOST_ROWS : rows;
    room r = {.R = R, .K = K, .rows = rows};
    double **const at[] = {&r.E,    &r.B,    &r.G,   &r.a,    &r.h,    &r.plus,   &r.minus, &r.up,
                           &r.down, &r.work, &r.own, &r.base, &r.rest, &r.linear, &r.even};
    const int64_t sizes[] = {rows * width, width * p, width * p, rows * R, width, K, K, K, K, K,
                             rows * K,     rows * K,  rows * K,  R * p,    R * p};
    *size = 0;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        *at[i] = scratch != NULL ? scratch + *size : NULL;
        *size += (sizes[i] + 7) / 8 * 8; /* each at the start of a cache line */
    }
    return r;
}

int64_t sgfsi_many_scratch(const sgfs_model *m, int64_t count, int64_t n) {
    int64_t size;
    (void)n;
    (void)lay_out(m->block[0].rows, m->block[0].cols, count, NULL, &size);
    return size;
}

/* E's column of row q of beta at place k: neighbours in k for pairs, whose loops run over places,
 * else in q, as the places themselves lie. */
static int64_t column_of(const room *r, bool pairs, int64_t k, int64_t q) {
    return pairs ? q * r->K + k : k * r->R + q;
}

/* B = the coefficients; for sparse rows transposed, p x R K. */
static void arrange(const sgfs_batch *b, const sgfs_places *at, const room *r) {
    enum { LINE = 8 }; /* numbers: rows of B that are filled side by side stay in cache */
    int64_t p = b->p, width = r->R * r->K, some = b->sparse == NULL ? p : LINE;
    for (int64_t first = 0; first < p; first += some) {
        int64_t end = first + some < p ? first + some : p;
        for (int64_t i = 0; i < width; i++) {
            const double *from = at->theta + i * p;
            int64_t column = column_of(r, at->centre != NULL, i / r->R, i % r->R);
            if (b->sparse == NULL) memcpy(r->B + column * p, from, (size_t)p * sizeof *from);
            else
                for (int64_t j = first; j < end; j++) r->B[j * width + column] = from[j];
        }
    }
}

/* out (width) = the entries of row i times rows of B (p x width): WIDE numbers at a time stay in
 * registers while the entries go by. */
static void predict_sparse_row(const sgfs_csr *x, int64_t i, int64_t width, const double *B,
                               double *out) {
    int64_t k = 0;
    for (; k + WIDE <= width; k += WIDE) {
        lanes s[WIDE / LANES] = {{0}};
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *from = B + x->col[e] * width + k;
            for (int g = 0; g < WIDE / LANES; g++)
                s[g] += x->value[e] * *(const loose *)(const void *)(from + g * LANES);
        }
        memcpy(out + k, s, sizeof s);
    }
    for (int64_t j = k; j < width; j++) out[j] = 0;
    for (int64_t e = x->start[i]; k < width && e < x->start[i + 1]; e++)
        for (int64_t j = k; j < width; j++) out[j] += x->value[e] * B[x->col[e] * width + j];
}

/* E of rows first .. first + n - 1, offsets left out, from B. */
static void predict(const sgfs_model *m, const sgfs_batch *b, int64_t first, int64_t n,
                    const room *r) {
    int64_t width = r->R * r->K;
    if (b->sparse == NULL) {
        sgfsi_gemm_nt(m->ctx.near, n, width, b->p, 1.0, b->x + first * b->p, r->B, 0.0, r->E);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        predict_sparse_row(b->sparse, first + i, width, r->B, r->E + i * width);
}

/* out += V' X over rows first .. first + n - 1; V: n x width; out: width x p, for sparse rows p x
 * width. */
static void sum_rows(const sgfs_model *m, const sgfs_batch *b, int64_t width, const double *V,
                     int64_t first, int64_t n, double *out) {
    if (b->sparse == NULL) {
        sgfsi_gemm_tn(m->ctx.near, n, width, b->p, 1.0, V, b->x + first * b->p, 1.0, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = b->sparse->start[first + i]; e < b->sparse->start[first + i + 1]; e++) {
            double *restrict to = out + b->sparse->col[e] * width, value = b->sparse->value[e];
            const double *restrict from = V + i * width;
            for (int64_t k = 0; k < width; k++) to[k] += value * from[k];
        }
    }
}

static double weight_of(const sgfs_batch *b, int64_t i) {
    return b->weight != NULL ? b->weight[i] : 1;
}

/* Predictors of one place (D numbers) for rows first .. first + n - 1: n x R. */
static void predict_one(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                        int64_t first, int64_t n, double *a) {
    sgfsi_glm_predictors(m, theta, b, first, n, a);
    for (int64_t i = 0; b->offset != NULL && i < n; i++) a[i] += b->offset[first + i];
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* sums[k] -= log of the product of n rows' factors; where that is no number, `safely` makes the
 * logarithm of each. */
typedef struct factors {
    const sgfs_model *model;
    const room *r;
    bool further;        /* softmax: a class with predictor 0 */
    const double *top;   /* softmax: the largest predictor of each row at the centre */
    const double *E, *a; /* of the group's first row */
    int64_t n;           /* rows of the group */
} factors;

static double log_factor(const factors *f, int64_t i, int64_t k, double sign) {
    int64_t R = f->r->R, K = f->r->K;
    const double *a = f->a + i * R, *e = f->E + i * R * K + k;
    if (f->top == NULL)
        return sgfsi_softplus(a[0] + sign * e[0]) - fmax(a[0], 0) + (sign < 0 ? e[0] : 0);
    double most = f->further ? 0 : -INFINITY, sum = 0;
    for (int64_t q = 0; q < R; q++) most = fmax(most, a[q] + sign * e[q * K]);
    for (int64_t q = 0; q < R; q++) sum += exp(a[q] + sign * e[q * K] - most);
    if (f->further) sum += exp(-most);
    return most + log(sum) - f->top[i];
}

static void take_logs(const factors *f, double sign, double *product, double *sums) {
    int64_t K = f->r->K;
    double *log = f->r->work;
    /* log p = -log 1/p: log1p sees nothing of a p near 0 */
    for (int64_t k = 0; k < K; k++) log[k] = (product[k] < 1 ? 1 / product[k] : product[k]) - 1;
    sgfsi_log1p(f->model->ctx.near, K, log, log);
    for (int64_t k = 0; k < K; k++) {
        bool fits = product[k] < largest && product[k] > smallest;
        for (int64_t i = 0; !fits && i < f->n; i++) sums[k] -= log_factor(f, i, k, sign);
        if (fits) sums[k] -= product[k] < 1 ? -log[k] : log[k];
        product[k] = 1;
    }
}

/* The products of a group of rows, the first of which is b's row `first`, become sums; a weighted
 * row is a group of its own. */
static void take_group(const factors *f, const sgfs_batch *b, int64_t first,
                       const sgfs_places *at) {
    int64_t K = f->r->K;
    double *gained = f->r->up, w = weight_of(b, first);
    for (int side = 0; side < 2; side++) {
        double sign = side == 0 ? 1 : -1, *product = side == 0 ? f->r->plus : f->r->minus;
        double *sums = side == 0 ? at->loglik : at->minus;
        if (b->weight == NULL) {
            take_logs(f, sign, product, sums);
            continue;
        }
        memset(gained, 0, (size_t)K * sizeof *gained);
        take_logs(f, sign, product, gained);
        for (int64_t k = 0; w > 0 && k < K; k++) sums[k] += w * gained[k];
    }
}

/* Rows first .. first + n - 1, whose E and a are made. With A = min(1, exp(-a)), B = min(1, exp(a))
 *     1 + exp(a + e) = (A + B exp(e)) / A      1 + exp(a - e) = (A exp(e) + B) / (A exp(e)) :
 * one exp for both signs and no division; `even` and `fixed` of the caller have the
 * denominators. */
static void logit_pairs(const sgfs_model *m, const sgfs_batch *b, int64_t first, int64_t n,
                        const room *r, const sgfs_places *at) {
    int64_t K = r->K, group = b->weight != NULL ? 1 : GROUP;
    double *restrict plus = r->plus, *restrict minus = r->minus, *restrict h = r->h;
    for (int64_t k = 0; k < K; k++) plus[k] = minus[k] = 1;
    for (int64_t i = 0; i < n; i += group) {
        int64_t end = n - i < group ? n : i + group;
        for (int64_t j = i; j < end; j++) {
            double A = exp(fmin(0, -r->a[j])), B = exp(fmin(0, r->a[j]));
            sgfsi_exp(m->ctx.near, K, r->E + j * K, h);
            for (int64_t k = 0; k < K; k++) {
                plus[k] *= A + B * h[k];
                minus[k] *= A * h[k] + B;
            }
        }
        const factors f = {.model = m, .r = r, .E = r->E + i * K, .a = r->a + i, .n = end - i};
        take_group(&f, b, first + i, at);
    }
}

static void log_pairs(const sgfs_model *m, const sgfs_batch *b, int64_t first, int64_t n,
                      const room *r, const sgfs_places *at) {
    int64_t K = r->K;
    double *restrict plus = at->loglik, *restrict minus = at->minus, *restrict h = r->h;
    for (int64_t i = 0; i < n; i++) {
        const double *e = r->E + i * K, w = weight_of(b, first + i), mean = w * exp(r->a[i]);
        if (w == 0) continue;
        sgfsi_exp(m->ctx.near, K, e, h);
        int fits = mean > smallest && mean < largest;
        for (int64_t k = 0; k < K; k++) fits &= h[k] > smallest && h[k] < largest;
        for (int64_t k = 0; k < K && fits; k++) {
            plus[k] -= mean * h[k];
            minus[k] -= mean / h[k];
        }
        for (int64_t k = 0; k < K && !fits; k++) { /* a factor may be 0 or infinite by itself */
            plus[k] -= w * exp(r->a[i] + e[k]);
            minus[k] -= w * exp(r->a[i] - e[k]);
        }
    }
}

static void softmax_pairs(const sgfs_model *m, bool further, const sgfs_batch *b, int64_t first,
                          int64_t n, const room *r, const sgfs_places *at) {
    int64_t K = r->K, R = r->R, group = b->weight != NULL ? 1 : GROUP;
    double *restrict plus = r->plus, *restrict minus = r->minus, *restrict up = r->up,
                     *restrict down = r->down, *top = r->own;
    for (int64_t k = 0; k < K; k++) plus[k] = minus[k] = 1;
    for (int64_t i = 0; i < n; i += group) {
        int64_t end = n - i < group ? n : i + group;
        for (int64_t j = i; j < end; j++) {
            const double *a = r->a + j * R;
            top[j] = further ? 0 : a[0];
            for (int64_t q = 0; q < R; q++) top[j] = fmax(top[j], a[q]);
            double base = further ? exp(-top[j]) : 0;
            for (int64_t k = 0; k < K; k++) up[k] = down[k] = base;
            sgfsi_exp(m->ctx.near, R * K, r->E + j * R * K, r->h);
            for (int64_t q = 0; q < R; q++) {
                double g = exp(a[q] - top[j]);
                const double *restrict e = r->h + q * K;
                for (int64_t k = 0; k < K; k++) {
                    up[k] += g * e[k];
                    down[k] += g / e[k];
                }
            }
            for (int64_t k = 0; k < K; k++) {
                plus[k] *= up[k];
                minus[k] *= down[k];
            }
        }
        const factors f = {.model = m,
                           .r = r,
                           .further = further,
                           .top = top + i,
                           .E = r->E + i * R * K,
                           .a = r->a + i * R,
                           .n = end - i};
        take_group(&f, b, first + i, at);
        for (int64_t j = i; j < end; j++) { /* the factors are less than the sums by this */
            double less = weight_of(b, first + j) * top[j];
            for (int64_t k = 0; k < K; k++) at->loglik[k] -= less, at->minus[k] -= less;
        }
    }
}

/* What is linear in the predictors at centre +- theta_k: `fixed` at the centre, linear'theta_k more
 * or less; even'theta_k more at centre - theta_k, if there is such a term. */
static void add_linear(const sgfs_model *m, const sgfs_places *at, double fixed, const double *even,
                       const room *r) {
    sgfsi_gemv(m->ctx.near, at->count, m->D, 1.0, at->theta, r->linear, 0.0, r->work);
    for (int64_t k = 0; k < at->count; k++) {
        at->loglik[k] += fixed + r->work[k];
        at->minus[k] += fixed - r->work[k];
    }
    if (even == NULL) return;
    sgfsi_gemv(m->ctx.near, at->count, m->D, 1.0, at->theta, even, 0.0, r->work);
    for (int64_t k = 0; k < at->count; k++) at->minus[k] += r->work[k];
}

/* ---- places, with their gradients ------------------------------------------------------------ */

/* E becomes residuals, times the rows' weights. */
static void link_places(const sgfs_model *m, sgfsi_link link, const sgfs_batch *b, int64_t first,
                        int64_t n, const room *r, const sgfs_places *at) {
    int64_t K = r->K;
    for (int64_t i = 0; i < n; i++) {
        double *eta = r->E + i * K, w = weight_of(b, first + i);
        for (int64_t k = 0; k < K; k++) r->up[k] = b->y[first + i];
        for (int64_t k = 0; b->offset != NULL && k < K; k++) eta[k] += b->offset[first + i];
        const sgfsi_pointwise p = {.n = K,
                                   .eta = eta,
                                   .y = r->up,
                                   .one = link == SGFSI_LOGIT ? m->labels.value[1] : 0,
                                   .residual = at->G != NULL ? r->h : NULL,
                                   .loglik = r->plus,
                                   .work = r->work};
        sgfsi_link_of(m->ctx.near, link, &p);
        for (int64_t k = 0; w > 0 && k < K; k++) at->loglik[k] += w * r->plus[k];
        for (int64_t k = 0; at->G != NULL && k < K; k++) eta[k] = w > 0 ? w * r->h[k] : 0;
    }
}

static void softmax_places(const sgfs_model *m, bool further, const sgfs_batch *b,
                           const double *own, int64_t first, int64_t n, const room *r,
                           const sgfs_places *at) {
    int64_t K = r->K, R = r->R;
    const sgfsi_softmax s = {.n = n * K,
                             .rows = R,
                             .further = further,
                             .P = r->E,
                             .base = r->base,
                             .own = r->own,
                             .rest = r->rest};
    for (int64_t i = 0; i < n * K; i++)
        r->own[i] = own[first + i / K] >= 0 ? own[first + i / K] : (double)R;
    sgfsi_softmax_of(m->ctx.near, &s);
    sgfsi_log1p(m->ctx.near, n * K, r->rest, r->rest);
    for (int64_t i = 0; i < n; i++) {
        double w = weight_of(b, first + i);
        for (int64_t k = 0; w > 0 && k < K; k++)
            at->loglik[k] += w * (r->own[i * K + k] - r->rest[i * K + k]);
    }
    if (at->G == NULL) return;
    for (int64_t i = 0; i < n * K; i++) r->own[i] = own[first + i / K];
    sgfsi_unit_less(m->ctx.near, n * K, R, r->own, r->E);
    for (int64_t i = 0; b->weight != NULL && i < n; i++) {
        double w = b->weight[first + i], *row = r->E + i * K * R;
        for (int64_t k = 0; k < K * R; k++) row[k] = w > 0 ? w * row[k] : 0;
    }
}

/* p x R -> R x p; other: room for as much. */
static void turn(int64_t R, int64_t p, double *x, double *other) {
    memcpy(other, x, (size_t)(R * p) * sizeof *x);
    for (int64_t q = 0; q < R; q++)
        for (int64_t j = 0; j < p; j++) x[q * p + j] = other[j * R + q];
}

static void add_gradients(const sgfs_batch *b, const room *r, double *G) {
    int64_t width = r->R * r->K, p = b->p;
    for (int64_t j = 0; b->sparse != NULL && j < p; j++)
        for (int64_t k = 0; k < width; k++) G[k * p + j] += r->G[j * width + k];
    for (int64_t i = 0; b->sparse == NULL && i < width * p; i++) G[i] += r->G[i];
}

/* ---- the hooks' work ------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void sgfsi_many_link(const sgfs_model *m, sgfsi_link link, const sgfs_batch *b,
                     const sgfs_places *at) {
    int64_t size;
    const room r = lay_out(1, b->p, at->count, at->scratch, &size);
    bool logit = link == SGFSI_LOGIT, pairs = at->centre != NULL;
    double fixed = 0;
    arrange(b, at, &r);
    memset(r.linear, 0, (size_t)b->p * sizeof *r.linear);
    memset(r.even, 0, (size_t)b->p * sizeof *r.even);
    if (at->G != NULL) memset(r.G, 0, (size_t)(at->count * b->p) * sizeof *r.G);
    for (int64_t first = 0; first < b->n; first += r.rows) {
        int64_t n = least(b->n - first, r.rows);
        predict(m, b, first, n, &r);
        if (!pairs) {
            link_places(m, link, b, first, n, &r, at);
            if (at->G != NULL) sum_rows(m, b, at->count, r.E, first, n, r.G);
            continue;
        }
        predict_one(m, at->centre, b, first, n, r.a);
        if (logit) logit_pairs(m, b, first, n, &r, at);
        else log_pairs(m, b, first, n, &r, at);
        for (int64_t i = 0; i < n; i++) {
            double y = b->y[first + i], w = weight_of(b, first + i);
            r.own[i] = w * (logit ? y == m->labels.value[1] : y);
            fixed += r.own[i] * r.a[i] - (logit ? w * fmax(r.a[i], 0) : 0);
            r.base[i] = w;
        }
        sum_rows(m, b, 1, r.own, first, n, r.linear);
        if (logit) sum_rows(m, b, 1, r.base, first, n, r.even);
    }
    if (pairs) add_linear(m, at, fixed, logit ? r.even : NULL, &r);
    else if (at->G != NULL) add_gradients(b, &r, at->G);
}

void sgfsi_many_softmax(const sgfs_model *m, bool further, const sgfs_batch *b, const double *own,
                        const sgfs_places *at) {
    int64_t R = m->block[0].rows, size;
    const room r = lay_out(R, b->p, at->count, at->scratch, &size);
    bool pairs = at->centre != NULL;
    double fixed = 0;
    arrange(b, at, &r);
    memset(r.linear, 0, (size_t)m->D * sizeof *r.linear);
    if (at->G != NULL) memset(r.G, 0, (size_t)(at->count * m->D) * sizeof *r.G);
    for (int64_t first = 0; first < b->n; first += r.rows) {
        int64_t n = least(b->n - first, r.rows);
        predict(m, b, first, n, &r);
        if (!pairs) {
            softmax_places(m, further, b, own, first, n, &r, at);
            if (at->G != NULL) sum_rows(m, b, R * at->count, r.E, first, n, r.G);
            continue;
        }
        predict_one(m, at->centre, b, first, n, r.a);
        softmax_pairs(m, further, b, first, n, &r, at);
        /* E has served: which class each row is of */
        memset(r.E, 0, (size_t)(n * R) * sizeof *r.E);
        for (int64_t i = 0; i < n; i++) {
            int64_t q = (int64_t)own[first + i];
            if (q < 0) continue;
            r.E[i * R + q] = weight_of(b, first + i);
            fixed += weight_of(b, first + i) * r.a[i * R + q];
        }
        sum_rows(m, b, R, r.E, first, n, r.linear);
    }
    if (pairs && b->sparse != NULL) turn(R, b->p, r.linear, r.G);
    if (pairs) add_linear(m, at, fixed, NULL, &r);
    else if (at->G != NULL) add_gradients(b, &r, at->G);
}

void sgfsi_many_predictors(const sgfs_model *m, const sgfs_batch *b, int64_t count,
                           const double *const *theta, double *E, double *scratch) {
    double *B = scratch, some[LANES][SGFSI_MANY];
    for (int64_t k = 0; b->sparse == NULL && k < count; k++)
        memcpy(B + k * b->p, theta[k], (size_t)b->p * sizeof *B);
    if (b->sparse == NULL) {
        sgfsi_gemm_nt(m->ctx.near, count, b->n, b->p, 1.0, B, b->x, 0.0, E);
        return;
    }
    for (int64_t first = 0; first < b->p; first += LANES) { /* rows of B that stay in cache */
        int64_t end = least(first + LANES, b->p);
        for (int64_t k = 0; k < SGFSI_MANY; k++)
            for (int64_t j = first; j < end; j++)
                B[j * SGFSI_MANY + k] = k < count ? theta[k][j] : 0;
    }
    for (int64_t first = 0; first < b->n; first += LANES) {
        int64_t n = least(b->n - first, LANES);
        for (int64_t i = 0; i < n; i++)
            predict_sparse_row(b->sparse, first + i, SGFSI_MANY, B, some[i]);
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = 0; i < n; i++) E[k * b->n + first + i] = some[i][k];
    }
}
