/* SPDX-License-Identifier: Apache-2.0
 *
 * A setting counts if it divides the images into equal sets of positions. One that changes from
 * slice to slice does not, such as the repetition time of a scan that waits for the heart, or the
 * exposure of a tube that follows the body. The tube voltage and the kernel are chosen for a whole
 * acquisition, so that they count wherever they differ in more than an odd slice; others count at
 * positions of their own only if they alternate, which no scan does by itself. Acquisition Number
 * counts if acquisitions are passes that overlap: each has a position of its own and one that is
 * another's too, or they lie within each other without an even step. Corrections of the values
 * count at repeated positions only: slices that differ in them are not comparable.
 */
#include "io/dicom_series/dicom_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_kernel.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_header/dicom_parse.h"
#include "io/dicom_series/dicom_sequences.h"

/* These are in no field: a text that no output may have, a number that only tells images apart,
 * whether the images are DERIVED by their Image Type, and the direction of their rows. */
enum {
    RECEIVE_COIL = DICOM_FIELDS,
    ACQUISITION,
    DERIVED,
    POLARITY,
    MAP,
    VELOCITY,
    LABELING,
    BREATH,
    UNIT
};

static const struct setting {
    int field;                       /* enum dicom_field, or one of the above */
    const char *name, *label, *unit; /* label: how people call it */
    enum { ALWAYS, FIXED, PHASE, VARIES, MODULATED, PASS, EQUAL, CORRECTION } rule;
} settings[] = {
    {MAP, "Image Type", "type", NULL, ALWAYS},
    {VELOCITY, "the direction of the velocity encoding", "velocity", NULL, ALWAYS},
    {LABELING, "ASL Context (label, control)", "ASL", NULL, ALWAYS},
    {UNIT, "Rescale Type", "unit", NULL, VARIES},
    {DICOM_FIELD_inversion_time, "Inversion Time", "TI", " ms", VARIES},
    {DICOM_FIELD_flip_angle, "Flip Angle", "flip angle", " degrees", VARIES},
    {DICOM_FIELD_repetition_time, "Repetition Time", "TR", " ms", VARIES},
    {DICOM_FIELD_scanning_sequence, "Scanning Sequence", "sequence", NULL, VARIES},
    {DICOM_FIELD_sequence_variant, "Sequence Variant", "variant", NULL, VARIES},
    {DICOM_FIELD_echo_number, "Echo Number", "echo number", "", VARIES},
    {DICOM_FIELD_tube_voltage, "KVP", "KVP", " kV", FIXED},
    {DICOM_FIELD_cardiac_phase, "Nominal Percentage of Cardiac Phase", "cardiac phase", " %",
     VARIES},
    {DICOM_FIELD_respiratory_phase, "Nominal Percentage of Respiratory Phase", "respiratory phase",
     " %", PHASE},
    {BREATH, "Starting Respiratory Phase", "respiration", NULL, PHASE},
    {DICOM_FIELD_convolution_kernel, "Convolution Kernel", "kernel", NULL, FIXED},
    {RECEIVE_COIL, "Receive Coil Name", "coil", NULL, VARIES},
    {POLARITY, "the polarity of the phase encoding", "polarity", NULL, VARIES},
    {DICOM_FIELD_image_type, "Image Type", "type", NULL, VARIES},
    {DICOM_FIELD_decay_correction, "Decay Correction", "decay correction", NULL, CORRECTION},
    {DICOM_FIELD_corrected_image, "Corrected Image", "corrections", NULL, CORRECTION},
    {DICOM_FIELD_counts_source, "Counts Source", "counts", NULL, CORRECTION},
    {DICOM_FIELD_randoms_correction, "Randoms Correction Method", "randoms correction", NULL,
     CORRECTION},
    {DICOM_FIELD_attenuation_correction, "Attenuation Correction Method", "attenuation correction",
     NULL, CORRECTION},
    {DICOM_FIELD_scatter_correction, "Scatter Correction Method", "scatter correction", NULL,
     CORRECTION},
    {DICOM_FIELD_reconstruction_method, "Reconstruction Method", "reconstruction", NULL,
     CORRECTION},
    {DICOM_FIELD_suv_type, "SUV Type", "SUV", NULL, CORRECTION},
    {DICOM_FIELD_exposure, "Exposure", "exposure", " mA s", MODULATED},
    {DICOM_FIELD_tube_current, "X-Ray Tube Current", "tube current", " mA", MODULATED},
    {DERIVED, "Image Type", "", NULL, EQUAL},
    {ACQUISITION, "Acquisition Number", "acquisition", "", PASS},
};
enum { SETTINGS = sizeof settings / sizeof *settings, LONGEST_PERIOD = 8, LEAST_PERIODS = 3 };
static const double CLEAR_SHARE =
    0.1; /* by which the numbers of a setting that alternates differ at least */
