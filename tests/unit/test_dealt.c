/* SPDX-License-Identifier: MIT
 * test_dealt.c: several processes on packed files draw what one process draws, bit for bit, and
 * each of them looks at the rows of its own share only.
 *
 * The processes are threads here (tools/processes.h), each with maps of its own. Which rows one has
 * looked at is told by the checksums of chunks, which are looked at when a chunk is first touched.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/rng.h"
#include "chain/run.h"
#include "files/packed/packed.h"
#include "model/model.h"
#include "rows/shares.h"
#include "tools/check.h"
#include "tools/processes.h"
#include "tools/unit_prior.h"

enum { P = 3, COLS = P + 1, FILES = 2, MOST = MOST_PROCESSES };
static const int64_t rows_of[FILES] = {41300, 28700}; /* parts of a pass cross from file to file */

static char pattern[64], path[FILES][64];

/* ---- files ----------------------------------------------------------------------------------- */

static void pack(int64_t file) {
    static char *names[] = {"x1", "x2", "x3", "y"};
    static unsigned char roles[] = {SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE,
                                    SGFSI_ROLE_TARGET};
    const sgfsi_table head = {
        .cols = COLS, .names = names, .role = roles, .named = true, .text_col = -1};
    const sgfsi_packer_plan plan = {
        .path = path[file], .overwrite = true, .head = &head, .type = SGFSI_F64, .shuffled = true};
    uint64_t seed = 91 + (uint64_t)file;
    sgfsi_packer *p;
    assert_int_equal(sgfsi_packer_open(&p, &plan, NULL), SGFS_OK);
    for (int64_t i = 0; i < rows_of[file]; i++) {
        double row[COLS], eta = -1.3;
        for (int64_t j = 0; j < P; j++) {
            row[j] = next_normal(&seed);
            eta += (0.41 - 0.27 * (double)j) * row[j];
        }
        row[P] = 0.5 * (next_number(&seed) + 1) < 1 / (1 + exp(-eta)) ? 1 : 0;
        assert_int_equal(sgfsi_packer_add(p, 1, row, NULL), SGFS_OK);
    }
    assert_int_equal(sgfsi_packer_commit(p, NULL), SGFS_OK);
}

