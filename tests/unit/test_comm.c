/* SPDX-License-Identifier: MIT
 * test_comm.c: passes that several processes share have the bits of a process alone, whichever part
 * fails; decisions by the clock are those of process 0; chains that make passes take turns; all
 * processes of a run end together, and one of them writes its file.
 *
 * The processes are threads here (tools/processes.h).
 */
#include <stdio.h>

#include "chain/run.h"
#include "context/clock.h"
#include "model/model.h"
#include "posterior/posterior.h"
#include "rows/shares.h"
#include "tools/check.h"
#include "tools/processes.h"
#include "tools/unit_prior.h"

enum { N = 9000, P = 3, MOST = MOST_PROCESSES };

/* ---- processes ------------------------------------------------------------------------------- */

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
    p->stretch = 100;
    assert_int_equal(sgfsi_clock_stretch(&p->comm, &p->stretch, p->took, INFINITY, NULL), SGFS_OK);
    assert_int_equal(sgfsi_clock_is_over(&p->comm, p->now, 7.5, &p->over, NULL), SGFS_OK);
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
        p[k].comm = comm_at(k, size, &room);
        assert_int_equal(pthread_create(&thread[k], NULL, work, &p[k]), 0);
    }
    for (int64_t k = 0; k < size; k++) pthread_join(thread[k], NULL);
    for (int64_t k = 0; k < size; k++) sgfsi_comm_free_room(&p[k].comm);
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
    bench b = {.x = numbers(N * P, 31), .y = numbers(N, 57), .cfg = unit_prior_config()};
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
    const struct {
        int64_t stretch;
        double took, most;
        int64_t next;
    } row[] = {{100, 0, INFINITY, 200}, {100, 0.001, INFINITY, 200}, {100, 0.125, INFINITY, 80},
               {100, 60, INFINITY, 50}, {1, 60, INFINITY, 1},        {100, 0.001, 130.5, 130},
               {100, 0.001, 0.3, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        int64_t stretch = row[i].stretch;
        sgfs_status status =
            sgfsi_clock_stretch(&sgfs_comm_self, &stretch, row[i].took, row[i].most, NULL);
        assert_int_equal(status, SGFS_OK);
        assert_int_equal(stretch, row[i].next);
    }
    const struct {
        double now, limit;
        bool over;
    } look[] = {{1e300, NAN, false}, {2.4, 2.5, false}, {2.5, 2.5, true}};
    for (size_t i = 0; i < sizeof look / sizeof look[0]; i++) {
        bool over = !look[i].over;
        assert_int_equal(
            sgfsi_clock_is_over(&sgfs_comm_self, look[i].now, look[i].limit, &over, NULL), SGFS_OK);
        assert_true(over == look[i].over);
    }
}

/* The header of a meeting arrives, what follows does not. */
static sgfs_status agree_with(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                              void *data, sgfs_err *err) {
    (void)parts, (void)err;
    char *all = data;
    memcpy(all + (1 - c->rank) * stride, all + c->rank * stride, (size_t)bytes);
    return SGFS_OK;
}

static sgfs_status fail_to_tell(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err) {
    (void)c, (void)bytes, (void)data;
    return sgfsi_fail(err, SGFS_EIO, "Process 0 is gone.");
}

static void who_cannot_be_told_what_was_decided_fails(void **state) {
    const sgfsi_comm_ops broken = {.gather = agree_with, .broadcast = fail_to_tell};
    sgfsi_comm lost = comm_at(1, 2, NULL);
    int64_t stretch = 10;
    bool over;
    sgfs_err err;
    (void)state;
    lost.ops = &broken;
    assert_int_equal(sgfsi_clock_stretch(&lost, &stretch, 0.1, INFINITY, &err), SGFS_EIO);
    assert_string_equal(err.text, "Process 0 is gone.");
    assert_int_equal(sgfsi_clock_is_over(&lost, 1, 2, &over, &err), SGFS_EIO);
    sgfsi_comm_free_room(&lost);
}

/* ---- meetings -------------------------------------------------------------------------------- */

enum { GUESTS = 3 };

