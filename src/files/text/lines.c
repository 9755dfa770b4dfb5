/* SPDX-License-Identifier: MIT
 * lines.c: text cut into records and records into cells.
 *
 * Most files hold no quotes at all. `quote` remembers how far none was seen, so a record without
 * one is found by a single memchr for its line end. A quote counts only where a cell starts: 5" is
 * plain text. That is why a record cannot be found from somewhere in the middle of text with
 * quotes: sgfsi_records_skip goes there record by record, and leaps where it sees no quote.
 *
 * A file passes through blocks (text.c). When one ends inside a record, the rest of that record is
 * the start of the next; a record longer than 64 MiB is refused, since the file is then not a table
 * of ours (and a stray quote is the usual reason).
 *
 * Refused here, since no later stage could make sense of it: UTF-16, NUL bytes, bare CR line ends,
 * unclosed quotes. A UTF-8 byte order mark and CRLF are taken silently. Blank lines are skipped.
 */
#include "files/text/lines.h"

#include <string.h>

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

int64_t sgfsi_count_lines(const char *s, const char *end) {
    int64_t n = 0;
    for (; s < end; s++) n += *s == '\n';
    return n;
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

/* Where the next '"' stands, or stop. */
static const char *next_quote(sgfsi_records *r) {
    if (r->quote < r->at) r->quote = r->at;
    if (r->quote < r->stop && *r->quote != '"') {
        const char *q = memchr(r->quote, '"', (size_t)(r->stop - r->quote));
        r->quote = q == NULL ? r->stop : q;
    }
    return r->quote;
}

/* As above; a record without quotes needs one memchr. */
static const char *record_end(sgfsi_records *r) {
    const char *line_end = memchr(r->at, '\n', (size_t)(r->stop - r->at));
    const char *limit = line_end == NULL ? r->stop : line_end;
    r->open = NULL;
    if (next_quote(r) >= limit) return line_end;
    return quoted_record_end(r->delimiter, r->at, r->stop, &r->open);
}

sgfsi_records sgfsi_records_of(char delimiter, const char *at, const char *stop, bool last) {
    return (sgfsi_records){
        .delimiter = delimiter, .last = last, .at = at, .stop = stop, .quote = at};
}

/* In a tab-separated file a line of tabs is a row of empty cells, not a blank line. */
bool sgfsi_records_next(sgfsi_records *r, const char **begin, const char **end) {
    const char *s;
    do {
        if (r->at == r->stop) return false;
        const char *stop = record_end(r);
        if (stop == NULL && (!r->last || r->open != NULL)) return false;
        *begin = r->at;
        *end = stop == NULL ? r->stop : stop;
        r->record_line = r->line;
        r->at = stop == NULL ? r->stop : stop + 1;
        r->line += *end > r->quote ? 1 + sgfsi_count_lines(*begin, *end) : 1;
        if (*end > *begin && (*end)[-1] == '\r') (*end)--;
        for (s = *begin; s < *end && is_padding(r->delimiter, *s);) s++;
    } while (s == *end);
    if (r->delimiter == ' ') { /* blanks at both ends separate nothing */
        while (is_blank(**begin)) (*begin)++;
        while (is_blank((*end)[-1])) (*end)--;
    }
    return true;
}

const char *sgfsi_records_skip(sgfsi_records *r, size_t bytes) {
    const char *begin = r->at;
    while (r->at < r->stop && (size_t)(r->at - begin) < bytes) {
        size_t left = bytes - (size_t)(r->at - begin);
        bool all = left >= (size_t)(r->stop - r->at);
        const char *from = all ? r->at : r->at + left - 1;
        const char *end = all ? NULL : memchr(from, '\n', (size_t)(r->stop - from));
        if (end == NULL) { /* the last line end there is */
            for (end = r->stop; end > r->at && end[-1] != '\n';) end--;
            end = end > r->at ? end - 1 : NULL;
        }
        r->open = NULL;
        if (end == NULL || next_quote(r) < end) end = record_end(r);
        if (end == NULL && (!r->last || r->open != NULL)) break;
        r->at = end == NULL ? r->stop : end + 1;
    }
    return r->at;
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

static bool is_utf8(const char *begin, const char *end) {
    for (const unsigned char *s = (const unsigned char *)begin, *e = (const unsigned char *)end;
         s < e;) {
        int n = s[0] < 0x80   ? 1
                : s[0] < 0xC2 ? 0
                : s[0] < 0xE0 ? 2
                : s[0] < 0xF0 ? 3
                : s[0] < 0xF5 ? 4
                              : 0;
        if (n == 0 || e - s < n) return false;
        for (int i = 1; i < n; i++)
            if ((s[i] & 0xC0) != 0x80) return false;
        bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
        bool beyond = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
        if (overlong || beyond) return false;
        s += n;
    }
    return true;
}

size_t sgfsi_cell_text(const sgfsi_cell *cell, char *out, size_t room) {
    size_t length = 0;
    bool latin1 = !is_utf8(cell->begin, cell->end);
    for (const char *s = cell->begin; s < cell->end; s++) {
        unsigned char b = (unsigned char)*s;
        bool two = latin1 && b >= 0x80;
        if (two && length + 1 < room) out[length] = (char)(0xC0 | (b >> 6));
        length += two;
        if (length + 1 < room) out[length] = two ? (char)(0x80 | (b & 0x3F)) : *s;
        length++;
        if (cell->quoted && *s == '"') s++;
    }
    if (room > 0) out[length + 1 < room ? length : room - 1] = '\0';
    return length;
}

void sgfsi_cell_show(const sgfsi_cell *cell, char out[SGFSI_SHOWN_ROOM]) {
    size_t length = sgfsi_cell_text(cell, out, SGFSI_SHOWN_CHARS + 1);
    for (char *s = out; *s != '\0'; s++) {
        if ((unsigned char)*s < 32 || *s == 127) *s = ' ';
    }
    if (length <= SGFSI_SHOWN_CHARS) return;
    size_t cut = SGFSI_SHOWN_CHARS;
    while (cut > 0 && ((unsigned char)out[cut - 1] & 0xC0) == 0x80) cut--; /* tail bytes */
    if (cut > 0 && (unsigned char)out[cut - 1] >= 0xC0) cut--;             /* and their lead */
    memcpy(out + cut, "...", 4);
}

/* ---- files ----------------------------------------------------------------------------------- */

sgfs_status sgfsi_fail_nul(const char *path, int64_t line, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s:%lld: a NUL byte stands here, so this is not a text file; save the data as "
        "CSV in UTF-8 or as .npy.",
        path, (long long)line);
}

sgfs_status sgfsi_text_more(sgfsi_text *text, const sgfsi_records *records, sgfs_err *err) {
    bool too_long = text->stop - text->at >= SGFSI_LONGEST;
    if (records != NULL && records->open != NULL && (too_long || text->ended)) {
        int64_t above = sgfsi_count_lines(text->at, records->open);
        return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: a quote is opened here and never closed.",
                          text->path, (long long)(text->line + above));
    }
    if (too_long)
        return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: this line is longer than 64 MiB.", text->path,
                          (long long)text->line);
    return sgfsi_text_turn(text, err);
}

