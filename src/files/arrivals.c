/* SPDX-License-Identifier: MIT
 * arrivals.c: new rows from several files, as if they stood in one.
 *
 * Every file is opened once before the first row, to see that it has the run's columns: a mistake
 * in the last one should not come to light after all others are predicted. Then one after another.
 * A file stays open until the block that its last row is in has been dealt with: messages about
 * that row need it.
 */
#include "files/arrivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "files/sources.h"

enum { MOST_PIECES = 64 };

/* Rows of one file in a block. */
typedef struct piece {
    sgfsi_incoming *rows;
    int64_t first; /* row of the block that is its first one */
    int64_t file;
} piece;

struct sgfsi_arrivals {
    sgfsi_arena arena;
    sgfsi_files files;
    sgfsi_sources sources;
    sgfsi_wanted asked;
    bool zero_based, have_target;
    sgfsi_log to, log;    /* where notes go, and the gate before it */
    bool shut;            /* it lets nothing pass */
    int64_t limit, taken; /* rows at most (0: all); of those, in files that are finished */
    char *target_name;
    double *bytes, total, done; /* sizes of the files; of all; of those that are finished */
    int64_t at;                 /* the file at hand */
    bool reading;               /* it is open: the last piece */
    piece piece[MOST_PIECES];   /* of the block read last */
    int64_t pieces;
    int64_t *line, room; /* of each row of it: its number in the file */
};

/* ---- opening --------------------------------------------------------------------------------- */

/* What there is to note of columns is noted of the first file: the others are alike. */
static void pass_on(sgfs_level level, const char *text, void *user) {
    const sgfsi_arrivals *r = user;
    if (!r->shut && r->to.fn != NULL) r->to.fn(level, text, r->to.user);
}

static sgfs_status open_file(sgfsi_arrivals *r, int64_t i, sgfsi_incoming **rows, sgfs_err *err) {
    sgfsi_read_options options = sgfsi_sources_options(&r->sources, i);
    options.zero_based = r->zero_based; /* looked at for libsvm files only */
    options.log = &r->log;
    r->shut = i > 0;
    sgfs_status status = sgfsi_incoming_open(rows, r->files.path[i], &r->asked, &options, err);
    r->shut = false;
    return status;
}

static sgfs_status check_target(sgfsi_arrivals *r, int64_t i, const sgfsi_incoming *rows,
                                sgfs_err *err) {
    bool has = sgfsi_incoming_have_target(rows);
    if (i == 0) {
        r->have_target = has;
        r->target_name = sgfsi_arena_text(&r->arena, sgfsi_incoming_target_name(rows));
        return r->target_name != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
    }
    if (has == r->have_target) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.200s: has %s target, and %.200s %s; predict them one by one, or say "
                      "--target none for predictions alone.",
                      r->files.name[i], has ? "the" : "no", r->files.name[0],
                      has ? "has none" : "has it");
}

static sgfs_status check_files(sgfsi_arrivals *r, sgfs_err *err) {
    r->bytes = sgfsi_arena_alloc(&r->arena, r->files.count, sizeof *r->bytes);
    sgfs_status status = r->bytes != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; i < r->files.count && status == SGFS_OK; i++) {
        struct stat st;
        sgfsi_incoming *rows = NULL;
        status = open_file(r, i, &rows, err);
        if (status == SGFS_OK) status = check_target(r, i, rows, err);
        r->bytes[i] = stat(r->files.path[i], &st) == 0 ? (double)st.st_size : 0;
        r->total += r->bytes[i];
        bool first = status == SGFS_OK && i == 0; /* kept: nobody opens a single file twice */
        if (first) r->piece[r->pieces++] = (piece){.rows = rows};
        else sgfsi_incoming_close(rows);
        r->reading = r->pieces > 0;
    }
    return status;
}

/* Files are opened long after the caller's options may be gone. */
static sgfs_status keep_texts(sgfsi_arrivals *r, sgfsi_read_options *options, sgfs_err *err) {
    const char **text[] = {&options->delimiter, &options->header,   &options->labels,
                           &r->asked.target,    &r->asked.exposure, &r->asked.weights,
                           &r->asked.part};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        if (*text[i] == NULL) continue;
        *text[i] = sgfsi_arena_text(&r->arena, *text[i]);
        if (*text[i] == NULL) return sgfsi_fail_memory(err, "a reader");
    }
    return SGFS_OK;
}

static sgfs_status open_all(sgfsi_arrivals *r, const char *name, const sgfsi_read_options *options,
                            sgfs_err *err) {
    sgfs_status status = sgfsi_files_open(&r->files, name, options->log, err);
    if (status != SGFS_OK) return status;
    sgfsi_read_options tidied = *options;
    const sgfsi_log *log = sgfsi_files_log(&r->files, options->log);
    if (log != NULL) r->to = *log;
    r->log = (sgfsi_log){pass_on, r};
    tidied.log = &r->log;
    tidied.zero_based = false; /* said of the run's file: these may be of another kind */
    r->zero_based = options->zero_based;
    status = keep_texts(r, &tidied, err);
    if (status == SGFS_OK)
        status = sgfsi_sources_open(&r->sources, r->files.count, (const char *const *)r->files.path,
                                    &tidied, err);
    return status == SGFS_OK ? check_files(r, err) : status;
}

static void tidy(const sgfsi_arrivals *r, sgfs_err *err) {
    sgfsi_files_tidy(&r->files, err);
    sgfsi_files_tidy(&r->sources.labels, err);
}

