/* SPDX-License-Identifier: MIT
 * test_thinning.c: the rows' part of an exact move (posterior/thinning.h).
 *
 *   1. No row's |w R| is above b psi, for moves far and short and past the radius, and rows that
 *      lie along the move come close to it: half of b would be caught.
 *   2. The table: psi of each row, the largest of each block, the same bits for any number of
 *      threads.
 *   3. For a given move the share of seeds for which nobody objects is prod_i min(1, exp(w_i R_i)),
 *      computed here from all rows: with a table over rows and over blocks, with weights, all
 *      at once and in many parts, and where all rows are asked.
 *      Judged at 4.5 binomial standard errors: a false alarm in 150,000 for each of the 14 checks;
 *      seeds are fixed. 40,000 seeds see 0.011 in a probability of 0.5.
 */
#include <stdio.h>

#include "base/rng.h"
#include "posterior/nongaussian.h"
#include "posterior/thinning.h"
#include "sgfs.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { MOST = 3000, D = 3 };

typedef struct bench {
    double x[MOST * 2], y[MOST], w[MOST];
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfsi_arena arena;
    sgfsi_anchor a;
    sgfsi_row_bounds psi;
    sgfsi_thinning veto;
} bench;

static bench q;

/* Rows of unlike leverage, rare events. */
static void make_rows(int64_t N, const sgfs_model_kind *kind) {
    uint64_t state = 77;
    for (int64_t i = 0; i < N; i++) {
        double far = i % 29 == 3 ? 3.5 : 1, a = far * next_normal(&state);
        q.x[2 * i] = a;
        q.x[2 * i + 1] = 0.6 * a + far * next_normal(&state);
        double u = 0.5 * (next_number(&state) + 1), eta = -1.8 + 0.7 * a - 0.4 * q.x[2 * i + 1];
        q.y[i] =
            kind == &sgfs_model_poisson ? floor(2 * u * exp(0.3 * eta)) : u < 1 / (1 + exp(-eta));
        q.w[i] = i % 7 == 0 ? 0 : 0.5 + 2 * fabs(next_number(&state));
    }
}

static void start(const sgfs_model_kind *kind, int64_t N, bool weights) {
    sgfs_err err;
    make_rows(N, kind);
    sgfs_arrays arrays = {
        .rows = N, .cols = 2, .x = q.x, .y = q.y, .weights = weights ? q.w : NULL};
    q.cfg = unit_prior_config();
    assert_int_equal(sgfs_config_set(q.cfg, "sampler.anchor_tolerance", "1e-6", &err), SGFS_OK);
    q.data = sgfs_data_wrap(&arrays, q.cfg, &err);
    q.m = sgfsi_model_create(kind, q.data, q.cfg, NULL, &err);
    if (q.m == NULL) fail_msg("%s", err.text);
    q.arena = (sgfsi_arena){NULL};
    if (sgfsi_anchor_find(
            &q.a, q.m,
            &(sgfsi_anchor_search){.tolerance = sgfsi_config_num(q.cfg, "sampler.anchor_tolerance"),
                                   .threads = 1},
            &q.arena, &err) != SGFS_OK)
        fail_msg("%s", err.text);
}

