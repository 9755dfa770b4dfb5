/* SPDX-License-Identifier: MIT
 * cli.h: the command line program, over sgfs.h only. A subcommand is one file and one row in
 * main.c.
 */
#pragma once

#include <stdio.h>

#include "sgfs.h"

/* A flag of a command's own (the library's options come by themselves). */
typedef struct cli_flag {
    const char *name;  /* "data" */
    const char *value; /* "FILE"; NULL: a switch */
    const char *help;
} cli_flag;

/* One name of --data. */
typedef struct cli_data {
    const char *name;
    bool behind; /* a word behind the value of --data, not the value itself */
} cli_data;

typedef enum cli_origin { CLI_DEFAULT, CLI_FILE, CLI_FLAG } cli_origin;

enum { CLI_FLAGS = 32 }; /* that a command has of its own, at most */

typedef struct cli_args {
    sgfs_config *cfg;
    int words;
    const char *word[1024]; /* positional arguments */
    const char *given[CLI_FLAGS]; /* by position in the command's flags; NULL: not given */
    int manys;
    const char *many[16]; /* all values of the flag that the command lets repeat */
    bool quiet, json, verbose;
    int64_t rank, ranks;     /* of several processes (--mpi): which one, of how many; else 0 of 1 */
    const char *config;      /* the file of --config, or NULL */
    char config_sampler[64]; /* the sampler it names, or "" */
    char origin[512];        /* by option: who set it last, a cli_origin */
    int datas;
    cli_data *data;     /* all names of --data; malloc'ed */
    char *lines;        /* the same as one text, one name a line; malloc'ed */
    char *command;      /* that goes on with what was interrupted, to paste; malloc'ed; or NULL */
    bool with_old_data; /* ... when they are back: now it would be refused */
} cli_args;

typedef struct cli_command {
    const char *name, *brief, *usage, *examples;
    const char *stages;    /* stages whose options apply: "run data model"; "" none */
    const cli_flag *flags; /* ends with a NULL name */
    const char *usual;     /* options that people need, "Title: flag flag\n..."; NULL: all */
    int words;             /* MODEL, RUN: words of its own, where it takes --data too */
    const char *repeats;   /* the one of them that may be given several times, or NULL */
    sgfs_status (*run)(cli_args *args, sgfs_err *err);
} cli_command;

extern const cli_command cmd_sample, cmd_optimize, cmd_tune, cmd_summary, cmd_compare, cmd_export,
    cmd_predict, cmd_simulate, cmd_pack, cmd_sketch, cmd_check_grad, cmd_audit, cmd_list,
    cmd_report, cmd_plot;
extern const cli_command *const cli_commands[];        /* NULL-terminated */
const cli_command *cli_find_command(const char *name); /* NULL: there is none */

/* Options of other stages that make sense for a command as well, under a flag of its own: pairs of
 * flag and key, which end with NULL. */
typedef const char *const cli_borrowed[2];
sgfs_status cli_borrow(const cli_command *command, const cli_args *args, cli_borrowed *borrowed,
                       sgfs_err *err);

/* args.c: fill args from the words after the subcommand. */
sgfs_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *args,
                      sgfs_err *err);
