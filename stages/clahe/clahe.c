/* SPDX-License-Identifier: Apache-2.0
 *
 * The two rules share only the idea; each gives the values of the tool that it is named after, with
 * the same order of float operations. OpenCV's has a given number of tiles, one bin for each value,
 * and mirrors the image at its far ends so that it divides evenly. scikit-image's has tiles of a
 * given size, 14-bit levels in `bins` bins, and stretches the result to [0, 1]. Slices are done one
 * after the other, their tiles and rows in parallel, so that only one slice's tables are held.
 */
#include "stages/clahe/clahe.h"

#include "core/clamp.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"

enum { MAX_TILES = 64, MAX_KERNEL = 16384, DEFAULT_BINS = 256, DEFAULT_TILES = 8 };
static const double opencv_clip_limit = 40, skimage_clip_limit = 0.01;

static const struct choice method_choices[] = {
    {"skimage", CLAHE_SKIMAGE, "skimage.exposure.equalize_adapthist: any dtype to f32 in [0, 1]"},
    {"opencv", CLAHE_OPENCV, "cv2.createCLAHE: u8 and u16, which stay what they are"},
    {NULL, 0, NULL},
};

static const struct param clahe_params[] = {
    PARAM(struct clahe_params, method, .unit = "", .choices = method_choices,
          .init.choice = CLAHE_SKIMAGE,
          .doc = "whose rule, and with it the meaning of clip_limit and the type of the result"),
    PARAM(struct clahe_params, clip_limit, .unit = "", .min = 0, .max = INFINITY,
          .derived = "0.01 with method: skimage, 40 with method: opencv",
          .doc =
              "where peaks of a tile's histogram are cut: with skimage as a share of its pixels, "
              "with opencv as a multiple of the mean count of a bin; above 0; infinite: nowhere"),
    PARAM(struct clahe_params, tiles_y, .unit = "", .min = 1, .max = MAX_TILES,
          .derived = "8 with method: opencv; not used with skimage",
          .doc = "tiles along y (opencv)"),
    PARAM(struct clahe_params, tiles_x, .unit = "", .min = 1, .max = MAX_TILES,
          .derived = "8 with method: opencv; not used with skimage",
          .doc = "tiles along x (opencv)"),
    PARAM(
        struct clahe_params, kernel_y, .unit = "pixel", .min = 1, .max = MAX_KERNEL,
        .derived =
            "1/8 of the rows, rounded down, at least 1, with method: skimage; not used with opencv",
        .doc = "height of a tile (skimage)"),
    PARAM(struct clahe_params, kernel_x, .unit = "pixel", .min = 1, .max = MAX_KERNEL,
          .derived = "1/8 of the columns, rounded down, at least 1, with method: skimage; not used "
                     "with opencv",
          .doc = "width of a tile (skimage)"),
    PARAM(struct clahe_params, bins, .unit = "", .min = 1, .max = CLAHE_GRAY_LEVELS,
          .derived = "256 with method: skimage; not used with opencv",
          .doc = "bins of a tile's histogram (skimage)"),
};

/* ---- plan ------------------------------------------------------------------------------------ */

static enum ts_status refuse_unused(const struct stage_context *context, const char *const *names,
                                    const char *method)
{
    for (; *names; names++)
        if (ts_param_given(context->set, *names))
            return ts_param_error(context->set, *names, "parameter-unused", context->diag,
                                  "has no part in method: %s", method);
        else
            ts_param_idle(context->set, *names);
    return TS_OK;
}

static void derive(const struct param_set *set, const char *name, int64_t *value, int64_t otherwise)
{
    if (!ts_param_given(set, name))
        *value = otherwise;
}

