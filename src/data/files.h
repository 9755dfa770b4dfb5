/* SPDX-License-Identifier: MIT
 * files.h: what the user calls the data: a file, several, a pattern like part-*.csv, or - for
 * standard input.
 */
#ifndef SGFSI_FILES_H
#define SGFSI_FILES_H

#include "base/err.h"

typedef struct sgfsi_files {
    int64_t count;
    char **path; /* that can be opened; sorted by name within a pattern */
    char *shown; /* for people: "part-*.csv (12 files)", "standard input" */
    int *spool;  /* descriptors of standard input and pipes copied to files without a name */
    int64_t spools;
} sgfsi_files;

/* name: one or several of the above, separated by line ends. SGFS_EIO where a pattern fits nothing.
 * Standard input and pipes are copied to disk first, since readers look more than once. */
sgfs_status sgfsi_files_open(sgfsi_files *files, const char *name, const sgfsi_log *log,
                             sgfs_err *err);
void sgfsi_files_close(sgfsi_files *files); /* safe on a zeroed value */
/* In a sentence, the path of a copy of standard input is written as "standard input". */
void sgfsi_files_tidy(const sgfsi_files *files, sgfs_err *err);

#endif
