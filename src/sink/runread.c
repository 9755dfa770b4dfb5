/* SPDX-License-Identifier: MIT
 * runread.c: the reader of the run file (docs/formats.md), for finished, running and killed runs.
 *
 * A run may have been killed in the middle of a block, so a torn or damaged block at the very end
 * is cut off without a word; what came before is whole. Damage anywhere else is an error: when a
 * block does not check out we look for the head of a later one, and if there is one the file did
 * not simply end there. The search reads the rest once and trusts heads by their own crc.
 *
 * The file may be hostile. No allocation exceeds what the file itself is long; every count is
 * checked against its payload's length before a byte of it is read; chains, names and blocks are
 * checked by sgfsi_draws_new. pread and not mmap: a file cut short while we look at it is an error,
 * not a signal.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/io.h"
#include "sink/runblock.h"
#include "sink/runfile.h"

typedef struct reader {
    int fd;
    const char *path;
    int64_t size, at;     /* bytes in the file; where the next block begins */
    unsigned char *bytes; /* one block's payload and crc */
    size_t room;
    sgfs_draws *d;
    bool ended;       /* an end block was read, and after it nothing but notes */
    sgfsi_scan *scan; /* draws are counted and states listed; NULL: draws are kept */
} reader;

/* What stands at r->at. */
typedef enum found { FOUND_BLOCK, FOUND_DAMAGE, FOUND_ERROR } found;

static sgfs_status fail_damage(const reader *r, const char *what, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE, "%s: damaged at byte %lld: %s.", r->path,
                      (long long)r->at, what);
}

/* Exactly count bytes at a place that lies inside the file as it was when we opened it. */
static sgfs_status read_at(const reader *r, int64_t at, unsigned char *out, size_t count,
                           sgfs_err *err) {
    int error = sgfsi_io_read(r->fd, out, count, at);
    if (error == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EIO, "%s: cannot read: %s.", r->path,
                      error != SGFSI_IO_SHORT ? strerror(error)
                                              : "it became shorter while being read");
}

static sgfs_status make_room(reader *r, size_t wanted, sgfs_err *err) {
    if (wanted <= r->room) return SGFS_OK;
    if (!sgfsi_resize(&r->bytes, (int64_t)wanted, 1)) return sgfsi_fail_memory(err, r->path);
    r->room = wanted;
    return SGFS_OK;
}

/* ---- the head -------------------------------------------------------------------------------- */

static sgfs_status fail_head(const reader *r, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE, "%s: the header of this run file is cut off or damaged.",
                      r->path);
}

static sgfs_status read_head(reader *r, sgfs_err *err) {
    /* what it is, and the JSON text's length, checked against the file */
    unsigned char prefix[SGFSI_RUN_PREFIX];
    sgfs_status status = SGFS_OK;
    if (r->size >= SGFSI_RUN_PREFIX) status = read_at(r, 0, prefix, SGFSI_RUN_PREFIX, err);
    if (status != SGFS_OK) return status;
    if (r->size < SGFSI_RUN_PREFIX || memcmp(prefix, sgfsi_run_magic, 8) != 0)
        return sgfsi_fail(err, SGFS_ERUNFILE, "%s: not a run file of sgfs.", r->path);
    uint32_t version = sgfsi_get_u32(prefix + 8);
    if (version != SGFSI_RUN_VERSION)
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "%s: run file of version %u; this sgfs reads version %d only.", r->path,
                          version, SGFSI_RUN_VERSION);
    size_t length = sgfsi_get_u32(prefix + 12);
    int64_t fits = r->size - SGFSI_RUN_PREFIX - SGFSI_CRC_BYTES;
    if ((int64_t)length > fits || length > SGFSI_RUN_JSON_MAX) return fail_head(r, err);
    /* the text */
    status = make_room(r, length + SGFSI_CRC_BYTES, err);
    if (status != SGFS_OK) return status;
    status = read_at(r, SGFSI_RUN_PREFIX, r->bytes, length + SGFSI_CRC_BYTES, err);
    if (status != SGFS_OK) return status;
    uint32_t crc = sgfsi_crc32(0, prefix, sizeof prefix);
    if (sgfsi_crc32(crc, r->bytes, length) != sgfsi_get_u32(r->bytes + length))
        return fail_head(r, err);
    r->at = SGFSI_RUN_PREFIX + (int64_t)length + SGFSI_CRC_BYTES;
    /* empty draws made from it; whatever is wrong with it is the file's fault */
    sgfs_err why = {SGFS_ERUNFILE, ""};
    sgfsi_json *header = sgfsi_json_parse((const char *)r->bytes, length, "header", &why);
    if (header != NULL) r->d = sgfsi_draws_new(header, &why);
    if (r->d != NULL) return SGFS_OK;
    if (why.code != SGFS_ENOMEM) why.code = SGFS_ERUNFILE;
    return sgfsi_fail(err, why.code, "%s: %.400s", r->path, why.text);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Does the payload's length follow from the rest of the head? NULL: yes; otherwise what is wrong.
 */
