/* SPDX-License-Identifier: MIT
 * transform_date.c: columns of dates become columns of years, months, weekdays and hours (--date).
 *
 *     when: 2024-03-17T08:30  ->  year(when) = 2024, month(when)=3, weekday(when)=Sun, hour(when)=8
 *
 * A year is a number. Whatever comes again and again has no order that a line could follow, and is
 * coded as words are (--coding): a column of 0 and 1 for each month that the training rows have,
 * but for the most frequent one, or one column of numbers. A part of the date that is the same in
 * every row says nothing and has no column. Readers hand dates over as hours (text/date.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files/columns.h"
#include "files/text/date.h"
#include "files/transform/transform_kind.h"

enum { YEAR, PARTS = 4, MOST = 24 };

static const struct {
    const char *name;
    int levels; /* 0: a number */
    int first;  /* number of the first level */
    const char *const *word;
} parts[PARTS] = {
    {"year", 0, 0, NULL},
    {"month", 12, 1, NULL},
    {"weekday", 7, 1, (const char *const[]){"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}},
    {"hour", 24, 0, NULL},
};

/* What the training rows have of one part. */
typedef struct part {
    double min, max;
    double count[MOST]; /* by level, by weight; below 0: no row has it */
    int left_out;       /* level without a column; -1: none */
    int64_t width;      /* columns */
} part;

typedef struct dates {
    bool onehot, reference;
    bool unseen_zero; /* a level that no training row has is 0 in all its columns */
    bool done;
    unsigned char *hit;  /* in.cols: dates */
    part (*part)[PARTS]; /* in.cols */
} dates;

static void word_of(int k, int level, char out[8]) {
    if (parts[k].word != NULL) snprintf(out, 8, "%s", parts[k].word[level]);
    else snprintf(out, 8, "%d", level + parts[k].first);
}

/* Numbers of the four parts: the year, and levels from 0. */
static void split(double hours, int value[PARTS]) {
    const sgfsi_date d = sgfsi_date_of(hours);
    const int all[PARTS] = {d.year, d.month - 1, d.weekday - 1, d.hour};
    memcpy(value, all, sizeof all);
}

static sgfs_status make_dates(sgfsi_transform *s, sgfs_err *err) {
    dates *t = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *t);
    return t != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the dates");
}

static sgfs_status need_parts(sgfsi_transform *s, sgfs_err *err) {
    dates *t = s->self;
    if (t->part != NULL) return SGFS_OK;
    t->hit = sgfsi_arena_alloc(s->arena, s->in.cols + 1, 1);
    t->part = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *t->part);
    bool made = t->hit != NULL && t->part != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the dates");
}

static void forget(part p[PARTS]) {
    for (int k = 0; k < PARTS; k++) {
        p[k] = (part){.min = INFINITY, .max = -INFINITY, .left_out = -1};
        for (int level = 0; level < MOST; level++) p[k].count[level] = -1;
    }
}

static void rewind_dates(sgfsi_transform *s) {
    const dates *t = s->self;
    for (int64_t j = 0; t->part != NULL && !t->done && j < s->in.cols; j++) forget(t->part[j]);
}

static sgfs_status open_dates(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_status status = make_dates(s, err);
    if (status != SGFS_OK) return status;
    dates *t = s->self;
    t->onehot = strcmp(sgfsi_config_text(cfg, "data.coding"), "onehot") == 0;
    t->reference = sgfsi_config_flag(cfg, "data.intercept");
    return SGFS_OK;
}

static sgfs_status look_dates(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err) {
    dates *t = s->self;
    if (t->part == NULL) {
        sgfs_status status = need_parts(s, err);
        if (status == SGFS_OK) status = sgfsi_transform_find(s, s->text, t->hit, err);
        if (status != SGFS_OK) return status;
        rewind_dates(s);
    }
    for (int64_t i = 0; i < seen->n; i++) {
        int64_t at = seen->row != NULL ? seen->row[i] : i;
        double weight = seen->weight != NULL ? seen->weight[at] : 1;
        for (int64_t j = 0; j < s->in.cols; j++) {
            int value[PARTS];
            double hours = seen->x[at * s->in.cols + j];
            if (!t->hit[j] || isnan(hours)) continue;
            split(hours, value);
            for (int k = 0; k < PARTS; k++) {
                part *p = &t->part[j][k];
                p->min = fmin(p->min, value[k]);
                p->max = fmax(p->max, value[k]);
                if (k != YEAR) p->count[value[k]] = fmax(p->count[value[k]], 0) + weight;
            }
        }
    }
    return SGFS_OK;
}

/* The columns of each part, and the most frequent level, which has none. */
static sgfs_status looked_dates(sgfsi_transform *s, sgfs_err *err) {
    dates *t = s->self;
    sgfs_status status = need_parts(s, err);
    t->done = true;
    for (int64_t j = 0; status == SGFS_OK && j < s->in.cols; j++) {
        for (int k = 0; t->hit[j] && k < PARTS; k++) {
            part *p = &t->part[j][k];
            int64_t levels = 0;
            if (!(p->min < p->max)) continue; /* the same everywhere */
            p->width = 1;
            if (k == YEAR || !t->onehot) continue;
            int most = -1;
            for (int level = 0; level < parts[k].levels; level++) {
                if (p->count[level] < 0) continue;
                levels++;
                if (most < 0 || p->count[level] > p->count[most]) most = level;
            }
            p->left_out = t->reference ? most : -1;
            p->width = levels - t->reference;
        }
    }
    return status;
}

