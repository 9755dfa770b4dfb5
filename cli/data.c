/* SPDX-License-Identifier: MIT
 * data.c: what stands behind --data: one name or several, with the flag given once or more often.
 *
 * A pattern without quotes is spelled out by the shell: `--data part-*.csv` arrives as one value
 * and words behind it. They are data as long as the command has its own word (MODEL, RUN)
 * elsewhere; a single word that can only be the command's own is taken as such, so that `sgfs
 * sample --data rows.csv logistic` is as good as the other order. The library takes several names
 * as one text, one name a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static sgfs_status add(cli_args *args, const char *word, bool behind, sgfs_err *err) {
    size_t n = (size_t)args->datas + 1;
    cli_data *data = realloc(args->data, n * sizeof *data);
    if (data == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the arguments.");
    args->data = data;
    data[args->datas++] = (cli_data){word, behind};
    return SGFS_OK;
}

sgfs_status cli_data_value(cli_args *args, const char *value, sgfs_err *err) {
    return add(args, value, false, err);
}

sgfs_status cli_data_word(cli_args *args, const char *word, sgfs_err *err) {
    return add(args, word, true, err);
}

static bool is_pattern(const char *name) {
    return name[strcspn(name, "*?[")] != '\0';
}

/* Words behind --data that the command needs for itself. */
static sgfs_status give_back(const cli_command *command, cli_args *args, sgfs_err *err) {
    int behind = 0, lacks = command->words - args->words, kept = 0;
    for (int i = 0; i < args->datas; i++) behind += args->data[i].behind;
    if (lacks <= 0 || behind == 0) return SGFS_OK;
    if (behind > lacks) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Which of the words behind --data is the command's own? Put it first (sgfs "
                        "%s %s), and a pattern in quotes (--data 'part-*.csv').",
                        command->name, command->usage);
    }
    for (int i = 0; i < args->datas; i++) {
        if (args->data[i].behind) args->word[args->words++] = args->data[i].name;
        else args->data[kept++] = args->data[i];
    }
    args->datas = kept;
    return SGFS_OK;
}

/* A word that is no file is a slip of another kind: a flag without its dashes. */
static sgfs_status check_words(const cli_args *args, sgfs_err *err) {
    for (int i = 0; i < args->datas; i++) {
        const char *name = args->data[i].name;
        if (!args->data[i].behind || strcmp(name, "-") == 0 || is_pattern(name)) continue;
        if (access(name, F_OK) == 0) continue;
        return cli_fail(
            err, SGFS_EUSAGE,
            "What is \"%.200s\" for? Behind --data it would be one more file, and there "
            "is none of that name; everything else has a flag (--target COLUMN, "
            "--features a,b).",
            name);
    }
    return SGFS_OK;
}

sgfs_status cli_data_settle(const cli_command *command, cli_args *args, const char **value,
                            sgfs_err *err) {
    if (args->datas == 0) return SGFS_OK;
    if (give_back(command, args, err) != SGFS_OK) return err->code;
    if (check_words(args, err) != SGFS_OK) return err->code;
    size_t room = 1;
    for (int i = 0; i < args->datas; i++) room += strlen(args->data[i].name) + 1;
    char *end = args->lines = malloc(room);
    if (end == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the arguments.");
    for (int i = 0; i < args->datas; i++)
        end += sprintf(end, "%s%s", i > 0 ? "\n" : "", args->data[i].name);
    *value = args->lines;
    return SGFS_OK;
}

char *cli_join_words(const cli_args *args) {
    size_t room = 1;
    for (int i = 0; i < args->words; i++) room += strlen(args->word[i]) + 1;
    char *all = malloc(room), *end = all;
    if (all == NULL) return NULL;
    *end = '\0';
    for (int i = 0; i < args->words; i++) {
        size_t n = strlen(args->word[i]);
        if (i > 0) *end++ = '\n';
        memcpy(end, args->word[i], n + 1);
        end += n;
    }
    return all;
}

void cli_data_free(cli_args *args) {
    free(args->data);
    free(args->lines);
}

void cli_data_show(const char *lines, char *out, size_t room) {
    size_t first = strcspn(lines, "\n");
    int more = 0;
    for (const char *s = lines; (s = strchr(s, '\n')) != NULL; s++) more++;
    if (strcmp(lines, "-") == 0) snprintf(out, room, "standard input");
    else if (more == 0) snprintf(out, room, "%s", lines);
    else snprintf(out, room, "%.*s and %d more", (int)first, lines, more);
}
