/* SPDX-License-Identifier: MIT
 * cmd_audit.c: sgfs audit RUN
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"data", "FILE...", "where the run's rows are now (default: where they were)"},
    {"no-store", NULL, "leave the run file as it is: sgfs summary will not quote the result"},
    {"chains", "K", "independent chains of each kind (default 4)"},
    {"seed", "K", "same seed, same numbers (default 1)"},
    {"threads", "K", "chains run side by side (default: all cores)"},
    {"max-time", "X", "seconds in all: be content with what is known by then"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"chains", "run.chains"},
                                  {"seed", "run.seed"},
                                  {"threads", "run.threads"},
                                  {"max-time", "run.max_time"},
                                  {NULL, NULL}};

/* A file that cannot be written costs the quotation, not the result. */
static sgfs_status store(const sgfs_job *audit, const cli_args *args, sgfs_err *err) {
    const sgfs_audit_report *r = sgfs_job_result(audit);
    if (!r->needed || cli_given(&cmd_audit, args, "no-store") != NULL) return SGFS_OK;
    sgfs_status status = sgfs_job_save(audit, NULL, err);
    if (status != SGFS_EIO) return status;
    fflush(stdout);
    fprintf(stderr, "warning: the result is not kept in the run file. %s\n", err->text);
    return SGFS_OK;
}

static sgfs_status audit_run(cli_args *args, sgfs_err *err) {
    if (args->words != 1)
        return cli_fail(err, SGFS_EUSAGE, "Name one run file: sgfs audit fit.run");
    if (cli_borrow(&cmd_audit, args, borrowed, err) != SGFS_OK) return err->code;
    const char *data = cli_given(&cmd_audit, args, "data");
    sgfs_job *audit = sgfs_audit_open(args->word[0], NULL, data, args->cfg, err);
    sgfs_status status = cli_run_job(audit, args, err);
    if (status == SGFS_OK && args->json) status = cli_print_json(audit, err);
    else if (status == SGFS_OK) cli_print_audit(sgfs_job_result(audit));
    if (status == SGFS_OK) status = store(audit, args, err);
    sgfs_job_free(audit);
    return status;
}

const cli_command cmd_audit = {
    .name = "audit",
    .brief = "how far a run's sampler is from the posterior, measured",
    .usage = "RUN [--data FILE] [--model FILE] [--precision X] [--json]",
    .examples =
        "  sgfs audit fit.run\n"
        "  sgfs audit fit.run --precision 0.01 --max-time 600\n"
        "  sgfs audit fit.run --data moved/rows.csv --no-store --json\n"
        "  sgfs audit own.run --model ./mymodel.so        # a model of your own\n\n"
        "The data and the model of the run are opened again, and a note says what the audit will\n"
        "cost. A run of sgfs-cv with step h: short\n"
        "chains with h, h/2, h/4 and, where the model allows it, exact ones; every parameter's\n"
        "mean and sd at h against the others'. Without exact draws, against h -> 0, extrapolated.\n"
        "Other approximate samplers: the run's own draws against such a reference. Runs of exact,\n"
        "nuts and hmc have no bias to measure. sgfs summary quotes the last audit of a run.\n\n"
        "Errors (+-) are one standard error. The verdict counts what is beyond chance at 99 % for\n"
        "all parameters together: of audits of a faultless sampler, 1 in 100 finds something.\n"
        "Exit code 0: measured, whatever was found; 2: the model has no anchor, so there is no\n"
        "reference; 3: the data are not those of the run; 6: not a run file; 75: interrupted, or\n"
        "too short to say (--max-time): fewer than 200 effective draws of a kind. Nothing is "
        "kept.\n",
    .stages = "audit",
    .flags = flags,
    .words = 1,
    .run = audit_run,
};
