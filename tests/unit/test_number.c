/* SPDX-License-Identifier: MIT
 * test_number.c: reading numbers is exact (against strtod, bit for bit), writing them reads back,
 * and neither depends on the locale. The random inputs are fixed: a failure can be repeated.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"
#include "base/pow5.h"

/* splitmix64: enough for inputs, and nothing of the library under test. */
static uint64_t next_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Alone, and as the cell of a table: with so much behind it that eight bytes may be looked at at a
 * time, digits among them. */
static void assert_reads_like_strtod(const char *text) {
    static const char *const behind[] = {
        "", ",1234567890123456789012345678901234567890123456789",
        "\n.0000000000000000000000000000000000000000000000000000",
        ";eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"};
    static char cell[8192];
    double wanted = strtod(text, NULL);
    size_t length = strlen(text);
    assert_true(length + 64 < sizeof cell);
    memcpy(cell, text, length);
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        double x = -7.25;
        strcpy(cell + length, behind[i]);
        const char *stop = sgfsi_parse_num(cell, cell + strlen(cell), &x);
        if (stop != cell + length || bits_of(x) != bits_of(wanted)) {
            fail_msg("\"%.80s\" read as %a, strtod says %a", text, x, wanted);
        }
    }
}

static void test_nasty_decimals(void **state) {
    (void)state;
    static const char *const text[] = {
        "0",
        "-0",
        "+7",
        "0.0",
        "-0.000",
        "00012.50",
        ".5",
        "5.",
        "-.25e1",
        "1e0",
        "1E+05",
        "1e-05",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "9007199254740992",
        "9007199254740993",
        "9007199254740992e22",
        "9007199254740993e-22",
        "9007199254740991e23",
        "8.5e22",
        "123456789e27",
        "123456789e28",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551615e27",
        "18446744073709551615e-27",
        "9999999999999999999",
        "10000000000000000000",
        "00000000000000000000000012345.678",
        "0.00000000000000000000000012345678901234567",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "1e-400",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e400",
        "-1e999",
        "0e999999999999999999999",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "7205759403792793.5",
        "7205759403792794.5",
        "3.14159265358979323846264338327950288419716939937510582097494459",
        "6929495644600919.5",
        "3.7455744005952583e15",
        "2.385e17",
        "1.7453292519943295e-02"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) assert_reads_like_strtod(text[i]);
}

/* A half-way case whose last digit stands behind more zeros than any buffer of ours keeps. */
static void test_long_decimals(void **state) {
    (void)state;
    static char text[5000];
    for (size_t zeros = 700; zeros <= 4000; zeros += 55) {
        size_t used =
            (size_t)sprintf(text, "1.00000000000000011102230246251565404236316680908203125");
        memset(text + used, '0', zeros);
        strcpy(text + used + zeros, "1");
        assert_reads_like_strtod(text);
        strcpy(text + used + zeros, "0");
        assert_reads_like_strtod(text);
        memset(text, '0', zeros);
        sprintf(text + zeros, ".37e-3");
        assert_reads_like_strtod(text);
        sprintf(text, "0.");
        memset(text + 2, '0', zeros);
        sprintf(text + 2 + zeros, "2385e%zu", zeros);
        assert_reads_like_strtod(text);
    }
}

static void test_random_decimals(void **state) {
    (void)state;
    uint64_t seed = 20240614;
    char text[64];
    for (int i = 0; i < 300000; i++) {
        uint64_t m = next_bits(&seed) >> (next_bits(&seed) % 64), r = next_bits(&seed);
        int e = (int)(r % 64) - 32, places = (int)((r >> 8) % 20);
        if (i % 3 == 0) e = (int)(r % 700) - 360;
        int n = snprintf(text, sizeof text, "%s%" PRIu64, (r >> 40) % 2 ? "-" : "", m);
        if (i % 2 && n > 1 && text[n - 1] != '-') { /* put a point somewhere among the digits */
            int at = n - places % n;
            if (at <= (text[0] == '-')) at = n;
            memmove(text + at + 1, text + at, (size_t)(n - at) + 1);
            text[at] = '.';
        }
        snprintf(text + strlen(text), 12, "e%d", e);
        assert_reads_like_strtod(text);
    }
}

/* What stands in tables: 1 to 7 digits, a point, 0 to 25 digits. */
static void test_random_cells(void **state) {
    (void)state;
    uint64_t seed = 8675309;
    char text[64];
    for (int i = 0; i < 400000; i++) {
        uint64_t r = next_bits(&seed);
        int whole = 1 + (int)(r % 8), part = (int)((r >> 8) % 26), n = 0;
        if (i % 2) part %= 9;
        if ((r >> 20) % 2) text[n++] = '-';
        for (int k = 0; k < whole; k++) text[n++] = (char)('0' + next_bits(&seed) % 10);
        if (i % 4) text[n - 1] = (char)('0' + (r >> 30) % 2);
        if (part > 0 || (r >> 40) % 8 == 0) text[n++] = '.';
        for (int k = 0; k < part; k++) text[n++] = (char)('0' + next_bits(&seed) % 10);
        text[n] = '\0';
        assert_reads_like_strtod(text);
    }
}

