/* SPDX-License-Identifier: MIT
 * runblock.c: block heads as bytes.
 *
 * A block head carries a crc of its own besides the one over the whole block: so
 * a reader can trust a length before it reads that far, and can find the next block after a damaged
 * one in a single pass.
 */
#include "sink/runblock.h"

#include <string.h>

#include "base/bytes.h"
#include "sink/draws.h"

/* As PNG's: a byte no text has, a line end that careless copying changes, a stop for `type`. */
const unsigned char sgfsi_run_magic[8] = {0x89, 'S', 'G', 'F', 'S', '\r', '\n', 0x1A};
static const unsigned char block_magic[4] = {'S', 'G', 'B', 'K'};
static const unsigned char note_magic[4] = {'S', 'G', 'N', 'T'};

static const unsigned char *magic_of(uint32_t kind) {
    return kind & SGFSI_NOTE ? note_magic : block_magic;
}

uint64_t sgfsi_info_bytes(uint32_t flags, int64_t D) {
    uint64_t bytes = SGFSI_INFO_BYTES;
    sgfsi_chain_info none = {0};
    int64_t n;
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++) {
        (void)sgfsi_info_array(&none, k, D, &n);
        if (flags & 1u << k) bytes += 8 * (uint64_t)n;
    }
    if (flags & SGFSI_INFO_DISK) bytes += sizeof(double) * SGFSI_DISK_NUMBERS;
    if (flags & SGFSI_INFO_ANCHORS) bytes += 8;
    return flags & SGFSI_INFO_DISPERSION ? bytes + 8 : bytes;
}

size_t sgfsi_block_seal(unsigned char *out, const sgfsi_block *block) {
    memcpy(out, magic_of(block->kind), sizeof block_magic);
    sgfsi_put_u32(out + 4, block->kind);
    sgfsi_put_u32(out + 8, block->chain);
    sgfsi_put_u32(out + 12, block->flags);
    sgfsi_put_u64(out + 16, (uint64_t)block->first);
    sgfsi_put_u64(out + 24, (uint64_t)block->count);
    sgfsi_put_u64(out + 32, block->bytes);
    sgfsi_put_u32(out + 40, sgfsi_crc32(0, out, 40));
    size_t covered = SGFSI_BLOCK_HEAD + (size_t)block->bytes;
    sgfsi_put_u32(out + covered, sgfsi_crc32(0, out, covered));
    return covered + SGFSI_CRC_BYTES;
}

bool sgfsi_block_get(const unsigned char in[SGFSI_BLOCK_HEAD], sgfsi_block *block) {
    if (memcmp(in, magic_of(sgfsi_get_u32(in + 4)), sizeof block_magic) != 0) return false;
    if (sgfsi_get_u32(in + 40) != sgfsi_crc32(0, in, 40)) return false;
    block->kind = sgfsi_get_u32(in + 4);
    block->chain = sgfsi_get_u32(in + 8);
    block->flags = sgfsi_get_u32(in + 12);
    block->first = (int64_t)sgfsi_get_u64(in + 16);
    block->count = (int64_t)sgfsi_get_u64(in + 24);
    block->bytes = sgfsi_get_u64(in + 32);
    return true;
}
