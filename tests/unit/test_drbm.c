/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * test_drbm.c: the discriminative restricted Boltzmann machine against the machine itself (all
 * hidden states enumerated), against its formulas written down plainly for one row at a time, and
 * against finite differences.
 *
 * Tolerances. 1e-12 of the terms' size: a logit is a sum of H softplus, whose rounding is a few
 * H x 1e-16. Central differences: truncation and rounding are near 1e-10 at h = cbrt(eps).
 */
#include <float.h>
#include <stdio.h>

#include "posterior/posterior.h"
#include "tools/check.h"

enum { MOST_ROWS = 64 };

/* ---- a machine on a few rows ----------------------------------------------------------------- */

typedef struct shape {
    int64_t hidden, cols, classes;
    bool intercept, standardize;
    const char *backend;
    double largest; /* one number of U; 0: none stands out */
} shape;

typedef struct machine {
    shape is;
    int64_t n, p, D;
    double *x, *y;   /* n x cols, n: as given */
    double *seen;    /* n x p: as the model sees them */
    double *theta;   /* D */
    double *scratch; /* for all rows */
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfs_batch batch;
    sgfs_score_block block[3];
    sgfs_scores scores;
    char label[96];
} machine;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static void open_model(machine *a) {
    sgfs_err err = {0};
    char number[24];
    sgfs_arrays arrays = {.rows = a->n, .cols = a->is.cols, .x = a->x, .y = a->y};
    snprintf(number, sizeof number, "%lld", (long long)a->is.hidden);
    a->cfg = sgfs_config_new();
    set(a->cfg, "model.hidden", number);
    set(a->cfg, "run.device", a->is.backend);
    set(a->cfg, "data.intercept", a->is.intercept ? "true" : "false");
    set(a->cfg, "data.standardize", a->is.standardize ? "true" : "false");
    a->data = sgfs_data_wrap(&arrays, a->cfg, &err);
    if (a->data == NULL) fail_msg("%s", err.text);
    a->m = sgfs_model_open("drbm", a->data, a->cfg, &err);
    if (a->m == NULL) fail_msg("%s", err.text);
    a->p = a->data->p;
    a->D = a->m->D;
}

static void open_scores(machine *a) {
    for (int64_t k = 0; k < a->m->blocks; k++) {
        const sgfs_block *from = &a->m->block[k];
        sgfs_score_block *to = &a->block[k];
        *to = (sgfs_score_block){.offset = from->offset, .rows = from->rows, .cols = from->cols};
        if (from->form == SGFS_SCORE_DENSE) to->dense = zeros(a->n * from->rows * from->cols);
        else to->left = zeros(a->n * from->rows);
        to->right = from->form == SGFS_SCORE_INPUT ? a->seen : NULL;
    }
    a->scores = (sgfs_scores){a->n, a->D, a->m->blocks, a->block, zeros(a->n)};
}

static machine *open_machine(const shape *is) {
    machine *a = calloc(1, sizeof *a);
    assert_non_null(a);
    uint64_t s = 1987;
    a->is = *is;
    a->n = is->classes + 9 < MOST_ROWS ? MOST_ROWS : is->classes + 9;
    snprintf(a->label, sizeof a->label, "%lld units, %lld columns, %lld classes%s%s %s %g",
             (long long)is->hidden, (long long)is->cols, (long long)is->classes,
             is->intercept ? "" : ", no intercept", is->standardize ? ", standardised" : "",
             is->backend, is->largest);
    a->x = zeros(a->n * is->cols);
    a->y = zeros(a->n);
    for (int64_t i = 0; i < a->n * is->cols; i++) a->x[i] = 0.31 + 1.37 * next_normal(&s);
    for (int64_t i = 0; i < a->n; i++) a->y[i] = (double)(i % is->classes);
    open_model(a);
    a->seen = zeros(a->n * a->p);
    sgfsi_data_rows_range(a->data, 0, a->n, a->seen, NULL);
    a->batch = (sgfs_batch){
        .n = a->n, .p = a->p, .x = a->seen, .y = a->y, .total = (double)a->n, .gamma = 1};
    a->scratch = zeros(a->n * a->m->curvature_scratch_per_row);
    a->theta = numbers(a->D, 77);
    for (int64_t j = 0; j < a->D; j++) a->theta[j] *= 1.29;
    if (is->largest != 0) a->theta[a->m->block[1].offset + 1] = is->largest;
    open_scores(a);
    return a;
}

