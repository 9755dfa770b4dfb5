/* SPDX-License-Identifier: MIT
 * csv_faults.c: cells that cannot be used, and what a user can do about them.
 *
 *     empty, NA, ?                   --na drop, --na mean; --drop where every row is empty, or so
 *                                    many that --na drop would leave out most of the rows
 *     words                          --categorical
 *     dates                          --date
 *     amounts                        --amount
 *     another word in most rows,     --drop: nothing can be learnt from them as they are
 *     other dates, numbers
 *     with many words among them
 *     infinite, 1,5, numbers with    nothing: the file has to be mended
 *     a few words among them
 *
 * One column is told with its line and number; several are told in one sentence, which ends with
 * the options that make the file readable: a user should not meet them one at a time.
 */
#include "files/csv/csv_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/text/amount.h"
#include "files/text/date.h"
#include "files/text/looks.h"

/* ---- collecting ------------------------------------------------------------------------------ */

static sgfsi_csv_fault *column_of(sgfsi_csv_faults *f, int64_t cols, int64_t col) {
    if (f->column == NULL) f->column = calloc((size_t)cols, sizeof *f->column);
    f->cols = cols;
    return f->column != NULL ? &f->column[col] : NULL;
}

static void add_line(sgfsi_csv_faults *f, int64_t line) {
    if (f->lines > 0 && f->last == line) return;
    if (f->lines < SGFSI_SHOWN_LINES) f->line[f->lines] = line;
    f->last = line;
    f->lines++;
}

bool sgfsi_csv_fault_missing(sgfsi_csv_faults *f, int64_t cols, int64_t col, int64_t line,
                             const sgfsi_cell *cell, sgfsi_cell_kind kind) {
    sgfsi_csv_fault *c = column_of(f, cols, col);
    if (c == NULL) return false;
    if (f->missing++ == 0) f->col = col;
    c->infinite += kind != SGFSI_CELL_MISSING;
    if (c->missing++ == 0) {
        c->missing_line = line;
        c->too_large = kind == SGFSI_CELL_NUMBER;
        sgfsi_cell_show(cell, c->missing_shown);
    }
    add_line(f, line);
    return true;
}

static bool add_word(sgfsi_csv_fault *c, const char *text) {
    if (c->words.count > SGFSI_MAX_LEVELS) return true;
    return sgfsi_words_add(&c->words, text, strlen(text)) >= 0;
}

bool sgfsi_csv_fault_text(sgfsi_csv_faults *f, int64_t cols, int64_t col, int64_t line,
                          const sgfsi_cell *cell, bool comma) {
    char text[SGFSI_SHOWN_ROOM]; /* words that begin alike are one here: near enough to judge by */
    sgfsi_csv_fault *c = column_of(f, cols, col);
    if (c == NULL) return false;
    sgfsi_cell_show(cell, text);
    if (c->text++ == 0) {
        c->text_line = line;
        c->comma = comma;
        memcpy(c->text_shown, text, sizeof text);
    }
    return add_word(c, text);
}

bool sgfsi_csv_faults_join(sgfsi_csv_faults *f, const sgfsi_csv_faults *part, int64_t line) {
    if (part->column == NULL) return true;
    if (column_of(f, part->cols, 0) == NULL) return false;
    if (f->missing == 0) f->col = part->col;
    for (int64_t i = 0; i < part->lines && i < SGFSI_SHOWN_LINES; i++) {
        if (f->lines + i < SGFSI_SHOWN_LINES) f->line[f->lines + i] = line + part->line[i];
    }
    f->missing += part->missing;
    f->lines += part->lines;
    bool made = true;
    for (int64_t j = 0; made && j < part->cols; j++) {
        const sgfsi_csv_fault *from = &part->column[j];
        sgfsi_csv_fault *to = &f->column[j];
        if (to->missing == 0 && from->missing > 0) {
            to->missing_line = line + from->missing_line;
            to->too_large = from->too_large;
            memcpy(to->missing_shown, from->missing_shown, sizeof to->missing_shown);
        }
        if (to->text == 0 && from->text > 0) {
            to->text_line = line + from->text_line;
            to->comma = from->comma;
            memcpy(to->text_shown, from->text_shown, sizeof to->text_shown);
        }
        to->missing += from->missing;
        to->infinite += from->infinite;
        to->text += from->text;
        for (int64_t k = 0; made && k < from->words.count; k++)
            made = add_word(to, from->words.text[k]);
    }
    return made;
}

