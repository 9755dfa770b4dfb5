/* SPDX-License-Identifier: MIT
 * predict_rows.c: predictions of rows in the caller's memory, from any number of threads at once.
 *
 * The job was opened without a file. What it has (model, columns, draws) does not change any more.
 * What a call writes to is a workspace; one that nobody uses is taken from a list, or made, and
 * goes back at the end. So there are as many as there were threads at the same time, and from then
 * on no call allocates memory for them. A row's numbers are those that `sgfs predict` writes for a
 * file of the same rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/predict/predict.h"

struct sgfsi_workspace {
    sgfsi_workspace *next;
    sgfsi_arena arena;
    sgfsi_newrows_block in;
    sgfsi_predictor predictor;
};

void sgfsi_workspaces_free(sgfsi_workspace *first) {
    while (first != NULL) {
        sgfsi_workspace *next = first->next;
        sgfsi_arena_free(&first->arena);
        free(first);
        first = next;
    }
}

static sgfsi_workspace *take_workspace(sgfsi_predict *p, sgfs_err *err) {
    pthread_mutex_lock(&p->lock);
    sgfsi_workspace *w = p->idle;
    if (w != NULL) p->idle = w->next;
    pthread_mutex_unlock(&p->lock);
    if (w != NULL) return w->next = NULL, w;
    w = calloc(1, sizeof *w);
    if (w == NULL) return sgfsi_fail_memory(err, "predictions"), NULL;
    sgfs_status status = sgfsi_newrows_memory_room(&p->rows, p->most, &w->in, &w->arena, err);
    if (status == SGFS_OK)
        status = sgfsi_predictor_open(&w->predictor, p->model, p->most, p->draws, &w->arena, err);
    if (status != SGFS_OK) return sgfsi_workspaces_free(w), NULL;
    w->predictor.seed = p->seed;
    memcpy(w->predictor.at, p->at, sizeof p->at);
    return w;
}

static void give_back(sgfsi_predict *p, sgfsi_workspace *w) {
    pthread_mutex_lock(&p->lock);
    w->next = p->idle;
    p->idle = w;
    pthread_mutex_unlock(&p->lock);
}

/* The next n rows; out: those of the whole call. */
static sgfs_status predict_some(sgfsi_predict *p, sgfsi_workspace *w, const sgfs_new_rows *rows,
                                int64_t first, int64_t n, sgfs_predicted *out, sgfs_err *err) {
    sgfs_status status = sgfsi_newrows_take(&p->rows, rows, first, n, &w->in, out, err);
    if (status != SGFS_OK) return status;
    sgfsi_predictor_begin(&w->predictor, &w->in.batch, first);
    sgfsi_predictor_groups(&w->predictor, w->in.code, p->rows.groups.zero);
    status = sgfsi_predictor_add(&w->predictor, p->draws, p->draw, err);
    if (status == SGFS_OK) status = sgfsi_predictor_finish(&w->predictor, err);
    for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
        const int64_t Q = out->quantile != NULL ? p->width * SGFSI_QUANTILES : 0;
        double *mean = out->mean + (first + i) * p->width,
               *q = Q > 0 ? out->quantile + (first + i) * Q : NULL;
        bool lacks = w->in.lacks[i] == SGFSI_LACKS_VALUES, good = true;
        out->missing += lacks;
        sgfsi_predictor_mean(&w->predictor, i, mean);
        if (Q > 0) sgfsi_predictor_quantiles(&w->predictor, i, q);
        for (int64_t k = 0; k < p->width; k++) {
            good = good && !isnan(mean[k]);
            if (lacks) mean[k] = NAN;
        }
        for (int64_t k = 0; k < Q; k++) {
            good = good && !isnan(q[k]);
            if (lacks) q[k] = NAN;
        }
        if (!good && !lacks)
            status = sgfsi_fail(err, SGFS_ENUMERIC,
                                "sgfs_predict_rows: row %lld: the prediction of at least one draw "
                                "is not a number. Do the draws make sense (sgfs summary), and does "
                                "this row?",
                                (long long)(first + i));
    }
    return status;
}

sgfs_status sgfs_predict_rows(sgfs_job *job, const sgfs_new_rows *rows, sgfs_predicted *out,
                              sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    sgfsi_predict *p = (sgfsi_predict *)job;
    if (job == NULL) return sgfsi_fail_handle(err, "sgfs_predict_rows");
    if (job->kind != &sgfsi_job_predict || p->path != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_predict_rows: the job is to be one that sgfs_predict_open opened "
                          "without data.");
    if (rows == NULL || out == NULL || rows->size != sizeof *rows || out->size != sizeof *out)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_predict_rows: rows and predictions are needed, each with its "
                          "size: .size = sizeof(sgfs_new_rows), .size = sizeof(sgfs_predicted).");
    bool counts = p->rows.wanted.exposure != NULL, text = false;
    for (int64_t j = 0; j < p->rows.inputs; j++) text = text || p->rows.words[j]->count == 0;
    if (rows->rows < 0 || out->mean == NULL || (rows->x == NULL && (text || rows->words == NULL)) ||
        counts != (rows->exposure != NULL))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_predict_rows: x (and words, for columns of words)%s and room for "
                          "the means are needed.",
                          counts ? ", exposure" : ", no exposure, which the run is without,");
    out->new_words = out->missing = out->new_groups = 0;
    sgfsi_workspace *w = take_workspace(p, err);
    if (w == NULL) return sgfsi_why(err);
    sgfs_status status = SGFS_OK;
    sgfsi_scope scope = sgfsi_context_enter(&p->rows.model->ctx);
    for (int64_t first = 0; first < rows->rows && status == SGFS_OK; first += p->most) {
        int64_t left = rows->rows - first;
        status = predict_some(p, w, rows, first, left < p->most ? left : p->most, out, err);
    }
    sgfsi_context_leave(scope);
    give_back(p, w);
    return status;
}
