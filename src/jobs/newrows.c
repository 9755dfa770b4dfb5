/* SPDX-License-Identifier: MIT
 * newrows.c: the model of a run, opened again for rows of another file.
 *
 * Draws are on the user's scale where the kind has to_user: the model is then opened on columns as
 * they stand in the file. Draws of other kinds are on the chain's scale, so rows are standardised
 * as the run's were, with the shift and scale in its header.
 *
 * Labels are known by their texts. Where one of them is no number the run's target was text, and
 * cells are compared as texts; else cells are read as numbers and compared as numbers, so that 1
 * and 1.0 are the same label.
 */
#include "jobs/newrows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "posterior/predictor.h"

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status fill_wanted(sgfsi_newrows *r, const sgfsi_origin *origin, const sgfs_config *cfg,
                               sgfs_err *err) {
    const char **name = sgfsi_arena_alloc(&r->arena, r->data->features + 1, sizeof *name);
    if (name == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < r->data->features; j++) name[j] = r->data->feature[j].name;
    bool given = !sgfsi_config_auto(cfg, "data.target");
    const char *target = given ? sgfsi_config_text(cfg, "data.target") : r->data->target.name;
    r->wanted = (sgfsi_wanted){.features = r->data->features,
                               .feature = name,
                               .named = sgfsi_json_get_flag(origin->data, "named"),
                               .target = target[0] != '\0' ? target : NULL,
                               .target_needed = given,
                               .exposure = sgfsi_json_get_text(origin->data, "exposure", NULL),
                               .weights = sgfsi_json_get_text(origin->data, "weights", NULL),
                               .recipe = sgfsi_json_get(origin->data, "recipe")};
    /* Which rows are wanted is said anew: the run's --limit and --part were those of its own
     * rows. */
    const char *part = sgfsi_config_text(cfg, "data.part");
    bool all = !sgfsi_config_given(cfg, "data.part") || strcmp(part, "all") == 0;
    r->wanted.zero_words = strcmp(sgfsi_config_text(cfg, "data.new_words"), "zero") == 0;
    const sgfsi_na own = sgfsi_recipe_na(r->wanted.recipe);
    r->wanted.na = sgfsi_config_given(cfg, "data.na") ? sgfsi_na_of(cfg) : own;
    if (r->wanted.na == SGFSI_NA_MEAN && own != SGFSI_NA_MEAN)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--na mean: the run was made without it, and has no means to fill in; "
                          "--na drop leaves the predictions of rows that lack a value empty.");
    r->wanted.part = all ? NULL : part;
    r->wanted.key =
        sgfsi_config_auto(cfg, "predict.key") ? NULL : sgfsi_config_text(cfg, "predict.key");
    if (!sgfsi_config_auto(cfg, "data.limit"))
        r->wanted.limit = sgfsi_config_int(cfg, "data.limit");
    /* The labels of the run, and whether they are texts. */
    const sgfsi_json *labels = sgfsi_json_get(origin->info, "labels");
    int64_t count = labels != NULL ? sgfsi_json_length(labels) : 0;
    bool texts = sgfsi_json_get_flag(origin->data, "target_text");
    if (count <= 0) return SGFS_OK;
    const char **level = sgfsi_arena_alloc(&r->arena, count, sizeof *level);
    if (level == NULL) return sgfsi_fail_memory(err, "the labels");
    for (int64_t k = 0; k < count; k++) {
        double number;
        level[k] = sgfsi_json_as_text(sgfsi_json_at(labels, k));
        if (level[k] == NULL)
            return sgfsi_fail(err, SGFS_ERUNFILE, "The run's labels are not texts.");
        texts = texts || !sgfsi_text_num(level[k], &number);
    }
    if (!texts) return SGFS_OK;
    r->wanted.level = level;
    r->wanted.levels = count;
    return SGFS_OK;
}

