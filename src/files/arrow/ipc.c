/* SPDX-License-Identifier: MIT
 * ipc.c: Arrow messages, read and checked.
 *
 *     FF FF FF FF   bytes of the head   head: a FlatBuffer "Message"   body   ...   FF FF FF FF 0
 *
 * A FlatBuffer is read in place: a table begins with the distance back to its list of fields, which
 * has for each field the distance from the table, or 0 where it is left out. The numbers of fields
 * below are those of Arrow's Message.fbs and Schema.fbs.
 */
#include "files/arrow/ipc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/little.h"
#include "base/number.h"
#include "files/reader.h"
#include "rows/table.h"

enum { MOST_HEAD = 1 << 26, STEP = 1 << 22, DEEP = 32, WORD_ROOM = 40 /* beside its letters */ };
enum { SCHEMA = 1, DICTIONARY = 2, BATCH = 3 }; /* headers of a message */

/* ---- FlatBuffers ----------------------------------------------------------------------------- */

typedef struct flat {
    const unsigned char *bytes;
    size_t size;
} flat;

static bool inside(const flat *f, size_t at, size_t bytes) {
    return at <= f->size && bytes <= f->size - at;
}

static uint32_t u16(const unsigned char *in) {
    return (uint32_t)in[0] | (uint32_t)in[1] << 8;
}

/* Where field `id` of a table lies; 0: it is left out, or nonsense. room: bytes that it has. */
static size_t field_at(const flat *f, size_t table, int id, size_t room) {
    if (table == 0 || !inside(f, table, 4)) return 0;
    int64_t list = (int64_t)table - (int32_t)sgfsi_get_u32(f->bytes + table);
    size_t slot = (size_t)(4 + 2 * id);
    if (list < 0 || !inside(f, (size_t)list, 4)) return 0;
    if (u16(f->bytes + list) < slot + 2 || !inside(f, (size_t)list, slot + 2)) return 0;
    uint32_t away = u16(f->bytes + (size_t)list + slot);
    return away != 0 && inside(f, table + away, room) ? table + away : 0;
}

static int64_t number(const flat *f, size_t table, int id, int bytes, int64_t otherwise) {
    size_t at = field_at(f, table, id, (size_t)bytes);
    if (at == 0) return otherwise;
    if (bytes == 8) return (int64_t)sgfsi_get_u64(f->bytes + at);
    if (bytes == 4) return (int32_t)sgfsi_get_u32(f->bytes + at);
    return bytes == 2 ? (int16_t)u16(f->bytes + at) : f->bytes[at];
}

/* What a field points to; 0: nothing. */
static size_t follow(const flat *f, size_t at) {
    if (at == 0 || !inside(f, at, 4)) return 0;
    size_t to = at + sgfsi_get_u32(f->bytes + at);
    return inside(f, to, 4) ? to : 0;
}

/* The items of a list, each of so many bytes; *count 0 where there is none. */
static size_t items(const flat *f, size_t table, int id, size_t each, int64_t *count) {
    size_t list = follow(f, field_at(f, table, id, 4));
    *count = 0;
    if (list == 0) return 0;
    uint32_t n = sgfsi_get_u32(f->bytes + list);
    if (!inside(f, list + 4, (size_t)n * each)) return 0;
    *count = n;
    return list + 4;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

sgfs_status sgfsi_ipc_damaged(const sgfsi_ipc *a, const char *what, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s: the Arrow data are damaged or cut off: %s.", a->path,
                      what);
}

/* So many bytes, room for which is made as they come: their number may be a lie, and a small gzip
 * file may hold them all. */
