/* SPDX-License-Identifier: MIT
 * mixed.c: rows by slot and by group, and passes over them (mixed.h).
 *
 * A pass over x goes through the rows as they stand in the data (pass.c); everything else goes
 * through slots, or through the groups of a term, in parts that depend on the data alone. So sums
 * have the same bits for any number of threads.
 */
#include "posterior/mixed.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "model/linear.h"
#include "model/prior.h"
#include "posterior/scores.h"

enum { CHUNK = SGFSI_MIXED_CHUNK, PART_ROWS = 16384, MOST_PARTS = 4096 };

bool sgfsi_mixed_is_gaussian(const sgfs_model *m) {
    return sgfsi_is_linear(m) && m->prior != NULL && m->prior->kind->quadratic;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int32_t code_of(const sgfsi_mixed *m, const sgfsi_term *t, int64_t row) {
    return t->factor->code[sgfsi_data_table_row(m->fixed.data, row)];
}

/* Rows in order of the groups of one term: first (G + 1), and the place of each. */
static sgfs_status sort_rows(const sgfsi_mixed *m, const sgfsi_term *t, int64_t *first,
                             int32_t *place) {
    for (int64_t i = 0; i < m->N; i++) first[code_of(m, t, i) + 1]++;
    for (int64_t g = 0; g < t->factor->levels; g++) first[g + 1] += first[g];
    for (int64_t i = 0; i < m->N; i++) place[i] = (int32_t)first[code_of(m, t, i)]++;
    for (int64_t g = t->factor->levels; g > 0; g--) first[g] = first[g - 1];
    first[0] = 0;
    return SGFS_OK;
}

/* Groups that a thread works through at a time. */
static sgfs_status cut(sgfsi_mixed_term *t, int64_t N, sgfsi_arena *arena, sgfs_err *err) {
    int64_t rows = N / MOST_PARTS > PART_ROWS ? N / MOST_PARTS : PART_ROWS;
    t->part = sgfsi_arena_alloc(arena, N / rows + 2, sizeof *t->part);
    if (t->part == NULL) return sgfsi_fail_memory(err, "the groups");
    for (int64_t g = 0; g < t->G;) {
        int64_t from = t->first[g];
        t->part[t->parts++] = g;
        while (g < t->G && t->first[g] - from < rows) g++;
        if (t->first[g] - from > t->most) t->most = t->first[g] - from;
    }
    t->part[t->parts] = t->G;
    return SGFS_OK;
}

static sgfs_status open_term(sgfsi_mixed *m, int64_t k, bool sorted, sgfsi_arena *arena,
                             sgfs_err *err) {
    sgfsi_mixed_term *t = &m->term[k];
    const sgfsi_term *term = t->scales->term;
    const sgfs_data *d = m->fixed.data;
    int64_t q = t->q = t->scales->q, G = t->G = term->factor->levels;
    int64_t *first = sgfsi_arena_alloc(arena, G + 1, sizeof *first);
    int32_t *group = sgfsi_arena_alloc(arena, m->N, sizeof *group),
            *place = sgfsi_arena_alloc(arena, m->N, sizeof *place), *row = NULL;
    bool made = first != NULL && group != NULL && place != NULL &&
                SGFSI_ROOM(arena, G * q * q, &t->H) && SGFSI_ROOM(arena, G * q * q * q, &t->T) &&
                SGFSI_ROOM(arena, G * q * m->p, &t->B);
    if (!made) return sgfsi_fail_memory(err, "the groups");
    sort_rows(m, term, first, place);
    if (sorted) m->slot = place;
    else row = sgfsi_arena_alloc(arena, m->N, sizeof *row);
    for (int64_t i = 0; i < m->N; i++) {
        group[m->slot[i]] = code_of(m, term, i);
        if (row != NULL) row[place[i]] = m->slot[i];
    }
    t->first = first;
    t->group = group;
    t->row = row;
    if (!sorted && row == NULL) return sgfsi_fail_memory(err, "the groups");
    if (term->slopes == 0) return cut(t, m->N, arena, err);
    double *z = SGFSI_DOUBLES(arena, m->N * q), *x = SGFSI_DOUBLES(arena, CHUNK * m->p);
    if (z == NULL || x == NULL) return sgfsi_fail_memory(err, "the groups");
    sgfsi_pages visit = {0};
    for (int64_t from = 0; from < m->N; from += CHUNK) {
        int64_t n = m->N - from < CHUNK ? m->N - from : CHUNK;
        sgfs_status status = sgfsi_pages_range(&visit, d, from, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(d, from, n, x, NULL);
        for (int64_t i = 0; i < n; i++) {
            double *to = z + m->slot[from + i] * q;
            if (term->intercept) *to++ = 1;
            for (int64_t s = 0; s < term->slopes; s++) { /* as it stands in the data */
                int64_t j = term->slope[s];
                double value = x[i * m->p + d->p - d->features + j];
                if (d->scale != NULL) value = value / d->scale[j] + d->shift[j];
                *to++ = value;
            }
        }
    }
    t->z = z;
    return cut(t, m->N, arena, err);
}

sgfs_status sgfsi_mixed_open(sgfsi_mixed *m, const sgfs_model *model, sgfsi_arena *arena,
                             sgfs_err *err) {
    const sgfs_data *d = model->data;
    model = sgfsi_model_near(model, arena);
    if (model == NULL) return sgfsi_fail_memory(err, "the groups");
    *m = (sgfsi_mixed){.fixed = sgfsi_model_fixed(model),
                       .scales = model->scales,
                       .N = d->N,
                       .p = d->p,
                       .base = model->base,
                       .terms = model->scales->groups->terms,
                       .sigma = model->base > d->p};
    if (d->N > INT32_MAX)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: more than %d rows cannot have groups.", d->path,
                          INT32_MAX);
    int64_t main = 0;
    for (int64_t k = 0; k < m->terms; k++) {
        m->term[k].scales = &m->scales->term[k];
        if (m->scales->term[k].term->factor->levels > m->scales->term[main].term->factor->levels)
            main = k;
        m->shape[k] = SGFSI_DOUBLES(arena, m->scales->term[k].count);
    }
    sgfs_status status = open_term(m, main, true, arena, err);
    for (int64_t k = 0; k < m->terms && status == SGFS_OK; k++)
        if (k != main) status = open_term(m, k, false, arena, err);
    if (status != SGFS_OK) return status;
    bool made = SGFSI_ROOM(arena, m->N, &m->y, &m->k, &m->w) &&
                SGFSI_ROOM(arena, m->p * m->p, &m->XWX, &m->prior) &&
                SGFSI_ROOM(arena, m->p, &m->pull) && SGFSI_ROOM(arena, m->base, &m->theta) &&
                (d->weight == NULL || SGFSI_ROOM(arena, m->N, &m->weight)) &&
                (d->offset == NULL || SGFSI_ROOM(arena, m->N, &m->offset));
    if (!made || sgfsi_arena_failed(arena)) return sgfsi_fail_memory(err, "the groups");
    sgfsi_pages visit = {0};
    for (int64_t from = 0; from < m->N; from += CHUNK) {
        double y[CHUNK];
        int64_t n = m->N - from < CHUNK ? m->N - from : CHUNK;
        status = sgfsi_pages_range(&visit, d, from, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(d, from, n, NULL, y);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = sgfsi_data_table_row(d, from + i), slot = m->slot[from + i];
            m->y[slot] = y[i];
            if (m->weight != NULL) m->weight[slot] = d->weight[at];
            if (m->offset != NULL) m->offset[slot] = d->offset[at];
        }
    }
    m->passes = 2;
    return SGFS_OK;
}

sgfs_status sgfsi_mixed_place_open(sgfsi_mixed_place *at, const sgfsi_mixed *m, int64_t threads,
                                   sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *fixed = &m->fixed;
    int64_t most = CHUNK, parts = (m->N + PART_ROWS - 1) / PART_ROWS,
            count = m->p * m->p + m->p + 8;
    *at = (sgfsi_mixed_place){.mixed = m, .threads = threads};
    sgfs_status status = sgfsi_full_open(&at->full, fixed, threads, false, arena, err);
    if (status != SGFS_OK) return status;
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        sgfsi_mixed_effects *e = &at->term[k];
        int64_t all = t->G * t->q;
        if (t->most > most) most = t->most;
        if (t->parts > parts) parts = t->parts;
        bool made = SGFSI_ROOM(arena, t->scales->count, &e->shape) &&
                    SGFSI_ROOM(arena, t->q * t->q, &e->C) &&
                    SGFSI_ROOM(arena, all, &e->v, &e->c, &e->m, &e->one, &e->two) &&
                    SGFSI_ROOM(arena, all * t->q, &e->K);
        if (!made) return sgfsi_fail_memory(err, "the groups");
    }
    if (at->full.parts > parts) parts = at->full.parts;
    at->room = sgfsi_arena_alloc(arena, threads, sizeof *at->room);
    bool made = at->room != NULL && SGFSI_ROOM(arena, m->base, &at->theta) &&
                SGFSI_ROOM(arena, m->N, &at->eta, &at->e, &at->f) &&
                SGFSI_ROOM(arena, parts * count + CHUNK * m->p, &at->sums);
    int64_t scratch = fixed->scratch_per_row;
    if (fixed->curvature_scratch_per_row > scratch) scratch = fixed->curvature_scratch_per_row;
    for (int64_t i = 0; made && i < threads; i++) {
        sgfsi_mixed_room *r = &at->room[i];
        status = sgfsi_scores_open(&r->scores, fixed, CHUNK, arena, err);
        if (status != SGFS_OK) return status;
        made = SGFSI_ROOM(arena, CHUNK, &r->loglik) &&
               SGFSI_ROOM(arena, CHUNK * scratch, &r->scratch) &&
               SGFSI_ROOM(arena, fixed->D * fixed->D, &r->A) &&
               SGFSI_ROOM(arena, 4 * CHUNK, &r->eta) && SGFSI_ROOM(arena, most, &r->y, &r->rest);
    }
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the groups");
}

