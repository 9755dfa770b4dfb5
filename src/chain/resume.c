/* SPDX-License-Identifier: MIT
 * resume.c: states on the disk, and a run taken up again from one (docs/reliability.md).
 *
 *     open as always -> the same options? data? model? arithmetic? -> load the state -> go on
 *
 * Nothing of a plan is stored for later but what the header says of it. A run is opened again from
 * the options that were given, which makes the same plan, and finds the same anchor, bit for bit;
 * then everything that the header says is compared with what this run would write there. So a
 * program or a machine that would choose or compute otherwise is found out before the first
 * iteration.
 *
 * The clock decides when states are saved and how long stretches are, and no number depends on
 * either. Times themselves are no part of a state: costs stand in blocks of their own, and those
 * before the state are taken up with it.
 */
#include "chain/resume.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticker.h"
#include "chain/state.h"

/* ---- saving ---------------------------------------------------------------------------------- */

/* Costs so far, so that a killed run can tell them. */
static sgfs_status note_costs(sgfs_run *run, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++)
        status = sgfsi_chain_report(&run->chain[c], &run->out, NULL, err);
    run->next_costs = sgfsi_now() + 1;
    return status;
}

/* Saving takes at most a hundredth of the time, even where a state is so large that more than ten
 * seconds of work may be lost then. A disk that was busy once does not count: of the last two costs
 * it is the smaller one. */
static double pause_after(sgfs_run *run, double cost) {
    double counts = run->save_cost > 0 ? fmin(cost, run->save_cost) : cost;
    run->save_cost = cost;
    return !isnan(run->plan.checkpoint) ? run->plan.checkpoint : fmax(100 * counts, 1);
}

bool sgfsi_run_has_state(const sgfs_run *run) {
    for (int64_t c = 0; c < run->plan.chains; c++)
        if (run->chain[c].status != SGFS_OK || run->chain[c].abandoned) return false;
    return true;
}

sgfs_status sgfsi_run_save(sgfs_run *run, sgfs_err *err) {
    size_t bytes;
    sgfs_err own;
    double begin = sgfsi_now();
    if (err == NULL) err = &own;
    if (run->out.file == NULL) return run->next_save = begin + 1, SGFS_OK;
    if (!sgfsi_run_has_state(run)) return SGFS_OK;
    sgfs_status status = note_costs(run, err);
    if (status != SGFS_OK) return status;
    void *state = sgfsi_state_save(run, &bytes, err);
    status = state != NULL ? sgfsi_runfile_save(run->out.file, state, bytes, err) : err->code;
    free(state);
    double end = sgfsi_now();
    run->next_save = end + pause_after(run, end - begin);
    return status;
}

sgfs_status sgfsi_run_look(sgfs_run *run, bool now, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfs_status status = sgfsi_watch_look(&run->watch, run->model->data, now, err);
    if (status == SGFS_EIO) run->spoiled = *err;
    return status;
}

sgfs_status sgfsi_run_keep(sgfs_run *run, sgfs_err *err) {
    double now = sgfsi_now();
    if (run->next_save == 0) run->next_save = now + pause_after(run, 0);
    bool due = now >= run->next_save, done = sgfs_run_done(run);
    sgfs_status status = sgfsi_run_look(run, due || done, err);
    if (status != SGFS_OK) return status;
    if (due && !done) return sgfsi_run_save(run, err);
    return now >= run->next_costs && run->out.file != NULL ? note_costs(run, err) : SGFS_OK;
}

/* ---- is everything as it was? ---------------------------------------------------------------- */

/* The same, but for how long things took. */
static bool is_same_work(const sgfsi_json *a, const sgfsi_json *b) {
    const char *key;
    void *at = NULL;
    bool same = sgfsi_json_is_object(a) && sgfsi_json_is_object(b);
    if (!same) return sgfsi_json_equal(a, b);
    for (const sgfsi_json *v; same && (v = sgfsi_json_next(a, &at, &key)) != NULL;)
        same = strcmp(key, "seconds") == 0 || is_same_work(v, sgfsi_json_get(b, key));
    return same;
}

