/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the positions of volumes along their axis. Volumes of echoes are at their echo times,
 * and those of diffusion series at their b-values. Volumes in time are at the times that the header
 * states. If it states none, they are an interval apart that it states. Without that too they are
 * at the times at which the pixels were made, and a warning says so.
 */
#include "io/dicom_series/dicom_volume_axis.h"

#include <math.h>

#include "io/dicom_series/dicom_agreement.h"
#include "io/dicom_series/dicom_clocks.h"
#include "io/dicom_series/dicom_weightings.h"

/* Fills values with the time of each volume: the least one of its slices, counted from the first
 * volume, to the microsecond at which the times of DICOM end. Returns false if times are missing or
 * do not rise; `against` is set if they fall. */
static bool list_times(const struct dicom_series *series, size_t offset, double factor,
                       double *values, bool *against)
{
    const size_t volumes = series->n_volumes;
    for (size_t v = 0; v < volumes; v++) {
        values[v] = INFINITY;
        for (size_t z = 0; z < series->n_slices; z++) {
            const double time =
                ts_dicom_image_number(series->images[v * series->n_slices + z], offset) * factor;
            if (isnan(time))
                return false;
            values[v] = fmin(values[v], time);
        }
    }
    bool rise = true;
    for (size_t v = 1; v < volumes; v++) {
        *against |= values[v] < values[v - 1];
        rise &= values[v] > values[v - 1];
    }
    for (size_t v = volumes; v-- > 0;)
        values[v] = rint((values[v] - values[0]) * 1e6) / 1e6;
    return rise;
}

static void number_volumes(struct dicom_series *series, const char *why)
{
    series->volume_axis = (struct ts_axis){
        .kind = TS_AXIS_TIME, .n = (int64_t)series->n_volumes, .spacing = 1, .unit = ""};
    ts_dicom_series_warn(series, "%s: the volumes are numbered", why);
}

/* Returns why no times that the header states are those of the volumes. */
static const char *name_no_times(const struct dicom_series *series, bool against, bool doubtful)
{
    bool stated = false;
    for (size_t i = 0; i < series->n_slices * series->n_volumes; i++) {
        const struct dicom_image *image = series->images[i];
        stated |= !isnan(image->time_offset_s) || !isnan(image->trigger_ms) ||
                  !isnan(image->frame_reference_ms) || !isnan(image->acquired_s);
    }
    if (against)
        return "the times that the header states run against the order of the volumes";
    if (doubtful)
        return "the header states no other times";
    return stated ? "the times that the header states do not tell the volumes apart"
                  : "the header states no times";
}

/* Fills values with the times of the volumes that the header states, and compares them with the
 * others that it states. Returns false if it states none. `doubtful` is set if its times of
 * acquisition contradict each other, `against` if times fall. */
static bool find_times(struct dicom_series *series, double *values, bool *against, bool *doubtful)
{
    static const struct {
        size_t place;
        double factor;
    } clocks[] = {
        {DICOM_NUMBER(acquired_s), 1},
        {DICOM_NUMBER(time_offset_s), 1},
        {DICOM_NUMBER(trigger_ms), 1e-3},
        {DICOM_NUMBER(frame_reference_ms), 1e-3},
    };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        const size_t place = clocks[i].place;
        if (!list_times(series, place, clocks[i].factor, values, against))
            continue;
        if (place == DICOM_NUMBER(trigger_ms) &&
            !ts_dicom_triggers_step_alike(series, series->n_volumes, series->n_slices))
            continue; /* each slice waited for a heartbeat of its own */
        if (place == DICOM_NUMBER(acquired_s) && ts_dicom_clocks_contradict(series)) {
            *doubtful = true;
            continue;
        }
        if (place == DICOM_NUMBER(frame_reference_ms))
            ts_dicom_begin_frames(series, values);
        series->volume_axis.positions = values;
        ts_dicom_compare_times(series, place, clocks[i].factor);
        return true;
    }
    return false;
}

/* Gives the axis of time its positions: as measured, else as multiples of the interval that the
 * header states, else those of Content Time, which may be times of the reconstruction. */
static void place_times(struct dicom_series *series, double *values)
{
    const size_t volumes = series->n_volumes;
    const struct dicom_file *file = series->images[0]->file;
    struct ts_axis *axis = &series->volume_axis;
    bool against = false, doubtful = false;
    if (!find_times(series, values, &against, &doubtful)) {
        const char *why = name_no_times(series, against, doubtful);
        const bool resolution = file->temporal_resolution_ms > 0;
        double step = file->repetition_ms / 1e3;
        if (resolution)
            step = file->temporal_resolution_ms / 1e3;
        else if (doubtful)
            step = 0; /* the volumes took longer by either clock */
        if (!(step > 0) && !against &&
            list_times(series, DICOM_NUMBER(content_s), 1, values, &against)) {
            ts_dicom_series_warn(series,
                                 "%s of acquisition: those of the volumes are of Content Time, "
                                 "when the pixels were made",
                                 why);
            axis->positions = values;
            return;
        }
        if (!(step > 0)) {
            number_volumes(series, why);
            return;
        }
        ts_dicom_series_warn(series, "%s%sthe times of the volumes are multiples of %s, %g s",
                             against ? why : "", against ? ": " : "",
                             resolution ? "Temporal Resolution" : "Repetition Time", step);
        for (size_t v = 0; v < volumes; v++)
            values[v] = (double)v * step;
    }
    axis->positions = values;
}

void ts_dicom_set_volume_axis(struct dicom_series *series, enum ts_axis_kind kind)
{
    const size_t volumes = series->n_volumes;
    double *values = ts_arena_alloc(series->arena, volumes * sizeof *values);
    if (!values) {
        series->no_memory = true;
        return;
    }
    series->volume_axis =
        (struct ts_axis){.kind = kind, .n = (int64_t)volumes, .positions = values};
    series->volume_axis.unit = kind == TS_AXIS_TIME ? "s" : kind == TS_AXIS_ECHO ? "ms" : "s/mm2";
    if (kind == TS_AXIS_TIME) {
        series->volume_axis.positions = NULL;
        place_times(series, values);
        return;
    }
    bool stated = true;
    for (size_t v = 0; v < volumes; v++) {
        const struct dicom_image *first = series->images[v * series->n_slices];
        values[v] = kind == TS_AXIS_ECHO ? first->echo_ms : first->b_value;
        stated &= isfinite(values[v]);
    }
    if (!stated)
        number_volumes(series, kind == TS_AXIS_ECHO ? "not every volume states an echo time"
                                                    : "not every volume states a b-value");
    else if (kind == TS_AXIS_B)
        ts_dicom_list_gradients(series);
}
