/* SPDX-License-Identifier: Apache-2.0
 *
 * What the text and the resolution of a TIFF file say of its images: how many they are and of
 * which channels, slices and times, which page each of them is, their sizes and their calibration.
 */
#ifndef IO_SCAN_TIFF_TEXT_H
#define IO_SCAN_TIFF_TEXT_H

#include "io/scan/tiff_library.h"

/* Fills what library->page, which is the first page of the file, has of its text, and
 * library->planes. All are 0 if the file does not say. */
void ts_tiff_text_read(struct tiff_library *library);

#endif