/* ---- passes ---------------------------------------------------------------------------------- */

double sgfsi_mixed_ratio(const sgfsi_mixed_place *at) {
    const sgfsi_mixed *m = at->mixed;
    return m->sigma ? exp(2 * (m->theta[m->base - 1] - at->theta[m->base - 1])) : 1;
}

sgfs_status sgfsi_mixed_prior(const sgfsi_mixed *m, const double *theta, double *lp,
                              sgfs_err *err) {
    return sgfsi_prior_add(&m->fixed, theta, lp, NULL, err);
}

void sgfsi_mixed_factor(const sgfsi_mixed *m, int64_t k, const double *shape, double *C) {
    sgfsi_scales_factor(m->term[k].scales, shape, C);
}

double sgfsi_mixed_scales_prior(const sgfsi_mixed *m, int64_t k, const double *shape) {
    return sgfsi_scales_prior(m->scales, m->term[k].scales, shape);
}

void sgfsi_mixed_put(const sgfsi_mixed *m, int64_t k, const double *shape, double *theta) {
    sgfsi_scales_put(m->term[k].scales, shape, theta);
}

double sgfsi_mixed_chunk(const sgfsi_mixed_place *at, sgfsi_mixed_room *room, const double *theta,
                         int64_t n, const double *y, const double *weight, const double *eta,
                         double *loglik) {
    const sgfs_model *m = &at->mixed->fixed;
    const sgfs_batch b = {.n = n, .p = at->mixed->p, .y = y, .eta = eta, .gamma = 1};
    double *out = loglik != NULL ? loglik : room->loglik, sum = 0;
    sgfs_scores s = {.n = n, .D = m->D, .loglik = out};
    (void)m->kind->scores(m, theta, &b, &s, room->scratch, NULL); /* arithmetic alone */
    for (int64_t i = 0; weight != NULL && i < n; i++)
        out[i] = weight[i] > 0 ? out[i] * weight[i] : 0;
    for (int64_t i = 0; i < n; i++) sum += out[i];
    return sum;
}

