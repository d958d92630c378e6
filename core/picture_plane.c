/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of the patient's axes (x to the left, y to the back, z to the head: DICOM PS3.3 C.7.6.2) is
 * assigned the axis of the image that is most parallel to it, so that slices in any orientation
 * have axial, coronal and sagittal planes. Oblique slices are not resampled: their planes are the
 * nearest ones.
 */
#include "core/picture_plane.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/grid.h"

enum { LEAST_SIDE = 3, SCAN_PLANES = 2 };

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

const char *ts_picture_from(const struct ts_image *image, int d)
{
    double first, step, vector[3];
    return image->axes[d].kind != TS_AXIS_VIEW && ts_axis_position(&image->axes[d], 0) == 0 &&
                   !ts_grid_place_axis(image, d, &first, &step, vector)
               ? " from the first"
               : "";
}

/* ---- orientation ----------------------------------------------------------------------------- */

static const char letters[3][2] = {{'R', 'L'}, {'A', 'P'}, {'I', 'S'}};

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

/* Writes the letters of an axis of the plane whose last sample is at the patient's side `last`. */
static void set_sides(struct picture_plane *plane, int axis, char first, char last)
{
    if (axis == plane->right) {
        plane->sides[0] = plane->left ? last : first;
        plane->sides[1] = plane->left ? first : last;
    } else if (axis == plane->down) {
        plane->sides[2] = plane->up ? last : first;
        plane->sides[3] = plane->up ? first : last;
    }
}

/* Fills in what follows from the axes of a plane. Of a scan only the slices are along an axis of
   the patient: views are angles, and what the detector runs along depends on them. */
static void finish_plane(const struct ts_image *image, const struct orientation *at, bool lengths,
                         struct picture_plane *plane)
{
    const struct ts_axis *rows = &image->axes[plane->down], *columns = &image->axes[plane->right];
    const char *unit = ts_picture_unit(rows);
    plane->rows = rows->n;
    plane->columns = columns->n;
    plane->lengths = lengths;
    plane->width = plane->height = 1;
    if (lengths && !strcmp(unit, ts_picture_unit(columns))) {
        plane->unit = strcmp(unit, "pixel") != 0 ? unit : NULL;
        plane->width = ts_picture_spacing(columns);
        plane->height = ts_picture_spacing(rows);
    }
    for (int p = 0; image->has_geometry && p < 3; p++)
        if (at->axis[p] == 0 || !ts_image_is_sinogram(image))
            set_sides(plane, at->axis[p], letters[p][at->reversed[p]],
                      letters[p][!at->reversed[p]]);
}

void ts_picture_plane(const struct ts_image *image, enum picture_plane_name name, bool lengths,
                      struct picture_plane *plane)
{
    const bool scan = ts_image_is_sinogram(image);
    struct orientation at = find_orientation(image);
    int across = (int)name;
    if (scan) /* slices are shown by their rows of samples, whatever they are in the patient */
        at = (struct orientation){.axis = {2, 1, 0}, .reversed = {false, false, at.reversed[2]}};
    for (int p = 0; name == PLANE_STORED && p < 3; p++)
        across = at.axis[p] == 0 ? p : across;
    const int right = across == PLANE_SAGITTAL ? 1 : 0, down = across == PLANE_AXIAL ? 1 : 2;
    const bool head_on_top = down == 2 && (image->has_geometry || !scan);
    *plane = (struct picture_plane){.name = plane_name(image, across),
                                    .across = at.axis[across],
                                    .down = at.axis[down],
                                    .right = at.axis[right],
                                    .up = at.reversed[down] != head_on_top,
                                    .left = at.reversed[right]};
    at = find_orientation(image);
    finish_plane(image, &at, lengths, plane);
}

int ts_picture_planes(const struct ts_image *image, bool lengths,
                      struct picture_plane planes[PICTURE_PLANES])
{
    static const enum picture_plane_name names[] = {PLANE_AXIAL, PLANE_CORONAL, PLANE_SAGITTAL};
    const int most = ts_image_is_sinogram(image) ? SCAN_PLANES : PICTURE_PLANES;
    int n = 0;
    for (int i = 0; i < most; i++) {
        ts_picture_plane(image, names[i], lengths, &planes[n]);
        if (planes[n].across == 0 ||
            (planes[n].rows >= LEAST_SIDE && planes[n].columns >= LEAST_SIDE))
            n++;
    }
    return n;
}

/* A ray of the view at angle t crosses the detector's direction, s = x cos t + y sin t with x along
   the columns of a slice and y against its rows. */
void ts_picture_move(const struct ts_image *image, int64_t index, struct picture_plane *plane)
{
    const double along = 0.97; /* within 14 degrees */
    const struct ts_axis *view = &image->axes[1];
    plane->index = index;
    if (!ts_image_is_sinogram(image) || !image->has_geometry || plane->across != 1 || !view->unit ||
        strcmp(view->unit, "degree") != 0)
        return;
    const double angle = ts_axis_position(view, index) * 3.14159265358979323846 / 180;
    plane->sides[0] = plane->sides[1] = 0;
    for (int p = 0; p < 3; p++) {
        const double s = cos(angle) * image->direction[p] - sin(angle) * image->direction[3 + p];
        if (fabs(s) > along)
            set_sides(plane, 2, letters[p][s < 0], letters[p][s > 0]);
    }
}

int64_t ts_picture_offset(const struct ts_image *image, const struct picture_plane *plane,
                          int64_t row, int64_t column)
{
    const int64_t stride[3] = {image->axes[1].n * image->axes[2].n, image->axes[2].n, 1};
    const int64_t i = plane->up ? plane->rows - 1 - row : row,
                  k = plane->left ? plane->columns - 1 - column : column;
    return i * stride[plane->down] + k * stride[plane->right];
}

char *ts_picture_slice_text(const struct ts_image *image, const struct picture_plane *plane,
                            char *text, size_t size)
{
    const struct ts_axis *axis = &image->axes[plane->across];
    const int n =
        snprintf(text, size, "%s%sslice %lld (0 to %lld)", plane->name, *plane->name ? " " : "",
                 (long long)plane->index, (long long)axis->n - 1);
    if (n > 0 && (size_t)n < size && plane->lengths && strcmp(ts_picture_unit(axis), "pixel") != 0)
        snprintf(text + n, size - (size_t)n, " at %.5g %s%s",
                 ts_grid_position(image, plane->across, plane->index), axis->unit,
                 ts_picture_from(image, plane->across));
    return text;
}
