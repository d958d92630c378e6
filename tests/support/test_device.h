/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that a test runs on: the CPU, this machine's CUDA device, or that with the numbers of
 * a smaller one.
 */
#ifndef TESTS_SUPPORT_TEST_DEVICE_H
#define TESTS_SUPPORT_TEST_DEVICE_H

#include "core/diag.h"
#include "cuda/device/device.h"

/* The runs of this test go to this device. NULL is the CPU, with which a test starts. */
extern const struct device_numbers *ts_test_device;
/* From here on ts_stage_check and ts_test_run use the first CUDA device; without one the test is
 * skipped, and says so. ts_test_end_cuda fails the test if no kernel of this program was launched
 * in between. */
void ts_test_begin_cuda(void);
void ts_test_end_cuda(void);
/* The same on a device that counts itself to this compute capability and has its memory and
 * threads: 75 is a T4. What runs is the code for the real device, with the tables and grids for the
 * smaller one. The environment variable TOMOSTAGE_TESTS_CAPABILITY does so for every test. */
void ts_test_begin_cuda_like(int capability);
/* Returns true where the first record of `diag` states that this device has less shared memory than
 * `what` is made for, or no tensor cores, and prints that it was skipped and why. Returns false for
 * the CPU. */
bool ts_test_beyond(const struct device_numbers *device, const struct ts_diag *diag,
                    const char *what);
/* A device, there or not, that runs this build's code of this compute capability or a later one
 * (cuda/device/device.h); skips the test where no device would. */
struct device_numbers ts_test_device_of(int code);
/* A test that runs twice: NAME on the CPU, NAME_on_cuda on a CUDA device. */
#define TEST_ON_BOTH(suite, name)                                                                  \
    static void suite##_##name(void);                                                              \
    Test(suite, name)                                                                              \
    {                                                                                              \
        suite##_##name();                                                                          \
    }                                                                                              \
    Test(suite, name##_on_cuda)                                                                    \
    {                                                                                              \
        ts_test_begin_cuda();                                                                      \
        suite##_##name();                                                                          \
        ts_test_end_cuda();                                                                        \
    }                                                                                              \
    static void suite##_##name(void)

#endif
