/* SPDX-License-Identifier: MIT
 * design.c: from a table (or the caller's arrays) to a design: target and features selected, every
 * column looked through once (finite? constant? mean and spread?), standardising decided.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/collect.h"
#include "files/columns.h"
#include "files/counts.h"
#include "files/formula/formula.h"
#include "files/sketch/sketch.h"
#include "files/transform/transform.h"
#include "rows/far.h"
#include "rows/fingerprint.h"

const sgfs_option sgfsi_data_options[] = {
    {"data.target", "target", SGFS_TEXT, "", 1, 0, NULL,
     "column to explain, by name or number from 1 (default: the last one)"},
    {"data.features", "features", SGFS_TEXT, "", 1, 0, NULL,
     "columns to explain it with: names, numbers, ranges 3-7, none (default: all others)"},
    {"data.formula", "formula", SGFS_TEXT, "", 1, 0, NULL,
     "target, columns and groups in one: \"y ~ x*city + poly(z, 2) + (1 + x | user)\""},
    {"data.effects", "effects", SGFS_TEXT, "", 1, 0, NULL,
     "what varies between groups of rows: \"(1 | user) + (1 + x | item)\""},
    {"data.weights", "weights", SGFS_TEXT, "", 1, 0, NULL,
     "column that says how often each row counts (default: once)"},
    {"data.exposure", "exposure", SGFS_TEXT, "", 1, 0, NULL,
     "column with the time or size that a row's count belongs to, for models of counts"},
    {"data.delimiter", "delimiter", SGFS_TEXT, "auto", 1, 0, NULL,
     "character between CSV cells, or \"tab\" (default: found by itself)"},
    {"data.header", "header", SGFS_CHOICE, "auto", 1, 0, "auto|yes|no",
     "does the CSV file start with column names?"},
    {"data.storage", "storage", SGFS_CHOICE, "f64", 1, 0, "f64|f32",
     "how numbers of CSV and packed files are kept; f32 halves them"},
    {"data.na", "na", SGFS_CHOICE, "error", 1, 0, "error|drop|mean",
     "missing values: refuse them, leave their rows out, or fill in the mean"},
    {"data.max_bytes", "max-bytes", SGFS_NUMBER, "auto", 1, 1e18, NULL,
     "refuse rows that take more memory than this (auto: half of the memory there is)"},
    {"data.labels", "labels", SGFS_FILE, "", 1, 0, NULL,
     "file with the targets, where the data are in another: labels.idx beside images.idx"},
    {"data.amount", "amount", SGFS_TEXT, "", 1, 0, NULL,
     "columns of amounts ($86,974, 1 234 EUR, 12 %), which are numbers without their signs"},
    {"data.date", "date", SGFS_TEXT, "", 1, 0, NULL,
     "columns of dates (2024-03-17, 2024-03-17T08:30Z) to make year, month, weekday and hour of"},
    {"data.categorical", "categorical", SGFS_TEXT, "", 1, 0, NULL,
     "CSV columns of words or codes: names, numbers, ranges, or \"auto\" for all that hold words"},
    {"data.coding", "coding", SGFS_CHOICE, "onehot", 1, 0, "onehot|integer",
     "categorical columns as 0 and 1 for each word, or as numbers"},
    {"data.reference_level", "reference-level", SGFS_TEXT, "", 1, 0, NULL,
     "the word that others are compared with: city=Kiel,plan=pro (default: the most frequent)"},
    {"data.new_words", "new-words", SGFS_CHOICE, "refuse", 1, 0, "refuse|zero",
     "new rows with a word that the run has not seen: zero leaves all its columns 0"},
    {"data.columns", "columns", SGFS_INTEGER, "auto", 1, 1e6, NULL,
     "features of a libsvm file, where it may lack the last ones"},
    {"data.zero_based", "zero-based", SGFS_FLAG, "false", 1, 0, NULL,
     "the features of a libsvm file are numbered from 0, not from 1"},
    {"data.dense", "dense", SGFS_FLAG, "false", 1, 0, NULL,
     "keep the zeros of a libsvm file: faster where there are few"},
    {"data.intercept", "intercept", SGFS_FLAG, "true", 1, 0, NULL, "put a column of ones in front"},
    {"data.standardize", "standardize", SGFS_FLAG, "false", 1, 0, "all",
     "sample on centred, scaled columns (0/1 columns are scaled with \"all\" only)"},
    /* transforms: applied in the order in which they are given (transform.c) */
    {"data.keep_classes", "keep-classes", SGFS_TEXT, "", 1, 0, NULL,
     "only rows whose target is one of these: 7,9"},
    {"data.limit", "limit", SGFS_INTEGER, "auto", 1, 1e15, NULL, "only the first rows"},
    {"data.split", "split", SGFS_TEXT, "", 1, 0, NULL,
     "shares of the rows, drawn at random, for training, validation and test: 0.9,0.05,0.05"},
    {"data.split_seed", "split-seed", SGFS_INTEGER, "1", 0, 9e15, NULL,
     "which rows --split takes: the same seed, the same rows"},
    {"data.part", "part", SGFS_CHOICE, "train", 1, 0, "train|validation|test|all",
     "which part of --split is read"},
    {"data.drop", "drop", SGFS_TEXT, "", 1, 0, NULL,
     "columns to leave out: names, numbers, ranges"},
    {"data.log1p", "log1p", SGFS_TEXT, "", 1, 0, NULL,
     "columns to replace by log(1 + x): names, numbers, ranges"},
    {"data.project", "project", SGFS_INTEGER, "auto", 1, 1e5, NULL,
     "that many random combinations of the columns in place of the columns"},
    {"data.project_seed", "project-seed", SGFS_INTEGER, "1", 0, 9e15, NULL,
     "which combinations --project takes"},
    SGFSI_OPTIONS_END};

