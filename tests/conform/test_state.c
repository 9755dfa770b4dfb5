/* SPDX-License-Identifier: MIT
 * test_state.c: a chain that was saved and loaded goes on as if nothing had happened, whatever the
 * sampler and wherever it was: in warm-up, where warm-up ends, and among the draws.
 *
 * For every name in the sampler table, and for settings that give a sampler other state: a run is
 * stopped after t iterations and saved to memory; the memory is loaded into a run that was opened
 * afresh; that run goes on to the end. Its draws, statistics and points of validation are compared
 * with those of a run that was never stopped, and so is everything that sgfsi_run_fields lists, at
 * the end: bit for bit, times of the clock aside.
 *
 * The list itself is tested by leaving out one field after the other: what nobody misses in any of
 * the cases need not be listed, or the cases are too few to see it.
 */
#include <stdio.h>
#include <unistd.h>

#include "chain/run.h"
#include "chain/state.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { ROWS = 240, WARMUP = 160, DRAWS = 110, MOST_NAMES = 1000, SETTINGS = 8 };

static char rows_file[] = "/tmp/sgfs_state_XXXXXX.csv", aside_file[] = "/tmp/sgfs_state_XXXXXX.csv";

typedef struct stage {
    const char *name, *model;
    const char *settings[2 * SETTINGS];
} stage;

#define SGFS "run.batch", "60"
static const stage stages[] = {
    /* one for every name */
    {"sgfs-f", "logistic", {SGFS}},
    {"sgfs-d", "logistic", {SGFS}},
    {"sgfs-b", "logistic", {SGFS, "fisher.block_size", "2"}},
    {"sgfs", "logistic", {SGFS, "fisher.kind", "diag"}},
    {"exact-rows", "logistic", {NULL}},
    {"exact", "logistic", {NULL}},
    {"exact-pairs", "logistic", {NULL}},
    {"exact-hmc", "logistic", {NULL}},
    {"exact-linear", "linear", {NULL}},
    {"groups", "logistic", {"data.effects", "(1 + a | c)", "sampler.keep_groups", "20"}},
    {"sgfs-cv", "logistic", {SGFS}},
    {"nuts", "logistic", {NULL}},
    {"hmc", "logistic", {NULL}},
    {"laplace", "logistic", {NULL}},
    {"sgld", "logistic", {SGFS, "sampler.epsilon", "1e-4"}},
    {"psgld", "logistic", {SGFS, "sampler.epsilon", "1e-5"}},
    {"sghmc", "logistic", {SGFS, "sampler.epsilon", "1e-4"}},
    {"sgnht", "logistic", {SGFS, "sampler.epsilon", "1e-4", "sampler.cycles", "2"}},
    {"sgd", "logistic", {SGFS, "sampler.epsilon", "1e-4"}},
    {"gauss", "logistic", {NULL}},
    /* other state of the same samplers */
    {"sgfs-f", "linear", {SGFS, "fisher.update", "cholesky", "fisher.every", "3"}},
    {"sgfs-f",
     "logistic",
     {SGFS, "fisher.update", "woodbury", "sampler.alpha", "0", "sampler.warmup_alpha", "0"}},
    {"sgfs-f", "logistic", {SGFS, "sampler.b", "diagonal", "sampler.alpha", "1.5"}},
    {"sgfs-f", "logistic", {SGFS, "sampler.anneal", "linear", "sampler.b", "identity"}},
    {"sgfs-f",
     "linear",
     {SGFS, "fisher.fade", "true", "fisher.ridge", "0.01", "fisher.every", "4"}},
    {"sgfs-f", "logistic", {SGFS, "sampler.cycles", "3", "fisher.freeze", "50"}},
    {"sgfs-f", "linear", {SGFS, "sampler.warmup_by", "scores", "run.batch_scheme", "without"}},
    {"sgfs-d", "softmax", {SGFS, "fisher.kappa", "forget", "run.validate", aside_file}},
    {"sgfs-d", "mlp", {SGFS, "model.hidden", "2", "fisher.every", "5"}},
    {"exact-rows", "linear", {NULL}},
    {"exact-pairs", "softmax", {"run.warmup", "150", "run.draws", "200"}},
    {"exact-rows", "logistic", {"sampler.rho", "0.5", "run.validate", aside_file}},
    {"exact-hmc", "linear", {"run.chains", "3", "run.validate", aside_file}},
    {"sgfs-cv", "linear", {SGFS, "sampler.step", "0.4", "sampler.reanchor_at", "0.3"}},
    {"sgfs-cv",
     "logistic",
     {SGFS, "sampler.noise_matrix", "diag", "sampler.reanchor_at", "0.3", "sampler.step", "0.3"}},
    {"sgfs-cv",
     "logistic",
     {SGFS, "fisher.kind", "block", "fisher.block_size", "2", "sampler.reanchor_at", "0.3",
      "sampler.step", "0.5"}},
    {"sgfs-cv",
     "linear",
     {"run.batch", "12", "sampler.anchor_cache", "off", "fisher.window", "3"}}, /* steps shrink */
    {"sgfs-cv", "logistic", {SGFS, "sampler.curvature", "scores", "fisher.kind", "diag"}},
    {"sgfs-cv",
     "logistic",
     {"run.batch", "12", "fisher.ridge", "0.05", "sampler.reanchor_at", "0.3"}},
    {"sgfs-cv", "logistic", {"run.batch", "6", "sampler.step", "0.93"}},
    {"laplace", "logistic", {"run.draws", "2600"}},
    {"nuts", "linear", {"sampler.metric", "fisher", "run.validate", aside_file}},
    {"nuts", "logistic", {"sampler.metric", "diag", "sampler.epsilon", "0.05"}},
    {"hmc", "logistic", {"sampler.metric", "identity", "sampler.leapfrog", "3"}},
    {"psgld", "linear", {SGFS, "sampler.epsilon", "1e-5", "sampler.cycles", "2"}},
    {"sghmc",
     "linear",
     {SGFS, "sampler.epsilon", "1e-4", "sampler.noise_estimate", "scores", "sampler.cycles", "2"}},
    {NULL, NULL, {NULL}},
};

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct session {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
} session;

