/* SPDX-License-Identifier: MIT
 * formula_parse.c: the parser of formulas (formula_parse.h). By precedence, the lowest first:
 *
 *     formula   (target | cbind(column, column)) ~ sum
 *     sum       [-] product {(+ | -) product}              terms join, or are taken away
 *     product   colon {(* | /) colon}                      a*b = a + b + a:b, a/b = a + a:b
 *     colon     power {: power}                            products of columns
 *     power     primary [(^ | **) number]                  products of so many terms and fewer
 *     primary   0 | 1 | . | factor | (sum) | (sum bar nested)
 *     factor    column | C(column) | offset(log(column)) | function(arithmetic, ...)
 *     nested    column {: column} {/ column}               bar: | or ||
 *
 * In brackets of functions + - * / ^ ** are those of numbers. Sums of terms are lists in which each
 * term is once: the algebra is done while reading.
 */
#include "files/formula/formula_parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"

enum { MOST_TERMS = 20000, MOST_DEPTH = 60, WINDOW = 70, ROOM = 1 << 14 };

typedef struct parser {
    const char *text, *at;
    int64_t cols, depth, rooms; /* rooms: factors there is room for */
    const char *const *names;
    sgfsi_arena *arena;
    sgfsi_formula *f;
    sgfs_err *err;
} parser;

typedef struct sum {
    sgfsi_formula_term *term;
    int64_t count, room;
    int intercept; /* 1: put there, -1: taken away, 0: nothing said */
    bool alone;    /* groups or an offset are in it, which go into nothing else */
} sum;

/* ---- sentences ------------------------------------------------------------------------------- */

static int columns_of(const char *from, const char *to) {
    int n = 0;
    for (; from < to; from++) n += ((unsigned char)*from & 0xC0) != 0x80;
    return n;
}

sgfs_status sgfsi_formula_refuse(const char *text, const char *at, const char *why, sgfs_err *err) {
    const char *from = text, *to;
    while (columns_of(from, at) > WINDOW - 20) from++; /* of long ones what is around the place */
    while (((unsigned char)*from & 0xC0) == 0x80) from++;
    for (to = from; *to != '\0' && columns_of(from, to) < WINDOW;) to++;
    while (((unsigned char)*to & 0xC0) == 0x80) to--;
    char shown[4 * WINDOW + 8];
    snprintf(shown, sizeof shown, "%.*s", (int)(to - from), from);
    for (char *c = shown; *c != '\0'; c++) *c = (char)(iscntrl((unsigned char)*c) ? ' ' : *c);
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "The formula is not understood: %.200s\n    %.220s\n    %*s^", why, shown,
                      columns_of(from, at), "");
}

static sgfs_status refuse(const parser *p, const char *at, const char *why) {
    return sgfsi_formula_refuse(p->text, at, why, p->err);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void skip_blanks(parser *p) {
    while (isspace((unsigned char)*p->at)) p->at++;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* "*" is not the beginning of "**", nor "|" of "||". */
static bool take(parser *p, const char *token) {
    size_t length = strlen(token);
    skip_blanks(p);
    if (strncmp(p->at, token, length) != 0) return false;
    if (length == 1 && (*token == '*' || *token == '|') && p->at[1] == *token) return false;
    p->at += length;
    return true;
}

static sgfs_status need(parser *p, const char *token, const char *why) {
    return take(p, token) ? SGFS_OK : refuse(p, p->at, why);
}

/* An integer from 1 to `most`; 0 with err filled: there is none. */
static int64_t take_count(parser *p, int64_t most) {
    char why[80];
    skip_blanks(p);
    const char *from = p->at;
    int64_t n = 0;
    for (; isdigit((unsigned char)*p->at) && n <= most; p->at++) n = 10 * n + (*p->at - '0');
    if (n >= 1 && n <= most && !is_name(*p->at)) return n;
    snprintf(why, sizeof why, "a whole number from 1 to %d is needed here.", (int)most);
    return (void)refuse(p, from, why), 0;
}

static double take_number(parser *p, bool *good) {
    skip_blanks(p);
    double x = NAN, sign = take(p, "-") ? -1 : 1;
    skip_blanks(p);
    bool digit =
        isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1]));
    const char *end = digit ? sgfsi_parse_num(p->at, p->at + strlen(p->at), &x) : NULL;
    *good = end != NULL && isfinite(x) && !is_name(*end);
    if (*good) p->at = end;
    return sign * x;
}