static void warn_columns(const sgfs_data *d, const sgfsi_log *log) {
    enum { NAMED = 4 };
    const char *name[NAMED] = {NULL};
    int64_t count = 0;
    if (d->N < 2) return;                       /* in one row everything is constant */
    for (int64_t j = 0; j < d->features; j++) { /* without an intercept, it may stand for one */
        bool constant = d->feature[j].sd == 0 && (d->intercept || d->feature[j].mean == 0);
        if (constant && count++ < NAMED) name[count - 1] = d->feature[j].name;
    }
    /* Of many (images have margins) only the first are named. */
    char all[240] = "";
    for (int64_t k = 0; k < count && k < NAMED; k++)
        sgfsi_append(all, sizeof all, "%s%.50s", k > 0 ? "," : "", name[k]);
    const char *quote = all[strcspn(all, " ()'\"$&;<>|*?")] != '\0' ? "'" : "";
    const char *is = d->intercept ? "constant" : "0 in every row",
               *that = d->intercept ? " that the intercept does not say" : "";
    if (count == 1)
        sgfsi_warn(d->warnings, log,
                   "Column \"%s\" is %s: the data say nothing about it%s. Leave it out with --drop "
                   "%s%s%s.",
                   name[0], is, that, quote, all, quote);
    else if (count > 0)
        sgfsi_warn(d->warnings, log,
                   "%lld columns are %s: the data say nothing about them%s. Leave them out with "
                   "--drop %s%s%s%s.",
                   (long long)count, is, that, quote, all, count > NAMED ? ",..." : "", quote);
}

/* Are these as many numbers as there are rows, one after another, each once and in any order? Their
 * range, mean and spread say so. Years are what they are. */
static bool numbers_rows(const sgfsi_column *c, double N) {
    double first = c->min, spread = sqrt(N * (N + 1) / 12);
    bool years = first >= 1000 && c->max <= 2200;
    return N > 2 && first >= 0 && first == floor(first) && !years && c->max == first + N - 1 &&
           fabs(c->mean - (first + c->max) / 2) < 1e-9 * (N + fabs(first)) &&
           fabs(c->sd - spread) < 1e-6 * spread;
}

