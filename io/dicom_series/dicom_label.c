/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines and labels by which people know series. Several series may have one UID, since echoes,
 * kinds and stacks are series of their own here: a label names only what differs between them.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_series.h"
#include "io/source/volume_text.h"

/* Adds a text to the label. */
__attribute__((format(printf, 2, 3))) static void add(struct dicom_series *series,
                                                      const char *format, ...)
{
    const size_t used = strlen(series->label);
    va_list arguments;
    const int n =
        snprintf(series->label + used, sizeof series->label - used, "%s", used ? ", " : "");
    va_start(arguments, format);
    if (used + (size_t)n < sizeof series->label)
        vsnprintf(series->label + used + n, sizeof series->label - used - (size_t)n, format,
                  arguments);
    va_end(arguments);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns true if the text is a number of at most 4 digits, as a Stack ID is. A longer text
 * could identify a person. */
static bool is_count(const char *text)
{
    enum { MOST_DIGITS = 4 };
    const size_t digits = strspn(text, "0123456789");
    return digits <= MOST_DIGITS && !text[digits];
}

/* A label tells series that share a UID apart by what differs between them. */
struct differences {
    bool echo, kind, component, vendor, stack;
};

/* A series differs from any other in what one of them has otherwise than the first, so that each is
 * looked at once. */
static struct differences find_differences(const struct dicom_series *first,
                                           const struct dicom_series *end)
{
    const struct dicom_image *image = first->images[0];
    struct differences found = {0};
    for (const struct dicom_series *other = first + 1; other < end; other++) {
        const struct dicom_image *sibling = other->images[0];
        found.echo |= !same_number(image->echo_ms, sibling->echo_ms);
        found.component |= strcmp(image->component, sibling->component) != 0;
        found.kind |= strcmp(image->kind, sibling->kind) != 0;
        found.vendor |= !same_number(image->vendor_kind, sibling->vendor_kind);
        found.stack |= strcmp(image->stack, sibling->stack) != 0;
    }
    return found;
}

/* Names what tells the series apart from the others that share its UID. */
static void label_one(struct dicom_series *series, const struct differences *differ)
{
    const struct dicom_image *image = series->images[0];
    if (differ->echo && series->volume_axis.kind != TS_AXIS_ECHO && !isnan(image->echo_ms))
        add(series, "TE %g ms", image->echo_ms);
    if (*series->settings)
        add(series, "%s", series->settings);
    if (differ->component && *image->component)
        add(series, "%s", image->component);
    else if (differ->kind && *image->kind)
        add(series, "%s", ts_dicom_known(ts_dicom_image_types, image->kind));
    if (differ->vendor && !differ->component && !isnan(image->vendor_kind))
        add(series, "kind %g", image->vendor_kind);
    if (differ->stack && *image->stack)
        add(series, "stack %s", is_count(image->stack) ? image->stack : DICOM_UNRECOGNIZED);
    if (series->volume_axis.n == 1 && series->volume_axis.positions)
        add(series, "%s %g %s", ts_axis_name(&series->volume_axis),
            series->volume_axis.positions[0], series->volume_axis.unit);
    /* b-values repeat, and volumes that are numbered have no other positions. */
    if (series->volume_axis.n == 1 && series->volume_numbers &&
        (!series->volume_axis.positions || series->volume_axis.kind == TS_AXIS_B))
        add(series, "volume %zu", *series->volume_numbers);
}

void ts_dicom_label(struct dicom_series *series, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && ts_dicom_same_series(&series[end], &series[first]);
             end++) {
        }
        const struct differences differ = find_differences(series + first, series + end);
        for (size_t i = first; i < end; i++)
            label_one(&series[i], &differ);
    }
}

/* Writes "MR #5", or with names 'MR "gre_field" #5'. */
static void write_name(const struct dicom_series *series, bool names, char *out, size_t size)
{
    const struct dicom_file *file = series->images[0]->file;
    const char *quote = names && *file->description ? "\"" : "";
    char number[32] = "";
    if (!isnan(ts_dicom_field_believed(DICOM_FIELD_series_number, file->series_number)))
        snprintf(number, sizeof number, " #%.0f", file->series_number);
    snprintf(out, size, "%s%s%s%s%s%s%s%s", *series->modality ? series->modality : "?",
             *quote ? " " : "", quote, *quote ? file->description : "", quote, number,
             *series->label ? ", " : "", series->label);
}

void ts_dicom_series_line(const struct dicom_series *series, bool names, char *out, size_t size)
{
    const struct ts_axis *axes = series->image.axes;
    char name[DICOM_TEXT_MAX + DICOM_LABEL_MAX + 128], volumes[48] = "", orientation[64];
    write_name(series, names, name, sizeof name);
    if (series->n_volumes > 1)
        snprintf(volumes, sizeof volumes, " x %zu (%s)", series->n_volumes,
                 ts_axis_name(&series->volume_axis));
    if (series->refusal) {
        snprintf(out, size, "%s, %d x %d x %lld%s", name, (int)axes[1].n, (int)axes[2].n,
                 (long long)axes[0].n, volumes);
        return;
    }
    ts_volume_orientation(&series->image, orientation, sizeof orientation);
    snprintf(out, size, "%s, %d x %d x %lld%s, %.4g x %.4g x %.4g %s, %s, %s %s", name,
             (int)axes[1].n, (int)axes[2].n, (long long)axes[0].n, volumes, axes[1].spacing,
             axes[2].spacing, axes[0].spacing, axes[2].unit,
             series->image.has_geometry ? orientation : "without a place",
             ts_dtype_name(series->image.dtype), series->image.unit);
}
