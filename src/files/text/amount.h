/* SPDX-License-Identifier: MIT
 * amount.h: numbers as people write amounts, with a currency, a per cent sign or separators between
 * thousands.
 *
 *     $86,974   -$12.50   (1,234.50)   1 234 EUR   12 %   86974      in a file with decimal commas:
 *     86.974 EUR   1.234,50 EUR
 *
 * Per cent stay per cent: 12 % is 12. Whatever can be read in two ways is none here: between
 * thousands stands the same sign each time, with three digits behind it ("1,23" is no amount).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a text of so many bytes; point: the decimal sign, '.' or ','. false: it is none. */
bool sgfsi_amount(const char *text, size_t bytes, char point, double *x);
/* Are most of the first words of a column such amounts, whatever the decimal sign, with signs that
 * a number has not? */
bool sgfsi_words_are_amounts(int64_t count, char *const *word);
