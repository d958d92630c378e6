/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact adjoint of Joseph's projector, (z, view, detector) -> (z, y, x): each ray adds its value, times its length
 * between two lines, to the pixels that the projector reads, with the projector's weights.
 *
 * Up to 16 slices are computed together with their samples side by side, as in the projector. The sinogram is first
 * laid out so, times the lengths; then each thread takes blocks of a few rows or columns, adds up all rays there and
 * passes the block on: no two threads write one pixel. Order of sums, fixed by the sizes alone: in a block by rising
 * view, detector; then what came along rows and what came along columns.
 */
#include <omp.h>
#include <string.h>

#include "stages/projection/joseph.h"
#include "stages/projection/joseph_rays.h"

/* A group of slices on its way. */
struct backprojection {
    const struct joseph_rays *rays;
    int64_t n_views, n_detectors, n_rows, n_columns;
    int lanes;
    float *sinogram; /* [view][detector][lane] */
    float *out;      /* the group's first slice, (z, y, x) */
};

static size_t sinogram_bytes(const struct beam_scan *scan, int64_t n)
{
    const int64_t lanes = n >= 16 ? 16 : n >= 4 ? 4 : 1;
    return joseph_rounded((size_t)(scan->n_views * scan->grid.n_detectors * lanes) * sizeof(float));
}

static size_t block_bytes(const struct beam_scan *scan)
{
    const size_t a = joseph_block_bytes(scan->grid.n_rows), b = joseph_block_bytes(scan->grid.n_columns);
    return a > b ? a : b;
}

static size_t row_bytes(const struct beam_scan *scan)
{
    return joseph_rounded((size_t)scan->grid.n_detectors * sizeof(float));
}

size_t ts_joseph_backproject_scratch(const struct beam_scan *scan, int64_t n, int threads)
{
    return ts_joseph_rays_bytes(scan) + sinogram_bytes(scan, n) +
           (size_t)threads * (block_bytes(scan) > row_bytes(scan) ? block_bytes(scan) : row_bytes(scan));
}

/* One view of all lanes, times the lengths of its rays; `row` has room for one lane. */
static void lay_out(const struct backprojection *group, const struct ts_image *in, int64_t z, int64_t view, float *row)
{
    const struct joseph_rays *rays = group->rays;
    const int64_t n = group->n_detectors;
    const int lanes = group->lanes;
    float *to = group->sinogram + view * n * lanes;
    for (int lane = 0; lane < lanes; lane++) {
        const char *from = in->data;
        from += (size_t)(((z + lane) * group->n_views + view) * n) * ts_dtype_bytes(in->dtype);
        ts_load_f32(row, from, in->dtype, (size_t)n);
        for (int64_t d = 0; d < n; d++)
            to[d * lanes + lane] = row[d];
    }
    float length = 0;
    for (int64_t d = 0; d < n; d++) {
        if (d == 0 || rays->fan)
            length = (float)ts_beam_ray(&rays->scan->grid, rays->angles[view], rays->detectors[d]).length_mm;
        for (int lane = 0; lane < lanes; lane++)
            to[d * lanes + lane] *= length;
    }
}

/* Each adds the values of n detectors to a block, in the same order of operations. */
static inline __attribute__((always_inline)) void
spread_16(const struct slice_block *block, const struct crossings *crossings, int64_t n, const float *values)
{
    for (int64_t d = 0; d < n; d++) {
        const lanes_16 value = ((const lanes_16 *)values)[d];
        for (int64_t m = 0; m < block->n_major; m++) {
            lanes_16 *pixel = (lanes_16 *)block->data + crossings->index[m][d];
            const float weight = crossings->weight[m][d];
            pixel[0] += (1 - weight) * value;
            pixel[1] += weight * value;
        }
    }
}

static inline __attribute__((always_inline)) void
spread_4(const struct slice_block *block, const struct crossings *crossings, int64_t n, const float *values)
{
    for (int64_t d = 0; d < n; d++) {
        const lanes_4 value = ((const lanes_4 *)values)[d];
        for (int64_t m = 0; m < block->n_major; m++) {
            lanes_4 *pixel = (lanes_4 *)block->data + crossings->index[m][d];
            const float weight = crossings->weight[m][d];
            pixel[0] += (1 - weight) * value;
            pixel[1] += weight * value;
        }
    }
}

static inline __attribute__((always_inline)) void
spread_1(const struct slice_block *block, const struct crossings *crossings, int64_t n, const float *values)
{
    for (int64_t d = 0; d < n; d++) {
        const float value = values[d];
        for (int64_t m = 0; m < block->n_major; m++) {
            float *pixel = block->data + crossings->index[m][d];
            const float weight = crossings->weight[m][d];
            pixel[0] += (1 - weight) * value;
            pixel[1] += weight * value;
        }
    }
}

