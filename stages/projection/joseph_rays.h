/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector and its adjoint share this code on the CPU: the rays of a scan as tables, and
 * the samples and weights at the crossings of a run of rays with the lines of a block. The latter
 * is inline, so that each loop that includes it is compiled for several levels of the processor.
 */
#ifndef STAGES_PROJECTION_JOSEPH_RAYS_H
#define STAGES_PROJECTION_JOSEPH_RAYS_H

#include <math.h>

#include "stages/geometry/beam.h"
#include "stages/projection/slice_block.h"

enum { DETECTOR_RUN = 64 }; /* detector pixels whose crossings are computed at once */

struct joseph_rays {
    const struct beam_scan *scan;
    struct beam_angle *angles;       /* n_views */
    struct beam_detector *detectors; /* n_detectors */
    struct beam_run (*runs)[BEAM_RUNS];
    int *n_runs; /* number of runs of each view */
    bool fan;
};

/* A run of rays: each ray's position on line 0, and its change from line to line. */
struct ray_run {
    double base[DETECTOR_RUN], step[DETECTOR_RUN];
};

/* Finds the rays of n detector pixels, 1 to DETECTOR_RUN, starting with `first`, and repeats the
 * last one up to a multiple of `whole`. */
ALWAYS_INLINE void find_rays(const struct joseph_rays *rays, int64_t view,
                             const struct slice_block *block, int64_t first, int64_t n,
                             int64_t whole, struct ray_run *run)
{
    const struct beam_angle angle = rays->angles[view];
    for (int64_t d = 0; d < n; d++) {
        const struct beam_ray ray = ts_beam_ray_along(
            &rays->scan->grid, angle, rays->detectors[first + d], block->along_rows);
        run->base[d] = ray.base;
        run->step[d] = ray.per_major;
    }
    for (int64_t d = n; d < (n + whole - 1) / whole * whole; d++) {
        run->base[d] = run->base[n - 1];
        run->step[d] = run->step[n - 1];
    }
}

/* The crossings of the rays of a run with the lines of a block: a sample's index within the block,
 * and the weight of the next sample. */
struct crossings {
    int32_t index[BLOCK_LINES][DETECTOR_RUN];
    float weight[BLOCK_LINES][DETECTOR_RUN];
};

/* Finds the crossings of n detector pixels, 1 to DETECTOR_RUN, starting with `first`. The samples i
 * and i + 1 of a crossing are within the block's margins. */
ALWAYS_INLINE void find_crossings(const struct joseph_rays *rays, int64_t view,
                                  const struct slice_block *block, int64_t first, int64_t n,
                                  struct crossings *crossings)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    const int64_t whole = (n + 3) / 4 * 4; /* rounded up for loops in steps of 4 */
    struct ray_run run;
    find_rays(rays, view, block, first, n, 4, &run);
    const double *base = run.base, *step = run.step;
    for (int64_t m = 0; m < block->n_major; m++) {
        const double line = (double)(block->m_first + m);
        const double a = base[0] + line * step[0], b = base[n - 1] + line * step[n - 1];
        /* Rays do not cross each other among the pixels, so all rays are between the first and the
         * last. */
        const bool inside = fmin(a, b) >= low && fmax(a, b) <= high;
        const int32_t start = (int32_t)(m * block->stride);
        for (int64_t d = 0; d < whole; d++) {
            double at = base[d] + line * step[d];
            if (!inside) /* decided once for the whole run */
                at = at < low ? low : at > high ? high : at;
            const int32_t below = (int32_t)(at + BLOCK_MARGIN); /* the number is positive, so this
                                                                 * is floor */
            crossings->index[m][d] = start + below;
            crossings->weight[m][d] = (float)(at + BLOCK_MARGIN - (double)below);
        }
    }
}

#endif
