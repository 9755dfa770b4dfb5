/* SPDX-License-Identifier: MIT
 * test_formula.c: whatever is written as a formula is understood or refused with a place in it, and
 * terms are what the algebra says. (The columns are compared with formulaic's in
 * tests/cli/test_formula.py.)
 */
#include "tools/check.h"

#include <stdio.h>

#include "files/formula/formula.h"
#include "files/formula/formula_parse.h"

static const char *const names[] = {"x", "z", "city", "odd name"};
enum { NAMES = sizeof names / sizeof *names };

/* "x city x:city | 1" */
static void write_terms(const sgfsi_formula *f, char *out, size_t room) {
    out[0] = '\0';
    for (int64_t k = 0; k < f->terms; k++) {
        for (int i = 0; i < f->term[k].count; i++)
            sgfsi_append(out, room, "%s%s",
                         i > 0   ? ":"
                         : k > 0 ? " "
                                 : "",
                         f->factor[f->term[k].factor[i]].name);
    }
    sgfsi_append(out, room, " | %d", f->intercept);
}

static void test_terms(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"y ~ x", "x | 1"},
        {"y~x+z-1", "x z | 0"},
        {"y ~ x*z", "x z x:z | 1"},
        {"y ~ x:z + z:x", "x:z | 1"},
        {"y ~ x/z/w", "x x:z x:z:w | 1"},
        {"y ~ (x + z)/w", "x z x:z:w | 1"},
        {"y ~ (a + b + c)^2", "a b c a:b a:c b:c | 1"},
        {"y ~ (a + b + c)**3 - a:b:c - a", "b c a:b a:c b:c | 1"},
        {"y ~ a*b*c - a:b:c", "a b c a:b a:c b:c | 1"},
        {"y ~ a:b + c", "c a:b | 1"},
        {"y ~ 0 + .", "x z city odd name | 0"},
        {"y ~ . - city - `odd name`", "x z | 1"},
        {"y ~ log( x+1 )", "log(x + 1) | 1"},
        {"y ~ I( -x ^2*  3e-2 ) + C( z )", "I(-x^2 * 3e-2) C(z) | 1"},
        {"y ~ bs(x,df = 5,degree=2) : poly( `odd name` ,2)",
         "bs(x, df=5, degree=2):poly(`odd name`, 2) | 1"},
        {"cbind(a, b) ~ 1", " | 1"},
        {"y ~ (x | g) + x + (1 | g/h)", "x | 1"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sgfsi_arena arena = {NULL};
        sgfsi_formula f;
        sgfs_err err = {SGFS_OK, ""};
        char terms[400];
        if (sgfsi_formula_parse(cases[k][0], NAMES, names, &arena, &f, &err) != SGFS_OK)
            fail_msg("%s: %s", cases[k][0], err.text);
        write_terms(&f, terms, sizeof terms);
        assert_string_equal(terms, cases[k][1]);
        sgfsi_arena_free(&arena);
    }
}

static void test_groups(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfsi_group_spec spec;
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfsi_formula_groups("(1 | a/b:c) + (x | g)", &arena, &spec, &err),
                     SGFS_EUSAGE);
    assert_int_equal(sgfsi_formula_groups("(1|a/b)+(0+log(x)||g:h)", &arena, &spec, &err), SGFS_OK);
    assert_int_equal(spec.terms, 3);
    assert_int_equal(spec.term[0].columns, 1);
    assert_int_equal(spec.term[1].columns, 2);
    assert_string_equal(spec.term[1].column[1], "b");
    assert_true(spec.term[1].intercept && spec.term[1].correlated);
    assert_true(!spec.term[2].intercept && !spec.term[2].correlated);
    assert_string_equal(spec.term[2].slope[0], "log(x)");
    static const char *const bad[] = {
        "", "x", "(1 | g) + x", "1", "(1 | g) - (1 | h)", "(1 | g", "(1 | g) + offset(log(x))"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(sgfsi_formula_groups(bad[k], &arena, &spec, &err), SGFS_EUSAGE);
    sgfsi_arena_free(&arena);
}

/* ---- whatever is written --------------------------------------------------------------------- */

