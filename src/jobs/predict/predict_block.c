/* SPDX-License-Identifier: MIT
 * predict_block.c: one block of rows: every draw on it, then for each row the averages and
 * quantiles, and its line of the output.
 *
 * The output is CSV with a header: for labels
 *     prediction, then for each label p[label], q5[label], q50[label], q95[label]
 * and for numbers
 *     mean, q5, q50, q95
 * and, where the file has the target, target and log_density. Numbers read back to the same bits.
 * Lines are made here, by the threads, and written elsewhere, in order.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "jobs/predict/predict.h"

enum { MOST_ROWS = 512, BLOCK_NUMBERS = 1 << 20 }; /* 8 MiB for each thread */

int64_t sgfsi_predict_rows(const sgfs_model *m, int64_t width, int64_t draws) {
    int64_t per_row = m->data->p + m->scratch_per_row + width * (draws + 16), rows = MOST_ROWS;
    while (rows > 2 && rows * per_row > BLOCK_NUMBERS) rows /= 2;
    return rows;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* A text as a CSV cell: quoted where it has to be, quotes doubled (RFC 4180). */
static const char *quote(sgfsi_arena *arena, const char *text) {
    size_t n = strlen(text);
    char *out = sgfsi_arena_alloc(arena, (int64_t)(2 * n + 3), 1), *at = out;
    if (out == NULL) return NULL;
    bool needed = text[strcspn(text, ",\"\r\n")] != '\0';
    if (needed) *at++ = '"';
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') *at++ = '"';
        *at++ = *c;
    }
    if (needed) *at++ = '"';
    *at = '\0';
    return out;
}

static sgfs_status quote_labels(sgfsi_predict *p, sgfs_err *err) {
    const sgfsi_labels *l = &p->rows.model->labels;
    size_t longest = SGFSI_NUM_CHARS;
    p->quoted = sgfsi_arena_alloc(&p->job.arena, l->count, sizeof *p->quoted);
    for (int64_t k = 0; p->quoted != NULL && k < l->count; k++) {
        p->quoted[k] = quote(&p->job.arena, l->name[k]);
        if (p->quoted[k] == NULL) return sgfsi_fail_memory(err, "the labels");
        size_t n = strlen(p->quoted[k]);
        longest = n > longest ? n : longest;
    }
    /* prediction and target, then the numbers and the density, each with a comma */
    p->line_bytes = 2 * ((int64_t)longest + 1) +
                    (p->width * (1 + SGFSI_QUANTILES) + 1) * (SGFSI_NUM_CHARS + 1) + 2;
    return p->quoted != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the labels");
}

static sgfs_status slot_room(sgfsi_predict *p, sgfsi_predict_slot *slot, sgfs_err *err) {
    sgfs_status status = sgfsi_newrows_room(&p->rows, p->most, &slot->in, &p->job.arena, err);
    if (status != SGFS_OK) return status;
    slot->mean = SGFSI_DOUBLES(&p->job.arena, p->most * p->width);
    slot->q = SGFSI_DOUBLES(&p->job.arena, p->most * p->width * SGFSI_QUANTILES);
    slot->log_density = SGFSI_DOUBLES(&p->job.arena, p->most);
    slot->pit = SGFSI_DOUBLES(&p->job.arena, p->most);
    slot->text = sgfsi_arena_alloc(&p->job.arena, p->out != NULL ? p->most * p->line_bytes : 1, 1);
    bool made = slot->mean != NULL && slot->q != NULL && slot->log_density != NULL &&
                slot->pit != NULL && slot->text != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "a block of predictions");
}

