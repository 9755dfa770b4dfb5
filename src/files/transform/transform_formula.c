/* SPDX-License-Identifier: MIT
 * transform_formula.c: the columns that a formula makes, where it is more than a list of columns:
 *
 *     y ~ x*city + poly(age, 2)   ->   x, city=Bremen, city=Kiel, poly(age, 2)[1], poly(age, 2)[2],
 *                                      x:city=Bremen, x:city=Kiel
 *
 * Words come as numbers here (the step before has numbered them), and each term is one block of
 * columns or several: numbers of the block's numeric factors, multiplied, in the columns of the
 * combination of words that the row has, and 0 in all others. So a row has few entries, whatever
 * the number of columns, and tables with many words are kept sparse.
 *
 * Which words have no column. A term stands for all subsets of its factors of words. Those that
 * terms before it, or the intercept, stand for already are left out, and the rest is put together
 * in as few codings as it takes, each factor with all its words or without its reference (Smith et
 * al., patsy; the same columns as R where the term's parts are in the formula). Where only the
 * intercept is there already, as with y ~ a:b, the combinations that occur are the words of one
 * column, and the most frequent is its reference. Combinations that no training row has make no
 * column.
 *
 * What functions learn (formula_basis.c), the numbers of C(x) and the combinations come from one
 * pass over the training rows, and are kept in the run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/words.h"
#include "files/columns.h"
#include "files/formula/formula_parse.h"
#include "files/transform/transform_kind.h"

enum {
    MOST_WIDTH = 512,      /* numbers that a row has in one block */
    MOST_VALUES = 1 << 24, /* that a function learns from; of more rows every second, fourth, ... */
    KEY = 11
};

/* Numbers, or pairs of numbers, met so far. */
typedef struct met {
    sgfsi_word_list key;
    int64_t room;
    uint64_t *what; /* room: what each of them is */
    double *weight; /* room: how often it was met */
} met;

/* A factor of some term. */
typedef struct part {
    const sgfsi_formula_factor *of;
    int64_t width, *col; /* of a column alone: its columns that go in, more than one of dates */
    bool words;
    sgfsi_coded coded; /* words: of a column of words; count 0: of numbers, */
    met *value;        /* which are these, and have */
    int64_t *rank;     /* these places by size */
    int64_t reference;
} part;

/* Columns of one coding of a term. */
typedef struct block {
    int numbers, words;
    int32_t number[SGFSI_MOST_FACTORS], word[SGFSI_MOST_FACTORS]; /* parts */
    bool full[SGFSI_MOST_FACTORS]; /* words: every word has columns */
    bool joint;                    /* one combination has none, for all of them */
    int64_t width;                 /* columns of one combination */
    met *pair[SGFSI_MOST_FACTORS]; /* [1]: of words 0 and 1, [2]: of that and word 2, ... */
    int64_t ids, combinations;     /* how many are numbered; those that have columns */
    int64_t *place;                /* ids: among those; -1: none */
    int64_t *id;                   /* combinations */
    int64_t left_out;              /* joint: the id that has no columns */
    int64_t first;                 /* column */
} block;

typedef struct learner {
    sgfsi_expr *expr;
    const char *name; /* of its factor */
    int64_t n, room, stride, skip;
    double *value, *weight;
    struct learner *next;
} learner;

typedef struct formula {
    const char *text;
    sgfsi_formula f;
    bool compiled, learnt, zero, lenient;
    int64_t parts, blocks, passing, cols;
    int64_t room; /* blocks there is room for */
    part *part;
    block *block;
    learner *learner, *last; /* in the order of their factors */
    int64_t *pass;           /* columns that go in and come out behind all others: age=NA */
} formula;

static void clear_met(met *m) {
    sgfsi_words_free(&m->key);
    free(m->what);
    free(m->weight);
    *m = (met){.room = 0};
}

static void clear_learner(learner *l) {
    free(l->value);
    free(l->weight);
    *l = (learner){.expr = l->expr, .name = l->name, .stride = 1, .next = l->next};
}

static void free_met(const void *user, void *what) {
    (void)user;
    clear_met(what);
}

static void free_learner(const void *user, void *what) {
    (void)user;
    clear_learner(what);
}

static met *new_met(sgfsi_transform *s) {
    met *m = sgfsi_arena_alloc(s->arena, 1, sizeof *m);
    return m != NULL && sgfsi_arena_keep(s->arena, free_met, NULL, m) ? m : NULL;
}

static sgfs_status new_formula(sgfsi_transform *s, const char *text, sgfs_err *err) {
    formula *t = s->self = sgfsi_arena_alloc(s->arena, 1, sizeof *t);
    if (t != NULL) t->text = sgfsi_arena_text(s->arena, text);
    return t != NULL && t->text != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the formula");
}

/* ---- numbering ------------------------------------------------------------------------------- */

