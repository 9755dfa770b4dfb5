/* SPDX-License-Identifier: MIT
 * audit.h: the insides of an audit, for audit.c (which chains, and when it is over),
 * reference_chain.c (one of them) and audit_report.c (what is said of them).
 */
#pragma once

#include "chain/run.h"
#include "diagnostics/batchmeans.h"
#include "jobs/job.h"
#include "jobs/reopen.h"

/* Chains of one sampler at one step, and what they say. */
typedef struct sgfsi_reference_chain {
    const char *sampler;      /* "sgfs-cv", "exact" */
    double h;                 /* step; NaN: the sampler's own choice (which is put here), or none */
    double error;             /* of a mean, in sd, that is wanted */
    char what[64];            /* "h = 0.5", "exact draws" */
    sgfsi_estimate *estimate; /* D; NULL: not made */
    double reached;           /* largest error of a mean, in sd */
    int64_t freedom;          /* degrees of freedom of the errors */
    double work;              /* share of the whole audit, in iterations */
    int64_t rows;             /* touched */
    bool enough;              /* there are draws enough to speak of errors */
    bool over;                /* it has had its time */
} sgfsi_reference_chain;

enum {
    SGFSI_REFERENCE_H,
    SGFSI_REFERENCE_HALF,
    SGFSI_REFERENCE_QUARTER,
    SGFSI_REFERENCE_EXACT,
    SGFSI_REFERENCES
};

typedef enum sgfsi_audit_way {
    SGFSI_AUDIT_NOTHING, /* the sampler is exact */
    SGFSI_AUDIT_STEP,    /* sgfs-cv: chains at h, h/2, h/4 */
    SGFSI_AUDIT_DRAWS    /* the run's own draws against a reference */
} sgfsi_audit_way;

typedef struct sgfsi_audit {
    sgfs_job job;
    char *path;
    sgfs_draws *run;
    sgfsi_reopened reopened;
    const sgfs_model *model; /* reopened, or the caller's; NULL: nothing to measure */
    sgfsi_audit_way way;
    const char *sampler; /* of the run; borrowed from its header */
    double h;            /* the run's; NaN: it has none */
    sgfsi_reference_chain reference[SGFSI_REFERENCES];
    sgfsi_estimate *drawn; /* D: the run's own draws; SGFSI_AUDIT_DRAWS only */
    bool exact;            /* the reference are exact draws */
    char not_exact[400];   /* or why not */
    sgfs_audit_report report;
    double done, total; /* iterations done, and planned */
    double limit;       /* seconds in all; NaN: none */
    double opened;      /* when the reference at hand began to be opened */
    bool told;          /* what it will cost was said, by the plan in force */
} sgfsi_audit;

/* Open a run of p's sampler on a->model and continue until the errors are as small as wanted, the
 * clock is at `until` (NaN: no limit) or it is asked to stop (SGFS_ESTOPPED). SGFS_EUSAGE or
 * SGFS_ENUMERIC where the model does not allow this sampler. Too few draws by then for errors that
 * mean anything: SGFS_ESTOPPED, and SGFS_EUSAGE of exact ones, without which an audit goes on. */
sgfs_status sgfsi_reference_chain_run(sgfsi_audit *a, sgfsi_reference_chain *p, double until,
                                      sgfs_err *err);
/* Estimates and their errors from the draws so far: true where there are enough for a verdict. */
bool sgfsi_reference_chain_estimate(sgfsi_reference_chain *p, const sgfsi_batchmeans *b);
/* Says so, with the status of sgfsi_reference_chain_run. */
sgfs_status sgfsi_reference_too_short(const sgfsi_audit *a, const sgfsi_reference_chain *p,
                                      sgfs_err *err);
/* What the work of reference k costs, in iterations of sgfs-cv. */
double sgfsi_reference_weight(const sgfsi_audit *a, int64_t k);
/* Iterations (all chains) that theory says it takes. */
double sgfsi_reference_plan(const sgfsi_reference_chain *p);

/* Fill a->report from what the reference chains found. */
sgfs_status sgfsi_audit_report(sgfsi_audit *a, sgfs_err *err);
/* The same where there is nothing to measure. */
sgfs_status sgfsi_audit_report_nothing(sgfsi_audit *a, sgfs_err *err);
sgfsi_json *sgfsi_audit_json(const sgfs_job *job);
