/* SPDX-License-Identifier: MIT
 * transform_rows.c: operations that keep some of the rows: --keep-classes, --limit, --split.
 *
 * --split: row i of the file, counted from 0 before anything is left out, has the number
 *     u_i = uniform(seed, i)   (counter-based, rng.h)
 * and belongs to the first part whose shares add up to more than u_i. So the part of a row depends
 * on nothing but the seed and its place, whatever else is done and whatever the file's format.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "files/columns.h"
#include "files/transform/transform_kind.h"

/* ---- --keep-classes -------------------------------------------------------------------------- */

enum { SHOWN = 12 };

typedef struct class {
    const char *text;
    double number; /* NaN: the text is none */
    bool met;
} class;

typedef struct classes {
    int64_t count;
    class *of;
    int64_t others; /* labels that are not kept: the first few, for the message */
    double other[SHOWN];
} classes;

/* text stays as long as the step. */
static void add_class(sgfsi_transform *s, const char *text) {
    classes *c = s->self;
    class *new = &c->of[c->count++];
    new->text = text;
    if (!sgfsi_text_num(text, &new->number)) new->number = NAN;
}

static sgfs_status make_classes(sgfsi_transform *s, int64_t count, sgfs_err *err) {
    classes *c = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *c);
    if (c != NULL) c->of = sgfsi_arena_alloc(s->arena, count + 1, sizeof *c->of);
    return c != NULL && c->of != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the classes");
}

static sgfs_status open_classes(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    int64_t count = 1;
    (void)cfg;
    for (const char *t = s->text; *t != '\0'; t++) count += *t == ',';
    sgfs_status status = make_classes(s, count, err);
    char *rest = sgfsi_arena_text(s->arena, s->text), *t;
    if (status == SGFS_OK && rest == NULL) status = sgfsi_fail_memory(err, "the classes");
    while (status == SGFS_OK && (t = sgfsi_list_next(&rest)) != NULL) {
        if (*t != '\0') add_class(s, t);
        else
            status =
                sgfsi_fail(err, SGFS_EUSAGE, "--keep-classes has an empty class: %.60s", s->text);
    }
    return status;
}

static bool is_text(const sgfsi_transform *s) {
    const sgfsi_table *h = s->head;
    return h != NULL && h->role != NULL && h->text_col >= 0 &&
           h->role[h->text_col] == SGFSI_ROLE_TARGET;
}

/* The class of a label by its text, or NULL. */
static class *class_of_text(classes *c, const char *text) {
    double number;
    bool is_number = sgfsi_text_num(text, &number);
    for (int64_t k = 0; k < c->count; k++) {
        if (strcmp(c->of[k].text, text) == 0) return &c->of[k];
        if (is_number && c->of[k].number == number) return &c->of[k];
    }
    return NULL;
}

static class *class_of(const sgfsi_transform *s, double y) {
    classes *c = s->self;
    if (is_text(s)) return class_of_text(c, s->head->level[(int64_t)y]);
    for (int64_t k = 0; k < c->count; k++) {
        if (c->of[k].number == y) return &c->of[k];
    }
    return NULL;
}

bool sgfsi_classes_have(const sgfsi_transform *s, double y, const char *text) {
    return (text != NULL ? class_of_text(s->self, text) : class_of(s, y)) != NULL;
}

static bool keep_classes(sgfsi_transform *s, const sgfsi_row *row) {
    classes *c = s->self;
    if (isnan(row->y)) return false; /* missing */
    class *of = class_of(s, row->y);
    if (of != NULL) return of->met = true;
    bool known = c->others == SHOWN;
    for (int64_t k = 0; !known && k < c->others; k++) known = c->other[k] == row->y;
    if (!known) c->other[c->others++] = row->y;
    return false;
}

static void forget_classes(sgfsi_transform *s) {
    classes *c = s->self;
    c->others = 0;
    for (int64_t k = 0; k < c->count; k++) c->of[k].met = false;
}

static void add_label(char *out, size_t room, const char *label) {
    sgfsi_append(out, room, "%s%.40s", out[0] != '\0' ? ", " : "", label);
}

