/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/clahe/clahe_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "stages/clahe/clahe.h"
#include "tests/stages/values/border_oracle.h"

/* One slice, in bins already, and the tables of its tiles. */
struct slice {
    int64_t ny, nx, height, width, tiles_y, tiles_x, values;
    const int64_t *bins;
    const bool *valid; /* of its pixels */
    double *tables;
    int64_t *pixels; /* the valid ones of each tile */
};

static int64_t *tile_histogram(const struct slice *slice, int64_t ty, int64_t tx)
{
    int64_t *counts = calloc((size_t)slice->values, sizeof *counts),
            *pixels = &slice->pixels[ty * slice->tiles_x + tx];
    *pixels = 0;
    for (int64_t y = ty * slice->height; y < (ty + 1) * slice->height; y++)
        for (int64_t x = tx * slice->width; x < (tx + 1) * slice->width; x++) {
            const int64_t j = ts_border_oracle(y, slice->ny, BORDER_MIRROR);
            const int64_t i = ts_border_oracle(x, slice->nx, BORDER_MIRROR);
            if (!slice->valid[j * slice->nx + i])
                continue;
            counts[slice->bins[j * slice->nx + i]]++;
            ++*pixels;
        }
    return counts;
}

/* Returns the table of a tile, or of the nearest tile with valid pixels where it has none. */
static const double *table_of(const struct slice *slice, int64_t ty, int64_t tx)
{
    double least = INFINITY;
    const double *found = NULL;
    if (slice->pixels[ty * slice->tiles_x + tx] > 0)
        return slice->tables + (ty * slice->tiles_x + tx) * slice->values;
    for (int64_t y = 0; y < slice->tiles_y; y++)
        for (int64_t x = 0; x < slice->tiles_x; x++) {
            const int64_t tile = y * slice->tiles_x + x;
            const double distance =
                hypot((double)((y - ty) * slice->height), (double)((x - tx) * slice->width));
            if (slice->pixels[tile] > 0 && distance < least) {
                least = distance;
                found = slice->tables + tile * slice->values;
            }
        }
    return found;
}

/* ---- OpenCV ---------------------------------------------------------------------------------- */

static void opencv_tables(struct slice *slice, double clip_limit)
{
    const int64_t values = slice->values;
    for (int64_t tile = 0; tile < slice->tiles_y * slice->tiles_x; tile++) {
        int64_t *counts = tile_histogram(slice, tile / slice->tiles_x, tile % slice->tiles_x);
        const int64_t pixels = slice->pixels[tile];
        if (isfinite(clip_limit)) {
            const int64_t limit =
                (int64_t)fmax(1, floor(clip_limit * (double)pixels / (double)values));
            int64_t cut = 0;
            for (int64_t v = 0; v < values; v++)
                while (counts[v] > limit) {
                    counts[v]--;
                    cut++;
                }
            int64_t rest = cut % values;
            for (int64_t v = 0; v < values; v++)
                counts[v] += cut / values;
            const int64_t step = rest ? (int64_t)fmax(1, (double)(values / rest)) : 1;
            for (int64_t v = 0; v < values && rest > 0; v += step, rest--)
                counts[v]++;
        }
        int64_t sum = 0;
        const float scale = (float)(values - 1) / (float)pixels;
        for (int64_t v = 0; v < values; v++) {
            sum += counts[v];
            slice->tables[tile * values + v] =
                fmin(rint((double)((float)sum * scale)), (double)(values - 1));
        }
        free(counts);
    }
}

static float opencv_look_up(const struct slice *slice, int64_t ty, int64_t tx, int64_t bin)
{
    ty = ty < 0 ? 0 : ty >= slice->tiles_y ? slice->tiles_y - 1 : ty;
    tx = tx < 0 ? 0 : tx >= slice->tiles_x ? slice->tiles_x - 1 : tx;
    return (float)table_of(slice, ty, tx)[bin];
}

