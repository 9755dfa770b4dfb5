/* SPDX-License-Identifier: MIT
 * test_streamed.c: rows that a device has no room for come to it in each call of ask_glm
 * (sgfsi_stored, device.h), and it says of them what it says of rows that are all there.
 *
 * `test_streamed cuda [few]` asks a GPU, real or pretended, and skips without; `few`: so few rows
 * that a pretended one is done soon. The rest of its memory is taken before.
 *
 * Tolerance. Rows that are there as doubles are compared with extended precision elsewhere
 * (test_all_rows.c); here sums of the same N terms of a size of SIZE at most are made in another
 * order, and predictors of p products in the same: (N + p + 100) eps times N SIZE. Whether the rows
 * lie there as they are stored, or some of them, or none, the bits are the same.
 */
#include <float.h>
#include <stdio.h>

#include "context/device/device.h"
#include "tools/check.h"
#include "tools/gpu.h"

enum { COLUMNS = 32, FEATURES = 29, P = FEATURES + 1, MOST_K = 70, MEMORY = 2000000, SIZE = 20 };

static const sgfs_device *dev;
static bool few; /* the GPU is a pretended one */

static const struct {
    const char *name;
    sgfsi_dtype type;
    int64_t bytes;
} types[] = {{"f64", SGFSI_F64, 8}, {"f32", SGFSI_F32, 4}, {"i64", SGFSI_I64, 8},
             {"i32", SGFSI_I32, 4}, {"i16", SGFSI_I16, 2}, {"i8", SGFSI_I8, 1},
             {"u8", SGFSI_U8, 1},   {"u16", SGFSI_U16, 2}, {"u32", SGFSI_U32, 4}};
enum { TYPES = sizeof types / sizeof types[0] };

/* Rows of 32 cells, of which columns 1 to 20 and 22 to 30 are used, and who reads them. */
typedef struct problem {
    int64_t N, row_bytes;
    char *cells;
    double shift[FEATURES], scale[FEATURES], *y, *weight, *offset;
    sgfsi_column_span span[2];
    sgfsi_stored stored;
    sgfsi_glm glm;
    int64_t reads, fails; /* so far; of which one on it cannot */
    int64_t lost;         /* at which read the GPU is lost; 0: it is not */
} problem;

static bool read_some(void *user, int64_t first, int64_t n, char *to) {
    problem *t = user;
    t->reads++;
    assert_true(first >= 0 && n > 0 && first + n <= t->N);
    if (t->reads == t->lost) assert_int_equal(setenv("SGFS_PRETENDED_LOSS", "0", 1), 0);
    if (t->fails > 0 && t->reads >= t->fails) return false;
    memcpy(to, t->cells + first * t->row_bytes, (size_t)(n * t->row_bytes));
    return true;
}

static void put_cell(char *at, sgfsi_dtype type, double x) {
    switch (type) {
    case SGFSI_F64: *(double *)(void *)at = x; break;
    case SGFSI_F32: *(float *)(void *)at = (float)x; break;
    case SGFSI_I64: *(int64_t *)(void *)at = (int64_t)(100 * x); break;
    case SGFSI_I32: *(int32_t *)(void *)at = (int32_t)(100 * x); break;
    case SGFSI_I16: *(int16_t *)(void *)at = (int16_t)(100 * x); break;
    case SGFSI_I8: *(int8_t *)(void *)at = (int8_t)(100 * x); break;
    case SGFSI_U8: *(uint8_t *)(void *)at = (uint8_t)(100 + 100 * x); break;
    case SGFSI_U16: *(uint16_t *)(void *)at = (uint16_t)(100 + 100 * x); break;
    case SGFSI_U32: *(uint32_t *)(void *)at = (uint32_t)(100 + 100 * x); break;
    case SGFSI_CSR: break;
    }
}

