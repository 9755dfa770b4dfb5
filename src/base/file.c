/* SPDX-License-Identifier: MIT
 * file.c: reading small files whole, writing files so that they appear complete or not at all.
 *
 * While it is written a file has no name where the system can do that (O_TMPFILE, and then a link
 * through /proc), so that a process that is killed leaves nothing. Elsewhere, and where a library
 * opens the file by its name, it is called path.tmp.<pid>-<host>. Such files of processes that are
 * gone are removed by the next one that writes to the folder. Without overwrite a file gets its
 * name by a link, which unlike a rename never replaces what somebody else put there meanwhile.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

/* What stands under the name: it changes with every file that is put there. 0 or an errno. */
static int look_at(const char *path, sgfsi_standing *seen) {
    struct stat st;
    *seen = (sgfsi_standing){0};
    if (lstat(path, &st) != 0) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    *seen = (sgfsi_standing){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (int64_t)st.st_size,
                             (int64_t)st.st_mtim.tv_sec, (int64_t)st.st_mtim.tv_nsec};
    return 0;
}

static void forget(sgfsi_outfile *out) {
    free(out->path);
    free(out->temp);
    memset(out, 0, sizeof *out);
}

enum { MOST_AT_ONCE = 100 }; /* threads that write files of one name */

static bool give_name(int fd, const char *name) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* A file without a name that can be given one later, which is tried with another one; or -1. */
static int open_linkable(const char *temp) {
    char *folder = sgfsi_io_folder(temp);
    int trial = folder != NULL ? sgfsi_io_nameless(folder, 0666) : -1, fd = -1;
    if (trial >= 0 && give_name(trial, temp)) {
        unlink(temp);
        fd = sgfsi_io_nameless(folder, 0666);
    }
    if (trial >= 0) close(trial);
    free(folder);
    return fd;
}

sgfs_status sgfsi_fail_exists(const char *path, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%s: exists already; choose another name or add --overwrite.", path);
}

sgfs_status sgfsi_outfile_check(const char *path, bool overwrite, sgfs_err *err) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? SGFS_OK
                                                   : sgfsi_fail_io(err, path, "write there", errno);
    if (S_ISDIR(st.st_mode))
        return sgfsi_fail(err, SGFS_EIO, "%s: is a directory; give a file name.", path);
    if (!overwrite) return sgfsi_fail_exists(path, err);
    bool dangling = stat(path, &st) != 0; /* a link to nothing, which is replaced */
    if (dangling && errno != ENOENT && errno != ENOTDIR)
        return sgfsi_fail_io(err, path, "write there", errno);
    if (!dangling && !S_ISREG(st.st_mode))
        return sgfsi_fail(err, SGFS_EIO, "%s: is no plain file and is not replaced.", path);
    return SGFS_OK;
}

sgfs_status sgfsi_outfile_open(sgfsi_outfile *out, const char *path, bool overwrite,
                               bool want_stream, sgfs_err *err) {
    memset(out, 0, sizeof *out);
    sgfs_status status = sgfsi_outfile_check(path, overwrite, err);
    if (status != SGFS_OK) return status;
    /* Without a name where the system can do that, under a temporary one elsewhere. */
    char ending[SGFSI_IO_ENDING];
    size_t room = strlen(path) + sizeof ending;
    out->path = strdup(path);
    out->temp = malloc(room);
    out->overwrite = overwrite;
    if (out->path == NULL || out->temp == NULL) {
        forget(out);
        return sgfsi_fail_memory(err, path);
    }
    sgfsi_io_tidy(path);
    int error = overwrite ? look_at(path, &out->older) : 0, fd = -1;
    if (error != 0) {
        forget(out);
        return sgfsi_fail_io(err, path, "write there", error);
    }
    for (int k = 0; k < MOST_AT_ONCE && fd < 0 && (k == 0 || errno == EEXIST); k++) {
        sgfsi_io_ending(k, ending); /* another thread may be writing a file of the same name */
        snprintf(out->temp, room, "%s%s", path, ending);
        fd = want_stream ? open_linkable(out->temp) : -1;
        out->nameless = fd >= 0;
        if (fd < 0)
            fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (fd >= 0 && want_stream) out->f = sgfsi_io_stream(fd);
    if (fd < 0 || (want_stream && out->f == NULL)) {
        error = errno;
        if (fd >= 0) {
            close(fd);
            unlink(out->temp);
        }
        forget(out);
        return sgfsi_fail_io(err, path, "write there", error);
    }
    out->fd = want_stream ? fd : -1;
    if (!want_stream) close(fd);
    return SGFS_OK;
}

void sgfsi_sync_folder(const char *path) {
    char *folder = sgfsi_io_folder(path);
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd < 0) return;
    (void)sgfsi_io_sync(fd);
    close(fd);
}