static void say_date(const sgfsi_transform *s, int64_t j) {
    const dates *t = s->self;
    char list[240] = "", word[8];
    for (int k = 0; k < PARTS; k++) {
        const part *p = &t->part[j][k];
        if (p->width == 0) continue;
        sgfsi_append(list, sizeof list, "%s%s(%.40s)", list[0] != '\0' ? ", " : "", parts[k].name,
                     s->in.name[j]);
        if (p->left_out < 0) continue;
        word_of(k, p->left_out, word);
        sgfsi_append(list, sizeof list, " (compared with %s)", word);
    }
    sgfsi_say(s->log, SGFS_NOTE, "Column \"%.60s\" holds dates: %s%s.", s->in.name[j],
              list[0] != '\0' ? "it becomes " : "the same in every row, so it is left out", list);
}

static sgfs_status name_column(const sgfsi_transform *s, int64_t j, int k, int level,
                               const char **out, sgfs_err *err) {
    char word[8] = "";
    const size_t room = strlen(s->in.name[j]) + 24;
    char *name = sgfsi_arena_alloc(s->arena, (int64_t)room, 1);
    if (name == NULL) return sgfsi_fail_memory(err, "the names of columns");
    if (level >= 0) word_of(k, level, word);
    snprintf(name, room, "%s(%s)%s%s", parts[k].name, s->in.name[j], level >= 0 ? "=" : "", word);
    *out = name;
    return SGFS_OK;
}

static sgfs_status shape_dates(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const dates *t = s->self;
    int64_t cols = 0, to = 0;
    for (int64_t j = 0; j < s->in.cols; j++) {
        cols += !t->hit[j];
        for (int k = 0; t->hit[j] && k < PARTS; k++) cols += t->part[j][k].width;
        if (t->hit[j] && saved == NULL) say_date(s, j);
    }
    s->out = (sgfsi_feature_list){.cols = cols, .base = s->in.base};
    s->out.name = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, cols + 1, sizeof *s->out.origin);
    if (s->out.name == NULL || s->out.origin == NULL) return sgfsi_fail_memory(err, "the columns");
    sgfs_status status = SGFS_OK;
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (!t->hit[j]) {
            s->out.origin[to] = s->in.origin[j];
            s->out.name[to++] = s->in.name[j];
        }
        for (int k = 0; t->hit[j] && k < PARTS; k++) {
            const part *p = &t->part[j][k];
            const bool columns = k != YEAR && t->onehot;
            for (int level = columns ? 0 : -1;
                 p->width > 0 && level < (columns ? parts[k].levels : 0); level++) {
                if (columns && (p->count[level] < 0 || level == p->left_out)) continue;
                s->out.origin[to] = s->in.origin[j];
                status = name_column(s, j, k, level, &s->out.name[to++], err);
                if (status != SGFS_OK) return status;
            }
        }
    }
    return status;
}

static sgfs_status fail_unseen(const sgfsi_transform *s, int64_t j, int k, int level,
                               sgfs_err *err) {
    char word[8];
    word_of(k, level, word);
    return sgfsi_fail(err, SGFS_EDATA,
                      "column \"%.60s\" holds a date whose %s (%s) none of the run's rows had, so "
                      "that nothing is known of it: leave such rows out, or say --new-words zero, "
                      "which takes it as %s.",
                      s->in.name[j], parts[k].name, word,
                      ((const dates *)s->self)->reference
                          ? "the one that the others are compared with"
                          : "none of them");
}

static sgfs_status apply_dates(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                               int64_t *bad, sgfs_err *err) {
    const dates *t = s->self;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < s->in.cols; j++) {
            const double hours = *in++;
            int value[PARTS] = {0};
            if (!t->hit[j]) {
                *out++ = hours;
                continue;
            }
            if (!isnan(hours)) split(hours, value);
            for (int k = 0; k < PARTS; k++) {
                const part *p = &t->part[j][k];
                const bool columns = k != YEAR && t->onehot && p->width > 0;
                if (p->width == 1 && !columns)
                    *out++ = isnan(hours) ? NAN : (double)(value[k] + parts[k].first);
                if (!columns) continue;
                if (!isnan(hours) && p->count[value[k]] < 0 && !t->unseen_zero)
                    return *bad = i, fail_unseen(s, j, k, value[k], err);
                for (int level = 0; level < parts[k].levels; level++) {
                    if (p->count[level] < 0 || level == p->left_out) continue;
                    *out++ = isnan(hours) ? NAN : (double)(level == value[k]);
                }
            }
        }
    }
    return SGFS_OK;
}

