/* SPDX-License-Identifier: MIT
 * run_mutator.h: the fuzz targets that read run files. One such target is its name:
 *
 *     #define FUZZ_TARGET "predict"
 *     #include "run_mutator.h"
 *
 * A changed byte of a run file is found by its checksum, and nothing behind that would ever be
 * reached: so checksums are made right again in half of the cases. Runs as this program writes
 * them, complete and stopped, come into the corpus beside the seeds, which know no states.
 */
#define _GNU_SOURCE
#include "feed.h"

#include "base/bytes.h"
#include "sink/runblock.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t room);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any(FUZZ_TARGET, bytes, size);
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

/* The text of the header, as long as it comes out; else, in place, what one of the blocks holds. */
static size_t change_inside(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size_t text = size >= SGFSI_RUN_PREFIX ? sgfsi_get_u32(bytes + 12) : 0;
    size_t at = SGFSI_RUN_PREFIX + text, rest = size - at;
    if (text == 0 || size < at + 4) return LLVMFuzzerMutate(bytes, size, room);
    if (seed % 2 == 0) {
        unsigned char *behind = malloc(rest);
        if (behind == NULL) return size;
        memcpy(behind, bytes + at, rest);
        text = LLVMFuzzerMutate(bytes + SGFSI_RUN_PREFIX, text, room - SGFSI_RUN_PREFIX - rest);
        memcpy(bytes + SGFSI_RUN_PREFIX + text, behind, rest);
        sgfsi_put_u32(bytes + 12, (uint32_t)text);
        free(behind);
        return SGFSI_RUN_PREFIX + text + rest;
    }
    at += 4;
    for (unsigned left = seed / 2 % 12; at + SGFSI_BLOCK_HEAD + 4 <= size; left--) {
        uint64_t payload = sgfsi_get_u64(bytes + at + 32);
        if (payload > size - at - SGFSI_BLOCK_HEAD - 4) break;
        at += SGFSI_BLOCK_HEAD;
        if (left == 0 && payload > 0)
            (void)LLVMFuzzerMutate(bytes + at, (size_t)payload, (size_t)payload);
        if (left == 0) break;
        at += (size_t)payload + 4;
    }
    return size;
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t room, unsigned seed) {
    size_t length;
    const unsigned char *good = feed_good_run((int)(seed / 64 % (2 * FEED_SAMPLERS)), &length);
    if (seed % 64 < 3 && length <= room) memcpy(bytes, good, size = length);
    if (seed % 64 == 0) return size;
    bool inside = seed % 4 == 1;
    size =
        inside ? change_inside(bytes, size, room, seed / 4) : LLVMFuzzerMutate(bytes, size, room);
    if (seed % 2 == 1) fix_checksums(bytes, size);
    return size;
}
