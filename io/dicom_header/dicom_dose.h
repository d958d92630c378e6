/* SPDX-License-Identifier: Apache-2.0
 *
 * A radiotherapy dose is one file whose frames are the planes of a grid. It has no functional
 * groups: Grid Frame Offset Vector says where each plane lies, and Dose Grid Scaling makes doses of
 * stored values. Source: DICOM PS3.3, C.8.8.3 (RT Dose).
 */
#ifndef IO_DICOM_DICOM_DOSE_H
#define IO_DICOM_DICOM_DOSE_H

#include "io/dicom_header/dicom_scan_state.h"

/* Returns true where the file is of the class RT Dose. */
bool ts_dicom_is_dose(const struct dicom_file *file);
/* Gives the images of the file the scaling, and lists its planes as frames of the scan where there
 * are several. Refuses the file where the scaling or the places of planes are missing or contradict
 * the header. */
void ts_dicom_list_planes(struct scan *scan);

#endif
