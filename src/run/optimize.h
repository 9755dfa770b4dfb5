/* SPDX-License-Identifier: MIT
 * optimize.h: the options of sgfs_mode_new beside those of the search itself (model/mode.h).
 */
#ifndef SGFSI_OPTIMIZE_H
#define SGFSI_OPTIMIZE_H

#include "model/mode.h"

extern const sgfs_option sgfsi_optimize_options[];

/* An option that was given but belongs to another model is refused. */
sgfs_status sgfsi_check_model_options(const sgfs_config *cfg, const sgfs_model *m, sgfs_err *err);

#endif
