/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds order and spacing of slices. With row and column cosines r and c (made orthonormal), normal n = r x c,
 * slice i lies at t_i = dot(position_i, n); slices are ordered by t. The step is the mean vector from one slice to the
 * next; its length along n is the spacing. Spacing is even where every gap is within max(1e-3 mm, 0.1 %) of the median
 * one, accepted with a warning up to 1 %, refused beyond. Source: DICOM PS3.3 C.7.6.2.1.1 (positions and orientations,
 * LPS, mm).
 */
#include "io/dicom_series/dicom_geometry.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "core/search.h"

static const double SAME_POSITION_MM = 1e-3;
static const double EVEN_RELATIVE = 1e-3, JITTER_RELATIVE = 1e-2, DRIFT_RELATIVE = 5e-2;
static const double MAX_SHEAR_DEGREE = 0.05;

struct slice {
    struct dicom_file *file;
    double along_mm; /* t */
};

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

static int compare_slices(const void *a, const void *b)
{
    const struct slice *first = a, *second = b;
    if (first->along_mm != second->along_mm)
        return first->along_mm < second->along_mm ? -1 : 1;
    int by_uid = strcmp(first->file->sop_instance, second->file->sop_instance);
    return by_uid ? by_uid : strcmp(first->file->path, second->file->path);
}

/* Returns true where both files hold the same pixel bytes, read anew. Where one cannot be read *error is the errno. */
static bool same_pixels(const struct dicom_file *a, const struct dicom_file *b, int *error)
{
    const struct dicom_file *files[] = {a, b};
    bool same = a->pixel_bytes == b->pixel_bytes && !strcmp(a->syntax_uid, b->syntax_uid);
    int fds[2] = {-1, -1};
    char bytes[2][8192];
    *error = 0;
    for (int i = 0; i < 2 && *error == 0; i++) {
        fds[i] = open(files[i]->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        *error = fds[i] < 0 ? errno : 0;
    }
    for (int64_t done = 0; same && *error == 0 && done < a->pixel_bytes;) {
        int64_t left = a->pixel_bytes - done;
        size_t n = left < (int64_t)sizeof bytes[0] ? (size_t)left : sizeof bytes[0];
        for (int i = 0; i < 2 && *error == 0; i++) {
            ssize_t got = pread(fds[i], bytes[i], n, files[i]->pixel_offset + done);
            *error = got < 0 ? errno : 0;
            same = same && got == (ssize_t)n;
        }
        same = same && *error == 0 && memcmp(bytes[0], bytes[1], n) == 0;
        done += (int64_t)n;
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return same && *error == 0;
}

/* Copies of one instance stand side by side in the group's order; identical ones are dropped. */
static void drop_duplicates(struct dicom_series *series)
{
    size_t kept = 0;
    for (size_t i = 0; i < series->n_files; i++) {
        struct dicom_file *file = series->files[i], *before = kept > 0 ? series->files[kept - 1] : NULL;
        if (before && *file->sop_instance && !strcmp(file->sop_instance, before->sop_instance)) {
            int error = 0;
            bool same = !memcmp(file->position_mm, before->position_mm, sizeof file->position_mm) &&
                        file->slope == before->slope && file->intercept == before->intercept &&
                        same_pixels(file, before, &error);
            if (error != 0) {
                ts_dicom_series_refuse(series, "input-unreadable", "check the files and their permissions",
                                       "cannot compare the pixels of %s and %s, of one SOP Instance UID: %s",
                                       ts_base_name(before->path), ts_base_name(file->path), strerror(error));
                return;
            }
            if (!same) {
                ts_dicom_series_refuse(series, "duplicate-differs", "remove the one that is wrong",
                                       "%s and %s have one SOP Instance UID but different content",
                                       ts_base_name(before->path), ts_base_name(file->path));
                return;
            }
            series->n_duplicates++;
            continue;
        }
        series->files[kept++] = file;
    }
    series->n_files = kept;
    if (series->n_duplicates > 0)
        ts_dicom_series_warn(series, "%zu identical %s dropped", series->n_duplicates,
                             series->n_duplicates == 1 ? "copy of a slice was" : "copies of slices were");
}

static bool all_same_pixels(const struct slice *slices, size_t n)
{
    const struct dicom_file *first = slices[0].file;
    int error;
    for (size_t i = 1; i < n; i++) {
        const struct dicom_file *file = slices[i].file;
        if (file->slope != first->slope || file->intercept != first->intercept || !same_pixels(file, first, &error))
            return false;
    }
    return true;
}

/* Names the element in which images at one position differ, for the hint. */
static const char *name_difference(const struct slice *slices, size_t n)
{
    const struct dicom_file *first = slices[0].file;
    const char *difference = "neither time, acquisition, kind nor Instance Number tells them apart";
    const char *by_number = "they differ in Instance Number alone, as time points often do";
    bool named = false;
    for (size_t i = 1; i < n; i++) {
        const struct dicom_file *file = slices[i].file;
        if (file->temporal_position != first->temporal_position && !isnan(file->temporal_position))
            return "they differ in Temporal Position Identifier: a time series";
        if (file->b_value != first->b_value && !isnan(file->b_value))
            return "they differ in the diffusion b-value: a diffusion series";
        if (file->acquisition_number != first->acquisition_number && !isnan(file->acquisition_number)) {
            difference = "they differ in Acquisition Number: several acquisitions, often time points or directions";
            named = true;
        } else if (strcmp(file->image_type, first->image_type)) {
            difference = "they differ in Image Type: several kinds of images";
            named = true;
        } else if (!named && file->instance_number != first->instance_number && !isnan(file->instance_number)) {
            difference = by_number;
        }
    }
    return difference;
}

static bool refuse_repeats(struct dicom_series *series, const struct slice *slices)
{
    size_t n = series->n_files, positions = n > 0, repeated = 0, first = 0;
    for (size_t i = 1; i < n; i++)
        if (slices[i].along_mm - slices[i - 1].along_mm > SAME_POSITION_MM)
            positions++;
        else if (repeated++ == 0)
            first = i - 1;
    if (repeated == 0)
        return false;
    size_t same = 2;
    while (first + same < n && slices[first + same].along_mm - slices[first].along_mm <= SAME_POSITION_MM)
        same++;
    const bool copies = all_same_pixels(slices + first, same);
    const char *hint =
        copies ? "remove all but one of the copies"
               : ts_arena_printf(series->arena, "%s; put the files of one of them into a folder of their own",
                                 name_difference(slices + first, same));
    if (copies) {
        ts_dicom_series_refuse(
            series, "position-repeated", hint,
            "the same pixels %zu times under different SOP Instance UIDs at %.3f mm along the normal "
            "(%s, %s)",
            same, slices[first].along_mm, ts_base_name(slices[first].file->path),
            ts_base_name(slices[first + 1].file->path));
    } else if (positions == 1) {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "all %zu images lie at one position, %.3f mm along the normal: not a volume", n,
                               slices[0].along_mm);
    } else {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "%zu different images at %.3f mm along the normal (%s, %s); %zu images at %zu positions",
                               same, slices[first].along_mm, ts_base_name(slices[first].file->path),
                               ts_base_name(slices[first + 1].file->path), n, positions);
    }
    return true;
}

