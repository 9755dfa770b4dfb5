/* SPDX-License-Identifier: MIT
 * state.c: a run's state as one list (state.h).
 */
#include "chain/state.h"

#include <stdio.h>
#include <stdlib.h>

static void list_chain(sgfsi_chain *w, sgfsi_fields *list) {
    SGFSI_FIELD_ONE(list, w, t);
    SGFSI_FIELD_ONE(list, w, written);
    SGFSI_FIELD_ONE(list, w, meant);
    SGFSI_FIELD_ARRAY(list, w, mean, w->D);
    SGFSI_FIELD_ARRAY(list, w, theta, w->D);
    SGFSI_FIELD_ARRAY(list, w, user, w->D);
    sgfsi_chain_moments_fields(&w->moments, list);
    sgfsi_sampler_fields(&w->sampler, list);
    if (w->validator != NULL) sgfsi_validator_fields(w->validator, list);
}

void sgfsi_run_fields(sgfs_run *run, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "run");
    SGFSI_FIELD(list, "draws", &run->plan.draws, 1); /* grows where the run is lengthened */
    sgfsi_fields_leave(list);
    for (int64_t c = 0; c < run->plan.chains; c++) {
        char name[32];
        snprintf(name, sizeof name, "chain%lld", (long long)(c + 1));
        sgfsi_fields_enter(list, name);
        list_chain(&run->chain[c], list);
        sgfsi_fields_leave(list);
    }
}

void *sgfsi_state_save(sgfs_run *run, size_t *bytes, sgfs_err *err) {
    sgfsi_fields list = {0};
    if (sgfsi_run_flush(run, err) != SGFS_OK) return NULL;
    sgfsi_run_fields(run, &list);
    *bytes = sgfsi_fields_bytes(&list);
    void *saved = list.failed ? NULL : malloc(*bytes);
    if (saved != NULL) sgfsi_fields_save(&list, saved);
    else sgfsi_fail_memory(err, "the run's state");
    sgfsi_fields_free(&list);
    return saved;
}

/* A chain that had left its anchor needs room for one of its own before it can be loaded. */
static sgfs_status make_room(sgfs_run *run, const void *saved, size_t bytes, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++) {
        char name[SGFSI_FIELD_NAME];
        sgfs_sampler *s = &run->chain[c].sampler;
        snprintf(name, sizeof name, "chain%lld.reanchors", (long long)(c + 1));
        if (s->own == NULL && sgfsi_fields_saved_int(saved, bytes, name, 0) > 0)
            status = sgfsi_sampler_own_anchor(s, err);
    }
    return status;
}

sgfs_status sgfsi_state_load(sgfs_run *run, const void *saved, size_t bytes, sgfs_err *err) {
    sgfsi_fields list = {0};
    sgfs_status status = make_room(run, saved, bytes, err);
    if (status != SGFS_OK) return status;
    sgfsi_run_fields(run, &list);
    status = sgfsi_fields_load(&list, saved, bytes, err);
    sgfsi_fields_free(&list);
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++) {
        sgfs_sampler *s = &run->chain[c].sampler;
        if (s->reanchors > 0) s->anchor = s->own;
    }
    return status;
}