static void make_table(double radius, int64_t most, int64_t threads) {
    sgfs_err err;
    if (sgfsi_row_bounds_open(&q.psi, q.m, &q.a, radius, most, threads, &q.arena, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(sgfsi_thinning_open(&q.veto, &q.psi, &q.arena, &err), SGFS_OK);
}

static void stop(void) {
    sgfsi_arena_free(&q.arena);
    sgfs_model_free(q.m);
    sgfs_data_free(q.data);
    sgfs_config_free(q.cfg);
}

/* ---- moves ----------------------------------------------------------------------------------- */

typedef struct way {
    double z[D], z_to[D], from[D], to[D];
} way;

static void place(const double *z, double *theta) {
    memcpy(theta, z, D * sizeof *z);
    sgfsi_trsv(q.m->ctx.device, D, q.a.L, true, theta);
    sgfsi_axpy(q.m->ctx.device, D, 1, q.a.theta, theta);
}

static sgfsi_move move_of(way *w, int64_t t) {
    place(w->z, w->from);
    place(w->z_to, w->to);
    return (sgfsi_move){w->from, w->to, w->z, w->z_to, 5, 1, t};
}

/* w R of every row, one by one; out: N. */
static void all_R(const sgfsi_move *move, double *out) {
    sgfsi_arena arena = {NULL};
    sgfsi_rows rows;
    const sgfsi_rows_plan plan = {.n = 1};
    double *scratch = SGFSI_DOUBLES(&arena, q.m->exact_scratch_per_row), weight;
    assert_int_equal(sgfsi_rows_open(&rows, q.data, plan, &arena, NULL), SGFS_OK);
    for (int64_t i = 0; i < q.data->N; i++) {
        const sgfs_batch *b = sgfsi_rows_range(&rows, i, 1);
        q.m->kind->remainder(q.m, q.a.theta, move->from, move->to, b, &out[i], scratch);
        sgfsi_data_weights(q.data, i, 1, &weight);
        out[i] *= weight;
    }
    sgfsi_arena_free(&arena);
}

/* ---- 1: the bound ---------------------------------------------------------------------------- */

/* Largest |w R| / (b psi) over rows; psi: N. */
static double largest_ratio(const sgfsi_move *move) {
    double R[MOST], most = 0, b = sgfsi_thinning_rate(&q.psi, move);
    all_R(move, R);
    for (int64_t i = 0; i < q.data->N; i++) {
        double bound = b * q.psi.largest[i / q.psi.block];
        if (bound > 0) most = fmax(most, fabs(R[i]) / bound);
        else assert_true(R[i] == 0);
    }
    return most;
}

/* z = size x the direction in which row i's predictor moves most. */
static void along(int64_t i, double size, double *z) {
    double x[D] = {1, q.x[2 * i], q.x[2 * i + 1]}, length;
    sgfsi_trsv(q.m->ctx.device, D, q.a.L, false, x);
    length = sqrt(sgfsi_dot(q.m->ctx.device, D, x, x));
    for (int j = 0; j < D; j++) z[j] = size * x[j] / length;
}

static double search_largest(double radius) {
    uint64_t state = 5;
    double most = 0, sizes[] = {0.3, 1, 2.2, 5};
    make_table(radius, MOST, 1);
    for (int k = 0; k < 400; k++) { /* anywhere */
        way w;
        double step = k % 2 == 0 ? 1 : 0.01, size = sizes[k % 4];
        for (int j = 0; j < D; j++) w.z[j] = size * next_normal(&state);
        for (int j = 0; j < D; j++) w.z_to[j] = (1 - step) * w.z[j] + step * next_normal(&state);
        sgfsi_move move = move_of(&w, 0);
        most = fmax(most, largest_ratio(&move));
    }
    for (int k = 0; k < 120; k++) { /* along one row: from 0, and short moves */
        way w;
        double size = sizes[k % 3] * (k % 2 == 0 ? 1 : -1);
        along(k, k % 4 < 2 ? 0 : size, w.z);
        along(k, k % 4 < 2 ? size : 1.01 * size, w.z_to);
        sgfsi_move move = move_of(&w, 0);
        most = fmax(most, largest_ratio(&move));
    }
    return most;
}

static void rows_stay_within_their_bounds(void **state) {
    (void)state;
    const sgfs_model_kind *kinds[] = {&sgfs_model_logistic, &sgfs_model_poisson};
    for (int k = 0; k < 2; k++) {
        for (int weights = 0; weights < 2; weights++) {
            start(kinds[k], 300, weights);
            double inside = search_largest(6), outside = search_largest(0.5);
            print_message("%s%s: |w R| up to %.4f of the bound, %.4f past a small radius\n",
                          kinds[k]->name, weights ? ", weights" : "", inside, outside);
            assert_true(inside <= 1 + 1e-9 && outside <= 1 + 1e-9);
            assert_true(fmax(inside, outside) > 0.7); /* and half of it would not do */
            stop();
        }
    }
}

/* ---- 2: the table ---------------------------------------------------------------------------- */

static void runs_have_the_largest_of_their_rows(void **state) {
    (void)state;
    double psi[MOST], total = 0;
    start(&sgfs_model_logistic, 2500, true);
    make_table(4, MOST, 1);
    assert_int_equal(q.psi.block, 1);
    for (int64_t i = 0; i < 2500; i++) {
        psi[i] = q.psi.largest[i];
        total += psi[i];
        if (i % 7 == 0) assert_true(psi[i] == 0); /* rows of weight 0 have no say */
        else assert_true(psi[i] > 0);
    }
    assert_near(q.psi.total, total, 1e-12 * total, "sum of psi");
    make_table(4, 700, 3);
    assert_int_equal(q.psi.block, 4);
    assert_int_equal(q.psi.entries, 625);
    double loose = 0;
    for (int64_t k = 0; k < 625; k++) {
        double most = 0;
        for (int64_t i = 4 * k; i < 4 * k + 4; i++) most = fmax(most, psi[i]);
        assert_true(q.psi.largest[k] == most);
        loose += 4 * most;
    }
    assert_near(q.psi.total, loose, 1e-12 * loose, "sum over runs");
    make_table(4, 3, 2); /* a run is no longer than a block */
    assert_int_equal(q.psi.block, SGFSI_FULL_BLOCK);
    assert_int_equal(q.psi.entries, 3);
    stop();
}

/* 2501 rows in runs of 4: the last run is a row alone, and counts once. */
static void a_short_run_counts_its_own_rows(void **state) {
    (void)state;
    double total = 0;
    start(&sgfs_model_logistic, 2501, true);
    make_table(4, 700, 1);
    assert_int_equal(q.psi.block, 4);
    assert_int_equal(q.psi.entries, 626);
    for (int64_t k = 0; k < 625; k++) total += 4 * q.psi.largest[k];
    assert_true(q.psi.largest[625] > 0);
    assert_near(q.psi.total, total + q.psi.largest[625], 1e-12 * total, "sum over runs");
    stop();
}

static void threads_do_not_change_the_table(void **state) {
    (void)state;
    double one[MOST], total;
    start(&sgfs_model_poisson, MOST, false);
    make_table(3, MOST, 1);
    memcpy(one, q.psi.largest, sizeof one);
    total = q.psi.total;
    double growth = q.psi.growth;
    make_table(3, MOST, 3);
    assert_memory_equal(one, q.psi.largest, sizeof one);
    assert_true(total == q.psi.total && growth == q.psi.growth);
    stop();
}

/* ---- 3: the probability ---------------------------------------------------------------------- */

static void assert_probability(way w, int64_t seeds, const char *what) {
    double R[MOST], objections = 0, kept = 0;
    sgfsi_move move = move_of(&w, 0);
    sgfs_err err;
    all_R(&move, R);
    for (int64_t i = 0; i < q.data->N; i++) objections += fmax(0, -R[i]);
    int64_t before = q.veto.rows_touched;
    for (int64_t t = 1; t <= seeds; t++) {
        bool vetoed;
        move.t = t;
        if (sgfsi_thinning_ask(&q.veto, &move, &vetoed, &err) != SGFS_OK) fail_msg("%s", err.text);
        kept += !vetoed;
    }
    double p = exp(-objections), n = (double)seeds, error = sqrt(p * (1 - p) / n);
    double rows = (double)(q.veto.rows_touched - before) / n;
    double mean = sgfsi_thinning_rate(&q.psi, &move) * q.psi.total;
    print_message("%-28s P = %.4f, seen %.4f (%.1f errors); %.1f rows asked, mean of K %.1f\n",
                  what, p, kept / n, (kept / n - p) / error, rows, mean);
    assert_true(p > 0.1 && p < 0.85);
    assert_true(fabs(kept / n - p) < 4.5 * error);
    assert_true(rows <= fmin(mean * 1.1 + 0.1, (double)q.data->N));
}

/* The move back has the probability of the same differences with the other sign. */
static way back(way w) {
    way v = {.z = {0}};
    memcpy(v.z, w.z_to, sizeof v.z);
    memcpy(v.z_to, w.z, sizeof v.z);
    return v;
}

/* A move of this kind whose objections can be counted, there and back. */
static way find_way(double size, double step) {
    uint64_t state = 11;
    double R[MOST], there, here;
    way w;
    do {
        there = here = 0;
        for (int j = 0; j < D; j++) w.z[j] = size * next_normal(&state);
        for (int j = 0; j < D; j++)
            w.z_to[j] = (1 - step) * w.z[j] + step * size * next_normal(&state);
        sgfsi_move move = move_of(&w, 0);
        all_R(&move, R);
        for (int64_t i = 0; i < q.data->N; i++) there += fmax(0, -R[i]), here += fmax(0, R[i]);
    } while (fmin(there, here) < 0.25 || fmax(there, here) > 1.8);
    return w;
}

static void nobody_objects_as_often_as_it_should_be(void **state) {
    (void)state;
    start(&sgfs_model_logistic, 300, false);
    make_table(4, MOST, 1);
    way far = find_way(1.6, 1), near = find_way(2.5, 0.1);
    assert_probability(far, 40000, "rows");
    assert_probability(back(far), 40000, "rows, the way back");
    assert_probability(near, 100000, "rows, a short move");
    make_table(4, 40, 1);
    assert_int_equal(q.psi.block, 8);
    assert_probability(far, 40000, "runs, the last one shorter");
    make_table(0.4, MOST, 1);
    assert_probability(far, 40000, "past the radius");
    stop();
    start(&sgfs_model_logistic, 300, true);
    make_table(4, MOST, 1);
    far = find_way(1.6, 1);
    assert_probability(far, 40000, "weights");
    make_table(4, 40, 1);
    assert_probability(back(far), 40000, "weights and runs");
    stop();
    start(&sgfs_model_poisson, 300, false);
    make_table(2, MOST, 1);
    far = find_way(1.6, 1);
    assert_probability(far, 40000, "poisson, past the radius");
    stop();
}

/* A looser bound asks more rows, in several portions, and at last all of them; the probability
 * stays. */
static void a_looser_bound_changes_nothing(void **state) {
    (void)state;
    start(&sgfs_model_logistic, 300, true);
    way far = find_way(1.6, 1);
    for (int k = 0; k < 2; k++) {
        make_table(4, k == 0 ? MOST : 40, 1);
        double factor[] = {8, 40, 1e5};
        const char *what[] = {"bounds x 8", "bounds x 40", "bounds x 1e5: all rows"};
        for (int f = 0; f < 3; f++) {
            make_table(4, k == 0 ? MOST : 40, 1);
            for (int64_t i = 0; i < q.psi.entries; i++) q.psi.largest[i] *= factor[f];
            q.psi.total *= factor[f];
            assert_probability(far, f == 1 ? 10000 : 20000, what[f]);
        }
    }
    stop();
}

/* ---- what must not be hidden ----------------------------------------------------------------- */

static void a_bound_that_is_exceeded_is_an_error(void **state) {
    (void)state;
    start(&sgfs_model_logistic, 300, false);
    make_table(4, MOST, 1);
    for (int64_t i = 0; i < q.psi.entries; i++) q.psi.largest[i] *= 0.05;
    way w = {.z = {1.4, -0.9, 1.8}, .z_to = {-1.1, 1.6, -1.2}};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = SGFS_OK;
    for (int64_t t = 1; t <= 1000 && status == SGFS_OK; t++) {
        bool vetoed;
        sgfsi_move move = move_of(&w, t);
        status = sgfsi_thinning_ask(&q.veto, &move, &vetoed, &err);
    }
    assert_int_equal(status, SGFS_ENUMERIC);
    assert_int_equal(q.veto.exceeded, 1);
    assert_non_null(strstr(err.text, "would not be exact"));
    stop();
}

static void no_leverage_asks_nobody(void **state) {
    (void)state;
    start(&sgfs_model_logistic, 300, false);
    make_table(4, MOST, 1);
    memset(q.psi.largest, 0, (size_t)q.psi.entries * sizeof *q.psi.largest);
    q.psi.total = 0;
    way w = {.z = {1.4, -0.9, 1.8}, .z_to = {-1.1, 1.6, -1.2}};
    bool vetoed = true;
    sgfsi_move move = move_of(&w, 1);
    assert_int_equal(sgfsi_thinning_ask(&q.veto, &move, &vetoed, NULL), SGFS_OK);
    assert_false(vetoed);
    assert_int_equal(q.veto.rows_touched, 0);
    stop();
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* log posterior = that of the anchor - |z|^2/2 + sum w r + rest, for any prior and any anchor. */
static void assert_adds_up(const char *prior, const char *tolerance, bool displaced) {
    sgfs_err err;
    way w = {.z = {1.4, -0.9, 1.8}, .z_to = {-1.1, 1.6, -1.2}};
    double lp, G[D], R[MOST], from, to, here = 0, there = 0, sum = 0, lp_to;
    sgfsi_nongaussian rest;
    make_rows(300, &sgfs_model_logistic);
    sgfs_arrays arrays = {.rows = 300, .cols = 2, .x = q.x, .y = q.y, .weights = q.w};
    q.cfg = unit_prior_config();
    assert_int_equal(sgfs_config_set(q.cfg, "sampler.anchor_tolerance", tolerance, &err), SGFS_OK);
    assert_int_equal(sgfs_config_set(q.cfg, "prior.kind", prior, &err), SGFS_OK);
    if (strcmp(prior, "flat") != 0)
        assert_int_equal(sgfs_config_set(q.cfg, "prior.precision", "2.385", &err), SGFS_OK);
    q.data = sgfs_data_wrap(&arrays, q.cfg, &err);
    q.m = sgfsi_model_create(&sgfs_model_logistic, q.data, q.cfg, NULL, &err);
    if (q.m == NULL) fail_msg("%s", err.text);
    assert_int_equal(
        sgfsi_anchor_find(
            &q.a, q.m,
            &(sgfsi_anchor_search){.tolerance = sgfsi_config_num(q.cfg, "sampler.anchor_tolerance"),
                                   .threads = 1},
            &q.arena, &err),
        SGFS_OK);
    assert_true(displaced == (q.a.distance > 0.02));
    assert_int_equal(sgfsi_nongaussian_open(&rest, q.m, &q.a, &q.arena, &err), SGFS_OK);
    sgfsi_move move = move_of(&w, 0);
    all_R(&move, R);
    for (int64_t i = 0; i < 300; i++) sum += R[i];
    for (int j = 0; j < D; j++) here += w.z[j] * w.z[j] / 2, there += w.z_to[j] * w.z_to[j] / 2;
    assert_int_equal(sgfsi_nongaussian_at(&rest, w.from, w.z, &from, &err), SGFS_OK);
    assert_int_equal(sgfsi_nongaussian_at(&rest, w.to, w.z_to, &to, &err), SGFS_OK);
    assert_int_equal(sgfsi_posterior_full(q.m, w.from, &lp, G, NULL, &err), SGFS_OK);
    assert_int_equal(sgfsi_posterior_full(q.m, w.to, &lp_to, G, NULL, &err), SGFS_OK);
    assert_near(here - there + sum + to - from, lp_to - lp, 1e-9, prior);
    stop();
}

static void nothing_of_the_posterior_is_lost(void **state) {
    (void)state;
    assert_adds_up("gaussian", "1e-6", false);
    assert_adds_up("flat", "1e-6", false);
    assert_adds_up("student-t", "1e-6", false);
    assert_adds_up("gaussian", "1", true);
    assert_adds_up("student-t", "1", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_within_their_bounds),
        cmocka_unit_test(runs_have_the_largest_of_their_rows),
        cmocka_unit_test(a_short_run_counts_its_own_rows),
        cmocka_unit_test(threads_do_not_change_the_table),
        cmocka_unit_test(nobody_objects_as_often_as_it_should_be),
        cmocka_unit_test(a_looser_bound_changes_nothing),
        cmocka_unit_test(a_bound_that_is_exceeded_is_an_error),
        cmocka_unit_test(no_leverage_asks_nobody),
        cmocka_unit_test(nothing_of_the_posterior_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
