/* SPDX-License-Identifier: MIT
 * HMC and NUTS are the reference for everything else, so they are tested against what is known
 * without them: the geometry of the leapfrog step, closed forms, integration on a grid.
 *
 * Expectations are judged in their own Monte Carlo errors. There are about 200 of them in this
 * file, all with fixed seeds; |z| < 5 for each gives a false alarm in one of 8,000 choices of seeds
 * where z is normal.
 */
#include "sampler/hamiltonian.h"
#include "stat/sampled.h"
#include "tools/check.h"
#include "tools/state.h"

static const double most_z = 5;

/* ---- the leapfrog step ----------------------------------------------------------------------- */

/* A chain's Hamiltonian without a chain around it: logistic regression, 40 rows, D = 2. */
typedef struct bare {
    sampled s;
    sgfsi_arena arena;
    sgfs_sampler sampler;
    sgfsi_hamiltonian h;
    sgfsi_point z;
    double *x, *y;
} bare;

static void bare_open(bare *b, const char *metric) {
    sgfs_err err;
    const setting settings[] = {{"sampler.kind", "hmc"},
                                {"sampler.metric", metric},
                                {"data.intercept", "false"},
                                {"run.chains", "1"},
                                {NULL, NULL}};
    memset(b, 0, sizeof *b);
    b->x = numbers(80, 3);
    b->y = zeros(40);
    for (int64_t i = 0; i < 40; i++) b->y[i] = b->x[2 * i] + 0.385 * b->x[2 * i + 1] > 0.1;
    b->s = sample_open(&sgfs_model_logistic, 40, 2, b->x, b->y, settings);
    b->sampler = (sgfs_sampler){.model = b->s.m,
                                .plan = &b->s.run->plan,
                                .settings = b->s.run->plan.settings,
                                .D = 2,
                                .arena = &b->arena};
    b->sampler.layout = sgfsi_layout_open(2, 2, 1, NULL, &b->arena);
    assert_int_equal(sgfsi_full_open(&b->sampler.full, b->s.m, 1, true, &b->arena, &err), SGFS_OK);
    assert_int_equal(sgfsi_hamiltonian_open(&b->h, &b->sampler, &err), SGFS_OK);
    assert_true(sgfsi_point_open(&b->z, 2, &b->arena));
}

static void bare_free(bare *b) {
    sample_free(&b->s);
    sgfsi_arena_free(&b->arena);
    free(b->x);
    free(b->y);
}

/* Put (q, p) at `place` and take `steps` leapfrog steps; the energy gained. */
static double bare_travel(bare *b, const double place[4], int64_t steps, double eps) {
    sgfs_err err;
    memcpy(b->z.q, place, 2 * sizeof *place);
    memcpy(b->z.p, place + 2, 2 * sizeof *place);
    assert_int_equal(sgfsi_full_eval(&b->sampler.full, b->z.q, &b->z.lp, b->z.G, NULL, &err),
                     SGFS_OK);
    double before = sgfsi_hamiltonian_energy(&b->h, &b->z);
    for (int64_t k = 0; k < steps; k++)
        assert_int_equal(sgfsi_leapfrog(&b->h, &b->z, eps, &err), SGFS_OK);
    return sgfsi_hamiltonian_energy(&b->h, &b->z) - before;
}

static const double place[4] = {0.731, -0.412, 1.385, 0.917};
static const char *const metrics[] = {"identity", "fisher"};

static void test_leapfrog_is_reversible(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        bare b;
        double there[4];
        bare_open(&b, metrics[k]);
        bare_travel(&b, place, 37, 0.11);
        memcpy(there, b.z.q, 2 * sizeof *there);
        memcpy(there + 2, b.z.p, 2 * sizeof *there);
        assert_true(fabs(there[0] - place[0]) > 0.01); /* it did go somewhere */
        bare_travel(&b, there, 37, -0.11);
        for (int j = 0; j < 2; j++) {
            assert_near(b.z.q[j], place[j], 1e-11, "q back");
            assert_near(b.z.p[j], place[2 + j], 1e-11, "p back");
        }
        bare_free(&b);
    }
}

/* Determinant of a 4 x 4 matrix by elimination with pivots. */
static double determinant(double a[4][4]) {
    double det = 1;
    for (int k = 0; k < 4; k++) {
        int best = k;
        for (int i = k; i < 4; i++) best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        for (int j = 0; j < 4 && best != k; j++) {
            double swap = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = swap;
        }
        det *= best != k ? -a[k][k] : a[k][k];
        for (int i = k + 1; i < 4; i++) {
            double factor = a[i][k] / a[k][k];
            for (int j = k; j < 4; j++) a[i][j] -= factor * a[k][j];
        }
    }
    return det;
}