/* Number of a key among those met; -1: it is new, and memory is out where it should be added. */
static int64_t number_of(met *m, uint64_t what, bool add, double weight) {
    char text[KEY] = "";
    for (int i = 0; i < KEY - 1; i++) text[i] = (char)(128 | ((what >> (7 * i)) & 127));
    if (!add) return sgfsi_words_find(&m->key, text, KEY - 1);
    int64_t k = sgfsi_words_add(&m->key, text, KEY - 1), room = m->room;
    if (k < 0) return k;
    if (k >= room && (!sgfsi_grow(&m->what, &room, k + 1, sizeof *m->what) ||
                      !sgfsi_resize(&m->weight, room, sizeof *m->weight)))
        return -1;
    for (; m->room < room; m->room++) m->weight[m->room] = 0;
    m->what[k] = what;
    m->weight[k] += weight;
    return k;
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    x = x == 0 ? 0 : x; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double value_of(const part *p, int64_t code) {
    double x;
    memcpy(&x, &p->value->what[code], sizeof x);
    return x;
}

static int64_t levels_of(const part *p) {
    return p->coded.count > 0 ? p->coded.count : p->value->key.count;
}

/* -1: a word, or a number, that is none of them. */
static int64_t code_of(part *p, const double *row, bool add, double weight) {
    double x = row[p->col[0]];
    if (p->coded.count == 0) return number_of(p->value, bits_of(x), add, weight);
    return x >= 0 && x < (double)p->coded.count ? (int64_t)x : -1;
}

static int64_t rank_of(const part *p, int64_t code) {
    return p->coded.count > 0 ? code : p->rank[code];
}

static const char *level_name(const part *p, int64_t code, char room[SGFSI_NUM_CHARS]) {
    if (p->coded.count > 0) return p->coded.word[code];
    sgfsi_format_num(room, value_of(p, code));
    return room;
}

static uint64_t pair_of(int64_t a, int64_t b) {
    return (uint64_t)a << 32 | (uint64_t)b;
}

/* The codes of a combination's words. */
static void split(const block *b, int64_t id, int64_t code[SGFSI_MOST_FACTORS]) {
    for (int i = b->words - 1; i > 0; i--) {
        uint64_t what = b->pair[i]->what[id];
        code[i] = (int64_t)(what & 0xFFFFFFFFu);
        id = (int64_t)(what >> 32);
    }
    if (b->words > 0) code[0] = id;
}

/* ---- from text to blocks --------------------------------------------------------------------- */

static bool is_indicator(const sgfsi_transform *s, int64_t j) {
    const char *name = s->in.name[j];
    size_t length = strlen(name);
    bool marks = length > 3 && strcmp(name + length - 3, "=NA") == 0;
    for (int64_t k = 0; marks && k < s->in.cols; k++)
        if (strlen(s->in.name[k]) == length - 3 && strncmp(s->in.name[k], name, length - 3) == 0)
            return true;
    return false;
}

static sgfs_status refuse(const formula *t, const char *at, const char *column, const char *what,
                          sgfs_err *err) {
    char why[160];
    snprintf(why, sizeof why, "\"%.60s\" %s", column, what);
    return sgfsi_formula_refuse(t->text, at, why, err);
}

static bool has_words(const sgfsi_transform *s, int64_t j) {
    return s->in.coded != NULL && s->in.coded[j].count > 0;
}

/* The columns that a name stands for: itself, or all that dates became. */
static sgfs_status find_columns(const sgfsi_transform *s, const sgfsi_expr *e, part *p,
                                sgfs_err *err) {
    const sgfsi_base *base = s->in.base;
    int64_t at = sgfsi_names_find(s->in.cols, s->in.name, e->name),
            from = at >= 0 ? -1 : sgfsi_names_find(base->cols, base->name, e->name);
    p->width = 0;
    p->col = sgfsi_arena_alloc(s->arena, from >= 0 ? s->in.cols : 1, sizeof *p->col);
    if (p->col == NULL) return sgfsi_fail_memory(err, "the columns");
    if (at >= 0) p->col[p->width++] = at;
    for (int64_t j = 0; from >= 0 && j < s->in.cols; j++)
        if (s->in.origin[j] == from && !is_indicator(s, j)) p->col[p->width++] = j;
    return p->width > 0 ? SGFS_OK
                        : refuse(s->self, e->at, e->name, "is no column that is there.", err);
}

/* The columns of arithmetic, which hold numbers. */
static sgfs_status bind(const sgfsi_transform *s, sgfsi_expr *e, sgfs_err *err) {
    part p;
    if (e == NULL) return SGFS_OK;
    if (e->op == SGFSI_NAME) {
        sgfs_status found = find_columns(s, e, &p, err);
        if (found != SGFS_OK) return found;
        e->col = p.col[0];
        if (p.width > 1) return refuse(s->self, e->at, e->name, "holds dates.", err);
        if (has_words(s, e->col))
            return refuse(s->self, e->at, e->name, "holds words, and a number is needed.", err);
    }
    sgfs_status status = bind(s, e->left, err);
    return status == SGFS_OK ? bind(s, e->right, err) : status;
}

static sgfs_status add_learners(sgfsi_transform *s, sgfsi_expr *e, const char *name,
                                sgfs_err *err) {
    formula *t = s->self;
    if (e == NULL) return SGFS_OK;
    if (e->op >= SGFSI_SCALE) {
        learner *l = sgfsi_arena_alloc(s->arena, 1, sizeof *l);
        if (l == NULL || !sgfsi_arena_keep(s->arena, free_learner, NULL, l))
            return sgfsi_fail_memory(err, "the formula");
        *l = (learner){.expr = e, .name = name, .stride = 1};
        *(t->last != NULL ? &t->last->next : &t->learner) = l;
        t->last = l;
    }
    sgfs_status status = add_learners(s, e->left, name, err);
    return status == SGFS_OK ? add_learners(s, e->right, name, err) : status;
}

static sgfs_status open_part(sgfsi_transform *s, part *p, sgfs_err *err) {
    const sgfsi_formula_factor *of = p->of;
    sgfsi_expr *e = of->expr;
    bool column = e->op == SGFSI_NAME && (of->codes || strcmp(of->name, e->name) == 0);
    if (!column) {
        p->width = e->width;
        sgfs_status status = bind(s, e, err);
        return status == SGFS_OK ? add_learners(s, e, of->name, err) : status;
    }
    sgfs_status status = find_columns(s, e, p, err);
    if (status != SGFS_OK) return status;
    p->words = of->codes || has_words(s, p->col[0]);
    if (p->words && p->width > 1) return refuse(s->self, e->at, e->name, "holds dates.", err);
    if (p->words && has_words(s, p->col[0])) {
        p->coded = s->in.coded[p->col[0]];
        p->reference = p->coded.reference;
    } else if (p->words) {
        p->value = new_met(s);
        if (p->value == NULL) return sgfsi_fail_memory(err, "the words of a formula");
    }
    return SGFS_OK;
}

/* A set of factors of words that terms so far stand for, beside the same numbers. */
typedef struct covered {
    sgfsi_formula_term numbers, words;
} covered;

/* present: factors of the term, by bit; full: those of them with all words. */
typedef struct coding {
    unsigned present, full;
} coding;

static bool same_set(const sgfsi_formula_term *a, const sgfsi_formula_term *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) {
        same = false;
        for (int k = 0; k < b->count; k++) same = same || b->factor[k] == a->factor[i];
    }
    return same;
}

