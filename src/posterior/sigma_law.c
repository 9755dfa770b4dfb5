/* SPDX-License-Identifier: MIT
 * sigma_law.c: an envelope for the law of log sigma, and rejection from it.
 *
 * Three bounds make the envelope. With f the log density (sigma_law.h) and s_k the shares there,
 * which grow with v and have s_k' = s_k (1 - s_k):
 *
 *     f'  = W/2 - R a/2 - sum s_k/2 - sum delta_k s_k'/2 - precision (v - middle)
 *     f'' = -R a/2 - sum s_k'/2 - sum delta_k s_k' (1 - 2 s_k)/2 - precision
 *
 * inside   |f''| <= C(v) = R a/2 + sum (1 + delta_k) s_k'/2 + precision, and |C'| <= C. So between
 *          two places x < y = x + h, C is at most exp(h/2) sqrt(C(x) C(y)), and f lies at most
 *          h^2/8 times that above the straight line from f(x) to f(y), and as much below at most.
 * right    f' <= W/2 - R a/2 - sum s_k/2 - precision (v - middle), which falls with v: where it is
 *          negative, the tail from there on lies below an exponential with that slope.
 * left     f' >= W/2 - R a/2 - sum (1 + delta_k) s_k/2 - precision (v - middle), because
 *          s_k' <= s_k, which grows to the left: where it is positive, likewise.
 *
 * From a hump the places go outwards, in steps for which the envelope is at most 3 % too high, or
 * more where the density is nothing, until the tails hold less than exp(-40) of it. Whatever humps
 * there are lie in between. A draw from the envelope is kept with the probability density/envelope:
 * the law of what is kept is the density itself, however coarse the pieces are.
 */
#include "posterior/sigma_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 1 << 16 };
static const double far_out = 1 << 20; /* v where a bound that has not come is not to come */
static const double excess = 0.03;     /* of the envelope's logarithm */
static const double nothing = 40;      /* the log density falls by this, and the tails begin */
static const double longest = 0.5;     /* step */

/* The log density, its slope, and the bounds. */
typedef struct look {
    double f, slope, right, left, C;
} look;

static look look_at(const sgfsi_sigma_law *law, double v) {
    double small = exp(-fabs(v)), shares = 0, logs = 0, humps = 0, conflict = 0, conflict_slope = 0;
    for (int64_t k = 0; k < law->q; k++) {
        double d = law->d[k], nu = law->nu[k], s, log_sum;
        if (nu == 0 || d == 0) { /* exp(v) may be 0 or infinite there */
            s = nu == 0;
            log_sum = nu == 0 ? v + log(d) : log(nu);
        } else if (v > 0) {
            s = d / (d + nu * small);
            log_sum = v + log(d + nu * small);
        } else {
            s = d * small / (d * small + nu);
            log_sum = log(d * small + nu);
        }
        shares += s;
        logs += log_sum;
        humps += s * (1 - s);
        conflict += law->delta[k] * s;
        conflict_slope += law->delta[k] * s * (1 - s);
    }
    double rest = law->R > 0 ? law->R * exp(v) : 0, off = v - law->middle;
    look at = {.f = 0.5 * (law->W * v - (law->R > 0 ? law->R * expm1(v) : 0) - conflict - logs -
                           law->precision * off * off)};
    at.right = 0.5 * (law->W - rest - shares) - law->precision * off;
    at.left = at.right - 0.5 * conflict;
    at.slope = at.right - 0.5 * conflict_slope;
    at.C = 0.5 * (rest + humps + conflict_slope) + law->precision;
    return at;
}

double sgfsi_sigma_law_at(const sgfsi_sigma_law *law, double v) {
    return look_at(law, v).f;
}

sgfs_status sgfsi_sigma_law_mode(const sgfsi_sigma_law *law, double *mode, sgfs_err *err) {
    double left = -1, right = 1;
    while (right < far_out && !(look_at(law, right).right < 0)) right *= 2;
    while (left > -far_out && !(look_at(law, left).left > 0)) left *= 2;
    if (right >= far_out) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "The rows can be fitted without any residual, and log_sigma has no "
                          "prior: sigma may be 0, and there is no posterior. Give log_sigma a "
                          "prior (--prior-precision), or the noise with --sigma.");
    }
    if (left <= -far_out) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "There are no more rows than coefficients without a prior, and log_sigma "
                          "has none: sigma may be infinite, and there is no posterior. Use a prior "
                          "(--prior-precision above 0).");
    }
    for (int k = 0; k < 100 && right - left > 1e-9; k++) { /* f' > 0 at left, < 0 at right */
        double middle = 0.5 * (left + right);
        if (look_at(law, middle).slope > 0) left = middle;
        else right = middle;
    }
    *mode = 0.5 * (left + right);
    return SGFS_OK;
}

/* ---- the envelope ---------------------------------------------------------------------------- */

/* Places from v on to one side (sign), until the tail is bounded and holds next to nothing. */
typedef struct walk {
    int64_t n, room;
    double *v;
    look *at;
} walk;

