/* SPDX-License-Identifier: MIT
 * marks.c: see marks.h.
 */
#include "posterior/marks.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/scratch.h"
#include "posterior/thinning.h"

/* ---- how large b may be ---------------------------------------------------------------------- */

sgfs_status sgfsi_marks_bound(int64_t D, double share, double *b, sgfs_err *err) {
    enum { TRIES = 20000 };
    double *room = malloc((size_t)(TRIES + 2 * D) * sizeof *room);
    if (room == NULL) return sgfsi_fail_memory(err, "the bound on moves");
    double *z = room + TRIES;
    for (int64_t k = 0; k < TRIES; k++) {
        sgfsi_stream stream = sgfsi_stream_at(0, 0, k, SGFSI_MARKS);
        sgfsi_normals(&stream, 2 * D, z);
        room[k] = sgfsi_thinning_length(D, z, z + D);
    }
    qsort(room, TRIES, sizeof *room, sgfsi_by_size);
    int64_t at = (int64_t)(share * TRIES);
    *b = room[at < TRIES ? at : TRIES - 1];
    free(room);
    return SGFS_OK;
}

sgfs_status sgfsi_marks_pay(const sgfs_model *m, bool *pay, sgfs_err *err) {
    const sgfsi_comm *comm = m->ctx.comm; /* machines may differ in memory */
    *pay = sgfsi_data_is_mapped(m->data) && sgfsi_data_mapped_bytes(m->data) > sgfsi_memory();
    return sgfsi_comm_broadcast(comm, SGFS_OK, (int64_t)sizeof *pay, pay, err);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* What was found in one part of the pass. */
typedef struct found {
    double *number; /* malloc'ed */
    int64_t numbers, room, count;
} found;

typedef struct marking {
    const sgfsi_marks_plan *plan;
    double most;
    int64_t slots, N;
    atomic_llong numbers, rows; /* so far, of all parts */
    found part[SGFSI_FULL_PARTS];
} marking;

static double next_gap(sgfsi_stream *stream, double rate, double *level) {
    double u[2];
    sgfsi_uniforms(stream, 2, u);
    *level = u[1];
    return -log(u[0]) / rate;
}

/* The numbers of row i of b, at `to`; so many as the mark's head says. */
static void copy_row(const sgfs_batch *b, int64_t i, double *to) {
    if (b->sparse == NULL) {
        memcpy(to, b->x + i * b->p, (size_t)b->p * sizeof *to);
        return;
    }
    for (int64_t k = b->sparse->start[i]; k < b->sparse->start[i + 1]; k++) {
        *to++ = b->sparse->col[k];
        *to++ = b->sparse->value[k];
    }
}

static sgfs_status add_mark(found *f, const sgfs_batch *b, int64_t i, const double *head,
                            sgfs_err *err) {
    int64_t numbers = (int64_t)fabs(head[SGFSI_MARK_NUMBERS]), each = SGFSI_MARK_HEAD + numbers;
    if (!sgfsi_grow(&f->number, &f->room, f->numbers + each, sizeof *f->number))
        return sgfsi_fail_memory(err, "the marks");
    double *to = f->number + f->numbers;
    memcpy(to, head, SGFSI_MARK_HEAD * sizeof *to);
    copy_row(b, i, to + SGFSI_MARK_HEAD);
    f->numbers += each;
    f->count++;
    return SGFS_OK;
}

/* Marks grow with the moves, of which anybody may ask for any number: refused as soon as it is seen
 * that they will not fit. They are held up to three times: grown, put in order, written. */
static sgfs_status check_room(marking *m, int64_t numbers, int64_t rows, sgfs_err *err) {
    enum { TIMES = 3 };
    const double sure = 1e8, memory = sgfsi_memory();
    double held =
               (double)(atomic_fetch_add(&m->numbers, numbers) + numbers) * TIMES * sizeof(double),
           seen = (double)(atomic_fetch_add(&m->rows, rows) + rows + 1),
           all = held * (double)m->N / seen;
    if (held <= memory && (held < sure || all < 2 * memory)) return SGFS_OK;
    char needed[24], have[24];
    return sgfsi_fail(
        err, SGFS_ENOMEM,
        "The marks of %lld moves need %s and more, and there are %s: make fewer --draws "
        "or --chains, or a smaller --within.",
        (long long)m->slots, sgfsi_format_bytes(all, needed), sgfsi_format_bytes(memory, have));
}

static sgfs_status mark_block(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                              const double *psi, sgfs_err *err) {
    marking *m = user;
    const sgfsi_marks_plan *plan = m->plan;
    double level, rate = m->most * (double)m->slots;
    enum { MANY = 1 << 20 };
    int64_t before = m->part[at->part].numbers, looked = 0;
    /* marks for another number of moves are other marks */
    uint64_t seed = plan->seed ^ (uint64_t)m->slots * 0x9e3779b97f4a7c15u;
    sgfsi_stream stream =
        sgfsi_stream_at(seed, plan->part, at->first / SGFSI_FULL_BLOCK + 1, SGFSI_MARKS);
    double gap = next_gap(&stream, rate, &level);
    for (int64_t i = 0; i < b->n; i++) {
        double left = psi[i];
        for (; gap < left; gap = next_gap(&stream, rate, &level)) {
            uint64_t word;
            sgfsi_words(&stream, 1, &word);
            int64_t entries = b->sparse != NULL ? b->sparse->start[i + 1] - b->sparse->start[i] : 0;
            const double head[SGFSI_MARK_HEAD] = {
                [SGFSI_MARK_SLOT] = (double)sgfsi_word_index(word, m->slots),
                [SGFSI_MARK_LEVEL] = level,
                [SGFSI_MARK_PSI] = psi[i],
                [SGFSI_MARK_Y] = b->y[i],
                [SGFSI_MARK_WEIGHT] = b->weight != NULL ? b->weight[i] : 1,
                [SGFSI_MARK_OFFSET] = b->offset != NULL ? b->offset[i] : 0,
                [SGFSI_MARK_NUMBERS] = (double)(b->sparse != NULL ? -2 * entries : b->p)};
            sgfs_status status = add_mark(&m->part[at->part], b, i, head, err);
            int64_t more = m->part[at->part].numbers - before;
            if (status == SGFS_OK && more > MANY) {
                status = check_room(m, more, i - looked, err);
                before += more;
                looked = i;
            }
            if (status != SGFS_OK) return status;
            left -= gap;
        }
        gap -= left;
    }
    return check_room(m, m->part[at->part].numbers - before, b->n - looked, err);
}

/* The marks of all processes in place of this one's, in the order of their rows. status: how it
 * went here. */
static sgfs_status gather_marks(const sgfsi_comm *comm, sgfs_status status, sgfsi_marks *out,
                                sgfsi_arena *arena, sgfs_err *err) {
    const int64_t size = comm->size, pair = 2 * (int64_t)sizeof(int64_t);
    int64_t most = 0, numbers = 0, count = 0;
    sgfsi_arena own = {NULL};
    int64_t(*all)[2] = sgfsi_arena_alloc(&own, size, sizeof *all);
    double *piece = NULL, *to = NULL;
    if (all == NULL) return sgfsi_fail_memory(err, "the marks");
    all[comm->rank][0] = out->numbers;
    all[comm->rank][1] = out->count;
    status = sgfsi_comm_gather(comm, status, size, pair, pair, all, err);
    for (int64_t k = 0; status == SGFS_OK && k < size; k++) {
        numbers += all[k][0];
        count += all[k][1];
        if (all[k][0] > most) most = all[k][0];
    }
    if (status == SGFS_OK) {
        const int64_t bytes = most * (int64_t)sizeof *piece;
        piece = SGFSI_DOUBLES(&own, size * most + 1);
        to = SGFSI_DOUBLES(arena, numbers + 1);
        bool made = piece != NULL && to != NULL;
        if (made)
            memcpy(piece + comm->rank * most, out->number, (size_t)out->numbers * sizeof *piece);
        else status = sgfsi_fail_memory(err, "the marks");
        status = sgfsi_comm_gather(comm, status, size, bytes, bytes, piece, err);
    }
    out->number = to;
    out->numbers = numbers;
    out->count = count;
    for (int64_t k = 0; status == SGFS_OK && k < size; k++) {
        memcpy(to, piece + k * most, (size_t)all[k][0] * sizeof *to);
        to += all[k][0];
    }
    sgfsi_arena_free(&own);
    return status;
}

sgfs_status sgfsi_marks_make(sgfsi_marks *out, const sgfs_model *m, const sgfsi_anchor *a,
                             const sgfsi_marks_plan *plan, sgfsi_arena *arena, sgfs_err *err) {
    marking all = {.plan = plan,
                   .most = out->most,
                   .slots = out->chains * sgfsi_marks_moves(out),
                   .N = m->data->N};
    const sgfs_model *near = sgfsi_model_near(m, arena);
    if (near == NULL) return sgfsi_fail_memory(err, "the marks");
    out->radius = sgfsi_row_bounds_radius(m->D);
    out->p = m->data->p;
    out->growth = 0;
    out->count = out->numbers = 0;
    const sgfsi_crop none = {.number = NULL}; /* each process marks its own rows */
    sgfs_status status = sgfsi_row_bounds_scan(near, a, out->radius, plan->threads, mark_block,
                                               &all, &none, &out->growth, err);
    for (int64_t k = 0; k < SGFSI_FULL_PARTS; k++) {
        out->count += all.part[k].count;
        out->numbers += all.part[k].numbers;
    }
    if (status == SGFS_OK && (out->number = SGFSI_DOUBLES(arena, out->numbers + 1)) == NULL)
        status = sgfsi_fail_memory(err, "the marks");
    double *to = out->number;
    for (int64_t k = 0; k < SGFSI_FULL_PARTS; k++) { /* in order */
        const found *f = &all.part[k];
        if (status == SGFS_OK && f->numbers > 0)
            memcpy(to, f->number, (size_t)f->numbers * sizeof *to);
        to += status == SGFS_OK ? f->numbers : 0;
        free(f->number);
    }
    const sgfsi_comm *comm = near->ctx.comm;
    return comm->size > 1 ? gather_marks(comm, status, out, arena, err) : status;
}

/* ---- by slot --------------------------------------------------------------------------------- */

/* The slot of the mark at `at`, and where the next one begins; -1: it makes no sense. */
static int64_t read_mark(const sgfsi_marks *m, int64_t *at, int64_t *entries) {
    const double *mark = m->number + *at, slots = (double)(m->chains * sgfsi_marks_moves(m));
    int64_t left = m->numbers - *at;
    if (left < SGFSI_MARK_HEAD || !(fabs(mark[SGFSI_MARK_NUMBERS]) <= (double)left)) return -1;
    int64_t numbers = (int64_t)mark[SGFSI_MARK_NUMBERS];
    bool dense = numbers == m->p, fits = dense || (numbers <= 0 && numbers % 2 == 0);
    bool known = mark[SGFSI_MARK_SLOT] >= 0 && mark[SGFSI_MARK_SLOT] < slots &&
                 isfinite(mark[SGFSI_MARK_Y]) && mark[SGFSI_MARK_WEIGHT] >= 0;
    *at += SGFSI_MARK_HEAD + llabs(numbers);
    if (!fits || !known || *at > m->numbers) return -1;
    for (int64_t k = 0; !dense && k < -numbers; k += 2)
        if (!(mark[SGFSI_MARK_HEAD + k] >= 0 && mark[SGFSI_MARK_HEAD + k] < (double)m->p))
            return -1;
    if (!dense && -numbers / 2 >= *entries) *entries = -numbers / 2 + 1;
    return (int64_t)mark[SGFSI_MARK_SLOT];
}

static int by_slot(const void *a, const void *b) {
    const sgfsi_mark_at *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

sgfs_status sgfsi_marks_open(sgfsi_marks_index *index, const sgfsi_marks *marks, sgfsi_arena *arena,
                             sgfs_err *err) {
    int64_t at = 0, seen = 0;
    sgfsi_mark_at *list = sgfsi_arena_alloc(arena, marks->count + 1, sizeof *list);
    *index = (sgfsi_marks_index){.marks = marks, .at = list};
    if (list == NULL) return sgfsi_fail_memory(err, "the marks");
    for (; at < marks->numbers && seen < marks->count; seen++) {
        list[seen].place = at;
        list[seen].slot = read_mark(marks, &at, &index->entries);
        if (list[seen].slot < 0) break;
    }
    if (at != marks->numbers || seen != marks->count)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The marks of the sketch make no sense from %lld on.",
                          (long long)seen + 1);
    qsort(list, (size_t)seen, sizeof *list, by_slot);
    return SGFS_OK;
}

int64_t sgfsi_marks_of(const sgfsi_marks_index *index, int64_t slot, const sgfsi_mark_at **first) {
    int64_t low = 0, high = index->marks->count;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (index->at[mid].slot < slot) low = mid + 1;
        else high = mid;
    }
    while (high < index->marks->count && index->at[high].slot == slot) high++;
    *first = index->at + low;
    return high - low;
}
