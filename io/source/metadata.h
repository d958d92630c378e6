/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes what a source knows of its acquisition, for people, and as the JSON beside a NIfTI file.
 * The keys are those of BIDS if it has one, such as EchoTime in seconds, else DICOM's keywords.
 * Source: Brain Imaging Data Structure, K. J. Gorgolewski et al., Scientific Data 3 (2016).
 */
#ifndef IO_SOURCE_METADATA_H
#define IO_SOURCE_METADATA_H

#include "core/json.h"
#include "io/source/source.h"

/* Writes each attribute as a member of the open object: a text, a list of texts if backslashes
   separate its values, a number, or a list of numbers if slices differ. */
void ts_metadata_json(struct json *json, const struct source_attribute *attributes, size_t n);
/* Writes one attribute as text: "echo time 7.38 ms", "tube current 120 to 240 mA", "modality
 * CT". */
void ts_metadata_format(const struct source_attribute *attribute, char *out, size_t size);

#endif
