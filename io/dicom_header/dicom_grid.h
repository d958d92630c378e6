/* SPDX-License-Identifier: Apache-2.0
 *
 * UIH stores the slices of a volume as the tiles of one image too, a grid. Unlike Siemens it states
 * the position of each tile, in a private sequence.
 */
#ifndef IO_DICOM_DICOM_GRID_H
#define IO_DICOM_DICOM_GRID_H

#include "io/dicom_header/dicom_scan_state.h"

/* Returns true for the tag of the sequence that has an item for each tile. */
bool ts_dicom_is_grid_sequence(uint32_t tag);
/* Takes an element of that sequence. */
void ts_dicom_take_grid(struct scan *scan, const struct dicom_walk *walk,
                        const struct dicom_element *element);
/* Returns true where the header says that the image is a grid. */
bool ts_dicom_is_grid(const struct scan *scan);
/* Adds an image for each tile to scan->frames. It refuses the file where the number of tiles or
 * their positions are not stated, or do not fit the image. */
void ts_dicom_list_grid(struct scan *scan);
/* Gives the image the diffusion weighting that UIH states. */
void ts_dicom_weight_by_uih(struct scan *scan);

#endif
