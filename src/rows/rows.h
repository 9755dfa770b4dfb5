/* SPDX-License-Identifier: MIT
 * rows.h: the left border of the engine. Models, posterior, samplers and jobs see data through
 * these functions and the plain facts of data.h (N, p, names, statistics); how rows are stored (in
 * memory, in mapped files, sparse; in their file's type) is nobody else's business.
 *
 *     rows as numbers     sgfsi_data_rows_range, _pick, _table
 *     rows as a batch     sgfsi_rows_range, _drawn, _table
 *     other data          sgfsi_data_view, _view_fair
 *     the target          sgfsi_data_target_values, _is_text, _word, ...
 *     for the header      sgfsi_data_describe
 */
#pragma once

#include "context/context.h"
#include "rows/data.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Rows first .. first+n-1 in order: x n x p, y n (either may be NULL). */
void sgfsi_data_rows_range(const sgfs_data *d, int64_t first, int64_t n, double *x, double *y);
/* Rows row[0..n-1] in any order. */
void sgfsi_data_rows_pick(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y);
/* Rows that will be picked soon: bring the first of them near, without waiting. */
void sgfsi_data_rows_fetch(const sgfs_data *d, const int64_t *row, int64_t n);
/* Rows row[0..n-1] of the table, whatever rows d has, treated as rows of d are. */
void sgfsi_data_rows_table(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y);
/* n rows of the data that stand for all of them: evenly spaced, and where the order is random,
 * neighbours together, so that few pages are read. n <= d->N. */
void sgfsi_data_fair(const sgfs_data *d, int64_t n, int64_t *row);
/* Weights of rows first .. first+n-1; 1 without weights. */
void sgfsi_data_weights(const sgfs_data *d, int64_t first, int64_t n, double *weight);
double sgfsi_data_mean_exposure(const sgfs_data *d); /* of the rows; 1 without exposure */

/* Row i of the data is this row of the table, counted from 0 as in the file. */
static inline int64_t sgfsi_data_table_row(const sgfs_data *d, int64_t i) {
    return d->subset != NULL ? d->subset[i] : i;
}
/* "part-2.npy: row 17": where row i of the data stands. Returns out. */
const char *sgfsi_data_where(const sgfs_data *d, int64_t i, char *out, size_t room);
/* Do the rows stand in an order drawn at random? */
static inline bool sgfsi_data_is_shuffled(const sgfs_data *d) {
    return d->table.shuffled;
}
static inline bool sgfsi_data_is_sparse(const sgfs_data *d) {
    return d->table.type == SGFSI_CSR;
}
/* The device in whose memory the rows lie, and nowhere else (far.h); NULL: they are the host's. */
static inline const sgfs_device *sgfsi_data_home(const sgfs_data *d) {
    return d->table.device;
}
static inline bool sgfsi_data_is_far(const sgfs_data *d) {
    return sgfsi_data_home(d) != NULL;
}
/* Are their numbers rounded to four bytes? */
static inline bool sgfsi_data_is_single(const sgfs_data *d) {
    return d->table.type == SGFSI_F32;
}
/* Do the rows stay in their files, which are mapped? And how many bytes do those have? */
static inline bool sgfsi_data_is_mapped(const sgfs_data *d) {
    return d->table.parts > 0;
}
double sgfsi_data_mapped_bytes(const sgfs_data *d);

/* ---- views ----------------------------------------------------------------------------------- */

typedef enum sgfsi_view_scale {
    SGFSI_OWN_SCALE, /* every statistic is of these rows alone, and with it the centring and scaling
                         of --standardize: nothing of the other rows leaks in */
    SGFSI_SAME_SCALE, /* the statistics and the scale are those of the whole */
    SGFSI_NO_SCALE    /* not standardised; the statistics are those of the whole */
} sgfsi_view_scale;

/* Rows row[0..n) of `whole` (copied; NULL: all of them) as data of their own over the same table.
 * The whole must outlive them. Free with sgfs_data_free. */
sgfs_data *sgfsi_data_view(const sgfs_data *whole, const int64_t *row, int64_t n,
                           sgfsi_view_scale scale, sgfs_err *err);
/* The same of n rows that stand for all (sgfsi_data_fair). */
sgfs_data *sgfsi_data_view_fair(const sgfs_data *whole, int64_t n, sgfsi_view_scale scale,
                                sgfs_err *err);

/* ---- the target ------------------------------------------------------------------------------ */

/* Up to `most` distinct target values in increasing order; returns how many (most + 1: more). */
int64_t sgfsi_data_target_values(const sgfs_data *d, int64_t most, double *value);
/* The same and the rows of each, borrowed, where a file lists them and all its rows are there;
 * returns how many, 0: there is no list. */
int64_t sgfsi_data_target_list(const sgfs_data *d, const double **value, const double **rows);
/* Does it hold words? The numbers in the table are then those of words, 0, 1, ... */
bool sgfsi_data_target_is_text(const sgfs_data *d);
int64_t sgfsi_data_target_words(const sgfs_data *d);                   /* how many; or 0 */
const char *sgfsi_data_target_word(const sgfs_data *d, double number); /* NULL: there is none */
/* SGFS_EDATA where it holds words, naming the first: "...; <needs>." */
sgfs_status sgfsi_data_refuse_text(const sgfs_data *d, const char *needs, sgfs_err *err);

/* What the run file's header says of the data. */
sgfsi_json *sgfsi_data_describe(const sgfs_data *d);

