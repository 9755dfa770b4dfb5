/* SPDX-License-Identifier: MIT
 * elsewhere.c: what columns and labels are like over all rows, put together from parts of the rows
 * that nobody has at one place (elsewhere.h).
 *
 *     {"rows", "total", "counted",           rows, sum of their weights, rows of positive weight
 *      "target": {"mean", "sd", "min", "max", "binary", "full"}, "features": [the same, "name"],
 *      "values" or "words": [...], "value_rows": [...]}
 *
 * Moments are merged (base/moments.h), and a part of the rows is then told what all are like: a
 * model that is opened on it has the scale, the prior and the labels of all rows.
 */
#include "rows/elsewhere.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/moments.h"
#include "rows/rows.h"

enum { MOST_VALUES = 1000, BLOCK = 256 };

/* ---- one part -------------------------------------------------------------------------------- */

static void tell_column(sgfsi_json *o, const sgfsi_column *c) {
    SGFSI_JSON(o, c, mean, sd, min, max, binary, full);
}

/* How often each of the values is there, by weight; *counted: rows that weigh something. */
static void count_values(const sgfs_data *d, int64_t count, const double *value, double *rows,
                         int64_t *counted) {
    double y[BLOCK], weight[BLOCK];
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        sgfsi_data_weights(d, first, n, weight);
        if (count > 0) sgfsi_data_rows_range(d, first, n, NULL, y);
        for (int64_t i = 0; i < n; i++) {
            *counted += weight[i] > 0;
            for (int64_t k = 0; k < count; k++)
                if (value[k] == y[i]) rows[k] += weight[i];
        }
    }
}

sgfsi_json *sgfsi_columns_of(const sgfs_data *d, bool part, sgfs_err *err) {
    double value[MOST_VALUES + 1], rows[MOST_VALUES + 1] = {0};
    const double *listed, *listed_rows;
    if (d->groups != NULL || (part && d->subset != NULL))
        return sgfsi_fail(
                   err, SGFS_EUSAGE,
                   d->groups != NULL
                       ? "%s: there is no sketch of rows in groups."
                       : "%s: a part of the rows is taken whole: --limit, --split and others "
                         "that choose rows belong to `sgfs pack`, of all rows.",
                   d->path),
               NULL;
    int64_t count = sgfsi_data_target_values(d, MOST_VALUES, value), counted = 0;
    bool told = d->weight == NULL && sgfsi_data_target_list(d, &listed, &listed_rows) == count;
    if (count > MOST_VALUES) count = 0;
    if (told && count > 0) memcpy(rows, listed_rows, (size_t)count * sizeof *rows);
    if (d->weight == NULL && (told || count == 0)) counted = d->N;
    else count_values(d, count, value, rows, &counted);
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "rows", d->N);
    sgfsi_json_num(o, "total", d->total);
    sgfsi_json_int(o, "counted", counted);
    tell_column(sgfsi_json_object_in(o, "target"), &d->target);
    sgfsi_json *features = sgfsi_json_array_in(o, "features");
    for (int64_t j = 0; j < d->features; j++) {
        sgfsi_json *c = sgfsi_json_object_in(features, NULL);
        sgfsi_json_text(c, "name", d->feature[j].name);
        tell_column(c, &d->feature[j]);
    }
    bool text = sgfsi_data_target_is_text(d);
    sgfsi_json *values = sgfsi_json_array_in(o, text ? "words" : "values");
    for (int64_t k = 0; k < count; k++) {
        if (text) sgfsi_json_text(values, NULL, sgfsi_data_target_word(d, value[k]));
        else sgfsi_json_num(values, NULL, value[k]);
    }
    sgfsi_json_nums(o, "value_rows", count, rows);
    if (sgfsi_json_whole(o)) return o;
    sgfsi_json_free(o);
    return sgfsi_fail_memory(err, "the columns"), NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static double divisor_of(double total, double counted) {
    return total == counted ? total - 1 : total * (counted - 1) / counted;
}

