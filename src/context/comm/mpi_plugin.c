/* SPDX-License-Identifier: MIT
 * mpi_plugin.c: the one file that calls MPI, of whichever make it was built with. It becomes
 * libsgfs_mpi.so, which mpi.c loads where a run is asked to have several processes, so that nothing
 * else depends on MPI.
 *
 * Pieces are sent from where they lie, as a type with their stride. Calls come from one thread at a
 * time, and errors come back as numbers. MPI ends with the process, unless a call has failed: then
 * the others may never come, and whoever started the processes ends them.
 */
#define _GNU_SOURCE /* sets of cores */
#include "context/comm/mpi_plugin.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI is one for the process, and so is this. */
static MPI_Comm all = MPI_COMM_NULL;
static int *count, *place; /* of each process's pieces */
static sgfsi_mpi_world found;
static bool failed, ours;

static int explain(int code, const char *what, char *why, size_t room) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return 0;
    failed = true;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
    snprintf(why, room, "%s: %.200s", what, text[0] != '\0' ? text : "no reason is known");
    return code;
}

/* Whoever began it ends it. */
static void end(void) {
    int over = 0;
    if (!ours || failed || MPI_Finalized(&over) != MPI_SUCCESS || over) return;
    (void)MPI_Finalize();
}

/* Processes of one machine may see the same cores: each core is shared by those that see it. Who has
 * cores of its own, because the launcher gave it some, has all of these. */
static double share_cores(const cpu_set_t *of, int processes, int me) {
    double mine = 0, seen = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int users = 0;
        if (!CPU_ISSET(cpu, &of[me])) continue;
        for (int k = 0; k < processes; k++) users += CPU_ISSET(cpu, &of[k]) != 0;
        mine += 1.0 / users;
        seen++;
    }
    return seen > 0 ? mine / seen : 1.0 / processes; /* more cores than a set has room for */
}

static int find_cores(void) {
    MPI_Comm near;
    cpu_set_t own, *of = NULL;
    int me = 0, processes = 1, bytes = (int)sizeof own;
    int code = MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Comm_rank(near, &me);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(near, &processes);
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
    if (code == MPI_SUCCESS) of = calloc((size_t)processes, sizeof *of);
    if (of == NULL && code == MPI_SUCCESS) code = MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS) code = MPI_Allgather(&own, bytes, MPI_BYTE, of, bytes, MPI_BYTE, near);
    if (code == MPI_SUCCESS) found.cores = share_cores(of, processes, me);
    free(of);
    (void)MPI_Comm_free(&near);
    return code;
}

static int start(sgfsi_mpi_world *world, char *why, size_t room) {
    int begun = 0, has = 0, rank = 0, size = 1;
    if (all != MPI_COMM_NULL) return *world = found, 0;
    int code = MPI_Initialized(&begun);
    if (code == MPI_SUCCESS && !begun) {
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &has);
        ours = code == MPI_SUCCESS;
        if (ours) (void)atexit(end);
    } else if (code == MPI_SUCCESS) code = MPI_Query_thread(&has);
    if (code == MPI_SUCCESS && has < MPI_THREAD_FUNNELED) {
        snprintf(why, room, "it is not for programs with threads");
        return 1;
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &all);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(all, &rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(all, &size);
    if (code != MPI_SUCCESS) return explain(code, "MPI_Init_thread", why, room);
    count = calloc((size_t)size, sizeof *count);
    place = calloc((size_t)size, sizeof *place);
    if (count == NULL || place == NULL) {
        snprintf(why, room, "out of memory");
        return failed = true, 1;
    }
    found = (sgfsi_mpi_world){rank, size, 1};
    code = find_cores();
    *world = found;
    return explain(code, "MPI_Comm_split_type", why, room);
}

static int gather(const int64_t *first, int64_t bytes, int64_t stride, void *data, char *why,
                  size_t room) {
    MPI_Datatype piece, spaced;
    bool words = bytes % 8 == 0;
    int64_t length = words ? bytes / 8 : bytes;
    if (first[found.size] > INT_MAX || length > INT_MAX) {
        snprintf(why, room, "too much at once");
        return failed = true, 1;
    }
    for (int64_t r = 0; r < found.size; r++) {
        count[r] = (int)(first[r + 1] - first[r]);
        place[r] = (int)first[r];
    }
    int code = MPI_Type_contiguous((int)length, words ? MPI_INT64_T : MPI_BYTE, &piece);
    if (code != MPI_SUCCESS) return explain(code, "MPI_Type_contiguous", why, room);
    code = MPI_Type_create_resized(piece, 0, (MPI_Aint)stride, &spaced);
    if (code == MPI_SUCCESS) code = MPI_Type_commit(&spaced);
    if (code == MPI_SUCCESS) {
        code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, place, spaced, all);
        (void)MPI_Type_free(&spaced);
    }
    (void)MPI_Type_free(&piece);
    return explain(code, "MPI_Allgatherv", why, room);
}

static int broadcast(int64_t bytes, void *data, char *why, size_t room) {
    enum { MOST = 1 << 30 };
    int code = MPI_SUCCESS;
    for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += MOST) {
        int n = bytes - at < MOST ? (int)(bytes - at) : MOST;
        code = MPI_Bcast((char *)data + at, n, MPI_BYTE, 0, all);
    }
    return explain(code, "MPI_Bcast", why, room);
}

static void wait_for_all(void) {
    if (!failed && MPI_Barrier(all) != MPI_SUCCESS) failed = true;
}

__attribute__((visibility("default"))) extern const sgfsi_mpi sgfsi_mpi_plugin;
const sgfsi_mpi sgfsi_mpi_plugin = {.stamp = SGFSI_MPI_STAMP,
                                    .version = SGFS_VERSION_TEXT,
                                    .start = start,
                                    .gather = gather,
                                    .broadcast = broadcast,
                                    .wait = wait_for_all};
