/* SPDX-License-Identifier: MIT
 * thinning.c: Poisson thinning over rows (veto.h). Why b is a bound: let f be the third derivative of row
 * i's log density at places theta* + L^-T u; along any directions |f[a,b,c]| <= third_i |a||b||c| g(|u|)
 * with g(s) = exp(growth max(0, s - radius)), which never falls. r_i has neither value, slope nor
 * curvature at u = 0, so that by Taylor's formula with the integral for its remainder
 *
 *     |r_i(z)|             = | int_0^1 (1-t)^2/2 f(tz)[z,z,z] dt |  <=  third_i g(|z|) |z|^3/6
 *     |r_i'(u)[d]|         = | int_0^1 (1-t) f(tu)[u,u,d] dt |      <=  third_i g(|u|) |u|^2 |d|/2
 *     |r_i(z') - r_i(z)|  <= int_0^1 |r_i'(z + s d)[d]| ds,   d = z' - z
 *                         <=  third_i g(max(|z|,|z'|)) |d|/2  int_0^1 |z + s d|^2 ds
 *
 * and the last integral is (|z|^2 + z.z' + |z'|^2)/3. The first line, used for z and for z', is the
 * better bound for moves that forget where they were; the last is for short ones. Both are symmetric
 * in z and z', though nothing needs that: how many rows are asked does not change the probability
 * that none of them objects.
 */
#include "posterior/thinning.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/ticker.h"

const char *sgfsi_row_bounds_refuses(const sgfs_model *m) {
    const sgfs_model_kind *k = m->kind;
    if (k->whole != NULL || (k->third != NULL && k->remainder != NULL)) return NULL;
    return "the model cannot say how far a row's log density may be from a parabola";
}

double sgfsi_row_bounds_radius(int64_t D) {
    return sqrt((double)D) + 2;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The pass: one scratch and one growth for each thread. */
typedef struct pass {
    sgfsi_row_bounds *psi;
    const double *C; /* D x D, both triangles: A^-1 */
    double *third;   /* threads x block */
    double *scratch; /* threads x block x exact_scratch_per_row */
    double *growth;  /* threads */
} pass;

static sgfs_status not_finite(const sgfs_model *m, int64_t row, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "%s: the bound on how far row %lld is from a parabola is not finite: its "
                      "values are too large. Try --standardize, or --sampler nuts.",
                      m->data->path, (long long)(row + 1));
}

/* Runs do not cross blocks: a run is a power of 2, no longer than a block. */
static sgfs_status bound_block(void *user, int64_t thread, int64_t first, const sgfs_batch *b,
                               sgfs_err *err) {
    const pass *p = user;
    const sgfs_model *m = p->psi->model;
    double *third = p->third + thread * SGFSI_FULL_BLOCK;
    double *scratch = p->scratch + thread * SGFSI_FULL_BLOCK * m->exact_scratch_per_row;
    m->kind->third(m, p->psi->anchor, p->C, p->psi->radius, b, third, &p->growth[thread], scratch);
    for (int64_t i = 0; i < b->n; i++) {
        double weight = b->weight != NULL ? b->weight[i] : 1;
        double value = weight > 0 ? weight * third[i] : 0, *to;
        if (!(value >= 0 && isfinite(value))) return not_finite(m, first + i, err);
        to = &p->psi->largest[(first + i) / p->psi->run];
        if (value > *to) *to = value;
    }
    return SGFS_OK;
}

/* C = (L L')^-1, both triangles. */
static void invert(const sgfs_model *m, const double *L, double *C) {
    int64_t D = m->D;
    for (int64_t i = 0; i < D * D; i++) C[i] = L[i];
    sgfsi_potri(m->ctx.device, D, C);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) C[j * D + i] = C[i * D + j];
    }
}

