/* SPDX-License-Identifier: MIT
 * test_bounds.c: what exact draws rest on: the remainder of a row's log density after its second
 * order, and the bounds that it never exceeds (stages.h: `third`, `remainder`; row_bounds.h).
 *
 *     theta = anchor + L z,  C = L L';   r(z) the remainder, growth g, radius rho
 *     |D^3 log p [v, v, v]|  <=  third e^{g (|z| - rho)+}       for |L^-1 v| = 1, at every z
 *     |r(z') - r(z)|         <=  third e^{g (max(|z|, |z'|) - rho)+}
 *                                min(|z|^3 + |z'|^3, |z' - z| (|z|^2 + z.z' + |z'|^2)) / 6
 *
 * A bound is looked at from both sides: never exceeded, by random moves and by those along the
 * direction in which the row feels most, far out too; and nearly reached somewhere, so that one
 * that is too large by a factor shows as well. Reference numbers are of 60 digits (mpmath).
 */
#include <stdio.h>

#include "model/model.h"
#include "model/taylor_remainder.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* ---- tails ----------------------------------------------------------------------------------- */

/* 20 units in the last place: the sums have a dozen terms. */
static void assert_relative(double got, double wanted, const char *what) {
    assert_near(got, wanted, 20 * 0x1p-53 * fabs(wanted), what);
}

static void test_tails_of_exp_and_log(void **state) {
    (void)state;
    static const double of_exp[][2] = {
        {1e-09, 1.6666666670833336448e-28}, {-3e-05, -4.4999662502024993295e-15},
        {0.499, 0.023572873515345173167},   {-0.501, -0.018576067782812529826},
        {0.125, 0.00033595306682631682901}, {7.5, 1771.4174144560632069},
        {-30, -420.99999999999990642},      {-1.75, -0.60747605654955487332}};
    static const double of_log[][2] = {
        {1e-10, -4.999999999666667031e-21}, {3e-05, -4.4999100020249516292e-10},
        {0.249, -0.026656768856559376303},  {0.251, -0.027056768515225912253},
        {0.125, -0.0072169643436165454612}, {7.5, -5.3599338365037292292},
        {1e+20, -99999999999999999954.0}};
    for (size_t k = 0; k < sizeof of_exp / sizeof of_exp[0]; k++)
        assert_relative(sgfsi_exp_tail(of_exp[k][0]), of_exp[k][1], "exp_tail");
    for (size_t k = 0; k < sizeof of_log / sizeof of_log[0]; k++)
        assert_relative(sgfsi_log1p_tail(of_log[k][0]), of_log[k][1], "log1p_tail");
    assert_true(sgfsi_exp_tail(0) == 0 && sgfsi_log1p_tail(0) == 0);
}

static void test_tails_of_a_coin(void **state) {
    (void)state;
    static const double is[][3] = {{-40, 1e-08, 7.0805904431874580821e-43},
                                   {40, -30, 0.000045398899214821188373},
                                   {-37.25, 29.5, 0.00043064979760787650454},
                                   {0.3125, -1e-08, 6.3028134295033582114e-27},
                                   {1.3125, 0.0546875, -2.6227609237497516871e-6},
                                   {-0.6875, 0.0001, 1.2275321378515782212e-14},
                                   {6.125, -12.75, 6.4192844875245172683},
                                   {0, 0.375, -0.00010204142010526579819},
                                   {17.5, 2.25, -2.9525600958992988946e-8},
                                   {-2.375, 3.1875, 0.42402871457731299552},
                                   {5, 400, -529.17410864198756896},
                                   {-30, -2000, -1.8696540049362136847e-7}};
    for (size_t k = 0; k < sizeof is / sizeof is[0]; k++) {
        double eta = is[k][0], u = is[k][1], e = exp(-fabs(eta)), w = e / ((1 + e) * (1 + e));
        /* where kappa_3 is nearly 0, of the size that it might have had */
        double size = fmax(fabs(is[k][2]), w * u * u * fmin(fabs(u), 1) / 6);
        assert_near(sgfsi_coin_tail(eta, u), is[k][2], 1e-14 * size, "coin_tail");
        assert_true(sgfsi_coin_tail(-eta, -u) == sgfsi_coin_tail(eta, u) || eta == 0);
        double log_p[2] = {0, eta}, p[2], v[2] = {0, u};
        p[0] = eta > 0 ? e / (1 + e) : 1 / (1 + e);
        p[1] = eta > 0 ? 1 / (1 + e) : e / (1 + e);
        assert_near(sgfsi_law_tail(2, log_p, p, v), is[k][2], 1e-14 * size, "law of two points");
    }
}

