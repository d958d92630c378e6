/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers replaces values that differ from the median of their neighborhood by at least a
 * threshold with that median. This removes single bright values from scattered photons and dead
 * detector pixels, and keeps the noise. outliers.c has the rule; cuda/filters/outliers.cu reads the
 * same parameters.
 */
#ifndef STAGES_FILTERS_OUTLIERS_H
#define STAGES_FILTERS_OUTLIERS_H

#include "stages/engine/stage.h"

enum outliers_kind { OUTLIERS_BRIGHT = 1, OUTLIERS_DARK = 2, OUTLIERS_BOTH = 3 };
enum outliers_plane { OUTLIERS_PROJECTION, OUTLIERS_SINOGRAM };
enum { OUTLIERS_LARGEST = 31 };

struct outliers_params {
    int64_t size;
    double threshold;
    int32_t kind, plane;
};

#endif
