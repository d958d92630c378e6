/* SPDX-License-Identifier: Apache-2.0
 *
 * Works out what the values of a series are: value = stored * slope + intercept, slice by slice in
 * double. The element type is the smallest integer that holds every possible value of every slice
 * (from Bits Stored, sign, slope and intercept, never from the first slice alone), f32 if a slope
 * or intercept is not whole. Unit and quantity come from modality, Rescale Type and Units; a text
 * that is no known unit is "unrecognized", because it reaches results. Source: DICOM PS3.3
 * C.11.1.1.2 (rescale), C.8.2.1 (CT), C.8.9.1 (PET units), C.8.8.3 (dose).
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_series/dicom_geometry.h"
#include "io/dicom_series/dicom_uptake.h"
#include "io/source/source.h"

static void choose_dtype(struct dicom_series *series)
{
    static const enum ts_dtype candidates[] = {TS_U8, TS_I8, TS_U16, TS_I16, TS_U32, TS_I32};
    double low = INFINITY, high = -INFINITY;
    bool whole = true;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        double slice_low, slice_high;
        whole &= ts_dicom_image_range(image, &slice_low, &slice_high);
        low = fmin(low, slice_low);
        high = fmax(high, slice_high);
    }
    series->image.dtype = TS_F32;
    if (!(low >= -FLT_MAX && high <= FLT_MAX)) {
        ts_dicom_series_refuse(series, "rescale-overflow", "correct Rescale Slope and Intercept",
                               "values may reach from %g to %g, more than a 32-bit float holds",
                               low, high);
        return;
    }
    for (size_t i = 0; whole && i < sizeof candidates / sizeof *candidates; i++) {
        double type_low, type_high;
        ts_dtype_range(candidates[i], &type_low, &type_high);
        if (low >= type_low && high <= type_high) {
            series->image.dtype = candidates[i];
            return;
        }
    }
}

/* Rescale Type is required of CT whose values are not HU, and of multi-energy CT. Where it is
 * absent all the same, the standard gives HU only to images that are no localizers; maps of
 * multi-energy CT and of perfusion say by their Image Type that they are none. */
static bool lacks_type(const struct dicom_image *image)
{
    return image->have_slope && !*image->rescale_type &&
           (!strcmp(image->kind, "LOCALIZER") || !strcmp(image->file->multi_energy, "YES") ||
            ts_dicom_is_energy(image));
}

static bool is_hounsfield(const struct dicom_image *image)
{
    const bool named = !strcmp(image->rescale_type, "HU");
    return named || (image->have_slope && !*image->rescale_type && !lacks_type(image));
}

static const double SAME_TIME_S = 1; /* seconds in which hardly anything decays */
static const double SAME_RATIO =
    0.001; /* of scales, by which they differ where they were rounded */

static const char *pet_unit(const char *units)
{
    static const char *const names[][2] = {
        {"BQML", "Bq/ml"}, {"GML", "g/ml"}, {"CNTS", "counts"}, {"CM2ML", "cm2/ml"}, {"NONE", "1"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(units, names[i][0]))
            return names[i][1];
    return ts_dicom_known(ts_dicom_units, units);
}

/* Warns of PET values of several times that were not corrected for decay. */
static void warn_of_decay(struct dicom_series *series)
{
    double first = INFINITY, last = -INFINITY;
    bool corrected = false;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        corrected |= strcmp(ts_dicom_field_text(image, DICOM_FIELD_decay_correction), "NONE") != 0;
        first = fmin(first, image->acquired_s);
        last = fmax(last, image->acquired_s);
    }
    if (!corrected && last - first > SAME_TIME_S)
        ts_dicom_series_warn(series,
                             "Decay Correction is NONE, and the slices were acquired over %.6g s: "
                             "their values do not compare with each other",
                             last - first);
}

