/* SPDX-License-Identifier: MIT
 * output.c: may the output have this name? Asked before any row is read.
 *
 * --overwrite is leave to replace an old output, never an input of the same command. Inputs are all
 * files that the command names: words, data and their patterns, and the values of flags and
 * options, those from --config included. Two names are the same file when device and inode are, so
 * links do not help. A value that is no file at all (--target y) is compared as well: it costs
 * nothing, and an option that is new tomorrow is not forgotten.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* The output, and what went wrong while inputs were compared with it. */
typedef struct output {
    dev_t device;
    ino_t inode;
    int error;
} output;

/* Where the file system fails, nobody knows what is there. */
static bool lacks_answer(int error) {
    return error == EIO || error == ENOMEM || error == EOVERFLOW;
}

static bool is_at(const char *name, output *file) {
    struct stat st;
    if (stat(name, &st) == 0) return st.st_dev == file->device && st.st_ino == file->inode;
    if (lacks_answer(errno)) file->error = errno;
    return false;
}

/* Does the text have the file's name, one a line, or a pattern that fits it? */
static bool has_name(const char *lines, output *file) {
    char name[4096];
    bool found = false;
    for (const char *s = lines; s != NULL && !found; s = strchr(s, '\n')) {
        glob_t some = {.gl_pathc = 0};
        s += *s == '\n';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "\n"), s);
        found = is_at(name, file);
        if (found || strpbrk(name, "*?[") == NULL) continue;
        if (glob(name, GLOB_NOSORT, NULL, &some) == 0) {
            for (size_t i = 0; i < some.gl_pathc && !found; i++)
                found = is_at(some.gl_pathv[i], file);
        }
        globfree(&some);
    }
    return found;
}

bool cli_same_file(const char *a, const char *b) {
    struct stat st;
    if (strcmp(a, b) == 0) return true;
    if (stat(a, &st) != 0) return false;
    output file = {.device = st.st_dev, .inode = st.st_ino};
    return has_name(b, &file);
}

/* Which input of the command is this file? "" is none. */
static const char *input_at(const cli_command *command, const cli_args *args, const char *out,
                            char flag[64], int *error) {
    struct stat st;
    sgfs_option_info o;
    const char *before = sgfs_config_get(args->cfg, "data.path"); /* of the run in --config */
    if (stat(out, &st) != 0) return *error = lacks_answer(errno) ? errno : 0, "";
    output file = {.device = st.st_dev, .inode = st.st_ino};
    if (args->lines != NULL ? has_name(args->lines, &file)
                            : before != NULL && has_name(before, &file))
        return "the data";
    for (int i = 0; i < args->words; i++) {
        bool model = i == 0 && cli_is_model(args->word[0]) && strstr(command->stages, "model");
        if (args->word[i] == out || model || !has_name(args->word[i], &file)) continue;
        return command == &cmd_pack ? "the data" : "an input of the same command";
    }
    if (args->config != NULL && is_at(args->config, &file)) return "the file of --config";
    for (int i = 0; command->flags[i].name != NULL; i++) {
        const char *value = args->given[i];
        if (value == NULL || value == out || !has_name(value, &file)) continue;
        snprintf(flag, 64, "the file of --%.40s", command->flags[i].name);
        return flag;
    }
    for (int64_t i = 0; sgfs_option_at(i, &o); i++) {
        if (strcmp(o.type, "text") != 0 || !has_name(sgfs_config_get(args->cfg, o.key), &file))
            continue;
        snprintf(flag, 64, "the file of --%.40s", o.flag);
        return flag;
    }
    *error = file.error;
    return "";
}

/* The library says what follows, too, but only when all rows have been read and passed over. */
sgfs_status cli_check_place(const cli_command *command, const cli_args *args, const char *out,
                            bool *there, sgfs_err *err) {
    char folder[4096], flag[64];
    struct stat st;
    *there = false;
    if (out == NULL) return SGFS_OK;
    int error = 0;
    const char *input = input_at(command, args, out, flag, &error);
    if (input[0] != '\0')
        return cli_fail(err, SGFS_EUSAGE, "%.300s: is %s; give the output another name.", out,
                        input);
    *there = lstat(out, &st) == 0;
    if (!*there && lacks_answer(errno)) error = errno;
    if (error != 0)
        return cli_fail(err, SGFS_EIO, "%.300s: cannot write there: %s.", out, strerror(error));
    if (*there && S_ISDIR(st.st_mode))
        return cli_fail(err, SGFS_EIO, "%s: is a directory; give a file name.", out);
    const char *slash = strrchr(out, '/');
    int length = slash == NULL ? 0 : (int)(slash - out) + 1;
    snprintf(folder, sizeof folder, "%.*s.", length, out);
    if (access(folder, W_OK | X_OK) != 0)
        return cli_fail(err, SGFS_EIO, "%.300s: cannot write there: %s.", out, strerror(errno));
    return SGFS_OK;
}

sgfs_status cli_check_out(const cli_command *command, const cli_args *args, const char *out,
                          sgfs_err *err) {
    bool there, overwrite = strcmp(sgfs_config_get(args->cfg, "output.overwrite"), "true") == 0;
    sgfs_status status = cli_check_place(command, args, out, &there, err);
    if (status != SGFS_OK || !there || overwrite) return status;
    return cli_fail(err, SGFS_EUSAGE,
                    "%s: exists already; choose another --out or add --overwrite.", out);
}

const char *cli_free_name(const cli_args *args, const char *stem, const char *ending,
                          char out[256]) {
    bool overwrite = strcmp(sgfs_config_get(args->cfg, "output.overwrite"), "true") == 0;
    snprintf(out, 256, "%.220s.%s", stem, ending);
    for (int k = 2; k < 10000 && !overwrite && access(out, F_OK) == 0; k++)
        snprintf(out, 256, "%.220s-%d.%s", stem, k, ending);
    return out;
}
