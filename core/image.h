/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers on struct ts_image: sizes, names, slabs. Nothing here allocates.
 */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include "core/vectors.h"
#include "include/tomostage.h"

/* X(suffix of the enum, C type): the element types that images (not tables) may have. */
#define TS_IMAGE_DTYPES(X)                                                                         \
    X(U8, uint8_t)                                                                                 \
    X(I8, int8_t) X(U16, uint16_t) X(I16, int16_t) X(U32, uint32_t) X(I32, int32_t) X(F32, float)

#define TS_DTYPE_BIT(dtype) (1u << (dtype))
#define TS_ANY_INTEGER 0x3Fu
#define TS_ANY_DTYPE 0x7Fu
#define TS_QUANTITY_BIT(quantity) (1u << (quantity))
#define TS_ANY_QUANTITY 0x7Fu
#define TS_BEAM_BIT(kind) (1u << (kind))
#define TS_ANY_BEAM 0x7u

/* Pixels with values in [low, high] are invalid. NAN: no values are. */
struct invalid_range {
    double low, high;
};

size_t ts_dtype_bytes(enum ts_dtype dtype);     /* size of one element */
const char *ts_dtype_name(enum ts_dtype dtype); /* "u8" ... "f32" */
bool ts_dtype_is_integer(enum ts_dtype dtype);
/* Returns the sign bit of signed integers, else 0. The bits of an integer, xor this number, have
 * the order of the values when they are compared as unsigned. */
uint32_t ts_dtype_sign_bit(enum ts_dtype dtype);
/* Gives the lowest and highest value of the dtype, -inf and inf for floats. */
void ts_dtype_range(enum ts_dtype dtype, double *low, double *high);
const char *ts_quantity_name(enum ts_quantity quantity); /* "counts" ... "intensity" */
const char *ts_beam_name(enum ts_beam_kind kind);        /* "parallel", "fan-arc", "fan-flat" */
const char *ts_axis_kind_name(
    enum ts_axis_kind kind); /* "z", "y", "x", "view", "detector", "bin", "item", ... */
const char *ts_axis_name(const struct ts_axis *axis); /* the axis's own name, or else the name of
                                                       * its kind */

/* Computes a * b in *product. Returns false if it does not fit. */
bool ts_mul_size(size_t a, size_t b, size_t *product);
/* Return the number of elements and of bytes of the whole image, or SIZE_MAX if the product does
 * not fit. */
size_t ts_image_count(const struct ts_image *image);
size_t ts_image_bytes(const struct ts_image *image);
/* Return the elements and bytes of one slice, over all axes but the first. */
size_t ts_slice_count(const struct ts_image *image);
size_t ts_slice_bytes(const struct ts_image *image);
/* Returns the bytes that the bits `valid` of one slice take, or 0 if the image is not masked. */
size_t ts_valid_bytes(const struct ts_image *image);
/* Returns true if the axes are (z, view, detector). */
bool ts_image_is_sinogram(const struct ts_image *image);
/* Returns true if the image is a sinogram of a fan beam. */
bool ts_image_is_fan(const struct ts_image *image);
/* A volume is upright if the step between its slices leans at most TS_UPRIGHT_DEGREE away from
 * their normal. A gantry tilts by 30 degrees at most, so larger leans than TS_MOST_LEAN_DEGREE do
 * not occur. */
#define TS_UPRIGHT_DEGREE 0.05
#define TS_MOST_LEAN_DEGREE 45.0
/* Returns the angle between step_z_mm and direction[6..8] in degrees; 0 if the image has no
 * geometry or one slice. */
double ts_image_lean_degree(const struct ts_image *image);
/* Returns true if the two agree in rank, axes, dtype, quantity, unit and beam. Positions,
 * geometry and data may differ. */
bool ts_image_same_layout(const struct ts_image *a, const struct ts_image *b);
/* Returns a view of slices [first, first + n), counted within `image`; z_first and `valid` are
 * adjusted. */
struct ts_image ts_image_slices(const struct ts_image *image, int64_t first, int64_t n);
/* Returns the distance of neighboring samples of an axis in its unit, or 1 if the axis states
 * none. */
static inline double ts_axis_spacing(const struct ts_axis *axis)
{
    return axis->spacing > 0 ? axis->spacing : 1;
}
/* Makes the axis that of its n elements from `first` on. */
static inline void ts_axis_cut(struct ts_axis *axis, int64_t first, int64_t n)
{
    axis->n = n;
    axis->first += (double)first * axis->spacing;
    axis->positions = axis->positions ? axis->positions + first : NULL;
}
/* Returns the position of index i along an axis, in its unit. Angles may fall. */
static inline double ts_axis_position(const struct ts_axis *axis, int64_t i)
{
    const double step = axis->spacing < 0 ? axis->spacing : ts_axis_spacing(axis);
    return axis->positions ? axis->positions[i] : axis->first + (double)i * step;
}
/* Returns the first element of slice z, counted within `image`. */
void *ts_slice_data(const struct ts_image *image, int64_t z);
/* Returns the first word of `valid` of slice z, or NULL if the image has none. */
uint64_t *ts_slice_valid(const struct ts_image *image, int64_t z);

/* Converts n elements of any dtype to float or to double. */
void ts_load_f32(float *out, const void *data, enum ts_dtype dtype, size_t n);
void ts_load_f64(double *out, const void *data, enum ts_dtype dtype, size_t n);
/* Converts n doubles that the type of an image's pixels holds to elements of it, from element
 * `first` of `out` on. */
void ts_store_f64(void *out, size_t first, const double *values, enum ts_dtype dtype, size_t n);

#endif
