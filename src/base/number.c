/* SPDX-License-Identifier: MIT
 * number.c: numbers from and to text, always with a dot.
 *
 * Reading is the inner loop of the CSV reader. The text is taken as m x 10^e, and the first way
 * that is right for sure is used:
 *   1. m <= 2^53 and |e| <= 22: both are doubles without error, so one multiplication or division
 *      rounds once and rightly (Clinger 1990). Whole numbers (e = 0) of any size are rounded by
 *      the machine: above 2^53 half of them lie half-way between two doubles.
 *   2. m < 2^64 and -64 <= e <= 63: m times the first 128 bits of 5^e (pow5.h). With w = m 2^k in
 *      [2^63, 2^64) and 5^e = (P + d) 2^s, 0 <= d < 1,
 *          w (P + d) / 2^64  is in  [T, T + 2),   T = floor(w P / 2^64),   2^126 <= T < 2^128,
 *      since cutting off loses less than 1 and w d / 2^64 < 1. All numbers in there round to the
 *      same 53 bits unless the interval reaches a point half-way between two doubles, as happens
 *      once in 2^70 or at a true half-way case. (The same idea as Eisel and Lemire's, with all 192
 *      bits of the product at once, so that nothing more has to be proved.) This is where the 17
 *      digits of a printed double end up.
 *   3. Over 19 digits: the first 19 are m, and the number is in [m, m + 1] 10^e: where both ends
 *      are the same double by 1 and 2, it is that.
 *   4. Anything else is written again as digits and an exponent, without a point, and handed to
 *      strtod. Without a point the locale has nothing to say, and 768 digits with a marker for the
 *      rest decide every rounding, so a fixed buffer is enough for a number of any length.
 *
 * Writing tries 15, 16 and 17 digits and keeps the first text that reads back. printf does use the
 * locale's point; whatever it put there is replaced.
 *
 * Assumes round-to-nearest, and double arithmetic in double (FLT_EVAL_METHOD 0).
 */
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "base/pow5.h"

__extension__ typedef unsigned __int128 uint128;

enum { MAX_DIGITS = 768 };

/* The pieces of a decimal text: value = m x 10^exp10, m modulo 2^64 when there are over 19 digits.
 */
typedef struct decimal {
    const char *digits, *digits_end; /* the digits, with at most one point among them */
    uint64_t m;
    int64_t exp10, count; /* count: digits in the text, leading zeros included */
    bool negative;
} decimal;

static bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* ---- scanning -------------------------------------------------------------------------------- */

static const char *scan_digits(const char *s, const char *end, uint64_t *m) {
    while (end - s >= 8) {
        int n = sgfsi_take_eight(s, m);
        s += n;
        if (n < 8) return s;
    }
    for (; s < end && is_digit(*s); s++) *m = *m * 10 + (uint64_t)(*s - '0');
    return s;
}

/* "e-12" at s: adds to exp10 and returns its end; s itself when no exponent stands there. */
static const char *scan_exponent(const char *s, const char *end, int64_t *exp10) {
    const int64_t far =
        1000000000000; /* no text in memory has digits enough to come back from here */
    const char *p = s;
    if (p == end || (*p != 'e' && *p != 'E')) return s;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return s;
    int64_t e = 0;
    for (; p < end && is_digit(*p); p++)
        if (e < far) e = e * 10 + (*p - '0');
    *exp10 += negative ? -e : e;
    return p;
}

static const char *scan_decimal(const char *s, const char *end, decimal *d) {
    d->negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    d->digits = s;
    d->m = 0;
    d->exp10 = 0;
    s = scan_digits(s, end, &d->m);
    d->count = s - d->digits;
    if (s < end && *s == '.') {
        const char *fraction = s + 1, *stop = scan_digits(fraction, end, &d->m);
        d->exp10 = fraction - stop;
        d->count += stop - fraction;
        s = stop;
    }
    d->digits_end = s;
    return d->count == 0 ? NULL : scan_exponent(s, end, &d->exp10);
}

