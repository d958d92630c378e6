/* SPDX-License-Identifier: Apache-2.0
 *
 * The source formats that a chain can name.
 */
#ifndef PIPELINE_CHAIN_FORMATS_H
#define PIPELINE_CHAIN_FORMATS_H

#include "io/source/source.h"

extern const struct source_format *const ts_source_formats[]; /* NULL ends the list */
const struct source_format *ts_source_format_find(const char *name);
/* Returns the name of the format that reads a file of this name, by its ending, or a folder:
   "dicom". NULL: neither. */
const char *ts_source_format_of_path(const char *path);

#endif
