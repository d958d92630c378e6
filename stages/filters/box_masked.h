/* SPDX-License-Identifier: Apache-2.0
 *
 * The means over the valid pixels of each window, for box of masked images of integers. Sums are exact, so that these
 * are the bytes of masked_means.h, at the cost of box and little more.
 */
#ifndef STAGES_FILTERS_BOX_MASKED_H
#define STAGES_FILTERS_BOX_MASKED_H

#include "stages/engine/stage.h"

/* Returns true for images whose sums over a window are exact in double. */
bool ts_box_mends(const struct stage_context *context);
/* Returns the bytes of scratch of ts_box_mend. */
size_t ts_box_mend_bytes(const struct stage_context *context);
/* Writes the pixels of `out` that are invalid or have an invalid one in their window; the others are there already.
 * `in` has the halo of the stage at both ends, with its bits. */
void ts_box_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out, void *scratch);

#endif
