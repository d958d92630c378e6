/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling a block transposes tiles of 16 samples of 16 slices, from (slice, row, column) to (line,
 * sample, slice): both sides then move whole cache lines. Work is divided by groups of slices and,
 * if these are fewer than the threads, by lines of the output; neither changes the order of any
 * sum.
 */
#include "stages/projection/slice_block.h"

#include <omp.h>
#include <string.h>

static size_t rounded(size_t bytes)
{
    return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

size_t ts_slice_block_bytes(int64_t n_minor)
{
    return rounded((size_t)(ts_slice_block_lines(n_minor) * (n_minor + 2 * BLOCK_MARGIN)) *
                   BLOCK_SLICES * sizeof(float));
}

static void clear_margins(const struct slice_block *block, int slices)
{
    const size_t bytes = (size_t)(BLOCK_MARGIN * slices) * sizeof(float);
    for (int64_t m = 0; m < block->n_major; m++) {
        memset(block->data + m * block->stride * slices, 0, bytes);
        memset(block->data + ((m + 1) * block->stride - BLOCK_MARGIN) * slices, 0, bytes);
    }
}

void ts_slice_block_fill(const struct ts_image *image, int64_t z, int slices,
                         struct slice_block *block)
{
    const bool rows = block->along_rows;
    const int64_t n_columns = image->axes[2].n, count = image->axes[1].n * n_columns;
    const int64_t n_lines = rows ? block->n_major : block->n_minor,
                  line_first = rows ? block->m_first : 0;
    const int64_t n_run = rows ? block->n_minor : block->n_major,
                  run_first = rows ? 0 : block->m_first;
    const int64_t per_line = (rows ? block->stride : 1) * slices,
                  per_sample = (rows ? 1 : block->stride) * slices;
    const size_t element = ts_dtype_bytes(image->dtype);
    float tile[BLOCK_SLICES][BLOCK_SLICES];
    clear_margins(block, slices);
    for (int64_t line = 0; line < n_lines; line++)
        for (int64_t first = 0; first < n_run; first += BLOCK_SLICES) {
            const int64_t n = n_run - first < BLOCK_SLICES ? n_run - first : BLOCK_SLICES;
            const int64_t at = z * count + (line_first + line) * n_columns + run_first + first;
            float *to = block->data + BLOCK_MARGIN * slices + line * per_line + first * per_sample;
            for (int slice = 0; slice < slices; slice++)
                ts_load_f32(tile[slice],
                            (const char *)image->data + (size_t)(at + slice * count) * element,
                            image->dtype, (size_t)n);
            for (int64_t i = 0; i < n; i++)
                for (int slice = 0; slice < slices; slice++)
                    to[i * per_sample + slice] = tile[slice][i];
        }
}

static size_t sum_bytes(const struct slice_work *work)
{
    const size_t one_line = (size_t)work->line_samples * BLOCK_SLICES * sizeof(float);
    return rounded(one_line > work->sum_bytes ? one_line : work->sum_bytes);
}

size_t ts_slice_work_scratch(const struct slice_work *work)
{
    return (size_t)work->threads * (sum_bytes(work) + work->block_bytes);
}

void ts_slice_work_run(const struct slice_work *work, slice_task *task, const void *job,
                       void *scratch)
{
    const int64_t n_lines = work->n_lines, threads = work->threads;
    const size_t sums = sum_bytes(work), own = sums + work->block_bytes;
    for (int64_t z = 0, groups; z < work->n_slices;
         z += groups * ts_slice_group(work->n_slices - z)) {
        const int slices = ts_slice_group(work->n_slices - z);
        const int64_t fit =
            (int64_t)(work->sum_bytes / sizeof(float)) / (work->line_samples * slices);
        const int64_t most = fit > 1 ? fit : 1, wanted = (n_lines + most - 1) / most;
        groups = (work->n_slices - z) / slices;
        const int64_t spread = (2 * threads + groups - 1) / groups;
        int64_t parts = wanted;
        if (threads > 1 && spread > wanted)
            parts = spread < n_lines ? spread : n_lines;
#pragma omp parallel for schedule(dynamic) num_threads(work->threads)
        for (int64_t i = 0; i < groups * parts; i++) {
            const int64_t first = n_lines * (i % parts) / parts,
                          end = n_lines * (i % parts + 1) / parts;
            const struct slice_part part = {z + i / parts * slices, first, end - first, slices};
            unsigned char *at = (unsigned char *)scratch + (size_t)omp_get_thread_num() * own;
            task(job, &part, (float *)at, (float *)(at + sums));
        }
    }
}
