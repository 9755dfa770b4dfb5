/* SPDX-License-Identifier: MIT
 * labels.c: which values of the target are which class.
 *
 * A target's column holds numbers, or the numbers of its texts in order of appearance. Classes are
 * the distinct values, in the order of numbers or of the alphabet, and are known by their text from
 * there on: a run file keeps the texts, and a later file, whose texts may appear in another order,
 * is matched by them.
 */
#include "model/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/model.h"

enum { MOST_CODES = 4096 };
static const double few = 10; /* rows of a label */

int64_t sgfsi_labels_find(const sgfsi_labels *l, double y) {
    if (l->codes > 0) return -1; /* the table has them all */
    for (int64_t k = 0; k < l->count; k++) {
        if (l->value[k] == y) return k;
    }
    return -1;
}

/* ---- finding them ---------------------------------------------------------------------------- */

typedef struct label {
    double value;
    const char *name;
} label;

static int by_name(const void *a, const void *b) {
    return strcmp(((const label *)a)->name, ((const label *)b)->name);
}

static const char *name_number(sgfs_model *m, double value) {
    char number[SGFSI_NUM_CHARS];
    sgfsi_format_num(number, value);
    return sgfsi_arena_text(&m->arena, number);
}

static sgfs_status refuse(const sgfs_model *m, int64_t most, const label *l, int64_t found,
                          sgfs_err *err) {
    const sgfs_data *d = m->data;
    if (found == 1) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: every row of the target \"%s\" is %s; model %s needs at least two "
                          "classes.",
                          d->path, d->target.name, l[0].name, m->kind->name);
    }
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)most);
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s: the target \"%s\" has more than %s values (%.40s, %.40s, %.40s%s), too many for model "
        "%s%s.%s",
        d->path, d->target.name, most == 2 ? "two" : number, l[0].name, l[1].name, l[2].name,
        found > 3 ? ", ..." : "", m->kind->name, most == 2 ? " (softmax takes more)" : "",
        d->target_guessed ? "" : " Is --target the right column?");
}

/* The distinct targets, named and in order. */
static sgfs_status look(sgfs_model *m, int64_t most, label *l, int64_t *count, sgfs_err *err) {
    int64_t cap = most + 1; /* one more than allowed, to be named */
    double *value = malloc((size_t)(cap + 1) * sizeof *value);
    if (value == NULL) return sgfsi_fail_memory(err, "the labels");
    int64_t found = sgfsi_data_target_values(m->data, cap, value),
            shown = found > cap ? cap : found;
    for (int64_t k = 0; k < shown; k++) {
        const char *word = sgfsi_data_target_word(m->data, value[k]); /* none: tampered with */
        l[k] = (label){value[k], word != NULL ? word : name_number(m, value[k])};
    }
    free(value);
    *count = found;
    if (sgfsi_arena_failed(&m->arena)) return sgfsi_fail_memory(err, "the labels");
    if (found < 2 || found > most) return refuse(m, most, l, found, err);
    if (sgfsi_data_target_is_text(m->data)) qsort(l, (size_t)found, sizeof *l, by_name);
    return SGFS_OK;
}

/* The number that stands for label k in this data's target; one that no row has where the label is
 * new to it. */
static double value_of(const sgfs_data *d, const char *name, int64_t k) {
    double value;
    if (!d->has_target) return (double)k;
    if (!sgfsi_data_target_is_text(d))
        return sgfsi_text_num(name, &value) ? value : -1e300 * (1 + 1e-6 * (double)k);
    int64_t words = sgfsi_data_target_words(d);
    for (int64_t i = 0; i < words; i++) {
        if (strcmp(sgfsi_data_target_word(d, (double)i), name) == 0) return (double)i;
    }
    return (double)(words + k);
}

/* ---- keeping them ---------------------------------------------------------------------------- */

static sgfs_status keep(sgfs_model *m, const label *l, int64_t count, sgfs_err *err) {
    sgfsi_labels *out = &m->labels;
    double largest = 0;
    bool whole = true;
    out->name = sgfsi_arena_alloc(&m->arena, count, sizeof *out->name);
    out->value = SGFSI_DOUBLES(&m->arena, count);
    if (out->name == NULL || out->value == NULL) return sgfsi_fail_memory(err, "the labels");
    out->count = count;
    for (int64_t k = 0; k < count; k++) {
        out->name[k] = sgfsi_arena_text(&m->arena, l[k].name);
        out->value[k] = l[k].value;
        whole = whole && l[k].value >= 0 && l[k].value == floor(l[k].value);
        largest = fmax(largest, l[k].value);
    }
    if (!whole || largest >= MOST_CODES) return SGFS_OK;
    out->code = sgfsi_arena_alloc(&m->arena, (int64_t)largest + 1, sizeof *out->code);
    if (out->code == NULL) return sgfsi_fail_memory(err, "the labels");
    out->codes = (int64_t)largest + 1;
    for (int64_t i = 0; i < out->codes; i++) out->code[i] = -1;
    for (int64_t k = 0; k < count; k++) {
        out->code[(int64_t)out->value[k]] = (int32_t)k;
    }
    return SGFS_OK;
}

