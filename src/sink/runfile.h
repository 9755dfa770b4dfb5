/* SPDX-License-Identifier: MIT
 * runfile.h: the append-only run file (docs/formats.md). Blocks are whole or, after a crash, the
 * last one is cut off on reading. Appending is safe from several threads.
 */
#ifndef SGFSI_RUNFILE_H
#define SGFSI_RUNFILE_H

#include "sink/draws.h"

typedef struct sgfsi_runfile sgfsi_runfile;

/* Create path (an existing one is refused with SGFS_EUSAGE unless overwrite) and write the header.
 * A second process on the same file is refused (flock). header: borrowed. */
sgfsi_runfile *sgfsi_runfile_create(const char *path, bool overwrite, const sgfsi_json *header,
                                    sgfs_err *err);
/* One block of draws of one chain; first: index of the first of them in that chain. */
sgfs_status sgfsi_runfile_draws(sgfsi_runfile *f, int64_t chain, int64_t first, int64_t count,
                                const double *theta, const double *stats, sgfs_err *err);
/* The chain's moments and costs so far; a later block replaces an earlier one. */
sgfs_status sgfsi_runfile_info(sgfsi_runfile *f, int64_t chain, const sgfsi_chain_info *info,
                               sgfs_err *err);
/* Points of the chain's validation curve (draws.h), behind those it has. */
sgfs_status sgfsi_runfile_points(sgfsi_runfile *f, int64_t chain, int64_t count,
                                 const double *curve, sgfs_err *err);
/* The last block: state as in sgfs_draws. */
sgfs_status sgfsi_runfile_end(sgfsi_runfile *f, const char *state, sgfs_err *err);
sgfs_status sgfsi_runfile_close(sgfsi_runfile *f, sgfs_err *err); /* fsync, close, free */

/* Append a note (runblock.h) to a file that nobody is writing: json, one object. The file has
 * all of it or is as it was. SGFS_EIO where it cannot be written. */
sgfs_status sgfsi_runfile_note(const char *path, uint32_t kind, const char *json, sgfs_err *err);

/* A plain file that begins as run files do? */
sgfs_status sgfsi_runfile_is(const char *path, bool *is, sgfs_err *err);
/* Its header only: draws without any, however long the file is. */
sgfs_draws *sgfsi_runfile_head(const char *path, sgfs_err *err);
sgfs_draws *sgfsi_runfile_read(const char *path, sgfs_err *err);
/* The same; end: where the last whole block ends, and a further one may begin. */
sgfs_draws *sgfsi_runfile_read_to(const char *path, int64_t *end, sgfs_err *err);

#endif
