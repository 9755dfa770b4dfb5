/* SPDX-License-Identifier: MIT
 * checksum.c: zlib's CRC-32 behind a name of ours.
 *
 * The run file guards its blocks with it. A CRC is there for torn writes and flipped bits; it is no
 * defence against someone who forges a file, so readers still check every length themselves.
 */
#include "base/checksum.h"

#include <zlib.h>

uint32_t sgfsi_crc32(uint32_t crc, const void *bytes, size_t count) {
    /* zlib reads a NULL buffer as "give me the start value", which is not the crc so far. */
    return count == 0 ? crc : (uint32_t)crc32_z(crc, bytes, count);
}
