/* SPDX-License-Identifier: MIT
 * transform_kind.h: one operation of a recipe (transform.h), and the table of the kinds there are.
 *
 * A kind either chooses rows or changes features, never both. Whether a row stays depends on its
 * number in the file, its target and which of its values are missing, not on what others make of
 * it: so both sorts can be worked off apart, each in the order in which it was given. A new
 * operation is one row in sgfsi_transform_kinds and its functions.
 */
#pragma once

#include "base/arena.h"
#include "files/transform/transform.h"

/* Columns that numbers on the command line count: those of the file, or those --project made. */
typedef struct sgfsi_base {
    int64_t cols;
    const char *const *name;
    const unsigned char *role; /* NULL: all are features */
    bool named;                /* by the file; else x1, x2, ... by their place */
    bool partial;              /* some columns of the file are not here: numbers would be off */
} sgfsi_base;

/* What the numbers 0, 1, ... of a column stand for. */
typedef struct sgfsi_coded {
    int64_t count; /* 0: themselves */
    const char *const *word;
    int64_t reference; /* the word that others are compared with */
} sgfsi_coded;

/* Features between two operations. */
typedef struct sgfsi_feature_list {
    int64_t cols;
    const char **name; /* cols */
    int64_t *origin;   /* cols: the column of base each one came from */
    const sgfsi_base *base;
    const sgfsi_coded *coded; /* cols: words as numbers, on their way to a formula; NULL: none */
} sgfsi_feature_list;

typedef struct sgfsi_row {
    int64_t number; /* in the file, from 0 */
    double y;       /* the target; NaN without one */
    bool learning;  /* rows of the training part are wanted, whatever the user reads */
    bool lacks;     /* what is no column of the head has no value: target, weight or exposure */
    /* Its cells: as many as the head has columns; or, where col is there, so many entries. NULL:
     * nobody will look. */
    const double *x;
    const int32_t *col;
    int64_t entries;
} sgfsi_row;

/* Rows that a step may learn from: n of them, each a list of entries. A dense row is the special
 * case where every column is an entry. */
typedef struct sgfsi_seen {
    int64_t n;
    const int64_t *row;   /* n rows of what follows; NULL: the first ones */
    const double *weight; /* by row, how often it counts; NULL: once */
    const double *x;      /* by row: in.cols numbers; or, where start is there, */
    const int64_t *start; /* those from start[row] on, up to start[row + 1], the others being 0 */
    const int32_t *col;   /* and their columns */
} sgfsi_seen;

struct sgfsi_transform_kind;

typedef struct sgfsi_transform {
    const struct sgfsi_transform_kind *kind;
    const sgfsi_table *head; /* what the recipe starts from; NULL: it was recalled */
    sgfsi_arena *arena;
    const sgfsi_log *log;
    const char *text;           /* the option's value */
    bool ready;                 /* has looked, where it must */
    int64_t place;              /* among all operations: smaller comes first */
    sgfsi_feature_list in, out; /* column operations */
    void *self;
} sgfsi_transform;

