/* SPDX-License-Identifier: MIT
 * pages.c: what has to happen between drawing rows of a packed file and gathering them.
 *
 *     draw -> visit (here) -> gather
 *
 * Pages of a map come in by faults, one after the other, whoever touches them first. Here they are
 * touched on purpose: the time is the wait for the disk, and gathering then never waits. A chunk's
 * checksum is looked at once. A file that has become shorter is told before it is touched; between
 * the look and the touch it may still shrink, and then the kernel sends SIGBUS, which a library
 * cannot catch (the command line does).
 *
 * Where visits are slow by major faults, the file is not in memory: for some time pages of later
 * minibatches are asked for ahead (batch.c). A file in memory is spared these calls, which would
 * cost more than they gain.
 *
 * Mapped pages count as resident. Where the files are larger than RESIDENT, a part that has been
 * touched in more windows than its share holds is dropped from the address space; its pages stay in
 * the page cache as long as the kernel likes. A fault maps a whole window of what is cached, so
 * windows are counted. Threads may do so at any time: another one's touch brings a page back. Rows
 * drawn one by one would fault at almost each of them again: they may keep MORE_FOR_SINGLE times as
 * much.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "rows/pages.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/ticker.h"

enum {
    WINDOW = 65536,        /* bytes that one fault may map */
    RESIDENT = 512 << 20,  /* bytes of all files */
    BLOCK_BYTES = 1 << 20, /* that a pass over neighbours asks for at a time */
    MORE_FOR_SINGLE = 8,
    COLD_VISITS = 256 /* that pages are asked for ahead, after one that was slow */
};
/* Seconds that a visit may take from memory, a fault for each page included. */
static const double quick = 20e-6, quick_page = 2e-6;

/* ---- where rows are -------------------------------------------------------------------------- */

/* Neighbouring rows of one chunk. Files may be mixed: parts that are not packed are passed over. */
typedef struct block {
    const sgfsi_part *part;
    int64_t first, rows, chunk; /* first: within the part */
} block;

/* What is visited: rows row[0..n) of the data, or n rows from `first` on where row is NULL. */
typedef struct walk {
    const int64_t *row;
    int64_t first, n;
} walk;

static int64_t table_row(const sgfs_data *d, const walk *w, int64_t i) {
    return sgfsi_data_table_row(d, w->row != NULL ? w->row[i] : w->first + i);
}

static block block_at(const sgfs_data *d, int64_t at) {
    const sgfsi_part *p = d->table.parts == 1 ? d->table.part : sgfsi_table_part(&d->table, at);
    block r = {.part = p, .first = at - p->first, .rows = 1};
    r.chunk = r.first / p->chunk_rows;
    return r;
}

/* The block that starts at the walk's row *i; *i moves behind it. */
static block next_block(const sgfs_data *d, const walk *w, int64_t *i) {
    int64_t at = table_row(d, w, *i), begin = (*i)++;
    block r = block_at(d, at);
    if (*i == w->n || table_row(d, w, *i) != at + 1) return r;
    int64_t end = (r.chunk + 1) * r.part->chunk_rows;
    int64_t most = (end < r.part->rows ? end : r.part->rows) - r.first; /* of its chunk */
    if (most > w->n - begin) most = w->n - begin;
    if (w->row == NULL && d->subset == NULL) r.rows = most;
    while (r.rows < most && table_row(d, w, begin + r.rows) == at + r.rows) r.rows++;
    *i = begin + r.rows;
    return r;
}

/* Bytes of a part, counted from its first chunk on. */
typedef struct byte_range {
    int64_t from, to;
} byte_range;

static byte_range bytes_of(const sgfs_data *d, const block *r) {
    int64_t chunk = r->chunk * r->part->chunk_bytes;
    int64_t from = chunk + (r->first - r->chunk * r->part->chunk_rows) * d->row_bytes;
    return (byte_range){from, from + r->rows * d->row_bytes};
}

static void advise(const sgfsi_part *part, byte_range b, int advice) {
    int64_t from = b.from / SGFSI_PAGE * SGFSI_PAGE,
            to = (b.to + SGFSI_PAGE - 1) / SGFSI_PAGE * SGFSI_PAGE;
    if (part->packed != NULL && to > from)
        (void)madvise((char *)part->map + SGFSI_PAGE + from, (size_t)(to - from), advice);
}

/* ---- resident memory ------------------------------------------------------------------------- */

