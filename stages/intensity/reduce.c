/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce along z is a map: one output slice is made from all slices of the input, a chunk of pixels
 * at a time, slice by slice. Along the volumes of a series it is a reduction of the series, whose
 * total has a place for each pixel of the result, to which each volume adds in turn; its end makes
 * the result, and the map copies that. So values of a pixel always come in the order of their
 * slices or volumes, and neither slabs, threads nor devices change the bytes.
 */
#include "stages/intensity/reduce.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/distances.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"
#include "stages/values/value_keys.h"

enum { CHUNK = 1024, MEDIANS = 64, WORD = 64 };

static const struct choice method_choices[] = {
    {"mean", REDUCE_MEAN, "the sum of the values / their count"},
    {"sd", REDUCE_SD, "the standard deviation: sqrt(sum((v - mean)^2) / count)"},
    {"max", REDUCE_MAX, "the largest value; along z the maximum intensity projection (MIP)"},
    {"min", REDUCE_MIN, "the smallest value"},
    {"sum", REDUCE_SUM, "the sum"},
    {"median", REDUCE_MEDIAN,
     "the value in the middle, or the mean of the two there of an even count"},
    {NULL, 0, NULL},
};

static const struct param reduce_params[] = {
    PARAM(struct reduce_params, axis, .required = true, .choices = ts_scope_along_choices,
          .doc = "along what one image is made of many"),
    PARAM(struct reduce_params, method, .required = true, .choices = method_choices,
          .doc = "what is made of the values of a pixel along the axis"),
};

STAGE_PARAMS_OF(reduce_params)

bool ts_reduce_joins(const struct stage_context *context)
{
    return ts_scope_joins_volumes(context);
}

int64_t ts_reduce_volumes(const struct stage_context *context)
{
    return ts_reduce_joins(context) ? context->in.axes[0].n / context->out.axes[0].n : 1;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static bool reduce_chooses(int32_t method)
{
    return method == REDUCE_MAX || method == REDUCE_MIN;
}

static enum ts_status reduce_resolve(const struct stage_context *context, void *values)
{
    const struct reduce_params *params = values;
    const bool along_z = params->axis == SCOPE_ALONG_Z;
    if (along_z &&
        ts_stage_needs_upright(context, "joins the pixels of all slices that are behind each other",
                               "`unshear` before it") != TS_OK)
        return TS_BAD_CHAIN;
    if (context->in.labels < 2 || reduce_chooses(params->method))
        return TS_OK;
    ts_param_error(context->set, "method", "labels-mixed", context->diag,
                   "'%s' mixes values, and those of the image are labels: numbers of regions",
                   ts_choice_name(method_choices, params->method));
    return ts_diag_hint(context->diag,
                        "`threshold` before it makes a mask of 0 and 1 of some labels, as with "
                        "`above: 0`; `method: max` or `min` chooses one of the labels");
}

/* Makes all slices one, as thick as they are together, in their middle. */
static void reduce_slices(struct ts_image *image)
{
    struct ts_axis *z = &image->axes[0];
    const int64_t n = z->n;
    const double first = ts_axis_position(z, 0), last = ts_axis_position(z, n - 1);
    if (n == 1)
        return;
    if (z->positions || z->spacing != 0) {
        z->first = (first + last) / 2;
        z->spacing = (last - first) / (double)(n - 1) * (double)n;
    }
    z->positions = NULL;
    z->n = 1;
    for (int i = 0; i < 3 && image->has_geometry; i++) {
        image->origin_mm[i] += (double)(n - 1) / 2 * image->step_z_mm[i];
        image->step_z_mm[i] *= (double)n;
    }
}

static enum ts_status reduce_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reduce_params *params = params_of(context);
    const bool differs = params->method == REDUCE_SD || params->method == REDUCE_SUM;
    out->labels = reduce_chooses(params->method) ? context->in.labels : 0;
    if (!reduce_chooses(params->method))
        out->dtype = TS_F32;
    if (differs && out->quantity == TS_HU)
        out->quantity = TS_INTENSITY; /* 0 HU is water */
    if (!ts_reduce_joins(context))
        reduce_slices(out);
    return TS_OK;
}

