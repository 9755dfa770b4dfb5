/* SPDX-License-Identifier: MIT
 * The forms of SGFS: any B (eq. 11), updated and frozen matrices, blocks, annealing, cycles. On a
 * Gaussian posterior all of them but the blocks are exact: variances against the closed form.
 *
 * Tolerances: trR of T iterations in four chains. With B = K its standard deviation is
 * sqrt(2 tau2/(T D)); where no formula for tau2 is at hand, it is estimated from the spread between
 * eight chains, and 4.5 standard errors (plus 0.4 % for the D/N by which the scores' covariance
 * differs from the curvature) are allowed: 7e-6 for each of some 15 comparisons.
 */
#include "diagnostics/summary.h"
#include "stat/closed.h"
#include "tools/tier.h"

#include <unistd.h>

/* ---- helpers --------------------------------------------------------------------------------- */

/* Run in memory; the caller frees the draws. */
static sgfs_draws *kept_draws(const problem *q, const setting *settings) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q->N, .cols = q->D, .x = q->x, .y = q->y};
    assert_int_equal(sgfsi_config_set_num(cfg, "prior.precision", q->lambda, &err), SGFS_OK);
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_draws *d = sgfs_run_draws(run, &err);
    assert_non_null(d);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return d;
}

/* Theta of every kept draw of the only chain, draws x D. */
static double *walk(const problem *q, const setting *settings, int64_t *draws) {
    sgfs_draws *d = kept_draws(q, settings);
    *draws = sgfs_draws_size(d).draws;
    size_t bytes = (size_t)(*draws * q->D) * sizeof(double);
    double *copy = need(1, bytes);
    memcpy(copy, sgfs_draws_chain(d, 0), bytes);
    sgfs_draws_free(d);
    return copy;
}

/* trR of each chain, their mean and its standard error. */
static void expect_exact(const problem *q, const char *what, const setting *settings) {
    enum { CHAINS = 8 };
    double sum = 0, squares = 0;
    for (int c = 0; c < CHAINS; c++) {
        char seed[16];
        setting all[24];
        int n = 0;
        snprintf(seed, sizeof seed, "%d", 31 + c);
        for (; settings[n].key != NULL; n++) all[n] = settings[n];
        const setting more[] = {{"run.seed", seed}, {"run.chains", "1"}, {NULL, NULL}};
        memcpy(all + n, more, sizeof more);
        outcome o;
        assert_int_equal(run_on(q, &sgfs_model_linear, all, NULL, NULL, &o), SGFS_OK);
        double trR = o.trR;
        sum += trR / CHAINS;
        squares += trR * trR / CHAINS;
        outcome_free(&o);
    }
    double se = sqrt(fmax(squares - sum * sum, 0) / (CHAINS - 1));
    print_message("%-34s trR %.4f +- %.4f\n", what, sum, se);
    if (fabs(sum - 1) > 4.5 * se + 0.004) fail_msg("%s: trR %.4f, se %.4f", what, sum, se);
    assert_true(se < 0.02); /* otherwise the check says nothing */
}

static char *write_matrix(const double *a, int64_t rows, int64_t cols) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/sgfs-b-%ld.txt", (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int64_t i = 0; i < rows * cols; i++)
        fprintf(f, "%.17g%c", a[i], (i + 1) % cols == 0 ? '\n' : ' ');
    fclose(f);
    return path;
}

#define COMMON                                                                                     \
    {"data.intercept", "false"}, {"model.sigma", "1"}, {"run.batch", "200"}, {                     \
        "run.batch_scheme", "without"                                                              \
    }
#define LONG                                                                                       \
    {"run.warmup", "1000"}, {"run.draws", "24000"}, {                                              \
        "run.thin", "24000"                                                                        \
    }

/* ---- any B ----------------------------------------------------------------------------------- */

