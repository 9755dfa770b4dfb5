/* SPDX-License-Identifier: MIT
 * matrix.c: a file becomes a table of rows x cols numbers, and the table a matrix or a vector. The
 * size is settled before anything of that size is allocated.
 */
#include "base/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/number.h"

/* Room for a file is at least this much, so that one of the wrong shape is told its shape. */
static const size_t least_limit = (size_t)64 << 20;
enum { BYTES_A_NUMBER = 32 };
static const double tolerance = 1e-8; /* of symmetry */

typedef struct table {
    const char *path;
    int64_t rows, cols;
    double *x; /* rows x cols, row-major; from malloc */
} table;

/* ---- NumPy ----------------------------------------------------------------------------------- */

static sgfs_status read_npy(table *t, const char *bytes, size_t count, sgfs_err *err) {
    sgfsi_npy head = {.path = t->path};
    sgfs_status status = sgfsi_npy_parse(&head, (const unsigned char *)bytes, count, err);
    if (status != SGFS_OK) return status;
    bool single = strcmp(head.descr, "<f4") == 0;
    if (!single && strcmp(head.descr, "<f8") != 0) return sgfsi_npy_refuse_type(&head, err);
    /* Has the file the bytes that its shape asks for? */
    t->rows = head.shape[0];
    t->cols = head.dims == 1 ? 1 : head.shape[1];
    size_t size = single ? 4 : 8, cells, need;
    if (__builtin_mul_overflow((size_t)t->rows, (size_t)t->cols, &cells) ||
        __builtin_mul_overflow(cells, size, &need) || need > count - head.offset) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: the file is cut off: %lld x %lld numbers do not fit into its %zu "
                          "bytes.",
                          t->path, (long long)t->rows, (long long)t->cols, count - head.offset);
    }
    t->x = malloc((cells > 0 ? cells : 1) * sizeof *t->x);
    if (t->x == NULL) return sgfsi_fail_memory(err, t->path);
    /* To doubles, row by row. */
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t j = 0; j < t->cols; j++) {
            int64_t k = head.fortran ? j * t->rows + i : i * t->cols + j;
            const char *at = bytes + head.offset + (size_t)k * size;
            float narrow = 0;
            double x = 0;
            if (single) memcpy(&narrow, at, sizeof narrow);
            else memcpy(&x, at, sizeof x);
            t->x[i * t->cols + j] = single ? (double)narrow : x;
        }
    }
    return SGFS_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *skip_blanks(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r')) s++;
    return s;
}

/* The numbers of one line into x; how many, or -1 with *bad where it stopped making sense. */
static int64_t read_line(const char *s, const char *end, double *x, const char **bad) {
    int64_t count = 0;
    s = skip_blanks(s, end);
    while (s < end) {
        const char *stop = sgfsi_parse_num(s, end, &x[count]);
        const char *next = stop != NULL ? skip_blanks(stop, end) : NULL;
        if (next != NULL && next < end && *next == ',') {
            next = skip_blanks(next + 1, end);
            if (next == end) stop = NULL; /* nothing after the comma */
        } else if (next == stop && stop != end) {
            stop = NULL; /* "1.5x" */
        }
        if (stop == NULL) {
            *bad = s;
            return -1;
        }
        count++;
        s = next;
    }
    return count;
}

static sgfs_status read_text(table *t, const char *text, size_t bytes, sgfs_err *err) {
    const char *end = text + bytes, *next;
    t->x = malloc((bytes / 2 + 2) * sizeof *t->x); /* a number and what ends it: two bytes */
    if (t->x == NULL) return sgfsi_fail_memory(err, t->path);
    for (int64_t line = 1; text < end; line++, text = next) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        next = stop != NULL ? stop + 1 : end;
        if (stop == NULL) stop = end;
        const char *comment = memchr(text, '#', (size_t)(stop - text)), *bad = text;
        double *x = t->x + t->rows * t->cols;
        int64_t count = read_line(text, comment != NULL ? comment : stop, x, &bad);
        if (count == 0) continue;
        if (count < 0) {
            int shown = stop - bad < 20 ? (int)(stop - bad) : 20;
            return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: there is no number at \"%.*s\".", t->path,
                              (long long)line, shown, bad);
        }
        if (t->rows > 0 && count != t->cols)
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s:%lld: %lld numbers, where the lines before have %lld.", t->path,
                              (long long)line, (long long)count, (long long)t->cols);
        t->cols = count;
        t->rows++;
    }
    return SGFS_OK;
}

/* ---- matrices and vectors -------------------------------------------------------------------- */

