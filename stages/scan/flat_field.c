/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field: t(z, view, d) = (counts(z, view, d) - dark(z, d)) / (flat(z, d) - dark(z, d)), where
 * flat and dark are the means or medians of the frames of a detector pixel, in double precision and
 * in the order of the frames. A pixel whose flat - dark is not a positive number has no
 * transmission: it is dead.
 *
 * A slab is done in four steps: the frames give offset and gain of each detector pixel; slices are
 * checked for bad pixels (flat_checks.h), and dead ones are assigned replacements; the values are
 * mapped; and those at full scale are counted, if the largest one is that of a detector of fewer
 * bits. Frames are read row by row, BLOCK pixels at a time.
 */
#include "stages/scan/flat_field.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/validity.h"
#include "stages/scan/flat_checks.h"
#include "stages/scan/transmission.h"

enum { BLOCK = 32, CHUNK = 1024 };

static const struct choice combine_choices[] = {
    {"mean", COMBINE_MEAN, "their mean: the least noise"},
    {"median", COMBINE_MEDIAN,
     "their median, of an even number the mean of the middle two: single outliers do not count"},
    {"clean", COMBINE_CLEAN,
     "their mean, without the frames that are brighter at a pixel than noise explains: of two "
     "frames as well"},
    {NULL, 0, NULL},
};
static const struct choice dead_choices[] = {
    {"nearest", DEAD_NEAREST,
     "the transmission of the nearest pixel of the detector row that is not dead, the left one of "
     "two; NaN where the whole row is dead"},
    {"nan", DEAD_NAN, "NaN"},
    {NULL, 0, NULL},
};

static const struct param flat_field_params[] = {
    PARAM(struct flat_field_params, flats, .required = true, .frames = "flats",
          .doc = "frames with the beam and without the object: as many rows and detector pixels as "
                 "the projections"),
    PARAM(struct flat_field_params, darks, .optional = true, .frames = "darks",
          .doc = "frames without the beam; absent: darks of 0"),
    PARAM(struct flat_field_params, combine, .choices = combine_choices,
          .init.choice = COMBINE_MEAN,
          .doc = "how the frames of the flats, and those of the darks, become one"),
    PARAM(struct flat_field_params, dead, .choices = dead_choices, .init.choice = DEAD_NEAREST,
          .doc = "what a detector pixel gives whose flat is not above its dark, in every view"),
};

STAGE_PARAMS_OF(flat_field_params)

/* Frames of another camera or magnification may have as many detector pixels. */
static void compare_spacing(const struct stage_context *context, const char *name,
                            const struct ts_axis *frames)
{
    static const double same = 0.01;
    const struct ts_axis *in = &context->in.axes[2];
    const double stated = ts_axis_spacing(frames), expected = ts_axis_spacing(in);
    if (!frames->unit || !in->unit || strcmp(frames->unit, in->unit) != 0 ||
        fabs(stated - expected) <= same * fabs(expected))
        return;
    ts_diag_warning(context->diag,
                    &(struct diag_site){.code = "reference-spacing",
                                        .span = context->set->span,
                                        .stage = context->set->owner},
                    "the detector pixels of `%s` have %.6g %s, and those of the image %.6g: they "
                    "may be of another detector or magnification",
                    name, stated, in->unit, expected);
}

static enum ts_status check_frames(const struct stage_context *context, const char *name,
                                   const struct ts_image *frames)
{
    if (!frames)
        return TS_OK;
    if (!ts_image_is_sinogram(frames))
        return ts_param_error(context->set, name, "reference-axes", context->diag,
                              "is a volume, and frames are (z, view, detector)");
    if (frames->quantity != TS_COUNTS)
        return ts_param_error(context->set, name, "reference-quantity", context->diag,
                              "its values are %s, and frames are counts",
                              ts_quantity_name(frames->quantity));
    if (frames->axes[2].n != context->in.axes[2].n)
        return ts_param_error(context->set, name, "reference-detectors", context->diag,
                              "has %lld detector pixels, and the image has %lld",
                              (long long)frames->axes[2].n, (long long)context->in.axes[2].n);
    compare_spacing(context, name, &frames->axes[2]);
    return TS_OK;
}

