/* SPDX-License-Identifier: MIT
 * separation.c: a column separates a label from the others if no row of the label has a smaller
 * value than any row of the others, or none a larger one:
 *
 *     town=Oslo    1 in rows of label "yes" alone: the larger its coefficient, the likelier all
 *                  rows
 *
 * The likelihood then grows for ever with the coefficient, and how large it is depends on the prior
 * (Albert and Anderson 1984). The draws are right all the same; a reader of the coefficient should
 * know. One pass over the rows finds the smallest and largest value of each column in each class.
 * Columns that separate labels only together are not looked for.
 */
#include "model/separation.h"

#include <math.h>
#include <stdlib.h>

#include "model/prior.h"
#include "rows/far.h"

enum { BLOCK = 256 };
static const double most_cells = 3e8; /* a second */

/* least, most: classes x p, of rows that weigh something. */
static void find_ranges(const sgfs_model *m, double *x, double *least, double *most) {
    const sgfs_data *d = m->data;
    double y[BLOCK], weight[BLOCK];
    for (int64_t k = 0; k < m->labels.count * d->p; k++) {
        least[k] = INFINITY;
        most[k] = -INFINITY;
    }
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        sgfsi_data_rows_range(d, first, n, x, y);
        sgfsi_data_weights(d, first, n, weight);
        for (int64_t i = 0; i < n; i++) {
            int64_t class = sgfsi_labels_class(&m->labels, y[i]);
            if (class < 0 || !(weight[i] > 0)) continue;
            double *low = least + class * d->p, *high = most + class * d->p;
            const double *row = x + i * d->p;
            for (int64_t j = 0; j < d->p; j++) {
                low[j] = row[j] < low[j] ? row[j] : low[j];
                high[j] = row[j] > high[j] ? row[j] : high[j];
            }
        }
    }
}

/* The same of rows that a device has, class by class. */
static sgfs_status ask_ranges(const sgfs_model *m, double *least, double *most, sgfs_err *err) {
    const sgfs_data *d = m->data;
    int64_t *row = malloc((size_t)d->N * sizeof *row), at = d->p - d->features;
    double *y = malloc((size_t)d->N * sizeof *y);
    sgfs_status status = row != NULL && y != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
    if (status == SGFS_OK) sgfsi_data_rows_range(d, 0, d->N, NULL, y);
    for (int64_t c = 0; c < m->labels.count && status == SGFS_OK; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < d->N; i++) {
            double weight;
            if (sgfsi_labels_class(&m->labels, y[i]) != c) continue;
            sgfsi_data_weights(d, i, 1, &weight);
            if (weight > 0) row[n++] = i;
        }
        status = sgfsi_far_ranges(d, row, n, least + c * d->p + at, most + c * d->p + at, err);
    }
    free(row);
    free(y);
    return status;
}

/* A class that column j separates from all others, or -1. */
static int64_t separated(const sgfs_model *m, int64_t j, const double *least, const double *most) {
    int64_t p = m->data->p, classes = m->labels.count;
    for (int64_t c = classes - 1; c >= 0; c--) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t k = 0; k < classes; k++) {
            if (k == c) continue;
            low = fmin(low, least[k * p + j]);
            high = fmax(high, most[k * p + j]);
        }
        double own_low = least[c * p + j], own_high = most[c * p + j];
        bool seen = own_low <= own_high && low <= high;
        bool changes = fmin(low, own_low) < fmax(high, own_high);
        if (seen && changes && (own_low >= high || own_high <= low)) return c;
    }
    return -1;
}

sgfs_status sgfsi_separation_tell(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    int64_t classes = m->labels.count, found = 0, column = -1, class = -1;
    if (!m->kind->regression || classes < 2 || !d->has_target || sgfsi_data_is_mapped(d) ||
        d->elsewhere != NULL || (double)d->N * (double)d->p > most_cells)
        return SGFS_OK;
    double *x = malloc((size_t)((BLOCK + 2 * classes) * d->p) * sizeof *x);
    if (x == NULL) return sgfsi_fail_memory(err, "the columns");
    double *least = x + BLOCK * d->p, *most = least + classes * d->p;
    sgfs_status status = SGFS_OK;
    if (sgfsi_data_is_far(d)) status = ask_ranges(m, least, most, err);
    else find_ranges(m, x, least, most);
    for (int64_t j = d->p - d->features; status == SGFS_OK && j < d->p; j++) {
        int64_t c = separated(m, j, least, most);
        if (c < 0) continue;
        if (found++ > 0) continue;
        column = j - (d->p - d->features);
        class = c;
    }
    free(x);
    if (found == 0) return status;
    char others[64] = "";
    if (found > 1)
        sgfsi_append(others, sizeof others, " (as %s %lld more column%s)",
                     found == 2 ? "does" : "do", (long long)found - 1, found == 2 ? "" : "s");
    sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
               "Column \"%.60s\" by itself separates label \"%.60s\" from %s%s: the data set no "
               "limit to such a coefficient, and %s.",
               d->feature[column].name, m->labels.name[class],
               classes == 2 ? "the other" : "the others", others,
               sgfsi_prior_is_flat(m->cfg) ? "without a prior it has no posterior"
                                           : "the prior decides how large it is");
    return SGFS_OK;
}
