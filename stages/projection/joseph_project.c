/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector: sums along rays, (z, y, x) -> (z, view, detector).
 *
 * 16 slices are computed together with their samples side by side (then 4, then 1, by stages/projection/joseph_wide.h
 * where the machine has it), so that one index and one weight serve 16 vectorized sums. The image is taken in blocks of
 * a few rows or columns that stay in the second cache while every view passes over them. Order of sums, fixed by the
 * slice's size alone: within a block in rising major index from 0, then the blocks in rising order. Indices and weights
 * are computed in double and the weight rounded once.
 */
#include <omp.h>
#include <string.h>

#include "stages/projection/joseph.h"
#include "stages/projection/joseph_rays.h"
#include "stages/projection/joseph_wide.h"

enum { SUM_BYTES = 8 << 20 }; /* of the sums that one thread has in work */

/* What every part of the work needs to know. */
struct projection {
    const struct ts_image *in;
    struct ts_image *out;
    struct joseph_rays rays;
    int64_t n_views, n_detectors, n_rows, n_columns;
};

static size_t largest_block(const struct beam_scan *scan)
{
    const size_t a = joseph_block_bytes(scan->grid.n_rows), b = joseph_block_bytes(scan->grid.n_columns);
    return a > b ? a : b;
}

/* Views whose sums fit the room of one thread. */
static int64_t views_at_once(int64_t n_detectors, int lanes)
{
    const int64_t n = SUM_BYTES / (n_detectors * lanes * (int64_t)sizeof(float));
    return n > 1 ? n : 1;
}

static size_t sum_bytes(int64_t n_detectors)
{
    const size_t one_view = (size_t)n_detectors * BLOCK_LANES * sizeof(float);
    return joseph_rounded(one_view > SUM_BYTES ? one_view : SUM_BYTES);
}

size_t ts_joseph_project_scratch(const struct beam_scan *scan, int threads)
{
    return ts_joseph_rays_bytes(scan) + (size_t)threads * (sum_bytes(scan->grid.n_detectors) + largest_block(scan));
}

/* Each function adds a block's share to the sums of n detectors, in the same order of operations. */
static inline __attribute__((always_inline)) void add_run_16(const struct slice_block *block,
                                                             const struct crossings *crossings, int64_t n, float *sums)
{
    for (int64_t d = 0; d < n; d++) {
        lanes_16 partial = {0};
        for (int64_t m = 0; m < block->n_major; m++) {
            const lanes_16 *pixel = (const lanes_16 *)block->data + crossings->index[m][d];
            partial += pixel[0] + crossings->weight[m][d] * (pixel[1] - pixel[0]);
        }
        ((lanes_16 *)sums)[d] += partial;
    }
}

static inline __attribute__((always_inline)) void add_run_4(const struct slice_block *block,
                                                            const struct crossings *crossings, int64_t n, float *sums)
{
    for (int64_t d = 0; d < n; d++) {
        lanes_4 partial = {0};
        for (int64_t m = 0; m < block->n_major; m++) {
            const lanes_4 *pixel = (const lanes_4 *)block->data + crossings->index[m][d];
            partial += pixel[0] + crossings->weight[m][d] * (pixel[1] - pixel[0]);
        }
        ((lanes_4 *)sums)[d] += partial;
    }
}

/* The loops exchanged, to vectorize over detectors. A sample and its neighbor are loaded as one pair. n counts up to
 * the next multiple of 4. */
static inline __attribute__((always_inline)) void add_run_1(const struct slice_block *block,
                                                            const struct crossings *crossings, int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    lanes_4 partial[DETECTOR_RUN / 4] = {{0}};
    for (int64_t m = 0; m < block->n_major; m++) {
        const lanes_4 *weights = (const lanes_4 *)crossings->weight[m];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + crossings->index[m][4 * k + i], sizeof pair[i]);
            const lanes_4 left = (lanes_4)(loads){pair[0], pair[1]}, right = (lanes_4)(loads){pair[2], pair[3]};
            const lanes_4 below = __builtin_shufflevector(left, right, 0, 2, 4, 6);
            const lanes_4 above = __builtin_shufflevector(left, right, 1, 3, 5, 7);
            partial[k] += below + weights[k] * (above - below);
        }
    }
    for (int64_t d = 0; d < n; d++)
        sums[d] += partial[d / 4][d % 4];
}

static inline __attribute__((always_inline)) void add_block(const struct joseph_rays *rays, int64_t first_view,
                                                            int64_t n_views, const struct slice_block *block,
                                                            float *sums, const int lanes, bool wide)
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
                float *to = sums + (v * n_detectors + d) * lanes;
                if (wide) {
                    struct ray_run rays_of;
                    find_rays(rays, view, block, d, n, JOSEPH_WIDE, &rays_of);
                    ts_joseph_wide_add(block, &rays_of, rays->fan, n, to);
                    continue;
                }
                find_crossings(rays, view, block, d, n, &crossings);
                if (lanes == 16)
                    add_run_16(block, &crossings, n, to);
                else if (lanes == 4)
                    add_run_4(block, &crossings, n, to);
                else
                    add_run_1(block, &crossings, n, to);
            }
        }
    }
}

