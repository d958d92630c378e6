/* SPDX-License-Identifier: Apache-2.0
 *
 * This maps every value of a slab by itself, computed in double.
 */
#ifndef STAGES_VALUES_POINT_MAP_H
#define STAGES_VALUES_POINT_MAP_H

#include "stages/engine/stage.h"

/* Maps n values in place; z counts slices of the slab (for results per slice). Several threads call
 * it. */
typedef void point_function(const struct stage_context *context, int64_t z, double *values,
                            size_t n);

/* Computes out = function(in). Integer outputs are rounded half to even and saturated, and NaN
 * becomes 0 there. */
enum ts_status ts_point_map(const struct stage_context *context, const struct ts_image *in,
                            struct ts_image *out, point_function *function);

/* The parameters `dtype`, `out_low` and `out_high` of stages that give values a new range. */
enum out_dtype { OUT_F32, OUT_U8, OUT_U16 };
extern const struct choice ts_out_dtype_choices[];
/* Returns the element type of a choice. */
enum ts_dtype ts_out_dtype(int32_t choice);
/* Sets *low and *high to the range of the choice ([0, 1] for f32) if the parameters of these names
 * were not given, and checks them. */
enum ts_status ts_out_range_resolve(const struct stage_context *context, int32_t choice,
                                    double *low, double *high);
#define OUT_LOW_DERIVED "0"
#define OUT_HIGH_DERIVED "1 for f32, 255 for u8, 65535 for u16"

#endif
