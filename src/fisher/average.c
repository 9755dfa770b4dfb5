/* SPDX-License-Identifier: MIT
 * average.c: the running average of the batches' covariances,
 *     I1hat <- (1 - kappa) I1hat + kappa V,   V = sum_i (g_i - gbar)(g_i - gbar)' / (n - 1)   (eq.
 * 12).
 *
 * kappa: the paper's 1/t from t = 1 keeps the huge scores of a poor start for ever. The default
 * forgets in warm-up (kappa = max(1/t, 1/window)) and then averages from there on (kappa =
 * 1/(window + t - t_warm)); kappa.c has this and the other schedules. Updates are counted, not
 * iterations, so --fisher-every and --warmup-fisher-every change nothing here.
 *
 * The three parts of an update can be had one by one, for a caller who keeps a factor and changes
 * it by the same batch: kappa = next(), weight(kappa), and then `add_cov` or `update`.
 */
#include <string.h>

#include "fisher/fisher.h"

const sgfs_option sgfsi_average_options[] = {
    {"fisher.every", "fisher-every", SGFS_INTEGER, "auto", 1, 1e9, NULL,
     "update and factor the matrix every k-th draw (auto: 10; 1 for diag)"},
    {"fisher.warmup_every", "warmup-fisher-every", SGFS_INTEGER, "1", 1, 1e9, NULL,
     "the same in warm-up, where the matrix is learned: every k-th iteration"},
    {"fisher.kappa", "kappa", SGFS_CHOICE, "window", 1, 0,
     "window|harmonic|floor|constant|power|forget",
     "weight of a new batch; window: forget in warm-up, then average"},
    {"fisher.kappa_value", "kappa-value", SGFS_NUMBER, "0.02", 1e-12, 1, NULL,
     "c of --kappa floor, constant and forget"},
    {"fisher.kappa_a", "kappa-a", SGFS_NUMBER, "1", 1e-12, 1e12, NULL, "a of --kappa power"},
    {"fisher.kappa_b", "kappa-b", SGFS_NUMBER, "0", 0, 1e12, NULL, "b of --kappa power"},
    {"fisher.kappa_delta", "kappa-delta", SGFS_NUMBER, "0.6", 0, 1, NULL,
     "delta of --kappa power (1: nearly a plain mean; less: forgets the start sooner)"},
    {"fisher.window", "kappa-window", SGFS_NUMBER, "50", 1, 1e9, NULL,
     "how many batches the warm-up's average remembers"},
    {"fisher.divisor", "fisher-divisor", SGFS_CHOICE, "n-1", 1, 0, "n-1|n",
     "divisor of a batch's covariance"},
    {"fisher.freeze", "fisher-freeze", SGFS_INTEGER, "auto", 0, 1e15, NULL,
     "no update after this many iterations that follow warm-up (auto: never frozen)"},
    {"fisher.update", "fisher-update", SGFS_CHOICE, "auto", 1, 0, "auto|refactor|cholesky|woodbury",
     "factor the matrix anew, or change its factor by the batch's rows (auto: the faster)"},
    {"fisher.fade", "fisher-fade", SGFS_FLAG, "false", 1, 0, NULL,
     "let the prior's share of the matrix fade, as updates do, also when refactoring"},
    {"fisher.block_size", "block-size", SGFS_INTEGER, "auto", 1, 1e9, NULL,
     "parameters in each block of --fisher block (auto: the model's own blocks)"},
    {"fisher.ridge", "fisher-ridge", SGFS_NUMBER, "auto", 0, 1, NULL,
     "add this part of its mean diagonal (auto: 0; 1e-3 for networks and rare labels)"},
    {"fisher.fill", "fisher-fill", SGFS_NUMBER, "3", 0, 1e6, NULL,
     "before the first move, average over batches until rows >= this times D"},
    SGFSI_OPTIONS_END};

