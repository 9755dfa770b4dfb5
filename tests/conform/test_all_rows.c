/* SPDX-License-Identifier: MIT
 * test_all_rows.c: what a device that keeps all rows says of them at several places (ask_glm of
 * device.h) is what sums in extended precision say.
 *
 * `test_all_rows cuda` asks a GPU, real or pretended, and skips without. No device of the host has
 * such an operation so far.
 *
 * Tolerance. A predictor of p products and a sum of N rows are off by (p + N) eps times the sum of
 * the sizes of all terms at most, which the reference adds up on its way; a hundred eps more are
 * for the functions themselves.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "context/device/device.h"
#include "tools/check.h"
#include "tools/gpu.h"

enum { LINKS = 3 };
static const char *const link_name[LINKS] = {"logit", "log", "identity"};

static const sgfs_device *dev;

/* Rows as they lie in a file, with a column in front that is not used, and what goes with them. */
typedef struct problem {
    sgfsi_dtype type;
    sgfsi_link link;
    int64_t N, p, features;
    bool intercept, scaled;
    void *cells;
    double *X; /* N x p: as the model sees them */
    double *shift, *scale, *y, *weight, *offset;
    void *kept, *glm;
} problem;

typedef struct shape {
    int64_t N, p;
    bool intercept, scaled, weighted, offset, single;
} shape;

static double *positive(int64_t n, uint64_t seed) {
    double *x = numbers(n, seed);
    for (int64_t i = 0; i < n; i++) x[i] = i % 5 == 3 ? 0 : 1.5 + x[i];
    return x;
}

static problem open_problem(shape is, sgfsi_link link) {
    problem t = {.type = is.single ? SGFSI_F32 : SGFSI_F64,
                 .link = link,
                 .N = is.N,
                 .p = is.p,
                 .features = is.p - is.intercept,
                 .intercept = is.intercept,
                 .scaled = is.scaled};
    int64_t cols = t.features + 1, cells = is.N * cols;
    double *raw = numbers(cells, 17);
    float *single = malloc((size_t)cells * sizeof *single);
    assert_non_null(single);
    for (int64_t i = 0; i < cells; i++) {
        single[i] = (float)raw[i];
        if (is.single) raw[i] = (double)single[i];
    }
    t.cells = is.single ? (void *)single : raw;
    t.shift = numbers(cols, 18);
    t.scale = positive(cols, 19);
    t.X = zeros(is.N * is.p);
    for (int64_t i = 0; i < is.N; i++) {
        if (is.intercept) t.X[i * is.p] = 1;
        for (int64_t j = 0; j < t.features; j++) {
            double x = raw[i * cols + 1 + j];
            t.X[i * is.p + is.intercept + j] = is.scaled ? (x - t.shift[j]) * t.scale[j] : x;
        }
    }
    t.y = numbers(is.N, 20);
    for (int64_t i = 0; i < is.N && link != SGFSI_LINEAR; i++)
        t.y[i] = link == SGFSI_LOGIT ? t.y[i] > 0.2 : floor(4 + 4 * t.y[i]);
    if (is.weighted) t.weight = positive(is.N, 21);
    if (is.offset) t.offset = numbers(is.N, 22);
    const sgfsi_stored_part part = {0, is.N, t.cells};
    const sgfsi_column_span span = {1, t.features};
    const sgfsi_stored rows = {.type = t.type,
                               .row_bytes = cols * (is.single ? 4 : 8),
                               .rows = is.N,
                               .parts = 1,
                               .spans = 1,
                               .part = &part,
                               .span = &span,
                               .features = t.features,
                               .shift = is.scaled ? t.shift : NULL,
                               .scale = is.scaled ? t.scale : NULL,
                               .intercept = is.intercept};
    const sgfsi_glm glm = {link, is.N, is.p, t.y, t.weight, t.offset};
    t.kept = dev->ops->keep_rows(dev, &rows);
    assert_non_null(t.kept);
    t.glm = dev->ops->keep_glm(dev, t.kept, &glm);
    assert_non_null(t.glm);
    free(is.single ? (void *)raw : single);
    return t;
}

static void close_problem(problem *t) {
    dev->ops->drop_glm(dev, t->glm);
    dev->ops->drop_rows(dev, t->kept);
    free(t->cells), free(t->X), free(t->shift), free(t->scale);
    free(t->y), free(t->weight), free(t->offset);
}

/* ---- the reference --------------------------------------------------------------------------- */

/* At theta; size: of all terms of the log density; the same for numbers of G. */
typedef struct answer {
    long double loglik, size, *G, *G_size, *info;
} answer;

