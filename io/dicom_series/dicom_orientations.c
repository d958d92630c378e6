/* SPDX-License-Identifier: Apache-2.0
 *
 * Images whose orientations differ a little are one volume where together they lie at even steps,
 * and apart they would not: each orientation has some of the positions only. Volumes of which each
 * has an orientation of its own, as where the scanner follows the head, are not joined.
 */
#include "io/dicom_series/dicom_orientations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vector3.h"

enum { MOST_GROUPS = 256, LEAST_POSITIONS = 3 };
static const double EVEN_SHARE = 0.05; /* of the step, by which a gap may be off a multiple of it */

bool ts_dicom_same_orientation(const struct dicom_image *a, const struct dicom_image *b,
                               double most)
{
    bool same = a->have_orientation == b->have_orientation;
    for (int i = 0; i < 6; i++)
        same = same && !(fabs(a->orientation[i] - b->orientation[i]) > most);
    return same;
}

double ts_dicom_angle_between(const double a[6], const double b[6])
{
    double degrees = 0;
    for (int axis = 0; axis < 6; axis += 3) {
        double square = 0;
        for (int i = axis; i < axis + 3; i++)
            square += (a[i] - b[i]) * (a[i] - b[i]);
        degrees = fmax(degrees, 2 * asin(fmin(1, sqrt(square) / 2)) * (180 / M_PI));
    }
    return degrees;
}

struct item {
    const struct dicom_image *image;
    double along_mm;
    size_t group, position;
};

static int compare_along(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    return (first->along_mm > second->along_mm) - (first->along_mm < second->along_mm);
}

static int compare_groups(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->group != second->group)
        return first->group < second->group ? -1 : 1;
    return (first->position > second->position) - (first->position < second->position);
}

/* Collects the images that jitter around the first. Returns how many there are; 0 where all have
 * its orientation, or one has no place. */
static size_t collect(struct dicom_image *const *images, size_t n, struct item *items)
{
    const struct dicom_image *groups[MOST_GROUPS];
    double normal[3];
    size_t count = 0, n_groups = 0;
    ts_cross(images[0]->orientation, images[0]->orientation + 3, normal);
    for (size_t i = 0; i < n; i++) {
        size_t group = 0;
        if (!ts_dicom_same_orientation(images[0], images[i], DICOM_JITTER))
            continue;
        if (!images[i]->have_position || !images[i]->have_orientation)
            return 0;
        while (group < n_groups &&
               !ts_dicom_same_orientation(groups[group], images[i], DICOM_SAME_ORIENTATION))
            group++;
        if (group == n_groups && n_groups < MOST_GROUPS)
            groups[n_groups++] = images[i];
        items[count++] = (struct item){images[i], ts_dot(images[i]->position_mm, normal), group, 0};
    }
    return n_groups > 1 ? count : 0;
}

/* Numbers the positions. Returns how many there are; 0 unless each has equally many images, and the
 * gaps are multiples of the smallest. */
static size_t number_positions(struct item *items, size_t n)
{
    const double same = ts_dicom_same_position(items[0].image);
    double step = INFINITY;
    qsort(items, n, sizeof *items, compare_along);
    for (size_t i = 1; i < n; i++) {
        const double gap = items[i].along_mm - items[i - 1].along_mm;
        items[i].position = items[i - 1].position + (gap > same);
        step = gap > same ? fmin(step, gap) : step;
    }
    const size_t positions = items[n - 1].position + 1, each = n / positions;
    for (size_t i = 0; i < n; i++) {
        const double gaps = i < each ? 0 : (items[i].along_mm - items[i - each].along_mm) / step;
        if (items[i].position != i / each || fabs(gaps - rint(gaps)) > EVEN_SHARE * fmax(1, gaps))
            return 0;
    }
    return positions >= LEAST_POSITIONS ? positions : 0;
}

/* Returns true where each orientation has images at all positions. The items get sorted by
 * orientation. */
static bool are_whole(struct item *items, size_t n, size_t positions)
{
    size_t found = 0;
    qsort(items, n, sizeof *items, compare_groups);
    for (size_t i = 0; i < n; i++) {
        const bool next = i == 0 || items[i].group != items[i - 1].group;
        if (next && i > 0 && found != positions)
            return false;
        found = next ? 1 : found + (items[i].position != items[i - 1].position);
    }
    return found == positions;
}

bool ts_dicom_is_jitter(struct dicom_image *const *images, size_t n, bool *no_memory)
{
    struct item *items = malloc(n * sizeof *items);
    *no_memory |= !items;
    const size_t count = items ? collect(images, n, items) : 0;
    const size_t positions = count > 0 ? number_positions(items, count) : 0;
    const bool jitter = positions > 0 && !are_whole(items, count, positions);
    free(items);
    return jitter;
}

void ts_dicom_find_orientation(struct dicom_series *series, double orientation[6])
{
    const double *first = series->images[0]->orientation;
    double off[6] = {0}, angle = 0;
    bool jitter = false;
    for (size_t i = 0; i < series->n_images; i++) {
        jitter |= !ts_dicom_same_orientation(series->images[0], series->images[i],
                                             DICOM_SAME_ORIENTATION);
        for (int k = 0; k < 6; k++)
            off[k] += (series->images[i]->orientation[k] - first[k]) / (double)series->n_images;
    }
    for (int k = 0; k < 6; k++)
        orientation[k] = first[k] + (jitter ? off[k] : 0);
    for (size_t i = 0; jitter && i < series->n_images; i++)
        angle = fmax(angle, ts_dicom_angle_between(orientation, series->images[i]->orientation));
    if (jitter)
        ts_dicom_series_warn(series,
                             "the orientations of the slices differ: they are up to %.2g degrees "
                             "off their mean, which the volume has",
                             angle);
}
