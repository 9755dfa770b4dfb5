/* SPDX-License-Identifier: MIT
 * test_softmax.c: softmax regression against logistic regression, against its own derivatives, and
 * sgfs-f against nuts on it.
 *
 * Two classes, one of them the --reference-class: logistic regression, number by number. Two
 * classes treated alike, b0 and b1, each with precision lambda: the likelihood depends on
 * d = b1 - b0 only, whose prior is N(0, 2/lambda), so d has the posterior of logistic regression
 * with lambda/2, and b0 + b1, independent of it, that of its prior, N(0, 2/lambda).
 *
 * Monte Carlo. z in units of its own standard error (sampled.h); |z| < 4.5 has a false-alarm rate
 * of 7e-6 for each of the 46 comparisons here, 3e-4 for all; seeds are fixed.
 */
#include <float.h>

#include "stat/sampled.h"

#include "model/outcomes.h"
#include "posterior/mode.h"
#include "tools/check.h"

enum { N = 700, P = 3, D = P + 1, CLASSES = 3 };

/* N rows of P columns, the second far from 0; y: classes 0 .. classes-1. */
static void make_rows(int classes, uint64_t seed, double *x, double *y) {
    static const double b[CLASSES][D] = {
        {0, 0, 0, 0}, {-0.417, 0.83, -0.31, 0.193}, {0.2385, -0.62, 0.171, 0.904}};
    for (int64_t i = 0; i < N; i++) {
        double sum = 0, weight[CLASSES] = {0};
        x[i * P] = next_normal(&seed);
        x[i * P + 1] = 1.7 + 0.6 * x[i * P] + 0.8 * next_normal(&seed);
        x[i * P + 2] = next_normal(&seed);
        for (int k = 0; k < classes; k++) {
            double eta = b[k][0];
            for (int j = 0; j < P; j++) eta += b[k][j + 1] * x[i * P + j];
            sum += weight[k] = exp(eta);
        }
        double u = 0.5 * (next_number(&seed) + 1) * sum;
        y[i] = 0;
        for (int k = 0; k + 1 < classes && u >= weight[k]; k++, y[i]++) u -= weight[k];
    }
}

/* ---- models side by side --------------------------------------------------------------------- */

