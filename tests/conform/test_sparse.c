/* SPDX-License-Identifier: MIT
 * test_sparse.c: rows without their zeros give what the same rows with their zeros give:
 * statistics, predictors, scores, gradients, information, matrices, views, held-out losses and
 * chains, for every model that says it takes them, with and without intercept, weights and scaling.
 *
 * Each side adds the same numbers in another order: 1e-12 of the sum of their magnitudes is far
 * above the rounding of 2,000 terms and far below any mistake.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "chain/run.h"
#include "fisher/fisher.h"
#include "jobs/tune/heldout_loss.h"
#include "posterior/posterior.h"
#include "tools/places.h"
#include "tools/unit_prior.h"

enum { N = 1301, P = 23, EMPTY = 6, BATCH = 140 }; /* column 6 has no entry at all */

typedef struct setup {
    const sgfs_model_kind *kind;
    bool intercept, standardize, weights;
} setup;

/* The same rows twice: [0] sparse and taken as such, [1] with their zeros. */
typedef struct pair {
    setup is;
    char label[80];
    double x[N * P], y[N], w[N], t[N], value[N * P];
    int64_t start[N + 1];
    int32_t col[N * P];
    sgfs_model_kind filling; /* the kind, asking for dense rows */
    sgfs_config *cfg;
    sgfs_data *data[2];
    sgfs_model *m[2];
    int64_t D;
    double *theta; /* D */
} pair;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* Two cells in five; row 3 has none, column 2 is full, and one entry is a stored zero. */
static void make_rows(pair *q) {
    uint64_t s = 20120628;
    int64_t k = 0;
    for (int64_t i = 0; i < N; i++) {
        double eta = -0.2;
        q->start[i] = k;
        for (int64_t j = 0; j < P; j++) {
            bool there = (j == 2 || next_number(&s) < -0.2) && j != EMPTY && i != 3;
            if (!there) continue;
            double v = i == 10 && j == 2 ? 0 : (0.5 + 0.4 * (double)j) * next_normal(&s) + 0.3;
            q->x[i * P + j] = q->value[k] = v;
            q->col[k++] = (int32_t)j;
            eta += (0.6 - 0.2 * (double)j) * v;
        }
        q->y[i] = 0.5 * (next_number(&s) + 1) < 1 / (1 + exp(-eta)); /* a class, count, number */
        q->t[i] = 0.3 + (double)(next_bits(&s) % 5);
        q->w[i] = i % 5 == 1 ? 0 : 0.4 + 0.5 * (double)(next_bits(&s) % 4);
    }
    q->start[N] = k;
}

static sgfs_arrays sparse_arrays(const pair *q) {
    return (sgfs_arrays){.rows = N,
                         .cols = P,
                         .y = q->y,
                         .csr_start = q->start,
                         .csr_col = q->col,
                         .csr_value = q->value,
                         .weights = q->is.weights ? q->w : NULL,
                         .exposure = q->is.kind->exposure ? q->t : NULL};
}

static sgfs_data *wrap(const sgfs_arrays *a, const sgfs_config *cfg) {
    sgfs_err err;
    sgfs_data *d = sgfs_data_wrap(a, cfg, &err);
    if (d == NULL) fail_msg("%s", err.text);
    return d;
}

/* Scaled columns are not centred when sparse: there the other side is the same data, filled up with
 * zeros row by row for a kind that asks for dense rows. */
static void open_pair(pair *q, const setup *is) {
    memset(q, 0, sizeof *q);
    q->is = *is;
    snprintf(q->label, sizeof q->label, "%s%s%s%s", is->kind->name,
             is->intercept ? "" : " without intercept", is->standardize ? " scaled" : "",
             is->weights ? " weighted" : "");
    make_rows(q);
    q->cfg = unit_prior_config();
    set(q->cfg, "data.intercept", is->intercept ? "true" : "false");
    set(q->cfg, "data.standardize", is->standardize ? "true" : "false");
    set(q->cfg, "prior.precision", "0.371");
    sgfs_arrays sparse = sparse_arrays(q);
    sgfs_arrays dense = {
        .rows = N, .cols = P, .x = q->x, .y = q->y, .weights = is->weights ? q->w : NULL};
    dense.exposure = sparse.exposure;
    q->data[0] = wrap(&sparse, q->cfg);
    q->data[1] = wrap(is->standardize ? &sparse : &dense, q->cfg);
    q->filling = *is->kind;
    q->filling.sparse = false;
    for (int k = 0; k < 2; k++) {
        sgfs_err err;
        q->m[k] =
            sgfsi_model_create(k == 0 ? is->kind : &q->filling, q->data[k], q->cfg, NULL, &err);
        if (q->m[k] == NULL) fail_msg("%s: %s", q->label, err.text);
    }
    q->D = q->m[0]->D;
    q->theta = zeros(q->D);
    double *spread = zeros(q->D);
    uint64_t s = 7;
    is->kind->start(q->m[0], q->theta, spread);
    for (int64_t j = 0; j < q->D; j++) q->theta[j] += 0.4 * next_number(&s);
    free(spread);
}

