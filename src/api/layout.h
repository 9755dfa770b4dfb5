/* SPDX-License-Identifier: MIT
 * layout.h: what the public structs and constants are in this library (sgfs_list "layout").
 */
#pragma once

#include "sgfs.h"

/* Row `index` of the list; false past the last. */
bool sgfsi_layout_at(int64_t index, const char **name, const char **text);
