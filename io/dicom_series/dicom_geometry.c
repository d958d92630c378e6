/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds order and spacing of slices. With row and column cosines r and c (made orthonormal),
 * normal n = r x c, slice i is at t_i = dot(position_i, n); slices are ordered by t. A line is
 * fitted through the positions p_i of n slices by least squares, p = origin + i * step: with m = (n
 * - 1) / 2,
 *     step = sum((i - m) (p_i - p_0)) / (n (n^2 - 1) / 12),
 *     origin = p_0 + mean(p_i - p_0) - m step.
 * The spacing is the length of the step along n. If the step leans off n, as behind a tilted
 * gantry, the volume is sheared. Source: DICOM PS3.3 C.7.6.2.1.1 (positions and orientations, LPS,
 * mm).
 */
#include "io/dicom_series/dicom_geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/search.h"
#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_parse.h"
#include "io/dicom_series/dicom_clocks.h"
#include "io/dicom_series/dicom_copies.h"
#include "io/dicom_series/dicom_repeats.h"
#include "io/dicom_series/dicom_settings.h"
#include "io/dicom_series/dicom_told.h"
#include "io/dicom_series/dicom_volumes.h"
#include "io/dicom_series/dicom_weightings.h"
#include "io/source/source.h"

/* ---- orientations ---------------------------------------------------------------------------- */

/* Images whose orientations differ a little are one volume where together they lie at even steps,
 * and apart they would not: each orientation has some of the positions only. Volumes of which each
 * has an orientation of its own, as where the scanner follows the head, are not joined. */

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

/* Fills in the orientation of the series, which is that of its first image, or the mean if
   orientations jitter; a warning says so. */
static void dicom_find_orientation(struct dicom_series *series, double orientation[6])
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

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Some scans change their spacing on the way, or pause and go on elsewhere. Each part is a volume
 * of its own, a stack, and no slice has to be made up for it. A stack begins at the first slice. It
 * goes on while the step to the next slice is that between its first two; the slice behind another
 * step begins the next stack. The steps of rounded positions differ by up to four times the
 * distance of a position from its place, so that is how much they may differ. */

enum { LEAST_SLICES = 3, MAX_LISTED = 4, TEXT_BYTES = 320 };

static void step_behind(const struct dicom_series *series, size_t i, double step[3])
{
    for (int k = 0; k < 3; k++)
        step[k] = series->images[i + 1]->position_mm[k] - series->images[i]->position_mm[k];
}

/* Returns the index after the last slice of the stack that begins at slice `first`. A slice
 * belongs to it if the step to it differs from the stack's first step by at most four
 * tolerances. */
static size_t end_of_stack(const struct dicom_series *series, const struct dicom_rules *rules,
                           size_t first)
{
    double begin[3], step[3];
    size_t end = first + 1;
    if (end == series->n_slices)
        return end;
    step_behind(series, first, begin);
    const double tolerance = fmax(ts_dicom_same_position(series->images[0]),
                                  rules->spacing_tolerance / 100 * ts_length(begin));
    for (; end < series->n_slices; end++) {
        step_behind(series, end - 1, step);
        for (int k = 0; k < 3; k++)
            step[k] -= begin[k];
        if (ts_length(step) > 4 * tolerance)
            break;
    }
    return end;
}

/* Keeps the slices of the stack that rules->stack names, counted from 1 along the normal, and warns
 * of those that are left out. The images are in order along the normal, one at each position. A
 * series without such a stack is refused as stack-unknown. */
static void take_stack(struct dicom_series *series, const struct dicom_rules *rules)
{
    const size_t n_slices = series->n_slices;
    size_t first = 0, end = end_of_stack(series, rules, 0);
    int64_t number = 1;
    for (; number < rules->stack && end < n_slices; number++) {
        first = end;
        end = end_of_stack(series, rules, first);
    }
    if (number < rules->stack) {
        ts_dicom_series_refuse(series, "stack-unknown", "stack: 1 is the lowest along the normal",
                               "there is no stack %lld: the slices have %lld of even spacing",
                               (long long)rules->stack, (long long)number);
        return;
    }
    const size_t n = end - first;
    bool *left = ts_arena_alloc(series->arena, series->n_images * sizeof *left);
    series->no_memory |= !left;
    if (!left)
        return;
    for (size_t i = 0; i < series->n_images; i++)
        left[i] = i % n_slices < first || i % n_slices >= end;
    ts_dicom_series_leave_out(series, left);
    series->n_slices = n;
    if (n < n_slices)
        ts_dicom_series_warn(series,
                             "stack %lld has %zu of the %zu slices; the others are left out",
                             (long long)rules->stack, n, n_slices);
}