/* A column's name; NULL with err filled: there is none. */
static const char *take_name(parser *p) {
    skip_blanks(p);
    const char *from = p->at, *to;
    bool quoted = *from == '`';
    if (quoted) {
        from++;
        to = strchr(from, '`');
        if (to == NULL) return refuse(p, p->at, "a backquote that nothing closes."), NULL;
    } else {
        for (to = from; is_name(*to);) to++;
    }
    if (to == from || (!quoted && isdigit((unsigned char)*from)))
        return refuse(p, p->at, "the name of a column is needed here."), NULL;
    char *name = sgfsi_arena_alloc(p->arena, to - from + 1, 1);
    if (name == NULL) return sgfsi_fail_memory(p->err, "the formula"), NULL;
    memcpy(name, from, (size_t)(to - from));
    if (strchr(name, ',') != NULL)
        return refuse(p, from, "a name with a comma in it cannot be part of a formula."), NULL;
    p->at = quoted ? to + 1 : to;
    return name;
}

/* What is written from `from` to here, with blanks where they help: "log(x + 1)". */
static const char *tidy(const parser *p, const char *from) {
    char *out = sgfsi_arena_alloc(p->arena, 3 * (p->at - from) + 1, 1), *to = out, before = '(';
    if (out == NULL) return sgfsi_fail_memory(p->err, "the formula"), NULL;
    for (const char *c = from; c < p->at; c++) {
        if (isspace((unsigned char)*c)) continue;
        if (*c == '`') {
            do *to++ = *c++;
            while (*c != '`');
        }
        bool twice = c[0] == '*' && c[1] == '*',
             sign = strchr("(,=[+-*/^", before) != NULL; /* not an operator of two sides */
        bool exponent = *c == '-' && to > out + 1 && (before == 'e' || before == 'E') &&
                        isdigit((unsigned char)to[-2]);
        bool spaced = strchr("+-*/", *c) != NULL && !sign && !exponent;
        if (spaced) *to++ = ' ';
        *to++ = before = *c;
        if (twice) *to++ = *c++;
        if (spaced || *c == ',') *to++ = ' ';
    }
    return out;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    sgfsi_expr_op op;
    double (*function)(double);
} functions[] = {{"log", SGFSI_FUNCTION, log},   {"log1p", SGFSI_FUNCTION, log1p},
                 {"sqrt", SGFSI_FUNCTION, sqrt}, {"exp", SGFSI_FUNCTION, exp},
                 {"I", SGFSI_NAME, NULL},        {"scale", SGFSI_SCALE, NULL},
                 {"poly", SGFSI_POLY, NULL},     {"bs", SGFSI_SPLINE, NULL}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static sgfsi_expr *arithmetic(parser *p);

static sgfsi_expr *new_expr(parser *p, sgfsi_expr_op op, const char *at, sgfsi_expr *left,
                            sgfsi_expr *right) {
    sgfsi_expr *e = sgfsi_arena_alloc(p->arena, 1, sizeof *e);
    if (e == NULL) return sgfsi_fail_memory(p->err, "the formula"), NULL;
    *e = (sgfsi_expr){.op = op, .at = at, .left = left, .right = right, .col = -1, .width = 1};
    return e;
}

static bool learns(const sgfsi_expr *e) {
    return e != NULL && (e->op >= SGFSI_SCALE || learns(e->left) || learns(e->right));
}

/* knots=[1, 2], knots=c(1, 2) */
static sgfs_status take_knots(parser *p, sgfsi_expr *e) {
    const char *here = (skip_blanks(p), p->at);
    bool square = take(p, "["), good = square || take(p, "c(") || take(p, "(");
    e->knot = SGFSI_DOUBLES(p->arena, SGFSI_MOST_KNOTS);
    if (e->knot == NULL) return sgfsi_fail_memory(p->err, "the formula");
    do {
        if (good && e->knots < SGFSI_MOST_KNOTS) e->knot[e->knots] = take_number(p, &good);
        else good = false;
        good = good && (e->knots == 0 || e->knot[e->knots] > e->knot[e->knots - 1]);
        e->knots++;
    } while (good && take(p, ","));
    return good && take(p, square ? "]" : ")")
               ? SGFS_OK
               : refuse(p, here, "knots are increasing numbers, 64 at most: knots=[1, 2.5].");
}

/* Behind the first argument of poly or bs. */
static sgfs_status take_settings(parser *p, sgfsi_expr *e) {
    int64_t df = 0;
    bool spline = e->op == SGFSI_SPLINE, first = true;
    e->degree = spline ? 3 : 1;
    for (; take(p, ","); first = false) {
        const char *here = (skip_blanks(p), p->at);
        bool degree = take(p, "degree") && take(p, "="), plain = first && !degree;
        bool knots = spline && !degree && take(p, "knots") && take(p, "=");
        if (knots) {
            sgfs_status status = take_knots(p, e);
            if (status != SGFS_OK) return status;
            continue;
        }
        if (!degree && spline && take(p, "df")) plain = take(p, "=");
        if (!degree && (!plain || !isdigit((unsigned char)(skip_blanks(p), *p->at))))
            return refuse(p, here,
                          spline ? "bs() takes df=, degree= and knots=."
                                 : "poly() takes a degree: poly(x, 2).");
        int64_t *to = degree || !spline ? &e->degree : &df;
        *to = take_count(p, to == &df ? SGFSI_MOST_KNOTS : SGFSI_MOST_POWER);
        if (*to == 0) return p->err->code;
    }
    if (df > 0 && (e->knot != NULL || df < e->degree))
        return refuse(p, e->at,
                      e->knot != NULL ? "bs() takes df or knots, not both."
                                      : "df of bs() is its degree at least.");
    if (df > 0) e->knots = df - e->degree;
    e->width = spline ? e->degree + e->knots : e->degree;
    e->learnt = spline ? e->knots + 2 : 2 * e->degree + 1;
    return SGFS_OK;
}

/* Behind the bracket of function k. */
static sgfsi_expr *take_call(parser *p, int k, const char *at) {
    const sgfsi_expr_op op = functions[k].op;
    sgfsi_expr *of = arithmetic(p);
    if (of == NULL) return NULL;
    if (op >= SGFSI_SCALE && learns(of))
        return refuse(p, at,
                      "scale, poly and bs learn from rows, and cannot be of each other; "
                      "poly(x, 2) is that of scale(x), too."),
               NULL;
    sgfsi_expr *e = op == SGFSI_NAME ? of : new_expr(p, op, at, of, NULL);
    if (e == NULL) return NULL;
    if (op == SGFSI_FUNCTION) e->function = functions[k].function;
    if (op == SGFSI_SCALE) e->learnt = 2;
    if (op > SGFSI_SCALE && take_settings(p, e) != SGFS_OK) return NULL;
    return need(p, ")", "a closing bracket is needed here.") == SGFS_OK ? e : NULL;
}

/* Which function begins at the name from..to, with a bracket behind it; -1: none. */
static int find_function(const char *from, const char *to) {
    int k = 0;
    while (k < FUNCTIONS && (strlen(functions[k].name) != (size_t)(to - from) ||
                             strncmp(functions[k].name, from, (size_t)(to - from)) != 0))
        k++;
    return k < FUNCTIONS ? k : -1;
}

static const char unknown[] =
    "known are log, log1p, sqrt, exp, I, scale, poly, bs, C, offset and, left of ~, cbind.";

static bool opens_bracket(const parser *p) {
    const char *c = p->at;
    while (isspace((unsigned char)*c)) c++;
    return *c == '(';
}

static sgfsi_expr *take_value(parser *p) {
    skip_blanks(p);
    const char *at = p->at;
    bool number;
    if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
        double x = take_number(p, &number);
        sgfsi_expr *e = number ? new_expr(p, SGFSI_NUMBER, at, NULL, NULL) : NULL;
        if (e != NULL) e->number = x;
        else if (!number) (void)refuse(p, at, "this is no number.");
        return e;
    }
    if (take(p, "(")) {
        sgfsi_expr *e = arithmetic(p);
        return e != NULL && need(p, ")", "a closing bracket is needed here.") == SGFS_OK ? e : NULL;
    }
    const char *name = take_name(p);
    if (name == NULL) return NULL;
    int k = *at != '`' && opens_bracket(p) ? find_function(at, p->at) : -1;
    if (opens_bracket(p) && k < 0) return (void)refuse(p, at, unknown), NULL;
    if (k >= 0) return (void)take(p, "("), take_call(p, k, at);
    sgfsi_expr *e = new_expr(p, SGFSI_NAME, at, NULL, NULL);
    if (e != NULL) e->name = name;
    return e;
}