static enum ts_status clahe_resolve(const struct stage_context *context, void *values)
{
    static const char *const of_opencv[] = {"tiles_y", "tiles_x", NULL};
    static const char *const of_skimage[] = {"kernel_y", "kernel_x", "bins", NULL};
    struct clahe_params *params = values;
    const struct param_set *set = context->set;
    const bool opencv = params->method == CLAHE_OPENCV;
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const enum ts_status status = refuse_unused(context, opencv ? of_skimage : of_opencv,
                                                ts_choice_name(method_choices, params->method));
    if (status != TS_OK)
        return status;
    if (opencv && context->in.dtype != TS_U8 && context->in.dtype != TS_U16) {
        ts_param_error(set, "method", "stage-dtype", context->diag,
                       "opencv takes u8 and u16, and the image is %s",
                       ts_dtype_name(context->in.dtype));
        return ts_diag_hint(
            context->diag,
            "put `rescale` to u16 before it, or use method: skimage, which takes any dtype");
    }
    if (!ts_param_given(set, "clip_limit"))
        params->clip_limit = opencv ? opencv_clip_limit : skimage_clip_limit;
    if (!(params->clip_limit > 0)) {
        ts_param_error(set, "clip_limit", "value-range", context->diag, "must be above 0");
        return ts_diag_hint(context->diag,
                            "for no limit (0 in OpenCV and scikit-image) write clip_limit: .inf");
    }
    derive(set, "tiles_y", &params->tiles_y, opencv ? DEFAULT_TILES : 0);
    derive(set, "tiles_x", &params->tiles_x, opencv ? DEFAULT_TILES : 0);
    derive(set, "kernel_y", &params->kernel_y, opencv ? 0 : ny / 8 > 1 ? ny / 8 : 1);
    derive(set, "kernel_x", &params->kernel_x, opencv ? 0 : nx / 8 > 1 ? nx / 8 : 1);
    derive(set, "bins", &params->bins, opencv ? 0 : DEFAULT_BINS);
    return TS_OK;
}

static enum ts_status clahe_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct clahe_params *params = context->params;
    if (params->method == CLAHE_SKIMAGE)
        out->dtype = TS_F32;
    out->quantity = TS_INTENSITY;
    out->unit = "1";
    return TS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* OpenCV extends both axes if one of them does not divide evenly; an axis that does gets `tiles`
 * more samples. */
static void divide_as_opencv(struct clahe_run *run)
{
    const bool even = run->ny % run->tiles_y == 0 && run->nx % run->tiles_x == 0;
    run->tile_height = run->ny / run->tiles_y + (even ? 0 : 1);
    run->tile_width = run->nx / run->tiles_x + (even ? 0 : 1);
    run->values = run->dtype == TS_U8 ? 256 : 65536;
}

static void divide_as_skimage(struct clahe_run *run)
{
    run->tile_height = run->params->kernel_y;
    run->tile_width = run->params->kernel_x;
    run->tiles_y = (run->ny + run->tile_height - 1) / run->tile_height;
    run->tiles_x = (run->nx + run->tile_width - 1) / run->tile_width;
    run->values = run->params->bins;
}

struct clahe_run ts_clahe_describe(const struct stage_context *context)
{
    const struct clahe_params *params = context->params;
    struct clahe_run run = {
        .params = params,
        .dtype = context->in.dtype,
        .threads = context->threads,
        .ny = context->in.axes[1].n,
        .nx = context->in.axes[2].n,
        .tiles_y = params->tiles_y,
        .tiles_x = params->tiles_x,
    };
    const bool opencv = params->method == CLAHE_OPENCV;
    if (opencv)
        divide_as_opencv(&run);
    else
        divide_as_skimage(&run);
    run.clip_count = ts_clahe_clip_count(opencv, params->clip_limit,
                                         run.tile_height * run.tile_width, run.values);
    /* Each thread has room for the counts of a tile, or for a row in double. */
    size_t used = 0;
    ts_scratch_part(&used, run.values > run.nx ? run.values : run.nx, sizeof(int64_t));
    run.thread_bytes = used;
    used = 0;
    run.near_y = ts_scratch_part(&used, run.ny, sizeof(struct neighbor));
    run.near_x = ts_scratch_part(&used, run.nx, sizeof(struct neighbor));
    run.tables = ts_scratch_part(&used, run.tiles_y * run.tiles_x * run.values, sizeof(uint16_t));
    const bool bytes = opencv && run.dtype == TS_U8;
    run.joined = ts_scratch_part(
        &used, bytes ? (run.tiles_y + 1) * (run.tiles_x + 1) * run.values : 0, sizeof(uint32_t));
    run.columns = ts_scratch_part(&used, bytes ? 3 * run.nx : 0, sizeof(float));
    const bool as_they_are = opencv && run.dtype == TS_U16 && !context->in.masked;
    run.binned = ts_scratch_part(&used, as_they_are ? 0 : run.ny * run.nx, sizeof(uint16_t));
    run.taken = ts_scratch_part(&used, run.tiles_y * run.tiles_x, sizeof(uint32_t));
    run.threads_part = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static size_t clahe_scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return ts_clahe_describe(context).bytes;
}