static sgfs_status go(const sgfsi_sigma_law *law, double v, double sign, double *top, walk *w,
                      sgfs_err *err) {
    for (;;) {
        bool room = sgfsi_grow(&w->v, &w->room, w->n + 1, sizeof *w->v) &&
                    sgfsi_resize(&w->at, w->room, sizeof *w->at);
        if (!room) return sgfsi_fail_memory(err, "the law of sigma");
        look at = look_at(law, v);
        w->v[w->n] = v;
        w->at[w->n++] = at;
        *top = fmax(*top, at.f);
        double gap = *top - at.f;
        bool bounded = sign > 0 ? at.right < 0 : at.left > 0;
        if (bounded && gap > nothing) return SGFS_OK;
        if (w->n > MOST_PIECES) {
            return sgfsi_fail(err, SGFS_ENUMERIC,
                              "The posterior of log_sigma is too wide to be drawn from: give it a "
                              "stronger prior (--prior-precision).");
        }
        double loose = excess + 0.5 * fmax(0, gap - nothing - 5);
        v += sign * fmin(longest, sqrt(8 * loose / at.C));
    }
}

/* Masses relative to exp(top). */
static void fill(sgfsi_sigma_law *law, const walk *left, const walk *right) {
    int64_t n = left->n + right->n - 1; /* the hump is in both */
    sgfsi_sigma_piece *piece = law->piece;
    double top = law->top;
    look end = left->at[left->n - 1];
    *piece = (sgfsi_sigma_piece){left->v[left->n - 1], INFINITY, end.f - top, end.left,
                                 exp(end.f - top) / end.left};
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t k = left->n - 1 - i;
        const walk *a = k >= 0 ? left : right, *b = k - 1 >= 0 ? left : right;
        int64_t from = k >= 0 ? k : -k, to = k - 1 >= 0 ? k - 1 : 1 - k;
        double x = a->v[from], h = b->v[to] - x, rise = b->at[to].f - a->at[from].f;
        double above = h * h / 8 * exp(h / 2) * sqrt(a->at[from].C * b->at[to].C);
        double height = a->at[from].f - top + above;
        double mean = rise == 0 ? 1 : rise > 0 ? -expm1(-rise) / rise : expm1(rise) / rise;
        double mass = h * exp(fmax(height, height + rise)) * mean;
        piece[i + 1] = (sgfsi_sigma_piece){x, h, height, rise / h, piece[i].mass + mass};
    }
    end = right->at[right->n - 1];
    piece[n] = (sgfsi_sigma_piece){right->v[right->n - 1], INFINITY, end.f - top, end.right,
                                   piece[n - 1].mass + exp(end.f - top) / -end.right};
    law->pieces = n + 1;
    for (int64_t i = 0; i <= n; i++) piece[i].mass /= piece[n].mass;
}

sgfs_status sgfsi_sigma_law_open(sgfsi_sigma_law *law, sgfsi_arena *arena, sgfs_err *err) {
    walk left = {.n = 0}, right = {.n = 0};
    double mode = 0;
    law->top = -INFINITY;
    sgfs_status status = sgfsi_sigma_law_mode(law, &mode, err);
    if (status == SGFS_OK) status = go(law, mode, -1, &law->top, &left, err);
    if (status == SGFS_OK) status = go(law, mode, 1, &law->top, &right, err);
    if (status == SGFS_OK) {
        law->piece = sgfsi_arena_alloc(arena, left.n + right.n, sizeof *law->piece);
        if (law->piece == NULL) status = sgfsi_fail_memory(err, "the law of sigma");
        else fill(law, &left, &right);
    }
    free(left.v);
    free(left.at);
    free(right.v);
    free(right.at);
    return status;
}

/* ---- a draw ---------------------------------------------------------------------------------- */

/* A place of the piece by its share w in (0, 1) of the piece's mass, from the left. */
static double invert(const sgfsi_sigma_piece *p, double w) {
    double rise = p->slope * p->width;
    if (isinf(p->width)) return p->at + log(w) / p->slope; /* a tail, from its end outwards */
    if (rise == 0) return p->at + w * p->width;
    if (rise < 0) return p->at + log1p(w * expm1(rise)) / p->slope;
    return p->at + p->width + log1p((1 - w) * expm1(-rise)) / p->slope;
}

double sgfsi_sigma_law_draw(const sgfsi_sigma_law *law, sgfsi_stream *stream, int64_t *tries) {
    for (;;) {
        double u[4]; /* which piece, where in it, kept or not; numbers come in pairs */
        sgfsi_uniforms(stream, 4, u);
        int64_t low = 0, high = law->pieces - 1;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (law->piece[middle].mass < u[0]) low = middle + 1;
            else high = middle;
        }
        const sgfsi_sigma_piece *p = &law->piece[low];
        double v = invert(p, u[1]), envelope = p->height + p->slope * (v - p->at);
        if (tries != NULL) ++*tries;
        if (log(u[2]) < sgfsi_sigma_law_at(law, v) - law->top - envelope) return v;
    }
}
