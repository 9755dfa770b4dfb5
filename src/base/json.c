/* SPDX-License-Identifier: MIT
 * json.c: the only file that sees jansson. A sgfsi_json is a json_t under another name.
 *
 * An object or array that lost a member for want of memory is marked by a high bit of its count of
 * references, which nothing else reaches; jansson has no other room. A marked value, or one that
 * holds such a one, has no text. The bits are taken away before it is freed.
 */
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* When memory runs out, jansson leaves out a key of what it writes or a letter of what it reads,
 * and says nothing; a quotation mark that is lost so takes it past the end of its buffer. So it
 * gets its memory here, where a refusal is remembered, and while it reads there is a reserve. */
typedef struct memory {
    bool refused;  /* by malloc, since this was set to false */
    char *reserve; /* NULL: nothing is being read */
    size_t size, used;
} memory;
static _Thread_local memory mine;

static void *give(size_t size) {
    void *room = malloc(size);
    if (room != NULL) return room;
    mine.refused = true;
    size_t whole = (size + 15) / 16 * 16; /* aligned for anything */
    if (whole < size || whole > mine.size - mine.used) return NULL;
    room = mine.reserve + mine.used;
    mine.used += whole;
    return room;
}

static void take_back(void *room) {
    uintptr_t at = (uintptr_t)room, from = (uintptr_t)mine.reserve;
    if (mine.reserve == NULL || at < from || at >= from + mine.size) free(room);
}

static void set_memory(void) {
    json_set_alloc_funcs(give, take_back);
}

static void watch_memory(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_memory);
    mine.refused = false;
}

static json_t *plain(const sgfsi_json *v) {
    return (json_t *)(uintptr_t)v; /* jansson counts references through const too */
}

static sgfsi_json *wrapped(json_t *v) {
    return (sgfsi_json *)v;
}

sgfsi_json *sgfsi_json_object(void) {
    return wrapped(json_object());
}

sgfsi_json *sgfsi_json_array(void) {
    return wrapped(json_array());
}

static const size_t MARK = (size_t)1 << (8 * sizeof(size_t) - 2);

/* Is v marked, or anything in it? With `clear` the marks are taken away. */
static bool marked(json_t *v, bool clear) {
    if (!json_is_object(v) && !json_is_array(v)) return false;
    bool found = (v->refcount & MARK) != 0;
    if (clear) v->refcount &= ~MARK;
    size_t n = json_array_size(v);
    for (size_t i = 0; i < n; i++) found |= marked(json_array_get(v, i), clear);
    for (void *at = json_object_iter(v); at != NULL; at = json_object_iter_next(v, at))
        found |= marked(json_object_iter_value(at), clear);
    return found;
}

bool sgfsi_json_whole(const sgfsi_json *v) {
    return v != NULL && !marked(plain(v), false);
}

sgfsi_json *sgfsi_json_copy(const sgfsi_json *v) {
    return sgfsi_json_whole(v) ? wrapped(json_deep_copy(plain(v))) : NULL;
}

void sgfsi_json_free(sgfsi_json *v) {
    (void)marked(plain(v), true);
    json_decref(plain(v));
}

/* Bytes that are not UTF-8, kept readable by taking each as a Latin-1 character. */
static json_t *latin1(const char *text) {
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++) n += (unsigned char)*c < 0x80 ? 1 : 2;
    char *utf8 = malloc(n + 1), *o = utf8;
    if (utf8 == NULL) return NULL;
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char b = (unsigned char)*c;
        if (b >= 0x80) *o++ = (char)(0xC0 | (b >> 6));
        *o++ = b < 0x80 ? (char)b : (char)(0x80 | (b & 0x3F));
    }
    *o = '\0';
    json_t *v = json_string(utf8);
    free(utf8);
    return v;
}

/* Put v into its parent, either of which may be NULL; false: for want of memory it is left out, and
 * the parent is marked. */
static bool put(sgfsi_json *in, const char *key, json_t *v) {
    watch_memory();
    int failed = key == NULL ? json_array_append(plain(in), v) : json_object_set(plain(in), key, v);
    if (failed != 0 && key != NULL && !mine.refused) { /* a name of a column, say */
        json_t *name = latin1(key);
        failed = json_object_set(plain(in), json_string_value(name), v);
        json_decref(name);
    }
    json_decref(v);
    if (failed != 0 && in != NULL) plain(in)->refcount |= MARK;
    return failed == 0;
}

void sgfsi_json_put(sgfsi_json *in, const char *key, sgfsi_json *v) {
    bool lost = marked(plain(v), true); /* the parent remembers it from here on */
    (void)put(in, key, plain(v));
    if (lost && in != NULL) plain(in)->refcount |= MARK;
}

sgfsi_json *sgfsi_json_object_in(sgfsi_json *in, const char *key) {
    json_t *v = json_object();
    return put(in, key, v) ? wrapped(v) : NULL;
}

sgfsi_json *sgfsi_json_array_in(sgfsi_json *in, const char *key) {
    json_t *v = json_array();
    return put(in, key, v) ? wrapped(v) : NULL;
}

void sgfsi_json_text(sgfsi_json *in, const char *key, const char *text) {
    watch_memory();
    json_t *v = text == NULL ? json_null() : json_string(text);
    if (v == NULL && !mine.refused) v = latin1(text);
    (void)put(in, key, v);
}

void sgfsi_json_num(sgfsi_json *in, const char *key, double x) {
    (void)put(in, key, isfinite(x) ? json_real(x) : json_null());
}

void sgfsi_json_int(sgfsi_json *in, const char *key, int64_t i) {
    (void)put(in, key, json_integer((json_int_t)i));
}

