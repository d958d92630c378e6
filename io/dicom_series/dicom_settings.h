/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of the scanner that tell images of one series apart, such as inversion times or kernels.
 * Each value makes a series of its own, as each echo does.
 */
#ifndef IO_DICOM_SERIES_DICOM_SETTINGS_H
#define IO_DICOM_SERIES_DICOM_SETTINGS_H

#include "io/dicom_series/dicom_series.h"

/* Finds a setting that has several values at one position and, as often, the same values at every
 * other one; else, unless `joined`, one that divides images at positions of their own (*apart): KVP
 * and kernel wherever they differ, others if they alternate, or acquisitions that are passes which
 * overlap (all acquisitions, if `acquisitions` says so). *setting is its number, and the n images,
 * of one orientation, are sorted by its value. It is -1 if there is none. Returns false if memory
 * is out. */
bool ts_dicom_find_setting(struct dicom_image **images, size_t n, bool joined, bool acquisitions,
                           int *setting, bool *apart);
/* Settings have numbers from 0. Some are of a whole volume, so that none mixes their values. */
int ts_dicom_count_settings(void);
bool ts_dicom_is_of_volumes(int setting);
const char *ts_dicom_setting_name(int setting);
/* Returns true for the setting that is Acquisition Number. */
bool ts_dicom_is_acquisition(int setting);
/* Compares two images by the value of a setting. */
int ts_dicom_compare_setting(int setting, const struct dicom_image *a, const struct dicom_image *b);
/* Writes what a setting is in an image, for people: "TI 400 ms". Texts of the header that are not
 * known ones are replaced by `number`, from 1: "coil 2". */
void ts_dicom_setting_text(int setting, const struct dicom_image *image, int number, char *out,
                           size_t size);
/* Returns the name of the first element, but Instance Number and times, in which n images at one
 * position differ; NULL if there is none. Acquisition Number is one of these elements if
 * `acquisitions` says so. */
const char *ts_dicom_name_difference(struct dicom_image *const *images, size_t n,
                                     bool acquisitions);
/* Warns if slices of one series differ in Convolution Kernel or tube voltage, and so come from two
 * acquisitions or reconstructions: those that the chain joins, and those of which some do not state
 * it. */
void ts_dicom_warn_of_settings(struct dicom_series *series);

#endif