static const double SAME_THICKNESS =
    0.05; /* of the first, by which thicknesses that were rounded differ at most */
static const double EVEN_SHARE =
    0.2; /* of a step, by which slices of one volume may be off their places */

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

static bool is_derived(const struct dicom_image *image)
{
    const char *type = *image->frame_type ? image->frame_type : image->file->image_type;
    return !strncmp(type, "DERIVED", 7);
}

/* Returns the text of a field. Of Image Type that is value 3 and what follows: the first two say
 * how the pixels came about, rather than what they show. */
static const char *text_of(const struct dicom_image *image, int field)
{
    static const char *const polarities[] = {"", "forward", "reversed"};
    if (field == DERIVED)
        return is_derived(image) ? "DERIVED" : "ORIGINAL";
    if (field == RECEIVE_COIL)
        return image->coil;
    if (field == POLARITY)
        return polarities[image->polarity];
    if (field == MAP)
        return image->map;
    if (field == VELOCITY)
        return image->velocity;
    if (field == LABELING)
        return image->labeling;
    if (field == BREATH)
        return image->breath;
    if (field == UNIT)
        return image->rescale_type;
    const char *text = field == DICOM_FIELD_image_type && *image->frame_type
                           ? image->frame_type
                           : ts_dicom_field_text(image, (enum dicom_field)field);
    for (int i = 0; i < 2 && field == DICOM_FIELD_image_type; i++) {
        text += strcspn(text, "\\");
        text += *text != '\0';
    }
    return text;
}

static bool is_number(int field)
{
    return field == ACQUISITION ||
           (field < DICOM_FIELDS && ts_dicom_field_is_number((enum dicom_field)field));
}

static double number_of(const struct dicom_image *image, int field)
{
    return field == ACQUISITION ? image->acquisition_number
                                : ts_dicom_field_number(image, (enum dicom_field)field);
}

int ts_dicom_count_settings(void)
{
    return SETTINGS;
}

bool ts_dicom_is_of_volumes(int setting)
{
    return settings[setting].rule <= VARIES;
}

const char *ts_dicom_setting_name(int setting)
{
    return settings[setting].name;
}

bool ts_dicom_is_acquisition(int setting)
{
    return settings[setting].field == ACQUISITION;
}

int ts_dicom_compare_setting(int setting, const struct dicom_image *a, const struct dicom_image *b)
{
    const int field = settings[setting].field;
    return is_number(field) ? compare_numbers(number_of(a, field), number_of(b, field))
                            : strcmp(text_of(a, field), text_of(b, field));
}

void ts_dicom_setting_text(int setting, const struct dicom_image *image, int number, char *out,
                           size_t size)
{
    static const char *const breaths[] = {"INSPIRATION", "MAXIMUM", "EXPIRATION", "MINIMUM", NULL};
    const int field = settings[setting].field;
    const char *label = settings[setting].label,
               *text = is_number(field) ? "" : text_of(image, field);
    char kept[DICOM_TEXT_MAX * 2] = "";
    if (field == MAP)
        text = text_of(image, DICOM_FIELD_image_type);
    if (is_number(field)) {
        snprintf(out, size, "%s %g%s", label, number_of(image, field), settings[setting].unit);
        return;
    }
    if (field == DERIVED) {
        snprintf(out, size, "%s", text);
        return;
    }
    if (field == DICOM_FIELD_decay_correction || field == DICOM_FIELD_counts_source)
        ts_dicom_keep_known(ts_dicom_pet, text, kept, sizeof kept);
    else if (field == DICOM_FIELD_corrected_image)
        ts_dicom_keep_known(ts_dicom_corrections, text, kept, sizeof kept);
    else if (field == UNIT)
        ts_dicom_keep_known(ts_dicom_units, text, kept, sizeof kept);
    else if (field == LABELING)
        ts_dicom_keep_known(ts_dicom_labelings, text, kept, sizeof kept);
    else if (field == BREATH)
        ts_dicom_keep_known(breaths, text, kept, sizeof kept);
    else if (field == DICOM_FIELD_image_type || field == MAP)
        ts_dicom_keep_known(ts_dicom_image_types, text, kept, sizeof kept);
    else if (field == POLARITY || field == VELOCITY ||
             (field == DICOM_FIELD_convolution_kernel && ts_dicom_kernel_is_known(text)))
        snprintf(kept, sizeof kept, "%s", text);
    if (*kept && !strstr(kept, DICOM_UNRECOGNIZED))
        snprintf(out, size, "%s %s", label, kept);
    else
        snprintf(out, size, "%s %d", label, number);
}

