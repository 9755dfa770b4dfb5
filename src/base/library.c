/* SPDX-License-Identifier: MIT
 * library.c: the only file that knows how this system loads code.
 *
 * The loader would look for a name without a slash along a search path, and report a missing file
 * as "cannot open shared object file": so the file is looked for first, and the path made explicit.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SGFSI_PLUGIN_FOLDER
#define SGFSI_PLUGIN_FOLDER "../lib/sgfs" /* of installed plug-ins, from that of the program */
#endif

/* The errno that the loader's sentence ends with; 0: it has another reason. The file was there just
 * now: one that is not found any more could not be looked for, which needs memory. */
static int reason_of(const char *why) {
    size_t length = strlen(why);
    if (strncmp(why, "cannot create ", 14) == 0 ||
        (strncmp(why, "cannot allocate ", 16) == 0 && strstr(why, "static TLS") == NULL))
        return ENOMEM; /* a descriptor, a list, a name */
    if (strcmp(why, "cannot open shared object file") == 0 || strcmp(why, "out of memory") == 0 ||
        strcmp(why, "failed to map segment from shared object") == 0)
        return ENOMEM;
    for (int error = 1; error < 134; error++) {
        const char *text = strerror(error);
        size_t n = strlen(text);
        if (length > n && strcmp(why + length - n, text) == 0)
            return error == ENOENT ? ENOMEM : error;
    }
    return 0;
}

sgfsi_library *sgfsi_library_open(const char *path, sgfs_err *err) {
    char exact[PATH_MAX];
    struct stat st;
    if (stat(path, &st) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) sgfsi_fail_io(err, path, "open it", errno);
        else sgfsi_fail(err, SGFS_EDATA, "%.300s: cannot be opened: %s.", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        sgfsi_fail(err, SGFS_EDATA, "%.300s: is not a file, but %s.", path,
                   S_ISDIR(st.st_mode) ? "a directory" : "something special");
        return NULL;
    }
    int n = snprintf(exact, sizeof exact, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    void *handle = n < (int)sizeof exact ? dlopen(exact, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle != NULL) return (sgfsi_library *)handle; /* kept apart from other pointers */
    const char *why = dlerror();                        /* "PATH: reason" */
    if (why == NULL) why = "no reason is known";
    bool itself = strncmp(why, exact, (size_t)n) == 0 && strncmp(why + n, ": ", 2) == 0;
    if (itself) why += n + 2;
    /* Where no memory is left for a sentence either, that is all it says. */
    int error = itself || strcmp(why, "out of memory") == 0 ? reason_of(why) : 0;
    if (error != 0) sgfsi_fail_io(err, path, "load it", error);
    else
        sgfsi_fail(err, SGFS_EDATA,
                   "%.200s: is not a shared object that can be loaded here: %.220s.", path, why);
    return NULL;
}

const void *sgfsi_library_find(sgfsi_library *library, const char *symbol) {
    return dlsym((void *)library, symbol);
}

/* The folder of the file that this constant was loaded from; false: nobody knows. */
static bool find_folder(const void *within, char *folder, size_t room) {
    char line[PATH_MAX + 200];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r"); /* "from-to rights offset device inode   path" */
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        const char *path = strchr(line, '/'), *slash = strrchr(line, '/');
        if (path == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
        if ((uintptr_t)within < from || (uintptr_t)within >= to) continue;
        int n = slash > path ? (int)(slash - path) : 1;
        found = snprintf(folder, room, "%.*s", n, path) < (int)room;
    }
    if (maps != NULL) (void)fclose(maps);
    return found;
}

/* From the folder of this code, or that of all processors where it is a library for some only: in a
 * build, beside an installed library, and as an installed program sees it. Nowhere above: others
 * may be allowed to write there. */
bool sgfsi_library_plugin(const char *file, char *path, size_t room) {
    static const char *const ways[] = {"", "sgfs", SGFSI_PLUGIN_FOLDER};
    static const char here = 0;
    char folder[3000];
    if (!find_folder(&here, folder, sizeof folder)) return false;
    char *some = strstr(folder, "/glibc-hwcaps/");
    if (some != NULL) *some = '\0';
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        snprintf(path, room, "%s/%s%s%s", folder, ways[i], ways[i][0] != '\0' ? "/" : "", file);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

void sgfsi_library_close(sgfsi_library *library) {
    if (library != NULL) (void)dlclose((void *)library);
}
