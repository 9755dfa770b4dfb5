/* SPDX-License-Identifier: MIT
 * complete.c: the words a shell offers where its user presses Tab. The shells' own files
 * (cli/completion) ask the program, so that they know every flag, choice, model and picture there
 * is, and need no change when one comes.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

typedef struct search {
    const char *begins; /* what has been typed of the word */
    const char *before; /* in front of every answer: "--sampler=" */
    const char *flag;   /* the flag whose value is typed, or NULL: flags themselves are shown */
    int found;
    bool any;         /* any word would do: a name of a file is one */
    char value[256];  /* what the flag takes, as help shows it; "": nothing */
    char shown[8192]; /* " --data --out ...": kinds have options of one name */
} search;

static void offer(search *s, const char *word, const char *help) {
    if (strncmp(word, s->begins, strlen(s->begins)) != 0) return;
    printf("%s%s\t%.*s\n", s->before, word, (int)strcspn(help, "\n"), help);
    s->found++;
}

static void offer_list(search *s, const char *stage) {
    const char *name, *help;
    for (int64_t i = 0; sgfs_list(stage, i, &name, &help); i++) offer(s, name, help);
}

static void offer_choices(search *s, const char *choices) {
    char word[64];
    for (const char *at = choices; *at != '\0'; at += strspn(at, "|[]")) {
        size_t n = strcspn(at, "|[]");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (n > 0) offer(s, word, "");
        at += n;
    }
}

static void no_section(const char *title) {
    (void)title;
}

static void take_flag(const cli_flag *flag, void *user) {
    search *s = user;
    char word[128], apart[132];
    snprintf(word, sizeof word, "--%s", flag->name);
    snprintf(apart, sizeof apart, " %s ", word);
    if (s->flag != NULL && strcmp(s->flag, word) == 0)
        snprintf(s->value, sizeof s->value, "%s", flag->value != NULL ? flag->value : "");
    size_t used = strlen(s->shown);
    if (s->flag != NULL || strstr(s->shown, apart) != NULL) return;
    if (used + sizeof apart < sizeof s->shown) strcpy(s->shown + used, apart);
    offer(s, word, flag->help);
}

static void each_flag(const cli_command *command, search *s) {
    cli_each_flag(command, true, &(cli_sheet){no_section, take_flag, s});
}

/* The choices of a flag; what there is of samplers, for --sampler; numbers, of which none is
 * offered; or anything. */
static void offer_value(search *s) {
    char stage[64];
    if (strchr(s->value, '|') != NULL) {
        offer_choices(s, s->value);
        return;
    }
    snprintf(stage, sizeof stage, "%.40ss", s->flag + 2);
    offer_list(s, stage);
    s->any = s->found == 0 && strlen(s->value) > 1;
}

/* A word of the command's own, of which its usage says what it is. */
static void offer_word(const cli_command *command, int words, char **word, search *s) {
    bool modelled = false;
    char usage[256];
    for (int i = 1; i < words - 1; i++) modelled = modelled || cli_is_model(word[i]);
    size_t n = strcspn(command->usage, " ");
    snprintf(usage, sizeof usage, "%.*s", (int)n, command->usage);
    if (strcmp(usage, "MODEL") == 0 && !modelled) offer_list(s, "models");
    else if (strchr(usage, '|') != NULL) offer_choices(s, usage);
    else if (words > 2 && strstr(command->usage, " KIND") != NULL) offer_list(s, "pictures");
    s->any = s->found == 0 && strchr(usage, '|') == NULL;
}

bool cli_complete(int words, char **word) {
    static search s; /* of one process, which shows one answer */
    if (words < 1) return false;
    char *last = word[words - 1], *equals = strchr(last, '=');
    const cli_command *command = words > 1 ? cli_find_command(word[0]) : NULL;
    s.begins = last;
    s.before = "";
    if (words == 1 || (words == 2 && strcmp(word[0], "help") == 0)) {
        for (const cli_command *const *c = cli_commands; *c != NULL; c++)
            offer(&s, (*c)->name, (*c)->brief);
        if (words == 1) offer(&s, "help", "examples and options of a command");
        return false;
    }
    if (command == NULL) return true;
    if (strncmp(last, "--", 2) == 0 && equals != NULL) {
        char before[128];
        snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - last), last);
        s.begins = equals + 1;
        s.before = before;
        *equals = '\0';
        s.flag = last;
        each_flag(command, &s);
        offer_value(&s);
        return s.any;
    }
    if (strncmp(last, "-", 1) == 0) return each_flag(command, &s), false;
    s.flag = word[words - 2];
    each_flag(command, &s);
    if (s.value[0] != '\0' && s.value[0] != '[') offer_value(&s);
    else offer_word(command, words, word, &s);
    return s.any;
}
