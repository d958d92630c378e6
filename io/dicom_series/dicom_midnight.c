/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of day jump back at midnight. A scan hardly lasts half a day: where no image was made for more than 12 hours
 * between the first time of day and the last one, the early times are probably those of the next day. That is certain
 * only where Instance Number, or Content Time with its date, rises with the times so read and does not with the times
 * as they stand; a series with a late phase, such as a second PET scan in the afternoon, has such a gap too.
 */
#include "io/dicom_series/dicom_midnight.h"

#include <math.h>
#include <stdlib.h>

#include "io/dicom_series/dicom_repeats.h"

static const double DAY_S = 86400;

static int compare_times(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

bool ts_dicom_is_undated(const struct dicom_series *series)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (!(series->images[i]->acquired_s <= DAY_S))
            return false;
    return true;
}

/* Returns the last time before the widest gap between the times where that is longer than half a day; else -1. */
static double find_gap(struct dicom_series *series)
{
    const size_t n = series->n_images;
    double *times = malloc(n * sizeof *times), before = -1;
    series->no_memory |= !times;
    for (size_t i = 0; times && i < n; i++)
        times[i] = series->images[i]->acquired_s;
    if (times)
        qsort(times, n, sizeof *times, compare_times);
    for (size_t i = 1; times && i < n; i++)
        before = times[i] - times[i - 1] > DAY_S / 2 ? times[i - 1] : before;
    free(times);
    return before;
}

/* Returns true where a value of the images at every position rises with their times, of which those until `early` are a
 * day later. *apart: such times are there beside later ones at one position. */
static bool rises(const struct dicom_series *series, size_t place, double early, bool *apart)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    bool yes = true;
    for (size_t i = 0; i < series->n_images; i++)
        for (size_t j = i + 1; j < series->n_images && images[j]->along_mm - images[j - 1]->along_mm <= same; j++) {
            const int days = (images[j]->acquired_s <= early) - (images[i]->acquired_s <= early);
            const double later = images[j]->acquired_s - images[i]->acquired_s + DAY_S * days;
            const double more = ts_dicom_image_number(images[j], place) - ts_dicom_image_number(images[i], place);
            yes &= later * more >= 0;
            *apart |= days != 0;
        }
    return yes;
}

/* Returns 1 where the value says that the early times are those of the next day, -1 where it says that they are not,
 * and 0 where it says neither. */
static int ask(const struct dicom_series *series, size_t place, double early, bool *apart)
{
    bool unused = false;
    return rises(series, place, early, apart) - rises(series, place, -1, &unused);
}

enum dicom_midnight ts_dicom_pass_midnight(struct dicom_series *series)
{
    const double early = ts_dicom_is_undated(series) ? find_gap(series) : -1;
    bool apart = false, dated = true;
    if (early < 0)
        return MIDNIGHT_NONE;
    int answer = ask(series, DICOM_NUMBER(instance_number), early, &apart);
    for (size_t i = 0; i < series->n_images; i++)
        dated &= series->images[i]->content_s > DAY_S;
    if (answer == 0 && dated)
        answer = ask(series, DICOM_NUMBER(content_s), early, &apart);
    if (!apart || answer < 0)
        return MIDNIGHT_NONE;
    if (answer == 0)
        return MIDNIGHT_DOUBT;
    for (size_t i = 0; i < series->n_images; i++)
        if (series->images[i]->acquired_s <= early)
            series->images[i]->acquired_s += DAY_S;
    return MIDNIGHT_PASSED;
}
