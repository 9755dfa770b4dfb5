/* SPDX-License-Identifier: MIT
 * formula_parse.h: a formula as terms. This is the one parser of formulas; what it knows is in
 * docs/formulas.md.
 *
 *     y ~ x*city + log(z + 1) + (1 | user)
 *
 *     factors   x, city, log(z + 1)          texts that stand for columns, each once
 *     terms     {x} {city} {x, city} {log(z + 1)}     sets of factors, by size
 *     groups    (1 | user)
 *
 * Nothing is known of columns here but the names that a dot stands for: what holds words is found
 * out where the rows are (transform_formula.c).
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "rows/groups.h"

enum { SGFSI_MOST_FACTORS = 8, SGFSI_MOST_KNOTS = 64, SGFSI_MOST_POWER = 12 };

typedef enum sgfsi_expr_op {
    SGFSI_NUMBER,
    SGFSI_NAME,
    SGFSI_ADD,
    SGFSI_SUBTRACT,
    SGFSI_MULTIPLY,
    SGFSI_DIVIDE,
    SGFSI_POWER,
    SGFSI_NEGATE,
    SGFSI_FUNCTION, /* log, log1p, sqrt, exp: of one number */
    SGFSI_SCALE,    /* these three learn from rows (formula_basis.c) */
    SGFSI_POLY,
    SGFSI_SPLINE
} sgfsi_expr_op;

/* Arithmetic of columns: a tree. */
typedef struct sgfsi_expr {
    sgfsi_expr_op op;
    const char *at; /* where it begins in the formula */
    double number;
    const char *name; /* of a column */
    int64_t col;      /* its place in a row; whoever knows the columns fills it in */
    double (*function)(double);
    struct sgfsi_expr *left, *right; /* right: of two sides */
    int64_t width;                   /* numbers that come out */
    int64_t degree, knots;           /* of poly and bs; knots inside */
    double *knot;                    /* knots: as given; NULL: by quantiles */
    int64_t learnt;                  /* how many numbers it learns; */
    double *learn;                   /* these; NULL: not yet */
} sgfsi_expr;

typedef struct sgfsi_formula_factor {
    const char *name; /* as it is written, with blanks in their places */
    const char *at;
    bool codes; /* C(x): numbers of x are words */
    bool dot;   /* every column; only where nobody knows which there are */
    sgfsi_expr *expr;
} sgfsi_formula_factor;

typedef struct sgfsi_formula_term {
    uint64_t mark; /* the same for the same factors, in any order */
    int32_t count, factor[SGFSI_MOST_FACTORS];
} sgfsi_formula_term;

typedef struct sgfsi_formula {
    const char *text;
    const char *target, *failures; /* failures: cbind(target, failures); NULL: a plain target */
    const char *exposure;          /* offset(log(t)); NULL: there is none */
    bool intercept, dot;
    bool multiplied; /* a dot is part of a product */
    int64_t factors, terms, removed;
    sgfsi_formula_factor *factor;
    sgfsi_formula_term *term; /* in order of their size */
    const char **without;     /* removed: columns taken from the dot; where dot */
    const char *groups;       /* terms in brackets, joined by +; "": none */
    sgfsi_group_spec *spec;   /* the same */
} sgfsi_formula;

/* cols names that a dot stands for; names NULL: nobody knows them yet. All of *out lives in the
 * arena, but for the text. SGFS_EUSAGE with the place where it is not understood. */
sgfs_status sgfsi_formula_parse(const char *text, int64_t cols, const char *const *names,
                                sgfsi_arena *arena, sgfsi_formula *out, sgfs_err *err);
/* The terms in brackets alone, "(1 | user) + (x | item)". */
sgfs_status sgfsi_formula_parse_groups(const char *text, sgfsi_arena *arena, sgfsi_formula *out,
                                       sgfs_err *err);
/* SGFS_EUSAGE: why, and the formula with a caret under `at`, which is a place in it. */
sgfs_status sgfsi_formula_refuse(const char *text, const char *at, const char *why, sgfs_err *err);

/* ---- formula_basis.c ------------------------------------------------------------------------- */

/* e->width numbers of a row of columns. */
void sgfsi_expr_values(const sgfsi_expr *e, const double *row, double *out);
/* e->learn from count values of what it is of, in any order, each counting weight
 * times (NULL: once); share: how many rows each stands for. SGFS_EDATA: there is nothing to
 * learn. */
sgfs_status sgfsi_expr_learn(sgfsi_expr *e, int64_t count, double *value, double *weight,
                             double share, sgfsi_arena *arena, sgfs_err *err);
