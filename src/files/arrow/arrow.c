/* SPDX-License-Identifier: MIT
 * arrow.c: streams and files of Arrow (Feather) as a flow of rows (flow.h). ipc.c reads the
 * messages; here columns become rows of doubles, and words numbers.
 *
 * What a CSV file of the same table gives is given here, too: words are numbered in the order of
 * their first appearance, whatever numbers a dictionary has for them; an empty text or "NA" is a
 * missing value, as null and NaN are. What differs is that columns have types: a text is a word
 * even where it looks like a number, and a truth value is 1 or 0.
 *
 * The file is gone through until every column of words has one, and then from the beginning: a flow
 * shows a word of each before its first row. Memory: one batch of the file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/words.h"
#include "files/arrow/ipc.h"
#include "files/columns.h"
#include "files/csv/csv.h"
#include "files/find_columns.h"
#include "files/flow.h"
#include "files/text/amount.h"
#include "files/text/date.h"

enum { WORD_BYTES = 1024, NOT_YET = -1, MISSING = -2 };

typedef struct column {
    unsigned char role;
    bool words, dates, amounts;
    bool ignored;  /* --drop leaves it out, and it may hold anything */
    int64_t place; /* in a row; -1: not wanted */
    sgfsi_word_list known;
    int64_t *number; /* of the dictionary's words: number among known, MISSING or NOT_YET */
    int64_t numbers, replaced;
} column;

typedef struct arrow {
    char *path;
    sgfsi_read_options options;
    sgfsi_ipc in;
    column *column; /* in.fields */
    int64_t kept;
    int64_t before, at; /* rows of batches before this one; taken of this one */
} arrow;

/* ---- which columns --------------------------------------------------------------------------- */

/* 1 for each column of a list; flag NULL: what is no column is passed over. */
static sgfs_status mark(const sgfsi_columns *columns, const char *flag, const char *list,
                        unsigned char **out, sgfs_err *err) {
    *out = calloc((size_t)columns->cols + 1, 1);
    if (*out == NULL) return sgfsi_fail_memory(err, "the columns");
    if (list == NULL || list[0] == '\0') return SGFS_OK;
    return sgfsi_columns_mark(columns, flag, list, *out, err);
}

/* What cannot be used as it is, and the options that would help: all of it in one sentence. */
typedef struct fault_list {
    int64_t columns;
    bool words;
    char what[400], date[160], drop[160];
} fault_list;

static void add_fault(fault_list *f, const char *name, const char *holds, char list[160]) {
    sgfsi_append(f->what, sizeof f->what, "%s\"%.60s\" holds %s", f->columns++ > 0 ? "; " : "",
                 name, holds);
    if (list != NULL) sgfsi_append(list, 160, "%s%s", list[0] != '\0' ? "," : "", name);
}

static sgfs_status fail_faults(const arrow *a, const fault_list *f, sgfs_err *err) {
    const char *named = a->options.categorical, *date = a->options.date, *drop = a->options.drop;
    char options[400] = "", before[120] = "";
    if (f->words && (named == NULL || named[0] == '\0' || strcmp(named, "auto") == 0))
        sgfsi_append(options, sizeof options, " --categorical auto");
    else if (f->words)
        sgfsi_append(options, sizeof options, " --categorical with their names, too");
    if (f->date[0] != '\0') {
        if (date != NULL && date[0] != '\0') snprintf(before, sizeof before, "%.100s,", date);
        sgfsi_append(options, sizeof options, " --date %s%s", before, f->date);
    }
    before[0] = '\0';
    if (f->drop[0] != '\0') {
        if (drop != NULL && drop[0] != '\0') snprintf(before, sizeof before, "%.100s,", drop);
        sgfsi_append(options, sizeof options, " --drop %s%s", before, f->drop);
    }
    const bool one = f->columns == 1;
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s: %lld column%s cannot be used as %s: %s. With these options %s can be:%s%s", a->path,
        (long long)f->columns, one ? "" : "s", one ? "it is" : "they are", f->what,
        one ? "it" : "they", options,
        f->date[0] != '\0' ? " (--date makes year, month, weekday and hour of a date)" : "");
}

