/* SPDX-License-Identifier: MIT
 * device.c: the loops over host memory that stand for operations which a device does not have, and
 * memory. Those of networks are in layers.c and boltzmann.c.
 */
#include "context/device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sgfs_status sgfsi_device_open(const sgfs_device **out, const sgfs_device *kind, int64_t number,
                              sgfs_err *err) {
    *out = kind;
    if (kind->ops->open == NULL) return SGFS_OK;
    sgfs_device *dev = malloc(sizeof *dev);
    *out = NULL;
    if (dev == NULL) return sgfsi_fail_memory(err, "the device");
    *dev = *kind;
    dev->number = number;
    sgfs_status status = dev->ops->open(dev, err);
    if (status == SGFS_OK) *out = dev;
    else free(dev);
    return status;
}

void sgfsi_device_close(const sgfs_device *dev) {
    if (dev == NULL || dev->ops->close == NULL) return;
    dev->ops->close((sgfs_device *)dev);
    free((sgfs_device *)dev);
}

void sgfsi_device_wait(const sgfs_device *dev) {
    if (dev->ops->wait != NULL) dev->ops->wait(dev);
}

sgfs_status sgfsi_device_explain(const sgfs_device *dev, sgfs_status status, sgfs_err *err) {
    const char *why = dev->ops->trouble != NULL ? dev->ops->trouble(dev) : NULL;
    if (status == SGFS_OK || status == SGFS_ESTOPPED || why == NULL) return status;
    return sgfsi_fail(err, status == SGFS_ENOMEM ? SGFS_EUSAGE : SGFS_EIO,
                      "The work on the device %s cannot go on: %s. --device blas works without it.",
                      dev->name, why);
}

sgfs_status sgfsi_device_fits(const sgfs_device *dev, int64_t dimension, const char *what,
                              sgfs_err *err) {
    if (dimension <= dev->most) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%lld %s are more than the %lld that --device %s can work with at once.",
                      (long long)dimension, what, (long long)dev->most, dev->name);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void give_back(const void *user, void *A) {
    const sgfs_device *dev = user;
    dev->ops->free(dev, A);
}

double *sgfsi_device_room(const sgfs_device *dev, int64_t n, sgfsi_arena *arena) {
    if (dev->ops->alloc == NULL) return SGFSI_DOUBLES(arena, n);
    double *A = dev->ops->alloc(dev, n);
    if (A == NULL || sgfsi_arena_keep(arena, give_back, dev, A)) return A;
    dev->ops->free(dev, A);
    return NULL;
}

static void take_back(const void *user, void *numbers) {
    const sgfs_device *dev = user;
    dev->ops->take_back(dev, numbers);
}

double *sgfsi_device_lend(const sgfs_device *dev, int64_t n, sgfsi_arena *arena) {
    double *lent = dev->ops->lend != NULL ? dev->ops->lend(dev, n) : NULL;
    if (lent == NULL) return SGFSI_DOUBLES(arena, n);
    if (sgfsi_arena_keep(arena, take_back, dev, lent)) return lent;
    dev->ops->take_back(dev, lent);
    return NULL;
}

void sgfsi_put(SGFSI_HERE, int64_t n, const double *host, double *A) {
    if (dev->ops->put != NULL) dev->ops->put(dev, n, host, A);
    else memcpy(A, host, (size_t)n * sizeof *A);
}

void sgfsi_get(SGFSI_HERE, int64_t n, const double *A, double *host) {
    if (dev->ops->get != NULL) dev->ops->get(dev, n, A, host);
    else memcpy(host, A, (size_t)n * sizeof *A);
}

void sgfsi_zero(SGFSI_HERE, int64_t n, double *A) {
    if (dev->ops->zero != NULL) dev->ops->zero(dev, n, A);
    else memset(A, 0, (size_t)n * sizeof *A);
}

void sgfsi_times(SGFSI_HERE, int64_t n, double a, double *A) {
    if (dev->ops->times != NULL) dev->ops->times(dev, n, a, A);
    else
        for (int64_t i = 0; i < n; i++) A[i] *= a;
}

