/* SPDX-License-Identifier: MIT
 * least_squares.c: from all rows to coordinates in which a linear regression falls apart.
 *
 * Let G = X'X (rows by their weights) and Lambda = diag(P). With A = G/sigma0^2 + Lambda = L L' and
 * the eigenvectors V of L^-1 Lambda L^-T, T' = L^-T V' makes both diagonal at once:
 *     T Lambda T' = diag(nu),   T G T'/sigma0^2 = diag(d) = I - diag(nu).
 *
 * Why not the eigenvectors of G, columns scaled by the prior's deviations: those are found with an
 * error of 1e-16 of the *largest* eigenvalue, and next to an income in dollars nothing would be
 * left of a column of zeros and ones. A Cholesky factor does not mind the columns' units, and nu
 * lies between 0 and 1: an error of 1e-16 in nu is one of 1e-16 in a nu + d, the information, as
 * long as sigma is not too far from sigma0. So sigma0 is the mode of sigma's own law, found by
 * doing all this again where the first guess was off by more than a factor of exp(4). It also
 * takes a P_j of 0. nu is then taken from T itself, so that a small one keeps its digits; d below 0
 * by rounding is 0, which changes a d + nu by no more than its own rounding.
 *
 * The squares in G lose half of the digits of X, which shows where columns are nearly collinear.
 * What is lost that way is the accuracy of the steps to the centre and of T, not that of the law:
 * residuals and gradient are taken anew at the centre, by another pass over the rows. Where sigma0
 * is so small that rounding of G/sigma0^2 hides Lambda, the factor is made in two steps (Fukaya and
 * others 2020, shifted CholeskyQR): with L1 L1' = A + shift, shift just above the rounding, the
 * rows of X L1^-T are nearly orthogonal, so that nothing is lost in *their* squares,
 *     A2 = (X L1^-T)'(X L1^-T)/sigma0^2 + L1^-1 Lambda L1^-T = L2 L2',     L = L1 L2,
 * and the gradient is taken by these columns, too: by X it would be a difference of large numbers.
 *
 * More columns than rows: only N combinations of the coefficients are seen. In the coefficients
 * y_j = (beta_j - mean_j) sqrt(P_j), whose prior is N(0, I), X_j/sqrt(P_j) = S, the
 * eigendecomposition S S' = U'diag(l)U of N x N gives
 *     S = U' l^1/2 axes,     axes = l^-1/2 U S, orthonormal rows,
 * so that y enters by the N numbers axes y alone, again N(0, I), and the rest of y has its prior.
 * The regression on the columns of U' l^1/2 is one of N columns, and goes the way of all others.
 * Where the prior is one of the intercept at the means of columns that are not centred (prior.h),
 * all of this is done in that intercept, b_0 = beta_0 + means'beta, and in columns that are centred
 * on the way, x - means, so that Lambda is diagonal as ever.
 *
 * Coefficients without a prior, and those whose columns dwarf all others (whose l would drown the
 * small ones) stay columns of their own. l below rounding are left out: rows that repeat others.
 */
#include "posterior/least_squares.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "model/linear.h"
#include "model/prior.h"
#include "posterior/exact_fit.h"

enum { ROUNDS = 40, MOST_CELLS = 1 << 28 };
/* Of log sigma0 to the mode; and how far it goes at once: a residual that rounding hides now shows
 * when the centre is nearer. */
static const double close_enough = 4, stride = 6;
static const double dwarfs = 1e8; /* sum of squares of a column, over the median of all */

/* The regression on q columns: of the data, or fewer that stand for them. */
typedef struct columns {
    sgfsi_least_squares *s;
    const sgfs_model *m;
    int64_t threads;
    sgfsi_arena *arena; /* for what stays in s */
    sgfsi_arena *own;   /* for what is needed while it is made */
    sgfsi_full full;    /* passes over the rows; open where they are not in memory */
    double *theta, *G;  /* D each */
    double *gram;       /* q x q, lower: X'X */
    double *P, *mean;   /* q each, of the prior; mean: 0 where P is 0 */
    double *X, *y;      /* N x q and N in memory, by the root of the weights; or NULL */
    double *residual;   /* N */
    double *gradient;   /* q: X' residual at b */
    double rss;         /* at b */
    /* where the factor takes two steps; else NULL */
    double *first, *second; /* q x q, lower: L1, L2 */
    double *turn;           /* q x q: L1^-T */
    double *turned;         /* q: (X L1^-T)'residual at b */
} columns;

const char *sgfsi_least_squares_refuses(const sgfs_model *m) {
    if (!sgfsi_is_linear(m)) return "it is made for linear regression";
    if (!sgfsi_prior_is_quadratic(m)) return "the prior is not Gaussian";
    int64_t p = m->data->p, N = m->data->N;
    if ((p < N ? p : N) > SGFSI_MOST_DENSE)
        return "both rows and columns are too many for a matrix of them";
    if (p > N && (double)p * (double)N > MOST_CELLS)
        return "there are more columns than rows, and too many of both to have them in memory";
    return NULL;
}

