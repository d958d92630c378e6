/* SPDX-License-Identifier: Apache-2.0
 *
 * bad_pixels fills the pixels of projections that hold no measurement by interpolation along the
 * detector. bad_pixels.c says which these are; the CPU code and cuda/scan/bad_pixels.cu share what
 * is declared here.
 */
#ifndef STAGES_SCAN_BAD_PIXELS_H
#define STAGES_SCAN_BAD_PIXELS_H

#include <float.h>

#include "core/host_device.h"
#include "stages/engine/stage.h"

enum bad_pixels_columns { COLUMNS_FIND, COLUMNS_KEEP, COLUMNS_ALL };

struct bad_pixels_params {
    double lowest, highest;
    int32_t columns; /* enum bad_pixels_columns */
    double ratio;
    int64_t rows;
};

/* A pixel has the first kind that applies. The kinds after BAD_NONE are the stage's tables, in this
 * order, and then the pixels that stay as they are. */
enum bad_kind {
    BAD_NONE,
    BAD_MASKED,
    BAD_NONFINITE,
    BAD_SATURATED,
    BAD_LOW,
    BAD_DEAD,
    BAD_LEFT,
    BAD_KINDS
};

/* A detector pixel is only judged by its mean beside those within BAD_BESIDE of it, and by its
 * values if there are at least BAD_LEAST_VIEWS views. */
enum { BAD_BESIDE = 5, BAD_LEAST_VIEWS = 8 };

struct bad_levels {
    double lowest, highest;
};

/* Returns the kind of a valid pixel of this value, without what is known about its detector
 * pixel. */
TS_HOST_DEVICE int ts_bad_kind(double value, struct bad_levels levels)
{
    if (!(value >= -DBL_MAX && value <= DBL_MAX))
        return BAD_NONFINITE;
    if (value >= levels.highest)
        return BAD_SATURATED;
    return value < levels.lowest ? BAD_LOW : BAD_NONE;
}

/* What is known about the good values of one detector pixel in all views of a slice. */
struct bad_column {
    double first, sum;
    int32_t n;
    bool differs; /* true if a value differs from the first */
};

TS_HOST_DEVICE void ts_bad_column_add(struct bad_column *column, double value)
{
    if (column->n == 0)
        column->first = value;
    column->differs |= value != column->first;
    column->sum += value;
    column->n++;
}

/* The first returns true if a detector pixel is constant, the second if it varies. If it has few
 * good values, neither does. */
TS_HOST_DEVICE bool ts_bad_column_constant(const struct bad_column *column)
{
    return column->n >= BAD_LEAST_VIEWS && !column->differs;
}

TS_HOST_DEVICE bool ts_bad_column_varies(const struct bad_column *column)
{
    return column->n > 0 && column->differs;
}

/* Returns true if the mean of detector pixel d is at least `ratio` times the median of those beside
 * it, or at most the inverse of that. `dead` is 1 for those that do not count. */
TS_HOST_DEVICE bool ts_bad_column_stands_out(const struct bad_column *columns,
                                             const unsigned char *dead, int64_t n, int64_t d,
                                             double ratio)
{
    double means[2 * BAD_BESIDE];
    int count = 0;
    if (columns[d].n == 0 || dead[d] == 1)
        return false;
    for (int64_t i = d - BAD_BESIDE; i <= d + BAD_BESIDE; i++) {
        if (i < 0 || i >= n || i == d || columns[i].n == 0 || dead[i] == 1)
            continue;
        const double mean = columns[i].sum / (double)columns[i].n;
        int at = count++;
        for (; at > 0 && means[at - 1] > mean; at--)
            means[at] = means[at - 1];
        means[at] = mean;
    }
    const double own = columns[d].sum / (double)columns[d].n, middle = count ? means[count / 2] : 0;
    return middle > 0 && (own >= ratio * middle || own * ratio <= middle);
}

/* Interpolates at `at` between the values a at `low` and b at `high`; a negative place has no
 * value. Products of 32-bit values with whole numbers are exact. */
TS_HOST_DEVICE double ts_bad_between(double a, int64_t low, double b, int64_t high, int64_t at)
{
    if (low < 0 || high < 0)
        return low < 0 ? b : a;
    return (a * (double)(high - at) + b * (double)(at - low)) / (double)(high - low);
}

#endif
