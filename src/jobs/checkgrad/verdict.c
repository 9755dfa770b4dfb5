/* SPDX-License-Identifier: MIT
 * verdict.c: from numbers that disagree to a sentence that helps to find the mistake.
 *
 * Three questions a model's writer asks: which parameters (one, one block, all); what is it like (a
 * factor, a sign, nothing filled in: analytic over numeric is then one number at every point); and
 * where to look (the prior alone, the scores of the rows, the log density).
 */
#include <math.h>

#include "jobs/checkgrad/checkgrad.h"

static const double constant = 1e-3; /* ratios that differ by less are one number */

/* Append to the verdict. */
#define say(...) sgfsi_append(text, SGFSI_VERDICT_CHARS, __VA_ARGS__)

/* Which parameters are wrong. */
typedef struct extent {
    int64_t wrong, checked; /* parameters */
    int64_t blocks, block;  /* blocks with a wrong one; the last of them */
    int64_t in_block;       /* parameters of that block that were checked */
    int64_t first;          /* a wrong parameter */
    bool prior;             /* wrong by the prior alone */
    double least, most;     /* ratios */
} extent;

static extent find_extent(const sgfsi_check *c) {
    const sgfs_model *m = c->model;
    extent e = {.least = INFINITY, .most = -INFINITY, .first = -1, .block = -1};
    for (int64_t k = 0; k < m->blocks; k++) {
        int64_t wrong = 0, checked = 0,
                end = m->block[k].offset + m->block[k].rows * m->block[k].cols;
        for (int64_t j = m->block[k].offset; j < end; j++) {
            const sgfsi_checked *p = &c->param[j];
            checked += p->is != SGFSI_UNCHECKED;
            if (p->is < SGFSI_WRONG && p->prior < SGFSI_WRONG) continue;
            wrong++;
            if (e.first < 0) e.first = j;
            e.prior = e.prior || p->prior >= SGFSI_WRONG;
            e.least = fmin(e.least, p->least_ratio);
            e.most = fmax(e.most, p->most_ratio);
        }
        e.wrong += wrong;
        e.checked += checked;
        if (wrong == 0) continue;
        e.blocks++;
        e.block = k;
        e.in_block = checked;
    }
    return e;
}

/* What the mistake is like. */
static void say_ratio(char *text, const sgfsi_check *c, const extent *e) {
    const sgfsi_checked *p = &c->param[e->first];
    double ratio = 0.5 * (e->least + e->most), off = 0.5 * (p->least_off + p->most_off);
    const char *whom = e->prior ? " of the prior" : e->wrong > 1 ? " of the rows" : "";
    bool one_ratio = e->most - e->least <= constant * fmax(1, fabs(ratio));
    /* One parameter that is off by the same number everywhere. */
    bool one_number =
        e->wrong == 1 && c->shown.points > 1 && p->most_off - p->least_off <= constant * fabs(off);
    if (!(e->most >= e->least)) return; /* no ratio was a number */
    if (!one_ratio && one_number)
        say(" At every point analytic is numeric %s %.6g (%.6g for each row): a term that no "
            "parameter moves.",
            off < 0 ? "less" : "plus", fabs(off), fabs(off) / (double)c->shown.rows);
    else if (!one_ratio)
        say(" Analytic over numeric%s is no one number (%.3g to %.3g): a term is missing, or one "
            "too many.",
            whom, e->least, e->most);
    else if (fabs(ratio) < constant) say(" The analytic gradient%s is 0: is it filled in?", whom);
    else if (fabs(ratio + 1) < constant)
        say(" The sign is wrong: analytic%s is minus numeric.", whom);
    else say(" Analytic%s is %.3f times numeric: a factor.", whom, ratio);
}