/* The same shift for all points changes nothing, however large it is beside v. */
static void test_tails_of_a_law(void **state) {
    (void)state;
    static const double is[][2] = {{1e-7, -1.8708900483698966621e-24},
                                   {1e-3, -1.8691626661280661538e-12},
                                   {1, -0.00060491816465225518385},
                                   {40, -3.0119923349053541723},
                                   {300, -1650.2410101411713376}};
    static const double log_p[] = {0.5, -3.25, 2.125, -30}, u[] = {0.75, -1.5, 0.25, 2};
    double p[4], sum = 0, v[4];
    for (int k = 0; k < 4; k++) sum += exp(log_p[k]);
    for (int k = 0; k < 4; k++) p[k] = exp(log_p[k]) / sum;
    for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
        double third = 0.04 * fmin(pow(is[i][0], 3), is[i][0] * is[i][0]);
        for (int shifted = 0; shifted < 2; shifted++) {
            double shift = shifted ? 8 * is[i][0] : 0, size = fmax(fabs(is[i][1]), third);
            for (int k = 0; k < 4; k++) v[k] = u[k] * is[i][0] + shift;
            assert_near(sgfsi_law_tail(4, log_p, p, v), is[i][1], 1e-13 * size, "law_tail");
        }
    }
}

/* ---- a model, an anchor, a matrix ------------------------------------------------------------ */

enum { ROWS = 48, COLS = 3, MOVES = 2500 };

typedef struct setup {
    const char *label;
    const sgfs_model_kind *kind;
    int classes; /* of the target; 0: numbers or counts */
    const char *key, *value;
    double reached; /* how much of the bound is reached at least, by moves and by derivatives */
} setup;

static const setup setups[] = {
    {"logistic", &sgfs_model_logistic, 2, NULL, NULL, 0.9},
    {"softmax, 2 classes", &sgfs_model_softmax, 2, NULL, NULL, 0.9},
    {"softmax, 4 classes", &sgfs_model_softmax, 4, "model.reference_class", "2", 0.5},
    {"softmax, all alike", &sgfs_model_softmax, 4, "model.reference_class", "none", 0.5},
    {"poisson", &sgfs_model_poisson, 0, NULL, NULL, 0.9}};
enum { SETUPS = sizeof setups / sizeof setups[0] };

typedef struct bench {
    setup is;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double *x, *y, *t; /* ROWS x COLS, ROWS, ROWS */
    double *rows;      /* ROWS x p */
    sgfs_batch batch;  /* all of them */
    int64_t D, p;
    double *anchor, *L, *C; /* D, D x D, D x D */
    double radius, growth;
    double *third, *scratch; /* ROWS; as much as the model says, and no more */
    uint64_t seed;
} bench;

static void set(bench *b, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(b->cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* Rows of very different length, one of them 0: predictors from 0 to 8 or so. */
static void make_rows(bench *b) {
    b->x = zeros(ROWS * COLS);
    b->y = zeros(ROWS);
    b->t = zeros(ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        double length = i == 7 ? 0 : exp(1.5 * next_number(&b->seed));
        for (int64_t j = 0; j < COLS; j++) b->x[i * COLS + j] = length * next_normal(&b->seed);
        b->y[i] = b->is.classes > 0 ? (double)(i % b->is.classes) : (double)(i * i % 11);
        b->t[i] = exp(next_number(&b->seed));
    }
}

static void draw_place(bench *b) {
    int64_t D = b->D;
    b->anchor = zeros(D);
    b->L = zeros(D * D);
    b->C = zeros(D * D);
    for (int64_t j = 0; j < D; j++) {
        b->anchor[j] = 0.9 * next_normal(&b->seed);
        for (int64_t k = 0; k < j; k++) b->L[j * D + k] = 0.05 * next_normal(&b->seed);
        b->L[j * D + j] = 0.08 * (1 + fabs(next_normal(&b->seed)));
    }
    bool alike = D == b->is.classes * b->p; /* what all classes have in common, data do not know */
    for (int64_t j = 0; alike && j < D; j++) b->L[j * D + j % b->p] += 0.3;
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k < D; k++) {
            for (int64_t l = 0; l < D; l++) b->C[j * D + k] += b->L[j * D + l] * b->L[k * D + l];
        }
    }
}

static void open_bench(bench *b, const setup *is, double radius, uint64_t seed) {
    sgfs_err err;
    *b = (bench){.is = *is, .radius = radius, .seed = seed, .cfg = unit_prior_config()};
    if (is->key != NULL) set(b, is->key, is->value);
    make_rows(b);
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = b->x, .y = b->y};
    if (is->kind->exposure) arrays.exposure = b->t;
    b->data = sgfs_data_wrap(&arrays, b->cfg, &err);
    b->m = b->data != NULL ? sgfsi_model_create(is->kind, b->data, b->cfg, NULL, &err) : NULL;
    if (b->m == NULL) fail_msg("%s: %s", is->label, err.text);
    b->D = b->m->D;
    b->p = b->data->p;
    b->rows = zeros(ROWS * b->p);
    sgfsi_data_rows_range(b->data, 0, ROWS, b->rows, NULL);
    b->batch = (sgfs_batch){.n = ROWS, .p = b->p, .x = b->rows, .y = b->y, .total = ROWS};
    b->batch.offset = b->data->offset;
    draw_place(b);
    b->third = zeros(ROWS);
    b->scratch = malloc((size_t)(ROWS * b->m->exact_scratch_per_row) * sizeof(double));
    assert_non_null(b->scratch);
    is->kind->third(b->m, b->anchor, b->C, radius, &b->batch, b->third, &b->growth, b->scratch);
    for (int64_t i = 0; i < ROWS; i++) assert_true(isfinite(b->third[i]) && b->third[i] >= 0);
}

