/* SPDX-License-Identifier: MIT
 * printable.h: text that may come from anywhere, made fit for a terminal.
 */
#ifndef SGFSI_PRINTABLE_H
#define SGFSI_PRINTABLE_H

#include <stddef.h>

/* Bytes of the UTF-8 character at s, which is zero-terminated; 0 where there is none, or one that
 * prints nothing: a control character, C0 or C1 (U+0080 to U+009F). */
size_t sgfsi_printable_character(const unsigned char *s);
/* Whatever is no such character becomes a question mark. */
void sgfsi_printable(char *text);

#endif
