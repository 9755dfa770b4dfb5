/* SPDX-License-Identifier: MIT
 * model_bench.h: every model in every setting, on its data: what the statements of test_model.c and
 * test_model_says.c are about.
 *
 * Columns have very different places and scales. Targets are drawn from the model itself, opened
 * without any on standardised columns, at a random theta, as simulation does it; labels are 0, 1,
 * 2, or 0 and 1 where the model takes no more. A kind in its plain setting is looked at
 * standardised and not, with and without intercept, on every backend; with one option given (every
 * value of a choice, a number in place of "auto", texts from the table below) in two of these
 * eight.
 */
#pragma once

#include <float.h>
#include <stdio.h>

#include "posterior/posterior.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { ROWS = 1301, COLS = 3 }; /* more rows than one block of a full pass (1024) */

static const char *const names[COLS] = {"height", "x 2", "\xC3\xA9tage"};
static const double place[COLS] = {2.385, -0.713, 13.79}, scale[COLS] = {1.913, 0.0437, 5.21};

/* Values for options that are texts: nobody could guess them. always: in every setting of the kind
 * (a small network instead of its default). A row of a kind or key that is not there is no row. */
static const struct {
    const char *kind, *key, *value;
    bool always;
} texts[] = {{"mlp", "model.hidden", "3", true},
             {"mlp", "model.hidden", "4,3", false},
             {"mlp", "model.hidden", "none", false},
             {"drbm", "model.hidden", "2", true},
             {"softmax", "model.reference_class", "1", false},
             {"softmax", "model.reference_class", "none", false}};
enum { TEXTS = sizeof texts / sizeof texts[0] };

/* ---- one model on its data ------------------------------------------------------------------- */

typedef struct setup {
    const sgfs_model_kind *kind;
    bool standardize, intercept;
    const char *backend;
    const char *key[2], *value[2]; /* options to give; NULL: none */
    bool plain;                    /* none is given */
} setup;

typedef struct bench {
    setup is;
    double *x, *y; /* ROWS x COLS, ROWS */
    float *x32;    /* x rounded */
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    int64_t D, labels;    /* labels: 0 for numbers */
    double *theta, *unit; /* D: a place to stand, and the scale of each parameter */
    char label[192];
} bench;

static void set_in(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_config *make_config(const setup *is, bool standardize) {
    sgfs_config *cfg = unit_prior_config();
    assert_non_null(cfg);
    set_in(cfg, "prior.precision", "0.371");
    set_in(cfg, "run.device", is->backend);
    set_in(cfg, "data.standardize", standardize ? "true" : "false");
    set_in(cfg, "data.intercept", is->intercept ? "true" : "false");
    for (int i = 0; i < TEXTS; i++) {
        bool here = strcmp(texts[i].kind, is->kind->name) == 0 && texts[i].always;
        if (here && sgfsi_options_have(is->kind->options, texts[i].key))
            set_in(cfg, texts[i].key, texts[i].value);
    }
    for (int i = 0; i < 2; i++) {
        if (is->key[i] != NULL) set_in(cfg, is->key[i], is->value[i]);
    }
    return cfg;
}

static sgfs_data *wrap(const sgfs_config *cfg, const double *x, const float *x32, const double *y) {
    sgfs_err err = {0};
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = x, .x32 = x32, .y = y, .names = names};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    if (data == NULL) fail_msg("%s", err.text);
    return data;
}

static void make_columns(bench *b) {
    uint64_t s = 20120626;
    b->x = zeros(ROWS * COLS);
    b->x32 = malloc(sizeof *b->x32 * ROWS * COLS);
    assert_non_null(b->x32);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            double z = next_normal(&s);
            if (j > 0) z = 0.6 * (b->x[i * COLS + j - 1] - place[j - 1]) / scale[j - 1] + 0.8 * z;
            b->x[i * COLS + j] = place[j] + scale[j] * z;
            b->x32[i * COLS + j] = (float)b->x[i * COLS + j];
        }
    }
}

/* All rows of the data as one batch with targets y; the caller frees x. */
static sgfs_batch whole(const sgfs_data *data, const double *y) {
    double *x = zeros(data->N * data->p);
    sgfsi_data_rows_range(data, 0, data->N, x, NULL);
    return (sgfs_batch){
        .n = data->N, .p = data->p, .x = x, .y = y, .total = data->total, .gamma = 1};
}

static sgfs_model *open_untargeted(const setup *is, const sgfs_data *data, const sgfs_config *cfg,
                                   int count, sgfs_err *err) {
    static const char *const label[] = {"0", "1", "2"};
    sgfsi_json *info = sgfsi_json_object(), *list = sgfsi_json_array();
    for (int k = 0; k < count; k++) sgfsi_json_text(list, NULL, label[k]);
    sgfsi_json_put(info, "labels", list);
    sgfs_model *m = sgfsi_model_create(is->kind, data, cfg, info, err);
    if (m != NULL) m->restored = NULL;
    sgfsi_json_free(info);
    return m;
}

