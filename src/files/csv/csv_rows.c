/* SPDX-License-Identifier: MIT
 * csv_rows.c: the cells of a part of a delimited file.
 *
 * Each record is gone through once. A wanted cell is parsed where it stands; one that is not
 * plainly a finite number between two delimiters goes to odd_cell, which knows about quotes,
 * missing values and text. Columns nobody asked for may hold anything.
 *
 * A column is numbers or words. Words are looked up among those known, which no part changes; one
 * that is not there is numbered by the part itself, behind them. Text in a column of numbers:
 *
 *     the target                       found: the file is read again with words there
 *     a feature, --categorical auto    the same
 *     another feature                  a fault of the column (csv_faults.c)
 *     anything else                    the end of the part
 *
 * So are ragged rows: the file is then not what the user thinks it is. Faults of columns are not:
 * the user wants to know which there are, and where.
 *
 * A part does not know how many lines stand above it until a sentence needs to say so.
 */
#include "files/csv/csv_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digits.h"
#include "files/text/amount.h"
#include "files/text/date.h"
#include "files/text/looks.h"

enum { WORD_CHARS = 1024 };

typedef sgfsi_csv_plan plan;
typedef sgfsi_csv_part part;

/* A part while it is read. */
typedef struct reading {
    const plan *plan;
    part *part;
    sgfsi_records records;
    double *to; /* where the next cell goes */
} reading;

/* ---- sentences ------------------------------------------------------------------------------- */

/* The line in the file of the record at hand. */
static int64_t line_here(const reading *r) {
    const part *p = r->part;
    return p->block_line + sgfsi_count_lines(p->block, p->begin) + r->records.record_line;
}

/* Text in what has to be numbers, and is no feature that could become words: weights, exposure,
 * and rows for a run. */
static sgfs_status fail_text(const reading *r, int64_t col, const sgfsi_cell *cell, bool comma,
                             sgfs_err *err) {
    const plan *c = r->plan;
    char text[SGFSI_SHOWN_ROOM];
    sgfsi_cell_show(cell, text);
    const char *advice = "the run had numbers there.";
    if (c->role[col] == SGFSI_ROLE_WEIGHTS) advice = "is --weights the right column?";
    if (c->role[col] == SGFSI_ROLE_EXPOSURE) advice = "is --exposure the right column?";
    if (comma) advice = sgfsi_csv_comma_advice(c->format);
    return sgfsi_fail(
        err, SGFS_EDATA, "%s:%lld: column %lld (\"%.40s\") holds \"%s\", not a number; %s", c->path,
        (long long)line_here(r), (long long)col + 1, c->format->names[col], text, advice);
}

sgfsi_csv_asked sgfsi_csv_plan_asked(const plan *c) {
    return (sgfsi_csv_asked){c->path, c->format, c->role, c->options, false};
}

