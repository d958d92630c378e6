/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds, on a CUDA device, which slices of an image of floats contain infinite values and NaN.
 */
#ifndef CUDA_VALUES_SEEN_H
#define CUDA_VALUES_SEEN_H

#include "core/image.h"

struct CUstream_st;

/* Loads the kernel onto the current device, so that the first call does not wait for the device's
 * work. */
enum ts_status ts_cuda_seen_load(const struct device_numbers *device, struct ts_diag *diag);
/* Enqueues the look at slices of floats on the device. In seen[z] (also on the device; z counts
 * from the first of `slices`) it sets the bits `infinite` and `nan` if the slice contains such
 * values, and the bits `also` in any case. */
enum ts_status ts_cuda_seen_look(const struct device_numbers *device, const struct ts_image *slices,
                                 uint32_t *seen, uint32_t infinite, uint32_t nan, uint32_t also,
                                 struct CUstream_st *stream, struct ts_diag *diag);

#endif