/* A column of all parts; j < 0: the target. */
static sgfsi_column merge_column(int64_t n, const sgfsi_json *const *part, int64_t j) {
    sgfsi_column all = {.min = INFINITY, .max = -INFINITY, .binary = true, .full = true};
    double total = 0, counted = 0, ss = 0;
    for (int64_t k = 0; k < n; k++) {
        const sgfsi_json *c = j < 0 ? sgfsi_json_get(part[k], "target")
                                    : sgfsi_json_at(sgfsi_json_get(part[k], "features"), j);
        double weight = sgfsi_json_get_num(part[k], "total", 0),
               rows = sgfsi_json_get_num(part[k], "counted", 0),
               low = sgfsi_json_get_num(c, "min", 0), high = sgfsi_json_get_num(c, "max", 0),
               sd = low < high ? sgfsi_json_get_num(c, "sd", 0) : 0;
        bool constant = low == high && (low == 0 || low == 1);
        sgfsi_moments_merge(total, &all.mean, &ss, weight, sgfsi_json_get_num(c, "mean", 0),
                            sd > 0 ? sd * sd * divisor_of(weight, rows) : 0);
        total += weight;
        counted += rows;
        all.min = fmin(all.min, low);
        all.max = fmax(all.max, high);
        all.binary = all.binary && (constant || sgfsi_json_get_flag(c, "binary"));
        all.full = all.full && sgfsi_json_get_flag(c, "full");
    }
    all.binary = all.binary && all.min < all.max;
    all.sd = all.min < all.max ? sqrt(ss / divisor_of(total, counted)) : 0;
    if (!(all.min < all.max)) all.mean = all.min;
    return all;
}

/* A value of the target, or a word, and its rows. */
typedef struct value {
    const char *word;
    double number, rows;
} value;

static int by_value(const void *a, const void *b) {
    const value *x = a, *y = b;
    if (x->word != NULL) return strcmp(x->word, y->word);
    return (x->number > y->number) - (x->number < y->number);
}

/* The values of all parts, each once, to out (MOST_VALUES for each part); 0: too many to list. */
static int64_t merge_values(int64_t n, const sgfsi_json *const *part, bool words, value *out) {
    const char *key = words ? "words" : "values";
    int64_t count = 0, kept = 0;
    for (int64_t k = 0; k < n; k++) {
        const sgfsi_json *list = sgfsi_json_get(part[k], key),
                         *rows = sgfsi_json_get(part[k], "value_rows");
        int64_t values = sgfsi_json_length(list);
        if (values < 1 || values > MOST_VALUES) return 0;
        for (int64_t i = 0; i < values; i++, count++) {
            const char *word = sgfsi_json_as_text(sgfsi_json_at(list, i));
            out[count] = (value){.word = !words ? NULL : word != NULL ? word : ""};
            (void)sgfsi_json_as_num(sgfsi_json_at(list, i), &out[count].number);
            (void)sgfsi_json_as_num(sgfsi_json_at(rows, i), &out[count].rows);
        }
    }
    qsort(out, (size_t)count, sizeof *out, by_value);
    for (int64_t i = 0; i < count; i++) {
        if (kept > 0 && by_value(&out[kept - 1], &out[i]) == 0) out[kept - 1].rows += out[i].rows;
        else out[kept++] = out[i];
    }
    return kept <= MOST_VALUES ? kept : 0;
}

/* Which part has other columns than the first, or -1. */
static int64_t differs(int64_t n, const sgfsi_json *const *part, bool *words) {
    const sgfsi_json *first = sgfsi_json_get(part[0], "features");
    *words = sgfsi_json_get(part[0], "words") != NULL;
    for (int64_t k = 1; k < n; k++) {
        const sgfsi_json *list = sgfsi_json_get(part[k], "features");
        bool same = sgfsi_json_length(list) == sgfsi_json_length(first) &&
                    (sgfsi_json_get(part[k], "words") != NULL) == *words;
        for (int64_t j = 0; same && j < sgfsi_json_length(first); j++)
            same = strcmp(sgfsi_json_get_text(sgfsi_json_at(list, j), "name", ""),
                          sgfsi_json_get_text(sgfsi_json_at(first, j), "name", "")) == 0;
        if (!same) return k;
    }
    return -1;
}

