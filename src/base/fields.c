/* SPDX-License-Identifier: MIT
 * fields.c: lists of state (fields.h), and such a list in one piece of memory:
 *
 *     head      "sgfs state", version, number of fields, bytes in all
 *     field     name, count, type; then its bytes, padded to 8
 *
 * with the numbers of this machine: what is saved is read by the same program, or refused.
 */
#include "base/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static size_t size_of(sgfsi_field_type type) {
    switch (type) {
    case SGFSI_FIELD_DOUBLE: return sizeof(double);
    case SGFSI_FIELD_INT64: return sizeof(int64_t);
    case SGFSI_FIELD_INT32: return sizeof(int);
    case SGFSI_FIELD_BOOL: return sizeof(bool);
    case SGFSI_FIELD_CHAR: break;
    }
    return 1;
}

static size_t bytes_of(const sgfsi_field *f) {
    return (size_t)f->count * size_of(f->type);
}

static void take(const sgfsi_field *f, void *host) {
    if (f->far != NULL) f->far->get(f->device, f->count, f->at, host);
    else memcpy(host, f->at, bytes_of(f));
}

static void give(const sgfsi_field *f, const void *host) {
    if (f->far != NULL) f->far->put(f->device, f->count, host, f->at);
    else memcpy(f->at, host, bytes_of(f));
}

/* ---- the list -------------------------------------------------------------------------------- */

void sgfsi_fields_add(sgfsi_fields *list, const char *name, void *at, int64_t count,
                      sgfsi_field_type type) {
    if (at == NULL) return;
    if (!sgfsi_grow(&list->field, &list->room, list->count + 1, sizeof *list->field)) {
        list->failed = true;
        return;
    }
    sgfsi_field *f = &list->field[list->count++];
    *f = (sgfsi_field){.at = at, .count = count, .type = type};
    int length = snprintf(f->name, sizeof f->name, "%s%s", list->prefix, name);
    if (length >= (int)sizeof f->name) list->failed = true;
}

void sgfsi_fields_far(sgfsi_fields *list, const sgfsi_far_memory *far, const void *device) {
    if (list->count == 0) return;
    list->field[list->count - 1].far = far;
    list->field[list->count - 1].device = device;
}

void sgfsi_fields_enter(sgfsi_fields *list, const char *name) {
    size_t used = strlen(list->prefix), room = sizeof list->prefix - used;
    int length = snprintf(list->prefix + used, room, "%s.", name);
    if (length >= (int)room) list->failed = true;
}

void sgfsi_fields_leave(sgfsi_fields *list) {
    size_t used = strlen(list->prefix);
    if (used > 0) used--; /* the dot of the last name */
    while (used > 0 && list->prefix[used - 1] != '.') used--;
    list->prefix[used] = '\0';
}

void sgfsi_fields_free(sgfsi_fields *list) {
    free(list->field);
    *list = (sgfsi_fields){0};
}

const sgfsi_field *sgfsi_fields_find(const sgfsi_fields *list, const char *name) {
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->field[i].name, name) == 0) return &list->field[i];
    return NULL;
}

sgfs_status sgfsi_fields_copy(const sgfsi_fields *to, const sgfsi_fields *from, const char *prefix,
                              sgfs_err *err) {
    if (to->failed || from->failed) return sgfsi_fail_memory(err, "a list of state");
    for (int pass = 0; pass < 2; pass++) { /* all is checked before anything is written */
        for (int64_t i = 0; i < from->count; i++) {
            const sgfsi_field *f = &from->field[i], *own = sgfsi_fields_find(to, f->name);
            if (strncmp(f->name, prefix, strlen(prefix)) != 0) continue;
            if (own == NULL || own->count != f->count || own->type != f->type)
                return sgfsi_fail(err, SGFS_ERUNFILE, "The state has no field \"%s\" of this size.",
                                  f->name);
            if (pass == 0) continue;
            void *between = f->far != NULL ? malloc(bytes_of(f)) : f->at;
            if (between == NULL) return sgfsi_fail_memory(err, "a copy of the state");
            if (f->far != NULL) take(f, between);
            give(own, between);
            if (f->far != NULL) free(between);
        }
    }
    return SGFS_OK;
}

/* ---- in one piece of memory ------------------------------------------------------------------ */

typedef struct head {
    char magic[16];
    int64_t fields, bytes;
} head;

typedef struct record {
    char name[SGFSI_FIELD_NAME];
    int64_t count, type;
} record;

