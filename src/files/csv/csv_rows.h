/* SPDX-License-Identifier: MIT
 * csv_rows.h: rows from one part of a delimited file. Parts are read at the same time, each into
 * room of its own; nothing that they share changes meanwhile.
 */
#pragma once

#include "base/words.h"
#include "files/csv/csv_faults.h"

/* The words of a column that are known so far. */
typedef struct sgfsi_csv_words {
    int64_t col, place; /* column of the file; of the rows */
    sgfsi_word_list known;
} sgfsi_csv_words;

/* Of a column that holds no words: numbers, what nobody will look at, dates, amounts. */
enum {
    SGFSI_CSV_NUMBERS = -1,
    SGFSI_CSV_IGNORED = -2,
    SGFSI_CSV_DATES = -3,
    SGFSI_CSV_AMOUNTS = -4
};

/* What a part has to know of the file. */
typedef struct sgfsi_csv_plan {
    const char *path;
    const sgfsi_read_options *options;
    const sgfsi_csv_format *format;
    unsigned char *role;    /* format->cols values of sgfsi_role */
    int32_t *words_of;      /* format->cols: in words; or one of these: */
    int64_t kept;           /* columns wanted */
    int64_t worded;         /* columns of words */
    sgfsi_csv_words *words; /* worded */
    bool automatic;         /* a feature with text becomes a column of words */
    bool new_rows;          /* rows for a run that is there already */
    sgfsi_first_text first; /* of the target, as it was met; its row is -1 before */
} sgfsi_csv_plan;

/* Words of a column that were not known, in order of first appearance. Cells hold their numbers on
 * top of those known. */
typedef struct sgfsi_csv_fresh {
    sgfsi_word_list words;
    int64_t (*where)[2]; /* words.count: row and line of the part on which each came first */
    int64_t room;
} sgfsi_csv_fresh;

/* Rows and lines are counted from 0 within the part. */
typedef struct sgfsi_csv_part {
    const char *block; /* where text starts whose first line is number block_line */
    int64_t block_line;
    const char *begin, *end; /* whole records */
    bool last;               /* the file ends at end */

    int64_t rows;
    double *cells; /* rows x plan->kept; NaN: missing, where --na allows it */
    int64_t *line; /* rows: on which each starts; of rows for a run only */
    int64_t lines; /* line ends */
    int64_t room;  /* rows */
    sgfsi_csv_faults faults;
    int64_t fault_row; /* the first row with one, or -1 */
    /* Text where numbers were expected, and a second look with words there is in order: */
    int64_t found_row;    /* the first row with it, or -1. Cells of such columns are void */
    unsigned char *found; /* format->cols: these hold it */
    int64_t text_row;     /* in the target: row, line, text of the first; -1 */
    int64_t text_line;
    char text[SGFSI_SHOWN_ROOM];
    sgfsi_csv_fresh *fresh; /* plan->worded */
    int64_t freshes;        /* room there */
    sgfs_status status;     /* of the row behind the last one, where that is not the end */
    sgfs_err err;
} sgfsi_csv_part;

/* Fill in all that comes after `last`. */
void sgfsi_csv_part_read(const sgfsi_csv_plan *plan, sgfsi_csv_part *part);
void sgfsi_csv_part_free(sgfsi_csv_part *part);

sgfsi_csv_asked sgfsi_csv_plan_asked(const sgfsi_csv_plan *plan);
/* A sentence that needs the whole file. */
sgfs_status sgfsi_csv_fail_words(const sgfsi_csv_plan *plan, int64_t col, int64_t line,
                                 const char *word, sgfs_err *err);
