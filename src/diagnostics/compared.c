/* SPDX-License-Identifier: MIT
 * compared.c: the word of each column, and the label of softmax, that has no coefficient: the
 * others are compared with it; and the units of coefficients. From the recipe and the parameters'
 * names in the header.
 */
#include "diagnostics/compared.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 8, TEXT = 1400, PREFIX = 200 };

typedef struct sentence {
    char text[TEXT];
    int64_t columns;
} sentence;

static void add(sentence *s, const char *column, const char *word) {
    if (s->columns++ < NAMED)
        sgfsi_append(s->text, sizeof s->text, "%s%.60s%s with %.60s", s->columns > 1 ? ", " : "",
                     column, s->columns > 1 ? "" : " is compared", word);
}

/* Is there a coefficient of the column's words: "city=Kiel", or of one label, "oak: city=Kiel"? */
static bool has_words(const sgfs_draws *d, const char *column) {
    char prefix[PREFIX];
    int length = snprintf(prefix, sizeof prefix, "%s=", column);
    if (length >= PREFIX) return false;
    for (int64_t i = 0; i < d->D; i++) {
        const char *name = d->param[i], *label = strstr(name, ": ");
        if (strncmp(name, prefix, (size_t)length) == 0) return true;
        if (label != NULL && strncmp(label + 2, prefix, (size_t)length) == 0) return true;
    }
    return false;
}

static void add_columns(const sgfs_draws *d, sentence *s) {
    const sgfsi_json *recipe = sgfsi_json_get(sgfsi_json_get(d->header, "data"), "recipe");
    for (int64_t k = 0; k < sgfsi_json_length(recipe); k++) {
        const sgfsi_json *step = sgfsi_json_at(recipe, k),
                         *columns = sgfsi_json_get(step, "columns");
        const char *op = sgfsi_json_get_text(step, "op", "");
        bool words = strcmp(op, "categorical") == 0 || strcmp(op, "date") == 0 ||
                     strcmp(op, "formula") == 0;
        if (!words || !sgfsi_json_get_flag(step, "reference")) continue;
        for (int64_t j = 0; j < sgfsi_json_length(columns); j++) {
            const sgfsi_json *of = sgfsi_json_at(columns, j), *list = sgfsi_json_get(of, "words");
            int64_t left_out = sgfsi_json_get_int(of, "left_out", -1);
            const char *column = sgfsi_json_get_text(of, "name", "");
            if (left_out < 0 || left_out >= sgfsi_json_length(list)) continue;
            const char *word = sgfsi_json_as_text(sgfsi_json_at(list, left_out));
            if (word != NULL && has_words(d, column)) add(s, column, word);
        }
    }
}

/* Softmax has one row of coefficients less than labels: the first label whose row is not where it
 * would be is the one that is left out. */
static void add_label(const sgfs_draws *d, sentence *s) {
    const sgfsi_json *labels = sgfsi_json_get(sgfsi_json_get(d->header, "model_info"), "labels");
    const char *model = sgfsi_json_get_text(d->header, "model", ""), *name;
    int64_t rows = 0, cols = 0, offset = 0, count = sgfsi_json_length(labels);
    if (strcmp(model, "softmax") != 0 || !sgfsi_draws_block(d, 0, &name, &rows, &cols, &offset) ||
        rows != count - 1)
        return;
    for (int64_t k = 0; k < count; k++) {
        char prefix[PREFIX];
        const char *label = sgfsi_json_as_text(sgfsi_json_at(labels, k));
        if (label == NULL) return;
        snprintf(prefix, sizeof prefix, "%.100s: ", label);
        if (k < rows && strncmp(d->param[offset + k * cols], prefix, strlen(prefix)) == 0) continue;
        const char *target = sgfsi_json_get_text(sgfsi_json_get(d->header, "data"), "target", "");
        add(s, target[0] != '\0' ? target : "the target", label);
        return;
    }
}

const char *sgfsi_compared_with(const sgfs_draws *d, sgfsi_arena *arena) {
    sentence s = {.columns = 0};
    add_label(d, &s);
    add_columns(d, &s);
    if (s.columns > NAMED)
        sgfsi_append(s.text, sizeof s.text, ", and %lld more columns with a word each",
                     (long long)s.columns - NAMED);
    if (s.columns > 0) sgfsi_append(s.text, sizeof s.text, ".");
    return sgfsi_arena_text(arena, s.text);
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool has_step(const sgfs_draws *d, const char *op) {
    const sgfsi_json *recipe = sgfsi_json_get(sgfsi_json_get(d->header, "data"), "recipe");
    bool found = false;
    for (int64_t k = 0; k < sgfsi_json_length(recipe); k++)
        found = found || strcmp(sgfsi_json_get_text(sgfsi_json_at(recipe, k), "op", ""), op) == 0;
    return found;
}

const char *sgfsi_units_of(const sgfs_draws *d, sgfsi_arena *arena) {
    const sgfsi_json *data = sgfsi_json_get(d->header, "data"),
                     *labels = sgfsi_json_get(sgfsi_json_get(d->header, "model_info"), "labels");
    const char *model = sgfsi_json_get_text(d->header, "model", ""),
               *target = sgfsi_json_get_text(data, "target", "the target"),
               *asked = sgfsi_json_get_text(sgfsi_json_get(d->header, "config"), "data.standardize",
                                            "false"),
               *label = sgfsi_json_as_text(sgfsi_json_at(labels, 1));
    char to[200], text[700];
    if (!sgfsi_json_get_flag(d->header, "regression")) return "";
    if (strcmp(model, "logistic") == 0)
        snprintf(to, sizeof to, "the log odds of %.60s%s%.60s", target, label != NULL ? " = " : "",
                 label != NULL ? label : "");
    else if (strcmp(model, "softmax") == 0) snprintf(to, sizeof to, "the log odds of its label");
    else if (strcmp(model, "poisson") == 0) snprintf(to, sizeof to, "the log of %.60s", target);
    else snprintf(to, sizeof to, "%.60s", target);
    if (has_step(d, "standardize"))
        snprintf(text, sizeof text,
                 "NOT IN YOUR UNITS: the columns were standardised before this run (--standardize "
                 "of sgfs pack, or before --project). A coefficient is what one standard deviation "
                 "of its column adds to %s.",
                 to);
    else if (has_step(d, "project"))
        snprintf(text, sizeof text,
                 "A coefficient is what one unit of a random combination of columns (--project) "
                 "adds to %s.",
                 to);
    else
        snprintf(text, sizeof text,
                 "A coefficient is what one unit of its column, as it was given, adds to "
                 "%s%s.",
                 to,
                 strcmp(asked, "false") == 0 ? ""
                                             : " (--standardize is for the chains, not for these "
                                               "numbers)");
    return sgfsi_arena_text(arena, text);
}
