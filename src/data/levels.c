/* SPDX-License-Identifier: MIT
 * levels.c: numbering the texts of a target column.
 *
 * A target has a handful of levels and millions of rows, so finding one must not walk a list: an
 * open hash table four times as large as the most levels we take, never more than a quarter full.
 */
#include "data/levels.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint32_t hash(const char *text) {
    uint32_t h = 2166136261u;
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

int64_t sgfsi_levels_index(sgfsi_levels *levels, const char *text) {
    uint32_t at = hash(text) % SGFSI_LEVEL_SLOTS;
    for (; levels->slot[at] != 0; at = (at + 1) % SGFSI_LEVEL_SLOTS) {
        int64_t i = levels->slot[at] - 1;
        if (strcmp(levels->text[i], text) == 0) return i;
    }
    if (levels->count == SGFSI_MAX_LEVELS) return SGFSI_LEVELS_FULL;
    char *copy = strdup(text);
    if (copy == NULL) return SGFSI_LEVELS_MEMORY;
    levels->text[levels->count] = copy;
    levels->slot[at] = (int16_t)++levels->count;
    return levels->count - 1;
}

void sgfsi_levels_clear(sgfsi_levels *levels) {
    for (int64_t i = 0; i < levels->count; i++) free(levels->text[i]);
    memset(levels, 0, sizeof *levels);
}
