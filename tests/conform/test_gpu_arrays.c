/* SPDX-License-Identifier: MIT
 * test_gpu_arrays.c: rows that a program made on a GPU (sgfs_arrays.device) are sampled as rows of
 * the host's memory are: statistics of columns to the bit, rows to the bit, and draws to the bit of
 * those that the same GPU makes of the host's rows, of which it keeps a copy.
 *
 * `test_gpu_arrays cuda` does so on a GPU, `test_gpu_arrays cuda few` on a pretended one. Without a
 * word only what needs no GPU is tried. tests/python/test_gpu_arrays.py hands over arrays that
 * nobody but a kernel may look at.
 */
#include <stdio.h>

#include "chain/run.h"
#include "model/kept.h"
#include "rows/fingerprint.h"
#include "rows/rows.h"
#include "rows/table.h"
#include "tools/check.h"
#include "tools/gpu.h"

enum { COLS = 3, APART = 5 }; /* APART: from one row to the next */

static const sgfs_device *dev; /* NULL: there is none */
static bool few;

/* ---- arrays in both memories ----------------------------------------------------------------- */

/* The same numbers as cells of another type, by bytes; the caller frees. */
static void *cells_of(sgfsi_dtype type, int64_t n, const double *x) {
    char *cells = malloc((size_t)n * sizeof(double));
    assert_non_null(cells);
    for (int64_t i = 0; i < n; i++) {
        switch (type) {
#define PUT(NAME, name, type)                                                                      \
    case SGFSI_##NAME: ((type *)(void *)cells)[i] = (type)x[i]; break;
            SGFSI_CELL_TYPES(PUT)
#undef PUT
        case SGFSI_CSR: break;
        }
    }
    return cells;
}

static const char *name_of(sgfsi_dtype type) {
    switch (type) {
#define NAME(NAME, name, type)                                                                     \
    case SGFSI_##NAME: return #name;
        SGFSI_CELL_TYPES(NAME)
#undef NAME
    case SGFSI_CSR: break;
    }
    return "";
}

/* A copy on the GPU, for dev->ops->free to give back. */
static double *send(sgfsi_dtype type, int64_t n, const double *x) {
    int64_t whole = (n * (int64_t)sgfsi_dtype_size(type) + 7) / 8;
    void *cells = cells_of(type, n, x);
    double *there = dev->ops->alloc(dev, whole);
    assert_non_null(there);
    sgfsi_put(dev, whole, cells, there);
    free(cells);
    return there;
}

/* rows x COLS numbers, APART from one row to the next, that every type holds; those between the
 * rows belong to nobody. */
static double *make_cells(int64_t rows, bool whole) {
    double *x = numbers(rows * APART, 41);
    for (int64_t i = 0; i < rows * APART; i++) {
        x[i] = whole ? floor(50 + 49 * x[i]) : (double)(float)(3 * x[i] + (double)(i % APART));
        if (i % APART == 1) x[i] = x[i] > 2; /* zeros and ones */
        if (i % APART >= COLS) x[i] = 77;
    }
    return x;
}

typedef struct setup {
    int64_t rows;
    sgfsi_dtype type;   /* of the rows there, */
    sgfsi_dtype y_type; /* and of the targets */
    bool whole, weighted, exposed, classes;
    const char *option[8][2];
} setup;

/* The same rows in both memories. */
typedef struct pair {
    sgfs_config *cfg;
    double *x, *y, *weight, *exposure;
    double *far_x, *far_y, *far_weight, *far_exposure;
    sgfs_arrays here, there;
    sgfs_data *data, *far; /* of the host's, of the GPU's */
} pair;

