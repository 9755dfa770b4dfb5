/* SPDX-License-Identifier: MIT
 * cuda_plugin.h: what cuda.c, a part of the library, and cuda_plugin.cu, a shared object of its
 * own, know of each other. Neither needs a symbol of the other's: the library finds one struct by
 * its name, and compares who made it. The operations are those of device.h.
 */
#pragma once

#include "context/device/device.h"

/* Raised when this struct or what its functions do changes. */
#define SGFSI_CUDA_STAMP  2
#define SGFSI_CUDA_SYMBOL "sgfsi_cuda_plugin"

typedef struct sgfsi_cuda_card {
    char name[80];            /* "NVIDIA H200" */
    char library[200];        /* with the versions of CUDA and of the driver */
    double free_bytes, bytes; /* of its memory */
    int64_t cards;            /* how many there are */
} sgfsi_cuda_card;

/* How opening one ended. */
typedef enum sgfsi_cuda_found {
    SGFSI_CUDA_FINE,
    SGFSI_CUDA_NONE,  /* no GPU, or a driver that is too old: why says it */
    SGFSI_CUDA_FEWER, /* there are GPUs, but none of that number */
    SGFSI_CUDA_SMALL, /* it is there, and of a kind for which this is not made: why says it */
    SGFSI_CUDA_BROKEN /* it is there and cannot work: why says it */
} sgfsi_cuda_found;

typedef struct sgfsi_cuda {
    uint64_t stamp;
    const char *version; /* of sgfs */
    uint64_t bytes;      /* sizeof(sgfsi_device_ops): whoever builds one part builds both */
    const sgfsi_device_ops *ops;
    /* GPU `number` as *state, for ops->close to give back. card may be filled where it fails. */
    sgfsi_cuda_found (*open)(int64_t number, void **state, sgfsi_cuda_card *card, char *why,
                             size_t room);
} sgfsi_cuda;
