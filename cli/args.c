/* SPDX-License-Identifier: MIT
 * args.c: the words after the subcommand. Flags come from the library's option table and from the
 * command's own list; --name VALUE and --name=VALUE both work, switches take --no-name, a typo gets
 * a suggestion. (Not getopt_long: it accepts abbreviations, which would turn every new option into
 * a break of old scripts.)
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum { MOST_FLAGS = 256 };

sgfs_status cli_fail(sgfs_err *err, sgfs_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

bool cli_same_file(const char *a, const char *b) {
    struct stat x, y;
    return strcmp(a, b) == 0 ||
           (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

bool cli_applies(const cli_command *command, const sgfs_option_info *option) {
    const char *at = strstr(command->stages, option->stage);
    size_t n = strlen(option->stage);
    return at != NULL && (at[n] == ' ' || at[n] == '\0');
}

static bool find_option(const cli_command *command, const char *flag, sgfs_option_info *option) {
    for (int64_t i = 0; sgfs_option_at(i, option); i++) {
        if (strcmp(option->flag, flag) == 0 && cli_applies(command, option)) return true;
    }
    return false;
}

static int find_own(const cli_command *command, const char *flag) {
    for (int i = 0; command->flags[i].name != NULL; i++) {
        if (strcmp(command->flags[i].name, flag) == 0) return i;
    }
    return -1;
}

const char *cli_given(const cli_command *command, const cli_args *args, const char *flag) {
    int i = find_own(command, flag);
    return i < 0 ? NULL : args->given[i];
}

static sgfs_status unknown_flag(const cli_command *command, const char *flag, sgfs_err *err) {
    const char *names[MOST_FLAGS];
    int64_t count = 0;
    sgfs_option_info option;
    names[count++] = "quiet";
    names[count++] = "json";
    names[count++] = "help";
    for (int i = 0; command->flags[i].name != NULL; i++) names[count++] = command->flags[i].name;
    for (int64_t i = 0; sgfs_option_at(i, &option) && count < MOST_FLAGS; i++) {
        if (cli_applies(command, &option)) names[count++] = option.flag;
    }
    const char *near = sgfs_nearest(flag, count, names);
    if (near != NULL) {
        return cli_fail(err, SGFS_EUSAGE, "There is no flag --%s. Did you mean --%s?", flag, near);
    }
    return cli_fail(err, SGFS_EUSAGE, "There is no flag --%s; `sgfs help %s` lists them.", flag,
                    command->name);
}

/* The value of --flag: behind "=", or the next word unless that is a flag itself (`--data --out x`
 * forgot a value; one that does begin so can still be given behind "="). */
static const char *value_of(char *equals, int argc, char **argv, int *at) {
    if (equals != NULL) return equals + 1;
    if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) return NULL;
    return argv[++*at];
}

static sgfs_status take_option(const sgfs_option_info *option, char *equals, int argc, char **argv,
                               int *at, cli_args *args, sgfs_err *err) {
    if (strcmp(option->type, "flag") == 0) {
        return sgfs_config_set(args->cfg, option->key, equals != NULL ? equals + 1 : "true", err);
    }
    const char *value = value_of(equals, argc, argv, at);
    if (value == NULL) return cli_fail(err, SGFS_EUSAGE, "--%s needs a value.", option->flag);
    return sgfs_config_set(args->cfg, option->key, value, err);
}

static sgfs_status take_own(const cli_flag *flag, const char **slot, char *equals, int argc,
                            char **argv, int *at, sgfs_err *err) {
    if (flag->value == NULL && equals != NULL) {
        return cli_fail(err, SGFS_EUSAGE, "--%s takes no value.", flag->name);
    }
    if (flag->value == NULL) return *slot = "", SGFS_OK;
    *slot = value_of(equals, argc, argv, at);
    if (*slot == NULL || **slot == '\0')
        return cli_fail(err, SGFS_EUSAGE, "--%s needs a value.", flag->name);
    return SGFS_OK;
}

static sgfs_status take_flag(const cli_command *command, int argc, char **argv, int *at,
                             cli_args *args, sgfs_err *err) {
    char name[64];
    const char *word = argv[*at] + 2;
    char *equals = strchr(argv[*at], '=');
    size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);
    if (n >= sizeof name) return unknown_flag(command, word, err);
    memcpy(name, word, n);
    name[n] = '\0';

    sgfs_option_info option;
    int own = find_own(command, name);
    bool quiet = strcmp(name, "quiet") == 0, json = strcmp(name, "json") == 0;
    if ((quiet || json) && equals != NULL)
        return cli_fail(err, SGFS_EUSAGE, "--%s takes no value.", name);
    if (quiet) return args->quiet = true, SGFS_OK;
    if (json) return args->json = true, SGFS_OK;
    if (own >= 0)
        return take_own(&command->flags[own], &args->given[own], equals, argc, argv, at, err);
    if (find_option(command, name, &option))
        return take_option(&option, equals, argc, argv, at, args, err);
    if (strncmp(name, "no-", 3) == 0 && equals == NULL && find_option(command, name + 3, &option) &&
        strcmp(option.type, "flag") == 0) {
        return sgfs_config_set(args->cfg, option.key, "false", err);
    }
    return unknown_flag(command, name, err);
}

sgfs_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *args,
                      sgfs_err *err) {
    const int most = (int)(sizeof args->word / sizeof args->word[0]);
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        sgfs_status status = SGFS_OK;
        if (!only_words && strcmp(argv[i], "--") == 0) only_words = true;
        else if (!only_words && strcmp(argv[i], "-q") == 0) args->quiet = true;
        else if (!only_words && strncmp(argv[i], "--", 2) == 0)
            status = take_flag(command, argc, argv, &i, args, err);
        else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0')
            status = unknown_flag(command, argv[i] + 1, err);
        else if (args->words == most)
            status = cli_fail(err, SGFS_EUSAGE, "Too many arguments at \"%s\".", argv[i]);
        else args->word[args->words++] = argv[i];
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}
