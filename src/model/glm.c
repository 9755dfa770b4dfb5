/* SPDX-License-Identifier: MIT
 * glm.c: the parts of generalised linear models that do not depend on the likelihood.
 *
 * Score of row i for beta: g_i = residual_i x_i, handed over in factors (left = residual, right =
 * the batch's own rows), so that no n x D array is made unless a full matrix needs one.
 *
 * Standardised columns are x~_j = (x_j - m_j)/s_j, so
 *     b_0 + sum_j b_j x~_j  =  (b_0 - sum_j b_j m_j/s_j) + sum_j (b_j/s_j) x_j.
 */
#include "model/glm.h"

#include <math.h>
#include <string.h>

sgfs_status sgfsi_glm_open(sgfs_model *m, int64_t rows, sgfs_err *err) {
    if (sgfsi_model_add_block(m, "beta", rows, m->data->p, SGFS_SCORE_INPUT) == NULL) {
        return sgfsi_fail_memory(err, "the model");
    }
    return SGFS_OK;
}

sgfs_status sgfsi_glm_check_numbers(const sgfs_model *m, const char *needs, sgfs_err *err) {
    const sgfs_data *d = m->data;
    sgfs_status status = sgfsi_data_refuse_text(d, needs, err);
    if (status != SGFS_OK || m->restored != NULL || d->target.min < d->target.max) return status;
    if (!sgfsi_config_auto(m->cfg, "model.sigma")) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: every row of the target \"%s\" is the same: there is nothing to "
                      "explain, and no noise to estimate.",
                      d->path, d->target.name);
}

sgfs_status sgfsi_glm_name(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    sgfs_status status = sgfsi_model_room_for_names(m, err);
    if (status != SGFS_OK) return status;
    if (d->intercept) sgfsi_model_name(m, 0, "intercept");
    for (int64_t j = 0; j < d->features; j++) {
        sgfsi_model_name(m, d->p - d->features + j, d->feature[j].name);
    }
    return SGFS_OK;
}

void sgfsi_half_exp(const sgfs_model *m, int64_t n, const double *eta, double *e) {
    for (int64_t i = 0; i < n; i++) e[i] = -fabs(eta[i]);
    sgfsi_exp(m->ctx.device, n, e, e);
}

static void sparse_predictor(int64_t n, const sgfs_csr *x, const double *theta, double *eta) {
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = x->start[i]; k < x->start[i + 1]; k++) {
            sum += x->value[k] * theta[x->col[k]];
        }
        eta[i] = sum;
    }
}

void sgfsi_glm_predictor(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                         double *eta) {
    if (b->eta != NULL) memcpy(eta, b->eta, (size_t)b->n * sizeof *eta);
    else if (b->sparse != NULL) sparse_predictor(b->n, b->sparse, theta, eta);
    else sgfsi_gemv(m->ctx.device, b->n, b->p, 1.0, b->x, theta, 0.0, eta);
    for (int64_t i = 0; b->offset != NULL && i < b->n; i++) eta[i] += b->offset[i];
}

/* Row i of eta = B x_i, B rows x p, from the entries of x_i that are not 0. */
static void sparse_predictors(const sgfs_csr *x, const double *B, int64_t rows, int64_t p,
                              int64_t first, int64_t n, double *eta) {
    for (int64_t i = 0; i < n * rows; i++) eta[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = x->start[first + i]; k < x->start[first + i + 1]; k++) {
            const double *column = B + x->col[k];
            for (int64_t r = 0; r < rows; r++) eta[i * rows + r] += x->value[k] * column[r * p];
        }
    }
}

void sgfsi_glm_predictors(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          int64_t first, int64_t n, double *eta) {
    if (b->sparse != NULL) {
        sparse_predictors(b->sparse, theta, m->block[0].rows, b->p, first, n, eta);
        return;
    }
    sgfsi_gemm_nt(m->ctx.device, n, m->block[0].rows, b->p, 1.0, b->x + first * b->p, theta, 0.0,
                  eta);
}

static void sparse_changes(const sgfs_csr *x, int64_t n, int64_t rows, int64_t p,
                           const double *from, const double *to, double *u) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int64_t k = x->start[i]; k < x->start[i + 1]; k++) {
                int64_t at = r * p + x->col[k];
                sum += x->value[k] * (to[at] - from[at]);
            }
            u[i * rows + r] = sum;
        }
    }
}

