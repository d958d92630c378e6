/* SPDX-License-Identifier: Apache-2.0
 *
 * The noise estimates of stages/counting/noise_estimate.h from their definitions: a mask of 3 x 3,
 * and the four taps of db2.
 */
#ifndef TESTS_STAGES_COUNTING_NOISE_ESTIMATE_ORACLE_H
#define TESTS_STAGES_COUNTING_NOISE_ESTIMATE_ORACLE_H

#include <stdint.h>

/* Both take nz slices of ny x nx values together. NaN where there is nothing to measure. */
double ts_immerkaer_oracle(const double *values, int64_t nz, int64_t ny, int64_t nx);
double ts_wavelet_noise_oracle(const double *values, int64_t nz, int64_t ny, int64_t nx);

#endif
