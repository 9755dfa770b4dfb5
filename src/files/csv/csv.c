/* SPDX-License-Identifier: MIT
 * csv.c: delimited text as a flow of rows (flow.h).
 *
 *     text.c: block of bytes -> cut at record ends into parts
 *                -> csv_rows.c: each part into rows of its own, all at the same time
 *                -> settled in order: words numbered, lines counted, the first fault found
 *                -> handed over in order
 *
 * csv_sniff.c has said how the file is written, columns.c which of its columns are wanted; the rows
 * have those only, in file order. While parts are read, one thread reads (and gunzips) the next
 * block.
 *
 * What comes out does not depend on the number of threads, nor on where parts are cut: everything
 * that has an order (words, levels, missing cells, faults, text found where numbers were expected)
 * is settled part by part, in the order of the file, and a fault behind another is never looked
 * at.
 *
 * The target starts out as numbers, and with --categorical auto so does every feature. The first
 * text sends the reader back to the start, with words in that column from then on: so 1, 2, many
 * are three words, whatever their order. The flow says so (flow.h, `restarted`).
 *
 * Memory: two blocks of text, and the rows of one block.
 */
#include "files/csv/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "files/columns.h"
#include "files/csv/csv_rows.h"
#include "files/find_columns.h"
#include "files/flow.h"

enum { PART = SGFSI_BLOCK_BYTES / 16, MOST_PARTS = 512 };
enum { MOST_LOOKED_AT = 1 << 26 }; /* bytes behind the first text that cannot be used */

typedef struct csv {
    char *path;
    sgfsi_read_options options;
    sgfsi_csv_format format;
    sgfsi_csv_plan plan;
    sgfsi_text text;
    int threads;
    /* the block at hand */
    sgfsi_csv_part *part;
    int64_t parts, part_room;
    int64_t at, at_row; /* the first row that is not handed over: its part, and where there */
    int64_t block_rows; /* rows of the block, and its bytes */
    double block_bytes, bytes_before;
    sgfs_status status; /* of the row behind those of the block; or that there is none (ended) */
    sgfs_err err;
    bool ended;
    /* the file so far */
    int64_t rows, handed;
    sgfsi_csv_faults faults;
    bool restart;
    int64_t text_level; /* of the first text of the target (plan.first), once its row has come */
} csv;

/* ---- columns --------------------------------------------------------------------------------- */

/* Column col holds words from now on. */
static sgfs_status add_words(csv *c, int64_t col, sgfs_err *err) {
    sgfsi_csv_plan *plan = &c->plan;
    if (plan->words_of[col] >= 0) return SGFS_OK;
    if (!sgfsi_resize(&plan->words, plan->worded + 1, sizeof *plan->words))
        return sgfsi_fail_memory(err, "the words of a column");
    plan->words[plan->worded] = (sgfsi_csv_words){.col = col};
    plan->words_of[col] = (int32_t)plan->worded++;
    return SGFS_OK;
}

/* The columns of a list as --flag has it (NULL: what is no column is passed over), marked. */
static sgfs_status mark_columns(const sgfsi_columns *columns, const char *flag, const char *list,
                                unsigned char **mark, sgfs_err *err) {
    *mark = calloc((size_t)columns->cols, 1);
    if (*mark == NULL) return sgfsi_fail_memory(err, "column kinds");
    bool none = list == NULL || list[0] == '\0';
    return none ? SGFS_OK : sgfsi_columns_mark(columns, flag, list, *mark, err);
}

/* --amount and --date: columns whose cells are written in a way of their own; for a run, those that
 * it had. */
