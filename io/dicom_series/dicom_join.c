/* SPDX-License-Identifier: Apache-2.0
 *
 * Images are one series if all attributes agree that say to which series they belong. Two kinds of
 * writers are told from that rule. One leaves an attribute out of some files: these have that of
 * the others of their Series Instance UID, if all others agree in it. The other gives each slice a
 * value of its own. Such an attribute counts for nothing if all else agrees: images are divided by
 * the attributes that several slices share, until each attribute has either one value or another
 * one at each position. How much has to speak for one volume then depends on the attribute
 * (may_join); and different patients, studies or series are only taken for one if the positions are
 * those of one volume. If an attribute divides what would be one volume, the images note it, so
 * that a hint can say so.
 */
#include "io/dicom_series/dicom_join.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_series/dicom_geometry.h"

enum { LEAST_POSITIONS = 3, TEXT_BYTES = 64, LIST_BYTES = 256 };
static const size_t NOWHERE = SIZE_MAX;
static const double SAME_SPACING = 1e-4;
static const double MOST_THICKNESS = 1.25; /* of a step that slices fill */

const char *const ts_dicom_join_words[DICOM_SERIES_KEYS] = {
    [KEY_STUDY] = "study",       [KEY_SERIES] = "series",
    [KEY_NUMBER] = "number",     [KEY_PATIENT] = "patient",
    [KEY_TIME] = "study_time",   [KEY_MANUFACTURER] = "manufacturer",
    [KEY_PROTOCOL] = "protocol", [KEY_FRAME] = "frame_of_reference",
    [KEY_STACK] = "stack",
};

static const struct {
    const char *name;
    bool fills;   /* files that lack it have that of the others of their series UID */
    bool divides; /* a warning says so if it divides the images of a series UID */
} attributes[DICOM_SERIES_KEYS] = {
    [KEY_STUDY] = {"Study Instance UID", true, false},
    [KEY_SERIES] = {"Series Instance UID", false, false},
    [KEY_NUMBER] = {"Series Number", true, true},
    [KEY_PATIENT] = {"Patient ID or Name", false, true},
    [KEY_TIME] = {"Study Date or Time", true, true},
    [KEY_MANUFACTURER] = {"Manufacturer", true, true},
    [KEY_PROTOCOL] = {"Protocol Name or Series Description", true, true},
    [KEY_FRAME] = {"Frame of Reference UID", true, false},
    [KEY_STACK] = {"Stack ID", false, false},
};

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

/* Returns the instance of an image whose file is a volume by itself, as a dose is; "" if files go
 * together. */
static const char *instance_of(const struct dicom_image *image)
{
    const bool alone =
        image->unplaced || (image->file->frames > 1 && ts_dicom_is_dose(image->file));
    return alone ? image->file->sop_instance : "";
}

int ts_dicom_compare_content(const struct dicom_image *a, const struct dicom_image *b)
{
    int order = strcmp(a->file->modality, b->file->modality);
    order = order ? order : strcmp(a->file->sop_class, b->file->sop_class);
    order = order ? order : strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->component, b->component);
    order = order ? order : compare_numbers(a->vendor_kind, b->vendor_kind);
    order = order ? order : compare_numbers(a->rows, b->rows);
    order = order ? order : compare_numbers(a->columns, b->columns);
    order = order ? order : compare_numbers(a->file->samples_per_pixel, b->file->samples_per_pixel);
    return order ? order : strcmp(instance_of(a), instance_of(b));
}

/* Returns the maker of the scanner by the first letters of Manufacturer, as dcm2niix tells them:
 * names are written in several ways. "": another one. */
static const char *maker_of(const struct dicom_image *image)
{
    static const char *const makers[] = {"Bruker",  "Canon",     "CPS",     "GE",
                                         "Hitachi", "Hyperfine", "Mediso",  "MR",
                                         "Philips", "Siemens",   "Toshiba", "UIH"};
    const char *name = ts_dicom_field_text(image, DICOM_FIELD_manufacturer);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (!strncasecmp(name, makers[i], 2))
            return makers[i];
    return "";
}

/* Returns what the header states of an attribute, so that texts of numbers have the order of these;
 * "" if it states nothing. A patient without ID has a name. The slices of CT are named as people
 * like, those of MR by their protocol; and of a series without a UID every name counts. */
