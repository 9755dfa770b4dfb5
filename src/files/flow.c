/* SPDX-License-Identifier: MIT
 * flow.c: the flow of one file, and the flows of several, one after another, as one.
 *
 *     file 1: next, ..., end | file 2: next, ... | ...   -> wanted columns, first file's order
 *
 * One flow is open at a time: there may be thousands of files. All of them are opened once before
 * the first row, to see that their columns agree: a mistake in the last file should not come to
 * light after hours. libsvm files are then gone through once, for their number of columns, unless
 * --columns says it.
 *
 * Words get numbers that count through all files: number c of the file at hand is map[c] of all.
 * Where some target turns out to be text all targets are: everything starts again (again), with
 * every file told so from the beginning.
 */
#include "files/flow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files/flow_table.h"
#include "files/glossary.h"
#include "files/levels.h"
#include "files/sources.h"

/* Words of one column of the chain. */
typedef struct lexicon {
    sgfsi_glossary words; /* of all files so far */
    int64_t *map, known;  /* known: words of the file at hand that have a number in map */
    int64_t room;
    int64_t seen; /* file that said first whether these are words; -1: none yet */
    bool holds_words;
} lexicon;

typedef struct chain {
    sgfsi_sources sources;
    double *bytes, total, done; /* count: sizes of the files; of all; of those that are finished */
    sgfsi_file_columns first;   /* of the flow's head */
    int64_t at;                 /* file at hand */
    int64_t taken;              /* rows since the beginning */
    sgfsi_flow now;
    bool open;
    sgfsi_file_columns shape; /* of now.head */
    int64_t *from;            /* wanted: which of its columns is the head's k-th */
    lexicon *lexicon;         /* wanted + 1: the last one is the target's levels */
    double *room;             /* rows x now.head.cols */
    size_t room_cells;
} chain;

/* ---- one file -------------------------------------------------------------------------------- */

static sgfs_status open_one(sgfsi_flow *flow, const sgfs_reader_kind *reader, const char *path,
                            const sgfsi_read_options *options, sgfs_err *err) {
    memset(flow, 0, sizeof *flow);
    if (reader->flow == NULL) return sgfsi_flow_table(flow, reader, path, options, err);
    return reader->flow(flow, path, options, err);
}

void sgfsi_flow_close(sgfsi_flow *flow) {
    if (flow->self != NULL && flow->close != NULL) flow->close(flow);
    sgfsi_table_free(&flow->head);
    memset(flow, 0, sizeof *flow);
}

/* ---- the file at hand ------------------------------------------------------------------------ */

static void close_file(chain *c) {
    if (c->open) sgfsi_flow_close(&c->now);
    sgfsi_file_columns_free(&c->shape);
    c->open = false;
    for (int64_t k = 0; c->lexicon != NULL && k <= c->first.wanted; k++) c->lexicon[k].known = 0;
}

/* Its columns against those of the first one. */
static sgfs_status match_file(chain *c, sgfs_err *err) {
    sgfs_status status =
        sgfsi_file_columns_of(&c->shape, c->sources.path[c->at], &c->now.head, err);
    if (status == SGFS_OK) status = sgfsi_file_columns_match(&c->first, &c->shape, c->from, err);
    return status == SGFS_OK ? sgfsi_file_columns_match_recipe(&c->first, &c->shape, err) : status;
}

/* quietly: what there is to say about the file has been said. */
static sgfs_status open_file(chain *c, bool quietly, sgfs_err *err) {
    sgfsi_read_options options = sgfsi_sources_options(&c->sources, c->at);
    if (quietly) options.log = NULL;
    const char *path = c->sources.path[c->at];
    sgfs_status status = open_one(&c->now, c->sources.reader[c->at], path, &options, err);
    c->open = status == SGFS_OK;
    return status;
}

