/* SPDX-License-Identifier: Apache-2.0
 *
 * What stages demand of images whose distances of pixels they reckon with.
 */
#ifndef STAGES_ENGINE_DISTANCES_H
#define STAGES_ENGINE_DISTANCES_H

#include "core/description.h"
#include "stages/engine/stage.h"

/* Refuses an image whose pixels within a slice, or along the detector, are not even (axis-uneven,
 * detectors-uneven) or in two units (axis-units). */
enum ts_status ts_stage_needs_even(const struct stage_context *context);
/* Refuses a volume whose voxels are not known distances in mm apart (spacing-mm), or not even ones
 * (axis-uneven). Along an axis of one voxel nothing is apart, so that only a stage which needs the
 * size of a voxel asks for those `of_one` too. */
enum ts_status ts_stage_needs_mm(const struct stage_context *context, bool of_one);
/* Refuses a volume whose slices are not straight behind each other (stage-sheared). `does` says
 * what the stage does across slices, and the hint what helps. */
enum ts_status ts_stage_needs_upright(const struct stage_context *context, const char *does,
                                      const char *hint);

/* Returns the detector pixel, which may be between two, at the rotation axis of the sinogram. If
 * the axis is found later and the input puts it beside the detector, this is the middle. */
double ts_stage_axis_pixel(const struct stage_context *context);

#endif
