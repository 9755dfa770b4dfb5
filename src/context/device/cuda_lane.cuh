/* SPDX-License-Identifier: MIT
 * cuda_lane.cuh: what the files of the plug-in for NVIDIA GPUs share (cuda_plugin.cu). The only
 * header that includes CUDA's.
 *
 * Each thread that calls has a lane of its own on the GPU: a stream, in which its operations follow
 * each other, and a strip of numbers that lies twice, in pinned memory of the host and on the GPU.
 * An operation takes what it needs of the strip, copies the host's vectors there, and starts its
 * kernels. Only one that hands numbers back waits for them (settle); then the strip is free again.
 *
 *     if (!begin(l, m + k)) return lose(y, m);     room for m + k numbers of the host
 *     const double *there = up(l, k, v);
 *     double *sums = take(l, m);
 *     ... kernels ...
 *     down(l, m, sums, y);
 *     settle(l);                                   y is there now
 *
 * The first call of CUDA's that fails is remembered with its reason. From then on no operation does
 * anything, and what goes back to the host is NaN, which ends whatever was going on.
 */
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "context/device/device.h"

struct cuda_state; /* an opened device: cuda_plugin.cu */

static constexpr int DUES = 8, THREADS = 256;

struct lane {
    cuda_state *home;
    uint64_t owner; /* which thread; 0: it is borrowed, */
    bool busy;      /* now */
    cudaStream_t stream;
    cublasHandle_t blas;
    double *pinned, *far; /* the strip, `room` numbers of which `used` are taken */
    int64_t room, used;
    double *scratch; /* on the GPU */
    int64_t scratch_room;
    struct {
        double *to;
        const double *pinned;
        int64_t n;
    } due[DUES]; /* what is on its way to the host */
    int dues;
    lane *next;
};

lane *lane_of(const sgfs_device *dev);
/* One of nobody's, whose work may wait for that of all others where it is not urgent; without a
 * handle of cuBLAS until it is ready for products. */
lane *new_lane_apart(const sgfs_device *dev, bool urgent);
bool make_ready(lane *l);
void free_lane(lane *l);
/* For a call that leaves nothing under way, of threads that come and go: there are no more of these
 * than calls at the same time. */
lane *borrow_lane(const sgfs_device *dev);
void return_lane(lane *l);
bool fine(lane *l, cudaError_t code, const char *what); /* remembers why it is not */
bool fine(lane *l, cublasStatus_t code, const char *what);
bool works(const lane *l); /* nothing has failed so far */

bool begin(lane *l, int64_t numbers);
double *take(lane *l, int64_t n);                           /* on the GPU */
const double *up(lane *l, int64_t n, const double *host);   /* a copy on the GPU */
const int64_t *up(lane *l, int64_t n, const int64_t *host); /* the same for row numbers */
bool is_far(const double *A);                               /* is it an address of the GPU's? */
void down(lane *l, int64_t n, const double *from, double *host);
void settle(lane *l);
/* Vectors that may be of either memory: `up` and `take` unless x is what `alloc` handed out; and
 * down to x with settle, unless `from` is x itself. */
bool is_ours(const double *x);
const double *there(lane *l, int64_t n, const double *x);
double *there_or_room(lane *l, int64_t n, double *x);
void bring(lane *l, int64_t n, const double *from, double *x);
void lose(double *x, int64_t n); /* x = NaN, if it is the host's */
/* n numbers of the lane's own on the GPU, until the next such call; NULL: memory is out. */
double *scratch_of(lane *l, int64_t n);

static inline int64_t pieces(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}
/* What `take` and `up` use up for n numbers: pieces begin at multiples of a line of memory. */
static inline int64_t rounded(int64_t n) {
    return pieces(n, 16) * 16;
}
static inline int at_least_one(int64_t n) { /* cuBLAS wants row lengths that are no less */
    return n > 1 ? (int)n : 1;
}

/* One thread for each of `count` items, which get their number from `item`; the other form for
 * threads of a block that wait for each other. */
#ifndef EACH
#define EACH(l, kernel, count, ...)                                                                \
    do {                                                                                           \
        if ((count) > 0)                                                                           \
            kernel<<<(unsigned)pieces((count), THREADS), THREADS, 0, (l)->stream>>>(__VA_ARGS__);  \
    } while (0)
#define TOGETHER(l, kernel, blocks, threads, ...)                                                  \
    kernel<<<(unsigned)(blocks), (unsigned)(threads), 0, (l)->stream>>>(__VA_ARGS__)
#endif

/* A warp: sum += X Y', X and Y 8 x 4, of which thread 4 i + j has X_ij and Y_ij, and of the sum
 * numbers 2 j and 2 j + 1 of row i. */
