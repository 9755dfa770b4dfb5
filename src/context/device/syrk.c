/* SPDX-License-Identifier: MIT
 * syrk.c: the lower triangle of C = a X'X + b C for matrices of some hundred columns at most, where
 * OpenBLAS spends much of its time on arranging X for its kernel.
 *
 * X is taken as it lies. A tile of C, ROWS x PANEL groups of LANES columns, stays in registers
 * while a strip of X that fits the nearest cache goes by. Where k is no multiple of these, the last
 * tiles overlap those before them, and numbers that were added already are left out. Each number of
 * C is a sum over the rows of a strip in their order, whatever the tiles are.
 *
 * Measured beside OpenBLAS 0.3.21, n 500, on a processor with AVX-512: 0.3 of its time at k 21, 0.4
 * at 51, 0.5 to 800; of its own kernel for AVX-512 0.4, 0.5 and 1. Compiled for AVX2: 0.6, 0.6, and
 * 0.9 at 200.
 */
#include "context/device/device.h"

#if defined __AVX512F__
enum { LANES = 8, ROWS = 8, MOST = 1000 };
#elif defined __AVX2__ && defined __FMA__
enum { LANES = 4, ROWS = 4, MOST = 200 };
#else
enum { LANES = 2, ROWS = 4, MOST = 0 }; /* not measured */
#endif
enum { PANEL = 3, STRIP = 32 << 10 /* bytes */, LEAST = 8 /* rows of X */ };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double loose __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

/* sums (ROWS x PANEL LANES) = products of columns r .. and c .. of X, `groups` of LANES. */
static inline __attribute__((always_inline)) void tile(int groups, int64_t n, int64_t k,
                                                       const double *r, const double *c,
                                                       double sums[ROWS][PANEL * LANES]) {
    lanes s[ROWS][PANEL] = {{{0}}};
    for (int64_t i = 0; i < n; i++, r += k, c += k) {
        lanes x[PANEL];
        for (int g = 0; g < groups; g++) x[g] = *(const loose *)(const void *)(c + g * LANES);
        for (int q = 0; q < ROWS; q++)
            for (int g = 0; g < groups; g++) s[q][g] += r[q] * x[g];
    }
    for (int q = 0; q < ROWS; q++)
        for (int g = 0; g < groups; g++) *(loose *)(void *)(sums[q] + g * LANES) = s[q][g];
}

/* Rows r .. r + ROWS - 1 of C, of which those from `fresh` on are not there yet. */
static void add_rows(int64_t n, int64_t k, double a, const double *X, int64_t r, int64_t fresh,
                     double *C) {
    double sums[ROWS][PANEL * LANES];
    const int64_t end = r + ROWS;
    for (int64_t done = 0; done < end;) {
        int64_t groups = (end - done + LANES - 1) / LANES;
        if (groups > PANEL) groups = PANEL;
        if (groups > end / LANES) groups = end / LANES;
        int64_t c = done + groups * LANES <= end ? done : end - groups * LANES;
        if (groups == 3) tile(3, n, k, X + r, X + c, sums);
        else if (groups == 2) tile(2, n, k, X + r, X + c, sums);
        else tile(1, n, k, X + r, X + c, sums);
        int64_t to = c + groups * LANES;
        for (int64_t i = fresh; i < end; i++) {
            int64_t stop = to < i + 1 ? to : i + 1;
            for (int64_t j = done; j < stop; j++) C[i * k + j] += a * sums[i - r][j - c];
        }
        done = to;
    }
}

bool sgfsi_narrow_syrk_fits(int64_t n, int64_t k) {
    return n >= LEAST && k >= ROWS && k <= MOST;
}

void sgfsi_narrow_syrk(int64_t n, int64_t k, double a, const double *X, double b, double *C) {
    for (int64_t i = 0; b != 1 && i < k; i++)
        for (int64_t j = 0; j <= i; j++) C[i * k + j] = b != 0 ? b * C[i * k + j] : 0;
    int64_t strip = STRIP / (k * (int64_t)sizeof *X);
    if (strip < 4 * LEAST) strip = 4 * LEAST;
    for (int64_t first = 0; first < n; first += strip) {
        int64_t some = n - first < strip ? n - first : strip, r = 0;
        const double *x = X + first * k;
        for (; r + ROWS <= k; r += ROWS) add_rows(some, k, a, x, r, r, C);
        if (r < k) add_rows(some, k, a, x, k - ROWS, r, C);
    }
}
