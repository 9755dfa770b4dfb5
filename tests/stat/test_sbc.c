/* SPDX-License-Identifier: MIT
 * Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018). For
 *     theta ~ N(0, I/lambda),   y ~ N(X theta, I),   theta_1 .. theta_L ~ the sampler, given y
 * the rank of theta among its L draws is uniform on 0 .. L when the sampler is right, whatever X
 * is. Each problem is new: means, variances and tails are tested at once, over the prior's range.
 *
 * For samplers exact (also from marks) and exact-hmc the same with labels, p(y = 1) =
 * sigmoid(x'theta), as well. (Problems whose labels are all alike are left out: that looks at y
 * alone, and given y nothing changes.)
 *
 * Ranks are taken of the D parameters and of the D whitened directions C'theta, A = C C' the
 * posterior precision. The latter are independent of each other given y, so their ranks are pooled.
 *
 *   63 ranks (L = 62) in 9 bins: chi-square with 8 degrees of freedom, whose tail has the closed
 * form
 *   P(X > x) = exp(-x/2) sum_{k<4} (x/2)^k/k!. (D + 1) p-values for each sampler, 12 studies:
 *   60 of them; each must exceed 4e-6, so that a right program fails for one choice of seeds in
 *   4,100. Draws are thinned until their correlation cannot be seen in ranks.
 */
#include "stat/sampled.h"
#include "tools/tier.h"

enum { ROWS = 24, D = 4, L = 62, BINS = 9 };
static const double lambda = 0.735, least_p = 4e-6;

typedef struct tally {
    double count[D + 1][BINS]; /* by parameter; last: the whitened directions, pooled */
    double ranks[D + 1];
} tally;

typedef struct study {
    const char *name;
    int64_t rows, problems;
    double scale; /* the draws are blown up about their mean by this: 1 is honest */
    const setting *settings;
    const sgfs_model_kind *kind; /* NULL: linear */
} study;

/* ---- one problem ----------------------------------------------------------------------------- */

typedef struct simulated {
    double *x, *y;        /* rows x D, rows */
    double theta[D];      /* the truth */
    double factor[D * D]; /* lower: A = factor factor' */
} simulated;

/* x with correlated columns of unlike scale; A by the way. */
static simulated simulate_problem(int64_t rows, int64_t index) {
    simulated q = {.x = need((size_t)(rows * D), sizeof(double)),
                   .y = need((size_t)rows, sizeof(double))};
    sgfsi_stream s = sgfsi_stream_at(31, 0, index, SGFSI_TRUTH);
    sgfsi_normals(&s, D, q.theta);
    sgfsi_normals(&s, rows * D, q.x);
    sgfsi_normals(&s, rows, q.y);
    for (int64_t j = 0; j < D; j++) q.theta[j] /= sqrt(lambda);
    for (int64_t j = 0; j < D; j++) q.factor[j * D + j] = lambda;
    double size = sqrt(24.0 / (double)rows); /* as much information, whatever the rows */
    for (int64_t i = 0; i < rows; i++) {
        double *x = q.x + i * D;
        for (int64_t j = 1; j < D; j++) x[j] = 0.7 * x[j - 1] + 0.6 * x[j];
        for (int64_t j = 0; j < D; j++) x[j] *= size * (0.4 + 0.3 * (double)j);
        for (int64_t j = 0; j < D; j++) q.y[i] += x[j] * q.theta[j];
        for (int64_t j = 0; j < D * D; j++) q.factor[j] += x[j / D] * x[j % D];
    }
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, D, q.factor), 0);
    return q;
}

/* out = factor' theta */
static void whiten(const simulated *q, const double *theta, double *out) {
    memcpy(out, theta, D * sizeof *out);
    sgfsi_trmv(&sgfs_device_host, D, q->factor, true, out);
}

static void add_rank(tally *t, int64_t k, int64_t rank) {
    t->count[k][rank * BINS / (L + 1)]++;
    t->ranks[k]++;
}

static void rank_truth(tally *t, const simulated *q, const double *draws, double scale) {
    double truth[D], draw[D], mean[D] = {0};
    int64_t rank[2][D] = {{0}};
    whiten(q, q->theta, truth);
    for (int64_t k = 0; k < L * D; k++) mean[k % D] += draws[k] / L;
    for (int64_t k = 0; k < L; k++) {
        double moved[D];
        for (int64_t j = 0; j < D; j++) moved[j] = mean[j] + scale * (draws[k * D + j] - mean[j]);
        whiten(q, moved, draw);
        for (int64_t j = 0; j < D; j++) {
            rank[0][j] += moved[j] < q->theta[j];
            rank[1][j] += draw[j] < truth[j];
        }
    }
    for (int64_t j = 0; j < D; j++) {
        add_rank(t, j, rank[0][j]);
        add_rank(t, D, rank[1][j]);
    }
}

