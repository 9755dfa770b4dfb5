/* SPDX-License-Identifier: MIT
 * json.h: the little JSON we need, over jansson, so that its header appears in one file.
 * Builders never fail visibly, and take NULL for a value that could not be made: a value that lost
 * a member for want of memory remembers it. It has no text and no copy (NULL), and is not whole.
 */
#pragma once

#include "base/err.h"

typedef struct sgfsi_json
    sgfsi_json; /* any JSON value; borrowed from its parent unless said otherwise */

sgfsi_json *sgfsi_json_object(void); /* caller's: free it, or give it to a parent */
sgfsi_json *sgfsi_json_array(void);
/* The same as a member of `in` (or at its end, key NULL), whose it is; NULL when memory is out. */
sgfsi_json *sgfsi_json_object_in(sgfsi_json *in, const char *key);
sgfsi_json *sgfsi_json_array_in(sgfsi_json *in, const char *key);
sgfsi_json *sgfsi_json_copy(const sgfsi_json *v); /* caller's; shares nothing that changes */
bool sgfsi_json_whole(const sgfsi_json *v);       /* false: NULL, or something is missing */
void sgfsi_json_free(sgfsi_json *v);

/* Set a member of an object, or append to an array (key NULL). NaN and infinities become null. */
void sgfsi_json_text(sgfsi_json *in, const char *key, const char *text); /* text NULL: null */
void sgfsi_json_num(sgfsi_json *in, const char *key, double x);
void sgfsi_json_int(sgfsi_json *in, const char *key, int64_t i);
void sgfsi_json_flag(sgfsi_json *in, const char *key, bool b);
void sgfsi_json_nums(sgfsi_json *in, const char *key, int64_t n, const double *x);
void sgfsi_json_put(sgfsi_json *in, const char *key, sgfsi_json *v); /* takes v over */

/* Members of a struct under their own names, in this order: SGFSI_JSON(o, row, name, mean, sd).
 * o and row are written out again for each of them, so they must be names. Each member is a double,
 * an int64_t, a bool or a text; 12 at most. */
#define SGFSI_JSON_ONE(in, thing, m)                                                               \
    _Generic((thing)->m,                                                                           \
             double: sgfsi_json_num,                                                               \
             int64_t: sgfsi_json_int,                                                              \
             bool: sgfsi_json_flag,                                                                \
             char *: sgfsi_json_text,                                                              \
             const char *: sgfsi_json_text)((in), #m, (thing)->m)
/* clang-format off */
#define SGFSI_JSON_2(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_ONE(i, t, __VA_ARGS__)
#define SGFSI_JSON_3(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_2(i, t, __VA_ARGS__)
#define SGFSI_JSON_4(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_3(i, t, __VA_ARGS__)
#define SGFSI_JSON_5(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_4(i, t, __VA_ARGS__)
#define SGFSI_JSON_6(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_5(i, t, __VA_ARGS__)
#define SGFSI_JSON_7(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_6(i, t, __VA_ARGS__)
#define SGFSI_JSON_8(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_7(i, t, __VA_ARGS__)
#define SGFSI_JSON_9(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_8(i, t, __VA_ARGS__)
#define SGFSI_JSON_10(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_9(i, t, __VA_ARGS__)
#define SGFSI_JSON_11(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_10(i, t, __VA_ARGS__)
#define SGFSI_JSON_12(i, t, m, ...) SGFSI_JSON_ONE(i, t, m), SGFSI_JSON_11(i, t, __VA_ARGS__)
/* clang-format on */
#define SGFSI_JSON_NTH(a, b, c, d, e, f, g, h, i, j, k, l, nth, ...) nth
#define SGFSI_JSON(in, thing, ...)                                                                 \
    SGFSI_JSON_NTH(__VA_ARGS__, SGFSI_JSON_12, SGFSI_JSON_11, SGFSI_JSON_10, SGFSI_JSON_9,         \
                   SGFSI_JSON_8, SGFSI_JSON_7, SGFSI_JSON_6, SGFSI_JSON_5, SGFSI_JSON_4,           \
                   SGFSI_JSON_3, SGFSI_JSON_2, SGFSI_JSON_ONE, 0)                                  \
    (in, thing, __VA_ARGS__)

/* Say a warning now, and keep the sentence in a list for later. */
void sgfsi_warn(sgfsi_json *list, const sgfsi_log *log, const char *format, ...) SGFSI_PRINTF(3, 4);

/* Text of the value (caller frees with free), indented or in one line; NULL when memory ran out. */
char *sgfsi_json_dump(const sgfsi_json *v, bool indented);
char *sgfsi_json_finish(sgfsi_json *v); /* the same, indented, and v is freed */

/* Parse; NULL with err filled on bad JSON (`what` names the source). Depth and duplicates are
 * limited. */
sgfsi_json *sgfsi_json_parse(const char *text, size_t length, const char *what, sgfs_err *err);
const sgfsi_json *sgfsi_json_get(const sgfsi_json *object, const char *key); /* NULL when absent */
int64_t sgfsi_json_length(const sgfsi_json *array);                          /* -1: not an array */
const sgfsi_json *sgfsi_json_at(const sgfsi_json *array, int64_t i);
const char *sgfsi_json_get_text(const sgfsi_json *object, const char *key, const char *otherwise);
double sgfsi_json_get_num(const sgfsi_json *object, const char *key, double otherwise);
int64_t sgfsi_json_get_int(const sgfsi_json *object, const char *key, int64_t otherwise);
bool sgfsi_json_get_flag(const sgfsi_json *object, const char *key); /* false without one */
const char *sgfsi_json_as_text(const sgfsi_json *v);                 /* NULL: not a string */
bool sgfsi_json_as_num(const sgfsi_json *v,
                       double *out); /* null reads as NaN; false: not a number */
bool sgfsi_json_as_int(const sgfsi_json *v, int64_t *out);
bool sgfsi_json_as_flag(const sgfsi_json *v, bool *out); /* false: neither true nor false */
bool sgfsi_json_is_object(const sgfsi_json *v);
bool sgfsi_json_equal(const sgfsi_json *a, const sgfsi_json *b); /* NULL equals NULL */
/* Walk the members of an object: *at starts as NULL; NULL past the last. */
const sgfsi_json *sgfsi_json_next(const sgfsi_json *object, void **at, const char **key);
