/* SPDX-License-Identifier: MIT
 * tally.c: error rate, log loss, Brier score, reliability bins; for numbers the size of errors and
 * how the targets fall among the quantiles.
 *
 *     log loss   -log p(y)                        p averaged over draws
 *     error      1 where another label is more probable; where the label shares the first place
 *                with others, the share of them that would be wrong
 *     Brier      sum_k (p_k - [y = k])^2; of two labels the second alone, half of that
 *     bins       ten of equal width of the predicted probability
 *
 * Means and spreads are updated row by row (Welford), which keeps the digits of small spreads.
 */
#include "posterior/tally.h"

#include <assert.h>
#include <math.h>

#include "base/moments.h"

/* ---- means ----------------------------------------------------------------------------------- */

void sgfsi_mean_se_add(sgfsi_mean_se *m, double weight, double x) {
    m->count++;
    m->weight += weight;
    if (!isfinite(x)) {
        if (m->odd == 0 || isnan(x)) m->odd = x;
        return;
    }
    sgfsi_moments_add(weight, weight / m->weight, x, &m->mean, &m->ss);
}

double sgfsi_mean_se_mean(const sgfsi_mean_se *m) {
    if (m->count == 0) return NAN;
    return m->odd != 0 ? m->odd : m->mean;
}

double sgfsi_mean_se_se(const sgfsi_mean_se *m) {
    return m->count < 2 || m->odd != 0 ? NAN : sqrt(m->ss / (double)(m->count - 1) / m->weight);
}

/* ---- rows ------------------------------------------------------------------------------------ */

sgfs_status sgfsi_tally_open(sgfsi_tally *t, const sgfsi_labels *labels, sgfsi_arena *arena,
                             sgfs_err *err) {
    *t = (sgfsi_tally){.labels = labels};
    t->label = sgfsi_arena_alloc(arena, labels->count, sizeof *t->label);
    return t->label != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the labels");
}

static int64_t bin_of(double share) {
    int64_t b = (int64_t)(share * SGFSI_BINS);
    return b < 0 ? 0 : b >= SGFSI_BINS ? SGFSI_BINS - 1 : b;
}

int64_t sgfsi_tally_best(int64_t labels, const double *probability) {
    int64_t best = 0;
    for (int64_t k = 1; k < labels; k++) {
        if (probability[k] > probability[best]) best = k;
    }
    return best;
}

double sgfsi_tally_wrong(int64_t labels, const double *p, int64_t truth) {
    int64_t best = sgfsi_tally_best(labels, p);
    double ties = 0;
    if (p[truth] < p[best]) return 1;
    for (int64_t k = 0; k < labels; k++) ties += p[k] == p[best];
    return 1 - 1 / ties;
}

static double brier(int64_t labels, const double *p, int64_t truth) {
    double sum = 0;
    for (int64_t k = labels == 2 ? 1 : 0; k < labels; k++) {
        double gap = p[k] - (k == truth ? 1 : 0);
        sum += gap * gap;
    }
    return sum;
}

static void add_interval(sgfsi_tally *t, const sgfsi_scored_row *row) {
    double y = row->y;
    sgfsi_mean_se_add(&t->inside, row->weight, row->q[0] <= y && y <= row->q[SGFSI_QUANTILES - 1]);
    for (int k = 0; k < SGFSI_QUANTILES; k++)
        sgfsi_mean_se_add(&t->under[k], row->weight, y < row->q[k] ? 1 : y == row->q[k] ? 0.5 : 0);
    t->pit[bin_of(row->pit)]++;
}

void sgfsi_tally_add(sgfsi_tally *t, const sgfsi_scored_row *row) {
    if (row->weight == 0) return; /* also where its density is 0 */
    t->rows++;
    sgfsi_mean_se_add(&t->loss, row->weight, -row->log_density);
    if (row->mean == NULL) return;
    if (t->labels->count > 0) {
        int64_t labels = t->labels->count, truth = sgfsi_labels_class(t->labels, row->y);
        int64_t best = sgfsi_tally_best(labels, row->mean), shown = labels == 2 ? 1 : best;
        assert(truth >= 0);
        sgfsi_mean_se_add(&t->wrong, row->weight, sgfsi_tally_wrong(labels, row->mean, truth));
        sgfsi_mean_se_add(&t->brier, row->weight, brier(labels, row->mean, truth));
        sgfsi_bin *bin = &t->bin[bin_of(row->mean[shown])];
        bin->rows++;
        bin->predicted += row->mean[shown];
        bin->observed += truth == shown;
        t->label[truth].rows++;
        t->label[best].predicted++;
        t->label[best].right += truth == best;
        for (int64_t k = 0; k < labels; k++) t->label[k].probability += row->mean[k];
        return;
    }
    double gap = row->y - row->mean[0];
    sgfsi_mean_se_add(&t->target, row->weight, row->y);
    sgfsi_mean_se_add(&t->square, row->weight, gap * gap);
    sgfsi_mean_se_add(&t->absolute, row->weight, fabs(gap));
    if (row->q != NULL) add_interval(t, row);
}

double sgfsi_tally_ece(const sgfsi_tally *t) {
    double sum = 0;
    if (t->wrong.count == 0) return NAN;
    for (int64_t b = 0; b < SGFSI_BINS; b++) sum += fabs(t->bin[b].observed - t->bin[b].predicted);
    return sum / (double)t->wrong.count;
}
