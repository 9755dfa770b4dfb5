/* SPDX-License-Identifier: MIT
 * transform_json.c: recipes as JSON, for run files and packed files, and back.
 *
 *     [{"op": "columns", "named": true, "names": [...]}, {"op": "log1p", "columns": [...]}, ...]
 *
 * A run that read a packed file has two such lists in one array: what was done when it was packed,
 * then what the run did. Recalled, the second "columns" is a choice among what the first part made.
 *
 * Inputs that nothing depends on (they were dropped) need not be in a new file: needs are traced
 * back from the last step to the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/columns.h"
#include "files/transform/transform_kind.h"

/* ---- telling --------------------------------------------------------------------------------- */

sgfsi_json *sgfsi_recipe_describe(const sgfsi_recipe *r, const sgfsi_json *before) {
    sgfsi_json *all = before != NULL ? sgfsi_json_copy(before) : sgfsi_json_array(),
               *columns = sgfsi_json_object_in(all, NULL);
    sgfsi_json_text(columns, "op", sgfsi_transform_columns.op);
    sgfsi_json_flag(columns, "named", r->named);
    sgfsi_json *names = sgfsi_json_array_in(columns, "names");
    for (int64_t j = 0; j < r->inputs.cols; j++) sgfsi_json_text(names, NULL, r->inputs.name[j]);
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (s == r->learnt) continue; /* the design tells it */
        sgfsi_json *o = sgfsi_json_object_in(all, NULL);
        sgfsi_json_text(o, "op", s->kind->op);
        s->kind->tell(s, o);
    }
    return all;
}

void sgfsi_recipe_brief(const sgfsi_recipe *r, char *out, size_t room) {
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < r->steps && used + 1 < room; i++) {
        const sgfsi_transform *s = &r->step[i];
        char text[80] = "";
        if (s == r->learnt) continue;
        if (s->kind->brief != NULL) s->kind->brief(s, text, sizeof text);
        else if (strcmp(s->text, "true") == 0) snprintf(text, sizeof text, "%s", s->kind->op);
        else snprintf(text, sizeof text, "%s %.40s", s->kind->op, s->text);
        if (text[0] == '\0') continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used > 0 ? "; " : "", text);
    }
}

/* ---- what was done already ------------------------------------------------------------------- */

static const sgfsi_transform_kind *find_kind(const sgfsi_json *saved) {
    const char *op = sgfsi_json_get_text(saved, "op", "");
    for (const sgfsi_transform_kind *const *k = sgfsi_transform_kinds; *k != NULL; k++) {
        if (strcmp((*k)->op, op) == 0) return *k;
    }
    return NULL;
}

static bool chooses_rows(const sgfsi_json *saved) {
    const sgfsi_transform_kind *kind = find_kind(saved);
    return kind != NULL && kind->keep != NULL;
}

int64_t sgfsi_recipe_done(const sgfsi_json *saved, const sgfsi_json *done) {
    int64_t count = saved != NULL ? sgfsi_json_length(saved) : 0, others = sgfsi_json_length(done);
    int64_t i = 0, k = 0;
    bool changed = false; /* is there anything in it that changes a column? */
    for (int64_t j = 0; done != NULL && j < others; j++) {
        const sgfsi_json *o = sgfsi_json_at(done, j);
        changed = changed || (!chooses_rows(o) && find_kind(o) != &sgfsi_transform_columns);
    }
    if (!changed) return 0; /* columns are found by name */
    for (;; i++, k++) {
        while (i < count && chooses_rows(sgfsi_json_at(saved, i))) i++;
        while (k < others && chooses_rows(sgfsi_json_at(done, k))) k++;
        if (k == others || i == count) return k == others ? i : -1;
        if (!sgfsi_json_equal(sgfsi_json_at(saved, i), sgfsi_json_at(done, k))) return -1;
    }
}

/* ---- recalling ------------------------------------------------------------------------------- */

static sgfs_status damaged(sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE,
                      "The run does not say how its columns were made: it was made by another "
                      "version of sgfs, or is damaged. Sample once more to predict with it.");
}

/* The columns that go in: all that the list begins with. */
static sgfs_status recall_inputs(sgfsi_recipe *r, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *names = sgfsi_json_get(saved, "names");
    int64_t count = sgfsi_json_length(names);
    if (find_kind(saved) != &sgfsi_transform_columns || count < 0 ||
        !sgfsi_json_as_flag(sgfsi_json_get(saved, "named"), &r->named))
        return damaged(err);
    r->inputs.cols = count;
    r->inputs.name = sgfsi_arena_alloc(&r->arena, count + 1, sizeof *r->inputs.name);
    r->inputs.origin = sgfsi_arena_alloc(&r->arena, count + 1, sizeof *r->inputs.origin);
    if (r->inputs.name == NULL || r->inputs.origin == NULL)
        return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < count; j++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(names, j));
        if (name == NULL) return damaged(err);
        r->inputs.name[j] = sgfsi_arena_text(&r->arena, name);
        r->inputs.origin[j] = j;
        if (r->inputs.name[j] == NULL) return sgfsi_fail_memory(err, "the columns");
    }
    r->base = (sgfsi_base){.cols = count, .name = r->inputs.name, .named = r->named};
    r->inputs.base = &r->base;
    return SGFS_OK;
}

