/* SPDX-License-Identifier: MIT
 * man.c: the pages of man, sgfs.1 and one for each command, from what the help pages are made of.
 * `make install` keeps them (cmake/pages.cmake); `sgfs help sample --man | man -l -` shows one.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Text that roff leaves as it is. A line that begins with a dot or a quote would be a request. */
static void put(const char *text) {
    bool begins = true;
    for (const char *c = text; *c != '\0'; begins = *c++ == '\n') {
        if (begins && (*c == '.' || *c == '\'')) fputs("\\&", stdout);
        if (*c == '\\') fputs("\\e", stdout);
        else if (*c == '-' || *c == '\'' || *c == '`' || *c == '^' || *c == '~') {
            static const char plain[] = "-'`^~", *const roff[] = {"\\-", "\\(aq", "\\(ga", "\\(ha",
                                                                  "\\(ti"};
            fputs(roff[strchr(plain, *c) - plain], stdout);
        } else putchar(*c);
    }
}

/* Words in lines of the source that are not long; man fills its own with them. A sentence ends its
 * line. */
static void put_words(const char *text) {
    enum { LINE = 64 };
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    size_t used = 0;
    for (char *rest = copy, *word; (word = strtok_r(rest, " \n", &rest)) != NULL;) {
        bool full = used + strlen(word) > LINE;
        if (used > 0) putchar(full ? '\n' : ' ');
        put(word);
        used = (full ? 0 : used) + strlen(word) + 1;
        if (word[strlen(word) - 1] == '.' && *rest != '\0') used = (size_t)LINE;
    }
    putchar('\n');
}

static void put_section(const char *title) {
    printf(".SS ");
    put(title);
    putchar('\n');
}

static void put_flag(const cli_flag *flag, void *user) {
    (void)user;
    printf(".TP\n\\fB");
    put("--");
    put(flag->name);
    printf("\\fR");
    if (flag->value != NULL) {
        printf(" \\fI");
        put(flag->value);
        printf("\\fR");
    }
    putchar('\n');
    put_words(flag->help);
}

/* Lines that begin with a blank stay as they are; others are paragraphs. */
static void put_examples(const char *text) {
    bool filled = true;
    char line[256];
    for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        bool kept = *text == ' ', empty = n == 0;
        if (!empty && kept == filled) printf("%s\n", kept ? ".nf" : ".fi");
        if (!empty) filled = !kept;
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        if (empty || kept) {
            put(line);
            printf("%s\n", empty ? ".sp" : "");
        } else put_words(line);
    }
    if (!filled) printf(".fi\n");
}

static void begin(const char *name, const char *brief) {
    char upper[64] = "";
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    printf(".TH %s 1 \"\" \"sgfs %s\" \"sgfs\"\n.SH NAME\n", upper, sgfs_version());
    put(name);
    printf(" \\- ");
    put(brief);
    printf("\n.SH SYNOPSIS\n");
}

static void put_program(void) {
    begin("sgfs", "draws from Bayesian posteriors, touching few rows");
    printf("\\fBsgfs\\fR \\fICOMMAND\\fR [words and flags of the command]\n.SH DESCRIPTION\n");
    put_words("Every command has a page of its own: sgfs-sample(1) for `sgfs sample`. `sgfs help "
              "COMMAND` shows the same in a terminal. Results go to stdout, messages to stderr.");
    printf(".SH COMMANDS\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        printf(".TP\n\\fB");
        put((*c)->name);
        printf("\\fR\n");
        put_words((*c)->brief);
    }
    printf(".SH EXAMPLES\n");
    put_examples(
        "  sgfs simulate logistic --rows 200000 --dim 20 --out data.npy --truth truth.json\n"
        "  sgfs sample logistic --data data.npy --out fit.run\n"
        "  sgfs compare fit.run --reference truth.json\n");
    printf(".SH EXIT STATUS\n");
    put_words(CLI_EXIT_CODES);
}

void cli_man(const cli_command *command) {
    if (command == NULL) {
        put_program();
    } else {
        static const cli_sheet sheet = {put_section, put_flag, NULL};
        char name[64];
        snprintf(name, sizeof name, "sgfs-%s", command->name);
        begin(name, command->brief);
        printf("\\fBsgfs ");
        put(command->name);
        printf("\\fR ");
        put_words(command->usage);
        printf(".SH EXAMPLES\n");
        put_examples(command->examples);
        printf(".SH OPTIONS\n");
        cli_each_flag(command, true, &sheet);
    }
    printf(".SH SEE ALSO\n");
    if (command != NULL) printf("\\fBsgfs\\fR(1)");
    for (const cli_command *const *c = cli_commands; command == NULL && *c != NULL; c++) {
        printf("%s\\fBsgfs\\-", c == cli_commands ? "" : ",\n");
        put((*c)->name);
        printf("\\fR(1)");
    }
    putchar('\n');
}