/* Words, dates, amounts or numbers? */
static sgfs_status settle_column(arrow *a, int64_t k, bool named, bool automatic,
                                 fault_list *faults, sgfs_err *err) {
    const sgfsi_ipc_field *f = &a->in.field[k];
    const sgfsi_read_options *o = &a->options;
    column *c = &a->column[k];
    const bool text = f->coded || f->type.kind == SGFSI_IPC_TEXT,
               target = c->role == SGFSI_ROLE_TARGET, feature = c->role == SGFSI_ROLE_FEATURE;
    const bool time = f->type.kind == SGFSI_IPC_TIME && !f->coded;
    if (o->run != NULL) c->dates = sgfsi_run_columns_dates(o->run, k);
    if (o->run != NULL) c->amounts = sgfsi_run_columns_amounts(o->run, k);
    if (c->amounts && text) return SGFS_OK;
    c->amounts = false; /* numbers as they are */
    if (c->dates && (time || (text && f->type.kind == SGFSI_IPC_TEXT))) return SGFS_OK;
    if (c->dates)
        return sgfsi_fail(err, SGFS_EDATA, "%s: column \"%.60s\" holds no dates%s.", a->path,
                          f->name, o->run != NULL ? ", and the run had dates there" : "");
    if (time && feature && o->run == NULL)
        return add_fault(faults, f->name, f->type.shown, faults->date), SGFS_OK;
    if (f->type.kind == SGFSI_IPC_OTHER || f->type.kind == SGFSI_IPC_TIME) {
        const char *holds = f->type.shown;
        if (feature && o->run == NULL)
            return add_fault(faults, f->name, holds, faults->drop), SGFS_OK;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: column \"%.60s\" holds %s, and numbers or words are needed there.",
                          a->path, f->name, holds);
    }
    c->words = o->run != NULL                ? sgfsi_run_columns_words(o->run, k)
               : target                      ? text || o->words
               : c->role == SGFSI_ROLE_GROUP ? text
                                             : named || (text && automatic);
    if (!text || c->words) return SGFS_OK;
    if (feature && o->run == NULL) {
        faults->words = true;
        return add_fault(faults, f->name, "words", NULL), SGFS_OK;
    }
    return sgfsi_fail(err, SGFS_EDATA, "%s: column \"%.60s\" holds words; %s", a->path, f->name,
                      o->run != NULL ? "the run had numbers there." : "numbers are needed there.");
}

static sgfs_status choose_columns(arrow *a, sgfs_err *err) {
    const int64_t cols = a->in.fields;
    bool automatic;
    const char *list = sgfsi_words_named(a->options.categorical, &automatic);
    char **names = calloc((size_t)cols, sizeof *names);
    unsigned char *role = calloc((size_t)cols, 1), *named = NULL, *dropped = NULL, *dates = NULL,
                  *amounts = NULL;
    fault_list found = {.columns = 0};
    a->column = calloc((size_t)cols, sizeof *a->column);
    sgfs_status status = names != NULL && role != NULL && a->column != NULL
                             ? SGFS_OK
                             : sgfsi_fail_memory(err, "the columns");
    for (int64_t k = 0; status == SGFS_OK && k < cols; k++) names[k] = a->in.field[k].name;
    const sgfsi_columns columns = {a->path, cols, names, true, NULL, NULL};
    if (status == SGFS_OK) status = sgfsi_columns_select(&columns, NULL, &a->options, role, err);
    if (status == SGFS_OK) status = mark(&columns, "categorical", list, &named, err);
    if (status == SGFS_OK) status = mark(&columns, NULL, a->options.drop, &dropped, err);
    if (status == SGFS_OK) status = mark(&columns, "date", a->options.date, &dates, err);
    if (status == SGFS_OK) status = mark(&columns, "amount", a->options.amount, &amounts, err);
    for (int64_t k = 0; k < cols && status == SGFS_OK; k++) {
        column *c = &a->column[k];
        c->role = role[k];
        c->dates = dates[k] != 0;
        c->amounts = amounts[k] != 0;
        c->place = role[k] != SGFSI_ROLE_NONE ? a->kept++ : -1;
        c->ignored = dropped[k] != 0 && role[k] == SGFSI_ROLE_FEATURE && named[k] == 0;
        if (c->place >= 0 && !c->ignored)
            status = settle_column(a, k, named[k] != 0, automatic, &found, err);
    }
    if (status == SGFS_OK && found.columns > 0) status = fail_faults(a, &found, err);
    free(names);
    free(role);
    free(named);
    free(dropped);
    free(dates);
    free(amounts);
    return status;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static sgfs_status fail_cell(const arrow *a, int64_t k, int64_t i, const char *what,
                             sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA, "%s: row %lld, column \"%.60s\" %s", a->path,
                      (long long)(a->before + i + 1), a->in.field[k].name, what);
}