static void test_printed_doubles(void **state) {
    (void)state;
    uint64_t seed = 271828;
    char text[64];
    for (int i = 0; i < 400000; i++) {
        double x =
            ((double)next_bits(&seed) - 0x1p63) * ldexp(1, -63 + (int)(next_bits(&seed) % 12));
        int digits = 15 + i % 6;
        snprintf(text, sizeof text, i % 7 ? "%.*g" : "%.*e", digits, x);
        assert_reads_like_strtod(text);
    }
}

/* (2 r + 1) 2^e with r of 53 bits stands exactly between two doubles. Written in full, and a digit
 * below and above, with few digits and with many. */
static void test_half_way_cases(void **state) {
    (void)state;
    uint64_t seed = 1618033;
    char text[160];
    for (int i = 0; i < 60000; i++) {
        uint64_t r = (next_bits(&seed) >> 11) | (uint64_t)1 << 52;
        int places = i % 45; /* (2 r + 1) / 2^places has as many decimals */
        snprintf(text, sizeof text, "%.*Lf", places, ldexpl((long double)(2 * r + 1), -places));
        size_t n = strlen(text);
        assert_reads_like_strtod(text);
        for (int step = -1; step <= 1; step += 2) {
            char last = text[n - 1];
            if (last == '9') continue; /* integers only: they come below */
            text[n - 1] = (char)(last + step);
            assert_reads_like_strtod(text);
            text[n - 1] = last;
        }
        if (places > 0) {
            strcpy(text + n, i % 2 ? "00000000000000000001" : "0000000000000000000000000");
            assert_reads_like_strtod(text);
        }
        uint64_t whole = (2 * r + 1) << (i % 11); /* below 2^64, as integers */
        for (uint64_t m = whole - 1; m <= whole + 1; m++) {
            snprintf(text, sizeof text, "%" PRIu64, m);
            assert_reads_like_strtod(text);
            snprintf(text, sizeof text, "%" PRIu64 "e%d", m, i % 60 - 30);
            assert_reads_like_strtod(text);
        }
    }
}

/* ---- powers of five ------------------------------------------------------------------------- */

enum { LIMBS = 16 }; /* of 32 bits, the least first */

