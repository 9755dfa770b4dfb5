/* SPDX-License-Identifier: MIT
 * groups_moves.c: the moves of sampler groups (groups.c) that look at rows: all groups of a term at
 * once, each accepted or rejected by itself, and the coefficients together with the effects.
 *
 * Groups are worked off in parts, and in batches of so many rows that their densities are computed
 * in one call; a group of more rows is a batch of its own. Random numbers are numbered by group.
 */
#include "sampler/groups.h"

enum { CHUNK = SGFSI_MIXED_CHUNK };
static const double rhos[] = {0, 0, 0, 0.8}, WALK = 2.4;

/* ---- groups ---------------------------------------------------------------------------------- */

enum { HERE, MIRROR, NEW, NEW_MIRROR, PLACES, BATCH = 128 };

/* Where a group might go: v and u = C v of each place, and the densities there. A local step has
 * two places, HERE and NEW. */
typedef struct group_places {
    double v[PLACES][SGFSI_MOST_EFFECTS], u[PLACES][SGFSI_MOST_EFFECTS];
    double loglik[PLACES], rest[PLACES]; /* of its rows; what else is in the log weight */
    int chosen;
} group_places;

/* A random walk, which independent proposals need where a group is far out: they would stay
 * away. */
static bool is_local(const sgfsi_groups_chain *e) {
    return e->t % 8 == 7;
}

static void lay_out(const sgfsi_mixed_effects *e, int64_t q, int64_t g, bool local,
                    const double *xi, group_places *p) {
    const double *v = e->v + g * q, *m = e->m + g * q, *K = e->K + g * q * q;
    double z[SGFSI_MOST_EFFECTS], fresh[SGFSI_MOST_EFFECTS], from[SGFSI_MOST_EFFECTS];
    memcpy(fresh, xi, (size_t)q * sizeof *fresh);
    sgfsi_group_solve_up(q, K, fresh);
    for (int64_t j = 0; j < q; j++) {
        from[j] = v[j] - m[j];
        p->v[HERE][j] = v[j];
        p->v[MIRROR][j] = m[j] - from[j];
        p->v[NEW][j] = local ? v[j] + WALK / sqrt((double)q) * fresh[j] : m[j] + fresh[j];
        p->v[NEW_MIRROR][j] = m[j] - fresh[j];
    }
    sgfsi_group_multiply_up(q, K, from, z);
    double here = sgfsi_group_square_of(q, z), next = sgfsi_group_square_of(q, xi);
    for (int s = 0; s < PLACES; s++) {
        p->loglik[s] = 0;
        p->rest[s] = local ? 0 : 0.5 * (s < NEW ? here : next);
        p->rest[s] -= 0.5 * sgfsi_group_square_of(q, p->v[s]);
        sgfsi_group_multiply(q, e->C, p->v[s], p->u[s]);
    }
}

/* A pair, the one it is at or the new one; and its sign. uniform: two numbers. true: accepted. */
static bool choose(group_places *p, bool local, const double *uniform) {
    double w[PLACES];
    if (local) {
        bool to = log(uniform[0]) < sgfsi_group_density(p->loglik[NEW] + p->rest[NEW]) -
                                        sgfsi_group_density(p->loglik[HERE] + p->rest[HERE]);
        p->chosen = to ? NEW : HERE;
        return to;
    }
    for (int s = 0; s < PLACES; s++) w[s] = sgfsi_group_density(p->loglik[s] + p->rest[s]);
    double now = sgfsi_group_pair_weight(w[HERE], w[MIRROR]),
           next = sgfsi_group_pair_weight(w[NEW], w[NEW_MIRROR]);
    bool accepted = log(uniform[0]) < next - now;
    int at = accepted ? NEW : HERE;
    bool up = uniform[1] * (1 + exp(w[at + 1] - w[at])) < 1;
    p->chosen = up ? at : at + 1;
    return accepted;
}

/* The log likelihood at all places of `count` groups from g on, whose rows are n in number; their
 * predictors without this term go to room->rest. */
