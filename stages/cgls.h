/* SPDX-License-Identifier: Apache-2.0
 *
 * cgls: least-squares reconstruction of every slice by conjugate gradients.
 */
#ifndef STAGES_CGLS_H
#define STAGES_CGLS_H

#include "stages/common/iterate.h"
#include "stages/common/slice_grid.h"

struct cgls_params {
    int64_t iterations;
    int32_t stop; /* enum iterate_stop */
    double tolerance, noise;
    int64_t rows, columns;
    double pixel_size;            /* mm */
    char unit[LENGTH_UNIT_BYTES]; /* no row: the unit of the result, written by resolve() */
};

extern const struct stage cgls_stage;
extern const struct stage_cuda cgls_cuda;

struct iterate ts_cgls_iterate(const struct cgls_params *params);

#endif
