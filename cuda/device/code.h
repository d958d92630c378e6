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

#include "core/device_numbers.h"
#include "core/diag.h"

enum { CUDA_LOWEST_CAPABILITY = 75 }; /* of any build */

/* The code that was compiled for one compute capability. */
struct cuda_code {
    int capability;
    bool machine, ptx;
    bool exact; /* with what that capability alone has (90a): runs on no other */
};

/* The capability that the code was compiled for which a device of this capability runs; 0: none does. */
int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability);
/* The same for the code of this build; a build without CUDA returns the device's own capability. */
int ts_cuda_code_here(int capability);
/* The lowest compute capability that this build's code runs on. */
int ts_cuda_capability_needed(void);
/* The capability that the code was compiled for which the device in use runs. Returns a cudaError_t. Only in builds
 * with CUDA. */
int ts_cuda_running_code(int *code);
/* Refuses (code cuda-code) where what runs on the device was compiled for less than device->code says, as with CUDA's
 * own environment variables. running: of a kernel there. */
enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running, struct ts_diag *diag);
/* "machine code for 7.5, 9.0 and PTX for 9.0": what there is. */
void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size);
/* The same of this build. */
void ts_cuda_code_here_text(char *text, size_t size);

#endif