#ifndef ADD_PRODUCT
__device__ static inline void add_product(double sum[2], double x, double y) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(x), "d"(y));
}
#endif

/* The same for X 16 x 4, of which the thread has x[0] of row i and x[1] of row 8 + i, and of the
 * sum two numbers of each of these rows. */
__device__ static inline void add_product_16(double sum[4], const double x[2], double y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(x[0]), "d"(x[1]), "d"(y));
#else
    add_product(sum, x[0], y);
    add_product(sum + 2, x[1], y);
#endif
}

/* Memory that a block shares, as much as its launch asks for, and copies to it of two numbers each
 * that go on while the block works, in lots: all but the `later` last ones are there. */
#ifndef POOL
#define POOL(name) extern __shared__ double name[]
#define TOGETHER_IN(l, kernel, blocks, threads, bytes, ...)                                        \
    kernel<<<(unsigned)(blocks), (unsigned)(threads), (size_t)(bytes), (l)->stream>>>(__VA_ARGS__)
__device__ static inline void copy_ahead(double *to, const double *from) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}
__device__ static inline void end_lot(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int later> __device__ static inline void await_lots(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}
#endif

/* Blocks that all run at the same time, so that they may wait for each other: through numbers in
 * the GPU's memory, which one of them publishes and others look for again and again. What a block
 * has written before it publishes (and waited for all its threads) is there for whoever has seen
 * it. */
#ifndef AT_ONCE
template <typename T> struct exactly { using type = T; };
template <typename... P>
static void start_at_once(lane *l, void (*kernel)(P...), int64_t blocks, int threads, int64_t bytes,
                          typename exactly<P>::type... given) {
    void *there[] = {&given...};
    const void *of = reinterpret_cast<const void *>(kernel);
    if (fine(l,
             cudaFuncSetAttribute(of, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "memory of a block"))
        (void)fine(l,
                   cudaLaunchCooperativeKernel(of, dim3(static_cast<unsigned>(blocks)),
                                               dim3(static_cast<unsigned>(threads)), there,
                                               static_cast<size_t>(bytes), l->stream),
                   "a kernel");
}
#define AT_ONCE(l, kernel, blocks, threads, bytes, ...)                                            \
    start_at_once(l, kernel, blocks, threads, bytes, __VA_ARGS__)
__device__ static inline unsigned look(const unsigned *flag) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}
__device__ static inline void publish(unsigned *flag, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
/* A number by itself: no order but its own. */
__device__ static inline double look(const double *x) {
    double value;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(x) : "memory");
    return value;
}
__device__ static inline void publish(double *x, double value) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(x), "d"(value) : "memory");
}
__device__ static inline void let_others_go_on(void) {
}
/* Some threads of a block meet at a barrier of their own, 1 to 15; who arrives does not wait for
 * the others. */
