/* SPDX-License-Identifier: MIT
 * optimize.h: the options of sgfs_mode_new beside those of the search itself (model/mode.h).
 */
#ifndef SGFSI_OPTIMIZE_H
#define SGFSI_OPTIMIZE_H

#include "posterior/mode.h"

extern const sgfs_option sgfsi_optimize_options[];

#endif
