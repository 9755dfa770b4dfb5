/* SPDX-License-Identifier: MIT
 * sgfs_matrix.c: learns and factors the matrix of SGFS (sgfs_matrix.h has the formulas).
 *
 * Warm-up steps use the model's own Fisher information (scores of targets drawn from the model)
 * where the model can draw: far from the mode the covariance of the data's scores says nothing
 * about the curvature (a sigma too small by e^5 makes it too large by e^20: steps of size zero).
 * I1hat is averaged beside it, from the middle of warm-up on, and takes over for the draws.
 *
 * Two ways to a factor:
 *   refactor   I1hat <- (1-kappa) I1hat + kappa V, then a Cholesky factorisation: O(n D^2 + D^3)
 *   update     the factor itself goes from K to (1-kappa) K + kappa gamma N V: O(n D^2), for n < D.
 *              I1hat is then not kept up to date: it is what the factor says it is.
 *
 * Any structure of sgfs_sym works: this file does not know which it has.
 */
#include "sampler/sgfs_matrix.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/rng.h"

/* e right after a refresh, and what may be left of it (and of the ridge) before the next one: e
 * stays above 1.2. A direction without data moves by the factor 1 - 2/e: between 1/3 and -0.7. */
static const double SHARE_MOST = 3, LEAST_LEFT = 0.4, SHARE_FIXED = 2;

/* ---- options --------------------------------------------------------------------------------- */

sgfs_status sgfsi_sgfs_matrix_check(const sgfsi_plan *plan, const char *fisher, sgfs_err *err) {
    static const char *const of[][3] = {
        {"fisher.kappa_value", "kappa-value", "floor constant forget"},
        {"fisher.kappa_a", "kappa-a", "power"},
        {"fisher.kappa_b", "kappa-b", "power"},
        {"fisher.kappa_delta", "kappa-delta", "power"},
        {"fisher.window", "kappa-window", "window"}};
    const sgfs_config *cfg = plan->cfg;
    const char *kappa = plan->fisher.kappa;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        if (!sgfsi_config_given(cfg, of[i][0]) || strstr(of[i][2], kappa) != NULL) continue;
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s has no meaning with --kappa %s (only with: %s).",
                          of[i][1], kappa, of[i][2]);
    }
    if (sgfsi_config_given(cfg, "fisher.block_size") && strcmp(fisher, "block") != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--block-size needs --sampler sgfs-b (or --fisher block).");
    }
    return SGFS_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status open_average(const sgfs_sampler *sampler, sgfsi_average *a, sgfs_err *err) {
    return sgfsi_average_open(a, sampler->fisher, sampler->model->ctx.device, sampler->layout,
                              sampler->eval.n, &sampler->plan->fisher, sampler->arena, err);
}

static sgfs_status open_sym(const sgfs_sampler *sampler, const sgfs_fisher_kind *kind, sgfs_sym *A,
                            sgfs_err *err) {
    return sgfsi_sym_open(A, kind, sampler->model->ctx.device, sampler->layout, sampler->arena,
                          err);
}

