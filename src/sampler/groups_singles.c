/* SPDX-License-Identifier: MIT
 * groups_singles.c: the coefficients of a logistic model most of whose groups have one row.
 *
 * Such a group's row sees its effect through the probability alone that is left when the effect is
 * integrated out. That is nearly sigmoid(x'beta/R) with R^2 = 1 + 3 sd^2/pi^2: rows know beta/R,
 * and the priors decide where on this ridge the scale lies. With the effects fixed, or following, a
 * move along it is rejected by one row or another. So effects of groups of at most FEW rows are
 * integrated out,
 *
 *     L_g(sd) = integral of phi(v) prod_i p(y_i | eta_i + sd v) dv,   a sum over equally spaced v
 *
 * and drawn anew from their law given all else when both moves are made:
 *
 *     beta     around the centre R phi, phi learned in warm-up; z' = rho z + sqrt(1 - rho^2) xi
 *     ridge    log sd by a random walk; coefficients and the other terms' scales grow like R
 *
 * Groups of more rows follow with z fixed, as in groups_moves.c. The sum's error falls like
 * exp(-2 pi^2/(sd h)), as the nearest pole of the integrand is pi/sd away: 7e-8 at the spacing h
 * used. As phi falls faster than the rest grows the mode is no further than sqrt(-2 log p) at v =
 * 0, and 5.5 beyond it tails are 4e-8.
 */
#include "sampler/groups.h"

enum { CHUNK = SGFSI_MIXED_CHUNK, FEW = 4 };
static const double rhos[] = {0, 0.5, 0};                     /* and a random walk */
static const double tail = 5.5, widest = 0.7, fineness = 1.2; /* |v - mode| at most; h; h sd */
static const double largest = 30; /* sd beyond which sums become long: other moves go there alone */
static const double root_two_pi = 2.5066282746310002;

static int64_t rows_of(const sgfsi_mixed_term *t, int64_t g) {
    return t->first[g + 1] - t->first[g];
}

bool sgfsi_groups_has_singles(const sgfsi_mixed *m, int64_t k) {
    const sgfsi_mixed_term *t = &m->term[k];
    int64_t singles = 0;
    if (m->sigma || m->scales->icc < 0 || m->weight != NULL) return false;
    for (int64_t g = 0; g < t->G; g++) singles += rows_of(t, g) == 1;
    return 2 * singles >= t->G;
}

double sgfsi_groups_attenuation(double log_sd) {
    return sqrt(1 + exp(2 * log_sd) / SGFSI_LATENT_VARIANCE);
}

/* ---- a place and where it might go ----------------------------------------------------------- */

/* The fixed part of a predictor, less its offset, is multiplied by `grow`; e->at.f is added, unless
 * it is NULL; C is the term's scale there. */
typedef struct leap {
    sgfsi_groups_chain *e;
    const double *add;
    double grow, C;
    sgfsi_stream stream;
} leap;

/* There, the predictor of a slot without the term's effect, which is `effect` now. */
static double rest_of(const leap *l, int64_t slot, double effect) {
    const sgfsi_mixed *m = l->e->mixed;
    double rest = l->e->at.eta[slot] - effect, offset = m->offset != NULL ? m->offset[slot] : 0;
    return offset + l->grow * (rest - offset) + (l->add != NULL ? l->add[slot] : 0);
}

static int64_t slot_of(const sgfsi_mixed_term *t, int64_t r) {
    return t->row != NULL ? t->row[r] : r;
}

/* ---- integrals ------------------------------------------------------------------------------- */

/* Groups of few rows, of which as many as fit are worked on together. Those of group j are begin[j]
 * to begin[j + 1]. */
typedef struct bundle {
    int64_t groups, group[CHUNK], begin[CHUNK + 1], slot[CHUNK];
    double rest[CHUNK], y[CHUNK];
} bundle;

/* Add up numbers of rows by group. */
static void by_group(const bundle *s, const double *of_rows, double *of_groups) {
    for (int64_t j = 0; j < s->groups; j++) {
        of_groups[j] = 0;
        for (int64_t i = s->begin[j]; i < s->begin[j + 1]; i++) of_groups[j] += of_rows[i];
    }
}

static void add_place(sgfsi_groups_chain *e, sgfsi_mixed_room *room, const bundle *s, double change,
                      double *loglik) {
    int64_t n = s->begin[s->groups];
    for (int64_t i = 0; i < n; i++) room->eta[i] = s->rest[i] + change;
    (void)sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, s->y, NULL, room->eta, room->loglik);
    by_group(s, room->loglik, loglik);
}

