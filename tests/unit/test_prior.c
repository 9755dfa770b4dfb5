/* SPDX-License-Identifier: MIT
 * test_prior.c: the kinds of prior against closed forms written down here a second time and against
 * finite differences, the precisions from lists and files, and every sentence that refuses one.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "model/prior.h"
#include "posterior/mode.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* ---- models without much data ---------------------------------------------------------------- */

enum { ROWS = 8 };

typedef struct bench {
    double x[ROWS * 2], y[ROWS];
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfs_err err;
} bench;

typedef struct setting {
    const char *key, *value;
} setting;

/* linear: beta = (intercept, x1, x2), log_sigma. m is NULL where the prior was refused. */
static void open_as(bench *b, const sgfs_model_kind *kind, const setting *settings) {
    uint64_t seed = 2385;
    *b = (bench){.cfg = unit_prior_config()};
    assert_non_null(b->cfg);
    for (int i = 0; i < ROWS * 2; i++) b->x[i] = next_number(&seed);
    for (int i = 0; i < ROWS; i++) b->y[i] = next_number(&seed);
    sgfs_arrays arrays = {.rows = ROWS, .cols = 2, .x = b->x, .y = b->y};
    for (; settings->key != NULL; settings++) {
        if (sgfs_config_set(b->cfg, settings->key, settings->value, &b->err) != SGFS_OK)
            fail_msg("%s", b->err.text);
    }
    b->data = sgfs_data_wrap(&arrays, b->cfg, &b->err);
    if (b->data == NULL) fail_msg("%s", b->err.text);
    b->m = sgfsi_model_create(kind, b->data, b->cfg, NULL, &b->err);
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

static void open_linear(bench *b, const setting *settings) {
    open_as(b, &sgfs_model_linear, settings);
    if (b->m == NULL) fail_msg("%s", b->err.text);
}

/* The model is refused, with this status and these words. */
static void refuses(const sgfs_model_kind *kind, const setting *settings, sgfs_status code,
                    const char *words) {
    bench b;
    open_as(&b, kind, settings);
    if (b.m != NULL) fail_msg("not refused: %s", words);
    if (b.err.code != code || strstr(b.err.text, words) == NULL)
        fail_msg("%d, \"%s\" lacks \"%s\"", (int)b.err.code, b.err.text, words);
    close_bench(&b);
}

static void refuses_list(const char *list, const char *words) {
    const setting settings[] = {{"prior.precision", list}, {NULL, NULL}};
    refuses(&sgfs_model_linear, settings, SGFS_EUSAGE, words);
}

/* ---- values and gradients -------------------------------------------------------------------- */

enum { PLACES = 7 };
static const double places[PLACES] = {-41.7, -2.385, -0.0731, 0.0057, 0.644, 3.19, 512.5};

/* log p(theta) - log p(0) with everything normalised, as the textbooks have it. */
static double textbook(const char *kind, double precision, double nu, double theta) {
    double s = 1 / sqrt(precision), u = theta / s;
    if (strcmp(kind, "gaussian") == 0) return -(theta * theta) / (2 * s * s);
    if (strcmp(kind, "laplace") == 0) return theta >= 0 ? -theta / s : theta / s;
    if (strcmp(kind, "student-t") == 0) return (nu + 1) / 2 * (log(nu) - log(nu + u * u));
    return 0;
}

static void check_density(const sgfsi_prior_kind *k, double precision, double nu) {
    for (int i = 0; i < PLACES; i++) {
        double wanted = textbook(k->name, precision, nu, places[i]);
        assert_near(k->density(1, &precision, nu, &places[i]), wanted, 1e-12 * (1 + fabs(wanted)),
                    k->name);
    }
}

/* Central differences with step h = 1e-5 |theta|: their truncation is h^2/6 f''' <= 1e-10 |f| and
 * their rounding 1e-16 |f|/h; both below 1e-8 of |f/theta|, the gradient's own size. */
static void check_gradient(const sgfsi_prior_kind *k, double precision, double nu) {
    for (int i = 0; i < PLACES; i++) {
        double theta = places[i], h = 1e-5 * fabs(theta), up = theta + h, down = theta - h;
        double G = 0.25, wanted = (k->density(1, &precision, nu, &up) -
                                   k->density(1, &precision, nu, &down)) /
                                  (up - down);
        k->add_gradient(1, &precision, nu, &theta, &G);
        assert_near(G - 0.25, wanted, 1e-8 * (fabs(wanted) + 0.25), k->name);
    }
}

static void test_kinds_against_closed_forms(void **state) {
    (void)state;
    const double precisions[] = {0.37, 1, 58.3}, nus[] = {1, 2.5, 4, 30};
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        bool is_flat = strcmp((*k)->name, "flat") == 0;
        for (int i = 0; i < 3; i++) {
            for (int n = 0; n < ((*k)->has_df ? 4 : 1); n++) {
                double nu = (*k)->has_df ? nus[n] : INFINITY, p = is_flat ? 0 : precisions[i];
                check_density(*k, p > 0 ? p : 0, nu);
                check_gradient(*k, p, nu);
            }
        }
    }
}

