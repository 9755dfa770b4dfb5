/* SPDX-License-Identifier: MIT
 * groups_kept.c: some draws of the effects of all groups, for predictions and exports. A million
 * groups have no room in a run file as draws like any other: of the draws that a chain hands over,
 * a few are kept with all effects, evenly spaced over the chain, however long it becomes or how
 * early it ends. Single precision is far finer than any Monte Carlo error.
 *
 * All are kept until the room for twice as many as are wanted is full; then every second one goes,
 * and from there on every second one is kept. So there are always as many as are wanted, and at
 * most twice as many, and the number of draws that were planned changes nothing.
 */
#include <stdlib.h>

#include "sampler/groups.h"

enum { USUAL = 400, LEAST = 16 };      /* draws of all chains together that are wanted */
static const double usual_bytes = 8e6; /* of more than LEAST draws */

static int64_t numbers_of(const sgfsi_mixed *m) {
    int64_t sum = 0;
    for (int64_t k = 0; k < m->terms; k++) sum += m->term[k].G * m->term[k].q;
    return sum;
}

sgfs_status sgfsi_groups_keep_open(sgfsi_groups_chain *e, sgfs_err *err) {
    sgfsi_groups_kept *k = &e->draws;
    const sgfsi_plan *plan = e->sampler->plan;
    k->numbers = numbers_of(e->mixed);
    double fit = usual_bytes / (sizeof(float) * (double)k->numbers);
    double want = fmax(LEAST, fmin(USUAL, floor(fit)));
    if (!sgfsi_config_auto(plan->cfg, "sampler.keep_groups"))
        want = sgfsi_config_num(plan->cfg, "sampler.keep_groups");
    k->room = 2 * (int64_t)ceil(want / (double)plan->chains);
    k->every = 1;
    if (k->room == 0) return SGFS_OK;
    k->u = sgfsi_arena_alloc(e->sampler->arena, k->room * k->numbers, sizeof *k->u);
    return k->u != NULL ? SGFS_OK
                        : sgfsi_fail(err, SGFS_ENOMEM,
                                     "Not enough memory for %lld draws of %lld effects of groups: "
                                     "--keep-groups keeps fewer.",
                                     (long long)(k->room * plan->chains), (long long)k->numbers);
}

int64_t sgfsi_groups_effects_now(const sgfs_sampler *s, float *out) {
    const sgfsi_groups_chain *e = s->state;
    const sgfsi_mixed *m = e->mixed;
    const double unit = m->scales->unit;
    for (int64_t k = 0; out != NULL && k < m->terms; k++) {
        const sgfsi_mixed_term *t = &m->term[k];
        for (int64_t g = 0; g < t->G; g++, out += t->q) {
            double u[SGFSI_MOST_EFFECTS];
            sgfsi_group_multiply(t->q, e->at.term[k].C, e->at.term[k].v + g * t->q, u);
            for (int64_t j = 0; j < t->q; j++) out[j] = (float)(unit * u[j]);
        }
    }
    return e->draws.numbers;
}

void sgfsi_groups_keep(sgfsi_groups_chain *e) {
    sgfsi_groups_kept *k = &e->draws;
    k->seen++;
    if (k->room == 0 || k->seen % k->every != 0) return;
    if (k->count == k->room) { /* those of even number are as far apart as is due from here on */
        size_t bytes = (size_t)k->numbers * sizeof *k->u;
        for (int64_t i = 0; i < k->count / 2; i++)
            memmove(k->u + i * k->numbers, k->u + (2 * i + 1) * k->numbers, bytes);
        k->count /= 2;
        k->every *= 2;
        if (k->seen % k->every != 0) return;
    }
    (void)sgfsi_groups_effects_now(e->sampler, k->u + k->count++ * k->numbers);
}

void sgfsi_groups_keep_fields(sgfsi_groups_chain *e, sgfsi_fields *list) {
    sgfsi_groups_kept *k = &e->draws;
    int64_t bytes = k->room * k->numbers * (int64_t)sizeof *k->u;
    sgfsi_fields_enter(list, "kept");
    SGFSI_FIELD_ONE(list, k, count);
    SGFSI_FIELD_ONE(list, k, every);
    SGFSI_FIELD_ONE(list, k, seen);
    SGFSI_FIELD(list, "u", (char *)k->u, bytes);
    sgfsi_fields_leave(list);
}

static const sgfsi_groups_kept *kept_of(const sgfs_sampler *s) {
    const sgfsi_groups_chain *e = s->state;
    return &e->draws;
}

bool sgfsi_groups_kept_effects(const sgfs_sampler *const *chain, int64_t chains,
                               sgfs_kept_effects *out) {
    *out = (sgfs_kept_effects){.numbers = kept_of(chain[0])->numbers};
    for (int64_t c = 0; c < chains; c++) out->count += kept_of(chain[c])->count;
    if (out->count == 0) return true;
    out->chain = malloc((size_t)out->count * sizeof *out->chain);
    out->draw = malloc((size_t)out->count * sizeof *out->draw);
    out->u = malloc((size_t)(out->count * out->numbers) * sizeof *out->u);
    if (out->chain == NULL || out->draw == NULL || out->u == NULL) return false;
    int64_t to = 0;
    for (int64_t c = 0; c < chains; c++) {
        const sgfsi_groups_kept *k = kept_of(chain[c]);
        size_t bytes = (size_t)(k->count * k->numbers) * sizeof *k->u;
        if (bytes > 0) memcpy(out->u + to * out->numbers, k->u, bytes);
        for (int64_t i = 0; i < k->count; i++, to++) {
            out->chain[to] = c;
            out->draw[to] = (i + 1) * k->every - 1;
        }
    }
    return true;
}