/* Two codings that are one: what the longer has more, with all words, takes the shorter in. */
static bool absorb(int *count, coding *c) {
    for (int a = 0; a < *count; a++) {
        for (int b = a + 1; b < *count; b++) {
            unsigned more = c[b].present & ~c[a].present;
            bool one = more != 0 && (more & (more - 1)) == 0 &&
                       (c[a].present & ~c[b].present) == 0 && c[b].full == c[a].full;
            if (!one) continue;
            c[a] = (coding){c[b].present, c[b].full | more};
            (*count)--;
            memmove(&c[b], &c[b + 1], (size_t)(*count - b) * sizeof *c);
            return true;
        }
    }
    return false;
}

static sgfs_status add_block(sgfsi_transform *s, const sgfsi_formula_term *numbers,
                             const sgfsi_formula_term *words, coding c, bool joint,
                             const int32_t *part_of, sgfs_err *err) {
    formula *t = s->self;
    if (t->blocks == t->room) {
        block *more = sgfsi_arena_alloc(s->arena, 2 * t->room + 8, sizeof *more);
        if (more == NULL) return sgfsi_fail_memory(err, "the formula");
        if (t->blocks > 0) memcpy(more, t->block, (size_t)t->blocks * sizeof *more);
        t->block = more;
        t->room = 2 * t->room + 8;
    }
    block *b = &t->block[t->blocks++];
    b->joint = joint;
    b->width = 1;
    b->left_out = -1;
    for (int i = 0; i < numbers->count; i++) {
        b->number[b->numbers++] = part_of[numbers->factor[i]];
        b->width *= t->part[part_of[numbers->factor[i]]].width;
        if (b->width > MOST_WIDTH)
            return sgfsi_formula_refuse(t->text, t->f.factor[numbers->factor[i]].at,
                                        "this product makes more than 512 columns of numbers.",
                                        err);
    }
    for (int i = 0; i < words->count; i++) {
        if (!(c.present >> i & 1)) continue;
        b->full[b->words] = c.full >> i & 1;
        b->word[b->words++] = part_of[words->factor[i]];
        if (b->words > 1 && (b->pair[b->words - 1] = new_met(s)) == NULL)
            return sgfsi_fail_memory(err, "the words of a formula");
    }
    return SGFS_OK;
}

static sgfs_status open_term(sgfsi_transform *s, const sgfsi_formula_term *term,
                             const int32_t *part_of, covered *seen, int64_t *count, sgfs_err *err) {
    const formula *t = s->self;
    sgfsi_formula_term numbers = {.count = 0}, words = {.count = 0};
    coding c[1 << SGFSI_MOST_FACTORS];
    int codings = 0, all = 1, size;
    bool before = false; /* is the empty set covered? */
    for (int i = 0; i < term->count; i++) {
        sgfsi_formula_term *to = t->part[part_of[term->factor[i]]].words ? &words : &numbers;
        to->factor[to->count++] = term->factor[i];
    }
    all <<= words.count;
    for (size = 0; size <= words.count; size++) {
        for (unsigned set = 0; set < (unsigned)all; set++) {
            covered own = {.numbers = numbers};
            for (int i = 0; i < words.count; i++)
                if (set >> i & 1) own.words.factor[own.words.count++] = words.factor[i];
            if (own.words.count != size) continue;
            int64_t k = size == words.count ? *count : 0; /* the whole of it is new */
            while (k < *count &&
                   !(same_set(&seen[k].numbers, &numbers) && same_set(&seen[k].words, &own.words)))
                k++;
            before = before || (set == 0 && k < *count);
            if (k < *count) continue;
            seen[(*count)++] = own;
            c[codings++] = (coding){set, 0};
        }
    }
    if (before && codings == all - 1 && words.count > 1) {
        const coding joint = {(unsigned)all - 1, (unsigned)all - 1};
        return add_block(s, &numbers, &words, joint, true, part_of, err);
    }
    while (absorb(&codings, c)) continue;
    sgfs_status status = SGFS_OK;
    for (int k = 0; k < codings && status == SGFS_OK; k++)
        status = add_block(s, &numbers, &words, c[k], false, part_of, err);
    return status;
}

