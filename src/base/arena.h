/* SPDX-License-Identifier: MIT
 * arena.h: memory that is made piece by piece and freed at once. Every piece is zeroed and
 * aligned to 64 bytes. A stage allocates while opening and never inside the loop. The arena
 * remembers a piece that could not be made, so that many may be asked for, and one question asked
 * at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct sgfsi_arena {
    struct sgfsi_piece *head;
    double refused; /* bytes of the largest piece that could not be made; 0: all could */
} sgfsi_arena;

/* count x size bytes, or NULL when memory is out or the product overflows (count < 0 included). */
void *sgfsi_arena_alloc(sgfsi_arena *arena, int64_t count, size_t size);
/* The arena's end is to call release(user, what) as well; false when memory is out. */
bool sgfsi_arena_keep(sgfsi_arena *arena, void (*release)(const void *user, void *what),
                      const void *user, void *what);
/* A copy; NULL for text that could not be made before. */
char *sgfsi_arena_text(sgfsi_arena *arena, const char *text);
bool sgfsi_arena_failed(const sgfsi_arena *arena); /* did any of these return NULL so far? */
/* The status; where that is why it is SGFS_ENOMEM, err learns how many bytes were asked for, and
 * how many there are. */
sgfs_status sgfsi_arena_explain(const sgfsi_arena *arena, sgfs_status status, sgfs_err *err);
void sgfsi_arena_free(sgfsi_arena *arena);

/* Arrays that grow; array is the address of a pointer from malloc. resize: to count elements. grow:
 * room for `needed` of them at least, twice as much as before. false: it is as it was. */
bool sgfsi_resize(void *array, int64_t count, size_t size);
bool sgfsi_grow(void *array, int64_t *room, int64_t needed, size_t size);

/* n doubles for each of the pointers; false when memory is out. SGFSI_ROOM(arena, D, &s->G,
 * &s->z) */
bool sgfsi_arena_room(sgfsi_arena *arena, int64_t n, size_t pointers, double **const *pointer);
#define SGFSI_ROOM(arena, n, ...)                                                                  \
    sgfsi_arena_room((arena), (n), sizeof((double **[]){__VA_ARGS__}) / sizeof(double **),         \
                     (double **const[]){__VA_ARGS__})

#define SGFSI_DOUBLES(arena, count) ((double *)sgfsi_arena_alloc((arena), (count), sizeof(double)))
