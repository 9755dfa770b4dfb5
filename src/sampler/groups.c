/* SPDX-License-Identifier: MIT
 * groups.c: draws of coefficients, of effects that vary between groups and of how much they vary,
 * from the posterior itself (docs/groups.md).
 *
 * Given coefficients and scales the groups of a term are independent: each accepts or rejects for
 * itself, and all are asked in one pass. With the notation of mixed.h, a group's frame is
 *
 *     v_g = m_g(beta, scales) + K_g^-T z_g,     m, K from the quadratic approximation at an anchor
 *
 * and an iteration makes, for each term in turn, moves that each leave the posterior as it is:
 *
 *     groups   z' ~ N(0, I) for each group; pairs +-z as in exact_pairs.c, accepted one by one;
 *              every eighth iteration a random walk, which comes home from any distance
 *     beta     with z fixed, so that all effects follow: pairs around the mean of beta with the
 *              effects of the term integrated out, z' = rho z + sqrt(1 - rho^2) xi, rho in turn
 *              0 and another; the centre is moved by a shift that is learned in warm-up
 *     scales   two of them with z fixed (Jacobian sum log diag K), a random walk whose step is
 *              learned in warm-up, and in a linear model sd and sigma together; then all of them
 *              with the effects fixed, by slice sampling, which needs sum u u' and no rows
 *     singles  in place of beta where most groups of a logistic model have one row
 *              (groups_singles.c)
 *     means    the sum of an effect, which its coefficient makes up for; no rows either
 *
 * and in a linear model log sigma by slice sampling, which needs the sum of squares.
 */
#include "sampler/groups.h"
#include "base/moments.h"

#include <stdio.h>

enum { LP, ACCEPT, ACCEPT_GROUPS, ACCEPT_SCALES, STATS };
enum { REFRESH = 50, MOST_SHAPE = SGFSI_MOST_SHAPE, MANY_ROWS = 100000 };

/* ---- an iteration ---------------------------------------------------------------------------- */

/* Around the anchor, further than the posterior is wide. */
static sgfs_status begin(sgfsi_groups_chain *e, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    sgfsi_stream stream = sgfsi_group_stream_of(e, 0, SGFSI_START);
    double xi[MOST_SHAPE + 1];
    sgfs_status status = sgfsi_mixed_refresh(&e->at, err);
    if (status != SGFS_OK) return status;
    sgfsi_mixed_centres(&e->at, 0);
    status = sgfsi_mixed_fixed(&e->at, 0, e->L, e->centre, err);
    if (status != SGFS_OK) return status;
    sgfsi_normals(&stream, m->p, e->d[0]);
    sgfsi_trsv(m->fixed.ctx.near, m->p, e->L, true, e->d[0]);
    for (int64_t j = 0; j < m->p; j++) e->at.theta[j] = e->centre[j] + 1.5 * e->d[0][j];
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_term_scales *t = m->term[k].scales;
        sgfsi_normals(&stream, 2 * ((t->count + 1) / 2), xi);
        for (int64_t j = 0; j < t->count; j++) e->at.term[k].shape[j] += 0.3 * xi[j];
        sgfsi_mixed_factor(m, k, e->at.term[k].shape, e->at.term[k].C);
    }
    e->begun = true;
    status = sgfsi_mixed_refresh(&e->at, err);
    for (int64_t k = 0; k < m->terms && status == SGFS_OK; k++) {
        /* Effects to where the data have them, from there: far out an independent proposal is never
         * accepted. */
        const sgfsi_mixed_effects *f = &e->at.term[k];
        int64_t q = m->term[k].q;
        sgfsi_mixed_centres(&e->at, k);
        for (int64_t g = 0; g < m->term[k].G; g++) {
            sgfsi_normals(&stream, 2 * ((q + 1) / 2), xi);
            sgfsi_group_solve_up(q, f->K + g * q * q, xi);
            for (int64_t j = 0; j < q; j++) f->v[g * q + j] = f->m[g * q + j] + xi[j];
        }
        status = sgfsi_mixed_refresh(&e->at, err);
    }
    return status;
}

/* Means and squares of the effects, as they stand after warm-up. */
static void keep_effects(sgfsi_groups_chain *e) {
    const sgfsi_mixed *m = e->mixed;
    e->kept++;
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        for (int64_t g = 0; g < t->G; g++) {
            double u[SGFSI_MOST_EFFECTS];
            sgfsi_group_multiply(t->q, e->at.term[k].C, e->at.term[k].v + g * t->q, u);
            for (int64_t j = 0; j < t->q; j++) {
                int64_t i = g * t->q + j;
                sgfsi_moments_add(1, 1 / e->kept, u[j], &e->mean[k][i], &e->square[k][i]);
            }
        }
    }
}