static sgfs_status walk(sgfsi_row_bounds *psi, const sgfsi_anchor *a, int64_t threads,
                        sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *m = psi->model;
    sgfsi_full f;
    sgfs_status status = sgfsi_full_open(&f, m, threads, false, arena, err);
    if (status != SGFS_OK) return status;
    int64_t room = f.threads * SGFSI_FULL_BLOCK;
    double *C = SGFSI_DOUBLES(arena, m->D * m->D);
    pass p = {.psi = psi,
              .C = C,
              .third = SGFSI_DOUBLES(arena, room),
              .scratch = SGFSI_DOUBLES(arena, room * m->exact_scratch_per_row),
              .growth = SGFSI_DOUBLES(arena, f.threads)};
    if (C == NULL || p.third == NULL || p.scratch == NULL || p.growth == NULL)
        return sgfsi_fail_memory(err, "the table of rows");
    invert(m, a->L, C);
    f.log = sgfsi_config_log(m->cfg);
    status = sgfsi_full_each(&f, bound_block, &p, err);
    for (int64_t k = 0; k < f.threads; k++) psi->growth = fmax(psi->growth, p.growth[k]);
    return status;
}

static int64_t rows_of(const sgfsi_row_bounds *psi, int64_t entry) {
    int64_t left = psi->N - entry * psi->run;
    return left < psi->run ? left : psi->run;
}

/* Entries count by their rows times the largest psi among them. */
static sgfs_status weigh(sgfsi_row_bounds *psi, sgfsi_arena *arena, sgfs_err *err) {
    double *weight = malloc((size_t)psi->entries * sizeof *weight);
    if (weight == NULL) return sgfsi_fail_memory(err, "the table of rows");
    psi->total = 0;
    for (int64_t k = 0; k < psi->entries; k++) {
        weight[k] = (double)rows_of(psi, k) * psi->largest[k];
        psi->total += weight[k];
    }
    sgfs_status status = SGFS_OK;
    if (!isfinite(psi->total)) status = not_finite(psi->model, psi->N - 1, err);
    else if (psi->total > 0)
        status = sgfsi_alias_open(&psi->alias, psi->entries, weight, psi->total, arena, err);
    free(weight);
    return status;
}

sgfs_status sgfsi_row_bounds_open(sgfsi_row_bounds *psi, const sgfs_model *m, const sgfsi_anchor *a,
                                  double radius, int64_t most, int64_t threads, sgfsi_arena *arena,
                                  sgfs_err *err) {
    sgfsi_arena mine = {NULL}; /* what only the pass needs */
    double before = sgfsi_now();
    *psi = (sgfsi_row_bounds){
        .model = m, .anchor = a->theta, .N = m->data->N, .run = 1, .radius = radius};
    while (psi->run < SGFSI_FULL_BLOCK && psi->N / psi->run > most) psi->run *= 2;
    psi->entries = (psi->N + psi->run - 1) / psi->run;
    psi->largest = SGFSI_DOUBLES(arena, psi->entries);
    if (psi->largest == NULL) return sgfsi_fail_memory(err, "the table of rows");
    sgfs_status status = walk(psi, a, threads, &mine, err);
    sgfsi_arena_free(&mine);
    if (status == SGFS_OK) status = weigh(psi, arena, err);
    psi->seconds = sgfsi_now() - before;
    return status;
}

/* E|z|^3 = 2^{3/2} Gamma((D+3)/2) / Gamma(D/2), twice, over 6. */
double sgfsi_row_bounds_expected(const sgfsi_row_bounds *psi) {
    double half = 0.5 * (double)psi->model->D;
    return psi->total * sqrt(8.0) * exp(lgamma(half + 1.5) - lgamma(half)) / 3;
}

/* ---- asking ---------------------------------------------------------------------------------- */

enum { PORTION = 64 };          /* rows that are asked together */
static const double share = 32; /* of the mean of K that is drawn together */

struct sgfsi_thinning_room {
    sgfsi_rows rows;
    sgfsi_pages visit;
    int64_t row[PORTION], entry[PORTION];
    uint64_t word[2 * PORTION];
    double uniform[PORTION], R[PORTION];
    double *scratch; /* PORTION x exact_scratch_per_row */
};