void sgfsi_minus(SGFSI_HERE, int64_t n, const double *A, const double *B, double *C) {
    if (dev->ops->minus != NULL) dev->ops->minus(dev, n, A, B, C);
    else
        for (int64_t i = 0; i < n; i++) C[i] = A[i] - B[i];
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void link_logit(SGFSI_HERE, const sgfsi_pointwise *p) {
    const int64_t n = p->n;
    const double *eta = p->eta, *restrict target = p->y, one = p->one;
    double *restrict residual = p->residual, *loglik = p->loglik, *e = p->work;
    for (int64_t i = 0; i < n; i++) e[i] = -fabs(eta[i]);
    sgfsi_exp(dev, n, e, e);
    for (int64_t i = 0; residual != NULL && i < n; i++) {
        double y = target[i] == one ? 1.0 : 0.0;
        residual[i] = y - (eta[i] >= 0 ? 1.0 : e[i]) / (1.0 + e[i]);
    }
    if (loglik == NULL) return;
    sgfsi_log1p(dev, n, e, e);
    for (int64_t i = 0; i < n; i++) {
        double y = target[i] == one ? 1.0 : 0.0; /* fmax would be a call */
        loglik[i] = y * eta[i] - ((eta[i] > 0 ? eta[i] : 0) + e[i]);
    }
}

static void link_log(SGFSI_HERE, const sgfsi_pointwise *p) {
    sgfsi_exp(dev, p->n, p->eta, p->work);
    for (int64_t i = 0; p->residual != NULL && i < p->n; i++) p->residual[i] = p->y[i] - p->work[i];
    for (int64_t i = 0; p->loglik != NULL && i < p->n; i++)
        p->loglik[i] = p->y[i] * p->eta[i] - p->work[i];
}

void sgfsi_link_of(SGFSI_HERE, sgfsi_link link, const sgfsi_pointwise *p) {
    if (dev->ops->link != NULL) dev->ops->link(dev, link, p);
    else if (link == SGFSI_LOGIT) link_logit(dev, p);
    else link_log(dev, p);
}

static void softmax(SGFSI_HERE, const sgfsi_softmax *s) {
    /* eta -= max; the place of the largest goes to `rest` (-1: the further class). */
    for (int64_t i = 0; i < s->n; i++) {
        double *eta = s->P + i * s->rows, largest = s->further ? 0 : eta[0];
        int64_t at = s->further ? -1 : 0;
        for (int64_t k = 0; k < s->rows; k++) {
            bool more = eta[k] > largest;
            largest = more ? eta[k] : largest;
            at = more ? k : at;
        }
        for (int64_t k = 0; k < s->rows; k++) eta[k] -= largest;
        s->base[i] = -largest;
        s->rest[i] = (double)at;
    }
    for (int64_t i = 0; s->own != NULL && i < s->n; i++) {
        int64_t k = (int64_t)s->own[i];
        s->own[i] = k < 0 ? -INFINITY : k < s->rows ? s->P[i * s->rows + k] : s->base[i];
    }
    sgfsi_exp(dev, s->n * s->rows, s->P, s->P);
    if (s->further) sgfsi_exp(dev, s->n, s->base, s->base);
    for (int64_t i = 0; i < s->n; i++) { /* divide by the sum of all */
        double *P = s->P + i * s->rows, rest = 0;
        int64_t at = (int64_t)s->rest[i];
        for (int64_t k = 0; k < s->rows; k++) rest += k == at ? 0 : P[k];
        if (s->further && at >= 0) rest += s->base[i];
        double scale = 1 / (1 + rest);
        for (int64_t k = 0; k < s->rows; k++) P[k] *= scale;
        s->base[i] *= scale;
        s->rest[i] = rest;
    }
}

void sgfsi_softmax_of(SGFSI_HERE, const sgfsi_softmax *s) {
    if (dev->ops->softmax != NULL) dev->ops->softmax(dev, s);
    else softmax(dev, s);
}

void sgfsi_unit_less(SGFSI_HERE, int64_t n, int64_t k, const double *at, double *P) {
    if (dev->ops->unit_less != NULL) {
        dev->ops->unit_less(dev, n, k, at, P);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double *row = P + i * k;
        for (int64_t j = 0; j < k; j++) row[j] = -row[j];
        if (at[i] >= 0) row[(int64_t)at[i]] += 1;
    }
}

/* Columns from .. end - 1 of left (x) right for row i, minus the mean. */
static void outer_row(const sgfsi_outer *o, int64_t i, double *g) {
    for (int64_t r = o->from / o->cols; r * o->cols < o->end; r++) {
        int64_t begin = o->from > r * o->cols ? o->from : r * o->cols;
        int64_t cols = (o->end < (r + 1) * o->cols ? o->end : (r + 1) * o->cols) - begin;
        double left = o->left != NULL ? o->left[i * o->rows + r] : 1;
        const double *restrict right = o->right + i * o->cols + (begin - r * o->cols);
        const double *mean = o->mean != NULL ? o->mean + begin : NULL;
        double *restrict out = g + (begin - o->from);
        if (mean == NULL) {
            for (int64_t c = 0; c < cols; c++) out[c] = left * right[c];
        } else {
            for (int64_t c = 0; c < cols; c++) out[c] = left * right[c] - mean[c];
        }
    }
}

void sgfsi_outer_of(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride) {
    if (dev->ops->outer != NULL) {
        dev->ops->outer(dev, o, B, stride);
        return;
    }
    for (int64_t i = 0; i < o->n; i++) outer_row(o, i, B + i * stride);
}

/* ss += v_i^2 x_ij^2 of four rows in turn (v NULL: 1), so that ss is read and written once for
 * them.
 */
static void add_four_squares(int64_t k, const double *v, const double *X, double *restrict ss) {
    const double *a = X, *b = X + k, *c = X + 2 * k, *d = X + 3 * k;
    double square[4] = {1, 1, 1, 1};
    for (int r = 0; v != NULL && r < 4; r++) square[r] = v[r] * v[r];
    for (int64_t j = 0; j < k; j++) {
        double sum = ss[j] + square[0] * (a[j] * a[j]);
        sum += square[1] * (b[j] * b[j]);
        sum += square[2] * (c[j] * c[j]);
        ss[j] = sum + square[3] * (d[j] * d[j]);
    }
}

void sgfsi_squares(SGFSI_HERE, int64_t n, int64_t k, const double *v, const double *X, double *ss) {
    if (dev->ops->squares != NULL) {
        dev->ops->squares(dev, n, k, v, X, ss);
        return;
    }
    memset(ss, 0, (size_t)k * sizeof *ss);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) add_four_squares(k, v != NULL ? v + i : NULL, X + i * k, ss);
    for (; i < n; i++) {
        double square = v != NULL ? v[i] * v[i] : 1;
        for (int64_t j = 0; j < k; j++) ss[j] += square * (X[i * k + j] * X[i * k + j]);
    }
}

