/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether views that are taken for those of a parallel beam are those of a fan.
 */
#ifndef STAGES_GEOMETRY_VIEW_FAN_H
#define STAGES_GEOMETRY_VIEW_FAN_H

#include <stdint.h>

/* Returns the angle in degrees that a row of the fan has whose views p (view, detector) these are,
 * below 0 if it fits angles of the other sense; 0 if it is none, or they are no whole turn about
 * the middle half of the row, and NAN if there is no memory. The axis is on detector pixel
 * `center`.
 */
double ts_view_fan(const float *p, const double *degrees, int64_t n_views, int64_t n,
                   double center);

#endif
