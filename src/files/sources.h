/* SPDX-License-Identifier: MIT
 * sources.h: several files, the reader of each, and what the options say to it.
 */
#pragma once

#include "files/files.h"
#include "files/reader.h"

typedef struct sgfsi_sources {
    int64_t count;
    const char *const *path;         /* count; borrowed */
    const sgfs_reader_kind **reader; /* count */
    sgfsi_read_options options;      /* as given; texts are borrowed */
    sgfsi_files labels;              /* one for each IDX file, in their order; or none */
    const char **label;              /* count: of this file, or "" */
    bool idx, libsvm;                /* there is a file of this kind */
    struct sgfsi_joint *joint;       /* of packed files; NULL: they are alike, or others */
} sgfsi_sources;

/* Find the readers. An option that is for one kind of file is for the files of that kind;
 * SGFS_EUSAGE where there is none. */
sgfs_status sgfsi_sources_open(sgfsi_sources *s, int64_t count, const char *const *path,
                               const sgfsi_read_options *options, sgfs_err *err);
void sgfsi_sources_close(sgfsi_sources *s); /* safe on a zeroed value */
sgfsi_read_options sgfsi_sources_options(const sgfsi_sources *s, int64_t i);
