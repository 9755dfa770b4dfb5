/* SPDX-License-Identifier: MIT
 * formula.c: the parser of formulas. It knows
 *
 *     formula  [target ~] term {(+ | -) term}
 *     term     1 | 0 | . | column | C(column) | log1p(column) | (effects bar factor)
 *     effects  {1 | 0 | column} joined by +          bar: | or ||
 *     factor   column {: column}
 *     column   letters, digits, _ and ., or anything between backquotes
 *
 * and refuses everything else, marking the place. What it finds is handed over as options, so that
 * a formula can say nothing that the options cannot, and the data have one way in.
 */
#include "files/formula.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/columns.h"

enum { MOST_COLUMNS = 1000, ROOM = 1 << 16 };

typedef struct parser {
    const char *text, *at;
    sgfsi_arena *arena;
    sgfs_err *err;
} parser;

/* "'y ~ a * b': at \"* b\", ..." */
static sgfs_status refuse(const parser *p, const char *at, const char *what) {
    return sgfsi_fail(p->err, SGFS_EUSAGE,
                      "The formula \"%.200s\" is not understood at \"%.40s\": %s", p->text,
                      *at != '\0' ? at : "(its end)", what);
}

static void skip_blanks(parser *p) {
    while (isspace((unsigned char)*p->at)) p->at++;
}

static bool take(parser *p, const char *token) {
    skip_blanks(p);
    if (strncmp(p->at, token, strlen(token)) != 0) return false;
    p->at += strlen(token);
    return true;
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
        for (to = from; isalnum((unsigned char)*to) || *to == '_' || *to == '.' || *to < 0;) to++;
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

/* ---- what varies between groups -------------------------------------------------------------- */

static bool is_bar(parser *p) {
    skip_blanks(p);
    return *p->at == '|';
}

static sgfs_status take_effects(parser *p, sgfsi_term_spec *t) {
    t->intercept = true;
    do {
        if (take(p, "1")) continue;
        if (take(p, "0")) {
            t->intercept = false;
            continue;
        }
        const char *before = p->at, *name = take_name(p);
        if (name == NULL) return p->err->code;
        if (t->slopes == SGFSI_MOST_EFFECTS - 1)
            return refuse(p, before, "a term may have seven slopes at most.");
        t->slope[t->slopes++] = name;
    } while (take(p, "+"));
    return is_bar(p) ? SGFS_OK
                     : refuse(p, p->at,
                              "columns joined by + and a bar are needed in brackets: (1 + x | g).");
}

/* Behind the opening bracket. */
static sgfs_status take_group(parser *p, sgfsi_group_spec *spec) {
    const char *before = p->at;
    if (spec->terms == SGFSI_MOST_TERMS)
        return refuse(p, before, "there may be sixteen terms in brackets at most.");
    sgfsi_term_spec *t = &spec->term[spec->terms++];
    *t = (sgfsi_term_spec){.columns = 0};
    sgfs_status status = take_effects(p, t);
    if (status != SGFS_OK) return status;
    t->correlated = !take(p, "||");
    if (t->correlated) (void)take(p, "|");
    do {
        const char *here = p->at, *name = take_name(p);
        if (name == NULL) return p->err->code;
        if (t->columns == SGFSI_MOST_NESTED)
            return refuse(p, here, "a factor may be made of four columns at most.");
        t->column[t->columns++] = name;
    } while (take(p, ":"));
    skip_blanks(p);
    if (*p->at == '/')
        return refuse(p, p->at, "write (1 | a) + (1 | a:b) for groups b nested in a.");
    if (!take(p, ")")) return refuse(p, p->at, "a closing bracket is needed here.");
    if (!t->intercept && t->slopes == 0)
        return refuse(p, before, "nothing varies between these groups: write (1 | g) or (x | g).");
    return SGFS_OK;
}

sgfs_status sgfsi_formula_groups(const char *text, sgfsi_arena *arena, sgfsi_group_spec *spec,
                                 sgfs_err *err) {
    parser p = {text, text, arena, err};
    sgfs_status status = SGFS_OK;
    spec->terms = 0;
    do {
        if (!take(&p, "(")) return refuse(&p, p.at, "a term such as (1 | g) is needed here.");
        status = take_group(&p, spec);
    } while (status == SGFS_OK && take(&p, "+"));
    skip_blanks(&p);
    if (status == SGFS_OK && *p.at != '\0')
        return refuse(&p, p.at, "terms in brackets are joined by +.");
    return status;
}

sgfs_status sgfsi_formula_mark(const char *text, int64_t cols, char *const *names, const char *path,
                               unsigned char *mark, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_group_spec *spec = sgfsi_arena_alloc(&arena, 1, sizeof *spec);
    sgfs_status status = spec != NULL ? sgfsi_formula_groups(text, &arena, spec, err)
                                      : sgfsi_fail_memory(err, "the formula");
    const sgfsi_columns all = {path, cols, names, true, NULL, NULL};
    for (int64_t k = 0; status == SGFS_OK && k < spec->terms; k++) {
        const sgfsi_term_spec *t = &spec->term[k];
        for (int64_t c = 0; c < t->columns && status == SGFS_OK; c++) {
            int64_t at;
            char *name = (char *)(uintptr_t)t->column[c]; /* written to in ranges alone */
            status = sgfsi_columns_find(&all, "groups", name, &at, NULL, err);
            if (status == SGFS_OK) mark[at] = 1;
        }
    }
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- the whole formula ----------------------------------------------------------------------- */

/* Names with commas between them. */
typedef struct list {
    char *text;
    size_t used;
} list;

static sgfs_status add(const parser *p, list *l, const char *name) {
    size_t length = strlen(name);
    for (const char *at = l->text; at != NULL && *at != '\0';) { /* each once */
        size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, name, n) == 0) return SGFS_OK;
        at += n + (at[n] == ',');
    }
    if (l->used + length + 2 > ROOM) return refuse(p, p->at, "it is too long.");
    if (l->used > 0) l->text[l->used++] = ',';
    memcpy(l->text + l->used, name, length + 1);
    l->used += length;
    return SGFS_OK;
}

