/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds order and spacing of slices. With row and column cosines r and c (made orthonormal), normal n = r x c,
 * slice i lies at t_i = dot(position_i, n); slices are ordered by t. The step is the mean vector from one slice to the
 * next; its length along n is the spacing. Spacing is even where every gap is within max(1e-3 mm, 0.1 %) of the median
 * one, accepted with a warning up to 1 %, refused beyond. Source: DICOM PS3.3 C.7.6.2.1.1 (positions and orientations,
 * LPS, mm).
 */
#include "io/dicom_series/dicom_geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/search.h"
#include "io/dicom_series/dicom_repeats.h"
#include "io/dicom_series/dicom_volumes.h"

static const double EVEN_RELATIVE = 1e-3, JITTER_RELATIVE = 1e-2, DRIFT_RELATIVE = 5e-2;
static const double MAX_SHEAR_DEGREE = 0.05;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double length_of(const double *a)
{
    return sqrt(dot(a, a));
}

static void scale(double *a, double factor)
{
    for (int i = 0; i < 3; i++)
        a[i] *= factor;
}

/* Makes unit vectors x, y, z of cosines that are off by 1e-3 at most (the scan refused others). Returns the largest
 * change. */
static double make_orthonormal(const double orientation[6], double direction[9])
{
    double *x = direction, *y = direction + 3, *z = direction + 6, change = 0;
    memcpy(direction, orientation, 6 * sizeof *direction);
    scale(x, 1 / length_of(x));
    double along = dot(x, y);
    for (int i = 0; i < 3; i++)
        y[i] -= along * x[i];
    scale(y, 1 / length_of(y));
    z[0] = x[1] * y[2] - x[2] * y[1];
    z[1] = x[2] * y[0] - x[0] * y[2];
    z[2] = x[0] * y[1] - x[1] * y[0];
    for (int i = 0; i < 6; i++)
        change = fmax(change, fabs(direction[i] - orientation[i]));
    return change;
}

static int compare_along(const void *a, const void *b)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a, *second = *(struct dicom_image *const *)b;
    if (first->along_mm != second->along_mm)
        return first->along_mm < second->along_mm ? -1 : 1;
    return ts_dicom_compare_images(first, second);
}

/* The step from slice to slice, and how far it leans off the normal. */
struct step {
    double vector_mm[3], spacing_mm, shear_degree;
};

static struct step measure_step(const struct dicom_series *series)
{
    struct step step;
    const size_t n = series->n_slices;
    const struct dicom_image *first = series->images[0], *last = series->images[n - 1];
    const double *normal = series->image.direction + 6;
    double in_plane[3];
    step.spacing_mm = (last->along_mm - first->along_mm) / (double)(n - 1);
    for (int i = 0; i < 3; i++) {
        step.vector_mm[i] = (last->position_mm[i] - first->position_mm[i]) / (double)(n - 1);
        in_plane[i] = step.vector_mm[i] - step.spacing_mm * normal[i];
    }
    step.shear_degree = atan2(length_of(in_plane), step.spacing_mm) * (180 / M_PI);
    return step;
}

static void refuse_uneven(struct dicom_series *series, const double *sorted_gaps, double median,
                          const struct step *step)
{
    struct dicom_image *const *images = series->images;
    /* Where slices are missing, half of few gaps may be wide ones: the lower middle one is the step. */
    const double common = sorted_gaps[(series->n_slices - 2) / 2];
    const double tolerance = fmax(DICOM_SAME_POSITION_MM, JITTER_RELATIVE * common);
    size_t n = series->n_slices, worst = 1, wide = 1, missing = 0;
    bool only_missing = true;
    for (size_t i = n - 1; i > 0; i--) {
        double gap = images[i]->along_mm - images[i - 1]->along_mm, whole = rint(gap / common);
        /* The lowest ones remain. */
        worst = fabs(gap - median) > JITTER_RELATIVE * median ? i : worst;
        if (fabs(gap - common) <= tolerance)
            continue;
        wide = i;
        only_missing = only_missing && whole >= 2 && fabs(gap - whole * common) <= tolerance * whole;
        missing += only_missing ? (size_t)whole - 1 : 0;
    }
    worst = only_missing && missing > 0 ? wide : worst;
    const char *before = ts_base_name(images[worst - 1]->file->path);
    const char *after = ts_base_name(images[worst]->file->path);
    double from = images[worst - 1]->along_mm, to = images[worst]->along_mm;
    if (only_missing && missing > 0) {
        ts_dicom_series_refuse(series, "slice-missing", "supply the missing slices; none are made up",
                               "%zu slice%s missing: a gap of %.3f mm between %s (%.3f) and %s (%.3f), expected %.3f",
                               missing, missing == 1 ? "" : "s", to - from, before, from, after, to, common);
        return;
    }
    char tilt[64] = "";
    if (step->shear_degree > MAX_SHEAR_DEGREE)
        snprintf(tilt, sizeof tilt, "; it is also sheared by %.2f degrees", step->shear_degree);
    ts_dicom_series_refuse(series, "spacing-varies",
                           "put the slices of one spacing into a folder of their own, or resample with another tool",
                           "slice spacing varies from %.3f to %.3f mm (median %.3f), first between %s and %s%s",
                           sorted_gaps[0], sorted_gaps[n - 2], median, before, after, tilt);
}