/* Finds for each of n samples the two tiles whose tables are mixed there, and their weights: as
 * floats for opencv, as the offset from the first to the second tile for skimage. A table
 * belongs to the center of its tile, half a tile from its first sample. */
void ts_clahe_find_neighbors(bool opencv, int64_t n, int64_t tile, int64_t tiles,
                             struct neighbor *near)
{
    const float inverse = 1.0f / (float)tile;
    for (int64_t i = 0; i < n; i++) {
        const float at = (float)i * inverse - 0.5f;
        const int64_t first = opencv ? (int64_t)floorf(at) : (i + tile / 2) / tile - 1;
        near[i] = (struct neighbor){
            .first = (int32_t)ts_clamp(first, 0, tiles - 1),
            .second = (int32_t)ts_clamp(first + 1, 0, tiles - 1),
            .second_weight = at - (float)first,
            .offset = (double)((i + tile / 2) % tile) / (double)tile,
        };
        near[i].first_weight = 1.0f - near[i].second_weight;
    }
}

/* Subtracts the invalid pixels of a row of a tile from the counts, and returns how many there
 * are. */
static int64_t discount(const struct clahe_run *run, const uint16_t *slice, const uint64_t *valid,
                        int64_t y, int64_t x_first, int64_t *counts)
{
    const int64_t row = ts_border_index(y, run->ny, BORDER_MIRROR) * run->nx;
    int64_t n = 0;
    for (int64_t x = x_first; x < x_first + run->tile_width; x++) {
        const int64_t i = row + ts_border_index(x, run->nx, BORDER_MIRROR);
        if (!ts_valid_at(valid, (size_t)i)) {
            counts[slice[i]]--;
            n++;
        }
    }
    return n;
}

/* Counts the values of the valid pixels of a tile (tile = ty * tiles_x + tx) of a slice, which is
 * mirrored past its far ends. `valid` has the slice's bits; NULL: all are valid. Returns the number
 * of valid pixels, which it also writes to `taken`. */
static int64_t clahe_count_tile(const struct clahe_run *run, const uint16_t *slice,
                                const uint64_t *valid, int64_t tile, int64_t *counts, char *scratch)
{
    const int64_t y_first = tile / run->tiles_x * run->tile_height,
                  x_first = tile % run->tiles_x * run->tile_width;
    const int64_t x_end = x_first + run->tile_width, inside = x_end < run->nx ? x_end : run->nx;
    int64_t pixels = run->tile_height * run->tile_width;
    for (int64_t y = y_first; y < y_first + run->tile_height; y++) {
        const uint16_t *row = slice + ts_border_index(y, run->ny, BORDER_MIRROR) * run->nx;
        for (int64_t x = x_first; x < inside; x++)
            counts[row[x]]++;
        for (int64_t x = x_first > inside ? x_first : inside; x < x_end; x++)
            counts[row[ts_border_index(x, run->nx, BORDER_MIRROR)]]++;
        if (valid)
            pixels -= discount(run, slice, valid, y, x_first, counts);
    }
    ((uint32_t *)(void *)(scratch + run->taken))[tile] = (uint32_t)pixels;
    return pixels;
}

/* Gives the tiles without a valid pixel the table of the nearest tile that has one; 0 if none
 * has. Tables have n_values entries. */
static void clahe_fill_tables(const struct clahe_run *run, int64_t n_values, char *scratch)
{
    const uint32_t *taken = (const uint32_t *)(const void *)(scratch + run->taken);
    uint16_t *tables = (uint16_t *)(void *)(scratch + run->tables);
    const size_t bytes = (size_t)n_values * sizeof *tables;
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        if (taken[tile] > 0)
            continue;
        const int64_t from = ts_clahe_nearest_taken(taken, run->tiles_y, run->tiles_x,
                                                    run->tile_height, run->tile_width, tile);
        if (from < 0)
            memset(tables + tile * n_values, 0, bytes);
        else
            memcpy(tables + tile * n_values, tables + from * n_values, bytes);
    }
}

