/* SPDX-License-Identifier: MIT
 * fingerprint.c: are the files of the data still what they were?
 *
 * The system's own stamp (length, time of the last change, number of the file) is compared first,
 * since that costs a microsecond. Where it is another one the contents decide: all bytes are read
 * again, but for packed files, which list the checksums of their chunks. There the list is
 * compared, and every chunk counts as not yet looked at (pages.c).
 *
 * A file that was removed while its rows are mapped or in memory changes nothing for the run at
 * hand, and is passed over.
 */
#include "rows/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "base/ticker.h"
#include "rows/rows.h"

bool sgfsi_stamp_take(const char *path, sgfsi_stamp *stamp) {
    struct stat st;
    if (stat(path, &st) != 0) return false;
    *stamp = (sgfsi_stamp){st.st_dev, st.st_ino, (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                           (int64_t)st.st_mtim.tv_nsec};
    return true;
}

static bool is_same(const sgfsi_stamp *a, const sgfsi_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

sgfs_status sgfsi_file_crc(const char *path, uint32_t *crc, sgfs_err *err) {
    enum { PIECE = 1 << 18 };
    char *piece = malloc(PIECE);
    if (piece == NULL) return sgfsi_fail_memory(err, "a checksum");
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    size_t got = PIECE;
    *crc = 0;
    while (error == 0 && got == PIECE) {
        error = sgfsi_io_take(fd, piece, PIECE, &got);
        *crc = sgfsi_crc32(*crc, piece, got);
    }
    if (fd >= 0) close(fd);
    free(piece);
    return error == 0 ? SGFS_OK : sgfsi_fail_io(err, path, "read it", error);
}

static uint32_t crc_of_list(const sgfsi_part *part) {
    const sgfsi_packed *k = part->packed;
    return sgfsi_crc32(0, k->crc, (size_t)k->chunks * sizeof *k->crc);
}

static sgfs_status fail_changed(const char *path, const char *when, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EIO,
                      "%.300s: was changed while %s: its rows are no longer those that were read. "
                      "Leave data files alone while they are in use.",
                      path, when);
}

/* ---- when rows are read ---------------------------------------------------------------------- */

static const sgfsi_part *packed_part(const sgfsi_table *table, const char *path) {
    for (int64_t k = 0; k < table->parts; k++) {
        const sgfsi_part *part = &table->part[k];
        if (part->packed != NULL && strcmp(part->path, path) == 0) return part;
    }
    return NULL;
}

void sgfsi_fingerprint_begin(sgfsi_fingerprint *f, const char *path, const sgfsi_table *table) {
    const sgfsi_part *part = packed_part(table, path);
    *f = (sgfsi_fingerprint){.packed = part != NULL, .crc = part != NULL ? crc_of_list(part) : 0};
}

sgfs_status sgfsi_fingerprint_take(sgfsi_fingerprint *f, const char *path, sgfs_err *err) {
    if (!sgfsi_stamp_take(path, &f->stamp)) return sgfsi_fail_io(err, path, "read it", errno);
    return f->packed ? SGFS_OK : sgfsi_file_crc(path, &f->crc, err);
}

sgfs_status sgfsi_fingerprint_add(sgfs_data *d, int64_t file, const char *path, bool kept,
                                  const sgfsi_stamp *before, sgfs_err *err) {
    sgfsi_fingerprint *f = &d->print[file];
    sgfs_status status = sgfsi_fingerprint_take(f, path, err);
    if (status == SGFS_OK && kept && !is_same(&f->stamp, before))
        status = fail_changed(path, "it was read", err);
    if (status != SGFS_OK || !kept) return status;
    f->path = sgfsi_arena_text(&d->arena, path);
    return f->path != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
}

/* Targets, weights and exposures whole, and of the cells at most 16 MB: rows at equal distances,
 * the first and the last among them. */
/* Of cells in a device's memory what it says of their columns. */
static uint32_t crc_of_columns(const sgfs_data *d, uint32_t crc) {
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_column *c = &d->feature[j];
        const double numbers[] = {c->mean, c->sd, c->min, c->max};
        crc = sgfsi_crc32(crc, numbers, sizeof numbers);
    }
    return crc;
}

