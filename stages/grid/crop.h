/* SPDX-License-Identifier: Apache-2.0
 *
 * crop keeps a box of a volume, given by indices or by positions in mm along its axes, or found as
 * the smallest box of a region, and drops the rest. Origin and positions along the axes are
 * adjusted, so that every pixel that is kept stays where it was in the patient. The parameters are
 * here because the CPU code and cuda/grid/crop.cu both read them.
 */
#ifndef STAGES_GRID_CROP_H
#define STAGES_GRID_CROP_H

#include "stages/grid/moves.h"

enum crop_unit { CROP_PIXEL, CROP_MM, CROP_PATIENT };

struct crop_params {
    struct ts_numbers z, y, x;
    int32_t unit;        /* enum crop_unit */
    double above, below; /* infinite: no bound */
    struct ts_reference mask;
    double margin;
};

/* Returns the move that crops, from resolved parameters. */
struct moves ts_crop_moves(const struct stage_context *context);

#endif
