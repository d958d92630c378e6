/* SPDX-License-Identifier: Apache-2.0
 *
 * equalize changes the values of an image so that their histogram becomes flat, or like that of
 * another image. The values are counted first, and finish() makes a table from the counts by which
 * every value is mapped. The layout of that table is here because the CPU code and
 * cuda/histogram/equalize.cu both write and read it.
 */
#ifndef STAGES_HISTOGRAM_EQUALIZE_H
#define STAGES_HISTOGRAM_EQUALIZE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host_device.h"
#include "stages/counting/bins.h"
#include "stages/engine/stage.h"

enum equalize_method { EQUALIZE_SKIMAGE, EQUALIZE_OPENCV };

struct equalize_params {
    int32_t method; /* enum equalize_method */
    int64_t bins;
    int32_t scope; /* enum scope */
    struct ts_reference reference, mask;
};

enum { EQUALIZE_REFERENCE = 1, EQUALIZE_MASK = 2 }; /* inputs */

/* The head of the result. The map follows (a float or an integer for each value, or a double for
 * each bin), then the reference's quantiles. bins[0] is for the image and bins[1] for the
 * reference; each is only set if the type is not counted by value. With `single` each bin holds one
 * integer, its lower edge. If the image is counted by value, `low` and `high` are the keys of the
 * lowest and the highest value with an entry. */
struct equalize_result {
    struct bins bins[2];
    bool single[2];
    uint32_t low, high;
};

/* Returns the most bins or values that an input can have (0: the image, 1: the reference). */
size_t ts_equalize_capacity(const struct stage_context *context, int input);

/* ---- value maps --------------------------------------------------------------------------------
 *
 * The rules of histogram equalization and matching. Each computes a new value for each of n rising
 * values from their counts. */

/* Returns round(above * (levels - 1) / all), with ties to even. For 256 levels it is computed in
 * single precision, which gives the bytes of OpenCV; for more levels, which OpenCV does not have,
 * it is exact. above <= all < 2^47. */
TS_HOST_DEVICE uint32_t ts_value_level(uint64_t above, uint64_t all, uint32_t levels)
{
    if (levels <= 256) {
        const float level = rintf((float)above * ((float)(levels - 1) / (float)all));
        return level < (float)(levels - 1) ? (uint32_t)level : levels - 1;
    }
    const uint64_t product = above * (levels - 1), whole = product / all, twice = product % all * 2;
    return (uint32_t)(whole + (twice > all || (twice == all && whole % 2 == 1)));
}

/* The values of a distribution that occur; their cumulative counts follow the values in memory. */
struct quantiles {
    uint64_t n, capacity;
    double values[];
};

#endif
