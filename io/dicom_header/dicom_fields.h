/* SPDX-License-Identifier: Apache-2.0
 *
 * The attributes of a header that describe the acquisition (dicom_fields.def), and the values of
 * one image. The scanner keeps them as a list whose newest value counts: an image begins with the
 * values of its file and puts its own in front, so that the frames of a file share what they have
 * in common.
 */
#ifndef IO_DICOM_HEADER_DICOM_FIELDS_H
#define IO_DICOM_HEADER_DICOM_FIELDS_H

#include <stddef.h>

#include "io/dicom_header/dicom_scan_state.h"

#define DICOM_UNRECOGNIZED "unrecognized"
#define DICOM_MIXED "mixed" /* where the texts of slices differ */

/* Lists of texts; NULL ends each. */
extern const char *const ts_dicom_image_types[];
extern const char *const ts_dicom_modalities[];
extern const char *const ts_dicom_photometric[];
extern const char *const ts_dicom_units[];
extern const char *const ts_dicom_pet[];
extern const char *const ts_dicom_corrections[];

/* Returns the text, or "unrecognized" if the list does not have it in any case of letters. */
const char *ts_dicom_known(const char *const *list, const char *text);
/* Returns the UID, or "unrecognized" if it is not made of digits and points, as every UID is. */
const char *ts_dicom_known_uid(const char *uid);
/* Writes the text with each of its values, which backslashes divide, as it is or as "unrecognized"
 * if the list does not have it in any case of letters. What goes beyond `size` is cut. */
void ts_dicom_keep_known(const char *const *list, const char *text, char *out, size_t size);

enum dicom_field {
#define FIELD(group, element, name, ...) DICOM_FIELD_##name,
#define ALIAS(group, element, name, kind)
#include "io/dicom_header/dicom_fields.def"
    DICOM_FIELDS
};

enum dicom_field_kind {
    DICOM_FIELD_NUMBER,
    DICOM_FIELD_BINARY, /* a number too, which implicit encodings store as bits */
    DICOM_FIELD_CODE,
    DICOM_FIELD_KERNEL,
    DICOM_FIELD_FREE,
    DICOM_FIELD_UID,
    DICOM_FIELD_DATE,
    DICOM_FIELD_HIDDEN
};

/* These are the places of a field's value: a list of values, or a member of one of the structs. */
enum dicom_field_place { DICOM_PLACE_LIST, DICOM_PLACE_FILE, DICOM_PLACE_IMAGE };

/* This is a row of dicom_fields.def, which explains the members. */
struct dicom_field_row {
    uint32_t tag;
    const char *name, *key;
    double scale;
    const char *unit;
    double most;
    enum dicom_field_kind kind;
    enum dicom_field_place place;
    size_t offset;
    const char *const *known;
    const char *action, *reason;
};

extern const struct dicom_field_row ts_dicom_fields[DICOM_FIELDS];

/* This is one value of a list. */
struct dicom_value {
    const struct dicom_value *next; /* an older value, or NULL */
    enum dicom_field field;
    const char *text; /* as in the header, without padding at its ends; NULL: a number */
    double number;
};

/* Adds the element's value to the image that is read, if a row with `place` LIST wants it. A value
 * that is not of its kind counts as absent, because nothing of the volume depends on it. */
void ts_dicom_take_field(struct scan *scan, const struct dicom_element *element, bool big_endian);
/* Returns true if the field is a number. */
bool ts_dicom_field_is_number(enum dicom_field field);
/* Sets present[field] for each field that the image has, or that is a member of a struct: all
 * others are absent. */
void ts_dicom_field_mark(const struct dicom_image *image, bool present[DICOM_FIELDS]);
/* Returns the number of an image; NaN if it has none. */
double ts_dicom_field_number(const struct dicom_image *image, enum dicom_field field);
/* Returns the number, or NaN if it is larger than any that the field may have in an output. */
double ts_dicom_field_believed(enum dicom_field field, double number);
/* Returns the text of an image as the header has it, which may identify a patient; "" if it has
 * none. */
const char *ts_dicom_field_text(const struct dicom_image *image, enum dicom_field field);

#endif
