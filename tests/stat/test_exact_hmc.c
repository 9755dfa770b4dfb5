/* SPDX-License-Identifier: MIT
 * test_exact_hmc.c: chains in lock-step on what they are made for: many columns that are 0 but in a
 * few rows, rare events, rows of high leverage. There is no closed form, so NUTS, which shares
 * nothing with them but the density, is the other opinion (test_exact.c has grids, test_sbc.c
 * calibration).
 *
 * Compared are means and second moments of all 40 parameters, in units of their common Monte Carlo
 * error: 80 numbers for each of four comparisons, limit 4.8, a false alarm in 2,000 changes of the
 * seeds, which are fixed. The Gaussian at the mode must fail the same comparison.
 */
#include "stat/sampled.h"
#include "tools/state.h"

enum { N = 2000, P = 39, D = P + 1, NUMBERS = 6, LEVELS = 11 };
static const double most_z = 4.8;
static double x[N * P], y[N];

/* Six numbers, two of them nearly the same and one with heavy tails; three sets of eleven levels,
 * the k-th in a share of rows that falls like k^-2. */
static void make_rows(bool counts, uint64_t seed) {
    sgfsi_stream s = sgfsi_stream_at(seed, 0, 0, SGFSI_FEATURES);
    double events = 0;
    memset(x, 0, sizeof x);
    for (int64_t i = 0; i < N; i++) {
        double *row = x + i * P, u[4], eta = counts ? -1.2 : -3.1;
        sgfsi_normals(&s, NUMBERS, row);
        sgfsi_uniforms(&s, 4, u);
        row[1] = 0.95 * row[0] + 0.3 * row[1];
        row[5] = exp(1.5 * row[5]) / 8;
        for (int set = 0; set < 3; set++) {
            int level = (int)fmin(1 / sqrt(u[set]) - 1, LEVELS); /* 0: none of them */
            if (level > 0) row[NUMBERS + set * LEVELS + level - 1] = 1;
        }
        for (int j = 0; j < P; j++) eta += row[j] * 0.5 * sin(1.7 * j);
        y[i] = u[3] < 1 / (1 + exp(-eta));
        if (counts) y[i] = floor(2 * u[3] * exp(fmin(eta, 3)));
        events += y[i] > 0;
    }
    print_message("%.0f events in %d rows\n", events, (int)N);
}

static sampled draw(const sgfs_model_kind *kind, const setting *own) {
    setting all[16] = {{"run.threads", "1"}, {"run.seed", "4"}, {"run.thin", "1"}};
    int n = 3;
    sgfs_err err;
    for (; own->key != NULL; own++) all[n++] = *own;
    sampled s = sample_open(kind, N, P, x, y, all);
    if (sample_all(&s, &err) != SGFS_OK) fail_msg("%s", err.text);
    return s;
}

static const setting nuts[] = {{"sampler.kind", "nuts"},
                               {"run.chains", "4"},
                               {"run.warmup", "500"},
                               {"run.draws", "1500"},
                               {NULL, NULL}};
static const setting together[] = {
    {"sampler.kind", "exact-hmc"}, {"run.draws", "600"}, {NULL, NULL}};
static const setting laplace[] = {
    {"sampler.kind", "laplace"}, {"run.chains", "4"}, {"run.draws", "2500"}, {NULL, NULL}};

/* ---- against NUTS ---------------------------------------------------------------------------- */

typedef struct pick {
    int64_t j;
    double centre;
    bool square;
} pick;

static double moment(const double *theta, const double *stats, const void *about) {
    const pick *k = about;
    double gap = theta[k->j] - k->centre;
    (void)stats;
    return k->square ? gap * gap : gap;
}

static double worst_z(const sgfs_draws *a, const sgfs_draws *b) {
    double worst = 0;
    for (int64_t k = 0; k < 2 * D; k++) {
        const pick what = {k / 2, a->chain[0].info.mean[k / 2], k % 2 == 1};
        estimate one = estimate_of(a, moment, &what), other = estimate_of(b, moment, &what);
        double na = fmin(one.ess, (double)(a->chains * a->chain[0].draws));
        double nb = fmin(other.ess, (double)(b->chains * b->chain[0].draws));
        double error = sqrt(one.sd * one.sd / na + other.sd * other.sd / nb);
        worst = fmax(worst, fabs(one.mean - other.mean) / error);
    }
    return worst;
}

/* Passes over all rows, counted for each chain, for an effective draw of the slowest parameter. */
static double passes_each(const sgfs_draws *d) {
    double steps = 0, least = INFINITY;
    int64_t at = stat_at(d, "n_steps");
    for (int64_t c = 0; c < d->chains; c++)
        for (int64_t t = 0; t < d->chain[c].draws; t++) steps += d->chain[c].stats[t * d->S + at];
    for (int64_t j = 0; j < D; j++) {
        const pick what = {j, 0, false};
        least = fmin(least, estimate_of(d, moment, &what).ess);
    }
    return steps / least;
}