/* sum of log L over the groups */
static double integrate(sgfsi_groups_chain *e, sgfsi_mixed_room *room, const bundle *s, double sd) {
    double h = fmin(widest, fineness / sd), sum = 0, base[CHUNK], mass[CHUNK], loglik[CHUNK];
    double far = 0;
    add_place(e, room, s, 0, base);
    for (int64_t j = 0; j < s->groups; j++) {
        mass[j] = 1;
        far = fmax(far, fmin(FEW * sd, sqrt(-2 * base[j])));
    }
    int64_t each = (int64_t)ceil((tail + far) / h);
    for (int64_t k = -each; k <= each; k++) {
        double v = h * (double)k;
        if (k == 0) continue;
        add_place(e, room, s, sd * v, loglik);
        for (int64_t j = 0; j < s->groups; j++) mass[j] += exp(loglik[j] - base[j] - 0.5 * v * v);
    }
    for (int64_t j = 0; j < s->groups; j++) sum += base[j] + log(mass[j]);
    return sum + (double)s->groups * log(h / root_two_pi);
}

/* Put group g with its predictors at a leap behind the others. true: there is no more room. */
static bool take_in(const leap *l, int64_t g, bundle *s) {
    const sgfsi_mixed *m = l->e->mixed;
    const sgfsi_mixed_term *t = &m->term[l->e->k];
    const sgfsi_mixed_effects *f = &l->e->at.term[l->e->k];
    int64_t i = s->begin[s->groups];
    for (int64_t r = t->first[g]; r < t->first[g + 1]; r++, i++) {
        s->slot[i] = slot_of(t, r);
        s->y[i] = m->y[s->slot[i]];
        s->rest[i] = rest_of(l, s->slot[i], f->C[0] * f->v[g]);
    }
    s->group[s->groups++] = g;
    s->begin[s->groups] = i;
    return i + FEW > CHUNK;
}

/* A group of more rows: c, K and m at a leap, and v there, z being the same. What the density gains
 * by the prior of v and by the Jacobian. */
static double follow(const leap *l, int64_t g, double *c, double *K, double *m, double *v) {
    const sgfsi_mixed *mixed = l->e->mixed;
    const sgfsi_mixed_term *t = &mixed->term[l->e->k];
    const sgfsi_mixed_effects *f = &l->e->at.term[l->e->k];
    double z = f->K[g] * (f->v[g] - f->m[g]);
    *c = 0;
    for (int64_t r = t->first[g]; r < t->first[g + 1]; r++) {
        int64_t slot = slot_of(t, r);
        *c += mixed->k[slot] - mixed->w[slot] * rest_of(l, slot, f->C[0] * f->v[g]);
    }
    sgfsi_mixed_frame(t, g, l->e->a, &l->C, c, false, K, m);
    *v = rows_of(t, g) <= FEW ? f->v[g] : *m + z / *K;
    return 0.5 * (f->v[g] * f->v[g] - *v * *v) + log(f->K[g] / *K);
}

/* What the rows of a larger group gain by the leap. */
static double gain_of_rows(const leap *l, sgfsi_mixed_room *room, int64_t g, double v) {
    sgfsi_groups_chain *e = l->e;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    const sgfsi_mixed_effects *f = &e->at.term[e->k];
    double *before = room->eta, *after = before + CHUNK, *y = after + CHUNK, gain = 0;
    for (int64_t r = t->first[g]; r < t->first[g + 1];) {
        int64_t n = 0;
        for (; n < CHUNK && r < t->first[g + 1]; n++, r++) {
            int64_t slot = slot_of(t, r);
            after[n] = rest_of(l, slot, f->C[0] * f->v[g]) + l->C * v;
            before[n] = e->at.eta[slot];
            y[n] = e->mixed->y[slot];
        }
        gain += sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, y, NULL, after, NULL) -
                sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, y, NULL, before, NULL);
    }
    return gain;
}

enum { SMALL, LARGER, SUMS };

