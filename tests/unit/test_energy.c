/* SPDX-License-Identifier: MIT
 * test_energy.c: what the summary says of trajectories: numbers by hand, and each warning on both
 * sides of its threshold.
 */
#include "diagnostics/summary.h"
#include "tools/check.h"

#include <stdio.h>

#include "diagnostics/energy.h"

enum { CHAINS = 2, MOST_STATS = 7 };

/* A run of two chains with the statistics named; all of them 0 to begin with. */
static sgfs_draws *made_run(const char *stats, const char *config, int64_t draws, int64_t S) {
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "{\"chains\": %d, \"dim\": 1, \"params\": [\"a\"], \"thin\": 1, "
                     "\"stats\": %s, \"config\": %s}",
                     CHAINS, stats, config);
    sgfs_draws *d = sgfsi_draws_new(sgfsi_json_parse(text, (size_t)n, "header", NULL), NULL);
    assert_non_null(d);
    assert_int_equal(d->S, S);
    double *theta = zeros(draws), *stat = zeros(draws * MOST_STATS);
    uint64_t seed = 717;
    for (int64_t c = 0; c < CHAINS; c++) {
        for (int64_t t = 0; t < draws; t++) theta[t] = next_normal(&seed);
        assert_int_equal(sgfsi_draws_append(d, c, draws, theta, stat, NULL), SGFS_OK);
    }
    free(theta);
    free(stat);
    return d;
}

static const char nuts[] = "[\"lp\", \"acceptance_rate\", \"step_size\", \"tree_depth\", "
                           "\"n_steps\", \"diverging\", \"energy\"]";
enum { ACCEPTANCE = 1, STEP, DEPTH, STEPS, DIVERGING, ENERGY, NUTS_STATS };

static double *stat_at(sgfs_draws *d, int64_t chain, int64_t t, int64_t s) {
    return &d->chain[chain].stats[t * d->S + s];
}

/* Energies of +-1 in blocks of 13: one move of 2 between blocks, spread 1 per draw. */
static void fill_blocks(sgfs_draws *d, int64_t chain) {
    for (int64_t t = 0; t < d->chain[chain].draws; t++) {
        *stat_at(d, chain, t, ENERGY) = t / 13 % 2 == 0 ? 5.0 : 3.0;
    }
}

/* Energies that jump from draw to draw. */
static void fill_lively(sgfs_draws *d) {
    for (int64_t c = 0; c < CHAINS; c++) {
        for (int64_t t = 0; t < d->chain[c].draws; t++) {
            *stat_at(d, c, t, ENERGY) = sin(2.385 * (double)(t * t));
        }
    }
}

static bool warns(const sgfs_summary *s, const char *part) {
    for (int64_t i = 0; i < s->warnings; i++) {
        if (strstr(s->warning[i], part) != NULL) return true;
    }
    return false;
}

/* Does the summary of d warn with these words? */
static bool warned(const sgfs_draws *d, const char *part) {
    sgfs_summary *s = sgfsi_summary_new(d, 2, NULL);
    assert_non_null(s);
    bool found = warns(s, part);
    sgfsi_summary_free(s);
    return found;
}

static void test_bfmi_by_hand(void **state) {
    (void)state;
    const double energy[] = {1, 70, 2, 71, 4, 72, 1, 73};
    assert_near(sgfsi_bfmi(4, energy, 2), 14.0 / 6.0, 1e-15, "stride 2");
    assert_near(sgfsi_bfmi(4, energy + 1, 2), 3.0 / 5.0, 1e-15, "a ramp");
    assert_true(isnan(sgfsi_bfmi(1, energy, 1)));
    const double still[] = {2.5, 2.5, 2.5};
    assert_true(isnan(sgfsi_bfmi(3, still, 1)));
}

static void test_numbers_of_nuts(void **state) {
    (void)state;
    sgfs_draws *d = made_run(nuts, "{\"sampler.max_depth\": \"6\"}", 40, NUTS_STATS);
    fill_lively(d);
    for (int64_t c = 0; c < CHAINS; c++) {
        for (int64_t t = 0; t < 40; t++) {
            *stat_at(d, c, t, ACCEPTANCE) = c == 0 ? 0.7 : 0.9;
            *stat_at(d, c, t, STEP) = 0.25 + 0.5 * (double)c;
            *stat_at(d, c, t, DEPTH) = t < 10 ? 6 : 5;
            *stat_at(d, c, t, STEPS) = t % 2 == 0 ? 3 : 7;
            *stat_at(d, c, t, DIVERGING) = t % 8 == 0;
        }
    }
    sgfs_summary *s = sgfsi_summary_new(d, 2, NULL);
    assert_non_null(s);
    const sgfs_trajectories *t = &s->trajectories;
    assert_true(t->known);
    assert_int_equal(t->thin, 1);
    assert_near(t->divergent, 10, 0, "divergent");
    assert_near(t->max_depth, 6, 0, "max depth");
    assert_near(t->at_max_depth, 20, 0, "at max depth");
    assert_near(t->acceptance_rate, 0.8, 1e-14, "acceptance");
    assert_near(t->step_size, 0.5, 1e-14, "step size");
    assert_near(t->n_steps, 5, 1e-14, "steps");
    for (int64_t c = 0; c < CHAINS; c++) {
        const double *first = &d->chain[c].stats[ENERGY];
        assert_near(t->bfmi[c], sgfsi_bfmi(40, first, NUTS_STATS), 0, "bfmi");
    }
    char *json = sgfsi_json_finish(sgfsi_summary_json(s));
    assert_non_null(strstr(json, "\"at_max_depth\": 20"));
    assert_non_null(strstr(json, "\"bfmi\": ["));
    sgfs_text_free(json);
    sgfsi_summary_free(s);
    sgfs_draws_free(d);
}