/* An image with the number of its position along the normal, and the setting by which it is sorted
 * there. */
struct item {
    size_t position;
    int setting;
    struct dicom_image *image;
};

static int compare_along(const void *a, const void *b)
{
    const double first = ((const struct item *)a)->image->along_mm,
                 second = ((const struct item *)b)->image->along_mm;
    return (first > second) - (first < second);
}

static int compare_items(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->position != second->position)
        return first->position < second->position ? -1 : 1;
    return ts_dicom_compare_setting(first->setting, first->image, second->image);
}

static int compare_settings(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    const int order = ts_dicom_compare_setting(first->setting, first->image, second->image);
    return order ? order : compare_items(a, b);
}

/* Numbers the positions of the images, and sorts the items by them. *placed: they are known.
 * Returns how many images each position has; 0 if positions are unknown, or do not have equally
 * many. */
static size_t number_positions(struct item *items, size_t n, bool *placed)
{
    const double *orientation = items[0].image->orientation,
                 same = ts_dicom_same_position(items[0].image);
    double normal[3];
    size_t each = 0, first = 0;
    bool equal = true;
    *placed = false;
    ts_cross(orientation, orientation + 3, normal);
    for (size_t i = 0; i < n; i++) {
        struct dicom_image *image = items[i].image;
        if (!image->have_position || !image->have_orientation)
            return 0;
        image->along_mm = ts_dot(image->position_mm, normal);
    }
    *placed = true;
    qsort(items, n, sizeof *items, compare_along);
    for (size_t i = 1; i <= n; i++) {
        const bool next = i == n || items[i].image->along_mm - items[i - 1].image->along_mm > same;
        each = next && first == 0 ? i : each;
        equal = equal && (!next || i - first == each);
        first = next ? i : first;
        if (i < n)
            items[i].position = items[i - 1].position + next;
    }
    return equal ? each : 0;
}

static bool is_stated(int setting, const struct dicom_image *image)
{
    const int field = settings[setting].field;
    return is_number(field) ? !isnan(number_of(image, field)) : *text_of(image, field) != '\0';
}

/* Returns true if the setting says nothing of these images: a number of echoes beside echo times,
 * and a unit that some of them do not state. */
static bool says_nothing(int setting, const struct item *items, size_t n)
{
    const bool echoes = settings[setting].field == DICOM_FIELD_echo_number,
               units = settings[setting].field == UNIT;
    bool nothing = false;
    for (size_t i = 0; i < n && (echoes || units); i++)
        nothing |= echoes ? compare_numbers(items[i].image->echo_ms, items[0].image->echo_ms) != 0
                          : !is_stated(setting, items[i].image);
    return nothing;
}

/* Returns true if the setting may divide images at one position. Images that all lie there are no
 * volumes; and those with and without diffusion weighting are volumes of one series, though some of
 * them are DERIVED, of another sequence, or frames of another type. */
static bool may_divide(int setting, const struct item *items, size_t n)
{
    const bool equal = settings[setting].rule == EQUAL,
               of_frames =
                   settings[setting].field == DICOM_FIELD_image_type && *items[0].image->frame_type,
               sequence = settings[setting].field == DICOM_FIELD_scanning_sequence ||
                          settings[setting].field == DICOM_FIELD_sequence_variant;
    bool weighted = equal && items[n - 1].position == 0;
    for (size_t i = 1; i < n && (equal || of_frames || sequence); i++)
        weighted |= compare_numbers(items[i].image->b_value, items[0].image->b_value) != 0 ||
                    compare_numbers(items[i].image->ge_b_value, items[0].image->ge_b_value) != 0;
    return settings[setting].rule != MODULATED && settings[setting].rule != PASS && !weighted &&
           settings[setting].field != LABELING && !says_nothing(setting, items, n);
}

