/* SPDX-License-Identifier: MIT
 * predict_result.c: the result of a prediction, as a struct and as JSON.
 */
#include <math.h>

#include "jobs/predict/predict.h"

/* ---- the struct ------------------------------------------------------------------------------ */

sgfs_status sgfsi_predict_introduce(sgfsi_predict *p, sgfs_err *err) {
    sgfs_prediction *r = &p->result;
    const sgfsi_newrows *rows = &p->rows;
    const sgfsi_labels *l = &rows->model->labels;
    r->draws = p->draws;
    r->model = rows->model->kind->name;
    r->target = rows->data->target.name;
    r->labels = l->count;
    r->bins = l->count == 2 ? l->name[1] : "";
    r->outputs = p->width;
    r->columns = rows->inputs;
    r->exposure = rows->wanted.exposure != NULL;
    r->label = sgfsi_arena_alloc(&p->job.arena, l->count, sizeof *r->label);
    sgfs_predict_column *column = sgfsi_arena_alloc(&p->job.arena, rows->inputs, sizeof *column);
    if (r->label == NULL || column == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t k = 0; k < l->count; k++) r->label[k].name = l->name[k];
    for (int64_t j = 0; j < rows->inputs; j++)
        column[j] = (sgfs_predict_column){.name = rows->input[j],
                                          .dates = rows->recipe != NULL && j < rows->own &&
                                                   sgfsi_recipe_dates(rows->recipe, j),
                                          .words = rows->words[j]->count,
                                          .word = (const char *const *)rows->words[j]->text};
    r->column = column;
    return SGFS_OK;
}

/* Rows of one rank are taken together, and count half in the area. */
static void fill_hits(const sgfsi_predict *p, sgfs_prediction *r) {
    double others = 0, all = 0, wrong = 0, found = 0, area = 0;
    for (const sgfsi_rank *k = p->rank; k < p->rank + SGFSI_RANKS; k++) {
        others += (double)(k->rows - k->observed);
        all += (double)k->observed;
    }
    bool known = r->scored && r->labels == 2 && others > 0 && all > 0;
    int next = 0;
    for (int64_t k = SGFSI_RANKS - 1; known && k >= 0; k--) {
        double x = (double)(p->rank[k].rows - p->rank[k].observed) / others;
        double y = (double)p->rank[k].observed / all;
        for (; next <= 100 && 0.01 * next <= wrong + x && x + y > 0; next++)
            r->hits[next] = found + (x > 0 ? fmax(0, 0.01 * next - wrong) * y / x : y);
        area += x * (found + 0.5 * y);
        wrong += x;
        found += y;
    }
    for (; next <= 100; next++) r->hits[next] = known ? 1 : NAN;
    r->auc = known ? area : NAN;
}

/* Tenths of the rows by their predicted probability; ranks are not divided. */
static void fill_tenths(const sgfsi_predict *p, sgfs_prediction *r) {
    int64_t all = 0, before = 0, k = 0;
    double low = 0;
    for (const sgfsi_rank *at = p->rank; at < p->rank + SGFSI_RANKS; at++) all += at->rows;
    for (int b = 0; b < SGFSI_BINS; b++) {
        sgfsi_rank sum = {0, 0, 0};
        for (; k < SGFSI_RANKS && (before < (b + 1) * all / SGFSI_BINS || b == SGFSI_BINS - 1);
             k++) {
            sum.rows += p->rank[k].rows;
            sum.observed += p->rank[k].observed;
            sum.predicted += p->rank[k].predicted;
            before += p->rank[k].rows;
        }
        double high = k == SGFSI_RANKS ? 1 : sgfsi_predict_rank_from(k);
        r->tenth[b] = (sgfs_predict_bin){.low = low,
                                         .high = high,
                                         .rows = sum.rows,
                                         .predicted = sum.predicted / (double)sum.rows,
                                         .observed = (double)sum.observed / (double)sum.rows};
        low = high;
    }
}

/* Scores of one prediction for every row: the shares of the labels, or the mean, of these rows. */
static void fill_baseline(const sgfsi_tally *t, sgfs_prediction *r) {
    sgfs_predict_baseline *b = &r->baseline;
    double largest = 0;
    *b = (sgfs_predict_baseline){NAN, NAN, NAN, NAN, NAN};
    if (!r->scored || t->rows == 0) return;
    if (r->labels == 0) {
        b->rmse = sqrt(t->target.ss / t->target.weight);
        b->r2 = 1 - r->rmse * r->rmse / (b->rmse * b->rmse);
        return;
    }
    b->log_loss = b->brier = 0;
    for (int64_t k = 0; k < r->labels; k++) {
        double share = (double)r->label[k].rows / (double)t->rows;
        if (share > 0) b->log_loss -= share * log(share);
        b->brier += share * (1 - share) / (r->labels == 2 ? 2 : 1);
        largest = fmax(largest, share);
    }
    b->error = 1 - largest;
}