static void close_bench(bench *b) {
    double *const each[] = {b->x, b->y, b->t, b->rows, b->anchor, b->L, b->C, b->third, b->scratch};
    for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) free(each[k]);
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

/* Within the radius, where it is tight, and with a radius around everything that is tried. */
static void for_each(void (*statement)(bench *b)) {
    static const double radius[] = {0.04, 2.5, 25};
    for (int k = 0; k < SETUPS; k++) {
        for (int r = 0; r < 3; r++) {
            bench b;
            open_bench(&b, &setups[k], radius[r], (uint64_t)(1000 * k + r + 11));
            statement(&b);
            close_bench(&b);
        }
    }
}

static double size_of(int64_t D, const double *z) {
    double sum = 0;
    for (int64_t j = 0; j < D; j++) sum += z[j] * z[j];
    return sqrt(sum);
}

/* theta = from + L z */
static void to_theta(const bench *b, const double *from, const double *z, double *theta) {
    for (int64_t j = 0; j < b->D; j++) {
        theta[j] = from[j];
        for (int64_t k = 0; k <= j; k++) theta[j] += b->L[j * b->D + k] * z[k];
    }
}

static void draw_z(bench *b, double size, double *z) {
    for (int64_t j = 0; j < b->D; j++) z[j] = size * next_normal(&b->seed);
}

/* The unit z along which the predictors of two classes of row i (of one and of none, where there is
 * one predictor) part most: L' ((e_k - e_l) (x) x). */
static void steepest(bench *b, int64_t i, double *z) {
    int64_t classes = b->D / b->p, k = (int64_t)(next_bits(&b->seed) % (uint64_t)classes);
    int64_t l = (int64_t)(next_bits(&b->seed) % (uint64_t)(classes + 1));
    double *push = zeros(b->D), size;
    for (int64_t j = 0; j < b->p; j++) {
        push[k * b->p + j] += b->rows[i * b->p + j];
        if (l < classes && l != k) push[l * b->p + j] -= b->rows[i * b->p + j];
    }
    for (int64_t j = 0; j < b->D; j++) {
        z[j] = 0;
        for (int64_t q = j; q < b->D; q++) z[j] += b->L[q * b->D + j] * push[q];
    }
    size = size_of(b->D, z);
    for (int64_t j = 0; j < b->D; j++) z[j] /= size;
    free(push);
}

/* ---- one row, by the hooks that everything else uses ----------------------------------------- */

static sgfs_batch only(const bench *b, int64_t i) {
    sgfs_batch one = b->batch;
    one.n = 1;
    one.x += i * b->p;
    one.y += i;
    if (one.offset != NULL) one.offset += i;
    return one;
}

static double loglik(const bench *b, int64_t i, const double *theta, double *left) {
    sgfs_batch one = only(b, i);
    double value, *scratch = zeros(b->m->scratch_per_row);
    sgfs_score_block block = {.rows = b->D / b->p, .cols = b->p, .left = left, .right = one.x};
    sgfs_scores s = {.n = 1, .D = b->D, .blocks = 1, .loglik = &value};
    if (left != NULL) s.block = &block;
    assert_int_equal(b->is.kind->scores(b->m, theta, &one, &s, scratch, NULL), SGFS_OK);
    free(scratch);
    return value;
}

/* v' (information of row i at theta) v, and the size of the terms. */
static double squared(const bench *b, int64_t i, const double *theta, const double *v,
                      double *size) {
    int64_t D = b->D;
    sgfs_batch one = only(b, i);
    double *A = zeros(D * D), *scratch = zeros(b->m->curvature_scratch_per_row), sum = 0;
    b->is.kind->curvature(b->m, theta, &one, A, scratch);
    *size = 0;
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k <= j; k++) {
            double term = (j == k ? 1 : 2) * v[j] * A[j * D + k] * v[k];
            sum += term;
            *size += fabs(term);
        }
    }
    free(A);
    free(scratch);
    return sum;
}

/* The log density less its expansion, and the size of all that was added up on the way: predictors
 * times slopes; residuals and weights are differences to numbers of the size of the target, or
 * 1. */
