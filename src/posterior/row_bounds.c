/* SPDX-License-Identifier: MIT
 * row_bounds.c: the table of bounds on rows, made in one pass (row_bounds.h).
 */
#include "posterior/row_bounds.h"

#include <math.h>

#include "base/ticker.h"

const char *sgfsi_row_bounds_refuses(const sgfs_model *m) {
    const sgfs_model_kind *k = m->kind;
    if (k->whole != NULL || (k->third != NULL && k->remainder != NULL)) return NULL;
    return "the model cannot say how far a row's log density may be from a parabola";
}

double sgfsi_row_bounds_radius(int64_t D) {
    return sqrt((double)D) + 2;
}

/* The pass: one scratch and one growth for each thread. */
typedef struct pass {
    const sgfs_model *model;
    const double *anchor;
    double radius;
    const double *C; /* D x D, both triangles: A^-1 */
    double *third;   /* threads x block */
    double *scratch; /* threads x block x exact_scratch_per_row */
    double *growth;  /* threads */
    sgfsi_psi_fn take;
    void *user;
} pass;

static sgfs_status not_finite(const sgfs_model *m, int64_t row, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "%s: the bound on how far row %lld is from a parabola is not finite: its "
                      "values are too large. Try --standardize, or --sampler nuts.",
                      m->data->path, (long long)(row + 1));
}

static sgfs_status bound_block(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                               sgfs_err *err) {
    const pass *p = user;
    const sgfs_model *m = p->model;
    int64_t thread = at->thread;
    double *psi = p->third + thread * SGFSI_FULL_BLOCK;
    double *scratch = p->scratch + thread * SGFSI_FULL_BLOCK * m->exact_scratch_per_row;
    m->kind->third(m, p->anchor, p->C, p->radius, b, psi, &p->growth[thread], scratch);
    for (int64_t i = 0; i < b->n; i++) {
        double weight = b->weight != NULL ? b->weight[i] : 1;
        psi[i] = weight > 0 ? weight * psi[i] : 0;
        if (!(psi[i] >= 0 && isfinite(psi[i]))) return not_finite(m, at->first + i, err);
    }
    return p->take(p->user, at, b, psi, err);
}

static sgfs_status scan(const sgfs_model *m, const sgfsi_anchor *a, sgfsi_full *f, pass *p,
                        const sgfsi_crop *crop, sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D, room = f->threads * SGFSI_FULL_BLOCK;
    double *C = SGFSI_DOUBLES(arena, D * D);
    p->third = SGFSI_DOUBLES(arena, room);
    p->scratch = SGFSI_DOUBLES(arena, room * m->exact_scratch_per_row);
    p->growth = SGFSI_DOUBLES(arena, f->threads);
    if (C == NULL || p->third == NULL || p->scratch == NULL || p->growth == NULL)
        return sgfsi_fail_memory(err, "the bounds on rows");
    /* C = (L L')^-1, both triangles. */
    for (int64_t i = 0; i < D * D; i++) C[i] = a->L[i];
    sgfsi_potri(m->ctx.near, D, C);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) C[j * D + i] = C[i * D + j];
    }
    p->C = C;
    f->log = sgfsi_config_log(m->cfg);
    return sgfsi_full_each(f, bound_block, p, crop, err);
}

