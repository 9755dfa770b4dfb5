/* SPDX-License-Identifier: MIT
 * grid.c: the settings that tune tries: every combination of the values given, each checked before
 * the first run. What may be varied are options of the run, the sampler and its matrix: those of
 * data, model and prior change what is sampled, not how.
 */
#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "jobs/tune/tune.h"

/* ---- axes ------------------------------------------------------------------------------------ */

static bool is_tunable(const sgfsi_option_set *set, const sgfs_option *row) {
    static const char *const stages[] = {"run", "fisher", "sampler"};
    if (strncmp(row->key, "output.", 7) == 0) return false;
    /* luck and speed are no settings */
    if (strcmp(row->key, "run.seed") == 0 || strcmp(row->key, "run.threads") == 0) return false;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (strcmp(set->stage, stages[i]) == 0) return true;
    return false;
}

/* The row of an option by flag or key; near: the tunable flag closest to it. */
static const sgfs_option *find_option(const sgfs_config *cfg, const char *name, bool *tunable,
                                      const char **near) {
    sgfsi_option_set set;
    sgfsi_guess g = {.word = name, .least = INT64_MAX};
    const sgfs_option *other = NULL;
    for (int64_t i = 0; sgfsi_config_sets(cfg, i, &set); i++) {
        for (const sgfs_option *r = set.rows; r->key != NULL; r++) {
            bool same = strcmp(r->flag, name) == 0 || strcmp(r->key, name) == 0;
            *tunable = is_tunable(&set, r);
            if (same && *tunable) return r;
            if (same) other = r;
            if (*tunable) sgfsi_guess_try(&g, r->flag);
        }
    }
    *near = sgfsi_guess_near(&g);
    *tunable = false;
    return other;
}

/* One more axis: "1e-3,5e-4" cut at the commas; every value must be one that the flag would
 * take. */
static sgfs_status add_axis(sgfsi_tune *t, const sgfs_option *option, const char *values,
                            sgfs_err *err) {
    sgfsi_axis *a = &t->axis[t->axes];
    char *next = sgfsi_arena_text(&t->job.arena, values);
    *a = (sgfsi_axis){.option = option};
    a->value = sgfsi_arena_alloc(&t->job.arena, (int64_t)strlen(values) / 2 + 1, sizeof *a->value);
    if (next == NULL || a->value == NULL) return sgfsi_fail_memory(err, "the grid");
    while (next != NULL) {
        char *value = next + strspn(next, " "), *end = next + strcspn(next, ",");
        next = *end == ',' ? end + 1 : NULL;
        while (end > value && end[-1] == ' ') end--;
        *end = '\0';
        if (value >= end)
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--grid %s: a value is missing; write --grid %s=1,2,3.", option->flag,
                              option->flag);
        for (int64_t i = 0; i < a->count; i++) {
            if (strcmp(a->value[i], value) == 0)
                return sgfsi_fail(err, SGFS_EUSAGE, "--grid %s: %.80s is there twice.",
                                  option->flag, value);
        }
        sgfs_config *trial = sgfsi_config_copy(t->job.cfg);
        if (trial == NULL) return sgfsi_fail_memory(err, "the grid");
        sgfs_status status = sgfs_config_set(trial, option->key, value, err);
        sgfs_config_free(trial);
        if (status != SGFS_OK) return status;
        a->value[a->count++] = value;
    }
    t->axes++;
    return SGFS_OK;
}

sgfs_status sgfsi_tune_grid(sgfsi_tune *t, const char *name, const char *values, sgfs_err *err) {
    bool tunable = false;
    const char *near = NULL;
    const sgfs_option *row = find_option(t->job.cfg, name, &tunable, &near);
    if (!tunable && row != NULL && strncmp(row->key, "run.", 4) == 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--grid %.80s: luck and speed are no settings to choose. Give --%s its "
                          "value directly.",
                          name, row->flag);
    if (!tunable && row != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--grid %.80s: cannot be tuned; only options of the sampler, its matrix "
                          "and the run can. Give --%s its value directly.",
                          name, row->flag);
    if (!tunable && near != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--grid: there is no option \"%.80s\". Did you mean \"%s\"?", name, near);
    if (!tunable)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--grid: there is no option \"%.80s\"; `sgfs help tune` lists them.",
                          name);
    for (int64_t i = 0; i < t->axes; i++) {
        if (strcmp(t->axis[i].option->key, row->key) == 0)
            return sgfsi_fail(err, SGFS_EUSAGE, "--grid %s is there twice: put all values in one.",
                              row->flag);
    }
    if (t->axes == SGFSI_MOST_AXES)
        return sgfsi_fail(err, SGFS_EUSAGE, "--grid: at most %d options at once.", SGFSI_MOST_AXES);
    return add_axis(t, row, values, err);
}

/* ---- a grid where none was given ------------------------------------------------------------- */

/* The first option the sampler wants tuned that has a value once every "auto" has one. It is
 * announced, as nobody asked for it. */
