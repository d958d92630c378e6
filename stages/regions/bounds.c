/* SPDX-License-Identifier: Apache-2.0
 *
 * bounds: the smallest and the largest index of each axis at which a pixel belongs to the region.
 * The bounds of slices join in any grouping. A row whose first and last pixel of the region are
 * inside the box so far changes only the count.
 */
#include "stages/regions/bounds.h"

#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/values/value_keys.h"

enum { ROW_CHUNK = 1024 };

static const struct param bounds_params[] = {
    PARAM(struct bounds_params, above, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = -INFINITY, .doc = "pixels above this value belong to the region"),
    PARAM(struct bounds_params, below, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = INFINITY,
          .doc =
              "pixels below this value belong to the region; with `above`, those between the two"),
    PARAM(struct bounds_params, mask, .optional = true,
          .doc = "an image of the same shape: pixels where it is not 0 belong to the region; with "
                 "`above` or `below`, those that both choose; absent: all"),
};

STAGE_PARAMS_OF(bounds_params)

struct key_range ts_bounds_keys(const struct stage_context *context)
{
    return ts_threshold_keys(context->in.dtype, params_of(context)->above,
                             params_of(context)->below);
}

static enum ts_status bounds_resolve(const struct stage_context *context, void *values)
{
    const struct bounds_params *params = values;
    if (!(params->above < params->below)) {
        ts_param_error(context->set, "below", "range-order", context->diag,
                       "%g is not above `above`, %g", params->below, params->above);
        return ts_diag_hint(context->diag,
                            "values between two have `above`, the lower one, and `below`");
    }
    return ts_stage_check_mask(context);
}

/* ---- reduction ------------------------------------------------------------------------------- */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct bounds_box) : 0;
}

static void bounds_widen(struct bounds_box *box, int axis, int64_t first, int64_t end)
{
    const uint32_t not_first = ~(uint32_t)first;
    box->not_first[axis] = not_first > box->not_first[axis] ? not_first : box->not_first[axis];
    box->end[axis] = (uint32_t)end > box->end[axis] ? (uint32_t)end : box->end[axis];
}

/* Adds n pixels of a row, starting at column x, with these keys. */
static void add_pixels(struct bounds_box *box, const int32_t *keys, const double *chosen,
                       const uint64_t *bits[2], size_t first_bit, struct key_range within,
                       const int64_t at[3], int64_t n)
{
    int64_t first = n, end = 0;
    for (int64_t i = 0; i < n; i++) {
        const size_t bit = first_bit + (size_t)i;
        if (keys[i] < within.low || keys[i] > within.high ||
            (bits[0] && !ts_valid_at(bits[0], bit)) ||
            (chosen &&
             (chosen[i] == 0 || isnan(chosen[i]) || (bits[1] && !ts_valid_at(bits[1], bit)))))
            continue;
        box->n++;
        first = first < n ? first : i;
        end = i + 1;
    }
    if (end == 0)
        return;
    bounds_widen(box, 0, at[0], at[0] + 1);
    bounds_widen(box, 1, at[1], at[1] + 1);
    bounds_widen(box, 2, at[2] + first, at[2] + end);
}

static void add_slice(const struct stage_context *context, const struct ts_image *slices,
                      const struct ts_image *mask, int64_t z, struct bounds_box *box)
{
    const int64_t ny = slices->axes[1].n, nx = slices->axes[2].n;
    const char *values = ts_slice_data(slices, z), *masks = mask ? ts_slice_data(mask, z) : NULL;
    const uint64_t *bits[2] = {ts_slice_valid(slices, z), mask ? ts_slice_valid(mask, z) : NULL};
    const struct key_range within = ts_bounds_keys(context);
    int32_t keys[ROW_CHUNK];
    double chosen[ROW_CHUNK];
    for (int64_t y = 0; y < ny; y++)
        for (int64_t x = 0; x < nx; x += ROW_CHUNK) {
            const int64_t n = nx - x < ROW_CHUNK ? nx - x : ROW_CHUNK;
            const size_t first = (size_t)(y * nx + x);
            const int64_t at[3] = {slices->z_first + z, y, x};
            ts_value_keys_load(slices->dtype, values + first * ts_dtype_bytes(slices->dtype), keys,
                               n);
            if (mask)
                ts_load_f64(chosen, masks + first * ts_dtype_bytes(mask->dtype), mask->dtype,
                            (size_t)n);
            add_pixels(box, keys, mask ? chosen : NULL, bits, first, within, at, n);
        }
}

static void bounds_reduce(const struct stage_context *context, int input,
                          const struct ts_image *slices, void *partial)
{
    const int mask = ts_stage_mask(context);
    (void)input;
    memset(partial, 0, sizeof(struct bounds_box));
    for (int64_t z = 0; z < slices->axes[0].n; z++)
        add_slice(context, slices, mask < 0 ? NULL : &slices[1 + mask], z, partial);
}

static void bounds_merge(const struct stage_context *context, int input, void *into,
                         const void *from)
{
    struct bounds_box *box = into;
    const struct bounds_box *other = from;
    (void)context;
    (void)input;
    box->n += other->n;
    for (int axis = 0; other->n > 0 && axis < 3; axis++)
        bounds_widen(box, axis, ~other->not_first[axis], other->end[axis]);
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(struct bounds_box);
}

static enum ts_status bounds_finish(const struct stage_context *context, const void *const totals[],
                                    void *result, const struct ts_image *tables)
{
    const struct bounds_box *box = totals[0];
    (void)context;
    *(struct bounds_box *)result = *box;
    *(uint64_t *)tables[0].data = box->n;
    for (int axis = 0; axis < 3; axis++) {
        ((uint64_t *)tables[1].data)[axis] = box->n > 0 ? ~box->not_first[axis] : 0;
        ((uint64_t *)tables[2].data)[axis] = box->end[axis];
    }
    return TS_OK;
}

static int bounds_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    static const char *const texts[][2] = {
        {"count", "pixels of the region"},
        {"first", "first index of the region along z, y and x"},
        {"end", "first index behind the region along z, y and x; 0 where it is empty"}};
    (void)context;
    for (int i = 0; i < 3; i++) {
        out[i] = (struct stage_table){.name = texts[i][0], .doc = texts[i][1]};
        out[i].image = (struct ts_image){
            .dtype = TS_U64, .quantity = TS_INTENSITY, .unit = "1", .rank = i > 0};
        out[i].image.axes[0] = (struct ts_axis){.kind = TS_AXIS_ITEM, .n = 3, .unit = ""};
    }
    return 3;
}

static const struct stage_reduction reduction = {
    .exact = true,
    .partial_bytes = partial_bytes,
    .reduce = bounds_reduce,
    .merge = bounds_merge,
    .result_bytes = result_bytes,
    .finish = bounds_finish,
    .tables = bounds_tables,
};

const struct stage bounds_stage = {
    .name = "bounds",
    .summary = "the smallest box that holds a region; the image passes on",
    .doc = "The region is the pixels with `above < x < below` where `mask` is not 0, of which each "
           "may be left out. Its box is written as the tables `first` and `end`, indices `[first, "
           "end)` along z, y and x, and `count` has its number of pixels. `crop` with the same "
           "parameters cuts the image to this box.\n\n"
           "NaN, invalid pixels of the image, and pixels whose mask is NaN or invalid belong to no "
           "region. The tables of an empty region are 0.\n\n"
           "Cost: one pass.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(bounds_params, struct bounds_params),
    .resolve = bounds_resolve,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(bounds_cuda),
    .bench = "above=100|above=100 mask=itself",
    .tolerance = {.why = "indices are exact"},
};
