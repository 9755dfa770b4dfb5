/* SPDX-License-Identifier: MIT
 * test_ahead.c: iterations that a device makes ahead of the chains (sampler/ahead.h) are those that
 * the chains would have made themselves.
 *
 * The device is `blas` with a `walk` in plain C, which follows the formulas of walk.h line by line;
 * as `test_ahead cuda` it is a GPU, and as `test_ahead cuda few` a pretended one, for which some of
 * the cases do. Runs are compared with those of `blas`, up to rounding, and with themselves, bit
 * for bit: in stretches of one, seven and a hundred iterations, and taken up again where they were.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/rng.h"
#include "chain/run.h"
#include "chain/state.h"
#include "context/device/walk.h"
#include "sampler/ahead.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/unit_prior.h"

enum { ROWS = 300, MOST = 8 };

static bool on_gpu, few;
static int64_t warmup = 60, draws = 60, chains = 3; /* fewer where threads take turns */
static int64_t walked;                              /* iterations that the plain walk made */

/* ---- a device that walks, in plain C --------------------------------------------------------- */

static double some_room(SGFSI_HERE) {
    return 1e9;
}

typedef struct kept_rows {
    int64_t p;
    double *X;
} kept_rows;

/* Doubles of one part, as a CSV file makes them. */
static void *keep_rows(SGFSI_HERE, const sgfsi_stored *rows) {
    int64_t p = rows->features + rows->intercept;
    kept_rows *kept = malloc(sizeof *kept);
    assert_non_null(kept);
    *kept = (kept_rows){p, malloc((size_t)(rows->rows * p) * sizeof(double))};
    assert_true(kept->X != NULL && rows->type == SGFSI_F64 && rows->parts == 1);
    for (int64_t i = 0; i < rows->rows; i++) {
        const double *cell = (const double *)(rows->part[0].cells + i * rows->row_bytes);
        double *to = kept->X + i * p;
        int64_t j = 0;
        if (rows->intercept) *to++ = 1;
        for (int64_t s = 0; s < rows->spans; s++)
            for (int64_t c = 0; c < rows->span[s].count; c++, j++) {
                double x = cell[rows->span[s].first + c];
                *to++ = rows->scale != NULL ? (x - rows->shift[j]) * rows->scale[j] : x;
            }
    }
    return kept;
}

static void drop_rows(SGFSI_HERE, void *kept) {
    free(((kept_rows *)kept)->X);
    free(kept);
}

static void gather(SGFSI_HERE, const void *kept, const int64_t *row, int64_t first, int64_t n,
                   double *X) {
    const kept_rows *from = kept;
    for (int64_t i = 0; i < n; i++)
        memcpy(X + i * from->p, from->X + (row != NULL ? row[i] : first + i) * from->p,
               (size_t)from->p * sizeof *X);
}

/* A count of a small mean: what is left of u when probabilities are taken off it from the mode on,
 * upwards and downwards in turn. */
static double count_of(double mean, double u) {
    double low = floor(mean), high = low, above;
    double below = above = exp(low * log(mean) - mean - lgamma(low + 1));
    for (u -= below;; u -= below) {
        if (u < 0) return low;
        above *= mean / ++high;
        u -= above;
        if (u < 0) return high;
        below *= low-- / mean;
    }
}

/* r_i and log p_i of the rows at theta, own: with targets drawn from the model. */
static void look(const sgfsi_walk_law *law, const sgfsi_walk *w, int64_t t, const int64_t *row,
                 const double *theta, bool own, double *residual, double *loglik) {
    double random[2 * 64];
    sgfsi_stream stream = sgfsi_stream_at(w->seed, w->chain, t, SGFSI_MODEL);
    sgfsi_normals(&stream, law->n, random);
    sgfsi_uniforms(&stream, law->n, random);
    for (int64_t i = 0; i < law->n; i++) {
        const double *x = law->X + row[i] * law->stride;
        double eta = 0, y = law->y[row[i]];
        for (int64_t j = 0; j < law->D; j++) eta += x[j] * theta[j];
        double p = 1 / (1 + exp(-eta)), one = own ? random[i] < p : y == law->one;
        if (law->link == SGFSI_LOG && own) y = count_of(exp(eta), random[i]);
        residual[i] = law->link == SGFSI_LOG ? y - exp(eta) : one - p;
        loglik[i] =
            law->link == SGFSI_LOG ? y * eta - exp(eta) - lgamma(y + 1) : log(one != 0 ? p : 1 - p);
    }
}

