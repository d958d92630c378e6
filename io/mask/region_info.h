/* SPDX-License-Identifier: Apache-2.0
 *
 * This prints a DICOM segmentation or structure set for `tomostage info`.
 */
#ifndef IO_MASK_REGION_INFO_H
#define IO_MASK_REGION_INFO_H

#include "core/diag.h"

/* Prints the regions of the file: their numbers, how many frames or contours each has, and with
 * `names` the labels and names that people gave them, which may say who the patient is. *known is
 * whether the file is such an object; where it is not, nothing is printed and TS_OK returned. Reads
 * no pixel and no point. */
enum ts_status ts_region_info(const char *path, bool json, bool names, FILE *stream, bool *known,
                              struct ts_diag *diag);

#endif
