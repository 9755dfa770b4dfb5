/* SPDX-License-Identifier: MIT
 * validate.c: the averaged prediction of rows kept aside, along the run.
 *
 * Every kept draw joins the chain's average: the error of that average against time is the curve
 * of the paper's figure 3. Beside it stands the error of the draw at hand alone, which is what an
 * optimiser (sgd) has to offer, and what is known during warm-up.
 *
 * Points become rarer as the run goes on: at iterations (in warm-up) and numbers of draws
 * (afterwards) that grow by a constant factor, so that a curve has a few hundred of them however
 * long the run is. The time spent here is not counted as the chain's.
 */
#include "chain/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double warmup_factor = 1.1, draws_factor = 1.02;

sgfs_status sgfsi_validator_open(sgfsi_validator *v, const sgfsi_validation_rows *aside,
                                 sgfsi_arena *arena, sgfs_err *err) {
    *v = (sgfsi_validator){.aside = aside, .next = 1, .error = NAN};
    v->mean = SGFSI_DOUBLES(arena, aside->source.model->outputs);
    if (v->mean == NULL) return sgfsi_fail_memory(err, "the validation");
    sgfs_status status =
        sgfsi_predictor_open(&v->p, aside->source.model, aside->rows.n, 0, arena, err);
    if (status == SGFS_OK) sgfsi_predictor_begin(&v->p, &aside->rows, 0);
    return status;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static bool grow(double **array, int64_t numbers) {
    double *more = realloc(*array, (size_t)(numbers > 0 ? numbers : 1) * sizeof *more);
    if (more != NULL) *array = more;
    return more != NULL;
}

/* One block behind the rows there are. */
static sgfs_status append(sgfsi_validation_rows *a, const sgfs_batch *b, sgfs_err *err) {
    int64_t have = a->rows.n, n = have + b->n;
    if (!grow(&a->x, n * b->p) || !grow(&a->y, n) || !grow(&a->offset, n))
        return sgfsi_fail_memory(err, "the rows kept aside");
    memcpy(a->x + have * b->p, b->x, (size_t)(b->n * b->p) * sizeof *b->x);
    memcpy(a->y + have, b->y, (size_t)b->n * sizeof *b->y);
    if (b->offset != NULL) memcpy(a->offset + have, b->offset, (size_t)b->n * sizeof *b->offset);
    a->rows = *b;
    a->rows.n = n;
    a->rows.x = a->x;
    a->rows.y = a->y;
    a->rows.offset = b->offset != NULL ? a->offset : NULL;
    return SGFS_OK;
}

static sgfs_status read_rows(sgfsi_validation_rows *a, sgfs_err *err) {
    enum { BLOCK = 4096 };
    sgfsi_newrows_block block;
    if (!a->source.known) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: has no column \"%.60s\", the target; rows to validate with need it.",
                          sgfsi_newdata_shown(a->source.rows),
                          a->source.asked.target != NULL ? a->source.asked.target : "");
    }
    sgfs_status status = sgfsi_newrows_room(&a->source, BLOCK, &block, &a->source.arena, err);
    while (status == SGFS_OK) {
        status = sgfsi_newrows_next(&a->source, BLOCK, &block, err);
        if (status != SGFS_OK || block.batch.n == 0) break;
        status = append(a, &block.batch, err);
    }
    return status;
}

sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows **aside, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err) {
    sgfsi_validation_rows *a = calloc(1, sizeof *a);
    *aside = a;
    if (a == NULL) return sgfsi_fail_memory(err, "the rows kept aside");
    a->describe = sgfsi_data_describe(model->data);
    const sgfsi_origin origin = {model->kind, model->cfg, a->describe, model->saved};
    sgfs_config *own = sgfsi_config_copy(cfg);
    if (own == NULL) return sgfsi_fail_memory(err, "the rows kept aside");
    /* by name, as the run knows it: a number would count this file's columns */
    sgfs_status status = sgfs_config_set(own, "data.target", "", err);
    const char *labels = sgfsi_config_text(cfg, "run.validate_labels");
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.labels", labels, err);
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.part", "all", err);
    if (status == SGFS_OK) status = sgfs_config_set(own, "data.limit", "auto", err);
    if (status == SGFS_OK) status = sgfsi_newrows_open(&a->source, &origin, path, own, err);
    sgfs_config_free(own);
    return status == SGFS_OK ? read_rows(a, err) : status;
}