/* Returns a hint that lists the stacks, after `first` and a semicolon unless it is empty. Returns
 * `otherwise` if the slices are no few stacks of three or more. The text is a parameter or is in
 * the arena. */
static const char *stacks_hint(struct dicom_series *series, const struct dicom_rules *rules,
                               const char *first, const char *otherwise)
{
    char text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "%s%sstack: N takes one of the stacks of even spacing -",
                        first, *first ? "; " : "");
    for (size_t begin = 0, number = 1, end; begin < series->n_slices; begin = end, number++) {
        end = end_of_stack(series, rules, begin);
        if (number > MAX_LISTED || end - begin < LEAST_SLICES || end - begin == series->n_slices)
            return otherwise;
        const double gaps = (double)(end - begin - 1);
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s %zu has %zu slices of %.3f mm",
                     number > 1 ? "," : "", number, end - begin,
                     (series->images[end - 1]->along_mm - series->images[begin]->along_mm) / gaps);
    }
    char *kept = ts_arena_text(series->arena, text, strlen(text));
    series->no_memory |= kept == NULL;
    return kept;
}

/* ---- lines and gaps -------------------------------------------------------------------------- */

static const double MOST_OBLIQUE = 1.75, EVEN_RELATIVE = 1e-3, JITTER_RELATIVE = 1e-2,
                    DRIFT_RELATIVE = 5e-2;

const struct dicom_rules ts_dicom_default_rules = {.spacing_tolerance = DICOM_SPACING_TOLERANCE};

static void scale(double *a, double factor)
{
    for (int i = 0; i < 3; i++)
        a[i] *= factor;
}

/* Makes unit vectors x, y, z of cosines that are off by 1e-3 at most (the scan refused others).
 * Returns the largest change. */
static double make_orthonormal(const double orientation[6], double direction[9])
{
    double *x = direction, *y = direction + 3, *z = direction + 6, change = 0;
    memcpy(direction, orientation, 6 * sizeof *direction);
    scale(x, 1 / ts_length(x));
    double along = ts_dot(x, y);
    for (int i = 0; i < 3; i++)
        y[i] -= along * x[i];
    scale(y, 1 / ts_length(y));
    ts_cross(x, y, z);
    for (int i = 0; i < 6; i++)
        change = fmax(change, fabs(direction[i] - orientation[i]));
    return change;
}

static int compare_along(const void *a, const void *b)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a,
                             *second = *(struct dicom_image *const *)b;
    if (first->along_mm != second->along_mm)
        return first->along_mm < second->along_mm ? -1 : 1;
    return ts_dicom_compare_images(first, second);
}

/* On the line through the positions slice 0 is at the origin, and each further one a step behind
 * the one before. */
struct line {
    double origin_mm[3], step_mm[3], spacing_mm, lean_degree;
};

/* The misfit says how far slices lie from their places on the line: along the normal, and beside it
 * within their own plane. */
struct misfit {
    double along_mm, beside_mm;
    size_t along, beside; /* the slices that do so */
};

/* Sets what follows from the step. */
static void finish_line(const struct dicom_series *series, struct line *line)
{
    const double *normal = series->image.direction + 6;
    double in_plane[3];
    line->spacing_mm = ts_dot(line->step_mm, normal);
    for (int i = 0; i < 3; i++)
        in_plane[i] = line->step_mm[i] - line->spacing_mm * normal[i];
    line->lean_degree = atan2(ts_length(in_plane), line->spacing_mm) * (180 / M_PI);
}

