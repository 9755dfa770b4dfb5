/* SPDX-License-Identifier: MIT
 * The exact samplers against integration on a grid (two parameters) and against NUTS (ten).
 *
 * The grid: the log posterior, written down here once more for each model, on 221 x 221 points from
 * 11 standard deviations below the mean to 11 above. For functions that vanish at both ends the
 * trapezoidal rule is as good as exact at a tenth of a standard deviation; a coarser grid (every
 * other point) gives the same means to 1e-6 sd, which is checked.
 *
 * What is compared: means, variances, the covariance, third moments, each in units of its own Monte
 * Carlo error (ESS), limit 4.5; and the two marginal distribution functions by Kolmogorov-Smirnov
 * on draws thinned until they are about independent, sqrt(n) sup |F_n - F| < 2.3, which a right
 * sampler exceeds once in 20,000. Nine numbers for each of about a dozen runs: about one false
 * alarm in 300 changes of the seeds, which are fixed.
 *
 * That this can fail: the same comparison, run on draws of the Gaussian at the mode (Laplace), must
 * fail for every rare-event problem.
 */
#include "stat/sampled.h"

enum { GRID = 221, MOST_ROWS = 1000 };
/* By few rows, and by all of them. */
static const char *const ways[] = {"exact-rows", "exact-pairs", "exact-hmc"};
enum { WAYS = sizeof ways / sizeof ways[0] };
static const double reach = 11, most_z = 4.5, most_ks = 2.3;

/* ---- problems of two parameters -------------------------------------------------------------- */

typedef struct small {
    const sgfs_model_kind *kind;
    int64_t N;
    double *x, *y, *w; /* N; w NULL: no weights */
    double lambda, df; /* of the prior; df 0: Gaussian */
    bool intercept;    /* theta = (intercept, slope), else (slope of class 1, of class 2), or */
                       /* (slope, log sigma) */
    double mean[2], var[3], third[2]; /* var: 11, 22, 12; third: central moments */
    double low[2], step[2];
    double F[2][GRID]; /* marginal distribution functions at the grid's points */
} small;

static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double row_density(const small *q, int64_t i, const double *theta) {
    double x = q->x[i], y = q->y[i];
    if (q->kind == &sgfs_model_softmax) {
        double e[3] = {0, theta[0] * x, theta[1] * x}, top = fmax(0, fmax(e[1], e[2]));
        return e[(int)y] - top - log(exp(-top) + exp(e[1] - top) + exp(e[2] - top));
    }
    if (q->kind == &sgfs_model_linear) {
        double r = (y - theta[0] * x) / exp(theta[1]);
        return -theta[1] - r * r / 2;
    }
    double eta = theta[0] + theta[1] * x;
    return q->kind == &sgfs_model_poisson ? y * eta - exp(eta) : y * eta - softplus(eta);
}

static double log_posterior(const small *q, const double *theta) {
    double sum = 0;
    for (int j = 0; j < 2; j++) {
        double u = q->lambda * theta[j] * theta[j];
        sum -= q->df > 0 ? (q->df + 1) / 2 * log(1 + u / q->df) : u / 2;
    }
    for (int64_t i = 0; i < q->N; i++)
        sum += (q->w != NULL ? q->w[i] : 1) * row_density(q, i, theta);
    return sum;
}

/* ---- integration ----------------------------------------------------------------------------- */

/* Moments by every stride-th point of lp (GRID x GRID, less its largest). */
static void integrate(small *q, const double *p, int stride) {
    double sum = 0, m[2] = {0}, v[3] = {0}, t[2] = {0};
    for (int k = 0; k < GRID * GRID; k++) {
        int i = k / GRID, j = k % GRID;
        if (i % stride != 0 || j % stride != 0) continue;
        sum += p[k];
        m[0] += p[k] * (q->low[0] + i * q->step[0]);
        m[1] += p[k] * (q->low[1] + j * q->step[1]);
    }
    for (int a = 0; a < 2; a++) q->mean[a] = m[a] / sum;
    for (int k = 0; k < GRID * GRID; k++) {
        int i = k / GRID, j = k % GRID;
        if (i % stride != 0 || j % stride != 0) continue;
        double a = q->low[0] + i * q->step[0] - q->mean[0],
               b = q->low[1] + j * q->step[1] - q->mean[1];
        v[0] += p[k] * a * a, v[1] += p[k] * b * b, v[2] += p[k] * a * b;
        t[0] += p[k] * a * a * a, t[1] += p[k] * b * b * b;
    }
    for (int a = 0; a < 3; a++) q->var[a] = v[a] / sum;
    for (int a = 0; a < 2; a++) q->third[a] = t[a] / sum;
}

