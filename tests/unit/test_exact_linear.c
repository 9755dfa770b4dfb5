/* SPDX-License-Identifier: MIT
 * test_exact_linear.c: linear regression without a chain (posterior/least_squares.h,
 * posterior/sigma_law.h, sampler/exact_linear.c).
 *
 *   1. Moments of theta by integrating over the law of log sigma, in the coordinates of the fit,
 *      are those of an integral made here from the rows, with Cholesky factors in long double:
 *      few rows, many, more columns than rows, weights, coefficients without a prior, columns of
 *      unlike units or nearly collinear, sigma known or not. No random number is in it.
 *   2. The envelope lies above the density everywhere, also where that has two humps, and draws
 *      have the density's law and not the envelope's: a table of 99 places of it, and where within
 *      a piece they fall.
 *   3. Draws of a run are independent, have the moments of 1 and the log density of the posterior;
 *      a posterior on a grid in two dimensions; bits do not depend on threads.
 *   4. What has no posterior, or is not for this sampler, is refused with a sentence.
 *
 * Monte Carlo checks allow 5 standard errors; seeds are fixed.
 */
#include <float.h>
#include <stdio.h>

#include "chain/run.h"
#include "model/linear.h"
#include "posterior/least_squares.h"
#include "sgfs.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { MOST_D = 80, SETTINGS = 8, GRID = 400 };

typedef struct setting {
    const char *key, *value;
} setting;

