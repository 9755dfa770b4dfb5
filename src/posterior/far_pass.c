/* SPDX-License-Identifier: MIT
 * far_pass.c: see far_pass.h.
 */
#include "posterior/far_pass.h"

#include <string.h>

#include "model/kept.h"
#include "posterior/scores.h"

enum {
    MOST_ROWS = 1 << 17, /* of a block: the device waits for no answer, but for each call */
    FEWEST_ROWS = 1 << 9,
    NUMBERS = 1 << 24 /* of a block: 128 MiB */
};

struct sgfsi_far_pass {
    const sgfs_model *m;
    int64_t n, most;       /* rows of a block; places */
    double *theta;         /* most x D; what follows lies there, too */
    double *sums;          /* most x (1 + D): log densities and gradients */
    double *X, *room;      /* n x p; n room_per_row */
    double *ones, *loglik; /* n; n x most */
    double *own;           /* each of the labels n times; of kinds with `errors` no label */
    double *B, *A, *C;     /* n x D, D x D, p x D; own, B and A NULL: no information */
    double *back;          /* the host's: sums, or C */
    sgfs_scores scores;    /* of kinds with `errors`: the left side n x (most rows) */
};

/* ---- opening --------------------------------------------------------------------------------- */

static bool has_errors(const sgfs_model *m) {
    return m->kind->errors != NULL;
}

/* Numbers for each row of a block. */
static int64_t width_of(const sgfs_model *m, int64_t most, bool curvature) {
    int64_t width = m->data->p + m->room_per_row + 1 + most;
    if (has_errors(m)) width += most * m->block[0].rows;
    for (int64_t k = 0; k < m->blocks && !has_errors(m); k++) {
        const sgfs_block *b = &m->block[k];
        bool own = b->form == SGFS_SCORE_OUTER;
        width += b->rows * (b->form == SGFS_SCORE_DENSE ? b->cols : 1) + (own ? b->cols : 0);
    }
    return width + (curvature ? m->D + m->labels.count : 0);
}

static bool open_scores(sgfsi_far_pass *f, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    sgfs_scores *s = &f->scores;
    if (sgfsi_scores_open(s, m, f->n, arena, err) != SGFS_OK) return false;
    s->loglik = f->loglik;
    for (int64_t k = 0; k < m->blocks; k++) {
        sgfs_score_block *o = &s->block[k];
        int64_t each = has_errors(m) ? f->most * o->rows : 1; /* here, vectors lie there, too */
        if (o->left != NULL && (o->rows == 1 || each > o->rows))
            o->left = sgfsi_device_room(dev, f->n * each, arena);
        if (o->left == NULL && o->dense == NULL) return false;
    }
    return true;
}

static bool fill(const sgfsi_far_pass *f, double value, double *row, double *there) {
    for (int64_t i = 0; i < f->n; i++) row[i] = value;
    sgfsi_put(f->m->ctx.device, f->n, row, there);
    return true;
}

sgfs_status sgfsi_far_pass_open(sgfsi_far_pass **out, const sgfs_model *m, int64_t most,
                                bool curvature, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_device *dev = m->ctx.device;
    const int64_t D = m->D, labels = m->labels.count;
    *out = NULL;
    if (m->far_rows == NULL) return SGFS_OK;
    curvature = curvature && m->kind->curvature != NULL && D <= SGFSI_MOST_DENSE;
    const int64_t width = width_of(m, most, curvature);
    int64_t n = MOST_ROWS;
    while (n > FEWEST_ROWS && (n * width > NUMBERS || n / 2 >= m->data->N)) n /= 2;
    double numbers = (double)n * (double)width + 2 * (double)most * (double)(1 + D) +
                     (curvature ? (double)D * (double)D : 0);
    if (2 * 8 * numbers > dev->ops->room(dev)) return SGFS_OK;
    sgfsi_far_pass *f = sgfsi_arena_alloc(arena, 1, sizeof *f);
    double *row = SGFSI_DOUBLES(arena, n);
    if (f == NULL || row == NULL) return sgfsi_fail_memory(err, "a pass over the data");
    *f = (sgfsi_far_pass){.m = m, .n = n, .most = most};
    f->theta = sgfsi_device_room(dev, most * D, arena);
    f->sums = sgfsi_device_room(dev, most * (1 + D), arena);
    f->X = sgfsi_device_room(dev, n * m->data->p, arena);
    f->room = sgfsi_device_room(dev, n * m->room_per_row, arena);
    f->ones = sgfsi_device_room(dev, n, arena);
    f->loglik = sgfsi_device_room(dev, n * most, arena);
    f->back = SGFSI_DOUBLES(arena, (most > m->data->p ? most : m->data->p) * (1 + D));
    bool made = f->theta != NULL && f->sums != NULL && f->X != NULL && f->room != NULL &&
                f->ones != NULL && f->loglik != NULL && f->back != NULL &&
                fill(f, 1, row, f->ones) && open_scores(f, arena, err);
    if (made && curvature) {
        f->own = sgfsi_device_room(dev, labels * n, arena);
        f->B = sgfsi_device_room(dev, n * D, arena);
        f->A = sgfsi_device_room(dev, D * D, arena);
        if (has_errors(m)) f->C = sgfsi_device_room(dev, m->data->p * D, arena);
        made = f->own != NULL && f->B != NULL && f->A != NULL && has_errors(m) == (f->C != NULL);
        if (made && has_errors(m)) made = fill(f, -1, row, f->own);
        for (int64_t k = 0; made && k < labels && !has_errors(m); k++)
            made = fill(f, m->far_target(m, m->labels.value[k]), row, f->own + k * n);
    }
    if (!made)
        return sgfsi_device_explain(dev, sgfsi_fail_memory(err, "a pass over the data"), err);
    *out = f;
    return SGFS_OK;
}

