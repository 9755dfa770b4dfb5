/* SPDX-License-Identifier: MIT
 * formula_basis.c: arithmetic of columns, and the functions that learn from rows.
 *
 *     scale   (x - mean)/sd                            learnt: mean, sd
 *     poly    p_k(x)/|p_k|, k = 1 ... d                learnt: a_0 ... a_(d-1), |p_0|^2 ... |p_d|^2
 *               p_(k+1) = (x - a_k) p_k - |p_k|^2/|p_(k-1)|^2 p_(k-1),   a_k = <x p_k, p_k>/|p_k|^2
 *     bs      B-splines of degree d, all but the first     learnt: least, largest, knots inside
 *
 * Beyond the least and the largest value a spline goes on as the polynomial of its last piece.
 * Knots that nobody gave are quantiles of the values (type 7), each value counting by its weight.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/formula/formula_parse.h"

/* ---- values ---------------------------------------------------------------------------------- */

static void poly_values(const sgfsi_expr *e, double x, double *out) {
    const double *a = e->learn, *norm = e->learn + e->degree;
    double p = 1, before = 0;
    for (int64_t k = 0; k < e->degree; k++) {
        double next = (x - a[k]) * p - (k > 0 ? norm[k] / norm[k - 1] * before : 0);
        before = p;
        p = next;
        out[k] = p / sqrt(norm[k + 1]);
    }
}

/* The knot number i of the whole list, each end d + 1 times. */
static double knot_at(const sgfsi_expr *e, int64_t i) {
    int64_t inner = i - e->degree - 1;
    return inner < 0 ? e->learn[0] : inner < e->knots ? e->learn[2 + inner] : e->learn[1];
}

/* de Boor's triangle: the d + 1 splines that are not 0 where x is. */
static void spline_values(const sgfsi_expr *e, double x, double *out) {
    const int64_t d = e->degree;
    double value[SGFSI_MOST_POWER + 1], left[SGFSI_MOST_POWER + 1], right[SGFSI_MOST_POWER + 1];
    int64_t piece = 0;
    while (piece < e->knots && x >= e->learn[2 + piece]) piece++;
    value[0] = 1;
    for (int64_t k = 1; k <= d; k++) {
        double saved = 0;
        left[k] = x - knot_at(e, piece + d + 1 - k);
        right[k] = knot_at(e, piece + d + k) - x;
        for (int64_t r = 0; r < k; r++) {
            double gap = right[r + 1] + left[k - r], share = gap != 0 ? value[r] / gap : 0;
            value[r] = saved + right[r + 1] * share;
            saved = left[k - r] * share;
        }
        value[k] = saved;
    }
    memset(out, 0, (size_t)e->width * sizeof *out);
    for (int64_t k = 0; k <= d; k++)
        if (piece + k > 0) out[piece + k - 1] = value[k];
}

static double value_of(const sgfsi_expr *e, const double *row) {
    switch (e->op) {
    case SGFSI_NUMBER: return e->number;
    case SGFSI_NAME: return row[e->col];
    case SGFSI_ADD: return value_of(e->left, row) + value_of(e->right, row);
    case SGFSI_SUBTRACT: return value_of(e->left, row) - value_of(e->right, row);
    case SGFSI_MULTIPLY: return value_of(e->left, row) * value_of(e->right, row);
    case SGFSI_DIVIDE: return value_of(e->left, row) / value_of(e->right, row);
    case SGFSI_POWER: return pow(value_of(e->left, row), value_of(e->right, row));
    case SGFSI_NEGATE: return -value_of(e->left, row);
    case SGFSI_FUNCTION: return e->function(value_of(e->left, row));
    case SGFSI_SCALE: return (value_of(e->left, row) - e->learn[0]) / e->learn[1];
    case SGFSI_POLY:
    case SGFSI_SPLINE: break;
    }
    return NAN;
}

void sgfsi_expr_values(const sgfsi_expr *e, const double *row, double *out) {
    if (e->op == SGFSI_POLY) poly_values(e, value_of(e->left, row), out);
    else if (e->op == SGFSI_SPLINE) spline_values(e, value_of(e->left, row), out);
    else *out = value_of(e, row);
}

/* ---- learning -------------------------------------------------------------------------------- */

typedef struct weighed {
    double value, weight;
} weighed;

static int by_value(const void *a, const void *b) {
    double x = ((const weighed *)a)->value, y = ((const weighed *)b)->value;
    return (x > y) - (x < y);
}

