/* SPDX-License-Identifier: MIT
 * What the program chooses, and what it does with what was chosen: the paper's preset, alpha and
 * epsilon, automatic lengths, how often the matrix is renewed, ridges that are counted and stay
 * exact.
 */
#include "stat/closed.h"

#include "posterior/mode.h"
#include "tools/state.h"

/* A run opened on a small regression; the caller closes it. */
typedef struct opened {
    problem q;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfs_run *run;
} opened;

static opened open_with(int64_t N, int64_t D, const setting *settings,
                        const sgfs_fisher_kind *fisher) {
    sgfs_err err;
    sgfsi_kinds kinds;
    opened o = {.q = regression(N, D, 1.0, D, 51), .cfg = config_of(settings)};
    sgfs_arrays arrays = {.rows = N, .cols = D, .x = o.q.x, .y = o.q.y};
    o.data = sgfs_data_wrap(&arrays, o.cfg, &err);
    o.m = sgfs_model_open("linear", o.data, o.cfg, &err);
    if (o.m == NULL) fail_msg("%s", err.text);
    assert_int_equal(sgfsi_choose_kinds(o.cfg, NULL, &kinds, &err), SGFS_OK);
    if (fisher != NULL) kinds.fisher = fisher;
    o.run = sgfsi_run_open(o.m, o.cfg, &kinds, &err);
    if (o.run == NULL) fail_msg("%s", err.text);
    return o;
}

static void close_all(opened *o) {
    sgfs_run_free(o->run);
    sgfs_model_free(o->m);
    sgfs_data_free(o->data);
    sgfs_config_free(o->cfg);
    problem_free(&o->q);
}

static const char *value_of(const opened *o, const char *key) {
    static char room[SGFSI_NUM_CHARS];
    return sgfsi_plan_text(&o->run->plan, key, room);
}

/* Prior outside K, kappa = 1/t, no filling, an update each time, alpha in warm-up, for SGFS-d the
 * divisor n. */
static void test_the_papers_settings(void **state) {
    (void)state;
    for (int diag = 0; diag < 2; diag++) {
        const setting settings[] = {{"run.preset", "paper"},
                                    {"sampler.alpha", "2.5"},
                                    {"sampler.kind", diag ? "sgfs-d" : "sgfs-f"},
                                    {NULL, NULL}};
        opened o = open_with(300, 3, settings, NULL);
        assert_string_equal(value_of(&o, "sampler.prior_in_matrix"), "false");
        assert_string_equal(value_of(&o, "sampler.warmup_by"), "scores");
        assert_string_equal(value_of(&o, "sampler.warmup_alpha"), "2.5");
        assert_string_equal(value_of(&o, "fisher.kappa"), "harmonic");
        assert_string_equal(value_of(&o, "fisher.fill"), "0");
        assert_string_equal(value_of(&o, "fisher.every"), "1");
        assert_string_equal(value_of(&o, "fisher.divisor"), diag ? "n" : "n-1");
        close_all(&o);
    }
    const setting kept[] = {{"run.preset", "paper"}, {"fisher.kappa", "window"}, {NULL, NULL}};
    opened o = open_with(300, 3, kept, NULL); /* what the user says beats the preset */
    assert_string_equal(value_of(&o, "fisher.kappa"), "window");
    close_all(&o);
}

static void test_epsilon_is_alpha(void **state) {
    (void)state;
    const setting settings[] = {{"sampler.epsilon", "0.64"}, {NULL, NULL}};
    opened o = open_with(300, 3, settings, NULL);
    assert_true(fabs(sgfsi_plan_num(&o.run->plan, "sampler.alpha") - 2.5) < 1e-12);
    close_all(&o);
}

/* Auto: n = N/4 here, so gamma = 5; h <= 0.1 gives alpha^2 = 3; tau = gamma (1 + alpha^2) - 1 =
 * 19. */
static void test_automatic_lengths(void **state) {
    (void)state;
    const setting settings[] = {{NULL, NULL}};
    opened o = open_with(2000, 3, settings, NULL);
    assert_int_equal(o.run->plan.n, 500);
    assert_true(fabs(sgfsi_plan_num(&o.run->plan, "sampler.alpha") - sqrt(3)) < 1e-9);
    assert_true(fabs(o.run->plan.tau - 19) < 1e-9);
    assert_true(o.run->plan.draws >= 400 * 19 && o.run->plan.draws < 400 * 19 + 10);
    assert_int_equal(o.run->plan.thin, 8);
    assert_true(fabs(sgfsi_plan_num(&o.run->plan, "sampler.warmup_alpha") - sqrt(3)) < 1e-9);
    assert_int_equal(o.run->plan.warmup, 1000);
    close_all(&o);
    const setting diag[] = {{"sampler.kind", "sgfs-d"}, {NULL, NULL}};
    o = open_with(50000, 3, diag, NULL); /* the diagonal is never trusted with the largest step */
    assert_true(sgfsi_plan_num(&o.run->plan, "sampler.alpha") == 2);
    close_all(&o);
    o = open_with(50000, 3, settings, NULL); /* many rows: the largest step */
    assert_true(sgfsi_plan_num(&o.run->plan, "sampler.alpha") == 0);
    assert_int_equal(o.run->plan.warmup, 1010);
    close_all(&o);
}

