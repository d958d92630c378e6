/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of the images of TIFF files, and the axes along which they follow each other, as the
 * texts of the files say.
 */
#ifndef IO_SCAN_TIFF_PLANES_H
#define IO_SCAN_TIFF_PLANES_H

#include "io/scan/tiff_file.h"

/* Puts the pages of each file into the order of its images, with a note. Warns if its text cannot
 * be followed, and refuses files of a set whose names give another order than their texts do
 * (tiff-plane-order). */
enum ts_status ts_tiff_order_planes(struct tiff_pages *pages, struct ts_diag *diag);

/* Refuses files of several Images (tiff-images) and files that have no text of their own
 * (tiff-companion), of which more than one page would be read, unless the chain picks some. */
enum ts_status ts_tiff_check_images(const struct tiff_pages *pages, struct ts_diag *diag);

/* Refuses images that are not along one axis, or not along one of pages->along, unless the chain
 * picks some (tiff-axes). Warns if the first file, which has n_of_first images and `first` as its
 * first page, has another number of images than it says (tiff-planes). Sets pages->axis. */
enum ts_status ts_tiff_check_axes(struct tiff_pages *pages, const struct tiff_page *first,
                                  int64_t n_of_first, struct ts_diag *diag);

/* The names of the axes. */
extern const char *const ts_tiff_axis_names[TIFF_AXES];

#endif
