/* SPDX-License-Identifier: Apache-2.0
 *
 * This rounds 32-bit floats on a CUDA device to halves, bit for bit as core/half.h does, so that
 * outputs leave the device as two bytes a value.
 */
#ifndef CUDA_VALUES_HALF_H
#define CUDA_VALUES_HALF_H

#include "core/device_numbers.h"
#include "core/diag.h"

struct CUstream_st;

/* The tests call it from outside the library. */
#pragma GCC visibility push(default)
/* Loads the kernel onto the current device, so that the first call does not wait for the device's
 * work. */
enum ts_status ts_cuda_half_load(const struct device_numbers *device, struct ts_diag *diag);
/* Enqueues the rounding of n floats to `halves`; both are device memory, aligned as their type is.
 * *largest (also on the device) becomes the largest magnitude among the finite values that became
 * infinite, as the bits of a float; the caller sets it to 0 at the start. `diag` receives an error
 * of the launch. */
enum ts_status ts_cuda_half_round(const struct device_numbers *device, const float *floats,
                                  size_t n, uint16_t *halves, uint32_t *largest,
                                  struct CUstream_st *stream, struct ts_diag *diag);
#pragma GCC visibility pop

#endif