static sgfs_status default_grid(sgfsi_tune *t, const sgfsi_plan *plan, sgfs_err *err) {
    static const double factor[] = {0.1, 0.3, 1, 3, 10};
    const char *const *tuned = plan->kinds.sampler->tuned;
    for (; tuned != NULL && *tuned != NULL; tuned++) {
        const sgfs_option *option = plan->kinds.sampler->options;
        size_t length = strcspn(*tuned, "=");
        while (strlen(option->key) != length || memcmp(option->key, *tuned, length) != 0) option++;
        bool listed = (*tuned)[length] == '=';
        double x = listed ? 0 : sgfsi_plan_num(plan, option->key);
        if (isnan(x)) continue;
        char text[5 * SGFSI_NUM_CHARS + 5] = "";
        for (int k = 0; k < 5 && !listed; k++)
            sgfsi_append(text, sizeof text, "%s%s", k > 0 ? "," : "",
                         SGFSI_DIGITS(factor[k] * x, 3));
        const char *values = listed ? *tuned + length + 1 : text;
        sgfsi_say(sgfsi_config_log(t->job.cfg), SGFS_NOTE, "No --grid given: trying --grid %s=%s.",
                  option->flag, values);
        return add_axis(t, option, values, err);
    }
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "Sampler %s has no step size to try by default: say what to vary with --grid "
                      "OPTION=VALUE,VALUE.",
                      plan->kinds.name);
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Samplers that have nothing to tune would be chosen for most models. Whoever tunes and names none
 * means one that has: SGFS and its alpha, if the other options go with that. */
static sgfs_status name_something_to_tune(sgfsi_tune *t, const sgfs_model *m, sgfs_err *err) {
    sgfsi_choice choice;
    sgfsi_plan plan = {.tau = 0};
    if (!sgfsi_config_auto(t->job.cfg, "sampler.kind") ||
        sgfsi_config_given(t->job.cfg, "sampler.epsilon"))
        return SGFS_OK;
    sgfs_config *tried = sgfsi_config_copy(t->job.cfg);
    if (tried == NULL) return sgfsi_fail_memory(err, "the grid");
    sgfs_config_on_message(tried, NULL, NULL);
    sgfs_status status = SGFS_OK;
    if (sgfs_config_set(tried, "sampler.alpha", "1", NULL) == SGFS_OK &&
        sgfsi_plan_make(&plan, m, tried, NULL, &choice, NULL) == SGFS_OK)
        status = sgfsi_config_default(t->job.cfg, "sampler.kind", plan.kinds.name, err);
    sgfsi_plan_free(&plan);
    sgfs_config_free(tried);
    return status;
}

static sgfs_status open_trial(sgfsi_tune *t, int64_t index, const sgfs_model *m, sgfs_err *err) {
    sgfsi_trial *trial = &t->trial[index];
    trial->cfg = sgfsi_config_copy(t->job.cfg);
    trial->loss = SGFSI_DOUBLES(&t->job.arena, t->units);
    trial->note = "";
    if (trial->cfg == NULL || trial->loss == NULL) return sgfsi_fail_memory(err, "the grid");
    sgfs_config_on_message(trial->cfg, NULL, NULL);
    /* settings are compared at their own lengths */
    sgfs_status status = sgfsi_config_part(trial->cfg, sgfsi_tune_on_run, t, err);
    if (status == SGFS_OK && sgfsi_config_auto(trial->cfg, "run.ess"))
        status = sgfsi_config_default(trial->cfg, "run.ess", "0", err);
    /* Combination `index`: the last axis runs fastest. */
    char text[512] = "";
    int64_t stride = t->trials;
    for (int64_t i = 0; i < t->axes && status == SGFS_OK; i++) {
        const sgfsi_axis *a = &t->axis[i];
        stride /= a->count;
        const char *value = a->value[index / stride % a->count];
        sgfsi_append(text, sizeof text, "%s%s=%s", i > 0 ? ", " : "", a->option->flag, value);
        status = sgfs_config_set(trial->cfg, a->option->key, value, err);
    }
    if (status != SGFS_OK) return status;
    trial->setting = sgfsi_arena_text(&t->job.arena, text);
    if (trial->setting == NULL) return sgfsi_fail_memory(err, "the grid");
    /* A run with this setting would be refused: say so now, and which one it is. One sampler for
     * all folds, and the one that the winner will be run with. */
    sgfs_err cause = {SGFS_OK, ""};
    sgfsi_choice choice;
    sgfsi_plan plan = {.tau = 0};
    status = sgfsi_plan_make(&plan, m, trial->cfg, NULL, &choice, &cause);
    if (status == SGFS_OK)
        status = sgfsi_config_default(trial->cfg, "sampler.kind", plan.kinds.name, &cause);
    if (status != SGFS_OK) sgfsi_fail(err, status, "%.150s: %.340s", trial->setting, cause.text);
    trial->work = (double)(plan.warmup + plan.draws) * (double)plan.chains;
    sgfsi_plan_free(&plan);
    return status;
}

sgfs_status sgfsi_tune_lay_out(sgfsi_tune *t, const sgfs_model *m, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (t->axes == 0) {
        sgfsi_choice choice;
        sgfsi_plan plan = {.tau = 0};
        status = name_something_to_tune(t, m, err);
        if (status == SGFS_OK) status = sgfsi_plan_make(&plan, m, t->job.cfg, NULL, &choice, err);
        if (status == SGFS_OK) status = default_grid(t, &plan, err);
        sgfsi_plan_free(&plan);
    }
    if (status != SGFS_OK) return status;
    double count = 1;
    for (int64_t i = 0; i < t->axes; i++) count *= (double)t->axis[i].count;
    if (count > SGFSI_MOST_TRIALS)
        return sgfsi_fail(err, SGFS_EUSAGE, "--grid: %.0f settings are more than the %d allowed.",
                          count, SGFSI_MOST_TRIALS);
    t->trials = (int64_t)count;
    t->trial = sgfsi_arena_alloc(&t->job.arena, t->trials, sizeof *t->trial);
    if (t->trial == NULL) return t->trials = 0, sgfsi_fail_memory(err, "the grid");
    for (int64_t i = 0; i < t->trials && status == SGFS_OK; i++) status = open_trial(t, i, m, err);
    for (int64_t i = 0; i < t->trials; i++) t->total += t->trial[i].work * (double)t->folds;
    return status;
}
