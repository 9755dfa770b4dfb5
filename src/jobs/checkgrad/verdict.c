/* SPDX-License-Identifier: MIT
 * verdict.c: from numbers that disagree to a sentence that helps to find the mistake.
 *
 * Three questions a model's writer asks: which parameters (one, one block, all); what is it like (a
 * factor, a sign, nothing filled in: analytic over numeric is then one number at every point); and
 * where to look (the prior alone, the scores of the rows, the log density).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jobs/checkgrad/checkgrad.h"

static const double constant = 1e-3; /* ratios that differ by less are one number */

typedef struct page {
    char *at;
    size_t used;
} page;

static void SGFSI_PRINTF(2, 3) say(page *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->used, SGFSI_VERDICT_CHARS - t->used, format, args);
    va_end(args);
    if (n > 0) t->used += (size_t)n;
    if (t->used >= SGFSI_VERDICT_CHARS) t->used = SGFSI_VERDICT_CHARS - 1;
}

/* ---- which parameters ------------------------------------------------------------------------ */

static bool is_wrong(const sgfsi_checked *p) {
    return p->is >= SGFSI_WRONG || p->prior >= SGFSI_WRONG;
}

typedef struct extent {
    int64_t wrong, checked; /* parameters */
    int64_t blocks, block;  /* blocks with a wrong one; the last of them */
    int64_t in_block;       /* parameters of that block that were checked */
    int64_t first;          /* a wrong parameter */
    bool prior;             /* wrong by the prior alone */
    double least, most;     /* ratios */
} extent;

/* ---- what it is like ------------------------------------------------------------------------- */

/* One parameter that is off by the same number everywhere. */
static bool say_constant(page *t, const sgfsi_check_findings *f, const extent *e) {
    const sgfsi_checked *p = &f->param[e->first];
    double off = 0.5 * (p->least_off + p->most_off);
    if (e->wrong > 1 || f->shown->points < 2) return false;
    if (!(p->most_off - p->least_off <= constant * fabs(off))) return false;
    say(t,
        " At every point analytic is numeric %s %.6g (%.6g for each row): a term that no parameter "
        "moves.",
        off < 0 ? "less" : "plus", fabs(off), fabs(off) / (double)f->shown->rows);
    return true;
}

static void say_ratio(page *t, const sgfsi_check_findings *f, const extent *e) {
    double ratio = 0.5 * (e->least + e->most);
    const char *whom = e->prior ? " of the prior" : e->wrong > 1 ? " of the rows" : "";
    if (!(e->most >= e->least)) return; /* no ratio was a number */
    if (e->most - e->least > constant * fmax(1, fabs(ratio))) {
        if (say_constant(t, f, e)) return;
        say(t,
            " Analytic over numeric%s is no one number (%.3g to %.3g): a term is missing, or one "
            "too many.",
            whom, e->least, e->most);
    } else if (fabs(ratio) < constant) {
        say(t, " The analytic gradient%s is 0: is it filled in?", whom);
    } else if (fabs(ratio + 1) < constant) {
        say(t, " The sign is wrong: analytic%s is minus numeric.", whom);
    } else {
        say(t, " Analytic%s is %.3f times numeric: a factor.", whom, ratio);
    }
}

/* ---- the sentences --------------------------------------------------------------------------- */

static void say_wrong(page *t, const sgfsi_check_findings *f, const extent *e) {
    const sgfs_check_grad_row *worst = &f->shown->row[0];
    if (worst->agrees) { /* only the prior is wrong, hidden by what the rows say */
        say(t, "The gradient of the prior alone is wrong for \"%s\".", f->model->param[e->first]);
    } else {
        say(t,
            "The gradient is wrong: for \"%s\" at point %lld it is %.6g, and differences of the "
            "log density say %.6g.",
            worst->name, (long long)worst->point, worst->analytic, worst->numeric);
    }
    say_ratio(t, f, e);
    /* How far the mistake reaches. */
    const sgfs_model *m = f->model;
    if (e->wrong == e->checked && e->checked > 1) say(t, " So it is for every parameter checked.");
    else if (e->wrong == 1) say(t, " The other %lld agree.", (long long)e->checked - 1);
    else if (e->blocks == 1 && m->blocks > 1)
        say(t,
            " Only block \"%s\" is wrong (%lld of its %lld parameters checked); other blocks "
            "agree.",
            m->block[e->block].name, (long long)e->wrong, (long long)e->in_block);
    else
        say(t, " %lld of %lld parameters checked disagree.", (long long)e->wrong,
            (long long)e->checked);
    if (e->prior) say(t, " The prior by itself is wrong: look at log_prior.");
    else if (f->score.is == SGFSI_AGREES)
        say(t, " Single rows agree: the mistake depends on the batch.");
    else say(t, " The prior by itself is right: look at the scores, or at the log density.");
}