static sgfs_status finish_classes(const sgfsi_transform *s, bool stopped, sgfs_err *err) {
    const classes *c = s->self;
    char known[640] = "";
    int64_t k = 0;
    while (k < c->count && c->of[k].met) k++;
    if (k == c->count) return SGFS_OK;
    if (stopped) {
        sgfsi_say(s->log, SGFS_WARNING,
                  "--keep-classes %.60s: none of the rows before the limit is of this class.",
                  c->of[k].text);
        return SGFS_OK;
    }
    /* The labels there are: those kept, then the first of the others. */
    for (int64_t i = 0; i < c->count && i < SHOWN; i++) {
        if (c->of[i].met) add_label(known, sizeof known, c->of[i].text);
    }
    for (int64_t i = 0; i < c->others; i++) {
        char number[SGFSI_NUM_CHARS];
        sgfsi_format_num(number, c->other[i]);
        const char *label = is_text(s) ? s->head->level[(int64_t)c->other[i]] : number;
        add_label(known, sizeof known, label);
    }
    if (c->others == SHOWN) add_label(known, sizeof known, "...");
    return sgfsi_fail(err, SGFS_EDATA,
                      "--keep-classes asks for \"%.60s\", and no row has this target; there are: "
                      "%s.",
                      c->of[k].text, known);
}

static void tell_classes(const sgfsi_transform *s, sgfsi_json *out) {
    const classes *c = s->self;
    sgfsi_json *list = sgfsi_json_array();
    for (int64_t k = 0; k < c->count; k++) sgfsi_json_text(list, NULL, c->of[k].text);
    sgfsi_json_put(out, "classes", list);
}

static sgfs_status recall_classes(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *list = sgfsi_json_get(saved, "classes");
    int64_t count = sgfsi_json_length(list);
    if (count < 1) return sgfsi_transform_damaged(s, err);
    sgfs_status status = make_classes(s, count, err);
    for (int64_t k = 0; k < count && status == SGFS_OK; k++) {
        const char *text = sgfsi_json_as_text(sgfsi_json_at(list, k));
        char *copy = text != NULL ? sgfsi_arena_text(s->arena, text) : NULL;
        if (text == NULL || *text == '\0') status = sgfsi_transform_damaged(s, err);
        else if (copy == NULL) status = sgfsi_fail_memory(err, "the classes");
        else add_class(s, copy);
    }
    return status;
}

const sgfsi_transform_kind sgfsi_transform_keep_classes = {
    .op = "keep-classes",
    .key = "data.keep_classes",
    .open = open_classes,
    .tell = tell_classes,
    .recall = recall_classes,
    .keep = keep_classes,
    .rewind = forget_classes,
    .finish = finish_classes,
};

/* ---- --limit --------------------------------------------------------------------------------- */

typedef struct limit {
    int64_t most, taken;
} limit;

static sgfs_status open_limit(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    limit *l = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *l);
    if (l == NULL) return sgfsi_fail_memory(err, "the limit");
    l->most = sgfsi_config_int(cfg, s->kind->key);
    return SGFS_OK;
}

static bool keep_limit(sgfsi_transform *s, const sgfsi_row *row) {
    limit *l = s->self;
    (void)row;
    return l->taken < l->most ? (l->taken++, true) : false;
}

static void rewind_limit(sgfsi_transform *s) {
    ((limit *)s->self)->taken = 0;
}

static bool limit_full(const sgfsi_transform *s) {
    const limit *l = s->self;
    return l->taken >= l->most;
}

static void tell_limit(const sgfsi_transform *s, sgfsi_json *out) {
    sgfsi_json_int(out, "rows", ((const limit *)s->self)->most);
}

static sgfs_status recall_limit(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    limit *l = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *l);
    if (l == NULL) return sgfsi_fail_memory(err, "the limit");
    l->most = sgfsi_json_get_int(saved, "rows", -1);
    return l->most > 0 ? SGFS_OK : sgfsi_transform_damaged(s, err);
}

const sgfsi_transform_kind sgfsi_transform_limit = {
    .op = "limit",
    .key = "data.limit",
    .open = open_limit,
    .tell = tell_limit,
    .recall = recall_limit,
    .keep = keep_limit,
    .rewind = rewind_limit,
    .full = limit_full,
};

/* ---- --split --------------------------------------------------------------------------------- */

typedef struct split {
    int64_t shares; /* 2: training, test; 3: training, validation, test */
    double share[3];
    uint64_t seed;
    sgfsi_split_part part;
} split;

static const char *const part_names[] = {"train", "validation", "test", "all"};

bool sgfsi_split_part_find(const char *name, sgfsi_split_part *part) {
    for (int k = 0; k < 4; k++) {
        if (strcmp(part_names[k], name) != 0) continue;
        *part = (sgfsi_split_part)k;
        return true;
    }
    return false;
}

