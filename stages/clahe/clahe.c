/* SPDX-License-Identifier: Apache-2.0
 *
 * Two rules share the idea and nothing else; each gives the values of the tool it is named after, down to its order of
 * float operations. OpenCV's has as many tiles as asked for, one bin for each value, and mirrors the image at its far
 * ends so that it divides evenly. scikit-image's has tiles of a given size, 14-bit levels in `bins` bins, and stretches
 * the result to [0, 1]. Slices are done one after the other, their tiles and rows in parallel, so that only one slice's
 * tables are held.
 */
#include "stages/clahe/clahe.h"

#include <omp.h>
#include <string.h>

#include "stages/clahe/clahe_rules.h"
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
    PARAM(struct clahe_params, method, .unit = "", .choices = method_choices, .init.choice = CLAHE_SKIMAGE,
          .doc = "whose rule, and with it the meaning of clip_limit and the type of the result"),
    PARAM(struct clahe_params, clip_limit, .unit = "", .min = 0, .max = INFINITY,
          .derived = "0.01 with method: skimage, 40 with method: opencv",
          .doc = "where peaks of a tile's histogram are cut: with skimage as a share of its pixels, with opencv as a "
                 "multiple of the mean count of a bin; above 0; infinite: nowhere"),
    PARAM(struct clahe_params, tiles_y, .unit = "", .min = 1, .max = MAX_TILES,
          .derived = "8 with method: opencv; not used with skimage", .doc = "tiles along y (opencv)"),
    PARAM(struct clahe_params, tiles_x, .unit = "", .min = 1, .max = MAX_TILES,
          .derived = "8 with method: opencv; not used with skimage", .doc = "tiles along x (opencv)"),
    PARAM(struct clahe_params, kernel_y, .unit = "pixel", .min = 1, .max = MAX_KERNEL,
          .derived = "1/8 of the rows, rounded down, at least 1, with method: skimage; not used with opencv",
          .doc = "height of a tile (skimage)"),
    PARAM(struct clahe_params, kernel_x, .unit = "pixel", .min = 1, .max = MAX_KERNEL,
          .derived = "1/8 of the columns, rounded down, at least 1, with method: skimage; not used with opencv",
          .doc = "width of a tile (skimage)"),
    PARAM(struct clahe_params, bins, .unit = "", .min = 1, .max = CLAHE_GRAY_LEVELS,
          .derived = "256 with method: skimage; not used with opencv", .doc = "bins of a tile's histogram (skimage)"),
};

/* ---- plan --------------------------------------------------------------------------------------- */