/* Returns true if the setting has several values at each position, those of the first one, each as
 * often. */
static bool divides(int setting, struct item *items, size_t n, size_t each)
{
    bool several = false;
    for (size_t i = 1; i < n && !several; i++)
        several = ts_dicom_compare_setting(setting, items[0].image, items[i].image) != 0;
    if (!several)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i].setting = setting;
    qsort(items, n, sizeof *items, compare_items);
    for (size_t i = each; i < n; i++)
        if (ts_dicom_compare_setting(setting, items[i].image, items[i % each].image) != 0)
            return false;
    return ts_dicom_compare_setting(setting, items[0].image, items[each - 1].image) != 0;
}

/* Returns true if all images state the setting, and not all the same. */
static bool dicom_settings_differs(int setting, const struct item *items, size_t n)
{
    bool differ = false;
    for (size_t i = 0; i < n; i++) {
        if (!is_stated(setting, items[i].image))
            return false;
        differ |= ts_dicom_compare_setting(setting, items[0].image, items[i].image) != 0;
    }
    return differ;
}

static int compare_indexes(const void *a, const void *b)
{
    const struct dicom_image *first = ((const struct item *)a)->image,
                             *second = ((const struct item *)b)->image;
    const int order = compare_numbers(first->temporal_position, second->temporal_position);
    for (int k = 0; order == 0 && k < DICOM_DIMENSIONS; k++)
        if (first->dimensions[k] != second->dimensions[k])
            return first->dimensions[k] < second->dimensions[k] ? -1 : 1;
    return order;
}

/* Returns true if no two images of one Temporal Position and one list of Dimension Index Values
 * differ in the setting, so that these tell its values apart. */
static bool are_indexed(int setting, struct item *items, size_t n)
{
    qsort(items, n, sizeof *items, compare_indexes);
    for (size_t i = 1; i < n; i++)
        if (compare_indexes(&items[i - 1], &items[i]) == 0 &&
            ts_dicom_compare_setting(setting, items[i - 1].image, items[i].image) != 0)
            return false;
    return true;
}

/* Returns true if images of several values of the setting are never one volume, wherever they lie.
 * Labels and controls that indexes tell apart stay volumes of one series. */
static bool divides_always(int setting, struct item *items, size_t n)
{
    for (size_t i = 1; i < n && settings[setting].rule == ALWAYS; i++)
        if (ts_dicom_compare_setting(setting, items[0].image, items[i].image) != 0)
            return settings[setting].field != LABELING || !are_indexed(setting, items, n);
    return false;
}

/* Returns true if the numbers of the first items differ clearly; texts that differ always do. */
static bool is_clear(int setting, const struct item *items, size_t n)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < n && is_number(settings[setting].field); i++) {
        const double value = number_of(items[i].image, settings[setting].field);
        low = fmin(low, fabs(value));
        high = fmax(high, fabs(value));
    }
    return !is_number(settings[setting].field) || high - low > CLEAR_SHARE * high;
}

/* Returns true if the setting repeats its values in one order along the positions of items, one at
 * each. */
static bool alternates(int setting, const struct item *items, size_t n)
{
    for (size_t period = 2; period <= LONGEST_PERIOD && LEAST_PERIODS * period <= n; period++) {
        size_t i = period;
        while (i < n &&
               ts_dicom_compare_setting(setting, items[i].image, items[i - period].image) == 0)
            i++;
        if (i == n)
            return is_clear(setting, items, period);
    }
    return false;
}

/* Sorts the items by the setting. Returns true if each value has several of them: an odd slice is
 * no acquisition. */
static bool sort_by_setting(int setting, struct item *items, size_t n)
{
    size_t first = 0;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){.setting = setting, .image = items[i].image};
    qsort(items, n, sizeof *items, compare_items);
    for (size_t i = 1; i <= n; i++)
        if (i == n || ts_dicom_compare_setting(setting, items[first].image, items[i].image) != 0) {
            if (i - first < 2)
                return false;
            first = i;
        }
    return true;
}

/* Finds a setting that divides images at positions of their own, and sorts the items by it. They
 * are in the order of their positions if `each` is 1. Returns -1 if there is none. */
