/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector sums along rays, (z, y, x) -> (z, view, detector).
 *
 * 16 slices are computed together with their samples side by side (then 4, then 1, by stages/projection/one_slice.h
 * where the machine has its vectors), so that one index and one weight serve 16 vectorized sums. The image is read in
 * blocks of a few rows or columns that stay in the second cache while every view passes over them. The order of sums is
 * fixed by the slice's size alone: within a block in rising major index from 0, then the blocks in rising order.
 * Indices and weights are computed in double and the weight is rounded once.
 */
#include <string.h>

#include "stages/projection/joseph.h"
#include "stages/projection/joseph_rays.h"
#include "stages/projection/one_slice.h"

enum { SUM_BYTES = 8 << 20 }; /* of the sums that one thread has in work */

/* All threads share this work. */
struct projection {
    const struct ts_image *in;
    struct ts_image *out;
    struct joseph_rays rays;
};

/* One thread's block of the image holds the lengths of a view's rays once its sums are complete. */
static struct slice_work work_of(const struct beam_scan *scan, int threads)
{
    const size_t lengths = (size_t)scan->grid.n_detectors * sizeof(float), block = ts_joseph_block_bytes(scan);
    return (struct slice_work){.n_lines = scan->n_views,
                               .line_samples = scan->grid.n_detectors,
                               .sum_bytes = SUM_BYTES,
                               .block_bytes = lengths > block ? (lengths + 63) / 64 * 64 : block,
                               .threads = threads};
}

size_t ts_joseph_project_scratch(const struct beam_scan *scan, int threads)
{
    struct memory_layout layout = {0};
    const struct slice_work work = work_of(scan, threads);
    ts_joseph_rays(scan, &layout);
    return layout.bytes + ts_slice_work_scratch(&work);
}

/* Each function adds a block's share to the sums of n detector pixels, in the same order of operations. */
#define TS_LOOPS "stages/projection/joseph_project.inc"
#include "core/vectors.inc"

ALWAYS_INLINE void add_run_4(const struct slice_block *block, const struct crossings *crossings, int64_t n, float *sums)
{
    for (int64_t d = 0; d < n; d++) {
        slices_4 partial = {0};
        for (int64_t m = 0; m < block->n_major; m++) {
            const slices_4 *pixel = (const slices_4 *)block->data + crossings->index[m][d];
            partial += pixel[0] + crossings->weight[m][d] * (pixel[1] - pixel[0]);
        }
        ((slices_4 *)sums)[d] += partial;
    }
}

/* For one slice the loops are exchanged, so that vectors run over detector pixels. A sample and its neighbor are loaded
 * as one pair. Crossings up to the next multiple of 4 from n on are read. */
ALWAYS_INLINE void add_run_1(const struct slice_block *block, const struct crossings *crossings, int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    slices_4 partial[DETECTOR_RUN / 4] = {{0}};
    for (int64_t m = 0; m < block->n_major; m++) {
        const slices_4 *weights = (const slices_4 *)crossings->weight[m];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + crossings->index[m][4 * k + i], sizeof pair[i]);
            const slices_4 left = (slices_4)(loads){pair[0], pair[1]}, right = (slices_4)(loads){pair[2], pair[3]};
            const slices_4 below = __builtin_shufflevector(left, right, 0, 2, 4, 6);
            const slices_4 above = __builtin_shufflevector(left, right, 1, 3, 5, 7);
            partial[k] += below + weights[k] * (above - below);
        }
    }
    for (int64_t d = 0; d < n; d++)
        sums[d] += partial[d / 4][d % 4];
}

