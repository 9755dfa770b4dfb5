/* SPDX-License-Identifier: MIT
 * args.c: the words after the subcommand. Flags come from the library's option table and from the
 * command's own list; --name VALUE and --name=VALUE both work, switches take --no-name, a typo gets
 * a suggestion. (Not getopt_long: it accepts abbreviations, which would turn every new option into
 * a break of old scripts.)
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli.h"

enum { MOST_FLAGS = 256, MOST_OPTIONS = 512 };

sgfs_status cli_fail(sgfs_err *err, sgfs_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

bool cli_applies(const cli_command *command, const sgfs_option_info *option) {
    const char *at = strstr(command->stages, option->stage);
    size_t n = strlen(option->stage);
    return at != NULL && (at[n] == ' ' || at[n] == '\0');
}

bool cli_takes_config(const cli_command *command) {
    return command->stages[0] != '\0';
}

static bool find_option(const cli_command *command, const char *flag, sgfs_option_info *option) {
    for (int64_t i = 0; sgfs_option_at(i, option); i++) {
        if (strcmp(option->flag, flag) == 0 && cli_applies(command, option)) return true;
    }
    return false;
}

static int find_own(const cli_command *command, const char *flag) {
    for (int i = 0; command->flags[i].name != NULL; i++) {
        assert(i < CLI_FLAGS);
        if (strcmp(command->flags[i].name, flag) == 0) return i;
    }
    return -1;
}

const char *cli_given(const cli_command *command, const cli_args *args, const char *flag) {
    int i = find_own(command, flag);
    return i < 0 ? NULL : args->given[i];
}

sgfs_status cli_borrow(const cli_command *command, const cli_args *args, cli_borrowed *borrowed,
                       sgfs_err *err) {
    for (; (*borrowed)[0] != NULL; borrowed++) {
        const char *value = cli_given(command, args, (*borrowed)[0]);
        if (value == NULL) continue;
        sgfs_status status =
            sgfs_config_set(args->cfg, (*borrowed)[1], value[0] == '\0' ? "true" : value, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

static sgfs_status unknown_flag(const cli_command *command, const char *flag, sgfs_err *err) {
    const char *names[MOST_FLAGS];
    int64_t count = 0;
    sgfs_option_info option;
    names[count++] = "quiet";
    names[count++] = "json";
    names[count++] = "verbose";
    names[count++] = "help";
    if (cli_takes_config(command)) names[count++] = "config";
    for (int i = 0; command->flags[i].name != NULL; i++) names[count++] = command->flags[i].name;
    for (int64_t i = 0; sgfs_option_at(i, &option) && count < MOST_FLAGS; i++) {
        if (cli_applies(command, &option)) names[count++] = option.flag;
    }
    const char *near = sgfsi_nearest(flag, count, names);
    if (near != NULL) {
        return cli_fail(err, SGFS_EUSAGE, "There is no flag --%s. Did you mean --%s?", flag, near);
    }
    return cli_fail(err, SGFS_EUSAGE,
                    "There is no flag --%s; `sgfs help %s --help-all` lists them.", flag,
                    command->name);
}

/* The value of --flag: behind "=", or the next word unless that is a flag itself (`--data --out x`
 * forgot a value; one that does begin so can still be given behind "="). */
static const char *value_of(char *equals, int argc, char **argv, int *at) {
    if (equals != NULL) return equals + 1;
    if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) return NULL;
    return argv[++*at];
}

/* Transforms have one place in their order: a second one would silently replace the first. */
static bool is_transform(const char *key) {
    static const char *const keys[] = {
        "data.amount",  "data.categorical", "data.date",         "data.drop",  "data.log1p",
        "data.project", "data.split",       "data.keep_classes", "data.limit", "data.na"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        if (strcmp(keys[k], key) == 0) return true;
    }
    return false;
}

