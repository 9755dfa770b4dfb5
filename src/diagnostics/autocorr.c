/* SPDX-License-Identifier: MIT
 * autocorr.c: autocovariances by a small Fourier transform of our own. (Debian's fftw is GPL, and
 * others would be one more dependency for forty lines.)
 *
 * Wiener-Khinchin: pad a centred series z with zeros to at least twice its length; the inverse
 * transform of |Z(f)|^2 is sum_t z_{t+k} conj(z_t). The divisor is n at every lag, as in ArviZ and
 * Stan: biased, but the sequence stays positive definite. Three things make it short and fast:
 *   - ESS only needs the mean over series, so spectra are summed and transformed back once;
 *   - two real series travel as the parts of one complex one, z = x + i y: the real part of the
 *     sum above is the sum of both autocovariances, nothing has to be taken apart;
 *   - the way there decimates in frequency (natural order in, bit-reversed out) and the way back in
 *     time (bit-reversed in, natural out), so no pass reorders anything.
 * Large transforms recurse until a piece fits the first cache (Cooley and Tukey 1965 both ways).
 */
#include "diagnostics/autocorr.h"

#include <math.h>
#include <string.h>

#include "diagnostics/sums.h"

bool sgfsi_autocorr_init(sgfsi_autocorr *w, sgfsi_arena *arena, int64_t n) {
    w->n = n;
    for (w->size = 4; w->size < 2 * n;) w->size *= 2;
    if (!SGFSI_ROOM(arena, w->size, &w->re, &w->im, &w->power, &w->cosine, &w->sine)) return false;
    for (int64_t h = 1; h < w->size; h *= 2) {
        for (int64_t k = 0; k < h; k++) {
            double angle = -3.14159265358979323846 * (double)k / (double)h;
            w->cosine[h + k] = cos(angle);
            w->sine[h + k] = sin(angle);
        }
    }
    return true;
}

/* One level on 2 h numbers: sums to the front, differences times the roots to the back. */
static void split_level(const sgfsi_autocorr *w, double *restrict re, double *restrict im,
                        int64_t h) {
    const double *restrict c = w->cosine + h, *restrict s = w->sine + h;
    double *restrict re2 = re + h, *restrict im2 = im + h;
    for (int64_t k = 0; k < h; k++) {
        double dr = re[k] - re2[k], di = im[k] - im2[k];
        re[k] += re2[k];
        im[k] += im2[k];
        re2[k] = dr * c[k] - di * s[k];
        im2[k] = dr * s[k] + di * c[k];
    }
}

/* The same level the other way round. */
static void join_level(const sgfsi_autocorr *w, double *restrict re, double *restrict im,
                       int64_t h) {
    const double *restrict c = w->cosine + h, *restrict s = w->sine + h;
    double *restrict re2 = re + h, *restrict im2 = im + h;
    for (int64_t k = 0; k < h; k++) {
        double br = re2[k] * c[k] - im2[k] * s[k], bi = re2[k] * s[k] + im2[k] * c[k];
        re2[k] = re[k] - br;
        im2[k] = im[k] - bi;
        re[k] += br;
        im[k] += bi;
    }
}

/* The last two levels on the way there, h = 2 and 1, where the roots are 1 and -i. */
static void split_fours(double *re, double *im, int64_t size) {
    for (int64_t i = 0; i < size; i += 4) {
        double *r = re + i, *m = im + i;
        double r02 = r[0] + r[2], r13 = r[1] + r[3], m02 = m[0] + m[2], m13 = m[1] + m[3];
        double dr02 = r[0] - r[2], dr13 = r[1] - r[3], dm02 = m[0] - m[2], dm13 = m[1] - m[3];
        r[0] = r02 + r13;
        m[0] = m02 + m13;
        r[1] = r02 - r13;
        m[1] = m02 - m13;
        r[2] = dr02 + dm13;
        m[2] = dm02 - dr13;
        r[3] = dr02 - dm13;
        m[3] = dm02 + dr13;
    }
}

enum { CACHED = 2048 }; /* numbers: 32 KiB in two parts */

static void transform_there(const sgfsi_autocorr *w, double *re, double *im, int64_t size) {
    if (size > CACHED) {
        split_level(w, re, im, size / 2);
        transform_there(w, re, im, size / 2);
        transform_there(w, re + size / 2, im + size / 2, size / 2);
        return;
    }
    for (int64_t h = size / 2; h > 2; h /= 2)
        for (int64_t i = 0; i < size; i += 2 * h) split_level(w, re + i, im + i, h);
    split_fours(re, im, size);
}

static void transform_back(const sgfsi_autocorr *w, double *re, double *im, int64_t size) {
    if (size > CACHED) {
        transform_back(w, re, im, size / 2);
        transform_back(w, re + size / 2, im + size / 2, size / 2);
        join_level(w, re, im, size / 2);
        return;
    }
    for (int64_t h = 1; h < size; h *= 2)
        for (int64_t i = 0; i < size; i += 2 * h) join_level(w, re + i, im + i, h);
}

/* x about its mean into part, zeros behind it. Returns the mean. */
static double load_centred(const sgfsi_autocorr *w, const double *x, double *part) {
    double mean = sgfsi_mean(w->n, x);
    for (int64_t t = 0; t < w->n; t++) part[t] = x[t] - mean;
    memset(part + w->n, 0, (size_t)(w->size - w->n) * sizeof *part);
    return mean;
}

void sgfsi_autocov(sgfsi_autocorr *w, int64_t m, const double *x, double *mean, double *out) {
    memset(w->power, 0, (size_t)w->size * sizeof *w->power);
    for (int64_t i = 0; i < m; i += 2) {
        double first = load_centred(w, x + i * w->n, w->re), second = 0.0;
        if (i + 1 < m) second = load_centred(w, x + (i + 1) * w->n, w->im);
        else memset(w->im, 0, (size_t)w->size * sizeof *w->im);
        if (mean != NULL) mean[i] = first;
        if (mean != NULL && i + 1 < m) mean[i + 1] = second;
        transform_there(w, w->re, w->im, w->size);
        for (int64_t f = 0; f < w->size; f++)
            w->power[f] += w->re[f] * w->re[f] + w->im[f] * w->im[f];
    }
    /* The spectrum is real, so a forward transform's real part is the inverse's. */
    memcpy(w->re, w->power, (size_t)w->size * sizeof *w->re);
    memset(w->im, 0, (size_t)w->size * sizeof *w->im);
    transform_back(w, w->re, w->im, w->size);
    double scale = 1.0 / ((double)w->size * (double)w->n * (double)m);
    for (int64_t k = 0; k < w->n; k++) out[k] = w->re[k] * scale;
}
