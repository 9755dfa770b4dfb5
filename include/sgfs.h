/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * sgfs.h: draw from Bayesian posteriors while touching only a minibatch of rows per draw.
 *
 * The whole user's interface. In order of use:
 *
 *     config  ->  data  ->  model  ->  run  ->  draws  ->  summary, compare, predict, export
 *
 * Conventions
 *   - Handles are opaque. Every ..._free takes NULL.
 *   - A function that can fail returns sgfs_status (0 is ok, negative is an error) or NULL, and
 * fills the caller's sgfs_err (which may be NULL) with a sentence: what, where, what to do.
 *   - A NULL handle handed on fails, too, and leaves err as the call that returned it filled it: a
 * chain of calls needs one check, at its end. What cannot fail gives 0, NULL or "" for it.
 *   - Strings and arrays passed in are copied unless the comment says "borrowed".
 *   - Strings returned as `const char *` belong to the handle they came from; strings returned as
 *     `char *` belong to the caller: give them back with sgfs_text_free.
 *   - The library never prints, never exits, installs no signal handlers and keeps no mutable
 * globals.
 *   - Options are named, not typed: sgfs_config_set(cfg, "sampler.alpha", "2", &err). `sgfs list
 *     options` has every key; sgfs_option_at walks the same table.
 */
#ifndef SGFS_H
#define SGFS_H

/* ---- threads ---------------------------------------------------------------------------------
 *
 *   - Different handles may be used by different threads at the same time, and so may the same
 *     data, model or draws by several runs and jobs: nothing changes them once they are open.
 *   - One config, run or job is used by one thread at a time. Two calls are the exceptions.
 *     sgfs_config_stop may come from any thread and any signal handler; sgfs_predict_rows may come
 *     for one job from as many threads as there are, at the same time.
 *   - Inside a call there are as many threads as "run.threads" allows (default: as many as the
 *     process may use), and none is left at its end but those that OpenMP keeps for the next one.
 *     sgfs_predict_rows works in the caller's thread alone.
 *   - A message callback may be called from any of these threads, one at a time or several;
 *     progress is told in the thread that made the call; callbacks of a model of your own come from
 *     all of them at once.
 *   - While the library computes, OpenBLAS has one thread in the whole process; the number that it
 *     had is put back when the last such call has ended.
 *   - A child that is forked after work with threads goes on with one thread, to the same numbers;
 *     a run or job that was at work in another thread at that moment is lost to it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SGFS_API __attribute__((visibility("default")))
#else
#define SGFS_API
#endif

/* ---- status and errors ----------------------------------------------------------------------- */

/* The command line's exit code is minus the status, except SGFS_ENOMEM, which exits 1. */
typedef enum sgfs_status {
    SGFS_OK = 0,
    SGFS_EINTERNAL = -1, /* a mistake of ours */
    SGFS_EUSAGE = -2,    /* an option or argument out of range or unknown */
    SGFS_EDATA = -3,     /* the data or the model cannot be used */
    SGFS_ENUMERIC = -4,  /* a chain left the numbers: diverged, not positive definite */
    SGFS_EIO = -5,       /* reading or writing failed */
    SGFS_ERUNFILE = -6,  /* not a run file, or a damaged one */
    SGFS_EDOUBT = -7,    /* of `sgfs sample` alone: the draws are kept, and not to be trusted */
    SGFS_ENOMEM = -12,   /* out of memory */
    SGFS_ESTOPPED = -75  /* stopped early on request; every draw so far was kept */
} sgfs_status;

typedef struct sgfs_err {
    sgfs_status code;
    char text[512]; /* one sentence, UTF-8, always terminated; behind that of a formula which is not
                       understood two lines show the place. Options have the names of the command
                       line there: --na is "data.na", and sgfs_option_at has both of each */
} sgfs_err;

/* The version of this header, to be compared while compiling: #if SGFS_VERSION >= 200 is 0.2.0 and
 * later. */
#define SGFS_VERSION_MAJOR 0
#define SGFS_VERSION_MINOR 1
#define SGFS_VERSION_PATCH 0

#define SGFS_VERSION (10000 * SGFS_VERSION_MAJOR + 100 * SGFS_VERSION_MINOR + SGFS_VERSION_PATCH)
/* The version of the library that the program runs with: "0.1.0". */
SGFS_API const char *sgfs_version(void);
SGFS_API void sgfs_text_free(char *text);

/* ---- what there is: kinds and options -------------------------------------------------------- */

/* One row of a stage table: `stage` is "models", "samplers", "fishers", "schemes", "readers",
 * "exports", "pictures" or "devices". Returns false past the last row. Of "environment" each row is
 * a variable and the value that it should have before the program starts: GOMP_SPINCOUNT, so that
 * threads that wait do not keep the processor from those they wait for; and, on a processor that
 * OpenBLAS does not know, OPENBLAS_CORETYPE and kernels that suit it, then those it has now. Of
 * "layout" each row is a struct of this header with its size ("+0516"), or a constant with its
 * value ("-0002"), for bindings to compare with their own. */
SGFS_API bool sgfs_list(const char *stage, int64_t index, const char **name, const char **help);

/* One option row, of the stage ("run", "data", ...) or of one kind of it ("sampler", "sgfs"). */
typedef struct sgfs_option_info {
    const char *key;     /* "sampler.alpha" */
    const char *flag;    /* "alpha": --alpha on the command line */
    const char *type;    /* "number", "integer", "flag", "text" or "choice" */
    const char *value;   /* the default, as text; "auto" is chosen by the program; "" is none */
    double min, max;     /* bounds of numbers; min > max: free */
    const char *choices; /* "with|without"; of a flag, a word beside true and false; or "" */
    const char *help;    /* one line */
    const char *stage, *kind;
} sgfs_option_info;
SGFS_API bool sgfs_option_at(int64_t index, sgfs_option_info *info);

/* ---- config ---------------------------------------------------------------------------------- */

typedef struct sgfs_config sgfs_config;

typedef enum sgfs_level {
    SGFS_NOTE = 0,
    SGFS_WARNING = 1,
    SGFS_DETAIL = 2, /* of how it is done: for those who know the method */
    SGFS_TICK = 3    /* how far work that takes long is, a few times a second: "Reading: 34 %" */
} sgfs_level;
typedef void (*sgfs_message_fn)(sgfs_level level, const char *text, void *user);

