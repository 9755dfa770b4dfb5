/* SPDX-License-Identifier: MIT
 * child.c: another program, run to its end.
 *
 * Its input, output and complaints are files without a name and not pipes: nobody waits for
 * anybody, a program that dies early breaks nothing, and the one thing to look at is whether it has
 * ended. A program that a shell would start is not meant: words are words, and nothing is expanded.
 */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/printable.h"

extern char **environ;

enum { INPUT, OUTPUT, COMPLAINTS, FILES };

static sgfs_status fail_files(const char *program, int error, sgfs_err *err) {
    const char *named = getenv("TMPDIR");
    return sgfsi_fail(
        err, error == ENOMEM ? SGFS_ENOMEM : SGFS_EIO,
        "%.60s needs a temporary file in %.200s (TMPDIR may name another folder): %s.", program,
        named != NULL && named[0] != '\0' ? named : "/tmp", strerror(error));
}

static int open_files(int file[FILES]) {
    const char *named = getenv("TMPDIR");
    const char *folder = named != NULL && named[0] != '\0' ? named : "/tmp";
    for (int k = 0; k < FILES; k++) {
        file[k] = sgfsi_io_temporary(folder, NULL);
        if (file[k] < 0) return errno;
    }
    return 0;
}

/* All of a file into a buffer, zero-terminated. */
static int take_file(int fd, sgfsi_buffer *out) {
    struct stat st;
    if (fstat(fd, &st) != 0) return errno;
    if (!sgfsi_grow(&out->bytes, &out->room, st.st_size + 1, 1)) return ENOMEM;
    out->used = (size_t)st.st_size;
    out->bytes[out->used] = '\0';
    return sgfsi_io_read(fd, out->bytes, out->used, 0);
}

/* 0 or why it could not be started. */
static int start(const char *const words[], const int file[FILES], pid_t *pid) {
    posix_spawn_file_actions_t files;
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0) return error;
    for (int k = 0; k < FILES && error == 0; k++)
        error = posix_spawn_file_actions_adddup2(&files, file[k], k);
    if (error == 0)
        error = posix_spawnp(pid, words[0], &files, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Until it ends, is stopped, or the time is over: its exit status. */
static sgfs_status wait_for(const char *program, pid_t pid, double seconds, const sgfsi_stop *stop,
                            int *code, sgfs_err *err) {
    const struct timespec nap = {.tv_nsec = 5 * 1000 * 1000}; /* 5 ms */
    double waited = 0;
    for (;;) {
        pid_t ended = waitpid(pid, code, WNOHANG);
        if (ended == pid) return SGFS_OK;
        bool stopped = sgfsi_stop_asked(stop), gone = ended < 0 && errno != EINTR;
        if (gone) return sgfsi_fail(err, SGFS_EIO, "%.60s: it cannot be waited for.", program);
        if (stopped || waited > seconds) {
            kill(pid, SIGKILL);
            while (waitpid(pid, code, 0) < 0 && errno == EINTR) continue;
            if (stopped)
                return sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: nothing was written.");
            return sgfsi_fail(err, SGFS_EDATA, "%.60s was not done after %.0f s and was ended.",
                              program, seconds);
        }
        nanosleep(&nap, NULL);
        waited += 0.005;
    }
}

/* The last line of what it complained of. */
static sgfs_status fail_program(const char *program, int code, int fd, sgfs_err *err) {
    sgfsi_buffer text = {NULL};
    const char *line = "it says nothing";
    if (take_file(fd, &text) == 0) {
        while (text.used > 0 && strchr(" \n\r\t", text.bytes[text.used - 1]) != NULL)
            text.bytes[--text.used] = '\0';
        char *last = strrchr(text.bytes, '\n');
        if (text.used > 0) line = last != NULL ? last + 1 : text.bytes;
        if (text.used > 0) sgfsi_printable(text.bytes + (line - text.bytes));
        while (*line == ' ') line++;
    }
    if (WIFEXITED(code))
        sgfsi_fail(err, SGFS_EDATA, "%.60s failed with exit code %d: %.300s.", program,
                   WEXITSTATUS(code), line);
    else
        sgfsi_fail(err, SGFS_EDATA, "%.60s was ended by signal %d: %.300s.", program,
                   WTERMSIG(code), line);
    free(text.bytes);
    return SGFS_EDATA;
}

sgfs_status sgfsi_child_run(const char *const words[], const sgfsi_buffer *input, double seconds,
                            const sgfsi_stop *stop, sgfsi_buffer *out, sgfs_err *err) {
    int file[FILES] = {-1, -1, -1}, code = 0;
    pid_t pid = 0;
    int error = open_files(file);
    if (error == 0) error = sgfsi_io_write(file[INPUT], input->bytes, input->used, 0);
    sgfs_status status = error == 0 ? SGFS_OK : fail_files(words[0], error, err);
    if (status == SGFS_OK && (error = start(words, file, &pid)) != 0)
        status = error == ENOENT
                     ? sgfsi_fail(err, SGFS_EUSAGE, "There is no program %.60s.", words[0])
                     : sgfsi_fail(err, error == ENOMEM ? SGFS_ENOMEM : SGFS_EDATA,
                                  "%.60s cannot be started: %s.", words[0], strerror(error));
    else if (status == SGFS_OK) status = wait_for(words[0], pid, seconds, stop, &code, err);
    if (status == SGFS_OK && code != 0)
        status = fail_program(words[0], code, file[COMPLAINTS], err);
    if (status == SGFS_OK && (error = take_file(file[OUTPUT], out)) != 0)
        status = fail_files(words[0], error, err);
    for (int k = 0; k < FILES; k++)
        if (file[k] >= 0) close(file[k]);
    return status;
}