static sgfs_status open_split(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    split *p = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *p);
    if (p == NULL) return sgfsi_fail_memory(err, "the shares");
    p->seed = (uint64_t)sgfsi_config_int(cfg, "data.split_seed");
    (void)sgfsi_split_part_find(sgfsi_config_text(cfg, "data.part"), &p->part);
    double sum = 0;
    const char *t = s->text;
    for (; p->shares < 3; t++) {
        const char *end = sgfsi_parse_num(t, t + strlen(t), &p->share[p->shares]);
        if (end == NULL || !(p->share[p->shares] > 0 && p->share[p->shares] <= 1)) break;
        sum += p->share[p->shares++];
        t = end;
        if (*t != ',') break;
    }
    if (*t != '\0' || p->shares < 2) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--split takes two shares, for training and test, or three, for training, "
            "validation and test, each above 0: 0.9,0.1 or 0.9,0.05,0.05; not "
            "\"%.60s\".",
            s->text);
    }
    if (sum > 1 + 1e-9)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--split %.60s: the shares add up to %.6g, more than 1.", s->text, sum);
    if (p->part != SGFSI_PART_VALIDATION || p->shares == 3) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--part validation needs three shares, and --split %.60s has two: training "
                      "and test.",
                      s->text);
}

bool sgfsi_split_has(const sgfsi_transform *s, int64_t row, sgfsi_split_part part) {
    const split *p = s->self;
    sgfsi_stream stream = sgfsi_stream_at(p->seed, 0, row, SGFSI_SPLIT);
    sgfsi_split_part of = SGFSI_PART_ALL; /* the shares leave the row to none */
    double u, sum = 0;
    sgfsi_uniforms(&stream, 1, &u);
    for (int64_t k = 0; k < p->shares && of == SGFSI_PART_ALL; k++) {
        sum += p->share[k];
        bool last = k == p->shares - 1;
        if (u < sum || (last && sum >= 1 - 1e-9)) /* rounding leaves no row over */
            of = last ? SGFSI_PART_TEST : (sgfsi_split_part)k;
    }
    return part == SGFSI_PART_ALL ? of != SGFSI_PART_ALL : of == part;
}

int64_t sgfsi_split_shares(const sgfsi_transform *s) {
    return ((const split *)s->self)->shares;
}

bool sgfsi_split_trains(const sgfsi_transform *s) {
    return ((const split *)s->self)->part == SGFSI_PART_TRAIN;
}

static bool keep_split(sgfsi_transform *s, const sgfsi_row *row) {
    const split *p = s->self;
    return sgfsi_split_has(s, row->number, row->learning ? SGFSI_PART_TRAIN : p->part);
}

static void tell_split(const sgfsi_transform *s, sgfsi_json *out) {
    const split *p = s->self;
    sgfsi_json_nums(out, "shares", p->shares, p->share);
    sgfsi_json_int(out, "seed", (int64_t)p->seed);
    sgfsi_json_text(out, "part", part_names[p->part]);
}

static sgfs_status recall_split(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *shares = sgfsi_json_get(saved, "shares");
    split *p = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *p);
    if (p == NULL) return sgfsi_fail_memory(err, "the shares");
    int64_t seed = sgfsi_json_get_int(saved, "seed", -1);
    p->shares = sgfsi_json_length(shares);
    p->seed = (uint64_t)seed;
    if (p->shares < 2 || p->shares > 3 || seed < 0 ||
        !sgfsi_split_part_find(sgfsi_json_get_text(saved, "part", ""), &p->part))
        return sgfsi_transform_damaged(s, err);
    for (int64_t k = 0; k < p->shares; k++) {
        bool good = sgfsi_json_as_num(sgfsi_json_at(shares, k), &p->share[k]);
        if (!good || !(p->share[k] > 0 && p->share[k] <= 1)) return sgfsi_transform_damaged(s, err);
    }
    return SGFS_OK;
}

static void brief_split(const sgfsi_transform *s, char *out, size_t room) {
    const split *p = s->self;
    size_t used = (size_t)snprintf(out, room, "split ");
    for (int64_t k = 0; k < p->shares && used < room; k++)
        used += (size_t)snprintf(out + used, room - used, "%s%.4g", k > 0 ? "," : "", p->share[k]);
    if (used < room) snprintf(out + used, room - used, ": %s", part_names[p->part]);
}

const sgfsi_transform_kind sgfsi_transform_split = {
    .op = "split",
    .key = "data.split",
    .open = open_split,
    .tell = tell_split,
    .recall = recall_split,
    .brief = brief_split,
    .keep = keep_split,
};
