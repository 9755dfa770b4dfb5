/* SPDX-License-Identifier: MIT
 * anchored.c: the anchor of a sampler: found by the first chain, on all threads, before any chain
 * walks; borrowed by the others. A chain that has moved away makes one of its own.
 */
#include <stdio.h>

#include "base/config.h"
#include "base/number.h"
#include "posterior/prior_pull.h"
#include "sampler/sampler.h"

sgfs_status sgfsi_sampler_anchor(sgfs_sampler *s, double tolerance, bool remembers, sgfs_err *err) {
    if (s->first != NULL) {
        s->anchor = s->first->anchor;
        return SGFS_OK;
    }
    s->anchor = sgfsi_arena_alloc(s->arena, 1, sizeof *s->anchor);
    if (s->anchor == NULL) return sgfsi_fail_memory(err, "the anchor");
    int64_t threads = s->plan->cores;
    sgfsi_anchor_search how = s->plan->pilot;
    how.tolerance = tolerance;
    how.threads = threads;
    sgfs_status status = SGFS_OK;
    if (s->plan->anchor != NULL) *s->anchor = *s->plan->anchor;
    else status = sgfsi_anchor_find(s->anchor, s->model, &how, s->arena, err);
    if (status == SGFS_OK && remembers)
        status = sgfsi_anchor_remember(s->anchor, s->model, threads, s->arena, err);
    if (status != SGFS_OK) return status;
    const sgfsi_anchor *a = s->anchor;
    s->full.rows_touched += a->rows; /* the chain's costs count them */
    /* What it cost goes to the user and to the run file. */
    char pilot[64] = "";
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, a, passes);
    sgfsi_json_int(o, "pilot_rows", a->pilot);
    SGFSI_JSON(o, a, seconds, distance);
    sgfsi_json_flag(o, "cached", a->remembered != NULL);
    sgfsi_json_put(s->report, "anchor", o);
    char prior[SGFSI_PRIOR_PULL];
    status = sgfsi_prior_pull_at(s->model, a, prior, sizeof prior, err);
    if (status != SGFS_OK) return status;
    sgfsi_sampler_tell_prior(s, prior);
    if (a->pilot > 0)
        snprintf(pilot, sizeof pilot, ", after a pilot on %s rows", SGFSI_COMMAS((double)a->pilot));
    sgfsi_say(s->log, SGFS_DETAIL,
              "Anchor found in %lld passes over %s rows and %.2g s%s: %.1g posterior sd from the "
              "mode.",
              (long long)a->passes, SGFSI_COMMAS((double)s->model->data->N), a->seconds, pilot,
              a->distance);
    return SGFS_OK;
}

void sgfsi_sampler_tell_prior(const sgfs_sampler *s, const char *text) {
    if (text[0] == '\0') return;
    sgfsi_json_text(s->report, "prior_decides", text);
    sgfsi_say(s->log, SGFS_WARNING, "%s", text);
}

/* ---- a chain's own --------------------------------------------------------------------------- */

sgfs_status sgfsi_sampler_own_anchor(sgfs_sampler *s, sgfs_err *err) {
    s->own = sgfsi_arena_alloc(s->arena, 1, sizeof *s->own);
    if (s->own == NULL) return sgfsi_fail_memory(err, "an anchor");
    return sgfsi_anchor_open(s->own, s->D, s->arena, err);
}

/* Room is made once, from the chain's own arena, and written anew each time. */
sgfs_status sgfsi_sampler_reanchor(sgfs_sampler *s, const double *theta, sgfs_err *err) {
    sgfs_status status = s->own == NULL ? sgfsi_sampler_own_anchor(s, err) : SGFS_OK;
    s->anchor = s->own;
    if (status == SGFS_OK) status = sgfsi_anchor_at(s->anchor, s->model, theta, 1, err);
    s->reanchors++;
    s->full.rows_touched += s->model->data->N;
    return status;
}