sgfs_status sgfsi_csv_fail_words(const plan *c, int64_t col, int64_t line, const char *word,
                                 sgfs_err *err) {
    const char *name = c->format->names[col];
    if (c->role[col] != SGFSI_ROLE_TARGET) {
        const char *like = sgfsi_looks_like(word);
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s:%lld: column %lld (\"%.40s\") holds words (here \"%s\"), more than "
                          "%d different ones or very long ones; %s",
                          c->path, (long long)line, (long long)col + 1, name, word, SGFSI_MAX_WORDS,
                          like != NULL ? like
                                       : "leave it out with --features, or code it as numbers.");
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: the target, column %lld (\"%.40s\"), holds text (here \"%s\") with "
                      "more than %d different values or very long ones; is --target the right "
                      "column?",
                      c->path, (long long)line, (long long)col + 1, name, word, SGFSI_MAX_LEVELS);
}

/* Of the target the first text is the news, not the one too many; but not where one is too long. */
static sgfs_status fail_words_here(const reading *r, int64_t col, const sgfsi_cell *cell,
                                   bool too_long, sgfs_err *err) {
    const plan *c = r->plan;
    char text[SGFSI_SHOWN_ROOM];
    bool first = c->role[col] == SGFSI_ROLE_TARGET && c->first.line > 0 && !too_long;
    if (first) return sgfsi_csv_fail_words(c, col, c->first.line, c->first.text, err);
    sgfsi_cell_show(cell, text);
    return sgfsi_csv_fail_words(c, col, line_here(r), text, err);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* A cell that cannot be used; the rest of the file is looked at before a sentence is made of it. */
static sgfs_status note_fault(reading *r, int64_t col, const sgfsi_cell *cell, sgfsi_cell_kind kind,
                              sgfs_err *err) {
    part *p = r->part;
    const int64_t cols = r->plan->format->cols, line = r->records.record_line;
    bool comma = kind == SGFSI_CELL_COMMA, text = kind == SGFSI_CELL_TEXT || comma;
    bool made = text ? sgfsi_csv_fault_text(&p->faults, cols, col, line, cell, comma)
                     : sgfsi_csv_fault_missing(&p->faults, cols, col, line, cell, kind);
    if (p->fault_row < 0) p->fault_row = p->rows;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "column kinds");
}

/* A finite double that single precision would turn into infinity. */
static bool overflows(const plan *c, double x) {
    return c->options->single && !isfinite((float)x);
}

/* Text in a column taken for numbers. */
static sgfs_status note_found(reading *r, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    part *p = r->part;
    if (p->found == NULL) p->found = calloc((size_t)r->plan->format->cols, 1);
    if (p->found == NULL) return sgfsi_fail_memory(err, "column kinds");
    p->found[col] = 1;
    if (p->found_row < 0) p->found_row = p->rows;
    if (r->plan->role[col] == SGFSI_ROLE_TARGET && p->text_row < 0) {
        p->text_row = p->rows;
        p->text_line = r->records.record_line;
        sgfsi_cell_show(cell, p->text);
    }
    return SGFS_OK;
}

/* The number of a word: of one that is known, or the next. */
static sgfs_status store_word(reading *r, int64_t col, const sgfsi_cell *cell, double *x,
                              sgfs_err *err) {
    char room[WORD_CHARS];
    const char *text = cell->begin;
    size_t length = (size_t)(cell->end - cell->begin);
    unsigned char bits = 0; /* of all bytes: is one of them above 127? */
    for (size_t i = 0; i < length; i++) bits |= (unsigned char)text[i];
    if (cell->quoted || bits >= 0x80) {
        length = sgfsi_cell_text(cell, room, sizeof room);
        text = room;
    }
    if (length >= WORD_CHARS) return fail_words_here(r, col, cell, true, err);
    int32_t w = r->plan->words_of[col];
    const sgfsi_word_list *known = &r->plan->words[w].known;
    int64_t k = sgfsi_words_find(known, text, length);
    if (k < 0) {
        sgfsi_csv_fresh *fresh = &r->part->fresh[w];
        int64_t before = fresh->words.count;
        bool fits = sgfsi_grow(&fresh->where, &fresh->room, before + 1, sizeof *fresh->where);
        k = fits ? sgfsi_words_add(&fresh->words, text, length) : -1;
        if (k < 0) return sgfsi_fail_memory(err, "the words of a column");
        if (k >= before) {
            fresh->where[k][0] = r->part->rows;
            fresh->where[k][1] = r->records.record_line;
        }
        if (k + known->count >= sgfsi_most_words(r->plan->role[col]))
            return fail_words_here(r, col, cell, false, err);
        k += known->count;
    }
    *x = (double)k;
    return SGFS_OK;
}

/* A cell without a value. Among words it is one more word where missing values are filled in. No
 * word can be "NA": that cell would be missing itself. */
static sgfs_status store_missing(reading *r, int64_t col, const sgfsi_cell *cell, double *to,
                                 sgfs_err *err) {
    static const char name[] = "NA";
    const sgfsi_cell word = {name, name + 2, false};
    const sgfsi_na na = r->plan->options->na;
    bool feature = r->plan->role[col] == SGFSI_ROLE_FEATURE, words = r->plan->words_of[col] >= 0;
    if (na == SGFSI_NA_ERROR) return note_fault(r, col, cell, SGFSI_CELL_MISSING, err);
    if (na == SGFSI_NA_MEAN && feature && words) return store_word(r, col, &word, to, err);
    *to = NAN;
    return SGFS_OK;
}

static sgfs_status store_date(reading *r, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    const plan *c = r->plan;
    char text[SGFSI_SHOWN_ROOM];
    double x, *to = r->to++;
    const size_t bytes = sgfsi_cell_text(cell, text, sizeof text);
    if (bytes < sizeof text && sgfsi_date_hours(text, bytes, to)) return SGFS_OK;
    sgfsi_cell_kind kind = sgfsi_cell_classify(cell, &x);
    *to = 0.0;
    if (kind == SGFSI_CELL_MISSING || kind == SGFSI_CELL_PERHAPS || kind == SGFSI_CELL_NONE)
        return store_missing(r, col, cell, to, err);
    sgfsi_cell_show(cell, text);
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s:%lld: column %lld (\"%.40s\") holds \"%s\", and --date reads dates such as "
        "2024-03-17 and 2024-03-17T08:30:00Z, which are read in one way only.",
        c->path, (long long)line_here(r), (long long)col + 1, c->format->names[col], text);
}

/* What is a number without any signs is one here, too. */
static sgfs_status store_amount(reading *r, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    const plan *c = r->plan;
    const char point = c->format->decimal_comma ? ',' : '.';
    char text[SGFSI_SHOWN_ROOM];
    double x = 0, *to = r->to++;
    const size_t bytes = sgfsi_cell_text(cell, text, sizeof text);
    bool number = bytes < sizeof text && sgfsi_amount(text, bytes, point, to);
    sgfsi_cell_kind kind = sgfsi_cell_classify(cell, &x);
    if (!number && kind == SGFSI_CELL_NUMBER && point == '.') *to = x, number = true;
    if (number)
        return overflows(c, *to) ? note_fault(r, col, cell, SGFSI_CELL_NUMBER, err) : SGFS_OK;
    *to = 0.0;
    if (kind == SGFSI_CELL_MISSING || kind == SGFSI_CELL_PERHAPS || kind == SGFSI_CELL_NONE)
        return store_missing(r, col, cell, to, err);
    if (kind == SGFSI_CELL_INFINITE) return note_fault(r, col, cell, kind, err);
    sgfsi_cell_show(cell, text);
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s:%lld: column %lld (\"%.40s\") holds \"%s\", and --amount reads amounts such as %s: a "
        "currency or %% at either end, and the same sign between all thousands.",
        c->path, (long long)line_here(r), (long long)col + 1, c->format->names[col], text,
        point == '.' ? "$86,974.50" : "86.974,50 EUR");
}

/* What a cell stands for, in a column of words or of numbers. */
static sgfs_status store_cell(reading *r, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    double x = 0.0, *to = r->to++;
    unsigned char role = r->plan->role[col];
    bool target = role == SGFSI_ROLE_TARGET, words = r->plan->words_of[col] >= 0,
         asked = r->plan->options->na != SGFSI_NA_ERROR;
    sgfsi_cell_kind kind = sgfsi_cell_classify(cell, &x);
    *to = 0.0;
    if (r->plan->format->decimal_comma && !words) {
        size_t length = (size_t)(cell->end - cell->begin);
        bool point = kind == SGFSI_CELL_NUMBER && memchr(cell->begin, '.', length) != NULL;
        if (kind == SGFSI_CELL_COMMA) kind = SGFSI_CELL_NUMBER;
        else if (point) kind = SGFSI_CELL_COMMA; /* between thousands, perhaps */
    }
    if (kind == SGFSI_CELL_PERHAPS && asked) kind = SGFSI_CELL_MISSING;
    if (kind == SGFSI_CELL_PERHAPS || kind == SGFSI_CELL_NONE)
        kind = words || target ? SGFSI_CELL_TEXT : SGFSI_CELL_MISSING;
    if (kind == SGFSI_CELL_MISSING) return store_missing(r, col, cell, to, err);
    if (kind == SGFSI_CELL_INFINITE) return note_fault(r, col, cell, kind, err);
    bool feature = role == SGFSI_ROLE_FEATURE && !r->plan->new_rows;
    if (kind == SGFSI_CELL_COMMA && (target || !words))
        return feature || (target && !r->plan->new_rows) ? note_fault(r, col, cell, kind, err)
                                                         : fail_text(r, col, cell, true, err);
    if (words) return store_word(r, col, cell, to, err);
    if (kind == SGFSI_CELL_NUMBER) {
        *to = x;
        return overflows(r->plan, x) ? note_fault(r, col, cell, kind, err) : SGFS_OK;
    }
    if (target || (feature && r->plan->automatic)) return note_found(r, col, cell, err);
    return feature ? note_fault(r, col, cell, kind, err) : fail_text(r, col, cell, false, err);
}

/* A plain finite number from s to a delimiter: the case that has to be fast. NULL for anything
 * else. limit: of the text there is, at or behind the record's end. What follows a record is a line
 * end, at which every number stops: so digits may be looked for eight at a time up to there. */
static inline const char *plain_number(char delimiter, const char *s, const char *end,
                                       const char *limit, double *x) {
    while (s < end && *s == ' ') s++;
    const char *usual = limit - s >= SGFSI_USUAL_BYTES ? sgfsi_parse_usual(s, x) : NULL;
    if (usual != NULL && *usual == delimiter && usual < end) return usual;
    s = usual != NULL ? usual : sgfsi_parse_num(s, limit, x);
    if (s == NULL || !isfinite(*x)) return NULL;
    if (delimiter != ' ') {
        while (s < end && *s == ' ') s++;
    }
    return s == end || *s == delimiter || (delimiter == ' ' && *s == '\t') ? s : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Any cell but a plain number; *stop is where it ends. */
static sgfs_status odd_cell(reading *r, int64_t col, const char *s, const char *end,
                            const char **stop, sgfs_err *err) {
    const plan *c = r->plan;
    sgfsi_cell cell;
    *stop = sgfsi_cell_scan(c->format->delimiter, s, end, &cell);
    if (*stop == NULL) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s:%lld: text follows the closing quote of column %lld (\"%.40s\"); a quote "
            "inside a quoted cell is written twice.",
            r->plan->path, (long long)line_here(r), (long long)col + 1,
            r->plan->format->names[col]);
    }
    if (c->role[col] == SGFSI_ROLE_NONE) return SGFS_OK;
    if (c->words_of[col] == SGFSI_CSV_IGNORED) return *r->to++ = 0.0, SGFS_OK;
    if (c->words_of[col] == SGFSI_CSV_DATES) return store_date(r, col, &cell, err);
    if (c->words_of[col] == SGFSI_CSV_AMOUNTS) return store_amount(r, col, &cell, err);
    return store_cell(r, col, &cell, err);
}

static sgfs_status read_row(reading *r, const char *begin, const char *end, sgfs_err *err) {
    const plan *c = r->plan;
    const char delimiter = c->format->delimiter, *limit = r->part->end;
    const int64_t cols = c->format->cols;
    const bool point = !c->format->decimal_comma, single = c->options->single;
    const char *s = begin, *stop = NULL;
    int64_t col = 0;
    part *p = r->part;
    sgfs_status status = SGFS_OK;
    if (p->rows == p->room) {
        /* Room for this row and for all others of the part (one for each line that is long enough
         * for its delimiters), with some to spare for other parts that will use it: memory that is
         * moved again and again is memory lost in between. */
        int64_t lines = 1 + sgfsi_count_lines(begin, p->end), fit = 1 + (p->end - begin) / cols;
        int64_t room = p->rows + (lines < fit ? lines : fit);
        room += room / 8;
        if (!sgfsi_resize(&p->cells, room * c->kept, sizeof *p->cells) ||
            (c->new_rows && !sgfsi_resize(&p->line, room, sizeof *p->line)))
            return sgfsi_fail_memory(err, "rows");
        p->room = room;
    }
    r->to = p->cells + p->rows * c->kept;
    for (; status == SGFS_OK && s != NULL && col < cols; col++) {
        double x;
        bool number =
            point && c->words_of[col] == SGFSI_CSV_NUMBERS && c->role[col] != SGFSI_ROLE_NONE;
        stop = number ? plain_number(delimiter, s, end, limit, &x) : NULL;
        if (stop != NULL && !(single && overflows(c, x))) {
            *r->to++ = x;
        } else {
            status = odd_cell(r, col, s, end, &stop, err);
            if (status != SGFS_OK) break;
        }
        s = delimiter != ' ' && stop < end ? stop + 1 : sgfsi_cell_next(delimiter, stop, end);
    }
    /* A row with a field too few or too many shifts its cells: say that first, it is the cause.
     * (stop is NULL where quotes went wrong: that row cannot be counted.) */
    bool shifted =
        status == SGFS_EDATA && stop != NULL && sgfsi_cell_count(delimiter, begin, end) != cols;
    if (shifted || (status == SGFS_OK && (s != NULL || col < cols))) {
        int64_t has = sgfsi_cell_count(delimiter, begin, end);
        bool row_names = c->format->header && has == cols + 1;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s:%lld: this row has %lld field%s where the %s (line %lld) has %lld.%s",
                          c->path, (long long)line_here(r), (long long)has, has == 1 ? "" : "s",
                          c->format->header ? "header" : "first row",
                          (long long)c->format->first_line, (long long)cols,
                          row_names ? " If the rows have names, give their column a name too."
                                    : "");
    }
    if (status != SGFS_OK || !c->new_rows || r->part->text_row < 0) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: the target holds \"%s\", and in the run it held numbers only.",
                      c->path, (long long)line_here(r), r->part->text);
}

