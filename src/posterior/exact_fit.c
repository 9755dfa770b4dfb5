/* SPDX-License-Identifier: MIT
 * exact_fit.c: tells noise from rounding, and refuses a target that is a sum of columns.
 *
 * A number x of a table is known to eps |x|/2, eps = 2^-52, or 2^-23 where it is stored in four
 * bytes. The residual y - x'beta of a row is therefore rounding up to about
 *
 *     eps (|y| + root of sum_j (beta_j x_j)^2),     the largest |y| and |x_j| of all rows
 *
 * and a sigma below that says nothing of the data, but something of how their decimals were
 * written: 4.90 + 20.46 is not 25.36 in binary. Numbers that were rounded to six digits before they
 * were added up leave a residual ten orders above, and are a regression like any other.
 */
#include "posterior/exact_fit.h"

#include <float.h>
#include <math.h>

enum { NAMED = 5 };                 /* columns in the sentence */
static const double nothing = 1e-6; /* of the target's range: a column that has no part in it */

static double largest(const sgfsi_column *c) {
    return fmax(fabs(c->min), fabs(c->max));
}

/* "net + 1.2 tax - 3": the columns that have a part in the target. user: p. */
static void write_sum(const sgfs_data *d, const double *user, char *out, size_t room) {
    int64_t named = 0, more = 0, features_at = d->p - d->features;
    double range = d->target.max - d->target.min;
    for (int64_t j = 0; j < d->p; j++) {
        const sgfsi_column *x = j < features_at ? NULL : &d->feature[j - features_at];
        double b = user[j], spread = x == NULL ? 1 : fmax(x->max - x->min, 1e-3 * largest(x));
        bool one = x != NULL && fabs(fabs(b) - 1) < nothing;
        if (!(fabs(b) * spread > nothing * range)) continue;
        if (named == NAMED) more++;
        if (named == NAMED) continue;
        const char *plus = named > 0 ? " + " : "", *minus = named > 0 ? " - " : "-";
        sgfsi_append(out, room, "%s", b < 0 ? minus : plus);
        if (!one) sgfsi_append(out, room, "%.6g", fabs(b));
        if (x != NULL) sgfsi_append(out, room, "%s%.30s", one ? "" : " ", x->name);
        named++;
    }
    if (more > 0) sgfsi_append(out, room, " and %lld more", (long long)more);
}

sgfs_status sgfsi_refuse_exact_fit(const sgfs_model *m, const double *theta, bool surely,
                                   sgfs_err *err) {
    const sgfs_data *d = m->data;
    sgfsi_arena own = {NULL};
    double *user = SGFSI_DOUBLES(&own, m->D), squares = 0;
    double eps = sgfsi_data_is_single(d) ? FLT_EPSILON : DBL_EPSILON;
    if (user == NULL) return sgfsi_fail_memory(err, "the coefficients");
    m->kind->to_user(m, theta, user);
    for (int64_t j = 0; j < d->features; j++) {
        double part = user[d->p - d->features + j] * largest(&d->feature[j]);
        squares += part * part;
    }
    bool rounding = exp(user[m->D - 1]) < eps * (largest(&d->target) + sqrt(squares));
    char sum[280] = "";
    write_sum(d, user, sum, sizeof sum);
    sgfsi_arena_free(&own);
    if (!rounding && !surely) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "The columns determine the target exactly (R^2 = 1 up to rounding): %.60s = "
                      "%s. There is no noise to estimate: --drop one of these columns, or give the "
                      "noise with --sigma.",
                      d->target.name, sum);
}
