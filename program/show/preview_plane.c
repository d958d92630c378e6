/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of the patient's axes (x to the left, y to the back, z to the head: DICOM PS3.3 C.7.6.2) is given the axis of
 * the image that runs along it most, so that slices in any orientation have axial, coronal and sagittal planes. Oblique
 * slices are not resampled: their planes are the nearest ones.
 */
#include "program/show/preview_plane.h"

#include <math.h>
#include <string.h>

/* The image's axis along each of the patient's axes, and whether it runs the other way. */
struct orientation {
    int axis[3];
    bool reversed[3];
};

static struct orientation find_orientation(const struct ts_image *image)
{
    static const int orders[6][3] = {{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 1, 2}, {0, 2, 1}};
    const double *const along[3] = {image->step_z_mm, image->direction + 3, image->direction};
    struct orientation best = {.axis = {2, 1, 0}};
    double most = -1;
    for (int i = 0; image->has_geometry && i < 6; i++) {
        double sum = 0;
        for (int p = 0; p < 3; p++) {
            const double *v = along[orders[i][p]], length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
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

void ts_preview_plane(const struct ts_image *image, enum preview_plane_name name, bool lengths,
                      struct preview_plane *plane)
{
    static const char letters[3][2] = {{'R', 'L'}, {'A', 'P'}, {'I', 'S'}};
    const struct orientation at = find_orientation(image);
    int across = (int)name;
    for (int p = 0; name == PREVIEW_STORED && p < 3; p++)
        across = at.axis[p] == 0 ? p : across;
    const int right = across == PREVIEW_SAGITTAL ? 1 : 0, down = across == PREVIEW_AXIAL ? 1 : 2;
    const bool head_on_top = down == 2 && !ts_image_is_sinogram(image);
    *plane = (struct preview_plane){.name = plane_name(image, across),
                                    .across = at.axis[across],
                                    .down = at.axis[down],
                                    .right = at.axis[right],
                                    .up = at.reversed[down] != head_on_top,
                                    .left = at.reversed[right],
                                    .width = 1,
                                    .height = 1};
    const struct ts_axis *rows = &image->axes[plane->down], *columns = &image->axes[plane->right];
    plane->rows = rows->n;
    plane->columns = columns->n;
    const bool one_unit = rows->unit && columns->unit && *rows->unit && !strcmp(rows->unit, columns->unit);
    if (lengths && one_unit && strcmp(rows->unit, "pixel") != 0) {
        plane->unit = rows->unit;
        plane->width = ts_axis_spacing(columns);
        plane->height = ts_axis_spacing(rows);
    }
    if (!image->has_geometry)
        return;
    plane->sides[0] = letters[right][0];
    plane->sides[1] = letters[right][1];
    plane->sides[2] = letters[down][head_on_top];
    plane->sides[3] = letters[down][!head_on_top];
}

void ts_preview_plane_take(struct preview_plane *plane, const struct ts_image *image, int64_t z, const float *slice)
{
    const int64_t stride[3] = {0, image->axes[2].n, 1};
    const int64_t row = plane->up ? plane->rows - 1 - z : z, column = plane->left ? plane->columns - 1 - z : z;
    const int64_t first[2] = {plane->down == 0 ? row : 0, plane->right == 0 ? column : 0};
    const int64_t end[2] = {plane->down == 0 ? row + 1 : plane->rows, plane->right == 0 ? column + 1 : plane->columns};
    if (plane->across == 0 && z != plane->index)
        return;
    const float *from = slice + plane->index * stride[plane->across];
    for (int64_t y = first[0]; y < end[0]; y++)
        for (int64_t x = first[1]; x < end[1]; x++) {
            const int64_t i = plane->up ? plane->rows - 1 - y : y, k = plane->left ? plane->columns - 1 - x : x;
            plane->values[y * plane->columns + x] = from[i * stride[plane->down] + k * stride[plane->right]];
        }
}