sgfs_status sgfsi_thinning_open(sgfsi_thinning *v, const sgfsi_row_bounds *psi, sgfsi_arena *arena,
                                sgfs_err *err) {
    const sgfs_model *m = psi->model;
    const sgfsi_rows_plan plan = {.n = PORTION, .sparse = m->kind->sparse, .repeats = true};
    *v = (sgfsi_thinning){.psi = psi, .room = sgfsi_arena_alloc(arena, 1, sizeof *v->room)};
    if (v->room == NULL) return sgfsi_fail_memory(err, "rows that are asked");
    v->visit = &v->room->visit;
    v->room->scratch = SGFSI_DOUBLES(arena, PORTION * m->exact_scratch_per_row);
    if (v->room->scratch == NULL) return sgfsi_fail_memory(err, "rows that are asked");
    return sgfsi_rows_open(&v->room->rows, m->data, plan, arena, err);
}

double sgfsi_thinning_rate(const sgfsi_row_bounds *psi, const sgfsi_move *move) {
    double here = 0, there = 0, inner = 0, step = 0;
    for (int64_t j = 0; j < psi->model->D; j++) {
        double z = move->z[j], to = move->z_to[j], gap = to - z;
        here += z * z;
        there += to * to;
        inner += z * to;
        step += gap * gap;
    }
    double far = here * sqrt(here) + there * sqrt(there);
    double near = sqrt(step) * (here + inner + there);
    double out = fmax(0, sqrt(fmax(here, there)) - psi->radius);
    return fmin(far, near) / 6 * (psi->growth > 0 ? exp(psi->growth * out) : 1);
}

static sgfs_status refuse_row(sgfsi_thinning *v, int64_t row, double value, double bound,
                              sgfs_err *err) {
    v->exceeded++;
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "row %lld is further from a parabola (%.3g) than the bound on it (%.3g): draws "
        "would not be exact; this is a fault of model %s",
        (long long)(row + 1), value, bound, v->psi->model->kind->name);
}

/* w_i R_i, which must be within the bound: NaN is not. Rounding has 1e-9 of it, and what the log
 * densities themselves are rounded by. */
static sgfs_status weigh_answer(sgfsi_thinning *v, int64_t i, double b, double *value,
                                sgfs_err *err) {
    const struct sgfsi_thinning_room *o = v->room;
    double weight, bound = b * v->psi->largest[o->entry[i]];
    sgfsi_data_weights(v->psi->model->data, o->row[i], 1, &weight);
    *value = weight > 0 ? weight * o->R[i] : 0;
    if (*value == 0) return SGFS_OK; /* also where b has no end: 0 of it */
    if (fabs(*value) <= bound * (1 + 1e-9) + 1e-12 * weight) return SGFS_OK;
    return refuse_row(v, o->row[i], *value, bound, err);
}

/* R of the rows in o->row, which b holds. */
static void answer(sgfsi_thinning *v, const sgfsi_move *move, const sgfs_batch *b) {
    const sgfs_model *m = v->psi->model;
    struct sgfsi_thinning_room *o = v->room;
    m->kind->remainder(m, v->psi->anchor, move->from, move->to, b, o->R, o->scratch);
    v->rows_touched += b->n;
}

/* ---- a few rows, in proportion to psi -------------------------------------------------------- */

/* By inversion; mean is not above `share`. */
static int64_t poisson(double mean, double u) {
    double p = exp(-mean), below = p;
    int64_t k = 0;
    while (u > below) {
        p *= mean / (double)++k;
        if (below + p == below && (double)k > mean) break; /* the sum has come to rest short of 1 */
        below += p;
    }
    return k;
}

static void draw_rows(sgfsi_thinning *v, sgfsi_stream *stream, int64_t n) {
    const sgfsi_row_bounds *psi = v->psi;
    struct sgfsi_thinning_room *o = v->room;
    bool runs = psi->run > 1;
    sgfsi_words(stream, runs ? 2 * n : n, o->word);
    for (int64_t i = 0; i < n; i++) o->entry[i] = sgfsi_alias_row(&psi->alias, o->word[i]);
    for (int64_t i = 0; i < n; i++) { /* psi lies anywhere, too, and is looked at last */
        __builtin_prefetch(&psi->largest[o->entry[i]]);
        int64_t within = runs ? sgfsi_word_index(o->word[n + i], rows_of(psi, o->entry[i])) : 0;
        o->row[i] = o->entry[i] * psi->run + within;
    }
    sgfsi_uniforms(stream, n, o->uniform);
}