typedef struct guest {
    sgfsi_comm comm;
    char doing; /* g: gathers, b: broadcasts, a: agrees, f: failed elsewhere, s: is stopped */
    sgfs_status gathering; /* how it goes for who gathers */
    sgfs_status first, second;
    sgfs_err err;
    double piece[2 * GUESTS];
} guest;

static void *visit(void *user) {
    guest *g = user;
    double *x = g->piece;
    for (int64_t k = 0; k < GUESTS; k++) x[2 * k] = k == g->comm.rank ? (double)(k + 1) : 0;
    if (g->doing == 'g' && g->gathering != SGFS_OK) sgfsi_fail(&g->err, g->gathering, "My rows.");
    if (g->doing == 'f') sgfsi_fail(&g->err, SGFS_EDATA, "My file.");
    if (g->doing == 's') sgfsi_fail(&g->err, SGFS_ESTOPPED, "Stopped.");
    if (g->doing == 'g')
        g->first =
            sgfsi_comm_gather(&g->comm, g->gathering, GUESTS, sizeof *x, 2 * sizeof *x, x, &g->err);
    else if (g->doing == 'b')
        g->first = sgfsi_comm_broadcast(&g->comm, SGFS_OK, sizeof *x, x, &g->err);
    else if (g->doing == 'f') g->first = sgfsi_comm_part(&g->comm, g->err.code, &g->err);
    else g->first = sgfsi_comm_agree(&g->comm, g->err.code, &g->err);
    g->second = sgfsi_comm_agree(&g->comm, SGFS_OK, NULL);
    return NULL;
}

static void meet_for(const char *doing, sgfs_status gathering, guest *g) {
    pthread_t thread[GUESTS];
    meeting room;
    pthread_barrier_init(&room.barrier, NULL, GUESTS);
    for (int64_t k = 0; k < GUESTS; k++) {
        g[k] = (guest){.comm = comm_at(k, GUESTS, &room), .doing = doing[k]};
        g[k].gathering = k == 1 ? gathering : SGFS_OK;
        assert_int_equal(pthread_create(&thread[k], NULL, visit, &g[k]), 0);
    }
    for (int64_t k = 0; k < GUESTS; k++) pthread_join(thread[k], NULL);
    pthread_barrier_destroy(&room.barrier);
}

static void leave(guest *g) {
    for (int64_t k = 0; k < GUESTS; k++) sgfsi_comm_free_room(&g[k].comm);
}

static void pieces_are_counted_where_they_are_sent(void **state) {
    guest g[GUESTS];
    (void)state;
    meet_for("ggg", SGFS_OK, g);
    for (int64_t k = 0; k < GUESTS; k++) {
        assert_int_equal(g[k].first, SGFS_OK);
        for (int64_t i = 0; i < GUESTS; i++) assert_true(g[k].piece[2 * i] == (double)(i + 1));
        sgfsi_traffic sent = sgfsi_comm_traffic(&g[k].comm);
        assert_int_equal(sent.meetings, 2);        /* and the second one, to agree */
        assert_int_equal(sent.bytes, 24 + 8 + 24); /* a double, and why it came */
    }
    leave(g);
    meet_for("bbb", SGFS_OK, g);
    for (int64_t k = 0; k < GUESTS; k++) {
        assert_true(g[k].piece[0] == 1);
        assert_int_equal(sgfsi_comm_traffic(&g[k].comm).bytes, k == 0 ? 56 : 48);
    }
    leave(g);
}

/* An iteration may be tried again: they failed together, and meet again. */
static void who_cannot_fill_a_piece_says_so_in_place_of_it(void **state) {
    guest g[GUESTS];
    (void)state;
    for (int what = 0; what < 2; what++) {
        meet_for("ggg", what == 0 ? SGFS_ENUMERIC : SGFS_EIO, g);
        for (int64_t k = 0; k < GUESTS; k++) {
            assert_int_equal(g[k].first, what == 0 ? SGFS_ENUMERIC : SGFS_EIO);
            /* the file may be missing on that machine alone; numbers are the same on all */
            assert_string_equal(g[k].err.text, what == 0 ? "My rows." : "On rank 1 of 3: My rows.");
            assert_int_equal(g[k].second, SGFS_OK);
        }
        leave(g);
    }
}

