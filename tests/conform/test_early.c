/* SPDX-License-Identifier: MIT
 * test_early.c: pairs that a GPU draws and looks at while the chain takes others
 * (posterior/early.h) are those that the host would have drawn. A chain of exact-pairs that has
 * them is that of `blas` up to rounding, whatever the lengths of the stretches, and wherever it was
 * taken up again.
 *
 * `test_early cuda` asks a GPU, `test_early cuda few` a pretended one; both skip without. No device
 * of the host makes pairs early.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/rng.h"
#include "chain/run.h"
#include "chain/state.h"
#include "posterior/early.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/unit_prior.h"

/* Of a batch: 32 blocks of 240 iterations. */
enum { ROWS = 70, BATCH = 32 * 240, WARMUP = 10, DRAWS = BATCH + 700, CHAINS = 2, OTHERS = 8 };

static const char rows_file[] = "early.csv";

/* Columns that explain, four words of the targets, and one row whose cell is large. */
static void write_rows(void) {
    FILE *f = fopen(rows_file, "w");
    double *x = numbers(3 * ROWS, 11);
    assert_non_null(f);
    fprintf(f, "a,b,y,count,size\n");
    for (int i = 0; i < ROWS; i++) {
        double a = x[3 * i], b = x[3 * i + 1], eta = 0.4 + a - 0.7 * b;
        fprintf(f, "%.6f,%.6f,%d,%d,%.6f\n", a, b, x[3 * i + 2] < 0.6 * eta, (int)exp(eta),
                eta + 0.3 * x[3 * i + 2]);
    }
    fclose(f);
    free(x);
}

typedef struct settings {
    const char *model, *target, *option[OTHERS][2];
} settings;

typedef struct fit {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_run *run;
} fit;

static fit open_fit(const settings *is, const char *device) {
    const char *const given[][2] = {
        {"data.features", "a,b"}, {"data.target", is->target}, {"sampler.kind", "exact-pairs"},
        {"run.warmup", "10"},     {"run.draws", "8380"},       {"run.chains", "2"},
        {"run.thin", "1"},        {"run.threads", "2"},        {"run.device", device}};
    sgfs_err err;
    fit of = {.cfg = unit_prior_config()};
    for (size_t k = 0; k < sizeof given / sizeof *given; k++)
        if (sgfs_config_set(of.cfg, given[k][0], given[k][1], &err) != SGFS_OK)
            fail_msg("%s", err.text);
    for (int k = 0; is->option[k][0] != NULL; k++)
        assert_int_equal(sgfs_config_set(of.cfg, is->option[k][0], is->option[k][1], &err),
                         SGFS_OK);
    of.data = sgfs_data_open(rows_file, of.cfg, &err);
    of.model = of.data != NULL ? sgfs_model_open(is->model, of.data, of.cfg, &err) : NULL;
    of.run = of.model != NULL ? sgfs_run_open(of.model, of.cfg, &err) : NULL;
    if (of.run == NULL) fail_msg("%s: %s", is->model, err.text);
    return of;
}

static void close_fit(fit *of) {
    sgfs_run_free(of->run);
    sgfs_model_free(of->model);
    sgfs_data_free(of->data);
    sgfs_config_free(of->cfg);
}

static void advance(fit *of, int64_t iterations, int64_t stretch) {
    sgfs_err err;
    for (int64_t left = iterations; left > 0; left -= stretch)
        if (sgfs_run_step(of->run, left < stretch ? left : stretch, &err) != SGFS_OK)
            fail_msg("%s", err.text);
}

static fit walk_in(const settings *is, const char *device, int64_t stretch) {
    fit of = open_fit(is, device);
    advance(&of, WARMUP + DRAWS, stretch);
    return of;
}

static const settings all[] = {
    {"logistic", "y", {{NULL, NULL}}},
    {"linear", "size", {{NULL, NULL}}},
    {"poisson", "count", {{"data.standardize", "true"}}},
    {"logistic", "y", {{"prior.kind", "student-t"}, {"data.standardize", "true"}}},
};
enum { CASES = sizeof all / sizeof *all };
static bool few;

