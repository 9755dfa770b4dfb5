/* SPDX-License-Identifier: MIT
 * groups.h: rows that belong together, and the effects that vary between such groups.
 *
 *     (1 | user)             a number for each user                          q = 1
 *     (1 + x | user)         a number and a slope, correlated                q = 2
 *     (1 + x || user)        the same, independent of each other
 *     (1 | school:class)     for each pair that occurs
 *
 * A factor is a way of putting rows into groups; a term is what varies between the groups of one.
 * With z_i the term's q columns in row i and g(i) the row's group, the linear predictor gets
 * z_i'u_g more. The columns z are taken as they stand in the data, whatever scale the chain has:
 * the sizes of effects mean what the user thinks they do.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

enum {
    SGFSI_MOST_TERMS = 16,  /* of a formula */
    SGFSI_MOST_EFFECTS = 8, /* q of a term */
    SGFSI_MOST_NESTED = 4   /* columns that make a factor together */
};

/* A term as it is written. */
typedef struct sgfsi_term_spec {
    int64_t columns; /* of the factor: more than one where they are nested, a:b */
    const char *column[SGFSI_MOST_NESTED];
    bool intercept, correlated;
    int64_t slopes;
    const char *slope[SGFSI_MOST_EFFECTS];
} sgfsi_term_spec;

typedef struct sgfsi_group_spec {
    int64_t terms;
    sgfsi_term_spec term[SGFSI_MOST_TERMS];
} sgfsi_group_spec;

/* The groups of a factor, in order of their values. */
typedef struct sgfsi_factor {
    const char *name; /* "user", "school:class" */
    int64_t columns;  /* that make it together */
    const char *column[SGFSI_MOST_NESTED];
    bool words[SGFSI_MOST_NESTED]; /* of the column: it holds words */
    int64_t levels;
    const int32_t
        *code;          /* by row of the table: 0 .. levels - 1; -1: the row is left out. NULL: of a
                          * run whose rows are not at hand */
    const char **level; /* levels: what they are called; NULL: as above */
} sgfsi_factor;

typedef struct sgfsi_term {
    sgfsi_factor *factor;
    int64_t q;
    bool intercept, correlated;
    int64_t slopes;
    int64_t slope[SGFSI_MOST_EFFECTS];      /* features */
    const char *effect[SGFSI_MOST_EFFECTS]; /* q: "intercept" and columns */
} sgfsi_term;

typedef struct sgfsi_groups {
    int64_t terms;
    sgfsi_term term[SGFSI_MOST_TERMS];
} sgfsi_groups;

struct sgfs_data;
struct sgfsi_dictionary;

/* Words of the columns of a factor, kept before transforms give the table another shape. */
typedef struct sgfsi_group_words {
    int64_t columns;
    char **name;
    struct sgfsi_dictionary *words;
} sgfsi_group_words;
sgfs_status sgfsi_groups_keep_words(struct sgfs_data *d, sgfsi_group_words *kept, sgfs_err *err);

/* What a group is called, of the cells of its factor's columns: "b12", "17", "17:b12". The cell of
 * column c is appended to text, which c = 0 begins; word NULL: the cell is the number x. */
enum { SGFSI_LEVEL_ROOM = 1200 };
void sgfsi_level_append(char text[SGFSI_LEVEL_ROOM], int64_t c, const char *word, double x);

/* What is to be known of terms for new rows, and d->groups from that, without rows. SGFS_ERUNFILE:
 * it is not all there. */
void sgfsi_groups_describe(const sgfsi_groups *g, struct sgfsi_json *list);
sgfs_status sgfsi_groups_recall(struct sgfs_data *d, const struct sgfsi_json *list, sgfs_err *err);

/* d->groups, from the columns of role SGFSI_ROLE_GROUP. After the features are known. */
sgfs_status sgfsi_groups_open(struct sgfs_data *d, const sgfsi_group_spec *spec,
                              const sgfsi_group_words *words, sgfs_err *err);