/* Sums of the marginal up to each point, the last point counting half. */
static void accumulate(small *q, const double *p) {
    double total = 0;
    for (int k = 0; k < GRID * GRID; k++) total += p[k];
    for (int a = 0; a < 2; a++) {
        double below = 0;
        for (int i = 0; i < GRID; i++) {
            double here = 0;
            for (int j = 0; j < GRID; j++) here += a == 0 ? p[i * GRID + j] : p[j * GRID + i];
            q->F[a][i] = (below + here / 2) / total;
            below += here;
        }
    }
}

static void fill(const small *q, double *p) {
    double top = -INFINITY;
    for (int k = 0; k < GRID * GRID; k++) {
        double theta[2] = {q->low[0] + k / GRID * q->step[0], q->low[1] + k % GRID * q->step[1]};
        p[k] = log_posterior(q, theta);
        top = fmax(top, p[k]);
    }
    for (int k = 0; k < GRID * GRID; k++) p[k] = exp(p[k] - top);
}

/* A rough grid finds mean and spread, the fine one is laid about them. */
static void solve(small *q, const double *middle, const double *spread) {
    double *p = need(GRID * GRID, sizeof *p), size[2] = {spread[0], spread[1]};
    memcpy(q->mean, middle, sizeof q->mean);
    for (int round = 0; round < 2; round++) {
        for (int a = 0; a < 2; a++) {
            q->low[a] = q->mean[a] - reach * size[a];
            q->step[a] = 2 * reach * size[a] / (GRID - 1);
        }
        fill(q, p);
        integrate(q, p, 1);
        for (int a = 0; a < 2; a++) size[a] = sqrt(q->var[a]);
    }
    small coarse = *q;
    integrate(&coarse, p, 2);
    for (int a = 0; a < 2; a++) {
        assert_true(fabs(coarse.mean[a] - q->mean[a]) < 1e-6 * size[a]);
        assert_true(fabs(coarse.var[a] / q->var[a] - 1) < 1e-6);
    }
    accumulate(q, p);
    free(p);
}

/* F between the points: the cubic through four of them. */
static double F_at(const small *q, int a, double x) {
    double s = (x - q->low[a]) / q->step[a];
    if (s < 2) return 0;
    if (s > GRID - 3) return 1;
    int i = (int)s;
    double t = s - i;
    const double *f = q->F[a] + i;
    return f[0] + t * (f[1] - f[0]) -
           t * (1 - t) / 6 *
               ((2 - t) * (f[-1] - 2 * f[0] + f[1]) + (1 + t) * (f[0] - 2 * f[1] + f[2]));
}

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct ask {
    const small *q;
    int a, b, power; /* (theta_a - mean_a)^power, or a product where b >= 0 */
} ask;

static double moment(const double *theta, const double *stats, const void *about) {
    const ask *k = about;
    double x = theta[k->a] - k->q->mean[k->a];
    (void)stats;
    if (k->b >= 0) return x * (theta[k->b] - k->q->mean[k->b]);
    return k->power == 1 ? x : k->power == 2 ? x * x : x * x * x;
}

static double worst_z(const small *q, const sgfs_draws *d) {
    const struct {
        ask what;
        double truth;
    } all[] = {{{q, 0, -1, 1}, 0},          {{q, 1, -1, 1}, 0},        {{q, 0, -1, 2}, q->var[0]},
               {{q, 1, -1, 2}, q->var[1]},  {{q, 0, 1, 0}, q->var[2]}, {{q, 0, -1, 3}, q->third[0]},
               {{q, 1, -1, 3}, q->third[1]}};
    double worst = 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        worst = fmax(worst, fabs(z_of(d, moment, &all[k].what, all[k].truth)));
    return worst;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) sup |F_n - F| of every thin-th draw of all chains, the larger of the two. */
