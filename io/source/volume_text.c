/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes volumes for people and in JSON, so that `info` uses the same words for all file
 * formats.
 */
#include "io/source/volume_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void ts_volume_orientation(const struct ts_image *image, char *out, size_t size)
{
    static const char *const names[] = {"sagittal", "coronal", "axial"};
    const double *normal = image->direction + 6;
    int main_axis = 0;
    for (int i = 1; i < 3; i++)
        main_axis = fabs(normal[i]) > fabs(normal[main_axis]) ? i : main_axis;
    double lean = acos(fmin(1, fabs(normal[main_axis]))) * (180 / M_PI);
    const double shear = ts_image_lean_degree(image);
    int used = lean < 1 ? snprintf(out, size, "%s", names[main_axis])
                        : snprintf(out, size, "%s, oblique %.1f degrees", names[main_axis], lean);
    if (shear > TS_UPRIGHT_DEGREE && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, ", sheared %.1f degrees", shear);
}

static void write_numbers(struct json *json, const char *key, const double *values, int n)
{
    ts_json_open_member(json, key, '[');
    for (int i = 0; i < n; i++)
        ts_json_real(json, values[i] + 0.0); /* -0 becomes 0 */
    ts_json_close(json, ']');
}

void ts_volume_json(struct json *json, const struct ts_image *image)
{
    double spacing[3]; /* in JSON NaN, not known, becomes null */
    for (int d = 0; d < 3; d++)
        spacing[d] = strcmp(image->axes[d].unit, "mm") ? NAN : image->axes[d].spacing;
    char orientation[64];
    write_numbers(json, "spacing_mm", spacing, 3);
    if (image->has_geometry) {
        ts_volume_orientation(image, orientation, sizeof orientation);
        write_numbers(json, "origin_mm", image->origin_mm, 3);
        write_numbers(json, "direction", image->direction, 9);
        ts_json_member_text(json, "orientation", orientation);
    }
    ts_json_member_text(json, "dtype", ts_dtype_name(image->dtype));
    ts_json_member_text(json, "quantity", ts_quantity_name(image->quantity));
    ts_json_member_text(json, "unit", image->unit);
}

void ts_volume_axis_json(struct json *json, const struct ts_axis *axis)
{
    ts_json_open_member(json, "volumes", '{');
    ts_json_member_integer(json, "n", axis->n);
    ts_json_member_text(json, "axis", ts_axis_name(axis));
    ts_json_member_text(json, "unit", axis->unit);
    if (axis->positions)
        write_numbers(json, "positions", axis->positions, (int)axis->n);
    ts_json_close(json, '}');
}
