/* SPDX-License-Identifier: MIT
 * io.h: every byte that the library writes to a file goes through these few functions, and what it
 * reads from a place of its own choice.
 *
 * Callers keep their own sentences: a function here returns 0 or an errno (those that make a file
 * return -1 or NULL and leave errno), and knows nothing of runs, tables or exports. Since there is
 * one place that writes, a test can make the n-th write fail here and see what is left on the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { SGFSI_IO_HERE = -1 }; /* as a place: where the descriptor stands, as for a pipe */

/* All of the bytes at the place `at`, however many calls that takes. */
int sgfsi_io_write(int fd, const void *bytes, size_t count, int64_t at);
/* As many bytes; SGFSI_IO_SHORT where the file ends before. */
enum { SGFSI_IO_SHORT = -1 };
int sgfsi_io_read(int fd, void *bytes, size_t count, int64_t at);
/* As many bytes as fit, or up to the end: *got. */
int sgfsi_io_take(int fd, void *bytes, size_t room, size_t *got);
int sgfsi_io_truncate(int fd, int64_t size);
int sgfsi_io_sync(int fd);
int sgfsi_io_rename(const char *from, const char *to);

/* Open a file for reading; of a pipe, when somebody has it open for writing. Where nobody has for
 * five seconds, -1 with ETIMEDOUT. */
int sgfsi_io_open(const char *path);

/* The first bytes of a small file of the system, as a text; without an allocation, so that what a
 * process knows of its memory does not depend on it. "" where it cannot be read. */
bool sgfsi_io_small(const char *path, char *text, size_t room);

/* A stream over the descriptor, which belongs to it from then on. */
FILE *sgfsi_io_stream(int fd);
/* Write what is buffered; of a stream that failed before, too, why it did (to be asked by the
 * thread that writes to it, before it writes elsewhere). */
int sgfsi_io_flush(FILE *f);
/* A stream into memory, which is the caller's to free. It is complete after fclose, if there was no
 * ferror before and fclose did not fail. */
typedef struct sgfsi_buffer {
    char *bytes;
    size_t used;
    int64_t room;
} sgfsi_buffer;
FILE *sgfsi_io_memory(sgfsi_buffer *text);

/* A file in the folder that is gone when it is closed. With `name` it keeps a name, which is the
 * caller's to remove and to free. */
int sgfsi_io_temporary(const char *folder, char **name);
/* A file without a name that may be given one later, or -1 where the system has none. */
int sgfsi_io_nameless(const char *folder, mode_t mode);

/* The ending of a temporary name beside an output: ".tmp.", the process and its host. number: 0, or
 * that of another one of the same process. */
enum { SGFSI_IO_ENDING = 64 };
void sgfsi_io_ending(int number, char out[SGFSI_IO_ENDING]);
/* Remove what processes of this host that are gone left under such names in the folder of path. */
void sgfsi_io_tidy(const char *path);

/* The folder that path is in; malloc'ed. */
char *sgfsi_io_folder(const char *path);
