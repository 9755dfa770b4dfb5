/* SPDX-License-Identifier: MIT
 * effects.h: the effects of a run's groups, as the notes of its file tell of them (docs/groups.md):
 * moments of all, and some draws.
 */
#pragma once

#include "base/arena.h"
#include "sink/draws.h"

/* What varies between the groups of one factor. */
typedef struct sgfsi_effects_term {
    const char *factor;           /* "user", "school:class" */
    int64_t q, G;                 /* effects, groups */
    const char **effect, **level; /* q, G: names */
    double *rows;                 /* G */
    double *mean, *sd;            /* G x q; NaN: not known */
    int64_t first;                /* of its numbers in a draw that is kept */
} sgfsi_effects_term;

typedef struct sgfsi_effects {
    int64_t terms; /* 0: the run has none */
    sgfsi_effects_term *term;
} sgfsi_effects;

/* All of it, in the arena. A run without groups, or without the note, has none. SGFS_ERUNFILE: the
 * notes are damaged. */
sgfs_status sgfsi_effects_read(const sgfs_draws *d, sgfsi_effects *out, sgfsi_arena *arena,
                               sgfs_err *err);
/* Number i of a term in all kept draws, in order, to out (kept.count). */
void sgfsi_effects_sorted(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t i, double *out);
