/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of wanted elements and their strict parsing. A value that is wrong in part is wrong as a whole: a position
 * of two numbers, or a number with a comma, must not become a place that looks right.
 */
#include "io/dicom_header/dicom_values.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
    VALUE_UID,      /* text that must fit */
    VALUE_TEXT,     /* text, cut at its field */
    VALUE_SHORT,    /* int, from 16 bits; a US or SS by PixelRepresentation is kept as raw bits */
    VALUE_DECIMALS, /* exactly `count` doubles */
    VALUE_INTEGER,  /* int64_t */
    VALUE_ADVICE,   /* DS, IS, US or FD as double; NaN where it is not one number: it only tells images apart */
    VALUE_PRESENCE  /* nothing is kept but that the element is there */
};

struct wanted {
    uint32_t tag;
    enum value_kind kind;
    const char *name;
    bool of_image;       /* the field is one of struct dicom_image, not of struct dicom_file */
    size_t offset, size; /* the field; size: bytes of a text, count of numbers */
    size_t have;         /* offset of the have_ flag in struct dicom_image; 0: none (the file stands there) */
};

#define FIELD(field) true, offsetof(struct dicom_image, field)
#define FLAG(field) offsetof(struct dicom_image, field)
#define FILE_FIELD(field) false, offsetof(struct dicom_file, field)
#define FILE_TEXT(field) FILE_FIELD(field), sizeof(((struct dicom_file *)0)->field), 0
#define TEXT(field) FIELD(field), sizeof(((struct dicom_image *)0)->field), 0