static enum ts_status flat_field_resolve(const struct stage_context *context, void *values)
{
    const struct ts_image *flats = context->references[FLAT_FIELD_FLATS - 1];
    (void)values;
    if (!flats)
        return ts_param_error(context->set, "flats", "reference-missing", context->diag,
                              "names no image");
    const enum ts_status status = check_frames(context, "flats", flats);
    return status == TS_OK
               ? check_frames(context, "darks", context->references[FLAT_FIELD_DARKS - 1])
               : status;
}

static bool streams_with_input(const struct stage_context *context, int reference)
{
    (void)context;
    return reference + 1 <= FLAT_FIELD_DARKS;
}

/* Returns true if the next stage fills the pixels that the table counts. */
static bool fills_stuck(const struct stage_context *next)
{
    return next->stage == &bad_pixels_stage &&
           ((const struct bad_pixels_params *)next->params)->columns == COLUMNS_ALL;
}

static bool fills_uneven(const struct stage_context *next)
{
    return next->stage == &bad_pixels_stage &&
           ((const struct bad_pixels_params *)next->params)->ratio <= FLAT_RATIO;
}

static int flat_field_tables(const struct stage_context *context,
                             struct stage_table tables[STAGE_TABLES])
{
    tables[TABLE_DEAD] =
        (struct stage_table){.name = "dead",
                             .doc = "detector pixels whose flat is not above their dark",
                             .of = (uint64_t)context->in.axes[2].n};
    tables[TABLE_SATURATED] = (struct stage_table){
        .name = "saturated",
        .doc = "values of the projections and the flats that are the largest of their integer type",
        .code = "counts-saturated",
        .hint = "they are no measurements where the detector is saturated or has a gap: bad_pixels "
                "before flat_field fills them, in the projections and in the flats"};
    tables[TABLE_STUCK] = (struct stage_table){
        .name = "stuck",
        .doc = "detector pixels whose counts are the same in all views",
        .code = "counts-constant",
        .hint = "flat_field: {dead: nan} and bad_pixels: {columns: all} after it fill what is dead "
                "or stuck; where an object lets nothing pass in any view, leave them as they are",
        .mended = fills_stuck};
    tables[TABLE_UNEVEN] = (struct stage_table){
        .name = "uneven",
        .doc = "detector pixels whose flat less the dark, and whose transmission, are twice those "
               "beside or half of them",
        .code = "flats-uneven",
        .hint =
            "their flats or darks are wrong: bad_pixels: {ratio: 2} after flat_field fills them",
        .mended = fills_uneven};
    const bool clean = params_of(context)->combine == COMBINE_CLEAN;
    tables[TABLE_ZINGERS] = (struct stage_table){
        .name = "zingers",
        .doc = clean ? "pixels of flats and darks whose brighter frames were left out"
                     : "pixels of flats and darks whose frames differ by far more than noise",
        .code = clean ? NULL : "frames-zingers",
        .hint = "combine: clean leaves out the frames that are too bright there"};
    tables[TABLE_PILED] = (struct stage_table){
        .name = "piled",
        .doc = "values of projections and flats at the full scale of a detector of fewer bits",
        .code = "counts-piled",
        .hint = "the detector is saturated there: bad_pixels: {highest: %lld} before flat_field "
                "fills them, in the projections and in the flats",
        .number = TABLE_FULL_SCALE};
    tables[TABLE_FULL_SCALE] = (struct stage_table){
        .name = "full_scale", .doc = "the value at which those of `piled` are; 0: there are none"};
    for (int i = 0; i < FLAT_TABLES; i++)
        tables[i].image = (struct ts_image){.rank = 1,
                                            .axes = {context->in.axes[0]},
                                            .dtype = i == TABLE_FULL_SCALE ? TS_F64 : TS_U64,
                                            .unit = i == TABLE_FULL_SCALE ? "1" : "pixel"};
    return FLAT_TABLES;
}

