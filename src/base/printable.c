/* SPDX-License-Identifier: MIT
 * printable.c: UTF-8 without control characters; words in quotes.
 */
#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* No byte beyond the terminating zero is looked at: it continues no character. */
size_t sgfsi_printable_character(const unsigned char *s) {
    if (s[0] < 0x80) return s[0] >= 32 && s[0] != 127;
    size_t n = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (n == 2 && s[0] == 0xC2 && s[1] < 0xA0) return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

void sgfsi_printable(char *text) {
    while (*text != '\0') {
        size_t n = sgfsi_printable_character((const unsigned char *)text);
        if (n == 0) *text = '?';
        text += n == 0 ? 1 : n;
    }
}

bool sgfsi_shell_word(const char *word, char *out, size_t room) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    size_t length = strlen(word), needed = length + 1, n;
    bool whole = word[strspn(word, plain)] == '\0';
    if (length == 0 || word[0] == '-') return false;
    for (const char *c = word; *c != '\0'; c += n) {
        n = sgfsi_printable_character((const unsigned char *)c);
        if (n == 0) return false;
        if (*c == '\'') needed += 3;
    }
    if (!whole) needed += 2;
    if (needed > room) return false;
    if (whole) return memcpy(out, word, needed), true;
    *out++ = '\'';
    for (; *word != '\0'; word++) {
        if (*word == '\'') out = (char *)memcpy(out, "'\\''", 4) + 4;
        else *out++ = *word;
    }
    memcpy(out, "'", 2);
    return true;
}

int sgfsi_ratio_digits(double low, double high, int least) {
    double gap = low > 1 ? log(low) : high < 1 ? -log(high) : 1;
    int digits = gap > 1e-12 && gap < 1 ? 2 - (int)floor(log10(gap)) : least;
    return digits > least ? digits : least;
}

double sgfsi_ratio_units(double low, double centre, double high) {
    const double size = fabs(log(centre));
    bool shows = !(low > 1 || high < 1) || !(size < 1e-3 && size > 1e-15);
    return shows ? 0 : pow(10, floor(-log10(size)));
}

bool sgfsi_small_ratio(const char *name, const char *ratio, double low, double centre, double high,
                       char *out, size_t room) {
    const double units = sgfsi_ratio_units(low, centre, high);
    if (units > 0)
        snprintf(out, room,
                 "%.100s: one unit more hardly shows; the %s of %.15g units more is %.4g.", name,
                 ratio, units, exp(log(centre) * units));
    return units > 0;
}
