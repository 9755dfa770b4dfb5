/* SPDX-License-Identifier: MIT
 * Control variates: the gradient from differences of scores is the gradient of all rows, whatever
 * the anchor.
 *
 *   - A batch of all rows, drawn without replacement, gives it to rounding, and the log density.
 *   - Its average over 400 batches with replacement lies within 5 standard errors of it, for every
 *     parameter (one false alarm in a million; about 60 are looked at, and seeds are fixed).
 *   - At the anchor itself every batch gives it to rounding: the differences are 0.
 */
#include "base/rng.h"
#include "model/prior.h"
#include "posterior/posterior.h"
#include "rows/batch.h"
#include "sampler/sampler.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 300, P = 3, BATCHES = 400 };

typedef struct bed {
    double x[N * P], y[N];
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfsi_arena arena;
    double *anchor, *theta, *G_anchor,
        *G; /* D each: two places; likelihood there, posterior here */
    double loglik, lp;
    sgfsi_control control;
} bed;

static void open_bed(bed *b, const char *model, const char *hidden) {
    sgfs_err err;
    uint64_t s = 4711;
    bool labels = strcmp(model, "linear") != 0 && strcmp(model, "poisson") != 0;
    int most = strcmp(model, "logistic") == 0 ? 2 : 3;
    b->cfg = unit_prior_config();
    sgfs_config_set(b->cfg, "prior.precision", "0.371", NULL);
    if (hidden != NULL) sgfs_config_set(b->cfg, "model.hidden", hidden, NULL);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < P; j++) b->x[i * P + j] = next_normal(&s);
        double eta = 0.7 * b->x[i * P] - 0.4 * b->x[i * P + 2] + next_normal(&s);
        b->y[i] = labels ? (double)((eta > -0.4) + (most > 2 && eta > 0.6)) : eta;
        if (strcmp(model, "poisson") == 0) b->y[i] = floor(exp(0.6 * eta));
    }
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = b->x, .y = b->y};
    b->data = sgfs_data_wrap(&arrays, b->cfg, &err);
    b->m = b->data != NULL ? sgfs_model_open(model, b->data, b->cfg, &err) : NULL;
    if (b->m == NULL) fail_msg("%s: %s", model, err.text);
    int64_t D = b->m->D;
    b->anchor = SGFSI_DOUBLES(&b->arena, D);
    b->theta = SGFSI_DOUBLES(&b->arena, D);
    b->G_anchor = SGFSI_DOUBLES(&b->arena, D);
    b->G = SGFSI_DOUBLES(&b->arena, D);
    for (int64_t j = 0; j < D; j++) {
        b->anchor[j] = 0.5 * next_number(&s);
        b->theta[j] = b->anchor[j] + 0.2 * next_number(&s);
    }
    double prior = 0, *gradient = zeros(D);
    assert_int_equal(sgfsi_posterior_full(b->m, b->anchor, &b->loglik, b->G_anchor, NULL, &err), 0);
    assert_int_equal(sgfsi_prior_add(b->m, b->anchor, &prior, gradient, &err), SGFS_OK);
    for (int64_t j = 0; j < D; j++) b->G_anchor[j] -= gradient[j];
    b->loglik -= prior;
    free(gradient);
    assert_int_equal(sgfsi_posterior_full(b->m, b->theta, &b->lp, b->G, NULL, &err), SGFS_OK);
    b->control = (sgfsi_control){.theta = b->anchor, .G = b->G_anchor, .loglik = b->loglik};
}

static void close_bed(bed *b) {
    sgfsi_arena_free(&b->arena);
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

static sgfsi_eval view_of(bed *b, const sgfs_scheme_kind *scheme, int64_t n) {
    sgfsi_eval e = {.model = NULL};
    assert_int_equal(sgfsi_eval_open(&e, b->m, scheme, n, &b->arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_eval_open_control(&e, &b->arena, NULL), SGFS_OK);
    sgfsi_eval_stream(&e, 5, 0);
    e.control = &b->control;
    return e;
}

static double size_of(const bed *b) {
    double size = 1;
    for (int64_t j = 0; j < b->m->D; j++) size = fmax(size, fabs(b->G[j]));
    return size;
}

static void check_whole(bed *b) {
    sgfsi_eval e = view_of(b, &sgfs_scheme_without, N);
    double *G = zeros(b->m->D), lp = 0, tiny = 1e-11 * size_of(b);
    assert_int_equal(sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, b->theta, G, &lp, NULL), SGFS_OK);
    for (int64_t j = 0; j < b->m->D; j++) assert_near(G[j], b->G[j], tiny, b->m->param[j]);
    assert_near(lp, b->lp, 1e-11 * fabs(b->lp), "log density");
    free(G);
}

static void check_average(bed *b) {
    int64_t D = b->m->D;
    sgfsi_eval e = view_of(b, &sgfs_scheme_with, 20);
    double *G = zeros(D), *sum = zeros(D), *squares = zeros(D);
    for (int t = 0; t < BATCHES; t++) {
        assert_int_equal(sgfsi_eval_gradient(&e, t, SGFSI_ROWS, b->theta, G, NULL, NULL), SGFS_OK);
        for (int64_t j = 0; j < D; j++) {
            sum[j] += G[j] - b->G[j];
            squares[j] += (G[j] - b->G[j]) * (G[j] - b->G[j]);
        }
    }
    for (int64_t j = 0; j < D; j++) {
        double mean = sum[j] / BATCHES, error = sqrt(squares[j]) / BATCHES;
        assert_near(mean, 0, 5 * error + 1e-11 * size_of(b), b->m->param[j]);
    }
    free(G), free(sum), free(squares);
}

static void check_at_anchor(bed *b) {
    int64_t D = b->m->D;
    sgfsi_eval e = view_of(b, &sgfs_scheme_with, 20);
    double *G = zeros(D), *wanted = zeros(D), lp;
    assert_int_equal(sgfsi_posterior_full(b->m, b->anchor, &lp, wanted, NULL, NULL), SGFS_OK);
    assert_int_equal(sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, b->anchor, G, NULL, NULL), SGFS_OK);
    for (int64_t j = 0; j < D; j++)
        assert_near(G[j], wanted[j], 1e-12 * size_of(b), b->m->param[j]);
    for (int64_t j = 0; j < D; j++) assert_true(e.gbar[j] == 0);
    free(G), free(wanted);
}

static void differences_give_the_gradient_of_all_rows(void **state) {
    (void)state;
    static const char *const models[][2] = {{"linear", NULL},  {"logistic", NULL},
                                            {"softmax", NULL}, {"poisson", NULL},
                                            {"mlp", "3"},      {"drbm", "2"}};
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        bed *b = calloc(1, sizeof *b);
        assert_non_null(b);
        open_bed(b, models[k][0], models[k][1]);
        check_whole(b);
        check_average(b);
        check_at_anchor(b);
        close_bed(b);
        free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_give_the_gradient_of_all_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
