/* SPDX-License-Identifier: MIT
 * quantile.c: quantiles by counting, and where that does not find them by selection.
 *
 * Counting: how many numbers are smaller than a guess is a loop of vectors without branches or
 * stores. The first guess is the normal distribution's; those that follow lie between the nearest
 * ones below and above, until a few numbers at most come before the one that is wanted. From there
 * it goes from each number to the next larger one.
 *
 * Selection is Hoare's quickselect, the median first, so that each tail is looked for in its own
 * half. The partition has no branch that depends on the numbers (a random one is mispredicted every
 * other time, which costs more than the swap). It puts what is smaller than the pivot in front;
 * where nothing is, the pivot is the smallest, and what equals it goes in front instead. So ties
 * (counts have many) never make it slow. A number that is not one compares as not smaller, and ends
 * anywhere: the caller has to look for it.
 */
#include "posterior/quantile.h"

#include <math.h>
#include <stdbool.h>

enum {
    LANES = 8,
    FEWEST = 64, /* numbers: of fewer, selection is as fast */
    PASSES = 12, /* guesses, before selection does it */
    NEAR = 3     /* numbers between the last guess and the one that is wanted */
};

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double loose __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(LANES * sizeof(int64_t))));

/* ---- counting -------------------------------------------------------------------------------- */

static int64_t count_below(int64_t n, const double *x, double limit) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i] < limit;
    return count;
}

static inline lanes load(const double *x) {
    return *(const loose *)(const void *)x;
}

/* Where `yes`, a; else b. */
static inline lanes choose(masks yes, lanes a, lanes b) {
    return (lanes)((yes & (masks)a) | (~yes & (masks)b));
}

static inline lanes all_of(double x) {
    return x - (lanes){0};
}

/* Eight numbers of x[0..n) from i on, or the last eight; n >= 8. */
static inline lanes eight(int64_t n, const double *x, int64_t i) {
    return load(x + (i + LANES <= n ? i : n - LANES));
}

static double smallest_lane(lanes v) {
    double least = v[0];
    for (int l = 1; l < LANES; l++) least = v[l] < least ? v[l] : least;
    return least;
}

/* The smallest number that is at least `from`; infinity where there is none. n >= 8. A minimum
 * waits for the one before it: several are made side by side. */
static double least_from(int64_t n, const double *x, double from) {
    enum { SIDES = 4 };
    const lanes limit = all_of(from), none = all_of(INFINITY);
    lanes least[SIDES] = {none, none, none, none};
    for (int64_t i = 0; i < n; i += SIDES * LANES) {
        for (int s = 0; s < SIDES; s++) {
            lanes v = eight(n, x, i + s * LANES);
            least[s] = choose((v >= limit) & (v < least[s]), v, least[s]);
        }
    }
    for (int s = 1; s < SIDES; s++) least[0] = choose(least[s] < least[0], least[s], least[0]);
    return smallest_lane(least[0]);
}

/* Numbers below `a`, at most as many as come before the one that is wanted, and below `b`, more. */
typedef struct bracket {
    double a, b;
    int64_t below_a, below_b;
} bracket;

static void narrow(int64_t n, const double *x, int64_t rank, double guess, bracket *s) {
    int64_t below = count_below(n, x, guess);
    if (below <= rank) s->a = guess, s->below_a = below;
    else s->b = guess, s->below_b = below;
}

/* The numbers of a rank and of the next one, from a guess that is `step` off; false: not found. */
static bool find_near(int64_t n, const double *x, int64_t rank, double guess, double step,
                      bracket s, double *low, double *high) {
    for (int pass = 0; pass < PASSES && rank - s.below_a > NEAR; pass++) {
        double share = ((double)(rank - s.below_a) - 1) / (double)(s.below_b - s.below_a);
        if (pass == 1) guess += s.a == guess ? step : -step;
        else if (pass > 1) guess = s.a + (s.b - s.a) * (pass % 4 == 3 ? 0.5 : share);
        if (!(guess > s.a && guess < s.b)) guess = s.a + (s.b - s.a) / 2;
        if (!(guess > s.a)) break; /* neighbouring numbers, or infinite ones */
        narrow(n, x, rank, guess, &s);
    }
    double at = s.a;
    for (int k = 0; k <= NEAR; k++) {
        *low = least_from(n, x, at);
        at = nextafter(*low, INFINITY);
        int64_t below = count_below(n, x, at);
        if (below <= rank) continue;
        *high = below > rank + 1 || rank == n - 1 ? *low : least_from(n, x, at);
        return true;
    }
    return false;
}

/* Mean and sd, roughly: for a guess. Least and largest. n >= 8. */
static void describe(int64_t n, const double *x, double *mean, double *sd, bracket *whole) {
    lanes sum = all_of(0), square = sum, low = load(x), high = low;
    const lanes first = all_of(x[0]);
    for (int64_t i = 0; i < n; i += LANES) { /* some of the last eight may count twice */
        lanes v = eight(n, x, i), d = v - first;
        sum += d;
        square += d * d;
        low = choose(v < low, v, low);
        high = choose(v > high, v, high);
    }
    double total = 0, squares = 0, N = (double)((n + LANES - 1) / LANES * LANES);
    for (int l = 0; l < LANES; l++) total += sum[l], squares += square[l];
    *mean = x[0] + total / N;
    *sd = sqrt(fmax(squares / N - total / N * (total / N), 0));
    *whole = (bracket){smallest_lane(low), nextafter(-smallest_lane(-high), INFINITY), 0, n};
}

