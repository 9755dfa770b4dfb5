/* SPDX-License-Identifier: MIT
 * fuzz_resume.c: run files through sgfs sample --resume.
 */
#define FUZZ_TARGET "resume"
#include "run_mutator.h"
