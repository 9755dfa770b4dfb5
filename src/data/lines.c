/* SPDX-License-Identifier: MIT
 * lines.c: a text file cut into records and records into cells.
 *
 * The file passes through one block. When the block ends inside a record, the rest of that record
 * moves to the front and the block is filled up behind it; a record longer than the block doubles
 * it, up to 64 MiB, past which the file is not a table of ours (and a stray quote is the usual
 * reason).
 *
 * Most files hold no quotes at all. `quote` remembers how far none was seen, so a record without
 * one is found by a single memchr for its line end. A quote counts only where a cell starts: 5" is
 * plain text.
 *
 * Refused here, since no later stage could make sense of it: UTF-16, NUL bytes, bare CR line ends,
 * unclosed quotes. A UTF-8 byte order mark and CRLF are taken silently. Blank lines are skipped.
 */
#include "data/lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = SGFSI_BLOCK_BYTES, LONGEST = 64 * BLOCK };

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* A blank that may stand around a cell: a tab is none where it separates cells. */
static bool is_padding(char delimiter, char c) {
    return c == ' ' || (c == '\t' && delimiter != '\t');
}

static bool is_delimiter(char delimiter, char c) {
    return c == delimiter || (delimiter == ' ' && c == '\t');
}

/* ---- the block ------------------------------------------------------------------------------- */

static int64_t count_lines(const char *s, const char *end) {
    int64_t n = 0;
    while (s < end && (s = memchr(s, '\n', (size_t)(end - s))) != NULL) n++, s++;
    return n;
}

static sgfs_status check_nul(const sgfsi_lines *l, const char *from, sgfs_err *err) {
    const char *nul = memchr(from, '\0', (size_t)(l->stop - from));
    if (nul == NULL) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s:%lld: a NUL byte stands here, so this is not a text file; save the data as "
        "CSV in UTF-8 or as .npy.",
        l->path, (long long)(l->line + count_lines(l->at, nul)));
}

/* Keep what is not taken yet and read more behind it. */
static sgfs_status fill(sgfsi_lines *l, sgfs_err *err) {
    size_t kept = (size_t)(l->stop - l->at);
    assert(l->room > 0);
    if (kept > 0 && l->at != l->text) memmove(l->text, l->at, kept);
    l->at = l->text;
    l->stop = l->text + kept;
    l->quote = l->text;
    if (kept == l->room) {
        char *bigger = realloc(l->text, l->room * 2);
        if (bigger == NULL) return sgfsi_fail_memory(err, "a long line");
        l->text = l->at = bigger;
        l->quote = bigger;
        l->stop = bigger + kept;
        l->room *= 2;
    }
    size_t got = 0, wanted = l->room - kept;
    sgfs_status status = sgfsi_bytes_read(l->bytes, l->stop, wanted, &got, err);
    if (status != SGFS_OK) return status;
    const char *fresh = l->stop;
    l->stop += got;
    l->ended = got < wanted;
    return check_nul(l, fresh, err);
}

static sgfs_status check_start(sgfsi_lines *l, sgfs_err *err) {
    size_t n = (size_t)(l->stop - l->at);
    const unsigned char *b = (const unsigned char *)l->at;
    if (n >= 3 && memcmp(b, "\xEF\xBB\xBF", 3) == 0) l->at += 3;
    const char *cr = memchr(l->at, '\r', (size_t)(l->stop - l->at));
    if (cr != NULL && cr + 1 < l->stop && memchr(l->at, '\n', (size_t)(l->stop - l->at)) == NULL) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the lines end with CR alone, as on old Macs; convert them first, for "
            "example with tr '\\r' '\\n'.",
            l->path);
    }
    return SGFS_OK;
}

