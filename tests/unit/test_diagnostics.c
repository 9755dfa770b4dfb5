/* SPDX-License-Identifier: MIT
 * test_diagnostics.c: ESS, R-hat and quantiles against ArviZ on stored chains (golden/chains.json,
 * made by golden/make_chains.py), and summaries and comparisons against moments worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "diagnostics/ess.h"
#include "diagnostics/interval.h"
#include "diagnostics/measures.h"
#include "diagnostics/moments.h"
#include "diagnostics/normal.h"
#include "diagnostics/summary.h"

/* |a - b| within tol of their size; two NaN are equal. */
static void assert_close(double a, double b, double tol, const char *what) {
    if (isnan(a) && isnan(b)) return;
    if (fabs(a - b) <= tol * fmax(fabs(a), fabs(b))) return;
    fail_msg("%s: %.17g is not %.17g within %g", what, a, b, tol);
}

/* ---- against ArviZ, scipy and plain sums
 * ---------------------------------------------------------- */

static sgfsi_json *golden(void) {
    size_t length;
    sgfs_err err = {0};
    char *text =
        sgfsi_file_read(SGFS_SOURCE_DIR "/tests/golden/chains.json", 1 << 20, &length, &err);
    assert_non_null(text);
    sgfsi_json *json = sgfsi_json_parse(text, length, "chains.json", &err);
    free(text);
    assert_non_null(json);
    return json;
}

static double number_at(const sgfsi_json *array, int64_t i) {
    double x = 0.0;
    assert_true(sgfsi_json_as_num(sgfsi_json_at(array, i), &x));
    return x;
}

static void test_normal_quantiles_are_scipys(void **state) {
    (void)state;
    sgfsi_json *json = golden();
    const sgfsi_json *normal = sgfsi_json_get(json, "normal");
    const sgfsi_json *p = sgfsi_json_get(normal, "p"), *x = sgfsi_json_get(normal, "x");
    for (int64_t i = 0; i < sgfsi_json_length(p); i++) {
        assert_close(sgfsi_normal_quantile(number_at(p, i)), number_at(x, i), 2e-15, "quantile");
    }
    assert_true(sgfsi_normal_quantile(0.5) == 0.0);
    assert_true(sgfsi_normal_quantile(0.0) == -INFINITY && sgfsi_normal_quantile(1.0) == INFINITY);
    assert_true(isnan(sgfsi_normal_quantile(1.385)) && isnan(sgfsi_normal_quantile(NAN)));
    sgfsi_json_free(json);
}

static sgfsi_trace *load_case(sgfsi_arena *arena, const sgfsi_json *stored) {
    const sgfsi_json *chains = sgfsi_json_get(stored, "chains");
    int64_t m = sgfsi_json_length(chains), n = sgfsi_json_length(sgfsi_json_at(chains, 0));
    double *x = SGFSI_DOUBLES(arena, m * n);
    const double **row = sgfsi_arena_alloc(arena, m, sizeof *row);
    for (int64_t c = 0; c < m; c++) {
        row[c] = x + c * n;
        for (int64_t t = 0; t < n; t++) x[c * n + t] = number_at(sgfsi_json_at(chains, c), t);
    }
    sgfsi_trace *trace = sgfsi_trace_new(arena, m, n);
    assert_non_null(trace);
    sgfsi_trace_load(trace, row, 1);
    return trace;
}

static void check_case(sgfsi_trace *t, const sgfsi_json *stored) {
    const struct {
        const char *key;
        double value;
    } got[] = {{"mean", t->mean},
               {"sd", t->sd},
               {"q5", t->q5},
               {"q50", t->q50},
               {"q95", t->q95},
               {"ess_mean", sgfsi_ess_mean(t)},
               {"ess_bulk", sgfsi_ess_bulk(t)},
               {"ess_tail", sgfsi_ess_tail(t)},
               {"r_hat", sgfsi_rhat(t)},
               {"mcse", t->sd / sqrt(sgfsi_ess_mean(t))}};
    for (size_t i = 0; i < sizeof got / sizeof got[0]; i++) {
        char what[128];
        snprintf(what, sizeof what, "%s of \"%s\"", got[i].key,
                 sgfsi_json_get_text(stored, "name", ""));
        assert_close(got[i].value, sgfsi_json_get_num(stored, got[i].key, -1.0), 1e-9, what);
    }
}

static void test_ess_and_rhat_are_arvizs(void **state) {
    (void)state;
    sgfsi_json *json = golden();
    const sgfsi_json *cases = sgfsi_json_get(json, "cases");
    assert_true(sgfsi_json_length(cases) > 20);
    for (int64_t i = 0; i < sgfsi_json_length(cases); i++) {
        sgfsi_arena arena = {0};
        const sgfsi_json *stored = sgfsi_json_at(cases, i);
        check_case(load_case(&arena, stored), stored);
        sgfsi_arena_free(&arena);
    }
    sgfsi_json_free(json);
}

