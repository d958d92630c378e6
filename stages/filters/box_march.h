/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions decide which images box's method `fused` accepts on a CUDA device, and how it cuts them: into strips
 * of columns and chunks of rows for cuda/filters/box_fused_march.cuh, into tiles for cuda/filters/box_fused_volume.cuh.
 * Radii are in pixels.
 */
#ifndef STAGES_FILTERS_BOX_MARCH_H
#define STAGES_FILTERS_BOX_MARCH_H

#include "core/device_numbers.h"
#include "core/image.h"

enum {
    BOX_SMALL_MAX_RADIUS = 8,
    BOX_VOLUME_MAX_RADIUS = 8,
    BOX_VOLUME_COLUMNS = 64,
    BOX_VOLUME_RUN = 8, /* columns of a thread */
    BOX_MARCH_ROWS = 8,
    BOX_MARCH_COLUMNS = 4
};
struct box_march {
    int threads;       /* of a block: 128 or 512, BOX_MARCH_COLUMNS columns each */
    int strips, strip; /* of a row; columns of outputs of one, but for the last */
    int halo;          /* columns that a strip owns beyond its outputs; 0: one strip */
    int chunks, chunk; /* of a slice; rows of one, but for the last */
    int table;         /* entries of a table of a chunk's rows */
    int keepers;       /* warps that keep the samples of a window's rows in shared memory */
    size_t rings;      /* where in shared memory they stand */
    size_t bytes;      /* of shared memory */
};
/* Returns the bytes of a sum: 4 where sums of integers fit and can be divided by a multiplication in 32 bits, else
 * 8. */
size_t ts_box_march_sum_bytes(enum ts_dtype dtype, int64_t radius);
/* Cuts a slice of ny x nx. Returns false where halos leave strips no columns, or a block's shared memory is too
 * small. */
bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx, const struct device_numbers *device,
                  struct box_march *march);
/* Returns into how many parts the rows of `strips` strips are cut, so that the `places` parts that a device works on at
 * the same time end together; each part costs `start` rows before its first. Only integers may be cut so, because their
 * sums do not depend on it. */
int ts_box_parts(int64_t strips, int64_t rows, int64_t places, int64_t start);
/* The tile of cuda/filters/box_fused_volume.cuh, BOX_VOLUME_COLUMNS x BOX_VOLUME_ROWS outputs of a slice, as measured:
 * blocks side by side where the ring is small, few halos and the samples of two tiles at once where it is not. */
#define BOX_VOLUME_TOGETHER(value_bytes, radius) ((radius) == 4 || ((radius) == 3 && (value_bytes) < 4))
#define BOX_VOLUME_ROWS(value_bytes, radius)                                                                           \
    ((radius) == 8 || ((radius) == 7 && (value_bytes) == 4) ? 36 : (radius) == 3 || (radius) == 4 ? 16 : 24)
/* Columns on either side of the tile; columns with them; and the distance of two rows of samples. */
#define BOX_VOLUME_HALO(radius) (((radius) + 3) / 4 * 4)
#define BOX_VOLUME_WIDTH(radius) (BOX_VOLUME_COLUMNS + 2 * BOX_VOLUME_HALO(radius))
#define BOX_VOLUME_PITCH(radius) (BOX_VOLUME_WIDTH(radius) + 4)
/* The offsets of the parts of a block's shared memory, after the samples of its tiles: sums down their columns, a ring
 * of sums of slices, and tables of columns and rows. */
struct box_volume {
    size_t sums, ring, tables, bytes;
};
/* Lays out a block's shared memory. Returns false where there is too little. */
bool ts_box_volume(enum ts_dtype dtype, int64_t radius, const struct device_numbers *device, struct box_volume *volume);
/* Returns true where `fused` can run with this window (over z too where `volume`) on slices of ny x nx. */
bool ts_box_fuses(bool volume, int64_t radius, enum ts_dtype dtype, int64_t ny, int64_t nx,
                  const struct device_numbers *device);

#endif