static void close_pair(pair *q) {
    for (int k = 0; k < 2; k++) sgfs_model_free(q->m[k]);
    for (int k = 0; k < 2; k++) sgfs_data_free(q->data[k]);
    sgfs_config_free(q->cfg);
    free(q->theta);
}

static void for_each(void (*statement)(pair *q)) {
    pair *q = malloc(sizeof *q);
    int64_t models = 0;
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) {
        if (!(*k)->sparse) continue;
        models++;
        for (int i = 0; i < 8; i++) {
            const setup is = {*k, i & 1, i & 2, i & 4};
            open_pair(q, &is);
            statement(q);
            close_pair(q);
        }
    }
    assert_true(models >= 2); /* linear, logistic */
    free(q);
}

static void compare(const pair *q, int64_t n, const double *a, const double *b, double size,
                    const char *what) {
    char label[160];
    snprintf(label, sizeof label, "%s: %s", q->label, what);
    for (int64_t i = 0; i < n; i++) assert_near(a[i], b[i], 1e-12 * (size + fabs(b[i])), label);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void check_statistics(pair *q) {
    for (int64_t j = 0; j < P; j++) {
        const sgfsi_column *a = &q->data[0]->feature[j], *b = &q->data[1]->feature[j];
        const double left[] = {a->mean, a->sd, a->min, a->max},
                     right[] = {b->mean, b->sd, b->min, b->max};
        compare(q, 4, left, right, 1, "column statistics");
    }
    assert_true(q->data[0]->feature[EMPTY].sd == 0);
    assert_true(q->data[0]->feature[EMPTY].mean == 0);
}

static void test_columns_have_the_same_statistics(void **state) {
    (void)state;
    for_each(check_statistics);
}

/* Rows filled up; and of a view, which is measured by itself. */
static void check_rows(pair *q) {
    int64_t row[300], pick[4] = {17, 3, 17, 240};
    double x[2][4 * (P + 1)], y[2][4];
    for (int64_t i = 0; i < 300; i++) row[i] = (i * 4 + 3) % N;
    sgfs_data *view[2];
    for (int k = 0; k < 2; k++) {
        view[k] = sgfsi_data_view(q->data[k], row, 300, SGFSI_OWN_SCALE, NULL);
        assert_non_null(view[k]);
        sgfsi_data_rows_pick(view[k], pick, 4, x[k], y[k]);
    }
    compare(q, 4 * q->data[0]->p, x[0], x[1], 1, "rows of a view");
    compare(q, 4, y[0], y[1], 1, "targets of a view");
    for (int64_t j = 0; j < P; j++) {
        assert_near(view[0]->feature[j].sd, view[1]->feature[j].sd, 1e-12, "spread in a view");
    }
    if (!q->is.standardize) { /* against the arrays themselves */
        int64_t first = q->is.intercept ? 1 : 0;
        for (int64_t j = 0; j < P; j++) {
            assert_true(x[0][j + first] == q->x[row[pick[0]] * P + j]);
        }
    }
    for (int k = 0; k < 2; k++) sgfs_data_free(view[k]);
}

static void test_rows_are_filled_up_with_zeros(void **state) {
    (void)state;
    for_each(check_rows);
}

/* ---- gradients and matrices ------------------------------------------------------------------ */

static void add_up(const sgfs_fisher_kind *kind, const sgfs_model *m, const sgfsi_eval *e,
                   int64_t block, bool centred, double *out, sgfsi_arena *arena) {
    const sgfs_layout *layout = sgfsi_layout_open(m->D, block, 0, NULL, arena);
    sgfs_sym A;
    assert_int_equal(sgfsi_sym_open(&A, kind, m->ctx.device, layout, arena, NULL), SGFS_OK);
    double *work = SGFSI_DOUBLES(arena, kind->work(layout, BATCH));
    kind->add_cov(&A, 0.0, 1.0 / BATCH, &e->scores, centred ? e->gbar : NULL, work);
    memcpy(out, A.store, (size_t)kind->size(layout) * sizeof *out);
}

static void check_batch(pair *q) {
    sgfsi_arena arena = {NULL};
    sgfsi_eval e[2] = {{.n = 0}, {.n = 0}};
    double lp[2], *G = zeros(2 * q->D), *A = zeros(2 * q->D * q->D);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(sgfsi_eval_open(&e[k], q->m[k], &sgfs_scheme_with, BATCH, &arena, NULL),
                         SGFS_OK);
        sgfsi_eval_stream(&e[k], 385, 2);
        assert_int_equal(
            sgfsi_eval_gradient(&e[k], 3, SGFSI_ROWS, q->theta, G + k * q->D, &lp[k], NULL),
            SGFS_OK);
    }
    assert_true(e[0].scores.block[0].right_sparse != NULL && e[0].scores.block[0].right == NULL);
    assert_true(e[1].scores.block[0].right_sparse == NULL && e[1].scores.block[0].right != NULL);
    compare(q, BATCH * q->m[0]->block[0].rows, e[0].scores.block[0].left, e[1].scores.block[0].left,
            1, "scores");
    compare(q, q->D, e[0].gbar, e[1].gbar, 10, "mean score");
    compare(q, q->D, G, G + q->D, 10 * q->data[0]->total, "gradient");
    compare(q, 1, &lp[0], &lp[1], 10 * q->data[0]->total, "log density");
    for (int i = 0; i < 6; i++) {
        const sgfs_fisher_kind *kind = i / 2 == 0   ? &sgfs_fisher_diag
                                       : i / 2 == 1 ? &sgfs_fisher_full
                                                    : &sgfs_fisher_block;
        memset(A, 0, (size_t)(2 * q->D * q->D) * sizeof *A);
        for (int k = 0; k < 2; k++)
            add_up(kind, q->m[k], &e[k], 4, i % 2 == 0, A + k * q->D * q->D, &arena);
        compare(q, q->D * q->D, A, A + q->D * q->D, 10, kind->name);
    }
    assert_int_equal(sgfsi_eval_resample(&e[0], 3, SGFSI_ROWS, q->theta, NULL), SGFS_OK);
    assert_int_equal(sgfsi_eval_resample(&e[1], 3, SGFSI_ROWS, q->theta, NULL), SGFS_OK);
    compare(q, BATCH, e[0].model_y, e[1].model_y, 1, "targets drawn from the model");
    sgfsi_arena_free(&arena);
    free(G);
    free(A);
}

