/* SPDX-License-Identifier: MIT
 * test_mlp.c: networks against a plain implementation, row by row and unit by unit, that shares
 * nothing with theirs but the layout of theta; against finite differences; against numbers worked
 * out by hand; and at the edges: saturated units, the corner of relu, labels and targets on the
 * user's scale.
 *
 * Tolerances. Two orders of summation over fewer than 50 terms of size 1 to 10: 1e-12. Central
 * differences with h = cbrt(eps): truncation and rounding near 1e-10 of the terms: 1e-6, as in
 * tests/conform/test_model.c. Monte Carlo: 5 standard errors, 6e-7 a comparison, seeds fixed.
 */
#include <float.h>
#include <stdio.h>

#include "model/prior.h"
#include "model/readout.h"
#include "posterior/posterior.h"
#include "tools/check.h"

enum { ROWS = 61, COLS = 3, MOST = 128, MOST_UNITS = 8, CLASSES = 3 };

static const char *const names[COLS] = {"height", "x 2", "width"};
static const char *const activations[] = {"logistic", "tanh", "relu"};
static const char *const outputs[] = {"softmax", "logistic", "gaussian"};
static const char *const depths[] = {"none", "5", "4,3"};

/* ---- a network and its data ------------------------------------------------------------------ */

typedef struct bench {
    const char *hidden, *activation, *output, *sigma, *backend, *seed;
    bool standardize, intercept;
    double x[ROWS * COLS], y[ROWS];
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double theta[MOST], spread[MOST];
    char label[128];
} bench;

/* Columns of different place and scale; targets that have nothing to do with them. */
static void make_rows(bench *b) {
    static const double label3[] = {2, 5, 7}, label2[] = {-1, 1};
    uint64_t s = 940;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++)
            b->x[i * COLS + j] = 0.71 * (j + 1) + (0.4 + 0.3 * j) * next_normal(&s);
        b->y[i] = 3.17 + 2.385 * next_normal(&s);
        if (strcmp(b->output, "softmax") == 0) b->y[i] = label3[next_bits(&s) % 3];
        if (strcmp(b->output, "logistic") == 0) b->y[i] = label2[next_bits(&s) % 2];
    }
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_config *config_of(const bench *b) {
    sgfs_config *cfg = sgfs_config_new();
    set(cfg, "prior.precision", "1"); /* on columns as they are */
    set(cfg, "model.hidden", b->hidden);
    set(cfg, "model.activation", b->activation);
    set(cfg, "model.output", b->output);
    if (b->sigma != NULL) set(cfg, "model.sigma", b->sigma);
    if (b->backend != NULL) set(cfg, "run.device", b->backend);
    if (b->seed != NULL) set(cfg, "run.seed", b->seed);
    set(cfg, "data.standardize", b->standardize ? "true" : "false");
    set(cfg, "data.intercept", b->intercept ? "true" : "false");
    return cfg;
}

static sgfs_data *wrap(int64_t rows, int64_t cols, const double *x, const double *y,
                       const sgfs_config *cfg) {
    sgfs_err err;
    sgfs_arrays a = {.rows = rows, .cols = cols, .x = x, .y = y};
    if (cols == COLS) a.names = names;
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    if (data == NULL) fail_msg("%s", err.text);
    return data;
}

static sgfs_model *open_on(const sgfs_data *data, const sgfs_config *cfg, const sgfsi_json *info) {
    sgfs_err err;
    sgfs_model *m = sgfsi_model_create(&sgfs_model_mlp, data, cfg, info, &err);
    if (m == NULL) fail_msg("%s", err.text);
    return m;
}

static void open_bench(bench *b) {
    make_rows(b);
    b->cfg = config_of(b);
    b->data = wrap(ROWS, COLS, b->x, b->y, b->cfg);
    b->m = open_on(b->data, b->cfg, NULL);
    assert_true(b->m->D <= MOST);
    snprintf(b->label, sizeof b->label, "%s %s %s%s%s%s", b->hidden, b->activation, b->output,
             b->standardize ? " standardised" : "", b->intercept ? "" : " without intercept",
             b->sigma != NULL ? " sigma known" : "");
    b->m->kind->start(b->m, b->theta, b->spread);
    uint64_t s = 31;
    for (int64_t j = 0; j < b->m->D; j++) b->theta[j] += 0.5 * next_number(&s) * b->spread[j];
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
}

/* Every activation, output and depth, with and without intercept and standardised columns. */
static void for_each(void (*statement)(bench *b)) {
    for (int i = 0; i < 3 * 3 * 3 * 4; i++) {
        bench b = {.activation = activations[i % 3],
                   .output = outputs[i / 3 % 3],
                   .hidden = depths[i / 9 % 3],
                   .standardize = i / 27 & 1,
                   .intercept = i / 27 & 2};
        b.sigma = strcmp(b.output, "gaussian") == 0 && b.standardize ? "1.37" : NULL;
        b.backend = i % 2 == 0 ? "blas" : "host";
        open_bench(&b);
        statement(&b);
        close_bench(&b);
    }
}

