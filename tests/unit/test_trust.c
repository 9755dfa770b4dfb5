/* SPDX-License-Identifier: MIT
 * test_trust.c: the first line of a summary, for made-up runs of every grade. Each row of the table
 * is a run of four chains with one thing wrong with it; the first has nothing wrong.
 */
#include "diagnostics/summary.h"
#include "tools/check.h"

#include <stdio.h>

#include "sink/draws.h"

enum { CHAINS = 4, DRAWS = 500, D = 3, STATS = 7, RUN_AWAY = 2 };

/* What is wrong with a run; 0 or NULL: nothing. */
typedef struct fault {
    const char *header; /* more members of the header */
    const char *state, *model;
    const char *audit;
    int64_t draws;     /* per chain, where not all */
    double rho;        /* correlation of neighbouring draws of b */
    double shift;      /* of b in the last chain, in sd */
    double scale;      /* of b in the last chain */
    double far;        /* b of one draw in a hundred, in every chain */
    double wide;       /* sd of c over what the curvature predicts */
    double worse;      /* lp of the last chain, less than the others' */
    int64_t divergent; /* draws of every chain; nuts */
    int64_t chains;
    bool one_chain, no_number, kinked_prior;
} fault;

static sgfs_draws *make_run(const fault *f) {
    char text[2048];
    bool nuts = f->divergent > 0;
    int n = snprintf(text, sizeof text,
                     "{\"chains\": %d, \"dim\": 3, \"params\": [\"a\", \"b\", \"c\"], \"thin\": 1, "
                     "\"model\": \"%s\", \"regression\": %s, \"normal_prior\": %s, "
                     "\"rows\": 1000, \"draws\": 500, \"warmup\": 300, "
                     "\"stats\": [\"lp\"%s]%s%s}",
                     f->one_chain    ? 1
                     : f->chains > 0 ? (int)f->chains
                                     : CHAINS,
                     f->model != NULL ? f->model : "logistic",
                     f->model != NULL && strcmp(f->model, "mlp") == 0 ? "false" : "true",
                     f->kinked_prior ? "false" : "true",
                     nuts ? ", \"acceptance_rate\", \"step_size\", \"tree_depth\", \"n_steps\", "
                            "\"diverging\", \"energy\""
                          : "",
                     f->header != NULL ? ", " : "", f->header != NULL ? f->header : "");
    sgfs_err err = {0};
    sgfs_draws *d = sgfsi_draws_new(sgfsi_json_parse(text, (size_t)n, "header", &err), &err);
    if (d == NULL) fail_msg("%s", err.text);
    free(d->state);
    d->state = strdup(f->state != NULL ? f->state : "complete");
    if (f->audit != NULL) d->audit = sgfsi_json_parse(f->audit, strlen(f->audit), "audit", &err);
    const int64_t draws = f->draws > 0 ? f->draws : DRAWS;
    double *theta = zeros(DRAWS * D), *stats = zeros(DRAWS * STATS);
    double curvature[D] = {1, 1 / sqrt(1 - f->rho * f->rho), f->wide > 0 ? 1 / f->wide : 1};
    uint64_t seed = 2385;
    for (int64_t c = 0; c < d->chains; c++) {
        bool last = c == CHAINS - 1;
        double b = 0;
        for (int64_t t = 0; t < draws; t++) {
            double *x = theta + t * D;
            for (int64_t i = 0; i < D; i++) x[i] = next_normal(&seed);
            b = f->rho * b + x[1];
            x[1] = (last && f->scale > 0 ? f->scale * b : b) + (last ? f->shift : 0);
            if (f->far > 0 && t % 100 == 37 + 7 * c) x[1] = f->far;
            stats[t * d->S] = -400 + next_normal(&seed) - (last ? f->worse : 0);
            for (int64_t s = 1; s < d->S; s++) stats[t * d->S + s] = next_normal(&seed);
            if (nuts) stats[t * d->S + 5] = t < f->divergent;
        }
        if (f->no_number && last) theta[RUN_AWAY] = NAN;
        assert_int_equal(sgfsi_draws_append(d, c, draws, theta, stats, &err), SGFS_OK);
        sgfsi_chain_info info = {.iterations = draws, .curvature_sd = curvature};
        assert_int_equal(sgfsi_draws_set_info(d, c, &info, &err), SGFS_OK);
    }
    free(theta);
    free(stats);
    return d;
}

#define EXACT "\"sampler\": \"exact-rows\", \"exact\": true, \"instead\": \"exact-hmc\""
#define CV    "\"sampler\": \"sgfs-cv\", \"exact\": false"
#define NUTS  "\"sampler\": \"nuts\", \"exact\": true"
#define NET   "\"sampler\": \"sgfs-d\", \"exact\": false, \"model_info\": {\"exchangeable\": true}"
/* lp is -400; 1,000 rows may make it 100 worse than their labels' shares. */
#define BARE(loglik)                                                                               \
    "\"sampler\": \"nuts\", \"exact\": true, \"model_info\": {\"exchangeable\": true, "            \
    "\"constant_loglik\": " loglik "}"
