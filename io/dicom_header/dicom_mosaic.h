/* SPDX-License-Identifier: Apache-2.0
 *
 * Siemens stores the slices of an echo-planar volume as the tiles of one image, a mosaic. This finds the tiles and
 * where each of them lies.
 */
#ifndef IO_DICOM_DICOM_MOSAIC_H
#define IO_DICOM_DICOM_MOSAIC_H

#include "io/dicom_header/dicom_scan_state.h"

/* Returns true where the header says that the image is a mosaic. A frame with functional groups is none, though some
 * scanners say so. */
bool ts_dicom_is_mosaic(const struct scan *scan);
/* Adds an image for each tile to scan->frames. It refuses the file where the number of tiles or the direction in which
 * they follow each other is not stated, or does not fit the image. */
void ts_dicom_list_tiles(struct scan *scan);

#endif
