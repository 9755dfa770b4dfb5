/* SPDX-License-Identifier: MIT
 * levels.c: numbering the texts of a column.
 *
 * A column has a handful of levels and millions of rows, so finding one must not walk a list: an
 * open hash table, never more than a quarter full, that grows with what it holds (a table of a
 * thousand columns of two words each should not cost what a thousand words cost).
 *
 * Finding changes nothing: threads may look up at the same time while nobody adds.
 */
#include "files/levels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOTS = 32, SLOTS_PER_LEVEL = 4 };

/* FNV-1a */
static uint32_t hash(const char *text, size_t length) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* The slot that holds the text, or the free one where it belongs. */
static int64_t place(const sgfsi_levels *levels, const char *text, size_t length) {
    int64_t mask = levels->slots - 1, at = hash(text, length) & mask;
    for (; levels->slot[at] != 0; at = (at + 1) & mask) {
        const char *here = levels->text[levels->slot[at] - 1];
        if (strncmp(here, text, length) == 0 && here[length] == '\0') break;
    }
    return at;
}

int64_t sgfsi_levels_find(const sgfsi_levels *levels, const char *text, size_t length) {
    if (levels->slots == 0) return -1;
    return levels->slot[place(levels, text, length)] - 1;
}

static bool grow(sgfsi_levels *levels) {
    int64_t slots = levels->slots == 0 ? LEAST_SLOTS : levels->slots * 4;
    char **text = realloc(levels->text, (size_t)(slots / SLOTS_PER_LEVEL) * sizeof *text);
    if (text == NULL) return false;
    levels->text = text;
    int16_t *slot = calloc((size_t)slots, sizeof *slot);
    if (slot == NULL) return false;
    free(levels->slot);
    levels->slot = slot;
    levels->slots = slots;
    for (int64_t i = 0; i < levels->count; i++)
        slot[place(levels, text[i], strlen(text[i]))] = (int16_t)(i + 1);
    return true;
}

int64_t sgfsi_levels_index(sgfsi_levels *levels, const char *text, size_t length) {
    int64_t found = sgfsi_levels_find(levels, text, length);
    if (found >= 0) return found;
    if (levels->count == SGFSI_MAX_LEVELS) return SGFSI_LEVELS_FULL;
    if (levels->count * SLOTS_PER_LEVEL == levels->slots && !grow(levels))
        return SGFSI_LEVELS_MEMORY;
    char *copy = strndup(text, length);
    if (copy == NULL) return SGFSI_LEVELS_MEMORY;
    levels->slot[place(levels, copy, length)] = (int16_t)(levels->count + 1);
    levels->text[levels->count] = copy;
    return levels->count++;
}

void sgfsi_levels_clear(sgfsi_levels *levels) {
    for (int64_t i = 0; i < levels->count; i++) free(levels->text[i]);
    free(levels->text);
    free(levels->slot);
    memset(levels, 0, sizeof *levels);
}
