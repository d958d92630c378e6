/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector has one number for each plane, in one of two forms. Where the first is 0, they are
 * distances from Image Position along the normal, which is the cross product of the cosines. Where
 * it is the z coordinate of Image Position, they are z coordinates, and the planes must be axial.
 * The numbers are read one by one from the file, so that no memory is set aside by the length that
 * an element claims.
 */
#include "io/dicom_header/dicom_dose.h"

#include <math.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_parse.h"

enum { NUMBER_BYTES = 64 };
static const double SAME_PLACE_MM = 1e-2, AXIAL = 1e-6;

bool ts_dicom_is_dose(const struct dicom_file *file)
{
    static const char *const dose[] = {"481.2", NULL};
    return ts_dicom_is_class(file->sop_class, dose);
}

/* Reads the number at *offset of the vector and moves behind the backslash that ends it. Returns
 * false where none is left, or it is wrong. */
static bool next_offset(struct scan *scan, uint32_t *offset, double *value)
{
    const struct dicom_place *place = &scan->plane_offsets;
    char bytes[NUMBER_BYTES];
    if (*offset >= place->length)
        return false;
    const size_t left = place->length - *offset, n = left < sizeof bytes ? left : sizeof bytes;
    if (!ts_dicom_read(&scan->reader, place->offset + *offset, bytes, n))
        return false;
    const char *end = memchr(bytes, '\\', n);
    const size_t length = end ? (size_t)(end - bytes) : n;
    *offset += (uint32_t)length + 1;
    return ts_dicom_parse_decimals(bytes, length, value, 1);
}

/* Adds a frame for each plane. */
static void place_planes(struct scan *scan)
{
    const double *origin = scan->image.position_mm;
    double normal[3], offset, first = NAN;
    uint32_t at = 0;
    ts_cross(scan->image.orientation, scan->image.orientation + 3, normal);
    for (int64_t i = 0; i < scan->file->frames; i++) {
        if (!next_offset(scan, &at, &offset)) {
            ts_dicom_refuse(scan, "dicom-dose",
                            "Grid Frame Offset Vector has no number for plane %lld of %lld",
                            (long long)i + 1, (long long)scan->file->frames);
            return;
        }
        first = i == 0 ? offset : first;
        const bool absolute = first != 0;
        if (absolute &&
            !(fabs(first - origin[2]) <= SAME_PLACE_MM && fabs(fabs(normal[2]) - 1) <= AXIAL)) {
            ts_dicom_refuse(scan, "dicom-dose",
                            "Grid Frame Offset Vector begins with %g, expected 0, or of axial "
                            "planes the z coordinate of Image Position, %g",
                            first, origin[2]);
            return;
        }
        struct dicom_image *plane = ts_dicom_add_image(scan);
        if (!plane)
            return;
        plane->frame = i;
        for (int k = 0; k < 3; k++)
            plane->position_mm[k] += absolute ? (k == 2 ? offset - first : 0) : offset * normal[k];
    }
    if (at < scan->plane_offsets.length)
        ts_dicom_refuse(scan, "dicom-dose",
                        "Grid Frame Offset Vector has more numbers than the %lld planes",
                        (long long)scan->file->frames);
}

void ts_dicom_list_planes(struct scan *scan)
{
    struct dicom_image *image = &scan->image;
    if (image->have_slope || image->have_intercept || isnan(scan->dose_scaling)) {
        ts_dicom_refuse(scan, "dicom-dose", "Dose Grid Scaling is %s",
                        isnan(scan->dose_scaling) ? "missing"
                                                  : "given beside a Rescale Slope or Intercept");
        return;
    }
    image->slope = scan->dose_scaling;
    image->have_slope = image->have_intercept = true;
    if (scan->file->frames == 1)
        return;
    if (scan->file->frames > DICOM_MAX_FRAMES)
        ts_dicom_refuse(scan, "dicom-dose", "%lld planes, at most %d are read",
                        (long long)scan->file->frames, (int)DICOM_MAX_FRAMES);
    else if (!image->have_position || !image->have_orientation)
        ts_dicom_refuse(scan, "dicom-dose",
                        "Image Position or Image Orientation (Patient) of the planes is missing");
    else
        place_planes(scan);
}