static const char *check_block(const reader *r, const sgfsi_block *b) {
    const sgfs_draws *d = r->d;
    assert(d != NULL);
    uint64_t bytes = 0;
    if (b->kind & SGFSI_NOTE) return NULL;
    if (b->chain >= (uint64_t)d->chains) return "a chain that the header does not have";
    switch (b->kind) {
    case SGFSI_BLOCK_DRAWS:
        if (b->count < 1 || b->first != d->chain[b->chain].draws) return "draws out of order";
        if (__builtin_mul_overflow((uint64_t)b->count, (uint64_t)(d->D + d->S) * 8, &bytes))
            return "a count out of range";
        break;
    case SGFSI_BLOCK_INFO: bytes = sgfsi_info_bytes(b->flags, d->D); break;
    case SGFSI_BLOCK_POINTS:
        if (b->count < 1 ||
            __builtin_mul_overflow((uint64_t)b->count, (uint64_t)(SGFSI_POINT * 8), &bytes))
            return "a count out of range";
        break;
    case SGFSI_BLOCK_END:
        if (b->bytes > SGFSI_STATE_MAX) return "a state of more than 1024 bytes";
        bytes = b->bytes;
        break;
    default: return "a block of unknown kind";
    }
    return bytes == b->bytes ? NULL : "a block whose length does not fit its contents";
}

/* Read head, payload and crc at r->at. Damage may still turn out to be only a torn tail. */
static found read_block(reader *r, sgfsi_block *b, sgfs_err *err) {
    unsigned char head[SGFSI_BLOCK_HEAD];
    int64_t left = r->size - r->at - SGFSI_BLOCK_HEAD - SGFSI_CRC_BYTES;
    if (left < 0) return FOUND_DAMAGE;
    if (read_at(r, r->at, head, sizeof head, err) != SGFS_OK) return FOUND_ERROR;
    if (!sgfsi_block_get(head, b) || b->bytes > (uint64_t)left) return FOUND_DAMAGE;
    const char *wrong = check_block(r, b);
    if (wrong != NULL) {
        fail_damage(r, wrong, err);
        return FOUND_ERROR;
    }
    size_t length = (size_t)b->bytes;
    if (b->kind == SGFSI_NOTE_STATE) return FOUND_BLOCK; /* it may be torn, which harms nobody */
    if (make_room(r, length + SGFSI_CRC_BYTES, err) != SGFS_OK ||
        read_at(r, r->at + SGFSI_BLOCK_HEAD, r->bytes, length + SGFSI_CRC_BYTES, err) != SGFS_OK)
        return FOUND_ERROR;
    uint32_t crc = sgfsi_crc32(sgfsi_crc32(0, head, sizeof head), r->bytes, length);
    return crc == sgfsi_get_u32(r->bytes + length) ? FOUND_BLOCK : FOUND_DAMAGE;
}

