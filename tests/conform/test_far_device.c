/* SPDX-License-Identifier: MIT
 * test_far_device.c: a device whose memory the host cannot touch.
 *
 * Its arrays have addresses in a map without any permission, and their numbers lie at the same
 * place of a second map: whoever reads or writes them without the device's operations dies of a
 * segmentation fault. Every operation moves the addresses over and lets OpenBLAS do the work, so a
 * run has to have the bits of a run on `blas`. Arrays that grow with n D or D^2 have to come from the
 * device: the operations insist on it.
 *
 * `test_far_device cuda` makes the same runs on a GPU: twice the same bits, and the numbers of `blas`
 * up to rounding. It skips where there is none.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chain/run.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { FAR = 1 << 26, ROWS = 240, WARMUP = 60, DRAWS = 50 };

static const sgfs_device *const blas = &sgfs_device_blas;
static bool on_gpu;

typedef struct far_state {
    char *base;   /* FAR bytes that nobody may touch, and FAR that are meant by them */
    int64_t used; /* bytes; what is freed is not given again */
    int64_t arrays, opened, closed, kept;
    int64_t gathered, linked, products, formed; /* calls */
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
    memcpy(host, cells(A), (size_t)n * sizeof *A);
}

static void far_zero(SGFSI_HERE, int64_t n, double *A) {
    memset(cells(A), 0, (size_t)n * sizeof *A);
}

static void far_times(SGFSI_HERE, int64_t n, double a, double *A) {
    sgfsi_times(blas, n, a, cells(A));
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

static void far_outer(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride) {
    sgfsi_outer there = *o;
    far.formed++;
    if (is_far(o->left)) there.left = cells(o->left); /* a vector where rows is 1 */
    there.right = cells(o->right);
    sgfsi_outer_of(blas, &there, cells(B), stride);
}

static void far_squares(SGFSI_HERE, int64_t n, int64_t k, const double *v, const double *X,
                        double *ss) {
    sgfsi_squares(blas, n, k, v, cells(X), ss);
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
    far.products++;
    sgfsi_gemv(blas, m, k, a, cells(X), v, b, y);
}
static void far_gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                       double b, double *y) {
    far.products++;
    sgfsi_gemv_t(blas, m, k, a, cells(X), v, b, y);
}
static void far_syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                       double *C) {
    far.products++;
    sgfsi_syrk_t(blas, m, k, a, cells(X), b, cells(C));
}
static int64_t far_potrf(SGFSI_HERE, int64_t D, double *A) {
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
    return sgfsi_chol_update(blas, D, n, cells(L), cells(X), cells(work));
}
static int64_t far_inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X,
                              double *work) {
    return sgfsi_inv_update(blas, D, n, cells(P), cells(X), cells(work));
}
static void far_trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    sgfsi_trsv(blas, D, cells(L), transposed, x);
}
static void far_trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    sgfsi_trmv(blas, D, cells(L), transposed, x);
}
static void far_symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
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
    sgfsi_get_diag(blas, D, cells(A), d);
}
static double far_trace(SGFSI_HERE, int64_t D, const double *A) {
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
    .outer = far_outer,
    .squares = far_squares,
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
    fprintf(f, "a,y,b,c\n");
    for (int64_t i = 0; i < ROWS; i++) {
        double a = next_normal(&seed), b = 0.5 * a + next_normal(&seed), c = next_normal(&seed);
        fprintf(f, "%.6f,%d,%.6f,%.6f\n", a, 0.8 * a - 0.5 * c + next_normal(&seed) > 0.2, b, c);
    }
    fclose(f);
}

typedef struct settings {
    const char *sampler, *update, *standardize;
    bool keeps; /* the device keeps the rows and gathers */
    bool near;  /* the host does the work: passes over all rows, and single ones */
} settings;

/* The model's device is another from now on. */
static void move_to_far(sgfs_model *model, const sgfs_device *kind) {
    sgfs_err err;
    assert_int_equal(sgfsi_device_open(&model->ctx.device, kind, 0, &err), SGFS_OK);
    assert_int_equal(
        sgfsi_gatherer_open(&model->gatherer, model->data, model->ctx.device, &model->arena, &err),
        SGFS_OK);
}

/* The draws of both chains, on blas (kind NULL) or on another device. malloc'ed. */
static double *draws_of(const settings *is, const sgfs_device *kind) {
    const char *const set[][2] = {
        {"data.target", "y"},
        {"sampler.kind", is->sampler},
        {"run.warmup", "60"},
        {"run.draws", "50"},
        {"run.thin", "1"},
        {"run.chains", "2"},
        {"run.threads", "1"},
        {"run.batch", is->near ? NULL : "60"},
        {"data.standardize", is->standardize},
        {"fisher.update", is->update},
        {"sampler.epsilon", strcmp(is->sampler, "sgld") == 0 ? "1e-4" : NULL}};
    sgfs_config *cfg = unit_prior_config();
    sgfs_err err;
    for (size_t k = 0; k < sizeof set / sizeof *set; k++) {
        if (set[k][1] == NULL) continue;
        if (sgfs_config_set(cfg, set[k][0], set[k][1], &err) != SGFS_OK) fail_msg("%s", err.text);
    }
    sgfs_data *data = sgfs_data_open(rows_file, cfg, &err);
    sgfs_model *model = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    if (model == NULL) fail_msg("%s", err.text);
    if (kind != NULL) move_to_far(model, kind);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    if (sgfs_run_step(run, WARMUP + DRAWS, &err) != SGFS_OK) fail_msg("%s", err.text);
    int64_t each = DRAWS * model->D;
    double *draws = malloc((size_t)(2 * each) * sizeof *draws);
    assert_non_null(draws);
    for (int c = 0; c < 2; c++) {
        const sgfsi_chain_draws *chain = &run->out.memory->chain[c];
        assert_int_equal(chain->draws, DRAWS);
        memcpy(draws + c * each, chain->theta, (size_t)each * sizeof *draws);
    }
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return draws;
}