static double expanded(const bench *b, int64_t i, const double *theta, double *size) {
    double *left = zeros(b->D / b->p), *left_here = zeros(b->D / b->p), *d = zeros(b->D);
    double here = loglik(b, i, theta, left_here), there = loglik(b, i, b->anchor, left);
    double slope = 0, change = 0;
    for (int64_t j = 0; j < b->D; j++) {
        double x = b->rows[i * b->p + j % b->p], g = left[j / b->p], g_here = left_here[j / b->p];
        d[j] = theta[j] - b->anchor[j];
        slope += g * x * d[j];
        *size += fabs(x) * (fabs(g * b->anchor[j]) + fabs(g_here * theta[j]));
        *size += fabs(x * d[j]) * (fabs(g) + fmax(1, b->y[i]));
        change += fabs(x * d[j]);
    }
    double terms, half = 0.5 * squared(b, i, b->anchor, d, &terms);
    *size += fabs(here) + fabs(there) + terms + change * change;
    free(left);
    free(left_here);
    free(d);
    return here - there - slope + half;
}

/* D^3 log p [v, v, v] at theta: central difference of the information along v. */
static double third_along(const bench *b, int64_t i, const double *theta, const double *v) {
    const double h = 2e-4;
    double *to = zeros(b->D), value[2], size;
    for (int side = 0; side < 2; side++) {
        for (int64_t j = 0; j < b->D; j++) to[j] = theta[j] + (side ? h : -h) * v[j];
        value[side] = squared(b, i, to, v, &size);
    }
    free(to);
    return (value[0] - value[1]) / (2 * h);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Displacements from 0.3 to 6: 1e-13 of what was subtracted, while the remainder is a good part of
 * it. One row alone says the same as in the batch. */
static void check_remainder(bench *b) {
    double *z = zeros(b->D), *from = zeros(b->D), *to = zeros(b->D), *out = zeros(ROWS);
    double largest = 0;
    for (int k = 0; k < 12; k++) {
        draw_z(b, exp(1.5 * next_number(&b->seed)), z);
        to_theta(b, b->anchor, z, from);
        draw_z(b, exp(1.5 * next_number(&b->seed)), z);
        to_theta(b, b->anchor, z, to);
        b->is.kind->remainder(b->m, b->anchor, from, to, &b->batch, out, b->scratch);
        for (int64_t i = 0; i < ROWS; i++) {
            double size = 0, alone;
            double wanted = expanded(b, i, to, &size) - expanded(b, i, from, &size);
            assert_near(out[i], wanted, 1e-13 * size, b->is.label);
            largest = fmax(largest, fabs(wanted) / size);
            sgfs_batch one = only(b, i);
            b->is.kind->remainder(b->m, b->anchor, from, to, &one, &alone, b->scratch);
            assert_near(alone, out[i], 1e-13 * size, b->is.label);
        }
    }
    assert_true(largest > 1e-3);
    free(z);
    free(from);
    free(to);
    free(out);
}

/* From -tau v to tau v the remainder changes by tau^3/3 D^3 [v, v, v], and 1e-10 of it: here about
 * 1e-16, where differences of densities would be nothing but rounding. */
static void check_tiny_remainder(bench *b) {
    const double tau = 1e-5;
    double *z = zeros(b->D), *v = zeros(b->D), *none = zeros(b->D), *to = zeros(b->D);
    double *from = zeros(b->D), *out = zeros(ROWS);
    for (int k = 0; k < 12; k++) {
        draw_z(b, 1, z);
        to_theta(b, none, z, v);
        for (int64_t j = 0; j < b->D; j++) {
            from[j] = b->anchor[j] - tau * v[j];
            to[j] = b->anchor[j] + tau * v[j];
        }
        b->is.kind->remainder(b->m, b->anchor, from, to, &b->batch, out, b->scratch);
        for (int64_t i = 0; i < ROWS; i++) {
            double unit = tau * tau * tau / 3, most = b->third[i] * pow(size_of(b->D, z), 3);
            double wanted = third_along(b, i, b->anchor, v);
            assert_near(out[i], unit * wanted, 1e-5 * unit * fmax(fabs(wanted), 1e-2 * most),
                        b->is.label);
        }
    }
    free(z);
    free(v);
    free(none);
    free(to);
    free(from);
    free(out);
}

/* One direction, one place: within the radius as often as beyond it. */
static void check_third(bench *b) {
    double *z = zeros(b->D), *v = zeros(b->D), *theta = zeros(b->D), *none = zeros(b->D);
    double reached = 0;
    for (int k = 0; k < MOVES; k++) {
        int64_t i = k % ROWS;
        if (b->third[i] == 0) continue;
        if (k % 3 > 0) steepest(b, i, z);
        else draw_z(b, 1, z);
        double length = size_of(b->D, z), t = 1.5 * b->radius * next_number(&b->seed);
        t = k % 5 == 0 && b->radius < 20 ? 20 * t / (1.5 * b->radius) : t;
        for (int64_t j = 0; j < b->D; j++) z[j] *= t / length;
        to_theta(b, b->anchor, z, theta);
        if (k % 2 == 0) draw_z(b, 1, z);
        else steepest(b, i, z);
        length = size_of(b->D, z);
        for (int64_t j = 0; j < b->D; j++) z[j] /= length;
        to_theta(b, none, z, v);
        double bound = b->third[i] * exp(b->growth * fmax(0, fabs(t) - b->radius));
        double value = fabs(third_along(b, i, theta, v));
        if (!(value <= bound * (1 + 1e-6)))
            fail_msg("%s: row %lld, |z| = %g: third derivative %.9g, bound %.9g", b->is.label,
                     (long long)i, t, value, bound);
        reached = fmax(reached, value / bound);
    }
    if (reached < b->is.reached)
        fail_msg("%s, radius %g: at most %g of the bound was reached", b->is.label, b->radius,
                 reached);
    free(z);
    free(v);
    free(theta);
    free(none);
}

/* The move number k: anywhere; autoregressive; along the direction in which row k % ROWS feels
 * most, through the anchor or from it. */
static void make_move(bench *b, int k, double *z, double *to) {
    static const double rhos[] = {0, 0.5, 0.9, 0.999};
    int64_t i = k % ROWS;
    double size = exp(log(20) * next_number(&b->seed)) / sqrt((double)b->D);
    double s = next_number(&b->seed), rho = rhos[next_bits(&b->seed) % 4];
    draw_z(b, size, z);
    draw_z(b, size * (k % 4 == 0 ? fabs(s) : 1), to);
    if (k % 4 == 1) {
        for (int64_t j = 0; j < b->D; j++) to[j] = rho * z[j] + sqrt(1 - rho * rho) * to[j];
    }
    if (k % 4 < 2 || b->third[i] == 0) return;
    size = exp(log(k % 8 > 3 ? 500 : 20) * next_number(&b->seed));
    size = size > 20 ? 20 : size;
    steepest(b, i, to);
    for (int64_t j = 0; j < b->D; j++) {
        z[j] = k % 4 == 2 ? size * to[j] : 0;
        to[j] *= k % 4 == 2 ? s * size : s > 0 ? size : -size;
    }
}

/* Rounding: 1e-13 of what r may be at either end, where the ends are close. */
static void check_moves(bench *b) {
    double *z = zeros(b->D), *z_to = zeros(b->D), *from = zeros(b->D), *to = zeros(b->D);
    double *out = zeros(ROWS), reached[2] = {0, 0};
    for (int k = 0; k < MOVES; k++) {
        double inner = 0, apart = 0;
        make_move(b, k, z, z_to);
        to_theta(b, b->anchor, z, from);
        to_theta(b, b->anchor, z_to, to);
        double one = size_of(b->D, z), two = size_of(b->D, z_to);
        for (int64_t j = 0; j < b->D; j++) {
            inner += z[j] * z_to[j];
            apart += (z[j] - z_to[j]) * (z[j] - z_to[j]);
        }
        double factor = exp(b->growth * fmax(0, fmax(one, two) - b->radius)) / 6;
        double ends = (one * one * one + two * two * two) * factor;
        double way = sqrt(apart) * (one * one + inner + two * two) * factor;
        b->is.kind->remainder(b->m, b->anchor, from, to, &b->batch, out, b->scratch);
        for (int64_t i = 0; i < ROWS; i++) {
            double slack = 1e-13 * ends * b->third[i], value = fabs(out[i]);
            const double bound[2] = {ends * b->third[i], way * b->third[i]};
            for (int j = 0; j < 2; j++) {
                if (!(value <= bound[j] * (1 + 1e-9) + slack))
                    fail_msg("%s: row %lld, from |z| = %g to %g: %.9g, bound %s %.9g", b->is.label,
                             (long long)i, one, two, out[i], j ? "of the way" : "of the ends",
                             bound[j]);
                if (bound[j] > 0) reached[j] = fmax(reached[j], value / bound[j]);
            }
        }
    }
    for (int j = 0; j < 2 && b->radius < 1; j++) {
        if (reached[j] < b->is.reached)
            fail_msg("%s: at most %g of the bound was reached", b->is.label, reached[j]);
    }
    free(z);
    free(z_to);
    free(from);
    free(to);
    free(out);
}

static void test_remainders_are_what_the_expansion_leaves(void **state) {
    (void)state;
    for_each(check_remainder);
}

static void test_tiny_remainders_are_third_derivatives(void **state) {
    (void)state;
    for_each(check_tiny_remainder);
}

static void test_third_derivatives_keep_to_the_bound(void **state) {
    (void)state;
    for_each(check_third);
}

static void test_moves_keep_to_both_bounds(void **state) {
    (void)state;
    for_each(check_moves);
}

/* The same rows without their zeros, a third of them: the same sums in another order. */
static void check_sparse(bench *b) {
    int64_t start[ROWS + 1] = {0}, entries = 0;
    int32_t col[ROWS * (COLS + 1)];
    double value[ROWS * (COLS + 1)], *z = zeros(b->D), *to = zeros(b->D), *out = zeros(4 * ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < b->p; j++) {
            double *x = &b->rows[i * b->p + j];
            if ((i + j) % 3 == 0) *x = 0;
            if (*x == 0) continue;
            col[entries] = (int32_t)j;
            value[entries++] = *x;
        }
        start[i + 1] = entries;
    }
    const sgfs_csr rows = {.start = start, .col = col, .value = value};
    sgfs_batch sparse = b->batch;
    double growth[2] = {0, 0};
    sparse.x = NULL;
    sparse.sparse = &rows;
    draw_z(b, 1, z);
    to_theta(b, b->anchor, z, to);
    for (int k = 0; k < 2; k++) {
        const sgfs_batch *batch = k ? &sparse : &b->batch;
        b->is.kind->third(b->m, b->anchor, b->C, b->radius, batch, out + k * ROWS, &growth[k],
                          b->scratch);
        b->is.kind->remainder(b->m, b->anchor, b->anchor, to, batch, out + (2 + k) * ROWS,
                              b->scratch);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        assert_near(out[ROWS + i], out[i], 1e-12 * fabs(out[i]), b->is.label);
        assert_near(out[3 * ROWS + i], out[2 * ROWS + i], 1e-12 * fabs(out[2 * ROWS + i]) + 1e-17,
                    b->is.label);
    }
    assert_near(growth[1], growth[0], 1e-12 * growth[0], b->is.label);
    free(z);
    free(to);
    free(out);
}

