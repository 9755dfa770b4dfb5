/* SPDX-License-Identifier: MIT
 * fuzz_run.c: run files: what summary, compare, predict and export open. As in fuzz_packed.c,
 * checksums are made right again in half of the cases.
 */
#define _GNU_SOURCE
#include "feed.h"

#include "base/bytes.h"
#include "sink/runblock.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t room);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("run", bytes, size);
    return 0;
}

/* The head's checksum, and those of the blocks behind it as far as they can be told. */
static void fix_checksums(unsigned char *bytes, size_t size) {
    if (size < SGFSI_RUN_PREFIX) return;
    size_t at = SGFSI_RUN_PREFIX + (size_t)sgfsi_get_u32(bytes + 12);
    if (at + 4 > size) return;
    sgfsi_put_u32(bytes + at, sgfsi_crc32(0, bytes, at));
    for (at += 4; at + SGFSI_BLOCK_HEAD + 4 <= size;) {
        uint64_t payload = sgfsi_get_u64(bytes + at + 32);
        sgfsi_put_u32(bytes + at + 40, sgfsi_crc32(0, bytes + at, 40));
        if (payload > size - at - SGFSI_BLOCK_HEAD - 4) return;
        size_t length = SGFSI_BLOCK_HEAD + (size_t)payload;
        sgfsi_put_u32(bytes + at + length, sgfsi_crc32(0, bytes + at, length));
        at += length + 4;
    }
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size = LLVMFuzzerMutate(bytes, size, room);
    if (seed % 2 == 1) fix_checksums(bytes, size);
    return size;
}