void sgfsi_mixed_residuals(const sgfsi_mixed_place *at, sgfsi_mixed_room *room, int64_t first,
                           int64_t n, double *r) {
    const sgfsi_mixed *m = at->mixed;
    const sgfs_batch b = {.n = n, .p = m->p, .y = m->y + first, .eta = at->eta + first, .gamma = 1};
    room->scores.n = n;
    room->scores.loglik = NULL;
    (void)m->fixed.kind->scores(&m->fixed, at->theta, &b, &room->scores, room->scratch, NULL);
    for (int64_t i = 0; i < n; i++) {
        double weight = m->weight != NULL ? m->weight[first + i] : 1;
        r[i] = weight > 0 ? weight * room->scores.block[0].left[i] : 0;
    }
}

/* A thread without a part would only wait for the others. */
static int threads_for(const sgfsi_mixed_place *at, int64_t parts) {
    return (int)(parts < at->threads ? parts : at->threads);
}

void sgfsi_mixed_sum(sgfsi_mixed_place *at, sgfsi_mixed_fn fn, void *user, int64_t count,
                     double *sums) {
    int64_t N = at->mixed->N, parts = (N + PART_ROWS - 1) / PART_ROWS;
    memset(at->sums, 0, (size_t)(parts * count) * sizeof *at->sums);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_for(at, parts))
    for (int64_t part = 0; part < parts; part++) {
        int64_t end = (part + 1) * PART_ROWS < N ? (part + 1) * PART_ROWS : N;
        for (int64_t first = part * PART_ROWS; first < end; first += CHUNK)
            fn(user, &at->room[omp_get_thread_num()], first,
               end - first < CHUNK ? end - first : CHUNK, at->sums + part * count);
    }
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int64_t part = 0; part < parts; part++)
        for (int64_t j = 0; j < count; j++) sums[j] += at->sums[part * count + j];
}

