/* SPDX-License-Identifier: MIT
 * test_chunks.c: minibatches in chunks. Over the permutations of a file, Cov(N gbar) = (gamma - 1)
 * N Cov(g) with the gamma of chunks.c; parts that differ change nothing; a chunk of one row is a
 * row.
 *
 * Means lie within 5 standard errors of what they should be, variances within 5 sqrt(2/T) of it
 * (scores of a batch are close to normal): a false alarm in fewer than 1 of 20,000 choices of the
 * seed, and the seed is fixed.
 */
#include "rows/batch.h"
#include "tools/check.h"

enum { SEED = 20120626, MOST = 4096 };

static sgfs_urn urn_of(int64_t N, int64_t n, int64_t c) {
    return (sgfs_urn){.N = N, .n = n, .total = (double)N, .chunk = c, .parts = 1};
}

static void draw(const sgfs_scheme_kind *kind, const sgfs_urn *urn, int64_t t, int64_t *row) {
    int64_t state[64];
    const sgfs_when when = {.seed = SEED, .t = t, .chain = 1, .purpose = SGFSI_ROWS};
    assert_true(kind->state(urn) <= 64);
    kind->draw(urn, &when, state, row);
    for (int64_t i = 0; i < urn->n; i++) assert_in_range(row[i], 0, urn->N - 1);
}

/* ---- which rows ------------------------------------------------------------------------------ */

/* times[i] of a batch has mean n/N, whatever the chunk: full, cut short by the batch, or the
 * last. */
static void check_expected_equally(const sgfs_urn *urn) {
    enum { T = 40000 };
    double sum[MOST] = {0}, squares[MOST] = {0};
    int64_t row[MOST], times[MOST];
    for (int64_t t = 0; t < T; t++) {
        memset(times, 0, sizeof times);
        draw(&sgfs_scheme_chunks, urn, t, row);
        for (int64_t i = 0; i < urn->n; i++) times[row[i]]++;
        for (int64_t i = 0; i < urn->N; i++) {
            sum[i] += (double)times[i];
            squares[i] += (double)(times[i] * times[i]);
        }
    }
    for (int64_t i = 0; i < urn->N; i++) {
        double mean = sum[i] / T, se = sqrt((squares[i] / T - mean * mean) / T);
        assert_near(mean, (double)urn->n / (double)urn->N, 5 * se, "times of a row");
    }
}

static void test_every_row_is_expected_equally_often(void **state) {
    (void)state;
    static const int64_t size[][3] = {{61, 20, 8}, {64, 16, 16}, {61, 40, 60}, {13, 9, 5}};
    static const int64_t first[] = {0, 3, 40, 61};
    for (int k = 0; k < 4; k++) {
        sgfs_urn urn = urn_of(size[k][0], size[k][1], size[k][2]);
        check_expected_equally(&urn);
        if (urn.N != 61) continue;
        urn.parts = 3;
        urn.first = first;
        check_expected_equally(&urn);
    }
}

/* A run stays in its chunk, and a chunk of no more rows than the run asks for comes as a whole. */
static void test_a_run_is_a_chunk(void **state) {
    (void)state;
    enum { c = 16 };
    sgfs_urn urn = urn_of(1000, 5 * c, c); /* the last chunk has 8 rows */
    int64_t row[MOST];
    for (int64_t t = 0; t < 500; t++) {
        draw(&sgfs_scheme_chunks, &urn, t, row);
        for (int64_t k = 0; k < 5; k++) {
            int64_t first = row[k * c] / c * c, rows = 1000 - first < c ? 1000 - first : c;
            int64_t times[c] = {0};
            for (int64_t i = 0; i < c; i++) {
                assert_in_range(row[k * c + i], first, first + rows - 1);
                times[row[k * c + i] - first]++;
            }
            for (int64_t i = 0; i < rows; i++) assert_int_equal(times[i], c / rows);
        }
    }
}

