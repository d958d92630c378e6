/* SPDX-License-Identifier: Apache-2.0
 *
 * Some rows or columns of several slices with the slices' samples side by side, so that what is the same for all slices
 * is worked out once and the sums over slices are vectors.
 */
#ifndef STAGES_PROJECTION_SLICE_BLOCK_H
#define STAGES_PROJECTION_SLICE_BLOCK_H

#include "core/image.h"

enum {
    BLOCK_LANES = 16, /* slices side by side at most */
    BLOCK_MARGIN = 2  /* zero samples on both sides of a line */
};

/* Lines m_first, ... of the major axis (rows where along_rows, else columns), each with all samples of the minor axis:
 * sample i of line m_first + m in slice `lane` is data[(m * stride + BLOCK_MARGIN + i) * lanes + lane]. */
struct slice_block {
    float *data;
    bool along_rows;
    int64_t m_first, n_major, n_minor;
    int64_t stride; /* n_minor + 2 BLOCK_MARGIN */
};

/* Fills the data from slices [z, z + lanes) of the image. */
void ts_slice_block_fill(const struct ts_image *image, int64_t z, int lanes, struct slice_block *block);

#endif
