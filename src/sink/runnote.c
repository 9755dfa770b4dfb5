/* SPDX-License-Identifier: MIT
 * runnote.c: a note appended to a finished run file: what was found out about the run later
 * (docs/formats.md).
 *
 *     head, draws, info, end | note | note ...
 *
 * Nothing that is there is touched but the torn end that a killed process left, which no reader
 * counts and behind which a block would look like damage. The note goes to the disk before anybody
 * is told that it is there; killed in the middle of it, the file has a torn end again and all of
 * its draws. A run that is still being written is locked by its writer and refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "sink/runblock.h"
#include "sink/runfile.h"

static sgfs_status fail_write(const char *path, int error, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EIO, "%s: cannot write: %s.", path, strerror(error));
}

/* Root may write to files that nobody is meant to write to: the mode is asked, too. */
static sgfs_status open_alone(const char *path, int *fd, sgfs_err *err) {
    struct stat st;
    *fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &st) != 0) return fail_write(path, errno, err);
    if ((st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) return fail_write(path, EACCES, err);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return SGFS_OK;
    if (errno != EWOULDBLOCK) return fail_write(path, errno, err);
    return sgfsi_fail(err, SGFS_EIO, "%s: another process is writing this run.", path);
}

/* Head, payload and crc in one piece; NULL when memory is out. */
static unsigned char *put_together(uint32_t kind, const char *json, size_t *whole) {
    sgfsi_block block = {kind, 0, 0, 0, 0, strlen(json)};
    size_t covered = SGFSI_BLOCK_HEAD + strlen(json);
    unsigned char *bytes = malloc(covered + SGFSI_CRC_BYTES);
    if (bytes == NULL) return NULL;
    sgfsi_block_put(bytes, &block);
    memcpy(bytes + SGFSI_BLOCK_HEAD, json, strlen(json));
    sgfsi_put_u32(bytes + covered, sgfsi_crc32(0, bytes, covered));
    *whole = covered + SGFSI_CRC_BYTES;
    return bytes;
}

/* 0, or the errno of what went wrong; the file then ends at `end`. */
static int append(int fd, const unsigned char *bytes, size_t count, int64_t end) {
    int error = sgfsi_io_truncate(fd, end);
    if (error == 0) error = sgfsi_io_write(fd, bytes, count, end);
    if (error == 0) error = sgfsi_io_sync(fd);
    /* Should this fail, too: the reader cuts the torn note off by itself. */
    if (error != 0) (void)sgfsi_io_truncate(fd, end);
    return error;
}

sgfs_status sgfsi_runfile_note(const char *path, uint32_t kind, const char *json, sgfs_err *err) {
    int fd = -1;
    int64_t end = 0;
    size_t whole = 0;
    unsigned char *bytes = put_together(kind, json, &whole);
    if (bytes == NULL) return sgfsi_fail_memory(err, "a note");
    sgfs_status status = open_alone(path, &fd, err);
    if (status == SGFS_OK) {
        sgfs_err why = {SGFS_ERUNFILE, ""};
        sgfs_draws *d = sgfsi_runfile_read_to(path, &end, &why);
        if (d == NULL) status = sgfsi_fail(err, why.code, "%s", why.text);
        sgfs_draws_free(d);
    }
    if (status == SGFS_OK) {
        int error = append(fd, bytes, whole, end);
        if (error != 0) status = fail_write(path, error, err);
    }
    if (fd >= 0) close(fd);
    free(bytes);
    return status;
}
