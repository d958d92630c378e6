/* SPDX-License-Identifier: Apache-2.0
 *
 * uptake = activity * measure of the body / (dose * 2^(-(t - t0) / half-life)), where t0 is the
 * time of injection and t the time to which the activity is corrected: the start of the scan
 * (START), the injection (ADMIN), or that of the frame (NONE). Headers state the start of a scan
 * several times. Statements that contradict each other by more than a frame lasts are refused.
 * Weight, dose and times are the patient's, so that no message has them.
 */
#include "io/dicom_series/dicom_uptake.h"

#include <math.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"

static const double SAME_S = 1;         /* in which hardly anything decays */
static const double SAME_FACTOR = 0.02; /* of two that Philips states */
static const double SAME_SHARE = 0.001, SAME_HALF_LIFE = 0.03, SAME_BODY = 1e-6;
static const double MOST_HALF_LIVES = 10; /* from the injection to the scan */
/* After so many a time without a date may be that of the day before. */
static const double MOST_UNDATED_HALF_LIVES = 6;
static const double EARLY_S = 600; /* by which a dynamic scan may begin before the injection */
static const double GAP_S = 60; /* from Series Time to the first image, if nothing else states when
                                   the scan began */
static const double DAY_S = 86400;
static const double LEAST_BQ_PER_KG = 2e4, MOST_BQ_PER_KG = 5e9, LEAST_KG = 0.005, MOST_KG = 400,
                    LEAST_M = 0.3, MOST_M = 2.6;
static const char BY_HAND[] = "to_suv: factor, suv_factor: NUMBER takes one that you work out, in "
                              "g/ml for each Bq/ml",
                  AS_THEY_ARE[] = "leave to_suv out: the values stay as they are";

/* What PET is made with: half-lives in seconds, and the codes of Radionuclide Code Sequence,
 * SNOMED's of today and of before; "" if it has none here. Source: Decay Data Evaluation Project;
 * DICOM PS3.16 CID 4020. */
static const struct {
    double half_life_s;
    const char *code, *old_code;
} nuclides[] = {
    {75.5, "79197006", "C-159A2"},    /* Rb-82 */
    {122.27, "129504001", "C-B1038"}, /* O-15 */
    {586.2, "", "C-127A5"},           /* Cu-62 */
    {597.9, "21576001", "C-107A1"},   /* N-13 */
    {1221.8, "40565003", "C-105A1"},  /* C-11 */
    {3120, "424079002", "C-163AA"},   /* Tc-94m */
    {4062.6, "49927009", "C-131A3"},  /* Ga-68 */
    {6586.2, "77004003", "C-111A1"},  /* F-18 */
    {14292, "126600", ""},            /* Sc-44 */
    {33480, "", "C-131A1"},           /* Ga-66 */
    {45721, "", "C-127A2"},           /* Cu-64 */
    {53064, "10738001", "C-162A3"},   /* Y-86 */
    {58320, "79523006", "C-113A2"},   /* Br-76 */
    {63108, "", ""},                  /* Co-55 */
    {230580, "14691008", "C-162A7"},  /* Y-90 */
    {282240, "63360001", "C-168A4"},  /* Zr-89 */
    {360806, "40937006", "C-114A5"},  /* I-124 */
    {483060, "37225000", "C-149A1"},  /* Mn-52 */
};

struct uptake {
    struct dicom_series *series;
    const struct dicom_uptake *header; /* of the first image; those of the others are the same */
    enum dicom_to_suv kind;
    double decay; /* ln 2 / half-life; 0 if nothing has to decay */
};

static const char *uptake_units(const struct uptake *uptake)
{
    const struct dicom_image *first = uptake->series->images[0];
    return *first->file->units ? first->file->units : first->rescale_type;
}

/* A factor is for activity only. */
static const char *uptake_hint(const struct uptake *uptake, const char *code)
{
    return strcmp(code, "suv-units") && !strcmp(uptake_units(uptake), "BQML") ? BY_HAND
                                                                              : AS_THEY_ARE;
}

