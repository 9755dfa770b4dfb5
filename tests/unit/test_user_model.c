/* SPDX-License-Identifier: MIT
 * test_user_model.c: models of the user's own: the example's mathematics, the posterior against a
 * grid, a callback that is a built-in model, priors, and every way a callback can fail.
 *
 * Means must lie within 5 Monte Carlo standard errors of the truth (one false alarm in 1.7 million
 * for each), standard deviations within 10 % at an ESS of 2,000 or more, asserted: their error is
 * then at most 1.6 %, a little more for tails that are not a Gaussian's, so 10 % is beyond 5 of it.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "chain/run.h"
#include "diagnostics/summary.h"
#include "jobs/tune/heldout_loss.h"
#include "model/user.h"
#include "posterior/posterior.h"
#include "tools/check.h"

static const char example[] = "../examples/student_t.so"; /* tests run in build/tests */

typedef struct bench {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

static void set(bench *b, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(b->cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static bench wrap(int64_t rows, int64_t cols, const double *x, const double *y) {
    bench b = {.cfg = sgfs_config_new()};
    sgfs_err err;
    sgfs_arrays arrays = {.rows = rows, .cols = cols, .x = x, .y = y};
    b.data = sgfs_data_wrap(&arrays, b.cfg, &err);
    if (b.data == NULL) fail_msg("%s", err.text);
    return b;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

static void open_example(bench *b) {
    sgfs_err err;
    b->m = sgfs_model_open(example, b->data, b->cfg, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
}

static void open_calls(bench *b, const sgfs_user_model *calls) {
    sgfs_err err;
    b->m = sgfs_model_user(calls, b->data, b->cfg, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
}

static void assert_says(const char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

/* ---- the example's mathematics --------------------------------------------------------------- */

enum { ROWS = 40, COLS = 2, DIM = 4 };

/* Densities (n) and scores (n x D; may be NULL) of rows with the intercept in front. */
static void look(const sgfs_model *m, const double *theta, int64_t n, const double *x,
                 const double *y, double *loglik, double *score) {
    sgfs_err err;
    sgfs_batch b = {.n = n, .p = m->data->p, .x = x, .y = y, .total = (double)n, .gamma = 1};
    sgfs_score_block block = {.rows = 1, .cols = m->D, .dense = score};
    sgfs_scores s = {
        .n = n, .D = m->D, .blocks = 1, .block = score != NULL ? &block : NULL, .loglik = loglik};
    if (m->kind->scores(m, theta, &b, &s, NULL, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static double X[ROWS * COLS], Y[ROWS], design[ROWS * (COLS + 1)];
static const double place[DIM] = {0.385, -1.21, 0.67, -0.43};

static bench example_on_rows(void) {
    uint64_t seed = 417;
    for (int i = 0; i < ROWS; i++) {
        design[3 * i] = 1;
        design[3 * i + 1] = X[2 * i] = next_normal(&seed);
        design[3 * i + 2] = X[2 * i + 1] = 3 * next_normal(&seed);
        Y[i] = 0.6 * X[2 * i] + next_normal(&seed) * (i % 9 == 0 ? 30 : 1);
    }
    bench b = wrap(ROWS, COLS, X, Y);
    open_example(&b);
    return b;
}

/* Central differences with h = 1e-5 are off by h^2/6 of third derivatives of order 1 to 10^3 (a
 * column of size 3 over sigma = 0.65, cubed) and by rounding/h: some 1e-8 and 1e-10. */
static void test_scores_are_the_gradient(void **state) {
    (void)state;
    bench b = example_on_rows();
    double up[ROWS], down[ROWS], score[ROWS * DIM], alone[ROWS];
    assert_int_equal(sgfs_model_dim(b.m), DIM);
    look(b.m, place, ROWS, design, Y, alone, NULL);
    look(b.m, place, ROWS, design, Y, up, score);
    assert_memory_equal(alone, up, sizeof up);
    for (int j = 0; j < DIM; j++) {
        double theta[DIM], h = 1e-5;
        memcpy(theta, place, sizeof theta);
        theta[j] = place[j] + h;
        look(b.m, theta, ROWS, design, Y, up, NULL);
        theta[j] = place[j] - h;
        look(b.m, theta, ROWS, design, Y, down, NULL);
        for (int i = 0; i < ROWS; i++) {
            double wanted = (up[i] - down[i]) / (2 * h), got = score[i * DIM + j];
            assert_near(got, wanted, 1e-6 * (1 + fabs(wanted)), sgfs_model_param(b.m, j));
        }
    }
    close_bench(&b);
}

/* With y = eta + 2 sigma sinh(v) the integrand falls as exp(-4 |v|) and has no pole nearer than
 * pi/2 to the line: steps of 0.05 out to 12 leave nothing but rounding. */
static void test_the_density_integrates_to_one(void **state) {
    (void)state;
    bench b = example_on_rows();
    double sum = 0, sigma = exp(place[3]), h = 0.05;
    double eta = place[0] + place[1] * design[1] + place[2] * design[2];
    for (int k = -240; k <= 240; k++) {
        double loglik, y = eta + 2 * sigma * sinh(k * h);
        look(b.m, place, 1, design, &y, &loglik, NULL);
        sum += exp(loglik) * 2 * sigma * cosh(k * h) * h;
    }
    assert_near(sum, 1, 1e-12, "integral");
    close_bench(&b);
}

/* The distribution function of t with 4 degrees of freedom undoes what `draw` does. */
static void test_draws_have_the_models_distribution(void **state) {
    (void)state;
    bench b = example_on_rows();
    double normal[ROWS], uniform[ROWS], y[ROWS], mean[ROWS];
    for (int i = 0; i < ROWS; i++) {
        normal[i] = NAN; /* the example needs none */
        uniform[i] = (i + 0.385) / ROWS;
    }
    sgfs_batch rows = {.n = ROWS, .p = COLS + 1, .x = design, .total = ROWS, .gamma = 1};
    b.m->kind->resample(b.m, place, &rows, normal, uniform, y);
    b.m->kind->predict(b.m, place, &rows, mean, NULL);
    for (int i = 0; i < ROWS; i++) {
        double eta = place[0] + place[1] * design[3 * i + 1] + place[2] * design[3 * i + 2];
        double t = (y[i] - eta) / exp(place[3]), s = t / sqrt(1 + t * t / 4);
        assert_near(0.5 + 0.375 * s * (1 - s * s / 12), uniform[i], 1e-12, "F(draw(u))");
        assert_near(mean[i], eta, 1e-13 * (1 + fabs(eta)), "mean");
    }
    close_bench(&b);
}

/* ---- its posterior --------------------------------------------------------------------------- */

/* log posterior of location and log scale, written down once more. */
static double density(const double *y, int n, double mu, double s) {
    double sum = -0.5 * (mu * mu + s * s);
    for (int i = 0; i < n; i++) {
        double z = (y[i] - mu) * exp(-s);
        sum += -s - 2.5 * log(1 + 0.25 * z * z);
    }
    return sum;
}

/* Means and sds of (mu, s) on a grid far beyond the posterior: the trapezoidal rule. */
static void integrate(const double *y, int n, double mean[2], double sd[2]) {
    enum { POINTS = 400 };
    double top = -INFINITY, sums[5] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int a = 0; a < POINTS * POINTS; a++) {
            double mu = -2 + 4.0 * (a / POINTS) / POINTS, s = -3 + 4.0 * (a % POINTS) / POINTS;
            double lp = density(y, n, mu, s), w = pass == 1 ? exp(lp - top) : 0;
            if (pass == 0) top = fmax(top, lp);
            const double part[5] = {w, w * mu, w * s, w * mu * mu, w * s * s};
            for (int k = 0; k < 5; k++) sums[k] += part[k];
        }
    }
    for (int j = 0; j < 2; j++) {
        mean[j] = sums[1 + j] / sums[0];
        sd[j] = sqrt(sums[3 + j] / sums[0] - mean[j] * mean[j]);
    }
}

static void test_nuts_finds_the_posterior(void **state) {
    (void)state;
    enum { n = 30 };
    uint64_t seed = 99;
    double y[n], mean[2], sd[2];
    for (int i = 0; i < n; i++) y[i] = 0.4 + 0.5 * next_normal(&seed) + (i % 10 == 3 ? 7 : 0);
    bench b = wrap(n, 0, y, y); /* no columns but the intercept */
    sgfs_err err;
    set(&b, "sampler.kind", "nuts");
    set(&b, "run.chains", "2");
    set(&b, "run.draws", "3000");
    open_example(&b);
    sgfs_run *run = sgfs_run_open(b.m, b.cfg, &err);
    if (sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_summary *s = sgfsi_summary_new(draws, 2, &err);
    assert_non_null(s);
    integrate(y, n, mean, sd);
    assert_string_equal(s->row[0].name, "intercept");
    assert_string_equal(s->row[1].name, "log_sigma");
    assert_true(s->ess_min > 2000);
    for (int j = 0; j < 2; j++) {
        assert_near(s->row[j].mean, mean[j], 5 * s->row[j].mcse, "mean");
        assert_near(s->row[j].sd / sd[j], 1, 0.1, "sd");
    }
    sgfsi_summary_free(s);
    sgfs_draws_free(draws);
    sgfs_run_free(run);
    close_bench(&b);
}

/* ---- a built-in model as callbacks ----------------------------------------------------------- */

static int64_t same_dim(int64_t cols, void *user) {
    (void)user;
    return cols;
}

static int logistic_scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                           void *user) {
    (void)user;
    for (int64_t i = 0; i < r->n; i++) {
        const double *x = r->x + i * r->cols;
        double eta = 0;
        for (int64_t j = 0; j < r->cols; j++) eta += x[j] * theta[j];
        double p = 1 / (1 + exp(-eta));
        if (loglik != NULL) loglik[i] = log(r->y[i] > 0 ? p : 1 - p);
        for (int64_t j = 0; score != NULL && j < r->cols; j++)
            score[i * r->cols + j] = (r->y[i] - p) * x[j];
    }
    return 0;
}

static int gaussian_prior(const double *theta, int64_t dim, double *lp, double *grad, void *user) {
    (void)user;
    if (lp != NULL) *lp = 0;
    for (int64_t j = 0; j < dim; j++) {
        if (lp != NULL) *lp -= 0.5 * 2.5 * theta[j] * theta[j];
        if (grad != NULL) grad[j] = -2.5 * theta[j];
    }
    return 0;
}

/* Same density, same gradient, and with a prior of its own the same posterior, too. */
static void test_callbacks_can_be_a_built_in_model(void **state) {
    (void)state;
    enum { n = 300 };
    uint64_t seed = 5;
    double x[2 * n], y[n], theta[3] = {0.3, -0.7, 0.45}, lp[3], G[3][3];
    for (int i = 0; i < 2 * n; i++) x[i] = next_normal(&seed);
    for (int i = 0; i < n; i++) y[i] = next_normal(&seed) < x[2 * i] ? 1 : 0;
    sgfs_user_model calls = {
        .size = sizeof calls, .name = "mine", .dim = same_dim, .scores = logistic_scores};
    for (int k = 0; k < 3; k++) {
        bench b = wrap(n, 2, x, y);
        sgfs_err err;
        if (k < 2) set(&b, "prior.precision", "2.5");
        calls.log_prior = k == 2 ? gaussian_prior : NULL;
        if (k == 0) b.m = sgfs_model_open("logistic", b.data, b.cfg, &err);
        else open_calls(&b, &calls);
        assert_non_null(b.m);
        assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp[k], G[k], NULL, &err), SGFS_OK);
        for (int j = 0; j < 3; j++) {
            assert_near(G[k][j], G[0][j], 1e-11 * n, "gradient");
            assert_near(b.m->precision[j], 2.5, 1e-12, "precision of the prior");
        }
        assert_near(lp[k], lp[0], 1e-11 * n, "log density");
        if (k > 0) assert_string_equal(sgfs_model_param(b.m, 2), "theta[3]");
        close_bench(&b);
    }
}

static void test_a_prior_of_its_own_leaves_no_room_for_options(void **state) {
    (void)state;
    bench b = example_on_rows();
    sgfs_err err;
    sgfs_user_model calls = {.size = sizeof calls,
                             .dim = same_dim,
                             .scores = logistic_scores,
                             .log_prior = gaussian_prior};
    set(&b, "prior.precision", "2");
    assert_null(sgfs_model_user(&calls, b.data, b.cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_says(err.text, "prior of its own: leave out --prior-precision");
    close_bench(&b);
}

/* ---- models that cannot be opened ------------------------------------------------------------ */

static int64_t no_dim(int64_t cols, void *user) {
    (void)cols;
    (void)user;
    return 0;
}

static void all_alike(int64_t j, int64_t cols, const char *const *column, char *out, size_t room,
                      void *user) {
    (void)j;
    (void)user;
    snprintf(out, room, "%s", column[cols - 1]);
}

static int bad_start(const sgfs_rows *r, int64_t dim, double *theta, double *spread, void *user) {
    const int *code = user;
    assert_int_equal(r->n, ROWS);
    assert_true(r->x[0] == 1 && r->y[3] == Y[3] && spread[dim - 1] == 1 && theta[0] == 0);
    spread[1] = -0.5;
    return *code;
}

static void test_models_that_cannot_be_opened(void **state) {
    (void)state;
    bench b = example_on_rows();
    int ok = 0, six = 6;
    const sgfs_user_model good = {
        .size = sizeof good, .dim = same_dim, .scores = logistic_scores, .start = NULL};
    sgfs_user_model bad[10];
    for (int i = 0; i < 10; i++) bad[i] = good;
    bad[0].size = 0;
    bad[1].size = offsetof(sgfs_user_model, user);
    bad[2].size = sizeof good + sizeof(void *);
    bad[3].dim = NULL;
    bad[4].scores = NULL;
    bad[5].dim = no_dim;
    bad[6].param_name = all_alike;
    bad[7].start = bad[8].start = bad_start;
    bad[7].user = &ok;
    bad[8].user = &six;
    bad[9].name = "linear";
    const struct {
        sgfs_status code;
        const char *says;
    } wanted[10] = {{SGFS_EDATA, "`size` of the sgfs_user_model is 0"},
                    {SGFS_EDATA, "build with this version's sgfs.h"},
                    {SGFS_EDATA, "newer sgfs"},
                    {SGFS_EDATA, "has no `dim`"},
                    {SGFS_EDATA, "has no `scores`"},
                    {SGFS_EDATA, "says 0 parameters for rows of 3 columns"},
                    {SGFS_EDATA, "two parameters would be called \"x2\""},
                    {SGFS_ENUMERIC, "`start` of model user says that the spread of parameter 2"},
                    {SGFS_EDATA, "`start` of model user returned error 6"},
                    {SGFS_EUSAGE, "\"linear\" is the name of a built-in model"}};
    for (int i = 0; i < 10; i++) {
        sgfs_err err = {SGFS_OK, ""};
        assert_null(sgfs_model_user(&bad[i], b.data, b.cfg, &err));
        if (err.code != wanted[i].code) fail_msg("case %d: %d, %s", i, (int)err.code, err.text);
        assert_says(err.text, wanted[i].says);
        assert_null(sgfs_model_user(&bad[i], b.data, b.cfg, NULL));
    }
    sgfs_err err = {SGFS_OK, ""};
    assert_null(sgfs_model_user(NULL, b.data, b.cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    err = (sgfs_err){SGFS_EIO, "the data are gone"};
    assert_null(sgfs_model_user(&good, NULL, b.cfg, &err));
    assert_string_equal(err.text, "the data are gone");
    err = (sgfs_err){SGFS_OK, ""};
    assert_null(sgfs_model_open(example, NULL, b.cfg, &err)); /* a look at the file alone */
    assert_int_equal(err.code, SGFS_OK);
    close_bench(&b);
}

/* ---- callbacks that fail --------------------------------------------------------------------- */

/* The mean of a Gaussian, until something happens. */
typedef enum trouble {
    SCORES_CODE,
    SCORE,
    LOGLIK,
    PRIOR_CODE,
    PRIOR,
    PRIOR_GRADIENT,
    DRAW_CODE,
    DRAW
} trouble;

typedef struct faulty {
    trouble what;
    atomic_int calls;
    int from; /* calls of `scores` before it happens */
} faulty;

static bool happens(faulty *f, trouble what) {
    return f->what == what && atomic_load(&f->calls) > f->from;
}

static int faulty_scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                         void *user) {
    faulty *f = user;
    atomic_fetch_add(&f->calls, 1);
    for (int64_t i = 0; i < r->n; i++) {
        double off = r->y[i] - theta[0];
        if (loglik != NULL) loglik[i] = -0.5 * off * off;
        if (score != NULL) score[i] = off;
    }
    if (loglik != NULL && happens(f, LOGLIK)) loglik[2] = NAN;
    if (score != NULL && happens(f, SCORE)) score[4] = -INFINITY;
    return happens(f, SCORES_CODE) ? 17 : 0;
}

static int faulty_prior(const double *theta, int64_t dim, double *lp, double *grad, void *user) {
    faulty *f = user;
    (void)dim;
    if (lp != NULL) *lp = happens(f, PRIOR) ? NAN : -0.5 * theta[0] * theta[0];
    if (grad != NULL) grad[0] = happens(f, PRIOR_GRADIENT) ? NAN : -theta[0];
    return happens(f, PRIOR_CODE) ? 18 : 0;
}

static int faulty_draw(const double *theta, const sgfs_rows *r, const double *normal,
                       const double *uniform, double *y, void *user) {
    faulty *f = user;
    (void)uniform;
    if (r->y != NULL) return 99;
    for (int64_t i = 0; i < r->n; i++) y[i] = theta[0] + normal[i];
    if (happens(f, DRAW)) y[5] = INFINITY;
    return happens(f, DRAW_CODE) ? 19 : 0;
}

static const char *faulty_message(int code, void *user) {
    (void)user;
    return code == 17 ? "the tank is empty." : NULL;
}

/* Sample until it breaks; the sentence ends in err. Returns the draws that the file has. */
static int64_t break_down(trouble what, const char *sampler, int from, sgfs_err *err) {
    enum { n = 60 };
    const char *path = "test_user_model.run";
    uint64_t seed = 12;
    double y[n];
    for (int i = 0; i < n; i++) y[i] = 0.3 + next_normal(&seed);
    faulty f = {.what = what, .from = from};
    sgfs_user_model calls = {.size = sizeof calls,
                             .name = "faulty",
                             .dim = same_dim,
                             .scores = faulty_scores,
                             .log_prior = faulty_prior,
                             .draw = faulty_draw,
                             .message = faulty_message,
                             .user = &f};
    bench b = wrap(n, 0, y, y);
    set(&b, "sampler.kind", sampler);
    set(&b, "run.chains", "1");
    set(&b, "run.warmup", "150");
    set(&b, "run.draws", "3000");
    set(&b, "output.overwrite", "true");
    open_calls(&b, &calls);
    sgfs_run *run = sgfs_run_open(b.m, b.cfg, err);
    assert_int_equal(sgfs_run_attach(run, path, err), SGFS_OK);
    sgfs_status status = sgfs_run_all(run, err);
    assert_int_equal(status, err->code);
    sgfs_err closing;
    assert_int_equal(sgfs_run_close(run, &closing), SGFS_OK);
    long long t = run->chain[0].t;
    sgfs_run_free(run);
    close_bench(&b);

    sgfs_draws *draws = sgfs_draws_open(path, &closing);
    if (draws == NULL) fail_msg("%s", closing.text);
    int64_t kept = sgfs_draws_size(draws).draws;
    assert_int_equal(kept, t > 151 ? t - 151 : 0); /* every draw but the one that failed */
    assert_says(draws->state, "failed: Chain 1 stopped at iteration");
    if (kept > 0) assert_says(err->text, "Draws before it are kept.");
    sgfs_draws_free(draws);
    (void)unlink(path);
    return kept;
}

static void test_a_callback_that_fails_ends_the_chain_and_loses_nothing(void **state) {
    (void)state;
    const struct {
        trouble what;
        const char *sampler;
        int from;
        bool draws; /* it breaks after warm-up */
        sgfs_status code;
        const char *says, *more;
    } table[] = {
        {SCORES_CODE, "sgfs-f", 900, true, SGFS_EDATA,
         "`scores` of model faulty returned error 17 (the tank is empty). Draws", ""},
        {SCORES_CODE, "sgld", 500, true, SGFS_EDATA, "(the tank is empty). Draws", ""},
        {SCORES_CODE, "nuts", 3000, true, SGFS_EDATA, "(the tank is empty). Draws", ""},
        {SCORES_CODE, "hmc", 5000, true, SGFS_EDATA, "(the tank is empty). Draws", ""},
        {SCORES_CODE, "sgld", 20, false, SGFS_EDATA, "(warm-up): `scores` of model", ""},
        {SCORE, "sgld", 500, true, SGFS_ENUMERIC,
         "`scores` of model faulty says that the score of \"theta\" (= ", "for row 5 of 15 (y = "},
        {SCORE, "sgfs-d", 900, true, SGFS_ENUMERIC, ") is -inf. Draws", "try a larger --alpha"},
        {LOGLIK, "sgld", 500, true, SGFS_ENUMERIC,
         "`scores` of model faulty says that the log density of row 3 of 15",
         "is nan. Draws before it are kept. If the model is right there, try a smaller"},
        {PRIOR_CODE, "sgld", 500, true, SGFS_EDATA,
         "`log_prior` of model faulty returned error 18. Draws", ""},
        {PRIOR, "sgld", 500, true, SGFS_ENUMERIC,
         "`log_prior` of model faulty says that the log prior density is nan", ""},
        {PRIOR_GRADIENT, "sgld", 500, true, SGFS_ENUMERIC,
         "`log_prior` of model faulty says that the gradient of \"theta\"", ""},
        {DRAW_CODE, "sgfs-f", 20, false, SGFS_EDATA, "`draw` of model faulty returned error 19.",
         ""},
        {DRAW, "sgfs-f", 20, false, SGFS_ENUMERIC,
         "`draw` of model faulty says that the target of row 6 of 15 is inf", ""},
        /* places without a density are turned back from, until there are no others */
        {SCORE, "nuts", 3000, true, SGFS_ENUMERIC, "30 trajectories in a row led nowhere",
         "at last `scores` of model faulty says"},
    };
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        sgfs_err err = {SGFS_OK, ""};
        int64_t kept = break_down(table[k].what, table[k].sampler, table[k].from, &err);
        if (err.code != table[k].code) fail_msg("case %zu: %d, %s", k, (int)err.code, err.text);
        assert_says(err.text, table[k].says);
        assert_says(err.text, table[k].more);
        if ((kept > 0) != table[k].draws) fail_msg("case %zu: %s", k, err.text);
        bool advised = strstr(err.text, "try ") != NULL || strstr(err.text, "Try ") != NULL;
        assert_int_equal(advised, table[k].code == SGFS_ENUMERIC);
    }
}

static void test_the_search_for_the_mode_says_what_failed(void **state) {
    (void)state;
    faulty f = {.what = SCORES_CODE, .from = 2};
    sgfs_err err;
    const double y[5] = {0.3, -1.4, 2.2, 0.9, -0.6};
    sgfs_user_model calls = {.size = sizeof calls,
                             .name = "faulty",
                             .dim = same_dim,
                             .scores = faulty_scores,
                             .user = &f};
    bench b = wrap(5, 0, y, y);
    open_calls(&b, &calls);
    sgfs_job *job = sgfs_optimize_open(b.m, b.cfg, &err);
    assert_int_equal(sgfs_job_run(job, &err), SGFS_EDATA);
    sgfs_job_free(job);
    assert_says(err.text, "The search for the mode stopped after");
    assert_says(err.text, "`scores` of model faulty returned error 17.");
    close_bench(&b);
}

/* ---- held-out rows --------------------------------------------------------------------------- */

/* Uniform on (theta, infinity), so to speak: rows below are impossible. */
static int bounded_scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                          void *user) {
    (void)user;
    for (int64_t i = 0; i < r->n; i++) {
        if (loglik != NULL) loglik[i] = r->y[i] < theta[0] ? -INFINITY : theta[0] - r->y[i];
        if (score != NULL) score[i] = 1;
    }
    return 0;
}

static void test_an_impossible_row_is_an_answer_only_without_a_gradient(void **state) {
    (void)state;
    const double y[2] = {0.4, -0.7}, theta = 0.1, ones[2] = {1, 1};
    double loglik[2], score[2];
    sgfs_user_model calls = {.size = sizeof calls, .dim = same_dim, .scores = bounded_scores};
    bench b = wrap(2, 0, y, y);
    sgfs_err err = {SGFS_OK, ""};
    open_calls(&b, &calls);
    look(b.m, &theta, 2, ones, y, loglik, NULL);
    assert_true(loglik[1] == -INFINITY && loglik[0] == 0.1 - 0.4);
    sgfs_score_block block = {.rows = 1, .cols = 1, .dense = score};
    sgfs_scores s = {.n = 2, .D = 1, .blocks = 1, .block = &block, .loglik = loglik};
    sgfs_batch rows = {.n = 2, .p = 1, .x = ones, .y = y, .total = 2, .gamma = 1};
    assert_int_equal(b.m->kind->scores(b.m, &theta, &rows, &s, NULL, &err), SGFS_ENUMERIC);
    assert_says(err.text, "the log density of row 2 of 2 (y = -0.7) is -inf");
    close_bench(&b);
}

/* Rows standardised as the training rows were, and the predictive density of each, by hand. */
static double loss_by_hand(const sgfs_model *m, const sgfs_draws *draws, int64_t first) {
    double loss = 0, shift[COLS], scale[COLS];
    for (int j = 0; j < COLS; j++) {
        shift[j] = m->data->feature[j].mean;
        scale[j] = 1 / m->data->feature[j].sd;
    }
    const double *theta = sgfs_draws_chain(draws, 0);
    int64_t S = sgfs_draws_size(draws).draws;
    for (int64_t i = first; i < ROWS; i++) {
        double mean = 0;
        for (int64_t s = 0; s < S; s++) {
            const double *b = theta + s * DIM;
            double z = Y[i] - b[0];
            for (int j = 0; j < COLS; j++) z -= b[1 + j] * (X[COLS * i + j] - shift[j]) * scale[j];
            z *= exp(-b[3]);
            mean += 0.375 * exp(-b[3]) * pow(1 + z * z / 4, -2.5) / (double)S;
        }
        loss -= log(mean) / (double)(ROWS - first);
    }
    return loss;
}

static void test_held_out_rows_are_standardised_as_the_chain_saw_them(void **state) {
    (void)state;
    enum { TRAINING = 25 };
    bench b = example_on_rows();
    int64_t row[ROWS];
    for (int i = 0; i < ROWS; i++) row[i] = i;
    set(&b, "data.standardize", "true");
    set(&b, "sampler.kind", "hmc");
    set(&b, "run.chains", "1");
    set(&b, "run.warmup", "100");
    set(&b, "run.draws", "50");
    sgfs_err err;
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = X, .y = Y};
    sgfs_data *whole = sgfs_data_wrap(&arrays, b.cfg, &err);
    sgfs_data *training = sgfsi_data_view(whole, row, TRAINING, SGFSI_OWN_SCALE, &err);
    sgfs_model *m = sgfs_model_open(example, training, b.cfg, &err);
    assert_non_null(m);
    sgfs_run *run = sgfs_run_open(m, b.cfg, &err);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfsi_heldout score;
    if (sgfsi_heldout_score(m, draws, row + TRAINING, ROWS - TRAINING, 2, NULL, &score, &err))
        fail_msg("%s", err.text);
    assert_near(score.loss, loss_by_hand(m, draws, TRAINING), 1e-12, "log loss");
    sgfs_draws_free(draws);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(training);
    sgfs_data_free(whole);
    close_bench(&b);
}

/* ---- an argument, a prior's precision, parameters that no row informs ------------------------ */

enum { GROUPS = 8, OWN_DIM = GROUPS + 1 }; /* a mean for each group, and the log of their scale */

typedef struct grouped {
    int opened, closed;
    double noise; /* sd of the rows: the argument */
} grouped;
static grouped counts;

static int open_grouped(const char *argument, void **user) {
    grouped *g = *user;
    g->opened++;
    g->noise = argument[0] != '\0' ? strtod(argument, NULL) : 1;
    return g->noise > 0 ? 0 : 5;
}

static void close_grouped(void *user) {
    ((grouped *)user)->closed++;
}

static int64_t grouped_dim(int64_t cols, void *user) {
    return (void)cols, (void)user, OWN_DIM;
}

static int grouped_scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                          void *user) {
    double noise = ((const grouped *)user)->noise;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t k = (int64_t)r->x[i * r->cols + 1];
        double z = (r->y[i] - theta[k]) / noise;
        if (loglik != NULL) loglik[i] = -0.5 * z * z - log(noise);
        for (int64_t j = 0; score != NULL && j < OWN_DIM; j++)
            score[i * OWN_DIM + j] = j == k ? z / noise : 0;
    }
    return 0;
}

static int grouped_prior(const double *theta, int64_t dim, double *lp, double *grad, void *user) {
    double s = theta[GROUPS], p = exp(-2 * s), ss = 0;
    for (int64_t k = 0; k < GROUPS; k++) ss += theta[k] * theta[k];
    if (lp != NULL) *lp = -GROUPS * s - 0.5 * p * ss - 0.125 * s * s;
    for (int64_t k = 0; grad != NULL && k < dim; k++)
        grad[k] = k < GROUPS ? -p * theta[k] : p * ss - GROUPS - 0.25 * s;
    return (void)user, 0;
}

static int grouped_precision(const double *theta, int64_t dim, double *precision, void *user) {
    (void)theta, (void)user;
    for (int64_t k = 0; k < dim; k++) precision[k] = k < GROUPS ? 0.385 : 2 * GROUPS;
    return 0;
}

static bench open_grouped_bench(const sgfs_user_model *calls, const char *argument) {
    static double group[40 * GROUPS], y[40 * GROUPS];
    uint64_t s = 88;
    for (int i = 0; i < 40 * GROUPS; i++) {
        group[i] = i % GROUPS;
        y[i] = 1.7 * (i % GROUPS) - 5 + 0.7 * next_normal(&s);
    }
    bench b = wrap(40 * GROUPS, 1, group, y);
    set(&b, "model.argument", argument);
    open_calls(&b, calls);
    return b;
}

static sgfs_user_model grouped_calls(void) {
    counts = (grouped){0};
    return (sgfs_user_model){.size = sizeof(sgfs_user_model),
                             .dim = grouped_dim,
                             .scores = grouped_scores,
                             .log_prior = grouped_prior,
                             .open = open_grouped,
                             .close = close_grouped,
                             .user = &counts};
}

/* Each model is opened with the text and closed; without `open` a text is refused, and so is one
 * that `open` refuses. */
static void test_a_model_gets_its_argument(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_user_model calls = grouped_calls();
    bench b = open_grouped_bench(&calls, "0.7");
    assert_true(counts.opened == 1 && counts.closed == 0 && counts.noise == 0.7);
    sgfs_config_set(b.cfg, "model.argument", "-1", NULL);
    assert_null(sgfs_model_user(&calls, b.data, b.cfg, &err));
    assert_says(err.text, "`open` of model user returned error 5");
    calls.open = NULL;
    assert_null(sgfs_model_user(&calls, b.data, b.cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_says(err.text, "has no callback `open`");
    close_bench(&b);
    assert_true(counts.opened == 2 && counts.closed == 1);
}

/* The scale of the groups is in no row: where SGFS runs away it is named, and with what helps it
 * runs. */
static void test_parameters_that_no_row_informs_are_named(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    char names[100];
    sgfs_user_model calls = grouped_calls();
    for (int k = 0; k < 3; k++) {
        if (k == 2) calls.prior_precision = grouped_precision;
        bench b = open_grouped_bench(&calls, "0.7");
        set(&b, "sampler.kind", "sgfs-f");
        set(&b, "run.batch", "80");
        set(&b, "run.warmup", "400");
        set(&b, "run.draws", "400");
        if (k == 1) set(&b, "fisher.ridge", "0.1");
        assert_int_equal(sgfsi_user_uninformed(b.m, names, sizeof names), 1);
        assert_string_equal(names, "\"theta[9]\"");
        for (int64_t j = 0; k == 2 && j < OWN_DIM; j++)
            assert_true(b.m->precision[j] == (j < GROUPS ? 0.385 : 2 * GROUPS));
        sgfs_run *run = sgfs_run_open(b.m, b.cfg, &err);
        sgfs_status status = run != NULL ? sgfs_run_all(run, &err) : err.code;
        if (k == 0) {
            assert_int_equal(status, SGFS_ENUMERIC);
            assert_says(err.text, "No row informs \"theta[9]\"");
            assert_says(err.text, "--fisher-ridge 0.1");
        } else if (status != SGFS_OK) {
            fail_msg("%s", err.text);
        }
        sgfs_run_free(run);
        close_bench(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_are_the_gradient),
        cmocka_unit_test(test_the_density_integrates_to_one),
        cmocka_unit_test(test_draws_have_the_models_distribution),
        cmocka_unit_test(test_nuts_finds_the_posterior),
        cmocka_unit_test(test_callbacks_can_be_a_built_in_model),
        cmocka_unit_test(test_a_prior_of_its_own_leaves_no_room_for_options),
        cmocka_unit_test(test_models_that_cannot_be_opened),
        cmocka_unit_test(test_a_callback_that_fails_ends_the_chain_and_loses_nothing),
        cmocka_unit_test(test_the_search_for_the_mode_says_what_failed),
        cmocka_unit_test(test_an_impossible_row_is_an_answer_only_without_a_gradient),
        cmocka_unit_test(test_a_model_gets_its_argument),
        cmocka_unit_test(test_parameters_that_no_row_informs_are_named),
        cmocka_unit_test(test_held_out_rows_are_standardised_as_the_chain_saw_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