static int find_apart(struct item *items, size_t n, size_t each)
{
    for (int i = 0; i < SETTINGS; i++)
        if (each == 1 && settings[i].rule < PASS && dicom_settings_differs(i, items, n) &&
            !says_nothing(i, items, n) && alternates(i, items, n) && sort_by_setting(i, items, n))
            return i;
    for (int i = 0; i < SETTINGS; i++)
        if ((settings[i].rule == FIXED || settings[i].rule == PHASE) &&
            dicom_settings_differs(i, items, n) && sort_by_setting(i, items, n))
            return i;
    return -1;
}

/* Finds a phase that divides images at positions that do not have equally many, and sorts the items
 * by it. Returns -1 if there is none. */
static int find_phase(struct item *items, size_t n)
{
    for (int i = 0; i < SETTINGS; i++)
        if (settings[i].rule == PHASE && dicom_settings_differs(i, items, n) &&
            sort_by_setting(i, items, n))
            return i;
    return -1;
}

/* Returns true if the images of one acquisition, which are in the order of their positions, are at
 * least two, one at each position. */
static bool is_pass(const struct item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].position == items[i - 1].position)
            return false;
    return n >= 2;
}

/* Returns true if the positions may be those of one volume: they are near the places of even steps
 * from the first to the last, as far off as a chain may tolerate and more. The items are in their
 * order, one at each. */
static bool may_be_even(const struct item *items, size_t n)
{
    const double first = items[0].image->along_mm;
    const double step = n > 1 ? (items[n - 1].image->along_mm - first) / (double)(n - 1) : 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(items[i].image->along_mm - first - (double)i * step) > EVEN_SHARE * step)
            return false;
    return true;
}

/* Returns true if one of two passes, of which the first begins first, has positions between those
 * of the other or shares some, and each has one of its own. */
static bool overlap(const struct item *a, size_t n, const struct item *b, size_t n_b)
{
    return b[0].image->along_mm <= a[n - 1].image->along_mm + ts_dicom_same_position(a->image) &&
           b[0].position != a[0].position && b[n_b - 1].position > a[n - 1].position;
}

/* Returns true if the acquisitions are passes that overlap. The items are those of
 * number_positions, and get sorted by acquisition and position. */
static bool are_passes(int setting, struct item *items, size_t n, size_t each)
{
    size_t before = n, n_before = 0, overlaps = 0;
    if (!dicom_settings_differs(setting, items, n) || each > 1 ||
        (each == 1 && may_be_even(items, n)))
        return false;
    for (size_t i = 0; i < n; i++)
        items[i].setting = setting;
    qsort(items, n, sizeof *items, compare_settings);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && ts_dicom_compare_setting(setting, items[first].image,
                                                                  items[end].image) == 0;
             end++) {
        }
        if (!is_pass(items + first, end - first))
            return false;
        if (before < n) {
            const bool rises = items[first].image->along_mm >= items[before].image->along_mm;
            overlaps += rises ? overlap(items + before, n_before, items + first, end - first)
                              : overlap(items + first, end - first, items + before, n_before);
        }
        before = first;
        n_before = end - first;
    }
    return overlaps > 0;
}

bool ts_dicom_find_setting(struct dicom_image **images, size_t n, bool joined, bool acquisitions,
                           int *setting, bool *apart)
{
    struct item *items = malloc(n * sizeof *items);
    const int last = SETTINGS - 1; /* Acquisition Number */
    *setting = -1;
    *apart = false;
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){.image = images[i]};
    for (int i = 0; i < SETTINGS && *setting < 0; i++) {
        if (i == last ? !acquisitions || !dicom_settings_differs(i, items, n)
                      : !divides_always(i, items, n))
            continue;
        for (size_t k = 0; k < n; k++)
            items[k].setting = i;
        qsort(items, n, sizeof *items, compare_settings);
        *setting = i;
    }
    bool placed = false;
    const size_t each = *setting < 0 ? number_positions(items, n, &placed) : 0;
    for (int i = 0; each > 1 && *setting < 0 && i < SETTINGS; i++)
        *setting = may_divide(i, items, n) && divides(i, items, n, each) ? i : -1;
    const bool divided = each > 1 && *setting >= 0;
    if (*setting < 0 && placed && each == 0)
        *setting = find_phase(items, n);
    for (size_t i = 0; divided && i < n; i++) /* value by value, position by position */
        images[i % each * (n / each) + i / each] = items[i].image;
    if (*setting < 0 && !joined && placed && are_passes(last, items, n, each))
        *setting = last;
    else if (*setting < 0 && !joined && (*setting = find_apart(items, n, each)) >= 0)
        *apart = true;
    for (size_t i = 0; *setting >= 0 && !divided && i < n; i++)
        images[i] = items[i].image;
    free(items);
    return true;
}

