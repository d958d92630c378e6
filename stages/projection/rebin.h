/* SPDX-License-Identifier: Apache-2.0
 *
 * rebin turns the sinogram of a fan into that of a parallel beam; rebin.c has the rule. The taps of
 * a sample are the same for all slices, so a table of them is made once, by the function declared
 * here; the code of both devices only adds up the samples that it lists.
 */
#ifndef STAGES_PROJECTION_REBIN_H
#define STAGES_PROJECTION_REBIN_H

#include "stages/engine/stage.h"
#include "stages/geometry/fan_view.h"
#include "stages/geometry/view_angles.h"

struct rebin_params {
    int64_t views;
    double start; /* degree */
    int64_t detectors;
    double detector_spacing; /* mm */
};

/* A sample of the parallel sinogram is the sum over taps of weight times the fan's sample at index
 * `index` of the slice. */
enum { REBIN_TAPS = 8 };
struct rebin_sample {
    int32_t index[REBIN_TAPS];
    float weight[REBIN_TAPS];
};

/* Writes the out.axes[1].n x out.axes[2].n samples of a slice. `scratch` has
 * ts_rebin_scratch_bytes() bytes. */
void ts_rebin_table(const struct stage_context *context, struct rebin_sample *table,
                    struct view_place *scratch);
/* Return the bytes of the table, rounded up to a multiple of 64, and of the scratch. */
size_t ts_rebin_table_bytes(const struct stage_context *context);
size_t ts_rebin_scratch_bytes(const struct stage_context *context);

#endif