static int make_files(void **state) {
    (void)state;
    snprintf(pattern, sizeof pattern, "test_dealt_%d_*.sgd", (int)getpid());
    for (int64_t k = 0; k < FILES; k++) {
        snprintf(path[k], sizeof path[k], "test_dealt_%d_%d.sgd", (int)getpid(), (int)k);
        pack(k);
    }
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    for (int64_t k = 0; k < FILES; k++) remove(path[k]);
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* "sampler.kind=nuts run.draws=30" */
static void set_options(sgfs_config *cfg, const char *options) {
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", options);
    for (char *o = strtok_r(copy, " ", &rest); o != NULL; o = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(o, '=');
        *value++ = '\0';
        assert_int_equal(sgfs_config_set(cfg, o, value, NULL), SGFS_OK);
    }
}

typedef struct process {
    sgfsi_comm comm;
    const char *options;
    sgfs_status status;
    sgfs_err err;
    int64_t chains, draws, D;
    double *theta;          /* malloc'ed: chains x draws x D */
    int64_t looked, astray; /* chunks; of these, those without a row of its own */
} process;

/* Chunks whose checksum was looked at, and whether they have rows of the process's own parts. */
static void count_chunks(process *p, const sgfs_data *d) {
    int64_t parts = sgfsi_parts_of(d->N);
    sgfsi_share mine = sgfsi_comm_share(&p->comm, parts);
    int64_t first = sgfsi_part_first(d->N, parts, mine.first),
            end = sgfsi_part_first(d->N, parts, mine.end);
    for (int64_t k = 0; k < d->table.parts; k++) {
        const sgfsi_part *part = &d->table.part[k];
        for (int64_t c = 0; c < part->packed->chunks; c++) {
            if ((part->packed->seen[c / 8] >> (c % 8) & 1) == 0) continue;
            int64_t from = part->first + c * part->chunk_rows, to = from + part->chunk_rows;
            p->looked++;
            p->astray += from >= end || to <= first;
        }
    }
}

static void *sample(void *user) {
    process *p = user;
    sgfs_config *cfg = unit_prior_config();
    set_options(cfg, "run.chains=2 run.warmup=20 run.draws=25 run.threads=1");
    set_options(cfg, p->options);
    sgfs_data *d = sgfs_data_open(pattern, cfg, &p->err);
    if (d == NULL) fail_msg("%s", p->err.text);
    sgfs_model *m = sgfs_model_open("logistic", d, cfg, &p->err);
    assert_non_null(m);
    m->ctx.comm = &p->comm;
    const char *deal = sgfsi_config_text(cfg, "run.deal");
    assert_int_equal(sgfsi_gatherer_deal(&m->gatherer, m->data, deal, &p->comm, NULL), SGFS_OK);
    sgfs_run *run = sgfs_run_open(m, cfg, &p->err);
    p->status = run != NULL ? sgfs_run_all(run, &p->err) : p->err.code;
    if (run != NULL && p->status == SGFS_OK) p->status = sgfs_run_close(run, &p->err);
    const sgfs_draws *out = run != NULL ? run->out.memory : NULL;
    if (out != NULL) {
        p->chains = sgfs_draws_size(out).chains;
        p->draws = sgfs_draws_size(out).draws;
        p->D = out->D;
        size_t each = (size_t)(p->draws * p->D) * sizeof(double);
        p->theta = malloc((size_t)p->chains * each);
        for (int64_t c = 0; c < p->chains; c++)
            memcpy((char *)p->theta + (size_t)c * each, out->chain[c].theta, each);
    }
    count_chunks(p, d);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
    return NULL;
}

static void together(int64_t size, const char *options, process *p) {
    pthread_t thread[MOST];
    meeting room;
    pthread_barrier_init(&room.barrier, NULL, (unsigned)size);
    for (int64_t k = 0; k < size; k++) {
        p[k] = (process){.options = options};
        p[k].comm = comm_at(k, size, &room);
        assert_int_equal(pthread_create(&thread[k], NULL, sample, &p[k]), 0);
    }
    for (int64_t k = 0; k < size; k++) pthread_join(thread[k], NULL);
    for (int64_t k = 0; k < size; k++) sgfsi_comm_free_room(&p[k].comm);
    pthread_barrier_destroy(&room.barrier);
}

static void free_draws(int64_t size, process *p) {
    for (int64_t k = 0; k < size; k++) free(p[k].theta);
}

/* One process, and 2, 3, 4 and 7 of them. most: chunks that a pilot may look at besides. */
static void assert_the_same(const char *options, int64_t most) {
    static const int64_t sizes[] = {2, 3, 4, 7};
    process one[1], p[MOST];
    together(1, options, one);
    if (one->status != SGFS_OK) fail_msg("%s: %s", options, one->err.text);
    assert_int_equal(one->draws, 25);
    int64_t chunks = one->looked;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t size = sizes[s];
        together(size, options, p);
        for (int64_t k = 0; k < size; k++) {
            if (p[k].status != SGFS_OK) fail_msg("%s: %s", options, p[k].err.text);
            assert_int_equal(p[k].draws, one->draws);
            assert_memory_equal(p[k].theta, one->theta,
                                (size_t)(one->chains * one->draws * one->D) * sizeof(double));
            if (p[k].astray > most)
                fail_msg("%s: process %d of %d looked at %d chunks of rows of others", options,
                         (int)k, (int)size, (int)p[k].astray);
            assert_true(p[k].looked > 0 &&
                        p[k].looked < (most > 100 ? chunks : chunks / size + 64));
        }
        free_draws(size, p);
    }
    free_draws(1, one);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void processes_draw_what_one_draws_from_rows_of_their_own(void **state) {
    static const char *const options[] = {
        "sampler.kind=nuts",
        "sampler.kind=hmc",
        "sampler.kind=exact-hmc run.chains=4",
        "sampler.kind=exact-pairs",
        "sampler.kind=exact-rows sampler.scan=on",
        "sampler.kind=laplace",
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) assert_the_same(options[i], 0);
}

static void so_do_minibatches_of_dealt_rows(void **state) {
    static const char *const options[] = {
        "sampler.kind=sgfs-f run.deal=on run.batch=500",
        "sampler.kind=sgld run.deal=on run.batch_scheme=with",
        "sampler.kind=sgfs-cv run.deal=on run.batch_scheme=without",
        "sampler.kind=sghmc run.deal=on run.batch_scheme=chunks",
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) assert_the_same(options[i], 20);
}

/* A table of all rows, made in a shared pass, from which each process looks rows up as they
 * come. */
static void what_a_pass_leaves_of_each_row_is_known_to_all(void **state) {
    (void)state;
    assert_the_same("sampler.kind=exact-rows sampler.scan=off", INT64_MAX);
    assert_the_same("sampler.kind=exact-rows sampler.scan=off sampler.psi_entries=1000", INT64_MAX);
    assert_the_same("sampler.kind=sgfs-cv sampler.anchor_cache=on", INT64_MAX);
}

/* Only one process ever looks at that chunk. */
static void all_hear_of_a_row_that_one_cannot_read(void **state) {
    static const char *const options[] = {"sampler.kind=sgfs-f run.deal=on", "sampler.kind=hmc"};
    process p[3];
    char *good = path[FILES - 1];
    (void)state;
    FILE *f = fopen(good, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 64 * SGFSI_PAGE + 1001, SEEK_SET), 0);
    int was = fgetc(f);
    assert_int_equal(fseek(f, 64 * SGFSI_PAGE + 1001, SEEK_SET), 0);
    assert_int_equal(fputc(was ^ 1, f), was ^ 1);
    fclose(f);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        together(3, options[i], p);
        for (int64_t k = 0; k < 3; k++) {
            assert_int_equal(p[k].status, SGFS_EDATA);
            assert_non_null(strstr(p[k].err.text, good));
            assert_string_equal(p[k].err.text, p[0].err.text);
        }
        free_draws(3, p);
    }
    pack(FILES - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_draw_what_one_draws_from_rows_of_their_own),
        cmocka_unit_test(so_do_minibatches_of_dealt_rows),
        cmocka_unit_test(what_a_pass_leaves_of_each_row_is_known_to_all),
        cmocka_unit_test(all_hear_of_a_row_that_one_cannot_read),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
