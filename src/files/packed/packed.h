/* SPDX-License-Identifier: MIT
 * packed.h: the packed format, .sgd: rows in an order drawn at random, in chunks that start on
 * pages, each with its checksum, and everything a reader wants to know without looking at them.
 *
 *     page 0: magic, version, sizes, where the rest is, CRC    (written last: no head, no file)
 *     chunks: chunk_rows rows of `cols` cells of one type each, filled up to chunk_bytes with zeros
 *     tail:   CRC-32 of every chunk; a JSON text: columns, roles, levels, transforms, statistics
 *
 * All numbers little-endian. docs/formats.md has the layout byte by byte.
 */
#pragma once

#include "base/json.h"
#include "files/reader.h"

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct sgfsi_packer sgfsi_packer;

typedef struct sgfsi_packer_plan {
    const char *path;
    bool overwrite;
    const sgfsi_table *head;  /* cols, names, named, role, text_col, level, levels; borrowed */
    sgfsi_dtype type;         /* of every cell */
    bool shuffled;            /* the rows come in an order drawn at random */
    const sgfsi_json *recipe; /* what was done to them (transform.h); NULL: nothing */
    const sgfsi_log *log;
} sgfsi_packer_plan;

sgfs_status sgfsi_packer_open(sgfsi_packer **p, const sgfsi_packer_plan *plan, sgfs_err *err);
/* n x cols numbers. SGFS_EDATA where one does not fit the type: not finite, a word, weight or
 * target that would become another one. Statistics are kept while they pass. */
sgfs_status sgfsi_packer_add(sgfsi_packer *p, int64_t n, const double *cells, sgfs_err *err);
/* The same look at n rows, which are put into the file's type (raw: n x cols cells) and not yet
 * into the file: they come back in another order. */
sgfs_status sgfsi_packer_cells(sgfsi_packer *p, int64_t n, const double *cells, void *raw,
                               sgfs_err *err);
/* The same for n rows that are in the file's type already (n x cols cells). */
sgfs_status sgfsi_packer_add_raw(sgfsi_packer *p, int64_t n, const void *cells, sgfs_err *err);
/* Another recipe than that of the plan: one that has counted rows. It is taken over. */
void sgfsi_packer_recipe(sgfsi_packer *p, sgfsi_json *recipe);
/* Tail, head, fsync, rename: now the file is there. Frees p, whatever happens. */
sgfs_status sgfsi_packer_commit(sgfsi_packer *p, sgfs_err *err);
void sgfsi_packer_abandon(sgfsi_packer *p); /* nothing is left of it; takes NULL */

/* ---- reading --------------------------------------------------------------------------------- */

/* Has the chunk (of part) the checksum it should have? Looks once, then knows. SGFS_EDATA: no. */
sgfs_status sgfsi_packed_check(const sgfsi_part *part, int64_t chunk, sgfs_err *err);
/* All chunks of all parts, on so many threads; the first that is wrong is refused. */
sgfs_status sgfsi_packed_verify(const sgfsi_table *table, int64_t threads, const sgfsi_log *log,
                                sgfs_err *err);

extern const sgfs_reader_kind sgfs_reader_packed;
