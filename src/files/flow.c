/* SPDX-License-Identifier: MIT
 * flow.c: the flows of all files, one after another, as one. Several files are joined here and
 * nowhere else.
 *
 *     file 1: next, ..., end | file 2: next, ... | ...   -> wanted columns, first file's order
 *
 * One flow is open at a time: there may be thousands of files. All of them are opened once before
 * the first row, to see that their columns agree: a mistake in the last file should not come to
 * light after hours. Where all rows are kept (collect.c) text is not looked at twice, and the
 * columns of a text file are compared when its turn comes. libsvm files are gone through once
 * before all that, for their number of columns, where they are wanted with their zeros and
 * --columns does not say it.
 *
 * Words get numbers that count through all files: number c of the file at hand is map[c] of all.
 * If the target of one file turns out to hold words, then it holds words in all files: reading
 * starts again from the first file, because earlier targets were delivered as numbers.
 */
#include "files/flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/words.h"
#include "files/find_columns.h"
#include "files/libsvm/libsvm.h"
#include "files/packed/packed_cells.h"
#include "files/same_columns.h"
#include "files/sources.h"

/* Words of one column of all files. */
typedef struct column_words {
    sgfsi_word_list words; /* of all files so far */
    int64_t *map, known;   /* known: words of the file at hand that have a number in map */
    int64_t room;
    int64_t seen; /* file that said first whether these are words; -1: none yet */
    bool holds_words;
} column_words;

typedef struct joined {
    sgfsi_sources sources;
    double *bytes, total, done; /* count: sizes of the files; of all; of those that are finished */
    sgfsi_file_columns first;   /* of the flow's head; of sparse rows: nothing */
    int64_t at;                 /* file at hand */
    int64_t taken;              /* rows since the beginning */
    int64_t taken_here;         /* of the file at hand */
    sgfsi_flow now;
    bool open;
    sgfsi_file_columns columns; /* of now.head */
    int64_t *from;              /* wanted: which of its columns is the head's k-th */
    bool plain;                 /* its blocks are ours, but for the numbers of words */
    column_words *words;        /* wanted + 1: the last one is the target's levels */
    void *room;                 /* a block of the file at hand, where it is not plain */
    size_t room_bytes;
    sgfsi_first_text text; /* where the target was found to be text, and */
    int64_t text_file;     /* in which file; -1: in none so far */
} joined;

void sgfsi_flow_close(sgfsi_flow *flow) {
    if (flow->self != NULL && flow->close != NULL) flow->close(flow);
    sgfsi_table_free(&flow->head);
    free(flow->room);
    memset(flow, 0, sizeof *flow);
}

/* ---- the file at hand ------------------------------------------------------------------------ */

static void close_file(joined *j) {
    if (j->open) sgfsi_flow_close(&j->now);
    sgfsi_file_columns_free(&j->columns);
    j->open = false;
    j->taken_here = 0;
    for (int64_t k = 0; j->words != NULL && k <= j->first.wanted; k++) j->words[k].known = 0;
}

/* Its columns against those of the first one. */
static sgfs_status match_file(joined *j, const sgfsi_table *head, bool quietly, sgfs_err *err) {
    const char *path = j->sources.path[j->at], *first = j->sources.path[0];
    bool sparse = j->now.head.type == SGFSI_CSR, moved = false;
    if (sparse != (head->type == SGFSI_CSR)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.150s: is sparse, and %.150s is not; --dense fills it up with its "
                          "zeros.",
                          sparse ? path : first, sparse ? first : path);
    }
    if (sparse) return SGFS_OK; /* features, as many as are seen */
    const sgfsi_run_columns *run = j->sources.options.run;
    sgfs_status status = sgfsi_file_columns_of(&j->columns, path, &j->now.head, err);
    if (status == SGFS_OK && run != NULL) {
        status = sgfsi_run_columns_match(run, &j->columns, j->from, err);
        j->plain = false;
        return status;
    }
    if (status == SGFS_OK) status = sgfsi_file_columns_match(&j->first, &j->columns, j->from, err);
    if (status == SGFS_OK) status = sgfsi_file_columns_match_recipe(&j->first, &j->columns, err);
    if (status != SGFS_OK) return status;
    for (int64_t k = 0; k < j->first.wanted; k++) moved = moved || j->from[k] != k;
    if (moved && j->now.head.named && !quietly) {
        sgfsi_say(j->sources.options.log, SGFS_NOTE,
                  "%s: its columns stand in another order than those of %s; they are found by "
                  "name.",
                  path, first);
    }
    j->plain = !moved && j->now.head.cols == j->first.wanted && j->now.head.type == head->type;
    return SGFS_OK;
}

