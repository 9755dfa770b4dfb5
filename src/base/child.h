/* SPDX-License-Identifier: MIT
 * child.h: another program, run to its end: a text goes in, what it prints comes out.
 */
#pragma once

#include "base/err.h"
#include "base/io.h"
#include "base/stop.h"

/* name: found by PATH; words: its arguments, that first, and NULL at the end. It reads `input` as
 * its standard input; out (empty before) has what it printed, the caller's to free also after an
 * error. SGFS_EUSAGE: there is no such program. SGFS_EDATA: it failed, with the last line of what
 * it complained of; or it was not done after so many seconds. SGFS_EIO: there are no files for what
 * it reads and prints. SGFS_ESTOPPED: it was ended because `stop` was asked for. */
sgfs_status sgfsi_child_run(const char *const words[], const sgfsi_buffer *input, double seconds,
                            const sgfsi_stop *stop, sgfsi_buffer *out, sgfs_err *err);
