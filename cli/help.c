/* SPDX-License-Identifier: MIT
 * help.c: help pages, examples first, options from the same table that parses them.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

void cli_overview(void) {
    printf("sgfs %s: draws from Bayesian posteriors, a minibatch of rows at a time\n\n"
           "Try it:\n"
           "  sgfs simulate logistic --rows 200000 --dim 20 --out data.npy --truth truth.json\n"
           "  sgfs sample logistic --data data.npy --out fit.run\n"
           "  sgfs compare fit.run --reference truth.json\n\n"
           "Commands:\n",
           sgfs_version());
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf("  %-10s %s\n", (*c)->name, (*c)->brief);
    }
    printf("  %-10s %s\n", "help",
           "sgfs help COMMAND: examples and options (--help-all: every one)");
    printf(
        "\nResults go to stdout, messages to stderr. Every command takes --json, --quiet\nand "
        "--verbose.\n"
        "Exit codes: 0 ok, 1 internal error or out of memory, 2 wrong usage, 3 bad data or model,\n"
        "4 numerical failure, 5 input/output, 6 invalid run file, 7 draws not to be trusted "
        "(kept;\n"
        "of sample only), 75 stopped early (draws kept).\n");
}

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
                                            {"pack", "Packing"},
                                            {"sketch", "Sketch"}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (strcmp(titles[i][0], stage) == 0) return titles[i][1];
    }
    return stage;
}

static void print_flag(const char *name, const char *value, const char *help,
                       const char *otherwise) {
    enum { LEFT = 22, PAGE = 80 };
    char left[192], text[512];
    snprintf(left, sizeof left, "--%s%s%s", name, value[0] != '\0' ? " " : "", value);
    snprintf(text, sizeof text, "%s%s%s%s", help, otherwise[0] != '\0' ? " [" : "", otherwise,
             otherwise[0] != '\0' ? "]" : "");
    printf("  %-*s", LEFT, left);
    int at = 2 + (strlen(left) > LEFT ? PAGE : LEFT); /* long: help on its own line */
    for (char *rest = text, *word; (word = strtok_r(rest, " \n", &rest)) != NULL;) {
        int n = (int)strlen(word);
        if (at + 1 + n > PAGE) at = printf("\n  %-*s", LEFT, "") - 1;
        at += printf(" %s", word);
    }
    putchar('\n');
}

static void print_option(const sgfs_option_info *o) {
    const char *value = strcmp(o->type, "choice") == 0    ? o->choices
                        : strcmp(o->type, "integer") == 0 ? "K"
                        : strcmp(o->type, "number") == 0  ? "X"
                                                          : "TEXT";
    print_flag(o->flag, value, o->help, strcmp(o->value, "auto") == 0 ? "" : o->value);
}

/* A flag's help has to stay on one line with its name: switches that are on by default are shown as
 * --no-. */
static void print_switch(const sgfs_option_info *o) {
    char name[128], help[256], word[64] = "";
    bool on = strcmp(o->value, "true") == 0;
    if (o->choices[0] != '\0') snprintf(word, sizeof word, "[%s]", o->choices);
    snprintf(name, sizeof name, "%s%s", on ? "no-" : "", o->flag);
    snprintf(help, sizeof help, "%s%s", on ? "do not " : "", o->help);
    print_flag(name, word, help, "");
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

static void print_options(const cli_command *command) {
    static page p;
    collect(command, &p);
    for (int i = 0; i < p.count; i++) {
        if (p.again[i] || !is_first_of_section(&p, i)) continue;
        printf("\n%s:\n", p.title[i]);
        for (int k = i; k < p.count; k++) {
            if (p.again[k] || strcmp(p.title[k], p.title[i]) != 0) continue;
            if (strcmp(p.option[k].type, "flag") == 0) print_switch(&p.option[k]);
            else print_option(&p.option[k]);
        }
    }
}

/* The options that most people need, in groups: lines of "Title: flag flag flag". */
static void print_usual(const cli_command *command) {
    sgfs_option_info o;
    for (const char *group = command->usual; *group != '\0';) {
        int title = (int)strcspn(group, ":"), all = (int)strcspn(group, "\n");
        printf("\n%.*s:\n", title, group);
        for (const char *flag = group + title + 1; flag < group + all;) {
            flag += *flag == ' ';
            size_t n = strcspn(flag, " \n");
            for (int64_t i = 0; sgfs_option_at(i, &o); i++) {
                if (!cli_applies(command, &o) || strlen(o.flag) != n ||
                    strncmp(o.flag, flag, n) != 0)
                    continue;
                if (strcmp(o.type, "flag") == 0) print_switch(&o);
                else print_option(&o);
                break;
            }
            flag += n;
        }
        group += all + (group[all] == '\n');
    }
    printf("\n`sgfs help %s --help-all` has every option.\n", command->name);
}

void cli_help(const cli_command *command, bool all) {
    printf("sgfs %s: %s\n\nExamples:\n%s\nUsage: sgfs %s %s\n\n", command->name, command->brief,
           command->examples, command->name, command->usage);
    for (const cli_flag *f = command->flags; f->name != NULL; f++) {
        print_flag(f->name, f->value != NULL ? f->value : "", f->help, "");
    }
    if (cli_takes_config(command))
        print_flag("config", "FILE",
                   "options from a JSON file, or those of a run file; flags override them", "");
    print_flag("json", "", "machine-readable output", "");
    print_flag("quiet", "", "no progress, no notes; sample prints no table (warnings stay)", "");
    print_flag("verbose", "", "what is of use to those who know the method, too", "");
    if (command->usual != NULL && !all) print_usual(command);
    else print_options(command);
}
