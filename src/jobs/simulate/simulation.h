/* SPDX-License-Identifier: MIT
 * simulation.h: what is being simulated (simulate.c), for who draws and writes its rows
 * (simulate_rows.c).
 */
#ifndef SGFSI_SIMULATION_H
#define SGFSI_SIMULATION_H

#include "model/model.h"
#include "rows/table.h"

typedef struct sgfsi_simulation {
    const sgfs_job *job;
    const sgfs_model_kind *kind;
    int64_t rows, dim;
    double rho, noise;
    uint64_t seed;
    const sgfsi_log *log;
    sgfsi_dtype type; /* of the cells of a packed file */
    sgfs_config *cfg; /* rows as they are, with an intercept */
    sgfsi_json *info; /* how many labels there are to be */
    sgfs_data *data;  /* two rows of no importance: */
    sgfs_model *m;    /* the model that makes the targets */
    double *theta;    /* m->D */
} sgfsi_simulation;

/* All rows to a file, whose kind follows from the name's end. The same numbers for any number of
 * threads and any kind of file. */
sgfs_status sgfsi_simulation_write(const sgfsi_simulation *s, const char *path, bool overwrite,
                                   sgfs_err *err);
/* SGFS_EUSAGE where the name ends in nothing that can be written, or f32 is asked for where
 * there is none. */
sgfs_status sgfsi_simulation_check(const sgfsi_simulation *s, const char *path, sgfs_err *err);

#endif