/* Refuses the series, and returns false. */
static bool uptake_refuse(struct uptake *uptake, const char *code, const char *text)
{
    ts_dicom_series_refuse(uptake->series, code, uptake_hint(uptake, code), "no uptake values: %s",
                           text);
    return false;
}

static bool uptake_within(struct uptake *uptake, double value, double least, double most,
                          const char *name)
{
    if (value >= least && value <= most)
        return true;
    const char *code = isnan(value) ? "suv-missing" : "suv-value";
    ts_dicom_series_refuse(uptake->series, code, uptake_hint(uptake, code),
                           isnan(value) ? "no uptake values: %s is missing"
                                        : "no uptake values: %s is not one that can be, or not in "
                                          "its unit (expected %g to %g)",
                           name, least, most);
    return false;
}

static bool uptake_differs(double a, double b)
{
    return isnan(a) != isnan(b) || fabs(a - b) > SAME_BODY * fabs(a);
}

static bool uptake_moments_differ(double a, double b)
{
    return isnan(a) != isnan(b) || fabs(a - b) > SAME_S;
}

/* Returns true if all images state the same patient and dose. */
static bool uptake_is_one(struct uptake *uptake)
{
    const struct dicom_uptake *a = uptake->header;
    for (size_t i = 0; i < uptake->series->n_images; i++)
        if (uptake->series->images[i]->file->uptake.several)
            return uptake_refuse(uptake, "suv-value", "several injections are stated");
    const char *decay =
        ts_dicom_field_text(uptake->series->images[0], DICOM_FIELD_decay_correction);
    for (size_t i = 1; i < uptake->series->n_images; i++) {
        const struct dicom_uptake *b = &uptake->series->images[i]->file->uptake;
        if (strcmp(ts_dicom_field_text(uptake->series->images[i], DICOM_FIELD_decay_correction),
                   decay) != 0 ||
            strcmp(a->decay_corrected, b->decay_corrected) != 0 ||
            uptake_moments_differ(a->corrected_to.seconds, b->corrected_to.seconds))
            return uptake_refuse(uptake, "suv-value",
                                 "the decay of some slices is corrected to another time than that "
                                 "of others, or not");
        if (uptake_differs(a->weight_kg, b->weight_kg) ||
            uptake_differs(a->height_m, b->height_m) || strcmp(a->sex, b->sex) != 0 ||
            uptake_differs(a->dose_bq, b->dose_bq) ||
            uptake_differs(a->half_life_s, b->half_life_s) || strcmp(a->nuclide, b->nuclide) != 0 ||
            uptake_moments_differ(a->start.seconds, b->start.seconds) ||
            uptake_moments_differ(a->start_s, b->start_s))
            return uptake_refuse(uptake, "suv-value",
                                 "slices disagree in weight, height, sex, dose, half-life or time "
                                 "of injection");
    }
    return true;
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Gives the weight, lean body mass or body surface area, in g or cm2. Source: QIBA; W. P. T. James
 * (1976) with 128 for men, as DICOM corrects it; S. Janmahasatian et al. (2005); D. and E. F. Du
 * Bois (1916). */
static bool uptake_body(struct uptake *uptake, double *measure)
{
    const struct dicom_uptake *header = uptake->header;
    const double kg = header->weight_kg, m = header->height_m, cm = 100 * m;
    const bool man = !strcmp(header->sex, "M");
    if (!uptake_within(uptake, kg, LEAST_KG, MOST_KG, "Patient's Weight (0010,1030) in kg"))
        return false;
    *measure = 1000 * kg;
    if (uptake->kind == TO_SUV_BODY_WEIGHT)
        return true;
    if (!uptake_within(uptake, m, LEAST_M, MOST_M, "Patient's Size (0010,1020) in m"))
        return false;
    *measure = 71.84 * pow(kg, 0.425) * pow(cm, 0.725);
    if (uptake->kind == TO_SUV_BODY_SURFACE_AREA)
        return true;
    if (!man && strcmp(header->sex, "F") != 0)
        return uptake_refuse(uptake, "suv-missing",
                             "Patient's Sex (0010,0040), which lean body mass needs, is neither M "
                             "nor F");
    if (uptake->kind == TO_SUV_LEAN_BODY_MASS)
        *measure = 1000 * 9270 * kg / ((man ? 6680 : 8780) + (man ? 216 : 244) * kg / (m * m));
    else
        *measure = 1000 * ((man ? 1.10 : 1.07) * kg - (man ? 128 : 148) * (kg / cm) * (kg / cm));
    return *measure > 0 || uptake_refuse(uptake, "suv-value",
                                         "the lean body mass of this weight and size is not "
                                         "above 0");
}

/* ---- times ----------------------------------------------------------------------------------- */

static bool is_dated(double seconds)
{
    return seconds > DAY_S;
}

/* The start of a scan lies between these times, as images say. */
struct scan_start {
    double low, high;
    bool stated;
};

static void scan_start_narrow(struct scan_start *start, double low, double high)
{
    start->low = fmax(start->low, low);
    start->high = fmin(start->high, high);
    start->stated = true;
}

/* Returns the seconds that a frame lasts; 0 if that is not stated. */
static double frame_lasts(const struct dicom_image *image)
{
    const double lasts = ts_dicom_field_number(image, DICOM_FIELD_frame_duration) * 1e-3;
    return lasts > 0 ? lasts : 0;
}

/* Returns true if Acquisition Time is one for all images although their Frame Reference Times are
 * of frames apart, as Philips has it: then it is that of the scan. */
static bool uptake_is_one_time(const struct uptake *uptake, double *least)
{
    const struct dicom_image *first = uptake->series->images[0];
    double most = first->frame_reference_ms;
    bool same = true;
    *least = most;
    for (size_t i = 1; i < uptake->series->n_images; i++) {
        const struct dicom_image *image = uptake->series->images[i];
        same &= fabs(image->acquired_s - first->acquired_s) <= SAME_S;
        *least = fmin(*least, image->frame_reference_ms);
        most = fmax(most, image->frame_reference_ms);
    }
    return same && (most - *least) * 1e-3 > fmax(frame_lasts(first), SAME_S);
}

/* Narrows the start by what each image says: Frame Reference Time counts from the start to some
 * moment of its frame, and Decay Factor is the decay between them. If all have the time of the
 * scan, the images of the first frame say it. */
static struct scan_start uptake_stated_start(const struct uptake *uptake)
{
    const struct dicom_series *series = uptake->series;
    struct scan_start start = {-INFINITY, INFINITY, false};
    double least;
    const bool one_time = uptake_is_one_time(uptake, &least);
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        const double factor = ts_dicom_field_number(image, DICOM_FIELD_decay_factor),
                     after = image->frame_reference_ms * 1e-3, frame = frame_lasts(image);
        if (one_time && image->frame_reference_ms > least)
            continue;
        if (after > 0)
            scan_start_narrow(&start, image->acquired_s - after - SAME_S,
                              image->acquired_s - after + frame + SAME_S);
        if (factor >= 1) {
            const double decayed = log(factor) / uptake->decay,
                         rounded = SAME_SHARE / uptake->decay + SAME_S;
            scan_start_narrow(&start, image->acquired_s - decayed - rounded,
                              image->acquired_s - decayed + frame + rounded);
        }
    }
    return start;
}

