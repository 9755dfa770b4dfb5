/* SPDX-License-Identifier: MIT
 * npy.c: NumPy's format, version 1.0: magic, two version bytes, a 16-bit header length, a Python
 * dict literal padded with blanks and a line feed so that the numbers start at a multiple of 64
 * bytes, then the numbers, little-endian.
 */
#include "base/npy.h"

#include <string.h>

#include "base/little.h"

static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
enum { HEAD_BYTES = 192, PREFIX_BYTES = 10, ROUND = 64, PIECE = 512 };

void sgfsi_npy_head(FILE *f, int dims, const int64_t *shape) {
    char head[HEAD_BYTES], list[96] = "";
    for (int k = 0; k < dims; k++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%lld", k > 0 ? ", " : "", (long long)shape[k]);
    }
    int text = snprintf(head + PREFIX_BYTES, HEAD_BYTES - PREFIX_BYTES,
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", list);
    size_t used = PREFIX_BYTES + (size_t)text;
    size_t total = (used + 1 + ROUND - 1) / ROUND * ROUND; /* one byte for the line feed */
    memset(head + used, ' ', total - used);
    head[total - 1] = '\n';
    memcpy(head, magic, sizeof magic);
    head[8] = (char)((total - PREFIX_BYTES) & 0xFF);
    head[9] = (char)((total - PREFIX_BYTES) >> 8);
    fwrite(head, 1, total, f);
}

/* A few hundred numbers at a time. */
void sgfsi_npy_numbers(FILE *f, const double *x, int64_t count) {
    unsigned char bytes[PIECE * 8];
    for (int64_t done = 0; done < count && !ferror(f); done += PIECE) {
        int64_t n = count - done < PIECE ? count - done : PIECE;
        sgfsi_put_doubles(bytes, x + done, n);
        fwrite(bytes, 8, (size_t)n, f);
    }
}
