/* SPDX-License-Identifier: MIT
 * api.c: the public functions that are only a way in: names to kinds, tables to lists.
 */
#include <stdlib.h>
#include <string.h>

#include "api/layout.h"
#include "api/options.h"
#include "base/stop.h"
#include "base/threads.h"
#include "chain/resume.h"
#include "context/device/kernel.h"
#include "files/reader.h"
#include "jobs/newrows.h"
#include "jobs/report/report.h"
#include "model/user.h"
#include "sink/export.h"

const char *sgfs_version(void) {
    return SGFS_VERSION_TEXT;
}

void sgfs_text_free(char *text) {
    free(text);
}

sgfs_config *sgfs_config_new(void) {
    return sgfsi_config_new(sgfsi_option_sets);
}

sgfs_status sgfs_agree(const sgfs_config *cfg, sgfs_status status, int64_t *rank, int64_t *size,
                       sgfs_err *err) {
    const sgfsi_comm *comm = NULL;
    sgfs_err own;
    if (cfg == NULL) return sgfsi_fail_handle(err, "sgfs_agree");
    if (status != SGFS_OK && err != NULL && err->text[0] == '\0')
        sgfsi_fail(err, status, "A process has failed, and gives no reason.");
    sgfs_status opened = sgfsi_comm_open(&comm, cfg, status == SGFS_OK ? err : &own);
    if (opened != SGFS_OK) return status == SGFS_OK ? opened : status;
    if (rank != NULL) *rank = comm->rank;
    if (size != NULL) *size = comm->size;
    return sgfsi_comm_part(comm, status, err);
}

/* ---- models by name -------------------------------------------------------------------------- */

sgfs_model *sgfs_model_open(const char *name, const sgfs_data *data, const sgfs_config *cfg,
                            sgfs_err *err) {
    if (data == NULL && err != NULL && err->code != SGFS_OK) return NULL; /* says why already */
    if (name == NULL || cfg == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_model_open: a name and a config are needed."),
               NULL;
    }
    const sgfs_model_kind *kind = sgfsi_find_model(name, err);
    sgfs_model *m =
        kind != NULL && data != NULL ? sgfsi_model_create(kind, data, cfg, NULL, err) : NULL;
    return sgfsi_user_hand_over(kind, m);
}

