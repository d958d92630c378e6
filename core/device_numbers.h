/* SPDX-License-Identifier: Apache-2.0
 *
 * struct device_numbers holds what a stage may know of the CUDA device that will run it. A stage's
 * plan (methods, sizes of blocks, scratch memory) depends only on these numbers, so stages are
 * planned without CUDA. cuda/device/device.c asks the driver for them. Compute capabilities are 10
 * * major + minor .
 */
#ifndef CORE_DEVICE_NUMBERS_H
#define CORE_DEVICE_NUMBERS_H

#include <stddef.h>

/* The first compute capability whose tensor cores multiply halves in the shapes of
 * cuda/projection/tensor.cuh, and the first with clusters (blocks that read each other's shared
 * memory). */
enum { CUDA_TENSOR_CODE = 80, CUDA_CLUSTER_CODE = 90 };

struct device_numbers {
    int index;
    char name[128];
    int major, minor; /* compute capability of the device */
    int code; /* compute capability that the code was compiled for which runs on this device; 0:
               * none runs */
    size_t memory_bytes;
    int multiprocessors;
    int threads;            /* most threads that one multiprocessor holds at a time */
    int shared_bytes;       /* shared memory of one multiprocessor */
    int block_shared_bytes; /* the most shared memory that one block may have (above 48 KiB it must
                             * ask for it) */
    int l2_bytes;
    int double_ratio; /* how many floats a multiprocessor multiplies in the time of one double */
};

#endif