static const struct wanted wanted[] = {
    {DICOM_TAG(0x0008, 0x0008), VALUE_TEXT, "Image Type", FILE_TEXT(image_type)},
    {DICOM_TAG(0x0008, 0x0016), VALUE_UID, "SOP Class UID", FILE_TEXT(sop_class)},
    {DICOM_TAG(0x0008, 0x0018), VALUE_UID, "SOP Instance UID", FILE_TEXT(sop_instance)},
    {DICOM_TAG(0x0008, 0x0060), VALUE_TEXT, "Modality", FILE_TEXT(modality)},
    {DICOM_TAG(0x0018, 0x0081), VALUE_ADVICE, "Echo Time", FIELD(echo_time_ms), 1, 0},
    {DICOM_TAG(0x0018, 0x0088), VALUE_ADVICE, "Spacing Between Slices", FIELD(spacing_between_slices_mm), 1, 0},
    {DICOM_TAG(0x0018, 0x1120), VALUE_ADVICE, "Gantry/Detector Tilt", FILE_FIELD(tilt_degree), 1, 0},
    {DICOM_TAG(0x0018, 0x1210), VALUE_TEXT, "Convolution Kernel", FILE_TEXT(kernel)},
    {DICOM_TAG(0x0018, 0x9087), VALUE_ADVICE, "Diffusion b-value", FIELD(b_value), 1, 0},
    {DICOM_TAG(0x0020, 0x000D), VALUE_UID, "Study Instance UID", FILE_TEXT(study)},
    {DICOM_TAG(0x0020, 0x000E), VALUE_UID, "Series Instance UID", FILE_TEXT(series)},
    {DICOM_TAG(0x0020, 0x0012), VALUE_ADVICE, "Acquisition Number", FIELD(acquisition_number), 1, 0},
    {DICOM_TAG(0x0020, 0x0013), VALUE_ADVICE, "Instance Number", FIELD(instance_number), 1, 0},
    {DICOM_TAG(0x0020, 0x0032), VALUE_DECIMALS, "Image Position (Patient)", FIELD(position_mm), 3, FLAG(have_position)},
    {DICOM_TAG(0x0020, 0x0037), VALUE_DECIMALS, "Image Orientation (Patient)", FIELD(orientation), 6,
     FLAG(have_orientation)},
    {DICOM_TAG(0x0020, 0x0052), VALUE_UID, "Frame of Reference UID", FILE_TEXT(frame_of_reference)},
    {DICOM_TAG(0x0020, 0x0100), VALUE_ADVICE, "Temporal Position Identifier", FIELD(temporal_position), 1, 0},
    {DICOM_TAG(0x0020, 0x1002), VALUE_ADVICE, "Images in Acquisition", FILE_FIELD(images_in_acquisition), 1, 0},
    {DICOM_TAG(0x0020, 0x1209), VALUE_ADVICE, "Number of Series Related Instances", FILE_FIELD(series_instances), 1, 0},
    {DICOM_TAG(0x0028, 0x0002), VALUE_SHORT, "Samples per Pixel", FILE_FIELD(samples_per_pixel), 1, 0},
    {DICOM_TAG(0x0028, 0x0004), VALUE_TEXT, "Photometric Interpretation", FILE_TEXT(photometric)},
    {DICOM_TAG(0x0028, 0x0008), VALUE_INTEGER, "Number of Frames", FILE_FIELD(frames), 1, 0},
    {DICOM_TAG(0x0028, 0x0010), VALUE_SHORT, "Rows", FILE_FIELD(rows), 1, 0},
    {DICOM_TAG(0x0028, 0x0011), VALUE_SHORT, "Columns", FILE_FIELD(columns), 1, 0},
    {DICOM_TAG(0x0028, 0x0030), VALUE_DECIMALS, "Pixel Spacing", FIELD(spacing_mm), 2, FLAG(have_spacing)},
    {DICOM_TAG(0x0028, 0x0100), VALUE_SHORT, "Bits Allocated", FILE_FIELD(bits_allocated), 1, 0},
    {DICOM_TAG(0x0028, 0x0101), VALUE_SHORT, "Bits Stored", FILE_FIELD(bits_stored), 1, 0},
    {DICOM_TAG(0x0028, 0x0102), VALUE_SHORT, "High Bit", FILE_FIELD(high_bit), 1, 0},
    {DICOM_TAG(0x0028, 0x0103), VALUE_SHORT, "Pixel Representation", FILE_FIELD(pixel_representation), 1, 0},
    {DICOM_TAG(0x0028, 0x0120), VALUE_SHORT, "Pixel Padding Value", FIELD(padding), 1, FLAG(have_padding)},
    {DICOM_TAG(0x0028, 0x0121), VALUE_SHORT, "Pixel Padding Range Limit", FIELD(padding_limit), 1,
     FLAG(have_padding_limit)},
    {DICOM_TAG(0x0028, 0x0301), VALUE_TEXT, "Burned In Annotation", FILE_TEXT(burned_in)},
    {DICOM_TAG(0x0028, 0x1052), VALUE_DECIMALS, "Rescale Intercept", FIELD(intercept), 1, FLAG(have_intercept)},
    {DICOM_TAG(0x0028, 0x1053), VALUE_DECIMALS, "Rescale Slope", FIELD(slope), 1, FLAG(have_slope)},
    {DICOM_TAG(0x0028, 0x1054), VALUE_TEXT, "Rescale Type", TEXT(rescale_type)},
    {DICOM_TAG(0x0028, 0x2110), VALUE_TEXT, "Lossy Image Compression", FILE_TEXT(lossy_compression)},
    {DICOM_TAG(0x0028, 0x2112), VALUE_TEXT, "Lossy Image Compression Ratio", FILE_TEXT(lossy_ratio)},
    {DICOM_TAG(0x0028, 0x2114), VALUE_TEXT, "Lossy Image Compression Method", FILE_TEXT(lossy_method)},
    {DICOM_TAG(0x0028, 0x3000), VALUE_PRESENCE, "Modality LUT Sequence", false, 0, 0, 0},
    {DICOM_TAG(0x0054, 0x1001), VALUE_TEXT, "Units", FILE_TEXT(units)},
    {DICOM_FLOAT_PIXELS, VALUE_PRESENCE, "Float Pixel Data", false, 0, 0, 0},
    {DICOM_DOUBLE_PIXELS, VALUE_PRESENCE, "Double Float Pixel Data", false, 0, 0, 0},
};
enum { WANTED_COUNT = sizeof wanted / sizeof *wanted };
_Static_assert(WANTED_COUNT <= 64, "struct scan has a bit for each");