static struct stage_slices reduce_reads(const struct stage_context *context, int64_t first,
                                        int64_t end)
{
    return ts_reduce_joins(context) ? (struct stage_slices){first, end}
                                    : (struct stage_slices){0, context->in.axes[0].n};
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Adds n values, each of which is the count-th of its pixel. The method is chosen before the loop,
 * so that each loop is vectorized. */
TS_VECTORIZED static void add_values(int32_t method, double count, const double *restrict values,
                                     int64_t n, double *restrict a, double *restrict b)
{
#define CASE(constant)                                                                             \
    case constant:                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const struct reduce_sums sums =                                                        \
                ts_reduce_add(constant, (struct reduce_sums){a[i], b[i]}, count, values[i]);       \
            a[i] = sums.a;                                                                         \
            b[i] = sums.b;                                                                         \
        }                                                                                          \
        break;
    switch (method) {
        CASE(REDUCE_MEAN)
        CASE(REDUCE_SD)
        CASE(REDUCE_MAX)
        CASE(REDUCE_MIN)
        CASE(REDUCE_SUM)
    default:
        break;
    }
#undef CASE
}

/* Adds those of n values that are valid; values[i] belongs to pixel first + i. */
static void add_valid(int32_t method, const uint64_t *valid, int64_t first, const double *values,
                      int64_t n, uint32_t *counts, double *a, double *b)
{
    for (int64_t i = 0; i < n; i++) {
        if (!ts_valid_at(valid, (size_t)(first + i)))
            continue;
        const struct reduce_sums sums =
            ts_reduce_add(method, (struct reduce_sums){a[i], b[i]}, (double)++counts[i], values[i]);
        a[i] = sums.a;
        b[i] = sums.b;
    }
}

/* Writes the bits of n pixels from pixel `first` on, a multiple of WORD: those that had a value. */
static void store_valid(const uint32_t *counts, int64_t first, int64_t n, uint64_t *valid)
{
    for (int64_t i = 0; i < n; i += WORD) {
        uint64_t bits = 0;
        for (int64_t k = i; k < i + WORD && k < n; k++)
            bits |= (uint64_t)(counts[k] > 0) << (k - i);
        valid[(first + i) / WORD] = bits;
    }
}