/* A step shrinks what rounding did to the one before, so that 110 iterations are as close as one: a
 * sum over 60 rows and a factor of 4 x 4, within 10^-12. */
static void compare_on_gpu(settings is) {
    double *here = draws_of(&is, NULL), *there = draws_of(&is, &sgfs_device_cuda),
           *again = draws_of(&is, &sgfs_device_cuda);
    assert_memory_equal(there, again, 2 * DRAWS * 4 * sizeof *there);
    for (int k = 0; k < 2 * DRAWS * 4; k++)
        assert_near(there[k], here[k], 1e-10 * (1 + fabs(here[k])), is.sampler);
    free(here), free(there), free(again);
}

/* Every batch is gathered, linked and multiplied by the device, and the draws are those of blas. */
static void compare(settings is) {
    if (on_gpu) {
        compare_on_gpu(is);
        return;
    }
    sgfsi_device_ops ops = far_ops;
    if (!is.keeps) ops.gather = NULL;
    const sgfs_device kind = {.name = "far", .ops = &ops, .most = INT64_MAX};
    double *here = draws_of(&is, NULL), *there = draws_of(&is, &kind);
    int64_t iterations = 2 * (WARMUP + DRAWS);
    assert_memory_equal(here, there, 2 * DRAWS * 4 * sizeof *here);
    assert_true(far.opened == 1 && far.closed == 1);
    if (is.keeps && !is.near) assert_true(far.gathered >= iterations);
    else assert_int_equal(far.gathered, 0);
    assert_true(is.near || far.linked >= iterations);
    assert_true(is.near || far.products >= 2 * iterations); /* X beta and X'residual at least */
    free(here);
    free(there);
}

static void test_a_run_with_memory_that_the_host_cannot_touch(void **state) {
    (void)state;
    compare((settings){.sampler = "sgfs-f", .keeps = true});
    assert_true(on_gpu || far.formed > 0);
}

static void test_standardised_rows(void **state) {
    (void)state;
    compare((settings){.sampler = "sgfs-f", .standardize = "true", .keeps = true});
}

static void test_a_device_without_gather_is_handed_the_rows(void **state) {
    (void)state;
    compare((settings){.sampler = "sgfs-f"});
}

static void test_a_factor_that_is_kept_up_to_date(void **state) {
    (void)state;
    compare((settings){.sampler = "sgfs-f", .update = "cholesky", .keeps = true});
}

static void test_other_samplers_with_minibatches(void **state) {
    (void)state;
    compare((settings){.sampler = "sgfs-d", .keeps = true});
    compare((settings){.sampler = "sgfs-b", .keeps = true});
    compare((settings){.sampler = "sgfs-cv", .keeps = true});
    compare((settings){.sampler = "sgld", .keeps = true});
}

static void test_samplers_that_look_at_all_rows(void **state) {
    (void)state;
    compare((settings){.sampler = "laplace", .keeps = true, .near = true});
    compare((settings){.sampler = "exact-rows", .keeps = true, .near = true});
    compare((settings){.sampler = "nuts", .keeps = true, .near = true});
}

static void test_a_model_that_needs_the_host_stays_there(void **state) {
    const sgfs_device kind = {.name = "far", .ops = &far_ops, .most = INT64_MAX};
    sgfsi_context ctx = {.near = blas};
    if (on_gpu) return;
    sgfs_err err;
    (void)state;
    assert_true(sgfs_model_logistic.far && !sgfs_model_mlp.far);
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
    enum { SKIPPED = 77 };
    const sgfs_device *gpu = NULL;
    sgfs_err err;
    on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (on_gpu && sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK) {
        print_message("Skipped: %s\n", err.text);
        return SKIPPED;
    }
    sgfsi_device_close(gpu);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_with_memory_that_the_host_cannot_touch),
        cmocka_unit_test(test_standardised_rows),
        cmocka_unit_test(test_a_device_without_gather_is_handed_the_rows),
        cmocka_unit_test(test_a_factor_that_is_kept_up_to_date),
        cmocka_unit_test(test_other_samplers_with_minibatches),
        cmocka_unit_test(test_samplers_that_look_at_all_rows),
        cmocka_unit_test(test_a_model_that_needs_the_host_stays_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
