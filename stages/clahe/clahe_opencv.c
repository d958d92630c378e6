/* SPDX-License-Identifier: Apache-2.0
 *
 * CLAHE as cv2.createCLAHE makes it: one bin per value, counts cut at a limit, and
 *
 *     table[v] = round((cut counts up to v) * (values - 1) / pixels of a tile)
 *
 * mixed bilinearly in float, in OpenCV's order of operations.
 */
#include <math.h>
#include <string.h>

#include "stages/clahe/clahe_rules.h"
#include "stages/engine/validity.h"

enum { BYTES = 256 }; /* values of a u8 */

/* For every column of bytes: where its region's joined tables begin, and its weights. */
struct clahe_columns {
    const int32_t *regions;
    const float *left, *right;
};

/* The counts that are cut off go to all bins evenly, the rest of the division to single bins at even distances. Only
 * the first n_values of the table are made: no pixel has a higher one, and a bin does not depend on the bins after it.
 */
static void make_table(const struct clahe_run *run, int64_t *counts, int64_t pixels, int64_t n_values, uint16_t *table)
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

static void map_row(const struct clahe_run *run, const struct neighbor *y, const struct neighbor *near,
                    const uint16_t *tables, int64_t n_values, const uint16_t *in, uint16_t *out)
{
    const uint16_t *above = tables + y->first * run->tiles_x * n_values;
    const uint16_t *below = tables + y->second * run->tiles_x * n_values;
    for (int64_t x = 0; x < run->nx; x++) {
        const int64_t left = near[x].first * n_values + in[x], right = near[x].second * n_values + in[x];
        const float a = near[x].first_weight, b = near[x].second_weight;
        const float mapped = ((float)above[left] * a + (float)above[right] * b) * y->first_weight +
                             ((float)below[left] * a + (float)below[right] * b) * y->second_weight;
        const int64_t rounded = lrintf(mapped);
        out[x] = (uint16_t)(rounded < run->values ? rounded : run->values - 1);
    }
}

/* ---- bytes -------------------------------------------------------------------------------------- */

/* A region is where the same four tables map a pixel: there are tiles_y + 1 times tiles_x + 1 of them. Tables of bytes
 * are small, so that each region's four are laid side by side, and a pixel is one look-up of four bytes. */
static int64_t region_of(const struct neighbor *near, int64_t tiles)
{
    return near->second + (near->first == tiles - 1);
}

static void join_tables(const struct clahe_run *run, int64_t region, const uint16_t *tables, uint32_t *joined)
{
    const int64_t y = region / (run->tiles_x + 1), x = region % (run->tiles_x + 1);
    const int64_t above = (y > 0 ? y - 1 : 0) * run->tiles_x, below = (y < run->tiles_y ? y : y - 1) * run->tiles_x;
    const int64_t left = x > 0 ? x - 1 : 0, right = x < run->tiles_x ? x : x - 1;
    const uint16_t *a = tables + (above + left) * BYTES, *b = tables + (above + right) * BYTES,
                   *c = tables + (below + left) * BYTES, *d = tables + (below + right) * BYTES;
    for (int64_t v = 0; v < BYTES; v++)
        joined[region * BYTES + v] = (uint32_t)(a[v] | b[v] << 8 | c[v] << 16) | (uint32_t)d[v] << 24;
}

/* Looks n pixels up in the regions of a row. Compiled for the first level alone: gathers are slower. */
static void look_up(const uint32_t *joined, const int32_t *regions, const uint8_t *in, uint32_t *found, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        found[x] = joined[regions[x] + in[x]];
}

/* Mixes what was found. The operations and their order are those of map_row(). */
TS_VECTORIZED static void mix(const uint32_t *restrict found, const float *restrict left, const float *restrict right,
                              float above, float below, uint8_t *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++) {
        const uint32_t four = found[x];
        const float mapped =
            ((float)(int32_t)(four & 255) * left[x] + (float)(int32_t)(four >> 8 & 255) * right[x]) * above +
            ((float)(int32_t)(four >> 16 & 255) * left[x] + (float)(int32_t)(four >> 24) * right[x]) * below;
        const int32_t rounded =
            (int32_t)((mapped + 0x1.8p23f) - 0x1.8p23f); /* to the nearest, in vectors of any level */
        out[x] = (uint8_t)(rounded < BYTES ? rounded : BYTES - 1);
    }
}

static void map_byte_row(const struct clahe_run *run, const struct neighbor *y, const uint32_t *joined,
                         const struct clahe_columns *columns, const uint8_t *in, uint8_t *out)
{
    enum { STRIP = 256 }; /* pixels whose tables' values stay in the first cache */
    uint32_t found[STRIP];
    joined += region_of(y, run->tiles_y) * (run->tiles_x + 1) * BYTES;
    for (int64_t x = 0; x < run->nx; x += STRIP) {
        const int64_t n = run->nx - x < STRIP ? run->nx - x : STRIP;
        look_up(joined, columns->regions + x, in + x, found, n);
        mix(found, columns->left + x, columns->right + x, y->first_weight, y->second_weight, out + x, n);
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
static const uint16_t *copy_slice(const struct clahe_run *run, const void *in, const uint64_t *valid, uint16_t *wide)
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

void ts_clahe_opencv_slice(const struct clahe_run *run, const struct ts_image *in, int64_t z, void *out, char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    uint16_t *tables = (uint16_t *)(scratch + run->tables), *wide = (uint16_t *)(scratch + run->binned);
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
        int64_t *counts = ts_clahe_thread_part(run, scratch);
        memset(counts, 0, (size_t)(highest + 1) * sizeof *counts);
        const int64_t pixels = ts_clahe_count_tile(run, slice, valid, tile, counts, scratch);
        if (pixels > 0)
            make_table(run, counts, pixels, highest + 1, tables + tile * (highest + 1));
    }
    if (valid)
        ts_clahe_fill_tables(run, highest + 1, scratch);
    if (narrow) {
        map_bytes(run, data, out, scratch);
        return;
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++)
        map_row(run, &near_y[y], near_x, tables, highest + 1, slice + y * run->nx, (uint16_t *)out + y * run->nx);
}
