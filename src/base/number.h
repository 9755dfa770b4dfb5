/* SPDX-License-Identifier: MIT
 * number.h: numbers from and to text, always with a dot, whatever the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a decimal number at s, not past end. Returns where it stopped, or NULL when no number stands
 * there. Correctly rounded. Accepts nan, inf and infinity in any case; no hexadecimal, no leading
 * blanks. */
const char *sgfsi_parse_num(const char *s, const char *end, double *out);
/* m x 10^e for -27 <= e <= 27, correctly rounded. */
double sgfsi_scale(uint64_t m, int e);
/* The whole zero-terminated text is one number (or one integer, 1e6 allowed), blanks around it
 * allowed. */
bool sgfsi_text_num(const char *text, double *out);
bool sgfsi_text_int(const char *text, int64_t *out);

enum { SGFSI_NUM_CHARS = 32 };
/* Shortest text that reads back to the same double; "nan", "inf", "-inf". Returns its length. */
size_t sgfsi_format_num(char out[SGFSI_NUM_CHARS], double x);
/* At most `digits` significant digits, trailing zeros dropped. */
size_t sgfsi_format_digits(char out[SGFSI_NUM_CHARS], double x, int digits);
/* A whole number below 1e18 for a sentence: 1,234,567. Returns out. */
const char *sgfsi_format_commas(char out[SGFSI_NUM_CHARS], double x);

/* The same in the middle of a sentence: a text that lasts as long as the block it stands in. */
#define SGFSI_DIGITS(x, digits) sgfsi_digits_in((char[SGFSI_NUM_CHARS]){0}, (x), (digits))
#define SGFSI_COMMAS(x)         sgfsi_format_commas((char[SGFSI_NUM_CHARS]){0}, (x))
static inline const char *sgfsi_digits_in(char room[SGFSI_NUM_CHARS], double x, int digits) {
    sgfsi_format_digits(room, x, digits);
    return room;
}