void sgfsi_validation_rows_free(sgfsi_validation_rows *a) {
    if (a == NULL) return;
    sgfsi_newrows_close(&a->source);
    sgfsi_json_free(a->describe);
    free(a->x);
    free(a->y);
    free(a->offset);
    free(a);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* What a prediction of row i costs: 1 for a wrong label, or the squared error. */
static double cost_of(const sgfsi_validator *v, int64_t i, const double *predicted) {
    const sgfsi_labels *l = &v->p.m->labels;
    double y = v->p.batch.y[i];
    if (l->count == 0) return (y - predicted[0]) * (y - predicted[0]);
    return sgfsi_tally_wrong(l->count, predicted, sgfsi_labels_class(l, y));
}

static double finish(const sgfsi_validator *v, double sum) {
    double mean = sum / (double)v->p.batch.n;
    return v->p.m->labels.count > 0 ? mean : sqrt(mean);
}

/* Of the average so far, and of the last draw alone. */
static void measure(sgfsi_validator *v, double point[SGFSI_POINT]) {
    const sgfsi_predictor *p = &v->p;
    double cost = 0, loss = 0, cost_now = 0, loss_now = 0;
    bool predicts = p->width > 0; /* else densities are all there is */
    for (int64_t i = 0; i < p->batch.n; i++) {
        if (predicts) {
            sgfsi_predictor_mean(p, i, v->mean);
            cost += cost_of(v, i, v->mean);
            cost_now += cost_of(v, i, p->out + i * p->width);
        }
        loss -= sgfsi_predictor_log_density(p, i);
        loss_now -= p->loglik[i];
    }
    point[SGFSI_POINT_ERROR] = v->drawing && predicts ? finish(v, cost) : NAN;
    point[SGFSI_POINT_LOSS] = v->drawing ? loss / (double)p->batch.n : NAN;
    point[SGFSI_POINT_ERROR_NOW] = predicts ? finish(v, cost_now) : NAN;
    point[SGFSI_POINT_LOSS_NOW] = loss_now / (double)p->batch.n;
}

static int64_t grown(int64_t now, double factor) {
    int64_t next = (int64_t)((double)now * factor);
    return next > now ? next : now + 1;
}

static void add_point(sgfsi_validator *v, const sgfsi_validation_point *now) {
    double *point = v->points + v->waiting++ * SGFSI_POINT;
    point[SGFSI_POINT_ITERATION] = (double)now->t;
    point[SGFSI_POINT_SECONDS] = now->seconds;
    point[SGFSI_POINT_DRAWS] = v->drawing ? (double)v->p.draws : 0;
    measure(v, point);
    v->error = point[SGFSI_POINT_ERROR];
}

sgfs_status sgfsi_validator_look(sgfsi_validator *v, const sgfsi_validation_point *now,
                                 sgfs_err *err) {
    bool begins = now->kept && !v->drawing;
    if (!now->kept && (v->drawing || now->t < v->next)) return SGFS_OK;
    if (begins) v->next = 1;
    v->drawing = now->kept;
    if (begins || !now->kept) sgfsi_predictor_begin(&v->p, &v->aside->rows, 0);
    sgfs_status status = sgfsi_predictor_add(&v->p, &now->draw, err);
    if (status != SGFS_OK) return status;
    int64_t at = now->kept ? v->p.draws : now->t;
    v->latest = *now;
    v->told = at >= v->next;
    if (!v->told) return SGFS_OK;
    v->next = grown(at, now->kept ? draws_factor : warmup_factor);
    add_point(v, now);
    return SGFS_OK;
}

void sgfsi_validator_finish(sgfsi_validator *v) {
    if (!v->drawing || v->told) return;
    v->told = true;
    add_point(v, &v->latest);
}

void sgfsi_validator_fields(sgfsi_validator *v, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "validator");
    SGFSI_FIELD_ONE(list, v, next);
    SGFSI_FIELD_ONE(list, v, drawing);
    SGFSI_FIELD_ONE(list, v, told);
    SGFSI_FIELD_ONE(list, v, error);
    SGFSI_FIELD(list, "latest.t", &v->latest.t, 1);
    SGFSI_FIELD(list, "latest.seconds", &v->latest.seconds, 1);
    sgfsi_predictor_fields(&v->p, list);
    sgfsi_fields_leave(list);
}
