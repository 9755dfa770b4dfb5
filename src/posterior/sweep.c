/* SPDX-License-Identifier: MIT
 * sweep.c: see sweep.h.
 *
 * Columns are taken eight at a time. The last group of a row overlaps the one before it where their
 * number is no multiple of eight; its coefficients are 0 where they were counted already. Sums are
 * made in an order that depends on the number of columns and on the vectors this was compiled for
 * alone. Rows of a pass are fetched AHEAD bytes before they are wanted: processors do not look
 * beyond the end of a page.
 */
#include "posterior/sweep.h"

#include <math.h>
#include <string.h>

enum {
    LANES = 8,
    AHEAD = 4096,      /* bytes */
    CACHE = 128 << 10, /* bytes of a block: beside others in the second cache */
    STRIP = 32 << 10,  /* of scaled rows: in the first */
    LEAST = 64,        /* rows */
    MOST = 1024
};
static const double most_shift = 1e4; /* of a column's mean, in sds */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double f64_lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef float f32_lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* ---- opening --------------------------------------------------------------------------------- */

bool sgfsi_sweep_fits(const sgfs_model *m) {
    const sgfs_data *d = m->data;
    sgfsi_side_by_side rows;
    if (!m->kind->by_predictor || d->features < LANES || !sgfsi_data_stored(d, 0, 1, &rows))
        return false;
    for (int64_t j = 0; d->scale != NULL && j < d->features; j++)
        if (!(fabs(d->shift[j] * d->scale[j]) < most_shift)) return false;
    return true;
}

sgfs_status sgfsi_sweep_open(sgfsi_sweep *s, const sgfs_model *m, sgfsi_arena *arena,
                             sgfs_err *err) {
    *s = (sgfsi_sweep){.model = m, .beta = SGFSI_DOUBLES(arena, m->data->features + LANES)};
    return s->beta != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a pass over the data");
}

void sgfsi_sweep_begin(sgfsi_sweep *s, const double *theta) {
    const sgfs_data *d = s->model->data;
    s->c = d->intercept ? *theta++ : 0;
    for (int64_t j = 0; j < d->features; j++) {
        s->beta[j] = d->scale != NULL ? d->scale[j] * theta[j] : theta[j];
        if (d->scale != NULL) s->c -= d->shift[j] * s->beta[j];
    }
    /* The coefficients of the last group, behind the others. */
    int64_t k = d->features, twice = (LANES - k % LANES) % LANES;
    for (int64_t l = 0; l < LANES; l++) s->beta[k + l] = l < twice ? 0 : s->beta[k - LANES + l];
}

