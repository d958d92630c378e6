/* SPDX-License-Identifier: Apache-2.0
 *
 * This tells by the first bytes of a file which formats may read it.
 */
#ifndef PIPELINE_VIEW_FILE_KIND_H
#define PIPELINE_VIEW_FILE_KIND_H

#include <stdbool.h>

enum { VIEW_FORMATS = 3 };

/* Names the kind of an image that a path may be: "a folder", "a DICOM file", "a TIFF file", "an HDF5 file", and in
 * *format the source format that most likely reads it, or "gzip" where none does before it is unpacked. NULL where it
 * may be a chain. A pipe is not looked at, since what is read from it is gone. */
const char *ts_file_kind(const char *path, const char **format);
/* Lists the source formats to try on an image, most likely ones first; returns how many, at least 1. */
int ts_view_formats(const char *path, const char *formats[VIEW_FORMATS]);

#endif
