/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector sums along rays, (z, y, x) -> (z, view, detector); its adjoint is below.
 *
 * 16 slices are computed together with their samples side by side (then 4, then 1, by
 * stages/projection/one_slice.h if the machine has its vectors), so that one index and one weight
 * serve 16 vectorized sums. The image is read in blocks of a few rows or columns that stay in the
 * second cache while every view passes over them. The order of sums depends only on the slice's
 * size: within a block in rising major index from 0, then the blocks in rising order. Indices and
 * weights are computed in double and the weight is rounded once.
 */
#include "stages/projection/joseph.h"

#include <omp.h>
#include <string.h>

#include "stages/projection/joseph_rays.h"
#include "stages/projection/one_slice.h"

/* This fills the tables of a scan's rays: the angle of each view, the ray of each detector pixel
 * relative to it, and the runs of detector pixels whose rays have the same major axis. They are
 * computed once for all blocks of pixels. */

/* Adds the tables to a layout. If the layout has memory, joseph_rays_fill() computes them, once for
 * all blocks. */
static struct joseph_rays joseph_rays(const struct beam_scan *scan, struct memory_layout *layout)
{
    const size_t views = (size_t)scan->n_views;
    struct joseph_rays rays = {.scan = scan, .fan = scan->beam.kind != TS_BEAM_PARALLEL};
    rays.angles = ts_layout_add(layout, views * sizeof *rays.angles);
    rays.detectors = ts_layout_add(layout, (size_t)scan->grid.n_detectors * sizeof *rays.detectors);
    rays.runs = ts_layout_add(layout, views * sizeof *rays.runs);
    rays.n_runs = ts_layout_add(layout, views * sizeof *rays.n_runs);
    return rays;
}

static void joseph_rays_fill(struct joseph_rays *rays)
{
    const struct beam_scan *scan = rays->scan;
    for (int64_t d = 0; d < scan->grid.n_detectors; d++)
        rays->detectors[d] = ts_beam_detector(scan, d);
    for (int64_t v = 0; v < scan->n_views; v++) {
        rays->angles[v] = ts_beam_angle(scan, v);
        rays->n_runs[v] = ts_beam_runs(scan, rays->detectors, rays->angles[v], rays->runs[v]);
    }
}

/* Writes the range [*first, *end) of detector pixels whose rays can cross a block's lines. */
static void joseph_seen(const struct joseph_rays *rays, int64_t view,
                        const struct slice_block *block, int64_t *first, int64_t *end)
{
    const struct beam_geometry *grid = &rays->scan->grid;
    const double row_center = 0.5 * (double)(grid->n_rows - 1),
                 column_center = 0.5 * (double)(grid->n_columns - 1);
    const double major[2] = {(double)block->m_first, (double)(block->m_first + block->n_major - 1)};
    const double minor[2] = {-1, (double)block->n_minor}, n = (double)grid->n_detectors;
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        const double m = major[corner / 2], i = minor[corner % 2];
        const double row = block->along_rows ? m : i, column = block->along_rows ? i : m;
        const double shadow = ts_beam_shadow(rays->scan, rays->angles[view],
                                             (column - column_center) * grid->column_spacing,
                                             (row_center - row) * grid->row_spacing);
        low = fmin(low, shadow);
        high = fmax(high, shadow);
    }
    /* One more detector pixel on both sides allows for rounding; rays that miss the lines add 0. */
    *first = low - 1 > 0 ? (int64_t)fmin(low - 1, n) : 0;
    *end = high + 2 < n ? (int64_t)fmax(high + 2, 0) : grid->n_detectors;
}

/* Writes the lengths in mm of a view's rays between two lines, one for each detector pixel. */
static void joseph_lengths(const struct joseph_rays *rays, int64_t view, float *lengths)
{
    const struct beam_geometry *grid = &rays->scan->grid;
    for (int64_t d = 0; d < grid->n_detectors; d++)
        lengths[d] =
            d == 0 || rays->fan
                ? (float)ts_beam_ray(grid, rays->angles[view], rays->detectors[d]).length_mm
                : lengths[0];
}

