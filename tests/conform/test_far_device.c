/* SPDX-License-Identifier: MIT
 * test_far_device.c: a device whose memory the host cannot touch.
 *
 * Its arrays have addresses in a map without any permission, and their numbers lie at the same
 * place of a second map: whoever reads or writes them without the device's operations dies of a
 * segmentation fault. Every operation moves the addresses over and lets OpenBLAS do the work, so a
 * run has to have the bits of a run on `blas`. Arrays that grow with n D or D^2 have to come from
 * the device: the operations insist on it.
 *
 * `test_far_device cuda` makes the same runs on a GPU: twice the same bits, and the numbers of
 * `blas` up to rounding. It skips where there is none. `test_far_device cuda few` makes some of
 * them, for a pretended GPU, whose threads take turns.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chain/run.h"
#include "model/kept.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/unit_prior.h"

enum { FAR = 1 << 26, ROWS = 240, WARMUP = 60, DRAWS = 50 };

static const sgfs_device *const blas = &sgfs_device_blas;
static bool on_gpu, few;

typedef struct far_state {
    char *base;   /* FAR bytes that nobody may touch, and FAR that are meant by them */
    int64_t used; /* bytes; what is freed is not given again */
    int64_t arrays, opened, closed, kept;
    int64_t gathered, linked, layered, products, formed; /* calls */
    int64_t answers; /* calls that the host has to wait for: numbers come back */
} far_state;
static far_state far;

static bool is_far(const double *A) {
    const char *at = (const char *)A;
    return at >= far.base && at < far.base + FAR;
}