/* Returns when a frame that lasts so long had the mean of its decaying activity, from its begin. */
static double uptake_mean_time(const struct uptake *uptake, double lasts)
{
    const double decays = uptake->decay * lasts;
    return log(decays / -expm1(-decays)) / uptake->decay;
}

static const struct dicom_image *uptake_earliest(const struct uptake *uptake)
{
    const struct dicom_image *first = uptake->series->images[0];
    for (size_t i = 1; i < uptake->series->n_images; i++)
        if (uptake->series->images[i]->acquired_s < first->acquired_s)
            first = uptake->series->images[i];
    return first;
}

/* Finds when the scan began, to which START corrects: Series Time, unless the series was made after
 * its images; then GE's private Scan DateTime, or else what Frame Reference Time of the first image
 * says, or its Decay Factor of 1. */
static bool uptake_find_start(struct uptake *uptake, double *seconds)
{
    const struct dicom_uptake *header = uptake->header;
    const struct dicom_image *first = uptake_earliest(uptake);
    const double earliest = first->acquired_s, day = is_dated(earliest) ? header->series_date_s : 0,
                 by_series = header->series_time_s + day,
                 by_ge = is_dated(earliest) ? header->ge_scan.seconds
                                            : fmod(header->ge_scan.seconds, DAY_S),
                 lasts = frame_lasts(first), after = first->frame_reference_ms * 1e-3;
    const struct scan_start stated = uptake_stated_start(uptake);
    if (isnan(earliest))
        return uptake_refuse(uptake, "suv-missing",
                             "Acquisition Time (0008,0032) is missing in some slices");
    if (stated.low > stated.high)
        return uptake_refuse(uptake, "suv-time",
                             "Frame Reference Times and Decay Factors contradict each other about "
                             "when the scan began");
    *seconds = by_series;
    if (!(by_series <= earliest + SAME_S))
        *seconds = by_ge <= earliest + SAME_S ? by_ge : NAN;
    if (isnan(*seconds) && after > 0 && lasts > 0)
        *seconds = earliest + uptake_mean_time(uptake, lasts) - after;
    if (isnan(*seconds) && ts_dicom_field_number(first, DICOM_FIELD_decay_factor) == 1)
        *seconds = earliest;
    if (isnan(*seconds))
        return uptake_refuse(uptake, "suv-time",
                             "nothing says when the scan began: Series Time (0008,0031) is missing "
                             "or later than the first slice, and there is no Frame Reference Time "
                             "(0054,1300)");
    if (stated.stated && !(*seconds >= stated.low && *seconds <= stated.high))
        return uptake_refuse(uptake, "suv-time",
                             "Series Time (0008,0031), or what stands for it, contradicts Frame "
                             "Reference Time (0054,1300) or Decay Factor (0054,1321) about when "
                             "the scan began");
    return stated.stated || earliest - *seconds <= GAP_S ||
           uptake_refuse(uptake, "suv-time",
                         "the start that is stated is more than a minute before the first slice, "
                         "and nothing else says when the scan began");
}