static double worst_ks(const small *q, const sgfs_draws *d, int64_t thin) {
    double worst = 0, *x = need((size_t)(d->chains * d->chain[0].draws), sizeof *x);
    for (int a = 0; a < 2; a++) {
        int64_t n = 0;
        for (int64_t c = 0; c < d->chains; c++)
            for (int64_t t = 0; t < d->chain[c].draws; t += thin)
                x[n++] = d->chain[c].theta[t * 2 + a];
        qsort(x, (size_t)n, sizeof *x, ascending);
        double gap = 0;
        for (int64_t i = 0; i < n; i++) {
            double F = F_at(q, a, x[i]);
            gap = fmax(gap, fmax((double)(i + 1) / (double)n - F, F - (double)i / (double)n));
        }
        worst = fmax(worst, sqrt((double)n) * gap);
    }
    free(x);
    return worst;
}

typedef struct verdict {
    double z, ks, accept, rows, tau, distance;
} verdict;

static double mean_of(const sgfs_draws *d, const char *stat) {
    int64_t k = stat_at(d, stat);
    double sum = 0;
    for (int64_t c = 0; c < d->chains; c++)
        for (int64_t t = 0; t < d->chain[c].draws; t++) sum += d->chain[c].stats[t * d->S + k];
    return sum / (double)(d->chains * d->chain[0].draws);
}

static void print_errors(const small *q, const sgfs_draws *d, const char *what, const verdict *v) {
    double mean[2] = {0}, cov[3] = {0}, T = (double)(d->chains * d->chain[0].draws);
    for (int64_t c = 0; c < d->chains; c++) {
        for (int64_t t = 0; t < d->chain[c].draws; t++) {
            const double *x = d->chain[c].theta + 2 * t;
            double a = x[0] - q->mean[0], b = x[1] - q->mean[1];
            mean[0] += a / T, mean[1] += b / T;
            cov[0] += a * a / T, cov[1] += b * b / T, cov[2] += a * b / T;
        }
    }
    double E1 = (fabs(mean[0]) + fabs(mean[1])) / (fabs(q->mean[0]) + fabs(q->mean[1]));
    double E2 =
        (fabs(cov[0] - q->var[0]) + fabs(cov[1] - q->var[1]) + 2 * fabs(cov[2] - q->var[2])) /
        (q->var[0] + q->var[1] + 2 * fabs(q->var[2]));
    print_message(
        "%-34s E1 %.5f E2 %.4f worst z %5.1f KS %5.2f accepted %.3f rows %6.1f tau %.2f\n", what,
        E1, E2, v->z, v->ks, v->accept, v->rows, v->tau);
}

static verdict judge_draws(const small *q, const sampled *s, const char *what) {
    const sgfs_draws *d = s->draws;
    const char *sampler = sgfsi_config_text(s->cfg, "sampler.kind");
    bool exact = strcmp(sampler, "laplace") != 0, few = strcmp(sampler, "exact-rows") == 0,
         hmc = strcmp(sampler, "exact-hmc") == 0;
    double longest = 1;
    for (int a = 0; a < 2; a++) {
        const ask mean = {q, a, -1, 1}, square = {q, a, -1, 2};
        estimate e = estimate_of(d, moment, &mean), f = estimate_of(d, moment, &square);
        double T = (double)(d->chains * d->chain[0].draws);
        longest = fmax(longest, T / fmin(e.ess, f.ess));
    }
    int64_t thin = longest < 1.02 ? 1 : (int64_t)ceil(3 * longest); /* correlations below 0.05 */
    verdict v = {.z = worst_z(q, d),
                 .ks = worst_ks(q, d, thin),
                 .accept = hmc     ? mean_of(d, "acceptance_rate")
                           : exact ? mean_of(d, "accept")
                                   : 1,
                 .rows = few ? mean_of(d, "rows") : 0,
                 .tau = longest,
                 .distance = exact ? s->run->chain[0].sampler.anchor->distance : 0};
    print_errors(q, d, what, &v);
    return v;
}

