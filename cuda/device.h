/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CUDA devices there are. The driver is opened while running, so a program built with CUDA starts on machines
 * without it, and one built without CUDA can still say what it sees.
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "pipeline/diag.h"

enum { CUDA_MAX_DEVICES = 16, CUDA_DRIVER_MINIMUM = 11080 }; /* 11.8: the first that knows compute capability 9.0 */

struct cuda_device {
    int index;
    char name[128];
    int major, minor; /* compute capability */
    size_t memory_bytes;
    int multiprocessors;
    int threads;            /* resident on one multiprocessor */
    int shared_bytes;       /* of one multiprocessor */
    int block_shared_bytes; /* at most, of one block that asks for more than 48 KiB */
    int l2_bytes;
};

struct cuda_devices {
    int driver; /* 1000 * major + 10 * minor */
    int n;
    struct cuda_device devices[CUDA_MAX_DEVICES];
};

/* True where this build holds the CUDA side. */
bool ts_cuda_built(void);
/* Initializes the driver in this process: fork workers before. TS_RUN_FAILED with the code cuda-no-driver,
 * cuda-old-driver, cuda-no-device or cuda-failed; driver is set as far as it was found (0: no driver). */
enum ts_status ts_cuda_query(struct cuda_devices *found, struct ts_diag *diag);
/* Runs a small kernel of this build on the device and checks its numbers; code cuda-selftest where it does not run. */
enum ts_status ts_cuda_check(int index, struct ts_diag *diag);

#endif
