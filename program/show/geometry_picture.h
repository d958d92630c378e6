/* SPDX-License-Identifier: Apache-2.0
 *
 * This draws how a sinogram was measured: source, detector, rotation axis, sense of the angle,
 * field of view.
 */
#ifndef PROGRAM_SHOW_GEOMETRY_PICTURE_H
#define PROGRAM_SHOW_GEOMETRY_PICTURE_H

#include "pipeline/plan/plan_axis.h"

/* Draws the sinogram's first view as SVG, in mm from the rotation axis, with the numbers below it.
 * They go to `numbers` instead, one a line, as plain text that may hold anything that the axis'
 * owner does; NULL: they stand in the SVG. */
void ts_geometry_picture(const struct ts_image *sinogram, const struct rotation_axis *axis,
                         FILE *stream, FILE *numbers);

#endif
