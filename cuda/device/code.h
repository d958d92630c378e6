/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds which of this build's device code runs on a device. Machine code runs on devices of its major compute
 * capability with its minor or a later one, PTX on all later devices; a device takes the latest machine code that runs
 * there, and PTX where there is none. Methods are chosen by the abilities of that code, not by those of the device.
 *
 * Source: CUDA C++ Programming Guide, binary and PTX compatibility. Compute capabilities as 10 * major + minor.
 */
#ifndef CUDA_DEVICE_CODE_H
#define CUDA_DEVICE_CODE_H

#include "core/device_numbers.h"
#include "core/diag.h"

enum { CUDA_LOWEST_CAPABILITY = 75 }; /* no build has code for less */

/* The code that was compiled for one compute capability. */
struct cuda_code {
    int capability;
    bool machine, ptx;
    bool exact; /* with what that capability alone has (90a): runs on no other */
};

/* Returns the capability for which the code was compiled that a device of this capability runs; 0: none does. */
int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability);
/* The same for the code of this build; a build without CUDA returns the device's own capability. */
int ts_cuda_code_here(int capability);
/* Returns the lowest compute capability on which this build's code runs. */
int ts_cuda_capability_needed(void);
/* The capability that the code was compiled for which the device in use runs. Returns a cudaError_t. Only in builds
 * with CUDA. */
int ts_cuda_running_code(int *code);
/* Refuses (code cuda-code) a device that runs code for a lower capability than device->code, as CUDA's own environment
 * variables can cause. `running` is the capability of a kernel there. */
enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running, struct ts_diag *diag);
/* Writes a list such as "machine code for 7.5, 9.0 and PTX for 9.0". */
void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size);
/* Writes the list of this build. */
void ts_cuda_code_here_text(char *text, size_t size);

#endif