static struct line fit_line(const struct dicom_series *series)
{
    struct line line = {.spacing_mm = 0};
    const double n = (double)series->n_slices, middle = (n - 1) / 2;
    const double *first = series->images[0]->position_mm;
    for (int k = 0; k < 3; k++) {
        double sum = 0, moment = 0;
        for (size_t i = 0; i < series->n_slices; i++) {
            const double from_first = series->images[i]->position_mm[k] - first[k];
            sum += from_first;
            moment += ((double)i - middle) * from_first;
        }
        line.step_mm[k] = moment / (n * (n * n - 1) / 12);
        line.origin_mm[k] = first[k] + (sum / n - middle * line.step_mm[k]);
    }
    finish_line(series, &line);
    return line;
}

/* Chains of version 1 take the line from the first slice to the last. */
static struct line join_ends(const struct dicom_series *series)
{
    struct line line = {.spacing_mm = 0};
    const struct dicom_image *first = series->images[0],
                             *last = series->images[series->n_slices - 1];
    memcpy(line.origin_mm, first->position_mm, sizeof line.origin_mm);
    for (int k = 0; k < 3; k++)
        line.step_mm[k] =
            (last->position_mm[k] - first->position_mm[k]) / (double)(series->n_slices - 1);
    finish_line(series, &line);
    line.spacing_mm = (last->along_mm - first->along_mm) / (double)(series->n_slices - 1);
    return line;
}

static struct misfit measure_misfit(const struct dicom_series *series, const struct line *line)
{
    struct misfit misfit = {.along_mm = 0};
    for (size_t i = 0; i < series->n_slices; i++) {
        double off[3];
        for (int k = 0; k < 3; k++)
            off[k] = series->images[i]->position_mm[k] - line->origin_mm[k] -
                     (double)i * line->step_mm[k];
        const double along = fabs(ts_dot(off, series->image.direction + 6));
        const double beside = sqrt(fmax(0, ts_dot(off, off) - along * along));
        misfit.along = along > misfit.along_mm ? i : misfit.along;
        misfit.beside = beside > misfit.beside_mm ? i : misfit.beside;
        misfit.along_mm = fmax(misfit.along_mm, along);
        misfit.beside_mm = fmax(misfit.beside_mm, beside);
    }
    return misfit;
}

/* Lays the step along the normal, around the middle of the stack, if the whole lean, from the first
 * slice to the last, is within the tolerance of positions: such a lean is one of misplaced slices,
 * not of a gantry. */
static void set_upright(const struct dicom_series *series, const struct dicom_rules *rules,
                        struct line *line)
{
    const double *normal = series->image.direction + 6, gaps = (double)series->n_slices - 1;
    const double tolerance = fmax(ts_dicom_same_position(series->images[0]),
                                  rules->spacing_tolerance / 100 * line->spacing_mm);
    struct line upright = *line;
    for (int k = 0; k < 3; k++) {
        upright.step_mm[k] = line->spacing_mm * normal[k];
        upright.origin_mm[k] += gaps / 2 * (line->step_mm[k] - upright.step_mm[k]);
    }
    finish_line(series, &upright);
    if (line->lean_degree > TS_UPRIGHT_DEGREE &&
        gaps * tan(line->lean_degree * (M_PI / 180)) * line->spacing_mm <= tolerance &&
        measure_misfit(series, &upright).beside_mm <= tolerance)
        *line = upright;
}

/* The gaps are the distances of neighbors along the normal. */
struct gaps {
    double *sorted;
    double median, worst; /* worst: how far a gap is off the median */
};

static bool measure_gaps(struct dicom_series *series, struct gaps *gaps)
{
    const size_t n = series->n_slices;
    gaps->sorted = ts_arena_alloc(series->arena, n * sizeof *gaps->sorted);
    series->no_memory |= !gaps->sorted;
    if (!gaps->sorted)
        return false;
    for (size_t i = 1; i < n; i++)
        gaps->sorted[i - 1] = series->images[i]->along_mm - series->images[i - 1]->along_mm;
    qsort(gaps->sorted, n - 1, sizeof *gaps->sorted, ts_compare_doubles);
    gaps->median = (gaps->sorted[(n - 2) / 2] + gaps->sorted[(n - 1) / 2]) / 2;
    gaps->worst = fmax(gaps->median - gaps->sorted[0], gaps->sorted[n - 2] - gaps->median);
    return true;
}

