/* SPDX-License-Identifier: MIT
 * runfile.c: the writer of the run file, an append-only log of draws (docs/formats.md).
 *
 * The promises, and where they are kept:
 *   - Killed at any moment, the file holds every block written before: a block is put together in
 *     memory and appended by one loop of writes; bytes already there are never touched again.
 *   - A full disk leaves whole blocks only: a write that fails is cut back (end_block), and the
 *     caller is told how many draws are safe.
 *   - Overwriting destroys nothing early: the new file begins as path.tmp and takes the old one's
 *     place when its header is on the disk. The same descriptor then goes on.
 *   - Two writers never meet: an exclusive flock is held on path.tmp and, after the rename, still
 *     on the same file under its final name. Whoever comes second is refused at once.
 *   - What is written can be read: the header passes through the reader's own checks first, and
 *     each chain's blocks must follow each other without a gap.
 *
 * Not here: reading (runread.c), states and the order of a complete file (runstate.c), deciding
 * when to write (the run), fsync per block (a power cut may cost what came after the last state; a
 * killed process costs nothing).
 */
#include "sink/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/io.h"
#include "sink/runwriter.h"

/* ---- appending ------------------------------------------------------------------------------- */

static sgfs_status fail_write(const sgfsi_runfile *f, int error, sgfs_err *err) {
    int64_t kept = 0;
    for (int64_t c = 0; c < f->chains; c++) kept += f->next[c];
    return sgfsi_fail(
        err, SGFS_EIO,
        "%s: cannot write: %s; the file ends at its last whole block and keeps %lld draws.",
        f->path, strerror(error), (long long)kept);
}

/* Lock the file and find room for a block; where its payload goes, or NULL. end_block or unlock
 * must follow. */
static unsigned char *begin_block(sgfsi_runfile *f, const sgfsi_block *block, const char *what,
                                  sgfs_err *err) {
    size_t wanted;
    bool fits = !__builtin_add_overflow(block->bytes, SGFSI_BLOCK_HEAD + SGFSI_CRC_BYTES, &wanted);
    pthread_mutex_lock(&f->lock);
    if (fits && wanted > f->room) {
        fits = sgfsi_resize(&f->bytes, (int64_t)wanted, 1);
        if (fits) f->room = wanted;
    }
    if (fits) return f->bytes + SGFSI_BLOCK_HEAD;
    pthread_mutex_unlock(&f->lock);
    sgfsi_fail_memory(err, what);
    return NULL;
}

/* The payload stands in f->bytes: append all of the block, or leave the file as it was. */
static sgfs_status end_block(sgfsi_runfile *f, const sgfsi_block *block, sgfs_err *err) {
    size_t whole = sgfsi_block_seal(f->bytes, block);
    sgfs_status status = SGFS_OK;
    int error = sgfsi_io_write(f->fd, f->bytes, whole, f->size);
    if (error == 0) {
        f->size += (int64_t)whole;
        if (block->kind == SGFSI_BLOCK_DRAWS) f->next[block->chain] += block->count;
    } else {
        /* Should this fail, too: the reader cuts the torn block off by itself. */
        (void)sgfsi_io_truncate(f->fd, f->size);
        status = fail_write(f, error, err);
        f->failed = true;
    }
    pthread_mutex_unlock(&f->lock);
    return status;
}

sgfs_status sgfsi_runfile_draws(sgfsi_runfile *f, int64_t chain, int64_t first, int64_t count,
                                const double *theta, const double *stats, sgfs_err *err) {
    if (chain < 0 || chain >= f->chains || count < 0)
        return sgfsi_fail(err, SGFS_EINTERNAL, "%s: draws for chain %lld of %lld.", f->path,
                          (long long)chain, (long long)f->chains);
    if (count == 0) return SGFS_OK;
    /* A block: theta of all draws, then their statistics. */
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)count, (uint64_t)(f->D + f->S) * 8, &bytes))
        return sgfsi_fail_memory(err, "a block of draws");
    sgfsi_block block = {SGFSI_BLOCK_DRAWS, (uint32_t)chain, 0, first, count, bytes};
    unsigned char *out = begin_block(f, &block, "a block of draws", err);
    if (out == NULL) return SGFS_ENOMEM;
    if (first != f->next[chain]) {
        int64_t next = f->next[chain];
        pthread_mutex_unlock(&f->lock);
        return sgfsi_fail(err, SGFS_EINTERNAL, "%s: draw %lld of chain %lld came after %lld draws.",
                          f->path, (long long)first, (long long)chain, (long long)next);
    }
    out = sgfsi_put_doubles(out, theta, count * f->D);
    if (f->S > 0) sgfsi_put_doubles(out, stats, count * f->S);
    return end_block(f, &block, err);
}

