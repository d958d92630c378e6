/* SPDX-License-Identifier: Apache-2.0
 *
 * CLAHE as skimage.exposure.equalize_adapthist makes it: values become 14-bit gray levels over the slice's span, these
 * `bins` bins; a tile's table is the running sum of its cut counts, scaled to 14 bits and without its fraction;
 * the mixed result is stretched to [0, 1].
 */
#include <math.h>
#include <string.h>

#include "stages/clahe/clahe_rules.h"
#include "stages/engine/validity.h"

/* A slice's values become 16-bit levels (u8 times 257, u16 as they are, others by their finite span), and these, by
 * their own span, one of CLAHE_GRAY_LEVELS. */
struct gray_scale {
    double low, span;             /* of the values, where they are scaled by it */
    double factor;                /* of the 16-bit levels */
    double level_low, level_span; /* of these; span 0: all values are one */
    double least;                 /* the lowest valid value */
};

/* Loads a row, with `instead` in place of invalid pixels. */
static void load_row(const struct clahe_run *run, const struct ts_image *slice, int64_t y, double instead, double *row)
{
    const size_t first = (size_t)(y * run->nx);
    ts_load_f64(row, (const char *)slice->data + first * ts_dtype_bytes(run->dtype), run->dtype, (size_t)run->nx);
    ts_valid_fill_doubles(slice->valid, first, (size_t)run->nx, instead, row);
}

static struct gray_scale find_gray_scale(const struct clahe_run *run, const struct ts_image *slice, char *scratch)
{
    double low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(run->threads) reduction(min : low) reduction(max : high)
    for (int64_t y = 0; y < run->ny; y++) {
        double *row = ts_clahe_thread_part(run, scratch);
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
    return (struct gray_scale){low, high > low ? high - low : 1, 65535, 0, high > low ? 65535 : 0, low};
}

/* Rounds twice, as the tool does. NaN becomes the lowest level. */
TS_VECTORIZED static void find_bins(const struct gray_scale *scale, uint16_t bin_size, const double *restrict row,
                                    uint16_t *restrict bins, int64_t n)
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

/* Cuts bins down to `limit` and hands the excess out: evenly first, then one by one at a stride that falls with what
 * is left, starting each pass one bin further. */
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

static void make_table(const struct clahe_run *run, int64_t *counts, int64_t pixels, uint16_t *table)
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
static void map_row(const struct clahe_run *run, const struct neighbor *y, const struct neighbor *near,
                    const uint16_t *tables, const uint16_t *bins, float *out)
{
    const uint16_t *above = tables + y->first * run->tiles_x * run->values;
    const uint16_t *below = tables + y->second * run->tiles_x * run->values;
    for (int64_t x = 0; x < run->nx; x++) {
        const int64_t left = near[x].first * run->values + bins[x], right = near[x].second * run->values + bins[x];
        const double b = near[x].offset, a = 1 - b, d = y->offset, c = 1 - d;
        float sum = (float)(above[left] * (a * c));
        sum += (float)(above[right] * (b * c));
        sum += (float)(below[left] * (a * d));
        sum += (float)(below[right] * (b * d));
        out[x] = (float)(int32_t)sum;
    }
}

/* The result's span becomes [0, 1]; a result of one value is cut to it. NaN of the input stays. */
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
        const double stretched = high > low ? ((double)out[i] - low) / ((double)high - low) : out[i] < 1 ? out[i] : 1;
        out[i] = in && isnan(in[i]) ? NAN : (float)stretched;
    }
}

void ts_clahe_skimage_slice(const struct clahe_run *run, const struct ts_image *in, int64_t z, float *out,
                            char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    const struct ts_image slice = ts_image_slices(in, z, 1);
    const struct gray_scale scale = find_gray_scale(run, &slice, scratch);
    const uint16_t bin_size = (uint16_t)(1 + CLAHE_GRAY_LEVELS / run->values);
    uint16_t *tables = (uint16_t *)(scratch + run->tables), *bins = (uint16_t *)(scratch + run->binned);
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++) {
        double *row = ts_clahe_thread_part(run, scratch);
        load_row(run, &slice, y, scale.least, row);
        find_bins(&scale, bin_size, row, bins + y * run->nx, run->nx);
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        int64_t *counts = ts_clahe_thread_part(run, scratch);
        memset(counts, 0, (size_t)run->values * sizeof *counts);
        const int64_t pixels = ts_clahe_count_tile(run, bins, slice.valid, tile, counts, scratch);
        if (pixels > 0)
            make_table(run, counts, pixels, tables + tile * run->values);
    }
    if (slice.valid)
        ts_clahe_fill_tables(run, run->values, scratch);
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++)
        map_row(run, &near_y[y], near_x, tables, bins + y * run->nx, out + y * run->nx);
    stretch(run, &slice, out);
}
