/* SPDX-License-Identifier: MIT
 * words.c: numbering texts.
 *
 * A column has a handful of words and millions of rows, so finding one must not walk a list: an
 * open hash table, never more than a quarter full, that grows with what it holds (a table of a
 * thousand columns of two words each should not cost what a thousand words cost).
 */
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOTS = 32, SLOTS_PER_WORD = 4 };

/* The slot that holds the text, or the free one where it belongs. The hash is FNV-1a. */
static int32_t *place(const sgfsi_word_list *words, const char *text, size_t length) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
    int64_t mask = words->slots - 1, at = h & mask;
    for (; words->slot[at] != 0; at = (at + 1) & mask) {
        const char *here = words->text[words->slot[at] - 1];
        if (strncmp(here, text, length) == 0 && here[length] == '\0') break;
    }
    return &words->slot[at];
}

int64_t sgfsi_words_find(const sgfsi_word_list *words, const char *text, size_t length) {
    return words->slots > 0 ? *place(words, text, length) - 1 : -1;
}

int64_t sgfsi_words_add(sgfsi_word_list *words, const char *text, size_t length) {
    int64_t found = sgfsi_words_find(words, text, length);
    if (found >= 0) return found;
    if (words->count * SLOTS_PER_WORD == words->slots) {
        int64_t slots = words->slots == 0 ? LEAST_SLOTS : words->slots * 4;
        char **list = realloc(words->text, (size_t)(slots / SLOTS_PER_WORD) * sizeof *list);
        if (list == NULL) return -1;
        words->text = list;
        int32_t *slot = calloc((size_t)slots, sizeof *slot);
        if (slot == NULL) return -1;
        free(words->slot);
        words->slot = slot;
        words->slots = slots;
        for (int64_t i = 0; i < words->count; i++)
            *place(words, list[i], strlen(list[i])) = (int32_t)(i + 1);
    }
    char *copy = strndup(text, length);
    if (copy == NULL || words->count == INT32_MAX) return free(copy), -1;
    *place(words, copy, length) = (int32_t)(words->count + 1);
    words->text[words->count] = copy;
    return words->count++;
}

void sgfsi_words_free(sgfsi_word_list *words) {
    for (int64_t i = 0; i < words->count; i++) free(words->text[i]);
    free(words->text);
    free(words->slot);
    memset(words, 0, sizeof *words);
}
