/* SPDX-License-Identifier: Apache-2.0
 *
 * air: counts to transmission, with the beam that passes beside the object as the flat.
 */
#ifndef STAGES_AIR_H
#define STAGES_AIR_H

#include <float.h>

#include "stages/stage.h"

struct air_params {
    int64_t detectors;
    double dark; /* in values of the input */
};

/* What the beam alone gives along a row: a straight line. */
struct air_line {
    double first, last; /* at the ends of the row, divided by its number of detectors less 1 */
    bool blocked;
};

extern const struct stage air_stage;
extern const struct stage_cuda air_cuda;

/* Through the means, less the dark, of the outer detectors on both sides of a row of n detectors. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline struct air_line
    ts_air_line(double left, double right, int64_t n, int64_t detectors)
{
    const double slope = (right - left) / (double)(n - detectors), outer = 0.5 * (double)(detectors - 1);
    const double first = left - outer * slope, last = right + outer * slope;
    const bool known = (float)first > 0 && (float)first <= FLT_MAX && (float)last > 0 && (float)last <= FLT_MAX;
    const struct air_line line = {first / (double)(n - 1), last / (double)(n - 1), !known};
    return line;
}

#endif
