/* SPDX-License-Identifier: MIT
 * csv_sniff.c: how a delimited file is written: what separates its cells, and whether it has a
 * header.
 *
 * Delimiter. Each candidate cuts the first records into cells; the first candidate that gives all
 * of them the same number, at least two, wins. Commas come late, since a file of decimal commas
 * splits evenly at them too; blanks come last, since they also stand around other delimiters. When
 * none fits (a ragged file), the one that cuts the first record into most cells is taken, and the
 * reader will say which line is ragged.
 *
 * Header. The first record holds names when
 *   - some column has text there and a number below: as data it could not be read; or
 *   - it holds no number at all: as data it would have no feature.
 * So 1.2,3.4,yes above 5.6,7.8,no is data. Numbers that rise or fall from cell to cell, such as
 * years, may be names too: of such a record guess_names says whether it holds names for certain,
 * which a note tells, or perhaps, which a warning does.
 *
 * Sampling opens the file anew for each question: a few blocks read twice are cheaper than
 * rewinding.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "files/columns.h"
#include "files/csv/csv.h"

enum { SAMPLE_RECORDS = 100, SAMPLE_BYTES = 1 << 18 };

/* ---- cells ----------------------------------------------------------------------------------- */

static bool is_word(const char *s, const char *end, const char *const *words) {
    size_t length = (size_t)(end - s);
    for (; *words != NULL; words++) {
        if (strlen(*words) == length && strncasecmp(*words, s, length) == 0) return true;
    }
    return false;
}

/* Digits, one comma, and what may follow a point: a number as it is written elsewhere. */
static bool is_decimal_comma(const char *begin, const char *end, double *x) {
    enum { LONGEST = 64 };
    char copy[LONGEST];
    const char *s = begin;
    if (s < end && (*s == '-' || *s == '+')) s++;
    const char *comma = s;
    while (comma < end && *comma >= '0' && *comma <= '9') comma++;
    if (comma == s || comma == end || *comma != ',' || comma + 1 == end) return false;
    bool digit = comma[1] >= '0' && comma[1] <= '9';
    if (!digit || end - begin >= LONGEST) return false;
    memcpy(copy, begin, (size_t)(end - begin));
    copy[comma - begin] = '.';
    return sgfsi_parse_num(copy, copy + (end - begin), x) == copy + (end - begin) && isfinite(*x);
}

const char *sgfsi_csv_comma_advice(const sgfsi_csv_format *format) {
    return format->decimal_comma
               ? "the numbers of this file have decimal commas, beside which a point, perhaps "
                 "between thousands, is not understood."
               : "write numbers with a decimal point, as in 1.5: decimal commas are not "
                 "understood, "
                 "and commas between thousands with --amount only.";
}