/* m series of n draws about series-dependent means. */
static double *make_series(sgfsi_arena *arena, int64_t m, int64_t n) {
    double *x = SGFSI_DOUBLES(arena, m * n);
    sgfsi_stream stream = sgfsi_stream_at(2385, 0, 0, SGFSI_NOISE);
    sgfsi_normals(&stream, m * n, x);
    for (int64_t i = 1; i < m * n; i++) x[i] += 0.6 * x[i - 1];
    for (int64_t i = 0; i < m * n; i++) x[i] += 7.25 * (double)(i / n);
    return x;
}

static double direct_autocov(const double *x, int64_t n, int64_t lag) {
    double mean = 0.0, sum = 0.0;
    for (int64_t t = 0; t < n; t++) mean += x[t] / (double)n;
    for (int64_t t = 0; t + lag < n; t++) sum += (x[t] - mean) * (x[t + lag] - mean);
    return sum / (double)n;
}

static void check_autocov(int64_t m, int64_t n) {
    sgfsi_arena arena = {0};
    sgfsi_autocorr w;
    double *x = make_series(&arena, m, n), *out = SGFSI_DOUBLES(&arena, n);
    double *mean = SGFSI_DOUBLES(&arena, m);
    assert_true(sgfsi_autocorr_init(&w, &arena, n));
    sgfsi_autocov(&w, m, x, mean, out);
    for (int64_t lag = 0; lag < n; lag++) {
        double expected = 0.0;
        for (int64_t i = 0; i < m; i++) expected += direct_autocov(x + i * n, n, lag) / (double)m;
        assert_true(fabs(out[lag] - expected) < 1e-13 * (1.0 + out[0]));
    }
    for (int64_t t = 0; t < m * n; t++) mean[t / n] -= x[t] / (double)n;
    for (int64_t i = 0; i < m; i++) assert_true(fabs(mean[i]) < 1e-11);
    sgfsi_arena_free(&arena);
}

static void test_fft_autocovariance_is_the_direct_sum(void **state) {
    (void)state;
    check_autocov(1, 2);
    check_autocov(1, 3);
    check_autocov(3, 37);
    check_autocov(4, 64);
    check_autocov(5, 1500); /* large enough to recurse */
}

static void test_tiny_scale_is_not_called_constant(void **state) {
    (void)state;
    sgfsi_arena arena = {0};
    double *x = make_series(&arena, 1, 400), *y = SGFSI_DOUBLES(&arena, 400);
    for (int64_t i = 0; i < 400; i++) y[i] = 0x1p-70 * x[i];
    const double *one[] = {x}, *two[] = {y};
    sgfsi_trace *t = sgfsi_trace_new(&arena, 1, 400);
    sgfsi_trace_load(t, one, 1);
    double ess = sgfsi_ess_mean(t);
    sgfsi_trace_load(t, two, 1);
    assert_close(sgfsi_ess_mean(t), ess, 1e-12, "ess of the scaled chain");
    assert_true(ess < 250.0);
    sgfsi_arena_free(&arena);
}

static void test_a_number_that_is_none_gives_nan(void **state) {
    (void)state;
    sgfsi_arena arena = {0};
    double *x = make_series(&arena, 2, 100);
    const double *rows[] = {x, x + 100};
    sgfsi_trace *t = sgfsi_trace_new(&arena, 2, 100);
    x[141] = -INFINITY;
    sgfsi_trace_load(t, rows, 1);
    assert_true(isnan(sgfsi_ess_bulk(t)) && isnan(sgfsi_ess_tail(t)) && isnan(sgfsi_rhat(t)));
    assert_true(isnan(t->q50) && isnan(t->sd));
    sgfsi_arena_free(&arena);
}