typedef struct sgfsi_transform_kind {
    const char *op;  /* in the run file; the flag as well, where there is an option */
    const char *key; /* of the option; NULL: it has none */
    /* Is it to be done to rows that begin with this head? NULL: if its option was given. */
    bool (*wanted)(const sgfs_config *cfg, const sgfsi_table *head);
    /* Only readers look at the cells it works on: it comes before all others, those with a small
     * number first. 0: it comes where its option was given. */
    int reads;
    bool early; /* nobody before it knows what to do with its columns: it comes before all others on
                 * columns that readers do not look at */
    /* Read the options that belong to it. */
    sgfs_status (*open)(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err);
    void (*tell)(const sgfsi_transform *s, sgfsi_json *out);
    /* The opposite of tell, in place of open and looks; s->in is there. NULL: shape does it. */
    sgfs_status (*recall)(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err);
    void (*brief)(const sgfsi_transform *s, char *out, size_t room); /* NULL: op and value */

    void (*rewind)(sgfsi_transform *s); /* rows will come from the first on */
    /* From now on a word, a month or a combination of words that no row of the run had is 0 in all
     * its columns; false: it has no such columns. NULL: it has no words. */
    bool (*zero_words)(sgfsi_transform *s);

    /* Rows. */
    bool (*keep)(sgfsi_transform *s, const sgfsi_row *row);
    bool (*full)(const sgfsi_transform *s); /* no later row will stay */
    /* After the last row; stopped: there were more, which nobody looked at. */
    sgfs_status (*finish)(const sgfsi_transform *s, bool stopped, sgfs_err *err);

    /* Columns. shape: s->out from s->in, after the look where there is one; saved: what tell told
     * of a step that is recalled, else NULL. NULL: the columns stay as they are. */
    sgfs_status (*shape)(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err);
    bool looks; /* needs a pass over the rows before shape */
    sgfs_status (*look)(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err); /* NULL: reading
                                                                                  is enough */
    sgfs_status (*looked)(sgfsi_transform *s, sgfs_err *err);
    /* Either cell by cell: number *x of column *col that goes in becomes *x of column *col that
     * comes out, -1: of none. Sparse rows stay sparse, unless it fills them: a 0 becomes something
     * else (NULL: it does not). */
    sgfs_status (*cell)(const sgfsi_transform *s, int64_t *col, double *x, sgfs_err *err);
    bool (*fills)(const sgfsi_transform *s);
    /* Or all of a row: n x in.cols to n x out.cols. *bad: the row that is to blame. */
    sgfs_status (*apply)(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                         int64_t *bad, sgfs_err *err);
    /* A row of in.cols numbers as entries: the columns that come out, increasing, and their
     * numbers; what is not among them is 0. At most most_entries of them (NULL: in.cols). Set with
     * apply, of steps that make many columns; NULL: there is no such way. */
    sgfs_status (*entries)(const sgfsi_transform *s, const double *in, int32_t *col, double *x,
                           int64_t *count, sgfs_err *err);
    int64_t (*most_entries)(const sgfsi_transform *s);
    bool (*selects)(const sgfsi_transform *s); /* cells stay as they are; NULL: they do not */
    /* Which columns that go in does one that comes out depend on? Sets in[], never clears. NULL:
     * each on the one in its place. */
    void (*need)(const sgfsi_transform *s, const unsigned char *out, unsigned char *in);
} sgfsi_transform_kind;

extern const sgfsi_transform_kind sgfsi_transform_columns, sgfsi_transform_amount,
    sgfsi_transform_date, sgfsi_transform_categorical, sgfsi_transform_complete,
    sgfsi_transform_fill, sgfsi_transform_formula, sgfsi_transform_drop, sgfsi_transform_log1p,
    sgfsi_transform_project, sgfsi_transform_standardize, sgfsi_transform_keep_classes,
    sgfsi_transform_limit, sgfsi_transform_split;
extern const sgfsi_transform_kind *const sgfsi_transform_kinds[]; /* NULL-terminated */

/* The parts of --split. */
typedef enum sgfsi_split_part {
    SGFSI_PART_TRAIN,
    SGFSI_PART_VALIDATION,
    SGFSI_PART_TEST,
    SGFSI_PART_ALL
} sgfsi_split_part;

struct sgfsi_recipe {
    sgfsi_arena arena;
    const sgfsi_table *head; /* borrowed; NULL: recalled */
    const sgfsi_log *log;
    sgfsi_base base;
    int64_t steps;
    sgfsi_transform *step;     /* in order */
    sgfsi_feature_list inputs; /* features of the head, or all that a recalled list begins with */
    int64_t *input_col;        /* inputs: columns of the head; or needed: which of the inputs */
    int64_t shaped;            /* steps whose shape is known */
    int64_t target;            /* column of the head, or -1 */
    int64_t weights;
    bool steps_rows, steps_columns; /* are there such? */
    int64_t passed;   /* others that pass through behind the features: target, weights, exposure */
    int64_t *pass;    /* passed: columns of the head */
    sgfsi_table *out; /* what comes out; once all shapes are known */
    bool leaves;      /* --standardize is the design's business */
    const sgfsi_transform
        *learnt;         /* and these are its means and scales; NULL: of the rows in use */
    int64_t at;          /* rows that have gone by */
    int64_t chosen;      /* of those, rows that stayed */
    sgfsi_beside beside; /* by row, what is no column of the head */
    bool gaps;           /* --na: NaN is a missing value */
    bool unchecked;      /* cells may be no finite numbers: those of rows that stay are looked at */
    bool named;          /* the columns that go in have names of their own */
    /* Recalled: */
    int64_t width, needed; /* inputs; those that anything depends on */
    const char **needed_name;
    const sgfsi_transform *split; /* rows of `part` only; NULL: of any */
    sgfsi_split_part part;
};

