/* SPDX-License-Identifier: MIT
 * What the minibatch noise really is: gamma belongs to the way rows are drawn, an epoch walk is
 * wrong, and each known-wrong version of SGFS is caught by the check that the right one passes
 * (closed.h).
 */
#include "stat/closed.h"
#include "tools/tier.h"

/* ---- a Gaussian with unknown mean: x_i ~ N(theta, I), g_i = x_i - theta ---------------------- */

static sgfs_status open_mean(sgfs_model *m, sgfs_err *err) {
    if (sgfsi_model_add_block(m, "theta", 1, m->data->p, SGFS_SCORE_DENSE) == NULL)
        return SGFS_ENOMEM;
    return sgfsi_model_room_for_names(m, err);
}

static sgfs_status mean_scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                               sgfs_scores *s, double *scratch, sgfs_err *err) {
    (void)scratch;
    (void)err;
    for (int64_t i = 0; s->loglik != NULL && i < b->n; i++) s->loglik[i] = 0;
    for (int64_t i = 0; i < b->n * m->D; i++) {
        double gap = b->x[i] - theta[i % m->D];
        s->block[0].dense[i] = gap;
        if (s->loglik != NULL) s->loglik[i / m->D] -= 0.5 * gap * gap;
    }
    return SGFS_OK;
}

static void mean_start(const sgfs_model *m, double *theta, double *spread) {
    for (int64_t j = 0; j < m->D; j++) {
        theta[j] = 0;
        spread[j] = 1;
    }
}

static const sgfs_option none[] = {SGFSI_OPTIONS_END};
static const sgfs_model_kind gauss_mean = {.name = "gauss-mean",
                                           .help = "test only",
                                           .options = none,
                                           .open = open_mean,
                                           .scores = mean_scores,
                                           .start = mean_start};

/* The same rows moved and turned so that their sample covariance (divisor N) is exactly I: Cov(g) =
 * I, A = N I. */
static problem rewhitened(const problem *from) {
    problem q = *from;
    int64_t N = q.N, D = q.D;
    double *S = need((size_t)(D * D), sizeof *S), *mean = need((size_t)D, sizeof *mean);
    for (int64_t i = 0; i < N * D; i++) mean[i % D] += q.x[i] / (double)N;
    for (int64_t i = 0; i < N * D; i++) q.x[i] -= mean[i % D];
    sgfsi_syrk_t(&sgfs_device_host, N, D, 1 / (double)N, q.x, 0, S);
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, D, S), 0);
    for (int64_t i = 0; i < N; i++) sgfsi_trsv(&sgfs_device_host, D, S, false, q.x + i * D);
    for (int64_t i = 0; i < N * D; i++) q.x[i] += 0.731 * (double)(i % D + 1);
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k < D; k++) {
            q.A[j * D + k] = j == k ? (double)N : 0;
            q.C[j * D + k] = j == k ? 1 / (double)N : 0;
        }
        q.mu[j] = 0.731 * (double)(j + 1);
    }
    free(S);
    free(mean);
    return q;
}

static problem whitened(int64_t N, int64_t D, uint64_t seed) {
    problem q = regression(N, D, 1e-9, D, seed);
    return rewhitened(&q);
}

/* ---- ways of drawing rows, right and wrong --------------------------------------------------- */

static double gamma_with(const sgfs_urn *urn) {
    return (urn->total + (double)urn->n) / (double)urn->n;
}

static double gamma_without(const sgfs_urn *urn) {
    return urn->total / (double)urn->n;
}

static double gamma_inverted(const sgfs_urn *urn) {
    return (urn->total + (double)urn->n) / urn->total;
}

/* Walk through a shuffled epoch, as deep-learning loaders do. State: a permutation of the rows. */
static int64_t epoch_state(const sgfs_urn *urn) {
    return urn->N;
}

static void epoch_draw(const sgfs_urn *urn, const sgfs_when *when, int64_t *permutation,
                       int64_t *row) {
    int64_t N = urn->N, n = urn->n, per_epoch = N / n, at = when->t % per_epoch;
    if (at == 0 || permutation[0] == permutation[1]) { /* a new epoch, or the very first call */
        sgfsi_stream s = sgfsi_stream_at(when->seed, when->chain, when->t, when->purpose + 100);
        for (int64_t i = 0; i < N; i++) permutation[i] = i;
        for (int64_t i = N - 1; i > 0; i--) {
            int64_t j, swap = permutation[i];
            sgfsi_indices(&s, 1, i + 1, &j);
            permutation[i] = permutation[j];
            permutation[j] = swap;
        }
    }
    memcpy(row, permutation + at * n, (size_t)n * sizeof *row);
}