static sgfs_status take_info(reader *r, const sgfsi_block *b, sgfs_err *err) {
    const unsigned char *in = r->bytes;
    sgfsi_chain_info info = {.iterations = (int64_t)sgfsi_get_u64(in),
                             .rows_touched = (int64_t)sgfsi_get_u64(in + 8),
                             .interventions = (int64_t)sgfsi_get_u64(in + 16)};
    if (info.iterations < 0 || info.rows_touched < 0 || info.interventions < 0)
        return fail_damage(r, "a count below zero", err);
    /* Doubles from here on; which there are is in the flags. */
    double *x = sgfsi_get_doubles(r->bytes + 24, (int64_t)((b->bytes - 24) / 8));
    info.warmup_seconds = x[0];
    info.sample_seconds = x[1];
    x += 2;
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++) {
        int64_t n;
        double **array = sgfsi_info_array(&info, k, r->d->D, &n);
        if (b->flags & 1u << k) *array = x, x += n;
    }
    if (b->flags & SGFSI_INFO_DISK) {
        info.disk_wait = x[0];
        info.disk_bytes = x[1];
        info.disk_faults = x[2];
        x += SGFSI_DISK_NUMBERS;
    }
    if (b->flags & SGFSI_INFO_ANCHORS) {
        if (!(x[0] >= 0 && x[0] < 1e15)) return fail_damage(r, "a count below zero", err);
        info.reanchors = (int64_t)x++[0];
    }
    if (b->flags & SGFSI_INFO_DISPERSION) info.dispersion = x[0];
    return sgfsi_draws_set_info(r->d, b->chain, &info, err);
}

/* Make text the run's state. It is shown on terminals: control characters do not get through. */
static sgfs_status take_state(reader *r, const void *text, size_t length, sgfs_err *err) {
    const unsigned char *from = text;
    char *state = malloc(length + 1);
    if (state == NULL) return sgfsi_fail_memory(err, r->path);
    for (size_t i = 0; i < length; i++) state[i] = from[i] < 0x20 ? '?' : (char)from[i];
    state[length] = '\0';
    free(r->d->state);
    r->d->state = state;
    return SGFS_OK;
}

/* Draws of the effects of groups; the last ones count. */
static sgfs_status take_kept(reader *r, size_t bytes, sgfs_err *err) {
    const unsigned char *at = r->bytes;
    uint64_t count = bytes >= SGFSI_KEPT_HEAD ? sgfsi_get_u64(at) : 0,
             numbers = bytes >= SGFSI_KEPT_HEAD ? sgfsi_get_u64(at + 8) : 0, each, all;
    bool whole = count > 0 && numbers > 0 && !__builtin_mul_overflow(numbers, 4u, &each) &&
                 !__builtin_add_overflow(each, 16u, &each) &&
                 !__builtin_mul_overflow(each, count, &all) && all == bytes - SGFSI_KEPT_HEAD;
    if (!whole) return fail_damage(r, "draws of effects whose length does not fit", err);
    if (r->scan != NULL) return SGFS_OK;
    sgfs_kept_effects k = {.count = (int64_t)count, .numbers = (int64_t)numbers};
    int64_t floats = k.count * k.numbers;
    k.chain = malloc((size_t)k.count * sizeof *k.chain);
    k.draw = malloc((size_t)k.count * sizeof *k.draw);
    k.u = malloc((size_t)floats * sizeof *k.u);
    sgfsi_kept_effects_free(&r->d->effect_draws);
    r->d->effect_draws = k;
    if (k.chain == NULL || k.draw == NULL || k.u == NULL) return sgfsi_fail_memory(err, r->path);
    at += SGFSI_KEPT_HEAD;
    for (int64_t i = 0; i < k.count; i++, at += 16) {
        k.chain[i] = (int64_t)sgfsi_get_u64(at);
        k.draw[i] = (int64_t)sgfsi_get_u64(at + 8);
        bool fits = k.chain[i] >= 0 && k.chain[i] < r->d->chains && k.draw[i] >= 0;
        if (!fits) return fail_damage(r, "effects of a chain that the header does not have", err);
    }
    for (int64_t i = 0; i < floats; i++, at += 4) {
        uint32_t word = sgfsi_get_u32(at);
        memcpy(&k.u[i], &word, sizeof word);
    }
    return SGFS_OK;
}

