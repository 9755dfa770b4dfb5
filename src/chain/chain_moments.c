/* SPDX-License-Identifier: MIT
 * chain_moments.c: mean and covariance, merged block by block (Chan, Golub, LeVeque 1979) so that
 * the D x D matrix is touched once per 32 iterations, by one syrk:
 *
 *     SS <- SS + sum_i (x_i - xbar)(x_i - xbar)' + c c',   c = sqrt(n1 n2/(n1 + n2)) (xbar - mean)
 *
 * The last term is a 33rd row of the same product.
 */
#include "chain/chain_moments.h"

#include <math.h>
#include <string.h>

enum { ROWS = SGFSI_RUNNING_ROWS, SLOTS = SGFSI_RUNNING_SLOTS };

bool sgfsi_chain_moments_open(sgfsi_chain_moments *m, const sgfs_device *dev, int64_t D, bool full,
                              sgfsi_arena *arena) {
    *m = (sgfsi_chain_moments){.device = dev, .D = D, .slot_blocks = 1};
    return SGFSI_ROOM(arena, (ROWS + 1) * D, &m->buffer) &&
           SGFSI_ROOM(arena, SLOTS * D, &m->slot) &&
           SGFSI_ROOM(arena, D, &m->mean, &m->var, &m->block_mean) &&
           (!full || SGFSI_ROOM(arena, D * D, &m->ss));
}

void sgfsi_chain_moments_add(sgfsi_chain_moments *m, const double *theta) {
    memcpy(m->buffer + m->waiting * m->D, theta, (size_t)m->D * sizeof *theta);
    if (++m->waiting == ROWS) sgfsi_chain_moments_flush(m);
}

/* ---- batch means ----------------------------------------------------------------------------- */

static void add_to_slot(sgfsi_chain_moments *m) {
    double weight = 1 / (double)m->slot_blocks;
    sgfsi_axpy(m->device, m->D, weight, m->block_mean, m->slot + m->slots * m->D);
    if (++m->slot_fill < m->slot_blocks) return;
    m->slot_fill = 0;
    if (++m->slots < SLOTS) return;
    /* two neighbouring slots become one */
    for (int64_t k = 0; k < SLOTS / 2; k++) {
        const double *a = m->slot + 2 * k * m->D, *b = a + m->D;
        for (int64_t j = 0; j < m->D; j++) m->slot[k * m->D + j] = 0.5 * (a[j] + b[j]);
    }
    memset(m->slot + SLOTS / 2 * m->D, 0, (size_t)(SLOTS / 2 * m->D) * sizeof *m->slot);
    m->slots = SLOTS / 2;
    m->slot_blocks *= 2;
}

double sgfsi_chain_moments_tau(const sgfsi_chain_moments *m, int64_t j) {
    if (m->slots < 8) return NAN;
    double length = (double)(m->slot_blocks * ROWS), k = (double)m->slots;
    double mean = 0, ss = 0, variance = m->var[j] / (double)m->count;
    for (int64_t s = 0; s < m->slots; s++) mean += m->slot[s * m->D + j] / k;
    for (int64_t s = 0; s < m->slots; s++) {
        double gap = m->slot[s * m->D + j] - mean;
        ss += gap * gap;
    }
    double tau = length * ss / (k - 1) / variance;
    return length >= 5 * tau ? tau : NAN;
}

double sgfsi_chain_moments_ess(const sgfsi_chain_moments *m) {
    double longest = 0;
    for (int64_t j = 0; j < m->D; j++) {
        double tau = sgfsi_chain_moments_tau(m, j);
        if (isnan(tau)) return 0;
        longest = fmax(longest, tau);
    }
    return longest > 0 ? (double)m->count / fmax(longest, 1) : 0;
}

/* ---- merging --------------------------------------------------------------------------------- */

void sgfsi_chain_moments_flush(sgfsi_chain_moments *m) {
    int64_t D = m->D, n = m->waiting;
    if (n == 0) return;
    double *extra = m->buffer + n * D, total = (double)(m->count + n);
    double root = sqrt((double)m->count * (double)n / total);
    double *restrict mean = m->block_mean, *restrict var = m->var;
    memset(mean, 0, (size_t)D * sizeof *mean);
    for (int64_t i = 0; i < n; i++) {
        const double *restrict x = m->buffer + i * D;
        for (int64_t j = 0; j < D; j++) mean[j] += x[j];
    }
    for (int64_t j = 0; j < D; j++) mean[j] /= (double)n;
    for (int64_t j = 0; j < D; j++) extra[j] = root * (mean[j] - m->mean[j]);
    for (int64_t i = 0; i <= n; i++) {
        double *restrict x = m->buffer + i * D;
        for (int64_t j = 0; j < D; j++) {
            x[j] -= i < n ? mean[j] : 0;
            var[j] += x[j] * x[j];
        }
    }
    if (m->ss != NULL) sgfsi_syrk_t(m->device, n + 1, D, 1.0, m->buffer, 1.0, m->ss);
    for (int64_t j = 0; j < D; j++)
        m->mean[j] += (m->block_mean[j] - m->mean[j]) * (double)n / total;
    m->count += n;
    m->waiting = 0;
    if (n == ROWS) add_to_slot(m);
}

void sgfsi_chain_moments_fields(sgfsi_chain_moments *m, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "moments");
    SGFSI_FIELD_ONE(list, m, count);
    SGFSI_FIELD_ONE(list, m, waiting);
    SGFSI_FIELD_ARRAY(list, m, buffer, ROWS * m->D);
    SGFSI_FIELD_ARRAY(list, m, mean, m->D);
    SGFSI_FIELD_ARRAY(list, m, var, m->D);
    SGFSI_FIELD_ARRAY(list, m, ss, m->D * m->D);
    SGFSI_FIELD_ARRAY(list, m, slot, SLOTS * m->D);
    SGFSI_FIELD_ONE(list, m, slots);
    SGFSI_FIELD_ONE(list, m, slot_blocks);
    SGFSI_FIELD_ONE(list, m, slot_fill);
    sgfsi_fields_leave(list);
}
