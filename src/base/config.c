/* SPDX-License-Identifier: MIT
 * config.c: one value per distinct key of the option sets it was made with. Values are kept as
 * text, so that what goes into a run file's header is exactly what was asked for; numbers are
 * checked when set.
 */
#include "base/config.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/stop.h"

const sgfs_option sgfsi_no_options[] = {SGFSI_OPTIONS_END};

typedef struct entry {
    const sgfs_option *row;
    char *value; /* NULL: the default is in force */
    bool given;
    int64_t order; /* given as the order-th, from 1 */
} entry;

struct sgfs_config {
    sgfsi_option_source source;
    int64_t entries;
    entry *entry;
    int64_t orders;     /* values given so far */
    char *rows, *model; /* of the run file that was loaded; NULL: none was */
    sgfsi_log log;      /* with the watcher that copies share */
};

static entry *find(const sgfs_config *cfg, const char *key) {
    for (int64_t i = 0; i < cfg->entries; i++) {
        if (strcmp(cfg->entry[i].row->key, key) == 0) return &cfg->entry[i];
    }
    return NULL;
}

static void drop(sgfsi_watcher *watcher) {
    if (watcher == NULL || atomic_fetch_sub(&watcher->holders, 1) > 1) return;
    if (watcher->close_comm != NULL) watcher->close_comm(watcher->comm);
    free(watcher);
}

void sgfsi_config_share(sgfs_config *cfg, const sgfsi_log *log) {
    atomic_fetch_add(&log->watcher->holders, 1);
    drop(cfg->log.watcher);
    cfg->log.watcher = log->watcher;
}

sgfs_status sgfsi_config_part(sgfs_config *cfg, sgfs_progress_fn on_progress, void *user,
                              sgfs_err *err) {
    sgfsi_watcher *whole = cfg->log.watcher, *part = calloc(1, sizeof *part);
    if (part == NULL) return sgfsi_fail_memory(err, "the options");
    part->holders = 1;
    part->stop.wider = &whole->stop;
    part->comm = whole->comm;
    part->on_progress = on_progress;
    part->user = user;
    cfg->log.watcher = part;
    drop(whole);
    return SGFS_OK;
}

sgfs_config *sgfsi_config_new(sgfsi_option_source source) {
    sgfsi_option_set set;
    int64_t rows = 0;
    for (int64_t i = 0; source(i, &set); i++) {
        for (const sgfs_option *r = set.rows; r->key != NULL; r++) rows++;
    }
    sgfs_config *cfg = calloc(1, sizeof *cfg);
    if (cfg == NULL) return NULL;
    cfg->source = source;
    cfg->entry = calloc((size_t)rows + 1, sizeof *cfg->entry);
    cfg->log.watcher = calloc(1, sizeof *cfg->log.watcher);
    if (cfg->log.watcher != NULL) cfg->log.watcher->holders = 1;
    if (cfg->entry == NULL || cfg->log.watcher == NULL) {
        sgfs_config_free(cfg);
        return NULL;
    }
    for (int64_t i = 0; source(i, &set); i++) {
        for (const sgfs_option *r = set.rows; r->key != NULL; r++) {
            if (find(cfg, r->key) == NULL) cfg->entry[cfg->entries++].row = r;
        }
    }
    return cfg;
}

bool sgfsi_config_sets(const sgfs_config *cfg, int64_t index, sgfsi_option_set *set) {
    return cfg->source(index, set);
}

void sgfs_config_free(sgfs_config *cfg) {
    if (cfg == NULL) return;
    for (int64_t i = 0; i < cfg->entries; i++) free(cfg->entry[i].value);
    drop(cfg->log.watcher);
    free(cfg->entry);
    free(cfg->rows);
    free(cfg->model);
    free(cfg);
}

