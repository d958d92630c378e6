/* SPDX-License-Identifier: Apache-2.0
 *
 * A series may hold several images at each position: echoes, time points, diffusion weightings.
 * This makes a series of volumes of it, in the order of what its header states.
 */
#ifndef IO_DICOM_SERIES_DICOM_VOLUMES_H
#define IO_DICOM_SERIES_DICOM_VOLUMES_H

#include "io/dicom_series/dicom_series.h"

/* Takes a series whose images are in order along the normal. If several lie at each position, it
 * puts them into the order of volumes, and fills n_slices, n_volumes and volume_axis. Otherwise
 * n_slices is the number of images. If they make no volumes, it refuses the series. */
void ts_dicom_split_volumes(struct dicom_series *series);

#endif