/* One iteration; false: it cannot be made, and the averages are as they were. */
static bool walk_once(const sgfsi_walk_law *law, sgfsi_walk *w, const sgfsi_walk_step *s,
                      double *theta, double *about) {
    enum { D_MOST = 8, N_MOST = 64 };
    int64_t n = law->n, D = law->D, row[N_MOST];
    double residual[N_MOST], loglik[N_MOST], gbar[D_MOST] = {0}, x[D_MOST], z[D_MOST];
    double before[2][D_MOST * D_MOST], K[D_MOST * D_MOST], lp = 0;
    bool full = law->matrix == SGFSI_WALK_FULL;
    assert_true(n <= N_MOST && D <= D_MOST);
    sgfsi_stream stream = sgfsi_stream_at(w->seed, w->chain, s->t, SGFSI_ROWS);
    sgfsi_indices(&stream, n, law->N, row);
    look(law, w, s->t, row, theta, false, residual, loglik);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < D; j++)
            gbar[j] += residual[i] * law->X[row[i] * law->stride + j] / (double)n;
        lp += law->total / (double)n * loglik[i];
    }
    about[0] = 0;
    for (int64_t j = 0; j < D; j++) {
        x[j] = law->total * gbar[j] - law->precision[j] * theta[j];
        about[0] += x[j] * x[j];
        lp -= law->precision[j] * theta[j] * theta[j] / 2;
    }
    about[0] = sqrt(about[0]);
    about[1] = lp;
    if (!isfinite(about[0])) return false;
    for (int which = 0; which < 2; which++) {
        if ((s->learns >> which & 1) == 0) continue;
        if (which == 1) look(law, w, s->t, row, theta, true, residual, loglik);
        for (int64_t r = 0; r < D; r++) {
            for (int64_t c = full ? 0 : r; c <= r; c++) {
                double v = 0, *at = &w->average[which][full ? r * D + c : r];
                for (int64_t i = 0; i < n; i++) {
                    double mean_r = which == 0 ? gbar[r] : 0, mean_c = which == 0 ? gbar[c] : 0;
                    const double *g = law->X + row[i] * law->stride;
                    v += (residual[i] * g[r] - mean_r) * (residual[i] * g[c] - mean_c);
                }
                before[which][full ? r * D + c : r] = *at;
                *at = s->decay[which] * *at + s->weight[which] * v;
            }
        }
    }
    if (s->from != 0) {
        for (int64_t r = 0; r < D; r++)
            for (int64_t c = full ? 0 : r; c <= r; c++) {
                int64_t at = full ? r * D + c : r;
                K[at] = law->gain * w->average[s->from - 1][at] +
                        (r == c ? s->share * law->counted[r] : 0);
            }
        int64_t failed = full ? sgfsi_potrf(&sgfs_device_host, D, K) : 0;
        for (int64_t j = 0; j < D && !full && failed == 0; j++) {
            if (!(K[j] > 0)) failed = j + 1;
            K[j] = sqrt(K[j]);
        }
        for (int which = 0; which < 2 && failed != 0; which++)
            for (int64_t r = 0; r < D && s->learns >> which & 1; r++)
                for (int64_t c = full ? 0 : r; c <= r; c++) {
                    int64_t at = full ? r * D + c : r;
                    w->average[which][at] = before[which][at];
                }
        if (failed != 0) return false;
        for (int64_t r = 0; r < D; r++)
            for (int64_t c = full ? 0 : r; c <= r; c++)
                w->L[full ? r * D + c : r] = K[full ? r * D + c : r];
    }
    stream = sgfsi_stream_at(w->seed, w->chain, s->t, SGFSI_PRIOR);
    sgfsi_normals(&stream, D, z);
    for (int64_t j = 0; j < D; j++) x[j] += s->prior * sqrt(law->counted[j]) * z[j];
    stream = sgfsi_stream_at(w->seed, w->chain, s->t, SGFSI_NOISE);
    sgfsi_normals(&stream, D, z);
    if (full) sgfsi_solve_noisy(&sgfs_device_host, D, w->L, s->noise, z, x);
    for (int64_t j = 0; j < D; j++) {
        bool plain = law->matrix == SGFSI_WALK_PLAIN;
        if (law->matrix == SGFSI_WALK_DIAGONAL) x[j] = (x[j] / w->L[j] + s->noise * z[j]) / w->L[j];
        theta[j] += s->size * x[j] + (plain ? s->noise * z[j] : 0);
    }
    return true;
}

