/* SPDX-License-Identifier: MIT
 * spool.c: what comes through a pipe, kept in a file without a name.
 *
 * Readers look at a file more than once: at its first bytes, again from the front when a target
 * turns out to be text, and mapped arrays stay in it for the whole run. So a pipe is copied first,
 * byte for byte (gzip stays gzip), into the folder TMPDIR names, or /tmp. The copy loses its name
 * at once: nothing is left of it, however the program ends. It is opened again through
 * /proc/self/fd, which starts at the front each time; where there is no such folder the copy keeps
 * its name until the files are closed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/ticker.h"
#include "files/files.h"

enum { BLOCK = 1 << 20 };

static const char *folder(void) {
    const char *named = getenv("TMPDIR");
    return named != NULL && named[0] != '\0' ? named : "/tmp";
}

static sgfs_status copy_all(int from, int to, const char *called, const sgfsi_log *log,
                            sgfs_err *err) {
    char what[160] = "", size[32] = "0 MB", *block = malloc(BLOCK);
    double done = 0;
    if (block == NULL) return sgfsi_fail_memory(err, "a copy of a pipe");
    sgfsi_ticker ticker = sgfsi_ticker_start(log, what);
    sgfs_status status = SGFS_OK;
    for (ssize_t n = 1; status == SGFS_OK && n > 0;) {
        do n = read(from, block, BLOCK); /* as much as has come: who waits hears of a slow pipe */
        while (n < 0 && errno == EINTR);
        if (n < 0) {
            status = sgfsi_fail_io(err, called, "read it", errno);
            break;
        }
        int error = sgfsi_io_write(to, block, (size_t)n, SGFSI_IO_HERE);
        if (error != 0) /* a full disk, above all */
            status = sgfsi_fail(err, SGFS_EIO,
                                "%s: its copy in %.200s cannot be written after %s: %s. TMPDIR may "
                                "name a folder with more room.",
                                called, folder(), size, strerror(error));
        done += (double)n;
        if (done < 1e9) snprintf(size, sizeof size, "%.0f MB", done / 1e6);
        else snprintf(size, sizeof size, "%.1f GB", done / 1e9);
        snprintf(what, sizeof what, "Reading %.100s: %s", called, size);
        if (status == SGFS_OK) status = sgfsi_tick(&ticker, 0, err);
    }
    free(block);
    if (status == SGFS_OK && done == 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is empty: nothing came through it, or it has been read already.",
                          called);
    }
    return status;
}

sgfs_status sgfsi_spool(int from, const char *called, const sgfsi_log *log, int *fd, char **path,
                        bool *leftover, sgfs_err *err) {
    char again[64];
    struct stat a, b;
    *path = NULL;
    *leftover = false;
    *fd = sgfsi_io_temporary(folder(), path);
    if (*fd < 0) {
        char what[300];
        int error = errno;
        snprintf(what, sizeof what, "be copied to %.200s (TMPDIR may name another folder)",
                 folder());
        return sgfsi_fail_io(err, called, what, error);
    }
    /* Can the file be opened again without a name? */
    snprintf(again, sizeof again, "/proc/self/fd/%d", *fd);
    *leftover =
        fstat(*fd, &a) != 0 || stat(again, &b) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino;
    if (!*leftover) {
        unlink(*path);
        free(*path);
        *path = strdup(again);
    }
    sgfs_status status = *path != NULL ? copy_all(from, *fd, called, log, err)
                                       : sgfsi_fail_memory(err, "a copy of a pipe");
    if (status == SGFS_OK) return SGFS_OK;
    if (*leftover) unlink(*path);
    close(*fd);
    free(*path);
    *path = NULL;
    *fd = -1;
    return status;
}