bool sgfsi_far_pass_informs(const sgfsi_far_pass *f) {
    return f->A != NULL;
}

/* ---- a block --------------------------------------------------------------------------------- */

/* A row of weight w counts as w rows. */
static void weigh(const sgfsi_far_pass *f, int64_t n, const double *weight, const sgfs_scores *s) {
    const sgfs_device *dev = f->m->ctx.device;
    for (int64_t k = 0; s->block != NULL && k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        double *left = o->dense != NULL ? o->dense : o->left;
        int64_t width = o->dense != NULL ? o->rows * o->cols : o->rows;
        dev->ops->scale_rows(dev, n, width, weight, left);
    }
}

/* One place: sums += log density, gradient. */
static sgfs_status add_scores(sgfsi_far_pass *f, const sgfs_batch *b, bool gradient, double *sums,
                              sgfs_err *err) {
    const sgfs_model *m = f->m;
    sgfs_scores s = f->scores;
    const sgfsi_outer loglik = {.n = b->n, .rows = 1, .cols = 1, .right = s.loglik};
    sgfsi_scores_point(m, b, &s);
    if (!gradient) s.block = NULL;
    sgfs_status status = m->kind->scores(m, b->afar->theta, b, &s, f->room, err);
    if (status != SGFS_OK) return status;
    if (b->weight != NULL) weigh(f, b->n, b->weight, &s);
    if (b->weight != NULL)
        m->ctx.device->ops->scale_rows(m->ctx.device, b->n, 1, b->weight, s.loglik);
    sgfsi_outer_sums(m->ctx.device, 1, &loglik, 1.0, 1.0, f->ones, sums);
    if (gradient) sgfsi_scores_sum(m->ctx.device, &s, 1.0, 1.0, f->ones, sums + 1);
    return SGFS_OK;
}

/* All K places at once: sums += K log densities, K gradients. */
static void add_errors(sgfsi_far_pass *f, const sgfs_batch *b, int64_t K, bool gradient) {
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    double *E = f->scores.block[0].left;
    const int64_t rows = K * m->block[0].rows;
    const sgfsi_outer o[] = {{.n = b->n, .rows = 1, .cols = K, .right = f->loglik},
                             {.n = b->n, .rows = rows, .cols = b->p, .left = E, .right = b->x}};
    m->kind->errors(m, b, K, !gradient, E, f->loglik);
    if (b->weight != NULL) dev->ops->scale_rows(dev, b->n, K, b->weight, f->loglik);
    if (b->weight != NULL && gradient) dev->ops->scale_rows(dev, b->n, rows, b->weight, E);
    sgfsi_outer_sums(dev, gradient ? 2 : 1, o, 1.0, 1.0, f->ones, f->sums);
}

/* A += of the first place, outcome by outcome. root: square roots of the weights, or NULL. */
static sgfs_status add_outcomes(sgfsi_far_pass *f, sgfs_batch b, const double *root,
                                sgfs_err *err) {
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    sgfs_scores s = f->scores;
    sgfs_afar afar = *b.afar;
    b.afar = &afar;
    sgfsi_scores_point(m, &b, &s);
    for (int64_t k = 0; k < m->labels.count; k++) {
        afar.target = f->own + k * f->n;
        sgfs_status status = m->kind->scores(m, afar.theta, &b, &s, f->room, err);
        if (status != SGFS_OK) return status;
        sgfsi_times(dev, b.n, 0.5, s.loglik);
        sgfsi_exp(dev, b.n, s.loglik, s.loglik);
        if (root != NULL) dev->ops->scale_rows(dev, b.n, 1, root, s.loglik);
        weigh(f, b.n, s.loglik, &s);
        for (int64_t j = 0; j < s.blocks; j++) {
            sgfsi_outer o = sgfs_score_outer(&s.block[j], b.n);
            o.end = o.rows * o.cols;
            sgfsi_outer_of(dev, &o, f->B + s.block[j].offset, m->D);
        }
        sgfsi_syrk_t(dev, b.n, m->D, 1.0, f->B, 1.0, f->A);
    }
    return SGFS_OK;
}

/* Of kinds with errors: A -= B'B with B = sqrt(w) P (x) X, C += X' (w P (x) X). The errors of a row
 * of no class are -P. */