static sgfs_status next_file(chain *c, sgfs_err *err) {
    sgfs_status status = open_file(c, true, err);
    if (status == SGFS_OK) status = match_file(c, err);
    if (status != SGFS_OK) close_file(c);
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static sgfs_status number_words(lexicon *l, int64_t count, char *const *word, sgfs_err *err) {
    if (count > l->room) {
        int64_t room = count > 2 * l->room ? count : 2 * l->room;
        int64_t *map = realloc(l->map, (size_t)room * sizeof *map);
        if (map == NULL) return sgfsi_fail_memory(err, "the words");
        l->map = map;
        l->room = room;
    }
    for (; l->known < count; l->known++) {
        int64_t number = l->map[l->known] = sgfsi_glossary_add(&l->words, word[l->known]);
        if (number < 0) return sgfsi_fail_memory(err, "the words");
    }
    return SGFS_OK;
}

static sgfs_status fail_kind(const chain *c, const lexicon *l, int64_t k, sgfs_err *err) {
    const char *here = c->sources.path[c->at], *there = c->sources.path[l->seen];
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: column \"%.40s\" holds words, and in %.150s numbers only; say "
                      "--categorical with its name, so that both are words.",
                      l->holds_words ? there : here, sgfsi_file_columns_name(&c->first, k),
                      l->holds_words ? here : there);
}

/* Numbers of the words that came with this block. */
static sgfs_status take_words(chain *c, sgfs_err *err) {
    const sgfsi_table *head = &c->now.head;
    for (int64_t k = 0; k < c->first.wanted; k++) {
        lexicon *l = &c->lexicon[k];
        const sgfsi_dictionary *d = sgfsi_file_columns_words(&c->shape, c->from[k]);
        if (l->seen < 0) {
            l->seen = c->at;
            l->holds_words = d != NULL;
        }
        if (l->holds_words != (d != NULL)) return fail_kind(c, l, k, err);
        if (d == NULL) continue;
        sgfs_status status = number_words(l, d->count, d->word, err);
        if (status != SGFS_OK) return status;
    }
    if (head->text_col < 0) return SGFS_OK;
    lexicon *levels = &c->lexicon[c->first.wanted];
    sgfs_status status = number_words(levels, head->levels, head->level, err);
    if (status != SGFS_OK || levels->words.count <= SGFSI_MAX_LEVELS) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: the target \"%.40s\" holds text (\"%.40s\", ...) with more than %d "
                      "different values in all files; is --target the right column?",
                      c->sources.path[c->at], head->names[head->text_col], levels->words.text[0],
                      SGFSI_MAX_LEVELS);
}

/* The head shows the words so far; they stay the chain's. */
static sgfs_status show_words(const chain *c, sgfsi_table *head, sgfs_err *err) {
    for (int64_t k = 0; k < c->first.wanted; k++) {
        const sgfsi_glossary *w = &c->lexicon[k].words;
        if (head->dictionary == NULL && w->count > 0)
            head->dictionary = calloc((size_t)c->first.wanted, sizeof *head->dictionary);
        if (head->dictionary == NULL && w->count > 0) return sgfsi_fail_memory(err, "the words");
        if (head->dictionary != NULL) head->dictionary[k] = (sgfsi_dictionary){w->count, w->text};
    }
    const sgfsi_glossary *levels = &c->lexicon[c->first.wanted].words;
    head->level = levels->text;
    head->levels = levels->count;
    return SGFS_OK;
}

static void hide_words(sgfsi_table *head) {
    for (int64_t k = 0; head->dictionary != NULL && k < head->cols; k++)
        head->dictionary[k] = (sgfsi_dictionary){0, NULL};
    head->level = NULL;
    head->levels = 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The words of a wanted column of the block; NULL: numbers. */
static const lexicon *words_of(const chain *c, int64_t k) {
    int64_t text = c->now.head.text_col;
    if (text >= 0 && c->shape.col[c->from[k]] == text) return &c->lexicon[c->first.wanted];
    return c->lexicon[k].holds_words ? &c->lexicon[k] : NULL;
}

/* A packed file may have been forged: not every number stands for a word. */
static sgfs_status translate(const chain *c, const lexicon *l, int64_t n, double *column,
                             sgfs_err *err) {
    for (int64_t i = 0; i < n; i++) {
        double *x = column + i * c->first.wanted;
        if (!(*x >= 0 && *x < (double)l->known)) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "%.150s: holds the number %g where it stands for none of its words: "
                              "the file is damaged.",
                              c->sources.path[c->at], *x);
        }
        *x = (double)l->map[(int64_t)*x];
    }
    return SGFS_OK;
}