const char *ts_dicom_name_difference(struct dicom_image *const *images, size_t n, bool acquisitions)
{
    for (size_t i = 1; i < n; i++) {
        const struct dicom_image *a = images[0], *b = images[i];
        if (compare_numbers(a->temporal_position, b->temporal_position))
            return "Temporal Position Identifier";
        if (compare_numbers(a->b_value, b->b_value))
            return "diffusion b-value";
        for (int k = 0; k < 3; k++)
            if (compare_numbers(a->gradient[k], b->gradient[k]))
                return "diffusion gradient";
        if (compare_numbers(a->echo_ms, b->echo_ms))
            return "Echo Time";
        if (acquisitions && compare_numbers(a->acquisition_number, b->acquisition_number))
            return "Acquisition Number";
        if (strcmp(a->file->image_type, b->file->image_type) != 0)
            return "Image Type";
    }
    for (int setting = 0; setting < SETTINGS && settings[setting].rule != PASS; setting++)
        for (size_t i = 1; i < n; i++)
            if (ts_dicom_compare_setting(setting, images[0], images[i]) != 0)
                return settings[setting].name;
    return NULL;
}

/* Warns if images were computed from others that may be beside them: neither positions nor times
 * tell a volume of such images from one that was measured. */
static void warn_of_derived(struct dicom_series *series)
{
    size_t derived = 0;
    for (size_t i = 0; i < series->n_images; i++)
        derived += is_derived(series->images[i]);
    if (derived > 0 && derived < series->n_images)
        ts_dicom_series_warn(
            series, "%zu of %zu images are DERIVED by their Image Type, and the others are not",
            derived, series->n_images);
}

/* Warns of rows that are turned round, and of those of which nothing says whether they have to
 * be. */
static void warn_of_polarity(struct dicom_series *series)
{
    size_t reversed = 0, unknown = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        reversed += image->polarity == DICOM_POLARITY_REVERSED;
        unknown += image->polarity == DICOM_POLARITY_UNSTATED &&
                   strstr(image->file->ge_sequence, "epi_pepolar");
    }
    if (reversed > 0)
        ts_dicom_series_warn(series,
                             "GE's epi_pepolar stores the rows of images of reversed polarity from "
                             "the last to the first: those of %zu of %zu images are turned round",
                             reversed, series->n_images);
    if (unknown > 0)
        ts_dicom_series_warn(series,
                             "the polarity of GE's epi_pepolar alternates, and %zu images have no "
                             "Temporal Position: their rows are as they are stored, which is "
                             "upside down where it is reversed",
                             unknown);
}

/* Returns true if two dates are more than a day apart: a scan may go on past midnight. */
static bool are_days_apart(const char *a, const char *b)
{
    const double day_s = 86400;
    return fabs(ts_dicom_parse_date(a, strlen(a)) - ts_dicom_parse_date(b, strlen(b))) > day_s;
}

/* Warns of what may say that slices do not belong together, and yet makes no series of its own:
 * thicknesses may be rounded, names are written in several ways, and people and tools change
 * descriptions. A Stack ID that tells series apart is that of frames (dicom_join.c). */
