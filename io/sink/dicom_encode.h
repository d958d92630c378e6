/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes DICOM files in explicit VR little endian, element by element, and frames in RLE. The
 * callers know which elements an object needs. Source: DICOM PS3.5 7.1 and annex G, PS3.10 7.
 */
#ifndef IO_SINK_DICOM_ENCODE_H
#define IO_SINK_DICOM_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DICOM_HEADER_BYTES = 8192, DICOM_UID_BYTES = 65, DICOM_NUMBER_BYTES = 17 };

#define DICOM_EXPLICIT_SYNTAX "1.2.840.10008.1.2.1"
#define DICOM_RLE_SYNTAX "1.2.840.10008.1.2.5"
#define DICOM_JPEG_2000_SYNTAX "1.2.840.10008.1.2.4.90"

/* The elements before the pixels, which are made in memory, because the length of the first group
   comes before it. */
struct dicom_header {
    unsigned char bytes[DICOM_HEADER_BYTES];
    size_t n, start; /* start: where the data set begins, after the meta information */
};

/* Makes a UID from a text; equal texts give equal UIDs: a UUID of version 8 from its SHA-256, under
   2.25. */
void ts_dicom_uid(char out[DICOM_UID_BYTES], const char *text);
/* Begins a file: preamble and file meta information. */
void ts_dicom_put_meta(struct dicom_header *header, const char *object_class, const char *instance,
                       const char *syntax);
/* Puts the start of an element; a value of `length` bytes must follow. */
void ts_dicom_put_element(struct dicom_header *header, uint32_t tag, const char *vr,
                          uint32_t length);
/* Puts a text of at most 255 bytes, padded to an even length: UIDs with a zero, others with a
 * space. */
void ts_dicom_put_text(struct dicom_header *header, uint32_t tag, const char *vr,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Puts an element of VR US. */
void ts_dicom_put_short(struct dicom_header *header, uint32_t tag, uint32_t value);
/* Sorts the elements of the data set by tag. Of several with one tag it keeps the first. */
void ts_dicom_sort(struct dicom_header *header);
/* Puts the lowest bytes of a number, little-endian. */
void ts_dicom_put_number(struct dicom_header *header, uint32_t value, int bytes);
/* Writes a number with as many digits as the 16 characters of VR DS allow. */
void ts_dicom_decimal(double value, char out[DICOM_NUMBER_BYTES]);

#endif