void sgfsi_csv_faults_clear(sgfsi_csv_faults *f) {
    for (int64_t j = 0; f->column != NULL && j < f->cols; j++)
        sgfsi_words_free(&f->column[j].words);
    free(f->column);
    memset(f, 0, sizeof *f);
}

bool sgfsi_csv_faults_text(const sgfsi_csv_faults *f) {
    bool text = false;
    for (int64_t j = 0; f->column != NULL && j < f->cols; j++) text = text || f->column[j].text > 0;
    return text;
}

/* ---- what a column of text is ---------------------------------------------------------------- */

typedef enum nature { WORDS, DATES, AMOUNTS, NAMES, SIGNS, COMMAS, NUMBERS, EMPTY } nature;

/* By the rules of --categorical auto (transform_columns.c), so that what is called words here is
 * taken there. */
static nature judge(const sgfsi_csv_fault *c, int64_t rows) {
    enum { FEW = 10 };
    bool many = c->words.count > FEW;
    if (c->text == 0 && c->missing - c->infinite == rows && rows > 0) return EMPTY;
    if (c->comma) return COMMAS;
    if (sgfsi_words_are_dates(c->words.count, c->words.text)) return DATES;
    if (many && sgfsi_words_are_amounts(c->words.count, c->words.text)) return AMOUNTS;
    if (many && sgfsi_words_look_like(c->words.count, c->words.text) != NULL) return SIGNS;
    if (2 * (c->text + c->missing) < rows) return NUMBERS;
    return many && (c->words.count > SGFSI_MAX_LEVELS || 2 * c->words.count > rows) ? NAMES : WORDS;
}

/* ---- options that would help ----------------------------------------------------------------- */

enum { OPTIONS_ROOM = 224, TARGET_ROOM = 160, NA_ROOM = 400 };

/* So few words among numbers that they are mistakes, which are mended in the file. */
static bool is_typo(const sgfsi_csv_fault *c, int64_t rows) {
    return c->text > 0 && judge(c, rows) == NUMBERS && 20 * c->text <= rows;
}

/* Columns that no option mends but --drop. Numbers with commas are the file's business. */
static bool is_to_drop(const sgfsi_csv_fault *c, int64_t rows) {
    nature is = judge(c, rows);
    bool mended = is == COMMAS || is_typo(c, rows);
    bool read = is == WORDS || is == DATES || is == AMOUNTS;
    return is == EMPTY || c->sparse || (c->text > 0 && !read && !mended);
}

/* Rows that --na drop would leave over. */
typedef struct staying {
    int64_t rows;
    bool least; /* there may be more */
} staying;

/* Where --na drop alone would leave out most rows, features that lack most values go first, as many
 * as have to until half of the rows is sure to stay: they are marked. */
static staying mark_sparse(const sgfsi_csv_asked *a, sgfsi_csv_faults *f, int64_t rows) {
    int64_t lacking = 0;
    staying found = {rows - f->lines, false};
    for (int64_t j = 0; j < f->cols; j++) {
        const bool out = is_to_drop(&f->column[j], rows);
        found.least = found.least || (out && f->column[j].missing > 0);
        if (!out) lacking += f->column[j].missing;
    }
    while (a->options->run == NULL && 2 * found.rows < rows && 2 * lacking > rows) {
        int64_t most = -1;
        for (int64_t j = 0; j < f->cols; j++) {
            const sgfsi_csv_fault *c = &f->column[j];
            bool may = a->role[j] == SGFSI_ROLE_FEATURE && !is_to_drop(c, rows);
            if (may && (most < 0 || c->missing > f->column[most].missing)) most = j;
        }
        if (most < 0 || 10 * f->column[most].missing < rows) break;
        lacking -= f->column[most].missing;
        f->column[most].sparse = found.least = true;
    }
    if (found.least && rows - lacking > found.rows) found.rows = rows - lacking;
    return found;
}

/* The columns of the file that an option has already, and those of that nature (NAMES: those that
 * have to go), by name; by number where a name has a comma in it or `numbers` says so. */
