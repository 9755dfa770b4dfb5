/* SPDX-License-Identifier: MIT
 * sketch.h: the files of a sketch (docs/cluster.md): what some or all rows said, with all that
 * somebody needs to know who has no rows.
 *
 *     columns   what the columns and labels are like, of one part of the rows
 *     place     the columns of all parts; what all rows said at the places asked so far; and the
 *               place to ask at next, or, done, the anchor
 *     pass      what one part of the rows says at a place
 *     marks     the rows that moves can ask (rows/elsewhere.h), of one part of the rows
 *
 * A file:  magic, u32 version, u32 length of the JSON, the JSON, u64 length of the numbers, the
 * numbers (base/fields.h), u32 checksum over all before. It appears complete or not at all.
 */
#pragma once

#include "rows/elsewhere.h"

typedef enum sgfsi_sketch_step {
    SGFSI_SKETCH_COLUMNS,
    SGFSI_SKETCH_PLACE,
    SGFSI_SKETCH_PASS,
    SGFSI_SKETCH_MARKS
} sgfsi_sketch_step;
extern const char *const sgfsi_sketch_steps[]; /* by that number */

typedef struct sgfsi_sketch {
    sgfsi_arena arena;
    const char *path;
    sgfsi_json *head;
    sgfsi_sketch_step step;
    uint32_t id;         /* the checksum: who was made for it says so */
    size_t bytes;        /* of the file */
    int64_t part, parts; /* which part of the rows, of how many; -1: all */
    sgfsi_elsewhere elsewhere;
    sgfsi_marks marks;
    double *theta, *sums; /* of elsewhere */
    double *next;         /* D: of a place that is not done */
    bool done;
} sgfsi_sketch;

/* Does the file begin as these do? */
sgfs_status sgfsi_sketch_is(const char *path, bool *is, sgfs_err *err);
/* SGFS_ERUNFILE where it is none, or damaged. Close it in any case. */
sgfs_status sgfsi_sketch_read(sgfsi_sketch *s, const char *path, sgfs_err *err);
void sgfsi_sketch_close(sgfsi_sketch *s); /* safe on a zeroed value */
/* The head's "step", "part", "D", "places", "done" and "marks" are put in by this. */
sgfs_status sgfsi_sketch_write(sgfsi_sketch *s, const char *path, bool overwrite, sgfs_err *err);
/* Room for so many places, and one more to be asked at (next). */
sgfs_status sgfsi_sketch_room(sgfsi_sketch *s, int64_t D, int64_t places, sgfs_err *err);

/* Files of the same step, of all parts of the same rows: SGFS_EUSAGE names the one that is missing,
 * there twice, or of something else. Nobody knows yet how many columns there should be. */
sgfs_status sgfsi_sketch_check(int64_t n, const sgfsi_sketch *s, sgfs_err *err);
/* All marks in one: out->marks, from its arena. */
sgfs_status sgfsi_sketch_join(sgfsi_sketch *out, int64_t n, const sgfsi_sketch *s, sgfs_err *err);
/* The data that a sketch stands for; s is borrowed. */
sgfs_data *sgfsi_sketch_data(const sgfsi_sketch *s, const sgfs_config *cfg, sgfs_err *err);
/* Those of files with marks, to sample from (sketchdata.c). */
struct sgfsi_files;
sgfs_data *sgfsi_sketch_open(const struct sgfsi_files *files, const sgfs_config *cfg,
                             sgfs_err *err);