static answer say(const problem *t, const double *theta) {
    int64_t p = t->p;
    answer a = {.G = calloc((size_t)(2 * p + p * p), sizeof(long double))};
    assert_non_null(a.G);
    a.G_size = a.G + p;
    a.info = a.G_size + p;
    for (int64_t i = 0; i < t->N; i++) {
        long double eta = t->offset != NULL ? t->offset[i] : 0, size = fabsl(eta), y = t->y[i];
        long double w = t->weight != NULL ? t->weight[i] : 1, r, l, square = 1;
        for (int64_t j = 0; j < p; j++) {
            eta += (long double)t->X[i * p + j] * theta[j];
            size += fabsl((long double)t->X[i * p + j] * theta[j]);
        }
        if (t->link == SGFSI_LOGIT) {
            long double e = expl(-fabsl(eta));
            r = y - (eta >= 0 ? 1 : e) / (1 + e);
            l = y * eta - (fmaxl(eta, 0) + log1pl(e));
            square = e / ((1 + e) * (1 + e));
        } else if (t->link == SGFSI_LOG) {
            square = expl(eta);
            r = y - square;
            l = y * eta - square;
        } else {
            r = y - eta;
            l = -r * r / 2;
        }
        if (w == 0) continue;
        a.loglik += w * l;
        /* a predictor that is off moves l by r, and r by `square` */
        a.size += w * (fabsl(l) + (1 + fabsl(y) + fabsl(r)) * (1 + size));
        for (int64_t j = 0; j < p; j++) {
            double x = t->X[i * p + j];
            a.G[j] += w * r * x;
            a.G_size[j] += w * (fabsl(r) + fabsl(y) + square * size) * fabs(x);
            for (int64_t k = 0; k <= j; k++) a.info[j * p + k] += w * square * x * t->X[i * p + k];
        }
    }
    return a;
}

