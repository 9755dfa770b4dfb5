/* SPDX-License-Identifier: MIT
 * cuda_plugin.cu: NVIDIA GPUs. With the other cuda_*.cu of this folder it becomes libsgfs_cuda.so,
 * which cuda.c loads where a run is asked to work on a GPU, so that nothing else depends on CUDA.
 * Here are the opened device, its memory, the lanes (cuda_lane.cuh), and the table.
 *
 * All sums are made in an order that the sizes alone decide: two runs on one GPU have the same
 * bits.
 */
#include "context/device/cuda_lane.cuh"
#include "context/device/cuda_plugin.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

struct cuda_state {
    uint64_t serial; /* no other opened device has had it */
    int number;
    lane *lanes;
    std::mutex lock;
    std::atomic<bool> failed;
    char why[300];     /* what failed first */
    char library[200]; /* sgfsi_cuda_card */
    char name[80];
};

static std::atomic<uint64_t> serials, threads;

/* The lane that this thread used last, and of which device. */
static thread_local struct {
    uint64_t thread, serial;
    lane *mine;
} last = {0, 0, nullptr};

/* ---- failures -------------------------------------------------------------------------------- */

static void fail(cuda_state *s, const char *what, const char *why) {
    std::lock_guard<std::mutex> guard(s->lock);
    if (!s->failed)
        std::snprintf(s->why, sizeof s->why, "GPU %d (%.60s): %.60s failed: %.120s", s->number,
                      s->name, what, why);
    s->failed = true;
}

bool fine(lane *l, cudaError_t code, const char *what) {
    if (code != cudaSuccess) fail(l->home, what, cudaGetErrorString(code));
    return code == cudaSuccess;
}

bool fine(lane *l, cublasStatus_t code, const char *what) {
    if (code != CUBLAS_STATUS_SUCCESS) fail(l->home, what, cublasGetStatusString(code));
    return code == CUBLAS_STATUS_SUCCESS;
}

bool works(const lane *l) {
    return !l->home->failed;
}

void lose(double *x, int64_t n) {
    if (is_ours(x)) return; /* whoever reads it there asks for `trouble` */
    for (int64_t i = 0; i < n; i++) x[i] = NAN;
}

