/* SPDX-License-Identifier: MIT
 * date.h: dates and times as ISO 8601 writes them, as hours since the beginning of 1970: so few
 * digits that a float holds them exactly.
 *
 *     2024-03-17   20240317   2024-03-17 08:30   2024-03-17T08:30:00.25Z   2024-03-17T08:30+02:00
 *
 * The clock is the one that was written: a zone is looked at and not counted, since the hour that
 * matters is the one that people had. "03/04/2024" is two dates, and is none here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole hours of a text of so many bytes; false: it is no such date. */
bool sgfsi_date_hours(const char *text, size_t bytes, double *hours);
/* Are most of the first words of a column such dates? */
bool sgfsi_words_are_dates(int64_t count, char *const *word);

typedef struct sgfsi_date {
    int year, month, day, weekday, hour; /* from 1, hours from 0; the first weekday is Monday */
} sgfsi_date;
sgfsi_date sgfsi_date_of(double hours);