static void test_minibatches_give_the_same(void **state) {
    (void)state;
    for_each(check_batch);
}

static void check_full(pair *q) {
    double lp[2], *G = zeros(2 * q->D), *A = zeros(2 * q->D * q->D), size = 10 * N;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(sgfsi_posterior_full(q->m[k], q->theta, &lp[k], G + k * q->D,
                                              A + k * q->D * q->D, NULL),
                         SGFS_OK);
    }
    for (int k = 0; k < 2; k++) assert_places(q->m[k], q->theta, NULL, q->label);
    compare(q, 1, &lp[0], &lp[1], size, "log posterior");
    compare(q, q->D, G, G + q->D, size, "gradient");
    compare(q, q->D * q->D, A, A + q->D * q->D, size, "information");
    double largest = 0;
    for (int64_t j = 0; j < q->D; j++) largest = fmax(largest, A[j * q->D + j]);
    assert_true(largest > 10); /* there was something to compare */
    free(G);
    free(A);
}

static void test_full_passes_give_the_same(void **state) {
    (void)state;
    for_each(check_full);
}

/* Bounds and remainders of a minibatch, with the curvature's inverse replaced by any symmetric
 * matrix of that kind: B B'. */
static void check_bounds(pair *q) {
    if (q->is.kind->third == NULL) return;
    sgfsi_arena arena = {NULL};
    int64_t D = q->D;
    double *B = numbers(D * D, 5), *C = zeros(D * D), *to = numbers(D, 6), *out = zeros(4 * BATCH);
    double growth[2] = {0, 0};
    sgfsi_gemm_nt(q->m[0]->ctx.device, D, D, D, 0.01, B, B, 0.0, C);
    for (int64_t j = 0; j < D; j++) to[j] = q->theta[j] + 0.3 * to[j];
    for (int k = 0; k < 2; k++) {
        const sgfs_model_kind *kind = q->m[k]->kind;
        sgfsi_eval e = {.n = 0};
        assert_int_equal(sgfsi_eval_open(&e, q->m[k], &sgfs_scheme_with, BATCH, &arena, NULL),
                         SGFS_OK);
        sgfsi_eval_stream(&e, 385, 2);
        assert_int_equal(sgfsi_eval_gradient(&e, 3, SGFSI_ROWS, q->theta, B, NULL, NULL), SGFS_OK);
        const sgfs_batch *b = &e.batcher.rows.batch;
        double *room = malloc((size_t)(BATCH * q->m[k]->exact_scratch_per_row) * sizeof *room);
        assert_true(room != NULL && (b->sparse != NULL) == (k == 0));
        kind->third(q->m[k], q->theta, C, 1.3, b, out + k * BATCH, &growth[k], room);
        kind->remainder(q->m[k], q->theta, q->theta, to, b, out + (k + 2) * BATCH, room);
        free(room);
    }
    compare(q, BATCH, out, out + BATCH, 0, "bounds");
    compare(q, BATCH, out + 2 * BATCH, out + 3 * BATCH, 1, "remainders");
    compare(q, 1, &growth[0], &growth[1], 0, "growth of the bounds");
    assert_true(out[5] > 0 && out[2 * BATCH + 5] != 0);
    sgfsi_arena_free(&arena);
    free(B);
    free(C);
    free(to);
    free(out);
}

