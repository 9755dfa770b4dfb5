/* SPDX-License-Identifier: MIT
 * cuda_runtime.h: as much of CUDA as the plug-in uses, pretended on the processor at hand, so that
 * every kernel is run and compared where there is no GPU (tests/CMakeLists.txt builds it).
 *
 * Threads of a kernel go one after another; those that wait for each other are fibers, of which the
 * next one goes on where one waits. Memory of the pretended GPU is ordinary memory,
 * and is known by its addresses: whoever hands an address of the host's to a kernel is not found
 * out. It begins as NaN, so that whoever reads what nobody wrote is.
 * SGFS_PRETENDED_BYTES in the environment is how much of it there is, SGFS_PRETENDED_CARDS how many
 * GPUs, SGFS_PRETENDED_SHARED how many bytes threads of a block may share, and SGFS_PRETENDED_LOSS
 * after how many launches the GPU is lost.
 */
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#define __global__
#define __device__
#define __shared__ static thread_local
#define __restrict__
#define __launch_bounds__(...)

struct alignas(16) double2 {
    double x, y;
};
struct pretended_index {
    unsigned x;
};
inline thread_local pretended_index threadIdx, blockIdx, blockDim, gridDim;

/* Past the first level of its cache. */
inline double __ldcg(const double *x) {
    return *x;
}
template <typename T> void __stcg(T *x, T value) {
    *x = value;
}

/* ---- status ---------------------------------------------------------------------------------- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNoDevice = 100,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719
};
inline const char *cudaGetErrorString(cudaError_t code) {
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    }
    return "?";
}

inline int64_t pretended_number(const char *name, int64_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr ? std::atoll(text) : otherwise;
}

inline std::mutex pretended_lock;
inline std::map<const char *, size_t> pretended_memory;
inline int64_t pretended_used, pretended_launches;
inline bool pretended_lost;

inline cudaError_t pretended_state() {
    return pretended_lost ? cudaErrorLaunchFailure : cudaSuccess;
}

/* ---- the device ------------------------------------------------------------------------------ */

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};
inline cudaError_t cudaGetDeviceCount(int *count) {
    *count = static_cast<int>(pretended_number("SGFS_PRETENDED_CARDS", 1));
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
inline cudaError_t cudaSetDevice(int) {
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *is, int) {
    std::snprintf(is->name, sizeof is->name, "pretended GPU");
    is->major = is->minor = 0;
    return cudaSuccess;
}
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrMultiProcessorCount };
inline cudaError_t cudaGetDevice(int *number) {
    *number = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int) {
    *value = what == cudaDevAttrMultiProcessorCount
                 ? 3
                 : static_cast<int>(pretended_number("SGFS_PRETENDED_SHARED", 1 << 18));
    return cudaSuccess;
}
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
template <typename F> cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int) {
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
    return pretended_state();
}

inline double __dmul_rn(double x, double y) {
    return x * y;
}
inline double __dadd_rn(double x, double y) {
    return x + y;
}
inline double rsqrt(double x) {
    return 1 / std::sqrt(x);
}

/* ---- memory ---------------------------------------------------------------------------------- */

