/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws how a sinogram was measured: source, detector, rotation axis, direction of the angle, field
 * of view.
 */
#ifndef PROGRAM_SHOW_GEOMETRY_PICTURE_H
#define PROGRAM_SHOW_GEOMETRY_PICTURE_H

#include "pipeline/plan/plan_axis.h"

/* Draws the sinogram's first view as SVG, in mm from the rotation axis. The numbers go to
   `numbers`, one a line, as plain text in which the owner of the axis is not escaped; NULL: they
   are below the picture in the SVG. */
void ts_geometry_picture(const struct ts_image *sinogram, const struct rotation_axis *axis,
                         FILE *stream, FILE *numbers);

#endif
