/* SPDX-License-Identifier: MIT
 * audit_report.c: from the moments of several chains to differences, their errors and a verdict.
 *
 * What was audited, f, is compared column by column with g = f(h/2), f(h/4) and the reference g0:
 * exact draws, or 2 f(h/4) - f(h/2) (audit.c). All chains are independent, so that variances add:
 *
 *     mean:  (f - g) / sd        error sqrt(e_f^2 + e_g^2) / sd        sd: the reference's
 *     sd:    log f - log g       likewise
 *     extrapolated:  e_g^2 = 4 e(h/4)^2 + e(h/2)^2 + q^2,  q = [2 f(h/4) - 3 f(h/2) + f(h)] / 3,
 *                    q^2 less what chance alone puts into it
 * Where f is f(h) itself, and so part of q, that is ignored: q is a doubt, not an estimate.
 *
 * Two numbers for each of D parameters are 2 D chances for a false alarm. z, beyond which a
 * difference counts, is that of Student's t for probability (1 - confidence)/(2 D), two-sided
 * (Bonferroni): of an audit of a faultless sampler, 1 in 100 finds anything. A sum of squared
 * errors has at least the degrees of freedom of the one that has fewest (Welch and Satterthwaite):
 * those are taken, by which z is never too small.
 *
 * Nothing found is news only where something would have been: not with errors beyond MEANINGFUL.
 */
#include <math.h>
#include <stdio.h>

#include "diagnostics/normal.h"
#include "jobs/audit/audit.h"

static const double confidence = 0.99;
static const double MEANINGFUL = 0.1; /* error: of a mean in sd, of an sd in its logarithm */

/* ---- differences ----------------------------------------------------------------------------- */

/* A number and the square of its error. */
typedef struct known {
    double x, v;
} known;

/* The same of parameter j by each chain: its mean, or its log sd. */
typedef struct side {
    known at[SGFSI_REFERENCES], drawn;
} side;

static known of_mean(const sgfsi_estimate *e) {
    return (known){e->mean, e->mean_error * e->mean_error};
}

static known of_sd(const sgfsi_estimate *e) {
    return (known){log(e->sd), e->sd_error * e->sd_error};
}

static side side_of(const sgfsi_audit *a, int64_t j, known (*of)(const sgfsi_estimate *e)) {
    side s = {.drawn = {NAN, NAN}};
    for (int i = 0; i < SGFSI_REFERENCES; i++) {
        const sgfsi_estimate *e = a->reference[i].estimate;
        s.at[i] = e != NULL ? of(&e[j]) : (known){NAN, NAN};
    }
    if (a->drawn != NULL) s.drawn = of(&a->drawn[j]);
    return s;
}

static known extrapolate(const side *s) {
    known f = s->at[SGFSI_REFERENCE_H], half = s->at[SGFSI_REFERENCE_HALF],
          quarter = s->at[SGFSI_REFERENCE_QUARTER];
    double q = (2 * quarter.x - 3 * half.x + f.x) / 3;
    double by_chance = (4 * quarter.v + 9 * half.v + f.v) / 9;
    double doubt = fmax(q * q - by_chance, 0);
    return (known){2 * quarter.x - half.x, 4 * quarter.v + half.v + doubt};
}

static known reference_of(const sgfsi_audit *a, const side *s) {
    return a->exact ? s->at[SGFSI_REFERENCE_EXACT] : extrapolate(s);
}

static known audited_of(const sgfsi_audit *a, const side *s) {
    return a->way == SGFSI_AUDIT_STEP ? s->at[SGFSI_REFERENCE_H] : s->drawn;
}

/* Column k of the report: the last is the reference. */
static known column_of(const sgfsi_audit *a, const side *s, int64_t k) {
    if (k == a->report.columns - 1) return reference_of(a, s);
    return s->at[k == 0 ? SGFSI_REFERENCE_HALF : SGFSI_REFERENCE_QUARTER];
}

/* ---- what they amount to --------------------------------------------------------------------- */

/* One of the two numbers of each row, against the reference. */
typedef struct extreme {
    int64_t row;
    bool differs;
    double within; /* |x| + z error, largest */
    double error;  /* largest */
} extreme;

static const sgfs_audit_change *last_of(const sgfs_audit_report *r, int64_t j) {
    return &r->row[j].change[r->columns - 1];
}

/* The largest that is no chance; where there is none, the largest. */
static extreme find_extreme(const sgfs_audit_report *r, bool means) {
    extreme e = {0, false, 0, 0};
    double largest = -1;
    for (int64_t j = 0; j < r->dim; j++) {
        const sgfs_audit_change *c = last_of(r, j);
        double x = fabs(means ? c->mean : c->sd), error = means ? c->mean_error : c->sd_error;
        bool differs = x > r->z * error;
        if (!(x + r->z * error <= e.within)) e.within = x + r->z * error; /* NaN stays */
        if (!(error <= e.error)) e.error = error;
        if ((differs && !e.differs) || (differs == e.differs && x > largest)) {
            e.row = j;
            largest = x;
        }
        e.differs = e.differs || differs;
    }
    return e;
}

