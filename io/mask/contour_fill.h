/* SPDX-License-Identifier: Apache-2.0
 *
 * This fills polygons of one plane. A pixel belongs to the region where its center is inside an odd number of its
 * contours (the even-odd rule, so that a contour within another one is a hole). A center on the boundary belongs to the
 * region where the region lies towards greater x, or on a boundary along x towards greater y: so regions that share an
 * edge share no pixel, and leave none out.
 */
#ifndef IO_MASK_CONTOUR_FILL_H
#define IO_MASK_CONTOUR_FILL_H

#include <stddef.h>
#include <stdint.h>

/* Exchanges inside and outside for the pixels in the polygon of n corners (x, y), which closes itself. Pixel centers
 * are at whole numbers. `crossings` has ny rows of nx + 1 marks: crossings[y][x] is 1 where the boundary is crossed an
 * odd number of times between the centers x - 1 and x of row y. */
void ts_contour_cross(const double *corners, size_t n, unsigned char *crossings, int64_t nx, int64_t ny);

#endif
