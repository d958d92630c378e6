/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows are filtered once, as by `fbp`; then every tile is a backprojection about its own
 * center, painted as gray with its number above it. The middle tile is reconstructed first, because
 * its percentiles are the window of all.
 */
#include "stages/scan/center_strip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"
#include "stages/geometry/view_angles.h"
#include "stages/projection/backprojection.h"
#include "stages/projection/row_filter.h"
#include "stages/values/digits.h"

/* A tile has few rows: more threads than MOST_THREADS would only take more memory. */
enum {
    GAP = 4,
    MARGIN = 3,
    LABEL_SCALE = 2,
    LABEL_ROWS = DIGIT_ROWS * LABEL_SCALE + 2 * MARGIN,
    MOST_THREADS = 8
};
enum { BLACK = 0, WHITE = 255 };

static struct row_filter filter_of(const struct center_strip *strip)
{
    return (struct row_filter){
        .name = ROW_FILTER_HANN, .cutoff = 1, .spacing = 1, .n = strip->n_detectors};
}

static int threads_of(const struct center_strip *strip)
{
    return strip->threads < MOST_THREADS ? strip->threads : MOST_THREADS;
}

static int64_t rows_of(const struct center_strip *strip)
{
    return LABEL_ROWS + strip->size;
}

static int64_t columns_of(const struct center_strip *strip)
{
    return (2 * strip->sides + 1) * (strip->size + GAP) - GAP;
}

void ts_center_strip_tables(const struct center_strip *strip,
                            struct stage_table tables[STRIP_TABLES])
{
    const struct ts_axis y = {
        .kind = TS_AXIS_Y, .n = rows_of(strip), .unit = "pixel", .spacing = 1};
    const struct ts_axis x = {
        .kind = TS_AXIS_X, .n = columns_of(strip), .unit = "pixel", .spacing = 1};
    tables[TABLE_STRIP] =
        (struct stage_table){"strip",
                             "the slice about trial centers, each under its number: gray",
                             {.rank = 2, .dtype = TS_U8, .unit = "", .axes = {y, x}}};
    tables[TABLE_STRIP_CENTERS] = (struct stage_table){
        "strip_center",
        "the trial centers of the strip, from the left",
        {.rank = 1,
         .dtype = TS_F64,
         .unit = "detector",
         .axes = {{.kind = TS_AXIS_ITEM, .n = 2 * strip->sides + 1, .unit = ""}}}};
}

struct fft_shape ts_center_strip_transform(const struct center_strip *strip)
{
    const struct row_filter filter = filter_of(strip);
    return ts_row_filter_shape(&filter);
}

/* ---- scratch --------------------------------------------------------------------------------- */

struct scratch {
    float *filtered, *tile, *sorted;
    double *weights;
    struct view_place *places;
    struct back_view *views;
    void *step; /* first used for the filter, then for the backprojection */
};

static struct scratch lay_out(const struct center_strip *strip, struct memory_layout *layout)
{
    const struct row_filter filter = filter_of(strip);
    const size_t views = (size_t)strip->views->n,
                 tile = (size_t)(strip->size * strip->size) * sizeof(float),
                 filters = ts_row_filter_scratch(&filter, threads_of(strip)),
                 projects =
                     ts_backprojection_scratch(strip->n_detectors, strip->size, threads_of(strip));
    struct scratch scratch;
    scratch.filtered = ts_layout_add(layout, views * (size_t)strip->n_detectors * sizeof(float));
    scratch.tile = ts_layout_add(layout, tile);
    scratch.sorted = ts_layout_add(layout, tile);
    scratch.weights = ts_layout_add(layout, views * sizeof *scratch.weights);
    scratch.places = ts_layout_add(layout, views * sizeof *scratch.places);
    scratch.views = ts_layout_add(layout, views * sizeof *scratch.views);
    scratch.step = ts_layout_add(layout, filters > projects ? filters : projects);
    return scratch;
}