/* A cell without a value. Among words it is one more word where missing values are filled in. */
static sgfs_status store_missing(arrow *a, int64_t k, int64_t i, double *to, sgfs_err *err) {
    column *c = &a->column[k];
    *to = NAN;
    if (a->options.na == SGFSI_NA_ERROR)
        return fail_cell(a, k, i,
                         c->role == SGFSI_ROLE_FEATURE
                             ? "lacks a value: --na drop leaves such rows out, --na mean fills in "
                               "the mean."
                             : "lacks a value: --na drop leaves such rows out.",
                         err);
    if (a->options.na != SGFSI_NA_MEAN || c->role != SGFSI_ROLE_FEATURE || !c->words)
        return SGFS_OK;
    *to = (double)sgfsi_words_add(&c->known, "NA", 2);
    return *to >= 0 ? SGFS_OK : sgfsi_fail_memory(err, "the words");
}

/* The number of a word among those known; MISSING where it stands for none. */
static sgfs_status number_word(arrow *a, int64_t k, int64_t i, const sgfsi_cell *cell,
                               int64_t *found, sgfs_err *err) {
    char room[WORD_BYTES];
    double x;
    column *c = &a->column[k];
    sgfsi_cell_kind kind = sgfsi_cell_classify(cell, &x);
    bool missing = kind == SGFSI_CELL_MISSING ||
                   (kind == SGFSI_CELL_PERHAPS && a->options.na != SGFSI_NA_ERROR);
    *found = MISSING;
    if (missing) return SGFS_OK;
    size_t bytes = sgfsi_cell_text(cell, room, sizeof room);
    if (bytes >= sizeof room || memchr(room, '\0', bytes) != NULL)
        return fail_cell(a, k, i, "holds a word that is too long, or none.", err);
    *found = sgfsi_words_add(&c->known, room, bytes);
    if (*found < 0) return sgfsi_fail_memory(err, "the words");
    if (c->known.count <= sgfsi_most_words(c->role)) return SGFS_OK;
    return fail_cell(a, k, i, "has too many different words: leave it out with --drop.", err);
}

/* Text without the blanks around it, as between the commas of a CSV file. */
static sgfsi_cell trimmed(const char *text, size_t bytes) {
    const char *end = text + bytes;
    while (text < end && (*text == ' ' || *text == '\t')) text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t')) end--;
    return (sgfsi_cell){text, end, false};
}

/* A cell of a coded column, through what is known of its dictionary's words. */
static sgfs_status code_word(arrow *a, int64_t k, int64_t i, double code, int64_t *found,
                             sgfs_err *err) {
    column *c = &a->column[k];
    const sgfsi_ipc_words *w = sgfsi_ipc_dictionary(&a->in, a->in.field[k].id);
    if (w == NULL || !(code >= 0 && code < (double)w->count))
        return fail_cell(a, k, i, "has a number that stands for no word: the file is damaged.",
                         err);
    if (c->replaced != w->replaced || c->numbers < w->count) {
        if (!sgfsi_resize(&c->number, w->count, sizeof *c->number))
            return sgfsi_fail_memory(err, "the words");
        for (int64_t j = c->replaced != w->replaced ? 0 : c->numbers; j < w->count; j++)
            c->number[j] = NOT_YET;
        c->numbers = w->count;
        c->replaced = w->replaced;
    }
    int64_t *number = &c->number[(int64_t)code];
    const char *text = w->text[(int64_t)code];
    sgfs_status status = SGFS_OK;
    if (*number == NOT_YET && text == NULL) *number = MISSING;
    if (*number == NOT_YET) {
        const sgfsi_cell cell = trimmed(text, strlen(text));
        status = number_word(a, k, i, &cell, number, err);
    }
    *found = *number;
    return status;
}

