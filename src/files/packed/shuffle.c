/* SPDX-License-Identifier: MIT
 * shuffle.c: a random order of more rows than fit in memory, by two passes over the disk.
 *
 * Row i has a key k_i of 64 random bits, a function of the seed and i (base/rng.h). The order is
 * that of the keys. Keys are independent and alike, so every one of the N! orders is as probable as
 * any other, but for rows with equal keys, which stay in the order in which they came: with
 * probability below N^2/2^65 (3 % at 10^9 rows) there is one such pair.
 *
 *     pass 1   a row goes to the bucket that the first bits of its key say:   b = k >> (64 - bits)
 *     pass 2   each bucket in turn is read, sorted by the other bits, and handed on
 *
 * The first bits of the keys draw a bucket for each row; given those, the other bits are still
 * random and draw the order within each: this is the two-pass shuffle of Rao (1961) and Sandelius
 * (1962), whose Fisher-Yates pass is here the sort. Sorting has the advantage that the result is
 * the same however many buckets there are, and a bucket may be divided again by its next bits. So
 * the order depends on the seed alone, not on the memory, and the estimate of N may be wrong.
 *
 * Memory, of the `memory` given: three quarters are the pool, which holds rows until it is full,
 * and later one bucket at a time with 8 bytes a row to sort them; one quarter are the buffers of
 * the buckets. What fits in the pool never sees the disk. A record is key and row, rec = 8 +
 * row_bytes.
 *
 * Within a bucket of n rows the remaining bits are uniform: n cells of equal width hold one key
 * each on average, so that counting the cells leaves next to nothing for insertion: O(n).
 */
#include "files/packed/shuffle.h"
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/scratch.h"

enum {
    KEYS = 1024, /* drawn at once */
    KEY = 8,     /* bytes */
    KEY_BITS = 64,
    SORT = 8,                /* bytes a row needs to be sorted */
    LEAST_BLOCK = 32 * 1024, /* bytes that are worth a place on the disk */
    MOST_BLOCK = 1024 * 1024,
    STAGE = 256 * 1024, /* bytes handed on at once */
    LEAST_MEMORY = 1024 * 1024,
    LEAST_RECORDS = 32 /* that memory has room for */
};

/* The rows whose keys begin with the same bits. All blocks but the last are full. */
typedef struct bucket {
    int64_t rows, blocks, room;
    int64_t *block;
    int64_t held; /* rows in its buffer */
} bucket;

/* 2^bits buckets, by the bits that follow the first `used`. */
typedef struct level {
    int used, bits;
    bucket *bucket;
    char *buffer; /* 2^bits x block_rows x rec */
} level;

struct sgfsi_shuffle {
    int64_t row_bytes, rec;
    uint64_t seed;
    char *beside;
    int64_t rows;           /* taken so far */
    uint64_t key[KEYS];     /* of the KEYS rows around the last one */
    char *pool;             /* most x rec */
    uint32_t *cell, *order; /* most + 1, most */
    int64_t held, most;     /* rows in the pool, and that it has room for */
    char *stage;            /* STAGE bytes or one row */
    int64_t buffers;        /* bytes */
    int64_t block_rows;
    level *top; /* NULL: all rows are in the pool */
    sgfsi_scratch scratch;
    double spilled;
    sgfsi_shuffle_take take; /* while it is drained */
    void *user;
};

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t key_of(const char *record) {
    uint64_t key;
    memcpy(&key, record, KEY);
    return key;
}

static void fill_record(const sgfsi_shuffle *s, char *record, uint64_t key, const void *row) {
    memcpy(record, &key, KEY);
    memcpy(record + KEY, row, (size_t)s->row_bytes);
}

/* ---- the pool: sorted and handed on ---------------------------------------------------------- */

