/* SPDX-License-Identifier: MIT
 * exact_rows.c: draws from the posterior itself, each asking a few rows (docs/beyond.md; after
 * Cornish et al. 2019, "Scalable Metropolis-Hastings for exact Bayesian inference with large
 * datasets").
 *
 *     theta = theta* + L^-T z,   A = L L' at the anchor theta*
 *     z' = rho z + sqrt(1 - rho^2) xi,   xi ~ N(0, I)              reversible for N(0, I)
 *     accepted with probability  min(1, exp(rest' - rest)) prod_i min(1, exp(w_i R_i))
 *
 * rest (posterior/nongaussian.h) is what the Gaussian leaves of the posterior and needs no row, R_i
 * what it leaves of row i, asked by Poisson thinning (posterior/thinning.h). Each factor and its
 * inverse belong to one difference that changes sign when z and z' change places, so that their
 * product satisfies detailed balance for the posterior: no step size, no bias. A model that knows
 * its likelihood in closed form (`whole`) needs no row at all.
 *
 * rho   Near 0 a proposal forgets where the chain was. Where many rows object, a shorter move is
 *       accepted more often: the warm-up tries a ladder of rho in turn and keeps the one with the
 *       most effective draws for its cost, counted in multiplications, never in seconds: the same
 *       bits on any machine. Afterwards rho is fixed, as invariance demands.
 * local The posterior may have heavier tails than the Gaussian. Far out in them a proposal that
 *       forgets its place is refused for as long as exp(rest + sum r_i) is large, and a chain that
 *       got there would stay; what has been seen in warm-up says little of it. So iterations begin
 *       with a shorter move, 1 - rho' = (1 - rho) times 0.5, 0.2, 0.1 and 0.03 in turn, which walks
 *       back in steps that are accepted: every iteration where the posterior is not nearly Gaussian
 *       (less than 0.9 of the proposals accepted in warm-up, a prior that is not Gaussian, or a
 *       likelihood in closed form, where a move costs next to nothing), else every tenth. Which it
 *       is depends on warm-up and on t, never on the state.
 *
 * scan  Rows that are asked lie anywhere in the data. Where they would come from a disk one by one,
 *       or where the data are not here at all, they are found beforehand in one scan
 *       (posterior/marks.h), and moves for which they would not do are refused.
 *
 * Chains begin at independent draws of the Gaussian at the anchor. They are not overdispersed: the
 * posterior has one mode, which the anchor has found, and the Gaussian's own spread is the right
 * one but for what warm-up is there to mend.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "posterior/marks.h"
#include "posterior/nongaussian.h"
#include "posterior/thinning.h"
#include "sampler/sampler.h"

/* Statistics of a draw. */
enum { LP, ACCEPT, ROWS, RHO, STATS };

enum { SELDOM = 10, LADDER = 9, SHORTER = 4 };
static const double ladder[LADDER] = {0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99};
static const double shorter[SHORTER] = {0.5, 0.2, 0.1, 0.03};
static const double nearly_gaussian = 0.9; /* of the proposals are accepted */

/* What one rho of the ladder did in warm-up. */
typedef struct rung {
    double tries, accepted, jumps, rows; /* sums; jumps: |z' - z|^2 of accepted moves */
} rung;

