/* SPDX-License-Identifier: MIT
 * csv.c: delimited text into a table of numbers.
 *
 * csv_sniff.c has said how the file is written, columns.c which of its columns are wanted; here
 * each record is walked once. A wanted cell is parsed where it stands; one that is not plainly a
 * finite number between two delimiters goes to odd_cell, which knows about quotes, missing values
 * and text. Columns nobody asked for may hold anything. The table has the wanted columns only, in
 * file order.
 *
 * The target starts out as numbers. The first text in it sends the reader back to the start, with
 * the target as levels from then on: so 1, 2, many are three texts, whatever their order.
 *
 * Missing cells do not stop the walk: the user wants to know how many there are, and where. Text
 * among the features and ragged rows do, since the file is then not what the user thinks it is.
 *
 * Memory: the table (doubled as it grows, trimmed at the end) and one block of text.
 */
#include "data/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/ticker.h"
#include "data/columns.h"
#include "data/levels.h"

enum { SHOWN_LINES = 5, SHOWN_CHARS = 40, LEVEL_CHARS = 1024 };

/* Cells without a usable number, gathered over the whole file. */
typedef struct missing {
    int64_t cells, lines;
    int64_t line[SHOWN_LINES]; /* the first few lines that have one */
    int64_t col;               /* of the very first */
    char text[SHOWN_CHARS + 8];
    bool too_large; /* a number, but not in single precision */
} missing;

typedef struct sgfsi_csv csv;
struct sgfsi_csv {
    const char *path;
    const sgfsi_read_options *options;
    sgfsi_csv_format format;
    unsigned char *role; /* format.cols values of sgfsi_role */
    sgfsi_lines lines;
    int64_t kept; /* columns wanted */
    int64_t rows;
    void *cells;       /* rows x kept, double or float */
    size_t used, room; /* in cells */
    bool text_target;  /* the target is levels */
    bool restart;      /* text met in a target taken for numbers */
    int64_t text_line; /* where that was */
    int64_t text_level;
    char text[SHOWN_CHARS + 8];
    sgfsi_levels levels;
    missing missing;
    bool streaming; /* rows for a run that is there already, a few at a time */
    double taken;   /* bytes of rows taken while streaming */
};

/* ---- sentences ------------------------------------------------------------------------------- */

/* The start of a cell's text, fit for a message: one line, whole UTF-8 characters. */
static void show_cell(const sgfsi_cell *cell, char out[SHOWN_CHARS + 8]) {
    size_t length = sgfsi_cell_text(cell, out, SHOWN_CHARS + 1);
    for (char *s = out; *s != '\0'; s++) {
        if ((unsigned char)*s < 32 || *s == 127) *s = ' ';
    }
    if (length <= SHOWN_CHARS) return;
    size_t cut = SHOWN_CHARS;
    while (cut > 0 && ((unsigned char)out[cut - 1] & 0xC0) == 0x80) cut--; /* tail bytes */
    if (cut > 0 && (unsigned char)out[cut - 1] >= 0xC0) cut--;             /* and their lead */
    memcpy(out + cut, "...", 4);
}

static const char *header_hint(const csv *c, int64_t line) {
    bool asked = strcmp(c->options->header, "auto") != 0;
    bool doubtful = !asked && !c->format.header && line == c->format.first_line;
    return doubtful ? " If this line holds column names, say --header yes." : "";
}

static sgfs_status fail_text(const csv *c, int64_t col, const sgfsi_cell *cell, bool comma,
                             sgfs_err *err) {
    char text[SHOWN_CHARS + 8];
    show_cell(cell, text);
    const char *advice = "leave the column out with --features, or code it as numbers.";
    if (c->role[col] == SGFSI_ROLE_WEIGHTS) advice = "is --weights the right column?";
    if (c->role[col] == SGFSI_ROLE_EXPOSURE) advice = "is --exposure the right column?";
    if (c->streaming) advice = "the run had numbers there.";
    if (comma)
        advice = "write numbers with a decimal point, as in 1.5: decimal commas and commas between "
                 "thousands are not understood.";
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: column %lld (\"%.40s\") holds \"%s\", not a number; %s%s", c->path,
                      (long long)c->lines.record_line, (long long)col + 1, c->format.names[col],
                      text, advice, header_hint(c, c->lines.record_line));
}

