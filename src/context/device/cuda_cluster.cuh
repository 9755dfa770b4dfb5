/* SPDX-License-Identifier: MIT
 * cuda_cluster.cuh: clusters, a few blocks of threads that run at the same time, wait for each
 * other and see the memory that each of them shares (compute capability 9.0 and later). A block
 * alone is a cluster of one. What a block shares is one struct:
 *
 *     room &r = SHARED_ROOM(room);
 *     *in_block(&r.x, 3) = 1;          block 3 of this cluster has it in its own room
 *     arrive(); ... await();           when all have arrived, each sees what the others wrote
 */
#pragma once

#include "context/device/cuda_lane.cuh"

#ifndef CLUSTERS
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900 /* nobody starts one there */
__device__ static inline int rank_in_cluster(void) {
    return 0;
}
template <typename N> __device__ static inline N *in_block(N *mine, int) {
    return mine;
}
__device__ static inline void arrive(void) {
}
__device__ static inline void await(void) {
}
#else
__device__ static inline int rank_in_cluster(void) {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
template <typename N> __device__ static inline N *in_block(N *mine, int rank) {
    N *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(rank));
    return there;
}
__device__ static inline void arrive(void) {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
__device__ static inline void await(void) {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
#endif
__device__ static inline void copy_one_ahead(double *to, const double *from) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}

/* attributes: room for one */
static inline cudaLaunchConfig_t cluster_config(lane *l, int64_t clusters, int size, int threads,
                                                size_t bytes, cudaLaunchAttribute *attributes) {
    cudaLaunchConfig_t how = {};
    attributes->id = cudaLaunchAttributeClusterDimension;
    attributes->val.clusterDim.x = static_cast<unsigned>(size);
    attributes->val.clusterDim.y = attributes->val.clusterDim.z = 1;
    how.gridDim = dim3(static_cast<unsigned>(clusters * size));
    how.blockDim = dim3(static_cast<unsigned>(threads));
    how.dynamicSmemBytes = bytes;
    how.stream = l->stream;
    how.attrs = attributes;
    how.numAttrs = size > 1 ? 1 : 0;
    return how;
}
template <typename F> static inline bool lend_memory(lane *l, F *kernel, size_t bytes) {
    return fine(l,
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)),
                "memory of a block");
}
template <typename... P>
static inline void start_clusters(lane *l, void (*kernel)(P...), int64_t clusters, int size,
                                  int threads, size_t bytes, typename exactly<P>::type... is) {
    cudaLaunchAttribute attributes;
    cudaLaunchConfig_t how = cluster_config(l, clusters, size, threads, bytes, &attributes);
    if (lend_memory(l, kernel, bytes))
        (void)fine(l, cudaLaunchKernelEx(&how, kernel, is...), "a kernel");
}
#define CLUSTERS(l, kernel, clusters, size, threads, bytes, ...)                                   \
    start_clusters(l, kernel, clusters, size, threads, bytes, __VA_ARGS__)
/* How many clusters the GPU has room for side by side; 0: it knows none. */
template <typename F>
static inline int64_t clusters_at_once(lane *l, F *kernel, int size, int threads, size_t bytes) {
    int number = 0, knows = 0, most = 0;
    cudaLaunchAttribute attributes;
    cudaLaunchConfig_t how = cluster_config(l, 1, size, threads, bytes, &attributes);
    if (cudaGetDevice(&number) != cudaSuccess ||
        cudaDeviceGetAttribute(&knows, cudaDevAttrClusterLaunch, number) != cudaSuccess ||
        knows == 0 || !lend_memory(l, kernel, bytes))
        return 0;
    bool told = cudaOccupancyMaxActiveClusters(&most, kernel, &how) == cudaSuccess;
    (void)cudaGetLastError();
    return told ? most : 0;
}
#endif
