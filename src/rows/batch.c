/* SPDX-License-Identifier: MIT
 * batch.c: minibatches, independent from one iteration to the next.
 *
 * The noise of N gbar is what the sampler lives on, and its size belongs to the way rows are drawn
 * (docs/math.md, section 3):
 *   with replacement      Cov(N gbar) = (N^2/n) Cov(g)             gamma = (N + n)/n
 *   without replacement   Cov(N gbar) = (N^2/n)(1 - n/N) Cov(g)    gamma = N/n
 *   chunks of shuffled rows: chunks.c
 * Where rows have weights, N is their sum W and a row is drawn with probability w/W: as if from W
 * rows of which w are copies of it. Without replacement there is no such equality, and no gamma.
 * Walking through a shuffled epoch is deliberately absent: its batches are negatively correlated
 * and the noise cancels (0.43 of the right variance at alpha 0; tests/stat shows it).
 */
#include "rows/batch.h"

#include <string.h>

/* ---- with replacement ------------------------------------------------------------------------ */

static double gamma_with(const sgfs_urn *urn) {
    return (urn->total + (double)urn->n) / (double)urn->n;
}

static int64_t no_state(const sgfs_urn *urn) {
    (void)urn;
    return 0;
}

static void draw_with(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    (void)state;
    sgfsi_stream s = sgfsi_stream_when(when);
    sgfsi_indices(&s, urn->n, urn->N, row);
}

enum { BLOCK = 256, AHEAD = 8 };