SGFS_API sgfs_config *sgfs_config_new(void);
SGFS_API sgfs_status sgfs_config_set(sgfs_config *cfg, const char *key, const char *value,
                                     sgfs_err *err);
/* Every option of a JSON file {"sampler.kind": "sgld", "sampler.epsilon": 5e-4}, or those that were
 * given for a run: path may be a run file, or a sketch. Later sets win; a mistake names file and
 * key and leaves what came before it in cfg. */
SGFS_API sgfs_status sgfs_config_load(sgfs_config *cfg, const char *path, sgfs_err *err);
/* The value in force (given or default), or NULL for an unknown key. After a run file was loaded,
 * "data.path" is where its rows were, as sgfs_data_open takes it ("": not in files), and
 * "model.name" what sgfs_model_open takes; otherwise NULL. */
SGFS_API const char *sgfs_config_get(const sgfs_config *cfg, const char *key);
/* Notes and warnings of every later call that uses this config; may come from any thread. */
SGFS_API void sgfs_config_on_message(sgfs_config *cfg, sgfs_message_fn on_message, void *user);
SGFS_API void sgfs_config_free(sgfs_config *cfg);

/* ---- progress -------------------------------------------------------------------------------- */

/* How far work is; told a few times a second, in the thread that called for it. More fields may
 * come at the end. */
typedef struct sgfs_progress {
    const char *what;        /* "Reading a.csv", "warm-up", "sampling", "predicting", ... */
    const char *detail;      /* for people: "run 3 of 8 (epsilon=0.001)"; or "" */
    double fraction;         /* of all the work; 0: not known (yet) */
    int64_t done, total;     /* iterations over all chains, runs, or rows; total 0: not known */
    double seconds, eta;     /* wall clock so far, and expected to go (negative: not known yet) */
    double iterations_per_s; /* of a run, over all chains; 0: this is none */
    double ess_per_s;        /* smallest over parameters, by batch means; 0: not known (yet) */
    double error; /* on the rows of "run.validate", averaged over draws so far; NaN: not known */
    /* Of a run with "run.dry_run": memory that it would take at its largest, and all there is. */
    double bytes_needed, bytes_available;
} sgfs_progress;
typedef void (*sgfs_progress_fn)(const sgfs_progress *progress, void *user);

/* Whatever takes long goes by the config that it was opened with: data, models, runs, jobs, and the
 * opening itself, in which files are read and modes are looked for. A config given to
 * sgfs_config_on_progress hears of all of it, also of what was opened before; fn NULL: no
 * longer. */
SGFS_API void sgfs_config_on_progress(sgfs_config *cfg, sgfs_progress_fn on_progress, void *user);
/* Ask all work with this config to end soon, that which goes on and that which is yet to begin: it
 * answers SGFS_ESTOPPED. Safe from a signal handler, and from any thread. What was opened with it
 * can still be closed, summed up and freed; for other work make another config. */
SGFS_API void sgfs_config_stop(sgfs_config *cfg);
/* Several processes that work together ("run.mpi"): how it went in this one so far, to all of them.
 * Every one gets the first failure of any, with its sentence, else SGFS_OK; and its rank of how
 * many, each NULL or filled in. All of them have to call it, but one that gives up calls it
 * wherever the others are, which would wait for it otherwise. Alone it hands back what it got, as
 * rank 0 of 1. To free the config and all that was opened with it waits for the others to do so. */
SGFS_API sgfs_status sgfs_agree(const sgfs_config *cfg, sgfs_status status, int64_t *rank,
                                int64_t *size, sgfs_err *err);

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct sgfs_data sgfs_data;

/* Open a file (CSV, libsvm, IDX, npy; gz): the options "data.*" say which columns are what. Of the
 * files of a sketch (below) nothing but draws can be had. */
SGFS_API sgfs_data *sgfs_data_open(const char *path, const sgfs_config *cfg, sgfs_err *err);

/* Numbers that lie in the memory of a GPU, one row of them after another. */
typedef struct sgfs_device_array {
    const void *cells; /* an address there, after all that writes it is done or in a stream of
                          CUDA's; NULL: there is no such array */
    const char *type;  /* "f64", "f32", "i64", "i32", "i16", "i8", "u8", "u16" or "u32" */
    int64_t stride;    /* numbers from one row to the next; 0: no others lie between */
} sgfs_device_array;

/* The caller's arrays, borrowed: they must outlive the data handle and must not change. */
typedef struct sgfs_arrays {
    size_t size; /* sizeof(sgfs_arrays): tells versions apart; or 0, for the fields before device */
    int64_t rows, cols;
    const double *x;    /* rows x cols, row-major; exactly one of x, x32, csr_start and device_x */
    const float *x32;   /* rows x cols, row-major; or NULL */
    int64_t row_stride; /* elements from one row to the next; 0 means cols */
    const double *y;    /* rows */
    const char *const *names; /* cols column names, or NULL for x1, x2, ... */
    const char *target_name;  /* or NULL for "y" */
    /* Rows without their zeros: row i has csr_value[k] in column csr_col[k] (from 0, increasing),
     * k = csr_start[i] .. csr_start[i+1]-1. */
    const int64_t *csr_start; /* rows + 1, beginning with 0; or NULL */
    const int32_t *csr_col;
    const double *csr_value;
    const double *weights;  /* rows: how often each row counts, 0 or more; or NULL for once */
    const double *exposure; /* rows: above 0, for models of counts; or NULL */
    /* The GPU on which the arrays below lie, "cuda" or "cuda:1"; NULL: there are none. The rows
     * stay there (docs/gpu.md), and each of the others, a number for each row, stands for that of
     * its name above and comes to the host. They are looked at only where `size` is given. */
    const char *device;
    sgfs_device_array device_x, device_y, device_weights, device_exposure;
} sgfs_arrays;
SGFS_API sgfs_data *sgfs_data_wrap(const sgfs_arrays *arrays, const sgfs_config *cfg,
                                   sgfs_err *err);
SGFS_API void sgfs_data_free(sgfs_data *data);

/* ---- model ----------------------------------------------------------------------------------- */

typedef struct sgfs_model sgfs_model;

