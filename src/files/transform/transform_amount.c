/* SPDX-License-Identifier: MIT
 * transform_amount.c: columns of amounts (--amount). Their cells are numbers as soon as they are
 * read (text/amount.h), and pass through; the step is there so that a run knows which columns these
 * are when it meets new rows.
 */
#include "files/transform/transform_kind.h"

static sgfs_status shape_amounts(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    unsigned char *hit = s->self = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    if (hit == NULL) return sgfsi_fail_memory(err, "the amounts");
    s->out = s->in;
    if (saved == NULL) return sgfsi_transform_find(s, s->text, hit, err);
    return sgfsi_transform_find_saved(s, sgfsi_json_get(saved, "columns"), hit, err);
}

static void tell_amounts(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_transform_tell_names(s, s->self, out);
}

static sgfs_status same_cell(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err) {
    (void)s, (void)col, (void)x, (void)err;
    return SGFS_OK;
}

static bool always(const sgfsi_transform *s) {
    (void)s;
    return true;
}

bool sgfsi_is_amount(const sgfsi_transform *s, int64_t j) {
    return ((const unsigned char *)s->self)[j] != 0;
}

const sgfsi_transform_kind sgfsi_transform_amount = {
    .op = "amount",
    .key = "data.amount",
    .reads = 1,
    .tell = tell_amounts,
    .shape = shape_amounts,
    .cell = same_cell,
    .selects = always,
};