/* Names say nothing but the columns' places. */
bool sgfsi_features_by_place(const sgfsi_feature_list *s);
/* s->out from s->in. */
sgfs_status sgfsi_transform_shape(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err);
/* SGFS_ERUNFILE: what tell told of it makes no sense. */
sgfs_status sgfsi_transform_damaged(const sgfsi_transform *s, sgfs_err *err);
static inline const sgfsi_feature_list *sgfsi_recipe_last(const sgfsi_recipe *r) {
    return r->steps > 0 ? &r->step[r->steps - 1].out : &r->inputs;
}
static inline bool sgfsi_transform_rows(const sgfsi_transform *s) {
    return s->kind->keep != NULL;
}
/* Has row i no target, weight or exposure, though there are such? */
bool sgfsi_beside_lacks(const sgfsi_beside *beside, int64_t i);
/* The k-th step that looks; NULL: there is none. */
sgfsi_transform *sgfsi_recipe_looker(const sgfsi_recipe *r, int64_t k);
/* Does the row stay, by the row steps before `place`? Where it is wanted to learn from, it must
 * also be in the training part of a --split that comes later. */
bool sgfsi_recipe_keep(sgfsi_recipe *r, const sgfsi_row *row, int64_t place);
/* Will no later row stay, by the row steps before `place`? */
bool sgfsi_recipe_full(const sgfsi_recipe *r, int64_t place);
/* n rows of features through the column steps before `last`. */
sgfs_status sgfsi_recipe_apply(const sgfsi_recipe *r, int64_t last, int64_t n, const double *in,
                               double *out, int64_t *bad, sgfs_err *err);
/* Row number (from 0) in front of what went wrong in it. */
sgfs_status sgfsi_fail_row(sgfs_err *err, int64_t row);

/* transform_names.c: columns of s->in by what the user wrote: hit[in.cols] is set. */
sgfs_status sgfsi_transform_find(const sgfsi_transform *s, const char *list, unsigned char *hit,
                                 sgfs_err *err);
/* The same from a list of names in a run file. */
sgfs_status sgfsi_transform_find_saved(const sgfsi_transform *s, const sgfsi_json *names,
                                       unsigned char *hit, sgfs_err *err);
void sgfsi_transform_tell_names(const sgfsi_transform *s, const unsigned char *hit,
                                sgfsi_json *out);

/* transform_columns.c: the words of a column that goes in, or NULL. */
const sgfsi_dictionary *sgfsi_words_of(const sgfsi_transform *s, int64_t j);
const char *sgfsi_words_reference(const sgfsi_transform *s, int64_t j); /* NULL: none */
/* As strcmp: numbers by value, all else by bytes, what is missing last. */
int sgfsi_words_compare(const char *a, const char *b);

/* transform_formula.c: rows whose numbers are none (after --na drop) come out as such. */
void sgfsi_formula_lenient(sgfsi_transform *s);

/* transform_amount.c: is column j that goes in one of amounts? */
bool sgfsi_is_amount(const sgfsi_transform *s, int64_t j);

/* transform_date.c: is column j that goes in one of dates? */
bool sgfsi_is_date(const sgfsi_transform *s, int64_t j);

/* transform_sparse.c: are the rows of the table better kept sparse? All shapes are known. And: the
 * table, whose rows `data` has, with all steps done, sparse. done: the rows that stay. */
bool sgfsi_recipe_is_sparse(const sgfsi_recipe *r, int64_t rows);
sgfs_status sgfsi_recipe_sparse(sgfsi_recipe *r, sgfsi_table *table, const sgfs_data *data,
                                sgfsi_transformed *done, sgfs_err *err);

/* transform_learn.c: a --standardize that only measures, and what it found. */
void sgfsi_standard_only(sgfsi_transform *s);
void sgfsi_transform_standard(const sgfsi_transform *s, const double **shift, const double **scale);

/* transform_rows.c */
bool sgfsi_split_part_find(const char *name, sgfsi_split_part *part);
bool sgfsi_split_has(const sgfsi_transform *s, int64_t row, sgfsi_split_part part);
int64_t sgfsi_split_shares(const sgfsi_transform *s);
bool sgfsi_split_trains(const sgfsi_transform *s); /* the training part is what is read */
/* Is a target one of the classes? By its text, or where that is NULL by its number. */
bool sgfsi_classes_have(const sgfsi_transform *s, double y, const char *text);