static sgfs_status take_block(reader *r, const sgfsi_block *b, sgfs_err *err) {
    sgfs_draws *d = r->d;
    if (!(b->kind & SGFSI_NOTE)) r->ended = b->kind == SGFSI_BLOCK_END;
    switch (b->kind) {
    case SGFSI_BLOCK_END: return take_state(r, r->bytes, (size_t)b->bytes, err);
    case SGFSI_BLOCK_INFO: return take_info(r, b, err);
    case SGFSI_BLOCK_POINTS: {
        const double *curve = sgfsi_get_doubles(r->bytes, b->count * SGFSI_POINT);
        return sgfsi_draws_add_points(d, b->chain, b->count, curve, err);
    }
    case SGFSI_BLOCK_DRAWS: {
        if (r->scan != NULL) return d->chain[b->chain].draws += b->count, SGFS_OK;
        const double *theta = sgfsi_get_doubles(r->bytes, b->count * (d->D + d->S));
        return sgfsi_draws_append(d, b->chain, b->count, theta, theta + b->count * d->D, err);
    }
    case SGFSI_NOTE_AUDIT: {
        sgfs_err why = {SGFS_OK, ""};
        sgfsi_json *audit = sgfsi_json_parse((char *)r->bytes, (size_t)b->bytes, "audit", &why);
        if (sgfsi_fail_hard(&why, err) != SGFS_OK) return why.code;
        bool whole = sgfsi_json_is_object(audit);
        sgfsi_json_free(whole ? d->audit : audit);
        if (whole) d->audit = audit; /* the last one counts */
        return whole ? SGFS_OK : fail_damage(r, "an audit that is no JSON object", err);
    }
    case SGFSI_NOTE_EFFECTS: {
        char *text = malloc((size_t)b->bytes + 1);
        if (text == NULL) return sgfsi_fail_memory(err, r->path);
        memcpy(text, r->bytes, (size_t)b->bytes);
        text[b->bytes] = '\0';
        free(d->effects);
        d->effects = text;
        return SGFS_OK;
    }
    case SGFSI_NOTE_KEPT: return take_kept(r, (size_t)b->bytes, err);
    case SGFSI_NOTE_STATE: {
        sgfsi_scan *scan = r->scan;
        if (scan == NULL) return SGFS_OK;
        if (!sgfsi_grow(&scan->state, &scan->room, scan->states + 1, sizeof *scan->state))
            return sgfsi_fail_memory(err, r->path);
        scan->state[scan->states++] = (sgfsi_saved_place){r->at, (int64_t)b->bytes};
        return SGFS_OK;
    }
    default: return SGFS_OK; /* a note of a later sgfs */
    }
}

/* Is there the head of a block anywhere after r->at? One pass in overlapping pieces. */
static sgfs_status find_later(const reader *r, bool *later, sgfs_err *err) {
    enum { PIECE = 1 << 16 };
    unsigned char *piece = malloc(PIECE);
    if (piece == NULL) return sgfsi_fail_memory(err, r->path);
    sgfs_status status = SGFS_OK;
    *later = false;
    for (int64_t at = r->at + 1; at + SGFSI_BLOCK_HEAD <= r->size && !*later;) {
        size_t n = r->size - at < PIECE ? (size_t)(r->size - at) : PIECE;
        status = read_at(r, at, piece, n, err);
        if (status != SGFS_OK) break;
        sgfsi_block b;
        for (size_t i = 0; i + SGFSI_BLOCK_HEAD <= n && !*later; i++)
            *later = sgfsi_block_get(piece + i, &b);
        at += (int64_t)n - SGFSI_BLOCK_HEAD + 1;
    }
    free(piece);
    return status;
}