/* Returns the calling thread's part of the scratch. */
static void *clahe_thread_part(const struct clahe_run *run, char *scratch)
{
    return scratch + run->threads_part + (size_t)omp_get_thread_num() * run->thread_bytes;
}

/* CLAHE as cv2.createCLAHE does it: one bin per value, counts cut at a limit, and
 *
 *     table[v] = round((cut counts up to v) * (values - 1) / pixels of a tile)
 *
 * mixed bilinearly in float, in OpenCV's order of operations.  */

enum { BYTES = 256 }; /* values of a u8 */

/* For every column of bytes: the place of its region's joined tables, and its weights. */
struct clahe_columns {
    const int32_t *regions;
    const float *left, *right;
};

/* Counts that are cut off go to all bins evenly, and the rest of the division to single bins at
 * even distances. Only the first n_values entries are made: no pixel has a higher value, and a bin
 * does not depend on the bins after it. */
static void make_opencv_table(const struct clahe_run *run, int64_t *counts, int64_t pixels,
                              int64_t n_values, uint16_t *table)
{
    const int64_t clip = ts_clahe_clip_count(true, run->params->clip_limit, pixels, run->values);
    int64_t cut = 0;
    for (int64_t v = 0; v < n_values; v++)
        if (counts[v] > clip) {
            cut += counts[v] - clip;
            counts[v] = clip;
        }
    const int64_t each = cut / run->values, rest = cut % run->values;
    const int64_t step = rest > 0 ? run->values / rest : 1;
    const float scale = (float)(run->values - 1) / (float)pixels;
    int64_t sum = 0, next = 0, given = 0;
    for (int64_t v = 0; v < n_values; v++) {
        sum += counts[v] + each;
        if (v == next && given < rest) {
            sum++;
            given++;
            next += step;
        }
        const int64_t mapped = lrintf((float)sum * scale);
        table[v] = (uint16_t)(mapped < run->values ? mapped : run->values - 1);
    }
}