static sgfs_scheme_kind scheme_of(const sgfs_scheme_kind *rows, double (*gamma)(const sgfs_urn *)) {
    sgfs_scheme_kind s = *rows;
    s.gamma = gamma;
    return s;
}

/* tr(C*^-1 C)/D at N 2000, n 200, alpha 0; 6e6/D iterations: sd 0.0014 with tau2 = 5.5. */
static void check_cell(const char *name, int64_t D, const sgfs_scheme_kind *rows,
                       double (*gamma)(const sgfs_urn *), double expected, double tolerance) {
    problem q = whitened(2000, D, 21);
    char draws[32];
    snprintf(draws, sizeof draws, "%d", (int)(1500000 / D));
    sgfs_scheme_kind scheme = scheme_of(rows, gamma);
    const setting settings[] = {{"data.intercept", "false"},
                                {"sampler.alpha", "0"},
                                {"run.batch", "200"},
                                {"run.draws", draws},
                                {"run.thin", draws},
                                {"fisher.every", "10"},
                                {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &gauss_mean, settings, &scheme, NULL, &o), SGFS_OK);
    print_message("%-32s trR %.4f, expected %.4f\n", name, o.trR, expected);
    assert_true(fabs(o.trR - expected) < tolerance);
    outcome_free(&o);
    problem_free(&q);
}

/* Those of "with" and "without" have closed forms: Var is in proportion to
 * (true gamma - 1)/(gamma used - 1); test_closed_form.c has the right pairs, too. Those of "epoch"
 * are the prototype's measurements (2e6 samples; MATH section 3). */
