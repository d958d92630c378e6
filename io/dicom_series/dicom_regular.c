/* SPDX-License-Identifier: Apache-2.0
 *
 * The images are those of dicom_series.h: image v * positions + z is slice z of volume v. Comparisons with NaN, which
 * stands for a number that the header does not state, are false, so that such numbers speak against nothing but a
 * regular order.
 */
#include "io/dicom_series/dicom_regular.h"

bool ts_dicom_is_regular(const struct dicom_series *series, size_t complete, size_t positions, size_t place)
{
    struct dicom_image *const *images = series->images;
    for (size_t i = positions; i < complete * positions; i++) {
        const size_t z = i % positions;
        if (ts_dicom_image_number(images[i], place) - ts_dicom_image_number(images[i - z], place) !=
            ts_dicom_image_number(images[z], place) - ts_dicom_image_number(images[0], place))
            return false;
    }
    return true;
}

bool ts_dicom_goes_on(const struct dicom_series *series, size_t complete, size_t positions, size_t place)
{
    for (size_t i = positions; i < complete * positions; i++)
        if (ts_dicom_image_number(series->images[i], place) <
            ts_dicom_image_number(series->images[i - positions], place))
            return false;
    return true;
}

static bool same_direction(const struct dicom_series *series, size_t a, size_t b, size_t positions)
{
    bool rises = false, falls = false;
    for (size_t z = 0; z < positions; z++) {
        const double first = series->images[a * positions + z]->instance_number,
                     second = series->images[b * positions + z]->instance_number;
        rises |= second > first;
        falls |= second < first;
    }
    return !rises || !falls;
}

bool ts_dicom_numbers_agree(const struct dicom_series *series, size_t complete, size_t positions)
{
    if (ts_dicom_goes_on(series, complete, positions, DICOM_NUMBER(instance_number)))
        return true;
    for (size_t a = 0; a < complete; a++)
        for (size_t b = a + 1; b < complete; b++)
            if (!same_direction(series, a, b, positions))
                return false;
    return true;
}

bool ts_dicom_times_go_on(const struct dicom_series *series, size_t complete, size_t positions)
{
    return ts_dicom_goes_on(series, complete, positions, DICOM_NUMBER(acquired_s)) &&
           ts_dicom_goes_on(series, complete, positions, DICOM_NUMBER(trigger_ms)) &&
           ts_dicom_goes_on(series, complete, positions, DICOM_NUMBER(frame_reference_ms));
}
