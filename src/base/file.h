/* SPDX-License-Identifier: MIT
 * file.h: whole files in, and files that appear complete or not at all.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* What stands under a name: zeros for nothing. */
typedef struct sgfsi_standing {
    uint64_t device, inode;
    int64_t bytes, seconds, nanoseconds;
} sgfsi_standing;

/* A file being written beside its final name. */
typedef struct sgfsi_outfile {
    FILE *f; /* NULL when only the temporary path was asked for */
    int fd;  /* of f, for writing at places; nothing may then be printed to f */
    char *path, *temp;
    bool nameless; /* temp is not there yet */
    bool overwrite;
    sgfsi_standing older; /* with overwrite: the file that is to be replaced */
} sgfsi_outfile;

/* Can a file of this name be written? It may be there already only with overwrite (SGFS_EUSAGE),
 * and must be a plain one. Asked before anything is computed that would be lost. */
sgfs_status sgfsi_outfile_check(const char *path, bool overwrite, sgfs_err *err);
sgfs_status sgfsi_fail_exists(const char *path, sgfs_err *err); /* the sentence for that */

/* Refuses an existing path (SGFS_EUSAGE, hint --overwrite) unless overwrite; opens a file
 * without a name in the same folder, or path.tmp.<pid>-<host>, O_EXCL, where that cannot be. With
 * want_stream false only that name is prepared (for libraries that open it). */
sgfs_status sgfsi_outfile_open(sgfsi_outfile *out, const char *path, bool overwrite,
                               bool want_stream, sgfs_err *err);
/* Flush, fsync, close, rename, fsync the folder; on any failure the temporary file is removed. A
 * file that somebody else put there meanwhile stays (SGFS_EUSAGE). */
sgfs_status sgfsi_outfile_commit(sgfsi_outfile *out, sgfs_err *err);
void sgfsi_outfile_abandon(sgfsi_outfile *out);

/* All of it at once: a small text with a line end. */
sgfs_status sgfsi_outfile_text(const char *path, bool overwrite, const char *text, sgfs_err *err);

/* Make a rename in the folder of path last. */
void sgfsi_sync_folder(const char *path);

/* Whole file as zero-terminated text; caller frees with free. Refuses more than `limit` bytes. */
char *sgfsi_file_read(const char *path, size_t limit, size_t *length, sgfs_err *err);