void sgfsi_glm_changes(const sgfs_model *m, const double *from, const double *to,
                       const sgfs_batch *b, double *u, double *scratch) {
    int64_t rows = m->block[0].rows;
    if (b->sparse != NULL) {
        sparse_changes(b->sparse, b->n, rows, b->p, from, to, u);
        return;
    }
    if (b->n == 0) return; /* no scratch either */
    for (int64_t j = 0; j < rows * b->p; j++) scratch[j] = to[j] - from[j];
    if (rows == 1) sgfsi_gemv(m->ctx.device, b->n, b->p, 1.0, b->x, scratch, 0.0, u);
    else sgfsi_gemm_nt(m->ctx.device, b->n, rows, b->p, 1.0, b->x, scratch, 0.0, u);
}

int64_t sgfsi_glm_scratch(const sgfs_model *m) {
    return m->kind->sparse && sgfsi_data_is_sparse(m->data) ? 0 : m->data->p;
}

/* Only pairs of entries that are not 0: O(entries^2) for each row. Columns increase within a
 * row, so that no k is past j in the lower triangle. A: the p x p block, in rows of length D. */
static void sparse_curvature(const sgfs_batch *b, const double *weight, bool lower, int64_t D,
                             double *A) {
    const sgfs_csr *x = b->sparse;
    for (int64_t i = 0; i < b->n; i++) {
        for (int64_t j = x->start[i]; j < x->start[i + 1]; j++) {
            double left = weight[i] * x->value[j], *row = A + (int64_t)x->col[j] * D;
            int64_t end = lower ? j + 1 : x->start[i + 1];
            for (int64_t k = x->start[i]; k < end; k++) row[x->col[k]] += left * x->value[k];
        }
    }
}

void sgfsi_glm_curvature(const sgfs_model *m, const sgfs_batch *b, double *weight, double *A,
                         double *scratch) {
    for (int64_t i = 0; b->weight != NULL && i < b->n; i++)
        weight[i] = b->weight[i] > 0 ? weight[i] * b->weight[i] : 0; /* whatever it was */
    if (b->sparse != NULL) {
        sparse_curvature(b, weight, true, m->D, A);
        return;
    }
    if (b->x == NULL) { /* whoever has the rows forms the product */
        memcpy(b->square, weight, (size_t)b->n * sizeof *weight);
        return;
    }
    /* beta is the leading block of the matrix: the other columns are 0 */
    for (int64_t i = 0; i < b->n; i++) {
        double root = sqrt(weight[i]), *to = scratch + i * m->D;
        for (int64_t j = 0; j < b->p; j++) to[j] = root * b->x[i * b->p + j];
        for (int64_t j = b->p; j < m->D; j++) to[j] = 0;
    }
    sgfsi_syrk_t(m->ctx.device, b->n, m->D, 1.0, scratch, 1.0, A);
}

double sgfsi_glm_sparse_square(const sgfs_csr *x, int64_t i, const double *C, int64_t D) {
    double sum = 0;
    for (int64_t j = x->start[i]; j < x->start[i + 1]; j++) {
        const double *row = C + (int64_t)x->col[j] * D;
        double inner = 0;
        for (int64_t k = x->start[i]; k < x->start[i + 1]; k++)
            inner += x->value[k] * row[x->col[k]];
        sum += x->value[j] * inner;
    }
    return sum;
}

void sgfsi_glm_leverage(const sgfs_model *m, const sgfs_batch *b, const double *C, double *out,
                        double *scratch) {
    int64_t p = b->p;
    for (int64_t i = 0; b->sparse != NULL && i < b->n; i++)
        out[i] = fmax(0, sgfsi_glm_sparse_square(b->sparse, i, C, m->D));
    if (b->sparse != NULL) return;
    if (m->D == p) sgfsi_gemm_nn(m->ctx.device, b->n, p, p, 1.0, b->x, C, 0.0, scratch);
    for (int64_t i = 0; i < b->n; i++) {
        const double *x = b->x + i * p;
        for (int64_t j = 0; m->D != p && j < p; j++)
            scratch[i * p + j] = sgfsi_dot(m->ctx.device, p, x, C + j * m->D);
        out[i] = fmax(0, sgfsi_dot(m->ctx.device, p, x, scratch + i * p)); /* rounding of nothing */
    }
}

/* A product has no room in A, whose rows are longer: it is made in strips beside it, of as many
 * rows as the scratch of a small batch can hold, and added. */