static sgfs_status open_all(sgfsi_newrows *r, const sgfsi_origin *origin, const char *path,
                            const sgfs_config *cfg, sgfs_err *err) {
    const sgfs_config *indices =
        sgfsi_config_given(cfg, "data.zero_based") ? cfg : origin->cfg; /* as the run's, unless */
    const sgfsi_read_options options = {.delimiter = sgfsi_config_text(cfg, "data.delimiter"),
                                        .header = sgfsi_config_text(cfg, "data.header"),
                                        .labels = sgfsi_config_text(cfg, "data.labels"),
                                        .zero_based = sgfsi_config_flag(indices, "data.zero_based"),
                                        .threads = sgfsi_context_threads(cfg),
                                        .log = sgfsi_config_log(cfg)};
    if (!sgfsi_json_is_object(origin->data) || !sgfsi_json_is_object(origin->info))
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "The run does not say what its data were: it was made by an older sgfs, "
                          "or is damaged. Sample once more to predict with it.");
    r->data = sgfsi_data_recall(origin->data, origin->kind->to_user == NULL, origin->cfg, err);
    if (r->data == NULL) return sgfsi_why(err);
    sgfs_status status = fill_wanted(r, origin, cfg, err);
    if (status == SGFS_OK) status = sgfsi_newgroups_open(r, origin, cfg, err);
    if (status == SGFS_OK && path == NULL) status = sgfsi_newrows_columns(r, err);
    else if (status == SGFS_OK)
        status = sgfsi_newdata_open(&r->rows, path, &r->wanted, &options, err);
    if (status == SGFS_OK && path != NULL && r->wanted.part != NULL)
        status = sgfsi_newdata_same_files(r->rows, origin->data, err);
    if (status != SGFS_OK) return status;
    r->known = path != NULL && sgfsi_newdata_have_target(r->rows);
    if (path != NULL && !r->known && r->wanted.target != NULL &&
        strcmp(r->wanted.target, "none") != 0)
        sgfsi_say(sgfsi_config_log(cfg), SGFS_NOTE,
                  "%s: has no column \"%.60s\" (--target names another; labels of IDX images come "
                  "with --labels): predictions only.",
                  sgfsi_newdata_shown(r->rows), r->wanted.target);
    if (r->known)
        status = sgfsi_data_recall_target(r->data, r->wanted.levels, r->wanted.level, err);
    if (status != SGFS_OK) return status;
    r->model =
        sgfsi_model_within(origin->ctx, origin->kind, r->data, origin->cfg, origin->info, err);
    return r->model != NULL ? sgfsi_predictor_check(r->model, err) : sgfsi_why(err);
}

sgfs_status sgfsi_newrows_open(sgfsi_newrows *r, const sgfsi_origin *origin, const char *path,
                               const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    memset(r, 0, sizeof *r);
    sgfs_status status = open_all(r, origin, path, cfg, err);
    if (status != SGFS_OK) sgfsi_newrows_close(r);
    return status;
}

void sgfsi_newrows_close(sgfsi_newrows *r) {
    sgfsi_newdata_close(r->rows);
    sgfsi_recipe_free(r->recipe);
    sgfsi_newgroups_close(&r->groups);
    for (int64_t j = 0; r->own_words != NULL && j < r->own; j++) sgfsi_words_free(&r->own_words[j]);
    sgfs_model_free(r->model);
    sgfs_data_free(r->data);
    sgfsi_arena_free(&r->arena);
    memset(r, 0, sizeof *r);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_newrows_room(const sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfsi_arena *arena, sgfs_err *err) {
    block->lacks = sgfsi_arena_alloc(arena, most, 1);
    block->code = sgfsi_arena_alloc(arena, most * r->groups.terms + 1, sizeof *block->code);
    block->group_text =
        sgfsi_arena_alloc(arena, most * r->groups.columns + 1, sizeof *block->group_text);
    bool made = block->lacks != NULL && block->code != NULL && block->group_text != NULL &&
                SGFSI_ROOM(arena, most * r->data->p, &block->x) &&
                SGFSI_ROOM(arena, most, &block->y, &block->offset) &&
                SGFSI_ROOM(arena, most * r->groups.columns + 1, &block->group);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "a block of rows");
}

/* Targets must be labels that the run has seen, or numbers that the model allows. */
static sgfs_status check_targets(const sgfsi_newrows *r, int64_t n, const double *y,
                                 sgfs_err *err) {
    const sgfsi_labels *labels = &r->model->labels;
    bool (*allows)(double y) = r->model->kind->allows;
    for (int64_t i = 0; i < n; i++) {
        char where[SGFSI_WHERE], number[SGFSI_NUM_CHARS], known[192] = "";
        bool unknown = labels->count > 0 && sgfsi_labels_class(labels, y[i]) < 0;
        if (!unknown && (allows == NULL || allows(y[i]))) continue;
        sgfsi_newdata_where(r->rows, i, where);
        sgfsi_format_num(number, y[i]);
        if (!unknown)
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: the target is %s, which model %s does not allow; take such rows "
                              "out, or say --target none for predictions alone.",
                              where, number, r->model->kind->name);
        /* Names of the first few labels, for the message. */
        for (int64_t k = 0; k < labels->count && k < 4; k++)
            sgfsi_append(known, sizeof known, "%s\"%.30s\"", k > 0 ? ", " : "", labels->name[k]);
        if (labels->count > 4) sgfsi_append(known, sizeof known, ", ...");
        const char *text = sgfsi_newdata_level(r->rows, i, y[i]);
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the target is \"%.60s\", a label the run has not seen (it knows %s); "
            "take such rows out, or say --target none for predictions alone.",
            where, text != NULL ? text : number, known);
    }
    return SGFS_OK;
}

