/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the images of a series one by one, before anything is made of where they lie: what kind of
 * images they are, whether their files can be used, and whether each says where it lies.
 */
#include "io/dicom_series/dicom_images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/search.h"
#include "core/vector3.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_series/dicom_completeness.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/dicom_series/dicom_unread.h"

/* The kind of a series is that of its first image, because kinds make series of their own. What
 * files lack is counted over all of them, so that the message says how many are meant. */

/* Refuses the series with a text such as "no Image Position (Patient) in 12 of 120 slices". */
static void refuse_without(struct dicom_series *series, size_t without, const char *code,
                           const char *name)
{
    if (without > 0)
        ts_dicom_series_refuse(
            series, code, "supply files with their whole headers, since this cannot be guessed",
            "no %s in %zu of %zu slices", name, without, series->n_images);
}

/* SOP classes (ts_dicom_is_class), and modalities of volumes and of images that are projections. */
static const char *const parametric_maps[] = {"30", NULL};
static const char *const volumes[] = {"CT", "MR", "PT", NULL};
static const char *const radiographs[] = {"CR", "DX", "IO", "MG", "PX", "RF", "RG", "XA", NULL};

static bool is_among(const char *const *list, const char *text)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

/* Returns true if each image has a place of its own in the patient, as slices have that a program
   wrote as captures: several pictures of one place are no slices. */
static bool has_places(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    double normal[3];
    ts_cross(first->orientation, first->orientation + 3, normal);
    double *along = ts_arena_alloc(series->arena, series->n_images * sizeof *along);
    series->no_memory |= !along;
    for (size_t i = 0; along && i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        if (!image->have_position || !image->have_orientation || !image->have_spacing)
            return false;
        along[i] = ts_dot(image->position_mm, normal);
    }
    if (!along || series->n_images < 2)
        return false;
    qsort(along, series->n_images, sizeof *along, ts_compare_doubles);
    for (size_t i = 1; i < series->n_images; i++)
        if (along[i] - along[i - 1] <= ts_dicom_same_position(first))
            return false;
    return true;
}

/* Returns true for secondary captures that are read as slices. */
static bool check_captures(struct dicom_series *series)
{
    if (!ts_dicom_is_capture(series->images[0]->file))
        return false;
    const bool slices = has_places(series);
    series->overview |= slices;
    if (slices)
        ts_dicom_series_warn(series, "secondary captures, each with a place of its own in the "
                                     "patient: they are read as slices");
    else
        ts_dicom_series_refuse(
            series, "secondary-capture", "choose a series of CT, MR or PET slices",
            "secondary captures: pictures of a screen or a page, not measured slices");
    return slices;
}

/* Refuses a series of another modality than those that are read. */
static void refuse_modality(struct dicom_series *series)
{
    const char *meaning = "";
    if (!strcmp(series->modality, "NM"))
        meaning = " (nuclear medicine: frames of a gamma camera, by detector, angle or time)";
    else if (!strcmp(series->modality, "US"))
        meaning = " (ultrasound)";
    ts_dicom_series_refuse(
        series, "modality",
        "choose a series of CT, MR or PET slices, a dose or one radiograph; or write the frames of "
        "a file as an array, numpy.save('frames.npy', pydicom.dcmread(FILE).pixel_array), and read "
        "that by npy: frames.npy, with its axes and spacing",
        "modality %s%s, expected CT, MR, PT or RTDOSE", series->modality, meaning);
}