/* Gives the seconds from the injection to a moment, which has a zone if it is stated. */
static bool uptake_since_injection(struct uptake *uptake, double moment, double zone_s,
                                   double *since)
{
    const struct dicom_uptake *header = uptake->header;
    const bool zones = !isnan(zone_s + header->start.zone_s);
    const double half_life = header->half_life_s,
                 /* by the clock of the slices */
        dated = header->start.seconds + (zones ? zone_s - header->start.zone_s : 0),
                 start = isnan(dated) ? header->start_s : dated,
                 apart = fabs(fmod(dated, DAY_S) - fmod(header->start_s, DAY_S));
    const bool both = !isnan(apart), agree = apart <= SAME_S;
    if (isnan(start))
        return uptake_refuse(uptake, "suv-missing",
                             "Radiopharmaceutical Start DateTime and Time (0018,1078 and 1072) are "
                             "missing");
    if (both && !agree)
        return uptake_refuse(uptake, "suv-time",
                             "Radiopharmaceutical Start DateTime (0018,1078) and Time (0018,1072) "
                             "contradict each other");
    if (!isnan(header->start.zone_s) && !zones && !agree)
        return uptake_refuse(uptake, "suv-time",
                             "Radiopharmaceutical Start DateTime (0018,1078) has an offset from "
                             "UTC, and the slices have none");
    if (is_dated(start) && is_dated(moment)) {
        *since = moment - start;
        return (*since >= -EARLY_S && *since <= MOST_HALF_LIVES * half_life) ||
               uptake_refuse(uptake, "suv-time",
                             "the injection is after the scan, or more than 10 half-lives before "
                             "it");
    }
    const double most = MOST_UNDATED_HALF_LIVES * half_life;
    *since = fmod(moment, DAY_S) - fmod(start, DAY_S);
    const bool same_day = *since >= -EARLY_S && *since <= most, next = *since + DAY_S <= most;
    if (same_day == next)
        return uptake_refuse(uptake, "suv-time",
                             "the time of injection has no date, and may be of this day or of one "
                             "before, or of neither");
    *since += next ? DAY_S : 0;
    return true;
}

