/* SPDX-License-Identifier: MIT
 * bytes.h: the bytes of a file from front to back, gunzipped where it is gzip. Nothing is kept.
 */
#pragma once

#include "base/err.h"

/* How much readers of text take at a time. Fuzz builds take little, so that short files have many
 * blocks. */
#ifndef SGFSI_BLOCK_BYTES
#define SGFSI_BLOCK_BYTES (1 << 20)
#endif

typedef struct sgfsi_bytes sgfsi_bytes;

/* SGFS_EIO when the path is missing, not readable or not a regular file. path is borrowed. */
sgfs_status sgfsi_bytes_open(sgfsi_bytes **in, const char *path, sgfs_err *err);
/* Fill `out` as far as the file goes; *got < room only at its end. Truncated gzip: SGFS_EDATA. */
sgfs_status sgfsi_bytes_read(sgfsi_bytes *in, void *out, size_t room, size_t *got, sgfs_err *err);
/* Bytes there are in all, before anything is taken; -1: compressed, and nobody knows yet. */
int64_t sgfsi_bytes_count(const sgfsi_bytes *in);
/* How much of the file has been taken, 0 to 1. */
double sgfsi_bytes_fraction(const sgfsi_bytes *in);
void sgfsi_bytes_close(sgfsi_bytes *in);

/* CRC-32 (the polynomial of zip, gzip and PNG): start with crc 0, feed the result back to continue
 * over the next piece. There for torn writes and flipped bits, not against someone who forges a
 * file. */
uint32_t sgfsi_crc32(uint32_t crc, const void *bytes, size_t count);