static verdict run_small(const small *q, const setting *own, const char *what) {
    setting all[24] = {{"run.chains", "4"},           {"run.warmup", "500"},
                       {"run.draws", "20000"},        {"run.thin", "1"},
                       {"run.threads", "1"},          {"run.seed", "3"},
                       {"sampler.kind", "exact-rows"}};
    char lambda[32], df[32];
    int n = 7;
    sgfs_err err;
    snprintf(lambda, sizeof lambda, "%.17g", q->lambda);
    snprintf(df, sizeof df, "%.17g", q->df);
    all[n++] = (setting){"prior.precision", lambda};
    if (q->df > 0) all[n++] = (setting){"prior.kind", "student-t"};
    if (q->df > 0) all[n++] = (setting){"prior.df", df};
    if (!q->intercept) all[n++] = (setting){"data.intercept", "false"};
    for (; own != NULL && own->key != NULL; own++) all[n++] = *own;
    all[n] = (setting){NULL, NULL};
    sampled s = sample_open_weighted(q->kind, q->N, 1, q->x, q->y, q->w, all);
    if (sample_all(&s, &err) != SGFS_OK) fail_msg("%s: %s", what, err.text);
    verdict v = judge_draws(q, &s, what);
    sample_free(&s);
    return v;
}

static void assert_right(const verdict *v) {
    assert_true(v->z < most_z);
    assert_true(v->ks < most_ks);
}

/* A right run of that sampler. */
static verdict run_right(const small *q, const setting *own, const char *sampler,
                         const char *what) {
    setting all[8] = {{"sampler.kind", sampler}};
    for (int n = 1; own != NULL && own->key != NULL; own++) all[n++] = *own;
    verdict v = run_small(q, all, what);
    assert_right(&v);
    return v;
}

/* ---- data ------------------------------------------------------------------------------------ */

static small make(const sgfs_model_kind *kind, int64_t N, double lambda) {
    small q = {.kind = kind, .N = N, .lambda = lambda, .intercept = true};
    q.x = need((size_t)N, sizeof *q.x);
    q.y = need((size_t)N, sizeof *q.y);
    return q;
}

static void drop(small *q) {
    free(q->x);
    free(q->y);
    free(q->w);
}

/* About one row in `rare` is positive. */
static small rare_events(int64_t N, double intercept, uint64_t seed) {
    small q = make(&sgfs_model_logistic, N, 0.1385);
    sgfsi_stream s = sgfsi_stream_at(seed, 0, 0, SGFSI_FEATURES);
    double positive = 0;
    for (int64_t i = 0; i < N; i++) {
        double u[2];
        sgfsi_normals(&s, 1, &q.x[i]);
        sgfsi_uniforms(&s, 1, u);
        q.y[i] = u[0] < 1 / (1 + exp(-(intercept + 0.8 * q.x[i])));
        positive += q.y[i];
    }
    const double middle[2] = {intercept, 0.8}, spread[2] = {2 / sqrt(positive), 2 / sqrt(positive)};
    print_message("%lld rows, %.0f positive\n", (long long)N, positive);
    assert_true(positive >= 10);
    solve(&q, middle, spread);
    return q;
}

/* ---- 1: rare events -------------------------------------------------------------------------- */

static void test_exact_where_laplace_fails(void **state) {
    (void)state;
    static const struct {
        int64_t N;
        double intercept;
        uint64_t seed;
    } problems[] = {{100, -2.6, 1}, {300, -3, 1}, {1000, -3.6, 1}};
    const setting longer[] = {{"run.draws", "50000"}, {NULL, NULL}};
    const setting laplace[] = {{"sampler.kind", "laplace"}, {"run.warmup", "0"}, {NULL, NULL}};
    for (size_t k = 0; k < 3; k++) {
        small q = rare_events(problems[k].N, problems[k].intercept, problems[k].seed);
        for (int w = 0; w < WAYS; w++) run_right(&q, longer, ways[w], ways[w]);
        verdict v = run_small(&q, laplace, "laplace");
        assert_true(v.z > 2 * most_z && v.ks > 2 * most_ks);
        drop(&q);
    }
}

/* ---- 2: the same law in other ways ----------------------------------------------------------- */

static void test_the_law_does_not_depend_on_the_way(void **state) {
    (void)state;
    const setting runs[] = {{"sampler.psi_entries", "20"}, {NULL, NULL}};
    const setting far[] = {{"sampler.anchor_tolerance", "1"}, {NULL, NULL}};
    const setting steps[] = {{"sampler.rho", "0.6"}, {NULL, NULL}};
    small q = rare_events(300, -3, 1);
    verdict rows = run_small(&q, NULL, "rows"), v = run_small(&q, runs, "runs of 16 rows");
    assert_right(&v);
    assert_true(v.rows > 1.2 * rows.rows);
    v = run_small(&q, far, "an anchor off the mode");
    assert_true(v.distance > 0.1);
    assert_right(&v);
    v = run_small(&q, steps, "rho 0.6");
    assert_right(&v);
    drop(&q);
}