/* A flag, which replaces what the file said. */
static sgfs_status set_option(cli_args *args, const char *key, const char *value, sgfs_err *err) {
    sgfs_option_info o;
    for (int64_t i = 0; i < MOST_OPTIONS && sgfs_option_at(i, &o); i++) {
        if (strcmp(o.key, key) != 0) continue;
        if (is_transform(key) && args->origin[i] == CLI_FLAG) {
            return cli_fail(err, SGFS_EUSAGE,
                            "--%s may be given once (lists take commas, \"a,b\"; several rounds of "
                            "transforms are several runs of `sgfs pack`).",
                            o.flag);
        }
        args->origin[i] = CLI_FLAG;
    }
    return sgfs_config_set(args->cfg, key, value, err);
}

static sgfs_status take_option(const sgfs_option_info *option, char *equals, int argc, char **argv,
                               int *at, cli_args *args, sgfs_err *err) {
    if (strcmp(option->type, "flag") == 0) {
        /* --standardize, --standardize all: the one word that may follow */
        bool follows = equals == NULL && option->choices[0] != '\0' && *at + 1 < argc &&
                       strcmp(argv[*at + 1], option->choices) == 0;
        const char *value = equals != NULL ? equals + 1 : follows ? argv[++*at] : "true";
        return set_option(args, option->key, value, err);
    }
    const char *value = value_of(equals, argc, argv, at);
    if (value == NULL) return cli_fail(err, SGFS_EUSAGE, "--%s needs a value.", option->flag);
    return set_option(args, option->key, value, err);
}

static sgfs_status take_own(const cli_command *command, int own, char *equals, int argc,
                            char **argv, int *at, cli_args *args, sgfs_err *err) {
    const int most = (int)(sizeof args->many / sizeof args->many[0]);
    const cli_flag *flag = &command->flags[own];
    if (flag->value == NULL && equals != NULL) {
        return cli_fail(err, SGFS_EUSAGE, "--%s takes no value.", flag->name);
    }
    const char *value = flag->value == NULL ? "" : value_of(equals, argc, argv, at);
    if (value == NULL || (flag->value != NULL && value[0] == '\0'))
        return cli_fail(err, SGFS_EUSAGE, "--%s needs a value.", flag->name);
    if (strcmp(flag->name, "data") == 0 && cli_data_value(args, value, err) != SGFS_OK)
        return err->code;
    bool repeats = command->repeats != NULL && strcmp(command->repeats, flag->name) == 0;
    if (repeats && args->manys == most)
        return cli_fail(err, SGFS_EUSAGE, "--%s may be given %d times.", flag->name, most);
    if (repeats) args->many[args->manys++] = value;
    args->given[own] = value;
    return SGFS_OK;
}

/* Which options the file has set (to something else than their defaults), and for which sampler. */
static void remember_file(cli_args *args, const char *path) {
    sgfs_option_info o;
    args->config = path;
    for (int64_t i = 0; i < MOST_OPTIONS && sgfs_option_at(i, &o); i++) {
        const char *value = sgfs_config_get(args->cfg, o.key);
        if (strcmp(value, o.value) == 0) continue;
        args->origin[i] = CLI_FILE;
        if (strcmp(o.key, "sampler.kind") == 0)
            snprintf(args->config_sampler, sizeof args->config_sampler, "%s", value);
    }
}

/* The options of a run that goes on, but for its limit of time, which has been used up. */
static sgfs_status load_resumed(cli_args *args, const char *path, sgfs_err *err) {
    if (access(path, F_OK) != 0)
        return cli_fail(err, SGFS_EUSAGE, "%.300s: there is no such run to go on with.", path);
    sgfs_status status = sgfs_config_load(args->cfg, path, err);
    if (status != SGFS_OK && status != SGFS_EUSAGE && status != SGFS_EDATA) return status;
    if (status != SGFS_OK || sgfs_config_get(args->cfg, "data.path") == NULL) /* JSON, or no run */
        return cli_fail(err, SGFS_ERUNFILE, "%.300s: not a run file of sgfs.", path);
    return sgfs_config_set(args->cfg, "run.max_time", "auto", err);
}

/* Is the word, of n letters before any "=", that flag? */
static bool is_flag(const char *word, size_t n, const char *flag) {
    return n == strlen(flag) + 2 && strncmp(word, "--", 2) == 0 &&
           strncmp(word + 2, flag, n - 2) == 0;
}

