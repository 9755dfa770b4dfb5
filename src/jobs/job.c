/* SPDX-License-Identifier: MIT
 * job.c: the public functions that every job has, over the table of its kind.
 */
#include "jobs/job.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/ticker.h"
#include "context/context.h"

const sgfsi_job_kind *const sgfsi_jobs[] = {&sgfsi_job_simulate,
                                            &sgfsi_job_optimize,
                                            &sgfsi_job_tune,
                                            &sgfsi_job_predict,
                                            &sgfsi_job_check_grad,
                                            &sgfsi_job_audit,
                                            &sgfsi_job_pack,
                                            &sgfsi_job_summary,
                                            &sgfsi_job_compare,
                                            &sgfsi_job_page,
                                            NULL};

/* ---- for the kinds --------------------------------------------------------------------------- */

void *sgfsi_job_new(const sgfsi_job_kind *kind, size_t bytes, const sgfs_config *cfg,
                    const char *needed, sgfs_err *err) {
    if (cfg == NULL) {
        if (err == NULL || err->code == SGFS_OK) sgfsi_fail(err, SGFS_EUSAGE, "%s", needed);
        return NULL;
    }
    if (sgfsi_config_flag(cfg, "run.dry_run")) {
        sgfsi_fail(err, SGFS_EUSAGE, "--dry-run is for sgfs sample.");
        return NULL;
    }
    sgfs_job *job = calloc(1, bytes);
    if (job != NULL) {
        job->kind = kind;
        job->cfg = sgfsi_config_copy(cfg);
        job->threads = sgfsi_context_threads(cfg);
        if (job->cfg != NULL) return job;
    }
    free(job);
    sgfsi_fail_memory(err, "the job");
    return NULL;
}

sgfs_job *sgfsi_job_opened(sgfs_job *job, sgfs_status status) {
    if (status == SGFS_OK) return job;
    sgfs_job_free(job);
    return NULL;
}

const sgfsi_stop *sgfsi_job_stop(const sgfs_job *job) {
    return &sgfsi_config_log(job->cfg)->watcher->stop;
}

bool sgfsi_job_stopping(const sgfs_job *job) {
    return sgfsi_stop_asked(sgfsi_job_stop(job));
}

double sgfsi_job_seconds(const sgfs_job *job) {
    return sgfsi_now() - job->start;
}

void sgfsi_job_report(sgfs_job *job, double fraction, int64_t done, int64_t total,
                      const char *format, ...) {
    const sgfsi_watcher *watcher = sgfsi_config_log(job->cfg)->watcher;
    if (watcher->on_progress == NULL) return;
    char detail[600];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    fraction = fmin(fraction, 1); /* automatic lengths may turn out a little longer */
    double seconds = sgfsi_job_seconds(job);
    const sgfs_progress p = {.what = job->kind->doing,
                             .detail = detail,
                             .fraction = fraction,
                             .done = done,
                             .total = total,
                             .seconds = seconds,
                             .eta = fraction > 0 ? seconds * (1 - fraction) / fraction : -1,
                             .error = NAN};
    watcher->on_progress(&p, watcher->user);
}

sgfs_status sgfsi_job_write(const sgfs_job *job, sgfsi_json *v, const char *path, sgfs_err *err) {
    char *text = sgfsi_json_finish(v);
    if (text == NULL) return sgfsi_fail_memory(err, path);
    bool overwrite = sgfsi_config_flag(job->cfg, "output.overwrite");
    sgfs_status status = sgfsi_outfile_text(path, overwrite, text, err);
    free(text);
    return status;
}

/* ---- sgfs.h ---------------------------------------------------------------------------------- */

sgfs_status sgfs_job_run(sgfs_job *job, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    if (job == NULL) return sgfsi_fail_handle(err, "sgfs_job_run");
    if (job->ran) return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_job_run: the job was done already.");
    job->ran = true;
    job->start = sgfsi_now();
    return sgfsi_arena_explain(&job->arena, job->kind->run(job, err), err);
}

const void *sgfs_job_result(const sgfs_job *job) {
    return job != NULL ? job->result : NULL;
}

char *sgfs_job_json(const sgfs_job *job) {
    if (job == NULL || job->result == NULL) return NULL;
    return sgfsi_json_finish(job->kind->json(job));
}

sgfs_status sgfs_job_save(const sgfs_job *job, const char *path, sgfs_err *err) {
    if (job == NULL) return sgfsi_fail_handle(err, "sgfs_job_save");
    if (job->result == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_job_save: there is no result to save.");
    if (job->kind->save != NULL) return job->kind->save(job, path, err);
    if (path == NULL) return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_job_save: a path is needed.");
    return sgfsi_job_write(job, job->kind->json(job), path, err);
}

void sgfs_job_free(sgfs_job *job) {
    if (job == NULL) return;
    if (job->kind->close != NULL) job->kind->close(job);
    sgfs_config_free(job->cfg);
    sgfsi_arena_free(&job->arena);
    free(job);
}
