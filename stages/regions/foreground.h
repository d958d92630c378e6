/* SPDX-License-Identifier: Apache-2.0
 *
 * foreground makes a mask of an image by a threshold, and cleans it. What the CPU code and
 * cuda/regions/foreground.cu share is here: the parameters, and the stage threshold within it.
 */
#ifndef STAGES_REGIONS_FOREGROUND_H
#define STAGES_REGIONS_FOREGROUND_H

#include "stages/regions/mask_runs.h"
#include "stages/regions/threshold.h"
#include "stages/values/scope.h"

enum foreground_method { FOREGROUND_OTSU, FOREGROUND_TRIANGLE, FOREGROUND_VALUE };
enum foreground_keep { FOREGROUND_LARGEST, FOREGROUND_ALL };
enum foreground_holes { FOREGROUND_HOLES_3D, FOREGROUND_HOLES_2D, FOREGROUND_HOLES_STAY };

struct foreground_params {
    int32_t method; /* enum foreground_method */
    double above;
    int64_t bins;
    int32_t keep;      /* enum foreground_keep */
    int64_t neighbors; /* 6, 18 or 26 */
    int32_t holes;     /* enum foreground_holes */
};

/* The first rounds of the reduction are those of the stage threshold, of the whole volume, with
 * these parameters and this context; its result begins the result. The last round collects the bits
 * of the mask, which the result has after that. */
struct foreground_threshold {
    struct threshold_params params;
    struct stage_context context;
};
void ts_foreground_threshold(const struct stage_context *context, struct foreground_threshold *of);
/* Returns true in the last round. */
bool ts_foreground_collects(const struct stage_context *context);
/* Returns the bytes of the result that are before the bits. */
size_t ts_foreground_bits_offset(const struct stage_context *context);
/* Returns the keys of the mask if the threshold is given. */
struct key_range ts_foreground_given(const struct stage_context *context);

#endif
