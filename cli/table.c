/* SPDX-License-Identifier: MIT
 * table.c: the table of a summary. As many columns as the terminal has room for: all, or the few
 * that people report. What is no terminal counts as one of 80 columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

enum { NAME = 40, NARROW_NAME = 12 };

/* Columns a UTF-8 text takes, near enough: bytes that do not continue a character. */
static int width_of(const char *text) {
    int n = 0;
    for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static int widest_name(int64_t n, const void *rows, size_t size) {
    int width = 9;                    /* "parameter" */
    for (int64_t i = 0; i < n; i++) { /* every row begins with its name */
        int w = width_of(*(const char *const *)((const char *)rows + (size_t)i * size));
        width = w > width ? w : width;
    }
    return width;
}

/* The first column of a table whose other columns take `rest`: as wide as its widest name, as long
 * as the table fits, or the names take 40 columns (12 in a terminal). */
int cli_name_width(int64_t n, const void *rows, size_t size, int rest) {
    int width = widest_name(n, rows, size), room = cli_terminal_width(STDOUT_FILENO) - rest;
    int least = isatty(STDOUT_FILENO) ? NARROW_NAME : NAME, most = room > least ? room : least;
    return width < most ? width : most;
}

static void put(char c, char **to) {
    if (to == NULL) putchar(c);
    else *(*to)++ = c;
}

/* Is this blank the first or the last letter of a word, where nobody would see it? */
static bool is_edge(const char *name, const char *c) {
    return c[strspn(c, " ")] == '\0' || c == name || c[-1] == '=';
}

static void put_letter(char c, bool edge, char **to) {
    const char *box = "\xe2\x90\xa3"; /* an open box, as wide as a blank */
    for (; edge && *box != '\0'; box++) put(*box, to);
    if (!edge) put(c == '\n' || c == '\t' ? '?' : c, to);
}

/* A name is one line, whatever the file that it comes from holds. Of one that is too wide the
 * middle is left out: its beginning says the column, its end the word. at > 0: what comes behind
 * the dots begins with that character, and its end may be missing, too. Width 0: as it is. to:
 * memory for 4 bytes a character; NULL: stdout. Blanks at an end of a word are shown as boxes. */
static void put_name(const char *name, int width, int at, char **to) {
    const int wide = width_of(name), room = width - 3;
    const bool cut = width > 0 && wide > width;
    const int first = at > 0 ? room / 4 : room / 2, rest = room - first;
    const int from = at > 0 && at + rest < wide ? at : wide - rest;
    int i = -1; /* the character */
    for (const char *c = name; *c != '\0'; c++) {
        bool begins = ((unsigned char)*c & 0xC0) != 0x80;
        i += begins;
        if (cut && begins && i == first)
            for (int k = 0; k < 3; k++) put('.', to);
        if (!cut || i < first || (i >= from && i < from + rest))
            put_letter(*c, *c == ' ' && is_edge(name, c), to);
    }
}

static void print_cut(const char *name, int width, int at) {
    const int wide = width_of(name);
    put_name(name, width, at, NULL);
    printf("%*s", width > wide ? width - wide : 0, "");
}

void cli_print_name(const char *name, int width) {
    print_cut(name, width, 0);
}

/* ---- names that stay different --------------------------------------------------------------- */

typedef struct shown_name {
    char *text; /* as it is shown */
    const char *name;
    int64_t row;
} shown_name;

static int by_text(const void *a, const void *b) {
    int order = strcmp(((const shown_name *)a)->text, ((const shown_name *)b)->text);
    return order != 0 ? order
                      : strcmp(((const shown_name *)a)->name, ((const shown_name *)b)->name);
}

/* Characters that two names begin with. */
static int common(const char *a, const char *b) {
    int n = 0;
    for (; *a != '\0' && *a == *b; a++, b++) n += ((unsigned char)*a & 0xC0) != 0x80;
    return n;
}

/* Names in the order of what is shown of them. Where several look the same, at[] of each becomes
 * the place where they begin to differ (NULL: it stays); false: none do. */
static bool part_twins(int64_t n, shown_name *list, int *at) {
    bool twins = false;
    qsort(list, (size_t)n, sizeof *list, by_text);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(list[end].text, list[i].text) == 0;) end++;
        if (strcmp(list[i].name, list[end - 1].name) == 0) continue; /* alone, or the same */
        int place = common(list[i].name, list[end - 1].name);
        for (int64_t k = i; k < end && at != NULL; k++) at[list[k].row] = place;
        twins = true;
    }
    return twins;
}

/* Where names are shortened: for each row what put_name has to know, and a *width with which names
 * that differ look different. NULL: nothing is to be done (or memory is out: names are as they
 * come). */
