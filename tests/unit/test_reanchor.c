/* SPDX-License-Identifier: MIT
 * test_reanchor.c: control variates without one mode: what an anchor's pass says of the curvature, in
 * every structure; chains of small networks that anchor again and again; and the law of the draws
 * where it is known.
 */
#include "chain/run.h"
#include "sampler/reanchor.h"
#include "tools/check.h"

enum { P = 3 };

typedef struct bench {
    int64_t N;
    double *x, *y, *weight;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* Three labels that circle around the origin, or numbers. */
static bench rows_of(const sgfs_model_kind *kind, int64_t N, bool weighted) {
    bench b = {.N = N, .x = zeros(N * P), .y = zeros(N), .weight = zeros(N)};
    bool numbers_wanted = strcmp(kind->name, "linear") == 0;
    uint64_t seed = 385;
    sgfs_err err;
    b.cfg = sgfs_config_new();
    for (int64_t i = 0; i < N; i++) {
        double *x = b.x + i * P;
        for (int j = 0; j < P; j++) x[j] = next_normal(&seed);
        x[1] = 0.6 * x[0] + 0.8 * x[1];
        double noise = next_normal(&seed), turn = atan2(x[1], x[0]) + 0.3 * noise;
        b.y[i] = numbers_wanted ? 0.7 * x[0] - 0.4 * x[2] + 0.9 * noise
                 : turn < -1    ? 0
                 : turn < 1     ? 1
                                : 2;
        b.weight[i] = 0.5 * (double)(next_bits(&seed) % 4);
    }
    if (numbers_wanted) set(b.cfg, "model.sigma", "0.9");
    else set(b.cfg, "model.hidden", "3");
    sgfs_arrays a = {.rows = N, .cols = P, .x = b.x, .y = b.y};
    if (weighted) a.weights = b.weight;
    b.data = sgfs_data_wrap(&a, b.cfg, &err);
    b.m = b.data != NULL ? sgfsi_model_create(kind, b.data, b.cfg, NULL, &err) : NULL;
    if (b.m == NULL) fail_msg("%s", err.text);
    return b;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x), free(b->y), free(b->weight);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* A sampler as a chain has it, without a chain. */
static void open_sampler(sgfs_sampler *s, const bench *b, const sgfs_fisher_kind *fisher,
                         sgfsi_arena *arena) {
    int64_t first[16];
    for (int64_t k = 0; k < b->m->blocks; k++) first[k] = b->m->block[k].offset;
    *s = (sgfs_sampler){.kind = &sgfs_sampler_sgfs_cv,
                        .fisher = fisher,
                        .cfg = b->cfg,
                        .arena = arena,
                        .model = b->m,
                        .D = b->m->D,
                        .seed = 11};
    s->layout = sgfsi_layout_open(b->m->D, 0, b->m->blocks, first, arena);
    assert_non_null(s->layout);
    assert_int_equal(sgfsi_eval_open(&s->eval, b->m, &sgfs_scheme_with, 50, arena, NULL), SGFS_OK);
}

/* The square of a row's score, from the gradient of a model that has this row alone, twice: nothing
 * of the pass is used. out: D x D. */
static void square_of_rows(const bench *b, const double *theta, double *out) {
    int64_t D = b->m->D;
    double *G = zeros(D), *prior = zeros(D), lp;
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    for (int64_t i = 0; i < b->N; i++) {
        if (b->data->weight != NULL && b->weight[i] == 0) continue;
        const int64_t twice[] = {i, i};
        sgfs_data *one = sgfsi_data_view(b->data, twice, 2, NULL);
        assert_non_null(one);
        sgfs_model *m = sgfsi_model_create(b->m->kind, one, b->cfg, b->m->saved, NULL);
        assert_non_null(m);
        assert_int_equal(sgfsi_full_open(&full, m, 1, false, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_full_likelihood(&full, theta, &lp, G, NULL, NULL), SGFS_OK);
        double w = 4 * (b->data->weight != NULL ? b->weight[i] : 1); /* G = 2 w g */
        for (int64_t r = 0; r < D; r++)
            for (int64_t c = 0; c < D; c++) out[r * D + c] += G[r] * G[c] / w;
        sgfs_model_free(m);
        sgfs_data_free(one);
        sgfsi_arena_free(&arena);
    }
    for (int64_t j = 0; j < D; j++) out[j * D + j] += b->m->precision[j];
    free(G), free(prior);
}

/* Largest eigenvalue of L^-1 A L^-T, L of the structure, by many rounds. */
static double stiffest(const sgfs_sym *L, const double *A) {
    int64_t D = L->D;
    double *x = numbers(D, 3), *y = zeros(D), size = 0;
    for (int round = 0; round < 400; round++) {
        L->kind->solve(L, true, x);
        for (int64_t i = 0; i < D; i++) {
            y[i] = 0;
            for (int64_t j = 0; j < D; j++) y[i] += A[i * D + j] * x[j];
        }
        memcpy(x, y, (size_t)D * sizeof *x);
        L->kind->solve(L, false, x);
        size = 0;
        for (int64_t i = 0; i < D; i++) size += x[i] * x[i];
        size = sqrt(size);
        for (int64_t i = 0; i < D; i++) x[i] /= size;
    }
    free(x), free(y);
    return size;
}

static void compare_pass(const bench *b, const sgfs_fisher_kind *fisher, const double *theta,
                         const double *A) {
    int64_t D = b->m->D, size;
    for (int64_t threads = 1; threads <= 2; threads++) {
        sgfsi_arena arena = {NULL};
        sgfs_sampler s;
        sgfsi_reanchor *r = calloc(1, sizeof *r);
        sgfsi_precision p = {.ridge = 0};
        sgfs_sym wanted;
        open_sampler(&s, b, fisher, &arena);
        const sgfs_device *be = b->m->be;
        assert_int_equal(sgfsi_sym_open(&p.A, fisher, be, s.layout, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_sym_open(&p.L, fisher, be, s.layout, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_sym_open(&wanted, fisher, be, s.layout, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_reanchor_open(r, &s, threads, NULL), SGFS_OK);
        assert_int_equal(sgfsi_reanchor_at(r, &s, theta, &p, NULL), SGFS_OK);
        fisher->from_dense(&wanted, A);
        size = fisher->size(s.layout);
        for (int64_t k = 0; k < size; k++) {
            bool upper = fisher == &sgfs_fisher_full && k % D > k / D;
            if (!upper && fisher != &sgfs_fisher_block)
                assert_near(p.A.a[k], wanted.a[k], 1e-10 * (double)b->N, "the structure's A");
        }
        double *d = zeros(2 * D), lp;
        fisher->diag(&p.A, d);
        for (int64_t j = 0; j < D; j++)
            assert_near(d[j], A[j * D + j], 1e-10 * (double)b->N, "A's diagonal");
        double *x = numbers(D, 7); /* blocks, through what they do */
        fisher->mul(&p.A, x, d);
        fisher->mul(&wanted, x, d + D);
        for (int64_t j = 0; j < D; j++) assert_near(d[j], d[D + j], 1e-9 * (double)b->N, "A x");
        double most = stiffest(&p.L, A);
        if (fisher != &sgfs_fisher_full) assert_in_range((int)(1e4 * p.stiff / most), 10500, 11010);
        else assert_true(p.stiff == 1);
        assert_int_equal(s.reanchors, 0);
        assert_int_equal(sgfsi_posterior_full(b->m, theta, &lp, d, NULL, NULL), SGFS_OK);
        for (int64_t j = 0; j < D; j++) { /* a Gaussian prior's gradient is -precision theta */
            double G = d[j] + b->m->precision[j] * theta[j];
            assert_near(s.anchor->G[j], G, 1e-10 * (double)b->N, "G*");
        }
        sgfsi_arena_free(&arena);
        free(r), free(d), free(x);
    }
}

static void test_an_anchor_knows_the_curvature(void **state) {
    (void)state;
    const sgfs_fisher_kind *const fishers[] = {&sgfs_fisher_diag, &sgfs_fisher_block,
                                               &sgfs_fisher_full};
    const sgfs_model_kind *const kinds[] = {&sgfs_model_mlp, &sgfs_model_drbm};
    for (int k = 0; k < 2; k++) {
        bench b = rows_of(kinds[k], 1301, k == 0);
        set(b.cfg, "fisher.every", "10");
        set(b.cfg, "sampler.curvature", "scores"); /* the data's own targets: no chance in it */
        int64_t D = b.m->D;
        double *theta = numbers(D, 5), *A = zeros(D * D);
        square_of_rows(&b, theta, A);
        for (int f = 0; f < 3; f++) compare_pass(&b, fishers[f], theta, A);
        close_bench(&b);
        free(theta), free(A);
    }
}

/* ---- chains ---------------------------------------------------------------------------------- */

static sgfs_run *walked(const bench *b, const char *fisher, const char *threads) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = b->cfg;
    static const char *const settings[][2] = {{"sampler.kind", "sgfs-cv"},   {"run.batch", "50"},
                                              {"run.warmup", "300"},         {"run.draws", "700"},
                                              {"run.chains", "2"},           {"run.thin", "1"},
                                              {"sampler.anchor_every", "40"}};
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        set(cfg, settings[k][0], settings[k][1]);
    set(cfg, "fisher.kind", fisher);
    set(cfg, "run.threads", threads);
    sgfs_run *run = sgfs_run_open(b->m, cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK || sgfs_run_close(run, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    return run;
}

/* 700 iterations, an anchor every 40: 18 in all, one of which is the first, and more where the noise
 * asks for it. The log density ends far above the start; rows that were read say what passes
 * cost. */
static void test_networks_anchor_again_and_again(void **state) {
    (void)state;
    const char *const fishers[] = {"diag", "block", "full"};
    const sgfs_model_kind *const kinds[] = {&sgfs_model_mlp, &sgfs_model_drbm};
    for (int k = 0; k < 6; k++) {
        bench b = rows_of(kinds[k / 3], 1301, false);
        sgfs_run *run = walked(&b, fishers[k % 3], "1"), *again = walked(&b, fishers[k % 3], "2");
        double *start = zeros(b.m->D), *spread = zeros(b.m->D), *G = zeros(b.m->D), low, high;
        b.m->kind->start(b.m, start, spread);
        assert_int_equal(sgfsi_posterior_full(b.m, start, &low, G, NULL, NULL), SGFS_OK);
        for (int c = 0; c < 2; c++) {
            const sgfsi_chain *w = &run->chain[c];
            int64_t anchors = w->sampler.reanchors + 1;
            assert_in_range(anchors, 18, 30);
            assert_true(w->stats[5] == (double)(anchors - 1) && w->stats[1] > 0 && w->stats[4] > 0);
            int64_t rows = w->sampler.eval.rows_touched + w->sampler.full.rows_touched;
            assert_true(rows >= 1000 * 50 + anchors * b.N && rows < 1200 * 50 + anchors * b.N);
            assert_int_equal(sgfsi_posterior_full(b.m, w->theta, &high, G, NULL, NULL), SGFS_OK);
            assert_true(high > low + 0.3 * (double)b.N);
            assert_memory_equal(w->theta, again->chain[c].theta, (size_t)b.m->D * sizeof(double));
        }
        sgfs_run_free(run);
        sgfs_run_free(again);
        close_bench(&b);
        free(start), free(spread), free(G);
    }
}

/* ---- the law of the draws -------------------------------------------------------------------- */

/* Linear regression of known sigma that does not say it has one mode: with the full matrix the draws
 * have the mean and the variances of the closed form. 2 chains x 20,000 draws at h = 0.8: rho = 0.2,
 * tau = 1.5 for the mean and 1.08 for the variance; means within 5 sqrt(1.5/40000) sd, variances
 * within 5 sqrt(2 x 1.08/40000), and half a percent more for targets that are drawn anew at each of
 * a thousand anchors. */
static void test_the_law_where_it_is_known(void **state) {
    (void)state;
    enum { N = 2003, D = P + 1 };
    sgfs_model_kind kind = sgfs_model_linear;
    kind.one_mode = false;
    bench b = rows_of(&kind, N, false);
    double A[D * D], mean[D], theta[D] = {0}, lp;
    sgfs_err err = {SGFS_OK, ""};
    static const char *const settings[][2] = {{"sampler.kind", "sgfs-cv"}, {"run.batch", "100"},
                                              {"run.warmup", "500"},       {"run.draws", "20000"},
                                              {"run.chains", "2"},         {"run.thin", "1"},
                                              {"sampler.step", "0.8"}};
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        set(b.cfg, settings[k][0], settings[k][1]);
    assert_int_equal(sgfsi_posterior_full(b.m, theta, &lp, mean, A, NULL), SGFS_OK);
    assert_int_equal(b.m->be->potrf(D, A), 0); /* at 0: mean = A^-1 G */
    b.m->be->trsv(D, A, false, mean);
    b.m->be->trsv(D, A, true, mean);
    sgfs_run *run = sgfs_run_open(b.m, b.cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_true(run->chain[0].sampler.reanchors > 100);
    b.m->be->potri(D, A);
    for (int j = 0; j < D; j++) {
        double sd = sqrt(A[j * D + j]), sum = 0, square = 0, count = 0;
        for (int c = 0; c < 2; c++) {
            sgfsi_chain_moments_flush(&run->chain[c].moments);
            const sgfsi_chain_moments *m = &run->chain[c].moments;
            sum += m->mean[j] / 2;
            square += m->ss[j * D + j];
            count += (double)m->count;
        }
        assert_near((sum - mean[j]) / sd, 0, 5 * sqrt(1.5 / count), "mean");
        assert_near(square / count / (sd * sd), 1, 5 * sqrt(2.16 / count) + 0.005, "variance");
    }
    sgfs_run_free(run);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_anchor_knows_the_curvature),
        cmocka_unit_test(test_networks_anchor_again_and_again),
        cmocka_unit_test(test_the_law_where_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