/* Rows that were marked in one scan before the chains began, also where hardly a move is short
 * enough for the marks. */
static void test_marked_rows_give_the_same_law(void **state) {
    (void)state;
    const char *const within[] = {"0.999", "0.8", "0.6"};
    small q = rare_events(300, -3, 1);
    double before = 1;
    for (size_t k = 0; k < 3; k++) {
        const setting scan[] = {{"sampler.scan", "on"},
                                {"sampler.within", within[k]},
                                {"run.draws", "200000"},
                                {NULL, NULL}};
        verdict v = run_small(&q, scan, within[k]);
        assert_right(&v);
        assert_true(v.accept < before);
        before = v.accept;
    }
    drop(&q);
}

/* ---- 3: weights and priors ------------------------------------------------------------------- */

static void test_weights_count(void **state) {
    (void)state;
    const double middle[2] = {-2.5, 0.8}, spread[2] = {0.5, 0.5};
    small q = rare_events(300, -3, 1);
    q.w = need(300, sizeof *q.w);
    for (int64_t i = 0; i < 300; i++) q.w[i] = (double)(i % 4) * 0.75;
    solve(&q, middle, spread);
    for (int w = 0; w < WAYS; w++) run_right(&q, NULL, ways[w], "weights 0 to 2.25");
    drop(&q);
}

static void test_priors_that_are_no_parabola(void **state) {
    (void)state;
    const double middle[2] = {-2, 0.6}, spread[2] = {0.5, 0.5};
    small q = rare_events(100, -2.6, 1);
    q.lambda = 4.385; /* strong enough to matter */
    q.df = 2.5;
    solve(&q, middle, spread);
    for (int w = 0; w < WAYS; w++) run_right(&q, NULL, ways[w], "student-t prior");
    drop(&q);
}

/* ---- 4: other models ------------------------------------------------------------------------- */

static void test_other_models(void **state) {
    (void)state;
    sgfsi_stream s = sgfsi_stream_at(9, 0, 0, SGFSI_FEATURES);
    small poisson = make(&sgfs_model_poisson, 40, 0.5),
          softmax = make(&sgfs_model_softmax, 60, 0.3), linear = make(&sgfs_model_linear, 12, 0.7);
    softmax.intercept = linear.intercept = false;
    for (int64_t i = 0; i < 60; i++) {
        double u[2], x, noise;
        sgfsi_normals(&s, 1, &x);
        sgfsi_normals(&s, 1, &noise);
        sgfsi_uniforms(&s, 1, u);
        softmax.x[i] = 1.5 * x;
        softmax.y[i] = u[0] < 0.5 ? (double)(i % 3) : x > 0.8 ? 2 : x > 0 ? 1 : 0;
        if (i < 40) poisson.x[i] = x;
        if (i < 40) poisson.y[i] = floor(2 * u[0] * exp(-0.7 + 0.5 * x));
        if (i < 12) linear.x[i] = x, linear.y[i] = 0.6 * x + 0.9 * noise;
    }
    const double p0[2] = {-0.7, 0.5}, s0[2] = {0.3, 0.3}, l0[2] = {0.6, -0.1};
    solve(&poisson, p0, s0);
    solve(&softmax, p0, s0);
    solve(&linear, l0, s0);
    const setting reference[] = {{"model.reference_class", "0"}, {NULL, NULL}};
    for (int w = 0; w < WAYS; w++) {
        run_right(&poisson, NULL, ways[w], "poisson");
        run_right(&softmax, reference, ways[w], "softmax, three classes");
        verdict v = run_right(&linear, NULL, ways[w], "linear, unknown sigma");
        assert_true(v.rows == 0);
        assert_true(v.tau < 200); /* 734 without moves that walk back from a tail, 42 with them */
    }
    drop(&poisson);
    drop(&softmax);
    drop(&linear);
}

/* ---- 5: ten parameters, against NUTS --------------------------------------------------------- */

typedef struct pick {
    int64_t j;
    double centre;
    int power;
} pick;

static double power_of(const double *theta, const double *stats, const void *about) {
    const pick *k = about;
    double x = theta[k->j] - k->centre;
    (void)stats;
    return k->power == 1 ? x : k->power == 2 ? x * x : x * x * x;
}

