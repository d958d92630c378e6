/* SPDX-License-Identifier: Apache-2.0
 *
 * Image Type, the Frame Type of a frame and elements of vendors name what an image shows. This
 * reads it from them.
 */
#ifndef IO_DICOM_HEADER_DICOM_KIND_H
#define IO_DICOM_HEADER_DICOM_KIND_H

#include "io/dicom_header/dicom_file.h"

/* Finds the part of a complex MR image among the values of a text such as Image Type, from number
 * `first` on: M, M_FFE or MAGNITUDE, and P, R and I likewise, or PHASE MAP. Returns "MAGNITUDE",
 * "PHASE", "REAL", "IMAGINARY", or "". */
const char *ts_dicom_component(const char *text, int first);
/* Fills in what the image shows: its kind, the part of a complex image, the map that it is, the
 * direction of a flow, and how blood was labeled. */
void ts_dicom_name_kind(const struct dicom_file *file, struct dicom_image *image);
/* The ways in which blood is labeled in images of perfusion; NULL ends them. */
extern const char *const ts_dicom_labelings[];
/* Returns true if one of the values of a text from number `first` on is the word, in any case of
 * letters. */
bool ts_dicom_has_word(const char *text, int first, const char *word);
/* Returns true for a CT image that has no Hounsfield units, by its Image Type or Frame Type: a map
 * of multi-energy CT or of perfusion. */
bool ts_dicom_is_energy(const struct dicom_image *image);
/* Returns the unit of an MR image by its Image Type or Frame Type: "Hz" of a field map, "unknown"
 * of phases and other maps, whose names tell no unit, and "" of shades of gray. */
const char *ts_dicom_map_unit(const struct dicom_image *image);
/* Returns what a DICOM object of this SOP class is that is no image, such as "a structure set";
 * NULL for images and classes that are not known. */
const char *ts_dicom_object_noun(const char *sop_class);
/* Returns true for what is read as a mask: segmentations and structure sets. */
bool ts_dicom_is_regions(const char *sop_class);

#endif