/* Which of the inputs anything depends on: they become the inputs; input_col says where they go. */
static sgfs_status trace_needs(sgfsi_recipe *r, sgfs_err *err) {
    int64_t cols = sgfsi_recipe_last(r)->cols, used = 0;
    sgfsi_arena room = {NULL};
    unsigned char *need = sgfsi_arena_alloc(&room, cols + 1, 1);
    if (need != NULL) memset(need, 1, (size_t)cols);
    for (int64_t i = r->steps - 1; i >= 0 && need != NULL; i--) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        unsigned char *before = sgfsi_arena_alloc(&room, s->in.cols + 1, 1);
        if (before != NULL && s->kind->need != NULL) s->kind->need(s, need, before);
        else if (before != NULL) memcpy(before, need, (size_t)s->in.cols);
        need = before;
    }
    r->input_col = sgfsi_arena_alloc(&r->arena, r->inputs.cols + 1, sizeof *r->input_col);
    bool made = need != NULL && r->input_col != NULL;
    r->width = r->inputs.cols;
    for (int64_t j = 0; made && j < r->width; j++) {
        if (need[j]) r->input_col[used++] = j;
    }
    const char **name = sgfsi_arena_alloc(&r->arena, used + 1, sizeof *name);
    for (int64_t k = 0; name != NULL && k < used; k++) name[k] = r->inputs.name[r->input_col[k]];
    r->needed = used;
    r->needed_name = name;
    sgfsi_arena_free(&room);
    return made && name != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

sgfs_status sgfsi_recipe_recall(sgfsi_recipe **out, const sgfsi_json *saved, int64_t done,
                                sgfs_err *err) {
    sgfsi_recipe *r = *out = calloc(1, sizeof *r);
    if (r == NULL) return sgfsi_fail_memory(err, "the transforms");
    sgfs_status status = sgfsi_json_length(saved) > 0
                             ? recall_inputs(r, sgfsi_json_at(saved, 0), err)
                             : damaged(err);
    r->step = sgfsi_arena_alloc(&r->arena, sgfsi_json_length(saved) + 1, sizeof *r->step);
    if (status == SGFS_OK && r->step == NULL) status = sgfsi_fail_memory(err, "the transforms");
    for (int64_t i = 1; i < sgfsi_json_length(saved) && status == SGFS_OK; i++) {
        const sgfsi_json *o = sgfsi_json_at(saved, i);
        sgfsi_transform *s = &r->step[r->steps];
        *s = (sgfsi_transform){.kind = find_kind(o), .arena = &r->arena, .place = r->steps};
        s->in = r->steps > 0 ? r->step[r->steps - 1].out : r->inputs;
        s->ready = true;
        if (s->kind == NULL) status = damaged(err);
        else if (s->kind->recall != NULL) status = s->kind->recall(s, o, err);
        if (status == SGFS_OK) status = sgfsi_transform_shape(s, o, err);
        if (s->kind == &sgfsi_transform_formula && status == SGFS_OK &&
            sgfsi_recipe_na(saved) == SGFSI_NA_DROP)
            sgfsi_formula_lenient(s);
        r->steps++;
    }
    const int64_t first = done - 1; /* steps done to the file already; the first element is none */
    if (status == SGFS_OK && first > 0) {
        r->inputs = r->step[first - 1].out;
        r->step += first;
        r->steps -= first;
        r->named = r->named || !sgfsi_features_by_place(&r->inputs);
    }
    if (status == SGFS_OK) status = trace_needs(r, err);
    if (status == SGFS_OK) return status;
    sgfsi_recipe_free(r);
    *out = NULL;
    return status;
}

int64_t sgfsi_recipe_inputs(const sgfsi_recipe *r, const char *const **name) {
    *name = r->needed_name;
    return r->needed;
}

int64_t sgfsi_recipe_outputs(const sgfsi_recipe *r, const char *const **name) {
    const sgfsi_feature_list *last = sgfsi_recipe_last(r);
    *name = last->name;
    return last->cols;
}

bool sgfsi_recipe_named(const sgfsi_recipe *r) {
    return r->named;
}

/* ---- new rows -------------------------------------------------------------------------------- */

/* The step that knows amounts, dates or words of an input, and as which of its columns (*at) the
 * input reaches it; NULL: none does. Only amounts, which stay where they are, and dates come before
 * words. */
