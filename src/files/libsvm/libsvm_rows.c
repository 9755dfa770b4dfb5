/* SPDX-License-Identifier: MIT
 * libsvm_rows.c: one line of libsvm text after another.
 *
 *     label [qid:number] index:value index:value ... [# comment]
 *
 * Indices increase within a line, from 1 (--zero-based: 0); what is not listed is 0. An index is
 * compared with the columns there may be before it is used for anything, so that a file cannot ask
 * for memory by naming a large one. Zeros that are listed all the same are checked and dropped.
 *
 * Whatever is not exactly this is refused with line and column: a libsvm file is written by
 * programs, and one that differs is damaged or something else. Two things of svmlight are
 * understood: comments, and qid (which is for ranking and left out, with a note). Blank lines are
 * skipped; a byte order mark and CRLF are taken silently.
 *
 * The file passes through blocks, as in lines.c; quotes mean nothing here, so a line is a line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "files/libsvm/libsvm.h"
#include "files/text/lines.h"

enum { ENTRIES = 1 << 12, DIGITS = 10 };

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Where a token may end. */
static bool is_end(const char *s, const char *end) {
    return s == end || is_blank(*s) || *s == '#';
}

static const char *token_end(const char *s, const char *end) {
    while (!is_end(s, end)) s++;
    return s;
}

static const char *skip_blanks(const char *s, const char *end) {
    while (s < end && is_blank(*s)) s++;
    return s;
}

/* ---- the file -------------------------------------------------------------------------------- */

sgfs_status sgfsi_libsvm_open(sgfsi_libsvm *s, const char *path, const sgfsi_read_options *options,
                              sgfs_err *err) {
    bool given = options->columns > 0, leave = options->known_columns > 0;
    *s = (sgfsi_libsvm){.path = path,
                        .log = options->log,
                        .first = options->zero_based ? 0 : 1,
                        .cols = leave   ? options->known_columns
                                : given ? options->columns
                                        : SGFSI_MAX_COLS,
                        .given = given,
                        .gaps = options->na != SGFSI_NA_ERROR,
                        .leave = leave};
    return sgfsi_text_open(&s->text, path, SGFSI_BLOCK_BYTES, err);
}

void sgfsi_libsvm_close(sgfsi_libsvm *s) {
    sgfsi_text_close(&s->text);
    free(s->col);
    free(s->value);
    memset(s, 0, sizeof *s);
}