/* The groups of n rows from a file. */
static sgfs_status take_groups(sgfsi_newrows *r, int64_t n, sgfsi_newrows_block *block,
                               sgfs_err *err) {
    const sgfsi_newgroups *g = &r->groups;
    for (int64_t i = 0; i < n && g->terms > 0; i++) {
        int64_t *code = block->code + i * g->terms, at = i * g->columns;
        char name[SGFSI_LEVEL_ROOM], where[SGFSI_WHERE];
        memset(code, 0, (size_t)g->terms * sizeof *code);
        if (block->lacks[i] == SGFSI_LACKS_VALUES) continue;
        if (sgfsi_newgroups_of(g, block->group + at, block->group_text + at, code, name) == 0)
            continue;
        if (g->refuse)
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: %.300s, which the run has not seen; --new-groups draw draws its "
                              "effect from how much groups differ, zero makes it 0.",
                              sgfsi_newdata_where(r->rows, i, where), name);
        r->new_groups++;
        for (int64_t k = 0; k < g->terms; k++) r->new_in_term[k] += code[k] < 0;
    }
    return SGFS_OK;
}

int64_t sgfsi_newrows_finish(const sgfsi_newrows *r, int64_t n, sgfsi_newrows_block *block) {
    const sgfs_data *d = r->data;
    bool exposure = r->wanted.exposure != NULL;
    for (int64_t i = 0; exposure && i < n; i++) {
        if (!(block->offset[i] > 0)) return i;
        block->offset[i] = log(block->offset[i]);
    }
    /* The intercept in front; the chain's scale where the draws are on it. */
    for (int64_t i = 0; i < n; i++) {
        double *row = block->x + i * d->p;
        if (d->intercept) *row++ = 1;
        for (int64_t j = 0; d->scale != NULL && j < d->features; j++)
            row[j] = (row[j] - d->shift[j]) * d->scale[j];
    }
    block->batch = (sgfs_batch){.n = n,
                                .p = d->p,
                                .x = block->x,
                                .y = r->known ? block->y : NULL,
                                .offset = exposure ? block->offset : NULL,
                                .total = d->total,
                                .gamma = 1};
    return -1;
}

sgfs_status sgfsi_newrows_next(sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfs_err *err) {
    const sgfs_data *d = r->data;
    sgfsi_newdata_block raw = {.stride = d->p,
                               .x = block->x + (d->p - d->features),
                               .y = block->y,
                               .exposure = block->offset,
                               .lacks = block->lacks,
                               .group = block->group,
                               .group_text = block->group_text};
    sgfs_status status = sgfsi_newdata_next(r->rows, most, &raw, err);
    if (status == SGFS_OK) status = sgfsi_newdata_keys(r->rows, raw.n, &block->keys, err);
    /* A target that is missing is put as one that there may be: nobody will look at it. */
    const sgfsi_labels *labels = &r->model->labels;
    for (int64_t i = 0; status == SGFS_OK && r->known && i < raw.n; i++) {
        if (!isnan(block->y[i])) continue;
        block->y[i] = labels->count > 0 ? labels->value[0] : 0;
        if (block->lacks[i] == SGFSI_LACKS_NOTHING) block->lacks[i] = SGFSI_LACKS_TARGET;
    }
    if (status == SGFS_OK && r->known) status = check_targets(r, raw.n, block->y, err);
    if (status == SGFS_OK) status = take_groups(r, raw.n, block, err);
    if (status != SGFS_OK) return status;
    int64_t bad = sgfsi_newrows_finish(r, raw.n, block);
    if (bad >= 0) {
        char where[SGFSI_WHERE];
        return sgfsi_fail(err, SGFS_EDATA, "%s: the exposure \"%.60s\" is %g; it must be positive.",
                          sgfsi_newdata_where(r->rows, bad, where), r->wanted.exposure,
                          block->offset[bad]);
    }
    return SGFS_OK;
}

/* ---- rows kept aside ------------------------------------------------------------------------- */

typedef struct validation {
    sgfsi_newrows source;
    sgfsi_json *describe; /* of the model's data: source borrows from it */
    double *x, *y, *offset;
    int64_t *code;
    sgfs_batch rows;
} validation;

