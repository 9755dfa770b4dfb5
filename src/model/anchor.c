/* SPDX-License-Identifier: MIT
 * anchor.c: finds the anchor (anchor.h).
 *
 * The pilot has m = max(20,000, 100 D, N/100) rows, a million at most: its mode is about
 * sqrt(N/m) posterior standard deviations from that of all rows, and a Newton step from there leaves
 * about (N/m)/sqrt(N) of one. Two or three passes are enough at any N; a warm-up by SGFS would take
 * about ten to come as close (docs/beyond.md).
 */
#include "model/anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticker.h"
#include "model/mode.h"
#include "model/prior.h"

const char *sgfsi_anchor_refuses(const sgfs_model *m) {
    if (m->kind->curvature == NULL) return "the model cannot say its information matrix";
    if (!m->kind->one_mode) return "the posterior may have many modes";
    if (!sgfsi_prior_is_smooth(m)) return "the prior has a kink where the mode may lie";
    if (m->D > SGFSI_MOST_DENSE) return "there are too many parameters for a full matrix";
    return NULL;
}

/* ---- the pilot ------------------------------------------------------------------------------- */

static int64_t pilot_rows(int64_t N, int64_t D) {
    double m = fmin(fmax(fmax(20000, 100 * (double)D), (double)N / 100), 1e6);
    return (double)N > 4 * m ? (int64_t)m : 0;
}

/* The same model, silent, on rows that are a fair sample; NULL: cannot be had. */
static sgfs_model *smaller(const sgfs_model *m, int64_t n, sgfs_data **data) {
    int64_t *row = malloc((size_t)n * sizeof *row);
    sgfs_config *silent = sgfsi_config_copy(m->cfg);
    sgfs_model *small = NULL;
    if (row != NULL && silent != NULL) {
        sgfs_config_on_message(silent, NULL, NULL);
        sgfsi_data_fair(m->data, n, row);
        *data = sgfsi_data_view(m->data, row, n, NULL);
        if (*data != NULL) small = sgfsi_model_reopen(m->kind, *data, silent, m->extra, NULL);
    }
    free(row);
    sgfs_config_free(silent);
    return small;
}

/* theta: the pilot's mode; false: there was none to be found, and the search begins far away. */
static bool fly_pilot(const sgfs_model *m, int64_t n, int64_t threads, double *theta,
                      int64_t *rows) {
    sgfs_data *data = NULL;
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode;
    const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 0.1, .threads = threads};
    sgfs_model *small = smaller(m, n, &data);
    bool found = small != NULL && sgfsi_mode_search(small, &plan, &arena, &mode, NULL) == SGFS_OK;
    if (found) {
        memcpy(theta, mode.theta, (size_t)m->D * sizeof *theta);
        *rows += mode.rows;
    }
    sgfsi_arena_free(&arena);
    sgfs_model_free(small);
    sgfs_data_free(data);
    return found;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* info = L L' less the prior's curvature, both triangles. */
static void unfold(const sgfs_model *m, sgfsi_anchor *a) {
    int64_t D = m->D;
    memset(a->info, 0, (size_t)(D * D) * sizeof *a->info);
    sgfsi_prior_add_curvature(m, a->theta, a->info);
    for (int64_t i = 0; i < D; i++) {
        double prior = a->info[i * D + i];
        for (int64_t j = 0; j <= i; j++) {
            a->info[i * D + j] = a->info[j * D + i] = m->be->dot(j + 1, a->L + i * D, a->L + j * D);
        }
        a->info[i * D + i] -= prior;
    }
}

static sgfs_status take(sgfsi_anchor *a, const sgfs_model *m, const sgfsi_mode *mode,
                        sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D;
    a->theta = mode->theta;
    a->G_post = mode->G;
    a->L = mode->L;
    a->lp = mode->lp;
    a->distance = mode->distance;
    a->passes = mode->passes;
    a->rows += mode->rows;
    a->G = SGFSI_DOUBLES(arena, D);
    a->info = SGFSI_DOUBLES(arena, D * D);
    if (a->G == NULL || a->info == NULL) return sgfsi_fail_memory(err, "the anchor");
    double prior = 0; /* G holds the prior's gradient for a moment */
    sgfs_status status = sgfsi_prior_add(m, a->theta, &prior, a->G, err);
    for (int64_t j = 0; j < D; j++) a->G[j] = a->G_post[j] - a->G[j];
    a->loglik = a->lp - prior;
    unfold(m, a);
    return status;
}

sgfs_status sgfsi_anchor_find(sgfsi_anchor *a, const sgfs_model *m, const sgfs_config *cfg,
                              int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    double before = sgfsi_now(), *start = SGFSI_DOUBLES(arena, m->D);
    int64_t n = pilot_rows(m->data->N, m->D);
    const char *why = sgfsi_anchor_refuses(m);
    sgfsi_mode mode;
    *a = (sgfsi_anchor){.pilot = 0};
    if (start == NULL) return sgfsi_fail_memory(err, "the anchor");
    if (why != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Model %s has no anchor here: %s. --sampler sgfs-f or sgfs-d need none.",
                          m->kind->name, why);
    }
    if (n > 0 && fly_pilot(m, n, threads, start, &a->rows)) a->pilot = n;
    const sgfsi_mode_plan plan = {.method = "fisher",
                                  .tolerance = sgfsi_config_num(cfg, "sampler.anchor_tolerance"),
                                  .threads = threads,
                                  .start = a->pilot > 0 ? start : NULL};
    sgfs_status status = sgfsi_mode_search(m, &plan, arena, &mode, err);
    if (status == SGFS_OK) status = take(a, m, &mode, arena, err);
    a->seconds = sgfsi_now() - before;
    return status;
}

sgfsi_control sgfsi_anchor_control(const sgfsi_anchor *a) {
    return (sgfsi_control){.theta = a->theta, .G = a->G, .loglik = a->loglik};
}

sgfs_expansion sgfsi_anchor_expansion(const sgfsi_anchor *a) {
    return (sgfs_expansion){.theta = a->theta, .G = a->G, .info = a->info};
}
