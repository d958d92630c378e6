/* SPDX-License-Identifier: Apache-2.0
 *
 * The boxes are filled in the values of the volume, after decoding and rescaling, so that one code
 * serves every transfer syntax. Digests of slices stay those of the pixels as they are stored.
 */
#include "io/dicom_frames/dicom_mask.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BOX_NUMBERS = 4 };

/* Returns true if four numbers are a box within rows x columns. */
static bool is_box(const double *box, int64_t rows, int64_t columns)
{
    for (int i = 0; i < BOX_NUMBERS; i++)
        if (box[i] != rint(box[i]))
            return false;
    return box[0] >= 0 && box[1] >= 0 && box[0] < box[2] && box[1] < box[3] &&
           box[2] <= (double)rows && box[3] <= (double)columns;
}

enum ts_status ts_dicom_mask_check(const struct param_set *set, const struct dicom_mask *mask,
                                   const struct ts_image *image, struct ts_diag *diag)
{
    const struct ts_numbers *boxes = mask->boxes;
    double low, high;
    if (!boxes)
        return TS_OK;
    for (int64_t i = 0; i < boxes->rows; i++) {
        const double *box = boxes->values + i * boxes->columns;
        if (boxes->columns == BOX_NUMBERS && is_box(box, image->axes[1].n, image->axes[2].n))
            continue;
        ts_param_error(set, "mask_boxes", "mask-boxes", diag,
                       "box %" PRId64 " is not a rectangle of the %" PRId64 " rows and %" PRId64
                       " columns",
                       i + 1, image->axes[1].n, image->axes[2].n);
        return ts_diag_hint(
            diag,
            "a box is [first row, first column, end row, end column], from 0, without the ends");
    }
    ts_dtype_range(image->dtype, &low, &high);
    if (!ts_dtype_is_integer(image->dtype) ||
        (mask->value == rint(mask->value) && mask->value >= low && mask->value <= high))
        return TS_OK;
    return ts_param_error(set, "mask_value", "mask-value", diag,
                          "%g is no value of %s, as the volume is stored", mask->value,
                          ts_dtype_name(image->dtype));
}

/* Writes the value in the dtype to out, and returns its bytes. */
static size_t encode(double value, enum ts_dtype dtype, unsigned char out[sizeof(double)])
{
    switch (dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        memcpy(out, &(type){(type)value}, sizeof(type));                                           \
        return sizeof(type);
        TS_IMAGE_DTYPES(CASE)
        CASE(F64, double)
#undef CASE
    default:
        return 0;
    }
}

void ts_dicom_mask_slices(const struct dicom_mask *mask, const struct ts_image *image, int64_t n,
                          void *slices)
{
    unsigned char value[sizeof(double)];
    const size_t bytes = encode(mask->value, image->dtype, value);
    const int64_t rows = image->axes[1].n, columns = image->axes[2].n;
    for (int64_t i = 0; mask->boxes && i < n * mask->boxes->rows; i++) {
        const double *box = mask->boxes->values + i % mask->boxes->rows * BOX_NUMBERS;
        unsigned char *slice =
            (unsigned char *)slices + (size_t)(i / mask->boxes->rows * rows * columns) * bytes;
        for (int64_t y = (int64_t)box[0]; y < (int64_t)box[2]; y++)
            for (int64_t x = (int64_t)box[1]; x < (int64_t)box[3]; x++)
                memcpy(slice + (size_t)(y * columns + x) * bytes, value, bytes);
    }
}