static const char *trouble(const sgfs_device *dev) {
    const cuda_state *s = static_cast<const cuda_state *>(dev->state);
    return s->failed ? s->why : nullptr;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static lane *new_lane(cuda_state *s, uint64_t owner, bool urgent) {
    lane *l = static_cast<lane *>(std::calloc(1, sizeof *l));
    int least = 0, most = 0;        /* more urgent ones have lower numbers */
    if (l == nullptr) std::abort(); /* a hundred bytes */
    l->home = s;
    l->owner = owner;
    if (fine(l, cudaDeviceGetStreamPriorityRange(&least, &most), "a stream"))
        (void)fine(
            l,
            cudaStreamCreateWithPriority(&l->stream, cudaStreamNonBlocking, urgent ? most : least),
            "a stream");
    return l;
}

bool make_ready(lane *l) {
    if (l->blas == nullptr && works(l) && fine(l, cublasCreate(&l->blas), "cuBLAS"))
        (void)fine(l, cublasSetStream(l->blas, l->stream), "cuBLAS");
    return works(l);
}

lane *new_lane_apart(const sgfs_device *dev, bool urgent) {
    (void)lane_of(dev); /* the right GPU */
    return new_lane(static_cast<cuda_state *>(dev->state), 0, urgent);
}

lane *lane_of(const sgfs_device *dev) {
    cuda_state *s = static_cast<cuda_state *>(dev->state);
    (void)cudaSetDevice(s->number); /* whoever else uses CUDA in this thread may have another one */
    if (last.serial == s->serial) return last.mine;
    if (last.thread == 0) last.thread = ++threads;
    lane *l;
    {
        std::lock_guard<std::mutex> guard(s->lock);
        for (l = s->lanes; l != nullptr && l->owner != last.thread;) l = l->next;
    }
    if (l == nullptr) {
        l = new_lane(s, last.thread, true);
        (void)make_ready(l);
        std::lock_guard<std::mutex> guard(s->lock);
        l->next = s->lanes;
        s->lanes = l;
    }
    last.serial = s->serial;
    last.mine = l;
    return l;
}

lane *borrow_lane(const sgfs_device *dev) {
    cuda_state *s = static_cast<cuda_state *>(dev->state);
    lane *l;
    (void)cudaSetDevice(s->number);
    {
        std::lock_guard<std::mutex> guard(s->lock);
        for (l = s->lanes; l != nullptr && (l->owner != 0 || l->busy);) l = l->next;
        if (l != nullptr) l->busy = true;
    }
    if (l != nullptr) return l;
    l = new_lane(s, 0, true);
    l->busy = true;
    std::lock_guard<std::mutex> guard(s->lock);
    l->next = s->lanes;
    return s->lanes = l;
}

void return_lane(lane *l) {
    std::lock_guard<std::mutex> guard(l->home->lock);
    l->busy = false;
}

void free_lane(lane *l) {
    if (l->stream != nullptr) (void)cudaStreamSynchronize(l->stream);
    if (l->blas != nullptr) (void)cublasDestroy(l->blas);
    if (l->stream != nullptr) (void)cudaStreamDestroy(l->stream);
    (void)cudaFreeHost(l->pinned);
    (void)cudaFree(l->far);
    (void)cudaFree(l->scratch);
    std::free(l);
}

/* ---- the strip ------------------------------------------------------------------------------- */

bool begin(lane *l, int64_t numbers) {
    int64_t most = numbers + 8 * rounded(1); /* of no more than eight pieces */
    if (!works(l)) return false;
    if (l->used + most <= l->room) return true;
    settle(l); /* what is under way may still read it */
    if (most <= l->room) return works(l);
    (void)cudaFreeHost(l->pinned);
    (void)cudaFree(l->far);
    l->pinned = l->far = nullptr;
    l->room = 2 * most > 8192 ? 2 * most : 8192;
    size_t bytes = static_cast<size_t>(l->room) * sizeof(double);
    if (fine(l, cudaMallocHost(reinterpret_cast<void **>(&l->pinned), bytes), "pinned memory") &&
        fine(l, cudaMalloc(reinterpret_cast<void **>(&l->far), bytes), "memory"))
        return works(l);
    return false;
}

double *take(lane *l, int64_t n) {
    double *at = l->far + l->used;
    l->used += rounded(n);
    return at;
}

static void *copy_up(lane *l, int64_t n, const void *host) {
    double *near = l->pinned + l->used, *there = take(l, n);
    std::memcpy(near, host, static_cast<size_t>(n) * sizeof *near);
    if (n > 0)
        (void)fine(l,
                   cudaMemcpyAsync(there, near, static_cast<size_t>(n) * sizeof *near,
                                   cudaMemcpyHostToDevice, l->stream),
                   "a copy");
    return there;
}

const double *up(lane *l, int64_t n, const double *host) {
    return static_cast<const double *>(copy_up(l, n, host));
}

const int64_t *up(lane *l, int64_t n, const int64_t *host) {
    static_assert(sizeof(int64_t) == sizeof(double), "row numbers lie in the strip");
    return static_cast<const int64_t *>(copy_up(l, n, host));
}

/* What `alloc` handed out, by address: CUDA itself may not answer any more once it has failed. */
static std::mutex handed_out;
static std::map<const double *, int64_t> ours;

bool is_ours(const double *x) {
    std::lock_guard<std::mutex> guard(handed_out);
    auto next = ours.upper_bound(x);
    if (next == ours.begin()) return false;
    --next;
    return x < next->first + next->second;
}

const double *there(lane *l, int64_t n, const double *x) {
    return is_ours(x) ? x : up(l, n, x);
}

double *there_or_room(lane *l, int64_t n, double *x) {
    return is_ours(x) ? x : take(l, n);
}

void bring(lane *l, int64_t n, const double *from, double *x) {
    if (from == x) return; /* nobody waits for it */
    down(l, n, from, x);
    settle(l);
}

bool is_far(const double *A) {
    cudaPointerAttributes is;
    return cudaPointerGetAttributes(&is, A) == cudaSuccess && is.type == cudaMemoryTypeDevice;
}

void down(lane *l, int64_t n, const double *from, double *host) {
    double *near = l->pinned + l->used;
    l->used += rounded(n);
    if (n > 0)
        (void)fine(l,
                   cudaMemcpyAsync(near, from, static_cast<size_t>(n) * sizeof *near,
                                   cudaMemcpyDeviceToHost, l->stream),
                   "a copy");
    l->due[l->dues].to = host;
    l->due[l->dues].pinned = near;
    l->due[l->dues++].n = n;
}

void settle(lane *l) {
    if (fine(l, cudaGetLastError(), "a kernel"))
        (void)fine(l, cudaStreamSynchronize(l->stream), "the work");
    for (int k = 0; k < l->dues; k++) {
        if (!works(l)) lose(l->due[k].to, l->due[k].n);
        else
            std::memcpy(l->due[k].to, l->due[k].pinned,
                        static_cast<size_t>(l->due[k].n) * sizeof(double));
    }
    l->dues = 0;
    l->used = 0;
}

double *scratch_of(lane *l, int64_t n) {
    if (n <= l->scratch_room) return l->scratch;
    settle(l);
    (void)cudaFree(l->scratch);
    l->scratch = nullptr;
    l->scratch_room = 0;
    size_t bytes = static_cast<size_t>(n) * sizeof(double);
    if (fine(l, cudaMalloc(reinterpret_cast<void **>(&l->scratch), bytes), "memory"))
        l->scratch_room = n;
    return l->scratch;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static double *alloc(const sgfs_device *dev, int64_t n) {
    lane *l = lane_of(dev);
    void *A = nullptr;
    size_t bytes = static_cast<size_t>(n > 0 ? n : 1) * sizeof(double), left = 0, all = 0;
    if (!works(l)) return nullptr;
    cudaError_t code = cudaMalloc(&A, bytes);
    if (code == cudaErrorMemoryAllocation) {
        char what[60], why[120];
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&left, &all);
        std::snprintf(what, sizeof what, "room for %zu bytes", bytes);
        std::snprintf(why, sizeof why, "%zu bytes of its %zu are free", left, all);
        fail(l->home, what, why);
        return nullptr;
    }
    if (!fine(l, code, "memory")) return nullptr;
    /* Another thread may be the first to use it. */
    if (!fine(l, cudaMemsetAsync(A, 0, bytes, l->stream), "memory") ||
        !fine(l, cudaStreamSynchronize(l->stream), "memory")) {
        (void)cudaFree(A);
        return nullptr;
    }
    std::lock_guard<std::mutex> guard(handed_out);
    ours[static_cast<double *>(A)] = n > 0 ? n : 1;
    return static_cast<double *>(A);
}

static void give_back(const sgfs_device *dev, double *A) {
    (void)lane_of(dev); /* the right GPU */
    {
        std::lock_guard<std::mutex> guard(handed_out);
        ours.erase(A);
    }
    (void)cudaFree(A);
}

static double room(const sgfs_device *dev) {
    size_t left = 0, all = 0;
    (void)lane_of(dev);
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? static_cast<double>(left) : 0;
}

static void put(const sgfs_device *dev, int64_t n, const double *host, double *A) {
    lane *l = lane_of(dev);
    size_t bytes = static_cast<size_t>(n) * sizeof *A;
    if (!works(l) || n == 0) return;
    (void)fine(l, cudaMemcpyAsync(A, host, bytes, cudaMemcpyHostToDevice, l->stream), "a copy");
    settle(l); /* the host may write there again */
}

static void get(const sgfs_device *dev, int64_t n, const double *A, double *host) {
    lane *l = lane_of(dev);
    size_t bytes = static_cast<size_t>(n) * sizeof *A;
    if (works(l) && n > 0) /* `host` may be the GPU's */
        (void)fine(l, cudaMemcpyAsync(host, A, bytes, cudaMemcpyDefault, l->stream), "a copy");
    settle(l);
    if (!works(l)) lose(host, n);
}

static void zero(const sgfs_device *dev, int64_t n, double *A) {
    lane *l = lane_of(dev);
    size_t bytes = static_cast<size_t>(n) * sizeof *A;
    if (works(l)) (void)fine(l, cudaMemsetAsync(A, 0, bytes, l->stream), "zeros");
}

static void wait(const sgfs_device *dev) {
    lane *l = lane_of(dev);
    if (works(l)) settle(l);
}

/* ---- the device ------------------------------------------------------------------------------ */

static const char *library(const sgfs_device *dev) {
    return static_cast<const cuda_state *>(dev->state)->library;
}

static void close_card(sgfs_device *dev) {
    cuda_state *s = static_cast<cuda_state *>(dev->state);
    (void)lane_of(dev);
    for (lane *l = s->lanes, *next; l != nullptr; l = next) {
        next = l->next;
        free_lane(l);
    }
    last.serial = 0;
    delete s;
}

static sgfsi_cuda_found explain(cudaError_t code, sgfsi_cuda_found found, char *why, size_t room) {
    (void)cudaGetLastError();
    std::snprintf(why, room, "%s", cudaGetErrorString(code));
    return found;
}

static sgfsi_cuda_found open_card(int64_t number, void **state, sgfsi_cuda_card *card, char *why,
                                  size_t room) {
    constexpr int LEAST_SHARED = 144 << 10; /* four tiles of 64 x 64, and some more */
    int cards = 0, driver = 0, runtime = 0, shared = 0;
    cudaDeviceProp is;
    size_t left = 0, all = 0;
    std::memset(card, 0, sizeof *card);
    cudaError_t code = cudaGetDeviceCount(&cards);
    if (code != cudaSuccess) return explain(code, SGFSI_CUDA_NONE, why, room);
    card->cards = cards;
    if (cards == 0) return explain(cudaErrorNoDevice, SGFSI_CUDA_NONE, why, room);
    if (number >= cards) return SGFSI_CUDA_FEWER;
    code = cudaSetDevice(static_cast<int>(number));
    if (code == cudaSuccess) code = cudaGetDeviceProperties(&is, static_cast<int>(number));
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                      static_cast<int>(number));
    if (code == cudaSuccess) code = cudaMemGetInfo(&left, &all);
    if (code == cudaSuccess) code = cudaDriverGetVersion(&driver);
    if (code == cudaSuccess) code = cudaRuntimeGetVersion(&runtime);
    if (code != cudaSuccess) return explain(code, SGFSI_CUDA_BROKEN, why, room);
    std::snprintf(card->name, sizeof card->name, "%.79s", is.name);
    std::snprintf(card->library, sizeof card->library,
                  "%.79s (compute capability %d.%d), CUDA %d.%d, driver for CUDA %d.%d", is.name,
                  is.major, is.minor, runtime / 1000, runtime % 1000 / 10, driver / 1000,
                  driver % 1000 / 10);
    if (shared < LEAST_SHARED) {
        std::snprintf(why, room,
                      "threads of the %.79s (compute capability %d.%d) share %d kB of memory, and "
                      "%d are needed, which A100, H100 and their like have",
                      is.name, is.major, is.minor, shared >> 10, LEAST_SHARED >> 10);
        return SGFSI_CUDA_SMALL;
    }
    card->free_bytes = static_cast<double>(left);
    card->bytes = static_cast<double>(all);
    cuda_state *s = new cuda_state();
    s->serial = ++serials;
    s->number = static_cast<int>(number);
    std::memcpy(s->name, card->name, sizeof s->name);
    std::memcpy(s->library, card->library, sizeof s->library);
    sgfs_device trial = {};
    trial.state = s;
    (void)lane_of(&trial);
    if (!s->failed) {
        *state = s;
        return SGFSI_CUDA_FINE;
    }
    std::snprintf(why, room, "%s", s->why);
    close_card(&trial);
    return SGFSI_CUDA_BROKEN;
}