static sgfs_status read_bytes(sgfsi_ipc *a, unsigned char **to, size_t *room, size_t bytes,
                              sgfs_err *err) {
    for (size_t done = 0; done < bytes;) {
        size_t some = bytes - done < STEP ? bytes - done : STEP, got = 0;
        sgfs_status status = sgfsi_check_bytes(a->path, (double)(done + some), a->most_bytes, err);
        if (status != SGFS_OK) return status;
        if (*room < done + some) {
            size_t more = *room + *room / 2 > done + some ? *room + *room / 2 : done + some;
            more = more > bytes ? bytes : more;
            unsigned char *bigger = realloc(*to, more);
            if (bigger == NULL) return sgfsi_fail_memory(err, "a batch of rows");
            *to = bigger;
            *room = more;
        }
        status = sgfsi_bytes_read(a->in, *to + done, some, &got, err);
        if (status != SGFS_OK) return status;
        if (got < some) return sgfsi_ipc_damaged(a, "a batch ends early", err);
        done += some;
    }
    return SGFS_OK;
}

/* The next message, its head in a->head; *kind 0 at the end. The mark of the end may be left out,
 * says the format; but so does a writer that was killed between two batches. */
static sgfs_status read_message(sgfsi_ipc *a, int *kind, size_t *header, sgfs_err *err) {
    unsigned char prefix[8];
    size_t got = 0;
    *kind = 0;
    sgfs_status status = sgfsi_bytes_read(a->in, prefix, sizeof prefix, &got, err);
    if (status != SGFS_OK) return status;
    if (got == 0)
        return sgfsi_ipc_damaged(a, "there is no mark of their end, as if their writer had stopped",
                                 err);
    uint32_t length = got == 8 ? sgfsi_get_u32(prefix + 4) : 0;
    if (got == 8 && sgfsi_get_u32(prefix) == 0xFFFFFFFF && length == 0) return SGFS_OK;
    if (got < 8 || sgfsi_get_u32(prefix) != 0xFFFFFFFF || length > MOST_HEAD)
        return sgfsi_ipc_damaged(a,
                                 "no message begins where one should (of polars, streams can be "
                                 "read, as write_ipc_stream writes them)",
                                 err);
    status = read_bytes(a, &a->head, &a->head_room, length, err);
    if (status != SGFS_OK) return status;
    a->head_bytes = length;
    const flat f = {a->head, a->head_bytes};
    size_t message = inside(&f, 0, 4) ? sgfsi_get_u32(a->head) : 0;
    int64_t body = number(&f, message, 3, 8, 0);
    *kind = (int)number(&f, message, 1, 1, 0);
    *header = follow(&f, field_at(&f, message, 2, 4));
    if (*header == 0 || body < 0) return sgfsi_ipc_damaged(a, "a message says nothing", err);
    a->body_bytes = 0;
    status = read_bytes(a, &a->body, &a->body_room, (size_t)body, err);
    if (status == SGFS_OK) a->body_bytes = (size_t)body;
    return status;
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* Buffers that a node of each type has (of the union Type), and what to call those that hold
 * neither numbers nor words. -1: not known, so that nothing behind it could be found. */
static const struct {
    int buffers;
    const char *shown;
} types[] = {[1] = {0, "nothing at all (null)"},
             [2] = {2, "integers"},
             [3] = {2, "numbers"},
             [4] = {3, "bytes"},
             [5] = {3, "text"},
             [6] = {2, "truth values"},
             [7] = {2, "decimals"},
             [8] = {2, "dates"},
             [9] = {2, "times"},
             [10] = {2, "timestamps"},
             [11] = {2, "intervals"},
             [12] = {2, "lists"},
             [13] = {1, "structs"},
             [14] = {-1, "unions"},
             [15] = {2, "bytes"},
             [16] = {1, "lists"},
             [17] = {2, "maps"},
             [18] = {2, "durations"},
             [19] = {3, "bytes"},
             [20] = {3, "text"},
             [21] = {2, "lists"},
             [22] = {0, "runs"},
             [23] = {2, "bytes"},
             [24] = {2, "text"},
             [25] = {3, "lists"},
             [26] = {3, "lists"}};
enum { TYPES = sizeof types / sizeof types[0] };

static sgfsi_ipc_type int_type(const flat *f, size_t table) {
    int bits = (int)number(f, table, 0, 4, 0);
    bool known = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    bool has_sign = number(f, table, 1, 1, 0) != 0;
    return (sgfsi_ipc_type){!known     ? SGFSI_IPC_OTHER
                            : has_sign ? SGFSI_IPC_INT
                                       : SGFSI_IPC_UINT,
                            bits, "odd integers", 0};
}

static sgfsi_ipc_type type_of(const flat *f, int64_t type, size_t table) {
    static const int float_bits[] = {16, 32, 64};
    int64_t precision = type == 3 ? number(f, table, 0, 2, 0) : -1;
    if (type == 2) return int_type(f, table);
    if (precision == 1 || precision == 2)
        return (sgfsi_ipc_type){SGFSI_IPC_FLOAT, float_bits[precision], "", 0};
    if (type == 5 || type == 20)
        return (sgfsi_ipc_type){SGFSI_IPC_TEXT, type == 5 ? 32 : 64, "", 0};
    if (type == 24) return (sgfsi_ipc_type){SGFSI_IPC_TEXT, 0, "", 0};
    if (type == 6) return (sgfsi_ipc_type){SGFSI_IPC_BOOL, 1, "", 0};
    static const int64_t a_second[] = {1, 1000, 1000000, 1000000000};
    const int64_t unit = number(f, table, 0, 2, type == 8); /* dates: days, milliseconds (also by
                                                               default); timestamps: as above */
    if (type == 8 && unit == 0) return (sgfsi_ipc_type){SGFSI_IPC_TIME, 32, "dates", 0};
    if (type == 8 && unit == 1) return (sgfsi_ipc_type){SGFSI_IPC_TIME, 64, "dates", 3600000};
    if (type == 10 && unit >= 0 && unit < 4)
        return (sgfsi_ipc_type){SGFSI_IPC_TIME, 64, "dates", 3600 * a_second[unit]};
    return (sgfsi_ipc_type){SGFSI_IPC_OTHER, 0, type == 3 ? "half floats" : types[type].shown, 0};
}

/* What a field and all inside of it have in a batch; false: it is of no kind that is known. */
static bool count_parts(const flat *f, size_t field, int deep, sgfsi_ipc_field *out) {
    int64_t type = number(f, field, 2, 1, 0), children = 0;
    bool coded = follow(f, field_at(f, field, 4, 4)) != 0;
    if (deep == 0 || type <= 0 || type >= TYPES || types[type].buffers < 0) return false;
    out->nodes++;
    out->buffers += coded ? 2 : types[type].buffers;
    out->views += !coded && (type == 23 || type == 24);
    size_t list = coded ? 0 : items(f, field, 5, 4, &children);
    for (int64_t k = 0; k < children; k++) {
        size_t child = follow(f, list + 4 * (size_t)k);
        if (child == 0 || out->nodes > SGFSI_MAX_COLS || !count_parts(f, child, deep - 1, out))
            return false;
    }
    return true;
}

static sgfs_status take_field(sgfsi_ipc *a, const flat *f, size_t field, sgfs_err *err) {
    sgfsi_ipc_field *out = &a->field[a->fields];
    int64_t letters = 0;
    size_t text = items(f, field, 0, 1, &letters), coding = follow(f, field_at(f, field, 4, 4));
    *out = (sgfsi_ipc_field){.name = malloc((size_t)letters + SGFSI_NUM_CHARS)};
    if (out->name == NULL) return sgfsi_fail_memory(err, "the columns");
    if (letters > 0) memcpy(out->name, f->bytes + text, (size_t)letters);
    out->name[letters] = '\0';
    if (out->name[0] == '\0') /* as in a CSV file */
        snprintf(out->name, SGFSI_NUM_CHARS, "x%lld", (long long)a->fields + 1);
    a->fields++;
    if (!count_parts(f, field, DEEP, out))
        return sgfsi_ipc_damaged(a, "a column of unknown type", err);
    out->type = type_of(f, number(f, field, 2, 1, 0), follow(f, field_at(f, field, 3, 4)));
    if (coding == 0) return SGFS_OK;
    size_t index = follow(f, field_at(f, coding, 1, 4));
    out->coded = true;
    out->id = number(f, coding, 0, 8, 0);
    out->index = index != 0 ? int_type(f, index) : (sgfsi_ipc_type){SGFSI_IPC_INT, 32, "", 0};
    if (out->index.kind == SGFSI_IPC_OTHER) return sgfsi_ipc_damaged(a, "odd integers", err);
    for (int64_t k = 0; k < a->words; k++)
        if (a->word[k].id == out->id) return SGFS_OK;
    if (!sgfsi_resize(&a->word, a->words + 1, sizeof *a->word))
        return sgfsi_fail_memory(err, "the words");
    a->word[a->words++] = (sgfsi_ipc_words){.id = out->id};
    return SGFS_OK;
}

bool sgfsi_ipc_probe(const unsigned char *head, size_t bytes) {
    static const unsigned char magic[] = {'A', 'R', 'R', 'O', 'W', '1', 0, 0};
    if (bytes < 8) return false;
    uint32_t length = sgfsi_get_u32(head + 4);
    return memcmp(head, magic, 8) == 0 ||
           (sgfsi_get_u32(head) == 0xFFFFFFFF && length > 0 && length <= MOST_HEAD);
}

/* The file from its beginning, up to behind the message with its columns. */
static sgfs_status start(sgfsi_ipc *a, int *kind, size_t *header, sgfs_err *err) {
    unsigned char magic[8] = {0};
    size_t got = 0;
    sgfsi_bytes_close(a->in);
    a->in = NULL;
    a->rows = 0;
    a->ended = false;
    sgfs_status status = sgfsi_bytes_open(&a->in, a->path, err);
    if (status == SGFS_OK) status = sgfsi_bytes_read(a->in, magic, 8, &got, err);
    if (status == SGFS_OK && magic[0] == 0xFF) { /* a stream has no magic word in front */
        sgfsi_bytes_close(a->in);
        a->in = NULL;
        status = sgfsi_bytes_open(&a->in, a->path, err);
    }
    return status == SGFS_OK ? read_message(a, kind, header, err) : status;
}

sgfs_status sgfsi_ipc_open(sgfsi_ipc *a, const char *path, double most_bytes, sgfs_err *err) {
    size_t header = 0;
    int kind = 0;
    *a = (sgfsi_ipc){.path = path, .most_bytes = most_bytes};
    sgfs_status status = start(a, &kind, &header, err);
    if (status != SGFS_OK) return status;
    const flat f = {a->head, a->head_bytes};
    int64_t count = 0;
    size_t list = kind == SCHEMA ? items(&f, header, 1, 4, &count) : 0;
    if (count == 0) return sgfsi_ipc_damaged(a, "it has no columns", err);
    if (count > SGFSI_MAX_COLS)
        return sgfsi_fail(err, SGFS_EDATA, "%s: has %lld columns, more than the %d allowed.", path,
                          (long long)count, SGFSI_MAX_COLS);
    if (number(&f, header, 0, 2, 0) != 0)
        return sgfsi_fail(err, SGFS_EDATA, "%s: is big-endian; write it on another machine.", path);
    a->field = calloc((size_t)count, sizeof *a->field);
    if (a->field == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t k = 0; k < count && status == SGFS_OK; k++)
        status = take_field(a, &f, follow(&f, list + 4 * (size_t)k), err);
    return status;
}

static void forget_words(sgfsi_ipc_words *w) {
    for (int64_t k = 0; k < w->count; k++) free(w->text[k]);
    w->count = 0;
    w->bytes = 0;
    w->replaced++;
}

sgfs_status sgfsi_ipc_rewind(sgfsi_ipc *a, sgfs_err *err) {
    int kind;
    size_t header;
    for (int64_t k = 0; k < a->words; k++) forget_words(&a->word[k]);
    return start(a, &kind, &header, err);
}

void sgfsi_ipc_close(sgfsi_ipc *a) {
    sgfsi_bytes_close(a->in);
    for (int64_t k = 0; k < a->fields; k++) free(a->field[k].name);
    for (int64_t k = 0; k < a->words; k++) {
        forget_words(&a->word[k]);
        free(a->word[k].text);
    }
    free(a->field);
    free(a->word);
    free(a->head);
    free(a->body);
    memset(a, 0, sizeof *a);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The lists of a batch. */
static sgfs_status take_batch(sgfsi_ipc *a, size_t batch, sgfs_err *err) {
    const flat f = {a->head, a->head_bytes};
    a->rows = number(&f, batch, 0, 8, 0);
    size_t node = items(&f, batch, 1, 16, &a->row_nodes),
           buffer = items(&f, batch, 2, 16, &a->row_buffers),
           variadic = items(&f, batch, 4, 8, &a->variadics);
    a->node = a->head + node;
    a->buffer = a->head + buffer;
    a->variadic = a->head + variadic;
    if (field_at(&f, batch, 3, 4) != 0)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: its batches are compressed; write it without compression "
                          "(compression=None, or \"uncompressed\").",
                          a->path);
    if (a->rows < 0 || (uint64_t)a->rows / 8 > a->body_bytes)
        return sgfsi_ipc_damaged(a, "more rows than bytes", err);
    return SGFS_OK;
}

/* Buffer k of the batch, of at least so many bytes. */
static const unsigned char *buffer_at(const sgfsi_ipc *a, int64_t k, uint64_t least,
                                      int64_t *bytes) {
    if (k < 0 || k >= a->row_buffers) return NULL;
    uint64_t at = sgfsi_get_u64(a->buffer + 16 * k), length = sgfsi_get_u64(a->buffer + 16 * k + 8);
    if (at > a->body_bytes || length > a->body_bytes - at || length < least) return NULL;
    if (bytes != NULL) *bytes = (int64_t)length;
    return a->body + at;
}

static sgfs_status take_array(const sgfsi_ipc *a, const sgfsi_ipc_type *type, int64_t node,
                              int64_t buffer, int64_t variadic, sgfsi_ipc_array *out,
                              sgfs_err *err) {
    *out = (sgfsi_ipc_array){.type = *type, .body = a->body};
    if (node >= a->row_nodes) return sgfsi_ipc_damaged(a, "a column is not there", err);
    int64_t rows = (int64_t)sgfsi_get_u64(a->node + 16 * node),
            missing = (int64_t)sgfsi_get_u64(a->node + 16 * node + 8);
    if (rows != a->rows) return sgfsi_ipc_damaged(a, "a column has other rows", err);
    const uint64_t n = (uint64_t)rows;
    uint64_t bytes = type->kind == SGFSI_IPC_TEXT
                         ? (type->bits == 0 ? 16 * n : (n + 1) * (uint64_t)type->bits / 8)
                         : (n * (uint64_t)type->bits + 7) / 8;
    out->rows = rows;
    if (rows == 0) return SGFS_OK;
    if (missing != 0) out->valid = buffer_at(a, buffer, (n + 7) / 8, NULL);
    out->data = buffer_at(a, buffer + 1, bytes, NULL);
    bool good = out->data != NULL && (missing == 0 || out->valid != NULL);
    if (good && type->kind == SGFSI_IPC_TEXT && type->bits != 0)
        good = (out->text = buffer_at(a, buffer + 2, 0, &out->text_bytes)) != NULL;
    if (good && type->kind == SGFSI_IPC_TEXT && type->bits == 0) {
        out->variadic = variadic;
        out->buffer = a->buffer + 16 * (buffer + 2);
        for (int64_t k = 0; k < variadic && good; k++)
            good = buffer_at(a, buffer + 2 + k, 0, NULL) != NULL;
    }
    return good ? SGFS_OK : sgfsi_ipc_damaged(a, "a column is shorter than its rows", err);
}

/* How many buffers with long texts the k-th array of views has. */
static int64_t variadic_at(const sgfsi_ipc *a, int64_t k) {
    if (k >= a->variadics) return 0;
    int64_t count = (int64_t)sgfsi_get_u64(a->variadic + 8 * k);
    return count >= 0 && count <= a->row_buffers ? count : a->row_buffers;
}

sgfs_status sgfsi_ipc_column(const sgfsi_ipc *a, int64_t field, sgfsi_ipc_array *out,
                             sgfs_err *err) {
    const sgfsi_ipc_field *f = &a->field[field];
    return take_array(a, f->coded ? &f->index : &f->type, f->node, f->buffer,
                      variadic_at(a, f->view), out, err);
}

/* Where each column of the batch begins. */
static void find_columns(sgfsi_ipc *a) {
    int64_t node = 0, buffer = 0, view = 0;
    for (sgfsi_ipc_field *f = a->field; f < a->field + a->fields; f++) {
        f->node = node;
        f->buffer = buffer;
        f->view = view;
        node += f->nodes;
        buffer += f->buffers;
        for (int64_t v = 0; v < f->views && buffer < a->row_buffers; v++)
            buffer += variadic_at(a, view + v);
        view += f->views;
    }
}

bool sgfsi_ipc_is_valid(const sgfsi_ipc_array *array, int64_t i) {
    return array->valid == NULL || (array->valid[i / 8] >> (i % 8) & 1) != 0;
}

double sgfsi_ipc_hours(const sgfsi_ipc_array *array, int64_t i) {
    const int64_t an_hour = array->type.an_hour;
    if (an_hour == 0) return 24 * (double)(int32_t)sgfsi_get_u32(array->data + 4 * i);
    const int64_t x = (int64_t)sgfsi_get_u64(array->data + 8 * i);
    return (double)(x / an_hour - (x % an_hour < 0));
}

double sgfsi_ipc_number(const sgfsi_ipc_array *array, int64_t i) {
    const unsigned char *data = array->data;
    const sgfsi_ipc_kind kind = array->type.kind;
    if (kind == SGFSI_IPC_BOOL) return data[i / 8] >> (i % 8) & 1;
    if (array->type.bits == 64) {
        uint64_t x = sgfsi_get_u64(data + 8 * i);
        double value;
        memcpy(&value, &x, sizeof value);
        return kind == SGFSI_IPC_FLOAT ? value
               : kind == SGFSI_IPC_INT ? (double)(int64_t)x
                                       : (double)x;
    }
    if (array->type.bits == 32) {
        uint32_t x = sgfsi_get_u32(data + 4 * i);
        float value;
        memcpy(&value, &x, sizeof value);
        return kind == SGFSI_IPC_FLOAT ? (double)value
               : kind == SGFSI_IPC_INT ? (double)(int32_t)x
                                       : (double)x;
    }
    uint32_t x = array->type.bits == 16 ? u16(data + 2 * i) : data[i];
    if (kind == SGFSI_IPC_UINT) return (double)x;
    return array->type.bits == 16 ? (double)(int16_t)x : (double)(int8_t)x;
}

bool sgfsi_ipc_text(const sgfsi_ipc_array *array, int64_t i, const char **text, size_t *bytes) {
    const unsigned char *data = array->data;
    if (array->type.bits == 0) { /* a view: its length, then the text itself or where it is */
        data += 16 * i;
        uint32_t length = sgfsi_get_u32(data), k = sgfsi_get_u32(data + 8),
                 from = sgfsi_get_u32(data + 12);
        *bytes = length;
        *text = (const char *)data + 4;
        if (length <= 12) return true;
        if ((int64_t)k >= array->variadic) return false;
        const unsigned char *entry = array->buffer + 16 * (size_t)k;
        uint64_t at = sgfsi_get_u64(entry), room = sgfsi_get_u64(entry + 8);
        *text = (const char *)array->body + at + from;
        return from <= room && length <= room - from;
    }
    bool large = array->type.bits == 64;
    uint64_t from = large ? sgfsi_get_u64(data + 8 * i) : sgfsi_get_u32(data + 4 * i),
             to = large ? sgfsi_get_u64(data + 8 * i + 8) : sgfsi_get_u32(data + 4 * i + 4);
    if (from > to || to > (uint64_t)array->text_bytes) return false;
    *text = (const char *)array->text + from;
    *bytes = (size_t)(to - from);
    return true;
}

/* ---- dictionaries and batches ---------------------------------------------------------------- */

const sgfsi_ipc_words *sgfsi_ipc_dictionary(const sgfsi_ipc *a, int64_t id) {
    for (int64_t k = 0; k < a->words; k++)
        if (a->word[k].id == id) return &a->word[k];
    return NULL;
}

/* Values of a dictionary, as texts; more behind those there are, or all anew. */
static sgfs_status take_dictionary(sgfsi_ipc *a, size_t header, sgfs_err *err) {
    const flat f = {a->head, a->head_bytes};
    int64_t id = number(&f, header, 0, 8, 0), k = 0, field = 0;
    while (k < a->words && a->word[k].id != id) k++;
    while (field < a->fields && (!a->field[field].coded || a->field[field].id != id)) field++;
    sgfs_status status = take_batch(a, follow(&f, field_at(&f, header, 1, 4)), err);
    if (status != SGFS_OK || k == a->words || field == a->fields) return status;
    sgfsi_ipc_words *w = &a->word[k];
    const sgfsi_ipc_type *type = &a->field[field].type;
    sgfsi_ipc_array values;
    if (number(&f, header, 2, 1, 0) == 0) forget_words(w);
    if (type->kind == SGFSI_IPC_OTHER || type->kind == SGFSI_IPC_TIME)
        return SGFS_OK; /* refused where the column is wanted */
    status = take_array(a, type, 0, 0, variadic_at(a, 0), &values, err);
    w->bytes += (double)a->body_bytes + (double)values.rows * WORD_ROOM;
    if (status == SGFS_OK) status = sgfsi_check_bytes(a->path, w->bytes, a->most_bytes, err);
    if (status == SGFS_OK &&
        !sgfsi_grow(&w->text, &w->room, w->count + values.rows, sizeof *w->text))
        status = sgfsi_fail_memory(err, "the words");
    for (int64_t i = 0; i < values.rows && status == SGFS_OK; i++) {
        char made[SGFSI_NUM_CHARS];
        const char *text = made;
        size_t bytes = 0;
        if (type->kind == SGFSI_IPC_TEXT && !sgfsi_ipc_text(&values, i, &text, &bytes))
            return sgfsi_ipc_damaged(a, "a word is not there", err);
        if (type->kind != SGFSI_IPC_TEXT)
            bytes = sgfsi_format_num(made, sgfsi_ipc_number(&values, i));
        char *copy = sgfsi_ipc_is_valid(&values, i) ? malloc(bytes + 1) : NULL;
        if (copy == NULL && sgfsi_ipc_is_valid(&values, i))
            return sgfsi_fail_memory(err, "the words");
        if (copy != NULL) memcpy(copy, text, bytes);
        if (copy != NULL) copy[bytes] = '\0';
        w->text[w->count++] = copy;
    }
    return status;
}

sgfs_status sgfsi_ipc_next(sgfsi_ipc *a, sgfs_err *err) {
    int kind = 0;
    size_t header = 0;
    for (a->rows = 0; a->rows == 0 && !a->ended;) {
        sgfs_status status = read_message(a, &kind, &header, err);
        if (status == SGFS_OK && kind == DICTIONARY) status = take_dictionary(a, header, err);
        if (kind == DICTIONARY) a->rows = 0;
        if (status == SGFS_OK && kind == BATCH) status = take_batch(a, header, err);
        if (status == SGFS_OK && kind == BATCH) find_columns(a);
        a->ended = kind == 0;
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}
