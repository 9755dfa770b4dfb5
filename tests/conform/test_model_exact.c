/* SPDX-License-Identifier: MIT
 * test_model_exact.c: what a model promises where it declares the hooks of exact draws, `third`
 * with `remainder`, or `whole`, for every row of sgfsi_models and every setting of model_bench.h.
 * How tight and how accurate those of the regressions are is in unit/test_bounds.c.
 *
 *     theta = anchor + L^-T z,  A = L L' the curvature there with the prior's
 */
#include "conform/model_bench.h"

enum { SOME = 60, MOVES = 300 };

/* An anchor in its coordinates, and the rows that are asked. */
typedef struct spot {
    bench *b;
    probe rows;        /* the first SOME of them */
    sgfs_batch batch;  /* the same */
    double *L, *C, *G; /* D x D, D x D, D: G without the prior */
    double *z, *z_to, *from, *to;
    double *third, *out, growth, radius;
    double *scratch; /* as much as the model says */
} spot;

static void open_spot(spot *at, bench *b, double radius) {
    int64_t D = b->D;
    *at = (spot){.b = b, .radius = radius};
    open_probe(&at->rows, b, &in_order, SOME);
    look(&at->rows, 0, b->theta);
    at->batch = at->rows.eval.batcher.rows.batch;
    double **const each[] = {&at->G, &at->z, &at->z_to, &at->from, &at->to};
    for (int k = 0; k < 5; k++) *each[k] = zeros(D);
    at->third = zeros(SOME);
    at->out = zeros(SOME);
    at->L = zeros(D * D);
    at->C = zeros(D * D);
    at->scratch = malloc((size_t)(SOME * b->m->exact_scratch_per_row + 1) * sizeof(double));
    assert_non_null(at->scratch);
    full(b, b->theta, at->G, at->L);
    for (int64_t j = 0; j < D; j++) at->G[j] += 0.371 * b->theta[j];
    assert_int_equal(sgfsi_potrf(b->m->ctx.device, D, at->L), 0);
    for (int64_t j = 0; j < D; j++) {
        double *column = at->C + j * D; /* C is symmetric: a column is a row */
        column[j] = 1;
        sgfsi_trsv(b->m->ctx.device, D, at->L, false, column);
        sgfsi_trsv(b->m->ctx.device, D, at->L, true, column);
    }
}

static void close_spot(spot *at) {
    double *const each[] = {at->G, at->z, at->z_to,  at->from, at->to,
                            at->L, at->C, at->third, at->out,  at->scratch};
    for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) free(each[k]);
    sgfsi_arena_free(&at->rows.arena);
}

static double draw(spot *at, uint64_t *seed, double size, double *z, double *theta) {
    double sum = 0;
    for (int64_t j = 0; j < at->b->D; j++) {
        theta[j] = z[j] = size * next_normal(seed);
        sum += z[j] * z[j];
    }
    sgfsi_trsv(at->b->m->ctx.device, at->b->D, at->L, true, theta);
    for (int64_t j = 0; j < at->b->D; j++) theta[j] += at->b->theta[j];
    return sqrt(sum);
}

static void ask(spot *at) {
    at->b->is.kind->remainder(at->b->m, at->b->theta, at->from, at->to, &at->batch, at->out,
                              at->scratch);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void check_together(bench *b) {
    const sgfs_model_kind *k = b->is.kind;
    assert_true((k->third == NULL) == (k->remainder == NULL));
    if (k->third != NULL) assert_true(k->curvature != NULL && b->m->exact_scratch_per_row > 0);
    if (k->whole != NULL) assert_true(k->curvature != NULL);
}

/* v' (information of row i) v at the anchor. */
static double squared(spot *at, int64_t i, const double *v) {
    bench *b = at->b;
    int64_t D = b->D;
    sgfs_batch one = at->batch;
    double *A = zeros(D * D), *scratch = zeros(b->m->curvature_scratch_per_row), sum = 0;
    one.n = 1;
    one.x += i * one.p;
    one.y += i;
    b->is.kind->curvature(b->m, b->theta, &one, A, scratch);
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k <= j; k++) sum += (j == k ? 1 : 2) * v[j] * A[j * D + k] * v[k];
    }
    free(A);
    free(scratch);
    return sum;
}

/* Densities by `scores`, their first two derivatives by `scores` and `curvature`: columns as far as
 * 13.79 from 0 make predictors of a few hundred, so that 1e-11 is 100 roundings of what they
 * sum. */
