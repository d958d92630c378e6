/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames are numbered where nothing says their angles; those numbers are no degrees.
 */
#ifndef STAGES_GEOMETRY_VIEW_UNIT_H
#define STAGES_GEOMETRY_VIEW_UNIT_H

#include "stages/engine/stage.h"

/* Refuses (angles-missing) a sinogram whose views have no angles in degrees. */
enum ts_status ts_views_need_angles(const struct stage_context *context);

#endif
