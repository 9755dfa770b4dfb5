/* SPDX-License-Identifier: MIT
 * bytes.c: a file as a stream of bytes, plain or gzip, over zlib (whose header appears only here).
 *
 * A file that begins with gzip's two bytes is one: members one after another, each with its
 * checksum. zlib's own reader of files (gzread) is not used: behind the first member it takes
 * whatever is not a member for the end, so that damage there would lose rows in silence. Zeros at
 * the end, which tapes and some tools leave, are no damage.
 *
 * Only regular files are taken: the readers open a file more than once (to look at its head, and
 * again when a target turns out to be text), which a pipe does not survive.
 */
#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"

enum { RAW = SGFSI_BLOCK_BYTES / 8 + 64, MAGIC = 2, WINDOW = 15 + 16 /* gzip only */ };

struct sgfsi_bytes {
    int fd;
    const char *path;
    double size, taken; /* bytes on disk, and of them read */
    bool gzip, inside;  /* inside: a member has begun and has not ended */
    z_stream z;         /* next_in, avail_in: what is left in `raw` */
    unsigned char raw[RAW];
};

/* As far as the file goes. */
static sgfs_status take(sgfsi_bytes *in, void *out, size_t room, size_t *got, sgfs_err *err) {
    int error = sgfsi_io_take(in->fd, out, room, got);
    if (error != 0) return sgfsi_fail_io(err, in->path, "read it", error);
    in->taken += (double)*got;
    return SGFS_OK;
}

/* More bytes of the file behind those that are left. */
static sgfs_status refill(sgfsi_bytes *in, sgfs_err *err) {
    size_t got, left = in->z.avail_in;
    memmove(in->raw, in->z.next_in, left);
    sgfs_status status = take(in, in->raw + left, RAW - left, &got, err);
    in->z.next_in = in->raw;
    in->z.avail_in += (unsigned)got;
    return status;
}

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
    b->z.next_in = b->raw;
    b->fd = open(path, O_RDONLY | O_CLOEXEC);
    sgfs_status status = b->fd >= 0 ? refill(b, err) : sgfsi_fail_io(err, path, "open it", errno);
    b->gzip = b->z.avail_in >= MAGIC && b->raw[0] == 0x1f && b->raw[1] == 0x8b;
    if (status == SGFS_OK && b->gzip && inflateInit2(&b->z, WINDOW) != Z_OK) {
        b->gzip = false; /* nothing to end */
        status = sgfsi_fail_memory(err, "the decompressor");
    }
    if (status == SGFS_OK) *in = b;
    else sgfsi_bytes_close(b);
    return status;
}

/* Behind a member: does another one begin? Zeros up to the end are the end. */
static sgfs_status next_member(sgfsi_bytes *in, bool *ends, sgfs_err *err) {
    sgfs_status status = in->z.avail_in < MAGIC ? refill(in, err) : SGFS_OK;
    const unsigned char *at = in->z.next_in;
    *ends = status == SGFS_OK && in->z.avail_in == 0;
    if (status != SGFS_OK || *ends) return status;
    in->inside = in->z.avail_in >= MAGIC && at[0] == 0x1f && at[1] == 0x8b;
    if (in->inside) return inflateReset(&in->z), SGFS_OK;
    while (status == SGFS_OK && in->z.avail_in > 0) {
        for (; in->z.avail_in > 0; in->z.avail_in--, in->z.next_in++) {
            if (*in->z.next_in == 0) continue;
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: behind a part of its gzip data there is something that is not "
                              "gzip: the file is damaged; copy or download it again.",
                              in->path);
        }
        status = refill(in, err);
    }
    *ends = true;
    return status;
}

static sgfs_status gunzip(sgfsi_bytes *in, char *out, size_t room, size_t *got, sgfs_err *err) {
    const size_t most = 1u << 30; /* zlib counts in unsigned int */
    bool ends = false;
    while (*got < room) {
        sgfs_status status = SGFS_OK;
        if (!in->inside) status = next_member(in, &ends, err);
        else if (in->z.avail_in == 0) status = refill(in, err);
        if (status != SGFS_OK || ends) return status;
        size_t want = room - *got < most ? room - *got : most;
        in->z.next_out = (unsigned char *)out + *got;
        in->z.avail_out = (unsigned)want;
        bool dry = in->z.avail_in == 0;
        int code = inflate(&in->z, Z_NO_FLUSH);
        *got += want - in->z.avail_out;
        if (code == Z_STREAM_END) in->inside = false;
        else if (code == Z_MEM_ERROR) return sgfsi_fail_memory(err, "the decompressor");
        else if (dry && in->z.avail_out == want)
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: the gzip data end too early: the file was cut off; copy or "
                              "download it again.",
                              in->path);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return sgfsi_fail(err, SGFS_EDATA, "%s: the gzip data are damaged (%s).", in->path,
                              in->z.msg != NULL ? in->z.msg : "they need a dictionary");
    }
    return SGFS_OK;
}

sgfs_status sgfsi_bytes_read(sgfsi_bytes *in, void *out, size_t room, size_t *got, sgfs_err *err) {
    *got = 0;
    if (in->gzip) return gunzip(in, out, room, got, err);
    size_t first = in->z.avail_in < room ? in->z.avail_in : room, more;
    memcpy(out, in->z.next_in, first);
    in->z.next_in += first;
    in->z.avail_in -= (unsigned)first;
    sgfs_status status = take(in, (char *)out + first, room - first, &more, err);
    *got = first + more;
    return status;
}

int64_t sgfsi_bytes_count(const sgfsi_bytes *in) {
    return in->gzip ? -1 : (int64_t)in->size;
}

double sgfsi_bytes_fraction(const sgfsi_bytes *in) {
    double at = in->taken - (double)in->z.avail_in;
    return in->size > 0 && at < in->size ? at / in->size : 1;
}

void sgfsi_bytes_close(sgfsi_bytes *in) {
    if (in == NULL) return;
    if (in->gzip) inflateEnd(&in->z);
    if (in->fd >= 0) close(in->fd);
    free(in);
}

uint32_t sgfsi_crc32(uint32_t crc, const void *bytes, size_t count) {
    /* zlib reads a NULL buffer as "give me the start value", which is not the crc so far. */
    return count == 0 ? crc : (uint32_t)crc32_z(crc, bytes, count);
}
