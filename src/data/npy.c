/* SPDX-License-Identifier: MIT
 * npy.c: NumPy's array files, mapped rather than read (numpy/lib/format, versions 1.0, 2.0
 * and 3.0).
 *
 *     \x93NUMPY  major minor  header length (2 or 4 bytes, little-endian)  header  numbers
 *
 * The header is a Python literal, {'descr': '<f8', 'fortran_order': False, 'shape': (N, D), }. It
 * is parsed by hand and strictly: those three keys, those forms, nothing evaluated. Before anything
 * is mapped or allocated, the bytes the shape asks for are compared with the bytes the file has.
 *
 * Numbers in C order stay in the file: chains and processes share its pages. Two cases are copied
 * to memory instead: Fortran order (turned round, with a note) and numbers that do not start at a
 * multiple of their size. NaN are not looked for here: the design step does that for every source.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/columns.h"
#include "data/table.h"

enum { MAX_HEADER = 1 << 20, MAX_DIMS = 2, TILE = 64 };

typedef struct npy {
    const char *path;
    const unsigned char *file; /* the whole file, mapped */
    size_t file_bytes;
    size_t offset; /* of the numbers */
    sgfsi_dtype type;
    bool fortran;
    int dims;
    int64_t shape[MAX_DIMS];
    size_t bytes; /* of the numbers */
} npy;

/* ---- the header's literal -------------------------------------------------------------------- */

typedef struct cursor {
    const char *s, *end;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->s < c->end && (*c->s == ' ' || *c->s == '\n' || *c->s == '\t')) c->s++;
}

/* Take `text` if it comes next. */
static bool take(cursor *c, const char *text) {
    size_t n = strlen(text);
    skip_blanks(c);
    if ((size_t)(c->end - c->s) < n || memcmp(c->s, text, n) != 0) return false;
    c->s += n;
    return true;
}

/* A string in either kind of quotes, without escapes. */
static bool take_string(cursor *c, char *out, size_t room) {
    skip_blanks(c);
    if (c->s == c->end || (*c->s != '\'' && *c->s != '"')) return false;
    const char *close = memchr(c->s + 1, *c->s, (size_t)(c->end - c->s - 1));
    if (close == NULL || (size_t)(close - c->s) > room ||
        memchr(c->s, '\\', (size_t)(close - c->s))) {
        return false;
    }
    size_t n = (size_t)(close - c->s - 1);
    memcpy(out, c->s + 1, n);
    out[n] = '\0';
    c->s = close + 1;
    return true;
}

static bool take_size(cursor *c, int64_t *out) {
    skip_blanks(c);
    if (c->s == c->end || *c->s < '0' || *c->s > '9') return false;
    for (*out = 0; c->s < c->end && *c->s >= '0' && *c->s <= '9'; c->s++) {
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, *c->s - '0', out)) {
            return false;
        }
    }
    if (c->s < c->end && *c->s == 'L') c->s++; /* Python 2 wrote (3L, 4L) */
    return true;
}

static sgfs_status fail_header(const npy *a, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s: the .npy header is damaged or not written by NumPy.",
                      a->path);
}

/* "(3, 4)", "(3,)", "()"; dims past two are counted, not kept. */
static sgfs_status take_shape(npy *a, cursor *c, sgfs_err *err) {
    if (!take(c, "(")) return fail_header(a, err);
    a->dims = 0;
    while (!take(c, ")")) {
        int64_t size;
        if (!take_size(c, &size)) return fail_header(a, err);
        if (a->dims < MAX_DIMS) a->shape[a->dims] = size;
        a->dims++;
        if (!take(c, ",")) {
            if (a->dims == 1 || !take(c, ")")) return fail_header(a, err); /* (3) is no tuple */
            break;
        }
    }
    if (a->dims == 1 || a->dims == 2) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: the array has %d dimensions; save a table with two (rows x columns).",
                      a->path, a->dims);
}

static sgfs_status fail_type(const npy *a, const char *descr, sgfs_err *err) {
    const char *why = "is not a type that can be read; save it as float64 (astype('<f8'))";
    char order = descr[0], kind = descr[0] == '\0' ? '\0' : descr[1];
    if (kind == 'O') {
        why = "is Python objects (pickle), which are never loaded; save numbers instead";
    } else if (order == '>') {
        why = "is big-endian; save it little-endian (astype('<f8'))";
    } else if (kind == 'c') {
        why = "is complex numbers; save real ones";
    } else if (strcmp(descr, "<f2") == 0) {
        why = "is half precision; save it as float32 (astype('<f4'))";
    } else if (strcmp(descr, "<u8") == 0) {
        why = "is unsigned 64-bit, which a double cannot hold; save it as int64 or float64";
    } else if (kind == 'S' || kind == 'U' || kind == 'V') {
        why = "is text or raw bytes; code it as numbers";
    }
    return sgfsi_fail(err, SGFS_EDATA, "%s: the array's type '%.20s' %s.", a->path, descr, why);
}