/* ---- rows that stay where they are ----------------------------------------------------------- */

/* beta = b, but for an intercept that is meant at the columns' means. */
static void to_beta(const sgfsi_least_squares *s, double *b) {
    if (s->means != NULL) b[0] -= sgfsi_dot(s->device, s->p, s->means, b);
}

/* Rows of [1, x] by `root` -> rows of [1, x - means] by it. */
static void centre_row(const sgfsi_least_squares *s, double root, double *row) {
    if (s->means != NULL) sgfsi_axpy(s->device, s->p, -root, s->means, row);
}

/* Gradient and residual sum of squares at b by one pass; info: X'X, too. The score of log sigma is
 * sum r^2/sigma^2 - W: an unknown sigma is given the pass far too small, so that nothing is lost to
 * W. */
static sgfs_status pass(columns *c, const double *b, double *info, sgfs_err *err) {
    int64_t D = c->m->D, q = c->s->q;
    double log_sigma = c->s->log_sigma0 - (D > q ? 20 : 0), loglik, scale = exp(2 * log_sigma);
    memcpy(c->theta, b, (size_t)q * sizeof *b);
    to_beta(c->s, c->theta);
    if (D > q) c->theta[q] = log_sigma;
    sgfs_status status = sgfsi_full_likelihood(&c->full, c->theta, &loglik, c->G, info, err);
    if (status != SGFS_OK) return status;
    c->s->rows += c->full.N;
    for (int64_t j = 0; j < q; j++) c->gradient[j] = scale * c->G[j];
    centre_row(c->s, c->gradient[0], c->gradient);
    if (D > q) c->rss = scale * (c->G[q] + c->s->W);
    else c->rss = -2 * scale * (loglik + c->s->W * (log_sigma + SGFSI_HALF_LOG_TWO_PI));
    for (int64_t i = 0; i < q && info != NULL; i++) {
        for (int64_t j = 0; j <= i; j++) c->gram[i * q + j] = scale * info[i * D + j];
    }
    const double *means = info != NULL ? c->s->means : NULL;
    double *gram = c->gram;
    for (int64_t i = q - 1; i > 0 && means != NULL; i--) {
        for (int64_t j = i; j > 0; j--) /* (x - m)(x - m)' = xx' - mx' - xm' + mm' */
            gram[i * q + j] +=
                means[i] * means[j] * gram[0] - means[i] * gram[j * q] - means[j] * gram[i * q];
    }
    for (int64_t i = 1; i < q && means != NULL; i++) gram[i * q] -= means[i] * gram[0];
    return SGFS_OK;
}

static sgfs_status gather_gram(columns *c, sgfs_err *err) {
    int64_t D = c->m->D;
    double *info;
    if (!SGFSI_ROOM(c->own, D * D, &info) || !SGFSI_ROOM(c->own, D, &c->theta, &c->G))
        return sgfsi_fail_memory(err, "the sums over all rows");
    sgfs_status status = sgfsi_full_open(&c->full, c->m, c->threads, true, c->own, err);
    c->full.log = sgfsi_config_log(c->m->cfg);
    return status == SGFS_OK ? pass(c, c->s->centre, info, err) : status;
}

/* ---- more columns than rows ------------------------------------------------------------------ */

typedef struct collection {
    const sgfsi_least_squares *s;
    double sigma2;
    double *X, *y, *weight; /* N x p, N, N */
} collection;

static void collect(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    collection *to = user;
    const sgfs_score_block *beta = &s->block[0];
    int64_t p = to->s->p;
    (void)part;
    sgfsi_data_weights(to->s->model->data, first, s->n, to->weight + first);
    for (int64_t i = 0; i < s->n; i++) {
        double root = sqrt(to->weight[first + i]), *row = to->X + (first + i) * p;
        to->y[first + i] = root > 0 ? root * to->sigma2 * beta->left[i] : 0;
        const sgfs_csr *x = beta->right_sparse;
        for (int64_t j = 0; x == NULL && j < p; j++) row[j] = root * beta->right[i * p + j];
        for (int64_t k = x != NULL ? x->start[i] : 0; x != NULL && k < x->start[i + 1]; k++)
            row[x->col[k]] = root * x->value[k];
        centre_row(to->s, root, row);
    }
}

