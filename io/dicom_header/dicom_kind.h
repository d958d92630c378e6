/* SPDX-License-Identifier: Apache-2.0
 *
 * Image Type, the Frame Type of a frame and elements of vendors name what an image shows. This
 * reads it from them.
 */
#ifndef IO_DICOM_DICOM_KIND_H
#define IO_DICOM_DICOM_KIND_H

#include "io/dicom_header/dicom_file.h"

/* Finds the part of a complex MR image among the values of a text such as Image Type, from number
 * `first` on: M, M_FFE or MAGNITUDE, and P, R and I likewise, or PHASE MAP. Returns "MAGNITUDE",
 * "PHASE", "REAL", "IMAGINARY", or "". */
const char *ts_dicom_component(const char *text, int first);
/* Fills in what the image shows: its kind, the part of a complex image, the map that it is, and the
 * direction of a flow. */
void ts_dicom_name_kind(const struct dicom_file *file, struct dicom_image *image);
/* Returns true for a CT image that has no Hounsfield units, by its Image Type or Frame Type: a map
 * of multi-energy CT or of perfusion. */
bool ts_dicom_is_energy(const struct dicom_image *image);

#endif