static void plain_walk(SGFSI_HERE, const sgfsi_walk_law *law, int64_t count, sgfsi_walk *walks) {
    for (int64_t c = 0; c < count; c++) {
        sgfsi_walk *w = &walks[c];
        double theta[8];
        memcpy(theta, w->theta, (size_t)law->D * sizeof *theta);
        for (w->done = 0; w->done < w->count; w->done++, walked++) {
            if (!walk_once(law, w, &w->step[w->done], theta, w->about + 2 * w->done)) break;
            memcpy(w->path + w->done * law->D, theta, (size_t)law->D * sizeof *theta);
        }
    }
}

static sgfsi_device_ops plain_ops;
static const sgfs_device plain = {.name = "plain", .ops = &plain_ops, .most = INT64_MAX};

/* ---- runs ------------------------------------------------------------------------------------ */

static char rows_file[] = "/tmp/sgfs_ahead_XXXXXX.csv";

/* `rare` is 0 but in a few rows. */
static void write_rows(void) {
    int fd = mkstemps(rows_file, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    uint64_t seed = 77;
    assert_non_null(f);
    fprintf(f, "a,b,c,y,count,rare,size\n");
    for (int64_t i = 0; i < ROWS; i++) {
        double a = next_normal(&seed), b = 0.5 * a + next_normal(&seed), c = next_normal(&seed);
        double eta = 0.8 * a - 0.5 * c + next_normal(&seed);
        fprintf(f, "%.6f,%.6f,%.6f,%s,%d,%d,%.6f\n", a, b, c, eta > 0.2 ? "yes" : "no",
                (int)exp(0.7 * eta), i % 50 == 7, eta);
    }
    fclose(f);
}

/* So many columns and rows of a batch that a GPU makes iterations by many blocks of threads. */
enum { WIDE = 200, WIDE_ROWS = 500 };
static char wide_file[] = "/tmp/sgfs_ahead_XXXXXX.csv";

static void write_wide_rows(void) {
    int fd = mkstemps(wide_file, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    uint64_t seed = 78;
    assert_non_null(f);
    for (int j = 0; j < WIDE; j++) fprintf(f, "x%d,", j);
    fprintf(f, "y,count\n");
    for (int64_t i = 0; i < WIDE_ROWS; i++) {
        double eta = 0.3 * next_normal(&seed);
        for (int j = 0; j < WIDE; j++) {
            double x = 0.1 * next_normal(&seed);
            eta += 0.5 * x;
            fprintf(f, "%.6f,", x);
        }
        fprintf(f, "%s,%d\n", eta > 0.1 ? "yes" : "no", (int)exp(0.7 * eta));
    }
    fclose(f);
}

typedef struct settings {
    const char *model, *sampler;
    const char *option[MOST + 1][2];
    bool never; /* nothing is made ahead */
} settings;

static bool wide; /* rows of the wide file */

typedef struct fit {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_run *run;
} fit;

static void give(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* On blas (kind NULL), or on another device. */
static fit open_fit(const settings *is, const sgfs_device *kind) {
    sgfs_err err;
    char number[24];
    fit of = {.cfg = unit_prior_config()};
    bool counts = strcmp(is->model, "poisson") == 0;
    if (wide) give(of.cfg, "data.drop", counts ? "y" : "count");
    else give(of.cfg, "data.features", "a,b,c");
    give(of.cfg, "data.target", counts ? "count" : "y");
    give(of.cfg, "sampler.kind", is->sampler);
    snprintf(number, sizeof number, "%d", (int)warmup);
    give(of.cfg, "run.warmup", number);
    snprintf(number, sizeof number, "%d", (int)draws);
    give(of.cfg, "run.draws", number);
    snprintf(number, sizeof number, "%d", (int)chains);
    give(of.cfg, "run.chains", number);
    give(of.cfg, "run.thin", "1");
    give(of.cfg, "run.threads", "2");
    give(of.cfg, "run.batch", wide ? "75" : "50");
    for (int k = 0; is->option[k][0] != NULL; k++) give(of.cfg, is->option[k][0], is->option[k][1]);
    of.data = sgfs_data_open(wide ? wide_file : rows_file, of.cfg, &err);
    of.model = of.data != NULL ? sgfs_model_open(is->model, of.data, of.cfg, &err) : NULL;
    if (of.model == NULL) fail_msg("%s: %s", is->model, err.text);
    if (kind != NULL) {
        if (sgfsi_device_open(&of.model->ctx.device, kind, 0, &err) != SGFS_OK ||
            sgfsi_gatherer_open(&of.model->gatherer, of.model->data, &of.model->ctx, true,
                                &of.model->arena, &err) != SGFS_OK)
            fail_msg("%s", err.text);
    }
    of.run = sgfs_run_open(of.model, of.cfg, &err);
    if (of.run == NULL) fail_msg("%s %s: %s", is->model, is->sampler, err.text);
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

static const sgfs_device *device(void) {
    return on_gpu ? &sgfs_device_cuda : &plain;
}

static fit walk_in(const settings *is, int64_t stretch) {
    fit of = open_fit(is, device());
    bool ahead = of.run->chain[0].sampler.ahead != NULL;
    if (ahead == is->never) fail_msg("%s %s: ahead is %d", is->model, is->sampler, ahead);
    advance(&of, warmup + draws, stretch);
    return of;
}

/* The furthest draw or statistic, relative to its size. */
static double furthest(const fit *a, const fit *b) {
    double most = 0;
    for (int64_t c = 0; c < chains; c++) {
        const sgfsi_chain_draws *x = &a->run->out.memory->chain[c],
                                *y = &b->run->out.memory->chain[c];
        int64_t D = a->model->D, S = a->run->chain[c].S;
        assert_true(x->draws == y->draws && x->draws > 0);
        for (int64_t i = 0; i < x->draws * D; i++)
            most = fmax(most, fabs(x->theta[i] - y->theta[i]) / (1 + fabs(x->theta[i])));
        for (int64_t i = 0; i < x->draws * S; i++)
            most = fmax(most, fabs(x->stats[i] - y->stats[i]) / (1 + fabs(x->stats[i])));
        if (!(most < INFINITY)) fail_msg("draws that are no numbers");
        assert_int_equal(a->run->chain[c].sampler.eval.rows_touched,
                         b->run->chain[c].sampler.eval.rows_touched);
        assert_int_equal(a->run->chain[c].sampler.interventions,
                         b->run->chain[c].sampler.interventions);
    }
    return most;
}

static void assert_same_bits(const settings *is, const fit *a, const fit *b, int64_t stretch) {
    for (int64_t c = 0; c < chains; c++) {
        const sgfsi_chain_draws *x = &a->run->out.memory->chain[c],
                                *y = &b->run->out.memory->chain[c];
        size_t theta = (size_t)(x->draws * a->model->D) * sizeof(double),
               stats = (size_t)(x->draws * a->run->chain[c].S) * sizeof(double);
        assert_int_equal(x->draws, y->draws);
        if (memcmp(x->theta, y->theta, theta) != 0 || memcmp(x->stats, y->stats, stats) != 0)
            fail_msg("%s %s %s: other bits in stretches of %lld", is->model, is->sampler,
                     is->option[0][0] != NULL ? is->option[0][0] : "", (long long)stretch);
    }
}

static const settings all[] = {
    {"logistic", "sgfs-f", {{"run.thin", "3"}}, false},
    {"poisson", "sgfs-f", {{NULL, NULL}}, false},
    {"logistic", "sgfs-f", {{"fisher.every", "1"}, {"sampler.alpha", "1.3"}}, false},
    {"logistic", "sgfs-d", {{NULL, NULL}}, false},
    {"logistic", "sgld", {{"sampler.epsilon", "0.002"}}, false},
    {"poisson", "sgfs-f", {{"sampler.warmup_by", "scores"}}, false},
    {"poisson", "sgfs-d", {{"sampler.warmup_by", "scores"}, {"sampler.alpha", "2"}}, false},
    {"poisson", "sgld", {{"sampler.epsilon", "0.001"}, {"sampler.cycles", "4"}}, false},
    {"logistic", "sgd", {{"sampler.epsilon", "0.002"}}, false},
    {"logistic", "sgfs-f", {{"sampler.cycles", "4"}, {"sampler.alpha", "1"}}, false},
    {"logistic", "sgfs-f", {{"sampler.prior_in_matrix", "false"}}, false},
    {"logistic", "sgfs-f", {{"data.intercept", "false"}, {"fisher.kappa", "forget"}}, false},
    {"logistic", "sgfs-f", {{"data.standardize", "true"}, {"fisher.warmup_every", "4"}}, false},
    {"logistic", "sgld", {{"prior.kind", "flat"}, {"sampler.epsilon", "0.002"}}, false},
};
enum { CASES = sizeof all / sizeof all[0], FEW = 5 };

/* Rounding alone sets them apart, and steps shrink it: by 1e-9, where spreads are about 0.2. */
static void test_they_are_those_of_blas(void **state) {
    (void)state;
    for (int k = 0; k < (few ? FEW : CASES); k++) {
        fit here = open_fit(&all[k], NULL);
        int64_t before = walked, iterations = chains * (warmup + draws);
        advance(&here, warmup + draws, warmup + draws);
        fit there = walk_in(&all[k], warmup + draws);
        double apart = furthest(&here, &there);
        if (apart > 1e-9)
            fail_msg("%s %s (case %d): %g apart", all[k].model, all[k].sampler, k, apart);
        if (!on_gpu && walked - before < iterations - chains) /* all but the first of each chain */
            fail_msg("case %d: %lld iterations of %lld were made ahead", k,
                     (long long)(walked - before), (long long)iterations);
        close_fit(&here);
        close_fit(&there);
    }
}

static void test_stretches_of_any_length(void **state) {
    const int64_t stretches[] = {1, 7, 100};
    (void)state;
    for (int k = 0; k < (few ? 3 : CASES); k++) {
        fit whole = walk_in(&all[k], warmup + draws);
        for (int i = few ? 1 : 0; i < (few ? 2 : 3); i++) {
            fit pieces = walk_in(&all[k], stretches[i]);
            assert_same_bits(&all[k], &whole, &pieces, stretches[i]);
            close_fit(&pieces);
        }
        close_fit(&whole);
    }
}

static void test_taken_up_again(void **state) {
    const int64_t places[] = {1, warmup / 2 - 1, warmup / 2, warmup, warmup + 1, warmup + 13};
    sgfs_err err;
    (void)state;
    for (int k = 0; k < (few ? 1 : CASES); k++) {
        fit whole = walk_in(&all[k], warmup + draws);
        for (int i = few ? 4 : 0; i < (few ? 5 : 6); i++) {
            fit first = open_fit(&all[k], device()), rest = open_fit(&all[k], device());
            size_t bytes;
            advance(&first, places[i], 13);
            void *saved = sgfsi_state_save(first.run, &bytes, &err);
            assert_non_null(saved);
            assert_int_equal(sgfsi_state_load(rest.run, saved, bytes, &err), SGFS_OK);
            advance(&rest, warmup + draws - places[i], 1000);
            for (int64_t c = 0; c < chains; c++) {
                const sgfsi_chain *x = &whole.run->chain[c], *y = &rest.run->chain[c];
                if (memcmp(x->theta, y->theta, (size_t)x->D * sizeof(double)) != 0)
                    fail_msg("case %d: saved at %lld, chain %lld goes on elsewhere", k,
                             (long long)places[i], (long long)c);
            }
            free(saved);
            close_fit(&first);
            close_fit(&rest);
        }
        close_fit(&whole);
    }
}

/* A GPU gives a chain several blocks of threads where there are few chains, and one where there are
 * many: its numbers do not change. */
static void test_chains_beside_others(void **state) {
    int64_t before = chains, many = few ? 3 : 40;
    (void)state;
    for (int k = 0; k < (few ? 5 : CASES); k++) {
        fit alone = (chains = 1, walk_in(&all[k], 1000));
        fit beside = (chains = many, walk_in(&all[k], 1000));
        chains = 1;
        assert_same_bits(&all[k], &alone, &beside, 1000);
        close_fit(&alone);
        close_fit(&beside);
    }
    chains = before;
}

/* A matrix of one batch has no factor where the batch has none of the rare rows: then a ridge is
 * added, by the chain's own step, and the device goes on behind it. Steps are tiny, so that chains
 * stay where they are in spite of it. */
static void test_a_matrix_without_a_factor(void **state) {
    static const settings rare = {"logistic",
                                  "sgfs-f",
                                  {{"data.features", "a,rare"},
                                   {"sampler.prior_in_matrix", "false"},
                                   {"fisher.kappa", "constant"},
                                   {"fisher.kappa_value", "1"},
                                   {"sampler.warmup_by", "scores"},
                                   {"sampler.alpha", "30000"},
                                   {"sampler.warmup_alpha", "30000"},
                                   {"fisher.every", "3"}},
                                  false};
    int64_t interventions = 0, before = walked;
    (void)state;
    fit here = open_fit(&rare, NULL);
    advance(&here, warmup + draws, 1000);
    fit there = walk_in(&rare, 1000), pieces = walk_in(&rare, 7);
    for (int64_t c = 0; c < chains; c++) interventions += there.run->chain[c].sampler.interventions;
    assert_true(interventions > (few ? 1 : 10));
    if (!on_gpu) assert_true(walked - before > 100);
    assert_same_bits(&rare, &there, &pieces, 7);
    if (furthest(&here, &there) > 1e-6) /* the ridge is 1e-10 of the diagonal */
        fail_msg("%g apart", furthest(&here, &there));
    close_fit(&here);
    close_fit(&there);
    close_fit(&pieces);
}

/* What walk.h cannot say is made as before. */
static void test_what_is_not_made_ahead(void **state) {
    static const settings never[] = {
        {"logistic", "sgfs-f", {{"prior.kind", "laplace"}}, true},
        {"logistic", "sgfs-b", {{"fisher.block_size", "2"}}, true},
        {"logistic", "sgfs-f", {{"run.batch_scheme", "without"}}, true},
        {"logistic", "sghmc", {{"sampler.epsilon", "0.0001"}}, true},
        {"softmax", "sgfs-f", {{NULL, NULL}}, true},
    };
    (void)state;
    if (few) return;
    for (size_t k = 0; k < sizeof never / sizeof never[0]; k++) {
        fit of = walk_in(&never[k], 1000);
        close_fit(&of);
    }
}

/* Wide ones, which the plain walk has no room for. Some chains of 201 parameters stretch rounding:
 * they may be 1e-10 apart and a thousand times what two libraries of the processor are. */
static void test_wide_regressions(void **state) {
    static const settings all_wide[] = {
        {"logistic", "sgfs-f", {{"fisher.update", "refactor"}}, false},
        {"poisson", "sgld", {{"sampler.epsilon", "0.0001"}}, false},
        {"poisson", "sgfs-d", {{"sampler.warmup_by", "scores"}}, false},
        {"logistic", "sgfs-d", {{"sampler.alpha", "2"}}, false},
        {"poisson", "sgfs-f", {{"fisher.update", "refactor"}}, false},
        {"logistic",
         "sgfs-f",
         {{"fisher.update", "refactor"}, {"fisher.every", "1"}, {"sampler.alpha", "1"}},
         false},
    };
    (void)state;
    if (!on_gpu) return;
    write_wide_rows();
    wide = true;
    for (size_t k = 0; k < (few ? 3 : sizeof all_wide / sizeof all_wide[0]); k++) {
        int64_t many[2] = {warmup, draws};
        if (few) warmup = draws = 4;
        fit here = open_fit(&all_wide[k], NULL);
        advance(&here, warmup + draws, 1000);
        fit there = walk_in(&all_wide[k], 1000), pieces = walk_in(&all_wide[k], 3);
        fit other = open_fit(&all_wide[k], &sgfs_device_host);
        advance(&other, warmup + draws, 1000);
        double apart = furthest(&here, &there), usual = furthest(&here, &other);
        if (apart > 1e-10 + 1000 * usual || apart > 1e-4)
            fail_msg("%s %s (case %zu): %g apart, the processor's libraries %g", all_wide[k].model,
                     all_wide[k].sampler, k, apart, usual);
        close_fit(&other);
        assert_same_bits(&all_wide[k], &there, &pieces, 3);
        close_fit(&here);
        close_fit(&there);
        close_fit(&pieces);
        warmup = many[0];
        draws = many[1];
    }
    wide = false;
    unlink(wide_file);
}

static int setup(void **state) {
    (void)state;
    plain_ops = *sgfs_device_blas.ops;
    plain_ops.keep_rows = keep_rows;
    plain_ops.drop_rows = drop_rows;
    plain_ops.gather = gather;
    plain_ops.room = some_room;
    plain_ops.walk = plain_walk;
    write_rows();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return unlink(rows_file);
}

int main(int argc, char **argv) {
    const sgfs_device *gpu = NULL;
    on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    few = argc > 2 && strcmp(argv[2], "few") == 0;
    if (few) warmup = draws = 20, chains = 2;
    if (on_gpu && !open_gpu(&gpu)) return SKIPPED;
    sgfsi_device_close(gpu);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_those_of_blas),
        cmocka_unit_test(test_stretches_of_any_length),
        cmocka_unit_test(test_taken_up_again),
        cmocka_unit_test(test_chains_beside_others),
        cmocka_unit_test(test_a_matrix_without_a_factor),
        cmocka_unit_test(test_what_is_not_made_ahead),
        cmocka_unit_test(test_wide_regressions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