/* 20240131, of a year from 1900 to 2100? */
static bool is_date(double x) {
    double year = floor(x / 1e4), month = floor(fmod(x, 1e4) / 100), day = fmod(x, 100);
    return x == floor(x) && year >= 1900 && year <= 2100 && month >= 1 && month <= 12 && day >= 1 &&
           day <= 31;
}

/* Columns of numbers that name something: all that number the rows in one sentence, and all dates
 * in another. */
static void warn_of_row_numbers(const sgfs_data *d, const sgfsi_log *log) {
    char rows[200] = "", dates[200] = "", number[SGFSI_NUM_CHARS] = "";
    const sgfsi_column *one = NULL;
    int64_t count = 0;
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_column *c = &d->feature[j];
        bool date = c->min < c->max && is_date(c->min) && is_date(c->max);
        bool numbers = !date && numbers_rows(c, (double)d->N);
        char *list = date ? dates : rows;
        if (date || numbers)
            sgfsi_append(list, sizeof rows, "%s%.60s", list[0] != '\0' ? "," : "", c->name);
        if (date && number[0] == '\0') sgfsi_format_num(number, c->min);
        if (numbers && count++ == 0) one = c;
    }
    if (count == 1)
        sgfsi_warn(d->warnings, log,
                   "Column \"%.60s\" numbers the rows, from %.10g to %.10g: unless their order "
                   "means something, leave it out with --drop %.60s.",
                   one->name, one->min, one->max, one->name);
    if (count > 1)
        sgfsi_warn(d->warnings, log,
                   "%lld columns number the rows, each in an order of its own: unless that order "
                   "means something, leave them out with --drop %s.",
                   (long long)count, rows);
    if (dates[0] != '\0')
        sgfsi_warn(
            d->warnings, log,
            "Dates written as numbers, such as %s, are far apart at the end of a month and "
            "of a year: --date %s makes year, month and weekday of them, --drop %s leaves them "
            "out.",
            number, dates, dates);
}

/* One row may decide a coefficient where its value lies so far out that it makes a good part of the
 * column's spread: of the sum of squares around the mean its share is (x - mean)^2/((N - 1) sd^2).
 * The worst is named. Columns of zeros and ones are no news, nor are rare entries of sparse
 * ones. */
static void warn_of_leverage(const sgfs_data *d, const sgfsi_log *log) {
    /* sds, of which few rows cannot be many; of the squares */
    const double far = fmax(8, fmin(20, 0.5 * sqrt((double)d->N))), share = 0.1;
    const sgfsi_column *worst = NULL;
    double most = fmax(far, sqrt(share * (double)(d->N - 1)));
    int64_t count = 0;
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_column *c = &d->feature[j];
        double away = c->sd > 0 ? fmax(c->max - c->mean, c->mean - c->min) / c->sd : 0;
        if (c->binary || !c->full || !(away > far && away * away > share * (double)(d->N - 1)))
            continue;
        count++;
        if (away <= most) continue;
        most = away;
        worst = c;
    }
    if (worst == NULL) return;
    bool high = worst->max - worst->mean > worst->mean - worst->min;
    char others[80] = "";
    if (count > 1)
        snprintf(others, sizeof others, " So it is with %lld other column%s.", (long long)count - 1,
                 count == 2 ? "" : "s");
    sgfsi_warn(d->warnings, log,
               "Column \"%.60s\" has a value %s sd from its mean (the %s is %s, the mean %s): that "
               "row may decide its coefficient. Is it right? --log1p tames counts and amounts.%s",
               worst->name, SGFSI_DIGITS(most, 3), high ? "largest" : "smallest",
               SGFSI_DIGITS(high ? worst->max : worst->min, 6), SGFSI_DIGITS(worst->mean, 3),
               others);
}