/* ---- saturation ------------------------------------------------------------------------------ */

#define COUNT_LARGEST(suffix, type, largest)                                                       \
    TS_VECTORIZED static uint64_t count_largest_##suffix(const type *values, int64_t n)            \
    {                                                                                              \
        uint64_t count = 0;                                                                        \
        for (int64_t i = 0; i < n; i++)                                                            \
            count += values[i] == largest;                                                         \
        return count;                                                                              \
    }
COUNT_LARGEST(u8, uint8_t, UINT8_MAX)
COUNT_LARGEST(i8, int8_t, INT8_MAX)
COUNT_LARGEST(u16, uint16_t, UINT16_MAX)
COUNT_LARGEST(i16, int16_t, INT16_MAX)
COUNT_LARGEST(u32, uint32_t, UINT32_MAX)
COUNT_LARGEST(i32, int32_t, INT32_MAX)

static uint64_t count_largest(const void *values, enum ts_dtype dtype, int64_t n)
{
    switch (dtype) {
    case TS_U8:
        return count_largest_u8(values, n);
    case TS_I8:
        return count_largest_i8(values, n);
    case TS_U16:
        return count_largest_u16(values, n);
    case TS_I16:
        return count_largest_i16(values, n);
    case TS_U32:
        return count_largest_u32(values, n);
    case TS_I32:
        return count_largest_i32(values, n);
    default:
        return 0; /* floats have no largest value */
    }
}

/* Counts saturated values, except for pixels that a mask leaves out: pixel d is pixel first + d of
 * the slice with these bits (NULL: all are valid). */
static uint64_t count_measured(const char *values, enum ts_dtype dtype, int64_t n,
                               const uint64_t *valid, size_t first)
{
    uint64_t count = 0;
    if (!valid || ts_valid_all(valid, first, (size_t)n))
        return count_largest(values, dtype, n);
    for (int64_t d = 0; d < n; d++)
        if (ts_valid_at(valid, first + (size_t)d))
            count += count_largest(values + (size_t)d * ts_dtype_bytes(dtype), dtype, 1);
    return count;
}

/* Counts saturated values of the flats, which have the mask of the first view. */
static uint64_t saturated_flats(const struct ts_image *in, int64_t z)
{
    const struct ts_image *flats = &in[FLAT_FIELD_FLATS];
    const int64_t n = flats->axes[2].n;
    const size_t row = (size_t)n * ts_dtype_bytes(flats->dtype);
    uint64_t count = 0;
    for (int64_t frame = 0; frame < flats->axes[1].n; frame++)
        count += count_measured((const char *)ts_slice_data(flats, z) + (size_t)frame * row,
                                flats->dtype, n, ts_slice_valid(in, z), 0);
    return count;
}

