/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of methods `tensor` and `tensor-split` of projectors and backprojections: they need a
 * device that multiplies halves, and images whose samples can be counted in 32 bits.
 * cuda/projection/tensor.cuh stacks up to 128 slices side by side. A line of n_minor samples has
 * zeros before and after it and is cut into blocks of TENSOR_WINDOW; the kernels count places of 16
 * bytes, one for each slice and block (two for split operands).
 */
#ifndef STAGES_PROJECTION_TENSOR_METHOD_H
#define STAGES_PROJECTION_TENSOR_METHOD_H

#include "stages/engine/stage.h"

enum {
    TENSOR_LEFT = 2,  /* zeros before a line's first sample */
    TENSOR_RIGHT = 8, /* least zeros after its last sample */
    TENSOR_WINDOW = 8 /* samples of a line in one product */
};

/* Checks context->in, cut into n_major lines of n_minor samples a slice. context->device is not
 * NULL. Errors: tensor-capability, tensor-size. */
enum ts_status ts_tensor_check(const struct stage_context *context, int64_t n_major,
                               int64_t n_minor, bool split);

/* Returns true if ts_tensor_check() finds nothing to refuse. */
bool ts_tensor_takes(const struct stage_context *context, int64_t n_major, int64_t n_minor,
                     bool split);

/* Slices of ny x nx pixels that are dy and dx apart. */
struct tensor_grid {
    int64_t ny, nx;
    double dy, dx;
};
/* Checks a projection of such slices onto detector pixels that are detector_spacing apart, in the
 * unit of dy and dx. A window of neighboring pixels serves neighboring rays, so rays must not be
 * far apart. Errors: those above, and tensor-apart. */
enum ts_status ts_tensor_check_rays(const struct stage_context *context,
                                    const struct tensor_grid *grid, double detector_spacing,
                                    bool split);
/* Returns true if ts_tensor_check_rays() finds nothing to refuse. */
bool ts_tensor_takes_rays(const struct stage_context *context, const struct tensor_grid *grid,
                          double detector_spacing, bool split);

#endif