sgfs_status sgfsi_row_bounds_scan(const sgfs_model *m, const sgfsi_anchor *a, double radius,
                                  int64_t threads, sgfsi_psi_fn take, void *user,
                                  const sgfsi_crop *crop, double *growth, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    const sgfsi_comm *comm = m->ctx.comm;
    const int64_t number = sizeof *growth;
    pass p = {.model = m, .anchor = a->theta, .radius = radius, .take = take, .user = user};
    sgfs_status status = sgfsi_full_open(&f, m, threads, false, &arena, err);
    double *most = SGFSI_DOUBLES(&arena, comm->size); /* of each process */
    if (status == SGFS_OK && most == NULL) status = sgfsi_fail_memory(err, "the bounds on rows");
    if (status == SGFS_OK) status = scan(m, a, &f, &p, crop, &arena, err);
    for (int64_t k = 0; status == SGFS_OK && k < f.threads; k++)
        most[comm->rank] = fmax(most[comm->rank], p.growth[k]);
    if (status == SGFS_OK)
        status = sgfsi_comm_gather(comm, SGFS_OK, comm->size, number, number, most, err);
    for (int64_t k = 0; status == SGFS_OK && k < comm->size; k++) *growth = fmax(*growth, most[k]);
    sgfsi_arena_free(&arena);
    return status;
}

/* Blocks of the table do not cross those of the pass: they are a power of 2, and no longer. */
static sgfs_status raise_entries(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                                 const double *psi, sgfs_err *err) {
    sgfsi_row_bounds *table = user;
    (void)err;
    for (int64_t i = 0; i < b->n; i++) {
        double *to = &table->largest[(at->first + i) / table->block];
        if (psi[i] > *to) *to = psi[i];
    }
    return SGFS_OK;
}

/* Entries count by their rows times the largest psi among them. The table itself holds these
 * products meanwhile, and no copy of it: a block's rows are a power of 2, by which multiplying and
 * dividing round nothing, and only the last block may have another number. */
static sgfs_status weigh(sgfsi_row_bounds *psi, sgfsi_arena *arena, sgfs_err *err) {
    double *weight = psi->largest, last = weight[psi->entries - 1];
    psi->total = 0;
    for (int64_t k = 0; k < psi->entries; k++) {
        weight[k] *= (double)sgfsi_row_bounds_rows(psi, k);
        psi->total += weight[k];
    }
    if (!isfinite(psi->total)) return not_finite(psi->model, psi->N - 1, err);
    sgfs_status status = SGFS_OK;
    if (psi->total > 0)
        status = sgfsi_alias_open(&psi->alias, psi->entries, weight, psi->total, arena, err);
    for (int64_t k = 0; k < psi->entries; k++) psi->largest[k] /= (double)psi->block;
    psi->largest[psi->entries - 1] = last;
    return status;
}

sgfs_status sgfsi_row_bounds_open(sgfsi_row_bounds *psi, const sgfs_model *m, const sgfsi_anchor *a,
                                  double radius, int64_t most, int64_t threads, sgfsi_arena *arena,
                                  sgfs_err *err) {
    double before = sgfsi_now();
    m = sgfsi_model_near(m, arena);
    if (m == NULL) return sgfsi_fail_memory(err, "the table of rows");
    *psi = (sgfsi_row_bounds){
        .model = m, .anchor = a->theta, .N = m->data->N, .block = 1, .radius = radius};
    while (psi->block < SGFSI_FULL_BLOCK && psi->N / psi->block > most) psi->block *= 2;
    psi->entries = (psi->N + psi->block - 1) / psi->block;
    psi->largest = SGFSI_DOUBLES(arena, psi->entries);
    if (psi->largest == NULL) return sgfsi_fail_memory(err, "the table of rows");
    const sgfsi_crop crop = {.number = psi->largest, .width = 1, .rows = psi->block};
    sgfs_status status =
        sgfsi_row_bounds_scan(m, a, radius, threads, raise_entries, psi, &crop, &psi->growth, err);
    if (status == SGFS_OK) status = weigh(psi, arena, err);
    psi->seconds = sgfsi_now() - before;
    return status;
}

/* E|z|^3 = 2^{3/2} Gamma((D+3)/2) / Gamma(D/2), twice, over 6. */
double sgfsi_row_bounds_expected(const sgfsi_row_bounds *psi) {
    double half = 0.5 * (double)psi->model->D;
    return psi->total * sqrt(8.0) * exp(lgamma(half + 1.5) - lgamma(half)) / 3;
}