/* order[0..held): the records by key, whose first `used` bits are the same. */
static void sort_pool(const sgfsi_shuffle *s, int used) {
    int64_t n = s->held;
    memset(s->cell, 0, (size_t)(n + 1) * sizeof *s->cell);
    for (int64_t i = 0; i < n; i++)
        s->cell[sgfsi_word_index(key_of(s->pool + i * s->rec) << used, n) + 1]++;
    for (int64_t c = 0; c < n; c++) s->cell[c + 1] += s->cell[c];
    for (int64_t i = 0; i < n; i++) {
        int64_t c = sgfsi_word_index(key_of(s->pool + i * s->rec) << used, n);
        s->order[s->cell[c]++] = (uint32_t)i;
    }
    /* cells are in order now; equal keys stay as they are */
    for (int64_t i = 1; i < n; i++) {
        uint32_t it = s->order[i];
        uint64_t key = key_of(s->pool + it * s->rec);
        int64_t at = i;
        for (; at > 0 && key_of(s->pool + s->order[at - 1] * s->rec) > key; at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = it;
    }
}

static sgfs_status drain_pool(sgfsi_shuffle *s, int used, sgfs_err *err) {
    int64_t most = STAGE > s->row_bytes ? STAGE / s->row_bytes : 1;
    sgfs_status status = SGFS_OK;
    sort_pool(s, used);
    for (int64_t first = 0; first < s->held && status == SGFS_OK; first += most) {
        int64_t n = s->held - first < most ? s->held - first : most;
        for (int64_t i = 0; i < n; i++) {
            const char *record = s->pool + s->order[first + i] * s->rec;
            memcpy(s->stage + i * s->row_bytes, record + KEY, (size_t)s->row_bytes);
        }
        status = s->take(s->user, n, s->stage, err);
    }
    s->held = 0;
    return status;
}

/* ---- buckets --------------------------------------------------------------------------------- */

static void level_free(level *l) {
    for (int64_t b = 0; l != NULL && l->bucket != NULL && b < (int64_t)1 << l->bits; b++)
        free(l->bucket[b].block);
    if (l != NULL) free(l->bucket);
    if (l != NULL) free(l->buffer);
    free(l);
}

static level *level_new(const sgfsi_shuffle *s, int used, int bits, sgfs_err *err) {
    level *l = calloc(1, sizeof *l);
    size_t count = (size_t)1 << bits;
    if (l != NULL) {
        *l = (level){.used = used, .bits = bits};
        l->bucket = calloc(count, sizeof *l->bucket);
        l->buffer = malloc(count * (size_t)(s->block_rows * s->rec));
    }
    if (l != NULL && l->bucket != NULL && l->buffer != NULL) return l;
    level_free(l);
    return sgfsi_fail_memory(err, "the buckets; less --memory needs less"), NULL;
}

/* Write a bucket's buffer to the disk. */
static sgfs_status flush(sgfsi_shuffle *s, level *l, int64_t index, sgfs_err *err) {
    bucket *b = &l->bucket[index];
    if (b->held == 0) return SGFS_OK;
    if (!sgfsi_grow(&b->block, &b->room, b->blocks + 1, sizeof *b->block))
        return sgfsi_fail_memory(err, "the list of temporary blocks");
    const char *from = l->buffer + index * s->block_rows * s->rec;
    sgfs_status status =
        sgfsi_scratch_put(&s->scratch, b->held * s->rec, from, &b->block[b->blocks], err);
    if (status != SGFS_OK) return status;
    s->spilled += (double)(b->held * s->rec);
    b->blocks++;
    b->held = 0;
    return SGFS_OK;
}

/* One record more in the bucket of key, which is flushed when it is full, so that there always is
 * room. */
static sgfs_status put_record(sgfsi_shuffle *s, level *l, uint64_t key, const void *row,
                              sgfs_err *err) {
    int64_t index = (int64_t)(key << l->used >> (KEY_BITS - l->bits));
    bucket *b = &l->bucket[index];
    b->rows++;
    fill_record(s, l->buffer + (index * s->block_rows + b->held++) * s->rec, key, row);
    return b->held == s->block_rows ? flush(s, l, index, err) : SGFS_OK;
}

static sgfs_status divide(sgfsi_shuffle *s, level *l, int64_t n, const char *records,
                          sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < n && status == SGFS_OK; i++, records += s->rec)
        status = put_record(s, l, key_of(records), records + KEY, err);
    return status;
}

/* ---- from the pool to the disk --------------------------------------------------------------- */

