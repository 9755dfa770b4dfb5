/* SPDX-License-Identifier: MIT
 * ranking.c: from the runs to a table and a recommendation.
 *
 * By log loss. The standard error of a loss is mostly the luck of which rows were held out, which
 * all settings share; so settings are compared unit by unit (fold by fold, or group by group of a
 * hold-out set): gap = mean difference to the best, gap_se = its standard error. Settings with
 * gap <= t gap_se are tied with the best, t being Student's 97.5 % point for that many units (2.8
 * for five folds). Among the tied ones
 *
 *   0. a spread off by more than a factor of two goes last of all;
 *   1. chains that hardly moved (ESS below 50: they do not know their own spread to 10 %) go last;
 *   2. the spread (sd over what the curvature predicts) decides, as far as it is more than 10 %
 *      off: log loss hardly sees a wrong spread, and of two settings that predict alike the larger
 *      step is often the one that gets it wrong;
 *   3. then the largest ESS wins: the same answer for less work.
 *
 * By error: the smallest E2 wins. E1 and trR are shown beside it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "diagnostics/normal.h"
#include "jobs/tune/tune.h"

static const double spread_margin = 0.1, few_draws = 50;

static bool is_known(const sgfsi_trial *trial) {
    return !trial->diverged && !trial->empty && trial->units > 0;
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Mean and its standard error of n numbers (less those of other, where not NULL). */
static void mean_of(int64_t n, const double *x, const double *other, double *mean, double *se) {
    double sum = 0, ss = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] - (other != NULL ? other[i] : 0);
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double off = x[i] - (other != NULL ? other[i] : 0) - *mean;
        ss += off * off;
    }
    *se = n > 1 ? sqrt(ss / (double)(n - 1) / (double)n) : NAN;
}

static double measure_of(const sgfsi_tune *t, const sgfs_tune_row *row) {
    return t->by_error ? row->E2 : row->loss;
}

/* ---- the winner ------------------------------------------------------------------------------ */

/* How far off on a log scale; whatever is within the margin is as good as right. */
static double spread_error(const sgfs_tune_row *row) {
    return fmax(fabs(log(row->spread)), log1p(spread_margin)); /* fmax passes over NaN */
}

