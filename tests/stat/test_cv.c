/* SPDX-License-Identifier: MIT
 * Control variates on a Gaussian posterior, where the general step is exact for every step h that
 * leaves R R' = h (2 - h) A - h^2 S positive definite, and its autocorrelation time is (2 - h)/h.
 * The targets' noise is 1.5 times what the model takes it for: the covariance of the scores is then
 * 2.25 times the curvature, and whoever takes one for the other is seen.
 *
 * How the law is judged: trR within 1 % of 1, where the length is chosen so that
 * 1 % is 4.5 standard deviations; E2 within a factor of 1.5 of its noise, with rho = 1 - h. A
 * right chain fails the first once in 150,000 changes of a seed; seeds are fixed.
 */
#include "sampler/corrected_step.h"
#include "stat/closed.h"
#include "tools/state.h"

static const char *number(double x, char room[32]) {
    snprintf(room, 32, "%.17g", x);
    return room;
}

/* gamma and alpha for which closed.h's rho is 1 - h. */
static double gamma_like(double h) {
    return 2 / h;
}

/* Eigenvalues of A^-1 S, S averaged over the posterior: Gaussian columns have (D + 1)/n. */
static double noise_of(int64_t D, double n) {
    return (double)(D + 1) / n;
}

/* What S adds to the variance if it is left out: C = (1-h)^2 C + h^2 A^-1 S A^-1 + A^-1 R R'
 * A^-1. */
static double share_of(double h, double s) {
    return h / (2 - h) * s;
}

/* So that 1 % is 4.5 standard deviations of trR. Those are sqrt(2 tau2/(T D)) for draws from the
 * Gaussian itself; here S is estimated along the chain, from |theta - anchor|^2, which varies by
 * sqrt(2/D) of itself, and its error comes on top with the share that S has of the variance. */
static const char *draws_for(int64_t D, double h, double s, char room[32]) {
    double T = 2 * tau2_of(gamma_like(h), 0) / (double)D * 450 * 450;
    T *= 1 + 2 * share_of(h, s) * share_of(h, s);
    snprintf(room, 32, "%lld", (long long)ceil(T / 4 / 1000) * 1000);
    return room;
}

/* ---- the law --------------------------------------------------------------------------------- */

typedef struct how {
    double h, n;
    const char *scheme;
    const setting *more; /* ended by a NULL key; or NULL */
    const sgfs_sampler_kind *kind;
} how;

enum { MOST = 24 };

static outcome run_cv(const problem *q, const how *w) {
    char room[3][32];
    const char *draws = draws_for(q->D, w->h, noise_of(q->D, w->n), room[0]);
    setting list[MOST] = {{"data.intercept", "false"},
                          {"model.sigma", "1"},
                          {"sampler.kind", "sgfs-cv"},
                          {"sampler.step", number(w->h, room[1])},
                          {"run.batch", number(w->n, room[2])},
                          {"run.batch_scheme", w->scheme != NULL ? w->scheme : "with"},
                          {"run.draws", draws},
                          {"run.thin", draws},
                          {"fisher.every", w->n < 10 * (double)q->D ? "1" : "8"},
                          {"run.seed", "20"}};
    int used = 10;
    for (const setting *s = w->more; s != NULL && s->key != NULL; s++) list[used++] = *s;
    outcome o;
    assert_int_equal(run_on(q, &sgfs_model_linear, list, NULL, w->kind, &o), SGFS_OK);
    return o;
}

static void check_mean(const problem *q, const outcome *o, double h) {
    double error = sqrt((2 - h) / h / (double)o->T); /* in posterior standard deviations */
    for (int64_t j = 0; j < q->D; j++) {
        double gap = fabs(o->mean[j] - q->mu[j]) / sqrt(q->C[j * q->D + j]);
        if (gap > 4.5 * error) fail_msg("mean %d: off by %.3g sd, error %.3g", (int)j, gap, error);
    }
}