static void compare(const sgfs_model_kind *kind) {
    sampled a = draw(kind, nuts), b = draw(kind, together), c = draw(kind, laplace);
    double z = worst_z(a.draws, b.draws), gaussian = worst_z(a.draws, c.draws);
    print_message("%s: worst z against nuts %.2f, of laplace %.1f; passes for an effective draw "
                  "%.1f, of nuts %.1f\n",
                  kind->name, z, gaussian, passes_each(b.draws), passes_each(a.draws));
    assert_int_equal(b.draws->chains, 16);
    assert_true(z < most_z);
    assert_true(gaussian > 2 * most_z);
    sample_free(&a);
    sample_free(&b);
    sample_free(&c);
}

static void test_rare_levels_like_nuts(void **state) {
    (void)state;
    make_rows(false, 1);
    compare(&sgfs_model_logistic);
}

/* What is known of the posterior before the first step changes nothing of its law: a model that
 * cannot say its curvature, and a prior with a kink, which has no mode to begin at. */
static void test_the_law_does_not_depend_on_the_start(void **state) {
    (void)state;
    const setting kink[] = {{"sampler.kind", "exact-hmc"},
                            {"prior.kind", "laplace"},
                            {"run.draws", "300"},
                            {NULL, NULL}};
    const setting kink_nuts[] = {{"sampler.kind", "nuts"}, {"prior.kind", "laplace"},
                                 {"run.chains", "2"},      {"run.warmup", "300"},
                                 {"run.draws", "1000"},    {NULL, NULL}};
    const setting another[] = {{"sampler.kind", "exact-hmc"}, /* or the draws would be alike */
                               {"run.seed", "5"},
                               {"run.draws", "600"},
                               {NULL, NULL}};
    sgfs_model_kind plain = sgfs_model_logistic;
    plain.curvature = NULL;
    make_rows(false, 1);
    sampled a = draw(&sgfs_model_logistic, together), b = draw(&plain, another),
            c = draw(&sgfs_model_logistic, kink), d = draw(&sgfs_model_logistic, kink_nuts);
    double z[] = {worst_z(a.draws, b.draws), worst_z(d.draws, c.draws), worst_z(d.draws, a.draws)};
    print_message("worst z without a curvature %.2f, with a kink %.2f, of the other prior %.1f\n",
                  z[0], z[1], z[2]);
    assert_true(z[0] < most_z);
    assert_true(z[1] < most_z);
    assert_true(z[2] > 2 * most_z);
    sample_free(&a);
    sample_free(&b);
    sample_free(&c);
    sample_free(&d);
}

static void test_counts_like_nuts(void **state) {
    (void)state;
    make_rows(true, 2);
    compare(&sgfs_model_poisson);
}

/* ---- what is fixed --------------------------------------------------------------------------- */

static sampled open_brief(const char *threads) {
    const setting all[] = {{"sampler.kind", "exact-hmc"}, {"run.chains", "8"}, {"run.warmup", "40"},
                           {"run.draws", "60"},           {"run.seed", "9"},   {"run.thin", "1"},
                           {"run.threads", threads},      {NULL, NULL}};
    return sample_open(&sgfs_model_logistic, N, P, x, y, all);
}

/* Metric, step and path of a chain's state, in one array of D D + 2. */
static void shared_state(const sampled *s, double *out) {
    const sgfs_sampler *first = &s->run->chain[0].sampler;
    memcpy(out, field_of(first, "C"), D * D * sizeof *out);
    out[D * D] = number_of(first, "eps");
    out[D * D + 1] = number_of(first, "path");
}

/* What adapts to the draws changes their law. */
static void test_nothing_adapts_after_warmup(void **state) {
    (void)state;
    static double before[D * D + 2], after[D * D + 2];
    make_rows(false, 1);
    sampled s = open_brief("1");
    assert_int_equal(sgfs_run_step(s.run, 39, NULL), SGFS_OK);
    shared_state(&s, before);
    assert_int_equal(sgfs_run_step(s.run, 1, NULL), SGFS_OK);
    shared_state(&s, after);
    assert_memory_not_equal(before + D * D, after + D * D, 2 * sizeof *after);
    assert_int_equal(sgfs_run_step(s.run, 60, NULL), SGFS_OK);
    assert_true(sgfs_run_done(s.run));
    shared_state(&s, before);
    assert_memory_equal(before, after, sizeof after);
    sample_free(&s);
}

static void test_bits_do_not_depend_on_threads(void **state) {
    (void)state;
    sgfs_err err;
    make_rows(false, 1);
    sampled one = open_brief("1"), three = open_brief("3");
    assert_int_equal(sample_all(&one, &err), SGFS_OK);
    assert_int_equal(sample_all(&three, &err), SGFS_OK);
    for (int64_t c = 0; c < 8; c++) {
        assert_int_equal(one.draws->chain[c].draws, 60);
        assert_memory_equal(one.draws->chain[c].theta, three.draws->chain[c].theta,
                            60 * D * sizeof(double));
        assert_memory_equal(one.draws->chain[c].stats, three.draws->chain[c].stats,
                            60 * (size_t)one.draws->S * sizeof(double));
    }
    sample_free(&one);
    sample_free(&three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rare_levels_like_nuts),
        cmocka_unit_test(test_the_law_does_not_depend_on_the_start),
        cmocka_unit_test(test_counts_like_nuts),
        cmocka_unit_test(test_nothing_adapts_after_warmup),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
