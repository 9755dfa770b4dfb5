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
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "posterior/marks.h"

enum {
    BLOCK = 64,
    NEAR = 16,
    FIRST = 2
};                              /* rows that are asked together; that are brought
                                             * near; the first move that has marks */
static const double share = 32; /* of the mean of K that is drawn together */

struct sgfsi_thinning_room {
    sgfsi_rows rows;
    sgfsi_pages visit;
    int64_t row[BLOCK], entry[BLOCK];
    uint64_t word[2 * BLOCK];
    double uniform[BLOCK], R[BLOCK];
    double *scratch; /* BLOCK x exact_scratch_per_row */
    /* Of marked rows: BLOCK x p, or sparse, and what stands beside them. */
    double *x, y[BLOCK], offset[BLOCK];
    int64_t start[BLOCK + 1];
    int32_t *col;
    double *value;
    sgfs_csr csr;
    int64_t later; /* the move whose first words are kept, 0: none */
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
    if (psi->marks == NULL) return sgfsi_rows_open(&v->room->rows, m->data, plan, arena, err);
    int64_t entries = BLOCK * psi->marks->entries;
    v->room->x = SGFSI_DOUBLES(arena, entries > 0 ? 1 : BLOCK * m->data->p);
    v->room->value = SGFSI_DOUBLES(arena, entries + 1);
    v->room->col = sgfsi_arena_alloc(arena, entries + 1, sizeof *v->room->col);
    v->room->csr = (sgfs_csr){v->room->start, v->room->col, v->room->value};
    bool made = v->room->x != NULL && v->room->value != NULL && v->room->col != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "rows that are asked");
}

/* What b is made of. */
typedef struct lengths {
    double here, there, inner, step; /* |z|^2, |z'|^2, z.z', |z' - z|^2 */
} lengths;

static lengths measure(int64_t D, const double *z, const double *z_to) {
    lengths l = {0, 0, 0, 0};
    for (int64_t j = 0; j < D; j++) {
        double gap = z_to[j] - z[j];
        l.here += z[j] * z[j];
        l.there += z_to[j] * z_to[j];
        l.inner += z[j] * z_to[j];
        l.step += gap * gap;
    }
    return l;
}

static double length_of(const lengths *l) {
    double far = l->here * sqrt(l->here) + l->there * sqrt(l->there);
    double near = sqrt(l->step) * (l->here + l->inner + l->there);
    return fmin(far, near) / 6;
}

double sgfsi_thinning_length(int64_t D, const double *z, const double *z_to) {
    const lengths l = measure(D, z, z_to);
    return length_of(&l);
}

double sgfsi_thinning_rate(const sgfsi_row_bounds *psi, const sgfsi_move *move) {
    const lengths l = measure(psi->model->D, move->z, move->z_to);
    double out = fmax(0, sqrt(fmax(l.here, l.there)) - psi->radius);
    return length_of(&l) * (psi->growth > 0 ? exp(psi->growth * out) : 1);
}

/* A value w R must be within its bound: NaN is not. Rounding has 1e-9 of it, and what the log
 * densities themselves are rounded by. row: from 1; 0: nobody knows. */
static sgfs_status check_bound(sgfsi_thinning *v, int64_t row, double weight, double bound,
                               double value, sgfs_err *err) {
    if (value == 0) return SGFS_OK; /* also where b has no end: 0 of it */
    if (fabs(value) <= bound * (1 + 1e-9) + 1e-12 * weight) return SGFS_OK;
    char which[32] = "a row";
    if (row > 0) snprintf(which, sizeof which, "row %lld", (long long)row);
    v->exceeded++;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "%s is further from a parabola (%.3g) than the bound on it (%.3g): draws "
                      "would not be exact; this is a fault of model %s",
                      which, value, bound, v->psi->model->kind->name);
}

