/* SPDX-License-Identifier: MIT
 * Short chains whose end is written down here. The statistics of a chain would survive a change of
 * its random streams, of the order of draws or of the schedule of updates; users who cite a seed
 * would not. Compared to 1e-9, not bit by bit: compilers and BLAS may round differently, and the
 * chains forget rounding. To write them anew after a change that is meant: run with
 * SGFS_GOLDEN=print.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "chain/state.h"
#include "sgfs.h"

enum { N = 300, P = 2, MOST = 8 };

typedef struct golden {
    const char *model;
    const char *settings[14];
    double end[MOST]; /* chain 2 after 30 + 40 iterations */
} golden;

#define BATCH "run.batch", "60"

static const golden chains[] = {
    {"logistic",
     {"sampler.kind", "sgfs-f", "sampler.alpha", "1.3", BATCH, NULL},
     {0.48943394746760766, 1.6198051194926386, -0.83358990732438609}},
    {"logistic",
     {"sampler.kind", "sgfs-d", "run.batch_scheme", "without", BATCH, NULL},
     {0.5375040080714466, 1.6477359587666163, -0.8307001523682519}},
    {"linear",
     {"sampler.kind", "sgfs-f", "data.standardize", "true", BATCH, NULL},
     {0.21479010497710005, 0.85860212519549184, -0.55875320115218163, 0.030537038988331711}},
    {"linear",
     {"sampler.kind", "sgld", "sampler.epsilon", "0.001", "model.sigma", "1.1", BATCH, NULL},
     {0.19861765643810023, 0.87992155939839645, -0.57235833694454996}},
    {"logistic",
     {"sampler.kind", "sgfs-f", "run.preset", "paper", BATCH, NULL},
     {0.50995416723705689, 1.6296064951857336, -0.84392364391795105}},
    {"logistic",
     {"sampler.kind", "sgfs-b", "fisher.block_size", "2", "sampler.b", "diagonal", BATCH, NULL},
     {0.53363033328901177, 1.6102461572392475, -0.83630709955638693}},
    {"logistic",
     {"sampler.kind", "sgfs-f", "fisher.update", "cholesky", "sampler.anneal", "late", BATCH, NULL},
     {0.64629006175321946, 1.5816409943801955, -0.7872079412261751}},
    {"linear",
     {"sampler.kind", "sgfs-f", "sampler.cycles", "2", "fisher.freeze", "7", BATCH, NULL},
     {0.22146012907063886, 0.91670633538582136, -0.49217066253423397, 0.0062226125073785877}},
    {"linear",
     {"sampler.kind", "sgld", "sampler.precondition", "curvature", "sampler.epsilon", "0.03", BATCH,
      NULL},
     {0.12121138086851205, 0.098305811578083019, -0.60876087033234672, 0.3273464749817902}},
    {"logistic",
     {"sampler.kind", "psgld", "sampler.epsilon", "1e-5", BATCH, NULL},
     {-0.1250445449466995, -0.23229293124243677, -0.52890156676623468}},
    {"logistic",
     {"sampler.kind", "sghmc", "sampler.epsilon", "1e-4", BATCH, NULL},
     {0.59842972287643359, 1.1298576135602552, -0.64161532120132314}},
    {"logistic",
     {"sampler.kind", "sgnht", "sampler.epsilon", "1e-4", BATCH, NULL},
     {0.30801252795051193, 0.66453046107916047, -0.56083657085753214}},
    {"logistic",
     {"sampler.kind", "gauss", NULL},
     {0.49280610150249538, 1.6443346076288674, -0.80446534355817245}},
    {"logistic",
     {"sampler.kind", "sgfs-cv", BATCH, NULL},
     {0.50716481071663411, 1.702339785391763, -0.76664735865129474}},
    {"linear",
     {"sampler.kind", "sgfs-cv", "sampler.step", "0.4", "sampler.noise_matrix", "diag",
      "sampler.reanchor_at", "0.3", BATCH, NULL},
     {0.24028728850809636, 0.87895127299443687, -0.49590322333288378, 0.02237537354541393}},
    {"linear",
     {"sampler.kind", "laplace", NULL},
     {0.23469013812366527, 0.89874728920065683, -0.46682189009955644, 0.010994968522231119}},
    {"linear",
     {"sampler.kind", "hmc", "sampler.leapfrog", "4", NULL},
     {0.23218739604611532, 0.77388827689155804, -0.51556154335929705, 0.004867810031522468}},
    {"logistic",
     {"sampler.kind", "exact-rows", NULL},
     {0.47098216872949866, 1.4354919680371725, -0.55052996304878721}},
    {"logistic",
     {"sampler.kind", "exact-rows", "sampler.psi_entries", "40", "sampler.rho", "0.5", NULL},
     {0.50562426135256533, 1.4353611858513147, -0.56717112156915872}},
    {"linear",
     {"sampler.kind", "exact-rows", NULL},
     {0.24269117757772354, 0.84879961374326585, -0.38685604197497359, -0.024084900280142714}},
    {"logistic",
     {"sampler.kind", "nuts", NULL},
     {0.42852388619903092, 1.4932467790016073, -1.1023420207812813}},
};

