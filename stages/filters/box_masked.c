/* SPDX-License-Identifier: Apache-2.0
 *
 * How many pixels of a window are valid is known from the columns of masked_mend.h, and slides along the row. The sum
 * is that of box itself, except for floats of small windows: box adds these in float and divides them at once, so they
 * are added here once more in double, first down the rows and then along them.
 */
#include "stages/filters/box_masked.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/filters/box.h"

enum { GAP = 32 };

const void *ts_box_valid_row(const struct ts_image *in, int64_t slice, int64_t y, void *copy)
{
    const uint64_t *valid = ts_slice_valid(in, slice);
    const int64_t nx = in->axes[2].n, first = y * nx;
    const size_t element = ts_dtype_bytes(in->dtype), bytes = (size_t)nx * element;
    const char *row = (const char *)ts_slice_data(in, slice) + (size_t)first * element;
    if (ts_valid_all(valid, (size_t)first, (size_t)nx))
        return row;
    memcpy(copy, row, bytes);
    ts_valid_zero(valid, (size_t)first, (size_t)nx, element, copy);
    return copy;
}

/* Adds column x of a window, which lies outside of the image. */
static double add_outside(const struct box_mend *mend, int64_t x)
{
    const int64_t height = 2 * mend->window.radius[1] + 1,
                  from = ts_border_index(x, mend->rows.nx, mend->window.border);
    double sum = 0;
    for (int64_t j = 0; from >= 0 && j < height; j++)
        sum += (double)mend->sums.rows[j][from];
    return from < 0 ? mend->window.constant * (double)height : sum;
}

/* Adds the windows of pixels [first, end) anew. `columns` holds their columns. */
TS_VECTORIZED static void add_windows(const struct box_mend *mend, int64_t first, int64_t end, double *columns,
                                      double *means)
{
    const int64_t half = mend->window.radius[2], nx = mend->rows.nx, height = 2 * mend->window.radius[1] + 1;
    const int64_t low = first < half ? 0 : first - half, high = end + half > nx ? nx : end + half;
    double *restrict inside = columns + half - first;
    for (int64_t x = low; x < high; x++)
        inside[x] = 0;
    for (int64_t j = 0; j < height; j++) {
        const float *restrict row = mend->sums.rows[j];
        for (int64_t x = low; x < high; x++)
            inside[x] += (double)row[x];
    }
    /* A column outside may stand for one that is not among these: it is added by itself. */
    for (int64_t x = first - half; x < low; x++)
        inside[x] = add_outside(mend, x);
    for (int64_t x = high; x < end + half; x++)
        inside[x] = add_outside(mend, x);
    for (int64_t x = first; x < end; x++) {
        double sum = 0;
        for (int64_t i = -half; i <= half; i++)
            sum += inside[x + i];
        means[x - first] = sum;
    }
}

/* Writes the sums of the windows of pixels [first, end). */
static void find_sums(const struct box_mend *mend, int64_t first, int64_t end, double *columns, double *sums)
{
    const struct box_sums *from = &mend->sums;
    if (from->rows)
        add_windows(mend, first, end, columns, sums);
    else if (from->prefix)
        ts_window_prefix_doubles(from->prefix, first, end - first, sums);
    else
        for (int64_t x = first; x < end; x++)
            sums[x - first] = from->type == TOTAL_I32 ? (double)((const int32_t *)from->totals)[x]
                                                      : (double)((const int64_t *)from->totals)[x];
}

/* Returns how many invalid pixels column x of a window has, which lies outside of the image. */
static int32_t missing_outside(const struct box_mend *mend, const struct masked_row *row, int64_t x)
{
    const int64_t from = ts_border_index(x, mend->rows.nx, mend->window.border);
    return from < 0 ? 0 : row->missing[from];
}

