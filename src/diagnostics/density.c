/* SPDX-License-Identifier: MIT
 * density.c: a kernel density by counting, and the eigenvalues of a symmetric matrix.
 *
 * The numbers are counted at the two grid points beside them, in proportion to how near they are,
 * and the counts are smoothed with the kernel: the cost is n + points^2 whatever n is. The width is
 *     h = 0.9 min(sd, (q75 - q25)/1.349) n^(-1/5)          (Silverman 1986, eq. 3.31).
 * Eigenvalues: Householder's reduction to a tridiagonal matrix and the implicit QL iteration (Golub
 * and Van Loan, Matrix Computations, sections 8.3): D^3 operations, for a few hundred parameters.
 */
#include "diagnostics/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "diagnostics/trace.h"

static double width_of(int64_t n, const double *sorted) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) mean += sorted[i] / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (sorted[i] - mean) * (sorted[i] - mean);
    double sd = sqrt(squares / (double)(n - 1));
    double middle = (sgfsi_quantile(n, sorted, 0.75) - sgfsi_quantile(n, sorted, 0.25)) / 1.349;
    double spread = middle > 0 ? fmin(sd, middle) : sd;
    return 0.9 * spread * pow((double)n, -0.2);
}

void sgfsi_density_of(int64_t n, const double *sorted, sgfsi_density *out) {
    enum { POINTS = SGFSI_DENSITY_POINTS };
    double count[POINTS] = {0}, h = width_of(n, sorted);
    double low = sgfsi_quantile(n, sorted, 0.001), high = sgfsi_quantile(n, sorted, 0.999);
    double room = fmax(4 * h, 0.05 * (high - low));
    low = fmax(sorted[0] - 4 * h, low - room);
    high = fmin(sorted[n - 1] + 4 * h, high + room);
    out->from = low;
    out->step = (high - low) / (POINTS - 1);
    for (int64_t i = 0; i < n; i++) {
        double at = (sorted[i] - low) / out->step, below = floor(at);
        if (!(below >= 0 && below < POINTS)) continue;
        int k = (int)below;
        count[k] += 1 - (at - below);
        if (k + 1 < POINTS) count[k + 1] += at - below;
    }
    double scale = 1 / ((double)n * h * sqrt(2 * 3.14159265358979323846));
    for (int k = 0; k < POINTS; k++) {
        out->y[k] = 0;
        for (int j = 0; j < POINTS; j++) {
            double z = (k - j) * out->step / h;
            if (fabs(z) < 6) out->y[k] += scale * count[j] * exp(-0.5 * z * z);
        }
    }
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* A -> d on the diagonal and e below it (e[0] = 0), by reflections of the lower triangle. */
static void reduce(int64_t D, double *A, double *d, double *e) {
    for (int64_t i = D - 1; i > 0; i--) {
        double *row = A + i * D, scale = 0, h = 0;
        for (int64_t k = 0; k < i; k++) scale += fabs(row[k]);
        if (i == 1 || scale == 0) {
            e[i] = row[i - 1];
            continue;
        }
        for (int64_t k = 0; k < i; k++) {
            row[k] /= scale;
            h += row[k] * row[k];
        }
        double f = row[i - 1], g = f >= 0 ? -sqrt(h) : sqrt(h);
        e[i] = scale * g;
        h -= f * g;
        row[i - 1] = f - g;
        /* p = A u / h, and K = u' p / 2 h, so that A - u q' - q u' with q = p - K u */
        double sum = 0;
        for (int64_t j = 0; j < i; j++) {
            double dot = 0;
            for (int64_t k = 0; k <= j; k++) dot += A[j * D + k] * row[k];
            for (int64_t k = j + 1; k < i; k++) dot += A[k * D + j] * row[k];
            d[j] = dot / h;
            sum += d[j] * row[j];
        }
        double K = sum / (2 * h);
        for (int64_t j = 0; j < i; j++) {
            double u = row[j], q = d[j] -= K * u;
            for (int64_t k = 0; k <= j; k++) A[j * D + k] -= u * d[k] + q * row[k];
        }
    }
    e[0] = 0;
    for (int64_t i = 0; i < D; i++) d[i] = A[i * D + i];
}

/* One implicit QL sweep over d[l .. m], with e between them. */
static void sweep(int64_t l, int64_t m, double *d, double *e) {
    double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(g, 1);
    g = d[m] - d[l] + e[l] / (g + copysign(r, g));
    double s = 1, c = 1, p = 0;
    for (int64_t i = m - 1; i >= l; i--) {
        double f = s * e[i], b = c * e[i];
        e[i + 1] = r = hypot(f, g);
        if (r == 0) {
            d[i + 1] -= p;
            e[m] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0;
}

void sgfsi_eigenvalues(int64_t D, double *A, double *values, double *scratch) {
    enum { SWEEPS = 60 }; /* of one eigenvalue; a few are usual */
    double *d = values, *e = scratch;
    reduce(D, A, d, e);
    for (int64_t i = 1; i < D; i++) e[i - 1] = e[i];
    e[D - 1] = 0;
    for (int64_t l = 0; l < D; l++) {
        for (int k = 0; k < SWEEPS; k++) {
            int64_t m = l;
            for (; m < D - 1; m++) {
                double size = fabs(d[m]) + fabs(d[m + 1]);
                if (fabs(e[m]) <= 1e-16 * size) break;
            }
            if (m == l) break;
            sweep(l, m, d, e);
        }
    }
    qsort(d, (size_t)D, sizeof *d, sgfsi_by_size);
}
