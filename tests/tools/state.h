/* SPDX-License-Identifier: MIT
 * state.h: tests that look into a sampler do so by the names of the fields that it lists.
 */
#pragma once

#include "sampler/sampler.h"
#include "tools/check.h"

/* Where the sampler keeps this field. */
static inline void *field_of(const sgfs_sampler *s, const char *name) {
    sgfsi_fields list = {0};
    s->kind->fields(s, &list);
    const sgfsi_field *f = sgfsi_fields_find(&list, name);
    void *at = f != NULL ? f->at : NULL;
    sgfsi_fields_free(&list);
    if (at == NULL) fail_msg("sampler %s lists no field %s", s->kind->name, name);
    return at;
}

static inline double number_of(const sgfs_sampler *s, const char *name) {
    return *(const double *)field_of(s, name);
}