static void map_opencv_row(const struct clahe_run *run, const struct neighbor *y,
                           const struct neighbor *near, const uint16_t *tables, int64_t n_values,
                           const uint16_t *in, uint16_t *out)
{
    const uint16_t *above = tables + y->first * run->tiles_x * n_values;
    const uint16_t *below = tables + y->second * run->tiles_x * n_values;
    for (int64_t x = 0; x < run->nx; x++) {
        const int64_t left = near[x].first * n_values + in[x],
                      right = near[x].second * n_values + in[x];
        const float a = near[x].first_weight, b = near[x].second_weight;
        const float mapped = ((float)above[left] * a + (float)above[right] * b) * y->first_weight +
                             ((float)below[left] * a + (float)below[right] * b) * y->second_weight;
        const int64_t rounded = lrintf(mapped);
        out[x] = (uint16_t)(rounded < run->values ? rounded : run->values - 1);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A region is the area in which the same four tables map a pixel: there are (tiles_y + 1) *
 * (tiles_x + 1) of them. Tables of bytes are small, so each region's four are stored side by side,
 * and a pixel takes one look-up of four bytes. */
static int64_t region_of(const struct neighbor *near, int64_t tiles)
{
    return near->second + (near->first == tiles - 1);
}

static void join_tables(const struct clahe_run *run, int64_t region, const uint16_t *tables,
                        uint32_t *joined)
{
    const int64_t y = region / (run->tiles_x + 1), x = region % (run->tiles_x + 1);
    const int64_t above = (y > 0 ? y - 1 : 0) * run->tiles_x,
                  below = (y < run->tiles_y ? y : y - 1) * run->tiles_x;
    const int64_t left = x > 0 ? x - 1 : 0, right = x < run->tiles_x ? x : x - 1;
    const uint16_t *a = tables + (above + left) * BYTES, *b = tables + (above + right) * BYTES,
                   *c = tables + (below + left) * BYTES, *d = tables + (below + right) * BYTES;
    for (int64_t v = 0; v < BYTES; v++)
        joined[region * BYTES + v] = (uint32_t)(a[v] | b[v] << 8 | c[v] << 16) | (uint32_t)d[v]
                                                                                     << 24;
}

/* Looks n pixels of a row up in their regions. It is only compiled for the first level, because
 * gathers are slower. */
static void look_up(const uint32_t *joined, const int32_t *regions, const uint8_t *in,
                    uint32_t *found, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        found[x] = joined[regions[x] + in[x]];
}

/* Mixes the values that were found, with the operations of map_opencv_row() in the same order. */
TS_VECTORIZED static void mix(const uint32_t *restrict found, const float *restrict left,
                              const float *restrict right, float above, float below,
                              uint8_t *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++) {
        const uint32_t four = found[x];
        const float mapped = ((float)(int32_t)(four & 255) * left[x] +
                              (float)(int32_t)(four >> 8 & 255) * right[x]) *
                                 above +
                             ((float)(int32_t)(four >> 16 & 255) * left[x] +
                              (float)(int32_t)(four >> 24) * right[x]) *
                                 below;
        const int32_t rounded =
            (int32_t)((mapped + 0x1.8p23f) - 0x1.8p23f); /* rounds to nearest, in vectors of any
                                                          * level */
        out[x] = (uint8_t)(rounded < BYTES ? rounded : BYTES - 1);
    }
}

static void map_byte_row(const struct clahe_run *run, const struct neighbor *y,
                         const uint32_t *joined, const struct clahe_columns *columns,
                         const uint8_t *in, uint8_t *out)
{
    enum { STRIP = 256 }; /* pixels whose tables' values stay in the first cache */
    uint32_t found[STRIP];
    joined += region_of(y, run->tiles_y) * (run->tiles_x + 1) * BYTES;
    for (int64_t x = 0; x < run->nx; x += STRIP) {
        const int64_t n = run->nx - x < STRIP ? run->nx - x : STRIP;
        look_up(joined, columns->regions + x, in + x, found, n);
        mix(found, columns->left + x, columns->right + x, y->first_weight, y->second_weight,
            out + x, n);
    }
}

static void map_bytes(const struct clahe_run *run, const uint8_t *in, uint8_t *out, char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    const uint16_t *tables = (const uint16_t *)(scratch + run->tables);
    uint32_t *joined = (uint32_t *)(scratch + run->joined);
    int32_t *regions = (int32_t *)(scratch + run->columns);
    float *left = (float *)(regions + run->nx), *right = left + run->nx;
    const struct clahe_columns columns = {regions, left, right};
    for (int64_t x = 0; x < run->nx; x++) {
        regions[x] = (int32_t)(region_of(&near_x[x], run->tiles_x) * BYTES);
        left[x] = near_x[x].first_weight;
        right[x] = near_x[x].second_weight;
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t region = 0; region < (run->tiles_y + 1) * (run->tiles_x + 1); region++)
        join_tables(run, region, tables, joined);
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++)
        map_byte_row(run, &near_y[y], joined, &columns, in + y * run->nx, out + y * run->nx);
}

/* Copies a slice as 16 bits, with 0 in place of invalid pixels. */
static const uint16_t *copy_slice(const struct clahe_run *run, const void *in,
                                  const uint64_t *valid, uint16_t *wide)
{
    const int64_t n = run->ny * run->nx;
    if (run->dtype == TS_U16)
        memcpy(wide, in, (size_t)n * sizeof *wide);
    for (int64_t i = 0; run->dtype == TS_U8 && i < n; i++)
        wide[i] = ((const uint8_t *)in)[i];
    if (valid)
        ts_valid_zero(valid, 0, (size_t)n, sizeof *wide, wide);
    return wide;
}