TS_VECTORIZED static float largest_of(const float *values, int64_t n, float largest)
{
    for (int64_t i = 0; i < n; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

/* Returns the maximum of `largest` and the valid values, with arguments as in count_measured(). */
static float largest_valid(const float *values, int64_t n, const uint64_t *valid, size_t first,
                           float largest)
{
    if (!valid || ts_valid_all(valid, first, (size_t)n))
        return largest_of(values, n, largest);
    for (int64_t d = 0; d < n; d++)
        if (ts_valid_at(valid, first + (size_t)d))
            largest = largest_of(values + d, 1, largest);
    return largest;
}

/* ---- frames to one --------------------------------------------------------------------------- */

static double median(double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return NAN;
    const double lower = ts_flat_select(values, n, (n - 1) / 2);
    if (n % 2)
        return lower;
    double upper = values[n / 2];
    for (int64_t i = n / 2 + 1; i < n; i++)
        upper = values[i] < upper ? values[i] : upper;
    return 0.5 * (lower + upper);
}

/* Combines the frames of pixels [first, first + n) of one row. `by_pixel` is scratch for BLOCK
 * values of each frame. */
static void combine_frames(const struct ts_image *frames, int64_t z, int64_t first, int64_t n,
                           enum flat_field_combine how, double *by_pixel, double *out)
{
    const int64_t n_frames = frames->axes[1].n;
    const size_t row_bytes = (size_t)frames->axes[2].n * ts_dtype_bytes(frames->dtype);
    const char *at =
        (const char *)ts_slice_data(frames, z) + (size_t)first * ts_dtype_bytes(frames->dtype);
    double values[BLOCK];
    memset(out, 0, BLOCK * sizeof *out);
    for (int64_t frame = 0; frame < n_frames; frame++) {
        ts_load_f64(values, at + (size_t)frame * row_bytes, frames->dtype, (size_t)n);
        for (int64_t i = 0; i < n; i++) {
            out[i] += values[i];
            if (how == COMBINE_MEDIAN)
                by_pixel[i * n_frames + frame] = values[i];
        }
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = how == COMBINE_MEDIAN ? median(by_pixel + i * n_frames, n_frames)
                                       : out[i] / (double)n_frames;
}

/* ---- the pixels of one slice ----------------------------------------------------------------- */

struct pixels {
    float *offset, *gain;     /* for each detector pixel; the gain of a dead one is NaN */
    int32_t *dead, *stand_in; /* the dead pixels, and the pixel whose transmission each gets */
    int32_t *counts;          /* numbers of dead pixels (DEAD) and of those with a replacement
                               * (STAND_INS), which come first in `dead` and are all or none */
};
enum { DEAD, STAND_INS, COUNTS };

static struct pixels lay_out_pixels(int64_t n_detectors, struct memory_layout *layout)
{
    const size_t n = (size_t)n_detectors;
    struct pixels pixels;
    pixels.offset = ts_layout_add(layout, n * sizeof(float));
    pixels.gain = ts_layout_add(layout, n * sizeof(float));
    pixels.dead = ts_layout_add(layout, n * sizeof(int32_t));
    pixels.stand_in = ts_layout_add(layout, n * sizeof(int32_t));
    pixels.counts = ts_layout_add(layout, COUNTS * sizeof(int32_t));
    return pixels;
}

static size_t pixels_bytes(int64_t n_detectors)
{
    struct memory_layout layout = {0};
    lay_out_pixels(n_detectors, &layout);
    return layout.bytes;
}

static struct pixels pixels_at(void *scratch, int64_t z, int64_t n_detectors)
{
    struct memory_layout layout = {.base = (char *)scratch + (size_t)z * pixels_bytes(n_detectors)};
    return lay_out_pixels(n_detectors, &layout);
}

/* The scratch behind that of the slices has the largest value of each row, and then the parts of
 * the threads. */
static size_t largest_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    ts_layout_add(&layout, (size_t)(n * context->in.axes[1].n) * sizeof(float));
    return layout.bytes;
}

static size_t room_bytes(const struct stage_context *context)
{
    struct memory_layout layout = {0};
    ts_flat_room(context->in.axes[2].n, &layout);
    return layout.bytes;
}

/* Returns how many values of each frame a thread keeps for medians. */
static size_t kept_count(const struct stage_context *context)
{
    int64_t most = 0;
    for (int i = 0; i < STAGE_REFERENCES; i++)
        if (context->references[i] && context->references[i]->axes[1].n > most)
            most = context->references[i]->axes[1].n;
    return params_of(context)->combine == COMBINE_MEDIAN ? (size_t)most * BLOCK : 0;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return (size_t)n * pixels_bytes(context->in.axes[2].n) + largest_bytes(context, n) +
           (size_t)context->threads * (room_bytes(context) + kept_count(context) * sizeof(double));
}

static float gain_of(double flat, double dark)
{
    const float gain = (float)(1 / (flat - dark));
    return gain > 0 && gain < INFINITY ? gain : NAN;
}

/* Treats pixels that are invalid in a frame as dead. */
static void leave_out(const struct ts_image *frames, int64_t z, int64_t first, int64_t n,
                      float *gain)
{
    const uint64_t *valid = ts_slice_valid(frames, z);
    for (int64_t frame = 0; valid && frame < frames->axes[1].n; frame++)
        for (int64_t d = first; d < first + n; d++)
            if (!ts_valid_at(valid, (size_t)(frame * frames->axes[2].n + d)))
                gain[d] = NAN;
}

static void calibrate_block(const struct stage_context *context, const struct ts_image *in,
                            int64_t z, int64_t first, double *by_pixel, const struct pixels *pixels)
{
    const int64_t left = context->in.axes[2].n - first, n = left < BLOCK ? left : BLOCK;
    const enum flat_field_combine how = params_of(context)->combine;
    double flat[BLOCK], dark[BLOCK] = {0};
    combine_frames(&in[FLAT_FIELD_FLATS], z, first, n, how, by_pixel, flat);
    if (context->references[FLAT_FIELD_DARKS - 1])
        combine_frames(&in[FLAT_FIELD_DARKS], z, first, n, how, by_pixel, dark);
    for (int64_t i = 0; i < n; i++) {
        pixels->offset[first + i] = (float)dark[i];
        pixels->gain[first + i] = gain_of(flat[i], dark[i]);
    }
    leave_out(&in[FLAT_FIELD_FLATS], z, first, n, pixels->gain);
    if (context->references[FLAT_FIELD_DARKS - 1])
        leave_out(&in[FLAT_FIELD_DARKS], z, first, n, pixels->gain);
}

static void find_stand_ins(const struct stage_context *context, const struct pixels *pixels)
{
    const int64_t n = context->in.axes[2].n;
    int32_t n_dead = 0;
    for (int64_t d = 0; d < n; d++)
        if (isnan(pixels->gain[d]))
            pixels->dead[n_dead++] = (int32_t)d;
    pixels->counts[DEAD] = n_dead;
    pixels->counts[STAND_INS] = params_of(context)->dead == DEAD_NEAREST && n_dead < n ? n_dead : 0;
    for (int32_t i = 0; i < pixels->counts[STAND_INS]; i++) {
        const int64_t d = pixels->dead[i];
        int64_t left = d, right = d;
        while (left >= 0 && isnan(pixels->gain[left]))
            left--;
        while (right < n && isnan(pixels->gain[right]))
            right++;
        pixels->stand_in[i] =
            (int32_t)(right >= n || (left >= 0 && d - left <= right - d) ? left : right);
    }
}

/* ---- bad pixels ------------------------------------------------------------------------------ */

/* Returns the mean of the frames of a pixel, without values above `limit`. */
static double mean_below(const struct ts_image *frames, int64_t z, int64_t d, float limit)
{
    double sum = 0, value;
    int64_t n = 0;
    for (int64_t frame = 0; frame < frames->axes[1].n; frame++) {
        const size_t at = (size_t)(frame * frames->axes[2].n + d);
        ts_load_f64(&value,
                    (const char *)ts_slice_data(frames, z) + at * ts_dtype_bytes(frames->dtype),
                    frames->dtype, 1);
        if ((float)value <= limit) {
            sum += value;
            n++;
        }
    }
    return sum / (double)n;
}

/* Recomputes the pixels that have a limit, without their brighter frames. */
static void clean_pixels(const struct stage_context *context, const struct ts_image *in, int64_t z,
                         const struct pixels *pixels, float *const limits[2])
{
    const bool has_darks = context->references[FLAT_FIELD_DARKS - 1] != NULL;
    for (int64_t d = 0; d < context->in.axes[2].n; d++) {
        if (limits[0][d] == INFINITY && limits[1][d] == INFINITY)
            continue;
        const double dark = has_darks ? mean_below(&in[FLAT_FIELD_DARKS], z, d, limits[1][d]) : 0;
        pixels->offset[d] = (float)dark;
        pixels->gain[d] = gain_of(mean_below(&in[FLAT_FIELD_FLATS], z, d, limits[0][d]), dark);
    }
}

/* Counts the zingers of flats and darks. With combine: clean they are left out, as medians of three
 * frames do by themselves. */
static uint64_t look_at_frames(const struct stage_context *context, const struct ts_image *in,
                               int64_t z, const struct pixels *pixels, const struct flat_room *room)
{
    const enum flat_field_combine how = params_of(context)->combine;
    uint64_t count = 0;
    for (int i = 0; i < 2; i++) {
        const struct ts_image *frames = &in[FLAT_FIELD_FLATS + i];
        if (context->references[i] && (how != COMBINE_MEDIAN || frames->axes[1].n < 3))
            count += ts_flat_find_zingers(frames, z, pixels->gain, room, room->limits[i]);
        else
            for (int64_t d = 0; d < context->in.axes[2].n; d++)
                room->limits[i][d] = INFINITY;
    }
    if (how == COMBINE_CLEAN && count > 0)
        clean_pixels(context, in, z, pixels, room->limits);
    return count;
}

static void look_at_slice(const struct stage_context *context, const struct ts_image *in, int64_t z,
                          const struct pixels *pixels, const struct flat_room *room)
{
    const struct flat_row row = {pixels->offset, pixels->gain};
    const bool nearest = params_of(context)->dead == DEAD_NEAREST;
    uint64_t counts[FLAT_TABLES] = {0};
    counts[TABLE_ZINGERS] = look_at_frames(context, in, z, pixels, room);
    find_stand_ins(context, pixels);
    counts[TABLE_DEAD] = (uint64_t)pixels->counts[DEAD];
    counts[TABLE_SATURATED] = saturated_flats(in, z);
    counts[TABLE_STUCK] = ts_flat_find_stuck(in, z, row, nearest, room);
    counts[TABLE_UNEVEN] = ts_flat_find_uneven(in, z, row, room);
    for (int i = 0; i < FLAT_TABLES; i++)
        if (i != TABLE_PILED && i != TABLE_FULL_SCALE)
            *(uint64_t *)ts_slice_data(&context->tables[i], z) = counts[i];
}

/* `largest` has the largest value of each row. */
static void look_at_full_scale(const struct stage_context *context, const struct ts_image *in,
                               int64_t z, const float *largest, const struct flat_room *room)
{
    const struct ts_image *flats = &in[FLAT_FIELD_FLATS];
    const int64_t n = in->axes[2].n;
    float most = 0;
    for (int64_t view = 0; view < in->axes[1].n; view++)
        most = largest[view] > most ? largest[view] : most;
    for (int64_t frame = 0; frame < flats->axes[1].n; frame++) {
        const char *row = (const char *)ts_slice_data(flats, z) +
                          (size_t)(frame * n) * ts_dtype_bytes(flats->dtype);
        ts_load_f32(room->values, row, flats->dtype, (size_t)n);
        most = largest_valid(room->values, n, ts_slice_valid(in, z), 0, most);
    }
    const uint64_t piled = ts_flat_count_piled(in, flats, z, most, room->values);
    *(uint64_t *)ts_slice_data(&context->tables[TABLE_PILED], z) = piled;
    *(double *)ts_slice_data(&context->tables[TABLE_FULL_SCALE], z) = piled > 0 ? most : 0;
}

/* ---- the map --------------------------------------------------------------------------------- */

TS_VECTORIZED static void map_values(float *out, const float *counts, const float *offset,
                                     const float *gain, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (counts[i] - offset[i]) * gain[i];
}

/* Maps a row, and returns the largest of the counts; `valid` and `at` are as in
 * count_measured(). */
static float map_row(const void *in, enum ts_dtype dtype, float *out, const struct pixels *pixels,
                     int64_t n, const uint64_t *valid, size_t at)
{
    float counts[CHUNK], largest = 0;
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t count = n - first < CHUNK ? n - first : CHUNK;
        ts_load_f32(counts, (const char *)in + (size_t)first * ts_dtype_bytes(dtype), dtype,
                    (size_t)count);
        map_values(out + first, counts, pixels->offset + first, pixels->gain + first, count);
        largest = largest_valid(counts, count, valid, at + (size_t)first, largest);
    }
    for (int32_t i = 0; i < pixels->counts[STAND_INS]; i++)
        out[pixels->dead[i]] = out[pixels->stand_in[i]];
    return largest;
}

static struct flat_room room_at(const struct stage_context *context, char *rooms, int64_t thread)
{
    struct memory_layout layout = {.base = rooms + (size_t)thread * room_bytes(context)};
    return ts_flat_room(context->in.axes[2].n, &layout);
}

static void map_rows(const struct stage_context *context, const struct ts_image *in,
                     struct ts_image *out, void *scratch, float *largest)
{
    const int64_t n_views = out->axes[1].n, n = out->axes[2].n;
    const size_t in_bytes = (size_t)n * ts_dtype_bytes(in->dtype);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < out->axes[0].n * n_views; row++) {
        const struct pixels pixels = pixels_at(scratch, row / n_views, n);
        const char *from = (const char *)in->data + (size_t)row * in_bytes;
        const uint64_t *valid = ts_slice_valid(in, row / n_views);
        const size_t at = (size_t)(row % n_views * n);
        const uint64_t saturated = count_measured(from, in->dtype, n, valid, at);
        largest[row] =
            map_row(from, in->dtype, (float *)out->data + row * n, &pixels, n, valid, at);
        if (saturated > 0) {
            uint64_t *sum = ts_slice_data(&context->tables[TABLE_SATURATED], row / n_views);
#pragma omp atomic
            *sum += saturated;
        }
    }
}

