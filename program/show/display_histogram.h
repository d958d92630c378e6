/* SPDX-License-Identifier: Apache-2.0
 *
 * The histogram of what is shown: counts between the smallest and the largest value, and their
 * running sum, by which equalization would map the values.
 */
#ifndef PROGRAM_SHOW_DISPLAY_HISTOGRAM_H
#define PROGRAM_SHOW_DISPLAY_HISTOGRAM_H

#include "core/image.h"

enum { DISPLAY_BINS = 256 };

struct display_histogram {
    double low, high;    /* range of the finite values; both 0 if there are none */
    double dark, bright; /* the 1st and the 99th percentile, with the precision of a bin */
    int64_t counts[DISPLAY_BINS];
    float curve[DISPLAY_BINS]; /* share of the finite values up to the end of each bin, 0 to 1 */
};

/* Counts slices [z, z + n) of an image. */
void ts_display_histogram(const struct ts_image *image, int64_t z, int64_t n,
                          struct display_histogram *histogram);

#endif
