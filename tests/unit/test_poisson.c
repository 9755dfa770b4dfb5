/* SPDX-License-Identifier: MIT
 * test_poisson.c: counts. Draws from the model have the Poisson distribution, the log density is
 * the textbook's for counts of any size, targets that are no counts are named, and a predictor past
 * what exp can hold is a failure and nothing else.
 *
 * Draws, twice. By inversion every count owns one stretch of the uniforms, so on an even grid of M
 * of them its share is its probability within 1/M: no chance is involved. And with random uniforms,
 * by chi-square over bins of at least 20 expected counts; its cube root is nearly normal (Wilson
 * and Hilferty), and |z| < 4.5 has a false-alarm rate of 7e-6 for each of 5 comparisons.
 */
#include <float.h>
#include <stdio.h>

#include "posterior/places.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* ---- a model of an intercept ----------------------------------------------------------------- */

enum { FEW = 4 };

typedef struct bench {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double x[FEW], y[FEW];
} bench;

static sgfs_model *try_model(bench *b, const double *y, sgfs_err *err) {
    sgfs_arrays arrays = {.rows = FEW, .cols = 1, .x = b->x, .y = b->y, .target_name = "visits"};
    *b = (bench){.cfg = unit_prior_config(), .x = {0.3, -1.2, 0.7, 0.1}};
    memcpy(b->y, y, sizeof b->y);
    b->data = sgfs_data_wrap(&arrays, b->cfg, err);
    assert_non_null(b->data);
    b->m = sgfsi_model_create(&sgfs_model_poisson, b->data, b->cfg, NULL, err);
    return b->m;
}