static void who_fails_alone_says_so_wherever_the_others_are(void **state) {
    const char *const rooms[] = {"gfg", "bfb", "afa"};
    guest g[GUESTS];
    (void)state;
    for (int i = 0; i < 3; i++) {
        meet_for(rooms[i], SGFS_OK, g);
        for (int64_t k = 0; k < GUESTS; k++) {
            assert_int_equal(g[k].first, SGFS_EDATA);
            assert_string_equal(g[k].err.text, "On rank 1 of 3: My file.");
            assert_int_equal(g[k].second, SGFS_EDATA); /* it is gone: nobody waits for it */
        }
        leave(g);
    }
    meet_for("ggs", SGFS_OK, g); /* a stop is no rank's own */
    for (int64_t k = 0; k < GUESTS; k++) {
        assert_int_equal(g[k].first, SGFS_ESTOPPED);
        assert_string_equal(g[k].err.text, "Stopped.");
    }
    leave(g);
}

static void who_went_different_ways_does_not_wait(void **state) {
    guest g[GUESTS];
    (void)state;
    meet_for("gab", SGFS_OK, g);
    for (int64_t k = 0; k < GUESTS; k++) {
        assert_int_equal(g[k].first, SGFS_ENOMEM);
        assert_non_null(strstr(g[k].err.text, "different ways"));
        assert_int_equal(g[k].second, SGFS_ENOMEM);
    }
    leave(g);
}

/* ---- runs ------------------------------------------------------------------------------------ */

enum { TOGETHER = 3 };
static const char path[] = "test_comm.run";

typedef struct runner {
    sgfsi_comm comm;
    const bench *b;
    const char *path;
    bool stops;
    sgfs_run *run;
    sgfs_status status;
    sgfs_err err;
    int64_t t, kept;
    double theta[P + 1];
} runner;

static void stop_after_a_while(const sgfs_progress *p, void *user) {
    runner *r = user;
    if (r->stops && p->done > 40) sgfsi_stop_ask(&r->run->stop);
}

static void *sample(void *user) {
    runner *r = user;
    sgfs_model m = *r->b->m;
    m.ctx.comm = &r->comm;
    r->run = sgfs_run_open(&m, r->b->cfg, &r->err);
    assert_non_null(r->run);
    assert_int_equal(sgfsi_config_part(r->run->cfg, stop_after_a_while, r, &r->err), SGFS_OK);
    r->status = sgfs_run_attach(r->run, r->path, &r->err);
    if (r->status == SGFS_OK) r->status = sgfs_run_all(r->run, &r->err);
    r->t = r->run->chain[0].t;
    memcpy(r->theta, sgfs_run_theta(r->run, 1), sizeof r->theta);
    (void)sgfs_run_close(r->run, NULL);
    r->kept = sgfs_draws_size(r->run->out.memory).draws;
    sgfs_run_free(r->run);
    return NULL;
}

static void sample_together(const bench *b, const char *to, int64_t stopper, runner *r) {
    pthread_t thread[TOGETHER];
    meeting room;
    pthread_barrier_init(&room.barrier, NULL, TOGETHER);
    for (int64_t k = 0; k < TOGETHER; k++) {
        r[k] = (runner){.b = b, .path = to, .stops = k == stopper};
        r[k].comm = comm_at(k, TOGETHER, &room);
        assert_int_equal(pthread_create(&thread[k], NULL, sample, &r[k]), 0);
    }
    for (int64_t k = 0; k < TOGETHER; k++) pthread_join(thread[k], NULL);
    for (int64_t k = 0; k < TOGETHER; k++) sgfsi_comm_free_room(&r[k].comm);
    pthread_barrier_destroy(&room.barrier);
}

