/* SPDX-License-Identifier: MIT
 * test_comm.c: passes that several processes share have the bits of a process alone, whichever part
 * fails; decisions by the clock are those of process 0; chains that make passes take turns.
 *
 * The processes are threads here, with a communicator that copies from one to another between
 * barriers.
 */
#include <pthread.h>

#include "context/clock.h"
#include "model/model.h"
#include "posterior/posterior.h"
#include "tools/check.h"

enum { N = 9000, P = 3, MOST = 7 };

/* ---- processes that are threads -------------------------------------------------------------- */

typedef struct meeting {
    pthread_barrier_t barrier;
    char *data[MOST];
} meeting;

static sgfs_status gather(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err) {
    meeting *m = c->state;
    (void)err;
    m->data[c->rank] = data;
    pthread_barrier_wait(&m->barrier);
    for (int64_t rank = 0; rank < c->size; rank++) {
        sgfsi_comm other = *c;
        other.rank = rank;
        sgfsi_share theirs = sgfsi_comm_share(&other, parts);
        for (int64_t k = theirs.first; rank != c->rank && k < theirs.end; k++)
            memcpy((char *)data + k * stride, m->data[rank] + k * stride, (size_t)bytes);
    }
    pthread_barrier_wait(&m->barrier);
    return SGFS_OK;
}

static sgfs_status broadcast(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err) {
    meeting *m = c->state;
    (void)err;
    m->data[c->rank] = data;
    pthread_barrier_wait(&m->barrier);
    if (c->rank > 0) memcpy(data, m->data[0], (size_t)bytes);
    pthread_barrier_wait(&m->barrier);
    return SGFS_OK;
}

static const sgfsi_comm_ops ops = {.gather = gather, .broadcast = broadcast};

typedef struct process {
    sgfsi_comm comm;
    const sgfs_model *m;
    const double *theta;
    double lp, G[P + 1], A[(P + 1) * (P + 1)], took, now;
    sgfs_status status;
    sgfs_err err;
    int64_t stretch;
    bool over;
} process;

static void *work(void *user) {
    process *p = user;
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    sgfs_model m = *p->m;
    m.ctx.comm = &p->comm;
    assert_int_equal(sgfsi_full_open(&f, &m, 2, true, &arena, NULL), SGFS_OK);
    p->status = sgfsi_full_eval(&f, p->theta, &p->lp, p->G, p->A, &p->err);
    p->stretch = sgfsi_clock_stretch(&p->comm, 100, p->took, INFINITY);
    p->over = sgfsi_clock_is_over(&p->comm, p->now, 7.5);
    sgfsi_arena_free(&arena);
    return NULL;
}

static void together(int64_t size, const sgfs_model *m, const double *theta, process *p) {
    pthread_t thread[MOST];
    meeting room;
    pthread_barrier_init(&room.barrier, NULL, (unsigned)size);
    for (int64_t k = 0; k < size; k++) {
        p[k] =
            (process){.m = m, .theta = theta, .took = k == 0 ? 0.16 : 0.01, .now = 7.5 - (double)k};
        p[k].comm = (sgfsi_comm){"test", "", &ops, k, size, &room};
        assert_int_equal(pthread_create(&thread[k], NULL, work, &p[k]), 0);
    }
    for (int64_t k = 0; k < size; k++) pthread_join(thread[k], NULL);
    pthread_barrier_destroy(&room.barrier);
}

/* ---- a model --------------------------------------------------------------------------------- */

typedef struct bench {
    double *x, *y;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

static bench open_bench(const char *kind) {
    bench b = {.x = numbers(N * P, 31), .y = numbers(N, 57), .cfg = sgfs_config_new()};
    for (int64_t i = 0; i < N; i++) b.y[i] = b.y[i] + b.x[i * P] > 0.1 ? 1 : 0;
    const sgfs_arrays a = {.rows = N, .cols = P, .x = b.x, .y = b.y};
    b.data = sgfs_data_wrap(&a, b.cfg, NULL);
    b.m = sgfs_model_open(kind, b.data, b.cfg, NULL);
    assert_non_null(b.m);
    return b;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x);
    free(b->y);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void a_shared_pass_has_the_bits_of_one_alone(void **state) {
    const double theta[P + 1] = {0.281, -0.473, 0.119, 0.657};
    double lp, G[P + 1], A[(P + 1) * (P + 1)];
    process p[MOST];
    bench b = open_bench("logistic");
    (void)state;
    assert_int_equal(b.m->D, P + 1);
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, G, A, NULL), SGFS_OK);
    for (int64_t size = 1; size <= MOST; size++) {
        together(size, b.m, theta, p);
        for (int64_t k = 0; k < size; k++) {
            assert_int_equal(p[k].status, SGFS_OK);
            assert_true(p[k].lp == lp);
            assert_memory_equal(p[k].G, G, sizeof G);
            for (int64_t i = 0; i <= P; i++) {
                for (int64_t j = 0; j <= i; j++)
                    assert_true(p[k].A[i * (P + 1) + j] == A[i * (P + 1) + j]);
            }
        }
    }
    close_bench(&b);
}