#define AT(field) offsetof(sgfsi_fisher_settings, field)
const sgfsi_setting sgfsi_fisher_setting_list[] = {
    {"fisher.every", AT(turns.every), NULL, false},
    {"fisher.warmup_every", AT(turns.warmup_every), NULL, false},
    {"fisher.block_size", AT(block_size), "blocks of", false},
    {"fisher.kappa", AT(kappa), "kappa", false},
    {"fisher.kappa_value", AT(kappa_value), NULL, false},
    {"fisher.kappa_a", AT(kappa_a), NULL, false},
    {"fisher.kappa_b", AT(kappa_b), NULL, false},
    {"fisher.kappa_delta", AT(kappa_delta), NULL, false},
    {"fisher.window", AT(window), NULL, false},
    {"fisher.divisor", AT(divisor), NULL, false},
    {"fisher.freeze", AT(turns.freeze), "frozen after", false},
    {"fisher.update", AT(update), "updated by", false},
    {"fisher.fade", AT(fade), NULL, false},
    {"fisher.ridge", AT(ridge), NULL, false},
    {"fisher.fill", AT(fill), NULL, false},
    SGFSI_SETTINGS_END};

bool sgfsi_turns_due(const sgfsi_turns *turns, const sgfs_iteration *now) {
    int64_t after = now->t - now->warmup;
    if (after <= 0) return now->t % turns->warmup_every == 0;
    if (turns->freeze >= 0 && after > turns->freeze) return false;
    return after == 1 || after % turns->every == 0;
}

sgfs_status sgfsi_average_open(sgfsi_average *a, const sgfs_fisher_kind *kind,
                               const sgfs_device *dev, const sgfs_layout *layout, int64_t n,
                               const sgfsi_fisher_settings *set, sgfsi_arena *arena,
                               sgfs_err *err) {
    sgfs_status status = sgfsi_sym_open(&a->I1, kind, dev, layout, arena, err);
    if (status != SGFS_OK) return status;
    a->work = kind->host ? SGFSI_DOUBLES(arena, kind->work(layout, n))
                         : sgfsi_device_room(dev, kind->work(layout, n), arena);
    if (a->work == NULL)
        return sgfsi_fail_memory(err, "the scores of a batch (a smaller --batch helps)");
    a->schedule = sgfsi_kappa_find(set->kappa);
    a->value = set->kappa_value;
    a->a = set->kappa_a;
    a->b = set->kappa_b;
    a->delta = set->kappa_delta;
    a->divide_by_n = strcmp(set->divisor, "n") == 0;
    a->window = set->window;
    return SGFS_OK;
}

void sgfsi_average_fields(sgfsi_average *a, sgfsi_fields *list, const char *name) {
    sgfsi_fields_enter(list, name);
    sgfsi_sym_fields(&a->I1, list, "I1");
    SGFSI_FIELD_ONE(list, a, updates);
    SGFSI_FIELD_ONE(list, a, settled);
    SGFSI_FIELD_ONE(list, a, base);
    sgfsi_fields_leave(list);
}

double sgfsi_average_next(sgfsi_average *a, bool warmup) {
    a->updates++;
    return a->kappa = a->schedule(a, warmup);
}

double sgfsi_average_weight(const sgfsi_average *a, const sgfs_scores *s, const double *gbar,
                            double kappa) {
    bool whole = a->divide_by_n || gbar == NULL; /* nothing was estimated */
    return kappa / (double)(whole ? s->n : s->n - 1);
}

void sgfsi_average_update(sgfsi_average *a, const sgfs_scores *s, const double *gbar, bool warmup) {
    double kappa = sgfsi_average_next(a, warmup), weight = sgfsi_average_weight(a, s, gbar, kappa);
    a->I1.kind->add_cov(&a->I1, 1 - kappa, weight, s, gbar, a->work);
}

void sgfsi_average_restart(sgfsi_average *a) {
    a->updates = a->settled = 0;
}
