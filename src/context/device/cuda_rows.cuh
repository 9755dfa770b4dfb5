/* SPDX-License-Identifier: MIT
 * cuda_rows.cuh: what cuda_rows.cu, cuda_stream.cu and cuda_glm.cu know of rows that are kept.
 */
#pragma once

#include <mutex>

#include "context/device/cuda_lane.cuh"

struct stretches;

/* Cells as they are stored, of all rows or of some stretches. Columns of all spans, one after
 * another; without shift and scale cells are taken as they are. */
struct kept_rows {
    sgfsi_dtype type;
    int64_t rows, row_bytes, features;
    int intercept;
    bool lent; /* cells are a caller's */
    char *cells;
    int64_t there; /* rows in cells */
    int64_t *column;
    double *shift, *scale;
    stretches *way;
};

/* cuda_stream.cu: rows come in stretches: those that do not lie there, through buffers in pinned
 * memory, while the GPU works on the stretches before. */
static constexpr int SLOTS = 3;

struct slot {
    char *pinned, *far; /* rows of a stretch, of the host's and on the GPU; NULL: not needed yet */
    cudaEvent_t copied, done; /* it has come to the GPU; all that was to be done with it is done */
};

struct stretches {
    std::mutex lock; /* for one thread at a time: from its first stretch until it has settled */
    int64_t rows;    /* of a stretch */
    int64_t bytes;
    bool (*read)(void *user, int64_t first, int64_t n, char *to);
    void *user;
    cudaStream_t copies;
    slot slots[SLOTS]; /* in turns */
    int64_t turn;
    slot *used; /* by the stretch at hand; NULL: it lies there */
};

/* How many rows a stretch has: the same for the same rows on GPUs with the same memory. */
int64_t stretch_rows(const sgfsi_stored *s, double all);
/* Of `fit` rows that have room, those that will lie there: whole stretches, or all. */
int64_t rows_of_stretches(int64_t rows, int64_t stretch, int64_t fit);
/* None of these make the device fail: they are called while rows may still stay with the host. */
stretches *open_stretches(const sgfsi_stored *s, int64_t rows);
void close_stretches(stretches *w);
bool copy_there(const kept_rows *k); /* k->there rows to k->cells */
bool make_slots(stretches *w);       /* for rows that do not lie there */

/* Rows first .. first + n - 1, a stretch, to X as gather_rows has them; false: they could not be
 * read, or the device has failed. Then what is to be done with X; then `end_stretch`. */
bool next_stretch(lane *l, const kept_rows *k, int64_t first, int64_t n, int64_t pitch, double *X);
void end_stretch(lane *l, const kept_rows *k);