TS_VECTORIZED static void add_block_16(const struct joseph_rays *rays, int64_t first, int64_t n,
                                       const struct slice_block *block, float *sums)
{
    add_block(rays, first, n, block, sums, 16, false);
}

TS_VECTORIZED static void add_block_4(const struct joseph_rays *rays, int64_t first, int64_t n,
                                      const struct slice_block *block, float *sums)
{
    add_block(rays, first, n, block, sums, 4, false);
}

TS_VECTORIZED static void add_block_1(const struct joseph_rays *rays, int64_t first, int64_t n,
                                      const struct slice_block *block, float *sums)
{
    add_block(rays, first, n, block, sums, 1, ts_joseph_wide_there());
}

static bool has_run(const struct joseph_rays *rays, int64_t view, bool along_rows)
{
    for (int r = 0; r < rays->n_runs[view]; r++)
        if (rays->runs[view][r].along_rows == along_rows)
            return true;
    return false;
}

/* The sums of views [first, first + n) of `lanes` slices from z on, side by side, to the sinogram. */
static void write_sums(const struct projection *projection, int64_t z, int lanes, int64_t first, int64_t n,
                       const float *sums)
{
    const struct joseph_rays *rays = &projection->rays;
    const int64_t n_detectors = projection->n_detectors;
    for (int64_t v = 0; v < n; v++)
        for (int lane = 0; lane < lanes; lane++) {
            float *to = (float *)projection->out->data + ((z + lane) * projection->n_views + first + v) * n_detectors;
            const float *from = sums + v * n_detectors * lanes + lane;
            float length = 0;
            for (int64_t d = 0; d < n_detectors; d++) {
                if (d == 0 || rays->fan)
                    length =
                        (float)ts_beam_ray(&rays->scan->grid, rays->angles[first + v], rays->detectors[d]).length_mm;
                to[d] = from[d * lanes] * length;
            }
        }
}

/* Views [first, first + n) of `lanes` slices from z on. */
static void project_views(const struct projection *projection, int64_t z, int lanes, int64_t first, int64_t n,
                          float *sums, float *room)
{
    memset(sums, 0, (size_t)(n * projection->n_detectors * lanes) * sizeof(float));
    for (int along_rows = 0; along_rows < 2; along_rows++) {
        const int64_t n_major = along_rows ? projection->n_rows : projection->n_columns;
        const int64_t n_minor = along_rows ? projection->n_columns : projection->n_rows;
        const int64_t height = joseph_block_lines(n_minor);
        bool needed = false;
        for (int64_t v = 0; v < n; v++)
            needed |= has_run(&projection->rays, first + v, along_rows == 1);
        for (int64_t m = 0; needed && m < n_major; m += height) {
            struct slice_block block = {.data = room,
                                        .along_rows = along_rows == 1,
                                        .m_first = m,
                                        .n_major = n_major - m < height ? n_major - m : height,
                                        .n_minor = n_minor,
                                        .stride = n_minor + 2 * BLOCK_MARGIN};
            ts_slice_block_fill(projection->in, z, lanes, &block);
            (lanes == 16  ? add_block_16
             : lanes == 4 ? add_block_4
                          : add_block_1)(&projection->rays, first, n, &block, sums);
        }
    }
    write_sums(projection, z, lanes, first, n, sums);
}

static int lanes_for(int64_t slices_left)
{
    return slices_left >= 16 ? 16 : slices_left >= 4 ? 4 : 1;
}

void ts_joseph_project(const struct beam_scan *scan, const struct ts_image *volume, struct ts_image *sinogram,
                       int threads, void *scratch)
{
    const struct projection projection = {.in = volume,
                                          .out = sinogram,
                                          .rays = ts_joseph_rays(scan, scratch),
                                          .n_views = scan->n_views,
                                          .n_detectors = scan->grid.n_detectors,
                                          .n_rows = scan->grid.n_rows,
                                          .n_columns = scan->grid.n_columns};
    const int64_t nz = sinogram->axes[0].n, n_views = scan->n_views;
    unsigned char *rooms = (unsigned char *)scratch + ts_joseph_rays_bytes(scan);
    const size_t sums = sum_bytes(projection.n_detectors), room = sums + largest_block(scan);
    for (int64_t z = 0; z < nz;) {
        /* All full groups of one width, then the next width. */
        const int lanes = lanes_for(nz - z);
        const int64_t groups = (nz - z) / lanes, most = views_at_once(projection.n_detectors, lanes);
        const int64_t wanted = (n_views + most - 1) / most, spread = (2 * threads + groups - 1) / groups;
        const int64_t parts = threads > 1 && spread > wanted ? (spread < n_views ? spread : n_views) : wanted;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t task = 0; task < groups * parts; task++) {
            const int64_t group = task / parts, part = task % parts;
            const int64_t first = n_views * part / parts, end = n_views * (part + 1) / parts;
            unsigned char *own = rooms + (size_t)omp_get_thread_num() * room;
            project_views(&projection, z + group * lanes, lanes, first, end - first, (float *)own,
                          (float *)(own + sums));
        }
        z += groups * lanes;
    }
}