static enum ts_status flat_field_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    const int64_t nz = out->axes[0].n, n = out->axes[2].n, blocks = (n + BLOCK - 1) / BLOCK;
    const size_t own = kept_count(context);
    const int threads = context->threads;
    float *largest = (float *)((char *)scratch + (size_t)nz * pixels_bytes(n));
    char *rooms = (char *)largest + largest_bytes(context, nz);
    double *kept = (double *)(rooms + (size_t)threads * room_bytes(context));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int thread = 0; thread < threads; thread++)
        for (int64_t task = nz * blocks * thread / threads;
             task < nz * blocks * (thread + 1) / threads; task++) {
            const struct pixels pixels = pixels_at(scratch, task / blocks, n);
            calibrate_block(context, in, task / blocks, task % blocks * BLOCK,
                            kept + (size_t)thread * own, &pixels);
        }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t z = 0; z < nz; z++) {
        const struct pixels pixels = pixels_at(scratch, z, n);
        const struct flat_room room = room_at(context, rooms, omp_get_thread_num());
        look_at_slice(context, in, z, &pixels, &room);
    }
    map_rows(context, in, out, scratch, largest);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t z = 0; z < nz; z++) {
        const struct flat_room room = room_at(context, rooms, omp_get_thread_num());
        look_at_full_scale(context, in, z, largest + z * out->axes[1].n, &room);
    }
    return TS_OK;
}

