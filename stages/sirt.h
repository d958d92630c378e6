/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt: simultaneous iterative reconstruction of every slice.
 */
#ifndef STAGES_SIRT_H
#define STAGES_SIRT_H

#include "stages/common/iterate.h"
#include "stages/common/slice_grid.h"

struct sirt_params {
    int64_t iterations;
    double relaxation;
    bool nonnegative;
    int32_t stop; /* enum iterate_stop */
    double tolerance, noise;
    int64_t rows, columns;
    double pixel_size;            /* mm */
    char unit[LENGTH_UNIT_BYTES]; /* no row: the unit of the result, written by resolve() */
};

extern const struct stage sirt_stage;
extern const struct stage_cuda sirt_cuda;

struct iterate ts_sirt_iterate(const struct sirt_params *params);

#endif
