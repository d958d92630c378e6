/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the field of gathered samples on the CPU, for stages/intensity/n4.c.
 */
#ifndef STAGES_INTENSITY_N4_FIT_H
#define STAGES_INTENSITY_N4_FIT_H

#include "stages/intensity/n4.h"

/* Returns the bytes of the work memory, which begins with the record (ts_n4_record). */
size_t ts_n4_fit_bytes(const struct stage_context *context);
/* Finds the field of the logarithms, NaN for samples that do not count, and of their weights (NULL:
 * all are 1). */
void ts_n4_fit(const struct stage_context *context, const float *samples, const float *weights,
               void *work);
/* Sums a lattice of control points over z, with the factors b from `span` on, to `plane`, and over
 * x to rows of nx places, one row for each point along y. */
void ts_n4_rows(const double *lattice, const int64_t points[3], int32_t span, const float *b,
                const struct n4_taps *x_taps, int64_t nx, double *plane, float *rows);

#endif
