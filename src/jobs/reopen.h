/* SPDX-License-Identifier: MIT
 * reopen.h: the data and the model of a run, opened again from what its header says of them.
 */
#pragma once

#include "model/model.h"
#include "sink/draws.h"

/* Not to be moved while it is open. */
typedef struct sgfsi_reopened {
    sgfs_data *data;
    sgfs_model *model;
    sgfsi_log log;
} sgfsi_reopened;

/* The name of the run's model. A file that a run names is code: it is loaded where the user names
 * it, too (given; "": nothing). NULL, with SGFS_EUSAGE, where one of the two is missing. */
const char *sgfsi_reopen_model_name(const sgfs_draws *run, const char *given, sgfs_err *err);
/* model: as given above. path: where the rows are now; "" : where the header says they were.
 * Messages go to log's config. SGFS_EDATA where they are other rows than those of the run. */
sgfs_status sgfsi_reopen_open(sgfsi_reopened *a, const sgfs_draws *run, const char *model,
                              const char *path, const sgfs_config *log, sgfs_err *err);
void sgfsi_reopen_close(sgfsi_reopened *a); /* safe on a zeroed value */

/* Where the header says the rows were: one name a line; "": not in files. malloc'ed; NULL when
 * memory is out. */
char *sgfsi_reopen_path(const sgfsi_json *header);

/* Is this the model the run was made with, on the same rows? By rows, columns, their means and
 * spreads, and the parameters' names. */
sgfs_status sgfsi_reopen_check(const sgfs_draws *run, const sgfs_model *m, sgfs_err *err);

/* Set in cfg those options of the run whose keys begin with `stage` ("sampler.") and are not the
 * default, in force without counting as given: what the run's sampler chose for itself is not an
 * option that somebody asked for. */
sgfs_status sgfsi_reopen_choices(sgfs_config *cfg, const sgfs_draws *run, const char *stage,
                                 sgfs_err *err);