static void test_rows_without_their_zeros_say_the_same(void **state) {
    (void)state;
    for_each(check_sparse);
}

/* ---- how small the bounds are ---------------------------------------------------------------- */

/* x_i' C x_i, or that of the difference of two classes: (e_k - e_l) (x) x_i; l < 0: of one
 * alone. */
static double squared_length(const bench *b, int64_t i, int64_t k, int64_t l) {
    double *push = zeros(b->D), sum = 0;
    for (int64_t j = 0; j < b->p; j++) {
        push[k * b->p + j] += b->rows[i * b->p + j];
        if (l >= 0) push[l * b->p + j] -= b->rows[i * b->p + j];
    }
    for (int64_t j = 0; j < b->D * b->D; j++) sum += push[j / b->D] * b->C[j] * push[j % b->D];
    free(push);
    return sum;
}

/* No bound can be smaller that is made of the predictor's place and s = sqrt(x'C x) alone and grows
 * like exp(s |z|):  s^3 max over e of |l'''(e)| exp(-(|e - eta| - s radius)+), here by trying
 * all. */
static void check_logistic(bench *b) {
    if (b->is.kind != &sgfs_model_logistic) return;
    for (int64_t i = 0; i < ROWS; i++) {
        double s = sqrt(squared_length(b, i, 0, -1)), eta = 0, most = 0;
        for (int64_t j = 0; j < b->p; j++) eta += b->rows[i * b->p + j] * b->anchor[j];
        for (double e = -40; e < 40; e += 1e-3) {
            double p = 1 / (1 + exp(-e)), value = fabs(p * (1 - p) * (1 - 2 * p));
            most = fmax(most, value * exp(-fmax(0, fabs(e - eta) - s * b->radius)));
        }
        assert_near(b->third[i], most * s * s * s, 1e-3 * b->third[i], "logistic");
    }
}

