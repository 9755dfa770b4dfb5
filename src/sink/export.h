/* SPDX-License-Identifier: MIT
 * export.h: what an export format is, and what the formats share.
 *
 * A format is one file that fills a sgfs_export_kind, and one row in table.c. It prints to a stream
 * that export.c has opened; naming, replacing and taking back files is not its business.
 */
#pragma once

#include <stdio.h>

#include "sink/draws.h"

typedef struct sgfs_export_kind {
    const char *name, *help, *suffix; /* suffix: ".stan.csv"; the longest that fits wins */
    bool of_draws;                    /* a run without draws is refused before a file is made */
    bool per_chain;                   /* one file per chain, for which that chain only is used */
    /* Errors of f itself are seen by the caller. */
    sgfs_status (*print)(const sgfs_draws *d, const sgfsi_used *used, FILE *f, sgfs_err *err);
} sgfs_export_kind;
extern const sgfs_export_kind *const sgfsi_exports[]; /* NULL-terminated */

/* Spelled so that both R and pandas see a number: R does not know "nan" and "inf". */
void sgfsi_export_number(FILE *f, double x);
/* The three texts as one cell of CSV: quoted where it has to be, quotes doubled (RFC 4180). */
void sgfsi_export_cell(FILE *f, const char *before, const char *text, const char *after);

/* The blocks of d with names that `safe` made fit for the format, all different (a copy gets _2).
 * safe changes the text in place; it may cut it, never lengthen it by more than one byte. */
typedef struct sgfsi_export_block {
    char *name;
    const char *given; /* its name in the run */
    int64_t rows, cols, offset;
} sgfsi_export_block;
sgfsi_export_block *sgfsi_export_blocks(const sgfs_draws *d, void (*safe)(char *text),
                                        int64_t *count, sgfs_err *err);
void sgfsi_export_blocks_free(sgfsi_export_block *blocks, int64_t count);
