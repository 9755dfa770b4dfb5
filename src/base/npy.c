/* SPDX-License-Identifier: MIT
 * npy.c: NumPy's array files (numpy/lib/format; version 1.0 is written, 2.0 and 3.0 are read, too):
 *
 *     \x93NUMPY  major minor  header length (2 or 4 bytes, little-endian)  header  numbers
 *
 * The header is a Python literal, {'descr': '<f8', 'fortran_order': False, 'shape': (N, D), },
 * padded with blanks and a line feed so that the numbers, little-endian, start at a multiple of 64
 * bytes. It is parsed by hand and strictly: those three keys, those forms, nothing evaluated. What
 * the type means, and whether the file has the bytes the shape asks for, is the caller's to check.
 */
#include "base/npy.h"

#include <string.h>

#include "base/little.h"

static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
enum { HEAD_BYTES = 192, PREFIX_BYTES = 10, ROUND = 64, PIECE = 512 };
enum { MAX_HEADER = 1 << 20, MAX_DIMS = 2 };

void sgfsi_npy_head(FILE *f, int dims, const int64_t *shape) {
    char head[HEAD_BYTES], list[96] = "";
    for (int k = 0; k < dims; k++)
        sgfsi_append(list, sizeof list, "%s%lld", k > 0 ? ", " : "", (long long)shape[k]);
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
        memchr(c->s, '\\', (size_t)(close - c->s)))
        return false;
    size_t n = (size_t)(close - c->s - 1);
    memcpy(out, c->s + 1, n);
    out[n] = '\0';
    c->s = close + 1;
    return true;
}

static sgfs_status fail_header(const sgfsi_npy *a, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s: the .npy header is damaged or not written by NumPy.",
                      a->path);
}

/* "(3, 4)", "(3,)", "()"; dims past two are counted, not kept. */
static sgfs_status take_shape(sgfsi_npy *a, cursor *c, sgfs_err *err) {
    if (!take(c, "(")) return fail_header(a, err);
    a->dims = 0;
    while (!take(c, ")")) {
        int64_t size = 0;
        skip_blanks(c);
        if (c->s == c->end || *c->s < '0' || *c->s > '9') return fail_header(a, err);
        for (; c->s < c->end && *c->s >= '0' && *c->s <= '9'; c->s++)
            if (__builtin_mul_overflow(size, 10, &size) ||
                __builtin_add_overflow(size, *c->s - '0', &size))
                return fail_header(a, err);
        if (c->s < c->end && *c->s == 'L') c->s++; /* Python 2 wrote (3L, 4L) */
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

static sgfs_status parse_literal(sgfsi_npy *a, cursor c, sgfs_err *err) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false};
    if (!take(&c, "{")) return fail_header(a, err);
    while (!take(&c, "}")) {
        char key[32];
        int k = 0;
        if (!take_string(&c, key, sizeof key) || !take(&c, ":")) return fail_header(a, err);
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3 || seen[k]) return fail_header(a, err);
        seen[k] = true;
        sgfs_status status = SGFS_OK;
        /* the value: a type, True or False, a tuple */
        if (k == 0 && take(&c, "["))
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: the array is structured (named fields); save a plain 2-d array "
                              "of numbers.",
                              a->path);
        if (k == 0 && !take_string(&c, a->descr, sizeof a->descr)) status = fail_header(a, err);
        if (k == 1) {
            a->fortran = take(&c, "True");
            if (!a->fortran && !take(&c, "False")) status = fail_header(a, err);
        }
        if (k == 2) status = take_shape(a, &c, err);
        if (status != SGFS_OK) return status;
        if (take(&c, ",")) continue;
        if (!take(&c, "}")) return fail_header(a, err);
        break;
    }
    skip_blanks(&c);
    return seen[0] && seen[1] && seen[2] && c.s == c.end ? SGFS_OK : fail_header(a, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

sgfs_status sgfsi_npy_parse(sgfsi_npy *a, const unsigned char *b, size_t count, sgfs_err *err) {
    if (count >= 2 && b[0] == 0x1F && b[1] == 0x8B)
        return sgfsi_fail(err, SGFS_EDATA, "%s: gunzip it first, so that it can be mapped.",
                          a->path);
    if (count < 12 || memcmp(b, "\x93NUMPY", 6) != 0)
        return sgfsi_fail(err, SGFS_EDATA, "%s: is not a NumPy .npy file.", a->path);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: .npy version %d.%d is not known; 1.0, 2.0 and 3.0 are.", a->path,
                          b[6], b[7]);
    size_t start = b[6] == 1 ? 10 : 12, length = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] != 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > MAX_HEADER || length > count - start) return fail_header(a, err);
    a->offset = start + length;
    const char *text = (const char *)b + start;
    return parse_literal(a, (cursor){text, text + length}, err);
}

sgfs_status sgfsi_npy_refuse_type(const sgfsi_npy *a, sgfs_err *err) {
    const char *descr = a->descr;
    const char *why = "is not a type that can be read; save it as float64 (astype('<f8'))";
    char order = descr[0], kind = descr[0] == '\0' ? '\0' : descr[1];
    if (kind == 'O')
        why = "is Python objects (pickle), which are never loaded; save numbers instead";
    else if (order == '>') why = "is big-endian; save it little-endian (astype('<f8'))";
    else if (kind == 'c') why = "is complex numbers; save real ones";
    else if (strcmp(descr, "<f2") == 0)
        why = "is half precision; save it as float32 (astype('<f4'))";
    else if (strcmp(descr, "<u8") == 0)
        why = "is unsigned 64-bit, which a double cannot hold; save it as int64 or float64";
    else if (kind == 'S' || kind == 'U' || kind == 'V')
        why = "is text or raw bytes; code it as numbers";
    return sgfsi_fail(err, SGFS_EDATA, "%s: the array's type '%.20s' %s.", a->path, descr, why);
}
