/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the rules of histogram equalization and matching. Each turns the counts of n rising values into a new value
 * for each of them.
 */
#ifndef STAGES_COUNTING_VALUE_MAPS_H
#define STAGES_COUNTING_VALUE_MAPS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host_device.h"

/* Returns round(above * (levels - 1) / all), with ties to even. Of 256 levels it is computed in single precision, so
 * that results are the bytes of OpenCV; of more levels, which OpenCV does not have, exactly. above <= all < 2^47. */
TS_HOST_DEVICE uint32_t ts_value_level(uint64_t above, uint64_t all, uint32_t levels)
{
    if (levels <= 256) {
        const float level = rintf((float)above * ((float)(levels - 1) / (float)all));
        return level < (float)(levels - 1) ? (uint32_t)level : levels - 1;
    }
    const uint64_t product = above * (levels - 1), whole = product / all, twice = product % all * 2;
    return (uint32_t)(whole + (twice > all || (twice == all && whole % 2 == 1)));
}

/* The values of a distribution that occur, with their cumulative counts, which follow the values in memory. */
struct quantiles {
    uint64_t n, capacity;
    double values[];
};

#endif