static sgfs_status store_word(arrow *a, int64_t k, const sgfsi_ipc_array *cells, int64_t i,
                              double *to, sgfs_err *err) {
    const sgfsi_ipc_field *f = &a->in.field[k];
    char made[SGFSI_NUM_CHARS];
    const char *text = made;
    size_t bytes = 0;
    int64_t found = MISSING;
    sgfs_status status = SGFS_OK;
    if (f->coded) {
        status = code_word(a, k, i, sgfsi_ipc_number(cells, i), &found, err);
    } else {
        if (f->type.kind != SGFSI_IPC_TEXT)
            bytes = sgfsi_format_num(made, sgfsi_ipc_number(cells, i));
        else if (!sgfsi_ipc_text(cells, i, &text, &bytes))
            return sgfsi_ipc_damaged(&a->in, "a text is not there", err);
        const sgfsi_cell cell = trimmed(text, bytes);
        status = number_word(a, k, i, &cell, &found, err);
    }
    if (status != SGFS_OK) return status;
    if (found == MISSING) return store_missing(a, k, i, to, err);
    return *to = (double)found, SGFS_OK;
}

/* The text of a cell, its dictionary looked up; a code that this has not is empty. */
static sgfs_status text_of(arrow *a, int64_t k, const sgfsi_ipc_array *cells, int64_t i,
                           const char **text, size_t *bytes, sgfs_err *err) {
    const sgfsi_ipc_field *f = &a->in.field[k];
    if (!f->coded) {
        bool there = sgfsi_ipc_text(cells, i, text, bytes);
        return there ? SGFS_OK : sgfsi_ipc_damaged(&a->in, "a text is not there", err);
    }
    const sgfsi_ipc_words *w = sgfsi_ipc_dictionary(&a->in, f->id);
    const double code = sgfsi_ipc_number(cells, i);
    bool known = w != NULL && code >= 0 && code < (double)w->count;
    const char *word = known ? w->text[(int64_t)code] : NULL;
    *text = word != NULL ? word : "";
    *bytes = strlen(*text);
    return SGFS_OK;
}

static sgfs_status store_amount(arrow *a, int64_t k, const sgfsi_ipc_array *cells, int64_t i,
                                double *to, sgfs_err *err) {
    const char *text;
    size_t bytes;
    double x = 0;
    sgfs_status status = text_of(a, k, cells, i, &text, &bytes, err);
    if (status != SGFS_OK) return status;
    const sgfsi_cell cell = trimmed(text, bytes);
    const sgfsi_cell_kind kind = sgfsi_cell_classify(&cell, &x);
    bool number = sgfsi_amount(text, bytes, '.', to);
    if (!number && kind == SGFSI_CELL_NUMBER) *to = x, number = true;
    if (number && isfinite(*to) && !(a->options.single && !isfinite((float)*to))) return SGFS_OK;
    if (number) return fail_cell(a, k, i, "holds a number too large to be used.", err);
    if (kind == SGFSI_CELL_MISSING || kind == SGFSI_CELL_PERHAPS || kind == SGFSI_CELL_NONE)
        return store_missing(a, k, i, to, err);
    return fail_cell(a, k, i, "holds no amount such as $86,974.50 or 12 %.", err);
}

static sgfs_status store_date(arrow *a, int64_t k, const sgfsi_ipc_array *cells, int64_t i,
                              double *to, sgfs_err *err) {
    const char *text;
    size_t bytes;
    double ignored;
    if (a->in.field[k].type.kind == SGFSI_IPC_TIME) return *to = sgfsi_ipc_hours(cells, i), SGFS_OK;
    sgfs_status status = text_of(a, k, cells, i, &text, &bytes, err);
    if (status != SGFS_OK) return status;
    if (sgfsi_date_hours(text, bytes, to)) return SGFS_OK;
    const sgfsi_cell cell = trimmed(text, bytes);
    if (sgfsi_cell_classify(&cell, &ignored) == SGFSI_CELL_MISSING)
        return store_missing(a, k, i, to, err);
    return fail_cell(a, k, i, "holds no date such as 2024-03-17 or 2024-03-17T08:30:00Z.", err);
}