/* Written in the option as in the table; nothing else in either. */
static void test_the_option_knows_all_kinds(void **state) {
    (void)state;
    char all[200] = "auto";
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        strcat(all, "|");
        strcat(all, (*k)->name);
    }
    assert_string_equal(all, sgfsi_prior_options[0].choices);
}

static void test_at_zero_and_far_out(void **state) {
    (void)state;
    const double zero = 0, far = 1e200;
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        double P = 2.71, G = 0, nu = (*k)->has_df ? 1.5 : INFINITY;
        assert_true((*k)->density(1, &P, nu, &zero) == 0);
        (*k)->add_gradient(1, &P, nu, &zero, &G);
        assert_true(G == 0); /* the Laplace's kink included */
        (*k)->add_gradient(1, &P, nu, &far, &G);
        assert_true(isfinite(G) && G <= 0);
        P = 0; /* flat for that parameter, whatever the kind */
        G = 0.5;
        (*k)->add_gradient(1, &P, nu, &zero, &G);
        (*k)->add_gradient(1, &P, nu, &far, &G);
        assert_true(G == 0.5 && (*k)->density(1, &P, nu, &far) == 0);
        assert_true((*k)->information(P, nu) == 0);
    }
}

/* J = E[(d log p/d theta)^2], by the trapezoidal rule over theta = s sinh(t): the integrand falls
 * as exp(-(nu + 2) t), and the rule is exact to rounding for such sums. The Laplace's is constant.
 */
static double information_by_sums(const sgfsi_prior_kind *k, double P, double nu) {
    double top = 0, bottom = 0, h = 1.0 / 512;
    for (int i = -20 * 512; i <= 20 * 512; i++) {
        double theta = sinh((i + 0.5) * h) / sqrt(P), G = 0;
        double weight = exp(k->density(1, &P, nu, &theta)) * cosh((i + 0.5) * h);
        k->add_gradient(1, &P, nu, &theta, &G);
        bottom += weight;
        top += weight * G * G;
    }
    return top / bottom;
}

static void test_information(void **state) {
    (void)state;
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        for (double nu = 3; nu < 20; nu += 4.25) {
            double P = strcmp((*k)->name, "flat") == 0 ? 0 : 3.77,
                   df = (*k)->has_df ? nu : INFINITY;
            double wanted = P > 0 ? information_by_sums(*k, P, df) : 0;
            /* the kink of the Laplace costs the rule its accuracy: h^2 */
            assert_near((*k)->information(P, df), wanted, 1e-5 * P, (*k)->name);
        }
    }
}

/* The curvature given for A: never negative, that of the density at 0, and, where it is not that of
 * the density, of a parabola that lies below it: steps by it do not overshoot. */
static void test_curvature(void **state) {
    (void)state;
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        double P = 1.93, nu = (*k)->has_df ? 2.5 : INFINITY, h = 1e-4;
        if ((*k)->curvature == NULL) {
            assert_string_equal((*k)->name, "laplace");
            continue;
        }
        double second = -2 * (*k)->density(1, &P, nu, &h) / (h * h);
        assert_near((*k)->curvature(P, nu, 0), second, 1e-6, (*k)->name);
        for (int i = 0; i < PLACES; i++) {
            double c = (*k)->curvature(P, nu, places[i]), G = 0;
            double here = (*k)->density(1, &P, nu, &places[i]);
            assert_true(c > 0);
            (*k)->add_gradient(1, &P, nu, &places[i], &G);
            for (int j = 0; j < PLACES; j++) {
                double d = places[j] - places[i];
                double below = here + G * d - c / 2 * d * d;
                double rounding = 1e-14 * (fabs(here) + fabs(G * d) + c * d * d);
                assert_true((*k)->density(1, &P, nu, &places[j]) >= below - rounding);
            }
        }
    }
}

/* ---- in a model ------------------------------------------------------------------------------ */