static sgfs_status fail_ragged(const csv *c, const char *begin, const char *end, sgfs_err *err) {
    int64_t has = sgfsi_cell_count(c->format.delimiter, begin, end);
    bool row_names = c->format.header && has == c->format.cols + 1;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: this row has %lld field%s where the %s (line %lld) has %lld.%s",
                      c->path, (long long)c->lines.record_line, (long long)has, has == 1 ? "" : "s",
                      c->format.header ? "header" : "first row", (long long)c->format.first_line,
                      (long long)c->format.cols,
                      row_names ? " If the rows have names, give their column a name too." : "");
}

static sgfs_status fail_quote(const csv *c, int64_t col, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: text follows the closing quote of column %lld (\"%.40s\"); a quote "
                      "inside a quoted cell is written twice.",
                      c->path, (long long)c->lines.record_line, (long long)col + 1,
                      c->format.names[col]);
}

static sgfs_status fail_missing(const csv *c, sgfs_err *err) {
    const missing *m = &c->missing;
    char lines[SHOWN_LINES * 24] = "", what[SHOWN_CHARS + 64];
    size_t used = 0;
    int64_t shown = m->lines < SHOWN_LINES ? m->lines : SHOWN_LINES;
    for (int64_t i = 0; i < shown; i++) {
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%lld", i == 0 ? "" : ", ",
                                 (long long)m->line[i]);
    }
    if (m->text[0] == '\0') {
        snprintf(what, sizeof what, "is empty");
    } else {
        snprintf(what, sizeof what, "holds \"%s\", %s", m->text,
                 m->too_large ? "too large for single precision" : "not a finite number");
    }
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s:%lld: column %lld (\"%.40s\") %s; there %s %lld such cell%s, on line%s %s%s: "
        "fill them in or remove these rows first.%s",
        c->path, (long long)m->line[0], (long long)m->col + 1, c->format.names[m->col], what,
        m->cells == 1 ? "is" : "are", (long long)m->cells, m->cells == 1 ? "" : "s",
        m->lines == 1 ? "" : "s", lines, m->lines > shown ? ", ..." : "",
        header_hint(c, m->line[0]));
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* There is room: read_row made it. */
static void store(csv *c, double x) {
    if (c->options->single) {
        ((float *)c->cells)[c->used++] = (float)x;
    } else {
        ((double *)c->cells)[c->used++] = x;
    }
}

static void note_missing(csv *c, int64_t col, const sgfsi_cell *cell, bool too_large) {
    missing *m = &c->missing;
    int64_t line = c->lines.record_line,
            last = m->lines < SHOWN_LINES ? m->lines - 1 : SHOWN_LINES - 1;
    if (m->cells++ == 0) {
        m->col = col;
        m->too_large = too_large;
        show_cell(cell, m->text);
    }
    if (m->lines > 0 && m->line[last] == line) return;
    if (m->lines < SHOWN_LINES) m->line[m->lines] = line;
    m->lines++;
}

/* A finite double that single precision would turn into infinity. */
static bool overflows(const csv *c, double x) {
    return c->options->single && !isfinite((float)x);
}

/* Text in the target, to be named if nothing can be done with it. */
static void note_text(csv *c, const sgfsi_cell *cell) {
    c->text_line = c->lines.record_line;
    show_cell(cell, c->text);
}

static sgfs_status store_level(csv *c, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    char text[LEVEL_CHARS];
    size_t length = sgfsi_cell_text(cell, text, sizeof text);
    bool too_long = length >= sizeof text;
    int64_t level = too_long ? SGFSI_LEVELS_FULL : sgfsi_levels_index(&c->levels, text);
    if (too_long) note_text(c, cell);
    if (level == SGFSI_LEVELS_MEMORY) return sgfsi_fail_memory(err, "target levels");
    if (level == SGFSI_LEVELS_FULL) { /* the first text is the news, not the last level */
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s:%lld: the target, column %lld (\"%.40s\"), holds text (here \"%s\") with "
            "more than %d different values or very long ones; is --target the right column?",
            c->path, (long long)c->text_line, (long long)col + 1, c->format.names[col], c->text,
            SGFSI_MAX_LEVELS);
    }
    if (c->lines.record_line == c->text_line) c->text_level = level;
    store(c, (double)level);
    return SGFS_OK;
}

