/* SPDX-License-Identifier: MIT
 * predict_block.c: one block of rows: every draw on it, then for each row the averages and
 * quantiles, and its line of the output.
 *
 * The output is CSV with a header: the key, where one is wanted, then for labels
 *     prediction, then for each label p[label], q5[label], q50[label], q95[label]
 * and for numbers
 *     mean, q5, q50, q95
 * (of another interval than 90 %: others)
 * and, where the file has the target, target and log_density. Numbers read back to the same bits.
 * A row that lacks values has empty cells, so that lines stay beside the rows of the data; one that
 * lacks its target lacks the last two. A name in .npy has all draws behind these numbers instead:
 * rows x labels (or 1) x draws.
 * Lines are made here, by the threads, and written elsewhere, in order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/npy.h"
#include "jobs/predict/predict.h"
#include "sink/export.h"

enum { MOST_ROWS = 512, BLOCK_NUMBERS = 1 << 20 }; /* 8 MiB for each thread */
enum { TOGETHER = 128 };                           /* draws between two looks for a stop */

int64_t sgfsi_predict_rows(const sgfs_model *m, int64_t width, int64_t draws) {
    int64_t per_row = m->data->p + m->scratch_per_row + width * (draws + 16), rows = MOST_ROWS;
    while (rows > 2 && rows * per_row > BLOCK_NUMBERS) rows /= 2;
    return rows;
}

