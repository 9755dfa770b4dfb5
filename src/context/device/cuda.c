/* SPDX-License-Identifier: MIT
 * cuda.c: NVIDIA GPUs. This file calls nothing of CUDA: what does is a plug-in (cuda_plugin.cu),
 * which is looked for beside the library and loaded where a GPU is asked for.
 */
#include <string.h>

#include "base/library.h"
#include "context/device/cuda_plugin.h"

static const char file[] = "libsgfs_cuda.so";

/* NULL with a sentence. It stays open: CUDA cannot be unloaded. */
static const sgfsi_cuda *load(sgfs_err *err) {
    char path[4000];
    if (!sgfsi_library_plugin(file, path, sizeof path)) {
        sgfsi_fail(err, SGFS_EUSAGE,
                   "--device cuda needs %s, which this build of sgfs does not have: `make cuda` "
                   "builds it where there is nvcc (docs/gpu.md).",
                   file);
        return NULL;
    }
    sgfsi_library *library = sgfsi_library_open(path, err);
    if (library == NULL) return NULL;
    const sgfsi_cuda *cuda = sgfsi_library_find(library, SGFSI_CUDA_SYMBOL);
    if (cuda != NULL && cuda->stamp == SGFSI_CUDA_STAMP &&
        cuda->bytes == sizeof(sgfsi_device_ops) && strcmp(cuda->version, SGFS_VERSION_TEXT) == 0)
        return cuda;
    sgfsi_library_close(library);
    sgfsi_fail(err, SGFS_EUSAGE,
               "%.300s: belongs to another version of sgfs than " SGFS_VERSION_TEXT
               ": build both anew (`make cuda`).",
               path);
    return NULL;
}

static sgfs_status open_card(sgfs_device *dev, sgfs_err *err) {
    sgfsi_cuda_card card;
    char why[300] = "";
    const sgfsi_cuda *cuda = load(err);
    if (cuda == NULL) return sgfsi_why(err);
    switch (cuda->open(dev->number, &dev->state, &card, why, sizeof why)) {
    case SGFSI_CUDA_FINE: dev->ops = cuda->ops; return SGFS_OK;
    case SGFSI_CUDA_FEWER:
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "There is no GPU %lld: this machine has %lld, counted from 0.",
                          (long long)dev->number, (long long)card.cards);
    case SGFSI_CUDA_NONE:
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--device cuda needs an NVIDIA GPU and its driver, and CUDA finds none: "
                          "%.200s. --device blas works without.",
                          why);
    case SGFSI_CUDA_SMALL:
        return sgfsi_fail(err, SGFS_EUSAGE, "--device cuda:%lld: %.250s. --device blas works.",
                          (long long)dev->number, why);
    case SGFSI_CUDA_BROKEN: break;
    }
    return sgfsi_fail(err, SGFS_EIO, "The GPU %lld cannot be used: %.300s.", (long long)dev->number,
                      why);
}

static const sgfsi_device_ops ops = {.open = open_card};

const sgfs_device sgfs_device_cuda = {.name = "cuda",
                                      .help = "an NVIDIA GPU (cuda:1: the second one)",
                                      .ops = &ops,
                                      .most = INT32_MAX};
