/* SPDX-License-Identifier: MIT
 * config_load.c: options from a file: a config (base/config_file.c), or the header of a run.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files/files.h"
#include "files/sketch/sketch.h"
#include "jobs/reopen.h"
#include "sink/runfile.h"

/* What is wrong with it is wrong with the run file, whose options were checked once. */
static sgfs_status load_run(sgfs_config *cfg, const char *path, sgfs_err *err) {
    sgfs_draws *run = sgfsi_runfile_head(path, err);
    if (run == NULL) return sgfsi_why(err);
    sgfs_status status = SGFS_OK;
    if (!sgfsi_json_is_object(sgfsi_json_get(run->header, "config"))) {
        status = sgfsi_fail(err, SGFS_ERUNFILE,
                            "%.300s: the run does not say what its options were: another program "
                            "made it.",
                            path);
    }
    if (status == SGFS_OK) status = sgfsi_config_take(cfg, run->header, path, err);
    const char *version = sgfsi_json_get_text(run->header, "sgfs_version", "?");
    if (status == SGFS_EUSAGE && strcmp(version, SGFS_VERSION_TEXT) != 0)
        sgfsi_append(err->text, sizeof err->text,
                     " The run was made by sgfs %.40s, and this is sgfs %s.", version,
                     SGFS_VERSION_TEXT);
    if (status == SGFS_EUSAGE) status = err->code = SGFS_ERUNFILE;
    char *rows = status == SGFS_OK ? sgfsi_reopen_path(run->header) : NULL;
    char *model = rows != NULL ? strdup(sgfsi_json_get_text(run->header, "model", "")) : NULL;
    sgfs_draws_free(run);
    if (model != NULL) return sgfsi_config_keep_origin(cfg, rows, model), SGFS_OK;
    free(rows);
    return status != SGFS_OK ? status : sgfsi_fail_memory(err, path);
}

/* The options of a sketch, its model, and that it is the data; name: as for sgfs_data_open. */
static sgfs_status load_sketch(sgfs_config *cfg, const char *first, const char *name,
                               sgfs_err *err) {
    sgfsi_sketch s;
    sgfs_status status = sgfsi_sketch_read(&s, first, err);
    if (status == SGFS_OK) status = sgfsi_config_take(cfg, s.head, first, err);
    if (status == SGFS_OK) {
        char *rows = strdup(name), *model = strdup(s.elsewhere.model);
        if (rows != NULL && model != NULL) sgfsi_config_keep_origin(cfg, rows, model);
        else {
            free(rows);
            free(model);
            status = sgfsi_fail_memory(err, first);
        }
    }
    sgfsi_sketch_close(&s);
    return status;
}

/* *is: the files behind a name are those of a sketch. */
static sgfs_status try_sketch(sgfs_config *cfg, const char *name, bool *is, sgfs_err *err) {
    const sgfsi_log silent = {.fn = NULL};
    sgfsi_files files;
    struct stat st;
    *is = false;
    bool there = stat(name, &st) == 0; /* else a pattern, or several names */
    if ((there && !S_ISREG(st.st_mode)) || strcmp(name, "-") == 0) return SGFS_OK;
    sgfs_err why;
    sgfs_status status = sgfsi_files_open(&files, name, &silent, &why);
    if (status == SGFS_ENOMEM || (status == SGFS_EIO && there))
        return sgfsi_fail(err, status, "%s", why.text);
    if (status != SGFS_OK) return SGFS_OK; /* nothing that could be a sketch */
    status = sgfsi_sketch_is(files.path[0], is, err);
    if (status == SGFS_OK && *is) status = load_sketch(cfg, files.path[0], name, err);
    sgfsi_files_close(&files);
    return status;
}

sgfs_status sgfs_config_load(sgfs_config *cfg, const char *path, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    if (cfg == NULL || path == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_config_load: a config and a path are needed.");
    }
    bool run = false, sketch = false;
    sgfs_status status = try_sketch(cfg, path, &sketch, err);
    if (status != SGFS_OK || sketch) return status;
    status = sgfsi_runfile_is(path, &run, err);
    if (status != SGFS_OK) return status;
    return run ? load_run(cfg, path, err) : sgfsi_config_load_json(cfg, path, err);
}