sgfs_status sgfsi_predict_room(sgfsi_predict *p, sgfs_err *err) {
    uint64_t seed = (uint64_t)sgfsi_config_int(p->job.cfg, "run.seed");
    sgfs_status status = quote_labels(p, err);
    p->slot = sgfsi_arena_alloc(&p->job.arena, p->slots, sizeof *p->slot);
    p->predictor = sgfsi_arena_alloc(&p->job.arena, p->job.threads, sizeof *p->predictor);
    if (p->slot == NULL || p->predictor == NULL) return sgfsi_fail_memory(err, "predictions");
    for (int64_t k = 0; k < p->slots && status == SGFS_OK; k++)
        status = slot_room(p, &p->slot[k], err);
    for (int64_t k = 0; k < p->job.threads && status == SGFS_OK; k++) {
        status = sgfsi_predictor_open(&p->predictor[k], p->rows.model, p->most, p->draws,
                                      &p->job.arena, err);
        p->predictor[k].seed = seed;
    }
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_text(sgfsi_predict_slot *slot, const char *text) {
    size_t n = strlen(text);
    memcpy(slot->text + slot->used, text, n);
    slot->used += n;
}

/* Spelled so that both R and pandas see a number. */
static void put_number(sgfsi_predict_slot *slot, double x) {
    if (isfinite(x)) slot->used += sgfsi_format_num(slot->text + slot->used, x);
    else put_text(slot, isnan(x) ? "NaN" : x > 0 ? "Inf" : "-Inf");
}

static void put_line(const sgfsi_predict *p, sgfsi_predict_slot *slot, int64_t i) {
    const sgfsi_labels *labels = &p->rows.model->labels;
    const double *mean = slot->mean + i * p->width, *q = slot->q + i * p->width * SGFSI_QUANTILES;
    if (labels->count > 0) put_text(slot, p->quoted[sgfsi_tally_best(labels->count, mean)]);
    for (int64_t k = 0; k < p->width; k++) {
        if (k > 0 || labels->count > 0) put_text(slot, ",");
        put_number(slot, mean[k]);
        for (int j = 0; j < SGFSI_QUANTILES; j++) {
            put_text(slot, ",");
            put_number(slot, q[k * SGFSI_QUANTILES + j]);
        }
    }
    if (p->rows.known) {
        put_text(slot, ",");
        double y = slot->in.y[i];
        if (labels->count > 0) put_text(slot, p->quoted[sgfsi_labels_class(labels, y)]);
        else put_number(slot, y);
        put_text(slot, ",");
        put_number(slot, slot->log_density[i]);
    }
    put_text(slot, "\n");
}

void sgfsi_predict_head(const sgfsi_predict *p, FILE *f) {
    const sgfsi_labels *labels = &p->rows.model->labels;
    fputs(labels->count > 0 ? "prediction" : "mean,q5,q50,q95", f);
    /* "p[no],q5[no],...": the label inside the name, quoted as a whole where it has to be. */
    for (int64_t k = 0; k < labels->count; k++) {
        static const char *const what[] = {"p", "q5", "q50", "q95"};
        bool needed = labels->name[k][strcspn(labels->name[k], ",\"\r\n")] != '\0';
        for (size_t j = 0; j < sizeof what / sizeof what[0]; j++) {
            fprintf(f, ",%s%s[", needed ? "\"" : "", what[j]);
            for (const char *c = labels->name[k]; *c != '\0'; c++) {
                if (*c == '"') fputc('"', f);
                fputc(*c, f);
            }
            fprintf(f, "]%s", needed ? "\"" : "");
        }
    }
    fputs(p->rows.known ? ",target,log_density\n" : "\n", f);
}

/* ---- the block ------------------------------------------------------------------------------- */

static bool read_row(sgfsi_predict *p, sgfsi_predictor *predictor, sgfsi_predict_slot *slot,
                     int64_t i) {
    double *mean = slot->mean + i * p->width, *q = slot->q + i * p->width * SGFSI_QUANTILES;
    bool good = true;
    sgfsi_predictor_mean(predictor, i, mean);
    slot->pit[i] = p->rows.known && predictor->drawn ? sgfsi_predictor_pit(predictor, i) : NAN;
    for (int64_t k = 0; k < p->width; k++) {
        sgfsi_predictor_quantiles(predictor, i, k, q + k * SGFSI_QUANTILES);
        good = good && !isnan(mean[k]) && !isnan(q[k * SGFSI_QUANTILES]) &&
               !isnan(q[(k + 1) * SGFSI_QUANTILES - 1]);
    }
    slot->log_density[i] = p->rows.known ? sgfsi_predictor_log_density(predictor, i) : NAN;
    return good && !(p->rows.known && isnan(slot->log_density[i]));
}

static sgfs_status read_rows(sgfsi_predict *p, sgfsi_predictor *predictor,
                             sgfsi_predict_slot *slot) {
    slot->used = 0;
    for (int64_t i = 0; i < slot->in.batch.n; i++) {
        if (!read_row(p, predictor, slot, i)) {
            return sgfsi_fail(&slot->err, SGFS_ENUMERIC,
                              "%s: row %lld of the data: the prediction of at least one draw is "
                              "not a number. Do the draws make sense (sgfs summary), and does "
                              "this row?",
                              sgfsi_newdata_shown(p->rows.rows), (long long)(slot->first + i + 1));
        }
        if (p->out != NULL) put_line(p, slot, i);
    }
    return SGFS_OK;
}

void sgfsi_predict_block(sgfsi_predict *p, sgfsi_predictor *predictor, sgfsi_predict_slot *slot) {
    slot->status = SGFS_OK;
    sgfsi_predictor_begin(predictor, &slot->in.batch, slot->first);
    for (int64_t s = 0; s < p->draws && slot->status == SGFS_OK; s++) {
        if (sgfsi_job_stopping(&p->job)) return;
        slot->status = sgfsi_predictor_add(predictor, &p->draw[s], &slot->err);
    }
    if (slot->status == SGFS_OK) slot->status = read_rows(p, predictor, slot);
}
