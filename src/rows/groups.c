/* SPDX-License-Identifier: MIT
 * groups.c: from the columns that group rows to a number for each row's group.
 *
 * A column holds numbers, or words by their numbers. Its distinct values, in order, are the levels;
 * a factor of several columns has the combinations that occur. Rows of the table that are left out
 * (--split, --limit) have no say in which levels there are.
 */
#include "rows/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/number.h"
#include "rows/rows.h"

/* ---- words ----------------------------------------------------------------------------------- */

sgfs_status sgfsi_groups_keep_words(sgfs_data *d, sgfsi_group_words *kept, sgfs_err *err) {
    const sgfsi_table *t = &d->table;
    *kept = (sgfsi_group_words){.columns = 0};
    if (t->role == NULL || t->dictionary == NULL) return SGFS_OK;
    kept->name = sgfsi_arena_alloc(&d->arena, t->cols + 1, sizeof *kept->name);
    kept->words = sgfsi_arena_alloc(&d->arena, t->cols + 1, sizeof *kept->words);
    if (kept->name == NULL || kept->words == NULL) return sgfsi_fail_memory(err, "the groups");
    for (int64_t j = 0; j < t->cols; j++) {
        const sgfsi_dictionary *from = &t->dictionary[j];
        if (t->role[j] != SGFSI_ROLE_GROUP || from->count == 0) continue;
        sgfsi_dictionary *to = &kept->words[kept->columns];
        kept->name[kept->columns++] = sgfsi_arena_text(&d->arena, t->names[j]);
        to->word = sgfsi_arena_alloc(&d->arena, from->count, sizeof *to->word);
        for (; to->word != NULL && to->count < from->count; to->count++)
            to->word[to->count] = sgfsi_arena_text(&d->arena, from->word[to->count]);
    }
    return sgfsi_arena_failed(&d->arena) ? sgfsi_fail_memory(err, "the groups") : SGFS_OK;
}

static const sgfsi_dictionary *words_of(const sgfsi_group_words *kept, const char *name) {
    for (int64_t k = 0; k < kept->columns; k++)
        if (strcmp(kept->name[k], name) == 0) return &kept->words[k];
    return NULL;
}

/* ---- factors --------------------------------------------------------------------------------- */

static int64_t place_of(const double *sorted, int64_t count, double x) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (sorted[mid] < x) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* cell (by row of the table) becomes the place among the distinct values of the rows in use;
 * *value: those, malloc'ed. Returns how many; 0: memory is out. */
static int64_t number_values(const sgfs_data *d, double *cell, double **value) {
    double *sorted = *value = malloc((size_t)d->N * sizeof *sorted);
    if (sorted == NULL) return 0;
    for (int64_t i = 0; i < d->N; i++) sorted[i] = cell[sgfsi_data_table_row(d, i)];
    qsort(sorted, (size_t)d->N, sizeof *sorted, sgfsi_by_size);
    int64_t count = 0;
    for (int64_t i = 0; i < d->N; i++)
        if (count == 0 || sorted[i] != sorted[count - 1]) sorted[count++] = sorted[i];
    for (int64_t i = 0; i < d->N; i++) {
        double *x = &cell[sgfsi_data_table_row(d, i)];
        *x = (double)place_of(sorted, count, *x);
    }
    return count;
}

/* Column `name` of the table, all of whose cells in use are finite and exact. */
static sgfs_status read_cells(const sgfs_data *d, const char *name, double *cell, sgfs_err *err) {
    const sgfsi_table *t = &d->table;
    int64_t j = 0;
    char where[320];
    while (j < t->cols && (t->role[j] != SGFSI_ROLE_GROUP || strcmp(t->names[j], name) != 0)) j++;
    if (j == t->cols)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --effects asks for column \"%.60s\", which is not there by that "
                          "name.",
                          d->path, name);
    sgfs_status status = sgfsi_data_read_column(d, j, cell, err);
    double most = t->type == SGFSI_F32 ? 16777216.0 : 9007199254740992.0;
    for (int64_t i = 0; i < d->N && status == SGFS_OK; i++) {
        int64_t at = sgfsi_data_table_row(d, i);
        if (fabs(cell[at]) <= most) continue;
        status = sgfsi_fail(err, SGFS_EDATA, "%s, column \"%.60s\" holds %s.",
                            sgfsi_table_where(t, d->path, at, where, sizeof where), name,
                            isfinite(cell[at])
                                ? "a number that is too large to tell neighbours apart: number the "
                                  "groups from 1, or keep numbers as f64"
                                : "no finite number, and no word");
    }
    return status;
}

