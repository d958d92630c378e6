/* SPDX-License-Identifier: Apache-2.0
 *
 * A clock that stands still, or that not all images state, contradicts nothing. Times are compared
 * at each position, image by image, since scanners make the slices of a volume one after the other.
 * Trigger Time counts from a heartbeat, and Acquisition Number counts what a scanner likes: their
 * order is doubtful on its own, and is named only beside that of another attribute. A Trigger Time
 * of many seconds, or one whose steps are all longer than a heartbeat, counts from the first
 * heartbeat, and can be compared. Source: DICOM PS3.3
 * C.8.9.4 (PET Image: Frame Reference Time, Actual Frame Duration), C.7.6.16.2 (Temporal
 * Resolution).
 */
#include "io/dicom_series/dicom_agreement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_clocks.h"

static const struct clock {
    size_t place;
    double factor; /* makes seconds of it; 0: it only gives an order */
    const char *name;
    bool doubtful; /* its order is */
} clocks[] = {
    {DICOM_NUMBER(temporal_position), 0, "Temporal Position", false},
    {DICOM_NUMBER(time_offset_s), 1, "Temporal Position Time Offset", false},
    {DICOM_NUMBER(acquisition_number), 0, "Acquisition Number", true},
    {DICOM_NUMBER(acquired_s), 1, "Acquisition Time", false},
    {DICOM_NUMBER(trigger_ms), 1e-3, "Trigger Time", true},
    {DICOM_NUMBER(frame_reference_ms), 1e-3, "Frame Reference Time", false},
    {DICOM_NUMBER(instance_number), 0, "Instance Number", false},
};
enum { CLOCKS = sizeof clocks / sizeof *clocks };

/* Times are whole seconds in some headers, and numbers are rounded. */
static const double SAME_S = 1, SAME_SHARE = 0.02;
static const double SAME_INTERVAL = 0.1;  /* of an interval that describes all steps */
static const double LONGEST_CYCLE_S = 10; /* of the heart, and more */

static double read_clock(const struct dicom_series *series, size_t place, size_t v, size_t z)
{
    return ts_dicom_image_number(series->images[v * series->n_slices + z], place);
}

static const double LONGEST_BEAT_S = 2.5; /* of a slow heart, and more */
static const double MOST_STEPS = 3;       /* times the least, of one phase to the next */
static const double ROUNDED_MS = 2;