static sgfs_status choose_written(csv *c, const sgfsi_columns *columns, bool amounts,
                                  sgfs_err *err) {
    const char *flag = amounts ? "amount" : "date";
    const int32_t written = amounts ? SGFSI_CSV_AMOUNTS : SGFSI_CSV_DATES;
    const sgfsi_run_columns *run = c->options.run;
    unsigned char *mark;
    sgfs_status status =
        mark_columns(columns, flag, amounts ? c->options.amount : c->options.date, &mark, err);
    for (int64_t i = 0; i < c->format.cols && status == SGFS_OK; i++) {
        const unsigned char role = c->plan.role[i];
        bool of_run = run != NULL && (amounts ? sgfsi_run_columns_amounts(run, i)
                                              : sgfsi_run_columns_dates(run, i));
        if (role == SGFSI_ROLE_NONE || !(mark[i] || of_run)) continue;
        if (role == SGFSI_ROLE_FEATURE && c->plan.words_of[i] == SGFSI_CSV_NUMBERS)
            c->plan.words_of[i] = written;
        else if (role == SGFSI_ROLE_FEATURE)
            status = sgfsi_fail(err, SGFS_EUSAGE,
                                "%s: column %lld (\"%.40s\") is named in --amount and in --date: "
                                "which is it?",
                                c->path, (long long)i + 1, c->format.names[i]);
        else
            status = sgfsi_fail(err, SGFS_EUSAGE,
                                "%s: column %lld (\"%.40s\") is the target, the weights or the "
                                "exposure, and --%s is for features.",
                                c->path, (long long)i + 1, c->format.names[i], flag);
    }
    free(mark);
    return status;
}

/* --categorical: columns that are not read may be named, those that are no features may not. With
 * "auto", those in which an earlier reading of the file found words. */
static sgfs_status choose_words(csv *c, const sgfsi_columns *columns, sgfs_err *err) {
    static const char *const is[] = {
        [SGFSI_ROLE_TARGET] = "is the target, whose words are found without being asked for",
        [SGFSI_ROLE_WEIGHTS] = "holds the weights",
        [SGFSI_ROLE_EXPOSURE] = "is the exposure",
        [SGFSI_ROLE_GROUP] = "groups rows, whose words are kept as they are"};
    const char *list = sgfsi_words_named(c->options.categorical, &c->plan.automatic);
    const sgfsi_table *known = c->options.known;
    unsigned char *mark;
    sgfs_status status = mark_columns(columns, "categorical", list, &mark, err);
    bool found = c->plan.automatic && known != NULL && known->dictionary != NULL;
    for (int64_t i = 0; i < c->format.cols && status == SGFS_OK; i++) {
        unsigned char role = c->plan.role[i];
        for (int64_t k = 0; found && role == SGFSI_ROLE_FEATURE && k < known->cols; k++) {
            if (strcmp(known->names[k], c->format.names[i]) != 0) continue;
            mark[i] |= known->dictionary[k].count > 0;
            break;
        }
        bool written =
            c->plan.words_of[i] == SGFSI_CSV_DATES || c->plan.words_of[i] == SGFSI_CSV_AMOUNTS;
        if (mark[i] == 0 || role == SGFSI_ROLE_NONE || written) continue;
        status = role == SGFSI_ROLE_FEATURE
                     ? add_words(c, i, err)
                     : sgfsi_fail(err, SGFS_EUSAGE,
                                  "%s: column %lld (\"%.40s\") %s; leave it out of --categorical.",
                                  c->path, (long long)i + 1, c->format.names[i], is[role]);
    }
    free(mark);
    return status;
}

/* The row numbers of the file are no feature, unless --features, --drop or --categorical names
 * them: then they are what the user says. */
static sgfs_status leave_out_row_numbers(csv *c, const sgfsi_columns *columns, sgfs_err *err) {
    const char *said[] = {c->options.drop, c->options.date, c->options.amount,
                          sgfsi_words_named(c->options.categorical, &(bool){false})};
    bool ours = c->format.numbered && c->options.run == NULL && c->options.features[0] == '\0' &&
                c->plan.role[0] == SGFSI_ROLE_FEATURE;
    for (size_t k = 0; ours && k < sizeof said / sizeof *said; k++) {
        unsigned char *mark;
        sgfs_status status = mark_columns(columns, NULL, said[k], &mark, err);
        ours = status == SGFS_OK && mark[0] == 0;
        free(mark);
        if (status != SGFS_OK) return status;
    }
    if (!ours) return SGFS_OK;
    c->plan.role[0] = SGFSI_ROLE_NONE;
    if (c->options.known == NULL)
        sgfsi_say(
            c->options.log, SGFS_NOTE,
            "%s: the first column has no name of its own and numbers the rows: it is left out "
            "(to use it, give it a name).",
            c->path);
    return SGFS_OK;
}

