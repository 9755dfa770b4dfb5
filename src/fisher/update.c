/* SPDX-License-Identifier: MIT
 * update.c: which way to renew the factor of a full matrix after a batch of n rows is the cheapest.
 *
 * By operations counted, reflections (2 n D^2) beat syrk and potrf (n D^2 + D^3/3) from D/n = 3
 * on, and Woodbury (3 n D^2 + 2 n^2 D) from D/n = 7 on; but short calls are slow and potrf is not
 * a fast one, so the borders below are measured (`make bench`, bench/fisher.c prints them beside
 * the times; the table is in docs/samplers.md). At a border the choice is worth a few per cent,
 * far from it a factor of two or three.
 */
#include "fisher/fisher.h"

enum {
    CHOLESKY_LEAST_D = 400,   /* measured: at D = 200 still slower than potrf at any D/n */
    CHOLESKY_LEAST_RATIO = 4, /* D/n, measured: 6 to 8 at D = 400, 800; 4 at 2647 */
    WOODBURY_LEAST_RATIO = 4, /* D/n, measured: 4.1, 4.1, 5.1 at D = 50, 100, 200 */
    WOODBURY_MOST_ROWS = 80   /* measured: reflections win above n = 75 at D = 400, 90 at 800 */
};

const char *sgfsi_update_best(int64_t D, int64_t n, double alpha) {
    if (alpha == 0 && n <= WOODBURY_MOST_ROWS && D >= WOODBURY_LEAST_RATIO * n) return "woodbury";
    if (D >= CHOLESKY_LEAST_D && D >= CHOLESKY_LEAST_RATIO * n) return "cholesky";
    return "refactor";
}