ALWAYS_INLINE void add_block(const struct joseph_rays *rays, int64_t first_view, int64_t n_views,
                             const struct slice_block *block, float *sums, const int slices,
                             one_slice_projector *project)
{
    const int64_t n_detectors = rays->scan->grid.n_detectors;
    struct crossings crossings;
    for (int64_t v = 0; v < n_views; v++) {
        const int64_t view = first_view + v;
        int64_t seen_first, seen_end;
        ts_joseph_seen(rays, view, block, &seen_first, &seen_end);
        for (int r = 0; r < rays->n_runs[view]; r++) {
            const struct beam_run run = rays->runs[view][r];
            const int64_t end = seen_end < run.end ? seen_end : run.end;
            if (run.along_rows != block->along_rows)
                continue;
            for (int64_t d = seen_first > run.first ? seen_first : run.first; d < end; d += DETECTOR_RUN) {
                const int64_t n = end - d < DETECTOR_RUN ? end - d : DETECTOR_RUN;
                float *to = sums + (v * n_detectors + d) * slices;
                if (project) {
                    struct ray_run rays_of;
                    find_rays(rays, view, block, d, n, ONE_SLICE_RAYS, &rays_of);
                    project(block, &rays_of, rays->fan, n, to);
                    continue;
                }
                find_crossings(rays, view, block, d, n, &crossings);
                if (slices == 16)
                    TS_WIDEST(add_run_of_16)(block, &crossings, n, to);
                else if (slices == 4)
                    add_run_4(block, &crossings, n, to);
                else
                    add_run_1(block, &crossings, n, to);
            }
        }
    }
}

#define ADD_BLOCK(slices, project)                                                                                     \
    TS_VECTORIZED static void add_block_##slices(const struct joseph_rays *rays, int64_t first, int64_t n,             \
                                                 const struct slice_block *block, float *sums)                         \
    {                                                                                                                  \
        add_block(rays, first, n, block, sums, slices, project);                                                       \
    }
ADD_BLOCK(16, NULL)
ADD_BLOCK(4, NULL)
ADD_BLOCK(1, ts_one_slice_projector())

static bool has_run(const struct joseph_rays *rays, int64_t view, bool along_rows)
{
    for (int r = 0; r < rays->n_runs[view]; r++)
        if (rays->runs[view][r].along_rows == along_rows)
            return true;
    return false;
}

/* Writes the sums of a part's views, slices side by side, to the sinogram. */
static void write_sums(const struct projection *projection, const struct slice_part *part, const float *sums,
                       float *lengths)
{
    const struct ts_image *out = projection->out;
    const int64_t n_views = out->axes[1].n, n = out->axes[2].n;
    for (int64_t v = 0; v < part->n; v++) {
        ts_joseph_lengths(&projection->rays, part->first + v, lengths);
        for (int slice = 0; slice < part->slices; slice++) {
            float *to = (float *)out->data + ((part->z + slice) * n_views + part->first + v) * n;
            const float *from = sums + v * n * part->slices + slice;
            for (int64_t d = 0; d < n; d++)
                to[d] = from[d * part->slices] * lengths[d];
        }
    }
}

/* Projects views of several slices, over all blocks of rows and of columns. */
static void project_views(const void *job, const struct slice_part *part, float *sums, float *samples)
{
    const struct projection *projection = job;
    const struct joseph_rays *rays = &projection->rays;
    const struct beam_geometry *grid = &rays->scan->grid;
    const int slices = part->slices;
    memset(sums, 0, (size_t)(part->n * grid->n_detectors * slices) * sizeof(float));
    for (int along_rows = 0; along_rows < 2; along_rows++) {
        const int64_t n_major = along_rows ? grid->n_rows : grid->n_columns;
        const int64_t n_minor = along_rows ? grid->n_columns : grid->n_rows;
        bool needed = false;
        for (int64_t v = 0; v < part->n; v++)
            needed |= has_run(rays, part->first + v, along_rows == 1);
        for (int64_t m = 0; needed && m < n_major; m += ts_slice_block_lines(n_minor)) {
            struct slice_block block = ts_slice_block(samples, along_rows == 1, m, n_major, n_minor);
            ts_slice_block_fill(projection->in, part->z, slices, &block);
            (slices == 16  ? add_block_16
             : slices == 4 ? add_block_4
                           : add_block_1)(rays, part->first, part->n, &block, sums);
        }
    }
    write_sums(projection, part, sums, samples);
}

void ts_joseph_project(const struct beam_scan *scan, const struct ts_image *volume, struct ts_image *sinogram,
                       int threads, void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    struct projection projection = {volume, sinogram, ts_joseph_rays(scan, &layout)};
    struct slice_work work = work_of(scan, threads);
    ts_joseph_rays_fill(&projection.rays);
    work.n_slices = sinogram->axes[0].n;
    ts_slice_work_run(&work, project_views, &projection, (unsigned char *)scratch + layout.bytes);
}
