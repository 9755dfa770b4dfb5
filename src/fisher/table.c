/* SPDX-License-Identifier: MIT
 * table.c: the structures a symmetric matrix may have.
 */
#include <string.h>

#include "fisher/fisher.h"

const sgfs_fisher_kind *const sgfsi_fishers[] = {&sgfs_fisher_full, &sgfs_fisher_diag, NULL};

const sgfs_fisher_kind *sgfsi_fisher_find(const char *name) {
    for (const sgfs_fisher_kind *const *f = sgfsi_fishers; *f != NULL; f++) {
        if (strcmp((*f)->name, name) == 0) return *f;
    }
    return NULL;
}

sgfs_status sgfsi_sym_open(sgfs_sym *A, const sgfs_fisher_kind *kind, const sgfs_backend *be,
                           int64_t D, sgfsi_arena *arena, sgfs_err *err) {
    *A = (sgfs_sym){.kind = kind, .be = be, .D = D, .a = SGFSI_DOUBLES(arena, kind->size(D))};
    return A->a != NULL ? SGFS_OK
                        : sgfsi_fail_memory(err, "a Fisher matrix (try --sampler sgfs-d)");
}
