/* SPDX-License-Identifier: MIT
 * rng.h: random numbers without state. Philox4x32-10 (Random123) is a function of a key and a
 * counter; here the key is the seed and the counter names (chain, iteration, purpose, position). So
 * a resumed run, any number of threads and any device see the same numbers.
 */
#pragma once

#include <stdint.h>

/* What a stream is for: two purposes never share numbers. Append only: the order is part of the
 * bits. */
typedef enum sgfsi_purpose {
    SGFSI_ROWS = 1,     /* which rows the minibatch has */
    SGFSI_NOISE = 2,    /* injected noise z1 */
    SGFSI_PRIOR = 3,    /* the prior's noise z2 */
    SGFSI_START = 4,    /* starting points */
    SGFSI_FILL = 5,     /* rows of the batches that fill the Fisher matrix before the first move */
    SGFSI_TRUTH = 6,    /* simulation: parameters */
    SGFSI_FEATURES = 7, /* simulation: columns */
    SGFSI_TARGET = 8,   /* simulation: targets */
    SGFSI_MODEL = 9,    /* targets drawn from the model, for its own Fisher information */
    SGFSI_RIDGE = 10,   /* noise that goes with a ridge */
    SGFSI_MOMENTUM = 11,
    SGFSI_ACCEPT = 12,          /* Metropolis' uniform, jitter of the step */
    SGFSI_TREE = 13,            /* directions and choices within a trajectory */
    SGFSI_FOLDS = 14,           /* which rows are held out */
    SGFSI_SPLIT = 30,           /* which part a row is in: iteration is the row */
    SGFSI_PROJECT = 31,         /* random projection: iteration is the column that goes in */
    SGFSI_PREDICT_NORMAL = 20,  /* predictive draws: position is the row, iteration the draw */
    SGFSI_PREDICT_UNIFORM = 21, /* the same */
    SGFSI_PREDICT_TIE = 22,     /* where a target falls among draws that equal it */
    SGFSI_PREDICT_GROUP = 23, /* effects of new groups: iteration is the draw, the seed the group */
    SGFSI_SHUFFLE = 40,       /* packing: the key that each row is sorted by */
    SGFSI_VETO = 41,          /* exact draws: how many rows are asked, which, and their answers */
    SGFSI_PROBE = 42,         /* places and rows that are tried before a chain begins */
    SGFSI_GROUPS = 43,        /* proposals for groups: iteration is that of the chain and term */
    SGFSI_GROUPS_ACCEPT = 44, /* whether they are accepted, and their signs */
    SGFSI_MARKS = 45,         /* sketches: gaps between marks; chain is the part of the rows,
                                 * iteration the block */
    SGFSI_SINGLES = 46        /* effects of groups of one row: tries and whether they are taken */
} sgfsi_purpose;

/* Uses that share a purpose with iterations count from here on, where no iteration gets to. */
#define SGFSI_PROBE_PLACE  ((int64_t)1 << 48) /* SGFSI_PROBE: places around it */
#define SGFSI_PROBE_SIGNS  ((int64_t)1 << 49) /* SGFSI_PROBE: signs for the mean eigenvalue there */
#define SGFSI_PROBE_VECTOR ((int64_t)1 << 50) /* SGFSI_PROBE: where a power iteration begins */
#define SGFSI_MODEL_FILL   ((int64_t)1 << 55) /* SGFSI_MODEL: targets for the batches of
                                               * SGFSI_FILL */

typedef struct sgfsi_stream {
    uint32_t key[2], ctr[4];
} sgfsi_stream;

/* iteration: 0 .. 2^56 - 1 */
sgfsi_stream sgfsi_stream_at(uint64_t seed, uint32_t chain, int64_t iteration, uint32_t purpose);
/* Leave out the next 2 x pairs uniforms or normals. */
void sgfsi_stream_skip(sgfsi_stream *s, int64_t pairs);
void sgfsi_uniforms(sgfsi_stream *s, int64_t n, double *out);            /* in (0, 1) */
void sgfsi_normals(sgfsi_stream *s, int64_t n, double *out);             /* Box-Muller */
void sgfsi_indices(sgfsi_stream *s, int64_t n, int64_t N, int64_t *out); /* uniform on 0 .. N-1 */
void sgfsi_words(sgfsi_stream *s, int64_t n, uint64_t *out);             /* 64 random bits each */
int64_t sgfsi_word_index(uint64_t word, int64_t N); /* one word to one index on 0 .. N-1 */
uint64_t sgfsi_splitmix(uint64_t x); /* 64 bits that look like chance, of any number (splitmix64) */
