/* SPDX-License-Identifier: MIT
 * config.h: values for option rows, by key. Knows the rows it was made with and nothing else.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/number.h"

typedef enum sgfs_option_type {
    SGFS_NUMBER,
    SGFS_INTEGER,
    SGFS_FLAG, /* "true" or "false", or one of its choices; on the command line --name, --no-name or
                  --name CHOICE */
    SGFS_TEXT,
    SGFS_FILE, /* a text that names a file; what is in it is a part of the run */
    SGFS_CHOICE
} sgfs_option_type;

/* One row. A table of them ends with a row whose key is NULL. A key may appear in the tables of
 * several kinds; type and default must then agree. */
typedef struct sgfs_option {
    const char *key;  /* "sampler.alpha" */
    const char *flag; /* "alpha" */
    sgfs_option_type type;
    const char *value; /* default; "auto": the program chooses, and says what; "": none */
    double min, max;   /* bounds of numbers, both allowed; min > max means free */
    const char
        *choices;     /* SGFS_CHOICE: "with|without"; SGFS_FLAG: beside true and false; or NULL */
    const char *help; /* one line, no full stop */
} sgfs_option;

/* What a sampler must have to read an option: nothing, minibatches, a Fisher matrix. */
typedef enum sgfsi_need { SGFSI_ANY, SGFSI_MINIBATCH, SGFSI_MATRIX } sgfsi_need;

/* One owner of options and its rows: {"sampler", "sgfs", rows}; kind "" where the stage owns them.
 */
typedef struct sgfsi_option_set {
    const char *stage, *kind;
    const sgfs_option *rows;
    sgfsi_need need;
} sgfsi_option_set;
/* The index-th set; false past the last. */
typedef bool (*sgfsi_option_source)(int64_t index, sgfsi_option_set *set);

extern const sgfs_option sgfsi_no_options[]; /* for kinds that have none */
#define SGFSI_OPTIONS_END                                                                          \
    { NULL, NULL, SGFS_TEXT, NULL, 0, 0, NULL, NULL }

/* The field of a struct of settings that has an option's value, by the option's type: double,
 * int64_t, bool, or a text that lives as long as the config it was read from. A list ends with a
 * NULL key. */
typedef struct sgfsi_setting {
    const char *key;
    size_t at;
    const char *word; /* before its value in a run's title; NULL: it is not in the title */
    bool always;      /* in the title whenever it is not "auto"; else where it is not the default */
} sgfsi_setting;
#define SGFSI_SETTINGS_END                                                                         \
    { NULL, 0, NULL, false }

/* Fill the fields of a list. "auto" and "" become NaN, -1 or the text itself. */
void sgfsi_settings_read(void *settings, const sgfsi_setting *list, const sgfs_config *cfg);
/* A value in force as text: as cfg has it where it is that, else written into room. */
const char *sgfsi_setting_text(const void *settings, const sgfsi_setting *s, const sgfs_config *cfg,
                               char room[SGFSI_NUM_CHARS]);

/* Is there such a key among these rows? */
bool sgfsi_options_have(const sgfs_option *rows, const char *key);

sgfs_config *sgfsi_config_new(sgfsi_option_source source);
/* The index-th option set that it was made with; false past the last. */
bool sgfsi_config_sets(const sgfs_config *cfg, int64_t index, sgfsi_option_set *set);
const sgfs_option *sgfsi_config_row(const sgfs_config *cfg, const char *key);
const sgfsi_log *sgfsi_config_log(const sgfs_config *cfg);
/* Whoever waits for work with that log waits for work with this config. */
void sgfsi_config_share(sgfs_config *cfg, const sgfsi_log *log);
/* A copy of a config, which outlives it, is for a part of the work: how far that is hears
 * on_progress alone, and it stops where the whole does. */
sgfs_status sgfsi_config_part(sgfs_config *cfg, sgfs_progress_fn on_progress, void *user,
                              sgfs_err *err);

/* The value in force. The key must exist (asserted); "auto" and "" read as NaN, -1 or the text
 * itself. */
double sgfsi_config_num(const sgfs_config *cfg, const char *key);
int64_t sgfsi_config_int(const sgfs_config *cfg, const char *key);
bool sgfsi_config_flag(const sgfs_config *cfg, const char *key);
const char *sgfsi_config_text(const sgfs_config *cfg, const char *key);
bool sgfsi_config_auto(const sgfs_config *cfg, const char *key);  /* "auto" or "" is in force */
bool sgfsi_config_given(const sgfs_config *cfg, const char *key); /* set by the caller */
/* Its place among the values that were set: larger is later; 0: it was not. */
int64_t sgfsi_config_order(const sgfs_config *cfg, const char *key);
/* Walk the options that were set, in the order in which they were; *last begins with 0. NULL past
 * the last. */
const sgfs_option *sgfsi_config_next_given(const sgfs_config *cfg, int64_t *last);
/* Walk the distinct rows in order of their tables; NULL past the last. */
const sgfs_option *sgfsi_config_at(const sgfs_config *cfg, int64_t index);
/* sgfs_config_set with a number. */
sgfs_status sgfsi_config_set_num(sgfs_config *cfg, const char *key, double value, sgfs_err *err);
/* Another default for this config: the value is not marked as given by the caller, nor checked. */
sgfs_status sgfsi_config_default(sgfs_config *cfg, const char *key, const char *value,
                                 sgfs_err *err);
sgfs_config *sgfsi_config_copy(const sgfs_config *cfg); /* less what keep_origin says */

/* config_file.c: every option of a JSON file, or of the JSON value `all` that was read from
 * path. */
sgfs_status sgfsi_config_load_json(sgfs_config *cfg, const char *path, sgfs_err *err);
sgfs_status sgfsi_config_take(sgfs_config *cfg, const sgfsi_json *all, const char *path,
                              sgfs_err *err);
/* What "data.path" and "model.name" say; both malloc'ed, taken over. */
void sgfsi_config_keep_origin(sgfs_config *cfg, char *rows, char *model);