/* The numbers of an array that has to be the device's. */
static double *cells(const double *A) {
    if (!is_far(A)) fail_msg("an array of the host's was handed to the device");
    return (double *)((char *)A + FAR);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static sgfs_status far_open(sgfs_device *dev, sgfs_err *err) {
    far = (far_state){.opened = 1};
    far.base = mmap(NULL, 2 * (size_t)FAR, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (far.base == MAP_FAILED) return sgfsi_fail_memory(err, "the far side");
    assert_int_equal(mprotect(far.base + FAR, FAR, PROT_READ | PROT_WRITE), 0);
    dev->state = &far;
    return SGFS_OK;
}

static void far_close(sgfs_device *dev) {
    assert_ptr_equal(dev->state, &far);
    assert_true(far.arrays == 0 && far.kept == 0); /* all is back before the device goes */
    assert_int_equal(munmap(far.base, 2 * (size_t)FAR), 0);
    far.closed++;
}

static double *far_alloc(SGFSI_HERE, int64_t n) {
    char *A = far.base + far.used;
    far.used += (n * (int64_t)sizeof(double) + 63) / 64 * 64;
    if (far.used > FAR) return NULL;
    far.arrays++;
    return (double *)A;
}

static void far_free(SGFSI_HERE, double *A) {
    assert_true(is_far(A));
    far.arrays--;
}

static void far_put(SGFSI_HERE, int64_t n, const double *host, double *A) {
    memcpy(cells(A), host, (size_t)n * sizeof *A);
}

static void far_get(SGFSI_HERE, int64_t n, const double *A, double *host) {
    far.answers++;
    memcpy(host, cells(A), (size_t)n * sizeof *A);
}

static void far_zero(SGFSI_HERE, int64_t n, double *A) {
    memset(cells(A), 0, (size_t)n * sizeof *A);
}

static void far_times(SGFSI_HERE, int64_t n, double a, double *A) {
    sgfsi_times(blas, n, a, cells(A));
}

static void far_minus(SGFSI_HERE, int64_t n, const double *A, const double *B, double *C) {
    sgfsi_minus(blas, n, cells(A), cells(B), cells(C));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Doubles of one part, as a CSV file makes them. */
typedef struct kept_rows {
    int64_t rows, p;
    double *X;
} kept_rows;

static void *far_keep_rows(SGFSI_HERE, const sgfsi_stored *rows) {
    kept_rows *kept = malloc(sizeof *kept);
    int64_t p = rows->features + rows->intercept;
    assert_non_null(kept);
    if (rows->parts == 0) { /* packed files: the host gathers */
        free(kept);
        return NULL;
    }
    assert_true(rows->type == SGFSI_F64 && rows->parts == 1 && rows->part[0].rows == rows->rows);
    *kept = (kept_rows){rows->rows, p, malloc((size_t)(rows->rows * p) * sizeof(double))};
    assert_non_null(kept->X);
    for (int64_t i = 0; i < rows->rows; i++) {
        const double *cell = (const double *)(rows->part[0].cells + i * rows->row_bytes);
        double *to = kept->X + i * p;
        int64_t j = 0;
        if (rows->intercept) *to++ = 1;
        for (int64_t s = 0; s < rows->spans; s++) {
            for (int64_t c = 0; c < rows->span[s].count; c++, j++) {
                double x = cell[rows->span[s].first + c];
                *to++ = rows->scale != NULL ? (x - rows->shift[j]) * rows->scale[j] : x;
            }
        }
        assert_int_equal(j, rows->features);
    }
    far.kept++;
    return kept;
}

static void far_drop_rows(SGFSI_HERE, void *kept) {
    free(((kept_rows *)kept)->X);
    free(kept);
    far.kept--;
}

static void far_gather(SGFSI_HERE, const void *kept, const int64_t *row, int64_t first, int64_t n,
                       double *X) {
    const kept_rows *from = kept;
    double *to = cells(X);
    far.gathered++;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = row != NULL ? row[i] : first + i;
        assert_in_range(at, 0, from->rows - 1);
        memcpy(to + i * from->p, from->X + at * from->p, (size_t)from->p * sizeof *to);
    }
}

static void far_link(SGFSI_HERE, sgfsi_link link, const sgfsi_pointwise *p) {
    far.linked++;
    sgfsi_link_of(blas, link, p);
}

static void far_softmax(SGFSI_HERE, const sgfsi_softmax *s) {
    far.answers++;
    sgfsi_softmax there = *s;
    far.linked++;
    there.P = cells(s->P);
    sgfsi_softmax_of(blas, &there);
}

static void far_unit_less(SGFSI_HERE, int64_t n, int64_t k, const double *at, double *P) {
    sgfsi_unit_less(blas, n, k, at, cells(P));
}

static void far_activate(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, double *A, double *V) {
    far.layered++;
    sgfsi_activate(blas, unit, n, h, cells(A), cells(V));
}

static void far_slope(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                      const double *B, double *C) {
    sgfsi_slope_of(blas, unit, n, h, cells(V), cells(B), cells(C));
}

static void far_classes(SGFSI_HERE, const sgfsi_classes *c) {
    if (c->loglik != NULL) far.answers++;
    sgfsi_classes there = *c;
    far.linked++;
    there.E = cells(c->E);
    sgfsi_classes_of(blas, &there);
}

static double *cells_or_none(const double *A) {
    return A != NULL ? cells(A) : NULL;
}

static void far_boltzmann(SGFSI_HERE, const sgfsi_boltzmann *b) {
    if (b->loglik != NULL) far.answers++;
    sgfsi_boltzmann there = *b;
    far.layered++;
    assert_non_null(b->S); /* made from rows in the host's memory alone */
    there.S = cells(b->S);
    there.U = cells(b->U);
    there.B = cells_or_none(b->B);
    there.P = cells_or_none(b->P);
    there.E = cells_or_none(b->E);
    there.EU = cells_or_none(b->EU);
    there.ES = cells_or_none(b->ES);
    sgfsi_boltzmann_of(blas, &there);
}

/* The left factor of one row is a vector of the host's. */
static sgfsi_outer far_factors(const sgfsi_outer *o) {
    sgfsi_outer there = *o;
    if (o->rows > 1) there.left = cells(o->left);
    there.right = cells(o->right);
    return there;
}

static void far_outer(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride) {
    const sgfsi_outer there = far_factors(o);
    far.formed++;
    sgfsi_outer_of(blas, &there, cells(B), stride);
}

static void far_outer_sums(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double a, double b,
                           const double *ones, double *y) {
    far.answers++;
    sgfsi_outer there[SGFS_BLOCKS_TOGETHER];
    far.products++;
    for (int64_t k = 0; k < count; k++) there[k] = far_factors(&o[k]);
    sgfsi_outer_sums(blas, count, there, a, b, ones, y);
}

static void far_outer_squares(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double *room,
                              int64_t size, double *ss) {
    far.answers++;
    sgfsi_outer there[SGFS_BLOCKS_TOGETHER];
    for (int64_t k = 0; k < count; k++) there[k] = far_factors(&o[k]);
    sgfsi_outer_squares(blas, count, there, room, size, ss);
}

/* ---- products -------------------------------------------------------------------------------- */

static double far_dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    return sgfsi_dot(blas, n, x, y);
}
static void far_axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    sgfsi_axpy(blas, n, a, x, y);
}
static void far_gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                     double b, double *y) {
    far.answers++;
    far.products++;
    sgfsi_gemv(blas, m, k, a, cells(X), v, b, y);
}
static void far_gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                       double b, double *y) {
    far.answers++;
    far.products++;
    sgfsi_gemv_t(blas, m, k, a, cells(X), v, b, y);
}
static void far_gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                        const double *B, double b, double *C) {
    far.products++;
    sgfsi_gemm_tn(blas, m, r, c, a, cells(A), cells(B), b, cells(C));
}
static void far_gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                        const double *B, double b, double *C) {
    far.products++;
    sgfsi_gemm_nt(blas, m, r, k, a, cells(A), cells(B), b, cells(C));
}
static void far_gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                        const double *B, double b, double *C) {
    far.products++;
    sgfsi_gemm_nn(blas, m, r, k, a, cells(A), cells(B), b, cells(C));
}
static void far_syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                       double *C) {
    far.products++;
    sgfsi_syrk_t(blas, m, k, a, cells(X), b, cells(C));
}
static int64_t far_potrf(SGFSI_HERE, int64_t D, double *A) {
    far.answers++;
    return sgfsi_potrf(blas, D, cells(A));
}
static void far_unpotrf(SGFSI_HERE, int64_t D, double *L) {
    sgfsi_unpotrf(blas, D, cells(L));
}
static void far_potri(SGFSI_HERE, int64_t D, double *L) {
    sgfsi_potri(blas, D, cells(L));
}
static int64_t far_chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X,
                               double *work) {
    far.answers++;
    return sgfsi_chol_update(blas, D, n, cells(L), cells(X), cells(work));
}
static int64_t far_inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X,
                              double *work) {
    far.answers++;
    return sgfsi_inv_update(blas, D, n, cells(P), cells(X), cells(work));
}
static void far_trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    far.answers++;
    sgfsi_trsv(blas, D, cells(L), transposed, x);
}
static void far_solve_noisy(SGFSI_HERE, int64_t D, const double *L, double a, const double *z,
                            double *x) {
    far.answers++;
    sgfsi_solve_noisy(blas, D, cells(L), a, z, x);
}
static void far_trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    far.answers++;
    sgfsi_trmv(blas, D, cells(L), transposed, x);
}
static void far_symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    far.answers++;
    sgfsi_symv(blas, D, cells(A), x, y);
}
static void far_combine(SGFSI_HERE, int64_t D, double b, const double *B, double c, const double *C,
                        double *A) {
    sgfsi_combine(blas, D, b, cells(B), c, C != NULL ? cells(C) : NULL, cells(A));
}
static void far_add_diag(SGFSI_HERE, int64_t D, double c, const double *d, double *A) {
    sgfsi_add_diag(blas, D, c, d, cells(A));
}
static void far_get_diag(SGFSI_HERE, int64_t D, const double *A, double *d) {
    far.answers++;
    sgfsi_get_diag(blas, D, cells(A), d);
}
static double far_trace(SGFSI_HERE, int64_t D, const double *A) {
    far.answers++;
    return sgfsi_trace_of(blas, D, cells(A));
}
static void far_transpose(SGFSI_HERE, int64_t D, double *A) {
    sgfsi_transpose(blas, D, cells(A));
}
static void far_invert_factor(SGFSI_HERE, int64_t D, const double *L, double *A) {
    sgfsi_invert_factor(blas, D, cells(L), cells(A));
}