/* Returns true if the images may have any modality, or none. */
static bool check_kind(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    const char *code = first->file->refusal_code;
    if (ts_dicom_is_regions(first->file->sop_class)) {
        ts_dicom_series_refuse(series, "no-image-objects", DICOM_MASK_HINT,
                               "%s, whose values are numbers of regions",
                               ts_dicom_object_noun(first->file->sop_class));
        return true;
    }
    if (code && !strcmp(code, "dicom-color"))
        return true; /* the file says more of it than its class */
    const bool slices = check_captures(series);
    series->radiograph =
        is_among(radiographs, series->modality) && series->n_images == 1 && !first->have_position;
    const bool map = ts_dicom_is_class(first->file->sop_class, parametric_maps);
    if (map)
        ts_dicom_series_warn(series, "a parametric map: its values are as stored, without a unit");
    else if (first->file->real_world && !first->have_slope && first->file->lut.entries == 0)
        ts_dicom_series_warn(series, "the values are as stored: there is no Rescale Slope, and "
                                     "Real World Value Mapping (0040,9096) is not applied");
    if (*series->modality && !is_among(volumes, series->modality) && !series->radiograph && !map &&
        !slices && !(ts_dicom_is_dose(first->file) && !strcmp(series->modality, "RTDOSE")))
        refuse_modality(series);
    series->unplaced = series->radiograph || first->unplaced;
    series->overview |= series->radiograph || !strcmp(first->kind, "LOCALIZER");
    if (!strcmp(first->kind, "LOCALIZER"))
        ts_dicom_series_warn(series, "a localizer: an overview for planning, not part of a volume");
    return slices;
}

/* Returns what the user can do about a refused file. */
static const char *hint_for(const struct dicom_file *file)
{
    const char *code = file->refusal_code;
    static const char *const hints[][2] = {
        {"dicom-multi-frame",
         "choose another series, or get this one from the scanner with the places of its slices, "
         "as enhanced or single slices; a tool that splits the file cannot know them"},
        {"dicom-mosaic", "split it into slices with another tool first"},
        {"dicom-syntax", "convert it to explicit VR little endian with another tool first"},
        {"dicom-color", "choose a series of single-channel slices, or convert the colors to gray "
                        "with another tool first"},
        {"dicom-pixels-short", "transfer the file again"},
        {"dicom-truncated", "transfer the file again"},
        {"dicom-length", "transfer the file again"},
    };
    if (file->advice)
        return file->advice;
    if (file->frames < 1)
        return "correct Number of Frames (0028,0008), or remove it from files of one image";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(code, hints[i][0]))
            return hints[i][1];
    return "supply a correct file, or take it out of the input";
}

/* Returns true if the images lie as far from each other as slices do, and so are none of the
 * mosaics that they say they are: those of a series have one position. */
static bool are_unpacked(struct dicom_series *series)
{
    static const double much = 0.05, gap_share = 2; /* slices have gaps as thick as they, at most */
    const struct dicom_image *first = series->images[0];
    const double between = first->spacing_between_slices_mm,
                 thickness = ts_dicom_field_number(first, DICOM_FIELD_slice_thickness);
    double normal[3], step = INFINITY;
    double *along = ts_arena_alloc(series->arena, series->n_images * sizeof *along);
    series->no_memory |= !along;
    ts_cross(first->orientation, first->orientation + 3, normal);
    for (size_t i = 0; along && i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        if (!image->have_position || !image->have_orientation)
            return false;
        along[i] = ts_dot(image->position_mm, normal);
    }
    if (!along)
        return false;
    qsort(along, series->n_images, sizeof *along, ts_compare_doubles);
    for (size_t i = 1; i < series->n_images; i++)
        if (along[i] - along[i - 1] > ts_dicom_same_position(first))
            step = fmin(step, along[i] - along[i - 1]);
    return between > 0 ? fabs(step - between) <= much * between
                       : step >= (1 - much) * thickness && step <= gap_share * thickness;
}

