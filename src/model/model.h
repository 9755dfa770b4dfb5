/* SPDX-License-Identifier: MIT
 * model.h: a model bound to data: what every kind shares, and the rows of the model table.
 */
#pragma once

#include "context/context.h"
#include "model/labels.h"
#include "rows/rows.h"

enum {
    SGFSI_MOST_BLOCKS = 64, /* of parameters */
    SGFSI_MOST_DENSE = 4000 /* parameters up to which a D x D matrix is made without being asked */
};

#define SGFSI_HALF_LOG_TWO_PI 0.91893853320467274178

struct sgfs_model {
    const sgfs_model_kind *kind;
    const sgfs_model_kind *own_kind; /* the same, where it goes with this model (user.h); or NULL */
    const sgfs_data *data;
    sgfs_data *own_data;    /* the same, where it is a view made for the prior (prior.h); or NULL */
    const sgfs_config *cfg; /* as it was when the model was opened: own_cfg */
    sgfs_config *own_cfg;
    sgfsi_context ctx;
    sgfsi_gatherer gatherer; /* of the rows of its batches */
    struct sgfsi_kept *kept; /* sums over all rows by the device (kept.h); NULL: by the host */
    /* What a pass that a device makes has in place of a target: the number of its class, -1: it has
     * none. NULL: the kind wants vectors of its batches in the host's memory. */
    double (*far_target)(const sgfs_model *m, double y);
    struct sgfsi_far_rows *far_rows; /* of such passes (kept.h); NULL: the host makes them */
    sgfsi_arena arena;
    int64_t D, blocks;
    sgfs_block *block;
    int64_t base;                /* parameters of the kind; those of groups follow (scales.h) */
    struct sgfsi_scales *scales; /* NULL: the data have no groups */
    char **param;                /* D names */
    struct sgfsi_prior *prior;   /* prior.h; NULL where the kind brings its own */
    double *precision;           /* D, information of each parameter's prior (Lambda's diagonal) */
    double *default_sd;   /* D: of the default prior, on the chain's scale; NULL: not a network */
    unsigned char *layer; /* D, with it: whose weights have a scale in common; 0: none */
    double *likely; /* how large each parameter of the first block may well be; NULL: unknown */
    double reach;   /* root mean square of the predictor over its spread; 0: not known */
    double events;  /* rows that carry the information; the kind may lower it from N */
    sgfsi_json *warnings;    /* sentences for the summary */
    int64_t outputs;         /* of `predict` for each row: labels, or 1 */
    sgfsi_labels labels;     /* of a classification (labels.h); else none */
    const char *ratio;       /* what exp of a coefficient is called; NULL: nothing */
    int64_t scratch_per_row; /* doubles of workspace the kind wants for each row of a batch */
    int64_t curvature_scratch_per_row; /* the same while `curvature` runs, where it is more */
    int64_t exact_scratch_per_row;     /* the same for `third` and `remainder` */
    int64_t room_per_row; /* of workspace on a device with memory of its own (there below) */
    int64_t outcomes;     /* matrices of rows that `curvature` sums over (outcomes.h); 0: one */
    const sgfsi_json *restored; /* `saved` of the model that this one is on other rows; or NULL */
    sgfsi_json *saved; /* what the kind wants remembered in the run file (label map, ...) */
    void *state;       /* the kind's own, from the arena */
    bool view;         /* all of this is borrowed from another model */
};

extern const sgfs_model_kind sgfs_model_linear, sgfs_model_logistic, sgfs_model_softmax,
    sgfs_model_poisson, sgfs_model_mlp, sgfs_model_drbm;
extern const sgfs_model_kind *const sgfsi_models[]; /* NULL-terminated */
extern const sgfs_option sgfsi_prior_options[];

/* A model of that kind on these data. saved: NULL, or what a model saved that this one is to be, on
 * other rows (some of those it had, or new ones, which need no target): its labels and whatever
 * else is in it stay, and it has no messages. kind, data and saved are borrowed. */
sgfs_model *sgfsi_model_create(const sgfs_model_kind *kind, const sgfs_data *data,
                               const sgfs_config *cfg, const sgfsi_json *saved, sgfs_err *err);
/* The same inside of a run or a job: what that one opened is shared. NULL: opened anew. */
sgfs_model *sgfsi_model_within(const sgfsi_context *opened, const sgfs_model_kind *kind,
                               const sgfs_data *data, const sgfs_config *cfg,
                               const sgfsi_json *saved, sgfs_err *err);

/* ---- views: a model that borrows everything from m but what is named, and is not freed ------- */

/* On other rows of the data of m: parameters, prior and scale are those of m. */
sgfs_model sgfsi_model_on(const sgfs_model *m, const sgfs_data *data);
/* With another prior. */
sgfs_model sgfsi_model_under(const sgfs_model *m, struct sgfsi_prior *prior);
/* A first theta of all parameters and the scale on which chains are spread around it (`start` of
 * its kind); and theta on the user's scale. */
void sgfsi_model_start(const sgfs_model *m, double *theta, double *spread);
void sgfsi_model_to_user(const sgfs_model *m, const double *theta, double *user);
/* Without its groups: the parameters of its kind, whose predictors the caller knows. */
sgfs_model sgfsi_model_fixed(const sgfs_model *m);
/* With its rows in the host's memory, for sums that are there: m, where they are anyway, else from
 * the arena. NULL when memory is out. */
const sgfs_model *sgfsi_model_near(const sgfs_model *m, sgfsi_arena *arena);
/* sgfsi_device_explain for its device, and for the one that has its rows. */
sgfs_status sgfsi_model_explain(const sgfs_model *m, sgfs_status status, sgfs_err *err);

/* ---- for the kinds --------------------------------------------------------------------------- */

/* The parameters as the device can reach them, for its matrices: theta, or where the batch has room
 * on a device a copy of it there. Then *workspace becomes the n room_per_row numbers behind it. */
const double *sgfsi_model_there(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                double **workspace);
/* While opening: declare the next block; NULL when memory is out. */
sgfs_block *sgfsi_model_add_block(sgfs_model *m, const char *name, int64_t rows, int64_t cols,
                                  sgfs_score_form form);
/* After the last block: room for D names. */
sgfs_status sgfsi_model_room_for_names(sgfs_model *m, sgfs_err *err);
/* Name parameter i; names must be unique (see sgfsi_model_create). */
void sgfsi_model_name(sgfs_model *m, int64_t i, const char *name);

/* An option of another model is a mistake to name, not to pass over. */
sgfs_status sgfsi_check_model_options(const sgfs_config *cfg, const sgfs_model_kind *kind,
                                      sgfs_err *err);
