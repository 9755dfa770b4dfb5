/* SPDX-License-Identifier: MIT
 * npy.c: the draws as one NumPy array, float64, chains x draws x D, C order.
 *
 * Format version 1.0: magic, two version bytes, a 16-bit header length, a Python dict literal
 * padded with blanks and a line feed so that the numbers start at a multiple of 64 bytes, then the
 * numbers, little-endian. Names and statistics have no place in it; .csv and .nc have them.
 */
#include <string.h>

#include "base/file.h"
#include "sink/export.h"

static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
enum { HEAD_BYTES = 192, PREFIX_BYTES = 10, ROUND = 64, PIECE = 512 };

static void write_head(FILE *f, int64_t chains, int64_t draws, int64_t D) {
    char head[HEAD_BYTES];
    int text = snprintf(head + PREFIX_BYTES, HEAD_BYTES - PREFIX_BYTES,
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld, %lld, %lld), }",
                        (long long)chains, (long long)draws, (long long)D);
    size_t used = PREFIX_BYTES + (size_t)text;
    size_t total = (used + 1 + ROUND - 1) / ROUND * ROUND; /* one byte for the line feed */
    memset(head + used, ' ', total - used);
    head[total - 1] = '\n';
    memcpy(head, magic, sizeof magic);
    head[8] = (char)((total - PREFIX_BYTES) & 0xFF);
    head[9] = (char)((total - PREFIX_BYTES) >> 8);
    fwrite(head, 1, total, f);
}

/* Little-endian whatever the machine; a few hundred numbers at a time. */
static void write_numbers(FILE *f, const double *x, int64_t count) {
    unsigned char bytes[PIECE * 8];
    for (int64_t done = 0; done < count && !ferror(f); done += PIECE) {
        int64_t n = count - done < PIECE ? count - done : PIECE;
        for (int64_t i = 0; i < n; i++) {
            uint64_t word;
            memcpy(&word, &x[done + i], 8);
            for (int k = 0; k < 8; k++) bytes[i * 8 + k] = (unsigned char)(word >> (8 * k));
        }
        fwrite(bytes, 8, (size_t)n, f);
    }
}

static sgfs_status write_npy(const sgfs_draws *d, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_export_view view;
    sgfs_status status = sgfsi_export_view_open(&view, d, err);
    if (status != SGFS_OK) return status;
    sgfsi_outfile out;
    status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status == SGFS_OK) {
        write_head(out.f, view.chains, view.draws, d->D);
        for (int64_t k = 0; k < view.chains; k++) {
            write_numbers(out.f, d->chain[view.used[k]].theta, view.draws * d->D);
        }
        status = sgfsi_outfile_commit(&out, err);
    }
    sgfsi_export_view_close(&view);
    return status;
}

const sgfs_export_kind sgfs_export_npy = {"npy", ".npy", "NumPy array, chains x draws x parameters",
                                          write_npy};
