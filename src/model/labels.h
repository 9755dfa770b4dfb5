/* SPDX-License-Identifier: MIT
 * labels.h: the classes of a target: what they are called, and which one a row has.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "rows/rows.h"

enum { SGFSI_MOST_LABELS = 1000 };

typedef struct sgfsi_labels {
    int64_t count;     /* classes; 0: the model has none */
    const char **name; /* count, in the order of numbers or of the alphabet */
    double *value;     /* count: the number that stands for each in the target's column */
    int64_t codes;     /* > 0: every value is a whole number below it, and */
    int32_t *code;     /* codes: the class of each; -1: none */
} sgfsi_labels;

/* The class of a target, or -1 when it has none. */
int64_t sgfsi_labels_find(const sgfsi_labels *l, double y);
static inline int64_t sgfsi_labels_class(const sgfsi_labels *l, double y) {
    bool coded = y >= 0 && y < (double)l->codes;
    return coded && (double)(int64_t)y == y ? l->code[(int64_t)y] : sgfsi_labels_find(l, y);
}

/* The same as far_target of a model (model.h). */
double sgfsi_labels_far_target(const sgfs_model *m, double y);

/* While opening a model: find the labels in its data (or take those it had before: "labels" of
 * m->restored; or, for data that are yet to be made, number them: "classes" of m->restored) and
 * remember them in m->saved. most: how many there may be. */
sgfs_status sgfsi_labels_open(sgfs_model *m, int64_t most, sgfs_err *err);
/* After that: log odds of a row not to have the rarest label; 0 where there are no rows. */
double sgfsi_labels_odds(const sgfs_model *m);
