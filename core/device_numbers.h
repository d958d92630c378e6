/* SPDX-License-Identifier: Apache-2.0
 *
 * struct device_numbers holds what a stage may know of the CUDA device that will run it. A stage's
 * plan (methods, sizes of blocks, scratch memory) depends on these numbers alone, so stages are
 * planned without CUDA. cuda/device/device.c asks the driver for them. Compute capabilities are 10
 * * major + minor where one number holds them.
 */
#ifndef CORE_DEVICE_NUMBERS_H
#define CORE_DEVICE_NUMBERS_H

#include <stddef.h>

/* The first compute capability whose code can multiply halves in tensor cores with operands of the
 * shape that cuda/projection/tensor.cuh takes, and the first with clusters, whose blocks read each
 * other's shared memory. */
enum { CUDA_TENSOR_CODE = 80, CUDA_CLUSTER_CODE = 90 };

struct device_numbers {
    int index;
    char name[128];
    int major, minor; /* compute capability of the device */
    int code; /* compute capability that the code was compiled for which runs there; 0: none does */
    size_t memory_bytes;
    int multiprocessors;
    int threads;            /* resident on one multiprocessor */
    int shared_bytes;       /* shared memory of one multiprocessor */
    int block_shared_bytes; /* the most that one block may have, which must ask for more than 48
                             * KiB */
    int l2_bytes;
    int double_ratio; /* how often a multiprocessor multiplies floats while it multiplies one
                       * double */
};

#endif