void sgfsi_mixed_groups(sgfsi_mixed_place *at, int64_t k, sgfsi_mixed_groups_fn fn, void *user,
                        int64_t count, double *sums) {
    const sgfsi_mixed_term *t = &at->mixed->term[k];
    memset(at->sums, 0, (size_t)(t->parts * count) * sizeof *at->sums);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_for(at, t->parts))
    for (int64_t part = 0; part < t->parts; part++)
        fn(user, &at->room[omp_get_thread_num()], t->part[part], t->part[part + 1],
           at->sums + part * count);
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int64_t part = 0; part < t->parts; part++)
        for (int64_t j = 0; j < count; j++) sums[j] += at->sums[part * count + j];
}

typedef struct product {
    const sgfsi_mixed *m;
    const double *in;
    double *out;
} product;

static sgfs_status times(void *user, const sgfsi_block_at *at, const sgfs_batch *b, sgfs_err *err) {
    const product *p = user;
    double out[SGFSI_FULL_BLOCK];
    (void)err;
    sgfsi_gemv(p->m->fixed.ctx.near, b->n, b->p, 1.0, b->x, p->in, 0.0, out);
    for (int64_t i = 0; i < b->n; i++) p->out[p->m->slot[at->first + i]] = out[i];
    return SGFS_OK;
}

sgfs_status sgfsi_mixed_times(sgfsi_mixed_place *at, const double *d, double *out, sgfs_err *err) {
    product p = {at->mixed, d, out};
    return sgfsi_full_each(&at->full, times, &p, NULL, err);
}

static sgfs_status transposed(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                              sgfs_err *err) {
    const product *p = user;
    double v[SGFSI_FULL_BLOCK];
    (void)err;
    for (int64_t i = 0; i < b->n; i++) v[i] = p->in[p->m->slot[at->first + i]];
    sgfsi_gemv_t(p->m->fixed.ctx.near, b->n, b->p, 1.0, b->x, v, 1.0, at->sums);
    return SGFS_OK;
}

sgfs_status sgfsi_mixed_transposed(sgfsi_mixed_place *at, const double *v, double *out,
                                   sgfs_err *err) {
    product p = {at->mixed, v, NULL};
    sgfs_status status = sgfsi_full_sum(&at->full, transposed, &p, at->mixed->p, at->sums, err);
    memcpy(out, at->sums, (size_t)at->mixed->p * sizeof *out);
    return status;
}

/* z_i'u for the row in a slot. */
static double effect_of(const sgfsi_mixed_term *t, int64_t slot, const double *u) {
    double sum = 0;
    if (t->z == NULL) return u[0];
    for (int64_t j = 0; j < t->q; j++) sum += t->z[slot * t->q + j] * u[j];
    return sum;
}

