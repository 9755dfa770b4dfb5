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

#include "base/number.h"

sgfs_status sgfsi_glm_open(sgfs_model *m, sgfs_err *err) {
    if (!m->data->has_target && m->info == NULL) {
        return sgfsi_fail(err, SGFS_EDATA, "Model %s needs a target column.", m->kind->name);
    }
    if (sgfsi_model_add_block(m, "beta", 1, m->data->p, SGFS_SCORE_INPUT) == NULL) {
        return sgfsi_fail_memory(err, "the model");
    }
    return SGFS_OK;
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
    if (b->sparse != NULL) sparse_predictor(b->n, b->sparse, theta, eta);
    else m->be->gemv(b->n, b->p, 1.0, b->x, theta, 0.0, eta);
    for (int64_t i = 0; b->offset != NULL && i < b->n; i++) eta[i] += b->offset[i];
}

int64_t sgfsi_glm_scratch(const sgfs_model *m) {
    return m->kind->sparse && m->data->table.type == SGFSI_CSR ? 0 : m->data->p;
}

/* Only pairs of entries: O(entries^2) for each row. Columns increase within a row, so that j is
 * never before k. */
static void sparse_curvature(const sgfs_model *m, const sgfs_batch *b, const double *weight,
                             double *A) {
    const sgfs_csr *x = b->sparse;
    for (int64_t i = 0; i < b->n; i++) {
        for (int64_t j = x->start[i]; j < x->start[i + 1]; j++) {
            double left = weight[i] * x->value[j], *row = A + (int64_t)x->col[j] * m->D;
            for (int64_t k = x->start[i]; k <= j; k++) row[x->col[k]] += left * x->value[k];
        }
    }
}

void sgfsi_glm_curvature(const sgfs_model *m, const sgfs_batch *b, double *weight, double *A,
                         double *scratch) {
    for (int64_t i = 0; b->weight != NULL && i < b->n; i++) weight[i] *= b->weight[i];
    if (b->sparse != NULL) {
        sparse_curvature(m, b, weight, A);
        return;
    }
    for (int64_t i = 0; i < b->n; i++) {
        double root = sqrt(weight[i]);
        for (int64_t j = 0; j < b->p; j++) scratch[i * b->p + j] = root * b->x[i * b->p + j];
    }
    if (m->D == b->p) {
        m->be->syrk_t(b->n, b->p, 1.0, scratch, 1.0, A);
        return;
    }
    for (int64_t i = 0; i < b->n; i++) { /* beta is the leading block of a larger matrix */
        const double *x = scratch + i * b->p;
        for (int64_t j = 0; j < b->p; j++) {
            double *row = A + j * m->D;
            for (int64_t k = 0; k <= j; k++) row[k] += x[j] * x[k];
        }
    }
}

/* A slope that explains a good part of the predictor is about unit/sd; the intercept then makes up
 * for columns that lie far from 0. */
void sgfsi_glm_judge_prior(sgfs_model *m, double unit, double centre) {
    const sgfs_data *d = m->data;
    double lambda = sgfsi_config_num(m->cfg, "prior.precision"), largest = 0, offset = 0;
    const char *which = "intercept";
    if (d->scale != NULL || lambda == 0 || m->info != NULL) return;
    for (int64_t j = 0; j < d->features; j++) {
        double size = d->feature[j].sd > 0 ? unit / d->feature[j].sd : 0;
        offset = fmax(offset, fabs(d->feature[j].mean) * size);
        if (size <= largest) continue;
        largest = size;
        which = d->feature[j].name;
    }
    if (d->intercept && fabs(centre) + offset > largest) {
        largest = fabs(centre) + offset;
        which = "intercept";
    }
    char sd_text[SGFSI_NUM_CHARS], size_text[SGFSI_NUM_CHARS];
    if (largest * sqrt(lambda) < 20) return;
    sgfsi_format_digits(sd_text, 1 / sqrt(lambda), 3);
    sgfsi_format_digits(size_text, largest, 2);
    sgfsi_caution(
        m->cautions, sgfsi_config_log(m->cfg),
        "The prior N(0, %s^2) is narrow for these units: \"%s\" may well be of size %s, and the "
        "prior, not the data, would decide the answer. Use --standardize, or a smaller "
        "--prior-precision.",
        sd_text, which, size_text);
}

void sgfsi_glm_spread(const sgfs_model *m, double *spread) {
    const sgfs_data *d = m->data;
    int64_t first = d->p - d->features;
    if (d->intercept) spread[0] = 1;
    for (int64_t j = 0; j < d->features; j++) {
        double shift = d->shift != NULL ? d->shift[j] : 0,
               scale = d->scale != NULL ? d->scale[j] : 1;
        double size = hypot(d->feature[j].sd, d->feature[j].mean - shift) * scale;
        spread[first + j] = size > 0 ? 1 / size : 1;
    }
}

void sgfsi_glm_to_user(const sgfs_model *m, const double *theta, double unit, double *user) {
    const sgfs_data *d = m->data;
    int64_t first = d->p - d->features;
    double moved = 0;
    for (int64_t j = 0; j < d->features; j++) {
        double slope = theta[first + j] * (d->scale != NULL ? d->scale[j] : 1);
        if (d->shift != NULL) moved += slope * d->shift[j];
        user[first + j] = unit * slope;
    }
    if (d->intercept) user[0] = unit * (theta[0] - moved);
}
