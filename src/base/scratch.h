/* SPDX-License-Identifier: MIT
 * scratch.h: blocks of bytes on disk that nobody else sees: one file without a name, which is gone
 * when the process ends, however it ends.
 */
#pragma once

#include "base/err.h"

typedef struct sgfsi_scratch {
    int fd;
    char *folder;
    int64_t stride;  /* bytes of a block, whole pages */
    int64_t blocks;  /* that the file has */
    int64_t *unused; /* those of them that were dropped, frees of them */
    int64_t frees, room;
    bool shrinks; /* dropped blocks are given back to the disk */
} sgfsi_scratch;

/* A file in the folder of the path `beside`, for blocks of up to block_bytes. */
sgfs_status sgfsi_scratch_open(sgfsi_scratch *s, const char *beside, int64_t block_bytes,
                               sgfs_err *err);
void sgfsi_scratch_close(sgfsi_scratch *s); /* safe on a zeroed value */

/* SGFS_EIO says how much room there is when the disk is full. */
sgfs_status sgfsi_scratch_put(sgfsi_scratch *s, int64_t bytes, const void *data, int64_t *block,
                              sgfs_err *err);
sgfs_status sgfsi_scratch_get(const sgfsi_scratch *s, int64_t block, int64_t bytes, void *data,
                              sgfs_err *err);
/* The block is not needed any more. */
sgfs_status sgfsi_scratch_drop(sgfsi_scratch *s, int64_t block, sgfs_err *err);

/* Bytes that an ordinary user may still write to the disk of the path's folder; -1: not known. */
double sgfsi_free_bytes(const char *path);
/* "12.3 GB"; returns out. */
const char *sgfsi_format_bytes(double bytes, char out[24]);
