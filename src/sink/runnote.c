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

sgfs_status sgfsi_runfile_note(const char *path, uint32_t kind, const char *json, sgfs_err *err) {
    const sgfsi_block block = {kind, 0, 0, 0, 0, strlen(json)};
    unsigned char *bytes = malloc(SGFSI_BLOCK_HEAD + (size_t)block.bytes + SGFSI_CRC_BYTES);
    if (bytes == NULL) return sgfsi_fail_memory(err, "a note");
    memcpy(bytes + SGFSI_BLOCK_HEAD, json, (size_t)block.bytes);
    size_t whole = sgfsi_block_seal(bytes, &block);
    int fd = -1;
    int64_t end = 0;
    sgfs_status status = open_alone(path, &fd, err);
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
        if (error != 0) status = fail_write(path, error, err);
    }
    if (fd >= 0) close(fd);
    free(bytes);
    return status;
}
