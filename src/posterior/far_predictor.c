/* SPDX-License-Identifier: MIT
 * far_predictor.c: see far_predictor.h.
 */
#include "posterior/far_predictor.h"

#include <math.h>
#include <string.h>

enum {
    TOGETHER = 128,      /* draws that go to the device at a time */
    MOST_ROWS = 1 << 12, /* of a block */
    NUMBERS = 1 << 26,   /* of a block, of all draws: 512 MiB */
    READ = 1 << 19,      /* of a block in the host's memory */
    Q = SGFSI_QUANTILES
};
_Static_assert(2 * Q <= (int)SGFSI_MOST_RANKS, "a device finds so many at once");

struct sgfsi_far_predictor {
    const sgfs_model *m;
    int64_t most, keep, n, draws; /* rows and draws there is room for, and at hand */
    int64_t numbers, labels;      /* of a row at each draw: labels, or of two one predictor */
    int64_t together, each;       /* draws that are looked at together; numbers of one draw there */
    bool known;
    double *theta; /* together x each; what follows lies there, too */
    double *X, *room, *P, *loglik, *own, *kept, *total, *top, *sum, *picked;
    double *staged, *row; /* the host's: draws, or neighbours; a vector of rows */
    double part[Q];
};

/* A regression of two labels keeps its predictors, one of more has a row of coefficients for each;
 * networks are looked at draw by draw. */
static bool is_two(const sgfs_model *m) {
    return m->kind->by_predictor && m->labels.count == 2;
}

static bool fits(const sgfs_model *m) {
    const sgfsi_device_ops *ops = m->ctx.device->ops;
    bool can = is_two(m) || (m->far_target != NULL && m->kind->predict != NULL);
    return m->ctx.device != m->ctx.near && ops->collect != NULL && m->kind->far && can &&
           m->labels.count > 1 && m->scales == NULL;
}

static int64_t together_of(const sgfs_model *m) {
    if (!is_two(m) && m->kind->errors == NULL) return 1;
    return is_two(m) ? TOGETHER : TOGETHER / 4;
}

/* Numbers for each row of a block. */
static int64_t width_of(const sgfs_model *m, int64_t draws) {
    int64_t numbers = is_two(m) ? 1 : m->labels.count;
    return numbers * (draws + together_of(m) + 2 * Q) + m->data->p + m->room_per_row +
           together_of(m) + m->labels.count + 3;
}

int64_t sgfsi_far_predictor_rows(const sgfs_model *m, int64_t draws, int64_t threads) {
    if (!fits(m)) return 0;
    const int64_t width = width_of(m, draws), host = m->data->p + 8 * m->labels.count;
    int64_t rows = MOST_ROWS;
    while (rows > 2 && (rows * width > NUMBERS || rows * host > READ)) rows /= 2;
    double bytes = 8.0 * (double)rows * (double)width * (double)threads;
    return 2 * bytes < m->ctx.device->ops->room(m->ctx.device) ? rows : 0;
}

sgfs_status sgfsi_far_predictor_open(sgfsi_far_predictor **out, const sgfs_model *m, int64_t most,
                                     int64_t keep, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_device *dev = m->ctx.device;
    *out = NULL;
    if (keep == 0 || !fits(m)) return SGFS_OK;
    sgfsi_far_predictor *f = sgfsi_arena_alloc(arena, 1, sizeof *f);
    if (f == NULL) return sgfsi_fail_memory(err, "predictions");
    *f = (sgfsi_far_predictor){.m = m, .most = most, .keep = keep, .labels = m->labels.count};
    f->numbers = is_two(m) ? 1 : f->labels;
    f->together = together_of(m);
    f->each = m->kind->errors != NULL ? f->labels * m->data->p : m->D;
    if (is_two(m)) f->each = m->data->p;
    struct {
        double **at;
        int64_t n;
    } const there[] = {{&f->theta, TOGETHER * f->each},
                       {&f->X, most * m->data->p},
                       {&f->room, most * m->room_per_row},
                       {&f->P, most * f->together * f->numbers},
                       {&f->loglik, most * f->together},
                       {&f->own, most},
                       {&f->kept, most * f->numbers * keep},
                       {&f->total, most * f->labels},
                       {&f->top, most},
                       {&f->sum, most},
                       {&f->picked, most * f->numbers * 2 * Q}};
    bool made = SGFSI_ROOM(arena, most, &f->row);
    int64_t staged = most * f->numbers * 2 * Q;
    if (staged < TOGETHER * f->each) staged = TOGETHER * f->each;
    made = made && SGFSI_ROOM(arena, staged, &f->staged);
    for (size_t k = 0; made && k < sizeof there / sizeof *there; k++) {
        *there[k].at = sgfsi_device_room(dev, there[k].n, arena);
        made = *there[k].at != NULL;
    }
    if (!made) return sgfsi_device_explain(dev, sgfsi_fail_memory(err, "predictions"), err);
    *out = f;
    return SGFS_OK;
}

