/* SPDX-License-Identifier: MIT
 * thinning.c: Poisson thinning over rows (thinning.h). Why b is a bound: let f be the third
 * derivative of row i's log density at places theta* + L^-T u; along any directions
 * |f[a,b,c]| <= third_i |a||b||c| g(|u|) with g(s) = exp(growth max(0, s - radius)), which never
 * falls. r_i has neither value, slope nor curvature at u = 0, so that by Taylor's formula with the
 * integral for its remainder
 *
 *     |r_i(z)|             = | int_0^1 (1-t)^2/2 f(tz)[z,z,z] dt |  <=  third_i g(|z|) |z|^3/6
 *     |r_i'(u)[d]|         = | int_0^1 (1-t) f(tu)[u,u,d] dt |      <=  third_i g(|u|) |u|^2 |d|/2
 *     |r_i(z') - r_i(z)|  <= int_0^1 |r_i'(z + s d)[d]| ds,   d = z' - z
 *                         <=  third_i g(max(|z|,|z'|)) |d|/2  int_0^1 |z + s d|^2 ds
 *
 * and the last integral is (|z|^2 + z.z' + |z'|^2)/3. The first line, used for z and for z', is the
 * better bound for moves that forget where they were; the last is for short ones. Both are
 * symmetric in z and z', though nothing needs that: how many rows are asked does not change the
 * probability that none of them objects.
 */
#include "posterior/thinning.h"

#include <math.h>

#include "base/rng.h"

enum { BLOCK = 64, NEAR = 16 }; /* rows that are asked together; that are brought near */
static const double share = 32; /* of the mean of K that is drawn together */

struct sgfsi_thinning_room {
    sgfsi_rows rows;
    sgfsi_pages visit;
    int64_t row[BLOCK], entry[BLOCK];
    uint64_t word[2 * BLOCK];
    double uniform[BLOCK], R[BLOCK];
    double *scratch; /* BLOCK x exact_scratch_per_row */
    int64_t later;   /* the move whose first words are kept, 0: none */
    uint64_t kept[2 * NEAR];
};

sgfs_status sgfsi_thinning_open(sgfsi_thinning *v, const sgfsi_row_bounds *psi, sgfsi_arena *arena,
                                sgfs_err *err) {
    const sgfs_model *m = psi->model;
    const sgfsi_rows_plan plan = {
        .n = BLOCK, .sparse = m->kind->sparse, .repeats = true, .gatherer = m->gatherer};
    *v = (sgfsi_thinning){.psi = psi, .room = sgfsi_arena_alloc(arena, 1, sizeof *v->room)};
    if (v->room == NULL) return sgfsi_fail_memory(err, "rows that are asked");
    v->visit = &v->room->visit;
    v->room->scratch = SGFSI_DOUBLES(arena, BLOCK * m->exact_scratch_per_row);
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
    v->exceeded++;
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "row %lld is further from a parabola (%.3g) than the bound on it (%.3g): draws "
        "would not be exact; this is a fault of model %s",
        (long long)(o->row[i] + 1), *value, bound, v->psi->model->kind->name);
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

/* Word i says which entry is asked; where entries have several rows, one more says which of them. */
static int64_t words_per_row(const sgfsi_row_bounds *psi) {
    return psi->block > 1 ? 2 : 1;
}

static int64_t row_of(const sgfsi_row_bounds *psi, int64_t entry, const uint64_t *word) {
    if (psi->block == 1) return entry;
    return entry * psi->block + sgfsi_word_index(word[1], sgfsi_row_bounds_rows(psi, entry));
}

static sgfs_status ask_some(sgfsi_thinning *v, const sgfsi_move *move, double b,
                            sgfsi_stream *stream, int64_t n, bool *vetoed, sgfs_err *err) {
    struct sgfsi_thinning_room *o = v->room;
    const sgfsi_row_bounds *psi = v->psi;
    int64_t each = words_per_row(psi);
    sgfsi_words(stream, each * n, o->word);
    for (int64_t i = 0; i < n; i++) o->entry[i] = sgfsi_alias_row(&psi->alias, o->word[each * i]);
    for (int64_t i = 0; i < n; i++) { /* psi lies anywhere, too, and is looked at last */
        __builtin_prefetch(&psi->largest[o->entry[i]]);
        o->row[i] = row_of(psi, o->entry[i], o->word + each * i);
    }
    sgfsi_uniforms(stream, n, o->uniform);
    sgfs_status status = sgfsi_pages_rows(&o->visit, v->psi->model->data, o->row, n, err);
    if (status != SGFS_OK) return status;
    const sgfs_batch *batch = sgfsi_rows_drawn(&o->rows, o->row, n);
    answer(v, move, batch);
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
            int64_t n = k < BLOCK ? k : BLOCK;
            status = ask_some(v, move, b, stream, n, vetoed, err);
            k -= n;
        }
    }
    return status;
}

static void first_words(const sgfsi_move *now, int64_t t, int64_t n, uint64_t *word) {
    sgfsi_stream stream = sgfsi_stream_at(now->seed, now->chain, t, SGFSI_VETO);
    sgfsi_stream_skip(&stream, 1); /* how many rows are asked */
    sgfsi_words(&stream, n, word);
}

void sgfsi_thinning_fetch(sgfsi_thinning *v, const sgfsi_move *now, int64_t next, int64_t later) {
    struct sgfsi_thinning_room *o = v->room;
    const sgfsi_row_bounds *psi = v->psi;
    int64_t usual = 1 + v->rows_touched / (v->moves + 1), n = usual < NEAR ? usual : NEAR;
    int64_t each = words_per_row(psi);
    if (psi->alias.N == 0) return;
    if (o->later != next) first_words(now, next, each * n, o->kept);
    for (int64_t i = 0; i < n; i++) {
        int64_t entry = sgfsi_alias_row(&psi->alias, o->kept[each * i]);
        __builtin_prefetch(&psi->largest[entry]);
        o->row[i] = row_of(psi, entry, o->kept + each * i);
    }
    sgfsi_data_rows_fetch(psi->model->data, o->row, n);
    first_words(now, later, each * NEAR, o->kept);
    o->later = later;
    for (int64_t i = 0; i < n; i++) sgfsi_alias_fetch(&psi->alias, o->kept[each * i]);
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
    for (int64_t first = 0; first < d->N && !*vetoed && status == SGFS_OK; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        for (int64_t i = 0; i < n; i++) {
            o->row[i] = first + i;
            o->entry[i] = o->row[i] / v->psi->block;
        }
        status = sgfsi_pages_range(&o->visit, d, first, n, err);
        if (status != SGFS_OK) return status;
        const sgfs_batch *batch = sgfsi_rows_range(&o->rows, first, n);
        answer(v, move, batch);
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
    v->moves++;
    bool few = b * v->psi->total <= (double)v->psi->N;
    return few ? ask_few(v, move, b, &stream, vetoed, err)
               : ask_all(v, move, b, &stream, vetoed, err);
}