static void warn_of_mixture(struct dicom_series *series)
{
    static const char *const names[] = {"Slice Thickness",  "Series Description", "Patient's Name",
                                        "Patient Position", "Stack ID",           "Series Date",
                                        "Acquisition Date"};
    const struct dicom_image *first = series->images[0];
    const double thickness = ts_dicom_field_number(first, DICOM_FIELD_slice_thickness);
    bool differ[sizeof names / sizeof *names] = {false};
    for (size_t i = 1; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        const double other = ts_dicom_field_number(image, DICOM_FIELD_slice_thickness);
        differ[0] |= fabs(other - thickness) > SAME_THICKNESS * thickness;
        differ[1] |= strcmp(image->file->description, first->file->description) != 0;
        differ[2] |= strcmp(image->file->patient_name, first->file->patient_name) != 0;
        differ[3] |= strcmp(ts_dicom_field_text(image, DICOM_FIELD_patient_position),
                            ts_dicom_field_text(first, DICOM_FIELD_patient_position)) != 0;
        differ[4] |=
            !*image->stack && strcmp(ts_dicom_field_text(image, DICOM_FIELD_stack_id),
                                     ts_dicom_field_text(first, DICOM_FIELD_stack_id)) != 0;
        differ[5] |= are_days_apart(ts_dicom_field_text(image, DICOM_FIELD_series_date),
                                    ts_dicom_field_text(first, DICOM_FIELD_series_date));
        differ[6] |= are_days_apart(ts_dicom_field_text(image, DICOM_FIELD_acquisition_date),
                                    ts_dicom_field_text(first, DICOM_FIELD_acquisition_date));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (differ[i])
            ts_dicom_series_warn(series, "the slices differ in %s: they may not belong together",
                                 names[i]);
}

/* Warns of CT whose rows lie upside down for the position of the patient that the header states.
 * Scanners reconstruct in the directions of the gantry: the last row is the lowest, which is the
 * back of who lies supine and the front of who lies prone. Whoever corrects one of the two
 * afterwards has to correct the other. */
static void warn_of_position(struct dicom_series *series)
{
    static const double much = 0.7;
    const struct dicom_image *first = series->images[0];
    const char *position = ts_dicom_field_text(first, DICOM_FIELD_patient_position);
    const double down = first->have_orientation ? first->orientation[4] : 0;
    const bool supine = !strcmp(position, "HFS") || !strcmp(position, "FFS"),
               prone = !strcmp(position, "HFP") || !strcmp(position, "FFP");
    if (strcmp(first->file->modality, "CT") != 0 ||
        !((supine && down < -much) || (prone && down > much)))
        return;
    ts_dicom_series_warn(
        series,
        "Patient Position is %s (%s), and the rows of the images lie as those of a patient who "
        "lies %s: one of the two may be wrong, and the orientation is taken",
        position, supine ? "supine" : "prone", supine ? "prone" : "supine");
}

/* Warns of animals on four legs: their axes have other names than those that outputs and viewers
 * give them. Source: DICOM PS3.3 C.7.6.2.1.1. */
static void warn_of_quadrupeds(struct dicom_series *series)
{
    size_t n = 0;
    for (size_t i = 0; i < series->n_images; i++)
        n += !strcmp(ts_dicom_field_text(series->images[i], DICOM_FIELD_anatomical_orientation),
                     "QUADRUPED");
    if (n == 0)
        return;
    ts_dicom_series_warn(series,
                         "Anatomical Orientation Type (0010,2210) is QUADRUPED: x, y and z go to "
                         "the left, the back (dorsal) and the head (cranial) of an animal%s, where "
                         "outputs and viewers say left, posterior and superior",
                         n < series->n_images ? " in some of the slices only" : "");
}

/* Warns of slices whose shares of the cardiac cycle differ by more than the heart rate changes. */
static void warn_of_cycle(struct dicom_series *series)
{
    static const double much = 5;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < series->n_images; i++) {
        low = fmin(low, series->images[i]->cardiac_percent);
        high = fmax(high, series->images[i]->cardiac_percent);
    }
    if (high - low > much)
        ts_dicom_series_warn(series,
                             "the slices differ in Nominal Percentage of Cardiac Phase, %g to %g: "
                             "they may not belong together",
                             low, high);
}

void ts_dicom_warn_of_settings(struct dicom_series *series)
{
    warn_of_mixture(series);
    warn_of_position(series);
    warn_of_quadrupeds(series);
    warn_of_derived(series);
    warn_of_polarity(series);
    warn_of_cycle(series);
    ts_dicom_warn_of_sequences(series);
    for (int setting = 0; setting < SETTINGS; setting++) {
        const bool correction = settings[setting].rule == CORRECTION;
        if (settings[setting].rule != FIXED && settings[setting].rule != PHASE && !correction)
            continue; /* it may change from slice to slice of one acquisition */
        for (size_t i = 1; i < series->n_images; i++)
            if (ts_dicom_compare_setting(setting, series->images[0], series->images[i]) != 0) {
                ts_dicom_series_warn(
                    series, "the slices differ in %s: %s", settings[setting].name,
                    correction ? "their values do not compare with each other"
                               : "they come from more than one acquisition or reconstruction");
                break;
            }
    }
}
