/* SPDX-License-Identifier: MIT
 * laplace.c: independent draws from the Gaussian at the posterior's mode,
 *
 *     theta = mode + L^-T z,   z ~ N(0, I),   L L' = A = expected information + Lambda at the mode.
 *
 * The mode is found while the first chain opens (posterior/mode.c); the other chains share it.
 * After that no row is read: a draw costs D^2. Exact where the posterior is Gaussian (linear
 * regression with known sigma), a baseline everywhere else.
 *
 * The statistic lp is the Gaussian's own log density, lp(mode) - z'z/2, not the posterior's at the
 * draw, which would cost a pass over the data each.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "posterior/mode.h"
#include "sampler/sampler.h"

typedef struct settings {
    double tolerance;
    int64_t most; /* -1: as the search itself does */
} settings;

static const sgfsi_setting setting_list[] = {
    {"optimize.tolerance", offsetof(settings, tolerance), NULL, false},
    {"optimize.max_iterations", offsetof(settings, most), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct laplace {
    sgfsi_mode mode;
    double *z; /* D, each chain's own */
} laplace;

/* The sampler's options are complete before the model is looked at. */
static sgfs_status plan_laplace(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    if (now->D > SGFSI_MOST_DENSE) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sampler laplace needs a %lld x %lld matrix, and makes none above %d: "
                          "use --sampler sgfs-d for many parameters.",
                          (long long)now->D, (long long)now->D, (int)SGFSI_MOST_DENSE);
    }
    sgfsi_plan_lengths(plan, 0, 1000, NAN);
    return sgfsi_plan_refuse_start(plan, false, "every draw is independent", err);
}

static sgfs_status open_laplace(sgfs_sampler *sampler, sgfs_err *err) {
    laplace *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s != NULL) s->z = SGFSI_DOUBLES(sampler->arena, sampler->D);
    if (s == NULL || s->z == NULL) return sgfsi_fail_memory(err, "the sampler");
    if (sampler->model->kind->curvature == NULL) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "Model %s cannot say its information matrix, which --sampler laplace is made of.",
            sampler->model->kind->name);
    }
    sampler->state = s;
    if (sampler->first != NULL) {
        s->mode = ((const laplace *)sampler->first->state)->mode;
        return SGFS_OK;
    }
    const settings *set = sampler->settings;
    const sgfsi_mode_plan plan = {.method = "fisher",
                                  .tolerance = set->tolerance,
                                  .most = set->most > 0 ? set->most : 0,
                                  .threads =
                                      sampler->plan->cores *
                                      sampler->full.threads}; /* all that the chains will have */
    sgfs_status status = sgfsi_mode_search(sampler->model, &plan, sampler->arena, &s->mode, err);
    if (status == SGFS_OK) sampler->full.rows_touched += s->mode.rows;
    return status;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    (void)err;
    const laplace *s = sampler->state;
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = sampler->D;
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    stats[0] = s->mode.lp - 0.5 * sgfsi_dot(dev, D, s->z, s->z);
    sgfsi_trsv(dev, D, s->mode.L, true, s->z);
    memcpy(theta, s->mode.theta, (size_t)D * sizeof *theta);
    sgfsi_axpy(dev, D, 1.0, s->z, theta);
    return SGFS_OK;
}

static const char *const stats[] = {SGFSI_STAT_LP, NULL};

const sgfs_sampler_kind sgfs_sampler_laplace = {
    .name = "laplace",
    .help = "independent draws from the Gaussian at the posterior's mode",
    .options = sgfsi_mode_options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .full_data = true,
    .from_curvature = true,
    .independent = true,
    .stats = stats,
    .plan = plan_laplace,
    .open = open_laplace,
    .step = step,
    .fields = sgfsi_no_fields,
    .caution = "Laplace is approximate: these are draws from the Gaussian at the posterior's mode, "
               "not from the posterior. Skewness and tails are missing, and the mean is off by a "
               "part of the sd that shrinks only as 1/sqrt(rows) and is large where events are "
               "rare. R-hat and ESS are perfect by construction and see none of it. Compare with "
               "--sampler nuts, or with sgfs-f at a large --alpha.",
};
