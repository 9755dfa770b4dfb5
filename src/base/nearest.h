/* SPDX-License-Identifier: MIT
 * nearest.h: which of these words was meant?
 */
#pragma once

#include <stdint.h>

/* Edit distance of two words, capitals ignored, swaps of neighbours counted once; words past 63
 * bytes are cut. */
int64_t sgfsi_distance(const char *a, const char *b);
/* Is `candidate`, at this distance, close enough to `word` to suggest it? */
int sgfsi_is_near(const char *word, int64_t distance);

/* Candidates one by one: begins as {.word = a mistyped word, .least = INT64_MAX}. */
typedef struct sgfsi_guess {
    const char *word, *best; /* best: the nearest candidate so far; not copied */
    int64_t least;           /* its distance */
} sgfsi_guess;
void sgfsi_guess_try(sgfsi_guess *g, const char *candidate);
const char *sgfsi_guess_near(const sgfsi_guess *g); /* best, or NULL: it is too far away */

/* The candidate that was probably meant by a mistyped word, or NULL. */
const char *sgfsi_nearest(const char *word, int64_t count, const char *const *candidates);
/* The same for the name of a column, where a name that shares no letter with the word is not near,
 * however short both are; taken[i] (NULL: none): candidate i was meant by another word. */
const char *sgfsi_nearest_name(const char *word, int64_t count, const char *const *candidates,
                               const char *taken);
