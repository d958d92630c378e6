/* SPDX-License-Identifier: Apache-2.0
 *
 * Enhanced files number their frames along dimensions of their own choice, such as the place in the stack, the b-value
 * and the gradient; the first dimension varies slowest. A dimension that has one value at every position counts slices
 * or stacks and says nothing of volumes: it is left out, whatever element the file says it stands for. The values along
 * the others, compared one after the other, give the images of a position their order.
 * Source: DICOM PS3.3 C.7.6.17 (Multi-frame Dimension module).
 */
#include "io/dicom_series/dicom_dimensions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An item is an image with its values along the dimensions that count, and 0 for the others. */
struct item {
    uint32_t values[DICOM_DIMENSIONS];
    struct dicom_image *image;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    for (int k = 0; k < DICOM_DIMENSIONS; k++)
        if (first->values[k] != second->values[k])
            return first->values[k] < second->values[k] ? -1 : 1;
    return 0;
}

/* Finds the dimensions along which images at one position differ. Returns false where there are none, or where an image
 * has no value along one of them. */
static bool find_dimensions(const struct dicom_series *series, bool counts[DICOM_DIMENSIONS])
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    bool any = false;
    for (int k = 0; k < DICOM_DIMENSIONS; k++) {
        bool all = true;
        counts[k] = false;
        for (size_t i = 0; i < series->n_images; i++) {
            all &= images[i]->dimensions[k] > 0;
            counts[k] |= i > 0 && images[i]->along_mm - images[i - 1]->along_mm <= same &&
                         images[i]->dimensions[k] != images[i - 1]->dimensions[k];
        }
        if (counts[k] && !all)
            return false;
        any |= counts[k];
    }
    return any;
}

void ts_dicom_rank_dimensions(struct dicom_series *series)
{
    const size_t n = series->n_images;
    bool counts[DICOM_DIMENSIONS];
    for (size_t i = 0; i < n; i++)
        series->images[i]->dimensions_rank = NAN;
    if (!find_dimensions(series, counts))
        return;
    struct item *items = malloc(n * sizeof *items);
    series->no_memory |= !items;
    for (size_t i = 0; items && i < n; i++) {
        items[i].image = series->images[i];
        for (int k = 0; k < DICOM_DIMENSIONS; k++)
            items[i].values[k] = counts[k] ? series->images[i]->dimensions[k] : 0;
    }
    if (items)
        qsort(items, n, sizeof *items, compare_items);
    double rank = 0;
    for (size_t i = 0; items && i < n; i++) {
        rank += i > 0 && compare_items(&items[i - 1], &items[i]) != 0;
        items[i].image->dimensions_rank = rank;
    }
    free(items);
}
