/* SPDX-License-Identifier: MIT
 * signals.c: Ctrl-C and SIGTERM. The first one asks the work at hand to stop and keep what it has;
 * the second leaves at once. And SIGBUS: a mapped file cannot be read any more, which a program
 * learns in no other way.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void *volatile working = NULL;
static void (*volatile ask)(void *work) = NULL;
static volatile sig_atomic_t interrupts = 0;

static void on_signal(int number) {
    (void)number;
    if (interrupts++ > 0) _exit(130);
    if (working != NULL) ask(working);
}

void cli_on_interrupt(void (*stop)(void *work), void *work) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    ask = stop;
    working = work;
    if (work == NULL) return;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- files that cannot be read any more ------------------------------------------------------ */

static char kept[512]; /* the sentence about the run at hand */

static void say(const char *text) {
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* Only what is safe in a handler. The run file has every block that was finished. */
static void on_bus_error(int number) {
    (void)number;
    say("\nsgfs: a data file could not be read any more: it became shorter while it was in use, or "
        "the disk failed.");
    say(kept);
    say("\n");
    _exit(-(int)SGFS_EIO);
}

void cli_on_lost_file(const char *run) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_bus_error;
    sigemptyset(&action.sa_mask);
    kept[0] = '\0';
    if (run != NULL)
        snprintf(kept, sizeof kept, " Draws written so far are kept in %.400s (`sgfs summary`).",
                 run);
    sigaction(SIGBUS, &action, NULL);
}
