/* SPDX-License-Identifier: Apache-2.0
 *
 * rebin: the sinogram of a fan as that of a parallel beam.
 */
#ifndef STAGES_PROJECTION_REBIN_H
#define STAGES_PROJECTION_REBIN_H

#include "stages/engine/stage.h"
#include "stages/geometry/fan_view.h"

struct rebin_params {
    int64_t views;
    double start; /* degree */
    int64_t detectors;
    double detector_spacing; /* mm */
};

/* A sample of the parallel sinogram: the sum of weight times sample of the fan's slice, as an index into it. */
enum { REBIN_TAPS = 8 };
struct rebin_sample {
    int32_t index[REBIN_TAPS];
    float weight[REBIN_TAPS];
};

/* Bytes of the table of all samples of a slice, and of what it is worked out in, in this order; and filling it. */
size_t ts_rebin_table_bytes(const struct stage_context *context);
size_t ts_rebin_room_bytes(const struct stage_context *context);
void ts_rebin_table(const struct stage_context *context, struct rebin_sample *table, void *room);

#endif