static void test_the_model_adds_them_up(void **state) {
    (void)state;
    for (const sgfsi_prior_kind *const *k = sgfsi_priors; *k != NULL; k++) {
        bench b;
        const setting settings[] = {
            {"prior.kind", (*k)->name},
            {(*k)->has_df ? "prior.df" : "run.seed", (*k)->has_df ? "2.5" : "1"},
            {strcmp((*k)->name, "flat") != 0 ? "prior.precision" : "run.seed",
             strcmp((*k)->name, "flat") != 0 ? "0.5,x2=7.25,log_sigma=0" : "1"},
            {NULL, NULL}};
        const double listed[] = {0.5, 0.5, 7.25, 0}, theta[] = {0.83, -1.7, 0.271, -0.4};
        double lp = 0.125, wanted = 0.125, G[4] = {1, 2, 3, 4}, A[16] = {0}, sum = 0;
        open_linear(&b, settings);
        assert_int_equal(sgfsi_prior_add(b.m, theta, &lp, G, &b.err), SGFS_OK);
        sgfsi_prior_add_curvature(b.m, theta, A);
        for (int j = 0; j < 4; j++) {
            double P = strcmp((*k)->name, "flat") == 0 ? 0 : listed[j];
            double nu = (*k)->has_df ? 2.5 : INFINITY, one = 0;
            wanted += P > 0 ? textbook((*k)->name, P, nu, theta[j]) : 0;
            (*k)->add_gradient(1, &P, nu, &theta[j], &one);
            assert_near(G[j], j + 1 + one, 1e-15 * (j + 2), "gradient");
            assert_true(b.m->prior->precision[j] == P);
            double J = (*k)->has_df ? P * 3.5 / 5.5 : P; /* Lambda of K */
            assert_near(b.m->precision[j], J, 1e-15 * J, "Lambda");
            double c = (*k)->has_df ? 3.5 * P / (2.5 + P * theta[j] * theta[j]) : P;
            assert_near(A[j * 5], c, 1e-14 * c, "curvature");
            sum += fabs(A[j * 4]);
        }
        assert_near(lp, wanted, 1e-14, "log density");
        lp = 0.125;
        assert_int_equal(sgfsi_prior_add(b.m, theta, &lp, NULL, &b.err), SGFS_OK);
        assert_near(lp, wanted, 1e-14, "log density alone");
        assert_int_equal(sgfsi_prior_add(b.m, theta, NULL, G, &b.err), SGFS_OK);
        assert_near(sum, fabs(A[0]), 0, "nothing beside the diagonal");
        close_bench(&b);
    }
}

/* As far as chains may go: a million scales, and further where a Student-t has no moments. */
static void test_lengths(void **state) {
    (void)state;
    bench b;
    const setting gaussian[] = {{"prior.precision", "4,x1=0"}, {NULL, NULL}},
                  cauchy[] = {{"prior.kind", "student-t"},
                              {"prior.df", "1"},
                              {"prior.precision", "4"},
                              {NULL, NULL}};
    open_linear(&b, gaussian);
    assert_true(sgfsi_prior_length(b.m, 0) == 0.5 && sgfsi_prior_length(b.m, 1) == 0);
    close_bench(&b);
    open_linear(&b, cauchy);
    assert_near(sgfsi_prior_length(b.m, 0) / 1e6, sqrt(0.5), 1e-9, "a Cauchy's million");
    close_bench(&b);
}

static void expect_list(const char *list, const double *wanted) {
    bench b;
    const setting settings[] = {{"prior.precision", list}, {NULL, NULL}};
    open_linear(&b, settings);
    for (int j = 0; j < 4; j++) {
        if (b.m->precision[j] != wanted[j])
            fail_msg("\"%s\": parameter %d has %g", list, j + 1, b.m->precision[j]);
    }
    close_bench(&b);
}

static void test_lists(void **state) {
    (void)state;
    expect_list("2.5", (const double[]){2.5, 2.5, 2.5, 2.5});
    expect_list("1e-3", (const double[]){1e-3, 1e-3, 1e-3, 1e-3});
    expect_list("beta=3", (const double[]){3, 3, 3, 1});
    expect_list("beta=3,log_sigma=0.25", (const double[]){3, 3, 3, 0.25});
    expect_list("0.5,beta=3", (const double[]){3, 3, 3, 0.5});
    expect_list("beta=3,0.5", (const double[]){3, 3, 3, 0.5});
    expect_list(" x1 = 9 , beta = 3, intercept=0 ", (const double[]){0, 9, 3, 1});
    expect_list("intercept=0,beta=3,x1=9,7", (const double[]){0, 9, 3, 7});
    expect_list("0", (const double[]){0, 0, 0, 0});
}

