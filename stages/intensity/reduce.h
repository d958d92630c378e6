/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce makes one image of the slices of a volume, or of the volumes of a series. The parameters,
 * the arithmetic of a pixel and the total of a series are here because the CPU code and
 * cuda/intensity/reduce.cu both use them.
 */
#ifndef STAGES_INTENSITY_REDUCE_H
#define STAGES_INTENSITY_REDUCE_H

#include <math.h>

#include "core/host_device.h"
#include "stages/engine/stage.h"

enum reduce_method { REDUCE_MEAN, REDUCE_SD, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM, REDUCE_MEDIAN };

struct reduce_params {
    int32_t axis;   /* enum scope_along */
    int32_t method; /* enum reduce_method */
};

/* What has come to a pixel so far, for all methods but the median: `a` is the sum, the extreme or,
 * for the standard deviation, the mean, and `b` the sum of squared deviations from it. */
struct reduce_sums {
    double a, b;
};

/* Adds a value, which is the count-th of its pixel (B. P. Welford, 1962). NaN stays. */
TS_HOST_DEVICE struct reduce_sums ts_reduce_add(int32_t method, struct reduce_sums sums,
                                                double count, double value)
{
    const double apart = value - sums.a;
    if (count == 1) {
        sums.a = value;
        sums.b = value - value; /* NaN if it is not finite */
        return sums;
    }
    switch (method) {
    case REDUCE_SD:
        sums.a += apart / count;
        sums.b += apart * (value - sums.a);
        break;
    case REDUCE_MAX:
        sums.a = value > sums.a || value != value ? value : sums.a;
        break;
    case REDUCE_MIN:
        sums.a = value < sums.a || value != value ? value : sums.a;
        break;
    default:
        sums.a += value;
    }
    return sums;
}

/* Returns what `count` values give; of none, 0. */
TS_HOST_DEVICE double ts_reduce_result(int32_t method, struct reduce_sums sums, double count)
{
    if (count == 0)
        return 0;
    if (method == REDUCE_SD)
        return sqrt(sums.b / count);
    return method == REDUCE_MEAN ? sums.a / count : sums.a;
}

/* Returns the median from the two values in the middle, which may be the same. */
TS_HOST_DEVICE double ts_reduce_middle(double low, double high)
{
    return (low + high) / 2;
}

/* The total of a series: for each slice of the result whether it has come, and for each pixel how
 * many valid values there were (NULL: all are valid), and their sums or, for the median, the values
 * themselves in 32 bits, value i of all pixels before value i + 1. */
struct reduce_total {
    unsigned char *has;
    uint32_t *counts;
    double *a, *b; /* b is NULL unless the method needs it */
    uint32_t *values;
};
/* Returns where these are in the memory of a total, and how many bytes it has. */
struct reduce_total ts_reduce_total(const struct stage_context *context, void *memory,
                                    size_t *bytes);
/* The result of a series: the values of the output, and which of them are valid (NULL: all). */
struct reduce_result {
    void *values;
    uint64_t *valid;
};
struct reduce_result ts_reduce_result_of(const struct stage_context *context, void *memory,
                                         size_t *bytes);
/* The bytes of these as the stage's table wants them: 0 if slices are reduced. */
size_t ts_reduce_partial_bytes(const struct stage_context *context, int input);
size_t ts_reduce_result_bytes(const struct stage_context *context);
/* Returns how many volumes are reduced. */
int64_t ts_reduce_volumes(const struct stage_context *context);
/* Returns true if volumes are reduced, and false if slices are. */
bool ts_reduce_joins(const struct stage_context *context);

#endif
