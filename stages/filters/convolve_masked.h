/* SPDX-License-Identifier: Apache-2.0
 *
 * The convolution of masked images. An invalid pixel under the weights counts as the value in their middle, so that a
 * flat image stays flat and has no slope towards its padding, whatever the weights sum to. An invalid pixel in the
 * middle keeps its value.
 */
#ifndef STAGES_FILTERS_CONVOLVE_MASKED_H
#define STAGES_FILTERS_CONVOLVE_MASKED_H

#include "stages/engine/stage.h"
#include "stages/filters/convolve.h"

/* Returns the bytes of scratch of ts_convolve_mend. */
size_t ts_convolve_mend_bytes(const struct stage_context *context);
/* Writes the pixels of `out` that are invalid or have an invalid one under their weights; the others are there
 * already. */
void ts_convolve_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      void *scratch);

#endif
