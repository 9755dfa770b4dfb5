/* SPDX-License-Identifier: MIT
 * newrows_groups.c: the groups that new rows belong to. A group is known by what it is called: of
 * the cells of its factor's columns the name is put together as it was for the run (rows/groups.h),
 * and looked up among those that the run has. One that it has not gets a number of its own, made of
 * its name, so that all rows with that name share one effect in each draw, wherever they stand.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "jobs/newrows.h"

static sgfs_status fail_twice(const char *factor, const char *name, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_EDATA,
        "Two groups of \"%.60s\" are called \"%.100s\": new rows cannot be told which "
        "one they belong to. Rename one, and sample once more.",
        factor, name);
}

/* What the groups of a term are called. */
static sgfs_status take_levels(const sgfsi_factor *f, const sgfsi_origin *origin,
                               const sgfsi_json *note, int64_t k, sgfsi_word_list *to,
                               sgfs_err *err) {
    const sgfsi_json *term = sgfsi_json_at(sgfsi_json_get(note, "terms"), k),
                     *levels = sgfsi_json_get(term, "levels");
    const sgfsi_factor *live = origin->groups != NULL ? origin->groups->term[k].factor : NULL;
    if (live == NULL && sgfsi_json_length(levels) != f->levels)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The run's effects of groups are damaged.");
    for (int64_t g = 0; g < f->levels; g++) {
        const char *name =
            live != NULL ? live->level[g] : sgfsi_json_as_text(sgfsi_json_at(levels, g));
        if (name == NULL)
            return sgfsi_fail(err, SGFS_ERUNFILE, "The run's effects of groups are damaged.");
        int64_t number = sgfsi_words_add(to, name, strlen(name));
        if (number < 0) return sgfsi_fail_memory(err, "the groups");
        if (number < g) return fail_twice(f->name, name, err);
    }
    return SGFS_OK;
}

/* The columns of all factors, each once. */
static void take_columns(sgfsi_newgroups *g, const sgfsi_groups *groups) {
    for (int64_t k = 0; k < groups->terms; k++) {
        const sgfsi_factor *f = groups->term[k].factor;
        for (int64_t c = 0; c < f->columns; c++) {
            int64_t j = 0;
            while (j < g->columns && strcmp(g->column[j], f->column[c]) != 0) j++;
            if (j == g->columns) {
                g->column[g->columns] = f->column[c];
                g->words[g->columns++] = f->words[c];
            }
            g->at[k][c] = j;
        }
    }
}

sgfs_status sgfsi_newgroups_open(sgfsi_newrows *r, const sgfsi_origin *origin,
                                 const sgfs_config *cfg, sgfs_err *err) {
    const sgfsi_json *said = sgfsi_json_get(origin->info, "groups");
    sgfsi_newgroups *g = &r->groups;
    if (said == NULL) return SGFS_OK;
    sgfs_status status = sgfsi_groups_recall(r->data, said, err);
    if (status != SGFS_OK) return status;
    if (origin->groups == NULL && origin->effects == NULL)
        return sgfsi_fail(err, SGFS_EDATA,
                          "The run has no effects of its groups: it did not get as far as its end. "
                          "--resume takes it up.");
    const char *policy = sgfsi_config_text(cfg, "predict.new_groups");
    g->zero = strcmp(policy, "zero") == 0;
    g->refuse = strcmp(policy, "refuse") == 0;
    sgfsi_json *note = NULL;
    if (origin->groups == NULL) {
        note = sgfsi_json_parse(origin->effects, strlen(origin->effects), "effects", err);
        if (note == NULL) return sgfsi_why(err);
    }
    const sgfsi_groups *groups = r->data->groups;
    g->groups = groups;
    g->terms = groups->terms;
    for (int64_t k = 0; k < g->terms && status == SGFS_OK; k++)
        status = take_levels(groups->term[k].factor, origin, note, k, &g->level[k], err);
    sgfsi_json_free(note);
    take_columns(g, groups);
    r->wanted.groups = g->columns;
    r->wanted.group = g->column;
    r->wanted.group_words = g->words;
    return status;
}

void sgfsi_newgroups_close(sgfsi_newgroups *g) {
    for (int64_t k = 0; k < g->terms; k++) sgfsi_words_free(&g->level[k]);
}

/* Below 0, and the same for the same name. */
static int64_t code_of_new(const char *name) {
    uint64_t hash = 0;
    for (; *name != '\0'; name++) hash = sgfsi_splitmix(hash + (unsigned char)*name);
    return -1 - (int64_t)(hash >> 2);
}

int64_t sgfsi_newgroups_of(const sgfsi_newgroups *g, const double *number, const char *const *text,
                           int64_t *code, char what[SGFSI_LEVEL_ROOM]) {
    int64_t unseen = 0;
    for (int64_t k = 0; k < g->terms; k++) {
        const sgfsi_factor *f = g->groups->term[k].factor;
        char name[SGFSI_LEVEL_ROOM];
        for (int64_t c = 0; c < f->columns; c++) {
            int64_t j = g->at[k][c];
            sgfsi_level_append(name, c, text[j], number[j]);
        }
        code[k] = sgfsi_words_find(&g->level[k], name, strlen(name));
        if (code[k] >= 0) continue;
        code[k] = code_of_new(name);
        if (unseen++ == 0)
            snprintf(what, SGFSI_LEVEL_ROOM, "group \"%.100s\" of \"%.60s\"", name, f->name);
    }
    return unseen;
}