static void assert_close(double got, long double wanted, long double size, const problem *t,
                         const char *what) {
    double tolerance = (double)(t->N + t->p + 100) * DBL_EPSILON * (1 + (double)size);
    if (fabs(got - (double)wanted) <= tolerance) return;
    fail_msg("%s, %s, %lld x %lld: %.17g is not %.17g within %.3g", link_name[t->link], what,
             (long long)t->N, (long long)t->p, got, (double)wanted, tolerance);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* K places of a few tenths, `behind` numbers apart; some have no gradient asked for. */
static void check_places(const problem *t, int64_t K, int64_t behind, bool gradient) {
    int64_t p = t->p, stride = p + behind;
    double *theta = numbers(K * stride, 23), *loglik = zeros(K), *G = zeros(K * p),
           *info = zeros(p * p), *twice = zeros(K);
    for (int64_t i = 0; i < K * stride; i++) theta[i] *= 2 / sqrt((double)p);
    sgfsi_glm_places at = {.K = K,
                           .stride = stride,
                           .theta = theta,
                           .loglik = loglik,
                           .G = gradient ? G : NULL,
                           .info = gradient && K == 1 ? info : NULL};
    dev->ops->ask_glm(dev, t->glm, &at);
    for (int64_t k = 0; k < K; k++) {
        answer a = say(t, theta + k * stride);
        assert_close(loglik[k], a.loglik, a.size, t, "log density");
        for (int64_t j = 0; gradient && j < p; j++)
            assert_close(G[k * p + j], a.G[j], a.G_size[j], t, "gradient");
        for (int64_t j = 0; at.info != NULL && j < p * p; j++)
            if (j % p <= j / p)
                assert_close(info[j], a.info[j], 10 * a.info[j / p * p + j / p] + 10, t,
                             "information");
        free(a.G);
    }
    at.loglik = twice;
    dev->ops->ask_glm(dev, t->glm, &at);
    assert_memory_equal(loglik, twice, (size_t)K * sizeof *loglik);
    free(theta), free(loglik), free(G), free(info), free(twice);
}

/* spread: of the directions, in units in which predictors are of order 1. */
static void check_pairs(const problem *t, int64_t K, double spread) {
    int64_t p = t->p, stride = p + 1;
    double *U = numbers(K * stride, 24), *centre = numbers(p, 25), *plus = zeros(K),
           *minus = zeros(K), *theta = zeros(p);
    for (int64_t j = 0; j < p; j++) centre[j] /= sqrt((double)p);
    for (int64_t i = 0; i < K * stride; i++) U[i] *= spread / sqrt((double)p);
    const sgfsi_glm_places at = {
        .K = K, .stride = stride, .theta = U, .centre = centre, .loglik = plus, .minus = minus};
    dev->ops->ask_glm(dev, t->glm, &at);
    answer from = say(t, centre);
    for (int64_t k = 0; k < 2 * K; k++) {
        double sign = k < K ? 1 : -1;
        for (int64_t j = 0; j < p; j++) theta[j] = centre[j] + sign * U[k % K * stride + j];
        answer a = say(t, theta);
        assert_close(k < K ? plus[k] : minus[k - K], a.loglik, 4 * (a.size + from.size), t,
                     k < K ? "centre + u" : "centre - u");
        free(a.G);
    }
    free(from.G), free(U), free(centre), free(plus), free(minus), free(theta);
}

static const shape shapes[] = {
    {1, 1, .intercept = false},
    {7, 3, .intercept = true},
    {200, 33, .intercept = true, .scaled = true, .single = true},
    {333, 5, .intercept = true, .weighted = true, .offset = true},
    {90, 70, .intercept = false, .weighted = true, .scaled = true},
    {150, 130, .intercept = true, .offset = true},
    {41, 300, .intercept = true, .single = true},
};

static void test_places(void **state) {
    (void)state;
    for (size_t s = 0; dev != NULL && s < sizeof shapes / sizeof *shapes; s++) {
        for (int link = 0; link < LINKS; link++) {
            problem t = open_problem(shapes[s], (sgfsi_link)link);
            check_places(&t, 1, 0, true);
            check_places(&t, 1, 1, true);
            check_places(&t, 1, 0, false);
            check_places(&t, 6, 2, true);
            check_places(&t, 45, 0, false);
            close_problem(&t);
        }
    }
}

static void test_pairs(void **state) {
    (void)state;
    for (size_t s = 0; dev != NULL && s < sizeof shapes / sizeof *shapes; s++) {
        for (int link = 0; link < LINKS; link++) {
            problem t = open_problem(shapes[s], (sgfsi_link)link);
            check_pairs(&t, 1, 0.3);
            check_pairs(&t, 35, 0.3);
            check_pairs(&t, 5, 3);
            close_problem(&t);
        }
    }
}

/* Enough pairs for a GPU to multiply their factors in blocks of another shape, as wide as there is
 * memory for in each; and rows that leave over some of a block's. */
static void test_many_pairs_of_several_widths(void **state) {
    static const shape widths[] = {{70, 20, .intercept = true},
                                   {131, 60, .intercept = true, .offset = true},
                                   {97, 101, .single = true},
                                   {65, 140, .intercept = true}};
    (void)state;
    for (size_t s = 0; dev != NULL && s < sizeof widths / sizeof *widths; s++) {
        problem t = open_problem(widths[s], SGFSI_LOGIT);
        check_pairs(&t, 66, 0.3);
        check_pairs(&t, 129, 20);
        close_problem(&t);
    }
}

/* More rows than a tile has, more strips than a block adds up, and more places than a block has. */
static void test_several_tiles(void **state) {
    (void)state;
    if (dev == NULL) return;
    const shape is = {2600, 3, .intercept = true}, weighted = {2600, 3, .weighted = true};
    problem t = open_problem(is, SGFSI_LOGIT);
    check_places(&t, 1, 0, true);
    check_pairs(&t, 140, 0.3);
    close_problem(&t);
    t = open_problem(weighted, SGFSI_LOG);
    check_places(&t, 1, 0, true);
    check_pairs(&t, 2100, 0.3);
    close_problem(&t);
}

/* exp of a predictor is no number any more, but the logarithm of 1 + exp is; what nobody counts may
 * be anything. */
static void test_predictors_of_thousands(void **state) {
    (void)state;
    if (dev == NULL) return;
    const shape is = {60, 4, .intercept = true},
                weighted = {60, 4, .intercept = true, .weighted = true};
    for (int with = 0; with < 2; with++) {
        problem t = open_problem(with ? weighted : is, SGFSI_LOGIT);
        check_pairs(&t, 9, 1e3);
        check_pairs(&t, 9, 2e4);
        close_problem(&t);
        t = open_problem(with ? weighted : is, SGFSI_LINEAR);
        check_pairs(&t, 9, 2e4);
        close_problem(&t);
    }
}

static void test_what_is_no_number_is_none(void **state) {
    (void)state;
    if (dev == NULL) return;
    const shape is = {60, 4, .intercept = true};
    for (int link = 0; link < LINKS; link++) {
        problem t = open_problem(is, (sgfsi_link)link);
        double U[8] = {0.1, NAN, 0.2, 0, 0.1, 0.1, 0.1, 0.1}, centre[4] = {0, 0.1, NAN, 0}, plus[2],
               minus[2];
        sgfsi_glm_places at = {
            .K = 2, .stride = 4, .theta = U, .centre = U + 4, .loglik = plus, .minus = minus};
        dev->ops->ask_glm(dev, t.glm, &at);
        assert_true(isnan(plus[0]) && isnan(minus[0]) && isfinite(plus[1]) && isfinite(minus[1]));
        at.centre = centre;
        dev->ops->ask_glm(dev, t.glm, &at);
        assert_true(isnan(plus[1]) && isnan(minus[1]));
        close_problem(&t);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_many_pairs_of_several_widths),
        cmocka_unit_test(test_several_tiles),
        cmocka_unit_test(test_predictors_of_thousands),
        cmocka_unit_test(test_what_is_no_number_is_none),
    };
    if (argc > 1 && strcmp(argv[1], "cuda") == 0 && !open_gpu(&dev)) return SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sgfsi_device_close(dev);
    return failed;
}