static const char *text_of(const struct dicom_image *image, enum dicom_series_key attribute,
                           char buffer[TEXT_BYTES])
{
    const struct dicom_file *file = image->file;
    const bool dated = !isnan(file->study_date_s) || !isnan(file->study_time_s);
    *buffer = '\0';
    switch (attribute) {
    case KEY_STUDY:
        return file->study;
    case KEY_SERIES:
        return file->series;
    case KEY_NUMBER:
        if (!isnan(file->series_number))
            snprintf(buffer, TEXT_BYTES, "%024.3f", file->series_number);
        return buffer;
    case KEY_PATIENT:
        return *ts_dicom_field_text(image, DICOM_FIELD_patient_id)
                   ? ts_dicom_field_text(image, DICOM_FIELD_patient_id)
                   : file->patient_name;
    case KEY_TIME:
        if (dated)
            snprintf(buffer, TEXT_BYTES, "%024.3f",
                     (isnan(file->study_date_s) ? 0 : file->study_date_s) +
                         (isnan(file->study_time_s) ? 0 : file->study_time_s));
        return buffer;
    case KEY_MANUFACTURER:
        return maker_of(image);
    case KEY_PROTOCOL:
        if (strcmp(file->modality, "MR") != 0 && *file->series)
            return "";
        return *file->protocol ? file->protocol : file->description;
    case KEY_FRAME:
        return file->frame_of_reference;
    case KEY_STACK:
        return image->stack;
    case DICOM_SERIES_KEYS:
        break;
    }
    return "";
}

/* Sets the keys that headers state, "" for those in `join`. Keeps texts made here once for images
 * in a row. */
static bool read_keys(struct dicom_image **images, size_t n, unsigned join, struct arena *arena)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < DICOM_SERIES_KEYS; k++) {
            char buffer[TEXT_BYTES];
            const char *text =
                join >> k & 1 ? "" : text_of(images[i], (enum dicom_series_key)k, buffer);
            if (text == buffer && i > 0 && !strcmp(text, images[i - 1]->keys[k]))
                text = images[i - 1]->keys[k];
            else if (text == buffer)
                text = ts_arena_text(arena, text, strlen(text));
            if (!text)
                return false;
            images[i]->keys[k] = text;
        }
    return true;
}

/* An image with the number of its position, and the attribute by which it is sorted. */
struct item {
    struct dicom_image *image;
    enum dicom_series_key attribute;
    size_t place;
};

static const char *value_of(const struct item *item)
{
    return item->image->keys[item->attribute];
}

static int compare_values(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    const int order = strcmp(value_of(first), value_of(second));
    return order ? order : ts_dicom_compare_images(first->image, second->image);
}

static int compare_contents(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    const int order = ts_dicom_compare_content(first->image, second->image);
    return order ? order : ts_dicom_compare_images(first->image, second->image);
}

static int compare_along(const void *a, const void *b)
{
    const struct dicom_image *first = ((const struct item *)a)->image,
                             *second = ((const struct item *)b)->image;
    if (first->along_mm != second->along_mm)
        return first->along_mm > second->along_mm ? 1 : -1;
    return ts_dicom_compare_images(first, second);
}

static void sort_by(enum dicom_series_key attribute, struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i].attribute = attribute;
    qsort(items, n, sizeof *items, compare_values);
}

/* Returns the end of the run of equal values that begins at `first`. */
static size_t end_of_run(const struct item *items, size_t n, size_t first)
{
    size_t end = first + 1;
    while (end < n && !strcmp(value_of(&items[end]), value_of(&items[first])))
        end++;
    return end;
}

/* Gives images of one series UID that lack an attribute the value of the others, if these have one.
 */
static void fill_absent(struct item *items, size_t n, enum dicom_series_key attribute)
{
    sort_by(attribute, items, n);
    const size_t absent = *value_of(&items[0]) ? 0 : end_of_run(items, n, 0);
    if (absent > 0 && absent < n && end_of_run(items, n, absent) == n)
        for (size_t i = 0; i < absent; i++)
            items[i].image->keys[attribute] = value_of(&items[absent]);
}

static bool same_plane(const struct dicom_image *a, const struct dicom_image *b)
{
    bool same = a->have_position && a->have_orientation && a->have_spacing && b->have_position &&
                b->have_orientation && b->have_spacing &&
                ts_dicom_same_orientation(a, b, DICOM_SAME_ORIENTATION);
    for (int i = 0; i < 2 && same; i++)
        same = fabs(a->spacing_mm[i] - b->spacing_mm[i]) <= SAME_SPACING * fabs(a->spacing_mm[i]);
    return same;
}