/* What is in the block has been read, but not taken. */
double sgfsi_libsvm_fraction(const sgfsi_libsvm *s) {
    double waiting = (double)(s->text.stop - s->text.at);
    return sgfsi_bytes_fraction(s->text.bytes) * s->taken / (s->taken + waiting + 1e-300);
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* A token and where it stands: begin is the start of its line. */
typedef struct place {
    const char *begin, *token, *end; /* end: of the line */
} place;

/* "file:line:column: " and a sentence around the token. */
static sgfs_status refuse(const sgfsi_libsvm *s, const place *p, const char *before,
                          const char *after, sgfs_err *err) {
    char text[SGFSI_SHOWN_ROOM];
    const sgfsi_cell token = {p->token, token_end(p->token, p->end), false};
    sgfsi_cell_show(&token, text);
    return sgfsi_fail(err, SGFS_EDATA, "%s:%lld:%lld: %s\"%s\"%s", s->path,
                      (long long)s->text.line - 1, (long long)(p->token - p->begin) + 1, before,
                      text, after);
}

static sgfs_status refuse_label(const sgfsi_libsvm *s, const place *p, sgfs_err *err) {
    size_t length = (size_t)(token_end(p->token, p->end) - p->token);
    double label;
    if (memchr(p->token, ',', length) != NULL) {
        return refuse(s, p, "the label ",
                      " is a list: rows with several labels are not read; make "
                      "a file for each label, with 1 where a row has it.",
                      err);
    }
    if (memchr(p->token, ':', length) != NULL) {
        return refuse(s, p, "this line starts with ",
                      ", not with a label; rows to predict need one too, for example 0.", err);
    }
    if (sgfsi_parse_num(p->token, p->end, &label) == p->token + length) {
        return refuse(s, p, "the label ",
                      " is not a finite number; --na drop leaves rows out "
                      "whose label is missing.",
                      err);
    }
    return refuse(s, p, "the label ", " is not a number; number the labels 0, 1, ...", err);
}

static sgfs_status refuse_value(const sgfsi_libsvm *s, const place *p, sgfs_err *err) {
    const char *stop = token_end(p->token, p->end), *colon = p->token;
    double value;
    while (*colon != ':') colon++;
    if (colon + 1 == stop) return refuse(s, p, "in ", " there is no value after the colon.", err);
    if (sgfsi_parse_num(colon + 1, stop, &value) == stop) {
        return refuse(s, p, "the value in ",
                      " is not a finite number; where it is missing, --na drop leaves the row out, "
                      "and --na mean fills in the mean of the feature.",
                      err);
    }
    return refuse(s, p, "the value in ", " is not a number.", err);
}

/* The token is digits and a colon, but its index will not do. before: the index in front of it. */
static sgfs_status refuse_index(const sgfsi_libsvm *s, const place *p, uint64_t index,
                                int64_t before, sgfs_err *err) {
    char after[200];
    if (index == 0 && s->first == 1) {
        return refuse(s, p, "",
                      " has index 0, and libsvm counts features from 1; if this file counts from "
                      "0, say --zero-based.",
                      err);
    }
    if (index > INT32_MAX) {
        return refuse(s, p, "the index in ",
                      " is beyond 2147483647, the largest there can be: the line is damaged.", err);
    }
    if ((int64_t)index <= before) {
        const char *how =
            (int64_t)index == before ? "comes a second time in this row" : "follows a larger one";
        snprintf(after, sizeof after,
                 " has an index that %s: indices must increase; sort the row, or repair it.", how);
        return refuse(s, p, "", after, err);
    }
    snprintf(after, sizeof after,
             s->given ? " is beyond the %lld features of --columns; leave that out, or give more."
                      : " is beyond the %lld features that are allowed.",
             (long long)s->cols);
    return refuse(s, p, "the index in ", after, err);
}

static sgfs_status refuse_token(const sgfsi_libsvm *s, const place *p, int64_t before,
                                sgfs_err *err) {
    const char *stop = token_end(p->token, p->end), *digits = p->token;
    while (digits < stop && is_digit(*digits)) digits++;
    if (digits > p->token && digits < stop && *digits == ':')
        return refuse_index(s, p, UINT64_MAX, before, err); /* more digits than were read */
    if (stop - p->token > 4 && memcmp(p->token, "qid:", 4) == 0) {
        return refuse(s, p, "", " must be a number of digits right behind the label.", err);
    }
    if (memchr(p->token, ':', (size_t)(stop - p->token)) == NULL) {
        return refuse(s, p, "", " has no colon: an entry is index:value.", err);
    }
    return refuse(s, p, "", " does not start with a whole number: an entry is index:value.", err);
}

/* ---- one row --------------------------------------------------------------------------------- */

static bool is_usable(const sgfsi_libsvm *s, double x) {
    return isfinite(x) || (s->gaps && isnan(x));
}

/* One entry at p->token; *after is where it ends, *before its index. */
static sgfs_status take_entry(sgfsi_libsvm *s, const place *p, int64_t *before, const char **after,
                              sgfs_err *err) {
    const char *at = p->token, *end = p->end;
    uint64_t index = 0;
    double value;
    while (at < end && is_digit(*at) && at - p->token < DIGITS)
        index = index * 10 + (uint64_t)(*at++ - '0');
    if (at == p->token || at == end || *at != ':') return refuse_token(s, p, *before, err);
    bool beyond = (int64_t)index - s->first >= s->cols, left = s->leave && index <= INT32_MAX;
    if ((int64_t)index <= *before || (beyond && !left))
        return refuse_index(s, p, index, *before, err);
    *before = (int64_t)index;
    at++;
    if (at < end && is_digit(*at) && is_end(at + 1, end)) { /* most often 1 */
        value = *at - '0';
        *after = at + 1;
    } else {
        *after = sgfsi_parse_num(at, end, &value);
        if (*after == NULL || !is_end(*after, end) || !is_usable(s, value))
            return refuse_value(s, p, err);
    }
    if (beyond) {
        if (s->left_out++ == 0) {
            sgfsi_say(
                s->log, SGFS_NOTE,
                "%s:%lld: feature x%llu is none of the %lld that the run knows: such are ignored.",
                s->path, (long long)s->text.line - 1,
                (unsigned long long)index + 1 - (unsigned long long)s->first, (long long)s->cols);
        }
        return SGFS_OK;
    }
    if (value == 0) return SGFS_OK;
    if (s->used == s->held) {
        int64_t held = s->held > 0 ? 2 * s->held : ENTRIES;
        if (!sgfsi_resize(&s->col, held, sizeof *s->col) ||
            !sgfsi_resize(&s->value, held, sizeof *s->value))
            return sgfsi_fail_memory(err, "the sparse rows");
        s->held = held;
    }
    s->col[s->used] = (int32_t)((int64_t)index - s->first);
    s->value[s->used++] = value;
    return SGFS_OK;
}

static sgfs_status take_row(sgfsi_libsvm *s, const char *begin, const char *at, const char *end,
                            sgfs_err *err) {
    place p = {begin, at, end};
    int64_t before = s->first - 1;
    const char *stop = sgfsi_parse_num(at, end, &s->label);
    if (stop == NULL || !is_end(stop, end) || !is_usable(s, s->label))
        return refuse_label(s, &p, err);
    at = skip_blanks(stop, end);
    if (end - at >= 5 && memcmp(at, "qid:", 4) == 0) {
        for (stop = at + 4; stop < end && is_digit(*stop);) stop++;
        bool query = stop > at + 4 && is_end(stop, end); /* else it is refused as an entry */
        if (query && !s->queries)
            sgfsi_say(s->log, SGFS_NOTE,
                      "%s:%lld: qid: tells queries apart for ranking; no model here uses it, and "
                      "it is left out.",
                      s->path, (long long)s->text.line - 1);
        s->queries = s->queries || query;
        if (query) at = skip_blanks(stop, end);
    }
    while (at < end && *at != '#') {
        p.token = at;
        sgfs_status status = take_entry(s, &p, &before, &at, err);
        if (status != SGFS_OK) return status;
        at = skip_blanks(at, end);
    }
    int64_t needed = before - s->first + 1;
    if (needed > s->cols) needed = s->cols; /* what was left out is not needed */
    if (needed > s->largest) s->largest = needed;
    s->rows++;
    return SGFS_OK;
}

sgfs_status sgfsi_libsvm_next(sgfsi_libsvm *s, bool *got, sgfs_err *err) {
    sgfsi_text *text = &s->text;
    for (*got = false;;) {
        const char *stop = memchr(text->at, '\n', (size_t)(text->stop - text->at));
        if (stop == NULL && !text->ended) {
            sgfs_status status = sgfsi_text_more(text, NULL, err);
            if (status != SGFS_OK) return status;
            continue;
        }
        const char *begin = text->at, *end = stop != NULL ? stop : text->stop;
        if (begin == text->stop) return SGFS_OK;
        text->at += end - begin + (stop != NULL);
        text->line++;
        s->taken += (double)(end - begin + 1);
        if (end > begin && end[-1] == '\r') end--;
        const char *at = skip_blanks(begin, end);
        if (at == end || *at == '#') continue;
        *got = true;
        return take_row(s, begin, at, end, err);
    }
}

/* ---- is it one? ------------------------------------------------------------------------------ */

/* Numbers with commas between them: one label, or the list that will be refused by name. */
static bool looks_like_label(const char *s, const char *end) {
    double ignored;
    for (;;) {
        s = sgfsi_parse_num(s, end, &ignored);
        if (s == NULL || s == end) return s == end;
        if (*s++ != ',') return false;
    }
}

/* Digits or qid, a colon, a number. */
static bool looks_like_entry(const char *s, const char *end) {
    double ignored;
    const char *colon = memchr(s, ':', (size_t)(end - s));
    if (colon == NULL || colon == s) return false;
    bool query = colon - s == 3 && memcmp(s, "qid", 3) == 0;
    for (; s < colon && !query; s++) {
        if (!is_digit(*s)) return false;
    }
    return sgfsi_parse_num(colon + 1, end, &ignored) == end;
}

/* One line: -1: not libsvm; 0: nothing but a label; 1: entries, all of them good. cut: the line may
 * go on behind end, inside its last token, which then counts for nothing. */
static int judge_line(const char *at, const char *end, bool cut) {
    const char *stop = token_end(at, end);
    if (stop == end && cut) return 0;
    if (!looks_like_label(at, stop)) return -1;
    int entries = 0;
    for (at = skip_blanks(stop, end); at < end && *at != '#'; at = skip_blanks(stop, end)) {
        stop = token_end(at, end);
        if (stop == end && cut) break;
        if (!looks_like_entry(at, stop)) return -1;
        entries = 1;
    }
    return entries;
}

/* The first line that has more than a label decides, and all of it has to fit: a table with blanks
 * between its cells may have times like 12:30 in one of them. */
bool sgfsi_libsvm_looks(const char *head, size_t bytes) {
    const char *at = head, *stop = head + bytes;
    if (bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) at += 3;
    while (at < stop) {
        const char *line_end = memchr(at, '\n', (size_t)(stop - at));
        const char *end = line_end != NULL ? line_end : stop, *token = skip_blanks(at, end);
        if (end > token && end[-1] == '\r') end--;
        if (token < end && *token != '#') {
            int verdict = judge_line(token, end, line_end == NULL && bytes >= SGFSI_HEAD_BYTES);
            if (verdict != 0) return verdict > 0;
        }
        if (line_end == NULL) break;
        at = line_end + 1;
    }
    return false;
}
