/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts cells to stored values and these to values, each in one pass over a slice that fits the
 * second-level cache.
 *
 * With w = BitsAllocated, b = BitsStored, h = HighBit: unsigned (cell >> (h + 1 - b)) & (2^b - 1);
 * signed: the cell shifted left until bit h is the top one, then arithmetically right by w - b.
 */
#include "io/dicom_frames/dicom_cells.h"

#include <math.h>
#include <string.h>

struct dicom_cells ts_dicom_cells(const struct dicom_file *file)
{
    return (struct dicom_cells){.bits_allocated = file->bits_allocated,
                                .bits_stored = file->bits_stored,
                                .high_bit = file->high_bit,
                                .is_signed = file->pixel_representation == 1,
                                .big_endian = file->syntax == DICOM_EXPLICIT_BE,
                                .is_float = file->float_bits != 0};
}

enum ts_dtype ts_dicom_stored_dtype(const struct dicom_cells *cells)
{
    if (cells->is_float)
        return TS_F32;
    switch (cells->bits_allocated) {
    case 8:
        return cells->is_signed ? TS_I8 : TS_U8;
    case 16:
        return cells->is_signed ? TS_I16 : TS_U16;
    default:
        return cells->is_signed ? TS_I32 : TS_U32;
    }
}

void ts_dicom_stored_range(const struct dicom_cells *cells, double *low, double *high)
{
    *low = cells->is_signed ? -ldexp(1.0, cells->bits_stored - 1) : 0.0;
    *high = ldexp(1.0, cells->bits_stored - (cells->is_signed ? 1 : 0)) - 1.0;
}

bool ts_dicom_value_range(const struct dicom_cells *cells, double slope, double intercept,
                          double *low, double *high)
{
    double first, last;
    ts_dicom_stored_range(cells, &first, &last);
    first = first * slope + intercept;
    last = last * slope + intercept;
    *low = fmin(first, last);
    *high = fmax(first, last);
    return slope == rint(slope) && intercept == rint(intercept);
}

bool ts_dicom_image_range(const struct dicom_image *image, double *low, double *high)
{
    const struct dicom_cells cells = ts_dicom_cells(image->file);
    if (cells.is_float) {
        *low = *high = 0;
        return false;
    }
    if (image->file->lut.entries > 0) {
        *low = 0;
        *high = ldexp(1.0, image->file->lut.bits) - 1;
        return true;
    }
    return ts_dicom_value_range(&cells, image->have_slope ? image->slope : 1,
                                image->have_intercept ? image->intercept : 0, low, high);
}

bool ts_dicom_padding_range(const struct dicom_image *image, double *low, double *high)
{
    const struct dicom_cells cells = ts_dicom_cells(image->file);
    const bool range =
        image->have_padding_limit && !isnan(image->padding) && !isnan(image->padding_limit);
    const double first = image->padding, last = range ? image->padding_limit : first;
    double least, most;
    *low = first < last ? first : last;
    *high = first < last ? last : first;
    if (!image->have_padding) {
        *low = INFINITY;
        *high = -INFINITY;
    }
    ts_dicom_stored_range(&cells, &least, &most);
    return image->have_padding && (cells.is_float || (*high >= least && *low <= most));
}

/* Convert cells in place. Cells that are stored values as they are, as nearly all are, are only
 * looked at. The bits outside of the field are clean if they are all zero, or above a negative
 * value all one; they are not if a frame has negative values of both kinds, since one kind are then
 * larger values than Bits Stored allows. */