/* The target holds words from now on, in all files: in this one they were met. */
static void expect_text(joined *j, sgfsi_table *head) {
    if (!j->sources.options.words) {
        j->text = j->now.first_text;
        j->text_file = j->at;
    }
    j->sources.options.words = true;
    for (int64_t k = 0; k < j->first.wanted; k++) {
        if (sgfsi_file_columns_role(&j->first, k) == SGFSI_ROLE_TARGET) head->text_col = k;
    }
}

/* quietly: what there is to say about the file has been said. */
static sgfs_status open_file(joined *j, bool quietly, sgfs_err *err) {
    sgfsi_read_options options = sgfsi_sources_options(&j->sources, j->at);
    const sgfs_reader_kind *reader = j->sources.reader[j->at];
    const char *path = j->sources.path[j->at];
    if (quietly) options.log = NULL;
    if (j->at == j->text_file) options.first_text = &j->text;
    sgfs_status status = reader->map != NULL
                             ? sgfsi_flow_mapped(&j->now, reader, path, &options, err)
                             : reader->flow(&j->now, path, &options, err);
    j->open = status == SGFS_OK;
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static sgfs_status number_words(column_words *l, int64_t count, char *const *word, sgfs_err *err) {
    if (!sgfsi_grow(&l->map, &l->room, count, sizeof *l->map))
        return sgfsi_fail_memory(err, "the words");
    for (; l->known < count; l->known++) {
        const char *text = word[l->known];
        l->map[l->known] = sgfsi_words_add(&l->words, text, strlen(text));
        if (l->map[l->known] < 0) return sgfsi_fail_memory(err, "the words");
    }
    return SGFS_OK;
}

static sgfs_status fail_kind(const joined *j, const column_words *l, int64_t k, sgfs_err *err) {
    const char *here = j->sources.path[j->at], *there = j->sources.path[l->seen];
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: column \"%.40s\" holds words, and in %.150s numbers only; say "
                      "--categorical with its name, so that both are words.",
                      l->holds_words ? there : here, sgfsi_file_columns_name(&j->first, k),
                      l->holds_words ? here : there);
}

/* Numbers of the words that came with this block. */
static sgfs_status take_words(joined *j, sgfsi_table *joint, sgfs_err *err) {
    const sgfsi_table *head = &j->now.head;
    for (int64_t k = 0; k < j->first.wanted; k++) {
        column_words *l = &j->words[k];
        const sgfsi_dictionary *d = sgfsi_file_columns_words(&j->columns, j->from[k]);
        if (l->seen < 0) {
            l->seen = j->at;
            l->holds_words = d != NULL;
        }
        if (l->holds_words != (d != NULL)) return fail_kind(j, l, k, err);
        if (d == NULL) continue;
        sgfs_status status = number_words(l, d->count, d->word, err);
        if (status != SGFS_OK) return status;
    }
    if (head->text_col < 0) return SGFS_OK;
    column_words *levels = &j->words[j->first.wanted];
    sgfs_status status = number_words(levels, head->levels, head->level, err);
    if (status != SGFS_OK) return status;
    /* Where the target was first found to hold text, as the sentences of models say it. */
    const char *path = j->sources.path[j->at];
    bool ours = joint->text_path == NULL || strcmp(joint->text_path, path) == 0;
    if (head->text_line != 0 && ours && head->text_level < head->levels) {
        joint->text_line = head->text_line;
        joint->text_level = levels->map[head->text_level];
        if (joint->text_path == NULL) joint->text_path = strdup(path);
    }
    if (levels->words.count <= SGFSI_MAX_LEVELS) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: the target \"%.40s\" holds text (\"%.40s\", ...) with more than %d "
                      "different values in all files; is --target the right column?",
                      path, head->names[head->text_col], levels->words.text[0], SGFSI_MAX_LEVELS);
}

