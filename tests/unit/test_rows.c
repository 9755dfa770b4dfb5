/* SPDX-License-Identifier: MIT
 * test_rows.c: the left border of the engine: views on one scale or another, models bound to them,
 * what the target holds, and the merging of means that statistics are made of.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/moments.h"
#include "model/model.h"
#include "model/prior.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 300, P = 2, D = 3 };

static double X[N * P], Y[N], W[N];
static const char *const names[P] = {"dose", "age"};

static int make_data(void **state) {
    (void)state;
    uint64_t s = 81723;
    for (int i = 0; i < N; i++) {
        X[i * P] = 13.7 + 2.1 * next_normal(&s);
        X[i * P + 1] = -0.4 + 0.31 * next_normal(&s);
        Y[i] = 4.17 + 0.871 * next_normal(&s);
        W[i] = 1.5 + next_number(&s);
    }
    return 0;
}

static sgfs_data *wrap(const double *weights, bool standardize) {
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    const char *flag = standardize ? "true" : "false";
    if (sgfs_config_set(cfg, "data.standardize", flag, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_arrays a = {.rows = N, .cols = P, .x = X, .y = Y, .names = names, .weights = weights};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    if (data == NULL) fail_msg("%s", err.text);
    sgfs_config_free(cfg);
    return data;
}

/* ---- views ----------------------------------------------------------------------------------- */

static const int64_t row[] = {217, 3, 299, 3, 0, 88};
enum { ROWS = 6 };

/* Bit for bit the rows of the whole; nothing is measured again. */
static void test_a_view_on_the_same_scale(void **state) {
    (void)state;
    sgfs_data *whole = wrap(NULL, true);
    sgfs_data *view = sgfsi_data_view(whole, row, ROWS, SGFSI_SAME_SCALE, NULL);
    assert_non_null(view);
    double x[ROWS * D], y[ROWS], wanted[ROWS * D], wanted_y[ROWS];
    sgfsi_data_rows_range(view, 0, ROWS, x, y);
    sgfsi_data_rows_pick(whole, row, ROWS, wanted, wanted_y);
    assert_memory_equal(x, wanted, sizeof x);
    assert_memory_equal(y, wanted_y, sizeof y);
    assert_true(view->total == ROWS && view->N == ROWS);
    assert_true(view->target.mean == whole->target.mean);
    for (int64_t j = 0; j < P; j++) assert_true(view->feature[j].sd == whole->feature[j].sd);
    sgfs_data_free(view);
    sgfs_data_free(whole);
}

static void test_a_view_on_its_own_scale(void **state) {
    (void)state;
    sgfs_data *whole = wrap(NULL, true);
    sgfs_data *view = sgfsi_data_view(whole, row, ROWS, SGFSI_OWN_SCALE, NULL);
    double x[ROWS * D], y[ROWS];
    sgfsi_data_rows_range(view, 0, ROWS, x, y);
    for (int64_t j = 1; j < D; j++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < ROWS; i++) sum += x[i * D + j];
        for (int64_t i = 0; i < ROWS; i++) squares += x[i * D + j] * x[i * D + j];
        assert_near(sum, 0, 1e-13, "the mean of its own rows");
        assert_near(squares / (ROWS - 1), 1, 1e-13, "the spread of its own rows");
    }
    sgfs_data_free(view);
    sgfs_data_free(whole);
}

/* All rows of a view without a list, as they stand in the table. */
static void test_a_view_without_a_scale(void **state) {
    (void)state;
    sgfs_data *whole = wrap(W, true);
    sgfs_data *some = sgfsi_data_view(whole, row, ROWS, SGFSI_OWN_SCALE, NULL);
    sgfs_data *plain = sgfsi_data_view(some, NULL, 0, SGFSI_NO_SCALE, NULL);
    double x[D], y;
    assert_int_equal(plain->N, ROWS);
    assert_true(plain->total == some->total);
    for (int64_t i = 0; i < ROWS; i++) {
        sgfsi_data_rows_range(plain, i, 1, x, &y);
        assert_true(x[0] == 1 && x[1] == X[row[i] * P] && x[2] == X[row[i] * P + 1]);
        assert_true(y == Y[row[i]]);
        assert_int_equal(sgfsi_data_table_row(plain, i), row[i]);
    }
    sgfs_data_free(plain);
    sgfs_data_free(some);
    sgfs_data_free(whole);
}

static void test_a_view_weighs_its_rows(void **state) {
    (void)state;
    sgfs_data *whole = wrap(W, false);
    sgfs_data *view = sgfsi_data_view(whole, row, ROWS, SGFSI_SAME_SCALE, NULL);
    double total = 0, weight[ROWS];
    sgfsi_data_weights(view, 0, ROWS, weight);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_true(weight[i] == W[row[i]]);
        total += W[row[i]];
    }
    assert_true(view->total == total);
    sgfs_data_free(view);
    sgfs_data_free(whole);
}

