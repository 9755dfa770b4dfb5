/* SPDX-License-Identifier: MIT
 * npy.c: NumPy's array files, mapped rather than read. base/npy.c parses the header; before
 * anything is allocated, the bytes the shape asks for are compared with the bytes the file has.
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

#include "base/npy.h"
#include "files/columns.h"
#include "files/reader.h"

enum { TILE = 64 };

typedef struct npy {
    const char *path;
    const unsigned char *file; /* the whole file, mapped */
    size_t file_bytes;
    sgfsi_npy head;
    sgfsi_dtype type;
    size_t bytes; /* of the numbers */
} npy;

/* ---- the file -------------------------------------------------------------------------------- */

/* The bytes the shape asks for must be in the file, and rows and columns must be what they seem. */
static sgfs_status check_size(npy *a, sgfs_err *err) {
    int64_t rows = a->head.shape[0], cols = a->head.dims == 1 ? 1 : a->head.shape[1];
    a->head.shape[1] = cols;
    if (rows == 0 || cols == 0) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: the array is empty: %lld x %lld.", a->path,
                          (long long)rows, (long long)cols);
    }
    size_t cells, have = a->file_bytes - a->head.offset;
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
    int fd = open(a->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0) close(fd);
        return sgfsi_fail_io(err, a->path, "open it", error);
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
        return sgfsi_fail_io(err, a->path, "map it", error);
    }
    a->file = map;
    return SGFS_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Point the table at the file, or at a copy where the file will not do. */
static sgfs_status place_cells(npy *a, const sgfsi_read_options *options, sgfsi_table *t,
                               sgfs_err *err) {
    const int64_t rows = a->head.shape[0], cols = a->head.shape[1];
    const size_t size = sgfsi_dtype_size(a->type);
    const char *in = (const char *)a->file + a->head.offset;
    bool turned = a->head.fortran && rows > 1 && cols > 1;
    if (!turned && a->head.offset % size == 0) {
        t->cells = in;
        t->map = (void *)(uintptr_t)a->file;
        t->map_bytes = a->file_bytes;
        a->file = NULL; /* the table's now */
        return SGFS_OK;
    }
    char *out = t->owned = malloc(a->bytes);
    if (out == NULL) return sgfsi_fail_memory(err, "a copy of the array");
    t->cells = t->owned;
    if (!turned) return memcpy(out, in, a->bytes), SGFS_OK;
    /* Column-major to row-major, some rows at a time so that both sides stay in cache. */
    for (int64_t first = 0; first < rows; first += TILE) {
        int64_t end = first + TILE < rows ? first + TILE : rows;
        for (int64_t k = first * cols, j = 0; j < cols; j++) {
            for (int64_t i = first; i < end; i++)
                memcpy(out + (size_t)(k + (i - first) * cols + j) * size,
                       in + (size_t)(j * rows + i) * size, size);
        }
    }
    sgfsi_say(options->log, SGFS_NOTE,
              "%s: the array is in Fortran order and was turned round in memory; saved in C order "
              "it could be mapped.",
              a->path);
    return SGFS_OK;
}

/* x1, x2, ..., and y where the target was not named, or named so: the last column that is neither
 * weights nor exposure. */
static sgfs_status name_columns(const npy *a, const sgfsi_read_options *options, sgfsi_table *t,
                                sgfs_err *err) {
    t->names = sgfsi_names_made_up(t->cols);
    t->role = malloc((size_t)t->cols);
    if (t->names == NULL || t->role == NULL) return sgfsi_fail_memory(err, "column names");
    bool last = options->target[0] == '\0' && options->run == NULL,
         named = strcmp(options->target, "y") == 0;
    bool others = (options->weights != NULL && options->weights[0] != '\0') ||
                  (options->exposure != NULL && options->exposure[0] != '\0');
    if (named || (options->target[0] == '\0' && !others))
        memcpy(t->names[t->cols - 1], "y", 2); /* "x1" has the room */
    const sgfsi_columns columns = {.path = a->path, .cols = t->cols, .names = t->names};
    sgfs_status status = sgfsi_columns_select(&columns, NULL, options, t->role, err);
    for (int64_t i = 0; status == SGFS_OK && last && i < t->cols; i++) {
        if (t->role[i] == SGFSI_ROLE_TARGET) memcpy(t->names[i], "y", 2);
    }
    return status;
}

static sgfs_status read_npy(const char *path, const sgfsi_read_options *options, sgfsi_table *table,
                            sgfs_err *err) {
    static const struct {
        char text[4];
        sgfsi_dtype type;
    } types[] = {{"<f8", SGFSI_F64}, {"<f4", SGFSI_F32}, {"<i8", SGFSI_I64}, {"<i4", SGFSI_I32},
                 {"<i2", SGFSI_I16}, {"|i1", SGFSI_I8},  {"|u1", SGFSI_U8},  {"<u2", SGFSI_U16},
                 {"<u4", SGFSI_U32}, {"|b1", SGFSI_U8}};
    enum { TYPES = sizeof types / sizeof types[0] };
    npy a = {.path = path, .head = {.path = path}};
    size_t k = 0;
    memset(table, 0, sizeof *table);
    sgfs_status status = map_file(&a, err);
    if (status == SGFS_OK) status = sgfsi_npy_parse(&a.head, a.file, a.file_bytes, err);
    while (status == SGFS_OK && k < TYPES && strcmp(a.head.descr, types[k].text) != 0) k++;
    if (status == SGFS_OK && k == TYPES) status = sgfsi_npy_refuse_type(&a.head, err);
    if (status == SGFS_OK) a.type = types[k].type;
    if (status == SGFS_OK) status = check_size(&a, err);
    if (status == SGFS_OK) {
        table->rows = a.head.shape[0];
        table->cols = table->row_stride = a.head.shape[1];
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
    .map = read_npy,
};
