/* SPDX-License-Identifier: Apache-2.0
 *
 * median replaces every value by the median of a square or cubic window of 2 radius + 1 values
 * along each side. That removes single wrong values and keeps edges. Small windows are sorted by a
 * network, large ones use a sliding histogram; median.c says how. The parameters are here because
 * cuda/filters/median.cu reads them, too.
 */
#ifndef STAGES_FILTERS_MEDIAN_H
#define STAGES_FILTERS_MEDIAN_H

#include "stages/engine/stage.h"

enum median_dimensions { MEDIAN_2D, MEDIAN_3D };
enum median_method { MEDIAN_AUTO, MEDIAN_NETWORK, MEDIAN_HISTOGRAM };

/* The largest window whose median a network finds: 7 x 7. A cube of 3 x 3 x 3 has 27 values; the
 * next cube has 125. */
enum { MEDIAN_NETWORK_VALUES = 49 };

struct median_params {
    int64_t radius;
    int32_t dimensions, border, method;
    double constant;
};

#endif
