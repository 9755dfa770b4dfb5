/* SPDX-License-Identifier: MIT
 * bytes.c: a file as a stream of bytes, plain or gzip, over zlib (whose header appears only here).
 *
 * zlib finds out by itself whether a file is gzip and hands plain bytes through. Its one trap: at
 * the end of a truncated gzip it returns the bytes so far as if all were well, and only gzerror
 * knows. That is asked at every short read, so no reader can take half a file for a whole one.
 *
 * Only regular files are taken: the readers open a file more than once (to look at its head, and
 * again when a target turns out to be text), which a pipe does not survive.
 */
#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

struct sgfsi_bytes {
    gzFile gz;
    const char *path;
    double size; /* bytes on disk */
};

sgfs_status sgfsi_bytes_open(sgfsi_bytes **in, const char *path, sgfs_err *err) {
    *in = NULL;
    struct stat st;
    if (stat(path, &st) != 0) return sgfsi_fail_io(err, path, "open it", errno);
    if (S_ISDIR(st.st_mode))
        return sgfsi_fail(err, SGFS_EIO, "%s: is a directory; give the name of a file.", path);
    if (!S_ISREG(st.st_mode))
        return sgfsi_fail(err, SGFS_EIO,
                          "%s: is not a regular file; it is read more than once, so save it to a "
                          "file first.",
                          path);
    sgfsi_bytes *b = calloc(1, sizeof *b);
    if (b == NULL) return sgfsi_fail_memory(err, "a file");
    b->path = path;
    b->size = (double)st.st_size;
    errno = 0;
    b->gz = gzopen(path, "rb");
    if (b->gz == NULL) {
        int error = errno;
        free(b);
        if (error == 0) return sgfsi_fail_memory(err, "a file");
        return sgfsi_fail_io(err, path, "open it", error);
    }
    gzbuffer(b->gz, SGFSI_BLOCK_BYTES / 8); /* when this fails, zlib's smaller default stands */
    *in = b;
    return SGFS_OK;
}

sgfs_status sgfsi_bytes_read(sgfsi_bytes *in, void *out, size_t room, size_t *got, sgfs_err *err) {
    const size_t most = 1u << 30; /* gzread counts in int */
    *got = 0;
    while (*got < room) {
        size_t want = room - *got < most ? room - *got : most;
        int n = gzread(in->gz, (char *)out + *got, (unsigned)want);
        if (n > 0) *got += (size_t)n;
        if (n == (int)want) continue;
        int code;
        const char *text = gzerror(in->gz, &code);
        switch (code) {
        case Z_OK:
        case Z_STREAM_END: return SGFS_OK;
        case Z_ERRNO: return sgfsi_fail_io(err, in->path, "read it", errno);
        case Z_MEM_ERROR: return sgfsi_fail_memory(err, "the decompressor");
        case Z_BUF_ERROR:
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: the gzip data end too early: the file was cut off; copy or "
                              "download it again.",
                              in->path);
        default:
            return sgfsi_fail(err, SGFS_EDATA, "%s: the gzip data are damaged (%s).", in->path,
                              text);
        }
    }
    return SGFS_OK;
}

int64_t sgfsi_bytes_count(const sgfsi_bytes *in) {
    return gzdirect(in->gz) ? (int64_t)in->size : -1;
}

double sgfsi_bytes_fraction(const sgfsi_bytes *in) {
    double at = (double)gzoffset(in->gz);
    return in->size > 0 && at < in->size ? at / in->size : 1;
}

void sgfsi_bytes_close(sgfsi_bytes *in) {
    if (in == NULL) return;
    gzclose(in->gz);
    free(in);
}

uint32_t sgfsi_crc32(uint32_t crc, const void *bytes, size_t count) {
    /* zlib reads a NULL buffer as "give me the start value", which is not the crc so far. */
    return count == 0 ? crc : (uint32_t)crc32_z(crc, bytes, count);
}
