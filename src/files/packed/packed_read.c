/* SPDX-License-Identifier: MIT
 * packed_read.c: a packed file (packed.h) as a table: mapped, one part, nothing read but its head
 * and tail. Rows are looked at when they are needed, and each chunk's checksum when it is first
 * touched.
 *
 * Nothing in the file is believed before it is checked: page 0 by its checksum, then every length
 * against the others and the bytes the file really has, then the tail by its checksums, then what
 * the JSON text says against page 0. Only then is memory asked for by number of rows or columns.
 * The checksums are there for damage; someone who forges a file together with its checksums can
 * make it say false things, but not make us read beyond it.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "base/little.h"
#include "base/number.h"
#include "files/columns.h"
#include "files/packed/packed_layout.h"

typedef struct file {
    const char *path;
    int fd;
    uint64_t bytes;
    sgfsi_packed_head head;
} file;

static sgfs_status damaged(const file *f, const char *what, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: is damaged: %s. Make it again with sgfs pack, or fetch another copy.",
                      f->path, what);
}

/* Exactly `count` bytes. */
static sgfs_status read_at(const file *f, void *out, size_t count, uint64_t at, sgfs_err *err) {
    int error = sgfsi_io_read(f->fd, out, count, (int64_t)at);
    if (error == 0) return SGFS_OK;
    if (error == SGFSI_IO_SHORT) return damaged(f, "it became shorter while it was read", err);
    return sgfsi_fail_io(err, f->path, "read it", error);
}

/* ---- page 0 ---------------------------------------------------------------------------------- */

static sgfs_status read_head(file *f, sgfs_err *err) {
    unsigned char page[SGFSI_PAGE] = {0};
    bool shorter = f->bytes < sizeof page;
    sgfs_status status = read_at(f, page, shorter ? (size_t)f->bytes : sizeof page, 0, err);
    if (status != SGFS_OK) return status;
    if (memcmp(page, SGFSI_PACKED_MAGIC, 8) != 0) {
        if (page[0] == 0x1F && page[1] == 0x8B) {
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s: is compressed, and a packed file is mapped as it is; gunzip it first.",
                f->path);
        }
        if (memcmp(page + 1, "SGD", 3) == 0)
            return damaged(f, "its first bytes were changed, as by a transfer in text mode", err);
        return damaged(f, "it does not begin as a packed file does", err);
    }
    if (shorter) return damaged(f, "it is shorter than its first page", err);
#define GET32(member, at) f->head.member = sgfsi_get_u32(page + (at));
#define GET64(member, at) f->head.member = sgfsi_get_u64(page + (at));
    SGFSI_PACKED_U32(GET32)
    SGFSI_PACKED_U64(GET64)
#undef GET32
#undef GET64
    bool whole =
        sgfsi_crc32(0, page, SGFSI_PACKED_CRC_AT) == sgfsi_get_u32(page + SGFSI_PACKED_CRC_AT);
    if (!whole) return damaged(f, "the checksum of its first page is wrong", err);
    if (f->head.version == SGFSI_PACKED_VERSION) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: is a packed file of version %u, and this program reads version %d; use "
                      "a newer sgfs, or make the file again.",
                      f->path, f->head.version, SGFSI_PACKED_VERSION);
}

/* Do the lengths of page 0 fit together? No product here may pass 2^63. */
static bool fits_together(const sgfsi_packed_head *h) {
    uint64_t row, rows_bytes, chunk_rows_bytes, end;
    if (h->type < 1 || h->type > SGFSI_U32 + 1 || h->page != SGFSI_PAGE) return false;
    if (h->rows < 1 || h->cols < 1 || h->chunk_rows < 1 || h->chunk_bytes < 1) return false;
    if (h->rows > INT64_MAX || h->cols > SGFSI_MAX_COLS || h->chunk_rows > INT64_MAX) return false;
    if (h->file_bytes > INT64_MAX || h->chunk_bytes % SGFSI_PAGE != 0) return false;
    if (h->flags > SGFSI_PACKED_SHUFFLED) return false;
    row = h->cols * sgfsi_dtype_size((sgfsi_dtype)(h->type - 1));
    if (__builtin_mul_overflow(h->chunk_rows, row, &chunk_rows_bytes)) return false;
    if (chunk_rows_bytes > h->chunk_bytes) return false;
    if (h->chunks != (h->rows - 1) / h->chunk_rows + 1) return false;
    if (__builtin_mul_overflow(h->chunks, h->chunk_bytes, &rows_bytes)) return false;
    if (__builtin_add_overflow(rows_bytes, SGFSI_PAGE, &end) || end != h->crc_at) return false;
    if (__builtin_add_overflow(end, 4 * h->chunks, &end) || end != h->json_at) return false;
    if (h->json_bytes > sgfsi_packed_most_json(h->cols)) return false;
    return !__builtin_add_overflow(end, h->json_bytes, &end) && end == h->file_bytes;
}

