/* SPDX-License-Identifier: MIT
 * main.c: finds the subcommand, parses its flags, runs it, turns the status into an exit code.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli.h"

const cli_command *const cli_commands[] = {
    &cmd_sample, &cmd_optimize,   &cmd_tune,   &cmd_summary, &cmd_compare,  &cmd_audit,
    &cmd_report, &cmd_plot,       &cmd_export, &cmd_predict, &cmd_simulate, &cmd_pack,
    &cmd_sketch, &cmd_check_grad, &cmd_list,   NULL};

static int exit_code(sgfs_status status) {
    return status == SGFS_ENOMEM ? 1 : -(int)status;
}

const cli_command *cli_find_command(const char *name) {
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0) return *c;
    }
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[32];
    int64_t count = 0;
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) names[count++] = (*c)->name;
    names[count++] = "help";
    const char *near = sgfsi_nearest(name, count, names);
    fprintf(stderr, "sgfs: there is no command \"%s\"", name);
    if (near != NULL) fprintf(stderr, "; did you mean \"%s\"?\n", near);
    else fprintf(stderr, "; `sgfs help` lists them.\n");
    return exit_code(SGFS_EUSAGE);
}

static int help(const char *name, bool all, bool man) {
    const cli_command *command = name != NULL ? cli_find_command(name) : NULL;
    if (name != NULL && command == NULL) return unknown_command(name);
    if (man) cli_man(command);
    else if (command != NULL) cli_help(command, all);
    else cli_overview();
    return 0;
}

static bool has_word(int argc, char **argv, const char *word) {
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], word) == 0) return true;
        if (strcmp(argv[i], "--") == 0) return false;
    }
    return false;
}

/* ---- several processes ----------------------------------------------------------------------- */

static bool together = false; /* the processes of this program have met */

/* What launchers tell the processes they start: of many that cannot begin, one says why. */
static bool is_another(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL) return strtol(rank, NULL, 10) > 0;
    }
    return false;
}

/* Meet the others, of which the first one speaks. */
static sgfs_status meet(const cli_command *command, cli_args *args, sgfs_err *err) {
    if (together || strcmp(sgfs_config_get(args->cfg, "run.mpi"), "true") != 0) return SGFS_OK;
    if (command != &cmd_sample && command != &cmd_predict && command != &cmd_pack) {
        args->rank = is_another();
        return cli_fail(err, SGFS_EUSAGE, "--mpi is for sgfs sample, predict and pack.");
    }
    if (is_another()) cli_be_silent(); /* also until they have met */
    sgfs_status status = sgfs_agree(args->cfg, SGFS_OK, &args->rank, &args->ranks, err);
    together = status == SGFS_OK;
    if (!together) args->rank = is_another();
    if (args->rank == 0) return status;
    args->quiet = true;
    sgfs_config_on_message(args->cfg, NULL, NULL);
    cli_be_silent();
    return status;
}

/* All of them end with one status, and one sentence. */
static sgfs_status part(const cli_args *args, sgfs_status status, sgfs_err *err) {
    char words[600];
    if (!together) return status;
    if (status != SGFS_OK) {
        snprintf(words, sizeof words, "%s%s", args->rank > 0 ? "On another rank than 0: " : "",
                 err->text);
        cli_say_late(status, words);
    }
    status = sgfs_agree(args->cfg, status, NULL, NULL, err);
    cli_say_late(SGFS_OK, NULL);
    cli_be_deaf(); /* launchers end all processes when the first one has ended with a failure */
    return status;
}

static int run(const cli_command *command, int argc, char **argv) {
    sgfs_err err = {SGFS_OK, ""};
    cli_listen(command->name);
    cli_args args = {.cfg = sgfs_config_new(), .ranks = 1};
    if (args.cfg == NULL) {
        fprintf(stderr, "sgfs: out of memory\n");
        return 1;
    }
    sgfs_config_on_message(args.cfg, cli_message, &args);
    sgfs_status status = SGFS_OK;
    if (has_word(argc, argv, "--mpi")) { /* before anything is said */
        status = sgfs_config_set(args.cfg, "run.mpi", "true", &err);
        if (status == SGFS_OK) status = meet(command, &args, &err);
    }
    if (status == SGFS_OK) status = cli_parse(command, argc, argv, &args, &err);
    if (status == SGFS_OK) status = meet(command, &args, &err);
    if (status == SGFS_OK) status = command->run(&args, &err);
    status = part(&args, status, &err);
    const char *when = args.command == NULL ? ""
                       : args.with_old_data ? " To go on, when the data are as they were: "
                                            : " To go on: ";
    if (status != SGFS_OK && args.rank == 0) {
        char begin[64];
        snprintf(begin, sizeof begin, "sgfs %.40s: ", command->name);
        cli_progress_end();
        if (isatty(STDERR_FILENO) && args.command != NULL) { /* to paste, in a line of its own */
            cli_print_wrapped(stderr, begin, err.text);
            fprintf(stderr, "%s%s\n", when + 1, args.command);
        } else if (args.command != NULL)
            fprintf(stderr, "%s%s%s%s\n", begin, err.text, when, args.command);
        else cli_print_wrapped(stderr, begin, err.text);
    }
    free(args.command);
    sgfs_config_free(args.cfg);
    cli_data_free(&args);
    return exit_code(status);
}

