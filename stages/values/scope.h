/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `scope` of the stages that reduce an image before they map or describe it: numbers of the volume, or of
 * each slice. A stage's struct has `int32_t scope; // enum scope` and a row of that name with ts_scope_choices; these
 * functions do the rest for its reduction, on the CPU and on the host's side of CUDA.
 */
#ifndef STAGES_VALUES_SCOPE_H
#define STAGES_VALUES_SCOPE_H

#include "stages/engine/stage.h"

enum scope { SCOPE_VOLUME, SCOPE_SLICE };
extern const struct choice ts_scope_choices[];

/* True where the row `scope` says slice. */
bool ts_scope_is_slice(const struct stage_context *context);
/* per_slice() of the reduction: true where it has rounds and the row `scope` says slice. */
bool ts_scope_per_slice(const struct stage_context *context);
/* How many slices the partial result of a reduction that keeps them apart has: 1, or all of the input's. */
size_t ts_scope_slices(const struct stage_context *context);
/* In the map: the result of the volume, or that of slice z of the slab. */
const void *ts_scope_result(const struct stage_context *context, int64_t z);
/* A table of one value of the scope, in the unit of the image's values or (in_values false) in 1: of rank 0, or (z)
 * where the reduction is per slice. Further axes can be added by ts_scope_axis(). */
struct stage_table ts_scope_table(const struct stage_context *context, const char *name, const char *doc,
                                  enum ts_dtype dtype, bool in_values);
/* Makes each value of the table n values along a last axis of this kind. */
void ts_scope_axis(struct stage_table *table, enum ts_axis_kind kind, int64_t n);

#endif