/* Returns the smallest tolerance, in whole tenths of a percent, that takes slices which lie so far
 * off the line; else `otherwise`, if the chain cannot state as much. */
static const char *tolerance_hint(struct dicom_series *series, double off_mm,
                                  const struct line *line, const char *otherwise)
{
    const double percent = ceil(off_mm / line->spacing_mm * 1000) / 10;
    const char *hint =
        percent > DICOM_MOST_TOLERANCE
            ? otherwise
            : ts_arena_printf(series->arena, "spacing_tolerance: %g takes them as even", percent);
    series->no_memory |= hint == NULL;
    return hint ? hint : "";
}

/* Refuses slices of which gaps are off the median by more than this share of it. off_mm: how far
 * the farthest slice is off the line; INFINITY if no tolerance plays a part. */
static void refuse_uneven(struct dicom_series *series, const struct gaps *gaps, double relative,
                          const struct line *line, double off_mm, const struct dicom_rules *rules)
{
    struct dicom_image *const *images = series->images;
    /* If slices are missing, half of few gaps may be wide ones: the lower middle one is the step.
     */
    const double common = gaps->sorted[(series->n_slices - 2) / 2];
    const double tolerance = fmax(ts_dicom_same_position(series->images[0]), relative * common);
    size_t n = series->n_slices, worst = 1, wide = 1, missing = 0;
    bool only_missing = true;
    for (size_t i = n - 1; i > 0; i--) {
        double gap = images[i]->along_mm - images[i - 1]->along_mm, whole = rint(gap / common);
        /* The lowest ones remain. */
        worst = fabs(gap - gaps->median) > relative * gaps->median ? i : worst;
        if (fabs(gap - common) <= tolerance)
            continue;
        wide = i;
        only_missing =
            only_missing && whole >= 2 && fabs(gap - whole * common) <= tolerance * whole;
        missing += only_missing ? (size_t)whole - 1 : 0;
    }
    worst = only_missing && missing > 0 ? wide : worst;
    const char *before = ts_dicom_image_name(series, images[worst - 1]);
    const char *after = ts_dicom_image_name(series, images[worst]);
    double from = images[worst - 1]->along_mm, to = images[worst]->along_mm;
    if (only_missing && missing > 0) {
        const char *supply = series->n_files == 1
                                 ? "resample the file with another tool: no slice is made up"
                                 : "supply the missing slices; none are made up";
        ts_dicom_series_refuse(
            series, "slice-missing", stacks_hint(series, rules, supply, supply),
            "%zu slice%s missing: a gap of %.3f mm between %s (%.3f) and %s (%.3f), expected %.3f",
            missing, missing == 1 ? "" : "s", to - from, before, from, after, to, common);
        return;
    }
    char tilt[64] = "";
    if (line->lean_degree > TS_UPRIGHT_DEGREE)
        snprintf(tilt, sizeof tilt, "; it is also sheared by %.2f degrees", line->lean_degree);
    const char *apart = tolerance_hint(
        series, off_mm, line,
        series->n_files == 1 ? "resample the file with another tool"
                             : "put the slices of one spacing into a folder of their own, or "
                               "resample with another tool");
    ts_dicom_series_refuse(
        series, "spacing-varies",
        stacks_hint(series, rules, tolerance_hint(series, off_mm, line, ""), apart),
        "slice spacing varies from %.3f to %.3f mm (median %.3f), first between %s and %s%s",
        gaps->sorted[0], gaps->sorted[n - 2], gaps->median, before, after, tilt);
}

/* Refuses slices that are off an even grid though their gaps are alike. */
static void refuse_drift(struct dicom_series *series, double off_mm, const struct line *line,
                         const char *hint)
{
    ts_dicom_series_refuse(series, "spacing-varies", hint,
                           "slices lie up to %.3f mm off an even grid of %.3f mm", off_mm,
                           line->spacing_mm);
}

