/* SPDX-License-Identifier: MIT
 * find_columns.c: the columns of a run in another file.
 *
 * Columns are found by their names, wherever they stand. A file without a header names its columns
 * by their place, x1, x2, ..., as the readers do; so does a run that was made from such a file. The
 * two then fit by place, and nothing else fits: a file without names is of no use to a run whose
 * columns have some. The last column of an array is called y where it was the target, that of an
 * IDX file label.
 *
 * Names are looked up in a sorted list: wide files have tens of thousands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "files/stream.h"

enum { SHOWN = 5, ABSENT = -1, TWICE = -2 };

typedef struct finder {
    const sgfsi_named_columns *file;
    int64_t *order; /* cols, by name; NULL where the file has no names */
    char *taken;    /* cols: found for something */
    bool asked_named;
} finder;

/* ---- one column ------------------------------------------------------------------------------ */

typedef struct entry {
    const char *name;
    int64_t at;
} entry;

static int by_name(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

static sgfs_status sort_names(finder *f, sgfs_err *err) {
    int64_t cols = f->file->cols;
    entry *sorted = malloc((size_t)(cols + 1) * sizeof *sorted);
    f->order = malloc((size_t)(cols + 1) * sizeof *f->order);
    if (sorted == NULL || f->order == NULL) {
        free(sorted);
        return sgfsi_fail_memory(err, "the column names");
    }
    for (int64_t i = 0; i < cols; i++) sorted[i] = (entry){f->file->names[i], i};
    qsort(sorted, (size_t)cols, sizeof *sorted, by_name);
    for (int64_t i = 0; i < cols; i++) f->order[i] = sorted[i].at;
    free(sorted);
    return SGFS_OK;
}

static int64_t find_name(const finder *f, const char *name) {
    int64_t lo = 0, hi = f->file->cols;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (strcmp(f->file->names[f->order[mid]], name) < 0) lo = mid + 1;
        else hi = mid;
    }
    if (lo == f->file->cols || strcmp(f->file->names[f->order[lo]], name) != 0) return ABSENT;
    bool again = lo + 1 < f->file->cols && strcmp(f->file->names[f->order[lo + 1]], name) == 0;
    return again ? TWICE : f->order[lo];
}

/* x17 is the 17th column. */
static int64_t find_place(const finder *f, const char *name) {
    int64_t number;
    bool place = name[0] == 'x' && name[1] >= '1' && name[1] <= '9' &&
                 sgfsi_text_int(name + 1, &number) && number <= f->file->cols;
    return place ? number - 1 : ABSENT;
}

/* Columns that had names are not found by place: nobody says that they stand in the same order. */
static int64_t find(const finder *f, const char *name) {
    if (f->file->named) return find_name(f, name);
    return f->asked_named ? ABSENT : find_place(f, name);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static sgfs_status fail_twice(const finder *f, const char *name, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: two columns are called \"%.60s\", which the run was made with: rename "
                      "one of them.",
                      f->file->path, name);
}

/* The nearest name that is not taken, or NULL. */
static const char *nearest(const finder *f, const char *name) {
    const char *best = NULL;
    int64_t least = INT64_MAX;
    for (int64_t i = 0; f->file->named && i < f->file->cols; i++) {
        int64_t d = f->taken[i] ? INT64_MAX : sgfsi_distance(name, f->file->names[i]);
        if (d >= least) continue;
        least = d;
        best = f->file->names[i];
    }
    bool near = best != NULL && sgfsi_is_near(name, least) && least < (int64_t)strlen(name);
    return near ? best : NULL;
}

typedef struct list {
    char text[400];
    size_t used;
    int64_t count;
} list;

/* One more name for a message; past the first few they are only counted. */
static void list_name(list *l, const char *name, const char *near) {
    size_t room = sizeof l->text - l->used;
    if (l->count++ >= SHOWN || room < 64) return;
    int n = snprintf(l->text + l->used, room, "%s\"%.40s\"", l->count == 1 ? "" : ", ", name);
    l->used += (size_t)n < room ? (size_t)n : room - 1;
    room = sizeof l->text - l->used;
    if (near == NULL || room < 64) return;
    n = snprintf(l->text + l->used, room, " (did you mean \"%.40s\"?)", near);
    l->used += (size_t)n < room ? (size_t)n : room - 1;
}

