/* SPDX-License-Identifier: Apache-2.0
 *
 * The images of a series, each by itself.
 */
#ifndef IO_DICOM_SERIES_DICOM_IMAGES_H
#define IO_DICOM_SERIES_DICOM_IMAGES_H

#include "io/dicom_series/dicom_series.h"

/* Refuses a series of which an image cannot be used, and warns of what is odd. If the chain allows
 * to `skip` damaged files, and others are left, these are left out with a warning. */
void ts_dicom_check_images(struct dicom_series *series, bool skip);

#endif
