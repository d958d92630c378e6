/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs write into Image Description about the pages of a TIFF file: how many images there are, some of which
 * have no page of their own, and of which channels, slices and times.
 */
#ifndef IO_SCAN_TIFF_TEXT_H
#define IO_SCAN_TIFF_TEXT_H

#include "io/scan/tiff_library.h"

/* Fills planes, axes and pixel_mm of the first page of a file, from the text and the tags of its resolution. All are 0
 * where the file does not say. */
void ts_tiff_text(struct tiff *handle, struct tiff_page *page);

#endif