/* These change nothing of the draws; how many there are is looked at apart. */
static bool may_change(const char *key) {
    static const char *const keys[] = {"run.threads", "run.mpi", "run.max_time",  "run.checkpoint",
                                       "run.draws",   "run.ess", "data.max_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return strncmp(key, "output.", 7) == 0;
}

/* The version that made the run; NULL: it is this one. */
static const char *other_version(const sgfsi_json *header) {
    const char *version = sgfsi_json_get_text(header, "sgfs_version", "?");
    return strcmp(version, SGFS_VERSION_TEXT) != 0 ? version : NULL;
}

static sgfs_status fail_options(const char *path, const sgfsi_json *header, const char *others,
                                sgfs_err *err) {
    const char *version = other_version(header);
    sgfs_status status = sgfsi_fail(
        err, SGFS_EUSAGE,
        "A run that goes on keeps its options, and %.120s has others: %.220s. Only --threads, "
        "--max-time, --checkpoint, more --draws and a higher --ess may change.",
        path, others);
    if (version != NULL && err != NULL)
        sgfsi_append(err->text, sizeof err->text,
                     " What you did not give has another default in sgfs %.20s, which made it.",
                     version);
    return status;
}

/* Lists all that differ, by name. */
static sgfs_status compare_options(const sgfs_run *run, const char *path, const sgfsi_json *header,
                                   sgfs_err *err) {
    char others[512] = "";
    const sgfsi_json *config = sgfsi_json_get(header, "config");
    const sgfs_option *row;
    for (int64_t i = 0; (row = sgfsi_config_at(run->cfg, i)) != NULL; i++) {
        const char *then = sgfsi_json_get_text(config, row->key, NULL);
        const char *now = sgfsi_json_get_text(run->config, row->key, "");
        if (then == NULL || may_change(row->key) || strcmp(then, now) == 0) continue;
        sgfsi_append(others, sizeof others, "%s--%s %.60s (not %.60s)",
                     others[0] != '\0' ? ", " : "", row->flag, then[0] != '\0' ? then : "none",
                     now[0] != '\0' ? now : "none");
    }
    return others[0] == '\0' ? SGFS_OK : fail_options(path, header, others, err);
}

bool sgfsi_run_lengthens(const sgfs_run *run) {
    const sgfs_sampler_kind *kind = run->plan.kinds.sampler;
    const char *schedule = kind->fixed_length != NULL ? kind->fixed_length(&run->plan) : NULL;
    return schedule == NULL;
}

/* Iterations after warm-up that the chain which is furthest has behind it. */
static int64_t made_so_far(const sgfs_run *run, const sgfsi_resumption *from) {
    int64_t most = 0;
    for (int64_t c = 0; from->state != NULL && c < run->plan.chains; c++) {
        char name[SGFSI_FIELD_NAME];
        snprintf(name, sizeof name, "chain%lld.t", (long long)(c + 1));
        int64_t t = sgfsi_fields_saved_int(from->state, from->bytes, name, 0) - run->plan.warmup;
        most = t > most ? t : most;
    }
    return most;
}

/* *more: the run is to become longer than its header says, or shorter, down to what it has. */
static sgfs_status compare_lengths(const sgfs_run *run, const char *path,
                                   const sgfsi_resumption *from, bool *more, sgfs_err *err) {
    char others[160] = "";
    int64_t draws = sgfsi_json_get_int(from->run->header, "draws", 0);
    int64_t reached = made_so_far(run, from);
    double ess = sgfsi_draws_option(from->run, "run.ess", 0);
    bool other = run->planned != draws;
    *more = other || run->plan.ess > ess;
    if (other && run->planned < reached)
        snprintf(others, sizeof others, "--draws %lld, of which there may not be fewer",
                 (long long)reached);
    else if (other && !sgfsi_run_lengthens(run))
        snprintf(others, sizeof others, "--draws %lld, which its steps follow", (long long)draws);
    else if (!other && run->plan.ess < ess)
        snprintf(others, sizeof others, "--ess %.6g, which may not fall", ess);
    return others[0] == '\0' ? SGFS_OK : fail_options(path, from->run->header, others, err);
}

static sgfs_status fail_other(const char *path, const sgfsi_json *header, const char *what,
                              sgfs_err *err) {
    const char *version = other_version(header);
    return sgfsi_fail(err, SGFS_ERUNFILE,
                      "%.150s: cannot go on with this run: %.220s. Sample anew, or take up the run "
                      "%s%.40s.",
                      path, what, version != NULL ? "with sgfs " : "where it was made",
                      version != NULL ? version : "");
}

/* Names the first thing about the rows that is another one. */
static sgfs_status compare_data(const sgfs_data *d, const char *path, const sgfsi_json *then,
                                const sgfsi_json *now, sgfs_err *err) {
    char what[512], changed[256];
    const char *key, *passed[] = {"path", "files", "fingerprint"};
    void *at = NULL;
    const sgfsi_json *prints = sgfsi_json_get(then, "fingerprint");
    const char *differs = sgfsi_fingerprints_differ(d->files, d->print, d->file, then, changed);
    if (differs == NULL && d->print != NULL && sgfsi_json_length(prints) != d->files)
        differs = "there are more files, or fewer";
    for (int64_t i = 0; differs == NULL && d->print != NULL && i < d->files; i++)
        if (sgfsi_json_get_flag(sgfsi_json_at(prints, i), "packed") != d->print[i].packed)
            differs = "they are in a file of another kind";
    for (const sgfsi_json *v; differs == NULL && (v = sgfsi_json_next(now, &at, &key)) != NULL;) {
        bool passes = false;
        for (int i = 0; i < 3; i++) passes = passes || strcmp(key, passed[i]) == 0;
        if (!passes && !sgfsi_json_equal(v, sgfsi_json_get(then, key))) differs = key;
    }
    if (differs == NULL) return SGFS_OK;
    snprintf(what, sizeof what, "%.120s: %.180s", d->path, differs);
    return sgfsi_fail(err, SGFS_ERUNFILE,
                      "%.120s: cannot go on with this run: the data are not those it was made with "
                      "(%s). It goes on as soon as they are back; where they have moved, name them "
                      "with --data.",
                      path, what);
}

/* Everything that the header says, but for times, machine and lengths. */
static sgfs_status compare_headers(const sgfs_run *run, const char *path, const sgfsi_json *then,
                                   const sgfsi_json *now, sgfs_err *err) {
    static const char *const keys[] = {"model",   "dim",    "params", "blocks", "stats",
                                       "sampler", "fisher", "chains", "warmup", "model_info"};
    char what[400];
    const char *key;
    sgfs_status status = compare_data(run->model->data, path, sgfsi_json_get(then, "data"),
                                      sgfsi_json_get(now, "data"), err);
    if (status != SGFS_OK) return status;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (sgfsi_json_equal(sgfsi_json_get(then, keys[i]), sgfsi_json_get(now, keys[i]))) continue;
        snprintf(what, sizeof what, "its \"%s\" is another one", keys[i]);
        return fail_other(path, then, what, err);
    }
    const sgfsi_json *inputs = sgfsi_json_get(now, "inputs"),
                     *before = sgfsi_json_get(then, "inputs");
    void *at = NULL;
    for (const sgfsi_json *v; (v = sgfsi_json_next(inputs, &at, &key)) != NULL;) {
        if (sgfsi_json_equal(v, sgfsi_json_get(before, key))) continue;
        snprintf(what, sizeof what, "the file of \"%.200s\" has changed since", key);
        return fail_other(path, then, what, err);
    }
    if (!sgfsi_json_equal(inputs, before))
        return fail_other(path, then, "a file that an option names is missing", err);
    /* The same bits need the same BLAS; with another one the run goes on all the same. */
    const sgfsi_json *old = sgfsi_json_get(then, "machine"), *new = sgfsi_json_get(now, "machine");
    const char *core[2] = {sgfsi_json_get_text(old, "blas_core", ""),
                           sgfsi_json_get_text(new, "blas_core", "")};
    const char *blas[2] = {sgfsi_json_get_text(old, "blas", ""),
                           sgfsi_json_get_text(new, "blas", "")};
    if (strcmp(core[0], core[1]) != 0 || strcmp(blas[0], blas[1]) != 0) {
        sgfsi_say(sgfsi_config_log(run->cfg), SGFS_WARNING,
                  "The run was made with %.80s (%.40s) and goes on with %.80s (%.40s): draws will "
                  "not be those of one run in every bit.",
                  blas[0], core[0], blas[1], core[1]);
        return SGFS_OK;
    }
    if (is_same_work(sgfsi_json_get(then, "sampler_info"), sgfsi_json_get(now, "sampler_info")))
        return SGFS_OK;
    return fail_other(path, then, "this program finds other numbers when it opens the run", err);
}

