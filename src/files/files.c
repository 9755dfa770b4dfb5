/* SPDX-License-Identifier: MIT
 * files.c: from what the user calls the data to files that can be opened.
 *
 *     "a.csv"            a file, even where its name has a star in it
 *     "part-*.csv"       every file whose name fits, in the order of the bytes of the names
 *     "-", a pipe        copied to disk (spool.c)
 *     several of these, one a line, in the order given
 *
 * A file that is there twice would count twice, so it is refused, whatever names it goes by. Rows
 * of pipes come from a copy; sentences about it name the pipe instead (tidy).
 */
#include "files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/nearest.h"

enum { MOST_LOOKED_AT = 10000 }; /* names in a folder, for a suggestion */

typedef struct identity {
    dev_t device;
    ino_t inode;
    int64_t file;
} identity;

typedef struct gatherer {
    sgfsi_files *files;
    const sgfsi_log *log;
    int64_t room;
    identity *id; /* room */
    bool has_input;
    int64_t names;       /* that the user gave */
    const char *pattern; /* the last of them that is one */
} gatherer;

/* ---- one file -------------------------------------------------------------------------------- */

static sgfs_status push(gatherer *g, const char *path, const char *name, const struct stat *st,
                        sgfs_err *err) {
    sgfsi_files *f = g->files;
    int64_t room = f->count < g->room ? g->room : 2 * g->room + 8;
    if (room > g->room && !(sgfsi_resize(&f->path, room, sizeof *f->path) &&
                            sgfsi_resize(&f->name, room, sizeof *f->name) &&
                            sgfsi_resize(&f->leftover, room, sizeof *f->leftover) &&
                            sgfsi_resize(&g->id, room, sizeof *g->id)))
        return sgfsi_fail_memory(err, "the list of files");
    g->room = room;
    f->path[f->count] = strdup(path);
    f->name[f->count] = strdup(name);
    f->leftover[f->count] = false;
    g->id[f->count] = (identity){st->st_dev, st->st_ino, f->count};
    f->count++;
    if (f->path[f->count - 1] == NULL || f->name[f->count - 1] == NULL)
        return sgfsi_fail_memory(err, "the list of files");
    return SGFS_OK;
}

static sgfs_status fail_twice(const sgfsi_files *f, int64_t a, const char *b, sgfs_err *err) {
    if (strcmp(f->name[a], b) == 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: is named twice among the data: its rows would count twice.", b);
    }
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%.200s and %.200s are the same file: its rows would count twice.",
                      f->name[a], b);
}

/* ---- pipes ----------------------------------------------------------------------------------- */

/* Copy what comes from fd. A pipe that was emptied before would be waited for. */
static sgfs_status add_pipe(gatherer *g, int from, const char *called, const struct stat *st,
                            sgfs_err *err) {
    int fd;
    bool leftover;
    char *path;
    if (isatty(from)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: is a terminal, where no rows come from; name a file, or send rows "
                          "through a pipe: zcat rows.csv.gz | sgfs ... --data -",
                          called);
    }
    if (S_ISCHR(st->st_mode)) {
        return sgfsi_fail(err, SGFS_EIO,
                          "%s: is not a regular file but a device, whose bytes may never end; "
                          "rows come from files and pipes.",
                          called);
    }
    for (int64_t i = 0; i < g->files->count; i++) {
        if (g->id[i].device == st->st_dev && g->id[i].inode == st->st_ino)
            return fail_twice(g->files, i, called, err);
    }
    sgfs_status status = sgfsi_spool(from, called, g->log, &fd, &path, &leftover, err);
    if (status != SGFS_OK) return status;
    status = push(g, path, called, st, err);
    if (status == SGFS_OK) g->files->leftover[g->files->count - 1] = leftover;
    else if (leftover) unlink(path);
    free(path);
    sgfsi_files *f = g->files;
    if (sgfsi_resize(&f->spool, f->spools + 1, sizeof *f->spool)) {
        f->spool[f->spools++] = fd;
        return status;
    }
    close(fd);
    return status != SGFS_OK ? status : sgfsi_fail_memory(err, "the list of files");
}

/* A file that the shell has opened (`< rows.csv`) is taken as it is, from its beginning. */
static sgfs_status add_input(gatherer *g, sgfs_err *err) {
    static const char called[] = "standard input", here[] = "/proc/self/fd/0";
    struct stat st, seen;
    if (g->has_input)
        return sgfsi_fail(err, SGFS_EUSAGE, "Standard input (-) can be read once only.");
    g->has_input = true;
    if (fstat(STDIN_FILENO, &st) != 0)
        return sgfsi_fail(err, SGFS_EIO, "%s: cannot read it: it is closed.", called);
    bool whole = S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 && st.st_size > 0 &&
                 stat(here, &seen) == 0 && seen.st_dev == st.st_dev && seen.st_ino == st.st_ino;
    return whole ? push(g, here, called, &st, err) : add_pipe(g, STDIN_FILENO, called, &st, err);
}

