/* SPDX-License-Identifier: MIT
 * user.c: a user's callbacks (sgfs_user_model) behind the hooks of a model kind.
 *
 *     hook of the kind     callback      besides
 *     open                 dim, param_name, start, log_prior
 *     scores               scores        one dense block, n x D: nothing is known of factors
 *     predict, resample    predict, draw without targets
 *     log_prior            log_prior     else the prior options apply
 *
 * Each such model has a kind of its own: a hook is there where its callback is. A callback's code
 * becomes SGFS_EDATA, a number that is not finite SGFS_ENUMERIC, with a sentence that names model,
 * callback, row and parameter; chain.c adds where the chain was. A log density of minus infinity is
 * an answer where no gradient is asked for (held-out rows may be impossible) and nowhere else.
 *
 * With a prior of the model's own, the matrices of the samplers want its precision: that which the
 * model says (prior_precision), or else the fall of its
 * gradient from one spread before the start to one behind it, parameter by parameter. That is exact
 * for Gaussians, and else only shapes steps.
 *
 * Not here: curvature (what needs it says so) and a way back from standardised columns, whose
 * parameters are reported as they are.
 */
#include "model/user.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/nearest.h"
#include "base/number.h"
#include "model/prior.h"

const sgfs_option sgfsi_user_options[] = {
    {"model.argument", "model-arg", SGFS_TEXT, "", 1, 0, NULL,
     "a text for a model of your own, which its callback `open` reads"},
    SGFSI_OPTIONS_END};

enum { START_ROWS = 1000, NAME_CHARS = 64, WORDS = 128, MOST_DIM = 100000000, PRIOR_ROOM = 1024 };

typedef struct user_kind {
    sgfs_model_kind kind;  /* first: what others see; kind.user points back here */
    sgfs_user_model calls; /* fields the user's version did not know are NULL */
    sgfsi_library *library;
    char *name;
} user_kind;

/* Of one model. */
typedef struct user_state {
    void *user;
    bool opened;            /* by the callback `open`: to be closed */
    double *start, *spread; /* D each */
    atomic_int draw_code;   /* what `draw` returned last where it failed, for the sentence */
} user_state;

static const sgfs_user_model *calls_of(const sgfs_model *m) {
    return &((const user_kind *)m->kind->user)->calls;
}

/* What the callbacks get: the table's own, or what `open` made of the argument for this model. */
static void *user_of(const sgfs_model *m) {
    return ((const user_state *)m->state)->user;
}