static void need_dates(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const dates *t = s->self;
    for (int64_t j = 0; j < s->in.cols; j++) {
        int64_t width = t->hit[j] ? 0 : 1;
        for (int k = 0; t->hit[j] && k < PARTS; k++) width += t->part[j][k].width;
        for (; width > 0; width--) in[j] |= *out++;
    }
}

/* ---- for later ------------------------------------------------------------------------------- */

static void tell_dates(const sgfsi_transform *s, sgfsi_json *out) {
    const dates *t = s->self;
    sgfsi_json_text(out, "coding", t->onehot ? "onehot" : "integer");
    if (t->onehot) sgfsi_json_flag(out, "reference", t->reference);
    sgfsi_json *names = sgfsi_json_array_in(out, "dates"),
               *columns = sgfsi_json_array_in(out, "columns");
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (t->hit[j]) sgfsi_json_text(names, NULL, s->in.name[j]);
        for (int k = 0; t->hit[j] && k < PARTS; k++) {
            const part *p = &t->part[j][k];
            char name[200], word[8];
            int64_t left_out = -1, words = 0;
            if (p->width == 0) continue;
            sgfsi_json *o = sgfsi_json_object_in(columns, NULL), *list;
            snprintf(name, sizeof name, "%s(%.180s)", parts[k].name, s->in.name[j]);
            sgfsi_json_text(o, "name", name);
            sgfsi_json_text(o, "of", s->in.name[j]);
            sgfsi_json_text(o, "part", parts[k].name);
            if (k == YEAR || !t->onehot) continue;
            list = sgfsi_json_array_in(o, "words");
            for (int level = 0; level < parts[k].levels; level++) {
                if (p->count[level] < 0) continue;
                if (level == p->left_out) left_out = words;
                word_of(k, level, word);
                sgfsi_json_text(list, NULL, word);
                words++;
            }
            if (left_out >= 0) sgfsi_json_int(o, "left_out", left_out);
        }
    }
}

/* One part of one column; false: it makes no sense. */
static bool recall_part(const sgfsi_transform *s, const sgfsi_json *saved) {
    const dates *t = s->self;
    const sgfsi_json *words = sgfsi_json_get(saved, "words");
    const char *name = sgfsi_json_get_text(saved, "part", "");
    const int64_t j =
        sgfsi_names_find(s->in.cols, s->in.name, sgfsi_json_get_text(saved, "of", ""));
    int k = 0;
    while (k < PARTS && strcmp(parts[k].name, name) != 0) k++;
    if (j < 0 || !t->hit[j] || k == PARTS) return false;
    part *p = &t->part[j][k];
    const int64_t count = sgfsi_json_length(words),
                  left_out = sgfsi_json_get_int(saved, "left_out", -1);
    p->width = 1;
    if (k == YEAR || !t->onehot) return words == NULL;
    for (int64_t i = 0; i < count; i++) {
        const char *word = sgfsi_json_as_text(sgfsi_json_at(words, i));
        char own[8];
        int level = parts[k].levels - 1;
        for (; word != NULL && level >= 0; level--) {
            word_of(k, level, own);
            if (strcmp(word, own) == 0) break;
        }
        if (word == NULL || level < 0 || p->count[level] >= 0) return false;
        p->count[level] = 0;
        if (i == left_out) p->left_out = level;
    }
    p->width = count - (p->left_out >= 0);
    return count >= 1 && (p->left_out >= 0) == t->reference;
}

static sgfs_status recall_dates(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    sgfs_status status = make_dates(s, err);
    if (status == SGFS_OK) status = need_parts(s, err);
    if (status != SGFS_OK) return status;
    dates *t = s->self;
    const sgfsi_json *columns = sgfsi_json_get(saved, "columns");
    t->onehot = strcmp(sgfsi_json_get_text(saved, "coding", ""), "onehot") == 0;
    t->reference = sgfsi_json_get_flag(saved, "reference");
    t->done = true;
    for (int64_t j = 0; j < s->in.cols; j++) forget(t->part[j]);
    status = sgfsi_transform_find_saved(s, sgfsi_json_get(saved, "dates"), t->hit, err);
    bool good = sgfsi_json_length(columns) >= 0;
    for (int64_t k = 0; status == SGFS_OK && good && k < sgfsi_json_length(columns); k++)
        good = recall_part(s, sgfsi_json_at(columns, k));
    return status != SGFS_OK || good ? status : sgfsi_transform_damaged(s, err);
}

bool sgfsi_is_date(const sgfsi_transform *s, int64_t j) {
    return ((const dates *)s->self)->hit[j];
}

static bool zero_words(sgfsi_transform *s) {
    return ((dates *)s->self)->unseen_zero = true;
}

const sgfsi_transform_kind sgfsi_transform_date = {
    .op = "date",
    .key = "data.date",
    .reads = 2,
    .open = open_dates,
    .tell = tell_dates,
    .recall = recall_dates,
    .rewind = rewind_dates,
    .zero_words = zero_words,
    .shape = shape_dates,
    .looks = true,
    .look = look_dates,
    .looked = looked_dates,
    .apply = apply_dates,
    .need = need_dates,
};