void sgfsi_predict_conclude(sgfsi_predict *p) {
    sgfs_prediction *r = &p->result;
    const sgfsi_tally *t = &p->tally;
    r->rows = p->done;
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
    fill_hits(p, r);
    fill_tenths(p, r);
    for (int64_t k = 0; k < r->labels; k++) {
        const sgfsi_label_tally *label = &t->label[k];
        r->label[k].rows = label->rows;
        r->label[k].predicted = label->predicted;
        r->label[k].right = label->right;
        r->label[k].probability = label->probability / (double)t->rows;
    }
    fill_baseline(t, r);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_bins(sgfsi_json *o, const char *name, const sgfs_predict_bin *from) {
    sgfsi_json *bins = sgfsi_json_array_in(o, name);
    for (const sgfs_predict_bin *b = from; b < from + SGFSI_BINS; b++) {
        sgfsi_json *bin = sgfsi_json_object_in(bins, NULL);
        sgfsi_json_num(bin, "from", b->low);
        sgfsi_json_num(bin, "to", b->high);
        SGFSI_JSON(bin, b, rows, predicted, observed);
    }
}

static void put_labels(sgfsi_json *o, const sgfs_prediction *r) {
    sgfsi_json *labels = sgfsi_json_array_in(o, "labels");
    for (const sgfs_predict_label *l = r->label; l < r->label + r->labels; l++) {
        sgfsi_json *label = sgfsi_json_object_in(labels, NULL);
        sgfsi_json_text(label, "label", l->name);
        if (!r->scored) continue;
        SGFSI_JSON(label, l, rows, predicted, right);
        sgfsi_json_num(label, "mean_probability", l->probability);
    }
    if (!r->scored) return;
    SGFSI_JSON(o, r, error, error_se, brier, ece);
    sgfsi_json *baseline = sgfsi_json_object_in(o, "baseline");
    SGFSI_JSON(baseline, &r->baseline, log_loss, error, brier);
    if (r->labels == 2) sgfsi_json_num(o, "auc", r->auc);
    sgfsi_json_text(o, "bins_of", r->bins[0] != '\0' ? r->bins : NULL);
    put_bins(o, "bins", r->bin);
    put_bins(o, "tenths", r->tenth);
}

static void put_numbers(sgfsi_json *o, const sgfsi_predict *p) {
    const sgfs_prediction *r = &p->result;
    sgfsi_json_text(o, "intervals_of", r->intervals ? "target" : "mean");
    if (!r->scored) return;
    SGFSI_JSON(o, r, rmse, mae);
    sgfsi_json *baseline = sgfsi_json_object_in(o, "baseline");
    SGFSI_JSON(baseline, &r->baseline, rmse, r2);
    if (!r->intervals) return;
    SGFSI_JSON(o, r, coverage, coverage_se);
    sgfsi_json *under = sgfsi_json_object_in(o, "share_under");
    for (int k = 0; k < SGFSI_QUANTILES; k++) {
        char name[SGFSI_QUANTILE_CHARS];
        sgfsi_json_num(under, sgfsi_predict_quantile(p, k, name), r->under[k]);
    }
    sgfsi_json *pit = sgfsi_json_array_in(o, "pit");
    for (int b = 0; b < SGFSI_BINS; b++) sgfsi_json_int(pit, NULL, r->pit[b]);
}

sgfsi_json *sgfsi_predict_json(const sgfs_job *job) {
    const sgfsi_predict *predict = (const sgfsi_predict *)job;
    const sgfs_prediction *r = &predict->result;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "model", r->model);
    sgfsi_json_text(o, "data", sgfsi_newdata_shown(predict->rows.rows));
    SGFSI_JSON(o, r, rows, draws, interval, state, unpredicted, unscored);
    sgfsi_json_int(o, "rows_with_new_words", r->new_words);
    if (predict->rows.groups.terms > 0) {
        sgfsi_json_int(o, "rows_with_new_groups", r->new_groups);
        sgfsi_json *new_groups = sgfsi_json_object_in(o, "new_groups");
        for (int64_t k = 0; k < predict->rows.groups.terms; k++)
            sgfsi_json_int(new_groups, predict->rows.groups.groups->term[k].factor->name,
                           predict->rows.new_in_term[k]);
    }
    (void)sgfsi_newdata_new_words(predict->rows.rows, sgfsi_json_object_in(o, "new_words"));
    sgfsi_json_text(o, "target", r->scored ? r->target : NULL);
    sgfsi_json_num(o, "seconds", r->seconds);
    if (r->scored) SGFSI_JSON(o, r, log_loss, log_loss_se);
    if (r->labels > 0) put_labels(o, r);
    else put_numbers(o, predict);
    return o;
}