/* Returns the bytes of the larger of the blocks along rows and along columns. */
static size_t joseph_block_bytes(const struct beam_scan *scan)
{
    const size_t a = ts_slice_block_bytes(scan->grid.n_rows),
                 b = ts_slice_block_bytes(scan->grid.n_columns);
    return a > b ? a : b;
}

enum { SUM_BYTES = 8 << 20 }; /* bytes of the sums that one thread works on */

/* All threads share this work. */
struct projection {
    const struct ts_image *in;
    struct ts_image *out;
    struct joseph_rays rays;
};

/* Once a thread's sums are complete, its block of the image is reused for the lengths of a view's
 * rays. */
static struct slice_work work_of(const struct beam_scan *scan, int threads)
{
    const size_t lengths = (size_t)scan->grid.n_detectors * sizeof(float),
                 block = joseph_block_bytes(scan);
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
    joseph_rays(scan, &layout);
    return layout.bytes + ts_slice_work_scratch(&work);
}

/* Each function adds a block's contribution to the sums of n detector pixels, in the same order of
 * operations. */
#define TS_LOOPS "stages/projection/joseph_project.inc"
#include "core/vectors.inc"

ALWAYS_INLINE void add_run_4(const struct slice_block *block, const struct crossings *crossings,
                             int64_t n, float *sums)
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

/* For one slice the loops are exchanged, so that vectors run over detector pixels. A sample and its
 * neighbor are loaded as one pair. Crossings from n up to the next multiple of 4 are read. */
ALWAYS_INLINE void add_run_1(const struct slice_block *block, const struct crossings *crossings,
                             int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    slices_4 partial[DETECTOR_RUN / 4] = {{0}};
    for (int64_t m = 0; m < block->n_major; m++) {
        const slices_4 *weights = (const slices_4 *)crossings->weight[m];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + crossings->index[m][4 * k + i], sizeof pair[i]);
            const slices_4 left = (slices_4)(loads){pair[0], pair[1]},
                           right = (slices_4)(loads){pair[2], pair[3]};
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
        joseph_seen(rays, view, block, &seen_first, &seen_end);
        for (int r = 0; r < rays->n_runs[view]; r++) {
            const struct beam_run run = rays->runs[view][r];
            const int64_t end = seen_end < run.end ? seen_end : run.end;
            if (run.along_rows != block->along_rows)
                continue;
            for (int64_t d = seen_first > run.first ? seen_first : run.first; d < end;
                 d += DETECTOR_RUN) {
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

#define ADD_BLOCK(slices, project)                                                                 \
    TS_VECTORIZED static void add_block_##slices(const struct joseph_rays *rays, int64_t first,    \
                                                 int64_t n, const struct slice_block *block,       \
                                                 float *sums)                                      \
    {                                                                                              \
        add_block(rays, first, n, block, sums, slices, project);                                   \
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

/* Writes the sums of a part's views, which have their slices side by side, to the sinogram. */
static void write_sums(const struct projection *projection, const struct slice_part *part,
                       const float *sums, float *lengths)
{
    const struct ts_image *out = projection->out;
    const int64_t n_views = out->axes[1].n, n = out->axes[2].n;
    for (int64_t v = 0; v < part->n; v++) {
        joseph_lengths(&projection->rays, part->first + v, lengths);
        for (int slice = 0; slice < part->slices; slice++) {
            float *to = (float *)out->data + ((part->z + slice) * n_views + part->first + v) * n;
            const float *from = sums + v * n * part->slices + slice;
            for (int64_t d = 0; d < n; d++)
                to[d] = from[d * part->slices] * lengths[d];
        }
    }
}

/* Projects views of several slices, over all blocks of rows and of columns. */
static void project_views(const void *job, const struct slice_part *part, float *sums,
                          float *samples)
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
            struct slice_block block =
                ts_slice_block(samples, along_rows == 1, m, n_major, n_minor);
            ts_slice_block_fill(projection->in, part->z, slices, &block);
            (slices == 16  ? add_block_16
             : slices == 4 ? add_block_4
                           : add_block_1)(rays, part->first, part->n, &block, sums);
        }
    }
    write_sums(projection, part, sums, samples);
}