/* ---- intervals
 * --------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_draws_in_order_have_the_middle_ones_too(void **state) {
    (void)state;
    for (int64_t n = 4; n <= 7; n++) {
        sgfsi_arena arena = {0};
        double *x = make_series(&arena, 3, n), *out = SGFSI_DOUBLES(&arena, 3 * n);
        const double *chain[] = {x, x + n, x + 2 * n};
        sgfsi_trace *t = sgfsi_trace_new(&arena, 3, n);
        sgfsi_trace_load(t, chain, 1);
        sgfsi_trace_values(t, out);
        qsort(x, (size_t)(3 * n), sizeof *x, by_size);
        assert_memory_equal(x, out, (size_t)(3 * n) * sizeof *x);
        sgfsi_interval i = sgfsi_interval_of(3 * n, out, 0.9, SGFSI_EQUAL_TAILED, false);
        assert_close(i.low, t->q5, 1e-15, "low");
        assert_close(i.centre, t->q50, 1e-15, "centre");
        assert_close(i.high, t->q95, 1e-15, "high");
        sgfsi_arena_free(&arena);
    }
}

/* Squares of 0 .. 19: the shortest interval is at the lower end. exp of -x^2 is the other way. */
static void test_intervals_by_hand(void **state) {
    (void)state;
    double square[20], fall[20];
    for (int i = 0; i < 20; i++) {
        square[i] = i * i;
        fall[i] = -0.01 * (19 - i) * (19 - i) + 1e-9 * i;
    }
    sgfsi_interval i = sgfsi_interval_of(20, square, 0.5, SGFSI_HIGHEST_DENSITY, false);
    assert_true(i.low == 0 && i.high == 100 && i.centre == 90.5);
    i = sgfsi_interval_of(20, square, 0.5, SGFSI_EQUAL_TAILED, false);
    assert_true(i.low == 22.75 && i.high == 203.25);
    /* of the logs the upper end is dense, of the ratios the lower one is */
    i = sgfsi_interval_of(20, fall, 0.5, SGFSI_HIGHEST_DENSITY, false);
    assert_true(i.low == fall[9] && i.high == fall[19]);
    i = sgfsi_interval_of(20, fall, 0.5, SGFSI_HIGHEST_DENSITY, true);
    assert_true(i.low == exp(fall[0]) && i.high == exp(fall[10]));
    i = sgfsi_interval_of(20, fall, 0.5, SGFSI_EQUAL_TAILED, true);
    assert_close(i.low, exp(0.25 * fall[4] + 0.75 * fall[5]), 1e-14, "low");
    const double late[] = {1.5, 2, 2.1, 2.2, 2.3, 9};
    i = sgfsi_interval_of(6, late, 0.5, SGFSI_HIGHEST_DENSITY, true);
    assert_true(i.low == exp(2) && i.high == exp(2.3));
    i = sgfsi_interval_of(1, square + 3, 0.95, SGFSI_HIGHEST_DENSITY, false);
    assert_true(i.low == 9 && i.centre == 9 && i.high == 9);
    assert_true(isnan(sgfsi_interval_of(0, square, 0.9, SGFSI_EQUAL_TAILED, false).centre));
}

/* ---- draws made by hand
 * --------------------------------------------------------------------------- */

enum { CHAINS = 3, DRAWS = 4, DIM = 2 };

typedef struct made {
    sgfs_draws d;
    sgfsi_chain_draws chain[CHAINS];
    char *param[DIM];
    char a[16], b[16], state[32];
    double theta[2][DRAWS * DIM], mean[2][DIM], cov[2][DIM * DIM], var[2][DIM];
} made;

/* Two chains of four draws of "a" and "b"; a third without any. */
static void make_draws(made *m) {
    const double first[] = {1.0, 4.0, 2.0, 2.0, 3.0, 3.0, 4.0, -1.0};
    const double second[] = {2.0, 1.0, 5.0, 0.0, 3.0, 5.0, 4.0, 2.0};
    memset(m, 0, sizeof *m);
    memcpy(m->theta[0], first, sizeof first);
    memcpy(m->theta[1], second, sizeof second);
    strcpy(m->a, "a");
    strcpy(m->b, "b");
    strcpy(m->state, "complete");
    m->param[0] = m->a;
    m->param[1] = m->b;
    m->d =
        (sgfs_draws){.chains = CHAINS, .D = DIM, .param = m->param, .chain = m->chain, .thin = 1};
    m->d.state = m->state;
    for (int c = 0; c < 2; c++) {
        m->chain[c].draws = DRAWS;
        m->chain[c].theta = m->theta[c];
    }
}

/* Running moments: of 10 and 30 iterations. */
static void add_infos(made *m) {
    const double mean[2][DIM] = {{1.0, 2.0}, {3.0, 1.0}};
    const double cov[2][DIM * DIM] = {{2.0, 0.5, 0.5, 1.0}, {1.0, -0.25, -0.25, 3.0}};
    memcpy(m->mean, mean, sizeof mean);
    memcpy(m->cov, cov, sizeof cov);
    for (int c = 0; c < 2; c++) {
        sgfsi_chain_info *info = &m->chain[c].info;
        info->iterations = c == 0 ? 10 : 30;
        info->mean = m->mean[c];
        info->cov = m->cov[c];
        info->var = m->var[c];
        for (int i = 0; i < DIM; i++) m->var[c][i] = m->cov[c][i * DIM + i];
        info->warmup_seconds = 0.5;
        info->sample_seconds = c == 0 ? 2.0 : 3.0;
        info->rows_touched = 1000;
        info->interventions = 6 * c;
    }
}

