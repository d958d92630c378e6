/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the rotation axis of a whole turn stands when it may be near an end of the detector (half acquisition).
 */
#ifndef STAGES_SCAN_CENTER_OVERLAP_H
#define STAGES_SCAN_CENTER_OVERLAP_H

#include "stages/scan/center_search.h"

enum { OVERLAP_PAIRS = 256 };

/* How far trial centers reach from the middle of n detectors, so that the least overlap is a 50th of them, 8 at least.
 */
double ts_center_overlap_search(int64_t n_detectors);

/* Views that have no other half a turn away, modulo 360 degrees and within half a step of the views: an odd number of
 * views over a turn has its opposites between two. */
int64_t ts_center_overlap_lacks(const double *angles, int64_t n_views);
/* Pairs of opposite views, spread over all that there are; at most OVERLAP_PAIRS. Returns how many. */
int ts_center_overlap_pairs(const double *angles, int64_t n_views, int64_t pairs[OVERLAP_PAIRS][2]);

/* Of each trial center, a step of 1/2 apart, how well what both views of all pairs see agrees: L. I. Lin's concordance
 * 2 cov(p, q) / (var p + var q + (mean p - mean q)^2) of all their samples together, 1 where they are equal. The center
 * is where it is highest, and the confidence that value. */
struct center_found ts_center_by_overlap(const struct center_search *search, int64_t pairs[OVERLAP_PAIRS][2],
                                         int n_pairs, double *measure);

#endif
