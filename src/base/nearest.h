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

/* The candidate that was probably meant by a mistyped word, or NULL. */
const char *sgfsi_nearest(const char *word, int64_t count, const char *const *candidates);
/* The same for the name of a column, where a name that shares no letter with the word is not near,
 * however short both are; taken[i] (NULL: none): candidate i was meant by another word. */
const char *sgfsi_nearest_name(const char *word, int64_t count, const char *const *candidates,
                               const char *taken);