/* Warns of counts that were counted for times of several lengths. */
static void warn_of_counts(struct dicom_series *series)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        const double lasts = ts_dicom_field_number(series->images[i], DICOM_FIELD_frame_duration);
        least = fmin(least, lasts);
        most = fmax(most, lasts);
    }
    if (most - least > SAME_RATIO * most)
        ts_dicom_series_warn(series,
                             "the values are counts, and Actual Frame Duration is %.6g to %.6g s: "
                             "they do not compare with each other",
                             least * 1e-3, most * 1e-3);
}

static void choose_pet_unit(struct dicom_series *series, bool uptake)
{
    const struct dicom_image *first = series->images[0];
    const char *units = first->file->units;
    /* Enhanced PET states the unit as Rescale Type. */
    if (!*units && strcmp(first->rescale_type, "US"))
        units = first->rescale_type;
    series->image.unit = *units ? pet_unit(units) : "unknown";
    if (!*units)
        ts_dicom_series_warn(series,
                             "Units (0054,1001) is absent: what the PET values are is not known");
    if (uptake) /* of which dicom_uptake.c takes care */
        return;
    if (!strcmp(units, "CNTS") && first->file->activity_scale > 0)
        ts_dicom_series_warn(
            series,
            "the values are counts, as Units says: Philips' private Activity Concentration Scale "
            "Factor (7053,1009), %g, is not applied, which makes Bq/ml of them",
            first->file->activity_scale);
    warn_of_decay(series);
    if (!strcmp(units, "CNTS") || !strcmp(units, "PROPCNTS"))
        warn_of_counts(series);
}

/* Takes the unit that Image Type makes certain; warns if it only tells that there is one. */
static void choose_unit_by_kind(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    const char *unit = ts_dicom_map_unit(first);
    if (strcmp(first->file->modality, "MR") != 0 || !*unit)
        return;
    series->image.unit = unit;
    if (!strcmp(unit, "unknown"))
        ts_dicom_series_warn(series,
                             "the images are %s by their Image Type, and Rescale Type (0028,1054) "
                             "names no unit: the unit of the values is given as unknown",
                             strcmp(first->component, "PHASE") ? "a map of measured values"
                                                               : "phases");
}

/* Returns true if Real World Value Mapping is linear and gives what the rescale values give. */
static bool maps_alike(const struct dicom_image *image)
{
    const double slope = image->real_slope, intercept = image->real_intercept;
    return image->have_slope && image->file->lut.entries == 0 &&
           fabs(slope - image->slope) <= SAME_RATIO * fabs(slope) &&
           fabs(intercept - image->intercept) <= fmax(1e-6, SAME_RATIO * fabs(intercept));
}

/* Takes the unit of a Real World Value Mapping that gives each image the values that the rescale
 * gives. Returns false if there is none. */
static bool take_mapped_unit(struct dicom_series *series)
{
    const char *unit = series->images[0]->real_unit;
    bool alike = *unit && (!strcmp(unit, "1") || ts_dicom_known(ts_dicom_units, unit) == unit);
    for (size_t i = 0; i < series->n_images && alike; i++)
        alike = maps_alike(series->images[i]) && !strcmp(series->images[i]->real_unit, unit);
    if (alike)
        series->image.unit = unit;
    return alike;
}

/* Takes the unit that Rescale Type names, as maps of MR have one; "US" and "normalized" are
 * none. */
static void choose_map_unit(struct dicom_series *series)
{
    const char *type = series->images[0]->rescale_type;
    if (!*type || !strcasecmp(type, "US") || !strcasecmp(type, "normalized")) {
        if (!take_mapped_unit(series))
            choose_unit_by_kind(series);
        return;
    }
    series->image.unit = ts_dicom_known(ts_dicom_units, type);
    if (series->image.unit != type)
        ts_dicom_series_warn(series,
                             "Rescale Type (0028,1054) names a unit that is not known: the unit of "
                             "the values is given as %s",
                             series->image.unit);
}