/* Is a to be preferred to b, both tied? */
static bool goes_before(const sgfs_tune_row *a, const sgfs_tune_row *b) {
    bool stuck = !(a->ess_min >= few_draws), other = !(b->ess_min >= few_draws);
    double off = spread_error(a), other_off = spread_error(b);
    bool wild = off > log(2), other_wild = other_off > log(2);
    if (wild != other_wild) return other_wild;
    if (stuck != other) return other;
    return off != other_off ? off < other_off : a->ess_min > b->ess_min;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void say_loss(const sgfsi_tune *t, const sgfs_tune_row *row, char *out, size_t room) {
    const sgfs_tune_row *winner = &row[t->table.winner];
    int64_t tied = 0, known = 0;
    for (int64_t i = 0; i < t->trials; i++) {
        tied += row[i].tied;
        known += is_known(&t->trial[i]);
    }
    if (known == 1) {
        snprintf(out, room, "%s is the only setting that came through.", winner->setting);
    } else if (isnan(row[t->table.best].loss_se)) {
        snprintf(out, room,
                 "%s has the smallest log loss, in a single fold: there is no telling whether that "
                 "is chance.",
                 winner->setting);
    } else if (tied == 1) {
        snprintf(out, room, "%s has the smallest log loss, by more than chance explains (95 %%).",
                 winner->setting);
    } else {
        snprintf(out, room,
                 "The log losses of %lld settings differ by no more than chance explains: the "
                 "rows held out cannot tell them apart. Of these, %s is recommended: chains that "
                 "move, the spread nearest to what the curvature predicts, then the largest ESS.",
                 (long long)tied, winner->setting);
    }
    if (fabs(winner->spread - 1) > spread_margin) /* false where it is not known */
        sgfsi_append(out, room,
                     " Its spread is %s times what the curvature predicts, which log loss does not "
                     "see: %s, or judge with --by error.",
                     SGFSI_DIGITS(winner->spread, 3),
                     winner->spread > 1 ? "try smaller steps" : "sample longer");
    if (!(winner->ess_min >= few_draws))
        sgfsi_append(out, room,
                     " Its smallest ESS is below 50: sample longer before trusting the order.");
}

static void say_error(const sgfsi_tune *t, const sgfs_tune_row *row, char *out, size_t room) {
    const sgfs_tune_row *winner = &row[t->table.winner];
    int64_t noise = 0;
    for (int64_t i = 0; i < t->trials; i++) noise += row[i].E2 <= 1.5 * row[i].E2_noise;
    snprintf(out, room, "%s has the smallest E2%s.", winner->setting,
             noise > 1
                 ? "; but the E2 of several settings is what Monte Carlo error alone gives, and "
                   "longer chains may order them otherwise"
                 : "");
}

/* Without what compares it with the others. */
static sgfs_tune_row row_of(const sgfsi_tune *t, const sgfsi_trial *trial) {
    double runs = trial->runs > 0 ? (double)trial->runs : NAN;
    bool known = is_known(trial);
    return (sgfs_tune_row){.setting = trial->setting,
                           .state = trial->diverged ? "diverged"
                                    : trial->empty  ? "no draws"
                                    : known         ? "ok"
                                                    : "not run",
                           .note = trial->note,
                           .loss = NAN,
                           .loss_se = NAN,
                           .gap = NAN,
                           .gap_se = NAN,
                           .error = known && !t->by_error ? trial->error / runs : NAN,
                           .E1 = known && t->by_error ? trial->E1 : NAN,
                           .E2 = known && t->by_error ? trial->E2 : NAN,
                           .trR = known && t->by_error ? trial->trR : NAN,
                           .E2_noise = known && t->by_error ? trial->E2_noise : NAN,
                           .spread = known ? trial->spread / runs : NAN,
                           .ess_min = known ? trial->ess / runs : NAN,
                           .seconds = trial->seconds};
}

sgfs_status sgfsi_tune_rank(sgfsi_tune *t, sgfs_err *err) {
    /* Units that every setting tried so far has: whoever stops early compares like with like. */
    int64_t common = INT64_MAX;
    for (int64_t i = 0; i < t->trials; i++)
        if (is_known(&t->trial[i]) && t->trial[i].units < common) common = t->trial[i].units;
    int64_t units = common == INT64_MAX ? 0 : common;
    sgfs_tune_row *row = sgfsi_arena_alloc(&t->job.arena, t->trials, sizeof *row);
    if (row == NULL) return sgfsi_fail_memory(err, "the table");
    for (int64_t i = 0; i < t->trials; i++) {
        row[i] = row_of(t, &t->trial[i]);
        if (is_known(&t->trial[i]) && !t->by_error)
            mean_of(units, t->trial[i].loss, NULL, &row[i].loss, &row[i].loss_se);
    }
    sgfs_tune_table *table = &t->table;
    table->rows = t->trials;
    table->row = row;
    table->folds = t->by_error ? 0 : t->share > 0 ? units > 0 : units;
    int64_t best = -1;
    for (int64_t i = 0; i < t->trials; i++) {
        double x = measure_of(t, &row[i]);
        if (isfinite(x) && (best < 0 || x < measure_of(t, &row[best]))) best = i;
    }
    table->best = table->winner = best;
    if (!t->by_error && table->best >= 0) {
        /* Two or three folds would otherwise tie anything with anything. */
        double point = sgfsi_student_beyond(0.025, units > 4 ? units - 1 : 3);
        for (int64_t i = 0; i < t->trials; i++) {
            if (!is_known(&t->trial[i])) continue;
            mean_of(units, t->trial[i].loss, t->trial[table->best].loss, &row[i].gap,
                    &row[i].gap_se);
            row[i].tied = i == table->best || row[i].gap <= point * row[i].gap_se;
        }
        for (int64_t i = 0; i < t->trials; i++)
            if (row[i].tied && goes_before(&row[i], &row[table->winner])) table->winner = i;
    }
    char text[2048] = "No setting came through.";
    if (table->winner >= 0) (t->by_error ? say_error : say_loss)(t, row, text, sizeof text);
    table->verdict = sgfsi_arena_text(&t->job.arena, text);
    if (table->verdict != NULL) return SGFS_OK;
    table->rows = 0; /* there is no table without it */
    return sgfsi_fail_memory(err, "the table");
}

/* ---- as JSON --------------------------------------------------------------------------------- */

/* What the winner was run with: options given and values of the grid. Not what only concerned this
 * command, this machine or this afternoon. */
static sgfsi_json *winner_json(const sgfsi_tune *t) {
    static const char *const left_out[] = {"tune.", "output.", "simulate.", "run.threads",
                                           "run.max_time"};
    const sgfs_config *cfg = t->trial[t->table.winner].cfg;
    const sgfs_option *option;
    sgfsi_json *out = sgfsi_json_object();
    sgfsi_json_text(out, "sampler.kind", sgfsi_config_text(cfg, "sampler.kind"));
    int64_t last = 0; /* in the order in which they were given: it is that of the transforms */
    while ((option = sgfsi_config_next_given(cfg, &last)) != NULL) {
        bool wanted = true;
        for (size_t k = 0; k < sizeof left_out / sizeof left_out[0]; k++)
            if (strncmp(option->key, left_out[k], strlen(left_out[k])) == 0) wanted = false;
        if (wanted) sgfsi_json_text(out, option->key, sgfs_config_get(cfg, option->key));
    }
    return out;
}

sgfsi_json *sgfsi_tune_json(const sgfs_job *job) {
    const sgfsi_tune *t = (const sgfsi_tune *)job;
    const sgfs_tune_table *table = &t->table;
    sgfsi_json *out = sgfsi_json_object();
    bool won = table->winner >= 0;
    sgfsi_json_text(out, "by", t->by_error ? "error" : "log-loss");
    sgfsi_json_int(out, "folds", table->folds);
    sgfsi_json_num(out, "holdout", t->share > 0 ? t->share : NAN);
    sgfsi_json *rows = sgfsi_json_array_in(out, "rows");
    for (const sgfs_tune_row *r = table->row; r < table->row + table->rows; r++) {
        sgfsi_json *o = sgfsi_json_object_in(rows, NULL);
        SGFSI_JSON(o, r, setting, state, note);
        if (t->by_error) {
            SGFSI_JSON(o, r, E1, E2, E2_noise, trR);
        } else {
            sgfsi_json_num(o, "log_loss", r->loss);
            sgfsi_json_num(o, "log_loss_se", r->loss_se);
            SGFSI_JSON(o, r, gap, gap_se, error, tied);
        }
        SGFSI_JSON(o, r, spread, ess_min, seconds);
    }
    sgfsi_json_text(out, "winner", won ? table->row[table->winner].setting : NULL);
    sgfsi_json_text(out, "verdict", table->verdict);
    if (won) sgfsi_json_put(out, "config", winner_json(t));
    return out;
}

sgfs_status sgfsi_tune_save(const sgfs_job *job, const char *path, sgfs_err *err) {
    const sgfsi_tune *t = (const sgfsi_tune *)job;
    if (path == NULL || t->table.winner < 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_job_save: a path and a winner are needed.");
    return sgfsi_job_write(job, winner_json(t), path, err);
}
