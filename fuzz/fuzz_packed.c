/* SPDX-License-Identifier: MIT
 * fuzz_packed.c: packed files. Checksums would keep a fuzzer out, so in half of the cases they are
 * made right again after a mutation, in half of these the lengths too: what is behind them has to
 * stand a file that was forged with care.
 *
 * Most of a packed file is zeros that mean nothing. A mutation therefore falls on one of the places
 * where something stands: the numbers of page 0, the rows, the tail, or (seldom) anywhere.
 */
#define _GNU_SOURCE
#include "feed.h"

#include "base/bytes.h"

enum { NUMBERS = 104 }; /* bytes of page 0 before its zeros: packed_layout.h */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t room);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("packed", bytes, size);
    return 0;
}

/* ---- numbers of page 0 ----------------------------------------------------------------------- */

static uint64_t get(const unsigned char *from) {
    uint64_t x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void put32(unsigned char *to, uint32_t x) {
    memcpy(to, &x, sizeof x);
}

static void put64(unsigned char *to, uint64_t x) {
    memcpy(to, &x, sizeof x);
}

/* The last part of the file is the JSON text, and the file is as long as it is. */
static void fix_lengths(unsigned char *bytes, size_t size) {
    uint64_t json_at = get(bytes + 80);
    put64(bytes + 16, size);
    if (json_at <= size) put64(bytes + 88, size - json_at);
}

/* Every checksum whose bytes are in the file. */
static void fix_checksums(unsigned char *bytes, size_t size) {
    uint64_t chunk = get(bytes + 56), chunks = get(bytes + 64), crc_at = get(bytes + 72),
             json_at = get(bytes + 80), json_bytes = get(bytes + 88);
    for (uint64_t c = 0; crc_at < size && chunk <= size && c < chunks && c < size; c++) {
        if (SGFSI_PAGE + (c + 1) * chunk > size || crc_at + 4 * c + 4 > size) break;
        put32(bytes + crc_at + 4 * c, sgfsi_crc32(0, bytes + SGFSI_PAGE + c * chunk, chunk));
    }
    if (crc_at <= size && chunks <= (size - crc_at) / 4)
        put32(bytes + 96, sgfsi_crc32(0, bytes + crc_at, 4 * chunks));
    if (json_at <= size && json_bytes <= size - json_at)
        put32(bytes + 100, sgfsi_crc32(0, bytes + json_at, json_bytes));
    put32(bytes + SGFSI_PAGE - 4, sgfsi_crc32(0, bytes, SGFSI_PAGE - 4));
}

/* ---- mutations ------------------------------------------------------------------------------- */

/* Mutate bytes[from, to), which keep their length: what follows has its place. */
static void mutate_inside(unsigned char *bytes, size_t from, size_t to) {
    unsigned char piece[SGFSI_PAGE] = {0};
    size_t n = to - from < sizeof piece ? to - from : sizeof piece;
    if (n == 0) return;
    memcpy(piece, bytes + from, n);
    LLVMFuzzerMutate(piece, n, n);
    memcpy(bytes + from, piece, n);
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size_t tail = size >= SGFSI_PAGE ? (size_t)get(bytes + 80) : size;
    unsigned place = seed / 4 % 8;
    if (size < SGFSI_PAGE || place == 0) size = LLVMFuzzerMutate(bytes, size, room);
    else if (place <= 3) mutate_inside(bytes, 8, NUMBERS);
    else if (place == 4 && size > SGFSI_PAGE)
        mutate_inside(bytes, SGFSI_PAGE, size < 2 * SGFSI_PAGE ? size : 2 * SGFSI_PAGE);
    else if (tail < size) size = tail + LLVMFuzzerMutate(bytes + tail, size - tail, room - tail);
    if (size >= SGFSI_PAGE && seed % 4 == 3) fix_lengths(bytes, size);
    if (size >= SGFSI_PAGE && seed % 2 == 1) fix_checksums(bytes, size);
    return size;
}
