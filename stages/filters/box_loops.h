/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of box that a CPU has so that it can be compared with a CUDA device, method by method: `direct` beyond
 * the radius where box.c adds rows, `unrolled`, `separable` and `tile`. `auto` never takes them, because their cost
 * grows with the radius. Sums are int32_t where the largest one fits, int64_t or, for floats, double; integer means
 * are the same bytes as by every other method.
 */
#ifndef STAGES_FILTERS_BOX_LOOPS_H
#define STAGES_FILTERS_BOX_LOOPS_H

#include "stages/filters/box.h"

/* Returns the bytes of scratch of one ts_box_loops_map() of n slices. */
size_t ts_box_loops_scratch_bytes(const struct stage_context *context, int64_t n);
/* Maps a slab by the context's method. `in` has the halo that box_reach() asks for. There are no errors. */
void ts_box_loops_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      void *scratch);

#endif