sgfsi_json *sgfsi_columns_merge(int64_t n, const sgfsi_json *const *part, const char *const *name,
                                sgfs_err *err) {
    bool words;
    int64_t rows = 0, counted = 0, other = differs(n, part, &words);
    double total = 0;
    if (other >= 0)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.200s and %.200s have other columns, or words and numbers as target: "
                          "they are not parts of the same rows (libsvm files need --columns).",
                          name[0], name[other]),
               NULL;
    value *values = malloc((size_t)(n * MOST_VALUES) * sizeof *values);
    if (values == NULL) return sgfsi_fail_memory(err, "the columns"), NULL;
    const char *key = words ? "words" : "values";
    int64_t count = merge_values(n, part, words, values);
    for (int64_t k = 0; k < n; k++) {
        rows += sgfsi_json_get_int(part[k], "rows", 0);
        counted += sgfsi_json_get_int(part[k], "counted", 0);
        total += sgfsi_json_get_num(part[k], "total", 0);
    }
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "rows", rows);
    sgfsi_json_num(o, "total", total);
    sgfsi_json_int(o, "counted", counted);
    sgfsi_column target = merge_column(n, part, -1);
    tell_column(sgfsi_json_object_in(o, "target"), &target);
    const sgfsi_json *first = sgfsi_json_get(part[0], "features");
    sgfsi_json *features = sgfsi_json_array_in(o, "features");
    for (int64_t j = 0; j < sgfsi_json_length(first); j++) {
        sgfsi_json *c = sgfsi_json_object_in(features, NULL);
        sgfsi_column all = merge_column(n, part, j);
        sgfsi_json_text(c, "name", sgfsi_json_get_text(sgfsi_json_at(first, j), "name", ""));
        tell_column(c, &all);
    }
    sgfsi_json *list = sgfsi_json_array_in(o, key),
               *list_rows = sgfsi_json_array_in(o, "value_rows");
    for (int64_t k = 0; k < count; k++) {
        if (words) sgfsi_json_text(list, NULL, values[k].word);
        else sgfsi_json_num(list, NULL, values[k].number);
        sgfsi_json_num(list_rows, NULL, values[k].rows);
    }
    free(values);
    if (sgfsi_json_whole(o)) return o;
    sgfsi_json_free(o);
    return sgfsi_fail_memory(err, "the columns"), NULL;
}

/* ---- a part learns of all -------------------------------------------------------------------- */

static void take_column(const sgfsi_json *said, sgfsi_column *c) {
    c->mean = sgfsi_json_get_num(said, "mean", 0);
    c->sd = sgfsi_json_get_num(said, "sd", 0);
    c->min = sgfsi_json_get_num(said, "min", 0);
    c->max = sgfsi_json_get_num(said, "max", 0);
    c->binary = sgfsi_json_get_flag(said, "binary");
    c->full = sgfsi_json_get_flag(said, "full");
}

/* The number of a word in the table, which gets it where it has not. -1: memory is out. */
static int64_t number_of(sgfsi_table *t, const char *word) {
    for (int64_t i = 0; i < t->levels; i++)
        if (strcmp(t->level[i], word) == 0) return i;
    char *copy = strdup(word);
    if (copy == NULL || !sgfsi_resize(&t->level, t->levels + 1, sizeof *t->level)) {
        free(copy);
        return -1;
    }
    t->level[t->levels] = copy;
    return t->levels++;
}

