/* SPDX-License-Identifier: MIT
 * curvature.c: a check that R-hat and ESS cannot make. SGFS is exact where the posterior is
 * Gaussian; then the spread of its draws equals what the curvature at their mean says,
 *
 *     sd_i = | L^-1 T_i |,   L L' = A(mean),   T the linear part of the map to the user's scale
 * (row T_i).
 *
 * Where the two differ, the posterior is not close to Gaussian or the step is too large for it; the
 * summary then says so (diagnostics/advice.c). Only what is on disk is compared: nothing here
 * changes a draw.
 */
#include "run/curvature.h"

#include <math.h>
#include <string.h>

enum { MOST_PARAMETERS = 1000 };
static const double most_work = 1e11; /* multiplications: a few seconds */

/* Row j of U: what a unit step of parameter j does on the user's scale. */
static void map_to_user(const sgfs_model *m, double *unit, double *origin, double *U) {
    int64_t D = m->D;
    memset(unit, 0, (size_t)D * sizeof *unit);
    if (m->kind->to_user != NULL) m->kind->to_user(m, unit, origin);
    for (int64_t j = 0; j < D; j++) {
        double *row = U + j * D;
        if (m->kind->to_user == NULL) {
            row[j] = 1;
            continue;
        }
        unit[j] = 1;
        m->kind->to_user(m, unit, row);
        unit[j] = 0;
        for (int64_t i = 0; i < D; i++) row[i] -= origin[i];
    }
}

static bool fill(const sgfs_model *m, const double *theta, double *sd, sgfsi_arena *arena) {
    int64_t D = m->D;
    double lp, *A = SGFSI_DOUBLES(arena, D * D), *U = SGFSI_DOUBLES(arena, D * D);
    double *x = SGFSI_DOUBLES(arena, D), *origin = SGFSI_DOUBLES(arena, D);
    if (A == NULL || U == NULL || x == NULL || origin == NULL) return false;
    if (sgfsi_posterior_full(m, theta, &lp, x, A, NULL) != SGFS_OK) return false;
    if (m->be->potrf(D, A) != 0) return false;
    map_to_user(m, x, origin, U);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) x[j] = U[j * D + i];
        m->be->trsv(D, A, false, x);
        sd[i] = sqrt(m->be->dot(D, x, x));
    }
    return true;
}

bool sgfsi_curvature_sd(const sgfs_model *m, const double *theta, double *sd) {
    sgfsi_arena arena = {NULL};
    double D = (double)m->D, work = (double)m->data->N * D * D;
    if (m->kind->curvature == NULL || m->D > MOST_PARAMETERS || work > most_work) return false;
    bool filled = fill(m, theta, sd, &arena);
    sgfsi_arena_free(&arena);
    return filled;
}