static sgfs_status fail_missing(const finder *f, const list *missing, sgfs_err *err) {
    const char *more = missing->count > SHOWN ? ", ..." : "", *s = missing->count == 1 ? "" : "s";
    if (f->file->named) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: lacks %lld column%s that the run was made with: %s%s.",
                          f->file->path, (long long)missing->count, s, missing->text, more);
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has %lld columns without names, and the run needs %s%s. If the first "
                      "line holds names, say --header yes; else give the columns the run's names "
                      "(those of a run from a file without a header are x1, x2, ... by place).",
                      f->file->path, (long long)f->file->cols, missing->text, more);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status match_features(finder *f, const sgfsi_wanted *asked, list *missing,
                                  sgfsi_found *found, sgfs_err *err) {
    for (int64_t j = 0; j < asked->features; j++) {
        int64_t at = found->feature[j] = find(f, asked->feature[j]);
        if (at == TWICE) return fail_twice(f, asked->feature[j], err);
        if (at >= 0) f->taken[at] = 1;
    }
    for (int64_t j = 0; j < asked->features; j++) { /* now that all that fit are taken */
        const char *name = asked->feature[j];
        if (found->feature[j] == ABSENT) list_name(missing, name, nearest(f, name));
    }
    return SGFS_OK;
}

static sgfs_status match_exposure(finder *f, const sgfsi_wanted *asked, list *missing,
                                  sgfsi_found *found, sgfs_err *err) {
    found->exposure = ABSENT;
    if (asked->exposure == NULL) return SGFS_OK;
    found->exposure = find(f, asked->exposure);
    if (found->exposure == TWICE) return fail_twice(f, asked->exposure, err);
    if (found->exposure >= 0) f->taken[found->exposure] = 1;
    else list_name(missing, asked->exposure, nearest(f, asked->exposure));
    return SGFS_OK;
}

static int64_t find_target(const finder *f, const sgfsi_wanted *asked) {
    int64_t at = find(f, asked->target), last = f->file->cols - 1, number;
    if (at != ABSENT) return at;
    if (asked->target_needed && sgfsi_text_int(asked->target, &number) && number >= 1 &&
        number <= f->file->cols) {
        return number - 1;
    }
    bool made_up = strcmp(asked->target, "y") == 0 || strcmp(asked->target, "label") == 0;
    return made_up && !f->file->named && !f->taken[last] ? last : ABSENT;
}

static sgfs_status match_target(finder *f, const sgfsi_wanted *asked, sgfsi_found *found,
                                sgfs_err *err) {
    found->target = ABSENT;
    if (asked->target == NULL) return SGFS_OK;
    int64_t at = found->target = find_target(f, asked);
    if (at == ABSENT && strcmp(asked->target, "none") == 0) return SGFS_OK; /* not looked at */
    if (at == TWICE) return fail_twice(f, asked->target, err);
    if (at == ABSENT && asked->target_needed) {
        const char *near = nearest(f, asked->target);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --target asks for \"%.60s\", which it has not%s%.60s%s",
                          f->file->path, asked->target, near != NULL ? "; did you mean \"" : ".",
                          near != NULL ? near : "", near != NULL ? "\"?" : "");
    }
    if (at >= 0 && f->taken[at]) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --target asks for \"%.60s\", which the run uses to predict with.",
                          f->file->path, asked->target);
    }
    if (at >= 0) f->taken[at] = 1;
    return SGFS_OK;
}

/* New rows are predicted one by one: how often they count is no news, nor is it needed. */
static void pass_over_weights(finder *f, const sgfsi_wanted *asked) {
    int64_t at = asked->weights != NULL ? find(f, asked->weights) : ABSENT;
    if (at >= 0) f->taken[at] = 1;
}

static void tell_extra(const finder *f, const sgfsi_log *log) {
    list extra = {{0}, 0, 0};
    for (int64_t i = 0; i < f->file->cols; i++) {
        char place[24];
        snprintf(place, sizeof place, "x%lld", (long long)i + 1);
        if (!f->taken[i]) list_name(&extra, f->file->named ? f->file->names[i] : place, NULL);
    }
    if (extra.count == 0) return;
    sgfsi_say(log, SGFS_NOTE, "%s: %lld column%s that the run does not know %s ignored: %s%s.",
              f->file->path, (long long)extra.count, extra.count == 1 ? "" : "s",
              extra.count == 1 ? "is" : "are", extra.text, extra.count > SHOWN ? ", ..." : "");
}

sgfs_status sgfsi_match_columns(const sgfsi_named_columns *file, const sgfsi_wanted *asked,
                                const sgfsi_log *log, sgfsi_found *found, sgfs_err *err) {
    finder f = {
        .file = file, .asked_named = asked->named, .taken = calloc((size_t)file->cols + 1, 1)};
    list missing = {{0}, 0, 0};
    sgfs_status status = f.taken == NULL ? sgfsi_fail_memory(err, "the columns") : SGFS_OK;
    if (status == SGFS_OK && file->named) status = sort_names(&f, err);
    if (status == SGFS_OK) status = match_features(&f, asked, &missing, found, err);
    if (status == SGFS_OK) status = match_exposure(&f, asked, &missing, found, err);
    if (status == SGFS_OK && missing.count > 0) status = fail_missing(&f, &missing, err);
    if (status == SGFS_OK) status = match_target(&f, asked, found, err);
    if (status == SGFS_OK) pass_over_weights(&f, asked);
    if (status == SGFS_OK) tell_extra(&f, log);
    free(f.order);
    free(f.taken);
    return status;
}
