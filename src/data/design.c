/* SPDX-License-Identifier: MIT
 * design.c: from a table (or the caller's arrays) to a design: target and features selected, every column
 * looked through once (finite? constant? mean and spread?), standardising decided.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/data.h"

const sgfs_option sgfsi_data_options[] = {
    {"data.target", "target", SGFS_TEXT, "", 1, 0, NULL,
     "column to explain, by name or number from 1 (default: the last column)"},
    {"data.features", "features", SGFS_TEXT, "", 1, 0, NULL,
     "columns to explain it with: names, numbers, ranges 3-7 (default: all others)"},
    {"data.delimiter", "delimiter", SGFS_TEXT, "auto", 1, 0, NULL,
     "character between CSV cells, or \"tab\" (default: found by itself)"},
    {"data.header", "header", SGFS_CHOICE, "auto", 1, 0, "auto|yes|no",
     "does the CSV file start with column names?"},
    {"data.storage", "storage", SGFS_CHOICE, "f64", 1, 0, "f64|f32",
     "how CSV numbers are kept in memory; f32 halves it"},
    {"data.intercept", "intercept", SGFS_FLAG, "true", 1, 0, NULL, "put a column of ones in front"},
    {"data.standardize", "standardize", SGFS_FLAG, "false", 1, 0, NULL,
     "sample on centred, scaled columns; draws are reported on your scale"},
    SGFSI_OPTIONS_END};

enum { BLOCK = 256 };

/* ---- which columns ------------------------------------------------------------------------------------ */

static bool parse_range(const char *item, int64_t *low, int64_t *high) {
    char text[64];
    const char *dash = strchr(item, '-');
    if (dash == NULL || dash == item || strlen(item) >= sizeof text) return false;
    memcpy(text, item, (size_t)(dash - item));
    text[dash - item] = '\0';
    return sgfsi_text_int(text, low) && sgfsi_text_int(dash + 1, high) && *low >= 1 && *low <= *high;
}

static sgfs_status mark(bool *chosen, const sgfsi_table *table, const char *item, sgfs_err *err) {
    int64_t low, high, at = sgfsi_table_column(table, item);
    if (at >= 0) {
        chosen[at] = true;
        return SGFS_OK;
    }
    if (parse_range(item, &low, &high) && high <= table->cols) {
        for (int64_t j = low; j <= high; j++) chosen[j - 1] = true;
        return SGFS_OK;
    }
    return sgfsi_fail(err, SGFS_EUSAGE, "--features: there is no column \"%s\" among the %lld columns.",
                      item, (long long)table->cols);
}

/* chosen[j] says whether table column j is a feature. */
static sgfs_status choose_features(const sgfs_data *d, const char *list, bool *chosen, sgfs_err *err) {
    for (int64_t j = 0; j < d->table.cols; j++) chosen[j] = list[0] == '\0' && j != d->target_col;
    char *copy = strdup(list), *rest = NULL;
    if (copy == NULL) return sgfsi_fail_memory(err, "the list of features");
    sgfs_status status = SGFS_OK;
    for (char *item = strtok_r(copy, ",", &rest); item != NULL && status == SGFS_OK;
         item = strtok_r(NULL, ",", &rest)) {
        status = mark(chosen, &d->table, item, err);
    }
    free(copy);
    if (status == SGFS_OK && d->target_col >= 0 && chosen[d->target_col]) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--features: \"%s\" is the target; it cannot explain itself.",
                          d->table.names[d->target_col]);
    }
    return status;
}

/* Features in table order, gathered in runs of neighbours. */
static sgfs_status lay_out(sgfs_data *d, const bool *chosen, sgfs_err *err) {
    int64_t cols = d->table.cols;
    d->feature = sgfsi_arena_alloc(&d->arena, cols + 1, sizeof *d->feature);
    d->run = sgfsi_arena_alloc(&d->arena, cols + 1, sizeof *d->run);
    if (d->feature == NULL || d->run == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < cols; j++) {
        if (!chosen[j]) continue;
        d->feature[d->features++].name = d->table.names[j];
        sgfsi_columns_run *last = d->runs > 0 ? &d->run[d->runs - 1] : NULL;
        if (last != NULL && last->first + last->count == j) last->count++;
        else d->run[d->runs++] = (sgfsi_columns_run){j, 1};
    }
    d->p = d->features + (d->intercept ? 1 : 0);
    if (d->p == 0) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: no feature columns are left and there is no intercept.",
                          d->path);
    }
    return SGFS_OK;
}