#define BRIEF "{\"brief\": \"means off\", \"exact\": true, "
#define NAMED(mean, sd)                                                                            \
    "\"largest_mean\": {\"name\": \"a\", \"mean\": " mean "}, "                                    \
    "\"largest_sd\": {\"name\": \"c\", \"sd\": " sd "}}"

typedef struct expected {
    const char *what;
    fault made;
    sgfs_grade grade;
    const char *verdict, *next; /* parts of both; NULL: there is nothing to type */
} expected;

static const expected table[] = {
    {"right",
     {.header = EXACT},
     SGFS_GRADE_TRUST,
     "Trust: the chains agree, and means are known to 3 % of a",
     NULL},
    {"an exact sampler owes the curvature nothing",
     {.header = EXACT, .wide = 5},
     SGFS_GRADE_TRUST,
     "Trust: ",
     NULL},
    {"many short chains, whose R-hat is above 1.01 by chance",
     {.header = EXACT, .chains = 16, .draws = 60, .rho = 0.2},
     SGFS_GRADE_TRUST,
     "Trust: ",
     NULL},
    {"few draws",
     {.header = EXACT, .draws = 60},
     SGFS_GRADE_CARE,
     "Trust, with care: few draws: those of ",
     "--config RUN --draws "},
    {"one chain",
     {.header = EXACT, .one_chain = true},
     SGFS_GRADE_CARE,
     "there is one chain only",
     NULL},
    {"slow",
     {.header = EXACT, .rho = 0.93},
     SGFS_GRADE_SHORT,
     "Do not trust yet: ",
     "sgfs sample logistic --config RUN --draws "},
    {"slow, approximate",
     {.header = CV, .rho = 0.93},
     SGFS_GRADE_SHORT,
     "b",
     "sgfs sample logistic --config RUN --draws "},
    {"slow, and can be lengthened",
     {.header = EXACT ", \"lengthens\": true", .rho = 0.93},
     SGFS_GRADE_SHORT,
     "Do not trust yet: ",
     "sgfs sample --resume RUN --draws "},
    {"slow, a model of the user's own, rows from a pipe",
     {.header = EXACT ", \"lengthens\": true, \"data\": {\"path\": \"-\"}",
      .model = "./my model.so",
      .rho = 0.93},
     SGFS_GRADE_SHORT,
     "Do not trust yet: ",
     "sgfs sample './my model.so' --resume RUN --draws "},
    {"apart, where more draws would not help",
     {.header = CV ", \"lengthens\": true", .shift = 30},
     SGFS_GRADE_WRONG,
     "Do not trust: ",
     "--config RUN --sampler exact"},
    {"too few to say",
     {.header = EXACT, .draws = 3},
     SGFS_GRADE_SHORT,
     "3 draws a chain are too few",
     "--draws "},
    {"apart",
     {.header = CV, .shift = 30},
     SGFS_GRADE_WRONG,
     "Do not trust: ",
     "--config RUN --sampler exact"},
    {"another place",
     {.header = EXACT, .shift = 2},
     SGFS_GRADE_WRONG,
     "in different places (R-hat ",
     "--sampler exact-hmc"},
    {"never there",
     {.header = EXACT, .shift = 30},
     SGFS_GRADE_WRONG,
     "chain 4 never visits the values of b",
     "--sampler exact-hmc"},
    {"never there, and no R-hat above 1.2 needed",
     {.header = NUTS, .shift = 9},
     SGFS_GRADE_WRONG,
     "chain 4 never visits",
     "--config RUN --standardize --warmup 600"},
    {"frozen",
     {.header = EXACT, .scale = 1e-3},
     SGFS_GRADE_WRONG,
     "chain 4 hardly moves: it covers 0.",
     "--sampler exact-hmc"},
    {"exploded",
     {.header = CV, .wide = 103},
     SGFS_GRADE_WRONG,
     "deviation of c is 10",
     "--sampler exact"},
    {"exploded, few effective draws",
     {.header = CV, .wide = 103, .draws = 20},
     SGFS_GRADE_WRONG,
     "times what the curvature",
     "--sampler exact"},
    {"far draws",
     {.header = EXACT, .far = 1000},
     SGFS_GRADE_WRONG,
     "a few draws of b lie far away from all others",
     "--sampler exact-hmc"},
    {"independent draws of a posterior with long tails",
     {.header = "\"sampler\": \"exact-linear\", \"exact\": true, \"independent\": true",
      .far = 1000},
     SGFS_GRADE_CARE,
     "Trust, with care: the posterior of b has long tails",
     NULL},
    {"a half too wide",
     {.header = CV, .wide = 1.6},
     SGFS_GRADE_SHORT,
     "Do not trust: the standard deviation of c is 1.",
     "--sampler exact"},
    {"a fifth too wide",
     {.header = CV, .wide = 1.2},
     SGFS_GRADE_CARE,
     "the standard deviation of c is 1.",
     "--sampler exact"},
    {"approximate",
     {.header = CV},
     SGFS_GRADE_CARE,
     "Trust, with care: sgfs-cv is approximate, and how far off was not measured.",
     "sgfs audit RUN"},
    {"audited",
     {.header = CV,
      .audit = BRIEF "\"mean_differs\": false, \"sd_differs\": false, " NAMED("0.01", "0.01")},
     SGFS_GRADE_TRUST,
     "the audit found no bias",
     NULL},
    {"a small bias",
     {.header = CV, .audit = BRIEF "\"sd_differs\": true, " NAMED("0.01", "0.08")},
     SGFS_GRADE_CARE,
     "deviations by up to 8 %",
     NULL},
    {"a bias",
     {.header = CV, .audit = BRIEF "\"mean_differs\": true, " NAMED("0.4", "0.01")},
     SGFS_GRADE_SHORT,
     "means off by up to 0.4 sd (a)",
     "--sampler exact"},
    {"a large bias",
     {.header = CV, .audit = BRIEF "\"sd_differs\": true, " NAMED("0.1", "1.2")},
     SGFS_GRADE_WRONG,
     "by up to 232 % (c)",
     "--sampler exact"},
    {"an optimiser",
     {.header = "\"sampler\": \"sgd\", \"optimiser\": true", .shift = 30},
     SGFS_GRADE_OPTIMISER,
     "Do not trust as draws: sgd looks for a mode",
     NULL},
    {"failed",
     {.header = CV, .state = "failed: chain 1 left. Try less."},
     SGFS_GRADE_WRONG,
     "Do not trust: the run failed: chain 1 left.",
     "--sampler exact"},
    {"no numbers",
     {.header = CV, .no_number = true},
     SGFS_GRADE_WRONG,
     "a chain ran away",
     "--sampler exact"},
    {"a few diverged",
     {.header = NUTS, .divergent = 2},
     SGFS_GRADE_CARE,
     "8 of 2000 trajectories diverged",
     "--target-accept 0.95"},
    {"many diverged",
     {.header = NUTS, .divergent = 20},
     SGFS_GRADE_SHORT,
     "Do not trust: 80 of 2000",
     "--target-accept 0.95"},
    {"a network",
     {.header = NET, .model = "mlp", .shift = 30},
     SGFS_GRADE_CARE,
     "for predictions averaged over the draws only",
     NULL},
    {"a network that did not settle",
     {.header = NET, .worse = 200},
     SGFS_GRADE_SHORT,
     "chain 4 fits the rows worse than the best one does, by 0.2 nats a row",
     "--warmup 1200"},
    {"a network that knows less than none",
     {.header = BARE("-250"), .model = "mlp"},
     SGFS_GRADE_WRONG,
     "Do not trust: this run did not converge: the fit of chain ",
     "--warmup 1200"},
    {"a network that knows little",
     {.header = BARE("-300"), .model = "mlp"},
     SGFS_GRADE_CARE,
     "for predictions averaged over the draws only",
     NULL},
    {"another prior",
     {.header = CV, .shift = 30, .kinked_prior = true},
     SGFS_GRADE_WRONG,
     "",
     "--sampler nuts"},
    {"steps of its own",
     {.header = CV ", \"given\": {\"sampler.step\": \"1\"}", .shift = 30},
     SGFS_GRADE_WRONG,
     "",
     "--data FILE ... --sampler exact"},
    {"a length of its own",
     {.header = CV ", \"given\": {\"run.draws\": \"500\", \"sampler.kind\": \"sgfs-cv\"}",
      .shift = 30},
     SGFS_GRADE_WRONG,
     "",
     "--config RUN --sampler exact --draws auto"},
};