static bench open_sampling(const char *draws) {
    bench b = open_bench("logistic");
    assert_int_equal(sgfs_config_set(b.cfg, "sampler.kind", "hmc", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(b.cfg, "run.chains", "2", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(b.cfg, "run.threads", "1", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(b.cfg, "run.warmup", "20", NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(b.cfg, "run.draws", draws, NULL), SGFS_OK);
    return b;
}

static void one_process_writes_and_all_have_the_same_chains(void **state) {
    runner r[TOGETHER];
    bench b = open_sampling("30");
    sgfs_err err;
    (void)state;
    remove(path);
    sample_together(&b, path, -1, r);
    for (int k = 0; k < TOGETHER; k++) {
        assert_int_equal(r[k].status, SGFS_OK);
        assert_memory_equal(r[k].theta, r[0].theta, sizeof r[0].theta);
        assert_int_equal(r[k].kept, k == 0 ? 0 : 30); /* process 0 has them in its file */
    }
    sgfs_draws *d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    assert_int_equal(sgfs_draws_size(d).draws, 30);
    assert_string_equal(d->state, "complete");
    sgfs_draws_free(d);
    remove(path);
    close_bench(&b);
}

/* A signal may reach one process only. Chains that make passes could not go on alone. */
static void who_is_stopped_stops_all_at_the_same_iteration(void **state) {
    runner r[TOGETHER];
    bench b = open_sampling("10000000");
    (void)state;
    for (int64_t who = 0; who < TOGETHER; who += 2) {
        remove(path);
        sample_together(&b, path, who, r);
        for (int k = 0; k < TOGETHER; k++) {
            assert_int_equal(r[k].status, SGFS_ESTOPPED);
            assert_string_equal(r[k].err.text, r[0].err.text);
            assert_int_equal(r[k].t, r[0].t);
            assert_true(r[k].t > 20 && r[k].t < 10000000);
        }
    }
    remove(path);
    close_bench(&b);
}

static void all_hear_that_the_file_cannot_be_written(void **state) {
    runner r[TOGETHER];
    bench b = open_sampling("30");
    (void)state;
    sample_together(&b, "no/such/folder/a.run", -1, r);
    for (int k = 0; k < TOGETHER; k++) {
        assert_int_equal(r[k].status, SGFS_EIO);
        assert_int_equal(r[k].t, 0);
        assert_string_equal(r[k].err.text, r[0].err.text);
    }
    close_bench(&b);
}

/* What the other one of two says is in `state`: a code, then a sentence. */
static sgfs_status hear(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                        void *data, sgfs_err *err) {
    const sgfs_err *other = c->state;
    const int64_t note[3] = {0, other->code, 0};
    (void)parts, (void)err;
    if (bytes == sizeof note) memcpy((char *)data + stride, note, sizeof note);
    else memcpy((char *)data + stride, other, (size_t)bytes);
    return SGFS_OK;
}

static void a_failure_counts_before_a_stop(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfsi_comm_agree(&sgfs_comm_self, SGFS_OK, NULL), SGFS_OK);
    assert_int_equal(sgfsi_comm_agree(&sgfs_comm_self, SGFS_EDATA, &err), SGFS_EDATA);
    const struct {
        sgfs_status mine, theirs, all;
    } row[] = {{SGFS_OK, SGFS_OK, SGFS_OK},
               {SGFS_ESTOPPED, SGFS_OK, SGFS_ESTOPPED},
               {SGFS_OK, SGFS_ESTOPPED, SGFS_ESTOPPED},
               {SGFS_ESTOPPED, SGFS_EDATA, SGFS_EDATA},
               {SGFS_EIO, SGFS_ESTOPPED, SGFS_EIO},
               {SGFS_EIO, SGFS_EDATA, SGFS_EIO}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        sgfs_err other = {row[i].theirs, "theirs"};
        sgfsi_comm two = comm_at(0, 2, &other);
        two.ops = &(sgfsi_comm_ops){.gather = hear};
        if (row[i].mine != SGFS_OK) sgfsi_fail(&err, row[i].mine, "mine");
        assert_int_equal(sgfsi_comm_agree(&two, row[i].mine, &err), row[i].all);
        if (row[i].all != SGFS_OK)
            assert_string_equal(err.text, row[i].all == row[i].mine ? "mine" : "theirs");
        sgfsi_comm_free_room(&two);
    }
}

static void chains_with_passes_take_turns_where_processes_share_them(void **state) {
    sgfsi_comm two = {.name = "test", .ops = &ops, .rank = 1, .size = 2};
    sgfsi_context alone = {.comm = &sgfs_comm_self}, shared = {.comm = &two};
    (void)state;
    const struct {
        const sgfsi_context *ctx;
        int64_t threads, chains;
        bool passes, meets;
        int64_t side, inside;
    } row[] = {{&alone, 8, 4, true, true, 4, 2},    {&alone, 8, 4, false, true, 4, 1},
               {&alone, 3, 4, true, true, 3, 1},    {&shared, 8, 4, true, true, 1, 8},
               {&shared, 8, 4, false, false, 4, 1}, {&shared, 1, 4, true, true, 1, 1},
               {&shared, 8, 4, true, false, 4, 2},  {&shared, 8, 4, false, true, 1, 8}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        sgfsi_split s = sgfsi_context_split(row[i].ctx, row[i].threads, row[i].chains,
                                            row[i].passes, row[i].meets);
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
    sgfs_config *cfg = sgfs_config_new();
    assert_int_equal(sgfsi_comm_open(&found, cfg, NULL), SGFS_OK);
    assert_ptr_equal(found, &sgfs_comm_self);
    assert_null(sgfsi_comm_of(cfg)); /* nothing to keep */
    sgfs_config_free(cfg);
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

/* More processes can share a pass over many rows: parts double with the rows from 64 to 1,024, have
 * a million rows each then, and every row has one owner. */
static void parts_grow_with_the_rows(void **state) {
    static const struct {
        int64_t rows, parts;
    } cases[] = {{1, 1},
                 {1025, 2},
                 {70000, 64},
                 {(1 << 27) - 1024, 64},
                 {1 << 27, 128},
                 {(1 << 27) + 1, 128},
                 {1000000000, 512},
                 {1000000000000, 1024}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const int64_t rows = cases[k].rows, parts = sgfsi_parts_of(rows), size = 7;
        assert_int_equal(parts, cases[k].parts);
        assert_int_equal(sgfsi_part_first(rows, parts, 0), 0);
        assert_int_equal(sgfsi_part_first(rows, parts, parts), rows);
        for (int64_t part = 0; part < parts; part++) {
            int64_t first = sgfsi_part_first(rows, parts, part),
                    end = sgfsi_part_first(rows, parts, part + 1), owner = 0;
            assert_true(first < end && (parts <= 64 || end - first >= 1 << 20 || end == rows));
            while (sgfsi_comm_share(&(sgfsi_comm){.rank = owner, .size = size}, parts).end <= part)
                owner++;
            assert_int_equal(sgfsi_owner_of(rows, size, first), owner);
            assert_int_equal(sgfsi_owner_of(rows, size, end - 1), owner);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_pass_has_the_bits_of_one_alone),
        cmocka_unit_test(all_say_what_one_found),
        cmocka_unit_test(the_clock_of_process_0_decides),
        cmocka_unit_test(who_cannot_be_told_what_was_decided_fails),
        cmocka_unit_test(a_failure_counts_before_a_stop),
        cmocka_unit_test(pieces_are_counted_where_they_are_sent),
        cmocka_unit_test(who_cannot_fill_a_piece_says_so_in_place_of_it),
        cmocka_unit_test(who_fails_alone_says_so_wherever_the_others_are),
        cmocka_unit_test(who_went_different_ways_does_not_wait),
        cmocka_unit_test(one_process_writes_and_all_have_the_same_chains),
        cmocka_unit_test(who_is_stopped_stops_all_at_the_same_iteration),
        cmocka_unit_test(all_hear_that_the_file_cannot_be_written),
        cmocka_unit_test(stretches_grow_and_shrink_by_two_at_most),
        cmocka_unit_test(chains_with_passes_take_turns_where_processes_share_them),
        cmocka_unit_test(the_last_communicator_is_always_there),
        cmocka_unit_test(parts_grow_with_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
