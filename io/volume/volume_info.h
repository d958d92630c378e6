/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info PATH` for a NIfTI or NRRD file.
 */
#ifndef IO_VOLUME_VOLUME_INFO_H
#define IO_VOLUME_VOLUME_INFO_H

#include "io/source/source.h"

/* Opens the file as an input of the format would, and prints its size, type, spacing and place, and
   the input as a chain would have it, as text or as one JSON object. Returns TS_BAD_INPUT if an
   input would be refused. */
enum ts_status ts_volume_info(const struct source_format *format, const char *path, bool json,
                              FILE *stream, struct ts_diag *diag);

#endif
