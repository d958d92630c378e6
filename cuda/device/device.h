/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the CUDA devices. The driver is opened at run time, so a program built with CUDA
 * starts on machines without it, and one built without CUDA can still report devices.
 */
#ifndef CUDA_DEVICE_DEVICE_H
#define CUDA_DEVICE_DEVICE_H

#include "core/device_numbers.h"
#include "core/diag.h"

enum { CUDA_MAX_DEVICES = 16 };

struct cuda_devices {
    int driver; /* 1000 * major + 10 * minor */
    int n;
    struct device_numbers devices[CUDA_MAX_DEVICES];
};

/* Returns true where this build holds the CUDA side. */
bool ts_cuda_built(void);
/* Reports the error of builds without it (code cuda-not-built). */
enum ts_status ts_cuda_refuse(struct ts_diag *diag);
/* Returns the version of this build's CUDA runtime, 1000 * major + 10 * minor, or 0 without the
 * CUDA side. */
int ts_cuda_runtime(void);
/* Returns the version of cuFFT, 1000 * major + 100 * minor + patch, or 0 as long as no stage has
 * needed it. */
int ts_cuda_fft_version(void);
/* True where a CUDA driver is installed; nothing is started. */
bool ts_cuda_driver_present(void);
/* Returns true where this process has the driver running, and so may not fork for it any more. */
bool ts_cuda_started(void);
/* Starts the driver in a thread of this process, which takes a tenth of a second, while the caller
 * does other things. After it this process must not fork. A driver that crashes ends this process:
 * ts_cuda_starting() tells a handler of signals that this may be so. Once is enough. */
void ts_cuda_start(void);
/* Returns true where it was called: then CUDA is this program's alone, and no library of it runs
 * there. */
bool ts_cuda_was_started(void);
/* Returns true while that thread is at it. Async-signal-safe. */
bool ts_cuda_starting(void);
/* Waits for that thread, since a process must not end while a driver starts. Does nothing where
 * there is none. */
void ts_cuda_start_end(void);
/* Returns the answer of the driver that ts_cuda_start() started. Where it was not called, asks in a
 * short-lived process, so that this one may still fork, and a driver that crashes or hangs is an
 * error like others; where there is no driver, or it runs here already, no process is made.
 * TS_RUN_FAILED with the code cuda-no-driver, cuda-old-driver, cuda-no-device, cuda-crashed,
 * cuda-timeout or cuda-failed; found->driver is set as far as it was found (0: no driver). */
enum ts_status ts_cuda_query(struct cuda_devices *found, struct ts_diag *diag);
/* Asks in this process, which must not fork afterwards. Code cuda-forked in a child of one that had
 * CUDA started. */
enum ts_status ts_cuda_query_here(struct cuda_devices *found, struct ts_diag *diag);
/* Refuses a device that this build's code cannot run on: code cuda-capability. */
enum ts_status ts_cuda_usable(const struct device_numbers *device, struct ts_diag *diag);

/* ---- code --------------------------------------------------------------------------------------
 *
 * This finds which of this build's device code runs on a device. Machine code runs on devices of
 * its major compute capability with its minor or a later one, PTX on all later devices; a device
 * takes the latest machine code that runs there, and PTX where there is none. Methods are chosen by
 * the abilities of that code, not by those of the device.
 *
 * Source: CUDA C++ Programming Guide, binary and PTX compatibility. Compute capabilities as 10 *
 * major + minor. */

enum { CUDA_LOWEST_CAPABILITY = 75 }; /* no build has code for less */

/* The code that was compiled for one compute capability. */
struct cuda_code {
    int capability;
    bool machine, ptx;
    bool exact; /* with what that capability alone has (90a): runs on no other */
};

/* Returns the capability for which the code was compiled that a device of this capability runs; 0:
 * none does. */
int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability);
/* The same for the code of this build; a build without CUDA returns the device's own capability. */
int ts_cuda_code_here(int capability);
/* Returns the lowest compute capability on which this build's code runs. */
int ts_cuda_capability_needed(void);
/* The capability that the code was compiled for which the device in use runs. Returns a
 * cudaError_t. Only in builds with CUDA. */
int ts_cuda_running_code(int *code);
/* Refuses (code cuda-code) a device that runs code for a lower capability than device->code, as
 * CUDA's own environment variables can cause. `running` is the capability of a kernel there. */
enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running,
                                  struct ts_diag *diag);
/* Writes a list such as "machine code for 7.5, 9.0 and PTX for 9.0". */
void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size);

#endif