/* Rows as they lie in memory: the features of the first, those of the next `stride` numbers on. In
 * a packed file some numbers are passed over where a chunk ends: after `left` rows, and from there
 * on after every `chunk`. */
typedef struct sgfsi_side_by_side {
    const void *cells;
    bool single; /* floats, else doubles */
    int64_t stride, n;
    int64_t left, chunk, gap; /* rows, rows, numbers */
} sgfsi_side_by_side;

/* Rows first .. of the data, as many of n as lie so. false: they have to be gathered: they are
 * sparse, chosen from a list, of another type, in another memory, or their features are not side by
 * side. */
bool sgfsi_data_stored(const sgfs_data *d, int64_t first, int64_t n, sgfsi_side_by_side *rows);

/* ---- batches --------------------------------------------------------------------------------- */

/* Who gathers the rows of batches, and in whose memory they lie: the device (NULL: the host), from
 * the copy of all rows that it keeps, or, where it keeps none, the host for it. Of dealt rows each
 * of several processes gathers its own (shares.h). */
typedef struct sgfsi_gatherer {
    const sgfs_device *device;
    void *kept;
    void *some; /* of a device without room for all rows, for passes alone: those that it has, the
                   others being brought; kept is NULL then, and row i is row i of the data */
    struct sgfsi_carrier *carrier; /* who brings rows (carrier.h); NULL: nobody does */
    bool whole; /* row i of the copy is row i of the data, and it has no others */
    const sgfsi_comm
        *dealt; /* minibatches are put together by these processes; NULL: by each alone */
} sgfsi_gatherer;

/* For ctx->device. passes: it can make passes over all rows, for which `some` are of use. The copy
 * goes with the arena. */
sgfs_status sgfsi_gatherer_open(sgfsi_gatherer *g, const sgfs_data *d, const sgfsi_context *ctx,
                                bool passes, sgfsi_arena *arena, sgfs_err *err);
/* How much of the rows has to come in each pass, where there are `some`. */
void sgfsi_gatherer_say(const sgfsi_gatherer *g, const sgfs_data *d, const sgfsi_log *log);
/* Rows first .. first + n - 1 of the data from the device's copy to X, n x p in its memory. */
void sgfsi_gatherer_range(const sgfsi_gatherer *g, const sgfs_data *d, int64_t first, int64_t n,
                          double *X);
/* g->dealt, by --deal: "on", "off", or "auto": where the files exceed the memory. Collective. */
sgfs_status sgfsi_gatherer_deal(sgfsi_gatherer *g, const sgfs_data *d, const char *how,
                                const sgfsi_comm *comm, sgfs_err *err);

typedef struct sgfsi_rows_plan {
    int64_t n;               /* rows at most */
    bool sparse;             /* whoever reads them takes b->sparse (model kinds say so) */
    bool repeats;            /* for sgfsi_rows_drawn: a row may come more than once in a batch */
    int64_t parameters;      /* of the model, for minibatches: how large chunks may be */
    sgfsi_gatherer gatherer; /* zeroed: the host */
} sgfsi_rows_plan;

/* Room for the rows of a batch, dense or sparse, with weights and offsets where the data have
 * them. */
typedef struct sgfsi_rows {
    const sgfs_data *data;
    sgfsi_gatherer gatherer;
    double *x;               /* n x p, in the device's memory; NULL: sparse */
    double *staged;          /* n x p: rows that the host gathers for another's memory; or NULL */
    int64_t *at;             /* n rows of the table, for a device that keeps them; or NULL */
    double *y;               /* n */
    double *weight, *offset; /* n; NULL where the data have none (weights: or rows are drawn) */
    int64_t *start;          /* n + 1, and so on: NULL unless sparse */
    int32_t *col;
    double *value;
    sgfs_csr csr;     /* the three above */
    sgfs_batch batch; /* the rows of the latest call */
    sgfs_batch aside; /* what is beside them */
} sgfsi_rows;

struct sgfsi_exchange; /* exchange.h */

sgfs_status sgfsi_rows_open(sgfsi_rows *r, const sgfs_data *d, sgfsi_rows_plan plan,
                            sgfsi_arena *arena, sgfs_err *err);
/* Each fills the room and gives r->batch, which is good until the next call, as long as r does not
 * move; gamma is 1 unless the caller says otherwise there. Rows first .. first + n - 1 of the data,
 * with their weights; */
const sgfs_batch *sgfsi_rows_range(sgfsi_rows *r, int64_t first, int64_t n);
/* the same without the rows themselves (x is NULL): targets, weights, offsets; */
const sgfs_batch *sgfsi_rows_beside(sgfsi_rows *r, int64_t first, int64_t n);
/* rows row[0..n) of the data, drawn in proportion to their weights: each counts once; */
const sgfs_batch *sgfsi_rows_drawn(sgfsi_rows *r, const int64_t *row, int64_t n);
/* The same of rows that are dealt, each from the process that has it: collective. NULL where one of
 * them failed: err says why, everywhere. */
const sgfs_batch *sgfsi_rows_dealt(sgfsi_rows *r, struct sgfsi_exchange *x, const int64_t *row,
                                   int64_t n, sgfs_err *err);
const sgfs_batch *sgfsi_rows_beside_drawn(sgfsi_rows *r, const int64_t *row, int64_t n);
/* rows row[0..n) of the table, whatever rows the data have, with their weights. */
const sgfs_batch *sgfsi_rows_table(sgfsi_rows *r, const int64_t *row, int64_t n);