/* A target that is no count, in rows of the last process. */
static void all_say_what_one_found(void **state) {
    const double theta[P + 1] = {0.281, -0.473, 0.119, 0.657};
    process p[3];
    bench b = open_bench("poisson");
    (void)state;
    b.y[N - 5] = -2;
    together(3, b.m, theta, p);
    for (int k = 0; k < 3; k++) {
        assert_int_not_equal(p[k].status, SGFS_OK);
        assert_string_equal(p[k].err.text, p[0].err.text);
    }
    close_bench(&b);
}

static void the_clock_of_process_0_decides(void **state) {
    const double theta[P + 1] = {0.281, -0.473, 0.119, 0.657};
    process p[4];
    bench b = open_bench("logistic");
    (void)state;
    together(4, b.m, theta, p);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(p[k].stretch, 62); /* 100 x 0.1 s / 0.16 s */
        assert_true(p[k].over);
    }
    close_bench(&b);
}

static void stretches_grow_and_shrink_by_two_at_most(void **state) {
    const sgfsi_comm *self = &sgfs_comm_self;
    (void)state;
    assert_int_equal(sgfsi_clock_stretch(self, 100, 0, INFINITY), 200);
    assert_int_equal(sgfsi_clock_stretch(self, 100, 0.001, INFINITY), 200);
    assert_int_equal(sgfsi_clock_stretch(self, 100, 0.125, INFINITY), 80);
    assert_int_equal(sgfsi_clock_stretch(self, 100, 60, INFINITY), 50);
    assert_int_equal(sgfsi_clock_stretch(self, 1, 60, INFINITY), 1);
    assert_int_equal(sgfsi_clock_stretch(self, 100, 0.001, 130.5), 130);
    assert_int_equal(sgfsi_clock_stretch(self, 100, 0.001, 0.3), 1);
    assert_false(sgfsi_clock_is_over(self, 1e300, NAN));
    assert_false(sgfsi_clock_is_over(self, 2.4, 2.5));
    assert_true(sgfsi_clock_is_over(self, 2.5, 2.5));
}

static void chains_with_passes_take_turns_where_processes_share_them(void **state) {
    sgfsi_comm two = {.name = "test", .ops = &ops, .rank = 1, .size = 2};
    sgfsi_context alone = {.comm = &sgfs_comm_self}, shared = {.comm = &two};
    (void)state;
    const struct {
        const sgfsi_context *ctx;
        int64_t threads, chains;
        bool passes;
        int64_t side, inside;
    } row[] = {{&alone, 8, 4, true, 4, 2},   {&alone, 8, 4, false, 4, 1},
               {&alone, 3, 4, true, 3, 1},   {&shared, 8, 4, true, 1, 8},
               {&shared, 8, 4, false, 4, 1}, {&shared, 1, 4, true, 1, 1}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        sgfsi_split s =
            sgfsi_context_split(row[i].ctx, row[i].threads, row[i].chains, row[i].passes);
        assert_int_equal(s.chains, row[i].side);
        assert_int_equal(s.inside, row[i].inside);
    }
}

static void the_last_communicator_is_always_there(void **state) {
    int64_t rows = 0;
    (void)state;
    while (sgfsi_comms[rows] != NULL) rows++;
    assert_true(rows > 0 && sgfsi_comms[rows - 1]->ops->is_used == NULL);
    const sgfsi_comm *found = NULL;
    assert_int_equal(sgfsi_comm_open(&found, NULL), SGFS_OK);
    assert_ptr_equal(found, &sgfs_comm_self);
    sgfsi_comm_close(found);
    for (int64_t k = 0; k < rows; k++) {
        const sgfsi_comm *c = sgfsi_comms[k];
        assert_true(c->name[0] != '\0' && c->help[0] != '\0');
        assert_true(c->rank >= 0 && c->rank < c->size);
        int64_t end = 0;
        for (int64_t rank = 0; rank < 5; rank++) {
            sgfsi_comm one = {.rank = rank, .size = 5};
            sgfsi_share s = sgfsi_comm_share(&one, 64);
            assert_int_equal(s.first, end);
            end = s.end;
        }
        assert_int_equal(end, 64);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_pass_has_the_bits_of_one_alone),
        cmocka_unit_test(all_say_what_one_found),
        cmocka_unit_test(the_clock_of_process_0_decides),
        cmocka_unit_test(stretches_grow_and_shrink_by_two_at_most),
        cmocka_unit_test(chains_with_passes_take_turns_where_processes_share_them),
        cmocka_unit_test(the_last_communicator_is_always_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