/* The caret stands under a letter of the line above it, or behind its end. */
static void check_place(const sgfs_err *err) {
    const char *line = strstr(err->text, "\n    "), *caret = strrchr(err->text, '\n');
    assert_non_null(line);
    assert_true(caret > line);
    assert_int_equal(strspn(caret + 1, " "), strlen(caret + 1) - 1);
    assert_int_equal(caret[strlen(caret) - 1], '^');
    size_t letters = 0;
    for (const char *c = line + 1; c < caret; c++) letters += ((unsigned char)*c & 0xC0) != 0x80;
    assert_true(strlen(caret + 1) <= letters + 1);
}

static void read_anything(const char *text) {
    for (int turn = 0; turn < 3; turn++) {
        sgfsi_arena arena = {NULL};
        sgfsi_formula f;
        sgfs_err err = {SGFS_OK, ""};
        sgfs_status status = turn == 0   ? sgfsi_formula_parse(text, 0, NULL, &arena, &f, &err)
                             : turn == 1 ? sgfsi_formula_parse(text, NAMES, names, &arena, &f, &err)
                                         : sgfsi_formula_parse_groups(text, &arena, &f, &err);
        assert_true(status == SGFS_OK || status == SGFS_EUSAGE);
        if (status != SGFS_OK) check_place(&err);
        sgfsi_arena_free(&arena);
    }
    sgfs_config *cfg = sgfs_config_new(), *out;
    sgfs_err err = {SGFS_OK, ""};
    assert_non_null(cfg);
    if (sgfs_config_set(cfg, "data.formula", text, &err) == SGFS_OK) {
        out = sgfsi_formula_expand(cfg, &err);
        assert_true(out != NULL || err.code == SGFS_EUSAGE);
        sgfs_config_free(out);
    }
    sgfs_config_free(cfg);
}

static void test_anything_may_be_written(void **state) {
    (void)state;
    static const char *const seeds[] = {
        "y ~ x*city + poly(z, 3):city - x + (1 + x || g/h)",
        "cbind(a, b) ~ 0 + bs(x, df=5, degree=2) + bs(z, knots=[1, 2.5e-3]) + offset(log(t))",
        "y ~ (. - `odd name`)^2 - C(h) + I(-x**2/(z + 1)) + scale(log1p(x)) + (x | a:b)"};
    static const char *const pieces[] = {"(",      ")",      "+",       "-",        "*",
                                         "/",      ":",      "^",       "**",       "|",
                                         "||",     "~",      ",",       "=",        "[",
                                         "]",      "`",      ".",       "0",        "1",
                                         "2",      "99",     "1e308",   "x",        "log(",
                                         "poly(",  "bs(",    "I(",      "C(",       "offset(log(",
                                         "cbind(", "knots=", "df=",     "\xC3\xA9", "\xFF",
                                         "\n",     " ",      "(1 | g)", "(x + z)^8"};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    uint64_t random = 22;
    for (int i = 0; i < 6000; i++) {
        char text[600];
        snprintf(text, sizeof text, "%s", seeds[next_bits(&random) % 3]);
        for (uint64_t edits = 1 + next_bits(&random) % 6; edits > 0; edits--) {
            size_t length = strlen(text), at = next_bits(&random) % (length + 1), cut;
            char rest[600];
            snprintf(rest, sizeof rest, "%s", text + at);
            cut = next_bits(&random) % (strlen(rest) + 1);
            const char *piece = pieces[next_bits(&random) % PIECES];
            if (next_bits(&random) % 3 == 0) piece = "";
            snprintf(text + at, sizeof text - at, "%s%s", piece,
                     next_bits(&random) % 2 ? rest : rest + (cut < 9 ? cut : 1));
        }
        read_anything(text);
    }
    char deep[4000] = "y ~ ";
    for (int k = 0; k < 1500; k++) strcat(deep, "(");
    read_anything(deep);
    strcpy(deep, "y ~ I(");
    for (int k = 0; k < 900; k++) strcat(deep, "-(+");
    read_anything(deep);
    strcpy(deep, "y ~ (a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v)^8");
    read_anything(deep);
    char *wide = malloc(20000);
    assert_non_null(wide);
    strcpy(wide, "y ~ I(0");
    for (size_t n = strlen(wide); n < 16000; n += 2) memcpy(wide + n, "+1", 3);
    strcat(wide, ")");
    read_anything(wide);
    free(wide);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_anything_may_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