/* ---- transforms ------------------------------------------------------------------------------ */

/* What stands beside the table, of the rows that are left in it. */
static sgfs_status shorten(sgfs_data *d, const sgfsi_transformed *done, const double **array,
                           sgfs_err *err) {
    if (*array == NULL || done->row == NULL) return SGFS_OK;
    double *own = SGFSI_DOUBLES(&d->arena, done->rows);
    if (own == NULL) return sgfsi_fail_memory(err, "the rows");
    for (int64_t i = 0; i < done->rows; i++) own[i] = (*array)[done->row[i]];
    *array = own;
    return SGFS_OK;
}

/* What was a column of the table, which is sparse now. */
static sgfs_status take_beside(sgfs_data *d, double *from, const char *called, const double **array,
                               const char **name, sgfs_err *err) {
    if (from == NULL) return SGFS_OK;
    double *own = SGFSI_DOUBLES(&d->arena, d->table.rows);
    *name = sgfsi_arena_text(&d->arena, called);
    if (own != NULL) memcpy(own, from, (size_t)d->table.rows * sizeof *own);
    free(from);
    *array = own;
    return own != NULL && *name != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the rows");
}

/* The recipe that the options ask for, done. Its sentences get the file's name in front. */
static sgfs_status transform(sgfs_data *d, sgfsi_recipe **r, const double **weights,
                             const double **exposure, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    bool own_y = d->table.y != NULL, single = sgfsi_read_options_of(d->cfg).single;
    const sgfsi_beside beside = {d->y, *weights, *exposure};
    sgfsi_transformed done = {.rows = d->N};
    sgfs_status status = sgfsi_recipe_new(r, cfg, &d->table, false, &own);
    bool na = sgfsi_na_of(cfg) != SGFSI_NA_ERROR;
    if (status == SGFS_OK && sgfsi_data_is_far(d) &&
        (na || sgfsi_recipe_looks(*r) > 0 || !sgfsi_recipe_selects(*r)))
        status = sgfsi_fail(&own, SGFS_EUSAGE,
                            "rows on a GPU stay as they are: --drop leaves columns out, and "
                            "--split, --limit and --keep-classes rows. Change them there before "
                            "you hand them over, or hand over rows in the host's memory.");
    if (status == SGFS_OK && !sgfsi_recipe_is_empty(*r))
        status = sgfsi_recipe_table(*r, &d->table, &beside, single, &done, &own);
    if (status == SGFS_OK) d->N = done.rows;
    if (status == SGFS_OK && !own_y && d->table.y != NULL) {
        d->y = d->table.y;
        d->has_target = true;
        d->target.name = d->table.target_name;
    }
    sgfs_status taken =
        take_beside(d, done.weights, done.weights_name, weights, &d->weight_name, &own);
    if (taken == SGFS_OK)
        taken =
            take_beside(d, done.exposure, done.exposure_name, exposure, &d->exposure_name, &own);
    if (status == SGFS_OK) status = taken;
    if (status == SGFS_OK && done.copied) {
        if (!own_y) status = shorten(d, &done, &d->y, &own);
        if (status == SGFS_OK) status = shorten(d, &done, weights, &own);
        if (status == SGFS_OK) status = shorten(d, &done, exposure, &own);
        free(done.row);
    } else if (status == SGFS_OK) {
        d->subset = d->kept = done.row;
    }
    bool said = strncmp(own.text, d->path, strlen(d->path)) == 0; /* of damaged files */
    if (status != SGFS_OK)
        return sgfsi_fail(err, status, "%s%s%s", said ? "" : d->path, said ? "" : ": ", own.text);
    if (sgfsi_recipe_is_empty(*r) && d->table.recipe == NULL) return SGFS_OK;
    char brief[256];
    d->recipe = sgfsi_recipe_describe(*r, d->table.recipe);
    sgfsi_recipe_brief(*r, brief, sizeof brief);
    d->brief = sgfsi_arena_text(&d->arena, brief);
    return sgfsi_json_whole(d->recipe) && d->brief != NULL
               ? SGFS_OK
               : sgfsi_fail_memory(err, "the transforms");
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* weights, exposure: of arrays; a table of a file has them in columns. */
static sgfs_status finish(sgfs_data *d, const double *weights, const double *exposure,
                          const sgfs_config *cfg, sgfs_err *err) {
    const sgfsi_log *log = sgfsi_config_log(cfg);
    const double *shift = NULL, *scale = NULL;
    sgfsi_recipe *r = NULL;
    sgfsi_group_words words;
    sgfsi_group_spec spec = {.terms = 0};
    const char *groups = sgfsi_config_text(cfg, "data.effects");
    d->intercept = sgfsi_config_flag(cfg, "data.intercept");
    d->N = d->table.rows;
    sgfs_status status = sgfsi_groups_keep_words(d, &words, err);
    if (status == SGFS_OK && groups[0] != '\0')
        status = sgfsi_formula_groups(groups, &d->arena, &spec, err);
    if (status == SGFS_OK) status = transform(d, &r, &weights, &exposure, cfg, err);
    d->row_bytes = d->table.row_stride * (int64_t)sgfsi_dtype_size(d->table.type);
    d->feature = sgfsi_arena_alloc(&d->arena, d->table.cols + 1, sizeof *d->feature);
    d->span = sgfsi_arena_alloc(&d->arena, d->table.cols + 1, sizeof *d->span);
    if (status == SGFS_OK && (d->feature == NULL || d->span == NULL))
        status = sgfsi_fail_memory(err, "the columns");
    /* Features in table order, gathered in spans of neighbours. */
    for (int64_t j = 0; status == SGFS_OK && j < d->table.cols; j++) {
        if (d->table.role != NULL && d->table.role[j] == SGFSI_ROLE_TARGET) d->target_col = j;
        if (d->table.role != NULL && d->table.role[j] != SGFSI_ROLE_FEATURE) continue;
        d->feature[d->features++].name = d->table.names[j];
        sgfsi_data_add_feature(d, j);
    }
    if (d->target_col >= 0) {
        d->has_target = true;
        d->target.name = d->table.names[d->target_col];
    }
    d->p = d->features + (d->intercept ? 1 : 0);
    if (status == SGFS_OK && d->p == 0)
        status = sgfsi_fail(err, SGFS_EDATA,
                            "%s: no feature columns are left and there is no intercept.", d->path);
    if (status == SGFS_OK) status = sgfsi_far_keep(d, err);
    if (status == SGFS_OK && spec.terms > 0) status = sgfsi_groups_open(d, &spec, &words, err);
    if (status == SGFS_OK) status = sgfsi_data_extras(d, weights, exposure, err);
    if (status == SGFS_OK) status = sgfsi_data_weigh(d, err);
    if (status == SGFS_OK) status = sgfsi_data_measure(d, log, err);
    if (status == SGFS_OK) status = sgfsi_data_warn_codes(d, log, err);
    if (status == SGFS_OK) status = sgfsi_data_warn_dependence(d, log, err);
    if (status == SGFS_OK) {
        bool wanted = sgfsi_recipe_leaves(r, &shift, &scale);
        sgfsi_data_tell_weights(d, log);
        warn_columns(d, log);
        warn_of_row_numbers(d, log);
        warn_of_leverage(d, log);
        if (wanted && d->intercept && d->table.type == SGFSI_CSR)
            sgfsi_say(log, SGFS_NOTE,
                      "Sparse columns are scaled by --standardize, not centred: that would fill "
                      "them.");
        d->scales_binary = sgfsi_standard_all(cfg);
        if (wanted) status = sgfsi_data_standardize(d, shift, scale, err);
    }
    sgfsi_recipe_free(r);
    return status;
}

/* ---- files and arrays ------------------------------------------------------------------------ */

static sgfs_status read_files(sgfs_data *d, sgfsi_files *files, const sgfs_config *cfg,
                              sgfs_err *err) {
    const sgfsi_read_options options = sgfsi_read_options_of(cfg);
    /* What the files are called, for messages and the run's header. */
    d->path = sgfsi_arena_text(&d->arena, files->shown);
    d->file = sgfsi_arena_alloc(&d->arena, files->count, sizeof *d->file);
    d->print = sgfsi_arena_alloc(&d->arena, files->count, sizeof *d->print);
    sgfsi_stamp *stamp = calloc((size_t)files->count, sizeof *stamp);
    bool made = d->path != NULL && d->file != NULL && d->print != NULL && stamp != NULL;
    for (; made && d->files < files->count; d->files++) {
        d->file[d->files] = sgfsi_arena_text(&d->arena, files->name[d->files]);
        made = d->file[d->files] != NULL;
        (void)sgfsi_stamp_take(files->path[d->files], &stamp[d->files]);
    }
    sgfs_status status = made ? sgfsi_files_read(files, &options, &d->table, err)
                              : sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; i < files->count && status == SGFS_OK; i++)
        sgfsi_fingerprint_begin(&d->print[i], files->path[i], &d->table);
    bool counts = false;
    if (status == SGFS_OK) status = sgfsi_formula_counts(d->cfg, &counts, err);
    if (status == SGFS_OK && counts)
        status = sgfsi_counts_to_rows(&d->table, d->path, options.most_bytes, err);
    if (status == SGFS_OK && d->table.y != NULL) {
        d->y = d->table.y;
        d->has_target = true;
        d->target.name = d->table.target_name;
    }
    /* The last column is taken where nobody says anything, unless the file itself says so. */
    bool packed = d->table.parts > 0 && d->table.part[0].packed != NULL;
    d->target_guessed = options.target[0] == '\0' && d->table.y == NULL && !packed;
    /* Files are read for their checksums last: what has no room here is refused before. */
    if (status == SGFS_OK) status = finish(d, NULL, NULL, cfg, err);
    for (int64_t i = 0; i < files->count && status == SGFS_OK; i++) {
        bool kept = strcmp(files->path[i], files->name[i]) == 0; /* not a copy of a pipe's rows */
        status = sgfsi_fingerprint_add(d, i, files->path[i], kept, &stamp[i], err);
    }
    free(stamp);
    d->target_guessed = d->target_guessed && d->has_target;
    if (d->target_guessed && d->table.named && strcmp(d->target.name, "y") != 0)
        sgfsi_say(options.log, SGFS_NOTE,
                  "The target is \"%.60s\", the last column (--target names another).",
                  d->target.name);
    return status;
}

