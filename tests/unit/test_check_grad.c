/* SPDX-License-Identifier: MIT
 * test_check_grad.c: sgfs check-grad finds every mistake that a model's writer makes, names the
 * parameter and says what it looks like; and finds none where there is none.
 *
 * The model with the mistakes is y ~ N(x'beta + 0.3 sin(x'gamma), 1), two dense blocks. Its scores
 * are right to rounding, so that a mistake of 1e-5 is one, and 1e-7 is not, at the tolerance 1e-6.
 */
#include "conform/model_bench.h"
#include "jobs/checkgrad/checkgrad.h"
#include "tools/unit_prior.h"

/* ---- a model that can be wrong --------------------------------------------------------------- */

typedef enum mistake {
    NONE,
    FACTOR,       /* one parameter twice too large */
    SIGN,         /* one block with the wrong sign */
    EMPTY,        /* one parameter not filled in */
    TERM,         /* one parameter lacks a term */
    CONSTANT,     /* one parameter has 0.25 too much in every row */
    SMALL,        /* one parameter off by 1e-5 */
    TINY,         /* by 1e-7: nothing */
    NAN_SCORE,    /* one row's score of one parameter */
    NAN_LOGLIK,   /* one row's density */
    HALF_LOGLIK,  /* the density is half of what the scores belong to */
    OTHER_LOGLIK, /* another density where scores are not wanted */
    SHIFTED,      /* each row has the score of the next one */
    BATCH,        /* scores depend on how many rows are asked for */
    PRIOR_TERM,   /* log_prior forgets a parameter in its gradient */
    PRIOR_FACTOR, /* log_prior's gradient is twice too large */
    PRIOR_RIPPLE, /* log_prior has waves that no step is small enough for */
    KINK,         /* no mistake: |x'gamma| in place of the sine */
    KINK_FACTOR,  /* the same and one parameter twice too large */
    RETURNS_ERROR
} mistake;

static const double RIPPLES = 7.4e7; /* radians for a unit of the parameter */
static mistake now;
static int64_t wrong_one; /* the parameter it is about */

static sgfs_status open_wrong(sgfs_model *m, sgfs_err *err) {
    assert_non_null(sgfsi_model_add_block(m, "beta", 1, m->data->p, SGFS_SCORE_DENSE));
    assert_non_null(sgfsi_model_add_block(m, "gamma", 1, m->data->p, SGFS_SCORE_DENSE));
    return sgfsi_model_room_for_names(m, err);
}

static double wave(double at, double *slope) {
    if (now != KINK && now != KINK_FACTOR) return *slope = 0.3 * cos(at), 0.3 * sin(at);
    *slope = at > 0 ? 0.3 : -0.3;
    return 0.3 * fabs(at);
}

/* g: 2 p; returns the log density of the row. */
static double one_row(const double *theta, int64_t p, const double *x, double y, double *g) {
    double eta = 0, at = 0, slope;
    for (int64_t j = 0; j < p; j++) {
        eta += x[j] * theta[j];
        at += x[j] * theta[p + j];
    }
    double r = y - eta - wave(at, &slope);
    for (int64_t j = 0; j < p; j++) {
        g[j] = r * x[j];
        g[p + j] = r * slope * x[j];
    }
    return -0.5 * r * r;
}

/* What the mistake makes of the right score of a row. */
static void spoil(int64_t p, int64_t n, double *g) {
    if (now == FACTOR || now == KINK_FACTOR) g[wrong_one] *= 2;
    if (now == EMPTY) g[wrong_one] = 0;
    if (now == TERM) g[wrong_one] += 0.1 * g[0];
    if (now == CONSTANT) g[wrong_one] += 0.25;
    if (now == SMALL) g[wrong_one] *= 1 + 1e-5;
    if (now == TINY) g[wrong_one] *= 1 + 1e-7;
    for (int64_t j = p; now == SIGN && j < 2 * p; j++) g[j] = -g[j];
    for (int64_t j = 0; now == BATCH && j < 2 * p; j++) g[j] *= n > 300 ? 1.5 : 1;
}