static sgfsi_device_ops table(void) {
    sgfsi_device_ops ops = {};
    ops.dot = cuda_dot;
    ops.axpy = cuda_axpy;
    ops.gemv = cuda_gemv;
    ops.gemv_t = cuda_gemv_t;
    ops.gemm_tn = cuda_gemm_tn;
    ops.gemm_nt = cuda_gemm_nt;
    ops.gemm_nn = cuda_gemm_nn;
    ops.syrk_t = cuda_syrk_t;
    ops.potrf = cuda_potrf;
    ops.unpotrf = cuda_unpotrf;
    ops.potri = cuda_potri;
    ops.chol_update = cuda_chol_update;
    ops.inv_update = cuda_inv_update;
    ops.trsv = cuda_trsv;
    ops.trmv = cuda_trmv;
    ops.symv = cuda_symv;
    ops.exp = cuda_exp;
    ops.log1p = cuda_log1p;
    ops.alloc = alloc;
    ops.free = give_back;
    ops.put = put;
    ops.get = get;
    ops.zero = zero;
    ops.times = cuda_times;
    ops.softmax = cuda_softmax;
    ops.unit_less = cuda_unit_less;
    ops.minus = cuda_minus;
    ops.activate = cuda_activate;
    ops.slope = cuda_slope;
    ops.classes = cuda_classes;
    ops.boltzmann = cuda_boltzmann;
    ops.outer = cuda_outer;
    ops.outer_sums = cuda_outer_sums;
    ops.outer_squares = cuda_outer_squares;
    ops.squares = cuda_squares;
    ops.combine = cuda_combine;
    ops.add_diag = cuda_add_diag;
    ops.get_diag = cuda_get_diag;
    ops.trace = cuda_trace;
    ops.transpose = cuda_transpose;
    ops.solve_noisy = cuda_solve_noisy;
    ops.invert_factor = cuda_invert_factor;
    ops.close = close_card;
    ops.keep_rows = cuda_keep_rows;
    ops.drop_rows = cuda_drop_rows;
    ops.gather = cuda_gather;
    ops.rows_there = cuda_rows_there;
    ops.scale_rows = cuda_scale_rows;
    ops.collect = cuda_collect;
    ops.pick = cuda_pick;
    ops.measure = cuda_measure;
    ops.fetch = cuda_fetch;
    ops.walk = cuda_walk;
    ops.keep_glm = cuda_keep_glm;
    ops.drop_glm = cuda_drop_glm;
    ops.ask_glm = cuda_ask_glm;
    ops.open_pairs = cuda_open_pairs;
    ops.close_pairs = cuda_close_pairs;
    ops.begin_pairs = cuda_begin_pairs;
    ops.await_pairs = cuda_await_pairs;
    ops.lend = cuda_lend;
    ops.take_back = cuda_take_back;
    ops.room = room;
    ops.library = library;
    ops.wait = wait;
    ops.trouble = trouble;
    return ops;
}

static const sgfsi_device_ops ops = table();

extern "C" __attribute__((visibility("default"))) const sgfsi_cuda sgfsi_cuda_plugin;
const sgfsi_cuda sgfsi_cuda_plugin = {SGFSI_CUDA_STAMP, SGFS_VERSION_TEXT, sizeof(sgfsi_device_ops),
                                      &ops, open_card};
