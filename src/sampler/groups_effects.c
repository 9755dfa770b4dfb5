/* SPDX-License-Identifier: MIT
 * groups_effects.c: means and standard deviations of all groups' effects over the iterations after
 * warm-up, of all chains together. A million groups have no room in a run file as
 * draws; as moments they take some forty bytes a number.
 *
 *     {"draws": 4000, "terms": [{"factor": "user", "effects": ["intercept", "x"],
 *       "levels": ["u1", ...], "rows": [17, ...],         G
 *       "mean": [...], "sd": [...]}]}                     G x effects, on the user's scale
 */
#include "base/moments.h"
#include "sampler/groups.h"

static const sgfsi_groups_chain *state_of(const sgfs_sampler *s) {
    return s->state;
}

static void put_term(sgfsi_json *list, const sgfs_sampler *const *chain, int64_t chains, int64_t k,
                     double *mean, double *sd) {
    const sgfsi_mixed *m = state_of(chain[0])->mixed;
    const sgfsi_mixed_term *t = &m->term[k];
    const sgfsi_term *term = t->scales->term;
    double unit = m->scales->unit;
    for (int64_t i = 0; i < t->G * t->q; i++) {
        double n = 0, square = 0;
        mean[i] = 0;
        for (int64_t c = 0; c < chains; c++) {
            const sgfsi_groups_chain *e = state_of(chain[c]);
            if (e->kept == 0) continue;
            sgfsi_moments_merge(n, &mean[i], &square, e->kept, e->mean[k][i], e->square[k][i]);
            n += e->kept;
        }
        mean[i] *= unit;
        sd[i] = n > 1 ? unit * sqrt(square / (n - 1)) : NAN;
    }
    sgfsi_json *o = sgfsi_json_object_in(list, NULL);
    sgfsi_json_text(o, "factor", term->factor->name);
    sgfsi_json *effects = sgfsi_json_array_in(o, "effects");
    for (int64_t j = 0; j < t->q; j++) sgfsi_json_text(effects, NULL, term->effect[j]);
    sgfsi_json *levels = sgfsi_json_array_in(o, "levels"), *rows = sgfsi_json_array_in(o, "rows");
    for (int64_t g = 0; g < t->G; g++) {
        sgfsi_json_text(levels, NULL, term->factor->level[g]);
        sgfsi_json_int(rows, NULL, t->first[g + 1] - t->first[g]);
    }
    sgfsi_json_nums(o, "mean", t->G * t->q, mean);
    sgfsi_json_nums(o, "sd", t->G * t->q, sd);
}

sgfs_status sgfsi_groups_effects(const sgfs_sampler *const *chain, int64_t chains, sgfsi_json **out,
                                 sgfs_err *err) {
    const sgfsi_mixed *m = state_of(chain[0])->mixed;
    double kept = 0;
    int64_t most = 0;
    for (int64_t c = 0; c < chains; c++) kept += state_of(chain[c])->kept;
    for (int64_t k = 0; k < m->terms; k++) {
        int64_t numbers = m->term[k].G * m->term[k].q;
        most = numbers > most ? numbers : most;
    }
    *out = NULL;
    if (!(kept > 1)) return SGFS_OK;
    sgfsi_arena arena = {NULL};
    double *mean, *sd;
    bool room = SGFSI_ROOM(&arena, most, &mean, &sd);
    if (room) {
        sgfsi_json *o = *out = sgfsi_json_object();
        sgfsi_json_num(o, "draws", kept);
        sgfsi_json *list = sgfsi_json_array_in(o, "terms");
        for (int64_t k = 0; k < m->terms; k++) put_term(list, chain, chains, k, mean, sd);
    }
    sgfsi_arena_free(&arena);
    return room && *out != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the effects of groups");
}