/* Numbers the positions of the items. Returns how many there are; 0 if the images are not
 * in parallel planes. */
static size_t number_places(struct item *items, size_t n)
{
    const struct dicom_image *first = items[0].image;
    double normal[3];
    for (size_t i = 0; i < n; i++)
        items[i].place = NOWHERE;
    for (size_t i = 0; i < n; i++)
        if (!same_plane(first, items[i].image))
            return 0;
    ts_cross(first->orientation, first->orientation + 3, normal);
    for (size_t i = 0; i < n; i++)
        items[i].image->along_mm = ts_dot(items[i].image->position_mm, normal);
    qsort(items, n, sizeof *items, compare_along);
    const double same = ts_dicom_same_position(first);
    items[0].place = 0;
    for (size_t i = 1; i < n; i++)
        items[i].place =
            items[i - 1].place + (items[i].image->along_mm - items[i - 1].image->along_mm > same);
    return items[n - 1].place + 1;
}

/* Returns true if equally many images are at each of several positions, which are near the places
 * of even steps from the first to the last: as far off as a chain may tolerate. The items are in
 * the order of their positions. */
static bool is_regular(const struct item *items, size_t n, size_t places)
{
    const size_t each = places > 0 ? n / places : 0;
    if (places < LEAST_POSITIONS || each * places != n)
        return false;
    const double *first = items[0].image->position_mm, *last = items[n - 1].image->position_mm;
    double step[3];
    for (int k = 0; k < 3; k++)
        step[k] = (last[k] - first[k]) / (double)(places - 1);
    for (size_t i = 0; i < n; i++) {
        const double *position = items[i].image->position_mm;
        double off[3];
        for (int k = 0; k < 3; k++)
            off[k] = position[k] - first[k] - (double)items[i].place * step[k];
        if (items[i].place != i / each ||
            ts_length(off) > DICOM_MOST_TOLERANCE / 100 * ts_length(step))
            return false;
    }
    return true;
}

/* How an attribute is spread over images. */
struct spread {
    enum { ONE, EACH, MIXED } how; /* one value; another one at each position; neither */
    size_t values;
};

static bool is_one(const struct item *items, size_t n, enum dicom_series_key attribute)
{
    const char *first = items[0].image->keys[attribute];
    for (size_t i = 1; i < n; i++)
        if (items[i].image->keys[attribute] != first &&
            strcmp(items[i].image->keys[attribute], first) != 0)
            return false;
    return true;
}

static struct spread find_spread(struct item *items, size_t n, enum dicom_series_key attribute)
{
    const size_t places = LEAST_POSITIONS;
    size_t values = 0;
    bool each = true;
    if (is_one(items, n, attribute))
        return (struct spread){ONE, 1};
    sort_by(attribute, items, n);
    for (size_t first = 0, end; first < n; first = end, values++) {
        end = end_of_run(items, n, first);
        each = each && *value_of(&items[first]) && items[first].place != NOWHERE;
        for (size_t i = first; i < end; i++)
            each = each && items[i].place == items[first].place;
    }
    return (struct spread){each && values >= places ? EACH : MIXED, values};
}

static bool is_shared(const struct item *items, const struct spread *spreads,
                      enum dicom_series_key attribute)
{
    return spreads[attribute].how == ONE && *items[0].image->keys[attribute];
}

/* Returns true if images are one volume though attributes have another value at each position. */
static bool may_join(const struct item *items, const struct spread *spreads, bool regular,
                     bool repeated)
{
    static const bool minor[DICOM_SERIES_KEYS] = {
        [KEY_TIME] = true, [KEY_FRAME] = true, [KEY_STACK] = true};
    const bool unnamed =
        spreads[KEY_SERIES].how == ONE; /* where the UID is missing; then descriptions count, too */
    bool only_minor = true;
    for (int k = 0; k < DICOM_SERIES_KEYS; k++)
        only_minor = only_minor &&
                     (spreads[k].how == ONE || minor[k] || k == KEY_SERIES ||
                      (k == KEY_PROTOCOL && unnamed && !is_shared(items, spreads, KEY_SERIES)));
    const bool study = is_shared(items, spreads, KEY_STUDY);
    if (!is_shared(items, spreads, KEY_SERIES))
        return regular && only_minor && study && is_shared(items, spreads, KEY_NUMBER);
    if (spreads[KEY_PATIENT].how != ONE)
        return regular && !repeated && (study || is_shared(items, spreads, KEY_FRAME));
    return regular || (only_minor && spreads[KEY_STACK].how == ONE);
}

