/* SPDX-License-Identifier: Apache-2.0
 *
 * One table has name, size and range of each element type, so that a new type is one row. Sizes are
 * multiplied with a check, because shapes come from files and may not fit size_t.
 */
#include "core/image.h"

#include <math.h>
#include <string.h>

#include "core/half.h"

static const struct {
    const char *name;
    size_t bytes;
    double low, high;
} dtypes[] = {
    [TS_U8] = {"u8", 1, 0, UINT8_MAX},          [TS_I8] = {"i8", 1, INT8_MIN, INT8_MAX},
    [TS_U16] = {"u16", 2, 0, UINT16_MAX},       [TS_I16] = {"i16", 2, INT16_MIN, INT16_MAX},
    [TS_U32] = {"u32", 4, 0, UINT32_MAX},       [TS_I32] = {"i32", 4, INT32_MIN, INT32_MAX},
    [TS_F32] = {"f32", 4, -INFINITY, INFINITY}, [TS_U64] = {"u64", 8, 0, 18446744073709551615.0},
    [TS_F64] = {"f64", 8, -INFINITY, INFINITY}, [TS_F16] = {"f16", 2, -INFINITY, INFINITY},
};

size_t ts_dtype_bytes(enum ts_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *ts_dtype_name(enum ts_dtype dtype)
{
    return dtypes[dtype].name;
}

uint32_t ts_dtype_sign_bit(enum ts_dtype dtype)
{
    if (dtype == TS_I8)
        return 0x80;
    if (dtype == TS_I16)
        return 0x8000;
    return dtype == TS_I32 ? 0x80000000u : 0;
}

bool ts_dtype_is_integer(enum ts_dtype dtype)
{
    return dtype != TS_F32 && dtype != TS_F64 && dtype != TS_F16;
}

void ts_dtype_range(enum ts_dtype dtype, double *low, double *high)
{
    *low = dtypes[dtype].low;
    *high = dtypes[dtype].high;
}

const char *ts_quantity_name(enum ts_quantity quantity)
{
    static const char *const names[] = {"counts", "transmission", "line_integral", "attenuation",
                                        "hu",     "dose",         "intensity"};
    return names[quantity];
}

const char *ts_beam_name(enum ts_beam_kind kind)
{
    static const char *const names[] = {"parallel", "fan-arc", "fan-flat"};
    return names[kind];
}

const char *ts_axis_kind_name(enum ts_axis_kind kind)
{
    static const char *const names[] = {"z",   "y",    "x",    "view", "detector",
                                        "bin", "item", "time", "echo", "b"};
    return names[kind];
}

const char *ts_axis_name(const struct ts_axis *axis)
{
    return axis->name ? axis->name : ts_axis_kind_name(axis->kind);
}

bool ts_mul_size(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static size_t count_from(const struct ts_image *image, int first_axis)
{
    size_t count = 1;
    for (int i = first_axis; i < image->rank; i++)
        if (!ts_mul_size(count, (size_t)image->axes[i].n, &count))
            return SIZE_MAX;
    return count;
}

static size_t bytes_of(size_t count, enum ts_dtype dtype)
{
    size_t bytes;
    return count != SIZE_MAX && ts_mul_size(count, ts_dtype_bytes(dtype), &bytes) ? bytes
                                                                                  : SIZE_MAX;
}

size_t ts_image_count(const struct ts_image *image)
{
    return count_from(image, 0);
}

size_t ts_image_bytes(const struct ts_image *image)
{
    return bytes_of(ts_image_count(image), image->dtype);
}

size_t ts_slice_count(const struct ts_image *image)
{
    return count_from(image, 1);
}

size_t ts_slice_bytes(const struct ts_image *image)
{
    return bytes_of(ts_slice_count(image), image->dtype);
}

void *ts_slice_data(const struct ts_image *image, int64_t z)
{
    return (unsigned char *)image->data + (size_t)z * ts_slice_bytes(image);
}

size_t ts_valid_bytes(const struct ts_image *image)
{
    return image->masked ? (ts_slice_count(image) + 63) / 64 * sizeof *image->valid : 0;
}

uint64_t *ts_slice_valid(const struct ts_image *image, int64_t z)
{
    return image->valid ? image->valid + (size_t)z * (ts_valid_bytes(image) / sizeof *image->valid)
                        : NULL;
}

bool ts_image_is_sinogram(const struct ts_image *image)
{
    return image->rank == 3 && image->axes[1].kind == TS_AXIS_VIEW;
}

bool ts_image_is_fan(const struct ts_image *image)
{
    return image->beam.kind != TS_BEAM_PARALLEL;
}

double ts_image_lean_degree(const struct ts_image *image)
{
    const double *step = image->step_z_mm, *normal = image->direction + 6;
    double along = 0, across = 0;
    if (!image->has_geometry ||
        image->axes[image->rank == TS_MAX_RANK].n < 2) /* z, behind the axis of volumes */
        return 0;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double cross = step[j] * normal[k] - step[k] * normal[j];
        along += step[i] * normal[i];
        across += cross * cross;
    }
    return atan2(sqrt(across), along) * (180 / M_PI);
}

bool ts_image_same_layout(const struct ts_image *a, const struct ts_image *b)
{
    bool same = a->rank == b->rank && a->dtype == b->dtype && a->quantity == b->quantity &&
                !strcmp(a->unit, b->unit) && a->beam.kind == b->beam.kind;
    for (int i = 0; same && i < a->rank; i++)
        same = a->axes[i].kind == b->axes[i].kind && a->axes[i].n == b->axes[i].n &&
               !strcmp(a->axes[i].unit, b->axes[i].unit);
    return same;
}

struct ts_image ts_image_slices(const struct ts_image *image, int64_t first, int64_t n)
{
    struct ts_image view = *image;
    view.axes[0].n = n;
    view.z_first += first;
    if (view.data)
        view.data = ts_slice_data(image, first);
    view.valid = ts_slice_valid(image, first);
    return view;
}

#define LOAD(suffix, type) LOAD_OF(suffix, type, (__typeof__(*out)))
#define LOAD_OF(suffix, type, convert)                                                             \
    case TS_##suffix:                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = convert(((const type *)data)[i]);                                             \
        break;

void ts_load_f32(float *out, const void *data, enum ts_dtype dtype, size_t n)
{
    switch (dtype) {
        TS_IMAGE_DTYPES(LOAD)
        LOAD(U64, uint64_t)
        LOAD(F64, double)
        LOAD_OF(F16, uint16_t, ts_half_value)
    }
}

TS_VECTORIZED void ts_load_f64(double *out, const void *data, enum ts_dtype dtype, size_t n)
{
    switch (dtype) {
        TS_IMAGE_DTYPES(LOAD)
        LOAD(U64, uint64_t)
        LOAD(F64, double)
        LOAD_OF(F16, uint16_t, ts_half_value)
    }
}

void ts_store_f64(void *out, size_t first, const double *values, enum ts_dtype dtype, size_t n)
{
    switch (dtype) {
#define STORE(suffix, type)                                                                        \
    case TS_##suffix:                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            ((type *)out)[first + i] = (type)values[i];                                            \
        break;
        TS_IMAGE_DTYPES(STORE)
#undef STORE
    default:
        break; /* no image has such pixels */
    }
}
