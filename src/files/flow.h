/* SPDX-License-Identifier: MIT
 * flow.h: the rows of one file or of several, one block after another. This is the way into the
 * program for every row that comes from a file:
 *
 *     names of files -> files.c: paths -> reader.c: the kind of each
 *         -> its flow (csv, libsvm, idx), or a map that is walked (npy, packed)
 *         -> flow.c: all files as one: the same columns, words numbered through
 *                -> collect.c: a table in memory, for sgfs sample. Files that are mapped and alike
 *                              need no flow: they are the parts of the table as they lie there.
 *                -> jobs/pack.c: through the transforms into a packed file
 *                -> newdata.c: through the transforms of a run, for predictions
 *
 * A block is n x cols cells of one type, row-major: the columns of head, with the target as one of
 * them (role says which). Words are numbers that count through head's dictionaries and levels,
 * which grow while rows come. Memory is that of a block, whatever the length of the files.
 */
#pragma once

#include "files/reader.h"

typedef struct sgfsi_flow_block {
    int64_t n;     /* rows; 0 at the end */
    void *cells;   /* room of the caller's: rows x head.cols cells of head.type */
    int64_t *line; /* room of the caller's: on which line of a text each row starts, or its number
                      in the file; NULL: nobody asks */
    /* Where head.type is SGFSI_CSR, in place of cells: rows without their zeros, and their targets,
     * until the next call. head.cols grows while rows come. */
    sgfs_csr csr;
    const double *y;
} sgfsi_flow_block;

typedef struct sgfsi_flow sgfsi_flow;
struct sgfsi_flow {
    /* cols, names, named, role, dictionary, text_col, level, stats, recipe, shuffled, as they
     * are in the files; rows is 0 where nobody knows yet. It has no cells; type is that of the
     * blocks. */
    sgfsi_table head;
    void *self;
    /* At most `most` rows. Every number is finite, unless all rows are kept (the design looks for
     * itself then); NaN is a missing value, where --na allows it. */
    sgfs_status (*next)(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block, sgfs_err *err);
    double (*fraction)(const sgfsi_flow *flow); /* how much has been taken, 0 to 1 */
    void (*close)(sgfsi_flow *flow); /* what self holds; head is freed by sgfsi_flow_close */
    /* A column was read as numbers, and words were found in it (in the target, or in any column
     * under --categorical auto). The rows delivered so far are void, because words are numbered
     * otherwise; the next block is the first one again, and head has been made anew. Set by `next`
     * together with n = 0, and cleared by the caller. It may happen more than once. */
    bool restarted;
    sgfsi_first_text first_text; /* of the target of a text file */
    bool lines;                  /* the lines of a block are those of a text */
    int64_t file;                /* of several files: that of the last block */
    void *room;                  /* of sgfsi_flow_next, for cells that are no doubles */
    size_t room_bytes;
};

/* All files as one: same kind of columns, same names where they have names, words numbered through.
 * SGFS_EDATA says which file differs and how. Paths and texts of the options are borrowed until
 * it is closed; it stays where it is (not copied) until then. */
sgfs_status sgfsi_flow_open(sgfsi_flow *flow, int64_t files, const char *const *path,
                            const sgfsi_read_options *options, sgfs_err *err);
/* The next rows as doubles: at most `most`, to cells (most x head.cols); line as in a block. */
sgfs_status sgfsi_flow_next(sgfsi_flow *flow, int64_t most, double *cells, int64_t *line,
                            int64_t *n, sgfs_err *err);
void sgfsi_flow_close(sgfsi_flow *flow); /* safe on a zeroed value */

/* Words that a head only shows, and that belong to somebody else, are taken out of it. */
void sgfsi_flow_hide_words(sgfsi_table *head);

/* ---- flow_mapped.c --------------------------------------------------------------------------- */

/* The rows of a file of a kind that is mapped, from the first to the last. */
sgfs_status sgfsi_flow_mapped(sgfsi_flow *flow, const sgfs_reader_kind *reader, const char *path,
                              const sgfsi_read_options *options, sgfs_err *err);
struct sgfsi_file_columns;
/* Names, roles and words of the columns that are wanted, copied to head. */
sgfs_status sgfsi_flow_head(const struct sgfsi_file_columns *columns, sgfsi_table *head,
                            sgfs_err *err);
