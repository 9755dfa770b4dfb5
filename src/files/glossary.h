/* SPDX-License-Identifier: MIT
 * glossary.h: distinct texts, numbered in order of first appearance; as many as there are.
 */
#ifndef SGFSI_GLOSSARY_H
#define SGFSI_GLOSSARY_H

#include <stdint.h>

typedef struct sgfsi_glossary {
    int64_t count, room;
    char **text;   /* count; malloc'ed */
    int64_t slots; /* a power of two, at least twice count; or 0 */
    int64_t *slot; /* hash table: 1 + number of the word, 0 is free */
} sgfsi_glossary;

/* The number of `text`; made new where it is not there: -1, memory is out. */
int64_t sgfsi_glossary_add(sgfsi_glossary *words, const char *text);
int64_t sgfsi_glossary_find(const sgfsi_glossary *words, const char *text); /* -1: not there */
void sgfsi_glossary_free(sgfsi_glossary *words); /* safe on a zeroed value */

#endif