/* `name` is a row of sgfs_list("models"), or the path of a shared object with a model of your own
 * (below): it has a slash, or ends in .so or .dylib. data is borrowed, and outlives the model. Of
 * data NULL nothing is made: err->code is SGFS_OK where there is such a model. */
SGFS_API sgfs_model *sgfs_model_open(const char *name, const sgfs_data *data,
                                     const sgfs_config *cfg, sgfs_err *err);
SGFS_API int64_t sgfs_model_dim(const sgfs_model *model);
SGFS_API const char *sgfs_model_param(const sgfs_model *model, int64_t index);
SGFS_API void sgfs_model_free(sgfs_model *model);

/* ---- a model of your own (docs/extending.md) ------------------------------------------------- */

/* Rows as a callback sees them. More fields may come at the end. */
typedef struct sgfs_rows {
    int64_t n, cols;
    const double *x; /* n x cols, row-major; column 0 is all ones unless the intercept is off */
    const double *y; /* n targets; NULL where the callback is not to know them */
} sgfs_rows;

/* What a model is made of: a density of each row's target, and its gradient. Fields are named
 * (.size = ..., .dim = ...); those left out are NULL.
 *
 * Every callback gets `user`, allocates as it likes and keeps nothing: several threads call them at
 * once. A callback that can fail returns 0, or a code of its own, which ends the run (exit code 3).
 * So does a number that is not finite (exit code 4): hmc, nuts and the search for the mode, which
 * try places, take it for a place of density 0 and turn back. Draws made before are kept. */
typedef struct sgfs_user_model {
    size_t size;      /* sizeof(sgfs_user_model): tells versions apart */
    const char *name; /* for titles and messages; a shared object goes by its path instead */
    /* How many parameters, D, for rows of so many columns? */
    int64_t (*dim)(int64_t cols, void *user);
    /* At theta (D), for every row: the log density of its target, constants included where losses
     * are to be compared (loglik, n), and the gradient of that by theta (score, n x D, row-major).
     * Either may be NULL: not wanted. Both come uninitialised. */
    int (*scores)(const double *theta, const sgfs_rows *rows, double *loglik, double *score,
                  void *user);

    /* The rest is optional. */

    /* The name of parameter j, from 0, into out. column: the names of the columns, cols of them,
     * "intercept" first where there is one. Left empty, or NULL: theta[1], theta[2], ... */
    void (*param_name)(int64_t j, int64_t cols, const char *const *column, char *out, size_t room,
                       void *user);
    /* The log prior density up to a constant (lp, may be NULL) and its gradient (grad, dim numbers,
     * may be NULL). NULL: the options "prior.*" say it. */
    int (*log_prior)(const double *theta, int64_t dim, double *lp, double *grad, void *user);
    /* A sensible first theta, and how far chains should be spread around it, dim numbers each; they
     * hold 0 and 1 when it is called, which is what is taken without it. rows: up to 1,000 of the
     * data, evenly spaced. */
    int (*start)(const sgfs_rows *rows, int64_t dim, double *theta, double *spread, void *user);
    /* The mean of each row's target (mean, n): for predictions. */
    int (*predict)(const double *theta, const sgfs_rows *rows, double *mean, void *user);
    /* Targets drawn from the model (y, n): for predictions, and for steadier warm-ups of SGFS.
     * normal, uniform: n random numbers each to make them from. */
    int (*draw)(const double *theta, const sgfs_rows *rows, const double *normal,
                const double *uniform, double *y, void *user);
    /* What a code means, in a few words; NULL: nothing to add. */
    const char *(*message)(int code, void *user);
    void *user; /* borrowed; handed to every callback */

    /* Once for each model that is made of this table, before every other callback: the text of the
     * option "model.argument" ("": none), and *user, the field above, which it may replace by
     * something of this model's own. A model without `open` refuses an argument. */
    int (*open)(const char *argument, void **user);
    void (*close)(void *user); /* for each `open` that returned 0, when the model is freed */
    /* With log_prior: minus its second derivative by each parameter at theta (precision, dim; 0
     * where it is below), for the matrices of samplers. NULL: differences of its gradient. It is
     * asked at the start; for a parameter that no row informs, such as the scale of others, say
     * what it is where the posterior is. */
    int (*prior_precision)(const double *theta, int64_t dim, double *precision, void *user);
} sgfs_user_model;

/* A model from callbacks. The table is copied; what it points to is borrowed. */
SGFS_API sgfs_model *sgfs_model_user(const sgfs_user_model *user_model, const sgfs_data *data,
                                     const sgfs_config *cfg, sgfs_err *err);

/* A shared object for sgfs_model_open, and for `sgfs sample ./mymodel.so`, defines this one symbol.
 * (Declared here so that C++ gives it a C name, and that hidden visibility does not hide it.) */
SGFS_API extern const sgfs_user_model sgfs_user_model_v1;

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct sgfs_run sgfs_run;
typedef struct sgfs_draws sgfs_draws;

/* model is borrowed. Every choice of the options is checked here, before any work. */
SGFS_API sgfs_run *sgfs_run_open(const sgfs_model *model, const sgfs_config *cfg, sgfs_err *err);
/* One line that says what will be done: sampler, batch, chains, iterations. */
SGFS_API const char *sgfs_run_describe(const sgfs_run *run);
/* Append every kept draw to a run file as it is made. An existing file is refused unless
 * the option "output.overwrite" is set. Without it draws are kept in memory. */
SGFS_API sgfs_status sgfs_run_attach(sgfs_run *run, const char *path, sgfs_err *err);
/* A run that was killed, stopped, or ended by a full disk goes on to exactly the draws it would
 * have made; a complete one becomes longer where cfg asks for more draws or a higher ESS. path: its
 * file, to which draws are appended. model (borrowed) and cfg: as when it was opened;
 * sgfs_config_load reads the options from the file. "run.threads", "run.max_time" (which counts
 * anew) and "run.checkpoint" may be others. SGFS_EUSAGE names each option that may not;
 * SGFS_ERUNFILE where data, model, arithmetic or the saved states are no longer what they were. */
SGFS_API sgfs_run *sgfs_run_resume(const sgfs_model *model, const char *path,
                                   const sgfs_config *cfg, sgfs_err *err);
