/* SPDX-License-Identifier: Apache-2.0
 *
 * Files beside a NIfTI image, of BIDS (.json) and FSL (.bval), say more of it than is read.
 */
#ifndef IO_VOLUME_NIFTI_BESIDE_H
#define IO_VOLUME_NIFTI_BESIDE_H

#include "io/volume/volume_source.h"

/* Warns of times that contradict those of the header, which are used, and of b-values. */
void ts_nifti_warn_beside(const struct volume_layout *layout, struct ts_diag *diag);

#endif
