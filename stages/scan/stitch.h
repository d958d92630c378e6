/* SPDX-License-Identifier: Apache-2.0
 *
 * stitch: opposite views of a whole turn, joined about a rotation axis near the detector's edge.
 */
#ifndef STAGES_SCAN_STITCH_H
#define STAGES_SCAN_STITCH_H

#include "stages/engine/stage.h"

enum stitch_blend { STITCH_LINEAR, STITCH_COSINE };
enum stitch_interpolation { STITCH_TWO_TAPS, STITCH_FOUR_TAPS };
enum stitch_between { STITCH_REFUSE, STITCH_INTERPOLATE };

struct stitch_params {
    double center; /* detector index of the rotation axis */
    int64_t detectors;
    int32_t blend, interpolation, between;
    int64_t views; /* no row: written by resolve() */
};

/* The opposite of a view of the result: views of the input, the second counting `past`; 0: the first alone. */
struct stitch_opposite {
    int32_t view[2];
    float past;
};

/* Where samples come from. Detector d of a view stands at detector d + shift of the result; its opposite has there the
 * sample at base - d + `past` of a detector, for d in [first, end). */
enum { STITCH_TAPS = 4 };
struct stitch_grid {
    int64_t n, width; /* detectors of the input, of the result */
    int64_t shift, base, first, end;
    int taps;               /* 1: as it is */
    float tap[STITCH_TAPS]; /* of detectors 0, or 0 and 1, or -1 to 2 from the sample's; beyond the ends the last */
    float air;              /* where no view has a sample */
};

struct stitch_grid ts_stitch_grid(const struct stage_context *context);
/* Weight of the view itself for each detector of the result, 0 where it has none; its opposite has the rest. */
void ts_stitch_weights(const struct stage_context *context, float *weights);
/* The opposites of the result's views. room: ts_stitch_room_bytes() of them. */
size_t ts_stitch_room_bytes(const struct stage_context *context);
void ts_stitch_opposites(const struct stage_context *context, struct stitch_opposite *opposites, void *room);

#endif
