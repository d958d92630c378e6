/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLAMP_H
#define CORE_CLAMP_H

#include "core/host_device.h"

#include <stdint.h>

/* The number from low to high that is nearest to `value`. */
TS_HOST_DEVICE int64_t ts_clamp(int64_t value, int64_t low, int64_t high)
{
    if (value < low)
        return low;
    return value < high ? value : high;
}

#endif
