/* SPDX-License-Identifier: Apache-2.0
 *
 * air turns counts into transmission without a flat: the straight line through the outermost values
 * of each row, where the beam passes beside the object, replaces the flat. air.c has the full rule.
 * The CPU and a CUDA device find the line by the same function, which is here, so that it cannot
 * differ.
 */
#ifndef STAGES_SCAN_AIR_H
#define STAGES_SCAN_AIR_H

#include <float.h>

#include "core/host_device.h"
#include "stages/engine/stage.h"

struct air_params {
    int64_t detectors;
    double dark; /* in values of the input */
};

/* Numbers that are the same for all rows. They are factors, so that no row divides. */
struct air_shape {
    double dark, per_detector; /* 1 / detectors, the parameter */
    double outer; /* distance from the middle of the outer values to the row's end, divided by the
                   * distance of both middles */
    double per_step; /* 1 / (n - 1) */
};

/* The value of the beam alone, less the dark, is first * (n - 1 - d) + last * d along a row. */
struct air_line {
    float first, last;
    bool blocked;
};

static inline struct air_shape ts_air_shape(const struct air_params *params, int64_t n)
{
    const double detectors = (double)params->detectors;
    const struct air_shape shape = {params->dark, 1 / detectors,
                                    0.5 * (detectors - 1) / ((double)n - detectors),
                                    1 / (double)(n - 1)};
    return shape;
}

/* Returns the line through the means of the outer values on both sides, given their sums. */
TS_HOST_DEVICE struct air_line ts_air_line(const struct air_shape *shape, double left_sum,
                                           double right_sum)
{
    const double left = left_sum * shape->per_detector - shape->dark,
                 right = right_sum * shape->per_detector - shape->dark,
                 more = (right - left) * shape->outer;
    const float first = (float)((left - more) * shape->per_step),
                last = (float)((right + more) * shape->per_step);
    const bool known = first > 0 && first <= FLT_MAX && last > 0 && last <= FLT_MAX;
    const struct air_line line = {first, last, !known};
    return line;
}

#endif
