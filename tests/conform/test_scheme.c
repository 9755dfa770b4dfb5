/* SPDX-License-Identifier: MIT
 * test_scheme.c: the two things a sampler relies on, for every row of sgfsi_schemes: minibatches
 * are independent from one iteration to the next, and Cov(N gbar) = (gamma - 1) N Cov(g).
 *
 * Chi-square statistics must lie between the 1e-6 quantiles of their distribution (Wilson and
 * Hilferty's approximation), correlations within 5/sqrt(T) of 0, variances within 5 standard
 * errors: a false alarm in fewer than 1 of 20,000 choices of the seed, and the seed is fixed.
 */
#include <stdio.h>

#include "rows/batch.h"
#include "tools/check.h"

enum { SEED = 20120626, MOST = 1024 };

#define EACH_SCHEME(s)                                                                             \
    for (const sgfs_scheme_kind *const *at = sgfsi_schemes, *s; (s = *at) != NULL; at++)

/* One chain's rows. */
typedef struct source {
    const sgfs_scheme_kind *kind;
    sgfs_urn urn;
    int64_t n, *state, row[MOST];
} source;

static source open_urn(const sgfs_scheme_kind *kind, const sgfs_urn *urn) {
    source s = {.kind = kind, .urn = *urn, .n = urn->n};
    assert_true(urn->n <= MOST);
    s.state = calloc((size_t)kind->state(urn) + 1, sizeof *s.state);
    assert_non_null(s.state);
    if (kind->init != NULL) kind->init(urn, s.state);
    return s;
}

static sgfs_urn plain_urn(int64_t N, int64_t n) {
    return (sgfs_urn){.N = N, .n = n, .total = (double)N, .chunk = 1, .parts = 1};
}

static source open_source(const sgfs_scheme_kind *kind, int64_t N, int64_t n) {
    sgfs_urn urn = plain_urn(N, n);
    return open_urn(kind, &urn);
}

static double gamma_of(const sgfs_scheme_kind *kind, int64_t N, int64_t n) {
    sgfs_urn urn = plain_urn(N, n);
    return kind->gamma(&urn);
}

static void draw(source *s, int64_t t, uint32_t chain, uint32_t purpose) {
    const sgfs_when when = {.seed = SEED, .t = t, .chain = chain, .purpose = purpose};
    s->kind->draw(&s->urn, &when, s->state, s->row);
    for (int64_t i = 0; i < s->n; i++) assert_in_range(s->row[i], 0, s->urn.N - 1);
}

static bool is_without(const sgfs_scheme_kind *kind) {
    return strcmp(kind->name, "without") == 0;
}

static void assert_chi_square(double x, double k, const char *what) {
    const double z = 4.753; /* normal quantile of 1e-6 */
    double centre = 1 - 2 / (9 * k), width = z * sqrt(2 / (9 * k));
    double low = k * pow(fmax(centre - width, 0), 3), high = k * pow(centre + width, 3);
    if (x < low || x > high)
        fail_msg("%s: chi-square %.2f outside %.2f .. %.2f", what, x, low, high);
}

/* ---- which rows ------------------------------------------------------------------------------ */

/* Every row is drawn equally often. Counts of a row have variance T n/N (with replacement:
 * multinomial) or T (n/N)(1 - n/N) N/(N-1) (a subset: hypergeometric). */
static void test_every_row_is_drawn_equally_often(void **state) {
    (void)state;
    enum { T = 30000 };
    static const int64_t size[][2] = {{61, 20}, {61, 2}, {997, 64}, {5, 4}};
    EACH_SCHEME(kind) {
        for (int k = 0; k < 4; k++) {
            int64_t N = size[k][0], n = size[k][1], count[MOST] = {0};
            source s = open_source(kind, N, n);
            for (int64_t t = 1; t <= T; t++) {
                draw(&s, t, 0, SGFSI_ROWS);
                for (int64_t i = 0; i < n; i++) count[s.row[i]]++;
            }
            double f = (double)n / (double)N, x = 0, variance = T * f;
            if (is_without(kind)) variance *= (1 - f) * (double)N / (double)(N - 1);
            for (int64_t i = 0; i < N; i++) x += pow((double)count[i] - T * f, 2) / variance;
            assert_chi_square(x, (double)(N - 1), kind->name);
            free(s.state);
        }
    }
}