/* Which coefficients stay single: those first in s->column. X: N x p. */
static sgfs_status sort_columns(const columns *c, const double *X, const double *P, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t N = c->m->data->N;
    double *square = SGFSI_DOUBLES(c->own, 2 * s->p), *sorted = square + s->p, most = INFINITY;
    if (square == NULL) return sgfsi_fail_memory(err, "the columns");
    int64_t many = 0, flat = 0, large = 0;
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < s->p; j++) square[j] += X[i * s->p + j] * X[i * s->p + j];
    }
    for (int64_t j = 0; j < s->p; j++) {
        flat += P[j] == 0;
        square[j] = P[j] == 0 ? INFINITY : square[j] / P[j];
        if (P[j] > 0 && square[j] > 0) sorted[many++] = square[j];
    }
    if (flat > N) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "There are more coefficients without a prior than rows: there is no "
                          "posterior. Use a prior (--prior-precision above 0).");
    }
    qsort(sorted, (size_t)many, sizeof *sorted, sgfsi_by_size);
    if (many > 0) most = dwarfs * sorted[many / 2];
    for (int64_t j = 0; j < s->p; j++) large += square[j] > most;
    if (large - flat > N / 2) most = DBL_MAX; /* they are the usual ones */
    for (int64_t j = 0; j < s->p; j++) {
        if (square[j] > most) s->column[s->single++] = j;
    }
    for (int64_t j = 0, end = s->single; j < s->p; j++) {
        if (!(square[j] > most)) s->column[end++] = j;
    }
    return SGFS_OK;
}

/* All rows at `base`, where the residuals are the target: X N x p, y N, by the weights' roots. */
static sgfs_status collect_rows(columns *c, const double *base, double log_sigma, double *X,
                                double *y, sgfs_err *err) {
    int64_t N = c->m->data->N, D = c->m->D;
    collection to = {c->s, exp(2 * log_sigma), X, y, SGFSI_DOUBLES(c->own, N)};
    const sgfsi_harvest harvest = {.take = collect, .user = &to};
    double *theta = SGFSI_DOUBLES(c->own, D), *G = SGFSI_DOUBLES(c->own, D), loglik;
    if (to.weight == NULL || theta == NULL || G == NULL) return sgfsi_fail_memory(err, "the rows");
    memcpy(theta, base, (size_t)c->s->p * sizeof *base);
    to_beta(c->s, theta);
    if (D > c->s->p) theta[c->s->p] = log_sigma;
    sgfs_status status = sgfsi_full_open(&c->full, c->m, c->threads, false, c->own, err);
    if (status == SGFS_OK) status = sgfsi_full_harvest(&c->full, theta, &harvest, &loglik, G, err);
    c->s->rows += N;
    return status;
}

/* s->axes and the columns of U' l^1/2, which become the last of c->X. S: N x m. */
static sgfs_status find_axes(columns *c, const double *S, double **columns_of, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t N = c->m->data->N, m = s->p - s->single;
    double *U = SGFSI_DOUBLES(c->own, N * N), *l = SGFSI_DOUBLES(c->own, N);
    double *work = SGFSI_DOUBLES(c->own, SGFS_EIGEN_WORK(N));
    if (U == NULL || l == NULL || work == NULL) return sgfsi_fail_memory(err, "the rows' products");
    sgfsi_gemm_nt(s->device, N, N, m, 1.0, S, S, 0.0, U);
    if (sgfsi_eigen(s->device, N, U, l, work) != 0)
        return sgfsi_fail(err, SGFS_ENUMERIC, "The products of the rows have no eigenvectors.");
    while (s->unseen < N && !(l[s->unseen] > 4 * (double)N * DBL_EPSILON * l[N - 1])) s->unseen++;
    int64_t r = N - s->unseen;
    s->axes = SGFSI_DOUBLES(c->arena, r * m);
    if (s->axes == NULL) return sgfsi_fail_memory(err, "the rows' products");
    *columns_of = U + s->unseen * N; /* r x N */
    sgfsi_gemm_nn(s->device, r, m, N, 1.0, *columns_of, S, 0.0, s->axes);
    for (int64_t k = 0; k < r; k++) {
        double root = sqrt(l[s->unseen + k]);
        for (int64_t j = 0; j < m; j++) s->axes[k * m + j] /= root;
        for (int64_t i = 0; i < N; i++) (*columns_of)[k * N + i] *= root;
    }
    s->q = s->single + r;
    return SGFS_OK;
}

