/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers: values far from the median of their neighborhood become that median.
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