static void refuse_shift(struct dicom_series *series, const struct misfit *misfit,
                         const struct line *line, const struct dicom_rules *rules)
{
    static const char line_up[] = "supply slices that lie on one line";
    const double off_mm =
        rules->positions == POSITIONS_FIT ? fmax(misfit->along_mm, misfit->beside_mm) : INFINITY;
    const char *supply = tolerance_hint(series, off_mm, line, line_up);
    ts_dicom_series_refuse(series, "slice-shifted", stacks_hint(series, rules, supply, supply),
                           "%s lies %.3f mm beside the line through the other slices",
                           ts_dicom_image_name(series, series->images[misfit->beside]),
                           misfit->beside_mm);
}

static void check_fit(struct dicom_series *series, const struct gaps *gaps, const struct line *line,
                      const struct dicom_rules *rules)
{
    const double relative = rules->spacing_tolerance / 100;
    const double tolerance =
        fmax(ts_dicom_same_position(series->images[0]), relative * line->spacing_mm);
    const struct misfit misfit = measure_misfit(series, line);
    const double off = fmax(misfit.along_mm, misfit.beside_mm);
    if (misfit.along_mm > tolerance && gaps->worst > fmax(tolerance, relative * gaps->median))
        refuse_uneven(series, gaps, relative, line, off, rules);
    else if (misfit.along_mm > tolerance)
        refuse_drift(series, misfit.along_mm, line,
                     tolerance_hint(series, misfit.along_mm, line,
                                    "resample the series with another tool first"));
    else if (misfit.beside_mm > tolerance)
        refuse_shift(series, &misfit, line, rules);
    else if (off > ts_dicom_same_position(series->images[0]))
        ts_dicom_series_warn(series,
                             "slices lie up to %.4f mm (%.2g %%) off a line of even steps; the "
                             "fitted spacing, %.4f mm, is used",
                             off, 100 * off / line->spacing_mm, line->spacing_mm);
}

/* This is the rule of version 1 of chains. Spacing is even if every gap is within max(1e-3 mm, 0.1
 * %) of the median one, accepted with a warning up to 1 %, refused beyond. */
static void check_gaps(struct dicom_series *series, const struct gaps *gaps,
                       const struct line *line, const struct dicom_rules *rules)
{
    const struct misfit misfit = measure_misfit(series, line);
    double drift = 0;
    for (size_t i = 0; i < series->n_slices; i++)
        drift = fmax(drift, fabs(series->images[i]->along_mm - series->images[0]->along_mm -
                                 (double)i * line->spacing_mm));
    const bool even = gaps->worst <=
                      fmax(ts_dicom_same_position(series->images[0]), EVEN_RELATIVE * gaps->median);
    if (!even && gaps->worst > JITTER_RELATIVE * gaps->median)
        refuse_uneven(series, gaps, JITTER_RELATIVE, line, INFINITY, rules);
    else if (!(drift <=
               fmax(ts_dicom_same_position(series->images[0]), DRIFT_RELATIVE * gaps->median)))
        refuse_drift(series, drift, line, "resample the series with another tool first");
    else if (misfit.beside_mm > fmax(1e-2, JITTER_RELATIVE * line->spacing_mm))
        refuse_shift(series, &misfit, line, rules);
    else if (!even)
        ts_dicom_series_warn(series,
                             "slice spacing varies from %.4f to %.4f mm; the mean, %.4f, is used",
                             gaps->sorted[0], gaps->sorted[series->n_slices - 2], line->spacing_mm);
}

/* Judges how far the slices lean off their normal. */
static void check_tilt(struct dicom_series *series, const struct line *line,
                       const struct dicom_rules *rules)
{
    if (line->lean_degree <= TS_UPRIGHT_DEGREE)
        return;
    if (rules->tilt == TILT_REFUSE || line->lean_degree > TS_MOST_LEAN_DEGREE)
        ts_dicom_series_refuse(
            series, "gantry-tilt",
            line->lean_degree > TS_MOST_LEAN_DEGREE ? "supply slices that lie one behind the other"
                                                    : "tilt: keep reads it with its exact step",
            "the volume is sheared: the step between slices leans %.2f degrees off their normal",
            line->lean_degree);
    else if (!series->refusal)
        ts_dicom_series_warn(series,
                             "the volume is sheared: the step between slices leans %.2f degrees "
                             "off their normal, as behind a tilted gantry; it is kept",
                             line->lean_degree);
}