/* nan, inf, infinity, in any case and with any sign. */
static const char *scan_word(const char *s, const char *end, double *out) {
    static const struct {
        const char *text;
        ptrdiff_t length;
        double value;
    } words[] = {{"infinity", 8, INFINITY}, {"inf", 3, INFINITY}, {"nan", 3, NAN}};
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (end - s < words[i].length) continue;
        if (strncasecmp(s, words[i].text, (size_t)words[i].length) != 0) continue;
        *out = negative ? -words[i].value : words[i].value;
        return s + words[i].length;
    }
    return NULL;
}

/* ---- the ways -------------------------------------------------------------------------------- */

static double convert_slowly(const decimal *d) {
    char text[MAX_DIGITS + 40];
    size_t used = 0;
    int64_t exp10 = d->exp10;
    bool dropped = false;
    for (const char *p = d->digits; p < d->digits_end; p++) {
        if (*p == '.' || (used == 0 && *p == '0')) continue;
        if (used < MAX_DIGITS) {
            text[used++] = *p;
        } else {
            exp10++;
            dropped = dropped || *p != '0';
        }
    }
    if (used == 0) return 0.0;
    if (dropped) { /* somewhere above the digits kept: any digit says so */
        text[used++] = '1';
        exp10--;
    }
    snprintf(text + used, sizeof text - used, "e%lld", (long long)exp10);
    return strtod(text, NULL);
}

/* m x 10^e for m > 0 where the first 128 bits of 5^e decide; false: they do not. */
static bool scale_bits(uint64_t m, int64_t e, double *out) {
    if (e < SGFSI_POW5_LEAST || e > SGFSI_POW5_MOST) return false;
    const uint64_t *power = sgfsi_pow5[e - SGFSI_POW5_LEAST];
    /* floor(log2 5^e); 256 keeps what is shifted positive */
    int k = __builtin_clzll(m), floor_log2 = (int)((e * 1217359 + (256 << 19)) >> 19) - 256;
    uint64_t w = m << k;
    uint128 T = (uint128)w * power[0] + (uint64_t)(((uint128)w * power[1]) >> 64);
    int exp2 = floor_log2 - 63 + (int)e - k; /* m x 10^e is w (P + d) / 2^64 times 2^exp2 */
    int shift = (T >> 127) == 0;
    T <<= shift; /* what is sought is in [T, T + 4) */
    const uint128 half = (uint128)1 << 74, low = T & (2 * half - 1);
    if (low <= half && low + 4 > half) return false;
    uint64_t r = (uint64_t)(T >> 75) + (low > half);
    uint64_t scale_bits = (uint64_t)(exp2 - shift + 75 + 1023) << 52; /* far from any limit */
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    *out = (double)r * scale;
    return true;
}

/* m x 10^e by way 1 or 2; false: neither does it. */
static bool convert_64_bits(uint64_t m, int64_t e, double *out) {
    if (m == 0 || e == 0) {
        *out = (double)m;
        return true;
    }
    if (m <= (uint64_t)1 << 53 && e >= -SGFSI_EXACT_POW10 && e <= SGFSI_EXACT_POW10) {
        *out = e < 0 ? (double)m / sgfsi_pow10[-e] : (double)m * sgfsi_pow10[e];
        return true;
    }
    return scale_bits(m, e, out);
}

/* Over 19 digits m has overflowed, unless the ones in front are zeros. */
static bool fits_64_bits(const decimal *d) {
    int64_t count = d->count;
    if (count <= 19) return true;
    for (const char *p = d->digits; p < d->digits_end && (*p == '0' || *p == '.'); p++)
        if (*p == '0') count--;
    return count <= 19;
}

static double convert(const decimal *d) {
    double x, above;
    if (fits_64_bits(d)) return convert_64_bits(d->m, d->exp10, &x) ? x : convert_slowly(d);
    /* the first 19 digits that count, as m x 10^e */
    uint64_t m = 0;
    int64_t e = d->exp10, used = 0;
    for (const char *p = d->digits; p < d->digits_end; p++) {
        if (*p == '.' || (used == 0 && *p == '0')) continue;
        if (used++ < 19) m = m * 10 + (uint64_t)(*p - '0');
        else e++;
    }
    bool both = convert_64_bits(m, e, &x) && convert_64_bits(m + 1, e, &above);
    return both && x == above ? x : convert_slowly(d);
}