#define CELLS(width, SWAP)                                                                         \
    TS_VECTORIZED static void swap_##width(uint##width##_t *data, size_t n)                        \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            data[i] = SWAP(data[i]);                                                               \
    }                                                                                              \
    TS_VECTORIZED static bool unsigned_##width(uint##width##_t *data, size_t n,                    \
                                               const struct dicom_cells *cells)                    \
    {                                                                                              \
        const int shift = cells->high_bit + 1 - cells->bits_stored;                                \
        const uint##width##_t mask =                                                               \
            (uint##width##_t)(((UINT64_C(1) << cells->bits_stored) - 1) << shift);                 \
        uint##width##_t any = 0;                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            any |= data[i];                                                                        \
        for (size_t i = 0; i < n && (shift > 0 || (any & ~mask)); i++)                             \
            data[i] = (uint##width##_t)((data[i] & mask) >> shift);                                \
        return (any & (uint##width##_t) ~mask) != 0;                                               \
    }                                                                                              \
    TS_VECTORIZED static bool signed_##width(uint##width##_t *data, size_t n,                      \
                                             const struct dicom_cells *cells)                      \
    {                                                                                              \
        const int shift = cells->high_bit + 1 - cells->bits_stored,                                \
                  up = width - 1 - cells->high_bit;                                                \
        const uint##width##_t mask =                                                               \
            (uint##width##_t)(((UINT64_C(1) << cells->bits_stored) - 1) << shift);                 \
        const uint##width##_t above = (uint##width##_t)(~(uint64_t)0 << (cells->high_bit + 1));    \
        uint##width##_t dirty = 0, extended = 0, bare = 0;                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            const uint##width##_t cell = data[i], outside = (uint##width##_t)(cell & ~mask);       \
            const int##width##_t value = (int##width##_t)(                                         \
                (int##width##_t)(uint##width##_t)(cell << up) >> (width - cells->bits_stored));    \
            const uint##width##_t extension = (uint##width##_t)(value < 0 ? above : 0);            \
            dirty |= (uint##width##_t)((outside != 0) & (outside != extension));                   \
            extended |= (uint##width##_t)((outside != 0) & (outside == extension));                \
            bare |= (uint##width##_t)((outside == 0) & (extension != 0));                          \
            data[i] = (uint##width##_t)value;                                                      \
        }                                                                                          \
        return dirty != 0 || (extended != 0 && bare != 0);                                         \
    }                                                                                              \
    static bool to_stored_##width(uint##width##_t *data, size_t n,                                 \
                                  const struct dicom_cells *cells)                                 \
    {                                                                                              \
        if (cells->big_endian)                                                                     \
            swap_##width(data, n);                                                                 \
        if (cells->bits_stored == width)                                                           \
            return false;                                                                          \
        return cells->is_signed ? signed_##width(data, n, cells)                                   \
                                : unsigned_##width(data, n, cells);                                \
    }

CELLS(8, )
CELLS(16, __builtin_bswap16)
CELLS(32, __builtin_bswap32)

static void swap_64(uint64_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = __builtin_bswap64(data[i]);
}

void ts_dicom_turn_words(unsigned char *bytes, size_t before, size_t n)
{
    for (size_t i = 0; i < before + n; i += 2) {
        const unsigned char high = bytes[i];
        bytes[i] = bytes[i + 1];
        bytes[i + 1] = high;
    }
    memmove(bytes, bytes + before, n);
}

bool ts_dicom_cells_to_stored(void *data, size_t n, const struct dicom_cells *cells)
{
    if (cells->is_float) {
        if (cells->big_endian && cells->bits_allocated == 64)
            swap_64(data, n);
        else if (cells->big_endian)
            swap_32(data, n);
        return false;
    }
    switch (cells->bits_allocated) {
    case 8:
        return to_stored_8(data, n, cells);
    case 16:
        return to_stored_16(data, n, cells);
    default:
        return to_stored_32(data, n, cells);
    }
}

/* Integer results are exact modulo 2^32, and every value is known to fit, so that one rule serves
 * both signs. `out` may be `stored`: no value is read behind one that was written. */
#define RESCALE_INTEGERS(type)                                                                     \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++)                                             \
    {                                                                                              \
        ((type *)out)[i] = (type)((uint32_t)stored[i] * slope + intercept);                        \
    }
#define VALUES(name, type, type_low, type_high)                                                    \
    TS_VECTORIZED static int64_t count_##name(const void *restrict stored, size_t n, double low,   \
                                              double high)                                         \
    {                                                                                              \
        if (high < (type_low) || low > (type_high))                                                \
            return 0;                                                                              \
        const type first = (type)fmax(low, (type_low)), last = (type)fmin(high, (type_high));      \
        int64_t count = 0;                                                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            count += (((const type *)stored)[i] >= first) & (((const type *)stored)[i] <= last);   \
        return count;                                                                              \
    }                                                                                              \
    TS_VECTORIZED static void integers_##name(void *out, enum ts_dtype dtype, const type *stored,  \
                                              size_t n, uint32_t slope, uint32_t intercept)        \
    {                                                                                              \
        if (dtype == TS_U8 || dtype == TS_I8)                                                      \
            RESCALE_INTEGERS(uint8_t)                                                              \
        else if (dtype == TS_U16 || dtype == TS_I16)                                               \
            RESCALE_INTEGERS(uint16_t)                                                             \
        else                                                                                       \
            RESCALE_INTEGERS(uint32_t)                                                             \
    }                                                                                              \
    TS_VECTORIZED static void floats_##name(float *out, const type *stored, size_t n,              \
                                            double slope, double intercept)                        \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++)                                         \
        {                                                                                          \
            out[i] = (float)((double)stored[i] * slope + intercept);                               \
        }                                                                                          \
    }                                                                                              \
    static void rescale_##name(void *out, enum ts_dtype dtype, const void *stored, size_t n,       \
                               double slope, double intercept)                                     \
    {                                                                                              \
        if (dtype == TS_F32)                                                                       \
            floats_##name(out, stored, n, slope, intercept);                                       \
        else                                                                                       \
            integers_##name(out, dtype, stored, n, (uint32_t)(int64_t)slope,                       \
                            (uint32_t)(int64_t)intercept);                                         \
    }