/* ---- factors --------------------------------------------------------------------------------- */

static void uptake_scale(struct dicom_image *image, double factor)
{
    image->slope = (image->have_slope ? image->slope : 1) * factor;
    image->intercept *= factor;
    image->have_slope = image->have_intercept = true;
}

static bool uptake_nuclide(struct uptake *uptake)
{
    const double stated = uptake->header->half_life_s;
    const char *code = uptake->header->nuclide;
    bool known = false, other = false;
    for (size_t i = 0; i < sizeof nuclides / sizeof *nuclides; i++) {
        const double half_life = nuclides[i].half_life_s;
        const bool same = fabs(stated - half_life) <= SAME_HALF_LIFE * half_life;
        known |= same;
        other |= !same && *code &&
                 (!strcmp(code, nuclides[i].code) || !strcmp(code, nuclides[i].old_code));
    }
    uptake->decay = log(2) / stated;
    if (isnan(stated))
        return uptake_refuse(uptake, "suv-missing",
                             "Radionuclide Half Life (0018,1075) is missing");
    if (other)
        return uptake_refuse(uptake, "suv-value",
                             "Radionuclide Half Life (0018,1075) is not that of the nuclide in "
                             "Radionuclide Code Sequence (0054,0300)");
    return known || uptake_refuse(uptake, "suv-value",
                                  "Radionuclide Half Life (0018,1075) is that of no nuclide of "
                                  "PET, or not in seconds");
}

/* Scales images whose decay is not corrected, each by what has decayed until its frame began, and
 * during it. */
static bool uptake_of_frames(struct uptake *uptake, double factor)
{
    for (size_t i = 0; i < uptake->series->n_images; i++) {
        struct dicom_image *image = uptake->series->images[i];
        const double lasts = frame_lasts(image);
        double since = 0;
        if (isnan(image->acquired_s) || !(lasts > 0))
            return uptake_refuse(uptake, "suv-missing",
                                 "Acquisition Time (0008,0032) or Actual Frame Duration "
                                 "(0018,1242), which values without correction of decay need, is "
                                 "missing in some slices");
        if (!uptake_since_injection(uptake, image->acquired_s, image->zone_s, &since))
            return false;
        since += uptake_mean_time(uptake, lasts);
        uptake_scale(image, factor * exp(uptake->decay * since));
    }
    return true;
}

/* Gives the factor of activity by volume whose decay is corrected. */
static bool uptake_factor(struct uptake *uptake, const char *correction, bool enhanced,
                          double *factor)
{
    const struct dicom_uptake *header = uptake->header;
    const struct dicom_image *first = uptake->series->images[0];
    double since = 0, start = header->corrected_to.seconds, zone_s = header->corrected_to.zone_s;
    if (!strcmp(correction, "ADMIN"))
        return true;
    if (strcmp(correction, "START") != 0)
        return uptake_refuse(uptake, "suv-missing",
                             "Decay Correction (0054,1102) is neither START, ADMIN nor NONE");
    if (enhanced && isnan(start))
        return uptake_refuse(uptake, "suv-missing",
                             "Decay Correction DateTime (0018,9701) is missing");
    if (!enhanced && !uptake_find_start(uptake, &start))
        return false;
    zone_s = enhanced && !isnan(zone_s) ? zone_s : first->zone_s;
    if (!uptake_since_injection(uptake, start, zone_s, &since))
        return false;
    *factor *= exp(uptake->decay * since);
    return true;
}