static const sgfsi_device_ops far_ops = {
    .open = far_open,
    .close = far_close,
    .alloc = far_alloc,
    .free = far_free,
    .put = far_put,
    .get = far_get,
    .zero = far_zero,
    .times = far_times,
    .keep_rows = far_keep_rows,
    .drop_rows = far_drop_rows,
    .gather = far_gather,
    .link = far_link,
    .softmax = far_softmax,
    .unit_less = far_unit_less,
    .minus = far_minus,
    .activate = far_activate,
    .slope = far_slope,
    .classes = far_classes,
    .boltzmann = far_boltzmann,
    .outer = far_outer,
    .outer_sums = far_outer_sums,
    .outer_squares = far_outer_squares,
    .gemm_tn = far_gemm_tn,
    .gemm_nt = far_gemm_nt,
    .gemm_nn = far_gemm_nn,
    .dot = far_dot,
    .axpy = far_axpy,
    .gemv = far_gemv,
    .gemv_t = far_gemv_t,
    .syrk_t = far_syrk_t,
    .potrf = far_potrf,
    .unpotrf = far_unpotrf,
    .potri = far_potri,
    .chol_update = far_chol_update,
    .inv_update = far_inv_update,
    .trsv = far_trsv,
    .solve_noisy = far_solve_noisy,
    .trmv = far_trmv,
    .symv = far_symv,
    .exp = sgfsi_vec_exp,
    .log1p = sgfsi_vec_log1p,
    .combine = far_combine,
    .add_diag = far_add_diag,
    .get_diag = far_get_diag,
    .trace = far_trace,
    .transpose = far_transpose,
    .invert_factor = far_invert_factor,
};
/* ---- runs ------------------------------------------------------------------------------------ */