__device__ static inline void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ static inline void arrive(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
#endif

__device__ static inline int64_t item(void) {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* n / by, n not below 0: of numbers of 32 bits that takes a quarter of the time. */
__device__ static inline int64_t divide(int64_t n, int64_t by) {
    if ((n | by) >> 32 != 0) return n / by;
    return static_cast<uint32_t>(n) / static_cast<uint32_t>(by);
}

/* cuda_rows.cu */
/* Rows at[0..n), on the GPU, of all that are kept, or n from `first` on, `stride` numbers from one
 * to the next with zeros at their ends. */
void gather_rows(lane *l, const void *kept, const int64_t *at, int64_t first, int64_t n,
                 int64_t stride, double *X);
void *cuda_keep_rows(const sgfs_device *dev, const sgfsi_stored *rows);
void cuda_drop_rows(const sgfs_device *dev, void *kept);
int64_t cuda_rows_there(const sgfs_device *dev, const void *kept);
void cuda_gather(const sgfs_device *dev, const void *kept, const int64_t *row, int64_t first,
                 int64_t n, double *X);
void cuda_fetch(const sgfs_device *dev, const void *kept, const int64_t *row, int64_t first,
                int64_t n, double *x);
void cuda_softmax(const sgfs_device *dev, const sgfsi_softmax *s);
void cuda_unit_less(const sgfs_device *dev, int64_t n, int64_t k, const double *at, double *P);
void cuda_outer(const sgfs_device *dev, const sgfsi_outer *o, double *B, int64_t stride);
void cuda_scale_rows(const sgfs_device *dev, int64_t n, int64_t k, const double *w, double *P);
void cuda_squares(const sgfs_device *dev, int64_t n, int64_t k, const double *v, const double *X,
                  double *ss);
void cuda_exp(const sgfs_device *dev, int64_t n, const double *x, double *y);
void cuda_log1p(const sgfs_device *dev, int64_t n, const double *x, double *y);

void cuda_outer_sums(const sgfs_device *dev, int64_t count, const sgfsi_outer *o, double a,
                     double b, const double *ones, double *y);
void cuda_outer_squares(const sgfs_device *dev, int64_t count, const sgfsi_outer *o, double *room,
                        int64_t size, double *ss);

/* cuda_measure.cu */
void cuda_measure(const sgfs_device *dev, const void *kept, sgfsi_measured *m);

/* cuda_glm.cu */
void *cuda_keep_glm(const sgfs_device *dev, const void *kept, const sgfsi_glm *glm);
void cuda_drop_glm(const sgfs_device *dev, void *glm);
double *cuda_lend(const sgfs_device *dev, int64_t n);
void cuda_take_back(const sgfs_device *dev, double *numbers);
void cuda_ask_glm(const sgfs_device *dev, const void *glm, const sgfsi_glm_places *at);

/* cuda_pairs.cu */
void *cuda_open_pairs(const sgfs_device *dev, void *glm, const sgfsi_pairs_law *law);
void cuda_close_pairs(const sgfs_device *dev, void *pairs);
void cuda_begin_pairs(const sgfs_device *dev, void *pairs, const sgfsi_pairs *now);
void cuda_await_pairs(const sgfs_device *dev, void *pairs);

/* cuda_layers.cu */
void cuda_activate(const sgfs_device *dev, sgfsi_unit unit, int64_t n, int64_t h, double *A,
                   double *V);
void cuda_slope(const sgfs_device *dev, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                const double *B, double *C);
void cuda_classes(const sgfs_device *dev, const sgfsi_classes *c);
void cuda_boltzmann(const sgfs_device *dev, const sgfsi_boltzmann *b);

/* cuda_predict.cu */
void cuda_collect(const sgfs_device *dev, const sgfsi_collected *c);
void cuda_pick(const sgfs_device *dev, int64_t rows, int64_t room, int64_t n, const double *A,
               int64_t count, const int64_t *rank, double *out);

/* cuda_walk.cu */
void cuda_walk(const sgfs_device *dev, const sgfsi_walk_law *law, int64_t chains,
               sgfsi_walk *walks);

/* cuda_matrix.cu */
void cuda_minus(const sgfs_device *dev, int64_t n, const double *A, const double *B, double *C);
double cuda_dot(const sgfs_device *dev, int64_t n, const double *x, const double *y);
void cuda_axpy(const sgfs_device *dev, int64_t n, double a, const double *x, double *y);
void cuda_gemv(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X,
               const double *v, double b, double *y);
void cuda_gemv_t(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X,
                 const double *v, double b, double *y);
void cuda_gemm_tn(const sgfs_device *dev, int64_t m, int64_t r, int64_t c, double a,
                  const double *A, const double *B, double b, double *C);
void cuda_gemm_nt(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                  const double *A, const double *B, double b, double *C);
void cuda_gemm_nn(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                  const double *A, const double *B, double b, double *C);
void cuda_syrk_t(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X, double b,
                 double *C);
void cuda_symv(const sgfs_device *dev, int64_t D, const double *A, const double *x, double *y);
void cuda_times(const sgfs_device *dev, int64_t n, double a, double *A);
void cuda_combine(const sgfs_device *dev, int64_t D, double b, const double *B, double c,
                  const double *C, double *A);
void cuda_add_diag(const sgfs_device *dev, int64_t D, double c, const double *d, double *A);
void cuda_get_diag(const sgfs_device *dev, int64_t D, const double *A, double *d);
double cuda_trace(const sgfs_device *dev, int64_t D, const double *A);
void cuda_transpose(const sgfs_device *dev, int64_t D, double *A);

/* cuda_factor.cu */
int64_t cuda_potrf(const sgfs_device *dev, int64_t D, double *A);
void cuda_unpotrf(const sgfs_device *dev, int64_t D, double *L);
void cuda_potri(const sgfs_device *dev, int64_t D, double *L);
void cuda_invert_factor(const sgfs_device *dev, int64_t D, const double *L, double *A);
int64_t cuda_chol_update(const sgfs_device *dev, int64_t D, int64_t n, double *L, double *X,
                         double *work);
int64_t cuda_inv_update(const sgfs_device *dev, int64_t D, int64_t n, double *P, double *X,
                        double *work);
void cuda_trsv(const sgfs_device *dev, int64_t D, const double *L, bool transposed, double *x);
void cuda_solve_noisy(const sgfs_device *dev, int64_t D, const double *L, double a, const double *z,
                      double *x);
void cuda_trmv(const sgfs_device *dev, int64_t D, const double *L, bool transposed, double *x);