double sgfsi_data_resident(const sgfs_data *d, double rows) {
    double touched = rows * (double)d->row_bytes, packed = 0, others = (double)d->table.map_bytes;
    for (int64_t k = 0; k < d->table.parts; k++)
        *(d->table.part[k].packed != NULL ? &packed : &others) +=
            (double)d->table.part[k].map_bytes;
    return others + fmin(fmin(packed, RESIDENT), touched);
}

/* Bytes of the part that may be resident: all, where the files are small. */
static int64_t share_of(const sgfsi_table *t, const sgfsi_part *part) {
    double all = 0;
    int64_t share = atomic_load_explicit(&part->packed->share, memory_order_relaxed);
    if (share > 0) return share;
    for (int64_t k = 0; k < t->parts; k++) all += (double)t->part[k].map_bytes;
    share = (int64_t)(RESIDENT * ((double)part->map_bytes / all));
    if (share < WINDOW) share = WINDOW;
    if (all <= RESIDENT) share = INT64_MAX;
    atomic_store_explicit(&part->packed->share, share, memory_order_relaxed);
    return share;
}

/* ---- visiting -------------------------------------------------------------------------------- */

double sgfsi_pages_faults(void) {
    struct rusage use;
    return getrusage(RUSAGE_THREAD, &use) == 0 ? (double)use.ru_majflt : 0;
}

/* What one visit has seen so far. */
typedef struct tour {
    const sgfsi_part *part; /* where it is, */
    int64_t windows;        /* and what it has touched there */
    int64_t blocks, pages;  /* in all */
    bool checked;           /* every chunk's checksum had been looked at before */
} tour;

static sgfs_status enter(tour *now, const sgfs_data *d, const sgfsi_part *part, sgfs_err *err) {
    bool single = now->blocks > 64 && now->pages <= 2 * now->blocks;
    int64_t share = now->windows > 0 ? share_of(&d->table, now->part) : INT64_MAX;
    if (share != INT64_MAX) {
        _Atomic int64_t *touched = &now->part->packed->touched;
        int64_t bytes = now->windows * WINDOW, chunks = now->part->packed->chunks;
        if (single) share *= MORE_FOR_SINGLE;
        bool much =
            atomic_fetch_add_explicit(touched, bytes, memory_order_relaxed) + bytes >= share;
        if (much) { /* the list of checksums behind the chunks is not given back */
            atomic_store_explicit(touched, 0, memory_order_relaxed);
            advise(now->part, (byte_range){0, chunks * now->part->chunk_bytes}, MADV_DONTNEED);
        }
    }
    now->part = part;
    now->windows = 0;
    /* Where the file ends now: a third of the time that fstat takes. */
    if (part == NULL || lseek(part->packed->fd, 0, SEEK_END) >= (int64_t)part->map_bytes)
        return SGFS_OK;
    return sgfsi_fail(err, SGFS_EIO,
                      "%s: became shorter while it was read. Leave data files alone while they are "
                      "in use.",
                      part->path);
}