static char rows_file[] = "/tmp/sgfs_far_XXXXXX.csv";

static void write_rows(void) {
    int fd = mkstemps(rows_file, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    uint64_t seed = 31;
    assert_non_null(f);
    fprintf(f, "a,y,b,c,three,count,size,group\n");
    for (int64_t i = 0; i < ROWS; i++) {
        double a = next_normal(&seed), b = 0.5 * a + next_normal(&seed), c = next_normal(&seed);
        double eta = 0.8 * a - 0.5 * c + next_normal(&seed);
        fprintf(f, "%.6f,%d,%.6f,%.6f,%s,%d,%.6f,g%d\n", a, eta > 0.2, b, c,
                eta < -0.4  ? "low"
                : eta < 0.5 ? "middle"
                            : "high",
                (int)exp(0.7 * eta), 3 + 2 * eta, (int)(i % 12));
    }
    fclose(f);
}

enum { MOST = 12 };
/* A run, by the options that make it: at most MOST, ended by NULL. */
typedef struct settings {
    const char *model, *target;
    const char *option[MOST + 1][2];
    bool host_gathers; /* the device keeps no rows */
    bool near;         /* the host does the work: passes over all rows, and single ones */
    const char *thin;  /* "13": so many iterations for each draw; NULL: one */
    double stretched;  /* what rounding may grow to on a GPU, where host and blas round alike */
} settings;

/* The model's device is another from now on. */
static void move_to_far(sgfs_model *model, const sgfs_device *kind) {
    sgfs_err err;
    assert_int_equal(sgfsi_device_open(&model->ctx.device, kind, 0, &err), SGFS_OK);
    assert_int_equal(
        sgfsi_gatherer_open(&model->gatherer, model->data, &model->ctx, true, &model->arena, &err),
        SGFS_OK);
    assert_int_equal(sgfsi_kept_open(model, &err), SGFS_OK);
    bool all_rows = kind == &sgfs_device_cuda && model->kind->glm != NULL;
    assert_true((model->kept != NULL) == (all_rows && model->data->groups == NULL));
}

static void give(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

typedef struct fit {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
} fit;

/* On blas (kind NULL) or on another device. */
static fit open_fit(const settings *is, const sgfs_device *kind) {
    sgfs_err err;
    fit of = {.cfg = unit_prior_config()};
    give(of.cfg, "data.features", "a,b,c");
    give(of.cfg, "data.target", is->target);
    give(of.cfg, "run.warmup", "60");
    give(of.cfg, "run.draws", "50");
    give(of.cfg, "run.thin", "1");
    give(of.cfg, "run.chains", "2");
    give(of.cfg, "run.threads", "1");
    if (!is->near) give(of.cfg, "run.batch", "60");
    if (is->thin != NULL) {
        give(of.cfg, "run.thin", is->thin);
        give(of.cfg, "run.draws", "650");
    }
    for (int k = 0; is->option[k][0] != NULL; k++) give(of.cfg, is->option[k][0], is->option[k][1]);
    of.data = sgfs_data_open(rows_file, of.cfg, &err);
    of.model = of.data != NULL ? sgfs_model_open(is->model, of.data, of.cfg, &err) : NULL;
    if (of.model == NULL) fail_msg("%s: %s", is->model, err.text);
    if (kind != NULL) move_to_far(of.model, kind);
    return of;
}

static void close_fit(fit *of) {
    sgfs_model_free(of->model);
    sgfs_data_free(of->data);
    sgfs_config_free(of->cfg);
}

/* The draws of both chains. malloc'ed; *numbers of them. */
static double *draws_of(const settings *is, const sgfs_device *kind, int64_t *numbers) {
    sgfs_err err;
    fit of = open_fit(is, kind);
    sgfs_run *run = sgfs_run_open(of.model, of.cfg, &err);
    if (run == NULL) fail_msg("%s: %s", is->model, err.text);
    int64_t iterations = is->thin != NULL ? 13 * DRAWS : DRAWS;
    if (sgfs_run_step(run, WARMUP + iterations, &err) != SGFS_OK) fail_msg("%s", err.text);
    int64_t each = DRAWS * of.model->D;
    double *draws = malloc((size_t)(2 * each) * sizeof *draws);
    assert_non_null(draws);
    for (int c = 0; c < 2; c++) {
        const sgfsi_chain_draws *chain = &run->out.memory->chain[c];
        assert_int_equal(chain->draws, DRAWS);
        memcpy(draws + c * each, chain->theta, (size_t)each * sizeof *draws);
    }
    *numbers = 2 * each;
    sgfs_run_free(run);
    close_fit(&of);
    return draws;
}

static double furthest(int64_t n, const double *a, const double *b) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]) / (1 + fabs(a[i])));
    return most;
}

