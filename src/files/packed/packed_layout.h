/* SPDX-License-Identifier: MIT
 * packed_layout.h: page 0 of a packed file, byte by byte, for the writer and the reader alone.
 *
 *     at  bytes
 *      0    8   magic: 0x89 "SGD" CR LF 0x1A LF
 *      8    4   version: 1
 *     12    4   bytes of this page: 4096
 *     16    8   bytes of the whole file
 *     24    8   rows
 *     32    8   columns
 *     40    4   type of a cell: 1 f64, 2 f32, 3 i64, 4 i32, 5 i16, 6 i8, 7 u8, 8 u16, 9 u32
 *     44    4   flags: 1 = rows are in an order drawn at random; the others are 0
 *     48    8   rows of a chunk
 *     56    8   bytes of a chunk, a multiple of 4096
 *     64    8   chunks
 *     72    8   where the checksums of the chunks start, a multiple of 4096
 *     80    8   where the JSON text starts: right behind them
 *     88    8   bytes of the JSON text, which ends the file
 *     96    4   CRC-32 of the checksums
 *    100    4   CRC-32 of the JSON text
 *    104        zeros
 *   4092    4   CRC-32 of the 4092 bytes before
 */
#pragma once

#include "files/packed/packed.h"

enum { SGFSI_PACKED_VERSION = 1, SGFSI_PACKED_SHUFFLED = 1, SGFSI_PACKED_CRC_AT = 4092 };

#define SGFSI_PACKED_MAGIC "\x89SGD\r\n\x1a\n"

typedef struct sgfsi_packed_head {
    uint64_t file_bytes, rows, cols, chunk_rows, chunk_bytes, chunks;
    uint64_t crc_at, json_at, json_bytes;
    uint32_t version, page, type, flags, crc_crc, json_crc;
} sgfsi_packed_head;

/* One walk for both directions: each member with its place. */
#define SGFSI_PACKED_U32(X)                                                                        \
    X(version, 8) X(page, 12) X(type, 40) X(flags, 44) X(crc_crc, 96) X(json_crc, 100)
#define SGFSI_PACKED_U64(X)                                                                        \
    X(file_bytes, 16)                                                                              \
    X(rows, 24)                                                                                    \
    X(cols, 32)                                                                                    \
    X(chunk_rows, 48)                                                                              \
    X(chunk_bytes, 56) X(chunks, 64) X(crc_at, 72) X(json_at, 80) X(json_bytes, 88)

/* Bytes the JSON text may have, so that a short file cannot ask for much memory. */
static inline uint64_t sgfsi_packed_most_json(uint64_t cols) {
    return (UINT64_C(16) << 20) + 512 * cols;
}

/* Numbers of the file are used where they lie, so the machine has to be little-endian too. */
static inline bool sgfsi_packed_machine(const char *path, sgfs_err *err) {
    const uint16_t one = 1;
    if (*(const unsigned char *)&one == 1) return true;
    return sgfsi_fail(err, SGFS_EDATA, "%s: packed files need a little-endian machine.", path),
           false;
}

extern const char *const sgfsi_packed_roles[5]; /* in the JSON text, by sgfsi_role */