static void multiply(int64_t q, const double *C, const double *v, double *u) {
    for (int64_t i = 0; i < q; i++) {
        u[i] = 0;
        for (int64_t j = 0; j <= i; j++) u[i] += C[i * q + j] * v[j];
    }
}

static void add_effects(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n,
                        double *sums) {
    sgfsi_mixed_place *at = user;
    const sgfsi_mixed *m = at->mixed;
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        for (int64_t i = first; i < first + n; i++)
            at->eta[i] += effect_of(t, i, at->term[k].one + t->group[i] * t->q);
    }
    for (int64_t i = first; m->offset != NULL && i < first + n; i++) at->eta[i] += m->offset[i];
    sums[0] +=
        sgfsi_mixed_chunk(at, room, at->theta, n, m->y + first,
                          m->weight != NULL ? m->weight + first : NULL, at->eta + first, NULL);
}

sgfs_status sgfsi_mixed_refresh(sgfsi_mixed_place *at, sgfs_err *err) {
    const sgfsi_mixed *m = at->mixed;
    for (int64_t k = 0; k < m->terms; k++)
        for (int64_t g = 0; g < m->term[k].G; g++) {
            int64_t q = m->term[k].q;
            multiply(q, at->term[k].C, at->term[k].v + g * q, at->term[k].one + g * q);
        }
    sgfs_status status = sgfsi_mixed_times(at, at->theta, at->eta, err);
    if (status == SGFS_OK) sgfsi_mixed_sum(at, add_effects, at, 1, &at->loglik);
    return status;
}

/* ---- the Gaussian of a group ----------------------------------------------------------------- */

/* x = L^-1 x, or L^-T x. */
static void solve(int64_t q, const double *L, bool transposed, double *x) {
    for (int64_t s = 0; s < q; s++) {
        int64_t i = transposed ? q - 1 - s : s;
        for (int64_t j = transposed ? i + 1 : 0; j < (transposed ? q : i); j++)
            x[i] -= (transposed ? L[j * q + i] : L[i * q + j]) * x[j];
        x[i] /= L[i * q + i];
    }
}

/* out = C'x */
static void multiply_transposed(int64_t q, const double *C, const double *x, double *out) {
    for (int64_t j = 0; j < q; j++) {
        out[j] = 0;
        for (int64_t i = j; i < q; i++) out[j] += C[i * q + j] * x[i];
    }
}

void sgfsi_mixed_frame(const sgfsi_mixed_term *t, int64_t g, double a, const double *C,
                       const double *c, bool plain, double *K, double *m) {
    enum { Q = SGFSI_MOST_EFFECTS };
    int64_t q = t->q;
    const double *H = t->H + g * q * q, *T = t->T + g * q * q * q;
    double HC[Q * Q], pulled[Q];
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = 0; j < q; j++) {
            HC[i * q + j] = 0;
            for (int64_t k = j; k < q; k++) HC[i * q + j] += H[i * q + k] * C[k * q + j];
        }
    for (int64_t i = 0; i < q; i++) { /* I + a C'HC = K K', row by row */
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j;
            for (int64_t k = i; k < q; k++) sum += a * C[k * q + i] * HC[k * q + j];
            for (int64_t k = 0; k < j; k++) sum -= K[i * q + k] * K[j * q + k];
            K[i * q + j] = i == j ? sqrt(sum) : sum / K[j * q + j];
        }
        for (int64_t j = i + 1; j < q; j++) K[i * q + j] = 0;
    }
    for (int64_t i = 0; i < q; i++) pulled[i] = a * c[i];
    for (int64_t r = 0; r < q && !plain; r++) { /* column r of R = C K^-T: covariance R R' */
        double R[Q], e[Q] = {0};
        e[r] = 1;
        solve(q, K, true, e);
        multiply(q, C, e, R);
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j < q; j++)
                for (int64_t k = 0; k < q; k++)
                    pulled[i] += 0.5 * a * T[(i * q + j) * q + k] * R[j] * R[k];
    }
    multiply_transposed(q, C, pulled, m);
    solve(q, K, false, m);
    solve(q, K, true, m);
}

