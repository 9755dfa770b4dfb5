/* SPDX-License-Identifier: MIT
 * formula.c: what a formula says, as options (formula.h).
 *
 * Target, columns, groups, exposure and intercept become options, so that the data have one way in.
 * The formula stays only where it makes columns that no option makes: then its columns are read as
 * they are (words as words), and transform_formula.c does the rest. cbind(s, f) is read as a target
 * s and weights f; counts.c makes two rows of each.
 */
#include "files/formula/formula.h"

#include <string.h>

#include "files/columns.h"
#include "files/formula/formula_parse.h"

enum { ROOM = 1 << 16 };

sgfs_status sgfsi_formula_groups(const char *text, sgfsi_arena *arena, sgfsi_group_spec *spec,
                                 sgfs_err *err) {
    sgfsi_formula f;
    sgfs_status status = sgfsi_formula_parse_groups(text, arena, &f, err);
    if (status == SGFS_OK) *spec = *f.spec;
    return status;
}

sgfs_status sgfsi_formula_mark(const char *text, int64_t cols, char *const *names, const char *path,
                               unsigned char *mark, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_formula f;
    sgfs_status status = sgfsi_formula_parse_groups(text, &arena, &f, err);
    const sgfsi_columns all = {path, cols, names, true, NULL, NULL};
    for (int64_t k = 0; status == SGFS_OK && k < f.spec->terms; k++) {
        const sgfsi_term_spec *t = &f.spec->term[k];
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

sgfs_status sgfsi_formula_counts(const sgfs_config *cfg, bool *counts, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_formula f;
    const char *text = sgfsi_config_text(cfg, "data.formula");
    *counts = false;
    if (text[0] == '\0') return SGFS_OK;
    sgfs_status status = sgfsi_formula_parse(text, 0, NULL, &arena, &f, NULL);
    *counts = status == SGFS_OK && f.failures != NULL;
    sgfsi_arena_free(&arena);
    return status == SGFS_ENOMEM ? sgfsi_fail_memory(err, "the formula") : SGFS_OK;
}

/* ---- lists of columns ------------------------------------------------------------------------ */

/* Names with commas between them. */
typedef struct list {
    char *text;
    size_t used;
} list;

static bool has(const list *l, const char *name) {
    size_t length = strlen(name), n;
    for (const char *at = l->text; *at != '\0'; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        if (n == length && strncmp(at, name, n) == 0) return true;
    }
    return false;
}

static sgfs_status add(list *l, const char *name, sgfs_err *err) {
    size_t length = strlen(name);
    if (has(l, name)) return SGFS_OK;
    if (l->used + length + 2 > ROOM)
        return sgfsi_fail(err, SGFS_EUSAGE, "The formula names too many columns.");
    if (l->used > 0) l->text[l->used++] = ',';
    memcpy(l->text + l->used, name, length + 1);
    l->used += length;
    return SGFS_OK;
}

/* The columns of an expression. */
static sgfs_status add_columns(list *l, const sgfsi_expr *e, sgfs_err *err) {
    if (e == NULL) return SGFS_OK;
    sgfs_status status = e->op == SGFSI_NAME ? add(l, e->name, err) : SGFS_OK;
    if (status == SGFS_OK) status = add_columns(l, e->left, err);
    return status == SGFS_OK ? add_columns(l, e->right, err) : status;
}

typedef struct said {
    sgfsi_formula f;
    bool plain; /* nothing but options */
    list features, numbers, codes, log1p, without;
} said;

/* log1p(x) of a column, which --log1p does. */
static bool is_log1p(const sgfsi_formula_factor *of) {
    return of->expr->op == SGFSI_FUNCTION && of->expr->left->op == SGFSI_NAME &&
           strncmp(of->name, "log1p(", 6) == 0;
}

/* Does it group rows? A dot does not stand for such a column, with or without `- column`. */
static bool groups_rows(const sgfsi_formula *f, const char *column) {
    for (int64_t k = 0; f->spec != NULL && k < f->spec->terms; k++)
        for (int64_t c = 0; c < f->spec->term[k].columns; c++)
            if (strcmp(f->spec->term[k].column[c], column) == 0) return true;
    return false;
}

/* Which columns take part, and as what. numbers: those that stand for numbers somewhere, besides
 * standing for words in C(). */
static sgfs_status collect(said *s, sgfs_err *err) {
    const sgfsi_formula *f = &s->f;
    sgfs_status status = SGFS_OK;
    s->plain = f->intercept || f->terms < 2;
    for (int64_t k = 0; k < f->terms && status == SGFS_OK; k++) {
        const sgfsi_formula_term *t = &f->term[k];
        s->plain = s->plain && t->count == 1;
        for (int i = 0; i < t->count && status == SGFS_OK; i++) {
            const sgfsi_formula_factor *of = &f->factor[t->factor[i]];
            if (of->dot) continue;
            bool column = of->expr->op == SGFSI_NAME, log1p = is_log1p(of);
            bool twice = column && has(&s->features, of->expr->name);
            s->plain =
                s->plain && !twice && (column || log1p) && (!f->dot || !(of->codes || log1p));
            if (log1p && s->plain) s->plain = !has(&s->features, of->expr->left->name);
            if (column && !of->codes && strcmp(of->name, of->expr->name) != 0) s->plain = false;
            status = add_columns(&s->features, of->expr, err);
            if (status == SGFS_OK && !of->codes) status = add_columns(&s->numbers, of->expr, err);
            if (status == SGFS_OK && log1p) status = add(&s->log1p, of->expr->left->name, err);
            if (status == SGFS_OK && of->codes) status = add(&s->codes, of->expr->name, err);
        }
    }
    s->plain = s->plain && !f->multiplied;
    for (int64_t k = 0; k < f->removed && !f->multiplied && status == SGFS_OK; k++)
        if (!has(&s->features, f->without[k]) && !groups_rows(f, f->without[k]))
            status = add(&s->without, f->without[k], err);
    return status;
}

/* "auto,hour": words wherever they are, and the numbers of C(). */
static sgfs_status list_words(const said *s, list *out, sgfs_err *err) {
    sgfs_status status = add(out, "auto", err);
    for (int64_t k = 0; k < s->f.factors && status == SGFS_OK; k++) {
        const sgfsi_formula_factor *of = &s->f.factor[k];
        bool words = !of->dot && of->codes && has(&s->codes, of->expr->name) &&
                     !has(&s->numbers, of->expr->name) && !s->f.dot;
        if (words) status = add(out, of->expr->name, err);
    }
    return status;
}

/* ---- options --------------------------------------------------------------------------------- */

static sgfs_status set(sgfs_config *cfg, const char *key, const char *value, sgfs_err *err) {
    return value != NULL && value[0] != '\0' ? sgfs_config_set(cfg, key, value, err) : SGFS_OK;
}

/* Options that would say it twice. A run file names the target beside the formula. */
static sgfs_status check_alone(const sgfs_config *cfg, const said *s, sgfs_err *err) {
    const struct {
        const char *key, *flag;
        bool both;
    } keys[] = {{"data.target", "target", true},
                {"data.features", "features", true},
                {"data.effects", "effects", true},
                {"data.intercept", "intercept", true},
                {"data.log1p", "log1p", true},
                {"data.drop", "drop", true},
                {"data.coding", "coding", !s->plain},
                {"data.exposure", "exposure", s->f.exposure != NULL},
                {"data.weights", "weights", s->f.failures != NULL},
                {"data.split", "split", s->f.failures != NULL}};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (keys[k].both && sgfsi_config_given(cfg, keys[k].key) &&
            (k > 0 || strcmp(sgfsi_config_text(cfg, keys[k].key), s->f.target) != 0))
            return sgfsi_fail(err, SGFS_EUSAGE,
                              k < 9 ? "--%s and --formula say the same thing: give one of them."
                                    : "--%s would part the successes of a row from its failures, "
                                      "which cbind() makes rows of.",
                              keys[k].flag);
    return SGFS_OK;
}

static sgfs_status expand(const said *s, const list *words, sgfs_config *out, sgfs_err *err) {
    const sgfsi_formula *f = &s->f;
    const char *features = f->dot ? "" : s->features.used == 0 ? "none" : s->features.text;
    const struct {
        const char *key, *value;
    } options[] = {
        {"data.target", f->target},
        {"data.weights", f->failures},
        {"data.exposure", f->exposure},
        {"data.effects", f->groups},
        {"data.features", features},
        {"data.intercept", f->intercept ? "" : "false"},
        {"data.log1p", s->plain ? s->log1p.text : ""},
        {"data.drop", s->without.text},
        {"data.categorical", sgfsi_config_given(out, "data.categorical") &&
                                     strcmp(sgfsi_config_text(out, "data.categorical"), "auto") != 0
                                 ? ""
                                 : words->text}};
    sgfs_status status = s->plain ? sgfs_config_set(out, "data.formula", "", err) : SGFS_OK;
    for (size_t k = 0; k < sizeof options / sizeof options[0] && status == SGFS_OK; k++)
        status = set(out, options[k].key, options[k].value, err);
    return status;
}

sgfs_config *sgfsi_formula_expand(const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    const char *text = sgfsi_config_text(cfg, "data.formula");
    sgfs_config *out = sgfsi_config_copy(cfg);
    if (out == NULL) return sgfsi_fail_memory(err, "the options"), NULL;
    if (text[0] == '\0') return out;
    sgfsi_arena arena = {NULL};
    said s = {.plain = true};
    list words = {NULL, 0},
         *lists[] = {&s.features, &s.numbers, &s.codes, &s.log1p, &s.without, &words};
    bool room = true;
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        room = (lists[k]->text = sgfsi_arena_alloc(&arena, ROOM, 1)) != NULL && room;
    sgfs_status status = room ? SGFS_OK : sgfsi_fail_memory(err, "the formula");
    if (status == SGFS_OK) status = sgfsi_formula_parse(text, 0, NULL, &arena, &s.f, err);
    if (status == SGFS_OK) status = collect(&s, err);
    if (status == SGFS_OK) status = check_alone(cfg, &s, err);
    if (status == SGFS_OK) status = list_words(&s, &words, err);
    if (status == SGFS_OK) status = expand(&s, &words, out, err);
    sgfsi_arena_free(&arena);
    if (status == SGFS_OK) return out;
    sgfs_config_free(out);
    return NULL;
}