static sgfs_rows rows_of(const sgfs_batch *b, const double *y) {
    return (sgfs_rows){.n = b->n, .cols = b->p, .x = b->x, .y = y};
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* A long path by its end. */
static const char *short_name(const sgfs_model *m, char out[NAME_CHARS]) {
    size_t n = strlen(m->kind->name), most = NAME_CHARS - 1;
    bool cut = n > most;
    snprintf(out, NAME_CHARS, "%s%s", cut ? "..." : "",
             cut ? m->kind->name + n - (most - 3) : m->kind->name);
    return out;
}

static sgfs_status fail_code(const sgfs_model *m, const char *callback, int code, sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    char name[NAME_CHARS], words[WORDS] = "";
    const char *text = u->message != NULL ? u->message(code, user_of(m)) : NULL;
    if (text != NULL) snprintf(words, sizeof words, "%s", text);
    size_t n = strlen(words);
    if (n > 0 && words[n - 1] == '.') words[n - 1] = '\0'; /* the sentence goes on */
    return sgfsi_fail(err, SGFS_EDATA, "`%s` of model %s returned error %d%s%s%s", callback,
                      short_name(m, name), code, words[0] != '\0' ? " (" : "", words,
                      words[0] != '\0' ? ")" : "");
}

/* what: "the score of \"a\" for row 3 of 500". */
static sgfs_status fail_number(const sgfs_model *m, const char *callback, const char *what,
                               double value, sgfs_err *err) {
    char name[NAME_CHARS], number[SGFSI_NUM_CHARS];
    sgfsi_format_digits(number, value, 4);
    return sgfsi_fail(err, SGFS_ENUMERIC, "`%s` of model %s says that %.160s is %s", callback,
                      short_name(m, name), what, number);
}

/* ---- numbers that are none ------------------------------------------------------------------- */

static bool is_number(double x) {
    return fabs(x) <= DBL_MAX; /* false for NaN; compiles to vector code, isfinite may not */
}

/* The place of the first one that is not finite, or -1. */
static int64_t first_bad(int64_t n, const double *x) {
    int bad = 0;
    for (int64_t i = 0; i < n; i++) bad |= !is_number(x[i]);
    for (int64_t i = 0; bad && i < n; i++) {
        if (!is_number(x[i])) return i;
    }
    return -1;
}

/* "row 617 of the data", or its place among the rows at hand where they come from anywhere. */
static const char *row_name(const sgfs_batch *b, int64_t i, char out[WORDS]) {
    long long row = (long long)i + 1;
    if (b->row > 0) snprintf(out, WORDS, "row %lld of the data", (long long)b->row + row - 1);
    else snprintf(out, WORDS, "row %lld of %lld", row, (long long)b->n);
    return out;
}

/* Rows of the data are finite: such a target was drawn. */
static sgfs_status check_targets(const sgfs_model *m, const sgfs_batch *b, sgfs_err *err) {
    user_state *state = m->state;
    char what[2 * WORDS], row[WORDS];
    int64_t i = first_bad(b->n, b->y);
    if (i < 0) return SGFS_OK;
    int code = atomic_load(&state->draw_code);
    if (code != 0) return fail_code(m, "draw", code, err);
    snprintf(what, sizeof what, "the target of %s", row_name(b, i, row));
    return fail_number(m, "draw", what, b->y[i], err);
}

static sgfs_status check_loglik(const sgfs_model *m, const sgfs_batch *b, const double *loglik,
                                bool impossible, sgfs_err *err) {
    char what[2 * WORDS], y[SGFSI_NUM_CHARS], row[WORDS];
    int64_t i = first_bad(b->n, loglik);
    while (impossible && i >= 0 && i < b->n && (is_number(loglik[i]) || loglik[i] == -INFINITY))
        i++;
    if (i < 0 || i == b->n) return SGFS_OK;
    sgfsi_format_digits(y, b->y[i], 4);
    snprintf(what, sizeof what, "the log density of %s (y = %s)", row_name(b, i, row), y);
    return fail_number(m, "scores", what, loglik[i], err);
}

static sgfs_status check_scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                const double *score, sgfs_err *err) {
    char what[3 * WORDS], y[SGFSI_NUM_CHARS], place[SGFSI_NUM_CHARS], row[WORDS];
    int64_t at = first_bad(b->n * m->D, score);
    if (at < 0) return SGFS_OK;
    int64_t i = at / m->D, j = at % m->D;
    sgfsi_format_digits(y, b->y[i], 4);
    sgfsi_format_digits(place, theta[j], 4);
    snprintf(what, sizeof what, "the score of \"%.60s\" (= %s) for %s (y = %s)", m->param[j], place,
             row_name(b, i, row), y);
    return fail_number(m, "scores", what, score[at], err);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    double *score = s->block != NULL ? s->block[0].dense : NULL; /* n x D */
    sgfs_rows rows = rows_of(b, b->y);
    (void)scratch;
    sgfs_status status = check_targets(m, b, err);
    if (status != SGFS_OK) return status;
    int code = u->scores(theta, &rows, s->loglik, score, user_of(m));
    if (code != 0) return fail_code(m, "scores", code, err);
    if (s->loglik != NULL) status = check_loglik(m, b, s->loglik, score == NULL, err);
    if (status == SGFS_OK && score != NULL) status = check_scores(m, theta, b, score, err);
    return status;
}

static void fill_with_nan(int64_t n, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = NAN;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const sgfs_user_model *u = calls_of(m);
    sgfs_rows rows = rows_of(b, NULL);
    (void)scratch;
    if (u->predict(theta, &rows, out, user_of(m)) != 0) fill_with_nan(b->n, out);
}

/* A failure shows as targets that are no numbers; `scores`, which is next to see them, tells. */
static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const sgfs_user_model *u = calls_of(m);
    user_state *state = m->state;
    sgfs_rows rows = rows_of(b, NULL);
    int code = u->draw(theta, &rows, normal, uniform, y, user_of(m));
    if (code == 0) return;
    atomic_store(&state->draw_code, code);
    fill_with_nan(b->n, y);
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    const user_state *state = m->state;
    memcpy(theta, state->start, (size_t)m->D * sizeof *theta);
    memcpy(spread, state->spread, (size_t)m->D * sizeof *spread);
}

