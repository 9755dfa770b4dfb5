/* SPDX-License-Identifier: MIT
 * arrivals.h: new rows of one file or several, one after another (stream.h has those of one file).
 */
#ifndef SGFSI_ARRIVALS_H
#define SGFSI_ARRIVALS_H

#include "files/stream.h"

typedef struct sgfsi_arrivals sgfsi_arrivals;

/* name: as in files.h. Options and the other functions: as for sgfsi_incoming. Either all files
 * have the target or none has: SGFS_EDATA. */
sgfs_status sgfsi_arrivals_open(sgfsi_arrivals **rows, const char *name, const sgfsi_wanted *asked,
                                const sgfsi_read_options *options, sgfs_err *err);
const char *sgfsi_arrivals_shown(const sgfsi_arrivals *rows); /* for people: the files */
bool sgfsi_arrivals_have_target(const sgfsi_arrivals *rows);
const char *sgfsi_arrivals_target_name(const sgfsi_arrivals *rows); /* in the first file */
/* A block goes on with the next file where one ends, so that it is full except at the very end (or
 * where very many files end in it). */
sgfs_status sgfsi_arrivals_next(sgfsi_arrivals *rows, int64_t most, sgfsi_incoming_block *block,
                                sgfs_err *err);
const char *sgfsi_arrivals_where(const sgfsi_arrivals *rows, int64_t i, char out[SGFSI_WHERE]);
/* The text behind target y of row i of the block. */
const char *sgfsi_arrivals_level(const sgfsi_arrivals *rows, int64_t i, double y);
double sgfsi_arrivals_fraction(const sgfsi_arrivals *rows);
void sgfsi_arrivals_close(sgfsi_arrivals *rows); /* takes NULL */

#endif