static problem *open_problem(int type, sgfsi_link link, bool besides) {
    problem *t = calloc(1, sizeof *t);
    uint64_t seed = 31;
    assert_non_null(t);
    bool whole = types[type].type != SGFSI_F64 && types[type].type != SGFSI_F32;
    bool positive = types[type].type >= SGFSI_U8;
    t->N = few ? 700 : 700001;
    t->row_bytes = COLUMNS * types[type].bytes;
    t->cells = malloc((size_t)(t->N * t->row_bytes));
    assert_non_null(t->cells);
    for (int64_t i = 0; i < t->N * COLUMNS; i++)
        put_cell(t->cells + i * types[type].bytes, types[type].type, next_number(&seed));
    for (int64_t j = 0; j < FEATURES; j++) {
        t->shift[j] = (positive ? 100 : 0) + 0.1 * next_number(&seed);
        t->scale[j] = (whole ? 0.01 : 1) * (1 + 0.1 * next_number(&seed));
    }
    t->y = numbers(t->N, 32);
    for (int64_t i = 0; i < t->N && link != SGFSI_LINEAR; i++)
        t->y[i] = link == SGFSI_LOGIT ? t->y[i] > 0.2 : floor(2 + 2 * t->y[i]);
    if (besides) {
        t->weight = numbers(t->N, 33);
        t->offset = numbers(t->N, 34);
        for (int64_t i = 0; i < t->N; i++) t->weight[i] = i % 7 == 2 ? 0 : 1 + t->weight[i];
    }
    t->span[0] = (sgfsi_column_span){1, 20};
    t->span[1] = (sgfsi_column_span){22, 9};
    t->stored = (sgfsi_stored){.type = types[type].type,
                               .row_bytes = t->row_bytes,
                               .rows = t->N,
                               .spans = 2,
                               .span = t->span,
                               .features = FEATURES,
                               .shift = t->shift,
                               .scale = t->scale,
                               .intercept = true,
                               .read = read_some,
                               .user = t,
                               .beside = besides ? 3 : 1};
    t->glm = (sgfsi_glm){link, t->N, P, t->y, t->weight, t->offset};
    return t;
}

static void close_problem(problem *t) {
    free(t->cells), free(t->y), free(t->weight), free(t->offset), free(t);
}

/* ---- how much of them is there --------------------------------------------------------------- */

typedef enum share { AS_DOUBLES, AS_STORED, SOME, NONE } share;
static const char *const share_name[] = {"as doubles", "as stored", "some", "none"};

/* Takes so much of the memory that rows have what `is` says. The room that they are given is what
 * cuda_rows.cu leaves free, an eighth, and what is for them. */
static double *take_rest(const problem *t, share is) {
    double bytes = (double)t->N * (double)t->row_bytes, room = dev->ops->room(dev);
    double eighth = few ? MEMORY / 8.0 : room / 8 * 1.01, design = 8.0 * (double)t->N * (P + 8);
    double slots = few ? 32 * (3 * (double)t->row_bytes + 8 * (FEATURES + 8)) : 0;
    double some = 0.6 * bytes + 8.0 * (double)(t->stored.beside * t->N) + slots;
    double left = is == AS_STORED ? 1.01 * bytes + 8.0 * 3 * (double)t->N + 0.4 * design
                  : is == SOME    ? fmin(some, 0.98 * bytes)
                                  : -0.1 * eighth;
    if (is == AS_DOUBLES) return NULL;
    double *rest = dev->ops->alloc(dev, (int64_t)((room - eighth - left) / 8));
    assert_non_null(rest);
    return rest;
}

typedef struct kept {
    void *rows, *glm;
    double *rest;
} kept;

static kept keep(problem *t, share is) {
    kept k = {.rest = take_rest(t, is)};
    k.rows = dev->ops->keep_rows(dev, &t->stored);
    assert_non_null(k.rows);
    int64_t there = dev->ops->rows_there(dev, k.rows);
    if (is == NONE) assert_int_equal(there, 0);
    if (is < SOME) assert_int_equal(there, t->N);
    if (is == SOME && few) assert_in_range(there, 1, t->N - 1);
    k.glm = dev->ops->keep_glm(dev, k.rows, &t->glm);
    assert_non_null(k.glm);
    return k;
}

static void drop(kept *k) {
    dev->ops->drop_glm(dev, k->glm);
    dev->ops->drop_rows(dev, k->rows);
    if (k->rest != NULL) dev->ops->free(dev, k->rest);
}

/* ---- what is said of them -------------------------------------------------------------------- */

enum { PLACES = 5, SMALL = 1 + P + P * P, MANY = PLACES * (1 + P), PAIRS = 2 * (3 + MOST_K) };
typedef struct answers {
    double one[SMALL], many[MANY], pair[PAIRS];
} answers;