typedef struct bench {
    int64_t N, cols;
    double *x, *y, *w; /* N x cols, N, N or NULL */
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

/* y = 1 + x'beta + 0.6 e; columns with a common part. */
static bench make(int64_t N, int64_t cols, uint64_t seed) {
    bench b = {.N = N, .cols = cols, .x = zeros(N * cols), .y = zeros(N)};
    double *beta = numbers(cols, seed + 1);
    for (int64_t i = 0; i < N; i++) {
        double common = next_normal(&seed);
        b.y[i] = 1 + 0.6 * next_normal(&seed);
        for (int64_t j = 0; j < cols; j++) {
            b.x[i * cols + j] = 0.5 * common + next_normal(&seed);
            b.y[i] += b.x[i * cols + j] * beta[j];
        }
    }
    free(beta);
    return b;
}

static void bind(bench *b, const setting *settings) {
    sgfs_err err = {.code = SGFS_OK};
    b->cfg = unit_prior_config();
    for (; settings->key != NULL; settings++) {
        if (sgfs_config_set(b->cfg, settings->key, settings->value, &err) != SGFS_OK)
            fail_msg("%s", err.text);
    }
    sgfs_arrays arrays = {.rows = b->N, .cols = b->cols, .x = b->x, .y = b->y, .weights = b->w};
    b->data = sgfs_data_wrap(&arrays, b->cfg, &err);
    b->m = sgfs_model_open("linear", b->data, b->cfg, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
}

static void unbind(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

static void drop(bench *b) {
    free(b->x);
    free(b->y);
    free(b->w);
}

typedef struct moments {
    double mean[MOST_D], sd[MOST_D];
} moments;

/* ---- the integral made from the rows --------------------------------------------------------- */

/* Squares of columns that are collinear, over a variance of 1e-12, need more than 19 digits. */
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 wide;
#else
typedef long double wide;
#endif

static wide root(wide x) {
    wide r = sqrtl((long double)x);
    return (r + x / r) / 2;
}

/* Sums over rows by their weights, w y^2 and so on. */
typedef struct rows {
    int64_t p;
    const double *P; /* D: precisions; of log sigma the last */
    wide gram[MOST_D * MOST_D], cross[MOST_D], square, W;
} rows;

/* x: p numbers, the intercept in front. */
static void add_row(rows *q, const double *x, double y, double weight) {
    wide w = weight;
    q->W += w;
    q->square += w * y * y;
    for (int64_t j = 0; j < q->p; j++) {
        q->cross[j] += w * x[j] * y;
        for (int64_t k = 0; k <= j; k++) q->gram[j * q->p + k] += w * x[j] * x[k];
    }
}

/* log of the density of u = log sigma; mean (p) and variances (or NULL) of beta given it. */
static double given_sigma(const rows *q, double u, double *mean, double *variance) {
    int64_t p = q->p;
    static wide A[MOST_D * MOST_D], b[MOST_D];
    wide a = expl(-2 * (long double)u), square = q->square, W = q->W, value, logs = 0;
    for (int64_t j = 0; j < p * p; j++) A[j] = a * q->gram[j];
    for (int64_t j = 0; j < p; j++) b[j] = a * q->cross[j];
    for (int64_t j = 0; j < p; j++) A[j * p + j] += q->P[j];
    for (int64_t j = 0; j < p; j++) { /* A -> L, b -> L^-1 b */
        for (int64_t k = 0; k <= j; k++) {
            for (int64_t l = 0; l < k; l++) A[j * p + k] -= A[j * p + l] * A[k * p + l];
            if (k < j) A[j * p + k] /= A[k * p + k];
        }
        assert_true(A[j * p + j] > 0);
        A[j * p + j] = root(A[j * p + j]);
        logs += logl((long double)A[j * p + j]);
        for (int64_t l = 0; l < j; l++) b[j] -= A[j * p + l] * b[l];
        b[j] /= A[j * p + j];
    }
    value = -W * u - a * square / 2 - logs - 0.5L * q->P[p] * u * u;
    for (int64_t j = 0; j < p; j++) value += b[j] * b[j] / 2;
    for (int64_t j = p - 1; j >= 0; j--) { /* b -> L^-T b */
        for (int64_t l = j + 1; l < p; l++) b[j] -= A[l * p + j] * b[l];
        b[j] /= A[j * p + j];
        mean[j] = (double)b[j];
    }
    for (int64_t j = 0; j < p && variance != NULL; j++) { /* |L^-1 e_j|^2 */
        wide e[MOST_D] = {0}, sum = 0;
        for (int64_t k = j; k < p; k++) {
            e[k] = k == j;
            for (int64_t l = j; l < k; l++) e[k] -= A[k * p + l] * e[l];
            e[k] /= A[k * p + k];
            sum += e[k] * e[k];
        }
        variance[j] = (double)sum;
    }
    return (double)value;
}

/* Sums of weight, weight x and weight x^2, x from the first place on, into moments. */
typedef struct sums {
    double weight, origin[MOST_D], mean[MOST_D], square[MOST_D];
} sums;

static void add(sums *s, int64_t D, double weight, const double *mean, const double *variance) {
    for (int64_t j = 0; j < D; j++) {
        if (s->weight == 0) s->origin[j] = mean[j];
        double x = mean[j] - s->origin[j];
        s->mean[j] += weight * x;
        s->square[j] += weight * (variance[j] + x * x);
    }
    s->weight += weight;
}

static moments finish(const sums *s, int64_t D) {
    moments out;
    for (int64_t j = 0; j < D; j++) {
        double x = s->mean[j] / s->weight;
        out.mean[j] = s->origin[j] + x;
        out.sd[j] = sqrt(s->square[j] / s->weight - x * x);
    }
    return out;
}

/* u over low .. high, where the density is; one place of a known sigma: low = high. */
static moments integrate(const bench *b, double low, double high) {
    int64_t p = b->m->data->p;
    double *P = zeros(p + 1), mean[MOST_D], variance[MOST_D], f[GRID + 1], top = -INFINITY;
    static rows q;
    sums s = {.weight = 0};
    memcpy(P, b->m->precision, (size_t)b->m->D * sizeof *P);
    memset(&q, 0, sizeof q);
    q.p = p;
    q.P = P;
    for (int64_t i = 0; i < b->N; i++) {
        double x[MOST_D] = {1};
        memcpy(x + p - b->cols, b->x + i * b->cols, (size_t)b->cols * sizeof *x);
        add_row(&q, x, b->y[i], b->w != NULL ? b->w[i] : 1);
    }
    int steps = high > low ? GRID : 0;
    for (int k = 0; k <= steps; k++) { /* the ends are nothing: the sum is as good as an integral */
        f[k] = given_sigma(&q, low + (high - low) * k / GRID, mean, NULL);
        top = fmax(top, f[k]);
    }
    assert_true(steps == 0 || (f[0] < top - 30 && f[GRID] < top - 30));
    for (int k = 0; k <= steps; k++) {
        double u = low + (high - low) * k / GRID;
        if (f[k] < top - 40) continue;
        given_sigma(&q, u, mean, variance);
        mean[p] = u;
        variance[p] = 0;
        add(&s, p + 1, exp(f[k] - top), mean, variance);
    }
    free(P);
    return finish(&s, p + 1);
}

/* ---- the same from a fit --------------------------------------------------------------------- */

static moments of_fit(const bench *b, double low, double high) {
    sgfsi_arena arena = {NULL};
    sgfsi_least_squares fit;
    sgfs_err err;
    if (sgfsi_least_squares_open(&fit, b->m, 2, &arena, &err) != SGFS_OK) fail_msg("%s", err.text);
    int64_t p = fit.p, q = fit.q;
    double *at = zeros(p), *along = zeros(q * p), *rest = zeros(p);
    double *c = zeros(q), *z = zeros(p), *work = zeros(2 * q), *beta = zeros(p);
    sgfsi_least_squares_place(&fit, c, z, work, at);
    for (int64_t k = 0; k < q; k++) { /* what each coordinate does */
        memset(z, 0, (size_t)p * sizeof *z);
        c[k] = 1;
        sgfsi_least_squares_place(&fit, c, z, work, beta);
        for (int64_t j = 0; j < p; j++) along[k * p + j] = beta[j] - at[j];
        c[k] = 0;
    }
    for (int64_t k = 0; k < p - fit.single; k++) { /* and each number of the prior */
        memset(z, 0, (size_t)p * sizeof *z);
        z[k] = 1;
        sgfsi_least_squares_place(&fit, c, z, work, beta);
        for (int64_t j = 0; j < p; j++) rest[j] += (beta[j] - at[j]) * (beta[j] - at[j]);
    }
    sums s = {.weight = 0};
    double f[GRID + 1], top = -INFINITY;
    int steps = fit.known ? 0 : GRID;
    for (int k = 0; k <= steps && !fit.known; k++) {
        double u = low + (high - low) * k / GRID;
        f[k] = sgfsi_sigma_law_at(&fit.law, -2 * (u - fit.log_sigma0));
        top = fmax(top, f[k]);
    }
    for (int k = 0; k <= steps; k++) {
        double u = fit.known ? fit.log_sigma0 : low + (high - low) * k / GRID;
        double a = exp(-2 * (u - fit.log_sigma0)), mean[MOST_D], variance[MOST_D];
        memcpy(mean, at, (size_t)p * sizeof *at);
        memcpy(variance, rest, (size_t)p * sizeof *rest);
        for (int64_t i = 0; i < q; i++) {
            double precision = a * fit.d[i] + fit.nu[i];
            double middle = (a * fit.gamma[i] - fit.kappa[i]) / precision;
            for (int64_t j = 0; j < p; j++) {
                mean[j] += middle * along[i * p + j];
                variance[j] += along[i * p + j] * along[i * p + j] / precision;
            }
        }
        mean[p] = u;
        variance[p] = 0;
        add(&s, p + 1, fit.known ? 1 : exp(f[k] - top), mean, variance);
    }
    free(at);
    free(along);
    free(rest);
    free(c);
    free(z);
    free(work);
    free(beta);
    sgfsi_arena_free(&arena);
    return finish(&s, p + 1);
}

/* In standard deviations, and relative to them. */
static void assert_same(const char *name, int64_t D, const moments *got, const moments *wanted,
                        double tolerance) {
    for (int64_t j = 0; j < D; j++) {
        double off = fabs(got->mean[j] - wanted->mean[j]) / wanted->sd[j];
        if (!(off < tolerance) || !(fabs(got->sd[j] / wanted->sd[j] - 1) < tolerance))
            fail_msg("%s, parameter %lld: %.15g sd %.15g, wanted %.15g sd %.15g", name,
                     (long long)j, got->mean[j], got->sd[j], wanted->mean[j], wanted->sd[j]);
    }
}

static void check(const char *name, bench b, double low, double high, double tolerance,
                  const setting *settings) {
    bind(&b, settings);
    moments wanted = integrate(&b, low, high), got = of_fit(&b, low, high);
    assert_same(name, b.m->D, &got, &wanted, tolerance);
    unbind(&b);
}

#define WITH(...)                                                                                  \
    (const setting[SETTINGS]) {                                                                    \
        __VA_ARGS__, {                                                                             \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
#define PRIOR(text)                                                                                \
    { "prior.precision", text }

static void test_moments_are_those_of_an_integral(void **state) {
    (void)state;
    bench b = make(60, 4, 11);
    check("60 x 4", b, -1.5, 1, 1e-9, WITH(PRIOR("1")));
    check("no intercept", b, -1.5, 1.5, 1e-9, WITH(PRIOR("0.3"), {"data.intercept", "false"}));
    check("one flat", b, -1.5, 1, 1e-9, WITH(PRIOR("2.5,intercept=0,log_sigma=0.2")));
    check("all flat", b, -1.5, 1, 1e-9, WITH(PRIOR("0")));
    check("strong", b, -1, 3, 1e-9, WITH(PRIOR("300,log_sigma=0.5")));
    check("known", b, log(0.7), log(0.7), 1e-9, WITH(PRIOR("1"), {"model.sigma", "0.7"}));
    drop(&b);
    b = make(9, 6, 12);
    check("9 x 6", b, -14, 4, 1e-8, WITH(PRIOR("1")));
    drop(&b);
}

static void test_more_columns_than_rows(void **state) {
    (void)state;
    bench b = make(20, 60, 21);
    const double known = log(0.45);
    check("20 x 60", b, -12, 6, 1e-8, WITH(PRIOR("1")));
    check("precisions", b, -10, 6, 1e-8, WITH(PRIOR("0.4,x3=5,x17=0.01,log_sigma=2")));
    check("flat", b, -10, 6, 1e-8, WITH(PRIOR("1,intercept=0,x3=0,x50=0")));
    check("known", b, known, known, 1e-8, WITH(PRIOR("1,intercept=0"), {"model.sigma", "0.45"}));
    memcpy(b.x + 7 * 60, b.x, 60 * sizeof *b.x); /* a row that repeats another */
    for (int64_t i = 0; i < b.N; i++) b.x[i * 60 + 5] *= 1e7;
    check("repeated row, units", b, -10, 6, 1e-6, WITH(PRIOR("1")));
    drop(&b);
    b = make(12, 12, 22); /* with the intercept one more than rows */
    check("12 x 12", b, -12, 5, 1e-8, WITH(PRIOR("1")));
    drop(&b);
}

/* Digits: columns of 1e7 and 1e-4 beside others, a sum of two columns but for 1e-4 of noise, a fit
 * that leaves a residual of 1e-5. */
static void test_units_and_collinear_columns(void **state) {
    (void)state;
    bench b = make(80, 5, 31);
    uint64_t seed = 3;
    for (int64_t i = 0; i < b.N; i++) {
        double *x = b.x + i * 5;
        x[0] *= 1e7;
        x[1] *= 1e-4;
        x[4] = x[2] + x[3] + 1e-4 * next_normal(&seed);
    }
    check("units", b, -1.5, 3, 1e-6, WITH(PRIOR("1")));
    check("units, flat", b, -1.5, 3, 1e-6, WITH(PRIOR("0")));
    for (int64_t i = 0; i < b.N; i++) {
        const double *x = b.x + i * 5;
        b.y[i] = 3 + x[2] - 2 * x[3] + 1e-5 * next_normal(&seed);
    }
    check("small noise", b, -12.5, -10, 1e-5, WITH(PRIOR("1,log_sigma=0.01")));
    drop(&b);
}

/* Columns that are sums of others, exactly or but for 1e-9, and a fit that leaves a residual of
 * 1e-4 to 1e-7: rounding of the columns' products over that variance is larger than the prior. */
static void test_exact_collinearity(void **state) {
    (void)state;
    static const double noise[] = {1e-4, 1e-6, 1e-7};
    for (int k = 0; k < 6; k++) {
        bench b = make(k == 3 ? 3000 : 80, 5, 35);
        uint64_t seed = 3;
        double size = noise[k % 3], low = log(size) - 1.5, high = log(size) + 2;
        for (int64_t i = 0; i < b.N; i++) {
            double *x = b.x + i * 5;
            x[1] *= 1e-3;
            x[4] = x[2] + x[3] + (k < 3 ? 0 : 1e-9 * next_normal(&seed));
            b.y[i] = 3 + x[2] - 2 * x[3] + size * next_normal(&seed);
        }
        check("collinear", b, low, high, 1e-6, WITH(PRIOR("1,log_sigma=0.01")));
        check("precisions", b, low, high, 1e-6, WITH(PRIOR("0.16,x2=1e-6,x3=30,log_sigma=0.1")));
        check("known", b, log(size), log(size), 1e-6,
              WITH(PRIOR("1"), {"model.sigma", k % 3 == 0   ? "0.0001"
                                               : k % 3 == 1 ? "0.000001"
                                                            : "0.0000001"}));
        if (k >= 3) check("nearly, flat", b, low, high, 1e-6, WITH(PRIOR("0,log_sigma=0.01")));
        drop(&b);
    }
}

/* A row of weight w is w rows; of weight 0, none. */
static void test_weights_are_copies(void **state) {
    (void)state;
    for (int64_t cols = 3; cols <= 30; cols += 27) { /* 30: more columns than rows */
        bench b = make(14, cols, 41), many = {.cols = cols, .x = zeros(40 * cols), .y = zeros(40)};
        b.w = zeros(14);
        for (int64_t i = 0; i < 14; i++) {
            b.w[i] = (double)(i % 4);
            for (int64_t k = 0; k < i % 4; k++) {
                memcpy(many.x + many.N * cols, b.x + i * cols, (size_t)cols * sizeof *b.x);
                many.y[many.N++] = b.y[i];
            }
        }
        bind(&b, WITH(PRIOR("1,log_sigma=4")));
        bind(&many, WITH(PRIOR("1,log_sigma=4")));
        moments one = of_fit(&b, -9, 4), other = of_fit(&many, -9, 4);
        assert_same("copies", b.m->D, &one, &other, 1e-8);
        unbind(&b);
        unbind(&many);
        check("weights", b, -9, 4, 1e-8, WITH(PRIOR("1,log_sigma=4")));
        drop(&b);
        drop(&many);
    }
}

/* ---- 2: the law of sigma --------------------------------------------------------------------- */

/* Prior and rows far apart: one hump near v = -4.1, the other near v = 3.5. */
static const double law_d[3] = {0.93, 0.35, 1}, law_nu[3] = {0.07, 0.65, 0},
                    law_delta[3] = {69.7, 8.3, 0};

static double plain_density(const sgfsi_sigma_law *law, double v) {
    double f = law->W * v - law->R * exp(v), off = v - law->middle;
    for (int k = 0; k < 3; k++) {
        double sum = exp(v) * law_d[k] + law_nu[k];
        f -= law_delta[k] * exp(v) * law_d[k] / sum + log(sum);
    }
    return 0.5 * (f - law->precision * off * off);
}

static void test_draws_have_the_density(void **state) {
    (void)state;
    enum { DRAWS = 1000000, CELLS = 20000 };
    sgfsi_arena arena = {NULL};
    sgfs_err err;
    sgfsi_sigma_law law = {.q = 3,
                           .d = law_d,
                           .nu = law_nu,
                           .delta = law_delta,
                           .W = 11.44,
                           .R = 0.24,
                           .precision = 0.04,
                           .middle = 0.7};
    assert_int_equal(sgfsi_sigma_law_open(&law, &arena, &err), SGFS_OK);
    const sgfsi_sigma_piece *piece = law.piece;
    int64_t n = law.pieces, humps = 0, tries = 0;
    double low = piece[0].at, high = piece[n - 1].at, step = (high - low) / CELLS, total = 0;
    double *mass = zeros(CELLS), within = 0, before[2] = {-INFINITY, -INFINITY};
    double gap = sgfsi_sigma_law_at(&law, 0.3) - plain_density(&law, 0.3);
    for (int64_t k = 1; k + 1 < n; k++) { /* above, and not far above */
        for (int i = 0; i <= 50; i++) {
            double v = piece[k].at + piece[k].width * i / 50;
            double f = plain_density(&law, v) + gap - law.top;
            double above = piece[k].height + piece[k].slope * (v - piece[k].at) - f;
            assert_true(above > -1e-9);
            assert_true(f < -40 || above < 0.07);
        }
    }
    for (int i = 1; i <= 40; i++) { /* the tails */
        double right = high + 0.1 * i, left = low - 0.5 * i;
        double f = plain_density(&law, right) + gap - law.top;
        assert_true(f < piece[n - 1].height + piece[n - 1].slope * (right - high) + 1e-9);
        f = plain_density(&law, left) + gap - law.top;
        assert_true(f < piece[0].height + piece[0].slope * (left - low) + 1e-9);
    }
    for (int64_t i = 0; i < CELLS; i++) {
        double v = low + ((double)i + 0.5) * step, f = plain_density(&law, v);
        humps += before[1] > before[0] && before[1] > f;
        before[0] = before[1];
        before[1] = f;
        mass[i] = exp(f + gap - law.top) * step;
        total += mass[i];
        int64_t k = 1;
        while (v > piece[k].at + piece[k].width) k++;
        double off = (v - piece[k].at) / piece[k].width - 0.5;
        within += mass[i] * off * off;
    }
    assert_int_equal(humps, 2);
    double *v = zeros(DRAWS), seen = 0, square = 0, sum = 0;
    int64_t inside[99] = {0};
    double place[99];
    for (int64_t i = 0, k = 0; i < CELLS && k < 99; i++) {
        sum += mass[i] / total;
        if (sum > 0.01 * (double)(k + 1)) place[k++] = low + (double)(i + 1) * step;
    }
    for (int64_t i = 0; i < DRAWS; i++) {
        sgfsi_stream s = sgfsi_stream_at(9, 0, i, SGFSI_ACCEPT);
        v[i] = sgfsi_sigma_law_draw(&law, &s, &tries);
        for (int k = 0; k < 99; k++) inside[k] += v[i] <= place[k];
        int64_t k = 1;
        while (k + 2 < n && v[i] > piece[k].at + piece[k].width) k++;
        double off = (v[i] - piece[k].at) / piece[k].width - 0.5;
        seen += off * off / DRAWS;
        square += off * off * off * off / DRAWS;
    }
    for (int k = 0; k < 99; k++) {
        double wanted = 0;
        for (int64_t i = 0; i < CELLS && low + ((double)i + 0.5) * step < place[k]; i++)
            wanted += mass[i] / total;
        double error = sqrt(wanted * (1 - wanted) / DRAWS);
        assert_near((double)inside[k] / DRAWS, wanted, 5 * error, "share of draws below a place");
    }
    assert_near(seen, within / total, 5 * sqrt((square - seen * seen) / DRAWS), "within a piece");
    print_message("%lld pieces, %.4f places looked at for a draw\n", (long long)n,
                  (double)tries / DRAWS);
    assert_true(tries < 1.05 * DRAWS);
    free(mass);
    free(v);
    sgfsi_arena_free(&arena);
}

/* ---- 3: runs --------------------------------------------------------------------------------- */

static sgfs_draws *run_all(bench *b, sgfs_err *err) {
    sgfs_run *run = sgfs_run_open(b->m, b->cfg, err);
    if (run == NULL) fail_msg("%s", err->text);
    if (sgfs_run_all(run, err) != SGFS_OK) fail_msg("%s", err->text);
    sgfs_draws *d = sgfs_run_draws(run, err);
    assert_non_null(d);
    sgfs_run_free(run);
    return d;
}

#define SAMPLER                                                                                    \
    { "sampler.kind", "exact-linear" }

static void check_run(bench b, double low, double high) {
    enum { DRAWS = 20000 };
    sgfs_err err;
    double lp, G[MOST_D];
    bind(&b, WITH(SAMPLER, PRIOR("1"), {"run.draws", "20000"}, {"run.seed", "5"}));
    int64_t D = b.m->D;
    moments wanted = integrate(&b, low, high);
    sgfs_draws *d = run_all(&b, &err);
    double n = (double)d->chains * DRAWS, worst = 0;
    for (int64_t j = 0; j < D; j++) {
        double z1 = 0, z2 = 0, z4 = 0, lag = 0;
        for (int64_t c = 0; c < d->chains; c++) {
            double last = 0;
            for (int64_t t = 0; t < DRAWS; t++) {
                double z = (d->chain[c].theta[t * D + j] - wanted.mean[j]) / wanted.sd[j];
                z1 += z / n;
                z2 += z * z / n;
                z4 += z * z * z * z / n;
                lag += z * last / n;
                last = z;
            }
        }
        worst = fmax(worst, fabs(2 * lag));
        assert_near(z1, 0, 5 / sqrt(n), "mean");
        assert_near(z2, 1, 5 * sqrt((z4 - z2 * z2) / n), "variance");
        assert_near(2 * lag, 0, 0.025, "tau less 1"); /* an error of 0.0071 */
    }
    for (int64_t t = 0; t < 5; t++) { /* the log density of the posterior itself */
        assert_int_equal(sgfsi_posterior_full(b.m, d->chain[1].theta + t * D, &lp, G, NULL, &err),
                         SGFS_OK);
        assert_near(d->chain[1].stats[t], lp, 1e-8 * fabs(lp), "lp");
    }
    print_message("%lld x %lld: tau within %.3f of 1\n", (long long)b.N, (long long)b.cols, worst);
    sgfs_draws_free(d);
    unbind(&b);
}

static void test_draws_are_independent(void **state) {
    (void)state;
    bench b = make(16, 4, 51);
    check_run(b, -5, 3);
    drop(&b);
    b = make(15, 40, 52);
    check_run(b, -12, 6);
    drop(&b);
}

/* beta and log sigma on a grid: shares of draws in the cells of 5 x 5. */
static void test_two_parameters_on_a_grid(void **state) {
    (void)state;
    enum { DRAWS = 20000, FINE = 300, CELLS = 5 };
    sgfs_err err;
    bench b = make(5, 1, 61);
    double share[CELLS][CELLS] = {{0}}, total = 0, count[CELLS][CELLS] = {{0}};
    const double from[2] = {-3, -2}, to[2] = {3, 2.5};
    bind(&b, WITH(SAMPLER, PRIOR("1"), {"data.intercept", "false"}, {"run.draws", "20000"}));
    for (int i = 0; i < FINE * FINE; i++) {
        double beta = from[0] + (to[0] - from[0]) * (i / FINE + 0.5) / FINE;
        double u = from[1] + (to[1] - from[1]) * (i % FINE + 0.5) / FINE;
        double f = -5 * u - 0.5 * (beta * beta + u * u);
        for (int k = 0; k < 5; k++) {
            double r = b.y[k] - beta * b.x[k];
            f -= 0.5 * r * r * exp(-2 * u);
        }
        share[i / FINE * CELLS / FINE][i % FINE * CELLS / FINE] += exp(f);
        total += exp(f);
    }
    sgfs_draws *d = run_all(&b, &err);
    double n = 0;
    for (int64_t t = 0; t < 4 * DRAWS; t++) {
        const double *theta = d->chain[t / DRAWS].theta + t % DRAWS * 2;
        double at[2];
        for (int k = 0; k < 2; k++) at[k] = floor(CELLS * (theta[k] - from[k]) / (to[k] - from[k]));
        if (fmin(at[0], at[1]) < 0 || fmax(at[0], at[1]) >= CELLS) continue;
        count[(int)at[0]][(int)at[1]]++;
        n++;
    }
    assert_true(n > 0.99 * 4 * DRAWS);
    for (int k = 0; k < CELLS * CELLS; k++) {
        double p = share[k / CELLS][k % CELLS] / total;
        assert_near(count[k / CELLS][k % CELLS] / n, p, 5 * sqrt(p / n) + 1e-5, "a cell");
    }
    sgfs_draws_free(d);
    unbind(&b);
    drop(&b);
}

static void test_bits_do_not_depend_on_threads(void **state) {
    (void)state;
    const char *const threads[3] = {"1", "2", "5"};
    for (int64_t cols = 3; cols <= 50; cols += 47) {
        bench b = make(cols < 50 ? 3000 : 20, cols, 71);
        sgfs_draws *d[3];
        sgfs_err err;
        for (int k = 0; k < 3; k++) {
            bind(&b, WITH(SAMPLER, PRIOR("1"), {"run.draws", "30"}, {"run.threads", threads[k]}));
            d[k] = run_all(&b, &err);
            unbind(&b);
        }
        for (int k = 1; k < 3; k++) {
            assert_memory_equal(d[0]->chain[2].theta, d[k]->chain[2].theta,
                                (size_t)(30 * d[0]->D) * sizeof(double));
        }
        for (int k = 0; k < 3; k++) sgfs_draws_free(d[k]);
        drop(&b);
    }
}

/* ---- 4: refusals ----------------------------------------------------------------------------- */

static void refused(bench b, const setting *settings, sgfs_status code, const char *words) {
    sgfs_err err = {.code = SGFS_OK};
    bind(&b, settings);
    sgfs_run *run = sgfs_run_open(b.m, b.cfg, &err);
    if (run != NULL) fail_msg("not refused: %s", words);
    if (err.code != code || strstr(err.text, words) == NULL) fail_msg("%s", err.text);
    unbind(&b);
}

static void test_refusals(void **state) {
    (void)state;
    bench b = make(20, 4, 81);
    refused(b, WITH(SAMPLER, {"prior.kind", "student-t"}), SGFS_EUSAGE, "prior is not Gaussian");
    refused(b, WITH(SAMPLER, {"run.init", "0.5"}), SGFS_EUSAGE, "every draw is independent");
    for (int64_t i = 0; i < b.N; i++) b.x[i * 4 + 3] = b.x[i * 4] - b.x[i * 4 + 1];
    refused(b, WITH(SAMPLER, PRIOR("0")), SGFS_ENUMERIC, "singular at \"x4\"");
    drop(&b);
    b = make(6, 9, 82);
    refused(b, WITH(SAMPLER, PRIOR("0")), SGFS_ENUMERIC, "than rows");
    refused(b, WITH(SAMPLER, PRIOR("1,log_sigma=0")), SGFS_ENUMERIC, "sigma may be 0");
    refused(b, WITH(SAMPLER, PRIOR("1,log_sigma=0,intercept=0,x1=0,x2=0,x3=0,x4=0,x5=0")),
            SGFS_ENUMERIC, "there is no posterior");
    drop(&b);
    b = make(20, 4, 83);
    for (int64_t i = 0; i < b.N; i++) b.y[i] = b.y[i] > 0;
    sgfs_err err;
    bind(&b, WITH(SAMPLER));
    assert_null(sgfsi_least_squares_refuses(b.m));
    sgfs_model *logistic = sgfs_model_open("logistic", b.data, b.cfg, &err);
    assert_non_null(logistic);
    assert_non_null(sgfsi_least_squares_refuses(logistic));
    assert_null(sgfs_run_open(logistic, b.cfg, &err));
    assert_non_null(strstr(err.text, "made for linear regression (model logistic)"));
    sgfs_model_free(logistic);
    unbind(&b);
    drop(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_those_of_an_integral),
        cmocka_unit_test(test_more_columns_than_rows),
        cmocka_unit_test(test_units_and_collinear_columns),
        cmocka_unit_test(test_exact_collinearity),
        cmocka_unit_test(test_weights_are_copies),
        cmocka_unit_test(test_draws_have_the_density),
        cmocka_unit_test(test_draws_are_independent),
        cmocka_unit_test(test_two_parameters_on_a_grid),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