/* Advance every chain by at most `iterations`; for callers who own the loop. */
SGFS_API sgfs_status sgfs_run_step(sgfs_run *run, int64_t iterations, sgfs_err *err);
SGFS_API bool sgfs_run_done(const sgfs_run *run);
/* All that is left, and more where --ess asks for it (docs: option run.ess): the run is then
 * lengthened until every parameter has that effective sample size. SGFS_ESTOPPED when
 * sgfs_config_stop ended it early, after the iteration at hand. */
SGFS_API sgfs_status sgfs_run_all(sgfs_run *run, sgfs_err *err);
/* Where chain c stands now, D numbers on the user's scale; valid until the next step. */
SGFS_API const double *sgfs_run_theta(const sgfs_run *run, int64_t chain);
/* Write out what is buffered and close the run file, if one is attached. */
SGFS_API sgfs_status sgfs_run_close(sgfs_run *run, sgfs_err *err);
/* A copy of the draws kept in memory (only without an attached file). */
SGFS_API sgfs_draws *sgfs_run_draws(const sgfs_run *run, sgfs_err *err);
SGFS_API void sgfs_run_free(sgfs_run *run);

/* ---- draws: the finished (or interrupted) run ------------------------------------------------ */

SGFS_API sgfs_draws *sgfs_draws_open(const char *path, sgfs_err *err);

typedef struct sgfs_draws_shape {
    int64_t chains, draws, dim; /* draws: kept draws of the shortest chain that has any */
} sgfs_draws_shape;
SGFS_API sgfs_draws_shape sgfs_draws_size(const sgfs_draws *draws);
SGFS_API const char *sgfs_draws_param(const sgfs_draws *draws, int64_t index);
/* `draws` x `dim` numbers of one chain, row-major; belongs to the handle. Chains without a draw (a
 * run stopped early) are not counted. */
SGFS_API const double *sgfs_draws_chain(const sgfs_draws *draws, int64_t chain);
/* The format follows from the name: .nc, .csv, .stan.csv, .npy, .curve.csv. Written beside, then
 * renamed. */
SGFS_API sgfs_status sgfs_draws_export(const sgfs_draws *draws, const char *path, bool overwrite,
                                       sgfs_err *err);
SGFS_API void sgfs_draws_free(sgfs_draws *draws);

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Everything that has a result: a summary, a mode, predictions, the best of several settings. Each
 * kind of job has an open function below, which checks what it is given, and a struct for its
 * result.
 *
 *     sgfs_job *job = sgfs_predict_open(draws, NULL, "test.csv", NULL, cfg, &err);
 *     if (sgfs_job_run(job, &err) == SGFS_OK) {
 *         const sgfs_prediction *result = sgfs_job_result(job);
 *         ...
 *     }
 *     sgfs_job_free(job);
 *
 * What an open function gets a handle of (a model, draws) is borrowed and must outlive the job; the
 * config is copied. */
typedef struct sgfs_job sgfs_job;

/* All the work, once for a job. SGFS_ESTOPPED after sgfs_config_stop: no file is left behind;
 * sgfs_tune_open keeps what was done, and simulated rows that are complete stay when the search for
 * their mode is stopped. Summaries and comparisons go on to their end. */
SGFS_API sgfs_status sgfs_job_run(sgfs_job *job, sgfs_err *err);
/* A struct that belongs to the job and may have more fields at its end in later versions; the
 * comment at the open function says which. NULL: there is no result (yet). */
SGFS_API const void *sgfs_job_result(const sgfs_job *job);
/* All of the result as JSON, which is enough for other languages. NULL: there is none. */
SGFS_API char *sgfs_job_json(const sgfs_job *job);
/* The JSON to a file, written beside and then renamed; an existing one is refused unless
 * "output.overwrite" is set. Of two kinds it is something else: see sgfs_tune_open and
 * sgfs_audit_open. */
SGFS_API sgfs_status sgfs_job_save(const sgfs_job *job, const char *path, sgfs_err *err);
SGFS_API void sgfs_job_free(sgfs_job *job);

/* ---- summary and comparison ------------------------------------------------------------------ */

typedef struct sgfs_summary_row {
    const char *name;
    double mean, sd, mcse; /* mcse: Monte Carlo standard error of the mean */
    double q5, q50, q95;
    double ess_bulk, ess_tail, r_hat;
    double sd_curvature; /* sd that the curvature at the mean predicts; NaN: not known */
    double tau;          /* autocorrelation time in iterations, of this parameter's mean */
} sgfs_summary_row;

/* What samplers that follow trajectories (hmc, nuts) tell of them, over the kept draws. A number is
 * NaN where the run has no such statistic. */
typedef struct sgfs_trajectories {
    bool known;          /* false: this sampler has none, and nothing below means anything */
    int64_t thin;        /* one in so many draws was kept; what lies between is not counted */
    double divergent;    /* draws whose trajectory diverged */
    double at_max_depth; /* draws whose tree was as deep as allowed */
    double max_depth;    /* what was allowed */
    double acceptance_rate, step_size, n_steps; /* means over draws; n_steps: leapfrog steps */
    double *bfmi; /* chains: E-BFMI, see docs; under 0.3 is bad. NULL: no energies kept */
} sgfs_trajectories;

/* What sampler exact tells of its proposals: means over the kept draws. */
typedef struct sgfs_exact_stats {
    bool known;                   /* false: another sampler */
    double acceptance, rows, rho; /* accepted; rows asked for each draw; see --rho */
} sgfs_exact_stats;

/* What sampler groups tells of its proposals: means over the kept draws. */
typedef struct sgfs_group_stats {
    bool known;                  /* false: another sampler */
    double beta, groups, scales; /* accepted proposals of coefficients, of groups, of scales */
    double passes; /* over all rows for each effective draw, of the parameter that has the fewest;
                    * warm-up included */
} sgfs_group_stats;

/* A point of the curve of "run.validate": rows kept aside, predicted by the draws so far. */
typedef struct sgfs_curve_point {
    int64_t chain, iteration, draws; /* chain from 0; draws: in the average, 0 in warm-up */
    double seconds;                  /* of the chain, validation left out */
    double error,
        log_loss; /* of the averaged prediction: share of wrong labels (or root mean square
                               error), nats a row; NaN in warm-up */
    double error_now, log_loss_now; /* of this draw alone */
} sgfs_curve_point;

