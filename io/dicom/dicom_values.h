/* SPDX-License-Identifier: Apache-2.0
 *
 * The few values a volume needs, from bytes to numbers: strict, in the C locale, zero length is absent.
 * Source: DICOM PS3.5, 6.2 (value representations); PS3.6 (tags).
 */
#ifndef IO_DICOM_DICOM_VALUES_H
#define IO_DICOM_DICOM_VALUES_H

#include "io/dicom/dicom_elements.h"
#include "io/dicom/dicom_scan.h"

/* Which wanted elements were met, by their place in the table, and which of them held a value. */
struct dicom_seen {
    uint64_t met, filled;
    bool modality_lut, float_pixels;
};

/* Takes the element into *file if it is wanted. False: the value is wrong; code and message say how. */
bool ts_dicom_take(struct dicom_walk *walk, const struct dicom_element *element, struct dicom_file *file,
                   struct dicom_seen *seen, const char **code, char *message, size_t message_bytes);
/* Whether the wanted tag came with a value. */
bool ts_dicom_has(const struct dicom_seen *seen, uint32_t tag);

/* Full-match decimal and integer strings (DS, IS), surrounding spaces allowed; NaN, infinities and hexadecimal are not
 * numbers. */
bool ts_dicom_parse_decimal(const char *text, size_t length, double *value);
bool ts_dicom_parse_integer(const char *text, size_t length, int64_t *value);

#endif
