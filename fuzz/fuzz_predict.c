/* SPDX-License-Identifier: MIT
 * fuzz_predict.c: run files through sgfs predict.
 */
#define FUZZ_TARGET "predict"
#include "run_mutator.h"