/* The head shows the words so far; they stay ours. */
static sgfs_status show_words(const joined *j, sgfsi_table *head, sgfs_err *err) {
    for (int64_t k = 0; k < j->first.wanted; k++) {
        const sgfsi_word_list *w = &j->words[k].words;
        if (head->dictionary == NULL && w->count > 0)
            head->dictionary = calloc((size_t)j->first.wanted, sizeof *head->dictionary);
        if (head->dictionary == NULL && w->count > 0) return sgfsi_fail_memory(err, "the words");
        if (head->dictionary != NULL) head->dictionary[k] = (sgfsi_dictionary){w->count, w->text};
    }
    const sgfsi_word_list *levels = &j->words[j->first.wanted].words;
    head->level = levels->text;
    head->levels = levels->count;
    return SGFS_OK;
}

void sgfsi_flow_hide_words(sgfsi_table *head) {
    for (int64_t k = 0; head->dictionary != NULL && k < head->cols; k++)
        head->dictionary[k] = (sgfsi_dictionary){0, NULL};
    head->level = NULL;
    head->levels = 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Another number in place of cell `at`: the type is F64 or F32. */
static void put(sgfsi_dtype type, void *cells, int64_t at, double x) {
    if (type == SGFSI_F64) ((double *)cells)[at] = x;
    else ((float *)cells)[at] = (float)x;
}

/* The numbers of words in column k of the block become those of all files. A packed file may have
 * been forged: not every number stands for a word. */
static sgfs_status translate(const joined *j, const sgfsi_table *head, int64_t k,
                             sgfsi_flow_block *block, sgfs_err *err) {
    int64_t text = j->now.head.text_col;
    bool level = text >= 0 && j->columns.col[j->from[k]] == text;
    const column_words *l = &j->words[level ? j->first.wanted : k];
    if (!level && !l->holds_words) return SGFS_OK;
    for (int64_t i = 0; i < block->n; i++) {
        int64_t at = i * j->first.wanted + k;
        double x = sgfsi_table_cell(head->type, block->cells, at);
        if (isnan(x) && j->sources.options.na != SGFSI_NA_ERROR) continue;
        if (!(x >= 0 && x < (double)l->known)) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "%.150s: row %lld holds a number that stands for none of its words: "
                              "the file is damaged.",
                              j->sources.path[j->at], (long long)(j->taken_here + i + 1));
        }
        int64_t number = l->map[(int64_t)x];
        if ((double)number != x) put(head->type, block->cells, at, (double)number);
    }
    return SGFS_OK;
}

/* The wanted columns of the file's block in the order of the head, of its type. */
static void spread_out(const joined *j, const sgfsi_table *head, sgfsi_flow_block *block) {
    const int64_t wanted = j->first.wanted, cols = j->now.head.cols;
    const sgfsi_dtype type = j->now.head.type;
    const size_t size = sgfsi_dtype_size(type);
    for (int64_t k = 0; k < wanted; k++) {
        int64_t col = j->columns.col[j->from[k]];
        for (int64_t i = 0; i < block->n; i++) {
            if (type == head->type)
                memcpy((char *)block->cells + (size_t)(i * wanted + k) * size,
                       (char *)j->room + (size_t)(i * cols + col) * size, size);
            else
                put(SGFSI_F64, block->cells, i * wanted + k,
                    sgfsi_table_cell(type, j->room, i * cols + col));
        }
    }
}

static sgfs_status make_room(void **room, size_t *bytes, int64_t rows, const sgfsi_table *head,
                             sgfs_err *err) {
    size_t wanted = (size_t)rows * (size_t)head->cols * sgfsi_dtype_size(head->type);
    if (wanted <= *bytes) return SGFS_OK;
    void *bigger = realloc(*room, wanted);
    if (bigger == NULL) return sgfsi_fail_memory(err, "a block of rows");
    *room = bigger;
    *bytes = wanted;
    return SGFS_OK;
}

/* All files from the beginning, their targets text. */
static void start_as_text(sgfsi_flow *flow, joined *j) {
    expect_text(j, &flow->head);
    close_file(j);
    sgfsi_words_free(&j->words[j->first.wanted].words);
    flow->head.level = NULL;
    flow->head.levels = 0;
    flow->restarted = true;
    flow->head.text_line = 0;
    free(flow->head.text_path);
    flow->head.text_path = NULL;
    j->at = 0;
    j->taken = 0;
    j->done = 0;
}

/* The file at hand has met words where it took numbers for granted, and goes on with its first row:
 * rows of files before it stand only if they had words there as well. */