static sampled draw_ten(const double *x, const double *y, const char *sampler, const char *draws,
                        const char *prior) {
    const setting all[] = {{"run.chains", "4"},
                           {"run.warmup", "500"},
                           {"run.draws", draws},
                           {"run.threads", "1"},
                           {"run.thin", "1"},
                           {"run.seed", "8"},
                           {"sampler.kind", sampler},
                           {"prior.kind", prior},
                           {"prior.precision", "0.385"},
                           {NULL, NULL}};
    sgfs_err err;
    sampled s = sample_open(&sgfs_model_logistic, 400, 9, x, y, all);
    if (sample_all(&s, &err) != SGFS_OK) fail_msg("%s", err.text);
    return s;
}

enum { TEN_ROWS = 400, TEN_COLUMNS = 9 };

/* Rows with about one positive in seven. */
static void make_ten(double *x, double *y) {
    sgfsi_stream s = sgfsi_stream_at(4, 0, 0, SGFSI_FEATURES);
    for (int64_t i = 0; i < TEN_ROWS; i++) {
        double u[2], eta = -2.2;
        sgfsi_normals(&s, TEN_COLUMNS, x + i * TEN_COLUMNS);
        sgfsi_uniforms(&s, 1, u);
        for (int j = 0; j < TEN_COLUMNS; j++)
            eta += x[i * TEN_COLUMNS + j] * (j % 2 == 0 ? 0.4 : -0.3);
        y[i] = u[0] < 1 / (1 + exp(-eta));
    }
}

/* The worst of first, second and third moments, in errors of both. */
static double worst_between(const sgfs_draws *one, const sgfs_draws *other) {
    double worst = 0;
    for (int64_t j = 0; j <= TEN_COLUMNS; j++) {
        for (int power = 1; power <= 3; power++) {
            pick k = {j, one->chain[0].info.mean[j], power};
            estimate a = estimate_of(one, power_of, &k), b = estimate_of(other, power_of, &k);
            double na = fmin(a.ess, (double)(one->chains * one->chain[0].draws)),
                   nb = fmin(b.ess, (double)(other->chains * other->chain[0].draws));
            double error = sqrt(a.sd * a.sd / na + b.sd * b.sd / nb);
            worst = fmax(worst, fabs(a.mean - b.mean) / error);
        }
    }
    return worst;
}

/* 30 comparisons at 4.5 each: a false alarm in 5,000. Laplace's draws must be far off. */
static void test_ten_parameters_like_nuts(void **state) {
    (void)state;
    static double x[TEN_ROWS * TEN_COLUMNS], y[TEN_ROWS];
    static const char *const others[] = {"exact-rows", "exact-pairs", "laplace"};
    make_ten(x, y);
    sampled nuts = draw_ten(x, y, "nuts", "6000", "gaussian");
    for (int o = 0; o < 3; o++) {
        sampled other = draw_ten(x, y, others[o], "40000", "gaussian");
        double worst = worst_between(nuts.draws, other.draws);
        print_message("%s: worst z against nuts %.2f\n", others[o], worst);
        assert_true(o < 2 ? worst < most_z : worst > 3 * most_z);
        sample_free(&other);
    }
    sample_free(&nuts);
}

/* A prior with a kink has no anchor: proposals come from a Gaussian prior of the same variance. */
static void test_a_prior_with_a_kink(void **state) {
    (void)state;
    static double x[TEN_ROWS * TEN_COLUMNS], y[TEN_ROWS];
    make_ten(x, y);
    sampled nuts = draw_ten(x, y, "nuts", "12000", "laplace"),
            pairs = draw_ten(x, y, "exact-pairs", "40000", "laplace");
    double worst = worst_between(nuts.draws, pairs.draws);
    print_message("laplace prior: worst z against nuts %.2f, accepted %.3f\n", worst,
                  mean_of(pairs.draws, "accept"));
    assert_true(worst < most_z);
    sample_free(&nuts);
    sample_free(&pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_where_laplace_fails),
        cmocka_unit_test(test_marked_rows_give_the_same_law),
        cmocka_unit_test(test_the_law_does_not_depend_on_the_way),
        cmocka_unit_test(test_weights_count),
        cmocka_unit_test(test_priors_that_are_no_parabola),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_ten_parameters_like_nuts),
        cmocka_unit_test(test_a_prior_with_a_kink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