static sgfs_status choose_columns(csv *c, sgfs_err *err) {
    const sgfsi_columns columns = {c->path,          c->format.cols, c->format.names,
                                   c->format.header, NULL,           c->format.first};
    unsigned char *mark;
    c->plan.role = calloc((size_t)c->format.cols, 1);
    c->plan.words_of = malloc((size_t)c->format.cols * sizeof *c->plan.words_of);
    if (c->plan.role == NULL || c->plan.words_of == NULL)
        return sgfsi_fail_memory(err, "column roles");
    for (int64_t i = 0; i < c->format.cols; i++) c->plan.words_of[i] = SGFSI_CSV_NUMBERS;
    sgfs_status status = sgfsi_columns_select(&columns, NULL, &c->options, c->plan.role, err);
    if (status == SGFS_OK) status = leave_out_row_numbers(c, &columns, err);
    for (int64_t i = 0; i < c->format.cols && status == SGFS_OK; i++) {
        c->plan.kept += c->plan.role[i] != SGFSI_ROLE_NONE;
        bool words = c->options.run != NULL
                         ? sgfsi_run_columns_words(c->options.run, i)
                         : (c->options.words && c->plan.role[i] == SGFSI_ROLE_TARGET) ||
                               c->plan.role[i] == SGFSI_ROLE_GROUP;
        if (words) status = add_words(c, i, err);
    }
    if (status == SGFS_OK) status = choose_written(c, &columns, true, err);
    if (status == SGFS_OK) status = choose_written(c, &columns, false, err);
    if (status == SGFS_OK) status = choose_words(c, &columns, err);
    if (status != SGFS_OK) return status;
    /* Features that --drop will leave out keep their place, so that numbers still count the
     * file's columns, and may hold anything. */
    status = mark_columns(&columns, NULL, c->options.drop, &mark, err);
    for (int64_t i = 0; i < columns.cols && status == SGFS_OK; i++) {
        bool numbers =
            c->plan.role[i] == SGFSI_ROLE_FEATURE && c->plan.words_of[i] == SGFSI_CSV_NUMBERS;
        if (mark[i] && numbers) c->plan.words_of[i] = SGFSI_CSV_IGNORED;
    }
    free(mark);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Parts of a block. One thread is best off with text that stays in its cache. Several have to wait
 * for each other at the end of every block, the longer the busier the machine is: so blocks are
 * larger then, most of all where memory for all rows is needed anyway. Rows for a run come no
 * faster than they are predicted. */
static int64_t block_parts(const csv *c) {
    int64_t least = c->options.whole   ? 128
                    : c->plan.new_rows ? 16
                                       : 32,
            wanted = 4 * (int64_t)c->threads;
    if (c->threads == 1) return 16;
    return wanted < least ? least : wanted > MOST_PARTS ? MOST_PARTS : wanted;
}

/* Up to the first row of data, from wherever the reader is. */
static sgfs_status rewind_rows(csv *c, sgfs_err *err) {
    for (int64_t i = 0, place = 0; i < c->format.cols; i++) { /* of words in a row */
        if (c->plan.words_of[i] >= 0) c->plan.words[c->plan.words_of[i]].place = place;
        place += c->plan.role[i] != SGFSI_ROLE_NONE;
    }
    sgfsi_text_close(&c->text);
    c->parts = c->at = c->at_row = c->block_rows = c->rows = c->handed = 0;
    c->block_bytes = c->bytes_before = 0;
    c->ended = c->restart = false;
    c->status = SGFS_OK;
    sgfsi_csv_faults_clear(&c->faults);
    for (int64_t w = 0; w < c->plan.worded; w++) sgfsi_words_free(&c->plan.words[w].known);
    sgfsi_text *text = &c->text;
    sgfs_status status = sgfsi_text_open(text, c->path, (size_t)(block_parts(c) * PART), err);
    for (bool passed = !c->format.header; status == SGFS_OK && !passed;) {
        const char *begin, *end;
        sgfsi_records r = sgfsi_records_of(c->format.delimiter, text->at, text->stop, text->ended);
        passed = sgfsi_records_next(&r, &begin, &end) || (text->ended && r.open == NULL);
        text->at += r.at - text->at;
        text->line += r.line;
        if (!passed) status = sgfsi_text_more(text, &r, err);
    }
    return status;
}

/* ---- a block: cut and read ------------------------------------------------------------------- */

/* All whole records at hand, in parts; *rest is what follows them. No parts: the end. */
static sgfs_status cut_block(csv *c, const char **rest, sgfs_err *err) {
    const sgfsi_text *text = &c->text;
    for (c->parts = 0;;) {
        sgfsi_records r = sgfsi_records_of(c->format.delimiter, text->at, text->stop, text->ended);
        for (const char *from = text->at;; from = *rest) {
            *rest = sgfsi_records_skip(&r, PART);
            if (*rest == from) break;
            int64_t had = c->part_room;
            if (!sgfsi_grow(&c->part, &c->part_room, c->parts + 1, sizeof *c->part))
                return sgfsi_fail_memory(err, "parts of text");
            memset(c->part + had, 0, (size_t)(c->part_room - had) * sizeof *c->part);
            sgfsi_csv_part *p = &c->part[c->parts++];
            p->block = text->at;
            p->block_line = text->line;
            p->begin = from;
            p->end = *rest;
            p->last = text->ended && *rest == text->stop;
        }
        if (c->parts > 0 || (text->ended && r.open == NULL)) return SGFS_OK;
        sgfs_status status = sgfsi_text_check_nul(text, err);
        if (status == SGFS_OK) status = sgfsi_text_more(&c->text, &r, err);
        if (status != SGFS_OK) return status;
    }
}

/* ---- a block: settled in order --------------------------------------------------------------- */

/* Number the part's own words behind those known by now. before: how many were known while the part
 * was read. One word too many ends the part before the row that has it. */
static void settle_words(csv *c, sgfsi_csv_part *p, const int64_t *before, int64_t line) {
    const sgfsi_csv_plan *plan = &c->plan;
    for (int64_t w = 0; w < plan->worded; w++) {
        sgfsi_csv_words *words = &c->plan.words[w];
        const sgfsi_csv_fresh *fresh = &p->fresh[w];
        int64_t *number = malloc((size_t)(fresh->words.count + 1) * sizeof *number);
        if (number == NULL) {
            p->status = sgfsi_fail_memory(&p->err, "the words of a column");
            p->rows = 0;
            return;
        }
        for (int64_t k = 0; k < fresh->words.count; k++) {
            const char *text = fresh->words.text[k];
            if (fresh->where[k][0] >= p->rows) break; /* of the row that is a fault */
            number[k] = sgfsi_words_find(&words->known, text, strlen(text));
            if (number[k] < 0 && words->known.count == sgfsi_most_words(plan->role[words->col])) {
                bool first = plan->role[words->col] == SGFSI_ROLE_TARGET && plan->first.line > 0;
                int64_t at = first ? plan->first.line : line + fresh->where[k][1];
                char shown[SGFSI_SHOWN_ROOM];
                snprintf(shown, sizeof shown, first ? "%s" : "%.40s",
                         first ? plan->first.text : text);
                p->rows = fresh->where[k][0];
                p->status = sgfsi_csv_fail_words(plan, words->col, at, shown, &p->err);
                continue;
            }
            if (number[k] < 0) number[k] = sgfsi_words_add(&words->known, text, strlen(text));
            if (number[k] < 0) {
                p->status = sgfsi_fail_memory(&p->err, "the words of a column");
                p->rows = 0;
            }
        }
        /* Cells that count from `before` on are numbers of the part's own words. */
        for (int64_t i = 0; fresh->words.count > 0 && i < p->rows; i++) {
            double *cell = &p->cells[i * plan->kept + words->place];
            if (*cell >= (double)before[w]) *cell = (double)number[(int64_t)*cell - before[w]];
        }
        free(number);
    }
}

/* Columns of numbers in which the part found text hold words from the next pass on. */
static sgfs_status settle_found(csv *c, const sgfsi_csv_part *p, int64_t line) {
    if (p->found_row < 0 || p->found_row >= p->rows) return SGFS_OK;
    c->restart = true;
    if (p->text_row >= 0 && c->plan.first.row < 0) {
        c->plan.first.row = c->rows + p->text_row;
        c->plan.first.line = line + p->text_line;
        memcpy(c->plan.first.text, p->text, sizeof p->text);
    }
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < c->format.cols && status == SGFS_OK; i++) {
        if (p->found[i] != 0) status = add_words(c, i, &c->err);
    }
    return status;
}