static void check_spacing(struct dicom_series *series, const struct step *step)
{
    struct dicom_image *const *images = series->images;
    size_t n = series->n_slices;
    double *gaps = ts_arena_alloc(series->arena, n * sizeof *gaps);
    if (!gaps) {
        series->no_memory = true;
        return;
    }
    for (size_t i = 1; i < n; i++)
        gaps[i - 1] = images[i]->along_mm - images[i - 1]->along_mm;
    qsort(gaps, n - 1, sizeof *gaps, ts_compare_doubles);
    double median = (gaps[(n - 2) / 2] + gaps[(n - 1) / 2]) / 2;
    double worst = fmax(median - gaps[0], gaps[n - 2] - median), drift = 0;
    for (size_t i = 0; i < n; i++)
        drift = fmax(drift, fabs(images[i]->along_mm - images[0]->along_mm - (double)i * step->spacing_mm));
    bool even = worst <= fmax(DICOM_SAME_POSITION_MM, EVEN_RELATIVE * median);
    bool jitter = worst <= JITTER_RELATIVE * median;
    if (!even && !jitter) {
        refuse_uneven(series, gaps, median, step);
    } else if (!(drift <= fmax(DICOM_SAME_POSITION_MM, DRIFT_RELATIVE * median))) {
        ts_dicom_series_refuse(series, "spacing-varies", "resample the series with another tool first",
                               "slices lie up to %.3f mm off an even grid of %.3f mm", drift, step->spacing_mm);
    } else if (!even) {
        ts_dicom_series_warn(series, "slice spacing varies from %.4f to %.4f mm; the mean, %.4f, is used", gaps[0],
                             gaps[n - 2], step->spacing_mm);
    }
}

/* Refuses slices that lean off the normal, all alike (a tilted gantry) or one by one. */
static void check_shear(struct dicom_series *series, const struct step *step)
{
    struct dicom_image *const *images = series->images;
    if (step->shear_degree > MAX_SHEAR_DEGREE) {
        ts_dicom_series_refuse(series, "gantry-tilt", "resample the series to an upright grid with another tool first",
                               "the volume is sheared: the step between slices leans %.2f degrees off their normal",
                               step->shear_degree);
        return;
    }
    for (size_t i = 0; i < series->n_slices; i++) {
        double off[3];
        for (int k = 0; k < 3; k++)
            off[k] = images[i]->position_mm[k] - images[0]->position_mm[k] - (double)i * step->vector_mm[k];
        double along = dot(off, series->image.direction + 6);
        double shift = sqrt(fmax(0, dot(off, off) - along * along));
        if (shift > fmax(1e-2, JITTER_RELATIVE * step->spacing_mm)) {
            ts_dicom_series_refuse(series, "slice-shifted", "supply slices that lie on one line",
                                   "%s lies %.3f mm beside the line through the other slices",
                                   ts_base_name(images[i]->file->path), shift);
            return;
        }
    }
}

static void warn_of_tags(struct dicom_series *series, const struct step *step)
{
    const struct dicom_image *first = series->images[0];
    double claimed = first->spacing_between_slices_mm;
    if (!(fabs(claimed - step->spacing_mm) <= fmax(DICOM_SAME_POSITION_MM, JITTER_RELATIVE * step->spacing_mm)) &&
        !isnan(claimed)) {
        ts_dicom_series_warn(series, "Spacing Between Slices says %g mm, the positions %.3f; the positions are used",
                             claimed, step->spacing_mm);
    }
    if (fabs(first->file->tilt_degree) > MAX_SHEAR_DEGREE) {
        ts_dicom_series_warn(series, "Gantry/Detector Tilt says %g degrees, the positions none; the positions are used",
                             first->file->tilt_degree);
    }
}

static void place_slices(struct dicom_series *series, bool mixed)
{
    struct ts_image *image = &series->image;
    size_t n = series->n_slices;
    if (n == 1) {
        ts_dicom_series_warn(series, "a single slice: the spacing in z is unknown and stored as 0");
        return;
    }
    if (n == 2) {
        ts_dicom_series_refuse(series, mixed ? "orientation-mixed" : "slice-count",
                               "supply the whole series, or one slice alone",
                               mixed ? "the series mixes orientations, and only 2 slices share this one"
                                     : "2 slices are one gap, which nothing confirms: a volume needs 3 or more");
        return;
    }
    struct step step = measure_step(series);
    check_spacing(series, &step);
    check_shear(series, &step);
    if (!series->refusal)
        warn_of_tags(series, &step);
    image->axes[0].spacing = step.spacing_mm;
    memcpy(image->step_z_mm, step.vector_mm, sizeof image->step_z_mm);
}

void ts_dicom_arrange(struct dicom_series *series, bool mixed)
{
    struct ts_image *image = &series->image;
    ts_dicom_drop_duplicates(series);
    double change = make_orthonormal(series->images[0]->orientation, image->direction);
    if (change > 1e-4)
        ts_dicom_series_warn(series, "Image Orientation is off orthonormal by %.2g and was corrected", change);
    for (size_t i = 0; i < series->n_images; i++)
        series->images[i]->along_mm = dot(series->images[i]->position_mm, image->direction + 6);
    qsort(series->images, series->n_images, sizeof *series->images, compare_along);
    ts_dicom_split_volumes(series);
    const struct dicom_image *first = series->images[0];
    image->rank = 3;
    image->axes[0] = (struct ts_axis){.kind = TS_AXIS_Z, .n = (int64_t)series->n_slices, .unit = "mm"};
    image->axes[1] =
        (struct ts_axis){.kind = TS_AXIS_Y, .n = first->rows, .spacing = first->spacing_mm[0], .unit = "mm"};
    image->axes[2] =
        (struct ts_axis){.kind = TS_AXIS_X, .n = first->columns, .spacing = first->spacing_mm[1], .unit = "mm"};
    image->has_geometry = true;
    memcpy(image->origin_mm, first->position_mm, sizeof image->origin_mm);
    if (!series->refusal)
        place_slices(series, mixed);
}
