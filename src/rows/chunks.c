/* SPDX-License-Identifier: MIT
 * chunks.c: minibatches in chunks: neighbouring rows of a file that was shuffled are as good as
 * rows drawn one by one, and lie on the same page.
 *
 * A part is neighbouring rows shuffled by themselves (a packed file), cut into chunks of c rows;
 * its last chunk has fewer. A block is s <= c rows of one chunk: it starts at a row u drawn
 * uniformly from the part, goes on to the next rows, and at the end of the chunk to its first one
 * (more than once, where the last chunk is shorter than s). Every row of the part is then expected
 * s/N_p times.
 *
 *   one part:      n rows = m blocks of c and one of those left
 *   several parts: each of the n rows draws its part with probability N_p/N, as a single row would;
 *                  the rows of one part are blocks of c and one of those left. However much parts
 *                  differ, the noise from that is the one of single rows.
 *
 * With a_i the times that row i comes in a block, over the permutations of the part
 *     Var(sum a_i g_i) = V(s) S_p,   V(s) = (N_p E sum a_i^2 - s^2)/(N_p - 1),
 * S_p the covariance of the part's scores (divisor N_p). Hence (docs/math.md, section 3)
 *     gamma = 1 + N/n^2 (m V(c) + V(s))                  one part; N/n (N-c)/(N-1) where c
 *                                                        divides N
 *     gamma = 1 + N/n sum_p (N_p/N) V_p(c)/c             several: right to P c/N
 *
 * That is the mean over permutations. A file has one: its chunk means are K = N/c numbers, whose
 * covariance has relative eigenvalues within 1 +- 2 sqrt(D/K). Hence K >= 1000 D here, and
 * K >= 1000 P for what several parts leave out.
 */

#include "rows/batch.h"

