/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions search for the rotation axis of a parallel sinogram. A ray at theta + 180 degrees is the ray at theta
 * of the mirrored detector position, p(theta + 180, d) = p(theta, 2 c - d), so that a view mirrored about the right
 * center c fits its opposite. Each method gives every trial center a measure and refines the best one; center_slice.h
 * chooses the method and judges the result.
 */
#ifndef STAGES_SCAN_CENTER_SEARCH_H
#define STAGES_SCAN_CENTER_SEARCH_H

#include "core/fft.h"
#include "core/image.h"

/* A slice that is searched: its sinogram p (view, detector), the views with their angles in degrees, and trial centers
 * around the middle of the detector. */
struct center_search {
    const float *p;
    const struct ts_axis *views;
    int64_t n_detectors;
    double search; /* detector pixels on both sides of (n_detectors - 1) / 2 */
    int threads;
};

/* Returns the number of trial centers, (n_detectors - 1) / 2 + (i - n / 2) * step for i < n. */
int64_t ts_center_trials(double search, double step);

/* The result of a search. `noise` is the confidence that white noise without an object reaches: a rule of thumb, fitted
 * to random sinograms of 8 x 8 to 300 x 512, that none of 24,000 passed. */
struct center_found {
    double center, noise;
    int64_t best; /* trial */
};

/* Returns where a parabola through three neighbors has its turning point, in steps from the middle one. */
static inline double ts_center_turning_point(double before, double at, double after)
{
    const double curvature = before - 2 * at + after;
    return curvature == 0 ? 0 : 0.5 * (before - after) / curvature;
}

/* ---- half a turn: center_sinogram.c ------------------------------------------------------------ */

/* Returns the views in half a turn, which the sinogram must hold. */
int64_t ts_center_half_turn(const struct ts_axis *views);
/* Return the shape of the measure's transform, and the bytes of its scratch. */
struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors);
size_t ts_center_scratch_bytes(int64_t half_turn, int64_t n_detectors);
/* Writes N. T. Vo's measure of each trial center, a step of 1 apart. The center is where it is lowest; the confidence
 * is 1 - lowest / median of the measure. scratch: on a 64-byte boundary. */
struct center_found ts_center_by_sinogram(const struct center_search *search, const struct fft *fft, void *scratch,
                                          double *measure);

/* ---- opposite views: center_opposite.c --------------------------------------------------------- */

enum { CENTER_PAIRS = 16, OVERLAP_PAIRS = 256 };
struct center_pairs {
    int n;
    int64_t view[OVERLAP_PAIRS][2];
};

/* Finds up to CENTER_PAIRS pairs of views half a turn apart, spread over all that are equally good. They may be a step
 * of the views away from that: 180 degrees without the end point have no others. Returns how many there are. */
int ts_center_pairs(const struct ts_axis *views, struct center_pairs *pairs);
/* Writes the mean correlation of these pairs for each trial center, a step of 1/2 apart. The center is where it is
 * highest, less what the views move over the angle that a pair lacks or exceeds half a turn by. The confidence is that
 * correlation. */
struct center_found ts_center_by_opposite(const struct center_search *search, const struct center_pairs *pairs,
                                          double *measure);

/* Returns how many views have no other half a turn away, modulo 360 degrees and within half a step of the views: an odd
 * number of views over a turn has its opposites between two. */
int64_t ts_center_overlap_lacks(const struct ts_axis *views);
/* Returns how far trial centers reach from the middle of n detector pixels, so that the least overlap is a 50th of
 * them, 8 at least. */
double ts_center_overlap_search(int64_t n_detectors);
/* Writes for each trial center, a step of 1/2 apart, how well what both views of up to OVERLAP_PAIRS pairs see agrees:
 * L. I. Lin's concordance 2 cov(p, q) / (var p + var q + (mean p - mean q)^2) of all their samples together, which is 1
 * where they are equal. The center is where it is highest, and the confidence is that value. */
struct center_found ts_center_by_overlap(const struct center_search *search, double *measure);

/* ---- an object that is cut off: center_truncation.c --------------------------------------------- */

/* The parts of the object that the first and the last end of the row see, as shares of the most that is seen anywhere:
 * from 0 (air) to 1. Line integrals and transmissions are compared with those of air; for counts and intensities, whose
 * value in air is not known, it is how much they change from view to view. */
struct center_truncation {
    double first, last;
};
struct center_truncation ts_center_truncation(const struct center_search *search, enum ts_quantity quantity);
/* Returns true where an end sees so much that the object goes on beyond it. */
bool ts_center_is_cut_off(const struct center_truncation *truncation);

#endif