/* A formula is the options it stands for. */
static sgfs_status open_files(sgfs_data *d, sgfsi_files *files, sgfs_err *err) {
    sgfs_config *expanded = sgfsi_formula_expand(d->cfg, err);
    if (expanded == NULL) return sgfsi_why(err);
    sgfs_status status = read_files(d, files, expanded, err);
    sgfs_config_free(expanded);
    return status;
}

static sgfs_data *new_data(const char *path, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_data *d = calloc(1, sizeof *d);
    if (d != NULL) d->path = sgfsi_arena_text(&d->arena, path);
    if (d != NULL) d->cfg = sgfsi_config_copy(cfg);
    if (d != NULL) d->warnings = sgfsi_json_array();
    if (d == NULL || d->path == NULL || d->cfg == NULL) {
        sgfs_data_free(d);
        sgfsi_fail_memory(err, "the data");
        return NULL;
    }
    d->table.text_col = d->target_col = -1;
    return d;
}

sgfs_data *sgfs_data_open(const char *path, const sgfs_config *cfg, sgfs_err *err) {
    if (path == NULL || cfg == NULL) {
        sgfsi_fail(err, SGFS_EUSAGE, "sgfs_data_open: a path and a config are needed.");
        return NULL;
    }
    sgfsi_files files;
    bool sketch = false;
    if (sgfsi_files_open(&files, path, sgfsi_config_log(cfg), err) != SGFS_OK) return NULL;
    sgfs_status status = sgfsi_sketch_is(files.path[0], &sketch, err);
    sgfs_data *d = status != SGFS_OK ? NULL
                   : sketch          ? sgfsi_sketch_open(&files, cfg, err)
                                     : new_data(path, cfg, err);
    if (d != NULL && !sketch) status = open_files(d, &files, err);
    sgfsi_files_close(&files);
    if (d == NULL || sgfsi_arena_explain(&d->arena, status, err) == SGFS_OK) return d;
    sgfs_data_free(d);
    return NULL;
}