sgfsi_cell_kind sgfsi_cell_classify(const sgfsi_cell *cell, double *x) {
    static const char *const missing[] = {"",        "NA",      "N/A",      "-NaN", "1.#IND",
                                          "-1.#IND", "1.#QNAN", "-1.#QNAN", NULL};
    static const char *const perhaps[] = {"?", "null", "#N/A", "#NA", "#N/A N/A", "<NA>", NULL};
    static const char *const none[] = {"none", ".", "-", NULL};
    const char *s = cell->begin, *end = cell->end;
    while (s < end && (*s == ' ' || *s == '\t')) s++; /* blanks inside quotes */
    while (end > s && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (sgfsi_parse_num(s, end, x) == end) {
        return isfinite(*x) ? SGFSI_CELL_NUMBER
               : isnan(*x)  ? SGFSI_CELL_MISSING
                            : SGFSI_CELL_INFINITE;
    }
    if (is_word(s, end, missing)) return SGFSI_CELL_MISSING;
    if (is_word(s, end, perhaps)) return SGFSI_CELL_PERHAPS;
    if (is_word(s, end, none)) return SGFSI_CELL_NONE;
    return is_decimal_comma(s, end, x) ? SGFSI_CELL_COMMA : SGFSI_CELL_TEXT;
}

/* ---- delimiter ------------------------------------------------------------------------------- */

/* How one delimiter cuts the first records. */
typedef struct cut {
    int64_t first, fewest; /* cells in the first record, and in the one that has fewest */
    bool even;             /* all have as many as the first */
} cut;

static sgfs_status try_delimiter(const char *path, char delimiter, cut *found, sgfs_err *err) {
    sgfsi_lines lines;
    *found = (cut){0, INT64_MAX, true};
    sgfs_status status = sgfsi_lines_open(&lines, path, err);
    if (status != SGFS_OK) return status;
    lines.delimiter = delimiter;
    int64_t bytes = 0;
    for (int i = 0; i < SAMPLE_RECORDS && (i < 3 || bytes < SAMPLE_BYTES); i++) {
        const char *begin, *end;
        sgfs_err ignored; /* with another delimiter the same quotes may well close */
        if (sgfsi_lines_next(&lines, &begin, &end, &ignored) != SGFS_OK) {
            found->even = false;
            break;
        }
        if (begin == NULL) break;
        int64_t count = sgfsi_cell_count(delimiter, begin, end);
        if (i == 0) found->first = count;
        if (count < found->fewest) found->fewest = count;
        found->even = found->even && count == found->first;
        bytes += end - begin;
    }
    sgfsi_lines_close(&lines);
    return SGFS_OK;
}

static sgfs_status choose_delimiter(const char *path, const char *option, char *delimiter,
                                    sgfs_err *err) {
    static const char candidates[] = {'\t', ';', '|', ',', ' '};
    bool one = strlen(option) == 1 && strchr("\"\n\r.+-0123456789", option[0]) == NULL;
    int64_t most = 1;
    *delimiter = one ? option[0] : ',';
    if (strcmp(option, "tab") == 0 || strcmp(option, "\\t") == 0) return *delimiter = '\t', SGFS_OK;
    if (strcmp(option, "blank") == 0 || strcmp(option, "space") == 0)
        return *delimiter = ' ', SGFS_OK;
    if (one) return SGFS_OK;
    if (option[0] != '\0' && strcmp(option, "auto") != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--delimiter \"%.20s\": give one character that no number holds, tab, "
                          "blank, or auto.",
                          option);
    }
    for (size_t i = 0; i < sizeof candidates; i++) {
        cut found;
        sgfs_status status = try_delimiter(path, candidates[i], &found, err);
        if (status != SGFS_OK) return status;
        /* Blanks stand inside text too: only where nothing else splits, and never a title of
         * several words over one column. */
        bool doubtful = candidates[i] == ' ' && (most > 1 || found.fewest < 2);
        bool even = found.even && found.first > 1;
        if (even || (found.first > most && !doubtful)) {
            most = found.first;
            *delimiter = candidates[i];
        }
        if (even) break;
    }
    return SGFS_OK;
}

/* ---- names and header ------------------------------------------------------------------------ */

static sgfs_status take_names(const sgfsi_lines *lines, const char *s, const char *end,
                              sgfsi_csv_format *f, sgfs_err *err) {
    for (int64_t i = 0; i < f->cols && s != NULL; i++) {
        sgfsi_cell cell;
        const char *stop = sgfsi_cell_scan(f->delimiter, s, end, &cell);
        if (stop == NULL) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s:%lld: text follows the closing quote of column %lld; a quote "
                              "inside a quoted cell is written twice.",
                              lines->text.path, (long long)lines->record_line, (long long)i + 1);
        }
        s = sgfsi_cell_next(f->delimiter, stop, end);
        size_t length = sgfsi_cell_text(&cell, NULL, 0);
        f->numbered = f->numbered || (i == 0 && length == 0); /* perhaps */
        if (length == 0) continue;                            /* keeps the made-up name */
        char *copy = malloc(length + 1);
        if (copy == NULL) return sgfsi_fail_memory(err, "column names");
        sgfsi_cell_text(&cell, copy, length + 1);
        free(f->names[i]);
        f->names[i] = copy;
    }
    return SGFS_OK;
}

