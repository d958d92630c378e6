/* SPDX-License-Identifier: Apache-2.0
 *
 * reorient exchanges and reverses the axes of a volume, so that x, y and z rise to the sides of the
 * patient that three letters name. No value changes, and every pixel keeps its position in the
 * patient. The parameters are here because the CPU code and cuda/grid/reorient.cu both read them.
 */
#ifndef STAGES_GRID_REORIENT_H
#define STAGES_GRID_REORIENT_H

#include "stages/grid/moves.h"

struct reorient_params {
    const char *to;
};

/* Returns the move that reorients, from resolved parameters. */
struct moves ts_reorient_moves(const struct stage_context *context);

#endif
