/* SPDX-License-Identifier: MIT
 * printable.h: text that may come from anywhere, made fit for a terminal, and for a shell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at s, which is zero-terminated; 0 where there is none, or one that
 * prints nothing: a control character, C0 or C1 (U+0080 to U+009F). */
size_t sgfsi_printable_character(const unsigned char *s);
/* Whatever is no such character becomes a question mark. */
void sgfsi_printable(char *text);

/* A word as a shell takes it, in quotes where it would be taken apart. What is pasted must do no
 * harm: false, with `out` as it was, where the word is empty, begins with a dash, has characters
 * that print nothing, or finds no room. */
bool sgfsi_shell_word(const char *word, char *out, size_t room);

/* Digits that tell a ratio and its interval from 1, two of them of the difference; `least`, or more
 * where the interval is next to 1 and excludes it. */
int sgfsi_ratio_digits(double low, double high, int least);
/* So many units that their ratio shows, where that of one unit is next to 1 and its interval
 * excludes 1; else 0. */
double sgfsi_ratio_units(double low, double centre, double high);
/* "income: one unit more hardly shows; the odds ratio of 10000 units more is 1.1." of a ratio that
 * has such units; false: it has none. */
bool sgfsi_small_ratio(const char *name, const char *ratio, double low, double centre, double high,
                       char *out, size_t room);