static void weigh(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const leap *l = user;
    const sgfsi_mixed_term *t = &l->e->mixed->term[l->e->k];
    bundle s;
    s.groups = s.begin[0] = 0;
    for (int64_t g = from; g < to; g++) {
        double c, K, mean, v;
        if (rows_of(t, g) > FEW) {
            sums[LARGER] += follow(l, g, &c, &K, &mean, &v);
            sums[LARGER] += gain_of_rows(l, room, g, v);
        } else if (take_in(l, g, &s)) {
            sums[SMALL] += integrate(l->e, room, &s, l->C);
            s.groups = 0;
        }
    }
    if (s.groups > 0) sums[SMALL] += integrate(l->e, room, &s, l->C);
}

/* The leap is made. Effects of groups of few rows are as they were until they are drawn anew. */
static void land(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const leap *l = user;
    sgfsi_groups_chain *e = l->e;
    const sgfsi_mixed_term *t = &e->mixed->term[e->k];
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    (void)room;
    (void)sums;
    for (int64_t g = from; g < to; g++) {
        double c, K, mean, v;
        (void)follow(l, g, &c, &K, &mean, &v);
        for (int64_t r = t->first[g]; r < t->first[g + 1]; r++) {
            int64_t slot = slot_of(t, r);
            e->at.eta[slot] = rest_of(l, slot, f->C[0] * f->v[g]) + l->C * v;
        }
        f->c[g] = c;
        f->K[g] = K;
        f->m[g] = mean;
        f->v[g] = v;
    }
}

/* ---- effects anew ---------------------------------------------------------------------------- */

/* log p of the groups with v at `at`, and its slope by v. */
static void look(sgfsi_groups_chain *e, sgfsi_mixed_room *room, const bundle *s, double sd,
                 const double *at, double *loglik, double *slope) {
    const sgfs_model *fixed = &e->mixed->fixed;
    int64_t n = s->begin[s->groups];
    const sgfs_batch b = {.n = n, .p = e->mixed->p, .y = s->y, .eta = room->eta, .gamma = 1};
    for (int64_t j = 0; j < s->groups; j++)
        for (int64_t i = s->begin[j]; i < s->begin[j + 1]; i++)
            room->eta[i] = s->rest[i] + sd * at[j];
    room->scores.n = n;
    room->scores.loglik = room->loglik;
    (void)fixed->kind->scores(fixed, e->at.theta, &b, &room->scores, room->scratch, NULL);
    by_group(s, room->loglik, loglik);
    by_group(s, room->scores.block[0].left, slope);
    for (int64_t j = 0; j < s->groups; j++) slope[j] *= sd;
}

/* The groups that were refused, to be tried again. */
static void leave_out(bundle *s, const bool *done, double *at, double *loglik, double *slope) {
    int64_t n = 0, groups = 0;
    for (int64_t j = 0; j < s->groups; j++) {
        int64_t from = s->begin[j], to = s->begin[j + 1];
        if (done[j]) continue;
        for (int64_t i = from; i < to; i++, n++) {
            s->rest[n] = s->rest[i];
            s->y[n] = s->y[i];
            s->slot[n] = s->slot[i];
        }
        s->group[groups] = s->group[j];
        at[groups] = at[j];
        loglik[groups] = loglik[j];
        slope[groups++] = slope[j];
        s->begin[groups] = n;
    }
    s->groups = groups;
}

/* v of groups of few rows from its law given all else, by rejection. log p is concave, so that its
 * tangent lies above it wherever it is taken: phi(v) times the tangent's exp is N(slope, 1). It is
 * taken near the mode, where v is the slope and few are rejected. */
static void redraw(const leap *l, sgfsi_mixed_room *room, sgfsi_stream *stream, bundle *s) {
    sgfsi_groups_chain *e = l->e;
    sgfsi_mixed_effects *f = &e->at.term[e->k];
    double low[CHUNK], high[CHUNK], at[CHUNK], loglik[CHUNK], slope[CHUNK], sd = f->C[0];
    double to[CHUNK], *tried = low, *none = high;
    bool done[CHUNK];
    for (int64_t j = 0; j < s->groups; j++) { /* a row's slope is 1 at most */
        high[j] = FEW * sd;
        low[j] = -high[j];
    }
    for (int half = 0; half <= 12; half++) {
        for (int64_t j = 0; j < s->groups; j++) at[j] = 0.5 * (low[j] + high[j]);
        look(e, room, s, sd, at, loglik, slope);
        for (int64_t j = 0; j < s->groups; j++) *(slope[j] > at[j] ? &low[j] : &high[j]) = at[j];
    }
    while (s->groups > 0) {
        for (int64_t j = 0; j < s->groups; j++) {
            double xi[2];
            sgfsi_normals(stream, 2, xi);
            to[j] = slope[j] + xi[0];
        }
        look(e, room, s, sd, to, tried, none);
        for (int64_t j = 0; j < s->groups; j++) {
            double u[2];
            sgfsi_uniforms(stream, 2, u);
            done[j] = log(u[0]) < tried[j] - loglik[j] - slope[j] * (to[j] - at[j]);
            if (!done[j]) continue;
            f->v[s->group[j]] = to[j];
            for (int64_t i = s->begin[j]; i < s->begin[j + 1]; i++)
                e->at.eta[s->slot[i]] = room->eta[i];
        }
        leave_out(s, done, at, loglik, slope);
    }
}

