/* SPDX-License-Identifier: MIT
 * interval.c: intervals of one parameter's draws.
 *
 * Equal tails: the (1 - share)/2 and (1 + share)/2 quantiles, type 7 as everywhere (trace.c). exp
 * is monotone, so the same interval of a ratio is exp of its ends. Highest density: the shortest
 * interval from one draw to another that is floor(share n) draws further on, as ArviZ has it. exp
 * moves it, so that of a ratio is looked for among the ratios themselves.
 */
#include "diagnostics/interval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static double scaled(double x, bool ratio) {
    return ratio ? exp(x) : x;
}

static sgfsi_interval shortest(int64_t n, const double *sorted, double share, bool ratio) {
    int64_t step = (int64_t)floor(share * (double)n);
    step = step < n ? step : n - 1;
    sgfsi_interval best = {.low = scaled(sorted[0], ratio), .high = scaled(sorted[step], ratio)};
    for (int64_t i = 1; i + step < n; i++) {
        double low = scaled(sorted[i], ratio), high = scaled(sorted[i + step], ratio);
        if (high - low < best.high - best.low) best = (sgfsi_interval){.low = low, .high = high};
    }
    return best;
}

sgfsi_interval sgfsi_interval_of(int64_t n, const double *sorted, double share,
                                 sgfsi_interval_kind kind, bool ratio) {
    sgfsi_interval out = {NAN, NAN, NAN};
    if (n == 0 || !isfinite(sorted[0]) || !isfinite(sorted[n - 1])) return out;
    if (kind == SGFSI_HIGHEST_DENSITY) {
        out = shortest(n, sorted, share, ratio);
    } else {
        out.low = scaled(sgfsi_quantile(n, sorted, 0.5 * (1 - share)), ratio);
        out.high = scaled(sgfsi_quantile(n, sorted, 0.5 * (1 + share)), ratio);
    }
    out.centre = scaled(sgfsi_quantile(n, sorted, 0.5), ratio);
    return out;
}

sgfs_status sgfsi_interval_read(const char *text, double *share, sgfsi_interval_kind *kind,
                                sgfs_err *err) {
    *share = 0.9; /* everywhere: summaries, reports, pictures, predictions */
    *kind = SGFSI_EQUAL_TAILED;
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, ",");
        double number = 0;
        const char *end = sgfsi_parse_num(at, at + n, &number);
        if (n == 3 && strncmp(at, "hdi", 3) == 0) *kind = SGFSI_HIGHEST_DENSITY;
        else if (n > 0 && end == at + n && number > 0 && number < 1) *share = number;
        else {
            char share_of[64] = "";
            bool percent = end != NULL && number > 1 && number < 100 &&
                           (end == at + n || (*end == '%' && end + 1 == at + n));
            if (percent)
                snprintf(share_of, sizeof share_of, " (%.6g %% is %.6g)", number, number / 100);
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--interval: \"%.60s\" is no interval; give a share between 0 and "
                              "1%s, \"hdi\", or both: 0.95,hdi",
                              text, share_of);
        }
        at += n + (at[n] == ',');
    }
    return SGFS_OK;
}

const char *sgfsi_ratio_name(const sgfs_draws *d) {
    return sgfsi_json_get_text(d->header, "ratio", NULL);
}
