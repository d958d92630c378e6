/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of day jump back at midnight. A scan hardly lasts half a day: where no image was made for more than 12 hours
 * between the first time of day and the last one, the early times are probably those of the next day. That is certain
 * only where Instance Number, or Content Time with its date, rises with the times so read and does not with the times
 * as they stand; a series with a late phase, such as a second PET scan in the afternoon, has such a gap too. A date
 * that is the same in all images may be that of the first one, which the scanner did not go on counting: two attributes
 * that contradict it count more than it does.
 */
#include "io/dicom_series/dicom_midnight.h"

#include <math.h>
#include <stdlib.h>

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

static void add_day(struct dicom_series *series, double early)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (series->images[i]->acquired_s <= early)
            series->images[i]->acquired_s += DAY_S;
}

/* Returns true where all images state one date of acquisition. */
static bool has_one_date(const struct dicom_series *series)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (!(series->images[i]->acquired_s > DAY_S) ||
            floor(series->images[i]->acquired_s / DAY_S) != floor(series->images[0]->acquired_s / DAY_S))
            return false;
    return series->n_images > 0;
}

/* Adds a day to the early times of a series of one date where two attributes say so and none says the opposite; where
 * only one says so, a warning does. */
static enum dicom_midnight correct_date(struct dicom_series *series)
{
    static const struct {
        size_t place;
        const char *name;
    } others[] = {
        {DICOM_NUMBER(instance_number), "Instance Number"},
        {DICOM_NUMBER(frame_reference_ms), "Frame Reference Time"},
        {DICOM_NUMBER(content_s), "Content Date and Time"},
        {DICOM_NUMBER(temporal_position), "Temporal Position"},
        {DICOM_NUMBER(time_offset_s), "Temporal Position Time Offset"},
    };
    const double early = find_gap(series);
    const char *names[2] = {NULL, NULL};
    bool apart = false, opposed = false;
    int n = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others && early >= 0; i++) {
        const int answer = ask(series, others[i].place, early, &apart);
        opposed |= answer < 0;
        if (answer > 0 && n++ < 2)
            names[n - 1] = others[i].name;
    }
    if (!apart || opposed || n == 0)
        return MIDNIGHT_NONE;
    if (n == 1) {
        ts_dicom_series_warn(series,
                             "Acquisition Date is the same in all images, and %s contradicts the order of their times: "
                             "where the scan crossed midnight, the order of the volumes is wrong",
                             names[0]);
        return MIDNIGHT_NONE;
    }
    ts_dicom_series_warn(series,
                         "Acquisition Date is the same in all images, which %s and %s contradict: the scan crossed "
                         "midnight, and the early times are taken for those of the next day",
                         names[0], names[1]);
    add_day(series, early);
    return MIDNIGHT_PASSED;
}

enum dicom_midnight ts_dicom_pass_midnight(struct dicom_series *series)
{
    if (has_one_date(series))
        return correct_date(series);
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
    add_day(series, early);
    return MIDNIGHT_PASSED;
}