static sgfs_status start_again(sgfsi_flow *flow, joined *j, sgfs_err *err) {
    j->now.restarted = false;
    bool text = j->now.head.text_col >= 0 && !j->sources.options.words;
    if (text && j->at > 0) return start_as_text(flow, j), SGFS_OK;
    for (int64_t k = 0; j->at > 0 && k < j->first.wanted; k++) {
        bool words = sgfsi_file_columns_words(&j->columns, j->from[k]) != NULL;
        if (words != j->words[k].holds_words) return fail_kind(j, &j->words[k], k, err);
    }
    if (j->at > 0) return sgfsi_fail(err, SGFS_EINTERNAL, "%s: started again.", j->first.path);
    if (text) expect_text(j, &flow->head);
    for (int64_t k = 0; k <= j->first.wanted; k++) {
        j->words[k].known = 0;
        j->words[k].seen = -1;
    }
    j->taken = j->taken_here = 0;
    flow->restarted = true;
    sgfs_status status = take_words(j, &flow->head, err); /* of its first block */
    return status == SGFS_OK ? show_words(j, &flow->head, err) : status;
}

/* One block of the file at hand; flow->restarted: it is void. */
static sgfs_status take_block(sgfsi_flow *flow, joined *j, int64_t most, sgfsi_flow_block *block,
                              sgfs_err *err) {
    sgfsi_table *head = &flow->head;
    const sgfsi_table *now = &j->now.head;
    bool sparse = head->type == SGFSI_CSR;
    sgfs_status status =
        j->plain || sparse ? SGFS_OK : make_room(&j->room, &j->room_bytes, most, now, err);
    sgfsi_flow_block in = {.cells = j->plain ? block->cells : j->room, .line = block->line};
    if (status == SGFS_OK) status = j->now.next(&j->now, most, &in, err);
    if (status != SGFS_OK) return status;
    if (j->now.restarted) return start_again(flow, j, err);
    block->n = in.n;
    block->csr = in.csr;
    block->y = in.y;
    flow->file = j->at;
    flow->lines = j->now.lines;
    if (sparse && now->cols > head->cols) head->cols = now->cols;
    if (sparse || in.n == 0) return SGFS_OK;
    bool text = now->text_col >= 0, words = j->sources.options.words;
    if (text && !words && j->taken > 0) {
        block->n = 0;
        start_as_text(flow, j);
        return SGFS_OK;
    }
    if (text && !words) expect_text(j, head);
    if (!text && words) {
        return sgfsi_fail_targets(j->sources.path[j->at],
                                  j->text_file >= 0 ? j->sources.path[j->text_file] : "others",
                                  head->levels > 0 ? head->level[0] : j->text.text, err);
    }
    status = take_words(j, head, err);
    if (status == SGFS_OK && !j->plain) spread_out(j, head, block);
    for (int64_t k = 0; k < j->first.wanted && status == SGFS_OK; k++)
        status = translate(j, head, k, block, err);
    bool floats = head->type == SGFSI_F64 || head->type == SGFSI_F32;
    bool checked = j->sources.options.whole || j->sources.reader[j->at]->text || !floats;
    for (int64_t i = 0; status == SGFS_OK && !checked && i < block->n * head->cols; i++) {
        double x = sgfsi_table_cell(head->type, block->cells, i);
        if (isfinite(x) || (isnan(x) && j->sources.options.na != SGFSI_NA_ERROR)) continue;
        status = sgfsi_fail_finite(err, "%s: row %lld, column \"%s\"", j->sources.path[j->at],
                                   (long long)(j->taken_here + i / head->cols + 1),
                                   head->names[i % head->cols]);
    }
    if (status == SGFS_OK) status = show_words(j, head, err);
    j->taken += in.n;
    j->taken_here += in.n;
    return status;
}

static sgfs_status next_block(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                              sgfs_err *err) {
    joined *j = flow->self;
    for (block->n = 0; j->at < j->sources.count;) {
        bool quietly = !j->sources.options.whole || !j->sources.reader[j->at]->text;
        sgfs_status status = SGFS_OK;
        if (!j->open) {
            status = open_file(j, quietly, err);
            if (status == SGFS_OK) status = match_file(j, &flow->head, quietly, err);
            if (status != SGFS_OK) close_file(j);
        }
        if (status == SGFS_OK) status = take_block(flow, j, most, block, err);
        if (status != SGFS_OK) sgfsi_files_tidy(&j->sources.labels, err);
        if (status != SGFS_OK || block->n > 0 || flow->restarted) return status;
        close_file(j);
        j->done += j->bytes[j->at++];
    }
    return SGFS_OK;
}

