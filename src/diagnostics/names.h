/* SPDX-License-Identifier: MIT
 * names.h: numbers of a file for the parameters of a model, told apart by name.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

typedef struct sgfsi_naming {
    const char *path;
    const char *what, *whose; /* for sentences: "reference", "run" */
    int64_t D;
    char *const *names; /* D */
    sgfsi_arena *arena;
    sgfs_err *err;
} sgfsi_naming;

/* order[i] = place among the R names of the file of parameter i. SGFS_EDATA, with the names, where
 * the two sides differ. */
sgfs_status sgfsi_naming_match(const sgfsi_naming *j, int64_t R, const char *const *names,
                               int64_t *order);
/* The whole file, the caller's to free. */
sgfs_status sgfsi_naming_file(const sgfsi_naming *j, sgfsi_json **json);
/* The same by the array "names" of a JSON object. */
sgfs_status sgfsi_naming_json(const sgfsi_naming *j, const sgfsi_json *json, int64_t *order);
/* The D numbers of a JSON array, taken in `order`. */
sgfs_status sgfsi_naming_numbers(const sgfsi_naming *j, const char *what, const sgfsi_json *array,
                                 const int64_t *order, double *out);

/* First byte of a file that is not blank; 0 for an empty one, -1 when it cannot be opened. */
int sgfsi_first_byte(const char *path);