/* many_pairs: of so many pairs, too, that a GPU makes products in one kernel. */
static answers *ask(const kept *k, bool many_pairs) {
    answers *a = calloc(1, sizeof *a);
    double *theta = numbers(MOST_K * P, 35);
    assert_non_null(a);
    for (int64_t i = 0; i < MOST_K * P; i++) theta[i] *= 0.3;
    const sgfsi_glm_places one = {.K = 1,
                                  .stride = P,
                                  .theta = theta,
                                  .loglik = a->one,
                                  .G = a->one + 1,
                                  .info = a->one + 1 + P};
    const sgfsi_glm_places many = {
        .K = PLACES, .stride = P, .theta = theta, .loglik = a->many, .G = a->many + PLACES};
    sgfsi_glm_places pairs = {.K = 3,
                              .stride = P,
                              .theta = theta + P,
                              .centre = theta,
                              .loglik = a->pair,
                              .minus = a->pair + 3};
    dev->ops->ask_glm(dev, k->glm, &one);
    dev->ops->ask_glm(dev, k->glm, &many);
    dev->ops->ask_glm(dev, k->glm, &pairs);
    pairs.K = MOST_K - 1;
    pairs.loglik = a->pair + 6;
    pairs.minus = a->pair + 6 + MOST_K;
    if (many_pairs) dev->ops->ask_glm(dev, k->glm, &pairs);
    for (int64_t i = 0; i < P; i++)
        for (int64_t j = i + 1; j < P; j++) a->one[1 + P + i * P + j] = 0; /* whatever is there */
    free(theta);
    return a;
}

static void same_bits(const answers *a, const answers *b, const char *what, const char *than) {
    const double *x = (const double *)a, *y = (const double *)b;
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++) {
        if (memcmp(x + i, y + i, sizeof *x) == 0) continue;
        fail_msg("%s, number %zu: %.17g has other bits than %s, %.17g", what, i, x[i], than, y[i]);
    }
}

static void compare(const problem *t, const answers *a, const answers *b, const char *what) {
    const double *x = (const double *)a, *y = (const double *)b, N = (double)t->N;
    double tolerance = (N + P + 100) * DBL_EPSILON * N * SIZE;
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++) {
        if (fabs(x[i] - y[i]) <= tolerance) continue;
        fail_msg("%s, number %zu: %.17g is not %.17g within %.3g", what, i, y[i], x[i], tolerance);
    }
}

/* However much of them is there. */
static void check(int type, sgfsi_link link, bool besides) {
    problem *t = open_problem(type, link, besides);
    answers *first = NULL, *stored = NULL;
    for (share is = AS_DOUBLES; is <= NONE; is++) {
        char what[80];
        double room = dev->ops->room(dev);
        if (is == SOME && !few) continue; /* a thousandth of its memory is more than the rows */
        snprintf(what, sizeof what, "%s, link %d, %s", types[type].name, (int)link, share_name[is]);
        kept k = keep(t, is);
        int64_t reads = t->reads;
        bool many = !few || type < 2;
        answers *a = ask(&k, many), *b = is == SOME || !few ? ask(&k, many) : NULL;
        if (is < SOME) assert_int_equal(t->reads, reads); /* they were read once */
        else assert_true(t->reads > reads + 8);
        if (b != NULL) same_bits(a, b, what, "the second time");
        if (stored != NULL) same_bits(a, stored, what, share_name[AS_STORED]);
        if (first != NULL) compare(t, first, a, what);
        free(b);
        if (is == AS_DOUBLES) first = a;
        else if (is == AS_STORED) stored = a;
        else free(a);
        drop(&k);
        if (few && is > AS_DOUBLES) assert_true(dev->ops->room(dev) > 0.9 * room);
    }
    free(first), free(stored);
    close_problem(t);
}

static void test_every_type(void **state) {
    (void)state;
    for (int type = 0; dev != NULL && type < (few ? TYPES : 2); type++)
        check(type, SGFSI_LOGIT, false);
}

static void test_every_link(void **state) {
    (void)state;
    if (dev == NULL) return;
    check(1, SGFSI_LOGIT, true);
    check(1, SGFSI_LOG, true);
    check(0, SGFSI_LINEAR, false);
}

/* ---- what may happen on the way -------------------------------------------------------------- */

static bool all_lost(const answers *a) {
    return isnan(a->one[0]) && isnan(a->one[1]) && isnan(a->one[1 + P]) && isnan(a->many[0]) &&
           isnan(a->many[MANY - 1]) && isnan(a->pair[0]) && isnan(a->pair[5]) &&
           isnan(a->pair[6 + MOST_K - 2]);
}