void sgfsi_level_append(char text[SGFSI_LEVEL_ROOM], int64_t c, const char *word, double x) {
    char number[SGFSI_NUM_CHARS];
    size_t used = c > 0 ? strlen(text) : 0;
    if (word == NULL) sgfsi_format_num(number, x);
    snprintf(text + used, SGFSI_LEVEL_ROOM - used, "%s%.250s", c > 0 ? ":" : "",
             word != NULL ? word : number);
}

static const char *name_level(sgfs_data *d, int64_t columns, const sgfsi_dictionary *const *words,
                              double *const *value, const int64_t *place) {
    char text[SGFSI_LEVEL_ROOM];
    for (int64_t c = 0; c < columns; c++) {
        double x = value[c][place[c]];
        bool word = words[c] != NULL && x >= 0 && x < (double)words[c]->count;
        sgfsi_level_append(text, c, word ? words[c]->word[(int64_t)x] : NULL, x);
    }
    return sgfsi_arena_text(&d->arena, text);
}

/* Rows are put together by one column after the other, and numbered anew each time: numbers of
 * combinations that do not occur would soon be too large to tell neighbours apart. */
static sgfs_status open_factor(sgfs_data *d, const sgfsi_term_spec *spec,
                               const sgfsi_group_words *kept, const char *name,
                               sgfsi_factor *factor, sgfs_err *err) {
    const int64_t rows = d->table.rows;
    double *cell = malloc((size_t)(rows * (spec->columns + 1)) * sizeof *cell);
    double *value[SGFSI_MOST_NESTED] = {NULL}, *key = NULL, *met = NULL;
    int64_t levels = 1;
    const sgfsi_dictionary *words[SGFSI_MOST_NESTED];
    sgfs_status status = cell != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the groups");
    for (int64_t c = 0; c < spec->columns && status == SGFS_OK; c++) {
        double *own = cell + c * rows;
        words[c] = words_of(kept, spec->column[c]);
        factor->column[c] = sgfsi_arena_text(&d->arena, spec->column[c]);
        factor->words[c] = words[c] != NULL;
        status = read_cells(d, spec->column[c], own, err);
        if (status != SGFS_OK) break;
        int64_t count = number_values(d, own, &value[c]);
        if ((double)levels * (double)count > 9007199254740992.0)
            status =
                sgfsi_fail(err, SGFS_EDATA, "%s: \"%.60s\" has more groups than can be told apart.",
                           d->path, name);
        if (c == 0) key = memcpy(cell + spec->columns * rows, own, (size_t)rows * sizeof *key);
        for (int64_t i = 0; i < rows && c > 0; i++) key[i] = key[i] * (double)count + own[i];
        levels = count;
        if (c > 0 && count > 0 && status == SGFS_OK) {
            levels = number_values(d, key, &met);
            free(met);
        }
        if (levels == 0) status = sgfsi_fail_memory(err, "the groups");
    }
    int32_t *code = sgfsi_arena_alloc(&d->arena, rows, sizeof *code);
    factor->level = sgfsi_arena_alloc(&d->arena, levels, sizeof *factor->level);
    if (status == SGFS_OK && (code == NULL || factor->level == NULL))
        status = sgfsi_fail_memory(err, "the groups");
    if (status == SGFS_OK) memset(code, -1, (size_t)rows * sizeof *code);
    for (int64_t i = 0; i < d->N && status == SGFS_OK; i++) {
        int64_t at = sgfsi_data_table_row(d, i), place[SGFSI_MOST_NESTED];
        code[at] = (int32_t)key[at];
        if (factor->level[code[at]] != NULL) continue;
        for (int64_t c = 0; c < spec->columns; c++) place[c] = (int64_t)cell[c * rows + at];
        factor->level[code[at]] = name_level(d, spec->columns, words, value, place);
        if (factor->level[code[at]] == NULL) status = sgfsi_fail_memory(err, "the groups");
    }
    factor->name = name;
    factor->columns = spec->columns;
    factor->code = code;
    factor->levels = levels;
    free(cell);
    for (int c = 0; c < SGFSI_MOST_NESTED; c++) free(value[c]);
    return status;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static sgfs_status open_term(sgfs_data *d, const sgfsi_term_spec *spec, sgfsi_term *t,
                             sgfs_err *err) {
    t->intercept = spec->intercept;
    t->correlated = spec->correlated;
    if (t->intercept) t->effect[t->q++] = "intercept";
    for (int64_t k = 0; k < spec->slopes; k++) {
        const size_t length = strlen(spec->slope[k]);
        int64_t found = 0, same = 0;
        while (same < d->features && strcmp(d->feature[same].name, spec->slope[k]) != 0) same++;
        for (int64_t j = 0; j < d->features; j++) {
            /* x, or else all that a term has become: city=Kiel, poly(x, 2)[1] */
            const char *name = d->feature[j].name;
            bool of = strncmp(name, spec->slope[k], length) == 0 &&
                      (name[length] == '=' || name[length] == '[');
            if (same < d->features ? j != same : !of) continue;
            if (t->q == SGFSI_MOST_EFFECTS)
                return sgfsi_fail(err, SGFS_EUSAGE,
                                  "%s: more than eight effects vary between the groups of "
                                  "(... %.60s ...).",
                                  d->path, spec->slope[k]);
            t->slope[t->slopes++] = j;
            t->effect[t->q++] = d->feature[j].name;
            found++;
        }
        if (found == 0)
            return sgfsi_fail(
                err, SGFS_EUSAGE,
                "%s: a slope of \"%.60s\" varies between groups, which is no feature: "
                "add it in front of the brackets, too.",
                d->path, spec->slope[k]);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_groups_open(sgfs_data *d, const sgfsi_group_spec *spec,
                              const sgfsi_group_words *words, sgfs_err *err) {
    sgfsi_groups *g = sgfsi_arena_alloc(&d->arena, 1, sizeof *g);
    sgfs_status status = SGFS_OK;
    if (g == NULL) return sgfsi_fail_memory(err, "the groups");
    for (int64_t k = 0; k < spec->terms && status == SGFS_OK; k++) {
        const sgfsi_term_spec *s = &spec->term[k];
        char name[SGFSI_MOST_NESTED * 64] = "";
        for (int64_t c = 0; c < s->columns; c++)
            sgfsi_append(name, sizeof name, "%s%.60s", c > 0 ? ":" : "", s->column[c]);
        sgfsi_term *t = &g->term[k];
        for (int64_t before = 0; before < k; before++)
            if (strcmp(g->term[before].factor->name, name) == 0)
                return sgfsi_fail(err, SGFS_EUSAGE,
                                  "Two terms in brackets have the groups of \"%.60s\": put them "
                                  "into one, (1 + x | g), or (1 + x || g) for independent effects.",
                                  name);
        t->factor = sgfsi_arena_alloc(&d->arena, 1, sizeof *t->factor);
        const char *kept = sgfsi_arena_text(&d->arena, name);
        if (t->factor == NULL || kept == NULL) return sgfsi_fail_memory(err, "the groups");
        status = open_factor(d, s, words, kept, t->factor, err);
        if (status == SGFS_OK) status = open_term(d, s, t, err);
    }
    g->terms = spec->terms;
    d->groups = g;
    if (status == SGFS_OK && sgfsi_arena_failed(&d->arena)) /* a name of a column, say */
        status = sgfsi_fail_memory(err, "the groups");
    return status;
}

/* ---- for new rows ---------------------------------------------------------------------------- */

void sgfsi_groups_describe(const sgfsi_groups *g, sgfsi_json *list) {
    for (int64_t k = 0; k < g->terms; k++) {
        const sgfsi_term *t = &g->term[k];
        sgfsi_json *term = sgfsi_json_object_in(list, NULL);
        sgfsi_json_text(term, "factor", t->factor->name);
        sgfsi_json *columns = sgfsi_json_array_in(term, "columns");
        for (int64_t c = 0; c < t->factor->columns; c++) {
            sgfsi_json *column = sgfsi_json_object_in(columns, NULL);
            sgfsi_json_text(column, "name", t->factor->column[c]);
            sgfsi_json_flag(column, "words", t->factor->words[c]);
        }
        sgfsi_json_int(term, "levels", t->factor->levels);
        sgfsi_json_flag(term, "intercept", t->intercept);
        sgfsi_json_flag(term, "correlated", t->correlated);
        sgfsi_json *effects = sgfsi_json_array_in(term, "effects");
        for (int64_t i = 0; i < t->q; i++) sgfsi_json_text(effects, NULL, t->effect[i]);
    }
}

static bool recall_term(sgfs_data *d, const sgfsi_json *said, sgfsi_term *t) {
    const sgfsi_json *columns = sgfsi_json_get(said, "columns"),
                     *effects = sgfsi_json_get(said, "effects");
    sgfsi_factor *f = t->factor = sgfsi_arena_alloc(&d->arena, 1, sizeof *f);
    if (f == NULL) return false;
    f->name = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(said, "factor", ""));
    f->columns = sgfsi_json_length(columns);
    f->levels = sgfsi_json_get_int(said, "levels", 0);
    t->q = sgfsi_json_length(effects);
    t->intercept = sgfsi_json_get_flag(said, "intercept");
    t->correlated = sgfsi_json_get_flag(said, "correlated");
    if (f->columns < 1 || f->columns > SGFSI_MOST_NESTED || f->levels < 1 || t->q < 1 ||
        t->q > SGFSI_MOST_EFFECTS)
        return false;
    for (int64_t c = 0; c < f->columns; c++) {
        const sgfsi_json *column = sgfsi_json_at(columns, c);
        f->column[c] = sgfsi_arena_text(&d->arena, sgfsi_json_get_text(column, "name", ""));
        f->words[c] = sgfsi_json_get_flag(column, "words");
    }
    for (int64_t i = 0; i < t->q; i++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(effects, i));
        int64_t j = 0;
        if (name == NULL) return false;
        t->effect[i] = sgfsi_arena_text(&d->arena, name);
        if (i == 0 && t->intercept) continue;
        while (j < d->features && strcmp(d->feature[j].name, name) != 0) j++;
        if (j == d->features) return false;
        t->slope[t->slopes++] = j;
    }
    return true;
}

sgfs_status sgfsi_groups_recall(sgfs_data *d, const sgfsi_json *list, sgfs_err *err) {
    sgfsi_groups *g = sgfsi_arena_alloc(&d->arena, 1, sizeof *g);
    int64_t terms = sgfsi_json_length(list);
    bool known = terms >= 1 && terms <= SGFSI_MOST_TERMS;
    for (int64_t k = 0; k < terms && known && g != NULL; k++)
        known = recall_term(d, sgfsi_json_at(list, k), &g->term[k]);
    if (g == NULL || sgfsi_arena_failed(&d->arena)) return sgfsi_fail_memory(err, "the groups");
    if (!known)
        return sgfsi_fail(
            err, SGFS_ERUNFILE,
            "The run does not say all of its groups: it was made by an older sgfs, or "
            "is damaged. Sample once more to predict with it.");
    g->terms = terms;
    d->groups = g;
    return SGFS_OK;
}
