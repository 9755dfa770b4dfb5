/* SPDX-License-Identifier: MIT
 * effects.c: the notes about effects of groups, read. They may come from anywhere: every length is
 * compared with the others before a number is used.
 */
#include "sink/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"

static sgfs_status damaged(sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE, "The run's effects of groups are damaged.");
}

static void take_numbers(const sgfsi_json *list, int64_t n, double *to) {
    for (int64_t i = 0; i < n; i++)
        if (!sgfsi_json_as_num(sgfsi_json_at(list, i), &to[i])) to[i] = NAN;
}

static bool take_texts(const sgfsi_json *list, int64_t n, const char **to, sgfsi_arena *arena) {
    for (int64_t i = 0; i < n; i++) {
        const char *text = sgfsi_json_as_text(sgfsi_json_at(list, i));
        if (text == NULL) return false;
        to[i] = sgfsi_arena_text(arena, text);
    }
    return true;
}

static sgfs_status read_term(const sgfsi_json *said, sgfsi_effects_term *t, sgfsi_arena *arena,
                             sgfs_err *err) {
    const sgfsi_json *levels = sgfsi_json_get(said, "levels"), *rows = sgfsi_json_get(said, "rows"),
                     *names = sgfsi_json_get(said, "effects"), *mean = sgfsi_json_get(said, "mean"),
                     *sd = sgfsi_json_get(said, "sd");
    const char *factor = sgfsi_json_get_text(said, "factor", NULL);
    t->q = sgfsi_json_length(names);
    t->G = sgfsi_json_length(levels);
    if (factor == NULL || t->q < 1 || t->G < 1 || sgfsi_json_length(rows) != t->G ||
        sgfsi_json_length(mean) % t->q != 0 || sgfsi_json_length(mean) / t->q != t->G ||
        sgfsi_json_length(sd) != sgfsi_json_length(mean))
        return damaged(err);
    t->factor = sgfsi_arena_text(arena, factor);
    t->effect = sgfsi_arena_alloc(arena, t->q, sizeof *t->effect);
    t->level = sgfsi_arena_alloc(arena, t->G, sizeof *t->level);
    if (t->effect == NULL || t->level == NULL || !SGFSI_ROOM(arena, t->G, &t->rows) ||
        !SGFSI_ROOM(arena, t->G * t->q, &t->mean, &t->sd))
        return sgfsi_fail_memory(err, "the effects of groups");
    bool whole =
        take_texts(names, t->q, t->effect, arena) && take_texts(levels, t->G, t->level, arena);
    take_numbers(rows, t->G, t->rows);
    take_numbers(mean, t->G * t->q, t->mean);
    take_numbers(sd, t->G * t->q, t->sd);
    return whole ? SGFS_OK : damaged(err);
}

sgfs_status sgfsi_effects_read(const sgfs_draws *d, sgfsi_effects *out, sgfsi_arena *arena,
                               sgfs_err *err) {
    *out = (sgfsi_effects){0};
    if (d->effects == NULL) return SGFS_OK;
    sgfsi_json *note = sgfsi_json_parse(d->effects, strlen(d->effects), "effects", err);
    if (note == NULL) return sgfsi_why(err);
    const sgfsi_json *terms = sgfsi_json_get(note, "terms");
    int64_t count = sgfsi_json_length(terms), numbers = 0;
    out->term = sgfsi_arena_alloc(arena, count > 0 ? count : 1, sizeof *out->term);
    sgfs_status status = count < 1           ? damaged(err)
                         : out->term == NULL ? sgfsi_fail_memory(err, "the effects of groups")
                                             : SGFS_OK;
    for (int64_t k = 0; k < count && status == SGFS_OK; k++) {
        out->term[k].first = numbers;
        status = read_term(sgfsi_json_at(terms, k), &out->term[k], arena, err);
        if (status == SGFS_OK) numbers += out->term[k].G * out->term[k].q;
    }
    sgfsi_json_free(note);
    out->terms = count;
    if (status == SGFS_OK && sgfsi_arena_failed(arena))
        status = sgfsi_fail_memory(err, "the effects of groups");
    if (status == SGFS_OK && d->effect_draws.count > 0 && d->effect_draws.numbers != numbers)
        status = damaged(err);
    return status;
}

void sgfsi_effects_sorted(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t i,
                          double *out) {
    const sgfs_kept_effects *kept = &d->effect_draws;
    for (int64_t s = 0; s < kept->count; s++)
        out[s] = (double)kept->u[s * kept->numbers + t->first + i];
    qsort(out, (size_t)kept->count, sizeof *out, sgfsi_by_size);
}