/* Single rows lie anywhere: the processor is told of some before the first is touched. */
static sgfs_status touch_blocks(tour *now, const sgfs_data *d, int64_t blocks, const block *r,
                                sgfs_err *err) {
    for (int64_t k = 0; k < blocks; k++)
        __builtin_prefetch(r[k].part->cells + bytes_of(d, &r[k]).from);
    for (int64_t k = 0; k < blocks; k++) {
        if (r[k].part->packed == NULL) continue;
        sgfs_status status = r[k].part != now->part ? enter(now, d, r[k].part, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        byte_range bytes = bytes_of(d, &r[k]);
        const char *cells = r[k].part->cells;
        const sgfsi_packed *packed = r[k].part->packed;
        now->blocks++;
        /* The first byte, which gathering wants first, and one of each page behind it. */
        for (int64_t b = bytes.from; b < bytes.to; b = (b / SGFSI_PAGE + 1) * SGFSI_PAGE) {
            (void)*(const volatile char *)(cells + b);
            now->pages++;
        }
        /* Windows lie at multiples of their size in memory, wherever the map begins. */
        uintptr_t from = (uintptr_t)(cells + bytes.from), last = (uintptr_t)(cells + bytes.to - 1);
        now->windows += (int64_t)(last / WINDOW - from / WINDOW) + 1;
        int seen = atomic_load_explicit(&packed->seen[r[k].chunk / 8], memory_order_relaxed);
        now->checked = now->checked && (seen >> (r[k].chunk % 8) & 1) != 0;
    }
    return SGFS_OK;
}

static void ask_ahead(const sgfs_data *d, const walk *w) {
    for (int64_t i = 0; i < w->n;) {
        block r = next_block(d, w, &i);
        advise(r.part, bytes_of(d, &r), MADV_WILLNEED);
    }
}

static sgfs_status visit(sgfsi_pages *v, const sgfs_data *d, const walk *w, sgfs_err *err) {
    enum { SOME = 32 };
    block r[SOME];
    tour now = {.checked = true};
    bool counted = v->suspect || v->cold > 0;
    double faults = counted ? sgfsi_pages_faults() : 0;
    double begin = sgfsi_now();
    if (v->cold > 0) ask_ahead(d, w); /* all at a time */
    for (int64_t i = 0; i < w->n;) {
        int64_t blocks = 0;
        while (blocks < SOME && i < w->n) r[blocks++] = next_block(d, w, &i);
        sgfs_status status = touch_blocks(&now, d, blocks, r, err);
        if (status != SGFS_OK) return status;
    }
    /* A visit that took longer than memory explains waited for the disk, or for the processor: the
     * next one counts its major faults, too. */
    double took = sgfsi_now() - begin;
    bool slow = took > quick + quick_page * (double)now.pages;
    bool waited = counted && sgfsi_pages_faults() > faults;
    if (slow && (v->cold > 0 || waited)) v->wait += took;
    if (v->cold > 0) v->cold--;
    if (waited) v->cold = COLD_VISITS;
    v->suspect = slow;
    (void)enter(&now, d, NULL, NULL);
    v->bytes += (double)(now.pages * SGFSI_PAGE);
    for (int64_t i = 0; !now.checked && i < w->n;) {
        block at = next_block(d, w, &i);
        if (at.part->packed == NULL) continue;
        sgfs_status status = at.part->packed->check(at.part, at.chunk, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_pages_rows(sgfsi_pages *v, const sgfs_data *d, const int64_t *row, int64_t n,
                             sgfs_err *err) {
    if (d->table.parts == 0 || n < 1) return SGFS_OK;
    return visit(v, d, &(walk){.row = row, .n = n}, err);
}

void sgfsi_pages_ahead(const sgfs_data *d, const int64_t *row, int64_t n) {
    if (d->table.parts > 0) ask_ahead(d, &(walk){.row = row, .n = n});
}

/* ---- walking --------------------------------------------------------------------------------- */

/* From the block's first row to row to-1 of the table, as far as that is in the same part. */
static byte_range bytes_between(const sgfs_data *d, const block *r, int64_t to) {
    int64_t end = to - r->part->first < r->part->rows ? to - r->part->first : r->part->rows;
    block last = *r;
    last.first = end - 1;
    last.chunk = last.first / r->part->chunk_rows;
    return (byte_range){bytes_of(d, r).from, bytes_of(d, &last).to};
}

/* Where the disk is slow, ask for the next block; give back what lies a block behind. */
static void move_on(sgfsi_pages *v, const sgfs_data *d, int64_t first) {
    int64_t rows = BLOCK_BYTES / d->row_bytes + 1, N = d->N;
    if (first != v->next) v->kept = first;
    if (first != v->next || v->cold == 0) v->asked = first;
    if (v->cold > 0 && v->asked < N && v->asked < first + rows) {
        block r = block_at(d, v->asked);
        int64_t to = v->asked + rows < N ? v->asked + rows : N;
        int64_t end = r.part->first + r.part->rows;
        to = to < end ? to : end;
        advise(r.part, bytes_between(d, &r, to), MADV_WILLNEED);
        v->asked = to;
    }
    if (first - v->kept < rows) return;
    block r = block_at(d, v->kept);
    if (r.part->packed != NULL && share_of(&d->table, r.part) != INT64_MAX)
        advise(r.part, bytes_between(d, &r, first), MADV_DONTNEED);
    int64_t end = r.part->first + r.part->rows;
    v->kept = first < end ? first : end;
}

sgfs_status sgfsi_pages_range(sgfsi_pages *v, const sgfs_data *d, int64_t first, int64_t n,
                              sgfs_err *err) {
    if (d->table.parts == 0 || n < 1) return SGFS_OK;
    if (d->subset == NULL) move_on(v, d, first);
    v->next = first + n;
    return visit(v, d, &(walk){.first = first, .n = n}, err);
}
