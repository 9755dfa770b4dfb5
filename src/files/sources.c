/* SPDX-License-Identifier: MIT
 * sources.c: which reader each of several files has, and which options it is to see.
 *
 * Files of several kinds may be one data set, so --dense, for one, goes to the libsvm files among
 * them and to no other; what was said of a run's files may be true of none of the new ones.
 * --labels names as many files as there are IDX files of rows.
 */
#include "files/sources.h"

#include <stdlib.h>
#include <string.h>

#include "files/join_words.h"
#include "files/packed/packed.h"

sgfsi_read_options sgfsi_sources_options(const sgfsi_sources *s, int64_t i) {
    sgfsi_read_options o = s->options;
    if (s->idx) o.labels = s->label[i];
    if ((s->libsvm || o.run != NULL) && !s->reader[i]->numbered) {
        o.columns = -1;
        o.zero_based = o.dense = false;
    }
    return o;
}

sgfs_status sgfsi_sources_open(sgfsi_sources *s, int64_t count, const char *const *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    *s = (sgfsi_sources){.count = count, .path = path, .options = *options};
    s->reader = calloc((size_t)count, sizeof(void *));
    s->label = calloc((size_t)count, sizeof *s->label);
    sgfs_status status = SGFS_OK;
    if (s->reader == NULL || s->label == NULL) status = sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; status == SGFS_OK && i < count; i++) {
        s->label[i] = "";
        s->reader[i] = sgfsi_table_reader(path[i], err);
        if (s->reader[i] == NULL) {
            status = sgfsi_why(err);
            break;
        }
        s->idx = s->idx || s->reader[i]->labels;
        s->libsvm = s->libsvm || s->reader[i]->numbered;
    }
    if (status == SGFS_OK && s->idx && options->labels != NULL && options->labels[0] != '\0') {
        int64_t wanted = options->idx_before;
        status = sgfsi_files_open(&s->labels, options->labels, options->log, err);
        for (int64_t i = 0; i < count && status == SGFS_OK; i++) {
            if (!s->reader[i]->labels) continue;
            if (wanted < s->labels.count) s->label[i] = s->labels.path[wanted];
            wanted++;
        }
        wanted += options->idx_behind;
        if (status == SGFS_OK && wanted != s->labels.count)
            status = sgfsi_fail(err, SGFS_EUSAGE,
                                "--labels names %lld file%s (%.200s), and there are %lld of rows: "
                                "each needs one, in the same order.",
                                (long long)s->labels.count, s->labels.count == 1 ? "" : "s",
                                s->labels.shown, (long long)wanted);
    }
    for (int64_t i = 0; status == SGFS_OK && i < count; i++) {
        sgfsi_read_options seen = sgfsi_sources_options(s, i);
        status = sgfsi_reader_check(s->reader[i], path[i], &seen, err);
    }
    bool packed = count > 1 && options->run == NULL;
    for (int64_t i = 0; status == SGFS_OK && i < count; i++)
        packed = packed && s->reader[i] == &sgfs_reader_packed;
    if (status == SGFS_OK && packed)
        status = sgfsi_joint_open(&s->joint, count, path, options, err);
    s->options.joint = s->joint;
    if (status == SGFS_OK) return SGFS_OK;
    sgfsi_files_tidy(&s->labels, err);
    sgfsi_sources_close(s);
    return status;
}

void sgfsi_sources_close(sgfsi_sources *s) {
    sgfsi_files_close(&s->labels);
    sgfsi_joint_free(s->joint);
    free(s->reader);
    free(s->label);
    memset(s, 0, sizeof *s);
}