static sgfs_status select_columns(sgfs_data *d, const sgfs_config *cfg, sgfs_err *err) {
    bool *chosen = calloc((size_t)d->table.cols + 1, sizeof *chosen);
    if (chosen == NULL) return sgfsi_fail_memory(err, "the columns");
    sgfs_status status = choose_features(d, sgfsi_config_text(cfg, "data.features"), chosen, err);
    if (status == SGFS_OK) status = lay_out(d, chosen, err);
    free(chosen);
    return status;
}

/* ---- one look at every cell ------------------------------------------------------------------------------ */

/* Mean, spread and range of one column, merged block by block (Chan, Golub, LeVeque 1979). */
typedef struct tally {
    double count, mean, ss, min, max;
} tally;

static void tally_block(tally *t, int64_t n, int64_t stride, const double *x) {
    double sum = 0, ss = 0, min = x[0], max = x[0];
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * stride];
        sum += v;
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) ss += (x[i * stride] - mean) * (x[i * stride] - mean);
    double total = t->count + (double)n, gap = mean - t->mean;
    if (t->count == 0 || min < t->min) t->min = min;
    if (t->count == 0 || max > t->max) t->max = max;
    t->ss += ss + gap * gap * t->count * (double)n / total;
    t->mean += gap * (double)n / total;
    t->count = total;
}

static void tally_to_column(const tally *t, sgfsi_column *c) {
    c->mean = t->mean;
    c->sd = t->count > 1 ? sqrt(t->ss / (t->count - 1)) : 0;
    c->min = t->min;
    c->max = t->max;
}

static int64_t count_bad(int64_t n, const double *x) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !isfinite(x[i]);
    return bad;
}

/* Name the first cell of the block that is not finite. first: the block's first row. */
static sgfs_status report_bad(const sgfs_data *d, int64_t first, int64_t n, const double *x,
                              const double *y, sgfs_err *err) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= d->features; j++) {
            bool is_target = j == d->features;
            if (isfinite(is_target ? y[i] : x[i * d->features + j])) continue;
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: row %lld, column \"%s\" is not a finite number; remove such rows or "
                              "fill them in first.",
                              d->path, (long long)(first + i + 1),
                              is_target ? d->target.name : d->feature[j].name);
        }
    }
    return SGFS_OK;
}

/* The intercept is left out while looking, so x is n x features. */
static sgfs_status look_through(sgfs_data *d, tally *t, double *x, double *y, sgfs_err *err) {
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        sgfsi_data_rows_range(d, first, n, x, y);
        if (count_bad(n * d->features, x) + count_bad(n, y) > 0) {
            return report_bad(d, first, n, x, y, err);
        }
        for (int64_t j = 0; j < d->features; j++) tally_block(&t[j], n, d->features, x + j);
        tally_block(&t[d->features], n, 1, y);
    }
    for (int64_t j = 0; j < d->features; j++) tally_to_column(&t[j], &d->feature[j]);
    tally_to_column(&t[d->features], &d->target);
    return SGFS_OK;
}

static sgfs_status measure(sgfs_data *d, sgfs_err *err) {
    bool intercept = d->intercept;
    int64_t p = d->p;
    tally *t = calloc((size_t)d->features + 1, sizeof *t);
    double *x = malloc(sizeof *x * (size_t)(BLOCK * (d->features + 1)));
    sgfs_status status = SGFS_OK;
    if (t == NULL || x == NULL) {
        status = sgfsi_fail_memory(err, "the column statistics");
    } else {
        d->intercept = false;
        d->p = d->features;
        status = look_through(d, t, x, x + BLOCK * d->features, err);
        d->intercept = intercept;
        d->p = p;
    }
    free(t);
    free(x);
    return status;
}