/* A column of the sample: the cell of the first record, and what stands below it. */
typedef struct below {
    unsigned char kind; /* of the cell: sgfsi_cell_kind */
    bool digits;        /* the cell: nothing but digits */
    double value;       /* of the cell */
    double min, max;    /* of the numbers below */
    int64_t numbers;    /* so many */
    bool whole;         /* one of them is written without a point */
    bool again;         /* the cell is text, and so is one below that is the same */
} below;

typedef enum guess { ROWS, PERHAPS_NAMES, NAMES } guess;

/* Is a first record of numbers, perhaps with words among them, one of names? Names of columns rise
 * or fall, and are unlike the numbers below: far outside of their range, or whole where all others
 * have a point. No word among them is found below again. */
static guess guess_names(const below *b, int64_t cols, int64_t rows, bool nameless) {
    enum { FEW = 8, MANY = 20 };
    const below *last = NULL;
    double step = 0;
    int64_t numbers = 0, words = 0;
    bool even = true, ordered = true, years = true, recent = false, outside = true, unlike = true;
    for (int64_t i = 0; i < cols; i++) {
        const below *c = &b[i];
        if (c->kind == SGFSI_CELL_TEXT && !c->again) words++;
        if ((c->kind == SGFSI_CELL_TEXT && !c->again) || (i == 0 && nameless)) continue;
        if (c->kind != SGFSI_CELL_NUMBER || !c->digits) return ROWS;
        const double width = c->max - c->min, move = last != NULL ? c->value - last->value : 0;
        const bool far =
            c->numbers == 0 || (width > 0 ? c->value < c->min - width || c->value > c->max + width
                                          : c->value != c->min);
        if (numbers == 1) step = move;
        if (last != NULL) {
            even = even && move == step;
            ordered = ordered && move * step > 0;
        }
        years = years && c->value >= 1000 && c->value < 3000;
        recent = recent || (c->numbers > 0 && c->max >= 1000 && c->min < 3000);
        outside = outside && far;
        unlike = unlike && (far || !c->whole);
        last = c;
        numbers++;
    }
    if (numbers == 0 || rows == 0 || !ordered) return ROWS;
    if (numbers == 1) return words > 0 && years && outside && rows >= FEW ? PERHAPS_NAMES : ROWS;
    if (years && outside && (rows >= FEW || !recent)) return NAMES;
    if (rows < FEW) return ROWS;
    if (even && (numbers >= MANY || (numbers >= 3 && unlike))) return NAMES;
    return unlike || (even && numbers > 4) ? PERHAPS_NAMES : ROWS;
}

/* The cells of a record into what is known of their columns. */
static void add_below(const sgfsi_csv_format *f, const char *s, const char *end, bool first,
                      below *b) {
    char text[SGFSI_SHOWN_ROOM];
    for (int64_t i = 0; i < f->cols && s != NULL; i++) {
        sgfsi_cell cell;
        double x = 0;
        const char *stop = sgfsi_cell_scan(f->delimiter, s, end, &cell);
        if (stop == NULL) return;
        const sgfsi_cell_kind kind = sgfsi_cell_classify(&cell, &x);
        const size_t length = (size_t)(cell.end - cell.begin);
        bool digits = length > 0;
        for (size_t k = 0; k < length; k++)
            digits = digits && cell.begin[k] >= '0' && cell.begin[k] <= '9';
        if (first) {
            b[i] = (below){(unsigned char)kind, digits, x, INFINITY, -INFINITY, 0, false, false};
        } else if (kind == SGFSI_CELL_NUMBER || kind == SGFSI_CELL_COMMA) {
            b[i].min = x < b[i].min ? x : b[i].min;
            b[i].max = x > b[i].max ? x : b[i].max;
            b[i].numbers++;
            b[i].whole = b[i].whole || (kind == SGFSI_CELL_NUMBER && digits);
        } else if (kind == SGFSI_CELL_TEXT && b[i].kind == SGFSI_CELL_TEXT) {
            size_t bytes = sgfsi_cell_text(&cell, text, sizeof text);
            b[i].again = b[i].again ||
                         (bytes < sizeof text ? strcmp(text, f->names[i]) == 0
                                              : strncmp(text, f->names[i], sizeof text - 1) == 0);
        }
        s = sgfsi_cell_next(f->delimiter, stop, end);
    }
}