/* The file of --config, --resume or --sketch comes first, wherever it stands: flags override it. A
 * value never begins with "--" (see value_of), so the word is the flag. */
static sgfs_status load_config(const cli_command *command, int argc, char **argv, cli_args *args,
                               sgfs_err *err) {
    if (!cli_takes_config(command)) return SGFS_OK;
    bool loaded = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *behind = strchr(argv[i], '=');
        size_t n = behind != NULL ? (size_t)(behind - argv[i]) : strlen(argv[i]);
        const char *flag = "config";
        bool owns = find_own(command, "resume") >= 0; /* and --sketch */
        if (owns && is_flag(argv[i], n, "resume")) flag = "resume";
        else if (owns && is_flag(argv[i], n, "sketch")) flag = "sketch";
        else if (!is_flag(argv[i], n, "config")) continue;
        bool resume = strcmp(flag, "resume") == 0;
        const char *path = value_of(behind, argc, argv, &i);
        if (path == NULL || path[0] == '\0')
            return cli_fail(err, SGFS_EUSAGE, "--%s needs a value.", flag);
        if (loaded)
            return cli_fail(err, SGFS_EUSAGE,
                            "One of --config, --resume and --sketch may be given, and once.");
        loaded = true;
        if ((resume ? load_resumed(args, path, err) : sgfs_config_load(args->cfg, path, err)) !=
            SGFS_OK)
            return err->code;
        remember_file(args, path);
    }
    return SGFS_OK;
}

/* The steps in a file belong to the sampler it names; another one would make something else of
 * them. */
static sgfs_status check_config(const cli_args *args, sgfs_err *err) {
    sgfs_option_info o;
    const char *now = sgfs_config_get(args->cfg, "sampler.kind");
    if (args->config_sampler[0] == '\0' || strcmp(now, args->config_sampler) == 0) return SGFS_OK;
    for (int64_t i = 0; i < MOST_OPTIONS && sgfs_option_at(i, &o); i++) {
        if (args->origin[i] != CLI_FILE || strcmp(o.stage, "sampler") != 0) continue;
        return cli_fail(err, SGFS_EUSAGE,
                        "%.200s sets \"%s\" for sampler %.40s; --sampler %.40s would take it over. "
                        "Leave out --sampler, or %s.",
                        args->config, o.key, args->config_sampler, now,
                        sgfs_config_get(args->cfg, "data.path") != NULL
                            ? "--config, and name the options themselves"
                            : "take what belongs to the other one out of the file");
    }
    return SGFS_OK;
}

static int origin_of(const cli_args *args, const char *key) {
    sgfs_option_info o;
    for (int64_t i = 0; i < MOST_OPTIONS && sgfs_option_at(i, &o); i++) {
        if (strcmp(o.key, key) == 0) return args->origin[i];
    }
    return CLI_DEFAULT;
}

/* A run again, but with --draws: thinning and ESS were for the other number. */
static sgfs_status settle_lengths(const cli_args *args, sgfs_err *err) {
    static const char *const other[] = {"run.thin", "run.ess"};
    bool again = sgfs_config_get(args->cfg, "data.path") != NULL;
    if (!again || origin_of(args, "run.draws") != CLI_FLAG) return SGFS_OK;
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        if (origin_of(args, other[i]) != CLI_FILE) continue;
        if (sgfs_config_set(args->cfg, other[i], "auto", err) != SGFS_OK) return err->code;
    }
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
    bool verbose = strcmp(name, "verbose") == 0;
    if ((quiet || json || verbose) && equals != NULL)
        return cli_fail(err, SGFS_EUSAGE, "--%s takes no value.", name);
    if (quiet) return args->quiet = true, SGFS_OK;
    if (verbose) return args->verbose = true, SGFS_OK;
    if (json) return args->json = true, SGFS_OK;
    if (strcmp(name, "config") == 0 && cli_takes_config(command))
        return (void)value_of(equals, argc, argv, at), SGFS_OK; /* read before: load_config */
    if (own >= 0) return take_own(command, own, equals, argc, argv, at, args, err);
    if (find_option(command, name, &option))
        return take_option(&option, equals, argc, argv, at, args, err);
    if (strncmp(name, "no-", 3) == 0 && equals == NULL && find_option(command, name + 3, &option) &&
        strcmp(option.type, "flag") == 0) {
        return set_option(args, option.key, "false", err);
    }
    return unknown_flag(command, name, err);
}