static sgfs_status check_prior(const sgfs_model *m, const double *theta, const double *lp,
                               const double *grad, sgfs_err *err) {
    char what[WORDS], place[SGFSI_NUM_CHARS];
    if (lp != NULL && !is_number(*lp)) {
        return fail_number(m, "log_prior", "the log prior density", *lp, err);
    }
    int64_t j = grad != NULL ? first_bad(m->D, grad) : -1;
    if (j < 0) return SGFS_OK;
    sgfsi_format_digits(place, theta[j], 4);
    snprintf(what, sizeof what, "the gradient of \"%.60s\" (= %s)", m->param[j], place);
    return fail_number(m, "log_prior", what, grad[j], err);
}

static sgfs_status log_prior(const sgfs_model *m, const double *theta, double *lp, double *G,
                             sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    double few[PRIOR_ROOM] = {0}, *many = NULL; /* only models of many parameters allocate here */
    if (G != NULL && m->D > PRIOR_ROOM) {
        many = calloc((size_t)m->D, sizeof *many);
        if (many == NULL) return sgfsi_fail_memory(err, "the prior");
    }
    double *grad = G == NULL ? NULL : many != NULL ? many : few;
    int code = u->log_prior(theta, m->D, lp, grad, user_of(m));
    sgfs_status status =
        code != 0 ? fail_code(m, "log_prior", code, err) : check_prior(m, theta, lp, grad, err);
    for (int64_t j = 0; G != NULL && status == SGFS_OK && j < m->D; j++) G[j] += grad[j];
    free(many);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Rows of the data for `start`, evenly spaced. */
static sgfs_status pick_rows(const sgfs_model *m, sgfsi_arena *arena, sgfs_rows *out,
                             sgfs_err *err) {
    const sgfs_data *d = m->data;
    int64_t n = d->N < START_ROWS ? d->N : START_ROWS;
    int64_t *row = sgfsi_arena_alloc(arena, n, sizeof *row);
    double *x = SGFSI_DOUBLES(arena, n * d->p), *y = SGFSI_DOUBLES(arena, n);
    if (row == NULL || x == NULL || y == NULL) return sgfsi_fail_memory(err, "some of the rows");
    sgfsi_data_fair(d, n, row);
    sgfsi_data_rows_pick(d, row, n, x, y);
    *out = (sgfs_rows){.n = n, .cols = d->p, .x = x, .y = y};
    return SGFS_OK;
}

static sgfs_status check_start(const sgfs_model *m, const user_state *state, sgfs_err *err) {
    char what[WORDS];
    for (int64_t j = 0; j < m->D; j++) {
        bool placed = is_number(state->start[j]);
        if (placed && is_number(state->spread[j]) && state->spread[j] >= 0) continue;
        snprintf(what, sizeof what, "the %s of parameter %lld of %lld", placed ? "spread" : "start",
                 (long long)j + 1, (long long)m->D);
        return fail_number(m, "start", what, placed ? state->spread[j] : state->start[j], err);
    }
    return SGFS_OK;
}

/* Asked once: the hook only copies. Rows without targets (predictions) start nothing. */
static sgfs_status choose_start(sgfs_model *m, user_state *state, sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    sgfsi_arena own = {NULL};
    sgfs_rows rows;
    if (!SGFSI_ROOM(&m->arena, m->D, &state->start, &state->spread))
        return sgfsi_fail_memory(err, "the model");
    for (int64_t j = 0; j < m->D; j++) state->spread[j] = 1;
    if (u->start == NULL || !m->data->has_target || m->data->N == 0) return SGFS_OK; /* no rows */
    sgfs_status status = pick_rows(m, &own, &rows, err);
    int code =
        status == SGFS_OK ? u->start(&rows, m->D, state->start, state->spread, user_of(m)) : 0;
    sgfsi_arena_free(&own);
    if (code != 0) return fail_code(m, "start", code, err);
    return status == SGFS_OK ? check_start(m, state, err) : status;
}

static sgfs_status ask_precision(sgfs_model *m, const user_state *state, sgfs_err *err) {
    char what[WORDS];
    m->precision = SGFSI_DOUBLES(&m->arena, m->D);
    if (m->precision == NULL) return sgfsi_fail_memory(err, "the prior");
    int code = calls_of(m)->prior_precision(state->start, m->D, m->precision, user_of(m));
    if (code != 0) return fail_code(m, "prior_precision", code, err);
    for (int64_t j = 0; j < m->D; j++) {
        if (is_number(m->precision[j]) && m->precision[j] >= 0) continue;
        snprintf(what, sizeof what, "the precision of \"%.60s\"", m->param[j]);
        return fail_number(m, "prior_precision", what, m->precision[j], err);
    }
    return SGFS_OK;
}

/* (gradient before - gradient behind) / distance. A place that is no place says nothing. */
static sgfs_status measure_prior(sgfs_model *m, const user_state *state, sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    if (u->prior_precision != NULL) return ask_precision(m, state, err);
    sgfsi_arena own = {NULL};
    double *theta, *before, *behind;
    int code = 0;
    bool room = SGFSI_ROOM(&own, m->D, &theta, &before, &behind) &&
                SGFSI_ROOM(&m->arena, m->D, &m->precision);
    if (room) memcpy(theta, state->start, (size_t)m->D * sizeof *theta);
    for (int64_t j = 0; room && m->D <= SGFSI_MOST_DENSE && j < m->D && code == 0; j++) {
        double half = state->spread[j] > 0 ? state->spread[j] : 1;
        theta[j] = state->start[j] - half;
        code = u->log_prior(theta, m->D, NULL, before, user_of(m));
        theta[j] = state->start[j] + half;
        if (code == 0) code = u->log_prior(theta, m->D, NULL, behind, user_of(m));
        theta[j] = state->start[j];
        double precision = (before[j] - behind[j]) / (2 * half);
        m->precision[j] = is_number(precision) && precision > 0 ? precision : 0;
    }
    sgfsi_arena_free(&own);
    if (!room) return sgfsi_fail_memory(err, "the prior");
    return code == 0 ? SGFS_OK : fail_code(m, "log_prior", code, err);
}

static sgfs_status open_user(sgfs_model *m, sgfs_err *err) {
    const sgfs_user_model *u = calls_of(m);
    char name[NAME_CHARS];
    user_state *state = sgfsi_arena_alloc(&m->arena, 1, sizeof *state);
    if (state == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = state;
    atomic_init(&state->draw_code, 0);
    const char *argument = sgfsi_config_text(m->cfg, "model.argument");
    state->user = u->user;
    if (u->open == NULL && argument[0] != '\0')
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--model-arg: model %s has no callback `open`, which would read it.",
                          short_name(m, name));
    int code = u->open != NULL ? u->open(argument, &state->user) : 0;
    if (code != 0) return fail_code(m, "open", code, err);
    state->opened = u->open != NULL;
    if (sgfsi_data_target_is_text(m->data)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.150s: the target \"%.100s\" is text, and model %s takes numbers: give "
                          "each text a number in the file.",
                          m->data->path, m->data->target.name, short_name(m, name));
    }
    int64_t D = u->dim(m->data->p, user_of(m));
    if (D < 1 || D > MOST_DIM) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "`dim` of model %s says %lld parameters for rows of %lld columns; it "
                          "must be between 1 and %d.",
                          short_name(m, name), (long long)D, (long long)m->data->p, (int)MOST_DIM);
    }
    if (sgfsi_model_add_block(m, "theta", 1, D, SGFS_SCORE_DENSE) == NULL)
        return sgfsi_fail_memory(err, "the model");
    const sgfs_data *d = m->data;
    sgfs_status status = sgfsi_model_room_for_names(m, err);
    const char **column = sgfsi_arena_alloc(&m->arena, d->p, sizeof *column);
    if (status == SGFS_OK && column == NULL) status = sgfsi_fail_memory(err, "the column names");
    if (status != SGFS_OK) return status;
    if (d->intercept) column[0] = "intercept";
    for (int64_t j = 0; j < d->features; j++) column[d->p - d->features + j] = d->feature[j].name;
    for (int64_t j = 0; u->param_name != NULL && j < D; j++) {
        char text[256] = "";
        u->param_name(j, d->p, column, text, sizeof text, user_of(m));
        text[sizeof text - 1] = '\0';
        if (text[0] != '\0') sgfsi_model_name(m, j, text);
    }
    status = choose_start(m, state, err);
    if (status == SGFS_OK && u->log_prior != NULL) status = measure_prior(m, state, err);
    if (status == SGFS_OK && m->data->scale != NULL) {
        sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
                   "Model %s sees the standardised columns, and its parameters are reported for "
                   "them: they are not turned back to the columns of the file.",
                   short_name(m, name));
    }
    if (u->name != NULL) sgfsi_json_text(m->saved, "name", u->name);
    return status;
}

