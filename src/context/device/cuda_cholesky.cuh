/* SPDX-License-Identifier: MIT
 * cuda_cholesky.cuh: what cuda_cholesky.cu has for other files of the plug-in: factors, and
 * solutions with them, as work that is begun and not waited for.
 */
#pragma once

#include "context/device/cuda_tiles.cuh"

/* Where a factor of order D is made: numbers on the GPU. */
struct factor_room {
    double *inverse;  /* of the tiles on the diagonal, turned (L_jj^-T): T x 64 x 64 */
    double *tile;     /* of the lower triangle, T (T + 1)/2 of them */
    unsigned *flag;   /* of each tile, and of each inverse */
    double *solution; /* four vectors of T x 64 */
};
int64_t factor_numbers(int64_t D); /* that it takes */
factor_room factor_room_at(int64_t D, double *numbers);

/* Lower triangle of A -> L. *failed becomes the order of the minor that is not positive, where one
 * is: then A holds nothing of use. Where *stopped is not 0 before, nothing happens. */
void begin_factor(lane *l, int64_t D, double *A, const factor_room &room, double *failed,
                  const double *stopped);
/* The inverses of a factor's tiles on the diagonal, made of L itself, so that they are the same
 * whether it has just been made or not; all: and its other tiles, which begin_factor leaves there.
 * Where *failed or *stopped is not 0, nothing happens; stopped may be NULL. */
void begin_inverses(lane *l, int64_t D, const double *L, const factor_room &room, bool all,
                    const double *failed, const double *stopped);

/* x = L^-1 x (halves: 1), L^-T x (halves: 2), or L^-T (L^-1 x + a z) (halves: 3); z NULL: without
 * it. The room is one that begin_factor or begin_inverses has filled. */
struct solution {
    int halves;
    int64_t D;
    const double *z;
    double a;
    double *x; /* D */
    /* Where there is one: theta += size x, and path = theta; then *done = count. */
    double *theta, *path, *done;
    double size, count;
    const double *stopped, *failed; /* where one is not 0, nothing happens; may be NULL */
};
void begin_solution(lane *l, const solution &s, const factor_room &room);
