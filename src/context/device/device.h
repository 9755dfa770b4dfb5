/* SPDX-License-Identifier: MIT
 * device.h: arithmetic on row-major arrays. A device is a table of operations, each of which gets
 * the opened device as its first argument, so that one with handles, streams or memory of its own
 * keeps them in `state`. Callers use the functions of the same name below, never the table.
 *
 * Capital letters are arrays that grow with n D or D^2: they lie in the device's memory
 * (sgfsi_device_room). Small letters are vectors of n or D numbers: they lie in the host's. Devices
 * whose memory is the host's, as both that are here, need not care.
 *
 * Operations are of three sorts:
 *   required   every device has them;
 *   default    NULL stands for a loop over host memory, which device.c has: a new device on the
 *              host starts without them and gets fast one by one; one with memory of its own needs
 *              them all;
 *   optional   NULL means that there is no need for it.
 *
 * With memory of its own a device does the work on minibatches of dense rows for models that say
 * so (`far` in stages.h), and on all rows at once for models of one predictor (ask_glm) and those
 * of classes, whose vectors lie there then as well (scale_rows). Other models and sparse rows stay
 * with the host (`near` in context.h).
 *
 * The conformance test (tests/conform/test_device.c) compares every row of sgfsi_devices with
 * host.c; tests/conform/test_far_device.c is a device with memory that the host cannot touch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define SGFS_UPDATE_WORK(D, n) ((n) * ((D) + (n)) + 64 * (D))
#define SGFS_EIGEN_WORK(D)     (2 * (D) * (D) + 10 * (D) + 16)

typedef struct sgfs_device sgfs_device;
struct sgfsi_walk_law;
struct sgfsi_walk;
/* The first argument, for an operation that may have no use for it. */
#define SGFSI_HERE __attribute__((unused)) const sgfs_device *dev

/* Element types rows may be stored in. Gathering converts to double. */
typedef enum sgfsi_dtype {
    SGFSI_F64,
    SGFSI_F32,
    SGFSI_I64,
    SGFSI_I32,
    SGFSI_I16,
    SGFSI_I8,
    SGFSI_U8,
    SGFSI_U16,
    SGFSI_U32,
    SGFSI_CSR /* no cells: doubles without their zeros */
} sgfsi_dtype;

/* Neighbouring stored columns that are neighbouring features too. */
typedef struct sgfsi_column_span {
    int64_t first, count;
} sgfsi_column_span;

/* Rows as they are stored, for a device that keeps a copy, and what becomes of them: 1 where there
 * is an intercept, then (cell - shift) scale for the columns of all spans. */
typedef struct sgfsi_stored_part {
    int64_t first, rows; /* its first row, counted over all parts */
    const char *cells;
} sgfsi_stored_part;

typedef struct sgfsi_stored {
    sgfsi_dtype type;  /* not SGFSI_CSR */
    int64_t row_bytes; /* from one row of a part to the next */
    int64_t rows, parts, spans;
    const sgfsi_stored_part *part;
    const sgfsi_column_span *span;
    int64_t features;            /* of all spans */
    const double *shift, *scale; /* features; NULL: cells are taken as they are */
    bool intercept;
    /* Copies rows first .. first + n - 1, row_bytes each, to `to`, called by one thread at a time
     * for as long as the rows are kept; false: they cannot be had, and `user` knows why. NULL: rows
     * are taken from the parts. */
    bool (*read)(void *user, int64_t first, int64_t n, char *to);
    void *user;
    /* Where there is no room for all rows, ask_glm will do with some, and reads the others in each
     * call; it keeps so many numbers of each row besides. 0: all rows or none. */
    int64_t beside;
    bool there; /* cells are addresses of the device's memory: one part, which stays where it is and
                   is not copied. Else they are the host's */
} sgfsi_stored;

/* Columns of rows that a device keeps, taken as they are: what rows/column_stats.h says of them, to
 * the bit, as blocks of rows are merged in order there, too. */
typedef struct sgfsi_measured {
    const int64_t *row;            /* n, the host's; NULL: the first n */
    const double *weight;          /* n, the host's; NULL: each counts once */
    int64_t n, block, features;    /* block: rows that are summed one after another */
    double *mean, *ss, *min, *max; /* features each */
    int64_t bad, first_bad; /* cells that are not finite, and i * features + j of the first */
} sgfsi_measured;