/* A file without a name gets the first temporary one that is free. */
static int name_temp(sgfsi_outfile *out) {
    char ending[SGFSI_IO_ENDING];
    int error = EEXIST;
    for (int k = 0; k < MOST_AT_ONCE && error == EEXIST; k++) {
        sgfsi_io_ending(k, ending);
        snprintf(out->temp, strlen(out->path) + sizeof ending, "%s%s", out->path, ending);
        error = give_name(out->fd, out->temp) ? 0 : errno;
    }
    return error;
}

/* In place of the file that stood there when this one was begun, and of no other: of two processes
 * that replace one file at once, one wins. They come here one after the other, by a lock on the
 * folder; where that cannot be had within a second, they do without. */
static int replace(const sgfsi_outfile *out) {
    char *folder = sgfsi_io_folder(out->path);
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const struct timespec nap = {0, 10000000};
    for (int k = 0; k < 100 && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         k++)
        nanosleep(&nap, NULL);
    sgfsi_standing now;
    int error = look_at(out->path, &now);
    bool same = now.device == out->older.device && now.inode == out->older.inode &&
                now.bytes == out->older.bytes && now.seconds == out->older.seconds &&
                now.nanoseconds == out->older.nanoseconds;
    if (error == 0) error = same ? sgfsi_io_rename(out->temp, out->path) : EEXIST;
    if (fd >= 0) close(fd);
    free(folder);
    return error;
}

/* File systems without links get the rename. */
static int take_name(const sgfsi_outfile *out) {
    if (out->overwrite) return replace(out);
    if (link(out->temp, out->path) == 0) return unlink(out->temp) == 0 ? 0 : errno;
    if (errno == EEXIST) return EEXIST;
    return sgfsi_io_rename(out->temp, out->path);
}

sgfs_status sgfsi_outfile_commit(sgfsi_outfile *out, sgfs_err *err) {
    bool stream = out->f != NULL;
    int error = 0;
    /* What a library wrote and closed is opened once more, so that fsync reaches it. */
    if (!stream) out->fd = open(out->temp, O_WRONLY | O_CLOEXEC);
    if (out->fd < 0) error = errno;
    if (stream) error = sgfsi_io_flush(out->f);
    if (error == 0) error = sgfsi_io_sync(out->fd);
    bool direct = out->nameless && !out->overwrite;
    if (error == 0 && direct && !give_name(out->fd, out->path)) error = errno;
    if (error == 0 && out->nameless && !direct) error = name_temp(out);
    if (stream && fclose(out->f) != 0 && error == 0) error = errno;
    if (!stream && out->fd >= 0) close(out->fd);
    out->f = NULL;
    if (error == 0 && !direct) error = take_name(out);
    if (error != 0) {
        sgfs_status status = error != EEXIST ? sgfsi_fail_io(err, out->path, "write", error)
                             : !out->overwrite
                                 ? sgfsi_fail_exists(out->path, err)
                                 : sgfsi_fail(err, SGFS_EUSAGE,
                                              "%.300s: another file was put there meanwhile, and "
                                              "stays; the same command once more replaces it.",
                                              out->path);
        sgfsi_outfile_abandon(out);
        return status;
    }
    sgfsi_sync_folder(out->path);
    forget(out);
    return SGFS_OK;
}

sgfs_status sgfsi_outfile_text(const char *path, bool overwrite, const char *text, sgfs_err *err) {
    sgfsi_outfile out;
    sgfs_status status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status != SGFS_OK) return status;
    fprintf(out.f, "%s\n", text);
    return sgfsi_outfile_commit(&out, err);
}

void sgfsi_outfile_abandon(sgfsi_outfile *out) {
    if (out->f != NULL) fclose(out->f);
    if (out->temp != NULL) unlink(out->temp);
    forget(out);
}

char *sgfsi_file_read(const char *path, size_t limit, size_t *length, sgfs_err *err) {
    int fd = sgfsi_io_open(path);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (f == NULL) {
        int error = errno;
        if (fd >= 0) close(fd);
        sgfsi_fail_io(err, path, "open", error);
        return NULL;
    }
    /* Twice the room whenever it is full, up to a byte more than is allowed. */
    size_t room = 4096, used = 0;
    char *text = malloc(room);
    while (text != NULL) {
        used += fread(text + used, 1, room - used - 1, f);
        if (used + 1 < room || used > limit) break;
        room *= 2;
        char *more = realloc(text, room);
        if (more == NULL) free(text);
        text = more;
    }
    int error = ferror(f) ? errno : 0;
    fclose(f);
    /* What went wrong, if anything did. */
    if (text == NULL) {
        sgfsi_fail_memory(err, path);
    } else if (error != 0 || used > limit) {
        if (error != 0) sgfsi_fail_io(err, path, "read", error);
        else
            sgfsi_fail(err, SGFS_EDATA, "%s: larger than the %zu bytes allowed here.", path, limit);
        free(text);
        text = NULL;
    } else {
        text[used] = '\0';
        *length = used;
    }
    return text;
}
