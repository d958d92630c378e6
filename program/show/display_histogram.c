/* SPDX-License-Identifier: Apache-2.0
 *
 * The first pass over the values finds the range, the second counts. Values are converted in short
 * runs, so that no copy of the image is made. NaN and infinities are not counted.
 */
#include "program/show/display_histogram.h"

#include <math.h>

enum { RUN = 4096 };

/* Calls the function for each run of values of the slices. */
static void each_value(const struct ts_image *image, int64_t z, int64_t n,
                       struct display_histogram *histogram,
                       void (*take)(struct display_histogram *, const double *, size_t))
{
    const struct ts_image slices = ts_image_slices(image, z, n);
    const size_t count = ts_image_count(&slices), width = ts_dtype_bytes(image->dtype);
    double values[RUN];
    for (size_t i = 0; i < count; i += RUN) {
        const size_t here = count - i < RUN ? count - i : RUN;
        ts_load_f64(values, (const unsigned char *)slices.data + i * width, image->dtype, here);
        take(histogram, values, here);
    }
}

static void take_range(struct display_histogram *histogram, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            histogram->low = fmin(histogram->low, values[i]);
            histogram->high = fmax(histogram->high, values[i]);
        }
}

static void take_counts(struct display_histogram *histogram, const double *values, size_t n)
{
    const double width = (histogram->high - histogram->low) / DISPLAY_BINS;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        const double bin = width > 0 ? (values[i] - histogram->low) / width : 0;
        histogram->counts[bin < DISPLAY_BINS - 1 ? (int)bin : DISPLAY_BINS - 1]++;
    }
}

void ts_display_histogram(const struct ts_image *image, int64_t z, int64_t n,
                          struct display_histogram *histogram)
{
    int64_t total = 0, sum = 0;
    *histogram = (struct display_histogram){.low = INFINITY, .high = -INFINITY};
    each_value(image, z, n, histogram, take_range);
    if (histogram->low > histogram->high)
        histogram->low = histogram->high = 0;
    each_value(image, z, n, histogram, take_counts);
    for (int i = 0; i < DISPLAY_BINS; i++)
        total += histogram->counts[i];
    const double width = (histogram->high - histogram->low) / DISPLAY_BINS;
    histogram->dark = histogram->bright = histogram->low;
    for (int i = 0; i < DISPLAY_BINS; i++) {
        const bool below = (double)sum < 0.01 * (double)total,
                   under = (double)sum < 0.99 * (double)total;
        sum += histogram->counts[i];
        histogram->curve[i] = total ? (float)((double)sum / (double)total) : 0;
        histogram->dark = below ? histogram->low + width * i : histogram->dark;
        histogram->bright = under ? histogram->low + width * (i + 1) : histogram->bright;
    }
}