void sgfsi_fingerprint_arrays(sgfs_data *d, const double *weights, const double *exposure) {
    const sgfsi_table *t = &d->table;
    const double *const whole[] = {d->y, weights, exposure}, most = 1 << 24;
    uint32_t crc = 0;
    for (int k = 0; k < 3; k++)
        if (whole[k] != NULL) crc = sgfsi_crc32(crc, whole[k], (size_t)t->rows * sizeof(double));
    if (sgfsi_data_is_far(d)) {
        d->arrays_crc = crc_of_columns(d, crc);
        return;
    }
    bool sparse = t->type == SGFSI_CSR;
    size_t cell = sparse ? sizeof *t->csr.col + sizeof *t->csr.value : sgfsi_dtype_size(t->type);
    double cells = sparse ? (double)t->csr.start[t->rows] : (double)t->rows * (double)t->cols;
    double share = fmin(1, most / fmax(cells * (double)cell, 1));
    int64_t n = (int64_t)fmax(share * (double)t->rows, t->rows > 1 ? 2 : 1);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = n > 1 ? (int64_t)((double)k * (double)(t->rows - 1) / (double)(n - 1)) : 0;
        if (!sparse) {
            const char *row = (const char *)t->cells + (size_t)(i * t->row_stride) * cell;
            crc = sgfsi_crc32(crc, row, (size_t)t->cols * cell);
            continue;
        }
        int64_t from = t->csr.start[i], length = t->csr.start[i + 1] - from;
        crc = sgfsi_crc32(crc, &length, sizeof length);
        if (length == 0) continue;
        crc = sgfsi_crc32(crc, t->csr.col + from, (size_t)length * sizeof *t->csr.col);
        crc = sgfsi_crc32(crc, t->csr.value + from, (size_t)length * sizeof *t->csr.value);
    }
    d->arrays_crc = crc;
}

/* ---- in the header --------------------------------------------------------------------------- */

void sgfsi_fingerprints_describe(const sgfs_data *d, sgfsi_json *o) {
    if (d->print == NULL && d->arrays_crc != 0) sgfsi_json_int(o, "checksum", d->arrays_crc);
    if (d->print == NULL) return;
    sgfsi_json *list = sgfsi_json_array_in(o, "fingerprint");
    for (int64_t i = 0; i < d->files; i++) {
        const sgfsi_fingerprint *f = &d->print[i];
        sgfsi_json *one = sgfsi_json_object_in(list, NULL);
        sgfsi_json_int(one, "bytes", f->stamp.bytes);
        if (f->path != NULL) {
            sgfsi_json_int(one, "modified", f->stamp.seconds);
            sgfsi_json_int(one, "modified_ns", f->stamp.nanoseconds);
        }
        sgfsi_json_flag(one, "packed", f->packed);
        sgfsi_json_int(one, "crc32", f->crc);
    }
}

const char *sgfsi_fingerprints_differ(int64_t files, const sgfsi_fingerprint *print,
                                      char *const *name, const sgfsi_json *said, char what[256]) {
    const sgfsi_json *list = sgfsi_json_get(said, "fingerprint");
    if (print == NULL || sgfsi_json_length(list) != files) return NULL;
    for (int64_t i = 0; i < files; i++) {
        const sgfsi_json *then = sgfsi_json_at(list, i);
        const sgfsi_fingerprint *now = &print[i];
        if (sgfsi_json_get_flag(then, "packed") != now->packed) continue;
        int64_t bytes = sgfsi_json_get_int(then, "bytes", -1);
        if (bytes != now->stamp.bytes) {
            snprintf(what, 256, "%.100s has %lld bytes, and had %lld", name[i],
                     (long long)now->stamp.bytes, (long long)bytes);
            return what;
        }
        if (sgfsi_json_get_int(then, "crc32", -1) == (int64_t)now->crc) continue;
        snprintf(what, 256, "the checksum of %.100s is another one", name[i]);
        return what;
    }
    return NULL;
}

/* ---- between processes ----------------------------------------------------------------------- */

/* What one process says of all its files, or of one of them. */
typedef struct print_note {
    int64_t files, bytes, crc;
} print_note;

static print_note note_all(const sgfs_data *d) {
    print_note all = {.bytes = d->N, .crc = d->arrays_crc};
    if (d->print != NULL) all.files = d->files;
    for (int64_t i = 0; i < all.files; i++) {
        const int64_t one[] = {all.crc, d->print[i].stamp.bytes, d->print[i].crc};
        all.crc = sgfsi_crc32(0, one, sizeof one);
    }
    return all;
}