static void choose_unit(struct dicom_series *series, const struct dicom_rules *rules)
{
    const struct dicom_image *first = series->images[0];
    series->image.quantity = TS_INTENSITY;
    series->image.unit = "1";
    if (ts_dicom_is_dose(first->file)) {
        const bool gray = !strcmp(first->file->dose_units, "GY");
        series->image.quantity = TS_DOSE;
        series->image.unit = gray ? "Gy" : "1";
        if (!gray && strcmp(first->file->dose_units, "RELATIVE"))
            ts_dicom_series_warn(series,
                                 "Dose Units is neither GY nor RELATIVE: the doses have no unit");
    } else if (!strcmp(first->file->modality, "CT")) {
        if (is_hounsfield(first)) {
            series->image.quantity = TS_HU;
            series->image.unit = "HU";
            return;
        }
        if (lacks_type(first)) {
            series->image.unit = "unknown";
            if (strcmp(first->kind, "LOCALIZER") != 0) /* of which a warning tells */
                ts_dicom_series_warn(series,
                                     "Rescale Type (0028,1054) is absent, which a map or "
                                     "multi-energy CT states: what the CT values are is not known");
            return;
        }
        if (*first->rescale_type && strcmp(first->rescale_type, "US"))
            series->image.unit = ts_dicom_known(ts_dicom_units, first->rescale_type);
        ts_dicom_series_warn(series, "the CT values are not in Hounsfield units: %s",
                             first->have_slope || *first->rescale_type
                                 ? "Rescale Type says otherwise"
                                 : "Rescale Slope is absent");
    } else if (!strcmp(first->file->modality, "PT")) {
        choose_pet_unit(series, rules->to_suv != TO_SUV_NONE);
    } else {
        choose_map_unit(series);
    }
}

bool ts_dicom_has_scale(const struct dicom_series *series)
{
    size_t n = 0;
    while (n < series->n_images &&
           !isnan(series->images[n]->scale_slope + series->images[n]->scale_intercept))
        n++;
    return n == series->n_images;
}

/* Replaces the rescale values, which Philips scanners choose for display, by the private ones,
 * which give values that compare from series to series: (stored - Scale Intercept) / Scale
 * Slope. */
static void rescale_precisely(struct dicom_series *series)
{
    bool usable = ts_dicom_has_scale(series);
    for (size_t i = 0; i < series->n_images; i++)
        usable &= series->images[i]->scale_slope > 0 && series->images[i]->file->lut.entries == 0;
    if (!usable)
        ts_dicom_series_refuse(series, "mr-scale-missing",
                               "mr_scale: display takes the values of Rescale Slope",
                               "not all slices have Philips' private Scale Slope and Scale "
                               "Intercept (2005,100E and 100D), which mr_scale: precise needs");
    for (size_t i = 0; usable && i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        image->slope = 1 / image->scale_slope;
        image->intercept = -image->scale_intercept / image->scale_slope;
        image->have_slope = image->have_intercept = true;
    }
}

/* Warns of slices whose Rescale Slope is not to Philips' private Scale Slope as that of the others:
 * what viewers show of them is not what was measured, even in relation to each other. */
static void warn_of_scales(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    const double ratio = (first->have_slope ? first->slope : 1) * first->scale_slope;
    bool differs = false;
    for (size_t i = 1; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        differs |= fabs((image->have_slope ? image->slope : 1) * image->scale_slope - ratio) >
                   SAME_RATIO * fabs(ratio);
    }
    if (differs && ts_dicom_has_scale(series))
        ts_dicom_series_warn(series,
                             "Philips' private scale differs from slice to slice, and Rescale "
                             "Slope does not follow it: values of mr_scale: display do not compare "
                             "with each other, those of mr_scale: precise do");
}

/* Warns of a Pixel Padding Value that no pixel can have, because it is negative or has more bits
 * than the pixels. Pixels that the writer meant as padding then count as measured. */
