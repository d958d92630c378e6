/* SPDX-License-Identifier: Apache-2.0
 *
 * What the oracles of stages that take a mask are given: what each voxel is.
 */
#ifndef TESTS_STAGES_REGIONS_MASK_ORACLE_H
#define TESTS_STAGES_REGIONS_MASK_ORACLE_H

#include "tests/support/oracles.h"

enum { VOXEL_OUT, VOXEL_IN, VOXEL_INVALID };

/* Returns what the voxels of the context's input are, for these values of them and the parameter
 * `label`. Those that `image` (NULL: none) says are invalid are. Free them. */
unsigned char *ts_mask_oracle_voxels(const struct stage_context *context,
                                     const struct ts_numbers *label, const double *values,
                                     const struct ts_image *image);

/* Index of a voxel of the context's input. */
static inline size_t ts_mask_oracle_at(const struct stage_context *context, int64_t z, int64_t y,
                                       int64_t x)
{
    return (size_t)((z * context->in.axes[1].n + y) * context->in.axes[2].n + x);
}

#endif
