/* SPDX-License-Identifier: MIT
 * weights.c: how often each row counts (--weights), and how long or how large what it counts was
 * (--exposure).
 *
 * A row of weight w is w copies of that row: N of the formulas becomes W = sum of the weights
 * (data->total), sums over rows become weighted sums, and a minibatch draws row i with probability
 * w_i / W (alias.c), which is in law what drawing from the copies would be. Exposure t adds log t
 * to the linear predictor of a model of counts; its log is taken once, here.
 *
 * Both are kept as doubles by row of the table, whatever rows a view has.
 */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "rows/pages.h"
#include "rows/rows.h"

sgfs_status sgfsi_data_read_column(const sgfs_data *d, int64_t j, double *out, sgfs_err *err) {
    enum { BLOCK = 4096 };
    int64_t rows = d->table.rows;
    const sgfs_data all = sgfsi_data_over(&d->table, j);
    sgfsi_pages visit = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t n = rows - first < BLOCK ? rows - first : BLOCK;
        sgfs_status status = sgfsi_pages_range(&visit, &all, first, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(&all, first, n, NULL, out + first);
    }
    return SGFS_OK;
}

static sgfs_status refuse(const sgfs_data *d, int64_t row, const char *name, double value,
                          const char *wanted, sgfs_err *err) {
    char number[SGFSI_NUM_CHARS] = "no finite number", where[320];
    if (isfinite(value)) sgfsi_format_num(number, value);
    return sgfsi_fail(err, SGFS_EDATA, "%s, column \"%s\" holds %s: %s.",
                      sgfsi_table_where(&d->table, d->path, row, where, sizeof where), name, number,
                      wanted);
}

sgfs_status sgfsi_data_extras(sgfs_data *d, const double *weights, const double *exposure,
                              sgfs_err *err) {
    for (int64_t j = 0; d->table.role != NULL && j < d->table.cols; j++) {
        bool is_weights = d->table.role[j] == SGFSI_ROLE_WEIGHTS,
             is_exposure = d->table.role[j] == SGFSI_ROLE_EXPOSURE;
        if (!is_weights && !is_exposure) continue;
        double *column = SGFSI_DOUBLES(&d->arena, d->table.rows);
        if (column == NULL) return sgfsi_fail_memory(err, "the weights");
        sgfs_status read = sgfsi_data_read_column(d, j, column, err);
        if (read != SGFS_OK) return read;
        *(is_weights ? &weights : &exposure) = column;
        *(is_weights ? &d->weight_name : &d->exposure_name) = d->table.names[j];
    }
    d->weight = weights;
    /* Rows that are left out may have anything there. */
    for (int64_t k = 0; weights != NULL && k < d->N; k++) {
        int64_t i = sgfsi_data_table_row(d, k);
        if (isfinite(weights[i]) && weights[i] >= 0) continue;
        return refuse(d, i, d->weight_name, weights[i],
                      "a weight says how often the row counts, 0 or more times", err);
    }
    if (exposure == NULL) return SGFS_OK;
    double *offset = SGFSI_DOUBLES(&d->arena, d->table.rows);
    if (offset == NULL) return sgfsi_fail_memory(err, "the exposure");
    for (int64_t k = 0; k < d->N; k++) {
        int64_t i = sgfsi_data_table_row(d, k);
        if (!isfinite(exposure[i]) || exposure[i] <= 0)
            return refuse(d, i, d->exposure_name, exposure[i], "an exposure must be above 0", err);
        offset[i] = log(exposure[i]);
    }
    d->offset = offset;
    return SGFS_OK;
}

void sgfsi_data_weights(const sgfs_data *d, int64_t first, int64_t n, double *weight) {
    for (int64_t i = 0; i < n; i++) {
        weight[i] = d->weight != NULL ? d->weight[sgfsi_data_table_row(d, first + i)] : 1;
    }
}

double sgfsi_data_mean_exposure(const sgfs_data *d) {
    double sum = 0;
    if (d->offset == NULL) return 1;
    for (int64_t i = 0; i < d->N; i++) sum += exp(d->offset[sgfsi_data_table_row(d, i)]);
    return sum / (double)d->N;
}

static const double least_total = 0.999; /* weights that sum to 1 are one row, in any rounding */

sgfs_status sgfsi_data_weigh(sgfs_data *d, sgfs_err *err) {
    d->total = (double)d->N;
    if (d->weight == NULL) return SGFS_OK;
    double *own = NULL;
    if (d->subset != NULL) {
        own = malloc((size_t)d->N * sizeof *own);
        if (own == NULL) return sgfsi_fail_memory(err, "the weights");
        sgfsi_data_weights(d, 0, d->N, own);
    }
    const double *weight = own != NULL ? own : d->weight;
    d->total = 0;
    for (int64_t i = 0; i < d->N; i++) d->total += weight[i];
    sgfs_status status = SGFS_OK;
    if (d->total > 0 && d->total < least_total) {
        status = sgfsi_fail(err, SGFS_EDATA,
                            "%s: the weights (column \"%s\") sum to %.3g, less than a single row: "
                            "divide them by their mean.",
                            d->path, d->weight_name, d->total);
    } else if (d->total < least_total || !isfinite(d->total)) {
        status = sgfsi_fail(
            err, SGFS_EDATA, "%s: the weights (column \"%s\") %s.", d->path, d->weight_name,
            d->total > 0 ? "add up to more than a double can hold: make them smaller"
                         : "are all 0: there is nothing to learn from");
    } else {
        status = sgfsi_alias_open(&d->alias, d->N, weight, d->total, &d->arena, err);
    }
    free(own);
    return status;
}

void sgfsi_data_tell_weights(const sgfs_data *d, const sgfsi_log *log) {
    char total[SGFSI_NUM_CHARS];
    if (d->weight == NULL || d->total == (double)d->N) return;
    sgfsi_format_digits(total, d->total, 6);
    sgfsi_say(log, SGFS_NOTE,
              "Weights sum to %s: the posterior is that of so many rows, not of %lld.", total,
              (long long)d->N);
}