static void give(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static pair make_pair(const setup *is) {
    int64_t n = is->rows;
    pair p = {.cfg = sgfs_config_new(), .x = make_cells(n, is->whole), .y = numbers(n, 42)};
    assert_non_null(p.cfg);
    for (int k = 0; k < 8 && is->option[k][0] != NULL; k++)
        give(p.cfg, is->option[k][0], is->option[k][1]);
    for (int64_t i = 0; i < n; i++) {
        double eta = 0.2 * p.x[i * APART] - 0.4 * p.x[i * APART + 1] + p.y[i];
        if (is->whole) eta = p.y[i];
        p.y[i] = is->classes ? floor(fmin(2, fmax(0, 1.5 + eta))) : eta > 0;
        if (is->exposed) p.y[i] = floor(exp(fmin(2, 0.5 + eta)));
    }
    if (is->weighted) {
        p.weight = numbers(n, 43);
        for (int64_t i = 0; i < n; i++)
            p.weight[i] = i % 5 == 3 || i / 256 == 1 ? 0 : 2 + p.weight[i];
    }
    if (is->exposed) {
        p.exposure = numbers(n, 44);
        for (int64_t i = 0; i < n; i++) p.exposure[i] = 2 + p.exposure[i];
    }
    p.here = (sgfs_arrays){.size = sizeof p.here,
                           .rows = n,
                           .cols = COLS,
                           .x = p.x,
                           .row_stride = APART,
                           .y = p.y,
                           .weights = p.weight,
                           .exposure = p.exposure};
    p.there = (sgfs_arrays){.size = sizeof p.there, .rows = n, .cols = COLS, .device = "cuda"};
    p.far_x = send(is->type, n * APART, p.x);
    p.far_y = send(is->y_type, n, p.y);
    p.there.device_x = (sgfs_device_array){p.far_x, name_of(is->type), APART};
    p.there.device_y = (sgfs_device_array){p.far_y, name_of(is->y_type), 0};
    if (is->weighted) {
        p.far_weight = send(SGFSI_F64, n, p.weight);
        p.there.device_weights = (sgfs_device_array){p.far_weight, "f64", 1};
    }
    if (is->exposed) {
        p.far_exposure = send(SGFSI_F64, n, p.exposure);
        p.there.device_exposure = (sgfs_device_array){p.far_exposure, "f64", 0};
    }
    return p;
}

static void open_pair(pair *p) {
    sgfs_err err;
    p->data = sgfs_data_wrap(&p->here, p->cfg, &err);
    if (p->data == NULL) fail_msg("%s", err.text);
    p->far = sgfs_data_wrap(&p->there, p->cfg, &err);
    if (p->far == NULL) fail_msg("%s", err.text);
    assert_true(sgfsi_data_is_far(p->far) && !sgfsi_data_is_far(p->data));
}

static void free_pair(pair *p) {
    double *const far[] = {p->far_x, p->far_y, p->far_weight, p->far_exposure};
    sgfs_data_free(p->data);
    sgfs_data_free(p->far);
    for (int k = 0; k < 4; k++)
        if (far[k] != NULL) dev->ops->free(dev, far[k]);
    free(p->x), free(p->y), free(p->weight), free(p->exposure);
    sgfs_config_free(p->cfg);
}

/* ---- what is known of the columns, and the rows ---------------------------------------------- */

static void compare_columns(const pair *p) {
    const sgfs_data *a = p->data, *b = p->far;
    assert_int_equal(a->N, b->N);
    assert_int_equal(a->features, b->features);
    assert_true(a->total == b->total);
    for (int64_t j = 0; j <= a->features; j++) {
        const sgfsi_column *k = j < a->features ? &a->feature[j] : &a->target;
        const sgfsi_column *l = j < a->features ? &b->feature[j] : &b->target;
        assert_string_equal(k->name, l->name);
        if (k->mean != l->mean || k->sd != l->sd || k->min != l->min || k->max != l->max)
            fail_msg("column %s: %.17g %.17g %.17g %.17g, and there %.17g %.17g %.17g %.17g",
                     k->name, k->mean, k->sd, k->min, k->max, l->mean, l->sd, l->min, l->max);
        assert_int_equal(k->binary, l->binary);
    }
    for (int64_t j = 0; a->scale != NULL && j < a->features; j++)
        assert_true(a->scale[j] == b->scale[j] && a->shift[j] == b->shift[j]);
}

static void compare_rows(const pair *p) {
    const sgfs_data *a = p->data, *b = p->far;
    const int64_t row[] = {a->N - 1, 0, a->N / 2, 3, 3}, count = sizeof row / sizeof row[0];
    int64_t n = a->N, numbers_of = n * (a->p + 1);
    double *here = zeros(numbers_of), *there = zeros(numbers_of);
    sgfsi_data_rows_range(a, 0, n, here, here + n * a->p);
    sgfsi_data_rows_range(b, 0, n, there, there + n * a->p);
    assert_memory_equal(here, there, (size_t)numbers_of * sizeof *here);
    sgfsi_data_rows_pick(a, row, count, here, here + count * a->p);
    sgfsi_data_rows_pick(b, row, count, there, there + count * a->p);
    assert_memory_equal(here, there, (size_t)(count * (a->p + 1)) * sizeof *here);
    free(here), free(there);
}

static void test_columns_and_rows(void **state) {
    (void)state;
    const setup each[] = {
        {.rows = 1000, .type = SGFSI_F64, .y_type = SGFSI_F64},
        {.rows = 1000, .type = SGFSI_F32, .y_type = SGFSI_I32, .weighted = true},
        {.rows = 700, .type = SGFSI_I64, .y_type = SGFSI_U8, .whole = true},
        {.rows = 300, .type = SGFSI_I32, .y_type = SGFSI_I64, .whole = true},
        {.rows = 300, .type = SGFSI_I16, .y_type = SGFSI_F32, .whole = true},
        {.rows = 300, .type = SGFSI_I8, .y_type = SGFSI_I8, .whole = true},
        {.rows = 300, .type = SGFSI_U8, .y_type = SGFSI_U16, .whole = true},
        {.rows = 300, .type = SGFSI_U16, .y_type = SGFSI_I16, .whole = true},
        {.rows = 300, .type = SGFSI_U32, .y_type = SGFSI_U32, .whole = true},
        {.rows = 900, .option = {{"data.standardize", "all"}, {"data.intercept", "false"}}},
        {.rows = 900, .weighted = true, .option = {{"data.standardize", "true"}}},
        {.rows = 900,
         .weighted = true,
         .option = {{"data.split", "0.7,0.3"}, {"data.drop", "x2"}, {"data.standardize", "true"}}},
        {.rows = 900, .option = {{"data.limit", "333"}, {"data.drop", "x1"}}},
        {.rows = few ? 270000 : 3000000}, /* several tiles */
    };
    for (size_t k = 0; dev != NULL && k < sizeof each / sizeof each[0]; k++) {
        pair p = make_pair(&each[k]);
        open_pair(&p);
        compare_columns(&p);
        compare_rows(&p);
        free_pair(&p);
    }
}

/* ---- draws ----------------------------------------------------------------------------------- */

enum { MOST_DRAWS = 200 };

/* The draws of a run on data, malloc'ed; *count of them. device: NULL where the rows say it. */
static double *draws_of(const sgfs_data *data, const sgfs_config *options, const char *model,
                        const char *device, bool *kept, int64_t *count) {
    sgfs_err err;
    sgfs_config *cfg = sgfsi_config_copy(options);
    if (device != NULL) give(cfg, "run.device", device);
    sgfs_model *m = sgfs_model_open(model, data, cfg, &err);
    sgfs_run *run = m != NULL ? sgfs_run_open(m, cfg, &err) : NULL;
    if (run == NULL) fail_msg("%s: %s", model, err.text);
    if (sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s: %s", model, err.text);
    assert_string_equal(m->ctx.device->name, m->kind->far ? "cuda" : "blas");
    const sgfsi_chain_draws *chain = run->out.memory->chain;
    int64_t chains = run->plan.chains, each = chain->draws * m->D;
    double *draws = malloc((size_t)(chains * each) * sizeof *draws);
    assert_non_null(draws);
    for (int64_t c = 0; c < chains; c++)
        memcpy(draws + c * each, chain[c].theta, (size_t)each * sizeof *draws);
    *kept = m->kept != NULL;
    *count = chains * each;
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_config_free(cfg);
    return draws;
}

#define SHORT                                                                                      \
    {"run.draws", "20"}, {"run.chains", "2"}, {"run.warmup", "20"}, {"run.threads", "1"}, {        \
        "run.thin", "1"                                                                            \
    }

static void test_draws(void **state) {
    (void)state;
    const struct {
        const char *model;
        setup is;
    } each[] = {
        {"logistic", {.rows = 500, .option = {SHORT, {"sampler.kind", "exact-pairs"}}}},
        {"logistic", {.rows = 500, .option = {SHORT, {"sampler.kind", "sgfs-f"}}}},
        {"logistic", {.rows = 500, .option = {SHORT, {"sampler.kind", "exact-rows"}}}},
        {"logistic",
         {.rows = 500,
          .weighted = true,
          .type = SGFSI_F32,
          .option = {SHORT, {"sampler.kind", "sgfs-cv"}, {"data.standardize", "true"}}}},
        {"poisson",
         {.rows = 500, .exposed = true, .option = {SHORT, {"sampler.kind", "exact-hmc"}}}},
        {"linear", {.rows = 500, .classes = true, .option = {SHORT, {"sampler.kind", "exact"}}}},
        {"softmax", {.rows = 400, .classes = true, .option = {SHORT, {"sampler.kind", "sgfs-d"}}}},
        {"softmax", {.rows = 400, .classes = true, .option = {SHORT, {"sampler.kind", "laplace"}}}},
        {"mlp", {.rows = 300, .option = {SHORT, {"sampler.kind", "sgld"}}}},
    };
    for (size_t k = 0; dev != NULL && k < sizeof each / sizeof each[0]; k++) {
        setup is = each[k].is;
        if (few) is.rows /= 3; /* there, threads take turns */
        pair p = make_pair(&is);
        bool kept[2];
        int64_t counts[2];
        if (few) give(p.cfg, "run.chains", "1");
        open_pair(&p);
        double *here = draws_of(p.data, p.cfg, each[k].model, "cuda", &kept[0], &counts[0]);
        double *there = draws_of(p.far, p.cfg, each[k].model, NULL, &kept[1], &counts[1]);
        assert_int_equal(counts[0], counts[1]);
        assert_int_equal(kept[0], kept[1]);
        for (int64_t i = 0; i < counts[0]; i++)
            if (here[i] != there[i])
                fail_msg("%s, run %d: number %lld is %.17g of the host's rows, %.17g of the GPU's",
                         each[k].model, (int)k, (long long)i, here[i], there[i]);
        free(here), free(there);
        free_pair(&p);
    }
}

/* The shortest call: rows say which device, and the sampler is one that looks at all of them. */
static void test_the_shortest_call(void **state) {
    (void)state;
    if (dev == NULL) return;
    const setup is = {.rows = few ? 150 : 2000,
                      .option = {{"run.threads", "1"}, {"run.draws", "40"}}};
    pair p = make_pair(&is);
    sgfs_err err;
    if (few) give(p.cfg, "run.chains", "1");
    open_pair(&p);
    sgfs_model *m = sgfs_model_open("logistic", p.far, p.cfg, &err);
    assert_non_null(m);
    assert_non_null(m->kept);
    sgfs_run *run = sgfs_run_open(m, p.cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    assert_string_equal(run->plan.kinds.name, "exact-pairs");
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    sgfs_run_free(run);
    sgfs_job *job = sgfs_optimize_open(m, p.cfg, &err);
    assert_non_null(job);
    assert_int_equal(sgfs_job_run(job, &err), SGFS_OK);
    sgfs_job_free(job);
    sgfs_model_free(m);
    free_pair(&p);
}

/* Rows of the host's whose targets lie on the GPU. */
static void test_targets_alone(void **state) {
    (void)state;
    if (dev == NULL) return;
    const setup is = {.rows = 400, .y_type = SGFSI_I32};
    pair p = make_pair(&is);
    p.there.x = p.x;
    p.there.row_stride = APART;
    p.there.device_x.cells = NULL;
    sgfs_err err;
    p.data = sgfs_data_wrap(&p.here, p.cfg, &err);
    p.far = sgfs_data_wrap(&p.there, p.cfg, &err);
    assert_non_null(p.data);
    assert_non_null(p.far);
    assert_false(sgfsi_data_is_far(p.far));
    compare_columns(&p);
    assert_int_equal(p.data->arrays_crc, p.far->arrays_crc);
    free_pair(&p);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void expect(const pair *p, const char *key, const char *value, const char *sentence) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfsi_config_copy(p->cfg);
    if (key != NULL) give(cfg, key, value);
    if (key != NULL && strcmp(key, "data.part") == 0) {
        give(cfg, "data.split", "0.5,0.5");
        give(cfg, "data.standardize", "true");
    }
    sgfs_data *data = sgfs_data_wrap(&p->there, cfg, &err);
    sgfs_model *m = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    if (m != NULL) fail_msg("no sentence, where \"%s\" was expected", sentence);
    if (strstr(err.text, sentence) == NULL) fail_msg("\"%s\", not \"%s\"", err.text, sentence);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_sentences(void **state) {
    (void)state;
    const setup is = {.rows = 300};
    if (dev == NULL) return;
    pair p = make_pair(&is), q = p;
    expect(&p, "run.device", "blas", "--device blas: the rows lie on the GPU 0.");
    expect(&p, "run.device", "cuda:1", "--device cuda:1: the rows lie on the GPU 0.");
    expect(&p, "data.log1p", "x1", "rows on a GPU stay as they are");
    expect(&p, "data.na", "mean", "rows on a GPU stay as they are");
    expect(&p, "data.part", "test", "rows on a GPU stay as they are");
    expect(&p, "data.effects", "(1 | x1)", "effects of groups are the processor's");
    q.there.device_x.type = "f16";
    expect(&q, NULL, NULL, "x has the type \"f16\", and there are f64, f32, i64, i32,");
    q.there = p.there;
    q.there.device_x.stride = 2;
    expect(&q, NULL, NULL, "x has a stride of 2, and its rows have 3 numbers.");
    q.there = p.there;
    q.there.device_x.cells = p.x;
    expect(&q, NULL, NULL, "x lies at no address of the GPU 0");
    q.there = p.there;
    q.there.device_y.cells = p.y;
    expect(&q, NULL, NULL, "y lies at no address of the GPU 0");
    q.there = p.there;
    q.there.y = p.y;
    expect(&q, NULL, NULL, "y is there twice");
    q.there = p.there;
    q.there.x = p.x;
    expect(&q, NULL, NULL, "exactly one of x, x32, csr_start and device_x");
    free_pair(&p);
}

/* The first cell that is not finite, in the order of rows, and how many there are, as of rows of
 * the host's. */
static void test_cells_that_are_not_finite(void **state) {
    (void)state;
    if (dev == NULL) return;
    const setup is = {.rows = 1500};
    pair p = make_pair(&is);
    double *bad = numbers(1500 * APART, 45);
    const int64_t at[] = {700 * APART + 1, 699 * APART + 2, 1400 * APART, 12 * APART + 4};
    for (int k = 0; k < 4; k++) bad[at[k]] = k % 2 == 0 ? NAN : INFINITY; /* the last: no column */
    double *far = send(SGFSI_F64, 1500 * APART, bad);
    sgfs_err here, there;
    p.here.x = bad;
    p.there.device_x.cells = far;
    assert_null(sgfs_data_wrap(&p.here, p.cfg, &here));
    assert_null(sgfs_data_wrap(&p.there, p.cfg, &there));
    assert_string_equal(here.text, there.text);
    assert_non_null(strstr(there.text, "row 700, column \"x3\" (the first of 3 such cells)"));
    assert_int_equal(there.code, SGFS_EDATA);
    dev->ops->free(dev, far);
    free(bad);
    free_pair(&p);
}

/* A column that separates the labels is told of in the same words. */
static void test_columns_that_separate(void **state) {
    (void)state;
    if (dev == NULL) return;
    const setup is = {.rows = 400, .y_type = SGFSI_U8};
    pair p = make_pair(&is);
    double *x = numbers(400 * APART, 47);
    for (int64_t i = 0; i < 400; i++) x[i * APART + 2] = p.y[i] + 0.4 * x[i * APART + 2];
    dev->ops->free(dev, p.far_x);
    p.far_x = send(SGFSI_F64, 400 * APART, x);
    p.here.x = x;
    p.there.device_x.cells = p.far_x;
    open_pair(&p);
    sgfs_err err;
    const char *said[2] = {"", ""};
    sgfs_model *m[2];
    for (int k = 0; k < 2; k++) {
        m[k] = sgfs_model_open("logistic", k == 0 ? p.data : p.far, p.cfg, &err);
        if (m[k] == NULL) fail_msg("%s", err.text);
        assert_int_equal(sgfsi_json_length(m[k]->warnings), 1);
        said[k] = sgfsi_json_as_text(sgfsi_json_at(m[k]->warnings, 0));
    }
    assert_string_equal(said[0], said[1]);
    assert_non_null(strstr(said[1], "Column \"x3\" by itself separates label"));
    for (int k = 0; k < 2; k++) sgfs_model_free(m[k]);
    free(x);
    free_pair(&p);
}

/* Programs that were compiled before there were such fields go on as they were. */
static void test_older_structs(void **state) {
    (void)state;
    double x[6] = {1, 2, 4, 1, 3, 2}, y[3] = {0, 1, 1};
    sgfs_arrays a = {.rows = 3, .cols = 2, .x = x, .y = y, .device = "nonsense"};
    const size_t sizes[] = {0, offsetof(sgfs_arrays, device)};
    sgfs_config *cfg = sgfs_config_new();
    sgfs_err err;
    for (int k = 0; k < 2; k++) {
        a.size = sizes[k];
        sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
        if (data == NULL) fail_msg("%s", err.text);
        sgfs_data_free(data);
    }
    a.size = sizeof a;
    assert_null(sgfs_data_wrap(&a, cfg, &err));
    assert_non_null(strstr(err.text, "the device of arrays is cuda or cuda:1"));
    a.size = sizeof a - 1;
    assert_null(sgfs_data_wrap(&a, cfg, &err));
    sgfs_config_free(cfg);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_and_rows),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_the_shortest_call),
        cmocka_unit_test(test_targets_alone),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_cells_that_are_not_finite),
        cmocka_unit_test(test_columns_that_separate),
        cmocka_unit_test(test_older_structs),
    };
    few = argc > 2;
    if (argc > 1 && strcmp(argv[1], "cuda") == 0 && !open_gpu(&dev)) return SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sgfsi_device_close(dev);
    return failed;
}
