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

/* Returns true if this build holds the CUDA side. */
bool ts_cuda_built(void);
/* Reports the error of builds without it (code cuda-not-built). */
enum ts_status ts_cuda_refuse(struct ts_diag *diag);
/* Returns the version of this build's CUDA runtime, 1000 * major + 10 * minor, or 0 without the
 * CUDA side. */
int ts_cuda_runtime(void);
/* Returns the version of cuFFT, 1000 * major + 100 * minor + patch, or 0 as long as no stage has
 * needed it. */
int ts_cuda_fft_version(void);
/* Returns true if a CUDA driver is installed. It starts nothing. */
bool ts_cuda_driver_present(void);
/* Returns true if this process has started the driver, and therefore must not fork any more. */
bool ts_cuda_started(void);
/* Starts the driver in a thread of this process, which takes a tenth of a second, while the caller
 * does other things. After it this process must not fork. If the driver crashes, this process ends:
 * ts_cuda_starting() tells a signal handler that this may be so. Only the first call does anything.
 */
void ts_cuda_start(void);
/* Returns true if ts_cuda_start() was called: then this program is the only user of CUDA in its
 * process. */
bool ts_cuda_was_started(void);
/* Returns true while that thread starts the driver. Async-signal-safe. */
bool ts_cuda_starting(void);
/* Waits for that thread, since a process must not end while a driver starts. Does nothing if there
 * is none. */
void ts_cuda_await_start(void);
/* Returns the answer of the driver that ts_cuda_start() started. If that was not called, it asks in
 * a short-lived process: this one may then still fork, and a driver that crashes or hangs is an
 * ordinary error. It makes no process if there is no driver, or if the driver already runs here.
 * TS_RUN_FAILED with the code cuda-no-driver, cuda-old-driver, cuda-no-device, cuda-crashed,
 * cuda-timeout or cuda-failed; found->driver is set if it was found (0: no driver). */
enum ts_status ts_cuda_query(struct cuda_devices *found, struct ts_diag *diag);
/* Asks in this process, which must not fork afterwards. The code is cuda-forked in the child of a
 * process that had started CUDA. */
enum ts_status ts_cuda_query_here(struct cuda_devices *found, struct ts_diag *diag);
/* Refuses a device that this build's code cannot run on: code cuda-capability. */
enum ts_status ts_cuda_usable(const struct device_numbers *device, struct ts_diag *diag);

/* ---- code --------------------------------------------------------------------------------------
 *
 * This finds which of this build's device code runs on a device. Machine code runs on devices of
 * its major compute capability with its minor or a later one, PTX on all later devices; a device
 * takes the latest machine code that runs on it, or PTX if there is none. Methods are chosen by the
 * abilities of that code, not by those of the device.
 *
 * Source: CUDA C++ Programming Guide, binary and PTX compatibility. Compute capabilities are 10 *
 * major + minor. */

enum { CUDA_LOWEST_CAPABILITY = 75 }; /* no build has code for less */

/* Device code that was compiled for one compute capability. */
struct cuda_code {
    int capability;
    bool machine, ptx;
    bool exact; /* true if it uses features of exactly this capability (90a), and so runs on no
                 * other */
};

/* Returns the capability of the code that a device of this capability runs, or 0 if none of the
 * code runs there. */
int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability);
/* The same for the code of this build; a build without CUDA returns the device's own capability. */
int ts_cuda_code_here(int capability);
/* Returns the lowest compute capability on which this build's code runs. */
int ts_cuda_capability_needed(void);
/* Sets *code to the capability of the code that the device in use runs. Returns a cudaError_t. Only
 * in builds with CUDA. */
int ts_cuda_running_code(int *code);
/* Refuses (code cuda-code) a device that runs code for a lower capability than device->code, which
 * CUDA's own environment variables can cause. `running` is the capability of the code that a kernel
 * runs there. */
enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running,
                                  struct ts_diag *diag);
/* Writes a list such as "machine code for 7.5, 9.0 and PTX for 9.0". */
void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size);

#endif
