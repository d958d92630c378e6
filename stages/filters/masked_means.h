/* SPDX-License-Identifier: Apache-2.0
 *
 * Weighted means over the valid pixels of a window, for box and gaussian of masked images:
 *
 *     out = F(valid * in) / F(valid)
 *
 * where F sums over a window with weights wz[k] * wy[j] * wx[i]. This is normalized convolution (H. Knutsson, C.-F.
 * Westin, 1993), with a certainty of 0 or 1. An invalid pixel keeps its value. Sums are made in double and in a fixed
 * order; those of integers with weights of 1 are exact up to 2^53. A mean of integers is the nearest one, the even one
 * of two.
 */
#ifndef STAGES_FILTERS_MASKED_MEANS_H
#define STAGES_FILTERS_MASKED_MEANS_H

#include "stages/engine/stage.h"

/* The window along z, y and x. */
struct masked_window {
    int64_t radius[3];
    const float *weights[3]; /* 2 radius + 1 of each axis; NULL: all are 1 */
    enum ts_border border;
    double constant; /* value of pixels outside with BORDER_CONSTANT, which count as valid */
};

/* A sum of values and that of their weights. */
struct masked_sum {
    double value, weight;
};

/* Returns the bytes of scratch of ts_masked_means. */
size_t ts_masked_means_bytes(const struct stage_context *context, const struct masked_window *window);
/* Writes the means of the slices of `out`. `in` has radius[0] more slices at both ends, with its bits. */
void ts_masked_means(const struct stage_context *context, const struct masked_window *window, const struct ts_image *in,
                     struct ts_image *out, void *scratch);
/* Stores n means as pixels [first, first + n) of a slice. Integers are rounded to the nearest, the even one of two. */
void ts_masked_store(const double *values, void *out, enum ts_dtype dtype, int64_t first, int64_t n);

#endif