static void write_rows(char *path, int64_t N, uint64_t seed, const char *target) {
    int fd = mkstemps(path, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(f);
    fprintf(f, "a,b,c,%s\n", target);
    for (int64_t i = 0; i < N; i++) {
        double a = next_normal(&seed), b = 0.5 * a + next_normal(&seed), c = next_normal(&seed);
        fprintf(f, "%.6f,%.6f,%.6f,%d\n", a, b, c, 0.8 * a - 0.5 * c + next_normal(&seed) > 0.2);
    }
    fclose(f);
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static session open_session(const stage *is) {
    char room[32];
    sgfs_err err;
    session s = {.cfg = unit_prior_config()};
    set(s.cfg, "data.target", "y");
    set(s.cfg, "sampler.kind", is->name);
    snprintf(room, sizeof room, "%d", WARMUP);
    set(s.cfg, "run.warmup", room);
    snprintf(room, sizeof room, "%d", DRAWS);
    set(s.cfg, "run.draws", room);
    set(s.cfg, "run.thin", "1");
    set(s.cfg, "run.chains", "2");
    set(s.cfg, "run.threads", "1");
    if (strcmp(is->model, "linear") == 0) set(s.cfg, "model.sigma", "0.7");
    for (int k = 0; k < SETTINGS && is->settings[2 * k] != NULL; k++)
        set(s.cfg, is->settings[2 * k], is->settings[2 * k + 1]);
    s.data = sgfs_data_open(rows_file, s.cfg, &err);
    s.model = s.data != NULL ? sgfs_model_open(is->model, s.data, s.cfg, &err) : NULL;
    if (s.model == NULL) fail_msg("%s %s: %s", is->name, is->model, err.text);
    return s;
}

static void close_session(session *s) {
    sgfs_model_free(s->model);
    sgfs_data_free(s->data);
    sgfs_config_free(s->cfg);
}

static sgfs_run *open_run(const session *s) {
    sgfs_err err;
    sgfs_run *run = sgfs_run_open(s->model, s->cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    return run;
}

static void advance(sgfs_run *run, int64_t iterations) {
    sgfs_err err;
    if (sgfs_run_step(run, iterations, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* What the clock says and what the disk did is nobody's bits. */
static bool is_time(const char *name) {
    const char *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;
    return strstr(last, "seconds") != NULL || strcmp(last, "faults") == 0 ||
           strncmp(last, "disk_", 5) == 0;
}

static size_t bytes_of(const sgfsi_field *f) {
    const size_t each[] = {sizeof(double), sizeof(int64_t), sizeof(int), sizeof(bool), 1};
    return (size_t)f->count * each[f->type];
}

/* A run's state after t iterations, and the draws and points that it had handed over by then. */
typedef struct checkpoint {
    void *saved;
    size_t bytes;
    int64_t t, draws, points;
} checkpoint;

/* The first thing in which they differ, or NULL; b went on from p. */
static const char *difference(sgfs_run *a, sgfs_run *b, const checkpoint *p) {
    int64_t from = p->draws;
    static char name[SGFSI_FIELD_NAME];
    sgfsi_fields one = {0}, other = {0};
    sgfsi_run_fields(a, &one);
    sgfsi_run_fields(b, &other);
    assert_false(one.failed || other.failed);
    const char *found = one.count == other.count ? NULL : "the number of fields";
    for (int64_t i = 0; found == NULL && i < one.count; i++) {
        const sgfsi_field *f = &one.field[i], *g = &other.field[i];
        bool same = strcmp(f->name, g->name) == 0 && f->count == g->count &&
                    (is_time(f->name) || memcmp(f->at, g->at, bytes_of(f)) == 0);
        if (!same) found = strcpy(name, f->name);
    }
    for (int64_t c = 0; found == NULL && c < a->plan.chains; c++) {
        const sgfsi_chain_draws *x = &a->out.memory->chain[c], *y = &b->out.memory->chain[c];
        int64_t D = a->model->D, S = a->chain[c].S, skipped = p->points;
        if (x->draws - from != y->draws || x->points - skipped != y->points)
            found = "the number of draws or points";
        else if (y->draws > 0 && memcmp(x->theta + from * D, y->theta,
                                        (size_t)(y->draws * D) * sizeof(double)) != 0)
            found = "draws";
        else if (y->draws > 0 && memcmp(x->stats + from * S, y->stats,
                                        (size_t)(y->draws * S) * sizeof(double)) != 0)
            found = "statistics";
        for (int64_t i = 0; found == NULL && i < y->points * SGFSI_POINT; i++) {
            bool clock = i % SGFSI_POINT == SGFSI_POINT_SECONDS;
            const double *was = x->curve + skipped * SGFSI_POINT + i;
            if (!clock && memcmp(was, y->curve + i, sizeof *was) != 0)
                found = "points of validation";
        }
    }
    sgfsi_fields_free(&one);
    sgfsi_fields_free(&other);
    return found;
}

/* ---- every sampler, anywhere ----------------------------------------------------------------- */

static const int64_t stops[] = {0, 1, 80, 95, 105, WARMUP - 1, WARMUP, WARMUP + 1};

enum { STOPS = 10 };

/* Among the draws, and at the end, too. */
static int64_t stop_at(const sgfs_run *run, int k) {
    int64_t draws = run->plan.draws;
    return k < STOPS - 2 ? stops[k] : WARMUP + (k == STOPS - 2 ? draws * 7 / 8 : draws);
}

/* Taken up by a fresh run, to the end; without: a field that is not loaded, or NULL. */
static sgfs_run *resumed(const session *s, const checkpoint *p, const char *without) {
    sgfs_err err;
    sgfs_run *run = open_run(s);
    sgfsi_fields fresh = {0}, loaded = {0};
    sgfsi_run_fields(run, &fresh);
    const sgfsi_field *was = without != NULL ? sgfsi_fields_find(&fresh, without) : NULL;
    void *kept = was != NULL ? malloc(bytes_of(was) + 1) : NULL;
    if (kept != NULL) memcpy(kept, was->at, bytes_of(was));
    if (sgfsi_state_load(run, p->saved, p->bytes, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfsi_run_fields(run, &loaded);
    const sgfsi_field *is = without != NULL ? sgfsi_fields_find(&loaded, without) : NULL;
    if (is != NULL && kept != NULL) memcpy(is->at, kept, bytes_of(is));
    else if (is != NULL) memset(is->at, 0, bytes_of(is)); /* of an anchor of its own */
    free(kept);
    sgfsi_fields_free(&fresh);
    sgfsi_fields_free(&loaded);
    /* without a field of its own a chain may run away, which is a difference, too */
    (void)sgfs_run_step(run, WARMUP + run->plan.draws - p->t, NULL);
    (void)sgfs_run_close(run, NULL);
    return run;
}

static checkpoint save_at(const session *s, int64_t t) {
    sgfs_err err;
    sgfs_run *run = open_run(s);
    if (t > 0) advance(run, t);
    checkpoint p = {.t = t};
    p.saved = sgfsi_state_save(run, &p.bytes, &err);
    if (p.saved == NULL) fail_msg("%s", err.text);
    p.draws = run->out.memory->chain[0].draws;
    p.points = run->out.memory->chain[0].points;
    sgfs_run_free(run);
    return p;
}

static void test_a_loaded_chain_goes_on(void **state) {
    (void)state;
    for (const stage *is = stages; is->name != NULL; is++) {
        session s = open_session(is);
        sgfs_run *whole = open_run(&s);
        advance(whole, WARMUP + whole->plan.draws);
        assert_int_equal(sgfs_run_close(whole, NULL), SGFS_OK);
        for (int k = 0; k < STOPS; k++) {
            int64_t t = stop_at(whole, k);
            checkpoint p = save_at(&s, t);
            sgfs_run *run = resumed(&s, &p, NULL);
            const char *found = difference(whole, run, &p);
            if (found != NULL)
                fail_msg("%s, %s (case %d), saved at %lld: another %s", is->name, is->model,
                         (int)(is - stages), (long long)t, found);
            sgfs_run_free(run);
            free(p.saved);
        }
        sgfs_run_free(whole);
        close_session(&s);
    }
}

static void test_every_name_of_the_table_is_there(void **state) {
    (void)state;
    for (const sgfsi_sampler_name *n = sgfsi_sampler_names; n->name != NULL; n++) {
        bool found = false;
        for (const stage *is = stages; is->name != NULL; is++)
            found = found || strcmp(is->name, n->name) == 0;
        if (!found) fail_msg("sampler %s has no case", n->name);
        if (n->kind->fields == NULL) fail_msg("sampler %s does not list its state", n->name);
    }
}

/* ---- every field is missed by somebody ------------------------------------------------------- */

typedef struct usage {
    char name[SGFSI_FIELD_NAME];
    bool missed;
} usage;

static usage *entry_of(usage *list, int64_t *count, const char *name) {
    for (int64_t i = 0; i < *count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    assert_true(*count < MOST_NAMES);
    usage *u = &list[(*count)++];
    snprintf(u->name, sizeof u->name, "%s", name);
    u->missed = false;
    return u;
}

static void test_every_field_is_needed(void **state) {
    (void)state;
    static usage list[MOST_NAMES];
    int64_t count = 0, failed = 0;
    /* what these cases do not have: trajectories that lead nowhere, a step without an R, a run that
     * is made longer, an average of the model's own scores after warm-up; or what is the same in
     * every chain when it opens */
    const char *const unseen[] = {"run.draws",
                                  "chain1.nuts.lost",
                                  "chain1.nuts.why",
                                  "chain1.hmc.lost",
                                  "chain1.hmc.why",
                                  "chain1.exact-hmc.lost",
                                  "chain1.sgfs-cv.margin",
                                  "chain1.sgfs-cv.missed",
                                  "chain1.sgfs-cv.ready",
                                  "chain1.sgfs.K.model.settled",
                                  "chain1.sgfs.K.model.base"};
    const int at[] = {3, 4, STOPS - 2, STOPS - 1}; /* numbers of stops */
    for (const stage *is = stages; is->name != NULL; is++) {
        session s = open_session(is);
        sgfs_run *whole = open_run(&s);
        sgfsi_fields fields = {0};
        advance(whole, WARMUP + whole->plan.draws);
        assert_int_equal(sgfs_run_close(whole, NULL), SGFS_OK);
        sgfsi_run_fields(whole, &fields);
        for (int k = 0; k < 4; k++) {
            int64_t t = stop_at(whole, at[k]);
            checkpoint p = save_at(&s, t);
            for (int64_t i = 0; i < fields.count; i++) {
                const char *name = fields.field[i].name;
                bool first = strncmp(name, "chain1.", 7) == 0 || strncmp(name, "run.", 4) == 0;
                bool divides = strcmp(name, "chain1.exact-rows.every") == 0; /* by 0 */
                if (!first || is_time(name) || divides) continue;
                usage *u = entry_of(list, &count, name);
                if (u->missed) continue;
                sgfs_run *run = resumed(&s, &p, name);
                u->missed = difference(whole, run, &p) != NULL;
                sgfs_run_free(run);
            }
            free(p.saved);
        }
        sgfsi_fields_free(&fields);
        sgfs_run_free(whole);
        close_session(&s);
    }
    print_message("%lld fields\n", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        bool excused = false;
        for (size_t k = 0; k < sizeof unseen / sizeof unseen[0]; k++)
            excused = excused || strcmp(list[i].name, unseen[k]) == 0;
        if (list[i].missed || excused) continue;
        print_message("nobody misses %s\n", list[i].name);
        failed++;
    }
    assert_int_equal(failed, 0);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refused(sgfs_run *run, const void *saved, size_t bytes, const char *sentence) {
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfsi_state_load(run, saved, bytes, &err), SGFS_ERUNFILE);
    if (strstr(err.text, sentence) == NULL) fail_msg("%s lacks %s", err.text, sentence);
}

static void test_another_runs_state_is_refused(void **state) {
    (void)state;
    session s = open_session(&stages[0]), other = open_session(&stages[1]);
    checkpoint p = save_at(&s, 30);
    char *saved = p.saved;
    sgfs_run *run = open_run(&other), *same = open_run(&s);
    double before = run->chain[0].theta[0];
    refused(run, saved, p.bytes, "sgfs.K.scores.I1"); /* D numbers, not D x D */
    assert_true(run->chain[0].theta[0] == before && run->chain[0].t == 0);
    refused(same, saved, p.bytes - 8, "not all of it");
    refused(same, "nonsense nonsense nonsense nonsense", 32, "no saved state");
    memset(saved + 32, 'x', 16); /* the first name */
    refused(same, saved, p.bytes, "where this chain has");
    assert_true(same->chain[0].t == 0);
    free(saved);
    sgfs_run_free(run);
    sgfs_run_free(same);
    close_session(&s);
    close_session(&other);
}

static int make_files(void **state) {
    (void)state;
    write_rows(rows_file, ROWS, 385, "y");
    write_rows(aside_file, 40, 386, "y");
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    return unlink(rows_file) | unlink(aside_file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_of_the_table_is_there),
        cmocka_unit_test(test_a_loaded_chain_goes_on),
        cmocka_unit_test(test_every_field_is_needed),
        cmocka_unit_test(test_another_runs_state_is_refused),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
