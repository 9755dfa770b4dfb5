/* SPDX-License-Identifier: MIT
 * data.c: data as a whole: other data over the same table (views), how columns are standardised,
 * what the run file's header says of them.
 *
 * A view is data of its own: a list of rows of the table, statistics, a scale. It borrows the table
 * and whatever else does not depend on the rows, so that the whole must outlive it. This is the
 * only place where data are copied.
 */
#include <stdlib.h>
#include <string.h>

#include "rows/elsewhere.h"
#include "rows/fingerprint.h"
#include "rows/rows.h"

void sgfs_data_free(sgfs_data *data) {
    if (data == NULL) return;
    if (!data->view) {
        sgfsi_table_free(&data->table);
        sgfsi_json_free(data->recipe);
        free(data->kept);
    }
    sgfs_config_free(data->cfg);
    sgfsi_json_free(data->warnings);
    sgfsi_arena_free(&data->arena);
    free(data);
}

sgfs_data sgfsi_data_over(const sgfsi_table *table, int64_t target) {
    return (sgfs_data){.table = *table,
                       .N = table->rows,
                       .total = (double)table->rows,
                       .row_bytes = table->row_stride * (int64_t)sgfsi_dtype_size(table->type),
                       .has_target = target >= 0,
                       .target_col = target,
                       .view = true};
}

void sgfsi_data_add_feature(sgfs_data *d, int64_t col) {
    sgfsi_column_span *last = d->spans > 0 ? &d->span[d->spans - 1] : NULL;
    if (last != NULL && last->first + last->count == col) last->count++;
    else d->span[d->spans++] = (sgfsi_column_span){col, 1};
}

/* Without an intercept nothing could absorb the means, so columns are scaled but not centred.
 * Sparse columns are not centred either: it would leave no zeros. */
sgfs_status sgfsi_data_standardize(sgfs_data *d, const double *shift, const double *scale,
                                   sgfs_err *err) {
    if (!SGFSI_ROOM(&d->arena, d->features + 1, &d->shift, &d->scale))
        return sgfsi_fail_memory(err, "the column scales");
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_column *c = &d->feature[j];
        bool as_is = c->sd == 0 || (c->binary && !d->scales_binary);
        double mean = shift != NULL ? shift[j] : c->mean;
        d->shift[j] = d->intercept && c->full ? mean : 0;
        d->scale[j] = scale != NULL ? scale[j] : as_is ? 1 : 1 / c->sd;
    }
    return SGFS_OK;
}

/* ---- views ----------------------------------------------------------------------------------- */

sgfs_data *sgfsi_data_view(const sgfs_data *whole, const int64_t *row, int64_t n,
                           sgfsi_view_scale scale, sgfs_err *err) {
    sgfs_data *d = malloc(sizeof *d);
    if (d == NULL) return sgfsi_fail_memory(err, "some of the rows"), NULL;
    *d = *whole;
    d->view = true;
    d->arena = (sgfsi_arena){NULL};
    d->warnings = row == NULL ? sgfsi_json_copy(whole->warnings) : sgfsi_json_array();
    d->cfg = sgfsi_config_copy(whole->cfg);
    sgfs_status status = d->cfg != NULL ? SGFS_OK : sgfsi_fail_memory(err, "some of the rows");
    if (status == SGFS_OK && row != NULL) { /* the rows, and what they weigh */
        int64_t *subset = sgfsi_arena_alloc(&d->arena, n, sizeof *subset);
        for (int64_t i = 0; subset != NULL && i < n; i++)
            subset[i] = sgfsi_data_table_row(whole, row[i]);
        d->subset = subset;
        d->N = n;
        status =
            subset != NULL ? sgfsi_data_weigh(d, err) : sgfsi_fail_memory(err, "some of the rows");
    }
    if (scale != SGFSI_SAME_SCALE) d->shift = d->scale = NULL;
    if (status == SGFS_OK && scale == SGFSI_OWN_SCALE) {
        /* The statistics of the rows it has, which are not standardised while they are measured,
         * and a scale made of them where the whole has one. */
        d->feature = sgfsi_arena_alloc(&d->arena, d->features + 1, sizeof *d->feature);
        if (d->feature != NULL) /* the names */
            memcpy(d->feature, whole->feature, (size_t)d->features * sizeof *d->feature);
        status = d->feature != NULL ? sgfsi_data_measure(d, NULL, err)
                                    : sgfsi_fail_memory(err, "some of the rows");
        if (status == SGFS_OK && whole->scale != NULL)
            status = sgfsi_data_standardize(d, NULL, NULL, err);
    }
    if (status == SGFS_OK) return d;
    sgfs_data_free(d);
    return NULL;
}

sgfs_data *sgfsi_data_view_fair(const sgfs_data *whole, int64_t n, sgfsi_view_scale scale,
                                sgfs_err *err) {
    int64_t *row = malloc((size_t)n * sizeof *row);
    if (row == NULL) return sgfsi_fail_memory(err, "some of the rows"), NULL;
    sgfsi_data_fair(whole, n, row);
    sgfs_data *some = sgfsi_data_view(whole, row, n, scale, err);
    free(row);
    return some;
}

/* ---- in words -------------------------------------------------------------------------------- */

const char *sgfsi_data_where(const sgfs_data *d, int64_t i, char *out, size_t room) {
    return sgfsi_table_where(&d->table, d->path, sgfsi_data_table_row(d, i), out, room);
}

sgfsi_json *sgfsi_data_describe(const sgfs_data *d) {
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "path", d->path);
    if (d->files > 1) {
        sgfsi_json *files = sgfsi_json_array_in(o, "files");
        for (int64_t i = 0; i < d->files; i++) sgfsi_json_text(files, NULL, d->file[i]);
    }
    sgfsi_fingerprints_describe(d, o);
    sgfsi_json_int(o, "rows", d->N);
    sgfsi_json_flag(o, "intercept", d->intercept);
    sgfsi_json_flag(o, "standardized", d->scale != NULL);
    sgfsi_json_flag(o, "named", d->table.named); /* columns are known by name, not by place */
    if (d->has_target) sgfsi_json_text(o, "target", d->target.name);
    if (sgfsi_data_target_is_text(d))
        sgfsi_json_flag(o, "target_text", true); /* though all labels may look like numbers */
    const sgfsi_elsewhere *away = d->elsewhere;
    bool weighted = away != NULL ? away->weighted : d->weight != NULL;
    bool exposed = away != NULL ? away->exposed : d->offset != NULL;
    if (weighted) sgfsi_json_text(o, "weights", d->weight_name);
    if (weighted) sgfsi_json_num(o, "total_weight", d->total);
    if (exposed) sgfsi_json_text(o, "exposure", d->exposure_name);
    if (d->recipe != NULL) sgfsi_json_put(o, "recipe", sgfsi_json_copy(d->recipe));
    /* The means and spreads are the transform, and say what differs where other rows are found. */
    sgfsi_json *columns = sgfsi_json_array_in(o, "features");
    for (int64_t j = 0; j < d->features; j++) {
        sgfsi_json *c = sgfsi_json_object_in(columns, NULL);
        SGFSI_JSON(c, &d->feature[j], name, mean, sd);
        if (d->scale == NULL) continue;
        sgfsi_json_num(c, "shift", d->shift[j]);
        sgfsi_json_num(c, "scale", d->scale[j]);
    }
    sgfsi_json_num(o, "target_mean", d->target.mean);
    sgfsi_json_num(o, "target_sd", d->target.sd);
    return o;
}