static void test_a_chunk_of_one_row_is_a_row(void **state) {
    (void)state;
    static const int64_t first[] = {0, 300, 437, 800};
    sgfs_urn urn = urn_of(800, 200, 1);
    int64_t one[MOST], with[MOST];
    for (int64_t t = 0; t < 100; t++) {
        draw(&sgfs_scheme_chunks, &urn, t, one);
        draw(&sgfs_scheme_with, &urn, t, with);
        assert_memory_equal(one, with, 200 * sizeof *one);
    }
    assert_near(sgfs_scheme_chunks.gamma(&urn), sgfs_scheme_with.gamma(&urn), 1e-13, "gamma");
    urn.parts = 3;
    urn.first = first;
    assert_near(sgfs_scheme_chunks.gamma(&urn), sgfs_scheme_with.gamma(&urn), 1e-13, "gamma");
}

/* ---- gamma ----------------------------------------------------------------------------------- */

static void test_gamma_in_closed_form(void **state) {
    (void)state;
    static const double size[][3] = {{2000, 200, 100}, {1e9, 500, 100}, {4096, 64, 64}};
    for (int k = 0; k < 3; k++) {
        double N = size[k][0], n = size[k][1], c = size[k][2];
        sgfs_urn urn = urn_of((int64_t)N, (int64_t)n, (int64_t)c);
        double gamma = 1 + N / n * (N - c) / (N - 1);
        assert_near(sgfs_scheme_chunks.gamma(&urn), gamma, 1e-12 * gamma, "gamma");
    }
    sgfs_urn all = urn_of(97, 97, 97); /* one chunk of all rows: no noise */
    assert_near(sgfs_scheme_chunks.gamma(&all), 1, 1e-13, "all rows");
}

/* Several parts, of whole chunks: 1 + N/n sum_p (N_p/N)(N_p-c)/(N_p-1). Small ones, where that is
 * far below 1 + N/n; one of a single chunk has no noise of its own. */
static void test_gamma_of_parts_in_closed_form(void **state) {
    (void)state;
    static const int64_t first[] = {0, 20, 30, 80, 180};
    const double N = 180, n = 40, c = 10;
    sgfs_urn urn = urn_of(180, 40, 10);
    double sum = 0;
    urn.parts = 4;
    urn.first = first;
    for (int p = 0; p < 4; p++) {
        double rows = (double)(first[p + 1] - first[p]);
        sum += rows / N * (rows - c) / (rows - 1);
    }
    assert_true(sum < 0.9);
    assert_near(sgfs_scheme_chunks.gamma(&urn), 1 + N / n * sum, 1e-13, "gamma");
}

/* Sums of squares, over all orders of x (k..N still to be placed) and all starts, of what a run of
 * c rows has in excess of c times the mean, which is 0. */
static void add_orders(int64_t N, double *x, int64_t k, int64_t c, double *sum, double *count) {
    for (int64_t j = k; j < N; j++) {
        double first = x[k], other = x[j];
        x[k] = other;
        x[j] = first;
        add_orders(N, x, k + 1, c, sum, count);
        x[k] = first;
        x[j] = other;
    }
    for (int64_t u = 0; k == N && u < N; u++) {
        int64_t chunk = u / c * c, rows = N - chunk < c ? N - chunk : c;
        double run = 0;
        for (int64_t i = 0; i < c; i++) run += x[chunk + (u - chunk + i) % rows];
        *sum += run * run;
        *count += 1;
    }
}

/* Parts of 7, 5 and 2 rows in chunks of 3, each with a shorter chunk at its end: their noise over
 * all orders and starts, counted. */