static void test_a_fair_view_has_rows_from_all_over(void **state) {
    (void)state;
    sgfs_data *whole = wrap(NULL, false);
    sgfs_data *view = sgfsi_data_view_fair(whole, 30, SGFSI_SAME_SCALE, NULL);
    for (int64_t i = 0; i < 30; i++) {
        int64_t at = sgfsi_data_table_row(view, i);
        assert_true(at >= 10 * i - 1 && at <= 10 * i + 10);
    }
    sgfs_data_free(view);
    sgfs_data_free(whole);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void test_a_model_on_other_rows_or_with_another_prior(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_data *whole = wrap(NULL, true);
    sgfs_data *view = sgfsi_data_view(whole, row, ROWS, SGFSI_SAME_SCALE, NULL);
    sgfs_model *m = sgfsi_model_create(&sgfs_model_linear, whole, whole->cfg, NULL, &err);
    if (m == NULL) fail_msg("%s", err.text);
    const sgfs_model on = sgfsi_model_on(m, view);
    assert_ptr_equal(on.data, view);
    assert_true(on.D == m->D && on.state == m->state && on.prior == m->prior);
    assert_true(on.view && !m->view);
    double precision[D + 1] = {7.3, 7.3, 7.3, 7.3}, theta[D + 1] = {0.5, 0.25, -0.75, 0.1};
    sgfsi_prior narrow = {.kind = sgfsi_priors[0], .df = INFINITY, .precision = precision};
    const sgfs_model lent = sgfsi_model_under(m, &narrow);
    double squares = 0, wide = 0, lp = 0;
    for (int64_t j = 0; j < m->D; j++) squares += theta[j] * theta[j];
    assert_int_equal(sgfsi_prior_add(&lent, theta, &lp, NULL, &err), SGFS_OK);
    assert_int_equal(sgfsi_prior_add(m, theta, &wide, NULL, &err), SGFS_OK);
    assert_near(lp, -0.5 * 7.3 * squares, 1e-12, "the prior that was lent");
    assert_true(lp < wide && lent.data == whole && lent.view);
    sgfs_model_free(m);
    sgfs_data_free(view);
    sgfs_data_free(whole);
}

/* ---- the target ------------------------------------------------------------------------------ */

static sgfs_data *read_text(const char *text) {
    sgfs_err err;
    char path[] = "/tmp/sgfs-rows-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    sgfs_config *cfg = unit_prior_config();
    sgfs_data *d = sgfs_data_open(path, cfg, &err);
    sgfs_config_free(cfg);
    unlink(path);
    if (d == NULL) fail_msg("%s", err.text);
    return d;
}

static void test_words_of_the_target(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    double value[4];
    sgfs_data *d = read_text("a,kind\n1.5,oak\n2.25,elm\n-3,oak\n0.5,ash\n");
    assert_true(sgfsi_data_target_is_text(d));
    assert_int_equal(sgfsi_data_target_words(d), 3);
    assert_string_equal(sgfsi_data_target_word(d, 1), "elm");
    assert_null(sgfsi_data_target_word(d, 3));
    assert_null(sgfsi_data_target_word(d, -1));
    assert_int_equal(sgfsi_data_target_values(d, 3, value), 3);
    assert_int_equal(sgfsi_data_refuse_text(d, "trees are no numbers", &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, ":2: the target \"kind\" holds text (\"oak\"); trees are no"));
    sgfs_data_free(d);
    d = read_text("a,size\n1.5,3\n2.25,4.5\n-3,3\n");
    assert_false(sgfsi_data_target_is_text(d));
    assert_int_equal(sgfsi_data_target_words(d), 0);
    assert_null(sgfsi_data_target_word(d, 0));
    assert_int_equal(sgfsi_data_refuse_text(d, "", &err), SGFS_OK);
    assert_int_equal(sgfsi_data_target_values(d, 1, value), 2); /* more than there is room for */
    sgfs_data_free(d);
}

/* ---- moments --------------------------------------------------------------------------------- */

/* Far from 0 the squares around the mean keep their digits, however the numbers are put
 * together. */
static void test_moments_of_parts_are_those_of_the_whole(void **state) {
    (void)state;
    uint64_t s = 52;
    double x[N], sum = 0, squares = 0, mean[2] = {0, 0}, ss[2] = {0, 0}, weight = 0;
    for (int i = 0; i < N; i++) sum += x[i] = 1e6 + next_normal(&s);
    for (int i = 0; i < N; i++) squares += (x[i] - sum / N) * (x[i] - sum / N);
    for (int i = 0; i < N; i++) {
        int part = i < 113 ? 0 : 1;
        double count = part == 0 ? i + 1 : i - 112;
        sgfsi_moments_add(1, 1 / count, x[i], &mean[part], &ss[part]);
    }
    sgfsi_moments_merge(113, &mean[0], &ss[0], N - 113, mean[1], ss[1]);
    assert_near(mean[0], sum / N, 1e-8, "the mean");
    assert_near(ss[0], squares, 1e-6, "the squares");
    mean[0] = ss[0] = 0; /* a number of weight 3 is three numbers */
    for (int i = 0; i < 3; i++)
        sgfsi_moments_add(i + 1, (i + 1) / (weight += i + 1), x[i], mean, ss);
    double six = (x[0] + 2 * x[1] + 3 * x[2]) / 6;
    assert_near(mean[0], six, 1e-8, "the weighted mean");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_view_on_the_same_scale),
        cmocka_unit_test(test_a_view_on_its_own_scale),
        cmocka_unit_test(test_a_view_without_a_scale),
        cmocka_unit_test(test_a_view_weighs_its_rows),
        cmocka_unit_test(test_a_fair_view_has_rows_from_all_over),
        cmocka_unit_test(test_a_model_on_other_rows_or_with_another_prior),
        cmocka_unit_test(test_words_of_the_target),
        cmocka_unit_test(test_moments_of_parts_are_those_of_the_whole),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
