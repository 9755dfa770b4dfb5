/* SPDX-License-Identifier: MIT
 * fuzz_run.c: run files: what summary, compare and export read.
 */
#define FUZZ_TARGET "run"
#include "run_mutator.h"
