/* SPDX-License-Identifier: Apache-2.0
 *
 * A time without a date is only a time of day, and its zone is not used. A date of Acquisition Date
 * may be that of the first image only, so that Acquisition DateTime and Acquisition Time are
 * compared modulo a day. Either may be the start of the whole scan in all images, which contradicts
 * nothing. Source: DICOM PS3.5 6.2 (DT), PS3.3 C.12.1 (Timezone Offset From UTC).
 */
#include "io/dicom_series/dicom_clocks.h"

#include <math.h>
#include <stdlib.h>

/* ---- midnight -------------------------------------------------------------------------------- */

/* Times of day jump back at midnight. A scan hardly lasts half a day: where no image was made for
 * more than 12 hours between the first time of day and the last one, the early times are probably
 * those of the next day. That is certain only where another attribute, such as Instance Number,
 * rises with the times so read and does not with the times as they stand, and none says the
 * opposite; a series with a late phase, such as a second PET scan in the afternoon, has such a gap
 * too. A date that is the same in all images may be that of the first one, which the scanner did
 * not go on counting: two attributes that contradict it count more than it does. */

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

/* Returns the last time before the widest gap between the times at this place if that is longer
 * than half a day; else -1. */
static double find_gap(struct dicom_series *series, size_t place)
{
    const size_t n = series->n_images;
    double *times = malloc(n * sizeof *times), before = -1;
    series->no_memory |= !times;
    for (size_t i = 0; times && i < n; i++)
        times[i] = ts_dicom_image_number(series->images[i], place);
    if (times)
        qsort(times, n, sizeof *times, compare_times);
    for (size_t i = 1; times && i < n; i++)
        before = times[i] - times[i - 1] > DAY_S / 2 ? times[i - 1] : before;
    free(times);
    return before;
}

/* Returns true if a value of the images at every position rises with their times, of which those
   until `early` are a day later. *apart: such times are there beside later ones at one position. */
static bool rises(const struct dicom_series *series, size_t place, double early, bool *apart)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    bool yes = true;
    for (size_t i = 0; i < series->n_images; i++)
        for (size_t j = i + 1;
             j < series->n_images && images[j]->along_mm - images[j - 1]->along_mm <= same; j++) {
            const int days = (images[j]->acquired_s <= early) - (images[i]->acquired_s <= early);
            const double later = images[j]->acquired_s - images[i]->acquired_s + DAY_S * days;
            const double more =
                ts_dicom_image_number(images[j], place) - ts_dicom_image_number(images[i], place);
            yes &= later * more >= 0;
            *apart |= days != 0;
        }
    return yes;
}

/* Returns 1 if the value says that the early times are those of the next day, -1 if it says that
   they are not, and 0 if it says neither. */
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

/* Returns true if the times of all images have one date, or none. */
static bool are_of_one_day(const struct dicom_series *series, size_t place)
{
    const double first = floor(ts_dicom_image_number(series->images[0], place) / DAY_S);
    for (size_t i = 0; i < series->n_images; i++)
        if (floor(ts_dicom_image_number(series->images[i], place) / DAY_S) != first)
            return false;
    return true;
}

/* What the attributes say of the early times: how many say that they are those of the next day, the
 * first two of these, and how many say the opposite. */
struct votes {
    const char *names[2];
    int n, opposed;
    bool apart; /* early times are there beside later ones at one position */
};

/* Times of content of one day that have such a gap too are of the same clock, and say nothing. */
static struct votes count_votes(struct dicom_series *series, double early)
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
        {DICOM_NUMBER(trigger_ms), "Trigger Time"},
    };
    struct votes votes = {.n = 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t place = others[i].place;
        const int answer = ask(series, place, early, &votes.apart);
        const bool clock = place == DICOM_NUMBER(content_s) && are_of_one_day(series, place);
        votes.opposed += answer < 0 && !(clock && find_gap(series, place) >= 0);
        if (answer > 0 && votes.n++ < 2)
            votes.names[votes.n - 1] = others[i].name;
    }
    return votes;
}

/* Adds a day to the early times of a series of one date if two attributes say so and none says the
   opposite; if only one says so, a warning does. */
static enum dicom_midnight correct_date(struct dicom_series *series, double early,
                                        const struct votes *votes)
{
    if (votes->n == 0 || (votes->n == 1 && votes->opposed > 0))
        return MIDNIGHT_NONE;
    if (votes->opposed > 0)
        return MIDNIGHT_DOUBT;
    if (votes->n == 1) {
        ts_dicom_series_warn(
            series,
            "Acquisition Date is the same in all images, and %s contradicts the order of their "
            "times: where the scan crossed midnight, the order of the volumes is wrong",
            votes->names[0]);
        return MIDNIGHT_NONE;
    }
    ts_dicom_series_warn(
        series,
        "Acquisition Date is the same in all images, which %s and %s contradict: the scan crossed "
        "midnight, and the early times are taken for those of the next day",
        votes->names[0], votes->names[1]);
    add_day(series, early);
    return MIDNIGHT_PASSED;
}