/* Rows of each class, from the list a packed file has of them, or by counting. rows: of labels. */
static void count_rows(const sgfs_model *m, double *rows) {
    enum { BLOCK = 256 };
    double y[BLOCK], weight[BLOCK];
    const double *value, *value_rows;
    int64_t listed =
        m->data->weight == NULL ? sgfsi_data_target_list(m->data, &value, &value_rows) : 0;
    for (int64_t k = 0; k < listed; k++) {
        int64_t class = sgfsi_labels_class(&m->labels, value[k]);
        if (class >= 0) rows[class] += value_rows[k];
    }
    if (listed > 0) return;
    for (int64_t i = 0; i < m->data->N; i += BLOCK) {
        int64_t n = m->data->N - i < BLOCK ? m->data->N - i : BLOCK;
        sgfsi_data_rows_range(m->data, i, n, NULL, y);
        sgfsi_data_weights(m->data, i, n, weight);
        for (int64_t k = 0; k < n; k++) {
            int64_t class = sgfsi_labels_class(&m->labels, y[k]);
            if (class >= 0) rows[class] += weight[k];
        }
    }
}

/* The rarest class tells how many rows carry the information about some of the parameters. */
static sgfs_status count_events(sgfs_model *m, sgfs_err *err) {
    double *rows = calloc((size_t)m->labels.count, sizeof *rows);
    if (rows == NULL) return sgfsi_fail_memory(err, "the labels");
    count_rows(m, rows);
    int64_t rarest = 0;
    for (int64_t k = 0; k < m->labels.count; k++) {
        if (rows[k] <= 0 || rows[k] >= m->events) continue;
        m->events = rows[k];
        rarest = k;
    }
    double constant = 0; /* the log likelihood of the labels' shares alone */
    for (int64_t k = 0; k < m->labels.count; k++)
        if (rows[k] > 0) constant += rows[k] * log(rows[k] / m->data->total);
    if (m->kind->redundant) sgfsi_json_num(m->saved, "constant_loglik", constant);
    if (m->labels.count > 2 && m->events < few && m->restored == NULL) {
        sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
                   "Label \"%.60s\" has %g row%s: its coefficients are the prior's more than the "
                   "data's. Merge rare labels, or leave them out.",
                   m->labels.name[rarest], m->events, m->events == 1 ? "" : "s");
    }
    free(rows);
    return SGFS_OK;
}

double sgfsi_labels_odds(const sgfs_model *m) {
    double others = m->data->total - m->events;
    return m->events > 0 && others > 0 ? fabs(log(others / m->events)) : 0;
}

double sgfsi_labels_far_target(const sgfs_model *m, double y) {
    return (double)sgfsi_labels_class(&m->labels, y);
}

sgfs_status sgfsi_labels_open(sgfs_model *m, int64_t most, sgfs_err *err) {
    const sgfsi_json *before = m->restored != NULL ? sgfsi_json_get(m->restored, "labels") : NULL;
    int64_t count = before != NULL ? sgfsi_json_length(before) : 0;
    if (count > most) return sgfsi_fail(err, SGFS_EUSAGE, "The run has too many labels.");
    label *l = calloc((size_t)most + 2, sizeof *l);
    sgfs_status status = l != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the labels");
    for (int64_t k = 0; status == SGFS_OK && k < count; k++) {
        l[k].name = sgfsi_json_as_text(sgfsi_json_at(before, k));
        l[k].value = value_of(m->data, l[k].name, k);
    }
    bool made_up = m->restored != NULL && sgfsi_json_get(m->restored, "classes") != NULL;
    if (status == SGFS_OK && made_up) { /* data that are yet to be made: labels 0, 1, 2, ... */
        int64_t wanted = sgfsi_json_get_int(m->restored, "classes", 0);
        count = wanted < most ? wanted : most;
        for (int64_t k = 0; k < count; k++) l[k] = (label){(double)k, name_number(m, (double)k)};
    } else if (status == SGFS_OK && before == NULL) {
        status = look(m, most, l, &count, err);
    }
    if (status == SGFS_OK) status = keep(m, l, count, err);
    if (status == SGFS_OK && sgfsi_arena_failed(&m->arena))
        status = sgfsi_fail_memory(err, "the labels");
    free(l);
    if (status != SGFS_OK) return status;
    sgfsi_json *names = sgfsi_json_array_in(m->saved, "labels");
    const char **name = m->labels.name;
    for (int64_t k = 0; k < count; k++) sgfsi_json_text(names, NULL, name[k]);
    bool found = before == NULL && !made_up;
    if (found && count == 2 && (strcmp(name[0], "0") != 0 || strcmp(name[1], "1") != 0)) {
        sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE, "Target \"%s\": %s counts as 0, %s as 1.",
                  m->data->target.name, name[0], name[1]);
    }
    return m->data->has_target ? count_events(m, err) : SGFS_OK;
}