/* Returns the median of n keys, which it reorders; NaN if one of them is. */
static double median_of(enum ts_dtype dtype, int32_t *keys, int64_t n)
{
    const struct key_range numbers = ts_value_keys_all(dtype);
    if (n == 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        if (keys[i] < numbers.low || keys[i] > numbers.high)
            return (double)NAN;
    ts_value_keys_select(keys, n, n / 2);
    int32_t below = keys[n / 2];
    if (n % 2 == 0) {
        below = keys[0];
        for (int64_t i = 1; i < n / 2; i++)
            below = keys[i] > below ? keys[i] : below;
    }
    return ts_reduce_middle(ts_value_of_key(dtype, below), ts_value_of_key(dtype, keys[n / 2]));
}

/* ---- the volumes of a series ----------------------------------------------------------------- */

struct reduce_total ts_reduce_total(const struct stage_context *context, void *memory,
                                    size_t *bytes)
{
    const int32_t method = params_of(context)->method;
    const size_t pixels = ts_image_count(&context->out);
    struct memory_layout layout = {.base = memory};
    struct reduce_total total = {.has = ts_layout_add(&layout, (size_t)context->out.axes[0].n)};
    if (context->in.masked)
        total.counts = ts_layout_add(&layout, pixels * sizeof *total.counts);
    if (method == REDUCE_MEDIAN)
        total.values = ts_layout_add(&layout, (size_t)ts_reduce_volumes(context) * pixels *
                                                  sizeof *total.values);
    else
        total.a = ts_layout_add(&layout, pixels * sizeof *total.a);
    if (method == REDUCE_SD)
        total.b = ts_layout_add(&layout, pixels * sizeof *total.b);
    *bytes = layout.bytes;
    return total;
}

struct reduce_result ts_reduce_result_of(const struct stage_context *context, void *memory,
                                         size_t *bytes)
{
    const struct ts_image *out = &context->out;
    struct memory_layout layout = {.base = memory};
    struct reduce_result result = {.values = ts_layout_add(&layout, ts_image_bytes(out))};
    if (context->in.masked)
        result.valid = ts_layout_add(&layout, (size_t)out->axes[0].n * ts_valid_bytes(out));
    *bytes = layout.bytes;
    return result;
}

static int reduce_rounds(const struct stage_context *context)
{
    return ts_reduce_joins(context);
}

size_t ts_reduce_partial_bytes(const struct stage_context *context, int input)
{
    size_t bytes = 0;
    (void)input;
    if (ts_reduce_joins(context))
        ts_reduce_total(context, NULL, &bytes);
    return bytes;
}

/* Adds pixels [first, first + n) of a slice of volume `volume` to those of the total from pixel
 * `at` on. */
static void add_chunk(const struct stage_context *context, const struct reduce_total *total,
                      const struct ts_image *slice, int64_t volume, int64_t first, int64_t n,
                      int64_t at)
{
    const int32_t method = params_of(context)->method;
    const uint64_t *valid = ts_slice_valid(slice, 0);
    const char *data = (const char *)slice->data + (size_t)first * ts_dtype_bytes(slice->dtype);
    const int64_t pixels = (int64_t)ts_image_count(&context->out);
    double values[CHUNK], unused[CHUNK] = {0};
    if (method == REDUCE_MEDIAN) {
        int32_t keys[CHUNK];
        ts_value_keys_load(slice->dtype, data, keys, n);
        for (int64_t i = 0; i < n; i++)
            if (!valid || ts_valid_at(valid, (size_t)(first + i)))
                total
                    ->values[(total->counts ? total->counts[at + i]++ : volume) * pixels + at + i] =
                    (uint32_t)keys[i];
        return;
    }
    ts_load_f64(values, data, slice->dtype, (size_t)n);
    if (valid)
        add_valid(method, valid, first, values, n, total->counts + at, total->a + at,
                  total->b ? total->b + at : unused);
    else
        add_values(method, (double)(volume + 1), values, n, total->a + at,
                   total->b ? total->b + at : unused);
}

static void reduce_add(const struct stage_context *context, int input,
                       const struct ts_image *slices, void *memory)
{
    const int64_t nz = context->out.axes[0].n, count = (int64_t)ts_slice_count(slices),
                  chunks = (count + CHUNK - 1) / CHUNK;
    size_t bytes;
    const struct reduce_total total = ts_reduce_total(context, memory, &bytes);
    (void)input;
    for (int64_t z = 0; z < slices->axes[0].n; z++)
        total.has[(slices->z_first + z) % nz] = 1;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t task = 0; task < slices->axes[0].n * chunks; task++) {
        const int64_t z = task / chunks, first = task % chunks * CHUNK, at = slices->z_first + z;
        const struct ts_image slice = ts_image_slices(slices, z, 1);
        add_chunk(context, &total, &slice, at / nz, first,
                  count - first < CHUNK ? count - first : CHUNK, at % nz * count + first);
    }
}

/* Takes the slices that came to another process. */
static void reduce_merge(const struct stage_context *context, int input, void *into,
                         const void *from)
{
    const int64_t nz = context->out.axes[0].n;
    const size_t count = ts_slice_count(&context->out);
    size_t bytes;
    const struct reduce_total to = ts_reduce_total(context, into, &bytes),
                              other = ts_reduce_total(context, (void *)(uintptr_t)from, &bytes);
    (void)input;
    for (int64_t z = 0; z < nz; z++) {
        const size_t at = (size_t)z * count;
        if (!other.has[z])
            continue;
        to.has[z] = 1;
        if (to.counts)
            memcpy(to.counts + at, other.counts + at, count * sizeof *to.counts);
        if (to.a)
            memcpy(to.a + at, other.a + at, count * sizeof *to.a);
        if (to.b)
            memcpy(to.b + at, other.b + at, count * sizeof *to.b);
        for (int64_t v = 0; to.values && v < ts_reduce_volumes(context); v++) {
            const size_t value = (size_t)(v * nz) * count + at;
            memcpy(to.values + value, other.values + value, count * sizeof *to.values);
        }
    }
}

size_t ts_reduce_result_bytes(const struct stage_context *context)
{
    size_t bytes = 0;
    if (ts_reduce_joins(context))
        ts_reduce_result_of(context, NULL, &bytes);
    return bytes;
}

/* Writes the result of n pixels from pixel `first` of slice z on; `keys` has room for a value of
 * each volume. */