static int find(uint32_t tag)
{
    for (int i = 0; i < WANTED_COUNT; i++)
        if (wanted[i].tag == tag)
            return i;
    return -1;
}

bool ts_dicom_has(const struct scan *scan, uint32_t tag)
{
    const int i = find(tag);
    return i >= 0 && (scan->filled >> i & 1);
}

void ts_dicom_need(struct scan *scan, uint32_t tag)
{
    if (!ts_dicom_has(scan, tag))
        ts_dicom_refuse(scan, "dicom-missing-element", "%s (%04x,%04x) is missing", wanted[find(tag)].name, tag >> 16,
                        tag & 0xFFFF);
}

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\0'))
        --*length;
    while (*length > 0 && **text == ' ') {
        ++*text;
        --*length;
    }
}

static bool parse_decimal(const char *text, size_t length, double *value)
{
    char copy[64];
    trim(&text, &length);
    if (length == 0 || length >= sizeof copy)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!strchr("0123456789+-.eE", text[i]) || text[i] == '\0')
            return false;
        copy[i] = text[i];
    }
    copy[length] = '\0';
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    char *end = NULL;
    double parsed = strtod_l(copy, &end, c_locale);
    freelocale(c_locale);
    if (end != copy + length || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

static bool parse_integer(const char *text, size_t length, int64_t *value)
{
    char copy[24];
    trim(&text, &length);
    if (length == 0 || length >= sizeof copy)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool sign = i == 0 && (text[i] == '-' || text[i] == '+');
        if (!sign && (text[i] < '0' || text[i] > '9'))
            return false;
        copy[i] = text[i];
    }
    copy[length] = '\0';
    char *end = NULL;
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return end == copy + length && end != copy && errno == 0;
}

enum { MAX_DECIMALS = 6 };

/* Parses all numbers or none: a value that is wrong in part leaves its field as it was. */
static bool parse_decimals(const char *text, size_t length, double *values, size_t count)
{
    double parsed[MAX_DECIMALS];
    for (size_t i = 0; i < count; i++) {
        const char *end = memchr(text, '\\', length);
        size_t n = end ? (size_t)(end - text) : length;
        if ((end == NULL) != (i == count - 1) || !parse_decimal(text, n, &parsed[i]))
            return false;
        if (end) {
            text += n + 1;
            length -= n + 1;
        }
    }
    memcpy(values, parsed, count * sizeof *values);
    return true;
}

static double parse_advice(const char *bytes, size_t length, const char *vr, bool big_endian)
{
    double value = NAN;
    if (!strcmp(vr, "FD") || (!*vr && length == 8)) {
        /* Implicit encoding cannot tell FD from a decimal string of eight letters: the string is tried first. */
        if (!*vr && parse_decimal(bytes, length, &value))
            return value;
        if (length != 8)
            return NAN;
        const unsigned char *raw = (const unsigned char *)bytes;
        uint64_t first = ts_dicom_u32(raw, big_endian), second = ts_dicom_u32(raw + 4, big_endian);
        uint64_t bits = big_endian ? first << 32 | second : second << 32 | first;
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) ? value : NAN;
    }
    return parse_decimal(bytes, length, &value) ? value : NAN;
}

static bool is_text_vr(const char *vr)
{
    return !*vr || (strcmp(vr, "US") && strcmp(vr, "SS") && strcmp(vr, "UL") && strcmp(vr, "SL") && strcmp(vr, "FD") &&
                    strcmp(vr, "FL") && strcmp(vr, "OB") && strcmp(vr, "OW") && strcmp(vr, "SQ"));
}

static bool is_short_vr(const char *vr)
{
    return !*vr || !strcmp(vr, "US") || !strcmp(vr, "SS") || !strcmp(vr, "UN");
}

