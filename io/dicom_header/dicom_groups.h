/* SPDX-License-Identifier: Apache-2.0
 *
 * A multi-frame file states in functional groups where each frame lies and what it shows: once
 * for all frames in the shared groups, and frame by frame in the per-frame groups. This reads them,
 * and lists the images of a file. Source: DICOM PS3.3 C.7.6.16 (Multi-frame Functional Groups).
 */
#ifndef IO_DICOM_HEADER_DICOM_GROUPS_H
#define IO_DICOM_HEADER_DICOM_GROUPS_H

#include "io/dicom_header/dicom_scan_state.h"

/* Returns true for the tag of the sequence that has an item for each tile. */
bool ts_dicom_is_grid_sequence(uint32_t tag);
/* Takes an element of that sequence. */
void ts_dicom_take_grid(struct scan *scan, const struct dicom_walk *walk,
                        const struct dicom_element *element);

/* Returns true if the file is of the class RT Dose. */
bool ts_dicom_is_dose(const struct dicom_file *file);

/* Returns true for the sequences of functional groups. */
bool ts_dicom_is_groups(uint32_t tag);
/* Takes an element inside of them. A frame is added to scan->frames for each item of the per-frame
 * groups; the file is refused if there are more items than frames. */
void ts_dicom_take_group(struct scan *scan, struct dicom_walk *walk,
                         const struct dicom_element *element);
/* Returns true for the classes of enhanced images, whose frames functional groups should place. */
bool ts_dicom_is_enhanced(const struct dicom_file *file);
/* Lists the images of the file, after its header was read: its frames, or the one image that it is.
 * It refuses a file of several frames whose groups are missing, or are not one for each frame,
 * unless it is a dose or nothing at all states where the frames of an enhanced object lie. Returns
 * false if memory is out. */
bool ts_dicom_list_images(struct scan *scan);

#endif
