/* SPDX-License-Identifier: MIT
 * table.c: the structures a symmetric matrix may have.
 */
#include <string.h>

#include "fisher/fisher.h"

#define FISHERS(ROW) ROW(full) ROW(diag) ROW(block) ROW(inverse)
#define ENTER(kind)  &sgfs_fisher_##kind,
#define NAME(kind)   "|" #kind
const sgfs_fisher_kind *const sgfsi_fishers[] = {FISHERS(ENTER) NULL};
const char sgfsi_fisher_choices[] = FISHERS(NAME);

const sgfs_fisher_kind *sgfsi_fisher_find(const char *name) {
    for (const sgfs_fisher_kind *const *f = sgfsi_fishers; *f != NULL; f++) {
        if (strcmp((*f)->name, name) == 0) return *f;
    }
    return NULL;
}

const sgfs_layout *sgfsi_layout_open(int64_t D, int64_t size, int64_t blocks, const int64_t *first,
                                     sgfsi_arena *arena) {
    if (size > 0) blocks = (D + size - 1) / size;
    sgfs_layout *layout = sgfsi_arena_alloc(arena, 1, sizeof *layout);
    int64_t *begin = sgfsi_arena_alloc(arena, blocks + 1, sizeof *begin);
    if (layout == NULL || begin == NULL) return NULL;
    for (int64_t k = 0; k < blocks; k++) begin[k] = size > 0 ? k * size : first[k];
    begin[blocks] = D;
    *layout = (sgfs_layout){.D = D, .blocks = blocks, .first = begin};
    return layout;
}

sgfs_status sgfsi_sym_open(sgfs_sym *A, const sgfs_fisher_kind *kind, const sgfs_device *dev,
                           const sgfs_layout *layout, sgfsi_arena *arena, sgfs_err *err) {
    *A = (sgfs_sym){.kind = kind,
                    .device = dev,
                    .layout = layout,
                    .D = layout->D,
                    .store = kind->host ? SGFSI_DOUBLES(arena, kind->size(layout))
                                        : sgfsi_device_room(dev, kind->size(layout), arena)};
    if (dev->ops->alloc != NULL) A->room = SGFSI_DOUBLES(arena, layout->D);
    bool made = A->store != NULL && (dev->ops->alloc == NULL || A->room != NULL);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "a Fisher matrix (try --sampler sgfs-d)");
}

void sgfsi_sym_solve(const sgfs_sym *L, double a, const double *z, double *x) {
    if (L->kind->solve_noisy != NULL) {
        L->kind->solve_noisy(L, a, z, x);
        return;
    }
    L->kind->solve(L, false, x);
    for (int64_t j = 0; z != NULL && j < L->D; j++) x[j] += a * z[j];
    L->kind->solve(L, true, x);
}

void sgfsi_sym_swap(sgfs_sym *A, sgfs_sym *B) {
    double *store = A->store;
    A->store = B->store;
    B->store = store;
}

double *sgfsi_sym_numbers(const sgfs_sym *A) {
    return A != NULL ? A->store : NULL;
}

static void get_numbers(const void *device, int64_t n, const void *at, void *host) {
    sgfsi_get(device, n, at, host);
}

static void put_numbers(const void *device, int64_t n, const void *host, void *at) {
    sgfsi_put(device, n, host, at);
}

void sgfsi_sym_fields(const sgfs_sym *A, sgfsi_fields *list, const char *name) {
    static const sgfsi_far_memory far = {get_numbers, put_numbers};
    SGFSI_FIELD(list, name, A->store, A->kind->size(A->layout));
    if (!A->kind->host && A->device->ops->alloc != NULL) sgfsi_fields_far(list, &far, A->device);
}