static sgfs_status check_csr(const sgfs_arrays *a, bool gaps, sgfs_err *err) {
    int64_t before = -1;
    if (a->csr_start[0] != 0) {
        return sgfsi_fail(err, SGFS_EDATA, "(arrays): csr_start must begin with 0.");
    }
    for (int64_t i = 0; i < a->rows; i++) {
        if (a->csr_start[i] <= a->csr_start[i + 1]) continue;
        return sgfsi_fail(err, SGFS_EDATA, "(arrays): csr_start falls after row %lld.",
                          (long long)i + 1);
    }
    bool entries = a->csr_start[a->rows] > 0;
    if (entries && (a->csr_col == NULL || a->csr_value == NULL)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_data_wrap: csr_start comes with csr_col and csr_value.");
    }
    /* The columns of every row: in range, in order, finite. */
    for (int64_t k = 0, i = 0; k < a->csr_start[a->rows]; k++) {
        int64_t col = a->csr_col[k];
        for (; k == a->csr_start[i + 1]; i++) before = -1;
        if (col <= before || col >= a->cols) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "(arrays): row %lld, csr_col[%lld] is %lld: columns must lie between "
                              "0 and %lld and increase within a row.",
                              (long long)i + 1, (long long)k, (long long)col,
                              (long long)a->cols - 1);
        }
        if (!isfinite(a->csr_value[k]) && !(gaps && isnan(a->csr_value[k]))) {
            return sgfsi_fail_finite(err, "(arrays): row %lld, csr_value[%lld]", (long long)i + 1,
                                     (long long)k);
        }
        before = col;
    }
    return SGFS_OK;
}

