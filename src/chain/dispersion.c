/* SPDX-License-Identifier: MIT
 * dispersion.c: Pearson's statistic of a Poisson regression at the mean of its draws,
 *
 *     phi = sum_i (y_i - mu_i)^2/mu_i / (N - D),    1 where counts vary as Poisson counts do,
 *     var phi = sum_i (2 + 1/mu_i) / (N - D)^2
 *
 * (McCullagh and Nelder 1989, section 4.5). Where phi is 9 the posterior of this model is as it
 * should be, and a third as wide as what the rows are worth: "trust" speaks of the draws, and a
 * reader should hear of the model. Weights count as copies.
 */
#include "chain/dispersion.h"

#include <math.h>
#include <string.h>

#include "diagnostics/advice.h"

static const double much = 1.5, errors = 5; /* phi; and by how many of its standard errors */
enum { MOST_ROWS = 2000000, ENOUGH = 1 << 18, SUMS = 3, STRIP = 256 };

typedef struct counting {
    const sgfs_data *data;
    double *sums; /* parts x SUMS: phi's, its variance's, weights */
} counting;

static void add_rows(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    const counting *to = user;
    double y[STRIP], weight[STRIP], *sums = to->sums + part * SUMS;
    for (int64_t at = 0; at < s->n; at += STRIP) {
        int64_t n = s->n - at < STRIP ? s->n - at : STRIP;
        sgfsi_data_rows_range(to->data, first + at, n, NULL, y);
        sgfsi_data_weights(to->data, first + at, n, weight);
        for (int64_t i = 0; i < n; i++) {
            double residual = s->block[0].left[at + i], mu = y[i] - residual;
            if (!(weight[i] > 0) || !(mu > 0)) continue;
            sums[0] += weight[i] * residual * residual / mu;
            sums[1] += weight[i] * (2 + 1 / mu);
            sums[2] += weight[i];
        }
    }
}

static sgfs_status add_up(const sgfs_model *m, const double *theta, double *sums,
                          sgfsi_arena *arena, sgfs_err *err) {
    sgfsi_full full;
    double loglik, *G = SGFSI_DOUBLES(arena, m->D);
    sgfs_status status = sgfsi_full_open(&full, m, 0, false, arena, err);
    if (status != SGFS_OK) return status;
    full.stop = NULL; /* it belongs to the end of a run */
    counting to = {m->data, SGFSI_DOUBLES(arena, full.parts * SUMS)};
    const sgfsi_crop crop = {.number = to.sums, .width = SUMS};
    const sgfsi_harvest harvest = {add_rows, &to, &crop};
    if (G == NULL || to.sums == NULL) return sgfsi_fail_memory(err, "the counts");
    status = sgfsi_full_harvest(&full, theta, &harvest, &loglik, G, err);
    for (int64_t k = 0; k < full.parts * SUMS; k++) sums[k % SUMS] += to.sums[k];
    return status;
}

sgfs_status sgfsi_dispersion_tell(const sgfs_model *m, const double *theta, double *found,
                                  sgfs_err *err) {
    *found = 0;
    if (!m->kind->exposure || m->scales != NULL || m->data->elsewhere != NULL) return SGFS_OK;
    sgfsi_arena arena = {NULL};
    sgfs_err why = {SGFS_OK, ""};
    double sums[SUMS] = {0};
    sgfs_data *some = NULL;
    if (m->data->N > MOST_ROWS && m->data->weight == NULL)
        some = sgfsi_data_view_fair(m->data, ENOUGH, SGFSI_SAME_SCALE, &why);
    const sgfs_model part = sgfsi_model_on(m, some != NULL ? some : m->data);
    if (why.code == SGFS_OK) (void)add_up(some != NULL ? &part : m, theta, sums, &arena, &why);
    sgfsi_arena_free(&arena);
    sgfs_data_free(some);
    if (why.code != SGFS_OK) return sgfsi_fail_hard(&why, err);
    double free_rows = sums[2] - (double)m->D, phi = sums[0] / free_rows;
    if (!(free_rows > 0) || !(phi > much) || !(phi - 1 > errors * sqrt(sums[1]) / free_rows))
        return SGFS_OK;
    char text[SGFSI_DISPERSION_TEXT];
    *found = phi;
    sgfsi_dispersion_say(phi, text);
    sgfsi_say(sgfsi_config_log(m->cfg), SGFS_WARNING, "%s", text);
    return SGFS_OK;
}