static void check_remainder(bench *b) {
    if (b->is.kind->remainder == NULL) return;
    spot at;
    probe other;
    uint64_t seed = 1812;
    double *g = zeros(b->D), *d = zeros(b->D), largest = 0;
    open_spot(&at, b, 3);
    open_probe(&other, b, &in_order, SOME);
    memcpy(at.from, b->theta, (size_t)b->D * sizeof *at.from);
    for (int turn = 0; turn < 3; turn++) {
        draw(&at, &seed, 12, at.z_to, at.to);
        ask(&at);
        look(&other, 0, at.to);
        for (int64_t i = 0; i < SOME; i++) {
            double change = other.eval.loglik[i] - at.rows.eval.loglik[i], size = 1;
            expand(&at.rows.eval.scores, i, g);
            for (int64_t j = 0; j < b->D; j++) {
                d[j] = at.to[j] - b->theta[j];
                change -= g[j] * d[j];
                size += fabs(g[j] * d[j]) + fabs(g[j] * at.to[j]);
            }
            double half = 0.5 * squared(&at, i, d);
            assert_near(at.out[i], change + half, 1e-11 * (size + fabs(half)), b->label);
            largest = fmax(largest, fabs(at.out[i]));
        }
    }
    assert_true(largest > 1e-3);
    sgfsi_arena_free(&other.arena);
    close_spot(&at);
    free(g);
    free(d);
}

/* Moves of all sizes, within a small radius and beyond it: both bounds of row_bounds.h. */
static void check_bounds(bench *b) {
    if (b->is.kind->third == NULL) return;
    spot at;
    uint64_t seed = 1813;
    double reached = 0;
    open_spot(&at, b, 2.5);
    b->is.kind->third(b->m, b->theta, at.C, at.radius, &at.batch, at.third, &at.growth, at.scratch);
    for (int k = 0; k < MOVES; k++) {
        double size = exp(2 * next_number(&seed)), inner = 0, apart = 0;
        double one = draw(&at, &seed, size, at.z, at.from);
        double two = draw(&at, &seed, k % 2 ? size : 0.1 * size, at.z_to, at.to);
        for (int64_t j = 0; j < b->D; j++) {
            inner += at.z[j] * at.z_to[j];
            apart += (at.z[j] - at.z_to[j]) * (at.z[j] - at.z_to[j]);
        }
        double factor = exp(at.growth * fmax(0, fmax(one, two) - at.radius)) / 6;
        double ends = factor * (one * one * one + two * two * two);
        double way = factor * sqrt(apart) * (one * one + inner + two * two);
        ask(&at);
        for (int64_t i = 0; i < SOME; i++) {
            double bound = at.third[i] * fmin(ends, way);
            if (!(fabs(at.out[i]) <= bound * (1 + 1e-9) + 1e-12 * at.third[i] * ends))
                fail_msg("%s: row %lld: %.9g, bound %.9g", b->label, (long long)i, at.out[i],
                         bound);
            if (bound > 0) reached = fmax(reached, fabs(at.out[i]) / bound);
        }
    }
    assert_true(reached > 0.02); /* by chance, in D dimensions */
    close_spot(&at);
}

static double log_prior(const bench *b, const double *theta) {
    double sum = 0;
    for (int64_t j = 0; j < b->D; j++) sum -= 0.5 * 0.371 * theta[j] * theta[j];
    return sum;
}

static void check_whole(bench *b) {
    if (b->is.kind->whole == NULL) return;
    spot at;
    uint64_t seed = 1814;
    double *A = zeros(b->D * b->D);
    open_spot(&at, b, 3);
    full(b, b->theta, at.from, A);
    for (int64_t j = 0; j < b->D; j++) {
        A[j * b->D + j] -= 0.371;
        for (int64_t k = 0; k < j; k++) A[k * b->D + j] = A[j * b->D + k];
    }
    const sgfs_expansion here = {.theta = b->theta, .G = at.G, .info = A};
    double lp = full(b, b->theta, at.from, NULL) - log_prior(b, b->theta);
    for (int turn = 0; turn < 10; turn++) {
        draw(&at, &seed, 0.3 * (1 + turn * turn), at.z_to, at.to);
        double there = full(b, at.to, at.from, NULL) - log_prior(b, at.to);
        assert_near(b->is.kind->whole(b->m, &here, at.to), there - lp,
                    1e-10 * (fabs(there - lp) + fabs(lp)), b->label);
    }
    free(A);
    close_spot(&at);
}

static void test_the_hooks_come_together(void **state) {
    (void)state;
    for_each(check_together);
}

static void test_remainders_are_what_the_expansion_leaves(void **state) {
    (void)state;
    for_each(check_remainder);
}

static void test_no_row_exceeds_its_bound(void **state) {
    (void)state;
    for_each(check_bounds);
}

static void test_the_whole_is_the_sum_of_the_rows(void **state) {
    (void)state;
    for_each(check_whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hooks_come_together),
        cmocka_unit_test(test_remainders_are_what_the_expansion_leaves),
        cmocka_unit_test(test_no_row_exceeds_its_bound),
        cmocka_unit_test(test_the_whole_is_the_sum_of_the_rows),
    };
    return cmocka_run_group_tests(tests, find_setups, NULL);
}