/* y becomes a label, and x larger, so that many of them are certain; false: all are the same. */
static bool make_labels(simulated *q, int64_t rows, int64_t index) {
    sgfsi_stream s = sgfsi_stream_at(31, 0, index, SGFSI_TARGET);
    double ones = 0;
    for (int64_t i = 0; i < rows * D; i++) q->x[i] *= 3;
    for (int64_t i = 0; i < rows; i++) {
        double u[2], eta = 0;
        sgfsi_uniforms(&s, 1, u);
        for (int64_t j = 0; j < D; j++) eta += q->x[i * D + j] * q->theta[j];
        q->y[i] = u[0] < 1 / (1 + exp(-eta));
        ones += q->y[i];
    }
    return ones > 0 && ones < (double)rows;
}

/* Where posteriors are no Gaussians: the parameters, and their length, which skewness changes. */
static void rank_length(tally *t, const simulated *q, const double *draws) {
    int64_t rank[D + 1] = {0};
    double truth = sgfsi_dot(&sgfs_device_host, D, q->theta, q->theta);
    for (int64_t k = 0; k < L; k++) {
        const double *x = draws + k * D;
        for (int64_t j = 0; j < D; j++) rank[j] += x[j] < q->theta[j];
        rank[D] += sgfsi_dot(&sgfs_device_host, D, x, x) < truth;
    }
    for (int64_t j = 0; j <= D; j++) add_rank(t, j, rank[j]);
}

/* ---- the study ------------------------------------------------------------------------------- */

static double tail(double x) {
    double h = x / 2;
    return exp(-h) * (1 + h + h * h / 2 + h * h * h / 6);
}

/* The smallest of the D + 1 p-values. */
static double smallest_p(const tally *t) {
    double least = 1;
    for (int64_t k = 0; k <= D; k++) {
        double x = 0, expected = t->ranks[k] / BINS;
        for (int64_t b = 0; b < BINS; b++) {
            double gap = t->count[k][b] - expected;
            x += gap * gap / expected;
        }
        least = fmin(least, tail(x));
    }
    return least;
}

/* Each problem has a seed of its own: with one for all, the draws would be the same 62 points about
 * every posterior mean, and ranks would not be independent. */
static sampled open_problem(const study *s, const simulated *q, int64_t index) {
    setting settings[20];
    char seed[32];
    int64_t count = 0;
    snprintf(seed, sizeof seed, "%lld", (long long)(1000 + index));
    while (s->settings[count].key != NULL) count++;
    assert_true(count + 2 <= 20);
    memcpy(settings, s->settings, (size_t)count * sizeof *settings);
    settings[count] = (setting){"run.seed", seed};
    settings[count + 1] = (setting){NULL, NULL};
    const sgfs_model_kind *kind = s->kind != NULL ? s->kind : &sgfs_model_linear;
    return sample_open(kind, s->rows, D, q->x, q->y, settings);
}

static double run_study(const study *s) {
    tally t = {{{0}}, {0}};
    sgfs_err err;
    for (int64_t i = 0; i < s->problems; i++) {
        simulated q = simulate_problem(s->rows, i);
        if (s->kind != &sgfs_model_logistic || make_labels(&q, s->rows, i)) {
            sampled run = open_problem(s, &q, i);
            if (sample_all(&run, &err) != SGFS_OK) fail_msg("%s", err.text);
            assert_int_equal(run.draws->chain[0].draws, L);
            const double *theta = run.draws->chain[0].theta;
            if (s->kind == NULL) rank_truth(&t, &q, theta, s->scale);
            else rank_length(&t, &q, theta);
            sample_free(&run);
        }
        free(q.x);
        free(q.y);
    }
    double p = smallest_p(&t);
    print_message("%s: smallest p %.3g; %s", s->name, p,
                  s->kind == NULL ? "pooled ranks" : "ranks of the length");
    for (int64_t b = 0; b < BINS; b++) print_message(" %.2f", t.count[D][b] / t.ranks[D] * BINS);
    print_message("\n");
    return p;
}