static void close_machine(machine *a) {
    for (int64_t k = 0; k < a->m->blocks; k++) {
        free(a->block[k].left);
        free(a->block[k].dense);
    }
    free(a->scores.loglik);
    sgfs_model_free(a->m);
    sgfs_data_free(a->data);
    sgfs_config_free(a->cfg);
    free(a->x);
    free(a->y);
    free(a->seen);
    free(a->theta);
    free(a->scratch);
    free(a);
}

static void fill(machine *a, const double *theta) {
    sgfs_err err = {0};
    if (a->m->kind->scores(a->m, theta, &a->batch, &a->scores, a->scratch, &err) != SGFS_OK)
        fail_msg("%s", err.text);
}

/* Score of row i, factors multiplied out. */
static void expand(const machine *a, int64_t i, double *g) {
    for (int64_t k = 0; k < a->m->blocks; k++) {
        const sgfs_score_block *o = &a->block[k];
        int64_t size = o->rows * o->cols;
        for (int64_t j = 0; j < size; j++) {
            g[o->offset + j] = o->dense != NULL ? o->dense[i * size + j]
                                                : o->left[i * o->rows + j / o->cols] *
                                                      o->right[i * o->cols + j % o->cols];
        }
    }
}

/* ---- plain formulas -------------------------------------------------------------------------- */

static double W_of(const machine *a, int64_t j, int64_t c) {
    return a->theta[j * a->p + c];
}

static double U_of(const machine *a, int64_t j, int64_t k) {
    return a->theta[a->is.hidden * a->p + j * a->is.classes + k];
}

static double d_of(const machine *a, int64_t k) {
    int64_t before = a->is.hidden * (a->p + a->is.classes);
    return a->is.intercept ? a->theta[before + k] : 0;
}

/* a_jk of row i; the leading 1 of a row with intercept meets c_j. */
static double input(const machine *a, int64_t i, int64_t j, int64_t k) {
    double sum = U_of(a, j, k);
    for (int64_t c = 0; c < a->p; c++) sum += W_of(a, j, c) * a->seen[i * a->p + c];
    return sum;
}

static double softplus(double a) {
    return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
}

static double sigmoid(double a) {
    return a > 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
}

/* P of row i (K), and the logarithm of the sum that makes it one. */
static double plain_logits(const machine *a, int64_t i, double *l) {
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < a->is.classes; k++) {
        l[k] = d_of(a, k);
        for (int64_t j = 0; j < a->is.hidden; j++) l[k] += softplus(input(a, i, j, k));
        largest = fmax(largest, l[k]);
    }
    for (int64_t k = 0; k < a->is.classes; k++) sum += exp(l[k] - largest);
    return largest + log(sum);
}

/* The score of row i, were its class y; returns log p. */
static double plain_score(const machine *a, int64_t i, int64_t y, double *g) {
    int64_t H = a->is.hidden, K = a->is.classes;
    double *l = zeros(K), norm = plain_logits(a, i, l), loglik = l[y] - norm;
    memset(g, 0, (size_t)a->D * sizeof *g);
    for (int64_t k = 0; k < K; k++) {
        double e = (k == y) - exp(l[k] - norm);
        if (a->is.intercept) g[H * (a->p + K) + k] = e;
        for (int64_t j = 0; j < H; j++) {
            double dU = e * sigmoid(input(a, i, j, k));
            g[H * a->p + j * K + k] = dU;
            for (int64_t c = 0; c < a->p; c++) g[j * a->p + c] += dU * a->seen[i * a->p + c];
        }
    }
    free(l);
    return loglik;
}

/* ---- the hidden states, one by one ----------------------------------------------------------- */

/* -E(y = k, x, h) = h'Wx + h'U y + c'h + d'y, h the bits of `state`. */
static double minus_energy(const machine *a, int64_t i, int64_t k, int state) {
    double sum = d_of(a, k);
    for (int64_t j = 0; j < a->is.hidden; j++) {
        if (!(state >> j & 1)) continue;
        sum += U_of(a, j, k);
        for (int64_t c = 0; c < a->p; c++) sum += W_of(a, j, c) * a->seen[i * a->p + c];
    }
    return sum;
}