/* ---- what the JSON text says ----------------------------------------------------------------- */

/* stored: cols roles as they were written. */
static sgfs_status take_columns(const file *f, const sgfsi_json *o, sgfsi_table *t,
                                unsigned char *stored, sgfs_err *err) {
    const sgfsi_json *columns = sgfsi_json_get(o, "columns");
    int count[5] = {0};
    bool known = true; /* the statistics of all columns */
    if (sgfsi_json_length(columns) != t->cols)
        return damaged(f, "it names another number of columns than it has", err);
    for (int64_t j = 0; j < t->cols; j++) {
        const sgfsi_json *c = sgfsi_json_at(columns, j);
        const char *name = sgfsi_json_get_text(c, "name", NULL),
                   *role = sgfsi_json_get_text(c, "role", "");
        unsigned char k = 0;
        while (k < 5 && strcmp(role, sgfsi_packed_roles[k]) != 0) k++;
        if (name == NULL || k == 5) return damaged(f, "a column has no name or no role", err);
        stored[j] = k;
        count[k] += k > SGFSI_ROLE_FEATURE;
        t->names[j] = strdup(name);
        if (t->names[j] == NULL) return sgfsi_fail_memory(err, "column names");
        sgfsi_column_stats *s = &t->stats[j];
        *s = (sgfsi_column_stats){.rows = (double)t->rows,
                                  .count = (double)t->rows,
                                  .mean = sgfsi_json_get_num(c, "mean", NAN),
                                  .ss = sgfsi_json_get_num(c, "ss", NAN),
                                  .min = sgfsi_json_get_num(c, "min", NAN),
                                  .max = sgfsi_json_get_num(c, "max", NAN)};
        known = known && isfinite(s->mean) && isfinite(s->ss) && s->ss >= 0 && isfinite(s->min) &&
                isfinite(s->max) && s->min <= s->max;
    }
    if (!known) {
        free(t->stats);
        t->stats = NULL;
    }
    bool good = count[SGFSI_ROLE_TARGET] == 1 && count[SGFSI_ROLE_WEIGHTS] <= 1 &&
                count[SGFSI_ROLE_EXPOSURE] <= 1;
    return good ? SGFS_OK : damaged(f, "its columns share a role that only one can have", err);
}

/* The target's words. */
static sgfs_status take_levels(const file *f, const sgfsi_json *o, int64_t target, sgfsi_table *t,
                               sgfs_err *err) {
    const sgfsi_json *levels = sgfsi_json_get(o, "levels");
    int64_t count = sgfsi_json_length(levels);
    double ignored;
    t->text_col = -1;
    if (levels == NULL) return SGFS_OK;
    if (count < 1) return damaged(f, "the words of its target are missing", err);
    t->level = calloc((size_t)count, sizeof *t->level);
    if (t->level == NULL) return sgfsi_fail_memory(err, "the words of the target");
    t->levels = count;
    t->text_line = 1;
    for (int64_t k = count - 1; k >= 0; k--) {
        const char *word = sgfsi_json_as_text(sgfsi_json_at(levels, k));
        if (word == NULL) return damaged(f, "a word of its target is none", err);
        t->level[k] = strdup(word);
        if (t->level[k] == NULL) return sgfsi_fail_memory(err, "the words of the target");
        if (!sgfsi_text_num(word, &ignored)) t->text_level = k;
    }
    t->text_col = target;
    const sgfsi_column_stats *known = t->stats != NULL ? &t->stats[target] : NULL;
    if (known == NULL || (known->min >= 0 && known->max < (double)count)) return SGFS_OK;
    return damaged(f, "its target has numbers of words that are not there", err);
}

