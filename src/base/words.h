/* SPDX-License-Identifier: MIT
 * words.h: distinct texts, numbered in order of first appearance: the words of a column, the levels
 * of a target, the names of columns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct sgfsi_word_list {
    int64_t count;
    char **text;   /* count; the array and each of them malloc'ed */
    int64_t slots; /* of the hash table: a power of two, or 0 */
    int32_t *slot; /* 1 + number of the word, 0 is free */
} sgfsi_word_list;

/* The number of a text of so many bytes; -1: it is none of them. Threads may look up at the same
 * time while nobody adds. */
int64_t sgfsi_words_find(const sgfsi_word_list *words, const char *text, size_t length);
/* The same, made new where it is not there. -1: memory is out. */
int64_t sgfsi_words_add(sgfsi_word_list *words, const char *text, size_t length);
void sgfsi_words_free(sgfsi_word_list *words); /* safe on a zeroed value, which it leaves behind */
