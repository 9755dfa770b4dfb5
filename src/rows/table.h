/* SPDX-License-Identifier: MIT
 * table.h: what a reader hands over: a rectangle of numbers with named columns, one of them
 * possibly text (the target's words). A reader fills it, design.c selects features and target from
 * it. Only src/rows and src/files look inside; everybody else asks rows.h.
 */
#pragma once

#include "base/config.h"
#include "base/err.h"
#include "context/device/device.h"
#include "rows/column_stats.h"
#include "stages.h"

/* Every type that cells of a table may have: its name, that of the file formats, and C's. */
#define SGFSI_CELL_TYPES(X)                                                                        \
    X(F64, f64, double)                                                                            \
    X(F32, f32, float)                                                                             \
    X(I64, i64, int64_t)                                                                           \
    X(I32, i32, int32_t)                                                                           \
    X(I16, i16, int16_t)                                                                           \
    X(I8, i8, int8_t) X(U8, u8, uint8_t) X(U16, u16, uint16_t) X(U32, u32, uint32_t)

size_t sgfsi_dtype_size(sgfsi_dtype type);

/* What a column is for, by --target, --features, --weights, --exposure and --effects. */
typedef enum sgfsi_role {
    SGFSI_ROLE_NONE = 0,
    SGFSI_ROLE_FEATURE = 1,
    SGFSI_ROLE_TARGET = 2,
    SGFSI_ROLE_WEIGHTS = 3,
    SGFSI_ROLE_EXPOSURE = 4,
    SGFSI_ROLE_GROUP = 5 /* says which group a row is in; there may be several */
} sgfsi_role;

/* More columns in a file are refused: it is probably transposed. Fuzz builds refuse earlier. */
#ifndef SGFSI_MOST_COLS
#define SGFSI_MOST_COLS 1000000
#endif
enum { SGFSI_MAX_COLS = SGFSI_MOST_COLS };

enum { SGFSI_PAGE = 4096 };

struct sgfsi_part;

/* What a packed file says beside its rows, for whoever visits its pages (pages.c); it lives in the
 * map and with its part. The reader of such files fills it in. */
typedef struct sgfsi_packed {
    int64_t chunks;
    const uint32_t *crc;         /* chunks */
    _Atomic unsigned char *seen; /* a bit for each chunk whose checksum was found right */
    /* Is the chunk what was written? Looks once, then knows. SGFS_EDATA: it is not. */
    sgfs_status (*check)(const struct sgfsi_part *part, int64_t chunk, sgfs_err *err);
    int fd; /* of the map; to see whether the file is still as long */
    /* Bytes of windows touched since the pages were last given back; how many may be. */
    _Atomic int64_t touched, share;
} sgfsi_packed;

/* Rows that lie together: a file that is mapped, or an array. Row i of the part starts at
 *     cells + (i / chunk_rows) chunk_bytes + (i % chunk_rows) row_bytes of the table.
 * Exactly one of owned (malloc) and map (mmap) is set. */
typedef struct sgfsi_part {
    char *path;    /* malloc'ed; for messages */
    int64_t first; /* its first row is this row of the table */
    int64_t rows;  /* at least 1 */
    const char *cells;
    int64_t chunk_rows; /* rows: all of them are one chunk */
    int64_t chunk_bytes;
    sgfsi_packed *packed; /* NULL: not a packed file */
    void *owned, *map;
    size_t map_bytes;
} sgfsi_part;

/* Words of a column, in order of first appearance; cells hold their numbers 0, 1, ... */
typedef struct sgfsi_dictionary {
    int64_t count; /* 0: a column of numbers */
    char **word;   /* malloc'ed */
} sgfsi_dictionary;

typedef struct sgfsi_table {
    int64_t rows, cols;
    int64_t row_stride; /* elements from one row to the next; rows are contiguous */
    sgfsi_dtype type;
    const void *cells; /* rows x cols, row-major; NULL: the rows are in parts, or sparse */
    int64_t parts;     /* 0: they are in cells or csr */
    sgfsi_part *part;  /* parts of one type and row_stride, by first row; malloc'ed */
    sgfs_csr csr;      /* SGFSI_CSR: the rows, columns counted from 0; every column a feature. The
                          arrays are malloc'ed where owned_csr, else borrowed */
    bool owned_csr;
    double *y; /* rows: a target that is no column, called target_name; malloc'ed; or NULL */
    char *target_name;            /* malloc'ed; set with y */
    bool text_y;                  /* y holds numbers of levels */
    sgfsi_dictionary *dictionary; /* cols: of --categorical; malloc'ed; NULL: numbers only */
    sgfsi_column_stats *stats;    /* cols; malloc'ed; NULL: nobody has looked yet */
    int64_t values; /* distinct values of the target, where the file tells them; else 0 */
    double *value, *value_rows; /* values, increasing; and rows of each; malloc'ed */
    bool shuffled; /* rows stand in an order drawn at random: neighbours are a fair sample */
    struct sgfsi_json *recipe; /* transforms that made the file (transform.h); or NULL. Owned */
    char **names;              /* cols; malloc'ed */
    unsigned char *role; /* cols values of sgfsi_role, exactly one the target; malloc'ed. NULL: the
                               table did not come from a file */
    bool named;          /* names came from the file (a header), not made up as x1, x2, ... */
    bool fewer;          /* some columns of the file are not here: numbers would be off */
    int64_t text_col; /* the column that held text, or -1; its cells are level numbers 0, 1, ... */
    int64_t text_line, text_level; /* its first cell that is no number: the line, the level */
    char *text_path; /* of several files, the one with that line; malloc'ed; NULL: there is one */
    int64_t levels;
    char **level; /* level texts in order of first appearance; malloc'ed */
    /* The device in whose memory the cells are, opened for this table, and what it keeps of them
     * (far.h); NULL: the host's memory. */
    const sgfs_device *device;
    void *kept;
    /* Ownership of cells: exactly one of owned (malloc) and map (mmap) is set; neither:
     * borrowed. */
    void *owned;
    void *map;
    size_t map_bytes;
} sgfsi_table;

/* Column col of a row of cells of that type. */
double sgfsi_table_cell(sgfsi_dtype type, const char *row, int64_t col);

void sgfsi_table_free(sgfsi_table *table); /* frees what it owns; safe on a zeroed table */
/* Free the cells and all that is known by column, for others to take their place. */
void sgfsi_table_forget_cells(sgfsi_table *table);
/* Forget which values the target has, and how often. */
void sgfsi_table_forget_values(sgfsi_table *table);

/* Frees cols names, and the list. Takes NULL. */
void sgfsi_names_free(char **names, int64_t cols);

/* The part that row is in; only for tables with parts. */
const sgfsi_part *sgfsi_table_part(const sgfsi_table *table, int64_t row);
/* "part-2.npy: row 17", as the row (from 0) is counted in its file; path: where there are no parts.
 */
const char *sgfsi_table_where(const sgfsi_table *table, const char *path, int64_t row, char *out,
                              size_t room);
/* Where a row starts. row_bytes: row_stride times the size of a cell. */
static inline const char *sgfsi_table_row(const sgfsi_table *table, int64_t row,
                                          int64_t row_bytes) {
    if (table->cells != NULL) return (const char *)table->cells + row * row_bytes;
    const sgfsi_part *p = table->parts == 1 ? table->part : sgfsi_table_part(table, row);
    int64_t i = row - p->first, chunk = i / p->chunk_rows;
    return p->cells + chunk * p->chunk_bytes + (i - chunk * p->chunk_rows) * row_bytes;
}
