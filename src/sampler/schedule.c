/* SPDX-License-Identifier: MIT
 * schedule.c: step sizes of SGLD and SGD: constant, or eps_t = a (b + t)^-delta (Welling and Teh
 * 2011).
 */
#include <math.h>

#include "sampler/sampler.h"

const sgfs_option sgfsi_schedule_options[] = {
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "step size (auto: 1/N for SGLD and SGD)"},
    {"sampler.step_a", "step-a", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "a of the decaying step size a (b + t)^-delta"},
    {"sampler.step_b", "step-b", SGFS_NUMBER, "1", 0, 1e300, NULL, "b of the decaying step size"},
    {"sampler.step_delta", "step-delta", SGFS_NUMBER, "0.55", 0, 10, NULL,
     "delta of the decaying step size"},
    SGFSI_OPTIONS_END};

sgfs_status sgfsi_schedule_resolve(sgfs_config *cfg, const sgfs_situation *now, sgfs_err *err) {
    bool decays = !sgfsi_config_auto(cfg, "sampler.step_a");
    if (decays && !sgfsi_config_auto(cfg, "sampler.epsilon")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--epsilon is a constant step and --step-a a decaying one: give "
                          "one of them.");
    }
    if (!decays && (sgfsi_config_given(cfg, "sampler.step_b") ||
                    sgfsi_config_given(cfg, "sampler.step_delta"))) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--step-b and --step-delta need --step-a.");
    }
    if (decays || !sgfsi_config_auto(cfg, "sampler.epsilon")) return SGFS_OK;
    return sgfsi_config_resolve_num(cfg, "sampler.epsilon", 1 / (double)now->N, err);
}

sgfsi_schedule sgfsi_schedule_open(const sgfs_config *cfg) {
    sgfsi_schedule s = {
        .constant = sgfsi_config_num(cfg, "sampler.epsilon"),
        .a = sgfsi_config_num(cfg, "sampler.step_a"),
        .b = sgfsi_config_num(cfg, "sampler.step_b"),
        .delta = sgfsi_config_num(cfg, "sampler.step_delta"),
    };
    return s;
}

double sgfsi_schedule_at(const sgfsi_schedule *s, int64_t t) {
    return isnan(s->a) ? s->constant : s->a * pow(s->b + (double)t, -s->delta);
}