static void test_lists_that_are_refused(void **state) {
    (void)state;
    refuses_list("", "takes a number, or a list");
    refuses_list("strong", "\"strong\" is neither");
    refuses_list("1,", "\"\" is neither");
    refuses_list("beta=abc,intercept=1", "\"beta=abc\" is neither");
    refuses_list("=3", "\"=3\" is neither");
    refuses_list("-1", "at least 0, not \"-1\"");
    refuses_list("beta=-0.5", "at least 0, not \"beta=-0.5\"");
    refuses_list("inf", "finite number");
    refuses_list("x1=nan", "finite number");
    refuses_list("1,2", "two numbers without a name");
    refuses_list("x1=1,x1=2", "\"x1\" is there twice");
    refuses_list("beta=1,beta=1", "\"beta\" is there twice");
    refuses_list("log_sigma=1,log_sigma=1", "\"log_sigma\" is there twice");
    refuses_list("intercpet=0", "no block or parameter \"intercpet\". Did you mean \"intercept\"?");
    refuses_list("Beta=1", "Did you mean \"beta\"?");
    refuses_list("hidden_weights=1", "its first block is \"beta\", its first parameter "
                                     "\"intercept\"");
}

static void test_options_that_contradict(void **state) {
    (void)state;
    const setting cases[][4] = {{{"prior.kind", "flat"}, {"prior.precision", "1"}, {NULL, NULL}},
                                {{"prior.kind", "flat"}, {"prior.file", "p.txt"}, {NULL, NULL}},
                                {{"prior.precision", "1"}, {"prior.file", "p.txt"}, {NULL, NULL}},
                                {{"prior.df", "3"}, {NULL, NULL}},
                                {{"prior.kind", "laplace"}, {"prior.df", "3"}, {NULL, NULL}}};
    const char *const words[] = {"--prior flat has no precision: leave --prior-precision out",
                                 "leave --prior-file out", "say the same thing",
                                 "no meaning with --prior gaussian",
                                 "no meaning with --prior laplace"};
    for (int i = 0; i < 5; i++) refuses(&sgfs_model_linear, cases[i], SGFS_EUSAGE, words[i]);
}

/* ---- names that hold commas, and a prior of the model's own ---------------------------------- */

static sgfs_status open_table(sgfs_model *m, sgfs_err *err) {
    if (sgfsi_model_add_block(m, "W", 2, 3, SGFS_SCORE_DENSE) == NULL ||
        sgfsi_model_add_block(m, "c", 1, 2, SGFS_SCORE_DENSE) == NULL)
        return sgfsi_fail_memory(err, "the model");
    sgfs_status status = sgfsi_model_room_for_names(m, err);
    if (status == SGFS_OK) sgfsi_model_name(m, 6, "c"); /* of the same name as its block */
    return status;
}

static sgfs_status own_prior(const sgfs_model *m, const double *theta, double *lp, double *G,
                             sgfs_err *err) {
    (void)err;
    for (int64_t j = 0; j < m->D; j++) {
        if (lp != NULL) *lp -= fabs(theta[j] - 2);
        if (G != NULL) G[j] += theta[j] < 2 ? 1 : -1;
    }
    return SGFS_OK;
}

static const sgfs_model_kind table = {
    .name = "table", .help = "", .options = sgfsi_no_options, .open = open_table};
static const sgfs_model_kind own = {.name = "own",
                                    .help = "",
                                    .options = sgfsi_no_options,
                                    .open = open_table,
                                    .log_prior = own_prior};

static void test_names_with_commas(void **state) {
    (void)state;
    bench b;
    const setting settings[] = {{"prior.precision", "W[2,3]=4,5,W[1,1]=6,W=7"}, {NULL, NULL}};
    const setting two[] = {{"prior.precision", "c=2"}, {NULL, NULL}};
    const setting unknown[] = {{"prior.precision", "W[3,1]=2,W=1"}, {NULL, NULL}};
    const double wanted[8] = {6, 7, 7, 7, 7, 4, 5, 5};
    open_as(&b, &table, settings);
    if (b.m == NULL) fail_msg("%s", b.err.text);
    assert_memory_equal(b.m->precision, wanted, sizeof wanted);
    close_bench(&b);
    refuses(&table, two, SGFS_EUSAGE, "\"c\" is a block and also a parameter; use a --prior-file");
    refuses(&table, unknown, SGFS_EUSAGE,
            "no block or parameter \"W[3,1]\". Did you mean \"W[1,1]");
}