/* Steps shrink what rounding did to those before, but those of networks may stretch it until two
 * chains have nothing in common. How much they do is seen from `host`, which rounds otherwise than
 * `blas`, too: a GPU is as close to `blas` as `host` is, within a factor of a thousand. */
static void compare_on_gpu(settings is) {
    int64_t numbers, others;
    double *here = draws_of(&is, NULL, &numbers);
    double *there = draws_of(&is, &sgfs_device_cuda, &others),
           *again = few ? NULL : draws_of(&is, &sgfs_device_cuda, &others);
    assert_int_equal(numbers, others);
    if (again != NULL) assert_memory_equal(there, again, (size_t)numbers * sizeof *there);
    double *plain = draws_of(&is, &sgfs_device_host, &others);
    double apart = furthest(numbers, here, there),
           allowed = 1e-10 + is.stretched + 1e3 * furthest(numbers, here, plain);
    if (apart > allowed)
        fail_msg("%s %s: %g apart, where %g is allowed", is.model, is.option[0][1], apart, allowed);
    free(plain);
    free(here), free(there), free(again);
}

/* Every batch is gathered, linked and multiplied by the device, and the draws are those of blas. */
static void compare(settings is) {
    if (on_gpu) {
        compare_on_gpu(is);
        return;
    }
    sgfsi_device_ops ops = far_ops;
    if (is.host_gathers) ops.gather = NULL;
    const sgfs_device kind = {.name = "far", .ops = &ops, .most = INT64_MAX};
    int64_t iterations = 2 * (WARMUP + DRAWS), numbers, others;
    double *here = draws_of(&is, NULL, &numbers), *there = draws_of(&is, &kind, &others);
    assert_int_equal(numbers, others);
    for (int64_t i = 0; i < numbers; i++)
        if (memcmp(&here[i], &there[i], sizeof *here) != 0)
            fail_msg("%s %s: draw %lld differs: %.17g, %.17g", is.model, is.option[0][1],
                     (long long)i, here[i], there[i]);
    assert_true(here[0] != here[numbers - 1]);
    assert_true(far.opened == 1 && far.closed == 1);
    if (is.host_gathers || is.near) assert_int_equal(far.gathered, 0);
    else assert_true(far.gathered >= iterations);
    assert_true(is.near || far.products >= 2 * iterations); /* predictors and gradients at least */
    free(here);
    free(there);
}

