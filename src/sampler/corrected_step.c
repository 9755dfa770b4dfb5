/* SPDX-License-Identifier: MIT
 * corrected_step.c: its noise estimated, its size found, the step made.
 *
 * An iteration costs three triangular D x D operations beside the gradient; learning from a batch
 * one syrk of the differences, one combination and one Cholesky factorisation. Any structure of
 * sgfs_sym works: this file does not know which it has.
 */
#include "sampler/corrected_step.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* The average of S remembers at least this many batches in warm-up, rows for each parameter (the
 * largest eigenvalue of an average over r D rows is too large by about 2/sqrt(r)) and visits of
 * each row: one that alone knows a parameter is in few batches, and the average of what they say
 * must not be a matter of luck. It need not forget fast: the chain begins where it will stay. */
static const double batches_remembered = 200, rows_remembered = 400, visits_remembered = 16;
enum { SIGNS = 32 }; /* vectors that a trace is estimated by */

sgfs_status sgfsi_corrected_open(sgfsi_corrected *g, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_corrected_settings *set = sampler->settings;
    const sgfsi_fisher_settings *f = &sampler->plan->fisher;
    const sgfs_device *dev = sampler->model->ctx.device;
    const sgfsi_eval *e = &sampler->eval;
    g->scaled = strcmp(set->noise_matrix, "diag") == 0;
    g->given = !isnan(set->step);
    g->h = set->step;
    g->margin = sgfsi_noise_margin;
    const sgfs_fisher_kind *kind = g->scaled ? &sgfs_fisher_diag : sampler->fisher;
    if (!SGFSI_ROOM(sampler->arena, e->D, &g->z, &g->x, &g->tmp))
        return sgfsi_fail_memory(err, "the sampler");
    sgfs_status status = sgfsi_precision_open(&g->P, sampler, err);
    if (status == SGFS_OK)
        status =
            sgfsi_average_open(&g->I1, kind, dev, sampler->layout, e->n, f, sampler->arena, err);
    if (status == SGFS_OK)
        status = sgfsi_sym_open(&g->V, kind, dev, sampler->layout, sampler->arena, err);
    if (status == SGFS_OK && !g->scaled)
        status = sgfsi_sym_open(&g->R, sampler->fisher, dev, sampler->layout, sampler->arena, err);
    if (status == SGFS_OK && !g->scaled)
        status =
            sgfsi_sym_open(&g->next, sampler->fisher, dev, sampler->layout, sampler->arena, err);
    double rows =
        fmax(rows_remembered * (double)e->D, visits_remembered * (double)sampler->model->data->N);
    if (!sgfsi_config_given(sampler->plan->cfg, "fisher.window"))
        g->I1.window = fmax(batches_remembered, ceil(rows / (double)e->n));
    return status;
}

void sgfsi_corrected_fields(sgfsi_corrected *g, sgfsi_fields *list) {
    sgfsi_precision_fields(&g->P, list);
    sgfsi_average_fields(&g->I1, list, "I1");
    if (!g->scaled) sgfsi_sym_fields(&g->R, list, "R");
    SGFSI_FIELD_ONE(list, g, scale);
    SGFSI_FIELD_ONE(list, g, h);
    SGFSI_FIELD_ONE(list, g, margin);
    SGFSI_FIELD_ONE(list, g, ready);
    SGFSI_FIELD_ONE(list, g, noise);
    SGFSI_FIELD_ONE(list, g, measured);
    SGFSI_FIELD_ONE(list, g, missed);
}

/* ---- S --------------------------------------------------------------------------------------- */

/* S = q I1hat */
static double noise_factor(const sgfsi_eval *e) {
    return (e->gamma - 1) * e->total;
}

/* tr((L L')^-1 V)/D, without bias and in D^2 operations: r' L^-1 V L^-T r for signs r. Where only
 * the diagonal is known, the mean of V_jj/A_jj. */
static double mean_eigenvalue(sgfsi_corrected *g, const sgfs_sym *V) {
    const sgfs_sym *L = &g->P.L;
    if (g->scaled) {
        double sum = 0;
        V->kind->diag(V, g->x);
        g->P.A.kind->diag(&g->P.A, g->tmp);
        for (int64_t j = 0; j < L->D; j++) sum += g->x[j] / g->tmp[j];
        return sum / (double)L->D;
    }
    for (int64_t j = 0; j < L->D; j++) g->x[j] = g->z[j] < 0 ? -1 : 1;
    L->kind->solve(L, true, g->x);
    V->kind->mul(V, g->x, g->tmp);
    return sgfsi_dot(L->device, L->D, g->x, g->tmp) / (double)L->D;
}

void sgfsi_corrected_learn(sgfsi_corrected *g, const sgfsi_eval *e, bool warmup,
                           double kappa_noise) {
    sgfsi_average *a = &g->I1;
    double kappa = sgfsi_average_next(a, warmup);
    a->I1.kind->add_cov(&g->V, 0, sgfsi_average_weight(a, &e->scores, e->gbar, 1), &e->scores,
                        e->gbar, a->work);
    if (kappa >= 1) a->I1.kind->combine(&a->I1, 1, &g->V, 0, NULL);
    else a->I1.kind->combine(&a->I1, 1 - kappa, &a->I1, kappa, &g->V);
    if (kappa_noise <= 0) return;
    double now = noise_factor(e) * mean_eigenvalue(g, &g->V);
    g->noise = g->measured++ == 0 ? now : g->noise + kappa_noise * (now - g->noise);
}

