/* SPDX-License-Identifier: MIT
 * looks.h: texts that are numbers in other clothes. For sentences only: nothing is converted by
 * itself, since "03/04/2024" is two dates and "1,234" is two numbers.
 */
#pragma once

#include <stdint.h>

/* What this text looks like and what to do about it ("it looks like a date: ..."), for the end of a
 * sentence; NULL: like a word. */
const char *sgfsi_looks_like(const char *text);
/* The same of most of the words of a column, judged by the first of them. */
const char *sgfsi_words_look_like(int64_t count, char *const *word);
