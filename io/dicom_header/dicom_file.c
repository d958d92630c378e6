/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes where frames lie in the file and how far apart two positions may be and still count as
 * the same. Compares SOP Class UIDs with lists of classes, which leave out the prefix that all
 * storage classes share. An entry that ends with a dot stands for a whole family, such as all
 * presentation states; any other entry must be the rest of the UID, so that 2 does not stand
 * for 20.
 */
#include "io/dicom_header/dicom_file.h"

#include <math.h>
#include <string.h>

bool ts_dicom_is_class(const char *uid, const char *const *classes)
{
    static const char prefix[] = "1.2.840.10008.5.1.4.1.1.";
    const size_t length = sizeof prefix - 1;
    for (; *classes && !strncmp(uid, prefix, length); classes++) {
        const size_t n = strlen(*classes);
        if (!strncmp(uid + length, *classes, n) &&
            ((*classes)[n - 1] == '.' || uid[length + n] == '\0'))
            return true;
    }
    return false;
}

bool ts_dicom_is_capture(const struct dicom_file *file)
{
    static const char *const captures[] = {"7", "7.", NULL};
    return ts_dicom_is_class(file->sop_class, captures);
}

int64_t ts_dicom_frame_bytes(const struct dicom_file *file)
{
    return (int64_t)file->rows * file->columns * file->samples_per_pixel *
           (file->bits_allocated / 8);
}

int64_t ts_dicom_frame_offset(const struct dicom_image *image)
{
    return image->file->pixel_offset + image->frame * ts_dicom_frame_bytes(image->file);
}

bool ts_dicom_says_loss(const struct dicom_file *file)
{
    return file->lossy || strcmp(file->lossy_compression, "01") == 0;
}

double ts_dicom_same_position(const struct dicom_image *image)
{
    double same = 1e-3;
    for (int i = 0; i < 2 && image->have_spacing; i++)
        same = fmin(same, image->spacing_mm[i] / 100);
    const double between = fabs(image->spacing_between_slices_mm);
    return between > 0 ? fmin(same, between / 10) : same;
}