sgfs_status sgfsi_text_check_nul(const sgfsi_text *t, sgfs_err *err) {
    const char *nul = memchr(t->at, '\0', (size_t)(t->stop - t->at));
    return nul == NULL ? SGFS_OK
                       : sgfsi_fail_nul(t->path, t->line + sgfsi_count_lines(t->at, nul), err);
}

/* UTF-16 is full of NULs: it is named before those are complained about. */
static sgfs_status check_text(const sgfsi_text *t, sgfs_err *err) {
    size_t n = (size_t)(t->stop - t->at);
    if (n >= 2 && (memcmp(t->at, "\xFF\xFE", 2) == 0 || memcmp(t->at, "\xFE\xFF", 2) == 0)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is UTF-16 text; save it as UTF-8, for example with "
                          "iconv -f UTF-16 -t UTF-8.",
                          t->path);
    }
    sgfs_status status = sgfsi_text_check_nul(t, err);
    const char *cr = memchr(t->at, '\r', n);
    bool bare = cr != NULL && cr + 1 != t->stop && memchr(t->at, '\n', n) == NULL;
    if (status != SGFS_OK || !bare) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: the lines end with CR alone, as on old Macs; convert them first, for "
                      "example with tr '\\r' '\\n'.",
                      t->path);
}

sgfs_status sgfsi_lines_open(sgfsi_lines *lines, const char *path, sgfs_err *err) {
    memset(lines, 0, sizeof *lines);
    lines->delimiter = ',';
    sgfs_status status = sgfsi_text_open(&lines->text, path, SGFSI_BLOCK_BYTES, err);
    if (status == SGFS_OK) status = check_text(&lines->text, err);
    if (status != SGFS_OK) sgfsi_lines_close(lines);
    lines->quote = lines->text.at;
    return status;
}

void sgfsi_lines_close(sgfsi_lines *lines) {
    sgfsi_text_close(&lines->text);
    memset(lines, 0, sizeof *lines);
}

sgfs_status sgfsi_lines_next(sgfsi_lines *lines, const char **begin, const char **end,
                             sgfs_err *err) {
    sgfsi_text *text = &lines->text;
    for (;;) {
        sgfsi_records r = sgfsi_records_of(lines->delimiter, text->at, text->stop, text->ended);
        if (lines->quote > r.quote) r.quote = lines->quote;
        bool found = sgfsi_records_next(&r, begin, end);
        lines->record_line = text->line + r.record_line;
        lines->quote = r.quote;
        text->at += r.at - text->at;
        text->line += r.line;
        if (found) return SGFS_OK;
        if (text->ended && r.open == NULL) {
            *begin = *end = NULL;
            return SGFS_OK;
        }
        sgfs_status status = sgfsi_text_more(text, &r, err);
        if (status == SGFS_OK) status = sgfsi_text_check_nul(text, err);
        if (status != SGFS_OK) return status;
        lines->quote = text->at;
    }
}
