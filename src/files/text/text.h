/* SPDX-License-Identifier: MIT
 * text.h: a text file in blocks of bytes, the next of which may be read while one is worked on.
 */
#pragma once

#include "base/bytes.h"

/* Characters of a cell in a sentence, and the room that they need. */
enum { SGFSI_SHOWN_CHARS = 40, SGFSI_SHOWN_ROOM = SGFSI_SHOWN_CHARS + 8 };
enum { SGFSI_LONGEST = 64 * SGFSI_BLOCK_BYTES }; /* bytes of a record */

typedef struct sgfsi_text {
    const char *path;
    sgfsi_bytes *bytes;
    size_t block;            /* bytes read at a time */
    char *at, *stop;         /* the text at hand that is not taken yet; move `at` to take some */
    int64_t line;            /* number of the line at `at`, from 1; the taker counts on */
    bool ended;              /* the file has no bytes after stop */
    char *buffer, *other;    /* at and stop point into buffer; other is read into */
    size_t room, other_room; /* bytes */
    struct {                 /* what has been read ahead, in other */
        bool done, ended;
        size_t bytes;
        sgfs_status status;
        sgfs_err err;
    } ahead;
} sgfsi_text;

/* The first block is at hand, without a byte order mark. path is borrowed. */
sgfs_status sgfsi_text_open(sgfsi_text *text, const char *path, size_t block, sgfs_err *err);
/* Read the block that follows, behind a copy of what is at hand from `rest` on. Touches neither the
 * text at hand nor anything a reader of it looks at, and fails in silence: turn will say. */
void sgfsi_text_ahead(sgfsi_text *text, const char *rest);
/* What was read ahead is at hand; without a call of ahead: what is left from `at` on, and more. */
sgfs_status sgfsi_text_turn(sgfsi_text *text, sgfs_err *err);
void sgfsi_text_close(sgfsi_text *text); /* safe on a zeroed value */
