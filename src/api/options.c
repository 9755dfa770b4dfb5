/* SPDX-License-Identifier: MIT
 * options.c: the options of the run itself, and the list of all option sets. A new model or sampler
 * is found through its stage's table and needs no edit here.
 */
#include "api/options.h"

#include "jobs/job.h"
#include "model/user.h"
#include "posterior/mode.h"

static const sgfs_option sampler_options[] = {
    {"sampler.kind", "sampler", SGFS_TEXT, "auto", 1, 0, NULL,
     "exact, sgfs-cv, sgfs-f, nuts and others (`sgfs list samplers`; auto: what costs least)"},
    SGFSI_OPTIONS_END};

static const sgfs_option matrix_options[] = {{"fisher.kind", "fisher", SGFS_CHOICE, "full", 1, 0,
                                              sgfsi_fisher_choices + 1,
                                              "structure of the Fisher matrix for --sampler sgfs"},
                                             SGFSI_OPTIONS_END};

static const sgfs_option minibatch_options[] = {
    {"run.batch", "batch", SGFS_INTEGER, "auto", 2, 1e12, NULL,
     "rows in a minibatch (auto: 500 to 2000, or 2 a parameter; at most a quarter of all)"},
    {"run.batch_scheme", "batch-scheme", SGFS_CHOICE, "auto", 1, 0, sgfsi_scheme_choices,
     "rows with or without replacement, or in chunks of neighbours (auto: chunks, if packed)"},
    {"run.deal", "deal", SGFS_CHOICE, "auto", 1, 0, "auto|on|off",
     "each process reads its own rows of batches (auto: if files exceed the memory)"},
    SGFSI_OPTIONS_END};

static const sgfs_option run_options[] = {
    {"run.chains", "chains", SGFS_INTEGER, "4", 1, 65536, NULL,
     "independent chains (exact-hmc: 16)"},
    {"run.warmup", "warmup", SGFS_INTEGER, "auto", 0, 1e15, NULL,
     "iterations before draws are kept (auto: 10 N/n, more for small steps, at least 1000)"},
    {"run.draws", "draws", SGFS_INTEGER, "auto", 1, 1e15, NULL,
     "iterations after warm-up, per chain (auto: about 400 effective draws)"},
    {"run.ess", "ess", SGFS_NUMBER, "auto", 0, 1e12, NULL,
     "go on until every parameter's ESS is this (auto: 400 if --draws is auto; 0: never)"},
    {"run.thin", "thin", SGFS_INTEGER, "auto", 1, 1e15, NULL,
     "keep every k-th draw (auto: 1 when --draws is given, else about 1000 kept)"},
    {"run.seed", "seed", SGFS_INTEGER, "1", 0, 9e18, NULL, "same seed, same draws, bit for bit"},
    {"run.init", "init", SGFS_NUMBER, "0.5", 0, 1e6, NULL,
     "chains start uniformly within this radius (in units of the columns' scale)"},
    {"run.start", "start", SGFS_FILE, "", 1, 0, NULL,
     "all chains start here: sgfs optimize's JSON, a run's last draw, or D numbers"},
    {"run.climb", "climb", SGFS_INTEGER, "auto", 0, 1e6, NULL,
     "steps uphill of each chain before its warm-up (auto: 100 for networks, else 0)"},
    {"run.threads", "threads", SGFS_INTEGER, "auto", 1, 4096, NULL,
     "threads (auto: OMP_NUM_THREADS, else the cores this process may use)"},
    {"run.mpi", "mpi", SGFS_FLAG, "false", 1, 0, NULL,
     "share the work with the other processes of mpirun or srun (docs/cluster.md)"},
    {"run.max_time", "max-time", SGFS_NUMBER, "auto", 0, 1e9, NULL,
     "stop after this many seconds and keep what there is; --resume goes on"},
    {"run.checkpoint", "checkpoint", SGFS_NUMBER, "auto", 0, 1e9, NULL,
     "save the run's state every so many seconds (auto: 1 to 10, under 1 % of the time)"},
    {"run.dry_run", "dry-run", SGFS_FLAG, "false", 1, 0, NULL,
     "sample: say what would be done and what memory and time it needs, and do no more"},
    {"run.validate", "validate", SGFS_FILE, "", 1, 0, NULL,
     "file with rows kept aside: follow the error of the averaged prediction"},
    {"run.validate_labels", "validate-labels", SGFS_FILE, "", 1, 0, NULL,
     "file with their labels, where --validate names an IDX file"},
    {"run.device", "device", SGFS_TEXT, "blas", 1, 0, NULL,
     "arithmetic by blas, host (plain C), cuda or cuda:1 (a GPU; docs/gpu.md), or auto"},
    {"output.overwrite", "overwrite", SGFS_FLAG, "false", 1, 0, NULL,
     "replace an existing output file"},
    SGFSI_OPTIONS_END};

bool sgfsi_option_sets(int64_t index, sgfsi_option_set *set) {
    static const sgfsi_option_set stages[] = {{"run", "", sampler_options, SGFSI_ANY},
                                              {"run", "", matrix_options, SGFSI_MATRIX},
                                              {"run", "", minibatch_options, SGFSI_MINIBATCH},
                                              {"run", "", run_options, SGFSI_ANY},
                                              {"data", "", sgfsi_data_options, SGFSI_ANY},
                                              {"prior", "", sgfsi_prior_options, SGFSI_ANY},
                                              {"fisher", "", sgfsi_average_options, SGFSI_MATRIX}};
    const int64_t count = (int64_t)(sizeof stages / sizeof stages[0]);
    if (index < count) {
        *set = stages[index];
        return true;
    }
    index -= count;
    for (const sgfsi_job_kind *const *k = sgfsi_jobs; *k != NULL; k++) {
        if (index-- > 0) continue;
        *set = (sgfsi_option_set){(*k)->stage, "", (*k)->options, SGFSI_ANY};
        return true;
    }
    if (index-- == 0) { /* of the search, which anchors use as well */
        *set = (sgfsi_option_set){"optimize", "", sgfsi_mode_options, SGFSI_ANY};
        return true;
    }
    for (const sgfs_model_kind *const *m = sgfsi_models; *m != NULL; m++) {
        if (index-- > 0) continue;
        *set = (sgfsi_option_set){"model", (*m)->name, (*m)->options, SGFSI_ANY};
        return true;
    }
    if (index-- == 0) {
        *set = (sgfsi_option_set){"model", "./yours.so", sgfsi_user_options, SGFSI_ANY};
        return true;
    }
    const sgfs_sampler_kind *k = sgfsi_sampler_at(index);
    if (k != NULL) *set = (sgfsi_option_set){"sampler", k->name, k->options, SGFSI_ANY};
    return k != NULL;
}
