/* SPDX-License-Identifier: MIT
 * arena.c: one aligned, zeroed allocation per piece, chained. Pieces are few and large
 * (workspaces), so a piece per allocation costs nothing and lets AddressSanitizer see each one's
 * borders. A piece that could not be made leaves a 1 in the lowest bit of the arena's pointer,
 * which aligned pieces do not use.
 */
#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scratch.h"

enum { ALIGNMENT = 64 };

typedef struct sgfsi_piece {
    struct sgfsi_piece *next;
    void (*release)(const void *user, void *what); /* NULL: nothing but the piece itself */
    const void *user;
    void *what;
} sgfsi_piece;

static const uintptr_t FAILED = 1;

static sgfsi_piece *first_of(const sgfsi_arena *arena) {
    return (sgfsi_piece *)((uintptr_t)arena->head & ~FAILED);
}

static void set_first(sgfsi_arena *arena, sgfsi_piece *piece, bool failed) {
    uintptr_t bit = failed || sgfsi_arena_failed(arena) ? FAILED : 0;
    arena->head = (sgfsi_piece *)((uintptr_t)piece | bit);
}

bool sgfsi_arena_failed(const sgfsi_arena *arena) {
    return ((uintptr_t)arena->head & FAILED) != 0;
}

void *sgfsi_arena_alloc(sgfsi_arena *arena, int64_t count, size_t size) {
    size_t bytes = 0;
    bool fits =
        count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes) && bytes <= SIZE_MAX / 2;
    if (fits && bytes >> 30 != 0)
        fits = (double)bytes < sgfsi_memory(); /* not promised, and killed */
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *raw = fits ? aligned_alloc(ALIGNMENT, rounded + ALIGNMENT) : NULL; /* link, then piece */
    if (raw == NULL) {
        arena->refused = fmax(arena->refused, (double)count * (double)size);
        return set_first(arena, first_of(arena), true), NULL;
    }
    sgfsi_memory_large_pages(raw, rounded);
    memset(raw, 0, rounded + ALIGNMENT);
    sgfsi_piece *piece = (sgfsi_piece *)(void *)raw;
    piece->next = first_of(arena);
    set_first(arena, piece, false);
    return raw + ALIGNMENT;
}

bool sgfsi_arena_room(sgfsi_arena *arena, int64_t n, size_t pointers, double **const *pointer) {
    bool made = true;
    for (size_t k = 0; k < pointers; k++) {
        *pointer[k] = SGFSI_DOUBLES(arena, n);
        made = made && *pointer[k] != NULL;
    }
    return made;
}

sgfs_status sgfsi_arena_explain(const sgfsi_arena *arena, sgfs_status status, sgfs_err *err) {
    char needed[24], there[24];
    if (status != SGFS_ENOMEM || err == NULL || arena->refused < 1 << 20) return status;
    sgfsi_append(err->text, sizeof err->text, " It needs %s at once, and there are %s.",
                 sgfsi_format_bytes(arena->refused, needed),
                 sgfsi_format_bytes(sgfsi_memory(), there));
    return status;
}

bool sgfsi_arena_keep(sgfsi_arena *arena, void (*release)(const void *user, void *what),
                      const void *user, void *what) {
    if (sgfsi_arena_alloc(arena, 0, 1) == NULL) return false;
    sgfsi_piece *piece = first_of(arena);
    piece->release = release;
    piece->user = user;
    piece->what = what;
    return true;
}

char *sgfsi_arena_text(sgfsi_arena *arena, const char *text) {
    size_t bytes = text != NULL ? strlen(text) + 1 : 0;
    char *copy = sgfsi_arena_alloc(arena, text != NULL ? (int64_t)bytes : -1, 1);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

void sgfsi_arena_free(sgfsi_arena *arena) {
    for (sgfsi_piece *piece = first_of(arena); piece != NULL;) {
        sgfsi_piece *next = piece->next;
        if (piece->release != NULL) piece->release(piece->user, piece->what);
        free(piece);
        piece = next;
    }
    *arena = (sgfsi_arena){NULL, 0};
}

bool sgfsi_resize(void *array, int64_t count, size_t size) {
    size_t bytes;
    void *old, *other;
    memcpy(&old, array, sizeof old);
    if (__builtin_mul_overflow((size_t)count, size, &bytes)) return false;
    other = realloc(old, bytes > 0 ? bytes : 1); /* of 0 bytes it would free, and return NULL */
    if (other != NULL) memcpy(array, &other, sizeof other);
    sgfsi_memory_large_pages(other, bytes);
    return other != NULL;
}

bool sgfsi_grow(void *array, int64_t *room, int64_t needed, size_t size) {
    enum { LEAST = 16 };
    int64_t more = 2 * *room < LEAST ? LEAST : 2 * *room;
    if (needed <= *room) return true;
    if (more < needed) more = needed;
    if (!sgfsi_resize(array, more, size)) return false;
    *room = more;
    return true;
}
