/* SPDX-License-Identifier: MIT
 * cmd_list.c: sgfs list [models|samplers|fishers|schemes|readers|exports|backends]
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {{NULL, NULL, NULL}};
static const char *const stages[] = {"models",  "samplers", "fishers", "schemes",
                                     "readers", "exports",  "backends"};
enum { STAGES = sizeof stages / sizeof stages[0] };

static void list_text(const char *stage) {
    const char *name, *help;
    printf("%s\n", stage);
    for (int64_t i = 0; sgfs_list(stage, i, &name, &help); i++) printf("  %-10s %s\n", name, help);
}

/* Names hold no characters that JSON would escape; help texts no quotes. */
static void list_json(const char *stage, bool first) {
    const char *name, *help;
    printf("%s\"%s\": [", first ? "" : ", ", stage);
    for (int64_t i = 0; sgfs_list(stage, i, &name, &help); i++)
        printf("%s\"%s\"", i > 0 ? ", " : "", name);
    putchar(']');
}

static sgfs_status list(cli_args *args, sgfs_err *err) {
    bool found = args->words == 0, first = true;
    if (args->json) putchar('{');
    for (int i = 0; i < STAGES; i++) {
        if (args->words > 0 && strcmp(args->word[0], stages[i]) != 0) continue;
        found = true;
        if (args->json) list_json(stages[i], first);
        else list_text(stages[i]);
        first = false;
    }
    if (args->json) puts("}");
    if (found) return SGFS_OK;
    const char *near = sgfs_nearest(args->word[0], STAGES, stages);
    return cli_fail(err, SGFS_EUSAGE, "There is no list of \"%s\"%s%s%s.", args->word[0],
                    near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                    near != NULL ? "\"?" : "");
}

const cli_command cmd_list = {
    .name = "list",
    .brief = "models, samplers, matrices, readers and exports there are",
    .usage = "[models|samplers|fishers|schemes|readers|exports|backends]",
    .examples = "  sgfs list\n"
                "  sgfs list samplers\n",
    .stages = "",
    .flags = flags,
    .run = list,
};
