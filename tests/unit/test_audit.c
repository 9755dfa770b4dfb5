/* SPDX-License-Identifier: MIT
 * test_audit.c: moments by batch means against chains whose errors are known; notes in run files
 * that survive what happens to files; audits of a Gaussian posterior, which has no bias to find.
 *
 * Errors from B batches are known to 1/sqrt(2 B): with 4 chains B is 128 to 256, hence 3 to 6 %; 4
 * such errors are 25 % (false-alarm rate 6e-5 each; seeds are fixed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>

#include "base/file.h"
#include "base/rng.h"
#include "diagnostics/batchmeans.h"
#include "diagnostics/normal.h"
#include "diagnostics/summary.h"
#include "jobs/audit/audit.h"
#include "sink/runblock.h"
#include "tools/sample_run.h"
#include "tools/unit_prior.h"

/* ---- batch means ----------------------------------------------------------------------------- */

enum { CHAINS = 4 };

/* Two parameters: an AR(1) with mean 3 and sd 2, and 1e6 - log u, an exponential far from 0. */
static void feed(sgfsi_batchmeans *b, int64_t draws, double rho) {
    double *theta = malloc((size_t)draws * 2 * sizeof *theta);
    double *u = malloc((size_t)draws * sizeof *u);
    assert_non_null(theta);
    assert_non_null(u);
    for (int64_t c = 0; c < CHAINS; c++) {
        sgfsi_stream s = sgfsi_stream_at(2385, (uint32_t)c, 0, SGFSI_NOISE);
        sgfsi_normals(&s, 2 * draws, theta);
        sgfsi_stream t = sgfsi_stream_at(2385, (uint32_t)c, 1, SGFSI_NOISE);
        sgfsi_uniforms(&t, draws, u);
        double x = theta[1]; /* stationary from the start */
        for (int64_t i = 0; i < draws; i++) {
            x = rho * x + sqrt(1 - rho * rho) * theta[2 * i];
            theta[2 * i] = 3 + 2 * x;
            theta[2 * i + 1] = 1e6 - log(u[i]);
        }
        /* in pieces of any length */
        for (int64_t at = 0, n = 1; at < draws; at += n, n = n * 3 + 1) {
            int64_t left = draws - at;
            sgfsi_batchmeans_add(b, c, n < left ? n : left, theta + 2 * at);
        }
    }
    free(theta);
    free(u);
}

static void test_errors_are_those_of_theory(void **state) {
    (void)state;
    const double rho = 0.8, T = 4.0 * 40000, tau = (1 + rho) / (1 - rho);
    const double tau2 = (1 + rho * rho) / (1 - rho * rho); /* of the squares */
    sgfsi_arena arena = {NULL};
    sgfsi_batchmeans *b = sgfsi_batchmeans_new(&arena, CHAINS, 2);
    sgfsi_estimate e[2];
    assert_non_null(b);
    feed(b, 40000, rho);
    sgfsi_batchmeans_estimate(b, e);
    assert_true(sgfsi_batchmeans_batches(b) >= 32 * CHAINS);
    double mean_error = 2 * sqrt(tau / T), sd_error = sqrt(tau2 / (2 * T));
    assert_true(fabs(e[0].mean_error / mean_error - 1) < 0.25);
    assert_true(fabs(e[0].sd_error / sd_error - 1) < 0.25);
    assert_true(fabs(e[0].mean - 3) < 4 * mean_error);
    assert_true(fabs(log(e[0].sd / 2)) < 4 * sd_error);
    /* an exponential: mean = sd = 1, fourth central moment 9: Var(s^2) = (9 - 1)/T */
    assert_true(fabs(e[1].mean_error * sqrt(T) - 1) < 0.25);
    assert_true(fabs(e[1].sd_error / (sqrt(8 / T) / 2) - 1) < 0.25);
    assert_true(fabs(e[1].mean - 1e6 - 1) < 4 / sqrt(T));
    assert_true(fabs(log(e[1].sd)) < 4 * sqrt(8 / T) / 2);
    sgfsi_arena_free(&arena);
}

/* 500 draws of a chain with tau 200 are worth ten in all: batches of 4 to 8 draws do not know, and
 * say a tenth of the error; groups of them find out most of it. */
