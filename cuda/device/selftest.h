/* SPDX-License-Identifier: Apache-2.0
 *
 * Proves that this build's device code runs on a device, which `tomostage doctor` asks beyond the
 * driver's word.
 */
#ifndef CUDA_DEVICE_SELFTEST_H
#define CUDA_DEVICE_SELFTEST_H

#include "core/diag.h"

/* The programs call it, even if the library is shared. */
#pragma GCC visibility push(default)
/* Runs a small kernel on device `index` and checks every element; code cuda-selftest if one is
 * wrong. */
enum ts_status ts_cuda_selftest(int index, struct ts_diag *diag);
#pragma GCC visibility pop

#endif