/* ---- what the user should know -------------------------------------------------------------------------- */

static void warn_columns(const sgfs_data *d, bool standardize, const sgfsi_log *log) {
    double least = INFINITY, most = 0;
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_column *c = &d->feature[j];
        if (c->sd == 0) {
            sgfsi_say(log, SGFS_WARNING,
                      "Column \"%s\" is constant: the data say nothing about it%s.", c->name,
                      d->intercept ? " that the intercept does not say" : "");
            continue;
        }
        least = c->sd < least ? c->sd : least;
        most = c->sd > most ? c->sd : most;
    }
    if (!standardize && most > 1e4 * least) {
        sgfsi_say(log, SGFS_WARNING,
                  "The columns differ in scale by a factor of %.0e, and the prior treats them alike: "
                  "consider --standardize.",
                  most / least);
    }
}

/* Without an intercept nothing could absorb the means, so columns are scaled but not centred. */
static sgfs_status standardize(sgfs_data *d, sgfs_err *err) {
    d->shift = SGFSI_DOUBLES(&d->arena, d->features + 1);
    d->scale = SGFSI_DOUBLES(&d->arena, d->features + 1);
    if (d->shift == NULL || d->scale == NULL) return sgfsi_fail_memory(err, "the column scales");
    for (int64_t j = 0; j < d->features; j++) {
        bool constant = d->feature[j].sd == 0;
        d->shift[j] = d->intercept ? d->feature[j].mean : 0;
        d->scale[j] = constant ? 1 : 1 / d->feature[j].sd;
    }
    return SGFS_OK;
}

static sgfs_status finish(sgfs_data *d, const sgfs_config *cfg, sgfs_err *err) {
    d->intercept = sgfsi_config_flag(cfg, "data.intercept");
    d->N = d->table.rows;
    sgfs_status status = select_columns(d, cfg, err);
    if (status == SGFS_OK) status = measure(d, err);
    if (status != SGFS_OK) return status;
    bool wanted = sgfsi_config_flag(cfg, "data.standardize");
    warn_columns(d, wanted, sgfsi_config_log(cfg));
    return wanted ? standardize(d, err) : SGFS_OK;
}

/* ---- files and arrays ------------------------------------------------------------------------------------ */

static sgfs_status find_target(sgfs_data *d, const char *target, sgfs_err *err) {
    d->has_target = true;
    d->target_col = target[0] == '\0' ? d->table.cols - 1 : sgfsi_table_column(&d->table, target);
    if (d->target_col < 0) {
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: there is no column \"%s\" to use as --target among the "
                          "%lld columns.", d->path, target, (long long)d->table.cols);
    }
    d->target.name = d->table.names[d->target_col];
    return SGFS_OK;
}

static sgfs_status open_file(sgfs_data *d, const char *path, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_read_options options = {
        .target = sgfsi_config_text(cfg, "data.target"),
        .features = sgfsi_config_text(cfg, "data.features"),
        .delimiter = sgfsi_config_text(cfg, "data.delimiter"),
        .header = sgfsi_config_text(cfg, "data.header"),
        .single = strcmp(sgfsi_config_text(cfg, "data.storage"), "f32") == 0,
        .target_may_be_text = true,
        .log = sgfsi_config_log(cfg),
    };
    sgfs_status status = sgfsi_table_read(path, &options, &d->table, err);
    if (status == SGFS_OK) status = find_target(d, options.target, err);
    return status == SGFS_OK ? finish(d, cfg, err) : status;
}

static sgfs_data *new_data(const char *path, sgfs_err *err) {
    sgfs_data *d = calloc(1, sizeof *d);
    if (d != NULL) d->path = sgfsi_arena_text(&d->arena, path);
    if (d == NULL || d->path == NULL) {
        sgfs_data_free(d);
        sgfsi_fail_memory(err, "the data");
        return NULL;
    }
    d->table.text_col = d->target_col = -1;
    return d;
}

