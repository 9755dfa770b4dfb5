/* SPDX-License-Identifier: MIT
 * scratch.c: blocks in a file without a name.
 *
 * Whatever happens to the process, nothing is left of the file, which never has a name or loses it
 * at once. It lies beside the result, since that is where the user has room. Blocks are appended as
 * they come, so that writing is sequential whichever bucket a block belongs to. Those dropped are
 * used again, and their space goes back to the disk where the file system can punch holes: rows
 * that move from here to the result then need room once, not twice.
 */
#ifdef __linux__
#define _GNU_SOURCE /* fallocate */
#endif
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h> /* FALLOC_FL_PUNCH_HOLE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/io.h"

enum { PAGE = 4096 };

/* ---- folders and sizes ----------------------------------------------------------------------- */

static double free_in(const char *folder) {
    struct statvfs v;
    if (statvfs(folder, &v) != 0) return -1;
    return (double)v.f_bavail * (double)v.f_frsize;
}

double sgfsi_free_bytes(const char *path) {
    char *folder = sgfsi_io_folder(path);
    double bytes = folder != NULL ? free_in(folder) : -1;
    free(folder);
    return bytes;
}

const char *sgfsi_format_bytes(double bytes, char out[24]) {
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    int k = 0;
    while (bytes >= 999.5 && k < 5) {
        bytes /= 1000;
        k++;
    }
    snprintf(out, 24, k == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, unit[k]);
    return out;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool punch(int fd, int64_t offset, int64_t bytes) {
#ifdef FALLOC_FL_PUNCH_HOLE
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
#else
    (void)fd, (void)offset, (void)bytes;
    return false;
#endif
}

sgfs_status sgfsi_scratch_open(sgfsi_scratch *s, const char *beside, int64_t block_bytes,
                               sgfs_err *err) {
    *s = (sgfsi_scratch){.fd = -1, .stride = (block_bytes + PAGE - 1) / PAGE * PAGE};
    s->folder = sgfsi_io_folder(beside);
    if (s->folder == NULL) return sgfsi_fail_memory(err, beside);
    s->fd = sgfsi_io_temporary(s->folder, NULL);
    if (s->fd < 0) {
        sgfs_status status = sgfsi_fail_io(err, s->folder, "write temporary data there", errno);
        sgfsi_scratch_close(s);
        return status;
    }
    s->shrinks = punch(s->fd, 0, s->stride);
    return SGFS_OK;
}

void sgfsi_scratch_close(sgfsi_scratch *s) {
    if (s->folder != NULL && s->fd >= 0) close(s->fd);
    free(s->folder);
    free(s->unused);
    memset(s, 0, sizeof *s);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_scratch_put(sgfsi_scratch *s, int64_t bytes, const void *data, int64_t *block,
                              sgfs_err *err) {
    char have[24], need[24];
    *block = s->frees > 0 ? s->unused[--s->frees] : s->blocks++;
    int error = sgfsi_io_write(s->fd, data, (size_t)bytes, *block * s->stride);
    if (error == 0) return SGFS_OK;
    if (error != ENOSPC && error != EDQUOT)
        return sgfsi_fail_io(err, s->folder, "write temporary data", error);
    return sgfsi_fail(
        err, SGFS_EIO,
        "%s: the disk is full after %s of temporary data, %s free; make room or write "
        "the result to another disk.",
        s->folder, sgfsi_format_bytes((double)(s->blocks * s->stride), need),
        sgfsi_format_bytes(free_in(s->folder), have));
}

sgfs_status sgfsi_scratch_get(const sgfsi_scratch *s, int64_t block, int64_t bytes, void *data,
                              sgfs_err *err) {
    int error = sgfsi_io_read(s->fd, data, (size_t)bytes, block * s->stride);
    if (error == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EIO, "%s: cannot read temporary data back: %s.", s->folder,
                      error != SGFSI_IO_SHORT ? strerror(error) : "they end too early");
}

sgfs_status sgfsi_scratch_drop(sgfsi_scratch *s, int64_t block, sgfs_err *err) {
    if (!sgfsi_grow(&s->unused, &s->room, s->frees + 1, sizeof *s->unused))
        return sgfsi_fail_memory(err, "the list of temporary blocks");
    s->unused[s->frees++] = block;
    if (s->shrinks) s->shrinks = punch(s->fd, block * s->stride, s->stride);
    return SGFS_OK;
}
