/* SPDX-License-Identifier: MIT
 * dependence.c: columns that follow from others: copies, multiples, sums, and full sets of zeros
 * and ones beside an intercept. The data say nothing of how an effect is shared among such columns;
 * the prior does, and whoever reads the coefficients should know.
 *
 *     some rows -> their cross products -> columns in order, each against those before it
 *         -> candidates: nothing is left of them -> all rows: does that hold there?
 *             no: rows where it does not join the others, and all is done again
 *
 * So a few thousand rows are enough where nothing depends, and where something seems to, every row
 * has a say (of very many rows some, spread evenly). Columns are centred and scaled; the intercept
 * is a column of ones in front. With MOST columns, or as many as rows, only copies are looked for.
 *
 * Packed files are not looked at: opening one reads none of its rows.
 *
 * Shapes: z: rows x p, L, w: p x p. This warns, and changes nothing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "rows/pages.h"
#include "rows/rows.h"

enum {
    MOST = 257,         /* columns, the intercept among them */
    FIRST_ROWS = 2000,  /* to begin with, and 4 for each column */
    BLOCK = 256,        /* rows at once */
    MOST_ROWS = 262144, /* that have a say */
    JOIN = 256,         /* rows that join at a time */
    ROUNDS = 24,
    TEXT = 320, /* bytes about columns in the sentence */
    NAMED = 3   /* columns in the sentence, and others that one follows from */
};
static const double nothing = 1e-10; /* of the variance is left: a candidate */
static const double exactly = 1e-6;  /* of its spread every row is away, at most */

typedef struct search {
    const sgfs_data *d;
    int64_t p, features_at; /* features_at: 1 with an intercept */
    double *centre, *scale; /* p; scale 0: the column is constant */
    double *z;              /* n x p, scaled */
    int64_t n, room;
    double *L, *w;          /* p x p; row j of w: column j from others, where it depends */
    unsigned char *depends; /* p */
    double *block;          /* BLOCK x p */
} search;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows first .. first + n - 1, scaled, in s->block. */
static sgfs_status read_block(search *s, sgfsi_pages *visit, int64_t first, int64_t n,
                              sgfs_err *err) {
    sgfs_status status = sgfsi_pages_range(visit, s->d, first, n, err);
    if (status != SGFS_OK) return status;
    sgfsi_data_rows_range(s->d, first, n, s->block, NULL);
    for (int64_t i = 0; i < n; i++) {
        double *z = s->block + i * s->p;
        for (int64_t j = s->features_at; j < s->p; j++) z[j] = (z[j] - s->centre[j]) * s->scale[j];
    }
    return SGFS_OK;
}

static sgfs_status join(search *s, int64_t rows, const double *z, sgfs_err *err) {
    if (!sgfsi_grow(&s->z, &s->room, (s->n + rows) * s->p, sizeof *s->z))
        return sgfsi_fail_memory(err, "the columns");
    memcpy(s->z + s->n * s->p, z, (size_t)(rows * s->p) * sizeof *z);
    s->n += rows;
    return SGFS_OK;
}