static void opencv_slice(struct slice *slice, double clip_limit, double *out)
{
    opencv_tables(slice, clip_limit);
    for (int64_t y = 0; y < slice->ny; y++)
        for (int64_t x = 0; x < slice->nx; x++) {
            if (!slice->valid[y * slice->nx + x]) {
                *out++ = 0;
                continue;
            }
            const float at_y = (float)y * (1.0f / (float)slice->height) - 0.5f;
            const float at_x = (float)x * (1.0f / (float)slice->width) - 0.5f;
            const int64_t ty = (int64_t)floor((double)at_y), tx = (int64_t)floor((double)at_x);
            const float down = at_y - (float)ty, right = at_x - (float)tx, up = 1.0f - down,
                        left = 1.0f - right;
            const int64_t bin = slice->bins[y * slice->nx + x];
            const float upper = opencv_look_up(slice, ty, tx, bin) * left +
                                opencv_look_up(slice, ty, tx + 1, bin) * right;
            const float lower = opencv_look_up(slice, ty + 1, tx, bin) * left +
                                opencv_look_up(slice, ty + 1, tx + 1, bin) * right;
            *out++ = rint((double)(upper * up + lower * down));
        }
}

/* ---- scikit-image ---------------------------------------------------------------------------- */

/* clip_histogram() of skimage/exposure/_adapthist.py, statement by statement. */
static void skimage_clip(int64_t *counts, int64_t n, int64_t limit)
{
    int64_t excess = 0;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] > limit) {
            excess += counts[i] - limit;
            counts[i] = limit;
        }
    const int64_t increment = excess / n, upper = limit - increment;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] < upper) {
            excess -= increment;
            counts[i] += increment;
        }
    for (int64_t i = 0; i < n; i++)
        if (counts[i] >= upper && counts[i] < limit) {
            excess += counts[i] - limit;
            counts[i] = limit;
        }
    while (excess > 0) {
        const int64_t before = excess;
        for (int64_t index = 0; index < n; index++) {
            int64_t under = 0;
            for (int64_t i = 0; i < n; i++)
                under += counts[i] < limit ? 1 : 0;
            int64_t step = under / excess;
            step = step < 1 ? 1 : step;
            for (int64_t i = index; i < n; i += step)
                if (counts[i] < limit) {
                    counts[i] += 1;
                    excess -= 1;
                }
            if (excess <= 0)
                break;
        }
        if (before == excess)
            break;
    }
}

/* The bins of a slice's values: 16-bit levels, then 14-bit levels over the slice's span, then
 * bins. */
static void skimage_bins(const struct stage_context *context, const double *in, const bool *valid,
                         int64_t n, int64_t *bins)
{
    const struct clahe_params *params = context->params;
    const enum ts_dtype dtype = context->in.dtype;
    double low = INFINITY, high = -INFINITY, lowest = INFINITY, highest = -INFINITY;
    double *levels = malloc((size_t)n * sizeof *levels);
    for (int64_t i = 0; i < n; i++) {
        low = valid[i] ? fmin(low, in[i]) : low;
        high = valid[i] ? fmax(high, in[i]) : high;
    }
    for (int64_t i = 0; i < n; i++) {
        levels[i] = dtype == TS_U8    ? in[i] * 257
                    : dtype == TS_U16 ? in[i]
                    : low < high      ? rint((in[i] - low) / (high - low) * 65535)
                                      : 0;
        lowest = valid[i] ? fmin(lowest, levels[i]) : lowest;
        highest = valid[i] ? fmax(highest, levels[i]) : highest;
    }
    for (int64_t i = 0; i < n; i++) {
        const double gray = lowest < highest
                                ? rint((levels[i] - lowest) / (highest - lowest) * 16383)
                                : fmin(levels[i], 16383);
        bins[i] = (int64_t)gray / (1 + 16384 / params->bins);
    }
    free(levels);
}

