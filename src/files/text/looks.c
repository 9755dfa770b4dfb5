/* SPDX-License-Identifier: MIT
 * looks.c: dates and amounts, told from words by their characters: digits with two separators
 * (2024-03-17, 3/17/24, also with a time behind), and numbers with a currency, a percent sign or
 * commas between thousands ($86,974, 12 %).
 */
#include "files/text/looks.h"

#include <stdbool.h>
#include <string.h>

static const char date[] =
    "it looks like a date: write it as 2024-03-17, for which there is --date, "
    "or leave the column out with --drop.";
static const char amount[] =
    "it looks like a number with signs in it: write 86974 for \"$86,974\", "
    "or leave the column out with --drop.";
static const char percent[] = "it looks like a number with signs in it: write 8.7 for \"8.7%\", "
                              "or leave the column out with --drop.";

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *s, int most) {
    while (most-- > 0 && is_digit(*s)) s++;
    return s;
}

/* Three groups of digits with one sign twice between them; a T or a blank may begin a time. */
static bool is_date(const char *s) {
    const char *first = skip_digits(s, 4), *second, *third;
    if (first == s || strchr("-/.", *first) == NULL || *first == '\0') return false;
    second = skip_digits(first + 1, 2);
    if (second == first + 1 || *second != *first) return false;
    third = skip_digits(second + 1, 4);
    return third > second + 1 && (*third == '\0' || *third == ' ' || *third == 'T');
}

/* Without the signs only digits are left, and there were signs. */
static bool is_amount(const char *s) {
    static const char *const signs[] = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", ",", "%",
                                        " ", "USD",          "EUR",      "GBP"};
    int64_t digits = 0, removed = 0, points = 0;
    if (*s == '-' || *s == '+' || *s == '(') s++;
    while (*s != '\0') {
        size_t k = 0;
        while (k < sizeof signs / sizeof *signs && strncmp(s, signs[k], strlen(signs[k])) != 0) k++;
        if (k < sizeof signs / sizeof *signs) {
            removed += signs[k][0] != ' ';
            s += strlen(signs[k]);
            continue;
        }
        digits += is_digit(*s);
        points += *s == '.';
        if (!is_digit(*s) && *s != '.' && !(*s == ')' && s[1] == '\0')) return false;
        s++;
    }
    return digits > 0 && removed > 0 && points < 2;
}

const char *sgfsi_looks_like(const char *text) {
    return is_date(text)               ? date
           : !is_amount(text)          ? NULL
           : strchr(text, '%') != NULL ? percent
                                       : amount;
}

const char *sgfsi_words_look_like(int64_t count, char *const *word) {
    enum { FIRST = 100 };
    int64_t n = count < FIRST ? count : FIRST, dates = 0, amounts = 0, percents = 0;
    for (int64_t k = 0; k < n; k++) {
        const char *like = sgfsi_looks_like(word[k]);
        dates += like == date;
        amounts += like == amount || like == percent;
        percents += like == percent;
    }
    return 4 * dates > 3 * n        ? date
           : 4 * amounts <= 3 * n   ? NULL
           : 2 * percents > amounts ? percent
                                    : amount;
}
