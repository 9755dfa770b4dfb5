/* SPDX-License-Identifier: MIT
 * recall.c: the data a run was made with, from what its header says of them (sgfsi_data_describe):
 * columns, intercept, how they were standardised; no rows. Enough for a model to be opened again.
 *
 * A header may come from anywhere: what is missing or odd in it is said.
 */
#include <math.h>
#include <stdlib.h>

#include "rows/data.h"

static sgfs_status lacks(const char *what, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_ERUNFILE,
        "The run does not say %s: it was made by an older sgfs, or is damaged. Sample "
        "once more to predict with it.",
        what);
}

static sgfs_status recall_columns(sgfs_data *d, const sgfsi_json *said, bool scaled,
                                  sgfs_err *err) {
    const sgfsi_json *columns = sgfsi_json_get(said, "features");
    if (!sgfsi_json_as_flag(sgfsi_json_get(said, "intercept"), &d->intercept) ||
        sgfsi_json_length(columns) < 0) {
        return lacks("which columns it had", err);
    }
    d->features = sgfsi_json_length(columns);
    d->p = d->features + (d->intercept ? 1 : 0);
    d->feature = sgfsi_arena_alloc(&d->arena, d->features + 1, sizeof *d->feature);
    if (d->feature == NULL ||
        (scaled && !SGFSI_ROOM(&d->arena, d->features + 1, &d->shift, &d->scale)))
        return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < d->features; j++) {
        const sgfsi_json *column = sgfsi_json_at(columns, j);
        const char *name = sgfsi_json_get_text(column, "name", NULL);
        sgfsi_column *c = &d->feature[j];
        if (name == NULL) return lacks("what its columns are called", err);
        c->name = sgfsi_arena_text(&d->arena, name);
        if (c->name == NULL) return sgfsi_fail_memory(err, "the columns");
        c->mean = c->min = c->max = sgfsi_json_get_num(column, "mean", 0);
        c->sd = sgfsi_json_get_num(column, "sd", 0);
        if (!scaled) continue;
        d->shift[j] = sgfsi_json_get_num(column, "shift", NAN);
        d->scale[j] = sgfsi_json_get_num(column, "scale", NAN);
        if (!isfinite(d->shift[j]) || !isfinite(d->scale[j]))
            return lacks("how its columns were standardised", err);
    }
    return SGFS_OK;
}

sgfs_data *sgfsi_data_recall(const sgfsi_json *said, bool scaled, const sgfs_config *cfg,
                             sgfs_err *err) {
    sgfs_data *d = calloc(1, sizeof *d);
    if (d == NULL) return sgfsi_fail_memory(err, "the data"), NULL;
    d->view = true; /* there is no table to free */
    d->cfg = sgfsi_config_copy(cfg);
    d->warnings = sgfsi_json_array();
    d->target_col = d->table.text_col = -1;
    d->path = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(said, "path", "the run's data"));
    d->total = (double)sgfsi_json_get_int(said, "rows", 0);
    d->target.name = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(said, "target", ""));
    d->target.mean = d->target.min = d->target.max = sgfsi_json_get_num(said, "target_mean", 0);
    d->target.sd = sgfsi_json_get_num(said, "target_sd", 0);
    bool made = d->cfg != NULL && d->path != NULL && d->target.name != NULL;
    scaled = scaled && sgfsi_json_get_flag(said, "standardized");
    sgfs_status status =
        made ? recall_columns(d, said, scaled, err) : sgfsi_fail_memory(err, "the data");
    if (status == SGFS_OK) return d;
    sgfs_data_free(d);
    return NULL;
}

sgfs_status sgfsi_data_recall_target(sgfs_data *d, int64_t levels, const char *const *level,
                                     sgfs_err *err) {
    d->has_target = true;
    d->target_col = 0;
    if (levels == 0) return SGFS_OK;
    d->table.text_col = 0;
    d->table.level = sgfsi_arena_alloc(&d->arena, levels, sizeof *d->table.level);
    for (int64_t k = 0; d->table.level != NULL && k < levels; k++) {
        d->table.level[k] = sgfsi_arena_text(&d->arena, level[k]);
        if (d->table.level[k] == NULL) return sgfsi_fail_memory(err, "the labels");
    }
    d->table.levels = levels;
    return d->table.level != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the labels");
}