/* Both sides of an operator have to be single numbers. */
static sgfsi_expr *join(parser *p, sgfsi_expr_op op, const char *at, sgfsi_expr *a, sgfsi_expr *b) {
    if (a == NULL || b == NULL) return NULL;
    if (a->width == 1 && b->width == 1 && a->op < SGFSI_POLY && b->op < SGFSI_POLY)
        return new_expr(p, op, at, a, b != a ? b : NULL);
    return (void)refuse(p, at, "poly and bs are columns of their own: no arithmetic goes on."),
           NULL;
}

/* -x^2 is -(x^2), and x^-1 is allowed. */
static sgfsi_expr *take_signed(parser *p) {
    skip_blanks(p);
    const char *at = p->at;
    if (++p->depth > MOST_DEPTH) return (void)refuse(p, at, "too many brackets and signs."), NULL;
    sgfsi_expr *e;
    if (take(p, "-")) {
        e = take_signed(p);
        e = join(p, SGFSI_NEGATE, at, e, e);
    } else {
        e = take_value(p);
        if (e != NULL && (take(p, "^") || take(p, "**")))
            e = join(p, SGFSI_POWER, at, e, take_signed(p));
    }
    p->depth--;
    return e;
}

static sgfsi_expr *arithmetic(parser *p) {
    sgfsi_expr *whole = NULL;
    for (sgfsi_expr_op between = SGFSI_NUMBER;;) {
        sgfsi_expr *e = take_signed(p);
        for (bool more = e != NULL; more;) {
            const char *at = (skip_blanks(p), p->at);
            if (take(p, "*")) e = join(p, SGFSI_MULTIPLY, at, e, take_signed(p));
            else if (take(p, "/")) e = join(p, SGFSI_DIVIDE, at, e, take_signed(p));
            else more = false;
            more = more && e != NULL;
        }
        whole = between == SGFSI_NUMBER || e == NULL ? e : join(p, between, e->at, whole, e);
        if (whole == NULL) return NULL;
        if (take(p, "+")) between = SGFSI_ADD;
        else if (take(p, "-")) between = SGFSI_SUBTRACT;
        else return whole;
    }
}

