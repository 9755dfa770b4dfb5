/* SPDX-License-Identifier: MIT
 * JSON values come back as they were written, and one that memory ran out for is never taken for a
 * whole one. malloc and free are replaced here for all that the library and jansson ask for.
 */
#include <stdio.h>

#include "base/json.h"
#include "tools/check.h"

static int64_t requests, failing, blocks; /* so far; the one that fails (0: none); in use */
static bool going_on;                     /* whether all that follow it fail, too */

void *__real_malloc(size_t size);
void __real_free(void *room);
void *__wrap_malloc(size_t size);
void __wrap_free(void *room);

void *__wrap_malloc(size_t size) {
    requests++;
    bool refused = failing > 0 && (requests == failing || (going_on && requests > failing));
    void *room = refused ? NULL : __real_malloc(size);
    blocks += room != NULL;
    return room;
}

void __wrap_free(void *room) {
    blocks -= room != NULL;
    __real_free(room);
}

static void test_json_round_trip(void **state) {
    (void)state;
    static const double x[] = {0.1, -2.385e-300, 1.7976931348623157e308, 4.9406564584124654e-324,
                               3};
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_nums(o, "x", 5, x);
    sgfsi_json_int(o, "big", INT64_MAX);
    sgfsi_json_int(o, "small", INT64_MIN);
    sgfsi_json_flag(o, "yes", true);
    sgfsi_json_text(o, "text", "tab\t\"quote\" \xE2\x82\xAC");
    sgfsi_json_text(o, "none", NULL);
    for (int indented = 0; indented < 2; indented++) {
        char *text = sgfsi_json_dump(o, indented == 1);
        assert_non_null(text);
        assert_true((strchr(text, '\n') != NULL) == (indented == 1));
        sgfsi_json *v = sgfsi_json_parse(text, strlen(text), "test", NULL);
        assert_non_null(v);
        for (int i = 0; i < 5; i++) {
            double back;
            assert_true(sgfsi_json_as_num(sgfsi_json_at(sgfsi_json_get(v, "x"), i), &back));
            assert_true(back == x[i]);
        }
        assert_int_equal(sgfsi_json_length(sgfsi_json_get(v, "x")), 5);
        assert_null(sgfsi_json_at(sgfsi_json_get(v, "x"), 5));
        assert_null(sgfsi_json_at(sgfsi_json_get(v, "x"), -1));
        assert_true(sgfsi_json_get_int(v, "big", 0) == INT64_MAX);
        assert_true(sgfsi_json_get_int(v, "small", 0) == INT64_MIN);
        assert_string_equal(sgfsi_json_get_text(v, "text", ""), "tab\t\"quote\" \xE2\x82\xAC");
        assert_string_equal(sgfsi_json_get_text(v, "none", "absent"), "absent");
        assert_int_equal(sgfsi_json_length(v), -1);
        assert_true(sgfsi_json_get_num(v, "text", 7.5) == 7.5);
        sgfsi_json_free(v);
        free(text);
    }
    sgfsi_json_free(o);
}

static void test_json_has_null_for_what_is_not_a_number(void **state) {
    (void)state;
    const double x[] = {NAN, INFINITY, -INFINITY, 1.5};
    double back = 0;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_nums(o, "x", 4, x);
    char *text = sgfsi_json_dump(o, false);
    assert_string_equal(text, "{\"x\":[null,null,null,1.5]}");
    assert_true(sgfsi_json_as_num(sgfsi_json_at(sgfsi_json_get(o, "x"), 0), &back));
    assert_true(isnan(back) != 0);
    assert_false(sgfsi_json_as_num(NULL, &back));
    free(text);
    sgfsi_json_free(o);
}

/* A column name in Latin-1 must not vanish from a header. */
static void test_json_keeps_text_that_is_not_utf8(void **state) {
    (void)state;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "name",
                    "gr\xF6\xDF"
                    "e");
    assert_string_equal(sgfsi_json_get_text(o, "name", ""), "gr\xC3\xB6\xC3\x9F"
                                                            "e");
    sgfsi_json_free(o);
}