/* Maps slice z of u8 or u16 to the same type. The scratch already has the neighbors. */
static void clahe_opencv_slice(const struct clahe_run *run, const struct ts_image *in, int64_t z,
                               void *out, char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    uint16_t *tables = (uint16_t *)(scratch + run->tables),
             *wide = (uint16_t *)(scratch + run->binned);
    const uint64_t *valid = in->valid ? ts_slice_valid(in, z) : NULL;
    const void *data = ts_slice_data(in, z);
    const int64_t n = run->ny * run->nx;
    const bool narrow = run->dtype == TS_U8;
    const uint16_t *slice = narrow || valid ? copy_slice(run, data, valid, wide) : data;
    int64_t highest = narrow ? BYTES - 1 : 0;
    if (!narrow) {
#pragma omp parallel for num_threads(run->threads) reduction(max : highest)
        for (int64_t i = 0; i < n; i++)
            highest = slice[i] > highest ? slice[i] : highest;
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        int64_t *counts = clahe_thread_part(run, scratch);
        memset(counts, 0, (size_t)(highest + 1) * sizeof *counts);
        const int64_t pixels = clahe_count_tile(run, slice, valid, tile, counts, scratch);
        if (pixels > 0)
            make_opencv_table(run, counts, pixels, highest + 1, tables + tile * (highest + 1));
    }
    if (valid)
        clahe_fill_tables(run, highest + 1, scratch);
    if (narrow) {
        map_bytes(run, data, out, scratch);
        return;
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++)
        map_opencv_row(run, &near_y[y], near_x, tables, highest + 1, slice + y * run->nx,
                       (uint16_t *)out + y * run->nx);
}

/* CLAHE as skimage.exposure.equalize_adapthist makes it: values become 14-bit gray levels over the
 * slice's span, and these become one of `bins` bins; a tile's table is the running sum of its cut
 * counts, scaled to 14 bits and without its fraction; the mixed result is stretched to [0, 1]. */

/* A slice's values become 16-bit levels (u8 times 257, u16 as they are, others by their finite
 * span). By their own span, these become one of CLAHE_GRAY_LEVELS levels. */
struct gray_scale {
    double low, span;             /* lowest value and span, if values are scaled by them */
    double factor;                /* factor of the 16-bit levels */
    double level_low, level_span; /* lowest level and span of levels; span 0: all values are
                                   * equal */
    double least;                 /* lowest valid value */
};

/* Loads a row, with `instead` in place of invalid pixels. */
static void load_row(const struct clahe_run *run, const struct ts_image *slice, int64_t y,
                     double instead, double *row)
{
    const size_t first = (size_t)(y * run->nx);
    ts_load_f64(row, (const char *)slice->data + first * ts_dtype_bytes(run->dtype), run->dtype,
                (size_t)run->nx);
    ts_valid_fill_doubles(slice->valid, first, (size_t)run->nx, instead, row);
}

static struct gray_scale find_gray_scale(const struct clahe_run *run, const struct ts_image *slice,
                                         char *scratch)
{
    double low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(run->threads) reduction(min : low) reduction(max : high)
    for (int64_t y = 0; y < run->ny; y++) {
        double *row = clahe_thread_part(run, scratch);
        load_row(run, slice, y, NAN, row);
        for (int64_t x = 0; x < run->nx; x++)
            if (isfinite(row[x])) {
                low = row[x] < low ? row[x] : low;
                high = row[x] > high ? row[x] : high;
            }
    }
    if (!(low <= high))
        low = high = 0;
    if (run->dtype == TS_U8 || run->dtype == TS_U16) {
        const double factor = run->dtype == TS_U8 ? 257 : 1;
        return (struct gray_scale){0, 1, factor, low * factor, (high - low) * factor, low};
    }
    return (struct gray_scale){low, high > low ? high - low : 1, 65535,
                               0,   high > low ? 65535 : 0,      low};
}

/* Rounds twice, as the tool does. NaN becomes the lowest level. */
TS_VECTORIZED static void find_bins(const struct gray_scale *scale, uint16_t bin_size,
                                    const double *restrict row, uint16_t *restrict bins, int64_t n)
{
    const double span = scale->level_span > 0 ? scale->level_span : CLAHE_GRAY_LEVELS - 1;
    for (int64_t x = 0; x < n; x++) {
        double level = rint((row[x] - scale->low) / scale->span * scale->factor);
        level = level > 0 ? level : 0;
        level = level < 65535 ? level : 65535;
        double gray = rint((level - scale->level_low) / span * (CLAHE_GRAY_LEVELS - 1));
        gray = gray < CLAHE_GRAY_LEVELS - 1 ? gray : CLAHE_GRAY_LEVELS - 1;
        bins[x] = (uint16_t)((int32_t)gray / bin_size);
    }
}