static void check_states(const shape *is) {
    machine *a = open_machine(is);
    int64_t K = is->classes;
    double *P = zeros(a->n * K), *weight = zeros(K);
    fill(a, a->theta);
    a->m->kind->predict(a->m, a->theta, &a->batch, P, a->scratch);
    for (int64_t i = 0; i < a->n; i++) {
        double total = 0, own;
        for (int64_t k = 0; k < K; k++) {
            weight[k] = 0;
            for (int state = 0; state < 1 << is->hidden; state++)
                weight[k] += exp(minus_energy(a, i, k, state));
            total += weight[k];
        }
        own = log(weight[i % K] / total);
        assert_near(a->scores.loglik[i], own, 1e-12 * (1 + fabs(own)), a->label);
        for (int64_t k = 0; k < K; k++)
            assert_near(P[i * K + k], weight[k] / total, 1e-12, a->label);
    }
    free(P);
    free(weight);
    close_machine(a);
}

static void test_three_hidden_units_summed_state_by_state(void **state) {
    (void)state;
    static const shape shapes[] = {{3, 4, 2, true, false, "blas", 0},
                                   {3, 4, 3, true, false, "host", 0},
                                   {3, 2, 11, true, true, "blas", 0},
                                   {3, 5, 3, false, false, "blas", 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) check_states(&shapes[s]);
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Every road through the loops: fewer classes than lanes, exactly as many, a last step drawn back;
 * an odd number of units; more than one tile; U too large for products, by number and by count. */
static const shape shapes[] = {
    {1, 1, 2, true, false, "blas", 0},    {2, 2, 3, true, true, "host", 0},
    {5, 3, 7, true, false, "blas", 0},    {4, 2, 8, true, false, "blas", 0},
    {3, 2, 9, false, true, "blas", 0},    {7, 5, 23, true, false, "blas", 0},
    {7, 5, 23, true, false, "blas", 650}, {6, 3, 5, true, false, "host", -640},
    {700, 2, 2, true, false, "blas", 0},  {131, 2, 33, false, false, "blas", 0},
    {2, 3, 301, true, false, "blas", 0},  {41, 40, 23, true, true, "blas", 0}};

static void check_scores(const shape *is) {
    machine *a = open_machine(is);
    double *g = zeros(a->D), *plain = zeros(a->D), *alone = zeros(a->n);
    sgfs_scores density = {a->n, a->D, a->m->blocks, NULL, alone};
    fill(a, a->theta);
    assert_int_equal(a->m->kind->scores(a->m, a->theta, &a->batch, &density, a->scratch, NULL),
                     SGFS_OK);
    for (int64_t i = 0; i<a->n; i += is->hidden> 100 || is->classes > 100 ? 17 : 1) {
        double loglik = plain_score(a, i, i % is->classes, plain);
        double scale = 1 + fabs(loglik) + 0.01 * (double)is->hidden;
        expand(a, i, g);
        assert_near(a->scores.loglik[i], loglik, 1e-12 * scale, a->label);
        assert_true(alone[i] == a->scores.loglik[i]);
        for (int64_t j = 0; j < a->D; j++) {
            double size = j < is->hidden * a->p ? 1 + fabs(a->seen[i * a->p + j % a->p]) : 1;
            assert_near(g[j], plain[j], 1e-12 * scale * size, a->label);
        }
    }
    free(g);
    free(plain);
    free(alone);
    close_machine(a);
}

static void test_scores_are_the_formulas_row_by_row(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) check_scores(&shapes[s]);
}

static void check_differences(const shape *is) {
    machine *a = open_machine(is);
    double *g = zeros(a->n * a->D), *moved = zeros(a->D), *above = zeros(a->n);
    fill(a, a->theta);
    for (int64_t i = 0; i < a->n; i++) expand(a, i, g + i * a->D);
    memcpy(moved, a->theta, (size_t)a->D * sizeof *moved);
    for (int64_t j = 0; j < a->D; j++) {
        double up = a->theta[j] + cbrt(DBL_EPSILON), down = a->theta[j] - cbrt(DBL_EPSILON);
        moved[j] = up;
        fill(a, moved);
        memcpy(above, a->scores.loglik, (size_t)a->n * sizeof *above);
        moved[j] = down;
        fill(a, moved);
        moved[j] = a->theta[j];
        for (int64_t i = 0; i < a->n; i++) {
            double slope = (above[i] - a->scores.loglik[i]) / (up - down);
            assert_near(g[i * a->D + j], slope, 1e-6 * (1 + fabs(slope)), a->label);
        }
    }
    free(g);
    free(moved);
    free(above);
    close_machine(a);
}

static void test_every_parameter_by_finite_differences(void **state) {
    (void)state;
    for (size_t s = 0; s < 6; s++) check_differences(&shapes[s]);
}

/* ---- large numbers --------------------------------------------------------------------------- */

/* One unit, one column: a_k = w x + U_k. Two classes, d = 0: log p(0) = f(a_0) - log(e^f(a_0) +
 * e^f(a_1)), f = softplus, which is max(a, 0) to the last bit at |a| = 700. */
static void check_limit(double input, double apart) {
    shape is = {1, 1, 2, true, false, "blas", 0};
    machine *a = open_machine(&is);
    double P[2 * MOST_ROWS], wanted[2] = {softplus(input), softplus(input - apart)};
    double gap = wanted[0] - wanted[1];
    memset(a->theta, 0, (size_t)a->D * sizeof *a->theta);
    a->theta[0] = input;  /* c */
    a->theta[3] = -apart; /* U_1 */
    fill(a, a->theta);
    a->m->kind->predict(a->m, a->theta, &a->batch, P, a->scratch);
    for (int64_t i = 0; i < 2; i++) { /* rows of class 0 and 1 */
        double own = i == 0 ? -softplus(-gap) : -softplus(gap), e = 1 - exp(own);
        double on[2] = {sigmoid(input), sigmoid(input - apart)};
        assert_near(a->scores.loglik[i], own, 1e-15 * (1 + fabs(own)) + 1e-300, "log p");
        assert_near(P[i], i == 0 ? sigmoid(gap) : sigmoid(-gap), 1e-15, "P");
        for (int64_t k = 0; k < 2; k++) {
            double sign = k == i ? 1 : -1;
            assert_near(a->block[1].dense[i * 2 + k], sign * e * on[k], 1e-15, "dU");
            assert_near(a->block[2].dense[i * 2 + k], sign * e, 1e-15, "dd");
        }
        assert_near(a->block[0].left[i], (i == 0 ? 1 : -1) * e * (on[0] - on[1]), 1e-15, "dc");
    }
    close_machine(a);
}

static void test_limits_are_exact_at_700_and_far_beyond(void **state) {
    (void)state;
    static const double size[] = {700, 1400, 599, 1e5, 1e8};
    for (size_t s = 0; s < sizeof size / sizeof size[0]; s++) {
        check_limit(size[s], 0.1);
        check_limit(-size[s], 0.1);
        check_limit(size[s], size[s]);       /* U of that size: one exp for each number */
        check_limit(size[s], 2 * size[s]);   /* a_0 = size, a_1 = -size */
        check_limit(-size[s], -size[s] - 1); /* a_0 = -size, a_1 = 1 */
        check_limit(-size[s], -550);         /* products of powers beyond SAFE */
    }
}

/* ---- what the data cannot tell --------------------------------------------------------------- */

static void assert_same_predictions(machine *a, const double *theta, const char *what) {
    int64_t K = a->is.classes;
    double *before = zeros(a->n * K), *after = zeros(a->n * K);
    a->m->kind->predict(a->m, a->theta, &a->batch, before, a->scratch);
    a->m->kind->predict(a->m, theta, &a->batch, after, a->scratch);
    for (int64_t i = 0; i < a->n * K; i++) assert_near(after[i], before[i], 1e-12, what);
    free(before);
    free(after);
}

static void test_moves_that_change_no_prediction(void **state) {
    (void)state;
    shape is = {4, 3, 5, true, false, "blas", 0};
    machine *a = open_machine(&is);
    int64_t H = 4, K = 5, p = a->p, U = H * p, d = U + H * K;
    double *theta = zeros(a->D);
    size_t bytes = (size_t)a->D * sizeof *theta;
    memcpy(theta, a->theta, bytes);
    for (int64_t k = 0; k < K; k++) theta[d + k] += 0.713;
    assert_same_predictions(a, theta, "one number added to all of d");
    memcpy(theta, a->theta, bytes);
    theta[2 * p] -= 0.713;
    for (int64_t k = 0; k < K; k++) theta[U + 2 * K + k] += 0.713;
    assert_same_predictions(a, theta, "one number from c to U");
    memcpy(theta, a->theta, bytes);
    for (int64_t c = 0; c < p; c++) theta[1 * p + c] = -a->theta[1 * p + c];
    for (int64_t k = 0; k < K; k++) {
        theta[U + K + k] = -a->theta[U + K + k];
        theta[d + k] += a->theta[U + K + k];
    }
    assert_same_predictions(a, theta, "a unit and its mirror image");
    memcpy(theta, a->theta, bytes);
    memcpy(theta + p, a->theta + 3 * p, (size_t)p * sizeof *theta);
    memcpy(theta + 3 * p, a->theta + p, (size_t)p * sizeof *theta);
    memcpy(theta + U + K, a->theta + U + 3 * K, (size_t)K * sizeof *theta);
    memcpy(theta + U + 3 * K, a->theta + U + K, (size_t)K * sizeof *theta);
    assert_same_predictions(a, theta, "two units exchanged");
    free(theta);
    close_machine(a);
}

/* Rank of a positive semidefinite matrix (both triangles), by elimination with the largest pivot
 * left: what remains of an exact null direction is rounding, 1e-13 of the first pivot. */
static int64_t rank_of(int64_t D, double *A) {
    double first = 0;
    for (int64_t r = 0; r < D; r++) {
        int64_t best = 0;
        for (int64_t i = 1; i < D; i++) best = A[i * D + i] > A[best * D + best] ? i : best;
        double pivot = A[best * D + best];
        if (r == 0) first = pivot;
        if (pivot < 1e-10 * first) return r;
        for (int64_t i = 0; i < D; i++) {
            if (i == best) continue;
            double f = A[i * D + best] / pivot;
            for (int64_t j = 0; j < D; j++) {
                if (j != best) A[i * D + j] -= f * A[best * D + j];
            }
        }
        for (int64_t i = 0; i < D; i++) A[i * D + best] = A[best * D + i] = 0;
    }
    return D;
}

/* The information of many rows has exactly 1 + H null directions, and none without c and d. */
static void test_null_directions_of_the_information(void **state) {
    (void)state;
    for (int intercept = 0; intercept < 2; intercept++) {
        shape is = {2, 6, 3, intercept == 1, false, "blas", 0};
        machine *a = open_machine(&is);
        int64_t D = a->D;
        double *A = zeros(D * D);
        a->m->kind->curvature(a->m, a->theta, &a->batch, A, a->scratch);
        for (int64_t i = 0; i < D; i++) {
            for (int64_t j = 0; j < i; j++) A[j * D + i] = A[i * D + j];
        }
        assert_int_equal(rank_of(D, A), intercept ? D - 3 : D);
        free(A);
        close_machine(a);
    }
}

/* ---- what goes with it ----------------------------------------------------------------------- */

/* A = sum over rows and classes of w P g g', from the plain formulas. */
static void test_curvature_is_the_expected_information(void **state) {
    (void)state;
    shape is = {3, 2, 4, true, true, "blas", 0};
    machine *a = open_machine(&is);
    int64_t D = a->D;
    double *A = zeros(D * D), *plain = zeros(D * D), *g = zeros(D), *weight = numbers(a->n, 5);
    for (int64_t i = 0; i < a->n; i++) weight[i] = 1.5 + weight[i];
    a->batch.weight = weight;
    a->m->kind->curvature(a->m, a->theta, &a->batch, A, a->scratch);
    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t y = 0; y < 4; y++) {
            double P = exp(plain_score(a, i, y, g));
            for (int64_t r = 0; r < D; r++) {
                for (int64_t c = 0; c <= r; c++) plain[r * D + c] += weight[i] * P * g[r] * g[c];
            }
        }
    }
    for (int64_t r = 0; r < D; r++) {
        for (int64_t c = 0; c <= r; c++)
            assert_near(A[r * D + c], plain[r * D + c], 1e-11 * (double)a->n, a->label);
    }
    free(A);
    free(plain);
    free(g);
    free(weight);
    close_machine(a);
}

