/* SPDX-License-Identifier: MIT
 * validation.c: the rows of --validate, read whole and put on the scale of the draws.
 */
#include "jobs/validation.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/newrows.h"

typedef struct validation {
    sgfsi_newrows source;
    sgfsi_json *describe; /* of the model's data: source borrows from it */
    double *x, *y, *offset;
    sgfs_batch rows;
} validation;

static bool grow(double **array, int64_t numbers) {
    double *more = realloc(*array, (size_t)(numbers > 0 ? numbers : 1) * sizeof *more);
    if (more != NULL) *array = more;
    return more != NULL;
}

static sgfs_status read_rows(validation *a, sgfs_err *err) {
    enum { BLOCK = 4096 };
    sgfsi_newrows_block block;
    if (!a->source.known) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: has no column \"%.60s\", the target; rows to validate with need it.",
                          sgfsi_newdata_shown(a->source.rows),
                          a->source.wanted.target != NULL ? a->source.wanted.target : "");
    }
    sgfs_status status = sgfsi_newrows_room(&a->source, BLOCK, &block, &a->source.arena, err);
    while (status == SGFS_OK) {
        status = sgfsi_newrows_next(&a->source, BLOCK, &block, err);
        if (status != SGFS_OK || block.batch.n == 0) break;
        /* One block behind the rows there are. */
        const sgfs_batch *b = &block.batch;
        int64_t have = a->rows.n, n = have + b->n;
        if (!grow(&a->x, n * b->p) || !grow(&a->y, n) || !grow(&a->offset, n))
            return sgfsi_fail_memory(err, "the rows kept aside");
        memcpy(a->x + have * b->p, b->x, (size_t)(b->n * b->p) * sizeof *b->x);
        memcpy(a->y + have, b->y, (size_t)b->n * sizeof *b->y);
        if (b->offset != NULL)
            memcpy(a->offset + have, b->offset, (size_t)b->n * sizeof *b->offset);
        a->rows = *b;
        a->rows.n = n;
        a->rows.x = a->x;
        a->rows.y = a->y;
        a->rows.offset = b->offset != NULL ? a->offset : NULL;
    }
    return status;
}

/* By name, as the run knows the target: a number would count this file's columns. */
static sgfs_status open_source(validation *a, const char *path, const sgfs_model *model,
                               const sgfs_config *cfg, sgfs_err *err) {
    a->describe = sgfsi_data_describe(model->data);
    const sgfsi_origin origin = {model->kind, model->cfg, a->describe, model->saved, &model->ctx};
    sgfs_config *own = sgfsi_config_copy(cfg);
    if (own == NULL) return sgfsi_fail_memory(err, "the rows kept aside");
    sgfs_status status = sgfs_config_set(own, "data.target", "", err);
    const char *labels = sgfsi_config_text(cfg, "run.validate_labels");
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.labels", labels, err);
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.part", "all", err);
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.limit", "auto", err);
    if (status == SGFS_OK) status = sgfsi_newrows_open(&a->source, &origin, path, own, err);
    sgfs_config_free(own);
    return status;
}

static void free_rows(void *owner) {
    validation *a = owner;
    sgfsi_newrows_close(&a->source);
    sgfsi_json_free(a->describe);
    free(a->x);
    free(a->y);
    free(a->offset);
    free(a);
}

sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err) {
    validation *a = calloc(1, sizeof *a);
    *out = (sgfsi_validation_rows){0};
    if (a == NULL) return sgfsi_fail_memory(err, "the rows kept aside");
    sgfs_status status = open_source(a, path, model, cfg, err);
    if (status == SGFS_OK) status = read_rows(a, err);
    if (status != SGFS_OK) {
        free_rows(a);
        return status;
    }
    *out = (sgfsi_validation_rows){a->source.model, a->rows, a, free_rows};
    return SGFS_OK;
}
