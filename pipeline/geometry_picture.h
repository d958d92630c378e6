/* SPDX-License-Identifier: Apache-2.0
 *
 * A drawing of how a sinogram was taken: source, detector, rotation axis, sense of the angle, field of view.
 */
#ifndef PIPELINE_GEOMETRY_PICTURE_H
#define PIPELINE_GEOMETRY_PICTURE_H

#include "pipeline/plan.h"

/* The last image of the plan that is a sinogram with angles, or NULL. */
const struct ts_image *ts_geometry_of_plan(const struct ts_plan *plan);
/* Draws its first view as SVG, in mm from the rotation axis, and writes the numbers beside it. */
void ts_geometry_picture(const struct ts_image *sinogram, FILE *stream);
/* The same of a plan to a file; an existing one is replaced only with `force`. TS_BAD_CHAIN (code picture-nothing)
 * where the plan has no such image, TS_RUN_FAILED (picture-exists, picture-write). */
enum ts_status ts_geometry_write(const struct ts_plan *plan, const char *path, bool force, struct ts_diag *diag);

#endif
