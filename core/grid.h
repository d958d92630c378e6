/* SPDX-License-Identifier: Apache-2.0
 *
 * The grid of a volume is where its voxels are in the patient: a transform of voxel indices (x, y,
 * z) to LPS coordinates in mm. These functions say whether two volumes have the same grid, and
 * where a voxel of one volume is in the other.
 */
#ifndef CORE_GRID_H
#define CORE_GRID_H

#include "core/image.h"

/* Two grids are the same if no corner voxel of the volumes differs by more than this fraction of
 * the smallest distance between neighboring voxels. The tolerance allows for positions in 32-bit
 * floats and in decimal texts of 16 letters. */
#define TS_GRID_TOLERANCE 0.01

/* Three rows of an affine transform: out[i] = sum over k of m[i][k] in[k] + m[i][3]. */
struct ts_affine {
    double m[3][4];
};

void ts_affine_apply(const struct ts_affine *affine, const double in[3], double out[3]);
/* Returns the transform that applies `first`, then `second`. */
struct ts_affine ts_affine_after(const struct ts_affine *second, const struct ts_affine *first);
/* Returns false if the transform has no inverse, or entries that are not finite. */
bool ts_affine_invert(const struct ts_affine *affine, struct ts_affine *inverse);

/* Returns the transform of indices (x, y, z) to LPS in mm. The image is a volume that has a
 * geometry. */
struct ts_affine ts_grid_to_mm(const struct ts_image *image);
/* Returns true if both are volumes with the same shape, a geometry, and the same grid. */
bool ts_grid_same(const struct ts_image *a, const struct ts_image *b);
/* Writes the grid for messages: "5 x 4 x 3 voxels (x, y, z) of 0.5 x 0.5 x 2 mm, the first at (-10,
 * -20, 30) mm, x along (1, 0, 0), y along (0, 1, 0)"; without a geometry, only the number of
 * voxels. */
void ts_grid_text(const struct ts_image *image, char *out, size_t size);
/* The positions in the patient along an even axis in mm, z, y or x, of an image with a place there:
 * that of index i is first + i * step, the component of the voxel's place along `vector`. This is
 * the axis's unit vector, turned so that it leads to L, P or S, whichever is nearest: along a
 * patient axis the positions are coordinates of LPS. Returns false, and sets nothing, if axis d has
 * none. */
bool ts_grid_place_axis(const struct ts_image *image, int d, double *first, double *step,
                        double vector[3]);
/* Returns where index i of axis d is, as files, tables and pictures state it: its position in the
 * patient if the image has one, else its position along the axis. */
double ts_grid_position(const struct ts_image *image, int d, int64_t i);

#endif