void ts_joseph_project(const struct beam_scan *scan, const struct ts_image *volume,
                       struct ts_image *sinogram, int threads, void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    struct projection projection = {volume, sinogram, joseph_rays(scan, &layout)};
    struct slice_work work = work_of(scan, threads);
    joseph_rays_fill(&projection.rays);
    work.n_slices = sinogram->axes[0].n;
    ts_slice_work_run(&work, project_views, &projection, (unsigned char *)scratch + layout.bytes);
}

/* This is the exact adjoint of Joseph's projector, (z, view, detector) -> (z, y, x): each ray adds
 * its value, times its length between two lines, to the pixels that the projector reads, with the
 * projector's weights.
 *
 * Up to 16 slices are computed together with their samples side by side, as in the projector. The
 * sinogram is first copied to this layout, times the lengths. Then each thread takes blocks of a
 * few rows or columns, adds up all rays there and writes the block to the volume, so that no two
 * threads write the same pixel. The order of sums depends only on the sizes: in a block by rising
 * view and detector pixel, then the sums along rows before those along columns. */

/* A group of slices that are backprojected together. */
struct group {
    struct joseph_rays rays;
    int64_t n_views, n_detectors, n_rows, n_columns;
    int slices;
    float *sinogram;             /* [view][detector][slice] */
    float *out;                  /* (z, y, x), starting with the group's first slice */
    unsigned char *thread_bytes; /* the blocks of all threads */
    size_t own_bytes;            /* bytes of each of these blocks */
};

/* Lays out the memory for n slices and this many threads. */
static struct group lay_out(const struct beam_scan *scan, int64_t n, int threads,
                            struct memory_layout *layout)
{
    const size_t block = joseph_block_bytes(scan),
                 row = 2 * (size_t)scan->grid.n_detectors * sizeof(float);
    struct group group = {.rays = joseph_rays(scan, layout),
                          .n_views = scan->n_views,
                          .n_detectors = scan->grid.n_detectors,
                          .n_rows = scan->grid.n_rows,
                          .n_columns = scan->grid.n_columns,
                          .slices = ts_slice_group(n),
                          .own_bytes = ((block > row ? block : row) + 63) / 64 * 64};
    group.sinogram = ts_layout_add(
        layout, (size_t)(group.n_views * group.n_detectors * group.slices) * sizeof(float));
    group.thread_bytes = ts_layout_add(layout, (size_t)threads * group.own_bytes);
    return group;
}

size_t ts_joseph_backproject_scratch(const struct beam_scan *scan, int64_t n, int threads)
{
    struct memory_layout layout = {0};
    lay_out(scan, n, threads, &layout);
    return layout.bytes;
}

/* Copies one view of all slices side by side, times the lengths of its rays. `row` is scratch for
 * two rows. */
static void interleave(const struct group *group, const struct ts_image *in, int64_t z,
                       int64_t view, float *row)
{
    const int64_t n = group->n_detectors;
    const int slices = group->slices;
    float *to = group->sinogram + view * n * slices, *lengths = row + n;
    joseph_lengths(&group->rays, view, lengths);
    for (int slice = 0; slice < slices; slice++) {
        const char *from = in->data;
        from += (size_t)(((z + slice) * group->n_views + view) * n) * ts_dtype_bytes(in->dtype);
        ts_load_f32(row, from, in->dtype, (size_t)n);
        for (int64_t d = 0; d < n; d++)
            to[d * slices + slice] = row[d] * lengths[d];
    }
}

