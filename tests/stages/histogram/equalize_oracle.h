/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_HISTOGRAM_EQUALIZE_ORACLE_H
#define TESTS_STAGES_HISTOGRAM_EQUALIZE_ORACLE_H

#include "tests/support/oracles.h"

#include <stddef.h>
#include <stdint.h>

/* out[k]: share of the n values that are values[k] or below. */
void ts_equalize_oracle_share(const double *values, size_t n, double *out);
/* The same by `bins` bins between the smallest and the largest finite value, as
 * skimage.exposure.equalize_hist does. */
void ts_equalize_oracle_bins(const double *values, size_t n, int64_t bins, double *out);
/* cv::equalizeHist for levels [lowest, lowest + levels). */
void ts_equalize_oracle_levels(const double *values, size_t n, double lowest, int64_t levels,
                               double *out);
/* skimage.exposure.match_histograms. */
void ts_equalize_oracle_match(const double *values, size_t n, const double *reference,
                              size_t n_reference, double *out);

/* The whole stage, for the comparison loop: the image as doubles to the result as doubles. */
void ts_equalize_oracle(const struct stage_context *context, const double *in, double *out);
/* The same of a stage that may have a reference, all of whose values count one by one. */
void ts_equalize_oracle_results(const struct stage_context *context,
                                const struct ts_image inputs[STAGE_INPUTS], double *out,
                                struct bench_tables *tables);

#endif