/* The target's values: increasing, whole numbers where they are words, and all rows have one. */
static sgfs_status take_values(const file *f, const sgfsi_json *o, sgfsi_table *t, sgfs_err *err) {
    const sgfsi_json *value = sgfsi_json_get(o, "values"), *rows = sgfsi_json_get(o, "value_rows");
    int64_t count = sgfsi_json_length(value);
    bool good = count >= 1 && sgfsi_json_length(rows) == count;
    double sum = 0;
    if (value == NULL && rows == NULL) return SGFS_OK; /* too many to list */
    if (!good) return damaged(f, "the list of its target's values is odd", err);
    t->value = malloc((size_t)count * sizeof *t->value);
    t->value_rows = malloc((size_t)count * sizeof *t->value_rows);
    if (t->value == NULL || t->value_rows == NULL)
        return sgfsi_fail_memory(err, "the target's values");
    t->values = count;
    for (int64_t k = 0; k < count && good; k++) {
        double v = NAN, n = NAN;
        good = sgfsi_json_as_num(sgfsi_json_at(value, k), &v) &&
               sgfsi_json_as_num(sgfsi_json_at(rows, k), &n) && isfinite(v) && n >= 1 &&
               (k == 0 || v > t->value[k - 1]);
        if (t->text_col >= 0) good = good && v >= 0 && v < (double)t->levels && v == trunc(v);
        t->value[k] = v;
        t->value_rows[k] = n;
        sum += n;
    }
    good = good && sum == (double)t->rows;
    return good ? SGFS_OK : damaged(f, "the list of its target's values is odd", err);
}

static sgfs_status take_text(const file *f, const sgfsi_json *o, unsigned char *stored,
                             const sgfsi_read_options *options, sgfsi_table *t, sgfs_err *err) {
    sgfs_status status = take_columns(f, o, t, stored, err);
    if (status != SGFS_OK) return status;
    int64_t target = 0; /* there is one */
    while (stored[target] != SGFSI_ROLE_TARGET) target++;
    status = take_levels(f, o, target, t, err);
    if (status == SGFS_OK) status = take_values(f, o, t, err);
    if (status != SGFS_OK) return status;
    t->named = sgfsi_json_get_flag(o, "named");
    const sgfsi_json *recipe = sgfsi_json_get(o, "recipe");
    if (recipe != NULL) t->recipe = sgfsi_json_copy(recipe);
    if (recipe != NULL && t->recipe == NULL) return sgfsi_fail_memory(err, "the transforms");
    /* Roles by the options, as stored where they are silent. */
    const sgfsi_columns columns = {f->path, t->cols, t->names, t->named, t->recipe, NULL};
    status = sgfsi_columns_select(&columns, stored, options, t->role, err);
    if (status != SGFS_OK || t->role[target] == SGFSI_ROLE_TARGET) return status;
    sgfsi_table_forget_values(t); /* they are of another column */
    if (t->text_col < 0 || t->role[t->text_col] == SGFSI_ROLE_NONE) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "%s: column \"%.60s\" holds words, so it can only be the target; leave it out "
        "of --features, --weights and --exposure.",
        f->path, t->names[t->text_col]);
}

