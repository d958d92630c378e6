/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA loads a kernel at its first launch, and waits for the device's work before it: a slab would go to its device
 * only when the slab before it is done. What runs behind a stage that takes long is loaded by this, before the first
 * slab.
 */
#ifndef CUDA_DEVICE_LOAD_H
#define CUDA_DEVICE_LOAD_H

#include "stages/engine/stage.h"

/* Loads kernels onto the current device. */
enum ts_status ts_cuda_load(const struct stage_context *context, const void *const *kernels, int n);

#endif
