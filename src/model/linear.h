/* SPDX-License-Identifier: MIT
 * linear.h: what samplers made for linear regression want to know beyond the model's table.
 */
#pragma once

#include "model/model.h"

/* Is this linear regression, built in (and no model of a user that has its name)? */
bool sgfsi_is_linear(const sgfs_model *m);
/* The log of --sigma on the chain's scale; NaN where sigma is the last parameter. */
double sgfsi_linear_known_log_sigma(const sgfs_model *m);
/* How large one of the chain's target is for the user. */
double sgfsi_linear_unit(const sgfs_model *m);
