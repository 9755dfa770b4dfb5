/* SPDX-License-Identifier: MIT
 * sketchdata.c: the files of a sketch as data to sample from: columns, labels and a number of rows,
 * the anchor, and the marks of all parts.
 */
#include <stdlib.h>
#include <string.h>

#include "files/files.h"
#include "files/sketch/sketch.h"
#include "rows/fingerprint.h"

/* What the data borrow. */
typedef struct holder {
    sgfsi_sketch whole;
    int64_t count;
    sgfsi_sketch *file;
} holder;

static void let_go(const void *user, void *what) {
    holder *h = what;
    (void)user;
    for (int64_t k = 0; k < h->count; k++) sgfsi_sketch_close(&h->file[k]);
    sgfsi_arena_free(&h->whole.arena);
    free(h->file);
    free(h);
}

static sgfs_status read_all(holder *h, const sgfsi_files *files, sgfs_err *err) {
    h->file = calloc((size_t)files->count, sizeof *h->file);
    if (h->file == NULL) return sgfsi_fail_memory(err, "the sketch");
    for (; h->count < files->count; h->count++) {
        sgfs_status status = sgfsi_sketch_read(&h->file[h->count], files->path[h->count], err);
        if (status != SGFS_OK) return h->count++, status;
    }
    const sgfsi_sketch *first = &h->file[0];
    if (first->step != SGFSI_SKETCH_MARKS)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "%.300s: is a step on the way to a sketch (%s), from which nothing can be "
            "drawn yet.",
            first->path, sgfsi_sketch_steps[first->step]);
    sgfs_status status = sgfsi_sketch_check(h->count, h->file, err);
    if (status == SGFS_OK) status = sgfsi_sketch_join(&h->whole, h->count, h->file, err);
    h->whole.head = first->head;
    h->whole.elsewhere = first->elsewhere;
    h->whole.elsewhere.marks = &h->whole.marks;
    return status;
}

/* Which files these are, to be watched and found again as others are. */
static sgfs_status name_files(sgfs_data *d, const sgfsi_files *files, sgfs_err *err) {
    d->path = sgfsi_arena_text(&d->arena, files->shown);
    d->file = sgfsi_arena_alloc(&d->arena, files->count, sizeof *d->file);
    d->print = sgfsi_arena_alloc(&d->arena, files->count, sizeof *d->print);
    if (d->path == NULL || d->file == NULL || d->print == NULL)
        return sgfsi_fail_memory(err, "the list of files");
    for (; d->files < files->count; d->files++) {
        int64_t k = d->files;
        sgfsi_stamp stamp;
        (void)sgfsi_stamp_take(files->path[k], &stamp);
        d->file[k] = sgfsi_arena_text(&d->arena, files->name[k]);
        sgfs_status status = sgfsi_fingerprint_add(d, k, files->path[k], true, &stamp, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

sgfs_data *sgfsi_sketch_open(const sgfsi_files *files, const sgfs_config *cfg, sgfs_err *err) {
    holder *h = calloc(1, sizeof *h);
    if (h == NULL) return sgfsi_fail_memory(err, "the sketch"), NULL;
    sgfs_data *d = NULL;
    if (read_all(h, files, err) == SGFS_OK) d = sgfsi_sketch_data(&h->whole, cfg, err);
    if (d == NULL || !sgfsi_arena_keep(&d->arena, let_go, NULL, h)) {
        if (d != NULL) sgfsi_fail_memory(err, "the sketch");
        sgfs_data_free(d);
        let_go(NULL, h);
        return NULL;
    }
    if (name_files(d, files, err) == SGFS_OK) return d;
    sgfs_data_free(d);
    return NULL;
}