/* Gives what activity by volume is multiplied by; NaN if each frame has its own. */
static bool uptake_of_dose(struct uptake *uptake, double *factor, double *corrected)
{
    const struct dicom_uptake *header = uptake->header;
    const bool enhanced = *header->decay_corrected != '\0';
    const char *correction =
        ts_dicom_field_text(uptake->series->images[0], DICOM_FIELD_decay_correction);
    if (enhanced)
        correction = !strcmp(header->decay_corrected, "YES") ? "START" : "NONE";
    const char *done = ts_dicom_field_text(uptake->series->images[0], DICOM_FIELD_corrected_image);
    const bool none = !strcmp(correction, "NONE");
    if (*done && *correction && (strstr(done, "DECY") != NULL) == none)
        return uptake_refuse(uptake, "suv-value",
                             "Corrected Image (0028,0051) and Decay Correction (0054,1102) "
                             "contradict each other");
    if (!uptake_body(uptake, factor) ||
        !uptake_within(uptake, header->dose_bq / header->weight_kg, LEAST_BQ_PER_KG, MOST_BQ_PER_KG,
                       "Radionuclide Total Dose (0018,1074) in Bq for each kg"))
        return false;
    *factor /= header->dose_bq;
    *corrected = *factor;
    if (strcmp(correction, "ADMIN") != 0 && !uptake_nuclide(uptake))
        return false;
    if (none)
        *corrected = NAN;
    return none || uptake_factor(uptake, correction, enhanced, corrected);
}

/* Scales activity by volume. */
static bool uptake_of_activity(struct uptake *uptake)
{
    double factor = 0, corrected = 0;
    if (!uptake_of_dose(uptake, &factor, &corrected))
        return false;
    if (isnan(corrected))
        return uptake_of_frames(uptake, factor);
    for (size_t i = 0; i < uptake->series->n_images; i++)
        uptake_scale(uptake->series->images[i], corrected);
    return true;
}

/* Returns true unless weight, dose and times, as far as they are there, make another factor of the
 * counts than Philips states. */
static bool uptake_agrees(struct uptake *uptake, double by_weight)
{
    struct dicom_series *series = uptake->series;
    const struct dicom_file *file = series->images[0]->file;
    double factor = 0, corrected = 0;
    const bool known = uptake_of_dose(uptake, &factor, &corrected) && !isnan(corrected);
    series->refusal = NULL; /* what is missing is not needed */
    return !known ||
           fabs(corrected * file->activity_scale - by_weight * file->uptake.philips_factor) <=
               SAME_FACTOR * by_weight * file->uptake.philips_factor ||
           uptake_refuse(uptake, "suv-value",
                         "Philips' private factors (7053,1000) and (7053,1009) contradict each "
                         "other by weight, dose and times");
}

/* Scales the counts of Philips by its factors, which are private: one makes uptake values by body
 * weight, the other activity. */
static bool uptake_of_counts(struct uptake *uptake)
{
    struct dicom_series *series = uptake->series;
    bool suv = true, activity = true;
    double measure = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        suv &= series->images[i]->file->uptake.philips_factor > 0;
        activity &= series->images[i]->file->activity_scale > 0;
    }
    if (!suv && !activity)
        return uptake_refuse(uptake, "suv-units",
                             "the values are counts, and Philips' private factors (7053,1000) and "
                             "(7053,1009) are missing or 0");
    if (suv && !uptake_body(uptake, &measure))
        return false;
    const double by_weight = suv ? measure / (1000 * uptake->header->weight_kg) : 0;
    if (suv && activity && !uptake_agrees(uptake, by_weight))
        return false;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_file *file = series->images[i]->file;
        uptake_scale(series->images[i],
                     suv ? file->uptake.philips_factor * by_weight : file->activity_scale);
    }
    return suv || uptake_of_activity(uptake);
}

/* As SUV Type has them. */
static const char *const uptake_types[] = {
    [TO_SUV_BODY_WEIGHT] = "BW",
    [TO_SUV_LEAN_BODY_MASS] = "LBMJANMA",
    [TO_SUV_LEAN_BODY_MASS_JAMES] = "LBMJAMES128",
    [TO_SUV_BODY_SURFACE_AREA] = "BSA",
};