/* ---- scores of all rows ---------------------------------------------------------------------- */

typedef struct probe {
    const sgfs_model *m;
    sgfs_batch batch;
    sgfs_score_block block[8];
    sgfs_scores scores;
    double *x, *g, *loglik, *scratch; /* rows as the chain sees them; n x D; n */
} probe;

static probe probe_open(const sgfs_model *m, int64_t n, const double *y) {
    int64_t want = m->curvature_scratch_per_row;
    if (want < m->scratch_per_row) want = m->scratch_per_row;
    probe p = {.m = m,
               .x = zeros(n * m->data->p),
               .g = zeros(n * m->D),
               .loglik = zeros(n),
               .scratch = zeros(n * want)};
    sgfsi_data_rows_range(m->data, 0, n, p.x, NULL);
    p.batch = (sgfs_batch){.n = n, .p = m->data->p, .x = p.x, .y = y, .total = (double)n};
    p.scores = (sgfs_scores){.n = n, .D = m->D, .blocks = m->blocks, .loglik = p.loglik};
    assert_true(m->blocks <= 8);
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_block *from = &m->block[k];
        sgfs_score_block *o = &p.block[k];
        *o = (sgfs_score_block){.offset = from->offset, .rows = from->rows, .cols = from->cols};
        if (from->form == SGFS_SCORE_DENSE) o->dense = zeros(n * from->rows * from->cols);
        else o->left = zeros(n * from->rows);
        if (from->form == SGFS_SCORE_OUTER) o->right = o->right_own = zeros(n * from->cols);
        if (from->form == SGFS_SCORE_INPUT) o->right = p.x;
    }
    return p;
}

static void probe_close(probe *p) {
    for (int64_t k = 0; k < p->m->blocks; k++) {
        free(p->block[k].left);
        free(p->block[k].right_own);
        free(p->block[k].dense);
    }
    free(p->x);
    free(p->g);
    free(p->loglik);
    free(p->scratch);
}

/* Scores and densities at theta; the factors are multiplied out into g. */
static void look(probe *p, const double *theta) {
    const sgfs_model *m = p->m;
    p->scores.block = p->block;
    assert_int_equal(m->kind->scores(m, theta, &p->batch, &p->scores, p->scratch, NULL), SGFS_OK);
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_score_block *o = &p->block[k];
        int64_t size = o->rows * o->cols;
        for (int64_t e = 0; e < p->batch.n * size; e++) {
            int64_t i = e / size, at = e % size;
            p->g[i * m->D + o->offset + at] =
                o->dense != NULL
                    ? o->dense[e]
                    : o->left[i * o->rows + at / o->cols] * o->right[i * o->cols + at % o->cols];
        }
    }
}

/* Densities alone: no blocks, no backward pass. */
static void look_at_density(probe *p, const double *theta) {
    p->scores.block = NULL;
    assert_int_equal(p->m->kind->scores(p->m, theta, &p->batch, &p->scores, p->scratch, NULL),
                     SGFS_OK);
}

/* ---- the same, plainly ----------------------------------------------------------------------- */

static double plain_f(const char *name, double a) {
    if (strcmp(name, "tanh") == 0) return tanh(a);
    if (strcmp(name, "relu") == 0) return a > 0 ? a : 0;
    return 1 / (1 + exp(-a));
}

static double plain_slope(const char *name, double a) {
    if (strcmp(name, "tanh") == 0) return 1 - tanh(a) * tanh(a);
    if (strcmp(name, "relu") == 0) return a > 0 ? 1 : 0;
    return exp(-a) / ((1 + exp(-a)) * (1 + exp(-a)));
}

typedef struct plain {
    int64_t layers, out[3], in[3], at[3]; /* in: with the bias */
    double z[3][MOST_UNITS], a[3][MOST_UNITS];
    double log_sigma; /* of a Gaussian target */
} plain;

/* Layers by --hidden; what follows them is log_sigma. */
static plain plain_shape(const bench *b) {
    plain r = {.layers = 1};
    int64_t units[3], in = COLS + (b->intercept ? 1 : 0), at = 0;
    if (strcmp(b->hidden, "5") == 0) units[r.layers++ - 1] = 5;
    if (strcmp(b->hidden, "4,3") == 0) units[0] = 4, units[1] = 3, r.layers = 3;
    units[r.layers - 1] = strcmp(b->output, "softmax") == 0 ? CLASSES : 1;
    for (int64_t l = 0; l < r.layers; l++) {
        r.in[l] = in;
        r.out[l] = units[l];
        r.at[l] = at;
        at += in * units[l];
        in = units[l] + 1;
    }
    return r;
}