/* Rows from .. from + n - 1 of column k, each in its row of the caller's. */
static sgfs_status store_column(arrow *a, int64_t k, int64_t from, int64_t n, double *to,
                                sgfs_err *err) {
    const column *c = &a->column[k];
    sgfsi_ipc_array cells;
    sgfs_status status = SGFS_OK;
    if (!c->ignored) status = sgfsi_ipc_column(&a->in, k, &cells, err);
    for (int64_t i = from; i < from + n && status == SGFS_OK; i++, to += a->kept) {
        *to = 0;
        if (c->ignored) continue;
        if (!sgfsi_ipc_is_valid(&cells, i)) {
            status = store_missing(a, k, i, to, err);
        } else if (c->dates) {
            status = store_date(a, k, &cells, i, to, err);
        } else if (c->amounts) {
            status = store_amount(a, k, &cells, i, to, err);
        } else if (c->words) {
            status = store_word(a, k, &cells, i, to, err);
        } else {
            *to = sgfsi_ipc_number(&cells, i);
            if (isnan(*to)) status = store_missing(a, k, i, to, err);
            else if (!isfinite(*to) || (a->options.single && !isfinite((float)*to)))
                status = fail_cell(a, k, i, "holds a number too large to be used.", err);
        }
    }
    return status;
}

/* ---- the flow -------------------------------------------------------------------------------- */

static sgfs_status show_words(const arrow *a, sgfsi_table *t, sgfs_err *err) {
    for (int64_t k = 0; k < a->in.fields; k++) {
        const column *c = &a->column[k];
        if (!c->words) continue;
        if (c->role == SGFSI_ROLE_TARGET) {
            t->text_col = c->place;
            t->levels = c->known.count;
            t->level = c->known.text;
            continue;
        }
        if (t->dictionary == NULL) t->dictionary = calloc((size_t)a->kept, sizeof *t->dictionary);
        if (t->dictionary == NULL) return sgfsi_fail_memory(err, "the words");
        t->dictionary[c->place] = (sgfsi_dictionary){c->known.count, c->known.text};
    }
    return SGFS_OK;
}

static sgfs_status next_rows(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                             sgfs_err *err) {
    arrow *a = flow->self;
    const bool single = flow->head.type == SGFSI_F32;
    sgfs_status status = SGFS_OK;
    block->n = 0;
    while (block->n < most && status == SGFS_OK) {
        if (a->at == a->in.rows) {
            a->before += a->in.rows;
            a->at = 0;
            status = sgfsi_ipc_next(&a->in, err);
            if (status != SGFS_OK) return status;
            if (a->in.rows == 0) break;
        }
        int64_t left = a->in.rows - a->at, n = most - block->n < left ? most - block->n : left;
        double *to = (double *)block->cells + block->n * a->kept, *own = NULL;
        if (single) to = own = malloc((size_t)(n * a->kept) * sizeof *own);
        if (single && own == NULL) return sgfsi_fail_memory(err, "a block of rows");
        for (int64_t k = 0; k < a->in.fields && status == SGFS_OK; k++) {
            int64_t place = a->column[k].place;
            if (place >= 0) status = store_column(a, k, a->at, n, to + place, err);
        }
        for (int64_t i = 0; single && status == SGFS_OK && i < n * a->kept; i++)
            ((float *)block->cells)[block->n * a->kept + i] = (float)own[i];
        free(own);
        for (int64_t i = 0; block->line != NULL && i < n; i++)
            block->line[block->n + i] = a->before + a->at + i + 1;
        a->at += n;
        block->n += n;
    }
    if (status == SGFS_OK && block->n == 0 && a->before == 0)
        status = sgfsi_fail(err, SGFS_EDATA, "%s: has columns but no rows.", a->path);
    return status == SGFS_OK ? show_words(a, &flow->head, err) : status;
}

static double fraction(const sgfsi_flow *flow) {
    const arrow *a = flow->self;
    return sgfsi_bytes_fraction(a->in.in);
}