static sgfs_status read_rows(validation *a, const sgfs_config *cfg, sgfs_err *err) {
    enum { BLOCK = 4096 };
    sgfsi_newrows_block block;
    int64_t left_out = 0;
    if (!a->source.known)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: has no column \"%.60s\", the target; rows to validate with need it.",
                          sgfsi_newdata_shown(a->source.rows),
                          a->source.wanted.target != NULL ? a->source.wanted.target : "");
    sgfs_status status = sgfsi_newrows_room(&a->source, BLOCK, &block, &a->source.arena, err);
    while (status == SGFS_OK) {
        status = sgfsi_newrows_next(&a->source, BLOCK, &block, err);
        if (status != SGFS_OK || block.batch.n == 0) break;
        /* The block's whole rows behind those there are. */
        sgfs_batch *b = &block.batch;
        int64_t have = a->rows.n, whole = 0, terms = a->source.groups.terms;
        for (int64_t i = 0; i < b->n; i++) {
            if (block.lacks[i] != SGFSI_LACKS_NOTHING) continue;
            memmove(block.x + whole * b->p, block.x + i * b->p, (size_t)b->p * sizeof *block.x);
            memmove(block.code + whole * terms, block.code + i * terms,
                    (size_t)terms * sizeof *block.code);
            block.y[whole] = block.y[i];
            block.offset[whole++] = block.offset[i];
        }
        left_out += b->n - whole;
        b->n = whole;
        int64_t n = have + b->n;
        double bytes = (double)n * (double)(b->p + 2 + terms) * sizeof *a->x;
        status = sgfsi_check_bytes(sgfsi_newdata_shown(a->source.rows), bytes,
                                   sgfsi_most_bytes(cfg), err);
        if (status != SGFS_OK) return status;
        if (!sgfsi_resize(&a->x, n * b->p + 1, sizeof *a->x) ||
            !sgfsi_resize(&a->y, n, sizeof *a->y) ||
            !sgfsi_resize(&a->code, n * terms + 1, sizeof *a->code) ||
            !sgfsi_resize(&a->offset, n, sizeof *a->offset))
            return sgfsi_fail_memory(err, "the rows kept aside");
        memcpy(a->x + have * b->p, b->x, (size_t)(b->n * b->p) * sizeof *b->x);
        memcpy(a->y + have, b->y, (size_t)b->n * sizeof *b->y);
        memcpy(a->code + have * terms, block.code, (size_t)(b->n * terms) * sizeof *a->code);
        if (b->offset != NULL)
            memcpy(a->offset + have, b->offset, (size_t)b->n * sizeof *b->offset);
        a->rows = *b;
        a->rows.n = n;
        a->rows.x = a->x;
        a->rows.y = a->y;
        a->rows.offset = b->offset != NULL ? a->offset : NULL;
    }
    if (status == SGFS_OK && left_out > 0)
        sgfsi_say(sgfsi_config_log(cfg), SGFS_NOTE, "%s: %lld rows lack a value and are left out.",
                  sgfsi_newdata_shown(a->source.rows), (long long)left_out);
    if (status == SGFS_OK && a->rows.n == 0 && left_out > 0)
        return sgfsi_fail(err, SGFS_EDATA, "%s: each of its rows lacks a value.",
                          sgfsi_newdata_shown(a->source.rows));
    return status;
}

static void free_rows(void *owner) {
    validation *a = owner;
    sgfsi_newrows_close(&a->source);
    sgfsi_json_free(a->describe);
    free(a->x);
    free(a->y);
    free(a->offset);
    free(a->code);
    free(a);
}

sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err) {
    validation *a = calloc(1, sizeof *a);
    *out = (sgfsi_validation_rows){0};
    if (a == NULL) return sgfsi_fail_memory(err, "the rows kept aside");
    a->describe = sgfsi_data_describe(model->data);
    const sgfsi_origin origin = {.kind = model->kind,
                                 .cfg = model->cfg,
                                 .data = a->describe,
                                 .info = model->saved,
                                 .ctx = &model->ctx,
                                 .groups = model->data->groups};
    /* By name, as the run knows the target: a number would count this file's columns. */
    const char *const own[][2] = {{"data.target", ""},
                                  {"data.labels", sgfsi_config_text(cfg, "run.validate_labels")},
                                  {"data.part", "all"},
                                  {"data.limit", "auto"}};
    sgfs_config *changed = sgfsi_config_copy(cfg);
    bool made = changed != NULL && sgfsi_json_whole(a->describe);
    sgfs_status status = made ? SGFS_OK : sgfsi_fail_memory(err, "the rows kept aside");
    for (size_t k = 0; k < sizeof own / sizeof own[0] && status == SGFS_OK; k++)
        status = sgfs_config_set(changed, own[k][0], own[k][1], err);
    if (status == SGFS_OK) status = sgfsi_newrows_open(&a->source, &origin, path, changed, err);
    sgfs_config_free(changed);
    if (status == SGFS_OK) status = read_rows(a, cfg, err);
    if (status != SGFS_OK) {
        free_rows(a);
        return status;
    }
    *out = (sgfsi_validation_rows){a->source.model, a->rows, a->code, a, free_rows};
    return SGFS_OK;
}
