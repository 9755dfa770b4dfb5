/* SPDX-License-Identifier: MIT
 * trace.c: one parameter's draws, split, sorted once and rank-normalised.
 *
 * Vehtari, Gelman, Simpson, Carpenter, Buerkner (2021), "Rank-normalization, folding, and
 * localization": a draw of rank r (average rank among ties) out of S becomes
 *     z = Phi^-1((r - 3/8) / (S + 1/4)).
 * Conventions are ArviZ's: halves have floor(draws / 2) draws and an odd chain's
 * middle draw is left out of ranks, R-hat and ESS, but counts for quantiles, mean and sd; the
 * median to fold about is that of the split draws. Quantiles: h = (S-1) p, linear between
 * neighbours (type 7).
 * (ArviZ's own quantile, scipy's mquantiles, can fall one bit below a tied value, and its tail ESS
 * then misses all draws tied there; numpy's does not, and is followed here.)
 *
 * All that needs order comes from one sort. Keys are the bits of a double turned so that they order
 * as integers, sorted by six counting passes of 11 bits (linear time: 400,000 draws load in about
 * 10 ms, of which qsort alone would take 60). Folding needs no second sort: the distances from the
 * median are two sorted runs.
 */
#include "diagnostics/trace.h"

#include <math.h>
#include <string.h>

#include "diagnostics/normal.h"
#include "diagnostics/sums.h"

enum { DIGIT_BITS = 11, DIGITS = 6, BUCKETS = 1 << DIGIT_BITS, COUNTERS = DIGITS * BUCKETS };