static sgfs_status compare_arithmetic(const char *path, const sgfsi_json *header, sgfs_err *err) {
    char what[300];
    int64_t number = sgfsi_json_get_int(header, "arithmetic", 0);
    if (number == SGFSI_ARITHMETIC) return SGFS_OK;
    const char *version = sgfsi_json_get_text(header, "sgfs_version", "?");
    if (number == 0)
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "%.200s: cannot go on with this run: sgfs %.40s, which made it, saved no "
                          "state. Sample anew.",
                          path, version);
    snprintf(what, sizeof what, "sgfs %.40s, which made it, computes otherwise than sgfs %s",
             version, SGFS_VERSION_TEXT);
    return fail_other(path, header, what, err);
}

sgfs_status sgfsi_resume_options(sgfs_config *cfg, const sgfsi_json *header, sgfs_err *err) {
    const sgfsi_json *config = sgfsi_json_get(header, "config");
    const char *thin = sgfsi_json_get_text(config, "run.thin", NULL);
    const sgfsi_json *given = sgfsi_json_get(header, "given");
    bool draws = sgfsi_config_given(cfg, "run.draws") && !sgfsi_config_auto(cfg, "run.draws");
    if (!draws || sgfsi_json_get(given, "run.draws") != NULL || thin == NULL ||
        !sgfsi_config_auto(cfg, "run.thin"))
        return SGFS_OK;
    return sgfs_config_set(cfg, "run.thin", thin, err); /* it was chosen for another number */
}