void sgfsi_mixed_follow(const sgfsi_mixed_term *t, int64_t g, int64_t p, double a, const double *C,
                        const double *K, const double *d, double *dv) {
    double Bd[SGFSI_MOST_EFFECTS];
    const double *B = t->B + g * t->q * p;
    for (int64_t i = 0; i < t->q; i++) {
        Bd[i] = 0;
        for (int64_t j = 0; j < p; j++) Bd[i] -= a * B[i * p + j] * d[j];
    }
    multiply_transposed(t->q, C, Bd, dv);
    solve(t->q, K, false, dv);
    solve(t->q, K, true, dv);
}

typedef struct centring {
    sgfsi_mixed_place *at;
    int64_t k;
    double a;
} centring;

static void centre(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const centring *w = user;
    const sgfsi_mixed *m = w->at->mixed;
    const sgfsi_mixed_term *t = &m->term[w->k];
    sgfsi_mixed_effects *e = &w->at->term[w->k];
    int64_t q = t->q;
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++) {
        double u[SGFSI_MOST_EFFECTS], *c = e->c + g * q;
        multiply(q, e->C, e->v + g * q, u);
        memset(c, 0, (size_t)q * sizeof *c);
        for (int64_t i = t->first[g]; i < t->first[g + 1]; i++) {
            int64_t slot = t->row != NULL ? t->row[i] : i;
            double rest = w->at->eta[slot] - effect_of(t, slot, u),
                   pull = m->k[slot] - m->w[slot] * rest;
            if (t->z == NULL) c[0] += pull;
            else
                for (int64_t j = 0; j < q; j++) c[j] += pull * t->z[slot * q + j];
        }
        sgfsi_mixed_frame(t, g, w->a, e->C, c, false, e->K + g * q * q, e->m + g * q);
    }
}

void sgfsi_mixed_centres(sgfsi_mixed_place *at, int64_t k) {
    centring w = {at, k, sgfsi_mixed_ratio(at)};
    double none;
    sgfsi_mixed_groups(at, k, centre, &w, 0, &none);
}

/* ---- the Gaussian of beta -------------------------------------------------------------------- */

/* Of the groups from .. to: sum of R'R, R = a K^-1 C'B (q x p), lower; and the effects at their
 * means, less those they have, u - C v, into `one`. */
static void take_schur(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const centring *w = user;
    const sgfsi_mixed_term *t = &w->at->mixed->term[w->k];
    sgfsi_mixed_effects *e = &w->at->term[w->k];
    int64_t q = t->q, p = w->at->mixed->p;
    (void)room;
    for (int64_t g = from; g < to; g++) {
        const double *B = t->B + g * q * p, *K = e->K + g * q * q;
        double scaled[Q * Q], own[Q * Q], mean[Q];
        /* K^-1 C', q x q */
        for (int64_t j = 0; j < q; j++) {
            double column[Q];
            for (int64_t i = 0; i < q; i++) column[i] = e->C[j * q + i]; /* row j of C */
            solve(q, K, false, column);
            for (int64_t i = 0; i < q; i++) scaled[i * q + j] = w->a * column[i];
        }
        for (int64_t i = 0; i < q; i++) {
            for (int64_t j = 0; j < p; j++) {
                double r = 0;
                for (int64_t s = 0; s < q; s++) r += scaled[i * q + s] * B[s * p + j];
                sums[p * p + j] = r;
            }
            const double *R = sums + p * p;
            for (int64_t j = 0; j < p; j++)
                for (int64_t l = 0; l <= j; l++) sums[j * p + l] += R[j] * R[l];
        }
        sgfsi_mixed_frame(t, g, w->a, e->C, e->c + g * q, true, own, mean);
        for (int64_t i = 0; i < q; i++) mean[i] -= e->v[g * q + i];
        multiply(q, e->C, mean, e->one + g * q);
    }
    memset(sums + p * p, 0, (size_t)p * sizeof *sums);
}