typedef struct said {
    const char *target;
    bool intercept, all; /* all: a dot stands for every other column */
    list features, drop, categorical, log1p, groups;
} said;

/* name(column), or a name alone. */
static sgfs_status take_column(parser *p, said *s, bool without) {
    static const char *const planned[] = {"log(", "sqrt(", "exp(",    "scale(", "poly(",
                                          "bs(",  "I(",    "offset(", "cbind(", NULL};
    const char *here = (skip_blanks(p), p->at);
    for (int k = 0; planned[k] != NULL; k++)
        if (strncmp(here, planned[k], strlen(planned[k])) == 0)
            return refuse(p, here,
                          "of functions only C() and log1p() are known; make such a column in the "
                          "data.");
    list *also = take(p, "C(") ? &s->categorical : take(p, "log1p(") ? &s->log1p : NULL;
    const char *name = take_name(p);
    if (name == NULL) return p->err->code;
    if (also != NULL && !take(p, ")")) return refuse(p, p->at, "a closing bracket is needed here.");
    skip_blanks(p);
    if (*p->at == '(') return refuse(p, here, "of functions only C() and log1p() are known.");
    if (*p->at != '\0' && strchr(":*^/", *p->at) != NULL)
        return refuse(p, p->at,
                      "products of columns are not known; make such a column in the data.");
    if (without && also != NULL)
        return refuse(p, here, "what is taken away is a column, as it is.");
    sgfs_status status = add(p, without ? &s->drop : &s->features, name);
    return status == SGFS_OK && also != NULL ? add(p, also, name) : status;
}

static sgfs_status take_term(parser *p, said *s, bool without, sgfsi_group_spec *spec) {
    skip_blanks(p);
    const char *here = p->at;
    bool digit = (here[0] == '0' || here[0] == '1') && !isalnum((unsigned char)here[1]) &&
                 here[1] != '_' && here[1] != '.';
    if (digit) {
        p->at++;
        s->intercept = (here[0] == '1') != without;
        return SGFS_OK;
    }
    if (here[0] == '.' && !isalnum((unsigned char)here[1]) && here[1] != '_') {
        p->at++;
        s->all = true;
        return without ? refuse(p, here, "everything cannot be taken away.") : SGFS_OK;
    }
    if (*here != '(') return take_column(p, s, without);
    p->at++;
    if (without) return refuse(p, here, "what is taken away is a column, as it is.");
    sgfs_status status = take_group(p, spec);
    if (status != SGFS_OK) return status;
    size_t length = (size_t)(p->at - here);
    bool first = s->groups.used == 0;
    if (s->groups.used + length + 4 > ROOM) return refuse(p, here, "it is too long.");
    s->groups.used += (size_t)snprintf(s->groups.text + s->groups.used, length + 4, "%s%.*s",
                                       first ? "" : " + ", (int)length, here);
    return SGFS_OK;
}