static void plain_forward(plain *r, const bench *b, const double *theta, const double *x) {
    for (int64_t l = 0; l < r->layers; l++) {
        for (int64_t j = 0; j < r->out[l]; j++) {
            const double *w = theta + r->at[l] + j * r->in[l];
            double sum = l > 0 ? w[0] : 0;
            for (int64_t c = 0; l == 0 && c < r->in[0]; c++) sum += w[c] * x[c];
            for (int64_t c = 1; l > 0 && c < r->in[l]; c++) sum += w[c] * r->z[l - 1][c - 1];
            r->a[l][j] = sum;
            r->z[l][j] = plain_f(b->activation, sum);
        }
    }
}

/* delta of the last layer and the log density of target y; log_sigma's score in *spread. */
static double plain_target(const plain *r, const bench *b, double y, double *delta,
                           double *spread) {
    const double *eta = r->a[r->layers - 1];
    if (strcmp(b->output, "gaussian") == 0) {
        double y_mean = sgfsi_json_get_num(b->m->saved, "y_mean", 0),
               y_sd = sgfsi_json_get_num(b->m->saved, "y_sd", 1), sigma = exp(r->log_sigma);
        double e = ((y - y_mean) / y_sd - eta[0]) / sigma;
        delta[0] = e / sigma;
        *spread = e * e - 1;
        return -0.5 * e * e - log(sigma) - 0.5 * log(2 * 3.14159265358979323846);
    }
    if (strcmp(b->output, "logistic") == 0) {
        double one = 1 / (1 + exp(-eta[0]));
        delta[0] = (y == 1) - one;
        return log(y == 1 ? one : 1 - one);
    }
    double sum = 0, density = 0;
    for (int k = 0; k < CLASSES; k++) sum += exp(eta[k]);
    for (int k = 0; k < CLASSES; k++) {
        bool is = y == b->m->labels.value[k];
        delta[k] = is - exp(eta[k]) / sum;
        if (is) density = log(exp(eta[k]) / sum);
    }
    return density;
}