static sgfs_status ask_some(sgfsi_thinning *v, const sgfsi_move *move, double b,
                            sgfsi_stream *stream, int64_t n, bool *vetoed, sgfs_err *err) {
    struct sgfsi_thinning_room *o = v->room;
    draw_rows(v, stream, n);
    sgfs_status status = sgfsi_pages_rows(&o->visit, v->psi->model->data, o->row, n, err);
    if (status != SGFS_OK) return status;
    sgfs_batch batch = sgfsi_rows_drawn(&o->rows, o->row, n);
    answer(v, move, &batch);
    for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
        double value;
        status = weigh_answer(v, i, b, &value, err);
        if (o->uniform[i] * b * v->psi->largest[o->entry[i]] < -value) *vetoed = true;
    }
    return status;
}

/* K is the sum of independent Poisson numbers whose means add up to b sum psi. */
static sgfs_status ask_few(sgfsi_thinning *v, const sgfsi_move *move, double b,
                           sgfsi_stream *stream, bool *vetoed, sgfs_err *err) {
    double left = b * v->psi->total, u[2];
    sgfs_status status = SGFS_OK;
    while (left > 0 && !*vetoed && status == SGFS_OK) {
        double mean = fmin(left, share);
        sgfsi_uniforms(stream, 1, u);
        left -= mean;
        for (int64_t k = poisson(mean, u[0]); k > 0 && !*vetoed && status == SGFS_OK;) {
            int64_t n = k < PORTION ? k : PORTION;
            status = ask_some(v, move, b, stream, n, vetoed, err);
            k -= n;
        }
    }
    return status;
}

/* ---- all rows, in order ---------------------------------------------------------------------- */

/* The first objection of a process that objects at rate 1 comes after an exponential time E: there
 * is one if sum_i max(0, -w_i R_i) gets as far as E. */
static sgfs_status ask_all(sgfsi_thinning *v, const sgfsi_move *move, double b,
                           sgfsi_stream *stream, bool *vetoed, sgfs_err *err) {
    struct sgfsi_thinning_room *o = v->room;
    const sgfs_data *d = v->psi->model->data;
    double u[2], left;
    sgfs_status status = SGFS_OK;
    sgfsi_uniforms(stream, 1, u);
    left = -log(u[0]);
    for (int64_t first = 0; first < d->N && !*vetoed && status == SGFS_OK; first += PORTION) {
        int64_t n = d->N - first < PORTION ? d->N - first : PORTION;
        for (int64_t i = 0; i < n; i++) {
            o->row[i] = first + i;
            o->entry[i] = o->row[i] / v->psi->run;
        }
        status = sgfsi_pages_range(&o->visit, d, first, n, err);
        if (status != SGFS_OK) return status;
        sgfs_batch batch = sgfsi_rows_range(&o->rows, first, n);
        answer(v, move, &batch);
        for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
            double value;
            status = weigh_answer(v, i, b, &value, err);
            left -= fmax(0, -value);
        }
        *vetoed = left <= 0;
    }
    return status;
}

sgfs_status sgfsi_thinning_ask(sgfsi_thinning *v, const sgfsi_move *move, bool *vetoed,
                               sgfs_err *err) {
    sgfsi_stream stream = sgfsi_stream_at(move->seed, move->chain, move->t, SGFSI_VETO);
    double b = sgfsi_thinning_rate(v->psi, move);
    *vetoed = false;
    bool few = b * v->psi->total <= (double)v->psi->N;
    return few ? ask_few(v, move, b, &stream, vetoed, err)
               : ask_all(v, move, b, &stream, vetoed, err);
}