/* Returns true if the values, which are uptake values already, are of the kind that is wanted. */
static bool uptake_is_there(struct uptake *uptake, const char *units)
{
    const char *type = ts_dicom_field_text(uptake->series->images[0], DICOM_FIELD_suv_type);
    const bool area = !strcmp(units, "CM2ML");
    if (!*type)
        type = area ? "BSA" : "BW"; /* DICOM PS3.3 C.8.9.1: absent means by body weight */
    return !strcmp(type, uptake_types[uptake->kind]) ||
           uptake_refuse(uptake, "suv-units",
                         "the values are uptake values already, and by another measure of the body "
                         "(SUV Type (0054,1006))");
}

/* Makes uptake values of what Units says; false if the series is refused. */
static bool uptake_take(struct uptake *uptake, double factor)
{
    const struct dicom_image *first = uptake->series->images[0];
    const char *units = uptake_units(uptake),
               *corrected = ts_dicom_field_text(first, DICOM_FIELD_corrected_image);
    if (strcmp(first->file->modality, "PT") != 0)
        return uptake_refuse(uptake, "suv-units", "the series is no PET");
    if (uptake->kind != TO_SUV_FACTOR && (!strcmp(units, "GML") || !strcmp(units, "CM2ML")))
        return uptake_is_there(uptake, units);
    const bool counts = !strcmp(units, "CNTS") && uptake->kind != TO_SUV_FACTOR;
    if (strcmp(units, "BQML") != 0 && !counts)
        return uptake_refuse(uptake, "suv-units",
                             "the values are no activity by volume (Units (0054,1001))");
    if (first->file->lut.entries > 0)
        return uptake_refuse(uptake, "suv-units", "a Modality LUT makes the values");
    if (uptake->kind == TO_SUV_FACTOR) {
        for (size_t i = 0; i < uptake->series->n_images; i++)
            uptake_scale(uptake->series->images[i], factor);
        return true;
    }
    if ((*corrected && !strstr(corrected, "ATTN")) ||
        !strcmp(uptake->header->attenuation_corrected, "NO"))
        return uptake_refuse(
            uptake, "suv-value",
            "attenuation is not corrected (Corrected Image (0028,0051) or Attenuation "
            "Corrected (0018,9759))");
    if (!uptake_is_one(uptake))
        return false;
    return counts ? uptake_of_counts(uptake) : uptake_of_activity(uptake);
}

void ts_dicom_take_uptake(struct dicom_series *series, const struct dicom_rules *rules)
{
    struct uptake uptake = {.series = series,
                            .header = &series->images[0]->file->uptake,
                            .kind = (enum dicom_to_suv)rules->to_suv};
    if (uptake.kind == TO_SUV_NONE || series->refusal)
        return;
    const double before = series->images[0]->have_slope ? series->images[0]->slope : 1;
    if (!uptake_take(&uptake, rules->suv_factor))
        return;
    const bool area = uptake.kind == TO_SUV_BODY_SURFACE_AREA;
    series->image.unit = area ? "cm2/ml" : "g/ml";
    for (size_t i = 0; i < series->n_images; i++) /* what outputs say of the values, too */
        strcpy(((struct dicom_file *)series->images[i]->file)->units, area ? "CM2ML" : "GML");
    series->uptake_factor = series->images[0]->slope / before;
}

const char *ts_dicom_uptake_type(const struct dicom_series *series, int32_t to_suv)
{
    static const char *const known[] = {"BSA", "BW", "LBM", "LBMJAMES128", "LBMJANMA", "IBW", NULL};
    const char *text = ts_dicom_field_text(series->images[0], DICOM_FIELD_suv_type);
    if (to_suv == TO_SUV_FACTOR)
        return "";
    if (to_suv != TO_SUV_NONE)
        return uptake_types[to_suv];
    return ts_dicom_known(known, text) == text ? text : "";
}
