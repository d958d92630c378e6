/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of the patient's axes (x to the left, y to the back, z to the head: DICOM PS3.3 C.7.6.2) is
 * assigned the axis of the image that is most parallel to it, so that slices in any orientation
 * have axial, coronal and sagittal planes. Oblique slices are not resampled: their planes are the
 * nearest ones.
 */
#include "program/show/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "stages/engine/validity.h"

/* ---- axes ------------------------------------------------------------------------------------ */

double ts_picture_spacing(const struct ts_axis *axis)
{
    return axis->positions && axis->n > 1
               ? fabs(axis->positions[axis->n - 1] - axis->positions[0]) / (double)(axis->n - 1)
               : ts_axis_spacing(axis);
}

const char *ts_picture_unit(const struct ts_axis *axis)
{
    return axis->unit && *axis->unit ? axis->unit : "pixel";
}

const char *ts_picture_from(const struct ts_axis *axis)
{
    return axis->kind != TS_AXIS_VIEW && ts_axis_position(axis, 0) == 0 ? " from the first" : "";
}

double ts_picture_round(double value)
{
    const double power = pow(10, floor(log10(value) + 1e-9)), mantissa = value / power * (1 + 1e-9);
    return power * (mantissa >= 5 ? 5 : mantissa >= 2 ? 2 : 1);
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* The image's axis for each of the patient's axes, and if it runs in the opposite direction. */
struct orientation {
    int axis[3];
    bool reversed[3];
};

static struct orientation find_orientation(const struct ts_image *image)
{
    static const int orders[6][3] = {{2, 1, 0}, {2, 0, 1}, {1, 2, 0},
                                     {1, 0, 2}, {0, 1, 2}, {0, 2, 1}};
    const double *const along[3] = {image->step_z_mm, image->direction + 3, image->direction};
    struct orientation best = {.axis = {2, 1, 0}};
    double most = -1;
    for (int i = 0; image->has_geometry && i < 6; i++) {
        double sum = 0;
        for (int p = 0; p < 3; p++) {
            const double *v = along[orders[i][p]],
                         length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            sum += length > 0 ? fabs(v[p]) / length : 0;
        }
        if (sum > most + 1e-9) {
            most = sum;
            memcpy(best.axis, orders[i], sizeof best.axis);
        }
    }
    for (int p = 0; image->has_geometry && p < 3; p++)
        best.reversed[p] = along[best.axis[p]][p] < 0;
    return best;
}

static const char *plane_name(const struct ts_image *image, int across)
{
    static const char *const names[] = {"sagittal", "coronal", "axial"};
    static const char *const scan_names[] = {"detector pixel", "projection", "sinogram"};
    return (ts_image_is_sinogram(image) ? scan_names : names)[across];
}

/* Fills in what follows from the axes of a plane. */
static void finish_plane(const struct ts_image *image, const struct orientation *at, bool lengths,
                         struct picture_plane *plane)
{
    static const char letters[3][2] = {{'R', 'L'}, {'A', 'P'}, {'I', 'S'}};
    const struct ts_axis *rows = &image->axes[plane->down], *columns = &image->axes[plane->right];
    const char *unit = ts_picture_unit(rows);
    plane->rows = rows->n;
    plane->columns = columns->n;
    plane->width = plane->height = 1;
    if (lengths && !strcmp(unit, ts_picture_unit(columns))) {
        plane->unit = strcmp(unit, "pixel") != 0 ? unit : NULL;
        plane->width = ts_picture_spacing(columns);
        plane->height = ts_picture_spacing(rows);
    }
    for (int p = 0; image->has_geometry && p < 3; p++) {
        const int last = !at->reversed[p]; /* the letter of the side at which the last sample is */
        if (at->axis[p] == plane->right) {
            plane->sides[0] = letters[p][last == plane->left];
            plane->sides[1] = letters[p][last != plane->left];
        } else if (at->axis[p] == plane->down) {
            plane->sides[2] = letters[p][last == plane->up];
            plane->sides[3] = letters[p][last != plane->up];
        }
    }
}

void ts_picture_plane(const struct ts_image *image, enum picture_plane_name name, bool lengths,
                      struct picture_plane *plane)
{
    const struct orientation at = find_orientation(image);
    int across = (int)name;
    for (int p = 0; name == PLANE_STORED && p < 3; p++)
        across = at.axis[p] == 0 ? p : across;
    const int right = across == PLANE_SAGITTAL ? 1 : 0, down = across == PLANE_AXIAL ? 1 : 2;
    const bool head_on_top = down == 2 && !ts_image_is_sinogram(image);
    *plane = (struct picture_plane){.name = plane_name(image, across),
                                    .across = at.axis[across],
                                    .down = at.axis[down],
                                    .right = at.axis[right],
                                    .up = at.reversed[down] != head_on_top,
                                    .left = at.reversed[right]};
    finish_plane(image, &at, lengths, plane);
}

void ts_picture_plane_stored(const struct ts_image *image, int across, bool last_on_top,
                             struct picture_plane *plane)
{
    const struct orientation at = find_orientation(image);
    *plane = (struct picture_plane){.name = "",
                                    .across = across,
                                    .down = across == 0 ? 1 : 0,
                                    .right = across == 2 ? 1 : 2,
                                    .up = across > 0 && last_on_top};
    finish_plane(image, &at, true, plane);
}

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

const struct gray_preset ts_gray_presets[GRAY_PRESETS] = {
    {"abdomen", 40, 400}, {"lung", -600, 1500}, {"bone", 400, 1800}, {"brain", 40, 80}};

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
                                   enum ts_quantity quantity, const struct picture_plane *planes,
                                   int n_planes, struct gray_window *window, struct ts_diag *diag)
{
    const struct gray_preset *soft = &ts_gray_presets[0];
    const double soft_low = soft->center - soft->width / 2,
                 soft_high = soft->center + soft->width / 2;
    find_range(planes, n_planes, window);
    if (request->kind == GRAY_LEVEL)
        return set(window, request->center - request->width / 2,
                   request->center + request->width / 2, "given");
    if (request->kind == GRAY_FULL)
        return set(window, window->least, window->most, "full range");
    if (request->kind == GRAY_AUTO && quantity == TS_HU && window->least < soft->center &&
        window->most > soft_low)
        return set(window, soft_low, soft_high, "soft tissue");
    return find_percentiles(planes, n_planes, window, diag);
}