VALUES(u8, uint8_t, 0, UINT8_MAX)
VALUES(i8, int8_t, INT8_MIN, INT8_MAX)
VALUES(u16, uint16_t, 0, UINT16_MAX)
VALUES(i16, int16_t, INT16_MIN, INT16_MAX)
VALUES(u32, uint32_t, 0, (int64_t)UINT32_MAX)
VALUES(i32, int32_t, INT32_MIN, INT32_MAX)

/* NaN is in no range; if it is what is looked for, `low` and `high` are NaN. */
#define COUNT_FLOATS(name, type)                                                                   \
    TS_VECTORIZED static int64_t count_##name(const void *restrict stored, size_t n, double low,   \
                                              double high)                                         \
    {                                                                                              \
        const type *values = stored;                                                               \
        const bool nan = isnan(low);                                                               \
        int64_t count = 0;                                                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            count += ((double)values[i] >= low && (double)values[i] <= high) ||                    \
                     (nan && isnan(values[i]));                                                    \
        return count;                                                                              \
    }

COUNT_FLOATS(f32, float)
COUNT_FLOATS(f64, double)

static void rescale_f32(void *out, enum ts_dtype dtype, const void *stored, size_t n, double slope,
                        double intercept)
{
    (void)dtype; /* F32, to which every series with floats belongs */
    for (size_t i = 0; i < n; i++)
        ((float *)out)[i] = (float)((double)((const float *)stored)[i] * slope + intercept);
}

static const struct {
    int64_t (*count)(const void *stored, size_t n, double low, double high);
    void (*rescale)(void *out, enum ts_dtype dtype, const void *stored, size_t n, double slope,
                    double intercept);
} by_dtype[] = {
    [TS_U8] = {count_u8, rescale_u8},    [TS_I8] = {count_i8, rescale_i8},
    [TS_U16] = {count_u16, rescale_u16}, [TS_I16] = {count_i16, rescale_i16},
    [TS_U32] = {count_u32, rescale_u32}, [TS_I32] = {count_i32, rescale_i32},
    [TS_F32] = {count_f32, rescale_f32}, [TS_F64] = {count_f64, NULL},
};

/* Most words are all of padding or all of measured values, and their pixels are not looked at one
 * by one. */
int64_t ts_dicom_mark_range(const void *stored, enum ts_dtype dtype, size_t n, double low,
                            double high, uint64_t *valid)
{
    enum { WORD = 64 };
    const size_t element = ts_dtype_bytes(dtype);
    int64_t count = 0;
    for (size_t first = 0; valid && first < n; first += WORD) {
        const size_t in_word = n - first < WORD ? n - first : WORD;
        const char *values = (const char *)stored + first * element;
        const int64_t found = by_dtype[dtype].count(values, in_word, low, high);
        uint64_t word = found == (int64_t)in_word ? 0 : UINT64_MAX >> (WORD - in_word);
        for (size_t i = 0; word != 0 && found > 0 && i < in_word; i++)
            word ^= (uint64_t)by_dtype[dtype].count(values + i * element, 1, low, high) << i;
        valid[first / WORD] = word;
        count += found;
    }
    return valid ? count : by_dtype[dtype].count(stored, n, low, high);
}

void ts_dicom_rescale(void *out, enum ts_dtype dtype, const void *stored,
                      enum ts_dtype stored_dtype, size_t n, double slope, double intercept)
{
    double *doubles = out;
    if (dtype != TS_F64) {
        by_dtype[stored_dtype].rescale(out, dtype, stored, n, slope, intercept);
        return;
    }
    ts_load_f64(doubles, stored, stored_dtype, n);
    for (size_t i = 0; i < n; i++)
        doubles[i] = doubles[i] * slope + intercept;
}