static void take_pull(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const centring *w = user;
    const sgfsi_mixed *m = w->at->mixed;
    const sgfsi_mixed_term *t = &m->term[w->k];
    (void)room;
    (void)sums;
    for (int64_t i = first; i < first + n; i++) {
        double eta = w->at->eta[i] + effect_of(t, i, w->at->term[w->k].one + t->group[i] * t->q);
        w->at->f[i] = w->a * (m->k[i] - m->w[i] * eta);
    }
}

sgfs_status sgfsi_mixed_fixed(sgfsi_mixed_place *at, int64_t k, double *L, double *mean,
                              sgfs_err *err) {
    const sgfsi_mixed *m = at->mixed;
    const sgfs_device *dev = m->fixed.ctx.near;
    int64_t p = m->p;
    centring w = {at, k, sgfsi_mixed_ratio(at)};
    double none, *sums = L; /* room for p more behind L */
    sgfsi_mixed_groups(at, k, take_schur, &w, p * p + p, sums);
    for (int64_t i = 0; i < p * p; i++) L[i] = w.a * m->XWX[i] + m->prior[i] - L[i];
    if (sgfsi_potrf(dev, p, L) != 0)
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the coefficients' precision, with the groups' effects left free, is "
                          "singular");
    sgfsi_mixed_sum(at, take_pull, &w, 0, &none);
    sgfs_status status = sgfsi_mixed_transposed(at, at->f, mean, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < p; j++) { /* the prior's pull, linear around the anchor */
        mean[j] += m->pull[j];
        for (int64_t l = 0; l < p; l++)
            mean[j] -= m->prior[j * p + l] * (at->theta[l] - m->theta[l]);
    }
    sgfsi_trsv(dev, p, L, false, mean);
    sgfsi_trsv(dev, p, L, true, mean);
    for (int64_t j = 0; j < p; j++) mean[j] += at->theta[j];
    return SGFS_OK;
}

/* The residuals of the rows, into f. */
static void take_residuals(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n,
                           double *sums) {
    const centring *w = user;
    (void)sums;
    sgfsi_mixed_residuals(w->at, room, first, n, w->at->f + first);
}

/* What the effects of the groups from .. to, as they follow beta, do to the density. */
static void take_followed(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to,
                          double *sums) {
    enum { Q = SGFSI_MOST_EFFECTS };
    const centring *w = user;
    const sgfsi_mixed_term *t = &w->at->mixed->term[w->k];
    const sgfsi_mixed_effects *e = &w->at->term[w->k];
    int64_t q = t->q, p = w->at->mixed->p;
    (void)room;
    for (int64_t g = from; g < to; g++) {
        const double *B = t->B + g * q * p, *K = e->K + g * q * q;
        double r[Q] = {0}, pull[Q], u[Q];
        for (int64_t i = t->first[g]; i < t->first[g + 1]; i++) {
            int64_t slot = t->row != NULL ? t->row[i] : i;
            for (int64_t j = 0; j < q; j++)
                r[j] += w->at->f[slot] * (t->z != NULL ? t->z[slot * q + j] : 1);
        }
        multiply_transposed(q, e->C, r, pull);
        for (int64_t j = 0; j < q; j++) pull[j] -= e->v[g * q + j];
        solve(q, K, false, pull);
        solve(q, K, true, pull);
        multiply(q, e->C, pull, u);
        for (int64_t j = 0; j < q; j++)
            for (int64_t l = 0; l < p; l++) sums[l] -= w->a * B[j * p + l] * u[j];
    }
}

sgfs_status sgfsi_mixed_gradient(sgfsi_mixed_place *at, int64_t k, double *out, double *room,
                                 sgfs_err *err) {
    const sgfsi_mixed *m = at->mixed;
    centring w = {at, k, sgfsi_mixed_ratio(at)};
    double none;
    memset(room, 0, (size_t)m->base * sizeof *room);
    sgfs_status status = sgfsi_prior_add(&m->fixed, at->theta, NULL, room, err);
    if (status != SGFS_OK) return status;
    sgfsi_mixed_sum(at, take_residuals, &w, 0, &none);
    status = sgfsi_mixed_transposed(at, at->f, out, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < m->p; j++) out[j] += room[j];
    sgfsi_mixed_groups(at, k, take_followed, &w, m->p, room);
    for (int64_t j = 0; j < m->p; j++) out[j] += room[j];
    return SGFS_OK;
}