typedef struct settings {
    double tolerance, rho; /* rho: NaN: the best in warm-up */
    int64_t psi_entries;
    const char *scan; /* "on" or "off" once the plan is made */
    double within;
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.anchor_tolerance", offsetof(settings, tolerance), NULL, false},
    {"sampler.rho", offsetof(settings, rho), NULL, false},
    {"sampler.psi_entries", offsetof(settings, psi_entries), NULL, false},
    {"sampler.scan", offsetof(settings, scan), NULL, false},
    {"sampler.within", offsetof(settings, within), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct exact {
    sgfsi_row_bounds psi; /* the first chain's; others have its pointer */
    sgfsi_marks marks;    /* the first chain's, where rows were marked */
    sgfsi_marks_index index;
    const sgfsi_row_bounds *table;
    sgfsi_thinning veto;
    sgfsi_nongaussian rest;
    double *z, *z_to, *theta_to; /* D each */
    double here, there;          /* rest at z and at z' */
    double rho;                  /* NaN: not yet chosen */
    bool begun, asks;            /* asks: rows are needed */
    bool settled;                /* rho and every are what they will be */
    int64_t every;               /* iterations from one local move to the next */
    rung rungs[LADDER];          /* of a given rho: the first */
} exact;

/* ---- opening --------------------------------------------------------------------------------- */

/* Lengths that a sketch has, which may be made shorter. */
static sgfs_status plan_marked(sgfsi_plan *plan, const sgfsi_marks *m, sgfs_err *err) {
    int64_t most = m->iterations - (plan->warmup >= 0 ? plan->warmup : m->warmup);
    bool chains = !sgfsi_config_given(plan->cfg, "run.chains");
    if (chains) plan->chains = m->chains;
    sgfsi_plan_lengths(plan, (double)m->warmup, (double)most, NAN);
    if (plan->warmup + plan->draws <= m->iterations && plan->chains <= m->chains) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "The sketch has marks for %lld chains of %lld iterations, warm-up included: "
                      "make a longer one (sgfs sketch --draws), or draw less.",
                      (long long)m->chains, (long long)m->iterations);
}

static sgfs_status plan_scan(sgfsi_plan *plan, const sgfs_model *m, sgfs_err *err) {
    settings *set = plan->settings;
    const sgfsi_elsewhere *elsewhere = m->data->elsewhere;
    bool on = strcmp(set->scan, "on") == 0, off = strcmp(set->scan, "off") == 0, pay = false;
    if (m->kind->whole != NULL) on = false, off = true; /* no row is asked */
    if (elsewhere == NULL && !on && !off && !(plan->ess > 0)) {
        sgfs_status status = sgfsi_marks_pay(m, &pay, err);
        if (status != SGFS_OK) return status;
    }
    if (elsewhere != NULL || pay) on = true;
    set->scan = on ? "on" : "off";
    if (on && plan->ess > 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--ess lengthens a run, and rows were marked for so many moves and no "
                          "more: give --draws, or --scan off.");
    if (on) plan->ess = 0;
    return elsewhere != NULL ? plan_marked(plan, elsewhere->marks, err) : SGFS_OK;
}

/* The sampler's options are complete before the model is looked at. */
static sgfs_status plan_exact(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    const char *why = sgfsi_anchor_refuses(now->model);
    if (why == NULL) why = sgfsi_row_bounds_refuses(now->model);
    sgfs_status status = sgfsi_plan_refuse(plan, now, why, err);
    if (status == SGFS_OK) status = plan_scan(plan, now->model, err);
    if (status != SGFS_OK) return status;
    sgfsi_plan_lengths(plan, NAN, 1000, NAN);
    return sgfsi_plan_refuse_start(plan, true,
                                   "chains begin at draws of the Gaussian at the anchor", err);
}

/* Marks in place of a table: those of a sketch, or of a scan. */
static sgfs_status open_marks(sgfs_sampler *s, exact *e, sgfs_err *err) {
    const settings *set = s->settings;
    const sgfsi_plan *plan = s->plan;
    const sgfsi_elsewhere *elsewhere = s->model->data->elsewhere;
    sgfs_status status = SGFS_OK;
    if (elsewhere == NULL) {
        e->marks = (sgfsi_marks){.chains = plan->chains,
                                 .warmup = plan->warmup,
                                 .iterations = plan->warmup + plan->draws};
        const sgfsi_marks_plan how = {.seed = s->seed, .threads = plan->cores};
        status = sgfsi_marks_bound(s->D, set->within, &e->marks.most, err);
        if (status == SGFS_OK)
            status = sgfsi_marks_make(&e->marks, s->model, s->anchor, &how, s->arena, err);
        s->full.rows_touched += s->model->data->N;
    }
    const sgfsi_marks *m = elsewhere != NULL ? elsewhere->marks : &e->marks;
    if (status == SGFS_OK && m->p != s->model->data->p)
        status = sgfsi_fail(err, SGFS_ERUNFILE, "The sketch has rows of other columns.");
    if (status == SGFS_OK) status = sgfsi_marks_open(&e->index, m, s->arena, err);
    if (status != SGFS_OK) return status;
    e->psi = (sgfsi_row_bounds){.model = s->model,
                                .anchor = s->anchor->theta,
                                .N = s->model->data->N,
                                .radius = m->radius,
                                .growth = m->growth,
                                .marks = &e->index};
    sgfsi_json *o = sgfsi_json_object_in(s->report, "exact");
    sgfsi_json_int(o, "marks", m->count);
    sgfsi_json_num(o, "most", m->most);
    sgfsi_json_num(o, "growth", m->growth);
    sgfsi_say(s->log, SGFS_DETAIL,
              "Exact draws, up to Monte Carlo error: %s marks on rows stand for all %s of them.",
              SGFSI_COMMAS((double)m->count), SGFSI_COMMAS((double)s->model->data->N));
    return SGFS_OK;
}

static sgfs_status open_table(sgfs_sampler *s, exact *e, sgfs_err *err) {
    const bool marked = strcmp(((const settings *)s->settings)->scan, "on") == 0;
    if (s->first != NULL) {
        e->table = ((const exact *)s->first->state)->table;
        return sgfsi_thinning_open(&e->veto, e->table, s->arena, err);
    }
    e->table = &e->psi;
    if (marked) {
        sgfs_status made = open_marks(s, e, err);
        return made == SGFS_OK ? sgfsi_thinning_open(&e->veto, e->table, s->arena, err) : made;
    }
    int64_t most = ((const settings *)s->settings)->psi_entries;
    sgfs_status status =
        sgfsi_row_bounds_open(&e->psi, s->model, s->anchor, sgfsi_row_bounds_radius(s->D), most,
                              s->plan->cores, s->arena, err);
    if (status != SGFS_OK) return status;
    s->full.rows_touched += e->psi.N;
    char rows[SGFSI_NUM_CHARS], all[SGFSI_NUM_CHARS], table[64] = "";
    const sgfsi_row_bounds *psi = e->table;
    double expected = fmin(sgfsi_row_bounds_expected(psi), (double)psi->N);
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_num(o, "psi_total", psi->total);
    sgfsi_json_num(o, "rows_per_draw", expected);
    sgfsi_json_int(o, "entries", psi->entries);
    sgfsi_json_int(o, "run", psi->block);
    sgfsi_json_num(o, "growth", psi->growth);
    sgfsi_json_num(o, "seconds", psi->seconds);
    sgfsi_json_put(s->report, "exact", o);
    sgfsi_format_digits(rows, expected, 2);
    sgfsi_format_commas(all, (double)psi->N);
    if (psi->block > 1)
        snprintf(table, sizeof table, ", drawn from blocks of %lld", (long long)psi->block);
    sgfsi_say(s->log, SGFS_DETAIL,
              "Exact draws, up to Monte Carlo error: an independent proposal asks about %s of %s "
              "rows%s (table made in one pass, %.2g s).",
              rows, all, table, psi->seconds);
    return sgfsi_thinning_open(&e->veto, e->table, s->arena, err);
}

static sgfs_status open_exact(sgfs_sampler *s, sgfs_err *err) {
    const settings *set = s->settings;
    exact *e = s->state = sgfsi_arena_alloc(s->arena, 1, sizeof *e);
    if (e == NULL || !SGFSI_ROOM(s->arena, s->D, &e->z, &e->z_to, &e->theta_to))
        return sgfsi_fail_memory(err, "the sampler");
    e->rho = set->rho;
    e->asks = s->model->kind->whole == NULL;
    sgfs_status status = sgfsi_sampler_anchor(s, set->tolerance, false, err);
    if (status == SGFS_OK)
        status = sgfsi_nongaussian_open(&e->rest, s->model, s->anchor, s->arena, err);
    if (status == SGFS_OK && e->asks) status = open_table(s, e, err);
    if (status == SGFS_OK && e->asks) s->visit = e->veto.visit;
    return status;
}

/* ---- one move -------------------------------------------------------------------------------- */

/* theta = theta* + L^-T z */
static void place(const sgfs_sampler *s, const double *z, double *theta) {
    const sgfs_device *dev = s->model->ctx.near;
    memcpy(theta, z, (size_t)s->D * sizeof *z);
    sgfsi_trsv(dev, s->D, s->anchor->L, true, theta);
    sgfsi_axpy(dev, s->D, 1.0, s->anchor->theta, theta);
}

static sgfs_status begin(sgfs_sampler *s, exact *e, double *theta, sgfs_err *err) {
    sgfsi_sampler_normals(s, 0, SGFSI_NOISE, e->z);
    place(s, e->z, theta);
    e->begun = true;
    return sgfsi_nongaussian_at(&e->rest, theta, e->z, &e->here, err);
}

/* t names the random streams of the move. */
static sgfs_status move(sgfs_sampler *s, double rho, int64_t t, double *theta, bool *accepted,
                        sgfs_err *err) {
    exact *e = s->state;
    double wide = sqrt((1 - rho) * (1 + rho));
    sgfsi_sampler_normals(s, t, SGFSI_NOISE, e->z_to);
    for (int64_t j = 0; j < s->D; j++) e->z_to[j] = rho * e->z[j] + wide * e->z_to[j];
    place(s, e->z_to, e->theta_to);
    sgfs_status status = sgfsi_nongaussian_at(&e->rest, e->theta_to, e->z_to, &e->there, err);
    if (status != SGFS_OK) return status;
    double gain = e->there - e->here, u[2]; /* NaN: not accepted */
    sgfsi_stream accept = sgfsi_stream_at(s->seed, s->chain, t, SGFSI_ACCEPT);
    sgfsi_uniforms(&accept, 1, u);
    *accepted = gain >= 0 || log(u[0]) < gain;
    if (*accepted && e->asks) {
        const sgfsi_move asked = {theta, e->theta_to, e->z, e->z_to, s->seed, s->chain, t};
        bool vetoed;
        status = sgfsi_thinning_ask(&e->veto, &asked, &vetoed, err);
        *accepted = !vetoed;
    }
    return status;
}

/* z' becomes z. z_to keeps the place that was left. */
static void go(exact *e, int64_t D, double *theta) {
    double *left = e->z;
    memcpy(theta, e->theta_to, (size_t)D * sizeof *theta);
    e->z = e->z_to;
    e->z_to = left;
    e->here = e->there;
}

/* ---- rho ------------------------------------------------------------------------------------- */

/* Effective draws for the cost. A share e of the variance is forgotten in one iteration, so that
 * tau = (2 - e)/e. Cost in multiplications: D^2 for the solve and the moments, 50 for each normal
 * number and 50 + p for each row, which lies anywhere in memory and has exponentials in it. */
static double merit(const rung *r, int64_t D, int64_t p) {
    if (r->tries < 1) return 0;
    double e = fmin(r->jumps / (2 * (double)D * r->tries), 1);
    double cost = (double)D * ((double)D + 50) + r->rows / r->tries * (50 + (double)p);
    return e / (2 - e) / cost;
}

/* After the last iteration of warm-up. */
static void settle(const sgfs_sampler *s, exact *e) {
    int64_t best = 0, D = s->D, p = s->model->data->p;
    for (int64_t k = 1; isnan(e->rho) && k < LADDER; k++)
        if (merit(&e->rungs[k], D, p) > merit(&e->rungs[best], D, p)) best = k;
    bool stuck = e->rungs[0].tries > 0 && !(merit(&e->rungs[best], D, p) > 0);
    if (isnan(e->rho) && stuck) best = LADDER - 1;
    const rung *r = &e->rungs[best];
    bool gaussian = r->tries > 0 && r->accepted >= nearly_gaussian * r->tries;
    if (isnan(e->rho)) e->rho = ladder[best];
    e->every = gaussian && e->asks && e->rest.gradient == NULL ? SELDOM : 1;
    e->settled = true;
}

static void learn(exact *e, int64_t D, int64_t k, bool accepted, double rows) {
    rung *r = &e->rungs[k];
    r->tries++;
    r->accepted += accepted;
    r->rows += rows;
    for (int64_t j = 0; accepted && j < D; j++) {
        double gap = e->z_to[j] - e->z[j];
        r->jumps += gap * gap;
    }
}

/* ---- one iteration --------------------------------------------------------------------------- */

static sgfs_status step(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err) {
    exact *e = s->state;
    sgfs_status status = e->begun ? SGFS_OK : begin(s, e, theta, err);
    bool warm = now->t <= now->warmup, tries = warm && isnan(e->rho), accepted = false;
    if (!warm && !e->settled) settle(s, e);
    int64_t k = tries ? now->t % LADDER : 0, every = warm ? 1 : e->every;
    double rho = tries ? ladder[k] : e->rho;
    int64_t before = e->veto.rows_touched;
    if (status == SGFS_OK && now->t % every == 0) {
        double part = shorter[now->t / every % SHORTER];
        status = move(s, 1 - part * (1 - rho), 2 * now->t, theta, &accepted, err);
        if (status == SGFS_OK && accepted) go(e, s->D, theta);
    }
    int64_t middle = e->veto.rows_touched, long_move = 2 * now->t + 1;
    if (e->asks) { /* what the next long moves will ask comes from memory meanwhile */
        const sgfsi_move here = {.seed = s->seed, .chain = s->chain};
        sgfsi_thinning_fetch(&e->veto, &here, long_move + 2, long_move + 4);
    }
    if (status == SGFS_OK) status = move(s, rho, long_move, theta, &accepted, err);
    if (status != SGFS_OK) return status;
    if (accepted) go(e, s->D, theta);
    int64_t rows = e->veto.rows_touched - before;
    if (warm) learn(e, s->D, k, accepted, (double)(e->veto.rows_touched - middle));
    s->full.rows_touched += rows;
    stats[LP] = s->anchor->lp - 0.5 * sgfsi_dot(s->model->ctx.near, s->D, e->z, e->z) + e->here;
    stats[ACCEPT] = accepted;
    stats[ROWS] = (double)rows;
    stats[RHO] = rho;
    return SGFS_OK;
}

static void fields(const sgfs_sampler *s, sgfsi_fields *list) {
    exact *e = s->state;
    SGFSI_FIELD_ARRAY(list, e, z, s->D);
    SGFSI_FIELD_ONE(list, e, here);
    SGFSI_FIELD_ONE(list, e, rho);
    SGFSI_FIELD_ONE(list, e, begun);
    SGFSI_FIELD_ONE(list, e, settled);
    SGFSI_FIELD_ONE(list, e, every);
    SGFSI_FIELD(list, "rungs", &e->rungs[0].tries,
                LADDER * (int64_t)(sizeof(rung) / sizeof(double)));
}

static const char *const stats[] = {[LP] = SGFSI_STAT_LP,
                                    [ACCEPT] = SGFSI_STAT_ACCEPT,
                                    [ROWS] = SGFSI_STAT_ROWS,
                                    [RHO] = SGFSI_STAT_RHO,
                                    [STATS] = NULL};

/* clang-format off */
static const sgfs_option options[] = {
    SGFSI_ANCHOR_ROWS,
    {"sampler.rho", "rho", SGFS_NUMBER, "auto", 0, 0.9999, NULL,
     "how much of its place a proposal keeps (auto: best in warm-up)"},
    {"sampler.psi_entries", "psi-entries", SGFS_INTEGER, "4194304", 1, 1e12, NULL,
     "rows up to which each has its own entry in the table that rows are drawn from"},
    {"sampler.scan", "scan", SGFS_CHOICE, "auto", 1, 0, "auto|on|off",
     "find the rows that will be asked in one scan (auto: where the files exceed the memory)"},
    {"sampler.within", "within", SGFS_NUMBER, "0.999", 0.001, 0.999999, NULL,
     "share of the moves that such rows are marked for; longer ones are refused"},
    SGFSI_OPTIONS_END};
/* clang-format on */

const sgfs_sampler_kind sgfs_sampler_exact_rows = {
    .name = "exact-rows",
    .help = "exact draws that ask a few rows each (logistic and other regressions)",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .exact = true,
    .instead = "exact-hmc",
    .anchored = true,
    .full_data = true,
    .few_rows = true,
    .stats = stats,
    .plan = plan_exact,
    .open = open_exact,
    .step = step,
    .fields = fields,
};
