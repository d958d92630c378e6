/* SPDX-License-Identifier: Apache-2.0
 *
 * What methods `tensor` and `tensor-split` need of a projection along rays, beside what tensor_method.h lists: windows
 * of neighboring pixels in a row or column, of which rays farther apart share none.
 */
#ifndef STAGES_PROJECTION_TENSOR_RAYS_H
#define STAGES_PROJECTION_TENSOR_RAYS_H

#include "stages/engine/stage.h"

/* Slices of ny x nx pixels, dy and dx apart, onto detectors this far apart, all in the same unit. Refuses `method`, by
 * codes tensor-capability, tensor-size and tensor-apart. context->device is not NULL. */
struct tensor_grid {
    int64_t ny, nx;
    double dy, dx;
};
enum ts_status ts_tensor_check_rays(const struct stage_context *context, const struct tensor_grid *grid,
                                    double detector_spacing, bool split);

#endif