/* ---- parts ---------------------------------------------------------------------------------- */

void sgfsi_csv_part_read(const plan *c, part *p) {
    const char *begin, *end;
    reading r = {.plan = c, .part = p};
    r.records = sgfsi_records_of(c->format->delimiter, p->begin, p->end, p->last);
    p->rows = p->lines = 0;
    p->fault_row = p->found_row = p->text_row = -1;
    p->status = SGFS_OK;
    sgfsi_csv_faults_clear(&p->faults);
    if (p->found != NULL) memset(p->found, 0, (size_t)c->format->cols);
    for (int64_t w = 0; w < p->freshes; w++) sgfsi_words_free(&p->fresh[w].words);
    if (p->freshes < c->worded) {
        bool made = sgfsi_resize(&p->fresh, c->worded, sizeof *p->fresh);
        if (!made) p->status = sgfsi_fail_memory(&p->err, "the words of a column");
        for (; made && p->freshes < c->worded; p->freshes++)
            p->fresh[p->freshes] = (sgfsi_csv_fresh){.room = 0};
    }
    const char *nul = memchr(p->begin, '\0', (size_t)(p->end - p->begin));
    while (p->status == SGFS_OK && sgfsi_records_next(&r.records, &begin, &end)) {
        if (nul != NULL && nul < end) {
            int64_t line = line_here(&r) + sgfsi_count_lines(begin, nul);
            p->status = sgfsi_fail_nul(c->path, line, &p->err);
        } else {
            p->status = read_row(&r, begin, end, &p->err);
        }
        if (p->status != SGFS_OK) break;
        if (c->new_rows) p->line[p->rows] = r.records.record_line;
        p->rows++;
    }
    p->lines = r.records.line;
    if (p->status == SGFS_ENOMEM) p->rows = 0; /* their words may be missing */
}

void sgfsi_csv_part_free(part *p) {
    for (int64_t w = 0; w < p->freshes; w++) {
        sgfsi_words_free(&p->fresh[w].words);
        free(p->fresh[w].where);
    }
    free(p->fresh);
    sgfsi_csv_faults_clear(&p->faults);
    free(p->found);
    free(p->cells);
    free(p->line);
    memset(p, 0, sizeof *p);
}