static void warn_of_tags(struct dicom_series *series, const struct line *line)
{
    const struct dicom_image *first = series->images[0];
    double claimed = first->spacing_between_slices_mm;
    if (!(fabs(claimed - line->spacing_mm) <=
          fmax(ts_dicom_same_position(series->images[0]), JITTER_RELATIVE * line->spacing_mm)) &&
        !isnan(claimed)) {
        ts_dicom_series_warn(
            series, "Spacing Between Slices says %g mm, the positions %.3f; the positions are used",
            claimed, line->spacing_mm);
    }
    /* Slice Location counts along an axis of the patient in some headers, and along the normal in
     * others. */
    const struct dicom_image *last = series->images[series->n_slices - 1];
    const double located =
        fabs(last->slice_location_mm - first->slice_location_mm) / (double)(series->n_slices - 1);
    if (located > 0 && last->tile == first->tile &&
        (located > MOST_OBLIQUE * line->spacing_mm || line->spacing_mm > MOST_OBLIQUE * located)) {
        ts_dicom_series_warn(series,
                             "Slice Locations say that slices are %.3f mm apart, the positions "
                             "%.3f; the positions are used",
                             located, line->spacing_mm);
    }
    if (fabs(first->file->tilt_degree) > TS_UPRIGHT_DEGREE &&
        line->lean_degree <= TS_UPRIGHT_DEGREE) {
        ts_dicom_series_warn(
            series,
            "Gantry/Detector Tilt says %g degrees, the positions none; the positions are used",
            first->file->tilt_degree);
    }
}

/* Returns true if two slices are known to have no other between them: they are frames of one file,
 * or the header states the gap as spacing. */
static bool is_gap_stated(const struct dicom_series *series, double gap)
{
    const struct dicom_image *first = series->images[0];
    return first->file == series->images[1]->file ||
           fabs(fabs(first->spacing_between_slices_mm) - gap) <= JITTER_RELATIVE * gap;
}

/* Refuses two slices that are no volume by themselves. */
static void check_pair(struct dicom_series *series, bool mixed)
{
    const double gap = series->images[1]->along_mm - series->images[0]->along_mm;
    const double thickness = ts_dicom_field_number(series->images[0], DICOM_FIELD_slice_thickness);
    if (mixed)
        ts_dicom_series_refuse(series, "orientation-mixed",
                               "supply the whole series, or name one of the two files",
                               "the series mixes orientations, and only 2 slices share this one");
    else if (is_gap_stated(series, gap))
        return;
    else if (fabs(thickness - gap) <= JITTER_RELATIVE * gap)
        ts_dicom_series_warn(
            series, "2 slices are one gap, of %.3f mm, which Slice Thickness confirms", gap);
    else if (gap < thickness)
        ts_dicom_series_warn(
            series,
            "2 slices are one gap, of %.3f mm, in which no other fits: Slice Thickness is %.3f mm",
            gap, thickness);
    else
        ts_dicom_series_refuse(series, "slice-count",
                               "supply the whole series, or name one of the two files",
                               "2 slices are one gap, of %.3f mm, which neither Spacing Between "
                               "Slices nor Slice Thickness confirms",
                               gap);
}

static void place_slices(struct dicom_series *series, bool mixed, const struct dicom_rules *rules)
{
    struct ts_image *image = &series->image;
    struct gaps gaps;
    size_t n = series->n_slices;
    if (n == 1) {
        ts_dicom_series_warn(series, "a single slice: the spacing in z is unknown and stored as 0");
        return;
    }
    if (n == 2)
        check_pair(series, mixed);
    if (series->refusal || !measure_gaps(series, &gaps))
        return;
    const bool fit = rules->positions == POSITIONS_FIT;
    struct line line = fit ? fit_line(series) : join_ends(series);
    if (fit)
        set_upright(series, rules, &line);
    (fit ? check_fit : check_gaps)(series, &gaps, &line, rules);
    check_tilt(series, &line, rules);
    if (!series->refusal)
        warn_of_tags(series, &line);
    image->axes[0].spacing = line.spacing_mm;
    memcpy(image->origin_mm, line.origin_mm, sizeof image->origin_mm);
    memcpy(image->step_z_mm, line.step_mm, sizeof image->step_z_mm);
}

