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

static int64_t count_infinite(int64_t count, const double *x) {
    int64_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad += !(fabs(x[i]) <= DBL_MAX);
    return bad;
}

int64_t sgfsi_cells_unfit(sgfsi_dtype type, int64_t count, const double *x) {
    const double low = types[type].low, high = types[type].high;
    int64_t bad = 0;
    if (high == 0) return count_infinite(count, x);
    for (int64_t i = 0; i < count; i++)
        bad += !(x[i] >= low && x[i] <= high && x[i] == trunc(x[i]));
    return bad;
}

/* ---- there and back -------------------------------------------------------------------------- */

#define LOOPS(name, type)                                                                          \
    static void from_##name(int64_t count, const double *restrict x, void *cells) {                \
        type *restrict out = cells;                                                                \
        for (int64_t i = 0; i < count; i++) out[i] = (type)x[i];                                   \
    }                                                                                              \
    static void to_##name(int64_t count, const void *cells, double *restrict x) {                  \
        const type *restrict in = cells;                                                           \
        for (int64_t i = 0; i < count; i++) x[i] = (double)in[i];                                  \
    }

LOOPS(f32, float)
LOOPS(i64, int64_t)
LOOPS(i32, int32_t)
LOOPS(i16, int16_t)
LOOPS(i8, int8_t)
LOOPS(u8, uint8_t)
LOOPS(u16, uint16_t)
LOOPS(u32, uint32_t)

void sgfsi_cells_from(sgfsi_dtype type, int64_t count, const double *x, void *cells) {
    switch (type) {
    case SGFSI_F64:
    case SGFSI_CSR: memcpy(cells, x, (size_t)count * sizeof *x); break;
    case SGFSI_F32: from_f32(count, x, cells); break;
    case SGFSI_I64: from_i64(count, x, cells); break;
    case SGFSI_I32: from_i32(count, x, cells); break;
    case SGFSI_I16: from_i16(count, x, cells); break;
    case SGFSI_I8: from_i8(count, x, cells); break;
    case SGFSI_U8: from_u8(count, x, cells); break;
    case SGFSI_U16: from_u16(count, x, cells); break;
    case SGFSI_U32: from_u32(count, x, cells); break;
    }
}

void sgfsi_cells_to(sgfsi_dtype type, int64_t count, const void *cells, double *x) {
    switch (type) {
    case SGFSI_F64:
    case SGFSI_CSR: memcpy(x, cells, (size_t)count * sizeof *x); break;
    case SGFSI_F32: to_f32(count, cells, x); break;
    case SGFSI_I64: to_i64(count, cells, x); break;
    case SGFSI_I32: to_i32(count, cells, x); break;
    case SGFSI_I16: to_i16(count, cells, x); break;
    case SGFSI_I8: to_i8(count, cells, x); break;
    case SGFSI_U8: to_u8(count, cells, x); break;
    case SGFSI_U16: to_u16(count, cells, x); break;
    case SGFSI_U32: to_u32(count, cells, x); break;
    }
}