/* Uniforms on a grid: each label comes up in proportion to its probability, to one grid point. */
static void test_resampled_labels_have_their_probabilities(void **state) {
    (void)state;
    static const shape is[] = {{3, 2, 5, true, false, "blas", 0},
                               {600, 2, 3, true, true, "blas", 0}};
    enum { GRID = 1000 };
    for (size_t s = 0; s < 2; s++) {
        machine *a = open_machine(&is[s]);
        int64_t K = is[s].classes;
        double *x = zeros(GRID * a->p), u[GRID], y[GRID], P[8];
        for (int64_t j = 0; j < a->D; j++) a->theta[j] *= 0.2;
        for (int64_t i = 0; i < GRID; i++) {
            memcpy(x + i * a->p, a->seen + 3 * a->p, (size_t)a->p * sizeof *x);
            u[i] = ((double)i + 0.5) / GRID;
        }
        sgfs_batch many = {.n = GRID, .p = a->p, .x = x}, one = many;
        one.n = 1;
        a->m->kind->predict(a->m, a->theta, &one, P, a->scratch);
        a->m->kind->resample(a->m, a->theta, &many, u, u, y);
        for (int64_t k = 0; k < K; k++) {
            int64_t found = 0;
            for (int64_t i = 0; i < GRID; i++) found += y[i] == (double)k;
            assert_near((double)found, GRID * P[k], 1.0001, a->label);
        }
        free(x);
        close_machine(a);
    }
}

