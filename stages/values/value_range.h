/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the smallest and the largest finite value of an image, and how many values are NaN or
 * infinite. Stages that need them can use it as their reduction.
 */
#ifndef STAGES_VALUES_VALUE_RANGE_H
#define STAGES_VALUES_VALUE_RANGE_H

#include "core/image.h"
#include "stages/engine/stage.h"

struct stage_context;

/* Zero bytes are an empty range. */
struct value_range {
    uint64_t n_finite, n_nan, n_infinite;
    double low, high; /* no meaning where n_finite is 0 */
};

/* Adds n values of an image's dtype to the range. */
void ts_value_range_add(struct value_range *range, const void *data, enum ts_dtype dtype, size_t n);
/* Widens `into` to the range of both. */
void ts_value_range_merge(struct value_range *into, const struct value_range *from);
/* Serves as reduce() of a stage_reduction; the partial is the struct value_range of input 0. Any
 * grouping of slices gives the same result. */
void ts_value_range_reduce(const struct stage_context *context, int input,
                           const struct ts_image *slices, void *partial);

/* ---- limits ------------------------------------------------------------------------------------
 *
 * Stages that work between two values share the parameters `range` and `limits` and their messages.
 * `range: [low, high]` gives the values; without it `limits` states where they come from. */

enum limits { LIMITS_DATA, LIMITS_DTYPE };
extern const struct choice ts_limits_choices[];

/* Checks that `range`, where it is given, is two rising numbers. Messages call it `name`. */
enum ts_status ts_limits_check_range(const struct stage_context *context, const char *name,
                                     const struct ts_numbers *range);
/* Reports the error of `limits: dtype` for floats. */
enum ts_status ts_limits_refuse_float(const struct stage_context *context);

#endif