/* ---- sums of terms --------------------------------------------------------------------------- */

static void put_factor(sgfsi_formula_term *t, int32_t factor) {
    t->factor[t->count++] = factor;
    t->mark += sgfsi_splitmix((uint64_t)factor + 1);
}

static bool same_term(const sgfsi_formula_term *a, const sgfsi_formula_term *b) {
    bool same = a->mark == b->mark && a->count == b->count;
    for (int i = 0; same && i < a->count; i++) {
        int k = 0;
        while (k < b->count && b->factor[k] != a->factor[i]) k++;
        same = k < b->count;
    }
    return same;
}

static int64_t find_term(const sum *s, const sgfsi_formula_term *t) {
    int64_t k = 0;
    while (k < s->count && !same_term(&s->term[k], t)) k++;
    return k < s->count ? k : -1;
}

static sgfs_status add_term(parser *p, sum *s, const sgfsi_formula_term *t, const char *at) {
    if (find_term(s, t) >= 0) return SGFS_OK;
    if (s->count == MOST_TERMS) return refuse(p, at, "this makes more than 20,000 terms.");
    if (s->count == s->room) {
        s->room = 2 * s->room + 8;
        sgfsi_formula_term *more = sgfsi_arena_alloc(p->arena, s->room, sizeof *more);
        if (more == NULL) return sgfsi_fail_memory(p->err, "the formula");
        if (s->count > 0) memcpy(more, s->term, (size_t)s->count * sizeof *more);
        s->term = more;
    }
    s->term[s->count++] = *t;
    return SGFS_OK;
}

static const char alone[] = "groups and an offset stand on their own, between signs of +.";