/* The largest eigenvalue of M (diag P - P P'), by its powers. */
static double largest_variance(const bench *b, int64_t i, const double *P) {
    enum { MOST = 4 };
    int64_t K = b->D / b->p;
    double M[MOST * MOST], v[MOST], u[MOST], value = 0;
    for (int64_t k = 0; k < K; k++) {
        v[k] = 1 + 0.1 * (double)k;
        for (int64_t l = 0; l < K; l++)
            M[k * K + l] = k == l
                               ? squared_length(b, i, k, -1)
                               : 0.5 * (squared_length(b, i, k, -1) + squared_length(b, i, l, -1) -
                                        squared_length(b, i, k, l));
    }
    for (int turn = 0; turn < 200; turn++) {
        double mean = 0, size = 0;
        for (int64_t k = 0; k < K; k++) mean += P[k] * v[k];
        for (int64_t k = 0; k < K; k++) {
            u[k] = 0;
            for (int64_t l = 0; l < K; l++) u[k] += M[k * K + l] * P[l] * (v[l] - mean);
            size = fmax(size, fabs(u[k]));
        }
        for (int64_t k = 0; k < K; k++) v[k] = u[k] / size;
        value = size;
    }
    return value;
}

/* Probabilities of the classes that have coefficients. */
static void find_P(const bench *b, int64_t i, double *P) {
    int64_t K = b->D / b->p;
    double sum = b->is.classes > K ? 1 : 0;
    for (int64_t k = 0; k < K; k++) {
        double eta = 0;
        for (int64_t j = 0; j < b->p; j++) eta += b->rows[i * b->p + j] * b->anchor[k * b->p + j];
        sum += P[k] = exp(eta);
    }
    for (int64_t k = 0; k < K; k++) P[k] /= sum;
}