/* Rows of left (x) right, less a mean: what the scores of a layer are (fisher/dense.c). */
typedef struct sgfsi_outer {
    int64_t n, rows, cols;
    const double *left;  /* n x rows, the host's where rows is 1; NULL: ones, rows being 1 */
    const double *right; /* n x cols */
    int64_t from, end;   /* columns from .. end - 1 of the rows * cols are wanted */
    const double *mean;  /* rows * cols numbers, or NULL */
} sgfsi_outer;

/* The pointwise part of a generalised linear model: from the linear predictor of each row to its
 * residual and its log density, up to what depends on y alone. */
typedef enum sgfsi_link {
    SGFSI_LOGIT, /* y is `one` or not:  y - 1/(1 + exp(-eta)),  y eta - log(1 + exp(eta)) */
    SGFSI_LOG,   /* counts:             y - exp(eta),           y eta - exp(eta) */
    SGFSI_LINEAR /* numbers:          y - eta,                -(y - eta)^2/2; of sgfsi_glm alone */
} sgfsi_link;

typedef struct sgfsi_pointwise {
    int64_t n;
    const double *eta, *y; /* n each */
    double one;            /* of SGFSI_LOGIT: the target that counts as 1 */
    double *residual;      /* n, or NULL */
    double *loglik;        /* n, or NULL */
    double *work;          /* n */
} sgfsi_pointwise;

/* A generalised linear model of all rows that a device keeps, whose predictors are eta = x'theta
 * and the row's offset. */
typedef struct sgfsi_glm {
    sgfsi_link link;
    int64_t rows, p;      /* p: of the design, the intercept included */
    const double *y;      /* rows, the host's; of SGFSI_LOGIT 0 or 1 */
    const double *weight; /* rows, or NULL: each counts once */
    const double *offset; /* rows, or NULL: 0 */
} sgfsi_glm;

/* Sums over these rows, times their weights, of what sgfsi_link says, at several places: theta_k,
 * or with a centre centre + theta_k and centre - theta_k. All arrays are the host's. */
typedef struct sgfsi_glm_places {
    int64_t K, stride;    /* places; numbers from theta_k to the next, of which p count */
    const double *theta;  /* K x stride */
    const double *centre; /* p, or NULL */
    double *loglik;       /* K: at theta_k, or centre + theta_k */
    double *minus;        /* K: at centre - theta_k; only with a centre */
    double *G;            /* K x p: gradients; NULL: not wanted; never with a centre */
    double *info;         /* p x p, lower triangle: sum of -d^2/deta^2 x x' at theta_0; or NULL */
    /* Asked while rows are brought to the device, with the part of them that is done: false: the
     * call is given up, and its answers are NaN. NULL: nobody minds. */
    bool (*go_on)(void *user, double done);
    void *user;
} sgfsi_glm_places;

/* Pairs centre + u_k and centre - u_k of such a model, asked while the host does something else.
 * The directions are given, or the device draws them,
 *     u_k = spread' z_k,   z_k: the normals of a chain's stream (first + k, SGFSI_NOISE)
 * up to rounding those that the host would draw. */
typedef struct sgfsi_pairs_law {
    int64_t D, most; /* numbers of u_k, of which the first p are the model's; pairs of a call */
    const double *centre; /* D */
    const double *spread; /* D x D, lower; NULL: directions are given */
    /* Of drawn ones, D: those of a Gaussian prior, whose log density is added; NULL: it is not */
    const double *precision;
    uint64_t seed;
    uint32_t chain;
} sgfsi_pairs_law;

typedef struct sgfsi_pairs {
    int64_t K, first;
    double *Z, *U;        /* K x D: both filled; of given directions U alone, which is read */
    double *plus, *minus; /* K each: filled */
} sgfsi_pairs;

/* Predictors of several classes to their probabilities, row by row; each array has one number for a
 * row unless said otherwise. */
typedef struct sgfsi_softmax {
    int64_t n, rows;
    bool further; /* there is one class more, whose predictor is 0 */
    double *P;    /* n x rows: predictors eta, then probabilities */
    double *base; /* of the further class: the same */
    double *own;  /* the column of the row's own class (`rows`: the further one; -1: unknown), then
                     eta - max of it, or -infinity; NULL: not wanted */
    double *rest; /* sum of exp(eta - max) over all classes but the largest, where it is 1 */
} sgfsi_softmax;