static void close_arrow(sgfsi_flow *flow) {
    arrow *a = flow->self;
    sgfsi_flow_hide_words(&flow->head);
    for (int64_t k = 0; a->column != NULL && k < a->in.fields; k++) {
        sgfsi_words_free(&a->column[k].known);
        free(a->column[k].number);
    }
    sgfsi_ipc_close(&a->in);
    free(a->column);
    free(a->path);
    free(a);
    flow->self = NULL;
}

/* Does a column of words lack its first one? */
static bool lacks_words(const arrow *a) {
    for (int64_t k = 0; k < a->in.fields; k++)
        if (a->column[k].words && a->column[k].known.count == 0) return true;
    return false;
}

/* Batches until each column of words has one; then from the beginning. What is wrong with a cell or
 * the file is said when its row comes. */
static sgfs_status find_words(arrow *a, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    while (status == SGFS_OK && lacks_words(a)) {
        status = sgfsi_ipc_next(&a->in, err);
        if (status != SGFS_OK || a->in.rows == 0) break;
        for (int64_t k = 0; k < a->in.fields && status == SGFS_OK; k++) {
            const column *c = &a->column[k];
            sgfsi_ipc_array cells;
            double ignored;
            if (!c->words || c->known.count > 0) continue;
            status = sgfsi_ipc_column(&a->in, k, &cells, err);
            for (int64_t i = 0; i < a->in.rows && status == SGFS_OK && c->known.count == 0; i++)
                status = sgfsi_ipc_is_valid(&cells, i) ? store_word(a, k, &cells, i, &ignored, err)
                                                       : store_missing(a, k, i, &ignored, err);
        }
    }
    if (status == SGFS_ENOMEM) return status;
    for (int64_t k = 0; k < a->in.fields; k++) a->column[k].numbers = 0;
    return sgfsi_ipc_rewind(&a->in, err);
}

static sgfs_status flow_arrow(sgfsi_flow *flow, const char *path, const sgfsi_read_options *options,
                              sgfs_err *err) {
    arrow *a = calloc(1, sizeof *a);
    *flow = (sgfsi_flow){.self = a, .next = next_rows, .fraction = fraction, .close = close_arrow};
    if (a == NULL) return sgfsi_fail_memory(err, "a reader");
    a->path = strdup(path);
    a->options = *options;
    flow->first_text.row = -1;
    sgfsi_table *t = &flow->head;
    t->text_col = -1;
    sgfs_status status = a->path != NULL ? sgfsi_ipc_open(&a->in, a->path, options->most_bytes, err)
                                         : sgfsi_fail_memory(err, "a reader");
    if (status == SGFS_OK) status = choose_columns(a, err);
    if (status == SGFS_OK) status = find_words(a, err);
    if (status == SGFS_OK) {
        t->cols = t->row_stride = a->kept;
        t->type = options->whole && options->single ? SGFSI_F32 : SGFSI_F64;
        t->named = true;
        t->fewer = a->kept < a->in.fields;
        t->names = calloc((size_t)a->kept + 1, sizeof *t->names);
        t->role = malloc((size_t)a->kept + 1);
        bool made = t->names != NULL && t->role != NULL;
        for (int64_t k = 0; made && k < a->in.fields; k++) {
            const column *c = &a->column[k];
            if (c->place < 0) continue;
            t->role[c->place] = c->role;
            made = (t->names[c->place] = strdup(a->in.field[k].name)) != NULL;
        }
        status = made ? show_words(a, t, err) : sgfsi_fail_memory(err, "the columns");
    }
    if (status != SGFS_OK) sgfsi_flow_close(flow);
    return status;
}

static bool probe_arrow(const char *path, const unsigned char *head, size_t bytes) {
    (void)path;
    return sgfsi_ipc_probe(head, bytes);
}

const sgfs_reader_kind sgfs_reader_arrow = {
    .name = "arrow",
    .help = "Arrow streams and files (Feather), without compression; columns of words, too",
    .probe = probe_arrow,
    .flags = (const char *const[]){"amount", "date", NULL},
    .flow = flow_arrow,
};
