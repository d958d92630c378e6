/* SPDX-License-Identifier: Apache-2.0
 *
 * resample gives a volume new voxels: with a given spacing, in a given number, or on the grid of
 * another image. The parameters are here because the CPU code and cuda/grid/resample.cu both read
 * them.
 */
#ifndef STAGES_GRID_RESAMPLE_H
#define STAGES_GRID_RESAMPLE_H

#include "stages/grid/samples.h"

enum convention {
    CONVENTION_CENTER,
    CONVENTION_ITK,
    CONVENTION_SCIPY,
    CONVENTION_SKIMAGE,
    CONVENTION_NNUNET,
    CONVENTION_TOTALSEGMENTATOR
};

struct resample_params {
    struct ts_numbers spacing, shape;
    struct ts_reference like;
    int32_t convention;    /* enum convention */
    int32_t interpolation; /* enum interpolation */
    bool antialias;
    double outside;
};

/* Returns true if values are clipped to the range of the whole input, which a reduction finds. */
bool ts_resample_finds_range(const struct stage_context *context);

/* Returns where the output's voxels are in the input, from resolved parameters, without a range. */
struct sampling ts_resample_sampling(const struct stage_context *context);

#endif
