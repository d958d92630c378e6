/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of this build's device code runs on a device. Machine code runs on devices of its major compute capability with
 * its minor or a later one, PTX on all later devices; a device takes the latest machine code that runs there, and PTX
 * where there is none. What that code can do, and not what the device could, decides on methods.
 *
 * Source: CUDA C++ Programming Guide, binary and PTX compatibility. Compute capabilities as 10 * major + minor.
 */
#ifndef CUDA_DEVICE_CODE_H
#define CUDA_DEVICE_CODE_H

#include <stddef.h>

#include "cuda/device/device.h"

/* What code of this compute capability or later can do: multiply halves in tensor cores with operands of the shape that
 * cuda/projection/tensor.cuh takes; let the blocks of a cluster see each other's shared memory. */
enum { CUDA_TENSOR_CODE = 80, CUDA_CLUSTER_CODE = 90 };

/* What was compiled for one compute capability. */
struct cuda_code {
    int capability;
    bool machine, ptx;
    bool exact; /* with what that capability alone has (90a): runs on no other */
};

/* The capability that the code was compiled for which a device of this capability runs; 0: none does. */
int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability);
/* The same of this build; in one without CUDA the device's own. */
int ts_cuda_code(const struct cuda_device *device);
/* Refuses (code cuda-code) where what runs on the device was compiled for less than ts_cuda_code() says, as with CUDA's
 * own environment variables. running: of a kernel there. */
enum ts_status ts_cuda_code_check(const struct cuda_device *device, int running, struct ts_diag *diag);
/* "machine code for 7.5, 9.0 and PTX for 9.0": what there is. */
void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size);
/* The same of this build. */
void ts_cuda_code_here(char *text, size_t size);

#endif
