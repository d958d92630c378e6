/* SPDX-License-Identifier: Apache-2.0
 *
 * Every element of a header is looked up here, and most are in no row: the tags are sorted, so that
 * a bisection of a few steps decides.
 */
#include "io/dicom_header/dicom_fields.h"

#include <math.h>

#include "io/dicom_header/dicom_known.h"
#include "io/dicom_header/dicom_parse.h"

enum { VALUE_BYTES = 256 };

#define READ DICOM_PLACE_LIST, 0
#define IN_FILE(member) DICOM_PLACE_FILE, offsetof(struct dicom_file, member)
#define IN_IMAGE(member) DICOM_PLACE_IMAGE, offsetof(struct dicom_image, member)

const struct dicom_field_row ts_dicom_fields[DICOM_FIELDS] = {
#define FIELD(group, element, name, key, scale, unit, most, kind, where, known, action, reason)    \
    {DICOM_TAG(group, element), #name, key,   scale,  unit,  most,                                 \
     DICOM_FIELD_##kind,        where, known, action, reason},
#define ALIAS(group, element, name, kind)
#include "io/dicom_header/dicom_fields.def"
};

/* This lists the tags in rising order, each with its field and the kind of its values. */
static const struct tag_row {
    uint32_t tag;
    enum dicom_field field;
    enum dicom_field_kind kind;
} tags[] = {
#define FIELD(group, element, name, key, scale, unit, most, kind, ...)                             \
    {DICOM_TAG(group, element), DICOM_FIELD_##name, DICOM_FIELD_##kind},
#define ALIAS(group, element, name, kind)                                                          \
    {DICOM_TAG(group, element), DICOM_FIELD_##name, DICOM_FIELD_##kind},
#include "io/dicom_header/dicom_fields.def"
};

static const struct tag_row *find(uint32_t tag)
{
    size_t low = 0, high = sizeof tags / sizeof *tags;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (tags[middle].tag == tag)
            return &tags[middle];
        if (tags[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool ts_dicom_field_is_number(enum dicom_field field)
{
    return ts_dicom_fields[field].kind <= DICOM_FIELD_BINARY;
}

/* Reads the bytes as the row's kind. Returns false where they are not of that kind. */
static bool parse(const struct tag_row *row, const struct dicom_element *element, const char *bytes,
                  size_t length, bool big_endian, struct scan *scan, struct dicom_value *value)
{
    if (!ts_dicom_field_is_number(row->field)) {
        ts_dicom_trim(&bytes, &length);
        if (length == 0 || !ts_dicom_is_text_vr(element->vr))
            return false;
        value->text = ts_arena_text(scan->arena, bytes, length);
        if (!value->text)
            ts_dicom_refuse(scan, "no-memory", "memory is out");
        return value->text != NULL;
    }
    const char *end = ts_dicom_is_text_vr(element->vr) && row->kind == DICOM_FIELD_NUMBER
                          ? memchr(bytes, '\\', length)
                          : NULL; /* the first of several */
    value->number = ts_dicom_parse_number(bytes, end ? (size_t)(end - bytes) : length, element->vr,
                                          row->kind == DICOM_FIELD_BINARY, big_endian);
    return isfinite(value->number);
}

void ts_dicom_take_field(struct scan *scan, const struct dicom_element *element, bool big_endian)
{
    const struct tag_row *row = find(element->tag);
    char bytes[VALUE_BYTES];
    if (!row || ts_dicom_fields[row->field].place != DICOM_PLACE_LIST || element->length == 0)
        return;
    const size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    struct dicom_value parsed = {.field = row->field, .next = ts_dicom_current_image(scan)->values};
    if (!ts_dicom_read(&scan->reader, element->offset, bytes, length) ||
        !parse(row, element, bytes, length, big_endian, scan, &parsed))
        return;
    struct dicom_value *value = ts_arena_copy(scan->arena, &parsed, 1, sizeof parsed);
    if (!value)
        ts_dicom_refuse(scan, "no-memory", "memory is out");
    else
        ts_dicom_current_image(scan)->values = value;
}

static const struct dicom_value *newest(const struct dicom_image *image, enum dicom_field field)
{
    const struct dicom_value *value = image->values;
    while (value && value->field != field)
        value = value->next;
    return value;
}

/* Returns the member that holds the field; NULL where a list does. */
static const void *member(const struct dicom_image *image, enum dicom_field field)
{
    const struct dicom_field_row *row = &ts_dicom_fields[field];
    const char *base =
        row->place == DICOM_PLACE_FILE ? (const char *)image->file : (const char *)image;
    return row->place == DICOM_PLACE_LIST ? NULL : base + row->offset;
}

void ts_dicom_field_mark(const struct dicom_image *image, bool present[DICOM_FIELDS])
{
    for (int field = 0; field < DICOM_FIELDS; field++)
        present[field] |= ts_dicom_fields[field].place != DICOM_PLACE_LIST;
    for (const struct dicom_value *value = image->values; value; value = value->next)
        present[value->field] = true;
}

double ts_dicom_field_believed(enum dicom_field field, double number)
{
    return fabs(number) <= ts_dicom_fields[field].most ? number : NAN;
}

double ts_dicom_field_number(const struct dicom_image *image, enum dicom_field field)
{
    const double *held = member(image, field);
    const struct dicom_value *value = held ? NULL : newest(image, field);
    return held ? *held : value ? value->number : NAN;
}

const char *ts_dicom_field_text(const struct dicom_image *image, enum dicom_field field)
{
    const char *held = member(image, field);
    const struct dicom_value *value = held ? NULL : newest(image, field);
    return held ? held : value && value->text ? value->text : "";
}
