/* SPDX-License-Identifier: Apache-2.0
 *
 * threshold makes a mask: 1 if a value lies above a threshold, below another, or between two, and 0
 * elsewhere. The threshold is given, or a reduction finds it: by Otsu's rule, or as a percentile.
 * The layout of its result is here because the CPU code and cuda/regions/threshold.cu both write
 * and read it.
 */
#ifndef STAGES_REGIONS_THRESHOLD_H
#define STAGES_REGIONS_THRESHOLD_H

#include <stddef.h>
#include <stdint.h>

#include "stages/counting/bins.h"
#include "stages/counting/percentile.h"
#include "stages/engine/stage.h"
#include "stages/values/value_keys.h"

enum threshold_method { THRESHOLD_VALUE, THRESHOLD_OTSU, THRESHOLD_TRIANGLE, THRESHOLD_PERCENTILE };
enum threshold_side { THRESHOLD_ABOVE, THRESHOLD_BELOW };

struct threshold_params {
    int32_t method;      /* enum threshold_method */
    double above, below; /* infinite: no bound */
    double percentile;
    int64_t bins;
    int32_t side;  /* enum threshold_side */
    int32_t scope; /* enum scope */
    struct ts_reference mask;
};

struct threshold_result {
    struct bins bins;      /* for a rule with 32-bit values; kernels read them at the beginning of
                            * the result */
    struct key_range keys; /* keys of the values that become 1 */
    struct percentile_search search; /* the struct ends before this if no second round is needed */
};

/* Returns the keys of the values that become 1, if the threshold is given. */
struct key_range ts_threshold_given(const struct stage_context *context);
/* Returns true if a rule finds the threshold in a histogram: Otsu's or the triangle. */
bool ts_threshold_by_rule(const struct stage_context *context);
/* Returns true if each value has its own count: for 8- and 16-bit integers. */
bool ts_threshold_by_value(const struct stage_context *context);
/* Returns true for percentiles of slices of 32-bit values on a device, which are found in one
 * round: totals are percentile_ends. */
bool ts_threshold_by_ends(const struct stage_context *context);
/* Returns true in the round of a rule that only looks for the range of the bins. */
bool ts_threshold_ranging(const struct stage_context *context);

/* ---- otsu --------------------------------------------------------------------------------------
 *
 * Otsu's threshold (N. Otsu, 1979): of all ways to divide values into lower and higher ones, it is
 * the one with the largest variance between the two classes. */

/* Returns the index of the last value of the lower class, for n evenly spaced values that occur
 * counts[i] times: the first of equally good ones, or the index of the only value that occurs.
 * Returns -1 if nothing was counted. */
int64_t ts_otsu(const uint64_t *counts, size_t n);

/* ---- triangle ----------------------------------------------------------------------------------
 *
 * The threshold of an image that is mostly background (G. Zack, W. Rogers and S. Latt, 1977): a
 * line goes from the peak of the histogram to its further end, and the threshold is the value whose
 * count is furthest below the line. */

/* Returns its index, as ts_otsu() does. */
int64_t ts_triangle(const uint64_t *counts, size_t n);

/* Describes a mask of 0 and 1 in 8 bits. It is shape() of stages that make one. */
enum ts_status ts_mask_shape(const struct stage_context *context, struct ts_image *out);

#endif
