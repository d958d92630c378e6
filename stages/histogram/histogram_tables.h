/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the tables of `histogram` and their places, and computes the distances of two histograms.
 */
#ifndef STAGES_HISTOGRAM_HISTOGRAM_TABLES_H
#define STAGES_HISTOGRAM_HISTOGRAM_TABLES_H

#include "stages/histogram/histogram.h"

/* _REFERENCE to _WASSERSTEIN exist only with a reference, _LABEL_COUNTS and all that follow only with labels. */
enum {
    TABLE_COUNTS,
    TABLE_EDGES,
    TABLE_UNDERFLOW,
    TABLE_OVERFLOW,
    TABLE_NAN,
    TABLE_REFERENCE,
    TABLE_DISTANCES,
    TABLE_WASSERSTEIN,
    TABLE_LABEL_COUNTS,
    TABLE_LABEL_UNDERFLOW,
    TABLE_LABEL_OVERFLOW,
    TABLE_LABEL_NAN,
    TABLE_OTHER_COUNTS,
    TABLE_OTHER_OUTSIDE,
    TABLES
};
enum { DISTANCE_TOTAL_VARIATION, DISTANCE_KOLMOGOROV_SMIRNOV, DISTANCES };

/* Describes the tables and returns how many there are: the tables() of the reduction. */
int ts_histogram_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES]);
/* Returns the index of a table among those that the stage has, with or without a reference. */
int ts_histogram_table(bool reference, int table);
/* Computes the total variation, Kolmogorov-Smirnov and 1-Wasserstein distance of two histograms as shares of the values
 * that are numbers; values outside the range count as if they were at its nearer end. NaN where one is empty. */
void ts_histogram_compare(const struct bins *bins, const uint64_t *a, const uint64_t *a_outside, const uint64_t *b,
                          const uint64_t *b_outside, double distances[DISTANCES], double *wasserstein);

#endif