static void add_products(sgfsi_far_pass *f, sgfs_batch b, const double *root) {
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    const int64_t rows = m->block[0].rows;
    double *E = f->scores.block[0].left;
    sgfsi_outer o = {.n = b.n, .rows = rows, .cols = b.p, .left = E, .right = b.x, .end = m->D};
    const sgfsi_outer sums = {.n = b.n, .rows = b.p, .cols = m->D, .left = b.x, .right = f->B};
    const sgfs_afar afar = {.theta = b.afar->theta, .target = f->own};
    b.afar = &afar;
    m->kind->errors(m, &b, 1, false, E, f->loglik);
    if (root != NULL) dev->ops->scale_rows(dev, b.n, rows, root, E);
    sgfsi_outer_of(dev, &o, f->B, m->D);
    sgfsi_syrk_t(dev, b.n, m->D, -1.0, f->B, 1.0, f->A);
    if (root != NULL) dev->ops->scale_rows(dev, b.n, rows, root, E);
    if (root != NULL) sgfsi_outer_of(dev, &o, f->B, m->D);
    sgfsi_outer_sums(dev, 1, &sums, -1.0, 1.0, f->ones, f->C);
}

/* info = A, with the p x p blocks of C (p x D) on its diagonal. */
static void read_information(const sgfsi_far_pass *f, double *info) {
    const int64_t D = f->m->D, p = f->m->data->p;
    sgfsi_get(f->m->ctx.device, D * D, f->A, info);
    if (f->C != NULL) sgfsi_get(f->m->ctx.device, p * D, f->C, f->back);
    for (int64_t i = 0; f->C != NULL && i < D; i++)
        for (int64_t j = i / p * p; j <= i; j++) info[i * D + j] += f->back[i % p * D + j];
    for (int64_t i = 0; i < D; i++)
        memset(info + i * D + i + 1, 0, (size_t)(D - 1 - i) * sizeof *info);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status add_block(sgfsi_far_pass *f, int64_t first, int64_t n, int64_t K, bool gradient,
                             bool information, sgfs_err *err) {
    const sgfs_model *m = f->m;
    const sgfsi_far_rows *rows = m->far_rows;
    const int64_t stride = gradient ? 1 + m->D : 1;
    sgfs_afar afar = {.theta = f->theta, .target = rows->target + first};
    sgfs_batch b = {.n = n, .p = m->data->p, .x = f->X, .room = f->room, .afar = &afar, .gamma = 1};
    if (rows->weight != NULL) b.weight = rows->weight + first;
    sgfs_status status = SGFS_OK;
    sgfsi_gatherer_range(&m->gatherer, m->data, first, n, f->X);
    if (has_errors(m)) add_errors(f, &b, K, gradient);
    for (int64_t k = 0; k < K && !has_errors(m) && status == SGFS_OK; k++) {
        afar.theta = f->theta + k * m->D;
        status = add_scores(f, &b, gradient, f->sums + k * stride, err);
    }
    afar.theta = f->theta;
    const double *root = rows->root != NULL ? rows->root + first : NULL;
    if (status == SGFS_OK && information && has_errors(m)) add_products(f, b, root);
    else if (status == SGFS_OK && information) status = add_outcomes(f, b, root, err);
    return status;
}

sgfs_status sgfsi_far_pass_sums(sgfsi_full *full, int64_t K, const double *theta, double *loglik,
                                double *G, double *info, sgfs_err *err) {
    sgfsi_far_pass *f = full->far;
    const sgfs_model *m = f->m;
    const sgfs_device *dev = m->ctx.device;
    const int64_t D = m->D, N = m->data->N, stride = G != NULL ? 1 + D : 1;
    sgfs_status status = SGFS_OK;
    sgfsi_put(dev, K * D, theta, f->theta);
    sgfsi_zero(dev, K * stride, f->sums);
    if (info != NULL) sgfsi_zero(dev, D * D, f->A);
    if (info != NULL && f->C != NULL) sgfsi_zero(dev, m->data->p * D, f->C);
    for (int64_t first = 0; first < N && status == SGFS_OK; first += f->n) {
        int64_t n = N - first < f->n ? N - first : f->n;
        status = sgfsi_full_given_up(full, err);
        if (status == SGFS_OK) status = add_block(f, first, n, K, G != NULL, info != NULL, err);
    }
    full->rows_touched += N;
    sgfsi_get(dev, K * stride, f->sums, f->back);
    for (int64_t k = 0; k < K; k++) {
        const double *one = has_errors(m) ? f->back + K + k * D : f->back + k * stride + 1;
        loglik[k] = has_errors(m) ? f->back[k] : one[-1];
        if (G != NULL) memcpy(G + k * D, one, (size_t)D * sizeof *G);
    }
    if (info != NULL) read_information(f, info);
    if (status != SGFS_OK || dev->ops->trouble == NULL || dev->ops->trouble(dev) == NULL)
        return status;
    return sgfsi_device_explain(dev, SGFS_ENUMERIC, err);
}