/* ---- shared ---------------------------------------------------------------------------------- */

const char *sgfsi_parse_num(const char *s, const char *end, double *out) {
    decimal d;
    const char *stop = end - s >= SGFSI_USUAL_BYTES ? sgfsi_parse_usual(s, out) : NULL;
    if (stop != NULL) return stop;
    stop = scan_decimal(s, end, &d);
    if (stop == NULL) return scan_word(s, end, out);
    double x = convert(&d);
    *out = d.negative ? -x : x;
    return stop;
}

/* Half-way between two doubles; kept out of the way of those that are not. */
__attribute__((noinline)) static double scale_slowly(uint64_t m, int e) {
    char text[48];
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)m, e);
    return strtod(text, NULL);
}

double sgfsi_scale(uint64_t m, int e) {
    double x = 0;
    return m == 0 || scale_bits(m, e, &x) ? x : scale_slowly(m, e);
}

static const char *skip_blanks(const char *s, const char *end) {
    while (s < end && strchr(" \t\r\n", *s) != NULL) s++;
    return s;
}

bool sgfsi_text_num(const char *text, double *out) {
    const char *end = text + strlen(text);
    double x;
    const char *stop = sgfsi_parse_num(skip_blanks(text, end), end, &x);
    if (stop == NULL || skip_blanks(stop, end) != end) return false;
    *out = x;
    return true;
}

bool sgfsi_text_int(const char *text, int64_t *out) {
    const char *end = text + strlen(text);
    decimal d;
    const char *stop = scan_decimal(skip_blanks(text, end), end, &d);
    if (stop == NULL || skip_blanks(stop, end) != end) return false;
    if (d.exp10 == 0 && fits_64_bits(&d) && d.m <= (uint64_t)INT64_MAX) { /* exact past 2^53 */
        *out = d.negative ? -(int64_t)d.m : (int64_t)d.m;
        return true;
    }
    double x = convert(&d);
    if (!(fabs(x) <= 0x1p53) || x != floor(x)) return false;
    *out = (int64_t)(d.negative ? -x : x);
    return true;
}

size_t sgfsi_format_digits(char out[SGFSI_NUM_CHARS], double x, int digits) {
    if (!isfinite(x))
        return (size_t)snprintf(out, SGFSI_NUM_CHARS, "%s",
                                isnan(x) ? "nan"
                                : x > 0  ? "inf"
                                         : "-inf");
    digits = digits < 1 ? 1 : digits > 17 ? 17 : digits;
    snprintf(out, SGFSI_NUM_CHARS, "%.*g", digits, x);
    /* What is neither digit, sign nor e is the locale's point, of one byte or several. */
    char *to = out;
    for (const char *from = out; *from != '\0'; from++)
        if (is_digit(*from) || *from == '-' || *from == '+' || *from == 'e') *to++ = *from;
        else if (to == out || to[-1] != '.') *to++ = '.';
    *to = '\0';
    return (size_t)(to - out);
}

size_t sgfsi_format_num(char out[SGFSI_NUM_CHARS], double x) {
    /* Subnormals carry fewer digits than 15, so for them the search starts at 1. */
    for (int digits = fabs(x) < DBL_MIN ? 1 : 15; digits < 17; digits++) {
        size_t length = sgfsi_format_digits(out, x, digits);
        double back;
        if (!isfinite(x) || (sgfsi_parse_num(out, out + length, &back) != NULL && back == x))
            return length;
    }
    return sgfsi_format_digits(out, x, 17);
}

const char *sgfsi_format_commas(char out[SGFSI_NUM_CHARS], double x) {
    char plain[SGFSI_NUM_CHARS];
    size_t n = (size_t)snprintf(plain, sizeof plain, "%.0f", x), used = 0;
    if (n >= sizeof plain) n = sizeof plain - 1;
    for (size_t i = 0; i < n && used + 2 < SGFSI_NUM_CHARS; i++) {
        if (i > 0 && (n - i) % 3 == 0) out[used++] = ',';
        out[used++] = plain[i];
    }
    out[used] = '\0';
    return out;
}