/* hmc has no tree; sgfs has a step size, but no trajectories. */
static void test_only_what_is_there(void **state) {
    (void)state;
    sgfs_draws *d = made_run("[\"lp\", \"acceptance_rate\", \"step_size\", \"n_steps\", "
                             "\"diverging\", \"energy\"]",
                             "{}", 40, 6);
    sgfs_summary *s = sgfsi_summary_new(d, 2, NULL);
    assert_true(s->trajectories.known && isnan(s->trajectories.at_max_depth));
    assert_near(s->trajectories.divergent, 0, 0, "divergent");
    assert_false(warns(s, "maximum depth"));
    assert_true(isnan(s->trajectories.bfmi[0])); /* energies of 0: no verdict */
    assert_false(warns(s, "E-BFMI"));
    sgfsi_summary_free(s);
    sgfs_draws_free(d);
    d = made_run("[\"lp\", \"step_size\", \"grad_norm\", \"ridges\"]", "{}", 40, 4);
    s = sgfsi_summary_new(d, 2, NULL);
    assert_false(s->trajectories.known);
    char *json = sgfsi_json_finish(sgfsi_summary_json(s));
    assert_null(strstr(json, "trajectories"));
    sgfs_text_free(json);
    sgfsi_summary_free(s);
    sgfs_draws_free(d);
}

static void test_warns_of_divergence(void **state) {
    (void)state;
    sgfs_draws *d = made_run(nuts, "{\"sampler.target_accept\": \"0.95\"}", 100, NUTS_STATS);
    fill_lively(d);
    assert_false(warned(d, "diverged"));
    *stat_at(d, 1, 99, DIVERGING) = 1;
    assert_true(warned(d, "1 of 200 draws come from trajectories that diverged"));
    assert_true(warned(d, "by --target-accept 0.99 (now 0.95)"));
    sgfs_draws_free(d);
    d = made_run(nuts, "{\"sampler.epsilon\": \"0.25\"}", 100, NUTS_STATS);
    *stat_at(d, 0, 0, DIVERGING) = 1;
    assert_true(warned(d, "by --epsilon 0.125 (now 0.25)"));
    sgfs_draws_free(d);
}

/* 1 in 100 may be as deep as allowed, 10 unless the run says otherwise; 3 in 200 are too many. */
static void test_warns_of_depth(void **state) {
    (void)state;
    sgfs_draws *d = made_run(nuts, "{}", 100, NUTS_STATS);
    fill_lively(d);
    for (int64_t t = 0; t < 100; t++) *stat_at(d, 0, t, DEPTH) = 9;
    *stat_at(d, 0, 3, DEPTH) = *stat_at(d, 1, 4, DEPTH) = 10;
    assert_false(warned(d, "maximum depth"));
    *stat_at(d, 1, 5, DEPTH) = 10;
    assert_true(warned(d, "3 of 200 draws have a tree of the maximum depth (10)"));
    assert_true(warned(d, "--max-depth 12"));
    sgfs_draws_free(d);
}

/* k + 1 blocks of 13: E-BFMI = 4 k / (13 (k + 1)), 0.29960 for k = 37 and 0.30037 for k = 41. */
static void test_warns_of_energy(void **state) {
    (void)state;
    for (int64_t k = 37; k <= 41; k += 4) {
        sgfs_draws *d = made_run(nuts, "{}", 13 * (k + 1), NUTS_STATS);
        fill_lively(d);
        fill_blocks(d, 1);
        sgfs_summary *s = sgfsi_summary_new(d, 2, NULL);
        assert_near(s->trajectories.bfmi[1], 4 * (double)k / (13 * (double)(k + 1)), 1e-13, "bfmi");
        assert_int_equal(warns(s, "E-BFMI is under 0.3 in 1 of 2 chains (down to 0.3 in chain 2)"),
                         k == 37);
        sgfsi_summary_free(s);
        sgfs_draws_free(d);
    }
}

/* A spread unlike the curvature's is news of the posterior, not of an exact sampler. */
static void test_spread_is_no_fault_of_exact_samplers(void **state) {
    (void)state;
    double sd = 0.5;
    for (int exact = 0; exact < 2; exact++) {
        sgfs_draws *d = exact ? made_run(nuts, "{}", 400, NUTS_STATS)
                              : made_run("[\"lp\", \"step_size\"]", "{}", 400, 2);
        sgfsi_chain_info info = {.iterations = 400, .curvature_sd = &sd};
        for (int64_t c = 0; c < CHAINS; c++) {
            assert_int_equal(sgfsi_draws_set_info(d, c, &info, NULL), SGFS_OK);
        }
        assert_int_equal(warned(d, "not what the curvature"), !exact);
        sgfs_draws_free(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bfmi_by_hand),
        cmocka_unit_test(test_numbers_of_nuts),
        cmocka_unit_test(test_only_what_is_there),
        cmocka_unit_test(test_warns_of_divergence),
        cmocka_unit_test(test_warns_of_depth),
        cmocka_unit_test(test_warns_of_energy),
        cmocka_unit_test(test_spread_is_no_fault_of_exact_samplers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