static void skimage_slice(struct slice *slice, double clip_limit, double *out)
{
    const int64_t values = slice->values;
    for (int64_t tile = 0; tile < slice->tiles_y * slice->tiles_x; tile++) {
        int64_t *counts = tile_histogram(slice, tile / slice->tiles_x, tile % slice->tiles_x),
                sum = 0;
        const int64_t pixels = slice->pixels[tile];
        if (isfinite(clip_limit))
            skimage_clip(counts, values, (int64_t)fmax(1, floor(clip_limit * (double)pixels)));
        for (int64_t v = 0; v < values; v++) {
            sum += counts[v];
            slice->tables[tile * values + v] =
                fmin(floor((double)sum * (16383.0 / (double)pixels)), 16383);
        }
        free(counts);
    }
    double lowest = INFINITY, highest = -INFINITY;
    for (int64_t y = 0; y < slice->ny; y++)
        for (int64_t x = 0; x < slice->nx; x++) {
            if (!slice->valid[y * slice->nx + x])
                continue;
            /* Tiles and pixels counted half a tile further up and left. */
            const int64_t padded_y = y + slice->height / 2, padded_x = x + slice->width / 2;
            float sum = 0;
            for (int ey = 0; ey < 2; ey++)
                for (int ex = 0; ex < 2; ex++) {
                    int64_t ty = padded_y / slice->height - 1 + ey,
                            tx = padded_x / slice->width - 1 + ex;
                    ty = ty < 0 ? 0 : ty >= slice->tiles_y ? slice->tiles_y - 1 : ty;
                    tx = tx < 0 ? 0 : tx >= slice->tiles_x ? slice->tiles_x - 1 : tx;
                    double wy = (double)(padded_y % slice->height) / (double)slice->height;
                    double wx = (double)(padded_x % slice->width) / (double)slice->width;
                    wy = ey ? wy : 1 - wy;
                    wx = ex ? wx : 1 - wx;
                    const double *table = table_of(slice, ty, tx);
                    sum += (float)(table[slice->bins[y * slice->nx + x]] * (wx * wy));
                }
            const double value = floor((double)sum);
            out[y * slice->nx + x] = value;
            lowest = fmin(lowest, value);
            highest = fmax(highest, value);
        }
    for (int64_t i = 0; i < slice->ny * slice->nx; i++)
        out[i] = !slice->valid[i]   ? 0
                 : lowest < highest ? (double)(float)((out[i] - lowest) / (highest - lowest))
                                    : fmin(out[i], 1);
}

void ts_clahe_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t n = ts_slice_count(&context->in) * (size_t)context->in.axes[0].n;
    bool *valid = malloc(n);
    memset(valid, 1, n);
    ts_clahe_masked_oracle(context, in, valid, out);
    free(valid);
}

void ts_clahe_masked_oracle(const struct stage_context *context, const double *in,
                            const bool *valid, double *out)
{
    const struct clahe_params *params = context->params;
    struct slice slice = {.ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    const int64_t n = slice.ny * slice.nx;
    int64_t *bins = malloc((size_t)n * sizeof *bins);
    if (params->method == CLAHE_OPENCV) {
        const bool even = slice.ny % params->tiles_y == 0 && slice.nx % params->tiles_x == 0;
        const int64_t padded_y =
            slice.ny + (even ? 0 : params->tiles_y - slice.ny % params->tiles_y);
        const int64_t padded_x =
            slice.nx + (even ? 0 : params->tiles_x - slice.nx % params->tiles_x);
        slice.tiles_y = params->tiles_y;
        slice.tiles_x = params->tiles_x;
        slice.height = padded_y / slice.tiles_y;
        slice.width = padded_x / slice.tiles_x;
        slice.values = context->in.dtype == TS_U8 ? 256 : 65536;
    } else {
        slice.height = params->kernel_y;
        slice.width = params->kernel_x;
        slice.tiles_y = (slice.ny + slice.height - 1) / slice.height;
        slice.tiles_x = (slice.nx + slice.width - 1) / slice.width;
        slice.values = params->bins;
    }
    slice.bins = bins;
    slice.tables =
        malloc((size_t)(slice.tiles_y * slice.tiles_x * slice.values) * sizeof *slice.tables);
    slice.pixels = malloc((size_t)(slice.tiles_y * slice.tiles_x) * sizeof *slice.pixels);
    for (int64_t z = 0; z < context->in.axes[0].n; z++, in += n, out += n, valid += n) {
        slice.valid = valid;
        if (params->method == CLAHE_OPENCV) {
            for (int64_t i = 0; i < n; i++)
                bins[i] = (int64_t)in[i];
            opencv_slice(&slice, params->clip_limit, out);
        } else {
            skimage_bins(context, in, valid, n, bins);
            skimage_slice(&slice, params->clip_limit, out);
        }
    }
    free(slice.pixels);
    free(bins);
    free(slice.tables);
}