static void test_a_run_with_memory_that_the_host_cannot_touch(void **state) {
    (void)state;
    compare((settings){.model = "logistic", .target = "y", .option = {{"sampler.kind", "sgfs-f"}}});
    assert_true(on_gpu || (far.formed > 0 && far.linked >= 2 * (WARMUP + DRAWS)));
}

static void test_standardised_rows(void **state) {
    (void)state;
    compare((settings){.model = "logistic",
                       .target = "y",
                       .option = {{"sampler.kind", "sgfs-f"}, {"data.standardize", "true"}}});
    compare((settings){.model = "linear",
                       .target = "size",
                       .option = {{"sampler.kind", "sgfs-f"}, {"data.standardize", "true"}}});
}

static void test_a_device_without_gather_is_handed_the_rows(void **state) {
    (void)state;
    compare((settings){.model = "logistic",
                       .target = "y",
                       .option = {{"sampler.kind", "sgfs-f"}},
                       .host_gathers = true});
    compare((settings){.model = "drbm",
                       .target = "three",
                       .option = {{"sampler.kind", "sgfs-f"}},
                       .host_gathers = true});
}

/* A factor that is kept up to date, and an inverse. */
static void test_factors_that_batches_change(void **state) {
    (void)state;
    static const char *const model[][2] = {{"logistic", "y"}, {"mlp", "three"}, {"drbm", "three"}};
    for (size_t k = 0; k < sizeof model / sizeof *model; k++) {
        compare((settings){.model = model[k][0],
                           .target = model[k][1],
                           .option = {{"sampler.kind", "sgfs-f"}, {"fisher.update", "cholesky"}}});
        compare((settings){.model = model[k][0],
                           .target = model[k][1],
                           .option = {{"sampler.kind", "sgfs-f"},
                                      {"fisher.update", "woodbury"},
                                      {"sampler.alpha", "0"},
                                      {"sampler.warmup_alpha", "0"}}});
    }
}

/* Every model in its plain setting with every sampler that looks at minibatches. */
static void test_every_model_with_every_sampler(void **state) {
    static const char *const model[][2] = {{"logistic", "y"},  {"poisson", "count"},
                                           {"linear", "size"}, {"softmax", "three"},
                                           {"mlp", "three"},   {"drbm", "three"}};
    static const char *const sampler[][4] = {{"sgfs-f"},
                                             {"sgfs-f", "sampler.b", "diagonal"},
                                             {"sgfs-d"},
                                             {"sgfs-b"},
                                             {"sgfs-cv"},
                                             {"sgfs-cv", "sampler.anchor_cache", "on"},
                                             {"sgld", "sampler.epsilon", "1e-4"},
                                             {"sgd", "sampler.epsilon", "1e-4"},
                                             {"psgld", "sampler.epsilon", "1e-4"},
                                             {"sghmc", "sampler.noise_estimate", "scores"},
                                             {"sgnht", "sampler.epsilon", "1e-5"}};
    (void)state;
    for (size_t m = 0; m < sizeof model / sizeof *model; m++) {
        bool network = m >= 4;
        for (size_t k = 0; k < sizeof sampler / sizeof *sampler; k++) {
            if (network && strcmp(sampler[k][0], "sgfs-cv") == 0) continue; /* it has no mode */
            if (few && k > 0 && m > 0) continue;
            settings is = {.model = model[m][0],
                           .target = model[m][1],
                           .option = {{"sampler.kind", sampler[k][0]}}};
            is.option[1][0] = sampler[k][1];
            is.option[1][1] = sampler[k][2];
            if (network) {
                int next = sampler[k][1] != NULL ? 2 : 1;
                is.option[next][0] = "model.hidden";
                is.option[next][1] = "4";
            }
            far.layered = 0;
            compare(is);
            assert_true(on_gpu || !network || far.layered >= 2 * (WARMUP + DRAWS));
        }
    }
}

/* Left factors of one row are vectors, the host's, and those of several the device's: one unit, one
 * predictor; and every readout and kind of unit. */
