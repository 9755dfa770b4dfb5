/* SPDX-License-Identifier: MIT
 * packed_check.c: are a packed file's chunks what was written? One at a time when it is first
 * needed, or all of them.
 *
 * Threads may look at the same chunk at the same time: each finds the same answer, and a chunk
 * found right is remembered by one atomic bit. One found wrong is not remembered: it ends the run.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/ticker.h"
#include "files/packed/packed.h"

static bool is_right(const sgfsi_part *part, int64_t chunk) {
    const sgfsi_packed *k = part->packed;
    const unsigned char bit = (unsigned char)(1u << (chunk % 8));
    _Atomic unsigned char *seen = &k->seen[chunk / 8];
    if ((atomic_load_explicit(seen, memory_order_relaxed) & bit) != 0) return true;
    const char *cells = part->cells + chunk * part->chunk_bytes;
    if (sgfsi_crc32(0, cells, (size_t)part->chunk_bytes) != k->crc[chunk]) return false;
    (void)atomic_fetch_or_explicit(seen, bit, memory_order_relaxed);
    return true;
}

sgfs_status sgfsi_packed_check(const sgfsi_part *part, int64_t chunk, sgfs_err *err) {
    int64_t first = chunk * part->chunk_rows, end = first + part->chunk_rows;
    if (is_right(part, chunk)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: is damaged: the checksum of rows %lld to %lld is wrong. Make it again "
                      "with sgfs pack, or fetch another copy.",
                      part->path, (long long)first + 1,
                      (long long)(end < part->rows ? end : part->rows));
}

/* Some chunks at a time, whose pages are let go of again. */
static sgfs_status verify_part(const sgfsi_part *part, int64_t threads, sgfsi_ticker *ticker,
                               sgfs_err *err) {
    const int64_t all = part->packed->chunks;
    int64_t some = ((int64_t)64 << 20) / part->chunk_bytes;
    if (some < 1) some = 1;
    for (int64_t from = 0; from < all; from += some) {
        int64_t to = all - from < some ? all : from + some, bad = to; /* the first that is wrong */
        char *at = (char *)part->map + SGFSI_PAGE + from * part->chunk_bytes;
        size_t bytes = (size_t)((to - from) * part->chunk_bytes);
        (void)madvise(at, bytes, MADV_WILLNEED);
#pragma omp parallel for schedule(static) reduction(min : bad) num_threads((int)threads)
        for (int64_t c = from; c < to; c++) {
            if (c < bad && !is_right(part, c)) bad = c;
        }
        if (bad < to) return sgfsi_packed_check(part, bad, err);
        (void)madvise(at, bytes, MADV_DONTNEED);
        sgfs_status status = sgfsi_tick(ticker, (double)to / (double)all, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_packed_verify(const sgfsi_table *table, int64_t threads, const sgfsi_log *log,
                                sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < table->parts && status == SGFS_OK; k++) {
        if (table->part[k].packed == NULL) continue;
        sgfsi_ticker ticker = sgfsi_ticker_start(log, "Checking");
        status = verify_part(&table->part[k], threads, &ticker, err);
    }
    return status;
}