inline int64_t pretended_bytes() {
    return pretended_number("SGFS_PRETENDED_BYTES", int64_t{1} << 32);
}
inline cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    *all = static_cast<size_t>(pretended_bytes());
    *left = *all - static_cast<size_t>(pretended_used);
    return cudaSuccess;
}
inline cudaError_t cudaMalloc(void **A, size_t bytes) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    if (pretended_lost) return cudaErrorLaunchFailure;
    if (pretended_used + static_cast<int64_t>(bytes) > pretended_bytes())
        return cudaErrorMemoryAllocation;
    char *at = static_cast<char *>(std::malloc(bytes + 1));
    std::memset(at, 0xff, bytes); /* NaN */
    pretended_memory[at] = bytes;
    pretended_used += static_cast<int64_t>(bytes);
    *A = at;
    return cudaSuccess;
}
inline cudaError_t cudaFree(void *A) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    auto found = pretended_memory.find(static_cast<char *>(A));
    if (A == nullptr) return cudaSuccess;
    if (found == pretended_memory.end()) std::abort();
    pretended_used -= static_cast<int64_t>(found->second);
    pretended_memory.erase(found);
    std::free(A);
    return cudaSuccess;
}
inline cudaError_t cudaMallocHost(void **A, size_t bytes) {
    *A = std::malloc(bytes);
    std::memset(*A, 0xff, bytes);
    return pretended_state();
}
inline cudaError_t cudaFreeHost(void *A) {
    std::free(A);
    return cudaSuccess;
}
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *is, const void *A) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    const char *at = static_cast<const char *>(A);
    auto next = pretended_memory.upper_bound(at);
    is->type = cudaMemoryTypeUnregistered;
    is->device = 0;
    if (next == pretended_memory.begin()) return cudaSuccess;
    --next;
    if (at < next->first + next->second) is->type = cudaMemoryTypeDevice;
    return cudaSuccess;
}
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return pretended_state();
}

/* Memory of the GPU that others made, such as the arrays of a Python program: nobody but a kernel
 * may look at it, whoever else does dies of a segmentation fault. Filled by whoever asked for it,
 * until it is shut. */
inline std::map<char *, size_t> pretended_foreign;
inline int64_t pretended_kernels; /* that are under way */

inline void pretended_protect(int how) {
    for (const auto &piece : pretended_foreign) (void)mprotect(piece.first, piece.second, how);
}
struct pretended_kernel {
    pretended_kernel() {
        std::lock_guard<std::mutex> guard(pretended_lock);
        if (pretended_kernels++ == 0) pretended_protect(PROT_READ);
    }
    ~pretended_kernel() {
        std::lock_guard<std::mutex> guard(pretended_lock);
        if (--pretended_kernels == 0) pretended_protect(PROT_NONE);
    }
    pretended_kernel(const pretended_kernel &) = delete;
    pretended_kernel &operator=(const pretended_kernel &) = delete;
};

#define PRETENDED_EXPORT extern "C" __attribute__((visibility("default"), used)) inline
PRETENDED_EXPORT void *pretended_foreign_open(size_t bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? at : nullptr;
}
PRETENDED_EXPORT void pretended_foreign_shut(void *at, size_t bytes) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    pretended_foreign[static_cast<char *>(at)] = bytes;
    pretended_memory[static_cast<char *>(at)] = bytes;
    (void)mprotect(at, bytes, PROT_NONE);
}
PRETENDED_EXPORT void pretended_foreign_free(void *at, size_t bytes) {
    std::lock_guard<std::mutex> guard(pretended_lock);
    pretended_foreign.erase(static_cast<char *>(at));
    pretended_memory.erase(static_cast<char *>(at));
    (void)munmap(at, bytes);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Everything is done at once, but for the copies of a stream that does nothing else: these are done
 * when somebody waits for them, as late as they may be. */
struct pretended_stream {
    bool works; /* kernels are started in it */
    std::deque<std::function<void()>> copies;
    int64_t begun, done;
};
typedef pretended_stream *cudaStream_t;
inline void pretended_wait_for(cudaStream_t s, int64_t copies) {
    for (; s->done < copies; s->done++) {
        s->copies.front()();
        s->copies.pop_front();
    }
}
enum { cudaStreamNonBlocking = 1 };
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most) {
    *least = *most = 0;
    return pretended_state();
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) {
    *s = new pretended_stream();
    return pretended_state();
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) {
    *s = new pretended_stream();
    (*s)->works = true; /* what only copies has none */
    return pretended_state();
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    pretended_wait_for(s, s->begun);
    return pretended_state();
}
inline cudaError_t cudaStreamQuery(cudaStream_t s) {
    return cudaStreamSynchronize(s);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s) {
    if (s->begun != s->done) std::abort(); /* nobody has waited for them */
    delete s;
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t s) {
    if (s->works) return cudaMemcpy(to, from, bytes, kind);
    s->copies.push_back([=]() { std::memcpy(to, from, bytes); });
    s->begun++;
    return pretended_state();
}

