/* SPDX-License-Identifier: MIT
 * batchmeans.c: moments with errors by batch means.
 *
 * A chain's draws are cut into batches of neighbours, of which only the sums of x and x^2 are kept
 * (x: a parameter less its value in the first draw, so that nothing cancels). When there is no room
 * for a further batch, neighbours are joined: batches are twice as long then, and memory does not
 * depend on the number of draws. Once batches are much longer than the autocorrelation time their
 * means are independent, whatever the chain's correlations are. With B batches in all, of means
 * u_b of x and v_b of x^2,
 *
 *     m = mean u_b,   s^2 = mean v_b - m^2,   w_b = v_b - 2 m u_b + m^2
 *     error of m:      sd(u_b) / sqrt(B)
 *     error of log s:  sd(w_b) / sqrt(B) / (2 s^2)     (w_b: the batch's mean of (x - m)^2)
 *
 * so that the error of s knows of the distribution's own tails: nothing is taken for normal.
 *
 * Batches that are not long enough are found out: the same variance of m from groups of GROUP
 * batches is larger then, by a ratio that is 1 up to chance otherwise. Its mean over all parameters
 * enlarges every error, where it is above 1. An error that owes something to the groups is known no
 * better than theirs are: a batch of L draws understates the squared error by about tau/(2 L) of
 * it, so with fewer than LONG effective draws in a batch the degrees of freedom are those of
 * groups.
 */
#include "diagnostics/batchmeans.h"

#include <math.h>
#include <string.h>

enum { GROUP = 8, LONG = 4 };

sgfsi_batchmeans *sgfsi_batchmeans_new(sgfsi_arena *arena, int64_t chains, int64_t D) {
    sgfsi_batchmeans *b = sgfsi_arena_alloc(arena, 1, sizeof *b);
    if (b == NULL) return NULL;
    b->D = D;
    b->chains = chains;
    b->centre = SGFSI_DOUBLES(arena, D);
    b->length = sgfsi_arena_alloc(arena, 3 * chains, sizeof *b->length);
    b->sum = SGFSI_DOUBLES(arena, chains * SGFSI_BATCHES * 2 * D);
    if (b->centre == NULL || b->length == NULL || b->sum == NULL) return NULL;
    b->filled = b->length + chains;
    b->count = b->filled + chains;
    for (int64_t c = 0; c < chains; c++) b->length[c] = 1;
    return b;
}

/* Both sums of batch k of a chain. */
static double *batch_at(const sgfsi_batchmeans *b, int64_t chain, int64_t k) {
    return b->sum + (chain * SGFSI_BATCHES + k) * 2 * b->D;
}

void sgfsi_batchmeans_add(sgfsi_batchmeans *b, int64_t chain, int64_t count, const double *theta) {
    enum { HALF = SGFSI_BATCHES / 2 };
    int64_t D = b->D;
    if (!b->centred && count > 0) memcpy(b->centre, theta, (size_t)D * sizeof *theta);
    b->centred = b->centred || count > 0;
    for (int64_t i = 0; i < count; i++, theta += D) {
        double *sum = batch_at(b, chain, b->filled[chain]), *squares = sum + D;
        for (int64_t j = 0; j < D; j++) {
            double x = theta[j] - b->centre[j];
            sum[j] += x;
            squares[j] += x * x;
        }
        if (++b->count[chain] < b->length[chain]) continue;
        b->count[chain] = 0;
        if (++b->filled[chain] < SGFSI_BATCHES) continue;
        /* no room for a further batch: join neighbours */
        for (int64_t k = 0; k < HALF; k++) {
            double *to = batch_at(b, chain, k);
            const double *one = batch_at(b, chain, 2 * k), *two = batch_at(b, chain, 2 * k + 1);
            for (int64_t j = 0; j < 2 * D; j++) to[j] = one[j] + two[j];
        }
        memset(batch_at(b, chain, HALF), 0, (size_t)(HALF * 2 * D) * sizeof(double));
        b->filled[chain] = HALF;
        b->length[chain] *= 2;
    }
}

int64_t sgfsi_batchmeans_batches(const sgfsi_batchmeans *b) {
    int64_t all = 0;
    for (int64_t c = 0; c < b->chains; c++) all += b->filled[c];
    return all;
}

/* Chains of equal length have batches of equal length; a shorter chain's weigh the same, which is
 * fair as long as they are many. */
static sgfsi_estimate estimate_one(const sgfsi_batchmeans *b, int64_t j) {
    double m = 0, square = 0, uu = 0, ww = 0, all = (double)sgfsi_batchmeans_batches(b);
    for (int64_t c = 0; c < b->chains; c++) {
        for (int64_t k = 0; k < b->filled[c]; k++) {
            m += batch_at(b, c, k)[j] / (double)b->length[c];
            square += batch_at(b, c, k)[b->D + j] / (double)b->length[c];
        }
    }
    m /= all;
    square /= all;
    double variance = square - m * m;
    for (int64_t c = 0; c < b->chains; c++) {
        for (int64_t k = 0; k < b->filled[c]; k++) {
            double u = batch_at(b, c, k)[j] / (double)b->length[c];
            double v = batch_at(b, c, k)[b->D + j] / (double)b->length[c];
            double w = v - 2 * m * u + m * m;
            uu += (u - m) * (u - m);
            ww += (w - variance) * (w - variance);
        }
    }
    double share = all * (all - 1); /* 0 with one batch: NaN */
    return (sgfsi_estimate){.mean = b->centre[j] + m,
                            .sd = sqrt(variance),
                            .mean_error = sqrt(uu / share),
                            .sd_error = sqrt(ww / share) / (2 * variance)};
}

/* Every chain has two groups, on average. */
static bool has_groups(const sgfsi_batchmeans *b) {
    return sgfsi_batchmeans_batches(b) >= 2 * GROUP * b->chains;
}

int64_t sgfsi_batchmeans_freedom(const sgfsi_batchmeans *b, double reached) {
    int64_t batches = sgfsi_batchmeans_batches(b), groups = 0;
    if (!has_groups(b)) return 0;
    if (LONG * (double)batches * reached * reached <= 1) return batches - 1;
    for (int64_t c = 0; c < b->chains; c++) groups += b->filled[c] / GROUP;
    return groups - 1;
}

void sgfsi_batchmeans_estimate(const sgfsi_batchmeans *b, sgfsi_estimate *estimate) {
    for (int64_t j = 0; j < b->D; j++) estimate[j] = estimate_one(b, j);
    if (!has_groups(b)) return;
    double ratio = 0;
    for (int64_t j = 0; j < b->D; j++) {
        /* Squared error of the mean of parameter j from groups of neighbouring batches. */
        double m = estimate[j].mean - b->centre[j], sum = 0, all = 0;
        for (int64_t c = 0; c < b->chains; c++) {
            for (int64_t k = 0; k + GROUP <= b->filled[c]; k += GROUP, all++) {
                double u = 0;
                for (int64_t i = 0; i < GROUP; i++) u += batch_at(b, c, k + i)[j];
                u = u / (double)(GROUP * b->length[c]) - m;
                sum += u * u;
            }
        }
        ratio += sum / (all * (all - 1)) / (estimate[j].mean_error * estimate[j].mean_error);
    }
    double wider = sqrt(fmax(ratio / (double)b->D, 1));
    for (int64_t j = 0; j < b->D; j++) {
        estimate[j].mean_error *= wider;
        estimate[j].sd_error *= wider;
    }
}
