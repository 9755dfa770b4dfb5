/* SPDX-License-Identifier: MIT
 * prior_pull.c: how far the prior moves the mode, and a sentence where that is far.
 *
 * At the mode theta* rows and prior pull against each other with the same force,
 * G = Lambda (theta* - m), G the gradient of the log likelihood. Without the prior, and as far as
 * the curvature A = info + Lambda tells, the mode would be elsewhere by
 *
 *     s = A^-1 Lambda (theta* - m) = A^-1 G
 *     in posterior standard deviations |s_j|/sqrt((A^-1)_jj)
 *
 * A weak prior moves nothing by more than a fraction of that. Two things make it strong: columns
 * that nearly follow from others, whose coefficients the rows only know together, and labels that a
 * column separates, which set its coefficient no limit. The first shows by
 * inflation_j = (B^-1)_jj (info_jj - info_0j^2/info_00), B the part of A that belongs to one class:
 * the variance inflation factor of the regression, in which neither classes, that share every row,
 * nor the intercept have a part.
 *
 * The bound is between what was seen on real tables: up to 1.4 where classes of a few rows are told
 * apart by several columns; 1.7 and more where one column separates, or two say the same (2.6 where
 * the estimate without a prior is 5.8 standard errors away).
 *
 * The draws are right for the prior that was asked for; this is for whoever reads coefficients.
 */
#include "posterior/prior_pull.h"

#include <math.h>

#include "model/prior.h"

enum { NAMED = 3 };
static const double much = 1.5;     /* posterior standard deviations */
static const double entangled = 10; /* a variance inflation that textbooks warn of */

void sgfsi_prior_pull_tell(const sgfs_model *m, const double *pull, const double *inflation,
                           char *out, size_t room) {
    int64_t worst[NAMED], found = 0, over = 0, p = m->data->p;
    int64_t coefficients = m->block[0].rows * m->block[0].cols;
    out[0] = '\0';
    for (int64_t j = 0; j < coefficients; j++) {
        double far = fabs(pull[j]);
        if (!(far > much) || j % p < p - m->data->features) continue; /* not of the intercept */
        over++;
        int64_t k = found < NAMED ? found++ : NAMED - 1;
        if (over > NAMED && !(far > fabs(pull[worst[k]]))) continue;
        for (; k > 0 && fabs(pull[worst[k - 1]]) < far; k--) worst[k] = worst[k - 1];
        worst[k] = j;
    }
    if (found == 0) return;
    bool tangled = inflation[worst[0]] > entangled;
    sgfsi_append(out, room, "The prior, not the data, decides ");
    for (int64_t k = 0; k < found; k++)
        sgfsi_append(out, room, "%s\"%.60s\"", k > 0 ? ", " : "", m->param[worst[k]]);
    if (over > found) sgfsi_append(out, room, " and %lld more", (long long)(over - found));
    sgfsi_append(out, room, ": it moves %s by up to %.2g standard deviations, because %s",
                 over > 1 ? "them" : "it", fabs(pull[worst[0]]),
                 tangled ? "columns nearly follow from others. To read coefficients, --drop one of "
                           "such columns, or take a wider prior (--prior-precision 0.01, --prior "
                           "flat)."
                         : "the rows set little limit, as where a column separates labels. "
                           "Another prior (--prior-precision) would give another answer.");
}

/* rows, inflation: D x D and D. */
static bool inflate(const sgfs_model *m, const sgfsi_anchor *a, double *rows, double *inflation) {
    int64_t D = m->D, p = m->data->p, classes = m->block[0].rows;
    double *B = rows, *inverse = rows + p * p;
    for (int64_t c = 0; c < classes; c++) {
        for (int64_t j = 0; j < p * p; j++) B[j] = a->info[(c * p + j / p) * D + c * p + j % p];
        for (int64_t j = 0; j < p; j++) B[j * p + j] += m->precision[c * p + j];
        if (sgfsi_potrf(m->ctx.near, p, B) != 0) return false;
        sgfsi_invert_triangle(m->ctx.near, p, B, inverse);
        for (int64_t j = 0; j < p; j++) {
            const double *of = a->info + (c * p + j) * D + c * p,
                         *first = a->info + c * p * (D + 1);
            double alone = of[j]; /* what the rows say of it, where they have their mean */
            if (m->data->intercept && j > 0) alone -= of[0] * of[0] / first[0];
            inflation[c * p + j] =
                alone * sgfsi_dot(m->ctx.near, p, inverse + j * p, inverse + j * p);
        }
    }
    return true;
}

sgfs_status sgfsi_prior_pull_at(const sgfs_model *m, const sgfsi_anchor *a, char *out, size_t room,
                                sgfs_err *err) {
    sgfsi_arena own = {NULL};
    int64_t D = m->D;
    out[0] = '\0';
    if (!sgfsi_prior_is_quadratic(m) || m->kind->user != NULL || m->block[0].cols != m->data->p)
        return SGFS_OK;
    double *rows = SGFSI_DOUBLES(&own, 2 * D * D), *pull = SGFSI_DOUBLES(&own, 2 * D);
    double *inflation = pull + D;
    if (rows == NULL || pull == NULL) {
        sgfsi_arena_free(&own);
        return sgfsi_fail_memory(err, "the prior's part");
    }
    sgfsi_invert_triangle(m->ctx.near, D, a->L, rows); /* row j: L^-1 e_j */
    for (int64_t j = 0; j < D; j++) pull[j] = a->G[j] - a->G_post[j];
    sgfsi_trsv(m->ctx.near, D, a->L, false, pull);
    sgfsi_trsv(m->ctx.near, D, a->L, true, pull);
    for (int64_t j = 0; j < D; j++)
        pull[j] /= sqrt(sgfsi_dot(m->ctx.near, D, rows + j * D, rows + j * D));
    if (inflate(m, a, rows, inflation)) sgfsi_prior_pull_tell(m, pull, inflation, out, room);
    sgfsi_arena_free(&own);
    return SGFS_OK;
}
