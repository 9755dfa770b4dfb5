/* SPDX-License-Identifier: MIT
 * summarize.c: the two jobs that only look at draws: their summary, and their distance from a
 * reference. All the arithmetic is in diagnostics/.
 */
#include "diagnostics/summary.h"

#include "jobs/job.h"

typedef struct summarize {
    sgfs_job job;
    const sgfs_draws *draws;
    char *reference; /* of a comparison */
    sgfs_summary *summary;
    sgfs_compare *compare;
} summarize;

/* ---- summary --------------------------------------------------------------------------------- */

sgfs_job *sgfs_summary_open(const sgfs_draws *draws, const sgfs_config *cfg, sgfs_err *err) {
    summarize *s = sgfsi_job_new(&sgfsi_job_summary, sizeof *s, draws != NULL ? cfg : NULL,
                                 "sgfs_summary_open: draws and a config are needed.", err);
    if (s == NULL) return NULL;
    s->draws = draws;
    return &s->job;
}

static sgfs_status run_summary(sgfs_job *job, sgfs_err *err) {
    summarize *s = (summarize *)job;
    job->result = s->summary = sgfsi_summary_new(s->draws, job->threads, err);
    return s->summary != NULL ? SGFS_OK : err->code;
}

static sgfsi_json *summary_json(const sgfs_job *job) {
    return sgfsi_summary_json(job->result);
}

static void close_summarize(sgfs_job *job) {
    sgfsi_summary_free(((summarize *)job)->summary);
    sgfsi_compare_free(((summarize *)job)->compare);
}

const sgfsi_job_kind sgfsi_job_summary = {.stage = "summary",
                                          .options = sgfsi_no_options,
                                          .doing = "summarizing",
                                          .run = run_summary,
                                          .json = summary_json,
                                          .close = close_summarize};

/* ---- comparison ------------------------------------------------------------------------------ */

sgfs_job *sgfs_compare_open(const sgfs_draws *draws, const char *reference, const sgfs_config *cfg,
                            sgfs_err *err) {
    summarize *s = sgfsi_job_new(
        &sgfsi_job_compare, sizeof *s, draws != NULL && reference != NULL ? cfg : NULL,
        "sgfs_compare_open: draws, a reference and a config are needed.", err);
    if (s == NULL) return NULL;
    s->draws = draws;
    s->reference = sgfsi_arena_text(&s->job.arena, reference);
    return sgfsi_job_opened(
        &s->job, s->reference != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the comparison"));
}

static sgfs_status run_compare(sgfs_job *job, sgfs_err *err) {
    summarize *s = (summarize *)job;
    job->result = s->compare = sgfsi_compare_new(s->draws, s->reference, job->threads, err);
    return s->compare != NULL ? SGFS_OK : err->code;
}

static sgfsi_json *compare_json(const sgfs_job *job) {
    return sgfsi_compare_json(job->result);
}

const sgfsi_job_kind sgfsi_job_compare = {.stage = "compare",
                                          .options = sgfsi_no_options,
                                          .doing = "comparing",
                                          .run = run_compare,
                                          .json = compare_json,
                                          .close = close_summarize};