/* Everything that follows from the text and from which columns hold words. */
static sgfs_status compile(sgfsi_transform *s, sgfs_err *err) {
    formula *t = s->self;
    int64_t names = 0, sets = 1;
    const char **name = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *name);
    t->pass = sgfsi_arena_alloc(s->arena, s->in.cols + 1, sizeof *t->pass);
    if (name == NULL || t->pass == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t j = 0; j < s->in.cols; j++) {
        if (is_indicator(s, j)) t->pass[t->passing++] = j;
        else name[names++] = s->in.name[j];
    }
    sgfs_status status = sgfsi_formula_parse(t->text, names, name, s->arena, &t->f, err);
    if (status != SGFS_OK) return status;
    const sgfsi_formula *f = &t->f;
    int32_t *part_of = sgfsi_arena_alloc(s->arena, f->factors + 1, sizeof *part_of);
    t->part = sgfsi_arena_alloc(s->arena, f->factors + 1, sizeof *t->part);
    if (part_of == NULL || t->part == NULL) return sgfsi_fail_memory(err, "the formula");
    for (int64_t k = 0; k < f->factors; k++) part_of[k] = -1;
    for (int64_t k = 0; k < f->terms && status == SGFS_OK; k++) {
        int words = 0;
        for (int i = 0; i < f->term[k].count && status == SGFS_OK; i++) {
            const int32_t of = f->term[k].factor[i];
            if (part_of[of] < 0) {
                part_of[of] = (int32_t)t->parts;
                t->part[t->parts++].of = &f->factor[of];
                status = open_part(s, &t->part[part_of[of]], err);
            }
            words += t->part[part_of[of]].words;
        }
        sets += (int64_t)1 << words;
    }
    covered *seen = sgfsi_arena_alloc(s->arena, sets, sizeof *seen);
    if (status == SGFS_OK && seen == NULL) status = sgfsi_fail_memory(err, "the formula");
    int64_t count = f->intercept; /* the first one is empty */
    for (int64_t k = 0; k < f->terms && status == SGFS_OK; k++)
        status = open_term(s, &f->term[k], part_of, seen, &count, err);
    t->compiled = status == SGFS_OK;
    return status;
}

/* ---- a look at the rows ---------------------------------------------------------------------- */

static sgfs_status open_formula(sgfsi_transform *s, const sgfs_config *cfg, sgfs_err *err) {
    (void)cfg;
    return new_formula(s, s->text, err);
}

static void rewind_formula(sgfsi_transform *s) {
    const formula *t = s->self;
    for (int64_t k = 0; !t->learnt && k < t->parts; k++)
        if (t->part[k].value != NULL) clear_met(t->part[k].value);
    for (int64_t k = 0; !t->learnt && k < t->blocks; k++)
        for (int i = 1; i < t->block[k].words; i++) clear_met(t->block[k].pair[i]);
    for (learner *l = t->learner; !t->learnt && l != NULL; l = l->next) clear_learner(l);
}

/* Beyond MOST_VALUES every second one goes, and from there on every second row is enough. */
static sgfs_status keep_value(learner *l, double x, double weight, sgfs_err *err) {
    if (l->skip-- > 0) return SGFS_OK;
    l->skip = l->stride - 1;
    if (l->n == MOST_VALUES) {
        for (int64_t i = 0; i < l->n / 2; i++) {
            l->value[i] = l->value[2 * i];
            l->weight[i] = l->weight[2 * i];
        }
        l->n /= 2;
        l->stride *= 2;
    }
    int64_t room = l->room;
    if (l->n == room && (!sgfsi_grow(&l->value, &room, l->n + 1, sizeof *l->value) ||
                         !sgfsi_resize(&l->weight, room, sizeof *l->weight)))
        return sgfsi_fail_memory(err, "what a function learns");
    l->room = room;
    l->value[l->n] = x;
    l->weight[l->n++] = weight;
    return SGFS_OK;
}