static void test_exact_for_any_B(void **state) {
    (void)state;
    problem q = regression(2000, 5, 20.0, 5, 13);
    /* a column of zeros: there B and the prior's noise are all there is */
    problem bare = regression(2000, 5, 20.0, 4, 13);
    double B[25], d[5] = {900, 2500, 400, 3000, 15};
    const setting identity[] = {
        COMMON, LONG, {"sampler.b", "identity"}, {"sampler.alpha", "1.5"}, {NULL, NULL}};
    const setting scaled[] = {COMMON,
                              LONG,
                              {"sampler.b", "identity"},
                              {"sampler.b_scale", "7000"},
                              {"sampler.alpha", "1"},
                              {NULL, NULL}};
    const setting diagonal[] = {
        COMMON, LONG, {"sampler.b", "diagonal"}, {"sampler.alpha", "1.5"}, {NULL, NULL}};
    expect_exact(&q, "B identity", identity);
    expect_exact(&q, "B 7000 identity", scaled);
    expect_exact(&q, "B diagonal of K", diagonal);
    char *path = write_matrix(d, 1, 5);
    const setting from_file[] = {
        COMMON, LONG, {"sampler.b_file", path}, {"sampler.alpha", "2"}, {NULL, NULL}};
    expect_exact(&bare, "B a diagonal from a file", from_file);
    for (int i = 0; i < 25; i++) B[i] = (i % 6 == 0 ? 3000.0 : 700.0) + 60.0 * (i / 5 + i % 5);
    for (int i = 0; i < 5; i++) B[4 * 5 + i] = B[i * 5 + 4] = i < 4 ? 40 + i : 25;
    (void)write_matrix(B, 5, 5);
    expect_exact(&bare, "B a matrix from a file", from_file);
    unlink(path);
    problem_free(&bare);
    problem_free(&q);
}

/* Small eps: theta += 2 (gamma N I1hat + 4B/eps)^-1 (G + eta) -> (eps/2) B^-1 G + N(0, eps B^-1).
 * The same rows and the same normals go into SGLD with C = B^-1, from the same start (0), so the
 * steps themselves must agree: they differ by the factor (I + eps/4 B^-1 K)^-1, that is, by
 * O(eps). (The prior's noise z2, of relative variance O(eps), is made negligible by a weak
 * prior.) */
static double distance_to_sgld(const problem *q, double eps) {
    char text[32];
    double C[5], B[5] = {900, 2500, 400, 3000, 1200}, gap = 0, size = 0;
    int64_t kept;
    for (int j = 0; j < 5; j++) C[j] = 1 / B[j];
    snprintf(text, sizeof text, "%.17g", eps);
    char *path = write_matrix(B, 1, 5);
    const setting sgfs[] = {COMMON,
                            {"sampler.epsilon", text},
                            {"sampler.b_file", path},
                            {"run.warmup", "0"},
                            {"run.draws", "1"},
                            {"run.chains", "1"},
                            {"run.init", "0"},
                            {NULL, NULL}};
    double *a = walk(q, sgfs, &kept);
    (void)write_matrix(C, 1, 5);
    const setting sgld[] = {COMMON,
                            {"sampler.kind", "sgld"},
                            {"sampler.epsilon", text},
                            {"sampler.precondition_file", path},
                            {"run.warmup", "0"},
                            {"run.draws", "1"},
                            {"run.chains", "1"},
                            {"run.init", "0"},
                            {NULL, NULL}};
    double *b = walk(q, sgld, &kept);
    for (int64_t j = 0; j < 5; j++) {
        gap += (a[j] - b[j]) * (a[j] - b[j]);
        size += b[j] * b[j];
    }
    free(a);
    free(b);
    unlink(path);
    return sqrt(gap / size);
}

static void test_small_eps_is_preconditioned_sgld(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1e-9, 5, 13);
    double at[3], eps[3] = {1e-3, 1e-4, 1e-5};
    for (int i = 0; i < 3; i++) at[i] = distance_to_sgld(&q, eps[i]);
    print_message(
        "distance from the step of SGLD, relative: %.3g, %.3g, %.3g at eps 1e-3, 1e-4, 1e-5\n",
        at[0], at[1], at[2]);
    assert_true(at[2] < 1e-3);
    for (int i = 1; i < 3; i++) { /* ten times smaller eps, ten times closer, to the next order */
        assert_true(at[i] < at[i - 1] / 7 && at[i] > at[i - 1] / 14);
    }
    problem_free(&q);
}

/* ---- updating instead of refactorising ------------------------------------------------------- */

static double largest_gap(const double *a, const double *b, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]) / (1e-3 + fabs(a[i])));
    return most;
}