bool ts_dicom_triggers_step_alike(const struct dicom_series *series, size_t volumes,
                                  size_t positions)
{
    for (size_t v = 1; v < volumes; v++) {
        double least = INFINITY, most = 0;
        for (size_t z = 0; z < positions; z++) {
            const double step = series->images[v * positions + z]->trigger_ms -
                                series->images[(v - 1) * positions + z]->trigger_ms;
            if (!(step > 0))
                return false;
            least = fmin(least, step);
            most = fmax(most, step);
        }
        if (most > MOST_STEPS * least + ROUNDED_MS)
            return false;
    }
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Returns true if a number repeats: it then counts within parts of the series, such as the labels
 * of perfusion, and is no order of all volumes. */
static bool repeats(struct dicom_series *series, size_t place)
{
    const size_t n = series->n_volumes;
    double *values = ts_arena_alloc(series->arena, n * sizeof *values);
    bool any = false;
    series->no_memory |= !values;
    for (size_t v = 0; values && v < n; v++)
        values[v] = read_clock(series, place, v, 0);
    if (values)
        qsort(values, n, sizeof *values, ts_compare_doubles);
    for (size_t v = 1; values && v < n; v++)
        any |= values[v] == values[v - 1];
    return any;
}

/* Returns true if all images state the number, it has one order at all positions, and it falls from
 * a volume to the next one. */
static bool runs_against(const struct dicom_series *series, size_t place)
{
    bool against = false;
    for (size_t v = 0; v < series->n_volumes; v++) {
        bool rises = false, falls = false;
        for (size_t z = 0; z < series->n_slices; z++) {
            const double here = read_clock(series, place, v, z);
            if (isnan(here))
                return false;
            const double before = v > 0 ? read_clock(series, place, v - 1, z) : here;
            rises |= here > before;
            falls |= here < before;
        }
        if (rises && falls)
            return false;
        against |= falls;
    }
    return against;
}

/* Returns true if the number falls once, and the last one is before the first: it counts from
 * another volume on. */
static bool turns_round(const struct dicom_series *series, size_t place)
{
    const size_t last = series->n_volumes - 1;
    size_t falls = 0;
    for (size_t v = 1; v <= last; v++)
        falls += read_clock(series, place, v, 0) < read_clock(series, place, v - 1, 0);
    return falls == 1 && last > 1 &&
           read_clock(series, place, last, 0) < read_clock(series, place, 0, 0);
}

void ts_dicom_compare_orders(struct dicom_series *series)
{
    char names[256] = "";
    size_t n = 0, firm = 0;
    const bool cyclic = !strcmp(series->order, "Trigger Time"), /* any phase may be the first */
        timed = !strcmp(series->order, "Acquisition Time"),
               told = timed && ts_dicom_is_undated(series); /* dicom_volumes.c warns of that */
    for (size_t i = 0; i < CLOCKS; i++) {
        const struct clock *clock = &clocks[i];
        if (!strcmp(clock->name, series->order) || !runs_against(series, clock->place) ||
            (clock->factor == 0 && repeats(series, clock->place)) ||
            (cyclic && turns_round(series, clock->place)) ||
            (told && clock->place == DICOM_NUMBER(instance_number)))
            continue;
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", n++ > 0 ? " and " : "", clock->name);
        firm += !clock->doubtful;
    }
    if (firm > 0)
        ts_dicom_series_warn(series,
                             "the volumes stand on %s, which %s contradict%s at all positions: "
                             "they may be in the wrong order",
                             series->order, names, n == 1 ? "s" : "");
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Returns how long the frame lasts, in seconds; NaN if it does not say so. */
static double read_duration(const struct dicom_series *series, size_t v, size_t z)
{
    const double ms =
        ts_dicom_field_number(series->images[v * series->n_slices + z], DICOM_FIELD_frame_duration);
    return ms > 0 ? ms * 1e-3 : NAN;
}

/* Returns the longest step of a clock at slice z, in seconds. */
static double measure_step(const struct dicom_series *series, const struct clock *clock, size_t z)
{
    double step = 0;
    for (size_t v = 1; v < series->n_volumes; v++)
        step = fmax(step, clock->factor * fabs(read_clock(series, clock->place, v, z) -
                                               read_clock(series, clock->place, v - 1, z)));
    return step;
}

/* Returns how far a reference time may be from the beginning of its frame: as long as that lasts,
 * else `step`. */
static double measure_freedom(const struct dicom_series *series, size_t v, size_t z, double step)
{
    const double lasts = fmax(read_duration(series, v, z), read_duration(series, 0, z));
    return isnan(lasts) ? step : lasts;
}

/* Returns by how much a clock contradicts the times at `place`, 0 if it does not or stands still.
 */
static double measure_difference(const struct dicom_series *series, const struct clock *clock,
                                 size_t place, double factor)
{
    const bool reference = clock->place == DICOM_NUMBER(frame_reference_ms);
    double most = 0, span = 0, least = INFINITY;
    for (size_t z = 0; z < series->n_slices; z++) {
        const double step = reference ? measure_step(series, clock, z) : 0;
        for (size_t v = 1; v < series->n_volumes; v++) {
            const double passed = factor * (read_clock(series, place, v, z) -
                                            read_clock(series, place, 0, z)),
                         other = clock->factor * (read_clock(series, clock->place, v, z) -
                                                  read_clock(series, clock->place, 0, z)),
                         off = fabs(passed - other) -
                               (reference ? measure_freedom(series, v, z, step) : 0);
            if (isnan(other))
                return 0;
            span = fmax(span, fabs(other));
            least = fmin(least, clock->factor * (read_clock(series, clock->place, v, z) -
                                                 read_clock(series, clock->place, v - 1, z)));
            if (off > SAME_S + SAME_SHARE * fmax(fabs(passed), fabs(other)))
                most = fmax(most, off);
        }
    }
    if (clock->doubtful && span <= LONGEST_CYCLE_S && least <= LONGEST_BEAT_S)
        return 0; /* it may count within a cycle */
    return span > 0 ? most : 0;
}

/* Warns of Temporal Resolution if neither most steps nor their mean is near it: a scan may pause
 * once. */
static void compare_resolution(struct dicom_series *series, const char *name)
{
    const size_t n = series->n_volumes - 1;
    const double *at = series->volume_axis.positions;
    const double stated = series->images[0]->file->temporal_resolution_ms * 1e-3,
                 mean = (at[n] - at[0]) / (double)n;
    double *steps = ts_arena_alloc(series->arena, n * sizeof *steps);
    bool whole = true; /* seconds */
    series->no_memory |= !steps;
    if (!steps || !(stated > 0))
        return;
    for (size_t i = 0; i < n; i++) {
        steps[i] = at[i + 1] - at[i];
        whole &= steps[i] == rint(steps[i]);
    }
    qsort(steps, n, sizeof *steps, ts_compare_doubles);
    const double median = steps[n / 2], share = SAME_INTERVAL * stated,
                 rounded = whole ? SAME_S : 0;
    if (fabs(median - stated) > share + rounded &&
        fabs(mean - stated) > share + rounded / (double)n)
        ts_dicom_series_warn(series,
                             "the times of the volumes are those of %s, which step by %.6g s, and "
                             "Temporal Resolution is %.6g s: check which is right",
                             name, median, stated);
}

/* Warns of frames that last longer than the next one lets them. */
static void compare_durations(struct dicom_series *series, const char *name)
{
    const double *at = series->volume_axis.positions;
    double worst = 0, lasts = 0, step = 0;
    bool whole = true;
    for (size_t v = 1; v < series->n_volumes; v++)
        whole &= at[v] == rint(at[v]);
    for (size_t v = 0; v + 1 < series->n_volumes; v++) {
        const double duration = read_duration(series, v, 0), next = at[v + 1] - at[v],
                     over = duration * (1 - SAME_SHARE) - next - (whole ? SAME_S : 0);
        if (!(over > worst))
            continue;
        worst = over;
        lasts = duration;
        step = next;
    }
    if (worst > 0)
        ts_dicom_series_warn(series,
                             "the times of the volumes are those of %s, and Actual Frame Duration "
                             "contradicts them: a frame lasts %.6g s, and the next one begins %.6g "
                             "s after it",
                             name, lasts, step);
}

/* Warns of PET frames that end before the next one begins, if all slices of a frame were measured
 * at once: the scanner that goes from bed to bed measures others meanwhile. */
static void warn_of_gaps(struct dicom_series *series, const char *name)
{
    const double *at = series->volume_axis.positions;
    double longest = 0;
    size_t n = 0;
    bool whole = true;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        if (image->acquired_s != series->images[i - i % series->n_slices]->acquired_s)
            return;
        whole &= image->acquired_s == rint(image->acquired_s);
    }
    for (size_t v = 0; v + 1 < series->n_volumes; v++) {
        const double lasts = read_duration(series, v, 0), gap = at[v + 1] - at[v] - lasts;
        n += gap > SAME_SHARE * lasts + (whole ? SAME_S : 0);
        longest = fmax(longest, gap);
    }
    if (n > 0)
        ts_dicom_series_warn(
            series,
            "nothing was measured behind %zu of %zu frames, for up to %.6g s: "
            "they end, by Actual Frame Duration, before the next one begins, by %s",
            n, series->n_volumes, longest, name);
}

void ts_dicom_compare_times(struct dicom_series *series, size_t place, double factor)
{
    const char *name = "";
    for (size_t i = 0; i < CLOCKS; i++)
        name = clocks[i].place == place ? clocks[i].name : name;
    for (size_t i = 0; i < CLOCKS; i++) {
        const struct clock *clock = &clocks[i];
        const double off =
            clock->factor > 0 && clock->place != place && !runs_against(series, clock->place)
                ? measure_difference(series, clock, place, factor)
                : 0;
        if (off > 0)
            ts_dicom_series_warn(series,
                                 "the times of the volumes are those of %s, which %s contradicts "
                                 "by up to %.6g s: check which is right",
                                 name, clock->name, off);
    }
    if (place == DICOM_NUMBER(trigger_ms))
        return; /* frames of the heart's cycle */
    compare_resolution(series, name);
    if (place == DICOM_NUMBER(frame_reference_ms))
        return;
    compare_durations(series, name);
    if (place == DICOM_NUMBER(acquired_s) && !strcmp(series->modality, "PT"))
        warn_of_gaps(series, name);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Returns true if each frame ends, nearly, at the beginning of the next one. */
static bool follow(const struct dicom_series *series, const double *begins)
{
    for (size_t v = 0; v + 1 < series->n_volumes; v++) {
        const double lasts = read_duration(series, v, 0);
        if (!(fabs(begins[v + 1] - begins[v] - lasts) <= SAME_SHARE * lasts))
            return false;
    }
    return true;
}

/* Returns true if the steps of both lists are the same, to the microsecond. */
static bool step_alike(const double *a, const double *b, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!(fabs((a[i] - a[0]) - (b[i] - b[0])) <= 1e-6))
            return false;
    return true;
}

/* Returns true if the steps are even. */
static bool is_even(const double *values, size_t n)
{
    const double step = n > 1 ? values[1] - values[0] : 0;
    for (size_t i = 2; i < n; i++)
        if (fabs(values[i] - values[i - 1] - step) > SAME_SHARE * step)
            return false;
    return true;
}

void ts_dicom_begin_frames(struct dicom_series *series, double *values)
{
    const size_t n = series->n_volumes;
    double *begins = ts_arena_alloc(series->arena, n * sizeof *begins);
    bool stated = true;
    series->no_memory |= !begins;
    for (size_t v = 0; begins && v < n; v++) {
        begins[v] = values[v] - read_duration(series, v, 0) / 2;
        stated &= !isnan(begins[v]);
    }
    if (!begins || step_alike(begins, values, n))
        return;
    const bool middles = stated && follow(series, begins),
               as_stated = stated && follow(series, values);
    if (middles) {
        const double first = begins[0];
        for (size_t v = 0; v < n; v++)
            values[v] = rint((begins[v] - first) * 1e6) / 1e6;
    } else if (!as_stated && !(is_even(values, n) && !stated)) {
        ts_dicom_series_warn(series,
                             "the times of the volumes are those of Frame Reference Time, "
                             "which may be of the middle of each frame rather than of its "
                             "beginning: %s",
                             stated
                                 ? "by Actual Frame Duration the frames follow each other neither "
                                   "way"
                                 : "Actual Frame Duration is not stated");
    }
}
