/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the exact adjoint of Joseph's projector, (z, view, detector) -> (z, y, x): each ray adds its value, times its
 * length between two lines, to the pixels that the projector reads, with the projector's weights.
 *
 * Up to 16 slices are computed together with their samples side by side, as in the projector. The sinogram is first
 * laid out so, times the lengths. Then each thread handles blocks of a few rows or columns, adds up all rays there and
 * writes the block to the volume, so that no two threads write one pixel. The order of sums is fixed by the sizes
 * alone: in a block by rising view and detector pixel, then what came along rows and what came along columns.
 */
#include <omp.h>
#include <string.h>

#include "stages/projection/joseph.h"
#include "stages/projection/joseph_rays.h"

/* This is a group of slices that are backprojected together. */
struct group {
    struct joseph_rays rays;
    int64_t n_views, n_detectors, n_rows, n_columns;
    int slices;
    float *sinogram;             /* [view][detector][slice] */
    float *out;                  /* the group's first slice, (z, y, x) */
    unsigned char *thread_bytes; /* the blocks of all threads, */
    size_t own_bytes;            /* so many bytes each */
};

/* Lays out what n slices and so many threads need. */
static struct group lay_out(const struct beam_scan *scan, int64_t n, int threads, struct memory_layout *layout)
{
    const size_t block = ts_joseph_block_bytes(scan), row = 2 * (size_t)scan->grid.n_detectors * sizeof(float);
    struct group group = {.rays = ts_joseph_rays(scan, layout),
                          .n_views = scan->n_views,
                          .n_detectors = scan->grid.n_detectors,
                          .n_rows = scan->grid.n_rows,
                          .n_columns = scan->grid.n_columns,
                          .slices = ts_slice_group(n),
                          .own_bytes = ((block > row ? block : row) + 63) / 64 * 64};
    group.sinogram = ts_layout_add(layout, (size_t)(group.n_views * group.n_detectors * group.slices) * sizeof(float));
    group.thread_bytes = ts_layout_add(layout, (size_t)threads * group.own_bytes);
    return group;
}

size_t ts_joseph_backproject_scratch(const struct beam_scan *scan, int64_t n, int threads)
{
    struct memory_layout layout = {0};
    lay_out(scan, n, threads, &layout);
    return layout.bytes;
}

/* Lays out one view of all slices side by side, times the lengths of its rays. `row` is scratch for two rows. */
static void interleave(const struct group *group, const struct ts_image *in, int64_t z, int64_t view, float *row)
{
    const int64_t n = group->n_detectors;
    const int slices = group->slices;
    float *to = group->sinogram + view * n * slices, *lengths = row + n;
    ts_joseph_lengths(&group->rays, view, lengths);
    for (int slice = 0; slice < slices; slice++) {
        const char *from = in->data;
        from += (size_t)(((z + slice) * group->n_views + view) * n) * ts_dtype_bytes(in->dtype);
        ts_load_f32(row, from, in->dtype, (size_t)n);
        for (int64_t d = 0; d < n; d++)
            to[d * slices + slice] = row[d] * lengths[d];
    }
}

/* Each function adds the values of n detector pixels to a block, in the same order of operations. */
#define TS_LOOPS "stages/projection/joseph_backproject.inc"
#include "core/vectors.inc"

