/* SPDX-License-Identifier: MIT
 * test_base.c: random streams, arenas, options, JSON, files and "did you mean".
 *
 * Monte Carlo: a mean of T numbers is within 5 standard errors of its expectation (6e-7 a
 * comparison); the standard error is the exact one of the distribution claimed. Seeds are fixed.
 */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/arena.h"
#include "base/config.h"
#include "base/file.h"
#include "base/io.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/rng.h"
#include "tools/check.h"

/* ---- random streams -------------------------------------------------------------------------- */

/* Random123's published known answers (tests/kat_vectors, philox4x32 of 10 rounds): counter, key,
 * answer. A stream shows 62 of the 64 bits of each half as an index below 2^62. */
static void test_philox_gives_the_published_answers(void **state) {
    (void)state;
    static const uint32_t kat[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (int k = 0; k < 3; k++) {
        const uint32_t *v = kat[k];
        uint64_t word[2] = {(uint64_t)v[7] << 32 | v[6], (uint64_t)v[9] << 32 | v[8]};
        sgfsi_stream s = {{v[4], v[5]}, {v[0], v[1], v[2], v[3]}}, again = s;
        int64_t index[2];
        double u[2];
        sgfsi_indices(&s, 2, INT64_C(1) << 62, index);
        sgfsi_uniforms(&again, 2, u);
        for (int i = 0; i < 2; i++) {
            assert_true((uint64_t)index[i] == word[i] >> 2);
            assert_true(u[i] == ((double)(word[i] >> 11) + 0.5) * 0x1p-53);
        }
    }
}

/* Where seed, chain, iteration and purpose go in key and counter: part of the bits of every run. */
static void test_the_counter_layout_is_fixed(void **state) {
    (void)state;
    sgfsi_stream s = sgfsi_stream_at(0x0123456789abcdefu, 0x76543210, 0x00abcdef98765432, 7);
    assert_true(s.key[0] == 0x89abcdef && s.key[1] == 0x01234567);
    assert_true(s.ctr[0] == 0 && s.ctr[1] == 0x98765432 && s.ctr[2] == 0x76543210);
    assert_true(s.ctr[3] == 0x07abcdef);
}

/* Two to a position; the rest of the last one is not used later. However many are asked for at
 * once, they are those that come two by two. */
static void test_numbers_do_not_depend_on_how_many_are_made_at_once(void **state) {
    (void)state;
    enum { MOST = 100 };
    double u[MOST], z[MOST], u2[MOST], z2[MOST];
    int64_t row[MOST], row2[MOST];
    uint64_t word[MOST], word2[MOST];
    for (int n = 1; n <= MOST; n++) {
        sgfsi_stream s = sgfsi_stream_at(5, 1, n, SGFSI_NOISE), by_two[4] = {s, s, s, s};
        sgfsi_stream of[4] = {s, s, s, s};
        sgfsi_uniforms(&of[0], n, u);
        sgfsi_normals(&of[1], n, z);
        sgfsi_indices(&of[2], n, 1000003, row);
        sgfsi_words(&of[3], n, word);
        for (int i = 0; i < n; i += 2) {
            int some = n - i < 2 ? n - i : 2;
            sgfsi_uniforms(&by_two[0], some, u2 + i);
            sgfsi_normals(&by_two[1], some, z2 + i);
            sgfsi_indices(&by_two[2], some, 1000003, row2 + i);
            sgfsi_words(&by_two[3], some, word2 + i);
        }
        for (int k = 0; k < 4; k++) assert_int_equal(of[k].ctr[0], (n + 1) / 2);
        assert_memory_equal(u, u2, (size_t)n * sizeof *u);
        assert_memory_equal(z, z2, (size_t)n * sizeof *z);
        assert_memory_equal(row, row2, (size_t)n * sizeof *row);
        assert_memory_equal(word, word2, (size_t)n * sizeof *word);
    }
}

static void test_uniforms(void **state) {
    (void)state;
    enum { T = 400000 };
    double *u = zeros(T), mean = 0, ss = 0;
    sgfsi_stream s = sgfsi_stream_at(42, 0, 1, SGFSI_START);
    sgfsi_uniforms(&s, T, u);
    for (int i = 0; i < T; i++) {
        assert_true(u[i] > 0 && u[i] < 1);
        mean += u[i] / T;
        ss += (u[i] - 0.5) * (u[i] - 0.5) / T;
    }
    assert_near(mean, 0.5, 5 * sqrt(1.0 / 12 / T), "mean");
    assert_near(ss, 1.0 / 12, 5 * sqrt(1.0 / 180 / T), "variance"); /* Var (u-1/2)^2 = 1/180 */
    free(u);
}

/* Moments of a normal: Var z = 1, Var z^2 = 2, Var z^3 = 15, Var z^4 = 96; P(|z| > 3) = 0.0026998.
 */
static void test_normals(void **state) {
    (void)state;
    enum { T = 400001 }; /* odd: the last pair is cut */
    double *z = zeros(T + 1), m[5] = {0}, pair = 0, tail = 0, far = 0;
    z[T] = 2.385;
    sgfsi_stream s = sgfsi_stream_at(43, 2, 5, SGFSI_NOISE);
    sgfsi_normals(&s, T, z);
    assert_true(z[T] == 2.385);
    for (int i = 0; i < T; i++) {
        assert_true(isfinite(z[i]) != 0);
        for (int k = 1; k <= 4; k++) m[k] += pow(z[i], k) / T;
        if (i % 2 == 1) pair += z[i] * z[i - 1] * 2 / T; /* cosine and sine of one angle */
        tail += fabs(z[i]) > 3;
        far += z[i] > 4;
    }
    assert_near(m[1], 0, 5 * sqrt(1.0 / T), "mean");
    assert_near(m[2], 1, 5 * sqrt(2.0 / T), "variance");
    assert_near(m[3], 0, 5 * sqrt(15.0 / T), "skewness");
    assert_near(m[4], 3, 5 * sqrt(96.0 / T), "kurtosis");
    assert_near(pair, 0, 5 * sqrt(2.0 / T), "pairs");
    assert_near(tail, 0.0026997960632602 * T, 5 * sqrt(0.0027 * T), "beyond 3");
    assert_near(far, 3.167124183e-5 * T, 5 * sqrt(3.2e-5 * T), "above 4");
    free(z);
}

static void test_indices_are_uniform(void **state) {
    (void)state;
    enum { T = 130000, N = 13 };
    int64_t row[7], count[N] = {0};
    for (int64_t t = 0; t < T / 5; t++) {
        sgfsi_stream s = sgfsi_stream_at(44, 0, t, SGFSI_ROWS);
        row[5] = -5;
        sgfsi_indices(&s, 5, N, row);
        assert_int_equal(row[5], -5);
        for (int i = 0; i < 5; i++) {
            assert_in_range(row[i], 0, N - 1);
            count[row[i]]++;
        }
    }
    double each = (double)T / N, x = 0;
    for (int i = 0; i < N; i++) x += pow((double)count[i] - each, 2) / each;
    assert_in_range((int64_t)(10 * x), 5, 510); /* chi-square(12): 1e-6 below 0.5, 1e-6 above 51 */
}

/* Streams that differ in one coordinate share no number and are not correlated. */
static void test_streams_differ_in_every_coordinate(void **state) {
    (void)state;
    enum { T = 50000, STREAMS = 7 };
    const sgfsi_stream at[STREAMS] = {
        sgfsi_stream_at(9, 0, 1, SGFSI_NOISE),
        sgfsi_stream_at(10, 0, 1, SGFSI_NOISE),
        sgfsi_stream_at(UINT64_C(9) + (UINT64_C(1) << 32), 0, 1, SGFSI_NOISE),
        sgfsi_stream_at(9, 1, 1, SGFSI_NOISE),
        sgfsi_stream_at(9, 0, 2, SGFSI_NOISE),
        sgfsi_stream_at(9, 0, 1 + (INT64_C(1) << 32), SGFSI_NOISE),
        sgfsi_stream_at(9, 0, 1, SGFSI_PRIOR)};
    double *z = zeros((int64_t)STREAMS * T);
    for (int k = 0; k < STREAMS; k++) {
        sgfsi_stream s = at[k];
        sgfsi_normals(&s, T, z + k * T);
        for (int j = 0; j < k; j++) {
            double r = 0;
            assert_true(memcmp(z + k * T, z + j * T, 8) != 0);
            for (int i = 0; i < T; i++) r += z[k * T + i] * z[j * T + i] / T;
            assert_near(r, 0, 5 / sqrt(T), "correlation");
        }
    }
    free(z);
}

/* ---- arena ----------------------------------------------------------------------------------- */

static void test_arena_pieces_are_zeroed_and_aligned(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    for (int64_t n = 0; n < 200; n += 7) {
        unsigned char *p = sgfsi_arena_alloc(&arena, n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (int64_t i = 0; i < 3 * n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xA5, (size_t)(3 * n)); /* all of it may be written */
    }
    assert_string_equal(sgfsi_arena_text(&arena, "gr\xC3\xB6\xC3\x9F"
                                                 "e"),
                        "gr\xC3\xB6\xC3\x9F"
                        "e");
    sgfsi_arena_free(&arena);
    assert_null(arena.head);
    sgfsi_arena_free(&arena);
}

static void test_arena_refuses_what_overflows(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    assert_null(sgfsi_arena_alloc(&arena, -1, 8));
    assert_null(sgfsi_arena_alloc(&arena, INT64_MAX, 8));
    assert_null(sgfsi_arena_alloc(&arena, INT64_MAX, 2));
    assert_null(sgfsi_arena_alloc(&arena, INT64_MAX / 8 + 2, 16));
    /* It remembers that, also behind pieces that could be made, until it is freed. */
    assert_non_null(sgfsi_arena_alloc(&arena, 3, 8));
    assert_true(sgfsi_arena_failed(&arena));
    sgfsi_arena_free(&arena);
    assert_false(sgfsi_arena_failed(&arena));
    assert_null(arena.head);
}

/* ---- config ---------------------------------------------------------------------------------- */

static const sgfs_option one_rows[] = {
    {"a.alpha", "alpha", SGFS_NUMBER, "auto", 0, 10, NULL, "a number"},
    {"a.count", "count", SGFS_INTEGER, "4", 1, 1e6, NULL, "an integer"},
    {"a.shared", "shared", SGFS_NUMBER, "0.5", -1, 1, NULL, "of both"},
    SGFSI_OPTIONS_END};
static const sgfs_option two_rows[] = {
    {"a.shared", "shared", SGFS_NUMBER, "0.5", -1, 1, NULL, "of both"},
    {"b.loud", "loud", SGFS_FLAG, "false", 1, 0, NULL, "a flag"},
    {"b.how", "how", SGFS_CHOICE, "with", 1, 0, "with|without|withal", "a choice"},
    {"b.text", "text", SGFS_TEXT, "", 1, 0, NULL, "a text"},
    {"b.free", "free", SGFS_NUMBER, "0", 1, 0, NULL, "any finite number"},
    SGFSI_OPTIONS_END};

static bool two_sets(int64_t index, sgfsi_option_set *set) {
    *set = index == 0 ? (sgfsi_option_set){"a", "", one_rows, SGFSI_ANY}
                      : (sgfsi_option_set){"b", "kind", two_rows, SGFSI_ANY};
    return index < 2;
}

static void refuse(sgfs_config *cfg, const char *key, const char *value, const char *says) {
    sgfs_err err = {0};
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_EUSAGE)
        fail_msg("%s took \"%s\"", key, value);
    assert_int_equal(err.code, SGFS_EUSAGE);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(sgfs_config_set(cfg, key, value, NULL), SGFS_EUSAGE);
}

static void accept(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_string_equal(sgfs_config_get(cfg, key), value);
}

static void test_config_defaults(void **state) {
    (void)state;
    sgfs_config *cfg = sgfsi_config_new(two_sets);
    int64_t rows = 0;
    while (sgfsi_config_at(cfg, rows) != NULL) rows++;
    assert_int_equal(rows, 7); /* distinct keys */
    assert_true(isnan(sgfsi_config_num(cfg, "a.alpha")) != 0);
    assert_true(sgfsi_config_auto(cfg, "a.alpha") && sgfsi_config_auto(cfg, "b.text"));
    assert_false(sgfsi_config_auto(cfg, "a.count"));
    assert_int_equal(sgfsi_config_int(cfg, "a.count"), 4);
    assert_true(sgfsi_config_num(cfg, "a.shared") == 0.5);
    assert_false(sgfsi_config_flag(cfg, "b.loud"));
    assert_string_equal(sgfsi_config_text(cfg, "b.how"), "with");
    assert_false(sgfsi_config_given(cfg, "a.count"));
    assert_null(sgfs_config_get(cfg, "a.nothing"));
    assert_null(sgfsi_config_row(cfg, "a.nothing"));
    assert_ptr_equal(sgfsi_config_row(cfg, "a.shared"), &one_rows[2]);
    sgfs_config_free(cfg);
}

static void test_config_checks_values(void **state) {
    (void)state;
    sgfs_config *cfg = sgfsi_config_new(two_sets);
    accept(cfg, "a.alpha", "0");
    accept(cfg, "a.alpha", "10");
    accept(cfg, "a.alpha", "2.385e0");
    assert_true(sgfsi_config_num(cfg, "a.alpha") == 2.385);
    assert_true(sgfsi_config_given(cfg, "a.alpha"));
    accept(cfg, "a.alpha", "auto");
    accept(cfg, "a.count", "1e6");
    assert_int_equal(sgfsi_config_int(cfg, "a.count"), 1000000);
    accept(cfg, "b.loud", "true");
    assert_true(sgfsi_config_flag(cfg, "b.loud"));
    accept(cfg, "b.how", "without");
    accept(cfg, "b.how", "withal");
    accept(cfg, "b.text", "any | thing, =1");
    accept(cfg, "b.free", "-1e300");
    static const char *const bad[][3] = {{"a.alpha", "-0.001", "between 0 and 10"},
                                         {"a.alpha", "10.001", "between 0 and 10"},
                                         {"a.alpha", "two", "a number"},
                                         {"a.alpha", "", "a number"},
                                         {"a.alpha", "nan", "between"},
                                         {"a.alpha", "inf", "between"},
                                         {"a.alpha", "1 2", "a number"},
                                         {"a.count", "2.5", "whole number"},
                                         {"a.count", "0", "between 1"},
                                         {"a.count", "auto", "whole number"},
                                         {"b.loud", "yes", "true or false"},
                                         {"b.how", "wit", "with|without"},
                                         {"b.how", "", "with|without"},
                                         {"b.how", "with|without", "one of"},
                                         {"b.how", "out", "one of"},
                                         {"b.free", "inf", "finite"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(cfg, bad[i][0], bad[i][1], bad[i][2]);
    assert_string_equal(sgfs_config_get(cfg, "b.how"),
                        "withal"); /* refused values change nothing */
    assert_int_equal(sgfsi_config_set_num(cfg, "a.shared", 0.1, NULL), SGFS_OK);
    assert_string_equal(sgfs_config_get(cfg, "a.shared"), "0.1");
    assert_int_equal(sgfsi_config_set_num(cfg, "a.shared", NAN, NULL), SGFS_EUSAGE);
    assert_int_equal(sgfsi_config_set_num(cfg, "a.count", 123456, NULL), SGFS_OK);
    assert_int_equal(sgfsi_config_int(cfg, "a.count"), 123456);
    sgfs_config_free(cfg);
}

static void test_config_suggests_the_key_that_was_meant(void **state) {
    (void)state;
    sgfs_config *cfg = sgfsi_config_new(two_sets);
    refuse(cfg, "a.aplha", "1", "\"a.alpha\"?");
    refuse(cfg, "B.LOUT", "true", "\"b.loud\"?");
    refuse(cfg, "z.nowhere.near", "1", "sgfs help sample --help-all");
    sgfs_config_free(cfg);
}

/* Values go into a struct and come out as text: what is as it was keeps the user's spelling. */
static void test_settings_are_read_and_written(void **state) {
    (void)state;
    typedef struct settings {
        double alpha, free;
        int64_t count;
        bool loud;
        const char *how;
    } settings;
    static const sgfsi_setting list[] = {{"a.alpha", offsetof(settings, alpha), NULL, false},
                                         {"a.count", offsetof(settings, count), NULL, false},
                                         {"b.free", offsetof(settings, free), NULL, false},
                                         {"b.loud", offsetof(settings, loud), NULL, false},
                                         {"b.how", offsetof(settings, how), NULL, false},
                                         SGFSI_SETTINGS_END};
    char room[SGFSI_NUM_CHARS];
    settings set;
    sgfs_config *cfg = sgfsi_config_new(two_sets);
    accept(cfg, "b.free", "2.3850");
    accept(cfg, "b.loud", "true");
    sgfsi_settings_read(&set, list, cfg);
    assert_true(isnan(set.alpha) && set.count == 4 && set.free == 2.385 && set.loud);
    assert_string_equal(set.how, "with");
    assert_string_equal(sgfsi_setting_text(&set, &list[0], cfg, room), "auto");
    assert_string_equal(sgfsi_setting_text(&set, &list[2], cfg, room), "2.3850");
    set = (settings){.alpha = 0.1, .free = 7, .count = -3, .how = "without"};
    static const char *const texts[] = {"0.1", "-3", "7", "false", "without"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(sgfsi_setting_text(&set, &list[i], cfg, room), texts[i]);
    assert_string_equal(sgfs_config_get(cfg, "a.alpha"), "auto"); /* the config stays as it is */
    sgfs_config_free(cfg);
}

static void test_config_has_other_defaults_and_copies(void **state) {
    (void)state;
    sgfs_config *cfg = sgfsi_config_new(two_sets);
    accept(cfg, "b.text", "kept");
    assert_int_equal(sgfsi_config_default(cfg, "a.alpha", "0.3", NULL), SGFS_OK);
    assert_int_equal(sgfsi_config_default(cfg, "b.text", "resolved", NULL), SGFS_OK);
    assert_string_equal(sgfs_config_get(cfg, "a.alpha"), "0.3");
    assert_false(sgfsi_config_given(cfg, "a.alpha")); /* the program's choice, not the user's */
    assert_true(sgfsi_config_given(cfg, "b.text"));
    sgfs_config *copy = sgfsi_config_copy(cfg);
    accept(cfg, "a.alpha", "7");
    accept(cfg, "b.text", "changed");
    assert_string_equal(sgfs_config_get(copy, "a.alpha"), "0.3");
    assert_string_equal(sgfs_config_get(copy, "b.text"), "resolved");
    assert_false(sgfsi_config_given(copy, "a.alpha"));
    assert_true(sgfsi_config_given(copy, "b.text"));
    assert_int_equal(sgfsi_config_int(copy, "a.count"), 4);
    sgfs_config_free(cfg);
    sgfs_config_free(copy);
}

/* ---- the options of the program -------------------------------------------------------------- */

static void check_option(const sgfs_option_info *a, sgfs_config *cfg) {
    static const char *const types[] = {"number", "integer", "flag", "text", "choice"};
    bool known = false, numeric = strcmp(a->type, "number") == 0 || strcmp(a->type, "integer") == 0;
    for (int i = 0; i < 5; i++) known = known || strcmp(a->type, types[i]) == 0;
    assert_true(known);
    assert_true(a->help != NULL && a->help[0] != '\0' && strchr(a->help, '\n') == NULL);
    size_t end = strlen(a->help); /* no full stop; "x1, x2, ..." is none */
    if (end > 3 && a->help[end - 1] == '.' && strcmp(a->help + end - 3, "...") != 0)
        fail_msg("the help of %s ends in a full stop", a->key);
    assert_non_null(strchr(a->key, '.'));
    assert_true(a->flag[0] != '\0' && strpbrk(a->flag, " _=.") == NULL);
    if (strcmp(a->type, "flag") != 0) /* which may take one word beside true and false */
        assert_true((strcmp(a->type, "choice") == 0) == (a->choices[0] != '\0'));
    else assert_null(strchr(a->choices, '|'));
    assert_string_equal(sgfs_config_get(cfg, a->key), a->value);
    if (numeric && strcmp(a->value, "auto") != 0) { /* the default is within its own bounds */
        double x = atof(a->value);
        assert_true(a->min <= a->max && x >= a->min && x <= a->max);
    }
    if (strcmp(a->type, "choice") == 0) { /* and one of its own choices */
        char padded[256], wanted[256];
        snprintf(padded, sizeof padded, "|%s|", a->choices);
        snprintf(wanted, sizeof wanted, "|%s|", a->value);
        assert_non_null(strstr(padded, wanted));
    }
}

static void test_the_programs_options_are_consistent(void **state) {
    (void)state;
    sgfs_config *cfg = sgfs_config_new();
    sgfs_option_info a, b;
    int64_t rows = 0;
    for (; sgfs_option_at(rows, &a); rows++) {
        check_option(&a, cfg);
        for (int64_t j = 0; j < rows && sgfs_option_at(j, &b); j++) {
            bool same_key = strcmp(a.key, b.key) == 0, same_flag = strcmp(a.flag, b.flag) == 0;
            if (same_key != same_flag) fail_msg("--%s is %s and %s", a.flag, a.key, b.key);
            if (!same_key) continue;
            assert_string_equal(a.type, b.type);
            assert_string_equal(a.value, b.value);
            assert_true(a.min == b.min && a.max == b.max);
            assert_string_equal(a.choices, b.choices);
        }
    }
    assert_true(rows > 25);
    assert_false(sgfs_option_at(rows, &a));
    assert_false(sgfs_option_at(-1, &a));
    sgfs_config_free(cfg);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void note(sgfs_level level, const char *text, void *user) {
    snprintf(user, 64, "%d %.40s", (int)level, text);
}

static void test_errors_are_sentences_that_fit(void **state) {
    (void)state;
    char heard[64] = "", longer[2000];
    sgfs_err err;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(sgfsi_fail(&err, SGFS_EDATA, "%s", longer), SGFS_EDATA);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
    assert_int_equal(sgfsi_fail(NULL, SGFS_EIO, "nobody listens %d", 3), SGFS_EIO);
    sgfsi_log log = {.fn = note, .user = heard};
    sgfsi_say(&log, SGFS_WARNING, "row %d", 17);
    assert_string_equal(heard, "1 row 17");
    sgfsi_say(NULL, SGFS_NOTE, "dropped");
}

/* Files are quoted in sentences, and files may hold anything. */
static void test_why_nothing_came_back(void **state) {
    (void)state;
    sgfs_err err = {SGFS_EDATA, "a sentence"}, silent = {SGFS_OK, ""};
    assert_int_equal(sgfsi_why(&err), SGFS_EDATA);
    assert_int_equal(sgfsi_why(&silent), SGFS_ENOMEM);
    assert_int_equal(sgfsi_why(NULL), SGFS_ENOMEM);
}

static void test_errors_speak_to_no_terminal(void **state) {
    (void)state;
    static const struct {
        const char *quoted, *shown;
    } rows[] = {{"plain", "plain"},
                {"a\x1b[2Jb\n\x7f", "a?[2Jb??"},
                {"gr\xc3\xb6\xc3\x9f"
                 "e \xe2\x82\xac \xf0\x9f\x8e\xb2",
                 "gr\xc3\xb6\xc3\x9f"
                 "e \xe2\x82\xac \xf0\x9f\x8e\xb2"},
                {"\xc2\x9b"
                 "31m \xc2\xa0",
                 "??31m \xc2\xa0"},     /* CSI as a C1 character */
                {"gr\xf6\xdf", "gr??"}, /* Latin-1 */
                {"\xc0\x8a \xe0\x80\x8a \xf0\x80\x80\x8a", "?? ??? ????"}, /* overlong */
                {"\xed\xa0\x80 \xf4\x90\x80\x80", "??? ????"}, /* surrogate, beyond U+10FFFF */
                {"\xe2\x82", "??"}};                           /* ends in a character */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char heard[64] = "";
        sgfs_err err;
        sgfsi_log log = {.fn = note, .user = heard};
        sgfsi_fail(&err, SGFS_EDATA, "%s", rows[i].quoted);
        assert_string_equal(err.text, rows[i].shown);
        sgfsi_say(&log, SGFS_NOTE, "%s", rows[i].quoted);
        assert_string_equal(heard + 2, rows[i].shown);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static char folder[64], path[96];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/sgfs-base-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/out.txt", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when a temporary file was left behind */
}

static bool exists(const char *name) {
    struct stat st;
    return lstat(name, &st) == 0;
}

static void write_file(const char *text, bool overwrite) {
    sgfsi_outfile out;
    assert_int_equal(sgfsi_outfile_open(&out, path, overwrite, true, NULL), SGFS_OK);
    assert_true(fputs(text, out.f) >= 0);
    assert_int_equal(sgfsi_outfile_commit(&out, NULL), SGFS_OK);
    assert_null(out.f);
}

static void assert_holds(const char *wanted) {
    size_t length = 0;
    char *text = sgfsi_file_read(path, 1000, &length, NULL);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
    free(text);
}

static void test_a_file_appears_when_it_is_complete(void **state) {
    (void)state;
    sgfsi_outfile out;
    assert_int_equal(sgfsi_outfile_open(&out, path, false, true, NULL), SGFS_OK);
    fputs("2.385", out.f);
    fflush(out.f);
    assert_false(exists(path));
    assert_int_equal(exists(out.temp), !out.nameless); /* killed now, it would leave nothing */
    assert_int_equal(sgfsi_outfile_commit(&out, NULL), SGFS_OK);
    assert_holds("2.385");
    assert_int_equal(sgfsi_outfile_open(&out, path, true, false, NULL), SGFS_OK);
    assert_null(out.f); /* only the name: a library writes */
    FILE *f = fopen(out.temp, "w");
    fputs("by a library", f);
    fclose(f);
    assert_int_equal(sgfsi_outfile_commit(&out, NULL), SGFS_OK);
    assert_holds("by a library");
}

static void test_an_abandoned_file_leaves_nothing(void **state) {
    (void)state;
    sgfsi_outfile out;
    for (int stream = 0; stream < 2; stream++) {
        assert_int_equal(sgfsi_outfile_open(&out, path, false, stream == 1, NULL), SGFS_OK);
        sgfsi_outfile_abandon(&out);
        assert_false(exists(path));
        sgfsi_outfile_abandon(&out); /* twice is harmless */
    }
}

static void test_an_existing_file_is_refused_and_survives(void **state) {
    (void)state;
    sgfs_err err = {0};
    sgfsi_outfile out;
    write_file("first", false);
    assert_int_equal(sgfsi_outfile_open(&out, path, false, true, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "--overwrite"));
    assert_int_equal(sgfsi_outfile_open(&out, path, false, true, NULL), SGFS_EUSAGE);
    assert_holds("first");
    assert_int_equal(sgfsi_outfile_open(&out, path, true, true, NULL), SGFS_OK);
    sgfsi_outfile_abandon(&out);
    assert_holds("first");
    write_file("second", true);
    assert_holds("second");
}

static void test_a_path_that_cannot_be_written_is_refused(void **state) {
    (void)state;
    sgfs_err err = {0};
    sgfsi_outfile out;
    char other[160];
    snprintf(other, sizeof other, "%s/no/such/folder", folder);
    assert_int_equal(sgfsi_outfile_open(&out, other, false, true, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(sgfsi_outfile_open(&out, folder, true, true, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "directory"));
    write_file("not a folder", false);
    snprintf(other, sizeof other, "%s/below", path);
    assert_int_equal(sgfsi_outfile_open(&out, other, false, true, &err), SGFS_EIO);
}

/* A full disk, imitated by a limit on the size of files. */
static void test_a_write_that_fails_leaves_the_old_file(void **state) {
    (void)state;
    struct rlimit before, tight;
    sgfsi_outfile out;
    sgfs_err err = {0};
    write_file("old", false);
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 1000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(sgfsi_outfile_open(&out, path, true, true, NULL), SGFS_OK);
    setrlimit(RLIMIT_FSIZE, &tight);
    for (int i = 0; i < 5000; i++) fputs("more ", out.f);
    errno = ENOTTY; /* whatever came since */
    sgfs_status status = sgfsi_outfile_commit(&out, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, SGFS_EIO);
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_holds("old");
}

/* /dev/full takes no byte: the loop and the stream above it both say why. */
static void test_a_full_disk_has_its_errno(void **state) {
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sgfsi_io_write(fd, "2.385", 5, 0), ENOSPC);
    assert_int_equal(sgfsi_io_write(fd, "2.385", 5, SGFSI_IO_HERE), ENOSPC);
    FILE *f = sgfsi_io_stream(fd);
    assert_non_null(f);
    assert_true(fputs("2.385", f) >= 0); /* it is in the stream's memory */
    errno = 0;
    assert_int_equal(fflush(f), EOF);
    assert_int_equal(errno, ENOSPC);
    assert_true(ferror(f));
    fclose(f);
}

/* remove_folder fails when the file has kept a name. */
static void test_a_temporary_file_has_a_name_only_where_one_is_wanted(void **state) {
    (void)state;
    char *name = NULL, text[6] = "";
    for (int named = 0; named < 2; named++) {
        int fd = sgfsi_io_temporary(folder, named ? &name : NULL);
        assert_true(fd >= 0);
        assert_int_equal(sgfsi_io_write(fd, "85", 2, 3), 0);
        assert_int_equal(sgfsi_io_write(fd, "2.3", 3, 0), 0);
        assert_int_equal(pread(fd, text, 5, 0), 5);
        assert_string_equal(text, "2.385");
        assert_int_equal(sgfsi_io_truncate(fd, 3), 0);
        assert_int_equal(pread(fd, text, 5, 0), 3);
        close(fd);
    }
    assert_true(exists(name));
    unlink(name);
    free(name);
    assert_int_equal(sgfsi_io_temporary(path, &name), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_reading_small_files_whole(void **state) {
    (void)state;
    size_t length = 99;
    sgfs_err err = {0};
    char text[5001];
    write_file("", false);
    assert_holds("");
    memset(text, 'a', 5000); /* more than the first buffer holds */
    text[5000] = '\0';
    write_file(text, true);
    char *back = sgfsi_file_read(path, 5000, &length, NULL);
    assert_string_equal(back, text);
    free(back);
    assert_null(sgfsi_file_read(path, 4999, &length, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_null(sgfsi_file_read("/no/such/file", 10, &length, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfsi_file_read(folder, 10, &length, NULL));
}

/* ---- did you mean ---------------------------------------------------------------------------- */

static void test_edit_distance(void **state) {
    (void)state;
    assert_int_equal(sgfsi_distance("alpha", "alpha"), 0);
    assert_int_equal(sgfsi_distance("alpha", "ALPHA"), 0);
    assert_int_equal(sgfsi_distance("alpha", "aplha"), 1); /* a swap of neighbours */
    assert_int_equal(sgfsi_distance("alpha", "alph"), 1);
    assert_int_equal(sgfsi_distance("alpha", "alphas"), 1);
    assert_int_equal(sgfsi_distance("alpha", "alpza"), 1);
    assert_int_equal(sgfsi_distance("", "abc"), 3);
    assert_int_equal(sgfsi_distance("kitten", "sitting"), 3);
    assert_int_equal(sgfsi_distance("sitting", "kitten"), 3);
    char a[200], b[200]; /* longer than the table */
    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[199] = b[199] = '\0';
    assert_int_equal(sgfsi_distance(a, b), 63);
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const words[] = {"draws", "warmup", "chains", "epsilon"};
    assert_string_equal(sgfsi_nearest("drwas", 4, words), "draws");
    assert_string_equal(sgfsi_nearest("epslion", 4, words), "epsilon");
    assert_null(sgfsi_nearest("temperature", 4, words));
    assert_null(sgfsi_nearest("draws", 0, NULL));
}

/* ---- work apart ------------------------------------------------------------------------------ */

static sgfsi_made misbehave(void *work) {
    static char bytes[100000]; /* more than a pipe holds */
    switch (*(const int *)work) {
    case 0: return memset(bytes, 7, sizeof bytes), (sgfsi_made){bytes, sizeof bytes, 0};
    case 1: raise(SIGSEGV); break;
    case 2: fflush(NULL), exit(255); /* NOLINT: what is left in the parent's streams stays there */
    case 3: return (sgfsi_made){NULL, 0, 77};
    default: break;
    }
    return (sgfsi_made){NULL, 0, 0};
}

static void test_whatever_becomes_of_work_done_apart_is_told(void **state) {
    (void)state;
    const int told[] = {0, -1, -1, 77, 0};
    for (int how = 0; how < 5; how++) {
        sgfsi_buffer b = {NULL, 0, 0};
        FILE *f = sgfsi_io_memory(&b);
        fputc(7, f); /* waits in the stream while the child is made */
        assert_int_equal(sgfsi_apart(misbehave, &how, f), told[how]);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(b.used, how == 0 ? 100001 : 1);
        for (size_t i = 0; i < b.used; i++) assert_int_equal(b.bytes[i], 7);
        free(b.bytes);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

/* ---- words for a shell ----------------------------------------------------------------------- */

/* The shell itself says what it makes of them. */
static void test_a_quoted_word_is_what_the_shell_gets(void **state) {
    (void)state;
    static const char *const words[] = {"fit.run", "a b",   "it's", "$(id)", "`id`;rm -r x|y&z",
                                        "\"q\"",   "*?[a]", "~",    "''",    "na\xC3\xAFve.run",
                                        "a\\nb",   "x#y",   "!1",   "a=b"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char word[64], command[128], got[64] = "";
        assert_true(sgfsi_shell_word(words[i], word, sizeof word));
        snprintf(command, sizeof command, "printf %%s %s", word);
        FILE *shell = popen(command, "r");
        assert_non_null(shell);
        size_t n = fread(got, 1, sizeof got - 1, shell);
        assert_int_equal(pclose(shell), 0);
        assert_int_equal(n, strlen(words[i]));
        assert_string_equal(got, words[i]);
    }
}

static void test_words_that_could_do_harm_are_not_handed_to_a_shell(void **state) {
    (void)state;
    char out[8] = "RUN";
    static const char *const words[] = {"",         "-rf",  "a\nb",     "a\033[2J",
                                        "\xC2\x9B", "\xFF", "12345678", "' ' '"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_false(sgfsi_shell_word(words[i], out, sizeof out));
        assert_string_equal(out, "RUN");
    }
    assert_true(sgfsi_shell_word("1234567", out, sizeof out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_the_published_answers),
        cmocka_unit_test(test_the_counter_layout_is_fixed),
        cmocka_unit_test(test_numbers_do_not_depend_on_how_many_are_made_at_once),
        cmocka_unit_test(test_uniforms),
        cmocka_unit_test(test_normals),
        cmocka_unit_test(test_indices_are_uniform),
        cmocka_unit_test(test_streams_differ_in_every_coordinate),
        cmocka_unit_test(test_arena_pieces_are_zeroed_and_aligned),
        cmocka_unit_test(test_arena_refuses_what_overflows),
        cmocka_unit_test(test_config_defaults),
        cmocka_unit_test(test_config_checks_values),
        cmocka_unit_test(test_config_suggests_the_key_that_was_meant),
        cmocka_unit_test(test_settings_are_read_and_written),
        cmocka_unit_test(test_config_has_other_defaults_and_copies),
        cmocka_unit_test(test_the_programs_options_are_consistent),
        cmocka_unit_test(test_errors_are_sentences_that_fit),
        cmocka_unit_test(test_why_nothing_came_back),
        cmocka_unit_test(test_errors_speak_to_no_terminal),
        cmocka_unit_test(test_whatever_becomes_of_work_done_apart_is_told),
        IN_FOLDER(test_a_file_appears_when_it_is_complete),
        IN_FOLDER(test_an_abandoned_file_leaves_nothing),
        IN_FOLDER(test_an_existing_file_is_refused_and_survives),
        IN_FOLDER(test_a_path_that_cannot_be_written_is_refused),
        IN_FOLDER(test_a_write_that_fails_leaves_the_old_file),
        cmocka_unit_test(test_a_full_disk_has_its_errno),
        IN_FOLDER(test_a_temporary_file_has_a_name_only_where_one_is_wanted),
        IN_FOLDER(test_reading_small_files_whole),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_a_quoted_word_is_what_the_shell_gets),
        cmocka_unit_test(test_words_that_could_do_harm_are_not_handed_to_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