/* Cuts bins to `limit` and hands the excess out: evenly first, then one by one with a stride that
 * depends on what is left, starting each pass one bin further. */
static void cut_counts(int64_t *counts, int64_t n, int64_t limit)
{
    int64_t excess = 0;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] > limit) {
            excess += counts[i] - limit;
            counts[i] = limit;
        }
    const int64_t each = excess / n, upper = limit - each;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] < upper) {
            counts[i] += each;
            excess -= each;
        }
        if (counts[i] >= upper && counts[i] < limit) {
            excess -= limit - counts[i];
            counts[i] = limit;
        }
    }
    for (int64_t before = excess + 1; excess > 0 && excess != before;) {
        before = excess;
        for (int64_t first = 0; first < n && excess > 0; first++) {
            int64_t open = 0;
            for (int64_t i = 0; i < n; i++)
                open += counts[i] < limit;
            const int64_t step = open / excess > 1 ? open / excess : 1;
            for (int64_t i = first; i < n; i += step)
                if (counts[i] < limit) {
                    counts[i]++;
                    excess--;
                }
        }
    }
}

static void make_skimage_table(const struct clahe_run *run, int64_t *counts, int64_t pixels,
                               uint16_t *table)
{
    const int64_t clip = ts_clahe_clip_count(false, run->params->clip_limit, pixels, run->values);
    const double scale = (double)(CLAHE_GRAY_LEVELS - 1) / (double)pixels;
    int64_t sum = 0;
    if (clip < pixels)
        cut_counts(counts, run->values, clip);
    for (int64_t i = 0; i < run->values; i++) {
        sum += counts[i];
        const double mapped = (double)sum * scale;
        table[i] = (uint16_t)(mapped < CLAHE_GRAY_LEVELS - 1 ? mapped : CLAHE_GRAY_LEVELS - 1);
    }
}

/* Each of the four products is rounded to float before the sum, whose fraction is dropped. */
static void map_skimage_row(const struct clahe_run *run, const struct neighbor *y,
                            const struct neighbor *near, const uint16_t *tables,
                            const uint16_t *bins, float *out)
{
    const uint16_t *above = tables + y->first * run->tiles_x * run->values;
    const uint16_t *below = tables + y->second * run->tiles_x * run->values;
    for (int64_t x = 0; x < run->nx; x++) {
        const int64_t left = near[x].first * run->values + bins[x],
                      right = near[x].second * run->values + bins[x];
        const double b = near[x].offset, a = 1 - b, d = y->offset, c = 1 - d;
        float sum = (float)(above[left] * (a * c));
        sum += (float)(above[right] * (b * c));
        sum += (float)(below[left] * (a * d));
        sum += (float)(below[right] * (b * d));
        out[x] = (float)(int32_t)sum;
    }
}

/* Scales the result's span to [0, 1]; a result with only one value is clipped to it. NaN of the
 * input stays. */
static void stretch(const struct clahe_run *run, const struct ts_image *slice, float *out)
{
    const int64_t n = run->ny * run->nx;
    const float *in = run->dtype == TS_F32 ? slice->data : NULL;
    const uint64_t *valid = slice->valid;
    float low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(run->threads) reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < n; i++) {
        const bool counts = !valid || ts_valid_at(valid, (size_t)i);
        low = counts && out[i] < low ? out[i] : low;
        high = counts && out[i] > high ? out[i] : high;
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t i = 0; i < n; i++) {
        double stretched = out[i] < 1 ? out[i] : 1;
        if (high > low)
            stretched = ((double)out[i] - low) / ((double)high - low);
        out[i] = in && isnan(in[i]) ? NAN : (float)stretched;
    }
}