/* Variance of an entry of one batch's V, in units of its square, for Gaussian rows x and places
 * delta (both whitened), V_jj = mean (x'delta)^2 x_j^2: that of the places, 2 D + 6, and that of
 * the rows, 3 (105 + 30 (D-1) + 3 (D^2-1)) - (D^2 + 6 D + 20) over n. */
static double roughness(double D, double n) {
    double rows = 3 * (105 + 30 * (D - 1) + 3 * (D * D - 1)) - (D * D + 6 * D + 20);
    return (2 * D + 6 + rows / n) / ((D + 1) * (D + 1));
}

/* closed.h's is_right, but E2 has the error of S in it, too: a running mean, whose own mean over
 * the run has twice the variance of one over all batches; a sample's C_jj has 2. */
static bool is_exact(const problem *q, const outcome *o, const how *w) {
    double share = share_of(w->h, noise_of(q->D, w->n));
    double noise = E2_noise(q, tau2_of(gamma_like(w->h), 0), o->T_mean);
    noise *= sqrt(1 + share * share * roughness((double)q->D, w->n));
    return fabs(o->trR - 1) <= 0.01 && o->E2_mean <= 1.5 * noise;
}

static void check_law(const char *label, const problem *q, const how *w) {
    outcome o = run_cv(q, w);
    double tau2 = tau2_of(gamma_like(w->h), 0);
    print_message("%s D %2d n %4g h %.2f: trR %.4f +- %.4f  E2 %.4f (noise %.4f)\n", label,
                  (int)q->D, w->n, w->h, o.trR, trR_noise(q, tau2, (double)o.T), o.E2_mean,
                  E2_noise(q, tau2, o.T_mean));
    check_mean(q, &o, w->h);
    assert_true(is_exact(q, &o, w));
    outcome_free(&o);
}

/* Steps that leave R R' positive definite have a share below 1. Noise that grows with the distance
 * from the anchor makes tails heavy, the more so near 1 and with few parameters, until the fourth
 * moments that the test needs are gone: up to 0.72. */
static void the_law_is_exact_for_every_step_and_batch(void **state) {
    (void)state;
    const double steps[] = {1, 0.5, 0.2};
    for (int64_t D = 10; D <= 20; D += 10) {
        const double batches[] = {(double)D / 2, 2 * (double)D, 10 * (double)D};
        problem q = noisy_regression(2000, D, 3.7, D, 1.5, 31);
        for (int k = 0; k < 9; k++) {
            how w = {.h = steps[k % 3], .n = batches[k / 3]};
            if (share_of(w.h, noise_of(D, w.n)) > 0.72) continue;
            check_law("with", &q, &w);
        }
        problem_free(&q);
    }
}

static void the_law_is_exact_however_rows_are_drawn(void **state) {
    (void)state;
    double W;
    problem q = noisy_regression(200, 8, 1, 8, 1.5, 33);
    how without = {.h = 1, .n = 60, .scheme = "without"};
    check_law("without", &q, &without); /* gamma = N/n: noise 30 % less than with replacement */
    problem_free(&q);
    q = weighted_regression(2000, 8, 1, 34, &W);
    how weighted = {.h = 0.8, .n = 20};
    check_law("weighted", &q, &weighted);
    problem_free(&q);
}