static sgfs_status read_table(table *t, const char *path, int64_t D, sgfs_err *err) {
    /* A file much longer than any text of D x D numbers is refused before it is read. */
    size_t count, limit;
    *t = (table){.path = path};
    if (__builtin_mul_overflow((size_t)D, (size_t)D, &limit) ||
        __builtin_mul_overflow(limit, BYTES_A_NUMBER, &limit)) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: no file holds a matrix for %lld parameters.", path,
                          (long long)D);
    }
    if (limit < least_limit) limit = least_limit;
    char *bytes = sgfsi_file_read(path, limit, &count, err);
    if (bytes == NULL) return sgfsi_why(err);
    bool npy = count >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
    sgfs_status status = npy ? read_npy(t, bytes, count, err) : read_text(t, bytes, count, err);
    free(bytes);
    for (int64_t i = 0; status == SGFS_OK && i < t->rows * t->cols; i++) {
        if (isfinite(t->x[i])) continue;
        status =
            sgfsi_fail(err, SGFS_EDATA, "%s: the number in row %lld, column %lld is not finite.",
                       path, (long long)(i / t->cols + 1), (long long)(i % t->cols + 1));
    }
    return status;
}

static bool is_vector(const table *t, int64_t D) {
    return (t->rows == D && t->cols == 1) || (t->rows == 1 && t->cols == D);
}

static sgfs_status wrong_shape(const table *t, int64_t D, bool matrix, sgfs_err *err) {
    char square[64] = "";
    if (matrix) snprintf(square, sizeof square, "%lld x %lld or ", (long long)D, (long long)D);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has %lld x %lld numbers; the model has %lld parameters: %s%lld are "
                      "needed%s.",
                      t->path, (long long)t->rows, (long long)t->cols, (long long)D, square,
                      (long long)D, matrix ? " (a diagonal)" : "");
}

/* Both triangles become their mean, so that rounding in a printed file does no harm. */
static sgfs_status symmetrise(const table *t, int64_t D, sgfs_err *err) {
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) {
            double *lower = &t->x[i * D + j], *upper = &t->x[j * D + i];
            double size = fmax(fmax(fabs(*lower), fabs(*upper)),
                               sqrt(fabs(t->x[i * D + i])) * sqrt(fabs(t->x[j * D + j])));
            if (fabs(*lower - *upper) > tolerance * size)
                return sgfsi_fail(err, SGFS_EDATA,
                                  "%s: the matrix is not symmetric: row %lld, column %lld is %s, "
                                  "and row %lld, column %lld is %s.",
                                  t->path, (long long)(i + 1), (long long)(j + 1),
                                  SGFSI_DIGITS(*lower, 6), (long long)(j + 1), (long long)(i + 1),
                                  SGFSI_DIGITS(*upper, 6));
            *lower = *upper = *lower + (*upper - *lower) / 2;
        }
    }
    return SGFS_OK;
}

sgfs_status sgfsi_matrix_read(sgfsi_matrix *m, const char *path, int64_t D, sgfsi_arena *arena,
                              sgfs_err *err) {
    sgfs_err own;
    table t;
    *m = (sgfsi_matrix){.D = D};
    if (err == NULL) err = &own;
    sgfs_status status = read_table(&t, path, D, err);
    if (status == SGFS_OK) {
        m->diagonal = is_vector(&t, D);
        if (!m->diagonal)
            status =
                t.rows == D && t.cols == D ? symmetrise(&t, D, err) : wrong_shape(&t, D, true, err);
    }
    if (status == SGFS_OK) {
        int64_t count = t.rows * t.cols;
        m->a = SGFSI_DOUBLES(arena, count);
        if (m->a == NULL) status = sgfsi_fail_memory(err, path);
        else memcpy(m->a, t.x, (size_t)count * sizeof *m->a);
    }
    free(t.x);
    return status;
}

sgfs_status sgfsi_vector_read(double *v, const char *path, int64_t D, sgfs_err *err) {
    sgfs_err own;
    table t;
    if (err == NULL) err = &own;
    sgfs_status status = read_table(&t, path, D, err);
    if (status == SGFS_OK && !is_vector(&t, D)) status = wrong_shape(&t, D, false, err);
    if (status == SGFS_OK) memcpy(v, t.x, (size_t)D * sizeof *v);
    free(t.x);
    return status;
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

int64_t sgfsi_cholesky(int64_t D, double *A) {
    for (int64_t i = 0; i < D; i++) {
        double *row = A + i * D;
        for (int64_t j = 0; j < i; j++) row[j] = (row[j] - dot(j, row, A + j * D)) / A[j * D + j];
        double pivot = row[i] - dot(i, row, row);
        if (!(pivot > 0)) return i + 1;
        row[i] = sqrt(pivot);
    }
    return 0;
}

int sgfsi_by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
