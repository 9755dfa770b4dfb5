/* SPDX-License-Identifier: MIT
 * transform_learn.c: operations that mix or measure columns: --project and --standardize.
 *
 * Projection: row x (1 x d) becomes x R (1 x K), R_jk ~ N(0, 1)/sqrt(d), so that lengths are kept
 * on average: E |x R|^2 = |x|^2 K/d. Row j of R is the j-th stream of the seed; the sum runs over j
 * in order and leaves out zeros, so that a row has the same bits in whichever block it comes.
 *
 * Standardising: x becomes (x - mean)/sd of the rows it has looked at (those of the training part),
 * each counting by its weight w:
 *     W += w;  d = x - mean;  mean += d w/W;  ss += w d (x - mean)        (West 1979)
 *     sd^2 = ss/W  N'/(N' - 1),  N' the rows of positive weight; a constant column is not scaled.
 * Of sparse rows only the entries are looked at; zeros, as many as are missing, join at the end.
 * Without an intercept columns are scaled only, as --standardize does elsewhere.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/moments.h"
#include "base/rng.h"
#include "files/transform/transform_kind.h"

/* ---- --project ------------------------------------------------------------------------------- */

typedef struct projection {
    int64_t K;
    uint64_t seed;
    double *R; /* in.cols x K */
    sgfsi_base base;
} projection;

static sgfs_status open_project(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    projection *p = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *p);
    if (p == NULL) return sgfsi_fail_memory(err, "the projection");
    p->K = sgfsi_config_int(cfg, s->kind->key);
    p->seed = (uint64_t)sgfsi_config_int(cfg, "data.project_seed");
    return SGFS_OK;
}

static sgfs_status shape_project(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    (void)saved;
    projection *p = s->self;
    double d = (double)s->in.cols;
    if (s->in.cols == 0) return sgfsi_fail(err, SGFS_EDATA, "--project has no columns to work on.");
    p->R = SGFSI_DOUBLES(s->arena, s->in.cols * p->K);
    if (p->R == NULL) {
        return sgfsi_fail(err, SGFS_ENOMEM,
                          "--project %lld of %lld columns needs a matrix of %.3g GB, for which "
                          "there is no memory.",
                          (long long)p->K, (long long)s->in.cols, 8e-9 * d * (double)p->K);
    }
    for (int64_t j = 0; j < s->in.cols; j++) {
        sgfsi_stream stream = sgfsi_stream_at(p->seed, 0, j, SGFSI_PROJECT);
        double *row = p->R + j * p->K;
        sgfsi_normals(&stream, p->K, row);
        for (int64_t k = 0; k < p->K; k++) row[k] /= sqrt(d);
    }
    /* p1 ... pK, which are what numbers count from here on. */
    s->out = (sgfsi_feature_list){.cols = p->K, .base = &p->base};
    s->out.name = sgfsi_arena_alloc(s->arena, p->K, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, p->K, sizeof *s->out.origin);
    char *text = sgfsi_arena_alloc(s->arena, p->K, 16);
    if (s->out.name == NULL || s->out.origin == NULL || text == NULL)
        return sgfsi_fail_memory(err, "the projection");
    for (int64_t k = 0; k < p->K; k++) {
        snprintf(text + 16 * k, 16, "p%d", (int)k + 1);
        s->out.name[k] = text + 16 * k;
        s->out.origin[k] = k;
    }
    p->base = (sgfsi_base){.cols = p->K, .name = s->out.name, .named = true};
    return SGFS_OK;
}

static sgfs_status apply_project(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                                 int64_t *bad, sgfs_err *err) {
    const projection *p = s->self;
    int64_t K = p->K;
    (void)bad, (void)err;
    memset(out, 0, (size_t)(n * K) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        double *restrict to = out + i * K;
        for (int64_t j = 0; j < s->in.cols; j++) {
            double x = *in++;
            const double *restrict row = p->R + j * K;
            if (x == 0) continue;
            for (int64_t k = 0; k < K; k++) to[k] += x * row[k];
        }
    }
    return SGFS_OK;
}

static void need_all(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    bool any = false;
    for (int64_t k = 0; k < s->out.cols; k++) any = any || out[k];
    for (int64_t j = 0; any && j < s->in.cols; j++) in[j] = 1;
}