static bool is_bad_row(const double *x) {
    return x[1] == 13.79; /* planted in row 18 */
}

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    int64_t p = b->p;
    double g[4096];
    (void)m;
    (void)scratch;
    if (now == RETURNS_ERROR) return sgfsi_fail(err, SGFS_EDATA, "I do not like these rows.");
    for (int64_t i = 0; i < b->n; i++) {
        int64_t from = now == SHIFTED ? (i + 1) % b->n : i;
        double loglik = one_row(theta, p, b->x + i * p, b->y[i], g);
        if (now == HALF_LOGLIK) loglik /= 2;
        if (now == OTHER_LOGLIK && s->block == NULL) loglik += 1e-6;
        if (now == NAN_LOGLIK && is_bad_row(b->x + i * p)) loglik = NAN;
        if (s->loglik != NULL) s->loglik[i] = loglik;
        if (s->block == NULL) continue;
        (void)one_row(theta, p, b->x + from * p, b->y[from], g);
        spoil(p, b->n, g);
        if (now == NAN_SCORE && is_bad_row(b->x + i * p)) g[wrong_one] = NAN;
        memcpy(s->block[0].dense + i * p, g, (size_t)p * sizeof *g);
        memcpy(s->block[1].dense + i * p, g + p, (size_t)p * sizeof *g);
    }
    return SGFS_OK;
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    for (int64_t j = 0; j < m->D; j++) {
        theta[j] = 0.1;
        spread[j] = 1;
    }
}

/* A Gaussian of precision 3. */
static sgfs_status log_prior(const sgfs_model *m, const double *theta, double *lp, double *G,
                             sgfs_err *err) {
    (void)err;
    for (int64_t j = 0; j < m->D; j++) {
        bool forgotten = now == PRIOR_TERM && j == wrong_one;
        if (lp != NULL) *lp -= 1.5 * theta[j] * theta[j];
        if (G != NULL && !forgotten) G[j] -= (now == PRIOR_FACTOR ? 6 : 3) * theta[j];
        if (lp != NULL && now == PRIOR_RIPPLE && j == wrong_one)
            *lp += 1e-5 * sin(RIPPLES * theta[j]);
    }
    return SGFS_OK;
}

static const sgfs_model_kind plain_kind = {.name = "sines",
                                           .help = "for tests",
                                           .options = sgfsi_no_options,
                                           .open = open_wrong,
                                           .scores = scores,
                                           .start = start};

/* y ~ N(a + x'b + c x_1, 1) in three blocks, the outer ones of one parameter each. */
static sgfs_status open_three(sgfs_model *m, sgfs_err *err) {
    assert_non_null(sgfsi_model_add_block(m, "a", 1, 1, SGFS_SCORE_DENSE));
    assert_non_null(sgfsi_model_add_block(m, "b", 1, m->data->p, SGFS_SCORE_DENSE));
    assert_non_null(sgfsi_model_add_block(m, "c", 1, 1, SGFS_SCORE_DENSE));
    return sgfsi_model_room_for_names(m, err);
}

static sgfs_status three_scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                sgfs_scores *s, double *scratch, sgfs_err *err) {
    int64_t p = b->p;
    (void)m;
    (void)scratch;
    (void)err;
    for (int64_t i = 0; i < b->n; i++) {
        const double *x = b->x + i * p;
        double r = b->y[i] - theta[0] - theta[p + 1] * x[1];
        for (int64_t j = 0; j < p; j++) r -= theta[1 + j] * x[j];
        if (s->loglik != NULL) s->loglik[i] = -0.5 * r * r;
        if (s->block == NULL) continue;
        s->block[0].dense[i] = r;
        for (int64_t j = 0; j < p; j++) s->block[1].dense[i * p + j] = r * x[j];
        s->block[2].dense[i] = r * x[1];
    }
    return SGFS_OK;
}