/* Part by part up to the first fault. Rows in front of it count, words and all; what is behind
 * it does not. */
static sgfs_status settle_block(csv *c, const char *rest) {
    int64_t line = c->text.line, worded = c->plan.worded;
    int64_t *before = malloc(((size_t)worded + 1) * sizeof *before);
    if (before == NULL) { /* no row is to be handed over whose words have no numbers yet */
        c->parts = 0;
        return sgfsi_fail_memory(&c->err, "the words of a column");
    }
    for (int64_t w = 0; w < worded; w++) before[w] = c->plan.words[w].known.count;
    sgfs_status status = SGFS_OK;
    c->block_rows = 0;
    for (int64_t k = 0; k < c->parts && status == SGFS_OK; k++) {
        sgfsi_csv_part *p = &c->part[k];
        if (!c->restart && p->rows > 0) settle_words(c, p, before, line);
        status = settle_found(c, p, line);
        if (p->fault_row >= 0 && p->fault_row < p->rows &&
            !sgfsi_csv_faults_join(&c->faults, &p->faults, line))
            status = sgfsi_fail_memory(&c->err, "column kinds");
        int64_t target = 0, row = c->plan.first.row - c->rows;
        for (int64_t i = 0; i < p->rows && c->plan.new_rows; i++) p->line[i] += line;
        if (row >= 0 && row < p->rows && !c->restart) {
            while (c->plan.role[c->plan.words[target].col] != SGFSI_ROLE_TARGET) target++;
            c->text_level = (int64_t)p->cells[row * c->plan.kept + c->plan.words[target].place];
        }
        c->rows += p->rows;
        c->block_rows += p->rows;
        line += p->lines;
        if (status == SGFS_OK && p->status != SGFS_OK) {
            status = p->status;
            c->err = p->err;
            c->parts = k + 1;
        }
    }
    free(before);
    c->block_bytes = (double)(rest - c->text.at);
    c->text.at += rest - c->text.at;
    c->text.line = line;
    return c->restart && status != SGFS_ENOMEM ? SGFS_OK : status;
}