/* Draws on the user's scale, given to the model on the columns as they are, predict the same. */
static void test_draws_fit_the_raw_columns(void **state) {
    (void)state;
    for (int intercept = 0; intercept < 2; intercept++) {
        shape is = {3, 4, 5, intercept == 1, true, "blas", 0};
        machine *a = open_machine(&is);
        sgfs_err err = {0};
        int64_t K = is.classes;
        double *user = zeros(a->D), *raw = zeros(a->n * a->p);
        double *P = zeros(a->n * K), *Q = zeros(a->n * K);
        sgfs_data *plain = sgfsi_data_view(a->data, NULL, 0, SGFSI_NO_SCALE, &err);
        plain->has_target = false;            /* new rows need none */
        sgfs_config *cfg = sgfs_config_new(); /* the number of units is in what was remembered */
        set(cfg, "data.intercept", intercept ? "true" : "false");
        sgfs_model *again = sgfsi_model_create(a->m->kind, plain, cfg, a->m->saved, &err);
        if (again == NULL) fail_msg("%s", err.text);
        assert_int_equal(again->D, a->D);
        sgfsi_data_rows_range(plain, 0, a->n, raw, NULL);
        sgfs_batch rows = a->batch;
        rows.x = raw;
        rows.y = NULL;
        a->m->kind->to_user(a->m, a->theta, user);
        a->m->kind->predict(a->m, a->theta, &a->batch, P, a->scratch);
        again->kind->predict(again, user, &rows, Q, a->scratch);
        for (int64_t i = 0; i < a->n * K; i++) assert_near(Q[i], P[i], 1e-12, a->label);
        assert_true(fabs(user[1] - a->theta[1]) > 0.01 * fabs(a->theta[1]));
        sgfs_model_free(again);
        sgfs_data_free(plain);
        sgfs_config_free(cfg);
        free(user);
        free(raw);
        free(P);
        free(Q);
        close_machine(a);
    }
}