/* ---- checking it ----------------------------------------------------------------------------- */

typedef struct site {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double *x, *y;
    sgfs_model_kind kind;
} site;

static void open_kind(site *s, sgfs_model_kind kind, int64_t rows, int64_t cols) {
    uint64_t seed = 2385;
    sgfs_err err = {0};
    *s = (site){.cfg = unit_prior_config(), .kind = kind, .x = zeros(rows * cols)};
    s->y = zeros(rows);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            s->x[i * cols + j] = next_normal(&seed) / sqrt((double)cols);
        s->y[i] = next_normal(&seed) + s->x[i * cols];
    }
    s->x[17 * cols] = 13.79; /* column 1 of the batch, behind the intercept */
    sgfs_arrays arrays = {.rows = rows, .cols = cols, .x = s->x, .y = s->y};
    s->data = sgfs_data_wrap(&arrays, s->cfg, &err);
    if (s->data == NULL) fail_msg("%s", err.text);
    s->m = sgfsi_model_create(&s->kind, s->data, s->cfg, NULL, &err);
    if (s->m == NULL) fail_msg("%s", err.text);
}

static void open_site(site *s, int64_t rows, int64_t cols, bool own_prior) {
    sgfs_model_kind kind = plain_kind;
    if (own_prior) kind.log_prior = log_prior;
    open_kind(s, kind, rows, cols);
}

static void close_site(site *s) {
    sgfs_model_free(s->m);
    sgfs_data_free(s->data);
    sgfs_config_free(s->cfg);
    free(s->x);
    free(s->y);
}

static sgfs_job *job = NULL; /* the check at hand */

static const sgfs_check_grad *run_check(const sgfs_model *m, const sgfs_config *cfg,
                                        sgfs_err *err) {
    job = sgfs_check_grad_open(m, cfg, err);
    return sgfs_job_run(job, err) == SGFS_OK ? sgfs_job_result(job) : NULL;
}

static void end_check(void) {
    sgfs_job_free(job);
    job = NULL;
}

static const sgfs_check_grad *check(const site *s, mistake m, int64_t parameter) {
    sgfs_err err = {0};
    now = m;
    wrong_one = parameter;
    const sgfs_check_grad *c = run_check(s->m, s->cfg, &err);
    if (c == NULL) fail_msg("%s", err.text);
    return c;
}

static void assert_says(const sgfs_check_grad *c, const char *text) {
    if (strstr(c->verdict, text) == NULL)
        fail_msg("\"%s\" is not in the verdict: %s", text, c->verdict);
}

/* Found, and the verdict says both texts. */
static void assert_found(const site *s, mistake m, int64_t parameter, const char *text,
                         const char *other) {
    const sgfs_check_grad *c = check(s, m, parameter);
    assert_false(c->passed);
    assert_says(c, text);
    assert_says(c, other);
    end_check();
}

/* ---- slopes ---------------------------------------------------------------------------------- */

typedef enum shape { SMOOTH, STEP_LUCK } shape;

/* exp(1.3 t), or a line whose slope is 0.25 more where two steps, but no others, look. */
static sgfs_status curve(void *work, const double *theta, double *density, sgfs_err *err) {
    double t = theta[0];
    bool seen = fabs(t) > 0.45e-3;
    (void)err;
    density[0] = *(shape *)work == SMOOTH ? exp(1.3 * t) : 2.385 * t + (seen ? 0.25 * t : 0);
    density[1] = 0;
    return SGFS_OK;
}

/* The slope at `at` along v = 1, beside a gradient; the largest step is good enough. */
static sgfsi_slope slope_of(shape is, double at, double gradient) {
    double up, down, v = 1;
    sgfsi_slope out[SGFSI_DENSITIES];
    sgfsi_slopes s = {.densities = curve,
                      .work = &is,
                      .D = 1,
                      .theta = &at,
                      .gradient = {&gradient, NULL},
                      .noise = {1e-16, 0},
                      .enough = {1e-3, 0},
                      .up = &up,
                      .down = &down};
    assert_int_equal(sgfsi_slopes_along(&s, &v, out, NULL), SGFS_OK);
    return out[0];
}