/* A difference from a reference (audit). Means in posterior standard deviations, sds as log of
 * the ratio (0.01: 1 % too wide); errors are standard errors of Monte Carlo. */
typedef struct sgfs_audit_change {
    double mean, mean_error, sd, sd_error;
} sgfs_audit_change;

/* The last audit of a run in short: the largest differences from the reference, as in
 * sgfs_audit_report. */
typedef struct sgfs_audited {
    const char *brief; /* one line; NULL: there was none, and nothing below means anything */
    const char *mean_name, *sd_name;
    sgfs_audit_change mean, sd; /* of those two parameters */
    bool exact, differs;
} sgfs_audited;

/* Can a summary be trusted? docs/trust.md has the rules. Those from OPTIMISER on: no. */
typedef enum sgfs_grade {
    SGFS_GRADE_TRUST,     /* every check passed */
    SGFS_GRADE_CARE,      /* few draws, one chain, an approximate sampler, or a network */
    SGFS_GRADE_OPTIMISER, /* no draws at all */
    SGFS_GRADE_SHORT,     /* not yet: longer chains or smaller steps may do */
    SGFS_GRADE_WRONG      /* a chain failed, ran away, is stuck, or is where no other is */
} sgfs_grade;

/* What holds a share of a parameter's draws, and their median. */
typedef struct sgfs_interval {
    double low, centre, high;
} sgfs_interval;

typedef struct sgfs_summary {
    int64_t dim, chains, draws;     /* dim: rows here; kept draws per chain */
    sgfs_summary_row *row;          /* dim */
    double seconds, sample_seconds; /* chain-seconds in all, and those after warm-up */
    double rows_touched;            /* data rows read by all chains */
    double ess_min, ess_per_s;      /* smallest bulk ESS; per wall-clock second of sampling */
    double tau_max, inv_atuc;       /* 1 / (tau x seconds per iteration), slowest parameter */
    double interventions; /* ridges added to keep a matrix positive definite, or steps lowered */
    double reanchors;     /* anchors made after the first, because a chain had moved away */
    int64_t warnings;
    char **warning;    /* plain sentences */
    const char *title; /* model, sampler and data in one line */
    const char *state; /* "complete", "stopped early", "failed: ..." or "unfinished" */
    sgfs_trajectories trajectories;
    sgfs_exact_stats asked;
    /* Kept draws of SGFS by phase: alpha <= 1, where most of the noise is the minibatch's,
     * and alpha > 1, where most is injected. Both positive: alpha changes (--anneal, --cycles). */
    double gaussian_draws, langevin_draws;
    int64_t points; /* of all chains; 0: the run did not validate */
    sgfs_curve_point *curve;
    double error, log_loss; /* at the ends of the curves, mean over chains; NaN: not known */
    const char *error_name; /* "error rate" of labels, or "rmse" */
    /* Packed files: chain-seconds spent waiting for pages, bytes of pages looked at (0: no such
     * files), major faults. */
    double disk_wait, disk_bytes, disk_faults;
    sgfs_audited audit;    /* of the last audit that was saved in the run file */
    const char *chosen;    /* why this sampler, where the program chose it; "": it did not */
    int64_t planned, made; /* draws per chain at first, and after --ess had its way; 0: not known */
    int64_t fallbacks;     /* samplers that were given up for this one while opening */
    bool trust;            /* grade is TRUST or CARE */
    sgfs_grade grade;
    const char *verdict; /* one sentence that begins with "Trust" or "Do not trust" */
    const char *next;    /* a command that may help, with RUN for the run file; "": none */
    const char *sampler; /* "exact-rows" */
    /* dim, with share of the draws each, of the parameters or, where ratio is not NULL, of exp of
     * them ("odds ratio"); hdi: the shortest such. NULL: no option asks for intervals. */
    sgfs_interval *interval;
    double share;
    bool hdi;
    const char *ratio;
    const char *compared; /* "city is compared with Hamburg, device with phone."; "": nothing is */
    const char *units;    /* "A coefficient is what one unit of its column, as it was given, adds
                             to the log odds of yes."; "": of no regression */
    sgfs_group_stats grouped;
} sgfs_summary;
/* What the draws say, with warnings: an sgfs_summary. Which rows it has, in what order and with
 * which intervals: the options "summary.*"; everything else in it is about all parameters. */
SGFS_API sgfs_job *sgfs_summary_open(const sgfs_draws *draws, const sgfs_config *cfg,
                                     sgfs_err *err);

typedef struct sgfs_compare_row {
    const char *name;
    double mean, reference, sd, reference_sd;
    double z;    /* (mean - reference) over the Monte Carlo error of both */
    double z_sd; /* log(sd / reference_sd) over its Monte Carlo error; NaN: no reference_sd */
} sgfs_compare_row;

typedef struct sgfs_compare {
    int64_t dim;
    sgfs_compare_row *row; /* dim */
    double E1, E2, trR;    /* E2 and trR are NaN where the reference has no covariance */
    double E1_noise, E2_noise, trR_noise; /* what Monte Carlo error alone would give */
    double ess_min;                       /* smallest ESS of the run */
    int64_t best[2],
        worst[2]; /* parameter pairs whose 2-d marginals agree best and worst; -1: none */
    int64_t true_inside,
        true_total; /* generating values inside the 90 % interval; total 0: unknown */
    const char *state, *reference_state; /* as in sgfs_summary; "": the reference is no run */
    const char *reference_verdict; /* of such a reference, if it is not to be trusted; or "" */
} sgfs_compare;
/* How far the draws are from a reference: an sgfs_compare. The reference is another run file, or
 * JSON {"names": [...], "mean": [...], "cov": [[...]]}. */
SGFS_API sgfs_job *sgfs_compare_open(const sgfs_draws *draws, const char *reference,
                                     const sgfs_config *cfg, sgfs_err *err);

/* ---- mode ------------------------------------------------------------------------------------ */

typedef struct sgfs_mode_row {
    const char *name;
    double mode, sd; /* sd of the Gaussian there; NaN: not known */
} sgfs_mode_row;