/* Does the first record, of which b knows the cells, hold names? Takes records from `lines`. */
static void detect_header(sgfsi_lines *lines, const sgfsi_read_options *options,
                          sgfsi_csv_format *f, below *b) {
    int64_t texts = 0, numbers = 0, bytes = 0, rows = 0;
    for (int64_t i = 0; i < f->cols; i++) {
        texts += b[i].kind == SGFSI_CELL_TEXT;
        numbers += b[i].kind == SGFSI_CELL_NUMBER || b[i].kind == SGFSI_CELL_COMMA;
    }
    f->header = texts > 0 && numbers == 0;
    if (f->header) return;
    for (; rows < SAMPLE_RECORDS && (rows < 3 || bytes < SAMPLE_BYTES) && !f->header; rows++) {
        const char *begin, *end;
        sgfs_err ignored; /* the reader will meet it again */
        if (sgfsi_lines_next(lines, &begin, &end, &ignored) != SGFS_OK || begin == NULL) break;
        add_below(f, begin, end, false, b);
        for (int64_t i = 0; i < f->cols; i++)
            f->header = f->header || (b[i].kind == SGFSI_CELL_TEXT && b[i].numbers > 0);
        bytes += end - begin;
    }
    guess guessed = f->header ? NAMES : guess_names(b, f->cols, rows, f->numbered);
    f->header = guessed == NAMES;
    if (f->header)
        sgfsi_say(options->log, SGFS_NOTE,
                  "%s: line %lld is taken for column names, though %lld of its cells are numbers; "
                  "--header no if it is data.",
                  lines->text.path, (long long)f->first_line, (long long)numbers);
    else if (guessed == PERHAPS_NAMES)
        sgfsi_say(options->log, SGFS_WARNING,
                  "%s: line %lld is taken for a row of data, though its numbers look like names of "
                  "columns: --header yes if they are, --header no if not.",
                  lines->text.path, (long long)f->first_line);
}

/* Names are taken before the header is decided, since the first record is gone after the next one.
 */
static sgfs_status read_head(sgfsi_lines *lines, const sgfsi_read_options *options,
                             sgfsi_csv_format *f, sgfs_err *err) {
    const char *begin, *end;
    sgfs_status status = sgfsi_lines_next(lines, &begin, &end, err);
    if (status != SGFS_OK) return status;
    if (begin == NULL)
        return sgfsi_fail(err, SGFS_EDATA, "%s: the file is empty.", lines->text.path);
    f->first_line = lines->record_line;
    f->cols = sgfsi_cell_count(f->delimiter, begin, end);
    if (f->cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s:%lld: has %lld columns, more than the %d allowed; is the "
                          "table transposed?",
                          lines->text.path, (long long)f->first_line, (long long)f->cols,
                          SGFSI_MAX_COLS);
    }
    f->names = sgfsi_names_made_up(f->cols);
    below *first = calloc((size_t)f->cols, sizeof *first);
    if (f->names == NULL || first == NULL) {
        free(first);
        return sgfsi_fail_memory(err, "column names");
    }
    for (int64_t i = 0; i < f->cols; i++) first[i].kind = SGFSI_CELL_MISSING; /* misquoted */
    add_below(f, begin, end, true, first);
    bool found = strcmp(options->header, "yes") == 0;
    bool never = strcmp(options->header, "no") == 0;
    f->header = found;
    if (!never) status = take_names(lines, begin, end, f, err);
    if (status == SGFS_OK && !found && !never) detect_header(lines, options, f, first);
    free(first);
    return status;
}

/* 1,234: a comma between thousands as well as a decimal one? */
static bool is_thousands(const sgfsi_cell *cell) {
    const char *s = cell->begin, *comma = memchr(s, ',', (size_t)(cell->end - s));
    if (*s == '-' || *s == '+') s++;
    return comma != NULL && *s != '0' && comma - s <= 3 && cell->end - comma == 4;
}

/* Where commas do not separate cells they are decimal ones, as in R's read.csv2, if numbers have
 * them, no number has a point, and not all of them could as well be thousands. Takes records from
 * `lines`. */