static const sgfsi_transform *step_of(const sgfsi_recipe *r, const sgfsi_transform_kind *kind,
                                      int64_t input, int64_t *at) {
    *at = r->input_col[input];
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        if (s->kind == kind) return s;
        if (s->kind == &sgfsi_transform_amount) continue;
        if (s->kind != &sgfsi_transform_date || sgfsi_is_date(s, *at)) return NULL;
        *at = sgfsi_names_find(s->out.cols, s->out.name, s->in.name[*at]);
        if (*at < 0) return NULL;
    }
    return NULL;
}

const sgfsi_dictionary *sgfsi_recipe_words(const sgfsi_recipe *r, int64_t input) {
    int64_t at;
    const sgfsi_transform *s = step_of(r, &sgfsi_transform_categorical, input, &at);
    return s != NULL ? sgfsi_words_of(s, at) : NULL;
}

const char *sgfsi_recipe_reference(const sgfsi_recipe *r, int64_t input) {
    int64_t at;
    const sgfsi_transform *s = step_of(r, &sgfsi_transform_categorical, input, &at);
    return s != NULL ? sgfsi_words_reference(s, at) : NULL;
}

bool sgfsi_recipe_dates(const sgfsi_recipe *r, int64_t input) {
    int64_t at;
    const sgfsi_transform *s = step_of(r, &sgfsi_transform_date, input, &at);
    return s != NULL && sgfsi_is_date(s, at);
}

bool sgfsi_recipe_amounts(const sgfsi_recipe *r, int64_t input) {
    int64_t at;
    const sgfsi_transform *s = step_of(r, &sgfsi_transform_amount, input, &at);
    return s != NULL && sgfsi_is_amount(s, at);
}

sgfs_status sgfsi_recipe_zero_words(sgfsi_recipe *r, sgfs_err *err) {
    for (int64_t i = 0; i < r->steps; i++) {
        sgfsi_transform *s = &r->step[i];
        if (s->kind->zero_words == NULL || s->kind->zero_words(s)) continue;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--new-words zero is for words that became columns of 0 and 1; the run "
                          "has them as numbers (--coding integer), and there is none for a new "
                          "word.");
    }
    return SGFS_OK;
}

sgfs_status sgfsi_recipe_columns(const sgfsi_recipe *r, int64_t n, const double *in, double *out,
                                 int64_t stride, int64_t *bad, sgfs_err *err) {
    int64_t cols = sgfsi_recipe_last(r)->cols;
    double *x = calloc((size_t)(n * r->width + 1), sizeof *x);
    double *y = malloc((size_t)(n * cols + 1) * sizeof *y);
    sgfs_status status =
        x != NULL && y != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a block of rows");
    *bad = -1;
    for (int64_t i = 0; status == SGFS_OK && i < n; i++) {
        for (int64_t k = 0; k < r->needed; k++)
            x[i * r->width + r->input_col[k]] = in[i * r->needed + k];
    }
    if (status == SGFS_OK) status = sgfsi_recipe_apply(r, r->steps, n, x, y, bad, err);
    for (int64_t i = 0; status == SGFS_OK && i < n; i++)
        memcpy(out + i * stride, y + i * cols, (size_t)cols * sizeof *out);
    free(x);
    free(y);
    return status;
}

/* ---- rows of a run, in new files ------------------------------------------------------------- */

bool sgfsi_recipe_chooses_classes(const sgfsi_recipe *r) {
    for (int64_t i = 0; i < r->steps; i++) {
        if (r->step[i].kind == &sgfsi_transform_keep_classes) return true;
    }
    return false;
}

bool sgfsi_recipe_keeps_class(const sgfsi_recipe *r, double y, const char *text) {
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (s->kind == &sgfsi_transform_keep_classes && !sgfsi_classes_have(s, y, text))
            return false;
    }
    return true;
}

sgfs_status sgfsi_recipe_use_part(sgfsi_recipe *r, const char *part, sgfs_err *err) {
    /* The --split of the list the file takes part in; one of a list behind counted other rows. */
    r->split = NULL;
    for (int64_t i = 0; i < r->steps && r->step[i].kind != &sgfsi_transform_columns; i++) {
        if (r->step[i].kind == &sgfsi_transform_split && r->split == NULL) r->split = &r->step[i];
    }
    if (r->split == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--part %s: the run did not split the rows of such a file (--split).",
                          part);
    }
    (void)sgfsi_split_part_find(part, &r->part);
    if (r->part != SGFSI_PART_VALIDATION || sgfsi_split_shares(r->split) == 3) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--part validation: the run has two parts only, train and test.");
}

bool sgfsi_recipe_in_part(const sgfsi_recipe *r, int64_t row) {
    return r->split == NULL || sgfsi_split_has(r->split, row, r->part);
}