/* The step found by itself is the largest, less a margin of half of S, and no chain lowers it. */
static void the_step_is_chosen(void **state) {
    (void)state;
    problem q = noisy_regression(2000, 6, 1, 6, 1.5, 35);
    const double batches[] = {3, 6, 60};
    for (int k = 0; k < 3; k++) {
        char room[32];
        const setting settings[] = {{"data.intercept", "false"},
                                    {"model.sigma", "1"},
                                    {"sampler.kind", "sgfs-cv"},
                                    {"run.batch", number(batches[k], room)},
                                    {NULL, NULL}};
        sgfs_config *cfg = config_of(settings);
        sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
        sgfs_run *run = sgfs_run_open(m, cfg, NULL);
        assert_non_null(run);
        const sgfs_sampler *s = &run->chain[0].sampler;
        double own = number_of(s, "h"), other = number_of(&run->chain[3].sampler, "h");
        double h = fmin(1, 2 / (1 + 1.5 * noise_of(q.D, batches[k])));
        double noise = sgfsi_json_get_num(s->report, "noise", NAN);
        print_message("n %g: step %.3f (theory %.3f), noise %.3f (theory %.3f)\n", batches[k], own,
                      h, noise, noise_of(q.D, batches[k]));
        assert_true(own <= 1 && fabs(own / h - 1) < 0.15); /* S is known to a tenth or two */
        assert_true(own == other);
        assert_true(fabs(noise / noise_of(q.D, batches[k]) - 1) < 0.2);
        assert_true(s->fallback[0] == '\0');
        assert_true(sgfsi_json_get_num(s->report, "tau_predicted", 0) == (2 - own) / own);
        sgfs_run_free(run);
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
    problem_free(&q);
}

/* Eight rows of 4000 hold nearly all of the information, and most batches have none of them: the
 * noise is so large that an effective draw costs more rows than a pass of SGFS. That is said while
 * opening, and the run begins anew; a step that was given is taken. */
static void too_much_noise_is_said_while_opening(void **state) {
    (void)state;
    problem q = noisy_regression(4000, 5, 1, 5, 1.5, 42);
    for (int64_t i = 0; i < q.N; i += 500) {
        for (int64_t j = 0; j < q.D; j++) q.x[i * q.D + j] *= 100;
    }
    for (int given = 0; given < 2; given++) {
        const setting settings[] = {{"data.intercept", "false"},
                                    {"model.sigma", "1"},
                                    {"sampler.kind", "sgfs-cv"},
                                    {"run.batch", "64"},
                                    {given ? "sampler.step" : NULL, "0.001"},
                                    {NULL, NULL}};
        sgfs_config *cfg = config_of(settings);
        sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
        sgfs_run *run = sgfs_run_open(m, cfg, NULL);
        assert_non_null(run);
        print_message("%s\n", run->choice.fallback);
        assert_int_equal(run->choice.fallbacks, 1 - given);
        assert_int_equal(strcmp(run->plan.kinds.name, "sgfs-cv") == 0, given);
        assert_true(given || strstr(run->choice.fallback, "Control variates gain nothing") != NULL);
        sgfs_run_free(run);
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
    problem_free(&q);
}

/* ---- wrong versions -------------------------------------------------------------------------- */

/* R R' = h (2 - h) A - times h^2 S, and nothing is learned after that (--fisher-freeze 0). */
static sgfs_status open_wrong(sgfs_sampler *s, double times, sgfs_err *err) {
    sgfs_status status = sgfs_sampler_sgfs_cv.open(s, err);
    if (status != SGFS_OK) return status;
    double h = number_of(s, "h"), q = (s->eval.gamma - 1) * s->eval.total;
    double *R = field_of(s, "R"), *A = field_of(s, "P.A"), *I1 = field_of(s, "I1.I1");
    for (int64_t i = 0; i < s->D * s->D; i++) R[i] = h * (2 - h) * A[i] - times * h * h * q * I1[i];
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, s->D, R), 0);
    return SGFS_OK;
}

static sgfs_status open_without_S(sgfs_sampler *s, sgfs_err *err) {
    return open_wrong(s, 0, err);
}

static sgfs_status open_S_twice(sgfs_sampler *s, sgfs_err *err) {
    return open_wrong(s, 2, err);
}