static void test_gamma_of_parts_counted(void **state) {
    (void)state;
    enum { c = 3, n = 9 };
    static const int64_t first[] = {0, 7, 12, 14};
    sgfs_urn urn = urn_of(14, n, c);
    double gamma = 1;
    urn.parts = 3;
    urn.first = first;
    for (int p = 0; p < 3; p++) {
        int64_t rows = first[p + 1] - first[p];
        double x[7], squares = 0, sum = 0, count = 0;
        for (int64_t i = 0; i < rows; i++) x[i] = (double)(2 * i - rows + 1); /* mean 0 */
        for (int64_t i = 0; i < rows; i++) squares += x[i] * x[i] / (double)rows;
        add_orders(rows, x, 0, c, &sum, &count);
        gamma += (double)rows / n * (sum / count / squares) / c;
    }
    assert_near(sgfs_scheme_chunks.gamma(&urn), gamma, 1e-12, "gamma");
}

static void shuffle(int64_t n, double *x, uint64_t *seed) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(next_bits(seed) % (uint64_t)(i + 1));
        double keep = x[i];
        x[i] = x[j];
        x[j] = keep;
    }
}

typedef struct moments {
    double noise, se; /* mean of (N gbar - full gradient)^2 over its closed form, and its error */
} moments;

/* T batches, each from a fresh permutation of every part (told: as the scheme is told). */
static moments noise_of(const sgfs_urn *told, int64_t parts, const int64_t *first, double *g,
                        int64_t T) {
    int64_t N = told->N, row[MOST];
    double mean = 0, var = 0, sum = 0, squares = 0;
    uint64_t seed = 385;
    for (int64_t i = 0; i < N; i++) mean += g[i] / (double)N;
    for (int64_t i = 0; i < N; i++) var += (g[i] - mean) * (g[i] - mean) / (double)N;
    double closed = (sgfs_scheme_chunks.gamma(told) - 1) * (double)N * var;
    for (int64_t t = 0; t < T; t++) {
        for (int64_t p = 0; p < parts; p++) shuffle(first[p + 1] - first[p], g + first[p], &seed);
        double off = 0;
        draw(&sgfs_scheme_chunks, told, t, row);
        for (int64_t i = 0; i < told->n; i++) off += (g[row[i]] - mean);
        off *= (double)N / (double)told->n;
        sum += off * off / closed;
        squares += off * off / closed * (off * off / closed);
    }
    double ratio = sum / (double)T;
    return (moments){ratio, sqrt((squares / (double)T - ratio * ratio) / (double)T)};
}

/* Skewed scores; step: how much the parts differ. */
static double *scores_of(int64_t parts, const int64_t *first, double step) {
    double *g = zeros(first[parts]);
    uint64_t seed = 5;
    for (int64_t p = 0; p < parts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++)
            g[i] = exp(0.7 * next_normal(&seed)) + step * (double)(p * p);
    }
    return g;
}

/* c = N/20, where N/n + 1 would be off by 5 %; then a last chunk of 23 rows and a run cut short;
 * then one of 6 rows that comes up to 11 times. */
static void test_gamma_is_the_noise_over_permutations(void **state) {
    (void)state;
    static const int64_t size[][3] = {{800, 160, 40}, {790, 150, 59}, {70, 64, 64}};
    for (int k = 0; k < 3; k++) {
        sgfs_urn urn = urn_of(size[k][0], size[k][1], size[k][2]), with = urn;
        int64_t first[] = {0, urn.N};
        double *g = scores_of(1, first, 0);
        moments m = noise_of(&urn, 1, first, g, 60000);
        with.chunk = 1;
        double other = (sgfs_scheme_chunks.gamma(&urn) - 1) / (sgfs_scheme_with.gamma(&with) - 1);
        print_message("N %lld, n %lld, c %lld: noise %.4f +- %.4f of the closed form; gamma - 1 is "
                      "%.4f of N/n\n",
                      (long long)urn.N, (long long)urn.n, (long long)urn.chunk, m.noise, m.se,
                      other);
        assert_near(m.noise, 1, 5 * m.se, "noise");
        if (k == 0) assert_true(fabs(m.noise * other - 1) > 5 * m.se); /* N/n + 1 would be seen */
        free(g);
    }
}

