/* SPDX-License-Identifier: Apache-2.0
 *
 * box: the mean over a window of 2 radius + 1 samples along y and x, or along z, y and x:
 *
 *     out[z][y][x] = 1/N * sum over |dy|, |dx| (and |dz|) <= radius of in[z + dz][y + dy][x + dx]
 */
#ifndef STAGES_BOX_H
#define STAGES_BOX_H

#include "stages/stage.h"

enum box_dimensions { BOX_2D, BOX_3D };
enum box_method { BOX_AUTO, BOX_DIRECT, BOX_RUNNING_SUM };

struct box_params {
    int64_t radius;
    int32_t dimensions, border;
    double constant;
    int32_t method;
};

extern const struct stage box_stage;

#endif