/* n numbers each for kind->resample. */
static void make_random(uint64_t *s, int64_t n, double *normal, double *uniform) {
    for (int64_t i = 0; i < n; i++) {
        normal[i] = next_normal(s);
        uniform[i] = 0.5 * (next_number(s) + 1);
    }
}

/* Targets; false: the model refuses this combination of options. */
static bool make_targets(bench *b) {
    sgfs_err err = {0};
    sgfs_config *cfg = make_config(&b->is, true);
    sgfs_data *data = wrap(cfg, b->x, NULL, NULL);
    sgfs_model *m = open_untargeted(&b->is, data, cfg, 3, &err);
    if (m == NULL && err.code == SGFS_EUSAGE) m = open_untargeted(&b->is, data, cfg, 2, &err);
    if (m == NULL && err.code != SGFS_EUSAGE) fail_msg("%s: %s", b->label, err.text);
    if (m != NULL) {
        uint64_t s = 385;
        double *theta = zeros(m->D), *spread = zeros(m->D), *normal = zeros(2 * ROWS);
        sgfs_batch batch = whole(data, NULL);
        b->y = zeros(ROWS);
        b->labels = m->labels.count;
        m->kind->start(m, theta, spread);
        /* the start itself may know of targets, and there are none */
        for (int64_t j = 0; j < m->D; j++) theta[j] = 0.7 * next_normal(&s) * spread[j];
        make_random(&s, ROWS, normal, normal + ROWS);
        m->kind->resample(m, theta, &batch, normal, normal + ROWS, b->y);
        free(theta);
        free(spread);
        free(normal);
        free((void *)batch.x);
    }
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return b->y != NULL;
}

static void open_model(bench *b, const float *x32, const double *x) {
    sgfs_err err = {0};
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    b->data = wrap(b->cfg, x, x32, b->y);
    b->m = sgfsi_model_create(b->is.kind, b->data, b->cfg, NULL, &err);
    if (b->m == NULL) fail_msg("%s: %s", b->label, err.text);
    b->D = b->m->D;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x);
    free(b->y);
    free(b->x32);
    free(b->theta);
    free(b->unit);
}

/* false: the model refuses this combination of options. */
static bool open_bench(bench *b, const setup *is) {
    *b = (bench){.is = *is};
    int n = snprintf(b->label, sizeof b->label, "%s%s%s %s", is->kind->name,
                     is->standardize ? " standardised" : "",
                     is->intercept ? "" : " without intercept", is->backend);
    for (int i = 0; i < 2; i++) {
        if (is->key[i] != NULL)
            n += snprintf(b->label + n, sizeof b->label - (size_t)n, " %s=%s", is->key[i],
                          is->value[i]);
    }
    make_columns(b);
    if (!make_targets(b)) return close_bench(b), false;
    b->cfg = make_config(is, is->standardize);
    open_model(b, NULL, b->x);
    assert_int_equal(b->m->labels.count, b->labels);
    b->theta = zeros(b->D);
    b->unit = zeros(b->D);
    /* near enough to the posterior for every row to matter, not at its mode */
    is->kind->start(b->m, b->theta, b->unit);
    uint64_t s = 7;
    for (int64_t j = 0; j < b->D; j++) b->theta[j] += 0.4 * next_number(&s) * b->unit[j];
    return true;
}

/* ---- every setting --------------------------------------------------------------------------- */

enum { MOST_SETUPS = 512 };
static setup setups[MOST_SETUPS];
static int setup_count;

static bool opens(const setup *is) {
    bench b;
    if (!open_bench(&b, is)) return false;
    close_bench(&b);
    return true;
}

static void add(const setup *is) {
    assert_true(setup_count < MOST_SETUPS);
    setups[setup_count++] = *is;
}

/* All eight of the plain setting; two opposite ones of the others, in turn. */
static void add_places(setup is) {
    static int turn;
    int corner = is.plain ? 0 : (3 * turn++) % 8;
    for (int i = 0; i < 8; i++) {
        int at = corner ^ i;
        is.standardize = at & 1;
        is.intercept = at & 2;
        is.backend = at & 4 ? "host" : "blas";
        if (is.plain || i == 0 || i == 7) add(&is);
    }
}

/* The n-th value of "a|b|c" that is not `except`; NULL past the last. Static texts. */
static const char *choice(const sgfs_option *o, int n) {
    static char text[64][64];
    static int used;
    for (const char *at = o->choices; at != NULL;) {
        size_t length = strcspn(at, "|");
        bool plain = strlen(o->value) == length && strncmp(at, o->value, length) == 0;
        if (!plain && n-- == 0) {
            char *out = text[used++ % 64];
            assert_true(length < sizeof text[0]);
            memcpy(out, at, length);
            out[length] = '\0';
            return out;
        }
        at = at[length] == '|' ? at + length + 1 : NULL;
    }
    return NULL;
}