static sgfs_status spread_out(const chain *c, int64_t n, double *cells, sgfs_err *err) {
    int64_t wanted = c->first.wanted, cols = c->now.head.cols;
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < wanted && status == SGFS_OK; k++) {
        const double *in = c->room + c->shape.col[c->from[k]];
        const lexicon *l = words_of(c, k);
        for (int64_t i = 0; i < n; i++) cells[i * wanted + k] = in[i * cols];
        if (l != NULL) status = translate(c, l, n, cells + k, err);
    }
    return status;
}

static sgfs_status make_room(chain *c, int64_t most, sgfs_err *err) {
    size_t cells = (size_t)most * (size_t)c->now.head.cols;
    if (cells <= c->room_cells) return SGFS_OK;
    double *room = realloc(c->room, cells * sizeof *room);
    if (room == NULL) return sgfsi_fail_memory(err, "a block of rows");
    c->room = room;
    c->room_cells = cells;
    return SGFS_OK;
}

/* Targets are text from now on. */
static void expect_text(chain *c, sgfsi_table *head) {
    c->sources.options.words = true;
    for (int64_t k = 0; k < c->first.wanted; k++) {
        if (sgfsi_file_columns_role(&c->first, k) == SGFSI_ROLE_TARGET) head->text_col = k;
    }
}

/* All files from the beginning, their targets text. */
static sgfs_status start_as_text(sgfsi_flow *flow, chain *c, sgfs_err *err) {
    expect_text(c, &flow->head);
    close_file(c);
    sgfsi_glossary_free(&c->lexicon[c->first.wanted].words);
    c->at = 0;
    c->taken = 0;
    c->done = 0;
    flow->again = true;
    return next_file(c, err);
}

/* The file at hand has met words where it took numbers for granted: rows so far are void. */
static sgfs_status start_again(sgfsi_flow *flow, chain *c, sgfs_err *err) {
    c->now.again = false;
    if (c->now.head.text_col >= 0 && !c->sources.options.words) return start_as_text(flow, c, err);
    for (int64_t k = 0; c->at > 0 && k < c->first.wanted; k++) {
        bool words = sgfsi_file_columns_words(&c->shape, c->from[k]) != NULL;
        if (words != c->lexicon[k].holds_words) return fail_kind(c, &c->lexicon[k], k, err);
    }
    if (c->at > 0) return sgfsi_fail(err, SGFS_EINTERNAL, "%s: started again.", c->first.path);
    for (int64_t k = 0; k <= c->first.wanted; k++) { /* the first file goes on by itself */
        c->lexicon[k].known = 0;
        c->lexicon[k].seen = -1;
    }
    c->taken = 0;
    flow->again = true;
    return SGFS_OK;
}

/* Is the target of this file text as that of the others is? *again: it is, and was not so far. */
static sgfs_status check_text(sgfsi_flow *flow, chain *c, bool *again, sgfs_err *err) {
    bool text = c->now.head.text_col >= 0;
    *again = text && !c->sources.options.words && c->taken > 0;
    if (text && !*again) expect_text(c, &flow->head);
    if (text || !c->sources.options.words) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: its targets are numbers, and those of another file are texts.",
                      c->sources.path[c->at]);
}

