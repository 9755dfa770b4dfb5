/* SPDX-License-Identifier: MIT
 * signals.c: what arrives from outside, heard at once whatever the program is doing.
 *
 * Ctrl-C, SIGTERM and SIGHUP ask the work at hand to stop and keep what it has; the second one
 * leaves at once. Work that does not come to an end within a second (an iteration may take an hour)
 * is left where it is, and so is everything before it, such as reading data or the search for a
 * mode: files are made in such a way that this loses what was not written, and nothing else. The
 * limit of --max-time is heard in the same way. SIGUSR1 shows how far the work is. SIGBUS says that
 * a mapped file cannot be read any more, which a program learns in no other way.
 *
 * Handlers only write sentences that were made before, and leave.
 */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

static const double patience = 0.8; /* seconds for work to come to an end by itself */

static void *volatile working = NULL;
static void (*volatile ask)(void *work) = NULL;
static volatile sig_atomic_t interrupts = 0, late = 0;
static const double company = 10; /* seconds for other processes to hear why this one fails */
static bool silent = false;
static sgfs_status final_status = SGFS_OK; /* and why, while they have not heard it */
static char final_words[600];

/* ---- sentences ------------------------------------------------------------------------------- */

static char begun[64]; /* "sgfs sample: " */
static char kept[1600] = " Nothing is kept; the same command begins anew.";
static char line[2][512]; /* how far the work is; one of them is shown while the other is made */
static _Atomic int shown = 0;
static bool terminal = false;

static void say(const char *text) {
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void leave(sgfs_status status, const char *why) {
    if (silent && status != SGFS_EIO) _exit(-(int)status);
    if (terminal) say("\n"); /* a line of progress may stand there */
    say(begun);
    say(why);
    say(kept);
    say("\n");
    _exit(-(int)status);
}

void cli_on_lost_file(const char *run, const char *command) {
    snprintf(kept, sizeof kept,
             " Draws written so far are kept in %.400s (`sgfs summary`). To go on: %.1000s", run,
             command);
    sgfsi_printable(kept);
}

void cli_say_progress(const char *text) {
    int next = 1 - atomic_load(&shown);
    snprintf(line[next], sizeof line[next], "%s", text);
    sgfsi_printable(line[next]);
    atomic_store(&shown, next);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static void wait_for(double seconds) {
    struct itimerval timer = {.it_value = {(time_t)seconds, 0}};
    timer.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - (double)timer.it_value.tv_sec));
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_stop(int number) {
    (void)number;
    if (interrupts++ > 0) _exit(130);
    if (working == NULL) leave(SGFS_ESTOPPED, "Stopped on request.");
    ask(working);
    wait_for(patience);
}

/* Time is up: what can stop is asked to, and what cannot is left where it is. */
static void on_time(int number) {
    (void)number;
    if (final_status != SGFS_OK) {
        say(begun);
        say(final_words);
        say("\n");
        _exit(final_status == SGFS_ENOMEM ? 1 : -(int)final_status);
    }
    if (late++ > 0 || interrupts > 0)
        leave(SGFS_ESTOPPED, interrupts > 0 ? "Stopped on request, in the middle of the work."
                                            : "Stopped by --max-time, in the middle of the work.");
    if (working != NULL) ask(working);
    wait_for(patience);
}

static void on_question(int number) {
    (void)number;
    if (silent) return;
    say(begun);
    say(line[atomic_load(&shown)]);
    say("\n");
}

static void on_bus_error(int number) {
    (void)number;
    leave(SGFS_EIO, "a data file could not be read any more: it became shorter while it was in "
                    "use, or the disk failed. It has to be as it was before the run goes on.");
}

/* What the caller of the program ignores (nohup) stays ignored. */
static void listen_to(int number, void (*handler)(int number)) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    sigaction(number, &action, NULL);
}

void cli_listen(const char *command) {
    snprintf(begun, sizeof begun, "sgfs %.40s: ", command);
    cli_say_progress("opening; how long this will take is not known yet");
    terminal = cli_is_terminal();
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    signal(SIGALRM, SIG_DFL); /* it is our own, whatever the caller thinks of it */
    listen_to(SIGINT, on_stop);
    listen_to(SIGTERM, on_stop);
    listen_to(SIGHUP, on_stop);
    listen_to(SIGALRM, on_time);
    listen_to(SIGUSR1, on_question);
    listen_to(SIGBUS, on_bus_error);
}

void cli_on_interrupt(void (*stop)(void *work), void *work) {
    ask = stop;
    working = work;
    if (work == NULL) cli_limit_time(NAN);
    else if (late > 0) ask(work);
}

void cli_limit_time(double seconds) {
    wait_for(seconds >= 0 && seconds < 1e8 ? fmax(seconds, 1e-6) : 0);
}

void cli_be_silent(void) {
    silent = true;
}

void cli_say_late(sgfs_status status, const char *text) {
    wait_for(0);
    final_status = SGFS_OK;
    if (text == NULL) return;
    snprintf(final_words, sizeof final_words, "%s", text);
    sgfsi_printable(final_words);
    final_status = status;
    wait_for(company);
}

void cli_be_deaf(void) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}
