/* SPDX-License-Identifier: MIT
 * quantile.c: quantiles by selection: Hoare's quickselect, the median first, so that each tail is
 * looked for in its own half.
 *
 * The partition has no branch that depends on the numbers (a random one is mispredicted every other
 * time, which costs more than the swap). It puts what is smaller than the pivot in front; where
 * nothing is, the pivot is the smallest, and what equals it goes in front instead. So ties (counts
 * have many) never make it slow. A number that is not one compares as not smaller, and ends
 * anywhere: the caller has to look for it.
 */
#include "posterior/quantile.h"

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

void sgfsi_quantile_neighbours(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                               sgfsi_neighbours *out) {
    int64_t rank[SGFSI_QUANTILES];
    for (int k = 0; k < SGFSI_QUANTILES; k++) rank[k] = (int64_t)(at[k] * (double)(n - 1));
    place(x, 0, n - 1, rank[1]);
    place(x, 0, rank[1] - 1, rank[0]); /* the median stays where it is */
    place(x, rank[1] + 1, n - 1, rank[2]);
    for (int k = 0; k < SGFSI_QUANTILES; k++) {
        int64_t last = n - 1; /* nothing behind the next placed rank can be smaller */
        for (int j = SGFSI_QUANTILES - 1; j > k; j--) last = rank[j] > rank[k] ? rank[j] : last;
        out->low[k] = x[rank[k]];
        out->high[k] = rank[k] < n - 1 ? smallest(x, rank[k] + 1, last) : out->low[k];
        out->part[k] = at[k] * (double)(n - 1) - (double)rank[k];
    }
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