static void list_columns(const sgfsi_csv_asked *a, const sgfsi_csv_faults *f, int64_t rows,
                         nature is, bool numbers, char out[OPTIONS_ROOM]) {
    const char *before = is == NAMES     ? a->options->drop
                         : is == DATES   ? a->options->date
                         : is == AMOUNTS ? a->options->amount
                                         : a->options->categorical;
    out[0] = '\0';
    if (before != NULL) sgfsi_append(out, OPTIONS_ROOM, "%.100s", before);
    for (int64_t j = 0; j < f->cols; j++) {
        const char *name = a->format->names[j], *comma = out[0] != '\0' ? "," : "";
        const sgfsi_csv_fault *c = &f->column[j];
        bool leave = is_to_drop(c, rows);
        if (!(is == NAMES ? leave : !leave && c->text > 0 && judge(c, rows) == is)) continue;
        if (numbers || strchr(name, ',') != NULL)
            sgfsi_append(out, OPTIONS_ROOM, "%s%lld", comma, (long long)j + 1);
        else sgfsi_append(out, OPTIONS_ROOM, "%s%s", comma, name);
    }
}

static void add_option(char out[OPTIONS_ROOM], const char *flag, const char *value) {
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=+-";
    const char *quote = value[strspn(value, plain)] != '\0' ? "'" : "";
    sgfsi_append(out, OPTIONS_ROOM, "%s--%s %s%s%s", out[0] != '\0' ? " " : "", flag, quote, value,
                 quote);
}

/* Names, or numbers where these are shorter. */
static void make_drop(const sgfsi_csv_asked *a, const sgfsi_csv_faults *f, int64_t rows,
                      char out[OPTIONS_ROOM]) {
    list_columns(a, f, rows, NAMES, false, out);
    if (strlen(out) > 100) list_columns(a, f, rows, NAMES, true, out);
}

static void make_options(const sgfsi_csv_asked *a, const sgfsi_csv_faults *f, int64_t rows,
                         char out[OPTIONS_ROOM]) {
    const char *named = a->options->categorical;
    char list[OPTIONS_ROOM];
    bool words = false, dates = false, amounts = false, others = false, missing = false;
    out[0] = '\0';
    for (int64_t j = 0; j < f->cols; j++) {
        const sgfsi_csv_fault *c = &f->column[j];
        bool use = !is_to_drop(c, rows);
        words = words || (use && c->text > 0 && judge(c, rows) == WORDS);
        dates = dates || (use && c->text > 0 && judge(c, rows) == DATES);
        amounts = amounts || (use && c->text > 0 && judge(c, rows) == AMOUNTS);
        others = others || !use;
        missing = missing || (c->missing > c->infinite && use);
    }
    if (words && (named == NULL || named[0] == '\0')) add_option(out, "categorical", "auto");
    else if (words) {
        list_columns(a, f, rows, WORDS, false, list);
        add_option(out, "categorical", list);
    }
    if (dates) {
        list_columns(a, f, rows, DATES, false, list);
        add_option(out, "date", list);
    }
    if (amounts) {
        list_columns(a, f, rows, AMOUNTS, false, list);
        add_option(out, "amount", list);
    }
    if (others) {
        make_drop(a, f, rows, list);
        add_option(out, "drop", list);
    }
    if (missing && a->options->na == SGFSI_NA_ERROR) add_option(out, "na", "drop");
}

/* ---- sentences ------------------------------------------------------------------------------- */

static const char *header_hint(const sgfsi_csv_asked *a, int64_t line) {
    bool doubtful = !a->format->header && line == a->format->first_line;
    return !doubtful                                 ? ""
           : strcmp(a->options->header, "auto") == 0 ? " If this line holds column names, say "
                                                       "--header yes."
                                                     : " Is --header no right?";
}

/* Which column was taken as the target, where nobody named one. */
static const char *target_hint(const sgfsi_csv_asked *a, char out[TARGET_ROOM]) {
    const bool guessed = a->options->target[0] == '\0' && a->options->run == NULL;
    out[0] = '\0';
    for (int64_t j = 0; guessed && a->format->header && j < a->format->cols; j++) {
        if (a->role[j] != SGFSI_ROLE_TARGET || strcmp(a->format->names[j], "y") == 0) continue;
        sgfsi_append(out, TARGET_ROOM,
                     " \"%.40s\" was taken as the target because it is the last column; --target "
                     "NAME takes another.",
                     a->format->names[j]);
    }
    return out;
}