/* Fewer columns that stand for all: c->X, c->y, c->P and c->mean. P, mean, base: p each. */
static sgfs_status reduce(columns *c, const double *P, const double *mean, const double *base,
                          double log_sigma, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t N = c->m->data->N, p = s->p;
    double *X, *seen = NULL;
    if (!SGFSI_ROOM(c->own, N * p, &X) || !SGFSI_ROOM(c->own, N, &c->y, &c->residual))
        return sgfsi_fail_memory(err, "the rows");
    sgfs_status status = collect_rows(c, base, log_sigma, X, c->y, err);
    if (status == SGFS_OK) status = sort_columns(c, X, P, err);
    if (status != SGFS_OK) return status;
    int64_t m = p - s->single;
    double *S;
    if (!SGFSI_ROOM(c->own, N * m, &S) || !SGFSI_ROOM(c->arena, m, &s->mean, &s->scale))
        return sgfsi_fail_memory(err, "the rows");
    for (int64_t j = 0; j < m; j++) {
        s->mean[j] = mean[s->column[s->single + j]];
        s->scale[j] = 1 / sqrt(P[s->column[s->single + j]]);
        for (int64_t i = 0; i < N; i++)
            S[i * m + j] = s->scale[j] * X[i * p + s->column[s->single + j]];
    }
    status = find_axes(c, S, &seen, err);
    if (status != SGFS_OK) return status;
    c->X = SGFSI_DOUBLES(c->own, N * s->q);
    if (c->X == NULL) return sgfsi_fail_memory(err, "the rows");
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = 0; k < s->single; k++) {
            int64_t j = s->column[k];
            c->X[i * s->q + k] = X[i * p + j];
            c->y[i] += X[i * p + j] * base[j]; /* b has them whole */
        }
        for (int64_t k = s->single; k < s->q; k++)
            c->X[i * s->q + k] = seen[(k - s->single) * N + i];
    }
    return SGFS_OK;
}

/* ---- columns that are nearly orthogonal ------------------------------------------------------ */

enum { STRIP = 64 }; /* rows at a time */

typedef struct turning {
    const columns *c;
    double sigma2;
    bool squares;
    int64_t stride;
    double *sums, *room; /* a part's (X L1^-T)'r and, behind them, squares; 2 STRIP x q each */
} turning;

/* `take` of a harvest: n rows times L1^-T, and what they add to the sums of their part. */
static void turn_rows(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    const turning *t = user;
    const columns *c = t->c;
    const sgfs_score_block *beta = &s->block[0];
    const sgfs_csr *sparse = beta->right_sparse;
    int64_t q = c->s->q;
    double *sums = t->sums + part * t->stride, *X = t->room + part * 2 * STRIP * q;
    double *Y = X + STRIP * q, weight[STRIP], residual[STRIP];
    for (int64_t at = 0; at < s->n; at += STRIP) {
        int64_t n = s->n - at < STRIP ? s->n - at : STRIP;
        sgfsi_data_weights(c->m->data, first + at, n, weight);
        memset(X, 0, (size_t)(n * q) * sizeof *X);
        for (int64_t i = 0; i < n; i++) {
            double root = sqrt(weight[i]);
            residual[i] = root > 0 ? root * t->sigma2 * beta->left[at + i] : 0;
            for (int64_t j = 0; sparse == NULL && j < q; j++)
                X[i * q + j] = root * beta->right[(at + i) * q + j];
            int64_t end = sparse != NULL ? sparse->start[at + i + 1] : 0;
            for (int64_t k = sparse != NULL ? sparse->start[at + i] : 0; k < end; k++)
                X[i * q + sparse->col[k]] = root * sparse->value[k];
            centre_row(c->s, root, X + i * q);
        }
        sgfsi_gemm_nn(c->s->device, n, q, q, 1.0, X, c->turn, 0.0, Y);
        sgfsi_gemv_t(c->s->device, n, q, 1.0, Y, residual, 1.0, sums);
        if (t->squares) sgfsi_syrk_t(c->s->device, n, q, 1.0, Y, 1.0, sums + q);
    }
}

