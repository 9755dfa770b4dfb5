/* SPDX-License-Identifier: MIT
 * io.c: the loops around write and read, streams that end in it, and temporary files.
 *
 * A write may be interrupted by a signal or stop short where the disk is full: the loop goes on
 * after the former and reports the latter. Streams are made by fopencookie, so that what an export
 * prints takes the same way; where the system has no such thing they are ordinary ones. One into
 * memory is made so as well: that of the C library does not say when memory is out.
 */
#ifdef __linux__
#define _GNU_SOURCE /* O_TMPFILE, fopencookie, tee */
#endif
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"

#include "base/arena.h"

int sgfsi_io_write(int fd, const void *bytes, size_t count, int64_t at) {
    const char *from = bytes;
    for (size_t done = 0; done < count;) {
        ssize_t n = at == SGFSI_IO_HERE
                        ? write(fd, from + done, count - done)
                        : pwrite(fd, from + done, count - done, (off_t)(at + (int64_t)done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

int sgfsi_io_read(int fd, void *bytes, size_t count, int64_t at) {
    char *to = bytes;
    for (size_t done = 0; done < count;) {
        ssize_t n = pread(fd, to + done, count - done, (off_t)(at + (int64_t)done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : SGFSI_IO_SHORT;
        done += (size_t)n;
    }
    return 0;
}

int sgfsi_io_take(int fd, void *bytes, size_t room, size_t *got) {
    for (*got = 0; *got < room;) {
        ssize_t n = read(fd, (char *)bytes + *got, room - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : 0;
        *got += (size_t)n;
    }
    return 0;
}

int sgfsi_io_truncate(int fd, int64_t size) {
    return ftruncate(fd, (off_t)size) == 0 ? 0 : errno;
}

int sgfsi_io_sync(int fd) {
    return fsync(fd) == 0 ? 0 : errno;
}

int sgfsi_io_rename(const char *from, const char *to) {
    return rename(from, to) == 0 ? 0 : errno;
}

/* Is there somebody who writes to the pipe? tee says so without taking a byte. */
static bool has_writer(int fd) {
#ifdef __linux__
    int trial[2];
    if (pipe(trial) != 0) return true;
    ssize_t n = tee(fd, trial[1], 1, SPLICE_F_NONBLOCK);
    close(trial[0]);
    close(trial[1]);
    return n != 0;
#else
    return fd >= 0;
#endif
}

int sgfsi_io_open(const char *path) {
    enum { LOOKS = 100 };                                      /* of 50 ms each */
    const struct timespec nap = {.tv_nsec = 50 * 1000 * 1000}; /* 50 ms */
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), looks = 0;
    if (fd < 0) return -1;
    bool pipe = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
    while (pipe && looks < LOOKS && !has_writer(fd)) {
        nanosleep(&nap, NULL);
        looks++;
    }
    int flags = fcntl(fd, F_GETFL);
    if (looks < LOOKS && flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) return fd;
    int error = looks == LOOKS ? ETIMEDOUT : errno;
    close(fd);
    errno = error;
    return -1;
}

/* ---- streams --------------------------------------------------------------------------------- */

#ifdef __linux__
/* The descriptor stands in the cookie itself, one higher, so that 0 is no null pointer. */
static int fd_of(void *cookie) {
    return (int)((intptr_t)cookie - 1);
}

static _Thread_local int lost = EIO; /* why the latest stream that failed did */

/* A stream takes a count that is too small for a failure, with what errno says. */
static ssize_t write_stream(void *cookie, const char *bytes, size_t count) {
    int error = sgfsi_io_write(fd_of(cookie), bytes, count, SGFSI_IO_HERE);
    if (error != 0) errno = lost = error;
    return error == 0 ? (ssize_t)count : 0;
}

int sgfsi_io_flush(FILE *f) {
    return fflush(f) == 0 && !ferror(f) ? 0 : lost;
}

static int close_stream(void *cookie) {
    return close(fd_of(cookie));
}

bool sgfsi_io_small(const char *path, char *text, size_t room) {
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)sgfsi_io_take(fd, text, room - 1, &used);
        close(fd);
    }
    text[used] = '\0';
    return used > 0;
}

FILE *sgfsi_io_stream(int fd) {
    const cookie_io_functions_t calls = {.write = write_stream, .close = close_stream};
    return fopencookie((void *)((intptr_t)fd + 1), "wb", calls);
}

static ssize_t write_text(void *cookie, const char *bytes, size_t count) {
    sgfsi_buffer *t = cookie;
    if (!sgfsi_grow(&t->bytes, &t->room, (int64_t)(t->used + count), 1)) return 0;
    memcpy(t->bytes + t->used, bytes, count);
    t->used += count;
    return (ssize_t)count;
}

FILE *sgfsi_io_memory(sgfsi_buffer *text) {
    const cookie_io_functions_t calls = {.write = write_text};
    return fopencookie(text, "wb", calls);
}
#else
FILE *sgfsi_io_stream(int fd) {
    return fdopen(fd, "wb");
}

int sgfsi_io_flush(FILE *f) {
    return fflush(f) != 0 ? errno : ferror(f) ? EIO : 0;
}

FILE *sgfsi_io_memory(sgfsi_buffer *text) {
    free(text->bytes);
    return open_memstream(&text->bytes, &text->used);
}
#endif

/* ---- temporary files ------------------------------------------------------------------------- */

int sgfsi_io_nameless(const char *folder, mode_t mode) {
#ifdef O_TMPFILE
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
#else
    (void)folder, (void)mode;
    return -1;
#endif
}

int sgfsi_io_temporary(const char *folder, char **name) {
    int fd = name == NULL ? sgfsi_io_nameless(folder, 0600) : -1;
    if (fd >= 0) return fd;
    size_t room = strlen(folder) + 32;
    char *made = malloc(room);
    if (made == NULL) return -1;
    snprintf(made, room, "%s/.sgfs-XXXXXX", folder);
    fd = mkstemp(made);
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fd >= 0 && name == NULL) (void)unlink(made);
    if (fd >= 0 && name != NULL) {
        *name = made;
        return fd;
    }
    int error = errno;
    free(made);
    errno = error;
    return fd;
}

static unsigned host(void) {
    char name[256] = "";
    (void)gethostname(name, sizeof name - 1);
    return sgfsi_crc32(0, name, strlen(name));
}

void sgfsi_io_ending(int number, char out[SGFSI_IO_ENDING]) {
    int n = snprintf(out, SGFSI_IO_ENDING, ".tmp.%ld-%08x", (long)getpid(), host());
    if (number > 0) snprintf(out + n, (size_t)(SGFSI_IO_ENDING - n), ".%d", number);
}

void sgfsi_io_tidy(const char *path) {
    char *folder = sgfsi_io_folder(path);
    DIR *names = folder != NULL ? opendir(folder) : NULL;
    for (struct dirent *e; names != NULL && (e = readdir(names)) != NULL;) {
        long process;
        unsigned where;
        const char *at = strstr(e->d_name, ".tmp.");
        if (at == NULL || sscanf(at, ".tmp.%ld-%8x", &process, &where) != 2) continue;
        bool gone = process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
        if (gone && where == host()) (void)unlinkat(dirfd(names), e->d_name, 0);
    }
    if (names != NULL) closedir(names);
    free(folder);
}

char *sgfsi_io_folder(const char *path) {
    char *copy = strdup(path);
    char *folder = copy != NULL ? strdup(dirname(copy)) : NULL;
    free(copy);
    return folder;
}