/* What --na can do: a missing target cannot be filled in, and a number is not missing. */
static const char *na_hint(const sgfsi_csv_asked *a, sgfsi_csv_faults *f, int64_t rows,
                           char out[NA_ROOM]) {
    bool features = false, sparse = false;
    int64_t infinite = 0;
    for (int64_t j = 0; j < f->cols; j++) {
        features = features || (f->column[j].missing > 0 && a->role[j] == SGFSI_ROLE_FEATURE);
        infinite += f->column[j].infinite;
    }
    if (infinite > 0 && f->column[f->col].too_large)
        return "--storage f64 has room for it; where it is wrong, write NA in its place and see "
               "--na.";
    if (infinite > 0 && infinite < f->missing)
        return "some of them are infinite numbers, which --na does not touch: write NA in their "
               "place; for the others --na drop leaves such rows out, and --na mean fills in the "
               "mean of the column.";
    if (infinite > 0)
        return "an infinite number is wrong and not missing, so that --na does not touch it: write "
               "NA in its place and see --na, or leave the row out.";
    if (a->options->run != NULL)
        return "fill them in, or say --na drop, which leaves the predictions of such rows empty.";
    char drop[OPTIONS_ROOM], first[OPTIONS_ROOM] = "";
    const int64_t stay = rows - f->lines;
    const staying found = mark_sparse(a, f, rows);
    for (int64_t j = 0; j < f->cols; j++) sparse = sparse || f->column[j].sparse;
    make_drop(a, f, rows, drop);
    if (sparse) {
        add_option(first, "drop", drop);
        sgfsi_append(first, sizeof first, " --na drop keeps at least %lld; ",
                     (long long)found.rows);
    }
    snprintf(out, NA_ROOM,
             features ? "--na drop leaves such rows out (%lld of %lld stay); %s--na mean fills in "
                        "the mean of the column; --na error, the default, refuses them."
                      : "--na drop and --na mean leave such rows out (%lld of %lld stay), since "
                        "there is no target to make up; %s--na error, the default, refuses them.",
             (long long)stay, (long long)rows, first);
    return out;
}

/* Columns without a single value, where the file has no other fault than missing values. */
static sgfs_status fail_empty(const sgfsi_csv_asked *a, const sgfsi_csv_faults *f, int64_t rows,
                              sgfs_err *err) {
    char drop[OPTIONS_ROOM], option[OPTIONS_ROOM] = "", others[200] = "";
    int64_t count = 0, first = -1, missing = f->missing;
    for (int64_t j = 0; j < f->cols; j++) {
        if (judge(&f->column[j], rows) != EMPTY) continue;
        missing -= f->column[j].missing;
        if (count++ == 0) first = j;
        if (a->role[j] != SGFSI_ROLE_FEATURE)
            return sgfsi_fail(err, SGFS_EDATA,
                              "%.200s: column %lld (\"%.60s\"), the %s, is empty in each of the "
                              "%lld rows: is another column meant?",
                              a->path, (long long)j + 1, a->format->names[j],
                              a->role[j] == SGFSI_ROLE_TARGET ? "target" : "weight or exposure",
                              (long long)rows);
    }
    list_columns(a, f, rows, NAMES, false, drop);
    add_option(option, "drop", drop);
    if (missing > 0)
        snprintf(others, sizeof others, "; %lld other cells are empty: --na drop or --na mean",
                 (long long)missing);
    if (count == 1)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.200s: column %lld (\"%.60s\") is empty in each of the %lld rows: %s "
                          "leaves it out%s.",
                          a->path, (long long)first + 1, a->format->names[first], (long long)rows,
                          option, others);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.200s: %lld columns (the first is \"%.60s\") are empty in each of the %lld "
                      "rows: %s leaves them out%s.",
                      a->path, (long long)count, a->format->names[first], (long long)rows, option,
                      others);
}