inline cudaError_t cudaDeviceSynchronize() {
    return pretended_state();
}

struct pretended_event {
    cudaStream_t stream;
    int64_t copies;
};
typedef pretended_event *cudaEvent_t;
enum { cudaEventDisableTiming = 2 };
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) {
    *e = new pretended_event();
    return pretended_state();
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete e;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    *e = {s, s->begun};
    return pretended_state();
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    if (e->stream != nullptr) pretended_wait_for(e->stream, e->copies);
    return pretended_state();
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t e, unsigned) {
    return cudaEventSynchronize(e);
}
inline cudaError_t cudaMemsetAsync(void *A, int byte, size_t bytes, cudaStream_t) {
    std::memset(A, byte, bytes);
    return pretended_state();
}

/* ---- threads --------------------------------------------------------------------------------- */

struct jmp_buf_of {
    jmp_buf here;
};

/* The fibers of a block, what each waits for, and what it holds up for the others (__shfl_sync). */
enum pretended_wait : char {
    PRETENDED_GOES,
    PRETENDED_BLOCK,
    PRETENDED_WARP,
    PRETENDED_CLUSTER,
    PRETENDED_DONE
};
enum { PRETENDED_LANES = 32 }; /* of a warp */
struct pretended_block {
    ucontext_t home;
    std::deque<ucontext_t> fiber;
    jmp_buf back;                   /* to whoever runs the fibers: a switch without a system call */
    std::deque<jmp_buf_of> at_rest; /* where each of them waits */
    std::vector<char> begun;
    std::deque<std::vector<char>> stack;
    std::vector<pretended_wait> waits;
    std::vector<double> held;
    std::function<void()> work;
    struct meeting {
        int there;   /* threads that have come to a barrier of its own */
        int64_t met; /* how often all have */
    };
    std::vector<meeting> meetings; /* of each block */
    unsigned at, threads, first; /* the fiber at hand; of a block; the first of those at hand */
    std::deque<std::vector<double>> pool;
};
inline thread_local pretended_block pretended;

inline void pretended_stop(pretended_wait why) {
    pretended.waits[pretended.at] = why;
    if (_setjmp(pretended.at_rest[pretended.at].here) == 0) _longjmp(pretended.back, 1);
}
/* It is there for the next kernel, too. */
inline void pretended_fiber() {
    for (;;) {
        pretended.work();
        pretended_stop(PRETENDED_DONE);
    }
}
inline void __syncthreads() {
    pretended_stop(PRETENDED_BLOCK);
}
inline void __syncwarp() {
    pretended_stop(PRETENDED_WARP);
}
inline void __threadfence_system() {
}
inline double __shfl_sync(unsigned, double x, int from) {
    unsigned me = pretended.at;
    pretended.held[me] = x;
    pretended_stop(PRETENDED_WARP);
    unsigned first = me / PRETENDED_LANES * PRETENDED_LANES;
    double got = pretended.held[first + static_cast<unsigned>(from)];
    pretended_stop(PRETENDED_WARP);
    return got;
}

/* add_product of cuda_lane.cuh. */
#define ADD_PRODUCT
inline void add_product(double sum[2], double x, double y) {
    unsigned me = pretended.at, warp = me / PRETENDED_LANES * PRETENDED_LANES;
    unsigned i = me % 32 / 4, j = me % 4;
    double row[4];
    pretended.held[me] = x;
    pretended_stop(PRETENDED_WARP);
    for (unsigned k = 0; k < 4; k++) row[k] = pretended.held[warp + 4 * i + k];
    pretended_stop(PRETENDED_WARP);
    pretended.held[me] = y;
    pretended_stop(PRETENDED_WARP);
    for (unsigned c = 0; c < 2; c++)
        for (unsigned k = 0; k < 4; k++)
            sum[c] += row[k] * pretended.held[warp + 4 * (2 * j + c) + k];
    pretended_stop(PRETENDED_WARP);
}