static sgfsi_moments moments_of(made *m, sgfsi_arena *arena) {
    sgfsi_used used;
    sgfsi_moments out;
    assert_int_equal(sgfsi_used_of(&m->d, arena, &used, NULL), SGFS_OK);
    assert_int_equal(used.chains, 2);
    assert_int_equal(used.draws, 4);
    assert_int_equal(sgfsi_moments_of(&m->d, &used, true, arena, &out, NULL), SGFS_OK);
    return out;
}

static void test_moments_of_the_kept_draws(void **state) {
    (void)state;
    made m;
    sgfsi_arena arena = {0};
    make_draws(&m);
    sgfsi_moments out = moments_of(&m, &arena);
    assert_false(out.every_iteration);
    assert_int_equal(out.count, 8);
    /* a: 1 2 3 4 2 5 3 4 (mean 3, squares 12); b: 4 2 3 -1 1 0 5 2 (mean 2, squares 28); cross -10
     */
    assert_close(out.mean[0], 3.0, 1e-15, "mean a");
    assert_close(out.mean[1], 2.0, 1e-15, "mean b");
    assert_close(out.cov[0], 12.0 / 7.0, 1e-15, "C aa");
    assert_close(out.cov[1], -10.0 / 7.0, 1e-15, "C ab");
    assert_close(out.cov[2], -10.0 / 7.0, 1e-15, "C ba");
    assert_close(out.cov[3], 28.0 / 7.0, 1e-15, "C bb");
    assert_close(out.var[1], 28.0 / 7.0, 1e-15, "var b");
    sgfsi_arena_free(&arena);
}

static void test_moments_of_every_iteration(void **state) {
    (void)state;
    made m;
    sgfsi_arena arena = {0};
    make_draws(&m);
    add_infos(&m);
    sgfsi_moments out = moments_of(&m, &arena);
    assert_true(out.every_iteration);
    assert_int_equal(out.count, 40);
    /* means (10 + 90)/40 = 2.5, (20 + 30)/40 = 1.25; 39 C = 9 C1 + 29 C2 + 10 d1 d1' + 30 d2 d2',
     * d1 = (-1.5, 0.75), d2 = (0.5, -0.25) */
    assert_close(out.mean[0], 2.5, 1e-15, "mean a");
    assert_close(out.mean[1], 1.25, 1e-15, "mean b");
    assert_close(out.cov[0], (18.0 + 29.0 + 22.5 + 7.5) / 39.0, 1e-14, "C aa");
    assert_close(out.cov[2], (4.5 - 7.25 - 11.25 - 3.75) / 39.0, 1e-14, "C ba");
    assert_close(out.cov[3], (9.0 + 87.0 + 5.625 + 1.875) / 39.0, 1e-14, "C bb");
    assert_close(out.var[0], out.cov[0], 1e-15, "var a");
    m.chain[1].info.cov = NULL; /* one chain without: all from the draws */
    assert_false(moments_of(&m, &arena).every_iteration);
    sgfsi_arena_free(&arena);
}

/* ---- summary
 * -------------------------------------------------------------------------------------- */

static bool warns(const sgfs_summary *s, const char *part) {
    for (int64_t i = 0; i < s->warnings; i++) {
        if (strstr(s->warning[i], part) != NULL) return true;
    }
    return false;
}

static void test_summary_counts_costs(void **state) {
    (void)state;
    made m;
    make_draws(&m);
    add_infos(&m);
    m.d.thin = 5;
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_int_equal(s->chains, 2);
    assert_int_equal(s->draws, 4);
    assert_close(s->seconds, 6.0, 1e-15, "seconds");
    assert_close(s->sample_seconds, 5.0, 1e-15, "sample seconds");
    assert_close(s->rows_touched, 2000.0, 1e-15, "rows");
    assert_close(s->interventions, 6.0, 1e-15, "interventions");
    assert_close(s->row[0].mean, 2.5, 1e-15, "mean of every iteration");
    /* four draws a chain: ESS is at its ceiling, 8 log10 8 */
    double ess = 8.0 * log10(8.0);
    assert_close(s->ess_min, ess, 1e-12, "ess");
    assert_close(s->row[1].tau, 5.0 * 8.0 / ess, 1e-12, "tau in iterations");
    assert_close(s->ess_per_s, ess / 3.0, 1e-12, "ess per second of the slowest chain");
    assert_close(s->inv_atuc, 40.0 / (5.0 * s->tau_max), 1e-12, "1/ATUC");
    assert_close(s->row[0].mcse, sqrt(12.0 / 7.0 / ess), 1e-12, "mcse");
    sgfsi_summary_free(s);
}

