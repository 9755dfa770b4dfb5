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

static const double warmup_factor = 1.1, draws_factor = 1.02;

sgfs_status sgfsi_validator_open(sgfsi_validator *v, const sgfsi_validation_rows *rows,
                                 sgfsi_arena *arena, sgfs_err *err) {
    *v = (sgfsi_validator){.rows = rows, .next = 1, .error = NAN};
    v->mean = SGFSI_DOUBLES(arena, rows->model->outputs);
    if (v->mean == NULL) return sgfsi_fail_memory(err, "the validation");
    sgfs_status status = sgfsi_predictor_open(&v->p, rows->model, rows->rows.n, 0, arena, err);
    if (status == SGFS_OK) sgfsi_predictor_begin(&v->p, &rows->rows, 0);
    sgfsi_predictor_groups(&v->p, rows->code, false);
    return status;
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

/* Errors of the average so far, and of the last draw alone. */
static void add_point(sgfsi_validator *v, const sgfsi_validation_point *now) {
    const sgfsi_predictor *p = &v->p;
    double *point = v->points + v->waiting++ * SGFSI_POINT;
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
    point[SGFSI_POINT_ITERATION] = (double)now->t;
    point[SGFSI_POINT_SECONDS] = now->seconds;
    point[SGFSI_POINT_DRAWS] = v->drawing ? (double)p->draws : 0;
    point[SGFSI_POINT_ERROR] = v->error = v->drawing && predicts ? finish(v, cost) : NAN;
    point[SGFSI_POINT_LOSS] = v->drawing ? loss / (double)p->batch.n : NAN;
    point[SGFSI_POINT_ERROR_NOW] = predicts ? finish(v, cost_now) : NAN;
    point[SGFSI_POINT_LOSS_NOW] = loss_now / (double)p->batch.n;
}

sgfs_status sgfsi_validator_look(sgfsi_validator *v, const sgfsi_validation_point *now,
                                 sgfs_err *err) {
    bool begins = now->kept && !v->drawing;
    if (!now->kept && (v->drawing || now->t < v->next)) return SGFS_OK;
    if (begins) v->next = 1;
    v->drawing = now->kept;
    if (begins || !now->kept) sgfsi_predictor_begin(&v->p, &v->rows->rows, 0);
    sgfs_status status = sgfsi_predictor_add(&v->p, 1, &now->draw, err);
    if (status != SGFS_OK) return status;
    int64_t at = now->kept ? v->p.draws : now->t;
    v->latest = *now;
    v->has_point = at >= v->next;
    if (!v->has_point) return SGFS_OK;
    int64_t next = (int64_t)((double)at * (now->kept ? draws_factor : warmup_factor));
    v->next = next > at ? next : at + 1;
    add_point(v, now);
    return SGFS_OK;
}

void sgfsi_validator_finish(sgfsi_validator *v) {
    if (!v->drawing || v->has_point) return;
    v->has_point = true;
    add_point(v, &v->latest);
}

void sgfsi_validator_fields(sgfsi_validator *v, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "validator");
    SGFSI_FIELD_ONE(list, v, next);
    SGFSI_FIELD_ONE(list, v, drawing);
    SGFSI_FIELD_ONE(list, v, has_point);
    SGFSI_FIELD_ONE(list, v, error);
    SGFSI_FIELD(list, "latest.t", &v->latest.t, 1);
    sgfsi_predictor_fields(&v->p, list);
    sgfsi_fields_leave(list);
}