size_t ts_center_strip_scratch_bytes(const struct center_strip *strip)
{
    struct memory_layout layout = {0};
    lay_out(strip, &layout);
    return layout.bytes;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Returns a sinogram as an image of one slice. */
static struct ts_image image_of(const struct center_strip *strip, void *data)
{
    return (struct ts_image){.rank = 3,
                             .dtype = TS_F32,
                             .axes = {{.kind = TS_AXIS_Z, .n = 1},
                                      {.kind = TS_AXIS_VIEW, .n = strip->views->n},
                                      {.kind = TS_AXIS_DETECTOR, .n = strip->n_detectors}},
                             .data = data};
}

static void reconstruct(const struct center_strip *strip, double center,
                        const struct scratch *scratch)
{
    const struct beam_geometry grid = {.n_rows = strip->size,
                                       .n_columns = strip->size,
                                       .row_spacing = 1,
                                       .column_spacing = 1,
                                       .n_detectors = strip->n_detectors,
                                       .detector_spacing = 1,
                                       .center = center};
    const struct backprojection work = {.sinogram = image_of(strip, scratch->filtered),
                                        .views = scratch->views,
                                        .n_rows = strip->size,
                                        .n_columns = strip->size,
                                        .out = scratch->tile,
                                        .threads = threads_of(strip)};
    for (int64_t v = 0; v < strip->views->n; v++) {
        scratch->views[v] = ts_back_view(&grid, ts_view_degree(strip->views, v), BACK_LINEAR);
        scratch->views[v].scale = scratch->weights[v];
    }
    ts_backprojection_run(&work, scratch->step);
}

static void find_window(const struct scratch *scratch, int64_t n, float window[2])
{
    memcpy(scratch->sorted, scratch->tile, (size_t)n * sizeof *scratch->sorted);
    qsort(scratch->sorted, (size_t)n, sizeof *scratch->sorted, ts_compare_floats);
    window[0] = scratch->sorted[(n - 1) / 100];
    window[1] = scratch->sorted[n - 1 - (n - 1) / 100];
}

static void paint(const struct center_strip *strip, const float *tile, const float window[2],
                  double center, uint8_t *picture)
{
    const int64_t size = strip->size, stride = columns_of(strip);
    const float scale = window[1] > window[0] ? 255 / (window[1] - window[0]) : 0;
    char label[32];
    for (int64_t y = 0; y < size; y++)
        for (int64_t x = 0; x < size; x++) {
            const float gray = (tile[y * size + x] - window[0]) * scale;
            picture[(LABEL_ROWS + y) * stride + x] = gray >= 255 ? 255
                                                     : gray > 0  ? (uint8_t)lrintf(gray)
                                                                 : 0;
        }
    const int length = snprintf(label, sizeof label, "%.2f", center);
    const int64_t free = size - MARGIN, wide = (int64_t)length * DIGIT_COLUMNS;
    if (wide <= free)
        ts_digits_draw(label, wide * LABEL_SCALE <= free ? LABEL_SCALE : 1, BLACK,
                       picture + MARGIN * stride + MARGIN, stride);
}

void ts_center_strip_draw(const struct center_strip *strip, const float *sinogram, double center,
                          struct fft *fft, void *buffer, uint8_t *picture, double *centers)
{
    const int64_t n_tiles = 2 * strip->sides + 1;
    const struct row_filter filter = filter_of(strip);
    const struct stage_context filtering = {.threads = threads_of(strip), .transforms = {fft}};
    const struct ts_image slice = image_of(strip, (void *)sinogram);
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(strip, &layout);
    float window[2];
    memset(picture, WHITE, (size_t)(rows_of(strip) * columns_of(strip)));
    ts_view_weights(strip->views, scratch.weights, scratch.places);
    ts_row_filter_run(&filtering, &filter, &slice, scratch.filtered, scratch.step);
    reconstruct(strip, center, &scratch);
    find_window(&scratch, strip->size * strip->size, window);
    for (int64_t i = 0; i < n_tiles; i++) {
        centers[i] = center + (double)(i - strip->sides) * strip->step;
        reconstruct(strip, centers[i], &scratch);
        paint(strip, scratch.tile, window, centers[i], picture + i * (strip->size + GAP));
    }
}
