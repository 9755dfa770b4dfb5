/* SPDX-License-Identifier: MIT
 * summarize.c: the two jobs that only look at draws: their summary, and their distance from a
 * reference. All the arithmetic is in diagnostics/.
 */
#include "diagnostics/summary.h"

#include "diagnostics/summary_rows.h"
#include "jobs/job.h"

typedef struct summarize {
    sgfs_job job;
    const sgfs_draws *draws;
    char *reference; /* of a comparison; NULL: a summary */
    sgfs_summary *summary;
    sgfs_compare *compare;
} summarize;

sgfs_job *sgfs_summary_open(const sgfs_draws *draws, const sgfs_config *cfg, sgfs_err *err) {
    summarize *s = sgfsi_job_new(&sgfsi_job_summary, sizeof *s, draws != NULL ? cfg : NULL,
                                 "sgfs_summary_open: draws and a config are needed.", err);
    if (s == NULL) return NULL;
    s->draws = draws;
    return &s->job;
}

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

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    summarize *s = (summarize *)job;
    sgfs_status status = SGFS_OK;
    if (s->reference == NULL) {
        s->summary = sgfsi_summary_new(s->draws, job->threads, err);
        if (s->summary != NULL)
            status = sgfsi_summary_apply(s->summary, s->draws, job->threads, job->cfg, err);
        job->result = status == SGFS_OK ? s->summary : NULL;
    } else job->result = s->compare = sgfsi_compare_new(s->draws, s->reference, job->threads, err);
    return job->result != NULL ? SGFS_OK : sgfsi_why(err);
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const summarize *s = (const summarize *)job;
    return s->summary != NULL ? sgfsi_summary_json(s->summary) : sgfsi_compare_json(s->compare);
}

static void close_summarize(sgfs_job *job) {
    sgfsi_summary_free(((summarize *)job)->summary);
    sgfsi_compare_free(((summarize *)job)->compare);
}

const sgfsi_job_kind sgfsi_job_summary = {.stage = "summary",
                                          .options = sgfsi_summary_options,
                                          .doing = "summarizing",
                                          .run = run,
                                          .json = to_json,
                                          .close = close_summarize},
                     sgfsi_job_compare = {.stage = "compare",
                                          .options = sgfsi_no_options,
                                          .doing = "comparing",
                                          .run = run,
                                          .json = to_json,
                                          .close = close_summarize};
