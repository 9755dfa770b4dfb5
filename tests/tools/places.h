/* SPDX-License-Identifier: MIT
 * places.h: many places at once (posterior/places.h) give what one place after another gives, for
 * whatever model a test has at hand; near and so far out that products of factors overflow.
 */
#pragma once

#include "posterior/places.h"
#include "tools/check.h"

/* At theta and around it, by `unit` (D; NULL: ones) times 0.003 up to 3,000. A log density is a sum
 * of terms that may be of its own size each, in another order: 1e-11 of their magnitudes, for which
 * N and the largest of the densities stand. */
static inline void assert_places(const sgfs_model *m, const double *theta, const double *unit,
                                 const char *label) {
    enum { K = 7 };
    int64_t D = m->D;
    sgfsi_arena arena = {NULL};
    sgfsi_places p;
    double *U = zeros(K * D), *at = zeros(2 * K * D), *G = zeros(2 * K * D), *g = zeros(D);
    double lp[2 * K], plus[K], minus[K], wanted = 0;
    uint64_t s = 71;
    for (int64_t i = 0; i < K * D; i++)
        U[i] =
            0.003 * pow(10, (double)(i / D)) * next_normal(&s) * (unit != NULL ? unit[i % D] : 1);
    for (int64_t i = 0; i < K * D; i++) {
        at[i] = theta[i % D] + U[i];
        at[K * D + i] = theta[i % D] - U[i];
    }
    assert_int_equal(sgfsi_places_open(&p, m, 2 * K, true, 2, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_places_eval(&p, 2 * K, at, lp, G, NULL), SGFS_OK);
    assert_int_equal(sgfsi_places_pairs(&p, theta, K, U, plus, minus, NULL), SGFS_OK);
    for (int64_t k = 0; k < 2 * K; k++) {
        sgfs_status status = sgfsi_posterior_full(m, at + k * D, &wanted, g, NULL, NULL);
        double pair = k < K ? plus[k] : minus[k - K];
        if (status != SGFS_OK || !isfinite(wanted)) {
            assert_false(isfinite(lp[k]) && isfinite(pair) && isfinite(wanted));
            continue;
        }
        double size = (double)m->data->N + fabs(wanted);
        assert_near(lp[k], wanted, 1e-11 * size, label);
        assert_near(pair, wanted, 1e-11 * size, label);
        for (int64_t j = 0; j < D; j++) {
            double large = fabs(g[j]) + (double)m->data->N / (unit != NULL ? unit[j] : 1);
            assert_near(G[k * D + j], g[j], 1e-11 * large, label);
        }
    }
    assert_true(isfinite(lp[0]));
    sgfsi_arena_free(&arena);
    free(U);
    free(at);
    free(G);
    free(g);
}