/* f(a) of the hidden units of a network, and the factor by which their sums arrive multiplied. */
typedef enum sgfsi_unit {
    SGFSI_UNIT_LOGISTIC, /* 1/(1 + exp(-a)), -1 */
    SGFSI_UNIT_TANH,     /* 1 - 2/(1 + exp(2 a)), 2 */
    SGFSI_UNIT_RELU      /* max(0, a), 1; its derivative is 0 at 0 */
} sgfsi_unit;

/* Sums of a last layer with a unit for each class to errors, row by row. */
typedef struct sgfsi_classes {
    int64_t n, K;
    double *E;         /* n x K: eta, then [k = own] - p_k, p_k = exp(eta_k)/sum of all */
    const double *own; /* n: the row's class; -1: unknown, of density 0 */
    double *loglik;    /* n: log p_own, or NULL */
    bool further;      /* there is one class more, number K, whose eta is 0 */
    int64_t each;      /* so many rows in turn have the same number of `own`; 0: one */
    bool plain;        /* E becomes p_k; own may be NULL: unknown */
    bool brief;        /* nobody looks at E any more */
} sgfsi_classes;

/* What some draws say of rows, for predictions; all of it in the device's memory. Of K = 1 number a
 * row it is the predictor of the second of two labels, of which both have a probability. */
typedef struct sgfsi_collected {
    int64_t n, K, draws;  /* rows; numbers of each at each draw */
    int64_t first, room;  /* draws before these; from one row of `kept` to the next */
    const double *P;      /* n x draws x K: probabilities, or predictors */
    const double *loglik; /* n x draws, of the row's own label; NULL: unknown, or K = 1 */
    const double *own;    /* n: 1, 0 or -1, unknown; of K = 1, or NULL */
    double *kept;         /* n x K x room: P, draws side by side */
    double *total;        /* n x K or 2: sums of probabilities */
    double *top, *sum;    /* n: the largest log density so far; of exp(log density - top) */
} sgfsi_collected;

enum { SGFSI_MOST_RANKS = 6 };

/* A discriminative restricted Boltzmann machine (model/drbm.c), H hidden units under K classes:
 *     a_jk = S_j + U_jk,   l_k = B_k + sum_j log(1 + exp(a_jk)),   p_k = exp(l_k)/sum of all
 * and of it what is not NULL: probabilities, or the scores e_k = [k = own] - p_k with both of EU
 * and ES. */
typedef struct sgfsi_boltzmann {
    int64_t n, H, K; /* K: SGFSI_MOST_CLASSES at most */
    const double *S; /* n x H: X W'; NULL, in the host's memory alone: it is made row by row from */
    const double *X, *W; /* n x p, H x p */
    int64_t p;
    const double *U, *B; /* H x K; K, or NULL: 0 */
    const double *own;   /* n: the row's class; -1: unknown, of density 0; NULL: for P alone */
    double *loglik;      /* n: log p_own, or NULL */
    double *P;           /* n x K: p_k, or NULL */
    double *E;           /* n x K: e_k, or NULL */
    double *EU, *ES;     /* n x (H K): e_k/(1 + exp(-a_jk)); n x H: its sums over k */
} sgfsi_boltzmann;
enum { SGFSI_MOST_CLASSES = 1024 };