void sgfsi_outer_sums(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double a, double b,
                      const double *ones, double *y) {
    if (dev->ops->outer_sums != NULL) {
        dev->ops->outer_sums(dev, count, o, a, b, ones, y);
        return;
    }
    for (const sgfsi_outer *end = o + count; o < end; y += o->rows * o->cols, o++) {
        const double *left = o->left != NULL ? o->left : ones;
        if (o->rows == 1) sgfsi_gemv_t(dev, o->n, o->cols, a, o->right, left, b, y);
        else sgfsi_gemm_tn(dev, o->n, o->rows, o->cols, a, left, o->right, b, y);
    }
}

static void square(int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * x[i];
}

/* As a product of squared factors, n x (rows cols) is not formed:
 *     sum_i (l_ir r_ic)^2 = (L o L)'(R o R).
 * With one row a pass does, and no squares are stored. */
void sgfsi_outer_squares(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double *room,
                         int64_t size, double *ss) {
    if (dev->ops->outer_squares != NULL) {
        dev->ops->outer_squares(dev, count, o, room, size, ss);
        return;
    }
    for (const sgfsi_outer *end = o + count; o < end; ss += o->rows * o->cols, o++) {
        if (o->rows == 1) {
            sgfsi_squares(dev, o->n, o->cols, o->left, o->right, ss);
            continue;
        }
        int64_t at_once = size / (o->rows + o->cols);
        for (int64_t first = 0; first < o->n; first += at_once) {
            int64_t m = o->n - first < at_once ? o->n - first : at_once;
            double *left = room, *right = room + m * o->rows;
            square(m * o->rows, o->left + first * o->rows, left);
            square(m * o->cols, o->right + first * o->cols, right);
            sgfsi_gemm_tn(dev, m, o->rows, o->cols, 1.0, left, right, first > 0 ? 1.0 : 0.0, ss);
        }
    }
}

/* ---- triangles ------------------------------------------------------------------------------- */

void sgfsi_combine(SGFSI_HERE, int64_t D, double b, const double *B, double c, const double *C,
                   double *A) {
    if (dev->ops->combine != NULL) {
        dev->ops->combine(dev, D, b, B, c, C, A);
        return;
    }
    for (int64_t i = 0; i < D; i++) {
        double *to = A + i * D;
        const double *from = B + i * D;
        if (C == NULL) {
            for (int64_t j = 0; j <= i; j++) to[j] = b * from[j];
        } else {
            for (int64_t j = 0; j <= i; j++) to[j] = b * from[j] + c * C[i * D + j];
        }
    }
}

void sgfsi_add_diag(SGFSI_HERE, int64_t D, double c, const double *d, double *A) {
    if (dev->ops->add_diag != NULL) {
        dev->ops->add_diag(dev, D, c, d, A);
        return;
    }
    for (int64_t i = 0; i < D; i++) A[i * D + i] += c * (d != NULL ? d[i] : 1.0);
}

void sgfsi_get_diag(SGFSI_HERE, int64_t D, const double *A, double *d) {
    if (dev->ops->get_diag != NULL) {
        dev->ops->get_diag(dev, D, A, d);
        return;
    }
    for (int64_t i = 0; i < D; i++) d[i] = A[i * D + i];
}