sgfs_status sgfsi_flow_next(sgfsi_flow *flow, int64_t most, double *cells, int64_t *line,
                            int64_t *n, sgfs_err *err) {
    sgfsi_flow_block block = {.cells = cells, .line = line};
    bool doubles = flow->head.type == SGFSI_F64;
    *n = 0;
    if (!doubles) {
        sgfs_status status = make_room(&flow->room, &flow->room_bytes, most, &flow->head, err);
        if (status != SGFS_OK) return status;
        block.cells = flow->room;
    }
    sgfs_status status = flow->next(flow, most, &block, err);
    if (status != SGFS_OK) return status;
    *n = block.n;
    if (!doubles) sgfsi_cells_to(flow->head.type, block.n * flow->head.cols, block.cells, cells);
    return SGFS_OK;
}

static double fraction_of(const sgfsi_flow *flow) {
    const joined *j = flow->self;
    double here = j->open ? j->bytes[j->at] * j->now.fraction(&j->now) : 0;
    return j->total > 0 ? (j->done + here) / j->total : 1;
}

static void close_all(sgfsi_flow *flow) {
    joined *j = flow->self;
    sgfsi_flow_hide_words(&flow->head);
    close_file(j);
    for (int64_t k = 0; j->words != NULL && k <= j->first.wanted; k++) {
        sgfsi_words_free(&j->words[k].words);
        free(j->words[k].map);
    }
    free(j->words);
    free(j->from);
    free(j->room);
    free(j->bytes);
    sgfsi_file_columns_free(&j->first);
    sgfsi_sources_close(&j->sources);
    free(j);
    flow->self = NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* libsvm files with their zeros have as many features as the widest of them. */
static sgfs_status count_columns(joined *j, sgfs_err *err) {
    int64_t widest = 0, rows = 0;
    const sgfsi_read_options *o = &j->sources.options;
    if (!j->sources.libsvm || (o->whole && !o->dense)) return SGFS_OK;
    if (!o->whole && (o->columns > 0 || j->sources.count == 1)) return SGFS_OK;
    for (int64_t i = 0; i < j->sources.count; i++) {
        if (!j->sources.reader[i]->numbered) continue;
        const sgfsi_read_options options = sgfsi_sources_options(&j->sources, i);
        int64_t here, cols;
        sgfs_status status = sgfsi_libsvm_count(j->sources.path[i], &options, &here, &cols, err);
        if (status != SGFS_OK) return status;
        if (cols > widest) widest = cols;
        rows += here;
    }
    j->sources.options.columns = widest;
    double bytes =
        (double)rows * (double)(widest + 1) * (o->single ? sizeof(float) : sizeof(double));
    double memory = sgfsi_memory();
    if (!o->whole || bytes <= memory) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENOMEM,
                      "%s: %lld rows of %lld numbers take %.3g GB with their zeros, and there "
                      "are %.3g GB of memory: leave --dense out, or pack the file first "
                      "(sgfs pack).",
                      j->sources.path[0], (long long)rows, (long long)widest + 1, 1e-9 * bytes,
                      1e-9 * memory);
}

