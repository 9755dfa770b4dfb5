/* SPDX-License-Identifier: MIT
 * levels.h: the distinct texts of a text target, numbered in order of first appearance.
 */
#ifndef SGFSI_LEVELS_H
#define SGFSI_LEVELS_H

#include <stddef.h>
#include <stdint.h>

enum { SGFSI_MAX_LEVELS = 1000, SGFSI_LEVEL_SLOTS = 4096 };

typedef struct sgfsi_levels {
    int64_t count;
    char *text[SGFSI_MAX_LEVELS];    /* malloc'ed, count of them */
    int16_t slot[SGFSI_LEVEL_SLOTS]; /* hash table: 1 + number of the level, 0 is free */
} sgfsi_levels;

enum { SGFSI_LEVELS_FULL = -1, SGFSI_LEVELS_MEMORY = -2 };
/* The number of `text`, made new when it is; or one of the negatives above. */
int64_t sgfsi_levels_index(sgfsi_levels *levels, const char *text);
void sgfsi_levels_clear(sgfsi_levels *levels);

#endif