/* c->turned at the centre and, unless A is NULL, the squares of all rows of X L1^-T there. */
static sgfs_status turn_columns(columns *c, double *A, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t q = s->q, N = c->m->data->N, parts = c->X == NULL ? c->full.parts : 1;
    sgfsi_arena own = {NULL};
    turning t = {.c = c, .squares = A != NULL, .stride = q + (A != NULL ? q * q : 0)};
    t.sums = SGFSI_DOUBLES(&own, parts * t.stride);
    t.room = SGFSI_DOUBLES(&own, c->X != NULL ? N * q : parts * 2 * STRIP * q);
    sgfs_status status = SGFS_OK;
    if (t.sums == NULL || t.room == NULL) {
        status = sgfsi_fail_memory(err, "the columns");
    } else if (c->X != NULL) {
        sgfsi_gemm_nn(s->device, N, q, q, 1.0, c->X, c->turn, 0.0, t.room);
        sgfsi_gemv_t(s->device, N, q, 1.0, t.room, c->residual, 0.0, t.sums);
        if (A != NULL) sgfsi_syrk_t(s->device, N, q, 1.0, t.room, 0.0, t.sums + q);
    } else {
        const sgfsi_crop crop = {.number = t.sums, .width = t.stride};
        const sgfsi_harvest harvest = {turn_rows, &t, &crop};
        double loglik;
        memcpy(c->theta, s->centre, (size_t)q * sizeof *s->centre);
        to_beta(s, c->theta);
        if (c->m->D > q) c->theta[q] = s->log_sigma0;
        t.sigma2 = exp(2 * s->log_sigma0);
        status = sgfsi_full_harvest(&c->full, c->theta, &harvest, &loglik, c->G, err);
        s->rows += c->full.N;
    }
    for (int64_t part = 1; part < parts && status == SGFS_OK; part++) /* in order */
        sgfsi_axpy(s->device, t.stride, 1.0, t.sums + part * t.stride, t.sums);
    if (status == SGFS_OK) memcpy(c->turned, t.sums, (size_t)q * sizeof *t.sums);
    if (status == SGFS_OK && A != NULL) memcpy(A, t.sums + q, (size_t)(q * q) * sizeof *A);
    sgfsi_arena_free(&own);
    return status;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* Gradient and residual sum of squares at b. */
static sgfs_status look(columns *c, const double *b, sgfs_err *err) {
    const sgfsi_least_squares *s = c->s;
    if (c->X == NULL) return pass(c, b, NULL, err);
    int64_t N = c->m->data->N;
    memcpy(c->residual, c->y, (size_t)N * sizeof *c->y);
    sgfsi_gemv(s->device, N, s->q, -1.0, c->X, b, 1.0, c->residual);
    sgfsi_gemv_t(s->device, N, s->q, 1.0, c->X, c->residual, 0.0, c->gradient);
    c->rss = sgfsi_dot(s->device, N, c->residual, c->residual);
    return SGFS_OK;
}

/* A (lower) -> L. The first pivot that has lost half of its digits, or -1. again: the columns have
 * been turned, the information would be 1, and a pivot must be nothing but rounding. */
static int64_t factor_once(const columns *c, bool again, double *A) {
    int64_t q = c->s->q, failed = sgfsi_potrf(c->s->device, q, A);
    double scale = exp(-2 * c->s->log_sigma0), least = again ? 64 * (double)q * DBL_EPSILON : 1e-8;
    if (failed != 0) return failed - 1;
    for (int64_t j = 0; j < q; j++) {
        double diagonal = again ? 1 : scale * c->gram[j * q + j] + c->P[j];
        if (!(A[j * q + j] * A[j * q + j] > least * diagonal)) return j;
    }
    return -1;
}

/* A = gram/sigma0^2 + diag(P), plus a share of its diagonal. */
static void fill_information(const columns *c, double share, double *A) {
    int64_t q = c->s->q;
    double scale = exp(-2 * c->s->log_sigma0);
    for (int64_t i = 0; i < q; i++) {
        for (int64_t j = 0; j < q; j++) A[i * q + j] = j <= i ? scale * c->gram[i * q + j] : 0;
        A[i * q + i] = (A[i * q + i] + c->P[i]) * (1 + share);
    }
}

/* L in two steps: c->first, c->second, and A = their product. */
static sgfs_status factor_twice(columns *c, double *A, int64_t *bad, sgfs_err *err) {
    const sgfsi_least_squares *s = c->s;
    int64_t q = s->q;
    double share = 256 * (double)q * DBL_EPSILON, scale = exp(-2 * s->log_sigma0);
    if (c->first == NULL && !SGFSI_ROOM(c->own, q * q, &c->first, &c->second, &c->turn))
        return sgfsi_fail_memory(err, "the coordinates of the regression");
    fill_information(c, share, c->first);
    int64_t failed = sgfsi_potrf(s->device, q, c->first);
    *bad = failed != 0 ? failed - 1 : -1;
    if (failed != 0) return SGFS_OK;
    sgfsi_invert_triangle(s->device, q, c->first, c->turn);
    sgfs_status status = turn_columns(c, c->second, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < q; j++) { /* A: the rows of L1^-T by the roots of P */
        double root = sqrt(c->P[j]);
        for (int64_t k = 0; k < q; k++) A[j * q + k] = root * c->turn[j * q + k];
    }
    sgfsi_syrk_t(s->device, q, q, 1.0, A, scale, c->second);
    *bad = factor_once(c, true, c->second);
    for (int64_t i = 0; i < q; i++) {
        for (int64_t j = i + 1; j < q; j++) c->first[i * q + j] = c->second[i * q + j] = 0;
    }
    sgfsi_gemm_nn(s->device, q, q, q, 1.0, c->first, c->second, 0.0, A);
    return SGFS_OK;
}

/* A -> L; where a pivot is nothing but rounding there is no posterior. */
static sgfs_status factor(columns *c, double *A, int64_t *bad, sgfs_err *err) {
    const sgfsi_least_squares *s = c->s;
    fill_information(c, 0, A);
    *bad = c->first == NULL ? factor_once(c, false, A) : 0;
    if (*bad >= 0) {
        sgfs_status status = factor_twice(c, A, bad, err);
        if (status != SGFS_OK) return status;
    }
    if (*bad < 0) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "The information matrix is singular at \"%.100s\": the data say nothing about "
        "it, or nothing that other parameters do not say as well. Leave a column out, "
        "or use a prior (--prior-precision above 0).",
        *bad < s->single ? c->m->param[s->column[*bad]] : "the rows' products");
}