/* Eigenvalues of A by Jacobi's rotations, in plain C; the largest and the smallest. */
static void extremes(int64_t D, double *A, double *most, double *least) {
    for (int sweep = 0; sweep < 30; sweep++) {
        for (int64_t p = 0; p < D; p++) {
            for (int64_t q = p + 1; q < D; q++) {
                double angle = 0.5 * atan2(2 * A[p * D + q], A[q * D + q] - A[p * D + p]);
                double c = cos(angle), s = sin(angle);
                for (int64_t k = 0; k < D; k++) {
                    double x = A[k * D + p], y = A[k * D + q];
                    A[k * D + p] = c * x - s * y;
                    A[k * D + q] = s * x + c * y;
                }
                for (int64_t k = 0; k < D; k++) {
                    double x = A[p * D + k], y = A[q * D + k];
                    A[p * D + k] = c * x - s * y;
                    A[q * D + k] = s * x + c * y;
                }
            }
        }
    }
    *most = *least = A[0];
    for (int64_t j = 1; j < D; j++) {
        *most = fmax(*most, A[j * D + j]);
        *least = fmin(*least, A[j * D + j]);
    }
}

/* The pilot's curvature is the posterior's: exactly where it takes all rows, nearly where it takes
 * a few. */
static void test_pilot_knows_the_curvature(void **state) {
    (void)state;
    static const struct {
        int64_t N;
        double tolerance;
    } cases[] = {{2000, 1e-3}, {20000, 0.15}};
    for (int i = 0; i < 2; i++) {
        problem q = regression(cases[i].N, 5, 1.0, 5, 77);
        const setting settings[] = {
            {"data.intercept", "false"}, {"model.sigma", "1"}, {NULL, NULL}};
        sgfs_config *cfg = config_of(settings);
        sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
        double most, least;
        sgfsi_pilot pilot;
        assert_int_equal(sgfsi_pilot_of(m, &pilot, NULL), SGFS_OK);
        extremes(q.D, q.A, &most, &least);
        most /= (double)q.N;
        least /= (double)q.N;
        print_message("pilot %.4f to %.4f, posterior %.4f to %.4f\n", pilot.soft, pilot.stiff,
                      least, most);
        assert_true(fabs(pilot.stiff / most - 1) < cases[i].tolerance);
        assert_true(fabs(pilot.soft / least - 1) < cases[i].tolerance);
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
        problem_free(&q);
    }
}

/* ---- how often, and what happens when it fails ----------------------------------------------- */

static int64_t factored, refused; /* by the kind below, one chain on one thread */

static int64_t counting_factor(sgfs_sym *A) {
    if (refused > 0) {
        refused--;
        return 1;
    }
    factored++;
    return sgfs_fisher_full.factor(A);
}

static void test_fisher_every_k(void **state) {
    (void)state;
    sgfs_fisher_kind kind = sgfs_fisher_full;
    kind.factor = counting_factor;
    const setting settings[] = {{"run.chains", "1"},
                                {"run.warmup", "40"},
                                {"run.draws", "100"},
                                {"fisher.every", "7"},
                                {NULL, NULL}};
    opened o = open_with(300, 3, settings, &kind);
    factored = refused = 0;
    assert_int_equal(sgfs_run_all(o.run, NULL), SGFS_OK);
    assert_int_equal(factored,
                     40 + 1 + 100 / 7); /* all of warm-up, the first draw, then every 7th */
    close_all(&o);
}

/* In warm-up, too: the first iteration and every k-th. Half-way I1hat begins anew, where updates
 * enough to fill the matrix are left; else it keeps what it has. */
static void test_warmup_fisher_every_k(void **state) {
    (void)state;
    static const struct {
        const char *every;
        int64_t factored, batches; /* batches: in I1hat at the end of warm-up */
    } cases[] = {{"1", 40, 21}, {"6", 1 + 6, 3}, {"20", 1 + 2, 1 + 1 + 2}, {"50", 1, 1 + 1}};
    sgfs_fisher_kind kind = sgfs_fisher_full;
    kind.factor = counting_factor;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const setting settings[] = {{"run.chains", "1"},
                                    {"run.warmup", "40"},
                                    {"run.draws", "100"},
                                    {"fisher.every", "7"},
                                    {"fisher.warmup_every", cases[i].every},
                                    {NULL, NULL}};
        opened o = open_with(300, 3, settings, &kind);
        const int64_t *updates = field_of(&o.run->chain[0].sampler, "K.scores.updates");
        factored = refused = 0;
        assert_int_equal(sgfs_run_step(o.run, 40, NULL), SGFS_OK);
        assert_int_equal(factored, cases[i].factored);
        assert_int_equal(*updates, cases[i].batches);
        assert_int_equal(sgfs_run_all(o.run, NULL), SGFS_OK);
        assert_int_equal(factored, cases[i].factored + 1 + 100 / 7);
        close_all(&o);
    }
}