static sgfs_status target_cell(csv *c, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    double x;
    switch (sgfsi_cell_classify(cell, &x)) {
    case SGFSI_CELL_COMMA: return fail_text(c, col, cell, true, err);
    case SGFSI_CELL_MISSING:
        note_missing(c, col, cell, false);
        store(c, 0.0);
        return SGFS_OK;
    case SGFSI_CELL_NUMBER:
        if (c->text_target) return store_level(c, col, cell, err);
        if (overflows(c, x)) note_missing(c, col, cell, true);
        store(c, x);
        return SGFS_OK;
    default:
        if (c->text_target) return store_level(c, col, cell, err);
        c->restart = true;
        note_text(c, cell);
        store(c, 0.0);
        return SGFS_OK;
    }
}

/* A feature, a weight, an exposure. */
static sgfs_status number_cell(csv *c, int64_t col, const sgfsi_cell *cell, sgfs_err *err) {
    double x = 0.0;
    switch (sgfsi_cell_classify(cell, &x)) {
    case SGFSI_CELL_COMMA: return fail_text(c, col, cell, true, err);
    case SGFSI_CELL_TEXT: return fail_text(c, col, cell, false, err);
    case SGFSI_CELL_NUMBER:
        if (overflows(c, x)) note_missing(c, col, cell, true);
        break;
    default: note_missing(c, col, cell, false); break;
    }
    store(c, x);
    return SGFS_OK;
}

/* A plain finite number from s to a delimiter: the case that has to be fast. NULL for anything
 * else. */
