/* SPDX-License-Identifier: MIT
 * checksum.h: CRC-32 (the polynomial of zip, gzip and PNG) over pieces of memory.
 */
#ifndef SGFSI_CHECKSUM_H
#define SGFSI_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc 0; feed the result back to continue over the next piece. */
uint32_t sgfsi_crc32(uint32_t crc, const void *bytes, size_t count);

#endif