static sgfs_status fail_missing(const sgfsi_csv_asked *a, sgfsi_csv_faults *f, int64_t rows,
                                sgfs_err *err) {
    char hint[NA_ROOM], target[TARGET_ROOM],
        lines[SGFSI_SHOWN_LINES * 24] = "", what[SGFSI_SHOWN_CHARS + 64], by[160] = "";
    int64_t shown = f->lines < SGFSI_SHOWN_LINES ? f->lines : SGFSI_SHOWN_LINES, columns = 0;
    const sgfsi_csv_fault *first = &f->column[f->col];
    for (int64_t i = 0; i < shown; i++)
        sgfsi_append(lines, sizeof lines, "%s%lld", i == 0 ? "" : ", ", (long long)f->line[i]);
    if (first->missing_shown[0] == '\0') snprintf(what, sizeof what, "is empty");
    else
        snprintf(what, sizeof what, "holds \"%s\", %s", first->missing_shown,
                 first->too_large ? "too large for single precision" : "not a finite number");
    for (int64_t j = 0; first->missing < f->missing && j < f->cols; j++) {
        if (f->column[j].missing == 0) continue;
        if (columns++ < 4)
            sgfsi_append(by, sizeof by, "%s\"%.24s\" %lld", columns == 1 ? " " : ", ",
                         a->format->names[j], (long long)f->column[j].missing);
    }
    if (columns > 4) sgfsi_append(by, sizeof by, " and %lld more", (long long)columns - 4);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: column %lld (\"%.40s\") %s; there %s %lld such cell%s, on line%s "
                      "%s%s:%s%s %s%s%s",
                      a->path, (long long)f->line[0], (long long)f->col + 1,
                      a->format->names[f->col], what, f->missing == 1 ? "is" : "are",
                      (long long)f->missing, f->missing == 1 ? "" : "s", f->lines == 1 ? "" : "s",
                      lines, f->lines > shown ? ", ..." : "", by, columns > 0 ? ";" : "",
                      na_hint(a, f, rows, hint), header_hint(a, f->line[0]),
                      target_hint(a, target));
}

/* One column of text, and nothing else. */
static sgfs_status fail_text(const sgfsi_csv_asked *a, const sgfsi_csv_faults *f, int64_t col,
                             int64_t rows, sgfs_err *err) {
    const sgfsi_csv_fault *c = &f->column[col];
    char advice[320], target[TARGET_ROOM];
    const char *name = a->format->names[col];
    const char *like = sgfsi_looks_like(c->text_shown);
    if (c->comma) snprintf(advice, sizeof advice, "%s", sgfsi_csv_comma_advice(a->format));
    else if (judge(c, rows) == DATES && a->role[col] == SGFSI_ROLE_FEATURE)
        snprintf(advice, sizeof advice,
                 "it is a date: --date %.100s makes year, month, weekday and hour of the column, "
                 "and --drop %.100s leaves it out.",
                 name, name);
    else if (judge(c, rows) == AMOUNTS && a->role[col] == SGFSI_ROLE_FEATURE)
        snprintf(advice, sizeof advice,
                 "it is an amount: --amount %.100s takes the signs away, and --drop %.100s leaves "
                 "the column out.",
                 name, name);
    else if (like != NULL) snprintf(advice, sizeof advice, "%s", like);
    else if (judge(c, rows) == NAMES)
        snprintf(advice, sizeof advice,
                 "it has another word in most rows: leave the column out with --drop.");
    else if (judge(c, rows) == NUMBERS)
        snprintf(advice, sizeof advice,
                 "%s: write NA there and see --na; if words are meant, name it in --categorical; "
                 "else leave the column out with --drop or --features.",
                 c->text == 1 ? "it is the only one" : "most of its cells are numbers");
    else
        snprintf(advice, sizeof advice,
                 "if its words are meant, name it in --categorical (or say --categorical auto); "
                 "else leave the column out with --drop or --features.");
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: column %lld (\"%.40s\") holds \"%s\", not a number; %s%s%s",
                      a->path, (long long)c->text_line, (long long)col + 1, name, c->text_shown,
                      advice, header_hint(a, c->text_line), target_hint(a, target));
}

static void add_column(const sgfsi_csv_asked *a, const sgfsi_csv_fault *c, int64_t col,
                       int64_t rows, char *out, size_t room) {
    static const char *const is[] = {[WORDS] = "holds words",
                                     [DATES] = "holds dates",
                                     [NAMES] = "has another word in most rows",
                                     [AMOUNTS] = "holds amounts",
                                     [SIGNS] = "holds dates or amounts",
                                     [COMMAS] = "looks like numbers with decimal commas",
                                     [NUMBERS] = "holds words among numbers",
                                     [EMPTY] = ""};
    out[0] = '\0';
    sgfsi_append(out, room, "\"%.24s\" ", a->format->names[col]);
    if (c->text > 0)
        sgfsi_append(out, room, "%s (line %lld: \"%.20s\")", is[judge(c, rows)],
                     (long long)c->text_line, c->text_shown);
    const char *and = c->text > 0 ? " and " : "";
    if (c->missing > 0 && judge(c, rows) == EMPTY) sgfsi_append(out, room, "is empty in every row");
    else if (c->missing > 0 && c->infinite == c->missing)
        sgfsi_append(out, room, "%sholds \"%.20s\" (line %lld), for which NA is to be written", and,
                     c->missing_shown, (long long)c->missing_line);
    else if (c->missing > 0)
        sgfsi_append(out, room, "%slacks %lld value%s (line %lld)", and, (long long)c->missing,
                     c->missing == 1 ? "" : "s", (long long)c->missing_line);
}