/* "0.0042 +- 0.010": the error with two digits, the number to the same place. */
static void put_number(char out[64], double x, double error, double scale) {
    double e = fabs(error * scale);
    int digits = e > 0 && e < 10 ? (int)ceil(-log10(e)) + 1 : 0;
    if (digits > 9) digits = 9;
    snprintf(out, 64, "%.*f +- %.*f", digits, x * scale, digits, e);
}

static void describe(const sgfs_audit_report *r, char mean[160], char sd[160]) {
    char number[64];
    const sgfs_audit_change *m = last_of(r, r->worst_mean), *s = last_of(r, r->worst_sd);
    put_number(number, m->mean, m->mean_error, 1);
    snprintf(mean, 160, "%s sd (%.60s)", number, r->row[r->worst_mean].name);
    put_number(number, expm1(s->sd), exp(s->sd) * s->sd_error, 100);
    snprintf(sd, 160, "%s %% (%.60s)", number, r->row[r->worst_sd].name);
}

static const char *remedy_of(const sgfsi_audit *a) {
    if (isfinite(a->limit)) return "a longer --max-time";
    return a->way == SGFSI_AUDIT_DRAWS ? "a run with more draws" : "a smaller --precision";
}

/* False: the errors of some parameter are too large, or no numbers, for a bias to show. */
static bool judge(const sgfsi_audit *a, sgfs_audit_report *r) {
    r->confidence = confidence;
    int64_t least = INT64_MAX; /* degrees of freedom, of the errors that enter */
    for (int i = 0; i < SGFSI_REFERENCES; i++) {
        bool audited = i == SGFSI_REFERENCE_H && a->way == SGFSI_AUDIT_STEP;
        bool enters = audited || a->exact == (i == SGFSI_REFERENCE_EXACT);
        if (a->reference[i].estimate == NULL || !enters) continue;
        if (a->reference[i].freedom < least) least = a->reference[i].freedom;
    }
    r->z = sgfsi_student_beyond((1 - confidence) / (4 * (double)r->dim), least);
    extreme mean = find_extreme(r, true), sd = find_extreme(r, false);
    r->worst_mean = mean.row;
    r->worst_sd = sd.row;
    r->mean_differs = mean.differs;
    r->sd_differs = sd.differs;
    r->mean_within = mean.within;
    r->sd_within = sd.within;
    r->reached = mean.error;
    return mean.error <= MEANINGFUL && sd.error <= MEANINGFUL;
}

static void put_facts(sgfsi_audit *a) {
    sgfs_audit_report *r = &a->report;
    r->title = sgfsi_json_get_text(a->run->header, "title", "");
    r->sampler = a->sampler;
    r->draws = a->way == SGFSI_AUDIT_DRAWS;
    r->step = a->h;
    r->exact = a->exact;
    r->not_exact = a->not_exact;
    r->dim = a->run->D;
    r->precision = sgfsi_config_num(a->job.cfg, "audit.precision");
    for (int i = 0; i < SGFSI_REFERENCES; i++) r->rows_touched += (double)a->reference[i].rows;
}

static sgfs_status say_verdict(sgfsi_audit *a, bool meaningful, sgfs_err *err) {
    sgfs_audit_report *r = &a->report;
    bool differs = r->mean_differs || r->sd_differs;
    char mean[160], sd[160], text[900], bound[200];
    const char *against = a->exact ? "exact draws" : "sgfs-cv extrapolated to h = 0";
    const char *both = r->mean_differs && r->sd_differs ? "means and spread are"
                       : r->mean_differs                ? "means are"
                                                        : "the spread is";
    describe(r, mean, sd);
    snprintf(bound, sizeof bound,
             "With %.0f %% confidence every mean is within %.2g sd and every sd within %.2g %%.",
             100 * r->confidence, r->mean_within, 100 * expm1(r->sd_within));
    if (differs) {
        snprintf(text, sizeof text,
                 "Biased: %s off by more than chance. Largest differences from %s: a mean %s, an "
                 "sd %s. %s",
                 both, against, mean, sd, bound);
    } else if (!meaningful) {
        snprintf(
            text, sizeof text,
            "Too imprecise to say: errors are up to %.2g sd, and a bias of that size would not "
            "show. Use %s. Largest differences from %s: a mean %s, an sd %s. %s",
            r->reached, remedy_of(a), against, mean, sd, bound);
    } else {
        snprintf(text, sizeof text,
                 "No bias found: not distinguishable from 0 at %.2g sd. Largest differences from "
                 "%s: a mean %s, an sd %s. %s",
                 r->reached, against, mean, sd, bound);
    }
    r->verdict = sgfsi_arena_text(&a->job.arena, text);
    snprintf(text, sizeof text, "means off by at most %s, sds by %s%s; against %s", mean, sd,
             differs      ? ""
             : meaningful ? ", which may be chance"
                          : ", too imprecise to say more",
             against);
    r->brief = sgfsi_arena_text(&a->job.arena, text);
    return r->verdict != NULL && r->brief != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the audit");
}