static void test_batches_that_are_too_short_are_found_out(void **state) {
    (void)state;
    const double rho = 0.99, tau = 199, T = 4.0 * 500;
    sgfsi_arena arena = {NULL};
    sgfsi_batchmeans *b = sgfsi_batchmeans_new(&arena, CHAINS, 2);
    sgfsi_estimate e[2];
    assert_non_null(b);
    feed(b, 500, rho);
    sgfsi_batchmeans_estimate(b, e);
    double right = 2 * sqrt(tau / T);
    assert_true(e[0].mean_error > 0.35 * right && e[0].mean_error < 2 * right);
    assert_true(e[1].mean_error > 1.5 / sqrt(T)); /* the ratio is one for all parameters */
    sgfsi_arena_free(&arena);
}

static void test_too_few_draws_are_not_a_number(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfsi_batchmeans *b = sgfsi_batchmeans_new(&arena, 1, 1);
    sgfsi_estimate e;
    const double one = 2.385;
    assert_non_null(b);
    sgfsi_batchmeans_add(b, 0, 1, &one);
    sgfsi_batchmeans_estimate(b, &e);
    assert_true(isnan(e.mean_error));
    sgfsi_arena_free(&arena);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static const char path[] = "test_audit.run", cut_path[] = "test_audit_cut.run";
static const char first[] = "{\"brief\": \"first\", \"x\": [1.5, 2]}",
                  second[] = "{\"brief\": \"second\"}";

static void write_run(void) {
    sgfsi_json *header = sample_header("dense_e");
    sgfsi_runfile *f = sgfsi_runfile_create(path, true, header, NULL);
    sgfsi_json_free(header);
    assert_non_null(f);
    assert_int_equal(put_sample_draws(f, 0, 0, 5, NULL), SGFS_OK);
    assert_int_equal(put_sample_draws(f, 2, 0, 6, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_end(f, "complete", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
}

static size_t size_of(const char *name) {
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return (size_t)st.st_size;
}

static void write_bytes(const char *bytes, size_t count) {
    FILE *f = fopen(cut_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

/* All draws, "complete", and this audit ("": none). */
static void check_run(const char *name, const char *brief) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_draws *d = sgfs_draws_open(name, &err);
    assert_string_equal(err.text, "");
    assert_non_null(d);
    assert_int_equal(d->chain[0].draws, 5);
    assert_int_equal(d->chain[2].draws, 6);
    assert_string_equal(d->state, "complete");
    assert_string_equal(sgfsi_json_get_text(d->audit, "brief", ""), brief);
    sgfs_draws *copy = sgfsi_draws_copy(d, &err);
    assert_non_null(copy);
    assert_string_equal(sgfsi_json_get_text(copy->audit, "brief", ""), brief);
    sgfs_draws_free(copy);
    sgfs_draws_free(d);
}

static int remove_files(void **state) {
    (void)state;
    unlink(path);
    unlink(cut_path);
    return 0;
}

static void test_cut_at_every_byte(void **state) {
    (void)state;
    write_run();
    size_t bare = size_of(path), length;
    check_run(path, "");
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, first, NULL), SGFS_OK);
    size_t once = size_of(path);
    check_run(path, "first");
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, second, NULL), SGFS_OK);
    check_run(path, "second");
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, NULL);
    assert_non_null(bytes);
    assert_memory_equal(bytes + bare, "SGNT",
                        4); /* no block's: what reads blocks only, ends here */
    for (size_t n = bare; n <= length; n++) {
        write_bytes(bytes, n);
        check_run(cut_path, n < once ? "" : n < length ? "first" : "second");
    }
    free(bytes);
}

/* In the last note: as if it had never been finished. In one with another behind it, or before the
 * notes: damage. */
static void test_flipped_at_every_byte(void **state) {
    (void)state;
    write_run();
    size_t bare = size_of(path), length;
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, first, NULL), SGFS_OK);
    size_t once = size_of(path);
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, second, NULL), SGFS_OK);
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, NULL);
    assert_non_null(bytes);
    for (size_t i = bare - 40; i < length; i++) {
        bytes[i] ^= 4;
        write_bytes(bytes, length);
        sgfs_err err = {SGFS_OK, ""};
        sgfs_draws *d = sgfs_draws_open(cut_path, &err);
        if (i < once) {
            assert_null(d);
            assert_int_equal(err.code, SGFS_ERUNFILE);
        } else {
            sgfs_draws_free(d);
            check_run(cut_path, "first");
        }
        bytes[i] ^= 4;
    }
    free(bytes);
}