sgfs_data *sgfs_data_open(const char *path, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_data *d = new_data(path, err);
    if (d != NULL && open_file(d, path, cfg, err) != SGFS_OK) {
        sgfs_data_free(d);
        return NULL;
    }
    return d;
}

/* Names for the table of the caller's arrays; malloc'ed as a reader's are. */
static sgfs_status name_columns(sgfsi_table *table, const char *const *names, sgfs_err *err) {
    table->names = calloc((size_t)table->cols + 1, sizeof *table->names);
    if (table->names == NULL) return sgfsi_fail_memory(err, "the column names");
    for (int64_t j = 0; j < table->cols; j++) {
        char made[32];
        snprintf(made, sizeof made, "x%lld", (long long)(j + 1));
        table->names[j] = strdup(names != NULL ? names[j] : made);
        if (table->names[j] == NULL) return sgfsi_fail_memory(err, "the column names");
    }
    table->named = names != NULL;
    return SGFS_OK;
}

static sgfs_status wrap(sgfs_data *d, const sgfs_arrays *a, const sgfs_config *cfg, sgfs_err *err) {
    if (a->rows < 1 || a->cols < 0 || (a->x == NULL) == (a->x32 == NULL) ||
        (a->row_stride != 0 && a->row_stride < a->cols)) {
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_data_wrap: needs at least one row, exactly one of x and "
                          "x32, and a row_stride of 0 or at least cols.");
    }
    d->table.rows = a->rows;
    d->table.cols = a->cols;
    d->table.row_stride = a->row_stride != 0 ? a->row_stride : a->cols;
    d->table.type = a->x != NULL ? SGFSI_F64 : SGFSI_F32;
    d->table.cells = a->x != NULL ? (const void *)a->x : (const void *)a->x32;
    d->y = a->y;
    d->has_target = a->y != NULL;
    d->target.name = sgfsi_arena_text(&d->arena, a->target_name != NULL ? a->target_name : "y");
    sgfs_status status = name_columns(&d->table, a->names, err);
    return status == SGFS_OK ? finish(d, cfg, err) : status;
}

sgfs_data *sgfs_data_wrap(const sgfs_arrays *arrays, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_data *d = new_data("(arrays)", err);
    if (d != NULL && wrap(d, arrays, cfg, err) != SGFS_OK) {
        sgfs_data_free(d);
        return NULL;
    }
    return d;
}

int64_t sgfs_data_rows(const sgfs_data *data) {
    return data->N;
}

void sgfs_data_free(sgfs_data *data) {
    if (data == NULL) return;
    sgfsi_table_free(&data->table);
    sgfsi_arena_free(&data->arena);
    free(data);
}

sgfsi_json *sgfsi_data_describe(const sgfs_data *d) {
    sgfsi_json *o = sgfsi_json_object(), *columns = sgfsi_json_array();
    sgfsi_json_text(o, "path", d->path);
    sgfsi_json_int(o, "rows", d->N);
    sgfsi_json_flag(o, "intercept", d->intercept);
    sgfsi_json_flag(o, "standardized", d->scale != NULL);
    if (d->has_target) sgfsi_json_text(o, "target", d->target.name);
    /* The means and spreads are the transform, and at the same time the fingerprint of the data. */
    for (int64_t j = 0; j < d->features; j++) {
        sgfsi_json *c = sgfsi_json_object();
        sgfsi_json_text(c, "name", d->feature[j].name);
        sgfsi_json_num(c, "mean", d->feature[j].mean);
        sgfsi_json_num(c, "sd", d->feature[j].sd);
        if (d->scale != NULL) {
            sgfsi_json_num(c, "shift", d->shift[j]);
            sgfsi_json_num(c, "scale", d->scale[j]);
        }
        sgfsi_json_put(columns, NULL, c);
    }
    sgfsi_json_put(o, "features", columns);
    sgfsi_json_num(o, "target_mean", d->target.mean);
    sgfsi_json_num(o, "target_sd", d->target.sd);
    return o;
}