static void tell_project(const sgfsi_transform *s, sgfsi_json *out) {
    const projection *p = s->self;
    sgfsi_json_int(out, "columns", p->K);
    sgfsi_json_int(out, "seed", (int64_t)p->seed);
}

static sgfs_status recall_project(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    projection *p = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *p);
    if (p == NULL) return sgfsi_fail_memory(err, "the projection");
    int64_t seed = sgfsi_json_get_int(saved, "seed", -1);
    p->K = sgfsi_json_get_int(saved, "columns", -1);
    p->seed = (uint64_t)seed;
    bool good = p->K >= 1 && p->K <= 100000 && seed >= 0;
    return good ? SGFS_OK : sgfsi_transform_damaged(s, err);
}

const sgfsi_transform_kind sgfsi_transform_project = {
    .op = "project",
    .key = "data.project",
    .open = open_project,
    .tell = tell_project,
    .recall = recall_project,
    .shape = shape_project,
    .apply = apply_project,
    .need = need_all,
};

/* ---- --standardize --------------------------------------------------------------------------- */

typedef struct standard {
    bool centre;
    bool all;  /* columns of zeros and ones are scaled, too */
    bool only; /* measured for the design, not applied */
    bool done;
    double count, rows;            /* of all rows seen: their weights, their number */
    double *mean, *ss, *min, *max; /* in.cols */
    double *entered, *entries;     /* in.cols: weights and number of the rows that have an entry */
    double *shift, *scale;         /* in.cols; after the look */
} standard;

static sgfs_status open_standard(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    standard *t = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *t);
    if (t == NULL) return sgfsi_fail_memory(err, "the column scales");
    t->centre = sgfsi_config_flag(cfg, "data.intercept");
    t->all = sgfsi_standard_all(cfg);
    return SGFS_OK;
}

bool sgfsi_standard_all(const sgfs_config *cfg) {
    return strcmp(sgfsi_config_text(cfg, "data.standardize"), "all") == 0;
}

void sgfsi_standard_only(sgfsi_transform *s) {
    ((standard *)s->self)->only = true;
}

/* Rows come from the first on: those seen so far were void. */
static void rewind_standard(sgfsi_transform *s) {
    standard *t = s->self;
    t->count = t->rows = 0;
    for (int64_t j = 0; t->mean != NULL && !t->done && j < s->in.cols; j++) {
        t->mean[j] = t->ss[j] = t->entered[j] = t->entries[j] = 0;
        t->min[j] = INFINITY;
        t->max[j] = -INFINITY;
    }
}

static sgfs_status make_standard(sgfsi_transform *s, sgfs_err *err) {
    standard *t = s->self;
    if (!SGFSI_ROOM(s->arena, s->in.cols + 1, &t->mean, &t->ss, &t->min, &t->max, &t->entered,
                    &t->entries, &t->shift, &t->scale))
        return sgfsi_fail_memory(err, "the column scales");
    rewind_standard(s);
    return SGFS_OK;
}

static inline void add_number(standard *t, int64_t j, double w, double share, double x) {
    sgfsi_moments_add(w, share, x, &t->mean[j], &t->ss[j]);
    t->min[j] = x < t->min[j] ? x : t->min[j];
    t->max[j] = x > t->max[j] ? x : t->max[j];
}

static sgfs_status look_standard(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err) {
    standard *t = s->self;
    sgfs_status status = t->mean == NULL ? make_standard(s, err) : SGFS_OK;
    for (int64_t i = 0; status == SGFS_OK && i < seen->n; i++) {
        int64_t at = seen->row != NULL ? seen->row[i] : i;
        double w = seen->weight != NULL ? seen->weight[at] : 1;
        if (!(w > 0)) continue;
        t->count += w;
        t->rows++;
        double share = w / t->count;
        for (int64_t j = 0; seen->start == NULL && j < s->in.cols; j++)
            add_number(t, j, w, share, seen->x[at * s->in.cols + j]);
        if (seen->start == NULL) continue;
        for (int64_t k = seen->start[at]; k < seen->start[at + 1]; k++) {
            int64_t j = seen->col[k];
            t->entries[j]++;
            t->entered[j] += w;
            add_number(t, j, w, w / t->entered[j], seen->x[k]);
        }
    }
    for (int64_t j = 0; status == SGFS_OK && seen->start != NULL && j < s->in.cols; j++) {
        if (t->entries[j] == t->rows) continue;
        sgfsi_moments_merge(t->entered[j], &t->mean[j], &t->ss[j], t->count - t->entered[j], 0, 0);
        t->min[j] = t->min[j] < 0 ? t->min[j] : 0;
        t->max[j] = t->max[j] > 0 ? t->max[j] : 0;
    }
    return status;
}