static void test_every_shape_of_a_model(void **state) {
    static const char *const shape[][7] = {
        {"softmax", "y"},
        {"softmax", "three", "model.reference_class", "none"},
        {"linear", "size", "model.sigma", "1.7"},
        {"linear", "size", "data.intercept", "false"},
        {"mlp", "three", "model.hidden", "none"},
        {"mlp", "three", "model.hidden", "1", "model.activation", "relu"},
        {"mlp", "three", "model.hidden", "5,1,3", "model.activation", "tanh"},
        {"mlp", "y", "model.hidden", "3", "model.output", "logistic"},
        {"mlp", "y", "model.hidden", "1", "model.output", "logistic"},
        {"mlp", "y", "model.hidden", "none", "model.output", "logistic"},
        {"mlp", "size", "model.hidden", "3", "model.output", "gaussian"},
        {"mlp", "size", "model.hidden", "2,2", "model.sigma", "1.7"},
        {"mlp", "size", "model.hidden", "none", "data.standardize", "true"},
        {"drbm", "y", "model.hidden", "1"},
        {"drbm", "three", "model.hidden", "7", "data.intercept", "false"}};
    static const char *const sampler[] = {"sgfs-f", "sgfs-d", "sgfs-b"};
    (void)state;
    for (size_t m = 0; m < sizeof shape / sizeof *shape; m++) {
        for (size_t k = 0; k < (on_gpu ? 1 : sizeof sampler / sizeof *sampler); k++) {
            settings is = {.model = shape[m][0],
                           .target = shape[m][1],
                           .option = {{"sampler.kind", sampler[k]}}};
            for (int o = 0; shape[m][2 + 2 * o] != NULL; o++) {
                is.option[1 + o][0] = shape[m][2 + 2 * o];
                is.option[1 + o][1] = shape[m][3 + 2 * o];
            }
            compare(is);
        }
    }
}

/* Between two factors of the matrix the host waits for the gradient, the density and the step; with
 * one left factor in a row also for the predictors that it makes residuals of. */
static void test_the_host_waits_a_few_times_for_a_draw(void **state) {
    static const struct {
        const char *model, *target, *sampler;
        int64_t waits;
    } list[] = {{"drbm", "three", "sgfs-f", 3},  {"mlp", "three", "sgfs-f", 3},
                {"mlp", "three", "sgfs-b", 4},   {"mlp", "three", "sgfs-d", 2},
                {"mlp", "three", "sgld", 2},     {"softmax", "three", "sgfs-f", 3},
                {"linear", "size", "sgfs-f", 3}, {"logistic", "y", "sgfs-f", 3},
                {"logistic", "y", "sgld", 2}};
    const sgfs_device kind = {.name = "far", .ops = &far_ops, .most = INT64_MAX};
    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        sgfs_err err;
        settings is = {.model = list[k].model,
                       .target = list[k].target,
                       .option = {{"sampler.kind", list[k].sampler}}};
        if (strcmp(list[k].sampler, "sgld") == 0) {
            is.option[1][0] = "sampler.epsilon";
            is.option[1][1] = "1e-4";
        } else {
            is.option[1][0] = "fisher.every";
            is.option[1][1] = "1000000";
        }
        fit of = open_fit(&is, &kind);
        sgfs_run *run = sgfs_run_open(of.model, of.cfg, &err);
        if (run == NULL || sgfs_run_step(run, WARMUP + 1, &err) != SGFS_OK)
            fail_msg("%s", err.text);
        int64_t before = far.answers;
        if (sgfs_run_step(run, DRAWS - 1, &err) != SGFS_OK) fail_msg("%s", err.text);
        int64_t waits = far.answers - before, draws = 2 * (DRAWS - 1);
        if (waits != list[k].waits * draws)
            fail_msg("%s %s: %g waits for each draw", is.model, list[k].sampler,
                     (double)waits / (double)draws);
        sgfs_run_free(run);
        close_fit(&of);
    }
}

