/* SPDX-License-Identifier: MIT
 * prior.c: the Gaussian prior. lambda applies to every parameter, the intercept included, on the
 * scale the chain lives on (with --standardize: the standardised one).
 */
#include "model/prior.h"

const sgfs_option sgfsi_prior_options[] = {
    {"prior.precision", "prior-precision", SGFS_NUMBER, "1", 0, 1e300, NULL,
     "lambda of the Gaussian prior N(0, 1/lambda) on every parameter"},
    SGFSI_OPTIONS_END};

sgfs_status sgfsi_prior_open(sgfs_model *m, sgfs_err *err) {
    double lambda = sgfsi_config_num(m->cfg, "prior.precision");
    if (m->precision != NULL) return SGFS_OK; /* a prior of the model's own: it has said this */
    m->precision = SGFSI_DOUBLES(&m->arena, m->D);
    if (m->precision == NULL) return sgfsi_fail_memory(err, "the prior");
    for (int64_t j = 0; j < m->D; j++) m->precision[j] = lambda;
    return SGFS_OK;
}

sgfs_status sgfsi_prior_add(const sgfs_model *m, const double *theta, double *lp, double *G,
                            sgfs_err *err) {
    double sum = 0;
    if (m->kind->log_prior != NULL) {
        sgfs_status status = m->kind->log_prior(m, theta, lp != NULL ? &sum : NULL, G, err);
        if (lp != NULL) *lp += sum;
        return status;
    }
    for (int64_t j = 0; lp != NULL && j < m->D; j++) sum += m->precision[j] * theta[j] * theta[j];
    for (int64_t j = 0; G != NULL && j < m->D; j++) G[j] -= m->precision[j] * theta[j];
    if (lp != NULL) *lp += -0.5 * sum;
    return SGFS_OK;
}