/* The i-th of `count` blocks, spread over all rows. */
static int64_t block_at(const search *s, int64_t i, int64_t count, int64_t *n) {
    int64_t blocks = (s->d->N + BLOCK - 1) / BLOCK;
    int64_t first = (count < blocks ? i * blocks / count : i) * BLOCK;
    *n = s->d->N - first < BLOCK ? s->d->N - first : BLOCK;
    return first;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Column after column against those before it that do not depend themselves: the rows of a Cholesky
 * factor, and w where nothing is left. */
static void find_candidates(search *s) {
    const int64_t p = s->p;
    memset(s->L, 0, (size_t)(p * p) * sizeof *s->L);
    memset(s->w, 0, (size_t)(p * p) * sizeof *s->w);
    for (int64_t i = 0; i < s->n; i++) { /* cross products, of which the lower half is needed */
        const double *z = s->z + i * p;
        for (int64_t j = 0; j < p; j++) {
            double *to = s->L + j * p, x = z[j];
            for (int64_t k = 0; x != 0 && k <= j; k++) to[k] += x * z[k];
        }
    }
    for (int64_t j = 0; j < p; j++) {
        double *l = s->L + j * p, all = l[j], left = l[j];
        for (int64_t k = 0; k < j; k++) {
            const double *other = s->L + k * p;
            if (s->depends[k]) l[k] = 0;
            if (s->depends[k]) continue;
            for (int64_t m = 0; m < k; m++) l[k] -= l[m] * other[m];
            l[k] /= other[k];
            left -= l[k] * l[k];
        }
        bool constant = j >= s->features_at && s->scale[j] == 0;
        s->depends[j] = constant || !(left > nothing * all);
        l[j] = s->depends[j] ? 0 : sqrt(left);
        double *w = s->w + j * p;
        for (int64_t k = j - 1; s->depends[j] && !constant && k >= 0; k--) {
            if (s->depends[k]) continue;
            double sum = l[k];
            for (int64_t m = k + 1; m < j; m++)
                if (!s->depends[m]) sum -= s->L[m * p + k] * w[m];
            w[k] = sum / s->L[k * p + k];
        }
        for (int64_t k = 0; k < j; k++)
            if (fabs(w[k]) < (s->d->table.type == SGFSI_F32 ? 1e-5 : 1e-8)) w[k] = 0;
    }
}

/* How far a row may be away from what a candidate is said to be: floats are rounded. */
static double allowed(const search *s, int64_t j) {
    const sgfsi_column *c = &s->d->feature[j - s->features_at];
    double size = fmax(fabs(c->min), fabs(c->max)) * s->scale[j];
    return exactly + (s->d->table.type == SGFSI_F32 ? 2.4e-7 * size : 0);
}

/* Every row against every candidate. *holds: they stand; else rows have joined that say no. strike:
 * none joins, and candidates that a row says no to are none any more. */
static sgfs_status check_candidates(search *s, bool strike, bool *holds, sgfs_err *err) {
    sgfsi_pages visit = {0};
    int64_t joined = 0, count = MOST_ROWS / BLOCK, blocks = (s->d->N + BLOCK - 1) / BLOCK, n;
    count = count < blocks ? count : blocks;
    sgfs_status status = SGFS_OK;
    for (int64_t b = 0; b < count && joined < JOIN && status == SGFS_OK; b++) {
        int64_t first = block_at(s, b, count, &n);
        status = read_block(s, &visit, first, n, err);
        for (int64_t i = 0; i < n && joined < JOIN && status == SGFS_OK; i++) {
            const double *z = s->block + i * s->p;
            bool away = false;
            for (int64_t j = s->features_at; j < s->p && !away; j++) {
                if (!s->depends[j] || s->scale[j] == 0) continue;
                double rest = z[j];
                const double *w = s->w + j * s->p;
                for (int64_t k = 0; k < j; k++)
                    if (w[k] != 0) rest -= w[k] * z[k];
                away = fabs(rest) > allowed(s, j);
                if (away && strike) s->depends[j] = away = false;
            }
            if (away) status = join(s, 1, z, err);
            joined += away;
        }
    }
    *holds = joined == 0;
    return status;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

static const char *name_of(const search *s, int64_t j) {
    return s->d->feature[j - s->features_at].name;
}

/* "b" is "a" over again; "c" follows from "a" and "d". */
static void describe(const search *s, int64_t j, char *out, size_t room) {
    out[0] = '\0';
    const double *w = s->w + j * s->p;
    int64_t others = 0, last = -1, told = 0;
    for (int64_t k = s->features_at; k < j; k++) {
        if (w[k] == 0) continue;
        others++;
        last = k;
    }
    bool copy = others == 1 && fabs(w[last] - 1) < exactly &&
                fabs(s->centre[j] - s->centre[last]) <= 1e-9 * fabs(s->centre[j]) &&
                fabs(s->scale[j] - s->scale[last]) <= 1e-9 * s->scale[j];
    if (copy) {
        sgfsi_append(out, room, "\"%.60s\" is \"%.60s\" over again", name_of(s, j),
                     name_of(s, last));
        return;
    }
    sgfsi_append(out, room, "\"%.60s\" follows from ", name_of(s, j));
    for (int64_t k = s->features_at; k <= last && told < NAMED; k++) {
        if (w[k] == 0) continue;
        const char *and = told == 0 ? "" : k == last ? " and " : ", ";
        sgfsi_append(out, room, "%s\"%.60s\"", and, name_of(s, k));
        told++;
    }
    if (others > told) sgfsi_append(out, room, " and %lld more", (long long)(others - told));
}

/* One more to a text, if there is room for it; *told counts them. */
static void add(char text[TEXT], int64_t *told, const char *one) {
    if (*told >= NAMED || strlen(text) + strlen(one) + 3 > TEXT) return;
    sgfsi_append(text, TEXT, "%s%s", (*told)++ > 0 ? "; " : "", one);
}

/* text: `told` of `count` columns, of which `first` may be left out. */
static void tell(const search *s, const sgfsi_log *log, int64_t count, int64_t told,
                 const char *text, int64_t first) {
    char more[48] = "";
    if (count > told) snprintf(more, sizeof more, "; and %lld more", (long long)(count - told));
    if (count > 0)
        sgfsi_warn(s->d->warnings, log,
                   "%s %s%s: the data do not say how such columns share an effect, the prior does. "
                   "Predictions are none the worse; to read coefficients, --drop %.60s%s.",
                   count == 1 ? "Column" : "Columns:", text, more, name_of(s, first),
                   count > 1 ? " and so on" : "");
}

/* ---- copies among many ----------------------------------------------------------------------- */

static int by_statistics(const void *a, const void *b) {
    const sgfsi_column *x = *(const sgfsi_column *const *)a, *y = *(const sgfsi_column *const *)b;
    const double of[][2] = {{x->mean, y->mean}, {x->sd, y->sd}, {x->min, y->min}, {x->max, y->max}};
    for (int k = 0; k < 4; k++)
        if (of[k][0] != of[k][1]) return of[k][0] < of[k][1] ? -1 : 1;
    return (x > y) - (x < y);
}

/* Of columns with the same statistics, those that are the same in every row. */
static sgfs_status find_copies(search *s, const sgfsi_log *log, sgfs_err *err) {
    const sgfs_data *d = s->d;
    const sgfsi_column **column = malloc((size_t)d->features * sizeof(void *));
    int64_t *of = malloc((size_t)s->p * sizeof *of), n, left = 0, first_told = 0;
    sgfs_status status = column && of ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; status == SGFS_OK && j < d->features; j++) column[j] = &d->feature[j];
    if (status == SGFS_OK) qsort(column, (size_t)d->features, sizeof(void *), by_statistics);
    for (int64_t i = 0, first = 0; status == SGFS_OK && i < d->features; i++) {
        const sgfsi_column *a = column[first], *b = column[i];
        bool alike = i > first && a->sd > 0 && a->mean == b->mean && a->sd == b->sd &&
                     a->min == b->min && a->max == b->max;
        if (!alike) first = i;
        of[b - d->feature + s->features_at] = alike ? a - d->feature + s->features_at : -1;
        left += alike;
    }
    sgfsi_pages visit = {0};
    int64_t blocks = (d->N + BLOCK - 1) / BLOCK, count = MOST_ROWS / BLOCK;
    count = count < blocks ? count : blocks;
    for (int64_t b = 0; b < count && left > 0 && status == SGFS_OK; b++) {
        int64_t first = block_at(s, b, count, &n);
        status = read_block(s, &visit, first, n, err);
        for (int64_t j = s->features_at; status == SGFS_OK && j < s->p; j++) {
            for (int64_t i = 0; of[j] >= 0 && i < n; i++) {
                if (s->block[i * s->p + j] == s->block[i * s->p + of[j]]) continue;
                of[j] = -1;
                left--;
            }
        }
    }
    char text[TEXT] = "", one[TEXT];
    int64_t told = 0;
    for (int64_t j = s->features_at; status == SGFS_OK && j < s->p; j++) {
        if (of[j] < 0) continue;
        if (told == 0) first_told = j;
        snprintf(one, sizeof one, "\"%.60s\" is \"%.60s\" over again", name_of(s, j),
                 name_of(s, of[j]));
        add(text, &told, one);
    }
    if (status == SGFS_OK) tell(s, log, left, told, text, first_told);
    free(column);
    free(of);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status find_dependent(search *s, const sgfsi_log *log, sgfs_err *err) {
    sgfsi_pages visit = {0};
    int64_t n, wanted = (FIRST_ROWS > 4 * s->p ? FIRST_ROWS : 4 * s->p) / BLOCK + 1,
               blocks = (s->d->N + BLOCK - 1) / BLOCK, count = wanted < blocks ? wanted : blocks;
    sgfs_status status = SGFS_OK;
    for (int64_t b = 0; b < count && status == SGFS_OK; b++) {
        int64_t first = block_at(s, b, count, &n);
        status = read_block(s, &visit, first, n, err);
        if (status == SGFS_OK) status = join(s, n, s->block, err);
    }
    bool holds = false;
    for (int round = 0; round < ROUNDS && status == SGFS_OK && !holds; round++) {
        find_candidates(s);
        status = check_candidates(s, false, &holds, err);
    }
    /* A column may be so near to others that rows never tell it apart in L, and still not follow
     * from them: it is left out, and the others stand. */
    if (status == SGFS_OK && !holds) find_candidates(s);
    if (status == SGFS_OK && !holds) status = check_candidates(s, true, &holds, err);
    char text[TEXT] = "", one[TEXT];
    int64_t found = 0, told = 0, first_told = 0;
    for (int64_t j = s->features_at; status == SGFS_OK && holds && j < s->p; j++) {
        bool others = false; /* else it is constant in the rows that were looked at */
        for (int64_t k = s->features_at; k < j; k++) others = others || s->w[j * s->p + k] != 0;
        if (!s->depends[j] || !others) continue;
        if (found++ == 0) first_told = j;
        describe(s, j, one, sizeof one);
        add(text, &told, one);
    }
    if (status == SGFS_OK && holds) tell(s, log, found, told, text, first_told);
    return status;
}

sgfs_status sgfsi_data_warn_dependence(sgfs_data *d, const sgfsi_log *log, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    search s = {.d = d, .p = d->p, .features_at = d->p - d->features};
    /* With fewer rows than columns everything depends; sparse rows are many zeros to compare. */
    bool all = s.p < MOST && d->N > s.p;
    if (d->features < 2 || d->N < 2 || (!all && d->table.type == SGFSI_CSR)) return SGFS_OK;
    if (d->table.parts > 0 && d->table.part[0].packed != NULL) return SGFS_OK;
    s.depends = sgfsi_arena_alloc(&arena, s.p, 1);
    bool made = s.depends != NULL && SGFSI_ROOM(&arena, s.p, &s.centre, &s.scale) &&
                SGFSI_ROOM(&arena, BLOCK * s.p, &s.block) &&
                (!all || SGFSI_ROOM(&arena, s.p * s.p, &s.L, &s.w));
    sgfs_status status = made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
    for (int64_t j = s.features_at; status == SGFS_OK && j < s.p; j++) {
        const sgfsi_column *c = &d->feature[j - s.features_at];
        double spread = d->intercept ? c->sd : hypot(c->mean, c->sd);
        s.centre[j] = d->intercept ? c->mean : 0;
        s.scale[j] = spread > 0 ? 1 / spread : 0;
    }
    if (status == SGFS_OK) status = all ? find_dependent(&s, log, err) : find_copies(&s, log, err);
    free(s.z);
    sgfsi_arena_free(&arena);
    return status;
}