/* Of an array every column is a feature, but for those that group rows. */
static sgfs_status choose_groups(sgfsi_table *t, const sgfs_config *cfg, sgfs_err *err) {
    const char *groups = sgfsi_config_text(cfg, "data.effects");
    if (sgfsi_config_given(cfg, "data.formula"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "(arrays): --formula chooses columns of a file; arrays are chosen "
                          "already: say data.effects for what varies between groups.");
    if (groups[0] == '\0') return SGFS_OK;
    if (t->type == SGFSI_CSR)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "(arrays): sparse rows have no columns that group them.");
    if (t->device != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "(arrays): effects of groups are the processor's: hand over rows in the "
                          "host's memory, not on a GPU.");
    unsigned char *mark = calloc((size_t)t->cols + 1, 1);
    t->role = malloc((size_t)t->cols + 1);
    sgfs_status status = mark != NULL && t->role != NULL
                             ? sgfsi_formula_mark(groups, t->cols, t->names, "(arrays)", mark, err)
                             : sgfsi_fail_memory(err, "the groups");
    for (int64_t j = 0; status == SGFS_OK && j < t->cols; j++)
        t->role[j] = mark[j] ? SGFSI_ROLE_GROUP : SGFSI_ROLE_FEATURE;
    free(mark);
    return status;
}

