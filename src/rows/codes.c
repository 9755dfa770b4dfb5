/* SPDX-License-Identifier: MIT
 * codes.c: numbers that stand for a missing value: -999, -99, 9999.
 *
 * Such a number is written with nines (or is negative, with sevens or eights), is the smallest or
 * the largest of its column, and stands in several rows; below zero no other value is, and above it
 * is farther from all others than these are from one another. Columns whose smallest or largest
 * value is no such number cost nothing; for the others rows are looked at, up to a limit.
 *
 * A warning only: what such a number means is the user's to say.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows/pages.h"
#include "rows/rows.h"

enum { BLOCK = 256, MOST_ROWS = 65536, FEWEST = 3, OTHERS = 5, NAMED = 4 };

/* A column with a number that may be a code. */
typedef struct suspect {
    int64_t at; /* of a row's numbers */
    const sgfsi_column *column;
    double code, low, high; /* the least and the largest of the others */
    int64_t rows, others;   /* with the code; with others */
} suspect;

/* 99, 999, ...; -9, -99, ... and the same with eights and sevens. */
static bool is_code(double x) {
    char text[32];
    if (x != floor(x) || fabs(x) > 1e8) return false;
    int length = snprintf(text, sizeof text, "%.0f", fabs(x));
    bool digit = text[0] == '9' || (x < 0 && (text[0] == '8' || text[0] == '7'));
    return digit && (x < 0 || length > 1) && (int)strspn(text, (char[]){text[0], '\0'}) == length;
}

static bool is_found(const suspect *s) {
    if (s->rows < FEWEST || s->others < OTHERS) return false;
    return s->code < 0 ? s->low >= 0 : s->code - s->high > s->high - s->low && s->high > s->low;
}

static void look(suspect *s, double x) {
    if (x == s->code) {
        s->rows++;
        return;
    }
    s->others++;
    s->low = fmin(s->low, x);
    s->high = fmax(s->high, x);
}

static void tell(const sgfs_data *d, const sgfsi_log *log, const suspect *list, int64_t count,
                 int64_t looked) {
    char others[240] = "";
    const suspect *first = NULL;
    int64_t found = 0;
    for (const suspect *s = list; s < list + count; s++) {
        if (!is_found(s)) continue;
        if (first == NULL) first = s;
        else if (found <= NAMED)
            sgfsi_append(others, sizeof others, "%s\"%.40s\" (%.10g)", found > 1 ? ", " : "",
                         s->column->name, s->code);
        found++;
    }
    if (first == NULL) return;
    sgfsi_warn(d->warnings, log,
               "Column \"%.60s\" holds %.10g in %lld of %lld rows, and else numbers from %.6g to "
               "%.6g: if it stands for a missing value, write NA in its place and see --na.%s%s%s",
               first->column->name, first->code, (long long)first->rows, (long long)looked,
               first->low, first->high, found > 1 ? " So do " : "", others,
               found > NAMED + 1 ? " and others."
               : found > 1       ? "."
                                 : "");
}

sgfs_status sgfsi_data_warn_codes(sgfs_data *d, const sgfsi_log *log, sgfs_err *err) {
    int64_t count = 0, looked = 0;
    if (d->shift != NULL || d->table.type == SGFSI_CSR || d->N < FEWEST + OTHERS) return SGFS_OK;
    if (d->table.parts > 0 && d->table.part[0].packed != NULL) return SGFS_OK;
    suspect *list = calloc((size_t)d->features + 1, sizeof *list);
    double *block = malloc((size_t)(BLOCK * d->p + 1) * sizeof *block);
    sgfs_status status =
        list != NULL && block != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < d->features && status == SGFS_OK; j++) {
        const sgfsi_column *c = &d->feature[j];
        const bool low = is_code(c->min) && c->min < 0, high = is_code(c->max) && c->max > 0;
        if (c->binary || c->min == c->max || !(low || high)) continue;
        list[count++] = (suspect){.at = j + d->p - d->features,
                                  .column = c,
                                  .code = low ? c->min : c->max,
                                  .low = INFINITY,
                                  .high = -INFINITY};
    }
    sgfsi_pages visit = {0};
    const int64_t rows = d->N < MOST_ROWS ? d->N : MOST_ROWS;
    for (int64_t n; looked < rows && count > 0 && status == SGFS_OK; looked += n) {
        n = rows - looked < BLOCK ? rows - looked : BLOCK;
        status = sgfsi_pages_range(&visit, d, looked, n, err);
        if (status != SGFS_OK) break;
        sgfsi_data_rows_range(d, looked, n, block, NULL);
        for (int64_t i = 0; i < n; i++)
            for (suspect *s = list; s < list + count; s++) look(s, block[i * d->p + s->at]);
    }
    if (status == SGFS_OK) tell(d, log, list, count, looked);
    free(list);
    free(block);
    return status;
}