static sgfs_status log_posterior(const sgfsi_groups_chain *e, double *lp, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    *lp = e->at.loglik;
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        const sgfsi_mixed_effects *f = &e->at.term[k];
        *lp += sgfsi_mixed_scales_prior(m, k, f->shape) -
               0.5 * sgfsi_group_square_of(t->G * t->q, f->v);
        for (int64_t j = 0; j < t->q; j++) *lp -= (double)t->G * log(f->C[j * t->q + j]);
    }
    return sgfsi_mixed_prior(m, e->at.theta, lp, err);
}

/* accepted: of coefficients, groups, scales. */
static sgfs_status move_term(sgfsi_groups_chain *e, bool warming, double accepted[3],
                             sgfs_err *err) {
    e->a = sgfsi_mixed_ratio(&e->at);
    sgfsi_groups_move(e, &accepted[1]);
    accepted[0] = 0;
    sgfs_status status = e->singles[e->k] ? sgfsi_groups_move_singles(e, warming, &accepted[0], err)
                                          : sgfsi_groups_move_beta(e, warming, &accepted[0], err);
    if (status == SGFS_OK) sgfsi_groups_move_scales(e, warming, &accepted[2]);
    return status;
}

static sgfs_status step(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err) {
    sgfsi_groups_chain *e = s->state;
    const sgfsi_mixed *m = e->mixed;
    bool warming = now->t <= now->warmup;
    double accepted[3] = {0};
    e->t = now->t;
    /* Of the shift: it forgets where the chain began, and is an average from there on. */
    double late = (double)now->t - 0.6 * (double)now->warmup;
    e->share = late <= 0 ? fmax(0.1, 1 / (double)(1 + now->t)) : 1 / (10 + late);
    sgfs_status status = SGFS_OK;
    if (!e->begun) status = begin(e, err);
    else if (now->t % REFRESH == 0) status = sgfsi_mixed_refresh(&e->at, err);
    stats[ACCEPT] = 0;
    for (e->k = 0; e->k < m->terms && status == SGFS_OK; e->k++) {
        double share[3] = {1, 1, 0};
        status = e->gaussian ? sgfsi_groups_move_gaussian(e, warming, &share[2], err)
                             : move_term(e, warming, share, err);
        if (status != SGFS_OK) return status;
        for (int i = 0; i < 3; i++) accepted[i] += share[i] / (double)m->terms;
        sgfsi_groups_slice_scales(e);
        sgfsi_groups_slice_means(e);
    }
    if (status != SGFS_OK) return status;
    if (m->sigma) sgfsi_groups_slice_sigma(e);
    if (!isfinite(e->at.loglik))
        return sgfsi_fail(err, SGFS_ENUMERIC, "the log likelihood is not finite (diverged)");
    if (warming) e->learned++;
    else keep_effects(e);
    if (now->want_lp) sgfsi_groups_keep(e);
    s->full.rows_touched += m->N;
    memcpy(theta, e->at.theta, (size_t)m->base * sizeof *theta);
    for (int64_t k = 0; k < m->terms; k++) sgfsi_mixed_put(m, k, e->at.term[k].shape, theta);
    stats[ACCEPT] = accepted[0];
    stats[ACCEPT_GROUPS] = accepted[1];
    stats[ACCEPT_SCALES] = accepted[2];
    return log_posterior(e, &stats[LP], err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status plan_groups(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    bool many = now->model->data->N > MANY_ROWS;      /* the run goes on where that is not enough */
    bool quick = sgfsi_mixed_is_gaussian(now->model); /* scales alone have to be found */
    if (many) sgfsi_plan_lengths(plan, quick ? 100 : 200, quick ? 160 : 300, NAN);
    else sgfsi_plan_lengths(plan, 500, 1000, NAN);
    return sgfsi_plan_refuse_start(plan, false, "chains begin around an anchor of their own", err);
}

/* At the anchor: where the coefficients that rows know without effects lie; and a long step. */
static void begin_singles(sgfsi_groups_chain *e, int64_t k) {
    const sgfsi_mixed *m = e->mixed;
    double R = sgfsi_groups_attenuation(m->shape[k][0]);
    for (int64_t j = 0; j < m->p; j++) e->shift[k * m->p + j] = m->theta[j] / R;
    e->step[k * SGFSI_GROUP_STEPS + SGFSI_RIDGE_STEP] = 0;
}

static sgfs_status open_groups(sgfs_sampler *s, sgfs_err *err) {
    sgfsi_groups_chain *e = s->state = sgfsi_arena_alloc(s->arena, 1, sizeof *e);
    sgfs_status status = SGFS_OK;
    if (e == NULL) return sgfsi_fail_memory(err, "the sampler");
    const sgfsi_groups_chain *first = s->first != NULL ? s->first->state : NULL;
    e->sampler = s;
    if (first == NULL) status = sgfsi_mixed_open(&e->own, s->model, s->arena, err);
    e->mixed = first != NULL ? first->mixed : &e->own;
    const sgfsi_mixed *m = e->mixed;
    if (status == SGFS_OK)
        status = sgfsi_mixed_place_open(&e->at, m, s->plan->inner, s->arena, err);
    if (status == SGFS_OK && first == NULL) status = sgfsi_mixed_anchor(&e->own, &e->at, err);
    if (status != SGFS_OK) return status;
    bool made = SGFSI_ROOM(s->arena, m->terms * m->p, &e->shift) &&
                SGFSI_ROOM(s->arena, m->terms * SGFSI_GROUP_STEPS, &e->step) &&
                SGFSI_ROOM(s->arena, m->p * m->p + m->p, &e->L) &&
                SGFSI_ROOM(s->arena, m->p * m->p + m->p + 1, &e->sums) &&
                SGFSI_ROOM(s->arena, m->p + m->base, &e->centre) &&
                SGFSI_ROOM(s->arena, m->p, &e->d[0], &e->d[1]);
    for (int64_t k = 0; k < m->terms && made; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        made = SGFSI_ROOM(s->arena, t->G * t->q, &e->mean[k], &e->square[k]);
        for (int64_t j = 0; j < SGFSI_GROUP_STEPS; j++)
            e->step[k * SGFSI_GROUP_STEPS + j] = log(1.5 / sqrt(1 + 0.5 * (double)t->G));
        e->singles[k] = made && sgfsi_groups_has_singles(m, k);
        if (e->singles[k]) begin_singles(e, k);
        if (first == NULL || !made) continue;
        const sgfsi_mixed_effects *from = &first->at.term[k];
        memcpy(e->at.term[k].shape, from->shape, (size_t)t->scales->count * sizeof(double));
        memcpy(e->at.term[k].C, from->C, (size_t)(t->q * t->q) * sizeof(double));
        memcpy(e->at.term[k].v, from->v, (size_t)(t->G * t->q) * sizeof(double));
    }
    if (!made) return sgfsi_fail_memory(err, "the sampler");
    e->gaussian = sgfsi_mixed_is_gaussian(&m->fixed);
    status = sgfsi_groups_keep_open(e, err);
    if (status != SGFS_OK) return status;
    if (first != NULL) {
        memcpy(e->at.theta, m->theta, (size_t)m->base * sizeof *m->theta);
        return SGFS_OK;
    }
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, m, rounds, passes);
    sgfsi_json_put(s->report, "groups", o);
    s->full.rows_touched += m->passes * m->N;
    return SGFS_OK;
}

static void fields(const sgfs_sampler *s, sgfsi_fields *list) {
    sgfsi_groups_chain *e = s->state;
    const sgfsi_mixed *m = e->mixed;
    SGFSI_FIELD_ONE(list, e, begun);
    SGFSI_FIELD_ONE(list, e, learned);
    SGFSI_FIELD_ONE(list, e, kept);
    SGFSI_FIELD_ARRAY(list, e, shift, m->terms * m->p);
    SGFSI_FIELD_ARRAY(list, e, step, m->terms * SGFSI_GROUP_STEPS);
    SGFSI_FIELD(list, "theta", e->at.theta, m->base);
    SGFSI_FIELD(list, "eta", e->at.eta, m->N);
    SGFSI_FIELD(list, "loglik", &e->at.loglik, 1);
    for (int64_t k = 0; k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        const sgfsi_mixed_effects *f = &e->at.term[k];
        char name[16];
        snprintf(name, sizeof name, "term%d", (int)k);
        sgfsi_fields_enter(list, name);
        SGFSI_FIELD(list, "shape", f->shape, t->scales->count);
        SGFSI_FIELD(list, "C", f->C, t->q * t->q);
        SGFSI_FIELD(list, "v", f->v, t->G * t->q);
        SGFSI_FIELD(list, "mean", e->mean[k], t->G * t->q);
        SGFSI_FIELD(list, "square", e->square[k], t->G * t->q);
        sgfsi_fields_leave(list);
    }
    sgfsi_groups_keep_fields(e, list);
}

static const char *const stats[] = {[LP] = SGFSI_STAT_LP,
                                    [ACCEPT] = SGFSI_STAT_ACCEPT,
                                    [ACCEPT_GROUPS] = SGFSI_STAT_ACCEPT_GROUPS,
                                    [ACCEPT_SCALES] = SGFSI_STAT_ACCEPT_SCALES,
                                    [STATS] = NULL};

static const sgfs_option options[] = {
    SGFSI_SCALES_ROWS,
    {"sampler.keep_groups", "keep-groups", SGFS_INTEGER, "auto", 0, 1e9, NULL,
     "draws of all effects that the run keeps, for predictions (auto: 400 to 800, or 8 to 16 MB)"},
    SGFSI_OPTIONS_END};

const sgfs_sampler_kind sgfs_sampler_groups = {
    .name = "groups",
    .help = "exact draws of effects that vary between groups, and of all else",
    .instead = "groups", /* no other one knows them */
    .options = options,
    .exact = true,
    .groups = true,
    .full_data = true,
    .stats = stats,
    .plan = plan_groups,
    .open = open_groups,
    .step = step,
    .fields = fields,
    .effects = sgfsi_groups_effects,
    .kept_effects = sgfsi_groups_kept_effects,
    .effects_now = sgfsi_groups_effects_now,
};
