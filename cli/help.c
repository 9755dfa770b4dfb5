/* SPDX-License-Identifier: MIT
 * help.c: help pages, examples first, options from the same table that parses them. The walk over
 * a command's flags is that of man pages (man.c) and of completion (complete.c), too.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *stage_title(const char *stage) {
    static const char *const titles[][2] = {{"run", "Run"},
                                            {"data", "Data"},
                                            {"prior", "Prior"},
                                            {"fisher", "Fisher matrix"},
                                            {"simulate", "Simulation"},
                                            {"optimize", "Search"},
                                            {"tune", "Tuning"},
                                            {"predict", "Prediction"},
                                            {"report", "Report"},
                                            {"check", "Check"},
                                            {"audit", "Audit"},
                                            {"summary", "Table"},
                                            {"pack", "Packing"}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (strcmp(titles[i][0], stage) == 0) return titles[i][1];
    }
    return stage;
}

enum { PAGE = 80 };

/* Words of the text in lines that end before the page does. Lines behind the first begin at column
 * `left`; `at` is where the first one goes on. Returns where the last one ends. */
static int fill(const char *text, size_t size, int at, int left) {
    const char *end = text + size;
    while ((text += strspn(text, " \n")) < end) {
        int n = (int)strcspn(text, " \n");
        bool begins = at == left;
        if (!begins && at + 1 + n > PAGE) {
            printf("\n%*s", left, "");
            at = left;
            begins = true;
        }
        at += printf("%s%.*s", begins ? "" : " ", n, text);
        text += n;
    }
    return at;
}

static void print_section(const char *title) {
    printf("\n%s:\n", title);
}

static void print_flag(const cli_flag *flag, void *user) {
    enum { LEFT = 25 };
    (void)user;
    int at = printf("  --%s%s%s", flag->name, flag->value != NULL ? " " : "",
                    flag->value != NULL ? flag->value : "");
    if (at >= LEFT) printf("\n%*s", LEFT, ""); /* long: help on its own line */
    else printf("%*s", LEFT - at, "");
    fill(flag->help, strlen(flag->help), LEFT, LEFT);
    putchar('\n');
}

/* Lines that begin with a blank are commands or tables, and stay; others are paragraphs. */
static void print_examples(const char *text) {
    for (int at = 0; *text != '\0';) {
        size_t n = strcspn(text, "\n");
        bool goes_on = text[n] == '\n' && text[n + 1] != ' ' && text[n + 1] != '\n';
        bool kept = n == 0 || *text == ' ';
        if (kept) printf("%.*s", (int)n, text);
        else at = fill(text, n, at, 0);
        if (kept || !goes_on || text[n + 1] == '\0') {
            putchar('\n');
            at = 0;
        }
        text += n + (text[n] == '\n');
    }
}

/* A switch that is on by default is shown as --no-; the default of another option stands in
 * brackets. */
static void show_option(const sgfs_option_info *o, const cli_sheet *sheet) {
    char name[128], help[512], word[64] = "";
    bool is_switch = strcmp(o->type, "flag") == 0;
    bool on = is_switch && strcmp(o->value, "true") == 0;
    bool told = !is_switch && o->value[0] != '\0' && strcmp(o->value, "auto") != 0;
    if (o->choices[0] != '\0') snprintf(word, sizeof word, "[%s]", o->choices);
    snprintf(name, sizeof name, "%s%s", on ? "no-" : "", o->flag);
    snprintf(help, sizeof help, "%s%s%s%s%s", on ? "do not " : "", o->help, told ? " [" : "",
             told ? o->value : "", told ? "]" : "");
    const char *value = is_switch                         ? word[0] != '\0' ? word : NULL
                        : strcmp(o->type, "choice") == 0  ? o->choices
                        : strcmp(o->type, "integer") == 0 ? "K"
                        : strcmp(o->type, "number") == 0  ? "X"
                                                          : "TEXT";
    sheet->flag(&(cli_flag){name, value, help}, sheet->user);
}

/* ---- the library's options, each once -------------------------------------------------------- */

enum { MOST = 512, TITLE = 256 };

typedef struct page {
    sgfs_option_info option[MOST];
    char title[MOST][TITLE]; /* of the section an option belongs to */
    bool again[MOST];        /* the same option of another kind: shown with the first */
    int count;
} page;

static bool is_same(const sgfs_option_info *a, const sgfs_option_info *b) {
    return strcmp(a->stage, b->stage) == 0 && strcmp(a->flag, b->flag) == 0 &&
           strcmp(a->help, b->help) == 0;
}

