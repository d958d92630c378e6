/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells by the first bytes of a file, or by the names in a folder, which formats may read it.
 */
#ifndef IO_SCAN_FILE_KIND_H
#define IO_SCAN_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "core/diag.h"

enum { FILE_FORMATS = 3 };

/* Names the kind of image that a path may be: "a folder", "a DICOM file", "a TIFF file", "an HDF5
   file". *format is the source format that most likely reads it, or "gzip" or "archive" if it must
   be unpacked first. Returns NULL if the path may be a chain. Does not look into a pipe, since what
   is read from it is lost. */
const char *ts_file_kind(const char *path, const char **format);
/* Refuses a file that has to be unpacked before anything reads it, and says how (TS_BAD_INPUT). */
enum ts_status ts_file_refuse_packed(const char *path, struct ts_diag *diag);
/* Lists the source formats to try on an image, most likely ones first; returns how many, at
 * least 1. */
int ts_file_formats(const char *path, const char *formats[FILE_FORMATS]);
/* Names the source format of a folder of which only the path is given: "tiff" if it holds TIFF
   files and nothing that may be DICOM (files whose suffix is missing, a number or one of DICOM's;
   folders); else "dicom". */
const char *ts_folder_format(const char *path);
/* Returns true if the folder holds a file whose name has one of these endings, in any case; NULL
   ends the list. */
bool ts_folder_holds(const char *path, const char *const *endings);
/* Writes what a user can do where the named format found nothing to read at the path, of which
 * ts_file_kind has told kind and format (NULL: none): unpack the files, or name the format that
 * reads them. Returns false where the path gives no reason for either. */
bool ts_file_way_out(const char *path, const char *kind, const char *found, const char *format,
                     char *text, size_t size);

#endif
