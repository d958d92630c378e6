/* SPDX-License-Identifier: Apache-2.0
 *
 * ring: stripes of a sinogram, which become rings.
 */
#ifndef STAGES_RING_H
#define STAGES_RING_H

#include "stages/stage.h"

enum ring_method { RING_SORTING, RING_WAVELET };
enum { RING_LARGEST = 127, RING_LEVELS = 16, RING_WAVES = 200 };

struct ring_params {
    int32_t method;
    int64_t size;
    int32_t wavelet; /* index into ts_wavelets */
    int64_t level;
    double sigma;
};

extern const struct stage ring_stage;
extern const struct stage_cuda ring_cuda;

/* Bytes of shared memory that sorting one column takes on a CUDA device. */
size_t ts_ring_column_bytes(int64_t n_views);

#endif