/* Triangular matrices are lower, row-major, with row length D. */
typedef struct sgfsi_device_ops {
    /* ---- required ---- */
    double (*dot)(SGFSI_HERE, int64_t n, const double *x, const double *y);
    void (*axpy)(SGFSI_HERE, int64_t n, double a, const double *x, double *y); /* y += a x */
    /* y = a X v + b y, X m x k */
    void (*gemv)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                 double b, double *y);
    /* y = a X' v + b y, X m x k */
    void (*gemv_t)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                   double b, double *y);
    /* C = a A' B + b C, A m x r, B m x c, C r x c */
    void (*gemm_tn)(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                    const double *B, double b, double *C);
    /* C = a A B' + b C, A m x k, B r x k, C m x r */
    void (*gemm_nt)(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C);
    /* C = a A B + b C, A m x k, B k x r, C m x r */
    void (*gemm_nn)(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C);
    /* lower triangle of C = a X' X + b C, X m x k, C k x k */
    void (*syrk_t)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                   double *C);
    /* lower triangle of A -> L with A = L L'; returns 0, or the order of the minor that failed */
    int64_t (*potrf)(SGFSI_HERE, int64_t D, double *A);
    void (*unpotrf)(SGFSI_HERE, int64_t D, double *L); /* and back: L -> lower triangle of L L' */
    /* lower triangle of L -> lower triangle of (L L')^-1 */
    void (*potri)(SGFSI_HERE, int64_t D, double *L);
    /* L -> the Cholesky factor of L L' + X'X, X n x D (destroyed); work:
     * SGFS_UPDATE_WORK(D, n) numbers. 0, or -1 when the result is not a factor. */
    int64_t (*chol_update)(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X, double *work);
    /* P -> (P^-1 + X'X)^-1, lower triangles; otherwise as chol_update */
    int64_t (*inv_update)(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X, double *work);
    /* x = L^-1 x or L^-T x */
    void (*trsv)(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x);
    /* x = L x or L' x */
    void (*trmv)(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x);
    /* y = A x, lower triangle */
    void (*symv)(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y);
    void (*exp)(SGFSI_HERE, int64_t n, const double *x, double *y);   /* y = exp(x) */
    void (*log1p)(SGFSI_HERE, int64_t n, const double *x, double *y); /* y = log(1 + x) */

    /* ---- default ---- */
    double *(*alloc)(SGFSI_HERE, int64_t n); /* n zeros, aligned; NULL when memory is out */
    void (*free)(SGFSI_HERE, double *A);
    void (*put)(SGFSI_HERE, int64_t n, const double *host, double *A); /* to the device */
    void (*get)(SGFSI_HERE, int64_t n, const double *A, double *host); /* and back */
    void (*zero)(SGFSI_HERE, int64_t n, double *A);
    void (*times)(SGFSI_HERE, int64_t n, double a, double *A); /* A = a A */
    void (*link)(SGFSI_HERE, sgfsi_link link, const sgfsi_pointwise *p);
    void (*softmax)(SGFSI_HERE, const sgfsi_softmax *s);
    /* P = E - P, n x k; row i of E has a 1 in column at[i], or none where that is negative */
    void (*unit_less)(SGFSI_HERE, int64_t n, int64_t k, const double *at, double *P);
    /* C = A - B, n numbers */
    void (*minus)(SGFSI_HERE, int64_t n, const double *A, const double *B, double *C);
    /* V = [1, f(a)], n x (h + 1); A, n x h (destroyed): the unit's factor times a */
    void (*activate)(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, double *A, double *V);
    /* C = B f'(a), n x h; V of `activate` and B have the bias's column in front */
    void (*slope)(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                  const double *B, double *C);
    void (*classes)(SGFSI_HERE, const sgfsi_classes *c);
    void (*boltzmann)(SGFSI_HERE, const sgfsi_boltzmann *b);
    /* Rows of B are `stride` numbers apart. */
    void (*outer)(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride);
    /* y = a sum_i left_i (x) right_i + b y, whole, for each o[k] in turn, one behind the other in
     * y; neither mean nor `from` and `end` are looked at. ones: n of them. */
    void (*outer_sums)(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double a, double b,
                       const double *ones, double *y);
    /* ss = sum_i (left_i (x) right_i)^2, likewise. room, size numbers of the host's, at least
     * rows + cols of each: for who has no other. */
    void (*outer_squares)(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double *room,
                          int64_t size, double *ss);
    /* ss_j = sum_i (v_i X_ij)^2, X n x k; v NULL: ones. For outer_squares: who has that needs
     * none */
    void (*squares)(SGFSI_HERE, int64_t n, int64_t k, const double *v, const double *X, double *ss);
    /* lower triangle of A = b B + c C, any of which may be the same; C NULL: none */
    void (*combine)(SGFSI_HERE, int64_t D, double b, const double *B, double c, const double *C,
                    double *A);
    /* A += c diag(d); d NULL: ones */
    void (*add_diag)(SGFSI_HERE, int64_t D, double c, const double *d, double *A);
    void (*get_diag)(SGFSI_HERE, int64_t D, const double *A, double *d);
    double (*trace)(SGFSI_HERE, int64_t D, const double *A);
    void (*transpose)(SGFSI_HERE, int64_t D, double *A); /* in place */
    /* x = L^-T (L^-1 x + a z); z NULL: without it */
    void (*solve_noisy)(SGFSI_HERE, int64_t D, const double *L, double a, const double *z,
                        double *x);
    /* A = (L L')^-1, both triangles */
    void (*invert_factor)(SGFSI_HERE, int64_t D, const double *L, double *A);
    /* lower triangle of A -> its eigenvectors, one in each row, by increasing eigenvalue w (D), all
     * in the host's memory, where alone it is asked for; work: SGFS_EIGEN_WORK(D) numbers. 0, or
     * not when it did not converge. */
    int64_t (*eigen)(SGFSI_HERE, int64_t D, double *A, double *w, double *work);

    /* ---- optional ---- */
    /* What the device needs before it can work (a handle, a stream), kept in dev->state; a device
     * with `open` has `close`. */
    sgfs_status (*open)(sgfs_device *dev, sgfs_err *err);
    void (*close)(sgfs_device *dev);
    /* A copy of all rows in the device's memory, from which `gather` takes rows: row[0..n), or n
     * rows from `first` on where row is NULL, as X, n x (intercept + features). NULL: no such copy
     * is wanted, or it has no room; rows are then gathered by the host and put. All three or none;
     * `gather` may be called by several threads. */
    void *(*keep_rows)(SGFSI_HERE, const sgfsi_stored *rows);
    void (*drop_rows)(SGFSI_HERE, void *kept);
    void (*gather)(SGFSI_HERE, const void *kept, const int64_t *row, int64_t first, int64_t n,
                   double *X);
    /* How many of the rows lie there: where that is not all (`beside` allows it), they are for
     * keep_glm alone. NULL: all. */
    int64_t (*rows_there)(SGFSI_HERE, const void *kept);
    /* P_i. = w_i P_i., or 0 where w_i is 0; w n, P n x k. All vectors of passes that a device makes
     * (posterior/far_pass.h) lie in its memory, as w does: one that has this takes own and loglik
     * of `classes` and `boltzmann`, left of `outer` and `outer_sums`, ones and y there, and `host`
     * of `get` from either memory. */
    void (*scale_rows)(SGFSI_HERE, int64_t n, int64_t k, const double *w, double *P);
    /* For predictions of labels (posterior/far_predictor.h), both or neither: draws are added up;
     * and out (rows x count) = the number of rank rank[j], from 0, among the n first numbers of
     * each row of A, whose rows are `room` numbers apart. rank is the host's; SGFSI_MOST_RANKS at
     * most. */
    void (*collect)(SGFSI_HERE, const sgfsi_collected *c);
    void (*pick)(SGFSI_HERE, int64_t rows, int64_t room, int64_t n, const double *A, int64_t count,
                 const int64_t *rank, double *out);
    /* Of rows that nobody else has (`there`): what is known of their columns, and some of them as
     * numbers of the host's. Both or neither; keep_rows without them takes no such rows. */
    void (*measure)(SGFSI_HERE, const void *kept, sgfsi_measured *m);
    void (*fetch)(SGFSI_HERE, const void *kept, const int64_t *row, int64_t first, int64_t n,
                  double *x);
    /* Iterations of several chains, the host waiting for all of them at once (walk.h). */
    void (*walk)(SGFSI_HERE, const struct sgfsi_walk_law *law, int64_t chains,
                 struct sgfsi_walk *walks);
    /* All rows at several places, for models of one predictor; with keep_rows, or NULL. Takes what
     * that gave, which must outlive it; NULL: there is no room. Sums are made in an order that the
     * sizes alone decide. `ask_glm` may be called by several threads. */
    void *(*keep_glm)(SGFSI_HERE, const void *kept, const sgfsi_glm *glm);
    void (*drop_glm)(SGFSI_HERE, void *glm);
    void (*ask_glm)(SGFSI_HERE, const void *glm, const sgfsi_glm_places *at);
    /* Pairs of a kept model, made while the host does something else: `begin_pairs` says which,
     * and they are there after the next `await_pairs`, by whatever thread. Arrays of *now are left
     * alone in between. Those with given directions go before those that are drawn. NULL of
     * `open_pairs`: there is no room. Sums are those of ask_glm, up to rounding. All or none. */
    void *(*open_pairs)(SGFSI_HERE, void *glm, const sgfsi_pairs_law *law);
    void (*close_pairs)(SGFSI_HERE, void *pairs);
    void (*begin_pairs)(SGFSI_HERE, void *pairs, const sgfsi_pairs *now);
    void (*await_pairs)(SGFSI_HERE, void *pairs);
    /* n numbers of the host's memory that copies to the device and back make no detour for; NULL:
     * there are none. Both or neither. */
    double *(*lend)(SGFSI_HERE, int64_t n);
    void (*take_back)(SGFSI_HERE, double *numbers);
    /* Of devices on the host. Is there memory for what so many threads need that call it at the
     * same time? */
    sgfs_status (*make_room)(SGFSI_HERE, int64_t threads, sgfs_err *err);
    /* Operations that hand nothing back may go on after their call, in the order of the calls of
     * one thread. Until all that this thread has begun is done: before another one goes on with
     * it. */
    void (*wait)(SGFSI_HERE);
    /* A sentence without its full stop: what has gone wrong for good, so that all it hands back is
     * NaN; NULL: nothing has. */
    const char *(*trouble)(SGFSI_HERE);
    /* No threads of its own until as many `leave`s: counted, for the whole process, by however many
     * threads. */
    void (*enter)(SGFSI_HERE);
    void (*leave)(SGFSI_HERE);
    /* Bytes of the device's own memory that are free. */
    double (*room)(SGFSI_HERE);
    /* Which library, and which of its kernels: the same bits need the same. */
    const char *(*library)(SGFSI_HERE);
    const char *(*kernel)(SGFSI_HERE);
} sgfsi_device_ops;