void sgfsi_far_predictor_begin(sgfsi_far_predictor *f, const sgfs_batch *rows) {
    const sgfs_device *dev = f->m->ctx.device;
    f->n = rows->n;
    f->draws = 0;
    f->known = rows->y != NULL;
    sgfsi_put(dev, f->n * rows->p, rows->x, f->X);
    sgfsi_zero(dev, f->n * f->labels, f->total);
    sgfsi_zero(dev, f->n, f->sum);
    for (int64_t i = 0; i < f->n; i++) f->row[i] = -INFINITY;
    sgfsi_put(dev, f->n, f->row, f->top);
    for (int64_t i = 0; f->known && i < f->n; i++)
        f->row[i] = (double)sgfsi_labels_class(&f->m->labels, rows->y[i]);
    if (f->known) sgfsi_put(dev, f->n, f->row, f->own);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* A draw as it goes there: of a regression coefficients of every label, zeros where it has none. */
static void stage(const sgfsi_far_predictor *f, const double *theta, double *to) {
    const sgfs_model *m = f->m;
    if (m->kind->errors == NULL || is_two(m)) {
        memcpy(to, theta, (size_t)f->each * sizeof *to);
        return;
    }
    const int64_t p = m->data->p;
    for (int64_t k = 0; k < f->labels; k++) {
        int64_t row = (int64_t)m->far_target(m, m->labels.value[k]);
        if (row < m->block[0].rows) memcpy(to + k * p, theta + row * p, (size_t)p * sizeof *to);
        else memset(to + k * p, 0, (size_t)p * sizeof *to);
    }
}

/* P, and where targets are known loglik, of `count` draws from theta on. */
static void look(sgfsi_far_predictor *f, int64_t count, const double *theta) {
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    const double *own = f->known ? f->own : NULL;
    if (!is_two(m) && m->kind->errors == NULL) {
        const sgfs_afar afar = {theta, own, f->known ? f->loglik : NULL};
        const sgfs_batch b = {
            .n = f->n, .p = m->data->p, .x = f->X, .room = f->room, .afar = &afar, .gamma = 1};
        m->kind->predict(m, theta, &b, f->P, f->room);
        return;
    }
    sgfsi_gemm_nt(dev, f->n, count * f->numbers, m->data->p, 1.0, f->X, theta, 0.0, f->P);
    const sgfsi_classes c = {.n = f->n * count,
                             .K = f->labels,
                             .E = f->P,
                             .own = own,
                             .loglik = f->known ? f->loglik : NULL,
                             .each = count,
                             .plain = true};
    if (!is_two(m)) sgfsi_classes_of(dev, &c);
}

sgfs_status sgfsi_far_predictor_add(sgfsi_far_predictor *f, int64_t count, const sgfsi_draw *draw,
                                    sgfs_err *err) {
    const sgfs_device *dev = f->m->ctx.device;
    const bool densities = f->known && !is_two(f->m);
    for (int64_t first = 0; first < count; first += TOGETHER) {
        int64_t some = count - first < TOGETHER ? count - first : TOGETHER;
        for (int64_t k = 0; k < some; k++) stage(f, draw[first + k].theta, f->staged + k * f->each);
        sgfsi_put(dev, some * f->each, f->staged, f->theta);
        for (int64_t k = 0; k < some; k += f->together) {
            int64_t these = some - k < f->together ? some - k : f->together;
            look(f, these, f->theta + k * f->each);
            dev->ops->collect(dev, &(sgfsi_collected){.n = f->n,
                                                      .K = f->numbers,
                                                      .draws = these,
                                                      .first = f->draws,
                                                      .room = f->keep,
                                                      .P = f->P,
                                                      .loglik = densities ? f->loglik : NULL,
                                                      .own = f->known ? f->own : NULL,
                                                      .kept = f->kept,
                                                      .total = f->total,
                                                      .top = f->top,
                                                      .sum = f->sum});
            f->draws += these;
        }
    }
    if (dev->ops->trouble == NULL || dev->ops->trouble(dev) == NULL) return SGFS_OK;
    return sgfsi_device_explain(dev, SGFS_ENUMERIC, err);
}

/* ---- what they say --------------------------------------------------------------------------- */

sgfs_status sgfsi_far_predictor_finish(sgfsi_far_predictor *f, const double at[SGFSI_QUANTILES],
                                       double *total, double *top, double *sum, sgfs_err *err) {
    const sgfs_device *dev = f->m->ctx.device;
    const int64_t rows = f->n * f->numbers;
    int64_t low[Q], rank[2 * Q];
    sgfsi_quantile_ranks(f->draws, at, low, f->part);
    for (int k = 0; k < Q; k++) {
        rank[2 * k] = low[k];
        rank[2 * k + 1] = low[k] < f->draws - 1 ? low[k] + 1 : low[k];
    }
    dev->ops->pick(dev, rows, f->keep, f->draws, f->kept, 2 * Q, rank, f->picked);
    sgfsi_get(dev, f->n * f->labels, f->total, total);
    sgfsi_get(dev, f->n, f->top, top);
    sgfsi_get(dev, f->n, f->sum, sum);
    sgfsi_get(dev, rows * 2 * Q, f->picked, f->staged);
    if (dev->ops->trouble == NULL || dev->ops->trouble(dev) == NULL) return SGFS_OK;
    return sgfsi_device_explain(dev, SGFS_ENUMERIC, err);
}

void sgfsi_far_predictor_neighbours(const sgfsi_far_predictor *f, int64_t number,
                                    sgfsi_neighbours *at) {
    const double *of = f->staged + number * 2 * Q;
    for (int k = 0; k < Q; k++) {
        at->low[k] = of[2 * k];
        at->high[k] = of[2 * k + 1];
        at->part[k] = f->part[k];
    }
}