/* Frozen after k: the k-th iteration after warm-up may still update, the next may not. */
static void test_fisher_freeze_k(void **state) {
    (void)state;
    static const struct {
        const char *freeze;
        int64_t updates; /* after warm-up */
    } cases[] = {{"0", 1}, {"1", 1}, {"27", 1 + 3}, {"28", 1 + 4}, {"100", 1 + 14}};
    sgfs_fisher_kind kind = sgfs_fisher_full;
    kind.factor = counting_factor;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const setting settings[] = {{"run.chains", "1"},
                                    {"run.warmup", "40"},
                                    {"run.draws", "100"},
                                    {"fisher.every", "7"},
                                    {"fisher.freeze", cases[i].freeze},
                                    {NULL, NULL}};
        opened o = open_with(300, 3, settings, &kind);
        factored = refused = 0;
        assert_int_equal(sgfs_run_all(o.run, NULL), SGFS_OK);
        assert_int_equal(factored, 40 + cases[i].updates);
        close_all(&o);
    }
}

/* A factorisation that fails in the middle of the draws: those before it stay. */
static void test_a_late_failure_keeps_the_draws(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_fisher_kind kind = sgfs_fisher_full;
    kind.factor = counting_factor;
    const setting settings[] = {{"run.chains", "1"},
                                {"run.warmup", "40"},
                                {"run.draws", "100"},
                                {"fisher.every", "7"},
                                {NULL, NULL}};
    opened o = open_with(300, 3, settings, &kind);
    refused = 0;
    assert_int_equal(sgfs_run_step(o.run, 40 + 30, NULL), SGFS_OK);
    refused = 1000000;
    assert_int_equal(sgfs_run_all(o.run, &err), SGFS_ENUMERIC);
    refused = 0;
    assert_non_null(strstr(err.text, "Chain 1 stopped at iteration 75: the Fisher matrix is not "
                                     "positive definite"));
    assert_non_null(strstr(err.text, "Draws before it are kept. Try a larger --alpha"));
    assert_int_equal(sgfs_run_close(o.run, NULL), SGFS_OK);
    assert_int_equal(o.run->out.memory->chain[0].draws, 34);
    close_all(&o);
}

static void test_failed_factorisations_are_counted(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_fisher_kind kind = sgfs_fisher_full;
    kind.factor = counting_factor;
    const setting settings[] = {
        {"run.chains", "1"}, {"run.warmup", "40"}, {"run.draws", "100"}, {NULL, NULL}};
    opened o = open_with(300, 3, settings, &kind);
    refused = 3; /* 0, 1e-10, 1e-8 fail; 1e-6 works */
    assert_int_equal(sgfs_run_all(o.run, NULL), SGFS_OK);
    assert_int_equal(o.run->chain[0].sampler.interventions, 3);
    close_all(&o);
    o = open_with(300, 3, settings, &kind);
    refused = 1000000; /* never: the chain stops and says where */
    assert_int_equal(sgfs_run_all(o.run, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "Chain 1 stopped at iteration 1 (warm-up)"));
    assert_non_null(strstr(err.text, "not positive definite"));
    refused = 0;
    close_all(&o);
}

/* A ridge in K is matched by noise: slower, and still exact. */
static void test_a_ridge_stays_exact(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1.0, 5, 52);
    const setting settings[] = {{"data.intercept", "false"}, {"model.sigma", "1"},
                                {"sampler.alpha", "0"},      {"run.batch", "200"},
                                {"fisher.ridge", "0.5"},     {"run.draws", "150000"},
                                {"run.thin", "150000"},      {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    print_message("ridge 0.5: trR %.4f\n", o.trR);
    assert_true(fabs(o.trR - 1) <
                0.015); /* tau2 is below 20 in every direction: sd 0.0037 at most */
    outcome_free(&o);
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_papers_settings),
        cmocka_unit_test(test_epsilon_is_alpha),
        cmocka_unit_test(test_automatic_lengths),
        cmocka_unit_test(test_pilot_knows_the_curvature),
        cmocka_unit_test(test_fisher_every_k),
        cmocka_unit_test(test_warmup_fisher_every_k),
        cmocka_unit_test(test_fisher_freeze_k),
        cmocka_unit_test(test_a_late_failure_keeps_the_draws),
        cmocka_unit_test(test_failed_factorisations_are_counted),
        cmocka_unit_test(test_a_ridge_stays_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