struct sgfs_device {
    const char *name, *help;
    const sgfsi_device_ops *ops; /* of a kind that others make: `open` alone, until it is open */
    int64_t most;   /* rows or columns of a matrix; more are refused (sgfsi_device_fits) */
    int64_t number; /* which one of its kind, where a machine has several (cuda:1) */
    void *state;
};

extern const sgfs_device sgfs_device_host, sgfs_device_blas, sgfs_device_cuda;
extern const sgfs_device *const sgfsi_devices[]; /* NULL-terminated; the first is the default */
/* By its name, and a number behind a colon for kinds that are opened: "blas", "cuda:1". */
const sgfs_device *sgfsi_device_find(const char *name, int64_t *number);

/* A device of that kind, ready to work; without `open`, a kind is its own device. */
sgfs_status sgfsi_device_open(const sgfs_device **out, const sgfs_device *kind, int64_t number,
                              sgfs_err *err);
void sgfsi_device_close(const sgfs_device *dev); /* takes NULL */
void sgfsi_device_wait(const sgfs_device *dev);
/* The status of a call; where it failed because the device has, err says so instead. */
sgfs_status sgfsi_device_explain(const sgfs_device *dev, sgfs_status status, sgfs_err *err);

/* Can it work with matrices of this many rows or columns? SGFS_EUSAGE with a sentence. */
sgfs_status sgfsi_device_fits(const sgfs_device *dev, int64_t dimension, const char *what,
                              sgfs_err *err);