static void test_every_grade(void **state) {
    (void)state;
    int64_t wrong = 0;
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        const expected *e = &table[k];
        sgfs_draws *d = make_run(&e->made);
        sgfs_err err = {0};
        sgfs_summary *s = sgfsi_summary_new(d, 1, &err);
        if (s == NULL) fail_msg("%s: %s", e->what, err.text);
        bool next = e->next != NULL ? strstr(s->next, e->next) != NULL : s->next[0] == '\0';
        bool right = s->grade == e->grade && strstr(s->verdict, e->verdict) != NULL && next;
        if (!right)
            print_message("%s: grade %d, %s [%s]\n", e->what, (int)s->grade, s->verdict, s->next);
        wrong += !right;
        assert_true(s->grade != SGFS_GRADE_TRUST || s->warnings == 0); /* no contradiction */
        bool no = strncmp(s->verdict, "Do not trust", 12) == 0;
        assert_true(s->trust != no && (no || strncmp(s->verdict, "Trust", 5) == 0));
        sgfsi_summary_free(s);
        sgfs_draws_free(d);
    }
    assert_int_equal(wrong, 0);
}

/* The model's name comes from a file, and the command is made to be pasted. */
static void test_a_command_does_no_harm(void **state) {
    (void)state;
    static const char *const model[] = {"x; rm y", "x'; rm y", "-x", "x\\n rm y", "x$(rm y)"};
    for (size_t i = 0; i < sizeof model / sizeof model[0]; i++) {
        fault f = {.header = CV, .model = model[i], .shift = 30};
        sgfs_draws *d = make_run(&f);
        sgfs_summary *s = sgfsi_summary_new(d, 1, NULL);
        assert_non_null(s);
        bool quoted = strstr(s->next, "sample 'x; rm y' ") || strstr(s->next, "'x$(rm y)' ") ||
                      strstr(s->next, "sample 'x'\\''; rm y' ");
        assert_true(quoted == (i == 0 || i == 1 || i == 4));
        assert_true(quoted || strstr(s->next, "sgfs sample MODEL --config RUN") == s->next);
        sgfsi_summary_free(s);
        sgfs_draws_free(d);
    }
}

