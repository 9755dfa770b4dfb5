/* SPDX-License-Identifier: MIT
 * arena.c: one aligned, zeroed allocation per piece, chained. Pieces are few and large
 * (workspaces), so a piece per allocation costs nothing and lets AddressSanitizer see each one's
 * borders.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct sgfsi_piece {
    struct sgfsi_piece *next;
    void (*release)(const void *user, void *what); /* NULL: nothing but the piece itself */
    const void *user;
    void *what;
} sgfsi_piece;

void *sgfsi_arena_alloc(sgfsi_arena *arena, int64_t count, size_t size) {
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes)) return NULL;
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *raw = aligned_alloc(ALIGNMENT, rounded + ALIGNMENT); /* link first, then the piece */
    if (raw == NULL) return NULL;
    memset(raw, 0, rounded + ALIGNMENT);
    sgfsi_piece *piece = (sgfsi_piece *)(void *)raw;
    piece->next = arena->head;
    arena->head = piece;
    return raw + ALIGNMENT;
}

bool sgfsi_arena_keep(sgfsi_arena *arena, void (*release)(const void *user, void *what),
                      const void *user, void *what) {
    if (sgfsi_arena_alloc(arena, 0, 1) == NULL) return false;
    arena->head->release = release;
    arena->head->user = user;
    arena->head->what = what;
    return true;
}

char *sgfsi_arena_text(sgfsi_arena *arena, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = sgfsi_arena_alloc(arena, (int64_t)bytes, 1);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

void sgfsi_arena_free(sgfsi_arena *arena) {
    for (sgfsi_piece *piece = arena->head; piece != NULL;) {
        sgfsi_piece *next = piece->next;
        if (piece->release != NULL) piece->release(piece->user, piece->what);
        free(piece);
        piece = next;
    }
    arena->head = NULL;
}

bool sgfsi_resize(void *array, int64_t count, size_t size) {
    size_t bytes;
    void *old, *other;
    memcpy(&old, array, sizeof old);
    if (__builtin_mul_overflow((size_t)count, size, &bytes)) return false;
    other = realloc(old, bytes);
    if (other != NULL) memcpy(array, &other, sizeof other);
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