static void weigh_rows(sgfsi_groups_chain *e, sgfsi_mixed_room *room, int64_t g, int64_t count,
                       int64_t n, group_places *p) {
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_term *t = &m->term[e->k];
    int64_t first = t->first[g];
    int each = is_local(e) ? NEW - HERE : 1;
    double weight[CHUNK];
    int16_t of[CHUNK];
    for (int64_t from = 0, b = 0; from < n; from += CHUNK) {
        int64_t rows = n - from < CHUNK ? n - from : CHUNK;
        for (int64_t i = 0; i < rows; i++) {
            int64_t r = first + from + i, slot = t->row != NULL ? t->row[r] : r;
            while (b + 1 < count && r >= t->first[g + b + 1]) b++;
            double *rest = &room->rest[from + i];
            of[i] = (int16_t)b;
            *rest = e->at.eta[slot] - sgfsi_group_effect(t, slot, p[b].u[HERE]);
            room->y[i] = m->y[slot];
            weight[i] = m->weight != NULL ? m->weight[slot] : 1;
            for (int s = 0; s < PLACES; s += each)
                room->eta[s * CHUNK + i] = *rest + sgfsi_group_effect(t, slot, p[b].u[s]);
        }
        for (int s = 0; s < PLACES; s += each) {
            (void)sgfsi_mixed_chunk(&e->at, room, e->at.theta, rows, room->y,
                                    m->weight != NULL ? weight : NULL, room->eta + s * CHUNK,
                                    room->loglik);
            for (int64_t i = 0; i < rows; i++) p[of[i]].loglik[s] += room->loglik[i];
        }
    }
}

static void move_some(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    sgfsi_groups_chain *e = user;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *effects = &e->at.term[e->k];
    int64_t q = t->q;
    bool local = is_local(e);
    group_places p[BATCH];
    sgfsi_stream normal = sgfsi_group_stream_of(e, e->k, SGFSI_GROUPS),
                 uniform = sgfsi_group_stream_of(e, e->k, SGFSI_GROUPS_ACCEPT);
    sgfsi_stream_skip(&normal, from * q);
    sgfsi_stream_skip(&uniform, from);
    for (int64_t g = from; g < to;) {
        int64_t count = 0, rows = 0;
        do { /* as many as fit, and at least one */
            double xi[SGFSI_MOST_EFFECTS + 1];
            sgfsi_normals(&normal, 2 * ((q + 1) / 2), xi);
            lay_out(effects, q, g + count, local, xi, &p[count]);
            rows = t->first[g + ++count] - t->first[g];
        } while (g + count < to && count < BATCH && t->first[g + count + 1] - t->first[g] <= CHUNK);
        weigh_rows(e, room, g, count, rows, p);
        for (int64_t b = 0; b < count; b++) {
            double u[2];
            sgfsi_uniforms(&uniform, 2, u);
            sums[1] += choose(&p[b], local, u);
            sums[0] += p[b].loglik[p[b].chosen];
            memcpy(effects->v + (g + b) * q, p[b].v[p[b].chosen], (size_t)q * sizeof(double));
            for (int64_t r = t->first[g + b]; r < t->first[g + b + 1]; r++) {
                int64_t slot = t->row != NULL ? t->row[r] : r;
                e->at.eta[slot] =
                    room->rest[r - t->first[g]] + sgfsi_group_effect(t, slot, p[b].u[p[b].chosen]);
            }
        }
        g += count;
    }
}

void sgfsi_groups_move(sgfsi_groups_chain *e, double *accepted) {
    double sums[2];
    sgfsi_mixed_centres(&e->at, e->k);
    sgfsi_mixed_groups(&e->at, e->k, move_some, e, 2, sums);
    e->at.loglik = sums[0];
    *accepted = sums[1] / (double)e->mixed->term[e->k].G;
}

/* ---- beta ------------------------------------------------------------------------------------ */

/* How v of each group follows both differences from the centre: into one and two. Sums: |v|^2 at
 * the four places. */