/* A reader that went away (`| head`) is no failure; a full disk is. */
static int finish(int code) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    int error = errno;
    struct pollfd out = {.fd = STDOUT_FILENO}; /* no error now: an earlier write met it */
    if (error == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR))) return code;
    fprintf(stderr, "sgfs: writing the results failed: %s\n",
            error != 0 ? strerror(error) : "is the disk full?");
    return code != 0 ? code : exit_code(SGFS_EIO);
}

/* A file that is opened while one of the first three descriptors is closed would get its number,
 * and every message would go into it. So they are taken, each in a way that its use still fails. */
static void take_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1) continue;
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", mode) != fd && open("/", O_RDONLY) != fd) _exit(-(int)SGFS_EIO);
    }
}

/* Where memory is limited, a thread of OpenBLAS may still be trying to get some: the end of the
 * process would wait for it. */
static bool is_limited(void) {
    struct rlimit space, data;
    return (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

static int follow(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* the write says it: a limit on the size of files is a full disk */
    if (argc < 2) return cli_overview(), exit_code(SGFS_EUSAGE);
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) return printf("sgfs %s\n", sgfs_version()), finish(0);
    bool all = has_word(argc - 1, argv + 1, "--help-all");
    if (strcmp(name, "help") == 0 && argc > 2 && strcmp(argv[2], "--complete") == 0) {
        bool files = cli_complete(argc - 3, argv + 3);
        return finish(files ? 1 : 0);
    }
    if (strcmp(name, "help") == 0) {
        bool named = argc > 2 && strncmp(argv[2], "--", 2) != 0;
        return finish(help(named ? argv[2] : NULL, all, has_word(argc - 2, argv + 2, "--man")));
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return finish(help(NULL, false, false));
    const cli_command *command = cli_find_command(name);
    if (command == NULL) return unknown_command(name);
    bool asked = has_word(argc - 2, argv + 2, "--help") || has_word(argc - 2, argv + 2, "-h");
    if (asked || all) return finish(help(name, all, false));
    return finish(run(command, argc - 2, argv + 2));
}

/* Has the user said how OpenMP's threads are to wait? */
static bool waits_as_told(const char *name) {
    return strcmp(name, "GOMP_SPINCOUNT") == 0 && getenv("OMP_WAIT_POLICY") != NULL;
}

/* Libraries read from the environment, while they are loaded and before anything here, which
 * kernels suit the processor (OpenBLAS) and how long idle threads spin (libgomp): where that should
 * be otherwise, the program begins once more. A user who has set it knows better. */
static void suit_machine(char **argv) {
    const char *name, *value;
    char self[4096] = "";
    bool lacks = false, set[3] = {false};
    for (int64_t i = 0; i < 3 && sgfs_list("environment", i, &name, &value); i++) {
        /* what kernels there were belongs to the row before it: both or none */
        set[i] = i == 2 ? set[1] : getenv(name) == NULL && !waits_as_told(name);
        lacks |= set[i];
    }
    ssize_t length = lacks ? readlink("/proc/self/exe", self, sizeof self - 1) : 0;
    if (length <= 0 || strstr(self, "/ld-") != NULL) return; /* started through the loader */
    for (int64_t i = 0; i < 3 && sgfs_list("environment", i, &name, &value); i++)
        if (set[i] && setenv(name, value, 1) != 0) {
            fprintf(stderr, "sgfs: out of memory\n");
            exit(1);
        }
    (void)execv("/proc/self/exe", argv);
}

/* Commands do arithmetic; help, versions and completions are there at once. */
static bool is_command(int argc, char **argv) {
    return argc > 1 && cli_find_command(argv[1]) != NULL;
}

int main(int argc, char **argv) {
    take_descriptors();
    if (is_command(argc, argv)) suit_machine(argv);
    cli_guard_terminal();
    int code = follow(argc, argv);
    if (is_limited() && !together) _exit(code);
    return code;
}