static void finish_chunk(const struct stage_context *context, const struct reduce_total *total,
                         const struct reduce_result *result, int64_t z, int64_t first, int64_t n,
                         int32_t *keys)
{
    const int32_t method = params_of(context)->method;
    const int64_t count = (int64_t)ts_slice_count(&context->out), at = z * count + first,
                  volumes = ts_reduce_volumes(context),
                  pixels = (int64_t)ts_image_count(&context->out);
    double values[CHUNK] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t of = total->counts ? total->counts[at + i] : volumes;
        if (method == REDUCE_MEDIAN) {
            for (int64_t v = 0; v < of; v++)
                keys[v] = (int32_t)total->values[v * pixels + at + i];
            values[i] = median_of(context->in.dtype, keys, of);
        } else {
            const struct reduce_sums sums = {total->a[at + i], total->b ? total->b[at + i] : 0};
            values[i] = ts_reduce_result(method, sums, (double)of);
        }
    }
    ts_store_f64(result->values, (size_t)at, values, context->out.dtype, (size_t)n);
    if (result->valid)
        store_valid(total->counts + at, first, n, result->valid + z * ((count + WORD - 1) / WORD));
}

static enum ts_status reduce_finish(const struct stage_context *context, const void *const totals[],
                                    void *memory, const struct ts_image *tables)
{
    const int64_t volumes = ts_reduce_volumes(context), nz = context->out.axes[0].n,
                  count = (int64_t)ts_slice_count(&context->out),
                  chunks = (count + CHUNK - 1) / CHUNK;
    const size_t keys_bytes = (size_t)(context->threads * volumes) * sizeof(int32_t);
    size_t bytes;
    const struct reduce_total total =
        ts_reduce_total(context, (void *)(uintptr_t)totals[0], &bytes);
    const struct reduce_result result = ts_reduce_result_of(context, memory, &bytes);
    int32_t *keys = malloc(keys_bytes);
    (void)tables;
    if (!keys)
        return ts_diag_no_memory(context->diag, keys_bytes);
#pragma omp parallel for schedule(dynamic, 1) num_threads(context->threads)
    for (int64_t task = 0; task < nz * chunks; task++) {
        const int64_t first = task % chunks * CHUNK;
        finish_chunk(context, &total, &result, task / chunks, first,
                     count - first < CHUNK ? count - first : CHUNK,
                     keys + omp_get_thread_num() * volumes);
    }
    free(keys);
    return TS_OK;
}

static const struct stage_reduction reduction = {
    .exact = true, /* every pixel has a place of its own */
    .feeds_map = true,
    .rounds = reduce_rounds,
    .partial_bytes = ts_reduce_partial_bytes,
    .add = reduce_add,
    .merge = reduce_merge,
    .result_bytes = ts_reduce_result_bytes,
    .finish = reduce_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

/* Copies slices of the result of a series. */
static void copy_slices(const struct stage_context *context, struct ts_image *out)
{
    size_t bytes;
    const struct reduce_result result =
        ts_reduce_result_of(context, (void *)(uintptr_t)context->result, &bytes);
    const size_t slice = ts_slice_bytes(out), valid = ts_valid_bytes(out), z = (size_t)out->z_first,
                 n = (size_t)out->axes[0].n;
    memcpy(out->data, (const char *)result.values + z * slice, n * slice);
    if (out->valid)
        memcpy(out->valid, (const char *)result.valid + z * valid, n * valid);
}

/* Writes n pixels from pixel `first` on, for all methods but the median. */
static void sum_chunk(const struct stage_context *context, const struct ts_image *in, int64_t first,
                      int64_t n, struct ts_image *out)
{
    const int32_t method = params_of(context)->method;
    double values[CHUNK] = {0}, a[CHUNK] = {0}, b[CHUNK] = {0};
    uint32_t counts[CHUNK] = {0};
    for (int64_t z = 0; z < in->axes[0].n; z++) {
        const uint64_t *valid = ts_slice_valid(in, z);
        ts_load_f64(values,
                    (const char *)ts_slice_data(in, z) + (size_t)first * ts_dtype_bytes(in->dtype),
                    in->dtype, (size_t)n);
        if (valid)
            add_valid(method, valid, first, values, n, counts, a, b);
        else
            add_values(method, (double)(z + 1), values, n, a, b);
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = ts_reduce_result(method, (struct reduce_sums){a[i], b[i]},
                                     in->valid ? (double)counts[i] : (double)in->axes[0].n);
    ts_store_f64(out->data, (size_t)first, values, out->dtype, (size_t)n);
    if (out->valid)
        store_valid(counts, first, n, out->valid);
}

/* The same for medians of at most MEDIANS pixels; `keys` has room for all their values. */
static void median_chunk(const struct ts_image *in, int64_t first, int64_t n, int32_t *keys,
                         struct ts_image *out)
{
    const int64_t nz = in->axes[0].n;
    double values[MEDIANS] = {0};
    uint32_t counts[MEDIANS] = {0};
    for (int64_t z = 0; z < nz; z++) {
        const uint64_t *valid = ts_slice_valid(in, z);
        int32_t loaded[MEDIANS];
        ts_value_keys_load(in->dtype,
                           (const char *)ts_slice_data(in, z) +
                               (size_t)first * ts_dtype_bytes(in->dtype),
                           loaded, n);
        for (int64_t i = 0; i < n; i++)
            if (!valid || ts_valid_at(valid, (size_t)(first + i)))
                keys[i * nz + counts[i]++] = loaded[i];
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = median_of(in->dtype, keys + i * nz, counts[i]);
    ts_store_f64(out->data, (size_t)first, values, out->dtype, (size_t)n);
    if (out->valid)
        store_valid(counts, first, n, out->valid);
}

static size_t reduce_scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return ts_reduce_joins(context) || params_of(context)->method != REDUCE_MEDIAN
               ? 0
               : (size_t)context->threads * MEDIANS * (size_t)context->in.axes[0].n *
                     sizeof(int32_t);
}

static enum ts_status reduce_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    const bool medians = params_of(context)->method == REDUCE_MEDIAN;
    const int64_t count = (int64_t)ts_slice_count(out), step = medians ? MEDIANS : CHUNK;
    if (ts_reduce_joins(context)) {
        copy_slices(context, out);
        return TS_OK;
    }
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t first = 0; first < count; first += step) {
        const int64_t n = count - first < step ? count - first : step;
        if (medians)
            median_chunk(in, first, n,
                         (int32_t *)scratch + omp_get_thread_num() * MEDIANS * in->axes[0].n, out);
        else
            sum_chunk(context, in, first, n, out);
    }
    return TS_OK;
}

