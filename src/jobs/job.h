/* SPDX-License-Identifier: MIT
 * job.h: what all jobs have in common (sgfs.h: "jobs"), and the table of kinds.
 *
 * A job uses the engine, and its result is not a draw: a prediction, a mode, a packed file. A new
 * kind is a file with a struct that begins with an sgfs_job, a table of functions, and a row in
 * sgfsi_jobs (job.c); its open function is declared in sgfs.h. Handled here, once for all kinds:
 * the private copy of the config, running once, stopping, the clock, progress, JSON and files.
 */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "base/stop.h"

typedef struct sgfsi_job_kind {
    const char *stage;          /* of its options: "predict" */
    const sgfs_option *options; /* "predict.*"; or sgfsi_no_options */
    const char *doing;          /* for progress: "predicting" */
    /* All the work. Sets job->result, where there is one, even if it is stopped or fails. */
    sgfs_status (*run)(sgfs_job *job, sgfs_err *err);
    /* The whole result; NULL: out of memory. Called when there is one. */
    sgfsi_json *(*json)(const sgfs_job *job);
    /* What sgfs_job_save does; NULL: the JSON goes to the file. */
    sgfs_status (*save)(const sgfs_job *job, const char *path, sgfs_err *err);
    void (*close)(sgfs_job *job); /* what neither the arena nor the config holds; or NULL */
} sgfsi_job_kind;

extern const sgfsi_job_kind *const sgfsi_jobs[]; /* NULL-terminated */
extern const sgfsi_job_kind sgfsi_job_optimize, sgfsi_job_check_grad, sgfsi_job_tune,
    sgfsi_job_audit, sgfsi_job_predict, sgfsi_job_pack, sgfsi_job_simulate, sgfsi_job_summary,
    sgfsi_job_compare, sgfsi_job_page;

struct sgfs_job { /* the first member of every kind's own struct */
    const sgfsi_job_kind *kind;
    sgfs_config *cfg;   /* the caller's, copied; speaks */
    sgfsi_arena arena;  /* for what lives as long as the job */
    int64_t threads;    /* that may work at the same time */
    const void *result; /* NULL: none yet */
    bool ran;
    double start; /* clock when it began to run */
};

/* `bytes` of zeros that begin with a job of this kind, with a copy of cfg. NULL where cfg is, with
 * SGFS_EUSAGE and the sentence `needed` (unless err says already why), or where memory is out. */
void *sgfsi_job_new(const sgfsi_job_kind *kind, size_t bytes, const sgfs_config *cfg,
                    const char *needed, sgfs_err *err);
/* The job, or NULL where opening failed, after freeing it: the last line of an open function. */
sgfs_job *sgfsi_job_opened(sgfs_job *job, sgfs_status status);
const sgfsi_stop *sgfsi_job_stop(const sgfs_job *job); /* whether it is asked to */
bool sgfsi_job_stopping(const sgfs_job *job);
double sgfsi_job_seconds(const sgfs_job *job); /* since it began to run */
/* Hand on how far it is: a fraction of the work, `done` of `total` things where there are such (0:
 * there are none), and in words. */
void sgfsi_job_report(sgfs_job *job, double fraction, int64_t done, int64_t total,
                      const char *format, ...) SGFSI_PRINTF(5, 6);
/* Write a JSON value, which is freed, to a file. */
sgfs_status sgfsi_job_write(const sgfs_job *job, sgfsi_json *v, const char *path, sgfs_err *err);