/* With C times the right covariance the noise is C s: C = 1 + share (C - times). */
static void check_wrong(const char *label, const problem *q, const sgfs_sampler_kind *kind,
                        const setting *more, double expected, double within) {
    how w = {.h = 0.8, .n = 3 * (double)q->D, .more = more, .kind = kind};
    outcome o = run_cv(q, &w);
    print_message("%s: trR %.4f, theory %.4f\n", label, o.trR, expected);
    assert_true(fabs(o.trR / expected - 1) < within);
    assert_false(is_exact(q, &o, &w));
    outcome_free(&o);
}

static void wrong_versions_are_caught(void **state) {
    (void)state;
    enum { D = 10 };
    problem q = noisy_regression(2000, D, 1, D, 1.5, 36);
    const setting frozen[] = {{"fisher.freeze", "0"}, {"run.warmup", "0"}, {NULL, NULL}};
    const setting scores[] = {{"sampler.curvature", "scores"}, {NULL, NULL}};
    sgfs_sampler_kind wrong = sgfs_sampler_sgfs_cv;
    double share = share_of(0.8, noise_of(D, 3 * D));
    wrong.open = open_without_S;
    check_wrong("S left out", &q, &wrong, frozen, 1 / (1 - share), 0.02);
    wrong.open = open_S_twice; /* S itself is only known from the probes here */
    check_wrong("S counted twice", &q, &wrong, frozen, (1 - 2 * share) / (1 - share), 0.08);
    /* P = m A: h P^-1 is a smaller step, and R R' = h (2-h) m A - h^2 S; with e = h/m
     * C/A^-1 = (e^2 s + h (2-h)/m - e^2 s)/(e (2 - e)) = (2 - h)/(2 - h/m) */
    check_wrong("A from the scores", &q, NULL, scores, 1.2 / (2 - 0.8 / 2.25), 0.03);
    problem_free(&q);
}

/* ---- steps that are too large ---------------------------------------------------------------- */