static sgfs_status open_injected(sgfsi_injected *B, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_sgfs_settings *set = sampler->settings;
    const char *kind = set->b, *path = set->b_file;
    bool scaled = !isnan(set->b_scale);
    B->is_fisher = strcmp(kind, "fisher") == 0;
    B->identity = strcmp(kind, "identity") == 0;
    B->adapts = strcmp(kind, "diagonal") == 0 || (B->identity && !scaled);
    B->scale = scaled ? set->b_scale : 1;
    if (B->is_fisher) return SGFS_OK;
    if (!SGFSI_ROOM(sampler->arena, sampler->D, &B->diag, &B->root))
        return sgfsi_fail_memory(err, "the matrix B");
    for (int64_t j = 0; j < sampler->D; j++) {
        B->diag[j] = B->scale;
        B->root[j] = sqrt(B->scale);
    }
    if (strcmp(kind, "file") != 0) return SGFS_OK;
    sgfsi_matrix m;
    sgfs_status status = sgfsi_matrix_read(&m, path, sampler->D, sampler->arena, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; m.diagonal && j < sampler->D; j++) {
        if (!(m.a[j] > 0)) {
            return sgfsi_fail(err, SGFS_EDATA, "%s: B must be positive; number %lld is not.", path,
                              (long long)(j + 1));
        }
        B->diag[j] = B->scale * m.a[j];
        B->root[j] = sqrt(B->diag[j]);
    }
    if (m.diagonal) return SGFS_OK;
    B->diag = B->root = NULL;
    const sgfs_fisher_kind *f = sampler->fisher;
    if (f != &sgfs_fisher_full) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: a whole matrix B needs the whole Fisher matrix (--sampler sgfs-f); "
                          "with --fisher %s give its diagonal, %lld numbers.",
                          path, f->name, (long long)sampler->D);
    }
    status = open_sym(sampler, f, &B->full, err);
    if (status == SGFS_OK) status = open_sym(sampler, f, &B->full_root, err);
    if (status != SGFS_OK) return status;
    f->from_dense(&B->full, m.a);
    f->combine(&B->full, B->scale, &B->full, 0, NULL);
    f->combine(&B->full_root, 1, &B->full, 0, NULL);
    int64_t failed = f->factor(&B->full_root);
    if (failed == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA, "%s: B is not positive definite (at parameter \"%s\").",
                      path, sampler->model->param[failed - 1]);
}

sgfs_status sgfsi_sgfs_matrix_open(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_sgfs_settings *set = sampler->settings;
    const sgfsi_fisher_settings *f = &sampler->plan->fisher;
    const sgfsi_eval *e = &sampler->eval;
    k->ridge = f->ridge;
    k->turns = f->turns;
    k->fill = (int64_t)ceil(f->fill * (double)e->D / (double)e->n);
    k->by_model = e->model_y != NULL && strcmp(set->warmup_by, "model") == 0;
    k->updates = strcmp(f->update, "refactor") != 0;
    k->fades = k->updates || f->fade;
    if (set->prior_in_matrix) k->prior = sampler->model->precision;
    sgfs_status status = open_average(sampler, &k->scores, err);
    if (status == SGFS_OK && k->by_model) status = open_average(sampler, &k->model, err);
    if (status == SGFS_OK) status = open_injected(&k->B, sampler, err);
    if (status != SGFS_OK) return status;
    /* Woodbury: the same numbers, kept as their inverse */
    bool woodbury = strcmp(f->update, "woodbury") == 0;
    return open_sym(sampler, woodbury ? &sgfs_fisher_inverse : sampler->fisher, &k->L, err);
}

/* ---- factoring ------------------------------------------------------------------------------- */

static sgfsi_average *source_of(sgfsi_sgfs_matrix *k) {
    return k->source == SGFSI_FROM_MODEL ? &k->model : &k->scores;
}

/* gamma N I1hat + e Lambda, the ridge and alpha^2 B, factored; 0, or where that failed. ridge:
 * relative to the mean diagonal; NaN: what is left of the last one, which fades. */
static int64_t build(sgfsi_sgfs_matrix *k, const sgfs_sampler *sampler, double ridge,
                     double alpha) {
    const sgfsi_eval *e = &sampler->eval;
    const sgfs_fisher_kind *f = k->L.kind;
    sgfsi_injected *B = &k->B;
    f->combine(&k->L, e->gamma * e->total, &source_of(k)->I1, 0, NULL);
    if (k->prior != NULL) f->add_diag(&k->L, k->share, k->prior);
    if (!isnan(ridge)) {
        k->ridge_now = ridge > 0 ? ridge * f->trace(&k->L) / (double)e->D : 0;
        k->ridge_full = k->left > 0 ? k->ridge_now / k->left : k->ridge_now;
    }
    if (k->ridge_now > 0) f->add_diag(&k->L, k->ridge_now, NULL);
    k->alpha = alpha;
    k->shrink = 1;
    if (B->is_fisher) return f->factor(&k->L);
    double size = f->trace(&k->L), mean = size / (double)e->D;
    if (B->adapts) f->diag(&k->L, B->diag);
    for (int64_t j = 0; B->adapts && j < e->D; j++) { /* B follows K, which stands in L */
        B->diag[j] = B->scale * (B->identity ? mean : B->diag[j]);
        B->root[j] = sqrt(B->diag[j]);
    }
    if (B->diag != NULL) f->add_diag(&k->L, alpha * alpha, B->diag);
    else f->combine(&k->L, 1, &k->L, alpha * alpha, &B->full);
    k->shrink = size / f->trace(&k->L);
    return f->factor(&k->L);
}