/* Maps slice z to floats in [0, 1]. */
static void clahe_skimage_slice(const struct clahe_run *run, const struct ts_image *in, int64_t z,
                                float *out, char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    const struct ts_image slice = ts_image_slices(in, z, 1);
    const struct gray_scale scale = find_gray_scale(run, &slice, scratch);
    const uint16_t bin_size = (uint16_t)(1 + CLAHE_GRAY_LEVELS / run->values);
    uint16_t *tables = (uint16_t *)(scratch + run->tables),
             *bins = (uint16_t *)(scratch + run->binned);
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++) {
        double *row = clahe_thread_part(run, scratch);
        load_row(run, &slice, y, scale.least, row);
        find_bins(&scale, bin_size, row, bins + y * run->nx, run->nx);
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        int64_t *counts = clahe_thread_part(run, scratch);
        memset(counts, 0, (size_t)run->values * sizeof *counts);
        const int64_t pixels = clahe_count_tile(run, bins, slice.valid, tile, counts, scratch);
        if (pixels > 0)
            make_skimage_table(run, counts, pixels, tables + tile * run->values);
    }
    if (slice.valid)
        clahe_fill_tables(run, run->values, scratch);
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++)
        map_skimage_row(run, &near_y[y], near_x, tables, bins + y * run->nx, out + y * run->nx);
    stretch(run, &slice, out);
}

static enum ts_status clahe_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    const struct clahe_run run = ts_clahe_describe(context);
    const bool opencv = run.params->method == CLAHE_OPENCV;
    char *base = scratch;
    ts_clahe_find_neighbors(opencv, run.ny, run.tile_height, run.tiles_y,
                            (struct neighbor *)(base + run.near_y));
    ts_clahe_find_neighbors(opencv, run.nx, run.tile_width, run.tiles_x,
                            (struct neighbor *)(base + run.near_x));
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        if (opencv)
            clahe_opencv_slice(&run, in, z, ts_slice_data(out, z), base);
        else
            clahe_skimage_slice(&run, in, z, ts_slice_data(out, z), base);
        if (in->valid)
            ts_valid_zero(ts_slice_valid(in, z), 0, ts_slice_count(in), ts_dtype_bytes(out->dtype),
                          ts_slice_data(out, z));
    }
    return TS_OK;
}

static const char clahe_doc[] =
    "A slice is cut into tiles; each tile's histogram is cut at `clip_limit`, what was cut off is "
    "spread over all bins, and the running sum is the tile's table; a pixel is mapped by the "
    "tables of the four nearest tile centers, weighted bilinearly.\n"
    "\n"
    "`method: opencv` gives the bytes of `cv2.createCLAHE(clip_limit, (tiles_x, "
    "tiles_y)).apply(slice)` for u8 and u16. If the tiles do not divide the slice, it is mirrored "
    "(`d c b | a b c d | c b a`) at the right and at the bottom. A bin of a tile of n pixels is "
    "cut at `clip_limit * n / 256` (u8) or `/ 65536` (u16), at least 1: for 12-bit values in u16 "
    "that is 16 times lower than one might mean, so rescale to the full range first, or raise the "
    "limit. i16 images, such as CT in HU, are not what that tool takes: rescale them to u16.\n"
    "\n"
    "`method: skimage` gives `skimage.exposure.equalize_adapthist(slice, (kernel_y, kernel_x), "
    "clip_limit, bins)` for u8 and u16; of slices of any other dtype their values scaled to [0, 1] "
    "by their own smallest and largest finite value. The result is f32, stretched to [0, 1] slice "
    "by slice; a slice of one value becomes 1, as there. NaN stays NaN and counts as the smallest "
    "value.\n"
    "\n"
    "**Masked images.** If pixels are invalid, such as a CT's padding, tables are made only of the "
    "valid pixels: if a tile has n of them, counts are cut at that share of n, and the running sum "
    "is divided by n. A tile without a valid pixel has the table of the nearest tile that has one. "
    "The spans of `skimage` are those of valid pixels. An invalid pixel becomes 0.\n"
    "\n"
    "**Cost.** Each pixel is read twice and looked up four times, whatever the tiles.\n"
    "\n"
    "**Source.** K. Zuiderveld, Contrast limited adaptive histogram equalization, Graphics Gems "
    "IV, 1994; OpenCV 4.6; scikit-image 0.19.";

const struct stage clahe_stage = {
    .name = "clahe",
    .summary = "contrast-limited adaptive histogram equalization, slice by slice",
    .doc = clahe_doc,
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(clahe_params, struct clahe_params),
    .resolve = clahe_resolve,
    .shape = clahe_shape,
    .scratch_bytes = clahe_scratch_bytes,
    .map = clahe_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(clahe_cuda),
    .counts_values = true,
    .tolerance = {.why = "counts and tables are integers, and the few float operations have the "
                         "tools' own order"},
};