const struct stage reduce_stage = {
    .name = "reduce",
    .summary = "the mean, deviation, maximum, minimum, sum or median along slices or volumes",
    .doc =
        "One image is made of many, pixel by pixel. `axis: z` makes one slice of all slices of a "
        "volume: with `method: max` the maximum intensity projection. `axis: time`, `echo` and `b` "
        "make one volume of all volumes of a series, which must differ by that, and `axis: "
        "volumes` of all volumes, whatever they differ by. Stages after it, and those that take "
        "it by its name, then have one volume: `combine` with `other:` the mean takes it off "
        "every volume.\n\n"
        "**Units and quantities.** The unit stays. The quantity stays, but the standard deviation "
        "and the sum of values in HU, which count from water, are an intensity in HU.\n\n"
        "**Place.** The slice that is made of all is as thick as they are together, in their "
        "middle. A volume whose slices are sheared is refused: `unshear` comes before it.\n\n"
        "**Invalid pixels.** Only valid values count. A pixel without a valid value is 0 and "
        "invalid.\n\n"
        "NaN among the values of a pixel gives NaN, as in numpy. `max` and `min` keep the type, "
        "and masks stay masks; all else gives f32. Of labels, which are numbers of regions, only "
        "`max` and `min` choose one. The standard deviation divides by the count, as `numpy.std` "
        "does. Sums are in double, in the order of the slices or volumes, with the mean and the "
        "deviations from it updated by each value (B. P. Welford, 1962); results are rounded once, "
        "and both devices give the same bytes.\n\n"
        "**Cost.** Along z each value is read once, and all slices of a volume are in memory at "
        "once. Along volumes each volume is read once, and for each pixel of one volume 8 bytes "
        "are held, 16 for `sd`, and for `median` 4 bytes for each volume; with invalid pixels 4 "
        "bytes more. The result is held too.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(reduce_params, struct reduce_params),
    .resolve = reduce_resolve,
    .shape = reduce_shape,
    .reads = reduce_reads,
    .reduction = &reduction,
    .scratch_bytes = reduce_scratch_bytes,
    .map = reduce_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(reduce_cuda),
    .bench = "axis=z",
    .tolerance = {.relative = 1.2e-7, .absolute = 1e-45, .why = "rounding to f32"},
};