/* Parts of very different means: still the noise of single rows, to P c/N = 0.8 %. Told that all is
 * one shuffled file, which it is not, the scheme would have several times the noise. */
static void test_parts_may_differ(void **state) {
    (void)state;
    static const int64_t first[] = {0, 700, 1700, 3600};
    for (int k = 0; k < 2; k++) {
        double *g = scores_of(3, first, k == 0 ? 0 : 1.385);
        sgfs_urn urn = urn_of(3600, 120, 10), merged = urn;
        urn.parts = 3;
        urn.first = first;
        moments right = noise_of(&urn, 3, first, g, 40000);
        moments wrong = noise_of(&merged, 3, first, g, 5000);
        print_message("parts %s: noise %.4f +- %.4f; as one part %.4f\n",
                      k == 0 ? "alike" : "differ", right.noise, right.se, wrong.noise);
        assert_near(right.noise, 1, 5 * right.se + 3 * 10 / 3600.0, "noise");
        if (k == 1) assert_true(wrong.noise > 4);
        free(g);
    }
}

/* ---- one permutation ------------------------------------------------------------------------- */

/* A file has one order. The covariance of its K chunk means is that of a sample: in units of its
 * expectation, variances along D orthogonal directions within (1 +- sqrt(D/K))^2 and some more for
 * chance, 5 sqrt(2/K) here. K = 1000 D. */
static void test_one_permutation(void **state) {
    (void)state;
    enum { D = 3, K = 3000, c = 20, N = K * c };
    uint64_t seed = 77;
    double *g = zeros(N), edge = 2 * sqrt((double)D / K) + 5 * sqrt(2.0 / K);
    for (int j = 0; j < D; j++) {
        double mean = 0, var = 0, between = 0;
        for (int64_t i = 0; i < N; i++) g[i] = exp(0.5 * next_normal(&seed));
        shuffle(N, g, &seed);
        for (int64_t i = 0; i < N; i++) mean += g[i] / N;
        for (int64_t i = 0; i < N; i++) var += (g[i] - mean) * (g[i] - mean) / N;
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t i = 0; i < c; i++) sum += g[k * c + i] / c;
            between += (sum - mean) * (sum - mean) / K;
        }
        assert_near(between * c / var * (N - 1) / (N - c), 1, edge, "between chunks");
    }
    free(g);
}

/* ---- how large, and when not ----------------------------------------------------------------- */

static sgfs_data shuffled_data(int64_t N, sgfsi_part *part, int64_t parts) {
    sgfs_data d = {.N = N, .total = (double)N, .row_bytes = 36, .path = (char *)"x.sgd"};
    d.table = (sgfsi_table){.rows = N, .shuffled = true, .parts = parts, .part = part};
    return d;
}

static void test_chunks_are_small_against_the_rows(void **state) {
    (void)state;
    sgfsi_part part[] = {{.rows = 1000000000, .chunk_rows = 113}};
    sgfs_data d = shuffled_data(1000000000, part, 1);
    assert_int_equal(sgfsi_chunk_rows(&d, 500, 9), 500);    /* a minibatch in one piece */
    assert_int_equal(sgfsi_chunk_rows(&d, 20000, 9), 3334); /* in 6 of at most 128 KB */
    d.N = 900000;                                           /* 1000 chunks a parameter: 100 rows */
    assert_int_equal(sgfsi_chunk_rows(&d, 500, 9), 100);
    assert_int_equal(sgfsi_chunk_rows(&d, 130, 9), 65);
    d.N = 17999;
    assert_int_equal(sgfsi_chunk_rows(&d, 500, 9), 1);
    d.N = 900000;
    d.table.parts = 90; /* and 1000 chunks a part */
    assert_int_equal(sgfsi_chunk_rows(&d, 500, 9), 10);
    d.table.parts = 1;
    d.table.shuffled = false;
    assert_int_equal(sgfsi_chunk_rows(&d, 500, 9), 1);
}

