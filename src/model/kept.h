/* SPDX-License-Identifier: MIT
 * kept.h: sums over all rows by a device that keeps them, for models of one predictor (`glm` of
 * their kind). Neither rows nor predictors come to the host: places go there, and sums come back.
 */
#pragma once

#include "model/model.h"

typedef struct sgfsi_kept {
    const sgfs_device *device;
    void *glm;       /* the device's */
    double constant; /* of all rows' log density */
} sgfsi_kept;

/* Who waits for a call that may take long (go_on of sgfsi_glm_places). */
typedef struct sgfsi_kept_watch {
    bool (*go_on)(void *user, double done); /* false: answers are NaN then */
    void *user;
} sgfsi_kept_watch;

/* Can sums over its rows be the device's, if it has the rows? */
bool sgfsi_kept_can(const sgfs_model *m);
/* What else a pass that a device makes block by block wants of all rows (posterior/far_pass.h), in
 * the device's memory. */
typedef struct sgfsi_far_rows {
    double *target;        /* N: far_target of each */
    double *weight, *root; /* N, and their square roots; NULL: each row counts once */
} sgfsi_far_rows;

/* m->kept and m->far_rows, where its device keeps its rows; for the former all of them belong to
 * the data, and it may keep some, the others being brought to it. Else they stay NULL. */
sgfs_status sgfsi_kept_open(sgfs_model *m, sgfs_err *err);
/* The link's sums at K places (theta: K x D): loglik (K), G (K x D; NULL: not wanted) and, for the
 * first of them, info (D x D lower; or NULL). They say what rows say after sgfsi_kept_finish of
 * each. A failure is one of the device, or of the rows. watch: NULL, nobody. */
sgfs_status sgfsi_kept_places(const sgfs_model *m, int64_t K, const double *theta, double *loglik,
                              double *G, double *info, const sgfsi_kept_watch *watch,
                              sgfs_err *err);
/* The same at centre + U_k and centre - U_k: plus and minus, K each. */
sgfs_status sgfsi_kept_pairs(const sgfs_model *m, const double *centre, int64_t K, const double *U,
                             double *plus, double *minus, const sgfsi_kept_watch *watch,
                             sgfs_err *err);
/* Log density, gradient (or NULL) and information (or NULL) of all rows, from these sums. */
void sgfsi_kept_finish(const sgfs_model *m, const double *theta, double *loglik, double *G,
                       double *info);