/* Stores the value in its field; false where it is not of its kind. */
static bool store(const struct wanted *want, const char *bytes, size_t length, const struct dicom_element *element,
                  bool big_endian, struct scan *scan)
{
    void *field = (want->of_image ? (char *)&scan->image : (char *)scan->file) + want->offset;
    const unsigned char *raw = (const unsigned char *)bytes;
    int64_t integer = 0;
    switch (want->kind) {
    case VALUE_UID:
    case VALUE_TEXT:
        trim(&bytes, &length);
        if (!is_text_vr(element->vr) || (want->kind == VALUE_UID && length >= want->size))
            return false;
        length = length < want->size ? length : want->size - 1;
        memcpy(field, bytes, length);
        ((char *)field)[length] = '\0';
        return true;
    case VALUE_SHORT:
        if (length != 2 || !is_short_vr(element->vr))
            return false;
        *(int *)field = ts_dicom_u16(raw, big_endian);
        return true;
    case VALUE_DECIMALS:
        return is_text_vr(element->vr) && parse_decimals(bytes, length, field, want->size);
    case VALUE_INTEGER:
        if (!is_text_vr(element->vr) || !parse_integer(bytes, length, &integer))
            return false;
        *(int64_t *)field = integer;
        return true;
    case VALUE_ADVICE:
        *(double *)field = parse_advice(bytes, length, element->vr, big_endian);
        return true;
    case VALUE_PRESENCE:
        return true;
    }
    return false;
}

static void refuse_value(struct scan *scan, const struct wanted *want, const struct dicom_element *element,
                         const char *text, size_t length)
{
    static const char *const decimals[] = {"", "a decimal number",   "two decimal numbers", "three decimal numbers", "",
                                           "", "six decimal numbers"};
    const unsigned group = element->tag >> 16, number = element->tag & 0xFFFF;
    const char *expected = want->kind == VALUE_UID        ? "a UID of at most 64 characters"
                           : want->kind == VALUE_INTEGER  ? "an integer"
                           : want->kind == VALUE_DECIMALS ? decimals[want->size]
                                                          : "text";
    if (want->kind == VALUE_SHORT)
        ts_dicom_refuse(scan, "dicom-bad-value", "%s (%04x,%04x) is not one 16-bit number: VR %s, %" PRIu32 " bytes",
                        want->name, group, number, *element->vr ? element->vr : "(implicit)", element->length);
    else
        ts_dicom_refuse(scan, "dicom-bad-value", "%s (%04x,%04x) is \"%.*s\", expected %s", want->name, group, number,
                        length < 40 ? (int)length : 40, text, expected);
}

void ts_dicom_take(struct scan *scan, const struct dicom_walk *walk, const struct dicom_element *element)
{
    char bytes[512];
    const int i = find(element->tag);
    if (i < 0)
        return;
    const struct wanted *want = &wanted[i];
    const uint64_t bit = (uint64_t)1 << i;
    const unsigned group = element->tag >> 16, number = element->tag & 0xFFFF;
    if (scan->met & bit) {
        ts_dicom_refuse(scan, "dicom-repeated-element", "%s (%04x,%04x) is given twice", want->name, group, number);
        return;
    }
    scan->met |= bit;
    scan->filled |= want->kind == VALUE_PRESENCE ? bit : 0;
    if (want->kind == VALUE_PRESENCE || element->length == 0)
        return;
    const size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    if (length < element->length && want->kind != VALUE_TEXT && want->kind != VALUE_ADVICE) {
        ts_dicom_refuse(scan, "dicom-bad-value", "%s (%04x,%04x) is %" PRIu32 " bytes long", want->name, group, number,
                        element->length);
        return;
    }
    if (!ts_dicom_read(&scan->reader, element->offset, bytes, length)) {
        ts_dicom_refuse(scan, "dicom-unreadable", "%s (%04x,%04x) cannot be read", want->name, group, number);
        return;
    }
    const char *text = bytes;
    size_t text_length = length;
    const bool is_text = want->kind != VALUE_SHORT && strcmp(element->vr, "FD") != 0;
    if (is_text)
        trim(&text, &text_length);
    if (is_text && text_length == 0)
        return; /* nothing but padding: absent */
    if (!store(want, bytes, length, element, walk->big_endian, scan)) {
        refuse_value(scan, want, element, text, text_length);
        return;
    }
    scan->filled |= bit;
    if (want->have)
        *(bool *)((char *)&scan->image + want->have) = true;
}