void sgfsi_json_flag(sgfsi_json *in, const char *key, bool b) {
    (void)put(in, key, json_boolean(b));
}

void sgfsi_json_nums(sgfsi_json *in, const char *key, int64_t n, const double *x) {
    sgfsi_json *array = sgfsi_json_array_in(in, key);
    for (int64_t i = 0; i < n; i++) sgfsi_json_num(array, NULL, x[i]);
}

void sgfsi_warn(sgfsi_json *list, const sgfsi_log *log, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sgfsi_json_text(list, NULL, text);
    sgfsi_say(log, SGFS_WARNING, "%s", text);
}

char *sgfsi_json_dump(const sgfsi_json *v, bool indented) {
    if (!sgfsi_json_whole(v)) return NULL;
    watch_memory();
    char *text =
        json_dumps(plain(v), (indented ? JSON_INDENT(2) : JSON_COMPACT) | JSON_REAL_PRECISION(17));
    if (text == NULL || !mine.refused) return text;
    free(text);
    return NULL;
}

char *sgfsi_json_finish(sgfsi_json *v) {
    char *text = sgfsi_json_dump(v, true);
    sgfsi_json_free(v);
    return text;
}

typedef struct source {
    const char *at, *end;
} source;

/* One byte at a time, and the end once memory was refused. */
static size_t read_byte(void *to, size_t room, void *from) {
    source *s = from;
    (void)room;
    if (mine.refused || s->at == s->end) return 0;
    *(char *)to = *s->at++;
    return 1;
}

/* The one request that must not be refused is the buffer of the word or number that is being read,
 * which doubles when it is full: at most twice what has been read of the text. Since the text ends
 * with the first request that is served from the reserve, there is no second one of this sort, and
 * other requests may be refused. What lies in the reserve is freed with it. */
sgfsi_json *sgfsi_json_parse(const char *text, size_t length, const char *what, sgfs_err *err) {
    source from = {text, text + length};
    json_error_t where;
    watch_memory();
    mine.used = 0;
    mine.size = 2 * length + 64;
    mine.reserve = malloc(mine.size);
    if (mine.reserve == NULL) return mine.size = 0, sgfsi_fail_memory(err, what), NULL;
    json_t *v = json_load_callback(read_byte, &from, JSON_REJECT_DUPLICATES, &where);
    if (mine.refused) {
        json_decref(v);
        v = NULL;
        sgfsi_fail_memory(err, what);
    } else if (v == NULL)
        sgfsi_fail(err, SGFS_EDATA, "%s:%d:%d: not valid JSON: %s.", what, where.line, where.column,
                   where.text);
    free(mine.reserve);
    mine = (memory){0};
    return wrapped(v);
}

const sgfsi_json *sgfsi_json_get(const sgfsi_json *object, const char *key) {
    return wrapped(json_object_get(plain(object), key));
}

int64_t sgfsi_json_length(const sgfsi_json *array) {
    return json_is_array(plain(array)) ? (int64_t)json_array_size(plain(array)) : -1;
}

const sgfsi_json *sgfsi_json_at(const sgfsi_json *array, int64_t i) {
    return i < 0 ? NULL : wrapped(json_array_get(plain(array), (size_t)i));
}

const char *sgfsi_json_as_text(const sgfsi_json *v) {
    return json_string_value(plain(v));
}

bool sgfsi_json_as_num(const sgfsi_json *v, double *out) {
    if (v == NULL) return false;
    if (json_is_null(plain(v))) {
        *out = NAN;
        return true;
    }
    if (!json_is_number(plain(v))) return false;
    *out = json_number_value(plain(v));
    return true;
}

bool sgfsi_json_as_int(const sgfsi_json *v, int64_t *out) {
    if (v == NULL || !json_is_integer(plain(v))) return false;
    *out = (int64_t)json_integer_value(plain(v));
    return true;
}

bool sgfsi_json_as_flag(const sgfsi_json *v, bool *out) {
    if (v == NULL || !json_is_boolean(plain(v))) return false;
    *out = json_is_true(plain(v));
    return true;
}

bool sgfsi_json_equal(const sgfsi_json *a, const sgfsi_json *b) {
    return (a == NULL && b == NULL) || json_equal(plain(a), plain(b)) != 0;
}

bool sgfsi_json_is_object(const sgfsi_json *v) {
    return v != NULL && json_is_object(plain(v));
}

const sgfsi_json *sgfsi_json_next(const sgfsi_json *object, void **at, const char **key) {
    *at = *at == NULL ? json_object_iter(plain(object)) : json_object_iter_next(plain(object), *at);
    if (*at == NULL) return NULL;
    *key = json_object_iter_key(*at);
    return wrapped(json_object_iter_value(*at));
}

const char *sgfsi_json_get_text(const sgfsi_json *object, const char *key, const char *otherwise) {
    const char *text = sgfsi_json_as_text(sgfsi_json_get(object, key));
    return text != NULL ? text : otherwise;
}

double sgfsi_json_get_num(const sgfsi_json *object, const char *key, double otherwise) {
    double x;
    return sgfsi_json_as_num(sgfsi_json_get(object, key), &x) ? x : otherwise;
}

int64_t sgfsi_json_get_int(const sgfsi_json *object, const char *key, int64_t otherwise) {
    int64_t i;
    return sgfsi_json_as_int(sgfsi_json_get(object, key), &i) ? i : otherwise;
}

bool sgfsi_json_get_flag(const sgfsi_json *object, const char *key) {
    return json_is_true(plain(sgfsi_json_get(object, key)));
}