/* min(R^3/(6 sqrt 3), R V exp(R radius)), R from all pairs of classes; V is not below the largest
 * variance, and less than three times that. */
static void check_softmax(bench *b) {
    int64_t K = b->D / b->p, variances = 0;
    double P[4];
    for (int64_t i = 0; i < ROWS && b->is.kind == &sgfs_model_softmax; i++) {
        double square = 0;
        for (int64_t k = 0; k < K; k++) {
            if (b->is.classes > K) square = fmax(square, squared_length(b, i, k, -1));
            for (int64_t l = 0; l < k; l++) square = fmax(square, squared_length(b, i, k, l));
        }
        find_P(b, i, P);
        double R = sqrt(square), most = R * R * R / (6 * sqrt(3)), V = largest_variance(b, i, P);
        double factor = R * V * exp(R * b->radius);
        variances += b->third[i] < 0.9 * most;
        assert_true(b->third[i] >= fmin(most, factor) * (1 - 1e-9));
        assert_true(b->third[i] <= fmin(most, 3 * factor) * (1 + 1e-9));
    }
    assert_true(b->is.kind != &sgfs_model_softmax || b->radius > 1 || variances > ROWS / 4);
}

static void test_the_logistic_bound_is_the_smallest(void **state) {
    (void)state;
    for_each(check_logistic);
}

static void test_the_softmax_bound_is_of_range_and_variance(void **state) {
    (void)state;
    for_each(check_softmax);
}

/* ---- the ends of the numbers ----------------------------------------------------------------- */

/* A mean too large for a number: -infinity; predictors a thousand away: finite for classes, and
 * what the quadratic and linear terms say. */
static void test_far_away_nothing_is_lost(void **state) {
    (void)state;
    for (int k = 0; k < SETUPS; k++) {
        bench b;
        open_bench(&b, &setups[k], 2.5, 77);
        double *z = zeros(b.D), *to = zeros(b.D), *out = zeros(ROWS);
        int64_t infinite = 0;
        for (double size = 1e2; size < 1e8; size *= 10) {
            draw_z(&b, size, z);
            to_theta(&b, b.anchor, z, to);
            b.is.kind->remainder(b.m, b.anchor, b.anchor, to, &b.batch, out, b.scratch);
            for (int64_t i = 0; i < ROWS; i++) {
                double scale = 0, value = expanded(&b, i, to, &scale);
                infinite += isinf(out[i]) != 0;
                assert_true(out[i] == out[i]);
                if (isinf(out[i])) assert_true(out[i] < 0 && b.is.classes == 0);
                else assert_near(out[i], value, 1e-12 * scale, b.is.label);
            }
        }
        assert_true((infinite > 0) == (b.is.classes == 0));
        if (b.is.classes == 0) { /* squares that are too large as well */
            draw_z(&b, 1e160, z);
            to_theta(&b, b.anchor, z, to);
            b.is.kind->remainder(b.m, b.anchor, b.anchor, to, &b.batch, out, b.scratch);
            for (int64_t i = 0; i < ROWS; i++) assert_true(isinf(out[i]) != 0);
        }
        free(z);
        free(to);
        free(out);
        close_bench(&b);
    }
}

/* ---- all rows of a linear model -------------------------------------------------------------- */

typedef struct line {
    sgfs_model *m;
    sgfs_batch batch;
    double *scratch;
} line;

/* Sum over rows of weight times log density, and G, to more digits than a double has. */
static long double sum_rows(const line *l, const double *theta, double *G) {
    const sgfs_batch *b = &l->batch;
    int64_t D = l->m->D, p = b->p;
    double *left = zeros(b->n), *dense = zeros(b->n), *value = zeros(b->n);
    sgfs_score_block block[2] = {{.rows = 1, .cols = p, .left = left}, {.dense = dense}};
    sgfs_scores s = {.n = b->n, .D = D, .blocks = 2, .block = block, .loglik = value};
    long double sum = 0;
    assert_int_equal(l->m->kind->scores(l->m, theta, b, &s, l->scratch, NULL), SGFS_OK);
    for (int64_t i = 0; i < b->n; i++) {
        double w = b->weight != NULL ? b->weight[i] : 1;
        sum += (long double)w * value[i];
        for (int64_t j = 0; G != NULL && j < D; j++)
            G[j] += w * (j < p ? left[i] * b->x[i * p + j] : dense[i]);
    }
    free(left);
    free(dense);
    free(value);
    return sum;
}

