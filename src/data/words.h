/* SPDX-License-Identifier: MIT
 * words.h: distinct texts, numbered in order of first appearance; as many as there are.
 */
#ifndef SGFSI_WORDS_H
#define SGFSI_WORDS_H

#include <stdint.h>

typedef struct sgfsi_words {
    int64_t count, room;
    char **text;   /* count; malloc'ed */
    int64_t slots; /* a power of two, at least twice count; or 0 */
    int64_t *slot; /* hash table: 1 + number of the word, 0 is free */
} sgfsi_words;

/* The number of `text`; made new where it is not there: -1, memory is out. */
int64_t sgfsi_words_add(sgfsi_words *words, const char *text);
int64_t sgfsi_words_find(const sgfsi_words *words, const char *text); /* -1: not there */
void sgfsi_words_free(sgfsi_words *words);                            /* safe on a zeroed value */

#endif