sgfs_config *sgfsi_config_copy(const sgfs_config *cfg) {
    sgfs_config *copy = sgfsi_config_new(cfg->source);
    if (copy == NULL) return NULL;
    sgfsi_config_share(copy, &cfg->log);
    copy->log = cfg->log;
    copy->orders = cfg->orders;
    for (int64_t i = 0; i < cfg->entries; i++) {
        if (cfg->entry[i].value == NULL) continue;
        copy->entry[i].given = cfg->entry[i].given;
        copy->entry[i].order = cfg->entry[i].order;
        copy->entry[i].value = strdup(cfg->entry[i].value);
        if (copy->entry[i].value == NULL) {
            sgfs_config_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* ---- checking a value against its row -------------------------------------------------------- */

static bool is_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    if (strchr(value, '|') != NULL) return false; /* "with|without" is two of them */
    for (const char *c = choices; n > 0 && c != NULL; c = strchr(c, '|')) {
        if (*c == '|') c++;
        if (strncmp(c, value, n) == 0 && (c[n] == '|' || c[n] == '\0')) return true;
    }
    return false;
}

static sgfs_status check_number(const sgfs_option *row, const char *value, sgfs_err *err) {
    double x;
    int64_t i;
    bool whole = row->type == SGFS_INTEGER;
    if (whole ? !sgfsi_text_int(value, &i) : !sgfsi_text_num(value, &x)) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s takes %s, not \"%s\".", row->flag,
                          whole ? "a whole number" : "a number", value);
    }
    if (whole) x = (double)i;
    if (!isfinite(x) || (row->min <= row->max && (x < row->min || x > row->max))) {
        char low[SGFSI_NUM_CHARS], high[SGFSI_NUM_CHARS];
        if (row->min > row->max) {
            return sgfsi_fail(err, SGFS_EUSAGE, "--%s must be a finite number, not %s.", row->flag,
                              value);
        }
        sgfsi_format_num(low, row->min);
        sgfsi_format_num(high, row->max);
        if (row->max >= 1e300) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--%s must be a finite number of at least %s, not %s.", row->flag,
                              low, value);
        }
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s must lie between %s and %s, not %s.", row->flag,
                          low, high, value);
    }
    return SGFS_OK;
}

static sgfs_status check_value(const sgfs_option *row, const char *value, sgfs_err *err) {
    if (strcmp(value, row->value) == 0)
        return SGFS_OK; /* "auto" and "" where they are the default */
    switch (row->type) {
    case SGFS_NUMBER:
    case SGFS_INTEGER: return check_number(row, value, err);
    case SGFS_FLAG:
        if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ||
            is_choice(row->choices, value))
            return SGFS_OK;
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s is true%s%s or false, not \"%s\".", row->flag,
                          row->choices != NULL ? ", " : "",
                          row->choices != NULL ? row->choices : "", value);
    case SGFS_CHOICE:
        if (is_choice(row->choices, value)) return SGFS_OK;
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s is one of %s, not \"%s\".", row->flag,
                          row->choices, value);
    case SGFS_TEXT:
    case SGFS_FILE: return SGFS_OK;
    }
    return SGFS_OK;
}

static sgfs_status unknown_key(const sgfs_config *cfg, const char *key, sgfs_err *err) {
    sgfsi_guess g = {.word = key, .least = INT64_MAX};
    for (int64_t i = 0; i < cfg->entries; i++) sgfsi_guess_try(&g, cfg->entry[i].row->key);
    const char *near = sgfsi_guess_near(&g);
    if (near != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "There is no option \"%s\". Did you mean \"%s\"?", key,
                          near);
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "There is no option \"%s\"; `sgfs help sample --help-all` lists them.", key);
}

static sgfs_status store(entry *e, const char *value, bool given, sgfs_err *err) {
    char *copy = strdup(value);
    if (copy == NULL) return sgfsi_fail_memory(err, e->row->key);
    free(e->value);
    e->value = copy;
    e->given = given;
    return SGFS_OK;
}

sgfs_status sgfs_config_set(sgfs_config *cfg, const char *key, const char *value, sgfs_err *err) {
    if (cfg == NULL || key == NULL || value == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_config_set: a config, a key and a value are needed.");
    }
    entry *e = find(cfg, key);
    if (e == NULL) return unknown_key(cfg, key, err);
    sgfs_status status = check_value(e->row, value, err);
    if (status == SGFS_OK) status = store(e, value, true, err);
    if (status == SGFS_OK) e->order = ++cfg->orders;
    return status;
}

sgfs_status sgfsi_config_set_num(sgfs_config *cfg, const char *key, double value, sgfs_err *err) {
    char text[SGFSI_NUM_CHARS];
    sgfsi_format_num(text, value);
    return sgfs_config_set(cfg, key, text, err);
}