const char *cli_given(const cli_command *command, const cli_args *args, const char *flag);
sgfs_status cli_fail(sgfs_err *err, sgfs_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool cli_is_model(const char *word); /* one of the library's own */
/* One positional argument, and it is a model. */
sgfs_status cli_check_model(const cli_command *command, const cli_args *args, sgfs_err *err);
/* What files made with it are called after: a model in a file without folder and ending. */
void cli_short_model(const char *model, char *out, size_t room);
/* output.c. Do two paths name the same existing file, whatever links lead there? b may also be
 * several, one a line, or patterns. */
bool cli_same_file(const char *a, const char *b);
/* Can the output be at `out` (NULL: there is none), and is something there already? An input of the
 * same command is never replaced. */
sgfs_status cli_check_place(const cli_command *command, const cli_args *args, const char *out,
                            bool *there, sgfs_err *err);
/* The same; what is there is refused without --overwrite. */
sgfs_status cli_check_out(const cli_command *command, const cli_args *args, const char *out,
                          sgfs_err *err);
/* STEM.run (or another ending), or the first of STEM-2.run, STEM-3.run, ... that does not exist
 * yet; with --overwrite the first of all. */
const char *cli_free_name(const cli_args *args, const char *stem, const char *ending,
                          char out[256]);
/* The rows of --data; an output that cannot be (out, may be NULL) is refused before they are
 * read. */
sgfs_data *cli_open_data(const cli_command *command, const cli_args *args, const char *out,
                         sgfs_err *err);
/* Does the option's stage belong to the command? */
bool cli_applies(const cli_command *command, const sgfs_option_info *option);
bool cli_takes_config(
    const cli_command *command); /* --config FILE: it has options of the library */

/* data.c: names behind --data. A value of the flag; a word behind it; in the end all of them, as
 * one text in *value (left alone where there are none). */
sgfs_status cli_data_value(cli_args *args, const char *value, sgfs_err *err);
sgfs_status cli_data_word(cli_args *args, const char *word, sgfs_err *err);
sgfs_status cli_data_settle(const cli_command *command, cli_args *args, const char **value,
                            sgfs_err *err);
void cli_data_free(cli_args *args);
/* The words of a command that are names of files, as one text; the caller frees. */
char *cli_join_words(const cli_args *args);
/* For people: "a.csv and 2 more". */
void cli_data_show(const char *lines, char *out, size_t room);
#define CLI_DATA_HELP                                                                              \
    "the rows: .csv, libsvm, IDX (each also .gz), .npy or .sgd; several files,\n"                  \
    "                               a pattern in quotes ('part-*.csv'), - for standard input"

/* terminal.c: from now on what is printed holds no control characters. */
void cli_guard_terminal(void);
/* To stderr, in place of the line that stands there; cut off where the terminal ends. */
void cli_print_over(const char *line);
int cli_terminal_width(int fd); /* 80 where it is no terminal */
/* A sentence and a line end; in a terminal with line ends between words, so that it fits. */
void cli_print_wrapped(FILE *to, const char *before, const char *text);

/* signals.c: from now on signals are heard (see its head). */
void cli_listen(const char *command);
/* Asked to stop, call stop(work), which must be safe in a signal handler; work NULL: there is
 * nothing to keep, and the program leaves at once. */
void cli_on_interrupt(void (*stop)(void *work), void *work);
/* Whoever leaves in the middle says that draws are kept in this run file. */
void cli_on_lost_file(const char *run, const char *command);
/* Leave when so many seconds are over, by and large, whatever is being done; NAN: no limit. */
void cli_limit_time(double seconds);
void cli_say_progress(const char *text); /* for whoever asks by SIGUSR1 */
/* From now on only a file that cannot be read is spoken of here: another process says the rest. */
void cli_be_silent(void);
/* The others are told why this process fails; where they do not come to hear it, it says so itself
 * after some seconds, and leaves. NULL: they came. */
void cli_say_late(sgfs_status status, const char *text);
/* Requests to stop are no longer heard: all is done but the last words. */
void cli_be_deaf(void);

/* help.c */
void cli_help(const cli_command *command, bool all); /* all: every option, not the usual */
void cli_overview(void);
#define CLI_EXIT_CODES                                                                             \
    "0 ok, 1 internal error or out of memory, 2 wrong usage, 3 bad data or model, 4 numerical "    \
    "failure, 5 input/output, 6 invalid run file, 7 draws not to be trusted (kept; of sample "     \
    "only), 75 stopped early (draws kept)."
/* Whoever shows the flags of a command: its own, those of every command, then the library's options
 * in sections. */
typedef struct cli_sheet {
    void (*section)(const char *title);
    void (*flag)(const cli_flag *flag, void *user);
    void *user;
} cli_sheet;
void cli_each_flag(const cli_command *command, bool all, const cli_sheet *sheet);

/* man.c: the page of a command for man, or that of the program (NULL). */
void cli_man(const cli_command *command);

/* complete.c: what the last of these words could become, a line each: the word, a tab and its
 * meaning. The first word is the command. True: or the name of a file. */
bool cli_complete(int words, char **word);

/* cmd_summary.c: what the draws in a run file say, as a table or JSON. */
sgfs_status cli_show_run(const cli_command *command, const cli_args *args, const char *path,
                         sgfs_err *err);

#define CLI_WIDE_HELP                                                                              \
    "every column of the table and whole names, also where the terminal is too narrow"

/* print.c */
/* How a summary is shown: at most `most` rows; run: the file, for commands to paste. */
typedef struct cli_display {
    int64_t most;
    bool titled;        /* with the line that says what was run, and warnings */
    bool by_effect;     /* largest effects first, where not all are shown */
    bool wide, verbose; /* wide: every column, whatever the terminal has room for */
    const char *run;
} cli_display;
void cli_print_summary(const sgfs_summary *s, const cli_display *how);
void cli_print_quoted(const char *text); /* to stdout, as JSON */
/* table.c */
void cli_print_table(const sgfs_summary *s, const cli_display *how);
void cli_print_csv(const sgfs_summary *s);
void cli_print_num(double x, int width, int digits); /* a blank, and the number or "-" */
/* The first column of a table, of n rows of `size` bytes that begin with their names. */
int cli_name_width(int64_t n, const void *rows, size_t size, int rest);
void cli_print_name(const char *name, int width); /* to stdout, in one line; width 0: all of it */
/* print.c */
void cli_print_warnings(const sgfs_summary *s, FILE *to);
void cli_print_compare(const sgfs_compare *c);
void cli_print_mode(const sgfs_mode *m);
void cli_print_check_grad(const sgfs_check_grad *c);
void cli_print_audit(const sgfs_audit_report *r);
void cli_message(sgfs_level level, const char *text, void *user); /* notes and warnings to stderr */
double cli_now(void);                                             /* seconds of a monotonic clock */
bool cli_is_terminal(void); /* can the progress line be drawn over itself? */
/* From now on progress is shown from the second *due on (INFINITY: never), and Ctrl-C stops the
 * work; NULL: no longer. */
void cli_watch(sgfs_config *cfg, double *due);
void cli_progress_end(void); /* leave the line */
/* All of a job that can be stopped, with progress; job NULL: err says why there is none. */
sgfs_status cli_run_job(sgfs_job *job, const cli_args *args, sgfs_err *err);
sgfs_status cli_print_json(const sgfs_job *job, sgfs_err *err); /* its result, to stdout */
