/* SPDX-License-Identifier: MIT
 * packed_cells.c: one loop per type, plain enough to become vectors.
 *
 * A 64-bit integer of 2^53 or more has no place: everything past the file is double, where it would
 * be another number.
 */
#include "files/packed/packed_cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    double low, high; /* integers; else 0 */
} types[] = {[SGFSI_F64] = {"f64", 0, 0},
             [SGFSI_F32] = {"f32", 0, 0},
             [SGFSI_I64] = {"i64", -0x1p53 + 1, 0x1p53 - 1},
             [SGFSI_I32] = {"i32", INT32_MIN, INT32_MAX},
             [SGFSI_I16] = {"i16", INT16_MIN, INT16_MAX},
             [SGFSI_I8] = {"i8", INT8_MIN, INT8_MAX},
             [SGFSI_U8] = {"u8", 0, UINT8_MAX},
             [SGFSI_U16] = {"u16", 0, UINT16_MAX},
             [SGFSI_U32] = {"u32", 0, UINT32_MAX},
             [SGFSI_CSR] = {"sparse", 0, 0}};

const char *sgfsi_dtype_name(sgfsi_dtype type) {
    return types[type].name;
}

/* ---- does it fit? ---------------------------------------------------------------------------- */

void sgfsi_cells_round(sgfsi_dtype type, int64_t count, const double *restrict x,
                       double *restrict out) {
    if (type != SGFSI_F32) {
        memcpy(out, x, (size_t)count * sizeof *x);
        return;
    }
    for (int64_t i = 0; i < count; i++) out[i] = (double)(float)x[i];
}

int64_t sgfsi_cells_unfit(sgfsi_dtype type, int64_t count, const double *x) {
    const double low = types[type].low, high = types[type].high;
    int64_t bad = 0;
    for (int64_t i = 0; high == 0 && i < count; i++) bad += !(fabs(x[i]) <= DBL_MAX);
    for (int64_t i = 0; high != 0 && i < count; i++)
        bad += !(x[i] >= low && x[i] <= high && x[i] == trunc(x[i]));
    return bad;
}

/* ---- there and back -------------------------------------------------------------------------- */

void sgfsi_cells_from(sgfsi_dtype type, int64_t count, const double *x, void *cells) {
    const double *restrict from = x;
    switch (type) {
#define FROM(NAME, name, type)                                                                     \
    case SGFSI_##NAME: {                                                                           \
        type *restrict to = cells;                                                                 \
        for (int64_t i = 0; i < count; i++) to[i] = (type)from[i];                                 \
        break;                                                                                     \
    }
        SGFSI_CELL_TYPES(FROM)
#undef FROM
    case SGFSI_CSR: break; /* has none */
    }
}

void sgfsi_cells_to(sgfsi_dtype type, int64_t count, const void *cells, double *x) {
    double *restrict to = x;
    switch (type) {
#define TO(NAME, name, type)                                                                       \
    case SGFSI_##NAME: {                                                                           \
        const type *restrict from = cells;                                                         \
        for (int64_t i = 0; i < count; i++) to[i] = (double)from[i];                               \
        break;                                                                                     \
    }
        SGFSI_CELL_TYPES(TO)
#undef TO
    case SGFSI_CSR: break;
    }
}