sgfs_status sgfsi_runfile_info(sgfsi_runfile *f, int64_t chain, const sgfsi_chain_info *info,
                               sgfs_err *err) {
    if (chain < 0 || chain >= f->chains)
        return sgfsi_fail(err, SGFS_EINTERNAL, "%s: moments for chain %lld of %lld.", f->path,
                          (long long)chain, (long long)f->chains);
    /* what there is of it: arrays, and numbers that older files do not have */
    sgfsi_chain_info all = *info;
    sgfsi_block block = {SGFSI_BLOCK_INFO, (uint32_t)chain, 0, 0, 0, 0};
    int64_t n;
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++)
        if (*sgfsi_info_array(&all, k, f->D, &n) != NULL) block.flags |= 1u << k;
    if (info->disk_bytes > 0) block.flags |= SGFSI_INFO_DISK;
    if (info->reanchors > 0) block.flags |= SGFSI_INFO_ANCHORS;
    if (info->dispersion > 0) block.flags |= SGFSI_INFO_DISPERSION;
    block.bytes = sgfsi_info_bytes(block.flags, f->D);
    unsigned char *out = begin_block(f, &block, "the moments of a chain", err);
    if (out == NULL) return SGFS_ENOMEM;
    /* what it says */
    const double seconds[2] = {info->warmup_seconds, info->sample_seconds};
    const double disk[SGFSI_DISK_NUMBERS] = {info->disk_wait, info->disk_bytes, info->disk_faults};
    const double anchors = (double)info->reanchors;
    sgfsi_put_u64(out, (uint64_t)info->iterations);
    sgfsi_put_u64(out + 8, (uint64_t)info->rows_touched);
    sgfsi_put_u64(out + 16, (uint64_t)info->interventions);
    out = sgfsi_put_doubles(out + 24, seconds, 2);
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++) {
        const double *x = *sgfsi_info_array(&all, k, f->D, &n);
        if (x != NULL) out = sgfsi_put_doubles(out, x, n);
    }
    if (info->disk_bytes > 0) out = sgfsi_put_doubles(out, disk, SGFSI_DISK_NUMBERS);
    if (info->reanchors > 0) out = sgfsi_put_doubles(out, &anchors, 1);
    if (info->dispersion > 0) sgfsi_put_doubles(out, &info->dispersion, 1);
    return end_block(f, &block, err);
}

sgfs_status sgfsi_runfile_points(sgfsi_runfile *f, int64_t chain, int64_t count,
                                 const double *curve, sgfs_err *err) {
    uint64_t bytes = (uint64_t)(count * SGFSI_POINT) * 8;
    sgfsi_block block = {SGFSI_BLOCK_POINTS, (uint32_t)chain, 0, 0, count, bytes};
    if (count < 1) return SGFS_OK;
    unsigned char *out = begin_block(f, &block, "the validation curve", err);
    if (out == NULL) return SGFS_ENOMEM;
    sgfsi_put_doubles(out, curve, count * SGFSI_POINT);
    return end_block(f, &block, err);
}

sgfs_status sgfsi_runfile_effects(sgfsi_runfile *f, const char *json, sgfs_err *err) {
    sgfsi_block block = {SGFSI_NOTE_EFFECTS, 0, 0, 0, 0, strlen(json)};
    unsigned char *out = begin_block(f, &block, "the effects of groups", err);
    if (out == NULL) return SGFS_ENOMEM;
    memcpy(out, json, (size_t)block.bytes);
    return end_block(f, &block, err);
}