sgfs_status sgfsi_arrivals_open(sgfsi_arrivals **out, const char *name, const sgfsi_wanted *asked,
                                const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfsi_arrivals *r = *out = calloc(1, sizeof *r);
    if (r == NULL) return sgfsi_fail_memory(err, "a reader");
    r->asked = *asked;
    r->limit = asked->limit;
    sgfs_status status = open_all(r, name, options, err);
    if (status != SGFS_OK) tidy(r, err);
    return status;
}

const char *sgfsi_arrivals_shown(const sgfsi_arrivals *rows) {
    return rows->files.shown;
}

bool sgfsi_arrivals_have_target(const sgfsi_arrivals *rows) {
    return rows->have_target;
}

const char *sgfsi_arrivals_target_name(const sgfsi_arrivals *rows) {
    return rows->target_name;
}

void sgfsi_arrivals_close(sgfsi_arrivals *rows) {
    if (rows == NULL) return;
    for (int64_t k = 0; k < rows->pieces; k++) sgfsi_incoming_close(rows->piece[k].rows);
    free(rows->line);
    sgfsi_sources_close(&rows->sources);
    sgfsi_files_close(&rows->files);
    sgfsi_arena_free(&rows->arena);
    free(rows);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Files that ended in the last block are done with; the one at hand goes on as the first piece. */
static void begin_block(sgfsi_arrivals *r) {
    int64_t ended = r->pieces - (r->reading ? 1 : 0);
    for (int64_t k = 0; k < ended; k++) sgfsi_incoming_close(r->piece[k].rows);
    if (r->reading && ended < MOST_PIECES) r->piece[0] = r->piece[ended];
    r->pieces -= ended;
    r->piece[0].first = 0;
}

static sgfs_status make_room(sgfsi_arrivals *r, int64_t most, sgfs_err *err) {
    if (most <= r->room) return SGFS_OK;
    int64_t *line = realloc(r->line, (size_t)most * sizeof *line);
    if (line == NULL) return sgfsi_fail_memory(err, "rows");
    r->line = line;
    r->room = most;
    return SGFS_OK;
}

static sgfs_status next_file(sgfsi_arrivals *r, int64_t first, sgfs_err *err) {
    sgfsi_incoming *rows = NULL;
    sgfs_status status = open_file(r, r->at, &rows, err);
    r->piece[r->pieces++] = (piece){.rows = rows, .first = first, .file = r->at};
    r->reading = true;
    return status;
}

/* The next file goes on counting where this one ends. */
static void count_rows(sgfsi_arrivals *r, const sgfsi_incoming *rows) {
    int64_t taken;
    r->asked.before += sgfsi_incoming_rows(rows, &taken);
    r->taken += taken;
    if (r->limit == 0) return;
    r->asked.limit = r->limit - r->taken;
    if (r->asked.limit == 0) r->at = r->files.count;
}

/* What the file at hand has for the rest of the block, behind block->n rows. */
static sgfs_status read_some(sgfsi_arrivals *r, int64_t most, sgfsi_incoming_block *block,
                             sgfs_err *err) {
    int64_t have = block->n;
    const piece *p = &r->piece[r->pieces - 1];
    sgfsi_incoming_block rest = *block;
    rest.x += have * block->stride;
    rest.y += have;
    rest.exposure += have;
    sgfs_status status = sgfsi_incoming_next(p->rows, most - have, &rest, err);
    if (status != SGFS_OK) return status;
    for (int64_t i = 0; i < rest.n; i++) r->line[have + i] = sgfsi_incoming_line(p->rows, i);
    block->n += rest.n;
    if (rest.n > 0) return SGFS_OK;
    r->reading = false;
    r->done += r->bytes[r->at++];
    return count_rows(r, p->rows), SGFS_OK;
}

sgfs_status sgfsi_arrivals_next(sgfsi_arrivals *rows, int64_t most, sgfsi_incoming_block *block,
                                sgfs_err *err) {
    block->n = 0;
    begin_block(rows);
    sgfs_status status = make_room(rows, most, err);
    while (status == SGFS_OK && block->n < most && rows->at < rows->files.count) {
        if (!rows->reading && rows->pieces == MOST_PIECES) {
            if (block->n > 0) break;
            begin_block(rows); /* of files without rows */
        }
        if (!rows->reading) status = next_file(rows, block->n, err);
        if (status == SGFS_OK) status = read_some(rows, most, block, err);
    }
    if (status != SGFS_OK) tidy(rows, err);
    return status;
}

static const piece *piece_of(const sgfsi_arrivals *r, int64_t i) {
    int64_t k = r->pieces - 1;
    while (k > 0 && r->piece[k].first > i) k--;
    return &r->piece[k];
}

const char *sgfsi_arrivals_where(const sgfsi_arrivals *rows, int64_t i, char out[SGFSI_WHERE]) {
    const piece *p = piece_of(rows, i);
    snprintf(out, SGFSI_WHERE, sgfsi_incoming_is_text(p->rows) ? "%.250s:%lld" : "%.250s: row %lld",
             rows->files.name[p->file], (long long)rows->line[i]);
    return out;
}

const char *sgfsi_arrivals_level(const sgfsi_arrivals *rows, int64_t i, double y) {
    return sgfsi_incoming_level(piece_of(rows, i)->rows, y);
}

double sgfsi_arrivals_fraction(const sgfsi_arrivals *rows) {
    double here = 0;
    if (rows->reading)
        here = rows->bytes[rows->at] * sgfsi_incoming_fraction(rows->piece[rows->pieces - 1].rows);
    return rows->total > 0 ? (rows->done + here) / rows->total : 1;
}