/* Those of cuda_lane.cuh, too: what a block may share, and copies that are there at once. */
enum { PRETENDED_POOL = 1 << 18 };
#define POOL(name) double *name = pretended_pool()
inline double *pretended_pool() {
    size_t which = blockIdx.x - pretended.first;
    while (pretended.pool.size() <= which)
        pretended.pool.emplace_back(PRETENDED_POOL / sizeof(double));
    return pretended.pool[which].data();
}
#define TOGETHER_IN(l, kernel, blocks, threads, bytes, ...)                                        \
    TOGETHER(l, kernel, blocks, threads, __VA_ARGS__)
inline void copy_ahead(double *to, const double *from) {
    to[0] = from[0];
    to[1] = from[1];
}
inline void end_lot() {
}
template <int> inline void await_lots() {
}

/* Fibers from..end - 1 go on where all of them that are not done wait for each other. */
inline bool pretended_release(size_t from, size_t end, pretended_wait why) {
    size_t waiting = 0;
    for (size_t t = from; t < end; t++) {
        if (pretended.waits[t] == PRETENDED_DONE) continue;
        if (pretended.waits[t] != why) return false;
        waiting++;
    }
    for (size_t t = from; t < end; t++)
        if (pretended.waits[t] == why) pretended.waits[t] = PRETENDED_GOES;
    return waiting > 0;
}

/* The fiber at hand goes on, until it waits. */
inline __attribute__((noinline)) void pretended_resume() {
    if (_setjmp(pretended.back) != 0) return;
    if (pretended.begun[pretended.at]) _longjmp(pretended.at_rest[pretended.at].here, 1);
    pretended.begun[pretended.at] = true;
    swapcontext(&pretended.home, &pretended.fiber[pretended.at]);
}

/* Runs the fibers of so many blocks from `first` on until they are done. Who looks for a number of
 * another block goes on, and lets the others go on (let_others_go_on). */
inline void pretended_run(unsigned first, unsigned blocks) {
    unsigned threads = pretended.threads, all = blocks * threads;
    pretended.first = first;
    for (bool going = true; going;) {
        going = false;
        for (unsigned f = 0; f < all; f++) {
            if (pretended.waits[f] != PRETENDED_GOES) continue;
            pretended.at = f;
            threadIdx.x = f % threads;
            blockIdx.x = first + f / threads;
            pretended_resume();
            going = going || pretended.waits[f] == PRETENDED_GOES;
        }
        going = pretended_release(0, all, PRETENDED_CLUSTER) || going;
        for (size_t block = 0; block < all; block += threads) {
            size_t end = block + threads;
            going = pretended_release(block, end, PRETENDED_BLOCK) || going;
            for (size_t warp = block; warp < end; warp += PRETENDED_LANES)
                going = pretended_release(warp, std::min<size_t>(warp + PRETENDED_LANES, end),
                                          PRETENDED_WARP) ||
                        going;
        }
    }
    for (unsigned f = 0; f < all; f++)
        if (pretended.waits[f] != PRETENDED_DONE) std::abort(); /* they wait for ever */
}

inline void pretended_count() {
    int64_t most = pretended_number("SGFS_PRETENDED_LOSS", -1);
    std::lock_guard<std::mutex> guard(pretended_lock);
    if (++pretended_launches > most && most >= 0) pretended_lost = true;
}

/* Each thread of each block in turn. */
template <typename F> void pretend_each(unsigned blocks, unsigned threads, F work) {
    const pretended_kernel now;
    pretended_count();
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) work();
}

/* Fibers for so many blocks of so many threads. */
inline void pretended_fibers(unsigned blocks, unsigned threads) {
    enum { STACK = 1 << 16 };
    const pretended_kernel now;
    pretended_block &b = pretended;
    b.threads = threads;
    b.held.resize(blocks * threads);
    while (b.fiber.size() < blocks * threads) { /* they have their own addresses, and stay there */
        b.fiber.emplace_back();
        b.at_rest.emplace_back();
        b.begun.push_back(false);
        b.stack.emplace_back(STACK);
        getcontext(&b.fiber.back());
        b.fiber.back().uc_stack.ss_sp = b.stack.back().data();
        b.fiber.back().uc_stack.ss_size = STACK;
        b.fiber.back().uc_link = nullptr;
        makecontext(&b.fiber.back(), pretended_fiber, 0);
    }
    b.waits.assign(blocks * threads, PRETENDED_GOES);
    b.meetings.assign(blocks * 16, {0, 0});
}