sgfs_status sgfsi_runfile_kept(sgfsi_runfile *f, const sgfs_kept_effects *kept, sgfs_err *err) {
    const int64_t floats = kept->count * kept->numbers;
    const uint64_t bytes = SGFSI_KEPT_HEAD + 16 * (uint64_t)kept->count + 4 * (uint64_t)floats;
    sgfsi_block block = {SGFSI_NOTE_KEPT, 0, 0, 0, 0, bytes};
    unsigned char *at = begin_block(f, &block, "draws of the effects of groups", err);
    if (at == NULL) return SGFS_ENOMEM;
    sgfsi_put_u64(at, (uint64_t)kept->count);
    sgfsi_put_u64(at + 8, (uint64_t)kept->numbers);
    at += SGFSI_KEPT_HEAD;
    for (int64_t i = 0; i < kept->count; i++, at += 16) {
        sgfsi_put_u64(at, (uint64_t)kept->chain[i]);
        sgfsi_put_u64(at + 8, (uint64_t)kept->draw[i]);
    }
    for (int64_t i = 0; i < floats; i++, at += 4) {
        uint32_t word;
        memcpy(&word, &kept->u[i], sizeof word);
        sgfsi_put_u32(at, word);
    }
    return end_block(f, &block, err);
}

sgfs_status sgfsi_runfile_end(sgfsi_runfile *f, const char *state, sgfs_err *err) {
    size_t length = strnlen(state, SGFSI_STATE_MAX);
    sgfsi_block block = {SGFSI_BLOCK_END, 0, 0, 0, 0, length};
    unsigned char *out = begin_block(f, &block, "the end of a run file", err);
    if (out == NULL) return SGFS_ENOMEM;
    memcpy(out, state, length);
    return end_block(f, &block, err);
}

/* ---- creating -------------------------------------------------------------------------------- */

static sgfs_status fail_create(const char *path, int error, sgfs_err *err) {
    return sgfsi_fail_io(err, path, "write there", error);
}

static sgfs_status fail_busy(const char *path, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EIO,
                      "%s: another process is writing this run; choose another name.", path);
}

/* An exclusive lock at once or not at all. */
sgfs_status sgfsi_runwriter_lock(int fd, const char *path, bool *busy, sgfs_err *err) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return SGFS_OK;
    *busy = errno == EWOULDBLOCK;
    if (*busy) return fail_busy(path, err);
    return sgfsi_fail(err, SGFS_EIO, "%s: cannot lock: %s; write the run to a local folder.", path,
                      strerror(errno));
}

/* path.tmp, ours alone. A stale one of a killed process is taken over; one that was renamed away
 * between our open and our lock belongs to a writer who was faster. What we made and cannot use is
 * removed. */
sgfs_status sgfsi_runwriter_temp(sgfsi_runfile *f, sgfs_err *err) {
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    f->fd = open(f->temp, flags | O_CREAT | O_EXCL, 0666);
    bool made = f->fd >= 0, busy = false;
    if (!made && errno == EEXIST) f->fd = open(f->temp, flags | O_CREAT, 0666);
    if (f->fd < 0) return fail_create(f->path, errno, err);
    sgfs_status status = sgfsi_runwriter_lock(f->fd, f->path, &busy, err);
    struct stat ours, named;
    int error = 0;
    if (status == SGFS_OK && (fstat(f->fd, &ours) != 0 || lstat(f->temp, &named) != 0))
        error = errno;
    else if (status == SGFS_OK && (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev))
        busy = true;
    else if (status == SGFS_OK)
        error = S_ISREG(ours.st_mode) ? sgfsi_io_truncate(f->fd, 0) : EINVAL;
    if (status == SGFS_OK && busy) status = fail_busy(f->path, err);
    if (status == SGFS_OK && error != 0) status = fail_create(f->path, error, err);
    if (status == SGFS_OK) return SGFS_OK;
    if (made && !busy) unlink(f->temp);
    close(f->fd);
    f->fd = -1;
    return status;
}

