/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads planes slice by slice, so that an image may be larger than memory, and finds windows.
 */
#include "program/show/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "stages/engine/validity.h"

/* ---- lengths --------------------------------------------------------------------------------- */

double ts_picture_round(double value)
{
    const double power = pow(10, floor(log10(value) + 1e-9)), mantissa = value / power * (1 + 1e-9);
    return power * (mantissa >= 5 ? 5 : mantissa >= 2 ? 2 : 1);
}

/* ---- planes ---------------------------------------------------------------------------------- */

void ts_picture_take(struct picture_plane *plane, const struct ts_image *image, int64_t z,
                     const float *slice)
{
    const int64_t stride[3] = {0, image->axes[2].n, 1};
    const int64_t row = plane->up ? plane->rows - 1 - z : z,
                  column = plane->left ? plane->columns - 1 - z : z;
    const int64_t first[2] = {plane->down == 0 ? row : 0, plane->right == 0 ? column : 0};
    const int64_t end[2] = {plane->down == 0 ? row + 1 : plane->rows,
                            plane->right == 0 ? column + 1 : plane->columns};
    if (plane->across == 0 && z != plane->index)
        return;
    const float *from = slice + plane->index * stride[plane->across];
    for (int64_t y = first[0]; y < end[0]; y++)
        for (int64_t x = first[1]; x < end[1]; x++) {
            const int64_t i = plane->up ? plane->rows - 1 - y : y,
                          k = plane->left ? plane->columns - 1 - x : x;
            plane->values[y * plane->columns + x] =
                from[i * stride[plane->down] + k * stride[plane->right]];
        }
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct source *source;
    struct picture_plane *planes;
    int n_planes;
    void (*each)(void *user, const float *values, size_t n);
    void *user;
    float *slice;
};

/* Returns true if any plane shows a part of slice z of the volume. */
static bool is_wanted(const void *user, int64_t volume, int64_t z)
{
    const struct reading *reading = user;
    for (int i = 0; i < reading->n_planes; i++)
        if (reading->planes[i].volume == volume &&
            (reading->planes[i].across != 0 || reading->planes[i].index == z))
            return true;
    return false;
}

static enum ts_status take_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct reading *reading = user;
    const struct ts_image *of = &reading->source->image;
    const size_t count = ts_slice_count(of);
    (void)diag;
    for (int64_t i = 0; i < slab->n; i++) {
        const uint64_t *valid = ts_source_valid(reading->source, slab->first + i);
        ts_load_f32(reading->slice,
                    (const unsigned char *)slab->data[0] + (size_t)i * ts_slice_bytes(of),
                    of->dtype, count);
        ts_valid_fill_floats(valid, 0, count, NAN, reading->slice);
        if (reading->each)
            reading->each(reading->user, reading->slice, count);
        for (int k = 0; k < reading->n_planes; k++)
            if (reading->planes[k].volume == slab->volume)
                ts_picture_take(&reading->planes[k], of, slab->z + i, reading->slice);
    }
    return TS_OK;
}

enum ts_status ts_picture_read(struct source *source, struct picture_plane *planes, int n_planes,
                               void (*each)(void *user, const float *values, size_t n), void *user,
                               struct ts_diag *diag)
{
    const size_t bytes = ts_slice_count(&source->image) * sizeof(float);
    struct reading reading = {source, planes, n_planes, each, user, malloc(bytes)};
    const struct source_walk walk = {
        .source = source, .wants = each ? NULL : is_wanted, .take = take_slab, .user = &reading};
    enum ts_status status = reading.slice ? TS_OK : ts_diag_no_memory(diag, bytes);
    for (int i = 0; i < n_planes && status == TS_OK; i++) {
        const size_t count = (size_t)planes[i].rows * (size_t)planes[i].columns;
        planes[i].values = calloc(count, sizeof *planes[i].values);
        if (!planes[i].values)
            status = ts_diag_no_memory(diag, count * sizeof *planes[i].values);
    }
    if (status == TS_OK)
        status = ts_source_walk(&walk, diag);
    free(reading.slice);
    return status;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The range is that of all values. For the percentiles of very large planes, evenly spaced values
   are sorted, at most 4 million: the rank of a percentile of so many random values has a standard
   error of 0.005 percent, and a gray level covers 0.4 percent of the window. */

enum { MOST_VALUES = 1 << 22, PERCENT = 100 };

static size_t values_of(const struct picture_plane *plane)
{
    return (size_t)plane->rows * (size_t)plane->columns;
}

static void find_range(const struct picture_plane *planes, int n_planes, struct gray_window *window)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (int i = 0; i < n_planes; i++)
        for (size_t k = 0; k < values_of(&planes[i]); k++) {
            const double value = (double)planes[i].values[k];
            least = isfinite(value) && value < least ? value : least;
            most = isfinite(value) && value > most ? value : most;
        }
    window->none = !(least <= most);
    window->least = least <= most ? least : 0;
    window->most = least <= most ? most : 0;
}

/* Copies the finite values of the planes, or every so many of them. */
static size_t gather(const struct picture_plane *planes, int n_planes, size_t step, float *out)
{
    size_t n = 0, at = 0;
    for (int i = 0; i < n_planes; i++)
        for (size_t k = 0; k < values_of(&planes[i]); k++)
            if (at++ % step == 0 && isfinite(planes[i].values[k]))
                out[n++] = planes[i].values[k];
    return n;
}

static enum ts_status set(struct gray_window *window, double low, double high, const char *name)
{
    window->low = low;
    window->high = high;
    window->name = name;
    return TS_OK;
}

static enum ts_status find_percentiles(const struct picture_plane *planes, int n_planes,
                                       struct gray_window *window, struct ts_diag *diag)
{
    size_t total = 0;
    for (int i = 0; i < n_planes; i++)
        total += values_of(&planes[i]);
    const size_t step = total / MOST_VALUES + 1;
    float *sorted = malloc((total / step + 1) * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, (total / step + 1) * sizeof *sorted);
    const size_t n = gather(planes, n_planes, step, sorted);
    qsort(sorted, n, sizeof *sorted, ts_compare_floats);
    const double low = n > 0 ? (double)sorted[(n - 1) / PERCENT] : 0;
    const double high = n > 0 ? (double)sorted[n - 1 - (n - 1) / PERCENT] : 0;
    free(sorted);
    return low == high ? set(window, window->least, window->most, "full range")
                       : set(window, low, high, "1st to 99th percentile");
}

enum ts_status ts_gray_window_find(const struct gray_window_request *request,
                                   const struct ts_image *image, const struct picture_plane *planes,
                                   int n_planes, struct gray_window *window, struct ts_diag *diag)
{
    find_range(planes, n_planes, window);
    if (request->kind == GRAY_LEVEL)
        return set(window, request->center - request->width / 2,
                   request->center + request->width / 2, "given");
    if (request->kind == GRAY_FULL)
        return set(window, window->least, window->most, "full range");
    if (request->kind == GRAY_AUTO && !window->none &&
        ts_gray_window_known(image, window->least, window->most, window))
        return TS_OK;
    return find_percentiles(planes, n_planes, window, diag);
}