static sgfs_status take_values(sgfs_data *d, const sgfsi_json *said, sgfs_err *err) {
    sgfsi_table *t = &d->table;
    const sgfsi_json *words = sgfsi_json_get(said, "words"),
                     *rows = sgfsi_json_get(said, "value_rows"),
                     *list = words != NULL ? words : sgfsi_json_get(said, "values");
    int64_t count = sgfsi_json_length(list);
    sgfsi_table_forget_values(t);
    if (count < 1) return SGFS_OK;
    double(*pair)[2] = malloc((size_t)count * sizeof *pair);
    t->value = malloc((size_t)count * sizeof *t->value);
    t->value_rows = malloc((size_t)count * sizeof *t->value_rows);
    bool made = pair != NULL && t->value != NULL && t->value_rows != NULL;
    for (int64_t k = 0; made && k < count; k++) {
        const char *word = sgfsi_json_as_text(sgfsi_json_at(list, k));
        pair[k][0] = words != NULL && word != NULL ? (double)number_of(t, word) : 0;
        if (words == NULL) (void)sgfsi_json_as_num(sgfsi_json_at(list, k), &pair[k][0]);
        pair[k][1] = 0;
        (void)sgfsi_json_as_num(sgfsi_json_at(rows, k), &pair[k][1]);
        made = words == NULL || pair[k][0] >= 0;
    }
    if (made) qsort(pair, (size_t)count, sizeof *pair, sgfsi_by_size);
    for (int64_t k = 0; made && k < count; k++) {
        t->value[k] = pair[k][0];
        t->value_rows[k] = pair[k][1];
    }
    if (made) t->values = count;
    free(pair);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the labels");
}

sgfs_status sgfsi_columns_take(sgfs_data *d, const sgfsi_json *said, sgfs_err *err) {
    const sgfsi_json *features = sgfsi_json_get(said, "features");
    bool words = sgfsi_json_get(said, "words") != NULL;
    bool same = sgfsi_json_length(features) == d->features;
    for (int64_t j = 0; same && j < d->features; j++)
        same = strcmp(sgfsi_json_get_text(sgfsi_json_at(features, j), "name", ""),
                      d->feature[j].name) == 0;
    if (!same || words != sgfsi_data_target_is_text(d))
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: has other columns than the rows that the sketch is of.", d->path);
    for (int64_t j = 0; j < d->features; j++)
        take_column(sgfsi_json_at(features, j), &d->feature[j]);
    take_column(sgfsi_json_get(said, "target"), &d->target);
    sgfs_status status = take_values(d, said, err);
    if (status == SGFS_OK && d->scale != NULL) status = sgfsi_data_standardize(d, NULL, NULL, err);
    return status;
}

sgfs_data *sgfsi_data_elsewhere(const sgfsi_json *data, const sgfsi_json *columns,
                                const sgfsi_elsewhere *elsewhere, const sgfs_config *cfg,
                                sgfs_err *err) {
    sgfs_data *d = sgfsi_data_recall(data, false, cfg, err);
    if (d == NULL) return NULL;
    const sgfsi_json *recipe = sgfsi_json_get(data, "recipe");
    d->view = false; /* what its table has is its own */
    d->elsewhere = elsewhere;
    d->recipe = recipe != NULL ? sgfsi_json_copy(recipe) : NULL;
    d->N = sgfsi_json_get_int(columns, "rows", 0);
    d->total = sgfsi_json_get_num(columns, "total", 0);
    d->has_target = true;
    d->target_col = 0;
    d->table.rows = d->N;
    d->table.named = sgfsi_json_get_flag(data, "named");
    d->table.text_col = sgfsi_json_get(columns, "words") != NULL ? 0 : -1;
    d->scales_binary = sgfsi_json_get_flag(data, "scales_binary");
    d->weight_name = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(data, "weights", ""));
    d->exposure_name = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(data, "exposure", ""));
    sgfs_status status = d->N > 0 && d->total > 0 && isfinite(d->total)
                             ? sgfsi_columns_take(d, columns, err)
                             : sgfsi_fail(err, SGFS_ERUNFILE, "The sketch is of no rows.");
    if (status == SGFS_OK && sgfsi_json_get_flag(data, "standardized"))
        status = sgfsi_data_standardize(d, NULL, NULL, err);
    bool lost = sgfsi_arena_failed(&d->arena) || (recipe != NULL && d->recipe == NULL);
    if (status == SGFS_OK && lost) status = sgfsi_fail_memory(err, "the columns");
    if (status == SGFS_OK) return d;
    sgfs_data_free(d);
    return NULL;
}