/* Log density of one row and its gradient. */
static double plain_score(const bench *b, const double *theta, const double *x, double y,
                          double *g) {
    plain r = plain_shape(b);
    double delta[3][MOST_UNITS] = {{0}}, spread = 0;
    r.log_sigma = b->sigma == NULL ? theta[b->m->D - 1]
                                   : log(1.37 / sgfsi_json_get_num(b->m->saved, "y_sd", 1));
    plain_forward(&r, b, theta, x);
    double density = plain_target(&r, b, y, delta[r.layers - 1], &spread);
    if (strcmp(b->output, "gaussian") == 0 && b->sigma == NULL) g[b->m->D - 1] = spread;
    for (int64_t l = r.layers - 1; l >= 0; l--) {
        for (int64_t j = 0; j < r.out[l]; j++) {
            double d = delta[l][j];
            for (int64_t c = 0; c < r.in[l]; c++) {
                int64_t at = r.at[l] + j * r.in[l] + c;
                g[at] = d * (l == 0 ? x[c] : c == 0 ? 1 : r.z[l - 1][c - 1]);
                if (l > 0 && c > 0)
                    delta[l - 1][c - 1] +=
                        d * theta[at] * plain_slope(b->activation, r.a[l - 1][c - 1]);
            }
        }
    }
    return density;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void check_against_plain(bench *b) {
    probe p = probe_open(b->m, ROWS, b->y);
    look(&p, b->theta);
    for (int i = 0; i < ROWS; i++) {
        double g[MOST] = {0};
        double density = plain_score(b, b->theta, p.x + i * b->m->data->p, b->y[i], g);
        assert_near(p.loglik[i], density, 1e-12 * (1 + fabs(density)), b->label);
        for (int64_t j = 0; j < b->m->D; j++)
            assert_near(p.g[i * b->m->D + j], g[j], 1e-12 * (1 + fabs(g[j])), b->label);
    }
    double with[ROWS];
    memcpy(with, p.loglik, sizeof with);
    look_at_density(&p, b->theta);
    assert_memory_equal(with, p.loglik, sizeof with);
    probe_close(&p);
}

static void test_scores_equal_a_plain_implementation(void **state) {
    (void)state;
    for_each(check_against_plain);
}

/* Does some hidden sum of the row change its sign between the two places? There relu has a corner,
 * and a difference across it is no derivative. */
static bool has_corner(const bench *b, const double *high, const double *low, const double *x) {
    plain up = plain_shape(b), down = up;
    if (strcmp(b->activation, "relu") != 0) return false;
    plain_forward(&up, b, high, x);
    plain_forward(&down, b, low, x);
    for (int64_t l = 0; l < up.layers - 1; l++) {
        for (int64_t j = 0; j < up.out[l]; j++) {
            if ((up.a[l][j] > 0) != (down.a[l][j] > 0)) return true;
        }
    }
    return false;
}

static void check_differences(bench *b) {
    probe p = probe_open(b->m, ROWS, b->y);
    int64_t D = b->m->D, corners = 0;
    look(&p, b->theta);
    for (int64_t j = 0; j < D; j++) {
        double above[ROWS], high[MOST], low[MOST], h = cbrt(DBL_EPSILON) * b->spread[j];
        memcpy(high, b->theta, sizeof high);
        memcpy(low, b->theta, sizeof low);
        high[j] += h;
        low[j] -= h;
        look_at_density(&p, high);
        memcpy(above, p.loglik, sizeof above);
        look_at_density(&p, low);
        for (int i = 0; i < ROWS; i++) {
            double slope = (above[i] - p.loglik[i]) / (high[j] - low[j]), g = p.g[i * D + j];
            if (has_corner(b, high, low, p.x + i * b->m->data->p)) corners++;
            else assert_near(g, slope, 1e-6 * (fabs(g) + 1 / b->spread[j]), b->label);
        }
    }
    assert_true(corners * 100 < ROWS * D); /* hardly any */
    probe_close(&p);
}

static void test_scores_are_derivatives(void **state) {
    (void)state;
    for_each(check_differences);
}

/* One input, one logistic unit, one number: W1 = (log 3, 0) makes z = 3/4, W2 = (1/2, 2) eta = 2;
 * y = 3 and sigma = 2 leave r = 1, delta = 1/4; delta of the hidden unit is 1/4 x 2 x 3/16. */
static void test_a_network_by_hand(void **state) {
    (void)state;
    const double x[] = {0.8, -1.7}, y[] = {3, 3}, theta[] = {log(3), 0, 0.5, 2};
    sgfs_config *cfg = sgfs_config_new();
    set(cfg, "prior.precision", "1");
    set(cfg, "model.hidden", "1");
    set(cfg, "model.output", "gaussian");
    set(cfg, "model.sigma", "2");
    sgfs_data *data = wrap(2, 1, x, y, cfg);
    sgfs_model *m = open_on(data, cfg, NULL);
    assert_int_equal(m->D, 4);
    probe p = probe_open(m, 2, y);
    look(&p, theta);
    for (int i = 0; i < 2; i++) {
        const double wanted[] = {0.25 * 2 * 3 / 16, 0.25 * 2 * 3 / 16 * x[i], 0.25, 0.1875};
        assert_near(p.loglik[i], -log(2) - 0.125 - 0.9189385332046727, 1e-15, "density");
        for (int j = 0; j < 4; j++) assert_near(p.g[i * 4 + j], wanted[j], 1e-15, "score");
    }
    double mean[2];
    m->kind->predict(m, theta, &p.batch, mean, p.scratch);
    assert_near(mean[0], 2, 1e-15, "mean");
    probe_close(&p);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* ---- shapes and names ------------------------------------------------------------------------ */

static void test_the_papers_net_has_940_parameters(void **state) {
    (void)state;
    enum { N = 40, P = 20 };
    double *x = numbers(N * P, 5), y[N];
    for (int i = 0; i < N; i++) y[i] = i % 10;
    sgfs_config *cfg = sgfs_config_new(); /* 30 units, labels: by default */
    sgfs_data *data = wrap(N, P, x, y, cfg);
    sgfs_model *m = open_on(data, cfg, NULL);
    assert_int_equal(m->D, 940);
    assert_int_equal(m->blocks, 2);
    assert_true(m->block[0].form == SGFS_SCORE_INPUT && m->block[1].form == SGFS_SCORE_OUTER);
    assert_int_equal(m->outputs, 10);
    assert_string_equal(m->param[0], "W1[1,intercept]");
    assert_string_equal(m->param[629], "W1[30,x20]");
    assert_string_equal(m->param[630], "W2[0,intercept]");
    assert_string_equal(m->param[939], "W2[9,30]");
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x);
}

static void test_names_follow_columns_and_labels(void **state) {
    (void)state;
    bench b = {.hidden = "4,3", .activation = "relu", .output = "logistic", .intercept = false};
    open_bench(&b);
    assert_int_equal(b.m->D, 4 * 3 + 3 * 5 + 1 * 4);
    assert_string_equal(b.m->param[1], "W1[1,x 2]");
    assert_string_equal(b.m->param[12], "W2[1,intercept]"); /* hidden layers keep their biases */
    assert_string_equal(b.m->param[b.m->D - 1], "W3[3]");
    close_bench(&b);
    bench none = {.hidden = "none", .activation = "relu", .output = "softmax", .intercept = true};
    open_bench(&none);
    assert_string_equal(none.m->param[5], "W1[5,height]"); /* the label 5 */
    close_bench(&none);
}

static void refuses(const char *key, const char *value, const double *y, sgfs_status code,
                    const char *says) {
    sgfs_err err = {0};
    bench b = {.hidden = "2", .activation = "tanh", .output = "auto", .intercept = true};
    make_rows(&b);
    sgfs_config *cfg = config_of(&b);
    set(cfg, key, value);
    sgfs_data *data = wrap(ROWS, COLS, b.x, y != NULL ? y : b.y, cfg);
    assert_null(sgfsi_model_create(&sgfs_model_mlp, data, cfg, NULL, &err));
    assert_int_equal(err.code, code);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, says);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_what_cannot_be_is_refused(void **state) {
    (void)state;
    double labels[ROWS], same[ROWS];
    for (int i = 0; i < ROWS; i++) labels[i] = i % 3, same[i] = 4.5;
    refuses("model.hidden", "0", NULL, SGFS_EUSAGE, "--hidden 0");
    refuses("model.hidden", "30,", NULL, SGFS_EUSAGE, "--hidden 30,");
    refuses("model.hidden", "ten", NULL, SGFS_EUSAGE, "--hidden ten");
    refuses("model.hidden", "4097", NULL, SGFS_EUSAGE, "1 to 4096");
    refuses("model.sigma", "1", labels, SGFS_EUSAGE, "--sigma");
    refuses("model.output", "logistic", labels, SGFS_EDATA, "two");
    refuses("model.output", "gaussian", same, SGFS_EDATA, "nothing to explain");
    refuses("model.output", "softmax", same, SGFS_EDATA, "at least two classes");
}

static void test_the_output_follows_the_target(void **state) {
    (void)state;
    static const struct {
        int values;
        double step;
        const char *output;
    } of[] = {{20, 1, "softmax"}, {2, 1, "softmax"}, {21, 1, "gaussian"}, {3, 0.5, "gaussian"}};
    for (size_t k = 0; k < sizeof of / sizeof of[0]; k++) {
        bench b = {.hidden = "2", .activation = "tanh", .output = "auto", .intercept = true};
        make_rows(&b);
        for (int i = 0; i < ROWS; i++) b.y[i] = of[k].step * (i % of[k].values);
        sgfs_config *cfg = config_of(&b);
        sgfs_data *data = wrap(ROWS, COLS, b.x, b.y, cfg);
        sgfs_model *m = open_on(data, cfg, NULL);
        assert_string_equal(sgfsi_json_get_text(m->saved, "output", ""), of[k].output);
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Sums of +-700 and +-800 in hidden units and in the output: densities, scores and probabilities
 * are the limits, and finite. */
static void test_saturated_units_are_exact(void **state) {
    (void)state;
    const double x[] = {1, -1, 1, -1}, sizes[] = {700, 800};
    for (int i = 0; i < 3 * 2 * 2; i++) {
        bool relu = i % 3 == 2, logistic = i / 3 % 2 == 1;
        double size = sizes[i / 6];
        const double y[] = {0, 0, 1, 1};
        /* one hidden unit a = size x; z(1) = 1 (relu: size), z(-1) = 0, -1 or 0 */
        double high = relu ? size : 1, low = i % 3 == 1 ? -1 : 0, w = relu ? 1 : size;
        sgfs_config *cfg = sgfs_config_new();
        set(cfg, "prior.precision", "1");
        set(cfg, "model.hidden", "1");
        set(cfg, "model.activation", activations[i % 3]);
        set(cfg, "model.output", logistic ? "logistic" : "softmax");
        sgfs_data *data = wrap(4, 1, x, y, cfg);
        sgfs_model *m = open_on(data, cfg, NULL);
        double theta[6] = {0, size, 0, logistic ? w : 0, 0, w};
        probe p = probe_open(m, 4, y);
        look(&p, theta);
        for (int r = 0; r < 4; r++) {
            double eta = w * (x[r] > 0 ? high : low); /* the logit of label 1 */
            double log_one = eta > 0 ? -log1p(exp(-eta)) : eta - log1p(exp(eta));
            double one = exp(log_one), wanted = y[r] == 1 ? log_one : log_one - eta;
            assert_near(p.loglik[r], wanted, 1e-12 * (1 + fabs(wanted)), "density");
            const sgfs_score_block *last = &p.block[1];
            double delta = last->left[logistic ? r : 2 * r + 1];
            assert_near(delta, y[r] - one, 1e-15, "delta");
            for (int j = 0; j < m->D; j++) assert_true(isfinite(p.g[r * m->D + j]));
            double hidden =
                p.block[0].left[r]; /* saturated, or relu on its straight or flat side */
            assert_near(hidden, relu && x[r] > 0 ? w * (y[r] - one) : 0, 1e-12 * size, "hidden");
        }
        double out[8];
        m->kind->predict(m, theta, &p.batch, out, p.scratch);
        for (int k = 0; k < 8; k++) assert_true(out[k] >= 0 && out[k] <= 1);
        probe_close(&p);
        sgfs_model_free(m);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* At its corner relu is flat: a unit whose sums are all 0 has no slope. */
static void test_relu_is_flat_at_zero(void **state) {
    (void)state;
    bench b = {.hidden = "5", .activation = "relu", .output = "gaussian", .intercept = true};
    open_bench(&b);
    memset(b.theta, 0, 20 * sizeof *b.theta); /* W1 */
    probe p = probe_open(b.m, ROWS, b.y);
    look(&p, b.theta);
    for (int k = 0; k < ROWS * 5; k++) assert_true(p.block[0].left[k] == 0);
    assert_true(p.block[1].left[0] != 0);
    probe_close(&p);
    close_bench(&b);
}

static void test_an_unknown_label_has_no_density(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        bench b = {.hidden = "5", .activation = "tanh", .output = outputs[k], .intercept = true};
        open_bench(&b);
        double y[ROWS];
        for (int i = 0; i < ROWS; i++) y[i] = 11;
        probe p = probe_open(b.m, ROWS, y);
        look_at_density(&p, b.theta);
        for (int i = 0; i < ROWS; i++) assert_true(p.loglik[i] == -INFINITY);
        probe_close(&p);
        close_bench(&b);
    }
}

/* ---- expectations over targets --------------------------------------------------------------- */

/* Probabilities sum to 1 and are the exponentials of the densities; a Gaussian mean is where the
 * score of its bias vanishes. */
static void check_predict(bench *b) {
    double y[ROWS], *out = zeros(ROWS * CLASSES);
    probe p = probe_open(b->m, ROWS, y);
    int64_t K = b->m->outputs;
    p.batch.y = NULL;
    b->m->kind->predict(b->m, b->theta, &p.batch, out, p.scratch);
    p.batch.y = y;
    if (b->m->labels.count == 0) {
        memcpy(y, out, sizeof y);
        look(&p, b->theta);
        int64_t last = strcmp(b->hidden, "none") == 0 ? 0 : strcmp(b->hidden, "5") == 0 ? 1 : 2;
        for (int i = 0; i < ROWS; i++) assert_near(p.block[last].left[i], 0, 1e-12, b->label);
    }
    double sum[ROWS] = {0};
    for (int64_t k = 0; k < b->m->labels.count; k++) {
        for (int i = 0; i < ROWS; i++) y[i] = b->m->labels.value[k];
        look_at_density(&p, b->theta);
        for (int i = 0; i < ROWS; i++) {
            assert_near(out[i * K + k], exp(p.loglik[i]), 1e-13, b->label);
            sum[i] += out[i * K + k];
        }
    }
    for (int i = 0; b->m->labels.count > 0 && i < ROWS; i++)
        assert_near(sum[i], 1, 1e-14, b->label);
    free(out);
    probe_close(&p);
}

static void test_predictions_are_what_the_density_says(void **state) {
    (void)state;
    for_each(check_predict);
}

/* E[g g'] with the plain gradients: labels one by one; a number at mean +- sigma with weight 1/2
 * each, which is exact where g is linear in y (all but log_sigma, whose own entry is 2 a row and
 * 0 beside the others). Rows count by their weights. */
static void check_curvature(bench *b) {
    int64_t D = b->m->D, p0 = b->m->data->p;
    bool gaussian = b->m->labels.count == 0, unknown = gaussian && b->sigma == NULL;
    double *A = zeros(D * D), *wanted = zeros(D * D), *out = zeros(ROWS * CLASSES), weight[ROWS];
    probe p = probe_open(b->m, ROWS, b->y);
    for (int i = 0; i < ROWS; i++) weight[i] = 0.5 + i % 4;
    b->m->kind->predict(b->m, b->theta, &p.batch, out, p.scratch);
    p.batch.weight = weight;
    b->m->kind->curvature(b->m, b->theta, &p.batch, A, p.scratch);
    double y_sd = sgfsi_json_get_num(b->m->saved, "y_sd", 1);
    double sigma = unknown ? y_sd * exp(b->theta[D - 1]) : 1.37;
    for (int i = 0; i < ROWS; i++) {
        for (int64_t k = 0; k < (gaussian ? 2 : b->m->labels.count); k++) {
            double g[MOST] = {0},
                   y = gaussian ? out[i] + (k == 0 ? -sigma : sigma) : b->m->labels.value[k];
            double share = weight[i] * (gaussian ? 0.5 : out[i * b->m->outputs + k]);
            plain_score(b, b->theta, p.x + i * p0, y, g);
            for (int64_t r = 0; r < D; r++) {
                for (int64_t c = 0; c <= r; c++) wanted[r * D + c] += share * g[r] * g[c];
            }
        }
        if (unknown) wanted[D * D - 1] += 2 * weight[i];
    }
    for (int64_t r = 0; r < D; r++) {
        for (int64_t c = 0; c <= r; c++)
            assert_near(A[r * D + c], wanted[r * D + c],
                        1e-11 * (1 + sqrt(wanted[r * D + r] * wanted[c * D + c])), b->label);
    }
    free(A);
    free(wanted);
    free(out);
    probe_close(&p);
}

static void test_curvature_is_the_expected_information(void **state) {
    (void)state;
    for_each(check_curvature);
}

/* Drawn targets have the predicted frequencies or mean and the stated spread. Rows of the sum are
 * the 61 rows over and over; y is not there to look at. */
static void check_resample(bench *b) {
    enum { REPEATS = 200 };
    const sgfs_model *m = b->m;
    double *out = zeros(ROWS * CLASSES), y[ROWS], normal[ROWS], uniform[ROWS];
    double got[CLASSES] = {0}, wanted[CLASSES] = {0}, variance[CLASSES] = {0}, square = 0;
    uint64_t s = 77;
    probe p = probe_open(m, ROWS, NULL);
    m->kind->predict(m, b->theta, &p.batch, out, p.scratch);
    bool gaussian = m->labels.count == 0;
    double sigma =
        b->sigma != NULL ? 1.37 : sgfsi_json_get_num(m->saved, "y_sd", 1) * exp(b->theta[m->D - 1]);
    for (int r = 0; r < REPEATS; r++) {
        for (int i = 0; i < ROWS; i++) {
            normal[i] = next_normal(&s);
            uniform[i] = 0.5 * (next_number(&s) + 1);
        }
        m->kind->resample(m, b->theta, &p.batch, normal, uniform, y);
        for (int i = 0; i < ROWS; i++) {
            double z = gaussian ? (y[i] - out[i]) / sigma : 0;
            int64_t class = gaussian ? 0 : sgfsi_labels_class(&m->labels, y[i]);
            assert_true(class >= 0);
            got[class] += gaussian ? z : 1;
            square += z * z;
            for (int64_t k = 0; !gaussian && k < m->outputs; k++) {
                wanted[k] += out[i * m->outputs + k];
                variance[k] += out[i * m->outputs + k] * (1 - out[i * m->outputs + k]);
            }
        }
    }
    double n = REPEATS * ROWS;
    for (int64_t k = 0; k < m->outputs; k++)
        assert_near(got[k], wanted[k], 5 * sqrt(gaussian ? n : variance[k]), b->label);
    if (gaussian) assert_near(square, n, 5 * sqrt(2 * n), b->label);
    free(out);
    probe_close(&p);
}

static void test_drawn_targets_are_the_models(void **state) {
    (void)state;
    for_each(check_resample);
}

/* ---- start, and the user's scale ------------------------------------------------------------- */

/* log p = -(nu + n)/2 log((nu + q)/(nu + n)) - n/2 of a layer's n weights, nu = 2; biases as they
 * were. */
static void test_the_default_prior_shares_a_scale_in_each_layer(void **state) {
    bench b = {.hidden = "4,3", .activation = "tanh", .output = "softmax", .intercept = true};
    (void)state;
    make_rows(&b);
    sgfs_config *cfg = config_of(&b);
    set(cfg, "prior.precision", "auto");
    sgfs_data *data = wrap(ROWS, COLS, b.x, b.y, cfg);
    sgfs_model *m = open_on(data, cfg, NULL);
    double theta[MOST], G[MOST] = {0}, lp = 0, wanted = 0;
    uint64_t s = 77;
    for (int64_t j = 0; j < m->D; j++) theta[j] = 1.3 * next_normal(&s);
    assert_int_equal(sgfsi_prior_add(m, theta, &lp, G, NULL), SGFS_OK);
    for (int64_t l = 0; l < 3; l++) {
        const sgfs_block *at = &m->block[l];
        double q = 0, n = 0;
        for (int64_t k = 0; k < at->rows * at->cols; k++) {
            double x = theta[at->offset + k], P = m->prior->precision[at->offset + k];
            if (k % at->cols == 0) wanted -= P * x * x / 2;
            else q += P * x * x, n++;
        }
        wanted -= (2 + n) / 2 * log((2 + q) / (2 + n)) + n / 2;
    }
    assert_near(lp, wanted, 1e-12 * fabs(wanted), "density");
    for (int64_t j = 0; j < m->D; j++) {
        double kept = theta[j], high = 0, low = 0;
        theta[j] = kept + 1e-5;
        sgfsi_prior_add(m, theta, &high, NULL, NULL);
        theta[j] = kept - 1e-5;
        sgfsi_prior_add(m, theta, &low, NULL, NULL);
        theta[j] = kept;
        assert_near(G[j], (high - low) / 2e-5, 1e-7, "gradient");
    }
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_units_start_apart_and_by_the_seed(void **state) {
    (void)state;
    bench a = {.hidden = "5", .activation = "tanh", .output = "softmax", .intercept = true}, b = a;
    b.seed = "2";
    open_bench(&a);
    open_bench(&b);
    double first[MOST], again[MOST], other[MOST], spread[MOST], r = sqrt(6.0 / (3 + 5));
    a.m->kind->start(a.m, first, spread);
    a.m->kind->start(a.m, again, spread);
    b.m->kind->start(b.m, other, spread);
    assert_memory_equal(first, again, (size_t)a.m->D * sizeof *first);
    for (int u = 0; u < 5; u++) {
        assert_true(first[u * 4] == 0); /* bias */
        for (int c = 1; c < 4; c++) {
            const sgfsi_column *x = &a.data->feature[c - 1];
            double column = 1 / hypot(x->sd, x->mean);
            assert_true(first[u * 4 + c] != other[u * 4 + c]);
            assert_true(fabs(first[u * 4 + c]) <= r * column);
            assert_near(spread[u * 4 + c], 2 * r * column, 1e-12, "spread");
            for (int v = 0; v < u; v++) assert_true(first[u * 4 + c] != first[v * 4 + c]);
        }
    }
    close_bench(&a);
    close_bench(&b);
}

/* Draws on the user's scale, in the model opened again on the plain columns without a target,
 * predict what the chain predicts. */
static void check_user_scale(bench *b) {
    double user[MOST], *seen = zeros(ROWS * CLASSES), *raw = zeros(ROWS * CLASSES);
    probe p = probe_open(b->m, ROWS, NULL);
    b->m->kind->predict(b->m, b->theta, &p.batch, seen, p.scratch);
    b->m->kind->to_user(b->m, b->theta, user);
    sgfs_config *cfg = config_of(b);
    set(cfg, "data.standardize", "false");
    sgfs_data *data = wrap(ROWS, COLS, b->x, NULL, cfg);
    assert_true(!data->has_target);
    sgfs_model *m = open_on(data, cfg, b->m->saved);
    assert_int_equal(m->D, b->m->D);
    probe q = probe_open(m, ROWS, NULL);
    m->kind->predict(m, user, &q.batch, raw, q.scratch);
    for (int i = 0; i < ROWS * b->m->outputs; i++)
        assert_near(raw[i], seen[i], 1e-11 * (1 + fabs(seen[i])), b->label);
    for (int64_t k = 0; k < m->labels.count; k++)
        assert_string_equal(m->labels.name[k], b->m->labels.name[k]);
    free(seen);
    free(raw);
    probe_close(&p);
    probe_close(&q);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_the_users_scale_predicts_the_same(void **state) {
    (void)state;
    for_each(check_user_scale);
}

/* log_sigma and the densities too: those of y are those of y/s, divided by s. */
static void test_a_standardised_target_goes_back(void **state) {
    (void)state;
    bench b = {.hidden = "4,3", .activation = "tanh", .output = "gaussian", .standardize = true};
    open_bench(&b);
    double user[MOST], y_sd = sgfsi_json_get_num(b.m->saved, "y_sd", 1);
    assert_true(y_sd > 1.5 && sgfsi_json_get_num(b.m->saved, "y_mean", 0) != 0);
    b.m->kind->to_user(b.m, b.theta, user);
    sgfs_config *cfg = config_of(&b);
    set(cfg, "data.standardize", "false");
    sgfs_data *data = wrap(ROWS, COLS, b.x, b.y, cfg);
    sgfs_model *m = open_on(data, cfg, NULL);
    probe p = probe_open(b.m, ROWS, b.y), q = probe_open(m, ROWS, b.y);
    look(&p, b.theta);
    look(&q, user);
    for (int i = 0; i < ROWS; i++)
        assert_near(q.loglik[i], p.loglik[i] - log(y_sd), 1e-11, b.label);
    probe_close(&p);
    probe_close(&q);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_equal_a_plain_implementation),
        cmocka_unit_test(test_scores_are_derivatives),
        cmocka_unit_test(test_a_network_by_hand),
        cmocka_unit_test(test_the_papers_net_has_940_parameters),
        cmocka_unit_test(test_names_follow_columns_and_labels),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_the_output_follows_the_target),
        cmocka_unit_test(test_saturated_units_are_exact),
        cmocka_unit_test(test_relu_is_flat_at_zero),
        cmocka_unit_test(test_an_unknown_label_has_no_density),
        cmocka_unit_test(test_predictions_are_what_the_density_says),
        cmocka_unit_test(test_curvature_is_the_expected_information),
        cmocka_unit_test(test_drawn_targets_are_the_models),
        cmocka_unit_test(test_the_default_prior_shares_a_scale_in_each_layer),
        cmocka_unit_test(test_units_start_apart_and_by_the_seed),
        cmocka_unit_test(test_the_users_scale_predicts_the_same),
        cmocka_unit_test(test_a_standardised_target_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
