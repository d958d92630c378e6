/* SPDX-License-Identifier: Apache-2.0
 *
 * Single values of a sinogram that are no measurements: those that a detector or a program cut off
 * at a level, and zingers, which light one detector pixel in one view.
 */
#ifndef STAGES_SCAN_VIEW_VALUES_H
#define STAGES_SCAN_VIEW_VALUES_H

#include <stdint.h>

/* Counts the counts p (view, detector) that are the largest one, if so many are that they were cut
 * off at this level. Returns 0 if they may be the air of a scan without noise, or if `largest` is
 * the end of a type or 2^k - 1, of which flat_field warns. Sets *level. */
int64_t ts_view_values_clipped(const float *p, int64_t n_views, int64_t n, float *level);

/* Counts neighbors of counts p (view, detector), along one axis, that are at both ends of a range
 * of integers, if so many are, and so few are a part of it apart, that the counts overflowed. Those
 * at the very ends are no measurements. Returns 0 else. */
int64_t ts_view_values_wrapped(const float *p, int64_t n_views, int64_t n, float lowest,
                               float highest);

/* Counts values of light p (view, detector) that are far brighter than those of the views before
 * and after, than those of the detector pixels beside, and than almost all others. Sets *excess to
 * the least by which one is above the median of these four. Returns -1 if there is no memory. */
int64_t ts_view_values_zingers(const float *p, int64_t n_views, int64_t n, float *excess);

#endif