static void close_user(sgfs_model *m) {
    const user_state *state = m->state;
    if (state != NULL && state->opened && calls_of(m)->close != NULL)
        calls_of(m)->close(state->user);
}

/* ---- parameters that no row informs ---------------------------------------------------------- */

int64_t sgfsi_user_uninformed(const sgfs_model *m, char *out, size_t room) {
    enum { MOST_SCORES = 20000000, AT_ONCE = 64, NAMED = 3 };
    const sgfs_user_model *u = m->kind->user != NULL ? calls_of(m) : NULL;
    const sgfs_data *d = m->data;
    sgfsi_arena own = {NULL};
    int64_t most = MOST_SCORES / m->D > 0 ? MOST_SCORES / m->D : 1, count = 0;
    int64_t n = u == NULL ? 0 : d->N < most ? d->N : most;
    int64_t *row = sgfsi_arena_alloc(&own, n + 1, sizeof *row);
    double *x, *y, *score, *sum;
    out[0] = '\0';
    bool made = n > 0 && row != NULL && SGFSI_ROOM(&own, AT_ONCE * d->p, &x) &&
                SGFSI_ROOM(&own, AT_ONCE, &y) && SGFSI_ROOM(&own, AT_ONCE * m->D, &score) &&
                SGFSI_ROOM(&own, m->D, &sum);
    if (made) sgfsi_data_fair(d, n, row);
    for (int64_t first = 0; made && first < n; first += AT_ONCE) {
        int64_t some = n - first < AT_ONCE ? n - first : AT_ONCE;
        sgfsi_data_rows_pick(d, row + first, some, x, y);
        const sgfs_rows rows = {.n = some, .cols = d->p, .x = x, .y = y};
        made =
            u->scores(((const user_state *)m->state)->start, &rows, NULL, score, user_of(m)) == 0;
        for (int64_t k = 0; made && k < some * m->D; k++) sum[k % m->D] += fabs(score[k]);
    }
    for (int64_t j = 0; made && j < m->D; j++) {
        if (sum[j] != 0 || count++ >= NAMED) continue;
        sgfsi_append(out, room, "%s\"%.40s\"", out[0] != '\0' ? ", " : "", m->param[j]);
    }
    sgfsi_arena_free(&own);
    if (count > NAMED) sgfsi_append(out, room, " and %lld more", (long long)(count - NAMED));
    return count;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* what: the file, or "sgfs_model_user". */
static sgfs_status check_calls(const sgfs_user_model *calls, const char *what, sgfs_err *err) {
    const size_t least =
        offsetof(sgfs_user_model, user) + sizeof(void *); /* of the first version */
    if (calls->size < least || calls->size > sizeof *calls) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%.200s: `size` of the sgfs_user_model is %zu, and sgfs %s takes %zu: set "
            "it to sizeof(sgfs_user_model)%s.",
            what, calls->size, SGFS_VERSION_TEXT, sizeof *calls,
            calls->size > sizeof *calls ? ", or use the newer sgfs it was built for"
                                        : ", and build with this version's sgfs.h");
    }
    if (calls->dim != NULL && calls->scores != NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.200s: the sgfs_user_model has no `%s`; `dim` and `scores` are needed.",
                      what, calls->dim == NULL ? "dim" : "scores");
}