/* The first file says what the columns are. */
static sgfs_status make_head(joined *j, sgfsi_table *head, sgfs_err *err) {
    sgfsi_file_columns own;
    if (j->now.head.type == SGFSI_CSR) {
        *head = (sgfsi_table){.type = SGFSI_CSR, .text_col = -1};
        return SGFS_OK;
    }
    const sgfsi_run_columns *run = j->sources.options.run;
    sgfs_status status = sgfsi_file_columns_of(&own, j->sources.path[0], &j->now.head, err);
    if (status == SGFS_OK)
        status =
            run != NULL ? sgfsi_run_columns_head(run, head, err) : sgfsi_flow_head(&own, head, err);
    sgfsi_file_columns_free(&own);
    if (status == SGFS_OK) status = sgfsi_file_columns_of(&j->first, j->sources.path[0], head, err);
    if (status == SGFS_OK) {
        j->from = calloc((size_t)j->first.wanted + 1, sizeof *j->from);
        j->words = calloc((size_t)j->first.wanted + 1, sizeof *j->words);
        if (j->from == NULL || j->words == NULL) status = sgfsi_fail_memory(err, "the columns");
    }
    if (status != SGFS_OK) return sgfsi_table_free(head), status; /* its words are its own so far */
    if (j->sources.count > 1) { /* what one file says of its rows is not true of all */
        head->rows = 0;
        head->shuffled = false;
        free(head->stats);
        head->stats = NULL;
    }
    head->text_line = 0; /* until its row comes */
    for (int64_t k = 0; k < j->first.wanted; k++) {
        j->words[k].seen = run != NULL ? 0 : -1;
        j->words[k].holds_words = sgfsi_file_columns_words(&j->first, k) != NULL;
    }
    j->sources.options.words = j->sources.options.words || (run != NULL && head->text_col >= 0);
    /* Words known before the first row become ours. */
    for (int64_t k = head->dictionary != NULL ? 0 : head->cols; k <= head->cols; k++) {
        const sgfsi_dictionary levels = {head->levels, head->level},
                               *d = k < head->cols ? &head->dictionary[k] : &levels;
        if (status == SGFS_OK) status = number_words(&j->words[k], d->count, d->word, err);
        j->words[k].known = 0;
        sgfsi_names_free(d->word, d->count);
    }
    sgfsi_flow_hide_words(head);
    return status == SGFS_OK ? show_words(j, head, err) : status;
}

/* The others have its columns too; then the first one again, to begin with. */
static sgfs_status check_files(joined *j, sgfsi_table *head, sgfs_err *err) {
    const sgfsi_read_options *o = &j->sources.options;
    sgfs_status status = open_file(j, false, err);
    if (status == SGFS_OK) status = make_head(j, head, err);
    if (status == SGFS_OK) status = match_file(j, head, true, err);
    if (status != SGFS_OK) return status;
    if (head->text_col >= 0) expect_text(j, head);
    bool others = false, mixed = false;
    for (int64_t i = 1; i < j->sources.count && status == SGFS_OK; i++) {
        if (o->whole && j->sources.reader[i]->text) {
            mixed = mixed || head->type != (o->single ? SGFSI_F32 : SGFSI_F64);
            continue;
        }
        close_file(j);
        others = true;
        j->at = i;
        status = open_file(j, o->run != NULL, err);
        if (status == SGFS_OK) status = match_file(j, head, false, err);
        if (status == SGFS_OK && j->now.head.text_col >= 0) expect_text(j, head);
        mixed = mixed || j->now.head.type != head->type;
    }
    if (status != SGFS_OK) return status;
    if (others) close_file(j);
    j->at = 0;
    bool integers = head->type != SGFSI_F64 && head->type != SGFSI_F32; /* words may be too many */
    mixed = mixed || (j->sources.count > 1 && integers && o->words);
    if (!mixed || head->type == SGFSI_CSR) return SGFS_OK;
    head->type = SGFSI_F64;
    j->plain = j->plain && j->now.head.type == SGFSI_F64;
    return SGFS_OK;
}

sgfs_status sgfsi_flow_open(sgfsi_flow *flow, int64_t files, const char *const *path,
                            const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    joined *j = calloc(1, sizeof *j);
    *flow = (sgfsi_flow){.next = next_block, .fraction = fraction_of, .close = close_all};
    if (j == NULL) return sgfsi_fail_memory(err, "a reader");
    flow->self = j;
    j->text_file = -1;
    sgfs_status status = sgfsi_sources_open(&j->sources, files, path, options, err);
    if (status == SGFS_OK && j->sources.joint != NULL)
        sgfsi_say(options->log, SGFS_NOTE,
                  "The %lld files have other words from file to file: their columns are joined by "
                  "name and word, and rows are copied.",
                  (long long)files);
    if (status == SGFS_OK) j->bytes = calloc((size_t)files, sizeof *j->bytes);
    if (status == SGFS_OK && j->bytes == NULL) status = sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; status == SGFS_OK && i < files; i++) {
        struct stat st;
        j->bytes[i] = stat(path[i], &st) == 0 ? (double)st.st_size : 0;
        j->total += j->bytes[i];
    }
    if (status == SGFS_OK) status = count_columns(j, err);
    if (status == SGFS_OK) status = check_files(j, &flow->head, err);
    if (status == SGFS_OK) return SGFS_OK;
    sgfsi_files_tidy(&j->sources.labels, err);
    sgfsi_flow_close(flow);
    return status;
}