const struct stage flat_field_stage = {
    .name = "flat_field",
    .summary = "divide counts by the flat field, less the dark",
    .doc = "`t = (counts - dark) / (flat - dark)` of every detector pixel, where `flat` and `dark` "
           "are the means (or medians) of the frames that `flats` and `darks` name, in double "
           "precision. They are further inputs of the same scan:\n\n"
           "    input: {exchange: scan.h5}\n"
           "    inputs:\n"
           "      flats: {exchange: scan.h5, frames: flats}\n"
           "      darks: {exchange: scan.h5, frames: darks}\n"
           "    stages:\n"
           "      - flat_field: {flats: flats, darks: darks}\n\n"
           "Without `darks` the dark is 0. A detector pixel whose `flat - dark` is not a positive "
           "number (a dead pixel, a flat of zeros, NaN), or that a mask of its frames leaves out, "
           "has no transmission: `dead` says what it gives, and the table `dead` counts such "
           "pixels in every slice; a run ends with a note of their sum, and with an error if all "
           "are dead. The table `saturated` counts values of projections and flats that are the "
           "largest of an integer type, and a run warns of them (`counts-saturated`): otherwise a "
           "gap that holds 65535 everywhere would be a transmission of 1. `bad_pixels` before this "
           "stage fills them. Nothing else is changed: transmissions of noise at or below 0 and "
           "above 1 stay as they are, for `minus_log` to handle. The frames of a scan before and "
           "after the projections are combined into one, so a beam that drifts is not followed: "
           "`air` after this stage takes that out, from the detector pixels beside the object. "
           "`air` without this stage is for scans without flats.\n\n"
           "Four more tables count what gives a number that is no transmission, and a run warns of "
           "each:\n\n"
           "- `stuck`: detector pixels whose counts are the same in all views, at least 8, but for "
           "those at both ends of a row whose transmission is within 0.01 of 1, as the air of "
           "noiseless data, and the rim of an object beside it that all views see alike "
           "(`counts-constant`);\n"
           "- `uneven`: detector pixels whose `flat - dark` is at least twice the median of the 10 "
           "beside it, or at most half of it, and whose mean transmission is so as well: stuck "
           "pixels of the flats or of the darks (`flats-uneven`). `ring` takes out smaller faults, "
           "which are rings;\n"
           "- `zingers`: pixels of the flats or the darks whose frames differ by 10 times the "
           "median of the row (6 times from three frames on), if that changes the transmission by "
           "0.5 % (`frames-zingers`). A pixel brighter than the median of the row may differ by "
           "more in proportion. `combine: clean` leaves such frames out;\n"
           "- `piled`: values at the largest one of a slice, if that is 2^k - 1 from 255 on, or "
           "that times a power of two, and not the largest of its type, and if at least 4 are "
           "there and more than 4 times as many as one step below it (`counts-piled`): a detector "
           "of 12 bits is saturated at 4095. `full_scale` is that value.\n\n"
           "A run looks at slices of a scan that it reads, as [fbp](fbp.md) says, and warns of "
           "views that have "
           "the very values of the view before at another angle, noise included "
           "(`frames-repeated`). `minus_log` looks at the transmissions.\n\n"
           "Cost: one pass; the frames are read with the slices, twice.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_COUNTS), TS_ANY_BEAM),
    STAGE_PARAMS(flat_field_params, struct flat_field_params),
    .resolve = flat_field_resolve,
    .shape = ts_transmission_shape,
    .streams_with_input = streams_with_input,
    .tables = flat_field_tables,
    .scratch_bytes = scratch_bytes,
    .map = flat_field_map,
    .validity = VALIDITY_SAME,
    .gives_nan = true,
    .cuda = STAGE_CUDA(flat_field_cuda),
    .tolerance = {.relative = 1e-6,
                  .why = "of (counts + dark) / (flat - dark): counts, dark and 1 / (flat - dark) "
                         "are rounded to float, then subtracted and multiplied"},
    .bench = "combine=mean|combine=median",
};