/* n zeros in the device's memory, which go with the arena; NULL when memory is out. */
double *sgfsi_device_room(const sgfs_device *dev, int64_t n, sgfsi_arena *arena);

/* n numbers of the host's memory, for large arrays that go to the device again and again: lent,
 * where it lends such, which go with the arena. NULL when memory is out. */
double *sgfsi_device_lend(const sgfs_device *dev, int64_t n, sgfsi_arena *arena);

/* Loops the compiler may vectorise through libmvec (vecmath.c). */
void sgfsi_vec_exp(SGFSI_HERE, int64_t n, const double *x, double *y);
void sgfsi_vec_log1p(SGFSI_HERE, int64_t n, const double *x, double *y);

/* syrk_t of narrow matrices (syrk.c), and whether it is the better one for n x k. */
bool sgfsi_narrow_syrk_fits(int64_t n, int64_t k);
void sgfsi_narrow_syrk(int64_t n, int64_t k, double a, const double *X, double b, double *C);

/* ---- the operations as functions ------------------------------------------------------------- */

static inline double sgfsi_dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    return dev->ops->dot(dev, n, x, y);
}
static inline void sgfsi_axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    dev->ops->axpy(dev, n, a, x, y);
}
static inline void sgfsi_gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                              const double *v, double b, double *y) {
    dev->ops->gemv(dev, m, k, a, X, v, b, y);
}
static inline void sgfsi_gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                                const double *v, double b, double *y) {
    dev->ops->gemv_t(dev, m, k, a, X, v, b, y);
}
static inline void sgfsi_gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_tn(dev, m, r, c, a, A, B, b, C);
}
static inline void sgfsi_gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_nt(dev, m, r, k, a, A, B, b, C);
}
static inline void sgfsi_gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_nn(dev, m, r, k, a, A, B, b, C);
}
static inline void sgfsi_syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                                double b, double *C) {
    dev->ops->syrk_t(dev, m, k, a, X, b, C);
}
static inline int64_t sgfsi_potrf(SGFSI_HERE, int64_t D, double *A) {
    return dev->ops->potrf(dev, D, A);
}
static inline void sgfsi_unpotrf(SGFSI_HERE, int64_t D, double *L) {
    dev->ops->unpotrf(dev, D, L);
}
static inline void sgfsi_potri(SGFSI_HERE, int64_t D, double *L) {
    dev->ops->potri(dev, D, L);
}
static inline int64_t sgfsi_chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X,
                                        double *work) {
    return dev->ops->chol_update(dev, D, n, L, X, work);
}
static inline int64_t sgfsi_inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X,
                                       double *work) {
    return dev->ops->inv_update(dev, D, n, P, X, work);
}
static inline void sgfsi_trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    dev->ops->trsv(dev, D, L, transposed, x);
}
static inline void sgfsi_trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    dev->ops->trmv(dev, D, L, transposed, x);
}
static inline void sgfsi_symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    dev->ops->symv(dev, D, A, x, y);
}
static inline void sgfsi_exp(SGFSI_HERE, int64_t n, const double *x, double *y) {
    dev->ops->exp(dev, n, x, y);
}
static inline void sgfsi_log1p(SGFSI_HERE, int64_t n, const double *x, double *y) {
    dev->ops->log1p(dev, n, x, y);
}

