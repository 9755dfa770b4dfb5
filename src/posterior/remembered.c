/* SPDX-License-Identifier: MIT
 * remembered.c: keeps and looks up each row's scores at an anchor (remembered.h).
 *
 * What is looked up was computed in blocks of the whole pass, what is made again in the batch at
 * hand: a dot product may add its terms in another order there, and the last bits of a run differ
 * between the two. The choice is therefore an option that the run file records, made by rows and
 * columns alone.
 */
#include "posterior/remembered.h"

#include <string.h>

/* Numbers kept at most: 1 GiB. */
static const double most_numbers = 0x1p27;

static int64_t width_of(const sgfs_model *m) {
    int64_t width = 1;
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_block *b = &m->block[k];
        width += b->form == SGFS_SCORE_DENSE ? b->rows * b->cols : b->rows;
    }
    return width;
}

/* Why they cannot be kept: NULL, or a sentence. */
static const char *refuses(const sgfs_model *m) {
    for (int64_t k = 0; k < m->blocks; k++) {
        if (m->block[k].form == SGFS_SCORE_OUTER)
            return "both factors of its scores change with the parameters";
    }
    if ((double)m->data->N * (double)width_of(m) > most_numbers)
        return "the rows are too many: it would take more than 1 GiB";
    return NULL;
}

/* A look that misses the processor's cache costs as much as a dot product of some fifty columns and
 * an exp. With one predictor, looking up wins a tenth while all that is kept lies near, and
 * loses as much beyond; with several a third, falling to a sixth. The pass that fills it reads
 * every row, as a few thousand batches do: many rows never earn it back. */
bool sgfsi_remembered_pays(const sgfs_model *m) {
    int64_t most = m->block[0].rows > 1 ? 100000 : 30000;
    return refuses(m) == NULL && m->data->N <= most;
}

/* ---- filling --------------------------------------------------------------------------------- */

static void copy_in(int64_t n, int64_t width, const double *from, int64_t stride, double *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * stride, from + i * width, (size_t)width * sizeof *to);
}

static void take(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    sgfsi_remembered *r = user;
    double *to = r->a + first * r->width;
    (void)part;
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        int64_t width = o->dense != NULL ? o->rows * o->cols : o->rows;
        copy_in(s->n, width, o->dense != NULL ? o->dense : o->left, r->width, to);
        to += width;
    }
    copy_in(s->n, 1, s->loglik, r->width, to);
}

static sgfs_status pass(sgfsi_remembered *r, const sgfs_model *m, const double *theta,
                        int64_t threads, sgfsi_arena *own, sgfs_err *err) {
    sgfsi_full full;
    double loglik, *G = SGFSI_DOUBLES(own, m->D);
    const sgfsi_crop crop = {.number = r->a, .width = r->width, .rows = 1};
    const sgfsi_harvest harvest = {.take = take, .user = r, .crop = &crop};
    if (G == NULL) return sgfsi_fail_memory(err, "the scores at the anchor");
    sgfs_status status = sgfsi_full_open(&full, m, threads, false, own, err);
    full.log = sgfsi_config_log(m->cfg);
    return status == SGFS_OK ? sgfsi_full_harvest(&full, theta, &harvest, &loglik, G, err) : status;
}

sgfs_status sgfsi_remembered_fill(sgfsi_remembered *r, const sgfs_model *m, const double *theta,
                                  int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    const char *why = refuses(m);
    *r = (sgfsi_remembered){.N = m->data->N, .width = width_of(m)};
    if (why != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--anchor-cache on cannot keep the scores of model %s here: %s. "
                          "--anchor-cache off makes them again for each batch.",
                          m->kind->name, why);
    }
    r->a = SGFSI_DOUBLES(arena, r->N * r->width);
    if (r->a == NULL) return sgfsi_fail_memory(err, "the scores at the anchor");
    sgfs_status status = pass(r, m, theta, threads, &own, err);
    sgfsi_arena_free(&own);
    return status;
}

/* ---- looking up ------------------------------------------------------------------------------ */

enum { AHEAD = 16 };

static void copy_out(const sgfsi_remembered *r, const int64_t *row, int64_t n, int64_t at,
                     int64_t width, double *to) {
    for (int64_t i = 0; i < n; i++) {
        const double *from = r->a + row[i] * r->width + at;
        for (int64_t j = 0; j < width; j++) to[i * width + j] = from[j];
    }
}

void sgfsi_remembered_pick(const sgfsi_remembered *r, const int64_t *row, int64_t n,
                           sgfs_scores *s) {
    for (int64_t first = 0; first < n; first += AHEAD) {
        int64_t count = n - first < AHEAD ? n - first : AHEAD, at = 0;
        /* The rows lie far apart: the lines of several are asked for before the first is read. */
        enum { LINE = 8 };
        for (int64_t i = 0; i < count; i++) {
            const double *from = r->a + row[first + i] * r->width;
            for (int64_t j = 0; j < r->width; j += LINE) __builtin_prefetch(from + j);
        }
        for (int64_t k = 0; k < s->blocks; k++) {
            const sgfs_score_block *o = &s->block[k];
            int64_t width = o->dense != NULL ? o->rows * o->cols : o->rows;
            double *to = o->dense != NULL ? o->dense : o->left;
            copy_out(r, row + first, count, at, width, to + first * width);
            at += width;
        }
        if (s->loglik != NULL) copy_out(r, row + first, count, at, 1, s->loglik + first);
    }
}