/* n = 12 rows for D = 40: 1,000 iterations after 300 of warm-up, the matrix changed at each. */
static void test_updates_give_the_same_draws(void **state) {
    (void)state;
    problem q = regression(3000, 40, 2.5, 40, 17);
    static const char *const ways[] = {"refactor", "cholesky", "woodbury"};
    static const char *const alphas[] = {"0", "1.7"};
    for (int a = 0; a < 2; a++) {
        double *path[3] = {NULL};
        int64_t kept = 0;
        for (int w = 0; w < (a == 0 ? 3 : 2); w++) {
            const setting settings[] = {{"data.intercept", "false"},
                                        {"model.sigma", "1"},
                                        {"run.batch", "12"},
                                        {"sampler.alpha", alphas[a]},
                                        {"sampler.warmup_alpha", "0"},
                                        {"fisher.update", ways[w]},
                                        {"fisher.fade", "true"},
                                        {"fisher.every", "1"},
                                        {"run.warmup", "300"},
                                        {"run.draws", "1000"},
                                        {"fisher.ridge", "0.02"},
                                        {"run.chains", "1"},
                                        {NULL, NULL}};
            path[w] = walk(&q, settings, &kept);
            assert_int_equal(kept, 1000);
        }
        for (int w = 1; w < 3 && path[w] != NULL; w++) {
            double gap = largest_gap(path[0], path[w], 1000 * q.D);
            print_message("alpha %s, %s: largest relative difference %.2g\n", alphas[a], ways[w],
                          gap);
            assert_true(gap < 1e-8);
        }
        for (int w = 0; w < 3; w++) free(path[w]);
    }
    problem_free(&q);
}

/* The prior's share fades and is put back; columns of zeros, which only the prior knows, tell. */
static void test_updated_matrices_are_exact(void **state) {
    (void)state;
    problem q = regression(2000, 6, 3.0, 4, 19);
    const setting cholesky[] = {COMMON,
                                LONG,
                                {"sampler.alpha", "0"},
                                {"fisher.every", "1"},
                                {"fisher.update", "cholesky"},
                                {"fisher.kappa", "floor"},
                                {NULL, NULL}};
    const setting woodbury[] = {COMMON,
                                LONG,
                                {"sampler.alpha", "0"},
                                {"fisher.every", "1"},
                                {"sampler.warmup_alpha", "0"},
                                {"fisher.update", "woodbury"},
                                {NULL, NULL}};
    expect_exact(&q, "factor updated", cholesky);
    expect_exact(&q, "inverse updated", woodbury);
    problem_free(&q);
}

/* Few updates in warm-up, whatever an update weighs and however the factor is made: exact. */
static void test_seldom_updates_in_warmup_are_exact(void **state) {
    (void)state;
    problem q = regression(2000, 6, 3.0, 4, 59);
    static const char *const forms[][2] = {{"window", "woodbury"},
                                           {"harmonic", "cholesky"},
                                           {"power", "refactor"},
                                           {"forget", "cholesky"}};
    for (size_t i = 0; i < (in_longer_tier() ? sizeof forms / sizeof forms[0] : 2); i++) {
        const setting settings[] = {COMMON,
                                    LONG,
                                    {"sampler.alpha", "0"},
                                    {"sampler.warmup_alpha", "0"},
                                    {"fisher.warmup_every", "17"},
                                    {"fisher.kappa", forms[i][0]},
                                    {"fisher.update", forms[i][1]},
                                    {NULL, NULL}};
        char what[64];
        snprintf(what, sizeof what, "warm-up 1 in 17, %s, %s", forms[i][0], forms[i][1]);
        expect_exact(&q, what, settings);
    }
    problem_free(&q);
}

/* ---- frozen, block, annealed, cyclical ------------------------------------------------------- */

static void test_frozen_matrix_is_exact(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1.0, 5, 23);
    const setting frozen[] = {
        COMMON,      LONG, {"sampler.alpha", "1"}, {"fisher.freeze", "2000"}, {"fisher.every", "1"},
        {NULL, NULL}};
    expect_exact(&q, "frozen after 2000", frozen);
    problem_free(&q);
}

/* With one block the draws are those of the full matrix, with blocks of 1 those of the diagonal. */
static void test_blocks_between_full_and_diagonal(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1.0, 5, 29);
    static const char *const as[] = {"full", "diag"}, *const size[] = {"5", "1"};
    for (int i = 0; i < 2; i++) {
        int64_t kept;
        const setting one[] = {COMMON,
                               {"sampler.kind", "sgfs"},
                               {"fisher.kind", as[i]},
                               {"sampler.alpha", "2"},
                               {"fisher.every", "1"},
                               {"run.warmup", "200"},
                               {"run.draws", "300"},
                               {"run.chains", "1"},
                               {NULL, NULL}};
        const setting two[] = {COMMON,
                               {"sampler.kind", "sgfs-b"},
                               {"fisher.block_size", size[i]},
                               {"sampler.alpha", "2"},
                               {"fisher.every", "1"},
                               {"run.warmup", "200"},
                               {"run.draws", "300"},
                               {"run.chains", "1"},
                               {NULL, NULL}};
        double *a = walk(&q, one, &kept), *b = walk(&q, two, &kept);
        assert_true(largest_gap(a, b, kept * q.D) < 1e-9);
        free(a);
        free(b);
    }
    problem_free(&q);
}

