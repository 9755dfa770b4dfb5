/* SPDX-License-Identifier: MIT
 * The choice of the sampler from inside: the forecast of what exact draws ask, on a pilot and on
 * all rows; where the choice turns; a run that begins anew; the library with a config that says
 * nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "chain/forecast.h"
#include "chain/run.h"
#include "diagnostics/summary.h"
#include "posterior/thinning.h"
#include "tools/unit_prior.h"

/* A logistic regression on normal columns, all coefficients 0.3. */
typedef struct bench {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double *x, *y;
} bench;

static bench open_bench(int64_t N, int64_t p, uint64_t seed) {
    bench b = {.cfg = unit_prior_config(),
               .x = malloc((size_t)(N * p) * sizeof *b.x),
               .y = malloc((size_t)N * sizeof *b.y)};
    sgfs_err err;
    assert_true(b.cfg != NULL && b.x != NULL && b.y != NULL);
    for (int64_t i = 0; i < N; i++) {
        double u, eta = 0;
        sgfsi_stream s = sgfsi_stream_at(seed, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&s, p, b.x + i * p);
        sgfsi_uniforms(&s, 1, &u);
        for (int64_t j = 0; j < p && j < 4; j++) eta += 0.3 * b.x[i * p + j];
        b.y[i] = u < 1 / (1 + exp(-eta)) ? 1 : 0;
    }
    sgfs_arrays arrays = {.rows = N, .cols = p, .x = b.x, .y = b.y};
    b.data = sgfs_data_wrap(&arrays, b.cfg, &err);
    b.m = sgfs_model_open("logistic", b.data, b.cfg, &err);
    if (b.m == NULL) fail_msg("%s", err.text);
    return b;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x);
    free(b->y);
}

/* ---- the forecast ---------------------------------------------------------------------------- */

/* What the sampler's own table over all rows says. */
static double from_all_rows(const bench *b) {
    sgfsi_arena arena = {NULL};
    sgfsi_anchor a;
    sgfsi_row_bounds psi;
    sgfs_err err;
    if (sgfsi_anchor_find(&a, b->m, &(sgfsi_anchor_search){.tolerance = 0.01, .threads = 0}, &arena,
                          &err) != SGFS_OK ||
        sgfsi_row_bounds_open(&psi, b->m, &a, sgfsi_row_bounds_radius(b->m->D), 1 << 20, 0, &arena,
                              &err) != SGFS_OK)
        fail_msg("%s", err.text);
    double rows = sgfsi_row_bounds_expected(&psi);
    sgfsi_arena_free(&arena);
    return rows;
}

