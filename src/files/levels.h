/* SPDX-License-Identifier: MIT
 * levels.h: the distinct texts of a column, numbered in order of first appearance.
 */
#ifndef SGFSI_LEVELS_H
#define SGFSI_LEVELS_H

#include <stddef.h>
#include <stdint.h>

enum { SGFSI_MAX_LEVELS = 1000 };

typedef struct sgfsi_levels {
    int64_t count;
    char **text;   /* count; the array and each of them malloc'ed */
    int64_t slots; /* of the hash table: a power of two, or 0 */
    int16_t *slot; /* 1 + number of the level, 0 is free */
} sgfsi_levels;

enum { SGFSI_LEVELS_FULL = -1, SGFSI_LEVELS_MEMORY = -2 };
/* The number of a text; -1: it is none of them. */
int64_t sgfsi_levels_find(const sgfsi_levels *levels, const char *text, size_t length);
/* The same, made new when it is; or one of the negatives above. */
int64_t sgfsi_levels_index(sgfsi_levels *levels, const char *text, size_t length);
void sgfsi_levels_clear(sgfsi_levels *levels);

#endif