#define COMMON(sigma)                                                                              \
    {"data.intercept", "false"}, {"model.sigma", sigma}, {"prior.precision", "0.735"},             \
        {"run.chains", "1"}, {                                                                     \
        "run.threads", "1"                                                                         \
    }
/* 62 draws: --draws = 62 --thin */
#define MARKED(share)                                                                              \
    {"data.intercept", "false"}, {"prior.precision", "0.735"}, {"run.chains", "1"},                \
        {"run.threads", "1"}, {"sampler.kind", "exact-rows"}, {"sampler.scan", "on"},              \
        {"sampler.within", share}, {"run.warmup", "60"}, {"run.draws", "620"}, {                   \
        "run.thin", "10"                                                                           \
    }
static const setting nuts_dense[] = {COMMON("1"),           {"sampler.kind", "nuts"},
                                     {"run.warmup", "150"}, {"run.draws", "186"},
                                     {"run.thin", "3"},     {NULL, NULL}};
static const setting nuts_diag[] = {
    COMMON("1"),           {"sampler.kind", "nuts"}, {"sampler.metric", "diag"},
    {"run.warmup", "150"}, {"run.draws", "186"},     {"run.thin", "3"},
    {NULL, NULL}};
static const setting hmc_dense[] = {
    COMMON("1"),           {"sampler.kind", "hmc"}, {"sampler.leapfrog", "3"},
    {"run.warmup", "150"}, {"run.draws", "372"},    {"run.thin", "6"},
    {NULL, NULL}};
static const setting hmc_fisher[] = {COMMON("1"),
                                     {"sampler.kind", "hmc"},
                                     {"sampler.metric", "fisher"},
                                     {"sampler.leapfrog", "3"},
                                     {"run.warmup", "150"},
                                     {"run.draws", "372"},
                                     {"run.thin", "6"},
                                     {NULL, NULL}};
static const setting wrong_sigma[] = {COMMON("1.2"),         {"sampler.kind", "nuts"},
                                      {"run.warmup", "150"}, {"run.draws", "186"},
                                      {"run.thin", "3"},     {NULL, NULL}};

static void test_nuts_is_calibrated(void **state) {
    (void)state;
    const study dense = {"nuts dense", ROWS, 600, 1, nuts_dense, NULL};
    const study diag = {"nuts diag", ROWS, 600, 1, nuts_diag, NULL};
    assert_true(run_study(&dense) > least_p);
    assert_true(run_study(&diag) > least_p);
}

static void test_hmc_is_calibrated(void **state) {
    (void)state;
    const study dense = {"hmc dense", ROWS, 600, 1, hmc_dense, NULL};
    const study fisher = {"hmc fisher", ROWS, 600, 1, hmc_fisher, NULL};
    assert_true(run_study(&dense) > least_p);
    assert_true(run_study(&fisher) > least_p);
}

/* Exact where the posterior is quadratic and the scores spread as the curvature says. With Gaussian
 * noise they do up to sqrt(2/rows), which the variance feels divided by gamma (docs/math.md):
 * 400 rows, n = 20: 7 %/21, far below what 600 problems can see. tau = gamma - 1 = 20 at alpha
 * 0. */
static void test_sgfs_is_calibrated_where_it_is_exact(void **state) {
    (void)state;
    static const setting settings[] = {COMMON("1"),
                                       {"sampler.kind", "sgfs-f"},
                                       {"sampler.alpha", "0"},
                                       {"sampler.warmup_alpha", "0"},
                                       {"run.batch", "20"},
                                       {"run.warmup", "400"},
                                       {"run.draws", "2480"},
                                       {"run.thin", "40"},
                                       {NULL, NULL}};
    const study sgfs = {"sgfs-f", 400, 600, 1, settings, NULL};
    assert_true(run_study(&sgfs) > least_p);
}

/* What must not pass with labels. */
static const setting gaussian[] = {{"data.intercept", "false"},
                                   {"prior.precision", "0.735"},
                                   {"run.chains", "1"},
                                   {"run.threads", "1"},
                                   {"sampler.kind", "laplace"},
                                   {"run.draws", "62"},
                                   {NULL, NULL}};

