/* SPDX-License-Identifier: MIT
 * mpi_plugin.c: the one file that calls MPI, of whichever make it was built with. It becomes
 * libsgfs_mpi.so, which mpi.c loads where a run is asked to have several processes, so that nothing
 * else depends on MPI.
 *
 * Pieces are sent from where they lie, as a type with their stride. Calls come from one thread at a
 * time, and errors come back as numbers. MPI ends with the process, unless a call has failed: then
 * the others may never come, and whoever started the processes ends them.
 *
 * A process that was stopped, or whose machine is gone without a word, fails nowhere: all others
 * would wait for it without end or reason. So each process has a thread that answers whoever asks
 * for it, and one that waits for long has its thread ask.
 */
#define _GNU_SOURCE /* sets of cores */
#include "context/comm/mpi_plugin.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI is one for the process, and so is this. */
static MPI_Comm all = MPI_COMM_NULL;
static int *count, *place; /* of each process's pieces */
static sgfsi_mpi_world found;
static bool failed, ours, watchable;
static atomic_llong waits_since; /* milliseconds of the monotonic clock; 0: it does not wait */
static void end_watch(void);

static long long milliseconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1000 * (long long)now.tv_sec + now.tv_nsec / 1000000 + 1;
}

/* Around whatever needs the other processes. */
static void begin_to_wait(void) {
    atomic_store_explicit(&waits_since, milliseconds(), memory_order_relaxed);
}

static int stop_waiting(int code) {
    atomic_store_explicit(&waits_since, 0, memory_order_relaxed);
    return code;
}

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
    end_watch();
    if (!ours || failed || MPI_Finalized(&over) != MPI_SUCCESS || over) return;
    (void)MPI_Finalize();
}

/* Processes of one machine may see the same cores: each core is shared by those that see it. Who
 * has cores of its own, because the launcher gave it some, has all of these. */
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
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &has);
        ours = code == MPI_SUCCESS;
        if (ours) (void)atexit(end);
    } else if (code == MPI_SUCCESS) code = MPI_Query_thread(&has);
    if (code == MPI_SUCCESS && has < MPI_THREAD_FUNNELED) {
        snprintf(why, room, "it is not for programs with threads");
        return 1;
    }
    watchable = has >= MPI_THREAD_MULTIPLE;
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
        begin_to_wait();
        code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, place, spaced, all);
        code = stop_waiting(code);
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
        begin_to_wait();
        code = stop_waiting(MPI_Bcast((char *)data + at, n, MPI_BYTE, 0, all));
    }
    return explain(code, "MPI_Bcast", why, room);
}

/* ---- who does not answer --------------------------------------------------------------------- */

enum { QUESTION, ANSWER, KINDS };
/* Milliseconds between two looks, of waiting before anybody is asked, and for answers. */
enum { LOOK = 500, PATIENCE = 3000, REPLY = 2500 };

static MPI_Comm aside = MPI_COMM_NULL; /* for questions and answers */
static MPI_Request *sent[KINDS];       /* of each process: the last one of that kind */
static long long *heard;               /* when each of them answered last */
static long long asked, spoken;        /* 0: not yet; spoken: after so long, for this wait */
static sgfsi_mpi_silence tell;
static void *listener;
static pthread_t watcher;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended; /* of the monotonic clock */
static bool watching, over;  /* over: below the lock */