/* One block of the file at hand. *again: it is void. */
static sgfs_status take_block(sgfsi_flow *flow, chain *c, int64_t most, double *cells, int64_t *n,
                              sgfs_err *err) {
    bool again = false;
    sgfs_status status = make_room(c, most, err);
    if (status == SGFS_OK) status = c->now.next(&c->now, most, c->room, n, err);
    if (status != SGFS_OK) return status;
    if (!c->now.again && *n > 0) status = check_text(flow, c, &again, err);
    if (status == SGFS_OK && c->now.again) return *n = 0, start_again(flow, c, err);
    if (status == SGFS_OK && again) return *n = 0, start_as_text(flow, c, err);
    if (status == SGFS_OK && *n > 0) status = take_words(c, err);
    if (status != SGFS_OK || *n == 0) return status;
    status = spread_out(c, *n, cells, err);
    if (status == SGFS_OK) status = show_words(c, &flow->head, err);
    c->taken += *n;
    return status;
}

static sgfs_status chain_next(sgfsi_flow *flow, int64_t most, double *cells, int64_t *n,
                              sgfs_err *err) {
    chain *c = flow->self;
    *n = 0;
    while (c->at < c->sources.count) {
        sgfs_status status = c->open ? SGFS_OK : next_file(c, err);
        if (status == SGFS_OK) status = take_block(flow, c, most, cells, n, err);
        if (status != SGFS_OK) sgfsi_files_tidy(&c->sources.labels, err);
        if (status != SGFS_OK || *n > 0 || flow->again) return status;
        close_file(c);
        c->done += c->bytes[c->at++];
    }
    return SGFS_OK;
}

static double chain_fraction(const sgfsi_flow *flow) {
    const chain *c = flow->self;
    double here = c->open ? c->bytes[c->at] * c->now.fraction(&c->now) : 0;
    return c->total > 0 ? (c->done + here) / c->total : 1;
}

static void chain_close(sgfsi_flow *flow) {
    chain *c = flow->self;
    hide_words(&flow->head);
    close_file(c);
    for (int64_t k = 0; c->lexicon != NULL && k <= c->first.wanted; k++) {
        sgfsi_glossary_free(&c->lexicon[k].words);
        free(c->lexicon[k].map);
    }
    free(c->lexicon);
    free(c->from);
    free(c->room);
    free(c->bytes);
    sgfsi_file_columns_free(&c->first);
    sgfsi_sources_close(&c->sources);
    free(c);
    flow->self = NULL;
}

/* ---- several files --------------------------------------------------------------------------- */

static sgfs_status weigh_files(chain *c, sgfs_err *err) {
    c->bytes = calloc((size_t)c->sources.count, sizeof *c->bytes);
    if (c->bytes == NULL) return sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; i < c->sources.count; i++) {
        struct stat st;
        c->bytes[i] = stat(c->sources.path[i], &st) == 0 ? (double)st.st_size : 0;
        c->total += c->bytes[i];
    }
    return SGFS_OK;
}

/* libsvm files have as many features as the widest of them. */
static sgfs_status count_columns(chain *c, sgfs_err *err) {
    int64_t widest = 0;
    if (!c->sources.libsvm || c->sources.options.columns > 0) return SGFS_OK;
    for (int64_t i = 0; i < c->sources.count; i++) {
        if (c->sources.reader[i] != &sgfs_reader_libsvm) continue;
        const sgfsi_read_options options = sgfsi_sources_options(&c->sources, i);
        sgfsi_flow one;
        sgfs_status status =
            open_one(&one, c->sources.reader[i], c->sources.path[i], &options, err);
        if (status != SGFS_OK) return status;
        if (one.head.cols - 1 > widest) widest = one.head.cols - 1;
        sgfsi_flow_close(&one);
    }
    c->sources.options.columns = widest;
    return SGFS_OK;
}