static void follow(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    sgfsi_groups_chain *e = user;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q, p = e->mixed->p;
    (void)room;
    for (int64_t g = from; g < to; g++) {
        double *one = f->one + g * q, *two = f->two + g * q;
        sgfsi_mixed_follow(t, g, p, e->a, f->C, f->K + g * q * q, e->d[0], one);
        sgfsi_mixed_follow(t, g, p, e->a, f->C, f->K + g * q * q, e->d[1], two);
        for (int64_t j = 0; j < q; j++) {
            double here = f->v[g * q + j], middle = here - one[j];
            sums[HERE] += here * here;
            sums[MIRROR] += (middle - one[j]) * (middle - one[j]);
            sums[NEW] += (middle + two[j]) * (middle + two[j]);
            sums[NEW_MIRROR] += (middle - two[j]) * (middle - two[j]);
        }
    }
}

/* e and f become all that the predictor changes by; sums: log likelihoods. */
static void weigh_beta(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    sgfsi_groups_chain *e = user;
    const sgfsi_mixed *m = e->mixed;
    const sgfsi_mixed_term *t = &m->term[e->k];
    const sgfsi_mixed_effects *f = &e->at.term[e->k];
    double *from = e->at.e + first, *to = e->at.f + first, *eta = room->eta;
    for (int64_t i = 0; i < n; i++) {
        double one[SGFSI_MOST_EFFECTS], two[SGFSI_MOST_EFFECTS];
        int64_t g = t->group[first + i] * t->q;
        sgfsi_group_multiply(t->q, f->C, f->one + g, one);
        sgfsi_group_multiply(t->q, f->C, f->two + g, two);
        from[i] += sgfsi_group_effect(t, first + i, one);
        to[i] += sgfsi_group_effect(t, first + i, two);
        double middle = e->at.eta[first + i] - from[i];
        eta[i] = middle - from[i];
        eta[CHUNK + i] = middle + to[i];
        eta[2 * CHUNK + i] = middle - to[i];
    }
    for (int s = MIRROR; s < PLACES; s++)
        sums[s] += sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, m->y + first,
                                     m->weight != NULL ? m->weight + first : NULL,
                                     eta + (s - MIRROR) * CHUNK, NULL);
}

/* The rows go to the place that was chosen: change = sign of e, sign of f. */
typedef struct departure {
    sgfsi_groups_chain *e;
    double one, two;
} departure;

static void leave(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    const departure *d = user;
    (void)room;
    (void)sums;
    for (int64_t i = first; i < first + n; i++)
        d->e->at.eta[i] += d->one * d->e->at.e[i] + d->two * d->e->at.f[i];
}

static void leave_groups(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to,
                         double *sums) {
    const departure *d = user;
    sgfsi_groups_chain *e = d->e;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    int64_t q = t->q, p = e->mixed->p;
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++) {
        const double *B = t->B + g * q * p;
        for (int64_t j = 0; j < q; j++) {
            double change = 0, pulled = 0;
            change = d->one * f->one[g * q + j] + d->two * f->two[g * q + j];
            for (int64_t l = 0; l < p; l++)
                pulled += B[j * p + l] * (d->one * e->d[0][l] + d->two * e->d[1][l]);
            f->v[g * q + j] += change;
            f->m[g * q + j] += change; /* z stays */
            f->c[g * q + j] -= pulled;
        }
    }
}

sgfs_status sgfsi_groups_newton(sgfsi_groups_chain *e, double *step, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    sgfs_status status = sgfsi_mixed_gradient(&e->at, e->k, step, e->centre + m->p, err);
    if (status != SGFS_OK) return status;
    sgfsi_trsv(m->fixed.ctx.near, m->p, e->L, false, step);
    sgfsi_trsv(m->fixed.ctx.near, m->p, e->L, true, step);
    return SGFS_OK;
}

