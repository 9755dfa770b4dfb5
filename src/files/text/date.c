/* SPDX-License-Identifier: MIT
 * date.c: dates to hours and back. A year begins in March here, so that the leap day is its last;
 * 400 years have 146,097 days.
 */
#include "files/text/date.h"

#include <math.h>
#include <string.h>

enum { DAYS_400 = 146097, DAYS_TO_1970 = 719468 /* from the first of March of the year 0 */ };

static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    int64_t y = year - (month < 3), m = (month + 9) % 12; /* from March */
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - DAYS_TO_1970;
}

sgfsi_date sgfsi_date_of(double hours) {
    const int64_t whole = (int64_t)hours, days = whole / 24 - (whole % 24 < 0);
    const int64_t z = days + DAYS_TO_1970, age = z / DAYS_400 - (z % DAYS_400 < 0);
    const int64_t of_age = z - age * DAYS_400;
    int64_t year = (of_age - of_age / 1460 + of_age / 36524 - of_age / (DAYS_400 - 1)) / 365;
    const int64_t of_year = of_age - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * of_year + 2) / 153, weekday = (days % 7 + 10) % 7;
    return (sgfsi_date){.year = (int)(year + 400 * age + (month > 9)),
                        .month = (int)(month < 10 ? month + 3 : month - 9),
                        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
                        .weekday = (int)weekday + 1,
                        .hour = (int)(whole - 24 * days)};
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
} cursor;

/* Exactly so many digits. */
static bool digits(cursor *c, int count, int *out) {
    *out = 0;
    if (c->end - c->at < count) return false;
    for (; count > 0; count--, c->at++) {
        if (*c->at < '0' || *c->at > '9') return false;
        *out = 10 * *out + (*c->at - '0');
    }
    return true;
}

static bool sign(cursor *c, const char *any) {
    bool is = c->at < c->end && memchr(any, *c->at, strlen(any)) != NULL;
    c->at += is;
    return is;
}

/* 08:30, 08:30:05, 08:30:05.125, and a zone behind it. */
static bool clock_time(cursor *c, int *hour) {
    int minute, second = 0, zone;
    if (!digits(c, 2, hour) || !sign(c, ":") || !digits(c, 2, &minute)) return false;
    if (sign(c, ":")) {
        if (!digits(c, 2, &second)) return false;
        bool fraction = sign(c, ".,");
        if (fraction && !(c->at < c->end && *c->at >= '0' && *c->at <= '9')) return false;
        while (fraction && c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
    }
    if (*hour > 23 || minute > 59 || second > 60) return false;
    if (c->at < c->end && *c->at == ' ') c->at++;
    if (sign(c, "Zz") || c->at == c->end) return true;
    if (c->end - c->at == 3 && memcmp(c->at, "UTC", 3) == 0) return c->at += 3, true;
    if (!sign(c, "+-") || !digits(c, 2, &zone)) return false;
    bool colon = sign(c, ":");
    return (!colon && c->at == c->end) || digits(c, 2, &zone);
}

bool sgfsi_date_hours(const char *text, size_t bytes, double *hours) {
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    cursor c = {text, text + bytes};
    int year, month, day, hour = 0;
    while (c.at < c.end && *c.at == ' ') c.at++;
    while (c.end > c.at && c.end[-1] == ' ') c.end--;
    if (!digits(&c, 4, &year)) return false;
    char between = c.at < c.end && memchr("-/.", *c.at, 3) != NULL ? *c.at : '\0';
    c.at += between != '\0';
    if (!digits(&c, 2, &month)) return false;
    if (between != '\0' && !(c.at < c.end && *c.at++ == between)) return false;
    if (!digits(&c, 2, &day) || year == 0 || month < 1 || month > 12 || day < 1) return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > month_days[month - 1] + (month == 2 && leap)) return false;
    if (sign(&c, "T ") && !clock_time(&c, &hour)) return false;
    *hours = 24 * (double)days_of(year, month, day) + hour;
    return c.at == c.end;
}

bool sgfsi_words_are_dates(int64_t count, char *const *word) {
    enum { FIRST = 100 };
    int64_t n = count < FIRST ? count : FIRST, dates = 0;
    double ignored;
    for (int64_t k = 0; k < n; k++) dates += sgfsi_date_hours(word[k], strlen(word[k]), &ignored);
    return n > 0 && 4 * dates > 3 * n;
}