static void test_rows_that_cannot_be_read(void **state) {
    (void)state;
    if (dev == NULL) return;
    problem *t = open_problem(1, SGFSI_LOGIT, false);
    kept k = keep(t, NONE);
    t->fails = t->reads + 3;
    answers *a = ask(&k, true);
    assert_true(all_lost(a) && dev->ops->trouble(dev) == NULL);
    free(a);
    t->fails = 0;
    a = ask(&k, true);
    assert_false(all_lost(a));
    free(a);
    drop(&k);
    t->fails = t->reads + 2; /* while they are kept; while their targets are summed */
    kept none = {.rest = take_rest(t, AS_STORED)};
    assert_null(dev->ops->keep_rows(dev, &t->stored));
    dev->ops->free(dev, none.rest);
    t->fails = 0;
    none.rest = take_rest(t, NONE);
    none.rows = dev->ops->keep_rows(dev, &t->stored);
    t->fails = t->reads + 2;
    assert_null(dev->ops->keep_glm(dev, none.rows, &t->glm));
    dev->ops->drop_rows(dev, none.rows);
    dev->ops->free(dev, none.rest);
    assert_null(dev->ops->trouble(dev));
    close_problem(t);
}

typedef struct patience {
    double done; /* so far */
    int64_t asked, most;
} patience;

static bool go_on(void *user, double done) {
    patience *p = user;
    assert_true(done >= p->done && done < 1);
    p->done = done;
    return ++p->asked <= p->most;
}

static void test_a_pass_that_is_given_up(void **state) {
    (void)state;
    if (dev == NULL) return;
    problem *t = open_problem(1, SGFSI_LOGIT, false);
    kept k = keep(t, NONE);
    double theta[P] = {0.1}, loglik, G[P];
    patience p = {.most = 2};
    const sgfsi_glm_places at = {
        .K = 1, .stride = P, .theta = theta, .loglik = &loglik, .G = G, .go_on = go_on, .user = &p};
    dev->ops->ask_glm(dev, k.glm, &at);
    assert_true(isnan(loglik) && isnan(G[P - 1]) && p.asked == 3 && p.done > 0);
    p = (patience){.most = INT64_MAX};
    dev->ops->ask_glm(dev, k.glm, &at);
    assert_true(isfinite(loglik) && isfinite(G[P - 1]) && p.done > 0.5);
    drop(&k);
    close_problem(t);
}

/* Of a model that can do nothing with some of them; and where not even the targets fit. */
static void test_too_little_room(void **state) {
    (void)state;
    if (dev == NULL || !few) return;
    problem *t = open_problem(0, SGFSI_LOGIT, false);
    double *rest = take_rest(t, SOME);
    t->stored.beside = 0;
    assert_null(dev->ops->keep_rows(dev, &t->stored));
    t->stored.beside = 1;
    dev->ops->free(dev, rest);
    rest = dev->ops->alloc(dev, (int64_t)((dev->ops->room(dev) - 34000) / 8));
    void *rows = dev->ops->keep_rows(dev, &t->stored);
    assert_non_null(rows);
    assert_null(dev->ops->keep_glm(dev, rows, &t->glm));
    dev->ops->drop_rows(dev, rows);
    double *more = dev->ops->alloc(dev, (int64_t)((dev->ops->room(dev) - 2000) / 8));
    assert_null(dev->ops->keep_rows(dev, &t->stored));
    dev->ops->free(dev, more);
    dev->ops->free(dev, rest);
    assert_null(dev->ops->trouble(dev));
    close_problem(t);
}

/* The last one: it does not come back. */
static void test_a_device_that_is_lost(void **state) {
    (void)state;
    if (dev == NULL || !few) return;
    problem *t = open_problem(1, SGFSI_LOGIT, false);
    kept k = keep(t, NONE);
    t->lost = t->reads + 4;
    answers *a = ask(&k, true);
    assert_true(all_lost(a) && dev->ops->trouble(dev) != NULL);
    assert_true(t->reads < t->lost + 4); /* and no more rows are read for it */
    free(a);
    drop(&k);
    close_problem(t);
}

int main(int argc, char **argv) {
    char bytes[24];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_every_link),
        cmocka_unit_test(test_rows_that_cannot_be_read),
        cmocka_unit_test(test_a_pass_that_is_given_up),
        cmocka_unit_test(test_too_little_room),
        cmocka_unit_test(test_a_device_that_is_lost),
    };
    few = argc > 2 && strcmp(argv[2], "few") == 0;
    snprintf(bytes, sizeof bytes, "%d", MEMORY);
    if (few) assert_int_equal(setenv("SGFS_PRETENDED_BYTES", bytes, 1), 0);
    if (argc > 1 && strcmp(argv[1], "cuda") == 0 && !open_gpu(&dev)) return SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sgfsi_device_close(dev);
    return failed;
}
