/* SPDX-License-Identifier: MIT
 * scores.c: microseconds for the scores of a batch, factored as they are handed over, beside the
 * bare matrix products and exponentials of the same shapes, in the same run. The project asks for
 * a ratio of at most 2. One thread, the fastest call of several rounds, the two taking turns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bare.h"
#include "base/rng.h"
#include "posterior/posterior.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { ROUNDS = 9 };
static const double round_seconds = 0.05;

/* A model, its data, and what it cannot do without. */
typedef struct bench_case {
    const char *name, *model;
    const char *const (*options)[2]; /* NULL-terminated */
    int64_t cols, classes;
    /* Products and exponentials: from numbers in (0, 1) at `in` (n x widest) to `out` and `other`
     * of the same size. */
    void (*bare)(const sgfs_device *dev, int64_t n, const double *theta, const double *in,
                 double *out, double *other);
    int64_t widest;
} bench_case;

/* ---- the cases ------------------------------------------------------------------------------- */

/* 20-30-10: forward n x 21 x 30 and n x 31 x 10, back n x 10 x 31, an exp for each of 40 units. */
static void bare_mlp(const sgfs_device *dev, int64_t n, const double *theta, const double *in,
                     double *out, double *other) {
    sgfsi_gemm_nt(dev, n, 30, 21, -1, in, theta, 0, out);
    sgfsi_exp(dev, n * 30, out, out);
    sgfsi_gemm_nt(dev, n, 10, 31, 1, in, theta + 630, 0, out);
    sgfsi_exp(dev, n * 10, out, out);
    sgfsi_gemm_nn(dev, n, 31, 10, 1, out, theta + 630, 0, other);
}

static const char *const mlp_options[][2] = {{"model.hidden", "30"}, {NULL, NULL}};

/* 41 units, 40 columns and a bias, 23 classes: X W', and an exp for each row, unit and class, in
 * runs of one row. */
static void bare_drbm(const sgfs_device *dev, int64_t n, const double *theta, const double *in,
                      double *out, double *other) {
    sgfsi_gemm_nt(dev, n, 41, 41, 1, in, theta, 0, other);
    for (int64_t i = 0; i < n; i++) sgfsi_exp(dev, 41 * 23, in + i * 41 * 23, out);
}

static const char *const drbm_options[][2] = {{"model.hidden", "41"}, {NULL, NULL}};

static const bench_case cases[] = {
    {"mlp 20-30-10", "mlp", mlp_options, 20, 10, bare_mlp, 31},
    {"drbm 41, 40-23", "drbm", drbm_options, 40, 23, bare_drbm, 41 * 23},
};

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct setup {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double *x, *y, *theta, *spread;
} setup;

static setup set_up(const bench_case *c, int64_t N) {
    sgfs_err err;
    setup s = {.cfg = unit_prior_config(),
               .x = need(N * c->cols, sizeof(double)),
               .y = need(N, sizeof(double))};
    for (int64_t k = 0; c->options[k][0] != NULL; k++) {
        if (sgfs_config_set(s.cfg, c->options[k][0], c->options[k][1], &err) != SGFS_OK)
            give_up(err.text);
    }
    sgfsi_stream stream = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&stream, N * c->cols, s.x);
    for (int64_t i = 0; i < N; i++) s.y[i] = (double)(i % c->classes);
    sgfs_arrays arrays = {.rows = N, .cols = c->cols, .x = s.x, .y = s.y};
    s.data = sgfs_data_wrap(&arrays, s.cfg, &err);
    s.m = s.data != NULL ? sgfs_model_open(c->model, s.data, s.cfg, &err) : NULL;
    if (s.m == NULL) give_up(err.text);
    s.theta = need(s.m->D, sizeof(double));
    s.spread = need(s.m->D, sizeof(double));
    s.m->kind->start(s.m, s.theta, s.spread);
    return s;
}

static void tear_down(setup *s) {
    sgfs_model_free(s->m);
    sgfs_data_free(s->data);
    sgfs_config_free(s->cfg);
    free(s->x), free(s->y), free(s->theta), free(s->spread);
}

/* The fastest of the calls that fill a round: whatever else runs on the machine only adds. */
static double time_scores(const setup *s, sgfsi_eval *e) {
    double end = cpu_now() + round_seconds, best = 1e30;
    e->scores.loglik = NULL; /* as in a step that records nothing */
    for (double before; (before = cpu_now()) < end;) {
        if (s->m->kind->scores(s->m, s->theta, &e->batcher.rows.batch, &e->scores, e->scratch,
                               NULL) != SGFS_OK)
            give_up("the scores failed");
        keep_least(&best, cpu_now() - before);
    }
    return best;
}

static double time_bare(const bench_case *c, const setup *s, int64_t n, double *room) {
    double end = cpu_now() + round_seconds, best = 1e30;
    int64_t size = n * c->widest;
    for (double before; (before = cpu_now()) < end;) {
        c->bare(s->m->ctx.device, n, s->theta, room, room + size, room + 2 * size);
        keep_least(&best, cpu_now() - before);
    }
    return best;
}

static void bench(const bench_case *c, int64_t n) {
    sgfs_err err;
    sgfsi_arena arena = {NULL};
    sgfsi_eval e = {.n = 0};
    setup s = set_up(c, 4 * n);
    double *room = need(3 * n * c->widest, sizeof(double)), *G = need(s.m->D, sizeof(double)),
           bare = 1e30, scores = 1e30;
    sgfsi_stream stream = sgfsi_stream_at(1, 0, 0, SGFSI_TARGET);
    sgfsi_uniforms(&stream, n * c->widest, room);
    const sgfs_scheme_kind *scheme = sgfsi_scheme_find("with");
    if (sgfsi_eval_open(&e, s.m, scheme, n, &arena, &err) != SGFS_OK ||
        sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, s.theta, G, NULL, &err) != SGFS_OK)
        give_up(err.text);
    for (int r = 0; r < ROUNDS; r++) {
        keep_least(&bare, time_bare(c, &s, n, room));
        keep_least(&scores, time_scores(&s, &e));
    }
    char workload[64];
    snprintf(workload, sizeof workload, "%s, D %lld, n %lld", c->name, (long long)s.m->D,
             (long long)n);
    printf("%s\n", workload);
    report(workload, "bare products and exps", 1e6 * bare, "us", 1e6 * bare);
    report(workload, "scores", 1e6 * scores, "us", 1e6 * bare);
    sgfsi_arena_free(&arena);
    free(room), free(G);
    tear_down(&s);
}

int main(void) {
    bare_begin();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        bench(&cases[k], 500);
        bench(&cases[k], 2000);
    }
    return 0;
}