/* 24 rows of a logistic regression, most of them decided, and its Gaussian for comparison. */
static void test_exact_is_calibrated(void **state) {
    (void)state;
    static const setting draws[] = {COMMON("1"),           {"sampler.kind", "exact-rows"},
                                    {"run.warmup", "100"}, {"run.draws", "1240"},
                                    {"run.thin", "20"},    {NULL, NULL}};
    static const setting labels[] = {{"data.intercept", "false"},
                                     {"prior.precision", "0.735"},
                                     {"run.chains", "1"},
                                     {"run.threads", "1"},
                                     {"sampler.kind", "exact-rows"},
                                     {"run.warmup", "100"},
                                     {"run.draws", "1240"},
                                     {"run.thin", "20"},
                                     {NULL, NULL}};
    static const setting apart[] = {
        COMMON("1"), {"sampler.kind", "exact-linear"}, {"run.draws", "62"}, {NULL, NULL}};
    const study linear = {"exact, linear", ROWS, 600, 1, draws, NULL};
    const study no_chain = {"exact-linear", ROWS, 600, 1, apart, NULL};
    const study wide = {"exact-linear, fewer rows than columns", 3, 600, 1, apart, NULL};
    const study logistic = {"exact, logistic", ROWS, 900, 1, labels, &sgfs_model_logistic};
    const study laplace = {"laplace, logistic", ROWS, 900, 1, gaussian, &sgfs_model_logistic};
    assert_true(run_study(&linear) > least_p);
    assert_true(run_study(&no_chain) > least_p);
    assert_true(run_study(&wide) > least_p);
    assert_true(run_study(&logistic) > least_p);
    assert_true(run_study(&laplace) < least_p);
}

/* Rows that were marked in one scan before the chain began, as for a sketch, where four of ten
 * moves are too long for the marks; 48 rows, as fewer have more marks than time. The Gaussian at
 * the mode, for which nothing is asked, must not pass. */
static void test_marked_rows_are_calibrated(void **state) {
    (void)state;
    static const setting enough[] = {MARKED("0.999"), {NULL, NULL}},
                         few[] = {MARKED("0.6"), {NULL, NULL}};
    const study low = {
        "marks for 0.6 of the moves, logistic", 48, 600, 1, few, &sgfs_model_logistic};
    const study all = {"marks, logistic", 48, 600, 1, enough, &sgfs_model_logistic};
    const study laplace = {"laplace, logistic", 48, 600, 1, gaussian, &sgfs_model_logistic};
    assert_true(run_study(&low) > least_p);
    assert_true(run_study(&laplace) < least_p);
    if (in_longer_tier()) assert_true(run_study(&all) > least_p);
}

/* By chains in lock-step, of which there is one here. */
static void test_exact_hmc_is_calibrated(void **state) {
    (void)state;
    static const setting draws[] = {COMMON("1"),           {"sampler.kind", "exact-hmc"},
                                    {"run.warmup", "100"}, {"run.draws", "186"},
                                    {"run.thin", "3"},     {NULL, NULL}};
    static const setting labels[] = {{"data.intercept", "false"},
                                     {"prior.precision", "0.735"},
                                     {"run.chains", "1"},
                                     {"run.threads", "1"},
                                     {"sampler.kind", "exact-hmc"},
                                     {"run.warmup", "100"},
                                     {"run.draws", "372"},
                                     {"run.thin", "6"},
                                     {NULL, NULL}};
    const study linear = {"exact-hmc, linear", ROWS, 600, 1, draws, NULL};
    const study logistic = {"exact-hmc, logistic", ROWS, 900, 1, labels, &sgfs_model_logistic};
    assert_true(run_study(&linear) > least_p);
    assert_true(run_study(&logistic) > least_p);
}

/* What must not pass: noise assumed 20 % too large; draws 15 % too narrow. */
static void test_wrong_samplers_are_found(void **state) {
    (void)state;
    const study sigma = {"sigma 1.2 for 1", ROWS, 600, 1, wrong_sigma, NULL};
    const study narrow = {"draws 15 % too narrow", ROWS, 600, 0.85, nuts_dense, NULL};
    assert_true(run_study(&sigma) < least_p);
    assert_true(run_study(&narrow) < least_p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nuts_is_calibrated),
        cmocka_unit_test(test_hmc_is_calibrated),
        cmocka_unit_test(test_sgfs_is_calibrated_where_it_is_exact),
        cmocka_unit_test(test_exact_is_calibrated),
        cmocka_unit_test(test_marked_rows_are_calibrated),
        cmocka_unit_test(test_exact_hmc_is_calibrated),
        cmocka_unit_test(test_wrong_samplers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