/* The map (q, p) -> (q', p') has Jacobian determinant 1, here by central differences. */
static void test_leapfrog_keeps_volume(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        bare b;
        double J[4][4], d = 1e-5;
        bare_open(&b, metrics[k]);
        for (int j = 0; j < 4; j++) {
            for (int side = -1; side <= 1; side += 2) {
                double moved[4];
                memcpy(moved, place, sizeof moved);
                moved[j] += side * d;
                bare_travel(&b, moved, 5, 0.3);
                for (int i = 0; i < 4; i++) {
                    double end = i < 2 ? b.z.q[i] : b.z.p[i - 2];
                    J[i][j] = side < 0 ? -end : (J[i][j] + end) / (2 * d);
                }
            }
        }
        assert_near(determinant(J), 1, 1e-8, "volume");
        bare_free(&b);
    }
}

/* Over a fixed time the energy error is O(eps^2): halving the step quarters it. */
static void test_energy_error_is_of_second_order(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        bare b;
        bare_open(&b, metrics[k]);
        double coarse = bare_travel(&b, place, 20, 0.05), fine = bare_travel(&b, place, 40, 0.025);
        print_message("%s: energy error %.3g, with half the step %.3g, ratio %.3f\n", metrics[k],
                      coarse, fine, coarse / fine);
        assert_near(coarse / fine, 4, 0.05, "ratio");
        bare_free(&b);
    }
}

/* ---- what warm-up learns --------------------------------------------------------------------- */

static void check_windows(int64_t warmup, const int64_t *ends) {
    sgfsi_windows w = sgfsi_windows_open(warmup);
    for (int64_t t = 1; t <= warmup; t++) {
        bool wanted = *ends == t;
        assert_int_equal(sgfsi_windows_end(&w, t), wanted);
        if (wanted) ends++;
    }
    assert_int_equal(*ends, 0);
}

/* The ends of Stan's windows, for the warm-ups its manual speaks of. */
static void test_windows_are_stans(void **state) {
    (void)state;
    check_windows(1000, (const int64_t[]){100, 150, 250, 450, 950, 0});
    check_windows(500, (const int64_t[]){100, 150, 250, 450, 0});
    check_windows(300, (const int64_t[]){100, 150, 250, 0});
    check_windows(299, (const int64_t[]){100, 249, 0}); /* no room for another of 100 */
    check_windows(150, (const int64_t[]){100, 0});
    check_windows(100, (const int64_t[]){90, 0}); /* 15 + 75 + 10 */
    check_windows(20, (const int64_t[]){18, 0});
    check_windows(19, (const int64_t[]){0});
    sgfsi_windows w = sgfsi_windows_open(1000);
    assert_false(sgfsi_windows_learn(&w, 75));
    assert_true(sgfsi_windows_learn(&w, 76) && sgfsi_windows_learn(&w, 950));
    assert_false(sgfsi_windows_learn(&w, 951));
}

/* Where acceptance is exp(-eps) the step for 0.8 is -log 0.8; noise of +-0.15 averages out. */
static void test_dual_averaging_finds_the_step(void **state) {
    (void)state;
    uint64_t seed = 5;
    sgfsi_dual d = {.target = 0.8};
    double eps = 3.1;
    sgfsi_dual_start(&d, eps);
    for (int k = 0; k < 2000; k++) {
        double acceptance = exp(-eps) + 0.15 * next_number(&seed);
        eps = sgfsi_dual_learn(&d, fmin(1, acceptance));
    }
    assert_near(sgfsi_dual_result(&d), -log(0.8), 0.02, "step");
}

static void add_square(double *S, const double *row, const double *mean, int64_t D) {
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) S[i * D + j] += (row[i] - mean[i]) * (row[j] - mean[j]);
    }
}

/* The metric that the last window leaves, by its definition, from the iterations that belong to
 * it. (The state of both kinds begins with the Hamiltonian.) */
static void test_metric_is_the_windows_regularised_covariance(void **state) {
    (void)state;
    enum { D = 3, WARMUP = 300, FIRST = 151, LAST = 250, n = LAST - FIRST + 1 };
    for (int dense = 0; dense < 2; dense++) {
        const setting settings[] = {{"sampler.kind", "nuts"},
                                    {"sampler.metric", dense ? "dense" : "diag"},
                                    {"data.intercept", "false"},
                                    {"model.sigma", "1"},
                                    {"run.chains", "1"},
                                    {"run.warmup", "300"},
                                    {NULL, NULL}};
        problem q = regression(50, D, 1.0, D, 21);
        double row[n * D], mean[D] = {0}, S[D * D] = {0};
        sampled s = sample_open(&sgfs_model_linear, q.N, D, q.x, q.y, settings);
        for (int64_t t = 1; t <= WARMUP; t++) {
            assert_int_equal(sgfs_run_step(s.run, 1, NULL), SGFS_OK);
            if (t < FIRST || t > LAST) continue;
            memcpy(row + (t - FIRST) * D, s.run->chain[0].theta, D * sizeof *row);
            for (int64_t j = 0; j < D; j++) mean[j] += s.run->chain[0].theta[j] / n;
        }
        for (int64_t t = 0; t < n; t++) add_square(S, row + t * D, mean, D);
        const double *W = field_of(&s.run->chain[0].sampler, "W");
        for (int64_t i = 0; i < D; i++) {
            for (int64_t j = 0; j <= i; j++) {
                double wanted = n / (n + 5.0) * S[i * D + j] / (n - 1.0);
                if (i == j) wanted += 5 / (n + 5.0) * S[i * D + i] / (n - 1.0);
                if (dense) assert_near(W[i * D + j], wanted, 1e-14, "dense W");
                else if (i == j) assert_near(W[i], wanted, 1e-14, "diagonal W");
            }
        }
        sample_free(&s);
        problem_free(&q);
    }
}

