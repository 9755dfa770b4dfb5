/* SPDX-License-Identifier: MIT
 * folds.c: rows dealt out to folds at random.
 *
 * Each fold has as many tickets as it shall get rows, and each row draws one of those that are
 * left: every way of dealing is equally likely, as with a shuffled list, without the list. Targets
 * of up to MOST_CLASSES values (the labels of a classification) have tickets of their own for each
 * value, so that a rare class is spread over the folds as evenly as can be: a class of two rows or
 * more never goes missing from the training rows.
 */
#include "jobs/tune/folds.h"

#include <math.h>

#include "base/rng.h"

enum { MOST_CLASSES = 10, BLOCK = 256 };

typedef struct dealer {
    int64_t classes, folds;     /* a hold-out set has one fold more: the rows that stay */
    double value[MOST_CLASSES]; /* of the target */
    int64_t count[MOST_CLASSES];
    int64_t left[MOST_CLASSES][SGFSI_MOST_FOLDS + 1]; /* tickets */
} dealer;

static int64_t class_of(const dealer *d, double y) {
    int64_t c = 0;
    while (c + 1 < d->classes && d->value[c] != y) c++;
    return c;
}

/* A share of each class; of two rows or more one stays, and a set that would be empty gets one. */
static void print_share(dealer *d, double share) {
    double before = 0;
    int64_t held = 0, largest = 0;
    for (int64_t c = 0; c < d->classes; c++) {
        double after = before + share * (double)d->count[c];
        int64_t tickets = (int64_t)(floor(after + 0.5) - floor(before + 0.5));
        if (tickets > d->count[c] - 1) tickets = d->count[c] - 1;
        d->left[c][0] = tickets;
        d->left[c][1] = d->count[c] - tickets;
        held += tickets;
        before = after;
        if (d->count[c] > d->count[largest]) largest = c;
    }
    if (held > 0) return;
    d->left[largest][0]++;
    d->left[largest][1]--;
}

sgfs_status sgfsi_folds_open(sgfsi_folds *f, const sgfs_data *data, int64_t folds, double share,
                             uint64_t seed, sgfsi_arena *arena, sgfs_err *err) {
    *f = (sgfsi_folds){.N = data->N, .folds = folds, .seed = seed};
    f->of = sgfsi_arena_alloc(arena, f->N, sizeof *f->of);
    f->row = sgfsi_arena_alloc(arena, f->N, sizeof *f->row);
    dealer *d = sgfsi_arena_alloc(arena, 1, sizeof *d);
    if (f->of == NULL || f->row == NULL || d == NULL) return sgfsi_fail_memory(err, "the folds");
    d->folds = share > 0 ? 2 : folds;
    double y[BLOCK], value[MOST_CLASSES + 1];
    int64_t found = data->has_target ? sgfsi_data_target_values(data, MOST_CLASSES, value) : 0;
    d->classes = found >= 1 && found <= MOST_CLASSES ? found : 1;
    for (int64_t c = 0; c < d->classes; c++) d->value[c] = value[c];
    for (int64_t i = 0; i < data->N; i++) {
        if (i % BLOCK == 0)
            sgfsi_data_rows_range(data, i, data->N - i < BLOCK ? data->N - i : BLOCK, NULL, y);
        d->count[class_of(d, y[i % BLOCK])]++;
    }
    if (share > 0) print_share(d, share);
    else {
        /* Equal folds: the tickets of one class go on where those of the last one stopped. */
        int64_t next = 0;
        for (int64_t c = 0; c < d->classes; c++) {
            for (int64_t k = 0; k < d->folds; k++) d->left[c][k] = d->count[c] / d->folds;
            for (int64_t k = 0; k < d->count[c] % d->folds; k++) {
                d->left[c][next]++;
                next = (next + 1) % d->folds;
            }
        }
    }
    /* Every row draws a ticket of its class. */
    double u[BLOCK];
    sgfsi_stream stream = sgfsi_stream_at(f->seed, 0, 0, SGFSI_FOLDS);
    for (int64_t i = 0; i < f->N; i++) {
        if (i % BLOCK == 0) {
            int64_t n = f->N - i < BLOCK ? f->N - i : BLOCK;
            sgfsi_data_rows_range(data, i, n, NULL, y);
            sgfsi_uniforms(&stream, BLOCK, u);
        }
        int64_t c = class_of(d, y[i % BLOCK]), *left = d->left[c], k = 0;
        double at = u[i % BLOCK] * (double)d->count[c]--;
        while (k + 1 < d->folds && at >= (double)left[k]) at -= (double)left[k++];
        while (left[k] == 0) k = (k + 1) % d->folds; /* rounding at the upper end */
        left[k]--;
        f->of[i] = (uint8_t)k;
    }
    return SGFS_OK;
}

void sgfsi_folds_pick(sgfsi_folds *f, int64_t fold) {
    f->training = f->hidden = 0;
    for (int64_t i = 0; i < f->N; i++)
        if (f->of[i] != fold) f->row[f->training++] = i;
    for (int64_t i = 0; i < f->N; i++)
        if (f->of[i] == fold) f->row[f->training + f->hidden++] = i;
    /* Shuffled, so that groups of neighbours among the hidden rows are random ones. */
    int64_t *row = f->row + f->training;
    sgfsi_stream stream = sgfsi_stream_at(f->seed, 0, fold + 1, SGFSI_FOLDS);
    for (int64_t i = f->hidden - 1; i > 0; i--) {
        uint64_t word;
        sgfsi_words(&stream, 1, &word);
        int64_t k = sgfsi_word_index(word, i + 1), swap = row[i];
        row[i] = row[k];
        row[k] = swap;
    }
}