/* The first process whose note is another one than that of rank 0, or 0. */
static int64_t find_other(const sgfsi_comm *comm, const print_note *note) {
    for (int64_t k = 1; k < comm->size; k++)
        if (memcmp(&note[k], &note[0], sizeof *note) != 0) return k;
    return 0;
}

sgfs_status sgfsi_fingerprints_agree(const sgfs_data *d, const sgfsi_comm *comm, sgfs_err *err) {
    const int64_t size = comm->size, each = sizeof(print_note);
    if (size == 1) return SGFS_OK;
    print_note *note = calloc((size_t)size, sizeof *note);
    sgfs_status status = note != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
    if (note != NULL) note[comm->rank] = note_all(d);
    status = sgfsi_comm_gather(comm, status, size, each, each, note, err);
    int64_t other = status == SGFS_OK ? find_other(comm, note) : 0, files = 0;
    const char *name = d->path;
    if (other > 0 && note[other].files == note[0].files) files = note[0].files;
    for (int64_t i = 0, found = 0; i < files && found == 0 && status == SGFS_OK; i++) {
        bool mine = i < d->files && d->print != NULL; /* a third process may have fewer files */
        note[comm->rank] = mine ? (print_note){1, d->print[i].stamp.bytes, d->print[i].crc}
                                : (print_note){0, 0, 0};
        status = sgfsi_comm_gather(comm, status, size, each, each, note, err);
        found = status == SGFS_OK ? find_other(comm, note) : 0;
        if (found > 0 && mine) name = d->file[i];
        if (found > 0) other = found;
    }
    free(note);
    if (status != SGFS_OK || other == 0) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.300s: rank %lld of %lld has opened another file than rank 0: all machines "
                      "need the same files, to the byte.",
                      name, (long long)other, (long long)size);
}

/* ---- while a run moves ----------------------------------------------------------------------- */

/* The stamp is another one: are the contents? Of a packed file whose rows are in memory nobody
 * knows the list any more. */
static sgfs_status look_inside(const sgfsi_fingerprint *f, const sgfsi_table *table,
                               const sgfsi_stamp *now, sgfs_err *err) {
    const sgfsi_part *part = f->packed ? packed_part(table, f->path) : NULL;
    uint32_t crc = f->crc + 1;
    sgfs_status status = SGFS_OK;
    if (!f->packed && now->bytes == f->stamp.bytes) status = sgfsi_file_crc(f->path, &crc, err);
    bool mapped = part != NULL && now->bytes == f->stamp.bytes && now->inode == f->stamp.inode &&
                  now->device == f->stamp.device;
    if (mapped) crc = crc_of_list(part);
    if (status == SGFS_OK && crc != f->crc)
        return fail_changed(f->path, "the run was using it", err);
    for (int64_t b = 0; mapped && b < (part->packed->chunks + 7) / 8; b++)
        atomic_store_explicit(&part->packed->seen[b], 0, memory_order_relaxed);
    return status;
}

sgfs_status sgfsi_watch_look(sgfsi_watch *w, const sgfs_data *d, bool now, sgfs_err *err) {
    const double apart = 0.5, share = 0.01; /* seconds; of the time, where files are many */
    double begin = sgfsi_now();
    if (d->print == NULL || (!now && begin < w->next)) return SGFS_OK;
    if (w->seen == NULL) {
        w->seen = malloc((size_t)d->files * sizeof *w->seen);
        if (w->seen == NULL) return sgfsi_fail_memory(err, "the list of files");
        for (int64_t i = 0; i < d->files; i++) w->seen[i] = d->print[i].stamp;
    }
    for (int64_t i = 0; i < d->files; i++) {
        sgfsi_stamp stamp;
        const char *path = d->print[i].path;
        if (path == NULL || !sgfsi_stamp_take(path, &stamp) || is_same(&stamp, &w->seen[i]))
            continue;
        sgfs_status status = look_inside(&d->print[i], &d->table, &stamp, err);
        if (status != SGFS_OK) return status;
        w->seen[i] = stamp;
    }
    double end = sgfsi_now(), pause = (end - begin) / share;
    w->next = end + (pause > apart ? pause : apart);
    return SGFS_OK;
}