/* The next block: rows to hand over, and in c->status what follows them; or c->ended; or
 * c->restart. */
static void read_block(csv *c) {
    const char *rest = NULL;
    c->bytes_before += c->block_bytes;
    c->at = c->at_row = c->block_rows = 0;
    c->block_bytes = 0;
    c->status = cut_block(c, &rest, &c->err);
    if (c->status != SGFS_OK) c->parts = 0;
    c->ended = c->status == SGFS_OK && c->parts == 0;
    if (c->parts == 0) return;
    /* Every part, and the text that comes next, at the same time. */
    bool more = !c->text.ended;
#pragma omp parallel for schedule(dynamic, 1) num_threads(c->threads) if (c->parts + more > 1)
    for (int64_t k = -1; k < c->parts; k++) {
        if (k >= 0) sgfsi_csv_part_read(&c->plan, &c->part[k]);
        else if (more) sgfsi_text_ahead(&c->text, rest);
    }
    c->status = settle_block(c, rest);
}

/* ---- rows one after another ------------------------------------------------------------------ */

static sgfs_status fail_here(const csv *c, sgfs_err *err) {
    if (err != NULL) *err = c->err;
    return c->status;
}

/* Rows at .. at + rows - 1 of a part, and their lines, to row `to` of the caller's. */
static void copy_part(const csv *c, const sgfsi_csv_part *p, int64_t at, int64_t rows, int64_t to,
                      const sgfsi_flow_block *block) {
    const int64_t kept = c->plan.kept;
    bool single = c->options.whole && c->options.single;
    if (rows == 0) return; /* blank lines: there may be no cells yet */
    const double *cells = p->cells + at * kept;
    if (!single)
        memcpy((double *)block->cells + to * kept, cells, (size_t)(rows * kept) * sizeof *cells);
    for (int64_t i = 0; single && i < rows * kept; i++)
        ((float *)block->cells)[to * kept + i] = (float)cells[i];
    if (block->line != NULL && c->plan.new_rows)
        memcpy(block->line + to, p->line + at, (size_t)rows * sizeof *p->line);
}

/* Rows of the block at hand, n of them from c->at on, to row `to` of the caller's cells; so are
 * their lines. Several parts are copied at the same time; a single one is copied outside of a
 * parallel region, whose team OpenMP would make anew each time that its size differs from the
 * last. Moves c->at and c->at_row behind them. */