typedef struct bound {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bound;

static bound bind(const sgfs_model_kind *kind, const double *x, const double *y, double lambda,
                  const setting *settings) {
    sgfs_err err;
    bound b = {.cfg = config_of(settings)};
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    assert_int_equal(sgfsi_config_set_num(b.cfg, "prior.precision", lambda, NULL), SGFS_OK);
    b.data = sgfs_data_wrap(&arrays, b.cfg, &err);
    if (b.data == NULL) fail_msg("%s", err.text);
    b.m = sgfsi_model_create(kind, b.data, b.cfg, NULL, &err);
    if (b.m == NULL) fail_msg("%s", err.text);
    return b;
}

static void release(bound *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

static const setting no_settings[] = {{NULL, NULL}};
static const setting all_alike[] = {{"model.reference_class", "none"}, {NULL, NULL}};
static const setting reference_0[] = {{"model.reference_class", "0"}, {NULL, NULL}};

static double full(const sgfs_model *m, const double *theta, double *G, double *A) {
    double lp;
    sgfs_err err;
    if (sgfsi_posterior_full(m, theta, &lp, G, A, &err) != SGFS_OK) fail_msg("%s", err.text);
    return lp;
}

static void mode_of(const sgfs_model *m, double *mode, double *cov) {
    sgfs_err err;
    if (sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* ---- with a reference class: logistic regression --------------------------------------------- */

/* The other reference has the other sign: rows of 1 against 0, and of 0 against 1. */
static void check_reference(const char *label, double sign) {
    static double x[N * P], y[N];
    const setting reference[] = {{"model.reference_class", label}, {NULL, NULL}};
    make_rows(2, 11, x, y);
    bound a = bind(&sgfs_model_softmax, x, y, 0.371, reference);
    bound b = bind(&sgfs_model_logistic, x, y, 0.371, no_settings);
    assert_int_equal(a.m->D, D);
    uint64_t seed = 12;
    for (int round = 0; round < 20; round++) { /* up to predictors of a few hundred */
        double theta[D], other[D], G[D], H[D], A[D * D], B[D * D];
        for (int j = 0; j < D; j++)
            theta[j] = (round + 1) * next_number(&seed) * (round > 9 ? 9 : 1);
        for (int j = 0; j < D; j++) other[j] = sign * theta[j];
        double lp = full(a.m, other, G, A), lq = full(b.m, theta, H, B);
        assert_near(lp, lq, 1e-12 * fabs(lq), "lp");
        for (int j = 0; j < D; j++) {
            assert_near(sign * G[j], H[j], 1e-12 * (N + fabs(H[j])), "gradient");
            for (int k = 0; k <= j; k++)
                assert_near(A[j * D + k], B[j * D + k], 1e-12 * 4 * N, "information");
        }
    }
    double mode[D], cov[D * D], mode_b[D], cov_b[D * D];
    mode_of(a.m, mode, cov);
    mode_of(b.m, mode_b, cov_b);
    for (int j = 0; j < D; j++) {
        assert_near(sign * mode[j], mode_b[j], 1e-7 * sqrt(cov_b[j * D + j]), "mode");
        for (int k = 0; k < D; k++)
            assert_near(cov[j * D + k], cov_b[j * D + k],
                        1e-7 * sqrt(cov_b[j * D + j] * cov_b[k * D + k]), "Laplace covariance");
    }
    release(&a);
    release(&b);
}

static void test_two_classes_and_a_reference_are_logistic_regression(void **state) {
    (void)state;
    check_reference("0", 1);
    check_reference("1", -1);
    check_reference("1.0", -1); /* the same number */
}

/* Not only a mode: the chains, too, up to rounding, as they see the same numbers. Trajectories
 * double rounding errors; 100 short ones leave plenty of the 16 digits. */
static void test_nuts_on_both_is_the_same_chain(void **state) {
    (void)state;
    static double x[N * P], y[N];
    make_rows(2, 11, x, y);
    const setting both[] = {{"sampler.kind", "nuts"}, {"run.chains", "1"}, {"run.warmup", "60"},
                            {"run.draws", "40"},      {"run.thin", "1"},   {NULL, NULL}};
    setting with[8];
    memcpy(with, both, sizeof both);
    with[5] = reference_0[0];
    with[6] = (setting){NULL, NULL};
    sampled a = sample_open(&sgfs_model_softmax, N, P, x, y, with);
    sampled b = sample_open(&sgfs_model_logistic, N, P, x, y, both);
    assert_int_equal(sample_all(&a, NULL), SGFS_OK);
    assert_int_equal(sample_all(&b, NULL), SGFS_OK);
    for (int64_t i = 0; i < 40 * D; i++)
        assert_near(a.draws->chain[0].theta[i], b.draws->chain[0].theta[i], 1e-7, "draw");
    sample_free(&a);
    sample_free(&b);
}

/* ---- both classes treated alike -------------------------------------------------------------- */

static void test_the_difference_of_two_classes_has_the_logistic_posterior(void **state) {
    (void)state;
    static double x[N * P], y[N];
    make_rows(2, 13, x, y);
    bound a = bind(&sgfs_model_softmax, x, y, 0.83, all_alike);
    bound b = bind(&sgfs_model_logistic, x, y, 0.415, no_settings);
    double mode[2 * D], cov[4 * D * D], truth[D], C[D * D];
    mode_of(a.m, mode, cov);
    mode_of(b.m, truth, C);
    for (int j = 0; j < D; j++) {
        double sd = sqrt(C[j * D + j]), *c = cov + j * 2 * D, *d = cov + (j + D) * 2 * D;
        assert_near(mode[D + j] - mode[j], truth[j], 1e-6 * sd, "mode");
        assert_near(mode[D + j] + mode[j], 0, 1e-6 * sd, "middle");
        for (int k = 0; k < D; k++) {
            double size = sqrt(C[j * D + j] * C[k * D + k]);
            double difference = d[k + D] - d[k] - c[k + D] + c[k];
            double middle = d[k + D] + d[k] + c[k + D] + c[k],
                   cross = d[k + D] + d[k] - c[k + D] - c[k];
            assert_near(difference, C[j * D + k], 1e-6 * size, "covariance of the difference");
            assert_near(middle, j == k ? 2 / 0.83 : 0, 1e-6, "covariance of the middle");
            assert_near(cross, 0, 1e-6, "covariance between them");
        }
    }
    release(&a);
    release(&b);
}

typedef struct about {
    int j, power;
    double centre;
} about;

/* Component j of the difference of rows 1 and 0; or of a logistic regression's coefficients. */
static double difference(const double *theta, const double *stats, const void *what) {
    const about *a = what;
    (void)stats;
    double d = theta[D + a->j] - theta[a->j] - a->centre;
    return a->power == 1 ? d : d * d;
}

static double component(const double *theta, const double *stats, const void *what) {
    const about *a = what;
    (void)stats;
    double d = theta[a->j] - a->centre;
    return a->power == 1 ? d : d * d;
}

static double sum_of_both(const double *theta, const double *stats, const void *what) {
    const about *a = what;
    (void)stats;
    double d = theta[D + a->j] + theta[a->j];
    return a->power == 1 ? d : d * d;
}

/* z between the estimates of two runs. */
static void assert_agree(const sgfs_draws *a, expectation f, const void *fa, const sgfs_draws *b,
                         expectation g, const void *gb, const char *what) {
    estimate p = estimate_of(a, f, fa), q = estimate_of(b, g, gb);
    double na = fmin(p.ess, (double)(a->chains * a->chain[0].draws)),
           nb = fmin(q.ess, (double)(b->chains * b->chain[0].draws));
    double z = (p.mean - q.mean) / sqrt(p.sd * p.sd / na + q.sd * q.sd / nb);
    assert_near(z, 0, 4.5, what);
}

static void test_nuts_finds_that_posterior(void **state) {
    (void)state;
    static double x[N * P], y[N];
    make_rows(2, 13, x, y);
    const setting alike[] = {{"sampler.kind", "nuts"},    {"model.reference_class", "none"},
                             {"prior.precision", "0.83"}, {"run.warmup", "500"},
                             {"run.draws", "1000"},       {NULL, NULL}};
    const setting half[] = {{"sampler.kind", "nuts"},
                            {"prior.precision", "0.415"},
                            {"run.warmup", "500"},
                            {"run.draws", "1000"},
                            {NULL, NULL}};
    sampled a = sample_open(&sgfs_model_softmax, N, P, x, y, alike);
    sampled b = sample_open(&sgfs_model_logistic, N, P, x, y, half);
    assert_int_equal(sample_all(&a, NULL), SGFS_OK);
    assert_int_equal(sample_all(&b, NULL), SGFS_OK);
    for (int j = 0; j < D; j++) {
        about first = {j, 1, 0}, second = {j, 2, estimate_of(b.draws, component, &first).mean};
        assert_agree(a.draws, difference, &first, b.draws, component, &first, "mean");
        assert_agree(a.draws, difference, &second, b.draws, component, &second, "variance");
        second.centre = 0;
        assert_near(z_of(a.draws, sum_of_both, &first, 0), 0, 4.5, "middle");
        assert_near(z_of(a.draws, sum_of_both, &second, 2 / 0.83), 0, 4.5, "its variance");
    }
    sample_free(&a);
    sample_free(&b);
}

/* ---- three classes --------------------------------------------------------------------------- */

/* Central differences of the gradient, as in conform/test_model.c, and the sum over outcomes of
 * outcomes.c, which knows nothing of this formula; with and without a reference, in few rows too
 * (fewer than columns: the products are made in strips). */
static void check_information(const setting *settings, int64_t rows) {
    static double x[N * P], y[N];
    make_rows(CLASSES, 17, x, y);
    bound b = bind(&sgfs_model_softmax, x, y, 0, settings);
    int64_t M = b.m->D;
    double *theta = numbers(M, 5), *A = zeros(M * M), *B = zeros(M * M), *G = zeros(M),
           *H = zeros(M);
    full(b.m, theta, G, A);
    for (int64_t j = 0; j < M; j++) {
        double h = 6e-6, keep = theta[j];
        theta[j] = keep + h;
        full(b.m, theta, G, NULL);
        theta[j] = keep - h;
        full(b.m, theta, H, NULL);
        theta[j] = keep;
        for (int64_t i = j; i < M; i++)
            assert_near(A[i * M + j], (H[i] - G[i]) / (2 * h),
                        1e-6 * sqrt(A[i * M + i] * A[j * M + j]), "Hessian");
    }
    memset(A, 0, sizeof *A * (size_t)(M * M));
    double *room = zeros(rows * sgfsi_outcomes_scratch(b.m)), *rows_x = zeros(rows * D);
    double *weight = zeros(rows);
    for (int64_t i = 0; i < rows; i++) weight[i] = 0.3 + (double)(i % 5);
    sgfsi_data_rows_range(b.data, 0, rows, rows_x, NULL);
    sgfs_batch batch = {
        .n = rows, .p = D, .x = rows_x, .y = y, .weight = weight, .total = N, .gamma = 1};
    b.m->kind->curvature(b.m, theta, &batch, A, room);
    sgfsi_label_curvature(b.m, theta, &batch, B, room);
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j <= i; j++)
            assert_near(A[i * M + j], B[i * M + j], 1e-12 * 30 * (double)rows, "outcomes");
        for (int64_t j = i + 1; j < M; j++) assert_true(A[i * M + j] == 0); /* nobody's */
    }
    free(theta);
    free(A);
    free(B);
    free(G);
    free(H);
    free(room);
    free(rows_x);
    free(weight);
    release(&b);
}

static void test_the_information_is_the_hessian(void **state) {
    (void)state;
    const setting reference_1[] = {{"model.reference_class", "1"}, {NULL, NULL}};
    check_information(all_alike, N);
    check_information(reference_1, N);
    check_information(all_alike, D - 1);
    check_information(reference_1, 1);
}

/* Shares of the labels drawn for one row; and the same for sparse rows, predictions included. */
static void test_draws_have_the_predicted_shares(void **state) {
    (void)state;
    enum { M = 60000 };
    static double x[N * P], y[N];
    make_rows(CLASSES, 17, x, y);
    const setting reference_1[] = {{"model.reference_class", "1"}, {NULL, NULL}};
    bound b = bind(&sgfs_model_softmax, x, y, 1, reference_1);
    double *theta = numbers(b.m->D, 21), *rows = zeros(M * D), *normal = zeros(M);
    double *uniform = zeros(M), *drawn = zeros(M), *room = zeros(M * 8), *P_k = zeros(M * CLASSES);
    int64_t *start = calloc(M + 1, sizeof *start);
    int32_t *col = calloc(3 * M, sizeof *col);
    double *value = zeros(3 * M), share[CLASSES] = {0};
    for (int64_t i = 0; i < M; i++) { /* the column in the middle is 0 */
        const double row[D] = {1, 0.7, 0, -1.3};
        memcpy(rows + i * D, row, sizeof row);
        uniform[i] = ((double)i + 0.5) / M;
        start[i + 1] = 3 * (i + 1);
        for (int k = 0; k < 3; k++) {
            col[3 * i + k] = (int32_t)(k + (k == 2));
            value[3 * i + k] = row[k + (k == 2)];
        }
    }
    sgfs_batch batch = {.n = M, .p = D, .x = rows, .total = M, .gamma = 1};
    b.m->kind->predict(b.m, theta, &batch, P_k, room);
    b.m->kind->resample(b.m, theta, &batch, normal, uniform, drawn);
    for (int64_t i = 0; i < M; i++) share[(int)drawn[i]] += 1.0 / M;
    for (int k = 0; k < CLASSES; k++) assert_near(share[k], P_k[k], 2.0 / M, "share");
    const sgfs_csr csr = {start, col, value};
    sgfs_batch sparse = {.n = M, .p = D, .sparse = &csr, .total = M, .gamma = 1};
    double *again = zeros(M), *P_s = zeros(M * CLASSES);
    b.m->kind->resample(b.m, theta, &sparse, normal, uniform, again);
    assert_memory_equal(again, drawn, sizeof *drawn * M);
    b.m->kind->predict(b.m, theta, &sparse, P_s, room);
    for (int64_t i = 0; i < M * CLASSES; i++) assert_near(P_s[i], P_k[i], 1e-14, "sparse rows");
    double A[64] = {0}, B[64] = {0}, *wide = zeros(M * (8 + 2 * D));
    b.m->kind->curvature(b.m, theta, &batch, A, wide);
    b.m->kind->curvature(b.m, theta, &sparse, B, wide);
    for (int k = 0; k < 64; k++) assert_near(A[k], B[k], 1e-12 * M, "information of sparse rows");
    free(theta);
    free(rows);
    free(normal);
    free(uniform);
    free(drawn);
    free(room);
    free(P_k);
    free(start);
    free(col);
    free(value);
    free(again);
    free(P_s);
    free(wide);
    release(&b);
}

/* Default options. SGFS-f has no accept step: at 700 rows its own error adds to Monte Carlo's, and
 * is allowed 0.05 sd in means, 5 % in standard deviations (none is seen beyond the noise). */
static void test_sgfs_f_by_default_agrees_with_nuts(void **state) {
    (void)state;
    static double x[N * P], y[N];
    make_rows(CLASSES, 17, x, y);
    const setting nuts[] = {
        {"sampler.kind", "nuts"}, {"run.warmup", "500"}, {"run.draws", "1000"}, {NULL, NULL}};
    sampled a = sample_open(&sgfs_model_softmax, N, P, x, y, no_settings);
    sampled b = sample_open(&sgfs_model_softmax, N, P, x, y, nuts);
    assert_int_equal(sample_all(&a, NULL), SGFS_OK);
    assert_int_equal(sample_all(&b, NULL), SGFS_OK);
    for (int j = 0; j < 2 * D; j++) { /* differences to the first class */
        about first = {j, 1, 0};
        estimate p = estimate_of(a.draws, component, &first);
        estimate q = estimate_of(b.draws, component, &first);
        double error = sqrt(1 / fmin(p.ess, 4000) + 1 / fmin(q.ess, 4000));
        print_message("%d: mean off by %.3f sd (%.3f of it noise), sd %.3f\n", j,
                      (p.mean - q.mean) / q.sd, error, p.sd / q.sd);
        assert_near((p.mean - q.mean) / q.sd, 0, 0.05 + 4.5 * error, "mean");
        assert_near(p.sd / q.sd, 1, 0.05 + 4.5 * error / sqrt(2), "sd");
    }
    sample_free(&a);
    sample_free(&b);
}

/* Two rows of a label among 6,000: most minibatches have none of them, and a matrix that has not
 * met one would throw its coefficients away, and the others' with them. The posterior is skewed,
 * and SGFS is allowed 0.3 sd in means and 25 % in standard deviations of that label's; 0.1 sd and
 * 10 % of the others'. */
static void test_a_rare_label_does_no_harm(void **state) {
    (void)state;
    enum { ROWS = 6000 };
    static double x[ROWS * P], y[ROWS];
    uint64_t seed = 31;
    for (int64_t i = 0; i < ROWS; i++) {
        double eta = 0.2;
        for (int j = 0; j < P; j++)
            eta += (x[i * P + j] = next_normal(&seed)) * (j == 0 ? 1 : -0.5);
        y[i] = i % 3000 == 1700 ? 2 : 0.5 * (next_number(&seed) + 1) < 1 / (1 + exp(-eta)) ? 1 : 0;
    }
    const setting nuts[] = {
        {"sampler.kind", "nuts"}, {"run.warmup", "300"}, {"run.draws", "400"}, {NULL, NULL}};
    sampled a = sample_open(&sgfs_model_softmax, ROWS, P, x, y, no_settings);
    sampled b = sample_open(&sgfs_model_softmax, ROWS, P, x, y, nuts);
    assert_int_equal(sample_all(&a, NULL), SGFS_OK);
    assert_int_equal(sample_all(&b, NULL), SGFS_OK);
    for (int j = 0; j < 2 * D; j++) {
        about first = {j, 1, 0};
        estimate p = estimate_of(a.draws, component, &first);
        estimate q = estimate_of(b.draws, component, &first);
        double error = sqrt(1 / fmin(p.ess, 4000) + 1 / fmin(q.ess, 1600));
        bool rare = j >= D;
        print_message("%d: mean off by %.3f sd (%.3f of it noise), sd %.3f\n", j,
                      (p.mean - q.mean) / q.sd, error, p.sd / q.sd);
        assert_near((p.mean - q.mean) / q.sd, 0, (rare ? 0.3 : 0.1) + 4.5 * error, "mean");
        assert_near(p.sd / q.sd, 1, (rare ? 0.25 : 0.1) + 4.5 * error / sqrt(2), "sd");
    }
    sample_free(&a);
    sample_free(&b);
}

/* ---- nothing but the likelihood -------------------------------------------------------------- */

static void keep_text(sgfs_level level, const char *text, void *user) {
    if (level == SGFS_WARNING) snprintf(user, 400, "%s", text);
}

static void test_without_a_prior_the_null_directions_are_named(void **state) {
    (void)state;
    static double x[N * P], y[N];
    char said[400] = "";
    sgfs_err err = {0};
    double mode[CLASSES * D], cov[CLASSES * D * CLASSES * D];
    make_rows(CLASSES, 17, x, y);
    sgfs_config *cfg = config_of(all_alike);
    sgfs_config_on_message(cfg, keep_text, said);
    assert_int_equal(sgfsi_config_set_num(cfg, "prior.precision", 0, NULL), SGFS_OK);
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfsi_model_create(&sgfs_model_softmax, data, cfg, NULL, &err);
    assert_non_null(strstr(said, "--reference-class 0"));
    assert_int_equal(sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "singular"));
    sgfs_model_free(m);
    said[0] = '\0';
    assert_int_equal(sgfs_config_set(cfg, "model.reference_class", "0", NULL), SGFS_OK);
    m = sgfsi_model_create(&sgfs_model_softmax, data, cfg, NULL, &err);
    assert_string_equal(said, "");
    assert_int_equal(sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err), SGFS_OK);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_classes_and_a_reference_are_logistic_regression),
        cmocka_unit_test(test_nuts_on_both_is_the_same_chain),
        cmocka_unit_test(test_the_difference_of_two_classes_has_the_logistic_posterior),
        cmocka_unit_test(test_nuts_finds_that_posterior),
        cmocka_unit_test(test_the_information_is_the_hessian),
        cmocka_unit_test(test_draws_have_the_predicted_shares),
        cmocka_unit_test(test_sgfs_f_by_default_agrees_with_nuts),
        cmocka_unit_test(test_a_rare_label_does_no_harm),
        cmocka_unit_test(test_without_a_prior_the_null_directions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