/* The centre goes to the mean given sigma0; L: the factor of A. step: q. */
static sgfs_status recentre(columns *c, const double *L, double *step, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    double scale = exp(-2 * s->log_sigma0);
    bool twice = c->first != NULL;
    for (int64_t j = 0; j < s->q; j++) {
        step[j] = c->P[j] * (c->mean[j] - s->centre[j]);
        if (!twice) step[j] = scale * c->gradient[j] + step[j];
    }
    sgfsi_trsv(s->device, s->q, twice ? c->first : L, false, step);
    if (twice) sgfsi_axpy(s->device, s->q, scale, c->turned, step);
    if (twice) sgfsi_trsv(s->device, s->q, c->second, false, step);
    sgfsi_trsv(s->device, s->q, L, true, step);
    sgfsi_axpy(s->device, s->q, 1.0, step, s->centre);
    sgfs_status status = look(c, s->centre, err);
    return status == SGFS_OK && twice ? turn_columns(c, NULL, err) : status;
}

/* s->T from L. nu: q, made anew from T. work: SGFS_EIGEN_WORK(q). */
static sgfs_status find_coordinates(columns *c, const double *L, double *work, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t q = s->q;
    memset(work, 0, (size_t)(q * q) * sizeof *work);
#pragma omp parallel for schedule(static) num_threads((int)c->threads)
    for (int64_t j = 0; j < q; j++) {
        work[j * q + j] = sqrt(c->P[j]);
        sgfsi_trsv(s->device, q, L, false, work + j * q);
    }
    sgfsi_syrk_t(s->device, q, q, 1.0, work, 0.0, s->T);
    if (sgfsi_eigen(s->device, q, s->T, s->nu, work) != 0)
        return sgfsi_fail(err, SGFS_ENUMERIC, "The information matrix has no eigenvectors.");
#pragma omp parallel for schedule(static) num_threads((int)c->threads)
    for (int64_t k = 0; k < q; k++) sgfsi_trsv(s->device, q, L, true, s->T + k * q);
    return SGFS_OK;
}

/* What rows and prior say in these coordinates, at the centre. along: q. */
static void fill_in(columns *c, double *along) {
    const double nothing = 1e-12; /* information whose gradient may be rounding */
    sgfsi_least_squares *s = c->s;
    int64_t q = s->q;
    double scale = exp(-2 * s->log_sigma0), explained = 0;
    s->Q = scale * c->rss;
    for (int64_t k = 0; k < q; k++) {
        const double *t = s->T + k * q;
        double nu = 0, gamma = 0, kappa = 0;
        for (int64_t j = 0; j < q; j++) {
            nu += c->P[j] * t[j] * t[j];
            gamma += scale * c->gradient[j] * t[j];
            kappa += c->P[j] * (s->centre[j] - c->mean[j]) * t[j];
        }
        s->nu[k] = fmin(nu, 1);
        double d = s->d[k] = 1 - s->nu[k];
        if (c->first != NULL) { /* t'X'r = (L1't)'(X L1^-T)'r */
            memcpy(along, t, (size_t)q * sizeof *along);
            sgfsi_trmv(s->device, q, c->first, true, along);
            gamma = scale * sgfsi_dot(s->device, q, along, c->turned);
            if (d < nothing) d = s->d[k] = gamma = 0;
        }
        s->gamma[k] = gamma;
        s->kappa[k] = kappa;
        explained += d > 0 ? gamma * gamma / d : 0;
        /* (gamma/d + kappa/nu)^2 nu */
        double apart = d > 0 && s->nu[k] > 0 ? kappa + gamma * s->nu[k] / d : 0;
        s->delta[k] = apart != 0 ? apart * apart / s->nu[k] : 0;
    }
    double R = s->Q - explained; /* of least squares; less than rounding: the fit is perfect */
    s->law = (sgfsi_sigma_law){.q = q,
                               .d = s->d,
                               .nu = s->nu,
                               .delta = s->delta,
                               .W = s->W,
                               .R = R > 1e-11 * s->Q ? R : 0};
}

/* If a noise of this size is rounding, or surely. More columns than rows can always fit them, which
 * says nothing. */