static sgfs_status looked_standard(sgfsi_transform *s, sgfs_err *err) {
    standard *t = s->self;
    t->done = true;
    if (t->rows == 0)
        return sgfsi_fail(err, SGFS_EDATA, "--standardize: the training part has no rows.");
    for (int64_t j = 0; j < s->in.cols; j++) {
        const sgfsi_column_stats stats = {t->rows,  t->count,  t->mean[j],
                                          t->ss[j], t->min[j], t->max[j]};
        bool constant = t->min[j] == t->max[j],
             as_is = constant || (!t->all && sgfsi_column_stats_binary(&stats));
        double variance = t->ss[j] / t->count * (t->rows / (t->rows - 1));
        double mean = constant ? t->min[j] : t->mean[j];
        t->shift[j] = t->centre ? mean : 0;
        t->scale[j] = as_is ? 1 : 1 / sqrt(variance);
    }
    return SGFS_OK;
}

static sgfs_status standard_cell(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err) {
    const standard *t = s->self;
    (void)err;
    if (!t->only) *x = (*x - t->shift[*col]) * t->scale[*col];
    return SGFS_OK;
}

static bool only_measured(const sgfsi_transform *s) {
    return ((const standard *)s->self)->only;
}

/* Centred columns have no zeros left. */
static bool fills_standard(const sgfsi_transform *s) {
    const standard *t = s->self;
    return t->centre && !t->only;
}

/* ---- for later ------------------------------------------------------------------------------- */

static void tell_standard(const sgfsi_transform *s, sgfsi_json *out) {
    const standard *t = s->self;
    sgfsi_json_nums(out, "shift", s->in.cols, t->shift);
    sgfsi_json_nums(out, "scale", s->in.cols, t->scale);
}

static sgfs_status recall_standard(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *shift = sgfsi_json_get(saved, "shift"),
                     *scale = sgfsi_json_get(saved, "scale");
    standard *t = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *t);
    sgfs_status status =
        t != NULL ? make_standard(s, err) : sgfsi_fail_memory(err, "the column scales");
    bool good = sgfsi_json_length(shift) == s->in.cols && sgfsi_json_length(scale) == s->in.cols;
    for (int64_t j = 0; status == SGFS_OK && good && j < s->in.cols; j++) {
        good = sgfsi_json_as_num(sgfsi_json_at(shift, j), &t->shift[j]) &&
               sgfsi_json_as_num(sgfsi_json_at(scale, j), &t->scale[j]) && isfinite(t->shift[j]) &&
               isfinite(t->scale[j]);
    }
    if (status != SGFS_OK) return status;
    return good ? SGFS_OK : sgfsi_transform_damaged(s, err);
}

void sgfsi_transform_standard(const sgfsi_transform *s, const double **shift,
                              const double **scale) {
    const standard *t = s->self;
    *shift = t->shift;
    *scale = t->scale;
}

static bool wants_standard(const sgfs_config *cfg, const sgfsi_table *head) {
    (void)head;
    return sgfsi_config_flag(cfg, "data.standardize") || sgfsi_standard_all(cfg);
}

const sgfsi_transform_kind sgfsi_transform_standardize = {
    .op = "standardize",
    .key = "data.standardize",
    .wanted = wants_standard,
    .open = open_standard,
    .tell = tell_standard,
    .recall = recall_standard,
    .rewind = rewind_standard,
    .looks = true,
    .look = look_standard,
    .looked = looked_standard,
    .cell = standard_cell,
    .fills = fills_standard,
    .selects = only_measured,
};