void sgfsi_glm_curvature_pair(const sgfs_model *m, const sgfs_batch *b, const double *weight,
                              int64_t r, int64_t c, double *A, double *scratch) {
    int64_t p = b->p, strip = p < b->n ? p : b->n;
    if (b->sparse != NULL) {
        sparse_curvature(b, weight, r == c, m->D, A + r * p * m->D + c * p);
        return;
    }
    double *scaled = scratch, *product = scratch + b->n * p;
    for (int64_t first = 0; first < p; first += strip) {
        int64_t n = p - first < strip ? p - first : strip;
        /* Rows first .. first+n-1 of X' diag(weight) X. */
        for (int64_t i = 0; i < b->n; i++) {
            const double *x = b->x + i * b->p + first;
            for (int64_t j = 0; j < n; j++) scaled[i * n + j] = weight[i] * x[j];
        }
        sgfsi_gemm_tn(m->ctx.device, b->n, n, b->p, 1.0, scaled, b->x, 0.0, product);
        for (int64_t j = 0; j < n; j++) {
            double *to = A + (r * p + first + j) * m->D + c * p;
            int64_t length = r == c ? first + j + 1 : p; /* the lower triangle */
            for (int64_t k = 0; k < length; k++) to[k] += product[j * p + k];
        }
    }
}

/* A slope that explains a good part of the predictor is about unit/sd; the intercept then makes up
 * for columns that lie far from 0. prior.c compares, once the precisions are known. */
void sgfsi_glm_judge_prior(sgfs_model *m, double unit, double centre) {
    const sgfs_data *d = m->data;
    int64_t rows = m->block[0].rows, first = d->p - d->features;
    double offset = 0;
    m->reach = hypot(unit, centre) / (unit > 0 ? unit : 1);
    if (d->scale != NULL || m->restored != NULL) return;
    m->likely = SGFSI_DOUBLES(&m->arena, rows * d->p); /* NULL: a caution less */
    for (int64_t r = 0; m->likely != NULL && r < rows; r++) {
        double *row = m->likely + r * d->p;
        for (int64_t j = 0; j < d->features; j++) {
            const sgfsi_column *c = &d->feature[j];
            /* a rare 0/1 column has a small sd, and still no coefficient of a hundred */
            double size = c->sd > 0 ? unit / fmax(c->sd, (c->max - c->min) / 8) : 0;
            offset = fmax(offset, fabs(d->feature[j].mean) * size);
            row[first + j] = size;
        }
        if (d->intercept) row[0] = fabs(centre) + offset;
    }
}

/* Root mean square of column j as the chain sees it. */
static double column_size(const sgfs_data *d, int64_t j) {
    double shift = d->shift != NULL ? d->shift[j] : 0, scale = d->scale != NULL ? d->scale[j] : 1;
    return hypot(d->feature[j].sd, d->feature[j].mean - shift) * scale;
}

double sgfsi_glm_fan_in(const sgfs_data *d) {
    double sum = 0;
    for (int64_t j = 0; j < d->features; j++) sum += column_size(d, j) * column_size(d, j);
    return fmax(sum, 1);
}

void sgfsi_glm_start(const sgfs_model *m, double *theta, double *spread) {
    const sgfs_data *d = m->data;
    int64_t first = d->p - d->features;
    for (int64_t i = 0; i < m->block[0].rows * d->p; i++) {
        int64_t j = i % d->p - first;
        theta[i] = 0;
        spread[i] = 1;
        if (j < 0) continue;
        double size = column_size(d, j);
        if (size > 0) spread[i] = 1 / size;
    }
}

void sgfsi_glm_to_user(const sgfs_model *m, const double *theta, double *user) {
    const sgfs_data *d = m->data;
    int64_t first = d->p - d->features;
    if (d->scale == NULL && d->shift == NULL) { /* of the same columns */
        memcpy(user, theta, (size_t)(m->block[0].rows * d->p) * sizeof *user);
        return;
    }
    for (int64_t r = 0; r < m->block[0].rows; r++, theta += d->p, user += d->p) {
        double moved = 0;
        for (int64_t j = 0; j < d->features; j++) {
            double slope = theta[first + j] * (d->scale != NULL ? d->scale[j] : 1);
            if (d->shift != NULL) moved += slope * d->shift[j];
            user[first + j] = slope;
        }
        if (d->intercept) user[0] = theta[0] - moved;
    }
}

void sgfsi_glm_from_user(const sgfs_model *m, const double *user, double *theta) {
    const sgfs_data *d = m->data;
    int64_t first = d->p - d->features;
    for (int64_t r = 0; r < m->block[0].rows; r++, theta += d->p, user += d->p) {
        double moved = 0;
        for (int64_t j = 0; j < d->features; j++) {
            double slope = user[first + j];
            if (d->shift != NULL) moved += slope * d->shift[j];
            theta[first + j] = slope / (d->scale != NULL ? d->scale[j] : 1);
        }
        if (d->intercept) theta[0] = user[0] + moved;
    }
}
