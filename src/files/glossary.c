/* SPDX-License-Identifier: MIT
 * glossary.c: an open hash table over a list of texts, never more than half full.
 */
#include "files/glossary.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint64_t hash(const char *text) {
    uint64_t h = 14695981039346656037u;
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Where the text is, or the free slot where it would be. */
static int64_t *seek(const sgfsi_glossary *w, const char *text) {
    uint64_t mask = (uint64_t)w->slots - 1, at = hash(text) & mask;
    while (w->slot[at] != 0 && strcmp(w->text[w->slot[at] - 1], text) != 0) at = (at + 1) & mask;
    return &w->slot[at];
}

static int grow(sgfsi_glossary *w) {
    int64_t room = w->room > 0 ? 2 * w->room : 16;
    char **text = realloc(w->text, (size_t)room * sizeof *text);
    if (text != NULL) w->text = text;
    int64_t *slot = calloc((size_t)room * 2, sizeof *slot);
    if (text == NULL || slot == NULL) {
        free(slot);
        return 0;
    }
    free(w->slot);
    w->slot = slot;
    w->slots = 2 * room;
    w->room = room;
    for (int64_t i = 0; i < w->count; i++) *seek(w, w->text[i]) = i + 1;
    return 1;
}

int64_t sgfsi_glossary_find(const sgfsi_glossary *words, const char *text) {
    return words->slots > 0 ? *seek(words, text) - 1 : -1;
}

int64_t sgfsi_glossary_add(sgfsi_glossary *words, const char *text) {
    int64_t known = sgfsi_glossary_find(words, text);
    if (known >= 0) return known;
    if (words->count == words->room && !grow(words)) return -1;
    char *copy = strdup(text);
    if (copy == NULL) return -1;
    int64_t *free_slot = seek(words, text);
    words->text[words->count] = copy;
    *free_slot = ++words->count;
    return words->count - 1;
}

void sgfsi_glossary_free(sgfsi_glossary *words) {
    for (int64_t i = 0; i < words->count; i++) free(words->text[i]);
    free(words->text);
    free(words->slot);
    memset(words, 0, sizeof *words);
}