/* Returns what is to be said of pixels without spacing: that they are none of squares if Pixel
 * Aspect Ratio says so, which gives no lengths; "" if there is a spacing. */
static const char *describe_pixels(struct dicom_series *series, const char *without)
{
    const struct dicom_image *first = series->images[0];
    const char *text = first->file->aspect;
    double sides[2] = {1, 1};
    if (first->have_spacing)
        return "";
    if (!ts_dicom_parse_decimals(text, strlen(text), sides, 2) || !(sides[0] > 0) ||
        !(sides[1] > 0) || sides[0] == sides[1])
        return without;
    text = ts_arena_printf(series->arena,
                           "%s; by Pixel Aspect Ratio pixels are %.4g times as high as wide, which "
                           "is not used: lengths are in pixels",
                           without, sides[0] / sides[1]);
    series->no_memory |= !text;
    return text ? text : "";
}

/* A radiograph and frames without groups have sizes at most, and no place. Frames keep the order of
 * their file. */
static void describe_unplaced(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    struct ts_axis *axes = series->image.axes;
    const size_t n = series->n_images;
    const double between =
        first->have_spacing && n > 1 ? fabs(first->spacing_between_slices_mm) : 0;
    axes[0] = ts_source_axis(TS_AXIS_Z, (int64_t)n, between);
    axes[1] =
        ts_source_axis(TS_AXIS_Y, first->rows, first->have_spacing ? first->spacing_mm[0] : 0);
    axes[2] =
        ts_source_axis(TS_AXIS_X, first->columns, first->have_spacing ? first->spacing_mm[1] : 0);
    series->n_slices = n;
    series->n_volumes = 1;
    if (series->radiograph)
        ts_dicom_series_warn(series, "a radiograph: it has no place in the patient%s",
                             describe_pixels(series, ", and no Pixel Spacing"));
    else
        ts_dicom_series_warn(series,
                             "nothing states where the frames lie: they are taken for slices in "
                             "the order of their file, without a place in the patient%s",
                             describe_pixels(series, " and without Pixel Spacing"));
}

void ts_dicom_arrange(struct dicom_series *series, bool mixed, const struct dicom_rules *rules)
{
    struct ts_image *image = &series->image;
    ts_dicom_join_zones(series);
    ts_dicom_drop_duplicates(series, rules->duplicates == DUPLICATES_FIRST, rules->sandbox);
    if (series->unplaced) {
        describe_unplaced(series);
        return;
    }
    double orientation[6];
    dicom_find_orientation(series, orientation);
    double change = make_orthonormal(orientation, image->direction);
    if (change > 1e-4)
        ts_dicom_series_warn(
            series, "Image Orientation is off orthonormal by %.2g and was corrected", change);
    for (size_t i = 0; i < series->n_images; i++)
        series->images[i]->along_mm = ts_dot(series->images[i]->position_mm, image->direction + 6);
    qsort(series->images, series->n_images, sizeof *series->images, compare_along);
    if (rules->duplicates == DUPLICATES_FIRST)
        ts_dicom_keep_first(series);
    ts_dicom_take_ge_weighting(series);
    ts_dicom_take_canon_weighting(series);
    ts_dicom_take_unstated_weighting(series);
    ts_dicom_split_volumes(series);
    if (!series->refusal && rules->stack > 0)
        take_stack(series, rules);
    const struct dicom_image *first = series->images[0];
    image->rank = 3;
    image->axes[0] =
        (struct ts_axis){.kind = TS_AXIS_Z, .n = (int64_t)series->n_slices, .unit = "mm"};
    image->axes[1] = (struct ts_axis){
        .kind = TS_AXIS_Y, .n = first->rows, .spacing = first->spacing_mm[0], .unit = "mm"};
    image->axes[2] = (struct ts_axis){
        .kind = TS_AXIS_X, .n = first->columns, .spacing = first->spacing_mm[1], .unit = "mm"};
    image->has_geometry = true;
    memcpy(image->origin_mm, first->position_mm, sizeof image->origin_mm);
    if (!series->refusal)
        place_slices(series, mixed, rules);
    if (series->refusal)
        return;
    ts_dicom_warn_of_settings(series);
    ts_dicom_warn_of_comments(series);
}