/* Writes how many invalid pixels the windows of pixels [first, end) have. `line` holds those of their columns. */
static void find_missing(const struct box_mend *mend, const struct masked_row *row, int64_t first, int64_t end,
                         int32_t *restrict line, int32_t *restrict missing)
{
    const int64_t half = mend->window.radius[2], nx = mend->rows.nx, n = end - first;
    const int64_t low = first < half ? 0 : first - half, high = end + half > nx ? nx : end + half;
    int32_t sum = 0;
    memcpy(line + low - first + half, row->missing + low, (size_t)(high - low) * sizeof *line);
    for (int64_t x = first - half; x < low; x++)
        line[x - first + half] = missing_outside(mend, row, x);
    for (int64_t x = high; x < end + half; x++)
        line[x - first + half] = missing_outside(mend, row, x);
    for (int64_t i = 0; i <= 2 * half; i++)
        sum += line[i];
    for (int64_t x = 0; x < n; x++) {
        missing[x] = sum;
        sum += x + 1 < n ? line[x + 2 * half + 1] - line[x] : 0;
    }
}

/* Divides the sums where a window has an invalid pixel. Where none is valid the pixel itself is invalid. */
TS_VECTORIZED static void divide(const struct box_mend *mend, const int32_t *restrict missing, double *restrict means,
                                 int64_t n)
{
    const double depth = mend->depth, count = mend->count;
    for (int64_t x = 0; x < n; x++) {
        const double valid = count - (double)missing[x];
        means[x] = means[x] * depth / (valid > 0 ? valid : 1);
    }
}

/* Floats that are not finite stay: their window has a NaN or an infinity, which the sums may leave out. */
#define STORE(suffix, type)                                                                                            \
    TS_VECTORIZED static void store_##suffix(const double *restrict means, const int32_t *restrict missing,            \
                                             type *restrict out, int64_t n)                                            \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = missing[x] && fabs((double)out[x]) <= FLT_MAX                                                     \
                         ? (type)(TS_##suffix == TS_F32 ? means[x] : rint(means[x]))                                   \
                         : out[x];                                                                                     \
    }
TS_IMAGE_DTYPES(STORE)
#undef STORE

static void store(const struct box_mend *mend, const double *means, const int32_t *missing, void *out, int64_t first,
                  int64_t n)
{
    switch (mend->rows.out->dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        store_##suffix(means, missing, (type *)out + first, n);                                                        \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

static void box_pixels(const void *of, const struct masked_row *row, int64_t first, int64_t end, void *own)
{
    const struct box_mend *mend = of;
    const int64_t columns = mend->rows.nx + 2 * mend->window.radius[2];
    double *means = own, *line = means + mend->rows.nx;
    int32_t *missing = (int32_t *)(line + columns);
    find_sums(mend, first, end, line, means);
    find_missing(mend, row, first, end, (int32_t *)line, missing);
    divide(mend, missing, means, end - first);
    store(mend, means, missing, row->out, first, end - first);
}

static void describe(struct box_mend *mend, const struct stage_context *context)
{
    const struct masked_window window = ts_box_masked_window(context);
    const int64_t nx = context->in.axes[2].n;
    *mend = (struct box_mend){
        .window = window,
        .mend = {.border = window.border,
                 .pixels = box_pixels,
                 .job = mend,
                 .own_bytes = (size_t)(3 * nx + 2 * window.radius[2]) * sizeof(double),
                 .gap = GAP},
        .count = (double)((2 * window.radius[0] + 1) * (2 * window.radius[1] + 1) * (2 * window.radius[2] + 1)),
        .depth = context->in.dtype == TS_F32 ? (double)(2 * window.radius[0] + 1) : 1,
    };
    memcpy(mend->mend.radius, window.radius, sizeof window.radius);
}

size_t ts_box_mend_bytes(const struct stage_context *context)
{
    struct box_mend mend;
    describe(&mend, context);
    return ts_masked_rows_bytes(context, &mend.mend);
}

void ts_box_mend_begin(struct box_mend *mend, const struct stage_context *context, const struct ts_image *in,
                       struct ts_image *out, void *scratch)
{
    describe(mend, context);
    mend->rows = ts_masked_rows_begin(&mend->mend, in, out, scratch);
}

void ts_box_mend_row(struct box_mend *mend, const struct box_sums *sums, int64_t z, int64_t y, bool first)
{
    mend->sums = *sums;
    ts_masked_rows_mend(&mend->rows, z, y, first);
}
