/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/center_strip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/backprojection.h"
#include "stages/projection/row_filter.h"
#include "stages/values/digits.h"

/* A tile's rows are few: more threads would only need more room. */
enum { GAP = 4, MARGIN = 3, LABEL_SCALE = 2, LABEL_ROWS = DIGIT_ROWS * LABEL_SCALE + 2 * MARGIN, MOST_THREADS = 8 };
enum { BLACK = 0, WHITE = 255 };

static struct row_filter filter_of(const struct center_strip *strip)
{
    return (struct row_filter){.name = ROW_FILTER_HANN, .cutoff = 1, .spacing = 1, .n = strip->n_detectors};
}

static int threads_of(const struct center_strip *strip)
{
    return strip->threads < MOST_THREADS ? strip->threads : MOST_THREADS;
}

int64_t ts_center_strip_rows(const struct center_strip *strip)
{
    return LABEL_ROWS + strip->size;
}

int64_t ts_center_strip_columns(const struct center_strip *strip)
{
    return (2 * strip->sides + 1) * (strip->size + GAP) - GAP;
}

struct fft_shape ts_center_strip_transform(const struct center_strip *strip)
{
    const struct row_filter filter = filter_of(strip);
    return ts_row_filter_shape(&filter);
}

/* ---- room -------------------------------------------------------------------------------------- */

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* What the parts of the work keep; `work` is what each needs for itself. */
struct room {
    float *filtered, *tile, *sorted;
    double *weights;
    int64_t *order;
    struct back_view *views;
    void *work;
};

/* Where the parts begin behind `start`; NULL: counts alone. Returns the bytes of all but `work`. */
static size_t share(const struct center_strip *strip, char *start, struct room *room)
{
    const size_t views = (size_t)strip->n_views, tile = lines((size_t)(strip->size * strip->size) * sizeof(float));
    const size_t sizes[] = {lines(views * (size_t)strip->n_detectors * sizeof(float)),
                            tile,
                            tile,
                            lines(views * sizeof(double)),
                            lines(views * sizeof(int64_t)),
                            lines(views * sizeof(struct back_view))};
    enum { PARTS = sizeof sizes / sizeof *sizes };
    size_t at[PARTS + 1] = {0};
    for (int i = 0; i < PARTS; i++)
        at[i + 1] = at[i] + sizes[i];
    if (start)
        *room =
            (struct room){(float *)(start + at[0]),  (float *)(start + at[1]),   (float *)(start + at[2]),
                          (double *)(start + at[3]), (int64_t *)(start + at[4]), (struct back_view *)(start + at[5]),
                          start + at[PARTS]};
    return at[PARTS];
}

size_t ts_center_strip_room_bytes(const struct center_strip *strip)
{
    const struct row_filter filter = filter_of(strip);
    const size_t filters = ts_row_filter_scratch(&filter, threads_of(strip)),
                 projects = ts_backprojection_scratch(strip->n_detectors, strip->size, threads_of(strip));
    return share(strip, NULL, NULL) + lines(filters > projects ? filters : projects);
}

/* ---- drawing ----------------------------------------------------------------------------------- */

/* The sinogram as an image of one slice. */
static struct ts_image image_of(const struct center_strip *strip, void *data)
{
    return (struct ts_image){.rank = 3,
                             .dtype = TS_F32,
                             .axes = {{.kind = TS_AXIS_Z, .n = 1},
                                      {.kind = TS_AXIS_VIEW, .n = strip->n_views},
                                      {.kind = TS_AXIS_DETECTOR, .n = strip->n_detectors}},
                             .data = data};
}

static void reconstruct(const struct center_strip *strip, const double *angles, double center, const struct room *room)
{
    const struct beam_geometry grid = {.n_rows = strip->size,
                                       .n_columns = strip->size,
                                       .row_spacing = 1,
                                       .column_spacing = 1,
                                       .n_detectors = strip->n_detectors,
                                       .detector_spacing = 1,
                                       .center = center};
    const struct backprojection work = {.sinogram = image_of(strip, room->filtered),
                                        .views = room->views,
                                        .n_rows = strip->size,
                                        .n_columns = strip->size,
                                        .out = room->tile,
                                        .threads = threads_of(strip)};
    for (int64_t v = 0; v < strip->n_views; v++) {
        room->views[v] = ts_back_view(&grid, angles[v], BACK_LINEAR);
        room->views[v].scale = room->weights[v];
    }
    ts_backprojection_run(&work, room->work);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void find_window(const struct room *room, int64_t n, float window[2])
{
    memcpy(room->sorted, room->tile, (size_t)n * sizeof *room->sorted);
    qsort(room->sorted, (size_t)n, sizeof *room->sorted, compare_floats);
    window[0] = room->sorted[(n - 1) / 100];
    window[1] = room->sorted[n - 1 - (n - 1) / 100];
}

static void paint(const struct center_strip *strip, const float *tile, const float window[2], double center,
                  uint8_t *picture)
{
    const int64_t size = strip->size, stride = ts_center_strip_columns(strip);
    const float scale = window[1] > window[0] ? 255 / (window[1] - window[0]) : 0;
    char label[32];
    for (int64_t y = 0; y < size; y++)
        for (int64_t x = 0; x < size; x++) {
            const float gray = (tile[y * size + x] - window[0]) * scale;
            picture[(LABEL_ROWS + y) * stride + x] = gray >= 255 ? 255 : gray > 0 ? (uint8_t)lrintf(gray) : 0;
        }
    const int length = snprintf(label, sizeof label, "%.2f", center);
    const int64_t room = size - MARGIN, wide = (int64_t)length * DIGIT_COLUMNS;
    if (wide <= room)
        ts_digits_draw(label, wide * LABEL_SCALE <= room ? LABEL_SCALE : 1, BLACK, picture + MARGIN * stride + MARGIN,
                       stride);
}

void ts_center_strip_draw(const struct center_strip *strip, const float *sinogram, const double *angles, double center,
                          struct fft *fft, void *memory, uint8_t *picture, double *centers)
{
    const int64_t n_tiles = 2 * strip->sides + 1;
    const struct row_filter filter = filter_of(strip);
    const struct stage_context filtering = {.threads = threads_of(strip), .transforms = {fft}};
    const struct ts_image slice = image_of(strip, (void *)sinogram);
    struct room room;
    float window[2];
    share(strip, memory, &room);
    memset(picture, WHITE, (size_t)(ts_center_strip_rows(strip) * ts_center_strip_columns(strip)));
    ts_view_weights(angles, strip->n_views, room.weights, room.order);
    ts_row_filter_run(&filtering, &filter, &slice, room.filtered, room.work);
    reconstruct(strip, angles, center, &room);
    find_window(&room, strip->size * strip->size, window);
    for (int64_t i = 0; i < n_tiles; i++) {
        centers[i] = center + (double)(i - strip->sides) * strip->step;
        reconstruct(strip, angles, centers[i], &room);
        paint(strip, room.tile, window, centers[i], picture + i * (strip->size + GAP));
    }
}