static sgfs_status look_formula(sgfsi_transform *s, const sgfsi_seen *seen, sgfs_err *err) {
    formula *t = s->self;
    sgfs_status status = t->compiled ? SGFS_OK : compile(s, err);
    if (status == SGFS_OK && seen->start != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "Sparse rows have no columns for --formula.");
    for (int64_t i = 0; status == SGFS_OK && i < seen->n; i++) {
        int64_t at = seen->row != NULL ? seen->row[i] : i, code[SGFSI_MOST_FACTORS];
        const double *row = seen->x + at * s->in.cols, w = seen->weight ? seen->weight[at] : 1;
        bool made = true;
        for (int64_t k = 0; k < t->parts && made; k++)
            if (t->part[k].words) made = code_of(&t->part[k], row, true, w) >= 0;
        for (int64_t b = 0; b < t->blocks && made; b++) {
            block *of = &t->block[b];
            for (int k = 0; of->words > 1 && k < of->words; k++)
                code[k] = code_of(&t->part[of->word[k]], row, false, 0);
            for (int k = 1; k < of->words && made; k++) {
                code[k] = number_of(of->pair[k], pair_of(code[k - 1], code[k]), true, w);
                made = code[k] >= 0;
            }
        }
        if (!made) status = sgfsi_fail_memory(err, "the words of a formula");
        for (learner *l = t->learner; l != NULL && status == SGFS_OK; l = l->next) {
            double x;
            sgfsi_expr_values(l->expr->left, row, &x);
            if (isfinite(x)) status = keep_value(l, x, w, err);
        }
    }
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct ranked {
    int64_t id, rank[SGFSI_MOST_FACTORS];
    double value;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    for (int i = SGFSI_MOST_FACTORS - 1; i >= 0; i--)
        if (x->rank[i] != y->rank[i]) return x->rank[i] < y->rank[i] ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Numbers of C(x) by size; the reference is the most frequent one. */
static sgfs_status rank_values(sgfsi_transform *s, part *p, sgfs_err *err) {
    const int64_t count = p->value->key.count;
    ranked *list = calloc((size_t)count + 1, sizeof *list);
    p->rank = sgfsi_arena_alloc(s->arena, count + 1, sizeof *p->rank);
    bool made = list != NULL && p->rank != NULL;
    for (int64_t k = 0; made && k < count; k++)
        list[k] = (ranked){.id = k, .value = value_of(p, k)};
    if (made) qsort(list, (size_t)count, sizeof *list, by_rank);
    p->reference = count > 0 && made ? list[0].id : 0;
    for (int64_t k = 0; made && k < count; k++) {
        p->rank[list[k].id] = k;
        if (p->value->weight[list[k].id] > p->value->weight[p->reference])
            p->reference = list[k].id;
    }
    free(list);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the words of a formula");
}

/* Combinations that have columns, in order: those of the last factor's first word come first. */
static sgfs_status place_combinations(sgfsi_transform *s, block *b, sgfs_err *err) {
    const formula *t = s->self;
    const met *last = b->words > 1 ? b->pair[b->words - 1] : NULL;
    b->ids = b->words == 0 ? 1 : b->words == 1 ? levels_of(&t->part[b->word[0]]) : last->key.count;
    ranked *list = calloc((size_t)b->ids + 1, sizeof *list);
    b->place = sgfsi_arena_alloc(s->arena, b->ids + 1, sizeof *b->place);
    b->id = sgfsi_arena_alloc(s->arena, b->ids + 1, sizeof *b->id);
    if (list == NULL || b->place == NULL || b->id == NULL) {
        free(list);
        return sgfsi_fail_memory(err, "the words of a formula");
    }
    int64_t n = 0;
    for (int64_t id = 0; id < b->ids; id++) {
        int64_t code[SGFSI_MOST_FACTORS];
        ranked r = {.id = id};
        bool has = true;
        split(b, id, code);
        for (int i = 0; i < b->words; i++) {
            const part *p = &t->part[b->word[i]];
            r.rank[i] = rank_of(p, code[i]);
            has = has && (b->full[i] || code[i] != p->reference);
        }
        b->place[id] = -1;
        if (has) list[n++] = r;
    }
    qsort(list, (size_t)n, sizeof *list, by_rank);
    for (int64_t k = 0; b->joint && !t->learnt && k < n; k++)
        if (b->left_out < 0 || last->weight[list[k].id] > last->weight[b->left_out])
            b->left_out = list[k].id;
    b->combinations = 0;
    for (int64_t k = 0; k < n; k++) {
        if (list[k].id == b->left_out) continue;
        b->place[list[k].id] = b->combinations;
        b->id[b->combinations++] = list[k].id;
    }
    free(list);
    return SGFS_OK;
}

static sgfs_status place_columns(sgfsi_transform *s, sgfs_err *err) {
    formula *t = s->self;
    sgfs_status status = SGFS_OK;
    t->cols = 0;
    for (int64_t k = 0; k < t->parts && status == SGFS_OK; k++)
        if (t->part[k].words && t->part[k].coded.count == 0)
            status = rank_values(s, &t->part[k], err);
    for (int64_t b = 0; b < t->blocks && status == SGFS_OK; b++) {
        status = place_combinations(s, &t->block[b], err);
        t->block[b].first = t->cols;
        t->cols += t->block[b].combinations * t->block[b].width;
        if (status == SGFS_OK && t->cols > SGFSI_MAX_COLS)
            status = sgfsi_fail(err, SGFS_EDATA, "--formula would make more than %d columns.",
                                SGFSI_MAX_COLS);
    }
    t->learnt = true;
    return status;
}

static sgfs_status looked_formula(sgfsi_transform *s, sgfs_err *err) {
    formula *t = s->self;
    sgfs_status status = t->compiled ? SGFS_OK : compile(s, err);
    for (learner *l = t->learner; l != NULL && status == SGFS_OK; l = l->next) {
        sgfs_err own = {SGFS_OK, ""};
        status =
            sgfsi_expr_learn(l->expr, l->n, l->value, l->weight, (double)l->stride, s->arena, &own);
        if (status == SGFS_OK) continue;
        if (status == SGFS_EDATA) sgfsi_fail(err, status, "\"%.60s\" %s", l->name, own.text);
        else (void)sgfsi_fail(err, status, "%s", own.text);
    }
    if (status == SGFS_OK) status = place_columns(s, err);
    for (learner *l = t->learner; l != NULL; l = l->next) clear_learner(l);
    return status;
}

/* "x:city=Kiel", "poly(x, 2)[1]", "a:b=q:v"; number: which of the block's width. */
static const char *name_column(const sgfsi_transform *s, const block *b, int64_t id,
                               int64_t number) {
    const formula *t = s->self;
    char text[1024] = "", room[SGFSI_NUM_CHARS];
    int64_t code[SGFSI_MOST_FACTORS];
    for (int i = 0; i < b->numbers; i++) {
        const part *p = &t->part[b->number[i]];
        int64_t k = number % p->width;
        number /= p->width;
        const char *name = p->col != NULL ? s->in.name[p->col[k]] : p->of->name;
        sgfsi_append(text, sizeof text, "%s%s", i > 0 ? ":" : "", name);
        if (p->col == NULL && p->of->expr->op >= SGFSI_POLY)
            sgfsi_append(text, sizeof text, "[%d]", (int)k + 1);
    }
    for (int i = 0; i < b->words; i++)
        sgfsi_append(text, sizeof text, "%s%s", i + b->numbers > 0 ? ":" : "",
                     t->part[b->word[i]].of->expr->name);
    split(b, id, code);
    for (int i = 0; i < b->words; i++)
        sgfsi_append(text, sizeof text, "%s%s", i > 0 ? ":" : "=",
                     level_name(&t->part[b->word[i]], code[i], room));
    return sgfsi_arena_text(s->arena, text);
}

/* All columns of a factor, or of a term, come from what it was written of first. */
static int64_t origin_of(const sgfsi_transform *s, const part *p) {
    const sgfsi_expr *e = p->of->expr;
    while (p->col == NULL && e->left != NULL) e = e->left;
    int64_t col = p->col != NULL ? p->col[0] : e->op == SGFSI_NAME ? e->col : 0;
    return col < s->in.cols ? s->in.origin[col] : 0;
}

static sgfs_status shape_formula(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const formula *t = s->self;
    int64_t to = 0, all = t->cols + t->passing;
    (void)saved;
    s->out = (sgfsi_feature_list){.cols = all, .base = s->in.base};
    s->out.name = sgfsi_arena_alloc(s->arena, all + 1, sizeof *s->out.name);
    s->out.origin = sgfsi_arena_alloc(s->arena, all + 1, sizeof *s->out.origin);
    bool made = s->out.name != NULL && s->out.origin != NULL;
    for (int64_t k = 0; made && k < t->blocks; k++) {
        const block *b = &t->block[k];
        int64_t origin = origin_of(s, &t->part[b->numbers > 0 ? b->number[0] : b->word[0]]);
        for (int64_t i = 0; made && i < b->combinations * b->width; i++) {
            s->out.origin[to] = origin;
            s->out.name[to] = name_column(s, b, b->id[i / b->width], i % b->width);
            made = s->out.name[to++] != NULL;
        }
    }
    for (int64_t k = 0; made && k < t->passing; k++) {
        s->out.origin[to] = s->in.origin[t->pass[k]];
        s->out.name[to++] = s->in.name[t->pass[k]];
    }
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A number that comes out is none, though those that go in are. */
static sgfs_status fail_value(const sgfsi_transform *s, const block *b, const double *row,
                              sgfs_err *err) {
    const formula *t = s->self;
    char value[SGFSI_NUM_CHARS] = "";
    for (int i = 0; i < b->numbers; i++) {
        const part *p = &t->part[b->number[i]];
        double x[MOST_WIDTH];
        if (p->col != NULL) continue;
        sgfsi_expr_values(p->of->expr, row, x);
        if (isfinite(x[0])) continue;
        const sgfsi_expr *e = p->of->expr;
        while (e->op != SGFSI_NAME && e->left != NULL) e = e->left;
        if (e->op != SGFSI_NAME) break;
        sgfsi_format_num(value, row[e->col]);
        return sgfsi_fail(err, SGFS_EDATA,
                          "\"%.60s\" is no finite number where column \"%.60s\" is %s.",
                          p->of->name, e->name, value);
    }
    return sgfsi_fail(err, SGFS_EDATA, "a column of the formula is no finite number.");
}

static sgfs_status fail_unseen(const sgfsi_transform *s, const block *b, const double *row,
                               sgfs_err *err) {
    const formula *t = s->self;
    char names[200] = "", words[200] = "", room[SGFSI_NUM_CHARS];
    for (int i = 0; i < b->words; i++) {
        part *p = &t->part[b->word[i]];
        double x = row[p->col[0]];
        sgfsi_append(names, sizeof names, "%s%.60s", i > 0 ? ":" : "", p->of->expr->name);
        sgfsi_format_num(room, x);
        sgfsi_append(words, sizeof words, "%s%.60s", i > 0 ? ":" : "",
                     p->coded.count > 0 && x >= 0 ? p->coded.word[(int64_t)x] : room);
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "\"%s\" is \"%s\", which none of the rows that were learnt from has: leave "
                      "such rows out, or say --new-words zero, which leaves its columns 0.",
                      names, words);
}

/* The id of the row's combination in a block; -1: none that was met. */
static int64_t combination_of(const formula *t, block *b, const double *row) {
    int64_t id = 0;
    for (int i = 0; i < b->words && id >= 0; i++) {
        int64_t code = code_of(&t->part[b->word[i]], row, false, 0);
        if (code < 0) return -1;
        id = i == 0 ? code : number_of(b->pair[i], pair_of(id, code), false, 0);
    }
    return id;
}

/* Is a word of the row one that has no columns in any combination? */
static bool at_reference(const formula *t, const block *b, const double *row) {
    bool any = false;
    for (int i = 0; i < b->words; i++) {
        part *p = &t->part[b->word[i]];
        any = any || (!b->full[i] && code_of(p, row, false, 0) == p->reference);
    }
    return any;
}

/* One block of a row: b->width numbers, and the column of the first; -1: it has none. */
static sgfs_status fill_block(const sgfsi_transform *s, int64_t k, const double *row, double *x,
                              int64_t *col, sgfs_err *err) {
    const formula *t = s->self;
    block *b = &t->block[k];
    int64_t made = 1, id = combination_of(t, b, row), place = id >= 0 ? b->place[id] : -1;
    double own[MOST_WIDTH], sum = 0;
    *col = place >= 0 ? b->first + place * b->width : -1;
    if (id < 0 && !t->zero && !at_reference(t, b, row)) return fail_unseen(s, b, row, err);
    if (place < 0) return SGFS_OK;
    x[0] = 1;
    for (int i = 0; i < b->numbers; i++) {
        const part *p = &t->part[b->number[i]];
        if (p->col == NULL) sgfsi_expr_values(p->of->expr, row, own);
        for (int64_t j = 0; p->col != NULL && j < p->width; j++) own[j] = row[p->col[j]];
        for (int64_t j = p->width - 1; j >= 0; j--) /* the first factor's numbers change fastest */
            for (int64_t n = made - 1; n >= 0; n--) x[j * made + n] = x[n] * own[j];
        made *= p->width;
    }
    for (int64_t j = 0; j < made; j++) sum += x[j] - x[j];
    return sum == 0 || t->lenient ? SGFS_OK : fail_value(s, b, row, err);
}

static sgfs_status apply_formula(const sgfsi_transform *s, int64_t n, const double *in, double *out,
                                 int64_t *bad, sgfs_err *err) {
    const formula *t = s->self;
    double x[MOST_WIDTH];
    int64_t col;
    memset(out, 0, (size_t)(n * s->out.cols) * sizeof *out);
    for (int64_t i = 0; i < n; i++, in += s->in.cols, out += s->out.cols) {
        for (int64_t k = 0; k < t->blocks; k++) {
            sgfs_status status = fill_block(s, k, in, x, &col, err);
            if (status != SGFS_OK) return *bad = i, status;
            if (col >= 0) memcpy(out + col, x, (size_t)t->block[k].width * sizeof *out);
        }
        for (int64_t k = 0; k < t->passing; k++) out[t->cols + k] = in[t->pass[k]];
    }
    return SGFS_OK;
}

static int64_t most_entries(const sgfsi_transform *s) {
    const formula *t = s->self;
    int64_t most = t->passing;
    for (int64_t k = 0; k < t->blocks; k++) most += t->block[k].width;
    return most;
}

static sgfs_status formula_entries(const sgfsi_transform *s, const double *in, int32_t *col,
                                   double *x, int64_t *count, sgfs_err *err) {
    const formula *t = s->self;
    double own[MOST_WIDTH];
    int64_t n = 0, at;
    for (int64_t k = 0; k < t->blocks; k++) {
        sgfs_status status = fill_block(s, k, in, own, &at, err);
        if (status != SGFS_OK) return status;
        for (int64_t j = 0; at >= 0 && j < t->block[k].width; j++) {
            col[n] = (int32_t)(at + j);
            x[n++] = own[j];
        }
    }
    for (int64_t k = 0; k < t->passing; k++) {
        col[n] = (int32_t)(t->cols + k);
        x[n++] = in[t->pass[k]];
    }
    *count = n;
    return SGFS_OK;
}

static void need_expr(const sgfsi_expr *e, unsigned char *in) {
    if (e == NULL) return;
    if (e->op == SGFSI_NAME) in[e->col] = 1;
    need_expr(e->left, in);
    need_expr(e->right, in);
}

static void need_formula(const sgfsi_transform *s, const unsigned char *out, unsigned char *in) {
    const formula *t = s->self;
    for (int64_t k = 0; k < t->parts; k++) {
        const part *p = &t->part[k];
        for (int64_t j = 0; p->col != NULL && j < p->width; j++) in[p->col[j]] = 1;
        if (p->col == NULL) need_expr(p->of->expr, in);
    }
    for (int64_t k = 0; k < t->passing; k++) in[t->pass[k]] |= out[t->cols + k];
}

/* ---- for later ------------------------------------------------------------------------------- */

/* Words and references of single columns, as --categorical tells them (compared.c reads them), then
 * what was learnt. */
static void tell_formula(const sgfsi_transform *s, sgfsi_json *out) {
    const formula *t = s->self;
    char room[SGFSI_NUM_CHARS];
    sgfsi_json_text(out, "formula", t->text);
    sgfsi_json_flag(out, "reference", true);
    sgfsi_json *columns = sgfsi_json_array_in(out, "columns"),
               *values = sgfsi_json_array_in(out, "values"),
               *learnt = sgfsi_json_array_in(out, "learnt"),
               *combinations = sgfsi_json_array_in(out, "combinations");
    for (int64_t k = 0; k < t->blocks; k++) {
        const block *b = &t->block[k];
        if (b->words != 1 || b->full[0] || b->numbers > 0) continue;
        const part *p = &t->part[b->word[0]];
        sgfsi_json *o = sgfsi_json_object_in(columns, NULL), *list;
        sgfsi_json_text(o, "name", p->of->expr->name);
        list = sgfsi_json_array_in(o, "words");
        sgfsi_json_text(list, NULL, level_name(p, p->reference, room));
        for (int64_t i = 0; i < b->combinations; i++)
            sgfsi_json_text(list, NULL, level_name(p, b->id[i], room));
        sgfsi_json_int(o, "left_out", 0);
    }
    for (int64_t k = 0; k < t->parts; k++) {
        const part *p = &t->part[k];
        if (!p->words || p->coded.count > 0) continue;
        sgfsi_json *o = sgfsi_json_object_in(values, NULL), *list = sgfsi_json_array_in(o, "of");
        for (int64_t i = 0; i < p->value->key.count; i++)
            sgfsi_json_num(list, NULL, value_of(p, i));
        sgfsi_json_int(o, "left_out", p->reference);
    }
    for (const learner *l = t->learner; l != NULL; l = l->next)
        sgfsi_json_nums(sgfsi_json_object_in(learnt, NULL), "numbers", l->expr->learnt,
                        l->expr->learn);
    for (int64_t k = 0; k < t->blocks; k++) {
        const block *b = &t->block[k];
        if (b->words < 2) continue;
        sgfsi_json *o = sgfsi_json_object_in(combinations, NULL),
                   *codes = sgfsi_json_array_in(o, "codes");
        for (int64_t id = 0; id < b->ids; id++) {
            int64_t code[SGFSI_MOST_FACTORS];
            split(b, id, code);
            for (int i = 0; i < b->words; i++) sgfsi_json_int(codes, NULL, code[i]);
        }
        sgfsi_json_int(o, "left_out", b->left_out);
    }
}

/* Was it the next one of those that are numbered from 0? */
static sgfs_status recalled(const sgfsi_transform *s, int64_t number, int64_t next, sgfs_err *err) {
    if (number < 0) return sgfsi_fail_memory(err, "the words of a formula");
    return number == next ? SGFS_OK : sgfsi_transform_damaged(s, err);
}

static sgfs_status recall_values(const sgfsi_transform *s, part *p, const sgfsi_json *saved,
                                 sgfs_err *err) {
    const sgfsi_json *list = sgfsi_json_get(saved, "of");
    const int64_t count = sgfsi_json_length(list);
    double x;
    for (int64_t i = 0; i < count; i++) {
        if (!sgfsi_json_as_num(sgfsi_json_at(list, i), &x) || !isfinite(x))
            return sgfsi_transform_damaged(s, err);
        sgfs_status status = recalled(s, number_of(p->value, bits_of(x), true, 0), i, err);
        if (status != SGFS_OK) return status;
    }
    p->reference = sgfsi_json_get_int(saved, "left_out", -1);
    if (p->reference < 0 || p->reference >= count) return sgfsi_transform_damaged(s, err);
    p->value->weight[p->reference] = 1;
    return SGFS_OK;
}

static sgfs_status recall_combinations(const sgfsi_transform *s, block *b, const sgfsi_json *saved,
                                       sgfs_err *err) {
    const formula *t = s->self;
    const sgfsi_json *codes = sgfsi_json_get(saved, "codes");
    const int64_t all = sgfsi_json_length(codes), count = all / b->words;
    if (all < 0 || all % b->words != 0) return sgfsi_transform_damaged(s, err);
    for (int64_t k = 0; k < count; k++) {
        int64_t id = 0, code;
        for (int i = 0; i < b->words && id >= 0; i++) {
            bool good = sgfsi_json_as_int(sgfsi_json_at(codes, k * b->words + i), &code);
            if (!good || code < 0 || code >= levels_of(&t->part[b->word[i]]))
                return sgfsi_transform_damaged(s, err);
            id = i == 0 ? code : number_of(b->pair[i], pair_of(id, code), true, 0);
        }
        sgfs_status status = recalled(s, id, k, err);
        if (status != SGFS_OK) return status;
    }
    b->left_out = sgfsi_json_get_int(saved, "left_out", -1);
    return b->left_out < count && (!b->joint || b->left_out >= 0 || count == 0)
               ? SGFS_OK
               : sgfsi_transform_damaged(s, err);
}

static sgfs_status recall_formula(sgfsi_transform *s, const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_json *values = sgfsi_json_get(saved, "values"),
                     *learnt = sgfsi_json_get(saved, "learnt"),
                     *combinations = sgfsi_json_get(saved, "combinations");
    int64_t v = 0, c = 0, n = 0;
    sgfs_status status = new_formula(s, sgfsi_json_get_text(saved, "formula", ""), err);
    formula *t = s->self;
    if (status == SGFS_OK && compile(s, err) != SGFS_OK)
        status =
            err != NULL && err->code == SGFS_ENOMEM ? SGFS_ENOMEM : sgfsi_transform_damaged(s, err);
    if (status != SGFS_OK) return status;
    for (int64_t k = 0; status == SGFS_OK && k < t->parts; k++)
        if (t->part[k].words && t->part[k].coded.count == 0)
            status = recall_values(s, &t->part[k], sgfsi_json_at(values, v++), err);
    bool good = status == SGFS_OK;
    for (learner *l = t->learner; good && l != NULL; l = l->next) {
        sgfsi_expr *e = l->expr;
        const sgfsi_json *list = sgfsi_json_get(sgfsi_json_at(learnt, n++), "numbers");
        e->learn = SGFSI_DOUBLES(s->arena, e->learnt);
        if (e->learn == NULL) return sgfsi_fail_memory(err, "what a function learns");
        good = sgfsi_json_length(list) == e->learnt;
        for (int64_t i = 0; good && i < e->learnt; i++)
            good = sgfsi_json_as_num(sgfsi_json_at(list, i), &e->learn[i]) && isfinite(e->learn[i]);
    }
    if (status == SGFS_OK && !good) status = sgfsi_transform_damaged(s, err);
    for (int64_t k = 0; status == SGFS_OK && k < t->blocks; k++)
        if (t->block[k].words > 1)
            status = recall_combinations(s, &t->block[k], sgfsi_json_at(combinations, c++), err);
    t->learnt = true;
    return status == SGFS_OK ? place_columns(s, err) : status;
}

static bool zero_words(sgfsi_transform *s) {
    return ((formula *)s->self)->zero = true;
}

void sgfsi_formula_lenient(sgfsi_transform *s) {
    ((formula *)s->self)->lenient = true;
}

static void brief_formula(const sgfsi_transform *s, char *out, size_t room) {
    snprintf(out, room, "formula: %lld columns", (long long)s->out.cols);
}

const sgfsi_transform_kind sgfsi_transform_formula = {
    .op = "formula",
    .key = "data.formula",
    .early = true,
    .open = open_formula,
    .tell = tell_formula,
    .recall = recall_formula,
    .brief = brief_formula,
    .rewind = rewind_formula,
    .zero_words = zero_words,
    .looks = true,
    .look = look_formula,
    .looked = looked_formula,
    .shape = shape_formula,
    .apply = apply_formula,
    .entries = formula_entries,
    .most_entries = most_entries,
    .need = need_formula,
};