static void test_summary_warns_and_says_what_to_do(void **state) {
    (void)state;
    made m;
    make_draws(&m);
    add_infos(&m);
    m.d.header = sgfsi_json_parse(
        "{\"title\": \"logistic by sgfs\", \"cautions\": [\"Mind the gap.\"]}", 60, "header", NULL);
    m.chain[1].draws = 3;
    strcpy(m.state, "stopped early");
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_string_equal(s->title, "logistic by sgfs");
    assert_true(warns(s, "stopped early"));
    assert_true(warns(s, "1 of 3 chains have no draws"));
    assert_true(warns(s, "3 to 4 draws"));
    assert_true(warns(s, "at least 4"));
    assert_true(warns(s, "A ridge was added 6 times"));
    assert_true(warns(s, "Mind the gap."));
    assert_false(warns(s, "only one chain"));
    sgfsi_summary_free(s);
    m.chain[1].draws = 0;
    m.theta[0][3] = NAN;
    strcpy(m.state, "failed: chain 1 left.");
    s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_true(warns(s, "only one chain"));
    assert_true(warns(s, "The run failed: chain 1 left. These numbers"));
    assert_true(warns(s, "1 of 2 parameters have draws that are not finite numbers (first: b)"));
    sgfsi_summary_free(s);
    sgfsi_json_free(m.d.header);
}

/* Two chains of 400 draws of four parameters: fine, slow, one chain shifted, fine. */
static void make_long(made *m, double *theta, char **names, double shift) {
    static char name[4][8] = {"fine", "slow", "shifted", "also"};
    make_draws(m);
    sgfsi_stream stream = sgfsi_stream_at(41, 0, 0, SGFSI_NOISE);
    sgfsi_normals(&stream, 3200, theta);
    for (int64_t i = 0; i < 800; i++) {
        if (i >= 400) theta[i * 4 + 2] += shift;
        if (i % 400 > 0) theta[i * 4 + 1] += 0.93 * theta[(i - 1) * 4 + 1];
    }
    for (int i = 0; i < 4; i++) names[i] = name[i];
    m->d.D = 4;
    m->d.param = names;
    for (int c = 0; c < 2; c++) {
        m->chain[c].draws = 400;
        m->chain[c].theta = theta + c * 1600;
    }
}

static void test_summary_names_the_worst(void **state) {
    (void)state;
    made m;
    char *names[4];
    double *theta = malloc(3200 * sizeof *theta);
    make_long(&m, theta, names, 1.0);
    m.d.thin = 2;
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_true(warns(s, "R-hat is over 1.01 for 2 of 4 parameters"));
    assert_true(warns(s, "worst: shifted, slow)"));
    assert_true(warns(s, "ESS is under 400 for 2 of 4 parameters"));
    assert_true(warns(s, " (now 800), or a longer --warmup"));
    double needed = 800.0 * 400.0 / s->ess_min; /* 400 kept, one in two */
    for (int64_t i = 0; i < s->warnings; i++) {
        const char *about = strstr(s->warning[i], "About --draws ");
        if (about == NULL) continue;
        double said = strtod(about + 14, NULL);
        assert_true(said >= needed && said <= 1.11 * needed);
    }
    char *json = sgfsi_json_finish(sgfsi_summary_json(s));
    assert_non_null(json);
    sgfsi_json *back = sgfsi_json_parse(json, strlen(json), "summary", NULL);
    const sgfsi_json *param = sgfsi_json_at(sgfsi_json_get(back, "params"), 1);
    assert_string_equal(sgfsi_json_get_text(param, "name", ""), "slow");
    assert_close(sgfsi_json_get_num(param, "tau", 0.0), s->row[1].tau, 0.0, "tau in JSON");
    assert_int_equal(sgfsi_json_length(sgfsi_json_get(back, "warnings")), s->warnings);
    sgfsi_json_free(back);
    free(json);
    sgfsi_summary_free(s);
    free(theta);
}

/* A chain in another place is named, with both places. */
static void test_summary_names_the_chain_apart(void **state) {
    (void)state;
    made m;
    char *names[4];
    double *theta = malloc(3200 * sizeof *theta);
    make_long(&m, theta, names, 6.0);
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_true(warns(s, "The chains have not come together"));
    assert_true(warns(s, "for shifted: chain 1 is around 0.") ||
                warns(s, "for shifted: chain 1 is around -0."));
    assert_true(warns(s, "the others around 6") || warns(s, "the others around 5.9"));
    sgfsi_summary_free(s);
    free(theta);
}

