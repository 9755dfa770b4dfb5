/* SPDX-License-Identifier: MIT
 * amount.c: amounts as numbers (amount.h): the signs around the digits are taken away, those
 * between thousands too, and what is left is read as any number.
 */
#include "files/text/amount.h"

#include <string.h>

#include "base/number.h"

enum { MOST_DIGITS = 60, GROUP = 3 };

/* What is left of a text. */
typedef struct rest {
    const char *at, *end;
} rest;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool skip(rest *r, const char *sign) {
    const size_t length = strlen(sign);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, sign, length) != 0) return false;
    r->at += length;
    return true;
}

/* A blank, also one that does not break a line (U+00A0) or is narrow besides (U+202F). */
static bool skip_blank(rest *r) {
    return skip(r, " ") || skip(r, "\xC2\xA0") || skip(r, "\xE2\x80\xAF");
}

static bool skip_currency(rest *r) {
    static const char *const signs[] = {"$",   "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5",
                                        "USD", "EUR",          "GBP",      "CHF"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (skip(r, signs[k])) return true;
    return false;
}

/* A sign between thousands: a comma (a point, where commas are decimal), a blank, an apostrophe.
 * Which of them; 0: none. */
static char skip_separator(rest *r, char point) {
    if (skip(r, point == '.' ? "," : ".")) return ',';
    if (skip(r, "'") || skip(r, "\xE2\x80\x99")) return '\'';
    return skip_blank(r) ? ' ' : '\0';
}

/* Digits of one group, behind those that `out` has; how many. */
static int take_digits(rest *r, char *out, int *length) {
    int count = 0;
    for (; r->at < r->end && is_digit(*r->at) && *length < MOST_DIGITS; count++)
        out[(*length)++] = *r->at++;
    return count;
}

/* 86,974.50, as 86974.50 in out. */
static bool take_number(rest *r, char point, char out[MOST_DIGITS + 2]) {
    int length = 0, group = take_digits(r, out, &length);
    char between = '\0';
    bool fits = true;
    while (fits && group > 0) {
        rest before = *r;
        const char sign = skip_separator(r, point);
        if (sign == '\0' || r->at == r->end || !is_digit(*r->at)) {
            *r = before;
            break;
        }
        fits = between == '\0' ? group <= GROUP : sign == between;
        between = sign;
        group = take_digits(r, out, &length);
        fits = fits && group == GROUP;
    }
    if (fits && r->at < r->end && *r->at == point) {
        r->at++;
        out[length++] = '.';
        take_digits(r, out, &length);
    }
    out[length] = '\0';
    return fits;
}

/* ... and were there signs that a number has not? */
static bool parse(const char *text, size_t bytes, char point, double *x, bool *signs) {
    rest r = {text, text + bytes};
    char digits[MOST_DIGITS + 2];
    while (skip_blank(&r)) continue;
    const bool owed = skip(&r, "(");
    bool minus = skip(&r, "-") || skip(&r, "\xE2\x88\x92"), plus = !minus && skip(&r, "+");
    bool unit = skip_currency(&r);
    while (skip_blank(&r)) continue;
    if (unit && !minus && !plus && !owed) minus = skip(&r, "-");
    const char *first = r.at;
    if (!take_number(&r, point, digits) || !sgfsi_text_num(digits, x)) return false;
    const bool between = strlen(digits) != (size_t)(r.at - first);
    while (skip_blank(&r)) continue;
    if (!unit) unit = skip(&r, "%") || skip_currency(&r);
    while (skip_blank(&r)) continue;
    if (owed && !skip(&r, ")")) return false;
    while (skip_blank(&r)) continue;
    if (minus || owed) *x = -*x;
    *signs = unit || owed || between;
    return r.at == r.end && !(owed && (minus || plus));
}

bool sgfsi_amount(const char *text, size_t bytes, char point, double *x) {
    bool signs;
    return parse(text, bytes, point, x, &signs);
}

bool sgfsi_words_are_amounts(int64_t count, char *const *word) {
    enum { FIRST = 100 };
    const int64_t n = count < FIRST ? count : FIRST;
    int64_t amounts = 0;
    double x;
    for (int64_t k = 0; k < n; k++) {
        const size_t bytes = strlen(word[k]);
        bool signs = false;
        bool read =
            parse(word[k], bytes, '.', &x, &signs) || parse(word[k], bytes, ',', &x, &signs);
        amounts += read && signs;
    }
    return 4 * amounts > 3 * n;
}
