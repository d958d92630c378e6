/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the parameters of `stitch`, and finds which views of a turn are opposite to each other.
 * The angles of the views decide that, because a scan may begin anywhere, turn either way and cover
 * more than a whole turn, so the number of a view tells nothing.
 */
#ifndef STAGES_SCAN_STITCH_VIEWS_H
#define STAGES_SCAN_STITCH_VIEWS_H

#include "stages/geometry/view_angles.h"

enum stitch_blend { STITCH_LINEAR, STITCH_COSINE };
enum stitch_interpolation { STITCH_TWO_TAPS, STITCH_FOUR_TAPS };
enum stitch_between { STITCH_FEW, STITCH_REFUSE, STITCH_INTERPOLATE };

struct stitch_params {
    double center; /* detector index at the rotation axis */
    int64_t detectors;
    int32_t blend, interpolation, between;
    int64_t first, views; /* in no table: ts_stitch_views() writes them */
};

/* The opposite of a view of the result is between two views of the input: `past` is the weight of
 * the second. If it is 0, only the first counts. */
struct stitch_opposite {
    int32_t view[2];
    float past;
};

/* Finds the opposites of the result's views, which are those of the input from params->first on.
 * `scratch` has room for in.axes[1].n places. */
void ts_stitch_opposites(const struct stage_context *context, struct stitch_opposite *opposites,
                         struct view_place *scratch);

#endif