/* sd twice what the curvature predicts, with ESS enough to know: said for that parameter only. */
static void test_summary_compares_spread_with_curvature(void **state) {
    (void)state;
    made m;
    char *names[4];
    double *theta = malloc(3200 * sizeof *theta), curvature[4] = {1.0, 4.1, 1.0, 0.5};
    make_long(&m, theta, names, 0.0);
    m.chain[0].info.curvature_sd = m.chain[1].info.curvature_sd = curvature;
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_true(s->row[3].sd_curvature == 0.5);
    assert_true(warns(s, "The spread of 1 of 4 parameters"));
    assert_true(warns(s, "worst: also)"));
    assert_true(warns(s, "Try smaller steps;")); /* nothing is known of its sampler */
    sgfsi_summary_free(s);
    const struct {
        const char *header, *advice;
    } row[] = {{"{\"sampler\": \"x\", \"smaller_steps\": \"a smaller --y\"}", "Try a smaller --y;"},
               {"{\"sampler\": \"x\", \"fisher\": \"full\"}", "noisier or quieter than the model"},
               {"{\"sampler\": \"x\", \"optimiser\": true}", NULL}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        m.d.header = sgfsi_json_parse(row[i].header, strlen(row[i].header), "header", NULL);
        s = sgfsi_summary_new(&m.d, 2, NULL);
        if (row[i].advice != NULL) assert_true(warns(s, row[i].advice));
        else assert_false(warns(s, "The spread of"));
        sgfsi_summary_free(s);
        sgfsi_json_free(m.d.header);
        m.d.header = NULL;
    }
    curvature[3] = 1.0;
    s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_false(warns(s, "The spread of"));
    sgfsi_summary_free(s);
    free(theta);
}

/* Kept draws are independent at thin 100 and say tau = 100; every iteration says 10, and the mean
 * is as much better known. One chain of two that does not know does not spoil it. */
static void test_thinning_does_not_hide_tau(void **state) {
    (void)state;
    made m;
    char *names[4];
    double *theta = malloc(3200 * sizeof *theta), mean[4] = {0}, var[4] = {1, 1, 1, 1};
    double tau[4] = {10, 10, 10, 10}, unknown[4] = {NAN, NAN, NAN, NAN};
    make_long(&m, theta, names, 0.0);
    m.d.thin = 100;
    for (int c = 0; c < 2; c++) {
        m.chain[c].info.iterations = 40000;
        m.chain[c].info.mean = mean;
        m.chain[c].info.var = var;
        m.chain[c].info.tau = c == 0 ? tau : unknown;
    }
    sgfs_summary *s = sgfsi_summary_new(&m.d, 2, NULL);
    assert_non_null(s);
    assert_close(s->row[0].tau, 10.0, 1e-12, "tau");
    assert_close(s->row[0].mcse, s->row[0].sd * sqrt(10.0 / 80000), 1e-9, "mcse");
    assert_true(s->row[1].tau >
                500); /* slow: the kept draws themselves are correlated, and know better */
    sgfsi_summary_free(s);
    free(theta);
}

static void test_summary_of_nothing_is_refused(void **state) {
    (void)state;
    made m;
    sgfs_err err = {0};
    make_draws(&m);
    m.chain[0].draws = m.chain[1].draws = 0;
    assert_null(sgfsi_summary_new(&m.d, 2, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "no draws"));
}

/* ---- measures and comparison
 * ---------------------------------------------------------------------- */

static void test_measures_by_hand(void **state) {
    (void)state;
    const double mean[] = {1.5, -2.0}, ref_mean[] = {1.0, -3.0};
    const double cov[] = {2.0, 0.5, 0.5, 1.0}, ref[] = {4.0, 1.0, 1.0, 1.25};
    double scratch[6];
    assert_close(sgfsi_measure_E1(2, mean, ref_mean), 1.5 / 4.0, 1e-15, "E1");
    assert_close(sgfsi_measure_E2(2, cov, ref), 3.25 / 7.25, 1e-15, "E2");
    /* det 4: inverse [1.25 -1; -1 4]/4; tr = (2.5 - 0.5 - 0.5 + 4)/4 = 1.375 */
    assert_close(sgfsi_measure_trR(2, cov, ref, scratch), 1.375 / 2.0, 1e-15, "trR");
    const double flat[] = {1.0, 2.0, 2.0, 4.0};
    assert_true(isnan(sgfsi_measure_trR(2, cov, flat, scratch)));
    assert_close(sgfsi_measure_tau2(3.0), 1.25 / 0.75, 1e-15, "tau2 of rho = 1/2");
    const double error[] = {0.1, 0.3};
    assert_close(sgfsi_noise_E1(2, error, ref_mean), sqrt(2.0 / acos(-1.0)) * 0.1, 1e-14,
                 "E1 noise");
    double c2 = sqrt(2.0 / acos(-1.0)) * (sqrt(32.0) + 2.0 * sqrt(6.0) + sqrt(3.125)) / 7.25;
    assert_close(sgfsi_noise_E2(2, ref, 0.01), 0.1 * c2, 1e-14, "E2 noise");
    assert_close(sgfsi_noise_trR(2, 0.01), 0.1, 1e-14, "trR noise");
}

