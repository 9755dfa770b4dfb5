/* SPDX-License-Identifier: MIT
 * heldout_loss.h: how well draws predict rows they have not seen.
 */
#pragma once

#include "base/stop.h"

#include "model/model.h"
#include "sink/draws.h"

enum { SGFSI_HELDOUT_GROUPS = 20 };

typedef struct sgfsi_heldout {
    double loss;    /* -mean_i log( mean_s p(y_i | theta_s) ), in nats a row */
    double error;   /* share of rows for which another label was likelier; NaN: no labels */
    int64_t groups; /* of neighbouring rows in the list */
    double group[SGFSI_HELDOUT_GROUPS]; /* loss of each */
} sgfsi_heldout;

/* Score rows row[0..n) of the table of m->data. m is the model the draws come from, bound to its
 * training rows. `threads` share the work; the numbers do not depend on
 * how many. SGFS_ESTOPPED when *stop (may be NULL) becomes other than 0. */
sgfs_status sgfsi_heldout_score(const sgfs_model *m, const sgfs_draws *draws, const int64_t *row,
                                int64_t n, int64_t threads, const sgfsi_stop *stop,
                                sgfsi_heldout *out, sgfs_err *err);
