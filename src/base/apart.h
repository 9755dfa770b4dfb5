/* SPDX-License-Identifier: MIT
 * apart.h: work that may end the process it runs in, done in a process of its own.
 *
 * Some libraries crash, or call exit, when an allocation fails. What they make is made in a child
 * process and copied from there, so that whatever becomes of the child is an error value here.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* What `make` made: bytes that stay until its process ends, or a code that is not 0. */
typedef struct sgfsi_made {
    const void *bytes;
    size_t size;
    int code; /* 1 to 1000 */
} sgfsi_made;

/* Run make(work) in a child process and print what it made to f; errors of f stay in f. 0, its
 * code, -1: the child ended before it was done, or -errno: there was none. make must neither write
 * to files nor start threads. */
int sgfsi_apart(sgfsi_made (*make)(void *work), void *work, FILE *f);