static void open_bench(bench *b) {
    sgfs_err err;
    const double y[FEW] = {0, 3, 1, 12};
    if (try_model(b, y, &err) == NULL) fail_msg("%s", err.text);
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

/* M counts of mean mu from the numbers given; the caller frees. */
static double *draw(const bench *b, int64_t M, double mu, const double *normal,
                    const double *uniform) {
    double theta[2] = {log(mu), 2.385}, *x = zeros(2 * M), *y = zeros(M);
    for (int64_t i = 0; i < M; i++) x[2 * i] = 1;
    sgfs_batch batch = {.n = M, .p = 2, .x = x, .total = (double)M, .gamma = 1};
    b->m->kind->resample(b->m, theta, &batch, normal, uniform, y);
    free(x);
    return y;
}

static double probability(double k, double mu) {
    return exp(k * log(mu) - mu - lgamma(k + 1));
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* How many of y are `low` .. `low + size - 1`. */
static int64_t *count(int64_t M, const double *y, int64_t low, int64_t size) {
    int64_t *seen = calloc((size_t)size, sizeof *seen);
    assert_non_null(seen);
    for (int64_t i = 0; i < M; i++) {
        assert_true(y[i] >= 0 && y[i] == floor(y[i]));
        int64_t k = (int64_t)y[i] - low;
        if (k >= 0 && k < size) seen[k]++;
    }
    return seen;
}

static void check_grid(const bench *b, double mu) {
    enum { M = 1 << 17 };
    double *uniform = zeros(M), *normal = zeros(M);
    for (int64_t i = 0; i < M; i++) uniform[i] = ((double)i + 0.5) / M;
    double *y = draw(b, M, mu, normal, uniform);
    int64_t low = (int64_t)fmax(0, floor(mu - 9 * sqrt(mu) - 9));
    int64_t size = (int64_t)(mu + 9 * sqrt(mu) + 20) - low, *seen = count(M, y, low, size);
    for (int64_t k = 0; k < size; k++) {
        char text[96];
        double p = probability((double)(low + k), mu);
        snprintf(text, sizeof text, "share of %lld at mu %g", (long long)(low + k), mu);
        assert_near((double)seen[k] / M, p, 1.001 / M + 1e-9 * p, text);
    }
    free(uniform);
    free(normal);
    free(y);
    free(seen);
}

static void test_every_count_owns_its_share_of_the_uniforms(void **state) {
    (void)state;
    static const double mu[] = {1e-300, 0.1, 0.97, 3, 40, 1021.7, 1025.3, 5000, 2.385e5};
    bench b;
    open_bench(&b);
    for (size_t k = 0; k < sizeof mu / sizeof mu[0]; k++) check_grid(&b, mu[k]);
    close_bench(&b);
}

/* Past a million a draw is the quantile that belongs to the normal number: the smallest count whose
 * distribution function, added up term by term, is not below Phi(z). */
static void test_large_draws_are_quantiles(void **state) {
    (void)state;
    enum { M = 2000 };
    const double mu = 1.2345e6, sd = sqrt(mu);
    double *z = zeros(M), *uniform = zeros(M);
    bench b;
    open_bench(&b);
    for (int64_t i = 0; i < M; i++) z[i] = -4 + 8 * ((double)i + 0.37) / M; /* increasing */
    double *y = draw(&b, M, mu, z, uniform);
    long double sum = 0, k = floorl(mu - 12 * sd);
    for (int64_t i = 0; i < M; i++) {
        long double wanted = 0.5L * erfcl(-(long double)z[i] / sqrtl(2));
        while (sum < wanted) {
            k++;
            sum += expl(k * logl(mu) - mu - lgammal(k + 1));
        }
        assert_true((long double)y[i] == k);
    }
    free(z);
    free(uniform);
    free(y);
    close_bench(&b);
}

/* z of chi-square, with counts merged until 20 are expected, or a hundredth of all where there are
 * too many of them to see a wrong spread otherwise. */
static double chi_square(int64_t M, const double *y, double mu) {
    int64_t low = (int64_t)fmax(0, floor(mu - 9 * sqrt(mu) - 9));
    int64_t size = (int64_t)(mu + 9 * sqrt(mu) + 20) - low, *seen = count(M, y, low, size);
    double sum = 0, wanted = 0, got = 0, left = (double)M, df = -1;
    double least = size > 10000 ? (double)M / 100 : 20;
    for (int64_t k = 0; k < size; k++) {
        wanted += (double)M * probability((double)(low + k), mu);
        got += (double)seen[k];
        if (wanted < least || left - wanted < least)
            continue; /* the tail stays with the last bin */
        sum += (got - wanted) * (got - wanted) / wanted;
        left -= wanted;
        wanted = got = 0;
        df++;
    }
    if (wanted > 0) sum += (got - wanted) * (got - wanted) / wanted, df++;
    free(seen);
    return (cbrt(sum / df) - (1 - 2 / (9 * df))) / sqrt(2 / (9 * df));
}

static void check_random(const bench *b, double mu, uint64_t seed) {
    enum { M = 200000 };
    double *uniform = zeros(M), *normal = zeros(M);
    char text[64];
    for (int64_t i = 0; i < M; i++) {
        uniform[i] = 0.5 * (next_number(&seed) + 1);
        normal[i] = next_normal(&seed);
    }
    double *y = draw(b, M, mu, normal, uniform);
    snprintf(text, sizeof text, "chi-square at mu %g", mu);
    assert_near(chi_square(M, y, mu), 0, 4.5, text);
    free(uniform);
    free(normal);
    free(y);
}

static void test_random_draws_have_the_distribution(void **state) {
    (void)state;
    static const double mu[] = {0.1, 3, 40, 5000, 1.5e7}; /* the last is drawn another way */
    bench b;
    open_bench(&b);
    for (size_t k = 0; k < sizeof mu / sizeof mu[0]; k++) check_random(&b, mu[k], 20 + k);
    close_bench(&b);
}

/* ---- the density ----------------------------------------------------------------------------- */

/* Counts in the table, at its end and past it. lgamma's own rounding: 4 units of a sum of terms of
 * the size y log y. */
static void test_log_density_of_counts_of_any_size(void **state) {
    (void)state;
    static const double y[] = {0, 1, 2, 17, 1022, 1023, 1024, 1025, 4711, 1e6, 3e9, 1e15};
    enum { M = sizeof y / sizeof y[0] };
    double x[2 * M], row[M], theta[2] = {log(1500.3), 0.0017}, scratch[8 * M];
    bench b;
    open_bench(&b);
    for (int i = 0; i < M; i++) {
        x[2 * i] = 1;
        x[2 * i + 1] = 13.9 * i;
    }
    sgfs_batch batch = {.n = M, .p = 2, .x = x, .y = y, .total = M, .gamma = 1};
    sgfs_scores s = {.n = M, .D = 2, .loglik = row};
    assert_int_equal(b.m->kind->scores(b.m, theta, &batch, &s, scratch, NULL), SGFS_OK);
    for (int i = 0; i < M; i++) {
        double eta = theta[0] + theta[1] * x[2 * i + 1], fact = lgamma(y[i] + 1);
        double size = y[i] * fabs(eta) + exp(eta) + fact + 1;
        assert_near(row[i], y[i] * eta - exp(eta) - fact, 16 * DBL_EPSILON * size, "loglik");
    }
    close_bench(&b);
}

static void test_exposure_is_part_of_the_predictor(void **state) {
    (void)state;
    double x[] = {1, 0.3, 1, -0.8}, y[] = {3, 0}, offset[] = {log(2.5), log(0.4)};
    double theta[] = {0.7, 0.2}, with[2], without[2], scratch[16];
    bench b;
    open_bench(&b);
    sgfs_batch batch = {.n = 2, .p = 2, .x = x, .y = y, .total = 2, .gamma = 1};
    b.m->kind->predict(b.m, theta, &batch, without, scratch);
    batch.offset = offset;
    b.m->kind->predict(b.m, theta, &batch, with, scratch);
    assert_near(with[0], 2.5 * without[0], 1e-14 * with[0], "exposure");
    assert_near(with[1], 0.4 * without[1], 1e-14 * with[1], "exposure");
    double start[2], less[2], spread[2], log_exposure[FEW] = {log(2), log(6), log(10), log(14)};
    b.m->kind->start(b.m, start, spread);
    assert_near(start[0], log(4), 1e-14, "the mean count");
    b.data->offset = log_exposure;
    b.m->kind->start(b.m, less, spread);
    assert_near(less[0], log(4.0 / 8), 1e-14, "and of one unit of exposure");
    close_bench(&b);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(const double *y, const char *row, const char *number) {
    bench b;
    sgfs_err err = {0};
    assert_null(try_model(&b, y, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    if (strstr(err.text, row) == NULL || strstr(err.text, number) == NULL ||
        strstr(err.text, "\"visits\"") == NULL || strstr(err.text, "counts") == NULL) {
        fail_msg("%s", err.text);
    }
    close_bench(&b);
}

/* Predictors past 745, whose exponentials are 0 or infinite, that cancel. */
static void test_pairs_far_out(void **state) {
    (void)state;
    static const double centre[][2] = {{-800, 0}, {800, 0}, {-720, 0}, {710, 0}, {0, 900}};
    static const double step[][2] = {{800.5, 0}, {801, 0}, {719, 0}, {-709, 0.1}, {0, 900.4}};
    bench b;
    open_bench(&b);
    sgfsi_arena arena = {NULL};
    sgfsi_places p;
    assert_int_equal(sgfsi_places_open(&p, b.m, 2, false, 1, &arena, NULL), SGFS_OK);
    for (int i = 0; i < 5; i++) {
        double plus, minus, lp, G[2];
        assert_int_equal(sgfsi_places_pairs(&p, centre[i], 1, step[i], &plus, &minus, NULL),
                         SGFS_OK);
        for (int side = 0; side < 2; side++) {
            double sign = side == 0 ? 1 : -1, got = side == 0 ? plus : minus;
            double at[2] = {centre[i][0] + sign * step[i][0], centre[i][1] + sign * step[i][1]};
            sgfs_status status = sgfsi_posterior_full(b.m, at, &lp, G, NULL, NULL);
            if (status == SGFS_OK) assert_near(got, lp, 1e-12 * fabs(lp), "far out");
            else assert_true(got == -INFINITY);
        }
    }
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

static void test_targets_that_are_no_counts(void **state) {
    (void)state;
    refuse((const double[FEW]){2, 0, -3, 1}, "row 3 ", "is -3;");
    refuse((const double[FEW]){2, 0.25, 3, 1}, "row 2 ", "is 0.25;");
    refuse((const double[FEW]){2, 0, 3, 1e15 + 0.5}, "row 4 ", "1000000000000000.5");
    bench b;
    sgfs_err err = {0};
    const double none[FEW] = {0, 0, 0, 0}; /* counts, all of them; the start is finite */
    assert_non_null(try_model(&b, none, &err));
    double theta[2], spread[2], G[2], lp;
    b.m->kind->start(b.m, theta, spread);
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, G, NULL, &err), SGFS_OK);
    close_bench(&b);
}

static void test_a_wild_predictor_is_a_failure(void **state) {
    (void)state;
    double theta[2] = {700, 0}, G[2], lp;
    sgfs_err err = {0};
    bench b;
    open_bench(&b);
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, G, NULL, &err), SGFS_OK);
    theta[0] = 711;
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, G, NULL, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "not finite"));
    theta[0] = -800; /* no count is expected, and 12 were seen: unlikely, not impossible */
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, G, NULL, &err), SGFS_OK);
    assert_near(G[0], 16 + 800, 1e-9, "gradient");
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_count_owns_its_share_of_the_uniforms),
        cmocka_unit_test(test_large_draws_are_quantiles),
        cmocka_unit_test(test_random_draws_have_the_distribution),
        cmocka_unit_test(test_log_density_of_counts_of_any_size),
        cmocka_unit_test(test_exposure_is_part_of_the_predictor),
        cmocka_unit_test(test_pairs_far_out),
        cmocka_unit_test(test_targets_that_are_no_counts),
        cmocka_unit_test(test_a_wild_predictor_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