static sgfs_status take_type(npy *a, cursor *c, sgfs_err *err) {
    static const struct {
        char text[4];
        sgfsi_dtype type;
    } types[] = {{"<f8", SGFSI_F64}, {"<f4", SGFSI_F32}, {"<i8", SGFSI_I64}, {"<i4", SGFSI_I32},
                 {"<i2", SGFSI_I16}, {"|i1", SGFSI_I8},  {"|u1", SGFSI_U8},  {"<u2", SGFSI_U16},
                 {"<u4", SGFSI_U32}, {"|b1", SGFSI_U8}};
    char descr[64];
    skip_blanks(c);
    if (c->s < c->end && *c->s == '[') {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: the array is structured (named fields); save a plain 2-d array of "
                          "numbers.",
                          a->path);
    }
    if (!take_string(c, descr, sizeof descr)) return fail_header(a, err);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(descr, types[i].text) != 0) continue;
        a->type = types[i].type;
        return SGFS_OK;
    }
    return fail_type(a, descr, err);
}

static sgfs_status take_value(npy *a, cursor *c, const char *key, unsigned *seen, sgfs_err *err) {
    unsigned bit = strcmp(key, "descr") == 0           ? 1u
                   : strcmp(key, "fortran_order") == 0 ? 2u
                   : strcmp(key, "shape") == 0         ? 4u
                                                       : 0u;
    if (bit == 0 || (*seen & bit) != 0) return fail_header(a, err);
    *seen |= bit;
    if (bit == 1) return take_type(a, c, err);
    if (bit == 4) return take_shape(a, c, err);
    a->fortran = take(c, "True");
    return a->fortran || take(c, "False") ? SGFS_OK : fail_header(a, err);
}

static sgfs_status parse_literal(npy *a, cursor c, sgfs_err *err) {
    unsigned seen = 0;
    if (!take(&c, "{")) return fail_header(a, err);
    while (!take(&c, "}")) {
        char key[32];
        if (!take_string(&c, key, sizeof key) || !take(&c, ":")) return fail_header(a, err);
        sgfs_status status = take_value(a, &c, key, &seen, err);
        if (status != SGFS_OK) return status;
        if (take(&c, ",")) continue;
        if (!take(&c, "}")) return fail_header(a, err);
        break;
    }
    skip_blanks(&c);
    return seen == 7 && c.s == c.end ? SGFS_OK : fail_header(a, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

static sgfs_status parse_file(npy *a, sgfs_err *err) {
    const unsigned char *b = a->file;
    if (a->file_bytes >= 2 && b[0] == 0x1F && b[1] == 0x8B) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: gunzip it first, so that it can be mapped.",
                          a->path);
    }
    if (a->file_bytes < 12 || memcmp(b, "\x93NUMPY", 6) != 0) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: is not a NumPy .npy file.", a->path);
    }
    if (b[6] < 1 || b[6] > 3 || b[7] != 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: .npy version %d.%d is not known; 1.0, 2.0 and 3.0 are.", a->path,
                          b[6], b[7]);
    }
    size_t start = b[6] == 1 ? 10 : 12, length = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] != 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > MAX_HEADER || length > a->file_bytes - start) return fail_header(a, err);
    a->offset = start + length;
    const char *text = (const char *)b + start;
    return parse_literal(a, (cursor){text, text + length}, err);
}

/* The bytes the shape asks for must be in the file, and rows and columns must be what they seem. */
static sgfs_status check_size(npy *a, sgfs_err *err) {
    int64_t rows = a->shape[0], cols = a->dims == 1 ? 1 : a->shape[1];
    a->shape[1] = cols;
    if (rows == 0 || cols == 0) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: the array is empty: %lld x %lld.", a->path,
                          (long long)rows, (long long)cols);
    }
    size_t cells, have = a->file_bytes - a->offset;
    bool huge = __builtin_mul_overflow((size_t)rows, (size_t)cols, &cells) ||
                __builtin_mul_overflow(cells, sgfsi_dtype_size(a->type), &a->bytes);
    if (huge) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: the header asks for %lld x %lld numbers, more than any file holds; "
                          "this one has %zu bytes of them.",
                          a->path, (long long)rows, (long long)cols, have);
    }
    if (a->bytes > have) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the file is cut off: %lld x %lld numbers take %zu bytes, and it has %zu.", a->path,
            (long long)rows, (long long)cols, a->bytes, have);
    }
    if (cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: has %lld columns, more than the %d allowed; is it transposed?",
                          a->path, (long long)cols, SGFSI_MAX_COLS);
    }
    return SGFS_OK;
}

