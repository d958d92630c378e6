/* SPDX-License-Identifier: Apache-2.0
 *
 * Reconstructions beside their oracles: sinograms of every beam.
 */
#ifndef TESTS_SUPPORT_SCAN_CHECK_H
#define TESTS_SUPPORT_SCAN_CHECK_H

#include "tests/support/stage_run.h"

#define SCAN_ARC                                                                                   \
    {                                                                                              \
        TS_BEAM_FAN_ARC, 40, 60                                                                    \
    }
#define SCAN_FLAT                                                                                  \
    {                                                                                              \
        TS_BEAM_FAN_FLAT, 40, 60                                                                   \
    }

struct scan_case {
    const char *assignments;
    int64_t nz, views, detectors;
    struct ts_beam beam;
    double arc;    /* degree; 0: 180, or 360 for a fan */
    double center; /* detector index of the axis, counted from the middle */
};

/* Makes a sinogram of random, positive line integrals, 0.5 mm between detectors;
 * free(image.data). */
struct ts_image ts_test_scan(const struct scan_case *which, uint64_t seed);
/* Runs the cases over slabs of all, 1 and 3 slices and 1 to 3 threads, demands the same bytes, and
 * compares with the oracle under the stage's tolerance of the largest value. Cases whose method the
 * device does not have are left out, those beyond what it has (ts_test_beyond) are counted. Returns
 * how many cases were compared. */
size_t ts_scan_check(const struct stage *stage, stage_oracle *oracle, const struct scan_case *cases,
                     size_t n);

/* Compares every method of an iterative stage: groups of 16 slices on the CPU, of 128, 64 and 32 on
 * a CUDA device, some lanes empty; tensor cores where the device has them. */
void ts_scan_check_methods(const struct stage *stage, stage_oracle *oracle);
/* Checks the residual with which each iteration begins, and the number of iterations, against the
 * oracle's image after the iterations before. The stage's parameters begin with struct
 * iterate_params. */
void ts_scan_check_residuals(const struct stage *stage, stage_oracle *oracle);
/* A sinogram of zeros is its own reconstruction, and what is in a slice does not reach its
 * neighbors. */
void ts_scan_check_independence(const struct stage *stage, const char *assignments);
/* NaN and infinity end the run in every slab, with the slice and the first one's place. */
void ts_scan_check_finite(const struct stage *stage, const char *assignments);
/* Angles in radians, and views that all look in one direction, are refused; two directions are not.
 * Of a parallel beam. */
void ts_scan_check_angles(const struct stage *stage, const char *assignments);
/* An image that nobody calls line integrals, such as raw counts without a quantity, is refused with
 * the way to them. */
void ts_scan_check_quantity(const struct stage *stage);

#endif