double sgfsi_trace_of(SGFSI_HERE, int64_t D, const double *A) {
    if (dev->ops->trace != NULL) return dev->ops->trace(dev, D, A);
    double sum = 0;
    for (int64_t i = 0; i < D; i++) sum += A[i * D + i];
    return sum;
}

void sgfsi_solve_noisy(SGFSI_HERE, int64_t D, const double *L, double a, const double *z,
                       double *x) {
    if (dev->ops->solve_noisy != NULL) {
        dev->ops->solve_noisy(dev, D, L, a, z, x);
        return;
    }
    sgfsi_trsv(dev, D, L, false, x);
    for (int64_t j = 0; z != NULL && j < D; j++) x[j] += a * z[j];
    sgfsi_trsv(dev, D, L, true, x);
}

void sgfsi_invert_triangle(SGFSI_HERE, int64_t D, const double *L, double *X) {
    memset(X, 0, (size_t)(D * D) * sizeof *X);
    for (int64_t j = 0; j < D; j++) {
        X[j * D + j] = 1;
        sgfsi_trsv(dev, D, L, false, X + j * D);
    }
}

void sgfsi_transpose(SGFSI_HERE, int64_t D, double *A) {
    if (dev->ops->transpose != NULL) {
        dev->ops->transpose(dev, D, A);
        return;
    }
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) {
            double kept = A[i * D + j];
            A[i * D + j] = A[j * D + i];
            A[j * D + i] = kept;
        }
    }
}

/* Column by column; symmetric, so a row serves as a column. */
void sgfsi_invert_factor(SGFSI_HERE, int64_t D, const double *L, double *A) {
    if (dev->ops->invert_factor != NULL) {
        dev->ops->invert_factor(dev, D, L, A);
        return;
    }
    memset(A, 0, (size_t)(D * D) * sizeof *A);
    for (int64_t j = 0; j < D; j++) {
        A[j * D + j] = 1;
        sgfsi_trsv(dev, D, L, false, A + j * D);
        sgfsi_trsv(dev, D, L, true, A + j * D);
    }
}

/* One plane rotation that makes S_ij 0, i < j, and turns rows i and j of V with it (Golub and Van
 * Loan, Matrix Computations, 8.5). Is there anything to turn? least: what is rounding. */
static bool rotate(int64_t D, double *S, double *V, int64_t i, int64_t j, double least) {
    double off = S[i * D + j], gap = S[j * D + j] - S[i * D + i];
    if (!(fabs(off) > least)) return false;
    double t = 2 * off / (gap + copysign(hypot(gap, 2 * off), gap));
    double c = 1 / hypot(1, t), s = c * t;
    for (int64_t k = 0; k < D; k++) { /* columns, then rows: S stays symmetric */
        double a = S[k * D + i], b = S[k * D + j];
        S[k * D + i] = c * a - s * b;
        S[k * D + j] = s * a + c * b;
    }
    for (int64_t k = 0; k < D; k++) {
        double a = S[i * D + k], b = S[j * D + k], x = V[i * D + k], y = V[j * D + k];
        S[i * D + k] = c * a - s * b;
        S[j * D + k] = s * a + c * b;
        V[i * D + k] = c * x - s * y;
        V[j * D + k] = s * x + c * y;
    }
    return true;
}

/* Jacobi's method: sweeps of rotations over all pairs until none is needed. */
int64_t sgfsi_eigen(SGFSI_HERE, int64_t D, double *A, double *w, double *work) {
    enum { SWEEPS = 60 };
    if (dev->ops->eigen != NULL) return dev->ops->eigen(dev, D, A, w, work);
    double *S = work;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++) S[i * D + j] = S[j * D + i] = A[i * D + j];
    }
    memset(A, 0, (size_t)(D * D) * sizeof *A);
    for (int64_t i = 0; i < D; i++) A[i * D + i] = 1;
    double largest = 0;
    for (int64_t i = 0; i < D * D; i++) largest = fmax(largest, fabs(S[i]));
    bool turned = true;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (int64_t i = 0; i < D; i++) {
            for (int64_t j = i + 1; j < D; j++)
                turned = rotate(D, S, A, i, j, 0x1p-54 * largest) || turned;
        }
    }
    for (int64_t i = 0; i < D; i++) {
        int64_t least = i;
        for (int64_t j = i; j < D; j++) {
            if (S[j * D + j] < S[least * D + least]) least = j;
        }
        w[i] = S[least * D + least];
        S[least * D + least] = S[i * D + i];
        for (int64_t k = 0; k < D && least != i; k++) {
            double kept = A[i * D + k];
            A[i * D + k] = A[least * D + k];
            A[least * D + k] = kept;
        }
    }
    return turned;
}