static void test_trR_of_larger_matrices(void **state) {
    (void)state;
    enum { D = 7 };
    double ref[D * D], cov[D * D], scratch[D * (D + 1)];
    for (int i = 0; i < D; i++) {
        for (int j = 0; j < D; j++) {
            ref[i * D + j] = pow(0.6, abs(i - j)) * (double)((i + 1) * (j + 1));
            cov[i * D + j] = 1.7 * ref[i * D + j];
        }
    }
    assert_close(sgfsi_measure_trR(D, cov, ref, scratch), 1.7, 1e-13, "trR of a multiple");
}

static void test_pairs_by_divergence(void **state) {
    (void)state;
    const double mean[] = {1.0, 0.0, 0.0}, ref_mean[] = {0.0, 0.0, 0.0};
    const double cov[] = {1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0};
    const double ref[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    sgfsi_gaussians g = {3, mean, cov, ref_mean, ref};
    int64_t best[2], worst[2];
    assert_close(sgfsi_pair_divergence(&g, 1, 2), 0.5 * (3.0 + 1.5) - 2.0, 1e-14, "variance 2");
    assert_close(sgfsi_pair_divergence(&g, 0, 2), 1.0, 1e-14, "mean 1");
    sgfsi_pair_extremes(&g, best, worst);
    assert_true(best[0] == 1 && best[1] == 2 && worst[0] == 0 && worst[1] == 1);
    const double P[] = {2.0, 0.5, 0.5, 1.0}, Q[] = {4.0, 1.0, 1.0, 1.25}, d[] = {0.5, 1.0};
    sgfsi_gaussians two = {2, d, P, ref_mean, Q};
    /* tr(P^-1 Q) = 5.5/1.75, d'P^-1 d = 1, tr(Q^-1 P) = 1.375, d'Q^-1 d = 3.3125/4 */
    double expected = 0.5 * (5.5 / 1.75 + 1.0 + 1.375 + 3.3125 / 4.0) - 2.0;
    assert_close(sgfsi_pair_divergence(&two, 0, 1), expected, 1e-14, "correlated pair");
    g.D = 1;
    sgfsi_pair_extremes(&g, best, worst);
    assert_true(best[0] == -1 && worst[1] == -1);
}

/* A reference file that goes when the test does. */
static char path[] = "test_diagnostics_reference.json";

static sgfs_compare *compare_with(const made *m, const char *text, sgfs_err *err) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    sgfs_compare *c = sgfsi_compare_new(&m->d, path, 2, err);
    unlink(path);
    return c;
}

static void test_compare_by_name_in_any_order(void **state) {
    (void)state;
    made m;
    make_draws(&m);
    sgfs_compare *c = compare_with(&m,
                                   " \n{\"names\": [\"b\", \"a\"], \"mean\": [1.5, 3.5],"
                                   "\"cov\": [[3, -1], [-1, 2]], \"theta\": [9, 2.5]}",
                                   NULL);
    assert_non_null(c);
    assert_close(c->E1, 1.0 / 5.0, 1e-15, "E1");
    assert_close(c->E2, (2.0 / 7.0 + 2.0 * 3.0 / 7.0 + 1.0) / 7.0, 1e-14, "E2");
    /* inverse of [2 -1; -1 3] is [3 1; 1 2]/5 */
    assert_close(c->trR, (36.0 - 20.0 + 56.0) / 7.0 / 5.0 / 2.0, 1e-14, "trR");
    double ess = 8.0 * log10(8.0);
    assert_close(c->row[0].z, -0.5 / sqrt(12.0 / 7.0 / ess), 1e-12, "z of a");
    assert_close(c->row[1].reference_sd, sqrt(3.0), 1e-15, "sd of b");
    double tau = 8.0 / ess, v = 0.5 * (tau + 1.0 / tau) / 8.0;
    assert_close(c->trR_noise, sqrt(v), 1e-12, "trR noise");
    assert_true(c->true_total == 2 && c->true_inside == 1);
    assert_true(c->best[0] == 0 && c->worst[1] == 1);
    char *json = sgfsi_json_finish(sgfsi_compare_json(c));
    assert_non_null(strstr(json, "\"reference\""));
    assert_non_null(strstr(json, "\"E2_noise\""));
    free(json);
    sgfsi_compare_free(c);
}

