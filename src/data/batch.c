/* SPDX-License-Identifier: MIT
 * batch.c: minibatches, independent from one iteration to the next.
 *
 * The noise of N gbar is what the sampler lives on, and its size belongs to the way rows are drawn
 * (docs/math.md, section 3):
 *   with replacement      Cov(N gbar) = (N^2/n) Cov(g)             gamma = (N + n)/n
 *   without replacement   Cov(N gbar) = (N^2/n)(1 - n/N) Cov(g)    gamma = N/n
 * Where rows have weights, N is their sum W and a row is drawn with probability w/W: as if from W
 * rows of which w are copies of it. Without replacement there is no such equality, and no gamma.
 * Walking through a shuffled epoch is deliberately absent: its batches are negatively correlated
 * and the noise cancels (0.43 of the right variance at alpha 0; tests/stat shows it).
 */
#include "data/batch.h"

#include <string.h>

/* ---- with replacement ------------------------------------------------------------------------ */

static double gamma_with(double N, int64_t n) {
    return (N + (double)n) / (double)n;
}

static int64_t no_state(int64_t N, int64_t n) {
    (void)N;
    (void)n;
    return 0;
}

static void draw_with(int64_t N, int64_t n, int64_t t, uint64_t seed, uint32_t chain,
                      uint32_t purpose, int64_t *state, int64_t *row) {
    (void)state;
    sgfsi_stream s = sgfsi_stream_at(seed, chain, t, purpose);
    sgfsi_indices(&s, n, N, row);
}

enum { STRETCH = 256 };

static void draw_by_weight(const sgfsi_alias *alias, int64_t n, int64_t t, uint64_t seed,
                           uint32_t chain, uint32_t purpose, int64_t *row) {
    uint64_t word[STRETCH];
    sgfsi_stream s = sgfsi_stream_at(seed, chain, t, purpose);
    for (int64_t first = 0; first < n; first += STRETCH) {
        int64_t count = n - first < STRETCH ? n - first : STRETCH;
        sgfsi_words(&s, count, word);
        for (int64_t i = 0; i < count; i++) row[first + i] = sgfsi_alias_row(alias, word[i]);
    }
}

const sgfs_scheme_kind sgfs_scheme_with = {
    .name = "with",
    .help = "rows drawn independently, with replacement; gamma = (N+n)/n",
    .gamma = gamma_with,
    .state = no_state,
    .draw = draw_with,
    .draw_weighted = draw_by_weight,
};

/* ---- without replacement --------------------------------------------------------------------- */

static double gamma_without(double N, int64_t n) {
    return N / (double)n;
}

/* Room for Floyd's set: a power of two, at most half full. */
static int64_t set_size(int64_t N, int64_t n) {
    (void)N;
    int64_t size = 4;
    while (size < 2 * n) size *= 2;
    return size;
}

/* Put v into the set unless it is there; slots hold v + 1, 0 is empty. */
static bool insert(int64_t *slot, int64_t size, int64_t v) {
    uint64_t h = (uint64_t)v * 0x9E3779B97F4A7C15u;
    for (int64_t i = (int64_t)(h >> 32) & (size - 1);; i = (i + 1) & (size - 1)) {
        if (slot[i] == v + 1) return false;
        if (slot[i] == 0) {
            slot[i] = v + 1;
            return true;
        }
    }
}

static int64_t without_state(int64_t N, int64_t n) {
    return set_size(N, n) + n;
}

/* R. Floyd's algorithm: a uniform subset of n in O(n), whatever N. */
static void draw_without(int64_t N, int64_t n, int64_t t, uint64_t seed, uint32_t chain,
                         uint32_t purpose, int64_t *state, int64_t *row) {
    int64_t size = set_size(N, n);
    uint64_t *word = (uint64_t *)state + size; /* n */
    memset(state, 0, (size_t)size * sizeof *state);
    sgfsi_stream s = sgfsi_stream_at(seed, chain, t, purpose);
    sgfsi_words(&s, n, word);
    for (int64_t i = 0; i < n; i++) {
        int64_t top = N - n + i, v = sgfsi_word_index(word[i], top + 1);
        if (!insert(state, size, v)) {
            v = top;
            (void)insert(state, size, v);
        }
        row[i] = v;
    }
}

const sgfs_scheme_kind sgfs_scheme_without = {
    .name = "without",
    .help = "a fresh subset each iteration, without replacement; gamma = N/n",
    .gamma = gamma_without,
    .state = without_state,
    .draw = draw_without,
};

/* ---- the table and the chain's batches ------------------------------------------------------- */

const sgfs_scheme_kind *const sgfsi_schemes[] = {&sgfs_scheme_with, &sgfs_scheme_without, NULL};

const sgfs_scheme_kind *sgfsi_scheme_find(const char *name) {
    for (const sgfs_scheme_kind *const *s = sgfsi_schemes; *s != NULL; s++) {
        if (strcmp((*s)->name, name) == 0) return *s;
    }
    return NULL;
}

sgfs_status sgfsi_scheme_check(const sgfs_scheme_kind *scheme, const sgfs_data *data,
                               sgfs_err *err) {
    if (data->weight == NULL || scheme->draw_weighted != NULL) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--batch-scheme %s cannot draw rows by their weights: use --batch-scheme with.",
        scheme->name);
}

sgfs_status sgfsi_batcher_open(sgfsi_batcher *b, const sgfs_data *data,
                               const sgfs_scheme_kind *scheme, sgfsi_rows_plan plan,
                               sgfsi_arena *arena, sgfs_err *err) {
    int64_t n = plan.n;
    sgfs_status status = sgfsi_scheme_check(scheme, data, err);
    if (status != SGFS_OK) return status;
    b->data = data;
    b->scheme = scheme;
    b->state = sgfsi_arena_alloc(arena, scheme->state(data->N, n), sizeof *b->state);
    b->row = sgfsi_arena_alloc(arena, n, sizeof *b->row);
    if (b->state == NULL || b->row == NULL) return sgfsi_fail_memory(err, "a minibatch");
    plan.repeats = true;
    status = sgfsi_rows_open(&b->rows, data, plan, arena, err);
    if (scheme->init != NULL) scheme->init(data->N, n, b->state);
    b->batch = (sgfs_batch){.n = n, .gamma = scheme->gamma(data->total, n)};
    return status;
}

const sgfs_batch *sgfsi_batcher_next(sgfsi_batcher *b, int64_t t, uint32_t purpose) {
    const sgfs_data *d = b->data;
    int64_t n = b->batch.n;
    double gamma = b->batch.gamma;
    if (d->weight == NULL) {
        b->scheme->draw(d->N, n, t, b->seed, b->chain, purpose, b->state, b->row);
    } else {
        b->scheme->draw_weighted(&d->alias, n, t, b->seed, b->chain, purpose, b->row);
    }
    b->batch = sgfsi_rows_drawn(&b->rows, b->row, n);
    b->batch.gamma = gamma;
    return &b->batch;
}
