/* SPDX-License-Identifier: MIT
 * student_t.c: robust regression as a shared object, for `sgfs sample ./student_t.so --data FILE`.
 *
 *     y = x'beta + sigma e,   e ~ Student-t with 4 degrees of freedom,   theta = (beta, log sigma)
 *     log p(y|x) = log 3/8 - log sigma - 5/2 log(1 + z^2/4),   z = (y - x'beta) / sigma
 *     d/d beta = w z x / sigma,   d/d log sigma = w z^2 - 1,   w = 5 / (4 + z^2)
 *     cc -O3 -march=native -shared -fPIC student_t.c -o student_t.so -lm
 */
#include <math.h>
#include <stdio.h>

#include "sgfs.h"

static double predictor(const double *theta, const sgfs_rows *r, int64_t i) {
    double eta = 0;
    for (int64_t j = 0; j < r->cols; j++) eta += r->x[i * r->cols + j] * theta[j];
    return eta;
}

static int64_t dim(int64_t cols, void *user) {
    return (void)user, cols + 1;
}

static int scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                  void *user) {
    int64_t p = r->cols, D = p + 1;
    double log_sigma = theta[p], inverse = exp(-log_sigma);
    for (int64_t i = 0; i < r->n; i++) {
        double z = (r->y[i] - predictor(theta, r, i)) * inverse, w = 5 / (4 + z * z);
        if (loglik != NULL) loglik[i] = log(0.375) - log_sigma - 2.5 * log1p(z * z / 4);
        for (int64_t j = 0; score != NULL && j < p; j++)
            score[i * D + j] = w * z * inverse * r->x[i * p + j];
        if (score != NULL) score[i * D + p] = w * z * z - 1;
    }
    return (void)user, 0;
}

static void param_name(int64_t j, int64_t cols, const char *const *column, char *out, size_t room,
                       void *user) {
    (void)user;
    snprintf(out, room, "%s", j < cols ? column[j] : "log_sigma");
}

static int start(const sgfs_rows *r, int64_t D, double *theta, double *spread, void *user) {
    double yy = 0;
    for (int64_t i = 0; i < r->n; i++) yy += r->y[i] * r->y[i];
    for (int64_t j = 0; j < r->cols; j++) {
        double xx = 0;
        for (int64_t i = 0; i < r->n; i++) xx += r->x[i * r->cols + j] * r->x[i * r->cols + j];
        if (xx > 0) spread[j] = sqrt(yy / xx);
    }
    theta[D - 1] = 0.5 * log(yy / (double)r->n);
    return (void)user, 0;
}

static int predict(const double *theta, const sgfs_rows *r, double *mean, void *user) {
    for (int64_t i = 0; i < r->n; i++) mean[i] = predictor(theta, r, i);
    return (void)user, 0;
}

/* With 4 degrees of freedom the quantile of t has a closed form. */
static int draw(const double *theta, const sgfs_rows *r, const double *normal,
                const double *uniform, double *y, void *user) {
    (void)normal, (void)user;
    for (int64_t i = 0; i < r->n; i++) {
        double u = uniform[i], root = sqrt(4 * u * (1 - u)), t = cos(acos(root) / 3) / root;
        double e = copysign(2 * sqrt(fmax(t - 1, 0)), u - 0.5);
        y[i] = predictor(theta, r, i) + exp(theta[r->cols]) * e;
    }
    return 0;
}

const sgfs_user_model sgfs_user_model_v1 = {.size = sizeof(sgfs_user_model),
                                            .dim = dim,
                                            .scores = scores,
                                            .param_name = param_name,
                                            .start = start,
                                            .predict = predict,
                                            .draw = draw};
