/* SPDX-License-Identifier: Apache-2.0
 *
 * Browsers decode a PNG of 16 bits to 8, so the values come as two pictures of 8 bits, one above the other in one PNG:
 * high bytes hardly change from pixel to pixel and deflate well.
 */
#include "pipeline/report/picture.h"

#include <math.h>
#include <stdlib.h>

#include "io/file/png.h"

struct report_scale ts_report_scale(const struct report_image *image)
{
    const double range = image->window.most - image->window.least;
    const bool exact = ts_dtype_is_integer(image->source->image.dtype) && range < REPORT_INVALID;
    return (struct report_scale){image->window.least, exact || !(range > 0) ? 1 : range / (REPORT_INVALID - 1)};
}

/* Returns the mean of the measured values in a block, NAN where there is none. */
static double mean_of(const struct report_plane *plane, const struct report_picture *picture, int64_t row,
                      int64_t column)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t y = row * picture->by[0]; y < (row + 1) * picture->by[0] && y < plane->rows; y++)
        for (int64_t x = column * picture->by[1]; x < (column + 1) * picture->by[1] && x < plane->columns; x++) {
            const double value = (double)plane->values[y * plane->columns + x];
            sum += isfinite(value) ? value : 0;
            n += isfinite(value);
        }
    return n > 0 ? sum / (double)n : NAN;
}

static uint8_t gray_of(const struct gray_window *window, double value)
{
    const double share = window->high > window->low ? (value - window->low) / (window->high - window->low) : 0;
    return (uint8_t)(share >= 1 ? 255 : share > 0 ? lrint(255 * share) : 0);
}

enum ts_status ts_report_picture(const struct report_image *image, const struct report_plane *plane, int64_t side,
                                 struct report_picture *picture, struct ts_diag *diag)
{
    const struct report_scale scale = ts_report_scale(image);
    *picture = (struct report_picture){.by = {(plane->rows + side - 1) / side, (plane->columns + side - 1) / side}};
    picture->height = (plane->rows + picture->by[0] - 1) / picture->by[0];
    picture->width = (plane->columns + picture->by[1] - 1) / picture->by[1];
    const size_t n = (size_t)(picture->width * picture->height);
    uint8_t *gray = calloc(3, n), *high = gray ? gray + n : NULL, *low = gray ? high + n : NULL;
    if (!gray)
        return ts_diag_no_memory(diag, 3 * n);
    for (size_t i = 0; i < n; i++) {
        const double value = mean_of(plane, picture, (int64_t)i / picture->width, (int64_t)i % picture->width);
        const long number = isnan(value) ? REPORT_INVALID : lrint((value - scale.low) / scale.step);
        gray[i] = isnan(value) ? 0 : gray_of(&image->window, value);
        high[i] = (uint8_t)(number >> 8);
        low[i] = (uint8_t)(number & 255);
    }
    enum ts_status status =
        ts_png_gray8(picture->width, picture->height, gray, &picture->shown, &picture->n_shown, diag);
    if (status == TS_OK)
        status = ts_png_gray8(picture->width, 2 * picture->height, high, &picture->values, &picture->n_values, diag);
    free(gray);
    return status;
}
