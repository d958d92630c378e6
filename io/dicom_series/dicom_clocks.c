/* SPDX-License-Identifier: Apache-2.0
 *
 * A time without a date is only a time of day, and its zone is not used. A date of Acquisition Date
 * may be that of the first image only, so that Acquisition DateTime and Acquisition Time are
 * compared modulo a day. Either may be the start of the whole scan in all images, which contradicts
 * nothing. Source: DICOM PS3.5 6.2 (DT), PS3.3 C.12.1 (Timezone Offset From UTC).
 */
#include "io/dicom_series/dicom_clocks.h"

#include <math.h>

static const double DAY_S = 86400, SAME_STEP_S = 1;

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

/* Returns true where Acquisition Times and Instance Numbers give the images at every position one
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
