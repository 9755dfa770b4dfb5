/* SPDX-License-Identifier: MIT
 * test_fields.c: lists of state: names, copies, and one piece of memory that is read back or
 * refused.
 */
#include "base/fields.h"

#include "tools/check.h"

typedef struct thing {
    double x[3], y;
    int64_t n;
    int kind;
    bool ready;
    char text[5];
    double *none;
} thing;

static void list_thing(thing *t, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "thing");
    SGFSI_FIELD_ARRAY(list, t, x, 3);
    SGFSI_FIELD_ONE(list, t, y);
    sgfsi_fields_enter(list, "inner");
    SGFSI_FIELD_ONE(list, t, n);
    SGFSI_FIELD_ONE(list, t, kind);
    sgfsi_fields_leave(list);
    SGFSI_FIELD_ONE(list, t, ready);
    SGFSI_FIELD_ARRAY(list, t, text, 5);
    SGFSI_FIELD_ARRAY(list, t, none, 7);
    sgfsi_fields_leave(list);
}

static const thing full = {{2.385, -1e-300, 0x1p-1074}, NAN, -385, 2, true, "abcd", NULL};

static void assert_full(const thing *t) {
    assert_memory_equal(t->x, full.x, sizeof t->x);
    assert_memory_equal(&t->y, &full.y, sizeof t->y);
    assert_true(t->n == full.n && t->kind == full.kind && t->ready);
    assert_string_equal(t->text, "abcd");
}

static void test_names(void **state) {
    (void)state;
    const char *const names[] = {"thing.x",          "thing.y",     "thing.inner.n",
                                 "thing.inner.kind", "thing.ready", "thing.text"};
    thing t = full;
    sgfsi_fields list = {0};
    list_thing(&t, &list);
    assert_int_equal(list.count, 6); /* an array that is not there is left out */
    for (int i = 0; i < 6; i++) assert_string_equal(list.field[i].name, names[i]);
    assert_string_equal(list.prefix, "");
    assert_ptr_equal(sgfsi_fields_find(&list, "thing.y")->at, &t.y);
    assert_null(sgfsi_fields_find(&list, "y"));
    for (int i = 0; i < 20; i++) sgfsi_fields_enter(&list, "a long way in");
    assert_true(list.failed); /* and said, not cut short */
    sgfsi_fields_free(&list);
}

static void test_copies(void **state) {
    (void)state;
    thing from = full, to = {.y = 1};
    sgfs_err err;
    sgfsi_fields a = {0}, b = {0}, less = {0};
    list_thing(&from, &a);
    list_thing(&to, &b);
    assert_int_equal(sgfsi_fields_copy(&b, &a, "thing.inner", &err), SGFS_OK);
    assert_true(to.n == full.n && to.kind == full.kind && to.y == 1 && !to.ready);
    assert_int_equal(sgfsi_fields_copy(&b, &a, "", &err), SGFS_OK);
    assert_full(&to);
    to.n = 0;
    SGFSI_FIELD(&less, "thing.inner.n", &to.n, 1);
    assert_int_equal(sgfsi_fields_copy(&less, &a, "", &err), SGFS_ERUNFILE);
    assert_non_null(strstr(err.text, "thing.x"));
    assert_int_equal(to.n, 0); /* nothing is written where not all fits */
    sgfsi_fields_free(&a);
    sgfsi_fields_free(&b);
    sgfsi_fields_free(&less);
}

/* Every byte of what was saved is changed in turn, and every end is cut off: loading says no, or
 * changes numbers, and touches nothing that it may not. */
static void test_what_is_damaged_is_refused(void **state) {
    (void)state;
    thing from = full, to = {.y = 1};
    sgfsi_fields a = {0}, b = {0};
    list_thing(&from, &a);
    list_thing(&to, &b);
    size_t bytes = sgfsi_fields_bytes(&a), refused = 0;
    char *saved = malloc(bytes), *copy = malloc(bytes);
    assert_true(saved != NULL && copy != NULL);
    sgfsi_fields_save(&a, saved);
    for (size_t i = 0; i < bytes; i++) {
        memcpy(copy, saved, bytes);
        copy[i] = (char)(copy[i] ^ 0x55);
        refused += sgfsi_fields_load(&b, copy, bytes, NULL) != SGFS_OK;
        char *cut = malloc(i + 1); /* so that reading past its end is seen */
        assert_non_null(cut);
        memcpy(cut, saved, i);
        to = (thing){.y = 1};
        assert_int_equal(sgfsi_fields_load(&b, cut, i, NULL), SGFS_ERUNFILE);
        assert_true(to.y == 1 && to.n == 0);
        assert_int_equal(sgfsi_fields_saved_int(cut, i, "thing.inner.n", 7), 7);
        free(cut);
    }
    assert_true(refused > bytes / 4); /* counts, types, letters of names; not numbers or padding */
    assert_int_equal(sgfsi_fields_saved_int(saved, bytes, "thing.inner.n", 7), -385);
    assert_int_equal(sgfsi_fields_saved_int(saved, bytes, "thing.y", 7), 7);
    assert_int_equal(sgfsi_fields_load(&b, saved, bytes, NULL), SGFS_OK);
    assert_full(&to);
    free(saved), free(copy);
    sgfsi_fields_free(&a);
    sgfsi_fields_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_what_is_damaged_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