/* Where the posterior density is highest, and the Gaussian with its curvature there: not the
 * posterior, which may be skewed around it. All on the user's scale but the log density. */
typedef struct sgfs_mode {
    int64_t dim;
    sgfs_mode_row *row;         /* dim */
    double *cov;                /* dim x dim; NULL: too large, or the model has no curvature */
    double log_density;         /* at the mode, up to a constant */
    double distance;            /* what is left to go, in standard deviations */
    int64_t iterations, passes; /* steps, and passes over the data */
    double seconds;
    const char *method; /* "fisher" (scoring) or "lbfgs" */
    const char *title;  /* model, rows, parameters */
} sgfs_mode;
/* The search on all rows and all cores ("optimize.*" options, "run.start", "run.threads"): an
 * sgfs_mode. Its JSON {"names", "mean", "cov", ...} is a reference for sgfs_compare_open. */
SGFS_API sgfs_job *sgfs_optimize_open(const sgfs_model *model, const sgfs_config *cfg,
                                      sgfs_err *err);

/* ---- is the gradient right? ------------------------------------------------------------------ */

typedef struct sgfs_check_grad_row {
    const char *name, *block;
    int64_t point;            /* of the random points, where it was worst; 1: the model's start */
    double analytic, numeric; /* d log posterior / d parameter there, on the chain's own scale */
    double error; /* their difference over the larger of both, or over what the gradient of so many
                   * rows is by chance where that is larger still */
    double doubt; /* what the numeric one may be off by, in the same measure */
    bool agrees;
} sgfs_check_grad_row;

typedef struct sgfs_check_grad {
    bool passed;
    const char *title;   /* model, rows, parameters */
    const char *verdict; /* what agrees, or which parameter does not and what that looks like */
    int64_t dim, points; /* parameters of the model; points at which they were compared */
    int64_t rows, rows_in_data; /* data rows that took part, of how many */
    int64_t checked;            /* parameters compared one by one, at one point or more */
    int64_t directions;         /* random directions, which move all parameters together */
    sgfs_check_grad_row *row;   /* checked, worst first */
    double tolerance;
    /* largest relative errors; NaN where one was not finite */
    double error;           /* of a parameter */
    double direction_error; /* of a random direction */
    double prior_error;     /* of the prior alone */
    double score_error;     /* of one row's score, along a direction */
    double loglik_error;    /* between rows' log densities with scores, without, and one by one */
    double seconds;
} sgfs_check_grad;
/* A model's gradient against finite differences of its own log density ("check.*" options,
 * "run.init", "run.seed", "run.threads"): an sgfs_check_grad. A mistake found is a result, not an
 * error: see passed. */
SGFS_API sgfs_job *sgfs_check_grad_open(const sgfs_model *model, const sgfs_config *cfg,
                                        sgfs_err *err);

/* ---- tuning ---------------------------------------------------------------------------------- */

typedef struct sgfs_tune_row {
    const char *setting;  /* "epsilon=0.001, batch=500" */
    const char *state;    /* "ok", "diverged", "no draws" or "not run" (stopped before) */
    const char *note;     /* why it diverged; "" otherwise */
    double loss, loss_se; /* held-out log loss in nats a row; standard error over the folds */
    double gap, gap_se;   /* loss less that of the best row, fold by fold */
    double error;         /* share of held-out rows misclassified; NaN: no labels */
    double E1, E2, trR;   /* by error only, as in sgfs_compare; NaN otherwise */
    double E2_noise;
    double spread; /* sd over what the curvature predicts, mean over parameters; NaN: not known */
    double ess_min, seconds; /* smallest ESS, mean over folds; seconds of sampling in all */
    bool tied;               /* gap at most twice gap_se: not told apart from the best */
} sgfs_tune_row;

typedef struct sgfs_tune_table {
    int64_t rows, folds; /* settings; folds that every row shown has (0: by error) */
    const sgfs_tune_row *row;
    bool by_error;
    int64_t best, winner; /* smallest loss or E2; what is recommended; -1: none */
    const char *verdict;  /* why, in plain sentences */
} sgfs_tune_table;

/* Try a grid of settings and pick one: by the log loss of rows held out ("tune.by" log-loss; K
 * folds or a hold-out set, the same for every setting), or by the error against a reference
 * (error). The options "tune.*" say how to judge. The result is an sgfs_tune_table, also after a
 * stop: it has what was done.
 * grid: values of options of the run, the sampler or its matrix, by flag or key, one option a line:
 * "epsilon=1e-3,5e-4\nbatch=100,500" is four settings. NULL: a grid around the sampler's own step.
 * sgfs_job_run: a setting that diverges is a row of the table; SGFS_ENUMERIC when all do.
 * sgfs_job_save: the winner, with every option that was given, as a file for sgfs_config_load. */
SGFS_API sgfs_job *sgfs_tune_open(const sgfs_model *model, const char *grid, const sgfs_config *cfg,
                                  sgfs_err *err);

/* ---- audit: how far from the posterior ------------------------------------------------------- */

enum { SGFS_AUDIT_COLUMNS = 3 };

typedef struct sgfs_audit_row {
    const char *name;
    double mean, sd;                              /* of the reference */
    sgfs_audit_change change[SGFS_AUDIT_COLUMNS]; /* what was audited, less each column's */
} sgfs_audit_row;

typedef struct sgfs_audit_report {
    bool needed;         /* false: the sampler has no bias to measure, and only verdict is set */
    const char *title;   /* of the run */
    const char *sampler; /* of the run */
    bool draws;  /* the run's own draws were compared; else chains of its sampler made anew */
    double step; /* h of sgfs-cv; NaN: another sampler */
    bool exact;  /* the reference are exact draws; else sgfs-cv extrapolated to h = 0 */
    const char *not_exact; /* why not; "" */
    int64_t dim, columns;
    const char *column[SGFS_AUDIT_COLUMNS]; /* "h/2", "h/4", "exact": the last is the reference */
    sgfs_audit_row *row;                    /* dim */
    double precision, reached;    /* error of a mean asked for, and the largest there is, in sd */
    int64_t worst_mean, worst_sd; /* rows that differ most from the reference */
    /* Of all 2 dim numbers, none is taken for a difference by chance with this probability. */
    double confidence;
    double z;                      /* errors beyond which one is: two-sided, for all at once */
    bool mean_differs, sd_differs; /* one of them is beyond */
    double mean_within, sd_within; /* with that probability, none differs by more */
    const char *verdict;           /* one line */
    const char *brief;             /* the same for a summary */
    double seconds, rows_touched;
} sgfs_audit_report;

