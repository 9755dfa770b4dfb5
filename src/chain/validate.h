/* SPDX-License-Identifier: MIT
 * validate.h: how well the chains predict rows kept aside, followed while they move (--validate).
 */
#pragma once

#include "base/fields.h"
#include "posterior/predictor.h"
#include "sink/draws.h"

/* The rows, shared by all chains of a run. Whoever made them (jobs/newrows.h) says how they are
 * freed. Zeroed: there are none. */
typedef struct sgfsi_validation_rows {
    const sgfs_model *model; /* on the scale that draws are on */
    sgfs_batch rows;         /* with targets */
    const int64_t *code;     /* rows x terms: their groups (predictor.h) */
    void *owner;             /* what they live in, */
    void (*free)(void *owner);
} sgfsi_validation_rows;

/* Where the chain stands after one iteration. */
typedef struct sgfsi_validation_point {
    int64_t t;
    double seconds; /* so far */
    bool kept;      /* a draw that is kept */
    sgfsi_draw draw;
} sgfsi_validation_point;

enum { SGFSI_POINTS_ROOM = 32 };

/* One chain's predictions for them, and the points of its curve not yet handed over. */
typedef struct sgfsi_validator {
    const sgfsi_validation_rows *rows;
    sgfsi_predictor p;
    int64_t next; /* in warm-up: the iteration of the next point; later: the draw */
    bool drawing; /* past warm-up */
    sgfsi_validation_point latest; /* what was looked at last, */
    bool has_point;                /* and whether there is a point of it */
    double error; /* of the averaged prediction, at the last point; NaN: none yet */
    double *mean; /* of one row */
    int64_t waiting;
    double points[SGFSI_POINTS_ROOM * SGFSI_POINT];
} sgfsi_validator;

sgfs_status sgfsi_validator_open(sgfsi_validator *v, const sgfsi_validation_rows *rows,
                                 sgfsi_arena *arena, sgfs_err *err);
/* During warm-up a point now and then; afterwards every kept draw joins the average. The caller
 * empties v->points when v->waiting reaches SGFSI_POINTS_ROOM. */
sgfs_status sgfsi_validator_look(sgfsi_validator *v, const sgfsi_validation_point *now,
                                 sgfs_err *err);
/* The last draw has a point, whenever the run ends. There is room for it. */
void sgfsi_validator_finish(sgfsi_validator *v);
/* All but points that wait to be handed over. */
void sgfsi_validator_fields(sgfsi_validator *v, sgfsi_fields *list);
