/* SPDX-License-Identifier: MIT
 * runblock.h: the run file's bytes (docs/formats.md), for its writer (runfile.c) and reader
 * (runread.c). Everything is little-endian whatever the machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/little.h"

/* File head: magic, u32 version, u32 length of the JSON text, the text, u32 crc over all before. */
extern const unsigned char sgfsi_run_magic[8]; /* 0x89 S G F S \r \n 0x1a */
enum { SGFSI_RUN_VERSION = 1, SGFSI_RUN_PREFIX = 16, SGFSI_CRC_BYTES = 4 };
enum { SGFSI_RUN_JSON_MAX = 1 << 30 };

enum { SGFSI_BLOCK_DRAWS = 1, SGFSI_BLOCK_INFO = 2, SGFSI_BLOCK_END = 3, SGFSI_BLOCK_POINTS = 4 };
/* Notes: what was found out about the run later. Kinds with this bit have another magic, so that
 * readers that know no notes take them for a torn end; readers that do pass over kinds they do not
 * know. The payload is JSON, but for states and draws of effects. */
#define SGFSI_NOTE       0x80000000u
#define SGFSI_NOTE_AUDIT (SGFSI_NOTE | 1u)
/* Means and standard deviations of the effects of groups (docs/groups.md); the last one counts. */
#define SGFSI_NOTE_EFFECTS (SGFSI_NOTE | 3u)
/* Draws of them (sgfs_kept_effects): u64 count, u64 numbers; u64 chain, u64 draw of each; f32
 * each. */
#define SGFSI_NOTE_KEPT (SGFSI_NOTE | 4u)
enum { SGFSI_KEPT_HEAD = 16 };
/* A state that a run can go on from (runstate.c), which is written over in its place: its head
 * never changes, and readers pass over it whatever its checksum is. Its payload: u64 number, u64
 * bytes of the state, u64 where the file ended (0: behind this block), the state, zeros. */
#define SGFSI_NOTE_STATE (SGFSI_NOTE | 2u)
enum { SGFSI_SAVED_HEAD = 24 };
/* Flags of an info block: bit k says that the k-th array (sgfsi_info_array) is there. */
enum { SGFSI_INFO_DISK = 32, SGFSI_INFO_ANCHORS = 64, SGFSI_INFO_DISPERSION = 128 };
enum { SGFSI_DISK_NUMBERS = 3 }; /* seconds waited, bytes of pages looked at, major faults */
enum { SGFSI_INFO_BYTES = 40, SGFSI_STATE_MAX = 1024 };

/* A block: this head, `bytes` of payload, u32 crc over head and payload. */
enum { SGFSI_BLOCK_HEAD = 44 };
typedef struct sgfsi_block {
    uint32_t kind, chain, flags;
    int64_t first, count;
    uint64_t bytes;
} sgfsi_block;

/* Bytes of the payload of an info block with these flags. */
uint64_t sgfsi_info_bytes(uint32_t flags, int64_t D);
/* Head and crc around the payload that stands at bytes + SGFSI_BLOCK_HEAD; how many bytes that
 * is. */
size_t sgfsi_block_seal(unsigned char *bytes, const sgfsi_block *block);
/* False when no block begins here: wrong magic, or the head's own crc does not fit. */
bool sgfsi_block_get(const unsigned char in[SGFSI_BLOCK_HEAD], sgfsi_block *block);