/* a:b of every term of one with every one of the other, into s. */
static sgfs_status add_products(parser *p, sum *s, const sum *a, const sum *b, const char *at) {
    sgfs_status status = SGFS_OK;
    if (a->intercept != 0 || b->intercept != 0)
        return refuse(p, at, "0 and 1 cannot be part of a product.");
    if (a->alone || b->alone) return refuse(p, at, alone);
    for (int64_t i = 0; i < a->count && status == SGFS_OK; i++) {
        for (int64_t k = 0; k < b->count && status == SGFS_OK; k++) {
            sgfsi_formula_term t = a->term[i];
            p->f->multiplied = p->f->multiplied || p->f->factor[t.factor[0]].dot ||
                               p->f->factor[b->term[k].factor[0]].dot;
            for (int n = 0; n < b->term[k].count; n++) {
                int32_t f = b->term[k].factor[n];
                int at_f = 0;
                while (at_f < t.count && t.factor[at_f] != f) at_f++;
                if (at_f < t.count) continue;
                if (t.count == SGFSI_MOST_FACTORS)
                    return refuse(p, at, "a product has eight factors at most.");
                put_factor(&t, f);
            }
            status = add_term(p, s, &t, at);
        }
    }
    return status;
}

static sgfs_status add_all(parser *p, sum *s, const sum *more, const char *at) {
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < more->count && status == SGFS_OK; k++)
        status = add_term(p, s, &more->term[k], at);
    if (more->intercept != 0) s->intercept = more->intercept;
    s->alone = s->alone || more->alone;
    return status;
}

/* Terms that are not there are refused: they may be misspelt. */
static sgfs_status take_away(parser *p, sum *s, const sum *less, const char *at) {
    sgfsi_formula *f = p->f;
    if (less->alone) return refuse(p, at, alone);
    if (less->intercept != 0) s->intercept = -less->intercept;
    for (int64_t k = 0; k < less->count; k++) {
        const sgfsi_formula_term *t = &less->term[k];
        const sgfsi_formula_factor *of = &f->factor[t->factor[0]];
        int64_t found = find_term(s, t);
        if (of->dot) return refuse(p, at, "everything cannot be taken away.");
        if (found < 0 && !f->dot) return refuse(p, at, "there is no such term to take away.");
        bool column = t->count == 1 && of->expr->op == SGFSI_NAME && !of->codes;
        if (f->dot && column) {
            const char **list = sgfsi_arena_alloc(p->arena, f->removed + 1, sizeof *list);
            if (list == NULL) return sgfsi_fail_memory(p->err, "the formula");
            if (f->removed > 0) memcpy(list, f->without, (size_t)f->removed * sizeof *list);
            list[f->removed++] = of->expr->name;
            f->without = list;
        }
        if (found < 0) continue;
        s->count--;
        memmove(&s->term[found], &s->term[found + 1], (size_t)(s->count - found) * sizeof *s->term);
    }
    return SGFS_OK;
}

/* ---- factors --------------------------------------------------------------------------------- */

static bool is_column(const sgfsi_formula_factor *of) {
    return !of->dot && !of->codes && of->expr->op == SGFSI_NAME &&
           strcmp(of->name, of->expr->name) == 0;
}

/* The factor as a sum of one term; the same text is the same factor. */
static sgfs_status add_factor(parser *p, sum *s, sgfsi_formula_factor of) {
    sgfsi_formula *f = p->f;
    sgfsi_formula_term t = {.count = 0};
    int64_t k = 0;
    if (of.name == NULL) return p->err->code;
    while (k < f->factors &&
           (strcmp(f->factor[k].name, of.name) != 0 || f->factor[k].dot != of.dot ||
            is_column(&f->factor[k]) != is_column(&of)))
        k++;
    if (k == f->factors && f->factors == p->rooms) {
        p->rooms = 2 * p->rooms + 16;
        sgfsi_formula_factor *more = sgfsi_arena_alloc(p->arena, p->rooms, sizeof *more);
        if (more == NULL) return sgfsi_fail_memory(p->err, "the formula");
        if (k > 0) memcpy(more, f->factor, (size_t)k * sizeof *more);
        f->factor = more;
    }
    if (k == f->factors) f->factor[f->factors++] = of;
    put_factor(&t, (int32_t)k);
    return add_term(p, s, &t, of.at);
}

static sgfs_status add_column(parser *p, sum *s, const char *name, const char *at) {
    sgfsi_expr *e = new_expr(p, SGFSI_NAME, at, NULL, NULL);
    if (e == NULL) return p->err->code;
    e->name = name;
    return add_factor(p, s, (sgfsi_formula_factor){.name = name, .at = at, .expr = e});
}