static void too_large_a_step_is_refused(void **state) {
    (void)state;
    problem q = noisy_regression(2000, 6, 1, 6, 1.5, 37);
    const setting settings[] = {{"data.intercept", "false"}, {"model.sigma", "1"},
                                {"sampler.kind", "sgfs-cv"}, {"run.batch", "3"},
                                {"sampler.step", "0.9"},     {NULL, NULL}};
    sgfs_err err;
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
    assert_null(sgfs_run_open(m, cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    const char *largest = strstr(err.text, "is about ");
    print_message("%s\n", err.text);
    assert_non_null(largest);
    double h = strtod(largest + 9, NULL);
    assert_true(fabs(h * (1 + 1.5 * noise_of(6, 3)) / 2 - 1) < 0.15);
    char room[32];
    sgfs_config_set(cfg, "sampler.step", number(h, room), NULL);
    sgfs_run *run = sgfs_run_open(m, cfg, &err); /* and that one is possible */
    assert_non_null(run);
    assert_int_equal(sgfs_run_step(run, 2000, &err), SGFS_OK);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    problem_free(&q);
}

/* ---- autocorrelation time -------------------------------------------------------------------- */

static void check_tau(const problem *q, double h) {
    char room[32];
    const setting settings[] = {{"data.intercept", "false"}, {"model.sigma", "1"},
                                {"sampler.kind", "sgfs-cv"}, {"sampler.step", number(h, room)},
                                {"run.batch", "50"},         {"run.draws", "40000"},
                                {"run.thin", "1"},           {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q->N, .cols = q->D, .x = q->x, .y = q->y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
    sgfs_run *run = sgfs_run_open(m, cfg, NULL);
    assert_non_null(run);
    assert_int_equal(sgfs_run_all(run, NULL), SGFS_OK);
    double top = 0, bottom = 0;
    for (int c = 0; c < 4; c++) {
        const double *x = run->out.memory->chain[c].theta;
        for (int64_t i = 0; i < 39999 * q->D; i++) {
            double sd2 = q->C[i % q->D * (q->D + 1)], a = x[i] - q->mu[i % q->D];
            top += a * (x[i + q->D] - q->mu[i % q->D]) / sd2;
            bottom += a * a / sd2;
        }
    }
    /* 160,000 x D correlated columns (0.7): at least 160,000 independent ones, sd 0.0025 */
    print_message("h %.2f: rho %.4f\n", h, top / bottom);
    assert_true(fabs(top / bottom - (1 - h)) < 4 * 0.0025);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void the_autocorrelation_is_one_less_the_step(void **state) {
    (void)state;
    problem q = noisy_regression(1000, 5, 1, 5, 1.5, 38);
    check_tau(&q, 1);
    check_tau(&q, 0.5);
    check_tau(&q, 1.3); /* beyond a Newton step: every other draw on the other side */
    problem_free(&q);
}

/* ---- SGFS is a special case ------------------------------------------------------------------ */

/* A run of SGFS, opened: 300 draws after 100 iterations of warm-up. */
static sgfs_run *open_sgfs(double alpha, const sgfs_model *m, sgfs_config *cfg) {
    char room[32];
    sgfs_err err;
    const char *value = number(alpha, room);
    const setting settings[] = {{"run.batch", "100"},
                                {"run.warmup", "100"},
                                {"run.draws", "300"},
                                {"run.thin", "1"},
                                {"run.chains", "2"},
                                {"fisher.every", "1"},
                                {"fisher.window", "50"},
                                {"fisher.fill", "3"},
                                {"sampler.kind", "sgfs-f"},
                                {"sampler.alpha", value},
                                {"sampler.warmup_alpha", value},
                                {"sampler.warmup_by", "scores"},
                                {NULL, NULL}};
    for (const setting *s = settings; s->key != NULL; s++)
        assert_int_equal(sgfs_config_set(cfg, s->key, s->value, &err), SGFS_OK);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    return run;
}

/* The general step with A = N I1hat from the scores and S = (gamma - 1) A, made by hand with the
 * batches and the noise of the second chain of a run of SGFS. Returns how far draws differ from
 * those of `sgfs`, in standard deviations; -1: a step of this h has no factor R. */
static double differ(const problem *q, sgfs_run *hand, const sgfs_draws *sgfs, double h) {
    sgfs_sampler *own = &hand->chain[1].sampler;
    sgfsi_corrected g = {.h = 0};
    double *theta = need((size_t)q->D, sizeof *theta), *G = need((size_t)q->D, sizeof *G);
    double worst = 0;
    memcpy(theta, hand->chain[1].theta, (size_t)q->D * sizeof *theta);
    const sgfsi_corrected_settings set = {.step = NAN, .noise_matrix = "full"};
    own->settings = &set; /* of the general step, in place of those of SGFS */
    assert_int_equal(sgfsi_corrected_open(&g, own, NULL), SGFS_OK);
    g.h = h;
    int64_t fill = (int64_t)ceil(3.0 * (double)q->D / (double)own->eval.n);
    for (int64_t t = 1 - fill; t <= 400 && worst >= 0; t++) {
        bool fills = t <= 0;
        if (!fills) sgfsi_sampler_normals(own, t, SGFSI_NOISE, g.z);
        assert_int_equal(sgfsi_eval_gradient(&own->eval, fills ? t + fill - 1 : t,
                                             fills ? SGFSI_FILL : SGFSI_ROWS, theta, G, NULL, NULL),
                         SGFS_OK);
        sgfsi_corrected_learn(&g, &own->eval, t <= 100, 0);
        if (fills) continue;
        assert_int_equal(sgfsi_precision_of_scores(&g.P, own, &g.I1.I1, NULL), SGFS_OK);
        if (!sgfsi_corrected_factor(&g, &own->eval)) worst = -1;
        else sgfsi_corrected_move(&g, G, theta);
        for (int64_t j = 0; worst >= 0 && t > 100 && j < q->D; j++) {
            double gap = theta[j] - sgfs->chain[1].theta[(t - 101) * q->D + j];
            worst = fmax(worst, fabs(gap) / sqrt(q->C[j * (q->D + 1)]));
        }
    }
    free(theta), free(G);
    return worst;
}

static void sgfs_is_a_special_case(void **state) {
    (void)state;
    problem q = regression(1000, 5, 0, 5, 39);
    const double alphas[] = {0.3, 1, 2.5, 1e-9}, gamma = 1 + (double)q.N / 100;
    const setting settings[] = {
        {"data.intercept", "false"}, {"model.sigma", "1"}, {"prior.precision", "0"}, {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
    for (int k = 0; k < 4; k++) {
        sgfs_run *run = open_sgfs(alphas[k], m, cfg), *hand = open_sgfs(alphas[k], m, cfg);
        assert_int_equal(sgfs_run_all(run, NULL), SGFS_OK);
        sgfs_draws *d = sgfs_run_draws(run, NULL);
        double worst = differ(&q, hand, d, 2 / (gamma * (1 + alphas[k] * alphas[k])));
        print_message("alpha %g: draws differ by %.2g sd\n", alphas[k], worst);
        /* rounding, over R's square root of a difference; alpha 0: R R' = 0 has no factor */
        if (k < 3) assert_true(worst >= 0 && worst < 1e-9);
        else assert_true(worst < 0);
        sgfs_draws_free(d);
        sgfs_run_free(run);
        sgfs_run_free(hand);
    }
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    problem_free(&q);
}

/* ---- re-anchoring ---------------------------------------------------------------------------- */

/* An anchor moved `far` posterior standard deviations away, with the gradient of all rows there:
 * the gradient stays unbiased, and its noise is 1 + far^2/D times what was probed. */
static void move_anchor(sgfs_run *run, const problem *q, double far) {
    sgfsi_anchor *a = run->chain[0].sampler.anchor;
    double *step = need((size_t)q->D, sizeof *step), *A = need((size_t)(q->D * q->D), sizeof *A);
    double lp;
    step[1] = far;
    sgfsi_trsv(&sgfs_device_host, q->D, a->L, true, step);
    for (int64_t j = 0; j < q->D; j++) a->theta[j] += step[j];
    assert_int_equal(sgfsi_posterior_full(run->model, a->theta, &lp, a->G, A, NULL), SGFS_OK);
    for (int64_t j = 0; j < q->D; j++) a->G[j] += q->lambda * a->theta[j]; /* without the prior */
    free(step);
    free(A);
}

static void a_chain_that_is_far_from_its_anchor_takes_another(void **state) {
    (void)state;
    enum { D = 5 };
    problem q = noisy_regression(2000, D, 1, D, 1.5, 40);
    char room[32];
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"sampler.kind", "sgfs-cv"},
                                {"sampler.step", "0.5"},
                                {"run.batch", "60"},
                                {"run.warmup", "1000"},
                                {"run.draws", "40000"},
                                {"run.thin", "20000"},
                                {"sampler.anchor_cache", "off"},
                                {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_config_set(cfg, "prior.precision", number(q.lambda, room), NULL);
    sgfs_arrays arrays = {.rows = q.N, .cols = q.D, .x = q.x, .y = q.y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
    sgfs_run *run = sgfs_run_open(m, cfg, NULL);
    assert_non_null(run);
    double around = number_of(&run->chain[0].sampler, "noise");
    move_anchor(run, &q, 8);
    assert_int_equal(sgfs_run_all(run, NULL), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, NULL), SGFS_OK);
    outcome o = {.run = run};
    pool(&o, D);
    judge(&o, &q);
    for (int c = 0; c < 4; c++) {
        const sgfs_sampler *s = &run->chain[c].sampler;
        double noise = number_of(s, "noise");
        assert_int_equal(s->reanchors, 1);
        assert_int_equal(run->out.memory->chain[c].info.reanchors, 1);
        assert_true(fabs(noise / around - 1) < 0.5); /* 1 + 64/5 = 14 without */
        assert_true(c == 0 || s->anchor != run->chain[0].sampler.anchor);
        assert_true(s->anchor->distance < 2); /* a mean of 32 places, tau 3 */
        assert_true(run->out.memory->chain[c].stats[5] == 1);
    }
    print_message("after a new anchor: trR %.4f\n", o.trR);
    assert_true(fabs(o.trR - 1) < 0.01);
    check_mean(&q, &o, 0.5);
    outcome_free(&o);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    problem_free(&q);
}

/* New anchors all the time change nothing of the law. (They are means of 32 places: the chain is
 * 1/32 further from them than the places that are probed, and S too small by as much.) */
static void new_anchors_leave_the_law_alone(void **state) {
    (void)state;
    problem q = noisy_regression(500, 6, 1, 6, 1.5, 41);
    const setting often[] = {{"sampler.reanchor_at", "0.2"}, {NULL, NULL}};
    how w = {.h = 1, .n = 120, .more = often};
    check_law("a new anchor every 32 iterations", &q, &w);
    problem_free(&q);
}

/* Half of the mean diagonal is added to the matrix: noise that goes with it keeps the law. */
static void a_ridge_leaves_the_law_alone(void **state) {
    (void)state;
    problem q = noisy_regression(500, 6, 1, 6, 1.5, 43);
    const setting ridge[] = {{"fisher.ridge", "0.5"}, {NULL, NULL}};
    how w = {.h = 0.5, .n = 60, .more = ridge};
    outcome o = run_cv(&q, &w);
    double noise = trR_noise(&q, tau2_of(gamma_like(w.h / 2), 0), (double)o.T); /* slower chains */
    print_message("a ridge of a half: trR %.4f +- %.4f\n", o.trR, noise);
    check_mean(&q, &o, w.h / 2);
    assert_true(fabs(o.trR - 1) < 4 * noise); /* 0.73 with half of its noise */
    outcome_free(&o);
    problem_free(&q);
}

/* ---- noise and curvature from all rows ------------------------------------------------------- */

/* The last column is not 0 in one row of 20,000. For known sigma the covariance of the differences
 * d_i = -x_i x_i'delta over the rows, averaged over delta ~ N(0, A^-1), is
 *     sum_i (x_i'A^-1 x_i) x_i x_i'/N - H A^-1 H/N^2,   H = X'X,
 * and what the sampler opens with is that, up to rounding: minibatches would not meet the row. */
static void a_column_that_one_row_knows_is_known(void **state) {
    (void)state;
    enum { D = 3 };
    problem q = noisy_regression(20000, D, 1.7, D, 1.5, 44);
    for (int64_t i = 0; i < q.N; i++) q.x[i * D + D - 1] = i == 7777 ? 2.385 : 0;
    double H[D * D] = {0}, C[D * D] = {0}, known[D * D] = {0}, HC[D * D] = {0};
    for (int64_t i = 0; i < q.N; i++)
        for (int k = 0; k < D * D; k++) H[k] += q.x[i * D + k / D] * q.x[i * D + k % D];
    for (int k = 0; k < D * D; k++) C[k] = H[k] + (k % (D + 1) == 0 ? 1.7 : 0);
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, D, C), 0);
    sgfsi_potri(&sgfs_device_host, D, C);
    for (int k = 0; k < D * D; k++) C[k] = k / D < k % D ? C[k % D * D + k / D] : C[k];
    for (int64_t i = 0; i < q.N; i++) {
        const double *x = q.x + i * D;
        double leverage = 0;
        for (int k = 0; k < D * D; k++) leverage += x[k / D] * C[k] * x[k % D];
        for (int k = 0; k < D * D; k++) known[k] += leverage * x[k / D] * x[k % D] / (double)q.N;
    }
    for (int k = 0; k < D * D * D; k++)
        HC[k / D] += H[k / D / D * D + k % D] * C[k % D * D + k / D % D];
    for (int k = 0; k < D * D * D; k++)
        known[k / D] -=
            HC[k / D / D * D + k % D] * H[k % D * D + k / D % D] / (double)q.N / (double)q.N;
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"prior.precision", "1.7"},
                                {"sampler.kind", "sgfs-cv"},
                                {"run.batch", "64"},
                                {"sampler.step", "1e-5"},
                                {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q.N, .cols = D, .x = q.x, .y = q.y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, NULL);
    sgfs_run *run = sgfs_run_open(m, cfg, NULL);
    assert_non_null(run);
    const double *I1 = field_of(&run->chain[1].sampler, "I1.I1");
    for (int k = 0; k < D * D; k++) {
        if (k / D < k % D) continue; /* the lower triangle */
        double scale = sqrt(known[k / D * (D + 1)] * known[k % D * (D + 1)]);
        if (!(fabs(I1[k] - known[k]) < 1e-9 * scale))
            fail_msg("%d, %d: %.10g, theory %.10g", k / D, k % D, I1[k], known[k]);
    }
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    problem_free(&q);
}

/* Mean over the parameters of log sd, of a logistic regression. */
static double mean_log_sd(const problem *q, const char *sampler, const char *draws) {
    const setting settings[] = {{"sampler.kind", sampler}, {"data.intercept", "false"},
                                {"run.draws", draws},      {"run.thin", "1"},
                                {"prior.precision", "1"},  {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q->N, .cols = q->D, .x = q->x, .y = q->y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, NULL);
    sgfs_run *run = sgfs_run_open(m, cfg, NULL);
    assert_non_null(run);
    assert_int_equal(sgfs_run_all(run, NULL), SGFS_OK);
    int64_t T = run->plan.draws;
    double sum = 0;
    for (int64_t j = 0; j < q->D; j++) {
        double one = 0, two = 0;
        for (int64_t i = 0; i < 4 * T; i++) {
            double x = run->out.memory->chain[i / T].theta[i % T * q->D + j];
            one += x, two += x * x;
        }
        one /= 4 * (double)T;
        sum += 0.5 * log(two / (4 * (double)T) - one * one) / (double)q->D;
    }
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return sum;
}

/* Three rows for each parameter: the curvature at the mode is a quarter more than its mean over the
 * posterior, and steps by it made draws 3 % too narrow. The error of a log sd is 1/sqrt(2 ESS),
 * with ESS 20,000 or more on both sides half a per cent; of the mean over ten that are hardly
 * correlated 0.2 %. */
static void few_rows_for_each_parameter_leave_the_spread(void **state) {
    (void)state;
    problem q = noisy_regression(30, 10, 1, 10, 1.5, 45);
    for (int64_t i = 0; i < q.N; i++) q.y[i] = q.y[i] > 0;
    double ours = mean_log_sd(&q, "sgfs-cv", "60000"), nuts = mean_log_sd(&q, "nuts", "6000");
    print_message("sgfs-cv %.4f, nuts %.4f\n", ours, nuts);
    assert_true(fabs(ours - nuts) < 0.015);
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_that_one_row_knows_is_known),
        cmocka_unit_test(few_rows_for_each_parameter_leave_the_spread),
        cmocka_unit_test(a_ridge_leaves_the_law_alone),
        cmocka_unit_test(the_law_is_exact_for_every_step_and_batch),
        cmocka_unit_test(the_law_is_exact_however_rows_are_drawn),
        cmocka_unit_test(the_step_is_chosen),
        cmocka_unit_test(too_much_noise_is_said_while_opening),
        cmocka_unit_test(wrong_versions_are_caught),
        cmocka_unit_test(too_large_a_step_is_refused),
        cmocka_unit_test(the_autocorrelation_is_one_less_the_step),
        cmocka_unit_test(sgfs_is_a_special_case),
        cmocka_unit_test(a_chain_that_is_far_from_its_anchor_takes_another),
        cmocka_unit_test(new_anchors_leave_the_law_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