static sgfs_status add_pipe_at(gatherer *g, const char *path, const struct stat *st,
                               sgfs_err *err) {
    char called[512];
    /* The shell writes <(...) as /dev/fd/63. */
    bool numbered = strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
    if (strcmp(path, "/dev/stdin") == 0) snprintf(called, sizeof called, "standard input");
    else if (numbered) snprintf(called, sizeof called, "pipe %s", strrchr(path, '/') + 1);
    else snprintf(called, sizeof called, "%s", path);
    int fd = sgfsi_io_open(path);
    if (fd < 0) return sgfsi_fail_io(err, called, "open it", errno);
    sgfs_status status = add_pipe(g, fd, called, st, err);
    close(fd);
    return status;
}

/* ---- names and patterns ---------------------------------------------------------------------- */

static sgfs_status add_file(gatherer *g, const char *path, sgfs_err *err) {
    struct stat st;
    if (stat(path, &st) != 0) return sgfsi_fail_io(err, path, "open it", errno);
    if (S_ISDIR(st.st_mode)) {
        int length = (int)strlen(path);
        while (length > 1 && path[length - 1] == '/') length--;
        return sgfsi_fail(err, SGFS_EIO,
                          "%s: is a directory; give the name of a file, or a pattern in quotes: "
                          "'%.*s/*.csv'.",
                          path, length, path);
    }
    if (S_ISREG(st.st_mode)) return push(g, path, path, &st, err);
    if (S_ISFIFO(st.st_mode)) return add_pipe_at(g, path, &st, err);
    return sgfsi_fail(err, SGFS_EIO, "%s: is not a regular file, and no pipe either.", path);
}

static sgfs_status fail_pattern(const char *pattern, sgfs_err *err) {
    char where[512], near[300] = "";
    const char *slash = strrchr(pattern, '/'), *base = slash != NULL ? slash + 1 : pattern;
    snprintf(where, sizeof where, "%.*s", (int)(slash == pattern ? 1 : base - pattern), pattern);
    bool plain = where[strcspn(where, "*?[")] == '\0';
    DIR *folder = plain ? opendir(slash != NULL ? where : ".") : NULL;
    if (plain && folder == NULL) {
        return sgfsi_fail(err, SGFS_EIO, "%s: no file fits this pattern: cannot open %s: %s.",
                          pattern, where, strerror(errno));
    }
    /* The name in the folder that is most like what was asked. */
    int64_t least = INT64_MAX;
    struct dirent *entry;
    for (int64_t i = 0; folder != NULL && i < MOST_LOOKED_AT; i++) {
        if ((entry = readdir(folder)) == NULL) break;
        int64_t d = entry->d_name[0] == '.' ? INT64_MAX : sgfsi_distance(base, entry->d_name);
        if (d == INT64_MAX || d > least || (d == least && strcmp(entry->d_name, near) >= 0))
            continue;
        least = d;
        snprintf(near, sizeof near, "%s", entry->d_name);
    }
    if (near[0] != '\0' && !sgfsi_is_near(base, least)) near[0] = '\0';
    if (folder != NULL) closedir(folder);
    return sgfsi_fail(err, SGFS_EIO, "%s: no file fits this pattern%s%s%s", pattern,
                      near[0] != '\0' ? "; did you mean \"" : ".", near,
                      near[0] != '\0' ? "\"?" : "");
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folders that may not be read are passed over; one that could not be is no reason to say that no
 * file fits. */
static int gives_up(const char *folder, int error) {
    (void)folder;
    return error == ENOMEM;
}

/* In the order of bytes: glob's own order follows the locale. */
static sgfs_status add_pattern(gatherer *g, const char *pattern, sgfs_err *err) {
    glob_t found = {.gl_pathc = 0};
    int code = glob(pattern, GLOB_NOSORT, gives_up, &found);
    sgfs_status status = SGFS_OK;
    if (code == GLOB_NOSPACE || code == GLOB_ABORTED)
        status = sgfsi_fail_memory(err, "the list of files");
    else if (code != 0 || found.gl_pathc == 0) status = fail_pattern(pattern, err);
    if (status == SGFS_OK) {
        g->pattern = pattern;
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_bytes);
    }
    for (size_t i = 0; status == SGFS_OK && i < found.gl_pathc; i++)
        status = add_file(g, found.gl_pathv[i], err);
    globfree(&found);
    return status;
}