static void times(uint32_t *n, uint32_t by) {
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)n[i] * by;
        n[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void divide(uint32_t *n, uint32_t by) {
    uint64_t rest = 0;
    for (int i = LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | n[i];
        n[i] = (uint32_t)(rest / by);
        rest %= by;
    }
}

static int top_bit(const uint32_t *n) {
    for (int i = 32 * LIMBS - 1; i >= 0; i--) {
        if (n[i / 32] >> (i % 32) & 1) return i;
    }
    return -1;
}

static uint64_t bits_from(const uint32_t *n, int low) {
    uint64_t out = 0;
    for (int i = 63; i >= 0; i--) {
        int at = low + i;
        out = out << 1 | (at >= 0 ? n[at / 32] >> (at % 32) & 1 : 0);
    }
    return out;
}

static void test_powers_of_five(void **state) {
    (void)state;
    for (int q = SGFSI_POW5_LEAST; q <= SGFSI_POW5_MOST; q++) {
        uint32_t n[LIMBS] = {0};
        int scale = q < 0 ? 400 : 0; /* 5^q 2^scale, cut off: far more than 128 bits are left */
        n[scale / 32] = 1u << (scale % 32);
        for (int k = 0; k < q; k++) times(n, 5);
        for (int k = 0; k > q; k--) divide(n, 5);
        int top = top_bit(n);
        assert_true(q >= 0 || top > 200);
        assert_int_equal(sgfsi_pow5[q - SGFSI_POW5_LEAST][0], bits_from(n, top - 63));
        assert_int_equal(sgfsi_pow5[q - SGFSI_POW5_LEAST][1], bits_from(n, top - 127));
        assert_int_equal(top - scale, (int)floor((double)q * log2(5)));
        assert_int_equal(top - scale, (q * 1217359) >> 19); /* as number.c has it */
    }
}

static void test_stops_where_the_number_ends(void **state) {
    (void)state;
    static const struct {
        const char *text;
        ptrdiff_t length; /* -1: no number */
    } cases[] = {{"2.385,7", 5}, {"1e", 1},       {"1e+", 1},     {"1.5.2", 3}, {"0x1F", 1},
                 {"12abc", 2},   {"1_000", 1},    {"", -1},       {".", -1},    {"-", -1},
                 {"+.e5", -1},   {"e5", -1},      {" 1", -1},     {"abc", -1},  {"--1", -1},
                 {"na", -1},     {"i", -1},       {"1,5", 1},     {"nan", 3},   {"NaNs", 3},
                 {"-inf", 4},    {"INFINITY", 8}, {"+Infinit", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double x;
        const char *s = cases[i].text, *stop = sgfsi_parse_num(s, s + strlen(s), &x);
        if ((stop == NULL ? -1 : stop - s) != cases[i].length) fail_msg("wrong stop in \"%s\"", s);
    }
    double x;
    const char *digits = "123456789012";
    assert_ptr_equal(sgfsi_parse_num(digits, digits + 5, &x), digits + 5);
    assert_true(x == 12345.0); /* never looks past end, where more digits stand */
    assert_non_null(sgfsi_parse_num("-Inf", &"-Inf"[4], &x));
    assert_true(isinf(x) && x < 0);
}

static void test_whole_texts(void **state) {
    (void)state;
    double x = 0;
    int64_t i = 0;
    assert_true(sgfsi_text_num(" \t-23.85e-1 \r\n", &x) && x == -2.385);
    assert_false(sgfsi_text_num("2.385x", &x) || sgfsi_text_num("", &x) ||
                 sgfsi_text_num("1 2", &x));
    assert_true(sgfsi_text_int("1e6", &i) && i == 1000000);
    assert_true(sgfsi_text_int(" -9223372036854775807 ", &i) && i == -INT64_MAX);
    assert_true(sgfsi_text_int("9007199254740993", &i) && i == 9007199254740993);
    assert_true(sgfsi_text_int("2.50e1", &i) && i == 25);
    assert_false(sgfsi_text_int("2.5", &i) || sgfsi_text_int("9223372036854775808", &i));
    assert_false(sgfsi_text_int("1e300", &i) || sgfsi_text_int("nan", &i) ||
                 sgfsi_text_int("7 8", &i));
}

static void assert_round_trip(double x) {
    char text[SGFSI_NUM_CHARS];
    size_t length = sgfsi_format_num(text, x);
    double back = strtod(text, NULL);
    if (length != strlen(text) || bits_of(back) != bits_of(x))
        fail_msg("%a became \"%s\"", x, text);
}

static void test_round_trip_of_random_bits(void **state) {
    (void)state;
    uint64_t seed = 77;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next_bits(&seed);
        if (i % 10 == 0) bits &= 0x800FFFFFFFFFFFFFu; /* subnormals */
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        assert_round_trip(x);
        char text[SGFSI_NUM_CHARS];
        snprintf(text, sizeof text, "%.17g", x);
        assert_reads_like_strtod(text);
        snprintf(text, sizeof text, "%.17g",
                 (double)(int64_t)bits * 0x1p-62); /* the usual magnitudes */
        assert_reads_like_strtod(text);
    }
}

static void test_shortest_text(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {-2.385, "-2.385"},
                 {1e22, "1e+22"},
                 {0x1p-1074, "5e-324"},
                 {1.0 / 3.0, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {-0.0, "-0"},
                 {1234567.0, "1234567"},
                 {NAN, "nan"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"}};
    char text[SGFSI_NUM_CHARS];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sgfsi_format_num(text, cases[i].x), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
    assert_int_equal(sgfsi_format_digits(text, 2.38549, 4), 5);
    assert_string_equal(text, "2.385");
    sgfsi_format_digits(text, 1500.0, 6);
    assert_string_equal(text, "1500");
    sgfsi_format_digits(text, -INFINITY, 6);
    assert_string_equal(text, "-inf");
}

static void test_comma_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                        "nl_NL.UTF-8", "pt_BR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && set == NULL; i++) {
        set = setlocale(LC_NUMERIC, names[i]);
    }
    if (set == NULL || localeconv()->decimal_point[0] != ',') {
        print_message("no comma locale on this machine: left out\n");
        setlocale(LC_NUMERIC, "C");
        return;
    }
    char text[SGFSI_NUM_CHARS];
    double quick = 0, slow = 0;
    sgfsi_format_num(text, -2.385);
    const char *far = "1.2345678901234567e-200";
    const char *stop = sgfsi_parse_num(far, far + strlen(far), &slow);
    bool whole = sgfsi_text_num("2.385", &quick);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "-2.385");
    assert_true(whole && quick == 2.385);
    assert_true(stop == far + strlen(far) && slow == 1.2345678901234567e-200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nasty_decimals),  cmocka_unit_test(test_long_decimals),
        cmocka_unit_test(test_random_decimals), cmocka_unit_test(test_random_cells),
        cmocka_unit_test(test_printed_doubles), cmocka_unit_test(test_half_way_cases),
        cmocka_unit_test(test_powers_of_five),  cmocka_unit_test(test_stops_where_the_number_ends),
        cmocka_unit_test(test_whole_texts),     cmocka_unit_test(test_round_trip_of_random_bits),
        cmocka_unit_test(test_shortest_text),   cmocka_unit_test(test_comma_locale),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