/* A member that could not be made: its parent remembers it, and so does whatever holds the
 * parent. */
static void test_json_that_lost_a_member_has_no_text(void **state) {
    (void)state;
    sgfsi_json *o = sgfsi_json_object(), *inner = sgfsi_json_object_in(o, "inner"),
               *other = sgfsi_json_array();
    sgfsi_json_num(inner, "x", 2.385);
    assert_true(sgfsi_json_whole(o));
    sgfsi_json_put(inner, "lost", NULL);
    sgfsi_json_num(inner, "y", 7.17);
    assert_false(sgfsi_json_whole(o));
    assert_null(sgfsi_json_dump(o, true));
    assert_null(sgfsi_json_copy(o));
    assert_true(sgfsi_json_get_num(sgfsi_json_get(o, "inner"), "y", 0) == 7.17);
    sgfsi_json_put(other, NULL, o); /* taken over, with what is known of it */
    assert_false(sgfsi_json_whole(other));
    assert_null(sgfsi_json_finish(other));
    assert_false(sgfsi_json_whole(NULL));
}

static void test_json_refuses_what_is_not_json(void **state) {
    (void)state;
    static const char *const bad[] = {"",      "{",           "{\"a\": 1,}", "{\"a\": 1, \"a\": 2}",
                                      "[nan]", "{\"a\": 1} x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sgfs_err err = {0};
        assert_null(sgfsi_json_parse(bad[i], strlen(bad[i]), "f.json", &err));
        assert_int_equal(err.code, SGFS_EDATA);
        assert_int_equal(strncmp(err.text, "f.json:", 7), 0);
        assert_null(sgfsi_json_parse(bad[i], strlen(bad[i]), "f.json", NULL));
    }
}

/* ---- memory that runs out -------------------------------------------------------------------- */

/* Read a text, with every request refused in turn: it is read whole or memory has run out, and
 * nothing stays behind. Returns how many requests there were. */
static int64_t read_with_refusals(const char *text, const char *wanted) {
    for (int64_t n = 1;; n++) {
        int64_t before = blocks;
        sgfs_err err = {SGFS_OK, ""};
        requests = 0;
        failing = n;
        sgfsi_json *v = sgfsi_json_parse(text, strlen(text), "f.json", &err);
        bool refused = requests >= n;
        failing = 0;
        if (refused) {
            assert_null(v);
            assert_int_equal(err.code, SGFS_ENOMEM);
            assert_true(blocks == before);
            continue;
        }
        char *found = sgfsi_json_dump(v, false);
        assert_string_equal(found, wanted);
        free(found);
        sgfsi_json_free(v);
        assert_true(blocks == before);
        return n - 1;
    }
}

/* The buffer of what is being read is full after 15 bytes, 31, 63: every byte of a name, a word and
 * a number is once the one that finds it so. Letters have up to four bytes. */
static void test_what_is_read_is_whole(void **state) {
    (void)state;
    static const char *const letters[] = {"7", "\xC3\xB6", "\xE2\x82\xAC", "\xF0\x9F\x8E\xB2"};
    static const char *const forms[] = {"{\"%s\":1.5}", "[\"%s\",{}]", "{\"a\":[\"%s\"]}"};
    for (int turn = 0; turn < 2; turn++) {
        going_on = turn == 1;
        for (size_t form = 0; form < 3; form++)
            for (size_t letter = 0; letter < 4; letter++)
                for (int length = 1; length <= 66; length++) {
                    char word[300] = "", text[400];
                    for (int i = 0; i < length; i++) strcat(word, letters[letter]);
                    snprintf(text, sizeof text, forms[form], word);
                    (void)read_with_refusals(text, text);
                }
        for (int zeros = 0; zeros < 66; zeros++) {
            char text[200];
            snprintf(text, sizeof text, "[2.5%0*d,4,2.5%0*de0,true]", zeros, 0, zeros, 0);
            (void)read_with_refusals(text, "[2.5,4,2.5,true]");
            snprintf(text, sizeof text, "{\"a\":[17%.*s]}", zeros % 17, "00000000000000000");
            (void)read_with_refusals(text, text);
        }
    }
}