sgfs_status sgfsi_runwriter_head(sgfsi_runfile *f, const char *json, size_t length, sgfs_err *err) {
    size_t covered = SGFSI_RUN_PREFIX + length;
    if (length > SGFSI_RUN_JSON_MAX)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: the header is too long.", f->path);
    unsigned char *bytes = malloc(covered + SGFSI_CRC_BYTES);
    if (bytes == NULL) return sgfsi_fail_memory(err, "the run's header");
    memcpy(bytes, sgfsi_run_magic, 8);
    sgfsi_put_u32(bytes + 8, SGFSI_RUN_VERSION);
    sgfsi_put_u32(bytes + 12, (uint32_t)length);
    memcpy(bytes + SGFSI_RUN_PREFIX, json, length);
    sgfsi_put_u32(bytes + covered, sgfsi_crc32(0, bytes, covered));
    int error = sgfsi_io_write(f->fd, bytes, covered + SGFSI_CRC_BYTES, 0);
    if (error == 0) error = sgfsi_io_sync(f->fd);
    free(bytes);
    if (error != 0) return fail_create(f->path, error, err);
    f->size = (int64_t)(covered + SGFSI_CRC_BYTES);
    return SGFS_OK;
}

/* Give the file its name. Without overwrite a link is made, because unlike a rename it never
 * replaces a file that appeared meanwhile; file systems without links get the rename. */