static inline __attribute__((always_inline)) void spread_all(const struct backprojection *group,
                                                             const struct slice_block *block, const int lanes)
{
    const struct joseph_rays *rays = group->rays;
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
                const float *values = group->sinogram + (view * group->n_detectors + d) * lanes;
                find_crossings(rays, view, block, d, n, &crossings);
                if (lanes == 16)
                    spread_16(block, &crossings, n, values);
                else if (lanes == 4)
                    spread_4(block, &crossings, n, values);
                else
                    spread_1(block, &crossings, n, values);
            }
        }
    }
}

TS_VECTORIZED static void spread_block_16(const struct backprojection *group, const struct slice_block *block)
{
    spread_all(group, block, 16);
}

TS_VECTORIZED static void spread_block_4(const struct backprojection *group, const struct slice_block *block)
{
    spread_all(group, block, 4);
}

TS_VECTORIZED static void spread_block_1(const struct backprojection *group, const struct slice_block *block)
{
    spread_all(group, block, 1);
}

/* Rows overwrite the volume, columns add to it. */
static void pass_on(const struct backprojection *group, const struct slice_block *block)
{
    const int64_t n_columns = group->n_columns, slice = group->n_rows * n_columns;
    const int lanes = group->lanes;
    for (int lane = 0; lane < lanes; lane++)
        for (int64_t m = 0; m < block->n_major; m++) {
            const float *from = block->data + (m * block->stride + BLOCK_MARGIN) * lanes + lane;
            float *to = group->out + lane * slice;
            if (block->along_rows) {
                to += (block->m_first + m) * n_columns;
                for (int64_t i = 0; i < block->n_minor; i++)
                    to[i] = from[i * lanes];
            } else {
                to += block->m_first + m;
                for (int64_t i = 0; i < block->n_minor; i++)
                    to[i * n_columns] += from[i * lanes];
            }
        }
}

static void spread_lines(const struct backprojection *group, bool along_rows, int64_t m, float *room)
{
    const int64_t n_major = along_rows ? group->n_rows : group->n_columns,
                  n_minor = along_rows ? group->n_columns : group->n_rows, height = joseph_block_lines(n_minor);
    struct slice_block block = {.data = room,
                                .along_rows = along_rows,
                                .m_first = m,
                                .n_major = n_major - m < height ? n_major - m : height,
                                .n_minor = n_minor,
                                .stride = n_minor + 2 * BLOCK_MARGIN};
    memset(room, 0, (size_t)(block.n_major * block.stride * group->lanes) * sizeof *room);
    (group->lanes == 16 ? spread_block_16 : group->lanes == 4 ? spread_block_4 : spread_block_1)(group, &block);
    pass_on(group, &block);
}

void ts_joseph_backproject(const struct beam_scan *scan, const struct ts_image *sinogram, struct ts_image *volume,
                           int threads, void *scratch)
{
    const struct joseph_rays rays = ts_joseph_rays(scan, scratch);
    struct backprojection group = {.rays = &rays,
                                   .n_views = scan->n_views,
                                   .n_detectors = scan->grid.n_detectors,
                                   .n_rows = scan->grid.n_rows,
                                   .n_columns = scan->grid.n_columns};
    const int64_t nz = volume->axes[0].n;
    const size_t own = block_bytes(scan) > row_bytes(scan) ? block_bytes(scan) : row_bytes(scan);
    group.sinogram = (float *)((unsigned char *)scratch + ts_joseph_rays_bytes(scan));
    unsigned char *rooms = (unsigned char *)group.sinogram + sinogram_bytes(scan, nz);
    for (int64_t z = 0; z < nz; z += group.lanes) {
        group.lanes = nz - z >= 16 ? 16 : nz - z >= 4 ? 4 : 1;
        group.out = (float *)volume->data + z * group.n_rows * group.n_columns;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t view = 0; view < group.n_views; view++)
            lay_out(&group, sinogram, z, view, (float *)(rooms + (size_t)omp_get_thread_num() * own));
        for (int along_rows = 1; along_rows >= 0; along_rows--) {
            const int64_t n_major = along_rows ? group.n_rows : group.n_columns,
                          height = joseph_block_lines(along_rows ? group.n_columns : group.n_rows);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
            for (int64_t m = 0; m < n_major; m += height)
                spread_lines(&group, along_rows == 1, m, (float *)(rooms + (size_t)omp_get_thread_num() * own));
        }
    }
}