/* What is left between a run's sampler and the posterior, measured: short chains of sgfs-cv with
 * the run's step h, with h/2 and h/4, and of the exact sampler where the model allows it. Of
 * other approximate samplers the run's own draws are compared with such a reference. The result
 * is an sgfs_audit_report. run: a run file. model (borrowed): the one it was made with; NULL: it
 * is opened again, with the rows of `data` (as for sgfs_data_open; NULL: from where the run says
 * they were). The options "audit.*", and "run.seed", "run.chains", "run.threads",
 * "run.max_time". SGFS_EDATA where the data are not the same, SGFS_EUSAGE where the model has no
 * anchor. sgfs_job_save without a path appends the report to the run file, where summaries find
 * it; the last one counts. The file has all of it or none, and its draws in any case. */
SGFS_API sgfs_job *sgfs_audit_open(const char *run, const sgfs_model *model, const char *data,
                                   const sgfs_config *cfg, sgfs_err *err);

/* ---- prediction ------------------------------------------------------------------------------ */

/* Rows whose predicted probability lies between two bounds. */
typedef struct sgfs_predict_bin {
    double low, high;
    int64_t rows;
    double predicted, observed; /* mean probability, and share of rows; NaN without rows */
} sgfs_predict_bin;

typedef struct sgfs_predict_label {
    const char *name;
    int64_t rows, predicted, right; /* that have it; for which it is the most probable; both */
    double probability;             /* mean over all rows; to be compared with the share of rows */
} sgfs_predict_label;

/* Scores of a prediction that is the same for every row, and the best such: it knows the shares of
 * the labels, or the mean of the targets, in these very rows. NaN where it has no meaning. */
typedef struct sgfs_predict_baseline {
    double log_loss, error, brier; /* labels */
    double rmse, r2;               /* r2: 1 - (rmse of the predictions / this rmse)^2 */
} sgfs_predict_baseline;

/* A column of the file that the run was made with. */
typedef struct sgfs_predict_column {
    const char *name;
    int64_t words;           /* that it holds; 0: it holds numbers */
    const char *const *word; /* words */
    bool dates;              /* texts such as 2024-03-17T08:30, or hours since 1970 (--date) */
} sgfs_predict_column;

/* How good the predictions are. A number is NaN where it has no meaning. Standard errors (se) are
 * those of a sample of rows. */
typedef struct sgfs_prediction {
    int64_t rows, draws;
    const char *model, *target;   /* target: its column in the file; "" where it has none */
    const char *state;            /* of the run: "complete", or what else (sgfs_summary) */
    bool scored;                  /* the file has the target; else all that follows is empty */
    double log_loss, log_loss_se; /* -log of the averaged density of the target, nats a row */
    int64_t labels;               /* 0: the target is a number */
    sgfs_predict_label *label;    /* labels */
    double error, error_se;       /* share of rows for which another label is more probable */
    double brier;     /* sum over labels of (probability - [is it])^2; of two labels the second */
    double ece;       /* calibration error: mean over rows of |observed - predicted| by bins */
    const char *bins; /* the label whose probability the bins are of; "": the most probable one */
    sgfs_predict_bin bin[10];
    double rmse, mae;             /* of the mean */
    bool intervals;               /* the quantiles are those of the target; else of its mean */
    double coverage, coverage_se; /* targets in the interval */
    double under[3];              /* targets below its ends and the median, a tie for a half */
    int64_t pit[10]; /* targets by tenths of the predictive distribution: even when it is right */
    double seconds;
    int64_t unpredicted; /* rows that lack a value (--na drop): their lines are empty */
    int64_t unscored;    /* these, and rows without a target */
    int64_t new_words;   /* rows with a word that the run has not seen (--new-words zero) */
    /* Of two labels: the probability that a row with the second is given a higher one than a row
     * with the first; and the share of rows with the second that are found at a threshold where k %
     * of the others are taken for it. NaN otherwise. */
    double auc, hits[101];
    double interval; /* share of the interval between the first and the last quantile */
    sgfs_predict_baseline baseline;
    sgfs_predict_bin tenth[10]; /* as bin, with a tenth of the rows in each, as nearly as can be */
    /* Of a job without a file (data NULL): what sgfs_predict_rows wants of each row, and how many
     * numbers it makes of it: a probability for each label, in their order, or 1. Also: whether it
     * wants an exposure. */
    int64_t columns;
    const sgfs_predict_column *column; /* columns */
    int64_t outputs;
    bool exposure;
    int64_t new_groups; /* rows in a group that the run has not seen (--new-groups) */
} sgfs_prediction;

/* What the draws of a run say of the rows of another file, averaged over draws: an
 * sgfs_prediction. The run's columns are found in `data` by name. Options: "predict.*",
 * "run.threads", "run.seed", and "data.target", "data.delimiter", "data.header" of this file. Rows
 * are streamed: memory does not grow with the file.
 * out (may be NULL): a CSV file, one line a row, or, in .npy, every predictive draw, rows x labels
 * (or 1) x draws; written beside and then renamed. An existing one is refused unless
 * "output.overwrite" is set.
 * user_model: the callbacks of a run that was made with sgfs_model_user, which have to live as long
 * as the job; else NULL.
 * The quantiles are the ends and the middle of the interval that "summary.interval" names.
 * data NULL: rows come from memory, by sgfs_predict_rows; out is NULL, too. Such a job has its
 * result at once, the columns that rows have, and is not run. */
SGFS_API sgfs_job *sgfs_predict_open(const sgfs_draws *draws, const sgfs_user_model *user_model,
                                     const char *data, const char *out, const sgfs_config *cfg,
                                     sgfs_err *err);

/* New rows in memory, as they were in the run's file: its columns, in the order in which the result
 * of the job has them; those that group rows are the last. Transforms, scales and dummy columns are
 * the run's business. */
