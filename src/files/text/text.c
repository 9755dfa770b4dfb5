/* SPDX-License-Identifier: MIT
 * text.c: a text file in blocks, through two buffers.
 *
 *     buffer: [taken ....... at ....... rest ... stop]     worked on
 *     other:  [copy of rest ... stop | next block    ]     read at the same time
 *
 * `rest` is the start of a record whose end is not in the block. Only when that record fills a
 * buffer is there need for a larger one; past SGFSI_LONGEST the caller gives up, so a buffer never
 * holds more than that or one block.
 */
#include "files/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a buffer that starts with `kept`: a block, or twice as many as are there already. */
static size_t enough(size_t block, size_t kept) {
    size_t most = block > SGFSI_LONGEST ? block : SGFSI_LONGEST, room = block;
    while (room < 2 * kept) room *= 2;
    return room > most && kept < most ? most : room;
}

void sgfsi_text_ahead(sgfsi_text *t, const char *rest) {
    size_t kept = (size_t)(t->stop - rest), room = enough(t->block, kept), got = 0;
    t->ahead.done = true;
    if (t->other_room < room) {
        free(t->other);
        t->other = malloc(room);
        t->other_room = t->other != NULL ? room : 0;
        t->ahead.status = SGFS_ENOMEM;
        if (t->other == NULL) {
            sgfsi_fail_memory(&t->ahead.err, "a block of text");
            return;
        }
    }
    if (kept > 0) memcpy(t->other, rest, kept);
    t->ahead.status = sgfsi_bytes_read(t->bytes, t->other + kept, room - kept, &got, &t->ahead.err);
    t->ahead.bytes = kept + got;
    t->ahead.ended = got < room - kept;
}

sgfs_status sgfsi_text_turn(sgfsi_text *text, sgfs_err *err) {
    if (!text->ahead.done) sgfsi_text_ahead(text, text->at);
    text->ahead.done = false;
    if (text->ahead.status != SGFS_OK) {
        if (err != NULL) *err = text->ahead.err;
        return text->ahead.status;
    }
    char *buffer = text->other;
    size_t room = text->other_room;
    text->other = text->buffer;
    text->other_room = text->room;
    text->buffer = text->at = buffer;
    text->room = room;
    text->stop = buffer + text->ahead.bytes;
    text->ended = text->ahead.ended;
    return SGFS_OK;
}

sgfs_status sgfsi_text_open(sgfsi_text *text, const char *path, size_t block, sgfs_err *err) {
    memset(text, 0, sizeof *text);
    text->path = path;
    text->block = block;
    text->line = 1;
    sgfs_status status = sgfsi_bytes_open(&text->bytes, path, err);
    if (status == SGFS_OK) status = sgfsi_text_turn(text, err);
    if (status != SGFS_OK) {
        sgfsi_text_close(text);
        return status;
    }
    if (text->stop - text->at >= 3 && memcmp(text->at, "\xEF\xBB\xBF", 3) == 0) text->at += 3;
    return SGFS_OK;
}

void sgfsi_text_close(sgfsi_text *text) {
    sgfsi_bytes_close(text->bytes);
    free(text->buffer);
    free(text->other);
    memset(text, 0, sizeof *text);
}
