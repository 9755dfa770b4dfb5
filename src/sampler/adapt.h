/* SPDX-License-Identifier: MIT
 * adapt.h: what HMC and NUTS learn while warming up: a step size (dual averaging) and when to renew
 * the metric (Stan's windows).
 */
#pragma once

#include "base/err.h"
#include "base/fields.h"

/* ---- the step size --------------------------------------------------------------------------- */

typedef struct sgfsi_dual {
    double target; /* acceptance wanted, delta */
    double mu;     /* log step towards which the iterates are drawn */
    double gap;    /* average of target - acceptance, Hbar */
    double mean;   /* weighted average of the log steps, what is kept in the end */
    int64_t count; /* iterations since the last start */
} sgfsi_dual;

/* Forget what was learned and start around step size eps. The target stays. */
void sgfsi_dual_start(sgfsi_dual *d, double eps);
/* One trajectory accepted with this probability: the step size to try next. */
double sgfsi_dual_learn(sgfsi_dual *d, double acceptance);
/* The averaged step size, for the draws; needs one call of learn. */
double sgfsi_dual_result(const sgfsi_dual *d);
void sgfsi_dual_fields(sgfsi_dual *d, sgfsi_fields *list);
/* Refuse a first step that was doubled or halved for too long. why: what was wrong last; "": it is
 * not known. */
sgfs_status sgfsi_step_check(double eps, const char *why, sgfs_err *err);

/* ---- the windows ----------------------------------------------------------------------------- */

/* Iterations count from 1, as everywhere. No windows: last is 0. */
typedef struct sgfsi_windows {
    int64_t first, last; /* the metric learns from iterations first .. last */
    int64_t end;         /* where the window at hand ends */
    int64_t size;        /* of that window, as planned */
} sgfsi_windows;

sgfsi_windows sgfsi_windows_open(int64_t warmup);
bool sgfsi_windows_learn(const sgfsi_windows *w, int64_t t); /* does t belong to a window? */
/* Does a window end with t? Then the next one is planned. */
bool sgfsi_windows_end(sgfsi_windows *w, int64_t t);
