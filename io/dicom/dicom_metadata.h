/* SPDX-License-Identifier: Apache-2.0
 *
 * A result and `info` record these parts of a series' headers: the rows of
 * io/dicom_header/dicom_fields.def, each once if all slices agree, and a number for each slice if
 * they do not.
 */
#ifndef IO_DICOM_DICOM_METADATA_H
#define IO_DICOM_DICOM_METADATA_H

#include "io/dicom/dicom_identity.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_series.h"
#include "io/source/source.h"

/* A list of attributes with a place for each row of the table that an image has and for as many
 * more; `items` is the arena's. */
enum { DICOM_MORE_ATTRIBUTES = 24 };
/* The attribute of diffusion series that holds three numbers for each volume: the direction of the
 * weighting in LPS, or zeros if it has none. */
#define DICOM_GRADIENTS "diffusion_gradient_direction"
/* This attribute holds the seconds from the start of a volume to the acquisition of each slice. */
#define DICOM_SLICE_TIMES "slice_timing"
/* POSITIVE if phase is encoded towards rising rows or columns, else NEGATIVE. */
#define DICOM_PHASE_POLARITY "phase_encoding_polarity"
/* The part of a complex MR image, as ts_dicom_component returns it, if Image Type does not state
 * it. */
#define DICOM_COMPONENT "complex_image_component"
struct dicom_metadata {
    struct source_attribute *items;
    size_t n;
    struct arena *arena;
};

/* Lists the rows of the table. Empty texts, and numbers that no slice has, are left out. */
enum ts_status ts_dicom_metadata(const struct dicom_series *series,
                                 const struct dicom_identity *identity, struct arena *arena,
                                 struct dicom_metadata *list, struct ts_diag *diag);
/* Writes what may be recorded of a text that is a code or names a kernel: "unrecognized" in place
 * of what is in no list. Returns false for a text of another kind, which leads to a person. */
bool ts_dicom_allow_code(enum dicom_field field, const char *text, char *out, size_t size);
/* Adds a text unless it is empty. Characters that are not printable ASCII become question marks. */
enum ts_status ts_dicom_metadata_add(struct dicom_metadata *list, const char *name, const char *key,
                                     const char *text, struct ts_diag *diag);
/* Why a run refuses images that say that text is in their pixels, unless the chain says what to do
 * with it. */
#define DICOM_BURNED_IN_REASON                                                                     \
    "Burned In Annotation is YES: the pixels may show a patient's name, and the output would too"
#define DICOM_BURNED_IN_HINT                                                                       \
    "look at the images; write burned_in: allow beside the path to read them all the same, or "    \
    "burned_in: mask with "                                                                        \
    "mask_boxes and mask_value to blacken the text"
/* Returns YES if any slice states that text is burned into it, NO if all state the contrary, else
 * UNKNOWN. */
const char *ts_dicom_burned_in(const struct dicom_series *series);

#endif
