/* SPDX-License-Identifier: Apache-2.0
 *
 * What box's method `fused` takes on a CUDA device, and how it cuts an image into strips of columns and chunks of rows
 * for the windows that cuda/box_fused_march.cuh does. Radii in pixels.
 */
#ifndef STAGES_COMMON_BOX_MARCH_H
#define STAGES_COMMON_BOX_MARCH_H

#include "cuda/device.h"
#include "pipeline/image.h"

enum { BOX_SMALL_MAX_RADIUS = 8, BOX_VOLUME_MAX_RADIUS = 4, BOX_MARCH_ROWS = 8, BOX_MARCH_COLUMNS = 4 };
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
/* Of its sums: 4 where those of integers fit, and can be divided by a multiplication in 32 bits. */
size_t ts_box_march_sum_bytes(enum ts_dtype dtype, int64_t radius);
/* False where strips have no room beside their halos, or a block's shared memory is too small. */
bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx, const struct cuda_device *device,
                  struct box_march *march);
/* Into how many parts the rows of `strips` strips are cut so that those at work at the same time, `places`, are done
 * together; each part costs as much as `start` rows before its first. For integers, whose sums do not depend on it. */
int ts_box_parts(int64_t strips, int64_t rows, int64_t places, int64_t start);
/* Whether `fused` takes this window (over z too: volume) and an image of these rows. */
bool ts_box_fuses(bool volume, int64_t radius, enum ts_dtype dtype, int64_t ny, int64_t nx,
                  const struct cuda_device *device);

#endif