sgfs_run *sgfs_run_open(const sgfs_model *model, const sgfs_config *cfg, sgfs_err *err) {
    if (model == NULL) return sgfsi_fail_handle(err, "sgfs_run_open"), NULL;
    if (cfg == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_run_open: a config is needed."), NULL;
    sgfs_run *run = sgfsi_run_open(model, cfg, NULL, err);
    /* What is tried while a run is opened, such as the search for an anchor, may be given up for
     * that wish, and the cause is then lost. */
    if (run == NULL && sgfsi_stop_asked(&sgfsi_config_log(cfg)->watcher->stop))
        sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early, while the run was opened: there is none.");
    const char *path = run != NULL ? sgfsi_config_text(run->cfg, "run.validate") : "";
    if (path[0] == '\0') return run;
    sgfsi_validation_rows aside;
    sgfs_status status = sgfsi_validation_rows_open(&aside, path, model, run->cfg, err);
    if (status == SGFS_OK) status = sgfsi_run_validate(run, aside, err);
    if (status == SGFS_OK) return run;
    sgfs_run_free(run);
    return NULL;
}

sgfs_run *sgfs_run_resume(const sgfs_model *model, const char *path, const sgfs_config *cfg,
                          sgfs_err *err) {
    sgfs_err own;
    sgfsi_resumption from;
    sgfs_run *run = NULL;
    if (err == NULL) err = &own;
    if (model == NULL || path == NULL || cfg == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_run_resume: a model, a path and a config are needed."),
               NULL;
    const sgfsi_comm *comm = model->ctx.comm;
    sgfsi_runfile *file = NULL;
    if (comm->rank == 0) file = sgfsi_runfile_resume(path, &from, err);
    bool failed = comm->rank == 0 && file == NULL;
    if (sgfsi_resume_share(comm, failed ? sgfsi_why(err) : SGFS_OK, &from, err) != SGFS_OK) {
        if (file != NULL) (void)sgfsi_runfile_close(file, NULL);
        return NULL;
    }
    sgfs_config *options = sgfsi_config_copy(cfg);
    sgfs_status status = options != NULL ? sgfsi_resume_options(options, from.run->header, err)
                                         : sgfsi_fail_memory(err, "the options");
    if (status == SGFS_OK) run = sgfs_run_open(model, options, err);
    status = run != NULL ? sgfsi_run_take_up(run, path, file, &from, err) : sgfsi_why(err);
    sgfs_config_free(options);
    sgfsi_resumption_free(&from);
    status = sgfsi_comm_agree(comm, status, err);
    if (status == SGFS_OK) return run;
    bool taken = run != NULL && (run->out.file != NULL || run->closed);
    if (file != NULL && !taken) (void)sgfsi_runfile_close(file, NULL);
    sgfs_run_free(run);
    return NULL;
}

/* ---- what there is --------------------------------------------------------------------------- */

/* Every stage table is a NULL-ended list of pointers to structs that begin with name and help. */
typedef struct named {
    const char *name, *help;
} named;

static bool list_samplers(int64_t index, const char **name, const char **help) {
    const sgfsi_sampler_name *s = sgfsi_sampler_names;
    for (; s->name != NULL && index > 0; s++) index--;
    if (s->name == NULL) return false;
    *name = s->name;
    *help = s->help;
    return true;
}

/* First how long idle threads spin, then the kernels, where others would be better. */
static bool list_environment(int64_t index, const char **name, const char **help) {
    const sgfs_device *dev = sgfsi_devices[0];
    const char *now = dev->ops->kernel != NULL ? dev->ops->kernel(dev) : NULL;
    const char *better = sgfsi_kernel_for(now, sgfsi_vectors_here());
    *name = index == 0 ? SGFSI_SPINS : index == 1 ? "OPENBLAS_CORETYPE" : SGFSI_KERNEL_WAS;
    *help = index == 0 ? SGFSI_SPINS_BEST : index == 1 ? better : now;
    return index == 0 || (better != NULL && index < 3);
}

bool sgfs_list(const char *stage, int64_t index, const char **name, const char **help) {
    const struct {
        const char *stage;
        const void *const *kinds;
    } tables[] = {{"models", (const void *const *)sgfsi_models},
                  {"fishers", (const void *const *)sgfsi_fishers},
                  {"schemes", (const void *const *)sgfsi_schemes},
                  {"readers", (const void *const *)sgfsi_readers},
                  {"devices", (const void *const *)sgfsi_devices},
                  {"exports", (const void *const *)sgfsi_exports},
                  {"pictures", (const void *const *)sgfsi_pictures}};
    if (index < 0 || stage == NULL || name == NULL || help == NULL) return false;
    if (strcmp(stage, "samplers") == 0) return list_samplers(index, name, help);
    if (strcmp(stage, "layout") == 0) return sgfsi_layout_at(index, name, help);
    if (strcmp(stage, "environment") == 0) return list_environment(index, name, help);
    const void *const *kinds = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(stage, tables[i].stage) == 0) kinds = tables[i].kinds;
    }
    for (; kinds != NULL && *kinds != NULL && index > 0; kinds++) index--;
    if (kinds == NULL || *kinds == NULL) return false;
    bool file = strcmp(stage, "exports") == 0; /* known by its suffix */
    *name = file ? ((const sgfs_export_kind *)*kinds)->suffix : ((const named *)*kinds)->name;
    *help = ((const named *)*kinds)->help;
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

bool sgfs_option_at(int64_t index, sgfs_option_info *info) {
    static const char *const type[] = {
        [SGFS_NUMBER] = "number", [SGFS_INTEGER] = "integer", [SGFS_FLAG] = "flag",
        [SGFS_TEXT] = "text",     [SGFS_FILE] = "text",       [SGFS_CHOICE] = "choice"};
    sgfsi_option_set set;
    for (int64_t i = 0; info != NULL && index >= 0 && sgfsi_option_sets(i, &set); i++) {
        for (const sgfs_option *r = set.rows; r->key != NULL; r++) {
            if (index-- > 0) continue;
            *info = (sgfs_option_info){.key = r->key,
                                       .flag = r->flag,
                                       .type = type[r->type],
                                       .value = r->value,
                                       .min = r->min,
                                       .max = r->max,
                                       .choices = r->choices != NULL ? r->choices : "",
                                       .help = r->help,
                                       .stage = set.stage,
                                       .kind = set.kind};
            return true;
        }
    }
    return false;
}