/* Every pair (with) or every subset (without) of 7 rows is as likely as any other. */
static void test_every_combination_is_drawn_equally_often(void **state) {
    (void)state;
    enum { T = 70000, N = 7 };
    EACH_SCHEME(kind) {
        int64_t n = is_without(kind) ? 3 : 2, count[128] = {0}, kinds = 0;
        source s = open_source(kind, N, n);
        for (int64_t t = 1; t <= T; t++) {
            draw(&s, t, 0, SGFSI_ROWS);
            if (!is_without(kind)) count[s.row[0] * N + s.row[1]]++;
            else count[1 << s.row[0] | 1 << s.row[1] | 1 << s.row[2]]++;
        }
        double x = 0, each = T / (is_without(kind) ? 35.0 : 49.0);
        for (int i = 0; i < 128; i++) {
            if (count[i] == 0) continue;
            kinds++;
            x += pow((double)count[i] - each, 2) / each;
        }
        assert_int_equal(kinds, is_without(kind) ? 35 : 49);
        assert_chi_square(x, (double)(kinds - 1), kind->name);
        free(s.state);
    }
}

static void test_a_subset_has_no_row_twice(void **state) {
    (void)state;
    static const int64_t size[][2] = {{2, 2}, {5, 3}, {64, 64}, {1000, 999}, {1000000007, 513}};
    for (int k = 0; k < 5; k++) {
        int64_t N = size[k][0], n = size[k][1];
        source s = open_source(&sgfs_scheme_without, N, n);
        for (int64_t t = 0; t < 50; t++) {
            draw(&s, t, 1, SGFSI_ROWS);
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < i; j++) assert_true(s.row[i] != s.row[j]);
            }
        }
        free(s.state);
    }
}

/* ---- independence ---------------------------------------------------------------------------- */

/* A batch as one number: the sum of fixed scores of its rows. */
static double batch_sum(const source *s, const double *score) {
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) sum += score[s->row[i]];
    return sum;
}

static double correlation(int64_t T, const double *a, const double *b) {
    double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (int64_t t = 0; t < T; t++) {
        ma += a[t] / (double)T;
        mb += b[t] / (double)T;
    }
    for (int64_t t = 0; t < T; t++) {
        aa += (a[t] - ma) * (a[t] - ma);
        bb += (b[t] - mb) * (b[t] - mb);
        ab += (a[t] - ma) * (b[t] - mb);
    }
    return ab / sqrt(aa * bb);
}

static void test_iterations_chains_and_purposes_are_independent(void **state) {
    (void)state;
    enum { T = 20000, N = 120, n = 30 };
    double *score = numbers(N, 3), *a = zeros(T + 1), *other = zeros(T);
    EACH_SCHEME(kind) {
        source s = open_source(kind, N, n);
        for (int64_t t = 0; t <= T; t++) {
            draw(&s, t, 0, SGFSI_ROWS);
            a[t] = batch_sum(&s, score);
        }
        assert_near(correlation(T, a, a + 1), 0, 5 / sqrt(T), "next iteration");
        for (int k = 0; k < 2; k++) {
            for (int64_t t = 0; t < T; t++) {
                draw(&s, t, k == 0 ? 1 : 0, k == 0 ? SGFSI_ROWS : SGFSI_FILL);
                other[t] = batch_sum(&s, score);
            }
            assert_near(correlation(T, a, other), 0, 5 / sqrt(T), k == 0 ? "chain" : "purpose");
        }
        draw(&s, 17, 0, SGFSI_ROWS); /* and a batch can be had again, in any order */
        assert_true(batch_sum(&s, score) == a[17]);
        free(s.state);
    }
    free(score);
    free(a);
    free(other);
}

/* Walking through a shuffled epoch, what this project must never do, would be seen: with N/n = 4
 * batches to an epoch, neighbours have correlation -1/3 in 3 of 4 cases. */
static void test_an_epoch_walk_would_be_caught(void **state) {
    (void)state;
    enum { T = 20000, N = 120, n = 30 };
    double *score = numbers(N, 3), *a = zeros(T + 1);
    for (int64_t t = 0; t <= T; t++) {
        uint64_t shuffle = (uint64_t)(t / (N / n)) + 77;
        int64_t order[N];
        for (int64_t i = 0; i < N; i++) order[i] = i;
        for (int64_t i = N - 1; i > 0; i--) {
            int64_t j = (int64_t)(next_bits(&shuffle) % (uint64_t)(i + 1)), keep = order[i];
            order[i] = order[j];
            order[j] = keep;
        }
        for (int64_t i = 0; i < n; i++) a[t] += score[order[t % (N / n) * n + i]];
    }
    assert_true(correlation(T, a, a + 1) < -20 / sqrt(T));
    free(score);
    free(a);
}

/* ---- gamma ----------------------------------------------------------------------------------- */