/* The torn end goes, and nothing else; a note cannot follow it. */
static void test_a_note_behind_a_torn_end(void **state) {
    (void)state;
    write_run();
    size_t length;
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, NULL);
    assert_non_null(bytes);
    size_t end = SGFSI_BLOCK_HEAD + strlen("complete") + SGFSI_CRC_BYTES;
    size_t draws = SGFSI_BLOCK_HEAD + 6 * (RUN_D + RUN_S) * 8 + SGFSI_CRC_BYTES;
    write_bytes(bytes, length - end - 3); /* the last block of draws is torn */
    free(bytes);
    assert_int_equal(sgfsi_runfile_note(cut_path, SGFSI_NOTE_AUDIT, first, NULL), SGFS_OK);
    assert_int_equal(size_of(cut_path),
                     length - end - draws + SGFSI_BLOCK_HEAD + strlen(first) + SGFSI_CRC_BYTES);
    sgfs_draws *d = sgfs_draws_open(cut_path, NULL);
    assert_non_null(d);
    assert_string_equal(d->state, "unfinished");
    assert_int_equal(d->chain[0].draws, 5);
    assert_int_equal(d->chain[2].draws, 0);
    assert_string_equal(sgfsi_json_get_text(d->audit, "brief", ""), "first");
    sgfs_draws_free(d);
}

static void test_notes_of_other_kinds_are_passed_over(void **state) {
    (void)state;
    write_run();
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, first, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE | 77u, "anything at all", NULL), SGFS_OK);
    check_run(path, "first");
}

static void test_an_audit_that_is_no_object_is_damage(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    write_run();
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, "[1]", NULL), SGFS_OK);
    assert_null(sgfs_draws_open(path, &err));
    assert_int_equal(err.code, SGFS_ERUNFILE);
    assert_non_null(strstr(err.text, "damaged at byte"));
}

static void test_a_run_that_is_being_written_is_left_alone(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    write_run();
    size_t bare = size_of(path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(sgfsi_runfile_note(path, SGFSI_NOTE_AUDIT, first, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "another process is writing this run"));
    close(fd);
    assert_int_equal(size_of(path), bare);
    assert_int_equal(sgfsi_runfile_note("absent.run", SGFSI_NOTE_AUDIT, first, &err), SGFS_EIO);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Tables of the t distribution (Fisher and Yates): two-sided 1 % for 1, 2, 5 and 30 degrees of
 * freedom, one-sided 0.0005 for 10; many: the normal's. */
static void test_quantiles_of_t(void **state) {
    (void)state;
    const struct {
        double p, t;
        int64_t freedom;
    } known[] = {{0.005, 63.6567, 1},  {0.005, 9.92484, 2},   {0.005, 4.03214, 5},
                 {0.005, 2.75000, 30}, {0.0005, 4.58689, 10}, {0.005, 2.5758293, INT64_MAX}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double t = sgfsi_student_beyond(known[i].p, known[i].freedom);
        assert_true(fabs(t / known[i].t - 1) < 2e-6);
    }
    /* two degrees of freedom have a closed form: t = (1 - 2 p) sqrt(2 / (4 p (1 - p))) */
    for (double p = 0.4; p > 1e-8; p /= 7) {
        double t = (1 - 2 * p) * sqrt(2 / (4 * p * (1 - p)));
        assert_true(fabs(sgfsi_student_beyond(p, 2) / t - 1) < 1e-6);
    }
    assert_true(isnan(sgfsi_student_beyond(0.01, 0)) && isnan(sgfsi_student_beyond(0.6, 5)));
}

enum { WIDE = 5, FEW = 1 };

/* An audit whose chains are AR(1) with mean `shift` (in sd) for h, and 0 for the others. */
typedef struct fake {
    sgfsi_audit a;
    sgfs_draws run;
    char *names[WIDE];
} fake;

static void make_fake(fake *f, bool exact) {
    static char name[] = "p";
    *f = (fake){.a = {.way = SGFSI_AUDIT_STEP, .sampler = "sgfs-cv", .h = 1, .exact = exact}};
    f->a.limit = NAN;
    f->a.job.cfg = unit_prior_config();
    f->a.run = &f->run;
    f->run.D = WIDE;
    f->run.param = f->names;
    f->run.header = sgfsi_json_object();
    for (int j = 0; j < WIDE; j++) f->names[j] = name;
    for (int i = 0; i < SGFSI_REFERENCES; i++)
        f->a.reference[i].estimate =
            sgfsi_arena_alloc(&f->a.job.arena, WIDE, sizeof(sgfsi_estimate));
}

static void free_fake(fake *f) {
    sgfsi_json_free(f->run.header);
    sgfs_config_free(f->a.job.cfg);
    sgfsi_arena_free(&f->a.job.arena);
}

/* `effective` draws in all of every kind. True: enough, by the chains themselves. */
static bool fill_fake(fake *f, uint64_t seed, double effective, double shift) {
    static const double step[SGFSI_REFERENCES] = {1, 0.5, 0.25, 0.8};
    bool enough = true;
    for (int i = 0; i < SGFSI_REFERENCES; i++) {
        if (f->a.exact != (i == SGFSI_REFERENCE_EXACT) && i > 0) continue;
        double rho = 1 - step[i], theta[WIDE], z[WIDE];
        int64_t draws = (int64_t)(effective * (2 - step[i]) / step[i] / FEW);
        sgfsi_arena arena = {NULL};
        sgfsi_batchmeans *b = sgfsi_batchmeans_new(&arena, FEW, WIDE);
        for (int64_t c = 0; c < FEW; c++) {
            sgfsi_stream s = sgfsi_stream_at(seed, (uint32_t)(c + FEW * i), 0, SGFSI_NOISE);
            sgfsi_normals(&s, WIDE, z);
            for (int64_t t = 0; t < draws; t++) {
                double fresh[WIDE];
                sgfsi_normals(&s, WIDE, fresh);
                for (int j = 0; j < WIDE; j++) {
                    z[j] = rho * z[j] + sqrt(1 - rho * rho) * fresh[j];
                    theta[j] = z[j] + (i == 0 ? shift : 0);
                }
                sgfsi_batchmeans_add(b, c, 1, theta);
            }
        }
        enough = sgfsi_reference_chain_estimate(&f->a.reference[i], b) && enough;
        sgfsi_arena_free(&arena);
    }
    return enough;
}

static int64_t count_alarms(bool exact, double effective, int64_t audits, int64_t *said) {
    int64_t alarms = 0;
    *said = 0;
    for (int64_t k = 0; k < audits; k++) {
        fake f;
        make_fake(&f, exact);
        if (fill_fake(&f, (uint64_t)(k + 1), effective, 0)) {
            assert_int_equal(sgfsi_audit_report(&f.a, NULL), SGFS_OK);
            alarms += f.a.report.mean_differs || f.a.report.sd_differs;
            ++*said;
        }
        free_fake(&f);
    }
    return alarms;
}

/* ---- audits through the interface ------------------------------------------------------------ */

enum { ROWS = 200 };

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfs_config_set(cfg, key, value, &err), SGFS_OK);
}