static sgfs_status read_blocks(reader *r, sgfs_err *err) {
    assert(r->d != NULL); /* the head was read */
    while (r->at < r->size) {
        sgfsi_block b = {0};
        sgfs_err why = {SGFS_OK, ""};
        found what = read_block(r, &b, &why);
        if (what == FOUND_ERROR) return sgfsi_fail(err, why.code, "%s", why.text);
        if (what == FOUND_DAMAGE) {
            bool later = false;
            sgfs_status status = find_later(r, &later, err);
            if (status != SGFS_OK) return status;
            return later ? fail_damage(r, "a block does not match its checksum", err) : SGFS_OK;
        }
        sgfs_status status = take_block(r, &b, err);
        if (status != SGFS_OK) return status;
        r->at += SGFSI_BLOCK_HEAD + (int64_t)b.bytes + SGFSI_CRC_BYTES;
    }
    return SGFS_OK;
}

static sgfs_status open_plain(reader *r, sgfs_err *err) {
    struct stat st;
    r->fd =
        open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* never wait for a pipe's other end */
    if (r->fd < 0 || fstat(r->fd, &st) != 0) return sgfsi_fail_io(err, r->path, "open", errno);
    r->size = (int64_t)st.st_size;
    if (S_ISREG(st.st_mode)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ERUNFILE, "%s: not a run file of sgfs, nor a plain file.", r->path);
}

/* All of what r says. */
static sgfs_draws *read_all(reader r, int64_t limit, int64_t *end, sgfs_err *err) {
    sgfs_status status = open_plain(&r, err);
    if (limit > 0 && limit < r.size) r.size = limit;
    if (status == SGFS_OK) status = read_head(&r, err);
    if (status == SGFS_OK && r.scan != NULL) r.scan->begin = r.at;
    if (status == SGFS_OK) status = read_blocks(&r, err);
    /* Draws may follow an end block (a run taken up again): then the old state no longer holds. */
    if (status == SGFS_OK && !r.ended) status = take_state(&r, "unfinished", 10, err);
    if (r.fd >= 0) close(r.fd);
    free(r.bytes);
    *end = r.at;
    if (status == SGFS_OK) return r.d;
    sgfs_draws_free(r.d);
    return NULL;
}

sgfs_draws *sgfsi_runfile_read_to(const char *path, int64_t *end, sgfs_err *err) {
    return read_all((reader){.fd = -1, .path = path}, 0, end, err);
}

sgfs_draws *sgfsi_runfile_scan(const char *path, int64_t limit, sgfsi_scan *scan, sgfs_err *err) {
    *scan = (sgfsi_scan){0};
    return read_all((reader){.fd = -1, .path = path, .scan = scan}, limit, &scan->end, err);
}

sgfs_draws *sgfsi_runfile_read(const char *path, sgfs_err *err) {
    int64_t end;
    return sgfsi_runfile_read_to(path, &end, err);
}

sgfs_draws *sgfsi_runfile_head(const char *path, sgfs_err *err) {
    reader r = {.fd = -1, .path = path};
    if (open_plain(&r, err) == SGFS_OK) (void)read_head(&r, err);
    if (r.fd >= 0) close(r.fd);
    free(r.bytes);
    return r.d; /* NULL unless all of it was read */
}

sgfs_status sgfsi_runfile_is(const char *path, bool *is, sgfs_err *err) {
    unsigned char magic[8];
    reader r = {.fd = -1, .path = path};
    sgfs_err why = {SGFS_OK, ""};
    *is = open_plain(&r, &why) == SGFS_OK && r.size >= (int64_t)sizeof magic &&
          read_at(&r, 0, magic, sizeof magic, &why) == SGFS_OK &&
          memcmp(magic, sgfsi_run_magic, sizeof magic) == 0;
    if (r.fd >= 0) close(r.fd);
    return sgfsi_fail_hard(&why, err);
}