static sgfs_status wrap(sgfs_data *d, sgfs_arrays *a, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_table *t = &d->table;
    bool there = a->device != NULL && a->device_x.cells != NULL;
    int given = (a->x != NULL) + (a->x32 != NULL) + (a->csr_start != NULL) + there;
    if (a->rows < 1 || a->cols < 0 || a->cols > INT32_MAX - 1 || given != 1 ||
        (a->row_stride != 0 && a->row_stride < a->cols)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_data_wrap: needs at least one row, exactly one of x, x32, "
                          "csr_start and device_x, and a row_stride of 0 or at least cols.");
    }
    if (sgfsi_config_text(cfg, "data.amount")[0] != '\0')
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--amount is for columns of text in a file or a table; arrays hold "
                          "numbers.");
    if (sgfsi_config_text(cfg, "data.date")[0] != '\0')
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--date is for columns of dates in a file or a table; arrays hold "
                          "numbers: put year, month and weekday there.");
    t->rows = a->rows;
    t->cols = a->cols;
    t->row_stride = a->row_stride != 0 ? a->row_stride : a->cols;
    t->type = a->x != NULL ? SGFSI_F64 : a->x32 != NULL ? SGFSI_F32 : SGFSI_CSR;
    t->cells = a->x != NULL ? (const void *)a->x : (const void *)a->x32;
    t->csr = (sgfs_csr){.start = a->csr_start, .col = a->csr_col, .value = a->csr_value};
    sgfs_status status = SGFS_OK;
    if (t->type == SGFSI_CSR && !there)
        status = check_csr(a, sgfsi_na_of(cfg) != SGFSI_NA_ERROR, err);
    if (status == SGFS_OK && a->device != NULL) status = sgfsi_far_take(d, a, err);
    if (there) {
        t->cells = a->device_x.cells;
        t->row_stride = a->device_x.stride != 0 ? a->device_x.stride : a->cols;
    }
    if (status != SGFS_OK) return status;
    d->y = a->y;
    d->has_target = a->y != NULL;
    d->target.name = sgfsi_arena_text(&d->arena, a->target_name != NULL ? a->target_name : "y");
    d->weight_name = "weights";
    d->exposure_name = "exposure";
    /* Names for the table of the caller's arrays; malloc'ed as a reader's are. */
    t->names = a->names != NULL ? sgfsi_names_copy((char *const *)a->names, t->cols)
                                : sgfsi_names_made_up(t->cols);
    if (t->names == NULL) return sgfsi_fail_memory(err, "the column names");
    t->named = a->names != NULL;
    status = choose_groups(t, cfg, err);
    if (status != SGFS_OK) return status;
    if (!there) sgfsi_fingerprint_arrays(d, a->weights, a->exposure);
    status = finish(d, a->weights, a->exposure, cfg, err);
    if (there && status == SGFS_OK) sgfsi_fingerprint_arrays(d, a->weights, a->exposure);
    return status;
}

sgfs_data *sgfs_data_wrap(const sgfs_arrays *arrays, const sgfs_config *cfg, sgfs_err *err) {
    if (arrays == NULL || cfg == NULL) {
        sgfsi_fail(err, SGFS_EUSAGE, "sgfs_data_wrap: arrays and a config are needed.");
        return NULL;
    }
    sgfs_arrays own = {.size = 0};
    const size_t before = offsetof(sgfs_arrays, device); /* as it was without arrays on a GPU */
    size_t size = arrays->size != 0 ? arrays->size : before;
    if (size != before && size != sizeof *arrays) {
        sgfsi_fail(err, SGFS_EUSAGE,
                   "sgfs_data_wrap: arrays.size is neither 0 nor sizeof(sgfs_arrays); was the "
                   "program compiled with a newer header?");
        return NULL;
    }
    memcpy(&own, arrays, size);
    sgfs_data *d = new_data("(arrays)", cfg, err);
    if (d != NULL && wrap(d, &own, d->cfg, err) != SGFS_OK) {
        sgfs_data_free(d);
        return NULL;
    }
    return d;
}
