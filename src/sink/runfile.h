/* SPDX-License-Identifier: MIT
 * runfile.h: the append-only run file (docs/formats.md). Blocks are whole or, after a crash, the
 * last one is cut off on reading. Appending is safe from several threads.
 */
#pragma once

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
/* Moments of the effects of groups: json, one object. */
sgfs_status sgfsi_runfile_effects(sgfsi_runfile *f, const char *json, sgfs_err *err);
/* Draws of them. */
sgfs_status sgfsi_runfile_kept(sgfsi_runfile *f, const sgfs_kept_effects *kept, sgfs_err *err);
/* The last block: state as in sgfs_draws. */
sgfs_status sgfsi_runfile_end(sgfsi_runfile *f, const char *state, sgfs_err *err);
sgfs_status sgfsi_runfile_close(sgfsi_runfile *f, sgfs_err *err); /* fsync, close, free */

/* ---- runstate.c ------------------------------------------------------------------------------ */

/* Save a state to go on from, on the disk when this returns; the one before stays. All draws and
 * points that it counts have been handed over. */
sgfs_status sgfsi_runfile_save(sgfsi_runfile *f, const void *state, size_t bytes, sgfs_err *err);

/* Everything in one order, whatever order it came in: the header (NULL: as it is), the draws of one
 * chain after the other, their points, the state. What follows is appended to it; when the file is
 * closed it takes the place of the one that was written so far, or at once (now). Where it cannot
 * be, for lack of room on the disk, f goes on as it was and the status says why. */
sgfs_status sgfsi_runfile_settle(sgfsi_runfile *f, const sgfsi_json *header, const void *state,
                                 size_t bytes, bool now, sgfs_err *err);

/* What a file has to go on from. */
typedef struct sgfsi_resumption {
    sgfs_draws *run; /* header, numbers of draws and costs, without the draws themselves; the
                        caller's to free */
    void *state;     /* malloc'ed; NULL: none was saved, it begins with the first iteration */
    size_t bytes;
    bool complete;  /* the run has an end, and a good one, */
    bool settled;   /* and its file is in order */
    bool fell_back; /* the newest state was torn, and this is the one before */
} sgfsi_resumption;

/* Open a file, of which nobody else is writing, to go on after its newest whole state; it is not
 * changed before sgfsi_runfile_cut. SGFS_ERUNFILE where it is damaged. */
sgfsi_runfile *sgfsi_runfile_resume(const char *path, sgfsi_resumption *from, sgfs_err *err);
/* Cut off what came after that state. */
sgfs_status sgfsi_runfile_cut(sgfsi_runfile *f, sgfs_err *err);
/* Back to the last state that was saved, or to the beginning. */
sgfs_status sgfsi_runfile_back(sgfsi_runfile *f, sgfs_err *err);
int64_t sgfsi_runfile_count(const sgfsi_runfile *f, int64_t chain); /* draws of it so far */

/* ---- notes, reading -------------------------------------------------------------------------- */

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

/* Where a state stands. */
typedef struct sgfsi_saved_place {
    int64_t at, bytes; /* of the block; of its payload */
} sgfsi_saved_place;

typedef struct sgfsi_scan {
    int64_t begin, end; /* the first block, and where the last whole one ends */
    int64_t states, room;
    sgfsi_saved_place *state; /* malloc'ed */
} sgfsi_scan;
/* The same without keeping draws, which are counted; of the first `limit` bytes (0: all). The scan
 * is filled as far as it came even where it fails; free scan->state in any case. */
sgfs_draws *sgfsi_runfile_scan(const char *path, int64_t limit, sgfsi_scan *scan, sgfs_err *err);