static void draw_by_weight(const sgfs_urn *urn, const sgfs_when *when, int64_t *state,
                           int64_t *row) {
    uint64_t word[BLOCK];
    sgfsi_stream s = sgfsi_stream_when(when);
    (void)state;
    for (int64_t first = 0; first < urn->n; first += BLOCK) {
        int64_t count = urn->n - first < BLOCK ? urn->n - first : BLOCK;
        sgfsi_words(&s, count, word);
        for (int64_t i = 0; i < count; i++) row[first + i] = sgfsi_alias_row(urn->alias, word[i]);
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

static double gamma_without(const sgfs_urn *urn) {
    return urn->total / (double)urn->n;
}

/* Room for Floyd's set: a power of two, at most half full. */
static int64_t set_size(int64_t n) {
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

static int64_t without_state(const sgfs_urn *urn) {
    return set_size(urn->n) + urn->n;
}

/* R. Floyd's algorithm: a uniform subset of n in O(n), whatever N. */
static void draw_without(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    int64_t N = urn->N, n = urn->n, size = set_size(n);
    uint64_t *word = (uint64_t *)state + size; /* n */
    memset(state, 0, (size_t)size * sizeof *state);
    sgfsi_stream s = sgfsi_stream_when(when);
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

#define SCHEMES(ROW) ROW(with) ROW(without) ROW(chunks)
#define ENTER(kind)  &sgfs_scheme_##kind,
#define NAME(kind)   "|" #kind
const sgfs_scheme_kind *const sgfsi_schemes[] = {SCHEMES(ENTER) NULL};
const char sgfsi_scheme_choices[] = "auto" SCHEMES(NAME);

const sgfs_scheme_kind *sgfsi_scheme_find(const char *name) {
    for (const sgfs_scheme_kind *const *s = sgfsi_schemes; *s != NULL; s++) {
        if (strcmp((*s)->name, name) == 0) return *s;
    }
    return NULL;
}

sgfs_status sgfsi_scheme_check(const sgfs_scheme_kind *scheme, const sgfs_data *data,
                               sgfs_err *err) {
    if (data->weight != NULL && scheme->draw_weighted == NULL) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--batch-scheme %s cannot draw rows by their weights: use --batch-scheme with.",
            scheme->name);
    }
    if (!scheme->shuffled || data->table.shuffled) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--batch-scheme %s needs rows in an order drawn at random, as `sgfs pack` "
                      "writes them; %s may have any order: use --batch-scheme with.",
                      scheme->name, data->path);
}

sgfs_status sgfsi_urn_open(sgfs_urn *urn, const sgfs_data *d, const sgfs_scheme_kind *scheme,
                           const sgfsi_rows_plan *plan, sgfsi_arena *arena, sgfs_err *err) {
    sgfs_status status = sgfsi_scheme_check(scheme, d, err);
    if (status != SGFS_OK) return status;
    *urn = (sgfs_urn){.N = d->N,
                      .n = plan->n,
                      .total = d->total,
                      .chunk = 1,
                      .parts = 1,
                      .alias = d->weight != NULL ? &d->alias : NULL};
    if (!scheme->shuffled) return SGFS_OK;
    urn->chunk = sgfsi_chunk_rows(d, plan->n, plan->parameters);
    return sgfsi_chunk_parts(d, urn, arena, err);
}

sgfs_status sgfsi_batcher_open(sgfsi_batcher *b, const sgfs_data *data,
                               const sgfs_scheme_kind *scheme, sgfsi_rows_plan plan,
                               sgfsi_arena *arena, sgfs_err *err) {
    sgfs_status status = sgfsi_urn_open(&b->urn, data, scheme, &plan, arena, err);
    if (status != SGFS_OK) return status;
    b->data = data;
    b->scheme = scheme;
    b->later_for.t = -1;
    b->state = sgfsi_arena_alloc(arena, scheme->state(&b->urn), sizeof *b->state);
    b->row = sgfsi_arena_alloc(arena, plan.n, sizeof *b->row);
    b->later = sgfsi_arena_alloc(arena, plan.n, sizeof *b->later);
    if (b->state == NULL || b->row == NULL || b->later == NULL)
        return sgfsi_fail_memory(err, "a minibatch");
    plan.repeats = true;
    status = sgfsi_rows_open(&b->rows, data, plan, arena, err);
    if (scheme->init != NULL) scheme->init(&b->urn, b->state);
    b->rows.batch.gamma = scheme->gamma(&b->urn);
    if (status != SGFS_OK || plan.gatherer.dealt == NULL) return status;
    b->exchange = sgfsi_arena_alloc(arena, 1, sizeof *b->exchange);
    b->mine = sgfsi_arena_alloc(arena, plan.n, sizeof *b->mine);
    if (b->exchange == NULL || b->mine == NULL) return sgfsi_fail_memory(err, "a minibatch");
    return sgfsi_exchange_open(b->exchange, data, plan.gatherer.dealt, plan.n, &b->visit, arena,
                               err);
}

/* The rows of an iteration into b->later; which they are is known before it comes. */
static void draw(sgfsi_batcher *b, int64_t t, uint32_t purpose) {
    const sgfs_when when = {.seed = b->seed, .t = t, .chain = b->chain, .purpose = purpose};
    b->later_for = when;
    if (b->urn.alias == NULL) b->scheme->draw(&b->urn, &when, b->state, b->later);
    else b->scheme->draw_weighted(&b->urn, &when, b->state, b->later);
}

static bool drawn(const sgfsi_batcher *b, int64_t t, uint32_t purpose) {
    const sgfs_when *l = &b->later_for;
    return l->t == t && l->purpose == purpose && l->seed == b->seed && l->chain == b->chain;
}

const sgfs_batch *sgfsi_batcher_next(sgfsi_batcher *b, int64_t t, uint32_t purpose, bool beside,
                                     sgfs_err *err) {
    bool was_cold = b->visit.cold > 0;
    if (!drawn(b, t, purpose)) draw(b, t, purpose);
    int64_t *row = b->later;
    b->later = b->row;
    b->row = row;
    const sgfs_batch *dealt = NULL;
    if (b->exchange != NULL) {
        dealt = sgfsi_rows_dealt(&b->rows, b->exchange, b->row, b->urn.n, err);
        if (dealt == NULL) return NULL;
    } else if (sgfsi_pages_rows(&b->visit, b->data, b->row, b->urn.n, err) != SGFS_OK) {
        return NULL;
    }
    /* Where the disk is slow, pages are asked for AHEAD iterations before, all of these at first;
     * where it is not, the next iteration's first rows are fetched while this one computes. */
    for (int64_t k = was_cold ? AHEAD : 1; b->visit.cold > 0 && k <= AHEAD; k++) {
        draw(b, t + k, purpose);
        int64_t n = b->urn.n, *ahead = b->exchange != NULL ? b->mine : b->later;
        if (b->exchange != NULL) n = sgfsi_exchange_mine(b->exchange, b->later, n, b->mine);
        sgfsi_pages_ahead(b->data, ahead, n);
    }
    if (dealt != NULL) return dealt;
    const sgfs_batch *batch = beside ? sgfsi_rows_beside_drawn(&b->rows, b->row, b->urn.n)
                                     : sgfsi_rows_drawn(&b->rows, b->row, b->urn.n);
    if (b->visit.cold > 0) return batch;
    draw(b, t + 1, purpose);
    sgfsi_data_rows_fetch(b->data, b->later, b->urn.n);
    return batch;
}