sgfs_status sgfsi_predict_room(sgfsi_predict *p, sgfs_err *err) {
    sgfsi_arena *arena = &p->job.arena;
    sgfs_status status = SGFS_OK;
    p->slot = sgfsi_arena_alloc(arena, p->slots, sizeof *p->slot);
    p->predictor = sgfsi_arena_alloc(arena, p->job.threads, sizeof *p->predictor);
    p->rank = sgfsi_arena_alloc(arena, SGFSI_RANKS, sizeof *p->rank);
    if (p->slot == NULL || p->predictor == NULL || p->rank == NULL)
        return sgfsi_fail_memory(err, "predictions");
    const int64_t means = p->most * p->width;
    p->each = 1 + means * (1 + SGFSI_QUANTILES) + 2 * p->most;
    p->number = SGFSI_DOUBLES(arena, p->slots * p->each);
    if (p->number == NULL) return sgfsi_fail_memory(err, "a block of predictions");
    for (int64_t k = 0; k < p->slots && status == SGFS_OK; k++) {
        sgfsi_predict_slot *slot = &p->slot[k];
        slot->used = p->number + k * p->each;
        slot->mean = slot->used + 1;
        slot->q = slot->mean + means;
        slot->log_density = slot->q + means * SGFSI_QUANTILES;
        slot->pit = slot->log_density + p->most;
        status = sgfsi_newrows_room(&p->rows, p->most, &slot->in, arena, err);
    }
    for (int64_t k = 0; k < p->job.threads && status == SGFS_OK; k++) {
        status =
            sgfsi_predictor_open(&p->predictor[k], p->model, p->most, p->draws, &p->there, err);
        p->predictor[k].seed = p->seed;
        memcpy(p->predictor[k].at, p->at, sizeof p->at);
    }
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

const char *sgfsi_predict_quantile(const sgfsi_predict *p, int k, char out[SGFSI_QUANTILE_CHARS]) {
    snprintf(out, SGFSI_QUANTILE_CHARS, "q%.6g", 100 * p->at[k]);
    return out;
}

void sgfsi_predict_head(const sgfsi_predict *p, FILE *f) {
    const sgfsi_labels *labels = &p->rows.model->labels;
    if (p->array) {
        const int64_t shape[] = {p->done, p->width, p->draws}; /* 128 bytes for any numbers */
        sgfsi_npy_head(f, 3, shape);
        return;
    }
    char name[SGFSI_QUANTILES][SGFSI_QUANTILE_CHARS], what[SGFSI_QUANTILE_CHARS + 2];
    for (int j = 0; j < SGFSI_QUANTILES; j++) (void)sgfsi_predict_quantile(p, j, name[j]);
    if (p->rows.wanted.key != NULL) {
        sgfsi_export_cell(f, "", p->rows.wanted.key, "");
        fputc(',', f);
    }
    if (labels->count > 0) fputs("prediction", f);
    else fprintf(f, "mean,%s,%s,%s", name[0], name[1], name[2]);
    /* "p[no],q5[no],...": the label inside the name, quoted as a whole where it has to be. */
    for (int64_t k = 0; k < labels->count; k++) {
        for (int j = -1; j < SGFSI_QUANTILES; j++) {
            snprintf(what, sizeof what, "%s[", j < 0 ? "p" : name[j]);
            fputc(',', f);
            sgfsi_export_cell(f, what, labels->name[k], "]");
        }
    }
    fputs(p->rows.known ? ",target,log_density\n" : "\n", f);
}

/* key: the text of the row's key, or NULL. */
static void put_line(const sgfsi_predict *p, const sgfsi_predict_slot *slot, int64_t i,
                     const char *key, FILE *f) {
    const sgfsi_labels *labels = &p->rows.model->labels;
    const double *mean = slot->mean + i * p->width, *q = slot->q + i * p->width * SGFSI_QUANTILES;
    bool named = labels->count > 0;
    if (key != NULL) {
        sgfsi_export_cell(f, "", key, "");
        fputc(',', f);
    }
    if (slot->in.lacks[i] == SGFSI_LACKS_VALUES) {
        int64_t cells = (named ? 1 : 0) + p->width * (1 + SGFSI_QUANTILES) + 2 * p->rows.known;
        while (--cells > 0) fputc(',', f);
        fputc('\n', f);
        return;
    }
    if (named) sgfsi_export_cell(f, "", labels->name[sgfsi_tally_best(labels->count, mean)], "");
    for (int64_t k = 0; k < p->width; k++) {
        if (k > 0 || named) fputc(',', f);
        sgfsi_export_number(f, mean[k]);
        for (int j = 0; j < SGFSI_QUANTILES; j++) {
            fputc(',', f);
            sgfsi_export_number(f, q[k * SGFSI_QUANTILES + j]);
        }
    }
    if (slot->in.lacks[i] == SGFSI_LACKS_TARGET) fputs(",,", f);
    else if (p->rows.known) {
        double y = slot->in.y[i];
        fputc(',', f);
        if (named) sgfsi_export_cell(f, "", labels->name[sgfsi_labels_class(labels, y)], "");
        else sgfsi_export_number(f, y);
        fputc(',', f);
        sgfsi_export_number(f, slot->log_density[i]);
    }
    fputc('\n', f);
}

/* The draws of row i, before quantiles are looked for among them; NaN where it lacks values. */
static void put_draws(const sgfsi_predict *p, sgfsi_predictor *predictor, int64_t i, bool lacks,
                      FILE *f) {
    const double none = NAN;
    for (int64_t k = 0; k < p->width; k++) {
        for (int64_t s = 0, n; !lacks && s < p->draws; s += n) {
            const double *kept = sgfsi_predictor_kept(predictor, i, k, s, &n);
            sgfsi_npy_numbers(f, kept, n);
        }
        for (int64_t s = 0; lacks && s < p->draws; s++) sgfsi_npy_numbers(f, &none, 1);
    }
}

/* ---- the block ------------------------------------------------------------------------------- */

/* What all draws say of row i; false: something of it is not a number. */
static bool read_row(sgfsi_predict *p, sgfsi_predictor *predictor, sgfsi_predict_slot *slot,
                     int64_t i) {
    double *mean = slot->mean + i * p->width, *q = slot->q + i * p->width * SGFSI_QUANTILES;
    bool good = true;
    sgfsi_predictor_mean(predictor, i, mean);
    slot->pit[i] = p->rows.known && predictor->drawn ? sgfsi_predictor_pit(predictor, i) : NAN;
    sgfsi_predictor_quantiles(predictor, i, q);
    for (int64_t k = 0; k < p->width; k++) {
        good = good && !isnan(mean[k]) && !isnan(q[k * SGFSI_QUANTILES]) &&
               !isnan(q[(k + 1) * SGFSI_QUANTILES - 1]);
    }
    slot->log_density[i] = p->rows.known ? sgfsi_predictor_log_density(predictor, i) : NAN;
    bool scored = p->rows.known && slot->in.lacks[i] == SGFSI_LACKS_NOTHING;
    return slot->in.lacks[i] == SGFSI_LACKS_VALUES ||
           (good && !(scored && isnan(slot->log_density[i])));
}

sgfs_status sgfsi_predict_gather(sgfsi_predict *p, int64_t used, sgfs_status status,
                                 sgfs_err *err) {
    const int64_t bytes = p->each * (int64_t)sizeof *p->number;
    const sgfsi_share mine = sgfsi_comm_share(p->comm, used);
    double most = 0;
    for (int64_t k = mine.first; k < mine.end; k++) *p->slot[k].used = (double)p->slot[k].text.used;
    status = sgfsi_comm_gather(p->comm, status, used, bytes, bytes, p->number, err);
    for (int64_t k = 0; k < used && status == SGFS_OK; k++) most = fmax(most, *p->slot[k].used);
    if (status != SGFS_OK || !(most > 0)) return status;
    const int64_t room = (int64_t)most;
    char *text = malloc((size_t)(used * room));
    if (text == NULL) status = sgfsi_fail_memory(err, "lines of the output");
    for (int64_t k = mine.first; k < mine.end && status == SGFS_OK; k++)
        memcpy(text + k * room, p->slot[k].text.bytes, p->slot[k].text.used);
    status = sgfsi_comm_gather(p->comm, status, used, room, room, text, err);
    for (int64_t k = mine.end; k < used && status == SGFS_OK && p->comm->rank == 0; k++) {
        sgfsi_buffer *to = &p->slot[k].text;
        free(to->bytes);
        *to = (sgfsi_buffer){malloc((size_t)room), (size_t)*p->slot[k].used, room};
        if (to->bytes == NULL) status = sgfsi_fail_memory(err, "lines of the output");
        else memcpy(to->bytes, text + k * room, to->used);
    }
    free(text);
    return status;
}

void sgfsi_predict_block(sgfsi_predict *p, sgfsi_predictor *predictor, sgfsi_predict_slot *slot) {
    slot->status = SGFS_OK;
    sgfsi_predictor_begin(predictor, &slot->in.batch, slot->first);
    sgfsi_predictor_groups(predictor, slot->in.code, p->rows.groups.zero);
    for (int64_t s = 0; s < p->draws && slot->status == SGFS_OK; s += TOGETHER) {
        int64_t some = p->draws - s < TOGETHER ? p->draws - s : TOGETHER;
        if (sgfsi_job_stopping(&p->job)) return;
        slot->status = sgfsi_predictor_add(predictor, some, &p->draw[s], &slot->err);
    }
    if (slot->status == SGFS_OK) slot->status = sgfsi_predictor_finish(predictor, &slot->err);
    slot->text.used = 0;
    FILE *f = p->out != NULL ? sgfsi_io_memory(&slot->text) : NULL;
    if (slot->status == SGFS_OK && p->out != NULL && f == NULL)
        slot->status = sgfsi_fail_memory(&slot->err, "lines of the output");
    const char *key = p->rows.wanted.key != NULL ? slot->in.keys.bytes : NULL;
    for (int64_t i = 0; i < slot->in.batch.n && slot->status == SGFS_OK; i++) {
        const char *own = key;
        if (key != NULL) key += strlen(key) + 1;
        bool lacks = slot->in.lacks[i] == SGFSI_LACKS_VALUES;
        if (f != NULL && p->array) put_draws(p, predictor, i, lacks, f);
        if (read_row(p, predictor, slot, i)) {
            if (f != NULL && !p->array) put_line(p, slot, i, own, f);
            continue;
        }
        slot->status =
            sgfsi_fail(&slot->err, SGFS_ENUMERIC,
                       "%s: row %lld of the data: the prediction of at least one draw is not a "
                       "number. Do the draws make sense (sgfs summary), and does this row?",
                       sgfsi_newdata_shown(p->rows.rows), (long long)(slot->first + i + 1));
    }
    if (f == NULL) return;
    bool whole = !ferror(f);
    if ((fclose(f) != 0 || !whole) && slot->status == SGFS_OK)
        slot->status = sgfsi_fail_memory(&slot->err, "lines of the output");
}