static double acceptance_of(const double *theta, const double *stats, const void *about) {
    (void)theta;
    (void)about;
    return stats[1];
}

/* A few updates are no average: the step is then not larger than the one that was found. */
static void test_a_short_average_does_not_enlarge_the_step(void **state) {
    (void)state;
    sgfsi_dual d = {.target = 0.8};
    sgfsi_dual_start(&d, 0.3);
    for (int k = 1; k <= 40; k++) {
        (void)sgfsi_dual_learn(&d, 1);
        double eps = sgfsi_dual_result(&d);
        if (k < 20) assert_near(eps, 0.3, 1e-12, "held back");
        else assert_true(eps > 0.3);
    }
    sgfsi_dual_start(&d, 0.3);
    for (int k = 0; k < 5; k++) (void)sgfsi_dual_learn(&d, 0);
    assert_true(sgfsi_dual_result(&d) < 0.3); /* smaller it may become */
}

/* One leapfrog step for HMC: the acceptance of several is no monotone function of the step.
 * With the metric given, 1000 iterations settle the step: the acceptance of the draws is the
 * target. After windows only the last 50 do, the step still jumps about, and its average lies on
 * the careful side (acceptance is concave in the step), as it does in Stan. */
static void test_adaptation_reaches_the_target(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"}, *const targets[] = {"0.8", "0.65", "0.95"};
    problem q = regression(200, 60, 1.0, 60, 22);
    for (int k = 0; k < 8; k++) {
        bool windows = k >= 6;
        const setting settings[] = {{"sampler.kind", kinds[k % 2]},
                                    {"sampler.metric", windows ? "dense" : "fisher"},
                                    {"sampler.target_accept", targets[k / 2 % 3]},
                                    {"data.intercept", "false"},
                                    {"model.sigma", "1"},
                                    {"run.draws", "400"},
                                    {k % 2 == 0 ? "sampler.leapfrog" : NULL, "1"}, /* HMC's */
                                    {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
        assert_int_equal(sample_all(&s, NULL), SGFS_OK);
        double target = atof(targets[k / 2 % 3]);
        double got = estimate_of(s.draws, acceptance_of, NULL).mean;
        print_message("%s, %s: target %g, acceptance %.3f\n", kinds[k % 2],
                      windows ? "dense" : "fisher", target, got);
        assert_true(got > target - 0.05 && got < target + (windows ? 0.15 : 0.05));
        sample_free(&s);
    }
    problem_free(&q);
}

static const char *resolved(const sampled *s, const char *key) {
    static char room[SGFSI_NUM_CHARS];
    return sgfsi_plan_text(&s->run->plan, key, room);
}

static void test_defaults(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"};
    double *x = numbers(300 * 201, 6), *y = numbers(300, 7);
    for (int k = 0; k < 2; k++) {
        const setting settings[] = {
            {"sampler.kind", kinds[k]}, {"data.intercept", "false"}, {NULL, NULL}};
        for (int64_t p = 199; p <= 200; p++) { /* and log_sigma: D = 200, 201 */
            sampled s = sample_open(&sgfs_model_linear, 300, p, x, y, settings);
            assert_string_equal(resolved(&s, "sampler.metric"), p < 200 ? "dense" : "diag");
            assert_string_equal(resolved(&s, "run.warmup"), "1000");
            assert_string_equal(resolved(&s, "run.draws"), "1000");
            assert_string_equal(resolved(&s, "run.thin"), "1");
            sample_free(&s);
        }
    }
    free(x);
    free(y);
}

/* ---- the Gaussian ---------------------------------------------------------------------------- */

/* (theta_i - mu_i)(theta_j - mu_j); j < 0: the first factor alone. */
typedef struct moment {
    const problem *q;
    int64_t i, j;
} moment;

static double moment_of(const double *theta, const double *stats, const void *about) {
    const moment *m = about;
    (void)stats;
    double a = theta[m->i] - m->q->mu[m->i];
    return m->j < 0 ? a : a * (theta[m->j] - m->q->mu[m->j]);
}

/* (theta - mu)'A(theta - mu)/D, whose mean is trR: 1. */
static double distance_of(const double *theta, const double *stats, const void *about) {
    const problem *q = about;
    (void)stats;
    double sum = 0;
    for (int64_t i = 0; i < q->D; i++) {
        for (int64_t j = 0; j < q->D; j++)
            sum += (theta[i] - q->mu[i]) * q->A[i * q->D + j] * (theta[j] - q->mu[j]);
    }
    return sum / (double)q->D;
}

/* Energy above its least value, and the square about its mean D. */
typedef struct energy {
    double least, D;
    int64_t column;
    bool square;
} energy;

static double energy_of(const double *theta, const double *stats, const void *about) {
    const energy *e = about;
    (void)theta;
    double above = stats[e->column] - e->least;
    return e->square ? (above - e->D) * (above - e->D) : above;
}

static double worst_moment(const sgfs_draws *d, const problem *q) {
    double worst = fabs(z_of(d, distance_of, q, 1));
    for (int64_t i = 0; i < q->D; i++) {
        for (int64_t j = -1; j <= i; j++) {
            moment m = {q, i, j};
            worst = fmax(worst, fabs(z_of(d, moment_of, &m, j < 0 ? 0 : q->C[i * q->D + j])));
        }
    }
    return worst;
}

/* H - min H = (D squares of N(0, 1) for q and D for p)/2 is Gamma(D, 1): mean D, variance D. */
static double worst_energy(const sgfs_draws *d, const problem *q, double most_lp) {
    energy e = {.least = -most_lp, .D = (double)q->D, .column = stat_at(d, "energy")};
    double worst = fabs(z_of(d, energy_of, &e, e.D));
    e.square = true;
    return fmax(worst, fabs(z_of(d, energy_of, &e, e.D)));
}

typedef struct gauss_case {
    const char *kind, *metric, *key, *value; /* one more option */
} gauss_case;

static void check_gauss(const problem *q, const gauss_case *c) {
    sgfs_err err;
    const setting settings[] = {{"sampler.kind", c->kind},   {"sampler.metric", c->metric},
                                {"data.intercept", "false"}, {"model.sigma", "1"},
                                {"run.warmup", "500"},       {"run.draws", "6000"},
                                {"run.seed", "17"},          {"prior.precision", "1.385"},
                                {c->key, c->value},          {NULL, NULL}};
    double lp, G[8];
    sampled s = sample_open(&sgfs_model_linear, q->N, q->D, q->x, q->y, settings);
    assert_int_equal(sample_all(&s, &err), SGFS_OK);
    assert_int_equal(sgfsi_posterior_full(s.m, q->mu, &lp, G, NULL, &err), SGFS_OK);
    double z = worst_moment(s.draws, q), z_energy = worst_energy(s.draws, q, lp);
    estimate e = estimate_of(s.draws, distance_of, q);
    print_message(
        "%-4s %-8s %s %s: largest |z| %.2f, of energies %.2f; trR %.4f, acceptance %.2f\n", c->kind,
        c->metric, c->key, c->value, z, z_energy, e.mean,
        estimate_of(s.draws, acceptance_of, NULL).mean);
    assert_true(z < most_z && z_energy < most_z);
    sample_free(&s);
}

static void test_gaussian_moments(void **state) {
    (void)state;
    static const gauss_case cases[] = {
        {"hmc", "identity", "sampler.leapfrog", "10"},
        {"hmc", "diag", "sampler.leapfrog", "7"},
        {"hmc", "dense", "sampler.jitter", "0.2"},
        {"hmc", "fisher", "sampler.leapfrog", "1"},
        {"hmc", "fisher", "sampler.epsilon", "1.3"},
        {"nuts", "identity", "run.init", "0.5"},
        {"nuts", "diag", "sampler.max_depth", "10"},
        {"nuts", "dense", "run.init", "0.5"},
        {"nuts", "fisher", "sampler.epsilon", "1.1"},
        {"nuts", "identity", "sampler.max_depth", "2"},
    };
    problem q = regression(60, 4, 1.385, 4, 23);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) check_gauss(&q, &cases[k]);
    problem_free(&q);
}

/* One turn of a Gaussian in exactly 10 steps: eps = 2 sin(pi/10) where W is the covariance. Without
 * jitter the chain stays where it is; with it the correlation is sin(2 pi j)/(2 pi j). */
static void test_jitter_breaks_the_period(void **state) {
    (void)state;
    static const char *const jitters[] = {"0", "0.1", "0.2"};
    static const double wanted[] = {1, 0.935, 0.757};
    problem q = regression(60, 4, 1.0, 4, 24);
    for (int k = 0; k < 3; k++) {
        const setting settings[] = {{"sampler.kind", "hmc"},
                                    {"sampler.metric", "fisher"},
                                    {"sampler.leapfrog", "10"},
                                    {"sampler.epsilon", "0.61803398874989484"},
                                    {"sampler.jitter", jitters[k]},
                                    {"data.intercept", "false"},
                                    {"model.sigma", "1"},
                                    {"run.draws", "5000"},
                                    {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
        assert_int_equal(sample_all(&s, NULL), SGFS_OK);
        double top = 0, bottom = 0;
        for (int64_t c = 0; c < s.draws->chains; c++) {
            const double *theta = s.draws->chain[c].theta;
            for (int64_t t = 0; t + 1 < s.draws->chain[c].draws; t++) {
                double a = theta[t * q.D] - q.mu[0], b = theta[(t + 1) * q.D] - q.mu[0];
                top += a * b;
                bottom += (a * a + b * b) / 2;
            }
        }
        print_message("jitter %s: correlation %.3f, theory %.3f\n", jitters[k], top / bottom,
                      wanted[k]);
        assert_near(top / bottom, wanted[k], k == 0 ? 1e-6 : 0.03, "correlation");
        sample_free(&s);
    }
    problem_free(&q);
}

static double steps_of(const double *theta, const double *stats, const void *about) {
    (void)theta;
    (void)about;
    return stats[4];
}

/* The law does not depend on where trajectories stop; the cost does. Where one turn takes k steps a
 * trajectory is about half a turn: 0.4 k to 0.75 k, for every k. Without the checks across the seam
 * trees of 8 and 16 states meet their own beginning at k = 7 and 15 and go on: 80 and 25 steps. */
static void test_trajectories_stop_at_the_turn(void **state) {
    (void)state;
    problem q = regression(60, 4, 1.0, 4, 29);
    for (int k = 4; k <= 24; k++) {
        char eps[32];
        snprintf(eps, sizeof eps, "%.17g", 2 * sin(M_PI / k));
        const setting settings[] = {{"sampler.kind", "nuts"}, {"sampler.metric", "fisher"},
                                    {"sampler.epsilon", eps}, {"data.intercept", "false"},
                                    {"model.sigma", "1"},     {"run.warmup", "50"},
                                    {"run.draws", "1000"},    {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
        assert_int_equal(sample_all(&s, NULL), SGFS_OK);
        moment m = {&q, 0, -1};
        double steps = estimate_of(s.draws, steps_of, NULL).mean;
        double ess = estimate_of(s.draws, moment_of, &m).ess / 4000;
        print_message("one turn in %d steps: %.1f steps, ESS %.2f of the draws\n", k, steps, ess);
        assert_true(steps > 0.4 * k && steps < 0.75 * k && ess > 0.7);
        sample_free(&s);
    }
    problem_free(&q);
}

/* ---- not Gaussian: integration on a grid ----------------------------------------------------- */

/* Posterior of logistic regression, D = 2, few rows, on cells of a square; cut: density 0 where
 * theta_0 > cut. */
enum { CELLS = 700, ROWS = 9 };
static const double grid_low = -7, grid_high = 11;

typedef struct grid {
    double *mass;                      /* CELLS x CELLS, sums to 1 */
    double mean[2], sd[2], edge[2][2]; /* edge: cell borders near the 5 % and 95 % quantiles */
    double below[2][2];                /* probability below each */
} grid;

static const double few_x[ROWS * 2] = {0.9,  0.2, 1.3, -0.8, 0.4, 1.1, -0.7, 0.3,  1.9,
                                       -0.3, 0.1, 0.6, 0.8,  0.9, 1.2, 0.05, -0.2, 0.45};
static const double few_y[ROWS] = {1, 1, 1, 0, 1, 0, 1, 1, 0};

static double cell_at(int64_t k) {
    return grid_low + ((double)k + 0.5) * (grid_high - grid_low) / CELLS;
}

static double log_density(double a, double b, double cut) {
    double sum = -0.5 * 0.35 * (a * a + b * b);
    if (a > cut) return -INFINITY;
    for (int64_t i = 0; i < ROWS; i++) {
        double eta = a * few_x[2 * i] + b * few_x[2 * i + 1];
        sum += few_y[i] * eta - (eta > 0 ? eta + log1p(exp(-eta)) : log1p(exp(eta)));
    }
    return sum;
}

static void summarise_axis(grid *g, int axis) {
    double *marginal = zeros(CELLS), cdf = 0, width = (grid_high - grid_low) / CELLS;
    static const double level[2] = {0.05, 0.95};
    int next = 0;
    for (int64_t k = 0; k < CELLS * CELLS; k++)
        marginal[axis == 0 ? k / CELLS : k % CELLS] += g->mass[k];
    for (int64_t k = 0; k < CELLS; k++) g->mean[axis] += cell_at(k) * marginal[k];
    for (int64_t k = 0; k < CELLS; k++) {
        double away = cell_at(k) - g->mean[axis];
        g->sd[axis] += away * away * marginal[k];
        if (next < 2 && cdf + marginal[k] > level[next]) {
            g->edge[axis][next] = cell_at(k) - width / 2;
            g->below[axis][next++] = cdf;
        }
        cdf += marginal[k];
    }
    g->sd[axis] = sqrt(g->sd[axis]);
    free(marginal);
}

static grid integrate(double cut) {
    grid g = {.mass = zeros(CELLS * CELLS)};
    double sum = 0;
    for (int64_t k = 0; k < CELLS * CELLS; k++)
        sum += g.mass[k] = exp(log_density(cell_at(k / CELLS), cell_at(k % CELLS), cut));
    for (int64_t k = 0; k < CELLS * CELLS; k++) g.mass[k] /= sum;
    for (int axis = 0; axis < 2; axis++) summarise_axis(&g, axis);
    return g;
}

/* ((theta_i - mean)/sd)^power, or whether theta_i lies below the edge. */
typedef struct standard {
    double mean, sd;
    int axis, power;
} standard;

static double standard_of(const double *theta, const double *stats, const void *about) {
    const standard *f = about;
    (void)stats;
    double u = (theta[f->axis] - f->mean) / f->sd;
    return f->power == 0 ? u < 0 : pow(u, f->power);
}

static double grid_moment(const grid *g, const standard *f) {
    double sum = 0;
    for (int64_t k = 0; k < CELLS * CELLS; k++) {
        double u = (cell_at(f->axis == 0 ? k / CELLS : k % CELLS) - f->mean) / f->sd;
        sum += g->mass[k] * pow(u, f->power);
    }
    return sum;
}

static double worst_on_grid(const sgfs_draws *d, const grid *g) {
    double worst = 0;
    for (int axis = 0; axis < 2; axis++) {
        for (int power = 1; power <= 3; power++) {
            standard f = {g->mean[axis], g->sd[axis], axis, power};
            double truth = grid_moment(g, &f), z = z_of(d, standard_of, &f, truth);
            worst = fmax(worst, fabs(z));
            if (power == 3) print_message("  axis %d: skewness %.3f, z %.2f\n", axis, truth, z);
        }
        for (int k = 0; k < 2; k++) {
            standard f = {g->edge[axis][k], 1, axis, 0};
            worst = fmax(worst, fabs(z_of(d, standard_of, &f, g->below[axis][k])));
        }
    }
    return worst;
}

static double diverging_in(const sgfs_draws *d) {
    int64_t column = stat_at(d, "diverging");
    double sum = 0;
    for (int64_t c = 0; c < d->chains; c++) {
        for (int64_t t = 0; t < d->chain[c].draws; t++) sum += d->chain[c].stats[t * d->S + column];
    }
    return sum;
}

/* Divergences among the draws. eps: "auto", or a step size. */
static double check_on_grid(const sgfs_model_kind *model, const char *kind, const char *metric,
                            const char *eps, const grid *g) {
    const setting settings[] = {{"sampler.kind", kind},      {"sampler.metric", metric},
                                {"data.intercept", "false"}, {"prior.precision", "0.35"},
                                {"run.draws", "8000"},       {"run.seed", "9"},
                                {"sampler.epsilon", eps},    {NULL, NULL}};
    sampled s = sample_open(model, ROWS, 2, few_x, few_y, settings);
    assert_int_equal(sample_all(&s, NULL), SGFS_OK);
    double z = worst_on_grid(s.draws, g), diverging = diverging_in(s.draws);
    print_message("%s %s: largest |z| %.2f, %.0f divergences\n", kind, metric, z, diverging);
    assert_true(z < most_z);
    sample_free(&s);
    return diverging;
}

static void test_logistic_against_a_grid(void **state) {
    (void)state;
    grid g = integrate(INFINITY);
    assert_int_equal(check_on_grid(&sgfs_model_logistic, "nuts", "dense", "auto", &g), 0);
    assert_int_equal(check_on_grid(&sgfs_model_logistic, "hmc", "diag", "auto", &g), 0);
    free(g.mass);
}

/* ---- trajectories that leave the support, starts outside it, failures ------------------------ */

static const double wall = -7 + 370 * 18.0 / 700; /* on a border of the grid's cells */

/* Logistic regression whose density is not a number beyond a wall. */
static sgfs_status walled_scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                 sgfs_scores *s, double *scratch, sgfs_err *err) {
    sgfs_status status = sgfs_model_logistic.scores(m, theta, b, s, scratch, err);
    if (theta[0] > wall && s->loglik != NULL) s->loglik[0] = NAN;
    return status;
}

/* A trajectory that meets the wall is a divergence and is refused; what is left is exactly the
 * posterior before the wall. (HMC gets its step: adapted to the wall it would creep, with an ESS of
 * 1 % of the draws, too few to be judged by.) */
static void test_divergences_keep_the_law(void **state) {
    (void)state;
    sgfs_model_kind walled = sgfs_model_logistic;
    walled.scores = walled_scores;
    grid g = integrate(wall);
    assert_true(check_on_grid(&walled, "nuts", "diag", "auto", &g) > 100);
    assert_true(check_on_grid(&walled, "hmc", "identity", "0.17", &g) > 100);
    free(g.mass);
}

/* Steps that end where nothing is finite, again and again: the chain stops and says so. */
static void test_a_chain_that_finds_nothing_finite_stops(void **state) {
    (void)state;
    problem q = regression(300, 3, 1.0, 3, 25);
    const setting settings[] = {{"sampler.kind", "nuts"},     {"sampler.metric", "identity"},
                                {"sampler.epsilon", "1e200"}, {"data.intercept", "false"},
                                {"run.warmup", "3"},          {"run.draws", "100"},
                                {"run.chains", "1"},          {NULL, NULL}};
    sgfs_err err = {SGFS_OK, ""};
    sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
    assert_int_equal(sample_all(&s, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "a smaller --epsilon"));
    assert_non_null(
        strstr(err.text, "Chain 1 stopped at iteration 30: 30 trajectories in a row led nowhere"));
    sample_free(&s);
    problem_free(&q);
}

/* A step far too large: every trajectory diverges, the chain stays and says so, nothing stops. */
static void test_divergence_is_counted_and_no_stop(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"};
    problem q = regression(300, 3, 1.0, 3, 25);
    for (int k = 0; k < 2; k++) {
        const setting settings[] = {{"sampler.kind", kinds[k]}, {"sampler.metric", "identity"},
                                    {"sampler.epsilon", "30"},  {"data.intercept", "false"},
                                    {"model.sigma", "1"},       {"run.warmup", "3"},
                                    {"run.draws", "20"},        {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
        assert_int_equal(sample_all(&s, NULL), SGFS_OK);
        assert_int_equal(diverging_in(s.draws), 4 * 20);
        for (int64_t t = 1; t < 20; t++)
            assert_memory_equal(s.draws->chain[1].theta + t * s.draws->D, s.draws->chain[1].theta,
                                (size_t)s.draws->D * sizeof(double));
        sample_free(&s);
    }
    problem_free(&q);
}

/* log_sigma starts within +-2000: exp(-2 log_sigma) overflows for some chain. */
static void test_bad_start_is_an_error(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"};
    problem q = regression(50, 2, 1.0, 2, 26);
    for (int k = 0; k < 2; k++) {
        sgfs_err err;
        const setting settings[] = {{"sampler.kind", kinds[k]}, {"run.init", "2000"}, {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
        assert_int_equal(sample_all(&s, &err), SGFS_ENUMERIC);
        assert_non_null(
            strstr(err.text, "stopped at iteration 1 (warm-up): at the starting point"));
        assert_non_null(strstr(err.text, "is not finite (a smaller --init"));
        assert_null(strstr(err.text, "--batch")); /* no advice that these samplers refuse */
        sample_free(&s);
    }
    problem_free(&q);
}

static int64_t evaluations_left;

static sgfs_status failing_scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                  sgfs_scores *s, double *scratch, sgfs_err *err) {
    if (--evaluations_left < 0) return sgfsi_fail(err, SGFS_EDATA, "the tape is torn");
    return sgfs_model_logistic.scores(m, theta, b, s, scratch, err);
}

/* Errors of any other kind are not divergences: they stop the chain, earlier draws stay. */
static void test_other_errors_pass_on(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"};
    sgfs_model_kind failing = sgfs_model_logistic;
    failing.scores = failing_scores;
    for (int k = 0; k < 2; k++) {
        sgfs_err err;
        const setting settings[] = {{"sampler.kind", kinds[k]}, {"data.intercept", "false"},
                                    {"run.chains", "1"},        {"run.warmup", "50"},
                                    {"run.threads", "1"},       {NULL, NULL}};
        evaluations_left = 2000;
        sampled s = sample_open(&failing, ROWS, 2, few_x, few_y, settings);
        assert_int_equal(sample_all(&s, &err), SGFS_EDATA);
        assert_non_null(strstr(err.text, "the tape is torn"));
        assert_true(s.draws->chain[0].draws > 0);
        sample_free(&s);
    }
}

/* Without a prior a column of zeros has no bound: no step is too large. */
static void test_improper_posterior_is_an_error(void **state) {
    (void)state;
    sgfs_err err;
    problem q = regression(50, 2, 1.0, 1, 27);
    const setting settings[] = {{"sampler.kind", "nuts"},    {"prior.precision", "0"},
                                {"data.intercept", "false"}, {"model.sigma", "1"},
                                {"sampler.metric", "diag"},  {NULL, NULL}};
    sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
    sgfs_status status = sample_all(&s, &err);
    print_message("%d: %s\n", (int)status, status != SGFS_OK ? err.text : "no error");
    assert_int_equal(status, SGFS_ENUMERIC);
    sample_free(&s);
    problem_free(&q);
}

static void expect_refusal(const sgfs_model_kind *kind, const setting *settings, const char *text) {
    sgfs_err err;
    sgfsi_kinds kinds;
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = ROWS, .cols = 2, .x = few_x, .y = few_y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfsi_model_create(kind, data, cfg, NULL, &err);
    assert_non_null(m);
    assert_int_equal(sgfsi_choose_kinds(cfg, NULL, &kinds, &err), SGFS_OK);
    assert_null(sgfsi_run_open(m, cfg, &kinds, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_non_null(strstr(err.text, text));
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_contradictions_are_refused(void **state) {
    (void)state;
    sgfs_model_kind flat = sgfs_model_logistic;
    flat.curvature = NULL;
    const setting fisher[] = {{"sampler.kind", "hmc"}, {"sampler.metric", "fisher"}, {NULL, NULL}};
    expect_refusal(&flat, fisher, "--metric fisher: model");
    const setting both[] = {{"sampler.kind", "nuts"},
                            {"sampler.epsilon", "0.1"},
                            {"sampler.target_accept", "0.9"},
                            {NULL, NULL}};
    expect_refusal(&sgfs_model_logistic, both, "give one of them");
    const setting batch[] = {{"sampler.kind", "nuts"}, {"run.batch", "5"}, {NULL, NULL}};
    expect_refusal(&sgfs_model_logistic, batch, "--batch has no meaning");
}

/* ---- statistics and bits --------------------------------------------------------------------- */

static void check_tree(const double *stats, int64_t max_depth) {
    double depth = stats[3], steps = stats[4];
    assert_true(depth <= (double)max_depth && stats[1] >= 0 && stats[1] <= 1);
    /* whole trees so far, and a further half that may have been cut short */
    assert_true(steps >= exp2(depth) - 1 && steps <= exp2(depth + 1) - 1);
    assert_true(steps <= exp2((double)max_depth) - 1);
}

static void test_statistics(void **state) {
    (void)state;
    static const char *const wanted[] = {"lp",      "acceptance_rate", "step_size", "tree_depth",
                                         "n_steps", "diverging",       "energy"};
    for (int nuts = 0; nuts < 2; nuts++) {
        const setting settings[] = {{"sampler.kind", nuts ? "nuts" : "hmc"},
                                    {"data.intercept", "false"},
                                    {"sampler.metric", "identity"},
                                    {nuts ? "sampler.max_depth" : "sampler.leapfrog", "3"},
                                    {"run.draws", "300"},
                                    {NULL, NULL}};
        sampled s = sample_open(&sgfs_model_logistic, ROWS, 2, few_x, few_y, settings);
        assert_int_equal(sample_all(&s, NULL), SGFS_OK);
        const sgfs_draws *d = s.draws;
        assert_int_equal(d->S, nuts ? 7 : 6);
        for (int64_t k = 0; k < d->S; k++)
            assert_string_equal(d->stat[k], wanted[nuts || k < 3 ? k : k + 1]);
        for (int64_t t = 0; t < d->chain[2].draws; t++) {
            const double *theta = d->chain[2].theta + t * 2, *stats = d->chain[2].stats + t * d->S;
            double lp, G[2];
            assert_int_equal(sgfsi_posterior_full(s.m, theta, &lp, G, NULL, NULL), SGFS_OK);
            assert_near(stats[0], lp, 1e-12, "lp");
            assert_true(stats[d->S - 1] >= -lp); /* energy: kinetic energy is not negative */
            if (nuts) check_tree(stats, 3);
            else assert_true(stats[3] == 3);
        }
        sample_free(&s);
    }
}

/* Same seed, same bits, however many threads share chains and rows. */
static void test_threads_change_no_bit(void **state) {
    (void)state;
    static const char *const kinds[] = {"hmc", "nuts"}, *const threads[] = {"1", "2", "6"};
    problem q = regression(5000, 3, 1.0, 3, 28);
    for (int k = 0; k < 2; k++) {
        double first[40 * 4];
        for (int i = 0; i < 3; i++) {
            const setting settings[] = {{"sampler.kind", kinds[k]},
                                        {"run.threads", threads[i]},
                                        {"data.intercept", "false"},
                                        {"run.chains", "2"},
                                        {"run.warmup", "200"},
                                        {"run.draws", "40"},
                                        {NULL, NULL}};
            sampled s = sample_open(&sgfs_model_linear, q.N, q.D, q.x, q.y, settings);
            assert_int_equal(sample_all(&s, NULL), SGFS_OK);
            assert_int_equal(s.draws->D, 4);
            if (i == 0) memcpy(first, s.draws->chain[1].theta, sizeof first);
            else assert_memory_equal(first, s.draws->chain[1].theta, sizeof first);
            sample_free(&s);
        }
    }
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leapfrog_is_reversible),
        cmocka_unit_test(test_leapfrog_keeps_volume),
        cmocka_unit_test(test_energy_error_is_of_second_order),
        cmocka_unit_test(test_windows_are_stans),
        cmocka_unit_test(test_dual_averaging_finds_the_step),
        cmocka_unit_test(test_a_short_average_does_not_enlarge_the_step),
        cmocka_unit_test(test_metric_is_the_windows_regularised_covariance),
        cmocka_unit_test(test_adaptation_reaches_the_target),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_gaussian_moments),
        cmocka_unit_test(test_jitter_breaks_the_period),
        cmocka_unit_test(test_trajectories_stop_at_the_turn),
        cmocka_unit_test(test_logistic_against_a_grid),
        cmocka_unit_test(test_divergences_keep_the_law),
        cmocka_unit_test(test_divergence_is_counted_and_no_stop),
        cmocka_unit_test(test_a_chain_that_finds_nothing_finite_stops),
        cmocka_unit_test(test_bad_start_is_an_error),
        cmocka_unit_test(test_other_errors_pass_on),
        cmocka_unit_test(test_improper_posterior_is_an_error),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