static sgfs_status refuse_exact(columns *c, double log_sigma, bool surely, sgfs_err *err) {
    if (c->X != NULL || !(c->s->W > (double)c->s->q)) return SGFS_OK;
    memcpy(c->theta, c->s->centre, (size_t)c->s->q * sizeof *c->theta);
    to_beta(c->s, c->theta);
    c->theta[c->s->q] = log_sigma;
    return sgfsi_refuse_exact_fit(c->m, c->theta, surely, err);
}

/* From the first look to coordinates at a sigma0 near the mode of sigma. prior: precision and mean
 * of log sigma. Where the residual is lost beside the prior's pull at that sigma0 (few rows that
 * fit well: a prior alone then holds sigma up), a smaller sigma0 shows it: rounding, or a noise. */
static sgfs_status settle(columns *c, const double prior[2], sgfs_err *err) {
    const double small = 18; /* sigma0 is less than 1e-8 of where it began: R^2 is 1 */
    sgfsi_least_squares *s = c->s;
    double *A = SGFSI_DOUBLES(c->own, s->q * s->q), *step = SGFSI_DOUBLES(c->own, s->q);
    double *work = SGFSI_DOUBLES(c->own, SGFS_EIGEN_WORK(s->q)), mode = 0, first = s->log_sigma0;
    bool determined = c->X == NULL && s->W > (double)s->q, descends = false, seen = false;
    if (A == NULL || step == NULL || work == NULL)
        return sgfsi_fail_memory(err, "the coordinates of the regression");
    for (int round = 0; round < ROUNDS; round++) {
        int64_t bad;
        sgfs_status status = factor(c, A, &bad, err), exact = SGFS_OK;
        bool tiny = descends || s->log_sigma0 < first - small;
        if (status == SGFS_ENUMERIC && c->P[bad] > 0 && tiny)
            exact = refuse_exact(c, s->log_sigma0, true, err); /* it hides the prior */
        if (exact != SGFS_OK) return exact;
        if (status == SGFS_OK) status = recentre(c, A, step, err);
        if (status == SGFS_OK) status = find_coordinates(c, A, work, err);
        if (status != SGFS_OK) return status;
        fill_in(c, step);
        if (s->known) return SGFS_OK;
        s->law.precision = prior[0] / 4;
        s->law.middle = 2 * (s->log_sigma0 - prior[1]);
        status = sgfsi_sigma_law_mode(&s->law, &mode, err);
        double noise = s->law.R > 0 ? log(s->law.R / (s->W - (double)s->q)) / 2 : 0, next;
        bool there = status != SGFS_OK || fabs(mode) <= 2 * close_enough;
        if (descends && s->law.R > 0) exact = refuse_exact(c, s->log_sigma0 + noise, false, err);
        seen = seen || s->law.R > 0;
        descends =
            determined && s->law.R == 0 && (descends || (there && !seen) || status != SGFS_OK);
        if (descends) mode = 2 * stride;
        next = s->log_sigma0 - fmax(-stride, fmin(mode / 2, stride));
        if (exact == SGFS_OK) exact = refuse_exact(c, next, false, err);
        if (exact != SGFS_OK) return exact;
        if (there && !descends) return status;
        s->log_sigma0 = next;
    }
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "No noise was found that suits the rows: give it with --sigma.");
}

/* s->prior. T'T is the inverse of the information, and T Lambda (centre - mean) = kappa. */
static sgfs_status judge_prior(const columns *c, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t q = s->q;
    double *pull = SGFSI_DOUBLES(c->own, 2 * c->m->D), *inflation = pull + c->m->D;
    if (c->X != NULL) return SGFS_OK;
    if (pull == NULL) return sgfsi_fail_memory(err, "the coordinates of the regression");
    for (int64_t j = 0; j < q; j++) {
        double variance = 0;
        for (int64_t k = 0; k < q; k++) {
            double t = s->T[k * q + j];
            variance += t * t;
            pull[j] += t * s->kappa[k];
        }
        pull[j] /= sqrt(variance);
        double alone = c->gram[j * q + j];
        if (c->m->data->intercept && j > 0) alone -= c->gram[j * q] * c->gram[j * q] / c->gram[0];
        inflation[j] = variance * exp(-2 * s->log_sigma0) * alone;
    }
    sgfsi_prior_pull_tell(c->m, pull, inflation, s->prior, sizeof s->prior);
    return SGFS_OK;
}

/* Room for q coordinates. */
static sgfs_status make_room(columns *c, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    int64_t q = s->q;
    bool made =
        SGFSI_ROOM(c->arena, q, &s->centre, &s->d, &s->nu, &s->gamma, &s->kappa, &s->delta) &&
        SGFSI_ROOM(c->arena, q * q, &s->T) && SGFSI_ROOM(c->own, q * q, &c->gram) &&
        SGFSI_ROOM(c->own, q, &c->gradient, &c->P, &c->mean, &c->turned);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the coordinates of the regression");
}