/* (4 d(h/2) - d(h))/3 is off by h^4/480 of the fifth derivative, 1e-14 here; the doubt is what
 * d(h/2) is off by, h^2/24 of the third. */
static void test_slopes_are_exact_to_the_fourth_order(void **state) {
    (void)state;
    double at = 0.417, f1 = 1.3 * exp(1.3 * at), f3 = 1.69 * f1;
    sgfsi_slope s = slope_of(SMOOTH, at, f1);
    assert_true(s.h == 1e-3);
    assert_near(s.numeric, f1, 1e-11, "slope");
    assert_near(s.doubt, f3 * 1e-6 / 24, 1e-10, "doubt");
    assert_int_equal(sgfsi_judge(&s, 0, 1e-9).is, SGFSI_AGREES);
}

/* Both steps of the first look agree on a gap of 0.25; a third step does not see it. A gradient
 * that is off by as much is wrong at every step. */
static void test_a_gap_is_looked_at_twice(void **state) {
    (void)state;
    sgfsi_slope luck = slope_of(STEP_LUCK, 0, 2.385), wrong = slope_of(SMOOTH, 0, 1.3 - 0.25);
    assert_near(luck.numeric - luck.analytic, 0.25, 1e-12, "gap");
    assert_near(luck.doubt, 0.25, 1e-12, "which is doubted");
    assert_int_equal(sgfsi_judge(&luck, 0, 1e-6).is, SGFSI_UNSURE);
    assert_near(wrong.numeric - wrong.analytic, 0.25, 1e-11, "gap");
    assert_true(wrong.doubt < 1e-6);
    assert_int_equal(sgfsi_judge(&wrong, 0, 1e-6).is, SGFSI_WRONG);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void test_a_right_model_passes(void **state) {
    (void)state;
    site s;
    open_site(&s, 400, 3, false);
    const sgfs_check_grad *c = check(&s, NONE, 0);
    assert_true(c->passed);
    assert_says(c, "every parameter");
    assert_true(c->dim == 8 && c->checked == 8 && c->rows == 400 && c->points == 3);
    assert_true(c->error < 1e-7 && c->direction_error < 1e-7 && c->prior_error < 1e-7);
    assert_true(c->score_error < 1e-7 && c->loglik_error == 0);
    for (int64_t i = 1; i < c->checked; i++) assert_true(c->row[i].error <= c->row[i - 1].error);
    end_check();
    c = check(&s, TINY, 5);
    assert_true(c->passed && c->error > 1e-8);
    assert_string_equal(c->row[0].name, "gamma[2]");
    end_check();
    close_site(&s);
}

static void test_a_kink_is_no_mistake(void **state) {
    (void)state;
    site s;
    open_site(&s, 900, 3, false);
    assert_int_equal(sgfs_config_set(s.cfg, "check.points", "8", NULL), SGFS_OK);
    const sgfs_check_grad *c = check(&s, KINK, 0);
    if (!c->passed) fail_msg("%s", c->verdict);
    end_check();
    assert_found(&s, KINK_FACTOR, 6, "\"gamma[3]\"", "2.000 times numeric");
    /* three rows lie on the kink of the start to 1e-9: x'gamma = 0.1 sum x, intercept included */
    for (int64_t i = 30; i < 33; i++) s.x[i * 3 + 2] = 1e-9 - 1 - s.x[i * 3] - s.x[i * 3 + 1];
    c = check(&s, KINK, 0);
    if (!c->passed) fail_msg("%s", c->verdict);
    end_check();
    assert_found(&s, KINK_FACTOR, 6, "\"gamma[3]\"", "The other 7 agree");
    for (int64_t i = 0; i < 900; i++) s.x[i * 3 + 2] = -1 - s.x[i * 3] - s.x[i * 3 + 1];
    c = check(&s, KINK, 0); /* now every row lies there */
    if (!c->passed) fail_msg("%s", c->verdict);
    end_check();
    close_site(&s);
}

static void test_mistakes_are_found_and_named(void **state) {
    (void)state;
    site s;
    open_site(&s, 400, 3, false);
    assert_found(&s, FACTOR, 6, "\"gamma[3]\"", "2.000 times numeric");
    assert_found(&s, FACTOR, 6, "The other 7 agree", "The prior by itself is right");
    assert_found(&s, SIGN, 0, "The sign is wrong", "Only block \"gamma\" is wrong (4 of its 4");
    assert_found(&s, EMPTY, 1, "\"beta[2]\"", "is it filled in?");
    assert_found(&s, TERM, 3, "\"beta[4]\"", "no one number");
    assert_found(&s, CONSTANT, 3, "numeric plus 100 (0.25 for each row)", "\"beta[4]\"");
    assert_found(&s, SMALL, 7, "\"gamma[4]\"", "The other 7 agree");
    assert_found(&s, HALF_LOGLIK, 0, "every parameter checked", "2.000 times numeric");
    assert_found(&s, OTHER_LOGLIK, 0, "with scores, without", "log density of row");
    assert_found(&s, SHIFTED, 0, "The sum is right but the rows are not", "row");
    assert_found(&s, BATCH, 0, "depends on the batch", "1.500 times numeric");
    assert_found(&s, NAN_SCORE, 4, "The gradient of \"gamma[1]\" is not finite", "row 18 does it");
    assert_found(&s, NAN_LOGLIK, 4, "The log density is not finite", "row 18 does it");
    close_site(&s);
}

static void test_mistakes_of_a_prior_are_told_from_those_of_the_rows(void **state) {
    (void)state;
    site s;
    open_site(&s, 400, 3, true);
    const sgfs_check_grad *c = check(&s, NONE, 0);
    assert_true(c->passed);
    end_check();
    assert_found(&s, PRIOR_TERM, 2, "\"beta[3]\"", "look at log_prior");
    assert_found(&s, PRIOR_TERM, 2, "of the prior is 0", "The other 7 agree");
    assert_found(&s, PRIOR_FACTOR, 2, "Analytic of the prior is 2.000 times", "every parameter");
    assert_found(&s, FACTOR, 2, "2.000 times numeric", "The prior by itself is right");
    close_site(&s);
}

/* Differences that tell nothing are no agreement, though nothing was found wrong. */
static void test_not_decided_is_not_passed(void **state) {
    (void)state;
    site s;
    open_site(&s, 400, 3, true);
    const sgfs_check_grad *c = check(&s, PRIOR_RIPPLE, 2);
    assert_false(c->passed);
    assert_says(c, "Not decided: the differences are too rough");
    assert_string_equal(c->row[0].name, "beta[3]");
    assert_false(c->row[0].agrees);
    for (int64_t i = 1; i < c->checked; i++) assert_true(c->row[i].agrees);
    end_check();
    set_in(s.cfg, "check.parameters", "1"); /* one of beta, and directions over all */
    set_in(s.cfg, "check.points", "1");
    c = check(&s, PRIOR_RIPPLE, 6);
    assert_true(c->checked == 1 && c->row[0].agrees && !c->passed);
    assert_says(c, "Not decided: the differences are too rough");
    end_check();
    close_site(&s);
}

/* 1600 parameters, 5 looked at one by one: directions over all of them find the wrong one. */
static void test_one_of_thousands_is_found_by_halves(void **state) {
    (void)state;
    site s;
    open_site(&s, 300, 799, false);
    assert_int_equal(sgfs_config_set(s.cfg, "check.parameters", "5", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(s.cfg, "check.rows", "60", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(s.cfg, "check.points", "2", NULL), SGFS_OK);
    const sgfs_check_grad *c = check(&s, NONE, 0);
    assert_true(c->passed && c->checked <= 10 && c->dim == 1600 && c->rows == 60);
    bool block[2] = {false, false};
    for (int64_t i = 0; i < c->checked; i++) block[c->row[i].block[0] == 'g'] = true;
    assert_true(block[0] && block[1]);
    assert_says(c, "of 1600 parameters");
    end_check();
    assert_found(&s, FACTOR, 1234, "\"gamma[435]\"", "2.000 times numeric");
    close_site(&s);
}

/* Of 302 parameters 3: chance alone would miss both blocks of one. */
static void test_one_of_each_block_is_always_checked(void **state) {
    (void)state;
    site s;
    sgfs_model_kind kind = plain_kind;
    kind.open = open_three;
    kind.scores = three_scores;
    open_kind(&s, kind, 60, 299);
    set_in(s.cfg, "check.parameters", "3");
    set_in(s.cfg, "check.points", "1");
    for (int seed = 1; seed <= 5; seed++) {
        char text[8];
        int blocks[3] = {0};
        snprintf(text, sizeof text, "%d", seed);
        set_in(s.cfg, "run.seed", text);
        const sgfs_check_grad *c = check(&s, NONE, 0);
        assert_true(c->passed && c->dim == 302 && c->checked == 3);
        for (int64_t i = 0; i < 3; i++) blocks[c->row[i].block[0] - 'a']++;
        assert_true(blocks[0] == 1 && blocks[1] == 1 && blocks[2] == 1);
        end_check();
    }
    close_site(&s);
}

static void test_the_tolerance_and_errors_of_the_model(void **state) {
    (void)state;
    site s;
    sgfs_err err = {0};
    open_site(&s, 400, 3, false);
    assert_int_equal(sgfs_config_set(s.cfg, "check.tolerance", "1e-4", NULL), SGFS_OK);
    const sgfs_check_grad *c = check(&s, SMALL, 7);
    assert_true(c->passed && c->tolerance == 1e-4);
    char *json = sgfs_job_json(job);
    assert_non_null(strstr(json, "\"passed\": true"));
    assert_non_null(strstr(json, "\"gamma[4]\""));
    sgfs_text_free(json);
    end_check();
    now = RETURNS_ERROR;
    assert_null(run_check(s.m, s.cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_string_equal(err.text, "I do not like these rows.");
    assert_null(sgfs_job_json(job));
    end_check();
    assert_null(sgfs_check_grad_open(NULL, s.cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA); /* as it was */
    err.code = SGFS_OK;
    assert_null(sgfs_check_grad_open(s.m, NULL, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    close_site(&s);
}

static void check_bench(bench *b) {
    sgfs_err err = {0};
    set_in(b->cfg, "check.points", "2");
    set_in(b->cfg, "check.rows", "300");
    const sgfs_check_grad *c = run_check(b->m, b->cfg, &err);
    if (c == NULL) fail_msg("%s: %s", b->label, err.text);
    if (!c->passed) fail_msg("%s: %s", b->label, c->verdict);
    assert_int_equal(c->checked, b->D);
    end_check();
}

static void test_every_model_of_the_table_passes(void **state) {
    (void)state;
    for_each(check_bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_are_exact_to_the_fourth_order),
        cmocka_unit_test(test_a_gap_is_looked_at_twice),
        cmocka_unit_test(test_a_right_model_passes),
        cmocka_unit_test(test_a_kink_is_no_mistake),
        cmocka_unit_test(test_mistakes_are_found_and_named),
        cmocka_unit_test(test_mistakes_of_a_prior_are_told_from_those_of_the_rows),
        cmocka_unit_test(test_not_decided_is_not_passed),
        cmocka_unit_test(test_one_of_each_block_is_always_checked),
        cmocka_unit_test(test_one_of_thousands_is_found_by_halves),
        cmocka_unit_test(test_the_tolerance_and_errors_of_the_model),
        cmocka_unit_test(test_every_model_of_the_table_passes),
    };
    return cmocka_run_group_tests(tests, find_setups, NULL);
}