/* A view keeps the parts apart; one that is not in the table's order is drawn row by row. */
static void test_views_have_parts(void **state) {
    (void)state;
    enum { ROWS = 90000 };
    sgfsi_part part[] = {{.rows = 40000}, {.first = 40000, .rows = 500}, {.first = 40500}};
    sgfs_data d = shuffled_data(ROWS / 2, part, 3);
    int64_t *subset = calloc(ROWS / 2, sizeof *subset);
    sgfsi_arena arena = {NULL};
    const sgfsi_rows_plan plan = {.n = 60, .parameters = 3};
    sgfs_urn urn;
    assert_non_null(subset);
    d.subset = subset;
    for (int64_t i = 0; i < ROWS / 2; i++) subset[i] = 2 * i + 1;
    assert_int_equal(sgfsi_urn_open(&urn, &d, &sgfs_scheme_chunks, &plan, &arena, NULL), SGFS_OK);
    assert_int_equal(urn.chunk, 15);
    assert_int_equal(urn.parts, 3);
    assert_int_equal(urn.first[1], 20000);
    assert_int_equal(urn.first[2], 20250);
    assert_int_equal(urn.first[3], ROWS / 2);
    d.N = 20000; /* the first part only; then the first and the last */
    assert_int_equal(sgfsi_urn_open(&urn, &d, &sgfs_scheme_chunks, &plan, &arena, NULL), SGFS_OK);
    assert_int_equal(urn.parts, 1);
    for (int64_t i = 10000; i < 20000; i++) subset[i] = 50000 + i;
    assert_int_equal(sgfsi_urn_open(&urn, &d, &sgfs_scheme_chunks, &plan, &arena, NULL), SGFS_OK);
    assert_int_equal(urn.parts, 2);
    assert_int_equal(urn.first[1], 10000);
    assert_int_equal(urn.first[2], 20000);
    subset[7] = subset[6];
    assert_int_equal(sgfsi_urn_open(&urn, &d, &sgfs_scheme_chunks, &plan, &arena, NULL), SGFS_OK);
    assert_int_equal(urn.chunk, 1);
    sgfsi_arena_free(&arena);
    free(subset);
}

static void test_rows_in_any_order_are_refused(void **state) {
    (void)state;
    sgfs_err err;
    double weight[1] = {1};
    sgfsi_part part[] = {{.rows = 1000000, .chunk_rows = 113}};
    sgfs_data d = shuffled_data(1000000, part, 1);
    assert_int_equal(sgfsi_scheme_check(&sgfs_scheme_chunks, &d, &err), SGFS_OK);
    d.table.shuffled = false;
    assert_int_equal(sgfsi_scheme_check(&sgfs_scheme_chunks, &d, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "sgfs pack"));
    assert_int_equal(sgfsi_scheme_check(&sgfs_scheme_with, &d, &err), SGFS_OK);
    d.table.shuffled = true;
    d.weight = weight;
    assert_int_equal(sgfsi_scheme_check(&sgfs_scheme_chunks, &d, &err), SGFS_EUSAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_expected_equally_often),
        cmocka_unit_test(test_a_run_is_a_chunk),
        cmocka_unit_test(test_a_chunk_of_one_row_is_a_row),
        cmocka_unit_test(test_gamma_in_closed_form),
        cmocka_unit_test(test_gamma_of_parts_in_closed_form),
        cmocka_unit_test(test_gamma_of_parts_counted),
        cmocka_unit_test(test_gamma_is_the_noise_over_permutations),
        cmocka_unit_test(test_parts_may_differ),
        cmocka_unit_test(test_one_permutation),
        cmocka_unit_test(test_chunks_are_small_against_the_rows),
        cmocka_unit_test(test_views_have_parts),
        cmocka_unit_test(test_rows_in_any_order_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