static sgfs_status refactor(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, sgfsi_average *source,
                            bool faded, double alpha, sgfs_err *err) {
    k->source = source == &k->model ? SGFSI_FROM_MODEL : SGFSI_FROM_SCORES;
    int64_t failed = build(k, sampler, faded ? NAN : k->ridge, alpha);
    for (double more = 0; failed != 0 && sgfsi_sampler_ridge(sampler, &more);)
        failed = build(k, sampler, k->ridge + more, alpha);
    if (failed == 0) return SGFS_OK;
    k->source = SGFSI_FROM_NOTHING;
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "the Fisher matrix is not positive definite at parameter \"%s\" (a larger --batch, "
        "--prior-precision or --fisher-ridge would help)",
        sampler->model->param[failed - 1]);
}

/* After an update by kappa all of K has faded; true: prior and ridge are to be put back. */
static bool fade(sgfsi_sgfs_matrix *k, double kappa) {
    if (!k->fades) return false;
    k->left *= 1 - kappa;
    k->share = SHARE_MOST * k->left;
    k->ridge_now = k->ridge_full * k->left;
    return k->left < LEAST_LEFT;
}

void sgfsi_sgfs_matrix_restore(sgfsi_sgfs_matrix *k) {
    k->left = 1;
    k->share = k->fades ? SHARE_MOST : SHARE_FIXED;
}

/* A factor that has been updated knows what I1hat is: read it back, and begin anew from there. */
static sgfs_status refresh(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfs_fisher_kind *f = k->L.kind;
    sgfsi_average *a = source_of(k);
    f->unfactor(&k->L);
    if (k->prior != NULL) f->add_diag(&k->L, -k->share, k->prior);
    if (k->ridge_now > 0) f->add_diag(&k->L, -k->ridge_now, NULL);
    a->I1.kind->combine(&a->I1, 1 / (sampler->eval.gamma * sampler->eval.total), &k->L, 0, NULL);
    sgfsi_sgfs_matrix_restore(k);
    return refactor(k, sampler, a, false, k->alpha, err);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* One batch of scores changes the factor: K <- (1 - kappa) K + kappa gamma N V. */
static sgfs_status update(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const sgfs_scores *s,
                          const double *gbar, bool warmup, sgfs_err *err) {
    sgfsi_average *a = source_of(k);
    double kappa = sgfsi_average_next(a, warmup);
    double weight = sgfsi_average_weight(a, s, gbar, kappa), N = sampler->eval.total;
    if (kappa >= 1) { /* nothing of the factor is left: begin with this batch */
        a->I1.kind->add_cov(&a->I1, 0, weight, s, gbar, a->work);
        sgfsi_sgfs_matrix_restore(k);
        return refactor(k, sampler, a, false, k->alpha, err);
    }
    if (k->L.kind->update(&k->L, 1 - kappa, sampler->eval.gamma * N * weight, s, gbar, a->work) !=
        0)
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the update of the factor failed (--fisher-update refactor is slower and "
                          "stabler)");
    return fade(k, kappa) ? refresh(k, sampler, err) : SGFS_OK;
}

/* The batch at hand: when it was drawn; steps: the factor follows what is learned. */
typedef struct lesson {
    int64_t t;
    uint32_t purpose;
    bool warmup, steps;
    double alpha;
} lesson;

/* Into an average; the factor, where it is made of this one, is made anew. */
static sgfs_status take(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const lesson *l,
                        sgfsi_average *a, bool steps, sgfs_err *err) {
    bool own = a == &k->model;
    const sgfs_scores *s = own ? &sampler->eval.model_scores : &sampler->eval.scores;
    const double *gbar = own ? NULL : sampler->eval.gbar; /* the mean of the model's own is 0 */
    bool same = k->source == (own ? SGFSI_FROM_MODEL : SGFSI_FROM_SCORES);
    if (steps && k->updates && same) return update(k, sampler, s, gbar, l->warmup, err);
    sgfsi_average_update(a, s, gbar, l->warmup);
    if (!steps) return SGFS_OK;
    bool fresh = !same || !k->fades || fade(k, a->kappa);
    if (fresh) sgfsi_sgfs_matrix_restore(k);
    return refactor(k, sampler, a, !fresh, l->alpha, err);
}

/* The batch goes into I1hat (unless that will be begun anew), and in warm-up its rows with targets
 * from the model into that average; the factor follows the one that steps are made with. */
static sgfs_status learn(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const lesson *l,
                         const double *theta, sgfs_err *err) {
    bool by_model = l->warmup && k->by_model;
    sgfs_status status = SGFS_OK;
    if (!k->passing) status = take(k, sampler, l, &k->scores, l->steps && !by_model, err);
    if (status != SGFS_OK || !by_model) return status;
    status = sgfsi_eval_resample(&sampler->eval, l->t, l->purpose, theta, err);
    return status == SGFS_OK ? take(k, sampler, l, &k->model, l->steps, err) : status;
}

/* A matrix of too low rank would throw the chain. */
sgfs_status sgfsi_sgfs_matrix_fill(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const double *theta,
                                   double *G, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < k->fill && status == SGFS_OK; i++) {
        status = sgfsi_eval_gradient(&sampler->eval, i, SGFSI_FILL, theta, G, NULL, err);
        const lesson l = {.t = i, .purpose = SGFSI_FILL, .warmup = true};
        if (status == SGFS_OK) status = learn(k, sampler, &l, theta, err);
    }
    return status;
}