/* Another sampler, for which nothing that was set for the first is in the way. */
static void test_another_sampler_is_named(void **state) {
    (void)state;
    static const struct {
        const char *header, *next;
    } of[] = {
        {EXACT, "sgfs sample logistic --config RUN --sampler exact-hmc"},
        {"\"sampler\": \"exact-pairs\", \"exact\": true, \"instead\": \"exact-hmc\"",
         "sgfs sample logistic --config RUN --sampler exact-hmc"},
        {"\"sampler\": \"exact-hmc\", \"exact\": true",
         "sgfs sample logistic --config RUN --sampler nuts"},
        {CV ", \"given\": {\"sampler.step\": \"0.3\", \"data.target\": \"y z\"}, \"data\": "
            "{\"path\": \"a b.csv\", \"target\": \"y z\"}",
         "sgfs sample logistic --data 'a b.csv' --target 'y z' --sampler exact"},
        {CV
         ", \"given\": {\"sampler.step\": \"0.3\", \"prior.kind\": \"flat\", \"prior.df\": \"3\", "
         "\"data.keep_classes\": \"7,9\", \"data.intercept\": \"false\", "
         "\"data.standardize\": \"true\", \"run.batch\": \"100\"}, \"data\": "
         "{\"path\": \"a.csv\"}",
         "sgfs sample logistic --data a.csv --prior flat --prior-df 3 --keep-classes 7,9 "
         "--no-intercept --standardize --sampler exact"},
        {CV
         ", \"given\": {\"sampler.step\": \"0.3\"}, \"data\": {\"path\": \"2 files\", \"files\": "
         "[\"a.csv\", \"b c.csv\"]}",
         "sgfs sample logistic --data a.csv --data 'b c.csv' --sampler exact"},
        {CV ", \"given\": {\"sampler.step\": \"0.3\", \"data.x; rm y\": \"1\"}, \"data\": "
            "{\"path\": \"a.csv\"}",
         "sgfs sample logistic --data a.csv --sampler exact"},
        {CV ", \"given\": {\"sampler.step\": \"0.3\", \"data.target\": \"-y\"}, \"data\": "
            "{\"path\": \"a.csv\"}",
         "sgfs sample logistic --data FILE ... --sampler exact"},
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        fault f = {.header = of[i].header, .shift = 30};
        sgfs_draws *d = make_run(&f);
        sgfs_summary *s = sgfsi_summary_new(d, 1, NULL);
        assert_non_null(s);
        assert_string_equal(s->next, of[i].next);
        sgfsi_summary_free(s);
        sgfs_draws_free(d);
    }
}

static void test_json_has_the_verdict(void **state) {
    (void)state;
    sgfs_draws *d = make_run(&table[10].made);
    sgfs_summary *s = sgfsi_summary_new(d, 1, NULL);
    sgfsi_json *json = sgfsi_summary_json(s);
    bool trust = true;
    assert_true(sgfsi_json_as_flag(sgfsi_json_get(json, "trust"), &trust) && !trust);
    assert_string_equal(sgfsi_json_get_text(json, "verdict", ""), s->verdict);
    assert_string_equal(sgfsi_json_get_text(json, "next", ""), s->next);
    sgfsi_json_free(json);
    sgfsi_summary_free(s);
    sgfs_draws_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_grade),
        cmocka_unit_test(test_a_command_does_no_harm),
        cmocka_unit_test(test_another_sampler_is_named),
        cmocka_unit_test(test_json_has_the_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