/* A quantile of the standard normal distribution to half a hundredth: Tukey's lambda. */
static double normal_quantile(double p) {
    return (pow(p, 0.135) - pow(1 - p, 0.135)) / 0.1975;
}

static bool find_by_counting(int64_t n, const double *x, const double at[SGFSI_QUANTILES],
                             const int64_t rank[SGFSI_QUANTILES], sgfsi_neighbours *out) {
    double mean, sd;
    bracket whole;
    if (n < FEWEST) return false;
    describe(n, x, &mean, &sd, &whole);
    if (!isfinite(mean) || !isfinite(sd)) return false;
    double step = 3 * sd / sqrt((double)n); /* some sds of a sample's quantile */
    for (int k = 0; k < SGFSI_QUANTILES; k++) {
        double guess = mean + sd * normal_quantile(at[k]) - step / 2;
        if (!find_near(n, x, rank[k], guess, step, whole, &out->low[k], &out->high[k]))
            return false;
    }
    return true;
}

/* ---- selection ------------------------------------------------------------------------------- */

/* Numbers below the pivot (or, with `ties`, at most as large) to the front of x[lo..hi]; where the
 * others begin. */
static int64_t split(double *x, int64_t lo, int64_t hi, double pivot, int ties) {
    int64_t front = lo;
    for (int64_t i = lo; i <= hi; i++) {
        double v = x[i];
        x[i] = x[front];
        x[front] = v;
        front += ties ? v <= pivot : v < pivot;
    }
    return front;
}

/* The number of rank k in its place, nothing larger before it, nothing smaller behind it. */
static void place(double *x, int64_t lo, int64_t hi, int64_t k) {
    while (lo < hi) {
        double b = x[lo + (hi - lo) / 2];
        double low = x[lo] < b ? x[lo] : b, high = x[lo] < b ? b : x[lo];
        double pivot = x[hi] < low ? low : x[hi] > high ? high : x[hi];
        int64_t front = split(x, lo, hi, pivot, 0);
        if (front == lo) {
            front = split(x, lo, hi, pivot, 1);
            if (k < front || front == lo) return; /* one of the pivot's equals; or no numbers */
            lo = front;
        } else if (k < front) {
            hi = front - 1;
        } else {
            lo = front;
        }
    }
}

static double smallest(const double *x, int64_t lo, int64_t hi) {
    double least = x[lo];
    for (int64_t i = lo + 1; i <= hi; i++) least = x[i] < least ? x[i] : least;
    return least;
}

static void find_by_selection(int64_t n, double *x, const int64_t rank[SGFSI_QUANTILES],
                              sgfsi_neighbours *out) {
    place(x, 0, n - 1, rank[1]);
    place(x, 0, rank[1] - 1, rank[0]); /* the median stays where it is */
    place(x, rank[1] + 1, n - 1, rank[2]);
    for (int k = 0; k < SGFSI_QUANTILES; k++) {
        int64_t last = n - 1; /* nothing behind the next placed rank can be smaller */
        for (int j = SGFSI_QUANTILES - 1; j > k; j--) last = rank[j] > rank[k] ? rank[j] : last;
        out->low[k] = x[rank[k]];
        out->high[k] = rank[k] < n - 1 ? smallest(x, rank[k] + 1, last) : out->low[k];
    }
}

void sgfsi_quantile_ranks(int64_t n, const double at[SGFSI_QUANTILES],
                          int64_t rank[SGFSI_QUANTILES], double part[SGFSI_QUANTILES]) {
    for (int k = 0; k < SGFSI_QUANTILES; k++) {
        rank[k] = (int64_t)(at[k] * (double)(n - 1));
        part[k] = at[k] * (double)(n - 1) - (double)rank[k];
    }
}

void sgfsi_quantile_neighbours(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                               sgfsi_neighbours *out) {
    int64_t rank[SGFSI_QUANTILES];
    sgfsi_quantile_ranks(n, at, rank, out->part);
    if (!find_by_counting(n, x, at, rank, out)) find_by_selection(n, x, rank, out);
}

double sgfsi_quantile_between(double a, double b, double part) {
    /* from the nearer side: exact where a = b, and never beyond either; infinities stay */
    return a == b || part == 0 ? a : part < 0.5 ? a + (b - a) * part : b - (b - a) * (1 - part);
}

void sgfsi_quantiles(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                     double q[SGFSI_QUANTILES]) {
    sgfsi_neighbours near;
    sgfsi_quantile_neighbours(n, x, at, &near);
    for (int k = 0; k < SGFSI_QUANTILES; k++)
        q[k] = sgfsi_quantile_between(near.low[k], near.high[k], near.part[k]);
}
