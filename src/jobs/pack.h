/* SPDX-License-Identifier: MIT
 * pack.h: options of `sgfs pack`; the functions are in sgfs.h.
 */
#ifndef SGFSI_PACK_H
#define SGFSI_PACK_H

#include "base/config.h"

extern const sgfs_option sgfsi_pack_options[];

/* "512M", "1.5G", "200000": bytes, by powers of 1024; -1: no size. */
int64_t sgfsi_parse_size(const char *text);

#endif