#define SPREAD(n_slices, numbers)                                                                                      \
    ALWAYS_INLINE void spread_##n_slices(const struct slice_block *block, const struct crossings *crossings,           \
                                         int64_t n, const float *values)                                               \
    {                                                                                                                  \
        for (int64_t d = 0; d < n; d++) {                                                                              \
            const numbers value = ((const numbers *)values)[d];                                                        \
            for (int64_t m = 0; m < block->n_major; m++) {                                                             \
                numbers *pixel = (numbers *)block->data + crossings->index[m][d];                                      \
                const float weight = crossings->weight[m][d];                                                          \
                pixel[0] += (1 - weight) * value;                                                                      \
                pixel[1] += weight * value;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
SPREAD(4, slices_4)
SPREAD(1, float)

ALWAYS_INLINE void spread_all(const struct group *group, const struct slice_block *block, const int slices)
{
    const struct joseph_rays *rays = &group->rays;
    struct crossings crossings;
    for (int64_t view = 0; view < group->n_views; view++) {
        int64_t seen_first, seen_end;
        ts_joseph_seen(rays, view, block, &seen_first, &seen_end);
        for (int r = 0; r < rays->n_runs[view]; r++) {
            const struct beam_run run = rays->runs[view][r];
            const int64_t end = seen_end < run.end ? seen_end : run.end;
            if (run.along_rows != block->along_rows)
                continue;
            for (int64_t d = seen_first > run.first ? seen_first : run.first; d < end; d += DETECTOR_RUN) {
                const int64_t n = end - d < DETECTOR_RUN ? end - d : DETECTOR_RUN;
                const float *values = group->sinogram + (view * group->n_detectors + d) * slices;
                find_crossings(rays, view, block, d, n, &crossings);
                if (slices == 16)
                    TS_WIDEST(spread_run_of_16)(block, &crossings, n, values);
                else if (slices == 4)
                    spread_4(block, &crossings, n, values);
                else
                    spread_1(block, &crossings, n, values);
            }
        }
    }
}

#define SPREAD_BLOCK(slices)                                                                                           \
    TS_VECTORIZED static void spread_block_##slices(const struct group *group, const struct slice_block *block)        \
    {                                                                                                                  \
        spread_all(group, block, slices);                                                                              \
    }
SPREAD_BLOCK(16)
SPREAD_BLOCK(4)
SPREAD_BLOCK(1)

/* Writes a block to the volume: rows, which come first, overwrite it, and columns add to it. */
static void write_block(const struct group *group, const struct slice_block *block)
{
    const int64_t n_columns = group->n_columns, slice = group->n_rows * n_columns;
    const int slices = group->slices;
    for (int s = 0; s < slices; s++)
        for (int64_t m = 0; m < block->n_major; m++) {
            const float *from = block->data + (m * block->stride + BLOCK_MARGIN) * slices + s;
            float *to = group->out + s * slice;
            if (block->along_rows) {
                to += (block->m_first + m) * n_columns;
                for (int64_t i = 0; i < block->n_minor; i++)
                    to[i] = from[i * slices];
            } else {
                to += block->m_first + m;
                for (int64_t i = 0; i < block->n_minor; i++)
                    to[i * n_columns] += from[i * slices];
            }
        }
}

static void spread_lines(const struct group *group, bool along_rows, int64_t m, float *samples)
{
    const struct slice_block block = along_rows ? ts_slice_block(samples, true, m, group->n_rows, group->n_columns)
                                                : ts_slice_block(samples, false, m, group->n_columns, group->n_rows);
    memset(samples, 0, (size_t)(block.n_major * block.stride * group->slices) * sizeof *samples);
    (group->slices == 16 ? spread_block_16 : group->slices == 4 ? spread_block_4 : spread_block_1)(group, &block);
    write_block(group, &block);
}

static float *own_block(const struct group *group)
{
    return (float *)(group->thread_bytes + (size_t)omp_get_thread_num() * group->own_bytes);
}

void ts_joseph_backproject(const struct beam_scan *scan, const struct ts_image *sinogram, struct ts_image *volume,
                           int threads, void *scratch)
{
    const int64_t nz = volume->axes[0].n;
    struct memory_layout layout = {.base = scratch};
    struct group group = lay_out(scan, nz, threads, &layout);
    ts_joseph_rays_fill(&group.rays);
    for (int64_t z = 0; z < nz; z += group.slices) {
        group.slices = ts_slice_group(nz - z);
        group.out = (float *)volume->data + z * group.n_rows * group.n_columns;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t view = 0; view < group.n_views; view++)
            interleave(&group, sinogram, z, view, own_block(&group));
        for (int along_rows = 1; along_rows >= 0; along_rows--) {
            const int64_t n_major = along_rows ? group.n_rows : group.n_columns,
                          height = ts_slice_block_lines(along_rows ? group.n_columns : group.n_rows);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
            for (int64_t m = 0; m < n_major; m += height)
                spread_lines(&group, along_rows == 1, m, own_block(&group));
        }
    }
}