static void test_the_papers_machine_has_2647_parameters(void **state) {
    (void)state;
    shape is = {41, 40, 23, true, false, "blas", 0};
    machine *a = open_machine(&is);
    assert_int_equal(a->D, 2647);
    assert_int_equal(a->m->outputs, 23);
    assert_string_equal(a->m->param[0], "c[1]");
    assert_string_equal(a->m->param[1], "W[1,x1]");
    assert_string_equal(a->m->param[41], "c[2]");
    assert_string_equal(a->m->param[41 * 41], "U[1,0]");
    assert_string_equal(a->m->param[41 * 41 + 23 + 1], "U[2,1]");
    assert_string_equal(a->m->param[2647 - 23], "d[0]");
    assert_string_equal(a->m->param[2646], "d[22]");
    assert_int_equal(sgfsi_json_length(a->m->warnings), 2); /* exchanges, and few rows of a label */
    close_machine(a);
    sgfs_config *cfg = sgfs_config_new(); /* 41 is what it chooses for 40 columns, too */
    double x[40 * 4], y[] = {0, 1, 0, 1};
    for (int i = 0; i < 160; i++) x[i] = cos(i);
    sgfs_arrays arrays = {.rows = 4, .cols = 40, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *m = sgfs_model_open("drbm", data, cfg, NULL);
    assert_non_null(m);
    assert_int_equal(m->D, 41 * 41 + 41 * 2 + 2);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_a_number_of_units_that_is_none_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"0", "-3", "3,4", "2.5", "many", "1e9"};
    double x[] = {0.3, 0.1, 0.7, 0.2}, y[] = {0, 1, 0, 1};
    sgfs_arrays arrays = {.rows = 4, .cols = 1, .x = x, .y = y};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sgfs_err err = {0};
        sgfs_config *cfg = sgfs_config_new();
        set(cfg, "model.hidden", wrong[i]);
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        assert_null(sgfs_model_open("drbm", data, cfg, &err));
        assert_int_equal(err.code, SGFS_EUSAGE);
        assert_non_null(strstr(err.text, "--hidden"));
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* c and d make 1 + H flat directions: without a prior that is said; without them none is flat. */
static void test_flat_directions_without_a_prior_are_told(void **state) {
    (void)state;
    double x[] = {0.3, 0.1, 0.7, 0.2}, y[] = {0, 1, 0, 1};
    sgfs_arrays arrays = {.rows = 4, .cols = 1, .x = x, .y = y};
    for (int intercept = 0; intercept < 2; intercept++) {
        sgfs_config *cfg = sgfs_config_new();
        set(cfg, "model.hidden", "6");
        set(cfg, "prior.precision", "0");
        set(cfg, "data.intercept", intercept ? "true" : "false");
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        sgfs_model *m = sgfs_model_open("drbm", data, cfg, NULL);
        assert_non_null(m);
        assert_int_equal(sgfsi_json_length(m->warnings), 1 + intercept);
        if (intercept)
            assert_non_null(strstr(sgfsi_json_as_text(sgfsi_json_at(m->warnings, 1)), " 7 "));
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* The start depends on the seed alone, has no two units alike, and inputs of ordinary size. */
static void test_the_start_breaks_the_symmetry(void **state) {
    (void)state;
    shape is = {5, 6, 3, true, true, "blas", 0};
    machine *a = open_machine(&is);
    double *theta = zeros(a->D), *again = zeros(a->D), *spread = zeros(a->D), squares = 0;
    a->m->kind->start(a->m, theta, spread);
    a->m->kind->start(a->m, again, spread);
    assert_memory_equal(theta, again, (size_t)a->D * sizeof *theta);
    memcpy(a->theta, theta, (size_t)a->D * sizeof *theta);
    for (int64_t j = 0; j < 5; j++) {
        assert_true(theta[j * a->p] == 0); /* c */
        for (int64_t i = 0; i < j; i++)
            assert_true(fabs(theta[j * a->p + 1] - theta[i * a->p + 1]) > 1e-6);
        for (int64_t i = 0; i < a->n; i++)
            squares += pow(input(a, i, j, 0) - U_of(a, j, 0), 2) / (double)(5 * a->n);
    }
    assert_true(squares > 0.4 && squares < 2);
    for (int64_t j = 0; j < a->D; j++) assert_true(spread[j] > 0 && isfinite(spread[j]));
    set(a->m->own_cfg, "run.seed", "2");
    a->m->kind->start(a->m, again, spread);
    assert_true(again[1] != theta[1]);
    free(theta);
    free(again);
    free(spread);
    close_machine(a);
}

/* A label that no row of the training data had. */
static void test_an_unknown_label_has_no_chance(void **state) {
    (void)state;
    shape is = {2, 2, 3, true, false, "blas", 0};
    machine *a = open_machine(&is);
    a->y[5] = 17;
    fill(a, a->theta);
    assert_true(a->scores.loglik[5] == -INFINITY);
    assert_true(isfinite(a->scores.loglik[4]) && isfinite(a->block[1].dense[5 * 6]));
    close_machine(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_hidden_units_summed_state_by_state),
        cmocka_unit_test(test_scores_are_the_formulas_row_by_row),
        cmocka_unit_test(test_every_parameter_by_finite_differences),
        cmocka_unit_test(test_limits_are_exact_at_700_and_far_beyond),
        cmocka_unit_test(test_moves_that_change_no_prediction),
        cmocka_unit_test(test_null_directions_of_the_information),
        cmocka_unit_test(test_curvature_is_the_expected_information),
        cmocka_unit_test(test_resampled_labels_have_their_probabilities),
        cmocka_unit_test(test_draws_fit_the_raw_columns),
        cmocka_unit_test(test_the_papers_machine_has_2647_parameters),
        cmocka_unit_test(test_a_number_of_units_that_is_none_is_refused),
        cmocka_unit_test(test_flat_directions_without_a_prior_are_told),
        cmocka_unit_test(test_the_start_breaks_the_symmetry),
        cmocka_unit_test(test_an_unknown_label_has_no_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
