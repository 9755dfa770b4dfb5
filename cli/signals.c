/* SPDX-License-Identifier: MIT
 * signals.c: Ctrl-C and SIGTERM. The first one asks the work at hand to stop and keep what it has;
 * the second leaves at once.
 */
#include <signal.h>
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
