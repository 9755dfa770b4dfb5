/* SPDX-License-Identifier: MIT
 * flow.h: the rows of one file or of several, one block after another, in memory that does not grow
 * with their number. `sgfs pack` reads from it.
 *
 *     files -> reader's flow (csv.c, libsvm.c, idx.c), or a mapped table that is walked -> blocks
 *
 * A block is n x cols doubles, row-major: the columns of head, with the target as one of them (role
 * says which). Words are numbers that count through head's dictionaries and levels, which grow while
 * rows come.
 */
#ifndef SGFSI_FLOW_H
#define SGFSI_FLOW_H

#include "files/reader.h"

typedef struct sgfsi_flow sgfsi_flow;
struct sgfsi_flow {
    /* cols, names, named, role, dictionary, text_col, level, told, recipe, shuffled as a reader
     * fills them; rows is 0 where nobody knows yet. It has no cells; type says what would hold
     * every number of the files exactly. */
    sgfsi_table head;
    void *self;
    /* At most `most` rows to cells (most x head.cols); *n is 0 at the end. Every number is finite.
     */
    sgfs_status (*next)(sgfsi_flow *flow, int64_t most, double *cells, int64_t *n, sgfs_err *err);
    double (*fraction)(const sgfsi_flow *flow); /* how much has been taken, 0 to 1 */
    void (*close)(sgfsi_flow *flow); /* what self holds; head is freed by sgfsi_flow_close */
    /* A target that looked like numbers turned out to hold words, or so did a column under
     * --categorical auto: all rows so far are void, the next block is the first one again, and head
     * has been made anew. Set by next together with *n = 0; the caller clears it. It may happen
     * more than once. */
    bool again;
};

/* All files as one: same kind of columns, same names where they have names, words numbered through.
 * SGFS_EDATA says which file differs and how. Paths and texts of the options are borrowed until it is
 * closed; it stays where it is (not copied) until then. */
sgfs_status sgfsi_flow_open(sgfsi_flow *flow, int64_t files, const char *const *path,
                            const sgfsi_read_options *options, sgfs_err *err);
void sgfsi_flow_close(sgfsi_flow *flow); /* safe on a zeroed value */

#endif