static void warn_of_padding(struct dicom_series *series)
{
    const struct dicom_image *odd = NULL;
    double low, high, least, most;
    size_t n = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        if (!image->have_padding || ts_dicom_padding_range(image, &low, &high))
            continue;
        odd = odd ? odd : image;
        n++;
    }
    if (!odd)
        return;
    const struct dicom_cells cells = ts_dicom_cells(odd->file);
    ts_dicom_padding_range(odd, &low, &high);
    ts_dicom_stored_range(&cells, &least, &most);
    char range[64] = "";
    if (high > low)
        snprintf(range, sizeof range, " (with its limit %g to %g)", low, high);
    ts_dicom_series_warn(series,
                         "no pixel can have the Pixel Padding Value %g%s of %zu of %zu slices, "
                         "whose stored values are %.0f to %.0f: none is taken for padding",
                         odd->padding, range, n, series->n_images, least, most);
}

/* Warns of a Real World Value Mapping that says something else than the rescale values beside it:
 * another slope or intercept, or the unit that these do not have. PET has values by weight in it
 * beside those by volume, which are both right. */
static void warn_of_mapping(struct dicom_series *series)
{
    const struct dicom_image *first = series->images[0];
    const struct dicom_file *file = first->file;
    const char *unit = ts_dicom_known(ts_dicom_units, first->real_unit);
    const bool named = *unit && unit == first->real_unit && strcmp(unit, "1") &&
                       (!strcmp(series->image.unit, "1") || !strcmp(series->image.unit, "unknown"));
    const double slope = first->real_slope, intercept = first->real_intercept;
    if (!first->have_slope || file->lut.entries > 0 || !(fabs(slope) > 0) || !isfinite(intercept) ||
        !strcmp(file->modality, "PT"))
        return;
    if (!maps_alike(first) || named)
        ts_dicom_series_warn(series,
                             "Real World Value Mapping (0040,9096) is not applied: it gives the "
                             "values %s%sa slope of %.6g and an intercept of %.6g, where the "
                             "rescale values are %.6g and %.6g",
                             named ? unit : "", named ? " with " : "", slope, intercept,
                             first->slope, first->intercept);
}

/* Returns the name of the attribute by which the values of two images mean something else; NULL if
 * they mean the same. An image that lacks its rescale values lacks their type as well. */
static const char *differing_unit(const struct dicom_image *a, const struct dicom_image *b,
                                  bool slopes_missing)
{
    if (!slopes_missing && strcmp(a->rescale_type, b->rescale_type) != 0)
        return "Rescale Type";
    if (strcmp(a->file->units, b->file->units) != 0)
        return "Units";
    if (strcmp(a->file->dose_units, b->file->dose_units) != 0)
        return "Dose Units";
    return strcmp(a->file->photometric, b->file->photometric) != 0 ? "Photometric Interpretation"
                                                                   : NULL;
}

void ts_dicom_quantify(struct dicom_series *series, const struct dicom_rules *rules)
{
    const struct dicom_image *first = series->images[0];
    size_t without = 0;
    for (size_t i = 0; i < series->n_images; i++)
        without += !series->images[i]->have_slope;
    const bool some = without > 0 && without < series->n_images;
    for (size_t i = 0; i < series->n_images; i++) {
        const char *differs = differing_unit(first, series->images[i], some);
        if (differs) {
            ts_dicom_series_refuse(series, "units-mixed", "supply slices of one kind",
                                   "%s and %s disagree in %s", ts_dicom_image_name(series, first),
                                   ts_dicom_image_name(series, series->images[i]), differs);
            return;
        }
    }
    if (some) {
        ts_dicom_series_refuse(
            series, "rescale-missing", "supply slices that all carry their rescale values",
            "Rescale Slope is missing in %zu of %zu slices", without, series->n_images);
        return;
    }
    if (!strcmp(first->file->photometric, "MONOCHROME1")) {
        ts_dicom_series_warn(
            series, "MONOCHROME1: low values are meant to be shown bright; they are not inverted");
    }
    if (rules->mr_scale == MR_SCALE_PRECISE)
        rescale_precisely(series);
    else
        warn_of_scales(series);
    choose_unit(series, rules);
    warn_of_mapping(series);
    ts_dicom_take_uptake(series, rules);
    choose_dtype(series);
    warn_of_padding(series);
}