static void test_a_model_with_its_own_prior(void **state) {
    (void)state;
    bench b;
    const setting none[] = {{NULL, NULL}};
    const char *const given[][2] = {{"prior.kind", "gaussian"},
                                    {"prior.precision", "1"},
                                    {"prior.df", "4"},
                                    {"prior.file", "p.txt"}};
    double theta[8] = {0}, lp = 0, G[8] = {0};
    open_as(&b, &own, none);
    if (b.m == NULL) fail_msg("%s", b.err.text);
    assert_int_equal(sgfsi_prior_add(b.m, theta, &lp, G, &b.err), SGFS_OK);
    assert_true(lp == -16 && G[0] == 1 && G[7] == 1);
    assert_true(b.m->prior == NULL && b.m->precision[0] == 0); /* not 1, the default of an option */
    assert_non_null(sgfsi_prior_caution(b.m));
    close_bench(&b);
    for (int i = 0; i < 4; i++) {
        const setting settings[] = {{given[i][0], given[i][1]}, {NULL, NULL}};
        refuses(&own, settings, SGFS_EUSAGE, "has a prior of its own");
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *write_text(const char *text) {
    static char path[64];
    snprintf(path, sizeof path, "prior_%ld.txt", (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void refuses_file(const char *text, sgfs_status code, const char *words) {
    const setting settings[] = {{"prior.file", write_text(text)}, {NULL, NULL}};
    refuses(&sgfs_model_linear, settings, code, words);
    remove(settings[0].value);
}

static void test_files(void **state) {
    (void)state;
    bench b;
    const double wanted[] = {0, 1.5, 2e-3, 40};
    const setting settings[] = {{"prior.file", write_text("# four\n0 1.5 2e-3 40\n")},
                                {NULL, NULL}};
    open_linear(&b, settings);
    assert_memory_equal(b.m->precision, wanted, sizeof wanted);
    assert_string_equal(sgfs_config_get(b.m->cfg, "prior.precision"), ""); /* not 1 */
    close_bench(&b);
    remove(settings[0].value);
    refuses_file("1 2 3\n", SGFS_EDATA, "has 1 x 3 numbers; the model has 4 parameters: 4 are");
    refuses_file("1\n2\n-3\n4\n", SGFS_EDATA,
                 "number 3, the prior precision of \"x2\", must be at");
    refuses_file("1 2 3 nan\n", SGFS_EDATA, "not finite");
    refuses_file("1 2 x 4\n", SGFS_EDATA, "no number at \"x 4\"");
    const setting missing[] = {{"prior.file", "no/such.npy"}, {NULL, NULL}};
    refuses(&sgfs_model_linear, missing, SGFS_EIO, "no/such.npy");
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static void check_again(const setting *settings, bool listed, const char *text) {
    bench b;
    open_linear(&b, settings);
    const sgfsi_json *list = sgfsi_json_get(b.m->saved, "prior_precisions");
    assert_int_equal(list != NULL, listed);
    if (listed) assert_int_equal(sgfsi_json_length(list), 4);
    if (text != NULL) assert_string_equal(sgfs_config_get(b.m->cfg, "prior.precision"), text);
    remove("prior_once.txt"); /* opened again, the file is not asked for */
    sgfs_model *again = sgfsi_model_create(b.m->kind, b.data, b.m->cfg, b.m->saved, &b.err);
    if (again == NULL) fail_msg("%s", b.err.text);
    assert_memory_equal(again->precision, b.m->precision, 4 * sizeof(double));
    assert_int_equal(sgfsi_json_get(again->saved, "prior_precisions") != NULL, listed);
    sgfs_model_free(again);
    close_bench(&b);
}

static void test_opened_again(void **state) {
    (void)state;
    const setting plain[] = {{"prior.precision", "3e-1"}, {NULL, NULL}},
                  list[] = {{"prior.precision", "beta=3"}, {NULL, NULL}},
                  same[] = {{"prior.precision", "beta=3,3"}, {NULL, NULL}},
                  flat[] = {{"prior.kind", "flat"}, {NULL, NULL}},
                  file[] = {{"prior.file", "prior_once.txt"}, {NULL, NULL}};
    check_again(plain, false, "3e-1"); /* as it was written */
    check_again(list, true, "beta=3");
    check_again(same, false, "3");
    check_again(flat, false, "0");
    rename(write_text("1 2 3 4\n"), "prior_once.txt");
    check_again(file, true, "");
    rename(write_text("8 8 8 8\n"), "prior_once.txt");
    check_again(file, false, "8");
}

/* A prior that the data's units make too narrow is told at once; which parameter, and of which
 * scale. With a precision of its own the same parameter is left in peace. */
static void test_a_narrow_prior(void **state) {
    (void)state;
    const struct {
        const char *kind, *precision, *says;
    } cases[] = {{"gaussian", "1e4", "The prior N(0, 0.01^2) is narrow"},
                 {"gaussian", "1e4,beta=0.5", NULL},
                 {"gaussian", "0.5,x2=1e5", "\"x2\" may well be"},
                 {"laplace", "1e4", NULL},
                 {"laplace", "1e6", "The prior laplace of scale 0.001 is narrow"},
                 {"student-t", "1e9", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b;
        const setting settings[] = {
            {"prior.kind", cases[i].kind}, {"prior.precision", cases[i].precision}, {NULL, NULL}};
        open_linear(&b, settings);
        const char *said = sgfsi_json_as_text(sgfsi_json_at(b.m->warnings, 0));
        if ((cases[i].says == NULL) != (said == NULL) ||
            (said != NULL && strstr(said, cases[i].says) == NULL))
            fail_msg("%s %s: %s", cases[i].kind, cases[i].precision, said != NULL ? said : "-");
        close_bench(&b);
    }
}

/* ---- the mode -------------------------------------------------------------------------------- */

static void test_no_mode_search_on_a_kink(void **state) {
    (void)state;
    bench b;
    sgfsi_mode mode;
    sgfsi_arena arena = {NULL};
    const sgfsi_mode_plan plan = {.method = "lbfgs", .tolerance = 1e-8};
    const setting settings[] = {{"prior.kind", "laplace"}, {NULL, NULL}};
    open_linear(&b, settings);
    assert_int_equal(sgfsi_mode_search(b.m, &plan, &arena, &mode, &b.err), SGFS_EUSAGE);
    assert_non_null(strstr(b.err.text, "kink"));
    assert_non_null(strstr(b.err.text, "--sampler nuts"));
    sgfsi_pilot pilot; /* measured as with a Gaussian */
    assert_int_equal(sgfsi_pilot_of(b.m, &pilot, &b.err), SGFS_OK);
    assert_true(pilot.stiff > pilot.soft);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* Both searches end where the gradient is 0, at the same place, with the weight in A. */
static void test_the_mode_with_a_student_t(void **state) {
    (void)state;
    bench b;
    sgfsi_mode mode[2];
    sgfsi_arena arena = {NULL};
    const setting settings[] = {{"prior.kind", "student-t"},
                                {"prior.df", "3"},
                                {"prior.precision", "beta=30,log_sigma=0.5"},
                                {NULL, NULL}};
    open_linear(&b, settings);
    for (int k = 0; k < 2; k++) {
        double lp, G[4], A[16], step = 0;
        const sgfsi_mode_plan plan = {.method = k == 0 ? "fisher" : "lbfgs", .tolerance = 1e-9};
        if (sgfsi_mode_search(b.m, &plan, &arena, &mode[k], &b.err) != SGFS_OK)
            fail_msg("%s", b.err.text);
        assert_int_equal(sgfsi_posterior_full(b.m, mode[k].theta, &lp, G, A, &b.err), SGFS_OK);
        for (int j = 0; j < 4; j++) step = hypot(step, G[j] / sqrt(A[j * 5]));
        assert_near(step, 0, 1e-7, "gradient at the mode, in standard deviations");
    }
    for (int j = 0; j < 4; j++)
        assert_near(mode[0].theta[j], mode[1].theta[j], 1e-6, "fisher and lbfgs");
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_against_closed_forms),
        cmocka_unit_test(test_the_option_knows_all_kinds),
        cmocka_unit_test(test_at_zero_and_far_out),
        cmocka_unit_test(test_information),
        cmocka_unit_test(test_curvature),
        cmocka_unit_test(test_the_model_adds_them_up),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_lists_that_are_refused),
        cmocka_unit_test(test_options_that_contradict),
        cmocka_unit_test(test_names_with_commas),
        cmocka_unit_test(test_a_model_with_its_own_prior),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_opened_again),
        cmocka_unit_test(test_a_narrow_prior),
        cmocka_unit_test(test_no_mode_search_on_a_kink),
        cmocka_unit_test(test_the_mode_with_a_student_t),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