static sgfs_status take_name(sgfsi_runfile *f, bool overwrite, sgfs_err *err) {
    if (!overwrite) {
        if (link(f->temp, f->path) == 0)
            return unlink(f->temp) == 0 ? SGFS_OK : fail_create(f->temp, errno, err);
        if (errno == EEXIST) return sgfsi_fail_exists(f->path, err);
    }
    int old = overwrite ? open(f->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
    bool busy;
    sgfs_status status = old >= 0 ? sgfsi_runwriter_lock(old, f->path, &busy, err) : SGFS_OK;
    int error = status == SGFS_OK ? sgfsi_io_rename(f->temp, f->path) : 0;
    if (error != 0) status = fail_create(f->path, error, err);
    if (old >= 0) close(old);
    return status;
}

/* Sizes from the header, by way of the reader's checks: we never write what we could not read. */
static sgfs_status take_shape(sgfsi_runfile *f, const char *json, sgfs_err *err) {
    sgfs_err why = {SGFS_OK, ""};
    sgfsi_json *copy = sgfsi_json_parse(json, strlen(json), "run header", &why);
    sgfs_draws *d = copy == NULL ? NULL : sgfsi_draws_new(copy, &why);
    if (d == NULL) return sgfsi_fail(err, why.code, "%s", why.text);
    f->chains = d->chains;
    f->D = d->D;
    f->S = d->S;
    sgfs_draws_free(d);
    f->next = calloc(2 * (size_t)f->chains, sizeof *f->next);
    return f->next != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a run file");
}

void sgfsi_runwriter_forget(sgfsi_runfile *f) {
    pthread_mutex_destroy(&f->lock);
    free(f->path);
    free(f->temp);
    free(f->next);
    free(f->bytes);
    free(f);
}

sgfsi_runfile *sgfsi_runwriter_new(const char *path, sgfs_err *err) {
    size_t room = strlen(path) + sizeof ".tmp";
    sgfsi_runfile *f = calloc(1, sizeof *f);
    if (f == NULL) return sgfsi_fail_memory(err, "a run file"), NULL;
    f->fd = f->log = -1;
    f->path = strdup(path);
    f->temp = malloc(room);
    pthread_mutex_init(&f->lock, NULL);
    if (f->path != NULL && f->temp != NULL) {
        snprintf(f->temp, room, "%s.tmp", path);
        return f;
    }
    sgfsi_runwriter_forget(f);
    sgfsi_fail_memory(err, "a run file");
    return NULL;
}

sgfsi_runfile *sgfsi_runfile_create(const char *path, bool overwrite, const sgfsi_json *header,
                                    sgfs_err *err) {
    if (sgfsi_outfile_check(path, overwrite, err) != SGFS_OK) return NULL;
    /* The header passes through the reader first; then path.tmp, the lock, and the name. */
    sgfsi_runfile *f = sgfsi_runwriter_new(path, err);
    if (f == NULL) return NULL;
    char *json = sgfsi_json_dump(header, false);
    sgfs_status status = json != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a run file");
    if (status == SGFS_OK) status = take_shape(f, json, err);
    if (status == SGFS_OK) status = sgfsi_runwriter_temp(f, err);
    if (status == SGFS_OK) {
        status = sgfsi_runwriter_head(f, json, strlen(json), err);
        if (status == SGFS_OK) status = take_name(f, overwrite, err);
        f->kept = f->size;
        if (status == SGFS_OK) sgfsi_sync_folder(f->path);
        else unlink(f->temp); /* while the lock is still ours */
    }
    free(json);
    if (status == SGFS_OK) return f;
    if (f->fd >= 0) close(f->fd);
    sgfsi_runwriter_forget(f);
    return NULL;
}

sgfs_status sgfsi_runfile_close(sgfsi_runfile *f, sgfs_err *err) {
    if (f == NULL) return SGFS_OK;
    sgfs_status status = f->log >= 0 ? sgfsi_runwriter_commit(f, err) : SGFS_OK;
    int error = sgfsi_io_sync(f->fd);
    if (close(f->fd) != 0 && error == 0) error = errno;
    if (status == SGFS_OK && error != 0) status = fail_write(f, error, err);
    sgfsi_runwriter_forget(f);
    return status;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* A note is appended to a finished file: what was found out about the run later.
 *
 *     head, draws, info, end | note | note ...
 *
 * Nothing that is there is touched but the torn end that a killed process left, which no reader
 * counts and behind which a block would look like damage. The note goes to the disk before anybody
 * is told that it is there; killed in the middle of it, the file has a torn end again and all of
 * its draws. A run that is still being written is locked by its writer and refused. */
static sgfs_status fail_note(const char *path, int error, sgfs_err *err) {
    return sgfsi_fail_io(err, path, "write", error);
}

sgfs_status sgfsi_runfile_note(const char *path, uint32_t kind, const char *json, sgfs_err *err) {
    const sgfsi_block block = {kind, 0, 0, 0, 0, strlen(json)};
    unsigned char *bytes = malloc(SGFSI_BLOCK_HEAD + (size_t)block.bytes + SGFSI_CRC_BYTES);
    if (bytes == NULL) return sgfsi_fail_memory(err, "a note");
    memcpy(bytes + SGFSI_BLOCK_HEAD, json, (size_t)block.bytes);
    size_t whole = sgfsi_block_seal(bytes, &block);
    int64_t end = 0;
    struct stat st = {0};
    sgfs_status status = SGFS_OK;
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) status = fail_note(path, errno, err);
    /* Root may write to files that nobody is meant to write to: the mode is asked, too. */
    else if ((st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0)
        status = fail_note(path, EACCES, err);
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        status = errno != EWOULDBLOCK
                     ? fail_note(path, errno, err)
                     : sgfsi_fail(err, SGFS_EIO, "%s: another process is writing this run.", path);
    if (status == SGFS_OK) {
        sgfs_err why = {SGFS_ERUNFILE, ""};
        sgfs_draws *d = sgfsi_runfile_read_to(path, &end, &why);
        if (d == NULL) status = sgfsi_fail(err, why.code, "%s", why.text);
        sgfs_draws_free(d);
    }
    if (status == SGFS_OK) {
        int error = sgfsi_io_truncate(fd, end);
        if (error == 0) error = sgfsi_io_write(fd, bytes, whole, end);
        if (error == 0) error = sgfsi_io_sync(fd);
        /* Should this fail, too: the reader cuts the torn note off by itself. */
        if (error != 0) (void)sgfsi_io_truncate(fd, end);
        if (error != 0) status = fail_note(path, error, err);
    }
    if (fd >= 0) close(fd);
    free(bytes);
    return status;
}