static void test_gamma_belongs_to_the_scheme(void **state) {
    (void)state;
    const sgfs_scheme_kind epoch = {
        .name = "epoch", .help = "test only", .state = epoch_state, .draw = epoch_draw};
    check_cell("with, N/n", 20, &sgfs_scheme_with, gamma_without, 10.0 / 9, 0.006);
    check_cell("without, (N+n)/n", 20, &sgfs_scheme_without, gamma_with, 0.9, 0.006);
    check_cell("epoch, N/n", 20, &epoch, gamma_without, 0.507, 0.01);
    if (!in_longer_tier()) return;
    check_cell("with, (N+n)/n", 20, &sgfs_scheme_with, gamma_with, 1.0, 0.006);
    check_cell("without, N/n", 20, &sgfs_scheme_without, gamma_without, 1.0, 0.006);
    check_cell("epoch, (N+n)/n", 20, &epoch, gamma_with, 0.428, 0.01);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

enum { CHUNK = 100 };

/* The urn, with chunks far larger than the program would take for 2000 rows. */
static sgfs_urn in_chunks(const sgfs_urn *urn, int64_t parts, const int64_t *first) {
    sgfs_urn u = *urn;
    u.chunk = CHUNK;
    u.parts = parts;
    u.first = first;
    return u;
}

static double gamma_chunks(const sgfs_urn *urn) {
    sgfs_urn u = in_chunks(urn, 1, NULL);
    return sgfs_scheme_chunks.gamma(&u);
}

static void draw_chunks(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    sgfs_urn u = in_chunks(urn, 1, NULL);
    sgfs_scheme_chunks.draw(&u, when, state, row);
}

/* As if the file were shuffled anew before each run: then a chunk is a subset of CHUNK rows. */
static int64_t fresh_state(const sgfs_urn *urn) {
    sgfs_urn one = *urn;
    one.n = CHUNK;
    return sgfs_scheme_without.state(&one);
}

static void draw_fresh(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    sgfs_urn one = *urn;
    one.n = CHUNK;
    for (int64_t i = 0; i < urn->n; i += CHUNK) {
        sgfs_when run = *when;
        run.purpose += 100 + (uint32_t)(i / CHUNK);
        sgfs_scheme_without.draw(&one, &run, state, row + i);
    }
}

/* In one order of the rows: variance between chunk means in units of what gamma says, averaged over
 * the directions. */
static double between_chunks(const problem *q) {
    double sum = 0, N = (double)q->N;
    for (int64_t j = 0; j < q->D; j++) {
        for (int64_t k = 0; k < q->N; k += CHUNK) {
            double mean = 0;
            for (int64_t i = k; i < k + CHUNK; i++) mean += q->x[i * q->D + j] / CHUNK;
            sum += (mean - q->mu[j]) * (mean - q->mu[j]);
        }
    }
    return sum / (N / CHUNK) / (double)q->D * CHUNK * (N - 1) / (N - CHUNK);
}

/* gamma of chunks is right over permutations: N/n + 1 gives 1900/1999 of the variance at c = N/20.
 * Within one order the variance follows the chunk means there are, here 20 of them: which is why
 * the program wants 1000 for each parameter. */
static void test_chunks(void **state) {
    (void)state;
    const sgfs_scheme_kind fresh = {
        .name = "fresh chunks", .help = "test only", .state = fresh_state, .draw = draw_fresh};
    const sgfs_scheme_kind one = {
        .name = "chunks", .help = "test only", .state = fresh_state, .draw = draw_chunks};
    problem q = whitened(2000, 5, 21);
    check_cell("fresh chunks, their gamma", 20, &fresh, gamma_chunks, 1.0, 0.006);
    check_cell("chunks of one order", 5, &one, gamma_chunks, between_chunks(&q), 0.006);
    if (in_longer_tier())
        check_cell("fresh chunks, (N+n)/n", 20, &fresh, gamma_with, 1900.0 / 1999, 0.006);
    problem_free(&q);
}

/* ---- files that differ ----------------------------------------------------------------------- */

static const int64_t file_first[] = {0, 5000, 11000, 20000};

static double gamma_files(const sgfs_urn *urn) {
    sgfs_urn u = in_chunks(urn, 3, file_first);
    return sgfs_scheme_chunks.gamma(&u);
}

static void draw_files(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    sgfs_urn u = in_chunks(urn, 3, file_first);
    sgfs_scheme_chunks.draw(&u, when, state, row);
}

static double variance_of(const problem *q,
                          void (*draw)(const sgfs_urn *, const sgfs_when *, int64_t *, int64_t *)) {
    const sgfs_scheme_kind scheme = {.name = "files",
                                     .help = "test only",
                                     .gamma = gamma_files,
                                     .state = fresh_state,
                                     .draw = draw};
    const setting settings[] = {{"data.intercept", "false"},
                                {"sampler.alpha", "0"},
                                {"run.batch", "1000"},
                                {"run.draws", "30000"},
                                {"run.thin", "30000"},
                                {"fisher.every", "10"},
                                {NULL, NULL}};
    outcome o;
    double trR;
    assert_int_equal(run_on(q, &gauss_mean, settings, &scheme, NULL, &o), SGFS_OK);
    trR = o.trR;
    outcome_free(&o);
    return trR;
}

/* Three files, each in random order, of very different means. 200 chunks: the variance of one order
 * is right to sqrt(2/(200 D)) = 4.5 % (one standard deviation). Taken for one shuffled file, most
 * of the noise is that between files, and it comes in chunks. */
static void test_files_that_differ(void **state) {
    (void)state;
    problem q = whitened(20000, 5, 23), moved = {0};
    for (int64_t i = 0; i < q.N; i++) {
        double day = i < file_first[1] ? -1 : i < file_first[2] ? 0 : 1.385;
        for (int64_t j = 0; j < q.D; j++) q.x[i * q.D + j] += day * (j == 0 ? 2 : 0);
    }
    moved = rewhitened(&q);
    double right = variance_of(&moved, draw_files), wrong = variance_of(&moved, draw_chunks);
    print_message("files that differ: trR %.4f; taken for one file %.3f\n", right, wrong);
    assert_true(fabs(right - 1) < 5 * 0.045);
    assert_true(wrong > 3);
    problem_free(&moved);
}

/* ---- known-wrong samplers -------------------------------------------------------------------- */

typedef enum mistake {
    NONE,
    HALF_NOISE,      /* eta ~ N(0, 2B/eps) instead of 4B/eps */
    STORE_INCREMENT, /* theta = the step, not theta + the step */
    SYNTHETIC_NOISE, /* minibatch noise added on top of the real one */
    HALVING          /* the step size halves on a fixed clock */
} mistake;

static mistake made; /* which one the sampler below makes */

typedef struct wrong {
    sgfsi_average average;
    sgfs_sym L;
    double *G, *z;
} wrong;

static sgfs_status open_wrong(sgfs_sampler *s, sgfs_err *err) {
    wrong *w = sgfsi_arena_alloc(s->arena, 1, sizeof *w);
    const sgfsi_eval *e = &s->eval;
    w->G = SGFSI_DOUBLES(s->arena, e->D);
    w->z = SGFSI_DOUBLES(s->arena, e->D);
    s->state = w;
    sgfs_status status = sgfsi_average_open(&w->average, s->fisher, e->model->ctx.device, s->layout,
                                            e->n, &s->plan->fisher, s->arena, err);
    return status != SGFS_OK
               ? status
               : sgfsi_sym_open(&w->L, s->fisher, e->model->ctx.device, s->layout, s->arena, err);
}

static void normals(const sgfs_sampler *s, int64_t t, uint32_t purpose, double *z) {
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, t, purpose);
    sgfsi_normals(&stream, s->eval.D, z);
}