static sgfs_status add_dot(parser *p, sum *s, const char *at) {
    sgfs_status status = SGFS_OK;
    p->f->dot = p->names == NULL;
    if (p->names == NULL)
        return add_factor(p, s, (sgfsi_formula_factor){.name = ".", .at = at, .dot = true});
    for (int64_t k = 0; k < p->cols && status == SGFS_OK; k++)
        status = add_column(p, s, p->names[k], at);
    return status;
}

static sgfs_status take_offset(parser *p, const char *at) {
    static const char why[] = "an offset is the logarithm of an exposure: offset(log(hours)).";
    if (!take(p, "log") || !take(p, "(")) return refuse(p, p->at, why);
    if (p->f->exposure != NULL) return refuse(p, at, "there is one offset already.");
    p->f->exposure = take_name(p);
    if (p->f->exposure == NULL) return p->err->code;
    return take(p, ")") && take(p, ")") ? SGFS_OK : refuse(p, p->at, why);
}

static sgfs_status take_factor(parser *p, sum *s) {
    const char *at = p->at, *name = take_name(p);
    if (name == NULL) return p->err->code;
    if (*at == '`' || !opens_bracket(p)) return add_column(p, s, name, at);
    (void)take(p, "(");
    s->alone = strcmp(name, "offset") == 0;
    if (s->alone) return take_offset(p, at);
    sgfsi_formula_factor of = {.at = at, .codes = strcmp(name, "C") == 0};
    if (of.codes) {
        const char *here = (skip_blanks(p), p->at), *column = take_name(p);
        if (column == NULL) return p->err->code;
        if (!take(p, ")")) return refuse(p, p->at, "C() takes the name of a column alone.");
        of.expr = new_expr(p, SGFSI_NAME, here, NULL, NULL);
        if (of.expr != NULL) of.expr->name = column;
    } else {
        int k = find_function(at, at + strlen(name));
        if (k < 0) return refuse(p, at, unknown);
        of.expr = take_call(p, k, at);
    }
    if (of.expr == NULL) return p->err->code;
    of.name = tidy(p, at);
    return add_factor(p, s, of);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* What varies, as the bars found it: "x", "log(z)", "x:z". */
static sgfs_status take_slopes(parser *p, const sum *s, sgfsi_term_spec *t, const char *at) {
    t->intercept = s->intercept >= 0;
    if (s->alone) return refuse(p, at, alone);
    for (int64_t k = 0; k < s->count; k++) {
        char name[512] = "";
        if (t->slopes == SGFSI_MOST_EFFECTS - 1)
            return refuse(p, at, "a term may have seven slopes at most.");
        for (int i = 0; i < s->term[k].count; i++) {
            const sgfsi_formula_factor *of = &p->f->factor[s->term[k].factor[i]];
            if (of->dot) return refuse(p, of->at, "slopes are named one by one.");
            sgfsi_append(name, sizeof name, "%s%s", i > 0 ? ":" : "",
                         of->codes ? of->expr->name : of->name);
        }
        t->slope[t->slopes++] = sgfsi_arena_text(p->arena, name);
        if (t->slope[t->slopes - 1] == NULL) return sgfsi_fail_memory(p->err, "the formula");
    }
    if (!t->intercept && t->slopes == 0)
        return refuse(p, at, "nothing varies between these groups: write (1 | g) or (x | g).");
    return SGFS_OK;
}

/* Behind the effects: the bar, the factor and the closing bracket. `at` is the opening one. */
static sgfs_status take_groups(parser *p, const sum *effects, const char *at) {
    sgfsi_group_spec *spec = p->f->spec;
    sgfsi_term_spec t = {.columns = 0};
    sgfs_status status = take_slopes(p, effects, &t, at + 1);
    t.correlated = !take(p, "||");
    if (t.correlated) (void)take(p, "|");
    for (bool more = true, deeper = false; more && status == SGFS_OK;) {
        const char *here = (skip_blanks(p), p->at), *name = take_name(p);
        if (name == NULL) return p->err->code;
        if (t.columns == SGFSI_MOST_NESTED)
            return refuse(p, here, "a factor may be made of four columns at most.");
        t.column[t.columns++] = name;
        more = take(p, ":");
        if (more && deeper) return refuse(p, p->at - 1, "g1:g2 stands in front of g1:g2/g3.");
        if (more) continue;
        if (spec->terms == SGFSI_MOST_TERMS)
            return refuse(p, here, "there may be sixteen terms in brackets at most.");
        spec->term[spec->terms++] = t;
        more = deeper = take(p, "/");
    }
    if (status != SGFS_OK) return status;
    if (!take(p, ")")) return refuse(p, p->at, "a closing bracket is needed here.");
    size_t used = strlen(p->f->groups), length = (size_t)(p->at - at);
    char *text = sgfsi_arena_alloc(p->arena, (int64_t)(used + length) + 4, 1);
    if (text == NULL) return sgfsi_fail_memory(p->err, "the formula");
    snprintf(text, used + length + 4, "%s%s%.*s", p->f->groups, used > 0 ? " + " : "", (int)length,
             at);
    p->f->groups = text;
    return SGFS_OK;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static sgfs_status take_sum(parser *p, sum *s);

static sgfs_status take_primary(parser *p, sum *s) {
    skip_blanks(p);
    const char *at = p->at;
    if (isdigit((unsigned char)*at)) {
        bool one = *at == '1';
        if ((!one && *at != '0') || is_name(at[1]))
            return refuse(p, at, "of numbers only 0 and 1 are terms; arithmetic is I(2*x).");
        s->intercept = one ? 1 : -1;
        p->at++;
        return SGFS_OK;
    }
    if (*at == '.' && !is_name(at[1])) return p->at++, add_dot(p, s, at);
    if (*at != '(') return take_factor(p, s);
    p->at++;
    if (++p->depth > MOST_DEPTH) return refuse(p, at, "too many brackets.");
    sgfs_status status = take_sum(p, s);
    p->depth--;
    skip_blanks(p);
    if (status == SGFS_OK && *p->at == '|') {
        status = take_groups(p, s, at);
        *s = (sum){.alone = true};
        return status;
    }
    return status == SGFS_OK && !take(p, ")")
               ? refuse(p, p->at, "a closing bracket is needed here.")
               : status;
}

/* (a + b + c)^2: products of two of them, and of fewer. */
static sgfs_status take_power(parser *p, sum *s) {
    sgfs_status status = take_primary(p, s);
    const char *at = (skip_blanks(p), p->at);
    if (status != SGFS_OK || (!take(p, "^") && !take(p, "**"))) return status;
    const sum one = *s;
    int64_t n = take_count(p, SGFSI_MOST_FACTORS);
    if (n == 0) return p->err->code;
    if (one.count > 0 && n > 1) s->term = NULL, s->count = s->room = 0;
    if (n > 1) status = add_all(p, s, &one, at);
    for (sum now = one; n > 1 && status == SGFS_OK; n--) {
        sum next = {.count = 0};
        status = add_products(p, &next, &now, &one, at);
        if (status == SGFS_OK) status = add_all(p, s, &next, at);
        now = next;
    }
    return status;
}

static sgfs_status take_colon(parser *p, sum *s) {
    sgfs_status status = take_power(p, s);
    while (status == SGFS_OK && take(p, ":")) {
        const char *at = p->at - 1;
        const sum left = *s;
        sum right = {.count = 0};
        *s = (sum){.count = 0};
        status = take_power(p, &right);
        if (status == SGFS_OK) status = add_products(p, s, &left, &right, at);
    }
    return status;
}

/* a/b: b within all of a together. */
static sgfs_status nest(parser *p, sum *s, const sum *b, const char *at) {
    sum all = {.count = 0};
    for (int64_t k = 0; k < s->count; k++) {
        sum one = {.term = &s->term[k], .count = 1, .room = 1}, both = {.count = 0};
        if (k == 0) both = one;
        sgfs_status status = k > 0 ? add_products(p, &both, &all, &one, at) : SGFS_OK;
        if (status != SGFS_OK) return status;
        all = both;
    }
    all.intercept = s->intercept;
    all.alone = s->alone;
    const sum left = all;
    return add_products(p, s, &left, b, at);
}

static sgfs_status take_product(parser *p, sum *s) {
    sgfs_status status = take_colon(p, s);
    while (status == SGFS_OK) {
        bool star = take(p, "*");
        if (!star && !take(p, "/")) break;
        const char *at = p->at - 1;
        sum right = {.count = 0}, left = *s;
        status = take_colon(p, &right);
        if (status == SGFS_OK && !star) status = nest(p, s, &right, at);
        if (status != SGFS_OK || !star) continue;
        *s = (sum){.intercept = left.intercept, .alone = left.alone};
        status = add_all(p, s, &left, at);
        if (status == SGFS_OK) status = add_all(p, s, &right, at);
        if (status == SGFS_OK) status = add_products(p, s, &left, &right, at);
    }
    return status;
}

static sgfs_status take_sum(parser *p, sum *s) {
    bool minus = take(p, "-");
    sgfs_status status = SGFS_OK;
    *s = (sum){.count = 0};
    for (bool more = true; more && status == SGFS_OK;) {
        sum next = {.count = 0};
        const char *at = (skip_blanks(p), p->at);
        status = take_product(p, &next);
        if (status == SGFS_OK)
            status = minus ? take_away(p, s, &next, at) : add_all(p, s, &next, at);
        if (status != SGFS_OK) break;
        minus = take(p, "-");
        more = minus || take(p, "+");
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status begin(parser *p, sgfsi_formula *out) {
    *out = (sgfsi_formula){.text = p->text, .groups = ""};
    p->f = out;
    out->spec = sgfsi_arena_alloc(p->arena, 1, sizeof *out->spec);
    return out->spec != NULL ? SGFS_OK : sgfsi_fail_memory(p->err, "the formula");
}

static sgfs_status end(parser *p, const sum *s) {
    sgfsi_formula *f = p->f;
    f->intercept = s->intercept >= 0;
    f->term = sgfsi_arena_alloc(p->arena, s->count + 1, sizeof *f->term);
    if (f->term == NULL) return sgfsi_fail_memory(p->err, "the formula");
    for (int size = 1; size <= SGFSI_MOST_FACTORS; size++)
        for (int64_t k = 0; k < s->count; k++)
            if (s->term[k].count == size) f->term[f->terms++] = s->term[k];
    return SGFS_OK;
}

static sgfs_status take_target(parser *p) {
    sgfsi_formula *f = p->f;
    f->target = take_name(p);
    if (f->target == NULL) return p->err->code;
    if (strcmp(f->target, "cbind") == 0 && take(p, "(")) {
        f->target = take_name(p);
        if (f->target == NULL) return p->err->code;
        if (!take(p, ",")) return refuse(p, p->at, "cbind(successes, failures) has two columns.");
        f->failures = take_name(p);
        if (f->failures == NULL) return p->err->code;
        if (!take(p, ")")) return refuse(p, p->at, "cbind(successes, failures) has two columns.");
    }
    if (opens_bracket(p)) return refuse(p, p->at, "the target is a column as it is, or cbind().");
    return need(p, "~", "a target and ~ come first: y ~ x + (1 | g).");
}

sgfs_status sgfsi_formula_parse(const char *text, int64_t cols, const char *const *names,
                                sgfsi_arena *arena, sgfsi_formula *out, sgfs_err *err) {
    sgfs_err own;
    parser p = {.text = text, .at = text, .cols = cols, .names = names, .arena = arena};
    sum s = {.count = 0};
    p.err = err != NULL ? err : &own;
    sgfs_status status = strlen(text) < ROOM
                             ? begin(&p, out)
                             : refuse(&p, text, "it is longer than 16,000 letters.");
    if (status == SGFS_OK) status = take_target(&p);
    if (status == SGFS_OK) status = take_sum(&p, &s);
    skip_blanks(&p);
    if (status == SGFS_OK && *p.at != '\0')
        status = refuse(&p, p.at, "an operator is needed here: + - : * / or ^.");
    return status == SGFS_OK ? end(&p, &s) : status;
}

sgfs_status sgfsi_formula_parse_groups(const char *text, sgfsi_arena *arena, sgfsi_formula *out,
                                       sgfs_err *err) {
    sgfs_err own;
    parser p = {.text = text, .at = text, .arena = arena};
    sum s = {.count = 0};
    p.err = err != NULL ? err : &own;
    sgfs_status status = strlen(text) < ROOM
                             ? begin(&p, out)
                             : refuse(&p, text, "it is longer than 16,000 letters.");
    if (status == SGFS_OK) status = take_sum(&p, &s);
    skip_blanks(&p);
    if (status == SGFS_OK && *p.at != '\0')
        status = refuse(&p, p.at, "terms in brackets are joined by +.");
    if (status == SGFS_OK &&
        (s.count > 0 || s.intercept != 0 || out->spec->terms == 0 || out->exposure != NULL))
        status = refuse(&p, text, "terms such as (1 | g), joined by +, are needed here.");
    return status;
}
