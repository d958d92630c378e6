/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the detector of a parallel sinogram cuts off the object: how much of it the two ends of the row see.
 */
#ifndef STAGES_SCAN_CENTER_TRUNCATION_H
#define STAGES_SCAN_CENTER_TRUNCATION_H

#include "core/image.h"

/* Shares of the most that is seen anywhere, from 0 (air) to 1; more than ts_center_cut_off of it is an object that goes
 * on beyond the end. */
struct center_truncation {
    double first, last;
};
extern const double ts_center_cut_off;

/* Of p (view, detector). Line integrals and transmissions are compared with those of air; of counts and intensities,
 * whose value in air is not known, it is how much they change from view to view. */
struct center_truncation ts_center_truncation(const float *p, int64_t n_views, int64_t n_detectors,
                                              enum ts_quantity quantity);
bool ts_center_is_cut_off(const struct center_truncation *truncation);

#endif