static void check_files(struct dicom_series *series, bool any_modality)
{
    const bool unpacked = series->images[0]->file->unsure_mosaic && are_unpacked(series);
    size_t refused = 0, warned = 0, no_position = 0, no_orientation = 0, no_spacing = 0;
    const struct dicom_file *bad = NULL, *odd = NULL, *last = NULL;
    const struct dicom_image *first = series->images[0];
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        const bool refused_file =
            image->file->refusal && !(unpacked && image->file->unsure_mosaic &&
                                      !strcmp(image->file->refusal_code, "dicom-mosaic"));
        bad = !bad && refused_file ? image->file : bad;
        odd = !odd && image->file->warning ? image->file : odd;
        refused += refused_file && image->file != last;
        last = image->file;
        warned += image->file->warning != NULL && image == image->file->images;
        no_position += !image->have_position;
        no_orientation += !image->have_orientation;
        no_spacing += !image->have_spacing;
    }
    if (bad) {
        ts_dicom_series_refuse(series, bad->refusal_code, hint_for(bad),
                               "%zu of %zu file%s cannot be used; %s: %s", refused, series->n_files,
                               series->n_files == 1 ? "" : "s", ts_base_name(bad->path),
                               bad->refusal);
    }
    if (odd)
        ts_dicom_series_warn(series, "%zu of %zu file%s: %s", warned, series->n_files,
                             series->n_files == 1 ? "" : "s", odd->warning);
    if (!*series->modality && !any_modality)
        ts_dicom_series_refuse(series, "modality", "choose a series of CT, MR or PET slices",
                               "no modality, expected CT, MR, PT or RTDOSE");
    if (series->unplaced)
        return;
    refuse_without(series, no_position, "position-missing", "Image Position (Patient)");
    refuse_without(series, no_orientation, "orientation-missing", "Image Orientation (Patient)");
    refuse_without(series, no_spacing, "pixel-spacing-missing", "Pixel Spacing");
    for (size_t i = 1; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        for (int k = 0; k < 2; k++) {
            if (!(fabs(image->spacing_mm[k] - first->spacing_mm[k]) <=
                  1e-4 * fabs(first->spacing_mm[k])))
                ts_dicom_series_refuse(
                    series, "pixel-spacing-mixed", "supply slices of one reconstruction",
                    "Pixel Spacing is %g by %g mm in %s and %g by %g mm in %s",
                    first->spacing_mm[0], first->spacing_mm[1], ts_dicom_image_name(series, first),
                    image->spacing_mm[0], image->spacing_mm[1], ts_dicom_image_name(series, image));
        }
    }
}

/* Warns if echo times that differ were taken as one. */
static void warn_of_echoes(struct dicom_series *series)
{
    const double echo = series->images[0]->echo_ms;
    double high = echo;
    for (size_t i = 0; i < series->n_images; i++)
        high =
            series->images[i]->echo_ms == echo ? fmax(high, series->images[i]->echo_time_ms) : high;
    if (high > echo)
        ts_dicom_series_warn(
            series, "Echo Times from %g to %g ms are taken as one: they differ by %g ms at most",
            echo, high,
            high - echo <= DICOM_SAME_ECHO_MS ? DICOM_SAME_ECHO_MS : DICOM_NEAR_ECHO_MS);
}

/* Takes the damaged files out of a series that has others too. */
static void drop_damaged(struct dicom_series *series)
{
    const char *reason = NULL;
    const struct dicom_file *last = NULL;
    size_t kept = 0, dropped = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const bool damaged = ts_dicom_is_damage(image->file->refusal_code);
        if (!damaged)
            series->images[kept++] = image;
        else if (!reason)
            reason = image->file->refusal;
        dropped += damaged && image->file != last;
        last = image->file;
    }
    if (kept == 0 || kept == series->n_images)
        return;
    series->n_dropped = dropped;
    series->n_images = kept;
    series->n_files -= dropped;
    ts_dicom_series_warn(series, "%zu damaged file%s skipped: %s", series->n_dropped,
                         series->n_dropped == 1 ? " was" : "s were", reason);
}

void ts_dicom_check_images(struct dicom_series *series, bool skip)
{
    if (skip)
        drop_damaged(series);
    const bool any_modality = check_kind(series);
    check_files(series, any_modality);
    ts_dicom_warn_of_unread(series);
    warn_of_echoes(series);
}