static const char *plain_number(char delimiter, const char *s, const char *end, double *x) {
    while (s < end && *s == ' ') s++;
    s = sgfsi_parse_num(s, end, x);
    if (s == NULL || !isfinite(*x)) return NULL;
    if (s < end && *s == delimiter) return s;
    if (delimiter != ' ') {
        while (s < end && *s == ' ') s++;
    }
    return s == end || *s == delimiter || (delimiter == ' ' && *s == '\t') ? s : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sgfs_status make_room(csv *c, sgfs_err *err) {
    size_t kept = (size_t)c->kept, size = c->options->single ? sizeof(float) : sizeof(double),
           bytes;
    if (c->room - c->used >= kept) return SGFS_OK;
    size_t room = c->room < kept * 512 ? kept * 1024 : c->room * 2;
    void *bigger = __builtin_mul_overflow(room, size, &bytes) ? NULL : realloc(c->cells, bytes);
    if (bigger == NULL) return sgfsi_fail_memory(err, "the table");
    c->cells = bigger;
    c->room = room;
    return SGFS_OK;
}

/* Any cell but a plain number; *stop is where it ends. */
static sgfs_status odd_cell(csv *c, int64_t col, const char *s, const char *end, const char **stop,
                            sgfs_err *err) {
    sgfsi_cell cell;
    *stop = sgfsi_cell_scan(c->format.delimiter, s, end, &cell);
    if (*stop == NULL) return fail_quote(c, col, err);
    if (c->role[col] == SGFSI_ROLE_NONE) return SGFS_OK;
    if (c->role[col] == SGFSI_ROLE_TARGET) return target_cell(c, col, &cell, err);
    return number_cell(c, col, &cell, err);
}

static sgfs_status read_row(csv *c, const char *begin, const char *end, sgfs_err *err) {
    const char delimiter = c->format.delimiter;
    const int64_t cols = c->format.cols;
    const char *s = begin, *stop = NULL;
    int64_t col = 0;
    sgfs_status status = make_room(c, err);
    for (; status == SGFS_OK && s != NULL && col < cols; col++) {
        double x;
        bool number = c->role[col] != SGFSI_ROLE_NONE &&
                      (c->role[col] != SGFSI_ROLE_TARGET || !c->text_target);
        stop = number ? plain_number(delimiter, s, end, &x) : NULL;
        if (stop != NULL && !overflows(c, x)) {
            store(c, x);
        } else {
            status = odd_cell(c, col, s, end, &stop, err);
            if (status != SGFS_OK) break;
        }
        s = sgfsi_cell_next(delimiter, stop, end);
    }
    /* A row with a field too few or too many shifts its cells: say that first, it is the cause.
     * (stop is NULL where quotes went wrong: that row cannot be counted.) */
    bool shifted =
        status == SGFS_EDATA && stop != NULL && sgfsi_cell_count(delimiter, begin, end) != cols;
    if (shifted || (status == SGFS_OK && (s != NULL || col < cols)))
        return fail_ragged(c, begin, end, err);
    c->rows++;
    return status;
}

/* Up to the first row of data. */
static sgfs_status start_rows(csv *c, sgfs_err *err) {
    const char *begin = NULL, *end = NULL;
    sgfs_status status = sgfsi_lines_open(&c->lines, c->path, err);
    if (status != SGFS_OK) return status;
    c->lines.delimiter = c->format.delimiter;
    return c->format.header ? sgfsi_lines_next(&c->lines, &begin, &end, err) : SGFS_OK;
}

static sgfs_status fail_empty(const csv *c, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s: has a header but no rows of data.", c->path);
}

static sgfs_status read_rows(csv *c, sgfs_err *err) {
    const char *begin = NULL, *end = NULL;
    char what[256];
    snprintf(what, sizeof what, "Reading %.200s", c->path);
    sgfsi_ticker ticker = sgfsi_ticker_start(c->options->log, what);
    sgfs_status status = start_rows(c, err);
    while (status == SGFS_OK && !c->restart) {
        status = sgfsi_lines_next(&c->lines, &begin, &end, err);
        if (status != SGFS_OK || begin == NULL) break;
        status = read_row(c, begin, end, err);
        if (c->rows % 8192 == 0) sgfsi_tick(&ticker, sgfsi_bytes_fraction(c->lines.bytes));
    }
    if (status == SGFS_OK && !c->restart && c->rows == 0) status = fail_empty(c, err);
    if (status == SGFS_OK && !c->restart && c->missing.cells > 0) status = fail_missing(c, err);
    sgfsi_lines_close(&c->lines);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static sgfs_status choose_columns(csv *c, sgfs_err *err) {
    const sgfsi_columns columns = {c->path, c->format.cols, c->format.names};
    c->role = malloc((size_t)c->format.cols);
    if (c->role == NULL) return sgfsi_fail_memory(err, "column roles");
    sgfs_status status = sgfsi_columns_select(&columns, c->options, c->role, err);
    if (status != SGFS_OK) return status;
    for (int64_t i = 0; i < c->format.cols; i++) c->kept += c->role[i] != SGFSI_ROLE_NONE;
    return SGFS_OK;
}

/* Names, roles and levels move over; what is not wanted stays behind to be freed. */
static sgfs_status hand_over(csv *c, sgfsi_table *table, sgfs_err *err) {
    sgfsi_table t = {.rows = c->rows, .cols = c->kept, .row_stride = c->kept, .text_col = -1};
    t.type = c->options->single ? SGFSI_F32 : SGFSI_F64;
    t.named = c->format.header;
    t.names = calloc((size_t)c->kept, sizeof *t.names);
    t.role = malloc((size_t)c->kept);
    t.level = c->text_target ? calloc((size_t)c->levels.count, sizeof *t.level) : NULL;
    if (t.names == NULL || t.role == NULL || (c->text_target && t.level == NULL)) {
        sgfsi_table_free(&t);
        return sgfsi_fail_memory(err, "the table");
    }
    int64_t to = 0;
    for (int64_t i = 0; i < c->format.cols; i++) {
        if (c->role[i] == SGFSI_ROLE_NONE) continue;
        if (c->role[i] == SGFSI_ROLE_TARGET && c->text_target) t.text_col = to;
        t.names[to] = c->format.names[i];
        t.role[to++] = c->role[i];
        c->format.names[i] = NULL;
    }
    if (c->text_target) memcpy(t.level, c->levels.text, (size_t)c->levels.count * sizeof *t.level);
    t.levels = c->levels.count;
    t.text_line = c->text_line;
    t.text_level = c->text_level;
    c->levels.count = 0;
    void *trimmed =
        realloc(c->cells, c->used * (c->options->single ? sizeof(float) : sizeof(double)));
    t.cells = t.owned = trimmed == NULL ? c->cells : trimmed;
    c->cells = NULL;
    *table = t;
    return SGFS_OK;
}

static void restart_as_text(csv *c) {
    c->restart = false;
    c->text_target = true;
    c->rows = 0;
    c->used = 0;
    memset(&c->missing, 0, sizeof c->missing);
}

static sgfs_status read_csv(const char *path, const sgfsi_read_options *options, sgfsi_table *table,
                            sgfs_err *err) {
    memset(table, 0, sizeof *table);
    csv *c = calloc(1, sizeof *c); /* with its levels, large for a stack */
    if (c == NULL) return sgfsi_fail_memory(err, "a reader");
    c->path = path;
    c->options = options;
    c->text_target = options->words;
    sgfs_status status = sgfsi_csv_sniff(path, options, &c->format, err);
    if (status == SGFS_OK) status = choose_columns(c, err);
    if (status == SGFS_OK) status = read_rows(c, err);
    if (status == SGFS_OK && c->restart) {
        restart_as_text(c);
        status = read_rows(c, err);
    }
    if (status == SGFS_OK) status = hand_over(c, table, err);
    sgfsi_csv_close(c);
    return status;
}

/* ---- a few rows at a time -------------------------------------------------------------------- */

sgfs_status sgfsi_csv_open(sgfsi_csv **out, const char *path, const sgfsi_read_options *options,
                           sgfs_err *err) {
    csv *c = *out = calloc(1, sizeof *c);
    if (c == NULL) return sgfsi_fail_memory(err, "a reader");
    c->path = path;
    c->options = options;
    c->streaming = true;
    return sgfsi_csv_sniff(path, options, &c->format, err);
}

const sgfsi_csv_format *sgfsi_csv_format_of(const sgfsi_csv *c) {
    return &c->format;
}

sgfs_status sgfsi_csv_start(sgfsi_csv *c, const unsigned char *role, int64_t levels,
                            const char *const *level, sgfs_err *err) {
    c->role = malloc((size_t)c->format.cols);
    if (c->role == NULL) return sgfsi_fail_memory(err, "column roles");
    for (int64_t i = 0; i < c->format.cols; i++) {
        c->role[i] = role[i];
        c->kept += role[i] != SGFSI_ROLE_NONE;
    }
    for (int64_t k = 0; k < levels; k++) {
        if (sgfsi_levels_index(&c->levels, level[k]) != k)
            return sgfsi_fail(err, SGFS_EINTERNAL, "Label %lld is not a new one.", (long long)k);
    }
    c->text_target = levels > 0;
    return start_rows(c, err);
}

/* Up to `most` rows behind those that are there. */
static sgfs_status read_some(csv *c, int64_t most, int64_t *n, int64_t *line, sgfs_err *err) {
    const char *begin = NULL, *end = NULL;
    for (*n = 0; *n < most; ++*n) {
        sgfs_status status = sgfsi_lines_next(&c->lines, &begin, &end, err);
        if (status != SGFS_OK || begin == NULL) return status;
        status = read_row(c, begin, end, err);
        if (status != SGFS_OK) return status;
        line[*n] = c->lines.record_line;
        c->taken += (double)(end - begin + 1);
        if (c->restart) {
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s:%lld: the target holds \"%s\", and in the run it held numbers only.", c->path,
                (long long)c->text_line, c->text);
        }
    }
    return SGFS_OK;
}

sgfs_status sgfsi_csv_next(sgfsi_csv *c, int64_t most, int64_t *n, const double **cells,
                           int64_t *line, sgfs_err *err) {
    int64_t more = 1;
    c->used = 0;
    sgfs_status status = read_some(c, most, n, line, err);
    if (status == SGFS_OK && c->rows == 0) status = fail_empty(c, err);
    *cells = c->cells;
    if (status != SGFS_OK || c->missing.cells == 0) return status;
    while (status == SGFS_OK && more > 0) {
        c->used = 0;
        status = read_some(c, most, &more, line, err);
    }
    return status == SGFS_OK ? fail_missing(c, err) : status;
}

const char *sgfsi_csv_level(const sgfsi_csv *c, int64_t level) {
    return level >= 0 && level < c->levels.count ? c->levels.text[level] : NULL;
}

/* What is in the buffer has been read, but not taken. */
double sgfsi_csv_fraction(const sgfsi_csv *c) {
    double waiting = (double)(c->lines.stop - c->lines.at);
    return sgfsi_bytes_fraction(c->lines.bytes) * c->taken / (c->taken + waiting + 1e-300);
}

void sgfsi_csv_close(sgfsi_csv *c) {
    if (c == NULL) return;
    sgfsi_lines_close(&c->lines);
    sgfsi_levels_clear(&c->levels);
    sgfsi_names_free(c->format.names, c->format.cols);
    free(c->role);
    free(c->cells);
    free(c);
}

/* Any text may be a table: the last reader to be asked. */
static bool probe_csv(const char *path, const unsigned char *head, size_t bytes) {
    (void)path, (void)head, (void)bytes;
    return true;
}

const sgfs_reader_kind sgfs_reader_csv = {
    .name = "csv",
    .help = "text with commas, semicolons, tabs, bars or blanks between cells; .gz too",
    .probe = probe_csv,
    .read = read_csv,
};