static void test_compare_counts_the_references_own_error(void **state) {
    (void)state;
    made m;
    make_draws(&m);
    sgfs_compare *c = compare_with(&m,
                                   "{\"names\": [\"a\", \"b\"], \"mean\": [2, 2], \"ess\": 4,"
                                   "\"cov\": [[2, 0], [0, 3]]}",
                                   NULL);
    double ess = 8.0 * log10(8.0);
    assert_close(c->row[0].z, 1.0 / sqrt(12.0 / 7.0 / ess + 2.0 / 4.0), 1e-12,
                 "z with both errors");
    sgfsi_compare_free(c);
    c = compare_with(&m, "{\"names\": [\"a\", \"b\"], \"mean\": [2, 2]}", NULL);
    assert_true(isnan(c->E2) && isnan(c->trR) && isnan(c->row[0].reference_sd));
    assert_close(c->E1, 0.25, 1e-15, "E1 alone");
    assert_true(c->best[0] == -1 && c->true_total == 0);
    sgfsi_compare_free(c);
}

static void test_compare_refuses_what_does_not_fit(void **state) {
    (void)state;
    const struct {
        const char *text, *says;
    } bad[] = {
        {"{\"names\": [\"a\", \"c\"], \"mean\": [1, 2]}",
         "the reference lacks \"b\"; the run lacks \"c\""},
        {"{\"names\": [\"a\", \"b\", \"d\"], \"mean\": [1, 2, 3]}", "the run lacks \"d\""},
        {"{\"names\": [\"a\"], \"mean\": [1]}", "the reference lacks \"b\""},
        {"{\"names\": [\"a\", \"b\", \"a\"], \"mean\": [1, 2, 3]}", "twice"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1]}", "\"mean\" must be an array of 2 numbers"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, null]}", "\"mean\"[1] is not a finite number"},
        {"{\"names\": [\"a\", \"b\"]}", "\"mean\""},
        {"{\"mean\": [1, 2]}", "needs \"names\""},
        {"{\"names\": [\"a\", 7], \"mean\": [1, 2]}", "\"names\"[1] is not text"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, 2], \"cov\": [[1, 0]]}", "must have 2 rows"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, 2], \"cov\": [[1, 0], [0]]}", "array of 2"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, 2], \"cov\": [[1, 0], [0.5, 1]]}",
         "not symmetric"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, 2], \"cov\": [[1, 0], [0, -1]]}",
         "not positive"},
        {"{\"names\": [\"a\", \"b\"], \"mean\": [1, 2], \"ess\": -3}", "\"ess\" must be"},
        {"{\"names\": [\"a\", ", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        made m;
        sgfs_err err = {0};
        make_draws(&m);
        assert_null(compare_with(&m, bad[i].text, &err));
        assert_int_equal(err.code, SGFS_EDATA);
        if (strstr(err.text, bad[i].says) == NULL) fail_msg("%s: \"%s\"", bad[i].says, err.text);
        assert_null(compare_with(&m, bad[i].text, NULL)); /* without a place for the sentence */
    }
}

static void test_compare_needs_a_file(void **state) {
    (void)state;
    made m;
    sgfs_err err = {0};
    make_draws(&m);
    assert_null(sgfsi_compare_new(&m.d, "no/such/file.json", 2, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(compare_with(&m, "neither JSON nor a run", &err));
    assert_int_equal(err.code, SGFS_ERUNFILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_quantiles_are_scipys),
        cmocka_unit_test(test_ess_and_rhat_are_arvizs),
        cmocka_unit_test(test_fft_autocovariance_is_the_direct_sum),
        cmocka_unit_test(test_tiny_scale_is_not_called_constant),
        cmocka_unit_test(test_a_number_that_is_none_gives_nan),
        cmocka_unit_test(test_draws_in_order_have_the_middle_ones_too),
        cmocka_unit_test(test_intervals_by_hand),
        cmocka_unit_test(test_moments_of_the_kept_draws),
        cmocka_unit_test(test_moments_of_every_iteration),
        cmocka_unit_test(test_summary_counts_costs),
        cmocka_unit_test(test_summary_warns_and_says_what_to_do),
        cmocka_unit_test(test_summary_names_the_worst),
        cmocka_unit_test(test_summary_names_the_chain_apart),
        cmocka_unit_test(test_summary_compares_spread_with_curvature),
        cmocka_unit_test(test_thinning_does_not_hide_tau),
        cmocka_unit_test(test_summary_of_nothing_is_refused),
        cmocka_unit_test(test_measures_by_hand),
        cmocka_unit_test(test_trR_of_larger_matrices),
        cmocka_unit_test(test_pairs_by_divergence),
        cmocka_unit_test(test_compare_by_name_in_any_order),
        cmocka_unit_test(test_compare_counts_the_references_own_error),
        cmocka_unit_test(test_compare_refuses_what_does_not_fit),
        cmocka_unit_test(test_compare_needs_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
