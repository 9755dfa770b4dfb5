/* SPDX-License-Identifier: MIT
 * cgroup.c: the groups of this process, of version 2 (one hierarchy) and version 1 (one for each
 * controller), and of all groups above them.
 */
#include "base/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

enum { LONGEST_PATH = 4096 };

bool sgfsi_cgroup_line(const char *folder, const char *name, char line[64]) {
    char path[LONGEST_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return sgfsi_io_small(path, line, 64);
}

/* A container may see its own group as the topmost one while it is called by its long name:
 * folders that do not exist have no limit. */
static double least_upwards(const char *top, const char *group,
                            double (*limit_of)(const char *folder)) {
    char folder[LONGEST_PATH];
    size_t end = strlen(top);
    if (snprintf(folder, sizeof folder, "%s%s", top, group) < 0) return INFINITY;
    double least = limit_of(folder);
    for (char *cut = strrchr(folder + end, '/'); cut != NULL; cut = strrchr(folder + end, '/')) {
        *cut = '\0';
        least = fmin(least, limit_of(folder));
    }
    return least;
}

/* Is the word one of "cpu,cpuacct"? */
static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (; list != NULL; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0')) return true;
    }
    return false;
}

double sgfsi_cgroup_least(const char *root, const char *controller,
                          double (*limit_of)(const char *folder)) {
    char top[LONGEST_PATH / 2], text[2 * LONGEST_PATH];
    snprintf(top, sizeof top, "%s/proc/self/cgroup", root);
    double least = INFINITY;
    (void)sgfsi_io_small(top, text, sizeof text);
    for (char *line = text, *next = text; *line != '\0'; line = next) { /* "4:cpu,cpuacct:/a/b" */
        next += strcspn(line, "\n");
        if (*next == '\n') *next++ = '\0';
        char *kinds = strchr(line, ':'), *group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = '\0';
        bool second = kinds[1] == '\0';
        if (!second && !has_word(kinds + 1, controller)) continue;
        snprintf(top, sizeof top, "%s/sys/fs/cgroup%s%s", root, second ? "" : "/",
                 second ? "" : controller);
        least = fmin(least, least_upwards(top, group, limit_of));
    }
    return least;
}