static int *part_names(const sgfs_summary *s, int64_t n, int *width) {
    enum { MOST = 100000 };
    const int widest = widest_name(n, s->row, sizeof *s->row);
    if (*width >= widest || n > MOST) return NULL;
    int *at = calloc((size_t)n + 1, sizeof *at);
    shown_name *list = calloc((size_t)n + 1, sizeof *list);
    char *text = malloc((size_t)(n + 1) * (4 * (size_t)widest + 1));
    for (bool twins = true; twins && at != NULL && list != NULL && text != NULL && *width < widest;
         *width += twins ? 4 : 0) {
        memset(at, 0, (size_t)n * sizeof *at);
        for (int pass = 0; pass < 2 && twins; pass++) {
            char *to = text;
            for (int64_t i = 0; i < n; i++) {
                list[i] = (shown_name){to, s->row[i].name, i};
                put_name(s->row[i].name, *width, at[i], &to);
                *to++ = '\0';
            }
            twins = part_twins(n, list, pass == 0 ? at : NULL);
        }
    }
    free(list);
    free(text);
    return at;
}

void cli_print_num(double x, int width, int digits) {
    char text[32];
    if (!isfinite(x)) snprintf(text, sizeof text, "-");
    else snprintf(text, sizeof text, "%.*g", digits, x == 0 ? 0 : x); /* no -0 */
    printf(" %*s", width, text);
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { COLUMNS = 16 };

typedef struct column {
    char title[16];
    int width, digits; /* digits 0: a count */
    double (*of)(const sgfs_summary *s, int64_t i);
} column;

typedef struct layout {
    column column[COLUMNS];
    int count, width; /* width: of all, with the blanks in front */
} layout;

#define OF(name, value)                                                                            \
    static double name(const sgfs_summary *s, int64_t i) {                                         \
        return value;                                                                              \
    }
OF(mean_of, s->row[i].mean)
OF(sd_of, s->row[i].sd)
OF(mcse_of, s->row[i].mcse)
OF(low_of, s->interval != NULL && s->ratio == NULL ? s->interval[i].low : s->row[i].q5)
OF(median_of, s->row[i].q50)
OF(high_of, s->interval != NULL && s->ratio == NULL ? s->interval[i].high : s->row[i].q95)
OF(ratio_of, s->interval[i].centre)
OF(ratio_low_of, s->interval[i].low)
OF(ratio_high_of, s->interval[i].high)
OF(bulk_of, s->row[i].ess_bulk)
OF(tail_of, s->row[i].ess_tail)
OF(ess_of, fmin(s->row[i].ess_bulk, s->row[i].ess_tail))
OF(r_hat_of, s->row[i].r_hat)
OF(tau_of, s->row[i].tau)

static void add(layout *l, const char *title, int width, int digits,
                double (*of)(const sgfs_summary *s, int64_t i)) {
    column *c = &l->column[l->count++];
    snprintf(c->title, sizeof c->title, "%s", title);
    c->width = width;
    c->digits = digits;
    c->of = of;
    l->width += 1 + width;
}

enum { DIGITS = 4, MOST_DIGITS = 16 };

/* Of a mean and its quantiles: more where the usual ones would hide how they differ. */
static int digits_of(const sgfs_summary_row *r) {
    double times = fabs(r->mean) / r->sd;
    return times >= 1000 && isfinite(times) ? (int)fmin(floor(log10(times)) + 3, MOST_DIGITS)
                                            : DIGITS;
}

/* Of a ratio and its interval: more where the usual ones would show it as 1. */
static int ratio_digits_of(const sgfs_summary *s, int64_t i) {
    return sgfsi_ratio_digits(s->interval[i].low, s->interval[i].high, DIGITS);
}

static bool is_ratio(const column *c) {
    return c->of == ratio_of || c->of == ratio_low_of || c->of == ratio_high_of;
}

/* A column of places on the parameter's own scale? */
static bool is_placed(const column *c) {
    return c->of == mean_of || c->of == low_of || c->of == median_of || c->of == high_of;
}

static void widen(layout *l, const sgfs_summary *s, int64_t shown) {
    int most = DIGITS, ratio = DIGITS;
    for (int64_t i = 0; i < shown; i++) {
        most = digits_of(&s->row[i]) > most ? digits_of(&s->row[i]) : most;
        if (s->ratio != NULL && ratio_digits_of(s, i) > ratio) ratio = ratio_digits_of(s, i);
    }
    for (int k = 0; k < l->count; k++) {
        int more = is_placed(&l->column[k]) ? most - DIGITS : 0;
        if (is_ratio(&l->column[k])) more = (int)fmax(ratio + 2 - l->column[k].width, 0); /* "0." */
        l->column[k].width += more;
        l->width += more;
    }
}

static layout layout_of(const sgfs_summary *s, bool wide, bool verbose) {
    layout l = {.count = 0};
    bool ratio = s->ratio != NULL, own = s->interval != NULL && !ratio;
    double share = s->interval != NULL ? s->share : 0.9;
    char low[16] = "hdi low", high[16] = "hdi high";
    if (!s->hdi) {
        snprintf(low, sizeof low, "%.3g%%", 50 * (1 - share));
        snprintf(high, sizeof high, "%.4g%%", 50 * (1 + share));
    }
    if (ratio) {
        add(&l, s->ratio, 10, 4, ratio_of);
        add(&l, low, 9, 4, ratio_low_of);
        add(&l, high, 9, 4, ratio_high_of);
    }
    add(&l, "mean", 10, 4, mean_of);
    add(&l, "sd", wide ? 10 : 8, wide ? 4 : 3, sd_of);
    if (wide) add(&l, "mcse", 9, 4, mcse_of);
    if (!ratio) add(&l, own ? low : "5%", 10, 4, low_of);
    if (wide && !ratio) add(&l, "50%", 10, 4, median_of);
    if (!ratio) add(&l, own ? high : "95%", 10, 4, high_of);
    if (wide) add(&l, "ess_bulk", 8, 4, bulk_of);
    if (wide) add(&l, "ess_tail", 8, 4, tail_of);
    else add(&l, "ess", 6, 0, ess_of);
    add(&l, "r_hat", wide ? 7 : 6, 4, r_hat_of);
    if (verbose) add(&l, "tau", 8, 4, tau_of);
    return l;
}

static void print_cell(const column *c, const sgfs_summary *s, int64_t i) {
    double x = c->of(s, i);
    if (is_placed(c)) cli_print_num(x, c->width, digits_of(&s->row[i]));
    else if (is_ratio(c)) cli_print_num(x, c->width, ratio_digits_of(s, i));
    else if (c->digits > 0) cli_print_num(x, c->width, c->digits);
    else if (isfinite(x) && x < 1e6) printf(" %*.0f", c->width, x); /* a count */
    else cli_print_num(x, c->width, 2);
}

void cli_print_table(const sgfs_summary *s, const cli_display *how) {
    int64_t shown = s->dim < how->most ? s->dim : how->most;
    layout l = layout_of(s, true, how->verbose);
    widen(&l, s, shown);
    int most = widest_name(shown, s->row, sizeof *s->row);
    bool fits = (most < NAME ? most : NAME) + l.width <= cli_terminal_width(STDOUT_FILENO);
    bool wide = how->wide || how->verbose || fits;
    if (!wide) {
        l = layout_of(s, false, false);
        widen(&l, s, shown);
    }
    int width = how->wide ? most : cli_name_width(shown, s->row, sizeof *s->row, l.width);
    int *at = part_names(s, shown, &width);
    cli_print_name("parameter", width);
    for (int k = 0; k < l.count; k++) printf(" %*s", l.column[k].width, l.column[k].title);
    putchar('\n');
    for (int64_t i = 0; i < shown; i++) {
        print_cut(s->row[i].name, width, at != NULL ? at[i] : 0);
        for (int k = 0; k < l.count; k++) print_cell(&l.column[k], s, i);
        putchar('\n');
    }
    free(at);
    char word[1024] = "RUN";
    (void)sgfsi_shell_word(how->run, word, sizeof word);
    if (width < most)
        printf("(names are shortened: sgfs summary %s --wide shows them whole)\n", word);
    if (shown < s->dim)
        printf("... and %lld more%s (sgfs summary %s shows all)\n", (long long)(s->dim - shown),
               how->by_effect ? ", nearer to 0 in their own sd" : "", word);
}

/* Every column, for programs: names in quotes, as RFC 4180 has it, and ten digits. */
void cli_print_csv(const sgfs_summary *s) {
    const layout l = layout_of(s, true, true);
    printf("parameter");
    for (int k = 0; k < l.count; k++) printf(",%s", l.column[k].title);
    putchar('\n');
    for (int64_t i = 0; i < s->dim; i++) {
        putchar('"');
        for (const char *c = s->row[i].name; *c != '\0'; c++)
            printf("%s%c", *c == '"' ? "\"" : "", *c);
        putchar('"');
        for (int k = 0; k < l.count; k++) {
            double x = l.column[k].of(s, i);
            if (isfinite(x)) printf(",%.10g", x);
            else putchar(','); /* not known */
        }
        putchar('\n');
    }
}