/* Bits so that a bucket of `rows` falls into parts that fit in the pool with a quarter to spare, as
 * far as there is room for `most` buffers. */
static int bits_for(const sgfsi_shuffle *s, double rows, int64_t most) {
    int bits = 1;
    while (((int64_t)2 << bits) <= most && rows * 1.25 > (double)s->most * (double)(1 << bits))
        bits++;
    return bits;
}

/* The pool is full: from now on rows go to buckets. */
static sgfs_status spill(sgfsi_shuffle *s, double expected, sgfs_err *err) {
    char need[24], have[24];
    double rows = expected > (double)s->rows ? expected : (double)s->rows;
    int64_t least = s->rec > LEAST_BLOCK ? s->rec : LEAST_BLOCK;
    int bits = bits_for(s, rows, s->buffers / least);
    int64_t bytes = s->buffers >> bits;
    s->block_rows = (bytes < MOST_BLOCK ? bytes : MOST_BLOCK) / s->rec;
    if (s->block_rows > s->most) s->block_rows = s->most;
    sgfs_status status = sgfsi_scratch_open(&s->scratch, s->beside, s->block_rows * s->rec, err);
    if (status != SGFS_OK) return status;
    double want = rows * (double)(s->row_bytes + KEY), there = sgfsi_free_bytes(s->beside);
    if (!s->scratch.shrinks) want += rows * (double)s->row_bytes;
    if (there >= 0 && want > there) {
        return sgfsi_fail(
            err, SGFS_EIO,
            "Shuffling needs about %s of temporary space in %s, where %s are free: make "
            "room, write the result to another disk, or (if the rows fit there) give more "
            "--memory.",
            sgfsi_format_bytes(want, need), s->scratch.folder, sgfsi_format_bytes(there, have));
    }
    s->top = level_new(s, 0, bits, err);
    if (s->top == NULL) return SGFS_ENOMEM;
    status = divide(s, s->top, s->held, s->pool, err);
    s->held = 0;
    return status;
}

/* ---- from the disk to the pool --------------------------------------------------------------- */

/* Block k of the bucket to `to`; it leaves the disk. *n: its rows. */
static sgfs_status fetch(sgfsi_shuffle *s, const bucket *b, int64_t k, char *to, int64_t *n,
                         sgfs_err *err) {
    *n = k + 1 < b->blocks ? s->block_rows : b->rows - k * s->block_rows;
    sgfs_status status = sgfsi_scratch_get(&s->scratch, b->block[k], *n * s->rec, to, err);
    return status == SGFS_OK ? sgfsi_scratch_drop(&s->scratch, b->block[k], err) : status;
}

static sgfs_status drain_level(sgfsi_shuffle *s, level *l, sgfs_err *err);

/* More rows than the pool has room for: divide them by their next bits. The pool is free, and
 * serves for reading. */
static sgfs_status drain_large(sgfsi_shuffle *s, const bucket *b, int used, sgfs_err *err) {
    int64_t buffer = s->block_rows * s->rec;
    int bits = bits_for(s, (double)b->rows, s->buffers / buffer);
    if (used + bits > KEY_BITS - 2)
        return sgfsi_fail(err, SGFS_EINTERNAL, "Random keys of rows are all alike.");
    level *l = level_new(s, used, bits, err);
    if (l == NULL) return SGFS_ENOMEM;
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0, n = 0; k < b->blocks && status == SGFS_OK; k++) {
        status = fetch(s, b, k, s->pool, &n, err);
        if (status == SGFS_OK) status = divide(s, l, n, s->pool, err);
        if (status == SGFS_OK) status = s->take(s->user, 0, NULL, err);
    }
    if (status == SGFS_OK) status = drain_level(s, l, err);
    level_free(l);
    return status;
}