static enum ts_status refuse_unused(const struct stage_context *context, const char *const *names, const char *method)
{
    for (; *names; names++)
        if (ts_param_given(context->set, *names))
            return ts_param_error(context->set, *names, "parameter-unused", context->diag, "has no part in method: %s",
                                  method);
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
    const enum ts_status status =
        refuse_unused(context, opencv ? of_skimage : of_opencv, ts_choice_name(method_choices, params->method));
    if (status != TS_OK)
        return status;
    if (opencv && context->in.dtype != TS_U8 && context->in.dtype != TS_U16) {
        ts_param_error(set, "method", "stage-dtype", context->diag, "opencv takes u8 and u16, and the image is %s",
                       ts_dtype_name(context->in.dtype));
        return ts_diag_hint(context->diag,
                            "put `rescale` to u16 before it, or use method: skimage, which takes any dtype");
    }
    if (!ts_param_given(set, "clip_limit"))
        params->clip_limit = opencv ? opencv_clip_limit : skimage_clip_limit;
    if (!(params->clip_limit > 0)) {
        ts_param_error(set, "clip_limit", "value-range", context->diag, "must be above 0");
        return ts_diag_hint(context->diag, "for no limit (0 in OpenCV and scikit-image) write clip_limit: .inf");
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

/* ---- run ---------------------------------------------------------------------------------------- */

/* OpenCV extends both axes as soon as one of them does not divide; one that does gets another `tiles` samples. */
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
    run.clip_count = ts_clahe_clip_count(opencv, params->clip_limit, run.tile_height * run.tile_width, run.values);
    /* Each thread has the counts of a tile, or a row in double. */
    size_t used = 0;
    ts_scratch_part(&used, run.values > run.nx ? run.values : run.nx, sizeof(int64_t));
    run.thread_bytes = used;
    used = 0;
    run.near_y = ts_scratch_part(&used, run.ny, sizeof(struct neighbor));
    run.near_x = ts_scratch_part(&used, run.nx, sizeof(struct neighbor));
    run.tables = ts_scratch_part(&used, run.tiles_y * run.tiles_x * run.values, sizeof(uint16_t));
    const bool bytes = opencv && run.dtype == TS_U8;
    run.joined =
        ts_scratch_part(&used, bytes ? (run.tiles_y + 1) * (run.tiles_x + 1) * run.values : 0, sizeof(uint32_t));
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

static int64_t clamp(int64_t value, int64_t n)
{
    return value < 0 ? 0 : value < n ? value : n - 1;
}

/* Tables are of the tiles' centers, half a tile from their first sample. */
void ts_clahe_find_neighbors(bool opencv, int64_t n, int64_t tile, int64_t tiles, struct neighbor *near)
{
    const float inverse = 1.0f / (float)tile;
    for (int64_t i = 0; i < n; i++) {
        const float at = (float)i * inverse - 0.5f;
        const int64_t first = opencv ? (int64_t)floorf(at) : (i + tile / 2) / tile - 1;
        near[i] = (struct neighbor){
            .first = (int32_t)clamp(first, tiles),
            .second = (int32_t)clamp(first + 1, tiles),
            .second_weight = at - (float)first,
            .offset = (double)((i + tile / 2) % tile) / (double)tile,
        };
        near[i].first_weight = 1.0f - near[i].second_weight;
    }
}

/* Takes the invalid pixels of a row of a tile out of the counts. Returns how many they are. */
static int64_t discount(const struct clahe_run *run, const uint16_t *slice, const uint64_t *valid, int64_t y,
                        int64_t x_first, int64_t *counts)
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

int64_t ts_clahe_count_tile(const struct clahe_run *run, const uint16_t *slice, const uint64_t *valid, int64_t tile,
                            int64_t *counts, char *scratch)
{
    const int64_t y_first = tile / run->tiles_x * run->tile_height, x_first = tile % run->tiles_x * run->tile_width;
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

void ts_clahe_fill_tables(const struct clahe_run *run, int64_t n_values, char *scratch)
{
    const uint32_t *taken = (const uint32_t *)(const void *)(scratch + run->taken);
    uint16_t *tables = (uint16_t *)(void *)(scratch + run->tables);
    const size_t bytes = (size_t)n_values * sizeof *tables;
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        if (taken[tile] > 0)
            continue;
        const int64_t from =
            ts_clahe_nearest_taken(taken, run->tiles_y, run->tiles_x, run->tile_height, run->tile_width, tile);
        if (from < 0)
            memset(tables + tile * n_values, 0, bytes);
        else
            memcpy(tables + tile * n_values, tables + from * n_values, bytes);
    }
}

void *ts_clahe_thread_part(const struct clahe_run *run, char *scratch)
{
    return scratch + run->threads_part + (size_t)omp_get_thread_num() * run->thread_bytes;
}

static enum ts_status clahe_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                void *scratch)
{
    const struct clahe_run run = ts_clahe_describe(context);
    const bool opencv = run.params->method == CLAHE_OPENCV;
    char *base = scratch;
    ts_clahe_find_neighbors(opencv, run.ny, run.tile_height, run.tiles_y, (struct neighbor *)(base + run.near_y));
    ts_clahe_find_neighbors(opencv, run.nx, run.tile_width, run.tiles_x, (struct neighbor *)(base + run.near_x));
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        if (opencv)
            ts_clahe_opencv_slice(&run, in, z, ts_slice_data(out, z), base);
        else
            ts_clahe_skimage_slice(&run, in, z, ts_slice_data(out, z), base);
        if (in->valid)
            ts_valid_zero(ts_slice_valid(in, z), 0, ts_slice_count(in), ts_dtype_bytes(out->dtype),
                          ts_slice_data(out, z));
    }
    return TS_OK;
}

static const char clahe_doc[] =
    "A slice is cut into tiles; each tile's histogram is cut at `clip_limit`, what was cut off is spread over all "
    "bins, and the running sum is the tile's table; a pixel is mapped by the tables of the four nearest tile centers, "
    "weighted bilinearly.\n"
    "\n"
    "`method: opencv` gives the bytes of `cv2.createCLAHE(clip_limit, (tiles_x, tiles_y)).apply(slice)` for u8 and "
    "u16. Where the tiles do not divide the slice it is mirrored (`d c b | a b c d | c b a`) at the right and at the "
    "bottom. A bin of a tile of n pixels is cut at `clip_limit * n / 256` (u8) or `/ 65536` (u16), at least 1: for "
    "12-bit values in u16 that is 16 times lower than one might mean, so rescale to the full range first, or raise the "
    "limit. i16 images, such as CT in HU, are not what that tool takes: rescale them to u16.\n"
    "\n"
    "`method: skimage` gives `skimage.exposure.equalize_adapthist(slice, (kernel_y, kernel_x), clip_limit, bins)` for "
    "u8 and u16; of slices of any other dtype their values scaled to [0, 1] by their own smallest and largest finite "
    "value. The result is f32, stretched to [0, 1] slice by slice; a slice of one value becomes 1, as there. NaN stays "
    "NaN and counts as the smallest value.\n"
    "\n"
    "**Masked images.** Where pixels are invalid, such as a CT's padding, tables are made of the valid pixels alone: "
    "where a tile has n of them, counts are cut at that share of n, and the running sum is divided by n. A tile "
    "without a valid pixel has the table of the nearest tile that has one. The spans of `skimage` are those of valid "
    "pixels. An invalid pixel becomes 0.\n"
    "\n"
    "**Cost.** Each pixel is read twice and looked up four times, whatever the tiles.\n"
    "\n"
    "**Source.** K. Zuiderveld, Contrast limited adaptive histogram equalization, Graphics Gems IV, 1994; OpenCV 4.6; "
    "scikit-image 0.19.";

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
    .tolerance = {.why = "counts and tables are integers, and the few float operations have the tools' own order"},
};