static const char magic[16] = "sgfs state 1";

static size_t padded(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

size_t sgfsi_fields_bytes(const sgfsi_fields *list) {
    size_t bytes = sizeof(head);
    for (int64_t i = 0; i < list->count; i++)
        bytes += sizeof(record) + padded(bytes_of(&list->field[i]));
    return bytes;
}

void sgfsi_fields_save(const sgfsi_fields *list, void *out) {
    head h = {.fields = list->count, .bytes = (int64_t)sgfsi_fields_bytes(list)};
    char *to = out;
    memcpy(h.magic, magic, sizeof magic);
    memset(out, 0, (size_t)h.bytes);
    memcpy(to, &h, sizeof h);
    to += sizeof h;
    for (int64_t i = 0; i < list->count; i++) {
        const sgfsi_field *f = &list->field[i];
        record r = {.count = f->count, .type = f->type};
        memcpy(r.name, f->name, sizeof r.name);
        memcpy(to, &r, sizeof r);
        take(f, to + sizeof r);
        to += sizeof r + padded(bytes_of(f));
    }
}

/* The record at *at and where its bytes are; *at moves behind it. False: it does not fit. */
static bool next_record(const char *saved, size_t bytes, size_t *at, record *r,
                        const char **value) {
    if (bytes - *at < sizeof *r) return false;
    memcpy(r, saved + *at, sizeof *r);
    *at += sizeof *r;
    if (r->type < SGFSI_FIELD_DOUBLE || r->type > SGFSI_FIELD_CHAR) return false;
    size_t each = size_of((sgfsi_field_type)r->type), left = bytes - *at;
    if (r->count < 0 || (uint64_t)r->count > left / each) return false;
    size_t own = padded((size_t)r->count * each);
    if (own > left || memchr(r->name, '\0', sizeof r->name) == NULL) return false;
    *value = saved + *at;
    *at += own;
    return true;
}

static bool read_head(const void *saved, size_t bytes, head *h) {
    if (bytes < sizeof *h) return false;
    memcpy(h, saved, sizeof *h);
    return memcmp(h->magic, magic, sizeof magic) == 0 && h->bytes == (int64_t)bytes;
}

sgfs_status sgfsi_fields_load(const sgfsi_fields *list, const void *saved, size_t bytes,
                              sgfs_err *err) {
    head h;
    record r;
    const char *value;
    if (list->failed) return sgfsi_fail_memory(err, "a list of state");
    if (!read_head(saved, bytes, &h))
        return sgfsi_fail(err, SGFS_ERUNFILE, "This is no saved state, or not all of it.");
    for (int pass = 0; pass < 2; pass++) { /* all is checked before anything is written */
        size_t at = sizeof h;
        for (int64_t i = 0; i < h.fields || i < list->count; i++) {
            const sgfsi_field *f = i < list->count ? &list->field[i] : NULL;
            if (i < h.fields && !next_record(saved, bytes, &at, &r, &value))
                return sgfsi_fail(err, SGFS_ERUNFILE, "The saved state is damaged at field %lld.",
                                  (long long)(i + 1));
            if (i >= h.fields)
                return sgfsi_fail(err, SGFS_ERUNFILE, "The saved state lacks \"%s\".", f->name);
            if (f == NULL || strcmp(f->name, r.name) != 0)
                return sgfsi_fail(err, SGFS_ERUNFILE,
                                  "The saved state has \"%s\" where this chain has \"%s\".", r.name,
                                  f != NULL ? f->name : "nothing more");
            if (f->count != r.count || (int64_t)f->type != r.type)
                return sgfsi_fail(
                    err, SGFS_ERUNFILE,
                    "The saved state has %lld numbers of \"%s\", and this chain %lld, "
                    "or of another type.",
                    (long long)r.count, f->name, (long long)f->count);
            if (pass == 1) give(f, value);
        }
    }
    return SGFS_OK;
}

int64_t sgfsi_fields_saved_int(const void *saved, size_t bytes, const char *name,
                               int64_t fallback) {
    head h;
    record r;
    const char *value;
    size_t at = sizeof h;
    if (!read_head(saved, bytes, &h)) return fallback;
    for (int64_t i = 0; i < h.fields && next_record(saved, bytes, &at, &r, &value); i++) {
        if (strcmp(r.name, name) != 0 || r.type != SGFSI_FIELD_INT64 || r.count != 1) continue;
        memcpy(&fallback, value, sizeof fallback);
        break;
    }
    return fallback;
}