/* w_i R_i */
static sgfs_status weigh_answer(sgfsi_thinning *v, int64_t i, double b, double *value,
                                sgfs_err *err) {
    const struct sgfsi_thinning_room *o = v->room;
    double weight, bound = b * v->psi->largest[o->entry[i]];
    sgfsi_data_weights(v->psi->model->data, o->row[i], 1, &weight);
    *value = weight > 0 ? weight * o->R[i] : 0;
    return check_bound(v, o->row[i] + 1, weight, bound, *value, err);
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

/* Word i says which entry is asked; where entries have several rows, one more says which of
 * them. */
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

/* ---- marked rows ----------------------------------------------------------------------------- */

/* n marks as a batch. */
static sgfs_batch unfold(struct sgfsi_thinning_room *o, const sgfsi_marks_index *index,
                         const sgfsi_mark_at *mark, int64_t n) {
    int64_t p = index->marks->p, entries = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *head = index->marks->number + mark[i].place, *row = head + SGFSI_MARK_HEAD;
        int64_t pairs = index->entries > 0 ? (int64_t)-head[SGFSI_MARK_NUMBERS] / 2 : 0;
        o->y[i] = head[SGFSI_MARK_Y];
        o->offset[i] = head[SGFSI_MARK_OFFSET];
        o->start[i] = entries;
        if (index->entries == 0) memcpy(o->x + i * p, row, (size_t)p * sizeof *row);
        for (int64_t k = 0; k < pairs; k++, entries++) {
            o->col[entries] = (int32_t)row[2 * k];
            o->value[entries] = row[2 * k + 1];
        }
    }
    o->start[n] = entries;
    return (sgfs_batch){.n = n,
                        .p = p,
                        .x = index->entries > 0 ? NULL : o->x,
                        .sparse = index->entries > 0 ? &o->csr : NULL,
                        .y = o->y,
                        .offset = o->offset,
                        .gamma = 1};
}

/* All marks of the move, though those whose level is above b/b' cannot object. */
static sgfs_status ask_marked(sgfsi_thinning *v, const sgfsi_move *move, double b, bool *vetoed,
                              sgfs_err *err) {
    struct sgfsi_thinning_room *o = v->room;
    const sgfsi_marks_index *index = v->psi->marks;
    const sgfsi_marks *m = index->marks;
    int64_t moves = sgfsi_marks_moves(m), at_move = move->t - FIRST,
            slot = move->chain * moves + at_move;
    sgfs_status status = SGFS_OK;
    *vetoed = !(b <= m->most);
    if (move->chain >= m->chains || at_move < 0 || at_move >= moves)
        return sgfsi_fail(err, SGFS_EUSAGE, "the sketch has no marks for more moves than it has");
    const sgfsi_mark_at *mark;
    int64_t count = sgfsi_marks_of(index, slot, &mark);
    for (int64_t at = 0; at < count && !*vetoed;) {
        int64_t n = count - at < BLOCK ? count - at : BLOCK;
        const sgfs_batch batch = unfold(o, index, mark + at, n);
        answer(v, move, &batch);
        for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
            const double *head = m->number + mark[at + i].place;
            double weight = head[SGFSI_MARK_WEIGHT], psi = head[SGFSI_MARK_PSI];
            double value = weight * o->R[i];
            status = check_bound(v, 0, weight, b * psi, value, err);
            if (head[SGFSI_MARK_LEVEL] * m->most * psi < -value) *vetoed = true;
        }
        if (status != SGFS_OK) return status;
        at += n;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_thinning_ask(sgfsi_thinning *v, const sgfsi_move *move, bool *vetoed,
                               sgfs_err *err) {
    sgfsi_stream stream = sgfsi_stream_at(move->seed, move->chain, move->t, SGFSI_VETO);
    double b = sgfsi_thinning_rate(v->psi, move);
    *vetoed = false;
    v->moves++;
    if (v->psi->marks != NULL) return ask_marked(v, move, b, vetoed, err);
    bool few = b * v->psi->total <= (double)v->psi->N;
    return few ? ask_few(v, move, b, &stream, vetoed, err)
               : ask_all(v, move, b, &stream, vetoed, err);
}
