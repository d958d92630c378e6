/* SPDX-License-Identifier: Apache-2.0
 *
 * ring: stripes of a sinogram, which become rings.
 */
#ifndef STAGES_SCAN_RING_H
#define STAGES_SCAN_RING_H

#include "stages/engine/stage.h"

enum ring_method { RING_SORTING, RING_WAVELET };
enum { RING_LARGEST = 127, RING_LEVELS = 16, RING_WAVES = 200 };

struct ring_params {
    int32_t method;
    int64_t size;
    int32_t wavelet; /* index into ts_wavelets */
    int64_t level;
    double sigma;
};

/* What a thread of a CUDA device sorts by itself: columns of fewer views take as many places. */
enum { RING_LEAST_PLACES = 16 };
/* Places for the views of a column on a CUDA device, and the bytes of shared memory that sorting them takes. */
int ts_ring_places(int64_t n_views);
size_t ts_ring_column_bytes(int64_t n_views);

#endif
