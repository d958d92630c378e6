/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the rotation axis of a parallel sinogram stands: a ray at theta + 180 degrees is the ray of the mirrored
 * detector position, p(theta + 180, d) = p(theta, 2 c - d), so that what is mirrored about the right center c fits.
 */
#ifndef STAGES_SCAN_CENTER_SEARCH_H
#define STAGES_SCAN_CENTER_SEARCH_H

#include "core/fft.h"

/* What is looked at: the sinogram p (view, detector), its angles in degrees, and trial centers around the middle of the
 * detector. */
struct center_search {
    const float *p;
    int64_t n_views, n_detectors;
    double search; /* detectors on both sides of (n_detectors - 1) / 2 */
    int threads;
};

/* Views in half a turn, which the sinogram must hold for N. T. Vo's measure. */
int64_t ts_center_half_turn(double step_degrees);
/* The transform of the measure, and the bytes of its room. */
struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors);
size_t ts_center_room_bytes(int64_t half_turn, int64_t n_detectors);

/* Trial centers: (n_detectors - 1) / 2 + (i - n / 2) * step for i < n. */
int64_t ts_center_trials(double search, double step);

/* What a search finds. `noise` is the confidence that white noise without an object reaches: a rule of thumb, fitted
 * to random sinograms of 8 x 8 to 300 x 512, that none of 24,000 passed. */
struct center_found {
    double center, noise;
    int64_t best; /* trial */
};

/* N. T. Vo's measure of each trial center, a step of 1 apart, and the center: the lowest, looked at more closely. The
 * rows half_turn to 2 half_turn - 1 of a full turn are the mirrored first ones; the Fourier transform of a full turn is
 * empty outside of a double wedge. The confidence is 1 - lowest / median of the measure. room:
 * on a 64-byte boundary. */
struct center_found ts_center_by_sinogram(const struct center_search *search, int64_t half_turn, const struct fft *fft,
                                          void *room, double *measure);

/* Of n values; `sorted` has room for as many. */
double ts_center_median(const double *measure, int64_t n, double *sorted);

/* The trial of the lowest minimum of its own, 3 trials or more from the best, whose measure is `highest` at the most;
 * -1 where there is none. */
int64_t ts_center_rival(const double *measure, int64_t n_trials, int64_t best, double highest);

/* Views half a turn apart, as far as `tolerance` degrees allows; spread over all that are equally good. Returns how
 * many, at most CENTER_PAIRS. */
enum { CENTER_PAIRS = 16 };
int ts_center_pairs(const double *angles, int64_t n_views, double tolerance, int64_t pairs[CENTER_PAIRS][2]);
/* The mean correlation of these pairs for each trial center, a step of 1/2 apart, and the center: where it is highest,
 * less what the views move over the angle that a pair lacks or exceeds half a turn by. The confidence is that
 * correlation. */
struct center_found ts_center_by_opposite(const struct center_search *search, const double *angles,
                                          int64_t pairs[CENTER_PAIRS][2], int n_pairs, double *measure);

#endif
