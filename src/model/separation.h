/* SPDX-License-Identifier: MIT
 * separation.h: columns that leave the size of a coefficient to the prior.
 */
#pragma once

#include "model/model.h"

/* A warning where some column alone separates a label from the others. Nothing where there are no
 * labels, or where looking at all rows would take long. */
sgfs_status sgfsi_separation_tell(sgfs_model *m, sgfs_err *err);