sgfs_status sgfsi_config_default(sgfs_config *cfg, const char *key, const char *value,
                                 sgfs_err *err) {
    entry *e = find(cfg, key);
    assert(e != NULL);
    return store(e, value, e->given, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *sgfs_config_get(const sgfs_config *cfg, const char *key) {
    if (cfg == NULL || key == NULL) return NULL;
    const entry *e = find(cfg, key);
    if (e == NULL && strcmp(key, "data.path") == 0) return cfg->rows;
    if (e == NULL) return strcmp(key, "model.name") == 0 ? cfg->model : NULL;
    return e->value != NULL ? e->value : e->row->value;
}

const sgfs_option *sgfsi_config_row(const sgfs_config *cfg, const char *key) {
    const entry *e = find(cfg, key);
    return e == NULL ? NULL : e->row;
}

const char *sgfsi_config_text(const sgfs_config *cfg, const char *key) {
    const char *value = sgfs_config_get(cfg, key);
    assert(value != NULL);
    return value;
}

double sgfsi_config_num(const sgfs_config *cfg, const char *key) {
    double x;
    return sgfsi_text_num(sgfsi_config_text(cfg, key), &x) ? x : NAN;
}

int64_t sgfsi_config_int(const sgfs_config *cfg, const char *key) {
    int64_t i;
    return sgfsi_text_int(sgfsi_config_text(cfg, key), &i) ? i : -1;
}

bool sgfsi_config_flag(const sgfs_config *cfg, const char *key) {
    return strcmp(sgfsi_config_text(cfg, key), "true") == 0;
}

bool sgfsi_config_auto(const sgfs_config *cfg, const char *key) {
    const char *value = sgfsi_config_text(cfg, key);
    return strcmp(value, "auto") == 0 || value[0] == '\0';
}

bool sgfsi_config_given(const sgfs_config *cfg, const char *key) {
    const entry *e = find(cfg, key);
    return e != NULL && e->given;
}

int64_t sgfsi_config_order(const sgfs_config *cfg, const char *key) {
    const entry *e = find(cfg, key);
    return e != NULL && e->given ? e->order : 0;
}

const sgfs_option *sgfsi_config_next_given(const sgfs_config *cfg, int64_t *last) {
    const sgfs_option *row, *next = NULL;
    int64_t least = INT64_MAX;
    for (int64_t i = 0; (row = sgfsi_config_at(cfg, i)) != NULL; i++) {
        int64_t order = sgfsi_config_order(cfg, row->key);
        if (order <= *last || order >= least) continue;
        least = order;
        next = row;
    }
    *last = least;
    return next;
}

const sgfs_option *sgfsi_config_at(const sgfs_config *cfg, int64_t index) {
    return index < cfg->entries ? cfg->entry[index].row : NULL;
}

void sgfsi_config_keep_origin(sgfs_config *cfg, char *rows, char *model) {
    free(cfg->rows);
    free(cfg->model);
    cfg->rows = rows;
    cfg->model = model;
}

void sgfs_config_on_message(sgfs_config *cfg, sgfs_message_fn on_message, void *user) {
    if (cfg == NULL) return;
    cfg->log.fn = on_message;
    cfg->log.user = user;
}

void sgfs_config_on_progress(sgfs_config *cfg, sgfs_progress_fn on_progress, void *user) {
    if (cfg == NULL) return;
    cfg->log.watcher->on_progress = on_progress;
    cfg->log.watcher->user = user;
}

void sgfs_config_stop(sgfs_config *cfg) {
    if (cfg != NULL) sgfsi_stop_ask(&cfg->log.watcher->stop);
}

const sgfsi_log *sgfsi_config_log(const sgfs_config *cfg) {
    return &cfg->log;
}

bool sgfsi_options_have(const sgfs_option *rows, const char *key) {
    for (const sgfs_option *r = rows; r->key != NULL; r++) {
        if (strcmp(r->key, key) == 0) return true;
    }
    return false;
}

/* ---- settings -------------------------------------------------------------------------------- */

void sgfsi_settings_read(void *settings, const sgfsi_setting *list, const sgfs_config *cfg) {
    for (const sgfsi_setting *s = list; s->key != NULL; s++) {
        void *field = (char *)settings + s->at;
        switch (sgfsi_config_row(cfg, s->key)->type) {
        case SGFS_NUMBER: *(double *)field = sgfsi_config_num(cfg, s->key); break;
        case SGFS_INTEGER: *(int64_t *)field = sgfsi_config_int(cfg, s->key); break;
        case SGFS_FLAG: *(bool *)field = sgfsi_config_flag(cfg, s->key); break;
        case SGFS_TEXT:
        case SGFS_FILE:
        case SGFS_CHOICE: *(const char **)field = sgfsi_config_text(cfg, s->key); break;
        }
    }
}

const char *sgfsi_setting_text(const void *settings, const sgfsi_setting *s, const sgfs_config *cfg,
                               char room[SGFSI_NUM_CHARS]) {
    const void *field = (const char *)settings + s->at;
    const char *text = sgfsi_config_text(cfg, s->key);
    double x, was;
    switch (sgfsi_config_row(cfg, s->key)->type) {
    case SGFS_NUMBER:
        x = *(const double *)field;
        was = sgfsi_config_num(cfg, s->key);
        if (x == was || (isnan(x) && isnan(was))) return text;
        sgfsi_format_num(room, x);
        return room;
    case SGFS_INTEGER:
        if (*(const int64_t *)field == sgfsi_config_int(cfg, s->key)) return text;
        snprintf(room, SGFSI_NUM_CHARS, "%lld", (long long)*(const int64_t *)field);
        return room;
    case SGFS_FLAG: return *(const bool *)field ? "true" : "false";
    case SGFS_TEXT:
    case SGFS_FILE:
    case SGFS_CHOICE: break;
    }
    return *(const char *const *)field;
}