static bool has_decimal_commas(sgfsi_lines *lines, const sgfsi_csv_format *f) {
    const char *begin, *end;
    sgfs_err ignored;
    bool commas = false;
    int64_t bytes = 0;
    if (f->delimiter == ',') return false;
    for (int r = 0; bytes < SAMPLE_BYTES || r < 3; r++) {
        if (sgfsi_lines_next(lines, &begin, &end, &ignored) != SGFS_OK || begin == NULL) break;
        bytes += end - begin;
        for (const char *s = begin; s != NULL;) {
            sgfsi_cell cell;
            double x;
            const char *stop = sgfsi_cell_scan(f->delimiter, s, end, &cell);
            if (stop == NULL) return false; /* the reader will say why */
            sgfsi_cell_kind kind = sgfsi_cell_classify(&cell, &x);
            size_t length = (size_t)(cell.end - cell.begin);
            if (kind == SGFSI_CELL_NUMBER && memchr(cell.begin, '.', length) != NULL) return false;
            commas = commas || (kind == SGFSI_CELL_COMMA && !is_thousands(&cell));
            s = sgfsi_cell_next(f->delimiter, stop, end);
        }
    }
    return commas;
}

/* Tables that pandas or R have written begin with a column without a name (or "Unnamed: 0", if they
 * have read it back) that numbers the rows: whole numbers, no two of them the same. Takes records
 * from `lines`. */
static bool has_row_numbers(sgfsi_lines *lines, const sgfsi_csv_format *f) {
    double seen[SAMPLE_RECORDS];
    int count = 0;
    bool nameless = f->numbered || strcmp(f->names[0], "Unnamed: 0") == 0;
    const char *begin, *end;
    sgfs_err ignored;
    if (!f->header || f->cols < 2 || !nameless) return false;
    while (count < SAMPLE_RECORDS && sgfsi_lines_next(lines, &begin, &end, &ignored) == SGFS_OK &&
           begin != NULL) {
        sgfsi_cell cell;
        double x = NAN;
        const char *stop = sgfsi_cell_scan(f->delimiter, begin, end, &cell);
        bool number = stop != NULL && sgfsi_cell_classify(&cell, &x) == SGFSI_CELL_NUMBER;
        if (!number || x < 0 || x != floor(x)) return false;
        for (int i = 0; i < count; i++)
            if (seen[i] == x) return false;
        seen[count++] = x;
    }
    return count > 0;
}

sgfs_status sgfsi_csv_sniff(const char *path, const sgfsi_read_options *options,
                            sgfsi_csv_format *format, sgfs_err *err) {
    memset(format, 0, sizeof *format);
    sgfs_status status = choose_delimiter(path, options->delimiter, &format->delimiter, err);
    if (status != SGFS_OK) return status;
    sgfsi_lines lines;
    status = sgfsi_lines_open(&lines, path, err);
    if (status != SGFS_OK) return status;
    lines.delimiter = format->delimiter;
    status = read_head(&lines, options, format, err);
    format->numbered = status == SGFS_OK && has_row_numbers(&lines, format);
    sgfsi_lines_close(&lines);
    if (status == SGFS_OK) status = sgfsi_lines_open(&lines, path, err); /* from the first record */
    if (status == SGFS_OK) {
        lines.delimiter = format->delimiter;
        format->decimal_comma = has_decimal_commas(&lines, format);
        sgfsi_lines_close(&lines);
    }
    if (format->decimal_comma)
        sgfsi_say(options->log, SGFS_NOTE,
                  "%s: commas in numbers are decimal commas: 1,5 is one and a half.", path);
    if (status == SGFS_OK && !format->header) { /* the names taken were cells */
        format->first = format->names;
        format->names = sgfsi_names_made_up(format->cols);
        if (format->names == NULL) status = sgfsi_fail_memory(err, "column names");
    }
    if (status != SGFS_OK) {
        sgfsi_names_free(format->names, format->cols);
        sgfsi_names_free(format->first, format->cols);
        memset(format, 0, sizeof *format);
    }
    return status;
}
