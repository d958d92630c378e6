/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector A over stacks of slices on the CPU, for every beam, and its exact adjoint A':
 * both take the same crossings and weights (stages/geometry/beam.h), so that <A x, y> = <x, A' y>
 * except for rounding of sums. Volumes are (z, y, x), sinograms (z, view, detector); slices are
 * independent of each other, and the bytes of a slice depend neither on the others nor on the
 * threads.
 */
#ifndef STAGES_PROJECTION_JOSEPH_H
#define STAGES_PROJECTION_JOSEPH_H

#include "stages/geometry/beam.h"

/* Return the bytes of scratch, which must begin on a 64-byte boundary and need not be cleared. n:
 * number of slices. */
size_t ts_joseph_project_scratch(const struct beam_scan *scan, int threads);
size_t ts_joseph_backproject_scratch(const struct beam_scan *scan, int64_t n, int threads);

/* Computes sinogram = A volume; the volume has any dtype, the sinogram is f32. */
void ts_joseph_project(const struct beam_scan *scan, const struct ts_image *volume,
                       struct ts_image *sinogram, int threads, void *scratch);
/* Computes volume = A' sinogram: each pixel sums weight times length in mm times value, over rays
 * in the order of views and detector pixels. There are no weights of angles and no filter. The
 * sinogram has any dtype, the volume is f32. */
void ts_joseph_backproject(const struct beam_scan *scan, const struct ts_image *sinogram,
                           struct ts_image *volume, int threads, void *scratch);

#endif