static sgfs_status drain_level(sgfsi_shuffle *s, level *l, sgfs_err *err) {
    const int64_t buckets = (int64_t)1 << l->bits;
    int used = l->used + l->bits;
    sgfs_status status = SGFS_OK;
    for (int64_t b = 0; b < buckets && status == SGFS_OK; b++) status = flush(s, l, b, err);
    free(l->buffer); /* not needed any more */
    l->buffer = NULL;
    for (bucket *b = l->bucket; b < l->bucket + buckets && status == SGFS_OK; b++) {
        bool large = b->rows > s->most;
        for (int64_t k = 0, n = 0; !large && k < b->blocks && status == SGFS_OK; k++) {
            status = fetch(s, b, k, s->pool + s->held * s->rec, &n, err);
            s->held += n;
        }
        if (status == SGFS_OK)
            status = large ? drain_large(s, b, used, err) : drain_pool(s, used, err);
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int64_t sgfsi_shuffle_least(int64_t row_bytes) {
    int64_t least = 4 * LEAST_RECORDS * (row_bytes + KEY + SORT);
    return least > LEAST_MEMORY ? least : LEAST_MEMORY;
}

sgfs_status sgfsi_shuffle_open(sgfsi_shuffle **out, const sgfsi_shuffle_plan *plan, sgfs_err *err) {
    assert(plan->row_bytes > 0 && plan->memory >= sgfsi_shuffle_least(plan->row_bytes));
    sgfsi_shuffle *s = *out = calloc(1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the shuffle");
    s->row_bytes = plan->row_bytes;
    s->rec = plan->row_bytes + KEY;
    s->seed = plan->seed;
    s->beside = strdup(plan->beside);
    int64_t stage = STAGE > s->row_bytes ? STAGE : s->row_bytes;
    int64_t pool = plan->memory / 4 * 3 - stage;
    s->buffers = plan->memory / 4;
    s->most = pool / (s->rec + SORT);
    if (s->most > UINT32_MAX - 1) s->most = UINT32_MAX - 1;
    if (plan->at_once > 0 && s->most > plan->at_once) s->most = plan->at_once;
    s->stage = malloc((size_t)stage);
    s->pool = malloc((size_t)(s->most * s->rec));
    s->cell = malloc((size_t)(s->most + 1) * sizeof *s->cell);
    s->order = malloc((size_t)s->most * sizeof *s->order);
    if (s->beside != NULL && s->stage != NULL && s->pool != NULL && s->cell != NULL &&
        s->order != NULL)
        return SGFS_OK;
    const char *what =
        s->beside != NULL ? "the rows to shuffle; give less --memory" : "the shuffle";
    sgfsi_shuffle_free(s);
    *out = NULL;
    return sgfsi_fail_memory(err, what);
}

sgfs_status sgfsi_shuffle_add(sgfsi_shuffle *s, int64_t n, const void *rows, double expected,
                              sgfs_err *err) {
    const char *row = rows;
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < n && status == SGFS_OK; i++, row += s->row_bytes) {
        if (s->top == NULL && s->held == s->most) status = spill(s, expected, err);
        if (status != SGFS_OK) return status;
        if (s->rows % KEYS == 0) {
            sgfsi_stream stream = sgfsi_stream_at(s->seed, 0, s->rows / KEYS, SGFSI_SHUFFLE);
            sgfsi_words(&stream, KEYS, s->key);
        }
        uint64_t key = s->key[s->rows++ % KEYS];
        if (s->top == NULL) {
            fill_record(s, s->pool + s->held++ * s->rec, key, row);
            continue;
        }
        status = put_record(s, s->top, key, row, err);
    }
    return status;
}

sgfs_status sgfsi_shuffle_drain(sgfsi_shuffle *s, sgfsi_shuffle_take take, void *user,
                                sgfs_err *err) {
    s->take = take;
    s->user = user;
    if (s->top == NULL) return drain_pool(s, 0, err);
    sgfs_status status = drain_level(s, s->top, err);
    level_free(s->top);
    s->top = NULL;
    return status;
}

double sgfsi_shuffle_spilled(const sgfsi_shuffle *s) {
    return s->spilled;
}

void sgfsi_shuffle_free(sgfsi_shuffle *s) {
    if (s == NULL) return;
    level_free(s->top);
    sgfsi_scratch_close(&s->scratch);
    free(s->beside);
    free(s->pool);
    free(s->cell);
    free(s->order);
    free(s->stage);
    free(s);
}
