/* SPDX-License-Identifier: Apache-2.0
 *
 * radon on the CPU, organized by its input (method row-fan-in): lines of pixels are projected, where all other methods
 * follow rays. It is here to be compared with them; on a CUDA device: cuda/projection/radon_rows.cu.
 */
#ifndef STAGES_PROJECTION_RADON_ROWS_H
#define STAGES_PROJECTION_RADON_ROWS_H

#include "stages/geometry/beam.h"

/* Returns the bytes of scratch for so many threads. */
size_t ts_radon_rows_scratch(const struct beam_scan *scan, int threads);
/* sinogram = projections of the volume, in a parallel beam; the volume has any dtype, the sinogram is f32. */
void ts_radon_rows(const struct beam_scan *scan, const struct ts_image *volume, struct ts_image *sinogram, int threads,
                   void *scratch);

#endif