static void test_samplers_that_look_at_all_rows(void **state) {
    static const char *const sampler[] = {"laplace", "exact-rows", "nuts"};
    static const char *const whole[] = {"exact-pairs", "exact-hmc", "gauss"};
    static const char *const glm[][2] = {
        {"logistic", "y"}, {"poisson", "count"}, {"linear", "size"}};
    (void)state;
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        for (size_t m = few ? k % 3 : 0; m < (few ? k % 3 + 1 : sizeof glm / sizeof *glm); m++)
            compare((settings){.model = glm[m][0],
                               .target = glm[m][1],
                               .option = {{"sampler.kind", whole[k]}},
                               .near = true});
    /* three blocks of proposals, which a GPU makes together */
    compare((settings){.model = "logistic",
                       .target = "y",
                       .option = {{"sampler.kind", "exact-pairs"}},
                       .near = true,
                       .thin = "13"});
    /* trajectories of nuts stretch rounding, tenfold in some iterations of warm-up */
    for (size_t k = 0; k < (few ? 2 : sizeof sampler / sizeof *sampler); k++)
        compare((settings){.model = "logistic",
                           .target = "y",
                           .option = {{"sampler.kind", sampler[k]}},
                           .near = true,
                           .stretched = k == 2 ? 1e-6 : 0});
    if (few) return;
    /* whose passes are the host's, as its last layer has one unit */
    compare((settings){.model = "mlp",
                       .target = "size",
                       .option = {{"sampler.kind", "nuts"}, {"model.hidden", "2"}},
                       .near = true});
    compare((settings){.model = "logistic",
                       .target = "y",
                       .option = {{"data.effects", "(1 | group)"}},
                       .near = true});
    compare((settings){.model = "linear",
                       .target = "size",
                       .option = {{"data.effects", "(1 | group)"}},
                       .near = true});
}

/* Single scores are looked at in the host's memory. */
static void test_gradients_are_checked_there(void **state) {
    static const char *const model[][2] = {
        {"logistic", "y"}, {"softmax", "three"}, {"mlp", "three"}, {"drbm", "three"}};
    const sgfs_device kind = {.name = "far", .ops = &far_ops, .most = INT64_MAX};
    (void)state;
    for (size_t k = 0; k < sizeof model / sizeof *model; k++) {
        sgfs_err err;
        const settings is = {.model = model[k][0], .target = model[k][1], .option = {{NULL}}};
        fit of = open_fit(&is, &kind);
        sgfs_job *job = sgfs_check_grad_open(of.model, of.cfg, &err);
        if (job == NULL || sgfs_job_run(job, &err) != SGFS_OK) fail_msg("%s", err.text);
        const sgfs_check_grad *found = sgfs_job_result(job);
        assert_true(found->passed);
        sgfs_job_free(job);
        close_fit(&of);
    }
}

static void test_models_that_need_the_host_stay_there(void **state) {
    const sgfs_device kind = {.name = "far", .ops = &far_ops, .most = INT64_MAX};
    sgfsi_context ctx = {.near = blas};
    sgfs_err err;
    (void)state;
    for (const sgfs_model_kind *const *m = sgfsi_models; *m != NULL; m++) assert_true((*m)->far);
    assert_int_equal(sgfsi_device_open(&ctx.device, &kind, 0, &err), SGFS_OK);
    sgfsi_context_stay_near(&ctx);
    assert_ptr_equal(ctx.device, blas);
    assert_true(far.opened == 1 && far.closed == 1);
    sgfsi_context_stay_near(&ctx);
    sgfsi_context_close(&ctx);
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
    const sgfs_device *gpu = NULL;
    on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    few = argc > 2 && strcmp(argv[2], "few") == 0;
    if (on_gpu && !open_gpu(&gpu)) return SKIPPED;
    sgfsi_device_close(gpu);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_with_memory_that_the_host_cannot_touch),
        cmocka_unit_test(test_standardised_rows),
        cmocka_unit_test(test_a_device_without_gather_is_handed_the_rows),
        cmocka_unit_test(test_factors_that_batches_change),
        cmocka_unit_test(test_every_model_with_every_sampler),
        cmocka_unit_test(test_every_shape_of_a_model),
        cmocka_unit_test(test_the_host_waits_a_few_times_for_a_draw),
        cmocka_unit_test(test_samplers_that_look_at_all_rows),
        cmocka_unit_test(test_gradients_are_checked_there),
        cmocka_unit_test(test_models_that_need_the_host_stay_there),
    };
    /* The others look into the device of this file. */
    const struct CMUnitTest shared[] = {tests[0], tests[1], tests[2], tests[3],
                                        tests[4], tests[5], tests[7]};
    const struct CMUnitTest some[] = {tests[1], tests[2], tests[4], tests[7]};
    return few      ? cmocka_run_group_tests(some, setup, teardown)
           : on_gpu ? cmocka_run_group_tests(shared, setup, teardown)
                    : cmocka_run_group_tests(tests, setup, teardown);
}