/* ---- chains ---------------------------------------------------------------------------------- */

/* Rounding alone sets them apart, which no iteration adds to. A uniform as near to what decides as
 * that would be seen; of some thousands none is. */
static void test_chains_are_those_of_blas(void **state) {
    (void)state;
    for (int k = 0; k < (few ? 2 : CASES); k++) {
        fit here = walk_in(&all[k], "blas", 1000), there = walk_in(&all[k], "cuda", 1000);
        int64_t moved = 0;
        for (int64_t c = 0; c < CHAINS; c++) {
            const sgfsi_chain_draws *x = &here.run->out.memory->chain[c],
                                    *y = &there.run->out.memory->chain[c];
            int64_t D = here.model->D, S = here.run->chain[c].S;
            assert_true(x->draws == DRAWS && y->draws == DRAWS);
            for (int64_t i = 0; i < DRAWS * D; i++)
                if (!(fabs(x->theta[i] - y->theta[i]) <= 1e-10 * (1 + fabs(x->theta[i]))))
                    fail_msg("%s, chain %lld, draw %lld: %.17g is not %.17g", all[k].model,
                             (long long)c, (long long)(i / D), y->theta[i], x->theta[i]);
            for (int64_t i = 0; i < DRAWS * S; i++)
                assert_true(fabs(x->stats[i] - y->stats[i]) <= 1e-10 * (1 + fabs(x->stats[i])));
            for (int64_t i = D; i < DRAWS * D; i += D)
                moved += fabs(x->theta[i] - x->theta[i - D]) > 0;
        }
        assert_true(moved > CHAINS * DRAWS / 2);
        close_fit(&here);
        close_fit(&there);
    }
}

static void assert_same_bits(const fit *a, const fit *b, int64_t at) {
    for (int64_t c = 0; c < CHAINS; c++) {
        const sgfsi_chain_draws *x = &a->run->out.memory->chain[c],
                                *y = &b->run->out.memory->chain[c];
        int64_t D = a->model->D;
        const double *last = x->theta + (x->draws - y->draws) * D;
        assert_true(x->draws >= y->draws);
        if (memcmp(last, y->theta, (size_t)(y->draws * D) * sizeof *last) != 0)
            fail_msg("other bits with %lld", (long long)at);
    }
}

static void test_stretches_of_any_length(void **state) {
    (void)state;
    fit whole = walk_in(&all[0], "cuda", WARMUP + DRAWS), pieces = walk_in(&all[0], "cuda", 97);
    assert_same_bits(&whole, &pieces, 97);
    close_fit(&whole);
    close_fit(&pieces);
}

/* The next place after which the first chain stays where it is: elsewhere a proposal that is taken
 * mends whatever went wrong. */
static int64_t before_a_rejection(const fit *of, int64_t place) {
    enum { ACCEPT = 1 };
    const sgfsi_chain_draws *x = &of->run->out.memory->chain[0];
    int64_t S = of->run->chain[0].S;
    while (x->stats[(place - WARMUP) * S + ACCEPT] > 0) place++;
    return place;
}

