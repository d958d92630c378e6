/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a DICOM segmentation or structure set for `tomostage info`.
 */
#ifndef IO_MASK_REGION_INFO_H
#define IO_MASK_REGION_INFO_H

#include "core/diag.h"

/* Prints the regions of the file: their numbers, how many frames or contours each has, and with
   `names` the labels and names that people gave them, which may identify the patient. Sets *known
   if the file is such an object; if it is not, prints nothing and returns TS_OK. Reads no pixels
   and no points. */
enum ts_status ts_region_info(const char *path, bool json, bool names, FILE *stream, bool *known,
                              struct ts_diag *diag);

#endif
