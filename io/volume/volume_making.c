/* SPDX-License-Identifier: Apache-2.0
 *
 * A row goes through doubles, in which every stored number but some integers of 64 bits is exact: loaded, scaled, and
 * written as the type of the image.
 */
#include "io/volume/volume_making.h"

#include <math.h>
#include <string.h>

static void swap(unsigned char *data, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++, data += width)
        for (size_t j = 0; j < width / 2; j++) {
            const unsigned char byte = data[j];
            data[j] = data[width - 1 - j];
            data[width - 1 - j] = byte;
        }
}

#define SCALE_TO(suffix, type)                                                                                         \
    case TS_##suffix:                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            ((type *)out)[i] = (type)(slope * row[i] + intercept);                                                     \
        break;

/* Scales one row, whose numbers `row` has as double. */
static void scale_row(const struct volume_layout *layout, enum ts_dtype dtype, const double *row, size_t n, void *out)
{
    const double slope = layout->slope, intercept = layout->intercept;
    switch (dtype) {
        TS_IMAGE_DTYPES(SCALE_TO)
        SCALE_TO(F64, double)
    default:
        break;
    }
}

/* Counts the numbers of a row, scaled, that a 32-bit float does not hold. */
static void count_rounding(const struct volume_layout *layout, double *row, size_t n, struct ts_rounding *rounding)
{
    for (size_t i = 0; i < n; i++)
        row[i] = layout->slope * row[i] + layout->intercept;
    ts_rounding_of_doubles(rounding, row, n);
}

static void load_row(const struct volume_layout *layout, double *row, const void *from, size_t n)
{
    const int64_t *numbers = from;
    if (!layout->is_signed)
        ts_load_f64(row, from, layout->stored, n);
    for (size_t i = 0; layout->is_signed && i < n; i++)
        row[i] = (double)numbers[i];
}

/* Counts integers of 64 bits that the doubles of a row do not hold, but floats do. */
static void count_integers(const struct volume_layout *layout, const double *row, const void *from, size_t n,
                           struct ts_rounding *rounding)
{
    for (size_t i = 0; i < n; i++) {
        const long double number =
            layout->is_signed ? (long double)((const int64_t *)from)[i] : (long double)((const uint64_t *)from)[i];
        const double change = (double)fabsl((number - (long double)row[i]) * (long double)layout->slope);
        rounding->n += change > 0 && (double)(float)row[i] == row[i];
        rounding->most = fmax(rounding->most, change);
    }
}

/* Returns true where numbers of the file stayed finite as 32-bit floats. */
static bool stays_finite(const double *row, const float *made, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(made[i]) || !isfinite(row[i]);
    return finite;
}

bool ts_volume_make_slice(const struct volume_layout *layout, const struct volume_making *making,
                          const struct ts_image *image, unsigned char *data, double *row, unsigned char *out,
                          struct ts_rounding *rounding)
{
    const int64_t rows = image->axes[1].n;
    const size_t n = (size_t)image->axes[2].n, width = ts_dtype_bytes(layout->stored);
    const size_t pitch = n * ts_dtype_bytes(image->dtype);
    bool finite = true;
    if (layout->swapped)
        swap(data, n * (size_t)rows, width);
    for (int64_t y = 0; y < rows; y++) {
        const unsigned char *from = data + (size_t)(making->flip_rows ? rows - 1 - y : y) * n * width;
        if (making->as_stored) {
            memcpy(out + (size_t)y * pitch, from, pitch);
        } else {
            load_row(layout, row, from, n);
            if (making->rounds && layout->stored == TS_U64)
                count_integers(layout, row, from, n, rounding);
            scale_row(layout, image->dtype, row, n, out + (size_t)y * pitch);
            if (image->dtype == TS_F32)
                finite &= stays_finite(row, (const float *)(out + (size_t)y * pitch), n);
            if (making->rounds)
                count_rounding(layout, row, n, rounding);
        }
    }
    return finite;
}