static void copy_rows(csv *c, int64_t n, int64_t to, const sgfsi_flow_block *block) {
    int64_t first[MOST_PARTS + 1];
    while (n > 0) {
        int64_t from = c->at, parts = 0, skip = c->at_row;
        for (first[0] = to; n > 0 && parts < MOST_PARTS; parts++) {
            int64_t left = c->part[c->at].rows - c->at_row, take = n < left ? n : left;
            n -= take;
            to = first[parts + 1] = to + take;
            c->at_row += take;
            if (take == left) c->at++, c->at_row = 0;
        }
        if (parts == 1) {
            copy_part(c, &c->part[from], skip, first[1] - first[0], first[0], block);
            continue;
        }
#pragma omp parallel for schedule(static) num_threads(c->threads)
        for (int64_t k = 0; k < parts; k++)
            copy_part(c, &c->part[from + k], k == 0 ? skip : 0, first[k + 1] - first[k], first[k],
                      block);
    }
}

/* Up to `most` rows to the block. Fewer: the end, or c->restart; or, where all rows are kept, the
 * end of a block of text. */
static sgfs_status take_rows(csv *c, int64_t most, sgfsi_flow_block *block, sgfs_err *err) {
    for (block->n = 0; block->n < most;) {
        if (c->at == c->parts) {
            if (c->options.whole && block->n > 0) break;
            if (c->status != SGFS_OK) return fail_here(c, err);
            if (!c->ended) read_block(c);
            if (c->restart || c->ended) break;
            continue;
        }
        int64_t n = 0, wanted = most - block->n;
        for (int64_t k = c->at; k < c->parts && n < wanted; k++) {
            const sgfsi_csv_part *p = &c->part[k];
            int64_t from = k == c->at ? c->at_row : 0, left = p->rows - from,
                    take = wanted - n < left ? wanted - n : left;
            if (p->fault_row >= from && p->fault_row < from + take) {
                /* To the end, for all that cannot be used; text shows soon enough. */
                const double enough = c->bytes_before + MOST_LOOKED_AT;
                while (c->status == SGFS_OK && !c->ended && !c->restart &&
                       (c->bytes_before < enough || !sgfsi_csv_faults_text(&c->faults)))
                    read_block(c);
                if (c->status != SGFS_OK) return fail_here(c, err);
                sgfsi_csv_asked asked = sgfsi_csv_plan_asked(&c->plan);
                asked.partly = !c->ended;
                if (c->restart) return SGFS_OK;
                return sgfsi_csv_fail_faults(&asked, &c->faults, c->rows, err);
            }
            n += take;
        }
        if (n == 0) c->at = c->parts; /* blank lines only */
        copy_rows(c, n, block->n, block);
        block->n += n;
        c->handed += n;
    }
    if (!c->ended || c->rows > 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA, "%s: has a header but no rows of data.", c->path);
}

/* ---- the head -------------------------------------------------------------------------------- */

/* The head shows the words so far, which stay ours; called again when there are more. */
static sgfs_status show_words(const csv *c, sgfsi_table *t, sgfs_err *err) {
    for (int64_t k = 0; k < c->plan.worded; k++) {
        const sgfsi_csv_words *w = &c->plan.words[k];
        if (c->plan.role[w->col] == SGFSI_ROLE_TARGET) {
            t->text_col = w->place;
            t->text_line = c->plan.first.line;
            t->text_level = c->text_level;
            t->levels = w->known.count;
            t->level = w->known.text;
            continue;
        }
        if (t->dictionary == NULL)
            t->dictionary = calloc((size_t)c->plan.kept, sizeof *t->dictionary);
        if (t->dictionary == NULL) return sgfsi_fail_memory(err, "the words of a column");
        t->dictionary[w->place] = (sgfsi_dictionary){w->known.count, w->known.text};
    }
    return SGFS_OK;
}

/* The first block is read before anything is said of the columns: most text where numbers were
 * expected is found here, and a column of words has a word. Then the head: all of a table but its
 * rows. */