static void test_gamma_in_closed_form(void **state) {
    (void)state;
    static const int64_t size[][2] = {{10000, 500}, {147473, 2}, {64, 64}, {3, 2}};
    for (int k = 0; k < 4; k++) {
        double N = (double)size[k][0], n = (double)size[k][1];
        assert_near(gamma_of(&sgfs_scheme_with, size[k][0], size[k][1]), (N + n) / n, 0, "with");
        assert_near(gamma_of(&sgfs_scheme_without, size[k][0], size[k][1]), N / n, 0, "without");
    }
}

/* Three fixed scores for each of 800 rows, skewed and correlated. The divisor of Cov(g), N or
 * N - 1, changes 0.1 %; the standard error of a variance from T batches is sqrt(2/T) = 0.8 %, and
 * of a covariance sqrt((C_ii C_jj + C_ij^2)/T). gamma of the other scheme is off by n/N = 25 %. */
static void test_gamma_is_the_noise_of_the_gradient(void **state) {
    (void)state;
    enum { T = 30000, N = 800, n = 200, D = 3 };
    double g[N * D], mean[D] = {0}, cov[D * D] = {0};
    uint64_t seed = 5;
    for (int64_t i = 0; i < N; i++) {
        double z = next_normal(&seed);
        g[i * D] = exp(0.7 * z);
        g[i * D + 1] = z + 0.4 * next_normal(&seed) + 2.385;
        g[i * D + 2] = next_number(&seed) * 0.01;
        for (int j = 0; j < D; j++) mean[j] += g[i * D + j] / N;
    }
    for (int64_t i = 0; i < N; i++) {
        for (int k = 0; k < D * D; k++)
            cov[k] += (g[i * D + k / D] - mean[k / D]) * (g[i * D + k % D] - mean[k % D]) / (N - 1);
    }
    EACH_SCHEME(kind) {
        source s = open_source(kind, N, n);
        double seen[D * D] = {0}, bias[D] = {0}, c = (gamma_of(kind, N, n) - 1) * N;
        for (int64_t t = 1; t <= T; t++) {
            double off[D] = {0}; /* N gbar minus the full gradient */
            draw(&s, t, 2, SGFSI_ROWS);
            for (int64_t i = 0; i < n; i++) {
                for (int j = 0; j < D; j++)
                    off[j] += (double)N / n * (g[s.row[i] * D + j] - mean[j]);
            }
            for (int k = 0; k < D * D; k++) seen[k] += off[k / D] * off[k % D] / T;
            for (int j = 0; j < D; j++) bias[j] += off[j] / T;
        }
        for (int k = 0; k < D * D; k++) {
            double v = c * c * (cov[k / D * (D + 1)] * cov[k % D * (D + 1)] + cov[k] * cov[k]);
            assert_near(seen[k], c * cov[k], 5 * sqrt(v / T) + 0.002 * sqrt(v), kind->name);
        }
        for (int j = 0; j < D; j++)
            assert_near(bias[j], 0, 5 * sqrt(c * cov[j * (D + 1)] / T), kind->name);
        free(s.state);
    }
}

/* n = N: a subset of all the rows is all the rows, gamma = 1 and no noise. */
static void test_a_batch_of_all_rows(void **state) {
    (void)state;
    enum { N = 97 };
    source s = open_source(&sgfs_scheme_without, N, N);
    assert_true(gamma_of(&sgfs_scheme_without, N, N) == 1);
    assert_true(gamma_of(&sgfs_scheme_with, N, N) == 2);
    for (int64_t t = 0; t < 100; t++) {
        bool seen[N] = {false};
        draw(&s, t, 0, SGFSI_ROWS);
        for (int64_t i = 0; i < N; i++) seen[s.row[i]] = true;
        for (int64_t i = 0; i < N; i++) assert_true(seen[i]);
    }
    free(s.state);
}

static void test_every_scheme_is_found_by_name(void **state) {
    (void)state;
    EACH_SCHEME(kind) assert_ptr_equal(sgfsi_scheme_find(kind->name), kind);
    assert_null(sgfsi_scheme_find("epoch"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_drawn_equally_often),
        cmocka_unit_test(test_every_combination_is_drawn_equally_often),
        cmocka_unit_test(test_a_subset_has_no_row_twice),
        cmocka_unit_test(test_iterations_chains_and_purposes_are_independent),
        cmocka_unit_test(test_an_epoch_walk_would_be_caught),
        cmocka_unit_test(test_gamma_in_closed_form),
        cmocka_unit_test(test_gamma_is_the_noise_of_the_gradient),
        cmocka_unit_test(test_a_batch_of_all_rows),
        cmocka_unit_test(test_every_scheme_is_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