sgfs_status sgfsi_groups_move_beta(sgfsi_groups_chain *e, bool warming, double *accepted,
                                   sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    const sgfs_device *dev = m->fixed.ctx.near;
    int64_t p = m->p;
    double *theta = e->at.theta, *shift = e->shift + e->k * p, squares[PLACES], loglik[PLACES];
    double rho = rhos[e->t % 4], away = sqrt(1 - rho * rho), z = 0, z_new = 0, uniform[2];
    sgfs_status status = sgfsi_mixed_fixed(&e->at, e->k, e->L, e->centre, err);
    if (status != SGFS_OK) return status;
    if (warming) { /* where Newton's step leads from here, less where the approximation has it */
        double *to = e->d[0], share = e->share;
        status = sgfsi_groups_newton(e, to, err);
        if (status != SGFS_OK) return status;
        for (int64_t j = 0; j < p; j++)
            shift[j] += share * (theta[j] + to[j] - e->centre[j] - shift[j]);
    }
    for (int64_t j = 0; j < p; j++) {
        e->centre[j] += shift[j];
        e->d[0][j] = theta[j] - e->centre[j];
    }
    memcpy(e->d[1], e->d[0], (size_t)p * sizeof *e->d[1]);
    sgfsi_trmv(dev, p, e->L, true, e->d[1]); /* z = L'd */
    sgfsi_stream noise = sgfsi_group_stream_of(e, e->k, SGFSI_NOISE),
                 accept = sgfsi_group_stream_of(e, e->k, SGFSI_ACCEPT);
    for (int64_t j = 0; j < p; j++) {
        double xi[2];
        sgfsi_normals(&noise, 2, xi);
        z += e->d[1][j] * e->d[1][j];
        e->d[1][j] = rho * e->d[1][j] + away * xi[0];
        z_new += e->d[1][j] * e->d[1][j];
    }
    sgfsi_trsv(dev, p, e->L, true, e->d[1]);
    status = sgfsi_mixed_times(&e->at, e->d[0], e->at.e, err);
    if (status == SGFS_OK) status = sgfsi_mixed_times(&e->at, e->d[1], e->at.f, err);
    if (status != SGFS_OK) return status;
    sgfsi_mixed_groups(&e->at, e->k, follow, e, PLACES, squares);
    sgfsi_mixed_sum(&e->at, weigh_beta, e, PLACES, loglik);
    loglik[HERE] = e->at.loglik;
    double w[PLACES], *old = e->centre + p;
    memcpy(old, theta, (size_t)m->base * sizeof *old);
    for (int s = 0; s < PLACES && status == SGFS_OK; s++) {
        double prior = 0, sign = s % 2 == 0 ? 1 : -1;
        for (int64_t j = 0; j < p; j++) theta[j] = e->centre[j] + sign * e->d[s / 2][j];
        status = sgfsi_mixed_prior(m, theta, &prior, err);
        w[s] = sgfsi_group_density(loglik[s] + prior + 0.5 * ((s < NEW ? z : z_new) - squares[s]));
    }
    memcpy(theta, old, (size_t)m->base * sizeof *old);
    if (status != SGFS_OK) return status;
    sgfsi_uniforms(&accept, 2, uniform);
    double now = sgfsi_group_pair_weight(w[HERE], w[MIRROR]),
           next = sgfsi_group_pair_weight(w[NEW], w[NEW_MIRROR]);
    bool taken = log(uniform[0]) < next - now;
    int at = taken ? NEW : HERE;
    if (uniform[1] * (1 + exp(w[at + 1] - w[at])) >= 1) at++;
    *accepted = taken;
    if (at == HERE) return SGFS_OK;
    departure d = {e, at == MIRROR ? -2 : -1, at == MIRROR ? 0 : at == NEW ? 1 : -1};
    double none;
    sgfsi_mixed_sum(&e->at, leave, &d, 0, &none);
    sgfsi_mixed_groups(&e->at, e->k, leave_groups, &d, 0, &none);
    for (int64_t j = 0; j < p; j++) theta[j] += d.one * e->d[0][j] + d.two * e->d[1][j];
    e->at.loglik = loglik[at];
    return SGFS_OK;
}