static sgfs_status start_flow(csv *c, sgfsi_table *t, sgfs_err *err) {
    sgfs_status status;
    do {
        status = rewind_rows(c, err);
        if (status == SGFS_OK) read_block(c);
    } while (status == SGFS_OK && c->restart);
    if (status != SGFS_OK) return status;
    size_t kept = (size_t)c->plan.kept;
    *t = (sgfsi_table){.cols = c->plan.kept, .row_stride = c->plan.kept, .text_col = -1};
    if (c->options.whole && c->options.single) t->type = SGFSI_F32;
    t->named = c->format.header;
    t->fewer = c->plan.kept < c->format.cols;
    t->names = calloc(kept, sizeof *t->names);
    t->role = malloc(kept);
    bool good = t->names != NULL && t->role != NULL;
    for (int64_t i = 0, to = 0; i < c->format.cols && good; i++) {
        if (c->plan.role[i] == SGFSI_ROLE_NONE) continue;
        t->role[to] = c->plan.role[i];
        t->names[to] = strdup(c->format.names[i]);
        good = t->names[to++] != NULL;
    }
    return good ? show_words(c, t, err) : sgfsi_fail_memory(err, "the table");
}

/* What has been read is more than what has been handed over: one block at hand, one ahead. */
static double fraction_of(const sgfsi_flow *flow) {
    const csv *c = flow->self;
    double left = (double)(c->rows - c->handed), of = (double)c->block_rows;
    double waiting = of > 0 ? c->block_bytes * left / of : 0;
    double taken = c->bytes_before + c->block_bytes - waiting;
    waiting +=
        c->text.ahead.done ? (double)c->text.ahead.bytes : (double)(c->text.stop - c->text.at);
    return sgfsi_bytes_fraction(c->text.bytes) * taken / (taken + waiting + 1e-300);
}

/* ---- a flow ---------------------------------------------------------------------------------- */

static sgfs_status next_rows(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                             sgfs_err *err) {
    csv *c = flow->self;
    sgfs_status status = take_rows(c, most, block, err);
    if (status != SGFS_OK) return status;
    if (!c->restart) return show_words(c, &flow->head, err);
    /* Rows of other kinds of columns: they are void, and so is what was handed over before. */
    block->n = 0;
    flow->restarted = true;
    sgfsi_flow_hide_words(&flow->head);
    sgfsi_table_free(&flow->head);
    status = start_flow(c, &flow->head, err);
    flow->first_text = c->plan.first;
    return status;
}

static void close_flow(sgfsi_flow *flow) {
    csv *c = flow->self;
    sgfsi_flow_hide_words(&flow->head);
    sgfsi_text_close(&c->text);
    for (int64_t k = 0; k < c->part_room; k++) sgfsi_csv_part_free(&c->part[k]);
    free(c->part);
    sgfsi_csv_faults_clear(&c->faults);
    for (int64_t w = 0; w < c->plan.worded; w++) sgfsi_words_free(&c->plan.words[w].known);
    free(c->plan.words);
    free(c->plan.words_of);
    free(c->plan.role);
    sgfsi_names_free(c->format.names, c->format.cols);
    sgfsi_names_free(c->format.first, c->format.cols);
    free(c->path);
    free(c);
    flow->self = NULL;
}

static sgfs_status flow_csv(sgfsi_flow *flow, const char *path, const sgfsi_read_options *options,
                            sgfs_err *err) {
    csv *c = calloc(1, sizeof *c);
    *flow =
        (sgfsi_flow){.self = c, .next = next_rows, .fraction = fraction_of, .close = close_flow};
    if (c == NULL) return sgfsi_fail_memory(err, "a reader");
    c->path = strdup(path);
    c->options = *options;
    c->threads = options->threads > 0 ? (int)options->threads : 1;
    c->plan = (sgfsi_csv_plan){.path = c->path,
                               .new_rows = options->run != NULL,
                               .options = &c->options,
                               .format = &c->format,
                               .first.row = -1};
    if (options->first_text != NULL) c->plan.first = *options->first_text;
    sgfs_status status = c->path != NULL ? sgfsi_csv_sniff(path, options, &c->format, err)
                                         : sgfsi_fail_memory(err, "a reader");
    if (status == SGFS_OK) status = choose_columns(c, err);
    if (status == SGFS_OK) status = start_flow(c, &flow->head, err);
    if (status != SGFS_OK) return sgfsi_flow_close(flow), status;
    flow->lines = true;
    flow->first_text = c->plan.first;
    return SGFS_OK;
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
    .flags = (const char *const[]){"amount", "date", NULL},
    .text = true,
    .flow = flow_csv,
};