static sgfs_status open_columns(columns *c, sgfs_err *err) {
    sgfsi_least_squares *s = c->s;
    const sgfs_model *m = c->m;
    int64_t D = m->D, p = s->p;
    double *start = SGFSI_DOUBLES(c->own, 4 * D), *zero = start + D, *slope = start + 2 * D;
    double *P = start + 3 * D, log_sigma = sgfsi_linear_known_log_sigma(m);
    s->column = sgfsi_arena_alloc(c->arena, p, sizeof *s->column);
    if (start == NULL || s->column == NULL) return sgfsi_fail_memory(err, "the regression");
    m->kind->start(m, start, zero);
    s->means = m->prior->means;
    if (s->means != NULL) start[0] += sgfsi_dot(s->device, p, s->means, start);
    s->known = !isnan(log_sigma);
    if (!s->known) log_sigma = start[p];
    /* a parabola is known by its slope at 0 and its curvature: slope_j = P_j mean_j */
    memset(zero, 0, (size_t)D * sizeof *zero);
    sgfs_status status = sgfsi_prior_add(m, zero, NULL, slope, err);
    for (int64_t j = 0; j < D; j++) {
        P[j] = sgfsi_prior_curvature(m, zero, j);
        slope[j] = P[j] > 0 ? slope[j] / P[j] : 0; /* now the mean */
        if (P[j] > 0 && p > m->data->N) start[j] = slope[j];
    }
    const double prior[2] = {s->known ? 0 : P[D - 1], s->known ? 0 : slope[D - 1]};
    s->log_sigma0 = log_sigma;
    if (status == SGFS_OK && p > m->data->N) {
        status = reduce(c, P, slope, start, log_sigma, err);
    } else {
        s->q = s->single = p;
        for (int64_t j = 0; j < p; j++) s->column[j] = j;
    }
    if (status == SGFS_OK) status = make_room(c, err);
    if (status != SGFS_OK) return status;
    for (int64_t k = 0; k < s->q; k++) {
        bool one = k < s->single;
        c->P[k] = one ? P[s->column[k]] : 1;
        c->mean[k] = one ? slope[s->column[k]] : 0;
        s->centre[k] = one ? start[s->column[k]] : 0;
    }
    if (c->X != NULL) {
        sgfsi_syrk_t(s->device, m->data->N, s->q, 1.0, c->X, 0.0, c->gram);
        status = look(c, s->centre, err);
    } else {
        status = gather_gram(c, err);
    }
    if (status == SGFS_OK) status = settle(c, prior, err);
    return status == SGFS_OK ? judge_prior(c, err) : status;
}

sgfs_status sgfsi_least_squares_open(sgfsi_least_squares *s, const sgfs_model *m, int64_t threads,
                                     sgfsi_arena *arena, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    columns c = {.s = s, .m = m, .threads = threads, .arena = arena, .own = &own};
    *s = (sgfsi_least_squares){
        .model = m, .device = m->ctx.near, .p = m->data->p, .W = m->data->total};
    sgfs_status status = open_columns(&c, err);
    sgfsi_arena_free(&own);
    return status;
}

/* ---- a place --------------------------------------------------------------------------------- */

void sgfsi_least_squares_place(const sgfsi_least_squares *s, const double *c, double *z,
                               double *work, double *beta) {
    int64_t q = s->q, single = s->single, m = s->p - single, r = q - single;
    double *b = work, *along = work + q;
    memcpy(b, s->centre, (size_t)q * sizeof *b);
    sgfsi_gemv_t(s->device, q, q, 1.0, s->T, c, 1.0, b);
    for (int64_t k = 0; k < single; k++) beta[s->column[k]] = b[k];
    if (m > 0) { /* z with its parts along the axes replaced */
        memcpy(along, b + single, (size_t)r * sizeof *along);
        sgfsi_gemv(s->device, r, m, -1.0, s->axes, z, 1.0, along);
        sgfsi_gemv_t(s->device, r, m, 1.0, s->axes, along, 1.0, z);
    }
    for (int64_t j = 0; j < m; j++) beta[s->column[single + j]] = s->mean[j] + s->scale[j] * z[j];
    to_beta(s, beta);
}

sgfs_status sgfsi_least_squares_lp(const sgfsi_least_squares *s, const double *c,
                                   const double *theta, double *lp, sgfs_err *err) {
    double squares = s->Q, log_sigma = s->known ? s->log_sigma0 : theta[s->p];
    for (int64_t k = 0; k < s->q; k++) squares += c[k] * (s->d[k] * c[k] - 2 * s->gamma[k]);
    *lp = -s->W * (log_sigma + SGFSI_HALF_LOG_TWO_PI) -
          0.5 * exp(-2 * (log_sigma - s->log_sigma0)) * squares;
    return sgfsi_prior_add(s->model, theta, lp, NULL, err);
}
