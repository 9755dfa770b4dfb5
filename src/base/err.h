/* SPDX-License-Identifier: MIT
 * err.h: errors are values with a sentence. Fill one and return its code in a single statement:
 *     return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: column \"%s\" is empty.", path, line, name);
 */
#pragma once

#include "sgfs.h"

#if defined(__GNUC__)
#define SGFSI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SGFSI_PRINTF(f, a)
#endif

/* Fill err (may be NULL) and return code. Text too long for the buffer is cut with "...". */
sgfs_status sgfsi_fail(sgfs_err *err, sgfs_status code, const char *format, ...) SGFSI_PRINTF(3, 4);
/* The same for running out of memory while making room for `what`. */
sgfs_status sgfsi_fail_memory(sgfs_err *err, const char *what);
/* For attempts that may fail: memory that ran out in one, a file that could not be read, or that it
 * was stopped, is an error all the same; other reasons to give it up are none. */
sgfs_status sgfsi_fail_hard(const sgfs_err *why, sgfs_err *err);
/* The same for a file: "PATH: cannot WHAT: ...", by errno; out of memory where that says so. */
sgfs_status sgfsi_fail_io(sgfs_err *err, const char *path, const char *what, int error);
/* The same for a handle that is NULL in a call of the public interface: what the call that should
 * have made it left in err stays there. */
sgfs_status sgfsi_fail_handle(sgfs_err *err, const char *call);
/* Why a call has handed back NULL: the status it left in err; without an err, that memory ran
 * out. */
sgfs_status sgfsi_why(const sgfs_err *err);
/* The same for a cell of the data: "<what> is not a finite number", and what to do about it. */
sgfs_status sgfsi_fail_finite(sgfs_err *err, const char *what, ...) SGFSI_PRINTF(2, 3);

/* A sentence piece by piece: what the format says behind the text that is in `room` bytes already,
 * cut off where they end. */
void sgfsi_append(char *text, size_t room, const char *format, ...) SGFSI_PRINTF(3, 4);

/* Where notes and warnings go; a NULL function drops them. Passed by pointer to whoever may speak.
 */
typedef struct sgfsi_log {
    sgfs_message_fn fn;
    void *user;
    struct sgfsi_watcher *watcher; /* who waits for the work (stop.h); NULL: nobody */
} sgfsi_log;
void sgfsi_say(const sgfsi_log *log, sgfs_level level, const char *format, ...) SGFSI_PRINTF(3, 4);
