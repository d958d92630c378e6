/* SPDX-License-Identifier: Apache-2.0
 *
 * What is refused of the angles of a scan: a part of the half turn without views, angles that look like radians, and
 * views that all look in one direction. For resolve() of stages that reconstruct from the scan as a
 * whole; an adjoint takes any angles.
 */
#ifndef STAGES_GEOMETRY_VIEW_ANGLES_H
#define STAGES_GEOMETRY_VIEW_ANGLES_H

#include "stages/engine/stage.h"

/* The angle of view v in degrees. */
double ts_view_degree(const struct ts_axis *axis, int64_t v);
/* Of a parallel beam, for a stage with the row `gaps`: neighboring views more than 4 times their mean angle apart
 * (angles-missing, or angles-in-radians). */
enum ts_status ts_view_angles_check_gaps(const struct stage_context *context);
/* All views in one direction, modulo 180 degrees or, of a fan, 360 (one-direction); a single view is so too, unless it
 * will do. */
enum ts_status ts_view_angles_check_directions(const struct stage_context *context, bool one_will_do);
/* Whether n angles from `low` to `high` look like half a turn or a turn in radians that are called degrees. */
bool ts_view_angles_are_radians(double low, double high, int64_t n);
/* For a stage that takes any part of the half turn: angles that look like radians (angles-in-radians). */
enum ts_status ts_view_angles_check_unit(const struct stage_context *context);

#endif