/* Algorithm 1 with B = gamma N I1hat, and one mistake. */
static sgfs_status step_wrong(sgfs_sampler *s, const sgfs_iteration *now, double *theta,
                              double *stats, sgfs_err *err) {
    wrong *w = s->state;
    sgfsi_eval *e = &s->eval;
    const sgfs_fisher_kind *f = s->fisher;
    double alpha = now->t <= now->warmup ? 0 : sgfsi_plan_num(s->plan, "sampler.alpha");
    if (made == HALVING) alpha *= pow(sqrt(2), (double)now->t / 2000);
    sgfs_status status = sgfsi_eval_gradient(e, now->t, SGFSI_ROWS, theta, w->G, NULL, err);
    if (status != SGFS_OK) return status;
    sgfsi_average_update(&w->average, &e->scores, e->gbar, now->t <= now->warmup);
    f->combine(&w->L, e->gamma * e->total, &w->average.I1, 0, NULL);
    if (f->factor(&w->L) != 0) return sgfsi_fail(err, SGFS_ENUMERIC, "not positive definite");
    if (made == SYNTHETIC_NOISE) { /* (N^2/n) Cov(g) = (gamma - 1)/gamma K */
        normals(s, now->t, SGFSI_PRIOR, w->z);
        f->mul_factor(&w->L, false, w->z);
        for (int64_t j = 0; j < e->D; j++) w->G[j] += sqrt((e->gamma - 1) / e->gamma) * w->z[j];
    }
    f->solve(&w->L, false, w->G);
    normals(s, now->t, SGFSI_NOISE, w->z);
    double noise = alpha * (made == HALF_NOISE ? sqrt(0.5) : 1);
    for (int64_t j = 0; j < e->D; j++) w->G[j] += noise * w->z[j];
    f->solve(&w->L, true, w->G);
    for (int64_t j = 0; j < e->D; j++) {
        theta[j] = (made == STORE_INCREMENT ? 0 : theta[j]) + 2 / (1 + alpha * alpha) * w->G[j];
    }
    stats[0] = 0;
    return SGFS_OK;
}

/* Variance 1/N per coordinate; is_right as for the real sampler. A chain that runs away is caught,
 * too. */
static bool passes(mistake m, const sgfs_scheme_kind *scheme, const char *alpha) {
    sgfs_sampler_kind kind = sgfs_sampler_sgfs;
    problem q = whitened(2000, 20, 22);
    kind.open = open_wrong;
    kind.step = step_wrong;
    made = m;
    const setting settings[] = {{"data.intercept", "false"},
                                {"sampler.alpha", alpha},
                                {"run.batch", "200"},
                                {"run.warmup", "2000"},
                                {"run.draws", "37500"},
                                {"run.thin", "37500"},
                                {NULL, NULL}};
    outcome o;
    sgfs_status status = run_on(&q, &gauss_mean, settings, scheme, &kind, &o);
    bool right = status == SGFS_OK && is_right(&q, &o, 11, atof(alpha)) && o.E1 < 0.002;
    print_message("mistake %d: status %d, trR %.4g, E1 %.2g: %s\n", (int)m, (int)status, o.trR,
                  o.E1, right ? "passes" : "caught");
    outcome_free(&o);
    problem_free(&q);
    return right;
}

static void test_the_plain_algorithm_passes(void **state) {
    (void)state;
    assert_true(passes(NONE, NULL, "1"));
}

static void test_half_noise_is_caught(void **state) {
    (void)state;
    assert_false(passes(HALF_NOISE, NULL, "1"));
}

static void test_stored_increment_is_caught(void **state) {
    (void)state;
    assert_false(passes(STORE_INCREMENT, NULL, "1"));
}

static void test_synthetic_noise_is_caught(void **state) {
    (void)state;
    assert_false(passes(SYNTHETIC_NOISE, NULL, "0"));
}

