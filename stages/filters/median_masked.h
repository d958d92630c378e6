/* SPDX-License-Identifier: Apache-2.0
 *
 * The median over the valid pixels of a window, for masked images: of n valid values the one at place n / 2 of the
 * sorted ones, counted from 0, which for a whole window is the median of any other image. An invalid pixel keeps its
 * value.
 */
#ifndef STAGES_FILTERS_MEDIAN_MASKED_H
#define STAGES_FILTERS_MEDIAN_MASKED_H

#include "stages/engine/stage.h"

/* Returns the key that would stand at index `rank` if the n keys were sorted. Changes their order. */
int32_t ts_select_key(int32_t *keys, int64_t n, uint32_t rank);
/* Returns the bytes of scratch of ts_median_mend. */
size_t ts_median_mend_bytes(const struct stage_context *context);
/* Writes the pixels of `out` that are invalid or have an invalid one in their window; the others are there already.
 * `in` has the halo of the stage at both ends, with its bits. `constant` is the key of pixels outside with
 * BORDER_CONSTANT, which count as valid. */
void ts_median_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                    int32_t constant, void *scratch);

#endif