enum dicom_midnight ts_dicom_pass_midnight(struct dicom_series *series)
{
    const size_t place = DICOM_NUMBER(acquired_s);
    const double early = are_of_one_day(series, place) ? find_gap(series, place) : -1;
    if (early < 0)
        return MIDNIGHT_NONE;
    const struct votes votes = count_votes(series, early);
    if (!votes.apart)
        return MIDNIGHT_NONE;
    if (!ts_dicom_is_undated(series))
        return correct_date(series, early, &votes);
    if (votes.n == 0 && votes.opposed > 0)
        return MIDNIGHT_NONE;
    if (votes.n == 0 || votes.opposed > 0)
        return MIDNIGHT_DOUBT;
    add_day(series, early);
    return MIDNIGHT_PASSED;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static const double SAME_STEP_S = 1;

void ts_dicom_join_zones(struct dicom_series *series)
{
    size_t dated = 0, zoned = 0, in_time = 0;
    double least = INFINITY;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        if (!(image->acquired_s > DAY_S))
            continue;
        dated++;
        zoned += !isnan(image->zone_s);
        in_time += image->zone_in_time;
        least = fmin(least, image->zone_s);
    }
    const bool mixed = zoned < dated && in_time > 0;
    for (size_t i = 0; i < series->n_images && (mixed || (zoned > 0 && zoned == dated)); i++) {
        struct dicom_image *image = series->images[i];
        if (!(image->acquired_s > DAY_S))
            continue;
        const double ahead = mixed ? NAN : image->zone_s - least;
        image->acquired_s -= ahead;
        image->clock_s -= ahead;
        image->zone_s -= ahead;
    }
    if (mixed)
        ts_dicom_series_warn(
            series,
            "Acquisition DateTime states a time zone in %zu of %zu images, and Timezone Offset "
            "From UTC (0008,0201) does not in the others: times of acquisition are not used",
            in_time, series->n_images);
}

/* Returns true if Acquisition Times and Instance Numbers give the images at every position one
 * order, and Acquisition DateTimes give some of them another one. */
static bool is_outvoted(const struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    bool against = false;
    for (size_t i = 0; i < series->n_images; i++)
        for (size_t j = i + 1;
             j < series->n_images && images[j]->along_mm - images[j - 1]->along_mm <= same; j++) {
            const double clock = remainder(images[j]->clock_s - images[i]->clock_s, DAY_S),
                         number = images[j]->instance_number - images[i]->instance_number;
            if (!(clock * number > 0))
                return false;
            against |= (images[j]->acquired_s - images[i]->acquired_s) * number < 0;
        }
    return against;
}

void ts_dicom_settle_clocks(struct dicom_series *series)
{
    const double first = series->images[0]->clock_s;
    if (!is_outvoted(series))
        return;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        image->acquired_s = first + remainder(image->clock_s - first, DAY_S);
        image->clock_s = NAN;
    }
    ts_dicom_series_warn(series, "Acquisition DateTime contradicts Acquisition Time and Instance "
                                 "Number, and is not used: times are those of Acquisition Time");
}

bool ts_dicom_clocks_contradict(struct dicom_series *series)
{
    const size_t slices = series->n_slices, n = series->n_volumes * slices;
    double most = 0;
    bool falls = false, moves = false, counts = true;
    for (size_t i = slices; i < n; i++) {
        const struct dicom_image *image = series->images[i], *before = series->images[i - slices];
        const double step = image->acquired_s - before->acquired_s,
                     clock = image->clock_s - before->clock_s;
        if (isnan(clock))
            return false;
        const double off = remainder(step - clock, DAY_S);
        most = fmax(most, fabs(off));
        falls |= step - off < 0;
        moves |= clock != 0;
        counts &= image->instance_number > before->instance_number;
    }
    if (!moves || most <= SAME_STEP_S)
        return false;
    if (falls && counts)
        ts_dicom_series_warn(series,
                             "the times of the volumes are those of Acquisition DateTime, which "
                             "Acquisition Time contradicts, and Instance Number does not");
    else
        ts_dicom_series_warn(series,
                             "Acquisition DateTime and Acquisition Time contradict each other, and "
                             "neither is used: their steps differ by up to %.6g s",
                             most);
    return !(falls && counts);
}
