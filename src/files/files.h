/* SPDX-License-Identifier: MIT
 * files.h: what the user calls the data: a file, several, a pattern like part-*.csv, or - for
 * standard input.
 */
#pragma once

#include "base/err.h"

/* The files behind a name, until they are closed. Not to be moved while its log is in use. */
typedef struct sgfsi_files {
    int64_t count;
    char **path;    /* that can be opened; sorted by name within a pattern */
    char **name;    /* for people: the same, or "standard input" */
    char *shown;    /* all of them: "part-*.csv (12 files)", "standard input" */
    int *spool;     /* descriptors of standard input and pipes copied to files without a name */
    bool *leftover; /* a copy that has a name after all, to be removed in the end; by file */
    int64_t spools;
    sgfsi_log to, log;
} sgfsi_files;

/* name: one or several of the above, separated by line ends. SGFS_EIO where a pattern fits nothing.
 * Standard input and pipes are copied to disk first, since readers look more than once. */
sgfs_status sgfsi_files_open(sgfsi_files *files, const char *name, const sgfsi_log *log,
                             sgfs_err *err);
void sgfsi_files_close(sgfsi_files *files); /* safe on a zeroed value */
/* In a sentence, the path of a copy of standard input is written as "standard input". */
void sgfsi_files_tidy(const sgfsi_files *files, sgfs_err *err);
/* The same for notes and warnings: hand this on in place of log. */
const sgfsi_log *sgfsi_files_log(sgfsi_files *files, const sgfsi_log *log);

/* ---- spool.c --------------------------------------------------------------------------------- */

/* All that comes from descriptor `from`, in a file that goes with its descriptor *fd; *path (to be
 * freed) opens it again, from the beginning. *leftover: it has to be removed by that path. called:
 * what to say of it, "standard input". */
sgfs_status sgfsi_spool(int from, const char *called, const sgfsi_log *log, int *fd, char **path,
                        bool *leftover, sgfs_err *err);
