/* SPDX-License-Identifier: MIT
 * cmd_list.c: sgfs list [models|samplers|fishers|schemes|readers|exports|pictures|devices|options]
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli.h"

static const cli_flag flags[] = {{NULL, NULL, NULL}};
static const char *const stages[] = {"models",  "samplers", "fishers",  "schemes", "readers",
                                     "exports", "pictures", "devices", "options"};
enum { STAGES = sizeof stages / sizeof stages[0] };

/* Keys for --config and for sgfs_config_set, each once. */
static bool is_first(const sgfs_option_info *o, int64_t index) {
    sgfs_option_info other;
    for (int64_t i = 0; i < index && sgfs_option_at(i, &other); i++) {
        if (strcmp(other.key, o->key) == 0) return false;
    }
    return true;
}

static void list_options(bool json) {
    sgfs_option_info o;
    int shown = 0;
    for (int64_t i = 0; sgfs_option_at(i, &o); i++) {
        if (!is_first(&o, i)) continue;
        if (json) printf("%s\"%s\"", shown++ > 0 ? ", " : "", o.key);
        else printf("  %-26s --%-18s %s\n", o.key, o.flag, o.value[0] != '\0' ? o.value : "(none)");
    }
}

static void list_text(const char *stage) {
    const char *name, *help;
    if (strcmp(stage, "options") == 0) {
        printf("options: key for --config and for C, flag, default\n");
        list_options(false);
        return;
    }
    printf("%s\n", stage);
    for (int64_t i = 0; sgfs_list(stage, i, &name, &help); i++) printf("  %-10s %s\n", name, help);
    if (strcmp(stage, "models") == 0)
        printf("  %-10s %s\n", "./FILE.so", "a model of your own: a shared object (sgfs.h)");
}

/* Names hold no characters that JSON would escape; help texts no quotes. */
static void list_json(const char *stage, bool first) {
    const char *name, *help;
    printf("%s\"%s\": [", first ? "" : ", ", stage);
    if (strcmp(stage, "options") == 0) list_options(true);
    for (int64_t i = 0; sgfs_list(stage, i, &name, &help); i++)
        printf("%s\"%s\"", i > 0 ? ", " : "", name);
    putchar(']');
}

static bool is_stage(const char *word) {
    for (int i = 0; i < STAGES; i++) {
        if (strcmp(word, stages[i]) == 0) return true;
    }
    return false;
}

static sgfs_status unknown_stage(const char *word, sgfs_err *err) {
    const char *near = sgfsi_nearest(word, STAGES, stages);
    if (near == NULL) {
        return cli_fail(err, SGFS_EUSAGE, "There is no list of \"%s\"; `sgfs help list` shows all.",
                        word);
    }
    return cli_fail(err, SGFS_EUSAGE, "There is no list of \"%s\"; did you mean \"%s\"?", word,
                    near);
}

static sgfs_status list(cli_args *args, sgfs_err *err) {
    const char *wanted = args->words > 0 ? args->word[0] : NULL;
    if (args->words > 1) return cli_fail(err, SGFS_EUSAGE, "Name one list, or none for all.");
    if (wanted != NULL && !is_stage(wanted)) return unknown_stage(wanted, err);
    bool first = true;
    if (args->json) putchar('{');
    for (int i = 0; i < STAGES; i++) {
        bool long_one = strcmp(stages[i], "options") == 0; /* only when asked for */
        if (wanted != NULL ? strcmp(wanted, stages[i]) != 0 : long_one) continue;
        if (args->json) list_json(stages[i], first);
        else list_text(stages[i]);
        first = false;
    }
    if (args->json) puts("}");
    return SGFS_OK;
}

const cli_command cmd_list = {
    .name = "list",
    .brief = "models, samplers, matrices, readers and exports there are",
    .usage = "[models|samplers|fishers|schemes|readers|exports|pictures|devices|options]",
    .examples = "  sgfs list\n"
                "  sgfs list samplers\n"
                "  sgfs list options        # keys for --config\n",
    .stages = "",
    .flags = flags,
    .run = list,
};