void sgfsi_corrected_know(sgfsi_corrected *g, const sgfs_sampler *sampler, const double *cov) {
    double sum = 0;
    g->I1.I1.kind->from_dense(&g->I1.I1, cov);
    g->I1.updates = (int64_t)g->I1.window;
    g->I1.settled = 0;
    for (int i = 0; i < SIGNS; i++) {
        sgfsi_sampler_normals(sampler, SGFSI_PROBE_SIGNS + i, SGFSI_PROBE, g->z);
        sum += mean_eigenvalue(g, &g->I1.I1);
    }
    g->noise = noise_factor(&sampler->eval) * sum / SIGNS;
    g->measured = 1;
}

/* S_jj/A_jj, where only the diagonal is known. */
static void compare_diagonals(sgfsi_corrected *g, const sgfsi_eval *e) {
    g->mean = g->most = 0;
    g->I1.I1.kind->diag(&g->I1.I1, g->x);
    g->P.A.kind->diag(&g->P.A, g->tmp);
    for (int64_t j = 0; j < e->D; j++) {
        double ratio = noise_factor(e) * g->x[j] / g->tmp[j];
        g->mean += ratio / (double)e->D;
        g->most = fmax(g->most, ratio);
    }
}

/* ---- h and R --------------------------------------------------------------------------------- */

/* The next R, or with a margin one for more noise than there is. */
static bool try_factor(sgfsi_corrected *g, const sgfsi_eval *e, double h, double margin) {
    double S = (1 + margin) * h * h;
    if (g->scaled) return h * (2 - h) > S * g->most;
    const sgfs_fisher_kind *f = g->next.kind;
    f->combine(&g->next, h * (2 - h), &g->P.A, -S * noise_factor(e), &g->I1.I1);
    if (g->P.rho > 0) f->add_diag(&g->next, 2 * h * g->P.rho, NULL);
    return f->factor(&g->next) == 0;
}

/* The largest h <= most for which h (2-h) A - (1 + margin) h^2 S is positive definite; 0: none.
 * Halved until it is possible, then between that and twice as much, to one part in a hundred. */
static double largest_step(sgfsi_corrected *g, const sgfsi_eval *e, double most) {
    const double margin = g->margin;
    double h = most;
    if (g->scaled) compare_diagonals(g, e);
    if (try_factor(g, e, h, margin)) return h;
    for (int k = 0; k < 40; k++) {
        h /= 2;
        if (try_factor(g, e, h, margin)) break;
        if (k == 39) return 0;
    }
    for (double step = h / 2; step > h / 100; step /= 2) {
        if (try_factor(g, e, h + step, margin)) h += step;
    }
    return h;
}

bool sgfsi_corrected_factor(sgfsi_corrected *g, const sgfsi_eval *e) {
    if (g->scaled) compare_diagonals(g, e);
    if (!try_factor(g, e, g->h, 0)) return false;
    double h = g->h;
    if (!g->scaled) sgfsi_sym_swap(&g->R, &g->next);
    if (g->scaled) g->scale = sqrt(h * (2 - h) - h * h * g->mean);
    return g->ready = true;
}

sgfs_status sgfsi_corrected_settle(sgfsi_corrected *g, const sgfs_sampler *sampler,
                                   sgfs_status code, sgfs_err *err) {
    const sgfsi_eval *e = &sampler->eval;
    double stiff = g->P.stiff;
    if (g->given) {
        if (g->h * stiff < 2 && sgfsi_corrected_factor(g, e)) return SGFS_OK;
        double largest = largest_step(g, e, fmin(g->h, 0.95 * 2 / stiff));
        return sgfsi_fail(err, code,
                          "--step %.4g leaves no room for the noise of the gradient: the largest "
                          "that is possible with --batch %lld is about %.3g (a larger --batch "
                          "allows more)",
                          g->h, (long long)e->n, floor(largest * 1000) / 1000);
    }
    /* Less than the whole matrix needs more care: a fifth of the step at which its stiffest
     * direction would go all the way, so that no variance is off by more than a tenth. */
    g->h = largest_step(g, e, stiff > 1 ? 0.2 / stiff : 1);
    if (g->h > 0 && sgfsi_corrected_factor(g, e)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "the gradient's noise is not finite: no step is small enough");
}

sgfs_status sgfsi_corrected_renew(sgfsi_corrected *g, sgfs_sampler *sampler, sgfs_err *err) {
    if (!isnan(g->h) && sgfsi_corrected_factor(g, &sampler->eval)) {
        g->missed = 0;
        return SGFS_OK;
    }
    if (g->ready) sampler->interventions++;
    /* Updates without an R after which a given step is hopeless: half of all, for an outlier weighs
     * on an average that has no window any more for as long as it took to come by it. */
    int64_t half = g->I1.updates / 2, least = 10 * (int64_t)g->I1.window;
    int64_t patience = half > least ? half : least;
    if (g->ready && g->given && ++g->missed < patience) return SGFS_OK;
    return sgfsi_corrected_settle(g, sampler, SGFS_ENUMERIC, err);
}

/* ---- the step -------------------------------------------------------------------------------- */

void sgfsi_corrected_move(sgfsi_corrected *g, const double *G, double *theta) {
    const sgfs_sym *L = &g->P.L;
    int64_t D = L->D;
    if (!g->scaled) g->R.kind->mul_factor(&g->R, false, g->z);
    for (int64_t j = 0; j < D; j++) g->x[j] = g->h * G[j] + (g->scaled ? 0 : g->z[j]);
    if (g->scaled) {
        L->kind->solve(L, false, g->x);
        sgfsi_axpy(L->device, D, g->scale, g->z, g->x);
        L->kind->solve(L, true, g->x);
    } else {
        sgfsi_sym_solve(L, 0, NULL, g->x);
    }
    sgfsi_axpy(L->device, D, 1.0, g->x, theta);
}