static void test_bounds_are_the_same(void **state) {
    (void)state;
    for_each(check_bounds);
}

/* A block of three rows, as of three classes: dense and sparse right factors, matrices whose blocks
 * end anywhere, and more rows than are squared at once. */
static void test_blocks_of_several_rows(void **state) {
    (void)state;
    enum { n = 1000, R = 3, C = 700, D = R * C, EACH = 7 };
    double *left = numbers(n * R, 1), *value = numbers(n * EACH, 2), *right = zeros(n * C);
    double *gbar = numbers(D, 3), *want = zeros(D);
    int64_t start[n + 1] = {0};
    int32_t col[n * EACH];
    uint64_t s = 9;
    for (int64_t k = 0; k < n * EACH; k++) {
        col[k] = (int32_t)(k % EACH * (C / EACH)) + (int32_t)(next_bits(&s) % (C / EACH));
        right[k / EACH * C + col[k]] = value[k];
        start[k / EACH + 1] = k / EACH * EACH + EACH;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < D; j++) {
            double g = left[i * R + j / C] * right[i * C + j % C];
            want[j] += g * g / n;
        }
    }
    const sgfs_csr csr = {.start = start, .col = col, .value = value};
    sgfs_score_block block[2] = {{.rows = R, .cols = C, .left = left, .right_sparse = &csr},
                                 {.rows = R, .cols = C, .left = left, .right = right}};
    sgfsi_arena arena = {NULL};
    sgfs_sym A[2];
    for (int i = 0; i < 2; i++) {
        const sgfs_fisher_kind *kind = i == 0 ? &sgfs_fisher_diag : &sgfs_fisher_block;
        const sgfs_layout *layout = sgfsi_layout_open(D, 130, 0, NULL, &arena);
        double *work = SGFSI_DOUBLES(&arena, kind->work(layout, n));
        for (int k = 0; k < 2; k++) {
            const sgfs_scores scores = {.n = n, .D = D, .blocks = 1, .block = &block[k]};
            sgfsi_sym_open(&A[k], kind, &sgfs_device_blas, layout, &arena, NULL);
            kind->add_cov(&A[k], 0.0, 1.0 / n, &scores, i == 0 ? NULL : gbar, work);
            for (int64_t j = 0; i == 0 && j < D; j++) {
                assert_near(A[k].store[j], want[j], 1e-13, "mean square");
            }
        }
        for (int64_t j = 0; j < kind->size(layout); j++) {
            assert_near(A[0].store[j], A[1].store[j], 1e-13, kind->name);
        }
    }
    sgfsi_arena_free(&arena);
    free(left);
    free(value);
    free(right);
    free(gbar);
    free(want);
}