/* Notes that an attribute divides the items. `one`: they would be one volume without it. */
static void note_divided(struct item *items, size_t n, enum dicom_series_key attribute, bool one)
{
    for (size_t i = 0; i < n; i++) {
        items[i].image->torn |= one ? 1U << attribute : 0;
        items[i].image->divided |= 1U << attribute;
    }
}

/* Returns true if images of one series UID lie between those of another one. */
static bool interleave(struct item *items, size_t n)
{
    sort_by(KEY_SERIES, items, n);
    for (size_t first = 0, end; first < n; first = end) {
        size_t low = SIZE_MAX, high = 0;
        end = end_of_run(items, n, first);
        for (size_t i = first; i < end; i++) {
            low = items[i].place < low ? items[i].place : low;
            high = items[i].place > high ? items[i].place : high;
        }
        if (high - low >= end - first)
            return true;
    }
    return false;
}

/* Returns true if the slices are so thick that they fill the steps between those of all series, and
 * leave gaps between those of one. */
static bool fill_steps(const struct item *items, size_t n)
{
    const double thickness = ts_dicom_field_number(items[0].image, DICOM_FIELD_slice_thickness);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, items[i].image->along_mm);
        high = fmax(high, items[i].image->along_mm);
    }
    return thickness > 0 && thickness <= MOST_THICKNESS * (high - low) / (double)(n - 1);
}

/* Returns true if images of several series UIDs of one study would be one volume, and each series
 * has gaps that others fill: a scanner numbers series of its own, and their slices may lie between
 * each other too if they are thick. */
static bool are_gaps_filled(struct item *items, size_t n, const struct spread *spreads)
{
    bool numbered = false;
    for (int k = 0; k < DICOM_SERIES_KEYS; k++) {
        const bool may = k == KEY_NUMBER || k == KEY_TIME || k == KEY_FRAME || k == KEY_STACK;
        numbered |= may && spreads[k].how != ONE;
        if (k != KEY_SERIES && !may && spreads[k].how != ONE)
            return false;
    }
    return spreads[KEY_SERIES].how == MIXED && is_shared(items, spreads, KEY_STUDY) &&
           (!numbered || fill_steps(items, n)) && interleave(items, n);
}

static void mend(struct item *items, size_t n);

/* Mends the images of each value of an attribute. */
static void mend_parts(struct item *items, size_t n, enum dicom_series_key attribute)
{
    sort_by(attribute, items, n);
    for (size_t first = 0, end; first < n; first = end) {
        end = end_of_run(items, n, first);
        mend(items + first, end - first);
    }
}

/* Joins images that agree in what they show, if attributes tear them. Of attributes that divide
 * them otherwise, the one of the fewest values comes first: one that tears has many. */
static void mend(struct item *items, size_t n)
{
    struct spread spreads[DICOM_SERIES_KEYS];
    enum dicom_series_key mixed = DICOM_SERIES_KEYS;
    bool torn = false;
    for (int k = 0; k < DICOM_SERIES_KEYS; k++)
        torn = torn || !is_one(items, n, (enum dicom_series_key)k);
    if (!torn)
        return;
    const size_t places = number_places(items, n);
    const bool regular = is_regular(items, n, places);
    for (int k = 0; k < DICOM_SERIES_KEYS; k++) {
        spreads[k] = find_spread(items, n, (enum dicom_series_key)k);
        if (spreads[k].how == MIXED &&
            (mixed == DICOM_SERIES_KEYS || spreads[k].values < spreads[mixed].values))
            mixed = (enum dicom_series_key)k;
    }
    if (mixed < DICOM_SERIES_KEYS) {
        for (int k = 0; k < DICOM_SERIES_KEYS && is_shared(items, spreads, KEY_SERIES); k++)
            if (spreads[k].how == MIXED)
                note_divided(items, n, (enum dicom_series_key)k, regular && places == n);
        const bool gaps = regular && places == n && are_gaps_filled(items, n, spreads);
        for (int k = 0; k < DICOM_SERIES_KEYS && gaps; k++)
            if (spreads[k].how != ONE)
                note_divided(items, n, (enum dicom_series_key)k, true);
        mend_parts(items, n, mixed);
        return;
    }
    const bool joined = may_join(items, spreads, regular, places < n);
    for (int k = 0; k < DICOM_SERIES_KEYS; k++) {
        const char *value = items[0].image->keys[k];
        if (spreads[k].how != EACH)
            continue;
        for (size_t i = 0; joined && i < n; i++) {
            items[i].image->keys[k] = value;
            items[i].image->divided &= ~(1U << k);
        }
        if (!joined && (is_shared(items, spreads, KEY_SERIES) || (regular && places == n)))
            note_divided(items, n, (enum dicom_series_key)k, regular && places == n);
    }
}