static void say_wrong(char *text, const sgfsi_check *c, const extent *e) {
    const sgfs_check_grad_row *worst = &c->shown.row[0];
    const sgfs_model *m = c->model;
    if (worst->agrees) /* only the prior is wrong, hidden by what the rows say */
        say("The gradient of the prior alone is wrong for \"%s\".", m->param[e->first]);
    else
        say("The gradient is wrong: for \"%s\" at point %lld it is %.6g, and differences of the "
            "log density say %.6g.",
            worst->name, (long long)worst->point, worst->analytic, worst->numeric);
    say_ratio(text, c, e);
    /* How far the mistake reaches. */
    if (e->wrong == e->checked && e->checked > 1) say(" So it is for every parameter checked.");
    else if (e->wrong == 1) say(" The other %lld agree.", (long long)e->checked - 1);
    else if (e->blocks == 1 && m->blocks > 1)
        say(" Only block \"%s\" is wrong (%lld of its %lld parameters checked); other blocks "
            "agree.",
            m->block[e->block].name, (long long)e->wrong, (long long)e->in_block);
    else
        say(" %lld of %lld parameters checked disagree.", (long long)e->wrong,
            (long long)e->checked);
    /* Where to look. */
    if (e->prior) say(" The prior by itself is wrong: look at log_prior.");
    else if (c->found.score.is == SGFSI_AGREES)
        say(" Single rows agree: the mistake depends on the batch.");
    else say(" The prior by itself is right: look at the scores, or at the log density.");
}

static void say_rest(char *text, const sgfsi_check_findings *f, double tolerance) {
    if (f->loglik.is >= SGFSI_WRONG)
        say("%sThe log density of row %lld is not the same with scores, without them, and as a "
            "batch of one (off by %.2g of its size).",
            text[0] != '\0' ? " " : "", (long long)f->loglik.row, f->loglik.error);
    if (text[0] != '\0') return;
    if (f->score.is >= SGFSI_WRONG)
        say("The sum is right but the rows are not: the score of row %lld at point %lld is not the "
            "derivative of its own log density (relative error %.2g). The noise of minibatches "
            "would be wrong.",
            (long long)f->score.row, (long long)f->score.point, f->score.error);
    else if (f->prior.is >= SGFSI_WRONG)
        say("The gradient of the prior alone is wrong at point %lld (relative error %.2g).",
            (long long)f->prior.point, f->prior.error);
    else if (f->direction.is >= SGFSI_WRONG)
        say("Along a random direction over all parameters the gradient is wrong at point %lld "
            "(relative error %.2g), though no parameter by itself is.",
            (long long)f->direction.point, f->direction.error);
    else
        say("Not decided: the differences are too rough to compare to %.1g. Is the log density "
            "smooth? A larger --tolerance, fewer rows (--rows-checked) or another --seed may tell.",
            tolerance);
}

void sgfsi_diagnose(const sgfsi_check *c, char text[SGFSI_VERDICT_CHARS]) {
    const sgfs_check_grad *shown = &c->shown;
    const sgfsi_check_findings *f = &c->found;
    text[0] = '\0';
    if (shown->passed) {
        say("The gradient agrees with differences of the log density to %.1g at %lld point%s: ",
            shown->tolerance, (long long)shown->points, shown->points > 1 ? "s" : "");
        if (shown->checked == shown->dim) say("every parameter");
        else say("%lld of %lld parameters", (long long)shown->checked, (long long)shown->dim);
        say(", %lld random directions%s, single rows, and the prior alone.",
            (long long)shown->directions, shown->checked < shown->dim ? " over all of them" : "");
        return;
    }
    /* A gradient or a density that is no number comes before all else. */
    int64_t j = 0, D = c->model->D;
    const extent e = find_extent(c);
    while (j < D && c->param[j].is != SGFSI_NOT_FINITE) j++;
    if (j < D || f->density.is == SGFSI_NOT_FINITE) {
        if (j == D) say("The log density is not finite at point %lld", (long long)f->density.point);
        else
            say("The gradient of \"%s\" is not finite at point %lld", c->model->param[j],
                (long long)c->param[j].point);
        if (f->density.row > 0) say("; row %lld does it", (long long)f->density.row);
        say(".");
    } else if (e.wrong > 0) say_wrong(text, c, &e);
    say_rest(text, f, shown->tolerance);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

sgfsi_json *sgfsi_check_json(const sgfs_job *job) {
    const sgfs_check_grad *c = &((const sgfsi_check *)job)->shown;
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, c, passed, verdict, title, tolerance, dim, checked, points, directions, rows,
               rows_in_data, error, direction_error);
    SGFSI_JSON(o, c, prior_error, score_error, loglik_error, seconds);
    sgfsi_json *rows = sgfsi_json_array_in(o, "parameters");
    for (const sgfs_check_grad_row *r = c->row; r < c->row + c->checked; r++) {
        sgfsi_json *row = sgfsi_json_object_in(rows, NULL);
        SGFSI_JSON(row, r, name, block, point, analytic, numeric, error, doubt, agrees);
    }
    return o;
}
