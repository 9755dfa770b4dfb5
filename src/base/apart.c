/* SPDX-License-Identifier: MIT
 * apart.c: a child process whose result comes back through a pipe.
 *
 * A message begins with the number of bytes, or with minus the code; a message that is cut off says
 * that the child ended before its time, so that its exit status, which the caller's process may
 * collect elsewhere, is not needed.
 *
 * The child is a copy of a process that may have had other threads, so it does nothing but run
 * `make`. A library that calls exit there would write out once more what the parent's streams hold,
 * and what is left to do at the parent's exit: so the child has no descriptors but its pipe, leaves
 * by _exit in any case, and a crash leaves no core file.
 */
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

/* fork waits until OpenBLAS's own threads are idle. Those that cannot have their buffer try for
 * ever to get it, so where address space is limited there has to be room for one for each thread
 * that there is. */
static bool may_fork(void) {
    const size_t buffer = (size_t)129 << 20;
    char text[4096];
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    const char *line =
        sgfsi_io_small("/proc/self/status", text, sizeof text) ? strstr(text, "Threads:") : NULL;
    long others = line != NULL ? strtol(line + strlen("Threads:"), NULL, 10) - 1 : 0;
    if (others <= 0) return true;
    void *trial = mmap(NULL, (size_t)others * buffer, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return trial != MAP_FAILED && munmap(trial, (size_t)others * buffer) == 0;
}

static void leave(void) {
    _exit(1);
}

/* Only `kept` stays open; the standard streams lead nowhere. */
static void close_all_but(int kept) {
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (nowhere < 0 || dup2(nowhere, fd) < 0) close(fd);
#ifdef SYS_close_range
    bool done = syscall(SYS_close_range, kept + 1, ~0U, 0) == 0;
#else
    bool done = false;
#endif
    int most = done ? kept : (int)sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < most; fd++)
        if (fd != kept) close(fd);
}

static void work_apart(sgfsi_made (*make)(void *work), void *work, int pipe) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)atexit(leave);
    close_all_but(pipe);
    sgfsi_made made = make(work);
    int64_t said = made.code == 0 ? (int64_t)made.size : -made.code;
    int error = sgfsi_io_write(pipe, &said, sizeof said, SGFSI_IO_HERE);
    if (error == 0 && said > 0) error = sgfsi_io_write(pipe, made.bytes, made.size, SGFSI_IO_HERE);
    _exit(error);
}

/* As many bytes as there are, up to count; an error goes into *lost. */
static size_t receive(int pipe, void *bytes, size_t count, int *lost) {
    size_t done;
    int error = sgfsi_io_take(pipe, bytes, count, &done);
    if (error != 0) *lost = error;
    return done;
}

int sgfsi_apart(sgfsi_made (*make)(void *work), void *work, FILE *f) {
    enum { PIECE = 1 << 14 };
    char piece[PIECE];
    int ends[2];
    if (!may_fork()) return -ENOMEM;
    if (pipe(ends) != 0) return -errno;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work_apart(make, work, ends[1]);
    }
    int error = errno, lost = 0;
    close(ends[1]);
    int64_t said = 0, left = -1;
    if (child > 0 && receive(ends[0], &said, sizeof said, &lost) == sizeof said) left = said;
    while (left > 0) {
        size_t n = left < PIECE ? (size_t)left : PIECE, got = receive(ends[0], piece, n, &lost);
        fwrite(piece, 1, got, f);
        if (got < n) break;
        left -= (int64_t)n;
    }
    close(ends[0]);
    if (child < 0) return -error;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (said < 0) return (int)-said;
    if (left == 0) return 0;
    if (lost != 0) return -lost;
    return WIFEXITED(status) && WEXITSTATUS(status) > 1 ? -WEXITSTATUS(status) : -1;
}
