/* SPDX-License-Identifier: Apache-2.0
 *
 * resample gives a volume new voxels: with a given spacing, in a given number, or on the grid of
 * another image. The parameters are here because the CPU code and cuda/grid/resample.cu both read
 * them.
 */
#ifndef STAGES_GRID_RESAMPLE_H
#define STAGES_GRID_RESAMPLE_H

#include "stages/grid/samples.h"

struct resample_params {
    struct ts_numbers spacing, shape;
    struct ts_reference like;
    int32_t interpolation; /* enum interpolation */
    double outside;
};

/* Returns where the output's voxels are in the input, from resolved parameters. */
struct sampling ts_resample_sampling(const struct stage_context *context);

#endif
