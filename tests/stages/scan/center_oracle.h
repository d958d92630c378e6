/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_CENTER_ORACLE_H
#define TESTS_STAGES_SCAN_CENTER_ORACLE_H

#include "tests/support/oracles.h"

#include <stdint.h>

/* Takes stripes out of a sinogram (view, detector): of each detector pixel, its mean over the views
 * less the median of the means of up to 4 pixels on both sides and its own. */
void ts_center_stripes_oracle(double *p, int64_t n_views, int64_t n_detectors);
/* Vo's measure of a sinogram (view, detector) over half a turn, for a trial center (n_detectors - 1
 * + shift) / 2. */
double ts_center_measure_oracle(const double *p, int64_t n_views, int64_t n_detectors,
                                int64_t shift);

/* The truth of an image whose detectors stand about the axis that it was projected along, as those
 * of the benchmark do: the center alone. */
void ts_center_oracle_results(const struct stage_context *context,
                              const struct ts_image inputs[STAGE_INPUTS], double *out,
                              struct bench_tables *tables);

#endif
