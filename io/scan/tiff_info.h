/* SPDX-License-Identifier: Apache-2.0
 *
 * This is `tomostage info PATH` for a TIFF file or a folder of them.
 */
#ifndef IO_SCAN_TIFF_INFO_H
#define IO_SCAN_TIFF_INFO_H

#include "core/diag.h"

/* Checks every page as an input does, without decoding one, and prints their number, size and type,
 * and the inputs that a chain could make of them, as text or as one JSON object. TS_BAD_INPUT if an
 * input would be refused. */
enum ts_status ts_tiff_info(const char *path, bool json, FILE *stream, struct ts_diag *diag);

#endif
