/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the private header that Siemens' MR scanners put into an image, for what no public element
 * states: how a mosaic is laid out, and, of older scanners, the diffusion weighting. Source: M.
 * Brett and others, "Siemens CSA header", documentation of nibabel (2010).
 */
#ifndef IO_DICOM_DICOM_CSA_H
#define IO_DICOM_DICOM_CSA_H

#include "io/dicom_header/dicom_scan_state.h"

enum { DICOM_CSA_TIMES = 512 };

/* These are the values that the CSA header states; NaN stands where it states none. */
struct dicom_csa {
    double tiles, normal[3];
    double b_value, gradient[3]; /* s/mm2; unit vector in patient coordinates (LPS) */
    double
        phase_positive; /* 1: phase is encoded towards rising rows or columns, 0: the other way */
    double times_ms[DICOM_CSA_TIMES]; /* of each tile, from the start of the volume */
};

/* Reads the tags up to the first that is broken. All is NaN where the file has no such header. */
struct dicom_csa ts_dicom_read_csa(struct scan *scan);
/* Gives the image the diffusion weighting of the CSA header, where no other element has stated
 * it. */
void ts_dicom_weight_by_csa(struct dicom_image *image, const struct dicom_csa *csa);

#endif