static sgfs_status parse(parser *p, said *s, sgfsi_group_spec *spec) {
    s->target = take_name(p);
    if (s->target == NULL) return p->err->code;
    if (!take(p, "~")) return refuse(p, p->at, "a target and ~ come first: y ~ x + (1 | g).");
    bool without = take(p, "-");
    for (;;) {
        sgfs_status status = take_term(p, s, without, spec);
        if (status != SGFS_OK) return status;
        without = take(p, "-");
        if (!without && !take(p, "+")) break;
    }
    skip_blanks(p);
    return *p->at == '\0' ? SGFS_OK : refuse(p, p->at, "terms are joined by + or -.");
}

static sgfs_status set(sgfs_config *cfg, const char *key, const char *value, sgfs_err *err) {
    return value != NULL && value[0] != '\0' ? sgfs_config_set(cfg, key, value, err) : SGFS_OK;
}

/* Options that would say it twice. A run file names the target beside the formula. */
static sgfs_status check_alone(const sgfs_config *cfg, const char *target, sgfs_err *err) {
    static const char *const keys[][2] = {
        {"data.target", "target"},       {"data.features", "features"}, {"data.groups", "groups"},
        {"data.intercept", "intercept"}, {"data.log1p", "log1p"},       {"data.drop", "drop"}};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (sgfsi_config_given(cfg, keys[k][0]) &&
            (k > 0 || strcmp(sgfsi_config_text(cfg, keys[k][0]), target) != 0))
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--%s and --formula say the same thing: give one of them.",
                              keys[k][1]);
    return SGFS_OK;
}

sgfs_config *sgfsi_formula_expand(const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    const char *text = sgfsi_config_text(cfg, "data.formula");
    sgfs_config *out = sgfsi_config_copy(cfg);
    if (out == NULL) return sgfsi_fail_memory(err, "the options"), NULL;
    if (text[0] == '\0') return out;
    sgfsi_arena arena = {NULL};
    sgfsi_group_spec *spec = sgfsi_arena_alloc(&arena, 1, sizeof *spec);
    said s = {.intercept = true};
    list *lists[] = {&s.features, &s.drop, &s.categorical, &s.log1p, &s.groups};
    bool room = spec != NULL;
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        room = (lists[k]->text = sgfsi_arena_alloc(&arena, ROOM, 1)) != NULL && room;
    sgfs_status status = room ? SGFS_OK : sgfsi_fail_memory(err, "the formula");
    parser p = {text, text, &arena, err};
    if (status == SGFS_OK) status = parse(&p, &s, spec);
    if (status == SGFS_OK) status = check_alone(cfg, s.target, err);
    bool none = s.features.used == 0 && !s.all;
    if (status == SGFS_OK) status = set(out, "data.target", s.target, err);
    if (status == SGFS_OK) status = set(out, "data.groups", s.groups.text, err);
    if (status == SGFS_OK && !s.all)
        status = set(out, "data.features", none ? "none" : s.features.text, err);
    if (status == SGFS_OK && !s.intercept) status = set(out, "data.intercept", "false", err);
    if (status == SGFS_OK) status = set(out, "data.log1p", s.log1p.text, err);
    if (status == SGFS_OK) status = set(out, "data.drop", s.drop.text, err);
    if (status == SGFS_OK && !sgfsi_config_given(cfg, "data.categorical"))
        status =
            set(out, "data.categorical", s.categorical.used > 0 ? s.categorical.text : "auto", err);
    sgfsi_arena_free(&arena);
    if (status == SGFS_OK) return out;
    sgfs_config_free(out);
    return NULL;
}