static sgfs_status learn_scale(sgfsi_expr *e, int64_t n, const weighed *x, double total,
                               sgfs_err *err) {
    double mean = 0, ss = 0, rows = 0;
    for (int64_t i = 0; i < n; i++) mean += x[i].weight * (x[i].value - x[0].value) / total;
    mean += x[0].value;
    for (int64_t i = 0; i < n; i++) {
        ss += x[i].weight * (x[i].value - mean) * (x[i].value - mean);
        rows += x[i].weight > 0;
    }
    e->learn[0] = mean;
    e->learn[1] = sqrt(ss / total * rows / (rows - 1));
    return rows > 1 && e->learn[1] > 0
               ? SGFS_OK
               : sgfsi_fail(err, SGFS_EDATA, "is the same in every row, and has no scale.");
}

static sgfs_status learn_poly(sgfsi_expr *e, int64_t n, const weighed *x, double share,
                              sgfs_err *err) {
    int64_t different = 1;
    for (int64_t i = 1; i < n; i++) different += x[i].value != x[i - 1].value;
    if (different <= e->degree)
        return sgfsi_fail(err, SGFS_EDATA,
                          "is a polynomial of degree %lld of %lld different values: it takes more "
                          "of them.",
                          (long long)e->degree, (long long)different);
    double *p = calloc((size_t)n, 2 * sizeof *p), *before = p + n, last = 1;
    if (p == NULL) return sgfsi_fail_memory(err, "a polynomial");
    for (int64_t i = 0; i < n; i++) p[i] = 1;
    for (int64_t k = 0; k <= e->degree; k++) {
        double norm = 0, middle = 0;
        for (int64_t i = 0; i < n; i++) norm += x[i].weight * p[i] * p[i];
        for (int64_t i = 0; i < n; i++) middle += x[i].weight * x[i].value * p[i] * p[i] / norm;
        e->learn[e->degree + k] = norm * share;
        if (k == e->degree) break;
        e->learn[k] = middle;
        for (int64_t i = 0; i < n; i++) {
            double next = (x[i].value - middle) * p[i] - (k > 0 ? norm / last * before[i] : 0);
            before[i] = p[i];
            p[i] = next;
        }
        last = norm;
    }
    free(p);
    return SGFS_OK;
}

/* Of `total` values, of which x are the different ones: that of rank `rank`, from 0. */
static double ranked(int64_t n, const weighed *x, double rank) {
    double below = 0;
    for (int64_t i = 0; i < n; i++) {
        below += x[i].weight;
        if (below > rank * (1 + 1e-15)) return x[i].value;
    }
    return x[n - 1].value;
}

static sgfs_status learn_spline(sgfsi_expr *e, int64_t n, const weighed *x, double total,
                                sgfs_err *err) {
    double least = e->learn[0] = x[0].value, most = e->learn[1] = x[n - 1].value, before = least;
    for (int64_t k = 0; k < e->knots; k++) {
        double rank = (total - 1) * (double)(k + 1) / (double)(e->knots + 1), low = floor(rank);
        double a = ranked(n, x, low), b = ranked(n, x, low + 1);
        double knot = e->knot != NULL ? e->knot[k] : a + (rank - low) * (b - a);
        e->learn[2 + k] = knot;
        if (!(knot > before && knot < most))
            return sgfsi_fail(
                err, SGFS_EDATA,
                "has knots that do not increase between its least value, %.6g, and its "
                "largest, %.6g: %s.",
                least, most, e->knot != NULL ? "give others" : "give fewer, or knots=[...]");
        before = knot;
    }
    return least < most
               ? SGFS_OK
               : sgfsi_fail(err, SGFS_EDATA, "is of a column that is the same everywhere.");
}

sgfs_status sgfsi_expr_learn(sgfsi_expr *e, int64_t count, double *value, double *weight,
                             double share, sgfsi_arena *arena, sgfs_err *err) {
    weighed *x = malloc((size_t)(count + 1) * sizeof *x);
    double total = 0;
    int64_t n = 0;
    e->learn = SGFSI_DOUBLES(arena, e->learnt);
    if (x == NULL || e->learn == NULL) {
        free(x);
        return sgfsi_fail_memory(err, "what a function learns");
    }
    for (int64_t i = 0; i < count; i++) {
        double w = weight != NULL ? weight[i] : 1;
        if (w > 0) x[n++] = (weighed){value[i], w};
        if (w > 0) total += w;
    }
    qsort(x, (size_t)n, sizeof *x, by_value);
    sgfs_status status = n == 0 ? sgfsi_fail(err, SGFS_EDATA, "has no rows to learn from.")
                         : e->op == SGFSI_SCALE ? learn_scale(e, n, x, total, err)
                         : e->op == SGFSI_POLY  ? learn_poly(e, n, x, share, err)
                                                : learn_spline(e, n, x, total, err);
    free(x);
    return status;
}
