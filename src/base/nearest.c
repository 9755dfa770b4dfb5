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

void sgfsi_guess_try(sgfsi_guess *g, const char *candidate) {
    int64_t d = sgfsi_distance(g->word, candidate);
    if (d >= g->least) return;
    g->least = d;
    g->best = candidate;
}

const char *sgfsi_guess_near(const sgfsi_guess *g) {
    return g->best != NULL && sgfsi_is_near(g->word, g->least) ? g->best : NULL;
}

const char *sgfsi_nearest(const char *word, int64_t count, const char *const *candidates) {
    sgfsi_guess g = {.word = word, .least = INT64_MAX};
    for (int64_t i = 0; i < count; i++) sgfsi_guess_try(&g, candidates[i]);
    return sgfsi_guess_near(&g);
}

const char *sgfsi_nearest_name(const char *word, int64_t count, const char *const *candidates,
                               const char *taken) {
    sgfsi_guess g = {.word = word, .least = (int64_t)strlen(word)};
    for (int64_t i = 0; i < count; i++)
        if (taken == NULL || !taken[i]) sgfsi_guess_try(&g, candidates[i]);
    return sgfsi_guess_near(&g);
}