/* UTF-16 is full of NULs: it is named before those are complained about. */
static sgfs_status check_encoding(const char *path, sgfs_err *err) {
    sgfsi_bytes *bytes;
    unsigned char head[2] = {0, 0};
    size_t got = 0;
    sgfs_status status = sgfsi_bytes_open(&bytes, path, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_bytes_read(bytes, head, sizeof head, &got, err);
    sgfsi_bytes_close(bytes);
    if (status != SGFS_OK) return status;
    if (got == 2 && (memcmp(head, "\xFF\xFE", 2) == 0 || memcmp(head, "\xFE\xFF", 2) == 0)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is UTF-16 text; save it as UTF-8, for example with "
                          "iconv -f UTF-16 -t UTF-8.",
                          path);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_lines_open(sgfsi_lines *lines, const char *path, sgfs_err *err) {
    memset(lines, 0, sizeof *lines);
    lines->path = path;
    lines->delimiter = ',';
    lines->line = 1;
    lines->room = BLOCK;
    sgfs_status status = check_encoding(path, err);
    if (status == SGFS_OK) status = sgfsi_bytes_open(&lines->bytes, path, err);
    if (status != SGFS_OK) return status;
    lines->text = lines->at = lines->stop = malloc(BLOCK);
    if (lines->text == NULL) status = sgfsi_fail_memory(err, "a block of text");
    if (status == SGFS_OK) status = fill(lines, err);
    if (status == SGFS_OK) status = check_start(lines, err);
    if (status != SGFS_OK) sgfsi_lines_close(lines);
    return status;
}

void sgfsi_lines_close(sgfsi_lines *lines) {
    sgfsi_bytes_close(lines->bytes);
    free(lines->text);
    memset(lines, 0, sizeof *lines);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Past the closing quote of the cell whose opening quote is at s; NULL when there is none. */
static const char *close_quote(const char *s, const char *end) {
    for (s++; s < end; s += 2) {
        s = memchr(s, '"', (size_t)(end - s));
        if (s == NULL) return NULL;
        if (s + 1 == end || s[1] != '"') return s + 1;
    }
    return NULL;
}

/* The line end that closes the record at s, minding quotes; NULL when it is not in the block.
 * *open is then the quote that was not closed, if that is the reason. */
static const char *quoted_record_end(char delimiter, const char *s, const char *end,
                                     const char **open) {
    *open = NULL;
    for (;;) {
        while (s < end && is_padding(delimiter, *s)) s++;
        if (s < end && *s == '"') {
            const char *after = close_quote(s, end);
            if (after == NULL) {
                *open = s;
                return NULL;
            }
            s = after;
        }
        while (s < end && *s != '\n' && !is_delimiter(delimiter, *s)) s++;
        if (s == end) return NULL;
        if (*s == '\n') return s;
        s++;
    }
}

/* As above; a record without quotes needs one memchr. */
static const char *record_end(sgfsi_lines *l, const char **open) {
    size_t left = (size_t)(l->stop - l->at);
    const char *line_end = memchr(l->at, '\n', left);
    const char *limit = line_end == NULL ? l->stop : line_end;
    *open = NULL;
    if (l->quote < l->at) l->quote = l->at;
    if (l->quote < limit) {
        const char *q = memchr(l->quote, '"', (size_t)(l->stop - l->quote));
        l->quote = q == NULL ? l->stop : q;
    }
    if (l->quote >= limit) return line_end;
    return quoted_record_end(l->delimiter, l->at, l->stop, open);
}

static sgfs_status fail_open_quote(const sgfsi_lines *l, const char *open, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: a quote is opened here and never closed.", l->path,
                      (long long)(l->line + count_lines(l->at, open)));
}

/* Take one record, blank or not; *begin is NULL at the end of the file. */
static sgfs_status take(sgfsi_lines *l, const char **begin, const char **end, sgfs_err *err) {
    const char *open, *stop;
    while ((stop = record_end(l, &open)) == NULL && !l->ended) {
        if (l->stop - l->at >= LONGEST) {
            if (open != NULL) return fail_open_quote(l, open, err);
            return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: this line is longer than 64 MiB.", l->path,
                              (long long)l->line);
        }
        sgfs_status status = fill(l, err);
        if (status != SGFS_OK) return status;
    }
    *begin = *end = NULL;
    if (stop == NULL && open != NULL) return fail_open_quote(l, open, err);
    if (stop == NULL && l->at == l->stop) return SGFS_OK;
    *begin = l->at;
    *end = stop == NULL ? l->stop : stop;
    l->record_line = l->line;
    l->at = stop == NULL ? l->stop : l->at + (stop - l->at) + 1;
    l->line += *end > l->quote ? 1 + count_lines(*begin, *end) : 1;
    if (*end > *begin && (*end)[-1] == '\r') (*end)--;
    return SGFS_OK;
}

/* In a tab-separated file a line of tabs is a row of empty cells, not a blank line. */
static bool is_blank_line(char delimiter, const char *s, const char *end) {
    while (s < end && is_padding(delimiter, *s)) s++;
    return s == end;
}

sgfs_status sgfsi_lines_next(sgfsi_lines *lines, const char **begin, const char **end,
                             sgfs_err *err) {
    sgfs_status status;
    do {
        status = take(lines, begin, end, err);
        if (status != SGFS_OK) return status;
    } while (*begin != NULL && is_blank_line(lines->delimiter, *begin, *end));
    if (lines->delimiter == ' ' && *begin != NULL) { /* blanks at both ends separate nothing */
        while (is_blank(**begin)) (*begin)++;
        while (is_blank((*end)[-1])) (*end)--;
    }
    return SGFS_OK;
}

/* ---- cells ----------------------------------------------------------------------------------- */

const char *sgfsi_cell_scan(char delimiter, const char *s, const char *end, sgfsi_cell *cell) {
    while (s < end && is_padding(delimiter, *s)) s++;
    cell->quoted = s < end && *s == '"';
    cell->begin = s;
    if (cell->quoted) {
        s = close_quote(s, end);
        if (s == NULL) return NULL; /* cannot be: the record was found by the same rule */
        cell->begin++;
        cell->end = s - 1;
        while (s < end && delimiter != ' ' && is_padding(delimiter, *s)) s++;
        return s == end || is_delimiter(delimiter, *s) ? s : NULL;
    }
    if (delimiter == ' ') {
        while (s < end && !is_blank(*s)) s++;
        cell->end = s;
        return s;
    }
    const char *stop = memchr(s, delimiter, (size_t)(end - s));
    if (stop == NULL) stop = end;
    cell->end = stop;
    while (cell->end > cell->begin && is_padding(delimiter, cell->end[-1])) cell->end--;
    return stop;
}

const char *sgfsi_cell_next(char delimiter, const char *stop, const char *end) {
    if (stop == end) return NULL;
    if (delimiter != ' ') return stop + 1;
    while (is_blank(*stop)) stop++; /* the record ends with something else */
    return stop;
}

int64_t sgfsi_cell_count(char delimiter, const char *s, const char *end) {
    int64_t n = 0;
    sgfsi_cell cell;
    for (; s != NULL; n++) {
        const char *stop = sgfsi_cell_scan(delimiter, s, end, &cell);
        if (stop == NULL) return n + 1;
        s = sgfsi_cell_next(delimiter, stop, end);
    }
    return n;
}

size_t sgfsi_cell_text(const sgfsi_cell *cell, char *out, size_t room) {
    size_t length = 0;
    for (const char *s = cell->begin; s < cell->end; s++) {
        if (length + 1 < room) out[length] = *s;
        length++;
        if (cell->quoted && *s == '"') s++;
    }
    if (room > 0) out[length + 1 < room ? length : room - 1] = '\0';
    return length;
}