/* y = 1 + x + 0.7 noise, sigma known: the posterior is Gaussian. */
static sgfs_data *make_data(double *x, double *y, const sgfs_config *cfg) {
    sgfsi_stream s = sgfsi_stream_at(717, 0, 0, SGFSI_NOISE);
    sgfsi_normals(&s, ROWS, x);
    sgfsi_normals(&s, ROWS, y);
    for (int i = 0; i < ROWS; i++) y[i] = 1 + x[i] + 0.7 * y[i];
    const sgfs_arrays arrays = {.rows = ROWS, .cols = 1, .x = x, .y = y};
    return sgfs_data_wrap(&arrays, cfg, NULL);
}

/* 32 audits, each with a false-alarm rate of 1 in 100: three alarms or more have a chance of 0.4 %,
 * and the seeds are fixed. 68 % of 128 intervals of one error have the true 0 inside: 87 +- 5.3,
 * and 4 of these are allowed either way (6e-5). */
static void test_a_gaussian_posterior_raises_no_alarm(void **state) {
    (void)state;
    static double x[ROWS], y[ROWS];
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    set(cfg, "model.sigma", "0.7");
    set(cfg, "sampler.kind", "sgfs-cv");
    set(cfg, "run.draws", "50");
    set(cfg, "output.overwrite", "true");
    set(cfg, "run.threads", "1");
    sgfs_data *data = make_data(x, y, cfg);
    sgfs_model *model = sgfs_model_open("linear", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    assert_int_equal(sgfs_run_attach(run, path, &err), SGFS_OK);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_run_free(run);
    int alarms = 0, inside = 0, all = 0;
    sgfs_config *own = unit_prior_config();
    set(own, "audit.precision", "0.05");
    set(own, "run.threads", "1");
    for (int seed = 1; seed <= 32; seed++) {
        sgfsi_config_set_num(own, "run.seed", seed, NULL);
        if (seed > 16) set(own, "audit.exact", "false"); /* half of them extrapolated */
        sgfs_job *audit = sgfs_audit_open(path, model, NULL, own, &err);
        assert_null(sgfs_job_result(audit));
        assert_int_equal(sgfs_job_run(audit, &err), SGFS_OK);
        const sgfs_audit_report *r = sgfs_job_result(audit);
        assert_true(r->needed && r->exact == (seed <= 16) && r->columns == 3 && r->dim == 2);
        alarms += r->mean_differs || r->sd_differs;
        for (int64_t j = 0; j < r->dim; j++) {
            const sgfs_audit_change *c = &r->row[j].change[2];
            inside += (fabs(c->mean) < c->mean_error) + (fabs(c->sd) < c->sd_error);
            all += 2;
        }
        assert_int_equal(sgfs_job_save(audit, NULL, &err), SGFS_OK);
        sgfs_job_free(audit);
    }
    assert_true(alarms <= 2);
    assert_int_equal(all, 128);
    assert_true(inside >= 66 && inside <= 108);
    sgfs_draws *d = sgfs_draws_open(path, &err);
    sgfs_summary *s = sgfsi_summary_new(d, 2, &err);
    assert_non_null(s);
    assert_non_null(strstr(s->audit.brief, "extrapolated to h = 0"));
    assert_false(s->audit.exact);
    sgfsi_summary_free(s);
    sgfs_draws_free(d);
    /* arrays cannot be opened again */
    assert_null(sgfs_audit_open(path, NULL, NULL, own, &err));
    assert_non_null(strstr(err.text, "(arrays)"));
    sgfs_config_free(own);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* Errors of one chain of 500 effective draws are known from 32 to 63 batches. Of 1,000 audits of a
 * faultless sampler 1 in 100 may raise an alarm: 10 +- 3.1, and more than 20 have a chance of 0.1 %
 * (seeds are fixed). */
static void test_short_chains_keep_the_rate_of_false_alarms(void **state) {
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        int64_t said, alarms = count_alarms(exact, 500, 1000, &said);
        print_message("%d alarms in %d audits\n", (int)alarms, (int)said);
        assert_true(said > 500 && alarms <= 20);
    }
}

/* Below 200 effective draws there is nothing to judge by, whatever the batches say. */
static void test_too_few_draws_are_not_enough(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        fake f;
        make_fake(&f, seed % 2 == 0);
        assert_false(fill_fake(&f, seed, seed < 50 ? 15 : 120, 0));
        free_fake(&f);
    }
}

