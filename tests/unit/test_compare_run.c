/* SPDX-License-Identifier: MIT
 * test_compare_run.c: a run compared with another run, through run files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "diagnostics/summary.h"
#include "sink/runfile.h"

enum { CHAINS = 2, DRAWS = 300, THIN = 3 };
static const char run_path[] = "test_compare_run_1.sgfs", ref_path[] = "test_compare_run_2.sgfs";

static sgfsi_json *make_header(const char *first, const char *second) {
    sgfsi_json *h = sgfsi_json_object(), *params = sgfsi_json_array(), *stats = sgfsi_json_array();
    sgfsi_json *block = sgfsi_json_object(), *blocks = sgfsi_json_array();
    sgfsi_json_text(params, NULL, first);
    sgfsi_json_text(params, NULL, second);
    sgfsi_json_text(stats, NULL, "lp");
    sgfsi_json_text(block, "name", "beta");
    sgfsi_json_int(block, "rows", 1);
    sgfsi_json_int(block, "cols", 2);
    sgfsi_json_put(blocks, NULL, block);
    sgfsi_json_int(h, "format", 1);
    sgfsi_json_int(h, "chains", CHAINS);
    sgfsi_json_int(h, "dim", 2);
    sgfsi_json_int(h, "thin", THIN);
    sgfsi_json_put(h, "params", params);
    sgfsi_json_put(h, "stats", stats);
    sgfsi_json_put(h, "blocks", blocks);
    return h;
}

/* Independent draws: the parameter `wide` (0 or 1) has sd 2, the other 1; mean `shift` for both. */
static void write_run(const char *path, sgfsi_json *header, int wide, double shift) {
    double theta[DRAWS * 2], stats[DRAWS] = {0.0};
    sgfsi_runfile *f = sgfsi_runfile_create(path, true, header, NULL);
    assert_non_null(f);
    for (int64_t c = 0; c < CHAINS; c++) {
        sgfsi_stream s = sgfsi_stream_at(717, (uint32_t)(c + 10 * wide), 0, SGFSI_NOISE);
        sgfsi_normals(&s, (int64_t)DRAWS * 2, theta);
        for (int i = 0; i < 2 * DRAWS; i++)
            theta[i] = theta[i] * (i % 2 == wide ? 2.0 : 1.0) + shift;
        assert_int_equal(sgfsi_runfile_draws(f, c, 0, DRAWS, theta, stats, NULL), SGFS_OK);
    }
    assert_int_equal(sgfsi_runfile_end(f, "complete", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
    sgfsi_json_free(header);
}

static sgfs_compare *compare_files(sgfs_err *err) {
    sgfs_draws *draws = sgfs_draws_open(run_path, err);
    assert_non_null(draws);
    sgfs_compare *c = sgfsi_compare_new(draws, ref_path, 2, err);
    sgfs_draws_free(draws);
    return c;
}

static int remove_files(void **state) {
    (void)state;
    unlink(run_path);
    unlink(ref_path);
    return 0;
}

static void test_a_run_agrees_with_itself(void **state) {
    (void)state;
    write_run(run_path, make_header("b", "a"), 0, 5.0);
    write_run(ref_path, make_header("b", "a"), 0, 5.0);
    sgfs_compare *c = compare_files(NULL);
    assert_non_null(c);
    assert_true(c->E1 == 0.0 && c->E2 == 0.0 && c->row[0].z == 0.0);
    /* it is no other run, and its inverse is taken for one that is too large by n/(n - D - 1) */
    double n = 2 / c->trR_noise / c->trR_noise; /* noise^2 = 2 (1/n + 1/n)/D, D = 2 */
    assert_true(fabs(c->trR - (1 - 3 / n)) < 1e-12);
    sgfsi_compare_free(c);
}

/* Same law, names the other way round: off by no more than both runs' noise. Thinned draws without
 * running moments, so that 600 draws are what both covariances are made of. */
static void test_runs_are_matched_by_name(void **state) {
    (void)state;
    write_run(run_path, make_header("b", "a"), 0, 5.0);
    write_run(ref_path, make_header("a", "b"), 1, 5.0);
    sgfs_compare *c = compare_files(NULL);
    assert_non_null(c);
    assert_string_equal(c->row[0].name, "b");
    assert_true(fabs(c->row[0].reference_sd - 2.0) < 0.25 &&
                fabs(c->row[1].reference_sd - 1.0) < 0.15);
    assert_true(fabs(c->row[0].z) < 4.0 && fabs(c->row[1].z) < 4.0);
    assert_true(fabs(c->trR - 1.0) < 4.0 * c->trR_noise);
    /* two runs of 600 independent draws of 2 parameters: sqrt(2 (1/600 + 1/600) / 2), ESS is noisy
     */
    assert_true(c->trR_noise > 0.05 && c->trR_noise < 0.07);
    assert_true(c->E2 < 4.0 * c->E2_noise && c->E1 < 4.0 * c->E1_noise);
    assert_true(c->true_total == 0);
    sgfsi_compare_free(c);
}

static void test_a_run_of_another_model_is_refused(void **state) {
    (void)state;
    sgfs_err err = {0};
    write_run(run_path, make_header("b", "a"), 0, 5.0);
    write_run(ref_path, make_header("a", "sigma"), 1, 5.0);
    assert_null(compare_files(&err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "the reference lacks \"b\"; the run lacks \"sigma\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_run_agrees_with_itself, remove_files),
        cmocka_unit_test_teardown(test_runs_are_matched_by_name, remove_files),
        cmocka_unit_test_teardown(test_a_run_of_another_model_is_refused, remove_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
