/* SPDX-License-Identifier: Apache-2.0
 *
 * Standardized uptake values (SUV) of PET: activity by volume, divided by the injected dose as it
 * has decayed, and multiplied by a measure of the body. A header that leaves a doubt is refused.
 * Source: the rules of QIBA's FDG-PET/CT Profile, appendix G; DICOM PS3.3 C.8.9 and C.8.22.
 */
#ifndef IO_DICOM_SERIES_DICOM_UPTAKE_H
#define IO_DICOM_SERIES_DICOM_UPTAKE_H

#include "io/dicom_series/dicom_geometry.h"

/* Makes uptake values of the series if the rules want them: slopes and intercepts of its images,
 * and its unit, which was chosen before, become those of uptake values. */
void ts_dicom_take_uptake(struct dicom_series *series, const struct dicom_rules *rules);
/* Returns by which measure of the body values are uptake values, as SUV Type has it; "" if that is
 * not known. */
const char *ts_dicom_uptake_type(const struct dicom_series *series, int32_t to_suv);

#endif
