/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `scope` of the stages that reduce an image before they map or describe it: it
 * chooses between numbers of the volume and of each slice. A stage's struct has `int32_t scope; //
 * enum scope` and a parameter of that name with ts_scope_choices; these functions do the rest for
 * its reduction, on the CPU and on the host's side of CUDA.
 */
#ifndef STAGES_VALUES_SCOPE_H
#define STAGES_VALUES_SCOPE_H

#include "stages/engine/stage.h"

enum scope { SCOPE_VOLUME, SCOPE_SLICE, SCOPE_SERIES };
extern const struct choice ts_scope_choices[];
/* The choices with `series` in addition, which means one set of numbers for all volumes of a
 * series. The plan then describes the stage's images as if the volumes were one, slice behind
 * slice, and the run reduces all of them before it maps any. So a stage with these choices treats
 * `series` as `volume`, must not look into neighboring slices, and maps each slice by itself. */
extern const struct choice ts_scope_series_choices[];

/* The choices of a parameter `axis` of a stage that makes one image of the slices of a volume, or
 * of all volumes of a series. For volumes the run reduces all of them, as for `series`; the stage's
 * input is described as if the volumes were one, and its output is one volume. */
enum scope_along {
    SCOPE_ALONG_Z,
    SCOPE_ALONG_TIME,
    SCOPE_ALONG_ECHO,
    SCOPE_ALONG_B,
    SCOPE_ALONG_VOLUMES
};
extern const struct choice ts_scope_along_choices[];
/* Returns true if the stage has such a parameter, and it is not `z`. */
bool ts_scope_joins_volumes(const struct stage_context *context);
/* Returns true if it then takes volumes that differ by this axis. */
bool ts_scope_takes_volumes(const struct stage_context *context, enum ts_axis_kind kind);

/* Returns true if the stage has a parameter `scope`, and it is `series`. */
bool ts_scope_is_series(const struct stage_context *context);

/* Returns true if the parameter `scope` is `slice`. */
bool ts_scope_is_slice(const struct stage_context *context);
/* Returns true if the reduction has rounds and the parameter `scope` is `slice`. This is
 * per_slice() of the reduction. */
bool ts_scope_per_slice(const struct stage_context *context);
/* Says in a stage's reduction that it finds numbers of the volume or of each slice for its map,
 * from counts that are exact in any order. */
#define SCOPE_REDUCTION                                                                            \
    .per_slice = ts_scope_per_slice, .order_free = true, .exact = true, .feeds_map = true
/* Returns how many slices the partial result has, for a reduction that keeps them separate: 1, or
 * all of the input's. */
size_t ts_scope_slices(const struct stage_context *context);
/* Returns, for the map, the result of the volume, or that of slice z of the slab. */
const void *ts_scope_result(const struct stage_context *context, int64_t z);
/* Returns a table of one value, of rank 0, or of one value for each z if the reduction is per
 * slice. Its unit is that of the image's values, or 1 if in_values is false. ts_scope_axis() can
 * add an axis. */
struct stage_table ts_scope_table(const struct stage_context *context, const char *name,
                                  const char *doc, enum ts_dtype dtype, bool in_values);
/* Makes each value of the table n values along a last axis of this kind. */
void ts_scope_axis(struct stage_table *table, enum ts_axis_kind kind, int64_t n);

#endif