static void test_annealed_and_cyclical_are_exact(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1.0, 5, 31);
    const setting annealed[] = {COMMON,
                                LONG,
                                {"sampler.alpha", "0"},
                                {"sampler.anneal", "linear"},
                                {"sampler.anneal_alpha", "3"},
                                {NULL, NULL}};
    const setting cycles[] = {COMMON,
                              LONG,
                              {"sampler.alpha", "0"},
                              {"sampler.cycles", "8"},
                              {"sampler.cycle_explore", "0"},
                              {NULL, NULL}};
    expect_exact(&q, "annealed to alpha 3", annealed);
    expect_exact(&q, "eight cycles", cycles);
    problem_free(&q);
}

/* A B of no size leaves the step whole, one of great size leaves nothing: the statistics say so. */
static void test_statistics_know_the_size_of_B(void **state) {
    (void)state;
    static const struct {
        const char *scale;
        double least, most; /* of h gamma/2, which is 1 without B */
        double phase;
    } cases[] = {{"1e-9", 0.999, 1.001, 2}, {"1e12", 0, 1e-3, 3}};
    problem q = regression(2000, 5, 1.0, 5, 41);
    for (int i = 0; i < 2; i++) {
        const setting settings[] = {COMMON,
                                    {"sampler.alpha", "2"},
                                    {"sampler.b", "identity"},
                                    {"sampler.b_scale", cases[i].scale},
                                    {"run.warmup", "50"},
                                    {"run.draws", "20"},
                                    {"run.chains", "1"},
                                    {NULL, NULL}};
        sgfs_draws *d = kept_draws(&q, settings);
        for (int64_t t = 0; t < 20; t++) {
            const double *stat = d->chain[0].stats + t * d->S;
            double whole = stat[1] * 10 / 2; /* gamma = N/n = 10 */
            assert_true(whole >= cases[i].least && whole <= cases[i].most);
            assert_true(stat[5] == cases[i].phase);
        }
        sgfs_draws_free(d);
    }
    problem_free(&q);
}

/* The phases are in the statistics: alpha rises as the schedule says, and tells the phase. */
static void test_annealing_shows_its_phases(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double delta;
    } presets[] = {{"early", 0.5}, {"linear", 1}, {"late", 3}};
    problem q = regression(2000, 5, 1.0, 5, 37);
    for (int k = 0; k < 3; k++) {
        enum { T = 200 };
        sgfs_err err = {SGFS_OK, ""};
        const setting settings[] = {COMMON,
                                    {"sampler.alpha", "0.4"},
                                    {"sampler.anneal", presets[k].name},
                                    {"sampler.anneal_alpha", "3"},
                                    {"run.warmup", "50"},
                                    {"run.draws", "200"},
                                    {"run.chains", "1"},
                                    {NULL, NULL}};
        sgfs_draws *d = kept_draws(&q, settings);
        int64_t gaussian = 0;
        assert_string_equal(d->stat[4], "alpha");
        assert_string_equal(d->stat[5], "phase");
        for (int64_t t = 0; t < T; t++) {
            const double *stat = d->chain[0].stats + t * d->S;
            double u = pow((double)(t + 1) / T, presets[k].delta);
            double alpha = sqrt(0.16 + (9 - 0.16) * u);
            assert_true(fabs(stat[4] - alpha) < 1e-12);
            assert_true(fabs(stat[1] - 2 / (10 * (1 + alpha * alpha))) <
                        1e-12); /* gamma = N/n = 10 */
            assert_true(stat[5] == (alpha <= 1 ? 2 : 3));
            gaussian += alpha <= 1;
        }
        sgfs_summary *summary = sgfsi_summary_new(d, 2, &err);
        assert_non_null(summary);
        assert_true(summary->gaussian_draws == (double)gaussian && gaussian > 0);
        assert_true(summary->langevin_draws == (double)(T - gaussian));
        sgfsi_summary_free(summary);
        sgfs_draws_free(d);
    }
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_for_any_B),
        cmocka_unit_test(test_small_eps_is_preconditioned_sgld),
        cmocka_unit_test(test_updates_give_the_same_draws),
        cmocka_unit_test(test_updated_matrices_are_exact),
        cmocka_unit_test(test_seldom_updates_in_warmup_are_exact),
        cmocka_unit_test(test_frozen_matrix_is_exact),
        cmocka_unit_test(test_blocks_between_full_and_diagonal),
        cmocka_unit_test(test_annealed_and_cyclical_are_exact),
        cmocka_unit_test(test_statistics_know_the_size_of_B),
        cmocka_unit_test(test_annealing_shows_its_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
