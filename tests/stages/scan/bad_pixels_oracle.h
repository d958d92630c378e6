/* SPDX-License-Identifier: Apache-2.0
 *
 * Bad pixels by their definition: every pixel is judged by itself, and looks for its neighbors
 * itself, in double.
 */
#ifndef TESTS_STAGES_SCAN_BAD_PIXELS_ORACLE_H
#define TESTS_STAGES_SCAN_BAD_PIXELS_ORACLE_H

#include "tests/support/oracles.h"

/* valid: of each pixel of the image, or NULL; counts: of each slice those of the six tables, or
 * NULL. */
void ts_bad_pixels_oracle_masked(const struct stage_context *context, const double *in,
                                 const unsigned char *valid, double *out, uint64_t *counts);
void ts_bad_pixels_oracle(const struct stage_context *context, const double *in, double *out);
void ts_bad_pixels_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables);

#endif