/* Within a block, where one ends, and within another batch. */
static void test_taken_up_again(void **state) {
    sgfs_err err;
    (void)state;
    fit whole = walk_in(&all[0], "cuda", 1000);
    const int64_t places[] = {before_a_rejection(&whole, 490),
                              BATCH,
                              720,
                              before_a_rejection(&whole, BATCH + 301),
                              BATCH - 1,
                              before_a_rejection(&whole, BATCH - 200)};
    for (size_t i = 0; i < (few ? 2 : sizeof places / sizeof *places); i++) {
        fit first = open_fit(&all[0], "cuda"), rest = open_fit(&all[0], "cuda");
        size_t bytes;
        advance(&first, places[i], 100);
        void *saved = sgfsi_state_save(first.run, &bytes, &err);
        assert_non_null(saved);
        assert_int_equal(sgfsi_state_load(rest.run, saved, bytes, &err), SGFS_OK);
        advance(&rest, WARMUP + DRAWS - places[i], 1000);
        assert_same_bits(&whole, &rest, places[i]);
        free(saved);
        close_fit(&first);
        close_fit(&rest);
    }
    close_fit(&whole);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* K pairs around a place with directions of about `spread`, as they are begun, taken and begun
 * anew. */
static void check_pairs(const settings *is, bool drawn, int64_t K, double spread) {
    enum { SEED = 77, CHAIN = 3, FIRST = 1001 };
    fit of = open_fit(is, "cuda");
    int64_t D = of.model->D;
    double *centre = numbers(D, 31), *S = numbers(D * D, 32), *Z = zeros(K * D), *U = zeros(K * D),
           *plus = zeros(4 * K), *minus = plus + K, *wanted = plus + 2 * K, *z = zeros(D);
    sgfs_err err;
    sgfsi_arena arena = {NULL};
    sgfsi_places places;
    sgfsi_early early;
    for (int64_t i = 0; i < D * D; i++) S[i] = i % D <= i / D ? spread * S[i] : 0;
    const sgfsi_pairs_law law = {.D = D,
                                 .most = K,
                                 .centre = centre,
                                 .spread = drawn ? S : NULL,
                                 .seed = SEED,
                                 .chain = CHAIN};
    assert_int_equal(sgfsi_places_open(&places, of.model, K, false, 1, &arena, &err), SGFS_OK);
    assert_int_equal(sgfsi_early_open(&early, &places, &law, &arena, &err), SGFS_OK);
    assert_non_null(early.pairs);
    for (int time = 0; time < 2; time++) {
        const sgfsi_pairs now = {
            .K = K, .first = FIRST + time * K, .Z = Z, .U = U, .plus = plus, .minus = minus};
        for (int64_t k = 0; k < K * D && !drawn; k++)
            U[k] = spread * (double)((7 * k + 3 * time) % 11 - 5);
        if (time == 1) sgfsi_early_begin(&early, &now); /* given up */
        sgfsi_early_begin(&early, &now);
        assert_int_equal(sgfsi_early_take(&early, &err), SGFS_OK);
        for (int64_t k = 0; k < K && drawn; k++) {
            sgfsi_stream stream = sgfsi_stream_at(SEED, CHAIN, now.first + k, SGFSI_NOISE);
            sgfsi_normals(&stream, D, z);
            for (int64_t j = 0; j < D; j++) {
                double u = 0;
                for (int64_t i = j; i < D; i++) u += z[i] * S[i * D + j];
                assert_near(Z[k * D + j], z[j], 1e-14 * 10, "a normal");
                assert_near(U[k * D + j], u, 1e-13 * spread * (double)D, "a direction");
            }
        }
        assert_int_equal(places.nans, 0);
        assert_int_equal(sgfsi_places_pairs(&places, centre, K, U, wanted, wanted + K, &err),
                         SGFS_OK);
        for (int64_t k = 0; k < 2 * K; k++)
            assert_near(plus[k], wanted[k], 1e-12 * (1 + fabs(wanted[k])), "a log density");
    }
    sgfsi_arena_free(&arena);
    free(centre), free(S), free(Z), free(U), free(plus), free(z);
    close_fit(&of);
}

static void test_pairs_are_those_of_the_host(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        check_pairs(&all[k], true, 90, 0.2);
        check_pairs(&all[k], false, 16, 0.02);
    }
    check_pairs(&all[0], true, 90, 2000); /* no exp of such predictors is a number */
    check_pairs(&all[0], false, 5, 300);
}

static int setup(void **state) {
    (void)state;
    write_rows();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return unlink(rows_file);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_those_of_the_host),
        cmocka_unit_test(test_chains_are_those_of_blas),
        cmocka_unit_test(test_stretches_of_any_length),
        cmocka_unit_test(test_taken_up_again),
    };
    const sgfs_device *gpu = NULL;
    bool on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    few = argc > 2 && strcmp(argv[2], "few") == 0;
    if (!on_gpu) {
        print_message("Skipped: `test_early cuda` asks a GPU\n");
        return 0;
    }
    if (!open_gpu(&gpu)) return SKIPPED;
    sgfsi_device_close(gpu);
    return cmocka_run_group_tests(tests, setup, teardown);
}