static uint64_t key_of(double x) {
    uint64_t bits;
    x += 0.0; /* -0 and 0 are ties */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double score_of(double rank, int64_t count) {
    return sgfsi_normal_quantile((rank - 0.375) / ((double)count + 0.25));
}

sgfsi_trace *sgfsi_trace_new(sgfsi_arena *arena, int64_t chains, int64_t draws) {
    sgfsi_trace *t = sgfsi_arena_alloc(arena, 1, sizeof *t);
    if (t == NULL) return NULL;
    t->chains = chains;
    t->draws = draws;
    t->m = 2 * chains;
    t->half = draws / 2;
    t->count = t->m * t->half;
    int64_t all = chains * draws, split = t->count > 0 ? t->count : 1;
    t->sorted = sgfsi_arena_alloc(arena, all, sizeof *t->sorted);
    t->spare = sgfsi_arena_alloc(arena, all, sizeof *t->spare);
    t->bucket = sgfsi_arena_alloc(arena, COUNTERS, sizeof *t->bucket);
    if (!SGFSI_ROOM(arena, split, &t->split, &t->z, &t->scratch, &t->normal_score) ||
        !SGFSI_ROOM(arena, t->half + 1, &t->rho) || !SGFSI_ROOM(arena, t->m, &t->half_mean) ||
        !SGFSI_ROOM(arena, chains, &t->middle) || !t->sorted || !t->spare || !t->bucket ||
        !sgfsi_autocorr_init(&t->autocorr, arena, t->half))
        return NULL;
    for (int64_t i = 0; i < t->count / 2; i++) { /* count is even and the scores are symmetric */
        t->normal_score[i] = score_of((double)i + 1.0, t->count);
        t->normal_score[t->count - 1 - i] = -t->normal_score[i];
    }
    return t;
}

/* Least significant digit first; a pass in which all digits agree is skipped. */
static void sort(sgfsi_trace *t) {
    int64_t all = t->chains * t->draws;
    memset(t->bucket, 0, COUNTERS * sizeof *t->bucket);
    for (int64_t i = 0; i < all; i++) {
        for (int64_t d = 0; d < DIGITS; d++) {
            t->bucket[d * BUCKETS +
                      (int64_t)(t->sorted[i].key >> (d * DIGIT_BITS) & (BUCKETS - 1))]++;
        }
    }
    /* Counts become places, and the entries go there. */
    for (int64_t d = 0; d < DIGITS; d++) {
        int64_t *bucket = t->bucket + d * BUCKETS, start = 0;
        int64_t shift = d * DIGIT_BITS;
        if (bucket[t->sorted[0].key >> shift & (BUCKETS - 1)] == all) continue;
        for (int64_t b = 0; b < BUCKETS; b++) {
            int64_t here = bucket[b];
            bucket[b] = start;
            start += here;
        }
        for (int64_t i = 0; i < all; i++)
            t->spare[bucket[t->sorted[i].key >> shift & (BUCKETS - 1)]++] = t->sorted[i];
        sgfsi_ranked *other = t->sorted;
        t->sorted = t->spare;
        t->spare = other;
    }
}

/* Between which two of `all` numbers in order a quantile lies, and how far it is on the way. */
static double place(int64_t all, double p, int64_t *i, int64_t *next) {
    double h = (double)(all - 1) * p, below = floor(h);
    *i = (int64_t)below;
    *next = *i + 1 < all ? *i + 1 : *i;
    return h - below;
}

static double between(double a, double b, double part) {
    return part < 0.5 ? a + (b - a) * part : b - (b - a) * (1.0 - part);
}

static double quantile(const sgfsi_trace *t, double p) {
    int64_t i, next;
    double part = place(t->chains * t->draws, p, &i, &next);
    return between(value_of(t->sorted[i].key), value_of(t->sorted[next].key), part);
}

double sgfsi_quantile(int64_t n, const double *sorted, double p) {
    int64_t i, next;
    double part = place(n, p, &i, &next);
    return between(sorted[i], sorted[next], part);
}

/* Normal scores of the count entries sorted by key, ties sharing the score of their average rank.
 */
static void score(const sgfsi_trace *t, const sgfsi_ranked *sorted, double *out) {
    for (int64_t i = 0, j; i < t->count; i = j) {
        for (j = i + 1; j < t->count && sorted[j].key == sorted[i].key;) j++;
        double z = t->normal_score[i];
        if (j > i + 1) z = score_of(0.5 * (double)(i + 1 + j), t->count);
        for (int64_t k = i; k < j; k++) out[sorted[k].at] = z;
    }
}

void sgfsi_trace_load(sgfsi_trace *t, const double *const *chain, int64_t stride) {
    /* each chain in two halves; the middle draw of an odd one apart */
    sgfsi_ranked *out = t->sorted;
    t->finite = true;
    for (int64_t c = 0; c < t->chains; c++) {
        for (int64_t i = 0; i < t->draws; i++, out++) {
            double x = chain[c][i * stride];
            int64_t second = i - (t->draws - t->half); /* place in the second half */
            if (!isfinite(x)) t->finite = false;
            out->key = key_of(x);
            out->at = i < t->half   ? 2 * c * t->half + i
                      : second >= 0 ? (2 * c + 1) * t->half + second
                                    : -1;
            if (out->at >= 0) t->split[out->at] = x;
            else t->middle[c] = x;
        }
    }
    t->mean = t->sd = t->q5 = t->q50 = t->q95 = NAN;
    if (!t->finite) return;
    /* mean and sd of all kept draws */
    int64_t odd = t->draws % 2 ? t->chains : 0;
    double all = (double)(t->count + odd);
    double first = (sgfsi_sum(t->count, t->split, 0.0) + sgfsi_sum(odd, t->middle, 0.0)) / all;
    double rest = sgfsi_sum(t->count, t->split, first) + sgfsi_sum(odd, t->middle, first);
    t->mean = first + rest / all;
    double squares =
        sgfsi_sum_squares(t->count, t->split, t->mean) + sgfsi_sum_squares(odd, t->middle, t->mean);
    t->sd = all < 2.0 ? NAN : sqrt(squares / (all - 1.0));
    /* order */
    sort(t);
    t->q5 = quantile(t, 0.05);
    t->q50 = quantile(t, 0.50);
    t->q95 = quantile(t, 0.95);
    int64_t kept = 0; /* from here on without the middle draws */
    for (int64_t i = 0; i < t->chains * t->draws; i++)
        if (t->sorted[i].at >= 0) t->sorted[kept++] = t->sorted[i];
    score(t, t->sorted, t->z);
}

void sgfsi_trace_fold(sgfsi_trace *t, double *out) {
    int64_t left = t->count / 2 - 1, right = t->count / 2;
    double median = 0.5 * (value_of(t->sorted[left].key) + value_of(t->sorted[right].key));
    for (int64_t i = 0; i < t->count; i++) {
        double down = left >= 0 ? median - value_of(t->sorted[left].key) : INFINITY;
        double up = right < t->count ? value_of(t->sorted[right].key) - median : INFINITY;
        bool take_left = left >= 0 && (right >= t->count || down <= up);
        t->spare[i].key = key_of(take_left ? down : up);
        t->spare[i].at = t->sorted[take_left ? left-- : right++].at;
    }
    score(t, t->spare, out);
}

/* The middle draws of odd chains are few: each goes where it belongs, and pushes the larger up. */
void sgfsi_trace_values(const sgfsi_trace *t, double *out) {
    int64_t all = t->chains * t->draws, n = t->count;
    for (int64_t i = 0; i < all; i++)
        out[i] = t->finite && i < n ? value_of(t->sorted[i].key) : NAN;
    for (int64_t c = 0; t->finite && n < all; c++, n++) {
        int64_t i = n;
        for (; i > 0 && out[i - 1] > t->middle[c]; i--) out[i] = out[i - 1];
        out[i] = t->middle[c];
    }
}

/* One thread's share of the parameters. */
static bool take_share(const sgfs_draws *d, const sgfsi_used *used,
                       void (*take)(void *user, int64_t i, sgfsi_trace *t), void *user) {
    sgfsi_arena work = {0};
    sgfsi_trace *t = sgfsi_trace_new(&work, used->chains, used->draws);
    const double **column = sgfsi_arena_alloc(&work, used->chains, sizeof *column);
    bool ready = t != NULL && column != NULL;
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < d->D; i++) {
        if (!ready) continue;
        for (int64_t c = 0; c < used->chains; c++) column[c] = d->chain[used->chain[c]].theta + i;
        sgfsi_trace_load(t, column, d->D);
        take(user, i, t);
    }
    sgfsi_arena_free(&work);
    return ready;
}

bool sgfsi_trace_each(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                      void (*take)(void *user, int64_t i, sgfsi_trace *t), void *user) {
    int64_t short_of_memory = 0, large = used->chains * used->draws * d->D > 100000;
#pragma omp parallel num_threads((int)threads) reduction(+ : short_of_memory) if (large)
    short_of_memory += !take_share(d, used, take, user);
    return short_of_memory == 0;
}