static void test_halving_steps_are_caught(void **state) {
    (void)state;
    assert_false(passes(HALVING, NULL, "1"));
}

/* gamma = (N+n)/N: alpha 1 keeps the step inside what the program's own check allows. */
static void test_inverted_gamma_is_caught(void **state) {
    (void)state;
    sgfs_scheme_kind scheme = scheme_of(&sgfs_scheme_with, gamma_inverted);
    assert_false(passes(NONE, &scheme, "1"));
}

/* ---- the plain samplers, against the closed form of their own stationary variance ------------ */

/* theta' = (1 - a) theta + (eps/2) noise + sqrt(eps) z,  a = eps N/2,  Var(noise) = (gamma - 1) N:
 * Var = (eps z + (eps^2/4)(gamma - 1) N) / (1 - (1 - a)^2), with z = 1 for SGLD and 0 for SGD. */
static void check_plain(const char *kind, const char *epsilon, double z) {
    problem q = whitened(2000, 20, 23);
    const setting settings[] = {{"data.intercept", "false"},  {"sampler.kind", kind},
                                {"sampler.epsilon", epsilon}, {"run.batch", "200"},
                                {"run.warmup", "2000"},       {"run.draws", "50000"},
                                {"run.thin", "50000"},        {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &gauss_mean, settings, NULL, NULL, &o), SGFS_OK);
    double eps = atof(epsilon), a = eps * 2000 / 2, rho = 1 - a;
    double variance = (eps * z + eps * eps / 4 * 10 * 2000) / (1 - rho * rho);
    double sd = sqrt(2 * (1 + rho * rho) / (1 - rho * rho) / ((double)o.T * (double)q.D));
    print_message("%s eps %s: trR %.4f, closed form %.4f +- %.4f\n", kind, epsilon, o.trR,
                  variance * 2000, variance * 2000 * sd);
    assert_true(fabs(o.trR / (variance * 2000) - 1) < 4 * sd);
    assert_true(o.E1 < 0.002);
    outcome_free(&o);
    problem_free(&q);
}

static void test_sgld_has_its_known_bias(void **state) {
    (void)state;
    check_plain("sgld", "5e-4", 1);
    if (in_longer_tier()) check_plain("sgld", "1e-4", 1);
}

static void test_sgd_has_the_spread_of_its_noise(void **state) {
    (void)state;
    check_plain("sgd", "5e-4", 0);
}

/* On an uncorrelated posterior the diagonal is the whole matrix. */
static void test_sgfs_d_is_exact_without_correlation(void **state) {
    (void)state;
    problem q = whitened(2000, 20, 24);
    const setting settings[] = {{"data.intercept", "false"},
                                {"sampler.kind", "sgfs-d"},
                                {"sampler.alpha", "1"},
                                {"run.batch", "200"},
                                {"run.draws", "50000"},
                                {"run.thin", "50000"},
                                {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &gauss_mean, settings, NULL, NULL, &o), SGFS_OK);
    print_message("sgfs-d, no correlation: trR %.4f\n", o.trR);
    assert_true(is_right(&q, &o, 11, 1));
    outcome_free(&o);
    problem_free(&q);
}

/* eps_t = a (b + t)^-delta, as the statistics record it. */
static void test_decaying_steps(void **state) {
    (void)state;
    const sgfsi_schedule s = {.constant = NAN, .a = 0.3, .b = 17, .delta = 0.9, .warmup_factor = 1};
    for (int64_t t = 1; t < 1000; t += 83) {
        double expected = 0.3 / pow(17 + (double)t, 0.9);
        sgfs_iteration now = {.t = t, .draws = 1000};
        assert_true(fabs(sgfsi_schedule_at(&s, &now).eps / expected - 1) < 1e-12);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gamma_belongs_to_the_scheme),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_files_that_differ),
        cmocka_unit_test(test_the_plain_algorithm_passes),
        cmocka_unit_test(test_half_noise_is_caught),
        cmocka_unit_test(test_stored_increment_is_caught),
        cmocka_unit_test(test_synthetic_noise_is_caught),
        cmocka_unit_test(test_halving_steps_are_caught),
        cmocka_unit_test(test_inverted_gamma_is_caught),
        cmocka_unit_test(test_sgld_has_its_known_bias),
        cmocka_unit_test(test_sgd_has_the_spread_of_its_noise),
        cmocka_unit_test(test_sgfs_d_is_exact_without_correlation),
        cmocka_unit_test(test_decaying_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
