/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of histogram on the CPU, by the names that they have on a CUDA device (enum histogram_method). They
 * differ in how many tables of counts there are, which pixels each table counts, and in which order the pixels are
 * read; the counts are the same integers. A method has a meaning here where it does not need the lanes of a warp to run
 * in step, which leaves out warp-tagged.
 */
#ifndef STAGES_HISTOGRAM_HISTOGRAM_METHODS_H
#define STAGES_HISTOGRAM_HISTOGRAM_METHODS_H

#include "stages/counting/bins.h"
#include "stages/histogram/histogram.h"

enum {
    HISTOGRAM_STRIP_COLUMNS = 512, /* columns of a strip of sub-histogram */
    HISTOGRAM_PART_PIXELS = 65536, /* least pixels of a part of shared */
    HISTOGRAM_PART_SLOTS = 16,     /* least pixels of a part of shared for each of its table's slots */
    HISTOGRAM_ROWS = 4             /* rows that occupancy takes at a time */
};

/* Make *counts those of the slices, by any method that the CPU has; HISTOGRAM_AUTO counts as other stages do. Where a
 * method has tables, the last one is left as it was filled, in the memory of the lanes. */
void ts_histogram_values_of(enum histogram_method method, struct value_counts *counts, const struct ts_image *slices);
void ts_histogram_bins_of(enum histogram_method method, struct bin_counts *counts, const struct bins *bins,
                          const struct ts_image *slices);

#endif