/* Takes the library over, whatever happens. */
static const sgfs_model_kind *make_kind(const sgfs_user_model *calls, const char *name,
                                        sgfsi_library *library, sgfs_err *err) {
    user_kind *u = calloc(1, sizeof *u);
    char *copy = strdup(name);
    if (u == NULL || copy == NULL) {
        sgfsi_fail_memory(err, "the model");
        sgfsi_library_close(library);
        free(u);
        free(copy);
        return NULL;
    }
    u->name = copy;
    u->library = library;
    memcpy(&u->calls, calls, calls->size);
    const sgfs_user_model *c = &u->calls;
    u->kind = (sgfs_model_kind){.name = u->name,
                                .help = "a model of your own",
                                .options = sgfsi_user_options,
                                .open = open_user,
                                .close = close_user,
                                .scores = scores,
                                .predict = c->predict != NULL ? predict : NULL,
                                .resample = c->draw != NULL ? resample : NULL,
                                .start = start,
                                .log_prior = c->log_prior != NULL ? log_prior : NULL,
                                .user = u};
    return &u->kind;
}

void sgfsi_user_free(const sgfs_model_kind *kind) {
    if (kind == NULL || kind->user == NULL) return;
    user_kind *u = kind->user;
    sgfsi_library_close(u->library);
    free(u->name);
    free(u);
}

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

