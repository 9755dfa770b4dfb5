/* SPDX-License-Identifier: MIT
 * fingerprint.h: what the files of the data were when their rows were read: length, time of the
 * last change, and a checksum. It is stored in the header of a run, compared by whoever opens the
 * data of a run again, and watched while a run moves: a file that is written anew under a run would
 * mix two posteriors.
 */
#pragma once

#include <sys/stat.h>

#include "context/comm/comm.h"
#include "rows/data.h"

/* What the system says of a file. */
typedef struct sgfsi_stamp {
    dev_t device;
    ino_t inode;
    int64_t bytes;
    int64_t seconds, nanoseconds; /* of the last change */
} sgfsi_stamp;

typedef struct sgfsi_fingerprint {
    char *path; /* where it can be looked at again; NULL: nowhere, as with a pipe */
    sgfsi_stamp stamp;
    bool packed;  /* a packed file, which has checksums of its own */
    uint32_t crc; /* of all bytes; packed: of the list of checksums */
} sgfsi_fingerprint;

/* False: the file is not there. */
bool sgfsi_stamp_take(const char *path, sgfsi_stamp *stamp);

/* Of all bytes of a file. SGFS_EIO where it cannot be read. */
sgfs_status sgfsi_file_crc(const char *path, uint32_t *crc, sgfs_err *err);

/* The fingerprint of a file begins with what its table knows: a packed file, which is a part of the
 * table, has its checksum there. Then the file is looked at, and all of it is read unless it is
 * packed. SGFS_EIO where it cannot be read. */
void sgfsi_fingerprint_begin(sgfsi_fingerprint *f, const char *path, const sgfsi_table *table);
sgfs_status sgfsi_fingerprint_take(sgfsi_fingerprint *f, const char *path, sgfs_err *err);
/* The same of a file of the data, after the rows were read; before: its stamp before that. SGFS_EIO
 * where the file was changed meanwhile. kept: it will be there later, too, and can be watched. */
sgfs_status sgfsi_fingerprint_add(sgfs_data *d, int64_t file, const char *path, bool kept,
                                  const sgfsi_stamp *before, sgfs_err *err);

/* Of the table, the targets and the extras that a program handed over as arrays: d->arrays_crc. */
void sgfsi_fingerprint_arrays(sgfs_data *d, const double *weights, const double *exposure);

/* For the header's "data"; and whether the files are others than that tells of: what differs,
 * written to `what`. NULL: they are not, or nobody can tell: rows that were packed since, or put
 * into more files or fewer, have other bytes and may be the same. */
void sgfsi_fingerprints_describe(const sgfs_data *d, sgfsi_json *o);
const char *sgfsi_fingerprints_differ(int64_t files, const sgfsi_fingerprint *print,
                                      char *const *name, const sgfsi_json *said, char what[256]);

/* Collective: SGFS_EDATA where not all processes have opened the same files, as where a machine has
 * an old copy of its own. Each would read other rows, and sums would be of no data at all. */
sgfs_status sgfsi_fingerprints_agree(const sgfs_data *d, const sgfsi_comm *comm, sgfs_err *err);

/* The files of a run while it moves. Zeroed: it has not looked yet. */
typedef struct sgfsi_watch {
    sgfsi_stamp *seen; /* by file; malloc'ed */
    double next;       /* when to look again */
} sgfsi_watch;

/* SGFS_EIO where a file has other contents than those that were read; a file that was only touched
 * is read once more and found the same. Looks about once a second, or at once (now). */
sgfs_status sgfsi_watch_look(sgfsi_watch *w, const sgfs_data *d, bool now, sgfs_err *err);
