/* SPDX-License-Identifier: Apache-2.0
 *
 * unshear undoes a tilt of the gantry: slices that are not straight behind each other are shifted
 * within their planes, so that the step from slice to slice is along their normal. The parameters
 * are here because the CPU code and cuda/grid/unshear.cu both read them.
 */
#ifndef STAGES_GRID_UNSHEAR_H
#define STAGES_GRID_UNSHEAR_H

#include "stages/grid/samples.h"

struct unshear_params {
    int32_t interpolation; /* enum interpolation */
    double outside;
};

/* Returns where the output's voxels are in the input, from resolved parameters. */
struct sampling ts_unshear_sampling(const struct stage_context *context);

#endif