/* Changes from 1e-3 to 1e6 in the log likelihood of 300 rows: 1e-10 of it. */
static void compare_whole(const line *l, uint64_t seed, const char *label) {
    int64_t D = l->m->D;
    double *anchor = zeros(D), *theta = zeros(D), *unit = zeros(D), *G = zeros(D);
    double *info = zeros(D * D);
    l->m->kind->start(l->m, anchor, unit);
    for (int64_t j = 0; j < D; j++) anchor[j] += 0.3 * unit[j] * next_number(&seed);
    long double here = sum_rows(l, anchor, G);
    l->m->kind->curvature(l->m, anchor, &l->batch, info, l->scratch);
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k < j; k++) info[k * D + j] = info[j * D + k];
    }
    const sgfs_expansion at = {.theta = anchor, .G = G, .info = info};
    assert_true(l->m->kind->whole(l->m, &at, anchor) == 0);
    for (int k = 0; k < 60; k++) {
        double size = k % 3 == 0 ? 1e-3 : k % 3 == 1 ? 0.1 : 1.7;
        for (int64_t j = 0; j < D; j++)
            theta[j] = anchor[j] +
                       (k % 4 == 3 && j < l->batch.p ? 0 : size * unit[j]) * next_number(&seed);
        double wanted = (double)(sum_rows(l, theta, NULL) - here);
        assert_near(l->m->kind->whole(l->m, &at, theta), wanted, 1e-10 * fabs(wanted) + 2e-13,
                    label);
    }
    if (D > l->batch.p) { /* noise that a number cannot hold */
        theta[D - 1] = -1e3;
        assert_true(l->m->kind->whole(l->m, &at, theta) == -INFINITY);
        theta[D - 1] = 1e3;
        double wanted = (double)(sum_rows(l, theta, NULL) - here);
        assert_near(l->m->kind->whole(l->m, &at, theta), wanted, 1e-10 * fabs(wanted), label);
    }
    double *const each[] = {anchor, theta, unit, G, info};
    for (int k = 0; k < 5; k++) free(each[k]);
}

static void check_whole(int which) {
    enum { N = 300 };
    uint64_t seed = (uint64_t)which + 5;
    double *x = zeros(N * COLS), *y = zeros(N), *w = zeros(N), *rows = zeros(N * (COLS + 1));
    sgfs_config *cfg = unit_prior_config();
    sgfs_err err;
    char label[80];
    bool known = which & 1, weights = which & 2, standardize = which & 4;
    snprintf(label, sizeof label, "sigma %s%s%s", known ? "known" : "unknown",
             weights ? ", weights" : "", standardize ? ", standardised" : "");
    if (known) assert_int_equal(sgfs_config_set(cfg, "model.sigma", "0.83", NULL), SGFS_OK);
    if (standardize)
        assert_int_equal(sgfs_config_set(cfg, "data.standardize", "true", NULL), SGFS_OK);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < COLS; j++) x[i * COLS + j] = 0.4 + 1.3 * next_normal(&seed);
        y[i] = 0.7 + 1.9 * x[i * COLS] - 0.6 * x[i * COLS + 2] + 0.9 * next_normal(&seed);
        w[i] = i % 5 == 1 ? 0 : 0.4 + 0.5 * (double)(next_bits(&seed) % 4);
    }
    sgfs_arrays arrays = {.rows = N, .cols = COLS, .x = x, .y = y, .weights = weights ? w : NULL};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    line l = {.m = sgfsi_model_create(&sgfs_model_linear, data, cfg, NULL, &err)};
    assert_non_null(l.m);
    sgfsi_data_rows_range(data, 0, N, rows, NULL);
    l.batch = (sgfs_batch){.n = N, .p = data->p, .x = rows, .y = y, .weight = arrays.weights};
    l.scratch = zeros(N * (l.m->scratch_per_row + l.m->curvature_scratch_per_row));
    compare_whole(&l, seed, label);
    sgfs_model_free(l.m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    double *const each[] = {x, y, w, rows, l.scratch};
    for (int k = 0; k < 5; k++) free(each[k]);
}

static void test_a_linear_model_knows_all_rows_at_once(void **state) {
    (void)state;
    for (int which = 0; which < 8; which++) check_whole(which);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails_of_exp_and_log),
        cmocka_unit_test(test_tails_of_a_coin),
        cmocka_unit_test(test_tails_of_a_law),
        cmocka_unit_test(test_remainders_are_what_the_expansion_leaves),
        cmocka_unit_test(test_tiny_remainders_are_third_derivatives),
        cmocka_unit_test(test_third_derivatives_keep_to_the_bound),
        cmocka_unit_test(test_moves_keep_to_both_bounds),
        cmocka_unit_test(test_rows_without_their_zeros_say_the_same),
        cmocka_unit_test(test_the_logistic_bound_is_the_smallest),
        cmocka_unit_test(test_the_softmax_bound_is_of_range_and_variance),
        cmocka_unit_test(test_far_away_nothing_is_lost),
        cmocka_unit_test(test_a_linear_model_knows_all_rows_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