static sgfs_status add_name(gatherer *g, const char *name, sgfs_err *err) {
    struct stat st;
    g->names++;
    if (strcmp(name, "-") == 0) return add_input(g, err);
    bool there = stat(name, &st) == 0;
    bool pattern = !there && name[strcspn(name, "*?[")] != '\0';
    return pattern ? add_pattern(g, name, err) : add_file(g, name, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_identity(const void *a, const void *b) {
    const identity *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

sgfs_status sgfsi_files_open(sgfsi_files *files, const char *name, const sgfsi_log *log,
                             sgfs_err *err) {
    struct stat st;
    memset(files, 0, sizeof *files);
    gatherer g = {.files = files, .log = log};
    bool lines = (strchr(name, '\n') != NULL && stat(name, &st) != 0) || name[0] == '\0';
    char *copy = strdup(name);
    sgfs_status status = copy != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
    for (char *s = copy, *next; status == SGFS_OK && s != NULL; s = next) {
        next = lines ? strchr(s, '\n') : NULL;
        if (next != NULL) *next++ = '\0';
        if (s[0] != '\0') status = add_name(&g, s, err);
    }
    if (status == SGFS_OK && files->count == 0)
        status = sgfsi_fail(err, SGFS_EUSAGE, "No file is named: the name of the data is empty.");
    if (status == SGFS_OK) qsort(g.id, (size_t)files->count, sizeof *g.id, by_identity);
    for (int64_t i = 1; status == SGFS_OK && i < files->count; i++) {
        if (g.id[i].device == g.id[i - 1].device && g.id[i].inode == g.id[i - 1].inode)
            status = fail_twice(files, g.id[i - 1].file, files->name[g.id[i].file], err);
    }
    if (status == SGFS_OK) { /* what all of them together are called */
        bool pattern = g.pattern != NULL && g.names == 1;
        const char *first = pattern ? g.pattern : files->name[0];
        size_t room = strlen(first) + 64;
        files->shown = malloc(room);
        if (files->shown == NULL) status = sgfsi_fail_memory(err, "the list of files");
        else if (files->count == 1) snprintf(files->shown, room, "%s", files->name[0]);
        else
            snprintf(files->shown, room, pattern ? "%s (%lld files)" : "%s and %lld more", first,
                     (long long)files->count - !pattern);
    }
    free(copy);
    free(g.id);
    if (status != SGFS_OK) sgfsi_files_close(files);
    return status;
}

void sgfsi_files_close(sgfsi_files *files) {
    for (int64_t i = 0; i < files->count; i++) {
        if (files->leftover[i]) unlink(files->path[i]);
        free(files->path[i]);
        free(files->name[i]);
    }
    for (int64_t i = 0; i < files->spools; i++) close(files->spool[i]);
    free(files->path);
    free(files->name);
    free(files->leftover);
    free(files->shown);
    free(files->spool);
    memset(files, 0, sizeof *files);
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Every path in text by its name; /proc/self/fd/7 is not the beginning of /proc/self/fd/71. */
static void tidy(const sgfsi_files *files, char *text, size_t room) {
    for (int64_t i = 0; i < files->count; i++) {
        const char *path = files->path[i], *name = files->name[i];
        size_t old = strlen(path), new = strlen(name);
        char *at = strcmp(path, name) != 0 ? strstr(text, path) : NULL;
        for (; at != NULL; at = strstr(at, path)) {
            size_t rest = strlen(at + old);
            bool longer = at[old] >= '0' && at[old] <= '9';
            if (longer || (size_t)(at - text) + new + rest + 1 > room) {
                at += old;
                continue;
            }
            memmove(at + new, at + old, rest + 1);
            for (const char *c = name; *c != '\0'; c++) *at++ = *c;
        }
    }
}

void sgfsi_files_tidy(const sgfsi_files *files, sgfs_err *err) {
    if (err != NULL) tidy(files, err->text, sizeof err->text);
}

static void say_tidied(sgfs_level level, const char *text, void *user) {
    const sgfsi_files *files = user;
    char copy[1100];
    snprintf(copy, sizeof copy, "%s", text);
    tidy(files, copy, sizeof copy);
    files->to.fn(level, copy, files->to.user);
}

const sgfsi_log *sgfsi_files_log(sgfsi_files *files, const sgfsi_log *log) {
    if (log == NULL || log->fn == NULL) return log;
    files->to = *log;
    files->log = (sgfsi_log){say_tidied, files, log->watcher};
    return &files->log;
}