bool sgfsi_user_is_file(const char *name) {
    return strchr(name, '/') != NULL || ends_in(name, ".so") || ends_in(name, ".dylib");
}

/* The kind in a shared object, named by its path. */
static const sgfs_model_kind *load(const char *path, sgfs_err *err) {
    const char *symbol = "sgfs_user_model_v1";
    sgfsi_library *library = sgfsi_library_open(path, err);
    if (library == NULL) return NULL;
    const sgfs_user_model *calls = sgfsi_library_find(library, symbol);
    sgfs_status status = calls != NULL ? check_calls(calls, path, err)
                                       : sgfsi_fail(err, SGFS_EDATA,
                                                    "%.200s: exports no `%s`: a model defines "
                                                    "`const sgfs_user_model %s` (sgfs.h).",
                                                    path, symbol, symbol);
    if (status == SGFS_OK) return make_kind(calls, path, library, err);
    sgfsi_library_close(library);
    return NULL;
}

sgfs_model *sgfsi_user_hand_over(const sgfs_model_kind *kind, sgfs_model *m) {
    if (m == NULL) sgfsi_user_free(kind);
    else m->own_kind = kind;
    return m;
}

/* A run file says which model it is of by name. */
static bool is_taken(const char *name) {
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) {
        if (strcmp((*k)->name, name) == 0) return true;
    }
    return sgfsi_user_is_file(name);
}

const sgfs_model_kind *sgfsi_user_kind(const sgfs_user_model *calls, const char *what,
                                       sgfs_err *err) {
    if (check_calls(calls, what, err) != SGFS_OK) return NULL;
    if (calls->name != NULL && is_taken(calls->name)) {
        sgfsi_fail(err, SGFS_EUSAGE,
                   "%.200s: \"%.200s\" is the name of a built-in model or of a file; choose "
                   "another.",
                   what, calls->name);
        return NULL;
    }
    bool named = calls->name != NULL && calls->name[0] != '\0';
    return make_kind(calls, named ? calls->name : "user", NULL, err);
}

sgfs_model *sgfs_model_user(const sgfs_user_model *user_model, const sgfs_data *data,
                            const sgfs_config *cfg, sgfs_err *err) {
    if (data == NULL) return sgfsi_fail_handle(err, "sgfs_model_user"), NULL;
    if (user_model == NULL || cfg == NULL) {
        sgfsi_fail(err, SGFS_EUSAGE, "sgfs_model_user: a model and a config are needed.");
        return NULL;
    }
    const sgfs_model_kind *kind = sgfsi_user_kind(user_model, "sgfs_model_user", err);
    if (kind == NULL) return NULL;
    return sgfsi_user_hand_over(kind, sgfsi_model_create(kind, data, cfg, NULL, err));
}

/* A kind of the table, or one made from a file: sgfsi_user_free knows which to free. */
const sgfs_model_kind *sgfsi_find_model(const char *name, sgfs_err *err) {
    if (sgfsi_user_is_file(name)) return load(name, err);
    sgfsi_guess g = {.word = name, .least = INT64_MAX};
    for (const sgfs_model_kind *const *m = sgfsi_models; *m != NULL; m++) {
        if (strcmp((*m)->name, name) == 0) return *m;
        sgfsi_guess_try(&g, (*m)->name);
    }
    sgfsi_fail(err, SGFS_EUSAGE,
               "There is no model \"%s\". Did you mean \"%s\"? `sgfs list models` shows all.", name,
               g.best);
    return NULL;
}