/* One option given. Where that is refused (a sigma without a Gaussian), the first choice that makes
 * sense of it is given with it; there must be one. */
static void add_option(const sgfs_model_kind *kind, const char *key, const char *value) {
    setup is = {.kind = kind, .intercept = true, .backend = "blas", .key = {key}, .value = {value}};
    bool opened = opens(&is);
    for (const sgfs_option *o = kind->options; o->key != NULL; o++) {
        for (int n = 0; !opened && o->type == SGFS_CHOICE && choice(o, n) != NULL; n++) {
            is.key[1] = o->key;
            is.value[1] = choice(o, n);
            opened = opens(&is);
        }
    }
    if (!opened) fail_msg("model %s takes %s = %s in no setting", kind->name, key, value);
    add_places(is);
}

static void add_options(const sgfs_model_kind *kind) {
    for (const sgfs_option *o = kind->options; o->key != NULL; o++) {
        bool number = o->type == SGFS_NUMBER || o->type == SGFS_INTEGER;
        for (int n = 0; o->type == SGFS_CHOICE && choice(o, n) != NULL; n++)
            add_option(kind, o->key, choice(o, n));
        if (number && strcmp(o->value, "auto") == 0)
            add_option(kind, o->key, o->type == SGFS_NUMBER ? "0.83" : "2");
    }
    for (int i = 0; i < TEXTS; i++) {
        if (strcmp(texts[i].kind, kind->name) == 0 && !texts[i].always &&
            sgfsi_options_have(kind->options, texts[i].key))
            add_option(kind, texts[i].key, texts[i].value);
    }
}

static int find_setups(void **state) {
    (void)state;
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) {
        add_places((setup){.kind = *k, .plain = true});
        add_options(*k);
    }
    return 0;
}

/* Run a statement about one model for every model and every setting. */
static void for_each(void (*statement)(bench *b)) {
    for (int i = 0; i < setup_count; i++) {
        bench b;
        assert_true(open_bench(&b, &setups[i]));
        statement(&b);
        close_bench(&b);
    }
}

static inline bool is_kind(const bench *b, const char *name) {
    return strcmp(b->is.kind->name, name) == 0;
}

/* Was this option of the kind given? */
static inline bool gives(const bench *b, const char *key) {
    return (b->is.key[0] != NULL && strcmp(b->is.key[0], key) == 0) ||
           (b->is.key[1] != NULL && strcmp(b->is.key[1], key) == 0);
}

/* ---- looking at it --------------------------------------------------------------------------- */

/* Rows in order from t on: a batch of all of them, or of any single one. */
static inline double gamma_in_order(const sgfs_urn *urn) {
    return urn->total / (double)urn->n;
}

static inline int64_t no_state(const sgfs_urn *urn) {
    (void)urn;
    return 0;
}

static inline void draw_in_order(const sgfs_urn *urn, const sgfs_when *when, int64_t *state,
                                 int64_t *row) {
    (void)state;
    for (int64_t i = 0; i < urn->n; i++) row[i] = (when->t + i) % urn->N;
}

static const sgfs_scheme_kind in_order = {
    .name = "in order", .gamma = gamma_in_order, .state = no_state, .draw = draw_in_order};

typedef struct probe {
    sgfsi_arena arena;
    sgfsi_eval eval;
    double *G, lp;
} probe;

static inline void open_probe(probe *p, const bench *b, const sgfs_scheme_kind *scheme, int64_t n) {
    *p = (probe){.lp = 0};
    assert_int_equal(sgfsi_eval_open(&p->eval, b->m, scheme, n, &p->arena, NULL), SGFS_OK);
    p->G = SGFSI_DOUBLES(&p->arena, b->D);
    assert_non_null(p->G);
}

static inline void look(probe *p, int64_t t, const double *theta) {
    sgfs_err err;
    if (sgfsi_eval_gradient(&p->eval, t, SGFSI_ROWS, theta, p->G, &p->lp, &err) != SGFS_OK)
        fail_msg("%s", err.text);
}

static inline double full(const bench *b, const double *theta, double *G, double *A) {
    double lp;
    sgfs_err err;
    if (sgfsi_posterior_full(b->m, theta, &lp, G, A, &err) != SGFS_OK) fail_msg("%s", err.text);
    return lp;
}

/* Score of row i of the batch: factors multiplied out. */
static inline void expand(const sgfs_scores *s, int64_t i, double *g) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        for (int64_t r = 0; r < o->rows; r++) {
            for (int64_t c = 0; c < o->cols; c++) {
                int64_t d = o->rows * o->cols, at = r * o->cols + c;
                g[o->offset + at] = o->dense != NULL
                                        ? o->dense[i * d + at]
                                        : o->left[i * o->rows + r] * o->right[i * o->cols + c];
            }
        }
    }
}