/* Objects and arrays that grow, one in the other, behind a long text that has filled the buffer. */
static void test_what_grows_while_it_is_read_is_whole(void **state) {
    (void)state;
    char text[4000] = "{\"a\\tb\":\"a long \\\"text\\\" of 40 letters or so\"", deep[400] = "";
    for (int i = 0; i < 40; i++)
        sgfsi_append(text, sizeof text, ",\"m%d\":[%d,null,{\"x\":[]}]", i, i);
    for (int i = 0; i < 40; i++) sgfsi_append(deep, sizeof deep, "[%d,", i);
    sgfsi_append(text, sizeof text, ",\"deep\":%s[]", deep);
    for (int i = 0; i < 40; i++) sgfsi_append(text, sizeof text, "]");
    sgfsi_append(text, sizeof text, ",\"long\":[0");
    for (int i = 1; i < 80; i++) sgfsi_append(text, sizeof text, ",%d", i);
    sgfsi_append(text, sizeof text, "]}");
    for (int turn = 0; turn < 2; turn++) {
        going_on = turn == 1;
        assert_true(read_with_refusals(text, text) > 500);
    }
}

static char *build(void) {
    static const double x[] = {2.385, 0.25, -17, 4, 5, 6, 7, 8, 9, NAN};
    sgfsi_json *o = sgfsi_json_object(), *inner = sgfsi_json_object_in(o, "inner"),
               *list = sgfsi_json_array();
    sgfsi_json_nums(inner, "x", 10, x);
    sgfsi_json_text(inner, "word",
                    "gr\xC3\xB6\xC3\x9F"
                    "e"); /* as it is, or not at all */
    sgfsi_json_text(inner,
                    "gr\xF6\xDF"
                    "e",
                    "gr\xF6\xDF"
                    "e");
    for (int i = 0; i < 12; i++) {
        char key[32];
        snprintf(key, sizeof key, "a long name of a member %d", i);
        sgfsi_json_int(o, key, i);
        sgfsi_json_flag(sgfsi_json_object_in(list, NULL), key, i % 2 == 0);
    }
    sgfsi_json_put(o, "list", list);
    sgfsi_json *copy = sgfsi_json_copy(o);
    sgfsi_json_free(o);
    return sgfsi_json_finish(copy);
}

static void test_what_is_built_is_whole(void **state) {
    (void)state;
    char *wanted = build();
    assert_non_null(strstr(wanted, "\"gr\xC3\xB6\xC3\x9F"
                                   "e\": \"gr\xC3\xB6\xC3\x9F"
                                   "e\""));
    int64_t before = blocks, lost = 0;
    for (int turn = 0; turn < 2; turn++) {
        going_on = turn == 1;
        bool refused = true;
        for (int64_t n = 1; refused; n++) {
            requests = 0;
            failing = n;
            char *text = build();
            refused = requests >= n;
            failing = 0;
            lost += text == NULL;
            if (text != NULL) assert_string_equal(text, wanted);
            if (!refused) assert_non_null(text);
            free(text);
            assert_true(blocks == before);
        }
    }
    assert_true(lost > 400);
    free(wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_json_has_null_for_what_is_not_a_number),
        cmocka_unit_test(test_json_keeps_text_that_is_not_utf8),
        cmocka_unit_test(test_json_that_lost_a_member_has_no_text),
        cmocka_unit_test(test_json_refuses_what_is_not_json),
        cmocka_unit_test(test_what_is_read_is_whole),
        cmocka_unit_test(test_what_grows_while_it_is_read_is_whole),
        cmocka_unit_test(test_what_is_built_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
