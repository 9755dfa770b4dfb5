/* SPDX-License-Identifier: MIT
 * config_file.c: options from a file: a JSON object of keys and values,
 *
 *     {"sampler.kind": "sgld", "sampler.epsilon": "0.0005", "run.chains": 2}
 *
 * Values may be texts, numbers or true and false; they are checked by the same rows as flags.
 *
 * The header of a run (docs/formats.md) has two lists: "config", every option with the value that
 * was in force, and "given", those that somebody asked for, as they were asked for. To repeat a run
 * is to ask for the same again: "given" is read, and what was left to the program is chosen anew,
 * by the same rules from the same data. (Were the choices read back as well, they would count as
 * wishes: refused by samplers that do not read them, and in the way of every other flag.)
 *
 * An object with a member "config" and without "given" (a run of an older version, the answer of
 * `sgfs tune --json`) is read from "config"; there a value that equals its default counts as not
 * given. What concerned that run's output is left out of both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"

enum { MOST_BYTES = 1 << 24 };

/* The value as a flag would give it; false: a list, an object or null. */
static bool value_text(const sgfsi_json *v, char room[SGFSI_NUM_CHARS], const char **text) {
    int64_t i;
    double x;
    bool flag;
    *text = sgfsi_json_as_text(v);
    if (*text != NULL) return true;
    *text = room;
    if (sgfsi_json_as_flag(v, &flag)) *text = flag ? "true" : "false";
    else if (sgfsi_json_as_int(v, &i)) snprintf(room, SGFSI_NUM_CHARS, "%lld", (long long)i);
    else if (sgfsi_json_as_num(v, &x) && x == x) sgfsi_format_num(room, x);
    else return false;
    return true;
}

/* "best.json: " in front of what went wrong. */
static sgfs_status name_file(const char *path, sgfs_err *err) {
    if (err == NULL) return SGFS_EUSAGE;
    const sgfs_err cause = *err;
    return sgfsi_fail(err, cause.code, "%.200s: %.300s", path, cause.text);
}

/* {"epsilon": ...}: a flag's name where its key is needed. */
static sgfs_status suggest_key(const sgfs_config *cfg, const char *name, const char *path,
                               sgfs_err *err) {
    const sgfs_option *row;
    for (int64_t i = 0; (row = sgfsi_config_at(cfg, i)) != NULL; i++) {
        if (strcmp(row->flag, name) != 0) continue;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.200s: there is no option \"%.60s\"; did you mean \"%s\"? (`sgfs list "
                          "options` has all keys.)",
                          path, name, row->key);
    }
    return name_file(path, err);
}

/* A config; what was given for a run; every option of a run, or of a row of tune. */
typedef enum list { PLAIN, GIVEN, RESOLVED } list;

static bool is_of_no_interest(const sgfs_config *cfg, const char *key, const char *text, list of) {
    const sgfs_option *row = sgfsi_config_row(cfg, key);
    if (of == PLAIN) return false;
    return strncmp(key, "output.", 7) == 0 ||
           (of == RESOLVED && row != NULL && strcmp(row->value, text) == 0);
}

static sgfs_status take(sgfs_config *cfg, const sgfsi_json *options, list of, const char *path,
                        sgfs_err *err) {
    const sgfsi_json *v;
    const char *key, *text;
    void *at = NULL;
    while ((v = sgfsi_json_next(options, &at, &key)) != NULL) {
        char room[SGFSI_NUM_CHARS];
        if (!value_text(v, room, &text)) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "%.200s: the value of \"%.100s\" must be a text, a number, true or "
                              "false.",
                              path, key);
        }
        if (is_of_no_interest(cfg, key, text, of)) continue;
        if (sgfs_config_set(cfg, key, text, err) == SGFS_OK) continue;
        return sgfsi_config_row(cfg, key) == NULL ? suggest_key(cfg, key, path, err)
                                                  : name_file(path, err);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_config_take(sgfs_config *cfg, const sgfsi_json *all, const char *path,
                              sgfs_err *err) {
    const sgfsi_json *config = sgfsi_json_get(all, "config"), *given = sgfsi_json_get(all, "given");
    if (!sgfsi_json_is_object(all)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is not a config: an object {\"sampler.kind\": \"sgld\", ...} is "
                          "needed.",
                          path);
    }
    if (!sgfsi_json_is_object(config)) return take(cfg, all, PLAIN, path, err);
    if (sgfsi_json_is_object(given)) return take(cfg, given, GIVEN, path, err);
    return take(cfg, config, RESOLVED, path, err);
}

sgfs_status sgfsi_config_load_json(sgfs_config *cfg, const char *path, sgfs_err *err) {
    size_t length;
    char *text = sgfsi_file_read(path, MOST_BYTES, &length, err);
    if (text == NULL) return sgfsi_why(err);
    sgfsi_json *all = sgfsi_json_parse(text, length, path, err);
    free(text);
    if (all == NULL) return sgfsi_why(err);
    sgfs_status status = sgfsi_config_take(cfg, all, path, err);
    sgfsi_json_free(all);
    return status;
}
