/* SPDX-License-Identifier: Apache-2.0
 *
 * stitch joins the opposite views of a whole turn about a rotation axis near the detector's edge,
 * which makes half a turn of views that are up to twice as wide. Both devices use the grid and the
 * weights declared here, which depend only on the parameters and are computed once for all rows.
 */
#ifndef STAGES_SCAN_STITCH_H
#define STAGES_SCAN_STITCH_H

#include "stages/scan/stitch_views.h"

/* The samples of a row of the result. Detector pixel d of a view is at index d + shift of the
 * result. The opposite's sample for it is at base - d plus the fraction of a pixel that the taps
 * interpolate, for d in [first, end). */
enum { STITCH_TAPS = 4 };
struct stitch_grid {
    int64_t n, width; /* detector pixels of the input, of the result */
    int64_t shift, base, first, end;
    int taps;               /* 1 (the sample as it is), 2 or 4 */
    float tap[STITCH_TAPS]; /* weights of the pixels from index 0 on, or for 4 taps from -1 on;
                             * beyond an end the last pixel is repeated */
    float air;              /* the value if no view has a sample */
};

struct stitch_grid ts_stitch_grid(const struct stage_context *context);
/* Writes the weight of the view itself for each detector pixel of the result, 0 if it has no
 * sample; its opposite has the rest. */
void ts_stitch_weights(const struct stage_context *context, float *weights);

#endif