static void say_rest(page *t, const sgfsi_check_findings *f) {
    if (f->loglik.is >= SGFSI_WRONG) {
        say(t,
            "%sThe log density of row %lld is not the same with scores, without them, and as a "
            "batch of one (off by %.2g of its size).",
            t->used > 0 ? " " : "", (long long)f->loglik.row, f->loglik.error);
    }
    if (t->used > 0) return;
    if (f->score.is >= SGFSI_WRONG) {
        say(t,
            "The sum is right but the rows are not: the score of row %lld at point %lld is not "
            "the derivative of its own log density (relative error %.2g). The noise of "
            "minibatches would be wrong.",
            (long long)f->score.row, (long long)f->score.point, f->score.error);
    } else if (f->prior.is >= SGFSI_WRONG) {
        say(t, "The gradient of the prior alone is wrong at point %lld (relative error %.2g).",
            (long long)f->prior.point, f->prior.error);
    } else if (f->direction.is >= SGFSI_WRONG) {
        say(t,
            "Along a random direction over all parameters the gradient is wrong at point %lld "
            "(relative error %.2g), though no parameter by itself is.",
            (long long)f->direction.point, f->direction.error);
    } else {
        say(t,
            "Not decided: the differences are too rough to compare to %.1g. Is the log density "
            "smooth? A larger --tolerance, fewer rows (--rows-checked) or another --seed may "
            "tell.",
            f->shown->tolerance);
    }
}

void sgfsi_diagnose(const sgfsi_check_findings *f, char verdict[SGFSI_VERDICT_CHARS]) {
    page t = {.at = verdict};
    const sgfs_model *m = f->model;
    extent e = {.least = INFINITY, .most = -INFINITY, .first = -1, .block = -1};
    for (int64_t k = 0; k < m->blocks; k++) {
        int64_t wrong = 0, checked = 0,
                end = m->block[k].offset + m->block[k].rows * m->block[k].cols;
        for (int64_t j = m->block[k].offset; j < end; j++) {
            const sgfsi_checked *p = &f->param[j];
            checked += p->is != SGFSI_UNCHECKED;
            if (!is_wrong(p)) continue;
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
    bool broken = f->density.is == SGFSI_NOT_FINITE;
    for (int64_t j = 0; j < f->model->D; j++) broken = broken || f->param[j].is == SGFSI_NOT_FINITE;
    verdict[0] = '\0';
    if (f->shown->passed) {
        const sgfs_check_grad *c = f->shown;
        say(&t, "The gradient agrees with differences of the log density to %.1g at %lld point%s: ",
            c->tolerance, (long long)c->points, c->points > 1 ? "s" : "");
        if (c->checked == c->dim) say(&t, "every parameter");
        else say(&t, "%lld of %lld parameters", (long long)c->checked, (long long)c->dim);
        say(&t, ", %lld random directions%s, single rows, and the prior alone.",
            (long long)c->directions, c->checked < c->dim ? " over all of them" : "");
        return;
    }
    if (broken) {
        int64_t j = 0, D = f->model->D;
        while (j < D && f->param[j].is != SGFSI_NOT_FINITE) j++;
        if (f->density.is == SGFSI_NOT_FINITE && j == D) {
            say(&t, "The log density is not finite at point %lld", (long long)f->density.point);
        } else {
            say(&t, "The gradient of \"%s\" is not finite at point %lld",
                f->model->param[j < D ? j : 0], (long long)f->param[j < D ? j : 0].point);
        }
        if (f->density.row > 0) say(&t, "; row %lld does it", (long long)f->density.row);
        say(&t, ".");
    } else if (e.wrong > 0) say_wrong(&t, f, &e);
    say_rest(&t, f);
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