/* ---- gamma ----------------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Of n numbers in increasing order, how many are at most `limit`. */
static int64_t first_above(const int64_t *x, int64_t n, int64_t limit) {
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (x[mid] <= limit) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* V(s) of a part of N rows in chunks of c. */
static double block_variance(int64_t N, int64_t c, int64_t s) {
    if (N < 2 || s < 1) return 0;
    int64_t r = N % c;
    double squares = (double)s * (double)(N - r) / (double)N; /* full chunks: each row once */
    if (r > 0) {
        int64_t times = s / r, more = s % r;
        double sum = (double)(r - more) * (double)times * (double)times +
                     (double)more * (double)(times + 1) * (double)(times + 1);
        squares += sum * (double)r / (double)N;
    }
    return ((double)N * squares - (double)s * (double)s) / (double)(N - 1);
}

static double gamma_chunks(const sgfs_urn *urn) {
    int64_t N = urn->N, n = urn->n, c = least(urn->chunk, n);
    double share = 0;
    if (urn->parts == 1) {
        double blocks = (double)(n / c), sum = blocks * block_variance(N, urn->chunk, c);
        sum += block_variance(N, urn->chunk, n % c);
        return 1 + (double)N / ((double)n * (double)n) * sum;
    }
    for (int64_t p = 0; p < urn->parts; p++) {
        int64_t rows = urn->first[p + 1] - urn->first[p];
        share += (double)rows / (double)N * block_variance(rows, urn->chunk, c) / (double)c;
    }
    return 1 + (double)N / (double)n * share;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The block at hand. */
typedef struct block {
    int64_t first, rows; /* its chunk */
    int64_t at, left;    /* next row within the chunk; rows to come */
} block;

static block start_block(const sgfs_urn *urn, int64_t part, int64_t row) {
    int64_t begin = urn->first != NULL ? urn->first[part] : 0;
    int64_t end = urn->first != NULL ? urn->first[part + 1] : urn->N;
    block r = {.first = row - (row - begin) % urn->chunk, .left = urn->chunk};
    r.rows = least(urn->chunk, end - r.first);
    r.at = row - r.first;
    return r;
}

static int64_t next_row(block *r) {
    int64_t row = r->first + r->at;
    r->at = r->at + 1 < r->rows ? r->at + 1 : 0;
    r->left--;
    return row;
}

static int64_t chunks_state(const sgfs_urn *urn) {
    return urn->parts > 1 ? urn->parts : 0;
}

static void draw_chunks(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *row) {
    sgfsi_stream s = sgfsi_stream_when(when);
    int64_t i = 0, blocks = (urn->n + urn->chunk - 1) / urn->chunk;
    if (urn->parts == 1) {                      /* one row for each block is enough */
        int64_t *begin = row + urn->n - blocks; /* at the end, where they are overtaken last */
        sgfsi_indices(&s, blocks, urn->N, begin);
        for (int64_t k = 0; k < blocks; k++) {
            block r = start_block(urn, 0, begin[k]);
            while (r.left > 0 && i < urn->n) row[i++] = next_row(&r);
        }
        return;
    }
    /* Each row draws its part; then, part by part, so that neighbours stay together, its blocks. */
    int64_t *count = state, start;
    sgfsi_indices(&s, urn->n, urn->N, row);
    for (int64_t p = 0; p < urn->parts; p++) count[p] = 0;
    for (int64_t k = 0; k < urn->n; k++) count[first_above(urn->first, urn->parts, row[k]) - 1]++;
    for (int64_t p = 0; p < urn->parts; p++) {
        for (int64_t end = i + count[p]; i < end;) {
            sgfsi_indices(&s, 1, urn->first[p + 1] - urn->first[p], &start);
            block r = start_block(urn, p, urn->first[p] + start);
            while (r.left > 0 && i < end) row[i++] = next_row(&r);
        }
    }
}

const sgfs_scheme_kind sgfs_scheme_chunks = {
    .name = "chunks",
    .help = "neighbouring rows of a shuffled file, with replacement; gamma = 1 + (N/n)(N-c)/(N-1)",
    .gamma = gamma_chunks,
    .state = chunks_state,
    .draw = draw_chunks,
    .shuffled = true,
};

/* ---- how large ------------------------------------------------------------------------------- */

/* A block of so many bytes costs a disk little more than one page; more would not help much. */
enum { CHUNKS_FOR_EACH = 1000, BLOCK_BYTES = 1 << 17 };

/* As large as that, but no larger than it must be for blocks of equal size. */
int64_t sgfsi_chunk_rows(const sgfs_data *d, int64_t n, int64_t D) {
    int64_t parts = d->table.parts > 1 ? d->table.parts : 1;
    int64_t most = d->N / CHUNKS_FOR_EACH / (D > parts ? D : parts);
    if (!d->table.shuffled || d->weight != NULL || d->row_bytes < 1) return 1;
    most = least(most, BLOCK_BYTES / d->row_bytes);
    if (most < 2 || n < 2) return 1;
    for (int64_t i = 1; d->subset != NULL && i < d->N; i++) {
        /* rows of a view that are not in the table's order may have been sorted by what they say */
        if (d->subset[i] <= d->subset[i - 1]) return 1;
    }
    int64_t blocks = (n + most - 1) / most;
    return (n + blocks - 1) / blocks;
}

/* ---- parts ----------------------------------------------------------------------------------- */

sgfs_status sgfsi_chunk_parts(const sgfs_data *d, sgfs_urn *urn, sgfsi_arena *arena,
                              sgfs_err *err) {
    int64_t parts = d->table.parts, count = 0;
    if (parts < 2 || urn->chunk < 2) return SGFS_OK;
    int64_t *first = sgfsi_arena_alloc(arena, parts + 1, sizeof *first);
    if (first == NULL) return sgfsi_fail_memory(err, "a minibatch");
    for (int64_t k = 0; k < parts; k++) {
        int64_t row = d->table.part[k].first; /* of the table; then rows of the data before it */
        if (d->subset != NULL) row = first_above(d->subset, d->N, row - 1);
        if (count > 0 && row == first[count - 1]) count--; /* a view without rows of that part */
        first[count++] = row;
    }
    if (first[count - 1] == d->N) count--;
    first[count] = d->N;
    if (count < 2) return SGFS_OK;
    urn->parts = count;
    urn->first = first;
    return SGFS_OK;
}
