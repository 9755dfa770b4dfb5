/* SPDX-License-Identifier: MIT
 * nearest.c: Damerau-Levenshtein distance (optimal string alignment), for "did you mean".
 */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static int64_t min2(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static bool same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

int64_t sgfsi_distance(const char *a, const char *b) {
    int64_t m = min2((int64_t)strlen(a), LONGEST), n = min2((int64_t)strlen(b), LONGEST);
    int64_t d[LONGEST + 1][LONGEST + 1];
    for (int64_t i = 0; i <= m; i++) d[i][0] = i;
    for (int64_t j = 0; j <= n; j++) d[0][j] = j;
    for (int64_t i = 1; i <= m; i++) {
        for (int64_t j = 1; j <= n; j++) {
            int64_t change = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
            d[i][j] = min2(change, 1 + min2(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                d[i][j] = min2(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[m][n];
}

int sgfsi_is_near(const char *word, int64_t distance) {
    return distance <= 1 + (int64_t)strlen(word) / 4;
}

static const char *nearest(const char *word, int64_t count, const char *const *candidates,
                           const char *taken, int64_t limit) {
    const char *best = NULL;
    int64_t least = limit;
    for (int64_t i = 0; i < count; i++) {
        int64_t d = taken != NULL && taken[i] ? INT64_MAX : sgfsi_distance(word, candidates[i]);
        if (d >= least) continue;
        least = d;
        best = candidates[i];
    }
    return best != NULL && sgfsi_is_near(word, least) ? best : NULL;
}

const char *sgfsi_nearest(const char *word, int64_t count, const char *const *candidates) {
    return nearest(word, count, candidates, NULL, INT64_MAX);
}

const char *sgfsi_nearest_name(const char *word, int64_t count, const char *const *candidates,
                               const char *taken) {
    return nearest(word, count, candidates, taken, (int64_t)strlen(word));
}