/* "Run", or "Only for sampler sgld, psgld, sgd": everybody who has this very option. */
static void make_title(const page *p, const sgfs_option_info *o, char title[TITLE]) {
    if (o->kind[0] == '\0') {
        snprintf(title, TITLE, "%s", stage_title(o->stage));
        return;
    }
    const char *before = " ";
    snprintf(title, TITLE, "Only for %s", o->stage);
    for (int i = 0; i < p->count; i++) {
        size_t used = strlen(title);
        if (!is_same(o, &p->option[i])) continue;
        snprintf(title + used, TITLE - used, "%s%s", before, p->option[i].kind);
        before = ", ";
    }
}

static void collect(const cli_command *command, page *p) {
    sgfs_option_info o;
    p->count = 0;
    for (int64_t i = 0; sgfs_option_at(i, &o) && p->count < MOST; i++) {
        if (!cli_applies(command, &o)) continue;
        bool again = false;
        for (int k = 0; k < p->count && !again; k++) again = is_same(&o, &p->option[k]);
        p->again[p->count] = again;
        p->option[p->count++] = o;
    }
    for (int i = 0; i < p->count; i++) make_title(p, &p->option[i], p->title[i]);
}

static bool is_first_of_section(const page *p, int i) {
    for (int k = 0; k < i; k++) {
        if (!p->again[k] && strcmp(p->title[k], p->title[i]) == 0) return false;
    }
    return true;
}

static void show_options(const cli_command *command, const cli_sheet *sheet) {
    static page p;
    collect(command, &p);
    for (int i = 0; i < p.count; i++) {
        if (p.again[i] || !is_first_of_section(&p, i)) continue;
        sheet->section(p.title[i]);
        for (int k = i; k < p.count; k++) {
            if (!p.again[k] && strcmp(p.title[k], p.title[i]) == 0)
                show_option(&p.option[k], sheet);
        }
    }
}

/* The options that most people need, in groups: lines of "Title: flag flag flag". */
static void show_usual(const cli_command *command, const cli_sheet *sheet) {
    sgfs_option_info o;
    char name[64];
    for (const char *group = command->usual; *group != '\0';) {
        int title = (int)strcspn(group, ":"), all = (int)strcspn(group, "\n");
        snprintf(name, sizeof name, "%.*s", title, group);
        sheet->section(name);
        for (const char *flag = group + title + 1; flag < group + all;) {
            flag += *flag == ' ';
            size_t n = strcspn(flag, " \n");
            for (int64_t i = 0; sgfs_option_at(i, &o); i++) {
                if (!cli_applies(command, &o) || strlen(o.flag) != n ||
                    strncmp(o.flag, flag, n) != 0)
                    continue;
                show_option(&o, sheet);
                break;
            }
            flag += n;
        }
        group += all + (group[all] == '\n');
    }
}

void cli_each_flag(const cli_command *command, bool all, const cli_sheet *sheet) {
    static const cli_flag config = {
        "config", "FILE", "options from a JSON file, or those of a run file; flags override them"};
    static const cli_flag common[] = {
        {"json", NULL, "machine-readable output"},
        {"quiet", NULL, "no progress, no notes; sample prints no table (warnings stay)"},
        {"verbose", NULL, "what is of use to those who know the method, too"}};
    for (const cli_flag *f = command->flags; f->name != NULL; f++) sheet->flag(f, sheet->user);
    if (cli_takes_config(command)) sheet->flag(&config, sheet->user);
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        sheet->flag(&common[i], sheet->user);
    if (command->usual != NULL && !all) show_usual(command, sheet);
    else show_options(command, sheet);
}

void cli_help(const cli_command *command, bool all) {
    static const cli_sheet sheet = {print_section, print_flag, NULL};
    printf("sgfs %s: %s\n\nExamples:\n", command->name, command->brief);
    print_examples(command->examples);
    int at = printf("\nUsage: sgfs %s", command->name) - 1;
    fill(command->usage, strlen(command->usage), at, 4);
    printf("\n\n");
    cli_each_flag(command, all, &sheet);
    if (command->usual != NULL && !all)
        printf("\n`sgfs help %s --help-all` has every option.\n", command->name);
}

void cli_overview(void) {
    printf("sgfs %s: draws from Bayesian posteriors, a minibatch of rows at a time\n\n"
           "Try it:\n"
           "  sgfs simulate logistic --rows 200000 --dim 20 --out data.npy \\\n"
           "       --truth truth.json\n"
           "  sgfs sample logistic --data data.npy --out fit.run\n"
           "  sgfs compare fit.run --reference truth.json\n\n"
           "Commands:\n",
           sgfs_version());
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("  %-10s %s\n", (*c)->name, (*c)->brief);
    }
    printf("  %-10s %s\n", "help",
           "examples and options of a command (--help-all: every one; --man)");
    printf("\nResults go to stdout, messages to stderr. Every command takes --json, --quiet\nand "
           "--verbose.\nExit codes:");
    fill(CLI_EXIT_CODES, strlen(CLI_EXIT_CODES), 11, 0);
    putchar('\n');
}
