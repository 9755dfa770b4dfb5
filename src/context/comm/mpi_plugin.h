/* SPDX-License-Identifier: MIT
 * mpi_plugin.h: what mpi.c, a part of the library, and mpi_plugin.c, a shared object of its own,
 * know of each other. Neither needs a symbol of the other's: the library finds one struct by its
 * name, and compares who made it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Raised when this struct or what its functions do changes. */
#define SGFSI_MPI_STAMP  3
#define SGFSI_MPI_SYMBOL "sgfsi_mpi_plugin"

typedef struct sgfsi_mpi_world {
    int64_t rank, size;
    double cores; /* the share of the cores this process sees that is its own */
} sgfsi_mpi_world;

/* So many processes, `first` the first of them, have not answered while this one has waited for so
 * many seconds; first < 0: they answer again. Called by a thread of the plug-in's own. */
typedef void (*sgfsi_mpi_silence)(void *user, int64_t first, int64_t silent, double seconds);

/* Functions return 0, or another number with a reason in why, of `room` bytes. */
typedef struct sgfsi_mpi {
    uint64_t stamp;
    const char *version; /* of sgfs */
    /* Once for a process, or once more: MPI itself ends with the process. */
    int (*start)(sgfsi_mpi_world *world, char *why, size_t room);
    /* Process r has pieces first[r] .. first[r + 1] - 1, of `bytes` bytes, `stride` apart. */
    int (*gather)(const int64_t *first, int64_t bytes, int64_t stride, void *data, char *why,
                  size_t room);
    int (*broadcast)(int64_t bytes, void *data, char *why, size_t room);
    /* From now on whoever does not answer is told of, until `wait` is over. Collective. Nothing is
     * told where this MPI is not for programs whose threads call it side by side. */
    int (*watch)(sgfsi_mpi_silence tell, void *user, char *why, size_t room);
    void (*wait)(void); /* until all others wait, too: whoever leaves first may end them */
} sgfsi_mpi;