/* ---- what several commands check ------------------------------------------------------------- */

bool cli_is_model(const char *word) {
    const char *name, *help;
    for (int64_t i = 0; sgfs_list("models", i, &name, &help); i++) {
        if (strcmp(name, word) == 0) return true;
    }
    return false;
}

sgfs_status cli_check_model(const cli_command *command, const cli_args *args, sgfs_err *err) {
    if (args->words == 0) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name one model: sgfs %s MODEL --data FILE (`sgfs list models`).",
                        command->name);
    }
    if (args->words > 1) {
        return cli_fail(err, SGFS_EUSAGE,
                        "What is \"%s\" for? After the model, everything has a flag (--data FILE, "
                        "--target COLUMN, --features a,b).",
                        args->word[1]);
    }
    if (cli_is_model(args->word[0])) return SGFS_OK;
    return sgfs_model_open(args->word[0], NULL, args->cfg, err), err->code;
}

void cli_short_model(const char *model, char *out, size_t room) {
    const char *slash = strrchr(model, '/'), *base = slash != NULL ? slash + 1 : model;
    const char *dot = strrchr(base, '.');
    size_t n = dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base);
    snprintf(out, room, "%.*s", (int)n, base);
}

sgfs_data *cli_open_data(const cli_command *command, const cli_args *args, const char *out,
                         sgfs_err *err) {
    const char *path = cli_given(command, args, "data");
    const char *before = sgfs_config_get(args->cfg, "data.path"); /* of the run in --config */
    bool again = path == NULL && before != NULL;
    if (again && before[0] == '\0') {
        cli_fail(err, SGFS_EUSAGE,
                 "Where are the rows? Those of %.300s did not come from a file. Add --data FILE.",
                 args->config);
        return NULL;
    }
    if (again) path = before;
    if (path == NULL) {
        cli_fail(err, SGFS_EUSAGE, "Where are the rows? Add --data FILE.");
        return NULL;
    }
    if (cli_check_out(command, args, out, err) != SGFS_OK) return NULL;
    sgfs_data *data = sgfs_data_open(path, args->cfg, err);
    if (data != NULL || !again || err->code != SGFS_EIO) return data;
    const sgfs_err cause = *err;
    cli_fail(err, cause.code, "%.300s If the rows of %.150s are elsewhere now, add --data FILE.",
             cause.text, args->config);
    return NULL;
}

sgfs_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *args,
                      sgfs_err *err) {
    const int most = (int)(sizeof args->word / sizeof args->word[0]);
    bool only_words = false, behind = false; /* behind: the last word belongs to --data */
    sgfs_status status = load_config(command, argc, argv, args, err);
    for (int i = 0; i < argc && status == SGFS_OK; i++) {
        bool follows = behind;
        int datas = args->datas;
        behind = false;
        if (!only_words && strcmp(argv[i], "--") == 0) only_words = true;
        else if (!only_words && strcmp(argv[i], "-q") == 0) args->quiet = true;
        else if (!only_words && strncmp(argv[i], "--", 2) == 0)
            status = take_flag(command, argc, argv, &i, args, err);
        else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0')
            status = unknown_flag(command, argv[i] + 1, err);
        else if (!only_words && follows) status = cli_data_word(args, argv[i], err);
        else if (args->words == most)
            status = cli_fail(err, SGFS_EUSAGE,
                              "Too many arguments at \"%.200s\"; put a pattern in quotes: "
                              "'part-*.csv'.",
                              argv[i]);
        else args->word[args->words++] = argv[i];
        behind = args->datas > datas;
    }
    int data = find_own(command, "data");
    if (status == SGFS_OK && data >= 0)
        status = cli_data_settle(command, args, &args->given[data], err);
    bool resumed = cli_given(command, args, "resume") != NULL; /* which keeps all but --draws */
    if (status == SGFS_OK && !resumed) status = settle_lengths(args, err);
    return status == SGFS_OK ? check_config(args, err) : status;
}