/* ---- several processes ----------------------------------------------------------------------- */

void sgfsi_resumption_free(sgfsi_resumption *from) {
    sgfs_draws_free(from->run);
    free(from->state);
    *from = (sgfsi_resumption){NULL};
}

/* The bytes of process 0, as many as there are: malloc'ed by the others. */
static sgfs_status share_bytes(const sgfsi_comm *comm, sgfs_status status, void **bytes, size_t n,
                               sgfs_err *err) {
    if (status == SGFS_OK && comm->rank > 0 && (*bytes = malloc(n + 1)) == NULL)
        status = sgfsi_fail_memory(err, "the run's state");
    return sgfsi_comm_broadcast(comm, status, (int64_t)n, *bytes, err);
}

sgfs_status sgfsi_resume_share(const sgfsi_comm *comm, sgfs_status status, sgfsi_resumption *from,
                               sgfs_err *err) {
    if (comm->size == 1) return status;
    struct {
        int64_t header, state;
        bool complete, settled, fell_back;
    } what = {0, -1, false, false, false};
    char *header = NULL;
    if (comm->rank > 0 || status != SGFS_OK) *from = (sgfsi_resumption){NULL};
    else {
        header = sgfsi_json_dump(from->run->header, false);
        if (header == NULL) status = sgfsi_fail_memory(err, "the run's header");
        else what.header = (int64_t)strlen(header);
        if (from->state != NULL) what.state = (int64_t)from->bytes;
        what.complete = from->complete;
        what.settled = from->settled;
        what.fell_back = from->fell_back;
    }
    status = sgfsi_comm_broadcast(comm, status, sizeof what, &what, err);
    if (status == SGFS_OK)
        status = share_bytes(comm, status, (void **)&header, (size_t)what.header, err);
    if (status == SGFS_OK && what.state >= 0)
        status = share_bytes(comm, status, &from->state, (size_t)what.state, err);
    if (status == SGFS_OK && comm->rank > 0) {
        from->bytes = what.state >= 0 ? (size_t)what.state : 0;
        from->complete = what.complete;
        from->settled = what.settled;
        from->fell_back = what.fell_back;
        sgfsi_json *said = sgfsi_json_parse(header, (size_t)what.header, "the run's header", err);
        from->run = said != NULL ? sgfsi_draws_new(said, err) : NULL;
        if (from->run == NULL) status = sgfsi_why(err);
    }
    free(header);
    status = sgfsi_comm_agree(comm, status, err);
    if (status != SGFS_OK) sgfsi_resumption_free(from);
    return status;
}