/* The first file says what the columns are. */
static sgfs_status make_head(chain *c, sgfsi_table *head, sgfs_err *err) {
    sgfsi_file_columns own;
    sgfs_status status = sgfsi_file_columns_of(&own, c->sources.path[0], &c->now.head, err);
    if (status == SGFS_OK) status = sgfsi_flow_head(&own, head, err);
    sgfsi_file_columns_free(&own);
    if (status == SGFS_OK) status = sgfsi_file_columns_of(&c->first, c->sources.path[0], head, err);
    if (status != SGFS_OK) return status;
    head->rows = 0; /* and what one file says of its rows is not true of all */
    head->shuffled = false;
    free(head->stats);
    head->stats = NULL;
    c->from = calloc((size_t)c->first.wanted + 1, sizeof *c->from);
    c->lexicon = calloc((size_t)c->first.wanted + 1, sizeof *c->lexicon);
    if (c->from == NULL || c->lexicon == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t k = 0; k <= c->first.wanted; k++) c->lexicon[k].seen = -1;
    return SGFS_OK;
}

/* Words known before the first row become the chain's. */
static sgfs_status adopt_words(chain *c, sgfsi_table *head, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; head->dictionary != NULL && k < head->cols; k++) {
        sgfsi_dictionary *d = &head->dictionary[k];
        for (int64_t i = 0; i < d->count; i++) {
            if (sgfsi_glossary_add(&c->lexicon[k].words, d->word[i]) < 0)
                status = sgfsi_fail_memory(err, "the words");
            free(d->word[i]);
        }
        free(d->word);
    }
    for (int64_t i = 0; i < head->levels; i++) {
        if (sgfsi_glossary_add(&c->lexicon[head->cols].words, head->level[i]) < 0)
            status = sgfsi_fail_memory(err, "the words");
        free(head->level[i]);
    }
    free(head->level);
    hide_words(head);
    return status == SGFS_OK ? show_words(c, head, err) : status;
}

/* The others have its columns too; then the first one again, to begin with. */
static sgfs_status check_files(chain *c, sgfsi_table *head, sgfs_err *err) {
    sgfs_status status = open_file(c, false, err);
    if (status == SGFS_OK) status = make_head(c, head, err);
    if (status == SGFS_OK) status = adopt_words(c, head, err);
    if (status == SGFS_OK) status = match_file(c, err);
    if (status != SGFS_OK) return status;
    if (head->text_col >= 0) expect_text(c, head);
    for (c->at = 1; c->at < c->sources.count && status == SGFS_OK; c->at++) {
        close_file(c);
        status = open_file(c, false, err);
        if (status == SGFS_OK) status = match_file(c, err);
        if (status == SGFS_OK && c->now.head.text_col >= 0) expect_text(c, head);
        if (status == SGFS_OK && c->now.head.type != head->type) head->type = SGFSI_F64;
    }
    if (status == SGFS_OK && c->at > 1) close_file(c);
    c->at = 0;
    return status;
}

static sgfs_status open_chain(sgfsi_flow *flow, int64_t files, const char *const *path,
                              const sgfsi_read_options *options, sgfs_err *err) {
    chain *c = calloc(1, sizeof *c);
    if (c == NULL) return sgfsi_fail_memory(err, "a reader");
    *flow = (sgfsi_flow){
        .self = c, .next = chain_next, .fraction = chain_fraction, .close = chain_close};
    sgfs_status status = sgfsi_sources_open(&c->sources, files, path, options, err);
    if (status == SGFS_OK) status = weigh_files(c, err);
    if (status == SGFS_OK) status = count_columns(c, err);
    if (status == SGFS_OK) status = check_files(c, &flow->head, err);
    if (status == SGFS_OK) return SGFS_OK;
    sgfsi_files_tidy(&c->sources.labels, err);
    sgfsi_flow_close(flow);
    return status;
}

sgfs_status sgfsi_flow_open(sgfsi_flow *flow, int64_t files, const char *const *path,
                            const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    bool labels = options->labels != NULL && options->labels[0] != '\0'; /* may be a pipe */
    memset(flow, 0, sizeof *flow);
    if (files > 1 || labels) return open_chain(flow, files, path, options, err);
    const sgfs_reader_kind *reader = sgfsi_table_reader(path[0], err);
    if (reader == NULL) return err->code;
    sgfs_status status = sgfsi_reader_check(reader, path[0], options, err);
    return status == SGFS_OK ? open_one(flow, reader, path[0], options, err) : status;
}
