/* SPDX-License-Identifier: Apache-2.0
 *
 * The values that texts of a header may have to reach an output. People can write into nearly every
 * attribute, so that a patient's name could stand in any of them: a value that is in no list is
 * written as "unrecognized". Sources: DICOM PS3.3 (defined terms) and the conformance statements of
 * the vendors.
 */
#ifndef IO_DICOM_DICOM_KNOWN_H
#define IO_DICOM_DICOM_KNOWN_H

#include <stddef.h>

#define DICOM_UNRECOGNIZED "unrecognized"
#define DICOM_MIXED "mixed" /* where the texts of slices differ */

/* Lists of texts; NULL ends each. */
extern const char *const ts_dicom_image_types[];
extern const char *const ts_dicom_modalities[];
extern const char *const ts_dicom_manufacturers[];
extern const char *const ts_dicom_models[];
extern const char *const ts_dicom_body_parts[];
extern const char *const ts_dicom_sequences[];
extern const char *const ts_dicom_scan_options[];
extern const char *const ts_dicom_nuclei[];
extern const char *const ts_dicom_directions[];
extern const char *const ts_dicom_filters[];
extern const char *const ts_dicom_positions[];
extern const char *const ts_dicom_photometric[];
extern const char *const ts_dicom_units[];
extern const char *const ts_dicom_pet[];
extern const char *const ts_dicom_corrections[];
extern const char *const ts_dicom_doses[];

/* Returns the text, or "unrecognized" where the list does not have it in any case of letters. */
const char *ts_dicom_known(const char *const *list, const char *text);
/* Returns the UID, or "unrecognized" where it is not made of digits and points, as every UID is. */
const char *ts_dicom_known_uid(const char *uid);
/* Writes the text with each of its values, which backslashes divide, as it is or as "unrecognized"
 * where the list does not have it in any case of letters. What goes beyond `size` is cut. */
void ts_dicom_keep_known(const char *const *list, const char *text, char *out, size_t size);

#endif