static void draw_small(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to, double *sums) {
    const leap *l = user;
    const sgfsi_mixed_term *t = &l->e->mixed->term[l->e->k];
    sgfsi_stream stream = l->stream;
    bundle s;
    (void)sums;
    sgfsi_stream_skip(&stream, from << 20);
    s.groups = s.begin[0] = 0;
    for (int64_t g = from; g < to; g++) {
        if (rows_of(t, g) > FEW || !take_in(l, g, &s)) continue;
        redraw(l, room, &stream, &s);
    }
    if (s.groups > 0) redraw(l, room, &stream, &s);
}

static void add_up(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n, double *sums) {
    sgfsi_groups_chain *e = user;
    sums[0] += sgfsi_mixed_chunk(&e->at, room, e->at.theta, n, e->mixed->y + first, NULL,
                                 e->at.eta + first, NULL);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* log density at the leap, but for priors, less that of the larger groups at the place itself.
 * *few: of groups of few rows. */
static double weigh_at(sgfsi_groups_chain *e, leap *l, double *few) {
    double sums[SUMS];
    sgfsi_mixed_groups(&e->at, e->k, weigh, l, SUMS, sums);
    *few = sums[SMALL];
    return sums[SMALL] + sums[LARGER];
}

static leap here(sgfsi_groups_chain *e) {
    return (leap){.e = e, .grow = 1, .C = e->at.term[e->k].C[0]};
}

static void make(sgfsi_groups_chain *e, leap *l) {
    double none;
    sgfsi_mixed_groups(&e->at, e->k, land, l, 0, &none);
}

/* theta around the centre. *few: log density of the groups of few rows, which follows. */
static sgfs_status move_beta(sgfsi_groups_chain *e, const double *xi, double uniform, double *few,
                             double *accepted, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    const sgfs_device *dev = m->fixed.ctx.near;
    int64_t p = m->p;
    bool walk = e->t % 4 == 3;
    double rho = walk ? 1 : rhos[e->t % 4], *theta = e->at.theta,
           away = walk ? 2.4 / sqrt(fmax(1, (double)p)) : sqrt(1 - rho * rho);
    double *from = e->d[0], *to = e->d[1], ratio = 0, before = 0, after = 0;
    double *phi = e->shift + e->k * p, R = sgfsi_groups_attenuation(e->at.term[e->k].shape[0]);
    for (int64_t j = 0; j < p; j++) from[j] = to[j] = theta[j] - R * phi[j];
    sgfsi_trmv(dev, p, e->L, true, to); /* z = L'd */
    for (int64_t j = 0; j < p; j++) {
        double z = to[j];
        to[j] = rho * z + away * xi[j];
        if (!walk) ratio += 0.5 * (to[j] * to[j] - z * z);
    }
    sgfsi_trsv(dev, p, e->L, true, to);
    for (int64_t j = 0; j < p; j++) to[j] -= from[j];
    sgfs_status status = sgfsi_mixed_times(&e->at, to, e->at.f, err);
    if (status == SGFS_OK) status = sgfsi_mixed_prior(m, theta, &before, err);
    if (status != SGFS_OK) return status;
    leap l = here(e);
    l.add = e->at.f;
    for (int64_t j = 0; j < p; j++) theta[j] += to[j];
    status = sgfsi_mixed_prior(m, theta, &after, err);
    if (status != SGFS_OK) return status;
    double small, next = weigh_at(e, &l, &small);
    ratio = sgfsi_group_density(ratio + next - *few + after - before);
    *accepted = log(uniform) < ratio;
    if (*accepted > 0) {
        make(e, &l);
        *few = small;
    } else
        for (int64_t j = 0; j < p; j++) theta[j] -= to[j];
    return SGFS_OK;
}

/* The priors of coefficients and of all scales. */
static sgfs_status priors(const sgfsi_groups_chain *e, double *lp, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    *lp = 0;
    for (int64_t k = 0; k < m->terms; k++)
        *lp += sgfsi_mixed_scales_prior(m, k, e->at.term[k].shape);
    return sgfsi_mixed_prior(m, e->at.theta, lp, err);
}

/* Coefficients and the other terms' scales grow, and the term's own log sd becomes to. */
static void grow(sgfsi_groups_chain *e, double by, double to) {
    const sgfsi_mixed *m = e->mixed;
    for (int64_t j = 0; j < m->p; j++) e->at.theta[j] *= by;
    for (int64_t k = 0; k < m->terms; k++)
        e->at.term[k].shape[0] = k == e->k ? to : e->at.term[k].shape[0] + log(by);
}

static sgfs_status move_along(sgfsi_groups_chain *e, double xi, double uniform, bool warming,
                              double few, sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    double from = e->at.term[e->k].shape[0], before, after;
    double *step = e->step + e->k * SGFSI_GROUP_STEPS + SGFSI_RIDGE_STEP,
           to = from + exp(*step) * xi;
    leap l = here(e);
    l.C = exp(to);
    l.grow = sgfsi_groups_attenuation(to) / sgfsi_groups_attenuation(from);
    if (l.C > largest) return SGFS_OK;
    sgfs_status status = priors(e, &before, err);
    if (status != SGFS_OK) return status;
    grow(e, l.grow, to);
    status = priors(e, &after, err);
    if (status != SGFS_OK) return status;
    double small, next = weigh_at(e, &l, &small), jacobian = (double)m->p * log(l.grow),
                  ratio = sgfsi_group_density(next - few + after - before + jacobian);
    if (warming) *step += (fmin(1, exp(ratio)) - 0.44) / sqrt(1 + e->learned);
    if (log(uniform) >= ratio) {
        grow(e, 1 / l.grow, from);
        return SGFS_OK;
    }
    make(e, &l);
    for (int64_t k = 0; k < m->terms; k++)
        sgfsi_mixed_factor(m, k, e->at.term[k].shape, e->at.term[k].C);
    return SGFS_OK;
}

sgfs_status sgfsi_groups_move_singles(sgfsi_groups_chain *e, bool warming, double *accepted,
                                      sgfs_err *err) {
    const sgfsi_mixed *m = e->mixed;
    int64_t p = m->p;
    double uniform[2], xi[2], log_sd = e->at.term[e->k].shape[0], *z = e->centre + p;
    leap l = here(e);
    *accepted = 0;
    if (l.C > largest) return SGFS_OK;
    sgfs_status status = sgfsi_mixed_fixed(&e->at, e->k, e->L, e->centre, err);
    if (status == SGFS_OK && warming) status = sgfsi_groups_newton(e, e->d[0], err);
    if (status != SGFS_OK) return status;
    double R = sgfsi_groups_attenuation(log_sd), *phi = e->shift + e->k * p;
    for (int64_t j = 0; warming && j < p; j++)
        phi[j] += e->share * ((e->at.theta[j] + e->d[0][j]) / R - phi[j]);
    sgfsi_stream noise = sgfsi_group_stream_of(e, e->k, SGFSI_NOISE),
                 accept = sgfsi_group_stream_of(e, e->k, SGFSI_ACCEPT);
    sgfsi_uniforms(&accept, 2, uniform);
    for (int64_t j = 0; j < p; j++) {
        sgfsi_normals(&noise, 2, xi);
        z[j] = xi[0];
    }
    sgfsi_normals(&noise, 2, xi);
    double few, none;
    (void)weigh_at(e, &l, &few);
    status = move_beta(e, z, uniform[0], &few, accepted, err);
    if (status == SGFS_OK) status = move_along(e, xi[0], uniform[1], warming, few, err);
    if (status != SGFS_OK) return status;
    l = here(e);
    l.stream = sgfsi_group_stream_of(e, e->k, SGFSI_SINGLES);
    sgfsi_mixed_groups(&e->at, e->k, draw_small, &l, 0, &none);
    sgfsi_mixed_sum(&e->at, add_up, e, 1, &e->at.loglik);
    return SGFS_OK;
}