typedef struct sgfs_new_rows {
    size_t size; /* sizeof(sgfs_new_rows) */
    int64_t rows;
    /* rows x columns, row-major; NaN: missing (the option "data.na"). In a column of words: the
     * number of the word in the column's list, unless `words` has it; below 0: none of them. */
    const double *x;
    const char *const *words; /* rows x columns: texts, in columns of words; NULL: by number */
    const double *exposure;   /* rows, above 0; NULL: the run has none */
} sgfs_new_rows;

/* Room for what the draws say of them, and what was met on the way. */
typedef struct sgfs_predicted {
    size_t size;        /* sizeof(sgfs_predicted) */
    double *mean;       /* rows x outputs */
    double *quantile;   /* rows x outputs x 3: low, median, high ("summary.interval"); or NULL */
    int64_t new_words;  /* out: rows with a word that the run has not seen ("data.new_words") */
    int64_t missing;    /* out: rows that lack a value; their numbers are NaN */
    int64_t new_groups; /* out: rows in a group that the run has not seen ("predict.new_groups") */
} sgfs_predicted;

/* Predict rows with a job that was opened without data. No file is touched, and after a thread's
 * first call only the transforms ask for memory. Many threads may call it at the same time for one
 * job: each works alone, and gets the numbers that it would get alone. A call's rows are numbered
 * from 0: predictive draws depend on the number, and are those of a file with these rows.
 * SGFS_EDATA names the row (from 0) and the column that cannot be used; what out holds then is
 * not to be used either. */
SGFS_API sgfs_status sgfs_predict_rows(sgfs_job *job, const sgfs_new_rows *rows,
                                       sgfs_predicted *out, sgfs_err *err);

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct sgfs_report {
    const char *path;             /* of the file; "": there is none */
    const char *text;             /* a picture in characters, where no file was asked for; "" */
    const char *without;          /* why a page has no pictures; "": it has them */
    const char *verdict;          /* of the first run, as in sgfs_summary */
    int64_t pictures, parameters; /* drawn; that have pictures of their own */
    int64_t bytes;                /* of the file */
    double seconds;
} sgfs_report;

/* Runs as a page that people read, or one picture of it: an sgfs_report.
 * draws: `runs` of them, borrowed, of one model and the same columns; the first is the one the page
 * is about, the others stand beside it. kind NULL: the page, one HTML file that needs no other
 * (out). Else a picture of that kind ("density", "trace", ...: SGFS_EUSAGE names all): out ends in
 * .svg, .png or .pdf; out NULL: in characters, as the result's text. The options "report.*", and
 * "tune.reference" (what errors are measured from); an existing file is refused unless
 * "output.overwrite" is set. Pictures are drawn by the program gnuplot. Where it is missing or
 * fails, a page has none and a warning says so, and a picture is SGFS_EIO. */
SGFS_API sgfs_job *sgfs_report_open(const sgfs_draws *const *draws, int64_t runs, const char *kind,
                                    const char *out, const sgfs_config *cfg, sgfs_err *err);

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct sgfs_pack_info {
    int64_t rows, cols; /* cols: features, target, weights and exposure */
    const char *type;   /* of every number: "f64", "f32", "u8", ... */
    bool shuffled;
    int64_t chunk_rows, chunk_bytes, chunks;
    double bytes;   /* of the packed file */
    double read;    /* bytes of the files it was made of (all of them times passes), or 0 */
    double spilled; /* bytes that went to the disk and back on the way, or 0 */
    double seconds;
} sgfs_pack_info;

/* Rows of any files in one binary file, .sgd: shuffled once, so that minibatches can be drawn in
 * chunks of neighbours, with memory that does not depend on how many rows there are. The result is
 * an sgfs_pack_info.
 * data: a file, a pattern ("part-*.csv"), "-" for standard input, or several separated by line
 * ends. The options "data.*" say which columns are what and what happens to them, "pack.*" the
 * rest. out appears complete or not at all; an existing one is refused unless "output.overwrite"
 * is set. With "pack.each" out is a folder, in which each file becomes a packed file of its name in
 * .sgd; rows and bytes of the result are of all of them. out NULL: nothing is written. data is one
 * packed file, all of it is read and every checksum is compared; SGFS_EDATA names the first that is
 * wrong. */
SGFS_API sgfs_job *sgfs_pack_open(const char *data, const char *out, const sgfs_config *cfg,
                                  sgfs_err *err);

/* ---- sketches -------------------------------------------------------------------------------- */

typedef struct sgfs_sketch_info {
    const char *step;   /* what the file holds: "columns", "place", "pass" or "marks" */
    const char *advice; /* what to do with it, a sentence */
    bool done;          /* of a place: it is the anchor, at which parts make their marks */
    int64_t rows, parts, marks;
    double distance; /* of the anchor from the mode, in posterior standard deviations; NaN: not
                      * known */
    double bytes, seconds;
} sgfs_sketch_info;

/* A file from which exact draws can be made without the data (docs/cluster.md): the result is an
 * sgfs_sketch_info. sgfs_data_open takes the file, or the files of all parts, as data to sample
 * from. data: the rows. Without further options all of it is made at once. With "sketch.columns"
 * they are a part of all rows, and out has what its columns are like; with "sketch.at" out has what
 * this part of the rows says at that place, and model is NULL. parts (data NULL): the results of
 * all parts, in as many files, whose next place or whole sketch out will have. A file that was made
 * from the same stays; another is refused unless "output.overwrite" is set. */
SGFS_API sgfs_job *sgfs_sketch_open(const char *model, const char *data, const char *parts,
                                    const char *out, const sgfs_config *cfg, sgfs_err *err);

/* ---- simulation ------------------------------------------------------------------------------ */

typedef struct sgfs_simulated {
    int64_t rows, features; /* columns x1, x2, ...; and a target y */
    double seconds;
} sgfs_simulated;

/* Write data drawn from `model` ("simulate.*" options) to a .npy, .csv or packed .sgd file, and
 * beside it a truth: the generating parameters and, where the posterior has one mode, its mean and
 * curvature found on the full data, in the form sgfs_compare_open reads. `truth` may be NULL. The
 * result is an sgfs_simulated. */
SGFS_API sgfs_job *sgfs_simulate_open(const char *model, const char *out, const char *truth,
                                      const sgfs_config *cfg, sgfs_err *err);

#ifdef __cplusplus
}
#endif
#endif