static void make_rows(double *x, double *y, bool binary) {
    for (int64_t i = 0; i < N; i++) {
        sgfsi_stream s = sgfsi_stream_at(77, 0, i, SGFSI_FEATURES);
        double e;
        sgfsi_normals(&s, P, x + i * P);
        sgfsi_normals(&s, 1, &e);
        double eta = 0.3 + 0.8 * x[i * P] - 0.5 * x[i * P + 1] + e;
        y[i] = binary ? (eta > 0 ? 1 : 0) : eta;
    }
}

static void run_chain(const golden *g, double *end, int64_t *D) {
    static double x[N * P], y[N];
    sgfs_err err;
    sgfs_config *cfg = sgfs_config_new();
    const char *common[] = {"run.chains", "2",  "run.warmup",      "30", "run.draws", "40",
                            "run.seed",   "19", "prior.precision", "1",  NULL};
    for (int i = 0; common[i] != NULL; i += 2) sgfs_config_set(cfg, common[i], common[i + 1], NULL);
    for (int i = 0; g->settings[i] != NULL; i += 2) {
        assert_int_equal(sgfs_config_set(cfg, g->settings[i], g->settings[i + 1], &err), SGFS_OK);
    }
    make_rows(x, y, strcmp(g->model, "logistic") == 0);
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open(g->model, data, cfg, &err);
    sgfs_run *run = m != NULL ? sgfs_run_open(m, cfg, &err) : NULL;
    if (run == NULL) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    *D = sgfs_model_dim(m);
    memcpy(end, sgfs_run_theta(run, 1), (size_t)*D * sizeof *end);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_chains_end_where_they_did(void **state) {
    (void)state;
    const char *wish = getenv("SGFS_GOLDEN");
    for (size_t k = 0; k < sizeof chains / sizeof chains[0]; k++) {
        double end[MOST];
        int64_t D;
        run_chain(&chains[k], end, &D);
        for (int64_t j = 0; j < D; j++) {
            if (wish != NULL) print_message("%.17g, ", end[j]);
            else if (!(fabs(end[j] - chains[k].end[j]) < 1e-9)) {
                fail_msg("chain %d, parameter %d: %.17g, was %.17g", (int)k, (int)j, end[j],
                         chains[k].end[j]);
            }
        }
        if (wish != NULL) print_message("\n");
    }
}

/* A state that was saved by another arithmetic is refused (chain/resume.c), so its number has to
 * change with the ends above. */
static void test_other_ends_have_another_number(void **state) {
    (void)state;
    const struct {
        int number;
        uint32_t crc;
    } written = {2, 0x576921c2};
    uint32_t crc = 0;
    for (size_t k = 0; k < sizeof chains / sizeof chains[0]; k++)
        crc = sgfsi_crc32(crc, chains[k].end, sizeof chains[k].end);
    if (crc != written.crc || SGFSI_ARITHMETIC != written.number)
        fail_msg("the checksum of all ends is 0x%08x: write that here, and unless lines were only "
                 "added, raise SGFSI_ARITHMETIC (%d) in src/chain/state.h, too",
                 crc, SGFSI_ARITHMETIC);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains_end_where_they_did),
                                       cmocka_unit_test(test_other_ends_have_another_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
