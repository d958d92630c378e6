/* SPDX-License-Identifier: Apache-2.0
 *
 * This converts the few values that a volume needs from bytes to numbers. Parsing is strict and
 * independent of the locale; a value of zero length counts as absent. Source: DICOM PS3.5, 6.2
 * (value representations); PS3.6 (tags).
 */
#ifndef IO_DICOM_HEADER_DICOM_VALUES_H
#define IO_DICOM_HEADER_DICOM_VALUES_H

#include "io/dicom_header/dicom_scan_state.h"

/* Stores the element if it is wanted, in the file, in its images or in the scan, and refuses the
 * file if it is given twice or its value is not of its kind. */
void ts_dicom_take(struct scan *scan, const struct dicom_walk *walk,
                   const struct dicom_element *element);
/* Returns true if the wanted tag came with a value; a sequence or float pixels need only be there.
 */
bool ts_dicom_has(const struct scan *scan, uint32_t tag);
/* The same of a tag in a sequence of the functional groups, of any frame. */
bool ts_dicom_has_in(const struct scan *scan, uint32_t parent, uint32_t tag);
/* Refuses the file unless ts_dicom_has. */
void ts_dicom_need(struct scan *scan, uint32_t tag);
/* Allows the elements of functional groups to come once more, for the next frame. */
void ts_dicom_forget_groups(struct scan *scan);

#endif
