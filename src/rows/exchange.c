/* SPDX-License-Identifier: MIT
 * exchange.c: see exchange.h.
 *
 * A gather takes pieces of one length, and a batch has more rows of one process than of another. So
 * every process sends `quota` rows at a time, which is mostly enough, and all go round again until
 * the one with the most rows has sent them: how often follows from the row numbers, which all of
 * them know.
 */
#include "rows/exchange.h"

#include <string.h>

#include "rows/shares.h"

sgfs_status sgfsi_exchange_open(sgfsi_exchange *x, const sgfs_data *d, const sgfsi_comm *comm,
                                int64_t n, sgfsi_pages *visit, sgfsi_arena *arena, sgfs_err *err) {
    const int64_t spare = 8, quota = 3 * n / (2 * comm->size) + spare;
    *x = (sgfsi_exchange){.data = d, .comm = comm, .visit = visit, .quota = quota < n ? quota : n};
    x->stride = x->quota * (d->p + 1);
    x->piece = SGFSI_DOUBLES(arena, comm->size * x->stride);
    x->mine = sgfsi_arena_alloc(arena, x->quota, sizeof *x->mine);
    x->of = sgfsi_arena_alloc(arena, comm->size, sizeof *x->of);
    bool made = x->piece != NULL && x->mine != NULL && x->of != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "a minibatch");
}

int64_t sgfsi_exchange_mine(const sgfsi_exchange *x, const int64_t *row, int64_t n, int64_t *mine) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (sgfsi_owner_of(x->data->N, x->comm->size, row[i]) == x->comm->rank)
            mine[count++] = row[i];
    return count;
}

/* This process's rows number first .. first + quota - 1, to its piece. */
static sgfs_status read_own(sgfsi_exchange *x, const int64_t *row, int64_t n, int64_t first,
                            sgfs_err *err) {
    const sgfs_data *d = x->data;
    double *piece = x->piece + x->comm->rank * x->stride;
    int64_t seen = 0, count = 0;
    for (int64_t i = 0; i < n && count < x->quota; i++) {
        if (sgfsi_owner_of(d->N, x->comm->size, row[i]) != x->comm->rank) continue;
        if (seen++ >= first) x->mine[count++] = row[i];
    }
    sgfs_status status = sgfsi_pages_rows(x->visit, d, x->mine, count, err);
    if (status == SGFS_OK) sgfsi_data_rows_pick(d, x->mine, count, piece, piece + x->quota * d->p);
    return status;
}

sgfs_status sgfsi_exchange_rows(sgfsi_exchange *x, const int64_t *row, int64_t n, double *to,
                                double *y, sgfs_err *err) {
    const int64_t size = x->comm->size, N = x->data->N, p = x->data->p, quota = x->quota;
    const int64_t bytes = x->stride * (int64_t)sizeof *x->piece;
    int64_t most = 0;
    memset(x->of, 0, (size_t)size * sizeof *x->of);
    for (int64_t i = 0; i < n; i++) {
        int64_t has = ++x->of[sgfsi_owner_of(N, size, row[i])];
        if (has > most) most = has;
    }
    for (int64_t first = 0; first < most; first += quota) {
        sgfs_status status = read_own(x, row, n, first, err);
        status = sgfsi_comm_gather(x->comm, status, size, bytes, bytes, x->piece, err);
        if (status != SGFS_OK) return status;
        memset(x->of, 0, (size_t)size * sizeof *x->of);
        for (int64_t i = 0; i < n; i++) { /* to its place in the batch */
            int64_t of = sgfsi_owner_of(N, size, row[i]), k = x->of[of]++ - first;
            const double *piece = x->piece + of * x->stride;
            if (k < 0 || k >= quota) continue;
            memcpy(to + i * p, piece + k * p, (size_t)p * sizeof *to);
            y[i] = piece[quota * p + k];
        }
    }
    return SGFS_OK;
}