static sgfs_status map_file(npy *a, sgfs_err *err) {
    struct stat st;
    int fd = open(a->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0) close(fd);
        return sgfsi_fail(err, SGFS_EIO, "%s: cannot open it: %s.", a->path, strerror(error));
    }
    a->file_bytes = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    if (a->file_bytes == 0) {
        close(fd);
        return sgfsi_fail(err, SGFS_EDATA, "%s: is empty or not a regular file.", a->path);
    }
    void *map = mmap(NULL, a->file_bytes, PROT_READ, MAP_SHARED, fd, 0);
    int error = errno;
    close(fd);
    if (map == MAP_FAILED) {
        return sgfsi_fail(err, SGFS_EIO, "%s: cannot map it: %s.", a->path, strerror(error));
    }
    a->file = map;
    return SGFS_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Column-major to row-major, tile by tile so that both sides stay in cache. */
static void turn_round(const npy *a, char *out) {
    const char *in = (const char *)a->file + a->offset;
    const int64_t rows = a->shape[0], cols = a->shape[1];
    const size_t size = sgfsi_dtype_size(a->type);
    for (int64_t r0 = 0; r0 < rows; r0 += TILE) {
        for (int64_t c0 = 0; c0 < cols; c0 += TILE) {
            int64_t r1 = r0 + TILE < rows ? r0 + TILE : rows,
                    c1 = c0 + TILE < cols ? c0 + TILE : cols;
            for (int64_t i = r0; i < r1; i++) {
                for (int64_t j = c0; j < c1; j++) {
                    memcpy(out + (size_t)(i * cols + j) * size, in + (size_t)(j * rows + i) * size,
                           size);
                }
            }
        }
    }
}

/* Point the table at the file, or at a copy where the file will not do. */
static sgfs_status place_cells(npy *a, const sgfsi_read_options *options, sgfsi_table *t,
                               sgfs_err *err) {
    bool turned = a->fortran && a->shape[0] > 1 && a->shape[1] > 1;
    if (!turned && a->offset % sgfsi_dtype_size(a->type) == 0) {
        t->cells = a->file + a->offset;
        t->map = (void *)(uintptr_t)a->file;
        t->map_bytes = a->file_bytes;
        a->file = NULL; /* the table's now */
        return SGFS_OK;
    }
    t->owned = malloc(a->bytes);
    if (t->owned == NULL) return sgfsi_fail_memory(err, "a copy of the array");
    t->cells = t->owned;
    if (turned) {
        turn_round(a, t->owned);
        sgfsi_say(
            options->log, SGFS_NOTE,
            "%s: the array is in Fortran order and was turned round in memory; saved in C order "
            "it could be mapped.",
            a->path);
    } else {
        memcpy(t->owned, a->file + a->offset, a->bytes);
    }
    return SGFS_OK;
}

/* x1, x2, ..., and the last one y where it is the target. */
static sgfs_status name_columns(const npy *a, const sgfsi_read_options *options, sgfsi_table *t,
                                sgfs_err *err) {
    t->names = sgfsi_names_made_up(t->cols);
    t->role = malloc((size_t)t->cols);
    if (t->names == NULL || t->role == NULL) return sgfsi_fail_memory(err, "column names");
    if (options->target[0] == '\0' || strcmp(options->target, "y") == 0) {
        memcpy(t->names[t->cols - 1], "y", 2); /* "x1" and longer have the room */
    }
    const sgfsi_columns columns = {a->path, t->cols, t->names};
    return sgfsi_columns_select(&columns, options, t->role, err);
}

static sgfs_status read_npy(const char *path, const sgfsi_read_options *options, sgfsi_table *table,
                            sgfs_err *err) {
    npy a = {.path = path};
    memset(table, 0, sizeof *table);
    sgfs_status status = map_file(&a, err);
    if (status == SGFS_OK) status = parse_file(&a, err);
    if (status == SGFS_OK) status = check_size(&a, err);
    if (status == SGFS_OK) {
        table->rows = a.shape[0];
        table->cols = table->row_stride = a.shape[1];
        table->type = a.type;
        table->text_col = -1;
        status = name_columns(&a, options, table, err);
    }
    if (status == SGFS_OK) status = place_cells(&a, options, table, err);
    if (a.file != NULL) munmap((void *)(uintptr_t)a.file, a.file_bytes);
    if (status != SGFS_OK) sgfsi_table_free(table);
    return status;
}

static bool probe_npy(const char *path, const unsigned char *head, size_t bytes) {
    size_t n = strlen(path);
    bool called = n >= 4 && strcasecmp(path + n - 4, ".npy") == 0;
    return called || (bytes >= 6 && memcmp(head, "\x93NUMPY", 6) == 0);
}

const sgfs_reader_kind sgfs_reader_npy = {
    .name = "npy",
    .help = "a NumPy array of one or two dimensions, mapped rather than read",
    .probe = probe_npy,
    .read = read_npy,
};
