/* SPDX-License-Identifier: MIT
 * batch.h: which rows a minibatch has, and the gamma that belongs to that way of drawing.
 */
#pragma once

#include "base/rng.h"
#include "rows/exchange.h"

extern const sgfs_scheme_kind sgfs_scheme_with, sgfs_scheme_without, sgfs_scheme_chunks;
extern const sgfs_scheme_kind *const sgfsi_schemes[]; /* NULL-terminated */
extern const char sgfsi_scheme_choices[];             /* "auto|with...": their names */
const sgfs_scheme_kind *sgfsi_scheme_find(const char *name);

/* The stream of one minibatch. */
static inline sgfsi_stream sgfsi_stream_when(const sgfs_when *when) {
    return sgfsi_stream_at(when->seed, when->chain, when->t, when->purpose);
}

/* Rows of a chunk for minibatches of n rows and D parameters (chunks.c): 1 where the rows are too
 * few, or have no random order. */
int64_t sgfsi_chunk_rows(const sgfs_data *d, int64_t n, int64_t D);
/* Where the parts of the table begin among the rows of the data, for chunks of more than one
 * row. */
sgfs_status sgfsi_chunk_parts(const sgfs_data *d, sgfs_urn *urn, sgfsi_arena *arena, sgfs_err *err);

/* The minibatches of one chain; buffers from the chain's arena. */
typedef struct sgfsi_batcher {
    const sgfs_data *data;
    const sgfs_scheme_kind *scheme;
    sgfs_urn urn;
    uint64_t seed;
    uint32_t chain;
    int64_t *state, *row;
    int64_t *later;      /* n rows of a minibatch to come: */
    sgfs_when later_for; /* which; iteration -1: none */
    sgfsi_pages visit;
    sgfsi_rows rows;
    sgfsi_exchange *exchange; /* rows are dealt; NULL: they are not */
    int64_t *mine;            /* n */
} sgfsi_batcher;

/* SGFS_EUSAGE where the rows have weights and the scheme cannot draw by them, or where it needs
 * rows that have been shuffled. */
sgfs_status sgfsi_scheme_check(const sgfs_scheme_kind *scheme, const sgfs_data *data,
                               sgfs_err *err);
/* What minibatches of plan->n rows are drawn from. */
sgfs_status sgfsi_urn_open(sgfs_urn *urn, const sgfs_data *d, const sgfs_scheme_kind *scheme,
                           const sgfsi_rows_plan *plan, sgfsi_arena *arena, sgfs_err *err);
sgfs_status sgfsi_batcher_open(sgfsi_batcher *b, const sgfs_data *data,
                               const sgfs_scheme_kind *scheme, sgfsi_rows_plan plan,
                               sgfsi_arena *arena, sgfs_err *err);
/* The batch of iteration t; purpose keeps the filling of the Fisher matrix apart from the steps.
 * Collective where rows are dealt, and then never beside.
 * beside: without the rows themselves, which are b->row of the data. NULL where the rows cannot be
 * read: err says why. */
const sgfs_batch *sgfsi_batcher_next(sgfsi_batcher *b, int64_t t, uint32_t purpose, bool beside,
                                     sgfs_err *err);