/* Each function adds the values of n detector pixels to a block, in the same order of
 * operations. */
#define TS_LOOPS "stages/projection/joseph_backproject.inc"
#include "core/vectors.inc"

#define SPREAD(n_slices, numbers)                                                                  \
    ALWAYS_INLINE void spread_##n_slices(const struct slice_block *block,                          \
                                         const struct crossings *crossings, int64_t n,             \
                                         const float *values)                                      \
    {                                                                                              \
        for (int64_t d = 0; d < n; d++) {                                                          \
            const numbers value = ((const numbers *)values)[d];                                    \
            for (int64_t m = 0; m < block->n_major; m++) {                                         \
                numbers *pixel = (numbers *)block->data + crossings->index[m][d];                  \
                const float weight = crossings->weight[m][d];                                      \
                pixel[0] += (1 - weight) * value;                                                  \
                pixel[1] += weight * value;                                                        \
            }                                                                                      \
        }                                                                                          \
    }
SPREAD(4, slices_4)
SPREAD(1, float)

ALWAYS_INLINE void spread_all(const struct group *group, const struct slice_block *block,
                              const int slices)
{
    const struct joseph_rays *rays = &group->rays;
    struct crossings crossings;
    for (int64_t view = 0; view < group->n_views; view++) {
        int64_t seen_first, seen_end;
        joseph_seen(rays, view, block, &seen_first, &seen_end);
        for (int r = 0; r < rays->n_runs[view]; r++) {
            const struct beam_run run = rays->runs[view][r];
            const int64_t end = seen_end < run.end ? seen_end : run.end;
            if (run.along_rows != block->along_rows)
                continue;
            for (int64_t d = seen_first > run.first ? seen_first : run.first; d < end;
                 d += DETECTOR_RUN) {
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

#define SPREAD_BLOCK(slices)                                                                       \
    TS_VECTORIZED static void spread_block_##slices(const struct group *group,                     \
                                                    const struct slice_block *block)               \
    {                                                                                              \
        spread_all(group, block, slices);                                                          \
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
    const struct slice_block block =
        along_rows ? ts_slice_block(samples, true, m, group->n_rows, group->n_columns)
                   : ts_slice_block(samples, false, m, group->n_columns, group->n_rows);
    memset(samples, 0, (size_t)(block.n_major * block.stride * group->slices) * sizeof *samples);
    (group->slices == 16  ? spread_block_16
     : group->slices == 4 ? spread_block_4
                          : spread_block_1)(group, &block);
    write_block(group, &block);
}

static float *own_block(const struct group *group)
{
    return (float *)(group->thread_bytes + (size_t)omp_get_thread_num() * group->own_bytes);
}

void ts_joseph_backproject(const struct beam_scan *scan, const struct ts_image *sinogram,
                           struct ts_image *volume, int threads, void *scratch)
{
    const int64_t nz = volume->axes[0].n;
    struct memory_layout layout = {.base = scratch};
    struct group group = lay_out(scan, nz, threads, &layout);
    joseph_rays_fill(&group.rays);
    for (int64_t z = 0; z < nz; z += group.slices) {
        group.slices = ts_slice_group(nz - z);
        group.out = (float *)volume->data + z * group.n_rows * group.n_columns;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t view = 0; view < group.n_views; view++)
            interleave(&group, sinogram, z, view, own_block(&group));
        for (int along_rows = 1; along_rows >= 0; along_rows--) {
            const int64_t n_major = along_rows ? group.n_rows : group.n_columns,
                          height =
                              ts_slice_block_lines(along_rows ? group.n_columns : group.n_rows);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
            for (int64_t m = 0; m < n_major; m += height)
                spread_lines(&group, along_rows == 1, m, own_block(&group));
        }
    }
}