bool ts_dicom_join(struct dicom_image **images, size_t n, unsigned join, struct arena *arena)
{
    struct item *items = malloc((n + 1) * sizeof *items);
    const bool ok = items && read_keys(images, n, join, arena);
    for (size_t i = 0; ok && i < n; i++) {
        images[i]->torn = images[i]->divided = 0;
        items[i] = (struct item){.image = images[i]};
    }
    if (ok && n > 1) {
        sort_by(KEY_SERIES, items, n);
        for (size_t first = 0, end; first < n; first = end) {
            end = end_of_run(items, n, first);
            const bool named = *value_of(&items[first]) != '\0';
            for (int k = 0; named && k < DICOM_SERIES_KEYS; k++)
                if (attributes[k].fills &&
                    !is_one(items + first, end - first, (enum dicom_series_key)k))
                    fill_absent(items + first, end - first, (enum dicom_series_key)k);
        }
        qsort(items, n, sizeof *items, compare_contents);
        for (size_t first = 0, end; first < n; first = end) {
            for (end = first + 1;
                 end < n && ts_dicom_compare_content(items[first].image, items[end].image) == 0;
                 end++) {
            }
            mend(items + first, end - first);
        }
    }
    free(items);
    return ok;
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Appends `text` to a list of `words`, which commas divide. */
static void append(char list[LIST_BYTES], const char *text)
{
    const size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s%s", used ? ", " : "", text);
}

static bool dicom_join_differs(const struct dicom_series *series, enum dicom_series_key attribute)
{
    char first[TEXT_BYTES], other[TEXT_BYTES];
    const char *text = text_of(series->images[0], attribute, first);
    for (size_t i = 1; i < series->n_images; i++)
        if (strcmp(text, text_of(series->images[i], attribute, other)) != 0)
            return true;
    return false;
}

void ts_dicom_join_list(const struct dicom_series *series, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (int k = 0; k < DICOM_SERIES_KEYS; k++)
        if (series->images[0]->torn >> k & 1 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     ts_dicom_join_words[k]);
}

/* Warns of one series. divided: 1 << i for attributes in which series of its UID differ. */
static void warn_of_one(struct dicom_series *series, unsigned divided)
{
    char differ[LIST_BYTES] = "", torn[LIST_BYTES] = "", words[LIST_BYTES], others[LIST_BYTES] = "";
    const unsigned bits = series->images[0]->torn;
    divided |= series->images[0]->divided;
    ts_dicom_join_list(series, words, sizeof words);
    for (int k = 0; k < DICOM_SERIES_KEYS; k++) {
        if (dicom_join_differs(series, (enum dicom_series_key)k))
            append(differ, attributes[k].name);
        if (bits >> k & 1) {
            append(torn, attributes[k].name);
        } else if (divided >> k & 1) {
            append(others, attributes[k].name);
        }
    }
    if (!*series->series && !series->images[0]->file->refusal)
        ts_dicom_series_warn(series, "the images have no Series Instance UID: only Series Number "
                                     "and what else the headers state tell them from other series");
    if (*differ)
        ts_dicom_series_warn(series, "the images differ in %s, and are read as one series", differ);
    if (*torn)
        ts_dicom_series_warn(series,
                             "other images are a series of their own, since they differ in %s; "
                             "`join: [%s]` reads them as one",
                             torn, words);
    if (*others)
        ts_dicom_series_warn(series,
                             "images of one Series Instance UID differ in %s: those of each are a "
                             "series of their own",
                             others);
}

void ts_dicom_warn_of_keys(struct dicom_series *series, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        unsigned divided = 0;
        for (end = first; end < n && ts_dicom_same_series(&series[first], &series[end]); end++)
            for (int k = 0; *series[first].series && k < DICOM_SERIES_KEYS; k++)
                if (attributes[k].divides &&
                    strcmp(series[first].images[0]->keys[k], series[end].images[0]->keys[k]) != 0)
                    divided |= 1U << k;
        for (size_t i = first; i < end; i++)
            warn_of_one(&series[i], divided);
    }
}