sgfs_status sgfsi_csv_fail_faults(const sgfsi_csv_asked *a, sgfsi_csv_faults *f, int64_t rows,
                                  sgfs_err *err) {
    int64_t bad = 0, text = 0, col = -1, told = 0, first = INT64_MAX;
    bool target = false, names = true; /* the target, which no option mends; words in line 1 only */
    bool empty = false, infinite = false, comma = false, typo = false;
    for (int64_t j = 0; j < f->cols; j++) {
        const sgfsi_csv_fault *c = &f->column[j];
        bad += c->text > 0 || c->missing > 0;
        text += c->text > 0;
        if (c->text > 0 && col < 0) col = j;
        empty = empty || judge(c, rows) == EMPTY;
        infinite = infinite || c->infinite > 0;
        comma = comma || (c->text > 0 && c->comma);
        typo = typo || is_typo(c, rows);
        names = names && (c->text == 0 || (c->text == 1 && c->text_line == a->format->first_line));
        target = target || (c->text > 0 && a->role[j] == SGFSI_ROLE_TARGET);
        if (c->text > 0 && c->text_line < first) first = c->text_line;
        if (c->missing > 0 && c->missing_line < first) first = c->missing_line;
    }
    bool named = empty && !infinite && a->options->na == SGFSI_NA_ERROR && a->options->run == NULL;
    if (text == 0 && named) return fail_empty(a, f, rows, err);
    if (text == 0) return fail_missing(a, f, rows, err);
    if (target || names || (bad == 1 && f->missing == 0)) return fail_text(a, f, col, rows, err);
    /* The options are what matters: the columns get the room that these leave. */
    enum { MORE = sizeof "; and 1000000 more" - 1 };
    char options[OPTIONS_ROOM], columns[sizeof err->text] = "", one[160], guess[TARGET_ROOM];
    char stay[80] = "", mend[160] = "";
    const staying found = mark_sparse(a, f, rows);
    make_options(a, f, rows, options);
    if (strstr(options, "--na drop") != NULL && found.rows <= 0)
        snprintf(stay, sizeof stay, " (or --na mean)");
    else if (strstr(options, "--na drop") != NULL)
        snprintf(stay, sizeof stay, " (%s%lld of %s%lld rows stay; or --na mean)",
                 found.least ? "at least " : "", (long long)found.rows,
                 a->partly ? "the first " : "", (long long)rows);
    if (comma) sgfsi_append(mend, sizeof mend, " Write decimal points (1.5 for 1,5).");
    if (typo) sgfsi_append(mend, sizeof mend, " Write NA for words among numbers and see --na.");
    const char *hint = header_hint(a, first);
    target_hint(a, guess);
    size_t fixed = strnlen(a->path, 120) + strlen(options) + strlen(stay) + strlen(mend) +
                   strlen(hint) + strlen(guess) + 120;
    size_t room = fixed < sizeof err->text - 80 ? sizeof err->text - fixed : 80;
    for (int64_t j = 0; j < f->cols; j++) {
        const sgfsi_csv_fault *c = &f->column[j];
        if (c->text == 0 && c->missing == 0) continue;
        add_column(a, c, j, rows, one, sizeof one);
        size_t rest = told + 1 < bad ? MORE : 0;
        if (told > 0 && strlen(columns) + strlen(one) + 2 + rest > room) break;
        sgfsi_append(columns, sizeof columns, "%s%s", told++ > 0 ? "; " : "", one);
    }
    if (told < bad)
        sgfsi_append(columns, sizeof columns, "; and %lld more", (long long)(bad - told));
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.120s:%lld: %lld columns cannot be used as they are: %s.%s%s%s%s%s%s%s",
                      a->path, (long long)first, (long long)bad, columns, guess, mend,
                      options[0] == '\0' ? "" : " With these options ",
                      options[0] == '\0' ? ""
                      : mend[0] != '\0'  ? "the others can be: "
                                         : "they can be: ",
                      options, stay, hint);
}
