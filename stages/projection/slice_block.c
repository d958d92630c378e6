/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns tiles of 16 samples of 16 slices: (slice, row, column) to (line, sample, slice).
 */
#include "stages/projection/slice_block.h"

#include <string.h>

static void clear_margins(const struct slice_block *block, int lanes)
{
    const size_t bytes = (size_t)(BLOCK_MARGIN * lanes) * sizeof(float);
    for (int64_t m = 0; m < block->n_major; m++) {
        memset(block->data + m * block->stride * lanes, 0, bytes);
        memset(block->data + ((m + 1) * block->stride - BLOCK_MARGIN) * lanes, 0, bytes);
    }
}

void ts_slice_block_fill(const struct ts_image *image, int64_t z, int lanes, struct slice_block *block)
{
    const bool rows = block->along_rows;
    const int64_t n_columns = image->axes[2].n, slice = image->axes[1].n * n_columns;
    const int64_t n_lines = rows ? block->n_major : block->n_minor, line_first = rows ? block->m_first : 0;
    const int64_t n_run = rows ? block->n_minor : block->n_major, run_first = rows ? 0 : block->m_first;
    const int64_t per_line = (rows ? block->stride : 1) * lanes, per_sample = (rows ? 1 : block->stride) * lanes;
    const size_t element = ts_dtype_bytes(image->dtype);
    float tile[BLOCK_LANES][BLOCK_LANES];
    clear_margins(block, lanes);
    for (int64_t line = 0; line < n_lines; line++)
        for (int64_t first = 0; first < n_run; first += BLOCK_LANES) {
            const int64_t n = n_run - first < BLOCK_LANES ? n_run - first : BLOCK_LANES;
            const int64_t at = z * slice + (line_first + line) * n_columns + run_first + first;
            float *to = block->data + BLOCK_MARGIN * lanes + line * per_line + first * per_sample;
            for (int lane = 0; lane < lanes; lane++)
                ts_load_f32(tile[lane], (const char *)image->data + (size_t)(at + lane * slice) * element, image->dtype,
                            (size_t)n);
            for (int64_t i = 0; i < n; i++)
                for (int lane = 0; lane < lanes; lane++)
                    to[i * per_sample + lane] = tile[lane][i];
        }
}
