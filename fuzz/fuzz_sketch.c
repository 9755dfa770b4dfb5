/* SPDX-License-Identifier: MIT
 * fuzz_sketch.c: files of a sketch, of every step. The checksum would keep a fuzzer out, so it is
 * made right again in half of the cases, with the lengths; files as this program writes them come
 * into the corpus beside the seeds.
 */
#define _GNU_SOURCE
#include "feed.h"

#include "base/bytes.h"
#include "base/little.h"

enum { PREFIX = 16, LENGTH = 8, CRC = 4 };

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t room);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("sketch", bytes, size);
    return 0;
}

/* The text of the head, as long as it comes out; else, in place, the numbers behind it. */
static size_t change_inside(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size_t text = sgfsi_get_u32(bytes + 12), at = PREFIX + text;
    if (text > size || size - text < PREFIX + LENGTH + CRC)
        return LLVMFuzzerMutate(bytes, size, room);
    size_t rest = size - at;
    if (seed % 2 == 0) {
        unsigned char *behind = malloc(rest);
        if (behind == NULL) return size;
        memcpy(behind, bytes + at, rest);
        text = LLVMFuzzerMutate(bytes + PREFIX, text, room - PREFIX - rest);
        memcpy(bytes + PREFIX + text, behind, rest);
        sgfsi_put_u32(bytes + 12, (uint32_t)text);
        free(behind);
        return PREFIX + text + rest;
    }
    if (rest > LENGTH + CRC)
        (void)LLVMFuzzerMutate(bytes + at + LENGTH, rest - LENGTH - CRC, rest - LENGTH - CRC);
    return size;
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size_t length;
    const unsigned char *good = feed_good_sketch((int)(seed / 64 % FEED_SKETCHES), &length);
    if (seed % 64 < 3 && length <= room) memcpy(bytes, good, size = length);
    if (seed % 64 == 0) return size;
    size = seed % 4 != 0 && size >= PREFIX ? change_inside(bytes, size, room, seed / 4)
                                           : LLVMFuzzerMutate(bytes, size, room);
    if (seed % 8 != 5 && size >= PREFIX + LENGTH + CRC)
        sgfsi_put_u32(bytes + size - CRC, sgfsi_crc32(0, bytes, size - CRC));
    return size;
}
