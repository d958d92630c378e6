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

/* The counts that are cut off go to all bins evenly, the rest of the division to single bins at even distances. Only
 * the first n_values of the table are made: no pixel has a higher one, and a bin does not depend on the bins after it.
 */
static void make_table(const struct clahe_run *run, int64_t *counts, int64_t n_values, uint16_t *table)
{
    int64_t cut = 0;
    for (int64_t v = 0; v < n_values; v++)
        if (counts[v] > run->clip_count) {
            cut += counts[v] - run->clip_count;
            counts[v] = run->clip_count;
        }
    const int64_t each = cut / run->values, rest = cut % run->values;
    const int64_t step = rest > 0 ? run->values / rest : 1;
    const float scale = (float)(run->values - 1) / (float)(run->tile_height * run->tile_width);
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

void ts_clahe_opencv_slice(const struct clahe_run *run, const void *in, void *out, char *scratch)
{
    const struct neighbor *near_y = (const struct neighbor *)(scratch + run->near_y);
    const struct neighbor *near_x = (const struct neighbor *)(scratch + run->near_x);
    uint16_t *tables = (uint16_t *)(scratch + run->tables), *wide = (uint16_t *)(scratch + run->binned);
    const int64_t n = run->ny * run->nx;
    const bool narrow = run->dtype == TS_U8;
    int64_t highest = 0;
    for (int64_t i = 0; narrow && i < n; i++)
        wide[i] = ((const uint8_t *)in)[i];
    const uint16_t *slice = narrow ? wide : in;
#pragma omp parallel for num_threads(run->threads) reduction(max : highest)
    for (int64_t i = 0; i < n; i++)
        highest = slice[i] > highest ? slice[i] : highest;
#pragma omp parallel for num_threads(run->threads)
    for (int64_t tile = 0; tile < run->tiles_y * run->tiles_x; tile++) {
        int64_t *counts = ts_clahe_thread_part(run, scratch);
        memset(counts, 0, (size_t)(highest + 1) * sizeof *counts);
        ts_clahe_count_tile(run, slice, tile, counts);
        make_table(run, counts, highest + 1, tables + tile * (highest + 1));
    }
#pragma omp parallel for num_threads(run->threads)
    for (int64_t y = 0; y < run->ny; y++) {
        uint16_t *row = narrow ? ts_clahe_thread_part(run, scratch) : (uint16_t *)out + y * run->nx;
        map_row(run, &near_y[y], near_x, tables, highest + 1, slice + y * run->nx, row);
        for (int64_t x = 0; narrow && x < run->nx; x++)
            ((uint8_t *)out)[y * run->nx + x] = (uint8_t)row[x];
    }
}
