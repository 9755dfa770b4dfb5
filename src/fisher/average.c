/* SPDX-License-Identifier: MIT
 * average.c: the running average of the batches' covariances,
 *     I1hat <- (1 - kappa) I1hat + kappa V,   V = sum_i (g_i - gbar)(g_i - gbar)' / (n - 1)   (eq.
 * 12).
 *
 * kappa: the paper's 1/t from t = 1 keeps the huge scores of a poor start for ever. The default
 * forgets in warm-up (kappa = max(1/t, 1/window)) and then averages from there on (kappa =
 * 1/(window + t - t_warm)). Updates are counted, not iterations, so --fisher-every changes nothing
 * here.
 */
#include <string.h>

#include "fisher/fisher.h"

const sgfs_option sgfsi_average_options[] = {
    {"fisher.every", "fisher-every", SGFS_INTEGER, "auto", 1, 1e9, NULL,
     "update and factor the matrix every k-th draw (auto: 10 full, 1 diag)"},
    {"fisher.kappa", "kappa", SGFS_CHOICE, "window", 1, 0, "window|harmonic",
     "weight of a new batch: forget in warm-up, then average; or 1/t throughout"},
    {"fisher.window", "kappa-window", SGFS_NUMBER, "50", 1, 1e9, NULL,
     "how many batches the warm-up's average remembers"},
    {"fisher.divisor", "fisher-divisor", SGFS_CHOICE, "n-1", 1, 0, "n-1|n",
     "divisor of a batch's covariance"},
    {"fisher.block_size", "block-size", SGFS_INTEGER, "auto", 1, 1e9, NULL,
     "parameters in each block of --fisher block (auto: the model's own blocks)"},
    {"fisher.ridge", "fisher-ridge", SGFS_NUMBER, "0", 0, 1, NULL,
     "add this fraction of its mean diagonal to the matrix"},
    {"fisher.fill", "fisher-fill", SGFS_NUMBER, "3", 0, 1e6, NULL,
     "before the first move, average over batches until rows >= this times D"},
    SGFSI_OPTIONS_END};

sgfs_status sgfsi_average_open(sgfsi_average *a, const sgfs_fisher_kind *kind,
                               const sgfs_backend *be, const sgfs_layout *layout, int64_t n,
                               const sgfs_config *cfg, sgfsi_arena *arena, sgfs_err *err) {
    sgfs_status status = sgfsi_sym_open(&a->I1, kind, be, layout, arena, err);
    if (status != SGFS_OK) return status;
    a->work = SGFSI_DOUBLES(arena, kind->work(layout, n));
    if (a->work == NULL)
        return sgfsi_fail_memory(err, "the scores of a batch (a smaller --batch helps)");
    a->harmonic = strcmp(sgfsi_config_text(cfg, "fisher.kappa"), "harmonic") == 0;
    a->divide_by_n = strcmp(sgfsi_config_text(cfg, "fisher.divisor"), "n") == 0;
    a->window = sgfsi_config_num(cfg, "fisher.window");
    return SGFS_OK;
}

static double next_kappa(sgfsi_average *a, bool warmup) {
    double t = (double)++a->updates;
    if (a->harmonic) return 1 / t;
    if (warmup) return t < a->window ? 1 / t : 1 / a->window;
    double known = t - 1 < a->window ? t - 1 : a->window; /* a warm-up shorter than the window */
    if (a->settled == 0) a->base = known;
    return 1 / (a->base + (double)++a->settled);
}

void sgfsi_average_update(sgfsi_average *a, const sgfs_scores *s, const double *gbar, bool warmup) {
    double kappa = next_kappa(a, warmup);
    bool whole = a->divide_by_n || gbar == NULL; /* nothing was estimated */
    double divisor = (double)(whole ? s->n : s->n - 1);
    a->I1.kind->add_cov(&a->I1, 1 - kappa, kappa / divisor, s, gbar, a->work);
}

void sgfsi_average_restart(sgfsi_average *a) {
    a->updates = a->settled = 0;
}
