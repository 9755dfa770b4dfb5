/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * test_drbm.c: a small DRBM sampled two ways. 1 + H directions of its weights are held by the prior
 * alone, so what is compared is what they predict: the posterior mean of the probability of each
 * class for a few rows, by SGFS-f from minibatches and by NUTS from all rows.
 *
 * A unit and its mirror image predict alike but weigh differently under the prior, so the posterior
 * has two separate parts whose predictions differ by a fifth of a standard deviation here. Both
 * samplers start at the same place and are compared within the part it lies in; that no draw leaves
 * it is checked.
 *
 * |difference| < 5 standard errors of both: about 6e-7 for each of the 12 comparisons; seeds fixed.
 * Standard deviations, from 1500 or more effective draws each, are within 0.1: at least 4 of theirs
 * (1/sqrt(2 ESS) = 0.018 each).
 */
#include "base/rng.h"
#include "stat/sampled.h"

enum { N = 500, COLS = 2, P = COLS + 1, K = 3, PLACES = 4 };

static double x[N * COLS], y[N];
static const double place[PLACES * P] = {1, 0.21,  -0.33, 1, 1.17, 0.83,
                                         1, -1.41, 0.52,  1, 0.63, -1.7};

/* Drawn from one unit: a = 0.4 + 1.3 x1 - 0.9 x2 + U, U = (1.5, -1, 0), d = (-0.6, 0.5, 0). */
static void make_rows(void) {
    static const double U[K] = {1.5, -1, 0}, d[K] = {-0.6, 0.5, 0};
    for (int64_t i = 0; i < N; i++) {
        double z[COLS], u, w[K], total = 0;
        sgfsi_stream s = sgfsi_stream_at(2012, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&s, COLS, z);
        sgfsi_uniforms(&s, 1, &u);
        memcpy(x + i * COLS, z, sizeof z);
        for (int k = 0; k < K; k++) {
            double a = 0.4 + 1.3 * z[0] - 0.9 * z[1] + U[k];
            total += w[k] = exp(d[k]) * (1 + exp(a));
        }
        y[i] = u * total < w[0] ? 0 : u * total < w[0] + w[1] ? 1 : 2;
    }
}

typedef struct question {
    const sgfs_model *m;
    int64_t row, class;
} question;

static double probability(const double *theta, const double *stats, const void *about) {
    const question *q = about;
    double out[K], scratch[8];
    sgfs_batch b = {.n = 1, .p = P, .x = place + q->row * P};
    (void)stats;
    q->m->kind->predict(q->m, theta, &b, out, scratch);
    return out[q->class];
}

static sampled sample_with(const setting *settings) {
    sgfs_err err = {0};
    sampled s = sample_open(&sgfs_model_drbm, N, COLS, x, y, settings);
    if (sample_all(&s, &err) != SGFS_OK) fail_msg("%s", err.text);
    return s;
}

/* The sign of W[1,x1], the same in every draw. */
static double side_of(const sgfs_draws *d) {
    double side = d->chain[0].theta[1] > 0 ? 1 : -1;
    for (int64_t c = 0; c < d->chains; c++) {
        for (int64_t t = 0; t < d->chain[c].draws; t++)
            assert_true(side * d->chain[c].theta[t * d->D + 1] > 0);
    }
    return side;
}

static void test_predictions_of_sgfs_and_nuts_agree(void **state) {
    (void)state;
    static const setting nuts[] = {{"model.hidden", "1"}, {"sampler.kind", "nuts"},
                                   {"run.warmup", "300"}, {"run.draws", "600"},
                                   {"run.chains", "4"},   {"run.init", "0.05"},
                                   {NULL, NULL}};
    static const setting sgfs[] = {{"model.hidden", "1"},  {"sampler.kind", "sgfs-f"},
                                   {"run.batch", "50"},    {"sampler.alpha", "3"},
                                   {"run.warmup", "2000"}, {"run.draws", "60000"},
                                   {"run.thin", "20"},     {"run.chains", "4"},
                                   {"run.init", "0.05"},   {NULL, NULL}};
    make_rows();
    sampled a = sample_with(nuts), b = sample_with(sgfs);
    assert_true(side_of(a.draws) == side_of(b.draws));
    for (int64_t i = 0; i < PLACES * K; i++) {
        question q = {a.m, i / K, i % K};
        estimate exact = estimate_of(a.draws, probability, &q);
        estimate ours = estimate_of(b.draws, probability, &q);
        double se = hypot(exact.sd / sqrt(exact.ess), ours.sd / sqrt(ours.ess));
        assert_true(exact.ess > 400 && ours.ess > 400);
        if (fabs(ours.mean - exact.mean) > 5 * se || fabs(ours.sd / exact.sd - 1) > 0.1)
            fail_msg("row %d, class %d: sgfs-f %.4f (sd %.4f), nuts %.4f (sd %.4f), error %.4f",
                     (int)q.row, (int)q.class, ours.mean, ours.sd, exact.mean, exact.sd, se);
    }
    sample_free(&a);
    sample_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_predictions_of_sgfs_and_nuts_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