static sgfsi_forecast forecast(const bench *b, int64_t threads) {
    const sgfsi_anchor_search how = {.tolerance = 0.01, .threads = threads};
    sgfsi_arena arena = {NULL};
    sgfsi_forecast f;
    sgfs_err err;
    if (sgfsi_forecast_exact(b->m, &how, &arena, &f, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfsi_arena_free(&arena);
    return f;
}

/* Where the pilot is all rows nothing is extrapolated. The rows of 90,000 are 4.5 times those of
 * the pilot, of whose sum of psi the relative error is about sd(psi)/mean/sqrt(20,000) = 0.5 %: 3 %
 * is six of these. Without the factor it would be off by more than 2 (it falls at least as
 * 1/sqrt(N)). */
static void test_the_forecast_is_what_the_table_says(void **state) {
    (void)state;
    bench few = open_bench(5000, 6, 71), many = open_bench(90000, 6, 72);
    sgfsi_forecast f = forecast(&few, 1);
    assert_int_equal(f.pilot, 5000);
    assert_true(fabs(f.rows / from_all_rows(&few) - 1) < 1e-12);
    f = forecast(&many, 1);
    assert_int_equal(f.pilot, 20000);
    print_message("forecast %.4f, table %.4f\n", f.rows, from_all_rows(&many));
    assert_true(fabs(f.rows / from_all_rows(&many) - 1) < 0.03);
    sgfsi_forecast two = forecast(&many, 2);
    assert_true(f.rows == two.rows && f.tau == two.tau); /* the same bits */
    close_bench(&few);
    close_bench(&many);
}

/* A weight of 2 is the row twice. */
static void test_weights_count_as_rows(void **state) {
    (void)state;
    enum { N = 4000, P = 3 };
    bench b = open_bench(2 * N, P, 73);
    sgfs_err err;
    double weight[N];
    for (int64_t i = 0; i < N; i++) weight[i] = 2;
    memcpy(b.x + N * P, b.x, N * P * sizeof *b.x);
    memcpy(b.y + N, b.y, N * sizeof *b.y);
    double rows[2];
    for (int twice = 0; twice < 2; twice++) {
        sgfs_arrays arrays = {.rows = twice ? 2 * N : N,
                              .cols = P,
                              .x = b.x,
                              .y = b.y,
                              .weights = twice ? NULL : weight};
        sgfs_data *data = sgfs_data_wrap(&arrays, b.cfg, &err);
        bench one = {.cfg = b.cfg, .m = sgfs_model_open("logistic", data, b.cfg, &err)};
        rows[twice] = forecast(&one, 0).rows;
        sgfs_model_free(one.m);
        sgfs_data_free(data);
    }
    print_message("weights %.6f, copies %.6f\n", rows[0], rows[1]);
    assert_true(fabs(rows[0] / rows[1] - 1) < 1e-6); /* anchors differ by rounding */
    close_bench(&b);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void expect(const bench *b, const char *name, const char *why) {
    sgfsi_plan plan = {.tau = 0};
    sgfsi_choice choice;
    sgfs_err err;
    char room[SGFSI_NUM_CHARS];
    if (sgfsi_plan_make(&plan, b->m, b->cfg, NULL, &choice, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    print_message("%lld x %lld: %s\n", (long long)b->m->data->N, (long long)b->m->D, choice.text);
    assert_string_equal(plan.kinds.name, name);
    assert_string_equal(sgfsi_plan_text(&plan, "sampler.kind", room), name);
    assert_non_null(strstr(choice.text, why));
    assert_true(choice.automatic);
    sgfsi_plan_free(&plan);
}

/* Few rows for few parameters, all of them in products where a draw would ask most of them. */
static void test_where_the_choice_turns(void **state) {
    (void)state;
    static const struct {
        int64_t N, p;
        const char *name, *why;
    } cases[] = {{1000, 2, "exact-rows", "no bias"},
                 {1000, 20, "exact-pairs", "accepted; no bias"},
                 {1000, 50, "exact-pairs", "accepted; no bias"},
                 {10000, 50, "exact-pairs", "all 10,000 rows"},
                 {100000, 20, "exact-rows", "rows a draw of 100,000; no bias"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b = open_bench(cases[i].N, cases[i].p, 74);
        expect(&b, cases[i].name, cases[i].why);
        close_bench(&b);
    }
}

/* More parameters than a matrix is made for. */
static void test_many_parameters(void **state) {
    (void)state;
    bench b = open_bench(30, SGFSI_MOST_DENSE, 75); /* and the intercept */
    expect(&b, "exact-hmc", "no bias");
    close_bench(&b);
}

/* ---- beginning anew -------------------------------------------------------------------------- */

static int64_t opened;

static sgfs_status open_of_no_use(sgfs_sampler *s, sgfs_err *err) {
    (void)err;
    opened++;
    strcpy(s->fallback, "the noise is as large as it ever was.");
    return SGFS_OK;
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_run *walked(const bench *b, const sgfsi_kinds *kinds) {
    sgfs_err err;
    sgfs_run *run = sgfsi_run_open(b->m, b->cfg, kinds, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    return run;
}

/* A sampler that says it is of no use makes way for NUTS after its first chain has opened: the
 * draws are those of a run that was NUTS from the start, what was resolved for the other sampler (a
 * batch of its own) is gone, and the file says why. */
static void test_a_sampler_of_no_use(void **state) {
    (void)state;
    bench b = open_bench(3000, 3, 76);
    sgfs_err err;
    sgfsi_kinds plain, kinds;
    set(b.cfg, "run.warmup", "50");
    set(b.cfg, "run.draws", "40");
    set(b.cfg, "run.chains", "2");
    assert_int_equal(sgfsi_choose_kinds(b.cfg, "nuts", &plain, &err), SGFS_OK);
    sgfs_run *reference = walked(&b, &plain);
    set(b.cfg, "sampler.kind", "sgfs-cv");
    set(b.cfg, "sampler.reanchor_at", "3");
    assert_int_equal(sgfsi_choose_kinds(b.cfg, NULL, &kinds, &err), SGFS_OK);
    sgfs_sampler_kind own = *kinds.sampler;
    own.open = open_of_no_use;
    kinds.sampler = &own;
    opened = 0;
    sgfs_run *run = walked(&b, &kinds);
    assert_int_equal(opened, 1);
    assert_string_equal(run->plan.kinds.name, "nuts");
    assert_int_equal(run->plan.n, reference->plan.n);
    const sgfs_draws *was = reference->out.memory, *is = run->out.memory;
    for (int64_t c = 0; c < 2; c++) {
        assert_memory_equal(is->chain[c].theta, was->chain[c].theta,
                            (size_t)(40 * b.m->D) * sizeof(double));
    }
    assert_int_equal(sgfsi_json_get_int(sgfsi_json_get(is->header, "sampler_info"), "fallbacks", 0),
                     1);
    assert_null(sgfsi_json_get(was->header, "chosen"));
    sgfs_summary *s = sgfsi_summary_new(is, 2, &err);
    bool told = false;
    for (int64_t i = 0; i < s->warnings; i++) {
        told = told || strcmp(s->warning[i],
                              "The run began anew with sampler nuts: the noise is as large as it "
                              "ever was. It does not read --reanchor-at.") == 0;
    }
    assert_true(told && s->fallbacks == 1);
    sgfsi_summary_free(s);
    sgfs_run_free(run);
    sgfs_run_free(reference);
    close_bench(&b);
}

/* Of few rows the anchor itself is handed on, of many the mode of the sampler's own pilot: the
 * draws are, bit for bit, those of the same sampler named by the user, which looks for both
 * itself. */
static void test_what_choosing_finds_is_handed_on(void **state) {
    (void)state;
    for (int many = 0; many < 2; many++) {
        bench b = open_bench(many ? 90000 : 5000, 3, 78);
        set(b.cfg, "run.warmup", "20");
        set(b.cfg, "run.draws", "30");
        set(b.cfg, "run.chains", "2");
        sgfs_run *chosen = walked(&b, NULL);
        const sgfsi_plan *plan = &chosen->plan;
        assert_true(many ? plan->pilot.start != NULL && plan->pilot.pilot == 20000
                         : plan->anchor != NULL && plan->anchor->passes > 0);
        set(b.cfg, "sampler.kind", plan->kinds.name);
        sgfs_run *named = walked(&b, NULL);
        assert_true(named->plan.pilot.start == NULL && named->plan.anchor == NULL);
        for (int64_t c = 0; c < 2; c++) {
            assert_memory_equal(chosen->out.memory->chain[c].theta,
                                named->out.memory->chain[c].theta,
                                (size_t)(30 * b.m->D) * sizeof(double));
            assert_int_equal(chosen->chain[c].sampler.full.rows_touched,
                             named->chain[c].sampler.full.rows_touched);
        }
        sgfs_run_free(chosen);
        sgfs_run_free(named);
        close_bench(&b);
    }
}

/* ---- the library ----------------------------------------------------------------------------- */

static void test_a_config_that_says_nothing(void **state) {
    (void)state;
    bench b = open_bench(2000, 2, 77);
    sgfs_err err;
    sgfs_run *run = sgfs_run_open(b.m, b.cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    assert_string_equal(run->plan.kinds.name, "exact-rows");
    assert_string_equal(sgfs_config_get(b.cfg, "sampler.kind"),
                        "auto"); /* the caller's own stays */
    sgfs_summary *s = sgfsi_summary_new(run->out.memory, 2, &err);
    for (int64_t j = 0; j < s->dim; j++)
        assert_true(s->row[j].ess_bulk >= 400 && s->row[j].ess_tail >= 400);
    assert_true(s->planned == 1000 && s->made == 1000 && s->fallbacks == 0);
    sgfsi_summary_free(s);
    sgfs_run_free(run);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_forecast_is_what_the_table_says),
                                       cmocka_unit_test(test_weights_count_as_rows),
                                       cmocka_unit_test(test_where_the_choice_turns),
                                       cmocka_unit_test(test_many_parameters),
                                       cmocka_unit_test(test_a_sampler_of_no_use),
                                       cmocka_unit_test(test_what_choosing_finds_is_handed_on),
                                       cmocka_unit_test(test_a_config_that_says_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