/* So many blocks at a time, whose threads go from one place where they wait to the next. */
template <typename F>
void pretend_together(unsigned blocks, unsigned threads, unsigned at_once, F work) {
    pretended_count();
    gridDim.x = blocks;
    blockDim.x = threads;
    pretended.work = work;
    for (unsigned first = 0; first < blocks; first += at_once) {
        pretended_fibers(at_once, threads);
        pretended_run(first, at_once);
    }
}

#define EACH(l, kernel, count, ...)                                                                \
    do {                                                                                           \
        (void)(l);                                                                                 \
        if ((count) > 0)                                                                           \
            pretend_each((unsigned)pieces((count), THREADS), THREADS,                              \
                         [&]() { kernel(__VA_ARGS__); });                                          \
    } while (0)
#define TOGETHER(l, kernel, blocks, threads, ...)                                                  \
    (void)(l),                                                                                     \
        pretend_together((unsigned)(blocks), (unsigned)(threads), 1,                               \
                         [&]() { kernel(__VA_ARGS__); })

/* Those of cuda_lane.cuh for blocks that wait for each other. */
#define AT_ONCE(l, kernel, blocks, threads, bytes, ...)                                            \
    (void)(l), (void)(bytes),                                                                      \
        pretend_together((unsigned)(blocks), (unsigned)(threads), (unsigned)(blocks),              \
                         [&]() { kernel(__VA_ARGS__); })
inline void let_others_go_on() {
    pretended_stop(PRETENDED_GOES);
}
enum { PRETENDED_BARRIERS = 16 };
inline pretended_block::meeting &arrive(int barrier, int threads) {
    size_t at = (blockIdx.x - pretended.first) * PRETENDED_BARRIERS + (size_t)barrier;
    pretended_block::meeting &m = pretended.meetings[at];
    if (++m.there == threads) {
        m.there = 0;
        m.met++;
    }
    return m;
}
inline void meet(int barrier, int threads) {
    size_t at = (blockIdx.x - pretended.first) * PRETENDED_BARRIERS + (size_t)barrier;
    const int64_t before = pretended.meetings[at].met;
    for (pretended_block::meeting &m = arrive(barrier, threads); m.met == before;)
        let_others_go_on();
}
inline unsigned look(const unsigned *flag) {
    return *flag;
}
inline double look(const double *x) {
    return *x;
}
inline void publish(unsigned *flag, unsigned value) {
    *flag = value;
}
inline void publish(double *x, double value) {
    *x = value;
}

/* Those of cuda_cluster.cuh: blocks that see each other's memory, a cluster of them at a time. */
#define CLUSTERS(l, kernel, clusters, size, threads, bytes, ...)                                   \
    (void)(l), (void)(bytes),                                                                      \
        pretend_together((unsigned)((clusters) * (size)), (unsigned)(threads), (unsigned)(size),   \
                         [&]() { kernel(__VA_ARGS__); })
struct lane;
template <typename F> int64_t clusters_at_once(lane *, F *, int, int, size_t) {
    return 1;
}
inline int rank_in_cluster() {
    return static_cast<int>(blockIdx.x - pretended.first);
}
template <typename N> N *in_block(N *mine, int rank) {
    double *other = pretended.pool[static_cast<size_t>(rank)].data();
    return reinterpret_cast<N *>(reinterpret_cast<char *>(other) + (reinterpret_cast<char *>(mine) -
                                 reinterpret_cast<char *>(pretended_pool())));
}
inline void arrive() {
}
inline void await() {
    pretended_stop(PRETENDED_CLUSTER);
}
inline void copy_one_ahead(double *to, const double *from) {
    *to = *from;
}
