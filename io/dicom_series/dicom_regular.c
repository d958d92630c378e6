/* SPDX-License-Identifier: Apache-2.0
 *
 * The images are those of dicom_series.h: image v * positions + z is slice z of volume v. Comparisons with NaN, which
 * stands for a number that the header does not state, are false, so that such numbers speak against nothing but a
 * regular order.
 */
#include "io/dicom_series/dicom_regular.h"

#include <math.h>
#include <stdlib.h>

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

/* These are the smallest and the largest number of the images of a volume or a position. */
struct span {
    double low, high;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *first = a, *second = b;
    return (first->low > second->low) - (first->low < second->low);
}

/* Returns true where the numbers of n groups of `each` images do not overlap; image k of group i is
 * images[i * step + k * stride]. */
static bool are_apart(struct dicom_series *series, size_t n, size_t each, size_t step, size_t stride, size_t place)
{
    struct span *spans = malloc(n * sizeof *spans);
    bool apart = spans != NULL;
    series->no_memory |= !spans;
    for (size_t i = 0; spans && i < n; i++) {
        spans[i] = (struct span){INFINITY, -INFINITY};
        for (size_t k = 0; k < each; k++) {
            const double number = ts_dicom_image_number(series->images[i * step + k * stride], place);
            spans[i] = (struct span){fmin(spans[i].low, number), fmax(spans[i].high, number)};
        }
    }
    if (spans)
        qsort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 1; apart && i < n; i++)
        apart = spans[i - 1].high <= spans[i].low;
    free(spans);
    return apart;
}

bool ts_dicom_is_in_blocks(struct dicom_series *series, size_t complete, size_t positions, size_t place)
{
    return are_apart(series, complete, positions, positions, 1, place) ||
           are_apart(series, positions, complete, 1, positions, place);
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