/* One that was sent, and never taken, is enough. */
static void send_to(int64_t process, int kind) {
    static char nothing;
    MPI_Request *last = &sent[kind][process];
    int done = 1;
    if (*last != MPI_REQUEST_NULL && MPI_Test(last, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return;
    if (done) (void)MPI_Isend(&nothing, 0, MPI_BYTE, (int)process, kind, aside, last);
}

/* All that has come: questions are answered. */
static void listen_to_all(long long now) {
    char nothing;
    int come = 1;
    while (come) {
        MPI_Status from;
        if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, aside, &come, &from) != MPI_SUCCESS) return;
        if (!come) return;
        if (MPI_Recv(&nothing, 0, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG, aside,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        if (from.MPI_TAG == QUESTION) send_to(from.MPI_SOURCE, ANSWER);
        else heard[from.MPI_SOURCE] = now;
    }
}

/* Who has not answered: the first, and how many. */
static int64_t find_silent(int64_t *silent) {
    int64_t first = -1;
    *silent = 0;
    for (int64_t k = found.size - 1; k >= 0; k--)
        if (k != found.rank && heard[k] < asked) first = k, ++*silent;
    return first;
}

/* Process 0 asks, and process 1 as well, which speaks where process 0 is the silent one. */
static void look(void) {
    long long now = milliseconds(), since = atomic_load(&waits_since);
    long long waited = since > 0 ? now - since : 0;
    listen_to_all(now);
    if (found.rank > 1) return;
    if (waited < PATIENCE) {
        if (spoken > 0) tell(listener, -1, 0, 0);
        asked = spoken = 0;
        return;
    }
    if (asked == 0) {
        asked = now;
        for (int64_t k = 0; k < found.size; k++)
            if (k != found.rank) send_to(k, QUESTION);
        return;
    }
    if (now - asked < REPLY) return;
    int64_t silent, first = find_silent(&silent);
    asked = 0;
    if (silent > 0 && (found.rank == 0 || first == 0) && waited >= 2 * spoken) {
        spoken = waited;
        tell(listener, first, silent, 1e-3 * (double)waited);
    } else if (silent == 0 && spoken > 0) {
        spoken = 0;
        tell(listener, -1, 0, 0);
    }
}

static void *watch_all(void *unused) {
    (void)unused;
    (void)pthread_mutex_lock(&lock);
    while (!over) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK * 1000000L;
        if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
        if (pthread_cond_timedwait(&ended, &lock, &until) != ETIMEDOUT) continue;
        (void)pthread_mutex_unlock(&lock);
        look();
        (void)pthread_mutex_lock(&lock);
    }
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

/* A process that was silent to the end has been waited for by all. */
static void wait_for_all(void) {
    begin_to_wait();
    if (!failed && stop_waiting(MPI_Barrier(all)) != MPI_SUCCESS) failed = true;
    end_watch();
    if (!failed && spoken > 0) tell(listener, -1, 0, 0);
    spoken = 0;
}

static void end_watch(void) {
    if (!watching) return;
    (void)pthread_mutex_lock(&lock);
    over = true;
    (void)pthread_cond_signal(&ended);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_join(watcher, NULL);
    watching = over = false;
}

static int watch(sgfsi_mpi_silence silence, void *user, char *why, size_t room) {
    if (!watchable || watching || found.size == 1) return 0;
    int code = aside == MPI_COMM_NULL ? MPI_Comm_dup(all, &aside) : MPI_SUCCESS;
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(aside, MPI_ERRORS_RETURN);
    if (code != MPI_SUCCESS) return explain(code, "MPI_Comm_dup", why, room);
    for (int kind = 0; kind < KINDS && code == 0; kind++) {
        if (sent[kind] == NULL) sent[kind] = malloc((size_t)found.size * sizeof *sent[kind]);
        if (sent[kind] == NULL) code = ENOMEM;
        for (int64_t k = 0; k < found.size && code == 0; k++) sent[kind][k] = MPI_REQUEST_NULL;
    }
    if (heard == NULL) heard = calloc((size_t)found.size, sizeof *heard);
    if (heard == NULL) code = ENOMEM;
    asked = spoken = 0;
    tell = silence;
    listener = user;
    pthread_condattr_t kind;
    (void)pthread_condattr_init(&kind);
    (void)pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ended, &kind);
    (void)pthread_condattr_destroy(&kind);
    sigset_t every, before; /* signals are for the others */
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    if (code == 0) code = pthread_create(&watcher, NULL, watch_all, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    watching = code == 0;
    if (code != 0) snprintf(why, room, "a thread: %s", strerror(code));
    return code;
}

__attribute__((visibility("default"))) extern const sgfsi_mpi sgfsi_mpi_plugin;
const sgfsi_mpi sgfsi_mpi_plugin = {.stamp = SGFSI_MPI_STAMP,
                                    .version = SGFS_VERSION_TEXT,
                                    .start = start,
                                    .gather = gather,
                                    .broadcast = broadcast,
                                    .watch = watch,
                                    .wait = wait_for_all};