bool sgfsi_sgfs_matrix_due(const sgfsi_sgfs_matrix *k, const sgfs_iteration *now) {
    bool first = k->source == SGFSI_FROM_NOTHING || /* of all iterations, or after warm-up */
                 (now->t > now->warmup && k->source != SGFSI_FROM_SCORES);
    return first || sgfsi_turns_due(&k->turns, now);
}

/* What the way to the mode looked like is of no use there (unless warm-up has too few updates to
 * fill anew). */
void sgfsi_sgfs_matrix_pass_on(sgfsi_sgfs_matrix *k, const sgfs_iteration *now) {
    bool enough = now->warmup / 2 / k->turns.warmup_every > k->fill;
    if (k->by_model && enough && now->t == now->warmup / 2) sgfsi_average_restart(&k->scores);
    k->passing = k->by_model && enough && now->t < now->warmup / 2;
}

sgfs_status sgfsi_sgfs_matrix_renew(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler,
                                    const sgfs_iteration *now, double alpha, const double *theta,
                                    sgfs_err *err) {
    sgfsi_sgfs_matrix_pass_on(k, now);
    int64_t after = now->t - now->warmup;
    if (!sgfsi_sgfs_matrix_due(k, now)) {
        bool stale =
            !k->B.is_fisher && alpha != k->alpha && (after == 1 || after % k->turns.every == 0);
        return stale ? refactor(k, sampler, source_of(k), k->fades, alpha, err) : SGFS_OK;
    }
    const lesson l = {now->t, SGFSI_ROWS, now->t <= now->warmup, true, alpha};
    return learn(k, sampler, &l, theta, err);
}

void sgfsi_sgfs_matrix_fields(sgfsi_sgfs_matrix *k, sgfsi_fields *list) {
    sgfsi_average_fields(&k->scores, list, "scores");
    if (k->by_model) sgfsi_average_fields(&k->model, list, "model");
    sgfsi_sym_fields(&k->L, list, "L");
    SGFSI_FIELD_ONE(list, k, source);
    if (k->B.adapts) SGFSI_FIELD(list, "B.root", k->B.root, k->L.D);
    SGFSI_FIELD_ONE(list, k, share);
    SGFSI_FIELD_ONE(list, k, left);
    SGFSI_FIELD_ONE(list, k, ridge_now);
    SGFSI_FIELD_ONE(list, k, ridge_full);
    SGFSI_FIELD_ONE(list, k, shrink);
    SGFSI_FIELD_ONE(list, k, alpha);
}