static sgfs_status read_text(const file *f, const sgfsi_read_options *options, sgfsi_table *t,
                             sgfs_err *err) {
    const sgfsi_packed_head *h = &f->head;
    const size_t cols = (size_t)t->cols;
    unsigned char *stored = NULL;
    sgfsi_json *o = NULL;
    char *text = malloc(h->json_bytes + 1);
    sgfs_status status = text != NULL ? read_at(f, text, h->json_bytes, h->json_at, err)
                                      : sgfsi_fail_memory(err, "the description of the columns");
    if (status == SGFS_OK && sgfsi_crc32(0, text, h->json_bytes) != h->json_crc)
        status = damaged(f, "the checksum of its last part is wrong", err);
    sgfs_err why = {SGFS_OK, ""};
    if (status == SGFS_OK) o = sgfsi_json_parse(text, h->json_bytes, f->path, &why);
    if (status == SGFS_OK) status = sgfsi_fail_hard(&why, err);
    if (status == SGFS_OK && o == NULL)
        status = damaged(f, "the description of its columns cannot be read", err);
    if (status == SGFS_OK) {
        stored = malloc(cols);
        t->names = calloc(cols, sizeof *t->names);
        t->role = malloc(cols);
        t->stats = malloc(cols * sizeof *t->stats);
        bool room = stored != NULL && t->names != NULL && t->role != NULL && t->stats != NULL;
        status =
            room ? take_text(f, o, stored, options, t, err) : sgfsi_fail_memory(err, "the columns");
    }
    sgfsi_json_free(o);
    free(stored);
    free(text);
    return status;
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* The part takes the descriptor over. */
static sgfs_status map_rows(file *f, sgfsi_table *t, sgfs_err *err) {
    const sgfsi_packed_head *h = &f->head;
    sgfsi_part *part = t->part = calloc(1, sizeof *part);
    if (part == NULL) return sgfsi_fail_memory(err, "the rows");
    t->parts = 1;
    *part = (sgfsi_part){.path = strdup(f->path),
                         .rows = (int64_t)h->rows,
                         .chunk_rows = (int64_t)h->chunk_rows,
                         .chunk_bytes = (int64_t)h->chunk_bytes,
                         .packed = calloc(1, sizeof *part->packed)};
    if (part->path == NULL || part->packed == NULL) return sgfsi_fail_memory(err, "the rows");
    part->packed->chunks = (int64_t)h->chunks;
    part->packed->check = sgfsi_packed_check;
    part->packed->fd = f->fd;
    f->fd = -1;
    part->packed->seen = calloc((size_t)(h->chunks / 8) + 1, 1);
    if (part->packed->seen == NULL) return sgfsi_fail_memory(err, "the rows");
    /* Rows are read in no order: the kernel need not read ahead, whoever walks says so. */
    void *map = mmap(NULL, (size_t)f->bytes, PROT_READ, MAP_SHARED, part->packed->fd, 0);
    if (map == MAP_FAILED) return sgfsi_fail_io(err, f->path, "map it", errno);
    part->map = map;
    part->map_bytes = (size_t)f->bytes;
    part->cells = (const char *)map + SGFSI_PAGE;
    (void)madvise((char *)map + SGFSI_PAGE, (size_t)(h->crc_at - SGFSI_PAGE), MADV_RANDOM);
    const uint32_t *crc = (const uint32_t *)(const void *)((const char *)map + h->crc_at);
    part->packed->crc = crc;
    if (sgfsi_crc32(0, crc, (size_t)h->chunks * sizeof *crc) == h->crc_crc) return SGFS_OK;
    return damaged(f, "the checksum of its list of checksums is wrong", err);
}

static sgfs_status read_table(file *f, const sgfsi_read_options *options, sgfsi_table *t,
                              sgfs_err *err) {
    struct stat st;
    if (!sgfsi_packed_machine(f->path, err)) return SGFS_EDATA;
    f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) return sgfsi_fail_io(err, f->path, "open it", errno);
    if (!S_ISREG(st.st_mode))
        return sgfsi_fail(err, SGFS_EDATA, "%s: is not a regular file.", f->path);
    f->bytes = (uint64_t)st.st_size;
    sgfs_status status = read_head(f, err);
    if (status != SGFS_OK) return status;
    if (!fits_together(&f->head))
        return damaged(f, "the lengths in its first page contradict each other", err);
    if (f->bytes != f->head.file_bytes) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: %s: it should have %llu bytes and has %llu. Copy it again, or make "
                          "it again with sgfs pack.",
                          f->path, f->bytes < f->head.file_bytes ? "is cut off" : "is too long",
                          (unsigned long long)f->head.file_bytes, (unsigned long long)f->bytes);
    }
    t->rows = (int64_t)f->head.rows;
    t->cols = t->row_stride = (int64_t)f->head.cols;
    t->type = (sgfsi_dtype)(f->head.type - 1);
    t->shuffled = (f->head.flags & SGFSI_PACKED_SHUFFLED) != 0;
    t->text_col = -1;
    status = read_text(f, options, t, err);
    if (status != SGFS_OK) return status;
    return map_rows(f, t, err);
}

static sgfs_status read_packed(const char *path, const sgfsi_read_options *options,
                               sgfsi_table *table, sgfs_err *err) {
    file f = {.path = path, .fd = -1};
    memset(table, 0, sizeof *table);
    sgfs_status status = read_table(&f, options, table, err);
    if (f.fd >= 0) close(f.fd);
    if (status != SGFS_OK) sgfsi_table_free(table);
    return status;
}

static bool probe_packed(const char *path, const unsigned char *head, size_t bytes) {
    size_t n = strlen(path);
    bool called = n >= 4 && strcasecmp(path + n - 4, ".sgd") == 0;
    return called || (bytes >= 4 && memcmp(head, SGFSI_PACKED_MAGIC, 4) == 0);
}

const sgfs_reader_kind sgfs_reader_packed = {
    .name = "packed",
    .help = "rows packed by sgfs pack or sgfs simulate (.sgd), mapped; may be larger than memory",
    .packed = true,
    .probe = probe_packed,
    .map = read_packed,
};