/* ---- whole runs ------------------------------------------------------------------------------ */

static sgfs_run *run_of(const pair *q, const sgfs_model *m) {
    sgfs_err err;
    sgfs_run *run = sgfs_run_open(m, q->cfg, &err);
    if (run == NULL) fail_msg("%s: %s", q->label, err.text);
    if (sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s: %s", q->label, err.text);
    assert_int_equal(sgfs_run_close(run, NULL), SGFS_OK);
    return run;
}

/* Each step contracts, so rounding does not grow: 1e-8 for parameters of order 1. */
static void check_chain(pair *q) {
    static const char *const samplers[] = {"sgfs-f", "sgfs-d"};
    set(q->cfg, "run.chains", "1");
    set(q->cfg, "run.batch", "140");
    set(q->cfg, "run.warmup", "40");
    set(q->cfg, "run.draws", "60");
    for (int s = 0; s < 2; s++) {
        set(q->cfg, "sampler.kind", samplers[s]);
        sgfs_run *run[2] = {run_of(q, q->m[0]), run_of(q, q->m[1])};
        const sgfs_draws *a = run[0]->out.memory, *b = run[1]->out.memory;
        assert_int_equal(a->chain[0].draws, 60);
        for (int64_t i = 0; i < 60 * q->D; i++) {
            double want = b->chain[0].theta[i];
            assert_near(a->chain[0].theta[i], want, 1e-8 * (1 + fabs(want)), q->label);
        }
        sgfs_run_free(run[0]);
        sgfs_run_free(run[1]);
    }
}

static void test_chains_go_the_same_way(void **state) {
    (void)state;
    for_each(check_chain);
}

static void check_held_out(pair *q) {
    enum { HELD = 90 };
    int64_t row[HELD];
    double *theta = zeros(2 * q->D);
    for (int64_t i = 0; i < HELD; i++) row[i] = (i * 13 + 5) % N;
    for (int64_t j = 0; j < 2 * q->D; j++) theta[j] = q->theta[j % q->D] * (j < q->D ? 1 : 0.8);
    sgfsi_chain_draws chain = {.draws = 2, .theta = theta};
    const sgfs_draws draws = {.chains = 1, .D = q->D, .chain = &chain};
    sgfsi_heldout score[2];
    for (int k = 0; k < 2; k++) {
        sgfs_err err;
        if (sgfsi_heldout_score(q->m[k], &draws, row, HELD, 1, NULL, &score[k], &err) != SGFS_OK)
            fail_msg("%s: %s", q->label, err.text);
    }
    compare(q, 1, &score[0].loss, &score[1].loss, 1, "held-out loss");
    free(theta);
}

static void test_held_out_losses_are_the_same(void **state) {
    (void)state;
    for_each(check_held_out);
}

/* ---- many columns ---------------------------------------------------------------------------- */

static double megabytes(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss / 1024;
}

/* 200,000 columns of which a row has eight. A minibatch with its zeros would take 800 MB, one block
 * of a full pass 1.6 GB; what is of size D alone (batch means of the chain, sums of 64 parts,
 * names) takes 400 MB. */
static void test_many_columns_cost_their_entries(void **state) {
    (void)state;
    enum { ROWS = 4000, COLS = 200000, EACH = 8 };
    int64_t *start = calloc(ROWS + 1, sizeof *start);
    int32_t *col = calloc(ROWS * EACH, sizeof *col);
    double *value = numbers(ROWS * EACH, 5), *y = zeros(ROWS), lp, before = megabytes();
    uint64_t s = 11;
    assert_true(start != NULL && col != NULL);
    for (int64_t i = 0; i < ROWS; i++) {
        start[i + 1] = (i + 1) * EACH;
        for (int64_t k = 0; k < EACH; k++)
            col[i * EACH + k] =
                (int32_t)(k * (COLS / EACH) + (int64_t)(next_bits(&s) % (COLS / EACH)));
        y[i] = (double)(next_bits(&s) % 2);
    }
    const sgfs_arrays a = {
        .rows = ROWS, .cols = COLS, .y = y, .csr_start = start, .csr_col = col, .csr_value = value};
    sgfs_config *cfg = unit_prior_config();
    set(cfg, "sampler.kind", "sgfs-d");
    set(cfg, "run.chains", "1");
    set(cfg, "run.batch", "500");
    set(cfg, "run.warmup", "20");
    set(cfg, "run.draws", "20");
    set(cfg, "run.thin", "20");
    sgfs_data *d = wrap(&a, cfg);
    sgfs_model *m = sgfsi_model_create(&sgfs_model_logistic, d, cfg, NULL, NULL);
    sgfs_err err;
    sgfs_run *run = m != NULL ? sgfs_run_open(m, cfg, &err) : NULL;
    if (run == NULL) fail_msg("%s", err.text);
    if (sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, NULL), SGFS_OK);
    double *theta = zeros(m->D), *G = zeros(m->D);
    assert_int_equal(sgfsi_posterior_full(m, theta, &lp, G, NULL, &err), SGFS_OK);
    assert_near(lp, -ROWS * M_LN2, 1e-9, "log density at 0");
    print_message("%d columns: %.0f MB\n", (int)COLS, megabytes() - before);
#ifndef __SANITIZE_ADDRESS__
    assert_true(megabytes() - before < 600);
#endif
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
    free(theta);
    free(G);
    free(start);
    free(col);
    free(value);
    free(y);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_impossible_sparse_rows_are_refused(void **state) {
    (void)state;
    const double y[] = {0, 1, 1}, value[] = {1, 2, 3, 4}, bad_value[] = {1, INFINITY, 3, 4};
    const int64_t start[] = {0, 2, 2, 4}, late[] = {1, 2, 2, 4}, falls[] = {0, 3, 2, 4};
    const int32_t col[] = {0, 1, 0, 1}, beyond[] = {0, 2, 0, 1}, below[] = {-1, 1, 0, 1},
                  twice[] = {0, 1, 1, 1}, back[] = {1, 0, 0, 1};
    const struct {
        const int64_t *start;
        const int32_t *col;
        const double *value, *x;
        sgfs_status code;
        const char *text;
    } cases[] = {
        {late, col, value, NULL, SGFS_EDATA, "begin with 0"},
        {falls, col, value, NULL, SGFS_EDATA, "falls after row 2"},
        {start, beyond, value, NULL, SGFS_EDATA, "row 1, csr_col[1] is 2"},
        {start, below, value, NULL, SGFS_EDATA, "row 1, csr_col[0] is -1"},
        {start, twice, value, NULL, SGFS_EDATA, "row 3, csr_col[3] is 1"},
        {start, back, value, NULL, SGFS_EDATA, "increase within a row"},
        {start, col, bad_value, NULL, SGFS_EDATA, "csr_value[1] is not a finite"},
        {start, NULL, value, NULL, SGFS_EUSAGE, "csr_col and csr_value"},
        {start, col, value, value, SGFS_EUSAGE, "exactly one of x, x32, csr_start and device_x"}};
    sgfs_config *cfg = unit_prior_config();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfs_err err = {SGFS_OK, ""};
        const sgfs_arrays a = {.rows = 3,
                               .cols = 2,
                               .x = cases[i].x,
                               .y = y,
                               .csr_start = cases[i].start,
                               .csr_col = cases[i].col,
                               .csr_value = cases[i].value};
        assert_null(sgfs_data_wrap(&a, cfg, &err));
        assert_int_equal(err.code, cases[i].code);
        if (strstr(err.text, cases[i].text) == NULL) fail_msg("%s", err.text);
    }
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_columns_cost_their_entries), /* first: it looks at memory */
        cmocka_unit_test(test_columns_have_the_same_statistics),
        cmocka_unit_test(test_rows_are_filled_up_with_zeros),
        cmocka_unit_test(test_minibatches_give_the_same),
        cmocka_unit_test(test_full_passes_give_the_same),
        cmocka_unit_test(test_bounds_are_the_same),
        cmocka_unit_test(test_blocks_of_several_rows),
        cmocka_unit_test(test_chains_go_the_same_way),
        cmocka_unit_test(test_held_out_losses_are_the_same),
        cmocka_unit_test(test_impossible_sparse_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