/* ---- those with a default (device.c) --------------------------------------------------------- */

void sgfsi_put(SGFSI_HERE, int64_t n, const double *host, double *A);
void sgfsi_get(SGFSI_HERE, int64_t n, const double *A, double *host);
void sgfsi_zero(SGFSI_HERE, int64_t n, double *A);
void sgfsi_times(SGFSI_HERE, int64_t n, double a, double *A);
void sgfsi_link_of(SGFSI_HERE, sgfsi_link link, const sgfsi_pointwise *p);
void sgfsi_softmax_of(SGFSI_HERE, const sgfsi_softmax *s);
void sgfsi_unit_less(SGFSI_HERE, int64_t n, int64_t k, const double *at, double *P);
void sgfsi_minus(SGFSI_HERE, int64_t n, const double *A, const double *B, double *C);
double sgfsi_unit_factor(sgfsi_unit unit);
void sgfsi_activate(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, double *A, double *V);
void sgfsi_slope_of(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                    const double *B, double *C);
void sgfsi_classes_of(SGFSI_HERE, const sgfsi_classes *c);
void sgfsi_boltzmann_of(SGFSI_HERE, const sgfsi_boltzmann *b);
void sgfsi_outer_of(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride);
void sgfsi_outer_sums(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double a, double b,
                      const double *ones, double *y);
void sgfsi_outer_squares(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double *room,
                         int64_t size, double *ss);
void sgfsi_squares(SGFSI_HERE, int64_t n, int64_t k, const double *v, const double *X, double *ss);
void sgfsi_combine(SGFSI_HERE, int64_t D, double b, const double *B, double c, const double *C,
                   double *A);
void sgfsi_add_diag(SGFSI_HERE, int64_t D, double c, const double *d, double *A);
void sgfsi_get_diag(SGFSI_HERE, int64_t D, const double *A, double *d);
double sgfsi_trace_of(SGFSI_HERE, int64_t D, const double *A);
void sgfsi_transpose(SGFSI_HERE, int64_t D, double *A);
void sgfsi_solve_noisy(SGFSI_HERE, int64_t D, const double *L, double a, const double *z,
                       double *x);
/* X = L^-T, both triangles: row j is L^-1 e_j. */
void sgfsi_invert_triangle(SGFSI_HERE, int64_t D, const double *L, double *X);
void sgfsi_invert_factor(SGFSI_HERE, int64_t D, const double *L, double *A);
int64_t sgfsi_eigen(SGFSI_HERE, int64_t D, double *A, double *w, double *work);
