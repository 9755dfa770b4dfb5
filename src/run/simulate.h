/* SPDX-License-Identifier: MIT
 * simulate.h: options of `sgfs simulate`.
 */
#ifndef SGFSI_SIMULATE_H
#define SGFSI_SIMULATE_H

#include "model/model.h"

extern const sgfs_option sgfsi_simulate_options[];

#endif