sgfs_status sgfsi_audit_report(sgfsi_audit *a, sgfs_err *err) {
    sgfs_audit_report *r = &a->report;
    put_facts(a);
    r->columns = a->way == SGFSI_AUDIT_STEP ? 3 : 1;
    r->column[0] = "h/2";
    r->column[1] = "h/4";
    r->column[r->columns - 1] = a->exact ? "exact" : "h -> 0";
    r->needed = true;
    r->row = sgfsi_arena_alloc(&a->job.arena, r->dim, sizeof *r->row);
    if (r->row == NULL) return sgfsi_fail_memory(err, "the audit");
    for (int64_t j = 0; j < r->dim; j++) {
        sgfs_audit_row *row = &r->row[j];
        side mean = side_of(a, j, of_mean), sd = side_of(a, j, of_sd);
        row->name = a->run->param[j];
        row->mean = reference_of(a, &mean).x;
        row->sd = exp(reference_of(a, &sd).x);
        for (int64_t k = 0; k < r->columns; k++) {
            known f = audited_of(a, &mean), g = column_of(a, &mean, k);
            known w = audited_of(a, &sd), u = column_of(a, &sd, k);
            row->change[k] = (sgfs_audit_change){.mean = (f.x - g.x) / row->sd,
                                                 .mean_error = sqrt(f.v + g.v) / row->sd,
                                                 .sd = w.x - u.x,
                                                 .sd_error = sqrt(w.v + u.v)};
        }
    }
    return say_verdict(a, judge(a, r), err);
}

sgfs_status sgfsi_audit_report_nothing(sgfsi_audit *a, sgfs_err *err) {
    char text[400];
    put_facts(a);
    snprintf(text, sizeof text,
             "Nothing to measure: %.60s draws from the posterior itself, and its means and sds are "
             "off by Monte Carlo error only (mcse in sgfs summary). --against-reference compares "
             "them all the same.",
             a->sampler);
    a->report.verdict = a->report.brief = sgfsi_arena_text(&a->job.arena, text);
    return a->report.verdict != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the audit");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static sgfsi_json *put_change(sgfsi_json *in, const char *key, const sgfs_audit_change *c) {
    sgfsi_json *o = sgfsi_json_object_in(in, key);
    SGFSI_JSON(o, c, mean, mean_error, sd, sd_error);
    return o;
}

sgfsi_json *sgfsi_audit_json(const sgfs_job *job) {
    const sgfs_audit_report *r = &((const sgfsi_audit *)job)->report;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "sgfs_version", SGFS_VERSION_TEXT);
    SGFSI_JSON(o, r, title, sampler, needed, verdict);
    if (!r->needed) return o;
    sgfsi_json_text(o, "brief", r->brief);
    sgfsi_json_text(o, "audited", r->draws ? "draws" : "sampler");
    SGFSI_JSON(o, r, step, exact);
    if (!r->exact) sgfsi_json_text(o, "not_exact", r->not_exact);
    SGFSI_JSON(o, r, precision, reached);
    sgfsi_json *mean = put_change(o, "largest_mean", last_of(r, r->worst_mean)),
               *sd = put_change(o, "largest_sd", last_of(r, r->worst_sd));
    sgfsi_json_text(mean, "name", r->row[r->worst_mean].name);
    sgfsi_json_text(sd, "name", r->row[r->worst_sd].name);
    SGFSI_JSON(o, r, mean_differs, sd_differs, confidence, z, mean_within, sd_within, seconds,
               rows_touched);
    sgfsi_json *columns = sgfsi_json_array_in(o, "columns"),
               *rows = sgfsi_json_array_in(o, "params");
    for (int64_t k = 0; k < r->columns; k++) sgfsi_json_text(columns, NULL, r->column[k]);
    for (const sgfs_audit_row *row = r->row; row < r->row + r->dim; row++) {
        sgfsi_json *param = sgfsi_json_object_in(rows, NULL);
        SGFSI_JSON(param, row, name, mean, sd);
        sgfsi_json *changes = sgfsi_json_object_in(param, "change");
        for (int64_t k = 0; k < r->columns; k++) put_change(changes, r->column[k], &row->change[k]);
    }
    return o;
}
