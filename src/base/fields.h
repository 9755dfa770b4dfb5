/* SPDX-License-Identifier: MIT
 * fields.h: a list of what some state consists of: the name, address, count and type of every array
 * and scalar. Whoever owns state has one function that lists it; the same list saves, loads, copies
 * and lets tests look.
 *
 *     sgfsi_fields list = {0};
 *     sgfsi_average_fields(&a, &list, "I1");       "I1.kappa", "I1.updates", ...
 *     if (sgfsi_fields_save(&list, ...)) ...
 *     sgfsi_fields_free(&list);
 *
 * A list holds addresses: it is valid as long as nobody swaps buffers, so it is made anew each time
 * that it is needed. State is what an iteration leaves for the next one to read. Settings, scratch
 * room and pointers are not listed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum sgfsi_field_type {
    SGFSI_FIELD_DOUBLE,
    SGFSI_FIELD_INT64,
    SGFSI_FIELD_INT32, /* int, and enums by way of int */
    SGFSI_FIELD_BOOL,
    SGFSI_FIELD_CHAR
} sgfsi_field_type;

enum { SGFSI_FIELD_NAME = 64 };

/* How `count` numbers come from a device's memory and go there. */
typedef struct sgfsi_far_memory {
    void (*get)(const void *device, int64_t count, const void *at, void *host);
    void (*put)(const void *device, int64_t count, const void *host, void *at);
} sgfsi_far_memory;

typedef struct sgfsi_field {
    char name[SGFSI_FIELD_NAME];
    void *at;
    int64_t count;
    sgfsi_field_type type;
    const sgfsi_far_memory *far; /* NULL: `at` is the host's memory */
    const void *device;          /* of `far` */
} sgfsi_field;

/* Zeroed: empty. */
typedef struct sgfsi_fields {
    sgfsi_field *field;
    int64_t count, room;
    char prefix[SGFSI_FIELD_NAME]; /* of the names to come: "chain.moments." */
    bool failed;                   /* memory ran out, or a name is too long */
} sgfsi_fields;

/* One more array of `count` elements. An array that this run does not have (at NULL) is left
 * out. */
void sgfsi_fields_add(sgfsi_fields *list, const char *name, void *at, int64_t count,
                      sgfsi_field_type type);
/* The array that was added last is in the memory of that device. */
void sgfsi_fields_far(sgfsi_fields *list, const sgfsi_far_memory *far, const void *device);
/* The names to come begin with this one and a dot, until sgfsi_fields_leave. */
void sgfsi_fields_enter(sgfsi_fields *list, const char *name);
void sgfsi_fields_leave(sgfsi_fields *list);
void sgfsi_fields_free(sgfsi_fields *list);

#define SGFSI_FIELD(list, name, at, count)                                                         \
    sgfsi_fields_add((list), (name), (at), (count),                                                \
                     _Generic((at),                                                                \
                         double *: SGFSI_FIELD_DOUBLE,                                             \
                         int64_t *: SGFSI_FIELD_INT64,                                             \
                         int *: SGFSI_FIELD_INT32,                                                 \
                         bool *: SGFSI_FIELD_BOOL,                                                 \
                         char *: SGFSI_FIELD_CHAR))
/* A member of a struct that is a scalar, or one that points to `count` elements. */
#define SGFSI_FIELD_ONE(list, thing, member) SGFSI_FIELD(list, #member, &(thing)->member, 1)
#define SGFSI_FIELD_ARRAY(list, thing, member, count)                                              \
    SGFSI_FIELD(list, #member, (thing)->member, count)

/* The field of that name; NULL: there is none. */
const sgfsi_field *sgfsi_fields_find(const sgfsi_fields *list, const char *name);

/* The fields of `from` whose names begin with `prefix` ("": all), into those of `to` of the same
 * names. SGFS_ERUNFILE where `to` has no field of that name, count and type; nothing is written
 * then. */
sgfs_status sgfsi_fields_copy(const sgfsi_fields *to, const sgfsi_fields *from, const char *prefix,
                              sgfs_err *err);

/* ---- in one piece of memory ------------------------------------------------------------------ */

size_t sgfsi_fields_bytes(const sgfsi_fields *list);
void sgfsi_fields_save(const sgfsi_fields *list, void *out); /* sgfsi_fields_bytes of room */
/* Every field from what was saved. SGFS_ERUNFILE, with a sentence that names the field, where
 * names, counts or types are not those of the list; nothing is written then. */
sgfs_status sgfsi_fields_load(const sgfsi_fields *list, const void *saved, size_t bytes,
                              sgfs_err *err);
/* One integer of what was saved, before anything is loaded; `fallback` where there is none. */
int64_t sgfsi_fields_saved_int(const void *saved, size_t bytes, const char *name, int64_t fallback);