/* ---- taking up ------------------------------------------------------------------------------- */

/* Chains, and what they had cost. */
static sgfs_status load(sgfs_run *run, const char *path, sgfsi_runfile *file,
                        const sgfsi_resumption *from, sgfs_err *err) {
    if (from->state == NULL) return SGFS_OK;
    sgfs_status status = sgfsi_state_load(run, from->state, from->bytes, err);
    if (status != SGFS_OK) return status;
    bool given = run->planned != sgfsi_json_get_int(from->run->header, "draws", 0);
    if (given || run->plan.draws < run->planned) run->plan.draws = run->planned;
    for (int64_t c = 0; c < run->plan.chains; c++) {
        sgfsi_chain *w = &run->chain[c];
        const sgfsi_chain_info *then = &from->run->chain[c].info;
        if (file != NULL && w->written != sgfsi_runfile_count(file, c))
            return fail_other(path, from->run->header,
                              "its state and its draws do not belong together", err);
        w->warmup_seconds = then->warmup_seconds;
        w->sample_seconds = then->sample_seconds;
        w->disk_wait = then->disk_wait;
        w->disk_bytes = then->disk_bytes;
        w->faults = then->disk_faults;
        if (w->validator != NULL)
            w->validator->latest.seconds = w->warmup_seconds + w->sample_seconds;
        run->before += w->t;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_run_take_up(sgfs_run *run, const char *path, sgfsi_runfile *file,
                              const sgfsi_resumption *from, sgfs_err *err) {
    bool more = false;
    const sgfsi_json *then = from->run->header;
    sgfsi_json *now = sgfsi_run_header(run, err);
    if (now == NULL) return err->code;
    sgfs_status status = compare_arithmetic(path, then, err);
    if (status == SGFS_OK) status = compare_options(run, path, then, err);
    if (status == SGFS_OK) status = compare_lengths(run, path, from, &more, err);
    if (status == SGFS_OK) status = compare_headers(run, path, then, now, err);
    if (status == SGFS_OK) status = load(run, path, file, from, err);
    if (status == SGFS_OK && from->fell_back)
        sgfsi_say(sgfsi_config_log(run->cfg), SGFS_NOTE,
                  "The last state in %.200s was not whole: going on from the one before.", path);
    bool idle = from->complete && from->settled && !more;
    if (status == SGFS_OK && idle)
        sgfsi_say(sgfsi_config_log(run->cfg), SGFS_NOTE,
                  "%.200s is complete; more --draws or a higher --ess makes it longer.", path);
    if (status == SGFS_OK && !idle && file != NULL) {
        run->path = strdup(path);
        if (run->path == NULL) status = sgfsi_fail_memory(err, "the run");
        else if (!more) status = sgfsi_runfile_cut(file, err); /* else it is as it was until then */
    }
    if (status == SGFS_OK && more &&
        file != NULL) { /* the header has to say so, whatever happens next */
        sgfsi_json_text(now, "created_at", sgfsi_json_get_text(then, "created_at", ""));
        status = sgfsi_runfile_settle(file, now, from->state, from->bytes, true, err);
    }
    sgfsi_json_free(now);
    if (status != SGFS_OK) return status;
    run->filed = file != NULL;
    run->closed = idle;
    if (idle && file != NULL) return (void)sgfsi_runfile_close(file, NULL), SGFS_OK;
    run->out.file = file;
    return SGFS_OK;
}
