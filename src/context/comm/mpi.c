/* SPDX-License-Identifier: MIT
 * mpi.c: processes that mpirun or srun has started, by MPI. This file calls none of it: what does
 * is a plug-in (mpi_plugin.c), which is looked for beside the library and loaded for --mpi alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/library.h"
#include "context/comm/comm.h"
#include "context/comm/mpi_plugin.h"

static const char file[] = "libsgfs_mpi.so";

typedef struct world {
    const sgfsi_mpi *mpi;
    int64_t *first; /* size + 1 */
    int64_t size;
    sgfsi_log log; /* where processes that do not answer are told of, also by another than rank 0 */
} world;

static bool is_used(const sgfs_config *cfg) {
    return sgfsi_config_row(cfg, "run.mpi") != NULL && sgfsi_config_flag(cfg, "run.mpi");
}

/* One that was stopped goes on where it is woken, so that nothing is ended here. */
static void tell_silence(void *user, int64_t first, int64_t silent, double seconds) {
    const world *w = user;
    char more[60] = "";
    if (first < 0) {
        sgfsi_say(&w->log, SGFS_WARNING, "All processes answer again, and the run goes on.");
        return;
    }
    if (silent > 1) snprintf(more, sizeof more, ", like %lld others,", (long long)silent - 1);
    sgfsi_say(&w->log, SGFS_WARNING,
              "Rank %lld of %lld%s does not answer, and the others have waited for it for %.0f s: "
              "its process was stopped, or its machine is lost. The run goes on when it answers; "
              "Ctrl-C ends it, and keeps what was saved.",
              (long long)first, (long long)w->size, more, seconds);
}

static sgfs_status open(sgfsi_comm *c, const sgfs_config *cfg, sgfs_err *err) {
    char path[4000], why[300] = "";
    sgfsi_mpi_world found;
    if (!sgfsi_library_plugin(file, path, sizeof path))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--mpi needs %s, which this build of sgfs does not have: `make mpi` "
                          "installs Open MPI and builds it (docs/cluster.md).",
                          file);
    sgfsi_library *library = sgfsi_library_open(path, err);
    if (library == NULL) return sgfsi_why(err);
    const sgfsi_mpi *mpi = sgfsi_library_find(library, SGFSI_MPI_SYMBOL);
    if (mpi == NULL || mpi->stamp != SGFSI_MPI_STAMP ||
        strcmp(mpi->version, SGFS_VERSION_TEXT) != 0) {
        sgfsi_library_close(library);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.300s: belongs to another version of sgfs than " SGFS_VERSION_TEXT
                          ": build both anew (`make mpi`).",
                          path);
    }
    /* MPI cannot be unloaded: the library stays open. */
    if (mpi->start(&found, why, sizeof why) != 0)
        return sgfsi_fail(err, SGFS_EIO, "MPI cannot begin: %s.", why);
    world *w = calloc(1, sizeof *w);
    if (w != NULL) w->first = calloc((size_t)found.size + 1, sizeof *w->first);
    if (w == NULL || w->first == NULL) {
        free(w);
        return sgfsi_fail_memory(err, "the communicator");
    }
    w->mpi = mpi;
    w->size = found.size;
    w->log = *sgfsi_config_log(cfg);
    if (mpi->watch(tell_silence, w, why, sizeof why) != 0) {
        free(w->first);
        free(w);
        return sgfsi_fail(err, SGFS_EIO, "MPI cannot begin: %s.", why);
    }
    c->rank = found.rank;
    c->size = found.size;
    c->cores = found.cores;
    c->state = w;
    return SGFS_OK;
}

static void close_world(sgfsi_comm *c) {
    world *w = c->state;
    w->mpi->wait();
    free(w->first);
    free(w);
}

static sgfs_status lose(const char *why, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EIO, "The processes of this run have lost each other: %s.", why);
}

static sgfs_status gather(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err) {
    world *w = c->state;
    char why[300] = "";
    for (int64_t r = 0; r <= c->size; r++) w->first[r] = parts * r / c->size;
    int code = w->mpi->gather(w->first, bytes, stride, data, why, sizeof why);
    return code == 0 ? SGFS_OK : lose(why, err);
}

static sgfs_status broadcast(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err) {
    const world *w = c->state;
    char why[300] = "";
    int code = w->mpi->broadcast(bytes, data, why, sizeof why);
    return code == 0 ? SGFS_OK : lose(why, err);
}

static const sgfsi_comm_ops ops = {.is_used = is_used,
                                   .open = open,
                                   .close = close_world,
                                   .gather = gather,
                                   .broadcast = broadcast};

const sgfsi_comm sgfs_comm_mpi = {.name = "mpi",
                                  .help = "processes started by mpirun or srun",
                                  .ops = &ops,
                                  .rank = 0,
                                  .size = 1};
