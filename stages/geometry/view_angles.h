/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions order the angles of a scan's views, weight each view in an integral over angles,
 * and check them. They refuse views without angles, angles that look like radians, a part of the
 * half turn without views, and views that all look in one direction. The checks are for resolve()
 * of stages that reconstruct from the scan as a whole; an adjoint accepts any angles.
 */
#ifndef STAGES_GEOMETRY_VIEW_ANGLES_H
#define STAGES_GEOMETRY_VIEW_ANGLES_H

#include "stages/engine/stage.h"

/* Returns the angle of view v in degrees. */
static inline double ts_view_degree(const struct ts_axis *axis, int64_t v)
{
    return axis->positions ? axis->positions[v] : axis->first + (double)v * axis->spacing;
}

/* ---- order and weights ----------------------------------------------------------------------- */

/* A view of the scan and its place on a circle, in degrees from an origin that the caller
 * chooses. */
struct view_place {
    double degrees;
    int64_t view;
};

/* Returns the place of an angle, from 0 to 360 degrees. */
double ts_view_circular(double degrees);
/* Sorts by rising place, and views at the same place by rising index. */
void ts_view_places_sort(struct view_place *places, int64_t n);
/* Returns how many of n sorted places are at most `degrees`. */
int64_t ts_view_places_up_to(const struct view_place *places, int64_t n, double degrees);

/* The shortest arc that contains all views, up to a turn, in degrees: for example, 350 to 359 and 0
 * to 169 are half a turn that starts at 350. More than a turn stays as it is recorded. */
struct view_arc {
    double first, length;
    bool wraps;
};
struct view_arc ts_view_arc(const struct ts_axis *axis);
/* Returns how far view v is from the beginning of the arc, in degrees. */
double ts_view_past(const struct view_arc *arc, const struct ts_axis *axis, int64_t v);

/* Writes the share of each view in an integral over angles, in radian: half the distance between
 * its two neighbors on the circle modulo 180 degrees. Views with the same direction divide its
 * share. All shares sum up to pi. `weights` and `scratch` have axis->n elements. */
void ts_view_weights(const struct ts_axis *axis, double *weights, struct view_place *scratch);

/* ---- what is refused ------------------------------------------------------------------------- */

/* Refuses (angles-missing) a sinogram whose views have no angles in degrees. If a file gives no
 * angles, frames are numbered, and those numbers are not degrees. */
enum ts_status ts_views_need_angles(const struct stage_context *context);
/* Refuses a parallel beam whose neighboring views are more than 4 times their mean angle apart
 * (angles-missing, or angles-in-radians), and many views in few directions (views-repeated). For a
 * stage with the parameter `gaps`. */
enum ts_status ts_view_angles_check_gaps(const struct stage_context *context);
/* Refuses views that all have one direction, modulo 180 degrees or, for a fan, 360 (one-direction).
 * A single view is refused, too, unless `one_will_do`. */
enum ts_status ts_view_angles_check_directions(const struct stage_context *context,
                                               bool one_will_do);
/* Returns true if n angles from `low` to `high` degrees look like half a turn or a turn in
 * radians. */
bool ts_view_angles_are_radians(double low, double high, int64_t n);
/* Refuses angles that look like half a turn or a turn in radians (angles-in-radians), warns of a
 * narrow range that may be radians or turns (angles-narrow) and of a part of the half turn without
 * views (angles-limited), and refuses or warns of many views in few directions (views-repeated).
 * For a stage that takes any part of the half turn. */
enum ts_status ts_view_angles_check_unit(const struct stage_context *context);
/* Returns the number of directions modulo 180 degrees. `scratch` has axis->n elements. */
int64_t ts_view_directions(const struct ts_axis *axis, struct view_place *scratch);

#endif
