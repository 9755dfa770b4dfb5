/* SPDX-License-Identifier: MIT
 * predict_result.c: the result of a prediction, as a struct and as JSON.
 */
#include <math.h>
#include <stdlib.h>

#include "jobs/predict/predict.h"

/* ---- the struct ------------------------------------------------------------------------------ */

static sgfs_status fill_labels(sgfsi_predict *p, sgfs_err *err) {
    sgfs_prediction *r = &p->result;
    const sgfsi_labels *l = &p->rows.model->labels;
    r->labels = l->count;
    r->bins = l->count == 2 ? l->name[1] : "";
    r->label = calloc((size_t)l->count + 1, sizeof *r->label);
    if (r->label == NULL) return sgfsi_fail_memory(err, "the labels");
    for (int64_t k = 0; k < l->count; k++) {
        const sgfsi_label_tally *t = &p->tally.label[k];
        r->label[k] = (sgfs_predict_label){.name = l->name[k],
                                           .rows = t->rows,
                                           .predicted = t->predicted,
                                           .right = t->right,
                                           .probability = t->probability / (double)p->tally.rows};
    }
    return SGFS_OK;
}

sgfs_status sgfsi_predict_conclude(sgfsi_predict *p, sgfs_err *err) {
    sgfs_prediction *r = &p->result;
    const sgfsi_tally *t = &p->tally;
    r->rows = p->done;
    r->draws = p->draws;
    r->model = p->rows.model->kind->name;
    r->target = sgfsi_newdata_target(p->rows.rows);
    r->scored = p->rows.known;
    r->log_loss = sgfsi_mean_se_mean(&t->loss);
    r->log_loss_se = sgfsi_mean_se_se(&t->loss);
    r->error = sgfsi_mean_se_mean(&t->wrong);
    r->error_se = sgfsi_mean_se_se(&t->wrong);
    r->brier = sgfsi_mean_se_mean(&t->brier);
    r->ece = sgfsi_tally_ece(t);
    r->rmse = sqrt(sgfsi_mean_se_mean(&t->square));
    r->mae = sgfsi_mean_se_mean(&t->absolute);
    r->intervals = p->predictor[0].drawn;
    r->coverage = sgfsi_mean_se_mean(&t->inside);
    r->coverage_se = sgfsi_mean_se_se(&t->inside);
    for (int k = 0; k < SGFSI_QUANTILES; k++) r->under[k] = sgfsi_mean_se_mean(&t->under[k]);
    for (int b = 0; b < SGFSI_BINS; b++) {
        const sgfsi_bin *bin = &t->bin[b];
        r->bin[b] = (sgfs_predict_bin){.low = (double)b / SGFSI_BINS,
                                       .high = (double)(b + 1) / SGFSI_BINS,
                                       .rows = bin->rows,
                                       .predicted = bin->predicted / (double)bin->rows,
                                       .observed = bin->observed / (double)bin->rows};
        r->pit[b] = t->pit[b];
    }
    return fill_labels(p, err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_labels(sgfsi_json *o, const sgfs_prediction *r) {
    sgfsi_json *labels = sgfsi_json_array(), *bins = sgfsi_json_array();
    for (int64_t k = 0; k < r->labels; k++) {
        const sgfs_predict_label *l = &r->label[k];
        sgfsi_json *label = sgfsi_json_object();
        sgfsi_json_text(label, "label", l->name);
        if (r->scored) {
            sgfsi_json_int(label, "rows", l->rows);
            sgfsi_json_int(label, "predicted", l->predicted);
            sgfsi_json_int(label, "right", l->right);
            sgfsi_json_num(label, "mean_probability", l->probability);
        }
        sgfsi_json_put(labels, NULL, label);
    }
    sgfsi_json_put(o, "labels", labels);
    for (int b = 0; r->scored && b < SGFSI_BINS; b++) {
        sgfsi_json *bin = sgfsi_json_object();
        sgfsi_json_num(bin, "from", r->bin[b].low);
        sgfsi_json_num(bin, "to", r->bin[b].high);
        sgfsi_json_int(bin, "rows", r->bin[b].rows);
        sgfsi_json_num(bin, "predicted", r->bin[b].predicted);
        sgfsi_json_num(bin, "observed", r->bin[b].observed);
        sgfsi_json_put(bins, NULL, bin);
    }
    if (!r->scored) {
        sgfsi_json_free(bins);
        return;
    }
    sgfsi_json_num(o, "error", r->error);
    sgfsi_json_num(o, "error_se", r->error_se);
    sgfsi_json_num(o, "brier", r->brier);
    sgfsi_json_num(o, "ece", r->ece);
    sgfsi_json_text(o, "bins_of", r->bins[0] != '\0' ? r->bins : NULL);
    sgfsi_json_put(o, "bins", bins);
}

static void put_numbers(sgfsi_json *o, const sgfs_prediction *r) {
    sgfsi_json_text(o, "intervals_of", r->intervals ? "target" : "mean");
    if (!r->scored) return;
    sgfsi_json_num(o, "rmse", r->rmse);
    sgfsi_json_num(o, "mae", r->mae);
    if (!r->intervals) return;
    sgfsi_json_num(o, "coverage_90", r->coverage);
    sgfsi_json_num(o, "coverage_90_se", r->coverage_se);
    sgfsi_json *under = sgfsi_json_object(), *pit = sgfsi_json_array();
    sgfsi_json_num(under, "q5", r->under[0]);
    sgfsi_json_num(under, "q50", r->under[1]);
    sgfsi_json_num(under, "q95", r->under[2]);
    sgfsi_json_put(o, "share_under", under);
    for (int b = 0; b < SGFSI_BINS; b++) sgfsi_json_int(pit, NULL, r->pit[b]);
    sgfsi_json_put(o, "pit", pit);
}

sgfsi_json *sgfsi_predict_json(const sgfs_job *job) {
    const sgfsi_predict *predict = (const sgfsi_predict *)job;
    const sgfs_prediction *r = &predict->result;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "model", r->model);
    sgfsi_json_text(o, "data", sgfsi_newdata_shown(predict->rows.rows));
    sgfsi_json_int(o, "rows", r->rows);
    sgfsi_json_int(o, "draws", r->draws);
    sgfsi_json_text(o, "state", r->state);
    sgfsi_json_text(o, "target", r->scored ? r->target : NULL);
    sgfsi_json_num(o, "seconds", r->seconds);
    if (r->scored) {
        sgfsi_json_num(o, "log_loss", r->log_loss);
        sgfsi_json_num(o, "log_loss_se", r->log_loss_se);
    }
    if (r->labels > 0) put_labels(o, r);
    else put_numbers(o, r);
    return o;
}