int64_t sgfsi_sweep_rows(const sgfsi_sweep *s) {
    sgfsi_side_by_side rows;
    (void)sgfsi_data_stored(s->model->data, 0, 1, &rows);
    int64_t n = CACHE / (rows.stride * (rows.single ? 4 : 8));
    return n < LEAST ? LEAST : n < MOST ? n / LANES * LANES : MOST;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The sums over the lanes of eight vectors, as the lanes of one: halves are added three times. */
#if defined(__clang__) || __GNUC__ >= 12
static inline lanes sum_lanes(const lanes s[LANES]) {
#define MIX __builtin_shufflevector
    lanes pair[4], four[2];
    for (int q = 0; q < 4; q++)
        pair[q] = MIX(s[2 * q], s[2 * q + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                  MIX(s[2 * q], s[2 * q + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int q = 0; q < 2; q++)
        four[q] = MIX(pair[2 * q], pair[2 * q + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                  MIX(pair[2 * q], pair[2 * q + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return MIX(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           MIX(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
#undef MIX
}
#else
static inline lanes sum_lanes(const lanes s[LANES]) {
    lanes sum = {0};
    for (int q = 0; q < LANES; q++)
        sum[q] = ((s[q][0] + s[q][1]) + (s[q][2] + s[q][3])) +
                 ((s[q][4] + s[q][5]) + (s[q][6] + s[q][7]));
    return sum;
}
#endif

static inline lanes f64_load(const double *x) {
    return *(const f64_lanes *)(const void *)x;
}

static inline lanes f32_load(const float *x) {
    return __builtin_convertvector(*(const f32_lanes *)(const void *)x, lanes);
}

/* Row i of n is row list[i] from x on, or row i where there is no list. k columns; beta: k + LANES.
 * Eight rows at a time share the coefficients; eta has room for whole groups of eight. g: k; the
 * sums of up to PANEL groups of columns stay in registers while all rows go by, and where these are
 * few, those of every other row (or of every fourth) are kept apart: a sum waits for the one
 * before. The last group of a panel begins at column `last` of it, and its first columns may have
 * been counted already. */
#define ROW(x, i) ((x) + (list != NULL ? list[i] : (i)) * stride)
#define KERNELS(name, type)                                                                        \
    static inline __attribute__((always_inline)) void name##_predict_eight(                        \
        const type *const row[LANES], int64_t k, const double *beta, double *eta) {                \
        lanes s[LANES];                                                                            \
        for (int q = 0; q < LANES; q++) s[q] = f64_load(beta) * name##_load(row[q]);               \
        for (int64_t j = LANES; j + LANES <= k; j += LANES) {                                      \
            lanes b = f64_load(beta + j);                                                          \
            for (int q = 0; q < LANES; q++) s[q] += b * name##_load(row[q] + j);                   \
        }                                                                                          \
        if (k % LANES > 0) {                                                                       \
            lanes b = f64_load(beta + k);                                                          \
            for (int q = 0; q < LANES; q++) s[q] += b * name##_load(row[q] + k - LANES);           \
        }                                                                                          \
        lanes sum = sum_lanes(s);                                                                  \
        memcpy(eta, &sum, sizeof sum);                                                             \
    }                                                                                              \
    static void name##_predict(int64_t n, int64_t k, const type *x, int64_t stride,                \
                               const int64_t *list, const double *beta, double *eta) {             \
        const type *row[LANES];                                                                    \
        int64_t i = 0;                                                                             \
        for (; list == NULL && i + LANES <= n; i += LANES, x += LANES * stride) {                  \
            for (int q = 0; q < LANES; q++) row[q] = x + q * stride;                               \
            for (int64_t b = 0; b < LANES * stride * (int64_t)sizeof *x; b += 64)                  \
                __builtin_prefetch((const char *)x + AHEAD + b);                                   \
            name##_predict_eight(row, k, beta, eta + i);                                           \
        }                                                                                          \
        x -= i * stride;                                                                           \
        for (; i < n; i += LANES) {                                                                \
            for (int q = 0; q < LANES; q++) row[q] = ROW(x, i + q < n ? i + q : i);                \
            name##_predict_eight(row, k, beta, eta + i);                                           \
        }                                                                                          \
    }                                                                                              \
    static void name##_scale(int64_t n, int64_t k, const type *x, int64_t stride,                  \
                             const int64_t *list, const double *root, const double *shift,         \
                             const double *scale, int64_t width, double *out) {                    \
        for (int64_t i = 0; i < n; i++, out += width) {                                            \
            const type *row = ROW(x, i);                                                           \
            for (int64_t j = 0; j < k; j += LANES) {                                               \
                int64_t at = j + LANES <= k ? j : k - LANES;                                       \
                lanes v = name##_load(row + at);                                                   \
                if (shift != NULL) v = (v - f64_load(shift + at)) * f64_load(scale + at);          \
                v *= root[i];                                                                      \
                memcpy(out + at, &v, sizeof v);                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void name##_add_groups(                           \
        int groups, int apart, int64_t last, int64_t n, const type *x, int64_t stride,             \
        const int64_t *list, const double *r, double *g) {                                         \
        lanes s[4][PANEL] = {{{0}}};                                                               \
        int64_t i = 0;                                                                             \
        for (; i + apart <= n; i += apart) {                                                       \
            for (int a = 0; a < apart; a++) {                                                      \
                const type *row = ROW(x, i + a);                                                   \
                for (int q = 0; q < groups; q++)                                                   \
                    s[a][q] += r[i + a] * name##_load(row + (q < groups - 1 ? q * LANES : last));  \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const type *row = ROW(x, i);                                                           \
            for (int q = 0; q < groups; q++)                                                       \
                s[0][q] += r[i] * name##_load(row + (q < groups - 1 ? q * LANES : last));          \
        }                                                                                          \
        for (int q = 0; q < groups; q++) {                                                         \
            int64_t at = q < groups - 1 ? q * LANES : last;                                        \
            for (int a = 1; a < apart; a++) s[0][q] += s[a][q];                                    \
            for (int64_t l = q * LANES - at; l < LANES; l++) g[at + l] += s[0][q][l];              \
        }                                                                                          \
    }                                                                                              \
    static void name##_add(int64_t n, int64_t k, const type *x, int64_t stride,                    \
                           const int64_t *list, const double *r, double *g) {                      \
        for (int64_t j = 0; j < k; j += PANEL * LANES) {                                           \
            int64_t left = k - j, groups = (left + LANES - 1) / LANES;                             \
            if (groups > PANEL) groups = PANEL;                                                    \
            int64_t last = groups * LANES <= left ? (groups - 1) * LANES : left - LANES;           \
            switch (groups) { PANELS(name) }                                                       \
        }                                                                                          \
    }
#define CASE(name, groups, apart)                                                                  \
    case groups: name##_add_groups(groups, apart, last, n, x + j, stride, list, r, g + j); break;
/* clang-format off */
#if defined __AVX512F__
enum { PANEL = 8 };
#define PANELS(name)                                                                               \
    CASE(name, 1, 4) CASE(name, 2, 4) CASE(name, 3, 2) CASE(name, 4, 2)                            \
    CASE(name, 5, 1) CASE(name, 6, 1) CASE(name, 7, 1) CASE(name, 8, 1)
#else /* half as many, and shorter, registers */
enum { PANEL = 4 };
#define PANELS(name) CASE(name, 1, 4) CASE(name, 2, 2) CASE(name, 3, 1) CASE(name, 4, 1)
#endif
/* clang-format on */

KERNELS(f64, double)
KERNELS(f32, float)

double sgfsi_sweep_sum(int64_t n, const double *x) {
    lanes s = {0};
    double sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) s += f64_load(x + i);
    for (int l = 0; l < LANES; l++) sum += s[l];
    for (; i < n; i++) sum += x[i];
    return sum;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Where each of n rows begins, counted from the first one's cells, where chunks come between. */
static void find_rows(const sgfsi_side_by_side *rows, int64_t n, int64_t *at) {
    int64_t left = rows->left, next = 0;
    for (int64_t i = 0; i < n; i++, next += rows->stride) {
        if (left-- == 0) {
            next += rows->gap;
            left = rows->chunk - 1;
        }
        at[i] = next;
    }
}

static void predict(const sgfsi_sweep *s, const sgfsi_side_by_side *rows, const int64_t *list,
                    int64_t stride, int64_t n, double *eta) {
    int64_t k = s->model->data->features;
    if (rows->single) f32_predict(n, k, rows->cells, stride, list, s->beta, eta);
    else f64_predict(n, k, rows->cells, stride, list, s->beta, eta);
    for (int64_t i = 0; i < n; i++) eta[i] += s->c;
}

static void add(const sgfsi_sweep *s, const sgfsi_side_by_side *rows, const int64_t *list,
                int64_t stride, int64_t n, const double *r, double *g) {
    int64_t k = s->model->data->features;
    if (s->model->data->intercept) *g++ += sgfsi_sweep_sum(n, r);
    if (rows->single) f32_add(n, k, rows->cells, stride, list, r, g);
    else f64_add(n, k, rows->cells, stride, list, r, g);
}

/* Some of n rows from `first` on, MOST at most; their places where chunks come between. */
static bool take_some(const sgfsi_sweep *s, int64_t first, int64_t n, sgfsi_side_by_side *rows,
                      int64_t *at) {
    bool there = sgfsi_data_stored(s->model->data, first, n < MOST ? n : MOST, rows);
    if (there && rows->left < rows->n) find_rows(rows, rows->n, at);
    return there;
}

void sgfsi_sweep_predict(const sgfsi_sweep *s, int64_t first, int64_t n, double *eta) {
    sgfsi_side_by_side rows;
    int64_t at[MOST];
    for (int64_t i = 0; i < n; i += rows.n) {
        if (!take_some(s, first + i, n - i, &rows, at)) return;
        if (rows.left < rows.n) predict(s, &rows, at, 1, rows.n, eta + i);
        else predict(s, &rows, NULL, rows.stride, rows.n, eta + i);
    }
}

void sgfsi_sweep_add(const sgfsi_sweep *s, int64_t first, int64_t n, const double *r, double *g) {
    sgfsi_side_by_side rows;
    int64_t at[MOST];
    for (int64_t i = 0; i < n; i += rows.n) {
        if (!take_some(s, first + i, n - i, &rows, at)) return;
        if (rows.left < rows.n) add(s, &rows, at, 1, rows.n, r + i, g);
        else add(s, &rows, NULL, rows.stride, rows.n, r + i, g);
    }
}

/* out (n x D) = sqrt(weight) x, standardised, with the intercept in front and zeros behind. */
static void scale(const sgfsi_sweep *s, const sgfsi_side_by_side *rows, const int64_t *list,
                  int64_t stride, int64_t n, const double *weight, double *out) {
    const sgfs_data *d = s->model->data;
    int64_t D = s->model->D, front = d->intercept ? 1 : 0;
    double root[SGFSI_SWEEP_ROWS];
    for (int64_t i = 0; i < n; i++) root[i] = sqrt(weight[i]);
    if (rows->single)
        f32_scale(n, d->features, rows->cells, stride, list, root, d->shift, d->scale, D,
                  out + front);
    else
        f64_scale(n, d->features, rows->cells, stride, list, root, d->shift, d->scale, D,
                  out + front);
    for (int64_t i = 0; i < n; i++) {
        if (front > 0) out[i * D] = root[i];
        for (int64_t j = d->p; j < D; j++) out[i * D + j] = 0;
    }
}

void sgfsi_sweep_square(const sgfsi_sweep *s, int64_t first, int64_t n, const double *weight,
                        double *A, double *scratch) {
    sgfsi_side_by_side rows;
    int64_t at[MOST], D = s->model->D, some = STRIP / (D * (int64_t)sizeof *A);
    some = some > SGFSI_SWEEP_ROWS ? SGFSI_SWEEP_ROWS : some < LEAST ? LEAST : some;
    for (int64_t i = 0; i < n; i += rows.n) {
        if (!take_some(s, first + i, n - i < some ? n - i : some, &rows, at)) return;
        if (rows.left < rows.n) scale(s, &rows, at, 1, rows.n, weight + i, scratch);
        else scale(s, &rows, NULL, rows.stride, rows.n, weight + i, scratch);
        sgfsi_syrk_t(s->model->ctx.device, rows.n, D, 1.0, scratch, 1.0, A);
    }
}

bool sgfsi_sweep_fits_drawn(const sgfs_model *m) {
    sgfsi_side_by_side rows;
    return sgfsi_sweep_fits(m) && sgfsi_data_stored(m->data, 0, m->data->N, &rows) &&
           rows.left == m->data->N;
}

void sgfsi_sweep_predict_drawn(const sgfsi_sweep *s, const int64_t *row, int64_t n, double *eta) {
    sgfsi_side_by_side rows;
    if (sgfsi_data_stored(s->model->data, 0, n, &rows)) predict(s, &rows, row, rows.stride, n, eta);
}

void sgfsi_sweep_add_drawn(const sgfsi_sweep *s, const int64_t *row, int64_t n, const double *r,
                           double *g) {
    sgfsi_side_by_side rows;
    if (sgfsi_data_stored(s->model->data, 0, n, &rows)) add(s, &rows, row, rows.stride, n, r, g);
}

void sgfsi_sweep_finish(const sgfsi_sweep *s, double *g) {
    const sgfs_data *d = s->model->data;
    double sum = d->intercept ? *g++ : 0; /* without one nothing is shifted */
    for (int64_t j = 0; d->scale != NULL && j < d->features; j++)
        g[j] = d->scale[j] * (g[j] - d->shift[j] * sum);
}