/* The step from slice to slice, and how far it leans off the normal. */
struct step {
    double vector_mm[3], spacing_mm, shear_degree;
};

static struct step measure_step(const struct slice *slices, size_t n, const double normal[3])
{
    struct step step;
    const double *first = slices[0].file->position_mm, *last = slices[n - 1].file->position_mm;
    double in_plane[3];
    step.spacing_mm = (slices[n - 1].along_mm - slices[0].along_mm) / (double)(n - 1);
    for (int i = 0; i < 3; i++) {
        step.vector_mm[i] = (last[i] - first[i]) / (double)(n - 1);
        in_plane[i] = step.vector_mm[i] - step.spacing_mm * normal[i];
    }
    step.shear_degree = atan2(length_of(in_plane), step.spacing_mm) * (180 / M_PI);
    return step;
}

static void refuse_uneven(struct dicom_series *series, const struct slice *slices, const double *sorted_gaps,
                          double median, const struct step *step)
{
    /* Where slices are missing, half of few gaps may be wide ones: the lower middle one is the step. */
    const double common = sorted_gaps[(series->n_files - 2) / 2];
    const double tolerance = fmax(SAME_POSITION_MM, JITTER_RELATIVE * common);
    size_t n = series->n_files, worst = 1, wide = 1, missing = 0;
    bool only_missing = true;
    for (size_t i = n - 1; i > 0; i--) {
        double gap = slices[i].along_mm - slices[i - 1].along_mm, whole = rint(gap / common);
        /* The lowest ones remain. */
        worst = fabs(gap - median) > JITTER_RELATIVE * median ? i : worst;
        if (fabs(gap - common) <= tolerance)
            continue;
        wide = i;
        only_missing = only_missing && whole >= 2 && fabs(gap - whole * common) <= tolerance * whole;
        missing += only_missing ? (size_t)whole - 1 : 0;
    }
    worst = only_missing && missing > 0 ? wide : worst;
    const char *before = ts_base_name(slices[worst - 1].file->path);
    const char *after = ts_base_name(slices[worst].file->path);
    double from = slices[worst - 1].along_mm, to = slices[worst].along_mm;
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

static void check_spacing(struct dicom_series *series, const struct slice *slices, const struct step *step)
{
    size_t n = series->n_files;
    double *gaps = ts_arena_alloc(series->arena, n * sizeof *gaps);
    if (!gaps) {
        series->no_memory = true;
        return;
    }
    for (size_t i = 1; i < n; i++)
        gaps[i - 1] = slices[i].along_mm - slices[i - 1].along_mm;
    qsort(gaps, n - 1, sizeof *gaps, ts_compare_doubles);
    double median = (gaps[(n - 2) / 2] + gaps[(n - 1) / 2]) / 2;
    double worst = fmax(median - gaps[0], gaps[n - 2] - median), drift = 0;
    for (size_t i = 0; i < n; i++)
        drift = fmax(drift, fabs(slices[i].along_mm - slices[0].along_mm - (double)i * step->spacing_mm));
    bool even = worst <= fmax(SAME_POSITION_MM, EVEN_RELATIVE * median);
    bool jitter = worst <= JITTER_RELATIVE * median;
    if (!even && !jitter) {
        refuse_uneven(series, slices, gaps, median, step);
    } else if (!(drift <= fmax(SAME_POSITION_MM, DRIFT_RELATIVE * median))) {
        ts_dicom_series_refuse(series, "spacing-varies", "resample the series with another tool first",
                               "slices lie up to %.3f mm off an even grid of %.3f mm", drift, step->spacing_mm);
    } else if (!even) {
        ts_dicom_series_warn(series, "slice spacing varies from %.4f to %.4f mm; the mean, %.4f, is used", gaps[0],
                             gaps[n - 2], step->spacing_mm);
    }
}

/* Refuses slices that lean off the normal, all alike (a tilted gantry) or one by one. */
static void check_shear(struct dicom_series *series, const struct slice *slices, const struct step *step)
{
    if (step->shear_degree > MAX_SHEAR_DEGREE) {
        ts_dicom_series_refuse(series, "gantry-tilt", "resample the series to an upright grid with another tool first",
                               "the volume is sheared: the step between slices leans %.2f degrees off their normal",
                               step->shear_degree);
        return;
    }
    for (size_t i = 0; i < series->n_files; i++) {
        double off[3];
        for (int k = 0; k < 3; k++)
            off[k] = slices[i].file->position_mm[k] - slices[0].file->position_mm[k] - (double)i * step->vector_mm[k];
        double along = dot(off, series->image.direction + 6);
        double shift = sqrt(fmax(0, dot(off, off) - along * along));
        if (shift > fmax(1e-2, JITTER_RELATIVE * step->spacing_mm)) {
            ts_dicom_series_refuse(series, "slice-shifted", "supply slices that lie on one line",
                                   "%s lies %.3f mm beside the line through the other slices",
                                   ts_base_name(slices[i].file->path), shift);
            return;
        }
    }
}

static void warn_of_tags(struct dicom_series *series, const struct step *step)
{
    const struct dicom_file *first = series->files[0];
    double claimed = first->spacing_between_slices_mm;
    if (!(fabs(claimed - step->spacing_mm) <= fmax(SAME_POSITION_MM, JITTER_RELATIVE * step->spacing_mm)) &&
        !isnan(claimed)) {
        ts_dicom_series_warn(series, "Spacing Between Slices says %g mm, the positions %.3f; the positions are used",
                             claimed, step->spacing_mm);
    }
    if (fabs(first->tilt_degree) > MAX_SHEAR_DEGREE) {
        ts_dicom_series_warn(series, "Gantry/Detector Tilt says %g degrees, the positions none; the positions are used",
                             first->tilt_degree);
    }
}

static void place_slices(struct dicom_series *series, const struct slice *slices, bool mixed)
{
    struct ts_image *image = &series->image;
    size_t n = series->n_files;
    if (refuse_repeats(series, slices))
        return;
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
    struct step step = measure_step(slices, n, image->direction + 6);
    check_spacing(series, slices, &step);
    check_shear(series, slices, &step);
    if (!series->refusal)
        warn_of_tags(series, &step);
    image->axes[0].spacing = step.spacing_mm;
    memcpy(image->step_z_mm, step.vector_mm, sizeof image->step_z_mm);
}

void ts_dicom_arrange(struct dicom_series *series, bool mixed)
{
    struct ts_image *image = &series->image;
    drop_duplicates(series);
    const struct dicom_file *first = series->files[0];
    double change = make_orthonormal(first->orientation, image->direction);
    if (change > 1e-4)
        ts_dicom_series_warn(series, "Image Orientation is off orthonormal by %.2g and was corrected", change);
    struct slice *slices = ts_arena_alloc(series->arena, series->n_files * sizeof *slices);
    if (!slices) {
        series->no_memory = true;
        return;
    }
    for (size_t i = 0; i < series->n_files; i++)
        slices[i] = (struct slice){series->files[i], dot(series->files[i]->position_mm, image->direction + 6)};
    qsort(slices, series->n_files, sizeof *slices, compare_slices);
    for (size_t i = 0; i < series->n_files; i++)
        series->files[i] = slices[i].file;
    first = series->files[0];
    image->rank = 3;
    image->axes[0] = (struct ts_axis){.kind = TS_AXIS_Z, .n = (int64_t)series->n_files, .unit = "mm"};
    image->axes[1] =
        (struct ts_axis){.kind = TS_AXIS_Y, .n = first->rows, .spacing = first->spacing_mm[0], .unit = "mm"};
    image->axes[2] =
        (struct ts_axis){.kind = TS_AXIS_X, .n = first->columns, .spacing = first->spacing_mm[1], .unit = "mm"};
    image->has_geometry = true;
    memcpy(image->origin_mm, first->position_mm, sizeof image->origin_mm);
    place_slices(series, slices, mixed);
}