/* Errors of 0.14 sd do not exclude a bias that matters; those of 0.03 do; 1 sd is found by
 * both. 32 to 63 batches have 31 to 62 degrees of freedom: z is 3.45 to 3.63, not the normal's
 * 3.29. */
static void test_nothing_found_needs_a_meaningful_error(void **state) {
    (void)state;
    const struct {
        double effective, shift;
        const char *verdict;
    } cases[] = {{500, 0, "Too imprecise to say: errors are up to 0.1"},
                 {8000, 0, "No bias found: "},
                 {500, 1, "Biased: "},
                 {8000, 1, "Biased: "}};
    for (int i = 0; i < 4; i++) {
        fake f;
        make_fake(&f, cases[i].shift > 0); /* extrapolated, or exact */
        assert_true(fill_fake(&f, 7, cases[i].effective, cases[i].shift));
        assert_int_equal(sgfsi_audit_report(&f.a, NULL), SGFS_OK);
        assert_non_null(strstr(f.a.report.verdict, cases[i].verdict));
        assert_true(f.a.report.z > 3.4 && f.a.report.z < 3.7);
        bool doubtful = strstr(f.a.report.brief, "too imprecise to say more") != NULL;
        assert_int_equal(doubtful, i == 0);
        free_fake(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_are_those_of_theory),
        cmocka_unit_test(test_batches_that_are_too_short_are_found_out),
        cmocka_unit_test(test_too_few_draws_are_not_a_number),
        cmocka_unit_test(test_quantiles_of_t),
        cmocka_unit_test(test_short_chains_keep_the_rate_of_false_alarms),
        cmocka_unit_test(test_too_few_draws_are_not_enough),
        cmocka_unit_test(test_nothing_found_needs_a_meaningful_error),
        cmocka_unit_test_teardown(test_cut_at_every_byte, remove_files),
        cmocka_unit_test_teardown(test_flipped_at_every_byte, remove_files),
        cmocka_unit_test_teardown(test_a_note_behind_a_torn_end, remove_files),
        cmocka_unit_test_teardown(test_notes_of_other_kinds_are_passed_over, remove_files),
        cmocka_unit_test_teardown(test_an_audit_that_is_no_object_is_damage, remove_files),
        cmocka_unit_test_teardown(test_a_run_that_is_being_written_is_left_alone, remove_files),
        cmocka_unit_test_teardown(test_a_gaussian_posterior_raises_no_alarm, remove_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
